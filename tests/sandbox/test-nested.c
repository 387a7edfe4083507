/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sandboxes in a sandbox: nsrun in nsrun, bubblewrap in nsrun; what --seccomp=nested leaves open in /proc
 * for them, and that nobody inside gains by it. */
#include <fcntl.h>
#include <ftw.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "error-word.h"
#include "faults.h"
#include "host.h"

/* What nsrun covers of /proc for every user. */
static const char *const covered[] = {"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"};

/* Nobody without capabilities can map root's id into a new user namespace (since 5.12), so that root's
 * sandbox needs another id for one inside. */
static const char *id_for_inner(void) {
        return geteuid() == 0 ? "--uid=4321" : "--no-config";
}

static const char look[] = "echo $$; test -e /proc/meminfo && echo whole; :";

/* `nsrun run OPTIONS… -- PROGRAM run INNER…` as in a home without XDG variables. */
static void run_in_nsrun(const struct site *s, const char *const *options, const char *const *inner,
                         struct outcome *ret) {
        _cleanup_free_ const char **words =
                words_of(OPTIONS("--ro", program(), "--unsetenv", "XDG_CACHE_HOME", "--unsetenv",
                                 "XDG_RUNTIME_DIR", "--unsetenv", "XDG_STATE_HOME"),
                         options, OPTIONS("--", program(), "run"), inner);

        run_nsrun(s, ret, words);
}

#define WORDS(...) OPTIONS(__VA_ARGS__)

/* ---------------------------------------------------------------- nsrun in nsrun */

TEST(nsrun_works_in_nsrun_without_an_option) {
        static const char
                none[] = "nsrun: note: no /proc can be mounted here: the sandbox has none: /proc\n",
                subset[] = "nsrun: note: a full /proc is refused here: mounted with subset=pid: /proc\n";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        if (geteuid() != 0) {
                run_in_nsrun(s, WORDS("--seccomp=nested"), WORDS("--", "sh", "-c", look), &o);
                expect_status(&o, 0);
                expect_out(&o, "2\nwhole\n");
                assert_string_equal(o.err, "");
        }
        /* What root, or one by another id, could write in /proc is covered: nobody inside has a full one. */
        run_in_nsrun(s, WORDS("--seccomp=nested", "--uid=4321"), WORDS("--", "sh", "-c", look), &o);
        expect_status(&o, 0);
        expect_out(&o, "2\n");
        if (!streq(o.err, none) && !streq(o.err, subset))
                fail_msg("said: %s", o.err);
}

/* Whose configuration is a symlink inside, on which another can't be mounted, and whose hooks a mount. */
TEST(nsrun_works_in_nsrun_in_a_repository) {
        static const char script[] =
                "git remote; git -c user.name=x -c user.email=x commit -q --allow-empty -m x && echo done";
        const struct site *s = *state;
        _cleanup_free_ char *note = text_of(
                "nsrun: note: %s/.git/config is a version of the outer nsrun's, which isn't shown in "
                "this sandbox: git lacks its remotes and settings; with the project by --overlay the "
                "outer one makes none\n",
                s->project);
        _cleanup_outcome_ struct outcome o = {0};

        run_outside(s, &o,
                    "git init -q . && git remote add here /x && ln -s ../../hook .git/hooks/x && >hook");
        expect_status(&o, 0);
        run_in_nsrun(s, WORDS("--seccomp=nested", id_for_inner()), WORDS("--", "sh", "-c", script), &o);
        expect_out(&o, "done\n");
        expect_in(o.err, note);
        run_in_nsrun(s, WORDS("--seccomp=nested", "--overlay", s->project, id_for_inner()),
                     WORDS("--", "sh", "-c", script), &o);
        expect_out(&o, "here\ndone\n");
        expect_not_in(o.err, note);
}

TEST(what_the_inner_one_does_holds) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->project, "file", "");
        make_folder(s->project, "sub");
        run_in_nsrun(s, WORDS("--seccomp=nested", id_for_inner()),
                     WORDS("--project", "sub", "--ro", "file", "--", "sh", "-c",
                           "echo x >../file; echo x >made && echo made; unshare -U true"),
                     &o);
        expect_out(&o, "made\n");
        expect_in(o.err, "Read-only file system");
        expect_in(o.err, "unshare: unshare failed: Operation not permitted");
        run_in_nsrun(s, WORDS("--seccomp=nested", id_for_inner()),
                     WORDS("--", "sh", "-c", "echo x >file && echo fine"), &o);
        expect_in(o.out, "fine\n");
}

/* The inner one may be told to have nested ones, too.  It needs a /proc to start them from: not in root's.
 */
TEST_IF(geteuid() != 0, a_third_one_works_in_the_second, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        run_in_nsrun(s, WORDS("--seccomp=nested"),
                     WORDS("--seccomp=nested", "--ro", program(), "--", program(), "run", "--", "sh", "-c",
                           "echo $$"),
                     &o);
        expect_status(&o, 0);
        expect_out(&o, "2\n");
}

TEST(a_refusal_in_nsrun_blames_the_outer_one) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        run_in_nsrun(s, WORDS("--no-config"), WORDS("--", "true"), &o);
        expect_host_refusal(
                &o, 125,
                "nsrun: this nsrun is in a sandbox of another one, whose seccomp policy refuses "
                "namespaces: Operation not permitted; start the outer one with --seccomp=nested");
        run_in_nsrun(s, WORDS("--seccomp=nested", "--protect=strict"), WORDS("--", "true"), &o);
        expect_host_refusal(
                &o, 125,
                "nsrun: this nsrun is in a sandbox of another one, whose --protect=strict forbids mount "
                "namespaces: /proc/sys/user/max_mnt_namespaces: No space left on device; start the "
                "outer one without --protect=strict");
        run_in_nsrun(s, WORDS("--seccomp=nested", "--uid=0"), WORDS("--", "true"), &o);
        expect_host_refusal(
                &o, 125,
                "nsrun: root has not the capability CAP_SETFCAP, without which nobody can have root's id "
                "in a new user namespace: Operation not permitted; start the nsrun around this one with "
                "--uid=1000");
        run_in_nsrun(s, WORDS("--seccomp=nested", "--uid=4321"), WORDS("--proc=new", "--", "true"), &o);
        expect_host_refusal(
                &o, 125,
                "nsrun: a new /proc can't be mounted: /proc: Operation not permitted; the nsrun around "
                "this one covers parts of its own: leave --proc out, or choose --proc=none, or "
                "--proc=bind (which shows that one's processes)");
}

/* ----------------------------------------------------------- bubblewrap in nsrun */

static void run_bwrap(const struct site *s, const char *bwrap, const char *id, struct outcome *ret) {
        RUN(s, ret, "--seccomp=nested", id ? id : "--no-config", "--ro", bwrap, "--", bwrap, "--ro-bind",
            "/", "/", "--unshare-user", "--unshare-pid", "--unshare-net", "--dev", "/dev", "--proc", "/proc",
            "--", "sh", "-c", "echo $$; test -e /proc/meminfo && echo whole");
}

static void expect_bwrap(const struct site *s, const char *bwrap) {
        _cleanup_outcome_ struct outcome o = {0};

        run_bwrap(s, bwrap, NULL, &o);
        if (geteuid() != 0) {
                expect_status(&o, 0);
                expect_out(&o, "2\nwhole\n");
        }
        run_bwrap(s, bwrap, "--uid=4321", &o);
        assert_int_not_equal(o.status, 0);
        expect_in(o.err, "Can't mount proc");
}

TEST(bubblewrap_mounts_its_proc_in_nsrun) {
        if (!has_program("bwrap"))
                skip_because("bubblewrap isn't installed");
        expect_bwrap(*state, "/usr/bin/bwrap");
}

TEST(nsrun_bwrap_mounts_its_proc_in_nsrun) {
        const char *bwrap = getenv("NSRUN_BWRAP");

        if (!bwrap)
                skip_because("NSRUN_BWRAP names no nsrun-bwrap");
        expect_bwrap(*state, bwrap);
}

/* bubblewrap itself ends where it can have no cgroup namespace; what a user names stays. */
TEST(unshare_all_works_for_bwrap_inside) {
        static const char line[] = "bwrap --unshare-all --ro-bind / / echo fine";
        static const char *const policies[] = {"--seccomp=nested", "--seccomp=nested+kcmp",
                                               "--seccomp=none"};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        if (!has_program("bwrap"))
                skip_because("bubblewrap isn't installed");
        for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
                RUN(s, &o, policies[i], id_for_inner(), "--", "sh", "-c", line);
                expect_status(&o, 0);
                expect_out(&o, "fine\n");
        }
        RUN(s, &o, "--seccomp=nested", id_for_inner(), "--ro=/usr/bin/bwrap", "--explain", "--", "sh", "-c",
            line);
        expect_status(&o, 1);
        expect_in(o.err, "exceeded (ENOSPC)\n");
        expect_in(o.err,
                  "a sandbox has no cgroup namespaces, by which a command could freeze what shares your "
                  "cgroup: nsrun-bwrap takes bubblewrap's options and does without\n");
}

/* A host whose /usr/local/bin has a link of that name, which leads to `text`. */
static void stage_link(void *data) {
        const struct host *host = data;

        stage_enter();
        stage_tmpfs("/usr/local/bin", 0);
        if (symlink(host->text, "/usr/local/bin/bwrap") < 0)
                stage_fail("symlink");
}

/* As nsrun-as-bwrap has it, and --enable-bwrap-link, or whoever has another bubblewrap. */
TEST(a_link_that_is_named_bwrap_is_followed) {
        const struct site *s = *state;
        const char *const targets[] = {getenv("NSRUN_BWRAP"), "/usr/bin/bwrap", "/usr/bin/env", "missing"};
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
                struct host host = {.text = targets[i]};

                if (!targets[i] || (i == 1 && !has_program("bwrap")))
                        continue;
                run_on(s, stage_link, &host, NULL,
                       OPTIONS("--seccomp=nested", id_for_inner(), "--ro", getenv("NSRUN_BWRAP"),
                               "--env=NSRUN_INIT"),
                       targets[i][0] == '/' ? "/usr/local/bin/bwrap --ro-bind / / --unshare-user echo fine"
                                            : "echo fine",
                       &o);
                expect_fine(&o);
        }
}

/* As bubblewrap 0.12 opens what it binds: as Debian builds it, it doesn't go on without that call. */
static _Noreturn void open_in_root(void) {
        const struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                                     .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
        int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        long fd = syscall(SYS_openat2, root, "/", &how, sizeof(how));

        (void)printf("%s\n", error_word(fd < 0 ? errno : 0));
        exit(0);
}

/* ------------------------------------------------------- what may be done in /proc */

/* Writes back what a file says: nothing changes where that works. */
static int write_same(const char *path) {
        char text[4096];
        int from = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), to = -1, r = 0;
        ssize_t n = from >= 0 ? read(from, text, sizeof(text)) : 0;

        to = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
        if (to < 0 || write(to, text, n > 0 ? (size_t)n : 0) < 0)
                r = errno;
        if (from >= 0)
                (void)close(from);
        if (to >= 0)
                (void)close(to);
        return r;
}

static int read_some(const char *path) {
        char byte;
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), r;

        if (fd < 0)
                return errno;
        r = read(fd, &byte, 1) < 0 ? errno : 0;
        (void)close(fd);
        return r;
}

static int try_one(const char *path, const struct stat *st, int type, nsrun_unused struct FTW *at) {
        char *below = NULL;

        if (type == FTW_SL)
                return 0;
        if (type == FTW_F) {
                (void)printf("read %s %s\n", path, error_word(read_some(path)));
                (void)printf("write %s %s\n", path, error_word(write_same(path)));
        } else {
                if (asprintf(&below, "%s/nsrun-test", path) < 0)
                        return -1;
                (void)printf("write %s %s\n", path, error_word(mkdir(below, 0755) < 0 ? errno : 0));
                free(below);
        }
        (void)printf("chmod %s %s\n", path, error_word(chmod(path, st->st_mode & 07777) < 0 ? errno : 0));
        return 0;
}

static _Noreturn void try_all(void) {
        for (size_t i = 0; i < ARRAY_SIZE(covered); i++)
                if (nftw(covered[i], try_one, 16, FTW_PHYS) < 0 && errno != ENOENT)
                        _exit(97);
        exit(0);
}

static void put(const char *path, const char *text) {
        int fd = open(path, O_WRONLY | O_CLOEXEC);

        if (fd < 0 || write(fd, text, strlen(text)) < 0)
                _exit(96);
        (void)close(fd);
}

/* The same as root of namespaces of one's own. */
static _Noreturn void try_all_as_root(void) {
        unsigned uid = geteuid(), gid = getegid();
        char map[32];
        pid_t pid;
        int status = 0;

        if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNET |
                    CLONE_NEWUTS) < 0)
                _exit(95);
        put("/proc/self/setgroups", "deny");
        (void)snprintf(map, sizeof(map), "0 %u 1", uid);
        put("/proc/self/uid_map", map);
        (void)snprintf(map, sizeof(map), "0 %u 1", gid);
        put("/proc/self/gid_map", map);
        pid = fork();
        if (pid == 0) {
                if (mount("proc", "/proc", "proc", 0, NULL) < 0)
                        _exit(94);
                try_all();
        }
        _exit(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 93);
}

static void run_probe(const struct site *s, const char *seccomp, const char *what, struct outcome *ret) {
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *bind = text_of("%s:/probe:ro", self);

        RUN(s, ret, seccomp, "--bind", bind, "--", "/probe", what);
}

/* The word at the end of the line "KIND PATH WORD" that begins like `line`; NULL: there is none. */
static char *word_of(const char *text, const char *line) {
        size_t n = (size_t)(strrchr(line, ' ') - line) + 1;

        for (const char *at = text; at && *at; at = strchr(at, '\n') + 1)
                if (strncmp(at, line, n) == 0)
                        return strndup(at + n, strcspn(at + n, "\n"));
        return NULL;
}

TEST(a_sandbox_inside_can_resolve_in_a_root_of_its_own) {
        _cleanup_outcome_ struct outcome o = {0};

        run_probe(*state, "--seccomp=nested", "in-root", &o);
        expect_status(&o, 0);
        expect_out(&o, "ok\n");
        run_probe(*state, "--seccomp=default", "in-root", &o);
        expect_status(&o, 0);
        expect_out(&o, "ENOSYS\n");
}

TEST_IF(geteuid() != 0, a_whole_proc_gives_an_ordinary_user_nothing, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome whole = {0}, cover = {0};
        size_t n_read = 0, n_written = 0;
        char *rest = NULL;

        run_probe(s, "--seccomp=default", "try", &cover);
        expect_status(&cover, 0);
        run_probe(s, "--seccomp=nested", "try", &whole);
        expect_status(&whole, 0);
        /* The covers are there, and aren't. */
        expect_in(cover.out, "chmod /proc/sys/kernel/hostname EROFS\n");
        expect_in(cover.out, "chmod /proc/irq EROFS\n");
        expect_in(whole.out, "chmod /proc/sys/kernel/hostname EPERM\n");
        expect_in(whole.out, "chmod /proc/irq EPERM\n");
        for (char *line = strtok_r(whole.out, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
                _cleanup_free_ char *before = word_of(cover.out, line);
                const char *now = strrchr(line, ' ') + 1;

                /* What comes and goes: an interface, a device. */
                if (!before)
                        continue;
                if (strncmp(line, "read ", 5) == 0) {
                        n_read++;
                        if (!streq(before, now))
                                fail_msg("%s, and covered: %s", line, before);
                        continue;
                }
                n_written++;
                /* The kernel asks for the mode first, and for a read-only mount then. */
                if (streq(now, "ok") || (!streq(before, "EROFS") && !streq(before, now)))
                        fail_msg("%s, and covered: %s", line, before);
        }
        assert_true(n_read > 100);
        assert_true(n_written > 200);
}

/* Settings of the namespaces that it has made, and of no other. */
TEST_IF(geteuid() != 0, root_of_ones_own_namespaces_writes_their_settings_alone, site_setup, site_teardown) {
        static const char *const own[] = {
                "write /proc/sys/net/",
                "write /proc/sys/user/",
                "write /proc/sys/fs/mqueue/",
                "write /proc/sys/kernel/sem",
                "write /proc/sys/kernel/shm",
                "write /proc/sys/kernel/msg",
                "write /proc/sys/kernel/auto_msgmni ",
                "write /proc/sys/kernel/ns_last_pid ",
                "write /proc/sys/kernel/pid_max ",
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        size_t n_own = 0;
        char *rest = NULL;

        run_probe(s, "--seccomp=nested", "try-as-root", &o);
        expect_status(&o, 0);
        expect_in(o.out, "write /proc/sys/kernel/core_pattern EACCES\n");
        for (char *line = strtok_r(o.out, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
                bool is_own = false;

                if (strncmp(line, "read ", 5) == 0 || !streq(strrchr(line, ' '), " ok"))
                        continue;
                for (size_t i = 0; i < ARRAY_SIZE(own); i++)
                        is_own |= strncmp(line, own[i], strlen(own[i])) == 0;
                if (!is_own)
                        fail_msg("%s", line);
                n_own++;
        }
        assert_true(n_own > 0);
}

/* Root's id is that of the files' owner, and where --uid makes one the namespaces' settings are its own. */
TEST(roots_proc_is_covered_under_every_policy) {
        static const char *const ids[] = {"--uid=0", "--uid=4321"};
        const struct site *s = *state;
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *bind = text_of("%s:/probe:ro", self);
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
                RUN(s, &o, "--seccomp=nested", ids[i], "--bind", bind, "--", "/probe", "try");
                expect_status(&o, 0);
                for (size_t at = 0; at < ARRAY_SIZE(covered); at++) {
                        _cleanup_free_ char *line = text_of("chmod %s EROFS\n", covered[at]);

                        if (access(covered[at], F_OK) == 0)
                                expect_in(o.out, line);
                }
                if (geteuid() == 0)
                        expect_in(o.out, "write /proc/sys/kernel/hostname EROFS\n");
                expect_not_in(o.out, " ok\nchmod");
        }
        /* 94: no new /proc, which would be whole. */
        RUN(s, &o, "--seccomp=nested", "--uid=4321", "--bind", bind, "--", "/probe", "try-as-root");
        expect_status(&o, 94);
        expect_out(&o, "");
}

static void stage_root_by_another_name(void *data) {
        const struct site *s = data;

        (void)s;
        if (unshare(CLONE_NEWUSER) < 0)
                _exit(119);
        put("/proc/self/setgroups", "deny");
        put("/proc/self/uid_map", "1000 0 1");
        put("/proc/self/gid_map", "1000 0 1");
}

/* In a user namespace that calls root 1000: the kernel's files are this user's all the same. */
TEST_IF(geteuid() == 0, root_by_another_name_is_root, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *bind = text_of("%s:/probe:ro", self);
        _cleanup_free_ const char **argv = nsrun_argv(
                s, WORDS("--seccomp=nested", "--bind", bind, "--", "sh", "-c", "id -u; /probe try"));
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = argv,
                              .cwd = s->root,
                              .in_child = stage_root_by_another_name,
                              .data = (void *)(uintptr_t)s},
            &o);
        expect_status(&o, 0);
        expect_in(o.out, "1000\n");
        expect_in(o.out, "write /proc/sys/kernel/hostname EROFS\n");
        expect_in(o.out, "chmod /proc/irq EROFS\n");
}

int main(int argc, char **argv) {
        if (argc == 2 && streq(argv[1], "try"))
                try_all();
        if (argc == 2 && streq(argv[1], "try-as-root"))
                try_all_as_root();
        if (argc == 2 && streq(argv[1], "in-root"))
                open_in_root();
        return run_all_tests();
}

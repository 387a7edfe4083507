/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Folders as hosts have them: on mounts that never answer, with more in them than can be looked at, and, for
 * root, another user's. */
#include <linux/fuse.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/uio.h>

#include "host.h"

/* Where in the site a mount lies that never answers, which variable names it, and the option that does. */
static const struct {
        const char *folder, *variable, *option;
} silent_places[] = {
        {"project/net", NULL, NULL},
        {"project/a/net", NULL, "--hide=key"},
        {"outside/net", NULL, "--rw"},
        {"outside/net", "HOME", NULL},
        {"outside/net", "XDG_CONFIG_HOME", NULL},
        {"outside/net", "XDG_RUNTIME_DIR", NULL},
        {"outside/net", "GIT_CONFIG_GLOBAL", NULL},
        {"outside/net", NULL, "--tmp"},
};

static char *silence_of(const char *path) {
        return text_of(
                "nsrun: what is mounted there doesn't answer: %s: Connection timed out; see who serves "
                "it (findmnt -T PATH), or take it away: fusermount3 -u PATH, sudo umount -l PATH",
                path);
}

static void stage_named(void *data) {
        const struct host *host = data;

        stage_enter();
        stage_tmpfs(host->path, 0);
        if (host->text && setenv(host->text, host->path, 1) < 0)
                stage_fail(host->text);
}

TEST(a_mount_that_never_answers_is_named) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->project, "a");
        for (size_t i = 0; i < ARRAY_SIZE(silent_places); i++) {
                _cleanup_free_ char *place = path_of(s->root, silent_places[i].folder);
                const char *option = silent_places[i].option, *variable = silent_places[i].variable;
                bool has_path = option && !strchr(option, '=');
                bool has_config =
                        variable && (streq(variable, "HOME") || streq(variable, "XDG_CONFIG_HOME"));
                _cleanup_free_ char *named = path_of(place, variable && streq(variable, "HOME")
                                                                    ? ".config/nsrun/config.json"
                                                                    : "nsrun/config.json"),
                                    *line = silence_of(has_config ? named : place);
                const char *const options[] = {option, has_path ? place : NULL, NULL};
                struct host host = {.path = place, .text = variable};

                make_folder(s->root, silent_places[i].folder);
                run_on(s, stage_named, &host, "silent:other", options, "echo fine", &o);
                expect_fine(&o);
                run_on(s, stage_named, &host, "silent:net", options, "echo fine", &o);
                expect_host_refusal(&o, 125, line);
                assert_int_equal(rmdir(place), 0);
        }
}

TEST(a_file_on_a_mount_that_never_answers_is_named) {
        static const char *const options[] = {"--config", "--seccomp", "--report"};
        const struct site *s = *state;
        _cleanup_free_ char *place = path_of(s->outside, "net"), *file = path_of(place, "x"),
                            *line = silence_of(file);
        struct host host = {.path = place};
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->outside, "net");
        for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
                run_on(s, stage_named, &host, "silent:other", OPTIONS(options[i], file), "echo fine", &o);
                expect_not_in(o.err, "doesn't answer");
                run_on(s, stage_named, &host, "silent:net", OPTIONS(options[i], file), "echo fine", &o);
                expect_host_refusal(&o, 125, line);
        }
}

/* ------------------------------------------------- a mount with a server, which may fall silent */

/* What is mounted at a place of the host's, and how its server answers. */
struct served {
        const struct site *site;
        const char *place, *at; /* in the site, and on the host */
        bool is_mute;           /* reads what it is asked, and says nothing: who asked can't be killed */
        bool is_still;          /* doesn't even read */
        bool is_caching; /* as sshfs: says what it has said before, and asks a server for the rest, who is
                            gone */
        pid_t *first;    /* who asked first, in memory that the server shares */
        pid_t *nsrun;
};

static void reply(int fd, const struct fuse_in_header *in, int error, const void *data, size_t n) {
        struct fuse_out_header out = {(uint32_t)(sizeof(out) + n), error, in->unique};
        struct iovec parts[] = {{&out, sizeof(out)}, {(void *)(uintptr_t)data, n}};

        (void)!writev(fd, parts, n > 0 ? 2 : 1);
}

/* An empty folder. */
static void answer_as_empty(int fd, const struct fuse_in_header *in) {
        const struct fuse_attr_out folder = {
                .attr = {.ino = 1, .mode = S_IFDIR | 0755, .nlink = 2, .blksize = 4096}};
        const struct fuse_init_out hello = {.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096};
        const struct fuse_open_out opened = {.fh = 1};
        const struct fuse_statfs_out size = {.st = {.bsize = 4096, .namelen = 255}};

        switch (in->opcode) {
        case FUSE_INIT:
                reply(fd, in, 0, &hello, sizeof(hello));
                return;
        case FUSE_GETATTR:
                reply(fd, in, 0, &folder, sizeof(folder));
                return;
        case FUSE_OPENDIR:
                reply(fd, in, 0, &opened, sizeof(opened));
                return;
        case FUSE_STATFS:
                reply(fd, in, 0, &size, sizeof(size));
                return;
        case FUSE_READDIR:
        case FUSE_RELEASEDIR:
        case FUSE_ACCESS:
                reply(fd, in, 0, NULL, 0);
                return;
        case FUSE_LOOKUP:
                reply(fd, in, -ENOENT, NULL, 0);
                return;
        case FUSE_FORGET:
        case FUSE_BATCH_FORGET:
        case FUSE_INTERRUPT:
                return;
        default:
                reply(fd, in, -ENOSYS, NULL, 0);
        }
}

static bool is_remembered(const struct fuse_in_header *in) {
        return in->opcode == FUSE_GETATTR || in->opcode == FUSE_OPENDIR || in->opcode == FUSE_READDIR ||
               (in->opcode == FUSE_LOOKUP && streq((const char *)(in + 1), ".git"));
}

_Noreturn static void serve(int fd, const struct served *s) {
        static union {
                struct fuse_in_header in;
                char bytes[FUSE_MIN_READ_BUFFER + 4096];
        } asked;

        /* It ends with what is to become nsrun, which may have ended by now, and holds nothing open that
         * somebody waits for the end of. */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != *s->nsrun || dup2(fd, 0) < 0 ||
            syscall(SYS_close_range, 1, ~0U, 0) < 0)
                _exit(1);
        for (;;) {
                ssize_t n = read(0, &asked, sizeof(asked));

                if (n < (ssize_t)sizeof(asked.in) && errno != EINTR && errno != ENOENT)
                        _exit(0);
                if (n < (ssize_t)sizeof(asked.in))
                        continue;
                if (asked.in.opcode != FUSE_INIT && asked.in.pid != 0 && *s->first == 0)
                        *s->first = (pid_t)asked.in.pid;
                if (asked.in.opcode == FUSE_INIT || (s->is_caching ? is_remembered(&asked.in) : !s->is_mute))
                        answer_as_empty(0, &asked.in);
                if (s->is_still)
                        (void)raise(SIGSTOP);
        }
}

static void stage_served(void *data) {
        const struct served *s = data;
        int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
        char options[64];

        if (fd < 0 || unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                stage_fail("a private tree");
        (void)snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
        if (mount("served", s->at, "fuse.served", MS_NOSUID | MS_NODEV, options) < 0)
                stage_fail(s->at);
        *s->nsrun = getpid();
        if (fork() == 0)
                serve(fd, s);
}

/* Nobody answers an automount: its daemon has the pipe open, and reads nothing. */
static void stage_automount(void *data) {
        const struct host *host = data;
        char options[96];
        int ends[2];
        pid_t nsrun = getpid(), pid;

        if (pipe(ends) < 0 || unshare(CLONE_NEWNS) < 0 ||
            mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || (pid = fork()) < 0)
                stage_fail("a private tree");
        if (pid == 0) {
                if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != nsrun || setpgid(0, 0) < 0 ||
                    dup2(ends[0], 0) < 0 || syscall(SYS_close_range, 1, ~0U, 0) < 0)
                        _exit(1);
                for (;;)
                        (void)pause();
        }
        (void)setpgid(pid, pid);
        (void)snprintf(options, sizeof(options), "fd=%d,pgrp=%d,minproto=5,maxproto=5,direct", ends[1],
                       (int)pid);
        if (mount("nobody", host->path, "autofs", 0, options) < 0)
                stage_fail(host->path);
        (void)close(ends[0]);
        (void)close(ends[1]);
}

/* The folder of the state lies beside the others. */
static char *served_at(const struct site *s, const char *place) {
        return text_of("%s%s%s", s->root, startswith(place, "state/") ? "." : "/", place);
}

static void run_served(struct served *s, const char *const *arguments, struct outcome *ret) {
        _cleanup_free_ char *at = served_at(s->site, s->place);
        _cleanup_free_ const char **argv = words_of(OPTIONS(program()), arguments);

        s->at = at;
        *s->first = 0;
        outcome_clear(ret);
        run(&(struct request){.argv = argv, .cwd = s->site->root, .in_child = stage_served, .data = s}, ret);
        collect_orphans();
}

#define SERVED(s, outcome, ...) run_served(s, OPTIONS(__VA_ARGS__), outcome)

static void make_places(const struct site *s, struct served *served) {
        _cleanup_outcome_ struct outcome o = {0};

        run_outside(
                s, &o,
                "git init -q . && git init -q sub && mkdir -p .git/modules/x .git/worktrees .claude a/net");
        expect_status(&o, 0);
        *served = (struct served){.site = s};
        served->first =
                mmap(NULL, sizeof(pid_t) * 2, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(served->first, MAP_FAILED);
        served->nsrun = served->first + 1;
}

/* Wherever nsrun looks, a child of its asks first: what hangs then is not nsrun. */
TEST_IF(geteuid() == 0, nobody_is_asked_before_a_child_has_asked, site_setup, site_teardown) {
        static const char *const places[] = {
                "project/.git",
                "project/.git/refs",
                "project/.git/modules",
                "project/.git/modules/x",
                "project/.git/worktrees",
                "project/sub/.git",
                "project/.claude",
                "home/.cargo",
                "home/.local",
                "home/.local/share",
                "home/.local/share/pnpm",
                "home/.config",
                "home/.config/git",
                "home/.config/pip",
                "home/.m2",
                "home/.gradle",
                "home/go",
                "home/.ssh",
                "home/.gnupg",
                "home/.claude",
                "home/.codex",
                "home/.docker",
                "home/.vim",
                "home/miniconda3",
                "home/.sdkman",
                "state/nsrun",
                "cache/nsrun",
        };
        const struct site *s = *state;
        struct served served;

        if (access("/dev/fuse", F_OK) < 0)
                skip_because("there is no /dev/fuse");
        make_places(s, &served);
        for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
                _cleanup_free_ char *at = served_at(s, places[i]), *make = text_of("mkdir -p %s", at);
                _cleanup_outcome_ struct outcome o = {0};

                served.place = places[i];
                run_outside(s, &o, make);
                SERVED(&served, &o, "run", "--project", s->project, "--", "true");
                if (*served.first == 0 || *served.first == *served.nsrun)
                        fail_msg("%s: %s was first", places[i], *served.first == 0 ? "nobody" : "nsrun");
                SERVED(&served, &o, "review", "--project", s->project);
                if (*served.first == *served.nsrun)
                        fail_msg("%s: nsrun review was first", places[i]);
        }
        (void)munmap(served.first, sizeof(pid_t) * 2);
}

/* Of a server that is stopped, and of one that has read what it is asked: then who asks can't be killed. */
TEST_IF(geteuid() == 0, a_server_that_falls_silent_is_named, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *git = path_of(s->project, ".git"), *cargo = path_of(s->home, ".cargo"),
                            *net = path_of(s->project, "a/net"), *away = path_of(s->outside, "net"),
                            *gits = silence_of(git), *cargos = silence_of(cargo), *aways = silence_of(away),
                            *nets = silence_of(net);
        _cleanup_outcome_ struct outcome o = {0};
        struct served served;

        if (access("/dev/fuse", F_OK) < 0)
                skip_because("there is no /dev/fuse");
        make_places(s, &served);
        make_folder(s->home, ".cargo");
        make_folder(s->outside, "net");
        served.place = "project/.git";
        SERVED(&served, &o, "run", "--project", s->project, "--", "echo", "fine");
        expect_out(&o, "fine\n");
        for (int i = 0; i < 2; i++) {
                served.is_mute = i == 0;
                served.is_still = i == 1;
                served.place = "project/.git";
                SERVED(&served, &o, "run", "--project", s->project, "--", "echo", "fine");
                expect_host_refusal(&o, 125, gits);
                served.place = "home/.cargo";
                SERVED(&served, &o, "run", "--project", s->project, "--", "echo", "fine");
                expect_host_refusal(&o, 125, cargos);
                served.place = "outside/net";
                SERVED(&served, &o, "review", "--project", away);
                expect_host_refusal(&o, 125, aways);
        }
        served.is_still = false;
        served.is_caching = true;
        served.place = "outside/net";
        SERVED(&served, &o, "run", "--project", away, "--", "echo", "fine");
        expect_host_refusal(&o, 125, aways);
        served.is_caching = false;
        served.is_still = true;
        /* Where nsrun needn't look it doesn't, and doctor tells of it. */
        served.place = "project/a/net";
        SERVED(&served, &o, "run", "--project", s->project, "--", "echo", "fine");
        expect_fine(&o);
        SERVED(&served, &o, "doctor", "--here", "--project", s->project);
        expect_status(&o, 0);
        expect_in(o.out, nets + strlen("nsrun: "));
        (void)munmap(served.first, sizeof(pid_t) * 2);
}

TEST_IF(geteuid() == 0, an_automount_that_nobody_answers_is_named, site_setup, site_teardown) {
        static const char *const places[] = {"project/net", "outside/net"};
        const struct site *s = *state;
        _cleanup_free_ char *kinds = file_text("/proc/filesystems");

        if (!strstr(kinds, "\tautofs\n"))
                skip_because("this kernel has no autofs");
        for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
                _cleanup_free_ char *place = path_of(s->root, places[i]), *line = silence_of(place);
                _cleanup_outcome_ struct outcome o = {0};
                struct host host = {.path = place};

                make_folder(s->root, places[i]);
                run_on(s, stage_automount, &host, NULL, i > 0 ? OPTIONS("--rw", place) : NO_OPTIONS,
                       "echo fine", &o);
                collect_orphans();
                expect_host_refusal(&o, 125, line);
                run_on(s, stage_plain, &host, NULL, i > 0 ? OPTIONS("--rw", place) : NO_OPTIONS, "echo fine",
                       &o);
                expect_fine(&o);
                assert_int_equal(rmdir(place), 0);
        }
}

/* First among the folders of PATH: who looks for a program there waits. */
static void stage_path(void *data) {
        const struct host *host = data;
        _cleanup_free_ char *path = text_of("%s:%s", host->path, getenv("PATH"));

        stage_named(data);
        if (setenv("PATH", path, 1) < 0)
                stage_fail("PATH");
}

TEST(programs_and_toolchains_on_a_mount_that_never_answers_are_left_out) {
        static const char *const variables[] = {"VIRTUAL_ENV", "GOPATH", "CARGO_HOME"};
        static const char *const profiles[] = {"--profile=code", "--profile=instance"};
        const struct site *s = *state;
        _cleanup_free_ char *place = path_of(s->outside, "nas"),
                            *unseen = text_of(
                                    "not seen    VIRTUAL_ENV=%s isn't visible inside: what is mounted there "
                                    "doesn't answer\nnot seen    PATH names what isn't visible inside: %s",
                                    place, place);
        _cleanup_outcome_ struct outcome o = {0};

        /* There is a /proc/self/ns/net. */
        make_folder(s->outside, "nas");
        for (size_t i = 0; i < ARRAY_SIZE(profiles); i++) {
                struct host host = {.path = place};

                /* Root's silence goes on inside: there the command has a PATH without it. */
                run_on(s, stage_path, &host, "silent:nas",
                       OPTIONS(profiles[i], "--env", "PATH=/usr/bin:/bin"), "echo fine", &o);
                expect_in(o.out, "fine\n");
                expect_status(&o, 0);
                for (size_t j = 0; j < (i == 0 ? ARRAY_SIZE(variables) : 1); j++) {
                        host.text = variables[j];
                        run_on(s, stage_named, &host, "silent:nas", OPTIONS(profiles[i]), "echo fine", &o);
                        expect_in(o.out, "fine\n");
                        expect_status(&o, 0);
                }
        }
        run_command_on(s, stage_path, &(struct host){.path = place, .text = "VIRTUAL_ENV"}, "silent:nas",
                       OPTIONS(program(), "plan", "--project", s->project, "--", "true"), &o);
        expect_in(o.out, unseen);
        expect_status(&o, 0);
}

TEST(what_git_is_to_run_from_a_mount_that_never_answers_is_named) {
        static const struct {
                const char *key, *way; /* to the same place */
        } keys[] = {{"core.hooksPath", ""},
                    {"core.fsmonitor", ""},
                    {"core.fsmonitor", "/proc/self/root"},
                    {"include.path", ""}};
        const struct site *s = *state;
        _cleanup_free_ char *place = path_of(s->outside, "net"), *file = path_of(place, "x");
        struct host host = {.path = place};
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->outside, "net");
        for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
                _cleanup_free_ char *named = text_of("%s%s", keys[i].way, file), *line = silence_of(named),
                                    *script = text_of("rm -rf .git; git init -q .; git config %s '%s'",
                                                      keys[i].key, named);

                run_outside(s, &o, script);
                expect_status(&o, 0);
                run_on(s, stage_named, &host, "silent:other", (const char *const[]){NULL}, "echo fine", &o);
                expect_in(o.out, "fine\n");
                run_on(s, stage_named, &host, "silent:net", (const char *const[]){NULL}, "echo fine", &o);
                expect_host_refusal(&o, 125, line);
        }
}

/* What is only read, and isn't wanted by all means. */
TEST(what_is_read_of_a_mount_that_never_answers_is_as_if_it_was_not_there) {
        static const char *const setups[] = {
                "git config core.excludesFile \"$x\"",
                "git config gpg.format ssh; git config commit.gpgSign true; git config user.signingKey \"$x\"",
                "mkdir -p .gemini; ln -s \"$x\" .gemini/settings.json",
        };
        const struct site *s = *state;
        _cleanup_free_ char *place = path_of(s->outside, "dead"), *file = path_of(place, "x");
        struct host host = {.path = place, .text = "GEMINI_API_KEY"};
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->outside, "dead");
        for (size_t i = 0; i < ARRAY_SIZE(setups); i++) {
                _cleanup_free_ char *script =
                        text_of("rm -rf .git; git init -q .; x='%s'; %s", file, setups[i]);

                run_outside(s, &o, script);
                expect_status(&o, 0);
                run_on(s, stage_named, &host, "silent:dead",
                       (const char *const[]){"--agent=gemini", "--net=allow", NULL}, "echo fine", &o);
                expect_status(&o, 0);
                expect_in(o.out, "fine\n");
        }
        /* An agent's state is kept. */
        run_outside(s, &o, "rm -r \"$XDG_CACHE_HOME\"/nsrun");
        expect_status(&o, 0);
}

TEST_IF(geteuid() != 0, more_folders_than_can_be_looked_into_are_refused, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *line = text_of(
                "nsrun: there are more folders in it than can be looked into for repositories: %s: Argument "
                "list too long; look who made them; --no-protect '*' protects nothing",
                s->project);
        _cleanup_outcome_ struct outcome o = {0};

        run_outside(s, &o, "seq 1 50000 | xargs mkdir");
        RUN(s, &o, "--", "true");
        expect_status(&o, 0);
        run_outside(s, &o, "mkdir 0");
        RUN(s, &o, "--", "true");
        expect_refusal(&o, 125, line);
        RUN(s, &o, "--no-protect", "*", "--", "true");
        expect_status(&o, 0);
}

#define POWERLESS "nsrun: note: root has no power over others' files in a sandbox: "
#define AS_60999  "setpriv --reuid=60999 --regid=60999 --clear-groups "

/* With its own configuration, and where the owner doesn't get there it says so. */
TEST_IF(geteuid() == 0, root_runs_anothers_project_as_its_owner, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *project = path_of(s->outside, "theirs"), *made = path_of(project, "made"),
                            *note = text_of(POWERLESS "it runs as the project's owner, 60999: %s\n",
                                            project),
                            *told = text_of(POWERLESS
                                            "the command can't write the project, which is 60999's: %s; "
                                            "start nsrun as that user: " AS_60999 "env -u HOME nsrun\n",
                                            project);
        const char *const argv[] = {program(), "run", "--project", project,
                                    "--",      "sh",  "-c",        "id -u; echo $WORD $HOME; : >made",
                                    NULL};
        _cleanup_free_ char *closed_out = text_of("0\nroot's %s\n", s->home);
        const char *const doctor[] = {program(), "doctor", "--here", "--project", project, NULL};
        const char *const session[] = {program(), "session", "start",    "--project",
                                       project,   "--ro",    "/no/such", NULL};
        static const char tidy[] =
                "rm -rf /var/lib/nsrun/60999; rmdir --ignore-fail-on-non-empty /var/lib/nsrun";
        _cleanup_outcome_ struct outcome tidied = {0}, closed = {0}, o = {0}, looked = {0}, one = {0},
                                         own = {0};
        struct stat st;

        make_folder(s->outside, "theirs");
        make_file(s->home, ".config/nsrun/config.json", "{\"env\": {\"WORD\": \"root's\"}}");
        assert_int_equal(chown(project, 60999, 60998), 0);
        assert_int_equal(chmod(s->root, 0700), 0);
        run(&(struct request){.argv = argv, .cwd = s->root}, &closed);
        assert_int_not_equal(closed.status, 0);
        expect_out(&closed, closed_out);
        assert_ptr_equal(startswith(closed.err, told), closed.err + strlen(told));
        assert_int_not_equal(access(made, F_OK), 0);
        assert_int_equal(chmod(s->root, 0711), 0);
        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        expect_status(&o, 0);
        expect_out(&o, "60999\nroot's /var/lib/nsrun/60999\n");
        assert_string_equal(o.err, note);
        assert_int_equal(stat(made, &st), 0);
        assert_int_equal(st.st_uid, 60999);
        assert_int_equal(st.st_gid, 60999); /* the folder's is none of its own */
        run(&(struct request){.argv = doctor, .cwd = s->root}, &looked);
        expect_status(&looked, 0);
        expect_not_in(looked.out, "can't write");
        run(&(struct request){.argv = session, .cwd = s->root}, &one);
        expect_status(&one, 125);
        expect_in(one.err, told);
        run_outside(s, &tidied, tidy);
        expect_status(&tidied, 0);
        /* Its own is nobody else's. */
        RUN(s, &own, "--", "id", "-u");
        expect_out(&own, "0\n");
        assert_string_equal(own.err, "");
}

/* What was root's: environment, memory, descriptors. */
TEST_IF(geteuid() == 0, the_owner_traces_nothing_of_what_root_runs_as_it, site_setup, site_teardown) {
        static const char script[] =
                "cd '%s' && mkfifo up go && chmod 666 up go || exit\n"
                "look='for f in environ maps mem cwd/. root/. fd/0 ns/user; do\n"
                "  head -c 1 /proc/$0/$f 2>&1 | grep -q \"Permission denied\" && echo $f; done'\n"
                "'%s' run -- sh -c 'echo x >up; read x <go' & p=$!\n"
                "read x <up; grep -c '^Uid:.60999.60999.60999.60999$' /proc/$p/status\n"
                "for q in $p $(cat /proc/$p/task/$p/children); do " AS_60999 "sh -c \"$look\" $q; done\n"
                "grep -c 'core file size  *1  *1 ' /proc/$p/limits; echo x >go; wait $p; echo $?\n" AS_60999
                "sh -c \"$look\" self; rm -rf /var/lib/nsrun/60999; rmdir --ignore-fail-on-non-empty /var/lib/nsrun";
        const struct site *s = *state;
        _cleanup_free_ char *project = path_of(s->outside, "theirs"),
                            *line = text_of(script, project, program());
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->outside, "theirs");
        assert_int_equal(chown(project, 60999, 60998), 0);
        assert_int_equal(chmod(s->root, 0711), 0);
        run_outside(s, &o, line);
        expect_out(
                &o,
                "1\nenviron\nmaps\nmem\ncwd/.\nroot/.\nfd/0\nns/user\nenviron\nmaps\nmem\ncwd/.\nroot/.\nfd/0\n"
                "ns/user\n1\n0\n");
}

/* root's sandbox has no capability over what isn't root's. */
TEST_IF(geteuid() == 0, a_project_in_another_users_closed_folder_is_named, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *closed = path_of(s->outside, "closed"), *project = path_of(closed, "project"),
                            *line = text_of(
                                    "nsrun: the source can't be opened: %s: Permission denied; a folder "
                                    "above it is another user's, and a sandbox has no capabilities over "
                                    "it, root's neither: run nsrun as that user, or let others pass "
                                    "(chmod o+x)",
                                    project);
        const char *const argv[] = {program(), "run", "--project", project, "--", "echo", "fine", NULL};
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->outside, "closed");
        make_folder(closed, "project");
        assert_int_equal(chown(closed, 60999, 60999), 0);
        assert_int_equal(chmod(closed, 0700), 0);
        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        expect_refusal(&o, 125, line);
        assert_int_equal(chmod(closed, 0701), 0);
        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        expect_fine(&o);
}

int main(void) {
        return run_all_tests();
}

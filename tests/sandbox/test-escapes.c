/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Ways out of the sandbox that an attacker once found: links into /proc as working
 * directory, source or command; a nested /proc; a signal to one's own process group. */
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "faults.h"
#include "probe.h"
#include "stage.h"

static void relink(const struct site *s, const char *name, const char *text) {
        _cleanup_free_ char *path = path_of(s->project, name);

        assert_true(unlink(path) == 0 || errno == ENOENT);
        make_link(s->project, name, text);
}

static void make_script(const struct site *s, const char *name, const char *text) {
        _cleanup_free_ char *path = path_of(s->project, name);

        make_file(s->project, name, text);
        assert_int_equal(chmod(path, 0755), 0);
}

/* ------------------------------------------------------- working directories */

/* What a command that got out would do: read what is not exposed, and write. */
static char *steal(const struct site *s) {
        return text_of("pwd -P; ls -A . ../../..; cat .%s/key; echo pwned >.%s/written", s->outside,
                       s->outside);
}

/* The refusal of `--chdir NAME`, with one of two reasons: a magic link, or (where a
 * missing descriptor will do) nothing there.  True for the magic link. */
static bool expect_no_way_in(const struct site *s, const char *const *options, const char *name,
                             bool may_be_missing) {
        static const char *const reasons[] = {"Too many levels of symbolic links",
                                              "No such file or directory", "Permission denied"};
        _cleanup_free_ char *script = steal(s), *magic = NULL, *missing = NULL, *denied = NULL;
        _cleanup_free_ const char **arguments = NULL;
        char **const lines[] = {&magic, &missing, &denied};
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
                *lines[i] =
                        text_of("nsrun: the working directory can't be entered: %s/%s: %s; --chdir names "
                                "a folder that the sandbox has\n",
                                s->project, name, reasons[i]);
        arguments = words_of(OPTIONS("--chdir", name), options, OPTIONS("--", "sh", "-c", script));
        run_nsrun(s, &o, arguments);
        expect_out(&o, "");
        expect_status(&o, 125);
        /* In a session it is the command itself that enters, by its own rights. */
        if (!streq(o.err, magic) && !(may_be_missing && streq(o.err, missing)) &&
            !(in_a_session() && streq(o.err, denied)))
                fail_msg("said \"%s\", not \"%s\"", o.err, magic);
        return streq(o.err, magic);
}

/* The command plants the link itself, in a run before. */
static void plant_from_inside(const struct site *s, const char *text) {
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--", "ln", "-sfn", text, "sub");
        expect_status(&o, 0);
}

TEST(a_planted_link_into_proc_is_no_working_directory) {
        static const char *const links[] = {
                "/proc/self/cwd",        "/proc/self/root",       "/proc/1/cwd",        "/proc/1/root",
                "/proc/thread-self/cwd", "/proc/self/task/1/cwd", "/proc/self/cwd/etc", "/dev/fd/0",
        };
        static const char *const none[] = {NULL};
        const struct site *s = *state;
        _cleanup_free_ char *real = text_of("%s/folder\n", s->project);
        _cleanup_outcome_ struct outcome o = {0};
        char *before;

        make_file(s->outside, "key", "secret\n");
        make_folder(s->project, "folder");
        relink(s, "folder/deep", "../sub");
        relink(s, "two", "sub");
        before = snapshot(s->outside);
        for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
                /* Of a process that joins there is no task 1. */
                bool may_be_missing = in_a_session() && streq(links[i], "/proc/self/task/1/cwd");

                plant_from_inside(s, links[i]);
                expect_no_way_in(s, none, "sub", may_be_missing);
                expect_no_way_in(s, none, "two", may_be_missing);
                expect_no_way_in(s, none, "sub/usr", may_be_missing);
        }
        plant_from_inside(s, "/proc/thread-self/fd");
        expect_no_way_in(s, none, "sub/0", false);
        plant_from_inside(s, "/proc/self/cwd");
        expect_no_way_in(s, none, "folder/deep", false);
        expect_unchanged(s->outside, before);

        /* On the host the same link leads wherever its reader stands. */
        plant_from_inside(s, "/proc/self/cwd");
        run_outside(s, &o, "cd ../outside && cat ../project/sub/key");
        expect_out(&o, "secret\n");
        /* A link that stays in the sandbox is followed. */
        plant_from_inside(s, "folder");
        RUN(s, &o, "--chdir", "two", "--", "pwd", "-P");
        expect_status(&o, 0);
        expect_out(&o, real);
        plant_from_inside(s, "/usr");
        RUN(s, &o, "--chdir", "sub/bin", "--", "pwd", "-P");
        expect_out(&o, "/usr/bin\n");
}

/* pid 1 has the host's folders open while it builds the sandbox. */
TEST(no_descriptor_of_pid_1_is_a_working_directory) {
        const struct site *s = *state;
        _cleanup_free_ char *layered = path_of(s->root, "layered");
        const char *const options[][3] = {{NULL}, {"--overlay", layered}, {"--ro", layered}};
        _cleanup_outcome_ struct outcome o = {0};
        unsigned n_open[ARRAY_SIZE(options)] = {0};
        char *before;

        make_folder(s->root, "layered");
        make_file(s->outside, "key", "secret\n");
        before = snapshot(s->outside);
        for (int fd = 0; fd <= 20; fd++) {
                _cleanup_free_ char *link = text_of("/proc/self/fd/%d", fd);

                relink(s, "sub", link);
                for (size_t i = 0; i < ARRAY_SIZE(options); i++)
                        n_open[i] += expect_no_way_in(s, options[i], "sub", true);
        }
        for (size_t i = 0; i < ARRAY_SIZE(options); i++)
                assert_true(n_open[i] >= 3);
        expect_unchanged(s->outside, before);
        /* A shell on the host gets in by such a link. */
        relink(s, "sub", "/proc/self/fd/9");
        run_outside(s, &o, "exec 9<../outside; cd -P ./sub && cat key");
        expect_out(&o, "secret\n");
}

TEST(without_openat2_a_link_is_no_working_directory_either) {
        static const char *const errors[] = {"38" /* ENOSYS */, "1" /* EPERM */};
        const struct site *s = *state;
        _cleanup_free_ char *deny = helper_path("deny");

        make_folder(s->project, "folder");
        relink(s, "sub", "/proc/self/cwd");
        for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
                _cleanup_outcome_ struct outcome o = {0};
                const char *argv[] = {deny,       errors[i], "openat2", program(), "run", "--project",
                                      s->project, "--chdir", "sub",     "--",      "ls",  NULL};

                run(&(struct request){.argv = argv, .cwd = s->root}, &o);
                expect_status(&o, 125);
                expect_out(&o, "");
                expect_in(o.err, "nsrun: the working directory can't be entered: ");
                outcome_clear(&o);
                argv[8] = "folder";
                argv[10] = "pwd";
                run(&(struct request){.argv = argv, .cwd = s->root}, &o);
                expect_status(&o, 0);
                expect_in(o.out, "/project/folder\n");
        }
}

/* ------------------------------------------------------------------- sources */

static char *planted_line(const char *option, const char *link, const char *source) {
        return text_of("nsrun: %s goes through a symlink in a writable folder: %s; it leads to %s, and a "
                       "command in the sandbox may have planted it: name the real path",
                       option, link, source);
}

/* "@": the project; the command reads and writes all that it can reach. */
TEST(a_source_behind_a_planted_link_is_refused) {
        static const struct {
                const char *option, *value, *link;
        } cases[] = {
                {"--ro", "@/data", "data"},
                {"--ro", "project/data", "data"},
                {"--ro", "@/data/deep", "data"},
                {"--ro", "@/folder/../data/deep", "data"},
                {"--rw", "@/data", "data"},
                {"--overlay", "@/data", "data"},
                {"--bind", "@/data:/data", "data"},
                {"--bind", "@/data:/data:ro", "data"},
                {"--bind", "@/data/key:/data", "data"},
                {"--tmp", "@/data", "data"},
                {"--ro", "@/two", "two"},
                {"--ro", "@/folder/up", "folder/up"},
        };
        static const char worst[] = "cat /data /data/key data/key /tmp/key ../outside/key; echo x >/data/w; "
                                    "echo x >/tmp/w; echo x >data/w";
        const struct site *s = *state;
        _cleanup_free_ char *data = path_of(s->project, "data"), *folder = NULL, *inside = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        char *before;

        make_file(s->outside, "key", "secret\n");
        make_folder(s->outside, "deep");
        make_folder(s->project, "folder/deep");
        before = snapshot(s->outside);
        RUN(s, &o, "--", "sh", "-c", "ln -s ../outside data; ln -s data two; ln -s ../../outside folder/up");
        expect_status(&o, 0);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *value = replaced(cases[i].value, "@", s->project);
                _cleanup_free_ char *link = path_of(s->project, cases[i].link);
                _cleanup_free_ char *source = strdup(s->outside), *line = NULL;

                if (strstr(value, "/deep") || strstr(value, "/key")) {
                        free(source);
                        source = path_of(s->outside, strstr(value, "/key") ? "key" : "deep");
                }
                line = planted_line(cases[i].option, link, source);
                RUN(s, &o, cases[i].option, value, "--", "sh", "-c", worst);
                expect_refusal(&o, 125, line);
        }
        expect_unchanged(s->outside, before);

        /* Nothing is wrong with the same folder by its own name, nor with a link that
         * stays where the command may write anyway. */
        RUN(s, &o, "--ro", s->outside, "--", "cat", "../outside/key");
        expect_out(&o, "secret\n");
        assert_int_equal(unlink(data), 0);
        make_link(s->project, "data", "folder");
        RUN(s, &o, "--rw", data, "--", "sh", "-c", "touch folder/x && ls two");
        expect_out(&o, "deep\nup\nx\n");
        /* But what a read-only rule is to protect is not for the link's owner to say. */
        folder = path_of(s->project, "folder");
        inside = planted_line("--ro", data, folder);
        RUN(s, &o, "--ro", data, "--", "true");
        expect_refusal(&o, 125, inside);
}

/* In the other folders that a run may write to. */
TEST(a_link_in_any_writable_root_is_no_way_to_a_source) {
        const struct site *s = *state;
        _cleanup_free_ char *uv = path_of(s->home, ".local/share/uv"), *link = path_of(uv, "python"),
                            *share = path_of(s->home, ".local/share"), *tmp = path_of(s->root, "tmp"),
                            *in_tmp = path_of(tmp, "data"),
                            *tmp_line = planted_line("--ro", in_tmp, s->outside),
                            *rw_line = planted_line("--ro", in_tmp, s->home);
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->outside, "key", "secret\n");
        make_folder(s->root, "tmp");
        make_folder(s->home, ".local/share/uv");

        RUN(s, &o, "--tmp", tmp, "--", "ln", "-s", s->outside, "/tmp/data");
        expect_status(&o, 0);
        RUN(s, &o, "--tmp", tmp, "--ro", in_tmp, "--", "ls", s->outside);
        expect_refusal(&o, 125, tmp_line);
        RUN(s, &o, "--tmp", tmp, "--ro", s->outside, "--", "ls", s->outside);
        expect_out(&o, "key\n");

        RUN(s, &o, "--rw", tmp, "--", "ln", "-s", "-n", "-f", s->home, in_tmp);
        expect_status(&o, 0);
        RUN(s, &o, "--rw", tmp, "--ro", in_tmp, "--", "ls", s->home);
        expect_refusal(&o, 125, rw_line);

        /* A default of nsrun's own is taken where no link leads to it, in this run or
         * in a later one. */
        RUN(s, &o, "--rw", share, "--", "ln", "-s", s->outside, link);
        expect_status(&o, 0);
        RUN(s, &o, "--rw", share, "--", "ls", s->outside);
        expect_status(&o, 2);
        expect_in(o.err, "No such file or directory");
        RUN(s, &o, "--", "ls", s->outside);
        expect_status(&o, 2);
        expect_in(o.err, "No such file or directory");
        assert_int_equal(unlink(link), 0);
        assert_int_equal(mkdir(link, 0755), 0);
        RUN(s, &o, "--rw", share, "--", "ls", uv);
        expect_out(&o, "python\n");
}

/* The parents of what a rule protects stay where they are. */
TEST(what_is_protected_can_not_be_moved_away) {
        static const char script[] = "mv a b || mv a/b x || mv a/b/hooks x || rmdir a/b/hooks; mkdir -p "
                                     "a/b/hooks && echo evil >a/b/hooks/h";
        const struct site *s = *state;
        _cleanup_free_ char *hooks = path_of(s->project, "a/b/hooks"), *hook = path_of(hooks, "h");
        _cleanup_outcome_ struct outcome o = {0};

        run_outside(s, &o, "mkdir -p a/b/hooks");
        RUN(s, &o, "--ro", hooks, "--", "sh", "-c", script);
        assert_int_not_equal(o.status, 0);
        expect_in(o.err, "Device or resource busy");
        expect_in(o.err, "Read-only file system");
        assert_int_equal(access(hooks, F_OK), 0);
        assert_int_equal(access(hook, F_OK), -1);
        run_inside(s, &o, script);
        expect_status(&o, 0);
        assert_int_equal(access(hook, F_OK), 0);
}

/* -------------------------------------------------------------------- signals */

/* Away from the test's own group, which an escaped signal would end. */
static void lead_a_session(nsrun_unused void *data) {
        if (setsid() < 0)
                _exit(123);
}

TEST(a_signal_to_ones_own_group_stays_in_the_sandbox) {
        static const char suicide[] = "kill -9 0";
        static const char *const options[] = {"--new-session", "--no-new-session"};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        const char *host[] = {"sh", "-c", "sh -c \"$1\"; echo survived", "sh", suicide, NULL};

        for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
                const char *const *argv = OPTIONS("sh", "-c",
                                                  "\"$1\" run --project \"$2\" \"$3\" -- sh -c \"$4\"; echo "
                                                  "survived $?",
                                                  "sh", program(), s->project, options[i], suicide);

                outcome_clear(&o);
                run(&(struct request){.argv = argv, .cwd = s->root, .in_child = lead_a_session}, &o);
                expect_status(&o, 0);
                expect_out(&o, "survived 137\n");
        }
        /* Without nsrun it ends its caller. */
        outcome_clear(&o);
        run(&(struct request){.argv = host, .cwd = s->root, .in_child = lead_a_session}, &o);
        expect_status(&o, 1000 + SIGKILL);
        expect_out(&o, "");
        collect_orphans();
}

/* ----------------------------------------------------------------- nested /proc */

static void say(const char *what, int r) {
        (void)printf("%s: %s\n", what, r < 0 ? strerror(errno) : "ok");
        (void)fflush(stdout);
}

/* What a command does to get a /proc that hides nothing: namespaces of its own, and
 * in them a new mount.  The file is only opened. */
static _Noreturn void mount_nested_proc(void) {
        bool is_root = geteuid() == 0;
        int status = 0;
        pid_t pid;

        say("unshare", unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID));
        pid = fork();
        if (pid == 0) {
                int r = mount("proc", "/tmp", "proc", 0, NULL);

                say("proc", r);
                if (r == 0)
                        say("meminfo", open("/tmp/meminfo", O_RDONLY | O_CLOEXEC));
                if (r == 0 && is_root)
                        say("core_pattern", open("/tmp/sys/kernel/core_pattern", O_WRONLY | O_CLOEXEC));
                _exit(0);
        }
        _exit(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 98);
}

/* The default filter forbids the first step; what the mounts hold is to hold without it. */
static void run_nested(const struct site *s, bool is_masked, const char *option, const char *seccomp,
                       struct outcome *ret) {
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL);
        _cleanup_free_ char *bind = text_of("%s:/probe:ro", self);
        _cleanup_free_ const char **argv =
                nsrun_argv(s, OPTIONS(option, seccomp, "--bind", bind, "--", "/probe", "nested-proc"));

        outcome_clear(ret);
        run(&(struct request){.argv = argv, .cwd = s->root, .in_child = is_masked ? stage_masked : NULL},
            ret);
}

TEST(a_nested_proc_shows_no_more_than_the_sandboxs_own) {
        static const char refused[] = "unshare: ok\nproc: Operation not permitted\n";
        static const char *const options[] = {"--proc=subset", "--proc=auto", "--proc=new", "--proc=none"};
        static const char *const notes[] = {
                "", "nsrun: note: a full /proc is refused here: mounted with subset=pid: /proc\n",
                "nsrun: note: no /proc can be mounted here: the sandbox has none: /proc\n"};
        const struct site *s = *state;
        const char *const control[] = {"/proc/self/exe", "nested-proc", NULL};
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
                run_nested(s, false, options[i], "--seccomp=default", &o);
                expect_status(&o, 0);
                expect_in(o.out, "unshare: Operation not permitted\nproc: Operation not permitted\n");
                run_nested(s, false, options[i], "--seccomp=nested", &o);
                expect_status(&o, 0);
                /* An ordinary user's own is whole under this policy: it has the same files (test-nested). */
                if (geteuid() == 0 || streq(options[i], "--proc=subset") || streq(options[i], "--proc=none"))
                        expect_out(&o, refused);
                else
                        expect_out(&o, "unshare: ok\nproc: ok\nmeminfo: ok\n");
                /* A sanitizer in the probe may have a word to say without /proc; nsrun not. */
                assert_null(strstr(o.err, "nsrun: "));
        }
        run_nested(s, true, "--proc=auto", "--seccomp=nested", &o);
        expect_status(&o, 0);
        expect_out(&o, refused);
        /* Whether subset=pid is to be had here depends on the kernel. */
        /* A host of the library tells it at the end, when a sanitizer in the probe has had its word. */
        if (!strstr(o.err, notes[1]) && !strstr(o.err, notes[2]))
                fail_msg("said: %s", o.err);

        outcome_clear(&o);
        run(&(struct request){.argv = control}, &o);
        if (streq(o.out, refused))
                skip_because("this host's own /proc is masked: nobody may mount a full one");
        expect_out(&o, geteuid() == 0 ? "unshare: ok\nproc: ok\nmeminfo: ok\ncore_pattern: ok\n"
                                      : "unshare: ok\nproc: ok\nmeminfo: ok\n");
}

/* In a cgroup namespace of its own a nested user namespace may mount cgroup2, whose
 * root is the caller's cgroup with the caller's processes. */
static _Noreturn void nest_cgroups(void) {
        say("unshare", unshare(CLONE_NEWUSER | CLONE_NEWNS));
        say("cgroup", unshare(CLONE_NEWCGROUP));
        _exit(0);
}

TEST(no_nested_namespace_has_the_callers_cgroup) {
        const struct site *s = *state;
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL);
        _cleanup_free_ char *bind = text_of("%s:/probe:ro", self);
        const char *const control[] = {"/proc/self/exe", "nested-cgroup", NULL};
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--bind", bind, "--", "/probe", "nested-cgroup");
        expect_status(&o, 0);
        expect_out(&o, "unshare: Operation not permitted\ncgroup: Operation not permitted\n");
        RUN(s, &o, "--seccomp=nested", "--bind", bind, "--", "/probe", "nested-cgroup");
        expect_status(&o, 0);
        expect_out(&o, "unshare: ok\ncgroup: No space left on device\n");
        outcome_clear(&o);
        run(&(struct request){.argv = control}, &o);
        expect_out(&o, "unshare: ok\ncgroup: ok\n");
}

/* --------------------------------------------------------------- nsrun itself */

TEST(nsrun_itself_is_no_command) {
        static const struct {
                const char *name, *text; /* a script; NULL: there already */
        } commands[] = {
                {"./link", NULL},
                {"./folder/../link", NULL},
                {"./far", NULL},
                {"/proc/self/exe", NULL},
                {"/proc/self/task/2/exe", NULL},
                {"/proc/thread-self/exe", NULL},
                {"/proc/self/cwd/link", NULL},
                {"./a", "#!/proc/self/exe\n"},
                {"./b", "#! \t/proc/self/exe --version\n"},
                {"./c", "#!./link\n"},
                {"./d", "#!./a\n"},
                {"./e", "#!./d x\n"},
                {"./f", "#!/proc/self/exe"},
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->project, "folder");
        relink(s, "link", "/proc/self/exe");
        relink(s, "far", "/proc/self/root/usr/bin/env");
        for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
                _cleanup_free_ char *line = text_of("nsrun: command can't be executed: %s: Too many levels "
                                                    "of symbolic links",
                                                    commands[i].name);

                if (commands[i].text)
                        make_script(s, commands[i].name + 2, commands[i].text);
                RUN(s, &o, "--", commands[i].name, "--version");
                expect_refusal(&o, 126, line);
        }
        RUN(s, &o, "--", "/proc/1/exe", "--version");
        expect_refusal(&o, 126,
                       "nsrun: command not executable: /proc/1/exe: Permission denied; it needs the x "
                       "permission, and must not be a folder");

        /* Whoever else executes such a link, inside or outside, executes itself. */
        run_inside(s, &o, "exec ./link -c 'echo $0 works' it");
        expect_out(&o, "it works\n");
        run_outside(s, &o, "exec ./link -c 'echo $0 works' it");
        expect_out(&o, "it works\n");
        /* Links and scripts as such are no obstacle. */
        relink(s, "link", "/bin/sh");
        RUN(s, &o, "--", "./link", "-c", "echo fine");
        expect_out(&o, "fine\n");
        make_script(s, "g", "#!./link\necho fine\n");
        make_script(s, "h", "#!./g\n");
        RUN(s, &o, "--", "./h");
        expect_status(&o, 0);
        expect_out(&o, "fine\n");
}

/* Nobody but the kernel can read the first line: nsrun learns where it led when the command runs.  Where
 * that has ended by then it was nsrun, told nothing that it could do anything with. */
TEST(a_script_that_can_not_be_read_leads_back_to_nsrun_for_a_moment_only) {
        static const char line[] =
                "nsrun: the command leads back to nsrun through /proc: ./script: Too many levels of symbolic "
                "links; name a program\n";
        const struct site *s = *state;
        _cleanup_free_ char *path = path_of(s->project, "script");
        _cleanup_outcome_ struct outcome o = {0};
        unsigned n_refused = 0;

        make_script(s, "script", "#!/bin/true\n");
        assert_int_equal(chmod(path, 0111), 0);
        RUN(s, &o, "--", "./script");
        expect_status(&o, 0);
        assert_int_equal(unlink(path), 0);
        make_script(s, "script", "#!/proc/self/exe\n");
        assert_int_equal(chmod(path, 0111), 0);
        for (int i = 0; i < 20 || (n_refused == 0 && i < 400); i++) {
                RUN(s, &o, "--", "./script");
                expect_out(&o, "");
                if (o.status != 125)
                        expect_status(&o, 126);
                n_refused += o.status == 126 && strstr(o.err, line);
        }
        assert_true(n_refused > 0);
}

TEST(without_openat2_nsrun_itself_is_no_command_either) {
        static const char *const errors[] = {"38" /* ENOSYS */, "1" /* EPERM */};
        static const char *const names[] = {"./link", "./script"};
        const struct site *s = *state;
        _cleanup_free_ char *deny = helper_path("deny");

        relink(s, "link", "/proc/self/exe");
        make_script(s, "script", "#!/proc/self/exe\n");
        make_script(s, "fine", "#!/bin/sh\necho fine\n");
        for (size_t i = 0; i < ARRAY_SIZE(errors) * ARRAY_SIZE(names); i++) {
                const char *name = names[i % ARRAY_SIZE(names)];
                _cleanup_free_ char *line = text_of("nsrun: command can't be executed: %s: Too many levels "
                                                    "of symbolic links",
                                                    name);
                const char *argv[] = {deny,       errors[i / ARRAY_SIZE(names)],
                                      "openat2",  program(),
                                      "run",      "--project",
                                      s->project, "--",
                                      name,       "--version",
                                      NULL};
                _cleanup_outcome_ struct outcome o = {0};

                /* Again and again: it is not to depend on who is quicker. */
                for (int j = 0; j < 10; j++) {
                        outcome_clear(&o);
                        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
                        expect_refusal(&o, 126, line);
                }
                argv[8] = "./fine";
                outcome_clear(&o);
                run(&(struct request){.argv = argv, .cwd = s->root}, &o);
                expect_status(&o, 0);
                expect_out(&o, "fine\n");
        }
}

TEST(a_fifo_as_a_command_holds_up_nobody) {
        const struct site *s = *state;
        _cleanup_free_ char *fifo = path_of(s->project, "fifo");
        _cleanup_outcome_ struct outcome o = {0};
        static const char *const names[] = {"./fifo", "./script", "./link"};

        assert_int_equal(mkfifo(fifo, 0755), 0);
        make_script(s, "script", "#!./fifo\n");
        relink(s, "link", "fifo");
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                _cleanup_free_ char *line = text_of("nsrun: command not executable: %s: Permission denied; "
                                                    "it needs the x permission, and must not be a folder",
                                                    names[i]);

                RUN(s, &o, "--", names[i]);
                expect_refusal(&o, 126, line);
        }
        assert_int_equal(unlink(fifo), 0);
        make_script(s, "fifo", "#!/bin/sh\necho fine\n");
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                RUN(s, &o, "--", names[i]);
                expect_status(&o, 0);
                expect_out(&o, "fine\n");
        }
}

int main(int argc, char **argv) {
        if (argc == 2 && streq(argv[1], "nested-proc"))
                mount_nested_proc();
        if (argc == 2 && streq(argv[1], "nested-cgroup"))
                nest_cgroups();
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Commands that work against nsrun itself (they stop, flood and hang about) and odd
 * surroundings (limits, full disks, umasks, homes): the run ends as it should, and
 * what is refused is named. */
#include <pwd.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "faults.h"
#include "library.h"
#include "stage.h"

enum {
        STATUS_FD = 9
};

/* ------------------------------------------------------------ stops and floods */

/* Reads "ready", as `script` prints it when it has come so far. */
static void start_ready(const struct site *s, const char *const *arguments, struct running *ret) {
        _cleanup_free_ const char **argv = nsrun_argv(s, arguments);

        spawn(&(struct request){.argv = argv, .cwd = s->root}, ret);
        await_line(ret->out, "ready\n");
}

/* Nothing in the sandbox may decide that its supervisor no longer takes signals. */
TEST(a_command_that_stops_itself_does_not_stop_nsrun) {
        static const char *const scripts[] = {
                "while read _ _ state _ </proc/2/stat; do [ $state = T ] && kill -CONT 2; done 2>/dev/null & "
                "for i in 1 2 3 4 5 6 7 8 9 10; do kill -STOP $$; done; echo ready; exec sleep 1000",
                /* and for good */
                "echo ready; kill -STOP $$; kill -STOP $$; kill -STOP $$; exec sleep 1000",
        };
        static const char *const options[] = {"--new-session", "--no-new-session"};
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(options) * ARRAY_SIZE(scripts); i++) {
                const char *option = options[i % 2], *script = scripts[i / 2];
                _cleanup_outcome_ struct outcome o = {0};
                siginfo_t info = {.si_pid = 0};
                struct running running;

                start_ready(s, OPTIONS(option, "--", "sh", "-c", script), &running);
                assert_int_equal(waitid(P_PID, (id_t)running.pid, &info, WSTOPPED | WNOHANG), 0);
                assert_int_equal(info.si_pid, 0);
                assert_int_equal(kill(running.pid, SIGTERM), 0);
                finish(&running, &o);
                expect_status(&o, 128 + SIGTERM);
                expect_out(&o, "");
                assert_string_equal(o.err, "");
        }
}

/* Run in the sandbox as `./flood flood SECONDS`: eight processes that send pid 1 all
 * it can queue, until the alarm of each goes off. */
static _Noreturn void flood(unsigned seconds) {
        for (int i = 0; i < 8; i++) {
                pid_t pid = fork();

                if (pid < 0)
                        _exit(97);
                if (pid > 0)
                        continue;
                (void)alarm(100);
                for (;;) {
                        for (int signal = SIGRTMIN; signal <= SIGRTMAX; signal++)
                                (void)sigqueue(1, signal, (union sigval){0});
                        (void)kill(1, SIGHUP);
                }
        }
        (void)alarm(100);
        if (printf("ready\n") < 0 || fflush(stdout) != 0)
                _exit(96);
        (void)sleep(seconds);
        _exit(5);
}

static void copy_self(const struct site *s) {
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *to = path_of(s->project, "flood");
        const char *const argv[] = {"cp", "--", self, to, NULL};
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = argv}, &o);
        expect_status(&o, 0);
}

TEST(a_flood_of_signals_hides_no_end) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;

        copy_self(s);
        /* The command's own, */
        start_ready(s, OPTIONS("--", "./flood", "flood", "1"), &running);
        finish(&running, &o);
        expect_status(&o, 5);
        /* one that is asked for, */
        outcome_clear(&o);
        start_ready(s, OPTIONS("--", "./flood", "flood", "1000"), &running);
        assert_int_equal(kill(running.pid, SIGTERM), 0);
        finish(&running, &o);
        expect_status(&o, 128 + SIGTERM);
        /* and nsrun's. */
        outcome_clear(&o);
        start_ready(s, OPTIONS("--", "./flood", "flood", "1000"), &running);
        assert_int_equal(kill(running.pid, SIGKILL), 0);
        finish(&running, &o);
        expect_status(&o, 1000 + SIGKILL);
        collect_orphans();
}

/* A host of the library whose threads may come and go has no other net: pid 1 must
 * see that it is gone, whatever else there is to see. */
TEST(a_flood_of_signals_does_not_outlive_the_librarys_host) {
        const struct site *s = *state;
        int fd, go[2];
        pid_t pid;

        copy_self(s);
        fd = open_fifo(s);
        assert_int_equal(pipe2(go, O_CLOEXEC), 0);
        assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
        (void)fflush(NULL);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                struct nsrun_sandbox *sandbox = NULL;
                struct nsrun_error err = {0};
                char byte;

                (void)close(go[1]);
                if (start_script(s, "exec >fifo; exec ./flood flood 1000", &sandbox, &err) < 0)
                        _exit(101);
                _exit(read(go[0], &byte, 1) == 1 ? 0 : 102);
        }
        expect_ready(fd);
        expect_alive(fd);
        assert_int_equal(write(go[1], "x", 1), 1);
        expect_all_gone(fd);
        (void)close(fd);
        (void)close(go[0]);
        (void)close(go[1]);
        collect_orphans();
}

/* ---------------------------------------------------------------- --status-fd */

static void give_status_fd(void *data) {
        const int *fd = data;

        if (dup2(*fd, STATUS_FD) < 0)
                _exit(123);
}

static void run_with_status(const struct site *s, int fd, const char *const *command, struct outcome *ret) {
        _cleanup_free_ const char **words = words_of(OPTIONS("--status-fd", "9", "--"), command),
                                  **argv = nsrun_argv(s, words);

        outcome_clear(ret);
        run(&(struct request){.argv = argv, .cwd = s->root, .in_child = give_status_fd, .data = &fd}, ret);
}

TEST(a_status_fd_that_fails_keeps_the_commands_status) {
        static const char no_room[] =
                "nsrun: the status can't be written to --status-fd: No space left on device\n"
                "nsrun: the status can't be written to --status-fd: No space left on device\n";
        static const char no_reader[] = "nsrun: the status can't be written to --status-fd: Broken pipe\n"
                                        "nsrun: the status can't be written to --status-fd: Broken pipe\n";
        static const char *const command[] = {"sh", "-c", "echo ran; exit 3", NULL};
        const struct site *s = *state;
        _cleanup_close_ int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
        _cleanup_close_ int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        _cleanup_outcome_ struct outcome o = {0};
        int ends[2];

        assert_true(full >= 0 && null >= 0);
        run_with_status(s, full, command, &o);
        expect_status(&o, 3);
        expect_out(&o, "ran\n");
        assert_string_equal(o.err, no_room);
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        (void)close(ends[0]);
        run_with_status(s, ends[1], command, &o);
        (void)close(ends[1]);
        expect_status(&o, 3);
        expect_out(&o, "ran\n");
        assert_string_equal(o.err, no_reader);
        run_with_status(s, null, command, &o);
        expect_status(&o, 3);
        assert_string_equal(o.err, "");
}

/* The reader goes when it knows that the command runs. */
TEST(a_reader_that_leaves_after_the_start_changes_nothing) {
        const struct site *s = *state;
        _cleanup_free_ const char **argv =
                nsrun_argv(s, OPTIONS("--status-fd", "9", "--", "sh", "-c", "read x; exit 3"));
        int status[2], input[2];
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *line = NULL;
        struct running running;

        assert_int_equal(pipe2(status, O_CLOEXEC), 0);
        assert_int_equal(pipe2(input, O_CLOEXEC), 0);
        spawn(&(struct request){.argv = argv,
                                .standard_input = input[0],
                                .in_child = give_status_fd,
                                .data = &status[1]},
              &running);
        (void)close(status[1]);
        line = read_line(status[0]);
        expect_in(line, "\"started\"");
        (void)close(status[0]);
        assert_int_equal(write(input[1], "go\n", 3), 3);
        (void)close(input[0]);
        (void)close(input[1]);
        finish(&running, &o);
        expect_status(&o, 3);
        assert_string_equal(o.err, "nsrun: the status can't be written to --status-fd: Broken pipe\n");
}

/* -1: the line hasn't got it. */
static long number_in(const char *line, const char *key) {
        _cleanup_free_ char *mark = text_of("\"%s\":", key);
        const char *found = strstr(line, mark);

        return found ? strtol(found + strlen(mark), NULL, 10) : -1;
}

/* Another child of pid 1 is never taken for the command. */
TEST(the_command_pid_is_the_commands) {
        const struct site *s = *state;
        _cleanup_free_ const char **argv = nsrun_argv(
                s, OPTIONS("--status-fd", "9", "--", "sh", "-c", "(sleep 1000 & sleep 1000 &); exec cat"));

        for (int i = 0; i < 20; i++) {
                _cleanup_outcome_ struct outcome o = {0};
                _cleanup_free_ char *line = NULL, *path = NULL, *text = NULL;
                int status[2], input[2];
                struct running running;
                long init, command;

                assert_int_equal(pipe2(status, O_CLOEXEC), 0);
                assert_int_equal(pipe2(input, O_CLOEXEC), 0);
                spawn(&(struct request){.argv = argv,
                                        .standard_input = input[0],
                                        .in_child = give_status_fd,
                                        .data = &status[1]},
                      &running);
                (void)close(status[1]);
                line = read_line(status[0]);
                init = number_in(line, "init_pid");
                command = number_in(line, "command_pid");
                assert_true(init > 0 && command > 0 && command != init);
                path = text_of("/proc/%ld/status", command);
                text = file_text(path);
                assert_non_null(text);
                assert_int_equal(strtol(strstr(text, "\nPPid:") + 6, NULL, 10), init);
                expect_in(strstr(text, "\nNSpid:"), "\t2\n");
                (void)close(input[0]);
                (void)close(input[1]);
                finish(&running, &o);
                expect_status(&o, 0);
                (void)close(status[0]);
        }
}

/* One that has ended before nsrun looks is left out, or right; the run is fine. */
TEST(the_status_of_a_quick_command_is_whole) {
        const struct site *s = *state;

        for (int i = 0; i < 20; i++) {
                static const char *const command[] = {"true", NULL};
                _cleanup_outcome_ struct outcome o = {0};
                _cleanup_free_ char *started = NULL, *exited = NULL;
                int status[2];

                assert_int_equal(pipe2(status, O_CLOEXEC), 0);
                run_with_status(s, status[1], command, &o);
                (void)close(status[1]);
                expect_status(&o, 0);
                started = read_line(status[0]);
                exited = read_line(status[0]);
                (void)close(status[0]);
                assert_true(number_in(started, "init_pid") > 0);
                assert_int_not_equal(number_in(started, "command_pid"), number_in(started, "init_pid"));
                assert_true(number_in(started, "command_pid") != 0);
                assert_string_equal(exited, "{\"event\":\"exited\",\"code\":0}\n");
        }
}

/* --------------------------------------------------------------------- limits */

static void limit_files(void *data) {
        const struct rlimit *limit = data;

        if (setrlimit(RLIMIT_NOFILE, limit) < 0)
                _exit(123);
}

TEST(too_few_descriptors_are_named_and_the_remedy_too) {
        static const char line_end[] =
                ": Too many open files; the hard limit of open files is too low, and root alone raises it: "
                "limits.conf(5), a service's LimitNOFILE=, docker's and podman's --ulimit nofile=1024\n";
        const struct site *s = *state;
        _cleanup_free_ char *layered = path_of(s->root, "layered");
        const char *const arguments[][7] = {{"--", "echo", "ran", NULL},
                                            {"--overlay", layered, "--", "echo", "ran", NULL}};

        make_folder(s->root, "layered");
        for (size_t i = 0; i < ARRAY_SIZE(arguments); i++) {
                _cleanup_free_ const char **argv = nsrun_argv(s, arguments[i]);
                struct rlimit lifted = {16, 1024};
                _cleanup_outcome_ struct outcome o = {0};
                unsigned n_refused = 0;

                for (rlim_t most = 3; most < 64; most++) {
                        struct rlimit limit = {most, most};

                        outcome_clear(&o);
                        run(&(struct request){.argv = argv,
                                              .cwd = s->root,
                                              .in_child = limit_files,
                                              .data = &limit},
                            &o);
                        if (o.status == 0)
                                break;
                        /* A dynamic nsrun's loader is poor before nsrun is. */
                        if (o.status == 127 && strstr(o.err, "error while loading shared libraries"))
                                continue;
                        expect_status(&o, 125);
                        expect_out(&o, "");
                        expect_in(o.err, line_end);
                        assert_true(is_one_line(o.err));
                        n_refused++;
                }
                expect_status(&o, 0);
                expect_out(&o, "ran\n");
                assert_true(n_refused >= 3);
                /* What nsrun may raise itself it does. */
                outcome_clear(&o);
                run(
                        &(struct request){
                                .argv = argv, .cwd = s->root, .in_child = limit_files, .data = &lifted},
                        &o);
                expect_status(&o, 0);
                expect_out(&o, "ran\n");
        }
}

/* ------------------------------------------------------------------- overlays */

struct cache {
        const struct site *site;
        unsigned n_inodes;
};

static void stage_small_cache(void *data) {
        const struct cache *cache = data;
        _cleanup_free_ char *options = text_of("mode=0755,nr_inodes=%u", cache->n_inodes);

        stage_enter();
        if (mount("tmpfs", cache->site->cache, "tmpfs", 0, options) < 0)
                stage_fail("a small cache");
}

/* Where overlayfs can't make what it needs it mounts all the same, but read-only.  With room for that alone,
 * which a trial file of overlayfs's may still have, the command may start and find a full disk, as on the
 * host. */
TEST(an_overlay_is_writable_or_refused) {
        const struct site *s = *state;
        _cleanup_free_ char *layered = path_of(s->root, "layered"), *full = path_of(s->cache, "nsrun");
        _cleanup_free_ char *line = text_of("nsrun: there is no room for the overlay's layers: %s: No space "
                                            "left on device; the cache folder's disk is full: make room, or "
                                            "use --overlay-backing=tmpfs" SEE_DOCTOR "\n",
                                            full);
        _cleanup_free_ const char **argv =
                nsrun_argv(s, OPTIONS("--overlay", layered, "--", "sh", "-c",
                                      "echo y >../layered/file && cat ../layered/file"));
        unsigned n_ran = 0, n_full = 0, n_no_room = 0;

        make_file(s->root, "layered/old", "");
        for (unsigned n = 2; n <= 16; n++) {
                struct cache cache = {s, n};
                _cleanup_outcome_ struct outcome o = {0};

                run(
                        &(struct request){
                                .argv = argv, .cwd = s->root, .in_child = stage_small_cache, .data = &cache},
                        &o);
                if (o.status == 0) {
                        expect_out(&o, "y\n");
                        n_ran++;
                        continue;
                }
                expect_out(&o, "");
                if (o.status == 2 && n_ran == 0) {
                        assert_string_equal(
                                o.err, "sh: 1: cannot create ../layered/file: No space left on device\n");
                        n_full++;
                        continue;
                }
                expect_status(&o, 125);
                expect_in(o.err, ": No space left on device");
                assert_int_equal(n_ran + n_full, 0);
                n_no_room += streq(o.err, line);
        }
        assert_true(n_ran > 0 && n_no_room > 1);
}

/* -------------------------------------------------------------- homes and umasks */

/* As passwd has it, without asking the network. */
static char *passwd_home(void) {
        FILE *f = fopen("/etc/passwd", "re");
        char *home = NULL;

        for (const struct passwd *entry; !home && f && (entry = fgetpwent(f));)
                if (entry->pw_uid == geteuid())
                        home = strdup(entry->pw_dir);
        if (f)
                (void)fclose(f);
        return home;
}

struct home {
        const char *real, *wanted; /* NULL: unset */
};

/* The real one is covered: nothing of it is a test's to touch. */
static void stage_home(void *data) {
        const struct home *home = data;

        stage_enter();
        stage_tmpfs(home->real, 0);
        if (unsetenv("XDG_CACHE_HOME") < 0 ||
            (home->wanted ? setenv("HOME", home->wanted, 1) : unsetenv("HOME")) < 0)
                stage_fail("HOME");
}

TEST(without_a_usable_home_the_one_of_passwd_serves) {
        static const char *const homes[] = {NULL, "", "relative/home"};
        const struct site *s = *state;
        _cleanup_free_ char *layered = path_of(s->root, "layered"), *real = passwd_home(),
                            *expected = text_of("%s\ny\n", real);
        _cleanup_free_ char *copy = NULL, *nsrun = NULL;
        _cleanup_outcome_ struct outcome made = {0};
        _cleanup_free_ const char **argv =
                nsrun_argv(s, OPTIONS("--overlay", layered, "--", "sh", "-c",
                                      "echo $HOME; echo y >../layered/file && cat ../layered/file"));

        make_folder(s->root, "layered");
        if (!real || access(real, X_OK) < 0 || streq(real, "/"))
                skip_because("the user has no home folder to cover");
        /* The build may lie in the folder that is covered. */
        copy = text_of("cp '%s' ../nsrun", program());
        run_outside(s, &made, copy);
        expect_status(&made, 0);
        nsrun = path_of(s->root, "nsrun");
        argv[0] = nsrun;
        for (size_t i = 0; i < ARRAY_SIZE(homes); i++) {
                struct home home = {real, homes[i]};
                _cleanup_outcome_ struct outcome o = {0};

                run(&(struct request){.argv = argv, .cwd = s->root, .in_child = stage_home, .data = &home},
                    &o);
                expect_status(&o, 0);
                expect_out(&o, expected);
                assert_string_equal(o.err, "");
        }
}

TEST(an_odd_home_adds_nothing_to_passwd) {
        static const char *const homes[] = {"/h\nevil:x:0:0::/:/bin/sh", "/h:o,m", "/home/plain"};
        const struct site *s = *state;
        const char *const argv[] = {program(), "run", "--project", s->project,
                                    "--",      "sh",  "-c",        "cat /etc/passwd; echo \"$HOME\"",
                                    NULL};

        for (size_t i = 0; i < ARRAY_SIZE(homes); i++) {
                const bool is_odd = strpbrk(homes[i], ":\n");
                _cleanup_free_ char *own =
                        text_of(":x:%u:%u::%s:/", geteuid(), getegid(), is_odd ? "/" : homes[i]);
                _cleanup_free_ char *end = text_of("nologin\n%s\n", homes[i]);
                _cleanup_outcome_ struct outcome o = {0};
                char *told;

                assert_int_equal(setenv("HOME", homes[i], 1), 0);
                run(&(struct request){.argv = argv, .cwd = s->root}, &o);
                assert_int_equal(setenv("HOME", s->home, 1), 0);
                expect_status(&o, 0);
                /* The environment is the user's own business. */
                told = strstr(o.out, end);
                if (!told)
                        fail_msg("no \"%s\" at the end of \"%s\"", end, o.out);
                told[strlen("nologin\n")] = '\0';
                expect_in(o.out, own);
                expect_not_in(o.out, "evil");
                expect_not_in(o.out, "o,m");
        }
}

/* ---------------------------------------------------------- commands that fail */

TEST(what_is_there_and_can_not_be_executed_is_126) {
        static const char long_name[] =
                "./1234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234"
                "567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890"
                "12345678901234567890123456789012345678901234567890123456789012345678901234567890";
        const struct site *s = *state;
        _cleanup_free_ char *too_long =
                text_of("nsrun: command can't be executed: %s: File name too long", long_name);
        _cleanup_free_ char *busy = path_of(s->project, "busy");
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_close_ int writer = -EBADF;

        make_link(s->project, "loop", "loop");
        RUN(s, &o, "--", "./loop");
        expect_refusal(&o, 126,
                       "nsrun: command can't be executed: ./loop: Too many levels of symbolic links");
        RUN(s, &o, "--", long_name);
        expect_refusal(&o, 126, too_long);
        /* A shell says the same. */
        run_outside(s, &o, "./loop");
        assert_int_not_equal(o.status, 0);

        run_outside(s, &o, "cp /usr/bin/true busy");
        RUN(s, &o, "--", "./busy");
        expect_status(&o, 0);
        writer = open(busy, O_WRONLY | O_CLOEXEC);
        assert_true(writer >= 0);
        run_outside(s, &o, "./busy");
        if (o.status == 0)
                skip_because("this kernel executes what is open for writing (Linux 6.11 and 6.12)");
        RUN(s, &o, "--", "./busy");
        expect_refusal(&o, 126, "nsrun: command can't be executed: ./busy: Text file busy");
}

int main(int argc, char **argv) {
        if (argc == 3 && streq(argv[1], "flood"))
                flood((unsigned)atoi(argv[2]));
        return run_all_tests();
}

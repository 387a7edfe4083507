/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun bash`: who is asked before a command runs, and what runs without a sandbox. */
#include <grp.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>

#include "bash.h"
#include "session.h"

/* --------------------------------------------------------------- confirmation */

TEST(a_program_is_shown_the_command_and_decides) {
        const struct site *s = *state;
        _cleanup_free_ char *yes = path_of(s->outside, "yes"), *option = text_of("--confirm=%s", yes),
                            *path = path_of(s->outside, "prompt"), *prompt = NULL, *script = NULL;
        _cleanup_outcome_ struct outcome o = {0}, no = {0};

        script = text_of("#!/bin/sh\ncat >%s\necho not-the-result\n", path);
        make_file(s->outside, "yes", script);
        assert_int_equal(chmod(yes, 0755), 0);
        BASH(s, &o, option, "--description=Try", "--timeout=9",
             "echo ran #\r\033[2K\nls /nonexistent; true");
        expect_status(&o, 0);
        expect_in(o.out, "ran\n");
        expect_not_in(o.out, "not-the-result");
        assert_string_equal(o.err, "not-the-result\n");
        prompt = file_text(path);
        assert_string_equal(prompt,
                            "bash: Try (timeout 9s)\n\n$ echo ran #\\x0d\\x1b[2K\n> ls /nonexistent; "
                            "true\n\n(y/n)? ");
        /* Not executable: nobody was asked. */
        assert_int_equal(chmod(yes, 0644), 0);
        BASH(s, &no, option, "touch ran");
        free(prompt);
        prompt = text_of("Error: nobody can be asked to confirm the command: %s: Permission denied", yes);
        expect_out(&no, prompt);
        expect_status(&no, 125);
}

static const char lies[] =
        "Error: the program that confirms lies in a writable folder, where a command could "
        "change it: @; keep it outside of what a command may write";

static const char nobody[] =
        "Error: nobody can be asked to confirm the command: @: No such file or directory; "
        "name it by its path where it isn't one of the system's";

/* The message has the path where the words have an @. */
static void expect_planted(const struct site *s, struct outcome *o, const char *words, const char *path) {
        _cleanup_free_ char *ran = path_of(s->project, "ran");
        size_t n = strcspn(words, "@");
        _cleanup_free_ char *expected = text_of("%.*s%s%s", (int)n, words, path, words + n + 1);

        expect_out(o, expected);
        expect_status(o, 125);
        assert_int_equal(access(ran, F_OK), -1);
        outcome_clear(o);
}

static void make_program(const char *folder, const char *name, const char *script) {
        _cleanup_free_ char *path = path_of(folder, name);

        make_file(folder, name, script);
        assert_int_equal(chmod(path, 0755), 0);
}

static void set_path(void *data) {
        if (setenv("PATH", data, 1) < 0)
                _exit(119);
}

static void run_with_path(const struct site *s, struct outcome *ret, char *path, const char *confirm,
                          const char *also) {
        const char **argv = bash_argv(s, OPTIONS(confirm, also, "touch ran"));

        run(&(struct request){.argv = argv, .cwd = s->project, .in_child = set_path, .data = path}, ret);
        free(argv);
}

TEST(what_a_command_may_write_confirms_nothing) {
        const struct site *s = *state;
        _cleanup_free_ char *bin = path_of(s->project, "bin"), *planted = path_of(bin, "planted"),
                            *option = text_of("--confirm=%s", planted),
                            *writable = text_of("--rw=%s", s->outside),
                            *outer = path_of(s->outside, "planted"), *other = text_of("--confirm=%s", outer),
                            *link = path_of(s->project, "link"), *by_link = text_of("--confirm=%s", link),
                            *words = NULL, *first = text_of("%s:/usr/bin:/bin", bin),
                            *relative = text_of(":bin:./bin:%s", s->outside);
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->project, "bin");
        make_program(s->project, "bin/planted", "#!/bin/sh\nexit 0\n");
        BASH(s, &o, option, "touch ran");
        expect_planted(s, &o, lies, planted);
        run_with_path(s, &o, first, "--confirm=./bin/planted", "--net=host");
        expect_planted(s, &o, lies, planted);
        /* By its name it is none of PATH's: neither in a folder that somebody may write to, nor in the
         * current one, by an empty entry or another relative one. */
        run_with_path(s, &o, first, "--confirm=planted", "--net=host");
        expect_planted(s, &o, nobody, "planted");
        make_program(s->outside, "planted", "#!/bin/sh\nexit 1\n");
        run_with_path(s, &o, relative, "--confirm=planted", "--net=host");
        expect_planted(s, &o, nobody, "planted");
        run_with_path(s, &o, relative, "--confirm=planted", "--no-sandbox");
        expect_planted(s, &o, nobody, "planted");
        /* What the system has behind it counts. */
        make_program(s->project, "bin/false", "#!/bin/sh\nexit 0\n");
        run_with_path(s, &o, first, "--confirm=false", "--net=host");
        expect_planted(s, &o, "Error: user declined the bash command.@", "");
        run_with_path(s, &o, first, "--confirm=false", "--no-sandbox");
        expect_planted(s, &o, "Error: user declined the bash command.@", "");
        BASH(s, &o, writable, other, "touch ran");
        expect_planted(s, &o, lies, outer);
        make_link(s->project, "link", outer);
        words = text_of(
                "Error: --confirm goes through a symlink in a writable folder: @; it leads to %s, and a "
                "command in the sandbox may have planted it: name the real path",
                outer);
        BASH(s, &o, by_link, "touch ran");
        expect_planted(s, &o, words, link);
        /* Where the command writes nothing of it the same program is asked; and without a sandbox anyway. */
        BASH(s, &o, other, "touch ran");
        expect_planted(s, &o, "Error: user declined the bash command.@", "");
        BASH(s, &o, "--no-sandbox", option, "true");
        expect_status(&o, 0);
}

TEST_IN_BOTH_MODES(what_a_session_may_write_confirms_nothing_in_it) {
        const struct site *s = *state;
        _cleanup_free_ char *writable = text_of("--rw=%s", s->outside),
                            *inner = path_of(s->project, "planted"), *outer = path_of(s->outside, "planted"),
                            *elsewhere = path_of(s->root, "asks"), *id = NULL;
        const struct {
                const char *program;
                bool is_refused;
        } cases[] = {{inner, true}, {outer, true}, {elsewhere, false}};

        make_program(s->project, "planted", "#!/bin/sh\nexit 0\n");
        make_program(s->outside, "planted", "#!/bin/sh\nexit 0\n");
        make_program(s->root, "asks", "#!/bin/sh\nexit 0\n");
        id = START(s, writable);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *option = text_of("--confirm=%s", cases[i].program);
                _cleanup_outcome_ struct outcome o = {0};

                NSRUN_IN(s->root, &o, "bash", "--session", id, option, "touch ran");
                if (cases[i].is_refused)
                        expect_planted(s, &o, lies, cases[i].program);
                else
                        expect_status(&o, 0);
        }
        end_session(s, id, "stop");
}

static void take_terminal(void *data) {
        const int *fd = data;

        if (setsid() < 0 || ioctl(*fd, TIOCSCTTY, 0) < 0)
                _exit(119);
}

/* Answers the question on a terminal that is none of the standard streams. */
static void run_at_terminal(const struct site *s, const char *answer, const char *typed_before,
                            struct outcome *ret, char prompt[512]) {
        const char **argv = bash_argv(s, OPTIONS("--confirm=tty", "echo ran"));
        struct request request = {.argv = argv, .cwd = s->root, .in_child = take_terminal};
        struct running running;
        int master, slave;
        size_t n = 0;

        assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
        assert_int_equal(fcntl(master, F_SETFD, FD_CLOEXEC), 0);
        assert_int_equal(write(master, typed_before, strlen(typed_before)), (ssize_t)strlen(typed_before));
        request.data = &slave;
        spawn(&request, &running);
        do {
                struct pollfd more = {.fd = master, .events = POLLIN};
                ssize_t part;

                assert_int_equal(poll(&more, 1, deadline_seconds * 1000), 1);
                part = read(master, prompt + n, 511 - n);
                assert_true(part > 0);
                n += (size_t)part;
                prompt[n] = '\0';
        } while (!strstr(prompt, "(y/n)? "));
        assert_int_equal(write(master, answer, strlen(answer)), (ssize_t)strlen(answer));
        finish(&running, ret);
        (void)close(master);
        (void)close(slave);
        free(argv);
}

TEST(a_person_is_asked_on_the_terminal) {
        static const struct {
                const char *answer, *before;
                bool is_yes;
        } cases[] = {
                {"y\n", "", true},   {"YES\n", "", true},   {"n\n", "", false},
                {"\n", "", false},   {"yy\n", "", false},   {"yes, please\n", "", false},
                {"\004", "", false}, {"n\n", "y\n", false}, /* typed before the question */
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_outcome_ struct outcome o = {0};
                char prompt[512];

                run_at_terminal(*state, cases[i].answer, cases[i].before, &o, prompt);
                expect_in(prompt, "bash (timeout 120s)\r\n\r\n$ echo ran\r\n\r\n(y/n)? ");
                expect_out(&o, cases[i].is_yes ? "$ echo ran\nran\n\n\nexit status: 0"
                                               : "Error: user declined the bash command.");
                expect_status(&o, cases[i].is_yes ? 0 : 125);
        }
}

/* Also while somebody is asked nsrun can be got rid of, and so can the program that asks. */
TEST(signals_work_while_somebody_is_asked) {
        const struct site *s = *state;
        _cleanup_free_ char *ask = path_of(s->outside, "ask"), *option = text_of("--confirm=%s", ask);
        _cleanup_outcome_ struct outcome at_terminal = {0}, by_program = {0};
        char prompt[512];

        run_at_terminal(s, "\003", "", &at_terminal, prompt);
        expect_status(&at_terminal, 1000 + SIGINT);
        expect_out(&at_terminal, "");
        make_file(s->outside, "ask", "#!/bin/bash\ngrep SigBlk: /proc/self/status\n");
        assert_int_equal(chmod(ask, 0755), 0);
        BASH(s, &by_program, option, "true");
        expect_status(&by_program, 0);
        assert_string_equal(by_program.err, "SigBlk:\t0000000000000000\n");
}

/* Nobody waits for its answer any more. */
TEST(the_program_that_asks_ends_with_nsrun) {
        const struct site *s = *state;
        _cleanup_free_ char *ask = path_of(s->outside, "ask"), *option = text_of("--confirm=%s", ask);
        static const int signals[] = {SIGTERM, SIGKILL};

        make_program(s->outside, "ask", "#!/bin/sh\necho asked\nexec sleep 120\n");
        for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
                const char **argv = bash_argv(s, OPTIONS(option, "true"));
                _cleanup_outcome_ struct outcome o = {0};
                struct running running;

                spawn(&(struct request){.argv = argv, .cwd = s->root}, &running);
                await_line(running.err, "asked\n");
                assert_int_equal(kill(running.pid, signals[i]), 0);
                finish(&running, &o);
                expect_status(&o, 1000 + signals[i]);
                collect_orphans();
                free(argv);
        }
}

static void leave_terminal(void *data nsrun_unused) {
        if (setsid() < 0)
                _exit(119);
}

TEST(without_a_terminal_nobody_is_asked) {
        static const char *const options[] = {"--confirm=tty", "--no-sandbox"};

        for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
                const char **argv = bash_argv(*state, OPTIONS(options[i], "touch ran"));
                const struct request request = {.argv = argv, .in_child = leave_terminal};
                _cleanup_outcome_ struct outcome o = {0};
                const struct site *s = *state;
                _cleanup_free_ char *ran = path_of(s->project, "ran");

                run(&request, &o);
                expect_out(&o,
                           "Error: nobody can be asked to confirm the command: No such device or address");
                expect_status(&o, 125);
                assert_int_equal(access(ran, F_OK), -1);
                free(argv);
        }
}

/* ----------------------------------------------------------------- no sandbox */

static const char warning[] =
        "nsrun: warning: --no-sandbox: the command runs as you and reads what you can: ~/.ssh, cloud "
        "credentials, browser sessions; leave --no-sandbox away, or have a container around it\n";
#define PLAIN "--no-sandbox", "--confirm=never"

TEST(without_a_sandbox_it_warns_and_does_the_same) {
        const struct site *s = *state;
        _cleanup_free_ char *command = text_of("pwd; cat %s/secret; cat; exit 3", s->outside),
                            *expected = text_of(
                                    "$ %s\n%s\nthe key\n\n\nexit status: 3\nno sandbox: it ran as the user, "
                                    "with all files and the network of the machine",
                                    command, s->project);
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_told_ struct told late = {0}, killed = {0};

        make_file(s->outside, "secret", "the key\n");
        BASH(s, &o, PLAIN, command);
        expect_out(&o, expected);
        expect_status(&o, 3);
        assert_string_equal(o.err, warning);
        TOLD_IN_TIME(s, &late, "a", PLAIN,
                     "setsid bash -c 'trap \"\" TERM; echo a; while :; do sleep 1000; done'");
        expect_member(&late, "timed_out", "true");
        expect_member(&late, "sandbox", "false");
        expect_member(&late, "output", "\"a\\n\"");
        expect_status(&late.outcome, 124);
        TOLD(s, &killed, PLAIN,
             "for i in 1 2 3; do (setsid bash -c 'sleep 1000 & sleep 1000' >/dev/null 2>&1 &); done; kill -9 $$");
        expect_end(&killed, "null", "9", "false");
}

/* Who nobody else is: the program that makes one root must be no use to them. */
#define NOBODY 60999

static void become_nobody(void *data nsrun_unused) {
        if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
            setresuid(NOBODY, NOBODY, NOBODY) < 0)
                _exit(119);
}

/* As sudo does. */
/* Only root makes a setuid program. */
TEST_IF(geteuid() == 0, the_deadline_ends_the_wait_for_what_has_become_root, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *script = text_of("cd %s && cp \"$(command -v setpriv)\" become && "
                                              "cp \"$0\" nsrun && chmod 750 .. . nsrun && "
                                              "chgrp %d .. . nsrun become && chmod 4750 become",
                                              s->project, NOBODY),
                            *copy = path_of(s->project, "nsrun");
        _cleanup_free_ char *real = realpath(program(), NULL);
        const char *const prepare[] = {"sh", "-c", script, real, NULL};
        const char *const *argv = OPTIONS(copy, "bash", "--project", s->project, PLAIN, "--timeout=1",
                                          "--json", "echo $$; exec ./become --reuid=0 sleep 1000");
        _cleanup_outcome_ struct outcome prepared = {0};
        _cleanup_told_ struct told told = {0};

        run(&(struct request){.argv = prepare}, &prepared);
        expect_status(&prepared, 0);
        run(&(struct request){.argv = argv, .cwd = s->project, .in_child = become_nobody}, &told.outcome);
        parse(&told);
        expect_status(&told.outcome, 124);
        expect_end(&told, "null", "9", "true");
        /* It is our child now, and lives. */
        assert_int_equal(kill(json_object_get_int(json_object_object_get(told.object, "output")), SIGKILL),
                         0);
        collect_orphans();
}

/* Where a sandbox can't be had, that is the result, and nothing runs outside of one. */
TEST(nothing_falls_back_to_no_sandbox) {
        const struct site *s = *state;
        _cleanup_free_ char *ran = path_of(s->project, "ran"), *option = text_of("--seccomp=%s", s->outside);
        _cleanup_outcome_ struct outcome o = {0};

        BASH(s, &o, option, "touch ran");
        expect_status(&o, 125);
        assert_non_null(startswith(o.out, "Error: "));
        assert_int_equal(access(ran, F_OK), -1);
}

int main(void) {
        return run_all_tests();
}

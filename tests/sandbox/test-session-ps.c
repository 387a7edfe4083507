/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What runs in a session, as those outside see it and send it signals: the processes of its commands under
 * the session's numbers, whatever they say of themselves; never nsrun's own, never the host's. */
#include <sys/ioctl.h>

#include "faults.h"
#include "session.h"

#define HEADER "    PID    PPID   FIRST S   AGE MEMORY  COMMAND\n"

struct line {
        long pid, parent, first;
        char state;
        char text[1024];
};

/* The processes that `nsrun session ps` lists; lines[most].  Checks that each has a line, and no other. */
static size_t list_processes(const struct site *s, const char *id, struct line *lines, size_t most) {
        _cleanup_outcome_ struct outcome o = {0};
        size_t n = 0;

        SESSION(s, &o, "ps", id);
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
        assert_true(startswith(o.out, HEADER));
        for (char *at = o.out + strlen(HEADER); *at; at = strchr(at, '\n') + 1) {
                char first[24], age[24], memory[24];
                int text = 0;

                assert_true(n < most);
                if (sscanf(at, "%ld %ld %23s %c %23s %23s  %n", &lines[n].pid, &lines[n].parent, first,
                           &lines[n].state, age, memory, &text) != 6 ||
                    text == 0)
                        fail_msg("no line of a process: %s", at);
                lines[n].first = strtol(first, NULL, 10);
                (void)snprintf(lines[n].text, sizeof(lines[n].text), "%.*s", (int)strcspn(at + text, "\n"),
                               at + text);
                assert_true(age[strlen(age) - 1] == 's');
                n++;
        }
        return n;
}

/* Waits until exactly n processes are listed, one of them with this command line. */
static struct line await_processes(const struct site *s, const char *id, size_t n, const char *text) {
        struct line lines[32];
        size_t found = 0;

        for (int64_t since = 0; keep_waiting(&since);) {
                found = list_processes(s, id, lines, ARRAY_SIZE(lines));
                for (size_t j = 0; found == n && j < n; j++)
                        if (streq(lines[j].text, text))
                                return lines[j];
        }
        for (size_t j = 0; j < found; j++)
                print_error("%ld %s\n", lines[j].pid, lines[j].text);
        fail_msg("not %zu processes, one of them %s", n, text);
        return lines[0];
}

static void await_nobody(const struct site *s, const char *id) {
        struct line lines[32];

        for (int64_t since = 0; keep_waiting(&since);)
                if (list_processes(s, id, lines, ARRAY_SIZE(lines)) == 0)
                        return;
        fail_msg("still there: %s", lines[0].text);
}

static void expect_signalled(const struct site *s, const char *id, const char *who, const char *out) {
        _cleanup_outcome_ struct outcome o = {0};

        SESSION(s, &o, "kill", id, who);
        expect_status(&o, 0);
        expect_out(&o, out);
        assert_string_equal(o.err, "");
}

static void look_at_commands(const struct site *s, const char *id) {
        _cleanup_outcome_ struct outcome o = {0};
        struct line left, shell, child;
        struct running running;

        JOIN_SCRIPT(s, id, &o, "sleep 7777 >/dev/null 2>&1 & echo $!");
        expect_status(&o, 0);
        left = await_processes(s, id, 1, "sleep 7777");
        if (!is_nested)
                assert_int_equal(left.pid, strtol(o.out, NULL, 10));
        assert_true(left.state == 'S' || left.state == 'R');
        if (is_isolated && !is_nested)
                assert_int_equal(left.first, 0);
        else
                assert_int_equal(left.first, left.pid);
        SPAWN_JOINED(s, id, &running, "--", "sh", "-c", "sleep 7778; :");
        child = await_processes(s, id, 3, "sleep 7778");
        shell = await_processes(s, id, 3, "sh -c sleep 7778; :");
        assert_int_equal(child.parent, shell.pid);
        assert_int_equal(child.first, shell.pid);
        assert_int_equal(shell.first, shell.pid);
        if (!is_isolated)
                assert_int_equal(shell.parent, 0);
        assert_int_equal(session_number(s, id, "running"), 1);
        assert_int_equal(session_number(s, id, "processes"), 3);
        expect_signalled(s, id, "sleep", "signalled 2 processes\n");
        outcome_clear(&o);
        finish(&running, &o);
        expect_status(&o, 0);
        await_nobody(s, id);
        assert_int_equal(session_number(s, id, "running"), 0);
        end_session(s, id, "stop");
}

TEST_IN_ALL_MODES(ps_lists_what_commands_run_and_left_and_nothing_of_nsruns) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s);

        look_at_commands(s, id);
}

/* Then they are found among the host's. */
/* NS_GET_TGID_IN_PIDNS, of Linux 6.11: whose a process is that nobody may look into. */
static bool can_kernel_tell_namespaces(void) {
        _cleanup_close_ int fd = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);

        return ioctl(fd, _IOR(0xb7, 0x9, int), (long)getpid()) > 0;
}

TEST_IN_ALL_MODES(ps_works_where_the_session_has_no_proc) {
        const struct site *s = *state;
        static const char *const options[] = {"--proc=none", "--proc=bind"};

        if (is_isolated && !can_kernel_tell_namespaces())
                skip_because(
                        "skipped: before Linux 6.11 isolated commands are known by the session's /proc alone");
        for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
                _cleanup_free_ char *id = START(s, options[i]);

                look_at_commands(s, id);
        }
}

TEST_IN_ALL_MODES(processes_say_of_themselves_what_they_like) {
        static const char script[] =
                "cd \"$0\"; out() { \"$@\" >/dev/null 2>&1 & }\n"
                "cp \"$(command -v sleep)\" ') R 1 1 1'; cp ') R 1 1 1' gone; n=$'x\\nNSpid:\\t1'; cp gone \"$n\"\n"
                "out './) R 1 1 1' 7771; out ./gone 7772; out \"./$n\" 7773\n"
                "(exec -a $'a\\nb\\e[1m\\x9b' sleep 7774) >/dev/null 2>&1 &\n"
                "(exec -a '' sleep 7775) >/dev/null 2>&1 &\n"
                "(exec -a \"$(printf '%4200s' | tr ' ' y)\" sleep 7776) >/dev/null 2>&1 &\n"
                "(sleep 0 & exec sleep 7777) >/dev/null 2>&1 &\n";
        static const char *const texts[] = {"./) R 1 1 1 7771", "./gone 7772", "./x\\x0aNSpid:\\x091 7773",
                                            "a\\x0ab\\x1b[1m\\x9b 7774", "sleep 7777"};
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *pid = NULL, *refusal = NULL,
                            *gone = path_of(s->project, "gone");
        _cleanup_outcome_ struct outcome o = {0};
        struct line line;
        char name[4096];

        JOIN(s, id, &o, "--", "bash", "-c", script, s->project);
        expect_status(&o, 0);
        (void)await_processes(s, id, 8, "./gone 7772");
        assert_int_equal(unlink(gone), 0);
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                line = await_processes(s, id, 8, texts[i]);
                assert_true(line.pid > 1);
                assert_true(line.state == 'S' || line.state == 'R');
        }
        for (int64_t since = 0; keep_waiting(&since);) {
                SESSION(s, &o, "ps", id);
                if (strstr(o.out, "yyy...\n"))
                        break;
        }
        assert_null(strchr(o.out, '\033'));
        memset(name, 'y', sizeof(name) - 1);
        name[160] = '\0';
        expect_in(o.out, name);
        expect_in(o.out, "yyy...\n");
        SESSION(s, &o, "ps", "--json", id);
        expect_status(&o, 0);
        name[160] = 'y';
        name[sizeof(name) - 1] = '\0';
        expect_in(o.out, name);
        expect_in(o.out, "\"name\":\") R 1 1 1\"");
        /* One that has ended is no target any more. */
        line = await_processes(s, id, 8, "[sleep]");
        assert_true(line.state == 'Z');
        pid = text_of("%ld", line.pid);
        refusal = text_of(
                "nsrun: no process of the session has that number: %s; 'nsrun session ps ID' lists them",
                pid);
        SESSION(s, &o, "kill", id, pid);
        expect_refusal(&o, 125, refusal);
        expect_signalled(s, id, "x\nNSpid:\t1", "signalled 1 process\n");
        expect_signalled(s, id, ") R 1 1 1", "signalled 1 process\n");
        expect_signalled(s, id, "gone", "signalled 1 process\n");
        expect_signalled(s, id, "sleep", "signalled 4 processes\n");
        await_nobody(s, id);
        end_session(s, id, "stop");
}

/* Waits for a file in the project to have this text. */
static void await_text(const struct site *s, const char *id, const char *file, const char *text) {
        _cleanup_outcome_ struct outcome o = {0};

        for (int64_t since = 0; keep_waiting(&since);) {
                JOIN(s, id, &o, "--", "cat", file);
                if (streq(o.out, text))
                        return;
        }
        fail_msg("%s: %s", file, o.out);
}

TEST_IN_ALL_MODES(a_signal_goes_to_whom_it_is_for) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *first = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        struct line line;

        /* A shell that makes no more processes, which would have its name at first. */
        JOIN_SCRIPT(
                s, id, &o,
                "sh -c \"trap 'echo usr1' USR1; sleep 7776 & echo on; while :; do wait; done\" >told 2>&1 &\n"
                "sleep 7777 >/dev/null 2>&1 & sleep 7778 >/dev/null 2>&1 &");
        expect_status(&o, 0);
        await_text(s, id, "told", "on\n");
        (void)await_processes(s, id, 4, "sleep 7776");
        (void)await_processes(s, id, 4, "sleep 7778");
        line = await_processes(s, id, 4, "sleep 7777");
        first = text_of("%ld", line.pid);
        SESSION(s, &o, "kill", "--signal=usr1", id, "sh");
        expect_status(&o, 0);
        expect_out(&o, "signalled 1 process\n");
        await_text(s, id, "told", "on\nusr1\n");
        SESSION(s, &o, "kill", "--signal", "SIGSTOP", id, first);
        expect_status(&o, 0);
        for (int64_t since = 0; line.state != 'T' && keep_waiting(&since);)
                line = await_processes(s, id, 4, "sleep 7777");
        /* A stopped process gets it later. */
        expect_signalled(s, id, first, "signalled 1 process\n");
        line = await_processes(s, id, 4, "sleep 7777");
        assert_true(line.state == 'T');
        SESSION(s, &o, "kill", "--signal=9", id, first);
        expect_status(&o, 0);
        (void)await_processes(s, id, 3, "sleep 7778");
        SESSION(s, &o, "kill", "--signal=KILL", id, "sh");
        expect_status(&o, 0);
        (void)await_processes(s, id, 2, "sleep 7778");
        end_session(s, id, "stop");
}

/* The kernel calls a process a zombie whose first thread has ended, while others go on. */
static void look_at_first_thread(const struct site *s, const char *id) {
        _cleanup_free_ char *pid = NULL;
        struct running running;
        struct line line;
        _cleanup_outcome_ struct outcome o = {0};

        SPAWN_JOINED(s, id, &running, "--", "./attempt", "first-thread");
        for (int i = 0; i < 50; i++) /* the thread ends at any time */
                line = await_processes(s, id, 1, "./attempt first-thread");
        assert_true(line.state == 'S' || line.state == 'R');
        assert_int_equal(line.first, line.pid);
        assert_int_equal(session_number(s, id, "running"), 1);
        assert_true(session_number(s, id, "memory") > 10000);
        pid = text_of("%ld", line.pid);
        SESSION(s, &o, "kill", "--signal=WINCH", id, pid);
        expect_status(&o, 0);
        expect_out(&o, "signalled 1 process\n");
        expect_signalled(s, id, "attempt", "signalled 1 process\n");
        outcome_clear(&o);
        finish(&running, &o);
        expect_status(&o, 128 + SIGTERM);
        await_nobody(s, id);
        end_session(s, id, "stop");
}

TEST_IN_ALL_MODES(a_process_without_its_first_thread_is_alive) {
        const struct site *s = *state;
        static const char *const options[] = {"--proc=new", "--proc=none"};

        copy_helper(s, "attempt");
        for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
                _cleanup_free_ char *id = NULL;

                if (i > 0 && is_isolated && !can_kernel_tell_namespaces())
                        continue;
                id = START(s, options[i]);
                look_at_first_thread(s, id);
        }
}

#define NO_NUMBER "nsrun: no process of the session has that number: %s; 'nsrun session ps ID' lists them"
#define NO_NAME   "nsrun: no process of the session has that name: %s; 'nsrun session ps ID' lists them"
#define OWN                                                                                                  \
        "nsrun: this process is nsrun's own: %s: Operation not permitted; 'nsrun session stop ID' ends the " \
        "session"

TEST_IN_ALL_MODES(nobody_but_the_sessions_processes_gets_a_signal) {
        static const char *const host_sleep[] = {"sleep", "7779", NULL};
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *outside = NULL, *reaper = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        struct running running, host;
        struct line line;

        spawn(&(struct request){.argv = host_sleep, .cwd = s->root}, &host);
        outside = text_of("%d", (int)host.pid);
        SPAWN_JOINED(s, id, &running, "--", "sleep", "7777");
        line = await_processes(s, id, 1, "sleep 7777");
        reaper = text_of("%ld", line.parent);
        {
                const struct {
                        const char *who, *text;
                } cases[] = {
                        {outside, NO_NUMBER},
                        {"1", OWN},
                        {"nsrun-init", NO_NAME},
                        {"nsrun", NO_NAME},
                        {"slee", NO_NAME},
                        {"sleep 7777", NO_NAME},
                        {"7777777", NO_NUMBER},
                        {reaper,
                         is_isolated ? OWN : "nsrun: no process has that number: 0: Invalid argument"},
                };

                for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                        const char *at = strstr(cases[i].text, "%s");
                        char refusal[512];

                        (void)snprintf(refusal, sizeof(refusal), "%.*s%s%s",
                                       at ? (int)(at - cases[i].text) : (int)strlen(cases[i].text),
                                       cases[i].text, at ? cases[i].who : "", at ? at + 2 : "");
                        SESSION(s, &o, "kill", "--signal=KILL", id, cases[i].who);
                        expect_refusal(&o, 125, refusal);
                }
        }
        SESSION(s, &o, "kill", id, "");
        expect_refusal(&o, 125, "nsrun: an empty name names nothing: Invalid argument");
        expect_good_join(s, id, "echo lives", "lives\n");
        expect_signalled(s, id, "sleep", "signalled 1 process\n");
        outcome_clear(&o);
        finish(&running, &o);
        expect_status(&o, 128 + SIGTERM);
        assert_int_equal(kill(host.pid, SIGKILL), 0);
        outcome_clear(&o);
        finish(&host, &o);
        expect_status(&o, 1000 + SIGKILL);
        end_session(s, id, "stop");
}

TEST_IN_ALL_MODES(a_server_is_restarted_again_and_again) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s);

        expect_good_join(s, id, "cp \"$(command -v sleep)\" server", "");
        for (int i = 0; i < 5; i++) {
                expect_good_join(s, id, "./server 7777 >/dev/null 2>&1 &", "");
                (void)await_processes(s, id, 1, "./server 7777");
                expect_signalled(s, id, "server", "signalled 1 process\n");
                await_nobody(s, id);
        }
        end_session(s, id, "stop");
}

TEST_IN_ALL_MODES(list_and_show_say_what_a_session_takes) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START(s, "--overlay", s->project), *row = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;

        assert_true(session_number(s, id, "disk") < 1 << 20);
        SESSION(s, &o, "show", "--json", id);
        expect_in(o.out, "\"disk_is_more\":false");
        expect_good_join(s, id, "head -c 3000000 /dev/zero >big; ln big again; mkdir -m 0 closed", "");
        SPAWN_JOINED(s, id, &running, "--", "sleep", "7777");
        (void)await_processes(s, id, 1, "sleep 7777");
        SESSION(s, &o, "list");
        expect_status(&o, 0);
        if (!startswith(o.out, "ID             AGE  IDLE CMDS PROCS MEMORY    DISK  PROJECT\n"))
                fail_msg("%s", o.out);
        row = strdup(strchr(o.out, '\n') + 1);
        expect_in(row, "s    0s    1     1 ");
        expect_in(row, s->project);
        SESSION(s, &o, "show", id);
        expect_in(o.out, "running:      1 command, 1 process\n");
        assert_true(session_number(s, id, "disk") >= 3000000);
        assert_true(session_number(s, id, "disk") < 5000000);
        assert_true(session_number(s, id, "memory") > 100000);
        expect_signalled(s, id, "sleep", "signalled 1 process\n");
        outcome_clear(&o);
        finish(&running, &o);
        SESSION(s, &o, "show", "--json", id);
        /* Root reads it all the same. */
        expect_in(o.out, geteuid() == 0 ? "\"disk_is_more\":false" : "\"disk_is_more\":true");
        expect_in(o.out, "\"memory_by\":\"processes\"");
        expect_in(o.out, "\"root\":");
        expect_good_join(s, id, "rmdir closed; mkdir many; cd many; seq 10001 | xargs touch", "");
        SESSION(s, &o, "show", id);
        expect_in(o.out, "disk:         more than ");
        SESSION(s, &o, "list");
        expect_in(o.out, " >");
        end_session(s, id, "stop");
}

TEST_WITH(what_makes_no_sense_is_refused, site_setup, site_teardown) {
#define SEE "; see 'nsrun session --help'"
        const struct site *s = *state;
        _cleanup_free_ char *id = START(s, "--name=one");
        _cleanup_outcome_ struct outcome o = {0};
        static const char *const cases[][6] = {
                {"kill", "--signal=KILL", "one", NULL, NULL,
                 "nsrun: --signal is for 'session kill ID PID|NAME' alone: kill" SEE},
                {"ps", "--signal=KILL", "one", NULL, NULL,
                 "nsrun: --signal is for 'session kill ID PID|NAME' alone: ps" SEE},
                {"kill", "one", "a", "b", NULL, "nsrun: an argument too many: b" SEE},
                {"ps", "one", "a", NULL, NULL, "nsrun: an argument too many: a" SEE},
                {"ps", NULL, NULL, NULL, NULL, "nsrun: an argument is missing: ps" SEE},
                {"ps", "--stat", "one", NULL, NULL, "nsrun: --stat and --patch are for diff alone: ps" SEE},
                {"kill", "--json", "one", NULL, NULL,
                 "nsrun: --json is for list, show, ps, logs, review and diff alone: kill" SEE},
                {"ps", "two", NULL, NULL, NULL,
                 "nsrun: no such session: two: No such file or directory; 'nsrun session list' shows those "
                 "there are"},
                {"kill", "two", "sleep", NULL, NULL,
                 "nsrun: no such session: two: No such file or directory; 'nsrun session list' shows those "
                 "there are"},
        };
        static const char *const no_signals[] = {"0", "65", "", "SIG", "BOGUS", "-9"};

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                run_session(s, &o, cases[i]);
                expect_refusal(&o, 125, cases[i][5]);
        }
        for (size_t i = 0; i < ARRAY_SIZE(no_signals); i++) {
                _cleanup_free_ char *option = text_of("--signal=%s", no_signals[i]);

                SESSION(s, &o, "kill", option, id, "sleep");
                expect_status(&o, 125);
                expect_in(o.err, "no signal");
        }
        SESSION(s, &o, "ps", id);
        expect_status(&o, 0);
        expect_out(&o, HEADER);
        SESSION(s, &o, "ps", "--json", id);
        expect_out(&o, "{\"processes\":[]}\n");
        end_session(s, id, "stop");
        SESSION(s, &o, "ps", id);
        expect_refusal(&o, 125,
                       "nsrun: no such session: one: No such file or directory; 'nsrun session list' shows "
                       "those there are");
}

int main(void) {
        return run_all_tests();
}

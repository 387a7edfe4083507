/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun ps`, `inspect` and `stop`: every sandbox of this user, and nothing that a command could make of
 * itself. */
#include <sys/wait.h>

#include "harness.h"
#include "session.h"

static void ps(struct outcome *o, const char *option) {
        NSRUN_IN(NULL, o, "ps", option);
        expect_status(o, 0);
}

static void tool(struct outcome *o, const char *what, const char *id, const char *option) {
        NSRUN_IN(NULL, o, what, option ? option : id, option ? id : NULL);
}

/* Starts argv, which prints a line when it runs. */
static void begin(const struct site *s, struct running *ret, const char *const *argv) {
        _cleanup_free_ char *line = NULL;

        spawn(&(struct request){.argv = argv, .cwd = s->project}, ret);
        line = read_line(ret->out);
        assert_string_equal(line, "ready\n");
}

#define BEGIN(s, ret, ...) begin(s, ret, OPTIONS(__VA_ARGS__))
#define WAITING            "echo ready; exec sleep 1000"

static void end(struct running *running, int status) {
        _cleanup_outcome_ struct outcome o = {0};

        finish(running, &o);
        assert_int_equal(o.status, status);
}

static char *id_of(const struct running *running) {
        return text_of("%d", (int)running->pid);
}

/* The line of the list that begins with an id; NULL: none. */
static char *line_of(const char *list, const char *id) {
        _cleanup_free_ char *mark = text_of("\n%s ", id);
        const char *found = strstr(list, mark);

        return found ? strndup(found + 1, strcspn(found + 1, "\n")) : NULL;
}

TEST(a_run_is_listed_while_it_runs) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL, *line = NULL;
        _cleanup_outcome_ struct outcome o = {0}, after = {0};
        struct running running;

        BEGIN(s, &running, program(), "run", "--net=none", "--project", s->project, "--", "sh", "-c",
              WAITING);
        id = id_of(&running);
        ps(&o, NULL);
        line = line_of(o.out, id);
        assert_non_null(line);
        expect_in(line, " run ");
        expect_in(line, " none ");
        expect_in(line, s->project);
        expect_in(line, "  sh -c echo ready; exec sleep 1000");
        tool(&after, "stop", id, NULL);
        expect_status(&after, 0);
        expect_out(&after, "");
        end(&running, 128 + SIGTERM);
        outcome_clear(&o);
        ps(&o, NULL);
        assert_null(line_of(o.out, id));
}

TEST(what_a_command_is_called_draws_nothing) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL, *line = NULL;
        _cleanup_outcome_ struct outcome o = {0}, stop = {0};
        struct running running;

        BEGIN(s, &running, program(), "run", "--project", s->project, "--", "sh", "-c", WAITING,
              "\033[2Jred\n\tx");
        id = id_of(&running);
        ps(&o, NULL);
        line = line_of(o.out, id);
        assert_non_null(line);
        expect_in(line, " \\x1b[2Jred\\x0a\\x09x");
        expect_not_in(o.out, "\033");
        tool(&stop, "stop", id, NULL);
        expect_status(&stop, 0);
        end(&running, 128 + SIGTERM);
}

/* A sandbox in it, a process that is called as nsrun's own, and one that is a pid 1: none is a line. */
TEST(a_command_can_not_make_an_entry) {
        static const char script[] =
                "cp /bin/sleep /tmp/nsrun-init; cp /bin/sleep /tmp/nsrun; /tmp/nsrun 1000 & /tmp/nsrun-init 1000 & "
                "unshare -Urpf /tmp/nsrun-init 1000 & until [ $(ls -d /proc/[0-9]* | wc -l) -ge 6 ]; do :; done; "
                "echo ready; exec sleep 1000";
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL;
        _cleanup_outcome_ struct outcome o = {0}, stop = {0};
        struct running running;
        size_t n = 0;

        BEGIN(s, &running, program(), "run", "--seccomp=nested", "--project", s->project, "--", "sh", "-c",
              script);
        id = id_of(&running);
        ps(&o, "--json");
        for (const char *at = o.out; (at = strstr(at, "\"kind\":")); at++) {
                _cleanup_free_ char *own = text_of("\"supervisor\":%s,", id);

                n += strncmp(strstr(at, "\"supervisor\":"), own, strlen(own)) == 0;
                /* Others of this user may run now, but none that is a child of the sandbox's. */
                expect_not_in(at, "\"command\":[\"/tmp/");
        }
        if (n != 1)
                fail_msg("%zu entries: %s", n, o.out);
        tool(&stop, "stop", id, NULL);
        expect_status(&stop, 0);
        end(&running, 128 + SIGTERM);
}

TEST(inspect_prints_the_plan_in_force) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL;
        _cleanup_outcome_ struct outcome text = {0}, json = {0}, plan = {0}, stop = {0};
        struct running running;

        BEGIN(s, &running, program(), "run", "--net=none", "--project", s->project, "--", "sh", "-c",
              WAITING);
        id = id_of(&running);
        tool(&text, "inspect", id, NULL);
        tool(&json, "inspect", id, "--json");
        NSRUN(s, &plan, "plan", "--format=json", "--net=none", "--project", s->project, "--", "sh", "-c",
              WAITING);
        expect_status(&text, 0);
        expect_status(&json, 0);
        expect_status(&plan, 0);
        expect_in(text.out, "\nproject     ");
        expect_in(text.out, s->project);
        assert_string_equal(json.out, plan.out);
        tool(&stop, "stop", id, NULL);
        end(&running, 128 + SIGTERM);
}

/* Of whatever name the program goes by, and whatever it does beside waiting. */
TEST(learn_and_nsrun_sh_show_their_plans) {
        const struct site *s = *state;
        _cleanup_free_ char *sh = path_of(s->root, "nsrun-sh"), *file = path_of(s->outside, "learned"),
                            *learn_id = NULL, *sh_id = NULL;
        _cleanup_outcome_ struct outcome learn_plan = {0}, sh_plan = {0}, learn_stop = {0}, sh_stop = {0};
        struct running learn, shell;

        assert_int_equal(symlink(program(), sh), 0);
        BEGIN(s, &learn, program(), "learn", "-o", file, "--project", s->project, "--", "sh", "-c", WAITING);
        BEGIN(s, &shell, sh, "-c", WAITING);
        learn_id = id_of(&learn);
        sh_id = id_of(&shell);
        tool(&learn_plan, "inspect", learn_id, NULL);
        tool(&sh_plan, "inspect", sh_id, NULL);
        tool(&learn_stop, "stop", learn_id, NULL);
        tool(&sh_stop, "stop", sh_id, NULL);
        end(&learn, 128 + SIGTERM);
        end(&shell, 128 + SIGTERM);
        expect_status(&learn_plan, 0);
        expect_in(learn_plan.out, s->project);
        expect_status(&sh_plan, 0);
        expect_in(sh_plan.out, "bash -c 'echo ready; exec sleep 1000'\n");
}

TEST(one_that_is_stopped_is_listed_shown_and_ended) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL, *line = NULL;
        _cleanup_outcome_ struct outcome o = {0}, plan = {0}, stopped_plan = {0}, stop = {0};
        struct running running;
        siginfo_t info;

        BEGIN(s, &running, program(), "run", "--project", s->project, "--", "sh", "-c", WAITING);
        id = id_of(&running);
        tool(&plan, "inspect", id, NULL);
        expect_status(&plan, 0);
        assert_int_equal(kill(running.pid, SIGSTOP), 0);
        assert_int_equal(waitid(P_PID, (id_t)running.pid, &info, WSTOPPED), 0);
        ps(&o, NULL);
        line = line_of(o.out, id);
        assert_non_null(line);
        expect_in(line, " (stopped)");
        tool(&stopped_plan, "inspect", id, NULL);
        expect_status(&stopped_plan, 0);
        expect_in(stopped_plan.out, s->project);
        assert_string_equal(stopped_plan.out, plan.out);
        tool(&stop, "stop", id, NULL);
        expect_status(&stop, 0);
        end(&running, 128 + SIGTERM);
}

TEST(sessions_and_bubblewraps_are_listed) {
        const struct site *s = *state;
        const char *bwrap = getenv("NSRUN_BWRAP");
        _cleanup_free_ char *session_id = NULL, *id = NULL, *line = NULL, *bwrap_line = NULL;
        char memory[8];
        int n;
        _cleanup_outcome_ struct outcome o = {0}, plan = {0}, bwrap_plan = {0}, stop = {0}, bwrap_stop = {0};
        struct running running, command;

        assert_non_null(bwrap);
        session_id = START(s, "--net=none", "--overlay", s->project);
        BEGIN(s, &command, program(), "run", "--session", session_id, "--", "sh", "-c", WAITING);
        BEGIN(s, &running, bwrap, "--ro-bind", "/", "/", "--dev", "/dev", "--", "sh", "-c", WAITING);
        id = id_of(&running);
        ps(&o, NULL);
        line = line_of(o.out, session_id);
        bwrap_line = line_of(o.out, id);
        assert_non_null(line);
        assert_non_null(bwrap_line);
        expect_in(line, " session ");
        /* The command is a child of the run's outside, and counts. */
        assert_int_equal(sscanf(line, "%*s session %*s %*s %d %7s", &n, memory), 2);
        assert_int_equal(n, 1);
        assert_string_not_equal(memory, "0K");
        expect_in(line, " none ");
        expect_in(line, s->project);
        expect_in(bwrap_line, " bwrap ");
        expect_in(bwrap_line, " host ");
        tool(&plan, "inspect", session_id, NULL);
        expect_status(&plan, 0);
        expect_in(plan.out, s->project);
        expect_in(plan.out, "  read-write, writes are the session's\n");
        expect_not_in(plan.out, "thrown away");
        tool(&bwrap_plan, "inspect", id, NULL);
        expect_status(&bwrap_plan, 0);
        expect_in(bwrap_plan.out, " --ro-bind / / --dev /dev -- sh -c 'echo ready; exec sleep 1000'\n");
        tool(&bwrap_stop, "stop", id, NULL);
        expect_status(&bwrap_stop, 0);
        end(&running, 1000 + SIGTERM);
        assert_int_equal(kill(command.pid, SIGTERM), 0);
        end(&command, 128 + SIGTERM);
        tool(&stop, "stop", session_id, NULL);
        expect_status(&stop, 0);
        collect_orphans();
}

TEST(what_is_no_sandbox_is_refused) {
        static const struct {
                const char *what, *id, *line;
        } cases[] = {
                {"stop", "1", "nsrun: no such sandbox: 1; 'nsrun ps' lists them"},
                {"inspect", "1", "nsrun: no such sandbox: 1; 'nsrun ps' lists them"},
                {"stop", "99999999999999999999",
                 "nsrun: no such sandbox: 99999999999999999999; 'nsrun ps' lists them"},
                {"inspect", "nosuch", "nsrun: no such sandbox: nosuch; 'nsrun ps' lists them"},
                {"stop", "nosuch", "nsrun: no such sandbox: nosuch; 'nsrun ps' lists them"},
                {"stop", NULL, "nsrun: the id of a sandbox is missing; see 'nsrun stop --help'"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_outcome_ struct outcome o = {0};

                tool(&o, cases[i].what, cases[i].id, NULL);
                expect_refusal(&o, 125, cases[i].line);
        }
}

/* A process of this user's that is no nsrun is not ended by its number. */
TEST(another_process_is_not_ended) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;

        BEGIN(s, &running, "sh", "-c", WAITING);
        id = id_of(&running);
        tool(&o, "stop", id, NULL);
        assert_int_equal(o.status, 125);
        assert_int_equal(kill(running.pid, SIGINT), 0);
        end(&running, 1000 + SIGINT);
}

FULL_TEST(who_ignores_sigterm_is_killed, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;

        BEGIN(s, &running, program(), "run", "--project", s->project, "--", "sh", "-c",
              "trap '' TERM; echo ready; while :; do sleep 1; done");
        id = id_of(&running);
        tool(&o, "stop", id, NULL);
        expect_status(&o, 0);
        end(&running, 128 + SIGKILL);
}

int main(void) {
        return run_all_tests();
}

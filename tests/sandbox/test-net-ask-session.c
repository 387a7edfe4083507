/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --net=ask in sessions: who is asked about a name, when, and what is kept of the answer. */
#include "net-talk.h"
#include "net/question.h"
#include "session.h"
#include "terminal/asking.h"

/* Says of each name that is read from standard input whether it has an address. */
#define LOOK_UP                                                                                                \
        "while read name; do if getent ahostsv4 $name >/dev/null; then echo $name: yes; else echo $name: no; " \
        "fi; done"

/* `nsrun run OPTION --session ID -- sh -c LOOK_UP` at a terminal of its own, which is none of its streams.
 */
static void join_at_terminal(struct talk *t, const struct site *s, const char *id, const char *option) {
        *t = (struct talk){0};
        start_talk_with_input(t, s->root,
                              OPTIONS(program(), "run", option, "--session", id, "--", "sh", "-c", LOOK_UP));
}

/* `nsrun session ask ID` at a terminal, which is asked from now on. */
static void ask_at_terminal(struct talk *t, const struct site *s, const char *id) {
        *t = (struct talk){0};
        start_talk(t, s->root, OPTIONS(program(), "session", "ask", id));
        await(t, "nsrun: names that no rule covers are asked about here, until the session ends\r\n");
}

static void want(const struct talk *t, const char *name) {
        _cleanup_free_ char *line = text_of("%s\n", name);

        assert_int_equal(write(t->in, line, strlen(line)), (ssize_t)strlen(line));
}

static void expect_line(const struct talk *t, const char *expected) {
        await_line(t->running.out, expected);
}

/* All that was printed at the terminal so far says nothing of the name. */
static void expect_not_asked(struct talk *t, const char *name) {
        while (read_more(t, 0))
                ;
        assert_null(strstr(t->text, name));
}

static void end_command(struct talk *t) {
        _cleanup_outcome_ struct outcome o = {0};

        close_fdp(&t->in);
        end_talk_alone(t, &o);
        expect_status(&o, 0);
}

static void kill_talk(struct talk *t) {
        _cleanup_outcome_ struct outcome o = {0};

        send_signal(t->running.pidfd, SIGKILL);
        end_talk_alone(t, &o);
        expect_status(&o, 1000 + SIGKILL);
}

static void expect_answers(const struct site *s, const char *id, const char *answers) {
        _cleanup_free_ char *shown = text_of("\"answers\":[%s]", answers);
        _cleanup_outcome_ struct outcome o = {0};

        SESSION(s, &o, "show", "--json", id);
        expect_in(o.out, shown);
}

/* A command that has no terminal, and so nobody to ask. */
static void spawn_alone(const struct site *s, const char *id, const char *script, struct running *ret) {
        spawn(&(struct request){.argv = OPTIONS("setsid", "-w", program(), "run", "--session", id, "--",
                                                "sh", "-c", script),
                                .cwd = s->root},
              ret);
}

static void expect_alone(const struct site *s, const char *id, const char *script, const char *out,
                         const char *err) {
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;

        spawn_alone(s, id, script, &running);
        finish(&running, &o);
        expect_out(&o, out);
        assert_string_equal(o.err, err);
}

TEST_IN_ALL_MODES(a_session_asks_at_the_terminal_of_the_command_that_wants_the_name) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START(s, "--net=ask");
        static struct talk one, other;
        char code[5], other_code[5];

        join_at_terminal(&one, s, id, "--env=A=1");
        join_at_terminal(&other, s, id, "--env=A=1");
        want(&one, "first.test");
        await_question_for(&one, "session", "first.test", code);
        /* Meanwhile another command's question is open at its own terminal, and answered before. */
        want(&other, "second.test");
        await(&other, "nsrun: getent (pid ");
        await_question_for(&other, "session", "second.test", other_code);
        type(&other, other_code);
        await(&other, "nsrun: second.test is allowed; in later sessions by --allow second.test\r\n");
        expect_line(&other, "second.test: yes\n");
        type(&one, "n\n");
        await(&one, "nsrun: first.test is refused\r\n");
        expect_line(&one, "first.test: no\n");
        /* The answers are the session's, and nobody is asked twice. */
        want(&one, "second.test");
        expect_line(&one, "second.test: yes\n");
        want(&other, "first.test");
        expect_line(&other, "first.test: no\n");
        expect_not_asked(&one, "second.test");
        expect_not_asked(&other, "first.test");
        expect_answers(s, id, "\"deny first.test\",\"allow second.test\"");
        end_command(&one);
        end_command(&other);
        end_session(s, id, "stop");
}

TEST(without_a_terminal_a_sessions_command_is_refused_and_asked_about_later) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START(s, "--net=ask", "--allow=other.test");
        static const char script[] = "echo early.test | { " LOOK_UP "; }";
        static struct talk t;
        char code[5];

        expect_alone(s, id, script, "early.test: no\n",
                     "nsrun: note: network: early.test isn't allowed; allowed: other.test:80,443; to "
                     "allow it, start a session with --allow early.test (ports 80 and 443; another port: "
                     "--allow early.test:PORT), or answer 'nsrun session ask'\n");
        expect_answers(s, id, "");
        join_at_terminal(&t, s, id, "--env=A=1");
        want(&t, "early.test");
        await_question_for(&t, "session", "early.test", code);
        type(&t, code);
        expect_line(&t, "early.test: yes\n");
        end_command(&t);
        expect_alone(s, id, script, "early.test: yes\n", "");
        expect_answers(s, id, "\"allow early.test\"");
        end_session(s, id, "stop");
}

/* The command could type an answer at a terminal that is its own, too. */
TEST(who_shares_the_terminal_with_the_command_is_not_asked) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START(s, "--net=ask"), *plain = START(s, "--hide=x"),
                            *none = text_of(
                                    "nsrun: nobody is asked in the session: %s; one that was started "
                                    "with --net=ask asks about names that no rule covers",
                                    plain);
        _cleanup_outcome_ struct outcome o = {0};
        static struct talk t;

        SESSION(s, &o, "start", "--project", s->project, "--net=ask", "--no-new-session");
        expect_refusal(
                &o, 125,
                "nsrun: --net=ask and --no-new-session contradict: the command would have the terminal "
                "on which is asked; leave one of the two out");
        t = (struct talk){0};
        start_talk(&t, s->root, OPTIONS(program(), "session", "ask", plain));
        end_talk_alone(&t, &o);
        expect_refusal(&o, 125, none);
        outcome_clear(&o);
        run(&(struct request){.argv = OPTIONS("setsid", "-w", program(), "session", "ask", id),
                              .cwd = s->root},
            &o);
        expect_refusal(&o, 125,
                       "nsrun: nobody can be asked about names that no rule covers; --net=ask asks on the "
                       "terminal, and there is none: take --net=allow");
        SESSION(s, &o, "stop", plain);
        end_session(s, id, "stop");
}

/* Commands that have nobody to ask are `nsrun session ask`'s, and another one's when that has gone. */
TEST(session_ask_answers_for_commands_without_a_terminal) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START(s, "--net=ask");
        static struct talk one, other, own;
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;
        char code[5];

        ask_at_terminal(&one, s, id);
        spawn_alone(s, id, "for n in far.test near.test never.test; do echo $n | { " LOOK_UP "; }; done",
                    &running);
        await_question_for(&one, "session", "far.test", code);
        ask_at_terminal(&other, s, id);
        /* Whose own command wants a name is asked, and nobody else. */
        join_at_terminal(&own, s, id, "--env=A=1");
        want(&own, "own.test");
        await_question_for(&own, "session", "own.test", code);
        expect_not_asked(&one, "own.test");
        expect_not_asked(&other, "own.test");
        /* A command whose nsrun has gone is asked about no more, by nobody. */
        kill_talk(&own);
        close_fdp(&own.in);
        expect_not_asked(&other, "own.test");
        kill_talk(&one);
        /* It came before the other had joined, who hasn't said that it isn't its command's. */
        await_question_for(&other, "session", "near.test", code);
        type(&other, code);
        await_question_for(&other, "session", "never.test", code);
        type(&other, "q\n");
        await(&other, "nsrun: never.test is refused, and so is all that no rule covers\r\n");
        finish(&running, &o);
        expect_out(&o, "far.test: no\nnear.test: yes\nnever.test: no\n");
        expect_answers(s, id, "\"allow near.test\"");
        SESSION(s, &o, "stop", id);
        outcome_clear(&o);
        end_talk_alone(&other, &o);
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
        collect_orphans();
}

/* One at a time: what else is wanted waits. */
TEST(session_ask_asks_about_names_and_files) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START(s, "--net=ask"), *f = path_of(s->home, "beside/f"),
                            *shown = text_of("nsrun: %s is shown;", f);
        _cleanup_outcome_ struct outcome o = {0};
        static struct talk t;
        struct running running;
        char code[5];

        make_file(s->home, "beside/f", "text\n");
        ask_at_terminal(&t, s, id);
        await(&t, "nsrun: files that commands with --ask don't find are asked about here, until the session "
                  "ends\r\n");
        spawn(&(struct request){.argv = OPTIONS("setsid", "-w", program(), "run", "--session", id,
                                                "--kill-leftovers", "--ask", "--", "sh", "-c",
                                                "cat ~/beside/f & echo both.test | { " LOOK_UP
                                                "; }; wait; cat ~/beside/f"),
                                .cwd = s->root},
              &running);
        /* Whichever is the first. */
        while (!strstr(t.text + t.seen, "asked no more"))
                assert_true(read_more(&t, deadline_seconds * 500));
        if (strstr(t.text + t.seen, " wants to reach ")) {
                await_question_for(&t, "session", "both.test", code);
                type(&t, code);
                await(&t, " for this file");
        } else {
                await(&t, " for this file");
                memcpy(code, "y", 1);
                memcpy(code + 1, t.text + t.seen - strlen("12 for this file"), 2);
                memcpy(code + 3, "\n", 2);
                type(&t, code);
                await(&t, shown);
                await_question_for(&t, "session", "both.test", code);
                type(&t, code);
                code[0] = '\0';
        }
        if (*code) {
                memcpy(code + 1, t.text + t.seen - strlen("12 for this file"), 2);
                type(&t, code);
                await(&t, shown);
        }
        finish(&running, &o);
        expect_in(o.out, "both.test: yes\n");
        expect_in(o.out, "text\n");
        SESSION(s, &o, "stop", id);
        outcome_clear(&o);
        end_talk_alone(&t, &o);
        expect_status(&o, 0);
        collect_orphans();
}

/* Who is slow to say that it is its command's, as on a busy machine, is asked all the same. */
TEST(who_answers_late_is_asked) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START(s, "--net=ask");
        static struct talk own;
        char code[5];

        join_at_terminal(&own, s, id, "--env=A=1");
        want(&own, "first.test");
        await_question_for(&own, "session", "first.test", code);
        type(&own, "n\n");
        expect_line(&own, "first.test: no\n");
        send_signal(own.running.pidfd, SIGSTOP);
        want(&own, "own.test");
        (void)poll(NULL, 0, 2000);
        send_signal(own.running.pidfd, SIGCONT);
        await_question_for(&own, "session", "own.test", code);
        kill_talk(&own);
        close_fdp(&own.in);
        end_session(s, id, "stop");
}

static void expect_question(int fd, enum net_question_kind kind, uint32_t number) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        struct net_question q = {0};

        assert_int_equal(poll(&ready, 1, 1000 * deadline_seconds), 1);
        assert_int_equal(recv(fd, &q, sizeof(q), 0), sizeof(q));
        assert_int_equal(q.kind, kind);
        assert_int_equal(q.number, number);
}

static void say(int fd, uint32_t number, enum net_verdict verdict) {
        const struct net_answer a = {number, verdict};

        assert_int_equal(send(fd, &a, sizeof(a), 0), sizeof(a));
}

/* A socket may be two commands' at once. */
TEST(who_has_said_first_that_it_is_its_commands_is_asked) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START(s, "--net=ask"),
                            *path = text_of("%s/nsrun/sessions/%s", s->runtime, id);
        _cleanup_close_ int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC), one = -EBADF,
                            other = -EBADF;
        _cleanup_outcome_ struct outcome o = {0};
        struct pollfd ready[2];
        struct running running[2];

        assert_int_equal(question_join(folder, &one), 0);
        assert_int_equal(question_join(folder, &other), 0);
        for (uint32_t number = 1; number <= 2; number++) {
                spawn_alone(s, id,
                            number == 1 ? "getent ahostsv4 first.test" : "getent ahostsv4 second.test",
                            &running[number - 1]);
                expect_question(one, NET_QUESTION_WHOSE, number);
                say(one, number, NET_VERDICT_MINE);
                if (number == 1)
                        expect_question(one, NET_QUESTION_PERSON, number);
                expect_question(other, NET_QUESTION_WHOSE, number);
                say(other, number, NET_VERDICT_MINE);
        }
        say(one, 1, NET_VERDICT_NO);
        ready[0] = (struct pollfd){.fd = one, .events = POLLIN};
        ready[1] = (struct pollfd){.fd = other, .events = POLLIN};
        assert_int_equal(poll(ready, 2, 1000 * deadline_seconds), 1);
        assert_int_equal(ready[1].revents, 0);
        expect_question(one, NET_QUESTION_PERSON, 2);
        say(one, 2, NET_VERDICT_NO);
        for (size_t i = 0; i < ARRAY_SIZE(running); i++) {
                finish(&running[i], &o);
                outcome_clear(&o);
        }
        end_session(s, id, "stop");
}

int main(int argc, char **argv) {
        client_main(argc, argv);
        return run_all_tests();
}

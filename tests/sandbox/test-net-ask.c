/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --net=ask: a person at a terminal is asked about names that no rule covers, and the query waits. */
#include "net-talk.h"
#include "session.h"

static const char hosts[] = "203.0.113.5 good.test other.test far.test\n";

static void begin_talk(struct talk *t, struct world *w, bool is_behind, const char *const *options,
                       const char *const *words) {
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *bind = text_of("%s:/client:ro", self);
        const char *argv[80] = {program(), "run", "--project", w->site->project,
                                "--bind",  bind,  "--net=ask"};
        size_t n = 7;

        while (*options)
                argv[n++] = *options++;
        argv[n++] = "--";
        argv[n++] = "/client";
        while (*words && n < ARRAY_SIZE(argv) - 1)
                argv[n++] = *words++;
        *t = (struct talk){.stage = world_stage, .data = w, .is_behind = is_behind};
        start_talk(t, w->site->root, argv);
}
#define TALK(t, w, options, ...) begin_talk(t, w, false, options, OPTIONS(__VA_ARGS__))

TEST(a_person_is_asked_once_about_a_name) {
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;
        struct talk t;
        char code[5];

        world_make(*state, &w, hosts);
        TALK(&t, &w, OPTIONS("--allow=far.test:80"), "reach", "good.test:80", "GOOD.test:80",
             "other.test:80", "other.test:80", "good.test:8080", "far.test:80");
        await(&t, "nsrun: client (pid ");
        await_question(&t, "good.test", code);
        /* Whoever doesn't see the question can't answer it. */
        type(&t, "y\n");
        await_question(&t, "good.test", code);
        type(&t, "yesyesyesyesyesyes\n");
        await_question(&t, "good.test", code);
        type(&t, code);
        await(&t, "nsrun: good.test is allowed; in later runs by --allow good.test\r\n");
        await_question(&t, "other.test", code);
        type(&t, "n\n");
        await(&t, "nsrun: other.test is refused\r\n");
        end_talk(&t, &o);
        assert_null(strstr(t.text + t.seen, "nsrun"));
        expect_out(&o, "good.test:80: to 203.0.113.5: 2 bytes\nGOOD.test:80: to 203.0.113.5: 2 bytes\n"
                       "other.test:80: no such name\nother.test:80: no such name\n"
                       "good.test:8080: Connection refused\nfar.test:80: to 203.0.113.5: 2 bytes\n");
        assert_string_equal(o.err,
                            "nsrun: note: network: other.test isn't allowed; allowed: far.test:80; to "
                            "allow it: --allow other.test (ports 80 and 443; another port: --allow "
                            "other.test:PORT)\n");
        expect_status(&o, 0);
}

TEST(who_wants_to_be_asked_no_more_is_not) {
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;
        struct talk t;
        char code[5];

        world_make(*state, &w, hosts);
        TALK(&t, &w, OPTIONS(NULL), "reach", "good.test:80", "other.test:80");
        await_question(&t, "good.test", code);
        type(&t, "q\n");
        await(&t, "nsrun: good.test is refused, and so is all that no rule covers\r\n");
        end_talk(&t, &o);
        expect_out(&o, "good.test:80: no such name\nother.test:80: no such name\n");
}

/* Neither what --deny names, nor what is no name of the outer world; nor more than so many. */
TEST(nobody_is_asked_about_everything) {
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;
        const char *words[64] = {"reach", "good.test:80", "single:80", "printer.local:80", "10.0.0.1:80"};
        char names[36][16], code[5];
        struct talk t;
        size_t n = 5;

        world_make(*state, &w, hosts);
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                (void)snprintf(names[i], sizeof(names[i]), "n%zu.test:80", i);
                words[n++] = names[i];
        }
        begin_talk(&t, &w, false, OPTIONS("--deny=good.test"), words);
        for (size_t i = 0; i < 32; i++) {
                names[i][strlen(names[i]) - 3] = '\0';
                await_question(&t, names[i], code);
                type(&t, "n\n");
        }
        await(&t, "nsrun: That was the last question: what else no rule covers is refused\r\n");
        end_talk(&t, &o);
        assert_null(strstr(t.text + t.seen, "wants"));
        expect_in(o.out,
                  "good.test:80: no such name\nsingle:80: no such name\nprinter.local:80: no such name\n"
                  "10.0.0.1:80: Network is unreachable\nn0.test:80: no such name\n");
        expect_in(o.out, "n35.test:80: no such name\n");
        expect_status(&o, 0);
}

TEST(in_the_background_nothing_is_asked) {
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;
        struct talk t;

        world_make(*state, &w, hosts);
        begin_talk(&t, &w, true, OPTIONS(NULL), OPTIONS("reach", "good.test:80"));
        await(&t, "nsrun: good.test is refused: nsrun is in the background, and can't ask\r\n");
        end_talk(&t, &o);
        expect_out(&o, "good.test:80: no such name\n");
        assert_null(strstr(t.text, "wants"));
}

/* nsrun at a terminal that is its standard streams, too: what they are of the command's is another one. */
static void begin_streams(struct talk *t, struct world *w, bool is_behind, const char *script) {
        const char *argv[] = {program(), "run", "--project", w->site->project, "--net=ask",
                              "--",      "sh",  "-c",        script,           NULL};

        *t = (struct talk){.stage = world_stage, .data = w, .is_behind = is_behind, .has_streams = true};
        start_talk(t, w->site->root, argv);
}

static off_t size_of(const char *path) {
        struct stat st;

        return stat(path, &st) < 0 ? 0 : st.st_size;
}

/* It could write another name over the question's. */
TEST(nothing_that_the_command_prints_is_shown_beside_a_question) {
        /* Margins of one line would leave the question's last one alone. */
        static const char script[] =
                "printf '\\033[5;5r'; while printf 'FOR''GED\\n' && echo >>printed; do sleep 0.01; done & "
                "read go; getent ahostsv4 good.test >/dev/null; echo rc $?; kill $!";
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;
        static struct talk t;
        _cleanup_free_ char *printed = path_of(((const struct site *)*state)->project, "printed");
        const char *question;
        char code[5];
        off_t before;

        world_make(*state, &w, hosts);
        begin_streams(&t, &w, false, script);
        await(&t, "FORGED\r\n");
        type(&t, "go\n");
        await_question(&t, "good.test", code);
        assert_non_null(strstr(t.text, "\033[r\033[999H\033[J\r\nnsrun: getent (pid "));
        question = strstr(t.text, "wants to reach");
        before = size_of(printed);
        for (int i = 0; i < deadline_seconds * 100 && size_of(printed) < before + 3; i++)
                (void)read_more(&t, 10);
        assert_true(size_of(printed) >= before + 3);
        type(&t, "what?\n");
        await(&t, " for yes, n for no, q to be asked no more] ");
        type(&t, code);
        await(&t, "nsrun: good.test is allowed; in later runs by --allow good.test\r\n");
        t.text[t.seen - 1] = '\0';
        assert_null(strstr(question, "FORGED"));
        t.text[t.seen - 1] = '\n';
        await(&t, "FORGED\r\n");
        await(&t, "rc 0\r\n");
        end_talk(&t, &o);
        expect_status(&o, 0);
        assert_int_equal(unlink(printed), 0);
}

/* Of a question that was cut off a person would see another one, which the command has written. */
TEST(a_terminal_that_is_busy_shows_the_question_in_whole) {
        static const char script[] =
                "head -c 40000 /dev/zero | tr '\\0' x & until [ -e full ]; do sleep 0.01; done; "
                ">asked; getent ahostsv4 good.test >/dev/null; echo rc $?; wait";
        const struct site *s = *state;
        _cleanup_free_ char *asked = path_of(s->project, "asked");
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;
        static struct talk t;
        char code[5];

        world_make(*state, &w, hosts);
        begin_streams(&t, &w, false, script);
        for (int64_t since = 0; poll(&(struct pollfd){.fd = t.slave, .events = POLLOUT}, 1, 0) != 0;)
                assert_true(keep_waiting(&since));
        make_file(s->project, "full", "");
        for (int64_t since = 0; access(asked, F_OK) < 0;)
                assert_true(keep_waiting(&since));
        /* Nothing tells that the question waits to be shown.  One that comes later is the easier one. */
        (void)usleep(300 * 1000);
        await_question(&t, "good.test", code);
        type(&t, "n\n");
        await(&t, "nsrun: good.test is refused\r\n");
        await(&t, "rc 2\r\n");
        end_talk(&t, &o);
        expect_status(&o, 0);
}

/* The command goes on there, has no answer, and is typed to when a shell's "fg" has come. */
TEST(a_command_with_its_own_terminal_goes_on_in_the_background) {
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;
        static struct talk t;

        world_make(*state, &w, hosts);
        begin_streams(&t, &w, true, "getent hosts good.test; echo rc $?; read x; echo got $x; tty");
        await(&t, "nsrun: good.test is refused: nsrun is in the background, and can't ask\r\n");
        await(&t, "rc 2\r");
        type(&t, "typed\n");
        assert_int_equal(kill(tcgetpgrp(t.master), SIGUSR1), 0);
        await(&t, "got typed\r\n/dev/console\r\n");
        end_talk(&t, &o);
        expect_status(&o, 0);
}

/* nsrun has a deadline to keep while it looks. */
TEST(who_asks_is_not_looked_for_among_all_descriptors_of_a_crowd) {
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;
        static struct talk t;
        char code[5];

        world_make(*state, &w, hosts);
        TALK(&t, &w, OPTIONS(NULL), "crowd", "good.test:80");
        await(&t, "nsrun: a program wants to reach good.test ");
        t.seen = 0;
        await_question(&t, "good.test", code);
        type(&t, code);
        end_talk(&t, &o);
        expect_out(&o, "good.test:80: to 203.0.113.5: 2 bytes\n");
}

/* What was typed before it is no answer to a question; and a run that ends takes its question with it, and
 * leaves the terminal as it was. */
TEST(a_question_ends_with_its_run) {
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;
        struct termios raw, after;
        struct talk t;
        char code[5];

        world_make(*state, &w, hosts);
        TALK(&t, &w, OPTIONS(NULL), "reach", "good.test:80");
        type(&t, "q\n");
        assert_int_equal(tcgetattr(t.slave, &raw), 0);
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        assert_int_equal(tcsetattr(t.slave, TCSANOW, &raw), 0);
        await_question(&t, "good.test", code);
        assert_int_equal(tcgetattr(t.slave, &after), 0);
        assert_int_not_equal(after.c_lflag & ICANON, 0);
        assert_int_equal(kill(t.running.pid, SIGTERM), 0);
        finish(&t.running, &o);
        assert_int_equal(tcgetattr(t.slave, &after), 0);
        assert_int_equal(after.c_lflag, raw.c_lflag);
        expect_out(&o, "");
        expect_status(&o, 128 + SIGTERM);
        (void)close(t.master);
        (void)close(t.slave);
        collect_orphans();
}

/* A person who has gone answers nothing. */
TEST(without_a_terminal_nothing_is_asked) {
        static const char line[] = "nsrun: nobody can be asked about names that no rule covers; ";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *none = text_of(
                                    "%s--net=ask asks on the terminal, and there is none: take --net=allow",
                                    line),
                            *other = text_of("Error: %s'nsrun run' and sessions ask (--net=ask), at a "
                                             "terminal, and 'nsrun bash --json-stream': take one of these, "
                                             "or --net=allow",
                                             line + strlen("nsrun: "));
        const char *const alone[] = {"setsid",   "-w",        program(), "run",  "--project",
                                     s->project, "--net=ask", "--",      "true", NULL};

        run(&(struct request){.argv = alone, .cwd = s->root}, &o);
        expect_refusal(&o, 125, none);
        NSRUN_IN(s->root, &o, "bash", "--project", s->project, "--net=ask", "--", "true");
        expect_status(&o, 125);
        expect_out(&o, other);
        RUN(s, &o, "--net=ask", "--no-new-session", "--", "true");
        expect_refusal(
                &o, 125,
                "nsrun: --net=ask and --no-new-session contradict: the command would have the terminal on "
                "which is asked; leave one of the two out");
        RUN(s, &o, "--net=ask", "--publish=8080:80", "--", "true");
        expect_refusal(&o, 125,
                       "nsrun: no server inside can have port 80, which --publish leads to: it is taken for "
                       "--net=ask; let the server inside have another port");
}

int main(int argc, char **argv) {
        client_main(argc, argv);
        return run_all_tests();
}

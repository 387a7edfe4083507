/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --net=ask: a person at a terminal is asked about names that no rule covers, and the query waits. */
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <termios.h>

#include "net.h"
#include "session.h"

static const char hosts[] = "203.0.113.5 good.test other.test far.test\n";

/* nsrun on the world's host, and its terminal, which is none of its standard streams. */
struct talk {
        struct world *world;
        struct running running;
        int master, slave;
        bool is_behind;       /* another process has the foreground */
        char text[64 * 1024]; /* all that was printed there */
        size_t n, seen;
};

/* Gives the terminal to another process of the session, which ends with this one. */
static void stand_behind(int slave) {
        pid_t parent = getpid(), pid = fork();

        if (pid == 0) {
                if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
                        _exit(1);
                for (int fd = 0; fd < 256; fd++)
                        (void)close(fd);
                for (;;)
                        (void)pause();
        }
        if (pid < 0 || setpgid(pid, pid) < 0 || tcsetpgrp(slave, pid) < 0)
                _exit(119);
}

static void on_its_terminal(void *data) {
        const struct talk *t = data;

        if (setsid() < 0 || ioctl(t->slave, TIOCSCTTY, 0) < 0)
                _exit(119);
        if (t->is_behind)
                stand_behind(t->slave);
        world_stage(t->world);
}

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
        *t = (struct talk){.world = w, .is_behind = is_behind};
        assert_int_equal(openpty(&t->master, &t->slave, NULL, NULL, NULL), 0);
        assert_int_equal(fcntl(t->master, F_SETFD, FD_CLOEXEC), 0);
        spawn(&(struct request){.argv = argv, .cwd = w->site->root, .in_child = on_its_terminal, .data = t},
              &t->running);
        assert_int_equal(fcntl(t->slave, F_SETFD, FD_CLOEXEC), 0);
}
#define TALK(t, w, options, ...) begin_talk(t, w, false, options, (const char *const[]){__VA_ARGS__, NULL})

static bool read_more(struct talk *t, int timeout) {
        struct pollfd more = {.fd = t->master, .events = POLLIN};
        ssize_t n;

        if (poll(&more, 1, timeout) != 1)
                return false;
        n = read(t->master, t->text + t->n, sizeof(t->text) - 1 - t->n);
        if (n <= 0)
                return false;
        t->n += (size_t)n;
        t->text[t->n] = '\0';
        return true;
}

static void await(struct talk *t, const char *text) {
        const char *at;

        while (!(at = strstr(t->text + t->seen, text)))
                if (!read_more(t, deadline_seconds * 500))
                        fail_msg("%s doesn't come after: %s", text, t->text + t->seen);
        t->seen = (size_t)(at - t->text) + strlen(text);
}

static void type(const struct talk *t, const char *text) {
        assert_int_equal(write(t->master, text, strlen(text)), (ssize_t)strlen(text));
}

/* The question about the name; *code is what a yes to it is. */
static void await_question(struct talk *t, const char *name, char code[5]) {
        _cleanup_free_ char *shown =
                text_of(" wants to reach %s (ports 80 and 443), which no rule covers.\r\n"
                        "nsrun: Allow that until the run ends? [",
                        name);

        await(t, shown);
        await(t, ", n, or q to be asked no more] ");
        assert_int_equal(sscanf(strstr(t->text + t->seen - 40, "[y"), "[%3[y0-9]", code), 1);
        (void)strcat(code, "\n");
}

static void end_talk(struct talk *t, struct outcome *ret) {
        outcome_clear(ret);
        finish(&t->running, ret);
        while (read_more(t, 0))
                ;
        (void)close(t->master);
        (void)close(t->slave);
        collect_orphans();
}

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
        await(&t, ", n, or q to be asked no more] ");
        type(&t, "yesyesyesyesyesyes\n");
        await(&t, ", n, or q to be asked no more] ");
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
        assert_string_equal(o.err, "nsrun: note: network: other.test isn't allowed; allowed: far.test:80\n");
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
        begin_talk(&t, &w, true, OPTIONS(NULL), (const char *const[]){"reach", "good.test:80", NULL});
        await(&t, "nsrun: good.test is refused: nsrun is in the background, and can't ask\r\n");
        end_talk(&t, &o);
        expect_out(&o, "good.test:80: no such name\n");
        assert_null(strstr(t.text, "wants"));
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
        TALK(&t, &w, OPTIONS("--timeout=2"), "reach", "good.test:80");
        type(&t, "q\n");
        assert_int_equal(tcgetattr(t.slave, &raw), 0);
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        assert_int_equal(tcsetattr(t.slave, TCSANOW, &raw), 0);
        await_question(&t, "good.test", code);
        assert_int_equal(tcgetattr(t.slave, &after), 0);
        assert_int_not_equal(after.c_lflag & ICANON, 0);
        finish(&t.running, &o);
        assert_int_equal(tcgetattr(t.slave, &after), 0);
        assert_int_equal(after.c_lflag, raw.c_lflag);
        expect_out(&o, "");
        expect_status(&o, 124);
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
                            *other = text_of("%sonly 'nsrun run' asks (--net=ask), at its terminal: take "
                                             "--net=allow",
                                             line);
        const char *const alone[] = {"setsid",   "-w",        program(), "run",  "--project",
                                     s->project, "--net=ask", "--",      "true", NULL};

        run(&(struct request){.argv = alone, .cwd = s->root}, &o);
        expect_refusal(&o, 125, none);
        SESSION(s, &o, "start", "--project", s->project, "--net=ask");
        expect_refusal(&o, 125, other);
        collect_orphans();
        outcome_clear(&o);
        RUN(s, &o, "--net=ask", "--no-new-session", "--", "true");
        expect_refusal(
                &o, 125,
                "nsrun: --net=ask and --no-new-session contradict: the command would have the terminal on "
                "which is asked; leave one of the two out");
        outcome_clear(&o);
        RUN(s, &o, "--net=ask", "--publish=8080:80", "--", "true");
        expect_refusal(&o, 125,
                       "nsrun: no server inside can have port 80, which --publish leads to: it is taken for "
                       "--net=ask; let the server inside have another port");
}

int main(int argc, char **argv) {
        client_main(argc, argv);
        return run_all_tests();
}

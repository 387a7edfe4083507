/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --ask of a session's commands that have no terminal: whoever runs `nsrun session ask` is asked. */
#include "ask.h"
#include "detach.h"
#include "repository.h"

#include <glob.h>
#include <sys/socket.h>
#include <sys/un.h>

enum {
        PLACES = 128
};

#define await_asked(t, ...) await_question(t, "session", __VA_ARGS__)

#define NOBODY                                                                                     \
        "nsrun: note: files that aren't exposed are refused: nobody is there to be asked; 'nsrun " \
        "session ask' asks at a terminal\n"

#define TOO_MANY \
        "nsrun: note: files that aren't exposed are refused: too many commands wait to be asked about\n"

/* `nsrun session ask ID` at a terminal, which is asked from now on. */
static void ask_at_terminal(struct talk *t, const struct site *s, const char *id) {
        *t = (struct talk){0};
        start_talk(t, s->root, OPTIONS(program(), "session", "ask", id));
        await(t, "nsrun: files that commands with --ask don't find are asked about here, until the session "
                 "ends\r\n");
}

/* Until it is seen to be. */
static void stop_asker(const struct talk *t) {
        siginfo_t info = {0};

        send_signal(t->running.pidfd, SIGSTOP);
        assert_int_equal(waitid(P_PIDFD, (id_t)t->running.pidfd, &info, WSTOPPED), 0);
}

static void without_terminal(nsrun_unused void *data) {
        if (setsid() < 0)
                _exit(119);
}

static void spawn_unseen(const struct site *s, const char *const *argv, struct running *ret) {
        spawn(&(struct request){.argv = argv, .cwd = s->root, .in_child = without_terminal}, ret);
}

/* A command that has no terminal. */
static void spawn_alone(const struct site *s, const char *id, const char *script, struct running *ret) {
        spawn_unseen(s,
                     OPTIONS(program(), "run", "--session", id, "--kill-leftovers", "--ask", "--", "sh",
                             "-c", script),
                     ret);
}

static void expect_unasked(struct talk *t) {
        while (read_more(t, 0))
                ;
        assert_null(strstr(t->text + t->seen, "[type"));
}

/* The session ends, and with it who asks. */
static void end_asked(const struct site *s, const char *id, struct talk *t) {
        _cleanup_outcome_ struct outcome o = {0};

        SESSION(s, &o, "stop", id);
        outcome_clear(&o);
        end_talk_alone(t, &o);
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
        collect_orphans();
}

TEST_IN_ALL_MODES(a_sessions_call_waits_for_an_answer_from_another_terminal) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *beside = path_of(s->home, "beside"),
                            *f = path_of(s->home, "beside/f"), *g = path_of(s->home, "beside/g"),
                            *run = path_of(s->home, "run/it"), *folder = path_of(s->home, "run"),
                            *shown = text_of("nsrun: %s is shown; in later runs by --ro %s\r\n", f, f),
                            *refused = text_of("nsrun: %s is refused, and so is what else is in %s\r\n", run,
                                               folder);
        _cleanup_outcome_ struct outcome o = {0};
        static struct talk t;
        struct running running;
        char code[3];

        make_beside(s);
        make_file(s->home, "run/it", "#!/bin/sh\n");
        on_host(s, "chmod +x \"$HOME/run/it\"", &o);
        outcome_clear(&o);
        ask_at_terminal(&t, s, id);
        spawn_alone(s, id,
                    "cat ~/beside/f; echo >>~/beside/f; cat ~/beside/g; ls ~/beside; ~/run/it; ls ~/run",
                    &running);
        await(&t, "nsrun: cat (pid ");
        await_asked(&t, "wants to read", f, beside, code);
        type(&t, "y\n");
        await_asked(&t, "wants to read", f, beside, code);
        answer(&t, "y", code);
        await(&t, shown);
        await_asked(&t, "wants to read", g, beside, code);
        answer(&t, "f", code);
        await_asked(&t, "wants to execute", run, folder, code);
        type(&t, "n\n");
        await(&t, refused);
        finish(&running, &o);
        expect_out(&o, "text\nmore\nf\ng\n");
        expect_in(o.err, "beside/f: Read-only file system\n");
        expect_in(o.err, "run/it: not found\n");
        expect_not_in(o.err, "nobody");
        outcome_clear(&o);
        /* What was shown is the session's. */
        spawn_alone(s, id, "cat ~/beside/f", &running);
        finish(&running, &o);
        expect_out(&o, "text\n");
        assert_string_equal(o.err, "");
        expect_unasked(&t);
        end_asked(s, id, &t);
}

/* As at the command's own terminal; what is refused is put once more. */
TEST(words_behind_a_yes_are_heard_in_a_session) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *beside = path_of(s->home, "beside"),
                            *f = path_of(s->home, "beside/f"), *g = path_of(s->home, "beside/g"),
                            *x = path_of(s->home, "data/set1/x"), *set1 = path_of(s->home, "data/set1"),
                            *data = path_of(s->home, "data"),
                            *config = path_of(s->home, ".config/nsrun/config.json"),
                            *saved = text_of("nsrun: %s is shown, and saved for the project\r\n", f),
                            *refused = text_of("nsrun: it isn't shown: the sandbox was granted this, which "
                                               "lies in that: %s; take it back first: nsrun revoke\r\n",
                                               f),
                            *shown = text_of("nsrun: %s is shown; in later runs by --overlay %s\r\n", data,
                                             data),
                            *proposed = text_of("{\"projects\": {\"%s\": {\"// proposal\": \"x\"}}}",
                                                s->project),
                            *unsaved = text_of("nsrun: it is granted, but not saved: the project's section "
                                               "is what it proposed itself: %s; add it by 'nsrun config "
                                               "edit'\r\n",
                                               config),
                            *text = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;
        static struct talk t;
        char code[3];

        make_beside(s);
        make_file(s->home, "data/set1/x", "text\n");
        ask_at_terminal(&t, s, id);
        spawn_alone(s, id, "echo more >>~/beside/f; cat ~/beside/f; cat ~/beside/g; cat ~/data/set1/x",
                    &running);
        await_asked(&t, "wants to write", f, beside, code);
        answer(&t, "y", " rw always");
        await(&t, "nsrun: that isn't understood\r\n");
        await_asked(&t, "wants to write", f, beside, code);
        answer_with(&t, "y", code, " rw always");
        await(&t, saved);
        text = file_text(config);
        expect_in(text, s->project);
        expect_in(text, "{\"writable\": [\"~/beside/f\"]}");
        await_asked(&t, "wants to read", g, NULL, code);
        answer_with(&t, "y", code, " overlay ~/beside");
        await(&t, refused);
        await_asked(&t, "wants to read", g, NULL, code);
        make_file(s->home, ".config/nsrun/config.json", proposed);
        answer_with(&t, "y", code, " always");
        await(&t, unsaved);
        await_asked(&t, "wants to read", x, set1, code);
        answer_with(&t, "y", code, " overlay ~/data");
        await(&t, shown);
        finish(&running, &o);
        expect_out(&o, "text\nmore\nmore\ntext\n");
        assert_string_equal(o.err, "");
        outcome_clear(&o);
        spawn_alone(s, id, "echo new >~/beside/f; echo new >~/data/set1/x; cat ~/data/set1/x", &running);
        finish(&running, &o);
        expect_out(&o, "new\n");
        outcome_clear(&o);
        on_host(s, "cat ~/beside/f ~/data/set1/x", &o);
        expect_out(&o, "new\ntext\n");
        expect_unasked(&t);
        end_asked(s, id, &t);
}

TEST(an_agents_command_is_asked_about) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *f = path_of(s->home, "beside/f"),
                            *beside = path_of(s->home, "beside");
        _cleanup_outcome_ struct outcome o = {0};
        static struct talk t;
        struct running running;
        char code[3];

        make_beside(s);
        ask_at_terminal(&t, s, id);
        spawn_unseen(
                s,
                OPTIONS(program(), "bash", "--session", id, "--kill-leftovers", "--ask", "cat ~/beside/f"),
                &running);
        await_asked(&t, "wants to read", f, beside, code);
        answer(&t, "y", code);
        finish(&running, &o);
        expect_out(&o, "$ cat ~/beside/f\ntext\n\n\nexit status: 0");
        assert_string_equal(o.err, "");
        end_asked(s, id, &t);
}

/* That is said once; and who comes later is asked. */
TEST(where_nobody_is_there_it_is_refused) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *f = path_of(s->home, "beside/f"),
                            *beside = path_of(s->home, "beside"), *g = path_of(s->home, "beside/g");
        _cleanup_outcome_ struct outcome o = {0};
        static struct talk t;
        struct running running;
        char code[3];

        make_beside(s);
        /* As often as can be asked, and more. */
        spawn_alone(
                s, id,
                "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do cat ~/beside/f ~/beside/g && echo "
                "read; done 2>/dev/null; >went; until [ -e go ]; do :; done; cat ~/beside/f",
                &running);
        await_file(s, "went");
        ask_at_terminal(&t, s, id);
        make_file(s->project, "go", "");
        await_asked(&t, "wants to read", f, beside, code);
        answer(&t, "y", code);
        finish(&running, &o);
        expect_out(&o, "text\n");
        assert_string_equal(o.err, NOBODY);
        outcome_clear(&o);
        /* Who goes while the question is open has refused it. */
        spawn_alone(s, id, "cat ~/beside/g || cat ~/beside/g", &running);
        await_asked(&t, "wants to read", g, beside, code);
        send_signal(t.running.pidfd, SIGKILL);
        end_talk_alone(&t, &o);
        outcome_clear(&o);
        finish(&running, &o);
        expect_out(&o, "");
        expect_status(&o, 1);
        expect_in(o.err, NOBODY);
        outcome_clear(&o);
        /* And says so. */
        ask_at_terminal(&t, s, id);
        spawn_alone(s, id, "cat ~/beside/g", &running);
        await_asked(&t, "wants to read", g, beside, code);
        send_signal(t.running.pidfd, SIGKILL);
        end_talk_alone(&t, &o);
        outcome_clear(&o);
        finish(&running, &o);
        expect_status(&o, 1);
        expect_in(o.err, NOBODY);
        end_session(s, id, "stop");
}

/* Nobody in there can be asked, or ask. */
TEST(who_is_asked_is_nowhere_in_the_sandbox) {
        static const char list[] = "ls \"$XDG_RUNTIME_DIR/nsrun/sessions\"/*",
                          find[] =
                                  "ls \"$XDG_RUNTIME_DIR/nsrun/sessions\"/*; find / -name 'file-questions*'";
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *runtime = text_of("--env=XDG_RUNTIME_DIR=%s", s->runtime);
        _cleanup_outcome_ struct outcome o = {0};
        static struct talk t;

        ask_at_terminal(&t, s, id);
        on_host(s, list, &o);
        expect_in(o.out, "\nfile-questions.");
        outcome_clear(&o);
        NSRUN_IN(s->project, &o, "run", "--session", id, runtime, "--", "sh", "-c", find);
        expect_not_in(o.out, "file-questions.");
        expect_in(o.err, "/nsrun/sessions/*': No such file or directory");
        end_asked(s, id, &t);
}

/* Neither are two questions open at once, nor is one put that another's answer has answered. */
TEST(commands_are_asked_about_one_after_the_other) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *f = path_of(s->home, "beside/f"),
                            *beside = path_of(s->home, "beside"), *other = path_of(s->home, "other");
        _cleanup_outcome_ struct outcome o = {0};
        struct running running[3];
        static struct talk t;
        char code[3];

        make_beside(s);
        make_file(s->home, "other", "other\n");
        ask_at_terminal(&t, s, id);
        spawn_alone(s, id, "cat ~/beside/f", &running[0]);
        await_asked(&t, "wants to read", f, beside, code);
        /* They wait for their turns. */
        spawn_alone(s, id, ">one; cat ~/beside/f", &running[1]);
        await_file(s, "one");
        spawn_alone(s, id, ">two; cat ~/other", &running[2]);
        await_file(s, "two");
        expect_unasked(&t);
        answer(&t, "y", code);
        await_asked(&t, "wants to read", other, NULL, code);
        /* Who has asked is gone. */
        send_signal(running[2].pidfd, SIGKILL);
        finish(&running[2], &o);
        outcome_clear(&o);
        for (size_t i = 0; i < 2; i++) {
                finish(&running[i], &o);
                expect_out(&o, "text\n");
                outcome_clear(&o);
        }
        spawn_alone(s, id, "cat ~/other", &running[2]);
        await_asked(&t, "wants to read", other, NULL, code);
        type(&t, "n\n");
        finish(&running[2], &o);
        expect_out(&o, "");
        end_asked(s, id, &t);
}

/* Of several any one is asked, and another one when that has gone. */
TEST(who_is_there_is_asked) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *f = path_of(s->home, "beside/f"),
                            *beside = path_of(s->home, "beside");
        _cleanup_outcome_ struct outcome o = {0};
        static struct talk one, other;
        struct running running;
        char code[3];

        make_beside(s);
        for (size_t i = 0; i < 2; i++) {
                ask_at_terminal(&one, s, id);
                ask_at_terminal(&other, s, id);
                send_signal((i ? &one : &other)->running.pidfd, SIGKILL);
                end_talk_alone(i ? &one : &other, &o);
                outcome_clear(&o);
                spawn_alone(s, id, "cat ~/beside/f", &running);
                await_asked(i ? &other : &one, "wants to read", f, beside, code);
                answer(i ? &other : &one, i ? "y" : "n", i ? code : "");
                finish(&running, &o);
                expect_out(&o, i ? "text\n" : "");
                outcome_clear(&o);
                if (i == 0) {
                        send_signal(one.running.pidfd, SIGKILL);
                        end_talk_alone(&one, &o);
                        outcome_clear(&o);
                }
        }
        end_asked(s, id, &other);
}

/* Who has been stopped answers nothing: another one is asked, before and while the question is there. */
TEST(who_is_stopped_is_not_waited_for) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *f = path_of(s->home, "beside/f"),
                            *beside = path_of(s->home, "beside");
        _cleanup_outcome_ struct outcome o = {0};
        static struct talk one, other;
        struct running running;
        char code[3];

        make_beside(s);
        ask_at_terminal(&one, s, id);
        stop_asker(&one);
        /* Nor are there places with such a one. */
        spawn_alone(s, id, "i=0; while [ $i -lt 70 ]; do cat ~/beside/f 2>/dev/null; i=$((i+1)); done",
                    &running);
        finish(&running, &o);
        expect_out(&o, "");
        assert_string_equal(o.err, NOBODY);
        outcome_clear(&o);
        ask_at_terminal(&other, s, id);
        spawn_alone(s, id, "cat ~/beside/f", &running);
        await_asked(&other, "wants to read", f, beside, code);
        send_signal(one.running.pidfd, SIGCONT);
        stop_asker(&other);
        await_asked(&one, "wants to read", f, beside, code);
        answer(&one, "y", code);
        finish(&running, &o);
        expect_out(&o, "text\n");
        assert_string_equal(o.err, "");
        outcome_clear(&o);
        send_signal(other.running.pidfd, SIGKILL);
        end_talk_alone(&other, &o);
        end_asked(s, id, &one);
}

/* Takes all places where commands wait for who is asked. */
static void take_places(const struct site *s, int fds[PLACES]) {
        _cleanup_free_ char *pattern = text_of("%s/nsrun/sessions/*/file-questions.*", s->runtime);
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        glob_t found;
        int folder;
        size_t n = 0;

        assert_int_equal(glob(pattern, 0, NULL, &found), 0);
        *strrchr(found.gl_pathv[0], '/') = '\0';
        folder = open(found.gl_pathv[0], O_PATH | O_DIRECTORY | O_CLOEXEC);
        assert_true(folder >= 0);
        (void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", folder,
                       found.gl_pathv[0] + strlen(found.gl_pathv[0]) + 1);
        do {
                assert_true(n < PLACES);
                fds[n] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
                assert_true(fds[n] >= 0);
        } while (connect(fds[n++], (const struct sockaddr *)&address, sizeof(address)) == 0);
        assert_int_equal(errno, EAGAIN);
        while (n < PLACES)
                fds[n++] = -EBADF;
        (void)close(folder);
        globfree(&found);
}

/* A command that finds no place is told why. */
TEST(more_than_can_wait_are_told_so) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *f = path_of(s->home, "beside/f"),
                            *beside = path_of(s->home, "beside");
        _cleanup_outcome_ struct outcome o = {0};
        struct running running, more;
        static struct talk t;
        int fds[PLACES];
        char code[3];

        make_beside(s);
        ask_at_terminal(&t, s, id);
        spawn_alone(s, id, "cat ~/beside/f", &running);
        await_asked(&t, "wants to read", f, beside, code);
        take_places(s, fds);
        spawn_alone(s, id, "cat ~/beside/g 2>/dev/null", &more);
        finish(&more, &o);
        assert_string_equal(o.err, TOO_MANY);
        outcome_clear(&o);
        for (size_t i = 0; i < PLACES; i++)
                close_fdp(&fds[i]);
        answer(&t, "y", code);
        finish(&running, &o);
        expect_out(&o, "text\n");
        end_asked(s, id, &t);
}

/* What is shown is what was asked about; and of a name the name. */
TEST(what_is_swapped_or_called_so_is_not_shown) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *f = path_of(s->home, "beside/f"),
                            *beside = path_of(s->home, "beside"),
                            *path = path_of(s->home, "a\\x1b[2Jb\\x0ansrun: yes"),
                            *shown = text_of("'%s'", path);
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;
        static struct talk t;
        char code[3];

        make_beside(s);
        on_host(s,
                "cd; mkdir secret; echo secret >secret/f; echo text >\"$(printf 'a\\033[2Jb\\nnsrun: yes')\"",
                &o);
        outcome_clear(&o);
        ask_at_terminal(&t, s, id);
        spawn_alone(s, id,
                    "cat ~/beside/f; cp /bin/cat \"$(printf 'x\\033[2J')\"; \"./$(printf 'x\\033[2J')\" "
                    "\"$HOME/$(printf 'a\\033[2Jb\\nnsrun: yes')\"",
                    &running);
        await_asked(&t, "wants to read", f, beside, code);
        on_host(s, "cd; mv beside moved; mv secret beside", &o);
        answer(&t, "f", code);
        await(&t, "nsrun: it isn't shown: what lies there has changed at this moment: ");
        await(&t, "nsrun: x?[2J (pid ");
        await_asked(&t, "wants to read", shown, NULL, code);
        answer(&t, "y", code);
        outcome_clear(&o);
        finish(&running, &o);
        expect_out(&o, "text\n");
        end_asked(s, id, &t);
}

/* So many of a command; and none when the person has enough. */
TEST(nobody_is_asked_without_end_in_a_session) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *f = path_of(s->home, "beside/f"),
                            *beside = path_of(s->home, "beside"),
                            *told = text_of(
                                    "nsrun: %s is refused, and so is all else that isn't exposed\r\n", f);
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;
        static struct talk t;
        char code[3];

        make_beside(s);
        for (unsigned i = 0; i < 34; i++) {
                _cleanup_free_ char *name = text_of("f%u", i);

                make_file(s->home, name, "text\n");
        }
        ask_at_terminal(&t, s, id);
        spawn_alone(s, id, "i=0; while [ $i -lt 34 ]; do cat ~/f$i 2>/dev/null; i=$((i+1)); done | wc -l",
                    &running);
        for (unsigned i = 0; i < 32; i++) {
                _cleanup_free_ char *name = text_of("f%u", i), *path = path_of(s->home, name);

                await_asked(&t, "wants to read", path, NULL, code);
                answer(&t, "y", code);
        }
        finish(&running, &o);
        expect_out(&o, "32\n");
        assert_string_equal(o.err,
                            "nsrun: note: that was the last question: what else isn't exposed is refused\n");
        expect_unasked(&t);
        outcome_clear(&o);
        spawn_alone(s, id, "cat ~/beside/f ~/f33 2>/dev/null", &running);
        await_asked(&t, "wants to read", f, beside, code);
        type(&t, "q\n");
        await(&t, told);
        finish(&running, &o);
        expect_out(&o, "");
        outcome_clear(&o);
        /* Nobody else is asked by that one, who ends. */
        end_talk_alone(&t, &o);
        expect_status(&o, 0);
        outcome_clear(&o);
        spawn_alone(s, id, "cat ~/beside/f 2>/dev/null", &running);
        finish(&running, &o);
        assert_string_equal(o.err, NOBODY);
        end_session(s, id, "stop");
}

/* More paths than are looked at, though nobody is there. */
TEST(who_is_looked_at_without_end_is_told_when_that_ends) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s);
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;

        on_host(s, "cd; touch $(seq -f f%g 514)", &o);
        outcome_clear(&o);
        spawn_alone(s, id, "cat $(seq -f \"$HOME/f%g\" 514) 2>/dev/null", &running);
        finish(&running, &o);
        assert_string_equal(o.err, NOBODY
                            "nsrun: note: that was the last question: what else isn't exposed is refused\n");
        end_session(s, id, "stop");
}

/* What a signal ends goes on as without the question: a run's command, and one that an agent gives up. */
TEST(what_ends_a_command_ends_its_question) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *f = path_of(s->home, "beside/f"),
                            *beside = path_of(s->home, "beside");
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;
        static struct talk t;
        char code[3];

        make_beside(s);
        ask_at_terminal(&t, s, id);
        spawn_alone(s, id, "trap : INT; cat ~/beside/f || echo went on", &running);
        await_asked(&t, "wants to read", f, beside, code);
        send_signal(running.pidfd, SIGINT);
        finish(&running, &o);
        outcome_clear(&o);
        spawn_unseen(s,
                     OPTIONS(program(), "bash", "--session", id, "--kill-leftovers", "--ask",
                             "trap '' TERM; cat ~/beside/f || >went"),
                     &running);
        await_asked(&t, "wants to read", f, beside, code);
        send_signal(running.pidfd, SIGTERM);
        await_file(s, "went");
        finish(&running, &o);
        end_asked(s, id, &t);
}

TEST(what_cannot_be_asked_in_a_session_is_refused) {
        const struct site *s = *state;
        _cleanup_free_ char *hiding = START(s, "--hide=x"), *id = START_PLAIN(s),
                            *none = text_of(
                                    "nsrun: nobody is asked in the session: %s; one that was started "
                                    "with --net=ask asks about names that no rule covers",
                                    hiding);
        _cleanup_outcome_ struct outcome o = {0};
        static struct talk t;

        start_talk(&t, s->root, OPTIONS(program(), "session", "ask", hiding));
        end_talk_alone(&t, &o);
        expect_refusal(&o, 125, none);
        outcome_clear(&o);
        run(&(struct request){.argv = OPTIONS("setsid", "-w", program(), "session", "ask", id),
                              .cwd = s->root},
            &o);
        expect_refusal(&o, 125,
                       "nsrun: nobody can be asked about files; --ask asks on the terminal, and there is "
                       "none: leave it out");
        NSRUN_IN(s->root, &o, "bash", "--session", hiding, "--kill-leftovers", "--ask", "true");
        expect_status(&o, 125);
        expect_in(o.out, "with --hide a sandbox is shown nothing more; leave out the questions about files "
                         "(--ask), and name them");
        NSRUN_IN(s->root, &o, "bash", "--session", id, "--ask", "true");
        expect_status(&o, 125);
        expect_in(o.out, "what a watched command leaves behind in a session would have nobody to answer it; "
                         "add --kill-leftovers, which ends that with the command");
        NSRUN_IN(s->root, &o, "bash", "--session", id, "--detach", "--ask", "true");
        expect_refusal(
                &o, 125,
                "nsrun: of a command in the background nobody is asked: --ask; see 'nsrun bash --help'");
        NSRUN_IN(s->root, &o, "bash", "--ask", "true");
        expect_refusal(
                &o, 125,
                "nsrun: of a session's commands alone somebody can be asked: --ask; see 'nsrun bash --help'");
        SESSION(s, &o, "stop", hiding);
        end_session(s, id, "stop");
}

int main(void) {
        return run_all_tests();
}

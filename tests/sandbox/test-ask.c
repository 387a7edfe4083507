/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --ask: a person at a terminal is asked about files that the command doesn't find and the host has, and the
 * call waits. */
#include <sys/socket.h>
#include <sys/un.h>

#include "ask.h"
#include "detach.h"
#include "repository.h"

#define await_asked(t, ...) await_question(t, "run", __VA_ARGS__)

/* `nsrun run --ask OPTION… -- sh -c SCRIPT`, at a terminal that is none of its streams. */
static void begin_asking(struct talk *t, const struct site *s, const char *const *options,
                         const char *script) {
        _cleanup_free_ const char **argv =
                words_of(OPTIONS(program(), "run", "--project", s->project, "--ask"), options,
                         OPTIONS("--", "sh", "-c", script));

        *t = (struct talk){0};
        start_talk(t, s->root, argv);
}

static void expect_unasked(const struct talk *t) {
        assert_null(strstr(t->text + t->seen, "[type"));
}

TEST(a_call_waits_for_the_answer_and_succeeds) {
        const struct site *s = *state;
        _cleanup_free_ char *beside = path_of(s->home, "beside"), *f = path_of(s->home, "beside/f"),
                            *g = path_of(s->home, "beside/g"),
                            *shown = text_of("nsrun: %s is shown; in later runs by --ro %s\r\n", f, f),
                            *refused = text_of("nsrun: %s is refused, and so is what else is in %s\r\n", g,
                                               beside);
        _cleanup_outcome_ struct outcome o = {0};
        struct talk t;
        char code[3];

        make_beside(s);
        make_file(s->home, "beside/h", "");
        begin_asking(
                &t, s, OPTIONS(NULL),
                "cat ~/beside/f; cat ~/beside/f; echo >>~/beside/f; cat ~/beside/g ~/beside/h ~/beside/none");
        await(&t, "nsrun: cat (pid ");
        await_asked(&t, "wants to read", f, beside, code);
        /* Whoever doesn't see the question can't answer it. */
        type(&t, "y\n");
        await_asked(&t, "wants to read", f, beside, code);
        type(&t, "yesyesyesyes\n");
        await_asked(&t, "wants to read", f, beside, code);
        answer(&t, "y", code);
        await(&t, shown);
        await_asked(&t, "wants to read", g, beside, code);
        type(&t, "n\n");
        await(&t, refused);
        end_talk(&t, &o);
        expect_unasked(&t);
        expect_out(&o, "text\ntext\n");
        expect_in(o.err, "beside/f: Read-only file system\n");
        expect_in(o.err, "beside/g: No such file or directory\n");
        expect_in(o.err, "beside/h: No such file or directory\n");
        expect_status(&o, 1);
}

/* What was shown of it before is there all the while. */
TEST(a_folder_is_shown_with_all_that_is_in_it) {
        const struct site *s = *state;
        _cleanup_free_ char *beside = path_of(s->home, "beside"), *f = path_of(s->home, "beside/f"),
                            *g = path_of(s->home, "beside/g"),
                            *told = text_of("nsrun: %s is shown; in later runs by --ro %s\r\n", beside,
                                            beside);
        _cleanup_outcome_ struct outcome o = {0};
        char id[16];
        struct talk t;
        char code[3];

        make_beside(s);
        begin_asking(
                &t, s, OPTIONS(NULL),
                "cat ~/beside/f; cat ~/beside/g ~/beside/f; ls ~/beside; >ready; until [ -e go ]; do :; done; ls "
                "~/beside");
        await_asked(&t, "wants to read", f, beside, code);
        answer(&t, "y", code);
        await_asked(&t, "wants to read", g, beside, code);
        answer(&t, "f", code);
        await(&t, told);
        await_file(s, "ready");
        /* Of the two that lie over each other both are taken back. */
        (void)snprintf(id, sizeof(id), "%d", (int)t.running.pid);
        NSRUN_IN(s->root, &o, "revoke", id);
        expect_status(&o, 0);
        outcome_clear(&o);
        make_file(s->project, "go", "");
        await_asked(&t, "looks for", beside, NULL, code);
        type(&t, "n\n");
        end_talk(&t, &o);
        expect_unasked(&t);
        expect_out(&o, "text\nmore\ntext\nf\ng\n");
}

/* Of a folder, and of a program. */
TEST(looks_and_programs_are_asked_about) {
        const struct site *s = *state;
        _cleanup_free_ char *beside = path_of(s->home, "beside"), *run = path_of(s->home, "run/it"),
                            *folder = path_of(s->home, "run");
        _cleanup_outcome_ struct outcome o = {0};
        struct talk t;
        char code[3];

        make_beside(s);
        make_file(s->home, "run/it", "#!/bin/sh\necho ran\n");
        on_host(s, "chmod +x \"$HOME/run/it\"", &o);
        begin_asking(&t, s, OPTIONS(NULL), "test -d ~/beside && ls ~/beside; ~/run/it");
        await_asked(&t, "looks for", beside, NULL, code);
        /* Of a folder it is itself. */
        answer(&t, "f", code);
        await_asked(&t, "looks for", beside, NULL, code);
        answer(&t, "y", code);
        await_asked(&t, "wants to execute", run, folder, code);
        answer(&t, "y", code);
        outcome_clear(&o);
        end_talk(&t, &o);
        expect_unasked(&t);
        expect_out(&o, "f\ng\nran\n");
}

/* A symlink that the sandbox has leads to what is asked about; of one that it hasn't the folder is, and then
 * what that leads to. */
TEST(symlinks_are_followed) {
        const struct site *s = *state;
        _cleanup_free_ char *f = path_of(s->home, "beside/f"), *beside = path_of(s->home, "beside"),
                            *bin = path_of(s->home, "env/bin"), *tool = path_of(s->home, "tools/tool"),
                            *tools = path_of(s->home, "tools");
        _cleanup_outcome_ struct outcome o = {0};
        struct talk t;
        char code[3];

        make_beside(s);
        make_folder(s->home, "env/bin");
        make_file(s->home, "tools/tool", "#!/bin/sh\necho ran\n");
        on_host(s, "chmod +x \"$HOME/tools/tool\"; ln -s ../../tools/tool \"$HOME/env/bin/x\"", &o);
        make_link(s->project, "out", beside);
        make_link(s->project, "again", "out/f");
        make_link(s->project, "round", "round");
        begin_asking(&t, s, OPTIONS(NULL), "ls -l . >list; cat round; cat again; ~/env/bin/x; ~/env/bin/x");
        await_asked(&t, "wants to read", f, beside, code);
        answer(&t, "y", code);
        await_asked(&t, "looks for", bin, NULL, code);
        answer(&t, "y", code);
        await_asked(&t, "wants to execute", tool, tools, code);
        answer(&t, "y", code);
        outcome_clear(&o);
        end_talk(&t, &o);
        expect_unasked(&t);
        expect_out(&o, "text\nran\nran\n");
}

TEST(who_wants_to_be_asked_no_more_is_not) {
        const struct site *s = *state;
        _cleanup_free_ char *beside = path_of(s->home, "beside"), *f = path_of(s->home, "beside/f"),
                            *told = text_of(
                                    "nsrun: %s is refused, and so is all else that isn't exposed\r\n", f);
        _cleanup_outcome_ struct outcome o = {0};
        struct talk t;
        char code[3];

        make_beside(s);
        make_file(s->home, "other", "");
        begin_asking(&t, s, OPTIONS(NULL), "cat ~/beside/f; cat ~/beside/g ~/other 2>/dev/null || echo no");
        await_asked(&t, "wants to read", f, beside, code);
        type(&t, "q\n");
        await(&t, told);
        end_talk(&t, &o);
        expect_unasked(&t);
        expect_out(&o, "no\n");
}

/* No grant would show it, or no path of it is meant: nobody is asked, and the call fails as without. */
TEST(of_what_no_yes_would_show_nobody_is_asked) {
        static const char script[] =
                "ls ~/.local/share/nsrun/homes; cat ~/.local/share/nsrun/homes/w/f ~/.ssh/id_rsa ~/ways/keys/id_rsa ~/ways/keys/none ~/ways/old/.ssh/x /etc/model ~/link ~/socket ~/fifo ~/closed ~/none/x /tmp/ask-test ~/beside/../link /proc/1/root/x; "
                "echo >~/made; mkdir ~/beside; rm ~/f; ln ~/f ~/n; mv ~/f ~/n; test -e ~/f || cat ~/f";
        const struct site *s = *state;
        _cleanup_free_ char *f = path_of(s->home, "f"), *socket_path = path_of(s->home, "socket"),
                            *fifo = path_of(s->home, "fifo");
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        _cleanup_outcome_ struct outcome o = {0};
        struct talk t;
        char code[3];

        make_file(s->home, "ways/old/.ssh/x", "key\n");
        make_link(s->home, "ways/keys", "../.ssh");
        make_file(s->home, ".ssh/id_rsa", "key\n");
        make_file(s->home, ".local/share/nsrun/homes/w/f", "key\n");
        make_file(s->home, "f", "text\n");
        make_link(s->home, "link", "f");
        on_host(s, ">\"$HOME/closed\"; chmod 0 \"$HOME/closed\"", &o);
        (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", socket_path);
        assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
        assert_int_equal(mkfifo(fifo, 0600), 0);
        begin_asking(&t, s, OPTIONS(NULL), script);
        /* The last of all is the control. */
        if (geteuid() == 0) {
                _cleanup_free_ char *closed = path_of(s->home, "closed");

                await_asked(&t, "wants to read", closed, NULL, code);
                type(&t, "n\n");
        }
        await_asked(&t, "looks for", f, NULL, code);
        answer(&t, "y", code);
        outcome_clear(&o);
        end_talk(&t, &o);
        expect_unasked(&t);
        expect_not_in(o.out, "key");
}

/* Nor of the file of a key that stays outside, by whichever of its names, and of what is named as keys are.
 */
TEST(the_file_of_a_key_that_stays_outside_is_never_asked_about) {
        static const char named[] =
                ".age/x .bitcoin/x .cloudflared/x .config/github-copilot/x .config/solana/x "
                ".electrum/x .local/share/fish/fish_history .x/history.db .Xauthority";
        static const char *const key[] = {"--net=allow", "--key=BOT=file:~/bot", "--key-use",
                                          "BOT=https://api.example.com,variable=API", NULL};
        const struct site *s = *state;
        _cleanup_free_ char *f = path_of(s->home, "f"), *bot = path_of(s->home, "bot"),
                            *line = text_of("nsrun: a key that stays outside lies there (--key): %s", bot),
                            *folder_line = text_of("nsrun: a key that stays outside lies there (--key): %s",
                                                   s->home),
                            *lay_out = text_of(
                                    "cd; for f in %s; do mkdir -p $(dirname $f); echo key >$f; done", named),
                            *script = text_of("cd; cat bot to-bot %s; cat f", named), *id = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        struct talk t;
        char code[3];

        on_host(s, lay_out, &o);
        expect_status(&o, 0);
        outcome_clear(&o);
        make_file(s->home, "bot", "key-0123456789abcdef\n");
        make_file(s->home, "f", "text\n");
        make_link(s->home, "to-bot", "bot");
        begin_asking(&t, s, key, script);
        await_asked(&t, "wants to read", f, NULL, code);
        answer(&t, "y", code);
        end_talk(&t, &o);
        expect_unasked(&t);
        expect_out(&o, "text\n");
        id = start_session(s, key);
        NSRUN(s, &o, "grant", id, "--ro", bot);
        expect_refusal(&o, 125, line);
        NSRUN(s, &o, "grant", id, "--ro", s->home);
        expect_refusal(&o, 125, folder_line);
        NSRUN(s, &o, "grant", id, "--ro", f);
        expect_status(&o, 0);
        end_session(s, id, "stop");
}

/* A name says nothing but itself, and who asks neither. */
TEST(what_is_shown_of_a_name_is_the_name) {
        const struct site *s = *state;
        _cleanup_free_ char *path = path_of(s->home, "a\\x1b[2Jb\\x0ansrun: yes"),
                            *shown = text_of("'%s'", path);
        _cleanup_outcome_ struct outcome o = {0};
        struct talk t;
        char code[3];

        on_host(s, "cd; echo text >\"$(printf 'a\\033[2Jb\\nnsrun: yes')\"; cp /bin/cat it", &o);
        outcome_clear(&o);
        begin_asking(&t, s, OPTIONS(NULL),
                     "cp /bin/cat \"$(printf 'x\\033[2J')\"; \"./$(printf 'x\\033[2J')\" \"$HOME/$(printf "
                     "'a\\033[2Jb\\nnsrun: yes')\"");
        await(&t, "nsrun: x?[2J (pid ");
        await_asked(&t, "wants to read", shown, NULL, code);
        answer(&t, "y", code);
        end_talk(&t, &o);
        expect_out(&o, "text\n");
}

/* All wait for the one answer; one that is killed meanwhile is nobody's. */
TEST(many_ask_once) {
        const struct site *s = *state;
        _cleanup_free_ char *beside = path_of(s->home, "beside"), *f = path_of(s->home, "beside/f");
        _cleanup_outcome_ struct outcome o = {0};
        const char *at = NULL;
        struct talk t;
        char code[3];

        make_beside(s);
        begin_asking(
                &t, s, OPTIONS(NULL),
                "cat ~/beside/f >killed & k=$!; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do cat ~/beside/f >>all & done; "
                "until [ -e go ]; do :; done; kill $k; wait $k; echo $? >ended; wait; cat all | wc -l; cat ended");
        await_asked(&t, "wants to read", f, beside, code);
        make_file(s->project, "go", "");
        await_file(s, "ended");
        /* Where nobody else waited yet it is asked again, by another code. */
        do {
                static const char end[] = " [rw|overlay] [always] [FOLDER]] ";

                while ((at = strstr(t.text + t.seen, end)))
                        t.seen = (size_t)(at - t.text) + strlen(end);
                memcpy(code, t.text + t.seen - strlen(end) - 2, 2);
                answer(&t, "y", code);
                while (!strstr(t.text + t.seen, " is shown; ") && !(at = strstr(t.text + t.seen, end)))
                        assert_true(read_more(&t, deadline_seconds * 500));
        } while (at);
        end_talk(&t, &o);
        expect_unasked(&t);
        expect_out(&o, "12\n143\n");
}

/* What is shown is what was asked about. */
TEST(what_is_swapped_while_it_is_asked_about_is_not_shown) {
        static const char *const swaps[] = {
                "cd; mv beside moved; ln -s secret beside",
                "cd; mv beside moved; mv secret beside",
                "cd; mv beside/f moved; ln -s ../secret/f beside/f",
                "cd; rm beside/f; ln secret/f beside/f",
                "cd; rm -r beside",
        };
        const struct site *s = *state;
        _cleanup_free_ char *beside = path_of(s->home, "beside"), *f = path_of(s->home, "beside/f");

        for (size_t i = 0; i < 2 * ARRAY_SIZE(swaps); i++) {
                _cleanup_outcome_ struct outcome o = {0}, swapped = {0};
                struct talk t;
                char code[3];

                on_host(s, "cd; rm -rf beside secret moved; mkdir secret; echo secret >secret/f", &swapped);
                make_beside(s);
                begin_asking(&t, s, OPTIONS(NULL), "cat ~/beside/f");
                await_asked(&t, "wants to read", f, beside, code);
                on_host(s, swaps[i / 2], &swapped);
                answer(&t, i % 2 ? "f" : "y", code);
                if (i == 5) {
                        /* It leads there now. */
                        _cleanup_free_ char *other = path_of(s->home, "secret/f"),
                                            *folder = path_of(s->home, "secret");

                        await_asked(&t, "wants to read", other, folder, code);
                        type(&t, "n\n");
                }
                end_talk(&t, &o);
                print_message("%s: %s", swaps[i / 2], t.text + t.seen);
                if (i / 2 == 2 || i / 2 == 3)
                        /* Of the folder it is what it is. */
                        assert_true(i % 2 || !strstr(o.out, "secret"));
                else
                        expect_out(&o, "");
                assert_non_null(strstr(t.text, i % 2 && (i / 2 == 2 || i / 2 == 3)
                                                       ? " is shown; "
                                                       : "nsrun: it isn't shown: "));
        }
}

/* Another file gets no number of what is asked about, nor does a pipe. */
TEST(a_number_that_is_used_again_is_not_what_was_asked_about) {
        const struct site *s = *state;
        _cleanup_free_ char *f = path_of(s->home, "lone/f"), *lone = path_of(s->home, "lone");
        const char *const swaps[] = {"cd; rm lone/f; mkfifo lone/f", "cd; rm lone/f; mkdir lone/f",
                                     "cd; rm lone/f; echo other >lone/f"};

        make_folder(s->home, "lone");
        for (size_t i = 0; i < ARRAY_SIZE(swaps); i++) {
                _cleanup_outcome_ struct outcome o = {0}, swapped = {0};
                struct talk t;
                char code[3];

                on_host(s, "cd; rm -rf lone/f; echo text >lone/f", &swapped);
                begin_asking(&t, s, OPTIONS(NULL), "cat ~/lone/f");
                await_asked(&t, "wants to read", f, lone, code);
                on_host(s, swaps[i], &swapped);
                answer(&t, "y", code);
                await(&t, "nsrun: it isn't shown: what lies there has changed at this moment: ");
                end_talk(&t, &o);
                expect_out(&o, "");
        }
}

/* A yes to a folder shows no keys in it, sockets and what programs share: single files may be shown. */
TEST(a_folder_with_more_than_is_asked_about_is_not_shown) {
        static const char *const folders[] = {".config", "keys", "deep", "pipes", "old", "closed"};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        on_host(s,
                "cd; mkdir -p .config/gh keys deep/a/b/c pipes; echo text | tee .config/f keys/f deep/f >pipes/f; "
                "echo key | tee .config/gh/hosts.yml keys/id_rsa >deep/a/b/c/.env; mkfifo pipes/p; "
                "mkdir -p old/.ssh closed/in; echo key >old/.ssh/own; echo key >closed/in/x; echo text | tee old/f "
                ">closed/f; chmod 0311 closed/in",
                &o);
        /* Root lists all. */
        for (size_t i = 0; i < ARRAY_SIZE(folders) - (geteuid() == 0); i++) {
                _cleanup_free_ char *script = text_of("ls ~/%s; cat ~/%s/f", folders[i], folders[i]),
                                    *name = text_of("%s/f", folders[i]), *f = path_of(s->home, name);
                struct talk t;
                char code[3];

                begin_asking(&t, s, OPTIONS(NULL), script);
                await_asked(&t, "wants to read", f, NULL, code);
                answer(&t, "y", code);
                outcome_clear(&o);
                end_talk(&t, &o);
                expect_out(&o, "text\n");
        }
}

/* Who waits for an answer gets a signal that nsrun is sent, and isn't shown what was asked about. */
TEST(a_signal_ends_the_question) {
        const struct site *s = *state;
        _cleanup_free_ char *beside = path_of(s->home, "beside"), *f = path_of(s->home, "beside/f"),
                            *script = text_of("import signal, time\n"
                                              "caught = []\n"
                                              "signal.signal(signal.SIGINT, lambda *a: caught.append(1))\n"
                                              "try: open('%s')\n"
                                              "except FileNotFoundError: pass\n"
                                              "while not caught: time.sleep(.01)\n"
                                              "print('caught')",
                                              f),
                            *command = text_of("exec python3 -c \"%s\"", script);
        _cleanup_outcome_ struct outcome o = {0};
        struct talk t;
        char code[3];

        if (!has_program("python3"))
                skip_because("skipped: there is no python3");
        make_beside(s);
        begin_asking(&t, s, OPTIONS(NULL), command);
        await_asked(&t, "wants to read", f, beside, code);
        assert_int_equal(kill(t.running.pid, SIGINT), 0);
        end_talk(&t, &o);
        expect_out(&o, "caught\n");
        expect_status(&o, 0);
}

/* What is shown is the session's; what the command leaves behind has nobody to ask, and ends with it. */
TEST(a_sessions_command_is_asked_about_and_leaves_nothing_behind) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *session = text_of("--session=%s", id),
                            *f = path_of(s->home, "beside/f"),
                            *shown = text_of("nsrun: %s is shown; in later runs by --ro %s\r\n", f, f),
                            *code = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        struct talk t = {0};

        make_beside(s);
        start_talk(&t, s->root,
                   OPTIONS(program(), "run", session, "--kill-leftovers", "--ask", "--", "sh", "-c",
                           "cat ~/beside/f; (while cat ~/beside/f; do sleep .1; done) >/dev/null 2>&1 & :"));
        await(&t, "until the session ends? [type y");
        await(&t, " for this file");
        code = strndup(t.text + t.seen - strlen("12 for this file"), 2);
        answer(&t, "y", code);
        await(&t, shown);
        end_talk_alone(&t, &o);
        expect_out(&o, "text\n");
        expect_status(&o, 0);
        NSRUN_IN(s->project, &o, "run", session, "--", "sh", "-c",
                 "cat ~/beside/f; ls /proc | grep -c '^[0-9]'");
        expect_status(&o, 0);
        expect_in(o.out, "text\n");
        NSRUN_IN(s->root, &o, "inspect", id);
        expect_in(o.out, "beside/f");
        NSRUN_IN(s->root, &o, "session", "ps", "--json", id);
        expect_in(o.out, "\"processes\":[]");
        end_session(s, id, "stop");
}

/* Where nothing can be granted nothing is asked; and somebody must be there. */
TEST(what_cannot_be_asked_is_refused) {
        static const struct {
                const char *options[3], *said;
        } cases[] = {
                {{"--hide=x"},
                 "nsrun: with --hide a sandbox is shown nothing more; leave out the questions about files (--ask), and name them"},
                {{"--protect=strict"},
                 "nsrun: with --protect=strict a sandbox is shown nothing more; leave out the questions about files (--ask), and name them"},
                {{"--seccomp=nested"},
                 "nsrun: with this filter, which may let the command make namespaces, a sandbox is shown nothing "
                 "more: nested; leave out the questions about files (--ask), and name them"},
                {{"--no-sandbox"}, "nsrun: a command without a sandbox isn't watched"},
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct talk t;

                begin_asking(&t, s, cases[i].options, "true");
                outcome_clear(&o);
                end_talk(&t, &o);
                expect_refusal(&o, 125, cases[i].said);
        }
        outcome_clear(&o);
        run(&(struct request){.argv = OPTIONS("setsid", "-w", program(), "run", "--project", s->project,
                                              "--ask", "--", "true"),
                              .cwd = s->root},
            &o);
        expect_refusal(
                &o, 125,
                "nsrun: nobody can be asked about files; --ask asks on the terminal, and there is none: "
                "leave it out");
}

/* What the end of the input says, too, and that a signal has ended the question. */
TEST(an_answer_is_in_the_log) {
        static const struct {
                const char *typed, *said;
                int signal;
        } cases[] = {{"y", "yes", 0}, {"n\n", "no", 0}, {"\004", "never", 0}, {NULL, "none", SIGTERM}};
        const struct site *s = *state;
        _cleanup_free_ char *beside = path_of(s->home, "beside"), *f = path_of(s->home, "beside/f");

        make_beside(s);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *line = text_of("\"file\":\"%s\",\"answer\":\"%s\"", f, cases[i].said);
                _cleanup_outcome_ struct outcome o = {0};
                struct talk t;
                char code[3];

                begin_asking(&t, s, OPTIONS("--log"), "cat ~/beside/f");
                await_asked(&t, "wants to read", f, beside, code);
                if (cases[i].signal)
                        assert_int_equal(kill(t.running.pid, cases[i].signal), 0);
                else if (i == 0)
                        answer(&t, cases[i].typed, code);
                else
                        type(&t, cases[i].typed);
                end_talk(&t, &o);
                NSRUN_IN(s->root, &o, "log", "--json");
                expect_in(o.out, "\"event\":\"asked\"");
                expect_in(o.out, line);
        }
}

/* So many in a run. */
TEST(nobody_is_asked_without_end) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        struct talk t;
        char code[3];

        for (unsigned i = 0; i < 34; i++) {
                _cleanup_free_ char *name = text_of("f%u", i);

                make_file(s->home, name, "text\n");
        }
        begin_asking(&t, s, OPTIONS(NULL),
                     "i=0; while [ $i -lt 34 ]; do cat ~/f$i; i=$((i+1)); done 2>/dev/null | wc -l");
        for (unsigned i = 0; i < 32; i++) {
                _cleanup_free_ char *name = text_of("f%u", i), *path = path_of(s->home, name);

                await_asked(&t, "wants to read", path, NULL, code);
                answer(&t, "y", code);
        }
        await(&t, "nsrun: That was the last question: what else isn't exposed is refused\r\n");
        end_talk(&t, &o);
        expect_unasked(&t);
        expect_out(&o, "32\n");
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --ask: what a person may say behind a yes, and what nobody says by a name. */
#include "ask.h"
#include "repository.h"

#define await_asked(t, ...) await_question(t, "run", __VA_ARGS__)
#define CONFIG              ".config/nsrun/config.json"

static void begin_asking(struct talk *t, const struct site *s, const char *const *options,
                         const char *script) {
        _cleanup_free_ const char **argv =
                words_of(OPTIONS(program(), "run", "--project", s->project, "--ask"), options,
                         OPTIONS("--", "sh", "-c", script));

        *t = (struct talk){0};
        start_talk(t, s->root, argv);
}

/* As the question and a shell have it. */
static char *quote(const char *path) {
        _cleanup_free_ char *inner = replaced(path, "'", "'\\''");

        return text_of("'%s'", inner);
}

static void expect_unsaved(const struct site *s) {
        _cleanup_free_ char *config = path_of(s->home, CONFIG);

        assert_int_equal(access(config, F_OK), -1);
}

/* Each is said in one line, and the question is put again. */
TEST(what_is_not_understood_is_said_and_asked_again) {
        static const struct {
                const char *letter, *words, *said;
        } cases[] = {
                {"y", " foo", "foo"},
                {"y", " ro", "ro"},
                {"y", " rw overlay", "overlay"},
                {"y", " always rw always", "always"},
                {"y", " 'rw'", "rw"},
                {"y", " 'always'", "always"},
                {"y", " overlay,always", "overlay,always"},
                {"y", " '~/beside", "''\\'''"},
                {"y", " ~/other", "'~/other'"},
                {"y", " ~/besid", "'~/besid'"},
                {"y", " ~/beside/f/x", "'~/beside/f/x'"},
                {"y", " ~/beside/../other", "'~/beside/../other'"},
                {"y", " ~root/beside", "'~root/beside'"},
                {"y", " beside", "beside"},
                {"y", " ~/beside ~/beside", "'~/beside'"},
                {"f", " ~/beside", "'~/beside'"},
                {"y", " a\033[2Jb", "'a\\x1b[2Jb'"},
        };
        static const char *const others[] = {"y",  "",          "yes",      "always",
                                             "rw", "f overlay", "n always", "q rw"};
        const struct site *s = *state;
        _cleanup_free_ char *beside = path_of(s->home, "beside"), *f = path_of(s->home, "beside/f");
        _cleanup_outcome_ struct outcome o = {0};
        struct talk t;
        char code[3];

        make_beside(s);
        begin_asking(&t, s, NO_OPTIONS, "cat ~/beside/f");
        await_asked(&t, "wants to read", f, beside, code);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *line = text_of(
                        "nsrun: %s isn't understood: behind y and the digits may stand rw or overlay, always, "
                        "and %s or a folder around it, in quotes where that has blanks\r\n\r\nnsrun: cat (pid ",
                        cases[i].said, f);

                answer_with(&t, cases[i].letter, code, cases[i].words);
                await(&t, line);
                await_asked(&t, "wants to read", f, beside, code);
        }
        for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
                answer_with(&t, others[i], "", "");
                await(&t, "\r\nnsrun: that isn't understood\r\n\r\nnsrun: cat (pid ");
                await_asked(&t, "wants to read", f, beside, code);
        }
        /* What is too long is nothing, not its beginning. */
        {
                _cleanup_free_ char *line = text_of(" always%600s", "");

                answer_with(&t, "y", code, line);
                await(&t, "\r\nnsrun: that isn't understood\r\n\r\nnsrun: cat (pid ");
                await_asked(&t, "wants to read", f, beside, code);
        }
        answer(&t, "y", code);
        end_talk(&t, &o);
        expect_out(&o, "text\n");
        expect_unsaved(s);
}

/* The question says that it wants to write, and a file is shown to be written. */
TEST(a_file_may_be_written) {
        const struct site *s = *state;
        _cleanup_free_ char *beside = path_of(s->home, "beside"), *f = path_of(s->home, "beside/f"),
                            *told = text_of("nsrun: %s is shown; in later runs by --rw %s\r\n", f, f);
        _cleanup_outcome_ struct outcome o = {0}, host = {0};
        struct talk t;
        char code[3];

        make_beside(s);
        begin_asking(&t, s, NO_OPTIONS, "echo more >>~/beside/f; cat ~/beside/f; echo >~/beside/new");
        await_asked(&t, "wants to write", f, beside, code);
        answer_with(&t, "y", code, " rw");
        await(&t, told);
        end_talk(&t, &o);
        expect_out(&o, "text\nmore\n");
        on_host(s, "cat ~/beside/f; ls ~/beside", &host);
        expect_out(&host, "text\nmore\nf\ng\n");
        outcome_clear(&o);
        /* Of a yes alone it can't, and what only changes a file is asked about, too. */
        begin_asking(&t, s, NO_OPTIONS, "chmod 600 ~/beside/f; echo $?");
        await_asked(&t, "looks for", f, beside, code);
        answer(&t, "y", code);
        end_talk(&t, &o);
        expect_out(&o, "1\n");
        expect_in(o.err, "Read-only file system\n");
        expect_unsaved(s);
}

/* What the sandbox itself has a folder for is its own. */
TEST(what_can_be_made_inside_is_not_asked_about) {
        const struct site *s = *state;
        _cleanup_free_ char *f = path_of(s->home, "f"), *g = path_of(s->home, "g");
        _cleanup_outcome_ struct outcome o = {0};
        struct talk t;
        char code[3];

        make_file(s->home, "f", "text\n");
        make_file(s->home, "g", "text\n");
        begin_asking(&t, s, NO_OPTIONS, "echo own >~/f; cat ~/f; cat ~/g");
        await_asked(&t, "wants to read", g, NULL, code);
        assert_null(strstr(t.text, f));
        answer(&t, "y", code);
        end_talk(&t, &o);
        expect_in(o.out, "text\n");
}

TEST(a_wider_folder_is_shown_and_may_be_an_overlay) {
        const struct site *s = *state;
        _cleanup_free_ char *x = path_of(s->home, "data/set1/x.csv"), *set1 = path_of(s->home, "data/set1"),
                            *data = path_of(s->home, "data"),
                            *overlay = text_of("nsrun: %s is shown; in later runs by --overlay %s\r\n", data,
                                               data),
                            *ro = text_of("nsrun: %s is shown; in later runs by --ro %s\r\n", data, data),
                            *typed = text_of(" %s//set1/..", data);
        const struct {
                const char *letter, *words, *told, *out;
        } cases[] = {
                {"y", " overlay ~/data", overlay, "text\nset1\nset2\nmade\n"},
                {"y", "  ~/data  overlay ", overlay, "text\nset1\nset2\nmade\n"},
                {"y", " '~/data'", ro, "text\nset1\nset2\n"},
                {"y", typed, ro, "text\nset1\nset2\n"},
                {"f", " overlay", NULL, "text\nset1\nmade\n"},
                {"y", " ~/data/set1/x.csv", NULL, "text\nset1\n"},
        };
        make_file(s->home, "data/set1/x.csv", "text\n");
        make_file(s->home, "data/set2/y.csv", "");
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_outcome_ struct outcome o = {0}, host = {0};
                struct talk t;
                char code[3];

                begin_asking(
                        &t, s, NO_OPTIONS,
                        "cat ~/data/set1/x.csv; ls ~/data; (echo made >~/data/set1/made) 2>/dev/null && cat "
                        "~/data/set1/made");
                await_asked(&t, "wants to read", x, set1, code);
                answer_with(&t, cases[i].letter, code, cases[i].words);
                if (cases[i].told)
                        await(&t, cases[i].told);
                end_talk(&t, &o);
                expect_out(&o, cases[i].out);
                on_host(s, "ls ~/data/set1", &host);
                expect_out(&host, "x.csv\n");
        }
        expect_unsaved(s);
}

/* What can't be had is said as `nsrun grant` says it, and asked again, some times. */
TEST(a_wish_that_is_refused_is_asked_again) {
        const struct site *s = *state;
        _cleanup_free_ char *f = path_of(s->home, "in/keys/sub/f"), *sub = path_of(s->home, "in/keys/sub"),
                            *keys = path_of(s->home, "in/keys"), *in = path_of(s->home, "in");
        const struct {
                const char *letter, *words, *said, *path, *hint;
        } cases[] = {
                {"y", " ~/in/keys", "something in it is none of what may be shown", keys, ""},
                {"y", " overlay ~/in always", "something in it is none of what may be shown", in, ""},
                {"y", " ~", "no answer shows the home, what is around it, or the system's", s->home, ""},
                {"y", " /", "no answer shows the home, what is around it, or the system's", "/", ""},
                {"f", " rw always",
                 "a running sandbox is shown no folder writable, since nobody would look after what the command "
                 "makes there",
                 sub, "; name a file, or start the sandbox with --rw"},
        };

        make_file(s->home, "in/keys/sub/f", "text\n");
        make_file(s->home, "in/keys/id_rsa", "key\n");
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *line = text_of("nsrun: it isn't shown: %s: %s%s\r\n", cases[i].said,
                                                    cases[i].path, cases[i].hint);
                _cleanup_outcome_ struct outcome o = {0};
                struct talk t;
                char code[3];

                begin_asking(&t, s, NO_OPTIONS, "cat ~/in/keys/sub/f; cat ~/in/keys/id_rsa");
                for (unsigned n = 0; n < 3; n++) {
                        await_asked(&t, "wants to read", f, sub, code);
                        if (i == 0 && n == 2) {
                                answer(&t, "y", code);
                                break;
                        }
                        answer_with(&t, cases[i].letter, code, cases[i].words);
                        await(&t, line);
                }
                end_talk(&t, &o);
                assert_null(strstr(t.text + t.seen, "[type"));
                expect_out(&o, i == 0 ? "text\n" : "");
        }
        expect_unsaved(s);
}

TEST(an_overlay_is_of_a_folder) {
        const struct site *s = *state;
        _cleanup_free_ char
                *f = path_of(s->home, "beside/f"),
                *beside = path_of(s->home, "beside"),
                *line = text_of("nsrun: it isn't shown: only a folder can be the source of --overlay: %s: "
                                "Not a directory; expose it with --ro or --rw\r\n",
                                f);
        _cleanup_outcome_ struct outcome o = {0};
        struct talk t;
        char code[3];

        make_beside(s);
        begin_asking(&t, s, NO_OPTIONS, "cat ~/beside/f");
        await_asked(&t, "wants to read", f, beside, code);
        answer_with(&t, "y", code, " overlay");
        await(&t, line);
        await_asked(&t, "wants to read", f, beside, code);
        answer_with(&t, "f", code, " overlay");
        end_talk(&t, &o);
        expect_out(&o, "text\n");
}

/* Saved is what was shown, as by `nsrun grant --save`: the next run has it, and isn't asked. */
TEST(what_is_always_shown_is_saved_for_the_project) {
        const struct site *s = *state;
        _cleanup_free_ char *x = path_of(s->home, "data/set1/x.csv"), *set1 = path_of(s->home, "data/set1"),
                            *data = path_of(s->home, "data"), *f = path_of(s->home, "f"),
                            *g = path_of(s->home, "lone/g"), *lone = path_of(s->home, "lone"),
                            *config = path_of(s->home, CONFIG),
                            *saved = text_of("nsrun: %s is shown, and saved for the project\r\n", data),
                            *unsaved = text_of(
                                    "nsrun: it is granted, but not saved: the project's section is what it "
                                    "proposed itself: %s; add it by 'nsrun config edit'\r\n",
                                    config),
                            *proposed = text_of("{\"projects\": {\"%s\": {\"// proposal\": \"x\"}}}",
                                                s->project),
                            *text = NULL, *left = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        struct talk t;
        char code[3];

        make_file(s->home, "data/set1/x.csv", "text\n");
        make_file(s->home, "f", "text\n");
        make_file(s->home, "lone/g", "more\n");
        begin_asking(&t, s, NO_OPTIONS, "cat ~/data/set1/x.csv ~/f ~/lone/g");
        await_asked(&t, "wants to read", x, set1, code);
        answer_with(&t, "y", code, " overlay ~/data always");
        await(&t, saved);
        await_asked(&t, "wants to read", f, NULL, code);
        answer_with(&t, "y", code, " always rw");
        await_asked(&t, "wants to read", g, lone, code);
        answer_with(&t, "f", code, " always");
        end_talk(&t, &o);
        expect_out(&o, "text\ntext\nmore\n");
        text = file_text(config);
        expect_in(text, "\"overlay\": [\"~/data\"]");
        expect_in(text, "\"writable\": [\"~/f\"]");
        expect_in(text, "\"readable\": [\"~/lone\"]");
        outcome_clear(&o);
        RUN(s, &o, "--", "sh", "-c",
            "cat ~/data/set1/x.csv ~/lone/g; echo x >~/data/made; echo new >~/f; echo >~/lone/x");
        expect_in(o.out, "text\nmore\n");
        expect_in(o.err, "lone/x: Read-only file system\n");
        outcome_clear(&o);
        on_host(s, "cat ~/f; ls ~/data", &o);
        expect_out(&o, "new\nset1\n");
        outcome_clear(&o);
        /* What the project proposed isn't mixed with it, but it is shown. */
        make_file(s->home, CONFIG, proposed);
        begin_asking(&t, s, NO_OPTIONS, "cat ~/f");
        await_asked(&t, "wants to read", f, NULL, code);
        answer_with(&t, "y", code, " always");
        await(&t, unsaved);
        end_talk(&t, &o);
        expect_out(&o, "new\n");
        left = file_text(config);
        assert_string_equal(left, proposed);
        outcome_clear(&o);
        on_host(s, "rm ~/" CONFIG, &o);
        /* Nor has a run without a project one. */
        begin_asking(&t, s, OPTIONS("--no-project"), "cat ~/f");
        await_asked(&t, "wants to read", f, NULL, code);
        answer_with(&t, "y", code, " always");
        await(&t, "nsrun: it is granted, but not saved: the sandbox has no project\r\n");
        outcome_clear(&o);
        end_talk(&t, &o);
        expect_out(&o, "new\n");
        expect_unsaved(s);
}

/* A name with words and blanks in it is a name: a path with blanks is typed in quotes, or isn't taken. */
TEST(a_name_says_nothing_of_the_answer) {
        static const char *const names[] = {"x always", "d/ always", "d/ rw", "y42 overlay ~ always",
                                            "it's always"};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                _cleanup_free_ char *name = text_of("%s/f", names[i]), *f = path_of(s->home, name),
                                    *folder = path_of(s->home, names[i]), *quoted = quote(f),
                                    *quoted_folder = quote(folder), *other = text_of("%s/g", names[i]),
                                    *bare = text_of(" %s", folder),
                                    *in_quotes = text_of(" %s", quoted_folder),
                                    *script = text_of("cat %s; cat %s/g; echo >%s", quoted, quoted_folder,
                                                      quoted);
                struct talk t;
                char code[3];

                make_file(s->home, name, "text\n");
                make_file(s->home, other, "more\n");
                begin_asking(&t, s, NO_OPTIONS, script);
                await_asked(&t, "wants to read", quoted, quoted_folder, code);
                answer_with(&t, "y", code, bare);
                await(&t, " isn't understood: behind y");
                await_asked(&t, "wants to read", quoted, quoted_folder, code);
                if (i % 2)
                        answer(&t, "y", code);
                else
                        answer_with(&t, "y", code, in_quotes);
                await(&t, i % 2 ? quoted : quoted_folder);
                await(&t, " is shown; in later runs by --ro ");
                if (i % 2) {
                        char of_other[3];

                        await(&t, " wants to read ");
                        await(&t, " for this file");
                        memcpy(of_other, t.text + t.seen - strlen("12 for this file"), 2);
                        type(&t, "n\n");
                }
                outcome_clear(&o);
                end_talk(&t, &o);
                expect_out(&o, i % 2 ? "text\n" : "text\nmore\n");
                expect_in(o.err, "Read-only file system\n");
                expect_unsaved(s);
        }
}

/* What the command prints at the terminal is no answer, and a name that looks like one is none. */
TEST(nothing_inside_answers) {
        const struct site *s = *state;
        _cleanup_free_ char *beside = path_of(s->home, "beside"), *f = path_of(s->home, "beside/f");
        _cleanup_outcome_ struct outcome o = {0};
        struct talk t;
        char code[3];

        make_beside(s);
        begin_asking(
                &t, s, NO_OPTIONS,
                "cp /bin/cat 'y42 rw always'; (until [ -e go ]; do for i in 1 2 3 4 5 6 7 8 9; do printf "
                "\"y$i$i rw always\\n\" >/dev/tty; done; done) 2>/dev/null & './y42 rw always' "
                "~/beside/f; >went; wait");
        await(&t, "nsrun: y42 rw always (pid ");
        await_asked(&t, "wants to read", f, beside, code);
        make_file(s->project, "go", "");
        type(&t, "n\n");
        end_talk(&t, &o);
        expect_out(&o, "");
        expect_unsaved(s);
}

/* The folder that is named is looked at when it is: what was asked about lies in it, by no symlink. */
TEST(a_wider_folder_that_is_swapped_is_not_shown) {
        static const char *const swaps[] = {
                "cd; mv data moved; ln -s secret data",
                "cd; mv data moved; cp -r secret data",
                "cd; mv data/set1 moved; mv secret/set1 data/set1",
                "cd; mv data/set1 data/moved; ln -s moved data/set1",
                "cd; rm data/set1/x; echo other >data/set1/x",
                "cd; mkfifo data/fifo",
        };
        const struct site *s = *state;
        _cleanup_free_ char *x = path_of(s->home, "data/set1/x"), *set1 = path_of(s->home, "data/set1");

        for (size_t i = 0; i < ARRAY_SIZE(swaps); i++) {
                _cleanup_outcome_ struct outcome o = {0}, swapped = {0};
                struct talk t;
                char code[3];

                on_host(s,
                        "cd; rm -rf data secret moved; mkdir -p data/set1 secret/set1; echo text >data/set1/x; "
                        "echo secret >secret/set1/x",
                        &swapped);
                begin_asking(&t, s, NO_OPTIONS, "cat ~/data/set1/x");
                await_asked(&t, "wants to read", x, set1, code);
                on_host(s, swaps[i], &swapped);
                answer_with(&t, "y", code, " overlay ~/data always");
                await(&t,
                      i == 5 ? "nsrun: it isn't shown: something in it is none of what may be shown: "
                             : "nsrun: it isn't shown: what was asked about doesn't lie in it any more: ");
                await(&t, " [FOLDER]] ");
                type(&t, "n\n");
                end_talk(&t, &o);
                expect_out(&o, "");
                expect_unsaved(s);
        }
}

/* With its access, and the folder that was shown. */
TEST(an_answer_with_words_is_in_the_log) {
        const struct site *s = *state;
        _cleanup_free_ char *x = path_of(s->home, "data/set1/x"), *set1 = path_of(s->home, "data/set1"),
                            *data = path_of(s->home, "data"),
                            *line = text_of("\"file\":\"%s\",\"answer\":\"yes overlay\"", data);
        _cleanup_outcome_ struct outcome o = {0};
        struct talk t;
        char code[3];

        make_file(s->home, "data/set1/x", "text\n");
        begin_asking(&t, s, OPTIONS("--log"), "cat ~/data/set1/x");
        await_asked(&t, "wants to read", x, set1, code);
        answer_with(&t, "y", code, " ~/data overlay");
        end_talk(&t, &o);
        NSRUN_IN(s->root, &o, "log", "--json");
        expect_in(o.out, line);
}

int main(void) {
        return run_all_tests();
}

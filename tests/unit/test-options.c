/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* policy/options.c and cli/: what each option takes, what it says when it can't,
 * and that help and completions know every option. */
#include "scratch.h"

#include "cli/option.h"

static const struct command command = {
        .name = "run",
        .arguments = "[OPTIONS] [--] COMMAND [ARG...]",
        .summary = "run it",
        .takes_command = true,
        .tables = {{policy_options, &n_policy_options}, {common_options, &n_common_options}},
};

static struct nsrun_policy *new_policy(void) {
        struct nsrun_policy *p = NULL;

        assert_int_equal(nsrun_policy_new(&p), 0);
        return p;
}

static void assert_line(const struct nsrun_error *err, const char *expected) {
        char *line = nsrun_error_format(err);

        assert_non_null(line);
        assert_string_equal(line, expected);
        free(line);
}

TEST(each_bad_value_is_named) {
        static const struct {
                const char *option, *value, *line;
        } cases[] = {
                {"colour", "red", "unknown option: colour"},
                {"ro", NULL, "this option needs a value: ro"},
                {"clean-env", "yes", "this option takes no value: clean-env"},
                {"ro", "", "--ro: an empty value"},
                {"project", "", "--project: an empty value"},
                {"net", "Host", "--net: no such choice: Host; choose one of host|none|allow|ask"},
                {"net", "", "--net: no such choice; choose one of host|none|allow|ask"},
                {"net", "hos", "--net: no such choice: hos; choose one of host|none|allow|ask"},
                {"net", "host|none", "--net: no such choice: host|none; choose one of host|none|allow|ask"},
                {"proc", "old", "--proc: no such choice: old; choose one of auto|new|subset|bind|none"},
                {"overlay-backing", "x",
                 "--overlay-backing: no such choice: x; choose one of auto|disk|tmpfs"},
                {"tmpfs-size", "",
                 "--tmpfs-size: not a size; give bytes, or a number with K, M, G or T: 512M"},
                {"tmpfs-size", "-1",
                 "--tmpfs-size: not a size: -1; give bytes, or a number with K, M, G or T: 512M"},
                {"tmpfs-size", "1Kb",
                 "--tmpfs-size: not a size: 1Kb; give bytes, or a number with K, M, G or T: 512M"},
                {"tmpfs-size", "K",
                 "--tmpfs-size: not a size: K; give bytes, or a number with K, M, G or T: 512M"},
                {"tmpfs-size", "0", "--tmpfs-size: too small: 0; the least is 4K"},
                {"tmpfs-size", "4095", "--tmpfs-size: too small: 4095; the least is 4K"},
                {"tmpfs-size", "8388608T",
                 "--tmpfs-size: too big: 8388608T; give bytes, or a number with K, M, G or T: 512M"},
                {"tmpfs-size", "99999999999999999999",
                 "--tmpfs-size: too big: 99999999999999999999; give bytes, or a number with K, M, G or T: 512M"},
                {"tmpfs", "", "--tmpfs: not PATH or PATH:SIZE; a colon in a path is written '\\:'"},
                {"tmpfs", ":1M", "--tmpfs: not PATH or PATH:SIZE: :1M; a colon in a path is written '\\:'"},
                {"tmpfs", "/x:1M:ro",
                 "--tmpfs: not PATH or PATH:SIZE: /x:1M:ro; a colon in a path is written '\\:'"},
                {"tmpfs", "/x:", "--tmpfs: not a size; give bytes, or a number with K, M, G or T: 512M"},
                {"tmpfs", "/x:1", "--tmpfs: too small: 1; the least is 4K"},
                {"uid", "", "--uid: not a numeric id; give a number from 0 to 4294967294"},
                {"uid", "root", "--uid: not a numeric id: root; give a number from 0 to 4294967294"},
                {"uid", "4294967295",
                 "--uid: not a numeric id: 4294967295; give a number from 0 to 4294967294"},
                {"gid", "-1", "--gid: not a numeric id: -1; give a number from 0 to 4294967294"},
                {"gid", "1K", "--gid: not a numeric id: 1K; give a number from 0 to 4294967294"},
                {"hostname", "", "--hostname: not a host name; 1 to 64 letters, digits, dots and hyphens"},
                {"hostname", "a_b",
                 "--hostname: not a host name: a_b; 1 to 64 letters, digits, dots and hyphens"},
                {"env", "=x", "--env: not NAME or NAME=VALUE: =x"},
                {"env", "", "--env: not NAME or NAME=VALUE"},
                {"unsetenv", "A=b", "--unsetenv: not a variable's name: A=b"},
                {"bind", "/a",
                 "--bind: not SRC:DEST or SRC:DEST:ro or SRC:DEST:rw: /a; a colon in a path is written '\\:'"},
                {"bind", ":/a",
                 "--bind: not SRC:DEST or SRC:DEST:ro or SRC:DEST:rw: :/a; a colon in a path is written '\\:'"},
                {"bind", "/a:",
                 "--bind: not SRC:DEST or SRC:DEST:ro or SRC:DEST:rw: /a:; a colon in a path is written '\\:'"},
                {"bind", "/a:/b:ro:x",
                 "--bind: not SRC:DEST or SRC:DEST:ro or SRC:DEST:rw: /a:/b:ro:x; a colon in a path is written "
                 "'\\:'"},
                {"bind", "/a:/b:rx",
                 "--bind: neither ro nor rw after the second colon: /a:/b:rx; a colon in a path is written '\\:'"},
                {"symlink", "text", "--symlink: not TEXT:PATH: text; a colon in a path is written '\\:'"},
                {"symlink", "a:/b:c",
                 "--symlink: not TEXT:PATH: a:/b:c; a colon in a path is written '\\:'"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct nsrun_policy *p = new_policy();
                struct nsrun_error err = {0};

                assert_int_equal(nsrun_policy_set(p, cases[i].option, cases[i].value, &err), -EINVAL);
                assert_int_equal(err.stage, NSRUN_STAGE_USAGE);
                assert_line(&err, cases[i].line);
                /* An error is not required. */
                assert_int_equal(nsrun_policy_set(p, cases[i].option, cases[i].value, NULL), -EINVAL);
                assert_int_equal(p->n_rules, 0);
                assert_int_equal(p->n_links, 0);
                assert_null(nsrun_policy_free(p));
        }
}

static void set(struct nsrun_policy *p, const char *option, const char *value) {
        struct nsrun_error err = {0};

        assert_int_equal(nsrun_policy_set(p, option, value, &err), 0);
        assert_int_equal(err.stage, NSRUN_STAGE_NONE);
}

TEST(sizes_have_suffixes) {
        static const struct {
                const char *text;
                uint64_t size;
        } cases[] = {
                {"4096", 4096},
                {"4K", 4096},
                {"4k", 4096},
                {"512M", UINT64_C(512) << 20},
                {"3g", UINT64_C(3) << 30},
                {"1T", UINT64_C(1) << 40},
                {"9223372036854775807", INT64_MAX},
        };
        struct nsrun_policy *p = new_policy();

        assert_int_equal(p->tmpfs_size, UINT64_C(2) << 30);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                set(p, "tmpfs-size", cases[i].text);
                assert_int_equal(p->tmpfs_size, cases[i].size);
        }
        (void)nsrun_policy_free(p);
}

TEST(a_bind_splits_at_colons_that_are_not_escaped) {
        static const struct {
                const char *value, *source, *target;
                enum policy_access access;
        } cases[] = {
                {"/a:/b", "/a", "/b", POLICY_RW},
                {"/a:/b:rw", "/a", "/b", POLICY_RW},
                {"/a:/b:ro", "/a", "/b", POLICY_RO},
                {"a b:/c d", "a b", "/c d", POLICY_RW},
                {"/a\\:b:/c\\:ro", "/a:b", "/c:ro", POLICY_RW},
                {"/a\\\\:/b", "/a\\", "/b", POLICY_RW},
                {"/a\\b:/c\\", "/a\\b", "/c\\", POLICY_RW},
                {"/a\nb:/c\xff", "/a\nb", "/c\xff", POLICY_RW},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct nsrun_policy *p = new_policy();

                set(p, "bind", cases[i].value);
                assert_int_equal(p->n_rules, 1);
                assert_string_equal(p->rules[0].source, cases[i].source);
                assert_string_equal(p->rules[0].target, cases[i].target);
                assert_int_equal(p->rules[0].access, cases[i].access);
                (void)nsrun_policy_free(p);
        }
}

TEST(every_option_reaches_its_field) {
        struct nsrun_policy *p = new_policy();

        assert_true(p->new_session);
        assert_null(p->hostname);
        set(p, "ro", "/r");
        set(p, "rw", "/w");
        set(p, "overlay", "/o");
        set(p, "symlink", "text:/l");
        set(p, "tmp", "/t");
        set(p, "net", "none");
        set(p, "proc", "subset");
        set(p, "overlay-backing", "tmpfs");
        set(p, "hostname", "box.example-1");
        set(p, "chdir", "sub");
        set(p, "clean-env", NULL);
        set(p, "no-new-session", NULL);
        assert_int_equal(p->n_rules, 3);
        assert_int_equal(p->rules[0].access, POLICY_RO);
        assert_string_equal(p->rules[0].option, "--ro");
        assert_null(p->rules[0].target);
        assert_int_equal(p->rules[1].access, POLICY_RW);
        assert_int_equal(p->rules[2].access, POLICY_OVERLAY);
        assert_string_equal(p->rules[2].source, "/o");
        assert_string_equal(p->links[0].text, "text");
        assert_string_equal(p->links[0].path, "/l");
        assert_string_equal(p->tmp, "/t");
        assert_int_equal(p->net, POLICY_NET_NONE);
        assert_int_equal(p->proc, POLICY_PROC_SUBSET);
        assert_int_equal(p->backing, POLICY_BACKING_TMPFS);
        assert_string_equal(p->hostname, "box.example-1");
        assert_string_equal(p->chdir, "sub");
        assert_true(p->clean_env);
        assert_false(p->new_session);
        (void)nsrun_policy_free(p);
}

TEST(the_last_word_counts) {
        struct nsrun_policy *p = new_policy();

        set(p, "net", "none");
        set(p, "net", "host");
        assert_int_equal(p->net, POLICY_NET_HOST);
        set(p, "tmp", "/t");
        set(p, "tmp", "scratch");
        assert_null(p->tmp);
        assert_int_equal(p->tmp_kind, POLICY_TMP_SCRATCH);
        set(p, "tmp", "./scratch");
        assert_string_equal(p->tmp, "./scratch");
        assert_int_equal(p->tmp_kind, POLICY_TMP_FOLDER);
        set(p, "tmp", "tmpfs");
        assert_null(p->tmp);
        set(p, "no-new-session", NULL);
        set(p, "new-session", NULL);
        assert_true(p->new_session);
        set(p, "no-project", NULL);
        set(p, "project", "/p");
        assert_false(p->no_project);
        set(p, "no-project", NULL);
        assert_null(p->project);
        set(p, "env", "A=1");
        set(p, "env", "AB=1");
        set(p, "unsetenv", "A");
        assert_int_equal(p->env.n, 1);
        assert_string_equal(p->env.entries[0], "AB=1");
        set(p, "env", "A");
        assert_int_equal(p->unset.n, 0);
        assert_string_equal(p->env.entries[1], "A");
        (void)nsrun_policy_free(p);
}

TEST(proc_choices_are_told_apart) {
        static const struct {
                const char *text;
                enum policy_proc proc;
        } cases[] = {{"auto", POLICY_PROC_AUTO},
                     {"new", POLICY_PROC_NEW},
                     {"subset", POLICY_PROC_SUBSET},
                     {"bind", POLICY_PROC_BIND},
                     {"none", POLICY_PROC_NONE}};
        struct nsrun_policy *p = new_policy();

        assert_int_equal(p->proc, POLICY_PROC_UNSAID);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                set(p, "proc", cases[i].text);
                assert_int_equal(p->proc, cases[i].proc);
        }
        (void)nsrun_policy_free(p);
}

/* Parses words after "run"; returns what option_parse() does. */
static int parse(struct nsrun_policy *p, struct common_options *common, size_t *ret_first,
                 struct nsrun_error *err, const char *const *words) {
        void *const targets[] = {p, common};
        char *argv[16] = {strdup("run")};
        size_t n = 1;
        int r;

        while (words[n - 1]) {
                argv[n] = strdup(words[n - 1]);
                n++;
        }
        r = option_parse(&command, argv, targets, ret_first, err);
        for (size_t i = 0; i < n; i++)
                free(argv[i]);
        return r;
}

#define WORDS(...)                \
        (const char *const[]) {   \
                __VA_ARGS__, NULL \
        }

TEST(options_end_where_the_command_begins) {
        static const struct {
                const char *words[8];
                size_t first; /* of argv, in which [0] is "run" */
                enum policy_net net;
        } cases[] = {
                {{"make", "--net=none"}, 1, POLICY_NET_HOST},
                {{"--net=none", "make"}, 2, POLICY_NET_NONE},
                {{"--net", "none", "make"}, 3, POLICY_NET_NONE},
                {{"--net", "none", "--", "--make"}, 4, POLICY_NET_NONE},
                {{"--", "--net=none"}, 2, POLICY_NET_HOST},
                {{"-"}, 1, POLICY_NET_HOST},
                {{"--chdir", "--", "x"}, 0, POLICY_NET_HOST},
                {{"--chdir=--", "x"}, 2, POLICY_NET_HOST},
                {{"--chdir=", "x"}, 0, POLICY_NET_HOST},
                {{"--no-new-session"}, 2, POLICY_NET_HOST},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct nsrun_policy *p = new_policy();
                struct common_options common = {0};
                struct nsrun_error err = {0};
                size_t first = 0;
                int r = parse(p, &common, &first, &err, cases[i].words);

                if (cases[i].first == 0) {
                        assert_int_equal(r, -EINVAL);
                } else {
                        assert_int_equal(r, 0);
                        assert_int_equal(first, cases[i].first);
                        assert_int_equal(p->net, cases[i].net);
                }
                (void)nsrun_policy_free(p);
        }
}

TEST(wrong_usage_points_to_the_help) {
        static const struct {
                const char *words[4];
                const char *line;
        } cases[] = {
                {{"--foo"}, "unknown option: --foo; see 'nsrun run --help'"},
                {{"--hel"}, "unknown option: --hel; perhaps --help; see 'nsrun run --help'"},
                {{"--hostnam=x"}, "unknown option: --hostnam=x; perhaps --hostname; see 'nsrun run --help'"},
                {{"-x"}, "unknown option: -x; see 'nsrun run --help'"},
                {{"-hV"}, "unknown option: -hV; see 'nsrun run --help'"},
                {{"--="}, "unknown option: --=; see 'nsrun run --help'"},
                {{"--e\033[2Jsc"}, "unknown option: --e\\x1b[2Jsc; see 'nsrun run --help'"},
                {{"--ro"}, "this option needs a value: --ro; see 'nsrun run --help'"},
                {{"--hide", "--net=none"},
                 "this option needs a value, behind '=' where it begins with '--': --hide; see 'nsrun run --help'"},
                {{"--hide", "--", "x"},
                 "this option needs a value, behind '=' where it begins with '--': --hide; see 'nsrun run --help'"},
                {{"--clean-env=1"}, "this option takes no value: --clean-env=1; see 'nsrun run --help'"},
                {{"--net=x"},
                 "--net: no such choice: x; choose one of host|none|allow|ask; see 'nsrun run --help'"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct nsrun_policy *p = new_policy();
                struct common_options common = {0};
                struct nsrun_error err = {0};
                size_t first = 77;

                assert_int_equal(parse(p, &common, &first, &err, cases[i].words), -EINVAL);
                assert_line(&err, cases[i].line);
                assert_int_equal(first, 77);
                (void)nsrun_policy_free(p);
        }
}

TEST(help_and_version_stop_the_parsing) {
        static const char *const spellings[][2] = {{"--help", "-h"}, {"--version", "-V"}};

        for (size_t i = 0; i < 4; i++) {
                struct nsrun_policy *p = new_policy();
                struct common_options common = {0};
                struct nsrun_error err = {0};
                size_t first = 0;

                assert_int_equal(parse(p, &common, &first, &err,
                                       WORDS("--net=none", spellings[i / 2][i % 2], "--foo")),
                                 1);
                assert_int_equal(common.wants_help, i / 2 == 0);
                assert_int_equal(common.wants_version, i / 2 == 1);
                (void)nsrun_policy_free(p);
        }
}

TEST(help_knows_every_option) {
        for (size_t c = 0; c < n_commands; c++) {
                char *help = help_text(&commands[c]);

                assert_non_null(help);
                for (size_t t = 0; t < MOST_TABLES && commands[c].tables[t].specs; t++)
                        for (size_t i = 0; i < *commands[c].tables[t].n; i++) {
                                const struct option_spec *spec = &commands[c].tables[t].specs[i];
                                char *item = NULL;

                                assert_true(asprintf(&item, " --%s%s%s", spec->name,
                                                     !spec->argument                              ? ""
                                                     : spec->completes == OPTION_COMPLETES_CHOICE ? "="
                                                                                                  : " ",
                                                     spec->argument ? spec->argument : "") > 0);
                                /* The sandbox's options are listed by topics. */
                                if (commands[c].tables[t].specs == policy_options)
                                        assert_non_null(strstr(help, "'nsrun help TOPIC'"));
                                else
                                        assert_non_null(strstr(help, item));
                                free(item);
                        }
                for (const char *line = help; *line; line += strcspn(line, "\n") + 1)
                        assert_true(strcspn(line, "\n") <= 80);
                free(help);
        }
}

/* A topic's name is its group's, and the words of `nsrun help` are known to completions. */
TEST(each_option_of_the_sandbox_is_in_one_topic) {
        char *all = help_topic_text("options");

        assert_non_null(all);
        for (size_t i = 0; i < n_policy_options; i++) {
                const struct option_spec *spec = &policy_options[i];
                char *item = NULL, *topic = strdup(spec->group), *text, *word = NULL;

                assert_true(asprintf(&item, " --%s", spec->name) > 0);
                assert_non_null(topic);
                *topic = (char)(*topic - 'A' + 'a');
                text = help_topic_text(topic);
                assert_non_null(text);
                assert_non_null(strstr(text, item));
                assert_non_null(strstr(all, item));
                assert_true(strlen(text) < strlen(all));
                assert_true(asprintf(&word, "|%s|", topic) > 0);
                assert_non_null(streq(topic, "seccomp") ? topic : strstr(command_find("help")->words, word));
                for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
                        assert_true(strcspn(line, "\n") <= 80);
                free(word);
                free(text);
                free(topic);
                free(item);
        }
        free(all);
}

TEST(completions_know_every_option) {
        char *options = completion_words((char *[]){"run", "--", NULL});
        static const struct {
                char *const words[8];
                const char *expected;
        } rows[] = {
                {{"run", "--ro", "", NULL}, ":files\n"},
                {{"run", "--project=x", NULL}, ":folders\n"},
                {{"run", "--net", "=", NULL}, "host\t\nnone\t\nallow\t\nask\t\n"},
                {{"run", "--net", "=", "al", NULL}, "host\t\nnone\t\nallow\t\nask\t\n"},
                {{"run", "--net=al", NULL}, "--net=host\t\n--net=none\t\n--net=allow\t\n--net=ask\t\n"},
                {{"run", "--env", "", NULL}, ":variables\n"},
                {{"run", "--tmp", "", NULL}, "tmpfs\t\nscratch\t\n:folders\n"},
                {{"run", "--net", "=", "none", "l", NULL}, ":commands\n"},
                {{"run", "--net", "=", "none", "ls", "-", NULL}, ":command 5\n"},
                {{"run", "--", "ls", "", NULL}, ":command 3\n"},
                {{"run", "--", "-", NULL}, ":commands\n"},
                {{"resolve", "--read", "", NULL}, ":files\n"},
                {{"net", "", NULL}, "list\t\n"},
                {{"net", "list", "", NULL}, ""},
                {{"nothing", "", NULL}, ""},
        };

        assert_non_null(options);
        for (size_t i = 0; i < n_policy_options; i++) {
                char *item = NULL;

                assert_true(asprintf(&item, "--%s\t%s\n", policy_options[i].name, policy_options[i].help) >
                            0);
                assert_non_null(strstr(options, item));
                free(item);
        }
        free(options);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                char *words = completion_words(rows[i].words);

                assert_string_equal(words, rows[i].expected);
                free(words);
        }
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --agent NAME: of each row of the table the folders, what is protected in them, the one key, the hosts and
 * the filter; who wins over a row, rows of a configuration, and what is refused. */
#include "harness.h"

/* What the documentation of each agent says, a sample of each column. */
static const struct row {
        const char *agent;
        const char *writable;    /* a folder of its state */
        const char *overlay;     /* or NULL */
        const char *readable;    /* a file; or NULL */
        const char *protected;   /* a file of its settings; or NULL */
        const char *key, *other; /* the first key, and one that stays withheld while the first is set */
        const char *host;
        bool is_nested;
} rows[] = {
        {"aider", ".aider", NULL, ".aider.conf.yml", ".aider/oauth-keys.env", "ANTHROPIC_API_KEY",
         "OPENAI_API_KEY", "api.anthropic.com", false},
        {"claude", ".claude", NULL, ".local/share/claude/versions/1", ".claude/settings.json",
         "ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "api.anthropic.com", true},
        {"codex", ".codex", NULL, NULL, ".codex/config.toml", "CODEX_API_KEY", "OPENAI_API_KEY",
         "chatgpt.com", true},
        {"copilot", ".copilot", NULL, NULL, ".copilot/mcp-config.json", "COPILOT_GITHUB_TOKEN", "GH_TOKEN",
         "*.githubcopilot.com", false},
        {"cursor", ".cursor", NULL, ".local/share/cursor-agent/versions/1", ".cursor/mcp.json",
         "CURSOR_API_KEY", "CURSOR_AUTH_TOKEN", "*.cursor.sh", true},
        {"gemini", ".gemini", NULL, NULL, ".gemini/settings.json", "GEMINI_API_KEY", "GOOGLE_API_KEY",
         "generativelanguage.googleapis.com", false},
        {"goose", ".local/share/goose", ".config/goose", NULL, NULL, "ANTHROPIC_API_KEY", "OPENAI_API_KEY",
         "openrouter.ai", false},
        {"opencode", ".local/share/opencode", ".config/opencode", ".opencode/bin/opencode",
         ".local/share/opencode/bin", "OPENCODE_API_KEY", "ANTHROPIC_API_KEY", "models.dev", false},
        {"qwen", ".qwen", NULL, NULL, ".qwen/settings.json", "DASHSCOPE_API_KEY", "OPENAI_API_KEY",
         "dashscope.aliyuncs.com", false},
};

/* Makes folder/name with `text`, and the folders on its way. */
static void lay_file(const char *folder, const char *name, const char *text) {
        _cleanup_free_ char *path = path_of(folder, name);

        for (char *slash = path + strlen(folder) + 1; (slash = strchr(slash, '/')); slash++) {
                *slash = '\0';
                assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
                *slash = '/';
        }
        make_file(folder, name, text);
}

static void lay_row(const struct site *s, const struct row *row) {
        const char *const files[] = {row->readable, row->protected};
        _cleanup_free_ char *state = text_of("%s/state", row->writable);
        _cleanup_free_ char *settings = row->overlay ? text_of("%s/settings", row->overlay) : NULL;

        lay_file(s->home, state, "state\n");
        if (settings)
                lay_file(s->home, settings, "settings\n");
        for (size_t i = 0; i < ARRAY_SIZE(files); i++)
                if (files[i])
                        lay_file(s->home, files[i], "mine\n");
}

/* Nothing of the tester's moves a folder, or is a key. */
static int agents_setup(void **state) {
        static const char *const moves[] = {"CLAUDE_CONFIG_DIR", "CODEX_HOME",      "COPILOT_HOME",
                                            "CURSOR_CONFIG_DIR", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME",
                                            "XDG_DATA_HOME",     "XDG_STATE_HOME"};

        if (site_setup(state) != 0)
                return -1;
        for (size_t i = 0; i < ARRAY_SIZE(moves); i++)
                if (!streq(moves[i], "XDG_STATE_HOME"))
                        assert_int_equal(unsetenv(moves[i]), 0);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                assert_int_equal(unsetenv(rows[i].key), 0);
                assert_int_equal(unsetenv(rows[i].other), 0);
        }
        return 0;
}

#undef TEST
#define TEST(name) TEST_WITH(name, agents_setup, site_teardown)

static void nsrun_agent(const struct site *s, struct outcome *o, const char *const *arguments) {
        run(&(struct request){.argv = arguments, .cwd = s->project}, o);
}
#define NSRUN(s, o, ...) nsrun_agent(s, o, (const char *const[]){program(), __VA_ARGS__, NULL})

static void expect_row_inside(const struct site *s, const struct row *row) {
        const char *overlay = row->overlay ? row->overlay : "-",
                   *settings = row->protected ? row->protected : "-";
        const char *readable = row->readable ? row->readable : "-";
        _cleanup_free_ char *script =
                text_of("cd ~; cat %s/state; echo new >%s/made && echo wrote; echo \"$%s-$%s\"; "
                        "[ '%s' = - ] || { echo new >%s/settings && cat %s/settings; }; "
                        "[ '%s' = - ] || { cat %s; { echo x >>%s; } 2>/dev/null || echo closed; }; "
                        "[ '%s' = - ] || { cat %s; { echo x >>%s; } 2>/dev/null || echo closed; }",
                        row->writable, row->writable, row->key, row->other, overlay, overlay, overlay,
                        settings, settings, settings, readable, readable, readable);
        _cleanup_free_ char *expected =
                text_of("state\nwrote\nkey-\n%s%s%s", row->overlay ? "new\n" : "",
                        row->protected ? "mine\nclosed\n" : "", row->readable ? "mine\nclosed\n" : "");
        _cleanup_free_ char *made = text_of("%s/%s/made", s->home, row->writable), *text = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        assert_int_equal(setenv(row->key, "key", 1), 0);
        assert_int_equal(setenv(row->other, "other", 1), 0);
        RUN(s, &o, "--agent", row->agent, "--", "sh", "-c", script);
        expect_status(&o, 0);
        expect_out(&o, expected);
        text = file_text(made);
        assert_non_null(text);
        assert_string_equal(text, "new\n");
        /* Without the option none of it is there. */
        outcome_clear(&o);
        o = (struct outcome){0};
        RUN(s, &o, "--", "sh", "-c", script);
        expect_not_in(o.out, "state");
        expect_not_in(o.out, "mine");
        expect_not_in(o.out, "key");
        assert_int_equal(unsetenv(row->key), 0);
        assert_int_equal(unsetenv(row->other), 0);
}

TEST(each_row_shows_its_folders_and_passes_one_key) {
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_free_ char *settings =
                        rows[i].overlay ? text_of("%s/%s/settings", s->home, rows[i].overlay) : NULL;
                _cleanup_free_ char *kept = NULL;

                lay_row(s, &rows[i]);
                expect_row_inside(s, &rows[i]);
                kept = settings ? file_text(settings) : NULL;
                if (settings)
                        assert_string_equal(kept, "settings\n");
        }
}

TEST(each_row_names_hosts_and_a_filter_in_the_plan) {
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_outcome_ struct outcome o = {0}, named = {0};
                _cleanup_free_ char *rule = text_of("allow %s:443", rows[i].host);

                NSRUN(s, &o, "plan", "--agent", rows[i].agent, "--net=allow", "--", "true");
                expect_status(&o, 0);
                expect_in(o.out, rule);
                assert_int_equal(strstr(o.out, "nested") != NULL, rows[i].is_nested);
                NSRUN(s, &named, "plan", "--agent", rows[i].agent, "--seccomp=strict", "--", "true");
                expect_status(&named, 0);
                assert_null(strstr(named.out, "nested"));
                /* With the host's network they mean nothing. */
                assert_null(strstr(named.out, rule));
        }
}

TEST(a_folder_that_is_missing_is_left_out) {
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_outcome_ struct outcome o = {0};

                RUN(s, &o, "--agent", rows[i].agent, "--", "echo", "ran");
                expect_status(&o, 0);
                expect_out(&o, "ran\n");
        }
}

TEST(what_is_named_wins_over_the_row) {
        const struct site *s = *state;
        _cleanup_free_ char *codex = path_of(s->home, ".codex"), *moved = path_of(s->outside, "codex");
        _cleanup_outcome_ struct outcome ro = {0}, overlay = {0}, open = {0}, one = {0}, none = {0},
                                         away = {0};

        lay_file(s->home, ".codex/config.toml", "mine\n");
        lay_file(s->outside, "codex/config.toml", "moved\n");
        RUN(s, &ro, "--agent", "codex", "--ro", codex, "--", "sh", "-c", "echo x 2>&1 >~/.codex/new");
        assert_int_not_equal(ro.status, 0);
        RUN(s, &overlay, "--agent", "codex", "--overlay", codex, "--", "sh", "-c",
            "echo x >~/.codex/config.toml && cat ~/.codex/config.toml");
        expect_out(&overlay, "x\n");
        RUN(s, &open, "--agent", "codex", "--no-protect", "config.toml", "--", "sh", "-c",
            "cat ~/.codex/config.toml; echo y >>~/.codex/config.toml && cat ~/.codex/config.toml");
        expect_status(&open, 0);
        expect_out(&open, "mine\nmine\ny\n");
        assert_int_equal(setenv("CODEX_API_KEY", "first", 1), 0);
        assert_int_equal(setenv("OPENAI_API_KEY", "second", 1), 0);
        RUN(s, &one, "--agent", "codex", "--env", "OPENAI_API_KEY", "--", "sh", "-c",
            "echo $CODEX_API_KEY-$OPENAI_API_KEY");
        expect_out(&one, "-second\n");
        RUN(s, &none, "--agent", "codex", "--unsetenv", "CODEX_API_KEY", "--unsetenv", "OPENAI_API_KEY",
            "--", "sh", "-c", "echo $CODEX_API_KEY-$OPENAI_API_KEY");
        expect_out(&none, "-\n");
        assert_int_equal(unsetenv("CODEX_API_KEY"), 0);
        assert_int_equal(unsetenv("OPENAI_API_KEY"), 0);
        assert_int_equal(setenv("CODEX_HOME", moved, 1), 0);
        RUN(s, &away, "--agent", "codex", "--", "sh", "-c",
            "cat $CODEX_HOME/config.toml; ls ~/.codex; echo z >>$CODEX_HOME/config.toml || echo closed; "
            "echo s >$CODEX_HOME/s && echo wrote");
        assert_int_equal(unsetenv("CODEX_HOME"), 0);
        expect_out(&away, "moved\nclosed\nwrote\n");
}

/* What wasn't there can't be planted unseen, and with --protect=strict not at all. */
TEST(a_setting_that_was_missing_is_no_way_out) {
        static const char plant[] =
                "echo '{\"hooks\": 1}' >~/.claude/settings.json; echo state >~/.claude/x";
        const struct site *s = *state;
        _cleanup_free_ char *settings = path_of(s->home, ".claude/settings.json");
        _cleanup_outcome_ struct outcome o = {0}, strict = {0};

        lay_file(s->home, ".claude/state", "");
        RUN(s, &strict, "--agent", "claude", "--protect=strict", "--", "sh", "-c", plant);
        assert_int_equal(access(settings, F_OK), -1);
        RUN(s, &o, "--agent", "claude", "--", "sh", "-c", plant);
        expect_in(o.err, ".claude/settings.json");
}

/* A wildcard's names can't be kept free: what is there is read-only, what is made is moved aside. */
TEST(strict_goes_with_a_row_that_has_wildcards) {
        const struct site *s = *state;
        _cleanup_free_ char *made = path_of(s->home, ".codex/skills/made/SKILL.md"),
                            *aside = path_of(s->home, ".codex/skills/.made.aside-0/SKILL.md");
        _cleanup_outcome_ struct outcome o = {0};

        lay_file(s->home, ".codex/skills/mine/SKILL.md", "mine\n");
        RUN(s, &o, "--agent", "codex", "--protect=strict", "--", "sh", "-c",
            "cd ~/.codex/skills; mkdir made && echo evil >made/SKILL.md && echo made; "
            "echo evil >mine/SKILL.md || cat mine/SKILL.md; echo x >../AGENTS.md || echo kept free");
        expect_status(&o, 0);
        expect_out(&o, "made\nmine\nkept free\n");
        expect_in(o.err, "note: a protected name that the command made is moved aside: ");
        assert_int_equal(access(made, F_OK), -1);
        assert_int_equal(access(aside, F_OK), 0);
}

static void write_config(const struct site *s, const char *text) {
        lay_file(s->home, ".config/nsrun/config.json", text);
}

TEST(a_configuration_adds_a_row_and_replaces_one) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome mine = {0}, codex = {0}, list = {0}, plan = {0};

        write_config(
                s, "{\"version\": 1, \"agents\": {\n"
                   " \"mine\": {\"writable\": [\"~/.mine\"], \"overlay\": [\"~/.mine-cache\"],\n"
                   "  \"readable\": [\"~/.minerc\"], \"protect\": [\"conf.d\"], \"keys\": [\"MINE_KEY\"],\n"
                   "  \"hosts\": [\"api.mine.example:443\", \"@npm\"], \"nested\": true},\n"
                   " \"codex\": {\"readable\": [\"~/.codex\"]}}}\n");
        lay_file(s->home, ".mine/conf.d/x", "conf\n");
        lay_file(s->home, ".mine-cache/x", "cache\n");
        lay_file(s->home, ".minerc", "rc\n");
        lay_file(s->home, ".codex/config.toml", "mine\n");
        assert_int_equal(setenv("MINE_KEY", "key", 1), 0);
        RUN(s, &mine, "--agent", "mine", "--", "sh", "-c",
            "cd; cat .minerc .mine/conf.d/x .mine-cache/x; echo $MINE_KEY; echo a >.mine/a && "
            "echo b >.mine-cache/b && { echo c >.mine/conf.d/c || echo closed; }");
        assert_int_equal(unsetenv("MINE_KEY"), 0);
        expect_out(&mine, "rc\nconf\ncache\nkey\nclosed\n");
        RUN(s, &codex, "--agent", "codex", "--", "sh", "-c", "cat ~/.codex/config.toml; echo x >~/.codex/x");
        assert_int_not_equal(codex.status, 0);
        expect_out(&codex, "mine\n");
        NSRUN(s, &plan, "plan", "--agent", "mine", "--net=allow", "--", "true");
        expect_in(plan.out, "allow api.mine.example:443");
        expect_in(plan.out, "allow registry.npmjs.org:443");
        expect_in(plan.out, "nested");
        NSRUN(s, &list, "agents");
        expect_status(&list, 0);
        expect_in(list.out, "mine        of the configuration\n");
        expect_in(list.out, "codex       of the configuration\n");
        expect_not_in(list.out, "OpenAI's Codex");
        expect_in(list.out, "gemini      Google's gemini-cli\n");
}

TEST(mistakes_in_a_row_are_refused_at_their_place) {
        static const struct {
                const char *row, *said;
        } cases[] = {
                {"{\"x\": {\"writeable\": []}}",
                 "1:30: unknown key: writeable; an agent has writable, overlay, readable, protect, keys, hosts "
                 "and nested"},
                {"{\"x y\": {}}",
                 "1:24: not an agent's name: x y; letters, digits, dots, hyphens and underscores"},
                {"{\"x\": []}", "1:29: an object is expected here: x"},
                {"{\"x\": {\"keys\": [\"A=B\"]}}", "1:39: not a variable's name: A=B"},
                {"{\"x\": {\"hosts\": [\"@nope\"]}}",
                 "1:40: no list of that name: @nope; it is what --allow takes"},
                {"{\"x\": {\"protect\": [\"../x\"]}}",
                 "1:42: not a name below a writable folder: ../x; such a name is relative, without '.', '..' "
                 "and empty parts"},
                {"{\"x\": {\"nested\": 1}}", "1:40: true or false is expected here: nested"},
                {"{\"x\": {\"writable\": [\"x\"]}}",
                 "1:43: not an absolute path: x; begin it with / or with ~/"},
        };
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *text = text_of("{\"version\":1,\"agents\":%s}", cases[i].row);
                _cleanup_free_ char *line =
                        text_of("nsrun: %s/.config/nsrun/config.json:%s", s->home, cases[i].said);
                _cleanup_outcome_ struct outcome o = {0};

                write_config(s, text);
                NSRUN(s, &o, "agents");
                expect_refusal(&o, 125, line);
        }
}

TEST(what_makes_no_sense_is_refused) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome unknown = {0}, plain = {0}, instance = {0}, argument = {0};

        NSRUN(s, &unknown, "run", "--agent", "nope", "--", "true");
        expect_refusal(&unknown, 125,
                       "nsrun: --agent: no agent of that name: nope; 'nsrun agents' has them all; a "
                       "configuration adds one; see 'nsrun run --help'");
        NSRUN(s, &plain, "run", "--agent", "codex", "--no-sandbox", "--", "true");
        expect_refusal(
                &plain, 125,
                "nsrun: --agent can't be had with --no-sandbox: nothing is confined; leave one of the "
                "two out");
        NSRUN(s, &instance, "run", "--agent", "codex", "--profile=instance", "--", "true");
        expect_refusal(&instance, 125,
                       "nsrun: --agent can't be had with the instance profile, which has a home of its own; "
                       "leave one of the two out");
        NSRUN(s, &argument, "agents", "codex");
        expect_refusal(&argument, 125, "nsrun: no argument is expected: codex; see 'nsrun agents --help'");
}

TEST(the_man_page_names_each_agent) {
        const char *source = getenv("NSRUN_SOURCE");
        _cleanup_free_ char *path = text_of("%s/src/man/nsrun-run.1", source ? source : ".");
        _cleanup_free_ char *page = file_text(path);
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        char *section, *save = NULL;

        assert_non_null(page);
        section = strstr(page, "\n.Sh AGENTS\n");
        assert_non_null(section);
        NSRUN(s, &o, "agents");
        expect_status(&o, 0);
        /* A row begins with the name; what it shows is indented. */
        for (char *line = strtok_r(o.out, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                line[strcspn(line, " ")] = '\0';
                if (*line)
                        expect_in(section, line);
        }
}

int main(void) {
        return run_all_tests();
}

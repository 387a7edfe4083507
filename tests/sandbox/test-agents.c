/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --agent NAME: of each row of the table the folders, what of them comes to the host, the one key, the hosts
 * and the filter; who wins over a row, rows of a configuration, and what is refused. */
#include <ctype.h>

#include "agents.h"

/* What is known of each agent, a sample of each column. */
static const struct row {
        const char *agent;
        const char *overlays;    /* its folders */
        const char *state;       /* what of them comes to the host */
        const char *readable;    /* a file; or NULL */
        const char *key, *other; /* the first key, and one that stays withheld while the first is set */
        const char *host;
        bool is_nested;
} rows[] = {
        {"aider", ".aider", "", ".aider.conf.yml", "ANTHROPIC_API_KEY", "OPENAI_API_KEY",
         "api.anthropic.com", false},
        {"amp", ".config/amp .local/share/amp .cache/amp", "", NULL, "AMP_API_KEY", "ANTHROPIC_API_KEY",
         "ampcode.com", false},
        {"auggie", ".augment", "", NULL, "AUGMENT_SESSION_AUTH", "AUGMENT_API_TOKEN", "*.augmentcode.com",
         false},
        {"claude", ".claude",
         ".claude/projects/@/a.jsonl .claude/projects/@/sessions-index.json .claude/projects/@/s/subagents/a.jsonl "
         ".claude/projects/@/s/subagents/a.meta.json .claude/projects/@/s/tool-results/a.txt .claude/todos/a.json "
         ".claude/tasks/t/1.json .claude/tasks/t/.highwatermark .claude/plans/a.md .claude/paste-cache/a.txt "
         ".claude/history.jsonl .claude/.credentials.json",
         ".local/share/claude/versions/1", "ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN",
         "api.anthropic.com", true},
        {"cline", ".cline", "", NULL, "CLINE_API_KEY", "ANTHROPIC_API_KEY", "api.cline.bot", false},
        {"codex", ".codex",
         ".codex/sessions/2026/11/27/rollout-a.jsonl .codex/archived_sessions/rollout-a.jsonl .codex/history.jsonl .codex/session_index.jsonl "
         ".codex/auth.json",
         NULL, "CODEX_API_KEY", "OPENAI_API_KEY", "chatgpt.com", true},
        {"continue", ".continue", "", NULL, "CONTINUE_API_KEY", "ANTHROPIC_API_KEY", "api.continue.dev",
         false},
        {"copilot", ".copilot", ".copilot/command-history-state.json", NULL, "COPILOT_GITHUB_TOKEN",
         "GH_TOKEN", "*.githubcopilot.com", false},
        {"cursor", ".cursor .config/cursor",
         ".cursor/chats/a/b/store.db .cursor/chats/a/b/store.db-wal .cursor/prompt_history.json .config/cursor/auth.json",
         ".local/share/cursor-agent/versions/1", "CURSOR_API_KEY", "CURSOR_AUTH_TOKEN", "*.cursor.sh", true},
        {"droid", ".factory", "", NULL, "FACTORY_API_KEY", "ANTHROPIC_API_KEY", "api.factory.ai", false},
        {"gemini", ".gemini",
         ".gemini/tmp/a/chats/a.json .gemini/tmp/a/chats/a.jsonl .gemini/tmp/a/logs.json .gemini/oauth_creds.json "
         ".gemini/google_accounts.json .gemini/gemini-credentials.json",
         NULL, "GEMINI_API_KEY", "GOOGLE_API_KEY", "generativelanguage.googleapis.com", false},
        {"goose", ".config/goose .local/share/goose .local/state/goose", ".local/state/goose/history.txt",
         NULL, "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "openrouter.ai", false},
        {"opencode", ".config/opencode .local/share/opencode .local/state/opencode .cache/opencode",
         ".local/share/opencode/auth.json .local/state/opencode/prompt-history.jsonl "
         ".local/state/opencode/frecency.jsonl .local/state/opencode/model.json",
         ".opencode/bin/opencode", "OPENCODE_API_KEY", "ANTHROPIC_API_KEY", "models.dev", false},
        {"pi", ".pi/agent", "", NULL, "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "openrouter.ai", false},
        {"qoder", ".qoder", "", NULL, "QODER_PERSONAL_ACCESS_TOKEN", "ANTHROPIC_API_KEY", "*.qoder.sh",
         false},
        {"qwen", ".qwen", ".qwen/projects/@/chats/a.jsonl .qwen/todos/a.json .qwen/oauth_creds.json", NULL,
         "DASHSCOPE_API_KEY", "OPENAI_API_KEY", "dashscope.aliyuncs.com", false},
};

/* What a hostile command writes to each folder: over what is there, each name that an agent's own
 * documentation has or that one was seen to run, and what no carrying may follow, wait for or execute. */
static const char hostile[] =
        "cd ~ && for f in $OVERLAYS; do cd ~/$f && find . -type f | while read -r n; do echo evil >$n; done\n"
        "for n in settings.json settings.local.json CLAUDE.md .env config.toml x.config.toml AGENTS.md mcp.json \\\n"
        "  hooks.json hooks/x agents/x.md commands/x.md skills/x/SKILL.md plugins/x extensions/x rules/x local/x \\\n"
        "  statusline.sh shell-snapshots/x.sh session-env/1/sessionstart-hook-0.sh packages/standalone/codex \\\n"
        "  packages/app-server-daemon/current/codex bin/rg tmp/bin/rg tmp/a/checkpoints/x history/a/config \\\n"
        "  trustedFolders.json opencode.db sessions.db state_5.sqlite snapshot/x/config a/b/c \\\n"
        "  sessions/p/a.jsonl sessions/a.json session-state/a/events.jsonl session-state/a/workspace.yaml; do\n"
        "  case $n in */*) [ -d ${n%/*} ] || mkdir -p ${n%/*};; esac; echo evil >$n; done\n"
        "ln -sf /etc/passwd link; mkfifo fifo; done; cd; for n in $STATE; do d=${n%/*}; mkdir -p $d/memory; echo new "
        ">$n;\n"
        "  chmod 755 $n; case $n in .claude/history.*) ;; */*/*) ln -sf /etc/passwd $d/link.jsonl; mkfifo $d/fifo.json $d/x\n"
        "  echo evil >$d/memory/MEMORY.md; chmod 000 $d/memory;; esac; done\n"
        "echo key=$KEY-$OTHER; cat $READABLE; { echo x >>$READABLE; } 2>/dev/null || echo closed";

/* All plain files of the home, a line each with its sum, but for what nsrun keeps. */
static char *sums_of_home(const struct site *s) {
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *script = text_of(
                "cd %s && find . \\( -path ./.cache/nsrun -o -path ./.local/state/nsrun \\) -prune -o "
                "-type f -exec cksum {} + -o ! -type d -printf '%%P %%y\\n' |\n"
                "sed -E 's,^([^ ]+) ([^ ]+) \\./(.*),\\3 f \\1 \\2,' | sort",
                s->home);

        run(&(struct request){.argv = OPTIONS("sh", "-c", script), .cwd = s->home}, &o);
        expect_status(&o, 0);
        return strdup(o.out);
}

/* Whether a line of sums_of_home() is of what the row lets out. */
static bool is_state(const struct row *row, const char *line) {
        _cleanup_free_ char *list = strdup(row->state);
        char *save = NULL;

        for (char *n = strtok_r(list, " ", &save); n; n = strtok_r(NULL, " ", &save)) {
                size_t length = strlen(n);

                if (strncmp(line, n, length) == 0 && startswith(line + length, " f "))
                        return true;
        }
        return false;
}

static void expect_row(const struct site *s, const struct row *row, bool is_first) {
        const char *readable = row->readable ? row->readable : "/dev/null";
        _cleanup_free_ char *script =
                text_of("OVERLAYS='%s' STATE='%s' READABLE=%s KEY=$%s OTHER=$%s\n%s", row->overlays,
                        row->state, readable, row->key, row->other, hostile);
        _cleanup_free_ char *before = NULL, *after = NULL, *list = strdup(row->state);
        _cleanup_outcome_ struct outcome o = {0}, plain = {0};
        char *save = NULL;

        assert_int_equal(setenv(row->key, "key", 1), 0);
        assert_int_equal(setenv(row->other, "other", 1), 0);
        before = sums_of_home(s);
        RUN(s, &o, "--agent", row->agent, "--", "sh", "-c", script);
        expect_in(o.out, "key=key-\n");
        if (row->readable)
                expect_in(o.out, "mine\nclosed\n");
        if (is_first)
                expect_in(o.err, "nsrun: note: the host gets nothing of ");
        after = sums_of_home(s);
        for (char *line = strtok_r(after, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
                if (!strstr(before, line) && !is_state(row, line))
                        fail_msg("%s: reached the host: %s", row->agent, line);
        save = NULL;
        for (char *n = strtok_r(list, " ", &save); n; n = strtok_r(NULL, " ", &save)) {
                _cleanup_free_ char *path = path_of(s->home, n), *text = file_text(path);
                struct stat st;

                if (!text || !streq(text, "new\n"))
                        fail_msg("%s: didn't reach the host: %s", row->agent, n);
                if (stat(path, &st) < 0 || (st.st_mode & 07111))
                        fail_msg("%s: can be executed: %s", row->agent, n);
        }
        /* Without the option none of it is there. */
        RUN(s, &plain, "--", "sh", "-c", "cd; cat .*/settings .*/*/settings; ls .aider .qwen .codex; env");
        expect_not_in(plain.out, "mine");
        expect_not_in(plain.out, "=key\n");
        assert_int_equal(unsetenv(row->key), 0);
        assert_int_equal(unsetenv(row->other), 0);
}

/* The second time what came to the host is there, and the command writes it where it is. */
TEST(of_each_rows_folders_its_state_comes_to_the_host_and_nothing_else) {
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_free_ char *overlays = strdup(rows[i].overlays);
                char *save = NULL;

                for (char *f = strtok_r(overlays, " ", &save); f; f = strtok_r(NULL, " ", &save)) {
                        _cleanup_free_ char *settings = text_of("%s/settings", f),
                                            *hook = text_of("%s/hooks/mine", f);

                        lay_file(s->home, settings, "mine\n");
                        lay_file(s->home, hook, "mine\n");
                }
                if (rows[i].readable)
                        lay_file(s->home, rows[i].readable, "mine\n");
                {
                        _cleanup_free_ char *own = strdup(s->project), *own_state = NULL;
                        struct row row = rows[i];

                        for (char *c = own; *c; c++)
                                *c = isalnum((unsigned char)*c) ? *c : '-';
                        row.state = own_state = replaced(row.state, "@", own);
                        expect_row(s, &row, true);
                        expect_row(s, &row, false);
                }
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

/* So that a first login stays. */
TEST(a_folder_that_is_missing_is_made) {
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_free_ char *path = path_of(s->home, rows[i].overlays);
                _cleanup_outcome_ struct outcome o = {0};
                struct stat st;

                path[strcspn(path, " ")] = '\0';
                RUN(s, &o, "--agent", rows[i].agent, "--", "echo", "ran");
                expect_status(&o, 0);
                expect_out(&o, "ran\n");
                assert_string_equal(o.err, "");
                assert_int_equal(stat(path, &st), 0);
                assert_int_equal(st.st_mode & 07777, 0700);
        }
}

/* As ~/.ssh is none; a repository of the home's files may be one, in which they are the user's. */
TEST(an_agents_folder_is_no_project_and_no_command_writes_what_the_homes_links_lead_to) {
        static const char *const folders[] = {".claude/skills", ".codex", ".qwen", ".local/share/opencode"};
        static const char try[] =
                "cat claude/.credentials.json; for f in zshrc claude/settings.json nvim/init.lua; do "
                "echo evil >$f || cat $f; done; echo ok >plain && cat plain";
        const struct site *s = *state;
        _cleanup_free_ char *link = path_of(s->home, ".claude"), *zshrc = path_of(s->home, ".zshrc"),
                            *nvim = path_of(s->home, ".config/nvim"),
                            *claude = path_of(s->project, "claude"), *target = path_of(s->project, "zshrc"),
                            *config = path_of(s->project, "nvim"),
                            *around = path_of(s->home, ".local/share"), *line = NULL;
        _cleanup_outcome_ struct outcome o = {0}, above = {0}, agent = {0};

        for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
                _cleanup_free_ char *file = text_of("%s/x", folders[i]),
                                    *path = path_of(s->home, folders[i]);
                _cleanup_free_ char *end =
                        text_of("'s settings and login can't be the project: %s; choose a folder "
                                "with --project DIR, or use --no-project\n",
                                path);
                _cleanup_outcome_ struct outcome refused = {0};

                lay_file(s->home, file, "x\n");
                NSRUN_IN(path, &refused, "run", "--", "cat", "x");
                expect_status(&refused, 125);
                expect_out(&refused, "");
                expect_in(refused.err, end);
        }
        NSRUN_IN(around, &above, "run", "--", "true");
        line = text_of(
                "nsrun: the folder of opencode's settings and login can't be in the project: %s/opencode; choose "
                "a folder with --project DIR, or use --no-project",
                around);
        expect_refusal(&above, 125, line);
        outside(s, "rm -r $HOME/.claude && mkdir -p $HOME/.config claude nvim && echo z >zshrc && echo c "
                   ">claude/settings.json && echo login >claude/.credentials.json && echo n >nvim/init.lua");
        assert_return_code(symlink(claude, link) | symlink(target, zshrc) | symlink(config, nvim), errno);
        RUN(s, &o, "--", "sh", "-c", try);
        expect_out(&o, "z\nok\n");
        outside(s, "! grep evil claude/settings.json nvim/init.lua");
        expect_in(o.err, "claude/.credentials.json: Permission denied");
        RUN(s, &agent, "--agent", "claude", "--", "sh", "-c", try);
        expect_out(&agent, "login\nz\nok\n");
        expect_home_file(s, ".claude/settings.json", "c\n");
}

/* Codex's own sandbox mounts over these: a name that it made itself would be kept aside. */
TEST(what_codexs_sandbox_mounts_over_is_there_and_leaves_no_trace) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0}, plain = {0};

        RUN(s, &o, "--agent", "codex", "--", "sh", "-c",
            "for f in .agents .codex; do test -d $f && ! touch $f/x 2>/dev/null && echo $f; done");
        expect_out(&o, ".agents\n.codex\n");
        assert_string_equal(o.err, "");
        outside(s, "! test -e .agents && ! test -e .codex");
        RUN(s, &plain, "--", "test", "-e", ".codex");
        expect_status(&plain, 1);
}

TEST(what_is_named_wins_over_the_row) {
        const struct site *s = *state;
        _cleanup_free_ char *codex = path_of(s->home, ".codex"), *moved = path_of(s->outside, "codex"),
                            *config = path_of(s->home, ".codex/config.toml");
        _cleanup_outcome_ struct outcome ro = {0}, overlay = {0}, open = {0}, one = {0}, none = {0},
                                         away = {0};

        lay_file(s->home, ".codex/config.toml", "mine\n");
        lay_file(s->outside, "codex/config.toml", "moved\n");
        RUN(s, &ro, "--agent", "codex", "--ro", codex, "--", "sh", "-c", "echo x 2>&1 >~/.codex/new");
        assert_int_not_equal(ro.status, 0);
        RUN(s, &overlay, "--agent", "codex", "--overlay", codex, "--", "sh", "-c",
            "echo x >~/.codex/config.toml && cat ~/.codex/config.toml");
        expect_out(&overlay, "x\n");
        RUN(s, &open, "--agent", "codex", "--rw", config, "--", "sh", "-c",
            "cat ~/.codex/config.toml; echo y >>~/.codex/config.toml && cat ~/.codex/config.toml");
        expect_status(&open, 0);
        expect_out(&open, "mine\nmine\ny\n");
        assert_string_equal(open.err, "");
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
            "cat $CODEX_HOME/config.toml; ls ~/.codex; echo s >$CODEX_HOME/history.jsonl");
        assert_int_equal(unsetenv("CODEX_HOME"), 0);
        expect_out(&away, "moved\n");
        expect_home_file(s, "../outside/codex/history.jsonl", "s\n");
}

static void write_config(const struct site *s, const char *text) {
        lay_file(s->home, ".config/nsrun/config.json", text);
}

TEST(a_configuration_adds_a_row_and_replaces_one) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome mine = {0}, codex = {0}, list = {0}, plan = {0};

        write_config(
                s,
                "{\"version\": 1, \"agents\": {\n"
                " \"mine\": {\"overlay\": [\"~/.mine\"], \"writable\": [\"~/.mine/log/\", \"~/.mine/a\"],\n"
                "  \"readable\": [\"~/.minerc\"], \"keys\": [\"MINE_KEY\"],\n"
                "  \"hosts\": [\"api.mine.example:443\", \"@npm\"], \"nested\": true},\n"
                " \"codex\": {\"readable\": [\"~/.codex\"]}}}\n");
        lay_file(s->home, ".mine/conf.d/x", "conf\n");
        lay_file(s->home, ".minerc", "rc\n");
        lay_file(s->home, ".codex/config.toml", "mine\n");
        assert_int_equal(setenv("MINE_KEY", "key", 1), 0);
        RUN(s, &mine, "--agent", "mine", "--", "sh", "-c",
            "cd; cat .minerc .mine/conf.d/x; echo $MINE_KEY; echo a >.mine/a && mkdir .mine/log && echo b >.mine/log/b && "
            "echo c >.mine/conf.d/x && cat .mine/conf.d/x");
        assert_int_equal(unsetenv("MINE_KEY"), 0);
        expect_out(&mine, "rc\nconf\nkey\nc\n");
        expect_home_file(s, ".mine/conf.d/x", "conf\n");
        expect_home_file(s, ".mine/a", "a\n");
        expect_home_file(s, ".mine/log/b", "b\n");
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
                 "1:30: unknown key: writeable; an agent has overlay, writable, readable, keys, hosts and nested"},
                {"{\"x y\": {}}",
                 "1:24: not an agent's name: x y; letters, digits, dots, hyphens and underscores"},
                {"{\"x\": []}", "1:29: an object is expected here: x"},
                {"{\"x\": {\"keys\": [\"A=B\"]}}", "1:39: not a variable's name: A=B"},
                {"{\"x\": {\"hosts\": [\"@nope\"]}}",
                 "1:40: no list of that name: @nope; it is what --allow takes"},
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
        _cleanup_outcome_ struct outcome unknown = {0}, plain = {0}, instance = {0}, memory = {0},
                                         argument = {0};
        _cleanup_free_ char *line = NULL;

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
        NSRUN(s, &memory, "run", "--agent", "aider", "--overlay-backing=tmpfs", "--", "true");
        line = text_of(
                "nsrun: --overlay-backing=tmpfs would lose the state of --agent's: %s/.aider; leave one of the "
                "two out",
                s->home);
        expect_refusal(&memory, 125, line);
        NSRUN(s, &argument, "agents", "codex", "claude");
        expect_refusal(&argument, 125, "nsrun: one name is enough: claude; see 'nsrun agents --help'");
        NSRUN(s, &argument, "agents", "nobody");
        expect_refusal(
                &argument, 125,
                "nsrun: no agent of that name: nobody; 'nsrun agents' has them all; a configuration adds one");
}

TEST(one_agent_is_told_with_its_login_and_when_it_was_checked) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome one = {0}, json = {0};

        NSRUN(s, &one, "agents", "codex");
        expect_status(&one, 0);
        assert_non_null(startswith(one.out, "codex       OpenAI's Codex\n            overlay   ~/.codex"));
        expect_in(one.out, "\n            key       CODEX_API_KEY, OPENAI_API_KEY, CODEX_ACCESS_TOKEN\n");
        expect_in(
                one.out,
                "\n            login     nsrun run --agent codex --net=allow --publish 1455 -- codex login\n"
                "            checked   ");
        expect_not_in(one.out, "\nclaude");
        NSRUN(s, &json, "agents", "--json", "aider");
        expect_in(json.out, "\"login\": null,\n      \"version\": null,\n      \"date\": null\n");
        expect_not_in(json.out, "\"codex\"");
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

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an agent (--agent NAME) leaves: what of it the host gets, when, and what is there in the next run. */
#include "agents.h"
#include "repository.h"

/* What is to be carried at the end is the command's making until then. */
TEST(what_is_carried_is_a_plain_file_and_no_newer_one_is_lost) {
        const struct site *s = *state;
        _cleanup_free_ char *auth = path_of(s->home, ".codex/auth.json"), *link = path_of(s->project, "x"),
                            *log = path_of(s->home, ".gemini/tmp/a/logs.json");
        _cleanup_outcome_ struct outcome o = {0}, race = {0};
        struct stat st;

        lay_file(s->home, "secret", "secret\n");
        RUN(s, &o, "--agent", "codex", "--", "sh", "-c",
            "cd ~/.codex; ln -s ../secret auth.json; mkfifo history.jsonl; mkdir session_index.jsonl");
        expect_status(&o, 0);
        expect_in(o.err, "nsrun: note: what the command wrote here can't be carried to the host: ");
        assert_int_equal(lstat(auth, &st), -1);
        expect_home_file(s, "secret", "secret\n");
        /* By another name the host's file is written meanwhile. */
        lay_file(s->home, ".gemini/tmp/a/logs.json", "host\n");
        assert_return_code(linkat(AT_FDCWD, log, AT_FDCWD, link, 0), errno);
        RUN(s, &race, "--agent", "gemini", "--", "sh", "-c",
            "echo inside >~/.gemini/tmp/a/logs.json; echo newer >x");
        expect_status(&race, 0);
        expect_in(race.err,
                  "nsrun: note: the host has changed this file meanwhile: what the command wrote to it is "
                  "the next run's here: ");
        expect_home_file(s, ".gemini/tmp/a/logs.json", "newer\n");
}

/* What isn't state is there again for the agent, in this project alone; a file that the user changes
 * meanwhile is the user's. */
TEST(the_rest_is_there_again_in_the_next_run_of_the_project) {
        static const char look[] = "cd ~/.codex; cat config.toml skills/new/SKILL.md; ls old gone; cat $f";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0}, again = {0}, second = {0}, other = {0}, mine = {0};
        _cleanup_free_ char *config = path_of(s->home, ".codex/config.toml");

        lay_file(s->home, ".codex/config.toml", "mine\n");
        lay_file(s->home, ".codex/old/x", "x\n");
        lay_file(s->home, ".codex/gone", "x\n");
        RUN(s, &o, "--agent", "codex", "--", "sh", "-c",
            "cd ~/.codex; echo trust >>config.toml; mkdir -p skills/new; echo s >skills/new/SKILL.md; rm gone; "
            "rm -r old; mkdir old; chmod 500 skills");
        expect_status(&o, 0);
        expect_in(o.err,
                  "nsrun: note: the host gets nothing of config.toml, old, skills (the next run in this "
                  "project does: nsrun review): ");
        expect_home_file(s, ".codex/config.toml", "mine\n");
        expect_home_file(s, ".codex/old/x", "x\n");
        RUN(s, &again, "--agent", "codex", "--", "sh", "-c", look);
        expect_out(&again, "mine\ntrust\ns\nold:\n");
        RUN(s, &second, "--agent", "codex", "--", "sh", "-c",
            "cd ~/.codex; echo more >>config.toml; chmod 700 skills; rm -r skills; mkdir skills; echo x >gone; cat config.toml");
        assert_string_equal(second.err, "");
        expect_out(&second, "mine\ntrust\nmore\n");
        NSRUN(s, &other, "run", "--project", s->outside, "--agent", "codex", "--", "cat", config);
        expect_out(&other, "mine\n");
        lay_file(s->home, ".codex/config.toml", "newer\n");
        RUN(s, &mine, "--agent", "codex", "--", "sh", "-c", look);
        expect_out(&mine, "newer\ngone\n\nold:\n");
}

/* .claude/worktrees is a place like any other, and what is around it protected, there or not. */
TEST(a_worktree_of_claudes_stays) {
        static const char make[] =
                "git worktree add -q .claude/worktrees/w; echo evil >.claude/settings.json; mkdir "
                ".claude/hooks; echo f >.claude/worktrees/w/f && cat .claude/worktrees/w/f";
        const struct site *s = *state;
        _cleanup_free_ char *folder = path_of(s->project, ".claude"), *text = NULL,
                            *file = path_of(s->project, ".claude/worktrees/w/f");
        _cleanup_outcome_ struct outcome none = {0}, made = {0}, there = {0}, plain = {0}, strict = {0};

        outside(s, "git init -q . && git -c user.name=u -c user.email=u@u commit -q --allow-empty -m x");
        RUN(s, &none, "--agent", "claude", "--", "true");
        expect_status(&none, 0);
        assert_int_equal(access(folder, F_OK), -1);
        for (unsigned i = 0; i < 3; i++) {
                struct outcome *o = i > 1 ? &plain : i > 0 ? &there : &made;

                /* Whose worktree it is nobody asks. */
                if (i < 2)
                        RUN(s, o, "--agent", "claude", "--", "sh", "-c", make);
                else
                        RUN(s, o, "--", "sh", "-c", make);
                expect_out(o, "f\n");
                /* Once it is there it is the command's own, but for its worktrees. */
                expect_in(o->err, i == 0   ? ".claude/settings.json: Read-only file system"
                                  : i == 1 ? "/.claude\n"
                                           : "hooks");
                text = file_text(file);
                assert_string_equal(text, "f\n");
                outside(s,
                        "test \"$(git worktree list | wc -l)\" = 2 && git -C .claude/worktrees/w log -1 -q && "
                        "test \"$(ls -A .claude)\" = worktrees && rm -r .claude/worktrees/w && git worktree prune && "
                        "git branch -D w -q");
                free(TAKE_PTR(text));
        }
        outside(s, "rm -r .claude");
        RUN(s, &strict, "--agent", "claude", "--protect=strict", "--", "sh", "-c", make);
        expect_out(&strict, "f\n");
}

/* Two that write to a file of lines have both theirs in it; one that nobody else has written to is as the
 * command has it. */
TEST(of_a_file_of_lines_nobodys_are_lost) {
        static const char log[] = ".codex/sessions/2026/11/27/rollout-a.jsonl",
                          other[] = ".codex/sessions/2026/11/27/rollout-b.jsonl";
        const struct site *s = *state;
        _cleanup_free_ char *path = path_of(s->home, log), *link = path_of(s->project, "x");
        _cleanup_outcome_ struct outcome race = {0}, again = {0};
        struct stat before, after;

        lay_file(s->home, log, "1\n2\n");
        lay_file(s->home, other, "1\n2\n");
        assert_int_equal(stat(path, &before), 0);
        assert_return_code(linkat(AT_FDCWD, path, AT_FDCWD, link, 0), errno);
        RUN(s, &race, "--agent", "codex", "--", "sh", "-c",
            "cd ~/.codex/sessions/2026/11/27; echo in >>rollout-a.jsonl; echo host >>$OLDPWD/x; echo new "
            ">rollout-b.jsonl");
        expect_status(&race, 0);
        assert_string_equal(race.err, "");
        expect_home_file(s, log, "1\n2\nhost\nin\n");
        expect_home_file(s, other, "1\n2\nnew\n");
        RUN(s, &again, "--agent", "codex", "--", "sh", "-c",
            "cd ~/.codex/sessions/2026/11/27; echo more >>rollout-a.jsonl; cat rollout-a.jsonl");
        expect_out(&again, "1\n2\nhost\nin\nmore\n");
        expect_home_file(s, log, "1\n2\nhost\nin\nmore\n");
        assert_int_equal(stat(path, &after), 0);
        assert_int_equal(before.st_ino, after.st_ino);
}

/* Of a megabyte that is none eight would be written to the host. */
TEST(what_has_holes_is_not_carried) {
        static const char holes[] = ".codex/sessions/2026/11/27/rollout-s.jsonl",
                          plain[] = ".codex/sessions/2026/11/27/rollout-t.jsonl";
        const struct site *s = *state;
        _cleanup_free_ char *path = path_of(s->home, holes);
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->home, ".codex");
        RUN(s, &o, "--agent", "codex", "--", "sh", "-c",
            "mkdir -p ~/.codex/sessions/2026/11/27; cd ~/.codex/sessions/2026/11/27; truncate -s 8M rollout-s.jsonl; "
            "head -c 2M /dev/zero | tr '\\0' x >rollout-t.jsonl");
        expect_in(o.err, "what the command wrote here can't be carried to the host: ");
        assert_int_not_equal(access(path, F_OK), 0);
        free(path);
        path = path_of(s->home, plain);
        assert_int_equal(access(path, F_OK), 0);
}

/* What a killed run has left the next one brings to the host; a session's comes when it ends. */
TEST(a_kill_loses_no_state_and_a_sessions_comes_at_its_end) {
        const struct site *s = *state;
        _cleanup_free_ char *script = text_of(
                "%s run --agent codex -- sh -c 'cd ~/.codex; mkdir -p sessions/2026/11/27; "
                "echo k >sessions/2026/11/27/rollout-k.jsonl; echo k >>config.toml; touch %s/go; "
                "exec sleep 1000' & p=$!; until [ -e go ] || ! kill -0 $p; do :; done; kill -9 $p; wait $p; "
                "test $? = 137 || exit; until [ -e ~/.codex/sessions ]; do %s run --agent qwen -- true || exit; done",
                program(), s->project, program());
        _cleanup_free_ char *session = text_of(
                "id=$(%s session start --agent codex) && %s run --session $id -- sh -c 'cd ~/.codex; echo login "
                ">auth.json; echo s >>config.toml; cat config.toml' && ! test -e ~/.codex/auth.json && %s session stop "
                "$id",
                program(), program(), program());
        _cleanup_outcome_ struct outcome first = {0}, killed = {0}, then = {0}, kept = {0};

        lay_file(s->home, ".codex/config.toml", "mine\n");
        RUN(s, &first, "--agent", "codex", "--", "sh", "-c", "echo first >>~/.codex/config.toml");
        run_outside(s, &killed, script);
        collect_orphans();
        expect_status(&killed, 0);
        expect_home_file(s, ".codex/sessions/2026/11/27/rollout-k.jsonl", "k\n");
        run_outside(s, &then, session);
        collect_orphans(); /* the session's monitor */
        expect_status(&then, 0);
        expect_out(&then, "mine\nfirst\nk\ns\n");
        expect_home_file(s, ".codex/auth.json", "login\n");
        expect_home_file(s, ".codex/config.toml", "mine\n");
        RUN(s, &kept, "--agent", "codex", "--", "sh", "-c", "cat ~/.codex/config.toml");
        expect_out(&kept, "mine\nfirst\nk\ns\n");
}

/* Killed while that was written down no command has begun. */
TEST(what_is_written_down_in_part_is_not_followed) {
        const struct site *s = *state;
        _cleanup_free_ char *script = text_of(
                "%s run --agent claude -- sh -c 'echo >go; exec sleep 1000' & p=$!; until [ -e go ]; do :; done\n"
                "kill -9 $p; wait $p; cd ~/.cache/nsrun; d=$(echo workspace-*); chmod -R u+rwx $d\n"
                "until flock -n $d true; do :; done; cp -a $d ../saved; n=$(stat -c %%s $d/carried)\n"
                "for i in $(seq 0 19 $n) $((n - 1)); do rm -rf $d; cp -a ../saved $d; truncate -s $i $d/carried\n"
                "%s run --project '%s' --agent qwen -- true || echo $i: $?; ! [ -e $d ] || echo $i; done; rm -rf ../saved",
                program(), program(), s->project);
        _cleanup_outcome_ struct outcome o = {0};

        lay_file(s->home, ".claude.json", "{\"numStartups\": 3}");
        on_host(s, script, &o);
        collect_orphans();
        expect_out(&o, "");
        expect_not_in(o.err, "nsrun");
}

TEST(of_claudes_own_file_the_host_gets_members_that_name_no_program) {
        const struct site *s = *state;
        _cleanup_free_ char *file = path_of(s->home, ".claude.json"), *line = NULL, *text = NULL,
                            *script = NULL;
        _cleanup_outcome_ struct outcome o = {0}, again = {0};

        lay_file(
                s->home, ".claude.json",
                "{\"numStartups\": 3, \"theme\": \"dark\", \"mcpServers\": {\"mine\": {\"command\": \"x\"}},"
                " \"projects\": {\"/other\": {\"history\": [1]}}}");
        script = text_of(
                "cd; cat .claude.json; echo '{\"numStartups\": 4, \"theme\": \"dark\", \"userID\": \"u\","
                " \"mcpServers\": {\"evil\": {\"command\": \"y\"}}, \"env\": {\"PATH\": \"/evil\"},"
                " \"apiKeyHelper\": \"evil\", \"hooks\": 1, \"projects\": {\"%s\": {\"history\": [2],"
                " \"hasTrustDialogAccepted\": true, \"mcpServers\": {\"evil\": 1}},"
                " \"/other\": {\"history\": [3], \"allowedTools\": [\"Bash\"]}}}' >.claude/new;"
                " mv .claude/new \"$(readlink .claude.json)\"; cat .claude.json",
                s->project);
        RUN(s, &o, "--agent", "claude", "--", "sh", "-c", script);
        expect_status(&o, 0);
        expect_in(o.out, "\"mine\"");
        expect_in(o.out, "evil");
        text = file_text(file);
        expect_in(text, "\"numStartups\": 4");
        expect_in(text, "\"userID\": \"u\"");
        expect_in(text, "\"mine\"");
        expect_in(text, "2\n");
        expect_not_in(text, "3\n");
        expect_not_in(text, "evil");
        expect_not_in(text, "Trust");
        expect_not_in(text, "hooks");
        line = text_of(
                "nsrun: note: the host gets nothing of its members apiKeyHelper, env, hooks, mcpServers, "
                "projects/hasTrustDialogAccepted, projects/mcpServers (the next run in this project "
                "does): %s/.claude.json\n",
                s->home);
        assert_string_equal(o.err, line);
        /* Inside there is what was said there. */
        RUN(s, &again, "--agent", "claude", "--", "sh", "-c", "cat ~/.claude.json");
        expect_in(again.out, "Trust");
        expect_in(again.out, "apiKeyHelper");
        expect_in(again.out, "\"command\": \"y\"");
        assert_string_equal(again.err, "");
        expect_not_in(again.out, "Bash");
}

/* An agent may take a text for a folder's name, and what is a list to one is refused by another. */
TEST(of_members_the_host_gets_words_numbers_and_short_lists) {
        static const struct {
                const char *inside, *has, *left;
        } cases[] = {
                {"\"theme\": \"light\", \"tipsHistory\": {\"a\": 1}, \"numStartups\": 2", "light", NULL},
                {"\"theme\": [\"x\"]", "\"dark\"", "theme"},
                {"\"theme\": {\"x\": 1}", "\"dark\"", "theme"},
                {"\"userID\": \"../x\"", "\"dark\"", "userID"},
                {"\"userID\": \"..\"", "\"dark\"", "userID"},
                {"\"userID\": \"a b\"", "\"dark\"", "userID"},
                {"\"tipsHistory\": [\"'$(printf %070000d 1)'\"]", "\"dark\"", "tipsHistory"},
        };
        const struct site *s = *state;
        _cleanup_free_ char *file = path_of(s->home, ".claude.json");

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *script = text_of("echo '{%s}' >~/.claude.json", cases[i].inside),
                                    *text = NULL;
                _cleanup_outcome_ struct outcome o = {0};

                lay_file(s->home, ".claude.json", "{\"theme\": \"dark\"}");
                RUN(s, &o, "--agent", "claude", "--", "sh", "-c", script);
                expect_status(&o, 0);
                text = file_text(file);
                expect_in(text, cases[i].has);
                expect_not_in(text, "x");
                if (cases[i].left)
                        expect_in(o.err, cases[i].left);
                else
                        assert_string_equal(o.err, "");
        }
}

TEST(a_note_of_what_the_host_does_not_get_draws_nothing) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--agent", "claude", "--", "sh", "-c",
            ">~/.claude/\"$(printf 'a\\033[2K\\nnsrun: note: b')\"");
        expect_in(o.err, "nsrun: note: the host gets nothing of a\\x1b[2K\\x0ansrun: note: b (");
}

/* Also where the project's runs have it still. */
TEST(what_the_user_has_removed_from_claudes_file_stays_removed) {
        static const char edit[] =
                "sed s/dark/light/ ~/.claude.json >/tmp/new; cat /tmp/new >~/.claude.json";
        const struct site *s = *state;
        _cleanup_free_ char *file = path_of(s->home, ".claude.json"), *first = NULL, *then = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        lay_file(s->home, ".claude.json", "{\"theme\": \"dark\"}");
        RUN(s, &o, "--agent", "claude", "--", "sh", "-c",
            "echo '{\"theme\": \"dark\", \"oauthAccount\": {\"x\": 1}}' >~/.claude.json");
        first = file_text(file);
        expect_in(first, "oauthAccount");
        lay_file(s->home, ".claude.json", "{\"theme\": \"dark\"}");
        RUN(s, &o, "--agent", "claude", "--", "sh", "-c", edit);
        then = file_text(file);
        expect_in(then, "light");
        expect_not_in(then, "oauthAccount");
}

/* Each is looked for among all others, in both files. */
TEST(as_many_members_as_a_file_holds_are_no_work) {
        static const char write[] =
                "{ echo {; seq -f '\"k%.0f\": 1,' 150000; echo '\"theme\": \"x\"}'; } >~/.claude.json";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0}, again = {0};

        lay_file(s->home, ".claude.json", "{}");
        RUN(s, &o, "--agent", "claude", "--", "sh", "-c", write);
        expect_in(o.err, "its members k1, k10, k100, k1000, k10000, k100000 and 149994 more (");
        expect_home_file(s, ".claude.json", "{\n  \"theme\": \"x\"\n}");
        RUN(s, &again, "--agent", "claude", "--", "sh", "-c", "grep -c k ~/.claude.json");
        expect_out(&again, "150000\n");
}

/* The agent has the project's trust there, too: what git checked out as the project has it stays. */
TEST(an_agents_worktree_brings_nothing_else_that_the_agent_obeys) {
        static const char evil[] = "git worktree add -q .claude/worktrees/y && cd .claude/worktrees/y && "
                                   "echo evil >.claude/settings.local.json; echo evil >.envrc; echo own >f";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        with_git(s,
                 "git init -q -b main .; mkdir .claude; echo 1 >.claude/settings.json; echo 1 >.mcp.json\n"
                 "git add -A; git commit -qm 1",
                 &o);
        RUN(s, &o, "--agent", "claude", "--", "sh", "-c", "git worktree add -q .claude/worktrees/x");
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
        on_host(s, "cd .claude/worktrees/x; cat .claude/settings.json .mcp.json", &o);
        expect_out(&o, "1\n1\n");
        RUN(s, &o, "--agent", "claude", "--", "sh", "-c", evil);
        expect_in(o.err, "/y/.claude; --no-protect '.claude/worktrees/*/.claude' lets it stay\n");
        expect_in(o.err, "/y/.envrc; --no-protect '.claude/worktrees/*/.envrc' lets it stay\n");
        on_host(s, "cd .claude/worktrees/y; ls -A", &o);
        expect_out(&o, ".git\n.mcp.json\nf\n");
        RUN(s, &o, "--agent", "claude", "--no-protect", ".claude/worktrees/*/.envrc", "--", "sh", "-c",
            "git worktree add -q .claude/worktrees/z && echo mine >.claude/worktrees/z/.envrc");
        assert_string_equal(o.err, "");
        on_host(s, "cat .claude/worktrees/z/.envrc", &o);
        expect_out(&o, "mine\n");
}

/* What the command makes of both at the last moment, too: the project's own is what was there before. */
TEST(what_an_agents_worktree_may_have_the_command_does_not_say) {
        static const char command[] =
                "git worktree add -q .claude/worktrees/x && >ready; until [ -e go ]; do :; done\n"
                "for d in . .claude/worktrees/x; do echo evil >$d/.envrc; done";
        const struct site *s = *state;
        _cleanup_free_ char *script = text_of(
                "%s run --agent claude -- sh -c '%s' 2>err & p=$!; until [ -e ready ]; do :; done\n"
                "kill -STOP $p; >go; until [ -s .claude/worktrees/x/.envrc ]; do :; done; kill -CONT $p; wait $p\n"
                "cat err; ls -A . .claude/worktrees/x",
                program(), command);
        _cleanup_outcome_ struct outcome o = {0};

        with_git(s, "git init -q -b main .; echo 1 >f; git add -A; git commit -qm 1", &o);
        on_host(s, script, &o);
        collect_orphans();
        expect_in(o.out, "/x/.envrc; --no-protect '.claude/worktrees/*/.envrc' lets it stay\n");
        expect_in(o.out, ".claude/worktrees/x:\n.git\nf\n");
}

/* By what claude and qwen make of the project's path: other projects' sessions are not to be led by this
 * one's. */
TEST(a_project_has_its_own_sessions_and_no_others) {
        static const struct {
                const char *agent, *folder; /* of a session */
        } agents[] = {{"claude", ""}, {"qwen", "/chats"}};
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(agents); i++) {
                const char *agent = agents[i].agent, *in = agents[i].folder;
                _cleanup_free_ char *other = text_of(".%s/projects/-other%s/a.jsonl", agent, in);
                _cleanup_free_ char *script = text_of(
                        "cd ~/.%s/projects; own=$(echo '%s' | sed 's/[^a-zA-Z0-9]/-/g')\n"
                        "for d in $own $own-sub ${own}x -other; do mkdir -p -- $d%s; echo evil >$d%s/a.jsonl; done",
                        agent, s->project, in, in);
                _cleanup_free_ char *look = text_of(
                        "cd '%s/.%s/projects'; for f in *%s/*.jsonl; do echo ${f#$(echo '%s' | sed 's/[^a-zA-Z0-9]/-/g')} "
                        "$(cat ./$f); done",
                        s->home, agent, in, s->project);
                _cleanup_free_ char *told = text_of(
                        "-other%s/a.jsonl theirs\n-sub%s/a.jsonl evil\n%s/a.jsonl evil\n", in, in, in);
                _cleanup_outcome_ struct outcome o = {0};

                lay_file(s->home, other, "theirs\n");
                RUN(s, &o, "--agent", agent, "--", "sh", "-c", script);
                expect_status(&o, 0);
                expect_in(o.err, "the host gets nothing of projects/");
                on_host(s, look, &o);
                expect_out(&o, told);
        }
}

/* gemini's names of folders are in a file that the host has: new ones are the project's. */
TEST(a_projects_folder_that_the_host_names_is_no_other_projects) {
        static const char script[] =
                "cd ~/.gemini; for d in mine sub theirs new; do mkdir -p tmp/$d/chats; echo evil >tmp/$d/logs.json\n"
                "echo evil >tmp/$d/chats/a.jsonl; done; echo \"{\\\"projects\\\":{\\\"$P\\\":\\\"$N\\\"}}\" >projects.json";
        const struct site *s = *state;
        _cleanup_free_ char *project = text_of("P=%s", s->project),
                            *fresh = text_of("\"%s\": \"fresh\"", s->project),
                            *file = path_of(s->home, ".gemini/projects.json"), *text = NULL, *after = NULL;
        _cleanup_free_ char *registry = text_of(
                "{\"projects\":{\"%s\":\"mine\",\"%s/a\":\"sub\",\"%sx\":\"theirs\",\"/third\":[1]}}",
                s->project, s->project, s->project);
        _cleanup_free_ char *look = text_of(
                "cd '%s/.gemini/tmp'; for f in */* */*/*; do [ -d $f ] || echo $f $(cat $f); done", s->home);
        _cleanup_outcome_ struct outcome o = {0};

        lay_file(s->home, ".gemini/projects.json", registry);
        lay_file(s->home, ".gemini/tmp/mine/logs.json", "old\n");
        lay_file(s->home, ".gemini/tmp/theirs/logs.json", "old\n");
        RUN(s, &o, "--agent", "gemini", "--env", project, "--env", "N=theirs", "--", "sh", "-c", script);
        expect_status(&o, 0);
        expect_in(o.err, "the host gets nothing of tmp/theirs (the next run in this project does: ");
        on_host(s, look, &o);
        expect_out(&o, "mine/logs.json evil\nnew/logs.json evil\nsub/logs.json evil\ntheirs/logs.json old\n"
                       "mine/chats/a.jsonl evil\nnew/chats/a.jsonl evil\nsub/chats/a.jsonl evil\n");
        text = file_text(file);
        assert_string_equal(text, registry);
        RUN(s, &o, "--agent", "gemini", "--env", project, "--env", "N=fresh", "--", "sh", "-c", script);
        after = file_text(file);
        expect_in(after, fresh);
        expect_in(after, "theirs");
        /* One that is damaged names nobody's: gemini begins with an empty one. */
        lay_file(s->home, ".gemini/projects.json", "{");
        RUN(s, &o, "--agent", "gemini", "--", "sh", "-c", "echo again >~/.gemini/tmp/theirs/logs.json");
        expect_home_file(s, ".gemini/tmp/theirs/logs.json", "again\n");
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Protected names while a command runs, and behind a session's commands: what it makes is gone at once, and
 * what changes is told. */
#include "bash.h"
#include "repository.h"
#include "session.h"

/* Each is gone while the command runs that made it: the host's programs look at any time. */
TEST(what_is_made_is_gone_at_once) {
        static const char script[] =
                "gone() { while [ -e $1 ] || [ -L $1 ]; do :; done; echo $1; }\n"
                "echo evil >.envrc; gone .envrc\n"
                "echo evil >x; mv x .npmrc; gone .npmrc; echo evil >x; ln x .npmrc; gone .npmrc\n"
                "mkdir -m 300 .hg; echo evil >.hg/hgrc; gone .hg/hgrc; chmod 700 .hg\n"
                "mv .hg hg; mkdir .hg; echo evil >.hg/hgrc; gone .hg/hgrc\n"
                "rm -r .hg; ln -s hg .hg; gone .hg; mkdir -p t/repo; echo evil >t/repo/config.toml; mv t .jj\n"
                "gone .jj/repo/config.toml; mkdir .git/sl; ln -s ../x .git/commondir; gone .git/commondir\n"
                "echo evil >.git/sl/config; gone .git/sl/config; mkdir -p refs objects; >HEAD; gone HEAD\n";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (unsigned way = 0; way < 3; way++) {
                make_repository(s, "rm -rf * .[a-z]*; git init -q . && mkdir .yarn");
                if (way == 0)
                        RUN(s, &o, "--", "sh", "-c", script);
                if (way == 1)
                        BASH(s, &o, "--", script);
                if (way == 2) {
                        _cleanup_free_ char *id = START_PLAIN(s);

                        JOIN_SCRIPT(s, id, &o, script);
                        end_session(s, id, "stop");
                }
                expect_status(&o, 0);
                expect_in(o.out, ".envrc\n.npmrc\n.npmrc\n.hg/hgrc\n.hg/hgrc\n.hg\n"
                                 ".jj/repo/config.toml\n.git/commondir\n.git/sl/config\nHEAD\n");
                expect_in(o.err, "/.npmrc; --no-protect .npmrc lets it stay\n");
                expect_in(o.err, "a symlink that the command left in a git dir is removed: ");
        }
        /* The control, which waits for nothing. */
        RUN(s, &o, "--no-protect", "*", "--", "sh", "-c", "echo 1 >.envrc; >go; cat .envrc");
        expect_out(&o, "1\n");
}

/* However often the command replaces it. */
TEST(a_protected_link_is_put_back_at_once) {
        static const char once[] =
                "rm .envrc; echo evil >.envrc; until [ -L .envrc ]; do :; done; readlink .envrc",
                          often[] = "for i in $(seq 2000); do ln -sf evil .envrc; done; exit 7";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_repository(s, "rm -rf * .[a-z]*; ln -s conf .envrc");
        RUN(s, &o, "--", "sh", "-c", once);
        expect_out(&o, "conf\n");
        expect_in(
                o.err,
                "nsrun: note: a protected symlink is put back; what the command made of it is kept aside: ");
        expect_in(o.err, "/.envrc\n");
        RUN(s, &o, "--", "sh", "-c", often);
        expect_status(&o, 7);
        on_host(s, "readlink .envrc", &o);
        expect_out(&o, "conf\n");
}

/* A sandbox inside makes them to mount something there. */
TEST(what_is_empty_stays_until_something_is_in_it) {
        static const char script[] =
                "gone() { while [ -e $1 ]; do :; done; echo $1; }\n"
                "away() { until grep \" $PWD/$1 \" /proc/self/mountinfo | grep -q /away/; do :; done; echo $1; }\n"
                ">.envrc; >.profile; ln .profile x; mkdir .claude .vscode; echo evil >.npmrc; gone .npmrc\n"
                "ls -d .envrc .profile .claude .vscode; echo evil >.envrc; gone .envrc; echo evil >x\n"
                "gone .profile; echo evil >.claude/settings.json; away .claude; mkdir .vscode/x; away .vscode\n";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--", "sh", "-c", script);
        expect_status(&o, 0);
        expect_out(&o, ".npmrc\n.claude\n.envrc\n.profile\n.vscode\n.envrc\n.profile\n.claude\n.vscode\n");
        RUN(s, &o, "--", "sh", "-c", ">.envrc");
        expect_in(o.err, "--no-protect .envrc lets it stay\n");
}

/* Who waits moves names while the command exchanges folders for symlinks that lead out. */
TEST(a_race_against_the_move_reaches_nothing_outside) {
        static const char script[] =
                "for i in $(seq 300); do mkdir d; echo evil >d/hgrc; ln -s ../outside l\n"
                "mv -T d .hg; mv -T .hg x$i; mv -T l .hg; mv -T .hg y$i 2>/dev/null; done; true";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->outside, "hgrc", "mine\n");
        RUN(s, &o, "--", "sh", "-c", script);
        expect_status(&o, 0);
        expect_in(o.err, " kept aside: nsrun review --project ");
        on_host(s, "ls ../outside; cat ../outside/hgrc; [ ! -e .hg ] || [ ! -e .hg/hgrc ]", &o);
        expect_status(&o, 0);
        expect_out(&o, "hgrc\nmine\n");
}

/* What can't be moved to another folder lies in the command's reach until the end. */
TEST(what_the_command_takes_away_again_is_told) {
        const struct site *s = *state;
        _cleanup_free_ char *line = text_of(
                "nsrun: note: a protected name that came to be was taken away again by the command: %s/.vscode\n",
                s->project);
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--", "sh", "-c",
            "echo evil >.npmrc; while [ -e .npmrc ]; do :; done; mkdir x; >x/y; chmod 500 x; mv x .vscode\n"
            "while [ -e .vscode ]; do :; done; chmod 700 .vscode.aside-0; rm -r .vscode.aside-0");
        expect_status(&o, 0);
        expect_in(o.err, line);
        expect_in(o.err, "/.npmrc; --no-protect .npmrc lets it stay\n");
        expect_in(o.err, "nsrun: note: 1 kept aside: nsrun review --project ");
}

/* What an editor on the host saves meanwhile: no command changes it before a person has it back, also where
 * the run directory lies on another file system. */
TEST(what_is_taken_away_no_command_can_change) {
        static const char script[] =
                "for at in \"$XDG_CACHE_HOME\" /dev/shm/$$; do export XDG_CACHE_HOME=$at; rm -rf ready go\n"
                "(until [ -e ready ]; do :; done; echo mine >n; mv n .envrc\n"
                "until [ $(ls $at/nsrun/*/away | wc -l) = 2 ]; do :; done; >go) &\n"
                "%s run -- sh -c 'echo evil >.profile; while [ -e .profile ]; do :; done; >ready\n"
                "until [ -e go ]; do :; done; for f in .envrc.a*; do ! [ -e $f ] || echo evil >$f; done' 2>&1\n"
                "cat \"$XDG_STATE_HOME\"/nsrun/kept/*/*/entry; rm -r $XDG_STATE_HOME/nsrun/kept; done\n"
                "ls -A; rm -r /dev/shm/$$";
        const struct site *s = *state;
        _cleanup_free_ char *text = text_of(script, program()), *all = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        on_host(s, text, &o);
        expect_status(&o, 0);
        all = text_of(
                "nsrun: note: a protected name that came to be is kept aside (nsrun review --accept 1 puts it back): %s/.profile; --no-protect .profile lets it stay\n"
                "nsrun: note: a protected name that came to be is kept aside (nsrun review --accept 2 puts it back): %s/.envrc; --no-protect .envrc lets it stay\n"
                "nsrun: note: 2 kept aside: nsrun review (--accept N takes one over)\nevil\nmine\n"
                "nsrun: note: a protected name that came to be is kept aside (nsrun review --accept 1 puts it back): %s/.profile; --no-protect .profile lets it stay\n"
                "nsrun: note: a protected name that came to be is kept aside (nsrun review --accept 3 puts it back): %s/.envrc; --no-protect .envrc lets it stay\n"
                "nsrun: note: 3 kept aside: nsrun review (--accept N takes one over)\nevil\nevil\nmine\ngo\nready\n",
                s->project, s->project, s->project, s->project);
        assert_string_equal(o.out, all);
}

TEST(a_flood_of_names_is_counted_and_fills_no_store) {
        const struct site *s = *state;
        _cleanup_free_ char *script =
                text_of("%s run $(for i in $(seq 164); do echo --protect n$i; done) -- sh -c "
                        "'for i in $(seq 164); do echo $i >n$i; while [ -e n$i ]; do :; done; done'",
                        program());
        _cleanup_outcome_ struct outcome o = {0};

        on_host(s, script, &o);
        expect_in(o.err,
                  "nsrun: note: 4 more protected names that the command made are renamed: more than is kept "
                  "aside\nnsrun: note: 160 kept aside: ");
        on_host(s, "ls -A | wc -l; cat \"$XDG_STATE_HOME\"/nsrun/kept/*/*/entry | sort -n | sed -n '1p;$p'",
                &o);
        expect_out(&o, "4\n1\n160\n");
}

/* The user's inotify instances are used up: who waits looks by itself. */
TEST(without_a_watch_what_is_made_is_gone_as_well) {
        const struct site *s = *state;
        _cleanup_free_ char *script = text_of(
                "echo 0 >/proc/sys/user/max_inotify_instances && exec '%s' run --project '%s' -- sh -c '%s'",
                program(), s->project,
                "echo evil >.envrc; while [ -e .envrc ]; do :; done; >ready; until [ -e go ]; do :; done;"
                "until (echo evil >.npmrc) 2>/dev/null; do :; done; while [ -e .npmrc ]; do :; done");
        const char *const argv[] = {"unshare", "-Ur", "sh", "-c", script, NULL};
        _cleanup_outcome_ struct outcome o = {0};

        make_repository(
                s, "echo mine >.npmrc; (until [ -e ready ]; do :; done; rm .npmrc; >go) >/dev/null 2>&1 &");
        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        expect_status(&o, 0);
        expect_in(o.err, "/.envrc; --no-protect .envrc lets it stay\n");
        expect_in(o.err, "/.npmrc; --no-protect .npmrc lets it stay\n");
        collect_orphans();
}

/* Whatever namespaces the first command makes.  In a mount namespace of its own nothing is covered again:
 * what the host has put there meanwhile is the command's to write, and kept aside in the end. */
TEST(in_namespaces_of_its_own_a_command_gains_nothing) {
        static const char setup[] =
                "rm -rf * .[a-z]*; echo mine >.npmrc\n"
                "(until [ -e ready ]; do :; done; echo new >n; mv n .npmrc; >go) >/dev/null 2>&1 &";
        static const char script[] =
                "echo evil >.envrc; while [ -e .envrc ]; do :; done; >ready\n"
                "until [ -e go ]; do :; done; until [ \"$([ -w .npmrc ]; echo $?)\" = $0 ]; do :; done";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0}, own = {0};

        make_repository(s, setup);
        RUN(s, &o, "--seccomp=nested", "--", "unshare", "-U", "sh", "-c", script, "1");
        collect_orphans();
        expect_status(&o, 0);
        expect_in(o.err, "a protected name was changed while the command ran, by it or by others: ");
        make_repository(s, setup);
        RUN(s, &own, "--seccomp=nested", "--", "unshare", "-Um", "sh", "-c", script, "0");
        collect_orphans();
        expect_status(&own, 0);
        expect_in(own.err, "/.npmrc; --no-protect .npmrc lets it stay\n");
}

/* What a session's last process makes is found by its monitor, and told by the session's end. */
TEST(what_is_made_behind_a_sessions_commands_is_kept_aside) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *note = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        JOIN_SCRIPT(s, id, &o,
                    "setsid sh -c 'until [ -e go ]; do sleep 0.01; done; echo evil >.envrc; >made' "
                    ">/dev/null 2>&1 </dev/null &");
        expect_status(&o, 0);
        on_host(s, ">go; until [ -e made ] && ! [ -e .envrc ]; do sleep 0.01; done", &o);
        expect_status(&o, 0);
        SESSION(s, &o, "stop", id);
        expect_status(&o, 0);
        note = text_of(
                "nsrun: note: a protected name that came to be is kept aside (nsrun review --project %s --accept 1 puts it back): %s/.envrc; "
                "--no-protect .envrc lets it stay\nnsrun: note: 1 kept aside: nsrun review --project %s (--accept N takes one over)\n",
                s->project, s->project, s->project);
        assert_string_equal(o.err, note);
        collect_orphans();
        on_host(s, "ls -A; cat \"$XDG_STATE_HOME\"/nsrun/kept/*/*/entry", &o);
        expect_out(&o, "go\nmade\nevil\n");
}

/* Who waited for it is dead, and the session isn't: its end keeps what that one took away, or the monitor.
 */
TEST(a_killed_command_of_a_session_loses_nothing_that_is_to_be_kept_aside) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL, *script = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        make_repository(s, "git init -q .");
        id = START_PLAIN(s);
        script = text_of(
                "%s run --session %s -- sh -c 'for f in .envrc .npmrc .profile .yarnrc .yarnrc.yml .mcp.json; do\n"
                "echo evil >$f; while [ -e $f ]; do :; done; done; >go; exec sleep 1000' & p=$!\n"
                "until [ -e go ]; do :; done; kill -9 $p; wait $p; test $? = 137",
                program(), id);
        on_host(s, script, &o);
        expect_status(&o, 0);
        SESSION(s, &o, "stop", id);
        expect_in(o.err, "nsrun: note: 6 kept aside: nsrun review --project ");
        collect_orphans();
        on_host(s, "ls -A; cat \"$XDG_STATE_HOME\"/nsrun/kept/*/*/entry", &o);
        expect_out(&o, ".git\ngo\nevil\nevil\nevil\nevil\nevil\nevil\n");
}

/* The next run keeps it, of whatever project and however much there was, and says by which command it is
 * seen; a command of the project has of a folder what the killed one had. */
TEST(a_kill_loses_nothing_that_is_to_be_kept_aside) {
        const struct site *s = *state;
        _cleanup_free_ char *script = text_of(
                "git init -q \"$HOME\"/o; git init -q . && mkdir .vscode; %s run --tmp=scratch -- sh -c 'echo evil >.envrc; while [ -e .envrc ]; do :; done\n"
                "echo inside >.vscode/tasks.json; >go; exec sleep 1000' & p=$!\n"
                "until [ -e go ] && grep -qs away/ \"$XDG_CACHE_HOME\"/nsrun/*/kept; do :; done\n"
                "yes \"$(printf '/nothing/%%04000d' 1 | tr 0 /)\" | head -n 1200 | tr '\\n' '\\0' >>\"$(ls \"$XDG_CACHE_HOME\"/nsrun/*/kept)\"\n"
                "kill -9 $p; wait $p; test $? = 137 || exit; cd /\n"
                "until cat \"$XDG_STATE_HOME\"/nsrun/kept/*/2/entry 2>/dev/null; do %s run --project \"$HOME\"/o -- true 2>\"$HOME\"/err || exit; done\n"
                "cat \"$HOME\"/err; cd - >/dev/null; %s run -- cat .vscode/tasks.json; ls -A .vscode",
                program(), program(), program());
        _cleanup_free_ char *notes = text_of(
                "evil\nnsrun: note: what the command of an earlier run left here is kept aside: "
                "%s/.vscode\nnsrun: note: what the command of an earlier run left here is kept aside: "
                "%s/.envrc\nnsrun: note: 2 kept aside: nsrun review --project %s (--accept N takes one over)\ninside\n",
                s->project, s->project, s->project);
        _cleanup_outcome_ struct outcome o = {0};

        on_host(s, script, &o);
        collect_orphans();
        expect_status(&o, 0);
        assert_string_equal(o.out, notes);
}

#define FILL                                                                                  \
        "fill() { until [ -e ready ]; do :; done; mkdir t; truncate -s 17M t/mine\n"          \
        "mv t .github/hooks; while [ -e .github/hooks/mine ]; do :; done; }; mkdir .github\n" \
        "plain() { sed 's/-[0-9a-f]\\{16\\}/-X/; s/-[a-z0-9]*\\/away\\/[0-9a-f]*/-X/'; }\n"   \
        "look() { find . -name mine | sort | plain; }; "
#define IS_RENAMED \
        "can't be kept aside, and is renamed: %s/%s; look at it: if it is yours, give it its name again, else remove it\n"

/* More than is kept, or nothing that can be: in a folder above where its own is gone, and be that closed. */
TEST(what_cannot_be_kept_is_put_back) {
        static const char script[] = FILL
                "(fill; mkdir t; mkfifo t/mine; mv t .idea; while [ -e .idea/mine ]; do :; done; rm -r .github; >go) &\n"
                "%s run %s %s -- sh -c '>ready; until [ -e go ]; do :; done; chmod 555 .' 2>&1 | "
                "plain\nlook; rm -r .*.aside-* ready go";
        const char note[] = "nsrun: note: a protected name that came to be " IS_RENAMED;
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (unsigned way = 0; way < 2; way++) {
                _cleanup_free_ char *id = way > 0 ? START_PLAIN(s) : strdup(""),
                                    *text = text_of(script, program(), way > 0 ? "--session" : "", id),
                                    *hooks = text_of(note, s->project, ".hooks.aside-X"),
                                    *idea = text_of(note, s->project, ".idea.aside-X"),
                                    *all = text_of("%s%s./.hooks.aside-X/mine\n./.idea.aside-X/mine\n",
                                                   hooks, idea);

                on_host(s, text, &o);
                assert_string_equal(o.out, all);
                if (way > 0)
                        end_session(s, id, "stop");
        }
}

/* By whoever comes after a kill; where nothing takes it the run directory stays. */
TEST(what_cannot_be_kept_after_a_kill_is_put_back_or_stays) {
        static const char script[] =
                "git init -q ../o; git init -q p; cd p; " FILL
                "%s run -- sh -c '>ready; exec sleep 1000' & p=$!; fill; kill -9 $p; wait $p; rm -r .github; cd ..\n"
                "%s; next() { %s run --project ../o -- true 2>&1; }; until next >err; [ -s err ]; do :; done\n"
                "plain <err; look; (cd $XDG_CACHE_HOME/nsrun; look; [ ! -e */away ] || { cd ->/dev/null; next | cmp - err; })\n"
                "rm -rf $XDG_CACHE_HOME/nsrun/*/away/*; next; ls $XDG_CACHE_HOME/nsrun; rm -rf *";
        const char note[] = "nsrun: note: what came to be in an earlier run " IS_RENAMED;
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (unsigned way = 0; way < 2; way++) {
                _cleanup_free_ char *text = text_of(script, program(), way > 0 ? "rm -r p" : ":", program()),
                                    *at = path_of(way > 0 ? s->cache : s->project, way > 0 ? "nsrun" : "p"),
                                    *told = text_of(note, at, way > 0 ? "workspace-X" : ".hooks.aside-X"),
                                    *all = text_of("%s%s/mine\n", told,
                                                   way > 0 ? "./workspace-X" : "./p/.hooks.aside-X");

                on_host(s, text, &o);
                assert_string_equal(o.out, all);
                collect_orphans();
        }
}

/* Nothing can be kept where the folder for it is none: that is no work of the command's. */
TEST(without_a_store_what_is_made_is_renamed) {
        const struct site *s = *state;
        _cleanup_free_ char *text = text_of(
                "export XDG_STATE_HOME=$PWD/../f; >../f; mkdir .github; (%s run -- sh -c 'echo evil >.envrc\n"
                "while [ -e .envrc ]; do :; done; mkdir -p .github/d/x; chmod 500 .github/d; mv .github/d .github/hooks\n"
                "while [ -e .github/hooks ]; do :; done; mv .github g; ln -s g .github' 2>&1; cat .envrc.*) | "
                "sed 's/-[0-9a-f]\\{16\\}/-X/'",
                program());
        static const char note[] = "nsrun: note: a protected name that came to be " IS_RENAMED;
        _cleanup_free_ char *
                envrc = text_of(note, s->project, ".envrc.aside-X"),
               *link = text_of(note, s->project, ".github.aside-X"),
               *all = text_of(
                       "%snsrun: note: a protected name that came to be was taken away again by the command: %s/.github/hooks\n%sevil\n",
                       envrc, s->project, link);
        _cleanup_outcome_ struct outcome o = {0};

        on_host(s, text, &o);
        assert_string_equal(o.out, all);
}

/* It would be taken away again, and said to have been put there. */
TEST(nothing_is_accepted_while_a_sandbox_of_the_project_runs) {
        const struct site *s = *state;
        const char *const accept[] = {program(), "review", "--project", s->project, "--accept", "1", NULL};
        _cleanup_free_ char *id = START_PLAIN(s), *line = NULL;
        _cleanup_outcome_ struct outcome o = {0}, then = {0};

        JOIN_SCRIPT(s, id, &o, "echo evil >.envrc");
        run(&(struct request){.argv = accept, .cwd = s->root}, &o);
        line = text_of(
                "nsrun: sandbox %s, which runs there, would take it away again: %s/.envrc; wait for its "
                "end, or end it: 'nsrun ps' and 'nsrun stop' know it\n",
                id, s->project);
        assert_string_equal(o.err, line);
        end_session(s, id, "stop");
        run(&(struct request){.argv = accept, .cwd = s->root}, &then);
        expect_in(then.err, "nobody can be asked: ");
}

/* A mount goes with the name that it is on when somebody on the host replaces that, and comes back.  A
 * session takes no command after a hidden name was replaced. */
TEST(what_the_host_replaces_is_covered_again) {
        static const char setup[] =
                "rm -rf * .[a-z]*; git init -q .; mkdir .vscode; for f in .npmrc .env ro; do echo mine >$f; done\n";
        static const char replace[] =
                "git config branch.b.description host; for f in .npmrc ro; do echo new >n; mv n $f; done\n"
                "mv .vscode v; mkdir .vscode; rm -r .git/hooks; mkdir .git/hooks\n";
        static const char script[] =
                "echo evil >.envrc; while [ -e .envrc ]; do :; done; >ready\n"
                "until [ -e go ]; do :; done; until [ -L .git/config ]; do :; done\n"
                "git config core.fsmonitor evil; git config branch.c.description inside\n"
                "for f in .npmrc ro .vscode .git/hooks; do while [ -w $f ]; do :; done; done\n"
                "while grep -q new .env 2>/dev/null; do :; done\n"
                "(echo evil >>.npmrc) 2>/dev/null || echo re'fused'\n";
        static const char look[] =
                "cat .npmrc ro; find .vscode .git/hooks -type f; git config core.fsmonitor\n"
                "git config branch.b.description; git config branch.c.description\n";
        const struct site *s = *state;
        _cleanup_free_ char *ro = path_of(s->project, "ro");
        _cleanup_outcome_ struct outcome o = {0}, end = {0};

        for (unsigned way = 0; way < 4; way++) {
                _cleanup_free_ char *beside =
                        text_of("(until [ -e ready ]; do :; done; %s%s >go) >/dev/null 2>&1 &", replace,
                                way < 2 ? "echo new >n; mv n .env;" : "");

                make_repository(s, setup);
                if (way < 3)
                        on_host(s, beside, &o);
                if (way == 0)
                        RUN(s, &o, "--hide", ".env", "--ro", ro, "--", "sh", "-c", script);
                if (way == 1)
                        BASH(s, &o, "--hide", ".env", "--ro", ro, "--", script);
                if (way >= 2) {
                        _cleanup_free_ char *id = START(s, "--hide", ".env", "--ro", ro);

                        /* Between the session's commands. */
                        if (way == 3) {
                                make_repository(s,
                                                "echo x >.envrc; while [ -e .envrc ]; do sleep 0.01; done");
                                make_repository(s, replace);
                                make_repository(s, ">go");
                        }
                        JOIN_SCRIPT(s, id, &o, script);
                        SESSION(s, &end, "stop", id);
                        expect_status(&end, 0);
                }
                expect_in(o.out, "refused\n");
                /* The same is told once. */
                if (way == 0)
                        expect_in(o.err, "kept aside: core.fsmonitor: ");
                on_host(s, look, &o);
                expect_out(&o, "new\nnew\nhost\ninside\n");
                collect_orphans();
        }
}

/* git's lock lies open to the command, and so does the new file until it is covered: whoever wrote it, the
 * host gets at once what is harmless, and the rest never.  Meanwhile git's lock is held. */
TEST(what_the_hosts_configuration_becomes_is_judged_by_what_it_says) {
        static const char beside[] =
                "git config branch.a.description before; git config core.pager mine\n"
                "(until [ -e ready ]; do :; done; cp .git/config n; printf '# mine\\n[core]\\nfsmonitor = evil # mine\\n' >>n\n"
                "mv n .git/config; until git config branch.b.description host; do :; done; until git config --unset core.pager; do :; done\n"
                "while git config core.fsmonitor; do :; done; >go) >/dev/null 2>&1 &";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (unsigned way = 0; way < 3; way++) {
                const char *command =
                        way < 2 ? ">ready; until [ -e go ]; do :; done"
                                : ">ready; until [ -e go ]; do :; done; git config core.editor x";
                _cleanup_free_ char *id = NULL;

                make_repository(s, "rm -rf * .[a-z]*; git init -q .");
                on_host(s, beside, &o);
                if (way == 1) {
                        id = START_PLAIN(s);
                        JOIN_SCRIPT(s, id, &o, command);
                        SESSION(s, &o, "stop", id);
                } else
                        RUN(s, &o, "--", "sh", "-c", command);
                collect_orphans();
                /* And the editor, if the command wrote that before the host's last file was covered. */
                expect_in(o.err, "what the host or the command wrote to it is kept aside: core.fsmonitor");
                on_host(s,
                        "git config --get-regexp 'branch|pager|fsmonitor|editor'; grep -x '# mine' .git/config; "
                        "cat \"$XDG_STATE_HOME\"/nsrun/kept/*/1/entry | grep -c fsmonitor",
                        &o);
                expect_out(&o, "branch.a.description before\nbranch.b.description host\n# mine\n1\n");
        }
}

/* Once the host has written it the command may remove it, too. */
TEST(a_configuration_that_is_gone_in_the_end_is_as_it_was) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_repository(s, "git init -q . && git config remote.o.url https://o/o");
        on_host(s, "(until [ -e ready ]; do :; done; rm .git/config; >go) >/dev/null 2>&1 &", &o);
        RUN(s, &o, "--", "sh", "-c",
            "echo evil >.envrc; while [ -e .envrc ]; do :; done; >ready; until [ -e go ]; do :; done; echo evil >.git/config");
        collect_orphans();
        expect_in(
                o.err,
                "nsrun: note: it was removed while the command ran, by it or by others, and is as it was at the "
                "start: ");
        on_host(s, "git config remote.o.url; ls .git/config*", &o);
        expect_out(&o, "https://o/o\n.git/config\n");
}

/* It was opened under the name that the host's new file had before. */
TEST(a_descriptor_of_what_the_host_puts_there_is_good_for_nothing) {
        static const char setup[] =
                "rm -rf * .[a-z]*; git init -q .; echo mine >.npmrc; cp .git/config .git/n; echo new >n\n"
                "(until [ -e ready ]; do :; done; mv $f; >go) >/dev/null 2>&1 &";
        static const char script[] =
                "echo evil >.envrc; while [ -e .envrc ]; do :; done; exec 3>>$0; >ready; until [ -e go ]; do :; done\n"
                "while [ -e .npmrc ]; do :; done; echo evil >&3";
        const struct site *s = *state;
        _cleanup_free_ char *config = replaced(setup, "$f", ".git/n .git/config"),
                            *npmrc = replaced(setup, "$f", "n .npmrc");
        _cleanup_outcome_ struct outcome o = {0}, killed = {0};

        make_repository(s, npmrc);
        RUN(s, &o, "--", "sh", "-c", script, "n");
        expect_status(&o, 0);
        expect_in(o.err, "/.npmrc; --no-protect .npmrc lets it stay\n");
        collect_orphans();
        make_repository(s, config);
        RUN(s, &killed, "--", "sh", "-c", script, ".git/n");
        expect_status(&killed, 137);
        expect_in(killed.err,
                  "nsrun: note: the host has replaced this file, and it can't be kept from the command: the "
                  "sandbox is ended: ");
        collect_orphans();
        on_host(s, "git config core.bare; ! grep evil .git/config", &o);
        expect_out(&o, "false\n");
}

/* What the host replaces is told: the command could write it for a moment. */
TEST(a_name_that_changes_meanwhile_is_told) {
        const struct site *s = *state;
        _cleanup_free_ char *line = text_of(
                "nsrun: note: a protected name was changed while the command ran, by it or by others: %s/.npmrc\n",
                s->project);
        _cleanup_outcome_ struct outcome o = {0};

        make_repository(
                s,
                "echo mine >.npmrc; (until [ -e ready ]; do :; done; echo new >n; mv n .npmrc; >go) >/dev/null 2>&1 &");
        /* Once the names are watched. */
        RUN(s, &o, "--", "sh", "-c",
            "echo evil >.profile; while [ -e .profile ]; do :; done; >ready; until [ -e go ]; do :; done");
        collect_orphans();
        expect_in(o.err, line);
        expect_not_in(o.err, "/.npmrc; ");
}

/* What the host has removed no mount protects any more: what is made there is kept aside, be it as fast as
 * can be.  What the host moved away and back, or replaced, stays. */
TEST(what_the_host_removes_and_the_command_makes_is_kept_aside) {
        static const char beside[] =
                "(until [ -e ready ]; do :; done; rm -r .envrc .vscode .npmrc; mv .yarnrc y; mv y .yarnrc\n"
                "echo new >n; mv n .mcp.json; >go; until [ -e made ]; do :; done; ls -A >seen) >/dev/null 2>&1 &";
        static const char script[] =
                "gone() { while [ -e $1 ]; do :; done; echo $1; }\n"
                "echo evil >.profile; gone .profile; >ready\n"
                "until (set -C; echo evil >.npmrc) 2>/dev/null; do :; done; gone .npmrc; until [ -e go ]; do :; done\n"
                "echo evil >x; mv x .envrc; gone .envrc; mkdir v; echo evil >v/x; mv v .vscode\n"
                "until grep \" $PWD/.vscode \" /proc/self/mountinfo | grep -q /away/; do :; done; >made; until [ -e seen ]; do :; done\n";
        static const char look[] = "cat .yarnrc .mcp.json; ls -d .npmrc .envrc .vscode 2>/dev/null; cat "
                                   "\"$XDG_STATE_HOME\"/nsrun/kept/*/*/entry | sort | uniq -c | tr -d ' '";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_repository(s,
                        "for f in .envrc .npmrc .yarnrc .mcp.json; do echo mine >$f; done; mkdir .vscode");
        on_host(s, beside, &o);
        RUN(s, &o, "--", "sh", "-c", script);
        expect_out(&o, ".profile\n.npmrc\n.envrc\n");
        collect_orphans();
        expect_in(o.err, "/.envrc; --no-protect .envrc lets it stay\n");
        expect_not_in(o.err, "/.yarnrc; ");
        on_host(s, look, &o);
        expect_out(&o, "mine\nnew\n3evil\n");
}

/* Of some all is watched; of many who waits looks by itself. */
TEST(what_the_host_removes_in_nested_repositories_is_kept_aside) {
        static const char setup[] =
                "rm -rf * .[a-z]*; git init -q .; for i in $(seq $n); do cp -r .git t; mkdir s$i; mv t s$i/.git\n"
                "echo mine >s$i/.envrc; done; echo good >s1/.envrc\n"
                "(until [ -e ready ]; do :; done; rm s$n/.envrc) >/dev/null 2>&1 &";
        static const char script[] = "echo evil >.profile; while [ -e .profile ]; do :; done; >ready\n"
                                     "until (set -C; echo evil >s$0/.envrc) 2>/dev/null; do :; done";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (unsigned way = 0; way < 2; way++) {
                const char *n = way == 0 ? "8" : "150";
                _cleanup_free_ char *made = replaced(setup, "$n", n);

                make_repository(s, made);
                RUN(s, &o, "--", "sh", "-c", script, n);
                collect_orphans();
                expect_status(&o, 0);
                expect_in(o.err, "/.envrc lets it stay\n");
                on_host(s, "cat s*/.envrc | sort -u", &o);
                expect_out(&o, "good\nmine\n");
        }
}

/* Before anything is watched: the command ends at once, or stays until something is. */
TEST(what_the_host_removes_at_the_start_is_kept_aside) {
        static const char setup[] =
                "rm -rf * .[a-z]*; for f in .envrc .npmrc .yarnrc; do echo mine >$f; done\n"
                "(until [ -e ready ]; do :; done; rm .envrc; echo more >>.npmrc) >/dev/null 2>&1 &";
        static const char script[] =
                ">ready; until (set -C; echo evil >.envrc) 2>/dev/null; do :; done\n"
                "[ $0 = 0 ] || { echo evil >.profile; while [ -e .profile ]; do :; done; }";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (unsigned way = 0; way < 2; way++) {
                make_repository(s, setup);
                await_tick();
                RUN(s, &o, "--", "sh", "-c", script, way == 0 ? "0" : "1");
                collect_orphans();
                expect_status(&o, 0);
                expect_in(o.err, "/.envrc; --no-protect .envrc lets it stay\n");
                on_host(s, "[ ! -e .envrc ] && cat .npmrc .yarnrc", &o);
                expect_out(&o, "mine\nmore\nmine\n");
        }
}

/* The kernel tells so much at once, and then that it has lost count. */
TEST(what_the_host_removes_is_known_when_the_queue_is_full) {
        const struct site *s = *state;
        _cleanup_free_ char *script = text_of(
                "for f in .envrc .npmrc; do echo mine >$f; done\n"
                "%s run -- sh -c 'echo evil >.profile; while [ -e .profile ]; do :; done; >ready\n"
                "until (set -C; echo evil >.envrc) 2>/dev/null; do :; done; >made' 2>err & p=$!\n"
                "until [ -e ready ]; do :; done; kill -STOP $p\n"
                "seq -f x%%.0f $(cat /proc/sys/fs/inotify/max_queued_events) | xargs touch; rm .envrc\n"
                "until [ -e made ]; do :; done; kill -CONT $p; wait $p; rm x*; cat .npmrc err; ! [ -e .envrc ]",
                program());
        _cleanup_outcome_ struct outcome o = {0};

        on_host(s, script, &o);
        collect_orphans();
        expect_status(&o, 0);
        expect_in(o.out, "mine\n");
        expect_in(o.out, "/.envrc; --no-protect .envrc lets it stay\n");
}

int main(void) {
        return run_all_tests();
}

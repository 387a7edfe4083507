/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Protected folders that a command makes: inside they go on as it made them, the host has an empty folder
 * there while it runs, and nothing in the end. */
#include "bash.h"
#include "repository.h"
#include "session.h"

/* Until the folder is one that the host doesn't have. */
#define SHOWN "shown() { until grep -q \" $PWD/$1 \" /proc/self/mountinfo; do :; done; }\n"
#define KEPT_NOTE                                                                                                     \
        "nsrun: note: a protected name that came to be is kept aside (nsrun review --project %s --accept %d puts it " \
        "back): %s/%s; --no-protect %s lets it stay\n"

static char *note_of(const struct site *s, int number, const char *name) {
        return text_of(KEPT_NOTE, s->project, number, s->project, name, name);
}

TEST(a_folder_that_is_made_works_on_inside) {
        static const char script[] =
                SHOWN "mkdir .vscode; echo a >.vscode/settings.json; shown .vscode; echo b >.vscode/n\n"
                      "mv .vscode/n .vscode/m; mkdir .vscode/d; rm .vscode/settings.json\n"
                      "(cd .vscode; echo c >d/c; pwd -P; cd ..; pwd -P); find .vscode | sort; >ready\n"
                      "until [ -e go ]; do :; done; cat .vscode/m .vscode/d/c";
        static const char beside[] =
                "(until [ -e ready ]; do :; done; find .vscode >seen; ls -A >>seen; >go) >/dev/null 2>&1 &";
        static const char look[] =
                "cat seen; ls -A; cd \"$XDG_STATE_HOME\"/nsrun/kept/*/1/entry && find . | sort; cat m d/c";
        const struct site *s = *state;
        _cleanup_free_ char *note = note_of(s, 1, ".vscode"),
                            *inside = text_of(
                                    "%s/.vscode\n%s\n.vscode\n.vscode/d\n.vscode/d/c\n.vscode/m\nb\nc\n",
                                    s->project, s->project);
        _cleanup_outcome_ struct outcome o = {0}, seen = {0};

        for (unsigned way = 0; way < 4; way++) {
                _cleanup_free_ char *id = NULL;

                on_host(s, "rm -rf * .[a-z]* \"$XDG_STATE_HOME\"/nsrun/kept", &seen);
                on_host(s, beside, &seen);
                if (way == 0)
                        RUN(s, &o, "--", "sh", "-c", script);
                if (way == 1)
                        BASH(s, &o, "--", script);
                if (way == 2) {
                        id = START_PLAIN(s);
                        JOIN_SCRIPT(s, id, &o, script);
                }
                /* The control, which waits for no mount. */
                if (way == 3) {
                        RUN(s, &o, "--no-protect", ".vscode", "--", "sh", "-c",
                            "mkdir .vscode; echo a >.vscode/m; >ready; until [ -e go ]; do :; done");
                        collect_orphans();
                        on_host(s, "cat seen", &seen);
                        expect_out(&seen, ".vscode\n.vscode/m\n.vscode\nready\nseen\n");
                        return;
                }
                expect_status(&o, 0);
                expect_in(o.out, inside);
                expect_in(way == 1 ? o.out : o.err, way == 1 ? "/.vscode; --no-protect .vscode" : note);
                if (id)
                        end_session(s, id, "stop");
                collect_orphans();
                on_host(s, look, &seen);
                expect_out(&seen,
                           ".vscode\n.vscode\nready\nseen\ngo\nready\nseen\n.\n./d\n./d/c\n./m\nb\nc\n");
        }
}

/* Nor what stands for it, whatever the command does to the folders around it. */
TEST(nothing_is_left_of_it_in_folders_that_are_closed) {
        static const char *const closed[] = {
                "chmod 444 .", "chmod 555 .", "chmod 0 .", "chmod 0 .github", "chmod 555 .github; chmod 0 .",
                "true"};
        static const char script[] =
                SHOWN "mkdir .vscode .github .github/hooks; echo a >.vscode/a; echo b >.github/hooks/b\n"
                      "shown .vscode; shown .github/hooks; ";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0}, seen = {0};

        for (unsigned way = 0; way < 2; way++)
                for (size_t i = 0; i < ARRAY_SIZE(closed); i++) {
                        _cleanup_free_ char *id = way > 0 ? START_PLAIN(s) : NULL,
                                            *text = text_of("%s%s", script, closed[i]);

                        if (id)
                                JOIN_SCRIPT(s, id, &o, text);
                        else
                                RUN(s, &o, "--", "sh", "-c", text);
                        expect_status(&o, 0);
                        if (id)
                                end_session(s, id, "stop");
                        on_host(s,
                                "chmod 755 .; chmod 755 .github; find . ! -name '.github' | sort; rm -rf .github; "
                                "cat \"$XDG_STATE_HOME\"/nsrun/kept/*/*/entry/? | sort; rm -rf \"$XDG_STATE_HOME\"/nsrun/kept",
                                &seen);
                        expect_out(&seen, ".\na\nb\n");
                }
}

/* What is made meanwhile is no folder of the host's for others. */
TEST(another_run_starts_beside_it_and_leaves_it) {
        static const char script[] =
                SHOWN "mkdir .claude; echo a >.claude/settings.json; shown .claude; >ready\n"
                      "until [ -e go ]; do :; done; cat .claude/settings.json";
        const struct site *s = *state;
        _cleanup_free_ char *beside = text_of(
                "(until [ -e ready ]; do :; done; %s run -- true 2>&1; echo $? >>status; %s run -- sh -c 'mkdir .vscode; "
                "echo b >.vscode/b' >/dev/null 2>&1; echo $? >>status; >go) >status 2>&1 &",
                program(), program());
        _cleanup_outcome_ struct outcome o = {0}, seen = {0};

        on_host(s, beside, &seen);
        RUN(s, &o, "--", "sh", "-c", script);
        collect_orphans();
        expect_out(&o, "a\n");
        on_host(s, "cat status; ls -A", &seen);
        expect_out(&seen, "0\n0\ngo\nready\nstatus\n");
}

/* An agent's place in it isn't made meanwhile; and is when the folder is gone. */
TEST(an_agent_starts_beside_it) {
        static const char script[] = SHOWN "mkdir .claude; echo a >.claude/a; shown .claude; >ready\n"
                                           "until [ -e go ]; do :; done; ls -A .claude";
        const struct site *s = *state;
        _cleanup_free_ char *beside =
                text_of("(until [ -e ready ]; do :; done; %s run --agent=claude -- sh -c 'echo in; ls "
                        ".claude' >status 2>&1; echo $? >>status; >go) >/dev/null 2>&1 &",
                        program());
        _cleanup_outcome_ struct outcome o = {0}, seen = {0};

        on_host(s, beside, &seen);
        RUN(s, &o, "--", "sh", "-c", script);
        collect_orphans();
        expect_out(&o, "a\n");
        on_host(s, "cat status; ls -A", &seen);
        expect_out(&seen, "in\n0\ngo\nready\nstatus\n");
        RUN(s, &o, "--agent=claude", "--", "ls", ".claude");
        expect_out(&o, "worktrees\n");
        on_host(s, "rm -r \"$XDG_CACHE_HOME\"/nsrun/agents", &seen);
}

/* With a hard link, or of more than a few files, it may be the user's own, and no copy is made in a moment.
 */
TEST(what_is_not_copied_at_once_is_out_of_the_commands_reach) {
        static const char *const made[] = {
                "mkdir src; echo mine >src/f; cp -al src .vscode",
                "mkdir src; for i in $(seq 40); do echo mine >src/$i; done; mv src .vscode"};
        static const char script[] =
                "until [ -e .vscode ]; do :; done; while [ -e .vscode ]; do :; done; >gone\n"
                "rm -rf .vscode; mkdir src 2>/dev/null; rm -f src/f";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0}, seen = {0};

        for (size_t i = 0; i < ARRAY_SIZE(made); i++) {
                _cleanup_free_ char *beside =
                                            text_of("(until [ -e ready ]; do :; done; %s) >/dev/null 2>&1 &",
                                                    made[i]),
                                    *whole = text_of(">ready; %s", script);

                on_host(s, "rm -rf * .[a-z]* \"$XDG_STATE_HOME\"/nsrun/kept", &seen);
                on_host(s, beside, &seen);
                RUN(s, &o, "--", "sh", "-c", whole);
                collect_orphans();
                expect_status(&o, 0);
                on_host(s, "test -e gone; grep -rhs mine . \"$XDG_STATE_HOME\"/nsrun/kept | sort | uniq",
                        &seen);
                expect_out(&seen, "mine\n");
        }
}

/* What `npx husky init` does: git runs the hook inside, and the host has neither that nor the setting. */
TEST_WITH(hooks_that_are_made_run_inside, repository_setup, site_teardown) {
        static const char script[] = SHOWN
                "mkdir .husky; git config core.hooksPath .husky/_; mkdir .husky/_; echo '*' >.husky/_/.gitignore\n"
                "printf '#!/bin/sh\\n. .husky/$(basename $0)\\n' >.husky/_/h; chmod +x .husky/_/h; cp .husky/_/h .husky/_/pre-commit\n"
                "echo 'echo hook runs >&2; ls .husky' >.husky/pre-commit; shown .husky; >f; git add f && git commit -qm f\n"
                "echo 'echo again >&2' >.husky/n; mv .husky/n .husky/pre-commit; >g; git add g && git commit -qm g 2>&1";
        const struct site *s = *state;
        _cleanup_free_ char *note = note_of(s, 1, ".husky");
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        RUN(s, &o, "--", "sh", "-c", script);
        expect_status(&o, 0);
        expect_in(o.err, "hook runs\n");
        expect_in(o.err, "pre-commit\n");
        expect_in(o.out, "again\n");
        expect_in(o.err, note);
        on_host(s, "git log --format=%s; git config core.hooksPath; ls -A", &o);
        expect_in(o.out, "g\nf\n");
        expect_not_in(o.out, "husky");
        /* And in the next run. */
        RUN(s, &o, "--", "sh", "-c", "cat .husky/pre-commit; >h; git add h && git commit -qm h 2>&1");
        expect_out(&o, "echo again >&2\nagain\n");
        on_host(s, "ls -A", &o);
        expect_out(&o, ".git\nf\ng\nh\n");
}

TEST(why_it_can_not_be_removed_is_told) {
        static const char script[] = SHOWN "mkdir .vscode; echo a >.vscode/a; shown .vscode; rm -r .vscode";
        const struct site *s = *state;
        _cleanup_free_ char *reason =
                text_of("reason: %s/.vscode is protected, since programs on the host obey it: "
                        "--no-protect .vscode lifts that",
                        s->project);
        _cleanup_outcome_ struct outcome o = {0};

        BASH(s, &o, "--", script);
        expect_in(o.out, "rm: cannot remove '.vscode': Device or resource busy\n");
        expect_in(o.out, reason);
        RUN(s, &o, "--explain", "--", "sh", "-c", script);
        expect_status(&o, 1);
        expect_in(o.err, reason);
        RUN(s, &o, "--explain", "--no-protect", ".vscode", "--", "sh", "-c",
            "mkdir .vscode; echo a >.vscode/a; rm -r .vscode");
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
}

/* Another command of the session sees it, and doesn't end it; nor does one that comes after the one that has
 * left a process, whose folder the monitor has taken away. */
TEST_OF_SESSIONS(a_sessions_other_commands_see_the_folder) {
        static const char first
                [] = SHOWN "mkdir .vscode; echo a >.vscode/a; shown .vscode; >ready\n"
                           "until [ -e .vscode/b ]; do :; done; cat .vscode/b",
           second[] =
                   "until [ -e ready ]; do :; done; cat .vscode/a; echo b >.vscode/t; mv .vscode/t .vscode/b",
           behind[] = SHOWN "setsid sh -c 'until [ -e go ]; do sleep 0.01; done; mkdir .idea\n"
                            "echo x >.idea/x' >/dev/null 2>&1 </dev/null &";
        const struct site *s = *state;
        _cleanup_free_ char *
                id = START_PLAIN(s),
               *text = text_of("%s run --session %s -- sh -c '%s' & %s run --session %s -- sh -c '%s'; wait",
                               program(), id, first, program(), id, second);
        _cleanup_outcome_ struct outcome o = {0};

        on_host(s, text, &o);
        expect_in(o.out, "a\n");
        expect_in(o.out, "b\n");
        expect_in(o.err, "/.vscode; --no-protect .vscode lets it stay\n");
        on_host(s, "ls -A; ls \"$XDG_STATE_HOME\"/nsrun/kept/*/1/entry", &o);
        expect_out(&o, ".vscode\nready\na\nb\n");
        JOIN_SCRIPT(s, id, &o, "cat .vscode/a .vscode/b");
        expect_out(&o, "a\nb\n");
        assert_string_equal(o.err, "");
        JOIN_SCRIPT(s, id, &o, behind);
        on_host(s,
                ">go; until [ -d .idea ] && [ ! -e .idea/x ] && [ \"$(stat -c %a .idea)\" = 1700 ]; do sleep 0.01; done",
                &o);
        for (unsigned i = 0; i < 2; i++) {
                JOIN_SCRIPT(s, id, &o, "cat .idea/*; echo $? >.idea/y");
                expect_out(&o, i == 0 ? "x\n" : "x\n0\n");
                assert_string_equal(o.err, "");
        }
        on_host(s, "ls -A .idea", &o);
        expect_out(&o, "");
        SESSION(s, &o, "stop", id);
        expect_in(o.err, "/.idea; --no-protect .idea lets it stay\n");
        collect_orphans();
        on_host(s, "ls -A; ls \"$XDG_STATE_HOME\"/nsrun/kept/*/2/entry", &o);
        expect_out(&o, "go\nready\nx\ny\n");
}

/* What somebody makes on the host in the empty folder is no more the user's, for all that is known, than
 * what the command makes there from a mount namespace of its own: it is kept aside, and inside nothing
 * changes. */
TEST(what_comes_to_be_in_the_empty_folder_is_taken_away_too) {
        static const char
                script[] = SHOWN
                "mkdir .vscode; echo a >.vscode/a; shown .vscode; >ready; until [ -e go ]; do :; done\n"
                "ls .vscode; echo b >.vscode/b; cat .vscode/a",
                beside[] =
                        "(until [ -e ready ]; do :; done; echo mine >.vscode/mine\n"
                        "while [ -e .vscode/mine ]; do :; done; ls -d .vscode >seen; >go) >/dev/null 2>&1 &",
                own[] = SHOWN "(unshare -Um sh -c 'until [ -e ready ]; do :; done; echo mine >.vscode/mine\n"
                              "while [ -e .vscode/mine ]; do :; done; ls -d .vscode >seen; >go') &\n";
        const struct site *s = *state;
        _cleanup_free_ char *both = text_of("%s%s", own, script);
        _cleanup_outcome_ struct outcome o = {0}, seen = {0};

        for (unsigned way = 0; way < 2; way++) {
                on_host(s, "rm -rf * .[a-z]* \"$XDG_STATE_HOME\"/nsrun/kept", &seen);
                if (way == 0) {
                        on_host(s, beside, &seen);
                        RUN(s, &o, "--", "sh", "-c", script);
                } else
                        RUN(s, &o, "--seccomp=nested", "--", "sh", "-c", both);
                collect_orphans();
                expect_status(&o, 0);
                expect_in(o.out, "a\na\n");
                expect_in(o.err, "nsrun: note: 2 kept aside: ");
                on_host(s, "cat seen; ls -A; cat \"$XDG_STATE_HOME\"/nsrun/kept/*/*/entry/*", &seen);
                expect_out(&seen, ".vscode\ngo\nready\nseen\na\nb\nmine\n");
        }
}

/* Somebody on the host may have made the folder itself: what it was then is kept, whatever the command does
 * to it. */
TEST(what_the_folder_was_at_first_is_kept) {
        static const char beside[] =
                "(until [ -e ready ]; do :; done; mkdir t; echo mine >t/f; mv t .vscode) >/dev/null 2>&1 &",
                          look[] = "cat \"$XDG_STATE_HOME\"/nsrun/kept/*/*/entry/* | sort; ls -A";
        static const char *const scripts[] = {"echo evil >.vscode/f", "rm .vscode/f; echo evil >.vscode/g",
                                              "echo good >.vscode/g"};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0}, seen = {0};

        for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
                _cleanup_free_ char *script = text_of(SHOWN ">ready; shown .vscode; %s", scripts[i]),
                                    *note = note_of(s, 1, ".vscode"), *other = note_of(s, 2, ".vscode");

                on_host(s, "rm -rf * .[a-z]* \"$XDG_STATE_HOME\"/nsrun/kept", &seen);
                on_host(s, beside, &seen);
                RUN(s, &o, "--", "sh", "-c", script);
                collect_orphans();
                expect_status(&o, 0);
                expect_in(o.err, note);
                (i < 2 ? expect_in : expect_not_in)(o.err, other);
                on_host(s, look, &seen);
                expect_out(&seen, i < 2 ? "evil\nmine\nready\n" : "good\nmine\nready\n");
        }
}

/* The empty folder is that of a sandbox that lives, and no run that ends, or comes after a kill, removes it;
 * nor one that is the user's own. */
TEST(an_empty_folder_of_who_lives_stays) {
        static const char script[] =
                "git init -q; %s run -- sh -c '" SHOWN
                "mkdir .vscode; echo a >.vscode/a; shown .vscode; >first; exec sleep 1000' & p=$!\n"
                "until [ -e first ]; do :; done; kill -STOP $p; rmdir .vscode\n"
                "%s run -- sh -c '" SHOWN "mkdir .vscode; echo b >.vscode/b; shown .vscode; >second\n"
                "until [ -e go ]; do :; done; ls .vscode' 2>/dev/null & q=$!\n"
                "until [ -e second ]; do :; done; kill -9 $p; wait $p\n"
                "until cat \"$XDG_STATE_HOME\"/nsrun/kept/*/1/entry/a 2>/dev/null; do %s run -- true 2>/dev/null; done\n"
                "stat -c %%a .vscode; >go; wait $q; ls -A";
        const struct site *s = *state;
        _cleanup_free_ char *text = text_of(script, program(), program(), program());
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        on_host(s, text, &o);
        collect_orphans();
        expect_out(&o, "a\n1700\nb\n.git\nfirst\ngo\nsecond\n");
}

TEST_OF_SESSIONS(a_sessions_empty_folder_stays_between_its_commands) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s);
        _cleanup_outcome_ struct outcome o = {0};

        JOIN_SCRIPT(s, id, &o, SHOWN "mkdir .vscode; echo a >.vscode/a; shown .vscode");
        expect_status(&o, 0);
        RUN(s, &o, "--", "true");
        expect_status(&o, 0);
        on_host(s, "ls -A . .vscode", &o);
        expect_out(&o, ".:\n.vscode\n\n.vscode:\n");
        JOIN_SCRIPT(s, id, &o, "cat .vscode/a");
        expect_out(&o, "a\n");
        end_session(s, id, "stop");
        on_host(s, "ls -A", &o);
        expect_out(&o, "");
}

TEST(an_empty_folder_of_that_mode_is_the_users) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        on_host(s, "mkdir -m 1700 .vscode; mkdir -m 1700 .claude", &o);
        RUN(s, &o, "--agent=claude", "--", "sh", "-c",
            "echo a >.vscode/a; cat .vscode/a; cd .claude; echo b >b; cat b");
        expect_out(&o, "a\nb\n");
        expect_in(o.err, "2 kept aside");
        on_host(s, "ls -A . .vscode .claude; stat -c %a .vscode; rm -r \"$XDG_CACHE_HOME\"/nsrun/agents",
                &o);
        expect_out(&o, ".:\n.claude\n.vscode\n\n.claude:\n\n.vscode:\n1700\n");
}

/* Whose it is a command may claim, too: of that nothing is opened but a run directory, nor left. */
TEST(a_forged_owner_keeps_no_empty_folder) {
        static const char *const owners[] = {"/", "/proc/1/root", "/nowhere/nsrun/workspace-abcdef", "."};
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(owners); i++) {
                _cleanup_outcome_ struct outcome o = {0};

                RUN(s, &o, "--", "python3", "-c",
                    "import os, sys; os.mkdir('.claude'); os.setxattr('.claude', 'user.nsrun.placeholder', sys.argv[1].encode()); os.chmod('.claude', 0o1700)",
                    owners[i]);
                expect_status(&o, 0);
                on_host(s, "ls -A", &o);
                expect_out(&o, "");
        }
}

/* The next run finds nothing there, and removes the empty folder. */
TEST(a_kill_leaves_no_empty_folder_for_long) {
        static const char script[] =
                "git init -q; %s run -- sh -c '" SHOWN
                "mkdir .vscode; echo a >.vscode/a; shown .vscode; >ready; exec sleep 1000' & p=$!\n"
                "until [ -e ready ]; do :; done; kill -9 $p; wait $p; ls -A; ls -A .vscode\n"
                "until cat \"$XDG_STATE_HOME\"/nsrun/kept/*/1/entry/a 2>/dev/null; do %s run -- ls -A .vscode 2>err; done\n"
                "sed '/^ls/d' err; ls -A";
        const struct site *s = *state;
        _cleanup_free_ char *
                text = text_of(script, program(), program()),
               *all = text_of(
                       ".git\n.vscode\nready\na\n"
                       "nsrun: note: what the command of an earlier run left here is kept aside: %s/.vscode\n"
                       "nsrun: note: 1 kept aside: nsrun review (--accept N takes one over)\n"
                       ".git\nerr\nready\n",
                       s->project);
        _cleanup_outcome_ struct outcome o = {0};

        on_host(s, text, &o);
        collect_orphans();
        assert_string_equal(o.out, all);
}

/* Where the run directory lies on another file system the folder is renamed, and gone inside. */
TEST(where_no_folder_can_be_exchanged_it_is_gone_at_once) {
        static const char script[] =
                "export XDG_CACHE_HOME=/dev/shm/$$; %s run -- sh -c 'mkdir .vscode; echo a >.vscode/a\n"
                "while [ -e .vscode ]; do :; done; ls -A' 2>&1; ls -A; rm -r /dev/shm/$$";
        const struct site *s = *state;
        _cleanup_free_ char *text = text_of(script, program()),
                            *all = text_of(
                                    ".vscode.aside-0\n" KEPT_NOTE
                                    "nsrun: note: 1 kept aside: nsrun review (--accept N takes one over)\n",
                                    "", 1, s->project, ".vscode", ".vscode");
        _cleanup_free_ char *here = replaced(all, "--project  --accept", "--accept");
        _cleanup_outcome_ struct outcome o = {0};

        on_host(s, text, &o);
        assert_string_equal(o.out, here);
}

/* Eight processes that move whatever appears in the folder, and exchange the name for links and others: the
 * host has nothing to read there, and nothing outside changes. */
TEST(a_race_for_the_folder_reaches_nothing) {
        static const char script[] =
                "(while [ ! -e stop ]; do mv -T .aside-* caught 2>/dev/null; rm -rf caught; done) &\n"
                "(while [ ! -e stop ]; do for f in .aside-[0-9a-f]*; do ln -s ../outside l 2>/dev/null; mv -T l $f; done 2>/dev/null; done) &\n"
                "for p in 1 2 3 4 5 6; do (for i in $(seq 60); do mkdir d$p; echo evil >d$p/evil; ln -s ../outside l$p\n"
                "mv -T d$p .vscode; mv -T .vscode x$p.$i; mv -T l$p .vscode; mv -T .vscode y$p.$i; echo evil >.vscode/evil\n"
                "rm -rf d$p l$p; done) 2>/dev/null & w=\"$w $!\"; done; wait $w; >stop; wait";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->outside, "mine", "mine\n");
        RUN(s, &o, "--", "sh", "-c", script);
        expect_status(&o, 0);
        expect_in(o.err, " kept aside: nsrun review --project ");
        on_host(s,
                "rm -f ../outside/evil; ls -A ../outside; cat ../outside/mine; ls -d .vscode; find . -perm 1700 | wc -l",
                &o);
        expect_out(&o, "mine\nmine\n0\n");
}

/* What the host replaces is covered by mounts from outside, beneath the sandbox's root, whatever a command's
 * own root is.  In root's sandbox nobody can map a user of a namespace of his own. */
TEST_IF(geteuid() != 0, a_command_with_another_root_is_covered_too, site_setup, site_teardown) {
        static const char script
                [] = "exec unshare -Ur perl -e 'use filetest \"access\";\n"
                     "sub made { return \"$_[0]: $!\\n\" if !open(my $f, \">\", $_[0]); print $f 1; \"made $_[0]\\n\" }\n"
                     "chroot(\"/usr\") or die; made(\".npmrc\"); 1 while -e \".npmrc\"; made(\"ready\"); 1 until -e \"go\";\n"
                     "1 while -w \".envrc\"; print made(\".envrc\"), made(\"plain\")'",
          beside[] = "(until [ -e ready ]; do :; done; echo new >n; mv n .envrc; >go) >/dev/null 2>&1 &";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0}, seen = {0};

        if (!has_program("perl"))
                skip_because("skipped: there is no perl");
        for (unsigned way = 0; way < 2; way++) {
                on_host(s, "rm -rf * .[a-z]*; echo mine >.envrc", &seen);
                on_host(s, beside, &seen);
                if (way == 0)
                        RUN(s, &o, "--seccomp=nested", "--", "sh", "-c", script);
                if (way == 1) {
                        _cleanup_free_ char *id = START(s, "--seccomp=nested");

                        JOIN_SCRIPT(s, id, &o, script);
                        SESSION(s, &seen, "stop", id);
                }
                expect_out(&o, ".envrc: Read-only file system\nmade plain\n");
                collect_orphans();
                on_host(s, "cat .envrc", &seen);
                expect_out(&seen, "new\n");
        }
}

int main(void) {
        return run_all_tests();
}

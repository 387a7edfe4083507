/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is kept aside of protected folders that the host hasn't, in the runs that come after. */
#include "bash.h"
#include "repository.h"
#include "session.h"

/* Until the folder is one that the host doesn't have. */
#define SHOWN   "shown() { until grep -q \" $PWD/$1 \" /proc/self/mountinfo; do :; done; }\n"
#define CHANGED "what the command changed in this folder is kept aside: %s/.vscode\n"
#define LACKING \
        "what is kept aside of this folder wasn't there: the host has got one, or another sandbox had it: %s/.vscode\n"

static void keep_a_folder(const struct site *s) {
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--", "sh", "-c", SHOWN "mkdir t; echo a >t/a; mv t .vscode; shown .vscode");
        expect_status(&o, 0);
        expect_in(o.err, "1 kept aside");
}

/* What is kept aside of a folder that the host hasn't is there again inside, by each way to run a command;
 * what becomes of it takes its place, and the host has nothing but an empty folder meanwhile. */
TEST(a_kept_folder_is_there_again) {
        static const char
                first[] = SHOWN "mkdir .vscode; echo a >.vscode/a; shown .vscode; mkdir .vscode/d",
                script[] = "find .vscode | sort; echo b >.vscode/b; rmdir .vscode/d; >ready; "
                           "until [ -e go ]; do :; done",
                beside[] = "(until [ -e ready ]; do :; done; find .vscode >seen; >go) >/dev/null 2>&1 &",
                look[] = "cat seen; ls -A; cd \"$XDG_STATE_HOME\"/nsrun/kept/*; ls; find 1/entry | sort";
        const struct site *s = *state;
        _cleanup_free_ char *plans = NULL, *note = text_of(CHANGED, s->project);
        _cleanup_outcome_ struct outcome o = {0}, seen = {0};

        for (unsigned way = 0; way < 3; way++) {
                _cleanup_free_ char *id = NULL;

                on_host(s, "rm -rf * .[a-z]* \"$XDG_STATE_HOME\"/nsrun/kept", &seen);
                RUN(s, &o, "--", "sh", "-c", first);
                expect_in(o.err, "1 kept aside");
                on_host(s, beside, &seen);
                if (way == 0)
                        RUN(s, &o, "--", "sh", "-c", script);
                if (way == 1)
                        BASH(s, &o, "--", script);
                if (way == 2) {
                        id = START_PLAIN(s);
                        JOIN_SCRIPT(s, id, &o, script);
                        JOIN_SCRIPT(s, id, &seen, "ls .vscode");
                        expect_out(&seen, "a\nb\n");
                        SESSION(s, &seen, "stop", id);
                        expect_in(seen.err, note);
                }
                expect_status(&o, 0);
                expect_in(o.out, ".vscode\n.vscode/a\n.vscode/d\n");
                if (way < 2)
                        expect_in(way == 0 ? o.err : o.out, note);
                collect_orphans();
                on_host(s, look, &seen);
                expect_out(&seen, ".vscode\ngo\nready\nseen\n1\n1/entry\n1/entry/a\n1/entry/b\n");
                RUN(s, &o, "--", "sh", "-c", "ls .vscode");
                expect_out(&o, "a\nb\n");
                assert_string_equal(o.err, "");
                RUN(s, &o, "--no-protect", ".vscode", "--", "sh", "-c", "ls -d .vscode || mkdir .vscode");
                assert_string_equal(o.out, "");
                expect_in(o.err, "'.vscode': No such file or directory");
                on_host(s, "rmdir .vscode", &seen);
        }
        plans = text_of(
                "for f in bwrap oci; do %s plan --format=$f -- true | grep -c .vscode; done; %s plan -- true | grep -o .vscode",
                program(), program());
        run_outside(s, &seen, plans);
        expect_out(&seen, "0\n0\n.vscode\n");
        RUN(s, &o, "--", "sh", "-c", "rm .vscode/*");
        on_host(s, "ls -A \"$XDG_STATE_HOME\"/nsrun/kept/*", &seen);
        expect_out(&seen, "");
}

/* A killed run leaves an empty folder, and what it has made of the kept one. */
TEST(a_kept_folder_outlives_a_kill) {
        static const char script[] =
                "git init -q; %s run -- sh -c '" SHOWN
                "mkdir .vscode; echo a >.vscode/a; shown .vscode' 2>/dev/null\n"
                "%s run -- sh -c 'echo b >.vscode/b; echo c >.envrc; while [ -e .envrc ]; do :; done; >ready; exec sleep 1000' & p=$!\n"
                "until [ -e ready ]; do :; done; kill -9 $p; wait $p; ls -A .vscode\n"
                "until [ -e \"$XDG_STATE_HOME\"/nsrun/kept/*/1/entry/b ]; do %s run -- true 2>/dev/null; done\n"
                "%s run -- cat .vscode/a .vscode/b; ls -A";
        const struct site *s = *state;
        _cleanup_free_ char *text = text_of(script, program(), program(), program(), program());
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        on_host(s, text, &o);
        collect_orphans();
        expect_out(&o, "a\nb\n.git\nready\n");
}

/* One sandbox at a time has it; the other is told so, and neither takes anything from the other. */
TEST(who_comes_second_finds_an_empty_folder_and_is_told) {
        static const char
                first[] = "ls .vscode; >ready; until [ -e go ]; do :; done; ls .vscode; >.vscode/b",
                script[] = "%s run -- sh -c '%s' & p=$!\n"
                           "until [ -e ready ]; do :; done; %s run -- sh -c 'ls -A .vscode && echo second'\n"
                           "ls -A .vscode; >go; wait $p; rm go ready; ls -A; %s run -- ls .vscode";
        const struct site *s = *state;
        _cleanup_free_ char *text = text_of(script, program(), first, program(), program()),
                            *changed = text_of(CHANGED, s->project), *lacking = text_of(LACKING, s->project);
        _cleanup_outcome_ struct outcome o = {0};

        keep_a_folder(s);
        run_outside(s, &o, text);
        collect_orphans();
        expect_out(&o, "a\nsecond\na\na\nb\n");
        expect_in(o.err, lacking);
        expect_in(o.err, changed);
        on_host(s, "ls \"$XDG_STATE_HOME\"/nsrun/kept/*", &o);
        expect_out(&o, "1\n");
}

/* What the other makes there is taken out of the empty folder, and not with it: once as it comes to be, and
 * once when the command has ended. */
TEST(what_is_made_in_anothers_empty_folder_is_taken_out) {
        static const char first
                [] = "ls .vscode; >ready; until [ -e go ]; do :; done; ls .vscode; >.vscode/c",
           script[] =
                   "%s run -- sh -c '%s' & p=$!; until [ -e ready ]; do :; done; kill -STOP $p\n"
                   "%s run -- sh -c 'echo z >.vscode/z; while [ -e .vscode/z ]; do :; done'; ls -A .vscode\n"
                   "%s run -- sh -c 'echo y >.vscode/y'; ls -A .vscode\n"
                   "kill -CONT $p; >go; wait $p; rm go ready; ls -A\n"
                   "cd \"$XDG_STATE_HOME\"/nsrun/kept/*; ls */entry/*";
        const struct site *s = *state;
        _cleanup_free_ char *text = text_of(script, program(), first, program(), program());
        _cleanup_outcome_ struct outcome o = {0};

        keep_a_folder(s);
        run_outside(s, &o, text);
        collect_orphans();
        expect_out(&o, "a\na\n1/entry/a\n1/entry/c\n2/entry/z\n3/entry/y\n");
        expect_not_in(o.err, "the host has removed or filled");
}

/* Names of files, which an empty folder would break, and of other folders than git's hooks in a git dir. */
TEST_WITH(a_folder_by_the_name_of_a_file_stays_away, repository_setup, site_teardown) {
        static const char script[] = SHOWN
                "for n in .npmrc .git/commondir .git/hooks .vscode; do mkdir $n; >$n/x; shown $n; done";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        on_host(s, "rm -r .git/hooks", &o);
        RUN(s, &o, "--", "sh", "-c", script);
        expect_in(o.err, "4 kept aside");
        RUN(s, &o, "--", "sh", "-c",
            "ls -d .npmrc .git/commondir .git/hooks/* .vscode/* 2>/dev/null; ls -A");
        expect_out(&o, ".git/hooks/x\n.vscode/x\n.git\n.vscode\n");
        assert_string_equal(o.err, "");
        on_host(s, "ls -d .git/hooks; ls -A", &o);
        expect_out(&o, ".git\n");
}

/* What was asked for by name goes before, and the host's own folder. */
TEST(what_else_is_shown_there_stays_so) {
        static const char *const hide[] = {".vscode", "/.vs*", "**/.vscode/", "?vscode"};
        const struct site *s = *state;
        _cleanup_free_ char *
                some = text_of(
                       "nsrun: note: what is kept aside of this folder wasn't there: --hide names some of it: %s/.vscode\n",
                       s->project),
               *named = text_of(
                       "nsrun: note: what is kept aside of %s/.vscode isn't there: --hide names it\n",
                       s->project);
        _cleanup_outcome_ struct outcome o = {0};

        keep_a_folder(s);
        for (size_t i = 0; i < ARRAY_SIZE(hide); i++) {
                RUN(s, &o, "--hide", hide[i], "--", "ls", ".vscode");
                expect_status(&o, 2);
                expect_in(o.err, "cannot access '.vscode': No such file or directory");
                expect_in(o.err, named);
        }
        RUN(s, &o, "--hide", ".vscode/b", "--hide", ".vs", "--", "ls", ".vscode");
        expect_out(&o, "a\n");
        RUN(s, &o, "--hide", "**/a", "--", "ls", ".vscode");
        expect_status(&o, 2);
        expect_in(o.err, some);
        on_host(s, "mkdir .vscode; >.vscode/own", &o);
        RUN(s, &o, "--", "ls", ".vscode");
        expect_out(&o, "own\n");
        on_host(s, "rm -r .vscode; ls \"$XDG_STATE_HOME\"/nsrun/kept/*", &o);
        expect_out(&o, "1\n");
        RUN(s, &o, "--", "ls", ".vscode");
        expect_out(&o, "a\n");
        assert_string_equal(o.err, "");
}

/* A sandbox in a sandbox can't see whose it is, and takes nothing from who lives. */
TEST_IF(geteuid() != 0, a_sandbox_in_a_sandbox_leaves_it, site_setup, site_teardown) {
        static const char command
                [] = ">ready; until [ -e go ]; do :; done; ls .vscode",
         script[] =
                 "%s run -- sh -c '%s' & p=$!; until [ -e ready ]; do :; done\n"
                 "%s run --seccomp=nested --ro %s --unsetenv XDG_CACHE_HOME --unsetenv XDG_RUNTIME_DIR "
                 "--unsetenv XDG_STATE_HOME -- %s run -- ls -A .vscode && >go; wait $p; rm ready go; ls -A";
        const struct site *s = *state;
        _cleanup_free_ char *text = text_of(script, program(), command, program(), program(), program());
        _cleanup_outcome_ struct outcome o = {0};

        keep_a_folder(s);
        run_outside(s, &o, text);
        collect_orphans();
        expect_out(&o, "a\n");
}

/* Each starts, whatever goes with another's end. */
TEST(many_at_once_start) {
        static const char script[] =
                "for k in 1 2 3 4; do (for n in 1 2 3 4 5 6 7 8; do %s run -- true || echo failed; done) & done "
                "2>err; wait; rm err; ls -A";
        const struct site *s = *state;
        _cleanup_free_ char *text = text_of(script, program());
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--", "sh", "-c",
            SHOWN "for n in .vscode .husky .idea .zed; do mkdir t; echo a >t/a; mv t $n; shown $n; done");
        expect_in(o.err, "4 kept aside");
        run_outside(s, &o, text);
        collect_orphans();
        expect_out(&o, "");
}

/* Of a folder that the host has, two that end at once have both theirs. */
TEST(two_that_change_the_hosts_folder_lose_nothing) {
        static const char script[] =
                "mkdir .vscode; >.vscode/own; %s run -- sh -c '>.vscode/0'\n"
                "for i in 1 2 3 4 5 6; do for k in a b; do %s run -- sh -c 'until [ -e go ]; do :; done; >.vscode/$0' $k$i & done\n"
                ">go; wait; rm go; done 2>err; %s run -- ls .vscode | wc -w";
        const struct site *s = *state;
        _cleanup_free_ char *text = text_of(script, program(), program(), program());
        _cleanup_outcome_ struct outcome o = {0};

        run_outside(s, &o, text);
        collect_orphans();
        expect_out(&o, "14\n");
}

/* What one has removed and another one changes or makes meanwhile is kept as both leave it. */
TEST(what_two_do_with_the_hosts_folder_is_one) {
        static const char script[] =
                "mkdir .vscode; echo x >.vscode/x; echo y >.vscode/y\n"
                "%s run -- sh -c 'until [ -e go ]; do :; done; rm .vscode/x .vscode/y' & p=$!\n"
                "%s run -- sh -c 'echo A >.vscode/x; echo n >.vscode/n'; >go; wait $p; rm go\n"
                "%s run -- sh -c 'ls .vscode'";
        const struct site *s = *state;
        _cleanup_free_ char *text = text_of(script, program(), program(), program());
        _cleanup_outcome_ struct outcome o = {0};

        run_outside(s, &o, text);
        collect_orphans();
        expect_out(&o, "n\n");
        on_host(s, "head .vscode/*", &o);
        expect_out(&o, "==> .vscode/x <==\nx\n\n==> .vscode/y <==\ny\n");
}

/* Nor is anything of what --hide names given where the host has the folder. */
TEST(what_is_hidden_is_not_there_again) {
        static const char *const hide[] = {".vscode/tok", "tok", "*.pem", ".vscode/d", ".vscode/d/*"},
                                 *const keeps[] = {".vscode/other", "build/*", "/nowhere/.vscode"};
        const struct site *s = *state;
        _cleanup_free_ char *hidden = text_of(
                "nsrun: note: what is kept aside of this folder wasn't there: --hide names some of it: %s/.vscode\n",
                s->project);
        _cleanup_outcome_ struct outcome o = {0};

        on_host(s, "mkdir .vscode; echo s >.vscode/s.pem", &o);
        RUN(s, &o, "--", "sh", "-c", "cd .vscode; echo c >s.pem; echo t >tok; mkdir d; echo d >d/f");
        for (size_t i = 0; i < ARRAY_SIZE(hide); i++) {
                RUN(s, &o, "--hide", hide[i], "--", "sh", "-c", "cat .vscode/tok .vscode/d/f");
                expect_status(&o, 1);
                assert_string_equal(o.out, "");
                expect_in(o.err, hidden);
        }
        for (size_t i = 0; i < ARRAY_SIZE(keeps); i++) {
                RUN(s, &o, "--hide", keeps[i], "--", "sh", "-c", "cat .vscode/tok .vscode/d/f");
                expect_out(&o, "t\nd\n");
                assert_string_equal(o.err, "");
        }
        on_host(s, "ls \"$XDG_STATE_HOME\"/nsrun/kept/*", &o);
        expect_out(&o, "1\n");
}

/* A dead one's empty folder is in nobody's way; what else isn't there is told. */
TEST(what_is_not_there_is_told) {
        const struct site *s = *state;
        _cleanup_free_ char
                *more = text_of("nsrun: note: more is kept aside of %s/.vscode than the last, which is "
                                "there ('nsrun review')\n",
                                s->project),
                *large = text_of("nsrun: note: what is kept aside of %s/.vscode is too large to be there "
                                 "('nsrun review')\n",
                                 s->project),
                *gone = text_of("nsrun: note: the host has removed or filled the empty folder that stood "
                                "for this one, which the command may have lost with it: %s/.vscode\n",
                                s->project),
                *removes = text_of("%s run -- sh -c '>ready; until [ -e go ]; do :; done' & p=$!; until [ "
                                   "-e ready ]; do :; done; rmdir .vscode; >go; wait $p; rm ready go",
                                   program());
        _cleanup_outcome_ struct outcome o = {0};

        keep_a_folder(s);
        on_host(s,
                "mkdir .vscode; python3 -c 'import os; os.setxattr(\".vscode\", \"user.nsrun.placeholder\", "
                "b\"%d /nowhere/nsrun/workspace-abcdef\" % os.stat(\"/proc/self/ns/mnt\").st_ino); os.chmod(\".vscode\", 0o1700)'",
                &o);
        RUN(s, &o, "--", "ls", ".vscode");
        expect_out(&o, "a\n");
        assert_string_equal(o.err, "");
        run_outside(s, &o, removes);
        collect_orphans();
        expect_in(o.err, gone);
        RUN(s, &o, "--hide", ".vscode", "--", "sh", "-c",
            SHOWN "mkdir .vscode; echo b >.vscode/b; shown .vscode");
        RUN(s, &o, "--", "ls", ".vscode");
        expect_out(&o, "b\n");
        assert_string_equal(o.err, more);
        RUN(s, &o, "--", "sh", "-c", "head -c 17000000 /dev/zero >.vscode/b");
        RUN(s, &o, "--", "ls", ".vscode");
        expect_status(&o, 2);
        expect_in(o.err, large);
}

/* What a person does with it meanwhile, and what somebody saves in the empty folder, isn't undone. */
TEST(what_is_done_on_the_host_meanwhile_stays_done) {
        static const char command
                [] = "echo $1 >>.vscode/a; >ready; until [ -e go ]; do :; done",
         script[] =
                 "run() { %s run -- sh -c '%s' - $1 & p=$!; until [ -e ready ]; do :; done; }\n"
                 "run b; %s review --discard 1; >go; wait $p; rm go ready; ls -A\n"
                 "%s run -- sh -c 'ls .vscode >ready; until [ -e go ]; do :; done' & p=$!\n"
                 "until [ -s ready ]; do :; done; cp -r \"$XDG_STATE_HOME\"/nsrun/kept kept; %s review --discard 1\n"
                 ">go; wait $p; ls \"$XDG_STATE_HOME\"/nsrun/kept/*; cp -r kept/. \"$XDG_STATE_HOME\"/nsrun/kept; rm -r go ready kept\n"
                 "cat \"$XDG_STATE_HOME\"/nsrun/kept/*/*/entry/a\n"
                 "run c; echo mine >.vscode/mine; >go; wait $p; rm go ready; ls -A\n"
                 "cd \"$XDG_STATE_HOME\"/nsrun/kept/*; cat */entry/a; ls */entry/*";
        const struct site *s = *state;
        _cleanup_free_ char *text = text_of(script, program(), command, program(), program(), program());
        _cleanup_outcome_ struct outcome o = {0};

        keep_a_folder(s);
        run_outside(s, &o, text);
        collect_orphans();
        expect_out(&o, "a\nb\na\nb\nc\n1/entry/a\n2/entry/mine\n");
}

TEST(a_name_as_long_as_they_come_is_kept_aside) {
        static const char script[] = "cat /dev/null >$(printf '%252s' | tr ' ' a).mk; >b.mk; ls | wc -l";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--protect=*.mk", "--", "sh", "-c", script);
        expect_status(&o, 0);
        expect_out(&o, "2\n");
        expect_in(o.err, "nsrun: note: 2 kept aside: nsrun review --project ");
        on_host(s, "ls", &o);
        expect_out(&o, "");
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a command leaves in git dirs and the host's git would go on with: git dirs of submodules, and merge
 * strategies of what is to be continued. */
#include "repository.h"

/* root/lib; and in the project a submodule of it, sub, as a clone has it that has not initialised it. */
static const char prepare[] =
        "chmod -R u+rwX .; rm -rf ..?* .[!.]* * ../lib ../w ../ran ../victim; echo mine >../victim\n"
        "git init -q ../lib; (cd ../lib; echo 1 >f; git add f; git commit -qm 1; git rev-parse HEAD >../oid)\n"
        "git init -q .; git submodule --quiet add \"${PWD%/*}/lib\" sub 2>/dev/null; git commit -qm s\n"
        "git submodule --quiet deinit -f sub >/dev/null; rm -rf .git/modules; cp -r ../lib/.git/objects ../oid .\n";

/* Makes the git dir $1 of a submodule, of `good` nothing that is obeyed; git on the host has it $ran. */
static const char functions[] =
        "good() { git init -q --bare t && mkdir -p \"$(dirname $1)\" && mv t $1 && cp -r objects/. $1/objects && cp oid $1/HEAD\n"
        "printf '[core]\\nrepositoryformatversion=0\\nbare=false\\nlogallrefupdates=true\\n' >$1/config; }\n"
        "evil() { good $1; printf '[core]\\nfsmonitor=touch %s; false\\n' $ran >>$1/config\n"
        "mkdir -p $1/hooks; printf '#!/bin/sh\\ntouch %s\\n' $ran >$1/hooks/post-checkout; chmod +x $1/hooks/post-checkout; }\n";

#define UPDATE  "git submodule --quiet update --init 2>&1; git status >/dev/null 2>&1"
#define ORDERS  "hooks and configuration that names a program"
#define RENAMED "git mv sub sub2; git config -f .gitmodules --rename-section submodule.sub submodule."

static const struct {
        const char *name, *before, *scripts[2];
        const char *carried, *path; /* what is told of, below the site's root */
        const char *after;
        bool is_link; /* the control is ../victim, and not ../ran */
} modules[] = {
        {"a submodule's",
         "true",
         {"evil .git/modules/sub"},
         ORDERS,
         "project/.git/modules/sub",
         UPDATE,
         false},
        {"one whose name has a slash",
         RENAMED "lib/foo; git commit -qm m; mkdir -p .git/modules/lib",
         {"evil .git/modules/lib/foo"},
         ORDERS,
         "project/.git/modules/lib/foo",
         UPDATE,
         false},
        {"a submodule's of a submodule",
         "git -C ../lib submodule --quiet add ../lib n 2>/dev/null; git -C ../lib commit -qm n; " UPDATE
         "; git -C sub fetch -q; git -C sub checkout -q FETCH_HEAD; git commit -qam p",
         {"evil .git/modules/sub/modules/n"},
         ORDERS,
         "project/.git/modules/sub/modules/n",
         "cd sub; " UPDATE,
         false},
        {"one in a folder that is closed to readers",
         "true",
         {"evil .git/modules/sub; chmod 311 .git/modules .git/modules/sub"},
         ORDERS,
         "project/.git/modules/sub",
         UPDATE,
         false},
        {"one that a later command moves into its place",
         "true",
         {"evil .git/x/sub", "mv .git/x .git/modules"},
         ORDERS,
         "project/.git/modules/sub",
         UPDATE,
         false},
        {"one that a later command moves there in a folder",
         RENAMED "lib/foo; git commit -qm m; mkdir .git/modules",
         {"evil .git/x/foo", "mv .git/x .git/modules/lib"},
         ORDERS,
         "project/.git/modules/lib/foo",
         UPDATE,
         false},
        {"a linked worktree's",
         "git worktree add -q ../w",
         {"evil .git/worktrees/w/modules/sub"},
         ORDERS,
         "project/.git/worktrees/w/modules/sub",
         "cd ../w; " UPDATE,
         false},
        {"a repository's in it",
         "git clone -q . n",
         {"evil n/.git/modules/sub"},
         ORDERS,
         "project/n/.git/modules/sub",
         "cd n; " UPDATE,
         false},
        {"one with a log that leads out",
         "true",
         {"good .git/modules/sub; mkdir .git/modules/sub/logs; ln -s $root/victim .git/modules/sub/logs/HEAD"},
         "symlinks or pipes in its git dir",
         "project/.git/modules/sub",
         UPDATE "; cd sub && git checkout -q -b x",
         true},
        {"one that has the name of what is moved aside",
         RENAMED "sub.aside-0; git commit -qm m",
         {"good .git/modules/sub; mkdir .git/modules/sub/logs; ln -s $root/victim .git/modules/sub/logs/HEAD"},
         "symlinks or pipes in its git dir",
         "project/.git/modules/sub",
         "[ -d .git/modules/sub ] && mv .git/modules/sub .git/modules/sub.aside-0; " UPDATE
         "; cd sub2 && git checkout -q -b x",
         true},
        {"a work tree elsewhere, by a configuration of worktrees",
         "mkdir ../w",
         {"good .git/modules/sub; printf '[extensions]\\nworktreeConfig=true\\n' >>.git/modules/sub/config; "
          "git config -f .git/modules/sub/config.worktree core.worktree $root/w"},
         "configuration that names a work tree",
         "project/.git/modules/sub",
         UPDATE "; [ ! -e ../w/f ] || touch $ran",
         false},
};

static char *full_script(const struct site *s, const char *script) {
        return text_of("root=%s ran=%s/ran\n%s%s", s->root, s->root, functions, script);
}

static void expect_ran(const struct site *s, size_t i, bool expected) {
        _cleanup_outcome_ struct outcome o = {0};

        run_outside(s, &o, modules[i].is_link ? "[ \"$(cat ../victim)\" != mine ]" : "[ -e ../ran ]");
        if ((o.status == 0) != expected)
                fail_msg("%s: git on the host %s", modules[i].name, expected ? "ran nothing" : "obeyed");
}

/* Where the host's git would obey them if the same was left outside of a sandbox. */
TEST(git_dirs_that_a_command_makes_for_submodules_are_not_obeyed) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        for (size_t i = 0; i < 2 * ARRAY_SIZE(modules); i++) {
                _cleanup_free_ char *before = text_of("%s%s", prepare, modules[i / 2].before),
                                    *after = full_script(s, modules[i / 2].after),
                                    *told = text_of(
                                            "nsrun: note: the command made or changed a git "
                                            "repository with %s, which is moved aside there: %s/%s\n",
                                            modules[i / 2].carried, s->root, modules[i / 2].path);

                with_git(s, before, &o);
                for (size_t j = 0; j < 2 && modules[i / 2].scripts[j]; j++) {
                        _cleanup_free_ char *script = full_script(s, modules[i / 2].scripts[j]);

                        await_tick();
                        if (i % 2 == 0)
                                run_outside(s, &o, script);
                        else
                                RUN(s, &o, "--", "sh", "-c", script);
                        expect_status(&o, 0);
                        if (i % 2 != 0)
                                assert_string_equal(o.err, j == 1 || !modules[i / 2].scripts[1] ? told : "");
                }
                run_outside(s, &o, after);
                expect_ran(s, i / 2, i % 2 == 0);
                /* It is told once. */
                RUN(s, &o, "--", "true");
                if (i % 2 != 0)
                        expect_not_in(o.err, "git repository");
        }
}

/* Beyond what is looked into all that came there is moved aside, also what can't be written to. */
TEST(many_names_are_no_hiding_place_for_a_submodules_git_dir) {
        const struct site *s = *state;
        _cleanup_free_ char
                *script = full_script(
                        s, "mkdir .git/modules; cd .git/modules; seq 10100 | xargs mkdir -m 555; cd ../..; "
                           "evil .git/modules/sub; chmod 555 .git/modules/sub"),
                *rest = text_of("more git repositories of that kind, which are treated alike: %s\n",
                                s->project);
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        with_git(s, prepare, &o);
        RUN(s, &o, "--", "sh", "-c", script);
        expect_status(&o, 0);
        expect_in(o.err, rest);
        on_host(s,
                "n=$(ls .git/modules | wc -l); [ $n -ge 9900 ] && [ $n -le 10000 ]; " UPDATE
                "; [ ! -e ../ran ]",
                &o);
}

/* The project's git dir, and the one that it shares, lie outside of it. */
TEST(git_dirs_of_submodules_are_looked_at_where_a_linked_worktree_has_them) {
        static const char *const places[] = {"--git-dir", "--git-common-dir"};
        static const char *const paths[] = {".git/worktrees/w", ".git"};
        const struct site *s = *state;
        _cleanup_free_ char *before = text_of("%sgit worktree add -q ../w; cp -r objects oid ../w", prepare),
                            *tree = path_of(s->root, "w");
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        with_git(s, before, &o);
        for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
                _cleanup_free_ char *text = text_of("evil $(git rev-parse %s)/modules/sub", places[i]),
                                    *script = full_script(s, text),
                                    *told = text_of("nsrun: note: the command made or changed a git "
                                                    "repository with " ORDERS
                                                    ", which is moved aside there: %s/%s/modules/sub\n",
                                                    s->project, paths[i]);

                RUN(s, &o, "--project", tree, "--", "sh", "-c", script);
                expect_status(&o, 0);
                assert_string_equal(o.err, told);
        }
        on_host(s, "(" UPDATE "; cd ../w; " UPDATE "); [ -e sub/f ] && [ -e ../w/sub/f ] && [ ! -e ../ran ]",
                &o);
}

/* With all that git does to submodules, by a command and by the host after it. */
TEST(submodules_that_git_makes_inside_are_the_users) {
        static const char *const scripts[] = {
                "git submodule --quiet update --init",
                "git submodule --quiet add $root/lib m; git submodule --quiet add --name lib/foo $root/lib deep/foo; git commit -qam m",
                "git clone -q --recurse-submodules . n",
                "git worktree add -q t; cd t; git submodule --quiet update --init",
                "git -C sub submodule --quiet add $root/lib n; git -C sub commit -qm n; git commit -qam n",
                "git submodule --quiet deinit -f m; git submodule --quiet update --init --recursive",
                "git submodule --quiet foreach 'git commit -q --allow-empty -m x'",
                "git submodule --quiet sync; git submodule --quiet absorbgitdirs; git -C deep/foo checkout -q -b b",
        };
        const struct site *s = *state;
        _cleanup_free_ char *lib = path_of(s->root, "lib");
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        with_git(s, prepare, &o);
        for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
                _cleanup_free_ char *script = text_of(
                        "set -e; root=%s; export GIT_CONFIG_COUNT=1 "
                        "GIT_CONFIG_KEY_0=protocol.file.allow GIT_CONFIG_VALUE_0=always\n{ %s; } 2>&1",
                        s->root, scripts[i]);

                RUN(s, &o, "--ro", lib, "--", "sh", "-c", script);
                if (o.status != 0 || strstr(o.err, "git repositor") || strstr(o.err, "git dir"))
                        fail_msg("%s: %d %s%s", scripts[i], o.status, o.out, o.err);
        }
        on_host(s, "git submodule --quiet update --init --recursive && find .git -name '*.aside-*'", &o);
        expect_out(&o, "");
}

/* A user who leaves them open has them as the command left them. */
TEST(submodules_that_are_left_open_stay) {
        const struct site *s = *state;
        _cleanup_free_ char *script = full_script(s, "evil .git/modules/sub");
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        with_git(s, prepare, &o);
        RUN(s, &o, "--no-protect", ".git/modules", "--", "sh", "-c", script);
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
        on_host(s, "[ -e .git/modules/sub/hooks/post-checkout ]", &o);
}

/* What git would go on with, by programs of the work tree. */
static const char history[] =
        "rm -rf ..?* .[!.]* * ../ran ../w; git init -q -b main .; git commit -q --allow-empty -m 0; git checkout -q -b o\n"
        "for i in 1 2 3; do echo $i >f$i; git add f$i; git commit -qm $i; done\n"
        "git checkout -q main; echo x >f1; git add f1; git commit -qm x; git worktree add -q --detach ../w o\n"
        "git worktree add -q --detach w2 o; git clone -q . n; git -C n branch -q o origin/o";

#define REBASE                                                                                                   \
        "git checkout -q o 2>/dev/null || git checkout -q --detach; GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' " \
        "git rebase -q -i HEAD~2 2>/dev/null; git commit -q --amend --no-edit -m changed\n"
#define PICK \
        "git checkout -q main 2>/dev/null || git checkout -q --detach main; git cherry-pick main..o >/dev/null 2>&1; echo 1 >f1; git add f1\n"
#define PROGRAM \
        "mkdir -p git-merge-x; printf '#!/bin/sh\\ntouch %s\\nexit 2\\n' $ran >git-merge-x/y; chmod +x git-merge-x/y\n"
#define GO_ON \
        "GIT_EDITOR=true git rebase --continue >/dev/null 2>&1 || GIT_EDITOR=true git cherry-pick --continue >/dev/null 2>&1"

static const struct {
        const char *name, *folder, *script;
        const char *path; /* NULL: nothing is told */
        bool runs;
} strategies[] = {
        {"git's own of a rebase", ".", REBASE PROGRAM, NULL, false},
        {"git's own, by an option", ".",
         "git checkout -q o; GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -q -i -s resolve -X theirs HEAD~2 2>/dev/null; true",
         NULL, false},
        {"a program of a rebase's", ".", REBASE PROGRAM "echo x/y >.git/rebase-merge/strategy",
         ".git/rebase-merge/strategy", true},
        {"a name for one in PATH", ".", REBASE "echo mine >.git/rebase-merge/strategy",
         ".git/rebase-merge/strategy", false},
        {"one of two lines", ".",
         REBASE
         "nl='\n'; mkdir \"git-merge-ort${nl}x\"; printf '#!/bin/sh\\ntouch %s\\nexit 2\\n' $ran >\"git-merge-ort${nl}x/y\"; chmod +x git-merge-ort*/y; "
         "printf 'ort\\nx/y\\n' >.git/rebase-merge/strategy",
         ".git/rebase-merge/strategy", true},
        {"git's own of a cherry-pick", ".", PICK PROGRAM, NULL, false},
        {"git's own of a cherry-pick, by an option", ".",
         "git cherry-pick --strategy=resolve main..o >/dev/null 2>&1; true", NULL, false},
        {"a program of a cherry-pick's", ".",
         PICK PROGRAM "git config -f .git/sequencer/opts options.strategy x/y", ".git/sequencer/opts", true},
        {"a rebase's in a linked worktree", "w2",
         REBASE PROGRAM "echo x/y >../.git/worktrees/w2/rebase-merge/strategy",
         ".git/worktrees/w2/rebase-merge/strategy", true},
        {"a cherry-pick's in a linked worktree", "w2",
         PICK PROGRAM "git config -f ../.git/worktrees/w2/sequencer/opts options.strategy x/y",
         ".git/worktrees/w2/sequencer/opts", true},
        {"a rebase's in a repository in it", "n", REBASE PROGRAM "echo x/y >.git/rebase-merge/strategy",
         "n/.git/rebase-merge/strategy", true},
        {"a cherry-pick's in a repository in it", "n",
         PICK PROGRAM "git config -f .git/sequencer/opts options.strategy x/y", "n/.git/sequencer/opts",
         true},
};

/* It stays, as a rebase's commands do; the host's git, which goes on, shows that it is true. */
TEST(a_merge_strategy_that_is_not_gits_own_is_told) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        for (size_t i = 0; i < ARRAY_SIZE(strategies); i++) {
                _cleanup_free_ char
                        *script = text_of("ran=%s/ran; cd %s\n%s", s->root, strategies[i].folder,
                                          strategies[i].script),
                        *after = text_of("cd %s; %s; [ -e %s/ran ]", strategies[i].folder, GO_ON, s->root),
                        *told = strategies[i].path ? text_of("nsrun: note: git would go on by a merge "
                                                             "strategy that the command left and that isn't "
                                                             "git's own: %s/%s\n",
                                                             s->project, strategies[i].path)
                                                   : text_of("%s", "");

                with_git(s, history, &o);
                await_tick();
                RUN(s, &o, "--", "sh", "-c", script);
                if (o.status != 0 || !streq(o.err, told))
                        fail_msg("%s: %d %s%s", strategies[i].name, o.status, o.out, o.err);
                await_tick();
                RUN(s, &o, "--", "true");
                assert_string_equal(o.err, "");
                run_outside(s, &o, after);
                if ((o.status == 0) != strategies[i].runs)
                        fail_msg("%s: git %s", strategies[i].name,
                                 strategies[i].runs ? "ran nothing" : "ran it");
        }
}

/* In a repository of the command's own there is no more to go on with. */
TEST(a_cherry_pick_in_a_repository_that_a_command_made_is_moved_aside) {
        const struct site *s = *state;
        _cleanup_free_ char *told = text_of(
                                    "nsrun: note: the command made or changed a git repository with a "
                                    "cherry-pick to be continued, which is moved aside there: %s/c/.git\n",
                                    s->project),
                            *script = text_of(
                                    "ran=%s/ran; git clone -q n c; cd c; git fetch -q ../n o:o\n" PICK
                                    "%sgit config -f .git/sequencer/opts options.strategy $1",
                                    s->root, PROGRAM);
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        for (size_t i = 0; i < 2; i++) {
                with_git(s, history, &o);
                RUN(s, &o, "--", "sh", "-c", script, "sh", i == 0 ? "ort" : "x/y");
                expect_status(&o, 0);
                assert_string_equal(o.err, i == 0 ? "" : told);
                run_outside(s, &o, "cd c; " GO_ON "; [ -e ../../ran ]");
                expect_status(&o, 1);
        }
}

/* Git would wait for ever for who opens its other end. */
TEST(a_pipe_in_a_git_dir_is_removed) {
        static const struct {
                const char *folder, *name, *git;
        } pipes[] = {
                {"", "refs/heads/p", "git for-each-ref"},
                {"", "logs/HEAD", "git commit -q --allow-empty -m two"},
                {"/modules/sub", "refs/heads/p", "git -C .git/modules/sub for-each-ref"},
        };
        static const char begin[] = "rm -rf .git; git init -q .; git commit -q --allow-empty -m one\n"
                                    "git init -q --bare .git/modules/sub";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        for (size_t i = 0; i < ARRAY_SIZE(pipes); i++) {
                _cleanup_free_ char *pipe = text_of(".git%s/%s", pipes[i].folder, pipes[i].name),
                                    *make = text_of("rm -f %s; mkfifo %s", pipe, pipe),
                                    *look = text_of("timeout 3 %s", pipes[i].git),
                                    *stays = text_of("test -p %s", pipe),
                                    *told = text_of(
                                            "nsrun: note: a pipe that the command left in a git dir is "
                                            "removed: %s/%s\n",
                                            s->project, pipe);

                with_git(s, begin, &o);
                RUN(s, &o, "--", "sh", "-c", make);
                assert_string_equal(o.err, told);
                run_outside(s, &o, look);
                expect_status(&o, 0);
                /* The user's own stays. */
                run_outside(s, &o, make);
                RUN(s, &o, "--", "true");
                assert_string_equal(o.err, "");
                run_outside(s, &o, stays);
                expect_status(&o, 0);
        }
}

/* Whichever run made which part. */
TEST(a_folder_that_became_a_bare_repository_in_parts_loses_its_head) {
        static const char *const parts[][2] = {
                {"echo 'ref: refs/heads/main' >HEAD", "mkdir objects refs"},
                {"mkdir objects refs", "echo 'ref: refs/heads/main' >HEAD"},
                {"echo 'ref: refs/heads/main' >HEAD; mkdir objects", "mkdir refs"},
        };
        const struct site *s = *state;
        _cleanup_free_ char *told =
                text_of(" puts it back): %s/HEAD; --no-protect HEAD lets it stay\n", s->project);
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
                on_host(s, "rm -rf *", &o);
                RUN(s, &o, "--", "sh", "-c", parts[i][0]);
                assert_string_equal(o.err, "");
                RUN(s, &o, "--", "sh", "-c", parts[i][1]);
                expect_in(o.err, told);
                on_host(s, "git rev-parse --git-dir || ls", &o);
                expect_out(&o, "objects\nrefs\n");
        }
        /* One that is there is the command's to write. */
        on_host(s, "rm -rf *; git init -q --bare .", &o);
        RUN(s, &o, "--", "git", "symbolic-ref", "HEAD", "refs/heads/x");
        assert_string_equal(o.err, "");
        on_host(s, "cat HEAD", &o);
        expect_out(&o, "ref: refs/heads/x\n");
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a commit takes from a session by itself, and what has to be named: what a person's next git
 * command would obey.  And that it goes to the folder that the session began with. */
#include "session.h"

#define LEFT_OUT ": left in the session: programs on the host obey it; name it at a terminal to commit it"

static char *start_over(const struct site *s, const char *overlay) {
        return START(s, "--overlay", overlay);
}

static void expect_commit(const struct site *s, const char *id, const char *path, const char *out,
                          const char *err) {
        _cleanup_outcome_ struct outcome o = {0};

        SESSION(s, &o, "commit", id, path);
        expect_out(&o, out);
        assert_string_equal(o.err, err);
        expect_status(&o, 0);
}

static void expect_typed_commit(const struct site *s, const char *id, const char *path, const char *out) {
        _cleanup_outcome_ struct outcome o = {0};

        SESSION_TYPED(s, &o, "commit", id, path);
        assert_string_equal(o.err, "");
        expect_out(&o, out);
        expect_status(&o, 0);
}

/* With the session; a folder of such a name that is the user's own stays. */
TEST_WITH(what_a_killed_commit_has_left_is_gone_with_the_session, site_setup, site_teardown) {
        static const char script[] =
                "mkdir .nsrun-commit-0123456789abcdef; i=0; until ls -d .nsrun-commit-[!0]* >/dev/null 2>&1; do i=$((i+1))\n"
                "%s run --session %s -- sh -c 'n=0; while [ $n -lt 400 ]; do n=$((n+1)); echo '$i' >f$n; done'\n"
                "%s session commit %s >out 2>&1 & p=$!; until ls -d .nsrun-commit-[!0]* >/dev/null 2>&1 || ! [ -e /proc/$p/exe ]; do :; done\n"
                "kill -9 $p; wait $p; done; rm -f f* out";
        const struct site *s = *state;
        _cleanup_free_ char *id = start_over(s, s->project),
                            *text = text_of(script, program(), id, program(), id);
        _cleanup_outcome_ struct outcome o = {0};

        run_outside(s, &o, text);
        SESSION(s, &o, "stop", id);
        expect_status(&o, 0);
        collect_orphans();
        run_outside(s, &o, "ls -A");
        expect_out(&o, ".nsrun-commit-0123456789abcdef\n");
}

static void outside(const struct site *s, const char *script) {
        _cleanup_outcome_ struct outcome o = {0};

        run_outside(s, &o, script);
        assert_string_equal(o.err, "");
        expect_status(&o, 0);
}

static void want_git(void) {
        if (!has_program("git"))
                skip_because("skipped: git is not installed");
}

TEST(what_git_obeys_is_to_be_named) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL;

        want_git();
        outside(s, "git init -q .; rm -f .git/hooks/*; echo 'exit 1' >.git/hooks/pre-push");
        id = start_over(s, s->project);
        expect_good_join(s, id,
                         "echo evil >.git/hooks/pre-commit; git config core.fsmonitor evil; echo x >file; "
                         "mv .git/hooks/pre-push guard; mkdir -p .git/rebase-merge .git/worktrees/w; "
                         "echo 'exec evil' >.git/rebase-merge/git-rebase-todo; "
                         "echo ../../../evil >.git/worktrees/w/commondir; chmod 700 .git; "
                         "ln -s ../x .git/COMMIT_EDITMSG; ln -s x link; "
                         "mkdir -p .git/info .git/objects/info; echo '* filter=x' >.git/info/attributes; "
                         "echo /x >.git/objects/info/alternates",
                         "");
        expect_commit(s, id, NULL, "committed 5 paths\n",
                      "nsrun: note: .git/COMMIT_EDITMSG" LEFT_OUT "\n"
                      "nsrun: note: .git/config" LEFT_OUT "\n"
                      "nsrun: note: .git/hooks/pre-commit" LEFT_OUT "\n"
                      "nsrun: note: .git/info/attributes" LEFT_OUT "\n"
                      "nsrun: note: .git/objects/info/alternates" LEFT_OUT "\n"
                      "nsrun: note: .git/rebase-merge" LEFT_OUT "\n"
                      "nsrun: note: .git/rebase-merge/git-rebase-todo" LEFT_OUT "\n"
                      "nsrun: note: .git/worktrees/w/commondir" LEFT_OUT "\n"
                      "nsrun: note: guard" LEFT_OUT "\n");
        outside(s,
                "[ \"$(ls .git/hooks)\" = pre-push ] && [ ! -e guard ] && ! git config core.fsmonitor && "
                "[ -e file ] && [ -L link ] && [ ! -L .git/COMMIT_EDITMSG ] && [ ! -e .git/rebase-merge ] && [ ! -e .git/worktrees/w/commondir ]");
        expect_commit(s, id, ".git/hooks", "committed 0 paths\n",
                      "nsrun: note: .git/hooks/pre-commit" LEFT_OUT "\nnsrun: note: guard" LEFT_OUT "\n");
        expect_typed_commit(s, id, ".git/hooks", "committed 2 paths\n");
        outside(s, "[ \"$(ls .git/hooks)\" = pre-commit ] && [ -e guard ]");
        expect_typed_commit(s, id, ".git/COMMIT_EDITMSG", "committed 1 path\n");
        outside(s, "[ -L .git/COMMIT_EDITMSG ]");
        end_session(s, id, "kill");
}

/* Whatever the folder is called, and wherever the overlay begins. */
TEST(what_other_programs_obey_is_to_be_named_at_a_terminal) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL;

        outside(s, "echo old >.envrc");
        id = start_over(s, s->project);
        expect_good_join(s, id,
                         "mkdir -p .vscode sub/.claude; echo x >.vscode/tasks.json; "
                         "echo x >sub/.claude/settings.json; mv .envrc env; echo x >file",
                         "");
        expect_commit(s, id, NULL, "committed 2 paths\n",
                      "nsrun: note: .vscode" LEFT_OUT "\n"
                      "nsrun: note: .vscode/tasks.json" LEFT_OUT "\n"
                      "nsrun: note: env" LEFT_OUT "\n"
                      "nsrun: note: sub/.claude" LEFT_OUT "\n"
                      "nsrun: note: sub/.claude/settings.json" LEFT_OUT "\n");
        outside(s, "[ \"$(ls -A . sub)\" = \"$(printf '.:\\n.envrc\\nfile\\nsub\\n\\nsub:')\" ]");
        expect_commit(s, id, ".vscode", "committed 0 paths\n",
                      "nsrun: note: .vscode" LEFT_OUT "\n"
                      "nsrun: note: .vscode/tasks.json" LEFT_OUT "\n");
        expect_typed_commit(s, id, ".vscode", "committed 2 paths\n");
        outside(s, "[ -e .vscode/tasks.json ]");
        end_session(s, id, "kill");
}

/* What configuration and the home's symlinks name, protect/ says of a commit as of a run. */
TEST(what_else_the_host_obeys_is_to_be_named) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL, *zshrc = path_of(s->project, "zsh/rc"),
                            *users = text_of(
                                    "[core]\nhooksPath = %s/users\n[diff \"d\"]\ntextconv = sh conv/t\n",
                                    s->project);

        want_git();
        make_link(s->home, ".zshrc", zshrc);
        make_file(s->home, ".gitconfig", users);
        outside(s,
                "git init -q .; git config core.hooksPath tools/./hooks; git config include.path ../more; "
                "git config core.fsmonitor './fs -v'; mkdir conv; echo t >conv/t; mkdir zsh real; echo rc >zsh/rc; ln -s real .husky; echo h >real/h");
        id = START(s, "--overlay", s->project, "--protect", "deploy/*.sh");
        expect_good_join(
                s, id,
                "ln zsh/rc hard; echo evil >>hard; mkdir evil evil/.vim users deploy; ln -s evil tools; "
                "echo evil >evil/hooks; echo x >users/pre-commit; echo x >MORE; rm real/h; "
                "echo x >deploy/a.sh; echo x >deploy/b; echo x >.Envrc; mkdir a; ln -s ../evil a/.hg; "
                "mv zsh z; echo evil >conv/t; echo evil >fs",
                "");
        expect_commit(s, id, NULL, "committed 8 paths\n",
                      "nsrun: note: .Envrc" LEFT_OUT "\n"
                      "nsrun: note: MORE" LEFT_OUT "\n"
                      "nsrun: note: a/.hg" LEFT_OUT "\n"
                      "nsrun: note: conv/t" LEFT_OUT "\n"
                      "nsrun: note: deploy/a.sh" LEFT_OUT "\n"
                      "nsrun: note: fs" LEFT_OUT "\n"
                      "nsrun: note: real/h" LEFT_OUT "\n"
                      "nsrun: note: tools" LEFT_OUT "\n"
                      "nsrun: note: users" LEFT_OUT "\n"
                      "nsrun: note: users/pre-commit" LEFT_OUT "\n"
                      "nsrun: note: z/rc" LEFT_OUT "\n");
        outside(s,
                "[ \"$(cat zsh/rc real/h)\" = 'rc\nh' ] && [ \"$(stat -c %h hard)\" = 1 ] && [ -e deploy/b ]");
        expect_typed_commit(s, id, "tools", "committed 1 path\n");
        outside(s, "[ -L tools ]");
        end_session(s, id, "kill");
}

/* Wherever the repository is whose configuration names it. */
/* Of the host's no file and no symlink becomes a folder for what is wanted in it. */
TEST(a_file_that_is_in_the_way_is_to_be_named) {
        static const char *const names[] = {"notes", "link"};
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->project, "notes", "mine\n");
        make_link(s->project, "link", "notes");
        id = START(s, "--overlay", s->project);
        JOIN_SCRIPT(s, id, &o, "rm notes link; mkdir notes link; echo x >notes/a; echo x >link/a");
        expect_status(&o, 0);
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                _cleanup_free_ char
                        *path = path_of(s->project, names[i]),
                        *within = path_of(path, "a"),
                        *line = text_of("nsrun: this would have to become a folder, and what is there would "
                                        "go: %s; name it, too",
                                        names[i]);
                struct stat st;

                SESSION(s, &o, "commit", id, within);
                expect_refusal(&o, 125, line);
                assert_int_equal(lstat(path, &st), 0);
                assert_false(S_ISDIR(st.st_mode));
                SESSION(s, &o, "commit", id, path);
                expect_status(&o, 0);
                assert_int_equal(access(within, F_OK), 0);
        }
        end_session(s, id, "stop");
}

TEST(what_the_project_names_in_another_folder_is_to_be_named) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL,
                            *before =
                                    text_of("git init -q .; git config core.hooksPath %s/hooks", s->outside),
                            *script = text_of("cd %s; mkdir hooks; echo evil >hooks/x; echo x >file",
                                              s->outside);

        want_git();
        outside(s, before);
        id = start_over(s, s->outside);
        expect_good_join(s, id, script, "");
        expect_commit(s, id, NULL, "committed 1 path\n",
                      "nsrun: note: hooks" LEFT_OUT "\n"
                      "nsrun: note: hooks/x" LEFT_OUT "\n");
        outside(s, "[ ! -e ../outside/hooks ] && [ -e ../outside/file ]");
        end_session(s, id, "kill");
}

TEST(a_git_dir_is_one_by_what_is_in_it) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL;

        want_git();
        outside(s, "git init -q --bare .bare; rm -f .bare/hooks/*");
        id = start_over(s, s->project);
        expect_good_join(s, id,
                         "echo evil >.bare/hooks/post-checkout; mkdir -p docs/objects docs/refs; "
                         "echo evil >docs/config; echo text >docs/text; echo 'ref: refs/heads/x' >docs/HEAD",
                         "");
        expect_commit(s, id, NULL, "committed 4 paths\n",
                      "nsrun: note: .bare/hooks/post-checkout" LEFT_OUT "\n"
                      "nsrun: note: docs/HEAD" LEFT_OUT "\n"
                      "nsrun: note: docs/config" LEFT_OUT "\n");
        outside(s,
                "[ ! -e .bare/hooks/post-checkout ] && [ \"$(echo docs/*)\" = 'docs/objects docs/refs docs/text' ]");
        expect_typed_commit(s, id, "docs/config", "committed 1 path\n");
        end_session(s, id, "kill");
}

/* What an earlier commit's HEAD lacks is left out then. */
TEST(several_commits_make_no_git_dir) {
        const struct site *s = *state;
        _cleanup_free_ char *script =
                text_of("cp .git/index docs; echo 'ref: refs/heads/x' >docs/HEAD; printf "
                        "'[core]\nrepositoryformatversion=0\nbare=false\nworktree=..\n"
                        "fsmonitor=touch %s/ran; false\n' >docs/config; ",
                        s->root);

        want_git();
        for (size_t i = 0; i < 2; i++) {
                _cleanup_free_ char *first = text_of("%s%s", script, i == 0 ? "" : "mkdir docs/objects"),
                                    *id = NULL;

                outside(s, "rm -rf .git docs ../ran; git init -q .; mkdir docs; echo f >f; git add f");
                id = start_over(s, s->project);
                expect_good_join(s, id, first, "");
                expect_commit(s, id, NULL, i == 0 ? "committed 3 paths\n" : "committed 4 paths\n", "");
                expect_good_join(s, id, "mkdir -p docs/objects docs/refs; echo k >docs/k", "");
                expect_commit(s, id, NULL, "committed 1 path\n",
                              i == 0 ? "nsrun: note: docs/objects" LEFT_OUT "\n"
                                       "nsrun: note: docs/refs" LEFT_OUT "\n"
                                     : "nsrun: note: docs/refs" LEFT_OUT "\n");
                outside(s, "[ -e docs/k ] && git -C docs status >/dev/null && [ ! -e ../ran ]");
                if (i == 0)
                        expect_typed_commit(s, id, "docs/objects", "committed 1 path\n");
                expect_typed_commit(s, id, "docs/refs", "committed 1 path\n");
                outside(s, "git -C docs status >/dev/null 2>&1; [ -e ../ran ]");
                end_session(s, id, "kill");
        }
}

/* On a file system that folds case they are one. */
TEST(a_git_dir_is_one_in_any_case) {
        const struct site *s = *state;
        _cleanup_free_ char *id = start_over(s, s->project);

        expect_good_join(s, id, "for g in .GIT .giT .gitt; do mkdir $g; echo x >$g/config; done", "");
        expect_commit(s, id, NULL, "committed 2 paths\n",
                      "nsrun: note: .GIT" LEFT_OUT "\n"
                      "nsrun: note: .GIT/config" LEFT_OUT "\n"
                      "nsrun: note: .giT" LEFT_OUT "\n"
                      "nsrun: note: .giT/config" LEFT_OUT "\n");
        outside(s, "[ ! -e .GIT ] && [ ! -e .giT ] && [ -e .gitt/config ]");
        end_session(s, id, "kill");
}

TEST(an_overlay_in_a_git_dir_is_judged_by_where_it_is) {
        static const char *const overlays[] = {".git", ".git/hooks"};
        const struct site *s = *state;

        want_git();
        outside(s, "git init -q .; rm -f .git/hooks/*");
        for (size_t i = 0; i < ARRAY_SIZE(overlays); i++) {
                _cleanup_free_ char *overlay = path_of(s->project, overlays[i]),
                                    *id = start_over(s, overlay),
                                    *notes = text_of("nsrun: note: %s" LEFT_OUT "\n",
                                                     i == 0 ? "hooks/pre-commit" : "pre-commit");

                expect_good_join(s, id, "echo evil >.git/hooks/pre-commit", "");
                expect_commit(s, id, NULL, "committed 0 paths\n", notes);
                end_session(s, id, "kill");
                outside(s, "[ ! -e .git/hooks/pre-commit ]");
        }
}

/* A stop throws away what nobody has taken, and says how much that was. */
TEST(what_is_not_committed_is_told_at_the_end) {
        const struct site *s = *state;
        _cleanup_free_ char *id = start_over(s, s->project);
        _cleanup_outcome_ struct outcome o = {0};

        expect_good_join(s, id, "echo 1 >one; echo 2 >two; echo 3 >three", "");
        expect_commit(s, id, "one", "committed 1 path\n", "");
        SESSION(s, &o, "stop", id);
        expect_status(&o, 0);
        assert_string_equal(
                o.err,
                "nsrun: note: 2 changes in the session's overlays were not committed, and are gone\n");
        free(TAKE_PTR(id));
        id = start_over(s, s->project);
        expect_good_join(s, id, "echo 1 >four", "");
        expect_commit(s, id, "four", "committed 1 path\n", "");
        SESSION(s, &o, "stop", id);
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
        collect_orphans();
}

/* On the host every `git status` writes the index anew: of that nothing is lost. */
TEST(a_host_that_looks_at_its_repository_is_no_conflict) {
        static const char status[] = "touch c; git status -s";
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL, *staged = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        want_git();
        outside(s,
                "git init -q . && git config user.name J && git config user.email j@example.org && echo 1 >a && "
                "echo 1 >b && echo 1 >c && git add . && git commit -qm first");
        id = start_over(s, s->project);
        await_tick();
        expect_good_join(s, id, "echo 2 >>a; git commit -qam second; git status -s", "");
        run_outside(s, &o, status);
        SESSION(s, &o, "commit", id);
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
        run_outside(s, &o, "git log --format=%s; git status -s; cat a");
        expect_out(&o, "second\nfirst\n1\n2\n");
        /* What the commit itself put there is what is looked at from then on. */
        await_tick();
        run_outside(s, &o, status);
        expect_good_join(s, id, "echo 3 >>b; git commit -qam third", "");
        SESSION(s, &o, "commit", id);
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
        /* What is staged there would be lost. */
        expect_good_join(s, id, "echo 4 >>b; git commit -qam fourth", "");
        await_tick();
        outside(s, "echo >d; git add d");
        SESSION(s, &o, "commit", id);
        staged = text_of(
                "nsrun: conflict: .git/index\nnsrun: the host's side has changed since the session began, so "
                "nothing was committed: .git/index; the session has its own still: name other paths, or --force takes all, and what "
                "the host has there is lost\n");
        expect_status(&o, 125);
        assert_string_equal(o.err, staged);
        end_session(s, id, "kill");
}

TEST(a_commit_goes_to_the_folder_that_the_session_began_with) {
        static const char *const actions[] = {"diff", "commit", "discard"};
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL, *refusal = NULL;

        outside(s, "echo base >a; mkdir ../other; echo precious >../other/a");
        id = start_over(s, s->project);
        expect_good_join(s, id, "echo session >>a", "");
        outside(s, "cd ..; mv project old; mv other project");
        refusal = text_of("nsrun: another folder is there than the one that the session began with: %s; "
                          "move that one back to its place",
                          s->project);
        for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
                _cleanup_outcome_ struct outcome o = {0};

                SESSION(s, &o, actions[i], id);
                expect_refusal(&o, 125, refusal);
        }
        outside(s, "cd ..; [ $(cat project/a) = precious ] && mv project other && mv old project");
        expect_commit(s, id, NULL, "committed 1 path\n", "");
        outside(s, "[ \"$(tail -n 1 a)\" = session ]; rm -r ../other");
        end_session(s, id, "kill");
}

/* The folders above the overlay are the session's own: a command may move them, and put others there. */
TEST(what_is_committed_is_what_was_shown_whatever_lies_at_its_path) {
        static const char
                *const actions[] = {"diff", "commit", "discard"},
                       *const attacks[] =
                               {
                                       "mv ~/.src ~/moved; mkdir -p ~/.src/p; echo evil >~/.src/p/a",
                                       "mv ~/.src ~/swap; mv ~/.other ~/.src; mv ~/swap ~/.other",
                               },
                       *const repairs[] = {
                               "rm -r ~/.src; mv ~/moved ~/.src",
                               "mv ~/.src ~/swap; mv ~/.other ~/.src; mv ~/swap ~/.other",
                       };
        const struct site *s = *state;
        _cleanup_free_ char *p = path_of(s->home, ".src/p"), *q = path_of(s->home, ".other/p"), *id = NULL,
                            *refusal = NULL;

        /* Folders in hidden ones of the home are writable above an overlay; others can't be moved. */
        outside(s, "mkdir -p ~/.src/p ~/.other/p; echo base >~/.src/p/a; echo base >~/.other/p/a");
        id = START(s, "--overlay", p, "--overlay", q);
        refusal =
                text_of("nsrun: another folder is there in the session than its overlay: %s: Stale file "
                        "handle; a command of the session has moved a folder above it: move that one back, "
                        "by another command",
                        p);
        expect_good_join(s, id, "echo session >>~/.src/p/a; echo evil >>~/.other/p/a", "");
        for (size_t i = 0; i < ARRAY_SIZE(attacks); i++) {
                expect_good_join(s, id, attacks[i], "");
                for (size_t k = 0; k < ARRAY_SIZE(actions); k++) {
                        _cleanup_outcome_ struct outcome o = {0};

                        SESSION(s, &o, actions[k], id, p);
                        expect_refusal(&o, 125, refusal);
                }
                outside(s, "[ $(cat ~/.src/p/a) = base ]");
                expect_good_join(s, id, repairs[i], "");
        }
        expect_commit(s, id, p, "committed 1 path\n", "");
        outside(s, "[ \"$(tail -n 1 ~/.src/p/a)\" = session ] && [ $(cat ~/.other/p/a) = base ]");
        end_session(s, id, "kill");
}

/* By a second name the next run could write what it may not under the first. */
TEST(a_protected_name_shares_no_inode) {
        const struct site *s = *state;
        _cleanup_free_ char *id = start_over(s, s->project);
        _cleanup_outcome_ struct outcome o = {0};

        expect_good_join(
                s, id,
                "mkdir -p .vscode src/.github sub; echo ok >.vscode/tasks.json; ln .vscode/tasks.json src/data; "
                "echo a >a; ln a src/b; echo e >sub/.envrc; ln sub/.envrc e",
                "");
        SESSION_TYPED(s, &o, "commit", id, ".vscode", "src", "sub/.envrc", "a", "e");
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
        run_outside(s, &o,
                    "cat src/data e; stat -c '%h %n' .vscode/tasks.json src/data a src/b sub/.envrc e");
        expect_out(&o, "ok\ne\n1 .vscode/tasks.json\n1 src/data\n2 a\n2 src/b\n1 sub/.envrc\n1 e\n");
        end_session(s, id, "kill");
}

TEST(a_conflict_in_one_overlay_keeps_another_from_being_committed) {
        const struct site *s = *state;
        _cleanup_free_ char *one = path_of(s->project, "one"), *two = path_of(s->project, "two"), *id = NULL,
                            *expected = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        outside(s, "mkdir one two; echo 1 >one/a; echo 1 >two/b");
        id = START(s, "--overlay", one, "--overlay", two);
        expect_good_join(s, id, "echo 2 >>one/a; echo 2 >>two/b", "");
        outside(s, "echo host >>two/b");
        SESSION(s, &o, "commit", id);
        expected = text_of("nsrun: conflict: %s: b\n", two);
        expect_status(&o, 125);
        expect_out(&o, "");
        expect_in(o.err, expected);
        expect_in(o.err, "so nothing was committed");
        outside(s, "[ $(cat one/a) = 1 ]");
        SESSION(s, &o, "commit", "--force", id);
        expect_status(&o, 0);
        expect_out(&o, "committed 2 paths\n");
        end_session(s, id, "kill");
}

int main(void) {
        return run_all_tests();
}

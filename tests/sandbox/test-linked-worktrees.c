/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Linked worktrees in the project, and what else a command makes that has a later start look further. */
#include "repository.h"

/* What a command makes of the pointers that lead git to one's git dir and configuration is told, or moved
 * aside, whenever it was written: a folder that is renamed brings old files. */
TEST(what_leads_git_to_a_worktrees_git_dir_is_gits) {
        static const char good[] =
                "git worktree add -q .trees/b && git -C .trees/b commit -q --allow-empty -m two && git worktree remove .trees/b\n"
                "git worktree add -q .trees/c && git worktree move .trees/c .trees/d && git worktree list | wc -l\n"
                "cp -r .git/worktrees/c .git/stage; echo ../../evil >.git/stage/commondir";
        static const char bad[] =
                "mv .git/stage .git/worktrees/e; git worktree add -q .trees/f; echo ../../evil >.git/worktrees/f/commondir\n"
                "git worktree add -q .trees/i; echo 'gitdir: evil' >.trees/i/.git; rm .trees/a/.git";
        static const char own[] =
                "for n in g h; do git worktree add -q .trees/$n; done; git -C .trees/g config --worktree core.sparseCheckout true\n"
                "git -C .trees/h config --worktree core.fsmonitor evil";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *first = text_of(
                "nsrun: note: a commondir that the command made in a git dir, which git would have obeyed, is "
                "moved aside: %s/.git/worktrees/e/commondir.aside-0\n",
                s->project);
        _cleanup_free_ char *second = replaced(first, "/e/", "/f/");
        _cleanup_free_ char *led = text_of(
                "nsrun: note: since the command ran this leads to another git dir than the linked worktree's, and git "
                "obeys that: git worktree repair mends it: %s/.trees/i/.git\n",
                s->project);
        _cleanup_free_ char *moved = text_of(
                "nsrun: note: a linked worktree's configuration that names a program or a work tree, which the "
                "command made, is moved aside: %s/.git/worktrees/h/config.worktree.aside-0\n",
                s->project);

        with_git(s,
                 "git init -q -b main .; git commit -q --allow-empty -m one; git worktree add -q .trees/a\n"
                 "echo $PWD/.git >.git/worktrees/a/commondir",
                 &o);
        RUN(s, &o, "--", "sh", "-c", good);
        expect_status(&o, 0);
        expect_out(&o, "3\n");
        assert_string_equal(o.err, "");
        RUN(s, &o, "--", "sh", "-c", bad);
        expect_in(o.err, first);
        expect_in(o.err, second);
        expect_in(o.err, led);
        expect_in(o.err, "'.trees/a/.git': Device or resource busy\n");
        with_git(
                s,
                "rm -r .git/worktrees/e .git/worktrees/f; git worktree repair; git config extensions.worktreeConfig true",
                &o);
        RUN(s, &o, "--", "sh", "-c", own);
        assert_string_equal(o.err, moved);
        with_git(s, "ls .git/worktrees/?/config.worktree*", &o);
        expect_out(&o, ".git/worktrees/g/config.worktree\n.git/worktrees/h/config.worktree.aside-0\n");
}

/* What the configuration that linked worktrees share, or that one has alone, names in each of them. */
TEST(what_a_worktrees_configuration_names_is_protected) {
        static const struct {
                const char *before, *script, *said;
        } cases[] = {
                {"git config core.hooksPath h; git worktree add -q wt", "echo evil >wt/h/x", "/wt/h\n"},
                {"git config alias.a '!h/x'; git worktree add -q wt", "echo evil >wt/h/x",
                 "wt/h/x: Read-only file system"},
                {"git clone -q --bare . r.git; git -C r.git config core.hooksPath h; git -C r.git worktree add -q ../wt",
                 "echo bad >wt/h/x", "/wt/h\n"},
                {"mkdir -p src/h; git config core.worktree ../src; git config core.hooksPath h",
                 "echo evil >src/h/x", "/src/h\n"},
                {"mkdir src; >src/x; git config core.worktree ../src; git config alias.a '!./x'",
                 "echo evil >src/x", "src/x: Read-only file system"},
                {"git config alias.a '!\"h/my x\" y'; >'h/my x'", "echo evil >'h/my x'",
                 "h/my x: Read-only file system"},
                {"git config alias.a '!: <h/z && h\\/\"o\"u'\"'t=1'\"; >h/out=1", "echo evil >h/out=1",
                 "h/out=1: Read-only file system"},
                {"git config core.hooksPath h; git worktree add -q .w/a/b", "echo evil >.w/a/b/h/x",
                 "/.w/a/b/h\n"},
                {"git worktree add -q .w/a/c", "echo evil >.w/a/c/.envrc", "/.w/a/c/.envrc; "},
                {"git clone -q --bare . r.git; git -C r.git config alias.a '!h/x'; git -C r.git worktree add -q ../a/b",
                 "echo evil >a/b/h/x", "a/b/h/x: Read-only file system"},
                {"git config extensions.worktreeConfig true; git worktree add -q .w/d; git -C .w/d config --worktree "
                 "core.hooksPath h",
                 "echo evil >.w/d/h/x", "/.w/d/h\n"},
                {"git config extensions.worktreeConfig true; git worktree add -q ../out; git -C ../out config --worktree "
                 "core.hooksPath \"$PWD/h\"",
                 "echo evil >h/x", "/h\n"},
                {"git config extensions.worktreeConfig true; git worktree add -q ../out; git -C ../out config --worktree "
                 "include.path inc; echo >.git/worktrees/out/inc",
                 "echo evil >.git/worktrees/out/inc", "/out/inc: Read-only file system"},
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *before =
                        text_of("rm -rf ..?* .[!.]* * ../out; git init -q -b main .; mkdir h; >h/x\n"
                                "git add h; git commit -qm h; %s",
                                cases[i].before);

                with_git(s, before, &o);
                RUN(s, &o, "--", "sh", "-c", cases[i].script);
                if (!strstr(o.err, cases[i].said))
                        fail_msg("%s: said %s", cases[i].before, o.err);
                RUN(s, &o, "--no-protect", "*", "--", "sh", "-c", cases[i].script);
                expect_status(&o, 0);
                assert_string_equal(o.err, "");
        }
}

/* The next start is no refusal for what a command made, or says what to leave open. */
TEST(symlinks_that_a_command_makes_leave_a_way_to_start) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *refused = text_of(
                "nsrun: there are too many files or symlinks in it to protect what they lead to: %s/sub/.claude; "
                "look who made them; --no-protect sub/.claude leaves it open",
                s->project);

        with_git(
                s,
                "git init -q .; git init -q sub; mkdir sub/.claude; echo 1 >x; ln -s ../../x sub/.claude/x\n"
                "ln -s \"../$(printf '%0300d' 0)\" sub/.claude/long; for i in $(seq 600); do ln -s /$i sub/.claude/$i; done",
                &o);
        RUN(s, &o, "--", "sh", "-c", "echo 2 >x");
        expect_in(o.err, "cannot create x: Read-only file system");
        with_git(s, "for i in $(seq 600); do ln -sf ../../$i sub/.claude/$i; done", &o);
        RUN(s, &o, "--", "true");
        expect_refusal(&o, 125, refused);
        RUN(s, &o, "--no-protect", "sub/.claude", "--", "true");
        expect_status(&o, 0);
        /* As many links to links as the kernel follows. */
        with_git(
                s,
                "mkdir l; ln -s ../../l/1 .git/hooks/pre-commit; for i in $(seq 38); do ln -s $((i+1)) l/$i; done\n"
                "echo good >l/39; cat .git/hooks/pre-commit",
                &o);
        expect_out(&o, "good\n");
        RUN(s, &o, "--no-protect", "sub/.claude", "--", "ln", "-sf", "../x", "l/37");
        expect_in(o.err, "a protected symlink is put back; what the command made of it is kept aside: ");
}

/* What git writes stays writable, and what it executes doesn't become so. */
TEST(a_protected_symlink_into_a_git_dir_leaves_git_whole) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        with_git(
                s,
                "git init -q -b main .; git commit -q --allow-empty -m one; git init -q sub; mkdir .claude .git/own\n"
                "for n in '' /objects /refs /refs/heads/main /HEAD /logs; do ln -s ../.git$n .claude/a${n##*/}; done\n"
                "ln -s ../sub/.git/objects .claude/sub; echo good >.git/own/x; ln -s ../own/x .git/hooks/pre-push",
                &o);
        RUN(s, &o, "--", "sh", "-c",
            "echo x >x; git add x; git commit -qm two; git checkout -qb other; git -C sub commit -q --allow-empty -m s");
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
        RUN(s, &o, "--", "sh", "-c", "echo evil >.git/own/x");
        expect_in(o.err, "cannot create .git/own/x: Read-only file system");
}

/* So many names in .vscode, of few files: those are dear to make and to remove. */
static void make_names(const char *project, unsigned n, const char *ending) {
        _cleanup_free_ char *folder = path_of(project, ".vscode");
        _cleanup_close_ int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        char name[32], file[32] = "";

        for (unsigned i = 0; i < n; i++) {
                (void)snprintf(name, sizeof(name), "%u%s", i, ending);
                if (*file && linkat(fd, file, fd, name, 0) == 0)
                        continue;
                assert_int_equal(mknodat(fd, name, S_IFREG | 0644, 0), 0);
                memcpy(file, name, sizeof(file));
        }
}

/* A file that is called a sample isn't looked at, whatever other names it has. */
TEST(a_folder_of_very_many_files_is_protected_but_for_what_it_leads_to) {
        static const struct {
                unsigned n;
                const char *ending;
        } cases[] = {{100001, ".sample"}, {501, ""}};
        const struct site *s = *state;
        _cleanup_free_ char *note = text_of(
                "nsrun: note: of the many files of %s/.vscode those aren't protected to which symlinks lead, nor those that have other names\n",
                s->project);

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_outcome_ struct outcome o = {0};

                with_git(s, "mkdir .vscode", &o);
                make_names(s->project, cases[i].n, cases[i].ending);
                RUN(s, &o, "--", "sh", "-c",
                    "cd .vscode; for f in 1*; do echo evil >$f; break; done; echo done");
                expect_out(&o, "done\n");
                expect_in(o.err, note);
                with_git(s, "cat .vscode/1*; set .vscode/*; rm $1", &o);
                expect_out(&o, "");
                RUN(s, &o, "--", "true");
                assert_string_equal(o.err, "");
                with_git(s, "rm -r .vscode", &o);
        }
}

/* A sandbox that stands above the project takes nothing of it away. */
TEST(what_is_kept_aside_is_accepted_beside_a_sandbox_above) {
        const struct site *s = *state;
        _cleanup_free_ char *beside =
                text_of("mkfifo ../in ../out\n(cd /; exec '%s' run --no-project -- sh -c "
                        "'echo; read x') <../in >../out &\n"
                        "exec 3>../in; read x <../out; setsid -w '%s' review --accept 1 2>&1 || :\n"
                        "echo >&3; wait",
                        program(), program());
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--", "sh", "-c", "echo evil >.envrc");
        with_git(s, beside, &o);
        expect_in(o.out, "nobody can be asked: ");
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What git ignores is one line of a diff and stays in the session at a commit, unless it is asked for; and
 * nothing that a command writes hides what it changed.  Globs as paths. */
#include <sys/resource.h>

#include "session.h"

#define OTHER_STATE 123
#define DIFFERS                                                                                                \
        "nsrun: the session isn't in the state that this digest is of, so nothing was committed; look at the " \
        "diff again\n"

static void outside(const struct site *s, const char *script) {
        _cleanup_outcome_ struct outcome o = {0};

        if (!has_program("git"))
                skip_because("skipped: git is not installed");
        run_outside(s, &o, script);
        assert_string_equal(o.err, "");
        expect_status(&o, 0);
}

#define INIT   "git init -q . && git config user.name J && git config user.email j@example.org && "
#define COMMIT " && git add -A && git commit -qm x"

/* `nsrun session WORD ID PATH…` */
static void expect_words(const struct site *s, const char *const *words, const char *out, const char *err,
                         int status) {
        _cleanup_outcome_ struct outcome o = {0};

        run_session(s, &o, words);
        expect_out(&o, out);
        assert_string_equal(o.err, err);
        expect_status(&o, status);
}
#define EXPECT(site, out, err, ...)                expect_words(site, OPTIONS(__VA_ARGS__), out, err, 0)
#define EXPECT_STATUS(site, status, out, err, ...) expect_words(site, OPTIONS(__VA_ARGS__), out, err, status)

static char *digest_of(const struct site *s, const char *id, const char *option) {
        _cleanup_outcome_ struct outcome o = {0};
        char *line;

        if (option)
                SESSION(s, &o, "diff", "--digest", option, id);
        else
                SESSION(s, &o, "diff", "--digest", id);
        expect_status(&o, 0);
        line = strstr(o.out, "# digest: ");
        assert_non_null(line);
        line += strlen("# digest: ");
        line[strcspn(line, "\n")] = '\0';
        return strdup(line);
}

TEST(what_git_ignores_is_counted_and_stays_in_the_session) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *id = NULL;

        outside(s,
                INIT "printf '/modules/\\n*.o\\n!kept.o\\n' >.gitignore; mkdir src; echo 1 >src/a.c" COMMIT
                     " && mkdir modules && echo old >modules/old");
        id = START(s, "--overlay", s->project);
        expect_good_join(
                s, id,
                "mkdir modules/m; i=0; while [ $i -lt 1000 ]; do echo $i >modules/m/$i; i=$((i+1)); done; "
                "rm modules/old; echo x >src/a.o; echo 2 >src/a.c; echo k >kept.o; mkdir only; echo x >only/b.o",
                "");
        EXPECT(s, "A  kept.o\nM  src/a.c\n# ignored by git: 1,005 paths (--ignored lists them)\n", "",
               "diff", id);
        EXPECT(s, " kept.o  | 1 +\n src/a.c | 2 +-\n 2 files changed, 2 insertions(+), 1 deletion(-)\n", "",
               "diff", "--stat", id, "kept.o", "src/a.c");
        EXPECT(s, "A  src/a.o\n", "", "diff", "--ignored", id, "src/a.o");
        EXPECT(s, "A  only/\nA  only/b.o\n", "", "diff", "--ignored", id, "only");
        EXPECT(s, "# ignored by git: 2 paths (--ignored lists them)\n", "", "diff", id, "only");
        SESSION(s, &o, "diff", "--json", id);
        assert_non_null(
                strstr(o.out, "\"ignored\":1005,\"changes\":[{\"kind\":\"added\",\"path\":\"kept.o\""));
        assert_null(strstr(o.out, "modules"));
        SESSION(s, &o, "diff", "--json", "--ignored", id, "src");
        assert_non_null(strstr(o.out, "\"ignored\":0,"));
        assert_non_null(strstr(o.out, "\"conflict\":false,\"ignored\":true"));
        SESSION(s, &o, "diff", "--patch", id);
        assert_non_null(strstr(o.out, "+++ b/src/a.c"));
        assert_null(strstr(o.out, "modules/"));
        EXPECT(s, "committed 2 paths\n",
               "nsrun: note: ignored by git: 1,005 paths stay in the session (--ignored commits them)\n",
               "commit", id);
        outside(s, "[ -e modules/old ] && [ ! -e modules/m ] && [ ! -e src/a.o ] && [ ! -e only ] && "
                   "[ \"$(git status --short)\" = ' M src/a.c\n?? kept.o' ]");
        expect_good_join(s, id, "ls modules/m | wc -l; cat only/b.o", "1000\nx\n");
        /* Named, all of it is meant; and so it is with --ignored. */
        EXPECT(s, "committed 1 path\n", "", "commit", id, "src/a.o");
        EXPECT(s, "committed 1002 paths\n", "", "commit", id, "modules");
        outside(s, "[ ! -e modules/old ] && [ -e modules/m/999 ] && [ -e src/a.o ] && [ ! -e only ]");
        EXPECT(s, "committed 2 paths\n", "", "commit", "--ignored", id);
        EXPECT(s, "", "", "diff", "--ignored", id);
        outside(s, "[ -e only/b.o ]");
        end_session(s, id, "stop");
}

TEST(what_git_keeps_for_itself_is_counted_and_committed) {
        static const char kept[] = "# git's own, which a commit takes over: ";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0}, named = {0}, json = {0}, other = {0};
        _cleanup_free_ char *id = NULL, *digest = NULL;

        outside(s, INIT "git checkout -q -b main; echo 1 >a" COMMIT);
        id = START(s, "--overlay", s->project);
        expect_good_join(s, id, "echo 2 >a; git commit -qam two", "");
        SESSION(s, &o, "diff", id);
        assert_non_null(
                startswith(o.out, "M  .git/index\nM  .git/refs/heads/main\nM  a\n# git's own, which"));
        SESSION(s, &o, "diff", "--patch", id);
        expect_in(o.out, "+++ b/a");
        expect_in(o.out, kept);
        expect_not_in(o.out, ".git/objects");
        SESSION(s, &json, "diff", "--json", id);
        expect_not_in(json.out, "\"git\":0,");
        expect_not_in(json.out, ".git/objects");
        SESSION(s, &named, "diff", id, ".git");
        SESSION(s, &o, "diff", "--ignored", id);
        expect_in(named.out, "M  .git/index\n");
        expect_in(o.out, named.out);
        expect_not_in(o.out, kept);
        /* What is no file of git's own isn't counted as such. */
        expect_good_join(s, id,
                         "ln -s /x .git/objects/link; mkdir -p d/.git/objects .git/objects/info; "
                         "echo x >d/.git/objects/x; echo /x >.git/objects/info/alternates; "
                         "echo x >.git/objects/x; echo x >.git/logs/x; chmod +x .git/logs/x",
                         "");
        SESSION(s, &other, "diff", id);
        expect_in(other.out, "A  .git/objects/link\n");
        expect_in(other.out, "A  .git/objects/info/alternates\n");
        expect_in(other.out, "A  d/.git/objects/x\n");
        expect_in(other.out, "A  .git/objects/x\n");
        expect_in(other.out, "A  .git/logs/x\n");
        expect_good_join(s, id,
                         "rm -r d .git/objects/link .git/objects/info/alternates .git/objects/x .git/logs/x",
                         "");
        digest = digest_of(s, id, NULL);
        SESSION(s, &o, "commit", "--expect", digest, id);
        expect_status(&o, 0);
        outside(s,
                "[ \"$(git log --format=%s)\" = 'two\nx' ] && [ -z \"$(git status --short)\" ] && git fsck");
        end_session(s, id, "stop");
}

/* Git adds objects there; who takes one away, or changes it, harms what the user has. */
TEST(what_is_taken_from_a_git_dir_is_told) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL;

        outside(s, INIT "echo 1 >a" COMMIT " && mkdir .git/objects/zz && echo 1 >.git/objects/zz/gone && "
                        "echo 1 >.git/objects/zz/changed");
        id = START(s, "--overlay", s->project);
        expect_good_join(
                s, id,
                "cd .git; echo 2 >objects/zz/changed; rm -r objects/zz/gone logs/HEAD index; mkdir -p objects/ab; echo >objects/ab/0123",
                "");
        EXPECT(s,
               "D  .git/index\nD  .git/logs/HEAD\nM  .git/objects/zz/changed\nD  .git/objects/zz/gone\n"
               "# git's own, which a commit takes over: 2 paths (naming .git lists them)\n",
               "", "diff", id);
        end_session(s, id, "stop");
}

/* The rules are those that the host has, whatever the session writes, until that is committed. */
TEST(nothing_that_a_command_writes_hides_a_change) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL, *digest = NULL;

        outside(s, INIT "mkdir sub; echo '*.log' >.gitignore; echo 1 >sub/a; echo 1 >forced.log; "
                        "git add -f forced.log; echo .envrc >>.git/info/exclude" COMMIT);
        id = START(s, "--overlay", s->project);
        expect_good_join(s, id,
                         "echo '*' >.gitignore; echo '*' >sub/.gitignore; echo '*' >.git/info/exclude; "
                         "git config core.excludesFile \"$PWD/all\"; echo '*' >all; git init -q new; "
                         "echo '*' >new/.gitignore; echo 1 >new/b; mkdir -p \"$HOME/.config/git\"; "
                         "echo '*' >\"$HOME/.config/git/ignore\"; echo 2 >sub/a; echo 2 >forced.log; "
                         "echo 1 >other.log; echo evil >.envrc; rm -rf new/.git .git/config",
                         "");
        EXPECT(s,
               "A  .envrc\nD  .git/config\nM  .git/info/exclude\nM  .gitignore\nA  all\nM  forced.log\n"
               "A  new/\nA  new/.gitignore\nA  new/b\nA  sub/.gitignore\nM  sub/a\n"
               "# ignored by git: 1 path (--ignored lists it)\n",
               "", "diff", id);
        digest = digest_of(s, id, NULL);
        EXPECT(s, "committed 9 paths\n",
               "nsrun: note: ignored by git: 1 path stays in the session (--ignored commits it)\n"
               "nsrun: note: .envrc: left in the session: programs on the host obey it; name it at a terminal to commit it\n"
               "nsrun: note: .git/config: left in the session: programs on the host obey it; name it at a terminal to commit it\n",
               "commit", "--expect", digest, id);
        outside(s, "[ \"$(cat forced.log sub/a)\" = '2\n2' ] && [ ! -e other.log ] && [ ! -e .envrc ]");
        /* Now they are the host's. */
        expect_good_join(s, id, "echo 3 >sub/a; echo 3 >sub/c", "");
        EXPECT(s, "A  .envrc\nD  .git/config\nM  sub/a\n# ignored by git: 2 paths (--ignored lists them)\n",
               "", "diff", id);
        end_session(s, id, "stop");
}

TEST(a_digest_is_of_what_is_shown) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL, *plain = NULL, *all = NULL;

        outside(s, INIT "echo '*.o' >.gitignore" COMMIT);
        id = START(s, "--overlay", s->project);
        expect_good_join(s, id, "echo 1 >a.c; echo 1 >a.o", "");
        plain = digest_of(s, id, NULL);
        all = digest_of(s, id, "--ignored");
        EXPECT_STATUS(s, OTHER_STATE, "", DIFFERS, "commit", "--ignored", "--expect", plain, id);
        EXPECT_STATUS(s, OTHER_STATE, "", DIFFERS, "commit", "--expect", all, id);
        /* What isn't shown may change, but for what the rules on the host are. */
        expect_good_join(s, id, "echo 2 >a.o", "");
        EXPECT_STATUS(s, OTHER_STATE, "", DIFFERS, "commit", "--ignored", "--expect", all, id);
        outside(s, "echo >.gitignore");
        EXPECT_STATUS(s, OTHER_STATE, "", DIFFERS, "commit", "--expect", plain, id);
        outside(s, "[ ! -e a.c ] && [ ! -e a.o ]; echo '*.o' >.gitignore");
        EXPECT(s, "committed 1 path\n",
               "nsrun: note: ignored by git: 1 path stays in the session (--ignored commits it)\n", "commit",
               "--expect", plain, id);
        outside(s, "[ -e a.c ] && [ ! -e a.o ]");
        end_session(s, id, "stop");
}

/* A removed folder can't go while something in it stays. */
TEST(a_removed_folder_stays_with_what_is_ignored_in_it) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL;

        outside(s, INIT "echo '*.o' >.gitignore; mkdir old; echo 1 >old/a.c" COMMIT " && echo 1 >old/a.o");
        id = START(s, "--overlay", s->project);
        expect_good_join(s, id, "rm -r old", "");
        EXPECT(s, "D  old/a.c\n# ignored by git: 2 paths (--ignored lists them)\n", "", "diff", id);
        EXPECT(s, "committed 1 path\n",
               "nsrun: note: ignored by git: 2 paths stay in the session (--ignored commits them)\n",
               "commit", id);
        outside(s, "[ \"$(ls old)\" = a.o ]");
        EXPECT(s, "committed 2 paths\n", "", "commit", "--ignored", id);
        outside(s, "[ ! -e old ]");
        end_session(s, id, "stop");
}

/* Files of patterns above the overlay, in its linked worktree's repository, and the user's own. */
TEST(the_rules_are_those_that_git_reads) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL, *inner = text_of("%s/sub", s->project);

        outside(s, "mkdir -p \"$HOME/.config/git\"; echo '*~' >\"$HOME/.config/git/ignore\"; mkdir ../main; "
                   "cd ../main; " INIT "echo 'sub/*.o' >.gitignore; mkdir sub; echo 1 >sub/f" COMMIT
                   " && echo '*.tmp' >>.git/info/exclude; rm -rf ../project; "
                   "git worktree add -q ../project 2>/dev/null; cd ../project; git init -q sub/inner; "
                   "echo '*.x' >sub/inner/.gitignore");
        id = START(s, "--overlay", inner);
        expect_good_join(s, id, "cd sub; for f in a.o a.tmp a~ a.x inner/a.o inner/a.x; do echo 1 >$f; done",
                         "");
        EXPECT(s, "A  a.x\nA  inner/a.o\n# ignored by git: 4 paths (--ignored lists them)\n", "", "diff",
               id);
        end_session(s, id, "stop");
}

TEST(without_a_repository_nothing_is_ignored) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL;

        outside(s, "rm -rf .git; echo '*' >.gitignore; mkdir .git; echo x >.git/HEAD");
        id = START(s, "--overlay", s->project);
        expect_good_join(s, id, "echo 1 >a", "");
        EXPECT(s, "A  a\n", "", "diff", id);
        EXPECT_STATUS(s, 125, "",
                      "nsrun: --ignored is for diff and commit alone: stop; see 'nsrun session --help'\n",
                      "stop", "--ignored", id);
        end_session(s, id, "stop");
}

/* ---------------------------------------------------------------------- globs */

TEST(a_path_may_be_a_glob) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL;

        outside(s, INIT "echo '*.o' >.gitignore; mkdir src; echo 1 >'src/[x].c'" COMMIT);
        id = START(s, "--overlay", s->project);
        expect_good_join(
                s, id,
                "mkdir -p src/sub; for f in src/a.c src/a.o src/sub/b.c src/x.c c.c 'src/*y' src/zy; do "
                "echo 1 >\"$f\"; done; echo 2 >'src/[x].c'",
                "");
        EXPECT(s, "M  src/[x].c\nA  src/a.c\nA  src/sub/b.c\nA  src/x.c\n", "", "diff", id, "src/*.c");
        /* What is there is meant, and not what it would match. */
        EXPECT(s, "M  src/[x].c\n", "", "diff", id, "src/[x].c");
        EXPECT(s, "A  src/*y\n", "", "diff", id, "src/*y");
        EXPECT(s, "A  src/*y\n", "", "diff", id, "src/\\*[y]");
        EXPECT(s, "# ignored by git: 1 path (--ignored lists it)\n", "", "diff", id, "*.o");
        EXPECT(s, "A  src/a.o\n", "", "diff", "--ignored", id, "*.o");
        EXPECT_STATUS(
                s, 125, "",
                "nsrun: nothing has changed there: src/*.h: No such file or directory; nsrun session diff "
                "says what has\n",
                "commit", id, "src/*.h");
        EXPECT(s, "committed 2 paths\n", "", "commit", id, "src/[ab].c", "sr?/x.c");
        outside(s, "[ \"$(cd src; echo *)\" = '[x].c a.c x.c' ]");
        EXPECT(s, "discarded 1 path\n", "", "discard", id, "src/*[b].c");
        EXPECT(s,
               "A  c.c\nA  src/*y\nM  src/[x].c\nA  src/sub/\nA  src/zy\n# ignored by git: 1 path (--ignored lists it)\n",
               "", "diff", id);
        end_session(s, id, "stop");
}

/* Hooks go to the host by their names alone. */
TEST(a_glob_names_nothing_that_git_obeys) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *id = NULL;

        outside(s, INIT "rm -f .git/hooks/*; echo 1 >a" COMMIT);
        id = START(s, "--overlay", s->project);
        expect_good_join(s, id, "echo evil >.git/hooks/pre-commit; echo 1 >pre-b", "");
        SESSION_TYPED(s, &o, "commit", id, "*pre-*");
        expect_out(&o, "committed 1 path\n");
        assert_string_equal(
                o.err,
                "nsrun: note: .git/hooks/pre-commit: left in the session: programs on the host obey it; name it at a terminal to commit it\n");
        outside(s, "[ -e pre-b ] && [ ! -e .git/hooks/pre-commit ]");
        SESSION_TYPED(s, &o, "commit", id, ".git/hooks/pre-commit");
        expect_out(&o, "committed 1 path\n");
        end_session(s, id, "stop");
}

/* An index with as many names of 4 KB. */
static void fill_index(const struct site *s, const char *name, unsigned n_tracked) {
        _cleanup_free_ char *path = path_of(s->project, name);
        FILE *f = fopen(path, "we");

        assert_non_null(f);
        (void)fwrite("DIRC\0\0\0\4\0\0", 1, 10, f);
        (void)fputc((int)(n_tracked >> 8), f);
        (void)fputc((int)(n_tracked & 0xff), f);
        for (unsigned i = 0; i < n_tracked; i++) {
                const unsigned char entry[62] = {[26] = 0x81, [27] = 0xa4, [60] = 0x0f, [61] = 0xa1};

                (void)fwrite(entry, 1, sizeof(entry), f);
                (void)fputc(i > 0, f);
                for (unsigned k = 0; i == 0 && k < 2000; k++)
                        (void)fputs("d/", f);
                (void)fwrite("x", 1, 2, f);
        }
        for (unsigned i = 0; i < 20; i++)
                (void)fputc(0, f);
        assert_int_equal(fclose(f), 0);
}

TEST(a_repository_that_files_are_renamed_out_of_is_read_once) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *id = NULL;
        struct rusage usage;

        outside(s, INIT "echo '*.o' >.gitignore; mkdir r; cd r; " INIT
                        "echo '*.o' >.gitignore; for i in $(seq 100); do echo $i >$i.o; done");
        fill_index(s, "r/.git/index", 4000);
        id = START(s, "--overlay", s->project);
        expect_good_join(s, id, "for i in $(seq 100); do mv r/$i.o $i.o; done; echo 1 >a", "");
        SESSION(s, &o, "diff", id);
        expect_status(&o, 0);
        expect_out(&o, "A  a\n# ignored by git: 100 paths (--ignored lists them)\n");
        assert_int_equal(getrusage(RUSAGE_CHILDREN, &usage), 0);
        /* Read a hundred times it would be 1.6 GB. */
        assert_between(usage.ru_maxrss, 1, 512 * 1024);
        end_session(s, id, "stop");
}

int main(void) {
        return run_all_tests();
}

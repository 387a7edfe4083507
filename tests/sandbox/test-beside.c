/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What lies beside the project: a write there fails instead of vanishing, and what programs need is
 * writable; what vanishes with the sandbox's own home is told. */
#include "harness.h"

/* A project at `path` below the home. */
static char *project_in_home(const struct site *s, const char *path) {
        _cleanup_free_ char *whole = path_of(s->home, path), *git = NULL;

        for (char *slash = whole + strlen(s->home) + 1; (slash = strchr(slash, '/')); slash++) {
                *slash = '\0';
                (void)mkdir(whole, 0755);
                *slash = '/';
        }
        (void)mkdir(whole, 0755);
        git = path_of(whole, ".git");
        (void)mkdir(git, 0755);
        return TAKE_PTR(whole);
}

/* Those that programs of several languages have. */
static void make_caches(const struct site *s) {
        static const char *const caches[] = {"go/pkg/mod", ".npm", ".cargo/registry"};

        for (size_t i = 0; i < ARRAY_SIZE(caches); i++)
                free(project_in_home(s, caches[i]));
}

static void run_in(struct outcome *ret, const char *project, const char *script) {
        outcome_clear(ret);
        NSRUN_IN(project, ret, "run", "--", "sh", "-c", script);
}

TEST(a_write_beside_the_project_fails_and_does_not_vanish) {
        static const char script[] =
                "for f in ../f ../sub/f ../../f; do (echo x >$f) 2>/dev/null && echo could $f; done; "
                "mkdir ../folder 2>/dev/null && echo could mkdir; mv ../p ../q 2>/dev/null && echo could mv; "
                "LC_ALL=C sh -c 'echo x >../artifact.tar' 2>&1 | sed 's/.*: //'; "
                "mount -o remount,rw .. 2>/dev/null && echo remounted; : >inside; echo $(ls ..)";
        const struct site *s = *state;
        _cleanup_free_ char *project = project_in_home(s, "src/deep/p"),
                            *inside = path_of(project, "inside");
        _cleanup_outcome_ struct outcome o = {0};

        run_in(&o, project, script);
        expect_status(&o, 0);
        expect_out(&o, "Read-only file system\np\n");
        assert_int_equal(access(inside, F_OK), 0);
        /* The control: outside it can be written. */
        run(&(struct request){.argv = OPTIONS("sh", "-c", "echo x >../artifact.tar"), .cwd = project}, &o);
        expect_status(&o, 0);
}

TEST(what_programs_need_beside_the_project_is_writable) {
        static const char script[] =
                "set -e; touch ~/.gitconfig ~/.viminfo; mkdir -p ~/.cache/x ~/.config/y ~/.local/share/z "
                "~/.local/state/s ~/.local/bin ~/.cargo ~/.npm/_logs; touch ~/.cargo/.package-cache "
                "~/.npm/_logs/1; mkdir -p ~/go/bin; touch ~/go/bin/tool /tmp/x; ! touch ~/go/src/x 2>/dev/null; "
                "echo ok";
        const struct site *s = *state;
        _cleanup_free_ char *project = project_in_home(s, "go/src/host/p"),
                            *hidden = project_in_home(s, ".dotfiles/p");
        _cleanup_outcome_ struct outcome o = {0};

        make_caches(s);
        run_in(&o, project, script);
        expect_status(&o, 0);
        expect_out(&o, "ok\n");
        run_in(&o, hidden, "touch ../x && echo ok");
        expect_out(&o, "ok\n");
}

TEST(what_is_exposed_beside_the_project_is_as_it_was) {
        static const char script[] = "touch ../out/made && ! touch ../f 2>/dev/null && cat ../shown/f";
        const struct site *s = *state;
        _cleanup_free_ char *project = project_in_home(s, "src/p"), *out = project_in_home(s, "src/out"),
                            *shown = project_in_home(s, "src/shown"), *above = path_of(s->home, "src");
        _cleanup_outcome_ struct outcome o = {0};

        make_file(shown, "f", "shown\n");
        NSRUN_IN(project, &o, "run", "--rw", out, "--ro", shown, "--", "sh", "-c", script);
        expect_status(&o, 0);
        expect_out(&o, "shown\n");
        outcome_clear(&o);
        /* Who wants a place to write there says so. */
        NSRUN_IN(project, &o, "run", "--tmpfs", above, "--", "sh", "-c", "touch ../f && echo ok");
        expect_status(&o, 0);
        expect_out(&o, "ok\n");
}

/* In the project it covers what the host has there, which is as it was afterwards. */
TEST(a_tmpfs_is_empty_bounded_and_gone_at_the_end) {
        static const char script[] =
                "set -e; cd build; [ -z \"$(ls -A)\" ]; echo new >made; stat -f -c %T .; "
                "! head -c 2M /dev/zero 2>/dev/null >big; head -c 900K /dev/zero >big; "
                "! mv ../build ../other 2>/dev/null; ! rmdir ../build 2>/dev/null; "
                "cd /var/lib/some; echo x >y; cat y; [ ! -e ~/.npm/host ]; touch ~/.npm/new";
        const struct site *s = *state;
        _cleanup_free_ char *build = path_of(s->project, "build"), *npm = path_of(s->home, ".npm"),
                            *option = text_of("--tmpfs=%s", npm), *here = text_of("%s:1M", build);
        _cleanup_outcome_ struct outcome o = {0}, without = {0};
        char *before, *npm_before;

        make_folder(s->project, "build");
        make_file(build, "old", "old\n");
        make_folder(s->home, ".npm");
        make_file(npm, "host", "");
        before = snapshot(build);
        npm_before = snapshot(npm);
        RUN(s, &o, "--tmpfs", here, "--tmpfs=/var/lib/some", option, "--", "sh", "-c", script);
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
        expect_out(&o, "tmpfs\nx\n");
        expect_unchanged(build, before);
        expect_unchanged(npm, npm_before);
        RUN(s, &without, "--", "sh", "-c", "cat build/old; [ -e ~/.npm/host ]; ls -d /var/lib/some 2>&1");
        expect_status(&without, 2);
        expect_out(&without, "old\nls: cannot access '/var/lib/some': No such file or directory\n");
}

TEST(a_worktree_beside_the_project_leaves_no_entry) {
        static const char script[] =
                "git worktree add -q ../wt 2>&1 | tail -1; git worktree add -q inside && git worktree list | wc -l";
        const struct site *s = *state;
        _cleanup_free_ char *project = project_in_home(s, "src/p");
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = OPTIONS("git", "-c", "user.name=n", "-c", "user.email=n@e", "-c",
                                              "init.defaultBranch=main", "init", "-q", project)},
            &o);
        expect_status(&o, 0);
        outcome_clear(&o);
        run(&(struct request){.argv = OPTIONS("git", "-c", "user.name=n", "-c", "user.email=n@e", "commit",
                                              "-q", "--allow-empty", "-m", "x"),
                              .cwd = project},
            &o);
        expect_status(&o, 0);
        run_in(&o, project, script);
        expect_in(o.out, "Read-only file system\n2\n");
        outcome_clear(&o);
        run(&(struct request){.argv = OPTIONS("git", "worktree", "prune", "-n", "-v"), .cwd = project}, &o);
        expect_out(&o, "");
        assert_string_equal(o.err, "");
}

#define GONE "what the command left in the sandbox's own home is gone (--rw exposes a folder of yours): "

TEST(what_was_left_in_the_home_is_told_at_the_end) {
        static const struct {
                const char *script, *told; /* NULL: nothing */
        } cases[] = {
                {"echo x >../artifact.tar", "~/artifact.tar"},
                {"git config --global user.name x", "~/.gitconfig"},
                {"mkdir -p ~/wt/deep && touch ~/wt/deep/f", "~/wt"},
                {"ln -s /etc/passwd ~/link", "~/link"},
                {"mkdir -p ~/.config/pip ~/.config/other ~/.local/bin ~/.local/share/x",
                 "~/.config/pip, ~/.local/bin"},
                {"mkdir -p ~/.config/gh ~/.docker; touch ~/.config/gh/hosts.yml ~/.docker/config.json",
                 "~/.config/gh, ~/.docker/config.json"},
                {"touch ~/$(printf 'a\\033[2Jb')", "~/a\\x1b[2Jb"},
                {"touch ~/1; touch ~/2; touch ~/3; touch ~/4; touch ~/5", "~/5, ~/4, ~/3, ~/2 and more"},
                {"mkdir ~/go/bin && touch ~/go/bin/tool", "~/go/bin"},
                {"mkdir ~/go/bin && chmod 0 ~/go/bin && exit 0", "~/go/bin"},
                {"true", NULL},
                {"mkdir ~/gone && rmdir ~/gone; touch ../f && rm ../f", NULL},
                {"mkdir -p ~/.cache/x ~/.npm/y ~/.config/other; touch ~/.viminfo ~/.python_history", NULL},
                {"touch inside ~/out/f ~/go/pkg/mod/f", NULL},
                {"touch /tmp/x", NULL},
        };
        const struct site *s = *state;
        _cleanup_free_ char *project = project_in_home(s, "p"), *out = project_in_home(s, "out");

        make_caches(s);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *line =
                        cases[i].told ? text_of("nsrun: note: " GONE "%s\n", cases[i].told) : strdup("");
                _cleanup_outcome_ struct outcome o = {0};

                NSRUN_IN(project, &o, "run", "--rw", out, "--", "sh", "-c", cases[i].script);
                expect_status(&o, 0);
                assert_string_equal(o.err, line);
        }
}

/* A flood of names, or of long ones, makes one line of bounded length. */
TEST(a_flood_of_names_is_one_short_line) {
        static const char *const scripts[] = {
                "cd ~ && for i in $(seq 3000); do : >f$i; done",
                "cd ~ && for i in $(seq 9); do : >$i$(printf %0250d 0); done",
                "cd ~ && mkdir d && cd d && mkdir $(seq -f %g$(printf %0200d 0) 3000)",
                "cd ~ && mkfifo fifo && ln -s . loop && chmod 0 ~",
        };
        const struct site *s = *state;
        _cleanup_free_ char *project = project_in_home(s, "p");

        for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
                _cleanup_outcome_ struct outcome o = {0};

                run_in(&o, project, scripts[i]);
                expect_status(&o, 0);
                if (!o.err[0] && i == 3)
                        continue; /* it closed its home to everybody */
                assert_int_equal(
                        strncmp(o.err, "nsrun: note: " GONE "~/", strlen("nsrun: note: " GONE "~/")), 0);
                assert_ptr_equal(strchr(o.err, '\n'), o.err + strlen(o.err) - 1);
                assert_true(strlen(o.err) < 1300);
        }
}

TEST(an_agents_result_says_what_is_gone) {
        const struct site *s = *state;
        _cleanup_free_ char *project = project_in_home(s, "p"),
                            *both = text_of("\"notes\":[\"" GONE "~/a\"],\"dropped\":[\"%s/a\"],", s->home);
        _cleanup_outcome_ struct outcome o = {0};
        const char *const left[] = {program(), "bash", "--json", "touch ../a", NULL},
                          *const none[] = {program(), "bash", "--json", "touch a", NULL};

        run(&(struct request){.argv = left, .cwd = project}, &o);
        expect_status(&o, 0);
        expect_in(o.out, both);
        outcome_clear(&o);
        run(&(struct request){.argv = none, .cwd = project}, &o);
        expect_in(o.out, "\"notes\":[],\"dropped\":[],");
}

int main(void) {
        return run_all_tests();
}

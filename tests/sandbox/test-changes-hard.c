/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* src/changes where it is hard: killed at any call, out of room, in deep trees, among links
 * that somebody planted. */
#include <sys/ptrace.h>

#include "harness.h"
#include "picture.h"

/* Everything that is moved by itself, in what the two scripts below make and change. */
static const char *const units[] = {"file",    "d/one", "d/two", "link", "gone", "new",  "old",
                                    "renamed", "to-d",  "to-f",  "mode", "shut", "pair", "pair2"};

static const char before[] =
        "echo 1 >file; mkdir d gone gone/in to-f; echo 1 >d/one; echo 2 >d/two; ln -s a link;"
        "echo g >gone/in/g; echo 12345 >old; echo x >to-d; echo x >to-f/x; echo m >mode;"
        "mkdir shut; echo s >shut/s; chmod 555 shut; ln file other";
static const char after[] =
        "echo 2 >>file; echo 3 >>d/one; rm d/two; ln -sfn b link; rm -r gone; mv old renamed;"
        "mkdir -p new/deep/er; echo n >new/deep/n; ln -s n new/l; chmod 555 new/deep;"
        "rm to-d; mkdir to-d; echo y >to-d/y; rm -r to-f; echo z >to-f; chmod 755 mode;"
        "chmod 755 shut; echo t >shut/t; chmod 555 shut; echo p >pair; ln pair pair2";

/* A commit in a child that is killed before its Nth system call.  Whether it got to the end before. */
static bool commit_killed_at(const struct layer *y, unsigned n) {
        pid_t pid = fork();
        int status;

        assert_true(pid >= 0);
        if (pid == 0) {
                struct changes_report report = {0};

                if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
                        _exit(3);
                (void)raise(SIGSTOP);
                _exit(changes_commit(&y->l, NULL, 0, &report, NULL) < 0 ? 4 : 0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        for (unsigned i = 0; i < 2 * n && !WIFEXITED(status); i++) {
                assert_true(WIFSTOPPED(status));
                assert_int_equal(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), 0);
                assert_int_equal(waitpid(pid, &status, 0), pid);
        }
        if (WIFEXITED(status)) {
                assert_int_equal(WEXITSTATUS(status), 0);
                return true;
        }
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return false;
}

static void expect_old_or_new(const struct layer *y, int copy, unsigned n) {
        for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
                _cleanup_free_ char *old = picture_tree(copy, units[i]),
                                    *new = picture_tree(y->l.merged_fd, units[i]);
                _cleanup_free_ char *now = picture_tree(y->l.base_fd, units[i]);

                /* Its owner's right to write in a folder may be there for a moment. */
                if (streq(units[i], "shut") || streq(units[i], "new") || streq(units[i], "gone"))
                        continue;
                if (!streq(now, old) && !streq(now, new))
                        fail_msg("killed before call %u, %s is half: %s", n, units[i], now);
        }
}

/* What is in them, without the modes. */
static void expect_whole_folders(const struct layer *y, unsigned n) {
        static const char *const scripts[] = {
                "[ ! -e gone ] || [ $(cat gone/in/g) = g ]",
                "[ ! -e new ] || [ $(cat new/deep/n)$(readlink new/l)$(ls -d new/deep/er) = nnnew/deep/er ]",
                "[ $(cat shut/s) = s ]; [ ! -e shut/t ] || [ $(cat shut/t) = t ]",
        };

        (void)n;
        for (size_t i = 0; i < ARRAY_SIZE(scripts); i++)
                layer_sh(y->l.base_fd, scripts[i]);
}

static bool kill_once(unsigned n) {
        _cleanup_free_ char *new = NULL, *host = NULL;
        _cleanup_close_ int base = -EBADF, copy = -EBADF;
        struct layer y;
        bool is_over;

        layer_begin(&y);
        base = layer_folder(&y, "base");
        copy = layer_folder(&y, "record/..");
        layer_sh(base, before);
        layer_sh(copy, "cp -a base copy");
        close_fdp(&copy);
        copy = layer_folder(&y, "copy");
        layer_mount(&y);
        layer_sh(y.l.merged_fd, after);
        is_over = commit_killed_at(&y, n);
        expect_old_or_new(&y, copy, n);
        expect_whole_folders(&y, n);
        (void)snprintf(layer_context, sizeof(layer_context), "killed before call %u: ", n);
        layer_commit(&y, NULL);
        layer_expect(&y, "");
        new = picture_tree(y.l.merged_fd, ".");
        host = picture_tree(y.l.base_fd, ".");
        assert_string_equal(host, new);
        layer_end(&y);
        return is_over;
}

TEST_WITH(a_killed_commit_leaves_each_path_old_or_new, NULL, NULL) {
        const unsigned stride = takes_samples() ? 41 : is_full() ? 7 : 23;
        unsigned n = 1;
        while (!kill_once(n))
                n += stride;
        print_message("killed at %u calls\n", n / stride);
        assert_true(n > 300);
        layer_context[0] = '\0';
}

static void expect_failure(int r, const struct nsrun_error *err, int error, const char *path,
                           const char *what) {
        assert_int_equal(r, -error);
        /* What nsrun itself finds isn't the kernel's to say. */
        assert_int_equal(err->error, error == ESTALE ? 0 : error);
        assert_string_equal(err->path, path);
        assert_string_equal(err->what, what);
}

LAYER_TEST(for_want_of_room_nothing_is_committed) {
        _cleanup_changes_report_ struct changes_report report = {0};
        _cleanup_free_ char *old = NULL, *now = NULL;
        struct nsrun_error err = {0};
        struct layer *y = *state;

        y->base_options = "size=128k,mode=0755";
        layer_mount(y);
        layer_sh(y->l.base_fd, "echo 1 >a; echo 2 >b; mkdir d; echo 3 >d/c");
        layer_since_now(y);
        layer_sh(y->l.merged_fd, "echo 4 >>a; rm -r d; head -c 300000 /dev/urandom >m; echo 5 >z");
        old = picture_tree(y->l.base_fd, ".");
        expect_failure(changes_commit(&y->l, NULL, 0, &report, &err), &err, ENOSPC, "m",
                       "it can't be made ready, so nothing was committed");
        now = picture_tree(y->l.base_fd, ".");
        assert_string_equal(now, old);
        assert_int_equal(report.n_applied, 0);
        layer_sh(y->l.merged_fd, "rm m");
        layer_commit(y, NULL);
        layer_expect(y, "");
        layer_sh(y->l.base_fd, "[ $(cat z) = 5 ] && [ ! -e d ] && [ $(wc -l <a) = 2 ]");
}

enum {
        LEVELS = NSRUN_HAS_ASAN ? 2200 : 5000, /* more than a path of PATH_MAX has */
        TOO_LONG = 90,                         /* of 200 bytes each: more than TREE_PATH_MAX */
};

/* Folders of that name, with so many files beside the deepest. */
static void make_deep(int dir, const char *name, unsigned levels, unsigned files) {
        int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        for (unsigned i = 0; i < levels; i++) {
                int next;

                assert_int_equal(mkdirat(fd, name, 0755), 0);
                next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                assert_true(next >= 0);
                (void)close(fd);
                fd = next;
        }
        assert_int_equal(mkdirat(fd, "bottom", 0750), 0);
        for (unsigned i = 0; i < files; i++) {
                _cleanup_free_ char *file = text_of("file-%u", i);

                assert_int_equal(mknodat(fd, file, S_IFREG | 0644, 0), 0);
        }
        (void)close(fd);
}

static unsigned depth_of(int dir) {
        int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), next;
        unsigned n = 0;

        while ((next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0) {
                (void)close(fd);
                fd = next;
                n++;
        }
        assert_int_equal(faccessat(fd, "bottom", F_OK, 0), n > 0 ? 0 : -1);
        (void)close(fd);
        return n;
}

LAYER_TEST(thousands_of_levels_are_committed_and_removed) {
        struct layer *y = *state;

        layer_mount(y);
        make_deep(y->l.merged_fd, "d", LEVELS, 0);
        layer_commit(y, NULL);
        assert_int_equal(depth_of(y->l.base_fd), LEVELS);
        layer_expect(y, "");
        layer_sh(y->l.merged_fd, "rm -r d");
        layer_commit(y, NULL);
        assert_int_equal(depth_of(y->l.base_fd), 0);
        layer_expect(y, "");
}

LAYER_TEST(a_path_too_long_is_said_and_the_rest_is_done) {
        _cleanup_changes_report_ struct changes_report report = {0};
        _cleanup_changes_ struct changes c = {0};
        struct nsrun_error err = {0};
        struct layer *y = *state;
        char name[201];

        layer_mount(y);
        layer_sh(y->l.merged_fd, "echo 1 >f");
        (void)snprintf(name, sizeof(name), "%0200d", 0);
        make_deep(y->l.merged_fd, name, TOO_LONG, 0);
        assert_int_equal(changes_scan(&y->l, &c, NULL), 0);
        assert_string_equal(c.list[c.n - 1].path, "f");
        assert_int_equal(c.list[c.n - 2].error, ENAMETOOLONG);
        assert_int_equal(c.list[c.n - 3].error, 0);
        assert_true(changes_commit(&y->l, NULL, 0, &report, &err) == -ENAMETOOLONG);
        assert_string_equal(err.what, "a changed path can't be looked at");
        layer_sh(y->l.base_fd, "[ -z \"$(ls -A)\" ]");
        layer_commit(y, "f");
        layer_sh(y->l.base_fd, "[ $(cat f) = 1 ]");
}

static double cpu_seconds(void) {
        struct timespec t;

        assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t), 0);
        return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Whether a folder is needed is not looked for in all that lies beneath it. */
LAYER_TEST(one_path_beside_a_deep_tree_takes_a_look_at_it_and_no_more) {
        _cleanup_changes_ struct changes c = {0};
        struct layer *y = *state;
        double start, look, commit;

        layer_mount(y);
        layer_sh(y->l.merged_fd, "echo 1 >f");
        make_deep(y->l.merged_fd, "d", LEVELS, 2000);
        start = cpu_seconds();
        assert_int_equal(changes_scan(&y->l, &c, NULL), 0);
        look = cpu_seconds() - start;
        layer_commit(y, "f");
        commit = cpu_seconds() - start - look;
        print_message("a look: %.2f s; a commit: %.2f s\n", look, commit);
        assert_true(commit < 5 * look);
}

LAYER_TEST(a_planted_symlink_never_moves_a_commit) {
        _cleanup_changes_report_ struct changes_report report = {0}, forced = {0};
        _cleanup_close_ int root = -EBADF, base = -EBADF;
        struct nsrun_error err = {0};
        struct layer *y = *state;

        base = layer_folder(y, "base");
        root = layer_folder(y, "record/..");
        layer_sh(base, "mkdir d; echo 1 >d/x; echo 1 >d/y");
        layer_mount(y);
        layer_sh(y->l.merged_fd, "echo 2 >>d/x; echo n >d/n; rm d/y");
        layer_sh(
                root,
                "mkdir outside; echo 1 >outside/x; echo 1 >outside/y; mv base/d base/away; ln -s ../outside base/d");
        expect_failure(changes_commit(&y->l, NULL, 0, &report, &err), &err, ESTALE, "d",
                       "the host's side has changed since the session began, so nothing was committed");
        layer_sh(root, "[ \"$(ls outside)\" = \"$(printf 'x\\ny')\" ]; [ $(cat outside/x) = 1 ]");
        assert_int_equal(changes_commit(&y->l, NULL, CHANGES_FORCE, &forced, NULL), 0);
        layer_sh(root, "[ \"$(ls outside)\" = \"$(printf 'x\\ny')\" ]; [ $(cat outside/x) = 1 ];"
                       "[ ! -L base/d ]; [ $(wc -l <base/d/x) = 2 ]");
}

LAYER_TEST(what_is_mounted_on_the_host_is_not_written_to) {
        _cleanup_changes_report_ struct changes_report report = {0};
        struct nsrun_error err = {0};
        struct layer *y = *state;
        _cleanup_close_ int base = layer_folder(y, "base");

        layer_sh(base, "mkdir m; echo 1 >m/x; echo 1 >y");
        y->mounted = "base/m";
        layer_mount(y);
        layer_sh(y->l.merged_fd, "echo 2 >>m/x; echo 2 >>y");
        expect_failure(changes_commit(&y->l, NULL, 0, &report, &err), &err, EXDEV, "m",
                       "a changed path can't be looked at");
        layer_expect(y, "M? m/: Invalid cross-device link\nM  y\n");
        /* The rest is as good as ever. */
        layer_commit(y, "y");
        layer_sh(base, "[ $(wc -l <y) = 2 ]; [ $(cat m/x) = 1 ]");
}

/* Somebody else who may write on the host swaps a folder for a link, over and over.  Where a
 * commit has put another folder in place of the link, that one is played with. */
static _Noreturn void swap_for_ever(int base) {
        for (unsigned n = 0;; n++) {
                char name[16];

                (void)symlinkat("../outside", base, "link");
                (void)exchange_names(base, "d", base, "link");
                (void)exchange_names(base, "d", base, "link");
                (void)snprintf(name, sizeof(name), "t%u", n);
                if (unlinkat(base, "link", 0) < 0)
                        (void)renameat(base, "link", base, name);
        }
}

LAYER_TEST(a_folder_swapped_for_a_link_leads_no_commit_astray) {
        struct layer *y = *state;
        _cleanup_close_ int base = layer_folder(y, "base"), root = layer_folder(y, "record/..");
        _cleanup_free_ char *pristine = NULL, *now = NULL;
        unsigned done = 0;
        pid_t pid;

        layer_sh(
                root,
                "mkdir base/d base/d/e outside outside/e; echo 1 >base/d/x; echo 1 >base/d/e/x; echo 1 >base/d/y;"
                "cp -r base/d/. outside; ln -s ../outside base/link");
        layer_mount(y);
        layer_sh(y->l.merged_fd,
                 "echo 2 >>d/x; echo 2 >>d/e/x; rm d/y; echo n >d/n; mkdir d/m; echo m >d/m/m");
        pristine = picture_tree(root, "outside");
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
                swap_for_ever(base);
        /* Until they have met. */
        for (unsigned i = 0; i < 300 || (done == i && i < 20000); i++) {
                _cleanup_changes_report_ struct changes_report report = {0};
                char text[16];
                _cleanup_close_ int fd = openat(y->l.merged_fd, "d/x", O_WRONLY | O_APPEND | O_CLOEXEC);

                assert_true(fd >= 0);
                (void)snprintf(text, sizeof(text), "%u\n", i);
                assert_int_equal(write(fd, text, strlen(text)), strlen(text));
                done += changes_commit(&y->l, NULL, CHANGES_FORCE, &report, NULL) >= 0;
        }
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        print_message("%u commits got through\n", done);
        now = picture_tree(root, "outside");
        assert_string_equal(now, pristine);
}

/* Marks in the upper folder that this kernel may not make itself. */
static void mark(int upper, const char *path, const char *name, const char *value) {
        _cleanup_close_ int fd = openat(upper, path, O_RDONLY | O_CLOEXEC);

        assert_true(fd >= 0);
        assert_int_equal(fsetxattr(fd, name, value, strlen(value), 0), 0);
}

LAYER_TEST(whiteouts_that_are_files_are_read) {
        struct layer *y = *state;
        _cleanup_close_ int base = layer_folder(y, "base"), upper = layer_folder(y, "upper");

        layer_sh(base, "mkdir d e; echo 1 >d/x; echo 1 >d/y; echo 1 >e/x");
        layer_sh(upper, "mkdir d e; : >d/x; : >e/x");
        mark(upper, "d", "user.overlay.opaque", "x");
        mark(upper, "d", "user.overlay.origin", "");
        mark(upper, "e", "user.overlay.origin", "");
        mark(upper, "d/x", "user.overlay.whiteout", "");
        mark(upper, "e/x", "user.overlay.whiteout", "");
        layer_mount(y);
        /* In e, which isn't marked, an empty file is an empty file. */
        layer_expect(y, "D  d/x\nM  e/x\n");
}

static void expect_unknown(struct layer *y, const char *path, const char *what) {
        _cleanup_changes_ struct changes c = {0};
        struct nsrun_error err = {0};

        expect_failure(changes_scan(&y->l, &c, &err), &err, EOPNOTSUPP, path, what);
}

LAYER_TEST(redirects_and_metacopy_are_refused) {
        struct layer *y = *state;
        _cleanup_close_ int upper = layer_folder(y, "upper");

        layer_mount(y);
        layer_sh(upper, "mkdir d; : >x");
        layer_expect(y, "A  d/\nA  x\n");
        mark(upper, "d", "user.overlay.redirect", "/a");
        expect_unknown(y, "d", "the overlay has a redirected folder, which none of nsrun's has");
        layer_sh(upper, "rmdir d");
        mark(upper, "x", "user.overlay.metacopy", "");
        expect_unknown(y, "x", "the overlay has a file without its content, which none of nsrun's has");
}

/* A folder that a killed commit left is known by the record, not by its name. */
LAYER_TEST(a_users_folder_of_such_a_name_is_the_users) {
        struct layer *y = *state;
        _cleanup_close_ int base = layer_folder(y, "base");

        layer_sh(base, "mkdir .nsrun-commit-0123456789abcdef; echo 1 >.nsrun-commit-0123456789abcdef/x");
        layer_mount(y);
        layer_sh(y->l.merged_fd, "echo 2 >a");
        layer_commit(y, NULL);
        layer_sh(base, "[ $(cat .nsrun-commit-0123456789abcdef/x) = 1 ]; [ $(ls -A | wc -l) = 2 ]");
}

int main(void) {
        (void)umask(022);
        return run_all_tests();
}

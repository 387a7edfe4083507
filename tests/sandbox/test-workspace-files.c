/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A workspace's file operations: what each does, each refusal in its words, and that nothing
 * outside is reached while somebody swaps the paths.  Public names alone. */
#include <pthread.h>
#include <stdatomic.h>

#include "workspace.h"

enum verb {
        MKDIR,
        MKDIR_P,
        CREATE,
        RENAME,
        REPLACE,
        UNLINK,
        RMDIR,
        SYMLINK,
        READLINK,
        STAT,
        LSTAT,
        LIST,
};

static int count_entry(void *data, const char *name, mode_t type) {
        (void)name;
        (void)type;
        ++*(int *)data;
        return 0;
}

static int perform(const struct nsrun_workspace *w, enum verb verb, const char *path, const char *other,
                   struct nsrun_error *err) {
        struct stat st;
        char *text = NULL;
        int fd = -1, n = 0, r;

        switch (verb) {
        case MKDIR:
        case MKDIR_P:
                return nsrun_workspace_mkdir(w, path, 0755, verb == MKDIR_P, err);
        case CREATE:
                r = nsrun_workspace_create(w, path, O_WRONLY, 0644, &fd, err);
                if (r == 0)
                        assert_int_equal(close(fd), 0);
                return r;
        case RENAME:
        case REPLACE:
                return nsrun_workspace_rename(w, path, other, verb == REPLACE, err);
        case UNLINK:
                return nsrun_workspace_unlink(w, path, err);
        case RMDIR:
                return nsrun_workspace_rmdir(w, path, err);
        case SYMLINK:
                return nsrun_workspace_symlink(w, other, path, err);
        case READLINK:
                r = nsrun_workspace_readlink(w, path, &text, err);
                if (r == 0)
                        assert_string_equal(text, other);
                free(text);
                return r;
        case STAT:
        case LSTAT:
                r = nsrun_workspace_stat(w, path, verb == STAT, &st, err);
                if (r == 0 && other)
                        assert_int_equal(st.st_mode & S_IFMT, *other == 'd'   ? S_IFDIR
                                                              : *other == 'l' ? S_IFLNK
                                                                              : S_IFREG);
                return r;
        case LIST:
                r = nsrun_workspace_list(w, path, count_entry, &n, err);
                if (r == 0)
                        assert_int_equal(n, atoi(other));
                return r;
        }
        return -ENOSYS;
}

/* A row is done after those before it. */
struct row {
        enum verb verb;
        const char *path, *other;
        int r;
        const char *what; /* of the refusal */
};

static void perform_all(const struct nsrun_workspace *w, const struct row *rows, size_t n) {
        for (size_t i = 0; i < n; i++) {
                struct nsrun_error err = {0};
                int r = perform(w, rows[i].verb, rows[i].path, rows[i].other, &err);

                if (r != rows[i].r || (r == 0) != (err.what[0] == '\0') ||
                    (r < 0 && (err.stage != NSRUN_STAGE_POLICY || err.error != -r ||
                               strcmp(err.what, rows[i].what) != 0)))
                        fail_msg("row %zu, %s: %d, stage %d, error %d, \"%s\"", i, rows[i].path, r,
                                 (int)err.stage, err.error, err.what);
        }
}

static const char out[] = "the path leads out of the workspace";
static const char only[] = "the path is in a folder that may only be read";
static const char root_stays[] = "a root of the workspace stays where it is";
static const char root_inside[] = "a root of the workspace is in the folder";
static const char not_made[] = "the folder can't be made";
static const char not_renamed[] = "the path can't be renamed";
static const char no_entry[] = "the path names no entry of a folder";

TEST(file_operations_do_what_they_say) {
        const struct site *s = *state;
        struct nsrun_workspace *w = make_workspace(s);
        struct nsrun_error err = {0};
        static const struct row rows[] = {
                {MKDIR, "d", NULL, 0, NULL},
                {MKDIR, "d", NULL, -EEXIST, not_made},
                {MKDIR, "d/", NULL, -EEXIST, not_made},
                {MKDIR, "x/y/z", NULL, -ENOENT, "the folder can't be opened"},
                {MKDIR_P, "x/y/z", NULL, 0, NULL},
                {MKDIR_P, "x/y/z", NULL, 0, NULL},
                {MKDIR_P, "/tmp/in-temp/deep", NULL, 0, NULL},
                {LIST, "/tmp", "1", 0, NULL},
                {CREATE, "new/deep/file", NULL, 0, NULL},
                {CREATE, "new/deep/file", NULL, 0, NULL},
                {CREATE, "new/deep/file/below", NULL, -ENOTDIR, "the path can't be opened"},
                {MKDIR_P, "new/deep/file/below", NULL, -ENOTDIR, not_made},
                {STAT, "new/deep/file", "f", 0, NULL},
                {STAT, "new/deep/nothing", NULL, -ENOENT, "the path can't be opened"},
                {LSTAT, "new/deep/nothing", NULL, -ENOENT, "the path can't be looked at"},
                {SYMLINK, "link", "new/deep", 0, NULL},
                {SYMLINK, "link", "other", -EEXIST, "the symlink can't be made"},
                {READLINK, "link", "new/deep", 0, NULL},
                {READLINK, "d", "", -EINVAL, "the symlink can't be read"},
                {STAT, "link", "d", 0, NULL},
                {LSTAT, "link", "l", 0, NULL},
                {STAT, ".", "d", 0, NULL},
                {LSTAT, ".", NULL, -EINVAL, no_entry},
                {LIST, "link", "1", 0, NULL},
                {LIST, "new/deep/file", NULL, -ENOTDIR, "the path can't be opened"},
                {CREATE, "link/two", NULL, 0, NULL},
                {LIST, "new/deep", "2", 0, NULL},
                {RENAME, "link/two", "new/deep/file", -EEXIST, not_renamed},
                {REPLACE, "link/two", "new/deep/file", 0, NULL},
                {RENAME, "new/deep/file", "x/y/moved", 0, NULL},
                {RENAME, "x", "x/y/z/inside", -EINVAL, not_renamed},
                {REPLACE, "d", "x", -ENOTEMPTY, not_renamed},
                {UNLINK, "d", NULL, -EISDIR, "the file can't be removed"},
                {RMDIR, "x", NULL, -ENOTEMPTY, "the folder can't be removed"},
                {RMDIR, "d", NULL, 0, NULL},
                {RMDIR, "d", NULL, -ENOENT, "the folder can't be removed"},
                /* The link goes, not what it leads to. */
                {UNLINK, "link", NULL, 0, NULL},
                {STAT, "new/deep", "d", 0, NULL},
                {UNLINK, "x/y/moved", NULL, 0, NULL},
                {MKDIR, "", NULL, -ENOENT, "the path can't be followed"},
                {UNLINK, ".", NULL, -EINVAL, no_entry},
                {RMDIR, "x/..", NULL, -EINVAL, no_entry},
                {RMDIR, "/", NULL, -EINVAL, no_entry},
        };

        expect_good(nsrun_workspace_set_temp(w, 1, &err), &err);
        perform_all(w, rows, ARRAY_SIZE(rows));
        assert_null(nsrun_workspace_free(w));
}

TEST(file_operations_stay_in_their_roots) {
        const struct site *s = *state;
        struct nsrun_workspace *w = make_workspace(s);
        struct nsrun_error err = {0};
        _cleanup_free_ char *read_root = path_of(s->project, "a/b/only"), *shown = path_of(s->root, "shown"),
                            *precious = path_of(s->outside, "precious"), *victim = path_of(s->outside, "v"),
                            *in_shown = path_of(shown, "file"), *new_shown = path_of(shown, "new"),
                            *text = NULL, *above = path_of(s->project, "..");
        const struct row rows[] = {
                /* A symlink leads out, wherever it stands on the way. */
                {SYMLINK, "out", s->outside, 0, NULL},
                {READLINK, "out", s->outside, 0, NULL},
                {LSTAT, "out", "l", 0, NULL},
                {STAT, "out", NULL, -EPERM, out},
                {LIST, "out", NULL, -EPERM, out},
                {MKDIR, "out/x", NULL, -EPERM, out},
                {MKDIR_P, "out/x/y", NULL, -EPERM, out},
                {CREATE, "out/x/y", NULL, -EPERM, out},
                {CREATE, "out/v", NULL, -EPERM, out},
                {UNLINK, "out/precious", NULL, -EPERM, out},
                {RMDIR, "out/x", NULL, -EPERM, out},
                {RENAME, "out/precious", "mine", -EPERM, out},
                {RENAME, "out", "out/x", -EPERM, out},
                {SYMLINK, "out/l", "x", -EPERM, out},
                {READLINK, "out/l", "", -EPERM, out},
                {LSTAT, "out/precious", NULL, -EPERM, out},
                {UNLINK, precious, NULL, -EPERM, out},
                {MKDIR, "../x", NULL, -EPERM, out},
                {SYMLINK, "dangling", victim, 0, NULL},
                {CREATE, "dangling", NULL, -EPERM, out},
                /* What may only be read. */
                {STAT, in_shown, "f", 0, NULL},
                {LIST, shown, "1", 0, NULL},
                {UNLINK, in_shown, NULL, -EPERM, only},
                {MKDIR, new_shown, NULL, -EPERM, only},
                {RENAME, in_shown, "mine", -EPERM, only},
                {CREATE, "mine", NULL, 0, NULL},
                {REPLACE, "mine", in_shown, -EPERM, only},
                {SYMLINK, new_shown, "x", -EPERM, only},
                /* The innermost root decides, and stays where it is. */
                {LIST, "a/b/only", "1", 0, NULL},
                {UNLINK, "a/b/only/kept", NULL, -EPERM, only},
                {CREATE, "a/b/only/new", NULL, -EPERM, only},
                {MKDIR_P, "a/b/only/x/y", NULL, -EPERM, only},
                {RENAME, "a/b/only/kept", "kept", -EPERM, only},
                {RENAME, "a/b/only", "gone", -EPERM, only},
                {RENAME, "a/b", "gone", -EBUSY, root_inside},
                {REPLACE, "a", "gone", -EBUSY, root_inside},
                {RMDIR, "a/b", NULL, -EBUSY, root_inside},
                {MKDIR, "empty", NULL, 0, NULL},
                {REPLACE, "empty", "a/b", -EBUSY, root_inside},
                {RENAME, s->project, "gone", -EBUSY, root_stays},
                {RMDIR, s->project, NULL, -EBUSY, root_stays},
                {RMDIR, "/tmp", NULL, -EBUSY, root_stays},
                {REPLACE, "empty", "/tmp", -EBUSY, root_stays},
                {MKDIR, "/tmp", NULL, -EEXIST, "the path is there already"},
                {LSTAT, "/tmp", "d", 0, NULL},
                {READLINK, "/tmp", "", -EINVAL, "the symlink can't be read"},
                {RENAME, above, "gone", -EINVAL, no_entry},
                {CREATE, "a/b/beside", NULL, 0, NULL},
                {STAT, "a/b/only/kept", "f", 0, NULL},
        };

        assert_int_equal(mkdir(shown, 0755), 0);
        make_file(shown, "file", "x");
        make_folder(s->project, "a/b/only");
        make_file(read_root, "kept", "x");
        make_file(s->outside, "precious", "secret\n");
        expect_good(nsrun_workspace_set_temp(w, 1, &err), &err);
        expect_good(nsrun_workspace_add_readable(w, shown, &err), &err);
        expect_good(nsrun_workspace_add_readable(w, read_root, &err), &err);
        perform_all(w, rows, ARRAY_SIZE(rows));
        text = file_text(precious);
        assert_string_equal(text, "secret\n");
        assert_int_equal(access(victim, F_OK), -1);
        assert_null(nsrun_workspace_free(w));
}

static int stop_at_third(void *data, const char *name, mode_t type) {
        assert_true(*name);
        assert_int_equal(type, S_IFREG);
        return ++*(int *)data == 3 ? 42 : 0;
}

static int find_odd(void *data, const char *name, mode_t type) {
        if (!strcmp(name, "\x01\n\xff odd"))
                *(mode_t *)data = type;
        return 0;
}

TEST(a_listing_takes_any_name_and_ends_when_it_is_told_to) {
        const struct site *s = *state;
        struct nsrun_workspace *w = make_workspace(s);
        struct nsrun_error err = {0};
        mode_t type = 0;
        int n = 0;

        make_folder(s->project, "many");
        for (int i = 0; i < 5; i++) {
                _cleanup_free_ char *name = text_of("many/%d", i);

                make_file(s->project, name, "");
        }
        assert_int_equal(nsrun_workspace_list(w, "many", stop_at_third, &n, &err), 42);
        assert_int_equal(n, 3);
        assert_string_equal(err.what, "");
        expect_good(nsrun_workspace_mkdir(w, "many/\x01\n\xff odd", 0700, 0, &err), &err);
        expect_good(nsrun_workspace_list(w, "many", find_odd, &type, &err), &err);
        assert_int_equal(type, S_IFDIR);
        assert_null(nsrun_workspace_free(w));
}

/* ------------------------------------------------------------------------ roots */

TEST(a_workspace_tells_its_roots) {
        const struct site *s = *state;
        struct nsrun_workspace *w = make_workspace(s);
        struct nsrun_error err = {0};
        _cleanup_free_ char *data = path_of(s->root, "data"), *more = path_of(s->root, "more");
        const char *const *list;

        assert_int_equal(mkdir(data, 0755), 0);
        assert_int_equal(mkdir(more, 0755), 0);
        assert_int_equal(nsrun_workspace_has_tmp_alias(w), 0);
        expect_good(nsrun_workspace_add_readable(w, data, &err), &err);
        expect_good(nsrun_workspace_add_writable(w, more, &err), &err);
        expect_good(nsrun_workspace_readable(w, &list, &err), &err);
        assert_string_equal(list[0], s->project);
        assert_string_equal(list[1], data);
        assert_string_equal(list[2], more);
        assert_null(list[3]);
        expect_good(nsrun_workspace_writable(w, &list, &err), &err);
        assert_string_equal(list[0], s->project);
        assert_string_equal(list[1], more);
        assert_null(list[2]);
        expect_good(nsrun_workspace_set_temp(w, 0, &err), &err);
        assert_int_equal(nsrun_workspace_has_tmp_alias(w), 0);
        expect_good(nsrun_workspace_set_temp(w, 1, &err), &err);
        assert_int_equal(nsrun_workspace_has_tmp_alias(w), 1);
        expect_good(nsrun_workspace_writable(w, &list, &err), &err);
        assert_string_equal(list[2], nsrun_workspace_temp(w));
        assert_null(nsrun_workspace_free(w));
}

TEST(a_workspace_that_allows_everything_is_no_sandboxs) {
        const struct site *s = *state;
        struct nsrun_workspace *w = NULL, *own = make_workspace(s);
        struct nsrun_policy *policy = NULL;
        struct nsrun_error err = {0};
        _cleanup_free_ char *file = path_of(s->outside, "new/file");
        const char *const *list;
        const struct row rows[] = {
                {CREATE, "inside", NULL, 0, NULL},     {CREATE, file, NULL, 0, NULL},
                {STAT, "/etc/passwd", "f", 0, NULL},   {UNLINK, file, NULL, 0, NULL},
                {RMDIR, "/", NULL, -EINVAL, no_entry},
        };

        expect_good(nsrun_workspace_new_allow_all(s->project, &w, &err), &err);
        assert_string_equal(nsrun_workspace_project(w), s->project);
        expect_good(nsrun_workspace_writable(w, &list, &err), &err);
        assert_string_equal(list[1], "/");
        assert_null(list[2]);
        perform_all(w, rows, ARRAY_SIZE(rows));
        assert_int_equal(nsrun_policy_new(&policy), 0);
        expect_error(
                nsrun_policy_set_workspace(policy, w, &err), -EPERM, NSRUN_STAGE_POLICY, &err,
                "a workspace that allows everything can't be a sandbox's; name the folders that it may write, or set no-sandbox first");
        memset(&err, 0, sizeof(err));
        expect_good(nsrun_policy_set_workspace(policy, own, &err), &err);
        assert_null(nsrun_policy_free(policy));
        assert_null(nsrun_workspace_free(own));
        assert_null(nsrun_workspace_free(w));
}

/* -------------------------------------------------------------------- an attacker */

/* A name that is outside alone. */
static int find_secret(void *data, const char *name, mode_t type) {
        (void)type;
        *(int *)data |= !strcmp(name, "secret");
        return 0;
}

struct attack {
        const char *project, *outside;
        atomic_bool ends;
        unsigned n_swaps;
};

/* What a command in the sandbox can do to its writable root: a folder becomes a symlink that leads out, is
 * moved away, comes back. */
static void *swap_paths(void *data) {
        struct attack *a = data;
        int dir = open(a->project, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        while (!atomic_load(&a->ends)) {
                (void)renameat(dir, "swapped", dir, "hidden");
                (void)symlinkat(a->outside, dir, "swapped");
                (void)unlinkat(dir, "swapped", 0);
                (void)renameat(dir, "hidden", dir, "swapped");
                (void)renameat(dir, "swapped/in", dir, "swapped/away");
                (void)symlinkat("../../outside", dir, "swapped/in");
                (void)unlinkat(dir, "swapped/in", 0);
                (void)renameat(dir, "swapped/away", dir, "swapped/in");
                a->n_swaps++;
        }
        (void)close(dir);
        return NULL;
}

TEST(a_swapped_folder_never_leads_an_operation_out) {
        static const struct row rows[] = {
                {MKDIR, "swapped/in/d", NULL, 0, NULL},
                {RMDIR, "swapped/in/d", NULL, 0, NULL},
                {MKDIR_P, "swapped/in/p/q", NULL, 0, NULL},
                {RMDIR, "swapped/in/p/q", NULL, 0, NULL},
                {CREATE, "swapped/in/c/new", NULL, 0, NULL},
                {UNLINK, "swapped/in/c/new", NULL, 0, NULL},
                {UNLINK, "swapped/in/precious", NULL, 0, NULL},
                {UNLINK, "swapped/precious", NULL, 0, NULL},
                {RENAME, "swapped/in/precious", "stolen", 0, NULL},
                {RENAME, "mine", "swapped/in/planted", 0, NULL},
                {REPLACE, "mine", "swapped/precious", 0, NULL},
                {SYMLINK, "swapped/in/l", "x", 0, NULL},
                {UNLINK, "swapped/in/l", NULL, 0, NULL},
                {RMDIR, "swapped/folder", NULL, 0, NULL},
                {LIST, "swapped/in", NULL, 0, NULL},
                {STAT, "swapped/in/secret", NULL, 0, NULL},
        };
        const struct site *s = *state;
        struct attack attack = {.project = s->project, .outside = s->outside};
        struct nsrun_workspace *w = make_workspace(s);
        _cleanup_free_ char *before = NULL, *after = NULL;
        unsigned n_done = 0;
        pthread_t thread;

        make_folder(s->project, "swapped/in");
        make_file(s->outside, "precious", "secret\n");
        make_file(s->outside, "secret", "secret\n");
        make_folder(s->outside, "folder");
        before = snapshot(s->outside);
        assert_int_equal(pthread_create(&thread, NULL, swap_paths, &attack), 0);
        for (unsigned i = 0; i < 10000; i++) {
                const struct row *row = &rows[i % ARRAY_SIZE(rows)];
                struct nsrun_error err = {0};
                struct stat st;
                int n = 0, r;

                make_file(s->project, "mine", "planted\n");
                if (row->verb == LIST) {
                        r = nsrun_workspace_list(w, row->path, find_secret, &n, &err);
                        assert_int_equal(n, 0);
                } else if (row->verb == STAT) {
                        assert_true(nsrun_workspace_stat(w, row->path, 1, &st, &err) < 0);
                        r = 0;
                } else {
                        r = perform(w, row->verb, row->path, row->other, &err);
                }
                n_done += r == 0;
        }
        atomic_store(&attack.ends, true);
        assert_int_equal(pthread_join(thread, NULL), 0);
        after = snapshot(s->outside);
        assert_string_equal(before, after);
        /* The control: it was attacked, and it worked nevertheless. */
        print_message("%u swaps, %u of 10000 operations done\n", attack.n_swaps, n_done);
        assert_true(attack.n_swaps > 100);
        assert_true(n_done > 1000);
        assert_null(nsrun_workspace_free(w));
}

int main(void) {
        return run_all_tests();
}

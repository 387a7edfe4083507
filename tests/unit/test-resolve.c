/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* workspace/roots.c and resolve.c: what a path means, and that nothing that is
 * opened lies outside, whoever swaps what meanwhile. */
#include "workspace/resolve.h"

#include <limits.h>
#include <pthread.h>

#include "base/path.h"
#include "scratch.h"

struct fixture {
        char *top;
        struct workspace w;
};

/* top/{project,extra,docs,temp} are roots, top/outside is none; docs can only be
 * read, and so can project/vendor. */
static int make_fixture(void **state) {
        _cleanup_free_ char *here = getcwd(NULL, 0);
        struct fixture *f = calloc(1, sizeof(*f));
        char *project, *extra, *docs, *vendor, *temp;

        assert_non_null(f);

        /* /tmp is to mean something else; a sandbox has no /var/tmp. */
        (void)setenv("TMPDIR", access("/var/tmp", W_OK) == 0 ? "/var/tmp" : here, 1);
        f->top = scratch_make();
        scratch_file(f->top, "project/lib/foo.c", "inside");
        scratch_file(f->top, "project/vendor/x.c", "inside");
        scratch_file(f->top, "extra/x.c", "inside");
        scratch_file(f->top, "docs/x.txt", "inside");
        scratch_file(f->top, "temp/x", "inside");
        scratch_file(f->top, "outside/secret", "outside");
        scratch_link(f->top, "outside/back", "../project/lib");
        scratch_link(f->top, "project/abs", "/etc");
        scratch_link(f->top, "project/out", "../outside");
        scratch_link(f->top, "project/to-secret", "../outside/secret");
        scratch_link(f->top, "project/to-extra", "../extra");
        scratch_link(f->top, "project/to-docs", "../docs");
        scratch_link(f->top, "project/in", "lib");
        scratch_link(f->top, "project/lib/up", "..");
        scratch_link(f->top, "project/chain", "in/up/in/up/lib/foo.c");
        scratch_link(f->top, "project/loop", "loop");
        scratch_link(f->top, "project/new-out", "../outside/new");
        scratch_link(f->top, "project/new-in", "lib/new");
        scratch_link(f->top, "project/out-and-back", "../outside/back/foo.c");
        scratch_link(f->top, "project/around", "../outside/../project/lib");
        scratch_link(f->top, "project/to-tmp", "/tmp/x");
        project = scratch_path(f->top, "project");
        extra = scratch_path(f->top, "extra");
        docs = scratch_path(f->top, "docs");
        vendor = scratch_path(f->top, "project/vendor");
        temp = scratch_path(f->top, "temp");
        assert_int_equal(workspace_set_project(&f->w, project, "/home/u", NULL), 0);
        assert_int_equal(workspace_add_root(&f->w, WORKSPACE_WRITE, extra, NULL), 0);
        assert_int_equal(workspace_add_root(&f->w, WORKSPACE_READ, docs, NULL), 0);
        assert_int_equal(workspace_add_root(&f->w, WORKSPACE_READ, vendor, NULL), 0);
        assert_int_equal(workspace_set_temp(&f->w, temp, true, NULL), 0);
        free(project);
        free(extra);
        free(docs);
        free(vendor);
        free(temp);
        *state = f;
        return 0;
}

static int remove_fixture(void **state) {
        struct fixture *f = *state;

        workspace_clear(&f->w);
        scratch_remove(f->top);
        free(f);
        return 0;
}

/* NULL stands for a refusal with the errno that follows it. */
static void assert_resolves(const struct fixture *f, enum workspace_access access, const char *path,
                            const char *expected, int error) {
        char *got = NULL, *full = expected ? scratch_path(f->top, expected) : NULL;
        struct nsrun_error err = {0};
        int r = workspace_resolve(&f->w, access, path, &got, &err);

        if (full) {
                assert_int_equal(r, 0);
                assert_string_equal(got, full);
        } else {
                assert_int_equal(r, error);
                assert_null(got);
                assert_int_equal(err.stage, NSRUN_STAGE_POLICY);
                assert_int_equal(err.error, -error);
                assert_true(err.what[0] != '\0');
        }
        free(full);
        free(got);
}

TEST_WITH(a_path_leads_where_the_kernel_would_lead_it, make_fixture, remove_fixture) {
        static const struct {
                const char *path;
                const char *reads; /* below top; NULL: refused with `error` */
                bool writes;
                int error;
        } cases[] = {
                /* The four cases of the reference. */
                {"lib/foo.c", "project/lib/foo.c", true, 0},
                {"lib/new/dir/foo.c", "project/lib/new/dir/foo.c", true, 0},
                {"lib/../../etc/passwd", NULL, false, -EPERM},
                {"abs/passwd", NULL, false, -EPERM},
                /* And their mixtures. */
                {".", "project", true, 0},
                {"./", "project", true, 0},
                {"lib//./foo.c", "project/lib/foo.c", true, 0},
                {"lib/", "project/lib", true, 0},
                {"..", NULL, false, -EPERM},
                {"../project", "project", true, 0},
                {"../project/../project/lib", "project/lib", true, 0},
                {"../../../../../../../..", NULL, false, -EPERM},
                {"/", NULL, false, -EPERM},
                {"/etc/passwd", NULL, false, -EPERM},
                {"out", NULL, false, -EPERM},
                {"out/secret", NULL, false, -EPERM},
                {"out/nothing", NULL, false, -EPERM},
                {"to-secret", NULL, false, -EPERM},
                {"in/foo.c", "project/lib/foo.c", true, 0},
                {"in/../lib/foo.c", "project/lib/foo.c", true, 0},
                {"chain", "project/lib/foo.c", true, 0},
                {"in/new/x", "project/lib/new/x", true, 0},
                {"new/../lib/foo.c", "project/lib/foo.c", true, 0},
                {"new/../../outside/secret", NULL, false, -EPERM},
                {"new/../out/secret", NULL, false, -EPERM},
                {"lib/foo.c/x", "project/lib/foo.c/x", true, 0}, /* open(2) says ENOTDIR, not we */
                {"loop", NULL, false, -ELOOP},
                {"loop/x", NULL, false, -ELOOP},
                {"", NULL, false, -ENOENT},
                /* A symlink to what does not exist yet is one all the same. */
                {"new-out", NULL, false, -EPERM},
                {"new-out/x", NULL, false, -EPERM},
                {"new-in", "project/lib/new", true, 0},
                /* Through a symlink, ".." is the parent of what it leads to. */
                {"to-extra/../outside/secret", NULL, false, -EPERM},
                {"to-extra/../project/lib", "project/lib", true, 0},
                {"abs/../usr", NULL, false, -EPERM},
                /* The sandbox has nothing outside of the roots to come back from. */
                {"out-and-back", NULL, false, -EPERM},
                {"around/foo.c", NULL, false, -EPERM},
                /* Other roots; the innermost decides. */
                {"to-extra/x.c", "extra/x.c", true, 0},
                {"to-docs/x.txt", "docs/x.txt", false, 0},
                {"../docs/new", "docs/new", false, 0},
                {"vendor/x.c", "project/vendor/x.c", false, 0},
                {"vendor/../lib", "project/lib", true, 0},
                /* /tmp is the temp, on both sides. */
                {"/tmp", "temp", true, 0},
                {"/tmp/", "temp", true, 0},
                {"/tmp/x", "temp/x", true, 0},
                {"//tmp//new/./y", "temp/new/y", true, 0},
                {"/tmp/../etc/passwd", NULL, false, -EPERM},
                {"/usr/../tmp/x", "temp/x", true, 0},
                {"/tmpx", NULL, false, -EPERM},
                {"to-tmp", "temp/x", true, 0},
        };
        struct fixture *f = *state;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                assert_resolves(f, WORKSPACE_READ, cases[i].path, cases[i].reads, cases[i].error);
                assert_resolves(f, WORKSPACE_WRITE, cases[i].path, cases[i].writes ? cases[i].reads : NULL,
                                cases[i].error ? cases[i].error : -EPERM);
        }
}

TEST_WITH(an_absolute_path_in_a_root_is_allowed_as_it_is, make_fixture, remove_fixture) {
        struct fixture *f = *state;
        _cleanup_free_ char *inside = scratch_path(f->top, "project/lib/../in/foo.c");
        _cleanup_free_ char *sibling = scratch_path(f->top, "project-2/x"),
                            *temp = scratch_path(f->top, "temp/x");

        assert_resolves(f, WORKSPACE_WRITE, inside, "project/lib/foo.c", 0);
        assert_resolves(f, WORKSPACE_WRITE, temp, "temp/x", 0);
        assert_resolves(f, WORKSPACE_READ, sibling, NULL, -EPERM); /* not by its first letters */
}

TEST_WITH(without_the_alias_tmp_is_the_host_s, make_fixture, remove_fixture) {
        struct fixture *f = *state;

        f->w.alias_tmp_to_temp = false;
        assert_resolves(f, WORKSPACE_READ, "/tmp/x", NULL, -EPERM);
        assert_resolves(f, WORKSPACE_READ, "to-tmp", NULL, -EPERM);
        assert_resolves(f, WORKSPACE_READ, "lib/foo.c", "project/lib/foo.c", 0);
}

TEST_WITH(a_root_below_tmp_is_mounted_over_the_temp, make_fixture, remove_fixture) {
        struct fixture *f = *state;
        struct fixture in_tmp = {0};
        _cleanup_free_ char *project = NULL, *file = NULL;
        char *got = NULL;

        (void)setenv("TMPDIR", "/tmp", 1);
        in_tmp.top = scratch_make();
        scratch_file(in_tmp.top, "project/file", "x");
        scratch_link(in_tmp.top, "project/link", "file");
        project = scratch_path(in_tmp.top, "project");
        file = scratch_path(in_tmp.top, "project/link");
        assert_int_equal(workspace_set_project(&in_tmp.w, project, NULL, NULL), 0);
        assert_int_equal(workspace_set_temp(&in_tmp.w, f->w.temp, true, NULL), 0);
        assert_resolves(&in_tmp, WORKSPACE_WRITE, "file", "project/file", 0);
        assert_resolves(&in_tmp, WORKSPACE_WRITE, file, "project/file", 0);
        assert_resolves(&in_tmp, WORKSPACE_WRITE, "../project/link", "project/file", 0);
        assert_int_equal(workspace_resolve(&in_tmp.w, WORKSPACE_WRITE, "../x", &got, NULL), 0);
        assert_non_null(startswith(got, f->w.temp)); /* what lies beside it is temp's */
        free(got);
        workspace_clear(&in_tmp.w);
        scratch_remove(in_tmp.top);
}

TEST_WITH(a_path_is_no_longer_than_the_kernel_takes, make_fixture, remove_fixture) {
        struct fixture *f = *state;
        char path[PATH_MAX + 1];

        memset(path, 'a', sizeof(path));
        path[sizeof(path) - 1] = '\0';
        assert_resolves(f, WORKSPACE_READ, path, NULL, -ENAMETOOLONG);
        path[NAME_MAX + 1] = '\0';
        assert_resolves(f, WORKSPACE_READ, path, NULL, -ENAMETOOLONG);
        path[NAME_MAX] = '\0';
        memmove(path + 8, path, NAME_MAX + 1);
        memcpy(path, "missing/", 8);
        {
                _cleanup_free_ char *expected = scratch_path("project", path);

                assert_resolves(f, WORKSPACE_READ, path, expected, 0);
        }
        /* 4,095 bytes of "./": short once it is walked. */
        for (size_t i = 0; i + 1 < PATH_MAX - 64; i += 2)
                memcpy(path + i, "./", 3);
        assert_int_equal(strlen(path) > 4000, true);
        if (strlen(path) + strlen(f->top) + sizeof("/project/") <= PATH_MAX)
                assert_resolves(f, WORKSPACE_READ, path, "project", 0);
}

TEST_WITH(roots_must_exist_and_not_be_denied, make_fixture, remove_fixture) {
        struct fixture *f = *state;
        _cleanup_free_ char *project = scratch_path(f->top, "project"), *none = scratch_path(f->top, "none");
        _cleanup_free_ char *file = scratch_path(f->top, "docs/x.txt");
        static const char *const denied[] = {"/", "/etc", "/usr", "/tmp", "/proc", "/dev"};

        for (size_t i = 0; i < ARRAY_SIZE(denied); i++) {
                _cleanup_workspace_ struct workspace w = {0};
                struct nsrun_error err = {0};

                assert_int_equal(workspace_set_project(&w, denied[i], NULL, &err), -EPERM);
                assert_int_equal(err.stage, NSRUN_STAGE_POLICY);
                assert_string_equal(err.path, denied[i]);
                assert_true(err.what[0] && err.hint[0]);
                assert_int_equal(workspace_add_root(&w, WORKSPACE_WRITE, denied[i], NULL), -EPERM);
                assert_int_equal(w.n_roots, 0);
        }
        {
                _cleanup_workspace_ struct workspace w = {0};

                assert_int_equal(workspace_set_project(&w, project, project, NULL), -EPERM); /* a home */
                assert_int_equal(workspace_set_project(&w, none, NULL, NULL), -ENOENT);
                assert_int_equal(workspace_set_project(&w, file, NULL, NULL), -ENOTDIR);
                assert_int_equal(workspace_add_root(&w, WORKSPACE_READ, none, NULL), -ENOENT);
                assert_int_equal(w.n_roots, 0);
                assert_int_equal(workspace_set_project(&w, project, NULL, NULL), 0);
                assert_int_equal(workspace_add_root(&w, WORKSPACE_READ, project, NULL), 0);
                assert_int_equal(w.n_roots, 1);
                assert_true(w.roots[0].is_writable);
        }
}

/* ---- against realpath(3), for trees that nobody thought of */

static uint64_t seed = 88172645463325252u;

static unsigned draw(unsigned n) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        return (unsigned)(seed % n);
}

static void random_path(char *path, size_t size, unsigned parts) {
        static const char *const names[] = {"a", "b", "c", "d", "..", ".", "", "\xff\x01", "e e"};

        path[0] = '\0';
        for (unsigned i = 0; i < parts; i++) {
                if (i > 0)
                        (void)strncat(path, "/", size - strlen(path) - 1);
                (void)strncat(path, names[draw(ARRAY_SIZE(names))], size - strlen(path) - 1);
        }
}

static void grow_random_tree(const char *project) {
        for (int i = 0; i < 40; i++) {
                char name[64], text[64];
                _cleanup_free_ char *path = NULL;

                random_path(name, sizeof(name), 1 + draw(3));
                random_path(text, sizeof(text), 1 + draw(4));
                path = scratch_path(project, name);
                switch (draw(4)) {
                case 0:
                        (void)mkdir(path, 0755);
                        break;
                case 1:
                        (void)mknod(path, S_IFREG | 0644, 0);
                        break;
                case 2:
                        (void)symlink(text[0] ? text : ".", path);
                        break;
                default: /* so that the tree has some depth */
                        free(path);
                        path = scratch_path(project, "a");
                        (void)mkdir(path, 0755);
                        free(path);
                        path = scratch_path(project, "a/b");
                        (void)mkdir(path, 0755);
                }
        }
}

TEST_WITH(what_exists_resolves_to_its_real_path_or_is_refused, make_fixture, remove_fixture) {
        struct fixture *f = *state;
        unsigned n_inside = 0, n_outside = 0;

        for (int tree = 0; tree < 60; tree++) {
                _cleanup_workspace_ struct workspace w = {0};
                _cleanup_free_ char *project = NULL;
                char name[64];

                (void)snprintf(name, sizeof(name), "random/%d/project", tree);
                scratch_folder(f->top, name);
                project = scratch_path(f->top, name);
                grow_random_tree(project);
                assert_int_equal(workspace_set_project(&w, project, NULL, NULL), 0);
                for (int i = 0; i < 100; i++) {
                        char path[128];
                        _cleanup_free_ char *full = NULL, *real = NULL, *got = NULL;
                        int r;

                        random_path(path, sizeof(path), 1 + draw(6));
                        r = workspace_resolve(&w, WORKSPACE_WRITE, path, &got, NULL);
                        full = scratch_path(project, path);
                        real = *path ? realpath(full, NULL) : NULL;
                        if (real && path_is_beneath(real, project)) {
                                /* A link that leads out and back is refused, which is no leak. */
                                assert_true(r == 0 || r == -EPERM);
                                n_inside += r == 0;
                        }
                        if (real && !path_is_beneath(real, project)) {
                                assert_int_equal(r, -EPERM);
                                n_outside++;
                        }
                        if (r == 0 && real)
                                assert_string_equal(got, real);
                        if (r == 0) {
                                assert_true(path_is_beneath(got, project));
                                real = (free(real), realpath(got, NULL));
                                assert_true(!real || streq(real, got)); /* no symlink is left in it */
                        }
                }
        }
        assert_true(n_inside > 200);
        assert_true(n_outside > 200);
}

/* ---- opening */

static void assert_reads(int fd, const char *expected) {
        char text[16] = "";

        assert_true(read(fd, text, sizeof(text) - 1) >= 0);
        assert_string_equal(text, expected);
}

TEST_WITH(what_resolves_can_be_opened, make_fixture, remove_fixture) {
        struct fixture *f = *state;
        _cleanup_close_ int fd = -EBADF, made = -EBADF, folder = -EBADF;
        struct nsrun_error err = {0};
        struct stat st;

        assert_int_equal(workspace_open(&f->w, WORKSPACE_READ, "chain", O_RDONLY, 0, &fd, NULL), 0);
        assert_reads(fd, "inside");
        assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
        assert_int_equal(workspace_open(&f->w, WORKSPACE_WRITE, "/tmp/made", O_RDWR | O_CREAT | O_EXCL, 0640,
                                        &made, NULL),
                         0);
        assert_int_equal(fstat(made, &st), 0);
        assert_int_equal(st.st_mode, S_IFREG | 0640);
        assert_true(scratch_has(f->top, "temp/made"));
        assert_int_equal(
                workspace_open(&f->w, WORKSPACE_READ, ".", O_RDONLY | O_DIRECTORY, 0, &folder, NULL), 0);

        folder = (close_fdp(&folder), -EBADF);
        assert_int_equal(workspace_open(&f->w, WORKSPACE_READ, "none", O_RDONLY, 0, &folder, &err), -ENOENT);
        assert_int_equal(err.error, ENOENT);
        assert_int_equal(folder, -EBADF);
}

TEST_WITH(what_is_refused_is_not_opened, make_fixture, remove_fixture) {
        static const char *const refused[] = {"to-secret", "out/secret", "../outside/secret", "new-out",
                                              "abs/passwd"};
        struct fixture *f = *state;
        int fd = -EBADF;

        for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
                assert_int_equal(workspace_open(&f->w, WORKSPACE_READ, refused[i], O_RDONLY, 0, &fd, NULL),
                                 -EPERM);
                assert_int_equal(workspace_open(&f->w, WORKSPACE_WRITE, refused[i], O_WRONLY | O_CREAT, 0600,
                                                &fd, NULL),
                                 -EPERM);
                assert_int_equal(fd, -EBADF);
        }
        assert_false(scratch_has(f->top, "outside/new"));
        assert_int_equal(workspace_open(&f->w, WORKSPACE_WRITE, "vendor/x.c", O_WRONLY, 0, &fd, NULL),
                         -EPERM);
}

TEST_WITH(opening_to_read_can_not_write, make_fixture, remove_fixture) {
        static const int flags[] = {O_WRONLY, O_RDWR, O_RDONLY | O_CREAT, O_RDONLY | O_TRUNC,
                                    O_RDWR | O_TMPFILE};
        struct fixture *f = *state;
        int fd = -EBADF;

        for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
                assert_int_equal(
                        workspace_open(&f->w, WORKSPACE_READ, "lib/foo.c", flags[i], 0600, &fd, NULL),
                        -EINVAL);
        assert_int_equal(fd, -EBADF);
}

/* Without O_NONBLOCK this test would never end. */
TEST_WITH(a_planted_fifo_holds_nobody_up, make_fixture, remove_fixture) {
        struct fixture *f = *state;
        _cleanup_free_ char *fifo = scratch_path(f->top, "project/fifo");
        _cleanup_close_ int fd = -EBADF;
        int none = -EBADF;

        assert_int_equal(mkfifo(fifo, 0600), 0);
        assert_int_equal(workspace_open(&f->w, WORKSPACE_WRITE, "fifo", O_WRONLY, 0, &none, NULL), -ENXIO);
        assert_int_equal(workspace_open(&f->w, WORKSPACE_READ, "fifo", O_RDONLY, 0, &fd, NULL), 0);
}

/* Once its folder was renamed, the files of a hidden place would be there to read. */
TEST_WITH(what_holds_a_hidden_place_or_a_root_is_not_moved, make_fixture, remove_fixture) {
        struct fixture *f = *state;
        _cleanup_free_ char *hidden = scratch_path(f->top, "project/lib/deep/hidden");
        static const struct {
                const char *path;
                bool holds_root;
        } cases[] = {
                {"lib", true},
                {"lib/deep", true},
                {"lib/deep/other", false},
                {"lib/foo.c", false},
        };
        struct workspace_entry e;

        scratch_file(f->top, "project/lib/deep/hidden/x", "inside");
        assert_int_equal(workspace_find_entry(&f->w, WORKSPACE_WRITE, "lib", &e, NULL), 0);
        assert_false(e.holds_root);
        assert_int_equal(workspace_hide(&f->w, hidden, NULL, NULL), 0);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                assert_int_equal(workspace_find_entry(&f->w, WORKSPACE_WRITE, cases[i].path, &e, NULL), 0);
                assert_int_equal(e.holds_root, cases[i].holds_root);
        }
        assert_int_equal(workspace_find_entry(&f->w, WORKSPACE_WRITE, "lib/deep/hidden", &e, NULL), -EPERM);
        assert_int_equal(workspace_find_entry(&f->w, WORKSPACE_READ, "lib/deep/hidden/x", &e, NULL), -EPERM);
}

TEST_WITH(a_root_may_be_a_file, make_fixture, remove_fixture) {
        struct fixture *f = *state;
        _cleanup_free_ char *secret = scratch_path(f->top, "outside/secret"),
                            *below = scratch_path(secret, "x");
        _cleanup_close_ int fd = -EBADF;
        int none = -EBADF;

        assert_int_equal(workspace_add_root(&f->w, WORKSPACE_READ, secret, NULL), 0);
        assert_int_equal(workspace_open(&f->w, WORKSPACE_READ, secret, O_RDONLY, 0, &fd, NULL), 0);
        assert_reads(fd, "outside");
        assert_int_equal(workspace_open(&f->w, WORKSPACE_READ, below, O_RDONLY, 0, &none, NULL), -ENOTDIR);
        assert_int_equal(workspace_open(&f->w, WORKSPACE_WRITE, secret, O_WRONLY, 0, &none, NULL), -EPERM);
}

struct racer {
        int project, d, e;
        bool stop;
};

/* The folder, the file in it and the way to it are swapped for symlinks to the
 * outside, over and over; by descriptors, so that it never gets out itself. */
static void *race(void *data) {
        struct racer *s = data;

        while (!__atomic_load_n(&s->stop, __ATOMIC_RELAXED)) {
                (void)exchange_names(s->d, "e", s->project, "evil-e");
                (void)exchange_names(s->project, "d", s->project, "evil-d");
                (void)exchange_names(s->e, "secret", s->project, "evil-secret");
        }
        return NULL;
}

TEST_WITH(no_race_ever_opens_what_is_outside, make_fixture, remove_fixture) {
        struct fixture *f = *state;
        _cleanup_close_ int project = -EBADF, d = -EBADF, e = -EBADF;
        struct racer s = {0};
        unsigned n_opened = 0, n_refused = 0;
        pthread_t thread;

        scratch_file(f->top, "outside/e/secret", "outside");
        scratch_file(f->top, "project/d/e/secret", "inside");
        scratch_link(f->top, "project/evil-d", "../outside");
        scratch_link(f->top, "project/evil-e", "../../outside/e");
        scratch_link(f->top, "project/evil-secret", "../outside/secret");
        {
                _cleanup_free_ char *path = scratch_path(f->top, "project");

                s.project = project = scratch_open(path);
                s.d = d = openat(project, "d", O_PATH | O_DIRECTORY | O_CLOEXEC);
                s.e = e = openat(d, "e", O_PATH | O_DIRECTORY | O_CLOEXEC);
                assert_true(d >= 0 && e >= 0);
        }
        assert_int_equal(pthread_create(&thread, NULL, race, &s), 0);
        for (int i = 0; i < 100000; i++) {
                int fd = -EBADF, r;
                char text[16] = "";

                if (i % 2)
                        r = workspace_open(&f->w, WORKSPACE_READ, "d/e/secret", O_RDONLY, 0, &fd, NULL);
                else
                        r = workspace_open(&f->w, WORKSPACE_WRITE, "d/e/secret", O_RDWR | O_CREAT, 0600, &fd,
                                           NULL);
                if (r < 0) {
                        n_refused++;
                        continue;
                }
                n_opened++;
                if (read(fd, text, sizeof(text) - 1) < 0 || streq(text, "outside"))
                        fail_msg("opened the outside in round %d", i);
                close_fdp(&fd);
        }
        __atomic_store_n(&s.stop, true, __ATOMIC_RELAXED);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_true(n_opened > 0);
        assert_true(n_refused > 0); /* else nothing was raced against */
}

int main(void) {
        (void)umask(022);
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* workspace/remove_tree.c against trees that somebody hostile has made. */
#include "disk/remove_tree.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "scratch.h"

struct fixture {
        char *top;
        int fd;
};

static int make_fixture(void **state) {
        struct fixture *f = calloc(1, sizeof(*f));

        assert_non_null(f);
        f->top = scratch_make();
        f->fd = scratch_open(f->top);
        scratch_file(f->top, "outside/precious/file", "precious");
        *state = f;
        return 0;
}

static void assert_outside_untouched(const struct fixture *f) {
        char text[16] = "";
        _cleanup_close_ int fd = openat(f->fd, "outside/precious/file", O_RDONLY | O_CLOEXEC);

        assert_true(fd >= 0);
        assert_int_equal(read(fd, text, sizeof(text)), 8);
        assert_string_equal(text, "precious");
}

static int remove_fixture(void **state) {
        struct fixture *f = *state;

        assert_outside_untouched(f);
        (void)close(f->fd);
        scratch_remove(f->top);
        free(f);
        return 0;
}

TEST_WITH(a_tree_of_every_kind_of_file_goes, make_fixture, remove_fixture) {
        struct fixture *f = *state;
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        char name[] = "tree/odd/?";

        scratch_file(f->top, "tree/a/b/c/file", "x");
        scratch_folder(f->top, "tree/odd");
        scratch_folder(f->top, "tree/a/empty");
        assert_int_equal(mkfifoat(f->fd, "tree/fifo", 0600), 0);
        assert_true(snprintf(address.sun_path, sizeof(address.sun_path), "%s/tree/s", f->top) > 0);
        assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
        for (int c = 1; c < 256; c++) {
                name[sizeof(name) - 2] = (char)c;
                if (c != '/' && c != '.')
                        scratch_file(f->top, name, "");
        }
        assert_int_equal(remove_tree(f->fd, "tree"), 0);
        assert_false(scratch_has(f->top, "tree"));
}

TEST_WITH(what_is_not_there_is_as_good_as_removed, make_fixture, remove_fixture) {
        struct fixture *f = *state;

        assert_int_equal(remove_tree(f->fd, "nothing"), 0);
        scratch_file(f->top, "file", "x");
        assert_int_equal(remove_tree(f->fd, "file"), 0);
        assert_false(scratch_has(f->top, "file"));
}

TEST_WITH(a_symlink_is_removed_and_never_followed, make_fixture, remove_fixture) {
        struct fixture *f = *state;

        scratch_link(f->top, "link", "outside");
        assert_int_equal(remove_tree(f->fd, "link"), 0);
        assert_false(scratch_has(f->top, "link"));

        scratch_folder(f->top, "tree/in");
        scratch_link(f->top, "tree/abs", f->top);
        scratch_link(f->top, "tree/in/rel", "../../outside/precious");
        scratch_link(f->top, "tree/in/file", "../../outside/precious/file");
        scratch_link(f->top, "tree/in/up", "..");
        scratch_link(f->top, "tree/in/root", "/");
        assert_int_equal(remove_tree(f->fd, "tree"), 0);
        assert_false(scratch_has(f->top, "tree"));
        assert_outside_untouched(f);
}

TEST_WITH(shut_and_read_only_folders_go, make_fixture, remove_fixture) {
        static const mode_t modes[] = {0000, 0100, 0200, 0400, 0500, 0300, 0600};
        struct fixture *f = *state;

        for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
                char name[64];

                (void)snprintf(name, sizeof(name), "tree/work%zu/work/shut/file", i);
                scratch_file(f->top, name, "x");
                (void)snprintf(name, sizeof(name), "tree/work%zu/work/shut", i);
                assert_int_equal(fchmodat(f->fd, name, modes[i], 0), 0);
                (void)snprintf(name, sizeof(name), "tree/work%zu/work", i);
                assert_int_equal(fchmodat(f->fd, name, modes[i], 0), 0);
        }
        assert_int_equal(fchmodat(f->fd, "tree", 0000, 0), 0);
        assert_int_equal(remove_tree(f->fd, "tree"), 0);
        assert_false(scratch_has(f->top, "tree"));
}

TEST_WITH(only_the_topmost_entry_of_a_name_is_kept, make_fixture, remove_fixture) {
        struct fixture *f = *state;
        _cleanup_close_ int fd = -EBADF;

        scratch_file(f->top, "tree/keep", "kept");
        scratch_file(f->top, "tree/a/keep", "x");
        scratch_file(f->top, "tree/keep2", "x");
        fd = openat(f->fd, "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(remove_contents(fd, "keep"), 0);
        assert_true(scratch_has(f->top, "tree/keep"));
        assert_false(scratch_has(f->top, "tree/a"));
        assert_false(scratch_has(f->top, "tree/keep2"));
}

/* A chain of folders, each with a file beside the next. */
static void make_deep(const struct fixture *f, const char *name, unsigned levels, mode_t mode) {
        int fd;

        scratch_folder(f->top, name);
        fd = openat(f->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        for (unsigned i = 0; i < levels; i++) {
                int next;

                assert_true(fd >= 0);
                assert_int_equal(mknodat(fd, "file", S_IFREG | 0600, 0), 0);
                assert_int_equal(mkdirat(fd, "d", 0700), 0);
                next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                assert_int_equal(fchmod(fd, mode), 0);
                (void)close(fd);
                fd = next;
        }
        (void)close(fd);
}

TEST_WITH(a_deep_tree_costs_no_descriptors, make_fixture, remove_fixture) {
        struct fixture *f = *state;
        struct rlimit before, few = {.rlim_cur = 40, .rlim_max = 40};
        int r;

        make_deep(f, "tree", 3000, 0700);
        make_deep(f, "shut", 300, 0000);
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
        few.rlim_max = before.rlim_max;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        r = remove_tree(f->fd, "tree");
        if (r == 0)
                r = remove_tree(f->fd, "shut");
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_int_equal(r, 0);
        assert_false(scratch_has(f->top, "tree"));
        assert_false(scratch_has(f->top, "shut"));
}

TEST_WITH(a_wide_folder_goes_in_one_call, make_fixture, remove_fixture) {
        struct fixture *f = *state;

        for (int i = 0; i < 5000; i++) {
                char name[64];

                (void)snprintf(name, sizeof(name), i % 5 ? "tree/a-long-enough-name-%d" : "tree/%d/x/y", i);
                scratch_file(f->top, name, "");
        }
        assert_int_equal(remove_tree(f->fd, "tree"), 0);
        assert_false(scratch_has(f->top, "tree"));
}

TEST_WITH(several_at_once_remove_one_tree_together, make_fixture, remove_fixture) {
        enum {
                REMOVERS = 4
        };
        struct fixture *f = *state;
        pid_t pids[REMOVERS];
        int start[2], status;

        make_deep(f, "tree", 200, 0700);
        for (int i = 0; i < 400; i++) {
                char name[64];

                (void)snprintf(name, sizeof(name), "tree/%d/x/%d", i % 40, i);
                scratch_file(f->top, name, "");
        }
        assert_int_equal(pipe(start), 0);
        for (int i = 0; i < REMOVERS; i++) {
                pids[i] = fork();
                assert_true(pids[i] >= 0);
                if (pids[i] == 0) {
                        char byte;

                        (void)close(start[1]);
                        (void)!read(start[0], &byte, 1); /* until the parent lets go */
                        _exit(remove_tree(f->fd, "tree") == 0 ? 0 : 1);
                }
        }
        (void)close(start[0]);
        (void)close(start[1]);
        for (int i = 0; i < REMOVERS; i++) {
                assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
                assert_int_equal(status, 0);
        }
        assert_false(scratch_has(f->top, "tree"));
}

struct swapper {
        int fd;
        bool stop;
};

/* Turns tree/a into a link to the outside and back, as fast as it can. */
static void *swap(void *data) {
        struct swapper *s = data;

        while (!__atomic_load_n(&s->stop, __ATOMIC_RELAXED))
                (void)exchange_names(s->fd, "tree/a", s->fd, "evil");
        return NULL;
}

TEST_WITH(a_folder_swapped_for_a_symlink_leads_nowhere, make_fixture, remove_fixture) {
        struct fixture *f = *state;
        struct swapper s = {.fd = f->fd};
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, swap, &s), 0);
        for (int i = 0; i < 2000; i++) {
                scratch_folder(f->top, "tree");
                (void)mkdirat(f->fd, "tree/a", 0000);
                (void)symlinkat("outside", f->fd, "evil");
                /* It may find the folder busy; what it may not is get out. */
                (void)remove_tree(f->fd, "tree");
                assert_true(scratch_has(f->top, "outside/precious/file"));
        }
        __atomic_store_n(&s.stop, true, __ATOMIC_RELAXED);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(remove_tree(f->fd, "tree"), 0);
        assert_outside_untouched(f);
}

int main(void) {
        return run_all_tests();
}

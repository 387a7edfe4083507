/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An overlay as a session has one, for the tests of src/changes: mounted in namespaces of
 * its own by a helper process, and reached from outside through a descriptor. */
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/xattr.h>

#include "../unit/scratch.h"
#include "base/str.h"
#include "base/sys.h"
#include "changes/changes.h"

struct layer {
        char *root; /* the folder in which base, upper, work and record lie */
        char *base; /* the base's path */
        char *upper;
        const char *base_options; /* if not NULL, the base is a tmpfs with these options */
        const char *mounted;      /* if not NULL, where on the host that tmpfs is mounted */
        pid_t helper;             /* has the namespaces, which last until the socket is closed */
        int socket;
        struct changes_layer l;
};

static inline int layer_folder(const struct layer *y, const char *name) {
        _cleanup_free_ char *path = scratch_path(y->root, name);

        return scratch_open(path);
}

/* Names the round in a failure's message. */
static char layer_context[64];

static inline void layer_begin(struct layer *y) {
        static const char *const folders[] = {"base", "upper", "work", "record", "merged"};

        *y = (struct layer){.root = scratch_make(), .socket = -EBADF};
        assert_non_null(y->root);
        for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
                scratch_folder(y->root, folders[i]);
        y->base = scratch_path(y->root, "base");
        y->upper = scratch_path(y->root, "upper");
        y->l = (struct changes_layer){-EBADF, -EBADF, -EBADF, -EBADF, {0}};
}

static inline void layer_write(const char *path, const char *text) {
        _cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

        if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
                _exit(3);
}

/* The helper process: makes namespaces and the overlay as nsrun's launch does, as far as these
 * tests need it. */
static inline _Noreturn void layer_helper(const struct layer *y, int socket) {
        char map[64], byte = 0, control[CMSG_SPACE(2 * sizeof(int))] = {0};
        struct iovec vector = {&byte, 1};
        struct msghdr message = {.msg_iov = &vector,
                                 .msg_iovlen = 1,
                                 .msg_control = control,
                                 .msg_controllen = sizeof(control)};
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        const unsigned uid = geteuid(), gid = getegid();
        int fds[2];

        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
                _exit(77);
        layer_write("/proc/self/setgroups", "deny");
        (void)snprintf(map, sizeof(map), "%u %u 1", uid, uid);
        layer_write("/proc/self/uid_map", map);
        (void)snprintf(map, sizeof(map), "%u %u 1", gid, gid);
        layer_write("/proc/self/gid_map", map);
        if (chdir(y->root) < 0 ||
            (y->base_options && mount("tmpfs", "base", "tmpfs", MS_NOSUID | MS_NODEV, y->base_options) < 0))
                _exit(79);
        if (mount("overlay", "merged", "overlay", MS_NOSUID | MS_NODEV,
                  "userxattr,volatile,lowerdir=base,upperdir=upper,workdir=work") < 0)
                _exit(78);
        if (y->mounted && mount("tmpfs", y->mounted, "tmpfs", MS_NOSUID | MS_NODEV, NULL) < 0)
                _exit(80);
        fds[0] = open("merged", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        fds[1] = open("base", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(fds));
        memcpy(CMSG_DATA(header), fds, sizeof(fds));
        if (fds[0] < 0 || fds[1] < 0 || sendmsg(socket, &message, 0) != 1)
                _exit(4);
        /* Each byte asks for layer_look_anew(). */
        while (read(socket, &byte, 1) == 1)
                if (sys_remount_same(fds[0]) < 0 || write(socket, &byte, 1) != 1)
                        _exit(5);
        _exit(0);
}

static inline bool layer_receive(int socket, int ret[2]) {
        char byte, control[CMSG_SPACE(2 * sizeof(int))] = {0};
        struct iovec vector = {&byte, 1};
        struct msghdr message = {.msg_iov = &vector,
                                 .msg_iovlen = 1,
                                 .msg_control = control,
                                 .msg_controllen = sizeof(control)};

        if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1)
                return false;
        assert_non_null(CMSG_FIRSTHDR(&message));
        memcpy(ret, CMSG_DATA(CMSG_FIRSTHDR(&message)), 2 * sizeof(*ret));
        return true;
}

/* The session's first moment is now. */
static inline void layer_since_now(struct layer *y) {
        struct timespec begin;

        assert_int_equal(clock_gettime(CLOCK_REALTIME, &begin), 0);
        assert_int_equal(changes_moment(begin, &y->l.since), 0);
}

/* Mounts the overlay over what is in the base by now.  The mount lives as long as its helper. */
static inline void layer_mount(struct layer *y) {
        int ends[2], fds[2], status = 0;

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        y->helper = fork();
        assert_true(y->helper >= 0);
        if (y->helper == 0) {
                (void)close(ends[0]);
                layer_helper(y, ends[1]);
        }
        (void)close(ends[1]);
        y->socket = ends[0];
        if (!layer_receive(y->socket, fds)) {
                assert_int_equal(waitpid(y->helper, &status, 0), y->helper);
                y->helper = 0;
                if (!WIFEXITED(status) || WEXITSTATUS(status) != 77)
                        fail_msg("the overlay's helper ended with %x", status);
                print_message("no user namespaces here\n");
                skip();
        }
        y->l.merged_fd = fds[0];
        y->l.base_fd = fds[1];
        y->l.upper_fd = layer_folder(y, "upper");
        y->l.record_fd = layer_folder(y, "record");
        layer_since_now(y);
}

static inline void layer_end(struct layer *y) {
        close_fdp(&y->socket);
        if (y->helper > 0)
                assert_int_equal(waitpid(y->helper, NULL, 0), y->helper);
        close_fdp(&y->l.merged_fd);
        close_fdp(&y->l.upper_fd);
        close_fdp(&y->l.base_fd);
        close_fdp(&y->l.record_fd);
        scratch_remove(y->root);
        free(y->base);
        free(y->upper);
        *y = (struct layer){0};
}

/* cmocka's setup: *state is a struct layer, not mounted yet. */
static inline int layer_setup(void **state) {
        struct layer *y = calloc(1, sizeof(*y));

        assert_non_null(y);
        (void)umask(022);
        layer_begin(y);
        *state = y;
        return 0;
}

static inline int layer_teardown(void **state) {
        layer_end(*state);
        free(*state);
        return 0;
}

#define LAYER_TEST(name) TEST_WITH(name, layer_setup, layer_teardown)

/* Runs a script in the folder that is open as `folder`: the overlay's or the base's. */
static inline void layer_sh(int folder, const char *script) {
        pid_t pid = fork();
        int status;

        assert_true(pid >= 0);
        if (pid == 0) {
                if (fchdir(folder) == 0)
                        (void)execl("/bin/sh", "sh", "-euc", script, (char *)NULL);
                _exit(127);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (status != 0)
                fail_msg("the script has failed: %s", script);
}

/* Fills the base by a script, mounts the overlay, and changes that by another script. */
static inline struct layer *layer_change(void **state, const char *base, const char *script) {
        struct layer *y = *state;
        _cleanup_close_ int fd = layer_folder(y, "base");

        layer_sh(fd, base);
        layer_mount(y);
        layer_sh(y->l.merged_fd, script);
        return y;
}

/* The printed list of changes; the caller frees it. */
static inline char *layer_list(const struct layer *y) {
        _cleanup_changes_ struct changes c = {0};
        struct nsrun_error err = {0};
        char *text = NULL;
        size_t n = 0;
        FILE *f;
        int r = changes_scan(&y->l, &c, &err);

        if (r < 0)
                fail_msg("%s%s: %s: %s", layer_context, err.what, err.path, strerror(-r));
        f = open_memstream(&text, &n);
        assert_non_null(f);
        assert_int_equal(changes_print_list(f, &c, NULL), 0);
        (void)fclose(f);
        return text;
}

static inline void layer_expect(const struct layer *y, const char *list) {
        _cleanup_free_ char *found = layer_list(y);

        assert_string_equal(found, list);
}

/* Both steps of a commit. */
static inline int changes_commit_some(const struct changes_layer *layer, char *const *paths, unsigned flags,
                                      const struct changes_filter *filter, struct changes_report *ret,
                                      struct nsrun_error *err) {
        struct changes_commit *k = NULL;
        int r = changes_prepare(layer, paths, flags, filter, ret, &k, err);

        if (r >= 0)
                r = changes_finish(k);
        (void)changes_commit_free(k);
        return r;
}

static inline int changes_commit(const struct changes_layer *layer, char *const *paths, unsigned flags,
                                 struct changes_report *ret, struct nsrun_error *err) {
        return changes_commit_some(layer, paths, flags, NULL, ret, err);
}

/* As a session's commit and discard do it afterwards (layers_look_anew()). */
static inline void layer_look_anew(const struct layer *y) {
        char byte = 0;

        if (write(y->socket, &byte, 1) != 1 || read(y->socket, &byte, 1) != 1)
                fail_msg("%sthe overlay isn't looked at anew", layer_context);
}

/* Commits one path, or all if `path` is NULL, and fails the test if that doesn't work. */
static inline void layer_commit(const struct layer *y, const char *path) {
        _cleanup_changes_report_ struct changes_report report = {0};
        struct nsrun_error err = {0};
        _cleanup_free_ char *above = NULL;
        char *paths[] = {(char *)path, NULL, NULL};
        int r = changes_commit(&y->l, paths, 0, &report, &err);

        /* A file that has to become a folder for it is to be named, too; that is one of them at most. */
        if (r == -EEXIST && path) {
                paths[1] = above = strdup(err.path);
                memset(&err, 0, sizeof(err));
                changes_report_clear(&report);
                r = changes_commit(&y->l, paths, 0, &report, &err);
        }
        if (r < 0)
                fail_msg("%s%s: %s: %s; the changes:\n%s", layer_context, err.what, err.path, strerror(-r),
                         layer_list(y));
        layer_look_anew(y);
}

static inline void layer_discard(const struct layer *y, const char *path) {
        _cleanup_changes_report_ struct changes_report report = {0};
        struct nsrun_error err = {0};
        char *const paths[] = {(char *)path, NULL};
        int r = changes_discard(&y->l, paths, &report, &err);

        if (r < 0)
                fail_msg("%s%s: %s: %s; the changes:\n%s", layer_context, err.what, err.path, strerror(-r),
                         layer_list(y));
        layer_look_anew(y);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The steps of a stage.  See stage.h. */
#include "stage.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

void stage_fail(const char *what) {
        (void)fprintf(stderr, "stage: %s: %s\n", what, strerror(errno));
        _exit(119);
}

void stage_write(const char *path, const char *text) {
        int fd = open(path, O_WRONLY | O_CLOEXEC);

        if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
                stage_fail(path);
        (void)close(fd);
}

static void map_ids(unsigned uid, unsigned gid) {
        char map[64];

        stage_write("/proc/self/setgroups", "deny");
        (void)snprintf(map, sizeof(map), "%u %u 1", uid, uid);
        stage_write("/proc/self/uid_map", map);
        (void)snprintf(map, sizeof(map), "%u %u 1", gid, gid);
        stage_write("/proc/self/gid_map", map);
}

void stage_enter(void) {
        unsigned uid = geteuid(), gid = getegid();

        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
                stage_fail("unshare");
        map_ids(uid, gid);
        if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                stage_fail("a private tree");
}

bool stage_nest(void) {
        unsigned uid = geteuid(), gid = getegid();

        if (unshare(CLONE_NEWUSER) < 0) {
                if (errno != ENOSPC)
                        stage_fail("unshare");
                return false;
        }
        map_ids(uid, gid);
        return true;
}

void stage_tmpfs(const char *target, unsigned long flags) {
        if (mount("tmpfs", target, "tmpfs", flags, "mode=0755,size=1m") < 0)
                stage_fail(target);
}

void stage_bind(const char *source, const char *target) {
        if (mount(source, target, NULL, MS_BIND, NULL) < 0)
                stage_fail(target);
}

void stage_bind_itself(const char *target, unsigned long flags) {
        struct statvfs own;

        stage_bind(target, target);
        /* In a user namespace a mount of the host's keeps its flags: a remount without them is refused. */
        if (statvfs(target, &own) < 0 ||
            mount(NULL, target, NULL,
                  MS_REMOUNT | MS_BIND | flags |
                          (own.f_flag & (ST_RDONLY | ST_NOSUID | ST_NODEV | ST_NOEXEC)),
                  NULL) < 0)
                stage_fail(target);
}

void stage_make_file(const char *path, const char *text) {
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

        if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
                stage_fail(path);
        (void)close(fd);
}

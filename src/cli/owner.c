/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "owner.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/path.h"
#include "base/responds.h"
#include "base/str.h"
#include "base/sys.h"
#include "boundary/harden.h"
#include "host/project.h"
#include "host/user.h"

/* Those of owners who have none. */
#define HOMES "/var/lib/nsrun"

#define NOGROUP 65534
#define NOTE    "nsrun: note: root has no power over others' files in a sandbox: "

static int find_others_project(const char *named, char **ret, struct nsrun_error *err) {
        _cleanup_free_ char *cwd = getcwd(NULL, 0);
        const char *start = named ? named : cwd;
        int r = start ? responds_in_time(AT_FDCWD, start, NULL, err) : 0;

        if (r < 0 || !start)
                return r;
        r = named ? 0 : project_find(cwd, getenv("HOME"), ret);
        if (named && !(*ret = strdup(named)))
                r = -ENOMEM;
        return r == -ENOMEM ? error_oom(err) : 0;
}

static bool is_others_alone(const struct stat *st) {
        return st->st_uid != 0 && S_ISDIR(st->st_mode) && !(st->st_mode & S_IWOTH) &&
               !(st->st_gid == getegid() && (st->st_mode & S_IWGRP));
}

/* Whether root may take the owner's id, and the owner gets there. */
static bool owner_can_write(const char *project, uid_t owner) {
        int dumpable = sys_prctl(PR_GET_DUMPABLE, 0, 0);
        bool can;

        if (seteuid(owner) < 0)
                return false;
        can = faccessat(AT_FDCWD, project, W_OK | X_OK, AT_EACCESS) == 0;
        if (seteuid(0) < 0)
                abort();
        (void)sys_prctl(PR_SET_DUMPABLE, (unsigned long)dumpable, 0);
        return can;
}

static bool is_folder_of(const char *path, uid_t owner) {
        struct stat st;

        return path && stat(path, &st) >= 0 && st.st_uid == owner && S_ISDIR(st.st_mode);
}

/* Whether neither HOME nor passwd names a home of the owner's. */
static bool lacks_home(uid_t uid, gid_t gid) {
        struct user user = {0};
        bool lacks = !is_folder_of(getenv("HOME"), uid) && user_find(uid, gid, &user) >= 0 &&
                     !is_folder_of(user.home, uid);

        user_clear(&user);
        return lacks;
}

/* In a folder of root's, where nobody can put anything in its place. */
static void make_owners_home(const char *home, uid_t uid, gid_t gid) {
        _cleanup_close_ int homes = -EBADF;
        struct stat st;

        if (mkdir(HOMES, 0755) == 0)
                (void)chmod(HOMES, 0755);
        homes = sys_open(AT_FDCWD, HOMES, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        if (homes < 0 || sys_fstat(homes, &st) < 0 || st.st_uid != 0 || (st.st_mode & (S_IWGRP | S_IWOTH)))
                return;
        if (mkdirat(homes, path_basename(home), 0700) == 0)
                (void)fchownat(homes, path_basename(home), uid, gid, AT_SYMLINK_NOFOLLOW);
}

/* Only from outside, by who has the capabilities there, may another's id be mapped. */
static _Noreturn void map_parent(int socket, pid_t parent, uid_t uid, gid_t gid, const char *home) {
        const struct {
                const char *name;
                unsigned id;
        } maps[] = {{"uid_map", uid}, {"gid_map", gid}};
        char byte, path[64], text[64];

        if (sys_read(socket, &byte, 1) != 1)
                _exit(1);
        for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
                int fd, n = snprintf(text, sizeof(text), "%u %u 1\n", maps[i].id, maps[i].id);

                (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)parent, maps[i].name);
                fd = sys_open(AT_FDCWD, path, O_WRONLY, 0);
                if (fd < 0 || sys_write(fd, text, (size_t)n) != n)
                        _exit(1);
        }
        if (home)
                make_owners_home(home, uid, gid);
        _exit(sys_write(socket, "", 1) != 1);
}

/* 1: this process is in a user namespace of root's that has the owner's ids alone; 0: none can be had. */
static int enter_namespace(uid_t uid, gid_t gid, const char *home) {
        pid_t parent = getpid(), helper;
        int sockets[2], r;
        char byte;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
                return -errno;
        helper = fork();
        if (helper == 0) {
                (void)sys_close(sockets[0]);
                map_parent(sockets[1], parent, uid, gid, home);
        }
        (void)sys_close(sockets[1]);
        r = helper < 0 ? -errno : sys_unshare(CLONE_NEWUSER) >= 0;
        if (r > 0 && (sys_write(sockets[0], "", 1) != 1 || sys_read(sockets[0], &byte, 1) != 1))
                r = -EPERM;
        (void)sys_close(sockets[0]);
        while (helper > 0 && waitpid(helper, NULL, 0) < 0 && errno == EINTR)
                ;
        return r;
}

static int take_owners_ids(uid_t uid, gid_t gid, struct nsrun_error *err) {
        /* By a signal the owner would get the memory of what was root's: 1 is too small for a core file, and
         * keeps it from a handler, too (core(5)). */
        const struct rlimit no_core = {1, 1};
        int r = setrlimit(RLIMIT_CORE, &no_core) < 0 ? -errno : sys_set_groups(NULL, 0);

        if (r >= 0)
                r = sys_set_gid(gid);
        if (r >= 0)
                r = sys_set_uid(uid);
        /* Root isn't mapped, so that no change of ids takes them away. */
        if (r >= 0)
                r = harden_capabilities(err);
        /* Who isn't dumpable can't write the maps of its own namespaces. */
        return r < 0 ? r : sys_prctl(PR_SET_DUMPABLE, 1, 0);
}

static void leave_others_folders(uid_t owner, const char *home) {
        static const char *const folders[] = {"HOME",          "XDG_CACHE_HOME", "XDG_CONFIG_HOME",
                                              "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"};

        for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
                if (!is_folder_of(getenv(folders[i]), owner))
                        (void)unsetenv(folders[i]);
        }
        if (home && is_folder_of(home, owner))
                (void)setenv("HOME", home, 1);
        (void)unsetenv("USER");
        (void)unsetenv("LOGNAME");
}

int owner_become(const char *named, bool is_session, struct nsrun_error *err) {
        _cleanup_free_ char *project = NULL, *visible = NULL;
        char home[sizeof(HOMES) + 16];
        struct stat st;
        gid_t gid = NOGROUP;
        int r, has_group;
        bool lacks;

        if (geteuid() != 0)
                return 0;
        r = find_others_project(named, &project, err);
        if (r < 0 || !project || stat(project, &st) < 0 || !is_others_alone(&st))
                return r;
        visible = str_visible(project);
        if (!visible)
                return error_oom(err);
        r = has_group = user_find_group(st.st_uid, &gid);
        if (r < 0)
                return error_oom(err);
        lacks = lacks_home(st.st_uid, gid);
        (void)snprintf(home, sizeof(home), HOMES "/%u", (unsigned)st.st_uid);
        r = !is_session && has_group && owner_can_write(project, st.st_uid)
                    ? enter_namespace(st.st_uid, gid, lacks ? home : NULL)
                    : 0;
        if (r == 0) {
                (void)fprintf(stderr,
                              NOTE
                              "the command can't write the project, which is %u's: %s; start nsrun as that "
                              "user: setpriv --reuid=%u --regid=%u --clear-groups env -u HOME nsrun\n",
                              (unsigned)st.st_uid, visible, (unsigned)st.st_uid, (unsigned)gid);
                return 0;
        }
        if (r > 0)
                r = take_owners_ids(st.st_uid, gid, err);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_IDMAP, r, project,
                                 "root can't take the ids of the project's owner",
                                 "start nsrun as that user");
        leave_others_folders(st.st_uid, lacks ? home : NULL);
        (void)fprintf(stderr, NOTE "it runs as the project's owner, %u: %s\n", (unsigned)st.st_uid, visible);
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What configure decided, and posix_spawn(3). */
#include "programs.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "macro.h"
#include "nsrun.h"
#include "sys.h"

nsrun_public const char *nsrun_version(void) {
        return PACKAGE_VERSION;
}

static const char *one_file;

void programs_are_one_file(const char *path) {
        one_file = path;
}

static const char *programs_find(const char *variable, const char *otherwise) {
        const char *path = secure_getenv(variable);

        return path ? path : otherwise;
}

const char *program_init(void) {
        return programs_find("NSRUN_INIT", one_file ? one_file : NSRUN_INIT_PATH);
}

const char *program_net(void) {
        return programs_find("NSRUN_NET", one_file ? one_file : NSRUN_NET_PATH);
}

const char *program_http(void) {
        return programs_find("NSRUN_HTTP", NSRUN_HTTP_PATH);
}

const char *program_monitor(void) {
        return programs_find("NSRUN_MONITOR", one_file ? one_file : NSRUN_MONITOR_PATH);
}

const char *program_bwrap(void) {
        return programs_find("NSRUN_BWRAP", one_file ? one_file : NSRUN_BWRAP_PATH);
}

/* More than the folders of any project's repositories take; to close all that could be open takes no time.
 */
#define FILES_MOST 16384U

static struct sys_rlimit files_before, files_raised;

void program_raise_files(void) {
        struct sys_rlimit files;

        if (files_before.hard > 0 || sys_prlimit(RLIMIT_NOFILE, NULL, &files) < 0 ||
            files.soft >= FILES_MOST)
                return;
        files_raised = (struct sys_rlimit){files.hard < FILES_MOST ? files.hard : FILES_MOST, files.hard};
        if (sys_prlimit(RLIMIT_NOFILE, &files_raised, NULL) >= 0)
                files_before = files;
}

bool program_files_before(struct sys_rlimit *ret) {
        *ret = files_before;
        return files_before.hard > 0;
}

void program_restore_files(void) {
        if (files_before.hard > 0)
                (void)sys_prlimit(RLIMIT_NOFILE, &files_before, NULL);
}

static int spawn_attributes(posix_spawnattr_t *attributes) {
        sigset_t none, all;

        (void)sigemptyset(&none);
        (void)sigfillset(&all);
        if (posix_spawnattr_setsigmask(attributes, &none) != 0 ||
            posix_spawnattr_setsigdefault(attributes, &all) != 0)
                return EINVAL;
        /* A session of its own: the terminal's ^C is for the command, which may need the program to end. */
        return posix_spawnattr_setflags(attributes,
                                        POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
}

static int spawn_files(const struct spawn *s, posix_spawn_file_actions_t *files) {
        int r = s->folder ? posix_spawn_file_actions_addchdir_np(files, s->folder) : 0;

        for (int fd = 0; fd < SPAWN_FIRST_FD && r == 0; fd++)
                r = posix_spawn_file_actions_adddup2(files, s->streams ? s->streams[fd] : s->null_fd, fd);
        for (size_t i = 0; i < s->n_fds && r == 0; i++)
                if (s->fds[i] >= 0)
                        r = posix_spawn_file_actions_adddup2(files, s->fds[i], SPAWN_FIRST_FD + (int)i);
        return r;
}

int spawn_apart(const struct spawn *s, pid_t *ret_pid) {
        posix_spawn_file_actions_t files;
        posix_spawnattr_t attributes;
        int r;

        if (posix_spawn_file_actions_init(&files) != 0)
                return -ENOMEM;
        if (posix_spawnattr_init(&attributes) != 0) {
                (void)posix_spawn_file_actions_destroy(&files);
                return -ENOMEM;
        }
        r = spawn_files(s, &files);
        if (r == 0)
                r = spawn_attributes(&attributes);
        program_restore_files();
        if (r == 0)
                r = posix_spawn(ret_pid, s->program, &files, &attributes, s->argv, s->env);
        if (files_before.hard > 0)
                (void)sys_prlimit(RLIMIT_NOFILE, &files_raised, NULL);
        (void)posix_spawnattr_destroy(&attributes);
        (void)posix_spawn_file_actions_destroy(&files);
        return -r;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What configure decided, and a program that is started on the host. */
#include "programs.h"

#include <sys/resource.h>
#include <sys/wait.h>

#include "nsrun.h"

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

const char *program_keys(void) {
        return programs_find("NSRUN_KEYS", NSRUN_KEYS_PATH);
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

static struct sys_rlimit files_before;

void program_raise_files(void) {
        struct sys_rlimit files, raised;

        if (files_before.hard > 0 || sys_prlimit(RLIMIT_NOFILE, NULL, &files) < 0 ||
            files.soft >= FILES_MOST)
                return;
        raised = (struct sys_rlimit){files.hard < FILES_MOST ? files.hard : FILES_MOST, files.hard};
        if (sys_prlimit(RLIMIT_NOFILE, &raised, NULL) >= 0)
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

struct spawning {
        const struct spawn *s;
        int error;
};

/* Shares the memory with a caller that waits, and has no signal until it is another program; a session of
 * its own: the terminal's ^C is for the command, which may need the program to end. */
static nsrun_no_asan int spawn_child(void *data) {
        struct spawning *x = data;
        const struct spawn *s = x->s;
        const struct sigaction by_default = {.sa_handler = SIG_DFL};
        sigset_t none;
        int r = 0;

        for (int signal = 1; signal < NSIG; signal++)
                (void)sigaction(signal, &by_default, NULL);
        if (setsid() < 0 || (s->folder && chdir(s->folder) < 0))
                r = -errno;
        for (int fd = 0; fd < SPAWN_FIRST_FD && r >= 0; fd++)
                r = sys_dup_to(s->streams ? s->streams[fd] : s->null_fd, fd);
        for (size_t i = 0; i < s->n_fds && r >= 0; i++)
                if (s->fds[i] >= 0)
                        r = sys_dup_to(s->fds[i], SPAWN_FIRST_FD + (int)i);
        program_restore_files();
        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        if (r >= 0) {
                (void)execve(s->program, s->argv, s->env);
                r = -errno;
        }
        x->error = r;
        _exit(127);
}

int spawn_apart(const struct spawn *s, pid_t *ret_pid) {
        char stack[32 << 10] __attribute__((aligned(16)));
        struct spawning x = {.s = s};
        sigset_t all, before;
        siginfo_t info;
        int r;

        (void)sigfillset(&all);
        (void)sigprocmask(SIG_SETMASK, &all, &before);
        r = sys_vfork(spawn_child, &x, stack + sizeof(stack), false);
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
        if (r > 0 && x.error < 0)
                (void)sys_waitid(P_PID, (id_t)r, &info, WEXITED);
        if (r < 0 || x.error < 0)
                return r < 0 ? r : x.error;
        *ret_pid = r;
        return 0;
}

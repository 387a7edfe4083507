/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The last steps of the command before it is the command: a vforked child that
 * shares init's memory, so nothing here may allocate or leave a trace. */
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

#include "internal.h"

static const char *environment_value(char *const *env, const char *name) {
        size_t n = strlen(name);

        for (; *env; env++)
                if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
                        return *env + n + 1;
        return NULL;
}

/* How deep the kernel follows "#!" lines. */
#define INTERPRETERS_MAX 5

/* The interpreter that a script's first line names, ended in place; NULL for
 * anything else. */
static const char *script_interpreter(char *line) {
        char *start;

        if (line[0] != '#' || line[1] != '!')
                return NULL;
        start = line + 2 + strspn(line + 2, " \t");
        start[strcspn(start, " \t\n")] = '\0';
        return *start ? start : NULL;
}

/* Refuses a command, or a script's interpreter, that is reached through a magic
 * link: /proc/self/exe is nsrun itself here, by the host's mount, and a process
 * of it would be a way to the host's file.  init looks again after the exec.
 * -ELOOP; what the open says of a file that isn't there; 0 where the kernel
 * is to decide. */
static int refuse_magic_links(const char *path) {
        char line[256];

        for (int depth = 0; path && depth < INTERPRETERS_MAX; depth++) {
                _cleanup_close_ int fd = -EBADF;
                ssize_t n;

                fd = sys_openat2(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, RESOLVE_NO_MAGICLINKS);
                if (fd == -ENOSYS || fd == -EPERM)
                        fd = init_is_own_program(path)
                                     ? -ELOOP
                                     : sys_open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
                if (fd == -ELOOP || (depth == 0 && (fd == -ENOENT || fd == -ENOTDIR)))
                        return fd;
                n = fd < 0 ? fd : sys_read(fd, line, sizeof(line) - 1);
                if (n < 0)
                        return 0;
                line[n] = '\0';
                path = script_interpreter(line);
        }
        return 0;
}

/* The point of no return: from here on the command's filter holds, and execve(2)
 * and exit_group(2) are what it surely allows.  A file without "#!" is a shell script, as
 * execvp(3) and every shell have it. */
static int exec_file(struct launch_child *c, const char *path) {
        char *const *argv = c->plan->argv;
        size_t n = 1;
        int r;

        /* Not before: the search opens files, which nofile=1 would not let it. */
        r = limits_set(c);
        if (r >= 0)
                r = filter_install(c);
        if (r < 0)
                return r;
        r = sys_execve(path, argv, c->plan->env);
        if (r != -ENOEXEC || c->plan->raw)
                return r;
        c->shell_argv[0] = (char *)"/bin/sh";
        c->shell_argv[1] = (char *)path;
        for (; argv[n]; n++)
                c->shell_argv[n + 1] = argv[n];
        c->shell_argv[n + 1] = NULL;
        (void)sys_execve("/bin/sh", c->shell_argv, c->plan->env);
        return r;
}

/* As a shell does it: the first plain file that may be executed is taken, whatever its
 * exec says then; EACCES on one folder doesn't end the search, and is what is told where no later
 * folder has the file. */
static int exec_search(struct launch_child *c) {
        const char *file = c->plan->raw ? c->plan->raw->file : c->plan->argv[0];
        const char *path = environment_value(c->plan->env, "PATH");
        size_t file_length = strlen(file);
        int found = -ENOENT;

        if (!*file)
                return -ENOENT;
        if (strchr(file, '/')) {
                int r = c->plan->raw ? 0 : refuse_magic_links(file);

                return r < 0 ? r : exec_file(c, file);
        }
        if (!path)
                path = "/usr/local/bin:/usr/bin:/bin";
        for (const char *end; path; path = *end ? end + 1 : NULL) {
                size_t n;
                int r;

                end = strchr(path, ':');
                if (!end)
                        end = path + strlen(path);
                n = (size_t)(end - path);
                if (n + file_length + 2 > sizeof(c->exec_path))
                        continue;
                memcpy(c->exec_path, path, n);
                if (n > 0)
                        c->exec_path[n++] = '/';
                memcpy(c->exec_path + n, file, file_length + 1);
                r = c->plan->raw ? 0 : refuse_magic_links(c->exec_path);
                if (r >= 0)
                        r = sys_is_executable(c->exec_path);
                if (r >= 0)
                        return exec_file(c, c->exec_path);
                if (r == -EACCES)
                        found = r;
                else if (r != -ENOENT && r != -ENOTDIR && r != -ELOOP && r != -ENAMETOOLONG)
                        return r;
        }
        return found;
}

/* In the caller's session, but not in its process group: kill(0, ...) crosses pid
 * namespaces.  In the foreground where the caller was, as a shell does it. */
static int own_group(const struct launch_child *c) {
        pid_t group = getpid();
        int r;

        r = sys_setpgid(0, 0);
        /* SIGTTOU is blocked, as all signals are until the exec. */
        if (r >= 0 && c->params->terminal_fd >= 0)
                (void)sys_ioctl(c->params->terminal_fd, TIOCSPGRP, &group);
        return r;
}

/* Without a pid namespace the reaper's end is not the command's: the kernel sees to it. */
static int follow_reaper(struct launch_child *c) {
        if (!c->params->dies_with_thread || (c->namespaces_made & CLONE_NEWPID))
                return 0;
        /* A reaper that was killed before this sends nothing: its supervisor is dead then too. */
        return child_die_with_supervisor(c);
}

/* What it and its reaper hold against each other in a session: join.c.  The reaper's death is
 * nobody's doing in there. */
static int join_domain(struct launch_child *c) {
        int r = sys_prctl(PR_SET_PDEATHSIG, SIGKILL, 0);

        if (r >= 0 && c->plan->is_scoped)
                r = harden_scope(&c->error);
        return r;
}

void exec_directly(struct launch_child *c) {
        int r = sys_sigmask(SIG_SETMASK, &c->mask, NULL);

        (void)umask(c->umask);
        c->exec_error = r < 0 ? r : exec_search(c);
        (void)init_fail_exec(c);
}

int exec_set_label(struct launch_child *c, const char *path, const char *label) {
        _cleanup_close_ int fd = -EBADF;
        ssize_t n;

        if (!label)
                return 0;
        fd = sys_open(AT_FDCWD, path, O_WRONLY, 0);
        n = fd < 0 ? fd : sys_write(fd, label, strlen(label) + 1);
        if (n < 0)
                return error_set(&c->error, NSRUN_STAGE_HARDENING, (int)n, label, "Can't set the label",
                                 NULL);
        return 0;
}

nsrun_no_asan int exec_command(void *launch_child) {
        struct launch_child *c = launch_child;
        int r = 0;

        if (c->plan->raw)
                r = follow_reaper(c);
        else if (c->plan->join)
                r = join_domain(c);
        if (r >= 0 && !c->plan->raw)
                r = c->plan->new_session ? sys_setsid() : own_group(c);
        if (r >= 0)
                r = sys_sigmask(SIG_SETMASK, &c->mask, NULL);
        if (r < 0) {
                c->exec_error = r;
                error_set(&c->error, NSRUN_STAGE_HARDENING, r, NULL, "the command's session can't be made",
                          NULL);
                _exit(125);
        }
        (void)umask(c->umask);
        c->exec_error = exec_search(c);
        _exit(125);
}

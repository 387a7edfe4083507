/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The last steps of the command before it is the command: a vforked child that
 * shares its reaper's memory, so nothing here may allocate or leave a trace. */
#include "exec.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/ioctl.h>

#include "harden.h"
#include "mount.h"

static const char *exec_environment_value(char *const *env, const char *name) {
        size_t n = strlen(name);

        for (; *env; env++)
                if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
                        return *env + n + 1;
        return NULL;
}

bool exec_is_own_program(int proc, const char *path) {
        struct sys_file own, its;

        return sys_statx(proc, proc == AT_FDCWD ? "/proc/self/exe" : "self/exe", &own) >= 0 &&
               sys_statx(proc, path, &its) >= 0 && own.mount == its.mount && own.inode == its.inode &&
               own.device_major == its.device_major && own.device_minor == its.device_minor;
}

/* How deep the kernel follows "#!" lines. */
#define INTERPRETERS_MAX 6

/* The interpreter that a script's first line names, terminated in place; NULL if the file is no
 * script. */
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
                        fd = exec_is_own_program(AT_FDCWD, path)
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

/* Who watches the command looks from its root folder at what it asks for. */
static int send_root(const struct reaper *p) {
        _cleanup_close_ int root = sys_open(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0);

        return root < 0 ? root : sys_send_fd(p->init.listener_socket, root);
}

/* Installs the command's filter and executes the command.  With the filter installed only execve(2)
 * and exit_group(2) are sure to be allowed.  A file without "#!" is executed as a shell script, as
 * execvp(3) and every shell do. */
static int exec_file(struct reaper *p, const char *path) {
        char *const *argv = p->argv;
        size_t n = 1;
        int r = 0;

        /* Limits are set after the search, which opens files: nofile=1 would forbid that. */
        if (p->init.sends_listener)
                r = send_root(p);
        if (r >= 0)
                r = limits_set(p);
        if (r >= 0)
                r = filter_install(p);
        /* Somebody must be able to answer about the execve(2). */
        if (r >= 0 && p->init.sends_listener) {
                r = sys_send_fd(p->init.listener_socket, p->listener);
                p->has_sent_listener = r >= 0;
        }
        if (r < 0)
                return r;
        r = sys_execve(path, argv, p->env);
        if (r != -ENOEXEC || !p->init.runs_scripts)
                return r;
        p->shell_argv[0] = (char *)"/bin/sh";
        p->shell_argv[1] = (char *)path;
        for (; argv[n]; n++)
                p->shell_argv[n + 1] = argv[n];
        p->shell_argv[n + 1] = NULL;
        (void)sys_execve("/bin/sh", p->shell_argv, p->env);
        return r;
}

/* The folders that a host without a PATH is searched in, and those that people leave out of theirs. */
static const char *const usual_folders[] = {"/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"};

/* A program of that name in a folder that PATH doesn't name, in p->exec_path; NULL: there is none. */
static char *find_beside_path(struct reaper *p, const char *file) {
        size_t n = strlen(file);

        for (size_t i = 0; i < ARRAY_SIZE(usual_folders) && n > 0 && n <= NAME_MAX; i++) {
                size_t length = strlen(usual_folders[i]);

                memcpy(p->exec_path, usual_folders[i], length);
                p->exec_path[length] = '/';
                memcpy(p->exec_path + length + 1, file, n + 1);
                if (sys_is_executable(p->exec_path) >= 0)
                        return p->exec_path;
        }
        return NULL;
}

/* Searches PATH as a shell does: the first plain file that may be executed is taken, whatever
 * execve(2) says of it.  EACCES in one folder doesn't end the search, and is the error if no later
 * folder has the file. */
static int exec_search(struct reaper *p, int (*take)(struct reaper *p, const char *path)) {
        const char *file = p->file;
        const char *path = exec_environment_value(p->env, "PATH");
        size_t file_length = strlen(file);
        int found = -ENOENT;

        if (!*file)
                return -ENOENT;
        if (strchr(file, '/')) {
                int r = p->init.refuses_magic_links ? refuse_magic_links(file) : 0;

                return r < 0 ? r : take(p, file);
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
                if (n + file_length + 2 > sizeof(p->exec_path))
                        continue;
                memcpy(p->exec_path, path, n);
                if (n > 0)
                        p->exec_path[n++] = '/';
                memcpy(p->exec_path + n, file, file_length + 1);
                r = p->init.refuses_magic_links ? refuse_magic_links(p->exec_path) : 0;
                if (r >= 0)
                        r = sys_is_executable(p->exec_path);
                if (r >= 0)
                        return take(p, p->exec_path);
                if (r == -EACCES)
                        found = r;
                else if (r != -ENOENT && r != -ENOTDIR && r != -ELOOP && r != -ENAMETOOLONG)
                        return r;
        }
        return found;
}

/* Gives the command a process group in the caller's session, since kill(0, ...) crosses pid
 * namespaces.  If the caller was in the terminal's foreground the new group becomes the foreground,
 * as a shell does it. */
static int own_group(const struct init *init) {
        pid_t group = getpid();
        int r;

        r = sys_setpgid(0, 0);
        /* SIGTTOU is blocked, as all signals are until the exec. */
        if (r >= 0 && init->terminal_fd >= 0)
                (void)sys_ioctl(init->terminal_fd, TIOCSPGRP, &group);
        return r;
}

/* Whether the file lies on a mount whose files can't be executed. */
static bool is_noexec(const char *file) {
        _cleanup_close_ int fd = strchr(file, '/') ? sys_open(AT_FDCWD, file, O_PATH, 0) : -EBADF;
        unsigned long flags;

        return fd >= 0 && sys_mount_flags(fd, NULL, &flags) >= 0 && (flags & MS_NOEXEC);
}

/* What lets PATH name the folder of a program that is at `found`; `to` has HINT_ROOM bytes. */
#define HINT_ROOM 256
static void exec_suggest_path(const struct reaper *p, char *found, char *to) {
        const char *path = exec_environment_value(p->env, "PATH");

        *strrchr(found, '/') = '\0';
        to[0] = '\0';
        strcat(to, path && *path ? PATH_HINT "doesn't name " : PATH_HINT "is empty: export PATH=");
        strcat(to, path && *path ? found : "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
        if (path && *path) {
                strcat(to, ", where it is: export PATH=$PATH:");
                strcat(to, found);
        }
        strcat(to, p->init.is_plain ? "" : ", or --env PATH=...");
}

static int not_found(struct reaper *p, int r, const char *file) {
        const char *what = p->init.is_plain ? "command not found" : "command not found in the sandbox";
        char hint[HINT_ROOM], *found;

        if (strchr(file, '/'))
                return error_set(&p->error, NSRUN_STAGE_EXEC, r, file, what,
                                 p->init.is_plain
                                         ? "it, or the interpreter it names, isn't there"
                                         : "it, or the interpreter it names, is not exposed: add --ro");
        found = find_beside_path(p, file);
        if (found)
                exec_suggest_path(p, found, hint);
        return error_set(&p->error, NSRUN_STAGE_EXEC, r, file, what,
                         found ? hint
                         : p->init.is_plain
                                 ? "it is in no folder of PATH: install it"
                                 : "it is in no folder of the sandbox's PATH: add --ro, or install it");
}

int exec_fail(struct reaper *p) {
        struct nsrun_error *err = &p->error;
        const char *file = p->file;
        int r = p->exec_error;

        if (r == -ENOENT || r == -ENOTDIR)
                return not_found(p, r, file);
        if (r == -EACCES && is_noexec(file))
                return error_set(
                        err, NSRUN_STAGE_EXEC, r, file, "command not executable",
                        "its file system is mounted noexec: name its interpreter as the command (sh "
                        "FILE), or mount -o remount,exec");
        if (r == -EACCES)
                return error_set(err, NSRUN_STAGE_EXEC, r, file, "command not executable",
                                 "it needs the x permission, and must not be a folder");
        return error_set(err, NSRUN_STAGE_EXEC, r, file,
                         r == -E2BIG ? "the command is too long" : "command can't be executed", NULL);
}

static int look_at_file(nsrun_unused struct reaper *p, const char *path) {
        return sys_is_executable(path);
}

int exec_look(struct reaper *p) {
        p->exec_error = exec_search(p, look_at_file);
        return p->exec_error < 0 ? exec_fail(p) : 0;
}

void exec_directly(struct reaper *p) {
        int r = p->init.command_scopes ? harden_scope(p->init.command_scopes, &p->error) : 0;

        if (r >= 0)
                r = sys_sigmask(SIG_SETMASK, &p->init.mask, NULL);
        (void)umask(p->init.umask);
        p->exec_error = r < 0 ? r : exec_search(p, exec_file);
        (void)exec_fail(p);
}

/* How the command is tied to its reaper, and kept from it: see launch/join.c on domains. */
static int leave_reaper(struct reaper *p) {
        const struct init *init = &p->init;
        int r = 0;

        if (init->command_dies_with_it)
                r = harden_die_with(init->supervisor_fd, &p->error);
        if (r >= 0 && p->directory)
                r = mount_enter_directory(AT_FDCWD, p->directory, &p->error);
        if (r >= 0 && init->command_scopes)
                r = harden_scope(init->command_scopes, &p->error);
        if (r >= 0 && init->terminal == INIT_TERMINAL_SESSION)
                r = sys_setsid();
        else if (r >= 0 && init->terminal != INIT_TERMINAL_CALLER)
                r = own_group(init);
        return r;
}

nsrun_no_asan int exec_command(void *reaper) {
        struct reaper *p = reaper;
        int r = leave_reaper(p);

        if (r >= 0)
                r = sys_sigmask(SIG_SETMASK, &p->init.mask, NULL);
        if (r < 0) {
                p->exec_error = r;
                error_set(&p->error, NSRUN_STAGE_HARDENING, r, NULL, "the command's session can't be made",
                          NULL);
                _exit(125);
        }
        (void)umask(p->init.umask);
        p->exec_error = exec_search(p, exec_file);
        _exit(125);
}

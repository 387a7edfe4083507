/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What nsrun-oci does around a launch: namespaces by path, id maps, the console socket, hooks. */
#include "start.h"

#include <linux/keyctl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/path.h"
#include "base/sys.h"

/* The socket may lie deeper than sockaddr_un has room for: its folder is entered by descriptor. */
static int connect_console(const char *path, int *ret, struct nsrun_error *err) {
        _cleanup_free_ char *parent = path_parent(path);
        _cleanup_close_ int folder = -EBADF, fd = -EBADF;
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int r = parent ? folder = sys_open(AT_FDCWD, parent, O_PATH | O_DIRECTORY, 0) : -ENOMEM;

        if (r >= 0 && snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", folder,
                               path_basename(path)) >= (int)sizeof(address.sun_path))
                r = -ENAMETOOLONG;
        if (r >= 0)
                r = fd = sys_socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (r >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
                r = -errno;
        if (r < 0)
                return container_fail(err, r, path, "the console socket can't be reached");
        *ret = TAKE_FD(fd);
        return 0;
}

/* A folder would be a way out of the container: openat(0, "../.."). */
static int refuse_folders(struct nsrun_error *err) {
        for (int fd = 0; fd <= 2; fd++) {
                struct stat st;

                if (sys_fstat(fd, &st) >= 0 && S_ISDIR(st.st_mode))
                        return error_set(err, NSRUN_STAGE_POLICY, UNSAID(-EISDIR), NULL,
                                         "a standard stream is a folder, through which the command could "
                                         "leave the container",
                                         "redirect it from a file or /dev/null");
        }
        return 0;
}

/* A hard limit is raised here, where that may be allowed; the launch only lowers. */
static int raise_limits(const struct nsrun_plan *plan, struct nsrun_error *err) {
        for (int resource = 0; resource < RLIMITS_COUNT; resource++) {
                const struct policy_rlimit *limit = &plan->limits.rlimits[resource];
                struct sys_rlimit own;
                int r;

                if (!limit->is_set)
                        continue;
                r = sys_prlimit(resource, NULL, &own);
                if (r >= 0 && limit->hard > own.hard)
                        r = sys_prlimit(resource, &(struct sys_rlimit){own.soft, limit->hard}, NULL);
                if (r < 0)
                        return container_fail(err, r, rlimit_name(resource), "the limit can't be raised");
        }
        return 0;
}

/* The child's user opens its streams anew by /dev/stdout: a pipe has to be theirs.  A file stays its
 * owner's. */
static void give_streams(const struct spec *spec) {
        unsigned long uid = spec->plan->uid, inside, outside, size;
        int length;

        for (const char *at = spec->uid_map;
             at && sscanf(at, "%lu %lu %lu\n%n", &inside, &outside, &size, &length) == 3; at += length)
                if (spec->plan->uid - inside < size) {
                        uid = outside + (spec->plan->uid - inside);
                        break;
                }
        for (int fd = 0; fd <= 2; fd++) {
                struct stat st;

                if (sys_fstat(fd, &st) >= 0 && S_ISFIFO(st.st_mode))
                        (void)fchown(fd, (uid_t)uid, (gid_t)-1);
        }
}

/* What the child inherits of this process. */
static int prepare_self(struct spec *spec, const struct start_options *options, bool has_company,
                        struct nsrun_error *err) {
        int r = refuse_folders(err);

        if (r >= 0)
                r = raise_limits(spec->plan, err);
        if (r >= 0 && spec->has_terminal != (options->console_socket != NULL))
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), NULL,
                                 spec->has_terminal ? "process.terminal needs --console-socket"
                                                    : "--console-socket is for process.terminal",
                                 NULL);
        /* The engine's are none of the command's. */
        for (int signal_number = 1; signal_number < NSIG; signal_number++)
                (void)signal(signal_number, SIG_DFL);
        if (r >= 0)
                give_streams(spec);
        if (r >= 0 && options->console_socket)
                r = connect_console(options->console_socket, &spec->plan->raw->setup.console_socket, err);
        if (r >= 0 && spec->oom_score) {
                _cleanup_close_ int fd = sys_open(AT_FDCWD, "/proc/self/oom_score_adj", O_WRONLY, 0);

                r = fd < 0 ? fd : write_full(fd, spec->oom_score, strlen(spec->oom_score));
                if (r < 0)
                        return container_fail(err, r, "process.oomScoreAdj", "it can't be set");
        }
        /* Nobody inside may look into the child before it is the command. */
        if (r >= 0 && has_company && (r = sys_prctl(PR_SET_DUMPABLE, 0, 0)) < 0)
                return container_fail(err, r, NULL, "the process can't be made undumpable");
        if (r >= 0 && !options->keeps_keyring &&
            syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS && errno != EPERM)
                return container_fail(err, -errno, NULL, "no session keyring can be made");
        (void)umask(spec->umask >= 0 ? (mode_t)spec->umask : 022);
        return r;
}

static int write_pid(const char *path, pid_t pid, struct nsrun_error *err) {
        _cleanup_free_ char *draft = path ? str_concat(path, ".new", "") : NULL;
        _cleanup_close_ int fd = -EBADF;
        char text[24];
        int r;

        if (!path)
                return 0;
        if (!draft)
                return error_oom(err);
        (void)snprintf(text, sizeof(text), "%d", (int)pid);
        fd = sys_open(AT_FDCWD, draft, O_CREAT | O_TRUNC | O_WRONLY, 0644);
        r = fd < 0 ? fd : write_full(fd, text, strlen(text));
        if (r >= 0 && rename(draft, path) < 0)
                r = -errno;
        return r < 0 ? container_fail(err, r, path, "the pid file can't be written") : 0;
}

/* Reads the launch's reports until the command is found and waits, or has been executed. */
static int await_built(const struct launch *l, bool is_executed, struct nsrun_error *err) {
        for (;;) {
                struct launch_report report;
                int r = launch_read_report(l, &report);

                if (r == -EINTR)
                        continue;
                if (r == 0 && is_executed)
                        return 0;
                if (r <= 0)
                        return container_fail(err, r < 0 ? r : -EIO, NULL,
                                              "the container ended while it was made");
                if (report.kind == LAUNCH_FAILED) {
                        *err = report.error;
                        /* What it advises are nsrun's own options. */
                        if (err->stage == NSRUN_STAGE_EXEC)
                                err->hint[0] = '\0';
                        return report.error.error > 0 ? -report.error.error : -EIO;
                }
                if (report.kind == LAUNCH_BUILT && !is_executed)
                        return 0;
        }
}

/* ------------------------------------------------------------ a new container's */

static int enter_given(const struct spec *spec, struct nsrun_error *err) {
        for (size_t i = 0; i < spec->n_namespaces; i++) {
                _cleanup_close_ int fd = sys_open(AT_FDCWD, spec->namespaces[i].path, O_RDONLY, 0);
                int r = fd < 0 ? fd : sys_setns(fd, spec->namespaces[i].kind);

                if (r < 0)
                        return container_fail(err, r, spec->namespaces[i].path,
                                              "the namespace can't be entered");
        }
        return 0;
}

static int start_write_map(pid_t pid, const char *name, const char *map, struct nsrun_error *err) {
        char path[64];
        _cleanup_close_ int fd = -EBADF;
        int r;

        (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
        fd = sys_open(AT_FDCWD, path, O_WRONLY, 0);
        /* In one write(2), as the kernel wants it. */
        r = fd < 0 ? fd : (int)sys_write(fd, map, strlen(map));
        return r < 0 ? container_fail(err, r, path, "the id map can't be written") : 0;
}

static int write_maps(const struct spec *spec, pid_t pid, struct nsrun_error *err) {
        int r = spec->uid_map ? start_write_map(pid, "uid_map", spec->uid_map, err) : 0;

        /* Who maps nobody but themselves has to give setgroups(2) up first (user_namespaces(7)). */
        if (r >= 0 && spec->gid_map && geteuid() != 0)
                r = start_write_map(pid, "setgroups", "deny", err);
        return r < 0 || !spec->gid_map ? r : start_write_map(pid, "gid_map", spec->gid_map, err);
}

/* Two pipes by which the child is told to go on: when it is written down who it is, and when its ids are
 * mapped. */
struct gates {
        int begin[2], mapped[2];
};

static void gates_close(struct gates *g) {
        close_fdp(&g->begin[0]);
        close_fdp(&g->begin[1]);
        close_fdp(&g->mapped[0]);
        close_fdp(&g->mapped[1]);
}

static int gates_open(struct gates *g, struct spec *spec) {
        int r = sys_pipe(g->begin);

        if (r >= 0 && spec->uid_map)
                r = sys_pipe(g->mapped);
        spec->plan->raw->setup.start_fd = g->begin[0];
        spec->plan->raw->setup.userns_block_fd = spec->uid_map ? g->mapped[0] : -1;
        return r;
}

static int go_on(struct container *c, const struct spec *spec, const struct start_options *options,
                 struct launch *l, const struct gates *g, struct nsrun_error *err) {
        int r = record_identify(l->pid, l->pidfd, &c->process);

        if (r < 0)
                return container_fail(err, r, NULL, "the container's process can't be looked at");
        r = container_save(c, err);
        if (r >= 0)
                r = write_maps(spec, l->pid, err);
        if (r >= 0)
                r = hooks_run(c, "prestart", err);
        if (r >= 0)
                r = hooks_run(c, "createRuntime", err);
        if (r >= 0)
                r = write_full(g->begin[1], "", 1);
        if (r >= 0 && spec->uid_map)
                r = write_full(g->mapped[1], "", 1);
        if (r >= 0)
                r = await_built(l, false, err);
        return r < 0 ? r : write_pid(options->pid_file, l->pid, err);
}

static void start_undo(struct launch *l) {
        (void)launch_signal(l, SIGKILL);
        (void)sys_waitid(P_PIDFD, (id_t)l->pidfd, &(siginfo_t){0}, WEXITED);
        launch_close(l);
}

static int start_launch(struct spec *spec, struct launch *ret, struct nsrun_error *err) {
        const struct launch_params params = {.rundir_fd = -EBADF, .lock_fd = -EBADF, .terminal_fd = -1};
        int r = plan_raw_remember(spec->plan, true, err);

        if (r >= 0)
                r = launch_start(spec->plan, &params, ret, err);

        /* LeakSanitizer has to be able to look into this process, which is no container's. */
        (void)sys_prctl(PR_SET_DUMPABLE, 1, 0);
        return r;
}

int start_create(struct container *c, struct spec *spec, const struct start_options *options,
                 struct launch *ret, struct nsrun_error *err) {
        _cleanup_(gates_close) struct gates gates = {{-EBADF, -EBADF}, {-EBADF, -EBADF}};
        _cleanup_close_ int fifo = sys_open(c->folder, CONTAINER_FIFO, O_RDWR, 0);
        struct launch l = LAUNCH_INIT;
        int r = fifo < 0 ? fifo : gates_open(&gates, spec);

        if (r < 0)
                return container_fail(err, r, c->id, "the container's folder can't be used");
        spec->plan->raw->setup.exec_fd = fifo;
        r = prepare_self(spec, options, !(spec->plan->raw->namespaces & CLONE_NEWPID), err);
        if (r >= 0)
                r = enter_given(spec, err);
        if (r >= 0)
                r = start_launch(spec, &l, err);
        close_fdp(&spec->plan->raw->setup.console_socket);
        if (r < 0)
                return r;
        r = go_on(c, spec, options, &l, &gates, err);
        if (r < 0) {
                start_undo(&l);
                return r;
        }
        c->status = CONTAINER_CREATED;
        *ret = l;
        return 0;
}

int start_release(struct container *c, struct nsrun_error *err) {
        _cleanup_close_ int fifo = -EBADF;
        int r;

        if (c->status != CONTAINER_CREATED)
                return error_setf(err, NSRUN_STAGE_SUPERVISE, UNSAID(-EINVAL), c->id, NULL,
                                  "the container can't be started: it is %s",
                                  container_status_name(c->status));
        fifo = sys_open(c->folder, CONTAINER_FIFO, O_WRONLY | O_NONBLOCK, 0);
        r = fifo < 0 ? fifo : write_full(fifo, "", 1);
        if (r >= 0 && unlinkat(c->folder, CONTAINER_FIFO, 0) < 0)
                r = -errno;
        if (r < 0)
                return container_fail(err, r, c->id, "the container can't be started");
        c->status = CONTAINER_RUNNING;
        return 0;
}

/* --------------------------------------------------------- a further process's */

/* The namespaces of the process that aren't this one's. */
static int find_namespaces(pid_t pid, uint64_t *ret) {
        static const struct {
                const char *name;
                uint64_t kind;
        } all[] = {
                {"user", CLONE_NEWUSER},     {"mnt", CLONE_NEWNS},  {"pid", CLONE_NEWPID},
                {"net", CLONE_NEWNET},       {"ipc", CLONE_NEWIPC}, {"uts", CLONE_NEWUTS},
                {"cgroup", CLONE_NEWCGROUP},
        };

        *ret = 0;
        for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
                char own[64], other[64];
                struct stat a, b;
                int r;

                (void)snprintf(own, sizeof(own), "/proc/self/ns/%s", all[i].name);
                (void)snprintf(other, sizeof(other), "/proc/%d/ns/%s", (int)pid, all[i].name);
                r = sys_stat(own, &a);
                if (r >= 0)
                        r = sys_stat(other, &b);
                if (r < 0)
                        return r;
                if (a.st_ino != b.st_ino)
                        *ret |= all[i].kind;
        }
        return 0;
}

int start_join(const struct container *c, struct spec *spec, const struct start_options *options,
               struct launch *ret, struct nsrun_error *err) {
        _cleanup_close_ int process = container_open_process(c), still = -EBADF;
        struct plan_raw *raw = spec->plan->raw;
        struct launch l = LAUNCH_INIT;
        char root[32];
        int r;

        if ((c->status != CONTAINER_RUNNING && c->status != CONTAINER_CREATED) || process < 0)
                return error_setf(err, NSRUN_STAGE_SUPERVISE, UNSAID(-ESRCH), c->id, NULL,
                                  "the container is not running: it is %s",
                                  container_status_name(c->status));
        /* setns(2): a pid namespace is for those who are privileged where they are, too. */
        if (geteuid() != 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, UNSAID(-EPERM), NULL,
                                 "exec takes root's rights in the caller's user namespace",
                                 "podman has them in its own");
        r = find_namespaces(c->process.pid, &raw->setup.join_namespaces);
        /* That was the container's process, if it is still there. */
        if (r >= 0)
                r = still = container_open_process(c);
        if (r < 0)
                return container_fail(err, r, c->id, "the container's namespaces can't be looked at");
        (void)snprintf(root, sizeof(root), "/proc/%d/uid_map", (int)c->process.pid);
        if (raw->setup.join_namespaces & CLONE_NEWUSER) {
                char map[4096];

                (void)read_kernel_file(AT_FDCWD, root, map, sizeof(map));
                if (!(spec->uid_map = strdup(map)))
                        return error_oom(err);
        }
        (void)snprintf(root, sizeof(root), "/proc/%d/root", (int)c->process.pid);
        r = process_add_home(spec, root, err);
        if (r < 0)
                return r;
        r = spec_check_devices(spec, raw->setup.join_namespaces & CLONE_NEWUSER, err);
        if (r < 0)
                return r;
        raw->setup.join_pidfd = process;
        raw->setup.becomes_root = raw->setup.join_namespaces & CLONE_NEWUSER;
        r = prepare_self(spec, options, true, err);
        if (r >= 0)
                r = start_launch(spec, &l, err);
        close_fdp(&raw->setup.console_socket);
        if (r < 0)
                return r;
        r = await_built(&l, true, err);
        if (r >= 0)
                r = write_pid(options->pid_file, l.pid, err);
        if (r < 0) {
                start_undo(&l);
                return r;
        }
        *ret = l;
        return 0;
}

/* ------------------------------------------------------------------- its end */

static int waited_for = -EBADF; /* the pidfd of start_wait()'s process */

static void pass_signal_on(int signal) {
        (void)sys_pidfd_send_signal(waited_for, signal);
}

int start_wait(const struct launch *l) {
        static const int passed[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH};
        struct sigaction action = {.sa_handler = pass_signal_on, .sa_flags = SA_RESTART};
        siginfo_t info = {.si_status = 0};

        waited_for = l->pidfd;
        for (size_t i = 0; i < ARRAY_SIZE(passed); i++)
                (void)sigaction(passed[i], &action, NULL);
        (void)sys_waitid(P_PIDFD, (id_t)l->pidfd, &info, WEXITED);
        return info.si_code == CLD_EXITED ? info.si_status & 0xff : 128 + info.si_status;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A socket for clients of `nsrun mcp`.  Who speaks to a server may do all that its host allows it, a commit
 * among that.  So no command may: the socket doesn't lie where a sandbox shows it, and a client that runs in
 * another user namespace, as every command does, is turned away. */
#include "listen.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/loop.h"
#include "base/path.h"
#include "base/str.h"
#include "base/sys.h"
#include "disk/reach.h"
#include "host/user.h"
#include "plan/plan.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* 6.5 */
#endif

struct listener {
        const struct mcp_settings *settings;
        char *folder;     /* canonical */
        const char *name; /* of the socket in it */
        int folder_fd, fd, signal_fd;
        bool is_bound;
        struct stat socket; /* to know it again */
        pid_t clients[LISTEN_CLIENTS_MOST];
        size_t n_clients;
};

static const char elsewhere[] =
        "name a socket in a folder of your own that no sandbox shows, as $XDG_RUNTIME_DIR";

static int listen_refuse(const struct listener *l, const char *why, struct nsrun_error *err) {
        return error_set(err, NSRUN_STAGE_POLICY, -EPERM, l->folder, why, elsewhere);
}

/* ------------------------------------------------------------------- the socket's place */

/* Refuses a folder that the sandbox shows, writable or not: to connect is no write to the file system. */
static int refuse_shown_folder(const struct listener *l, struct nsrun_error *err) {
        const struct nsrun_policy *policy = l->settings->policy;
        const struct policy_request request = {
                .policy = policy, .is_session = !policy->session, .is_shown = true};
        _cleanup_plan_ struct nsrun_plan *plan = NULL;
        int r = plan_make(&request, &plan, err);

        if (r >= 0 && plan->join)
                r = plan_load_operations(plan, err);
        for (size_t i = 0; r >= 0 && i < plan->n_ops; i++)
                if ((plan->ops[i].kind == PLAN_BIND || plan->ops[i].kind == PLAN_OVERLAY) &&
                    path_is_beneath(l->folder, plan->ops[i].source))
                        r = listen_refuse(
                                l, "--listen: the sandbox's own commands could connect to the socket", err);
        return r;
}

static int refuse_known_folder(const struct listener *l, struct nsrun_error *err) {
        _cleanup_exposed_ struct exposed known = {0};

        if (exposed_read(&known) < 0)
                return error_oom(err);
        return exposed_is_known(&known, l->folder)
                       ? listen_refuse(l, "--listen: a command of an earlier run could write in the folder",
                                       err)
                       : 0;
}

static int listen_judge_folder(const struct listener *l, const char *spelled, struct nsrun_error *err) {
        _cleanup_free_ char *home = NULL;
        struct stat st;
        int r;

        if (user_find_home(getenv("HOME"), &home) < 0)
                return error_oom(err);
        r = reach_check("--listen", spelled, l->folder, home, err);
        if (r >= 0 && sys_fstat(l->folder_fd, &st) < 0)
                r = error_set(err, NSRUN_STAGE_SUPERVISE, -errno, l->folder, "the folder can't be looked at",
                              NULL);
        if (r < 0)
                return r;
        if ((st.st_uid != geteuid() && st.st_uid != 0) ||
            (!(st.st_mode & S_ISVTX) && user_writers(l->folder_fd, &st, (char[USER_WRITERS_SIZE]){0})))
                return listen_refuse(l, "--listen: other users could replace the socket", err);
        r = refuse_known_folder(l, err);
        return r < 0 ? r : refuse_shown_folder(l, err);
}

static int open_folder(struct listener *l, const char *path, struct nsrun_error *err) {
        _cleanup_free_ char *spelled = NULL;
        int r;

        l->name = path_basename(path);
        if (!*l->name || streq(l->name, ".") || streq(l->name, ".."))
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), path,
                                 "--listen: no name of a socket", NULL);
        spelled = l->name == path ? strdup(".") : strndup(path, (size_t)(l->name - path));
        if (!spelled)
                return error_oom(err);
        r = path_canonical(spelled, &l->folder, NULL);
        if (r >= 0)
                r = l->folder_fd = open(l->folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, l->folder ? -errno : r, spelled,
                                 "--listen: the folder can't be opened", NULL);
        return listen_judge_folder(l, spelled, err);
}

/* ---------------------------------------------------------------------------- the socket */

/* By way of the folder's descriptor: a path of any length, and no link. */
static void fill_address(const struct listener *l, struct sockaddr_un *to, socklen_t *ret_n) {
        int n = snprintf(to->sun_path, sizeof(to->sun_path), "/proc/self/fd/%d/%s", l->folder_fd, l->name);

        to->sun_family = AF_UNIX;
        *ret_n = n < 0 || (size_t)n >= sizeof(to->sun_path)
                         ? 0
                         : (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n + 1);
}

/* Whether what lies there is a socket of this user's to which nobody listens any more. */
static bool is_left_behind(const struct listener *l, const struct sockaddr_un *address, socklen_t n) {
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        struct stat st;

        return fd >= 0 && fstatat(l->folder_fd, l->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
               S_ISSOCK(st.st_mode) && st.st_uid == geteuid() &&
               connect(fd, (const struct sockaddr *)address, n) < 0 && errno == ECONNREFUSED;
}

static int bind_socket(struct listener *l, const struct sockaddr_un *address, socklen_t n) {
        mode_t old = umask(0177);
        int r = bind(l->fd, (const struct sockaddr *)address, n) < 0 ? -errno : 0;

        if (r == -EADDRINUSE && is_left_behind(l, address, n) && unlinkat(l->folder_fd, l->name, 0) == 0)
                r = bind(l->fd, (const struct sockaddr *)address, n) < 0 ? -errno : 0;
        (void)umask(old);
        if (r < 0)
                return r;
        l->is_bound = fstatat(l->folder_fd, l->name, &l->socket, AT_SYMLINK_NOFOLLOW) == 0;
        return listen(l->fd, SOMAXCONN) < 0 ? -errno : 0;
}

static int open_socket(struct listener *l, const char *path, struct nsrun_error *err) {
        struct sockaddr_un address = {0};
        socklen_t n;
        int r;

        fill_address(l, &address, &n);
        if (n == 0)
                return error_set(err, NSRUN_STAGE_USAGE, -ENAMETOOLONG, path,
                                 "--listen: no name of a socket", NULL);
        l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        r = l->fd < 0 ? -errno : bind_socket(l, &address, n);
        if (r == -EADDRINUSE)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, path, "--listen: the name is taken",
                                 "another server listens there, or it is no socket: name another one");
        return r < 0 ? error_set(err, NSRUN_STAGE_SUPERVISE, r, path, "--listen: the socket can't be made",
                                 NULL)
                     : 0;
}

static void remove_socket(const struct listener *l) {
        struct stat st;

        if (l->is_bound && fstatat(l->folder_fd, l->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            st.st_dev == l->socket.st_dev && st.st_ino == l->socket.st_ino)
                (void)unlinkat(l->folder_fd, l->name, 0);
}

/* --------------------------------------------------------------------------- who connects */

/* Whether a process is in this process's user namespace.  The pid was the client's when it connected; the
 * pidfd, where there is one, says that no other process has got it since.  -ESRCH: it has ended. */
static int is_in_own_namespace(int fd, pid_t pid) {
        _cleanup_close_ int pidfd = -EBADF;
        socklen_t n = sizeof(pidfd);
        struct stat own, its;
        char path[64];

        if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &n) < 0 && errno != ENOPROTOOPT)
                return errno == EINVAL ? -ESRCH : -errno;
        (void)snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
        if (stat("/proc/self/ns/user", &own) < 0)
                return -errno;
        if (stat(path, &its) < 0)
                return errno == ENOENT ? -ESRCH : -errno;
        if (pidfd >= 0 && sys_pidfd_send_signal(pidfd, 0) < 0)
                return -ESRCH;
        return own.st_dev == its.st_dev && own.st_ino == its.st_ino;
}

/* Why a client isn't served, "" if it has gone already; NULL: it is. */
static const char *judge_client(const struct listener *l, int fd) {
        struct ucred peer;
        socklen_t n = sizeof(peer);
        int r;

        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0 || peer.uid != geteuid())
                return "the client is another user's";
        r = peer.pid > 0 ? is_in_own_namespace(fd, peer.pid) : 0;
        if (r <= 0)
                return r == -ESRCH ? "" : "the client runs in a sandbox or container, or can't be looked at";
        return l->n_clients >= LISTEN_CLIENTS_MOST ? "too many clients are connected" : NULL;
}

static void turn_away(int fd, const char *why) {
        _cleanup_free_ char *text = message_error(NULL, MESSAGE_BAD_REQUEST, why, NULL), *line = NULL;

        if (!*why)
                return;
        (void)fprintf(stderr, "nsrun: note: %s\n", why);
        line = text ? str_concat(text, "\n", "") : NULL;
        if (line)
                (void)send(fd, line, strlen(line), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static _Noreturn void serve_in_child(struct listener *l, int fd, pid_t parent) {
        const sigset_t child = SIGNALS(SIGCHLD);
        struct nsrun_error err = {0};
        int r;

        if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent)
                _exit(1);
        close_fdp(&l->fd);
        close_fdp(&l->folder_fd);
        close_fdp(&l->signal_fd);
        (void)sigprocmask(SIG_UNBLOCK, &child, NULL);
        r = mcp_serve(l->settings, fd, fd, &err);
        if (r < 0) {
                _cleanup_free_ char *line = nsrun_error_format(&err);

                (void)fprintf(stderr, "nsrun: %s\n", line ? line : "out of memory");
                turn_away(fd, line ? line : "out of memory");
        }
        _exit(r < 0 ? 1 : 0);
}

static void take_client(struct listener *l) {
        _cleanup_close_ int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC);
        pid_t parent = getpid(), pid;
        const char *why;

        if (fd < 0)
                return;
        why = judge_client(l, fd);
        pid = why ? -1 : fork();
        if (pid == 0)
                serve_in_child(l, TAKE_FD(fd), parent);
        if (pid < 0)
                turn_away(fd, why ? why : "there can be no more processes");
        else
                l->clients[l->n_clients++] = pid;
}

/* ------------------------------------------------------------------------------- the loop */

static void listen_reap(struct listener *l, int flags) {
        pid_t pid;

        while (l->n_clients > 0 && ((pid = waitpid(-1, NULL, flags)) > 0 || (pid < 0 && errno == EINTR)))
                for (size_t i = 0; i < l->n_clients; i++)
                        if (l->clients[i] == pid)
                                l->clients[i--] = l->clients[--l->n_clients];
}

static int serve_all(struct listener *l, struct nsrun_error *err) {
        for (;;) {
                struct pollfd fds[] = {{.fd = l->fd, .events = POLLIN},
                                       {.fd = l->signal_fd, .events = POLLIN}};
                struct signalfd_siginfo signal;
                int r = sys_poll(fds, ARRAY_SIZE(fds), -1);

                if (r < 0 && r != -EINTR)
                        return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "clients can't be heard",
                                         NULL);
                if (r < 0)
                        continue;
                while (fds[1].revents && sys_read(l->signal_fd, &signal, sizeof(signal)) == sizeof(signal))
                        if (signal.ssi_signo != SIGCHLD)
                                return 0;
                listen_reap(l, WNOHANG);
                if (fds[0].revents)
                        take_client(l);
        }
}

int mcp_listen(const struct mcp_settings *settings, const char *path, struct nsrun_error *err) {
        struct listener l = {.settings = settings, .folder_fd = -EBADF, .fd = -EBADF, .signal_fd = -EBADF};
        int r = open_folder(&l, path, err);

        if (r >= 0)
                r = l.signal_fd = signals_open(SIGNALS(SIGINT, SIGTERM, SIGHUP, SIGCHLD), err);
        if (r >= 0)
                r = open_socket(&l, path, err);
        if (r >= 0) {
                (void)printf("listening on %s\n", path);
                (void)fflush(stdout);
                r = serve_all(&l, err);
        }
        close_fdp(&l.fd);
        remove_socket(&l);
        for (size_t i = 0; i < l.n_clients; i++)
                (void)kill(l.clients[i], SIGTERM);
        listen_reap(&l, 0);
        close_fdp(&l.signal_fd);
        close_fdp(&l.folder_fd);
        free(l.folder);
        return r;
}

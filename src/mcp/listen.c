/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A socket for clients of `nsrun mcp`: it doesn't lie where a sandbox shows it, and who connects is judged
 * (peer.h).  With HTTP nsrun-http has the socket, and asks for servers. */
#include "listen.h"

#include <arpa/inet.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/loop.h"
#include "base/path.h"
#include "disk/reach.h"
#include "host/user.h"
#include "http_wire.h"
#include "peer.h"
#include "plan/plan.h"

/* -------------------------------------------------------------- HTTP */

/* The start of nsrun-http.  The token goes by a socket: no command sees it in an argument, a variable or a
 * file. */

static int draw_token(struct http_start *s) {
        unsigned char lot[(HTTP_TOKEN_SIZE - 1) / 2];

        if (getrandom(lot, sizeof(lot), 0) != (ssize_t)sizeof(lot))
                return -EIO;
        str_hex(lot, sizeof(lot), s->token);
        return 0;
}

/* A socket that listens at "127.0.0.1:PORT", and in *ret its port and a token for it.  -EINVAL, or as the
 * kernel has it. */
static int http_open_port(const char *address, struct http_start *ret, struct nsrun_error *err) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
        const char *digits = startswith(address, "127.0.0.1:");
        _cleanup_close_ int fd = -EBADF;
        socklen_t n = sizeof(at);
        uint64_t port;
        int r = 0;

        if (!digits || str_parse_number(digits, false, &port) < 0 || port > UINT16_MAX)
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), address,
                                 "--http: neither 127.0.0.1:PORT nor a socket's path with a slash in it",
                                 NULL);
        at.sin_port = htons((uint16_t)port);
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) < 0 ||
            bind(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, SOMAXCONN) < 0 ||
            getsockname(fd, (struct sockaddr *)&at, &n) < 0)
                r = -errno;
        if (r >= 0)
                r = draw_token(ret);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, address, "--http: the port can't be had",
                                 NULL);
        ret->port = ntohs(at.sin_port);
        return TAKE_FD(fd);
}

static int http_spawn(int fd, int control, struct nsrun_error *err) {
        char *const argv[] = {(char *)(uintptr_t) "nsrun-http", NULL}, *const env[] = {NULL};
        _cleanup_close_ int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        _cleanup_close_ int high = fcntl(fd, F_DUPFD_CLOEXEC, 10),
                            high_control = fcntl(control, F_DUPFD_CLOEXEC, 10);
        const int fds[] = {high, high_control};
        const int streams[] = {null_fd, null_fd, STDERR_FILENO};
        pid_t pid;
        int r = null_fd < 0 || high < 0 || high_control < 0
                        ? -errno
                        : spawn_apart(&(struct spawn){.program = program_http(),
                                                      .argv = argv,
                                                      .env = env,
                                                      .folder = "/",
                                                      .null_fd = null_fd,
                                                      .streams = streams,
                                                      .fds = fds,
                                                      .n_fds = ARRAY_SIZE(fds)},
                                      &pid);

        return r < 0 ? error_set(err, NSRUN_STAGE_SUPERVISE, r, program_http(),
                                 "nsrun-http can't be executed",
                                 "install nsrun completely; it is built where libevent is")
                     : 0;
}

/* Starts nsrun-http, which takes the socket's connections, and tells standard error the token. */
static int http_begin(int fd, const struct http_start *start, int *ret_control, struct nsrun_error *err) {
        _cleanup_close_ int own = -EBADF, other = -EBADF;
        int pair[2], r = sys_socketpair(pair);

        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "nsrun-http can't be spoken to", NULL);
        own = pair[0];
        other = pair[1];
        r = http_spawn(fd, other, err);
        if (r < 0)
                return r;
        if (send(own, start, sizeof(*start), MSG_NOSIGNAL) != sizeof(*start))
                return error_set(err, NSRUN_STAGE_SUPERVISE, -errno, NULL, "nsrun-http can't be spoken to",
                                 NULL);
        if (start->port > 0)
                (void)fprintf(stderr, "nsrun: token: %s\n", start->token);
        *ret_control = TAKE_FD(own);
        return 0;
}

struct listener {
        const struct mcp_settings *settings;
        const char *option; /* by which it was asked for */
        char *folder;       /* canonical */
        const char *name;   /* of the socket in it */
        int folder_fd, fd, signal_fd, anew_fd;
        int control;                 /* nsrun-http's; below 0: clients speak lines */
        struct mcp_settings one;     /* for requests without a session: they join the one that they share, */
        struct nsrun_policy *policy; /* whose policy this is, */
        char *session;               /* and this its id: NULL until there is such a request */
        bool is_bound;
        struct stat socket; /* to know it again */
        pid_t clients[HTTP_SERVERS_MOST];
        size_t n_clients;
};

static const char elsewhere[] =
        "name one in a folder of your own that no sandbox shows, as $XDG_RUNTIME_DIR";

static int listen_refuse(const struct listener *l, const char *why, struct nsrun_error *err) {
        return error_setf(err, NSRUN_STAGE_POLICY, -EPERM, l->folder, elsewhere, "%s: %s", l->option, why);
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
                        r = listen_refuse(l, "the sandbox's own commands could reach it", err);
        return r;
}

static int refuse_known_folder(const struct listener *l, struct nsrun_error *err) {
        _cleanup_exposed_ struct exposed known = {0};

        if (exposed_read(&known) < 0)
                return error_oom(err);
        return exposed_is_known(&known, l->folder)
                       ? listen_refuse(l, "a command of an earlier run could write in the folder", err)
                       : 0;
}

static int listen_judge_folder(const struct listener *l, const char *spelled, struct nsrun_error *err) {
        _cleanup_free_ char *home = NULL;
        struct stat st;
        int r;

        if (user_find_home(getenv("HOME"), &home) < 0)
                return error_oom(err);
        r = reach_check(l->option, spelled, l->folder, home, err);
        if (r >= 0 && sys_fstat(l->folder_fd, &st) < 0)
                r = error_set(err, NSRUN_STAGE_SUPERVISE, -errno, l->folder, "the folder can't be looked at",
                              NULL);
        if (r < 0)
                return r;
        if ((st.st_uid != geteuid() && st.st_uid != 0) ||
            (!(st.st_mode & S_ISVTX) && user_writers(l->folder_fd, &st, (char[USER_WRITERS_SIZE]){0})))
                return listen_refuse(l, "other users could replace it", err);
        r = refuse_known_folder(l, err);
        return r < 0 ? r : refuse_shown_folder(l, err);
}

static int open_folder(struct listener *l, const char *path, struct nsrun_error *err) {
        _cleanup_free_ char *spelled = NULL;
        int r;

        l->name = path_basename(path);
        if (!*l->name || streq(l->name, ".") || streq(l->name, ".."))
                return error_setf(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), path, NULL,
                                  "%s: no name of a file", l->option);
        spelled = l->name == path ? strdup(".") : strndup(path, (size_t)(l->name - path));
        if (!spelled)
                return error_oom(err);
        r = path_canonical(spelled, &l->folder, NULL);
        if (r >= 0)
                r = l->folder_fd = open(l->folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (r < 0)
                return error_setf(err, NSRUN_STAGE_SUPERVISE, l->folder ? -errno : r, spelled, NULL,
                                  "%s: the folder can't be opened", l->option);
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
                return error_setf(err, NSRUN_STAGE_USAGE, -ENAMETOOLONG, path, NULL,
                                  "%s: no name of a socket", l->option);
        l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        r = l->fd < 0 ? -errno : bind_socket(l, &address, n);
        if (r == -EADDRINUSE)
                return error_setf(err, NSRUN_STAGE_SUPERVISE, r, path,
                                  "another server listens there, or it is no socket: name another one",
                                  "%s: the name is taken", l->option);
        return r < 0 ? error_setf(err, NSRUN_STAGE_SUPERVISE, r, path, NULL, "%s: the socket can't be made",
                                  l->option)
                     : 0;
}

static void remove_socket(const struct listener *l) {
        struct stat st;

        if (l->is_bound && fstatat(l->folder_fd, l->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            st.st_dev == l->socket.st_dev && st.st_ino == l->socket.st_ino)
                (void)unlinkat(l->folder_fd, l->name, 0);
}

/* --------------------------------------------------------------------------- who connects */

static void turn_away(int fd, const char *why) {
        _cleanup_free_ char *text = message_error(NULL, MESSAGE_BAD_REQUEST, why, NULL), *line = NULL;

        if (!*why)
                return;
        (void)fprintf(stderr, "nsrun: note: %s\n", why);
        line = text ? str_concat(text, "\n", "") : NULL;
        if (line)
                (void)send(fd, line, strlen(line), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static _Noreturn void serve_in_child(struct listener *l, const struct mcp_settings *settings, int fd,
                                     pid_t parent) {
        const sigset_t child = SIGNALS(SIGCHLD);
        struct nsrun_error err = {0};
        int r;

        if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent)
                _exit(1);
        close_fdp(&l->fd);
        close_fdp(&l->control);
        close_fdp(&l->folder_fd);
        close_fdp(&l->signal_fd);
        (void)sigprocmask(SIG_UNBLOCK, &child, NULL);
        r = mcp_serve(settings, fd, fd, &err);
        if (r < 0) {
                _cleanup_free_ char *line = nsrun_error_format(&err);

                (void)fprintf(stderr, "nsrun: %s\n", line ? line : "out of memory");
                turn_away(fd, line ? line : "out of memory");
        }
        _exit(r < 0 ? 1 : 0);
}

static void listen_serve(struct listener *l, const struct mcp_settings *settings, int fd, const char *why) {
        size_t most = l->control >= 0 ? HTTP_SERVERS_MOST : LISTEN_CLIENTS_MOST;
        pid_t parent = getpid(), pid;

        if (!why && l->n_clients >= most)
                why = "too many clients are connected";
        pid = why ? -1 : fork();
        if (pid == 0)
                serve_in_child(l, settings, fd, parent);
        if (pid < 0)
                turn_away(fd, why ? why : "there can be no more processes");
        else
                l->clients[l->n_clients++] = pid;
}

static void take_client(struct listener *l) {
        _cleanup_close_ int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC);

        if (fd >= 0)
                listen_serve(l, l->settings, fd, peer_judge(fd));
}

/* Whether the session that requests share was ended by somebody else: then it is forgotten, and the next
 * tool's answer says so. */
static bool forget_ended(struct listener *l) {
        static const uint64_t one = 1;
        _cleanup_records_ struct record_folder folder = RECORD_FOLDER_INIT;

        if (!l->session || !l->one.policy || records_open(l->session, &folder, NULL) != -ENOENT)
                return false;
        l->policy = nsrun_policy_free(l->policy);
        free(TAKE_PTR(l->session));
        return sys_write(l->anew_fd, &one, sizeof(one)) > 0;
}

/* What requests without a session join: the user's session, or one that the first of them has started. */
static int share_session(struct listener *l, struct nsrun_error *err) {
        struct questions *questions = l->one.questions ? l->one.questions : questions_new();
        int r;

        if (l->anew_fd < 0)
                l->anew_fd = sys_eventfd();
        if (l->one.policy && !forget_ended(l))
                return 0;
        l->one = *l->settings;
        l->one.questions = questions;
        l->one.anew_fd = l->anew_fd;
        if (!l->one.questions || l->anew_fd < 0)
                return error_oom(err);
        if (l->settings->policy->session)
                return 0;
        r = mcp_session_start(l->settings, &l->session, &l->policy, err);
        l->one.policy = r < 0 ? NULL : l->policy;
        return r;
}

/* A server that nsrun-http asks for.  False: it has ended. */
static bool take_wish(struct listener *l) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *line = NULL;
        struct nsrun_error err = {0};
        size_t n_fds = 0;
        char wanted;

        if (sys_receive_fds(l->control, &wanted, 1, &fd, 1, &n_fds) != 1)
                return false;
        if (n_fds == 0)
                return true;
        if (wanted == HTTP_WANTS_SESSION)
                listen_serve(l, l->settings, fd, NULL);
        else if (share_session(l, &err) >= 0)
                listen_serve(l, &l->one, fd, NULL);
        else
                turn_away(fd, (line = nsrun_error_format(&err)) ? line : "out of memory");
        return true;
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
                struct pollfd fds[] = {{.fd = l->control >= 0 ? l->control : l->fd, .events = POLLIN},
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
                if (fds[0].revents && l->control >= 0) {
                        if (!take_wish(l))
                                return error_set(err, NSRUN_STAGE_SUPERVISE, UNSAID(-EPIPE), NULL,
                                                 "nsrun-http has ended",
                                                 "where it says that a libevent is missing: " LIBEVENT_FIX);
                } else if (fds[0].revents) {
                        take_client(l);
                }
        }
}

/* Ends what is left, in an order in which nothing new begins. */
static int listen_end(struct listener *l, struct nsrun_error *err) {
        _cleanup_strv_ char **notes = NULL;
        int r;

        close_fdp(&l->control);
        close_fdp(&l->fd);
        remove_socket(l);
        for (size_t i = 0; i < l->n_clients; i++)
                (void)kill(l->clients[i], SIGTERM);
        listen_reap(l, 0);
        r = l->session ? nsrun_session_end(l->session, 1, &notes, err) : 0;
        strv_tell(notes, "note");
        (void)nsrun_policy_free(l->policy);
        questions_free(l->one.questions);
        free(l->session);
        close_fdp(&l->anew_fd);
        close_fdp(&l->signal_fd);
        close_fdp(&l->folder_fd);
        free(l->folder);
        return r == -ENOENT ? 0 : r;
}

/* The token goes there: no command may read it and answer its own questions. */
static int refuse_shown_log(const struct mcp_settings *settings, struct nsrun_error *err) {
        _cleanup_free_ char *log = fd_name(STDERR_FILENO);
        const struct listener l = {
                .settings = settings, .option = "--http: the token goes to standard error", .folder = log};
        struct stat st;

        if (sys_fstat(STDERR_FILENO, &st) < 0 || (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode)))
                return 0;
        return log ? refuse_shown_folder(&l, err) : error_oom(err);
}

static int open_address(struct listener *l, const struct mcp_listening *at, struct http_start *start,
                        struct nsrun_error *err) {
        int r;

        if (at->is_http && !strchr(at->address, '/')) {
                r = l->fd = http_open_port(at->address, start, err);
                return r < 0 ? r : refuse_shown_log(l->settings, err);
        }
        r = open_folder(l, at->address, err);
        return r < 0 ? r : open_socket(l, at->address, err);
}

int mcp_listen(const struct mcp_settings *settings, const struct mcp_listening *at,
               struct nsrun_error *err) {
        struct listener l = {.settings = settings,
                             .option = at->is_http ? "--http" : "--listen",
                             .folder_fd = -EBADF,
                             .fd = -EBADF,
                             .control = -EBADF,
                             .signal_fd = -EBADF,
                             .anew_fd = -EBADF};
        struct http_start start = {.port = 0};
        int r, ended;

        r = l.signal_fd = signals_open(SIGNALS(SIGINT, SIGTERM, SIGHUP, SIGCHLD), err);
        if (r >= 0)
                r = open_address(&l, at, &start, err);
        if (r >= 0 && at->is_http)
                r = http_begin(l.fd, &start, &l.control, err);
        if (r >= 0) {
                if (start.port > 0)
                        (void)printf("listening on http://127.0.0.1:%u/mcp\n", start.port);
                else
                        (void)printf("listening on %s\n", at->address);
                (void)fflush(stdout);
                if (at->is_http)
                        close_fdp(&l.fd);
                /* No server, which is this process's copy, has the token. */
                explicit_bzero(&start, sizeof(start));
                r = serve_all(&l, err);
        }
        ended = listen_end(&l, r < 0 ? NULL : err);
        return r < 0 ? r : ended;
}

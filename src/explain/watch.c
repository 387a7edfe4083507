/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "watch.h"

#include <limits.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/file.h"
#include "base/path.h"
#include "base/sys.h"
#include "json_line.h"
#include "path.h"
#include "process_memory.h"

/* One path of a call. */
struct seen {
        char *path; /* NULL: it isn't of interest */
        enum watched_how how;
        bool is_there, is_folder, is_made, is_replaced;
        bool is_told; /* why it isn't there */
        bool opens;   /* by open(2) with O_CREAT */
};

/* A look at a file system of the command's own would end when it likes. */
static bool watch_can_end(const struct nsrun_plan *plan) {
        const struct plan_op *op = explain_covering(plan, "/dev/fuse");

        return !op || op->kind != PLAN_BIND || access("/dev/fuse", F_OK) < 0;
}

int watch_judge(const struct nsrun_plan *plan, struct nsrun_error *err) {
        if (plan->plain)
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), NULL,
                                 "a command without a sandbox isn't watched", NULL);
        if (plan->join && !plan->join->kills_leftovers)
                return error_set(
                        err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), NULL,
                        "what a watched command leaves behind in a session would have nobody to answer it",
                        "add --kill-leftovers, which ends that with the command");
        /* A joining plan's are read when they are needed. */
        if (plan->join && plan_load_operations((struct nsrun_plan *)(uintptr_t)plan, err) < 0)
                return -EIO;
        return watch_can_end(plan)
                       ? 0
                       : error_set(
                                 err, NSRUN_STAGE_POLICY, UNSAID(-EOPNOTSUPP), NULL,
                                 "a command that has /dev/fuse can't be watched: a look at a file system of its "
                                 "own would end when it likes, or never",
                                 "leave out --fuse; 'nsrun bash' gives reasons without watching");
}

int watch_new(const struct nsrun_plan *plan, bool is_learning, struct watch **ret) {
        struct watch *watch = calloc(1, sizeof(*watch));

        if (!watch)
                return -ENOMEM;
        _Static_assert(ARRAY_SIZE(watch->numbers) == 64, "room for the table of watched calls");
        watch->asked.plan = plan;
        watch->is_learning = watch->asked.is_whole = is_learning;
        watch->root_fd = -EBADF;
        for (size_t i = 0; i < n_watched_calls && i < ARRAY_SIZE(watch->numbers); i++) {
                int number = syscall_number(SYSCALL_ARCH_NATIVE, watched_calls[i].name);

                watch->numbers[i] = number < 0 ? -1 : number;
        }
        *ret = watch;
        return 0;
}

struct watch *watch_free(struct watch *watch) {
        if (watch) {
                close_fdp(&watch->root_fd);
                asked_clear(&watch->asked);
                printed_clear(&watch->printed);
        }
        free(watch);
        return NULL;
}

/* --------------------------------------------------------- reading of a call */

static bool watch_read_text(uint32_t pid, uint64_t address, char to[PATH_MAX]) {
        size_t n;

        /* Most paths are short. */
        n = peek(pid, address, to, 256);
        if (n > 0 && memchr(to, '\0', n))
                return true;
        n = peek(pid, address, to, PATH_MAX);
        return n > 0 && memchr(to, '\0', n);
}

/* Makes a path absolute by the caller's working directory or a descriptor of its. */
static char *from_folder(uint32_t pid, int64_t dir, const char *path) {
        char link[64], folder[PATH_MAX];
        ssize_t n;

        if ((int)dir == AT_FDCWD)
                (void)snprintf(link, sizeof(link), "/proc/%u/cwd", pid);
        else
                (void)snprintf(link, sizeof(link), "/proc/%u/fd/%d", pid, (int)dir);
        n = sys_readlinkat(AT_FDCWD, link, folder, sizeof(folder) - 1);
        if (n <= 0 || folder[0] != '/')
                return NULL;
        folder[n] = '\0';
        return path_join(folder, path);
}

/* What open(2)'s flags make of a call. */
static enum watched_how how_opened(uint32_t pid, const struct watched_call *call,
                                   const uint64_t *arguments) {
        uint64_t flags = 0;

        if (call->flags >= 0)
                flags = arguments[call->flags];
        else if (streq(call->name, "openat2"))
                (void)peek(pid, arguments[2], &flags, sizeof(flags));
        if (flags & O_CREAT)
                return WATCHED_MAKE;
        return (flags & FILE_ACCESS) == O_RDONLY ? WATCHED_READ : WATCHED_WRITE;
}

/* A port of the loopback of the sandbox's own.  Its name server is at 53. */
static void watch_port(struct watch *watch, uint32_t pid, uint16_t port) {
        char folder[32];

        (void)snprintf(folder, sizeof(folder), "/proc/%u/net", pid);
        if (watch->asked.plan->net != POLICY_NET_HOST && port != 0 && port != 53)
                asked_add_port(&watch->asked, port, folder);
}

/* The path of a socket, absolute; NULL: it has none. */
static char *socket_path(struct watch *watch, const struct watched_call *call, uint32_t pid,
                         const uint64_t *arguments) {
        union {
                struct sockaddr any;
                struct sockaddr_un un;
                struct sockaddr_in in;
                struct sockaddr_in6 in6;
        } address = {.un = {0}};
        size_t length = arguments[2] < sizeof(address.un) ? (size_t)arguments[2] : sizeof(address.un), n;
        char path[sizeof(address.un.sun_path) + 1] = {0};

        n = peek(pid, arguments[1], &address, length);
        if (n < sizeof(address.any.sa_family))
                return NULL;
        if (call->how == WATCHED_BIND && address.any.sa_family != AF_UNIX) {
                if (address.any.sa_family == AF_INET || address.any.sa_family == AF_INET6)
                        watch->asked.bound = ntohs(address.in.sin_port);
        } else if (address.any.sa_family == AF_INET || address.any.sa_family == AF_INET6) {
                bool is_loopback = address.any.sa_family == AF_INET
                                           ? ntohl(address.in.sin_addr.s_addr) >> 24 == 127
                                           : IN6_IS_ADDR_LOOPBACK(&address.in6.sin6_addr);

                if (is_loopback)
                        watch_port(watch, pid, ntohs(address.in.sin_port));
                watch->asked.has_inet |= !is_loopback;
        }
        if (address.any.sa_family != AF_UNIX || address.un.sun_path[0] == '\0')
                return NULL;
        memcpy(path, address.un.sun_path, sizeof(address.un.sun_path));
        return *path == '/' ? strdup(path) : from_folder(pid, AT_FDCWD, path);
}

static bool watch_has(const struct watch *watch, const char *path) {
        _cleanup_close_ int fd = sys_openat2(watch->root_fd, path, O_PATH | O_CLOEXEC, 0,
                                             RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);

        return fd >= 0;
}

/* Looks whether the path is there.  No symlink leads out of the sandbox's root, and nothing is opened. */
static void watch_look(const struct watch *watch, struct seen *seen) {
        bool is_itself = seen->how == WATCHED_REMOVE;
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        fd = sys_openat2(watch->root_fd, seen->path, O_PATH | O_CLOEXEC | (is_itself ? O_NOFOLLOW : 0), 0,
                         RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
        seen->is_there = fd >= 0 && sys_fstat(fd, &st) >= 0;
        seen->is_folder = seen->is_there && S_ISDIR(st.st_mode);
        if (seen->how == WATCHED_MAKE && !seen->is_there) {
                _cleanup_free_ char *folder = path_parent(seen->path);

                seen->is_made = folder && watch_has(watch, folder);
        }
}

/* A program to execute: whether it would have privileges on the host. */
static void watch_privileges(struct watch *watch, const char *path) {
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        fd = sys_openat2(watch->root_fd, path, O_PATH | O_CLOEXEC, 0,
                         RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
        if (fd < 0 || sys_fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
                return;
        watch->asked.executions++;
        if ((st.st_mode & S_ISUID) && st.st_uid == 0 && geteuid() != 0)
                watch->asked.privileged_at = watch->asked.executions;
}

static bool is_print(const struct watch *watch, const struct seccomp_notif *question, bool *ret_is_vector) {
        for (size_t i = n_watched_calls; i-- > 0 && watched_calls[i].how == WATCHED_PRINT;)
                if (watch->numbers[i] == question->data.nr) {
                        *ret_is_vector = streq(watched_calls[i].name, "writev");
                        return true;
                }
        return false;
}

/* Whether a symlink in what is shown of the user's may lead to what isn't. */
static bool may_lead_out(const struct nsrun_plan *plan, const char *path) {
        return (plan->project && path_is_beneath(path, plan->project)) ||
               (plan->home && path_is_beneath(path, plan->home));
}

static void see(struct watch *watch, const struct seccomp_notif *question, const struct watched_call *call,
                struct seen *seen) {
        const uint64_t *arguments = (const uint64_t *)question->data.args;
        char text[PATH_MAX];
        _cleanup_free_ char *path = NULL, *normal = NULL;

        *seen = (struct seen){.how = call->how};
        if (call->how == WATCHED_CONNECT || call->how == WATCHED_BIND) {
                path = socket_path(watch, call, question->pid, arguments);
                seen->how = call->how == WATCHED_BIND ? WATCHED_MAKE : WATCHED_CONNECT;
        } else if (watch_read_text(question->pid, arguments[call->path], text) && *text) {
                watch->n_read++;
                path = *text == '/'    ? strdup(text)
                       : call->dir < 0 ? from_folder(question->pid, AT_FDCWD, text)
                                       : from_folder(question->pid, (int64_t)arguments[call->dir], text);
        }
        if (!path || !(normal = path_normalise(path)))
                return;
        if (call->how == WATCHED_READ && !strstr(call->name, "link"))
                seen->how = how_opened(question->pid, call, arguments);
        seen->opens = call->how == WATCHED_READ && seen->how == WATCHED_MAKE;
        if (call->how == WATCHED_EXEC)
                watch_privileges(watch, normal);
        seen->is_told = asked_is_of_interest(watch->asked.plan, normal, seen->how);
        if (!seen->is_told && !(watch->hold && may_lead_out(watch->asked.plan, normal)))
                return;
        seen->path = TAKE_PTR(normal);
        seen->is_replaced = call->how == WATCHED_REMOVE || strstr(call->name, "rename");
        watch_look(watch, seen);
        if (seen->is_there && asked_is_read(seen->how) &&
            explain_is_own_tmp(explain_covering(watch->asked.plan, seen->path))) {
                free(seen->path);
                seen->path = NULL;
        }
}

/* ------------------------------------------------------------ what is kept */

static void watch_keep(struct watch *watch, const struct seen *seen, const struct seccomp_notif *question,
                       const char *program) {
        struct asked *asked;

        if (!seen->path || !seen->is_told)
                return;
        asked = asked_add(&watch->asked, seen->path, seen->how);
        if (!asked)
                return;
        asked->is_there =
                asked->count > 1 && watch->is_learning ? asked->is_there || seen->is_there : seen->is_there;
        asked->is_folder |= seen->is_folder;
        asked->is_made = seen->is_made;
        asked->is_replaced |= seen->is_replaced;
        if (asked->count == 1) {
                asked->pid = question->pid;
                (void)snprintf(asked->program, sizeof(asked->program), "%s", program);
        }
}

int watch_take(struct watch *watch, int listener, const struct seccomp_notif *question) {
        struct seen seen[2] = {{.path = NULL}};
        char program[16] = "";
        bool is_vector = false, is_held;
        size_t n = 0;
        int r;

        /* If the caller is gone, what was read may have been another process's of the same number. */
        if (is_print(watch, question, &is_vector)) {
                n = printed_take(&watch->printed, question, is_vector);
                r = sys_seccomp_continue(listener, question);
                watch->printed.n -= r < 0 ? n : 0;
                return r;
        }
        watch->asked.calls++;
        for (size_t i = 0; i < n_watched_calls && n < ARRAY_SIZE(seen); i++)
                if (watch->numbers[i] == question->data.nr && watch->root_fd >= 0)
                        see(watch, question, &watched_calls[i], &seen[n++]);
        if (seen[0].path || seen[1].path)
                read_process_name((pid_t)question->pid, program, sizeof(program));
        /* A call with two paths doesn't only read; what open(2) can't make it may be meant to write. */
        is_held = n == 1 && seen[0].path && !seen[0].is_there && watch->hold &&
                  watch->hold(watch->data, watch->root_fd, question, seen[0].path,
                              seen[0].opens && !seen[0].is_made ? WATCHED_WRITE : seen[0].how, program);
        r = is_held ? 0 : sys_seccomp_continue(listener, question);
        for (size_t i = 0; i < n; i++) {
                /* What a person is asked about needs no reason. */
                if (r >= 0 && !is_held)
                        watch_keep(watch, &seen[i], question, program);
                free(seen[i].path);
        }
        return r;
}

/* --------------------------------------------------------------- the lines */

static const char *const words[] = {
        [WATCHED_LOOK] = "look",       [WATCHED_READ] = "read", [WATCHED_EXEC] = "execute",
        [WATCHED_WRITE] = "write",     [WATCHED_MAKE] = "make", [WATCHED_REMOVE] = "remove",
        [WATCHED_CONNECT] = "connect",
};

int watch_write(const struct watch *watch, int fd, struct nsrun_error *err) {
        int r = 0;

        for (size_t i = 0; i < watch->asked.n && r >= 0; i++) {
                const struct asked *a = &watch->asked.items[i];
                _cleanup_json_ struct json_document d = json_begin();

                json_add_string(&d, d.root, "path", a->path);
                json_add_string(&d, d.root, "how", words[a->how]);
                json_add_bool(&d, d.root, "there", a->is_there);
                json_add_number(&d, d.root, "count", a->count);
                json_add_number(&d, d.root, "pid", a->pid);
                json_add_string(&d, d.root, "comm", a->program);
                r = json_write_line(fd, &d, "what the command asked for can't be written", NULL, err);
        }
        return r;
}

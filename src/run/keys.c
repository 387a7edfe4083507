/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun-keys' start, with the keys, and its end.  A key is read here and nowhere before, but for one that
 * the caller's environment has; a sandbox with keys has no memory of this process (run.c). */
#include <sys/wait.h>

#include "base/file.h"
#include "base/path.h"
#include "explain/path.h"
#include "keys/use.h"
#include "keys/wire.h"
#include "network.h"

_Static_assert(KEYS_FD_SOCKETS == SPAWN_FIRST_FD, "the first that is given");
#define FIRST_FREE (KEYS_FD_NSRUN + 1)
#define LOOK_MS    100

static int keys_fail(int r, struct nsrun_error *err) {
        return error_set(err, NSRUN_STAGE_NETWORK, r, NULL, "nsrun-keys can't be told the keys", NULL);
}

static int key_refuse(const char *name, const char *what, const char *why, int r, struct nsrun_error *err) {
        return error_setf(err, NSRUN_STAGE_POLICY, r < 0 ? r : UNSAID(-EINVAL), NULL, NULL,
                          "--key %s: %s%s%s", name, what, *why ? " " : "", why);
}

/* Whether the command sees that file of the host's, or a version of it, by what the plan shows.  What --hide
 * hides isn't seen: the command can neither read it nor take the mount away that lies there. */
static int is_shown(const struct nsrun_plan *plan, const char *path) {
        for (size_t i = 0; i < plan->n_ops; i++) {
                const struct plan_op *op = &plan->ops[i], *over;
                const char *below = (op->kind == PLAN_BIND || op->kind == PLAN_OVERLAY) && op->source
                                            ? path_below(path, op->source)
                                            : NULL;
                _cleanup_free_ char *inside = below ? path_join(op->target, below) : NULL;

                if (below && !inside)
                        return -ENOMEM;
                over = below ? explain_covering(plan, inside) : NULL;
                if (over && over->kind != PLAN_HIDE && over->kind != PLAN_TMPFS)
                        return 1;
        }
        return 0;
}

/* A symlink of the user's may lead there: what was opened is judged, and is what is read. */
static int key_open_file(const struct nsrun_plan *plan, const char *name, const char *path,
                         struct nsrun_error *err) {
        _cleanup_free_ char *opened = NULL;
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        int r;

        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd < 0 || fstat(fd, &st) < 0)
                return key_refuse(name, "its file can't be opened", "", -errno, err);
        opened = fd_name(fd);
        /* What has no name any more is seen by nobody. */
        r = !opened ? -ENOMEM : st.st_nlink == 0 ? 0 : is_shown(plan, opened);
        if (r < 0)
                return error_oom(err);
        if (r > 0)
                return error_setf(err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), opened,
                                  "have it where the command sees nothing",
                                  "--key %s: its file lies in what the command sees", name);
        return TAKE_FD(fd);
}

/* Whether one of the signals that end nsrun waits, which whoever starts it may have blocked. */
static bool is_interrupted(void) {
        static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
        bool is = false;
        sigset_t waiting;

        (void)sigemptyset(&waiting);
        (void)sigpending(&waiting);
        for (size_t i = 0; i < ARRAY_SIZE(ending); i++)
                is |= sigismember(&waiting, ending[i]) == 1;
        return is;
}

/* What the command says until it ends; what it leaves behind may have its output for longer. */
static int hear_command(int pidfd, int fd, char *to, size_t size, size_t *ret) {
        bool has_ended = false;

        for (*ret = 0;;) {
                /* More than a key has is none. */
                struct pollfd fds[] = {{*ret < size ? fd : -1, POLLIN, 0}, {pidfd, POLLIN, 0}};
                int r = sys_poll(fds, 2, has_ended ? 0 : LOOK_MS);
                ssize_t n = r > 0 && fds[0].revents ? sys_read(fd, to + *ret, size - *ret) : -EAGAIN;

                if (is_interrupted())
                        return -EINTR;
                if (r < 0 && r != -EINTR)
                        return r;
                if (n > 0)
                        *ret += (size_t)n;
                else if (has_ended)
                        return 0;
                if (n == 0)
                        fd = -1;
                has_ended |= r > 0 && fds[1].revents;
        }
}

static int key_start_command(const char *command, int *ret_fd, pid_t *ret_pid) {
        char *const argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", (char *)(uintptr_t)command,
                              NULL};
        _cleanup_close_ int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC), reading = -EBADF,
                            writing = -EBADF;
        int ends[2], r = null_fd < 0 ? -errno : sys_pipe(ends);

        if (r < 0)
                return r;
        reading = ends[0];
        writing = ends[1];
        {
                const int streams[] = {null_fd, writing, STDERR_FILENO};

                r = spawn_apart(&(struct spawn){.program = "/bin/sh",
                                                .argv = argv,
                                                .env = environ,
                                                .folder = "/",
                                                .null_fd = null_fd,
                                                .streams = streams},
                                ret_pid);
        }
        *ret_fd = r < 0 ? -EBADF : TAKE_FD(reading);
        return r;
}

/* The command has the caller's environment and standard error, and nothing to read; it starts in "/", where
 * no other command writes. */
static int key_read_command(const char *name, const char *command, char *to, size_t size, size_t *ret,
                            struct nsrun_error *err) {
        _cleanup_close_ int reading = -EBADF, pidfd = -EBADF;
        siginfo_t end = {.si_status = 0};
        char status[32];
        pid_t pid = 0;
        int r = key_start_command(command, &reading, &pid);

        if (r < 0)
                return key_refuse(name, "its command can't be started", "", r, err);
        pidfd = sys_pidfd_open(pid);
        r = pidfd < 0 ? pidfd : hear_command(pidfd, reading, to, size, ret);
        if (r < 0)
                (void)sys_kill(-pid, SIGKILL);
        close_fdp(&reading);
        if (sys_waitid(P_PID, (id_t)pid, &end, WEXITED) < 0 || (r < 0 && r != -EINTR))
                return keys_fail(r < 0 ? r : -ECHILD, err);
        if (r < 0)
                return key_refuse(name, "its command was interrupted", "", r, err);
        if (end.si_code == CLD_EXITED && end.si_status == 0)
                return 0;
        (void)snprintf(status, sizeof(status), end.si_code == CLD_EXITED ? "status %d" : "signal %d",
                       end.si_status);
        return key_refuse(name, "its command ended with", status, 0, err);
}

/* The environment was made before the key was known. */
static int refuse_copies(const struct nsrun_plan *plan, const char *name, const char *value,
                         struct nsrun_error *err) {
        STRV_FOREACH (entry, plan->env) {
                size_t n = strcspn(*entry, "=");

                if (strstr(*entry + n, value))
                        return error_setf(err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), NULL,
                                          "leave the variable out (--unsetenv)",
                                          "--key %s: the command's variable %.*s has it", name, (int)n,
                                          *entry);
        }
        return 0;
}

/* Reads a key's line; it ends at the first newline. */
static int key_read(const struct nsrun_plan *plan, const char *source, struct strbuf *lines,
                    struct nsrun_error *err) {
        char name[KEY_NAME_MOST + 1], value[KEY_VALUE_MOST + 3] = "";
        _cleanup_close_ int fd = -EBADF;
        enum key_source_kind kind;
        const char *what, *why;
        size_t n = 0;
        int r = 0;

        if (key_source_read(source, name, &kind, &what))
                return keys_fail(-EBADMSG, err);
        if (kind == KEY_OF_VARIABLE)
                return 0;
        if (kind == KEY_OF_FILE) {
                fd = key_open_file(plan, name, what, err);
                r = fd < 0 ? fd : read_full(fd, value, sizeof(value) - 1, &n);
                if (fd >= 0 && r < 0)
                        r = key_refuse(name, "its file can't be read", "", r, err);
        } else
                r = key_read_command(name, what, value, sizeof(value) - 1, &n, err);
        value[r < 0 ? 0 : n] = '\0';
        value[strcspn(value, "\r\n")] = '\0';
        why = r < 0 ? NULL : key_value_judge(value);
        if (why)
                r = key_refuse(name, kind == KEY_OF_FILE ? "what its file has" : "what its command says",
                               why, 0, err);
        if (r >= 0)
                r = refuse_copies(plan, name, value, err);
        if (r >= 0)
                strbuf_addf(lines, KEYS_VALUE "%s %s\n", name, value);
        explicit_bzero(value, sizeof(value));
        return r;
}

/* Texts that were grown may lie in freed memory: of this process, which no sandbox has any of. */
static int write_lines(const struct nsrun_plan *plan, struct strbuf *b, struct nsrun_error *err) {
        const char *authorities = getenv("SSL_CERT_FILE");
        _cleanup_free_ char *values = plan->key_values ? strdup(plan->key_values) : NULL;
        size_t length = values ? strlen(values) : 0;
        char *rest = NULL;
        int r = 0;

        STRV_FOREACH (use, plan->key_uses)
                strbuf_addf(b, KEYS_USE "%s\n", *use);
        STRV_FOREACH (line, plan->network)
                if (startswith(*line, "direct "))
                        strbuf_addf(b, KEYS_DIRECT "%s\n", *line + strlen("direct "));
        if (plan->via && !streq(plan->via, "via none"))
                strbuf_addf(b, KEYS_VIA "%s\n", plan->via + strlen("via "));
        if (authorities && *authorities == '/' && !strchr(authorities, '\n'))
                strbuf_addf(b, KEYS_CA "%s\n", authorities);
        for (char *line = values ? strtok_r(values, "\n", &rest) : NULL; line;
             line = strtok_r(NULL, "\n", &rest))
                strbuf_addf(b, KEYS_VALUE "%s\n", line);
        STRV_FOREACH (source, plan->keys)
                if (r >= 0)
                        r = key_read(plan, *source, b, err);
        if (values)
                explicit_bzero(values, length); /* strtok_r(3) has cut it */
        return r < 0 ? r : b->has_failed ? error_oom(err) : 0;
}

/* Sends the lines, and hears whether nsrun-keys has all that it needs. */
static int tell_keys(int fd, const struct strbuf *lines, struct nsrun_error *err) {
        uint32_t n = (uint32_t)lines->length;
        int32_t answer = 0;
        size_t got = 0;
        int r = lines->length > KEYS_MOST ? -E2BIG : write_full(fd, &n, sizeof(n));

        if (r >= 0)
                r = write_full(fd, lines->text, lines->length);
        if (r >= 0)
                r = read_full(fd, (char *)&answer, sizeof(answer), &got);
        if (r == -EPIPE || r == -ECONNRESET || (r >= 0 && got < sizeof(answer)))
                return error_set(err, NSRUN_STAGE_NETWORK, -EPIPE, program_keys(),
                                 "nsrun-keys has ended before it was ready", LIBCURL_FIX);
        return r < 0 || answer < 0 ? keys_fail(r < 0 ? r : answer, err) : 0;
}

int keys_begin(const struct nsrun_plan *plan, struct given *of_net, struct keys *ret,
               struct nsrun_error *err) {
        _cleanup_(given_clear) struct given g = {
                .above = FIRST_FREE, .program = program_keys(), .name = "nsrun-keys"};
        struct strbuf lines = {0};
        int to_net = -EBADF, r;

        if (!plan->keys) {
                of_net->fds[of_net->n++] = -EBADF;
                return 0;
        }
        r = give_pair(&g, &to_net);
        if (r >= 0)
                r = give(of_net, to_net);
        if (r >= 0)
                r = give_pair(&g, &ret->life_fd);
        if (r < 0)
                return keys_fail(r, err);
        r = write_lines(plan, &lines, err);
        if (r >= 0)
                r = network_spawn(NULL, NULL, &g, &ret->pidfd, err);
        given_clear(&g);
        if (r >= 0)
                r = tell_keys(ret->life_fd, &lines, err);
        if (lines.text)
                explicit_bzero(lines.text, lines.length);
        strbuf_clear(&lines);
        return r;
}

void keys_end(struct keys *k) {
        close_fdp(&k->life_fd);
        sys_end_process(&k->pidfd);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The two ends of the way to nsrun-init.  Its arguments are the number of a file in memory, the working
 * directory of a command that joins a session, the file that is executed, and the command's own; its
 * environment is the command's.  The file has a struct init, the descriptors that are passed, those that are
 * held, and the command's filters, each after its length. */
#include "init_exec.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/prctl.h>

#include "base/file.h"
#include "enter.h"
#include "harden.h"
#include "number.h"
#include "report.h"

/* The beginning of struct init, which every version of nsrun-init must be able to read. */
_Static_assert(offsetof(struct init, size) == 0 && offsetof(struct init, version) == 4 &&
                       offsetof(struct init, report_fd) == 8,
               "an nsrun-init of another version says so over the pipe");

enum {
        ARG_NAME,
        ARG_DATA,
        ARG_DIRECTORY,
        ARG_FILE,
        ARG_COMMAND,
};

struct init_message {
        char *bytes; /* the file's but for the descriptors that are held, with room for them */
        size_t n;
        char number[24];
        char *argv[];
};

static size_t init_exec_append(char *to, size_t at, const void *from, size_t n) {
        if (n > 0)
                memcpy(to + at, from, n);
        return at + n;
}

int init_exec_prepare(struct child *c, struct nsrun_error *err) {
        const struct reaper *p = &c->reaper;
        size_t n_passed = c->params->n_pass_fds * sizeof(int), n = strv_length(c->plan->argv), at;
        struct init_message *m;
        int r;

        m = c->message = calloc(1, sizeof(*m) + (ARG_COMMAND + n + 1) * sizeof(char *));
        if (!m)
                return error_oom(err);
        m->n = sizeof(struct init) + n_passed;
        for (size_t i = 0; i < p->n_filters; i++)
                m->n += sizeof(uint32_t) + p->filters[i].len * sizeof(*p->filters[i].filter);
        m->bytes = calloc(1, m->n + c->n_held_most * sizeof(int));
        if (!m->bytes)
                return error_oom(err);
        at = init_exec_append(m->bytes, sizeof(struct init), c->params->pass_fds, n_passed);
        for (size_t i = 0; i < p->n_filters; i++) {
                uint32_t length = p->filters[i].len;

                at = init_exec_append(m->bytes, at, &length, sizeof(length));
                at = init_exec_append(m->bytes, at, p->filters[i].filter,
                                      length * sizeof(*p->filters[i].filter));
        }
        m->argv[ARG_NAME] = (char *)"nsrun-init";
        m->argv[ARG_DATA] = m->number;
        m->argv[ARG_DIRECTORY] = c->plan->cwd ? c->plan->cwd : (char *)"";
        m->argv[ARG_FILE] = p->file ? (char *)(uintptr_t)p->file : (char *)"";
        for (size_t i = 0; i < n; i++)
                m->argv[ARG_COMMAND + i] = c->plan->argv[i];
        r = c->init_data_fd = sys_memfd("nsrun-init");
        if (r >= 0)
                r = fd_lift(&c->init_data_fd);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "no memory to tell nsrun-init by",
                                 NULL);
        return 0;
}

void init_exec_free(struct child *c) {
        if (c->message)
                free(c->message->bytes);
        free(c->message);
}

/* Lists those descriptors that nsrun-init gets for itself. */
static void list_descriptors(const struct init *init, int to[INIT_DESCRIPTORS]) {
        const int all[INIT_DESCRIPTORS] = {
                init->report_fd,        init->supervisor_fd,
                init->control_fd,       init->listener_socket,
                init->lock_fd,          init->session_fd,
                init->reaper_socket,    init->layers_fd,
                init->home_fd,          init->proc_fd,
                init->identity.self_fd, init->identity.is_late ? init->identity.block_fd : -EBADF};

        memcpy(to, all, sizeof(all));
}

int init_exec(struct child *c) {
        struct init_message *m = c->message;
        int fds[INIT_DESCRIPTORS + 1];
        ssize_t n;
        int r;

        c->reaper.init.n_filters = (uint32_t)c->reaper.n_filters;
        c->reaper.init.n_held = (uint32_t)c->reaper.n_held;
        (void)init_exec_append(m->bytes, 0, &c->reaper.init, sizeof(c->reaper.init));
        (void)init_exec_append(m->bytes, m->n, c->reaper.held, c->reaper.n_held * sizeof(int));
        m->n += c->reaper.n_held * sizeof(int);
        (void)number_format(m->number, (uint64_t)c->init_data_fd);
        n = sys_write(c->init_data_fd, m->bytes, m->n);
        r = n < 0 ? (int)n : (size_t)n != m->n ? -EIO : lseek(c->init_data_fd, 0, SEEK_SET) < 0 ? -errno : 0;
        list_descriptors(&c->reaper.init, fds);
        fds[INIT_DESCRIPTORS] = c->init_data_fd;
        for (size_t i = 0; i < ARRAY_SIZE(fds) && r >= 0; i++)
                if (fds[i] > 2 && fcntl(fds[i], F_SETFD, 0) < 0)
                        r = -errno;
        for (size_t i = 0; i < c->reaper.n_held && r >= 0; i++)
                if (fcntl(c->reaper.held[i], F_SETFD, 0) < 0)
                        r = -errno;
        if (r < 0)
                return error_set(&c->reaper.error, NSRUN_STAGE_SUPERVISE, r, NULL,
                                 "nsrun-init can't be told what it needs", NULL);
        r = sys_execveat(c->init_fd, "", m->argv, c->plan->env, AT_EMPTY_PATH);
        /* E2BIG: nsrun-init's arguments hold the command's. */
        if (r == -E2BIG)
                return error_set(&c->reaper.error, NSRUN_STAGE_EXEC, r,
                                 c->plan->argv ? c->plan->argv[0] : NULL, "the command is too long", NULL);
        return error_set(&c->reaper.error, NSRUN_STAGE_SUPERVISE, r, c->params->init_path,
                         "nsrun-init can't be executed",
                         error_is_filtered(r)
                                 ? FILTER_HINT("execveat")
                                 : "it must be a static program of this machine's architecture");
}

/* --------------------------------------------------------------- nsrun-init */

/* Reads `n` items into their own memory; NULL if n is 0, or if the file has fewer. */
static void *take_items(int fd, size_t n, size_t size) {
        void *items = n > 0 && n <= INT_MAX / size ? malloc(n * size) : NULL;

        if (items && sys_read(fd, items, n * size) != (ssize_t)(n * size))
                _exit(125);
        return items;
}

static void take_filters(int fd, struct reaper *p) {
        struct sock_fprog *filters = calloc((size_t)p->init.n_filters + 1, sizeof(*filters));

        if (!filters)
                _exit(125);
        for (uint32_t i = 0; i < p->init.n_filters; i++) {
                uint32_t length;

                if (sys_read(fd, &length, sizeof(length)) != (ssize_t)sizeof(length) || length > UINT16_MAX)
                        _exit(125);
                filters[i].len = (unsigned short)length;
                filters[i].filter = take_items(fd, length, sizeof(*filters[i].filter));
        }
        p->filters = filters;
        p->n_filters = p->init.n_filters;
}

/* The descriptors stay open as long as this process lives, and the command doesn't get them. */
static void keep_held(int fd, struct reaper *p) {
        size_t n = p->init.n_held;

        p->held = calloc(n + INIT_OWN, sizeof(*p->held));
        if (!p->held || sys_read(fd, p->held, n * sizeof(*p->held)) != (ssize_t)(n * sizeof(*p->held)))
                _exit(125);
        for (p->n_held = 0; p->n_held < n; p->n_held++)
                if (fcntl(p->held[p->n_held], F_SETFD, FD_CLOEXEC) < 0)
                        _exit(125);
}

static void take_init(int fd, struct reaper *p) {
        static const struct nsrun_error other = {.stage = NSRUN_STAGE_SUPERVISE,
                                                 .error = EPROTO,
                                                 .what = "nsrun-init is of another version",
                                                 .hint = "install nsrun completely"};
        struct init *init = &p->init;
        ssize_t n = sys_read(fd, init, sizeof(*init));

        if (n < (ssize_t)offsetof(struct init, supervisor_fd))
                _exit(125);
        if (n != (ssize_t)sizeof(*init) || init->size != sizeof(*init) || init->version != INIT_VERSION)
                report_failure(init->report_fd, -1, &other);
        p->passed = take_items(fd, init->n_passed, sizeof(*p->passed));
        take_filters(fd, p);
        keep_held(fd, p);
        (void)sys_close(fd);
}

/* Wipes this process's command line but for "nsrun-init", since all processes of a session can read
 * it.  The kernel has put the arguments in a row. */
static void hide_arguments(int argc, char **argv) {
        char *first = argv[1], *last = argv[argc - 1] + strlen(argv[argc - 1]) + 1, *copy;
        size_t n = (size_t)(last - first);

        copy = malloc(n);
        if (!copy)
                _exit(125);
        memcpy(copy, first, n);
        for (int i = 1; i < argc; i++)
                argv[i] = copy + (argv[i] - first);
        memset(first, 0, n);
}

/* Whatever enters the last user namespace after this program was executed, its memory belongs to the one
 * around it: nothing in the last one can look into it, by a capability neither. */
static void take_identity(struct reaper *p) {
        int r = identity_take(&p->init.identity, p->init.supervisor_fd, &p->error);

        if (r >= 0 && p->init.outlives_supervisor)
                r = identity_outlive(&p->error);
        if (r >= 0 && (r = sys_prctl(PR_SET_DUMPABLE, 0, 0)) < 0)
                (void)error_set(&p->error, NSRUN_STAGE_HARDENING, r, NULL,
                                "the reaper can't be made undumpable", NULL);
        if (r < 0)
                report_failure(p->init.report_fd, -1, &p->error);
}

/* Makes its memory unreadable first of all, before another process is in the namespace. */
int init_exec_main(int argc, char **argv, char **env) {
        static char stack[CHILD_STACK_SIZE] __attribute__((__aligned__(16)));
        static struct reaper p = {.signal_fd = -EBADF, .listener = -EBADF};
        int fds[INIT_DESCRIPTORS];

        if (argc < ARG_COMMAND || sys_prctl(PR_SET_DUMPABLE, 0, 0) < 0)
                return 125;
        hide_arguments(argc, argv);
        take_init((int)strtol(argv[ARG_DATA], NULL, 10), &p);
        list_descriptors(&p.init, fds);
        for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
                if (fds[i] > 2 && fcntl(fds[i], F_SETFD, FD_CLOEXEC) < 0)
                        return 125;
        p.argv = argv + ARG_COMMAND;
        p.file = argv[ARG_FILE];
        p.env = env;
        p.stack_top = stack + sizeof(stack);
        p.shell_argv = calloc((size_t)(argc - ARG_COMMAND) + 2, sizeof(char *));
        if (!p.shell_argv)
                return 125;
        if (p.init.identity.is_late)
                take_identity(&p);
        if (p.init.session_fd >= 0)
                enter_alone(&p, argv[ARG_DIRECTORY]);
        init_finish(&p);
}

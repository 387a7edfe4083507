/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The way in: a record is opened, and one of the lives begins; and the steps that the lives share. */
#include "boundary.h"

#include <sys/mman.h>

#include "builder.h"
#include "enter.h"
#include "harden.h"

void builder_describe(struct reaper *p, const struct blueprint *b) {
        p->init = b->facts.init;
        p->argv = b->argv;
        p->env = b->env;
        p->file = b->file;
        p->filters = b->filters;
        p->n_filters = b->n_filters;
        p->passed = b->passed;
        p->n_passed = b->n_passed;
        p->signal_fd = -EBADF;
        p->listener = -EBADF;
}

/* One mapping: the stacks, then the lists of pointers, then those of numbers. */
static int builder_reserve(struct builder *b) {
        size_t n_shell = (strv_length(b->b.argv) + 3) * sizeof(char *),
               n_keep = (b->b.n_passed + BUILDER_OWN_MAX) * sizeof(int),
               n_held = (b->b.n_held + INIT_OWN) * sizeof(int);
        char *at;

        b->memory_size = (size_t)BUILDER_STACKS * BUILDER_STACK_SIZE + n_shell + n_keep + n_held;
        b->memory = mmap(NULL, b->memory_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (b->memory == MAP_FAILED) {
                b->memory = NULL;
                return -ENOMEM;
        }
        at = b->memory + (size_t)BUILDER_STACKS * BUILDER_STACK_SIZE;
        b->reaper.shell_argv = (char **)(void *)at;
        b->keep = (int *)(void *)(at + n_shell);
        b->reaper.held = (int *)(void *)(at + n_shell + n_keep);
        for (size_t i = 0; i < b->b.n_held; i++)
                if (b->b.held[i] >= 0)
                        b->reaper.held[b->reaper.n_held++] = b->b.held[i];
        b->reaper.stack_top = builder_stack_top(b, BUILDER_STACK_COMMAND);
        return 0;
}

int builder_open(struct builder *b, char *bytes, size_t n, const struct boundary_own *own,
                 struct nsrun_error *err) {
        int r = blueprint_open(bytes, n, &b->b);

        b->bytes = bytes;
        b->n = n;
        b->own = *own;
        if (r >= 0) {
                builder_describe(&b->reaper, &b->b);
                r = builder_reserve(b);
        }
        if (r == -ENOMEM)
                return error_oom(err);
        /* Who has made the record is another program for nsrun-init alone. */
        if (r == -EPROTO)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "nsrun-init is of another version",
                                 "install nsrun completely");
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL,
                                 "internal error: what was to be built can't be read", NULL);
        return 0;
}

void builder_close(struct builder *b) {
        if (b->memory) {
                nsrun_forget_frames(b->memory, b->memory_size);
                (void)munmap(b->memory, b->memory_size);
        }
        b->memory = NULL;
        blueprint_close(&b->b);
}

nsrun_no_asan _Noreturn void boundary_run(char *bytes, size_t n, const struct boundary_own *own) {
        static struct builder b;
        struct nsrun_error err = {0};
        int r = builder_open(&b, bytes, n, own, &err), report_fd;

        if (r < 0) {
                if (n < offsetof(struct init, supervisor_fd))
                        _exit(125);
                memcpy(&report_fd, bytes + offsetof(struct init, report_fd), sizeof(report_fd));
                report_failure(report_fd, -1, &err);
        }
        switch (b.b.facts.life) {
        case BOUNDARY_SANDBOX:
                build_run(&b);
        case BOUNDARY_PLAIN:
                plain_run(&b);
        case BOUNDARY_RAW:
                raw_run(&b);
        case BOUNDARY_JOIN:
                enter_run(&b);
        case BOUNDARY_GRANT:
                grant_run(&b);
        }
        _exit(125);
}

/* ---------------------------------------------------------- what the lives share */

int builder_set_hostname(struct builder *b) {
        const char *name = b->b.hostname;
        int r = name ? sys_sethostname(name, strlen(name)) : 0;

        /* One that is too long is the caller's fault, and no namespace's. */
        if (r < 0)
                return error_set_id(&b->reaper.error, NSRUN_ERROR_HOSTNAME,
                                    r == -EINVAL ? NSRUN_STAGE_USAGE : NSRUN_STAGE_NAMESPACE, r, name,
                                    "the host name can't be set",
                                    r == -EINVAL ? "64 bytes are the most" : NULL);
        return 0;
}

/* The supervisor has opened cgroup.procs: since 5.16 the kernel judges the write by the opener's
 * rights and cgroup namespace. */
int builder_join_cgroup(struct builder *b) {
        ssize_t n = sys_write(b->b.facts.cgroup_procs_fd, "0", 1);

        if (n < 0)
                return error_set(&b->reaper.error, NSRUN_STAGE_NAMESPACE, (int)n, "cgroup.procs",
                                 "the sandbox can't enter its cgroup", NULL);
        return 0;
}

/* From here on the descriptor table is the process's alone.  Descriptors that the command gets stay
 * open across an exec. */
int builder_take_descriptors(struct builder *b) {
        for (int fd = 0; fd <= 2; fd++) {
                int from = b->b.facts.stdio[fd], r = from >= 0 ? sys_dup_to(from, fd) : 0;

                if (r < 0)
                        return error_set(&b->reaper.error, NSRUN_STAGE_SUPERVISE, r, NULL,
                                         "the command's standard streams can't be set", NULL);
        }
        for (size_t i = 0; i < b->b.n_passed; i++) {
                int r = sys_dup_to(b->b.passed[i], b->b.passed[i]);

                if (r < 0)
                        return error_set(&b->reaper.error, NSRUN_STAGE_SUPERVISE, r, NULL,
                                         "a descriptor can't be passed to the command", NULL);
        }
        return 0;
}

int builder_close_descriptors(struct builder *b, const int *own, size_t n) {
        memcpy(b->keep, own, n * sizeof(*own));
        if (b->b.n_passed > 0)
                memcpy(b->keep + n, b->b.passed, b->b.n_passed * sizeof(*own));
        return harden_descriptors(b->keep, n + b->b.n_passed, &b->reaper.error);
}

void builder_wipe_command_line(const struct builder *b) {
        if (b->own.command_line)
                memset(b->own.command_line, 0, b->own.command_line_size);
}

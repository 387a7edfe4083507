/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command's seccomp filter, from the plan to the kernel. */
#include <fcntl.h>
#include <linux/seccomp.h>

#include "base/file.h"
#include "internal.h"

/* Older kernel headers. */
#ifndef SECCOMP_FILTER_FLAG_NEW_LISTENER
#define SECCOMP_FILTER_FLAG_NEW_LISTENER (1U << 3)
#endif

/* Whoever would get an errno is asked about instead: the listener's owner answers with it.
 * What is allowed costs nothing. */
static int ask_about_denials(struct launch_child *c) {
        const struct sock_filter *code = c->plan->seccomp.code;

        c->owned_filter = malloc(c->n_filter * sizeof(*code));
        if (!c->owned_filter)
                return -ENOMEM;
        memcpy(c->owned_filter, code, c->n_filter * sizeof(*code));
        for (size_t i = 0; i < c->n_filter; i++) {
                struct sock_filter *at = &c->owned_filter[i];

                if (at->code == (BPF_RET | BPF_K) && (at->k & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO)
                        at->k = SECCOMP_RET_USER_NOTIF;
        }
        c->filter = c->owned_filter;
        c->filter_flags |= SECCOMP_FILTER_FLAG_NEW_LISTENER;
        return 0;
}

static int store(struct launch_child *c) {
        size_t size = c->n_filter * sizeof(*c->filter);
        ssize_t n;

        c->filter_fd = sys_memfd("nsrun-filter");
        if (c->filter_fd < 0)
                return c->filter_fd;
        n = sys_write(c->filter_fd, c->filter, size);
        if (n >= 0 && (size_t)n != size)
                n = -EIO;
        if (n >= 0 && lseek(c->filter_fd, 0, SEEK_SET) < 0)
                n = -errno;
        if (n >= 0)
                n = fd_lift(&c->filter_fd);
        return n < 0 ? (int)n : 0;
}

int filter_prepare(struct launch_child *c, struct nsrun_error *err) {
        int r = 0;

        c->filter = c->plan->seccomp.code;
        c->n_filter = c->plan->seccomp.n;
        if (!c->filter)
                return 0;
        c->filter_flags = c->plan->seccomp.flags | (c->plan->seccomp_log ? SECCOMP_FILTER_FLAG_LOG : 0U);
        if (c->listener_socket >= 0)
                r = ask_about_denials(c);
        if (r >= 0 && c->params->init_path)
                r = store(c);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_HARDENING, r, NULL, "the seccomp filter can't be prepared",
                                 NULL);
        return 0;
}

int filter_install(struct launch_child *c) {
        int r;

        for (size_t i = 0; c->plan->raw && i < c->plan->raw->n_filters; i++) {
                const struct sock_fprog *filter = &c->plan->raw->filters[i];

                r = sys_seccomp_filter(0, filter->filter, filter->len);
                if (r < 0)
                        return error_set(
                                &c->error, NSRUN_STAGE_HARDENING, r, NULL,
                                r == -EINVAL
                                        ? "Unable to set up system call filtering as requested: prctl(PR_SET_SECCOMP) reported EINVAL. (Hint: this requires a kernel configured with CONFIG_SECCOMP and CONFIG_SECCOMP_FILTER.)"
                                        : "prctl(PR_SET_SECCOMP)",
                                NULL);
        }
        if (!c->filter)
                return 0;
        r = sys_seccomp_filter(c->filter_flags, c->filter, c->n_filter);
        if (r < 0)
                return error_set(
                        &c->error, NSRUN_STAGE_HARDENING, r, NULL, "the seccomp filter can't be installed",
                        r == -EBUSY && c->listener_socket >= 0
                                ? "an outer sandbox listens already: leave --report out"
                                : "the kernel needs CONFIG_SECCOMP_FILTER (and 5.0 for --report); --seccomp=none goes on without");
        if (c->filter_flags & SECCOMP_FILTER_FLAG_NEW_LISTENER)
                c->listener = r;
        return 0;
}

int filter_receive(struct launch_child *c, int fd, size_t n) {
        static struct sock_filter code[BPF_MAXINSNS];
        ssize_t got;

        if (n > ARRAY_SIZE(code))
                return -EINVAL;
        got = sys_read(fd, code, sizeof(code));
        (void)sys_close(fd);
        if (got < 0 || (size_t)got != n * sizeof(code[0]))
                return got < 0 ? (int)got : -EIO;
        c->filter = code;
        c->n_filter = n;
        return 0;
}

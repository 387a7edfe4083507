/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The installation of the command's filters, right before its exec. */
#include "base/causes.h"
#include "exec.h"

int filter_install(struct reaper *p) {
        for (size_t i = 0; i < p->n_filters; i++) {
                const struct sock_fprog *filter = &p->filters[i];
                unsigned flags = i + 1 == p->n_filters ? p->init.filter_flags : 0; /* the plan's filter's */
                int r = p->init.filters_by_prctl && flags == 0
                                ? sys_prctl_filter(filter->filter, filter->len)
                                : sys_seccomp_filter(flags, filter->filter, filter->len);

                if (r == -EINVAL && (flags & SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)) {
                        flags &= ~(unsigned)SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
                        r = sys_seccomp_filter(flags, filter->filter, filter->len);
                }
                if (r < 0)
                        return r == -EBUSY && p->init.listener_socket >= 0
                                       ? error_cause_with(
                                                 &p->error, NSRUN_ERROR_NO_SECCOMP, r, NULL,
                                                 "an outer sandbox listens already: leave --report and --explain out")
                                       : error_cause(&p->error,
                                                     r == -EPERM ? NSRUN_ERROR_FILTER_SECCOMP
                                                                 : NSRUN_ERROR_NO_SECCOMP,
                                                     r, NULL);
                if (flags & SECCOMP_FILTER_FLAG_NEW_LISTENER)
                        p->listener = r;
        }
        return 0;
}

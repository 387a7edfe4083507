/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What pid 1 and everything after it lives without: capabilities in all five
 * sets, new privileges, core dumps and tracing of pid 1, other people's
 * descriptors. */
#include <fcntl.h>
#include <sys/prctl.h>

#include "base/causes.h"
#include "base/sys.h"
#include "decimal.h"
#include "harden.h"

int harden_capabilities(struct nsrun_error *err) {
        int r;

        /* Bounding first: that needs CAP_SETPCAP. */
        for (unsigned long capability = 0; capability < 64; capability++) {
                r = sys_prctl(PR_CAPBSET_DROP, capability, 0);
                /* Past the last one that the running kernel knows. */
                if (r == -EINVAL && sys_prctl(PR_CAPBSET_READ, capability, 0) == -EINVAL)
                        break;
                if (r < 0)
                        return error_set(err, NSRUN_STAGE_HARDENING, r, NULL,
                                         "the capability bounding set can't be emptied", NULL);
        }
        /* The ambient set is emptied with the others (capabilities(7), since 4.3). */
        r = sys_capset(0, 0);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_HARDENING, r, NULL, "the capabilities can't be dropped",
                                 FILTER_HINT_FOR(r, "capset"));
        return 0;
}

int harden_keep_capabilities(uint64_t capabilities, bool through_exec, struct nsrun_error *err) {
        int r = 0;

        for (unsigned long capability = 0; capability < 64 && r >= 0; capability++) {
                r = sys_prctl(PR_CAPBSET_READ, capability, 0);
                /* 0: the bounding set lacks it already; EINVAL: the kernel knows neither it nor a
                 * higher one. */
                if (r == 0)
                        capabilities &= ~(UINT64_C(1) << capability);
                if (r == -EINVAL) {
                        capabilities &= (UINT64_C(1) << capability) - 1;
                        r = 0;
                        break;
                }
                if (r > 0 && !(capabilities & (UINT64_C(1) << capability)))
                        r = sys_prctl(PR_CAPBSET_DROP, capability, 0);
        }
        if (r >= 0)
                r = sys_capset(capabilities, through_exec ? capabilities : 0);
        for (unsigned long capability = 0; through_exec && capability < 64 && r >= 0; capability++)
                if (capabilities & (UINT64_C(1) << capability))
                        r = sys_prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_HARDENING, r, NULL, "the capabilities can't be kept",
                                 NULL);
        return 0;
}

int harden_set_capabilities(uint64_t bounding, uint64_t permitted, uint64_t inheritable, uint64_t ambient,
                            struct nsrun_error *err) {
        uint64_t own = 0;
        int r = sys_capget(&own);

        /* A change of the uid has emptied the effective set, and the bounding one takes CAP_SETPCAP. */
        if (r >= 0)
                r = sys_capset(own, 0);
        for (unsigned long capability = 0; capability < 64 && r >= 0; capability++) {
                bool stays = bounding & (UINT64_C(1) << capability);

                r = sys_prctl(PR_CAPBSET_READ, capability, 0);
                if (r > 0 && !stays)
                        r = sys_prctl(PR_CAPBSET_DROP, capability, 0);
                if (r == -EINVAL) {
                        r = 0;
                        break;
                }
        }
        if (r >= 0)
                r = sys_capset(own & permitted, own & inheritable);
        for (unsigned long capability = 0; capability < 64 && r >= 0; capability++)
                if (own & permitted & inheritable & ambient & (UINT64_C(1) << capability))
                        r = sys_prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_HARDENING, r, NULL, "the capabilities can't be set", NULL);
        return 0;
}

int harden_no_new_privileges(struct nsrun_error *err) {
        int r = sys_prctl(PR_SET_NO_NEW_PRIVS, 1, 0);

        if (r < 0)
                return error_set(err, NSRUN_STAGE_HARDENING, r, NULL, "no_new_privs can't be set", NULL);
        return 0;
}

int harden_process(struct nsrun_error *err) {
        int r;

        r = harden_no_new_privileges(err);
        if (r < 0)
                return r;
        /* The command has the same uid: only this keeps it out of pid 1's memory,
         * descriptors and /proc/1/root. */
        r = sys_prctl(PR_SET_DUMPABLE, 0, 0);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_HARDENING, r, NULL, "pid 1 can't be made undumpable",
                                 NULL);
        return 0;
}

int harden_scope(uint64_t scopes, struct nsrun_error *err) {
        _cleanup_close_ int ruleset = sys_landlock_scope(scopes);
        int r = ruleset < 0 ? ruleset : sys_landlock_restrict(ruleset);

        if (r < 0)
                return error_cause(err,
                                   ruleset >= 0 && error_is_filtered(r) ? NSRUN_ERROR_FILTER_RESTRICT
                                                                        : NSRUN_ERROR_LANDLOCK_REFUSED,
                                   r, NULL);
        return 0;
}

/* From here to the supervisor's death there is no window: either the signal is armed, or the pidfd shows
 * that it came too late. */
nsrun_no_asan int harden_die_with(int supervisor_fd, struct nsrun_error *err) {
        struct pollfd supervisor = {.fd = supervisor_fd, .events = POLLIN};
        int r;

        r = sys_prctl(PR_SET_PDEATHSIG, SIGKILL, 0);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_HARDENING, r, NULL, "the parent-death signal can't be set",
                                 NULL);
        r = sys_poll(&supervisor, 1, 0);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "the supervisor can't be watched",
                                 NULL);
        if (r > 0)
                _exit(125);
        return 0;
}

static void sort_descriptors(int *fds, size_t n) {
        for (size_t i = 1; i < n; i++)
                for (size_t j = i; j > 0 && fds[j - 1] > fds[j]; j--) {
                        int t = fds[j];

                        fds[j] = fds[j - 1];
                        fds[j - 1] = t;
                }
}

static bool harden_is_kept(const int *keep, size_t n, int fd) {
        for (size_t i = 0; i < n; i++)
                if (keep[i] == fd)
                        return true;
        return false;
}

struct listed {
        const int *keep;
        size_t n_keep;
        int folder;
        bool has_closed;
};

static void close_one(void *data, int fd) {
        struct listed *listed = data;

        if (fd <= 2 || fd == listed->folder || harden_is_kept(listed->keep, listed->n_keep, fd))
                return;
        (void)sys_close(fd);
        listed->has_closed = true;
}

/* Without close_range(2) (before 5.9, or filtered): what /proc/self/fd lists, in
 * passes until one finds nothing to close, since closing moves the list. */
static int close_listed(const int *keep, size_t n) {
        struct listed listed = {.keep = keep, .n_keep = n};
        int r;

        do {
                listed.has_closed = false;
                listed.folder = sys_open(AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY, 0);
                if (listed.folder < 0)
                        return listed.folder;
                r = number_each(listed.folder, close_one, &listed);
                (void)sys_close(listed.folder);
        } while (r >= 0 && listed.has_closed);
        return r;
}

int harden_descriptors(int *keep, size_t n, struct nsrun_error *err) {
        unsigned from = 3;
        int r = 0;

        sort_descriptors(keep, n);
        for (size_t i = 0; i < n && r >= 0; i++) {
                if (keep[i] < 3)
                        continue;
                if ((unsigned)keep[i] > from)
                        r = sys_close_range(from, (unsigned)keep[i] - 1);
                from = (unsigned)keep[i] + 1;
        }
        if (r >= 0)
                r = sys_close_range(from, ~0U);
        if (r == -ENOSYS || r == -EPERM) {
                int listed = close_listed(keep, n);

                /* Where no /proc shows this process, the call itself is what is missing. */
                r = listed == -ENOENT ? r : listed;
        }
        if (r < 0)
                return error_set(err, NSRUN_STAGE_HARDENING, r, NULL,
                                 "inherited descriptors can't be closed", FILTER_HINT_FOR(r, "close_range"));
        return 0;
}

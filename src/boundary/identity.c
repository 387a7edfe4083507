/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The last user namespace, ids and capabilities of a raw plan's child.  See identity.h. */
#include "identity.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>

#include "base/causes.h"
#include "base/sys.h"
#include "decimal.h"
#include "harden.h"

int identity_await(int fd, const char *what, struct nsrun_error *err) {
        char byte;
        ssize_t n;

        if (fd < 0)
                return 0;
        do
                n = sys_read(fd, &byte, 1);
        while (n == -EINTR);
        (void)sys_close(fd);
        if (n < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, (int)n, NULL, what, NULL);
        return 0;
}

static int write_map(int dir, const char *prefix, const char *name, const char *text,
                     struct nsrun_error *err) {
        _cleanup_close_ int fd = -EBADF;
        char path[64];
        ssize_t n;

        strcpy(path, prefix);
        strcat(path, name);
        fd = sys_open(dir, path, O_WRONLY, 0);
        n = fd < 0 ? fd : sys_write(fd, text, strlen(text));
        /* setgroups came with 3.19; a kernel without it wants no "deny" either. */
        if (n == -ENOENT && streq(name, "setgroups"))
                return 0;
        if (n == -EACCES && sys_prctl(PR_GET_DUMPABLE, 0, 0) == 0)
                return error_cause(err, NSRUN_ERROR_UNDUMPABLE, (int)n, path);
        if (n < 0)
                return n == -ENOENT ? error_cause(err, NSRUN_ERROR_NO_PROC_FOR_IDS, (int)n, path)
                       : n == -EROFS
                               ? error_cause(err, NSRUN_ERROR_READ_ONLY_PROC, (int)n, path)
                               : error_cause_with(err, NSRUN_ERROR_NO_PROC_FOR_IDS, (int)n, path, NULL);
        return 0;
}

int identity_map(int dir, const char *prefix, const char *uid_map, const char *gid_map,
                 struct nsrun_error *err) {
        int r;

        r = write_map(dir, prefix, "setgroups", "deny", err);
        if (r >= 0)
                r = write_map(dir, prefix, "uid_map", uid_map, err);
        if (r >= 0)
                r = write_map(dir, prefix, "gid_map", gid_map, err);
        return r;
}

/* After the last pivot_root(2): the kernel lets no process make a user namespace whose root isn't its mount
 * namespace's root. */
static int enter_last_userns(struct init_identity *id, struct nsrun_error *err) {
        int r = 0;

        if (id->makes_userns) {
                r = sys_unshare(CLONE_NEWUSER);
                if (r < 0)
                        return error_set(err, NSRUN_STAGE_IDMAP, r, NULL,
                                         "the last user namespace can't be made", NULL);
                r = identity_map(id->self_fd, "", id->uid_map, id->gid_map, err);
        }
        close_fdp(&id->self_fd);
        if (r >= 0 && id->userns_fd >= 0) {
                r = sys_setns(id->userns_fd, CLONE_NEWUSER);
                close_fdp(&id->userns_fd);
                if (r < 0)
                        return error_set(err, NSRUN_STAGE_IDMAP, r, NULL, "Setting userns2 failed", NULL);
        }
        return r;
}

/* --assert-userns-disabled: fails if a user namespace can still be made. */
static int assert_no_userns(const struct init_identity *id, struct nsrun_error *err) {
        if (id->needs_no_userns && sys_unshare(CLONE_NEWUSER) >= 0)
                return error_set_id(err, NSRUN_ERROR_USERNS_LEFT, NSRUN_STAGE_IDMAP, -EPERM, NULL,
                                    "creation of new user namespaces was not disabled as requested", NULL);
        return 0;
}

/* Takes the ids that were asked for in a user namespace that was given, if they are mapped there. */
static int take_ids(const struct init_identity *id, struct nsrun_error *err) {
        char number[24];
        int r = 0;

        if (!id->takes_uid && !id->takes_gid)
                return 0;
        r = sys_prctl(PR_SET_KEEPCAPS, 1, 0);
        if (r >= 0 && id->groups.is_set) {
                r = sys_set_groups(id->groups.ids, id->groups.n);
                if (r < 0)
                        return error_set(err, NSRUN_STAGE_IDMAP, r, NULL,
                                         "the supplementary groups can't be set", NULL);
        }
        if (r >= 0 && id->takes_gid)
                r = sys_set_gid(id->gid);
        if (r < 0)
                return error_set_id(err, NSRUN_ERROR_IDS, NSRUN_STAGE_IDMAP, r,
                                    number_format(number, id->gid), "unable to switch to gid", NULL);
        if (id->takes_uid)
                r = sys_set_uid(id->uid);
        if (r < 0)
                return error_set_id(err, NSRUN_ERROR_IDS, NSRUN_STAGE_IDMAP, r,
                                    number_format(number, id->uid), "unable to switch to uid", NULL);
        return 0;
}

static int set_capabilities(const struct init_identity *id, struct nsrun_error *err) {
        if (id->keeps_capabilities)
                return 0;
        if (id->has_sets)
                return harden_set_capabilities(id->bounding, id->capabilities, id->inheritable, id->ambient,
                                               err);
        return id->capabilities ? harden_keep_capabilities(id->capabilities, id->keeps_through_exec, err)
                                : harden_capabilities(err);
}

int identity_take(struct init_identity *id, int supervisor_fd, struct nsrun_error *err) {
        int r = enter_last_userns(id, err);

        if (r >= 0)
                r = assert_no_userns(id, err);
        if (r >= 0)
                r = take_ids(id, err);
        if (r >= 0)
                r = set_capabilities(id, err);
        if (r >= 0)
                r = harden_no_new_privileges(err);
        /* The kernel clears the parent-death signal when a process's credentials change: set it
         * again. */
        if (r >= 0)
                r = harden_die_with(supervisor_fd, err);
        if (r >= 0 && id->new_session && (r = sys_setsid()) < 0)
                return error_set(err, NSRUN_STAGE_HARDENING, r, NULL, "setsid", NULL);
        return r < 0 ? r : identity_await(TAKE_FD(id->block_fd), "the block fd can't be read", err);
}

int identity_outlive(struct nsrun_error *err) {
        int r = sys_prctl(PR_SET_PDEATHSIG, 0, 0);

        if (r < 0)
                return error_set(err, NSRUN_STAGE_HARDENING, r, NULL,
                                 "the parent-death signal can't be cleared", NULL);
        return 0;
}

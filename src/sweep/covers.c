/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See covers.h.  The command can be anything by now: a path in its tree is followed through no symlink, and
 * what is mounted there is the host's file, or nothing. */
#include "covers.h"

#include <sys/mount.h>

#include "base/array.h"
#include "base/beneath.h"
#include "base/file.h"
#include "base/sys.h"

#define TRIES 100 /* of a name that is replaced at this moment */

struct cover {
        char *target;
        char link[PRIVATE_LINK_SIZE]; /* a symlink at the sandbox's root, which stands in the file's place;
                                         or "" */
        bool hides, is_writable;
};

struct covers {
        struct cover *list;
        size_t n;
        const struct inside *inside; /* the caller's; NULL: not known yet */
        int told, asked; /* the sandbox's mountinfo, twice: each says once that something has changed */
};

struct covers *covers_free(struct covers *covers) {
        if (!covers)
                return NULL;
        for (size_t i = 0; i < covers->n; i++)
                free(covers->list[i].target);
        free(covers->list);
        close_fdp(&covers->told);
        close_fdp(&covers->asked);
        free(covers);
        return NULL;
}

/* Whether an operation lies on what the host has there, and shows less than that. */
static bool lies_on_hosts(const struct plan_op *op) {
        if (op->makes_target || op->stubs || op->is_device)
                return false;
        return (op->kind == PLAN_HIDE && op->source) || op->kind == PLAN_OVERLAY || op->kind == PLAN_TMPFS ||
               (op->kind == PLAN_BIND && (op->is_read_only || op->origin == PLAN_BY_PIN));
}

static int add_cover(struct covers *covers, const struct plan_op *op) {
        struct cover c = {.hides = op->kind == PLAN_HIDE || op->kind == PLAN_TMPFS,
                          .is_writable = op->kind == PLAN_BIND && !op->is_read_only};

        if (op->kind == PLAN_BIND && op->text)
                private_link_name(op->text, c.link);
        if (ARRAY_GROW(covers->list, covers->n) < 0 || !(c.target = strdup(op->target)))
                return -ENOMEM;
        covers->list[covers->n++] = c;
        return 0;
}

int covers_new(const struct nsrun_plan *plan, struct covers **ret) {
        struct covers *covers = calloc(1, sizeof(*covers));
        int r = covers ? 0 : -ENOMEM;

        if (r < 0)
                return r;
        covers->told = covers->asked = -EBADF;
        for (size_t i = 0; i < plan->n_ops && !plan->raw && r >= 0; i++)
                r = lies_on_hosts(&plan->ops[i]) ? add_cover(covers, &plan->ops[i]) : 0;
        *ret = r < 0 || covers->n == 0 ? covers_free(covers) : covers;
        return r;
}

/* ------------------------------------------------------------------- what is told */

int covers_watch(struct covers *covers, const struct inside *inside, pid_t pid) {
        covers->told = file_open_of_process(pid, "mountinfo");
        covers->asked = file_open_of_process(pid, "mountinfo");
        if (covers->told < 0 || covers->asked < 0) {
                close_fdp(&covers->told);
                close_fdp(&covers->asked);
                return -EACCES;
        }
        covers->inside = inside;
        return covers->told;
}

int covers_fd(const struct covers *covers) {
        return covers ? covers->asked : -EBADF;
}

bool covers_have_changed(const struct covers *covers) {
        struct pollfd p = {.fd = covers_fd(covers), .events = POLLPRI};

        return p.fd >= 0 && sys_poll(&p, 1, 0) > 0;
}

/* ------------------------------------------------------------------- what is done */

/* What is to lie there instead. */
static int open_instead(const struct covers *covers, const struct cover *c, int target, mode_t mode) {
        int source = -ENOENT;

        if (c->hides && S_ISDIR(mode))
                return -EISDIR;
        /* A device on such a mount can't be opened. */
        if (c->hides)
                source = beneath_open(covers->inside->root, "dev/null", O_PATH, 0);
        else if (*c->link && S_ISREG(mode))
                source = sys_open(covers->inside->root, c->link, O_PATH | O_NOFOLLOW, 0);
        return source == -ENOENT ? fcntl(target, F_DUPFD_CLOEXEC, 3) : source;
}

/* -ENOENT: what is to be covered has gone at this moment. */
static int put_back_one(const struct covers *covers, const struct cover *c) {
        _cleanup_close_ int target = beneath_open(covers->inside->root, c->target + 1, O_PATH | O_NOFOLLOW,
                                                  0),
                            source = -EBADF;
        struct sys_file file = {0};
        struct stat st;
        int r;

        if (target < 0)
                return 0;
        r = sys_statx(AT_FDCWD, fd_link(target).path, &file);
        if (r < 0 || !file.is_below_mount || sys_fstat(target, &st) < 0)
                return r;
        source = open_instead(covers, c, target, st.st_mode);
        if (source < 0 && source != -EISDIR)
                return source;
        return mount_inside(covers->inside, source, target,
                            MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
                                    (c->is_writable ? 0 : (uint64_t)MOUNT_ATTR_RDONLY));
}

int covers_put_back(const struct covers *covers, struct nsrun_error *err) {
        for (size_t i = 0; covers && i < covers->n && covers->inside; i++) {
                int r = -ENOENT;

                for (unsigned k = 0; k < TRIES && r == -ENOENT; k++)
                        r = put_back_one(covers, &covers->list[i]);
                if (r < 0)
                        return error_set(
                                err, NSRUN_STAGE_SUPERVISE, r, covers->list[i].target,
                                "the host has replaced this name, and it can't be covered again: the "
                                "sandbox is ended",
                                NULL);
        }
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a raw plan's command may write of the host's, written down before it starts, as own plans' `exposes`
 * is. */
#include <linux/mount.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/path.h"
#include "plan.h"

/* A folder that holds nsrun's state folder is left out: nothing is kept from a command of bubblewrap's,
 * which could have written there whatever it liked.  So is a container's root, another one for each. */
static int list_raw_writable(const struct nsrun_plan *plan, bool is_container, const struct exposed *known,
                             char ***ret) {
        _cleanup_free_ char *base = NULL;
        int r = exposed_find_base(&base, NULL);

        if (r < 0)
                return r == -ENOMEM ? r : 0;
        r = 0;
        for (size_t i = 0; i < plan->n_ops && r >= 0; i++) {
                const struct plan_op *op = &plan->ops[i];
                _cleanup_free_ char *source = NULL;
                unsigned mode = 0;

                if ((op->kind != PLAN_BIND && op->kind != PLAN_OVERLAY) || op->is_read_only ||
                    op->attributes & MOUNT_ATTR_RDONLY || op->is_ephemeral || !op->source ||
                    (is_container && streq(op->target, "/")) ||
                    path_canonical(op->source, &source, &mode) < 0 || !S_ISDIR(mode) ||
                    path_is_beneath(base, source) || exposed_is_known(known, source))
                        continue;
                r = strv_consume(ret, str_format("w %s", source));
        }
        return r;
}

int plan_raw_remember(const struct nsrun_plan *plan, bool is_container, struct nsrun_error *err) {
        _cleanup_exposed_ struct exposed known = {0};
        _cleanup_strv_ char **lines = NULL;
        /* A file that may not grow is a line, and no silent end. */
        void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
        int r = exposed_read(&known);

        if (r >= 0)
                r = list_raw_writable(plan, is_container, &known, &lines);
        r = r < 0 ? error_oom(err) : exposed_add(lines, err);
        (void)signal(SIGXFSZ, before);
        return r;
}

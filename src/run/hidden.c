/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See hidden.h. */
#include "hidden.h"

/* The path in "INODE:BIRTH:PATH". */
static const char *path_in(const char *identity) {
        return strchr(strchr(identity, ':') + 1, ':') + 1;
}

/* 1: another file or folder is there; 0: it is the same, or nothing is there. */
static int was_replaced(const char *identity) {
        _cleanup_free_ char *now = hidden_identity(path_in(identity));

        return !now ? -ENOMEM : !startswith(now, "0:") && !streq(now, identity);
}

int hidden_refuse(const struct nsrun_plan *plan, struct nsrun_error *err) {
        STRV_FOREACH (identity, plan->hidden) {
                int r = was_replaced(*identity);

                if (r < 0)
                        return error_oom(err);
                if (r > 0)
                        return error_set(
                                err, NSRUN_STAGE_POLICY, -ESTALE, path_in(*identity),
                                "a hidden name was replaced on the host, so that the session shows it",
                                "stop the session and start another one");
        }
        return 0;
}

int hidden_begin(const struct nsrun_plan *plan, char ***ret) {
        _cleanup_strv_ char **now = NULL;

        STRV_FOREACH (identity, plan->hidden)
                if (strv_consume(&now, hidden_identity(path_in(*identity))) < 0)
                        return -ENOMEM;
        *ret = TAKE_PTR(now);
        return 0;
}

int hidden_end(char *const *hidden, int (*found)(void *data, const struct nsrun_error *note), void *data) {
        STRV_FOREACH (identity, hidden) {
                struct nsrun_error note = {0};
                int r = was_replaced(*identity);

                if (r > 0) {
                        (void)error_set(
                                &note, NSRUN_STAGE_SUPERVISE, 0, path_in(*identity),
                                "a hidden name was replaced on the host while the command ran, which could "
                                "read what is there now",
                                NULL);
                        r = found(data, &note);
                }
                if (r < 0)
                        return r;
        }
        return 0;
}

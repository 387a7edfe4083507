/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hidden_replaced.h"

/* The path in "INODE:BIRTH:PATH", with the mark or without. */
static const char *path_in(const char *identity) {
        return strchr(strchr(identity, ':') + 1, ':') + 1;
}

enum change {
        UNCHANGED,
        REPLACED,
        GONE,
};

/* What has become of it, or -ENOMEM. */
static int find_change(const char *identity) {
        _cleanup_free_ char *now = hidden_identity(path_in(identity), 0);

        if (!now)
                return -ENOMEM;
        return streq(now, identity + (*identity == '!')) ? UNCHANGED
               : startswith(now, "0:")                   ? GONE
                                                         : REPLACED;
}

/* Whether the command may be able to read it.  In a bind a mount goes along with what is moved; in an
 * overlay it covers the name alone. */
static bool is_uncovered(const char *identity, int change) {
        return change == REPLACED || (change == GONE && *identity == '!');
}

int hidden_refuse(const struct nsrun_plan *plan, struct nsrun_error *err) {
        STRV_FOREACH (identity, plan->hidden) {
                int change = find_change(*identity);

                if (change < 0)
                        return error_oom(err);
                if (is_uncovered(*identity, change))
                        return error_set(
                                err, NSRUN_STAGE_POLICY, -ESTALE, path_in(*identity),
                                change == GONE
                                        ? "a hidden name was moved or removed on the host, so that the session "
                                          "may show it under another one"
                                        : "a hidden name was replaced on the host, so that the session shows it",
                                "stop the session and start another one");
        }
        return 0;
}

int hidden_begin(const struct nsrun_plan *plan, char ***ret, struct nsrun_error *err) {
        _cleanup_strv_ char **hidden = NULL;

        STRV_FOREACH (identity, plan->hidden) {
                int change = find_change(*identity);

                if (change > 0)
                        return error_set(err, NSRUN_STAGE_POLICY, -ESTALE, path_in(*identity),
                                         HIDDEN_WAS_MOVED, HIDDEN_WAS_MOVED_HINT);
                if (change < 0 || strv_add(&hidden, *identity) < 0)
                        return error_oom(err);
        }
        *ret = TAKE_PTR(hidden);
        return 0;
}

int hidden_end(char *const *hidden, int (*found)(void *data, const struct nsrun_error *note), void *data) {
        STRV_FOREACH (identity, hidden) {
                struct nsrun_error note = {0};
                int r = find_change(*identity);

                if (is_uncovered(*identity, r)) {
                        (void)error_set(
                                &note, NSRUN_STAGE_SUPERVISE, 0, path_in(*identity),
                                r == GONE
                                        ? "a hidden name was moved or removed on the host while the command "
                                          "ran, which could read it under another one"
                                        : "a hidden name was replaced on the host while the command ran, "
                                          "which could read what is there now",
                                NULL);
                        r = found(data, &note);
                }
                if (r < 0)
                        return r;
        }
        return 0;
}

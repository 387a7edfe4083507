/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --overlay-opt: which of overlayfs' mount options a caller may add.  Those that name folders are the
 * overlay's own, and so is userxattr, since an overlay that an ordinary user mounts has no other place for
 * its marks; what would have the kernel believe marks of another kind in a layer that a command has written
 * is left out. */
#include "options.h"

static const struct {
        const char *name;
        const char *values[4]; /* of "name=value"; none: the name stands alone */
        const char *refused;   /* a value that overlayfs has and doesn't take beside userxattr */
} known[] = {
        {"volatile", {NULL}, NULL},
        {"index", {"on", "off", NULL}, NULL},
        {"redirect_dir", {"nofollow", NULL}, "on off follow"},
        {"metacopy", {"off", NULL}, "on"},
        {"xino", {"on", "off", "auto", NULL}, NULL},
};

static bool overlay_is_word_of(const char *words, const char *word) {
        size_t n = strlen(word);

        for (const char *at = words; at && n > 0 && (at = strstr(at, word)); at += n)
                if ((at == words || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
                        return true;
        return false;
}

/* Whether one of `options` is `name`, or `name` with a value. */
static bool overlay_has_option(char *const *options, const char *name) {
        STRV_FOREACH (option, options) {
                const char *rest = startswith(*option, name);

                if (rest && (!*rest || *rest == '='))
                        return true;
        }
        return false;
}

static int overlay_add_option(struct bwrap_parser *p, const char *text) {
        size_t n = strcspn(text, "=");
        const char *value = text[n] ? text + n + 1 : NULL;

        for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
                bool is_taken = !value && !known[i].values[0];

                if (strlen(known[i].name) != n || strncmp(known[i].name, text, n) != 0)
                        continue;
                if (overlay_has_option(p->overlay_options, known[i].name))
                        return bwrap_refuse(p, -EINVAL, "--overlay-opt %s given twice for the same overlay",
                                            known[i].name);
                for (size_t j = 0; value && known[i].values[j]; j++)
                        is_taken = is_taken || streq(known[i].values[j], value);
                if (value && overlay_is_word_of(known[i].refused, value))
                        return bwrap_refuse(p, -EINVAL,
                                            "--overlay-opt %s is not possible beside userxattr, which every "
                                            "overlay has here",
                                            text);
                if (is_taken)
                        return strv_add(&p->overlay_options, text);
        }
        return bwrap_refuse(p, -EINVAL,
                            "--overlay-opt does not take '%s', only volatile, index=on|off, "
                            "redirect_dir=nofollow, metacopy=off and xino=on|off|auto",
                            text);
}

int bwrap_overlay_option(struct bwrap_parser *p, const struct bwrap_option *option nsrun_unused,
                         const char *const *values) {
        _cleanup_free_ char *copy = strdup(values[0]);
        char *rest = copy;
        int r = copy ? 0 : -ENOMEM;

        for (char *text; r >= 0 && (text = strsep(&rest, ","));)
                r = overlay_add_option(p, text);
        return r;
}

int bwrap_check_overlay(struct bwrap_parser *p, const struct bwrap_op *op) {
        /* The kernel would leave it out without a word. */
        if (op->kind == BWRAP_RO_OVERLAY && overlay_has_option(op->overlay_options, "volatile"))
                return bwrap_refuse(p, -EINVAL, "--overlay-opt volatile is for --overlay and --tmp-overlay");
        return 0;
}

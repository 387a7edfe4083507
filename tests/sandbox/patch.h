/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a session's diff prints of an overlay's changes. */
#pragma once

#include "layer.h"
#include "session/patch.h"

/* Of the changes that a look has found, whatever there is by now. */
static inline char *printed_changes(const struct layer *y, const struct changes *c, enum nsrun_diff form) {
        struct nsrun_error err = {0};
        char *text = NULL;
        size_t n = 0;
        FILE *f = open_memstream(&text, &n);

        assert_non_null(f);
        if (patch_print(f, form, "/overlay", &y->l, c, NULL, &err) < 0)
                fail_msg("%s", nsrun_error_format(&err));
        (void)fclose(f);
        return text;
}

static inline char *printed(const struct layer *y, enum nsrun_diff form) {
        _cleanup_changes_ struct changes c = {0};

        assert_int_equal(changes_scan(&y->l, &c, NULL), 0);
        return printed_changes(y, &c, form);
}

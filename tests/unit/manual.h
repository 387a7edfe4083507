/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests that compare the manual with the code share: a page's text. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "../test.h"

/* "nsrun.1": the source of src/man/nsrun.1, for the caller to free. */
static inline char *manual_page(const char *name) {
        const char *srcdir = getenv("srcdir");
        char *path = NULL, *text = calloc(1, 1 << 17);
        FILE *f;

        assert_non_null(text);
        assert_true(asprintf(&path, "%s/src/man/%s", srcdir ? srcdir : ".", name) > 0);
        f = fopen(path, "re");
        if (!f)
                fail_msg("can't read %s: set srcdir to the top of the sources", path);
        assert_true(fread(text, 1, (1 << 17) - 1, f) > 0);
        (void)fclose(f);
        free(path);
        return text;
}

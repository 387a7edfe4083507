/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads struct nsrun_start_options. */
#include "start_options.h"

#include "sized.h"

int start_read_options(const struct nsrun_start_options *options, struct nsrun_start_options *ret,
                       struct nsrun_error *err) {
        if (options)
                return sized_take(ret, sizeof(*ret), options, "nsrun_start_options", err);
        *ret = (struct nsrun_start_options)NSRUN_START_OPTIONS_INIT;
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The version, as configure.ac has it. */
#include "macro.h"
#include "nsrun.h"

nsrun_public const char *nsrun_version(void) {
        return PACKAGE_VERSION;
}

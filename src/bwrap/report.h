/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a message looks on standard error: "bwrap: …", and --level-prefix before it.  Says nothing of
 * its own. */
#pragma once

#include "config.h"

/* syslog(3)'s numbers. */
enum bwrap_level {
        BWRAP_ERROR = 3,
        BWRAP_WARNING = 4,
};

/* "bwrap: MESSAGE" and a newline in one write, control bytes made visible. */
void bwrap_report(const struct bwrap_config *config, enum bwrap_level level, const char *message);
/* The warnings that the parser left. */
void bwrap_report_warnings(const struct bwrap_config *config);

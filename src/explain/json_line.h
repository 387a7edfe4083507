/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reports for programs: one JSON object a line. */
#pragma once

#include "base/json.h"

/* Writes a document as one line.  The error says that `what` can't be written; `hint` may be NULL. */
int json_write_line(int fd, struct json_document *d, const char *what, const char *hint,
                    struct nsrun_error *err);

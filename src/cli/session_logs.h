/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun session logs`. */
#pragma once

#include "base/error.h"

/* Prints one log or, where `name` is NULL, which there are. */
int session_print_logs(const char *id, const char *name, bool wants_json, bool follows,
                       struct nsrun_error *err);

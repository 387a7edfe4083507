/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun inspect`: the plan in force of a sandbox that runs. */
#pragma once

#include "running/sandboxes.h"

int inspect_session(const char *id, bool wants_json, struct nsrun_error *err);
int inspect_sandbox(const struct sandbox_process *p, bool wants_json, struct nsrun_error *err);

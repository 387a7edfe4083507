/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the library's functions about sessions share. */
#pragma once

#include "plan/record.h"

/* Reads the record of a running session.  -ENOENT: no session has that id. */
int session_read(const char *id, struct record_folder *folder, struct plan_record *record,
                 struct nsrun_error *err);

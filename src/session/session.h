/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the library's functions about sessions share. */
#pragma once

#include "plan/record.h"

/* The record of a session that lives.  -ENOENT: there is none. */
int session_read(const char *id, struct record_folder *folder, struct plan_record *record,
                 struct nsrun_error *err);

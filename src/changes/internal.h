/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of this folder share. */
#pragma once

#include "changes.h"
#include "host.h"

/* changes_scan() with a record that has been read. */
int scan_with(const struct changes_layer *layer, const struct host *host, struct changes *ret,
              struct nsrun_error *err);
/* Finds renames among the added and the deleted: rename.c.  -ENOMEM. */
int changes_pair(const struct changes_layer *layer, struct changes *c);

/* The line of one change in a list. -ENOMEM. */
int changes_print_one(FILE *to, const struct change *c);

/* "a/b" as git quotes it where it must: "\"a\\tb\"".  The caller frees it; NULL for want of memory. */
char *changes_quote(const char *path);

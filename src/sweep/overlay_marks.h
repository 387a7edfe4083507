/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The marks that overlayfs leaves on the host's folders where these were its upper layers
 * (--protect=strict): extended attributes of folders that a command made and renamed. */
#pragma once

#include "plan/plan.h"

struct marked_folder;

struct marks {
        struct marked_folder *folders;
        size_t n;
};

/* Remembers the plan's folders that are upper layers.  -ENOMEM. */
int marks_begin(const struct nsrun_plan *plan, struct marks *ret);
/* Removes what overlayfs marked since then in these folders, and clears *marks.  A mark that can't be
 * removed stays: it means nothing outside of an overlay. */
void marks_end(struct marks *marks);
void marks_clear(struct marks *marks);

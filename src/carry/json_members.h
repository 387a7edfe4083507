/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Members of one JSON text that are taken over into another. */
#pragma once

#include "base/json.h"

/* Takes of `inside` those of `members` ("a/b", separated by commas; a part "@" is `project`) that differ
 * from `seed`'s and that `host` has as `base` has them.  A value is a word, a number or a truth, of what has
 * a "+" behind it also an object or array; members_of_others() says what "=" is.  The texts may be NULL:
 * there is no file.  1: *ret is the host's text with them; 0: there are none; -EINVAL: one of the texts is
 * no JSON object, or *ret would be too long; -ENOMEM. */
int members_take(const char *members, const char *project, const char *base, const char *seed,
                 const char *inside, const char *host, char **ret);
/* The host's text with what it lacks of `kept`'s, an earlier `inside`, at its top and one level below; in
 * "projects/PROJECT" what is kept wins but for `members`.  The results of members_take(). */
int members_add(const char *members, const char *project, const char *kept, const char *host, char **ret);
/* Calls `left` for the keys of `inside`, at its top and in "projects/PROJECT", of which members_take() takes
 * nothing, with what neither `base` nor `kept` has.  0, or as members_take(). */
int members_left(const char *members, const char *project, const char *base, const char *inside,
                 const char *kept, int (*left)(void *data, const char *key), void *data);
/* Of a member "projects/@=FOLDER" the "FOLDER/NAME" of each project that `host` names and that isn't in
 * `project`, added to *ret. 0, or as members_take(). */
int members_of_others(const char *members, const char *project, const char *host, char ***ret);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The user's configuration, and a project's section in it, written on a person's behalf. */
#pragma once

#include "base/json.h"
#include "policy.h"

/* The key of a section that says which proposal of the project it was. */
#define CONFIG_SECTION_PROPOSAL "// proposal"

/* The file itself where `file` (NULL: the user's configuration) is a link to it, so that the link stays what
 * it is.  -ENOENT: nobody knows the home. */
int config_edit_find(const struct nsrun_policy *policy, const char *file, char **ret,
                     struct nsrun_error *err);

/* The configuration's text as a document, which the caller frees; an empty one where there is no file.  Who
 * is to write it keeps *ret_lock open until then, so that nobody else does; NULL: it is read. */
int config_section_open(const char *file, int *ret_lock, struct json_document *d, struct nsrun_error *err);
/* All sections, which are made if there are none. */
struct json_value *config_section_all(struct json_document *d);
/* "~/x" for a path in the home, as a person writes it; for free(3).  NULL: no memory. */
char *config_section_name(const char *path);
/* The section of exactly this project, which may also have that name; NULL: there is none. */
struct json_value *config_section_find(const struct json_document *d, const char *project, const char *name);
/* The configuration as it is now in the document, if it is one. */
int config_section_write(struct json_document *d, const char *config, struct nsrun_error *err);
/* Makes the folders above a path, for the user alone. */
int config_make_folders(const char *path);
/* Writes it, by that path: the file is whole, or as it was. */
int config_write(const char *file, const char *text, struct nsrun_error *err);
/* `nsrun grant --save`: puts what an option granted a sandbox into the section of its project (NULL:
 * refused), unless that is what it proposed; or takes it out.  *ret_said: a line, if that changes it. */
int config_section_save(const char *of, const char *option, const char *text, bool adds, char **ret_said,
                        struct nsrun_error *err);

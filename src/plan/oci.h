/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A plan as an OCI bundle: the text of its config.json, what its root file system holds, and what of the
 * plan the runtime specification has no words for. */
#pragma once

#include "base/json.h"
#include "plan.h"

/* What lies in the bundle's folder beside config.json: each is a folder, a file or a symlink. */
struct oci_entry {
        char *path; /* relative to the bundle */
        char *text; /* a file's bytes, a symlink's text; NULL: a folder */
        mode_t mode;
        bool is_link;
};

struct oci_bundle {
        char *config;
        struct oci_entry *entries; /* parents before what lies in them */
        size_t n_entries;
        char **unsaid; /* a line each, without a newline */
};

/* `folder`: where the bundle will lie, absolute; NULL: nowhere, the entries are for somebody who makes them,
 * and overlays can't be had.  -EINVAL: what can't be had at all. */
int plan_make_oci(const struct nsrun_plan *plan, const char *folder, struct oci_bundle *ret,
                  struct nsrun_error *err);
/* oci_seccomp.c: adds "seccomp" to `parent`, what a policy's JSON says of calls on this architecture.
 * -EOPNOTSUPP: a comparison of arguments that can't be turned round, or too many; -ENOMEM. */
int oci_seccomp(struct json_document *d, struct json_value *parent, const struct json_value *policy);
void oci_bundle_clear(struct oci_bundle *bundle);

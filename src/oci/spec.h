/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A container's config.json becomes a raw plan, and what nsrun-oci does beside the launch. */
#pragma once

#include "base/json.h"
#include "plan/plan.h"

#define SPEC_VERSION "1.0.2"

/* One namespace that is there already. */
struct spec_namespace {
        uint64_t kind; /* CLONE_NEW* */
        char *path;
};

struct spec {
        struct nsrun_plan *plan;
        struct spec_namespace *namespaces;
        size_t n_namespaces;
        char *uid_map, *gid_map; /* of the container's own user namespace; NULL: it has none */
        char *oom_score;         /* for /proc/self/oom_score_adj; NULL: it stays */
        int umask;               /* -1: it stays */
        bool has_terminal;
        bool is_unfiltered; /* there is no seccomp filter */
};

void spec_clear(struct spec *spec);
#define _cleanup_spec_ _cleanup_(spec_clear)

/* Makes a container's plan of its configuration, or that of a further process in it (exec), whose "process"
 * is given. `bundle`: the folder of config.json, absolute.  Reads the host and changes nothing.  -EINVAL:
 * the configuration is wrong; -EOPNOTSUPP: it asks for what isn't carried, which *err names. */
int spec_read(const struct json_value *config, const char *bundle, struct spec *ret,
              struct nsrun_error *err);
int spec_read_process(const struct json_value *config, const struct json_value *process, struct spec *ret,
                      struct nsrun_error *err);

/* Refuses capabilities that are too much for a command outside of user namespaces; `has_userns`: it runs in
 * one. */
int spec_check_devices(const struct spec *spec, bool has_userns, struct nsrun_error *err);

/* fields.c: refuses what the configuration or a process asks for and nsrun-oci doesn't carry. */
int fields_check(const struct json_value *config, struct nsrun_error *err);
int fields_check_process(const struct json_value *process, struct nsrun_error *err);
/* Whether a member says nothing: null, false, or an empty text, array or object. */
bool fields_is_empty(const struct json_value *v);
/* The errors of both. */
int fields_refuse(struct nsrun_error *err, const char *name, const char *why);
int fields_wrong(struct nsrun_error *err, const char *name, const char *why);

/* process.c: fills spec->plan with who the command is. */
int process_add(const struct json_value *process, struct spec *spec, struct nsrun_error *err);
/* HOME, if the environment has none: that of the user in the passwd below `root`, which is the container's.
 */
int process_add_home(struct spec *spec, const char *root, struct nsrun_error *err);

/* mounts.c: appends to spec->plan->ops the root, "mounts", the default devices, masks and sysctls. */
int mounts_add(const struct json_value *config, const char *bundle, struct spec *spec,
               struct nsrun_error *err);

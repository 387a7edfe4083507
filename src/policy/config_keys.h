/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The one table of a configuration's keys, from which the reader and the schema are made. */
#pragma once

#include "config_reader.h"

/* How a key's value is written. */
enum config_shape {
        CONFIG_TEXT,
        CONFIG_PATH,
        CONFIG_VERSION,
        CONFIG_SWITCH,
        CONFIG_NUMBER, /* or a string */
        CONFIG_TEXTS,
        CONFIG_PROTECT, /* texts, or "strict" */
        CONFIG_EXPOSED, /* paths, or objects with one */
        CONFIG_NAMES,   /* of profiles: a text, or an array of texts */
        CONFIG_ENV,
        CONFIG_LIMITS,
        CONFIG_TOOLCHAINS,
        CONFIG_AGENTS,
        CONFIG_ISOLATION,
        CONFIG_EXPOSE_PATHS,
        CONFIG_PROFILES,
        CONFIG_PROJECTS,
        CONFIG_NEVER /* always refused */
};

struct config_key {
        const char *name;
        int (*apply)(struct config_reader *c, size_t node);
        enum config_shape shape;
        bool in_sections; /* a profile and a project's section may have it */
        const char *help; /* NULL: that of the option of the same name */
};

extern const struct config_key config_keys[];
extern const size_t n_config_keys;
extern const struct config_key config_isolation_keys[];
extern const size_t n_config_isolation_keys;

/* What stands in some of them. */
extern const struct config_object config_exposed, config_expose_path, config_toolchain, config_agent;

/* Rows of nsrun's tables (config_tables.c). */
int config_apply_toolchains(struct config_reader *c, size_t node);
int config_apply_agents(struct config_reader *c, size_t node);

/* Applies the members of one profile or project's section, but for the key `except`. */
int config_apply_section(struct config_reader *c, size_t node, const char *except);
/* Applies the profiles that are chosen and the sections of the project, when all else of the text is
 * applied: the configuration's own profile, the project's sections from the widest folder to the narrowest,
 * each with its profile, then --profile's.  What comes later wins. */
int config_apply_sections(struct config_reader *c);

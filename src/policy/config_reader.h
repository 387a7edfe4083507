/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What reads one configuration: its text with places, the policy that it fills, and how a mistake or a
 * value is told with "FILE:LINE:COLUMN". */
#pragma once

#include "base/json_map.h"
#include "policy.h"

/* As many bytes of a configuration file's name as a message has room for. */
#define CONFIG_MOST_NAME 200

struct config_reader {
        struct nsrun_policy *policy;
        char *file; /* the file's name for messages: made visible, and cut at CONFIG_MOST_NAME */
        const char *text;
        struct json_map map;
        struct json_cursor cursor;
        bool is_proposal; /* a project's */
        size_t profile, agent_profile, profiles,
                projects; /* nodes of the keys of these names; 0: the text has none */
        struct nsrun_error *err;
};

/* Fails with "FILE:LINE:COLUMN: what: value; hint".  `at` is the place in the text. */
int config_fail(struct config_reader *c, size_t at, const char *value, const char *what, const char *hint);
/* The same for a value of the wrong kind: "`wanted` is expected here". */
int config_fail_type(struct config_reader *c, size_t node, const char *wanted);

/* What an object of a configuration has, for the reader and the schema. */
enum config_kind {
        CONFIG_STRING, /* or what its reader refuses */
        CONFIG_BOOL,
        CONFIG_STRINGS
};
struct config_member {
        const char *name;
        enum config_kind kind;
};
#define CONFIG_MEMBERS_MOST 7
struct config_object {
        struct config_member
                members[CONFIG_MEMBERS_MOST]; /* the first must be there; one without name ends them */
        const char *hint;                     /* "a toolchain has path, cache and variable" */
};
/* Finds the members of an object: `at`, by their index, is the node of each; 0: it isn't there. */
int config_members(struct config_reader *c, size_t node, const struct config_object *object,
                   size_t at[CONFIG_MEMBERS_MOST]);
/* Calls `apply` for each item of an array (JSON_ARRAY) or member of an object (JSON_OBJECT). */
int config_each(struct config_reader *c, size_t node, enum json_kind kind,
                int (*apply)(struct config_reader *c, size_t node));

/* Takes the comments out of the map: members whose key begins with two slashes, in whatever object.  The
 * value of one is a string, or an array of strings. */
int config_drop_comments(struct config_reader *c);

/* The string at a node; NULL: it is none. */
const char *config_text(const struct config_reader *c, size_t node);
/* Keeps "FILE:LINE:COLUMN: what", which later checks name as the option that asked for a rule.  NULL for
 * want of memory. */
const char *config_label(struct config_reader *c, size_t node, const char *what);

/* Sets an option to what a key says; a refusal names the value's place in the file.  The option isn't noted
 * in policy->given: with --session few options may be given, but any configuration may be there. */
int config_set(struct config_reader *c, size_t node, const char *option, const char *value);
/* Notes for `nsrun config show` what a key says: `prefix` and `value`, which may be NULL. */
int config_note(struct config_reader *c, size_t node, const char *key, const char *value,
                const char *prefix);

/* Reads a path that begins with / or with ~, the home folder; any other is refused, as is NULL.  `node` is
 * where it stands. */
int config_path(struct config_reader *c, size_t node, const char *text, char **ret);
/* A glob of "hide".  One that begins with ~/ is a path below the home folder, in whose own path no byte is a
 * wildcard. */
int config_hidden(struct config_reader *c, size_t node, char **ret);

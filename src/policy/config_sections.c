/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parts of a configuration that hold for some runs alone: profiles, by name, and the sections of projects,
 * by folder. */
#include "base/path.h"
#include "config_keys.h"
#include "host/project.h"
#include "host/user.h"
#include "withheld.h"

/* How many profiles may inherit, each from the next. */
#define DEEPEST 16

static size_t find_member(const struct config_reader *c, size_t object, const char *key) {
        const struct json_node *nodes = c->map.nodes;

        for (size_t i = object + 1; object > 0 && i < nodes[object].end; i = nodes[i].end)
                if (streq(nodes[i].key, key))
                        return i;
        return 0;
}

static int apply_profile_node(struct config_reader *c, size_t profile, unsigned depth);

static int inherit_one(struct config_reader *c, size_t node, unsigned depth) {
        const char *name = config_text(c, node);
        size_t other = name ? find_member(c, c->profiles, name) : 0;

        if (!name)
                return config_fail_type(c, node, "a profile's name, or an array of them");
        if (other == 0)
                return config_fail(c, c->map.nodes[node].at, name, "no such profile",
                                   "it must be one of \"profiles\"");
        if (depth >= DEEPEST)
                return config_fail(c, c->map.nodes[node].at, name,
                                   "profiles inherit from one another too often", "is there a circle?");
        return apply_profile_node(c, other, depth + 1);
}

static int inherit_each(struct config_reader *c, size_t node, unsigned depth) {
        const struct json_node *nodes = c->map.nodes;
        int r = 0;

        if (json_kind(nodes[node].value) != JSON_ARRAY)
                return inherit_one(c, node, depth);
        for (size_t i = node + 1; i < nodes[node].end && r >= 0; i = nodes[i].end)
                r = inherit_one(c, i, depth);
        return r;
}

/* First what the profile inherits, then what it says itself, which wins. */
static int apply_profile_node(struct config_reader *c, size_t profile, unsigned depth) {
        size_t parents = 0;
        int r = 0;

        if (json_kind(c->map.nodes[profile].value) != JSON_OBJECT)
                return config_fail_type(c, profile, "an object");
        parents = find_member(c, profile, "inherits");
        if (parents > 0)
                r = inherit_each(c, parents, depth);
        c->policy->config_rank++;
        return r < 0 ? r : config_apply_section(c, profile, "inherits");
}

/* The profile that --profile named.  `code` and `instance` are nsrun's own. */
static int apply_chosen(struct config_reader *c, const char *name) {
        size_t profile = find_member(c, c->profiles, name);
        char what[CONFIG_MOST_NAME + 64];

        if (profile > 0)
                return apply_profile_node(c, profile, 0);
        (void)snprintf(what, sizeof(what), "%s has no such profile", c->file);
        return error_set(c->err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), name, what,
                         "--profile takes code, instance, or a name in its \"profiles\"");
}

/* A profile that the configuration itself chooses, unless --profile chose one. */
static int apply_own_choice(struct config_reader *c, size_t node) {
        int r;

        if (node == 0 || c->policy->profiles)
                return 0;
        r = inherit_each(c, node, 0);
        for (size_t i = node; i < c->map.nodes[node].end && r >= 0; i++)
                if (config_text(c, i))
                        r = config_note(c, i, node == c->agent_profile ? "agent_profile" : "profile",
                                        config_text(c, i), "");
        return r;
}

/* --------------------------------------------------------------- projects */

/* The project of the run, as resolve.c finds it; NULL: none. */
static int find_sections_project(const struct nsrun_policy *p, char **ret) {
        _cleanup_free_ char *home = NULL, *cwd = NULL;
        int r = 0;

        if (p->no_project || p->no_sandbox || p->session)
                return 0;
        if (p->project) {
                r = path_canonical(p->project, ret, NULL);
        } else if (p->profile != POLICY_PROFILE_INSTANCE && (cwd = getcwd(NULL, 0))) {
                r = user_find_home(environment_get(environment_inherited(p), "HOME"), &home);
                if (r >= 0)
                        r = project_find(cwd, home, ret);
        }
        /* What is wrong with the project is told when it is resolved. */
        return r == -ENOMEM ? r : 0;
}

/* The folder that a section's key names: its path, in which of symlinks only those on the way to the home
 * folder are followed.  A command that may write around it can't lend its section to another folder. */
static int section_folder(struct config_reader *c, size_t node, char **ret) {
        const char *key = c->map.nodes[node].key;
        _cleanup_free_ char *home = NULL, *named = NULL, *path = NULL;
        int r = config_path(c, node, key, &path);

        if (r < 0)
                return r;
        if (key[0] == '~') {
                if (user_find_home(environment_get(environment_inherited(c->policy), "HOME"), &named) < 0)
                        return error_oom(c->err);
                if (named && path_canonical(named, &home, NULL) >= 0) {
                        free(path);
                        path = path_join(home, key[1] ? key + 2 : ".");
                }
        }
        *ret = path ? path_normalise(path) : NULL;
        return *ret ? 0 : error_oom(c->err);
}

static int apply_section(struct config_reader *c, size_t node) {
        int r;

        if (json_kind(c->map.nodes[node].value) != JSON_OBJECT)
                return config_fail_type(c, node, "an object");
        r = apply_own_choice(c, find_member(c, node, "profile"));
        c->policy->config_rank++;
        return r < 0 ? r : config_apply_section(c, node, "profile");
}

struct section {
        size_t node, length; /* of the folder's path */
};

/* From the widest folder to the narrowest. */
static int compare_sections(const void *a, const void *b) {
        const struct section *x = a, *y = b;

        return x->length != y->length ? (x->length < y->length ? -1 : 1)
                                      : (x->node > y->node) - (x->node < y->node);
}

/* Lists the sections whose folder is `project` or around it. */
static int list_sections(struct config_reader *c, const char *project, struct section *to, size_t *ret_n) {
        const struct json_node *nodes = c->map.nodes;
        size_t n = 0;

        for (size_t i = c->projects + 1; i < nodes[c->projects].end; i = nodes[i].end) {
                _cleanup_free_ char *folder = NULL;
                int r = section_folder(c, i, &folder);

                if (r < 0)
                        return r;
                if (project && path_below(project, folder))
                        to[n++] = (struct section){i, strlen(folder)};
        }
        *ret_n = n;
        return 0;
}

static int apply_projects(struct config_reader *c) {
        struct nsrun_policy *p = c->policy;
        _cleanup_free_ struct section *sections = NULL;
        size_t n = 0;
        int r;

        if (c->projects == 0)
                return 0;
        sections = calloc(c->map.n, sizeof(*sections));
        if (!sections || find_sections_project(p, &p->config_project) < 0)
                return error_oom(c->err);
        p->has_project_sections = true;
        r = list_sections(c, p->config_project, sections, &n);
        qsort(sections, n, sizeof(*sections), compare_sections);
        for (size_t i = 0; i < n && r >= 0; i++)
                r = apply_section(c, sections[i].node);
        return r;
}

/* Applies every part, be it for this run or not, so that each mistake is found. */
static int apply_every_part(struct config_reader *c) {
        const struct json_node *nodes = c->map.nodes;
        int r = 0;

        for (size_t i = c->profiles + 1; c->profiles > 0 && i < nodes[c->profiles].end && r >= 0;
             i = nodes[i].end)
                r = apply_profile_node(c, i, 0);
        for (size_t i = c->projects + 1; c->projects > 0 && i < nodes[c->projects].end && r >= 0;
             i = nodes[i].end)
                r = apply_section(c, i);
        return r < 0 ? r : apply_own_choice(c, c->agent_profile);
}

int config_apply_sections(struct config_reader *c) {
        int r;

        if (c->policy->checks_sections && (r = apply_every_part(c)) < 0)
                return r;

        r = apply_own_choice(c, c->policy->is_for_agent && c->agent_profile > 0 ? c->agent_profile
                                                                                : c->profile);
        if (r >= 0)
                r = apply_projects(c);
        STRV_FOREACH (name, c->policy->profiles)
                if (r >= 0)
                        r = apply_chosen(c, *name);
        return r;
}

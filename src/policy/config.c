/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A configuration's keys, applied one by one through the table of options.  Where the paths in one lead is
 * judged when the policy is resolved. */
#include "config_keys.h"

#include "base/nearest.h"
#include "seccomp/load.h"
#include "withheld.h"

/* ---------------------------------------------------------------- the keys */

const struct config_object config_exposed = {
        .members = {{"path", CONFIG_STRING}, {"optional", CONFIG_BOOL}},
        .hint = "an exposed path has path and optional",
};
const struct config_object config_expose_path = {
        .members = {{"source", CONFIG_STRING}, {"target", CONFIG_STRING}, {"mode", CONFIG_STRING}},
        .hint = "an expose path has source, target and mode",
};

/* Finds the key that an unknown one was meant to be: two are called otherwise than their options, and one
 * otherwise than others call it. */
static void find_meant(struct nearest *near, bool in_section, const struct config_key *keys, size_t n_keys) {
        for (size_t i = 0; i < n_keys; i++)
                if (!in_section || keys[i].in_sections)
                        nearest_try(near, keys[i].name);
        nearest_try(near, "network");
        if (near->found && streq(near->found, "network"))
                near->found = "net";
        if (keys == config_keys && (streq(near->word, "ro") || streq(near->word, "rw")))
                near->found = near->word[1] == 'o' ? "readable" : "writable";
}

static int refuse_unknown_key(struct config_reader *c, size_t node, bool in_section,
                              const struct config_key *keys, size_t n_keys) {
        const char *key = c->map.nodes[node].key, *meant;
        struct nearest near = {.word = key, .length = strlen(key)};
        char said[NEAREST_SAID], hint[128];

        if (!c->is_proposal && streq(key, "inherits"))
                return config_fail(c, c->map.nodes[node].key_at, key, "a key of profiles alone",
                                   "elsewhere \"profile\" names them");
        find_meant(&near, in_section, keys, n_keys);
        meant = nearest_say(&near, "", said);
        (void)snprintf(hint, sizeof(hint), "%s%snsrun.conf(5) has them all", meant ? meant : "",
                       meant ? "; " : "");
        return config_fail(c, c->map.nodes[node].key_at, key, "unknown key", hint);
}

/* Refuses a key that is none here. */
static int refuse_key(struct config_reader *c, size_t node) {
        const char *key = c->map.nodes[node].key, *what, *hint;

        if (c->is_proposal) {
                what = "a key of your own configuration, not of a proposal";
                hint = "leave it out";
        } else if (streq(key, "profile")) {
                what = "no key of a profile";
                hint = "\"inherits\" names other profiles there";
        } else {
                what = "a key of the whole file alone";
                hint = "no profile and no project has it";
        }
        return config_fail(c, c->map.nodes[node].key_at, key, what, hint);
}

/* Shapes that are applied item by item: of an array, or of an object. */
static const enum json_kind of_items[] = {
        [CONFIG_TOOLCHAINS] = JSON_ARRAY, [CONFIG_EXPOSE_PATHS] = JSON_ARRAY, [CONFIG_ENV] = JSON_OBJECT,
        [CONFIG_LIMITS] = JSON_OBJECT,    [CONFIG_AGENTS] = JSON_OBJECT,      [CONFIG_NEVER] = JSON_NULL,
};

static int apply_each(struct config_reader *c, size_t node, enum json_kind kind,
                      int (*apply)(struct config_reader *c, size_t node)) {
        const struct json_node *nodes = c->map.nodes;
        int r = 0;

        if (json_kind(nodes[node].value) != kind)
                return config_fail_type(c, node, kind == JSON_ARRAY ? "an array" : "an object");
        for (size_t i = node + 1; i < nodes[node].end && r >= 0; i = nodes[i].end)
                r = apply(c, i);
        return r;
}

static int apply_keys(struct config_reader *c, size_t node, bool in_section, const char *except,
                      const struct config_key *keys, size_t n_keys) {
        const struct json_node *nodes = c->map.nodes;
        int r = 0;

        if (json_kind(nodes[node].value) != JSON_OBJECT)
                return config_fail_type(c, node, "an object");
        for (size_t i = node + 1; i < nodes[node].end && r >= 0; i = nodes[i].end) {
                size_t k;

                if (except && streq(nodes[i].key, except))
                        continue;
                for (k = 0; k < n_keys && !streq(keys[k].name, nodes[i].key); k++)
                        ;
                if (k == n_keys)
                        r = refuse_unknown_key(c, i, in_section, keys, n_keys);
                else if (in_section && !keys[k].in_sections)
                        r = refuse_key(c, i);
                else
                        r = of_items[keys[k].shape] != JSON_NULL
                                    ? apply_each(c, i, of_items[keys[k].shape], keys[k].apply)
                                    : keys[k].apply(c, i);
        }
        return r;
}

const char *config_option_name(const char *key, char to[64]) {
        (void)snprintf(to, 64, "%s", streq(key, "temp") ? "tmp" : key);
        for (char *at = to; *at; at++)
                if (*at == '_')
                        *at = '-';
        return to;
}

static const char *option_of(const struct config_reader *c, size_t node, char to[64]) {
        return config_option_name(c->map.nodes[node].key, to);
}

static int policy_config_apply_version(struct config_reader *c, size_t node) {
        uint64_t version;

        if (!json_number(c->map.nodes[node].value, &version) || version != 1)
                return config_fail(c, c->map.nodes[node].at, NULL, "no version that this nsrun knows",
                                   "the only one is 1");
        return 0;
}

/* A key that editors look for. */
static int policy_config_check_schema(struct config_reader *c, size_t node) {
        return config_text(c, node) ? 0 : config_fail_type(c, node, "a string");
}

static int apply_path_option(struct config_reader *c, size_t node) {
        _cleanup_free_ char *path = NULL;
        char option[64];
        int r = config_path(c, node, config_text(c, node), &path);

        return r < 0 ? r : config_set(c, node, option_of(c, node, option), path);
}

/* --project, which the command line gave before the configuration was read, wins. */
static int policy_config_apply_project(struct config_reader *c, size_t node) {
        char *const *given = c->policy->given;
        _cleanup_free_ char *path = NULL;

        if (!strv_contains(given, "project") && !strv_contains(given, "no-project"))
                return apply_path_option(c, node);
        return config_path(c, node, config_text(c, node), &path);
}

static int apply_text(struct config_reader *c, size_t node) {
        char option[64];

        if (!config_text(c, node))
                return config_fail_type(c, node, "a string");
        return config_set(c, node, option_of(c, node, option), config_text(c, node));
}

/* What isn't absolute is below the project. */
static int apply_chdir(struct config_reader *c, size_t node) {
        const char *text = config_text(c, node);

        return text && *text == '~' ? apply_path_option(c, node) : apply_text(c, node);
}

/* A number, or a string that the option reads. */
static int policy_config_apply_number(struct config_reader *c, size_t node) {
        char option[64], digits[24];
        uint64_t number;

        if (!json_number(c->map.nodes[node].value, &number)) {
                if (config_text(c, node))
                        return apply_text(c, node);
                return config_fail_type(c, node, "a whole number or a string");
        }
        (void)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
        return config_set(c, node, option_of(c, node, option), digits);
}

/* What an option without a value says, if it is true. */
static int apply_switch(struct config_reader *c, size_t node) {
        const struct json_value *value = c->map.nodes[node].value;
        char option[64];

        if (json_kind(value) != JSON_BOOL)
                return config_fail_type(c, node, "true or false");
        if (json_is_true(value))
                return config_set(c, node, option_of(c, node, option), NULL);
        return streq(c->map.nodes[node].key, "new_session") ? config_set(c, node, "no-new-session", NULL)
                                                            : 0;
}

/* "seccomp" is a shipped policy's name, with calls more or less, "none", or a file. */
static int policy_config_apply_seccomp(struct config_reader *c, size_t node) {
        const char *text = config_text(c, node);

        if (!text || streq(text, "none") || seccomp_find_shipped(text, NULL))
                return apply_text(c, node);
        if (*text && text[0] != '~' && !strchr(text, '/'))
                return config_fail(c, c->map.nodes[node].at, text, "no policy of nsrun's own",
                                   "a file's path begins with / or with ~/; see 'nsrun seccomp list'");
        return apply_path_option(c, node);
}

static int apply_temp(struct config_reader *c, size_t node) {
        const char *text = config_text(c, node);

        return text && (streq(text, "tmpfs") || streq(text, "scratch")) ? config_set(c, node, "tmp", text)
                                                                        : apply_path_option(c, node);
}

static int apply_home(struct config_reader *c, size_t node) {
        const char *text = config_text(c, node);

        return text && startswith(text, "name:") ? apply_text(c, node) : apply_path_option(c, node);
}

/* Reads a path of the host: absolute, below ~, or ./NAME below the project; as a string, or as
 * {"path": PATH, "optional": true}. */
static int read_exposed(struct config_reader *c, size_t node, struct policy_rule *rule) {
        const char *text = config_text(c, node);
        size_t at[CONFIG_MEMBERS_MOST];
        int r = 0;

        if (json_kind(c->map.nodes[node].value) == JSON_OBJECT) {
                r = config_members(c, node, &config_exposed, at);
                if (r < 0)
                        return r;
                text = at[0] > 0 ? config_text(c, at[0]) : NULL;
                rule->is_optional = at[1] > 0 && json_is_true(c->map.nodes[at[1]].value);
        } else if (!text)
                return config_fail_type(c, node, "a path, or an object with path and optional");
        rule->of_project = text && (streq(text, ".") || startswith(text, "./"));
        if (!rule->of_project)
                r = config_path(c, node, text, &rule->source);
        else if (!(rule->source = strdup(text[1] ? text + 2 : ".")))
                r = error_oom(c->err);
        return r;
}

static int policy_config_apply_exposed(struct config_reader *c, size_t node) {
        const struct json_node *nodes = c->map.nodes;
        const char *key = nodes[node].key;

        if (json_kind(nodes[node].value) != JSON_ARRAY)
                return config_fail_type(c, node, "an array of paths");
        for (size_t i = node + 1; i < nodes[node].end; i = nodes[i].end) {
                struct policy_rule rule = {.origin = POLICY_BY_CONFIG,
                                           .access = streq(key, "readable")   ? POLICY_RO
                                                     : streq(key, "writable") ? POLICY_RW
                                                                              : POLICY_OVERLAY};
                int r = read_exposed(c, i, &rule);

                rule.option = r < 0 ? NULL : config_label(c, i, key);
                if (r >= 0 && (!rule.option || policy_add_copy(c->policy, &rule) < 0))
                        r = error_oom(c->err);
                if (r >= 0)
                        r = config_note(c, i, key, rule.source, rule.of_project ? "./" : "");
                free(rule.source);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* An array of what the option of that name takes.  `has_paths`: of "SRC:DEST", one that begins with ~/ is
 * below the home folder. */
static int apply_items(struct config_reader *c, size_t node, const char *wanted, bool has_paths) {
        const struct json_node *nodes = c->map.nodes;
        char option[64];
        int r = 0;

        if (json_kind(nodes[node].value) != JSON_ARRAY)
                return config_fail_type(c, node, wanted);
        (void)option_of(c, node, option);
        for (size_t i = node + 1; i < nodes[node].end && r >= 0; i = nodes[i].end) {
                const char *text = config_text(c, i);
                _cleanup_free_ char *own = NULL;

                if (!text)
                        return config_fail_type(c, i, "a string");
                if (streq(option, "hide"))
                        r = config_hidden(c, i, &own);
                else if (has_paths && startswith(text, "~/"))
                        r = config_path(c, i, text, &own);
                if (r >= 0)
                        r = config_set(c, i, option, own ? own : text);
        }
        return r;
}

static int apply_texts(struct config_reader *c, size_t node) {
        return apply_items(c, node, "an array of strings", false);
}

/* Whose keys are used, and where they go, is nobody's to propose. */
static int apply_key_texts(struct config_reader *c, size_t node) {
        return c->is_proposal ? refuse_key(c, node) : apply_texts(c, node);
}

static int apply_paths(struct config_reader *c, size_t node) {
        return apply_items(c, node, "an array of strings", true);
}

static int apply_globs(struct config_reader *c, size_t node) {
        return apply_items(c, node, "an array of globs", false);
}

/* "protect" can be the one word "strict", too. */
static int apply_protect(struct config_reader *c, size_t node) {
        const char *text = config_text(c, node);

        return text && streq(text, "strict")
                       ? config_set(c, node, "protect", text)
                       : apply_items(c, node, "an array of globs, or \"strict\"", false);
}

static int apply_variable(struct config_reader *c, size_t node) {
        const struct json_node *n = &c->map.nodes[node];
        _cleanup_free_ char *entry = NULL;

        if (!environment_name_is_valid(n->key, strlen(n->key)) || strchr(n->key, '='))
                return config_fail(c, n->key_at, n->key, "not a variable's name", NULL);
        if (!n->value)
                return config_set(c, node, "unsetenv", n->key);
        if (json_kind(n->value) == JSON_BOOL && json_is_true(n->value))
                return config_set(c, node, "env", n->key);
        if (!config_text(c, node))
                return config_fail_type(c, node, "a string, true or null");
        entry = str_format("%s=%s", n->key, config_text(c, node));
        return entry ? config_set(c, node, "env", entry) : error_oom(c->err);
}

static int apply_limit(struct config_reader *c, size_t node) {
        const struct json_node *n = &c->map.nodes[node];
        _cleanup_free_ char *entry = NULL;
        uint64_t number;

        if (!*n->key || strchr(n->key, '='))
                return config_fail(c, n->key_at, n->key, "not a limit's name", NULL);
        if (json_number(n->value, &number))
                entry = str_format("%s=%llu", n->key, (unsigned long long)number);
        else if (config_text(c, node))
                entry = str_format("%s=%s", n->key, config_text(c, node));
        else
                return config_fail_type(c, node, "a whole number or a string");
        return entry ? config_set(c, node, "limit", entry) : error_oom(c->err);
}

static int apply_enabled(struct config_reader *c, size_t node) {
        const struct json_node *n = &c->map.nodes[node];

        if (json_kind(n->value) != JSON_BOOL)
                return config_fail_type(c, node, "true or false");
        c->policy->isolation = json_is_true(n->value) ? POLICY_ISOLATION_ON : POLICY_ISOLATION_OFF;
        c->policy->isolation_label = config_label(c, node, n->key);
        if (!c->policy->isolation_label)
                return error_oom(c->err);
        return config_note(c, node, "isolation.enabled", json_is_true(n->value) ? "true" : "false", "");
}

/* Applies one {"source", "target", "mode"} of "expose_paths". */
static int apply_expose_path(struct config_reader *c, size_t node) {
        struct expose_list *list = &c->policy->expose;
        const char *values[3] = {NULL}, *label;
        size_t at[CONFIG_MEMBERS_MOST];
        int r = config_members(c, node, &config_expose_path, at);

        for (size_t i = 0; i < ARRAY_SIZE(values) && r >= 0; i++)
                if (at[i] > 0 && !(values[i] = config_text(c, at[i])))
                        r = config_fail_type(c, at[i], "a string");
        if (r < 0)
                return r;
        label = config_label(c, node, "expose_paths");
        if (!label || expose_add(list, values[0], values[1], values[2], label) < 0)
                return error_oom(c->err);
        if (config_note(c, node, "isolation.expose_paths", values[0], "") < 0)
                return -ENOMEM;
        return expose_check(&list->items[list->n - 1], c->err);
}

static int apply_workspace(struct config_reader *c, size_t node) {
        _cleanup_free_ char *path = NULL;
        int r = config_path(c, node, config_text(c, node), &path);

        return r < 0 ? r : config_set(c, node, "instance-workspace", path);
}

/* Refuses "windows", a key that picoclaw has for that system alone. */
static int refuse_windows(struct config_reader *c, size_t node) {
        (void)config_fail(c, c->map.nodes[node].key_at, c->map.nodes[node].key,
                          "unsupported configuration, for Windows alone", "take it out");
        return -EOPNOTSUPP;
}

const struct config_key config_isolation_keys[] = {
        {"enabled", apply_enabled, CONFIG_SWITCH, false,
         "whether the instance profile isolates; false: nsrun run refuses to start"},
        {"expose_paths", apply_expose_path, CONFIG_EXPOSE_PATHS, false,
         "what of the host the instance sees, as picoclaw has it"},
        {"workspace", apply_workspace, CONFIG_PATH, false, "the instance's workspace"},
        {"access_rules", refuse_windows, CONFIG_NEVER, false, NULL},
        {"low_integrity", refuse_windows, CONFIG_NEVER, false, NULL},
        {"restricted_token", refuse_windows, CONFIG_NEVER, false, NULL},
        {"job_object", refuse_windows, CONFIG_NEVER, false, NULL},
        {"integrity_level", refuse_windows, CONFIG_NEVER, false, NULL},
};
const size_t n_config_isolation_keys = ARRAY_SIZE(config_isolation_keys);

static int apply_isolation(struct config_reader *c, size_t node) {
        return apply_keys(c, node, false, NULL, config_isolation_keys, n_config_isolation_keys);
}

/* Keys whose meaning depends on the whole text are looked at when the others are applied. */
static int remember_section(struct config_reader *c, size_t node) {
        if (json_kind(c->map.nodes[node].value) != JSON_OBJECT)
                return config_fail_type(c, node, "an object");
        *(streq(c->map.nodes[node].key, "profiles") ? &c->profiles : &c->projects) = node;
        return 0;
}

static int remember_profile(struct config_reader *c, size_t node) {
        *(streq(c->map.nodes[node].key, "profile") ? &c->profile : &c->agent_profile) = node;
        return 0;
}

const struct config_key config_keys[] = {
        {"$schema", policy_config_check_schema, CONFIG_TEXT, false,
         "where an editor finds what 'nsrun config schema' prints"},
        {"version", policy_config_apply_version, CONFIG_VERSION, false, "the format's version"},
        {"profile", remember_profile, CONFIG_NAMES, false,
         "the profile that is taken when --profile says nothing"},
        {"agent_profile", remember_profile, CONFIG_NAMES, false,
         "the profile that is taken for nsrun bash and nsrun mcp, instead of that, when --profile says nothing"},
        {"profiles", remember_section, CONFIG_PROFILES, false,
         "profiles by name, for --profile: each has keys of its own, and those of the profiles that it inherits"},
        {"projects", remember_section, CONFIG_PROJECTS, false,
         "by folder, what is said for the projects that are it or lie in it"},
        {"isolation", apply_isolation, CONFIG_ISOLATION, false, "the instance profile"},
        {"project", policy_config_apply_project, CONFIG_PATH, false, NULL},
        {"chdir", apply_chdir, CONFIG_TEXT, true, NULL},
        {"readable", policy_config_apply_exposed, CONFIG_EXPOSED, true,
         "paths that are exposed read-only: absolute, below ~, or ./NAME in the project"},
        {"writable", policy_config_apply_exposed, CONFIG_EXPOSED, true,
         "paths that are exposed writable: absolute, below ~, or ./NAME in the project"},
        {"overlay", policy_config_apply_exposed, CONFIG_EXPOSED, true,
         "folders that are exposed; what is written to them is thrown away at the end"},
        {"bind", apply_paths, CONFIG_TEXTS, true, NULL},
        {"symlink", apply_paths, CONFIG_TEXTS, true, NULL},
        {"tmpfs", apply_paths, CONFIG_TEXTS, true, NULL},
        {"home", apply_home, CONFIG_TEXT, true, NULL},
        {"temp", apply_temp, CONFIG_TEXT, true, NULL},
        {"tmpfs_size", policy_config_apply_number, CONFIG_NUMBER, true, NULL},
        {"overlay_backing", apply_text, CONFIG_TEXT, true, NULL},
        {"toolchains", config_apply_toolchain, CONFIG_TOOLCHAINS, true,
         "folders of tools beside nsrun's own list, which are left out where they are missing"},
        {"agents", config_apply_agent, CONFIG_AGENTS, false,
         "agents beside nsrun's own table, for --agent: their folders, keys and hosts"},
        {"protect", apply_protect, CONFIG_PROTECT, true, NULL},
        {"no_protect", apply_globs, CONFIG_TEXTS, true, NULL},
        {"hide", apply_globs, CONFIG_TEXTS, true, NULL},
        {"env", apply_variable, CONFIG_ENV, true,
         "variables: a string sets one, true passes the caller's, null doesn't"},
        {"clean_env", apply_switch, CONFIG_SWITCH, true, NULL},
        {"net", apply_text, CONFIG_TEXT, true, NULL},
        {"allow", apply_texts, CONFIG_TEXTS, true, NULL},
        {"deny", apply_texts, CONFIG_TEXTS, true, NULL},
        {"net_via", apply_text, CONFIG_TEXT, true, NULL},
        {"key", apply_key_texts, CONFIG_TEXTS, true, NULL},
        {"key_use", apply_key_texts, CONFIG_TEXTS, true, NULL},
        {"publish", apply_texts, CONFIG_TEXTS, true, NULL},
        {"hostname", apply_text, CONFIG_TEXT, true, NULL},
        {"kvm", apply_switch, CONFIG_SWITCH, true, NULL},
        {"fuse", apply_switch, CONFIG_SWITCH, true, NULL},
        {"gpu", apply_switch, CONFIG_SWITCH, true, NULL},
        {"sound", apply_switch, CONFIG_SWITCH, true, NULL},
        {"display", apply_switch, CONFIG_SWITCH, true, NULL},
        {"gpg_agent", apply_switch, CONFIG_SWITCH, true, NULL},
        {"ssh_agent", apply_texts, CONFIG_TEXTS, true, NULL},
        {"browser", apply_switch, CONFIG_SWITCH, true, NULL},
        {"dbus", apply_texts, CONFIG_TEXTS, true, NULL},
        {"seccomp", policy_config_apply_seccomp, CONFIG_TEXT, true, NULL},
        {"seccomp_log", apply_switch, CONFIG_SWITCH, true, NULL},
        {"strict_policy", apply_switch, CONFIG_SWITCH, true, NULL},
        {"landlock", apply_text, CONFIG_TEXT, true, NULL},
        {"limits", apply_limit, CONFIG_LIMITS, true,
         "bounds of resources by name: memory, pids, cpu, or a limit of setrlimit(2)"},
        {"uid", policy_config_apply_number, CONFIG_NUMBER, true, NULL},
        {"gid", policy_config_apply_number, CONFIG_NUMBER, true, NULL},
        {"proc", apply_text, CONFIG_TEXT, true, NULL},
        {"new_session", apply_switch, CONFIG_SWITCH, true, NULL},
        {"isolate_commands", apply_switch, CONFIG_SWITCH, true, NULL},
        {"strict", apply_switch, CONFIG_SWITCH, true, NULL},
        {"log", apply_switch, CONFIG_SWITCH, true, NULL},
};
const size_t n_config_keys = ARRAY_SIZE(config_keys);

int config_apply_section(struct config_reader *c, size_t node, const char *except) {
        return apply_keys(c, node, true, except, config_keys, n_config_keys);
}

/* ---------------------------------------------------------------- the text */

static int refuse_text(struct config_reader *c, int r, const struct json_trouble *trouble) {
        struct json_cursor other = JSON_CURSOR_INIT;
        struct json_place first;
        char hint[64];

        if (r != -EINVAL)
                return error_oom(c->err);
        if (trouble->other == 0)
                return config_fail(c, trouble->at, NULL, trouble->why, NULL);
        first = json_place_of(&other, c->text, trouble->other);
        (void)snprintf(hint, sizeof(hint), "the first one is at %zu:%zu", first.line, first.column);
        return config_fail(c, trouble->at, NULL, trouble->why, hint);
}

static int read_and_apply(struct nsrun_policy *p, const char *file, const char *text, bool is_section,
                          struct nsrun_error *err) {
        struct config_reader c = {.policy = p,
                                  .text = text,
                                  .is_proposal = is_section,
                                  .cursor = JSON_CURSOR_INIT,
                                  .err = err};
        struct json_trouble trouble;
        size_t length;
        int r;

        c.file = str_visible(file);
        if (!c.file)
                return error_oom(err);
        length = strlen(c.file);
        if (length > CONFIG_MOST_NAME) {
                memmove(c.file, c.file + length - CONFIG_MOST_NAME, CONFIG_MOST_NAME + 1);
                memcpy(c.file, "...", 3);
        }
        r = json_map_read(&c.map, text, strlen(text), &trouble);
        r = r < 0 ? refuse_text(&c, r, &trouble) : config_drop_comments(&c);
        if (r >= 0)
                r = apply_keys(&c, 0, is_section, NULL, config_keys, n_config_keys);
        if (r >= 0 && !is_section)
                r = config_apply_sections(&c);
        json_map_clear(&c.map);
        free(c.file);
        return r;
}

int config_apply(struct nsrun_policy *p, const char *file, const char *text, struct nsrun_error *err) {
        return read_and_apply(p, file, text, false, err);
}

int config_apply_proposal(struct nsrun_policy *p, const char *file, const char *text,
                          struct nsrun_error *err) {
        return read_and_apply(p, file, text, true, err);
}

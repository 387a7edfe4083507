/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Configuration files: found, opened with suspicion, read, and applied key by key through the table
 * of options.  Where the paths in one lead is judged when the policy is resolved. */
#include "config.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json_map.h"
#include "base/path.h"
#include "environment.h"
#include "host/user.h"
#include "options.h"
#include "seccomp/load.h"

#define MOST_BYTES ((size_t)1 << 20)
/* As many bytes of a configuration file's name as a message has room for. */
#define MOST_NAME 200

struct reader {
        struct nsrun_policy *policy;
        char *file; /* the file's name for messages: made visible, and cut at MOST_NAME */
        const char *text;
        struct json_map map;
        struct json_cursor cursor;
        struct nsrun_error *err;
};

struct key {
        const char *name;
        int (*apply)(struct reader *c, size_t node);
};

static const char *place_of(struct reader *c, size_t at, char to[MOST_NAME + 64]) {
        struct json_place place = json_place_of(&c->cursor, c->text, at);

        (void)snprintf(to, MOST_NAME + 64, "%s:%zu:%zu", c->file, place.line, place.column);
        return to;
}

/* Fails with "FILE:LINE:COLUMN: what: value; hint".  `at` is the place in the text. */
static int fail_at(struct reader *c, size_t at, const char *value, const char *what, const char *hint) {
        char place[MOST_NAME + 64];

        return error_setf(c->err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), value, hint, "%s: %s",
                          place_of(c, at, place), what);
}

static int fail_type(struct reader *c, size_t node, const char *wanted) {
        const struct json_node *n = &c->map.nodes[node];
        char what[64];

        (void)snprintf(what, sizeof(what), "%s is expected here", wanted);
        return fail_at(c, n->at, n->key, what, NULL);
}

static const char *text_at(const struct reader *c, size_t node) {
        return json_text(c->map.nodes[node].value);
}

/* "FILE:LINE:COLUMN: what", which later checks name as the option that asked for a rule. */
static const char *label_at(struct reader *c, size_t node, const char *what) {
        char place[MOST_NAME + 64], *label = NULL;

        if (asprintf(&label, "%s: %s", place_of(c, c->map.nodes[node].at, place), what) < 0)
                label = NULL;
        return policy_keep_label(c->policy, label);
}

/* Sets an option to what a key says; a refusal names the value's place in the file.  The option
 * isn't noted in policy->given: with --session few options may be given, but any configuration may
 * be there. */
static int set_option(struct reader *c, size_t node, const char *option, const char *value) {
        size_t n_given = strv_length(c->policy->given);
        struct nsrun_error inner = {0};
        char place[MOST_NAME + 64];
        int r;

        c->policy->reads_config = true;
        r = nsrun_policy_set(c->policy, option, value, &inner);
        c->policy->reads_config = false;
        if (strv_length(c->policy->given) > n_given)
                free(TAKE_PTR(c->policy->given[n_given]));
        if (r < 0)
                return error_setf(c->err, NSRUN_STAGE_POLICY, inner.error ? r : UNSAID(r), inner.path,
                                  inner.hint, "%s: %s", place_of(c, c->map.nodes[node].at, place),
                                  inner.what);
        return r;
}

/* Reads an absolute path, or one that begins with ~ (the home folder).  A relative one is refused:
 * there is no folder that it could be relative to in every run. */
static int path_at(struct reader *c, size_t node, char **ret) {
        const char *text = text_at(c, node);
        _cleanup_free_ char *home = NULL;

        if (!text || !*text)
                return fail_type(c, node, "a path");
        if (path_is_absolute(text)) {
                *ret = strdup(text);
                return *ret ? 0 : error_oom(c->err);
        }
        if (text[0] != '~' || (text[1] && text[1] != '/'))
                return fail_at(c, c->map.nodes[node].at, text, "not an absolute path",
                               "begin it with / or with ~/");
        if (user_find_home(environment_get(environment_inherited(c->policy), "HOME"), &home) < 0)
                return error_oom(c->err);
        if (!home)
                return fail_at(c, c->map.nodes[node].at, text, "nobody knows your home folder", "set HOME");
        *ret = path_join(home, text[1] ? text + 2 : ".");
        return *ret ? 0 : error_oom(c->err);
}

/* Reads a glob of "hide".  One that begins with ~/ is a path below the home folder, in whose own path no
 * byte is a wildcard. */
static int hidden_at(struct reader *c, size_t node, char **ret) {
        const char *text = text_at(c, node);
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_free_ char *home = NULL;

        if (!text)
                return fail_type(c, node, "a string");
        if (text[0] != '~' || (text[1] && text[1] != '/')) {
                *ret = strdup(text);
                return *ret ? 0 : error_oom(c->err);
        }
        if (user_find_home(environment_get(environment_inherited(c->policy), "HOME"), &home) < 0)
                return error_oom(c->err);
        if (!home)
                return fail_at(c, c->map.nodes[node].at, text, "nobody knows your home folder", "set HOME");
        for (const char *at = streq(home, "/") && text[1] ? "" : home; *at; at++)
                strbuf_addf(&b, "%s%c", strchr("*?[\\", *at) ? "\\" : "", *at);
        strbuf_add(&b, text + 1);
        *ret = strbuf_finish(&b);
        return *ret ? 0 : error_oom(c->err);
}

/* ---------------------------------------------------------------- the keys */

static int apply_members(struct reader *c, size_t node, const struct key *keys, size_t n_keys) {
        const struct json_node *nodes = c->map.nodes;
        int r = 0;

        if (json_kind(nodes[node].value) != JSON_OBJECT)
                return fail_type(c, node, "an object");
        for (size_t i = node + 1; i < nodes[node].end && r >= 0; i = nodes[i].end) {
                size_t k;

                for (k = 0; k < n_keys && !streq(keys[k].name, nodes[i].key); k++)
                        ;
                r = k < n_keys ? keys[k].apply(c, i)
                               : fail_at(c, nodes[i].key_at, nodes[i].key, "unknown key",
                                         "nsrun(1), CONFIGURATION, has them all");
        }
        return r;
}

static int policy_config_apply_version(struct reader *c, size_t node) {
        uint64_t version;

        if (!json_number(c->map.nodes[node].value, &version) || version != 1)
                return fail_at(c, c->map.nodes[node].at, NULL, "no version that this nsrun knows",
                               "the only one is 1");
        return 0;
}

static int apply_path_option(struct reader *c, size_t node) {
        _cleanup_free_ char *path = NULL;
        int r;

        r = path_at(c, node, &path);
        return r < 0 ? r : set_option(c, node, c->map.nodes[node].key, path);
}

static int apply_choice(struct reader *c, size_t node) {
        if (!text_at(c, node))
                return fail_type(c, node, "a string");
        return set_option(c, node, c->map.nodes[node].key, text_at(c, node));
}

static int policy_config_apply_backing(struct reader *c, size_t node) {
        if (!text_at(c, node))
                return fail_type(c, node, "a string");
        return set_option(c, node, "overlay-backing", text_at(c, node));
}

/* "seccomp" is a shipped policy's name, "none", or a file. */
static int policy_config_apply_seccomp(struct reader *c, size_t node) {
        const char *text = text_at(c, node);

        if (!text || streq(text, "none") || seccomp_find_shipped(text))
                return apply_choice(c, node);
        if (*text && text[0] != '~' && !strchr(text, '/'))
                return fail_at(c, c->map.nodes[node].at, text, "no policy of nsrun's own",
                               "a file's path begins with / or with ~/; see 'nsrun seccomp list'");
        return apply_path_option(c, node);
}

static int apply_temp(struct reader *c, size_t node) {
        const char *text = text_at(c, node);
        _cleanup_free_ char *path = NULL;
        int r;

        if (text && (streq(text, "tmpfs") || streq(text, "scratch")))
                return set_option(c, node, "tmp", text);
        r = path_at(c, node, &path);
        return r < 0 ? r : set_option(c, node, "tmp", path);
}

static int policy_config_apply_exposed(struct reader *c, size_t node) {
        const struct json_node *nodes = c->map.nodes;
        const char *key = nodes[node].key;
        enum policy_access access = streq(key, "readable")   ? POLICY_RO
                                    : streq(key, "writable") ? POLICY_RW
                                                             : POLICY_OVERLAY;

        if (json_kind(nodes[node].value) != JSON_ARRAY)
                return fail_type(c, node, "an array of paths");
        for (size_t i = node + 1; i < nodes[node].end; i = nodes[i].end) {
                _cleanup_free_ char *path = NULL;
                const char *label;
                int r;

                r = path_at(c, i, &path);
                if (r < 0)
                        return r;
                label = label_at(c, i, key);
                if (!label || policy_add_rule(c->policy, POLICY_BY_CONFIG, access, path, NULL, label) < 0)
                        return error_oom(c->err);
        }
        return 0;
}

/* Adds one {"path", "cache", "variable"} of "toolchains". */
static int apply_toolchain(struct reader *c, size_t node) {
        const struct json_node *nodes = c->map.nodes;
        _cleanup_free_ char *path = NULL;
        const char *variable = NULL, *label;
        bool is_cache = false;
        int r = 0;

        if (json_kind(nodes[node].value) != JSON_OBJECT)
                return fail_type(c, node, "an object");
        for (size_t i = node + 1; i < nodes[node].end && r >= 0; i = nodes[i].end) {
                if (streq(nodes[i].key, "path"))
                        r = path_at(c, i, &path);
                else if (streq(nodes[i].key, "cache") && json_kind(nodes[i].value) == JSON_BOOL)
                        is_cache = json_is_true(nodes[i].value);
                else if (streq(nodes[i].key, "cache"))
                        r = fail_type(c, i, "true or false");
                else if (streq(nodes[i].key, "variable") && text_at(c, i) &&
                         environment_name_is_valid(text_at(c, i), strlen(text_at(c, i))))
                        variable = text_at(c, i);
                else if (streq(nodes[i].key, "variable"))
                        r = fail_at(c, nodes[i].at, text_at(c, i), "not a variable's name", NULL);
                else
                        r = fail_at(c, nodes[i].key_at, nodes[i].key, "unknown key",
                                    "a toolchain has path, cache and variable");
        }
        if (r < 0)
                return r;
        if (!path)
                return fail_at(c, nodes[node].at, NULL, "a toolchain without a path", NULL);
        label = label_at(c, node, "toolchains");
        return label && policy_add_toolchain(c->policy, path, variable, is_cache, label) >= 0
                       ? 0
                       : error_oom(c->err);
}

static int apply_toolchains(struct reader *c, size_t node) {
        const struct json_node *nodes = c->map.nodes;
        int r = 0;

        if (json_kind(nodes[node].value) != JSON_ARRAY)
                return fail_type(c, node, "an array");
        for (size_t i = node + 1; i < nodes[node].end && r >= 0; i = nodes[i].end)
                r = apply_toolchain(c, i);
        return r;
}

/* An array of what the option of that name takes; "protect" can be the one word "strict", too. */
static int apply_globs(struct reader *c, size_t node) {
        const struct json_node *nodes = c->map.nodes;
        const char *option = streq(nodes[node].key, "no_protect") ? "no-protect" : nodes[node].key;
        const char *text = text_at(c, node);
        int r = 0;

        if (streq(option, "protect") && text && streq(text, "strict"))
                return set_option(c, node, option, text);
        if (json_kind(nodes[node].value) != JSON_ARRAY)
                return fail_type(c, node,
                                 streq(option, "protect") ? "an array of globs, or \"strict\""
                                 : strstr(option, "tect") || streq(option, "hide") ? "an array of globs"
                                                                                   : "an array of strings");
        for (size_t i = node + 1; i < nodes[node].end && r >= 0; i = nodes[i].end) {
                _cleanup_free_ char *glob = NULL;

                if (streq(option, "hide"))
                        r = hidden_at(c, i, &glob);
                else if (!text_at(c, i))
                        r = fail_type(c, i, "a string");
                if (r >= 0)
                        r = set_option(c, i, option, glob ? glob : text_at(c, i));
        }
        return r;
}

static int apply_variable(struct reader *c, size_t node) {
        const struct json_node *n = &c->map.nodes[node];
        _cleanup_free_ char *entry = NULL;

        if (!environment_name_is_valid(n->key, strlen(n->key)) || strchr(n->key, '='))
                return fail_at(c, n->key_at, n->key, "not a variable's name", NULL);
        if (!n->value)
                return set_option(c, node, "unsetenv", n->key);
        if (json_kind(n->value) == JSON_BOOL && json_is_true(n->value))
                return set_option(c, node, "env", n->key);
        if (!text_at(c, node))
                return fail_type(c, node, "a string, true or null");
        if (asprintf(&entry, "%s=%s", n->key, text_at(c, node)) < 0) {
                entry = NULL;
                return error_oom(c->err);
        }
        return set_option(c, node, "env", entry);
}

static int apply_limit(struct reader *c, size_t node) {
        const struct json_node *n = &c->map.nodes[node];
        _cleanup_free_ char *entry = NULL;
        uint64_t number;
        int length;

        if (!*n->key || strchr(n->key, '='))
                return fail_at(c, n->key_at, n->key, "not a limit's name", NULL);
        if (json_number(n->value, &number))
                length = asprintf(&entry, "%s=%llu", n->key, (unsigned long long)number);
        else if (text_at(c, node))
                length = asprintf(&entry, "%s=%s", n->key, text_at(c, node));
        else
                return fail_type(c, node, "a whole number or a string");
        if (length < 0) {
                entry = NULL;
                return error_oom(c->err);
        }
        return set_option(c, node, "limit", entry);
}

static int apply_each(struct reader *c, size_t node, int (*apply)(struct reader *c, size_t node)) {
        const struct json_node *nodes = c->map.nodes;
        int r = 0;

        if (json_kind(nodes[node].value) != JSON_OBJECT)
                return fail_type(c, node, "an object");
        for (size_t i = node + 1; i < nodes[node].end && r >= 0; i = nodes[i].end)
                r = apply(c, i);
        return r;
}

static int policy_config_apply_env(struct reader *c, size_t node) {
        return apply_each(c, node, apply_variable);
}

static int apply_limits(struct reader *c, size_t node) {
        return apply_each(c, node, apply_limit);
}

static int apply_enabled(struct reader *c, size_t node) {
        const struct json_node *n = &c->map.nodes[node];

        if (json_kind(n->value) != JSON_BOOL)
                return fail_type(c, node, "true or false");
        c->policy->isolation = json_is_true(n->value) ? POLICY_ISOLATION_ON : POLICY_ISOLATION_OFF;
        c->policy->isolation_label = label_at(c, node, n->key);
        return c->policy->isolation_label ? 0 : error_oom(c->err);
}

static int apply_isolate(struct reader *c, size_t node) {
        const struct json_value *value = c->map.nodes[node].value;

        if (json_kind(value) != JSON_BOOL)
                return fail_type(c, node, "true or false");
        c->policy->isolates_commands |= json_is_true(value);
        return 0;
}

/* Applies one {"source", "target", "mode"} of "expose_paths". */
static int apply_expose_path(struct reader *c, size_t node) {
        static const char *const names[] = {"source", "target", "mode"};
        const struct json_node *nodes = c->map.nodes;
        const char *values[ARRAY_SIZE(names)] = {NULL}, *label;
        struct expose_list *list = &c->policy->expose;

        if (json_kind(nodes[node].value) != JSON_OBJECT)
                return fail_type(c, node, "an object");
        for (size_t i = node + 1; i < nodes[node].end; i = nodes[i].end) {
                size_t k;

                for (k = 0; k < ARRAY_SIZE(names) && !streq(names[k], nodes[i].key); k++)
                        ;
                if (k == ARRAY_SIZE(names))
                        return fail_at(c, nodes[i].key_at, nodes[i].key, "unknown key",
                                       "an expose path has source, target and mode");
                values[k] = text_at(c, i);
                if (!values[k])
                        return fail_type(c, i, "a string");
        }
        label = label_at(c, node, "expose_paths");
        if (!label || expose_add(list, values[0], values[1], values[2], label) < 0)
                return error_oom(c->err);
        return expose_check(&list->items[list->n - 1], c->err);
}

static int apply_expose_paths(struct reader *c, size_t node) {
        const struct json_node *nodes = c->map.nodes;
        int r = 0;

        if (json_kind(nodes[node].value) != JSON_ARRAY)
                return fail_type(c, node, "an array");
        for (size_t i = node + 1; i < nodes[node].end && r >= 0; i = nodes[i].end)
                r = apply_expose_path(c, i);
        return r;
}

static int apply_workspace(struct reader *c, size_t node) {
        _cleanup_free_ char *path = NULL;
        int r;

        r = path_at(c, node, &path);
        return r < 0 ? r : set_option(c, node, "instance-workspace", path);
}

/* Refuses "windows", a key that picoclaw has for that system alone. */
static int refuse_windows(struct reader *c, size_t node) {
        (void)fail_at(c, c->map.nodes[node].key_at, c->map.nodes[node].key,
                      "unsupported configuration, for Windows alone", "take it out");
        return -EOPNOTSUPP;
}

static int apply_isolation(struct reader *c, size_t node) {
        static const struct key keys[] = {
                {"enabled", apply_enabled},        {"expose_paths", apply_expose_paths},
                {"workspace", apply_workspace},    {"access_rules", refuse_windows},
                {"low_integrity", refuse_windows}, {"restricted_token", refuse_windows},
                {"job_object", refuse_windows},    {"integrity_level", refuse_windows},
        };

        return apply_members(c, node, keys, ARRAY_SIZE(keys));
}

static const struct key top[] = {
        {"version", policy_config_apply_version},
        {"isolation", apply_isolation},
        {"project", apply_path_option},
        {"readable", policy_config_apply_exposed},
        {"writable", policy_config_apply_exposed},
        {"overlay", policy_config_apply_exposed},
        {"toolchains", apply_toolchains},
        {"protect", apply_globs},
        {"no_protect", apply_globs},
        {"hide", apply_globs},
        {"env", policy_config_apply_env},
        {"net", apply_choice},
        {"allow", apply_globs},
        {"deny", apply_globs},
        {"publish", apply_globs},
        {"proc", apply_choice},
        {"overlay_backing", policy_config_apply_backing},
        {"seccomp", policy_config_apply_seccomp},
        {"temp", apply_temp},
        {"limits", apply_limits},
        {"isolate_commands", apply_isolate},
};

/* ---------------------------------------------------------------- the file */

static int refuse_text(struct reader *c, int r, const struct json_trouble *trouble) {
        struct json_cursor other = JSON_CURSOR_INIT;
        struct json_place first;
        char hint[64];

        if (r == -EOPNOTSUPP)
                return error_set(c->err, NSRUN_STAGE_PLAN, r, "libjson-c.so.5",
                                 "the JSON library can't be loaded", "install json-c (Debian: libjson-c5)");
        if (r != -EINVAL)
                return error_oom(c->err);
        if (trouble->other == 0)
                return fail_at(c, trouble->at, NULL, trouble->why, NULL);
        first = json_place_of(&other, c->text, trouble->other);
        (void)snprintf(hint, sizeof(hint), "the first one is at %zu:%zu", first.line, first.column);
        return fail_at(c, trouble->at, NULL, trouble->why, hint);
}

int config_apply(struct nsrun_policy *p, const char *file, const char *text, struct nsrun_error *err) {
        struct reader c = {.policy = p, .text = text, .cursor = JSON_CURSOR_INIT, .err = err};
        struct json_trouble trouble;
        size_t length;
        int r;

        c.file = str_visible(file);
        if (!c.file)
                return error_oom(err);
        length = strlen(c.file);
        if (length > MOST_NAME) {
                memmove(c.file, c.file + length - MOST_NAME, MOST_NAME + 1);
                memcpy(c.file, "...", 3);
        }
        r = json_map_read(&c.map, text, strlen(text), &trouble);
        if (r < 0)
                r = refuse_text(&c, r, &trouble);
        else
                r = apply_members(&c, 0, top, ARRAY_SIZE(top));
        json_map_clear(&c.map);
        free(c.file);
        return r;
}

/* Refuses a configuration that somebody else could change: who can decides what the next command
 * may do. */
static int check_file(int fd, const char *file, struct nsrun_error *err) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return error_set(err, NSRUN_STAGE_POLICY, -errno, file, "the configuration can't be read",
                                 NULL);
        if (!S_ISREG(st.st_mode))
                return error_set(err, NSRUN_STAGE_POLICY, -EINVAL, file,
                                 "the configuration is no plain file", NULL);
        if (st.st_uid != 0 && st.st_uid != geteuid())
                return error_set(err, NSRUN_STAGE_POLICY, UNSAID(-EPERM), file,
                                 "the configuration is somebody else's file", "it must be yours or root's");
        if (st.st_mode & (S_IWGRP | S_IWOTH))
                return error_set(err, NSRUN_STAGE_POLICY, UNSAID(-EPERM), file,
                                 "others may write to the configuration", "chmod go-w it");
        return 0;
}

/* Keeps the canonical path of the configuration that was opened, and the path by which it was
 * named.  Whether a command may write either is judged when all writable roots are known (links.c). */
static int remember_file(struct nsrun_policy *p, int fd, const char *file, struct nsrun_error *err) {
        _cleanup_free_ char *canonical = NULL, *spelled = NULL, *cwd = NULL;
        struct stat opened, named;

        if (path_canonical(file, &canonical, NULL) < 0 || stat(canonical, &named) < 0 ||
            fstat(fd, &opened) < 0 || named.st_dev != opened.st_dev || named.st_ino != opened.st_ino)
                return error_set(err, NSRUN_STAGE_POLICY, -EAGAIN, file,
                                 "the configuration changes while nsrun looks", NULL);
        if (path_is_absolute(file))
                spelled = strdup(file);
        else if ((cwd = getcwd(NULL, 0)) && asprintf(&spelled, "%s/%s", cwd, file) < 0)
                spelled = NULL;
        if (!spelled)
                return error_oom(err);
        p->config = TAKE_PTR(canonical);
        p->config_spelled = TAKE_PTR(spelled);
        return 0;
}

static int load_open(struct nsrun_policy *p, int fd, const char *file, struct nsrun_error *err) {
        _cleanup_free_ char *text = NULL;
        int r;

        r = check_file(fd, file, err);
        if (r >= 0)
                r = remember_file(p, fd, file, err);
        if (r < 0)
                return r;
        r = read_small_fd(fd, MOST_BYTES, &text);
        if (r == -EFBIG || r == -EBADMSG)
                return error_set(err, NSRUN_STAGE_POLICY, UNSAID(r), file,
                                 r == -EFBIG ? "the configuration is larger than 1 MiB"
                                             : "there is a NUL in the configuration",
                                 NULL);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_POLICY, r, file, "the configuration can't be read", NULL);
        return config_apply(p, file, text, err);
}

static int open_file(const char *file) {
        int fd = open(file, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

        return fd < 0 ? -errno : fd;
}

int config_load(struct nsrun_policy *p, const char *file, struct nsrun_error *err) {
        _cleanup_close_ int fd = -EBADF;

        if (p->config)
                return error_set(err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), file, "a second configuration",
                                 "keep one of them");
        fd = open_file(file);
        if (fd < 0)
                return error_set(err, NSRUN_STAGE_POLICY, fd, file, "the configuration can't be opened",
                                 NULL);
        return load_open(p, fd, file, err);
}

int config_find_user_file(const struct nsrun_policy *p, char **ret) {
        const char *folder = environment_get(environment_inherited(p), "XDG_CONFIG_HOME");
        _cleanup_free_ char *home = NULL;
        int r;

        if (folder && path_is_absolute(folder)) {
                *ret = path_join(folder, "nsrun/config.json");
                return *ret ? 0 : -ENOMEM;
        }
        r = user_find_home(environment_get(environment_inherited(p), "HOME"), &home);
        if (r < 0 || !home)
                return r;
        *ret = path_join(home, ".config/nsrun/config.json");
        return *ret ? 0 : -ENOMEM;
}

/* Whether the file, or its folder, is a symlink that leads nowhere: somebody meant a configuration
 * to be there, so that going without it would be wrong. */
static bool is_dangling(const char *file) {
        _cleanup_free_ char *folder = path_parent(file);
        struct stat st;

        return (lstat(file, &st) == 0 && S_ISLNK(st.st_mode)) ||
               (folder && lstat(folder, &st) == 0 && S_ISLNK(st.st_mode) && stat(folder, &st) < 0);
}

nsrun_public int nsrun_policy_find_config(struct nsrun_policy *p, struct nsrun_error *err) {
        _cleanup_free_ char *user = NULL;
        const char *files[2];

        if (p->config || p->no_config)
                return 0;
        if (config_find_user_file(p, &user) < 0)
                return error_oom(err);
        files[0] = user;
        files[1] = CONFIG_SYSTEM_FILE;
        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                _cleanup_close_ int fd = files[i] ? open_file(files[i]) : -ENOENT;

                if ((fd == -ENOENT || fd == -ENOTDIR) && !(files[i] && is_dangling(files[i])))
                        continue;
                if (fd < 0)
                        return error_set(err, NSRUN_STAGE_POLICY, fd, files[i],
                                         "the configuration can't be opened", "--no-config does without");
                return load_open(p, fd, files[i], err);
        }
        return 0;
}

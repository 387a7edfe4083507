/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One configuration's text with places: mistakes, labels, paths, and options set from it. */
#include "config_reader.h"

#include "base/path.h"
#include "host/user.h"
#include "withheld.h"

static const char *place_of(struct config_reader *c, size_t at, char to[CONFIG_MOST_NAME + 64]) {
        struct json_place place = json_place_of(&c->cursor, c->text, at);

        (void)snprintf(to, CONFIG_MOST_NAME + 64, "%s:%zu:%zu", c->file, place.line, place.column);
        return to;
}

int config_fail(struct config_reader *c, size_t at, const char *value, const char *what, const char *hint) {
        char place[CONFIG_MOST_NAME + 64];

        return error_setf(c->err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), value, hint, "%s: %s",
                          place_of(c, at, place), what);
}

int config_fail_type(struct config_reader *c, size_t node, const char *wanted) {
        const struct json_node *n = &c->map.nodes[node];
        char what[64];

        (void)snprintf(what, sizeof(what), "%s is expected here", wanted);
        return config_fail(c, n->at, n->key, what, NULL);
}

/* A comment is text for people alone: what could be meant as a setting is refused. */
static int check_comment(struct config_reader *c, size_t node) {
        const struct json_node *nodes = c->map.nodes;
        bool is_text = json_kind(nodes[node].value) == JSON_STRING, is_list = !is_text;

        is_list &= json_kind(nodes[node].value) == JSON_ARRAY;
        for (size_t i = node + 1; i < nodes[node].end; i++)
                is_list &= json_kind(nodes[i].value) == JSON_STRING;
        return is_text || is_list ? 0
                                  : config_fail_type(c, node, "a comment, a string or an array of them,");
}

int config_drop_comments(struct config_reader *c) {
        struct json_node *nodes = c->map.nodes;
        _cleanup_free_ size_t *moved = calloc(c->map.n + 1, sizeof(*moved));
        size_t n = 0, until = 0;

        if (!moved)
                return error_oom(c->err);
        for (size_t i = 0; i < c->map.n; i++) {
                if (i >= until && nodes[i].key && startswith(nodes[i].key, "//")) {
                        int r = check_comment(c, i);

                        if (r < 0)
                                return r;
                        until = nodes[i].end;
                }
                moved[i] = n;
                n += i >= until;
        }
        moved[c->map.n] = n;
        for (size_t i = 0, at = 0; i < c->map.n; i++) {
                if (moved[i + 1] == moved[i])
                        continue;
                nodes[at] = nodes[i];
                nodes[at++].end = moved[nodes[i].end];
        }
        c->map.n = n;
        return 0;
}

const char *config_text(const struct config_reader *c, size_t node) {
        return json_text(c->map.nodes[node].value);
}

const char *config_label(struct config_reader *c, size_t node, const char *what) {
        char place[CONFIG_MOST_NAME + 64];

        return policy_keep_label(c->policy,
                                 str_format("%s: %s", place_of(c, c->map.nodes[node].at, place), what));
}

int config_set(struct config_reader *c, size_t node, const char *option, const char *value) {
        size_t n_given = strv_length(c->policy->given);
        struct nsrun_error inner = {0};
        char place[CONFIG_MOST_NAME + 64];
        int r;

        c->policy->config_label = config_label(c, node, option);
        if (!c->policy->config_label)
                return error_oom(c->err);
        r = nsrun_policy_set(c->policy, option, value, &inner);
        c->policy->config_label = NULL;
        if (strv_length(c->policy->given) > n_given)
                free(TAKE_PTR(c->policy->given[n_given]));
        if (r < 0)
                return error_setf(c->err, NSRUN_STAGE_POLICY, inner.error ? r : UNSAID(r), inner.path,
                                  inner.hint, "%s: %s", place_of(c, c->map.nodes[node].at, place),
                                  inner.what);
        return config_note(c, node, option, value, "");
}

int config_note(struct config_reader *c, size_t node, const char *key, const char *value,
                const char *prefix) {
        char place[CONFIG_MOST_NAME + 64];
        _cleanup_free_ char *full = NULL;

        if (!c->policy->keeps_said)
                return 0;
        full = str_format("%s%s", prefix, value ? value : "");
        if (!full || policy_note(c->policy, key, full, place_of(c, c->map.nodes[node].at, place)) < 0)
                return error_oom(c->err);
        return 0;
}

int config_members(struct config_reader *c, size_t node, const struct config_object *object,
                   size_t at[CONFIG_MEMBERS_MOST]) {
        const struct json_node *nodes = c->map.nodes;

        memset(at, 0, CONFIG_MEMBERS_MOST * sizeof(*at));
        if (json_kind(nodes[node].value) != JSON_OBJECT)
                return config_fail_type(c, node, "an object");
        for (size_t i = node + 1; i < nodes[node].end; i = nodes[i].end) {
                const struct config_member *m = object->members;

                while (m < object->members + CONFIG_MEMBERS_MOST && m->name && !streq(m->name, nodes[i].key))
                        m++;
                if (m == object->members + CONFIG_MEMBERS_MOST || !m->name)
                        return config_fail(c, nodes[i].key_at, nodes[i].key, "unknown key", object->hint);
                if (m->kind == CONFIG_BOOL && json_kind(nodes[i].value) != JSON_BOOL)
                        return config_fail_type(c, i, "true or false");
                if (m->kind == CONFIG_STRINGS && json_kind(nodes[i].value) != JSON_ARRAY)
                        return config_fail_type(c, i, "an array of strings");
                at[m - object->members] = i;
        }
        return 0;
}

/* The home folder that a path beginning with ~ is below. */
static int find_home_of(struct config_reader *c, size_t node, const char *text, char **ret) {
        if (user_find_home(environment_get(environment_inherited(c->policy), "HOME"), ret) < 0)
                return error_oom(c->err);
        return *ret ? 0
                    : config_fail(c, c->map.nodes[node].at, text, "nobody knows your home folder",
                                  "set HOME");
}

int config_path(struct config_reader *c, size_t node, const char *text, char **ret) {
        _cleanup_free_ char *home = NULL;
        int r;

        if (!text || !*text)
                return config_fail_type(c, node, "a path");
        if (path_is_absolute(text)) {
                *ret = strdup(text);
                return *ret ? 0 : error_oom(c->err);
        }
        if (text[0] != '~' || (text[1] && text[1] != '/'))
                return config_fail(c, c->map.nodes[node].at, text, "not an absolute path",
                                   "begin it with / or with ~/");
        r = find_home_of(c, node, text, &home);
        if (r < 0)
                return r;
        *ret = path_join(home, text[1] ? text + 2 : ".");
        return *ret ? 0 : error_oom(c->err);
}

int config_hidden(struct config_reader *c, size_t node, char **ret) {
        const char *text = config_text(c, node);
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_free_ char *home = NULL;
        int r;

        if (!text)
                return config_fail_type(c, node, "a string");
        if (text[0] != '~' || (text[1] && text[1] != '/')) {
                *ret = strdup(text);
                return *ret ? 0 : error_oom(c->err);
        }
        r = find_home_of(c, node, text, &home);
        if (r < 0)
                return r;
        for (const char *at = streq(home, "/") && text[1] ? "" : home; *at; at++)
                strbuf_addf(&b, "%s%c", strchr("*?[\\", *at) ? "\\" : "", *at);
        strbuf_add(&b, text + 1);
        *ret = strbuf_finish(&b);
        return *ret ? 0 : error_oom(c->err);
}

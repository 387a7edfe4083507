/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "json_members.h"

#include "base/path.h"
#include "base/str.h"

enum {
        PARTS_MOST = 4,
        WORD_MOST = 256,      /* bytes of a text, */
        TREE_MOST = 1 << 16,  /* and of an object or array on one line */
        TEXT_MOST = 8 << 20,  /* and of what the host gets, which is read again */
        VALUES_MOST = 500000, /* of one text: each has some hundred bytes of memory */
};

struct taking {
        struct json_document base, seed, inside, host;
        char **others; /* members_of_others() of the host's */
        bool has_taken;
};

static bool has_few_values(const char *text) {
        size_t n = 0;

        while (n < VALUES_MOST && (text = strchr(text, ','))) {
                text++;
                n++;
        }
        return n < VALUES_MOST;
}

static int read_object(struct json_document *d, const char *text) {
        int r = !text ? 0 : !has_few_values(text) ? -EINVAL : json_parse(d, text, strlen(text), NULL, NULL);

        if (!text)
                *d = json_begin();
        return r < 0 ? r : json_kind(d->root) == JSON_OBJECT ? 0 : -EINVAL;
}

/* Whether two values are spelled alike; one that isn't there is null. */
static int is_same_value(const struct json_value *a, const struct json_value *b) {
        _cleanup_free_ char *x = json_spell(a), *y = json_spell(b);

        return x && y ? streq(x, y) : -ENOMEM;
}

/* Whether the host may get a value: what is one word, since an agent may take a text for a folder's name;
 * and of a member that is_tree also an object or array. */
static bool may_be_taken(const struct json_value *value, bool is_tree) {
        static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._:+@";
        enum json_kind kind = json_kind(value);
        _cleanup_free_ char *line = NULL;
        const char *text = json_text(value);

        if (kind == JSON_STRING)
                return text && *text != '.' && strlen(text) <= WORD_MOST && !text[strspn(text, letters)];
        if (kind != JSON_OBJECT && kind != JSON_ARRAY)
                return true;
        line = is_tree ? json_spell(value) : NULL;
        return line && strlen(line) <= TREE_MOST;
}

/* One member, by the keys on its way; `folder`: what is behind its "=", or NULL. */
static int take_member(struct taking *t, const char *const *keys, size_t n, bool is_tree,
                       const char *folder) {
        const struct json_value *base = t->base.root, *seed = t->seed.root, *inside = t->inside.root,
                                *host = t->host.root;
        struct json_value *to = t->host.root;
        _cleanup_free_ char *text = NULL;
        int r;

        for (size_t i = 0; i < n; i++) {
                base = json_get(base, keys[i]);
                seed = json_get(seed, keys[i]);
                inside = json_get(inside, keys[i]);
                host = json_get(host, keys[i]);
        }
        r = inside ? is_same_value(inside, seed) : 1;
        if (r != 0 || !may_be_taken(inside, is_tree))
                return r < 0 ? r : 0;
        if (folder && json_text(inside)) {
                _cleanup_free_ char *path = str_concat(folder, "/", json_text(inside));

                if (!path || strv_contains(t->others, path))
                        return path ? 0 : -ENOMEM;
        }
        r = is_same_value(host, base);
        if (r <= 0)
                return r;
        for (size_t i = 0; i + 1 < n; i++) {
                struct json_value *next = json_get(to, keys[i]);

                if (next && json_kind(next) != JSON_OBJECT)
                        return 0;
                to = next ? next : json_add_object(&t->host, to, keys[i]);
        }
        text = json_spell(inside);
        if (!text)
                return -ENOMEM;
        json_add_json(&t->host, to, keys[n - 1], text);
        t->has_taken = true;
        return 0;
}

static int take_all(struct taking *t, const char *members, const char *project) {
        _cleanup_free_ char *copy = strdup(members);
        char *rest = copy, *member;
        int r = copy ? 0 : -ENOMEM;

        while (r >= 0 && (member = strsep(&rest, ","))) {
                const char *keys[PARTS_MOST];
                size_t n = 0, end = strcspn(member, "+=");
                bool is_tree = member[end] == '+';
                const char *folder = member[end] == '=' ? member + end + 1 : NULL;
                char *key;

                member[end] = '\0';
                if (!project && strchr(member, '@'))
                        continue;
                while (n < PARTS_MOST && (key = strsep(&member, "/")))
                        keys[n++] = streq(key, "@") ? project : key;
                r = take_member(t, keys, n, is_tree, folder);
        }
        return r;
}

int members_take(const char *members, const char *project, const char *base, const char *seed,
                 const char *inside, const char *host, char **ret) {
        struct taking t = {0};
        int r = read_object(&t.base, base);

        if (r >= 0)
                r = read_object(&t.seed, seed);
        if (r >= 0)
                r = read_object(&t.inside, inside);
        if (r >= 0)
                r = read_object(&t.host, host);
        if (r >= 0 && host)
                r = members_of_others(members, project, host, &t.others);
        if (r >= 0)
                r = take_all(&t, members, project);
        if (r >= 0 && t.has_taken)
                r = json_finish(&t.host, true, ret, NULL) < 0 ? -ENOMEM : 1;
        if (r > 0 && strlen(*ret) > TEXT_MOST) {
                free(TAKE_PTR(*ret));
                r = -EINVAL;
        }
        strv_free(t.others);
        json_close(&t.base);
        json_close(&t.seed);
        json_close(&t.inside);
        json_close(&t.host);
        return r;
}

static const char of_project[] = "projects/@/";

/* Whether PREFIX KEY is among the members, and may have that value; NULL: any. */
static bool is_member_taken(const char *members, const char *prefix, const char *key,
                            const struct json_value *value) {
        size_t n = strlen(prefix), length = strlen(key);

        for (const char *at = members; *at; at += strcspn(at, ","), at += *at == ',')
                if (startswith(at, prefix) && strncmp(at + n, key, length) == 0 &&
                    strcspn(at, ",+=") == n + length)
                        return !value || may_be_taken(value, at[n + length] == '+');
        return false;
}

/* Adds to `to` the members of nodes[i] that it hasn't; and those that it has otherwise, but for `except`
 * (NULL: none).  Whether there are any. */
static bool add_members(struct json_document *d, struct json_value *to, const struct json_map *kept,
                        size_t i, const char *except) {
        bool has_added = false;

        for (size_t k = i + 1; k < kept->nodes[i].end; k = kept->nodes[k].end) {
                const struct json_value *value = kept->nodes[k].value;
                const char *key = kept->nodes[k].key;
                _cleanup_free_ char *text = NULL;

                if (json_has(to, key) && (!except || is_member_taken(except, of_project, key, NULL) ||
                                          is_same_value(json_get(to, key), value) > 0))
                        continue;
                text = json_spell(value);
                if (text)
                        json_add_json(d, to, key, text);
                d->has_failed |= !text;
                has_added = true;
        }
        return has_added;
}

static size_t find_node(const struct json_map *m, size_t i, const char *key) {
        for (size_t k = i + 1; k < m->nodes[i].end; k = m->nodes[k].end)
                if (streq(m->nodes[k].key, key))
                        return json_kind(m->nodes[k].value) == JSON_OBJECT ? k : 0;
        return 0;
}

static const char projects[] = "projects";

/* What both have, as servers by their names: those that the host's lacks. */
static bool add_below(struct json_document *d, const struct json_map *kept) {
        bool has_added = false;

        for (size_t k = 1; k < kept->nodes[0].end; k = kept->nodes[k].end) {
                struct json_value *to = json_get(d->root, kept->nodes[k].key);

                if (to && !streq(kept->nodes[k].key, projects) && json_kind(to) == JSON_OBJECT &&
                    json_kind(kept->nodes[k].value) == JSON_OBJECT)
                        has_added |= add_members(d, to, kept, k, NULL);
        }
        return has_added;
}

int members_add(const char *members, const char *project, const char *kept, const char *host, char **ret) {
        struct json_document d = {0};
        struct json_map map = {0};
        struct json_trouble trouble;
        struct json_value *to;
        bool has_added = false;
        size_t all, own;
        int r = has_few_values(kept) ? json_map_read(&map, kept, strlen(kept), &trouble) : -EINVAL;

        if (r >= 0)
                r = json_kind(map.nodes[0].value) == JSON_OBJECT ? read_object(&d, host) : -EINVAL;
        all = r < 0 ? 0 : find_node(&map, 0, projects);
        own = all > 0 && project ? find_node(&map, all, project) : 0;
        to = own > 0 ? json_get(d.root, projects) : NULL;
        if (to && json_kind(to) == JSON_OBJECT) {
                struct json_value *mine = json_get(to, project);

                mine = json_kind(mine) == JSON_OBJECT ? mine : json_add_object(&d, to, project);
                has_added = add_members(&d, mine, &map, own, members);
        }
        if (r >= 0) {
                has_added |= add_members(&d, d.root, &map, 0, NULL);
                has_added |= add_below(&d, &map);
                r = !has_added ? 0 : json_finish(&d, true, ret, NULL) < 0 ? -ENOMEM : 1;
        }
        json_close(&d);
        json_map_clear(&map);
        return r;
}

int members_of_others(const char *members, const char *project, const char *host, char ***ret) {
        const char *mark = strstr(members, "/@="), *folder = mark ? mark + strlen("/@=") : NULL;
        _cleanup_free_ char *in = folder ? strndup(folder, strcspn(folder, ",")) : NULL;
        struct json_map map = {0};
        struct json_trouble trouble;
        size_t all;
        int r = !mark ? 0 : !in ? -ENOMEM : has_few_values(host) ? 1 : -EINVAL;

        if (r > 0)
                r = json_map_read(&map, host, strlen(host), &trouble);
        all = r < 0 || !mark ? 0 : find_node(&map, 0, projects);
        for (size_t k = all + 1; all > 0 && k < map.nodes[all].end && r >= 0; k = map.nodes[k].end) {
                const char *name = json_text(map.nodes[k].value);

                if (name && !(project && path_is_beneath(map.nodes[k].key, project)))
                        r = strv_consume(ret, str_concat(in, "/", name));
        }
        json_map_clear(&map);
        return r < 0 ? r : 0;
}

/* Whether nodes[i] is other than the host's and has something that it hadn't in an earlier run. */
static int has_news(const struct json_map *m, size_t i, const struct json_value *base,
                    const struct json_value *kept) {
        int r = is_same_value(m->nodes[i].value, base);

        if (r != 0 || !kept)
                return r < 0 ? r : !r;
        for (size_t k = i + 1; k < m->nodes[i].end && json_kind(m->nodes[i].value) == JSON_OBJECT;
             k = m->nodes[k].end)
                if (!json_has(base, m->nodes[k].key) && !json_has(kept, m->nodes[k].key))
                        return 1;
        return 0;
}

/* The same of a value that the host can't have. */
static int is_other(const struct json_value *value, const struct json_value *base,
                    const struct json_value *kept) {
        int r = is_same_value(value, base);

        if (r == 0)
                r = is_same_value(value, kept);
        return r < 0 ? r : !r;
}

static int add_news(const struct json_map *m, size_t i, const char *members, const char *prefix,
                    const struct json_value *base, const struct json_value *kept,
                    int (*left)(void *data, const char *key), void *data) {
        int r = 0;

        for (size_t k = i + 1; k < m->nodes[i].end && r >= 0; k = m->nodes[k].end) {
                const char *key = m->nodes[k].key;

                const struct json_value *value = m->nodes[k].value;
                bool is_one = is_member_taken(members, prefix, key, NULL);

                if ((is_one && is_member_taken(members, prefix, key, value)) ||
                    (!*prefix && streq(key, projects)))
                        continue;
                r = is_one ? is_other(value, json_get(base, key), json_get(kept, key))
                           : has_news(m, k, json_get(base, key), json_get(kept, key));
                if (r > 0) {
                        _cleanup_free_ char *path =
                                str_concat(*prefix ? projects : "", *prefix ? "/" : "", key);

                        r = path ? left(data, path) : -ENOMEM;
                }
        }
        return r;
}

int members_left(const char *members, const char *project, const char *base, const char *inside,
                 const char *kept, int (*left)(void *data, const char *key), void *data) {
        struct json_document b = {0}, k = {0};
        struct json_map map = {0};
        struct json_trouble trouble;
        size_t all, own;
        int r = has_few_values(inside) ? json_map_read(&map, inside, strlen(inside), &trouble) : -EINVAL;

        if (r >= 0)
                r = json_kind(map.nodes[0].value) == JSON_OBJECT ? read_object(&b, base) : -EINVAL;
        if (r >= 0)
                r = read_object(&k, kept);
        if (r >= 0)
                r = add_news(&map, 0, members, "", b.root, k.root, left, data);
        all = r < 0 ? 0 : find_node(&map, 0, projects);
        own = all > 0 && project ? find_node(&map, all, project) : 0;
        if (own > 0)
                r = add_news(&map, own, members, of_project, json_get(json_get(b.root, projects), project),
                             json_get(json_get(k.root, projects), project), left, data);
        json_close(&b);
        json_close(&k);
        json_map_clear(&map);
        return r;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "json_members.h"

#include "base/str.h"

enum {
        PARTS_MOST = 4,
};

struct taking {
        struct json_document base, inside, host;
        bool has_taken;
};

static int read_object(struct json_document *d, const char *text) {
        struct json_trouble trouble;
        int r = text ? json_read(d, text, strlen(text), JSON_STRICT, &trouble) : json_open(d, NULL);

        return r < 0 ? r : json_kind(d->root) == JSON_OBJECT ? 0 : -EINVAL;
}

/* Whether two values are spelled alike; one that isn't there is null. */
static int is_same_value(const struct json_value *a, const struct json_value *b) {
        _cleanup_free_ char *x = json_spell(a), *y = json_spell(b);

        return x && y ? streq(x, y) : -ENOMEM;
}

/* One member, by the keys on its way. */
static int take_member(struct taking *t, const char *const *keys, size_t n) {
        const struct json_value *base = t->base.root, *inside = t->inside.root, *host = t->host.root;
        struct json_value *to = t->host.root;
        _cleanup_free_ char *text = NULL;
        int r;

        for (size_t i = 0; i < n; i++) {
                base = json_get(base, keys[i]);
                inside = json_get(inside, keys[i]);
                host = json_get(host, keys[i]);
        }
        r = inside ? is_same_value(inside, base) : 1;
        if (r != 0)
                return r < 0 ? r : 0;
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
                size_t n = 0;
                char *key;

                if (!project && strchr(member, '@'))
                        continue;
                while (n < PARTS_MOST && (key = strsep(&member, "/")))
                        keys[n++] = streq(key, "@") ? project : key;
                r = take_member(t, keys, n);
        }
        return r;
}

int members_take(const char *members, const char *project, const char *base, const char *inside,
                 const char *host, char **ret) {
        struct taking t = {0};
        int r = read_object(&t.base, base);

        if (r >= 0)
                r = read_object(&t.inside, inside);
        if (r >= 0)
                r = read_object(&t.host, host);
        if (r >= 0)
                r = take_all(&t, members, project);
        if (r >= 0 && t.has_taken)
                r = json_finish(&t.host, true, ret, NULL) < 0 ? -ENOMEM : 1;
        json_close(&t.base);
        json_close(&t.inside);
        json_close(&t.host);
        return r;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See json_layout.h. */
#include "json_layout.h"

#include "json_map.h"
#include "str.h"

#define INDENT 4

struct layout {
        const struct json_map *map;
        struct strbuf text;
};

static void add_key(struct layout *l, size_t node) {
        _cleanup_json_ struct json_document d = {0};
        const char *key = l->map->nodes[node].key;
        _cleanup_free_ char *spelled = NULL;

        if (!key)
                return;
        /* As a JSON string: {"k":"…"} without what is around it. */
        if (json_open(&d, NULL) < 0) {
                l->text.has_failed = true;
                return;
        }
        json_add_string(&d, d.root, "k", key);
        if (json_finish(&d, false, &spelled, NULL) < 0) {
                l->text.has_failed = true;
                return;
        }
        spelled[strlen(spelled) - 1] = '\0';
        strbuf_addf(&l->text, "%s: ", spelled + strlen("{\"k\":"));
}

/* A value on one line. */
static void add_short(struct layout *l, size_t node) {
        const struct json_node *nodes = l->map->nodes;
        enum json_kind kind = json_kind(nodes[node].value);
        _cleanup_free_ char *spelled = NULL;

        if (kind != JSON_ARRAY && kind != JSON_OBJECT) {
                spelled = json_spell(nodes[node].value);
                if (!spelled)
                        l->text.has_failed = true;
                else
                        strbuf_add(&l->text, spelled);
                return;
        }
        strbuf_add(&l->text, kind == JSON_ARRAY ? "[" : "{");
        for (size_t i = node + 1; i < nodes[node].end; i = nodes[i].end) {
                strbuf_add(&l->text, i == node + 1 ? "" : ", ");
                add_key(l, i);
                add_short(l, i);
        }
        strbuf_add(&l->text, kind == JSON_ARRAY ? "]" : "}");
}

/* Lays out a value at this depth, behind `used` columns of its line. */
static void add_value(struct layout *l, size_t node, size_t depth, size_t used) {
        const struct json_node *nodes = l->map->nodes;
        bool is_array = json_kind(nodes[node].value) == JSON_ARRAY;
        size_t start = l->text.length;

        add_short(l, node);
        if (l->text.has_failed || nodes[node].end == node + 1 ||
            (node > 0 && used + l->text.length - start <= LAYOUT_WIDTH))
                return;
        l->text.length = start;
        strbuf_add(&l->text, is_array ? "[" : "{");
        for (size_t i = node + 1; i < nodes[node].end; i = nodes[i].end) {
                size_t line;

                strbuf_addf(&l->text, "%s\n%*s", i == node + 1 ? "" : ",", (int)(INDENT * (depth + 1)), "");
                line = l->text.length;
                add_key(l, i);
                add_value(l, i, depth + 1, INDENT * (depth + 1) + l->text.length - line);
        }
        strbuf_addf(&l->text, "\n%*s%s", (int)(INDENT * depth), "", is_array ? "]" : "}");
}

int json_layout(const char *text, char **ret) {
        _cleanup_json_map_ struct json_map map = {.n = 0};
        struct layout l = {.map = &map};
        struct json_trouble trouble;
        int r = json_map_read(&map, text, strlen(text), &trouble);

        if (r < 0)
                return r;
        add_value(&l, 0, 0, 0);
        strbuf_add(&l.text, "\n");
        *ret = strbuf_finish(&l.text);
        return *ret ? 0 : -ENOMEM;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See json_map.h. */
#include "json_map.h"

#include "array.h"
#include "json_value.h"

struct json_place json_place_of(struct json_cursor *cursor, const char *text, size_t at) {
        struct json_place *place = &cursor->place;

        if (at < cursor->at)
                *cursor = JSON_CURSOR_INIT;
        for (; cursor->at < at && text[cursor->at]; cursor->at++)
                if (text[cursor->at] == '\n')
                        *place = (struct json_place){place->line + 1, 1};
                else
                        place->column += ((unsigned char)text[cursor->at] & 0xc0) != 0x80;
        return *place;
}

static int add_node(struct json_map *m, const struct json_value *v) {
        bool has_items = v->kind == JSON_ARRAY || v->kind == JSON_OBJECT;
        size_t node = m->n;
        int r = ARRAY_GROW(m->nodes, m->n);

        if (r < 0)
                return r;
        m->nodes[m->n++] = (struct json_node){
                .value = v->kind == JSON_NULL ? NULL : v, .key = v->key, .key_at = v->key_at, .at = v->at};
        for (size_t i = 0; has_items && i < v->n && r >= 0; i++)
                r = add_node(m, v->items[i]);
        m->nodes[node].end = m->n;
        return r;
}

int json_map_read(struct json_map *m, const char *text, size_t n, struct json_trouble *ret_trouble) {
        int r;

        *m = (struct json_map){0};
        r = json_read(&m->document, text, n, JSON_CAREFUL, ret_trouble);
        if (r >= 0)
                r = add_node(m, m->document.root);
        if (r < 0)
                json_map_clear(m);
        return r;
}

void json_map_clear(struct json_map *m) {
        free(m->nodes);
        json_close(&m->document);
        *m = (struct json_map){0};
}

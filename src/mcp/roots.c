/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A client's roots: asked for, and compared with what the sandbox has. */
#include "roots.h"

#include "base/path.h"

#define ROOTS_ID "\"nsrun-roots\""

enum {
        ROOTS_MOST = 64 /* are looked at */
};

void roots_ask(struct mcp_server *s) {
        _cleanup_free_ char *text = message_request(ROOTS_ID, "roots/list", "{}");

        writer_send(&s->writer, text);
}

/* The path of a file: URI; NULL: it is none. */
static char *path_of_uri(const char *uri) {
        const char *from = uri ? startswith(uri, "file://") : NULL;
        char *path, *to;

        if (from && startswith(from, "localhost/"))
                from += strlen("localhost");
        if (!from || *from != '/')
                return NULL;
        path = to = strdup(from);
        if (!path)
                return NULL;
        for (; *from; from++) {
                if (*from == '%' && str_hex_digit(from[1]) >= 0 && str_hex_digit(from[2]) >= 0) {
                        *to++ = (char)(str_hex_digit(from[1]) << 4 | str_hex_digit(from[2]));
                        from += 2;
                } else {
                        *to++ = *from;
                }
        }
        *to = '\0';
        return path;
}

/* Whether the sandbox has the path. */
static bool sandbox_has(const struct mcp_server *s, const char *path) {
        struct stat st;

        return nsrun_workspace_stat(s->files, path, 1, &st, NULL) >= 0;
}

static void tell_missing(struct mcp_server *s, const char *path) {
        _cleanup_free_ char *visible = str_visible(path), *text = NULL;

        if (visible)
                text = str_format("the sandbox hasn't got the client's root %s: start nsrun mcp there, or "
                                  "with --project or --rw",
                                  visible);
        if (text)
                mcp_log(s, &s->terms, MCP_WARNING, text);
}

bool roots_take(struct mcp_server *s, const struct message *m) {
        const struct json_value *list;

        if (!streq(m->id, ROOTS_ID))
                return false;
        list = json_get(m->result, "roots");
        for (size_t i = 0; i < json_length(list) && i < ROOTS_MOST; i++) {
                _cleanup_free_ char *path = path_of_uri(json_text(json_get(json_at(list, i), "uri")));

                if (path && !sandbox_has(s, path))
                        tell_missing(s, path);
        }
        return true;
}

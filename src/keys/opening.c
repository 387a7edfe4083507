/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What opens a WebSocket (RFC 6455, 4): which request asks for one, and what the host's answer says. */
#include <ctype.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <strings.h>

#include "base/macro.h"
#include "server.h"

/* The value of the header if there is one of that name. */
static const char *find_only(struct evhttp_request *r, const char *name) {
        const char *found = NULL;

        for (const struct evkeyval *h = evhttp_request_get_input_headers(r)->tqh_first; h;
             h = h->next.tqe_next)
                if (is_same_header(h->key, name)) {
                        if (found)
                                return NULL;
                        found = h->value;
                }
        return found;
}

static bool has_token(const char *list, const char *token) {
        while (*list) {
                size_t n = strcspn(list, ", \t");

                if (n == strlen(token) && strncasecmp(list, token, n) == 0)
                        return true;
                list += n + (list[n] != '\0');
        }
        return false;
}

static bool is_base64(const char *text, size_t n_digits, const char *end) {
        for (size_t i = 0; i < n_digits; i++)
                if (!isalnum((unsigned char)text[i]) && text[i] != '+' && text[i] != '/')
                        return false;
        return streq(text + n_digits, end);
}

bool opening_is_asked_for(struct evhttp_request *r) {
        const char *upgrade = find_only(r, "Upgrade"), *connection = find_only(r, "Connection"),
                   *key = find_only(r, "Sec-WebSocket-Key"),
                   *version = find_only(r, "Sec-WebSocket-Version");
        struct evkeyvalq *said = evhttp_request_get_input_headers(r);

        return evhttp_request_get_command(r) == EVHTTP_REQ_GET && r->major == 1 && r->minor == 1 &&
               upgrade && connection && key && version && strcasecmp(upgrade, "websocket") == 0 &&
               has_token(connection, "upgrade") && is_base64(key, 22, "==") && streq(version, "13") &&
               !evhttp_find_header(said, "Content-Length") &&
               !evhttp_find_header(said, "Transfer-Encoding") && !evhttp_find_header(said, "Expect");
}

enum {
        UPGRADE,
        CONNECTION,
        ACCEPT,
        PROTOCOL,
        EXTENSIONS,
        N_NAMES
};

static int read_lines_of_answer(char *head, char *ret[N_NAMES]) {
        static const char *const names[N_NAMES] = {"upgrade", "connection", "sec-websocket-accept",
                                                   "sec-websocket-protocol", "sec-websocket-extensions"};
        char *line = head, *end = strstr(head, "\r\n"), *colon;
        const char *code = startswith(line, "HTTP/1.1 ");
        int status = 0;

        if (!code || !end)
                return -EBADMSG;
        *end = '\0';
        for (size_t i = 0; i < 3; i++) {
                if (!isdigit((unsigned char)code[i]))
                        return -EBADMSG;
                status = status * 10 + code[i] - '0';
        }
        if (!is_field_text(line) || (code[3] && code[3] != ' '))
                return -EBADMSG;
        while (status == 101 && (line = end + 2, end = strstr(line, "\r\n"))) {
                *end = '\0';
                colon = strchr(line, ':');
                if (!colon)
                        return -EBADMSG;
                *colon = '\0';
                for (char *last = end; last > colon + 1 && strchr(" \t", last[-1]); last--)
                        last[-1] = '\0';
                colon += 1 + strspn(colon + 1, " \t");
                if (!is_field_name(line) || !is_field_text(colon))
                        return -EBADMSG;
                for (size_t i = 0; i < N_NAMES; i++)
                        if (strcasecmp(line, names[i]) == 0) {
                                if (ret[i])
                                        return -EBADMSG;
                                ret[i] = colon;
                        }
        }
        return status;
}

int opening_read_answer(char *head, const char **ret_accept, char **ret_protocol) {
        char *said[N_NAMES] = {NULL};
        int status = read_lines_of_answer(head, said);

        /* Nobody asked for extensions. */
        if (status == 101 &&
            (!said[UPGRADE] || strcasecmp(said[UPGRADE], "websocket") != 0 || !said[CONNECTION] ||
             !has_token(said[CONNECTION], "upgrade") || !said[ACCEPT] || strlen(said[ACCEPT]) != 28 ||
             !is_base64(said[ACCEPT], 27, "=") || said[EXTENSIONS]))
                return -EBADMSG;
        *ret_accept = said[ACCEPT];
        *ret_protocol = said[PROTOCOL];
        return status == 101 || (status >= 200 && status <= 599) ? status : -EBADMSG;
}

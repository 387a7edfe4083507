/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun mcp --http`, and requests to it. */
#pragma once

#include <arpa/inet.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "mcp.h"

#define KEY "io.modelcontextprotocol/"
#define META                                                          \
        "\"_meta\":{\"" KEY "protocolVersion\":\"2026-07-28\",\"" KEY \
        "clientCapabilities\":{\"elicitation\":{}}}"
#define MODERN               "MCP-Protocol-Version: 2026-07-28\r\n"
#define CALLS                MODERN "Mcp-Method: tools/call\r\nMcp-Name: bash\r\n"
#define JSON                 "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
#define ERROR(code, message) "\"error\":{\"code\":" code ",\"message\":\"" message "\""
#define INITIALIZE                                                                                 \
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":" \
        "\"2025-11-25\",\"capabilities\":{\"elicitation\":{}}}}"
#define BASH(command)                                                                                \
        "{\"jsonrpc\":\"2.0\",\"id\":\"b\",\"method\":\"tools/call\",\"params\":{\"name\":\"bash\"," \
        "\"arguments\":{\"command\":\"" command "\"}," META "}}"
#define PING "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}"

struct http {
        struct running running;
        char *token, *path; /* of a Unix socket, which has no token */
        unsigned port;
};

static inline bool has_http(void) {
        return getenv("NSRUN_HTTP") && access(getenv("NSRUN_HTTP"), X_OK) == 0;
}

static inline void http_open(const struct site *s, struct http *h, const char *address,
                             const char *const *options) {
        const char *const begin[] = {program(), "mcp", "--http", address, NULL};
        _cleanup_free_ const char **argv =
                words_of(begin, *options ? options : OPTIONS("--project", s->project));
        _cleanup_free_ char *line = NULL, *told = NULL;

        if (!has_http())
                skip_because("skipped: nsrun was built without libevent");
        *h = (struct http){.path = strchr(address, '/') ? strdup(address) : NULL};
        spawn(&(struct request){.argv = argv, .cwd = s->root}, &h->running);
        line = read_line(h->running.out);
        if (!line)
                fail_msg("it doesn't listen");
        if (h->path) {
                told = text_of("listening on %s\n", address);
                assert_string_equal(line, told);
                return;
        }
        assert_int_equal(sscanf(line, "listening on http://127.0.0.1:%u/mcp\n", &h->port), 1);
        told = read_line(h->running.err);
        assert_true(startswith(told, "nsrun: token: "));
        assert_int_equal(strlen(told), strlen("nsrun: token: ") + 64 + 1);
        h->token = strndup(told + strlen("nsrun: token: "), 64);
}
#define HTTP_OPEN(site, http, ...)  http_open(site, http, "127.0.0.1:0", OPTIONS(__VA_ARGS__))
#define HTTP_OPEN_PLAIN(site, http) http_open(site, http, "127.0.0.1:0", (const char *const[]){NULL})

static inline void http_close(const struct site *s, struct http *h, const char *notes) {
        _cleanup_outcome_ struct outcome o = {0};

        send_signal(h->running.pidfd, SIGTERM);
        finish(&h->running, &o);
        expect_status(&o, 0);
        assert_string_equal(o.err, notes);
        collect_orphans();
        expect_nothing_left(s);
        free(h->token);
        free(h->path);
}

/* The project's file is as the session has made it. */
static inline void close_committed(const struct site *s, struct http *h) {
        _cleanup_free_ char *file = path_of(s->project, "f"), *text = file_text(file);

        assert_string_equal(text, "new\n");
        http_close(s, h, "");
}

static inline int http_connect(const struct http *h) {
        struct sockaddr_in at = {.sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)h->port),
                                 .sin_addr = {htonl(INADDR_LOOPBACK)}};
        struct sockaddr_un named = {.sun_family = AF_UNIX};
        int fd = socket(h->path ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0 && (!h->path || strlen(h->path) < sizeof(named.sun_path)));
        if (h->path)
                strcpy(named.sun_path, h->path);
        assert_int_equal(h->path ? connect(fd, (const struct sockaddr *)&named, sizeof(named))
                                 : connect(fd, (const struct sockaddr *)&at, sizeof(at)),
                         0);
        return fd;
}

/* Sends a request whose head is all but its length. */
static inline int send_head(const struct http *h, const char *head, const char *body) {
        _cleanup_free_ char *text =
                text_of("%sContent-Length: %zu\r\nConnection: close\r\n\r\n%s", head, strlen(body), body);
        int fd = http_connect(h);

        assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
        return fd;
}

static inline int send_as(const struct http *h, const char *method, const char *headers, const char *body) {
        _cleanup_free_ char *head =
                text_of("%s /mcp HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nAuthorization: Bearer "
                        "%s\r\n%s",
                        method, h->port, h->token ? h->token : "none", headers);

        return send_head(h, head, body);
}

/* What comes until `end` has come, or with NULL to the connection's end; the caller's to free. */
static inline char *receive(int fd, const char *end) {
        char *text = strdup(""), byte[2] = "";

        while ((!end || !strstr(text, end)) && read(fd, byte, 1) == 1) {
                char *longer = text_of("%s%s", text, byte);

                free(text);
                text = longer;
        }
        return text;
}

static inline char *answer_to(int fd) {
        char *text = receive(fd, NULL);

        (void)close(fd);
        return text;
}

static inline void expect_answer(int fd, const char *status, const char *part) {
        _cleanup_free_ char *text = answer_to(fd), *line = text_of("HTTP/1.1 %s ", status);

        if (!startswith(text, line))
                fail_msg("not %s: %s", status, text);
        expect_in(text, part);
}

/* The session that an initialisation begins, for the caller to free. */
static inline char *begin_session(const struct http *h) {
        _cleanup_free_ char *text = answer_to(send_as(h, "POST", JSON, INITIALIZE));
        char *at = strstr(text, "Mcp-Session-Id: ");

        expect_in(text, "\"protocolVersion\":\"2025-11-25\"");
        assert_non_null(at);
        return strndup(at + strlen("Mcp-Session-Id: "), 64);
}

static inline int send_in(const struct http *h, const char *session, const char *method, const char *body) {
        _cleanup_free_ char *headers =
                text_of(JSON "MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: %s\r\n", session);

        return send_as(h, method, headers, body);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --dbus: names of the user's session bus, through xdg-dbus-proxy(1) (desktop/dbus_proxy.h). */
#include <sys/socket.h>
#include <sys/un.h>

#include "base/sys.h"
#include "desktop/connect.h"
#include "desktop/dbus.h"
#include "desktop/dbus_proxy.h"
#include "grants.h"
#include "host/program.h"

#define PROGRAM "xdg-dbus-proxy"

/* "NAME, NAME" of the rules that are of these rights, each once; "" where there is none. */
static char *dbus_names(const struct granting *g, unsigned wanted) {
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_strv_ char **names = NULL;

        STRV_FOREACH (value, g->s->policy->dbus) {
                struct dbus_rule rule;
                char name[256];

                if (dbus_rule_read(*value, &rule) < 0 || !(wanted & 1U << rule.right))
                        continue;
                (void)snprintf(name, sizeof(name), "%.*s", (int)rule.length, rule.name);
                if (strv_contains(names, name))
                        continue;
                strbuf_addf(&b, "%s%s", names ? ", " : "", name);
                if (strv_add(&names, name) < 0)
                        return NULL;
        }
        strbuf_add(&b, "");
        return strbuf_finish(&b);
}

static int dbus_say_names(const struct granting *g, unsigned wanted, const char *before, const char *after) {
        _cleanup_free_ char *names = dbus_names(g, wanted);

        if (!names)
                return error_oom(g->err);
        return *names ? grant_say(g, "%s%s%s", before, names, after) : 0;
}

static int dbus_say(const struct granting *g) {
        int r = dbus_say_names(g, 1U << DBUS_TALK | 1U << DBUS_CALL, "calls to ",
                               " on the session bus: what these programs do for any caller they do as you, "
                               "outside of the sandbox");

        if (r >= 0)
                r = dbus_say_names(g, 1U << DBUS_BROADCAST, "what ", " tells all on the session bus");
        if (r >= 0)
                r = dbus_say_names(
                        g, 1U << DBUS_OWN, "the name ",
                        " on the session bus: the command answers whoever calls it, and may call who has it");
        if (r >= 0)
                r = dbus_say_names(g, 1U << DBUS_SEE, "whether ", " runs");
        STRV_FOREACH (value, g->s->policy->dbus) {
                struct dbus_rule rule;
                const char *power = dbus_rule_read(*value, &rule) < 0 ? NULL : dbus_rule_power(&rule);

                if (r >= 0 && power && rule.right != DBUS_SEE && rule.right != DBUS_BROADCAST)
                        r = grant_say(g, "%.*s %s: with it this is no boundary", (int)rule.length, rule.name,
                                      power);
        }
        return r;
}

static int connect_abstract(const char *name) {
        _cleanup_close_ int fd = sys_socket(AF_UNIX, SOCK_STREAM, 0);
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        size_t n = strlen(name);

        if (fd < 0)
                return fd;
        memcpy(at.sun_path + 1, name, n);
        return connect(fd, (const struct sockaddr *)&at,
                       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)) < 0
                       ? -errno
                       : TAKE_FD(fd);
}

/* Whether a bus is there.  1: *ret is its canonical path, or "@NAME"; 0: nobody listens. */
static int dbus_try(const struct granting *g, const char *bus, char **ret) {
        _cleanup_free_ char *source = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r = 1;

        if (*bus == '@')
                fd = connect_abstract(bus + 1);
        else {
                r = grant_find(g, bus, S_IFSOCK, &source);
                if (r > 0)
                        fd = desktop_connect(source);
        }
        if (r <= 0 || fd < 0)
                return r < 0 ? r : 0;
        *ret = source ? TAKE_PTR(source) : strdup(bus);
        return *ret ? 1 : error_oom(g->err);
}

/* The first of its addresses at which somebody listens. */
static int dbus_find_bus(const struct granting *g, char **ret) {
        const char *named = grant_variable(g, "DBUS_SESSION_BUS_ADDRESS"), *at = named,
                   *runtime = grant_variable(g, "XDG_RUNTIME_DIR");
        _cleanup_free_ char *usual = NULL;
        int found = 0, r = 0;

        while (at && found > -1 && r == 0) {
                _cleanup_free_ char *bus = NULL;

                found = dbus_address_next(&at, &bus);
                if (found == 0)
                        break;
                if (found == -ENOMEM)
                        return error_oom(g->err);
                if (found > 0)
                        r = dbus_try(g, bus, ret);
        }
        if (found < 0)
                return grant_refuse(g, named, "DBUS_SESSION_BUS_ADDRESS isn't an address of a bus",
                                    "it is as unix:path=/run/user/1000/bus");
        /* Where libraries look without it. */
        if (!named && runtime) {
                usual = str_concat(runtime, "/bus", "");
                r = usual ? dbus_try(g, usual, ret) : error_oom(g->err);
        }
        if (r == 0 && named)
                return grant_refuse(g, named, "no session bus listens at a socket of this host",
                                    "start nsrun from the desktop's session, or with dbus-run-session");
        return r == 0 ? grant_refuse(g, NULL,
                                     "no session bus is running: DBUS_SESSION_BUS_ADDRESS isn't set",
                                     "start nsrun from the desktop's session, or with dbus-run-session")
                      : r;
}

static int dbus_words(const struct granting *g, char *program, char *bus) {
        char ***words = &g->to->dbus;
        int r = strv_add(words, program);

        if (r >= 0)
                r = strv_add(words, bus);
        STRV_FOREACH (value, g->s->policy->dbus) {
                struct dbus_rule rule;

                if (r >= 0 && dbus_rule_read(*value, &rule) >= 0)
                        r = strv_consume(words, str_concat(rule.option, "=", rule.name));
        }
        return r < 0 ? error_oom(g->err) : 0;
}

int grant_dbus(const struct granting *g) {
        _cleanup_free_ char *program = NULL, *bus = NULL;
        int r = program_find(PROGRAM, &program);

        if (r == -ENOMEM)
                return error_oom(g->err);
        if (r < 0)
                return grant_refuse(g, NULL,
                                    "the host has no " PROGRAM " in a folder of PATH that is root's",
                                    "install the package " PROGRAM);
        if (g->s->inner_uid != g->s->uid)
                return grant_refuse(g, NULL, "the bus lets nobody in who is another user inside",
                                    "leave --uid out");
        r = dbus_find_bus(g, &bus);
        if (r >= 0)
                r = dbus_words(g, program, bus);
        if (r >= 0)
                r = grant_place(g, SHOWN_SOCKET, NULL, DBUS_SOCKET_NAME, "dbus", "DBUS_SESSION_BUS_ADDRESS",
                                "unix:path=");
        return r < 0 ? r : dbus_say(g);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --display: the Wayland compositor, by a socket of the sandbox's own where it keeps sandboxes' clients
 * apart (desktop/wayland.h), else by its own socket; and where there is none, the X server. */
#include <fcntl.h>
#include <sys/un.h>

#include "base/path.h"
#include "base/sys.h"
#include "desktop/connect.h"
#include "desktop/wayland.h"
#include "grants.h"

#define INSIDE "wayland-0"

static int say_wayland(const struct granting *g, bool has_context) {
        return has_context
                       ? grant_say(g, "windows on the Wayland display; the compositor knows them to be a "
                                      "sandbox's (security context), and keeps from them what it keeps "
                                      "from such")
                       : grant_say(g, "windows on the Wayland display, and what its compositor lets every "
                                      "client do (the clipboard, and with some pictures of the screen and "
                                      "typing): it has no security contexts");
}

/* 1: it is shown; 0: there is none. */
static int show_wayland(const struct granting *g) {
        const char *named = grant_variable(g, "WAYLAND_DISPLAY"),
                   *runtime = grant_variable(g, "XDG_RUNTIME_DIR");
        _cleanup_free_ char *path = NULL, *source = NULL;
        _cleanup_close_ int fd = -EBADF;
        uint32_t name;
        int r;

        if (named && path_is_absolute(named))
                path = strdup(named);
        else if (runtime && path_is_absolute(runtime))
                path = path_join(runtime, named ? named : INSIDE);
        else
                return 0;
        if (!path)
                return error_oom(g->err);
        r = grant_find(g, path, S_IFSOCK, &source);
        if (r <= 0)
                return r;
        fd = desktop_connect(source);
        r = fd < 0 ? fd : wayland_find_contexts(fd, &name);
        if (r < 0)
                return grant_refuse(g, source, "what listens there doesn't answer as a Wayland compositor",
                                    "look at WAYLAND_DISPLAY");
        g->to->wayland = r > 0 ? strdup(source) : NULL;
        if (r > 0 && !g->to->wayland)
                return error_oom(g->err);
        r = g->to->wayland ? grant_place(g, SHOWN_SOCKET, NULL, INSIDE, "wayland", NULL, NULL)
                           : grant_place(g, SHOWN_FILE, source, INSIDE, NULL, NULL, NULL);
        if (r >= 0)
                r = grant_set(g, "WAYLAND_DISPLAY", INSIDE);
        if (r >= 0)
                r = say_wayland(g, g->to->wayland);
        return r < 0 ? r : 1;
}

/* The number of a display of this host: ":0", ":0.0", "unix:0".  -1: it is another's. */
static long display_number(const char *display) {
        const char *rest = startswith(display, "unix:"), *colon = rest ? rest - 1 : display;
        char *end;
        long n;

        if (*colon != ':' || colon[1] < '0' || colon[1] > '9')
                return -1;
        n = strtol(colon + 1, &end, 10);
        return (*end && *end != '.') || n > 65535 ? -1 : n;
}

/* 1: it is shown; 0: there is none. */
static int show_authority(const struct granting *g) {
        const char *named = grant_variable(g, "XAUTHORITY");
        _cleanup_free_ char *path = named        ? strdup(named)
                                    : g->s->home ? path_join(g->s->home, ".Xauthority")
                                                 : strdup("");

        return path ? grant_bind(g, path, S_IFREG, "Xauthority", "XAUTHORITY", "") : error_oom(g->err);
}

/* 1: it is shown; 0: there is none. */
static int show_x11(const struct granting *g) {
        const char *display = grant_variable(g, "DISPLAY");
        long n = display ? display_number(display) : -1;
        bool has_cookies;
        _cleanup_free_ char *source = NULL;
        char path[64], name[32];
        int r;

        if (n < 0)
                return 0;
        (void)snprintf(path, sizeof(path), "/tmp/.X11-unix/X%ld", n);
        (void)snprintf(name, sizeof(name), ":%ld", n);
        r = grant_find(g, path, S_IFSOCK, &source);
        if (r <= 0)
                return r;
        r = grant_show(g, SHOWN_FILE, source, path, NULL);
        if (r >= 0)
                r = grant_set(g, "DISPLAY", name);
        if (r >= 0)
                r = show_authority(g);
        has_cookies = r > 0;
        if (r >= 0)
                r = grant_say(
                        g,
                        "the whole X11 display %s: each of its clients can read all keys, also of other "
                        "windows (passwords), see these, and type into them%s",
                        name, has_cookies ? "; and the cookies of every display that XAUTHORITY has" : "");
        return r < 0 ? r : 1;
}

int grant_display(const struct granting *g) {
        int r = show_wayland(g);

        if (r == 0)
                r = show_x11(g);
        return r == 0 ? grant_refuse(
                                g, NULL,
                                "the host has no display: neither WAYLAND_DISPLAY nor DISPLAY leads to a "
                                "socket",
                                "start nsrun from the desktop's session")
                      : r;
}

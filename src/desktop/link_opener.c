/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "link_opener.h"

#include <fcntl.h>
#include <sys/wait.h>

#include "base/programs.h"
#include "base/str.h"
#include "base/stream.h"

/* Those that run on when nsrun ends are init's. */
static void opener_reap(struct opener *o) {
        size_t kept = 0;

        for (size_t i = 0; i < o->n; i++)
                if (waitpid(o->pids[i], NULL, WNOHANG) == 0)
                        o->pids[kept++] = o->pids[i];
        o->n = kept;
}

/* Folders that are root's; the last two are NixOS' and Guix'. */
#define OPENER_PATH \
        "PATH=/usr/local/bin:/usr/bin:/bin:/run/current-system/sw/bin:/run/current-system/profile/bin"

/* What a desktop's programs need of the caller's variables.  No other: one that names a folder (PATH,
 * LD_LIBRARY_PATH, XDG_DATA_DIRS ...) may name one that the command writes to, and what opens a link is a
 * script that starts others by name. */
static bool is_of_desktop(const char *entry) {
        static const char *const names[] = {"HOME",
                                            "USER",
                                            "LOGNAME",
                                            "LANG",
                                            "TZ",
                                            "DISPLAY",
                                            "WAYLAND_DISPLAY",
                                            "XAUTHORITY",
                                            "XDG_RUNTIME_DIR",
                                            "XDG_CURRENT_DESKTOP",
                                            "XDG_SESSION_TYPE",
                                            "XDG_SESSION_DESKTOP",
                                            "DESKTOP_SESSION",
                                            "DBUS_SESSION_BUS_ADDRESS",
                                            "KDE_FULL_SESSION",
                                            "KDE_SESSION_VERSION",
                                            "WSL_INTEROP",
                                            "WSL_DISTRO_NAME"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                const char *rest = startswith(entry, names[i]);

                if (rest && *rest == '=')
                        return true;
        }
        return startswith(entry, "LC_");
}

static int opener_environment(char ***ret) {
        int r = strv_add(ret, OPENER_PATH);

        STRV_FOREACH (entry, environ)
                if (r >= 0 && is_of_desktop(*entry))
                        r = strv_add(ret, *entry);
        return r;
}

int opener_open(struct opener *o, const char *link) {
        char *const argv[] = {(char *)(uintptr_t)o->program, (char *)(uintptr_t)link, NULL};
        _cleanup_close_ int null_fd = null_open(O_RDWR, NULL);
        _cleanup_strv_ char **env = NULL;
        int r;

        opener_reap(o);
        if (null_fd < 0 || o->n == OPENED_MOST)
                return null_fd < 0 ? null_fd : -EBUSY;
        r = opener_environment(&env);
        if (r < 0)
                return r;
        r = spawn_apart(
                &(struct spawn){
                        .program = o->program, .argv = argv, .env = env, .folder = "/", .null_fd = null_fd},
                &o->pids[o->n]);
        if (r >= 0)
                o->n++;
        return r;
}

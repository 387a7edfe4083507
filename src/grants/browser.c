/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --browser: links that a person says yes to, opened by a program of the host's (desktop/browser.h). */
#include "desktop/browser.h"
#include "base/programs.h"
#include "grants.h"
#include "host/program.h"

/* BROWSER is a list with formats to some programs: it is taken where it is one program's path or name. */
static int find_named_browser(const struct granting *g, char **ret) {
        const char *named = grant_variable(g, "BROWSER");
        int r;

        if (!named || strpbrk(named, ": \t%"))
                return 0;
        if (*named == '/') {
                r = grant_find(g, named, S_IFREG, ret);
                if (r <= 0 || access(*ret, X_OK) == 0)
                        return r;
                free(*ret);
                *ret = NULL;
                return 0;
        }
        r = strchr(named, '/') ? -ENOENT : program_find(named, ret);
        return r == -ENOMEM ? error_oom(g->err) : r >= 0;
}

/* 1; 0: the host has none. */
static int find_opener(const struct granting *g, char **ret) {
        static const char *const names[] = {"xdg-open", "wslview", "sensible-browser", "x-www-browser"};
        int r = find_named_browser(g, ret);

        if (r != 0)
                return r;
        r = -ENOENT;
        for (size_t i = 0; i < ARRAY_SIZE(names) && r == -ENOENT; i++)
                r = program_find(names[i], ret);
        return r == -ENOMEM ? error_oom(g->err) : r >= 0;
}

static int show_client(const struct granting *g, const char *program) {
        static const char *const others[] = {BROWSER_OTHERS};
        int r = grant_place(g, SHOWN_FILE, program, BROWSER_FOLDER "/" BROWSER_PROGRAM, NULL, "BROWSER", "");

        for (size_t i = 0; i < ARRAY_SIZE(others) && r >= 0; i++) {
                _cleanup_free_ char *name = str_concat(BROWSER_FOLDER, "/", others[i]);

                r = name ? grant_place(g, SHOWN_LINK, NULL, name, BROWSER_PROGRAM, NULL, NULL)
                         : error_oom(g->err);
        }
        return r < 0 ? r
                     : grant_place(g, SHOWN_SOCKET, NULL, BROWSER_FOLDER "/" BROWSER_SOCKET, "browser", NULL,
                                   NULL);
}

int grant_browser(const struct granting *g) {
        _cleanup_free_ char *client = NULL;
        int r = find_opener(g, &g->to->browser);

        if (r == 0)
                return grant_refuse(
                        g, NULL, "the host has no program that opens links",
                        "install xdg-open (the package xdg-utils), or set BROWSER to a program's path");
        if (r > 0)
                r = grant_find(g, program_init(), S_IFREG, &client);
        if (r == 0)
                return grant_refuse(g, program_init(), "nsrun-init isn't there", "install nsrun completely");
        if (r >= 0)
                r = grant_runtime_path(g, BROWSER_FOLDER, &g->to->programs_first);
        if (r >= 0)
                r = show_client(g, client);
        return r < 0 ? r
                     : grant_say(
                               g,
                               "links (http, https) that you say yes to, opened by %s on the host: what the "
                               "command has read can stand in one",
                               g->to->browser);
}

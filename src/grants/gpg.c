/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --gpg-agent: the socket of GnuPG's agent that is made for others' machines (agent-extra-socket), at which
 * secret keys work and can't be taken, and the public keyring, read-only. */
#include <sys/stat.h>

#include "base/path.h"
#include "grants.h"

#define SOCKET_NAME "S.gpg-agent.extra"

/* Where gpg(1) has its sockets: in a folder of /run/user where it has the usual home, else in its home. */
static int gpg_find_socket(const struct granting *g, const char *named, const char *home, char **ret) {
        const char *runtime = named ? NULL : grant_variable(g, "XDG_RUNTIME_DIR");
        char usual[48];
        const char *const folders[] = {named ? home : usual, runtime, home};
        const char *const below[] = {named ? SOCKET_NAME : "gnupg/" SOCKET_NAME, "gnupg/" SOCKET_NAME,
                                     SOCKET_NAME};
        int r = 0;

        (void)snprintf(usual, sizeof(usual), "/run/user/%u", (unsigned)g->s->uid);
        for (size_t i = 0; i < ARRAY_SIZE(folders) && r == 0; i++) {
                _cleanup_free_ char *path =
                        folders[i] && path_is_absolute(folders[i]) ? path_join(folders[i], below[i]) : NULL;

                r = path ? grant_find(g, path, S_IFSOCK, ret) : 0;
        }
        return r;
}

static int gpg_show_keyring(const struct granting *g, const char *home, const char *inside) {
        /* Not trustdb.gpg, at which gpg(1) fails where it can't be written: it makes a new one. */
        static const char *const names[] = {"pubring.kbx", "pubring.gpg", "gpg.conf"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                _cleanup_free_ char *path = path_join(home, names[i]), *target = path_join(inside, names[i]),
                                    *source = NULL;
                int r;

                if (!path || !target)
                        return error_oom(g->err);
                r = grant_find(g, path, S_IFREG, &source);
                if (r > 0)
                        r = grant_show(g, SHOWN_FILE, source, target, NULL);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* gpg(1) takes the folder in its XDG_RUNTIME_DIR only where nobody else may look into it. */
static int gpg_show_socket(const struct granting *g, const char *source) {
        int r = grant_place(g, SHOWN_OWN_FOLDER, NULL, "gnupg", NULL, NULL, NULL);

        return r < 0 ? r : grant_place(g, SHOWN_FILE, source, "gnupg/S.gpg-agent", NULL, NULL, NULL);
}

int grant_gpg_agent(const struct granting *g) {
        const char *named = grant_variable(g, "GNUPGHOME");
        _cleanup_free_ char *inside = NULL, *home = NULL, *source = NULL;
        int r;

        if (g->s->policy->profile == POLICY_PROFILE_INSTANCE || !g->s->home)
                return grant_refuse(g, NULL, "there is no home of the user's inside for the keyring",
                                    "leave it out, or the instance profile");
        inside = path_join(g->s->home, ".gnupg");
        home = inside ? strdup(named ? named : inside) : NULL;
        if (!home)
                return error_oom(g->err);
        if (named && streq(named, inside))
                named = NULL;
        r = gpg_find_socket(g, named, home, &source);
        if (r == 0)
                return grant_refuse(g, home, "no agent of GnuPG's listens for others (agent-extra-socket)",
                                    "start it: gpgconf --launch gpg-agent");
        if (r >= 0)
                r = gpg_show_socket(g, source);
        if (r >= 0)
                r = grant_show(g, SHOWN_OWN_FOLDER, NULL, inside, NULL);
        if (r >= 0)
                r = gpg_show_keyring(g, home, inside);
        if (r >= 0 && grant_variable(g, "GNUPGHOME"))
                r = grant_set(g, "GNUPGHOME", inside);
        return r < 0 ? r
                     : grant_say(g, "signing and decrypting by every secret key of GnuPG's agent, with no "
                                    "question but its own pinentry's; and the public keyring");
}

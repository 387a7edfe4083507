/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --setenv and --unsetenv on the vector that the command gets: the C library's rules, without
 * touching this process' own environment. */
#include "options.h"

static bool is_name(const char *name) {
        return *name && !strchr(name, '=');
}

static bool is_entry_of(const char *entry, const char *name) {
        const char *rest = startswith(entry, name);

        return rest && *rest == '=';
}

int bwrap_env_set(char ***env, const char *name, const char *value) {
        char *entry = NULL;

        if (!is_name(name))
                return -EINVAL;
        if (asprintf(&entry, "%s=%s", name, value) < 0)
                return -ENOMEM;
        /* Of two entries of one name the first counts, for getenv(3) too. */
        for (char **e = *env; e && *e; e++)
                if (is_entry_of(*e, name)) {
                        free(*e);
                        *e = entry;
                        return 0;
                }
        return strv_consume(env, entry);
}

int bwrap_env_unset(char **env, const char *name) {
        char **to = env;

        if (!is_name(name))
                return -EINVAL;
        for (char **e = env; e && *e; e++)
                if (is_entry_of(*e, name))
                        free(*e);
                else
                        *to++ = *e;
        if (to)
                *to = NULL;
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --setenv and --unsetenv on the vector that the command gets: the C library's rules, without
 * touching this process' own environment. */
#include "options.h"

static bool bwrap_environment_is_name(const char *name) {
        return *name && !strchr(name, '=');
}

static bool is_entry_of(const char *entry, const char *name) {
        const char *rest = startswith(entry, name);

        return rest && *rest == '=';
}

int bwrap_env_set(char ***env, const char *name, const char *value) {
        char *entry = NULL;

        if (!bwrap_environment_is_name(name))
                return -EINVAL;
        entry = str_format("%s=%s", name, value);
        if (!entry)
                return -ENOMEM;
        /* Where a name stands twice in the environment the first entry is the one that getenv(3) finds, and
         * so the one to replace. */
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

        if (!bwrap_environment_is_name(name))
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

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A file stands inside where its program looks for it outside, so that what a project
 * says goes before, as it does there: a variable would outrank it, and have a project's own packages fetched
 * from elsewhere. */
#include "steps.h"

#include "base/array.h"
#include "base/path.h"
#include "base/responds.h"
#include "host/toolsettings.h"
#include "policy/secret_values.h"
#include "policy/withheld.h"
#include "rules/refuse.h"

/* Where the file lies, by the command's own variables.  *ret is NULL for a path that is none. */
static int find_settings_file(const struct resolved *s, const struct toolsettings_file *file, char **ret) {
        *ret = NULL;
        for (size_t i = 0; i < ARRAY_SIZE(file->moved) && file->moved[i].variable; i++) {
                const char *value = environment_passed(s->policy, file->moved[i].variable);

                if (!value || !*value)
                        continue;
                if (!path_is_absolute(value))
                        return 0;
                *ret = *file->moved[i].below ? path_join(value, file->moved[i].below)
                                             : path_normalise(value);
                return *ret ? 0 : -ENOMEM;
        }
        *ret = path_join(s->home, file->path);
        return *ret ? 0 : -ENOMEM;
}

/* Whether the file may be there, no command of this run or an earlier one could write it, and nsrun makes
 * nothing else at its place. */
static bool is_settings_place(const struct resolved *s, const char *path) {
        const char *below = path_below(path, s->home);

        if (below && name_list_find(&s->home_names, below, strcspn(below, "/")) < 0)
                return false;
        STRV_FOREACH (folder, s->files.writable)
                if (path_is_beneath(path, *folder))
                        return false;
        if (exposed_is_known(&s->known, path))
                return false;
        return path_is_beneath(path, s->home) || !(refuse_is_own(path) || path_is_beneath(path, "/tmp"));
}

static int add_settings(const struct resolved *s, struct resolved_tools *tools,
                        const struct toolsettings_file *file) {
        _cleanup_free_ char *path = NULL, *text = NULL;
        int r = find_settings_file(s, file, &path);

        if (r < 0 || !path || !is_settings_place(s, path))
                return r;
        r = toolsettings_read(file, s->home, path, &text);
        /* What is passed line by line has no credential that credentials_in() knows: this is a second look.
         */
        if (r < 0 || !text || (!file->inside && credentials_in(text)))
                return r;
        if (file->inside) {
                free(path);
                path = path_join(s->home, file->inside);
        }
        if (!path || ARRAY_GROW(tools->settings, tools->n_settings) < 0)
                return -ENOMEM;
        tools->settings[tools->n_settings++] = (struct resolved_settings){TAKE_PTR(path), TAKE_PTR(text)};
        return 0;
}

int settings_resolve(const struct resolved *s, struct resolved_tools *tools, struct nsrun_error *err) {
        const struct nsrun_policy *p = s->policy;
        int r = 0;

        if (!s->home || p->clean_env || p->has_workspace)
                return 0;
        for (size_t i = 0; i < n_toolsettings_files && r >= 0; i++)
                if (!toolsettings_files[i].is_of_ssh || p->grants & (1U << GRANT_SSH_AGENT))
                        r = add_settings(s, tools, &toolsettings_files[i]);
        return r < 0 ? responds_fail(r, NULL, err) : 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See gitorders.h.  A command may have made all of it: bounded, no symlink is followed, nothing that is
 * named is opened. */
#include "gitorders.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/str.h"

enum {
        CONFIG_MAX = 1 << 20,
};

/* git-config(1)'s keys whose value is started as a program, or names hooks or more configuration.  The
 * middle part, which may hold dots, is a star. */
static const char *const keys[] = {
        "alias.*",
        "browser.*.cmd",
        "core.askpass",
        "core.editor",
        "core.fsmonitor",
        "core.gitproxy",
        "core.hookspath",
        "core.pager",
        "core.sshcommand",
        "credential.*helper",
        "credential.helper",
        "diff.*.command",
        "diff.*.textconv",
        "diff.external",
        "difftool.*.cmd",
        "difftool.*.path",
        "filter.*.clean",
        "filter.*.process",
        "filter.*.smudge",
        "gpg.*program",
        "gpg.program",
        "guitool.*.cmd",
        "hook.*.command",
        "include.path",
        "includeif.*.path",
        "interactive.difffilter",
        "man.*.cmd",
        "merge.*.driver",
        "mergetool.*.cmd",
        "mergetool.*.path",
        "pager.*",
        "remote.*.proxy",
        "remote.*.receivepack",
        "remote.*.uploadpack",
        "remote.*.vcs",
        "sendemail.*",
        "sequence.editor",
        "submodule.*.update",
        "trailer.*.cmd",
        "trailer.*.command",
        "uploadpack.packobjectshook",
        "web.browser",
};

bool gitorders_names_program(const struct gitconfig_entry *entry) {
        const char *value = entry->value;

        if (!value || !*value)
                return false;
        /* Without a "!" these say which of git's own ways is meant. */
        if ((fnmatch("alias.*", entry->name, 0) == 0 ||
             fnmatch("submodule.*.update", entry->name, 0) == 0) &&
            *value != '!')
                return false;
        if (streq(entry->name, "core.fsmonitor") &&
            (strcasecmp(value, "true") == 0 || strcasecmp(value, "false") == 0))
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
                if (fnmatch(keys[i], entry->name, 0) == 0)
                        return true;
        return false;
}

int gitorders_read(int git_dir, int (*found)(void *data, const struct gitconfig_entry *entry), void *data) {
        static const char *const names[] = {"config", "config.worktree"};
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(names) && r == 0; i++) {
                _cleanup_free_ char *text = NULL;

                r = read_small_file(git_dir, names[i], O_NOFOLLOW, CONFIG_MAX, &text);
                if (r >= 0)
                        r = gitconfig_parse(text, strlen(text), found, data);
                if (r == -ENOENT)
                        r = 0;
        }
        return r;
}

static int take_order(nsrun_unused void *data, const struct gitconfig_entry *entry) {
        return gitorders_names_program(entry) ? 1 : 0;
}

/* A hook that is one, and no sample. */
static int take_hook(nsrun_unused void *data, nsrun_unused int folder, const struct dirent *entry) {
        size_t n = strlen(entry->d_name), m = strlen(".sample");

        return n > m && streq(entry->d_name + n - m, ".sample") ? 0 : 1;
}

const char *gitorders_carried(int git_dir) {
        _cleanup_close_ int hooks =
                openat(git_dir, "hooks", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        bool has_hooks = hooks < 0 ? errno != ENOENT : folder_read(hooks, take_hook, NULL) != 0;
        bool has_config = gitorders_read(git_dir, take_order, NULL) != 0;

        if (has_hooks)
                return has_config ? "hooks and configuration that names a program" : "hooks";
        return has_config ? "configuration that names a program" : NULL;
}

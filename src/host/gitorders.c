/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See gitorders.h.  A command may have made all of it: bounded, no symlink is followed, nothing that is
 * named is opened. */
#include "gitorders.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/str.h"
#include "gitwalk.h"
#include "subrepositories.h"

enum {
        CONFIG_MAX = 1 << 20,
};

/* git-config(1)'s keys whose value is started as a program, or names hooks or more configuration.  The
 * middle part, which may hold dots, is a star. */
static const char *const keys[] = {
        "alias.*",
        "browser.*.cmd",
        "browser.*.path",
        "core.alternaterefscommand",
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
        "gc.recentobjectshook",
        "gpg.*.defaultkeycommand",
        "gpg.*program",
        "gpg.program",
        "guitool.*.cmd",
        "hook.*.command",
        "imap.tunnel",
        "include.path",
        "includeif.*.path",
        "init.templatedir",
        "instaweb.httpd",
        "interactive.difffilter",
        "lfs.customtransfer.*.path",
        "lfs.extension.*",
        "man.*.cmd",
        "man.*.path",
        "merge.*.driver",
        "mergetool.*.cmd",
        "mergetool.*.path",
        "pager.*",
        "protocol.allow", /* lets an address "ext::COMMAND" be */
        "protocol.*.allow",
        "remote.*.proxy",
        "remote.*.receivepack",
        "remote.*.uploadpack",
        "remote.*.vcs",
        "sendemail.*",
        "sequence.editor",
        "submodule.*.update",
        "svn.authorsprog",
        "tar.*.command",
        "trailer.*.cmd",
        "trailer.*.command",
        "uploadpack.packobjectshook",
        "url.ext::*",
        "web.browser",
};

static bool is_leading_alias(const char *value) {
        static const char *const signs[] = {"-c",   "-x",   "-O",  "-u",   "config",
                                            "exec", "pack", "run", "tool", "open"};

        for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
                if (strstr(value, signs[i]))
                        return true;
        return false;
}

bool gitorders_names_program(const struct gitconfig_entry *entry) {
        const char *value = entry->value;

        if (!value || !*value)
                return false;
        if (startswith(value, "ext::"))
                return true;
        /* Without a "!" these say which of git's own ways is meant; but an alias may set what it likes, or
         * name a command to an option. */
        if (fnmatch("submodule.*.update", entry->name, 0) == 0 && *value != '!')
                return false;
        if (fnmatch("alias.*", entry->name, 0) == 0)
                return *value == '!' || is_leading_alias(value);
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

static int note_order(void *data, const struct gitconfig_entry *entry) {
        unsigned *carried = data;

        if (gitorders_names_program(entry))
                *carried |= GITORDERS_PROGRAM;
        if (streq(entry->name, "core.worktree"))
                *carried |= GITORDERS_WORKTREE;
        return 0;
}

/* A hook that is one, and no sample. */
static int take_hook(nsrun_unused void *data, nsrun_unused int folder, const struct dirent *entry) {
        size_t n = strlen(entry->d_name), m = strlen(".sample");

        return n > m && streq(entry->d_name + n - m, ".sample") ? 0 : 1;
}

/* With core.preferSymlinkRefs git makes HEAD and its like links to refs/…. */
static int take_link(void *data, int folder, const char *name, nsrun_unused const char *path) {
        unsigned *carried = data;

        if (!gitwalk_is_reference(folder, name))
                *carried |= GITORDERS_LINKS;
        return 0;
}

unsigned gitorders_carried(int git_dir) {
        _cleanup_close_ int hooks =
                openat(git_dir, "hooks", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        bool has_hooks = hooks < 0 ? errno != ENOENT : folder_read(hooks, take_hook, NULL) != 0;
        unsigned carried = has_hooks ? GITORDERS_HOOKS : 0;
        struct gitwalk walk = {.link = take_link};

        /* What git would read, and nsrun can't. */
        if (gitorders_read(git_dir, note_order, &carried) < 0)
                carried |= GITORDERS_PROGRAM;
        if (nested_has(git_dir, "rebase-merge/git-rebase-todo"))
                carried |= GITORDERS_REBASE;
        walk.data = &carried;
        if (gitwalk(&walk, git_dir, ".", "", true) < 0 || walk.is_cut)
                carried |= GITORDERS_LINKS;
        return carried;
}

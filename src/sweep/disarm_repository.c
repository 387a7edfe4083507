/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See disarm_repository.h.  All there is the command's: no symlink is followed, and nothing is lost. */
#include "disarm_repository.h"

#include <fcntl.h>

#include "aside.h"
#include "base/file.h"
#include "base/str.h"
#include "host/gitorders.h"

enum {
        CONFIG_MAX = 1 << 20,
};

struct keeping {
        struct strbuf text;
        bool is_submodule;
};

int disarm_entry(int folder, const char *name) {
        _cleanup_free_ char *aside = NULL;
        int r = aside_move(folder, name, "", &aside);

        return r == -ENOENT ? 0 : r;
}

static int keep_entry(void *data, const struct gitconfig_entry *entry) {
        struct keeping *k = data;

        if (!gitorders_names_program(entry) && (k->is_submodule || !streq(entry->name, "core.worktree")))
                gitconfig_write(&k->text, entry);
        return 0;
}

/* What is left of a configuration; "" of one that git would not read. */
static int kept_text(int git_dir, const char *name, bool is_submodule, char **ret) {
        _cleanup_free_ char *text = NULL;
        struct keeping k = {.is_submodule = is_submodule};
        int r = read_small_file(git_dir, name, O_NOFOLLOW, CONFIG_MAX, &text);

        if (r >= 0)
                r = gitconfig_parse(text, strlen(text), keep_entry, &k);
        *ret = strbuf_finish(&k.text);
        return *ret && r != -ENOMEM ? 0 : -ENOMEM;
}

static int replace_config(int git_dir, const char *name, bool is_submodule) {
        _cleanup_free_ char *text = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (faccessat(git_dir, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? 0 : -errno;
        r = kept_text(git_dir, name, is_submodule, &text);
        if (r >= 0)
                r = disarm_entry(git_dir, name);
        if (r < 0)
                return r;
        fd = openat(git_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
        return fd < 0 ? -errno : write_full(fd, text, strlen(text));
}

int disarm_git_dir(int git_dir, unsigned carried, bool is_submodule) {
        bool has_config = carried & (GITORDERS_PROGRAM | (is_submodule ? 0 : GITORDERS_WORKTREE));
        int r = carried & GITORDERS_HOOKS ? disarm_entry(git_dir, "hooks") : 0;

        if (r >= 0 && has_config)
                r = replace_config(git_dir, "config", is_submodule);
        if (r >= 0 && has_config)
                r = replace_config(git_dir, "config.worktree", is_submodule);
        return r;
}

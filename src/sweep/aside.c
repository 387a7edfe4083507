/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See aside.h.  All there is the command's: no symlink is followed, and nothing is lost. */
#include "aside.h"

#include <limits.h>
#include <linux/fs.h>
#include <sys/random.h>
#include <sys/syscall.h>

#include "base/file.h"
#include "host/gitdir.h"
#include "host/gitorders.h"

/* Of a name as long as they come the new one has the beginning alone. */
#define ASIDE_BASE_MOST (NAME_MAX - (int)strlen(".aside-4294967295"))

int aside_move(int parent, const char *base, int to, const char *dot, char **ret) {
        bool was_opened = false;

        for (unsigned i = 0; i < 40;) {
                _cleanup_free_ char *aside = NULL;
                unsigned number = i;

                /* The command may have taken the low ones. */
                if ((i >= 20 && getrandom(&number, sizeof(number), 0) < 0) ||
                    asprintf(&aside, "%s%.*s.aside-%u", dot, ASIDE_BASE_MOST - (int)strlen(dot), base,
                             number) < 0) {
                        aside = NULL;
                        return -ENOMEM;
                }
                if (syscall(SYS_renameat2, parent, base, to, aside, RENAME_NOREPLACE) == 0) {
                        *ret = TAKE_PTR(aside);
                        return 0;
                }
                if (errno == EEXIST) {
                        i++;
                        continue;
                }
                if (errno != EACCES || was_opened)
                        return -errno;
                if (folder_open_to_owner(parent) < 0 || folder_open_to_owner(to) < 0)
                        return -EACCES;
                was_opened = true;
        }
        return -EEXIST;
}

/* --------------------------------------------------------------- a repository */

struct keeping {
        struct strbuf text;
        bool is_submodule;
};

int disarm_entry(int folder, const char *name, int to) {
        _cleanup_free_ char *aside = NULL;
        int r = aside_move(folder, name, to, "", &aside);

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
        struct keeping k = {.is_submodule = is_submodule};
        int r = gitdir_read_config(git_dir, name, keep_entry, &k);

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
                r = disarm_entry(git_dir, name, git_dir);
        if (r < 0)
                return r;
        fd = openat(git_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
        return fd < 0 ? -errno : write_full(fd, text, strlen(text));
}

int disarm_git_dir(int git_dir, unsigned carried, bool is_submodule) {
        bool has_config = carried & (GITORDERS_PROGRAM | (is_submodule ? 0 : GITORDERS_WORKTREE));
        int r = carried & GITORDERS_HOOKS ? disarm_entry(git_dir, "hooks", git_dir) : 0;

        if (r >= 0 && (carried & GITORDERS_REBASE))
                r = disarm_entry(git_dir, "rebase-merge", git_dir);
        if (r >= 0 && (carried & GITORDERS_STRATEGY))
                r = disarm_entry(git_dir, "sequencer", git_dir);
        if (r >= 0 && has_config)
                r = replace_config(git_dir, "config", is_submodule);
        if (r >= 0 && has_config)
                r = replace_config(git_dir, "config.worktree", is_submodule);
        return r;
}

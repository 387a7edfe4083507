/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The names that are protected in every writable folder. */
#include "protect_names.h"

#include <fnmatch.h>
#include <limits.h>
#include <sys/xattr.h>

#include "base/beneath.h"
#include "base/file.h"
#include "base/str.h"

/* Each of lefthook's formats, its own and the user's. */
#define FORMATS(name)    name ".json", name ".jsonc", name ".toml", name ".yaml", name ".yml"
#define LEFTHOOK(before) FORMATS(before "lefthook-local"), FORMATS(before "lefthook")

/* Sorted as nsrun-protect(7) has them: those of git and its like, editors' and agents', shells',
 * interpreters', package managers'.  In is what the host executes or obeys without a question (lefthook and
 * mise by their hooks, nix-direnv by what it has cached, R by a workspace's .First, rustup by the path of a
 * toolchain, bun and all that it compiled by "preload", yarn by releases and plugins), and no command writes
 * day by day. Out is what agents are asked to edit and others only read
 * (AGENTS.md, CLAUDE.md, package.json, Makefile, .kiro/specs), what is obeyed after a look at its contents
 * (.tool-versions), and .gitmodules, of which git executes nothing and takes addresses when it is asked to:
 * a checkout must be able to replace it.
 */
const char *const protect_names[] = {
        LEFTHOOK(".config/"),
        ".git/branches",
        ".git/commondir",
        ".git/config",
        ".git/config.worktree",
        ".git/hooks",
        ".git/info/attributes",
        ".git/objects/info/alternates",
        ".git/remotes",
        ".git/sl/config",
        ".gitconfig",
        ".hg/hgrc",
        ".hg/hgrc-not-shared",
        ".hg/sharedpath",
        ".husky",
        ".jj/repo/config.toml",
        ".jj/workspace-config.toml",
        LEFTHOOK("."),
        ".pre-commit-config.yaml",
        ".sl/config",
        ".sl/sharedpath",
        "_darcs/prefs/defaults",
        LEFTHOOK(""),
        ".agents",
        ".aider.conf.yml",
        ".amazonq",
        ".amp",
        ".augment",
        ".claude",
        ".cline",
        ".clinerules",
        ".codex",
        ".continue",
        ".crush.json",
        ".cursor",
        ".devcontainer",
        ".devcontainer.json",
        ".exrc",
        ".factory",
        ".gemini",
        ".github/copilot",
        ".github/extensions",
        ".github/hooks",
        ".github/lsp.json",
        ".github/mcp.json",
        ".helix",
        ".idea",
        ".junie",
        ".kilo",
        ".kilocode",
        ".kiro/agents",
        ".kiro/hooks",
        ".kiro/settings",
        ".mcp.json",
        ".nvim.lua",
        ".nvimrc",
        ".opencode",
        ".pi",
        ".qoder",
        ".qwen",
        ".roo",
        ".trae",
        ".vim/coc-settings.json",
        ".vimrc",
        ".vscode",
        ".windsurf",
        ".zed",
        "crush.json",
        "kilo.json",
        "kilo.jsonc",
        "opencode.json",
        "opencode.jsonc",
        ".bash_login",
        ".bash_logout",
        ".bash_profile",
        ".bashrc",
        ".direnv/*.rc",
        ".envrc",
        ".mise.local.toml",
        ".mise.toml",
        ".profile",
        ".zlogin",
        ".zlogout",
        ".zprofile",
        ".zshenv",
        ".zshrc",
        "mise.local.toml",
        "mise.toml",
        "$irbrc",
        ".RData",
        ".Renviron",
        ".Rprofile",
        ".ghci",
        ".iex.exs",
        ".irbrc",
        ".ocamlinit",
        ".octaverc",
        ".pdbrc",
        ".pryrc",
        "_irbrc",
        "irb.rc",
        ".npmrc",
        ".pnpmfile.cjs",
        ".pnpmfile.mjs",
        ".ripgreprc",
        ".yarn/plugins",
        ".yarn/releases",
        ".yarnrc",
        ".yarnrc.yml",
        "bunfig.toml",
        "rust-toolchain",
        "rust-toolchain.toml",
        NULL,
};

/* Whether a path, relative to a folder, is or lies below a name of the list, in any case. */
static bool begins_with_name(const char *path) {
        /* What all of them begin with (tests/unit/test-glob.c): an index has thousands of paths. */
        if (!strchr("$._bciklmorBCIKLMOR", *path))
                return false;
        for (const char *const *name = protect_names; *name; name++) {
                /* Nearly always they differ right here. */
                size_t n = (**name | 0x20) == (*path | 0x20) ? strcspn(*name, "*") : 0;

                if (n > 0 && strncasecmp(path, *name, n) == 0 &&
                    ((*name)[n] ? fnmatch(*name, path, FNM_PATHNAME | FNM_LEADING_DIR | FNM_CASEFOLD) == 0
                                : !path[n] || path[n] == '/'))
                        return true;
        }
        return false;
}

/* Whether a name of the list lies below the path. */
static bool begins_a_name(const char *path) {
        size_t n = strlen(path);

        for (const char *const *name = protect_names; *name; name++)
                if (n > 0 && strncasecmp(*name, path, n) == 0 && (*name)[n] == '/')
                        return true;
        return false;
}

size_t protect_folder_of(const char *path) {
        for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/'))
                if (begins_with_name(at + 1))
                        return (size_t)(at - path);
        return 0;
}

/* Whether `is` says so of what follows one of the path's slashes, or of all of it. */
static bool any_part(const char *path, bool (*is)(const char *part)) {
        for (const char *at = path; at; at = strchr(at, '/')) {
                at += *at == '/';
                if (is(at))
                        return true;
        }
        return false;
}

bool protect_covers(const char *path) {
        return any_part(path, begins_with_name);
}

bool protect_is_above(const char *path) {
        return any_part(path, begins_a_name);
}

bool protect_is_among_open(char *const *no_protect, const char *name) {
        char path[PATH_MAX];

        if (strlen(name) >= sizeof(path))
                return false;
        STRV_FOREACH (glob, no_protect)
                for (const char *end = name; end;) {
                        end = strchr(end + (end != name), '/');
                        memcpy(path, name, end ? (size_t)(end - name) : strlen(name) + 1);
                        if (end)
                                path[end - name] = '\0';
                        if (fnmatch(*glob, path, FNM_PATHNAME) == 0)
                                return true;
                }
        return false;
}

bool protect_is_folder(const char *name) {
        static const char *const folders[] = {".git/hooks",
                                              ".husky",
                                              ".agents",
                                              ".amazonq",
                                              ".amp",
                                              ".augment",
                                              ".claude",
                                              ".cline",
                                              ".codex",
                                              ".continue",
                                              ".cursor",
                                              ".devcontainer",
                                              ".factory",
                                              ".gemini",
                                              ".github/copilot",
                                              ".github/extensions",
                                              ".github/hooks",
                                              ".helix",
                                              ".idea",
                                              ".junie",
                                              ".kilo",
                                              ".kilocode",
                                              ".kiro/agents",
                                              ".kiro/hooks",
                                              ".kiro/settings",
                                              ".opencode",
                                              ".pi",
                                              ".qoder",
                                              ".qwen",
                                              ".roo",
                                              ".trae",
                                              ".vscode",
                                              ".windsurf",
                                              ".zed",
                                              ".yarn/plugins",
                                              ".yarn/releases"};

        for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
                if (streq(name, folders[i]))
                        return true;
        return false;
}

const char *protect_name_of(char *const *names, const char *path) {
        STRV_FOREACH (entry, names) {
                size_t n = (size_t)(strstr(*entry, "//") - *entry);
                const char *below = strncmp(path, *entry, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;

                if (below && fnmatch(*entry + n + 2, below, FNM_PATHNAME) == 0)
                        return below;
        }
        return NULL;
}

int protect_open_placeholder(int root, const char *name, char *owner) {
        char text[PATH_MAX];
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        ssize_t n;

        if (fstatat(root, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            (st.st_mode & (S_IFMT | PROTECT_PLACEHOLDER_MODE)) != (S_IFDIR | PROTECT_PLACEHOLDER_MODE))
                return -EINVAL;
        fd = beneath_open(root, name, O_PATH | O_DIRECTORY, 0);
        n = fd < 0 ? -1 : getxattr(fd_link(fd).path, PROTECT_PLACEHOLDER_OF, text, sizeof(text) - 1);
        if (n > 0 && owner)
                *(char *)mempcpy(owner, text, (size_t)n) = '\0';
        return n > 0 || fd == -ENOENT ? TAKE_FD(fd) : -EINVAL;
}

bool protect_is_placeholder(int root, const char *name, char *owner) {
        _cleanup_close_ int fd = protect_open_placeholder(root, name, owner);
        struct stat st;

        return fd == -ENOENT ||
               (fd >= 0 && (folder_is_empty(fd) || (fstat(fd, &st) >= 0 && st.st_nlink == 0)));
}

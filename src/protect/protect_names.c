/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The names that are protected in every writable folder. */
#include "protect_names.h"

#include "base/str.h"

/* Sorted as nsrun-protect(7) has them: git's, editors' and agents', shells', package managers'. */
const char *const protect_names[] = {
        ".git/branches",
        ".git/commondir",
        ".git/config",
        ".git/config.worktree",
        ".git/hooks",
        ".git/info/attributes",
        ".git/objects/info/alternates",
        ".git/remotes",
        ".gitconfig",
        ".gitmodules",
        ".husky",
        ".pre-commit-config.yaml",
        ".agents",
        ".aider.conf.yml",
        ".claude",
        ".codex",
        ".cursor",
        ".devcontainer",
        ".devcontainer.json",
        ".gemini",
        ".idea",
        ".mcp.json",
        ".opencode",
        ".qwen",
        ".vscode",
        "opencode.json",
        "opencode.jsonc",
        ".bash_login",
        ".bash_logout",
        ".bash_profile",
        ".bashrc",
        ".envrc",
        ".profile",
        ".zlogin",
        ".zlogout",
        ".zprofile",
        ".zshenv",
        ".zshrc",
        ".npmrc",
        ".ripgreprc",
        ".yarnrc",
        ".yarnrc.yml",
        NULL,
};

bool protect_covers(const char *path) {
        for (const char *at = path; at; at = strchr(at, '/')) {
                at += *at == '/';
                for (const char *const *name = protect_names; *name; name++) {
                        const char *rest = startswith(at, *name);

                        if (rest && (!*rest || *rest == '/'))
                                return true;
                }
        }
        return false;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The steps of resolving that resolve.c alone takes, by the file that has them. */
#pragma once

#include "rules/resolved.h"

/* ---- agent_folders.c: the folders of the agent that --agent names */

/* Adds rules for the agent's folders, and fills s->files.carried.  Nothing without --agent. */
int agent_add_rules(struct resolved *s, struct nsrun_error *err);

/* ---- agent_homes.c: the folders of all agents, and the project */

/* Refuses a project that is the folder of an agent's, lies in it or has it in it; but where a symlink of the
 * home leads into the project, hides what the agent keeps there for itself. */
int agent_homes_judge(struct resolved *s, struct nsrun_error *err);

/* ---- git.c: the git dirs outside the project that its .git file leads to, and the name to commit under */

/* Adds nsrun's rules for the git dirs of a worktree or a submodule.  s->project must be known.
 * -EPERM with *err filled: the .git file isn't believed. */
int git_add_rules(struct resolved *s, struct nsrun_error *err);

/* Fills s->git.identity, unless the environment has all of it already, s->git.settings and s->git.ignores.
 * s->files.writable must be known. */
int git_find_identity(const struct resolved *s, struct resolved_git *git, struct nsrun_error *err);

/* hooks_path.c: adds a rule for the folder that the user's core.hooksPath names, and that to
 * s->git.settings; or to s->git.lacks that hooks aren't run.  All other rules must be known. */
int git_add_hooks(struct resolved *s, struct nsrun_error *err);

/* Fills s->git.worktrees and s->git.trees; where the folder of a worktree is hidden, so that it looks
 * deleted, what the repository keeps of it is made read-only.  All rules, s->protection and what is hidden
 * must be known.  -E2BIG with *err filled: there are too many. */
int git_find_worktrees(struct resolved *s, struct nsrun_error *err);

/* ---- toolchains.c: toolchain folders of the host become rules; which of them don't, and why; what the
 * environment points at that the sandbox doesn't show */

/* Adds rules for the rows of the configuration and of the table that are on this host, and fills
 * s->tools.toolchains.  The rules of all else must be there. */
int toolchain_rules_add(struct resolved *s, struct nsrun_error *err);

/* Takes those rules out again whose folder is reached through a symlink that refuse_untrusted_link()
 * refuses.  s->files.writable must be filled. */
int toolchain_rules_distrust(struct resolved *s, struct nsrun_error *err);

/* Whether the sandbox shows something of the host at `path` (normalised). */
bool resolved_shows(const struct resolved *s, const char *path);

/* Fills s->tools.unseen.  The rules and s->environment.variables must be final. */
int toolchain_rules_find_unseen(const struct resolved *s, struct resolved_tools *tools,
                                struct nsrun_error *err);

/* ---- instance_profile.c: what an instance shows, but for homes and system folders, which picoclaw's
 * pkg/isolation would expose */

/* Finds the instance root, and adds the rules for it, its workspace and the expose paths. */
int instance_add_rules(struct resolved *s, struct nsrun_error *err);
/* Adds rules for the executable and the paths that the command line names, unless another rule
 * shows them.  All other rules must be known. */
int instance_add_command(struct resolved *s, struct nsrun_error *err);

/* ---- overlay_backing.c: where overlays keep what is written during a run */

/* Fills s->files.backing and s->files.overlay_size, once all rules are known. */
int resolve_backing(struct resolved *s, struct nsrun_error *err);

/* ---- tool_settings.c: the user's own settings of npm, pip and ssh */

/* Fills s->tools.settings: at its own place, for each file of host/toolsettings.c, what stands for it
 * inside.  All rules are known. */
int settings_resolve(const struct resolved *s, struct resolved_tools *tools, struct nsrun_error *err);

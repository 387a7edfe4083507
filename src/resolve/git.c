/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rules and variables for git.  host/gitdir.c finds out where the git dirs are and whether the
 * project's .git file may be believed. */
#include "steps.h"

#include "base/beneath.h"
#include "base/file.h"
#include "base/path.h"
#include "base/responds.h"
#include "host/git_author.h"
#include "host/gitdir.h"
#include "policy/refusal.h"
#include "policy/withheld.h"
#include "protect/hide.h"
#include "protect/protect_rules.h"
#include "rules/rules.h"

/* ----------------------------------------------------------- signing */

/* Signed commits: what git needs to have an agent sign them, which is nothing but public; or a note that
 * they aren't signed. */

enum {
        PUBLIC_KEY_MAX = 16 << 10,
};

/* "TYPE BASE64" at the beginning of `text`, a public key as ssh(1) has them: how long; 0: it is none. */
static size_t length_of_public_key(const char *text) {
        static const char *const types[] = {"ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-sha2-"};
        static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
        size_t type, key;
        bool is_one = false;

        for (size_t i = 0; i < ARRAY_SIZE(types); i++)
                is_one |= startswith(text, types[i]) != NULL;
        type = strcspn(text, " ");
        if (!is_one || !text[type] || strcspn(text, "\r\n") < type)
                return 0;
        key = strspn(text + type + 1, letters);
        while (key > 0 && strchr("+/=", text[type + 1 + key]) && text[type + 1 + key])
                key += 1 + strspn(text + type + 2 + key, letters);
        return key > 32 && strchr(" \t\r\n", text[type + 1 + key]) ? type + 1 + key : 0;
}

/* The key itself, as git takes it in the place of a file: *ret, NULL: there is none.  A private key is not
 * opened, only the file beside it. */
static int read_public_key(const struct resolved *s, const char *named, char **ret) {
        const char *literal = startswith(named, "key::"), *in_home = startswith(named, "~/");
        size_t n = length_of_public_key(literal ? literal : named), length = strlen(named);
        bool is_public = length > 4 && streq(named + length - 4, ".pub");
        _cleanup_free_ char *path = NULL, *text = NULL;
        int r;

        if (!literal && n == 0) {
                path = str_concat(in_home && s->home ? s->home : "", in_home ? named + 1 : named,
                                  is_public ? "" : ".pub");
                r = !path                     ? -ENOMEM
                    : !path_is_absolute(path) ? 0
                                              : responds_read(path, PUBLIC_KEY_MAX, &text);
                if (r == -ENOMEM)
                        return r;
                n = text ? length_of_public_key(text) : 0;
                literal = text;
        }
        if (n == 0)
                return 0;
        return asprintf(ret, "key::%.*s", (int)n, literal ? literal : named) < 0 ? -ENOMEM : 0;
}

static void add_setting(struct strbuf *b, const char *name, const char *value) {
        if (value)
                gitconfig_write(b, &(struct gitconfig_entry){name, value});
}

static int say_unsigned(struct resolved_git *git, const char *why) {
        return strv_consume(&git->lacks,
                            str_concat("commits are not signed here: commit.gpgsign is set, and ", why, ""));
}

/* Adds to git->settings what git needs to have commits signed by the agent of --ssh-agent or --gpg-agent:
 * the key's public half, and that they are signed; else to git->lacks that they aren't, if the user has them
 * signed.  -ENOMEM. */
static int git_find_signing(const struct resolved *s, const struct identity *id, struct resolved_git *git) {
        const struct identity_signing *signing = &id->signing;
        bool is_ssh = signing->format && streq(signing->format, "ssh"),
             has_key = signing->key && *signing->key,
             is_gpg = !signing->format || streq(signing->format, "openpgp");
        bool has_agent = s->policy->grants & (1U << (is_ssh ? GRANT_SSH_AGENT : GRANT_GPG_AGENT));
        const char *lacks = !is_ssh && !is_gpg ? "gpg.format is neither ssh nor openpgp"
                            : !has_agent       ? is_ssh ? "no agent: --ssh-agent KEY, as ssh-add -l lists it"
                                                        : "no agent: --gpg-agent"
                            : is_ssh && !has_key ? "user.signingKey isn't"
                                                 : NULL;
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_free_ char *key = NULL;
        int r;

        if (!lacks && is_ssh) {
                r = read_public_key(s, signing->key, &key);
                if (r < 0)
                        return r;
                lacks = key ? NULL : "user.signingKey names no public key";
        }
        if (lacks)
                return signing->commits && id->has_repository ? say_unsigned(git, lacks) : 0;
        strbuf_add(&b, git->settings ? git->settings : "");
        add_setting(&b, "user.signingkey", is_ssh ? key : signing->key);
        add_setting(&b, "gpg.format", signing->format);
        add_setting(&b, "commit.gpgsign", signing->commits ? "true" : NULL);
        add_setting(&b, "tag.gpgsign", signing->tags ? "true" : NULL);
        free(git->settings);
        git->settings = NULL;
        return b.length == 0 || (git->settings = strbuf_finish(&b)) ? 0 : -ENOMEM;
}

static const char option[] = "the project's git dir";

/* A worktree's git dir lies in the repository's, which is writable as a plain repository's .git is: but for
 * what protect/ makes read-only. */
static int git_add_dirs(struct resolved *s, const struct gitdir *g, struct nsrun_error *err) {
        const char *writable = g->common_dir ? g->common_dir : g->git_dir;
        int r = g->is_link ? 0 : resolve_default(s, PLAN_BY_GIT, POLICY_RO, g->dot_git, option, err);

        return r < 0 ? r : resolve_default(s, PLAN_BY_GIT, POLICY_RW, writable, option, err);
}

/* Whether the user exposes the git dir, whatever it says of itself. */
static bool is_exposed(const struct resolved *s, const char *git_dir) {
        for (size_t i = 0; git_dir && i < s->files.n_rules; i++)
                if (!policy_is_default(s->files.rules[i].origin) &&
                    path_is_beneath(git_dir, s->files.rules[i].source))
                        return true;
        return false;
}

static int refuse_git_dir(const struct gitdir *dirs, const char *why, const char *hint,
                          struct nsrun_error *err) {
        _cleanup_free_ char *word = hint ? NULL : str_shell_quote(dirs->git_dir), *expose = NULL;

        if (!hint &&
            (!word || !(expose = str_format("if it is the project's own, expose it: --rw %s", word))))
                return error_oom(err);
        return policy_refuse(err, dirs->dot_git, hint ? hint : expose,
                             "the project's .git can't be believed: %s", why);
}

int git_add_rules(struct resolved *s, struct nsrun_error *err) {
        _cleanup_gitdir_ struct gitdir dirs = {0};
        const char *why = NULL, *hint = NULL;
        int r;

        /* A folder is the project's own. */
        if (!s->project || s->policy->has_workspace || s->git.is_plain)
                return 0;
        r = gitdir_find(s->project, &dirs, &why, &hint);
        if (r == -EPERM && !is_exposed(s, dirs.git_dir))
                return refuse_git_dir(&dirs, why, hint, err);
        if (r == -ENOMEM || r == -ETIMEDOUT)
                return responds_fail(r, NULL, err);
        s->git.is_plain = r == 0 && dirs.git_dir && streq(dirs.git_dir, dirs.dot_git);
        if (r == 0)
                return 0;
        if (r > 0)
                r = git_add_dirs(s, &dirs, err);
        s->git.dir = TAKE_PTR(dirs.git_dir);
        s->git.common_dir = TAKE_PTR(dirs.common_dir);
        return r == -EPERM && why ? 0 : r;
}

/* Whether the committer's name is to be looked up: not where --env or --unsetenv decides one of its
 * variables, and not where the caller's environment has them all. */
static bool is_wanted(const struct resolved *s) {
        const struct nsrun_policy *p = s->policy;
        size_t n_known = 0;

        if (!s->project || p->clean_env)
                return false;
        for (size_t i = 0; i < IDENTITY_N_VARIABLES; i++) {
                if (policy_sets(p, identity_variables[i]) || policy_unsets(p, identity_variables[i]))
                        return false;
                n_known += environment_get(environment_inherited(p), identity_variables[i]) != NULL;
        }
        return n_known < IDENTITY_N_VARIABLES;
}

int git_find_identity(const struct resolved *s, struct resolved_git *git, struct nsrun_error *err) {
        const struct nsrun_policy *p = s->policy;
        _cleanup_identity_ struct identity id = {0};
        _cleanup_strv_ char **writable = NULL;
        struct identity_request request = {.project = s->project,
                                           .has_plain_git = s->git.is_plain,
                                           .has_no_git = s->git.has_none,
                                           .environ = environment_inherited(p)};
        int r = rules_list_writable(s, &writable);

        request.untrusted = writable;
        if (r >= 0)
                r = identity_find(&request, &id);
        git->hooks = TAKE_PTR(id.hooks);
        git->hooks_are_users = id.hooks_are_users;
        git->repositorys_hooks = TAKE_PTR(id.repositorys_hooks);
        git->has_repository = id.has_repository;
        git->included = TAKE_PTR(id.included);
        git->programs = TAKE_PTR(id.programs);
        if (id.overfull)
                return policy_refuse(err, id.overfull,
                                     "include fewer files, and have fewer keys with a program",
                                     "git's configuration names more than nsrun can protect");
        if (r < 0 || !s->project || p->clean_env || (p->has_workspace && !is_wanted(s)))
                return r < 0 ? responds_fail(r, NULL, err) : 0;
        if (p->has_workspace)
                return p->is_env_explicit || strv_copy(p->workspace_env, &git->identity) >= 0
                               ? 0
                               : error_oom(err);
        if (is_wanted(s))
                r = identity_to_environment(&id, &git->identity);
        git->settings = TAKE_PTR(id.settings);
        git->ignores = TAKE_PTR(id.ignores);
        if (r >= 0)
                r = git_find_signing(s, &id, git);
        return r < 0 ? error_oom(err) : 0;
}

/* ------------------------------------------------------------- linked worktrees */

enum {
        WORKTREES_MAX = 64 << 10, /* bytes of all their paths together, */
        WORKTREE_BYTES = 64,      /* and so many of each that is looked at */
};

struct listing_worktrees {
        struct resolved *resolved;
        const char *folder; /* a git dir's "worktrees" */
        size_t n_bytes;
};

/* Whether an empty file may stand at `path` in the sandbox's own folders. */
static bool is_place_of_worktree(const char *path) {
        static const char *const never[] = {"/dev", "/etc", "/proc", "/sys"};

        for (const char *c = path; *c; c++)
                if ((unsigned char)*c < 0x20 || *c == 0x7f)
                        return false;
        return path_is_possible(path) && streq(path_basename(path), ".git") &&
               !path_is_beneath_any(path, never, ARRAY_SIZE(never));
}

/* Whether a worktree's folder lies in the repository's own, which the command of another one can write to,
 * and no rule shows it. */
static bool is_in_repository(const struct listing_worktrees *l, const char *folder) {
        const struct resolved *s = l->resolved;
        const char *below = s->git.common_dir ? path_below(folder, s->git.common_dir) : NULL;
        _cleanup_close_ int top = -EBADF, fd = -EBADF;

        if (!below || !*below)
                return false;
        if (streq(folder, s->project))
                return true;
        for (size_t i = 0; i < s->files.n_rules; i++)
                if (path_is_beneath(folder, s->files.rules[i].source) &&
                    !path_is_beneath(s->git.common_dir, s->files.rules[i].source))
                        return false;
        top = open(s->git.common_dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        fd = top < 0 ? -errno : beneath_open(top, below, O_PATH | O_DIRECTORY, 0);
        return fd >= 0;
}

/* Nothing else of the host's is looked at by the name, which a command may have written. */
static int take_worktree(void *data, int folder, const struct dirent *entry) {
        struct listing_worktrees *l = data;
        _cleanup_close_ int fd =
                openat(folder, entry->d_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        _cleanup_free_ char *base = path_join(l->folder, entry->d_name), *named = NULL, *path = NULL,
                            *tree = NULL;
        int r = fd < 0 ? -errno : base ? gitdir_read_pointer(fd, "gitdir", "", base, &named) : -ENOMEM;

        l->n_bytes += WORKTREE_BYTES;
        if (r >= 0)
                r = (path = path_normalise(named)) ? 0 : -ENOMEM;
        if (r == -ENOMEM)
                return r;
        if (r >= 0 && is_place_of_worktree(path) && !strv_contains(l->resolved->git.worktrees, path)) {
                l->n_bytes += strlen(path);
                tree = path_parent(path);
                if (!tree || (is_in_repository(l, tree) && strv_add(&l->resolved->git.trees, tree) < 0) ||
                    (hide_find(l->resolved, path) && protect_add_everywhere(l->resolved, base, true) < 0) ||
                    strv_consume(&l->resolved->git.worktrees, TAKE_PTR(path)) < 0)
                        return -ENOMEM;
        }
        return l->n_bytes > WORKTREES_MAX ? -E2BIG : 0;
}

static int list_worktrees(struct listing_worktrees *l, const char *git_dir, struct nsrun_error *err) {
        _cleanup_free_ char *folder = path_join(git_dir, "worktrees");
        _cleanup_close_ int fd =
                folder ? responds_open(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0) : -EBADF;
        int r = fd == -ETIMEDOUT ? fd : 0;

        l->folder = folder;
        if (r >= 0)
                r = !folder ? -ENOMEM : fd < 0 ? 0 : folder_read(fd, take_worktree, l);
        return r == -E2BIG
                       ? policy_refuse(err, folder, "remove those that are gone: git worktree prune",
                                       "there are too many linked worktrees for all to be kept from looking "
                                       "deleted inside")
               : r == -ENOMEM || r == -ETIMEDOUT ? responds_fail(r, folder, err)
                                                 : 0;
}

int git_find_worktrees(struct resolved *s, struct nsrun_error *err) {
        struct listing_worktrees l = {.resolved = s};
        int r = 0;

        STRV_FOREACH (git_dir, s->protection.git_dirs)
                if (r >= 0)
                        r = list_worktrees(&l, *git_dir, err);
        /* With --no-protect that list hasn't all. */
        for (size_t i = 0; i < s->files.n_rules && s->policy->no_protect && r >= 0; i++) {
                const struct resolved_rule *rule = &s->files.rules[i];
                _cleanup_free_ char *git_dir = path_join(rule->source, ".git");

                if (!git_dir)
                        return error_oom(err);
                if (rule->access == POLICY_RW && !strv_contains(s->protection.git_dirs, git_dir))
                        r = list_worktrees(&l, git_dir, err);
        }
        return r;
}

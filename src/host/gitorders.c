/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See gitorders.h.  A command may have made all of it: bounded, no symlink is followed, nothing that is
 * named is opened. */
#include "gitorders.h"

#include <fnmatch.h>

#include "base/file.h"
#include "gitdir.h"
#include "subrepositories.h"

enum {
        HARMLESS_MAX = 1024, /* bytes of a value */
        STRATEGY_MAX = 1024, /* git's own are shorter */
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
        "delta.*pager", /* git-delta(1)'s */
        "diff.*.command",
        "diff.*.textconv",
        "diff.*tool",
        "diff.external",
        "difftool.*.cmd",
        "difftool.*.path",
        "filter.*.clean",
        "filter.*.process",
        "filter.*.smudge",
        "gc.recentobjectshook",
        "gitflow.path.hooks", /* git-flow(1)'s */
        "gpg.*.defaultkeycommand",
        "gpg.*program",
        "gpg.program",
        "guitool.*.cmd",
        "hook.*.command",
        "http.*cookiefile", /* of http.saveCookies, which write it wherever it is */
        "imap.tunnel",
        "include.path",
        "includeif.*.path",
        "init.templatedir",
        "instaweb.httpd",
        "instaweb.modulepath",
        "interactive.difffilter",
        "lfs.customtransfer.*.path",
        "lfs.extension.*",
        "man.*.cmd",
        "man.*.path",
        "merge.*.driver",
        "merge.*tool",
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
        "tig.*", /* tig(1)'s, which may bind a key to a command */
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
        /* A name of a script of git's own, which its shell reads from wherever a path leads. */
        if (!strchr(value, '/') &&
            (fnmatch("diff.*tool", entry->name, 0) == 0 || fnmatch("merge.*tool", entry->name, 0) == 0))
                return false;
        if (streq(entry->name, "core.fsmonitor") &&
            (strcasecmp(value, "true") == 0 || strcasecmp(value, "false") == 0))
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
                if (*keys[i] == *entry->name && fnmatch(keys[i], entry->name, 0) == 0)
                        return true;
        return false;
}

bool gitorders_names_path(const struct gitconfig_entry *entry) {
        return streq(entry->name, "core.hookspath") || streq(entry->name, "core.attributesfile") ||
               streq(entry->name, "init.templatedir") || streq(entry->name, "gitflow.path.hooks");
}

/* ------------------------------------------------------------------ harmless ones */

/* git-config(1)'s keys that say how git works and prints. */
static const char *const harmless_keys[] = {
        "advice.*",
        "apply.whitespace",
        "blame.coloring",
        "blame.date",
        "blame.showemail",
        "blame.showroot",
        "branch.autosetupmerge",
        "branch.autosetuprebase",
        "branch.sort",
        "checkout.defaultremote",
        "checkout.guess",
        "clean.requireforce",
        "color.*",
        "column.*",
        "commit.cleanup",
        "commit.status",
        "commit.verbose",
        "core.abbrev",
        "core.autocrlf",
        "core.commentchar",
        "core.eol",
        "core.logallrefupdates",
        "core.precomposeunicode",
        "core.quotepath",
        "core.safecrlf",
        "core.untrackedcache",
        "core.whitespace",
        "diff.algorithm",
        "diff.colormoved",
        "diff.colormovedws",
        "diff.context",
        "diff.indentheuristic",
        "diff.interhunkcontext",
        "diff.mnemonicprefix",
        "diff.noprefix",
        "diff.renamelimit",
        "diff.renames",
        "diff.submodule",
        "diff.wserrorhighlight",
        "fetch.prune",
        "fetch.prunetags",
        "format.pretty",
        "grep.column",
        "grep.extendedregexp",
        "grep.fullname",
        "grep.linenumber",
        "grep.patterntype",
        "help.autocorrect",
        "init.defaultbranch",
        "log.abbrevcommit",
        "log.date",
        "log.decorate",
        "log.follow",
        "log.mailmap",
        "log.showroot",
        "merge.branchdesc",
        "merge.conflictstyle",
        "merge.ff",
        "merge.log",
        "merge.renamelimit",
        "merge.renames",
        "merge.stat",
        "pull.ff",
        "pull.rebase",
        "push.autosetupremote",
        "push.default",
        "push.followtags",
        "rebase.abbreviatecommands",
        "rebase.autosquash",
        "rebase.autostash",
        "rebase.missingcommitscheck",
        "rebase.stat",
        "rebase.updaterefs",
        "rerere.autoupdate",
        "rerere.enabled",
        "stash.showincludeuntracked",
        "stash.showpatch",
        "stash.showstat",
        "status.aheadbehind",
        "status.branch",
        "status.displaycommentprefix",
        "status.relativepaths",
        "status.renames",
        "status.short",
        "status.showstash",
        "status.showuntrackedfiles",
        "status.submodulesummary",
        "submodule.recurse",
        "tag.sort",
        "user.useconfigonly",
        "versionsort.suffix",
};

/* Letters, digits and what `others` has. */
static bool has_plain_only(const char *value, const char *others) {
        for (const char *c = value; *c; c++)
                if (!(*c >= 'a' && *c <= 'z') && !(*c >= 'A' && *c <= 'Z') && !(*c >= '0' && *c <= '9') &&
                    !strchr(others, *c))
                        return false;
        return true;
}

/* An alias of git's own commands, without what could hold an address, a header or a password: settings that
 * it makes (-c), and lines for the shell ("!"). */
static bool is_harmless_alias(const char *value) {
        return value && has_plain_only(value, " -=%^~,./") && !startswith(value, "-c") &&
               !strstr(value, " -c") && !strstr(value, "config");
}

/* Whether an address, or its beginning, starts no program ("ext::", a host that begins with "-") and holds
 * no password: http's has no user at all, who may be a token. */
static bool is_harmless_address(const char *address, size_t n) {
        static const char *const schemes[] = {"https://", "http://", "ssh://", "git://", "file://"};
        _cleanup_free_ char *text = strndup(address, n);
        const char *host = NULL, *at;
        bool is_url;
        size_t length;

        if (!text || !has_plain_only(text, "@:/.-_~+%") || strstr(text, "::") || strstr(text, "/-"))
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(schemes) && !host; i++)
                host = startswith(text, schemes[i]);
        /* Else "user@host:path". */
        is_url = host;
        host = host ? host : text;
        length = strcspn(host, is_url ? "/" : ":/");
        if (!is_url && (*text == '-' || text[length] != ':'))
                return false;
        at = strchr(text, '@');
        return !at || (!startswith(text, "http") && (size_t)(at - host) < length && at[1] != '-' &&
                       !strchr(at + 1, '@') && !memchr(host, ':', (size_t)(at - host)));
}

static bool is_harmless_url(const struct gitconfig_entry *entry) {
        const char *url;
        size_t n;

        return entry->value &&
               (gitconfig_is_in(entry->name, "url", "insteadof", &url, &n) ||
                gitconfig_is_in(entry->name, "url", "pushinsteadof", &url, &n)) &&
               is_harmless_address(url, n) && has_plain_only(entry->value, "@:/.-_~+%") &&
               !(strchr(entry->value, '@') && startswith(entry->value, "http"));
}

bool gitorders_is_harmless(const struct gitconfig_entry *entry) {
        if (entry->value && strlen(entry->value) > HARMLESS_MAX)
                return false;
        if (is_harmless_url(entry))
                return true;
        if (startswith(entry->name, "alias.") && !strchr(entry->name + strlen("alias."), '.'))
                return is_harmless_alias(entry->value);
        if (entry->value && !has_plain_only(entry->value, " -=%^~,.:;#()<>*+_|\\\"'"))
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(harmless_keys); i++)
                if (fnmatch(harmless_keys[i], entry->name, 0) == 0)
                        return true;
        return false;
}

/* ------------------------------------------------------------------ a git dir */

int gitorders_read(int git_dir, int (*found)(void *data, const struct gitconfig_entry *entry), void *data) {
        static const char *const names[] = {"config", "config.worktree"};
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(names) && r == 0; i++) {
                r = gitdir_read_config(git_dir, names[i], found, data);
                if (r == -ENOENT)
                        r = 0;
        }
        return r;
}

static bool is_own_strategy(const char *name) {
        static const char *const own[] = {"ort", "recursive", "resolve", "octopus", "ours", "subtree"};

        for (size_t i = 0; i < ARRAY_SIZE(own); i++)
                if (streq(name, own[i]))
                        return true;
        return false;
}

/* -ENOENT: there is none. */
static int open_orders(int git_dir, const char *name) {
        int fd = openat(git_dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        return fd < 0 ? -ENOENT : fd;
}

bool gitorders_has_rebase_strategy(int git_dir) {
        _cleanup_close_ int folder = open_orders(git_dir, "rebase-merge");
        _cleanup_free_ char *text = NULL;
        int r = folder < 0 ? folder : read_small_file(folder, "strategy", O_NOFOLLOW, STRATEGY_MAX, &text);
        size_t n = r < 0 ? 0 : strlen(text);

        /* Of more lines git takes all for the name. */
        if (n > 0 && text[n - 1] == '\n')
                text[n - 1] = '\0';
        return r < 0 ? r != -ENOENT : !is_own_strategy(text);
}

static int take_strategy(nsrun_unused void *data, const struct gitconfig_entry *entry) {
        return streq(entry->name, "options.strategy") && entry->value && !is_own_strategy(entry->value);
}

bool gitorders_has_pick_strategy(int git_dir) {
        _cleanup_close_ int folder = open_orders(git_dir, "sequencer");
        int r = folder < 0 ? folder : gitdir_read_config(folder, "opts", take_strategy, NULL);

        return r != 0 && r != -ENOENT;
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
        if (gitorders_has_pick_strategy(git_dir))
                carried |= GITORDERS_STRATEGY;
        walk.data = &carried;
        if (gitwalk(&walk, git_dir, ".", "", true) < 0 || walk.is_cut)
                carried |= GITORDERS_LINKS;
        return carried;
}

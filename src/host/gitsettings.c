/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See gitsettings.h. */
#include "gitsettings.h"

#include <fnmatch.h>

enum {
        GITSETTINGS_VALUE_MAX = 1024,
};

/* git-config(1)'s. */
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

bool gitsettings_is_harmless(const struct gitconfig_entry *entry) {
        if (entry->value && strlen(entry->value) > GITSETTINGS_VALUE_MAX)
                return false;
        if (startswith(entry->name, "alias.") && !strchr(entry->name + strlen("alias."), '.'))
                return is_harmless_alias(entry->value);
        if (entry->value && !has_plain_only(entry->value, " -=%^~,.:;#()<>*+_|\\\"'"))
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(harmless_keys); i++)
                if (fnmatch(harmless_keys[i], entry->name, 0) == 0)
                        return true;
        return false;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The patterns of a .gitignore file, as gitignore(5) has them, and git's globs wherever it has some.  Pure:
 * which files are read, and which of them has the last word, is decided elsewhere. */
#pragma once

#include "base/macro.h"

struct gitignore_rule {
        const char *pattern; /* of `length` bytes, and without what the fields below say */
        size_t length;
        bool is_negated;     /* "!": what an earlier rule ignores isn't */
        bool is_for_folders; /* it ended with a slash */
        bool is_anchored;    /* it has another slash, so it is of whole paths; else of names */
};

/* One file's rules. */
struct gitignore {
        char *text;
        struct gitignore_rule *rules;
        size_t n;
};

/* Takes over `text`, after a failure too.  -ENOMEM. */
int gitignore_parse(char *text, struct gitignore *ret);
void gitignore_clear(struct gitignore *g);
#define _cleanup_gitignore_ _cleanup_(gitignore_clear)

enum gitignore_says {
        GITIGNORE_NOTHING, /* no rule is about it */
        GITIGNORE_IGNORED,
        GITIGNORE_KEPT, /* by a negated rule */
};

/* What the last rule says that is about `path`, relative to the file's folder.  About folders above it other
 * questions are to be asked: beneath an ignored one nothing can be kept. */
enum gitignore_says gitignore_ask(const struct gitignore *g, const char *path, bool is_folder);

/* Whether a glob of `n` bytes matches all of `text`.  '*', '?' and [sets], with classes such as [:digit:],
 * match no slash, "**" as a component matches any number of components.  Where `crosses` is true all of
 * these match slashes, too, as in git's pathspecs.  No pattern takes exponential time. */
bool gitignore_glob(const char *pattern, size_t n, const char *text, bool crosses);

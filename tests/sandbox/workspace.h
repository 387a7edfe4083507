/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of workspaces share: making one, and a git that counts how often it
 * is asked. */
#pragma once

#include "library.h"

static inline struct nsrun_workspace *make_workspace(const struct site *s) {
        struct nsrun_workspace *w = NULL;
        struct nsrun_error err = {0};

        expect_good(nsrun_workspace_new(s->project, &w, &err), &err);
        return w;
}

/* A home whose git configuration only git itself can tell, and a git that counts. */
static inline void set_git(const struct site *s) {
        _cleanup_free_ char *bin = path_of(s->root, "bin"), *git = path_of(bin, "git"),
                            *count = path_of(s->root, "count");
        _cleanup_free_ char *path = text_of("%s:%s", bin, getenv("PATH"));
        _cleanup_free_ char *script =
                text_of("#!/bin/sh\necho asked >>'%s'\n"
                        "printf 'user.name\\nA U Thor\\0user.email\\na@example.org\\0'\n",
                        count);

        make_folder(s->root, "bin");
        make_file(bin, "git", script);
        assert_int_equal(chmod(git, 0755), 0);
        make_file(s->home, ".gitconfig", "[include]\n\tpath = more\n");
        assert_int_equal(setenv("PATH", path, 1), 0);
}

static inline void expect_asked(const struct site *s, const char *text) {
        _cleanup_free_ char *path = path_of(s->root, "count"), *found = file_text(path);

        if (!text)
                assert_null(found);
        else
                assert_string_equal(found, text);
}

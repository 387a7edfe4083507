/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of workspaces share: making one, and a home that says who commits. */
#pragma once

#include "library.h"

static inline struct nsrun_workspace *make_workspace(const struct site *s) {
        struct nsrun_workspace *w = NULL;
        struct nsrun_error err = {0};

        expect_good(nsrun_workspace_new(s->project, &w, &err), &err);
        return w;
}

/* Says who commits, in a file that ~/.gitconfig includes; and puts a git into PATH that leaves a
 * file if anybody starts it. */
static inline void set_git(const struct site *s) {
        _cleanup_free_ char *bin = path_of(s->root, "bin"), *git = path_of(bin, "git"),
                            *count = path_of(s->root, "started");
        _cleanup_free_ char *path = text_of("%s:%s", bin, getenv("PATH"));
        _cleanup_free_ char *script = text_of("#!/bin/sh\n: >'%s'\n", count);

        make_folder(s->root, "bin");
        make_file(bin, "git", script);
        assert_int_equal(chmod(git, 0755), 0);
        make_file(s->home, ".gitconfig", "[include]\n\tpath = more\n");
        make_file(s->home, "more", "[user]\nname=A U Thor\nemail=a@example.org\n");
        assert_int_equal(setenv("PATH", path, 1), 0);
}

static inline void expect_no_git(const struct site *s) {
        _cleanup_free_ char *path = path_of(s->root, "started");

        assert_int_equal(access(path, F_OK), -1);
}

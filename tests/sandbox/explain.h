/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A host with something to ask for, and commands that `nsrun run --explain` is told of. */
#pragma once

#include <sys/resource.h>

#include "harness.h"

/* The text with H, P and O after a '%' replaced by the home, the project and the folder outside. */
static inline char *in_site(const struct site *s, const char *text) {
        _cleanup_free_ char *home = replaced(text, "%H", s->home),
                            *project = replaced(home, "%P", s->project);

        return replaced(project, "%O", s->outside);
}

static inline void make_host(const struct site *s) {
        _cleanup_free_ char *tool = path_of(s->outside, "tool");
        struct rlimit cores;

        make_file(s->outside, "data", "x");
        make_file(s->outside, "tool", "#!/bin/sh\n");
        assert_int_equal(chmod(tool, 0755), 0);
        make_folder(s->home, "work");
        make_folder(s->home, ".ssh");
        make_file(s->project, ".envrc", "");
        make_folder(s->project, ".git/objects");
        make_folder(s->project, ".git/refs");
        make_folder(s->project, ".git/hooks");
        make_file(s->project, ".git/HEAD", "ref: refs/heads/main\n");
        make_file(s->project, ".git/config", "[core]\n\tbare = false\n");
        make_file(s->project, ".env.local", "x");
        make_file(s->project, "plain", "x");
        make_file(s->home, "loose", "x");
        make_file(s->home, ".gitconfig", "");
        make_folder(s->home, ".config");
        assert_int_equal(setenv("SSH_AUTH_SOCK", tool, 1), 0);
        assert_int_equal(getrlimit(RLIMIT_CORE, &cores), 0);
        cores.rlim_cur = cores.rlim_max;
        /* Else a sanitized nsrun has none of its own. */
        assert_int_equal(setenv("ASAN_OPTIONS", "disable_coredump=0", 1), 0);
        assert_int_equal(setrlimit(RLIMIT_CORE, &cores), 0);
}

/* Runs a shell's command with --explain and an option. */
static inline void explained(const struct site *s, struct outcome *ret, const char *option,
                             const char *command) {
        _cleanup_free_ char *own_option = in_site(s, option ? option : "--net=host"),
                            *own_command = in_site(s, command);

        RUN(s, ret, "--explain", own_option, "--", "sh", "-c", own_command);
}

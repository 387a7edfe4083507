/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs on a staged host, for the tests of hosts that don't give a sandbox what it needs. */
#pragma once

#include <sys/mount.h>

#include "faults.h"
#include "stage.h"

struct host {
        const struct site *site;
        const char *path; /* what the stage is about */
        const char *text;
        const char *folder; /* where things are mounted */
};

/* Runs a command on a stage, behind a filter where `calls` is not NULL. */
static inline void run_command_on(const struct site *s, void (*stage)(void *), struct host *host,
                                  const char *calls, const char *const *command, struct outcome *ret) {
        _cleanup_free_ char *deny = helper_path("deny"), *number = text_of("%d", EPERM);
        _cleanup_free_ const char **argv = words_of(OPTIONS(deny, number, calls ? calls : ""), command);

        host->site = s;
        outcome_clear(ret);
        run(
                &(struct request){
                        .argv = calls ? argv : argv + 3, .cwd = s->root, .in_child = stage, .data = host},
                ret);
}

/* `nsrun run --project PROJECT OPTIONS… -- sh -c SCRIPT` there. */
static inline void run_on(const struct site *s, void (*stage)(void *), struct host *host, const char *calls,
                          const char *const *options, const char *script, struct outcome *ret) {
        _cleanup_free_ const char **command = words_of(OPTIONS(program(), "run", "--project", s->project),
                                                       options, OPTIONS("--", "sh", "-c", script));

        run_command_on(s, stage, host, calls, command, ret);
}

static inline void expect_fine(const struct outcome *o) {
        expect_status(o, 0);
        expect_out(o, "fine\n");
        assert_string_equal(o->err, "");
}

static inline void stage_plain(nsrun_unused void *data) {
        stage_enter();
}

/* An overlay can't be another one's upper. */
static inline void stage_overlaid_cache(void *data) {
        const struct host *host = data;
        const char *const parts[] = {"lower", "upper", "work"};
        _cleanup_free_ char *options =
                text_of("userxattr,lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work", host->folder,
                        host->folder, host->folder);

        stage_enter();
        stage_tmpfs(host->folder, 0);
        for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
                make_folder(host->folder, parts[i]);
        if (mount("overlay", host->site->cache, "overlay", 0, options) < 0)
                stage_fail("an overlay");
}

static inline void stage_read_only_cache(void *data) {
        const struct host *host = data;

        stage_enter();
        stage_tmpfs(host->site->cache, MS_RDONLY);
}

static inline void stage_mounted(void *data) {
        const struct host *host = data;

        stage_enter();
        stage_tmpfs(host->folder, 0);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "patch.h"

#include "base/stream.h"
#include "base/sys.h"
#include "policy/policy.h"

enum {
        NO_GIT = 127
};

/* fast-import refuses names that are .git on other systems: here they are no such.  A bare repository has no
 * attributes. */
static const char script[] =
        "command -v git >/dev/null || exit 127; exec 2>/dev/null; "
        "git init -q --bare --template= && git -c core.protectNTFS=false -c core.protectHFS=false "
        "-c core.compression=0 -c fastimport.unpackLimit=0 fast-import --quiet && exec git diff-tree -r -M --no-rename-empty "
        "--no-color --no-ext-diff --no-textconv $1 refs/heads/old refs/heads/new";

static const char *const settings[][2] = {
        {"no-project", NULL},
        {"clean-env", NULL},
        {"net", "none"},
        {"limit", "cputime=60:61"}, /* what a session wrote may take git for ever */
        {"env", "GIT_DIR=/tmp/changes"},
        {"env", "GIT_CONFIG_NOSYSTEM=1"},
        {"env", "GIT_CONFIG_GLOBAL=/dev/null"},
        {"env", "GIT_ATTR_NOSYSTEM=1"},
};

static int plan_git(const char *form, struct nsrun_plan **ret, struct nsrun_error *err) {
        const char *const argv[] = {"/bin/sh", "-c", script, "sh", form, NULL};
        struct nsrun_policy *policy = NULL;
        int r = nsrun_policy_new(&policy) < 0 ? error_oom(err) : 0;

        for (size_t i = 0; i < ARRAY_SIZE(settings) && r >= 0; i++)
                r = nsrun_policy_set(policy, settings[i][0], settings[i][1], err);
        /* Neither toolchains nor git's files of the user's are shown. */
        if (r >= 0)
                policy->has_workspace = true;
        if (r >= 0)
                r = nsrun_policy_set_command(policy, argv, err);
        if (r >= 0)
                r = nsrun_plan_new(policy, ret, err);
        (void)nsrun_policy_free(policy);
        return r;
}

/* Runs git; *ret_status is its own. */
static int run_git(const char *form, int in, int out, int *ret_status, struct nsrun_error *err) {
        struct nsrun_start_options options = NSRUN_START_OPTIONS_INIT;
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_plan *plan = NULL;
        struct nsrun_exit end = {.code = 0};
        int r = plan_git(form, &plan, err);

        options.stdio[0] = in;
        options.stdio[1] = options.stdio[2] = out;
        if (r >= 0)
                r = nsrun_start(plan, &options, &sandbox, err);
        if (r >= 0)
                r = nsrun_sandbox_wait(sandbox, &end, err);
        (void)nsrun_sandbox_free(sandbox);
        (void)nsrun_plan_free(plan);
        *ret_status = end.signal ? 128 + end.signal : end.code;
        return r;
}

static int copy_out(int fd, FILE *to) {
        char block[16384];
        ssize_t n;

        if (lseek(fd, 0, SEEK_SET) < 0)
                return -errno;
        while ((n = sys_read(fd, block, sizeof(block))) > 0)
                if (fwrite(block, 1, (size_t)n, to) != (size_t)n)
                        return -EIO;
        return (int)n;
}

/* What git is to read, in a file in memory; and the lines beside it. */
static int export_changes(struct changes_export *asked, const struct changes_layer *layer,
                          const struct changes *c, int *ret) {
        _cleanup_close_ int fd = sys_memfd("changes");
        int r = fd < 0 ? fd : stream_open(fd, &asked->stream);

        if (r < 0)
                return r;
        r = changes_export(asked, layer, c);
        if (fclose(asked->stream) != 0 && r >= 0)
                r = -errno;
        if (r >= 0 && lseek(fd, 0, SEEK_SET) < 0)
                r = -errno;
        if (r >= 0)
                *ret = TAKE_FD(fd);
        return r;
}

static int patch_fail(int r, const char *target, struct nsrun_error *err) {
        if (r == -ESTALE)
                return error_set(err, NSRUN_STAGE_OVERLAY, r, target,
                                 "it changed again while it was being looked at", "try again");
        return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "the changes can't be printed", NULL);
}

int patch_print(FILE *to, enum nsrun_diff form, const char *target, const struct changes_layer *layer,
                const struct changes *c, char *const *paths, struct nsrun_error *err) {
        const bool counts = form == NSRUN_DIFF_STAT;
        struct changes_export asked = {.aside = to, .counts = counts, .paths = paths};
        _cleanup_close_ int in = -EBADF, out = sys_memfd("diff");
        int status = 0, r = out < 0 ? out : export_changes(&asked, layer, c, &in);

        if (r < 0)
                return patch_fail(r, target, err);
        r = run_git(counts ? "--stat=1000,900,0 --stat-graph-width=10" : "-p", in, out, &status, err);
        if (r < 0)
                return r;
        if (status == NO_GIT) {
                (void)fputs("# there is no git, which makes patches and counts lines: these have changed\n",
                            to);
                r = changes_print_list(to, c, paths);
        } else if (status == 128 + SIGXCPU)
                return error_set(err, NSRUN_STAGE_SUPERVISE, UNSAID(-ETIMEDOUT), NULL,
                                 "git has worked at the patch for a minute",
                                 "name fewer paths, or leave --patch out");
        else if (status != 0)
                return error_setf(err, NSRUN_STAGE_SUPERVISE, -EIO, "git", NULL,
                                  "it makes no patch of the changes: its status is %d", status);
        else
                r = copy_out(out, to);
        return r < 0 ? patch_fail(r, target, err) : 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See head_moved.h.  The reflog is the command's to write: of it an object's name is taken, and only as far
 * as git knows that. */
#include "head_moved.h"

#include "base/beneath.h"
#include "base/file.h"
#include "base/loop.h"
#include "base/path.h"
#include "base/sys.h"

enum {
        OUTPUT_MAX = 64 * 1024,
        PATHS_MAX = 8,
        PATIENCE_MS = 10000, /* a folder of the command's may keep git for ever */
};

/* Two lists that end with an empty name: what the way from the old HEAD changed, what differs now. */
static const char script[] =
        "export GIT_OPTIONAL_LOCKS=0 GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_COUNT=2 "
        "GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' GIT_CONFIG_KEY_1=core.fsmonitor "
        "GIT_CONFIG_VALUE_1=false; cd \"$1\" && old=$2 && shift 2 || exit 1\n"
        "list() { git diff --name-only -z --no-renames --no-ext-diff --no-textconv --ignore-submodules=all "
        "\"$@\" && printf '\\0'; }\n"
        "list \"$old\" HEAD -- \"$@\" && list HEAD -- \"$@\"";

void head_clear(struct head_moved *h) {
        free(h->project);
        free(h->git_dir);
        free(h->common_dir);
        strv_free(h->names);
        *h = (struct head_moved){0};
}

/* HEAD's reflog, which may be anything; -1: there is no plain file. */
static off_t open_log(const struct head_moved *h, int *ret) {
        _cleanup_free_ char *path = str_concat(h->git_dir, "/", "logs/HEAD");
        _cleanup_close_ int fd = path ? beneath_open_canonical(path, O_PATH) : -ENOMEM;
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
                return -1;
        if (ret)
                *ret = open(fd_link(fd).path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        return st.st_size;
}

int head_begin(const struct nsrun_plan *plan, struct head_moved *ret) {
        struct head_moved h = {0};
        int r = 0;

        if (!plan->project || !plan->protected)
                return 0;
        h.project = strdup(plan->project);
        h.git_dir = plan->git_dir ? strdup(plan->git_dir) : str_concat(plan->project, "/", ".git");
        h.common_dir = plan->git_common_dir ? strdup(plan->git_common_dir) : NULL;
        if (!h.project || !h.git_dir || (plan->git_common_dir && !h.common_dir))
                r = -ENOMEM;
        h.size = r >= 0 ? open_log(&h, NULL) : r;
        /* Where there is no log yet, none of these is looked for. */
        STRV_FOREACH (entry, h.size >= 0 ? plan->protected : NULL) {
                const char *name = startswith(*entry, plan->project);

                name = name ? startswith(name, "//") : NULL;
                if (name && r >= 0 && !startswith(name, ".git/") && !streq(name, ".git") &&
                    !str_is_pattern(name))
                        r = strv_add(&h.names, name);
        }
        if (r < 0 || !h.names)
                head_clear(&h);
        *ret = h;
        return r < 0 ? -ENOMEM : 0;
}

/* The object's name with which the first line begins that is new: 0 where there is none. */
static int read_old(const struct head_moved *h, char old[65]) {
        _cleanup_close_ int fd = -EBADF;
        ssize_t n;

        if (open_log(h, &fd) <= h->size || fd < 0 || (n = pread(fd, old, 64, h->size)) < 40)
                return 0;
        old[n] = '\0';
        n = (ssize_t)strspn(old, "0123456789abcdef");
        old[n] = '\0';
        return (n == 40 || n == 64) && strspn(old, "0") < (size_t)n;
}

static int plan_look(const struct head_moved *h, const char *old, struct nsrun_plan **ret) {
        const char *const shown[] = {h->project, h->git_dir, h->common_dir};
        _cleanup_strv_ char **argv = NULL;
        struct nsrun_policy *policy = NULL;
        const char *const begin[] = {"/bin/sh", "-c", script, "sh", h->project, old};
        int r = nsrun_policy_new(&policy);

        for (size_t i = 0; i < ARRAY_SIZE(begin) && r >= 0; i++)
                r = strv_add(&argv, begin[i]);
        STRV_FOREACH (name, h->names)
                if (r >= 0)
                        r = strv_add(&argv, *name);
        if (r >= 0)
                r = nsrun_policy_set(policy, "no-project", NULL, NULL);
        if (r >= 0)
                r = nsrun_policy_set(policy, "clean-env", NULL, NULL);
        if (r >= 0)
                r = nsrun_policy_set(policy, "net", "none", NULL);
        for (size_t i = 0; i < ARRAY_SIZE(shown) && r >= 0; i++)
                if (shown[i] && (i == 0 || !path_is_beneath(shown[i], h->project)))
                        r = nsrun_policy_set(policy, "ro", shown[i], NULL);
        /* Neither toolchains nor git's files of the user's are shown. */
        if (r >= 0)
                policy->has_workspace = true;
        if (r >= 0)
                r = nsrun_policy_set_command(policy, (const char *const *)argv, NULL);
        if (r >= 0)
                r = nsrun_plan_new(policy, ret, NULL);
        (void)nsrun_policy_free(policy);
        return r;
}

/* What git printed, in a file in memory. */
static int ask_git(const struct head_moved *h, const char *old, int out) {
        _cleanup_close_ int none = open("/dev/null", O_RDWR | O_CLOEXEC);
        const struct nsrun_start_options options = {.size = sizeof(options), .stdio = {none, out, none}};
        struct nsrun_exit end = {.code = 1};
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_plan *plan = NULL;
        int r = plan_look(h, old, &plan);

        if (r >= 0)
                r = nsrun_start(plan, &options, &sandbox, NULL);
        if (r >= 0 && loop_await(nsrun_sandbox_pidfd(sandbox), POLLIN, PATIENCE_MS) <= 0)
                (void)nsrun_sandbox_kill(sandbox, SIGKILL);
        if (r >= 0)
                r = nsrun_sandbox_wait(sandbox, &end, NULL);
        (void)nsrun_sandbox_free(sandbox);
        (void)nsrun_plan_free(plan);
        return r < 0 ? r : end.code == 0 && end.signal == 0 ? 0 : -EIO;
}

/* The names of a list, and where the next one begins; NULL: it has no end. */
static const char *next_list(const char *at, const char *end, char ***ret) {
        while (at < end && *at) {
                if (ret && strv_add(ret, at) < 0)
                        return NULL;
                at += strlen(at) + 1;
        }
        return at < end ? at + 1 : NULL;
}

static int tell_paths(char *const *changed, char *const *differing,
                      int (*found)(void *data, const struct nsrun_error *note), void *data) {
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_free_ char *paths = NULL;
        struct nsrun_error note = {0};
        size_t n = 0;

        STRV_FOREACH (path, differing) {
                _cleanup_free_ char *quoted = NULL;

                if (!strv_contains(changed, *path) || n++ >= PATHS_MAX)
                        continue;
                quoted = str_shell_quote(*path);
                strbuf_addf(&b, " %s", quoted ? quoted : "");
        }
        paths = strbuf_finish(&b);
        if (n == 0 || !paths)
                return paths ? 0 : -ENOMEM;
        (void)error_setf(&note, NSRUN_STAGE_SUPERVISE, 0, NULL, NULL,
                         "HEAD moved, and %zu protected file%s stayed on the host: a commit "
                         "would take back what HEAD has",
                         n, n == 1 ? "" : "s");
        (void)snprintf(note.hint, sizeof(note.hint), "git checkout HEAD --%s%s", paths,
                       n > PATHS_MAX ? " (and others)" : "");
        return found(data, &note);
}

int head_end(struct head_moved *h, int (*found)(void *data, const struct nsrun_error *note), void *data) {
        _cleanup_strv_ char **changed = NULL, **differing = NULL;
        _cleanup_free_ char *text = NULL;
        _cleanup_close_ int out = -EBADF;
        char old[65];
        const char *next;
        size_t n = 0;
        int r = 0;

        if (h->project && read_old(h, old) > 0) {
                out = sys_memfd("changes");
                text = malloc(OUTPUT_MAX);
                r = !text ? -ENOMEM : out < 0 ? out : ask_git(h, old, out);
                if (r >= 0 && lseek(out, 0, SEEK_SET) >= 0)
                        r = read_full(out, text, OUTPUT_MAX, &n);
                /* What ends in the middle of a list is more than a person reads. */
                next = r < 0 || n == 0 || text[n - 1] ? NULL : next_list(text, text + n, &changed);
                if (next && next_list(next, text + n, &differing))
                        r = tell_paths(changed, differing, found, data);
        }
        head_clear(h);
        return r;
}

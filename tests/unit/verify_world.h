/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plans that nsrun makes, for the tests of plan/verify.c. */
#pragma once

#include "scratch.h"

#include <limits.h>
#include <linux/filter.h>
#include <sched.h>

#include "base/path.h"
#include "launch/launch.h"
#include "plan/verify.h"

enum {
        PLANS_MOST = 16,
        PROBES_MOST = 48,
};

struct world {
        char *top;
        char *probes[PROBES_MOST];
        size_t n_probes;
        struct nsrun_plan *plans[PLANS_MOST];
        const char *names[PLANS_MOST];
        size_t n;
};

/* ------------------------------------------------------------------ good plans */

static char *in(const struct world *w, const char *path) {
        return path[0] == '/' ? strdup(path) : scratch_path(w->top, path);
}

static void add_plan(struct world *w, const char *name, bool is_session, const char *const *options) {
        struct nsrun_policy *p = NULL;
        struct nsrun_error err = {0};

        assert_true(w->n < PLANS_MOST);
        assert_int_equal(nsrun_policy_new(&p), 0);
        assert_int_equal(nsrun_policy_set_command(p, (const char *const[]){"true", NULL}, NULL), 0);
        for (; *options; options += 2) {
                const char *text = *options[1] ? options[1] : NULL;
                char *path = text && strchr(text, '/') ? in(w, text) : NULL;

                if (nsrun_policy_set(p, options[0], path ? path : text, &err) < 0)
                        fail_msg("%s", nsrun_error_format(&err));
                free(path);
        }
        if (plan_make(&(struct policy_request){.policy = p, .is_session = is_session}, &w->plans[w->n],
                      &err) < 0)
                fail_msg("%s: %s", name, nsrun_error_format(&err));
        (void)nsrun_policy_free(p);
        w->names[w->n++] = name;
}
#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Files of the host, each of which is looked for afterwards. */
static const char host[] =
        "home/.ssh/key home/.aws/credentials home/.cargo/registry/x home/.claude/settings.json home/file "
        "home/p/.git/HEAD home/p/.git/config home/p/.git/hooks/x home/p/.git/objects/x home/p/.git/refs/x "
        "home/p/.bashrc home/p/secret.key home/p/d/other.key home/p/sub/.git/HEAD home/p/sub/.git/config "
        "home/p/sub/.git/hooks/x home/p/sub/file home/repo/.git/HEAD home/repo/.git/config "
        "home/repo/.git/hooks/x home/repo/.git/objects/x home/repo/.git/refs/x "
        "home/repo/.git/worktrees/wt/HEAD home/repo/.git/worktrees/wt/hooks/x "
        "home/repo/.git/worktrees/wt/commondir home/repo/.git/worktrees/wt/gitdir home/wt/.git home/wt/file "
        "data/file other/file layered/file cache/nsrun/file state/nsrun/exposed runtime/nsrun/sessions/file "
        "/run/docker.sock /usr/bin/true /etc/shadow /etc/ssl/certs/x /root/file /proc/1/environ /dev/sda";

static void make_host(struct world *w) {
        char *names = strdup(host), *next = names, *name, *text = NULL;

        assert_non_null(names);
        while ((name = strsep(&next, " "))) {
                assert_true(w->n_probes < PROBES_MOST);
                w->probes[w->n_probes++] = in(w, name);
                if (name[0] != '/')
                        scratch_file(w->top, name, "");
        }
        free(names);
        scratch_file(w->top, "home/p/.git/HEAD", "ref: refs/heads/main\n");
        scratch_file(w->top, "home/repo/.git/worktrees/wt/commondir", "../..\n");
        assert_true(asprintf(&text, "gitdir: %s/home/repo/.git/worktrees/wt\n", w->top) > 0);
        scratch_file(w->top, "home/wt/.git", text);
        free(text);
        assert_true(asprintf(&text, "%s/home/wt/.git\n", w->top) > 0);
        scratch_file(w->top, "home/repo/.git/worktrees/wt/gitdir", text);
        free(text);
}

static int make_world(void **state) {
        static const char *const variables[][2] = {{"HOME", "home"},
                                                   {"XDG_CACHE_HOME", "cache"},
                                                   {"XDG_STATE_HOME", "state"},
                                                   {"XDG_RUNTIME_DIR", "runtime"}};
        struct world *w = calloc(1, sizeof(*w));

        assert_non_null(w);
        w->top = scratch_make();
        make_host(w);
        for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
                _cleanup_free_ char *path = in(w, variables[i][1]);

                assert_int_equal(setenv(variables[i][0], path, 1), 0);
        }
        add_plan(w, "a project", false, OPTIONS("project", "home/p"));
        add_plan(w, "a worktree", false, OPTIONS("project", "home/wt"));
        add_plan(w, "an agent", false, OPTIONS("project", "home/p", "agent", "claude"));
        add_plan(w, "a session", true, OPTIONS("project", "home/p"));
        add_plan(w, "rules", false,
                 OPTIONS("project", "home/p", "rw", "data/.", "ro", "other/.", "overlay", "layered/."));
        add_plan(w, "hidden names", false, OPTIONS("project", "home/p", "hide", "*.key"));
        add_plan(w, "strict protection", false, OPTIONS("project", "home/p", "protect", "strict"));
        add_plan(w, "a network of its own", false,
                 OPTIONS("project", "home/p", "net", "allow", "allow", "example.org"));
        add_plan(w, "a scratch folder", false, OPTIONS("project", "home/p", "tmp", "scratch"));
        add_plan(w, "a part of /proc", false, OPTIONS("no-project", "", "proc", "subset"));
        add_plan(w, "an instance", false,
                 OPTIONS("profile", "instance", "instance", "data/instance", "project", "home/wt"));
        *state = w;
        return 0;
}

static int remove_world(void **state) {
        struct world *w = *state;

        for (size_t i = 0; i < w->n; i++)
                plan_free(w->plans[i]);
        for (size_t i = 0; i < w->n_probes; i++)
                free(w->probes[i]);
        scratch_remove(w->top);
        free(w);
        return 0;
}

/* The plan with operations of its own, which have the good one's texts. */
nsrun_unused static struct nsrun_plan copy_of(const struct nsrun_plan *good) {
        struct nsrun_plan copy = *good;

        copy.ops = calloc(good->n_ops + 1, sizeof(*copy.ops));
        assert_non_null(copy.ops);
        memcpy(copy.ops, good->ops, good->n_ops * sizeof(*copy.ops));
        return copy;
}

nsrun_unused static void move(struct nsrun_plan *plan, size_t from, size_t to) {
        struct plan_op op = plan->ops[from];

        if (from < to)
                memmove(plan->ops + from, plan->ops + from + 1, (to - from) * sizeof(op));
        else
                memmove(plan->ops + to + 1, plan->ops + to, (from - to) * sizeof(op));
        plan->ops[to] = op;
}

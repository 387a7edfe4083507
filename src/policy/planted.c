/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Symlinks that a command may have planted: a source that is reached through one in
 * a writable folder is not what the user meant to expose but what the last command chose. */
#include <limits.h>
#include <sys/stat.h>

#include "base/path.h"
#include "refuse.h"

/* As many as the kernel follows. */
#define LINKS_MAX 40

/* The writable root that `path` lies beneath, or NULL.  The project counts even
 * where it is read-only now: it need not have been so in the last run. */
const char *refuse_writable_root(const struct nsrun_policy *p, const char *path) {
        if (p->project && path_is_beneath(path, p->project))
                return p->project;
        if (p->tmp && path_is_beneath(path, p->tmp))
                return p->tmp;
        for (size_t i = 0; i < p->n_rules; i++)
                if (p->rules[i].access == POLICY_RW && path_is_beneath(path, p->rules[i].source))
                        return p->rules[i].source;
        return NULL;
}

static int refuse_link(const char *link, const char *source, const char *option, struct nsrun_error *err) {
        _cleanup_free_ char *visible = str_visible(source);
        char hint[sizeof(err->hint)];

        if (!visible)
                return error_oom(err);
        (void)snprintf(
                hint, sizeof(hint),
                "it leads to %s, and a command in the sandbox may have planted it: name the real path",
                visible);
        return refuse(err, link, hint, "%s goes through a symlink in a writable folder", option);
}

/* The walk and the resolution before it saw different links: someone is at work. */
static int refuse_changed(const char *spelled, const char *option, struct nsrun_error *err) {
        return refuse(err, spelled, "name the real path",
                      "%s goes through symlinks that change while nsrun looks", option);
}

/* One step of the walk: *at, a canonical path, goes on to its entry `name`; where
 * that is a symlink, *rest becomes its text and the old rest.  1: it was one; 0: not. */
static int step(char **at, const char *name, size_t length, char **rest, const char *after) {
        _cleanup_free_ char *next = NULL, *spliced = NULL;
        char text[PATH_MAX];
        ssize_t n;

        if (asprintf(&next, "%s/%.*s", streq(*at, "/") ? "" : *at, (int)length, name) < 0)
                return -ENOMEM;
        n = readlink(next, text, sizeof(text) - 1);
        if (n < 0) {
                free(*at);
                *at = TAKE_PTR(next);
                return 0;
        }
        text[n] = '\0';
        if (asprintf(&spliced, "%s/%s", text, after) < 0)
                return -ENOMEM;
        if (text[0] == '/')
                (*at)[1] = '\0';
        free(*rest);
        *rest = TAKE_PTR(spliced);
        return 1;
}

int refuse_planted(const struct nsrun_policy *p, const struct policy_rule *rule, struct nsrun_error *err) {
        const char *spelled = rule->spelled, *source = rule->source, *option = rule->option;
        _cleanup_free_ char *at = strdup("/"), *rest = strdup(spelled);
        const char *next = rest;

        for (unsigned links = 0; at && rest;) {
                _cleanup_free_ char *link = NULL;
                const char *root;
                size_t n;
                int r;

                next += strspn(next, "/");
                n = strcspn(next, "/");
                if (n == 0)
                        return streq(at, source) ? 0 : refuse_changed(spelled, option, err);
                if ((n == 1 && next[0] == '.') || (n == 2 && next[0] == '.' && next[1] == '.')) {
                        char *parent = n == 2 ? path_parent(at) : strdup(at);

                        free(at);
                        at = parent;
                        next += n;
                        continue;
                }
                if (asprintf(&link, "%s/%.*s", streq(at, "/") ? "" : at, (int)n, next) < 0)
                        break;
                r = step(&at, next, n, &rest, next + n);
                if (r < 0)
                        break;
                if (r == 0) {
                        next += n;
                        continue;
                }
                root = refuse_writable_root(p, link);
                /* A link that stays within its root shows nothing new; but what it
                 * would protect could be changed by way of the link. */
                if (root && (rule->access == POLICY_RO || !path_is_beneath(source, root)))
                        return refuse_link(link, source, option, err);
                if (++links > LINKS_MAX)
                        return refuse_changed(spelled, option, err);
                next = rest;
        }
        return error_oom(err);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "verify_seen.h"

#include <sys/stat.h>

#include "rules/home_secrets.h"

int verify_fail(const struct verifying *v, const struct plan_op *op, const char *why) {
        static const char *const kinds[] = {"dir",        "file",    "symlink",    "bind",   "overlay",
                                            "tmpfs",      "proc",    "cover",      "devpts", "cgroup",
                                            "hide",       "socket",  "data",       "mqueue", "chmod",
                                            "remount-ro", "protect", "filesystem", "mask",   "sysctl"};
        _Static_assert(ARRAY_SIZE(kinds) == PLAN_SYSCTL + 1, "a name for each kind");

        return error_setf(v->err, NSRUN_STAGE_PLAN, UNSAID(-EINVAL), op->source ? op->source : op->target,
                          "nothing was started", "internal error: operation %zu (%s) %s",
                          (size_t)(op - v->plan->ops) + 1,
                          op->kind < ARRAY_SIZE(kinds) ? kinds[op->kind] : "?", why);
}

int verify_fail_plan(const struct verifying *v, const char *why) {
        return error_setf(v->err, NSRUN_STAGE_PLAN, UNSAID(-EINVAL), NULL, "nothing was started",
                          "internal error: the plan %s", why);
}

/* ------------------------------------------------------------- what lies around a path */

static const char *tree_path(const struct tree *t, size_t i) {
        return t->is_of_sources ? t->ops[i]->source : t->ops[i]->target;
}

/* The first one at or above `path` from `at` upwards. */
static size_t tree_climb(const struct tree *t, size_t at, const char *path) {
        while (at != NOWHERE && !path_is_beneath(path, tree_path(t, at)))
                at = t->above[at];
        return at;
}

/* How many come before what lies below `path`, and are not below it. */
static size_t tree_count(const struct tree *t, const char *path) {
        size_t low = 0, high = t->n;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (path_compare(tree_path(t, middle), path) <= 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

/* The last one at or above `path`. */
static size_t tree_find(const struct tree *t, const char *path) {
        return tree_climb(t, tree_count(t, path) - 1, path);
}

void tree_add(struct tree *t, const struct plan_op *op) {
        t->ops[t->n] = op;
        t->above[t->n] = tree_climb(t, t->n - 1, tree_path(t, t->n));
        t->n++;
}

const struct plan_op *seen_at(const struct verifying *v, const char *path) {
        size_t at = tree_find(&v->targets, path);

        return at == NOWHERE ? NULL : v->targets.ops[at];
}

const struct plan_op *ground_of(const struct verifying *v, const struct plan_op *op) {
        size_t at = v->targets.above[op - v->plan->ops];

        while (at != NOWHERE && v->targets.ops[at]->kind == PLAN_DIR)
                at = v->targets.above[at];
        return at == NOWHERE ? NULL : v->targets.ops[at];
}

/* Where an operation shows a path that is at or below its source; NULL for want of memory. */
static char *inside_of(const struct plan_op *op, const char *path) {
        const char *below = path_below(path, op->source);

        return str_concat(op->target, *below ? "/" : "", below);
}

/* Refuses an operation that shows a path of the host's, where no later one covers it, and is_wrong() says
 * that it may not. */
static int verify_unseen(const struct verifying *v, const char *path, const char *why,
                         bool (*is_wrong)(const struct plan_op *op, const char *path)) {
        const struct tree *t = &v->sources;

        for (size_t at = tree_find(t, path); at != NOWHERE; at = t->above[at]) {
                const struct plan_op *op = t->ops[at];
                _cleanup_free_ char *inside = inside_of(op, path);

                if (!inside)
                        return error_oom(v->err);
                if (seen_at(v, inside) == op && is_wrong(op, path))
                        return verify_fail(v, op, why);
        }
        return 0;
}

/* The same for each of these names in a folder. */
static int verify_unseen_in(const struct verifying *v, const char *folder, const char *const *names,
                            const char *why, bool (*is_wrong)(const struct plan_op *op, const char *path)) {
        int r = 0;

        for (; *names && r >= 0; names++) {
                _cleanup_free_ char *path = str_concat(folder, "/", *names);

                r = path ? verify_unseen(v, path, why, is_wrong) : error_oom(v->err);
        }
        return r;
}

/* ----------------------------------------------------- what must not be seen or written */

/* Whether there is a file or a folder; a symlink is neither. */
static bool is_file_or_folder(const char *path) {
        struct stat st;

        return lstat(path, &st) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
}

static bool is_any(nsrun_unused const struct plan_op *op, nsrun_unused const char *path) {
        return true;
}

static bool is_above(const struct plan_op *op, const char *path) {
        return !streq(op->source, path);
}

static bool is_anything(nsrun_unused const struct plan_op *op, const char *path) {
        struct stat st;

        return lstat(path, &st) == 0;
}

/* A home below /usr is a daemon's, and what is there the system's programs read. */
static bool is_above_secret(const struct plan_op *op, const char *path) {
        return !(op->origin == PLAN_BY_READABLE && op->is_read_only) && is_above(op, path) &&
               !streq(op->source, "/usr") && is_file_or_folder(path);
}

/* Files and folders are read-only, but for a repository's own folder, and the HEAD by which a folder would
 * be one. A symlink can't be: what it says is looked at when the command has ended. */
static bool lies_open(const struct plan_op *op, const char *path) {
        const char *name = path_basename(path);
        struct stat st;

        return op_is_writable(op) && !op->is_in_rundir && is_above(op, path) && !streq(name, "HEAD") &&
               lstat(path, &st) == 0 &&
               (S_ISREG(st.st_mode) || (S_ISDIR(st.st_mode) && !streq(name, ".git")));
}

/* The secrets of the home, what nsrun keeps, and the sockets by which whoever can connect is as good as
 * root. */
static int verify_never_seen(const struct verifying *v) {
        static const char *const engines[] = {"docker.sock",          "containerd/containerd.sock",
                                              "crio/crio.sock",       "podman/podman.sock",
                                              "libvirt/libvirt-sock", NULL};
        static const char *const in_homes[] = {".docker/desktop/docker.sock", ".docker/run/docker.sock",
                                               ".colima/default/docker.sock", ".rd/docker.sock", NULL};
        static const char why[] = "shows a container engine's socket";
        char runtime[48];
        int r;

        (void)snprintf(runtime, sizeof(runtime), "/run/user/%u", v->plan->host_uid);
        r = verify_unseen_in(v, "/run", engines, why, is_any);
        if (r >= 0)
                r = verify_unseen_in(v, runtime, engines, why, is_any);
        for (size_t i = 0; i < ARRAY_SIZE(v->homes) && r >= 0; i++) {
                if (!v->homes[i])
                        continue;
                r = verify_unseen_in(v, v->homes[i], in_homes, why, is_anything);
                if (r >= 0)
                        r = verify_unseen_in(v, v->homes[i], home_secrets, "shows the home's secrets",
                                             is_above_secret);
        }
        for (size_t i = 0; i < ARRAY_SIZE(v->own) && r >= 0; i++)
                r = v->own[i] ? verify_unseen(v, v->own[i], "shows what nsrun keeps for itself", is_above)
                              : 0;
        return r;
}

/* What --hide names, "INODE:BIRTH:PATH": it is shown by nobody, nor is anything in it. */
static int verify_hidden(const struct verifying *v) {
        static const char why[] = "shows what is hidden";
        const struct tree *t = &v->sources;

        STRV_FOREACH (entry, v->plan->hidden) {
                const char *path = strchr(*entry, '/');
                size_t n = path ? tree_count(t, path) : 0;
                int r = path ? verify_unseen(v, path, why, is_any)
                             : verify_fail_plan(v, "doesn't say what it hides");

                if (r >= 0 && n > 0 && streq(t->ops[n - 1]->source, path))
                        r = verify_fail(v, t->ops[n - 1], why);
                if (r >= 0 && n < t->n && path_is_beneath(t->ops[n]->source, path))
                        r = verify_fail(v, t->ops[n], why);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* The path that "FOLDER//NAME", or "FOLDER//NAME//TEXT", stands for; NULL for want of memory. */
static char *path_of_entry(const char *entry) {
        const char *middle = strstr(entry, "//"), *end = middle ? strstr(middle + 2, "//") : NULL;
        size_t length = end ? (size_t)(end - entry) : strlen(entry),
               folder = middle ? (size_t)(middle - entry) : length;
        char *path = strndup(entry, length);

        if (path && middle)
                memmove(path + folder, path + folder + 1, length - folder);
        return path;
}

/* Whether each folder from the one that is writable down to that of `inside`, where a name lies that can't
 * be written, is itself mounted there: one that isn't could be renamed with what is mounted in it, and
 * another made in its place. */
static bool is_pinned(const struct verifying *v, const struct plan_op *writable, char *inside) {
        bool is_pinned = true;

        while (is_pinned && path_up(inside) && !streq(inside, writable->target)) {
                const struct plan_op *seen = seen_at(v, inside);

                is_pinned = !op_is_writable(seen) || streq(seen->target, inside);
        }
        return is_pinned;
}

static int verify_pinned(const struct verifying *v, const char *path) {
        const struct tree *t = &v->sources;

        for (size_t at = tree_find(t, path); at != NOWHERE; at = t->above[at]) {
                const struct plan_op *op = t->ops[at];
                _cleanup_free_ char *inside = inside_of(op, path);

                if (!inside)
                        return error_oom(v->err);
                if (op_is_writable(op) && !op->is_in_rundir && !op_is_writable(seen_at(v, inside)) &&
                    !is_pinned(v, op, inside))
                        return verify_fail(v, op, "lets a folder around a protected name be moved");
        }
        return 0;
}

/* Protected names that are there. */
static int verify_protected(const struct verifying *v) {
        static const char why[] = "lets a protected name be written";

        STRV_FOREACH (entry, v->plan->present) {
                _cleanup_free_ char *path = path_of_entry(*entry);
                int r = path ? verify_unseen(v, path, why, lies_open) : error_oom(v->err);

                if (r >= 0)
                        r = verify_pinned(v, path);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Whether the last n bytes of `path`, a protected name, can't be made at `inside`, where it is shown: the
 * first of their parts that doesn't exist is a stub, or something else is mounted on the way. */
static bool is_kept_free(const struct verifying *v, const char *path, char *inside, size_t n) {
        for (const char *name = path + strlen(path) - n;;) {
                size_t part = strcspn(name, "/"), slash = strlen(inside) - strlen(name) - 1;
                const struct plan_op *seen;
                bool is_top;

                inside[slash] = '\0';
                seen = seen_at(v, inside);
                is_top = seen && streq(seen->target, inside);
                inside[slash] = '/';
                if (!seen || !op_is_writable(seen))
                        return true;
                STRV_FOREACH (stub, is_top ? seen->stubs : NULL)
                        if (strncmp(*stub, name, part) == 0 && (!(*stub)[part] || (*stub)[part] == '/'))
                                return true;
                if (!name[part]) {
                        seen = seen_at(v, inside);
                        return !seen || !op_is_writable(seen) || is_file_or_folder(path);
                }
                name += part + 1;
        }
}

/* --protect=strict: protected names that aren't there can't be made. */
static int verify_strict(const struct verifying *v) {
        const struct tree *t = &v->sources;

        STRV_FOREACH (entry, v->plan->is_strict ? v->plan->protected : NULL) {
                const char *middle = strstr(*entry, "//"), *name = middle ? middle + 2 : "";
                _cleanup_free_ char *path = path_of_entry(*entry);

                if (!path)
                        return error_oom(v->err);
                if (!*name || strpbrk(name, "*?[\\") || streq(name, ".git"))
                        continue;
                for (size_t at = tree_find(t, path); at != NOWHERE; at = t->above[at]) {
                        const struct plan_op *op = t->ops[at];
                        _cleanup_free_ char *inside = NULL;

                        /* An operation for something below the folder isn't what shows the folder. */
                        if (!op_is_writable(op) || op->is_in_rundir ||
                            strlen(op->source) > strlen(path) - strlen(name) - 1)
                                continue;
                        inside = inside_of(op, path);
                        if (!inside)
                                return error_oom(v->err);
                        if (!is_kept_free(v, path, inside, strlen(name)))
                                return verify_fail(v, op, "lets a protected name be made");
                }
        }
        return 0;
}

int verify_seen(const struct verifying *v) {
        int r = verify_never_seen(v);

        if (r >= 0)
                r = verify_hidden(v);
        if (r >= 0)
                r = verify_protected(v);
        return r < 0 ? r : verify_strict(v);
}

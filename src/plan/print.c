/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A plan as text for a person: a few facts, then one operation a line in the
 * order in which they run. */
#include "print.h"

#include "base/degraded.h"

/* The width of the target column.  A longer target pushes what follows it to the right. */
#define WIDEST_TARGET 36

static const char *const proc_names[] = {
        [POLICY_PROC_UNSAID] = "unsaid", [POLICY_PROC_NEW] = "new",   [POLICY_PROC_AUTO] = "auto",
        [POLICY_PROC_SUBSET] = "subset", [POLICY_PROC_BIND] = "bind", [POLICY_PROC_NONE] = "none",
};

const char *plan_op_name(const struct plan_op *op) {
        static const char *const names[] = {
                [PLAN_DIR] = "dir",   [PLAN_FILE] = "file",     [PLAN_SYMLINK] = "symlink",
                [PLAN_BIND] = "bind", [PLAN_TMPFS] = "tmpfs",   [PLAN_OVERLAY] = "overlay",
                [PLAN_PROC] = "proc", [PLAN_COVER] = "cover",   [PLAN_DEVPTS] = "devpts",
                [PLAN_HIDE] = "hide", [PLAN_CGROUP] = "cgroup", [PLAN_SOCKET] = "socket",
        };

        return names[op->kind];
}

const char *plan_proc_name(enum policy_proc proc) {
        return proc_names[proc];
}

char **plan_namespaces(const struct nsrun_plan *plan) {
        static const char *const names[] = {"user", "mnt", "pid", "ipc", "uts", "cgroup"};
        _cleanup_strv_ char **list = NULL;

        if (plan->plain)
                return calloc(1, sizeof(*list));
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (strv_add(&list, names[i]) < 0)
                        return NULL;
        if (plan->net != POLICY_NET_HOST && strv_add(&list, "net") < 0)
                return NULL;
        return TAKE_PTR(list);
}

/* Adds a size: "2G" if it is a whole number of that unit, else bytes. */
static void add_size(struct strbuf *b, uint64_t size) {
        static const char suffixes[] = "\0KMGT";
        size_t i = 0;

        while (size > 0 && size % 1024 == 0 && i < 4) {
                size /= 1024;
                i++;
        }
        strbuf_addf(b, "%ju%.1s", (uintmax_t)size, &suffixes[i]);
}

/* Adds a text made fit to print.  If memory runs out for that, b fails as by a strbuf_add(). */
static void add_visible(struct strbuf *b, const char *text) {
        _cleanup_free_ char *visible = str_visible(text);

        if (visible)
                strbuf_add(b, visible);
        else
                b->has_failed = true;
}

static void plan_print_add_details(struct strbuf *b, const struct plan_op *op) {
        switch (op->kind) {
        case PLAN_FILE:
                strbuf_addf(b, "%zu bytes", strlen(op->text));
                return;
        case PLAN_SYMLINK:
                strbuf_add(b, "-> ");
                add_visible(b, op->text);
                return;
        case PLAN_BIND:
                /* It may be in memory. */
                if (streq(op->target, PLAN_PRIVATE) && op->is_in_rundir) {
                        strbuf_add(b, "read-write, the command's versions, gone at the end");
                        return;
                }
                strbuf_add(b, op->text        ? "read-write, what is harmless of it is carried to the host"
                              : op->is_device ? "device"
                              : op->is_read_only ? "read-only"
                                                 : "read-write");
                if (op->is_copied)
                        strbuf_add(b, ", copied if it is small");
                if (op->is_in_rundir)
                        strbuf_add(b, ", on disk, gone at the end");
                if (op->is_link)
                        strbuf_add(b, ", a symlink");
                if (op->stubs)
                        strbuf_addf(b, ", %zu names in it can't be made", strv_length(op->stubs));
                if (!streq(op->source, op->target)) {
                        strbuf_add(b, ", from ");
                        add_visible(b, op->source);
                }
                return;
        case PLAN_OVERLAY:
                strbuf_add(b, op->base_dev > 0              ? "read-write, writes are the session's"
                              : op->origin == PLAN_BY_AGENT ? "read-write, writes are for the next run here"
                                                            : "read-write, writes are thrown away");
                if (!streq(op->source, op->target)) {
                        strbuf_add(b, ", from ");
                        add_visible(b, op->source);
                }
                return;
        case PLAN_TMPFS:
                if (op->is_read_only) {
                        strbuf_add(b, "read-only, empty but for what is shown in it");
                        return;
                }
                strbuf_addf(b, "mode %04o, at most ", (unsigned)op->mode);
                add_size(b, op->size);
                return;
        case PLAN_PROC:
                strbuf_add(b, plan_proc_name(op->proc));
                return;
        case PLAN_COVER:
                strbuf_add(b, "read-only");
                return;
        case PLAN_CGROUP:
                strbuf_add(b, "read-only, the cgroup that has the limits");
                return;
        case PLAN_SOCKET:
                strbuf_addf(b, "%s listens there, on the host's side",
                            streq(op->text, PLAN_SOCKET_WAYLAND) ? "the compositor"
                            : streq(op->text, PLAN_SOCKET_DBUS)  ? "xdg-dbus-proxy"
                                                                 : "nsrun");
                return;
        case PLAN_HIDE:
                strbuf_add(b, op->is_directory ? "an empty folder" : "an unreadable file");
                if (op->text)
                        strbuf_addf(b, ", %s", op->text);
                return;
        default:
                return;
        }
}

static void plan_print_add_op(struct strbuf *b, const struct plan_op *op, size_t width) {
        _cleanup_strbuf_ struct strbuf details = {0};
        _cleanup_free_ char *target = str_visible(op->target), *text = NULL;

        plan_print_add_details(&details, op);
        text = strbuf_finish(&details);
        if (!target || !text)
                b->has_failed = true;
        else if (text[0])
                strbuf_addf(b, "  %-8s %-*s  %s\n", plan_op_name(op), (int)width, target, text);
        else
                strbuf_addf(b, "  %-8s %s\n", plan_op_name(op), target);
}

static void add_fact(struct strbuf *b, const char *name, const char *value) {
        strbuf_addf(b, "%-11s ", name);
        add_visible(b, value);
        strbuf_add(b, "\n");
}

static void plan_print_add_command(struct strbuf *b, char *const *argv) {
        _cleanup_strbuf_ struct strbuf line = {0};
        _cleanup_free_ char *text = NULL;

        STRV_FOREACH (word, argv) {
                _cleanup_free_ char *quoted = str_shell_quote(*word);

                if (!quoted)
                        line.has_failed = true;
                else
                        strbuf_addf(&line, "%s%s", word == argv ? "" : " ", quoted);
        }
        text = strbuf_finish(&line);
        if (text)
                add_fact(b, "command", text);
        else
                b->has_failed = true;
}

static void add_names(struct strbuf *b, const char *fact, char *const *names) {
        strbuf_addf(b, "%-11s", fact);
        if (!names || !*names)
                strbuf_add(b, " nothing");
        STRV_FOREACH (name, names) {
                strbuf_add(b, " ");
                add_visible(b, *name);
        }
        strbuf_add(b, "\n");
}

static void plan_print_add_hardening(struct strbuf *b, const struct nsrun_plan *plan) {
        strbuf_addf(b, "%-11s ", "seccomp");
        add_visible(b, plan->seccomp_name);
        if (plan->seccomp.code)
                strbuf_addf(b, ", %zu instructions%s", plan->seccomp.n,
                            plan->seccomp_log ? "; the kernel logs denials" : "");
        strbuf_add(b, "\n");
        if (plan->is_scoped)
                strbuf_add(b, "landlock    abstract sockets and signals stay inside\n");
        else if (plan->landlock == POLICY_LANDLOCK_OFF)
                strbuf_add(b, "landlock    off\n");
        else
                strbuf_addf(b, "landlock    not to be had: the kernel has ABI %d, scopes take 6\n",
                            plan->landlock_abi);
        STRV_FOREACH (warning, plan->seccomp.warnings)
                add_fact(b, "warning", *warning);
}

static void add_amount(struct strbuf *b, uint64_t n, bool is_bytes) {
        if (n == POLICY_UNLIMITED)
                strbuf_add(b, "unlimited");
        else if (is_bytes)
                add_size(b, n);
        else
                strbuf_addf(b, "%ju", (uintmax_t)n);
}

static void plan_print_add_limits(struct strbuf *b, const struct policy_limits *limits) {
        _cleanup_strbuf_ struct strbuf line = {0};
        _cleanup_free_ char *text = NULL;

        if (limits->memory > 0) {
                strbuf_add(&line, ", memory ");
                add_amount(&line, limits->memory, true);
        }
        if (limits->pids > 0)
                strbuf_addf(&line, ", pids %ju", (uintmax_t)limits->pids);
        if (limits->cpu > 0)
                strbuf_addf(&line, ", cpu %ju.%03u", (uintmax_t)(limits->cpu / 1000),
                            (unsigned)(limits->cpu % 1000));
        for (size_t i = 0; i < RLIMITS_COUNT; i++) {
                const struct rlimit_kind *kind = &rlimit_kinds[i];
                const struct policy_rlimit *limit = &limits->rlimits[kind->resource];

                if (!limit->is_set)
                        continue;
                strbuf_addf(&line, ", %s ", kind->name);
                add_amount(&line, limit->soft, kind->is_bytes);
                if (limit->hard != limit->soft) {
                        strbuf_add(&line, ":");
                        add_amount(&line, limit->hard, kind->is_bytes);
                }
        }
        if (!line.length && !line.has_failed)
                return;
        text = strbuf_finish(&line);
        if (text)
                add_fact(b, "limits", text + strlen(", "));
        else
                b->has_failed = true;
}

/* What there is of a sandbox. */
static void plan_print_add_sandbox(struct strbuf *b, const struct nsrun_plan *plan,
                                   char *const *namespaces) {
        add_names(b, "namespaces", namespaces);
        strbuf_addf(b, "%-11s uid %u, gid %u, ", "ids", (unsigned)plan->uid, (unsigned)plan->gid);
        if (plan->uid == plan->host_uid && plan->gid == plan->host_gid)
                strbuf_add(b, "as on the host");
        else
                strbuf_addf(b, "on the host %u and %u", (unsigned)plan->host_uid, (unsigned)plan->host_gid);
        strbuf_add(b, "; no capabilities\n");
        add_fact(b, "hostname", plan->hostname ? plan->hostname : "the host's");
        add_fact(b, "network",
                 plan->net == POLICY_NET_NONE    ? "none but loopback"
                 : plan->net == POLICY_NET_ALLOW ? "loopback, and what follows"
                                                 : "the host's");
        STRV_FOREACH (line, plan->network)
                add_fact(b, "", *line);
        STRV_FOREACH (key, plan->keys)
                add_fact(b, key == plan->keys ? "keys" : "", *key);
        STRV_FOREACH (use, plan->key_uses)
                add_fact(b, "", *use);
        plan_print_add_hardening(b, plan);
}

static void plan_print_add_mounts(struct strbuf *b, const struct nsrun_plan *plan) {
        size_t width = 0;

        for (size_t i = 0; i < plan->n_ops; i++) {
                size_t n = strlen(plan->ops[i].target);

                if (n > width && n <= WIDEST_TARGET)
                        width = n;
        }
        strbuf_add(b, "mounts      the root: a tmpfs, at most ");
        add_size(b, plan->root_size);
        strbuf_add(b, ", read-only in the end\n");
        for (size_t i = 0; i < plan->n_ops; i++)
                plan_print_add_op(b, &plan->ops[i], width);
}

static int plan_print_add_degraded(struct strbuf *b, const struct nsrun_plan *plan) {
        STRV_FOREACH (entry, plan->degraded) {
                _cleanup_free_ char *text = nsrun_degraded_format(*entry);

                if (!text)
                        return -ENOMEM;
                strbuf_addf(b, "%-11s %s\n", "degraded", text);
        }
        if (plan->refuses_degraded)
                add_fact(b, "strict", "what can be had in a lesser way alone is refused");
        if (plan->is_logged)
                add_fact(b, "log", "what is run is written down ('nsrun log')");
        if (plan->untold)
                add_fact(b, "untold", plan->untold);
        return 0;
}

int plan_print_text(const struct nsrun_plan *plan, char **ret, struct nsrun_error *err) {
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_strv_ char **namespaces = plan_namespaces(plan);
        char *text;

        if (!namespaces)
                return error_oom(err);
        if (plan->argv)
                plan_print_add_command(&b, plan->argv);
        add_fact(&b, "project", plan->project ? plan->project : "none");
        add_fact(&b, "directory", plan->cwd);
        if (plan->plain)
                strbuf_addf(&b, "%-11s NONE: %s\n", "sandbox", plan->plain);
        else
                plan_print_add_sandbox(&b, plan, namespaces);
        add_fact(&b, "session", plan->new_session ? "new" : "the caller's");
        plan_print_add_limits(&b, &plan->limits);
        if (plan->has_overlays)
                add_fact(&b, "overlays", plan->backing == POLICY_BACKING_DISK ? "on disk" : "in memory");
        add_names(&b, "withheld", plan->left_out);
        STRV_FOREACH (line, plan->unseen)
                add_fact(&b, "not seen", *line);
        STRV_FOREACH (line, plan->granted)
                add_fact(&b, "granted", *line);
        STRV_FOREACH (line, plan->gives)
                add_fact(&b, "gives away", *line);
        if (plan_print_add_degraded(&b, plan) < 0)
                return error_oom(err);
        if (plan->protected)
                strbuf_addf(&b, "%-11s %zu names: read-only where they are, %s\n", "protected",
                            strv_length(plan->protected),
                            plan->is_strict ? "can't be made where they aren't (strict)"
                                            : "kept aside where they are made");
        if (plan->hide)
                add_names(&b, "hidden", plan->hide);
        if (!plan->plain)
                plan_print_add_mounts(&b, plan);
        text = strbuf_finish(&b);
        if (!text)
                return error_oom(err);
        *ret = text;
        return 0;
}

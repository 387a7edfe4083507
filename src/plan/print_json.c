/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints a plan as one JSON object.  Its keys are documented in nsrun-run(1), "The plan as JSON";
 * "version" grows when one of them changes its meaning. */
#include "base/degraded.h"
#include "net/rules.h"
#include "print.h"

#define SCHEMA_VERSION 1

static void print_json_add_op(struct json_document *d, struct json_value *parent, const struct plan_op *op) {
        struct json_value *o = json_add_object(d, parent, NULL);
        char mode[8];

        (void)snprintf(mode, sizeof(mode), "%04o", (unsigned)op->mode);
        json_add_string(d, o, "op", plan_op_name(op));
        json_add_string(d, o, "target", op->target);
        if (op->kind == PLAN_BIND || op->kind == PLAN_OVERLAY)
                json_add_string(d, o, "source", op->source);
        if (op->kind == PLAN_BIND) {
                json_add_bool(d, o, "read_only", op->is_read_only);
                json_add_bool(d, o, "device", op->is_device);
                json_add_bool(d, o, "directory", op->is_directory);
                if (op->is_copied)
                        json_add_bool(d, o, "copied", true);
                if (op->is_in_rundir)
                        json_add_bool(d, o, "in_run_directory", true);
                if (op->text)
                        json_add_string(d, o, "private", op->text);
                if (op->is_link)
                        json_add_bool(d, o, "link", true);
                if (op->stubs)
                        json_add_strings(d, o, "stubs", op->stubs);
                if (op->is_git_dir)
                        json_add_bool(d, o, "git_dir", true);
        }
        if (op->kind == PLAN_FILE || op->kind == PLAN_SYMLINK || op->kind == PLAN_OVERLAY)
                json_add_string(d, o, op->kind == PLAN_OVERLAY ? "layer" : "text", op->text);
        if (op->layers)
                json_add_strings(d, o, "kept", op->layers);
        if (op->kind == PLAN_DIR || op->kind == PLAN_FILE || op->kind == PLAN_TMPFS)
                json_add_string(d, o, "mode", mode);
        if (op->kind == PLAN_TMPFS) {
                json_add_number(d, o, "size", op->size);
                json_add_bool(d, o, "read_only", op->is_read_only);
        }
        if (op->kind == PLAN_PROC)
                json_add_string(d, o, "proc", plan_proc_name(op->proc));
        if (op->kind != PLAN_COVER)
                json_add_bool(d, o, "makes_target", op->makes_target);
        if (op->makes_on_host)
                json_add_bool(d, o, "makes_on_host", true);
}

static void print_json_add_environment(struct json_document *d, char *const *env) {
        struct json_value *o = json_add_object(d, d->root, "environment");

        STRV_FOREACH (entry, env) {
                const char *equals = strchr(*entry, '=');
                _cleanup_free_ char *name = equals ? strndup(*entry, (size_t)(equals - *entry)) : NULL;

                if (name)
                        json_add_string(d, o, name, equals + 1);
                else
                        d->has_failed = true;
        }
}

static void print_json_add_hardening(struct json_document *d, const struct nsrun_plan *plan) {
        struct json_value *seccomp = json_add_object(d, d->root, "seccomp");
        struct json_value *landlock = json_add_object(d, d->root, "landlock");

        json_add_string(d, seccomp, "policy", plan->seccomp_name);
        json_add_number(d, seccomp, "instructions", plan->seccomp.n);
        json_add_bool(d, seccomp, "log", plan->seccomp_log);
        json_add_strings(d, seccomp, "warnings", plan->seccomp.warnings);
        json_add_bool(d, landlock, "scoped", plan->is_scoped);
        json_add_number(d, landlock, "abi", (uint64_t)plan->landlock_abi);
}

static void print_json_add_limit(struct json_document *d, struct json_value *o, const char *key,
                                 uint64_t n) {
        if (n == POLICY_UNLIMITED)
                json_add_string(d, o, key, "unlimited");
        else
                json_add_number(d, o, key, n);
}

static void print_json_add_limits(struct json_document *d, const struct policy_limits *limits) {
        struct json_value *o = json_add_object(d, d->root, "limits");

        if (limits->memory > 0)
                json_add_number(d, o, "memory", limits->memory);
        if (limits->pids > 0)
                json_add_number(d, o, "pids", limits->pids);
        if (limits->cpu > 0)
                json_add_number(d, o, "cpu_thousandths", limits->cpu);
        for (size_t i = 0; i < RLIMITS_COUNT; i++) {
                const struct policy_rlimit *limit = &limits->rlimits[rlimit_kinds[i].resource];
                struct json_value *pair;

                if (!limit->is_set)
                        continue;
                pair = json_add_object(d, o, rlimit_kinds[i].name);
                print_json_add_limit(d, pair, "soft", limit->soft);
                print_json_add_limit(d, pair, "hard", limit->hard);
        }
}

/* "absent" says what becomes of a name that doesn't exist. */
static void print_json_add_protected(struct json_document *d, const struct nsrun_plan *plan) {
        struct json_value *list = json_add_array(d, d->root, "protected");

        STRV_FOREACH (entry, plan->protected) {
                const char *cut = strstr(*entry, "//");
                _cleanup_free_ char *folder = strndup(*entry, (size_t)(cut - *entry));
                struct json_value *o = json_add_object(d, list, NULL);

                if (!folder)
                        d->has_failed = true;
                json_add_string(d, o, "folder", folder);
                json_add_string(d, o, "name", cut + 2);
                json_add_string(d, o, "absent",
                                streq(cut + 2, ".git") ? "noted"
                                : plan->is_strict      ? "kept free"
                                                       : "kept aside");
        }
}

void print_json_add_degraded(struct json_document *d, struct json_value *parent, char *const *entries) {
        struct json_value *list = json_add_array(d, parent, "degraded");

        STRV_FOREACH (entry, entries) {
                const char *path = NULL;
                const struct degraded *row = degraded_read(*entry, &path);
                struct json_value *o = row ? json_add_object(d, list, NULL) : NULL;
                char message[512];

                if (!row)
                        continue;
                (void)snprintf(message, sizeof(message), "%s: %s", row->lack, row->instead);
                json_add_string(d, o, "name", row->name);
                json_add_string(d, o, "path", path);
                json_add_string(d, o, "message", message);
                json_add_string(d, o, "fix", row->fix);
        }
}

static const char *plan_net_name(const struct nsrun_plan *plan) {
        return plan->net == POLICY_NET_NONE                  ? "none"
               : plan->net != POLICY_NET_ALLOW               ? "host"
               : strv_contains(plan->network, NET_RULES_ASK) ? "ask"
                                                             : "allow";
}

int plan_print_json(const struct nsrun_plan *plan, char **ret, struct nsrun_error *err) {
        _cleanup_json_ struct json_document d = json_begin();
        _cleanup_strv_ char **namespaces = plan_namespaces(plan);
        struct json_value *ops;

        if (!namespaces)
                return error_oom(err);
        json_add_number(&d, d.root, "version", SCHEMA_VERSION);
        json_add_bool(&d, d.root, "sandbox", !plan->plain);
        json_add_strings(&d, d.root, "command", plan->argv);
        json_add_string(&d, d.root, "project", plan->project);
        json_add_string(&d, d.root, "directory", plan->cwd);
        json_add_strings(&d, d.root, "namespaces", namespaces);
        json_add_number(&d, d.root, "uid", plan->uid);
        json_add_number(&d, d.root, "gid", plan->gid);
        json_add_number(&d, d.root, "host_uid", plan->host_uid);
        json_add_number(&d, d.root, "host_gid", plan->host_gid);
        json_add_string(&d, d.root, "hostname", plan->hostname);
        json_add_string(&d, d.root, "net", plan_net_name(plan));
        json_add_strings(&d, d.root, "network", plan->network);
        json_add_strings(&d, d.root, "keys", plan->keys);
        json_add_strings(&d, d.root, "key_uses", plan->key_uses);
        print_json_add_hardening(&d, plan);
        print_json_add_limits(&d, &plan->limits);
        json_add_bool(&d, d.root, "new_session", plan->new_session);
        json_add_string(&d, d.root, "overlay_backing",
                        plan->backing == POLICY_BACKING_DISK ? "disk" : "tmpfs");
        json_add_number(&d, d.root, "root_size", plan->root_size);
        ops = json_add_array(&d, d.root, "operations");
        for (size_t i = 0; i < plan->n_ops; i++)
                print_json_add_op(&d, ops, &plan->ops[i]);
        print_json_add_protected(&d, plan);
        json_add_strings(&d, d.root, "hidden", plan->hide);
        print_json_add_environment(&d, plan->env);
        json_add_strings(&d, d.root, "withheld", plan->left_out);
        json_add_strings(&d, d.root, "not_seen", plan->unseen);
        if (plan->granted)
                json_add_strings(&d, d.root, "granted", plan->granted);
        if (plan->gives)
                json_add_strings(&d, d.root, "gives_away", plan->gives);
        json_add_bool(&d, d.root, "strict", plan->refuses_degraded);
        json_add_bool(&d, d.root, "log", plan->is_logged);
        print_json_add_degraded(&d, d.root, plan->degraded);
        if (plan->untold)
                json_add_string(&d, d.root, "untold", plan->untold);
        return json_finish(&d, true, ret, err);
}

int plan_print_log(const struct nsrun_plan *plan, char **ret, struct nsrun_error *err) {
        _cleanup_json_ struct json_document d = json_begin();
        struct json_value *mounts;

        json_add_string(&d, d.root, "level", "debug");
        json_add_string(&d, d.root, "message", "linux isolation mount plan");
        json_add_string(&d, d.root, "root", plan->instance);
        json_add_strings(&d, d.root, "command", plan->argv);
        json_add_string(&d, d.root, "working_dir", plan->cwd);
        mounts = json_add_array(&d, d.root, "mounts");
        for (size_t i = 0; i < plan->n_ops; i++) {
                const struct plan_op *op = &plan->ops[i];
                struct json_value *o;

                if (op->kind != PLAN_BIND && op->kind != PLAN_OVERLAY)
                        continue;
                o = json_add_object(&d, mounts, NULL);
                json_add_string(&d, o, "source", op->source);
                json_add_string(&d, o, "target", op->target);
                json_add_string(&d, o, "mode",
                                op->kind == PLAN_OVERLAY ? "overlay"
                                : op->is_read_only       ? "ro"
                                                         : "rw");
        }
        return json_finish(&d, false, ret, err);
}

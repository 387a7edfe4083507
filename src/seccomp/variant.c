/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See variant.h.  Of the rules for a call the most restrictive decides, so that a call is taken out of all
 * of the policy's before it has its own. */
#include "variant.h"

#include "base/json.h"
#include "base/str.h"
#include "syscalls.h"

struct variant {
        char **added, **taken;
};

static void variant_clear(struct variant *v) {
        strv_free(v->added);
        strv_free(v->taken);
}

static bool is_call(const char *name) {
        for (enum syscall_arch arch = 0; arch < N_SYSCALL_ARCHS; arch++)
                if (syscall_number(arch, name) >= 0)
                        return true;
        return false;
}

static int read_changes(struct variant *v, const char *name, const char *changes, struct nsrun_error *err) {
        for (size_t n; *changes; changes += n) {
                char ***to = *changes++ == '+' ? &v->added : &v->taken;
                _cleanup_free_ char *call = NULL;

                n = strcspn(changes, "+-");
                call = strndup(changes, n);
                if (!call)
                        return error_oom(err);
                if (!is_call(call))
                        return error_setf(err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), name,
                                          "name calls as 'nsrun seccomp show' does, as in "
                                          "default+perf_event_open; a file's path may begin with ./",
                                          "no system call that nsrun knows: %s",
                                          *call                ? call
                                          : changes[-1] == '+' ? "none after +"
                                                               : "none after -");
                if (strv_contains(v->added, call) || strv_contains(v->taken, call))
                        return error_setf(err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), name, NULL,
                                          "the call is named twice: %s", call);
                if (strv_add(to, call) < 0)
                        return error_oom(err);
        }
        return 0;
}

/* ipc(2), where the machine has it, is the calls of System V's queues as one. */
static bool is_in_ipc(const char *call) {
        static const char *const calls[] = {"msgctl", "msgget", "msgrcv",     "msgsnd", "semctl", "semget",
                                            "semop",  "shmat",  "semtimedop", "shmctl", "shmdt",  "shmget"};

        return STR_IS_ANY(call, calls);
}

static int take_ipc(struct variant *v) {
        STRV_FOREACH (call, v->taken)
                if (is_in_ipc(*call) && !strv_contains(v->added, "ipc"))
                        return strv_contains(v->taken, "ipc") ? 0 : strv_add(&v->taken, "ipc");
        return 0;
}

static void copy_member(struct json_document *d, struct json_value *to, const struct json_value *from,
                        const char *key) {
        _cleanup_free_ char *text = json_has(from, key) ? json_spell(json_get(from, key)) : NULL;

        if (text)
                json_add_json(d, to, key, text);
        else if (json_has(from, key))
                d->has_failed = true;
}

/* A rule without the calls that are changed; nothing if none is left. */
static int copy_rule(struct json_document *d, struct json_value *to, const struct json_value *rule,
                     const struct variant *v) {
        static const char *const others[] = {"comment", "includes", "excludes",
                                             "action",  "errnoRet", "args"};
        const struct json_value *names = json_get(rule, "names");
        _cleanup_strv_ char **kept = NULL;
        struct json_value *copy;

        for (size_t i = 0; i < json_length(names); i++) {
                const char *name = json_text(json_at(names, i));

                if (!strv_contains(v->added, name) && !strv_contains(v->taken, name) &&
                    strv_add(&kept, name) < 0)
                        return -ENOMEM;
        }
        if (!kept)
                return 0;
        copy = json_add_object(d, to, NULL);
        json_add_strings(d, copy, "names", kept);
        for (size_t i = 0; i < ARRAY_SIZE(others); i++)
                copy_member(d, copy, rule, others[i]);
        return 0;
}

static void add_changed(struct json_document *d, struct json_value *to, char *const *names,
                        bool is_allowed) {
        struct json_value *rule = names ? json_add_object(d, to, NULL) : NULL;

        if (!rule)
                return;
        json_add_strings(d, rule, "names", names);
        json_add_string(d, rule, "action", is_allowed ? "SCMP_ACT_ALLOW" : "SCMP_ACT_ERRNO");
        if (!is_allowed)
                json_add_number(d, rule, "errnoRet", EPERM);
}

int variant_make(const char *name, const char *json, const char *changes, char **ret,
                 struct nsrun_error *err) {
        static const char *const members[] = {"comment", "defaultAction", "defaultErrnoRet", "archMap"};
        _cleanup_json_ struct json_document d = json_begin(), policy = {0};
        _cleanup_(variant_clear) struct variant v = {0};
        const struct json_value *rules;
        struct json_value *to;
        int r = read_changes(&v, name, changes, err);

        if (r < 0)
                return r;
        if (take_ipc(&v) < 0)
                return error_oom(err);
        /* A shipped text is JSON: seccomp/compile has read it. */
        r = json_parse(&policy, json, strlen(json), NULL, NULL);
        if (r < 0)
                return error_oom(err);
        for (size_t i = 0; i < ARRAY_SIZE(members); i++)
                if (!v.taken || !streq(members[i], "archMap"))
                        copy_member(&d, d.root, policy.root, members[i]);
        rules = json_get(policy.root, "syscalls");
        to = json_add_array(&d, d.root, "syscalls");
        for (size_t i = 0; i < json_length(rules) && r >= 0; i++)
                r = copy_rule(&d, to, json_at(rules, i), &v);
        add_changed(&d, to, v.added, true);
        add_changed(&d, to, v.taken, false);
        return r < 0 ? error_oom(err) : json_lay_out(&d, ret, err);
}

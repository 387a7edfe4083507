/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads seccomp policies.  A JSON key that it doesn't know is refused: a misspelt "args" would
 * otherwise allow a call without the conditions that were meant to bound it. */
#include "rules.h"

#include <stdarg.h>
#include <sys/utsname.h>

#include "base/json.h"
#include "errnos.h"

/* The greatest errno that the kernel lets a filter answer (its MAX_ERRNO). */
#define GREATEST_ERRNO 4095

struct reader {
        const char *file;
        const struct rules_target *target;
        struct rules *rules;
        struct nsrun_error *err;
        size_t index; /* of the rule that is being read, in the file's "syscalls" */
};

#define HINT "nsrun-run(1), SECCOMP POLICIES, has the form"

nsrun_printf(2, 3) static int rules_refuse(const struct reader *in, const char *format, ...) {
        char text[256];
        va_list ap;

        va_start(ap, format);
        (void)vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);
        /* The error is filled without an errno: its text, "Invalid argument", would add nothing to
         * the message. */
        return error_setf(in->err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), in->file, HINT,
                          "the seccomp policy: %s", text);
}

nsrun_printf(2, 3) static int rules_refuse_rule(const struct reader *in, const char *format, ...) {
        char text[256];
        va_list ap;

        va_start(ap, format);
        (void)vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);
        return rules_refuse(in, "rule %zu of \"syscalls\": %s", in->index + 1, text);
}

nsrun_printf(3, 4) static int rules_warn(struct reader *in, size_t rule, const char *format, ...) {
        _cleanup_free_ char *text = NULL, *line = NULL;
        va_list ap;
        int n;

        va_start(ap, format);
        n = vasprintf(&text, format, ap);
        va_end(ap);
        if (n < 0 || !(line = str_format("rule %zu of \"syscalls\" %s", rule + 1, text)))
                return error_oom(in->err);
        return strv_add(&in->rules->warnings, line) < 0 ? error_oom(in->err) : 0;
}

/* ------------------------------------------------------------------ actions */

static const struct {
        const char *name;
        uint32_t action;
        bool has_errno;
} actions[] = {
        {"SCMP_ACT_ALLOW", SECCOMP_RET_ALLOW, false},
        {"SCMP_ACT_ERRNO", SECCOMP_RET_ERRNO, true},
        {"SCMP_ACT_KILL", SECCOMP_RET_KILL_THREAD, false},
        {"SCMP_ACT_KILL_PROCESS", SECCOMP_RET_KILL_PROCESS, false},
        {"SCMP_ACT_KILL_THREAD", SECCOMP_RET_KILL_THREAD, false},
        {"SCMP_ACT_LOG", SECCOMP_RET_LOG, false},
        {"SCMP_ACT_TRACE", SECCOMP_RET_TRACE, true},
        {"SCMP_ACT_TRAP", SECCOMP_RET_TRAP, false},
};

/* Reads the errno of a rule or of the policy: `errnoRet`, a number, or Podman's `errno`, a name,
 * which wins over it.  Where the file has neither, *ret is left as it is. */
static int read_errno(const struct reader *in, const struct json_value *of, const char *number_key,
                      const char *name_key, uint32_t *ret) {
        const struct json_value *number = json_get(of, number_key), *name = json_get(of, name_key);
        uint64_t value;
        int found;

        if (json_kind(name) != JSON_NULL) {
                const char *text = json_text(name);

                found = text ? errno_by_name(text) : -1;
                if (found < 0)
                        return rules_refuse(in, "\"%s\" is no error's name", name_key);
                *ret = (uint32_t)found;
                return 0;
        }
        if (json_kind(number) == JSON_NULL)
                return 0;
        if (!json_number(number, &value) || value > GREATEST_ERRNO)
                return rules_refuse(in, "\"%s\" is no number from 0 to %d", number_key, GREATEST_ERRNO);
        *ret = (uint32_t)value;
        return 0;
}

static int read_action(const struct reader *in, const struct json_value *of, const char *action_key,
                       const char *number_key, const char *name_key, uint32_t *ret) {
        const char *name = json_text(json_get(of, action_key));
        uint32_t number = EPERM;
        int r;

        if (!name)
                return rules_refuse(in, "\"%s\" is missing, or no text", action_key);
        if (streq(name, "SCMP_ACT_NOTIFY"))
                return error_set(in->err, NSRUN_STAGE_POLICY, -EOPNOTSUPP, in->file,
                                 "the seccomp policy: nobody would answer SCMP_ACT_NOTIFY",
                                 "use SCMP_ACT_ERRNO, and --report to hear of it");
        r = read_errno(in, of, number_key, name_key, &number);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
                if (streq(name, actions[i].name)) {
                        *ret = actions[i].action | (actions[i].has_errno ? number : 0);
                        return 0;
                }
        return rules_refuse(in, "unknown action \"%s\"", name);
}

/* --------------------------------------------------------------- conditions */

static const struct {
        const char *name;
        enum rule_operator operator;
} operators[] = {
        {"SCMP_CMP_NE", RULE_NE},
        {"SCMP_CMP_LT", RULE_LT},
        {"SCMP_CMP_LE", RULE_LE},
        {"SCMP_CMP_EQ", RULE_EQ},
        {"SCMP_CMP_GE", RULE_GE},
        {"SCMP_CMP_GT", RULE_GT},
        {"SCMP_CMP_MASKED_EQ", RULE_MASKED_EQ},
};

static int read_operator(const struct reader *in, const struct json_value *arg, enum rule_operator *ret) {
        const char *name = json_text(json_get(arg, "op"));

        for (size_t i = 0; name && i < ARRAY_SIZE(operators); i++)
                if (streq(name, operators[i].name)) {
                        *ret = operators[i].operator;
                        return 0;
                }
        return rules_refuse_rule(in, "unknown operator \"%s\"", name ? name : "");
}

static int read_condition(const struct reader *in, const struct json_value *arg, struct rule *rule) {
        static const char *const keys[] = {"index", "value", "valueTwo", "op", "comment"};
        struct rule_condition *condition = &rule->conditions[rule->n_conditions];
        const char *unknown = json_unknown_key(arg, keys, ARRAY_SIZE(keys));
        uint64_t index = 0, value = 0, second = 0;
        int r;

        if (json_kind(arg) != JSON_OBJECT)
                return rules_refuse_rule(in, "\"args\" has something that is no object");
        if (unknown)
                return rules_refuse_rule(in, "unknown key \"%s\" in \"args\"", unknown);
        if (!json_number(json_get(arg, "index"), &index) || index > 5)
                return rules_refuse_rule(in, "\"index\" is no number from 0 to 5");
        if (!json_number(json_get(arg, "value"), &value))
                return rules_refuse_rule(in, "\"value\" is no number of 64 bits");
        if (json_kind(json_get(arg, "valueTwo")) != JSON_NULL &&
            !json_number(json_get(arg, "valueTwo"), &second))
                return rules_refuse_rule(in, "\"valueTwo\" is no number of 64 bits");
        r = read_operator(in, arg, &condition->operator);
        if (r < 0)
                return r;
        for (size_t i = 0; i < rule->n_conditions; i++)
                if (rule->conditions[i].argument == index)
                        return rules_refuse_rule(
                                in,
                                "two conditions on argument %u; write two rules (runc reads them as alternatives, others as both)",
                                (unsigned)index);
        condition->argument = (unsigned)index;
        condition->mask = condition->operator== RULE_MASKED_EQ ? value : UINT64_MAX;
        condition->value = condition->operator== RULE_MASKED_EQ ? second & value : value;
        rule->n_conditions++;
        return 0;
}

static int read_conditions(const struct reader *in, const struct json_value *args, struct rule *rule) {
        int r = 0;

        if (json_kind(args) != JSON_NULL && json_kind(args) != JSON_ARRAY)
                return rules_refuse_rule(in, "\"args\" is no array");
        for (size_t i = 0; r >= 0 && i < json_length(args); i++) {
                /* A rule's conditions: a call has six arguments and each may stand in one
                 * condition, so `conditions` never overflows. */
                if (rule->n_conditions == ARRAY_SIZE(rule->conditions))
                        return rules_refuse_rule(in, "more than six conditions");
                r = read_condition(in, json_at(args, i), rule);
        }
        return r;
}

/* ------------------------------------------------------ includes and excludes */

static int kernel_is_at_least(const struct reader *in, const char *text, bool *ret) {
        unsigned major, minor;
        int end = 0;

        if (sscanf(text, "%u.%u%n", &major, &minor, &end) < 2 || (text[end] != '\0' && text[end] != '.'))
                return rules_refuse_rule(in, "\"minKernel\" is no version: \"%s\"", text);
        *ret = in->target->kernel_major > major ||
               (in->target->kernel_major == major && in->target->kernel_minor >= minor);
        return 0;
}

struct filter_facts {
        bool has_caps, has_archs, has_kernel; /* whether the object has that key at all */
        bool arch_matches, kernel_matches;
};

static int read_facts(const struct reader *in, const struct json_value *of, struct filter_facts *ret) {
        static const char *const keys[] = {"caps", "arches", "minKernel"};
        const char *unknown = json_unknown_key(of, keys, ARRAY_SIZE(keys));
        const struct json_value *archs = json_get(of, "arches"), *kernel = json_get(of, "minKernel");

        if (json_kind(of) != JSON_NULL && json_kind(of) != JSON_OBJECT)
                return rules_refuse_rule(in, "\"includes\" and \"excludes\" are objects");
        if (unknown)
                return rules_refuse_rule(in, "unknown key \"%s\" in \"includes\" or \"excludes\"", unknown);
        ret->has_caps = json_length(json_get(of, "caps")) > 0;
        ret->has_archs = json_length(archs) > 0;
        for (size_t i = 0; i < json_length(archs); i++) {
                const char *name = json_text(json_at(archs, i));

                ret->arch_matches |= name && streq(name, syscall_arch_docker_name(in->target->arch));
        }
        ret->has_kernel = json_kind(kernel) != JSON_NULL;
        if (!ret->has_kernel)
                return 0;
        if (!json_text(kernel))
                return rules_refuse_rule(in, "\"minKernel\" is no text");
        return kernel_is_at_least(in, json_text(kernel), &ret->kernel_matches);
}

/* Whether a rule applies here: all that its "includes" lists must hold and nothing that its
 * "excludes" lists may.  Capabilities in either never hold, since a sandbox's command has none. */
static int is_for_us(const struct reader *in, const struct json_value *rule, bool *ret) {
        struct filter_facts in_facts = {0}, out_facts = {0};
        int r = read_facts(in, json_get(rule, "includes"), &in_facts);

        if (r >= 0)
                r = read_facts(in, json_get(rule, "excludes"), &out_facts);
        if (r < 0)
                return r;
        *ret = !in_facts.has_caps && (!in_facts.has_archs || in_facts.arch_matches) &&
               (!in_facts.has_kernel || in_facts.kernel_matches) && !out_facts.arch_matches &&
               !out_facts.kernel_matches;
        return 0;
}

/* -------------------------------------------------------------------- rules */

static int add_name(struct reader *in, struct rule *rule, const char *name) {
        if (!name || !*name)
                return rules_refuse_rule(in, "a name that is no text");
        if (syscall_number(in->target->arch, name) == -ENOENT)
                return rules_warn(in, in->index, "names a call that nsrun doesn't know: %s", name);
        return strv_add(&rule->names, name) < 0 ? error_oom(in->err) : 0;
}

/* Reads a rule's "names", or the single "name" of old profiles. */
static int read_names(struct reader *in, const struct json_value *from, struct rule *rule) {
        const struct json_value *names = json_get(from, "names"), *name = json_get(from, "name");
        int r = 0;

        if (json_kind(name) != JSON_NULL && json_kind(names) != JSON_NULL)
                return rules_refuse_rule(in, "both \"name\" and \"names\"");
        if (json_kind(name) != JSON_NULL)
                return add_name(in, rule, json_text(name));
        if (json_kind(names) != JSON_ARRAY || json_length(names) == 0)
                return rules_refuse_rule(in, "\"names\" is missing, empty, or no array");
        for (size_t i = 0; r >= 0 && i < json_length(names); i++)
                r = add_name(in, rule, json_text(json_at(names, i)));
        return r;
}

static void rule_clear(struct rule *rule) {
        strv_free(rule->names);
}

static int read_rule(struct reader *in, const struct json_value *from) {
        static const char *const keys[] = {"names", "name",    "action",   "errnoRet", "errno",
                                           "args",  "comment", "includes", "excludes"};
        _cleanup_(rule_clear) struct rule rule = {.index = in->index};
        const char *unknown = json_unknown_key(from, keys, ARRAY_SIZE(keys));
        bool for_us = false;
        int r;

        if (json_kind(from) != JSON_OBJECT)
                return rules_refuse_rule(in, "no object");
        if (unknown)
                return rules_refuse_rule(in, "unknown key \"%s\"", unknown);
        r = read_action(in, from, "action", "errnoRet", "errno", &rule.action);
        if (r >= 0)
                r = read_conditions(in, json_get(from, "args"), &rule);
        if (r >= 0)
                r = is_for_us(in, from, &for_us);
        if (r >= 0)
                r = read_names(in, from, &rule);
        if (r >= 0 && for_us && rule.names) {
                in->rules->rules[in->rules->n_rules++] = rule;
                rule.names = NULL;
        }
        return r;
}

static int read_rules(struct reader *in, const struct json_value *from) {
        int r = 0;

        if (json_kind(from) != JSON_NULL && json_kind(from) != JSON_ARRAY)
                return rules_refuse(in, "\"syscalls\" is no array");
        in->rules->rules = calloc(json_length(from) + 1, sizeof(*in->rules->rules));
        if (!in->rules->rules)
                return error_oom(in->err);
        for (in->index = 0; r >= 0 && in->index < json_length(from); in->index++)
                r = read_rule(in, json_at(from, in->index));
        return r;
}

enum {
        CALLS_MOST = 1024
}; /* no architecture of the table has a call beyond */

/* The place of a call in a table of CALLS_MOST; NULL: this machine has no such call. */
static const struct rule **of_call(const struct reader *in, const struct rule **table, const char *name) {
        int number = syscall_number(in->target->arch, name);

        return number >= 0 && number < CALLS_MOST ? &table[number] : NULL;
}

/* Of the rules that hold for a call whatever its arguments the strictest decides: one that says less has no
 * effect on it, wherever it stands. */
static int warn_of_overruled(struct reader *in) {
        const struct rule *strictest[CALLS_MOST] = {0};
        const struct rule *rules = in->rules->rules, **at;
        int r = 0;

        for (size_t i = 0; i < in->rules->n_rules; i++)
                for (char **name = rules[i].n_conditions == 0 ? rules[i].names : NULL; name && *name; name++)
                        if ((at = of_call(in, strictest, *name)) &&
                            (!*at || rule_severity(rules[i].action) < rule_severity((*at)->action)))
                                *at = &rules[i];
        for (size_t i = 0; i < in->rules->n_rules && r >= 0; i++)
                for (char **name = rules[i].names; *name; name++)
                        if ((at = of_call(in, strictest, *name)) && *at &&
                            rule_severity(rules[i].action) > rule_severity((*at)->action)) {
                                r = rules_warn(in, rules[i].index, "has no effect on %s: rule %zu decides",
                                               *name, (*at)->index + 1);
                                break;
                        }
        return r;
}

/* ---------------------------------------------------------- the whole policy */

/* Notes an architecture that the policy names.  One that this machine doesn't run is skipped: no
 * process here can make its calls. */
static int rules_add_arch(struct reader *in, const struct json_value *name) {
        const char *text = json_text(name);
        enum syscall_arch arch;

        if (!text || !startswith(text, "SCMP_ARCH_"))
                return rules_refuse(in, "\"%s\" is no architecture", text ? text : "");
        arch = syscall_arch_by_name(text);
        if (arch < N_SYSCALL_ARCHS && syscall_arch_runs_on(arch, in->target->arch))
                in->rules->has_arch[arch] = true;
        return 0;
}

/* Reads Docker's archMap, which lists for each machine the other architectures that it runs; the
 * entry of this machine is used. */
static int read_arch_map(struct reader *in, const struct json_value *map) {
        static const char *const keys[] = {"architecture", "subArchitectures"};
        int r = 0;

        for (size_t i = 0; r >= 0 && i < json_length(map); i++) {
                const struct json_value *row = json_at(map, i), *below = json_get(row, "subArchitectures");
                const char *name = json_text(json_get(row, "architecture"));
                const char *unknown = json_unknown_key(row, keys, ARRAY_SIZE(keys));

                if (unknown)
                        return rules_refuse(in, "unknown key \"%s\" in \"archMap\"", unknown);
                if (!name)
                        return rules_refuse(in, "\"archMap\" has a row without an architecture");
                if (syscall_arch_by_name(name) != in->target->arch)
                        continue;
                for (size_t j = 0; r >= 0 && j < json_length(below); j++)
                        r = rules_add_arch(in, json_at(below, j));
        }
        return r;
}

static int read_flags(struct reader *in, const struct json_value *flags) {
        for (size_t i = 0; i < json_length(flags); i++) {
                const char *name = json_text(json_at(flags, i));

                if (name && streq(name, "SECCOMP_FILTER_FLAG_LOG"))
                        in->rules->wants_log = true;
                else if (name && streq(name, "SECCOMP_FILTER_FLAG_SPEC_ALLOW"))
                        in->rules->wants_spec_allow = true;
                /* SECCOMP_FILTER_FLAG_TSYNC is accepted and not passed on: the command has one
                 * thread when its filter is installed, so that there is no other to synchronise. */
                else if (!name || !streq(name, "SECCOMP_FILTER_FLAG_TSYNC"))
                        return rules_refuse(in, "unknown flag \"%s\"", name ? name : "");
        }
        return 0;
}

static int rules_read_policy(struct reader *in, const struct json_value *root) {
        static const char *const keys[] = {"defaultAction", "defaultErrnoRet", "defaultErrno",
                                           "architectures", "archMap",         "flags",
                                           "syscalls",      "comment"};
        const char *unknown = json_unknown_key(root, keys, ARRAY_SIZE(keys));
        int r;

        if (json_kind(root) != JSON_OBJECT)
                return rules_refuse(in, "the file is no object");
        if (unknown)
                return rules_refuse(in, "unknown key \"%s\"", unknown);
        in->rules->has_arch[in->target->arch] = true;
        r = read_action(in, root, "defaultAction", "defaultErrnoRet", "defaultErrno",
                        &in->rules->default_action);
        for (size_t i = 0; r >= 0 && i < json_length(json_get(root, "architectures")); i++)
                r = rules_add_arch(in, json_at(json_get(root, "architectures"), i));
        if (r >= 0)
                r = read_arch_map(in, json_get(root, "archMap"));
        if (r >= 0)
                r = read_flags(in, json_get(root, "flags"));
        if (r >= 0)
                r = read_rules(in, json_get(root, "syscalls"));
        return r < 0 ? r : warn_of_overruled(in);
}

int rules_parse(const char *file, const char *text, size_t size, const struct rules_target *target,
                struct rules *ret, struct nsrun_error *err) {
        _cleanup_json_ struct json_document document = {0};
        _cleanup_rules_ struct rules rules = {0};
        struct reader in = {.file = file, .target = target, .rules = &rules, .err = err};
        const char *why = NULL;
        size_t line = 0;
        int r;

        if (size > RULES_MAX_BYTES)
                return error_setf(err, NSRUN_STAGE_POLICY, -E2BIG, file, NULL,
                                  "the seccomp policy is bigger than %u KiB", RULES_MAX_BYTES / 1024);
        r = json_parse(&document, text, size, &line, &why);
        if (r == -EINVAL)
                return error_setf(err, NSRUN_STAGE_POLICY, UNSAID(r), file, "correct the file",
                                  "the seccomp policy is no JSON: line %zu: %s", line, why);
        if (r < 0)
                return error_oom(err);
        r = rules_read_policy(&in, document.root);
        if (r < 0)
                return r;
        *ret = rules;
        rules = (struct rules){0};
        return 0;
}

int rules_target_here(struct rules_target *ret, struct nsrun_error *err) {
        struct rules_target here = {.arch = SYSCALL_ARCH_NATIVE};
        struct utsname name;

        if (uname(&name) < 0 || sscanf(name.release, "%u.%u", &here.kernel_major, &here.kernel_minor) != 2)
                return error_set(err, NSRUN_STAGE_POLICY, -EINVAL, NULL,
                                 "the kernel's release can't be read", NULL);
        *ret = here;
        return 0;
}

void rules_clear(struct rules *rules) {
        for (size_t i = 0; i < rules->n_rules; i++)
                rule_clear(&rules->rules[i]);
        free(rules->rules);
        strv_free(rules->warnings);
        *rules = (struct rules){0};
}

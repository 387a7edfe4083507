/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fuzzes seccomp policies in the OCI form: what is read is compiled, and what is compiled must
 * answer like the rules themselves, read one after the other. */
#include "fuzz.h"

#include "seccomp/simulate.h"
#include "seccomp/syscalls.h"

static bool holds(const struct rule *rule, const struct seccomp_data *data) {
        for (size_t i = 0; i < rule->n_conditions; i++) {
                const struct rule_condition *c = &rule->conditions[i];
                uint64_t a = data->args[c->argument] & c->mask, b = c->value;
                const bool answers[] = {
                        [RULE_NE] = a != b,
                        [RULE_LT] = a<
                                b, [RULE_LE] = a <= b, [RULE_EQ] = a == b, [RULE_GE] = a >= b, [RULE_GT] = a>
                                b,
                        [RULE_MASKED_EQ] = a == b};

                if (!answers[c->operator])
                        return false;
        }
        return true;
}

/* The kernel's order of actions: the lower as a signed number, the more restrictive. */
static int32_t rank_of(uint32_t action) {
        return (int32_t)(action & SECCOMP_RET_ACTION_FULL);
}

/* Of the rules that name the call and hold, the most restrictive, of equals the first. */
static uint32_t expected(const struct rules *rules, const char *name, const struct seccomp_data *data) {
        const struct rule *best = NULL;

        for (size_t i = 0; i < rules->n_rules; i++) {
                const struct rule *rule = &rules->rules[i];
                bool is_named = false;

                for (char **p = rule->names; p && *p; p++)
                        is_named |= streq(*p, name);
                if (is_named && holds(rule, data) &&
                    (!best || rank_of(rule->action) < rank_of(best->action)))
                        best = rule;
        }
        return best ? best->action : rules->default_action;
}

/* Arguments near those that the rules name. */
static uint64_t argument_of(const struct rules *rules, const uint8_t *input, size_t n, size_t i) {
        uint8_t byte = n > 0 ? input[(i * 7 + 3) % n] : 0;
        const struct rule *rule = rules->n_rules > 0 ? &rules->rules[byte % rules->n_rules] : NULL;

        if (!rule || rule->n_conditions == 0)
                return byte;
        return rule->conditions[byte % rule->n_conditions].value + (byte >> 5) - 3U;
}

static void check_answers(const struct rules *rules, const struct seccomp_filter *filter,
                          const uint8_t *input, size_t n) {
        static const char *const names[] = {"read", "openat", "execve", "clone", "personality"};

        if (!rules->has_arch[SYSCALL_ARCH_X86_64])
                return;
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                struct seccomp_data data = {.nr = syscall_number(SYSCALL_ARCH_X86_64, names[i]),
                                            .arch = syscall_arch_audit(SYSCALL_ARCH_X86_64)};

                for (size_t k = 0; k < ARRAY_SIZE(data.args); k++)
                        data.args[k] = argument_of(rules, input, n, i * 6 + k);
                CHECK(seccomp_simulate(filter->code, filter->n, &data) == expected(rules, names[i], &data));
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n) {
        const struct rules_target target = {.arch = SYSCALL_ARCH_X86_64, .kernel_major = 6};
        _cleanup_rules_ struct rules rules = {0};
        _cleanup_filter_ struct seccomp_filter filter = {0};
        _cleanup_free_ char *text = input_text(input, n);
        struct nsrun_error err = {0};
        int r;

        if (!text)
                return 0;
        r = rules_parse("/p", text, n, &target, &rules, &err);
        CHECK(r == 0 || r == -EINVAL || r == -EOPNOTSUPP || r == -E2BIG || r == -ENOMEM);
        CHECK((r == 0) == (err.stage == NSRUN_STAGE_NONE));
        if (r < 0)
                return 0;
        r = seccomp_compile("/p", &rules, SYSCALL_ARCH_X86_64, &filter, &err);
        CHECK(r == 0 || r == -EINVAL || r == -E2BIG || r == -ENOMEM);
        if (r == 0)
                check_answers(&rules, &filter, input, n);
        return 0;
}

#ifndef FUZZ_WITH_LIBFUZZER
static size_t make_input(uint8_t *to, size_t size) {
        static const char begin[] = "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[", end[] = "]}";
        static const char *const actions[] = {"SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO", "SCMP_ACT_KILL",
                                              "SCMP_ACT_LOG", "SCMP_ACT_TRAP"};
        static const char *const names[] = {"read", "openat", "clone", "personality", "nonesuch"};
        static const char *const operators[] = {"SCMP_CMP_EQ", "SCMP_CMP_NE", "SCMP_CMP_LT",
                                                "SCMP_CMP_GE", "SCMP_CMP_GT", "SCMP_CMP_MASKED_EQ"};
        char *text = (char *)to;
        size_t at = (size_t)snprintf(text, size, "%s", begin), rules = draw(8);

        for (size_t i = 0; i < rules; i++) {
                at += (size_t)snprintf(text + at, size - at,
                                       "%s{\"names\":[\"%s\",\"%s\"],\"action\":\"%s\"", i > 0 ? "," : "",
                                       names[draw(ARRAY_SIZE(names))], names[draw(ARRAY_SIZE(names))],
                                       actions[draw(ARRAY_SIZE(actions))]);
                if (draw(2) == 0)
                        at += (size_t)snprintf(
                                text + at, size - at,
                                ",\"args\":[{\"index\":%u,\"value\":%u,\"valueTwo\":%u,\"op\":\"%s\"}]",
                                (unsigned)draw(7), (unsigned)draw(20), (unsigned)draw(20),
                                operators[draw(ARRAY_SIZE(operators))]);
                at += (size_t)snprintf(text + at, size - at, "}");
        }
        at += (size_t)snprintf(text + at, size - at, "%s", end);
        if (draw(4) == 0)
                to[draw(at)] = (uint8_t)draw(256);
        return at;
}
#endif

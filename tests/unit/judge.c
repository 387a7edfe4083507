/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libseccomp as the judge of our compiler, and a second opinion that reads the rules
 * one by one, for the calls that are newer than libseccomp. */
#include "judge.h"

#include <linux/audit.h>
#include <seccomp.h>
#include <sys/mman.h>

#include "seccomp/errnos.h"

#define ENOSYS_ACTION (SECCOMP_RET_ERRNO | ENOSYS)
#define LAST_NUMBER   600U
#define MOST_VALUES   512U
/* Of a call with more combinations one argument at a time has just the rules' own values. */
#define MANY_POINTS (1U << 20)

static int32_t severity(uint32_t action) {
        return (int32_t)(action & SECCOMP_RET_ACTION_FULL);
}

/* ------------------------------------------------------------------ the model */

enum syscall_arch point_arch(const struct seccomp_data *data, enum syscall_arch native) {
        bool is_x32 = ((uint32_t)data->nr & ~(SYSCALL_X32_BIT - 1)) != 0;

        for (enum syscall_arch arch = 0; arch < N_SYSCALL_ARCHS; arch++)
                if (syscall_arch_runs_on(arch, native) && syscall_arch_audit(arch) == data->arch &&
                    (data->arch != AUDIT_ARCH_X86_64 || (arch == SYSCALL_ARCH_X32) == is_x32))
                        return arch;
        return N_SYSCALL_ARCHS;
}

static bool condition_holds(const struct rule_condition *condition, const struct seccomp_data *data) {
        uint64_t value = data->args[condition->argument];

        switch (condition->operator) {
        case RULE_NE:
                return value != condition->value;
        case RULE_LT:
                return value < condition->value;
        case RULE_LE:
                return value <= condition->value;
        case RULE_EQ:
                return value == condition->value;
        case RULE_GE:
                return value >= condition->value;
        case RULE_GT:
                return value > condition->value;
        case RULE_MASKED_EQ:
                return (value & condition->mask) == condition->value;
        }
        return false;
}

/* What a machine's calls are named, by number: most have one name. */
static const char *call_names[N_SYSCALL_ARCHS][LAST_NUMBER + 1][3];

static uint32_t plain_number(enum syscall_arch arch, uint32_t number) {
        return arch == SYSCALL_ARCH_X32 ? number ^ SYSCALL_X32_BIT : number;
}

static void fill_call_names(enum syscall_arch arch) {
        const char *name;

        for (size_t i = 0; (name = syscall_name_at(i)); i++) {
                int number = syscall_number(arch, name);
                size_t at = 0;

                if (number < 0 || plain_number(arch, (uint32_t)number) > LAST_NUMBER)
                        continue;
                while (call_names[arch][plain_number(arch, (uint32_t)number)][at])
                        at++;
                assert_true(at + 1 < ARRAY_SIZE(call_names[arch][0]));
                call_names[arch][plain_number(arch, (uint32_t)number)][at] = name;
        }
}

/* By the number's names and not by the name's number: a search for each name of each rule at each point
 * would be most of what these tests take. */
static bool is_call(enum syscall_arch arch, const char *name, uint32_t number) {
        static bool is_filled[N_SYSCALL_ARCHS];
        uint32_t plain = plain_number(arch, number);

        if (plain > LAST_NUMBER)
                return syscall_number(arch, name) == (int)number && (int)number >= 0;
        if (!is_filled[arch])
                fill_call_names(arch);
        is_filled[arch] = true;
        for (const char **named = call_names[arch][plain]; *named; named++)
                if (streq(*named, name))
                        return true;
        return false;
}

static bool rule_holds(const struct rule *rule, const struct seccomp_data *data) {
        for (size_t i = 0; i < rule->n_conditions; i++)
                if (!condition_holds(&rule->conditions[i], data))
                        return false;
        return true;
}

static void find_rules(struct model *model, enum syscall_arch arch, int number) {
        model->n = 0;
        model->arch = arch;
        model->number = number;
        for (size_t i = 0; i < model->rules->n_rules; i++) {
                bool is_named = false;

                STRV_FOREACH (name, model->rules->rules[i].names)
                        is_named = is_named || is_call(arch, *name, (uint32_t)number);
                if (!is_named)
                        continue;
                assert_true(model->n < ARRAY_SIZE(model->named));
                model->named[model->n++] = &model->rules->rules[i];
        }
        model->has_call = true;
}

uint32_t model_ask(struct model *model, enum syscall_arch native, const struct seccomp_data *data) {
        enum syscall_arch arch = point_arch(data, native);
        const struct rule *best = NULL;

        if (arch == N_SYSCALL_ARCHS || !model->rules->has_arch[arch])
                return ENOSYS_ACTION;
        if (!model->has_call || model->arch != arch || model->number != data->nr)
                find_rules(model, arch, data->nr);
        for (size_t i = 0; i < model->n; i++)
                if (rule_holds(model->named[i], data) &&
                    (!best || severity(model->named[i]->action) < severity(best->action)))
                        best = model->named[i];
        return best ? best->action : model->rules->default_action;
}

uint32_t model_answer(const struct rules *rules, enum syscall_arch native, const struct seccomp_data *data) {
        struct model model = {.rules = rules};

        return model_ask(&model, native, data);
}

/* ----------------------------------------------------------------- the points */

struct values {
        uint64_t v[MOST_VALUES];
        size_t n;
};

static void value_add(struct values *values, uint64_t value) {
        for (size_t i = 0; i < values->n; i++)
                if (values->v[i] == value)
                        return;
        assert_true(values->n < MOST_VALUES);
        values->v[values->n++] = value;
}

static void values_around(struct values *values, const struct rule_condition *condition) {
        uint64_t high = UINT64_C(0xffffffff00000000), value = condition->value, mask = condition->mask;

        value_add(values, 0);
        value_add(values, UINT64_MAX);
        value_add(values, UINT32_MAX);
        value_add(values, value);
        value_add(values, value - 1);
        value_add(values, value + 1);
        value_add(values, value ^ (UINT64_C(1) << 31));
        value_add(values, value ^ (UINT64_C(1) << 32));
        value_add(values, value ^ (UINT64_C(1) << 63));
        value_add(values, value ^ high);
        value_add(values, mask);
        value_add(values, ~mask);
        value_add(values, value | ~mask);
        value_add(values, (value | ~mask) & ~high);
        /* The edges of the mask: its lowest and highest bits, and their neighbours. */
        for (unsigned bit = 0; bit < 64; bit++) {
                bool here = (mask >> bit & 1) != 0, below = bit > 0 && (mask >> (bit - 1) & 1) != 0;

                if (here == below)
                        continue;
                value_add(values, value ^ (UINT64_C(1) << bit));
                if (bit > 0)
                        value_add(values, value ^ (UINT64_C(1) << (bit - 1)));
        }
}

static void points_add(struct points *points, const struct seccomp_data *data) {
        if (points->n == points->capacity) {
                points->capacity = points->capacity ? 2 * points->capacity : 4096;
                points->data = reallocarray(points->data, points->capacity, sizeof(*data));
                assert_non_null(points->data);
        }
        points->data[points->n++] = *data;
}

static void points_add_combinations(struct points *points, struct seccomp_data *data,
                                    const struct values values[6], unsigned argument) {
        if (argument == 6) {
                points_add(points, data);
                return;
        }
        if (values[argument].n == 0)
                points_add_combinations(points, data, values, argument + 1);
        for (size_t i = 0; i < values[argument].n; i++) {
                data->args[argument] = values[argument].v[i];
                points_add_combinations(points, data, values, argument + 1);
        }
}

static void points_add_many(struct points *points, struct seccomp_data *data, struct values values[6],
                            const struct values own[6]) {
        for (size_t i = 0; i < 6; i++) {
                struct values all = values[i];

                if (all.n == 0)
                        continue;
                values[i] = own[i];
                points_add_combinations(points, data, values, 0);
                values[i] = all;
        }
}

static void points_add_call(struct points *points, const struct rules *rules, enum syscall_arch native,
                            uint32_t audit, uint32_t number) {
        static struct values values[6], own[6];
        struct seccomp_data data = {.nr = (int)number, .arch = audit};
        enum syscall_arch arch = point_arch(&data, native);
        size_t n = 1;

        memset(data.args, 0xff, sizeof(data.args));
        points_add(points, &data);
        memset(data.args, 0, sizeof(data.args));
        for (size_t i = 0; i < ARRAY_SIZE(values); i++)
                values[i].n = own[i].n = 0;
        for (size_t i = 0; arch < N_SYSCALL_ARCHS && i < rules->n_rules; i++) {
                const struct rule *rule = &rules->rules[i];

                STRV_FOREACH (name, rule->names)
                        for (size_t j = 0; is_call(arch, *name, number) && j < rule->n_conditions; j++) {
                                const struct rule_condition *condition = &rule->conditions[j];

                                values_around(&values[condition->argument], condition);
                                value_add(&own[condition->argument], condition->value);
                                value_add(&own[condition->argument], UINT64_MAX);
                        }
        }
        for (size_t i = 0; i < ARRAY_SIZE(values); i++)
                n *= values[i].n > 0 ? values[i].n : 1;
        if (n > MANY_POINTS)
                points_add_many(points, &data, values, own);
        else
                points_add_combinations(points, &data, values, 0);
}

void points_make(const struct rules *rules, enum syscall_arch native, struct points *ret) {
        static const uint32_t outrageous[] = {0x3fffffff, 0x7fffffff, 0x80000000, 0x80000027,
                                              0xc0000027, 0xfffffffe, 0xffffffff, 983041};
        static const uint32_t nobodys[] = {0, UINT32_MAX, AUDIT_ARCH_MIPS, AUDIT_ARCH_SPARC64};
        struct points points = {0};

        for (size_t i = 0; i < N_SYSCALL_ARCHS + ARRAY_SIZE(nobodys); i++) {
                uint32_t audit = i < N_SYSCALL_ARCHS ? syscall_arch_audit((enum syscall_arch)i)
                                                     : nobodys[i - N_SYSCALL_ARCHS];
                uint32_t mark = i == SYSCALL_ARCH_X32 ? SYSCALL_X32_BIT : 0;

                for (uint32_t number = 0; number <= LAST_NUMBER; number++)
                        points_add_call(&points, rules, native, audit, number | mark);
                for (size_t j = 0; j < ARRAY_SIZE(outrageous); j++)
                        points_add_call(&points, rules, native, audit, outrageous[j]);
        }
        *ret = points;
}

void points_clear(struct points *points) {
        free(points->data);
        *points = (struct points){0};
}

char *point_format(const struct seccomp_data *data, enum syscall_arch native) {
        enum syscall_arch arch = point_arch(data, native);
        const char *name = arch < N_SYSCALL_ARCHS ? syscall_name(arch, (uint32_t)data->nr) : NULL;
        char *text = NULL;

        assert_true(asprintf(&text, "%#x of architecture %#x, %s(%#llx, %#llx, %#llx, %#llx, %#llx, %#llx)",
                             (unsigned)data->nr, data->arch, name ? name : "?", data->args[0], data->args[1],
                             data->args[2], data->args[3], data->args[4], data->args[5]) > 0);
        return text;
}

/* -------------------------------------------------------------------- the judge */

struct judge {
        enum syscall_arch arch;
        struct seccomp_filter *filters; /* the newest first, as the kernel asks them */
        size_t n;
        uint32_t *unknown; /* numbers of calls that libseccomp has no name for */
        size_t n_unknown;
};

static uint32_t token_of(enum syscall_arch arch) {
        return seccomp_arch_resolve_name(syscall_arch_name(arch));
}

static scmp_filter_ctx context_new(enum syscall_arch arch, uint32_t default_action) {
        scmp_filter_ctx context = seccomp_init(default_action);
        int r;

        assert_non_null(context);
        assert_int_equal(seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, ENOSYS_ACTION), 0);
        if (token_of(arch) != seccomp_arch_native()) {
                assert_int_equal(seccomp_arch_remove(context, SCMP_ARCH_NATIVE), 0);
                r = seccomp_arch_add(context, token_of(arch));
                assert_int_equal(r, 0);
        }
        return context;
}

static enum scmp_compare compare_of(enum rule_operator operator) {
        static const enum scmp_compare compares[] = {
                [RULE_NE] = SCMP_CMP_NE,
                [RULE_LT] = SCMP_CMP_LT,
                [RULE_LE] = SCMP_CMP_LE,
                [RULE_EQ] = SCMP_CMP_EQ,
                [RULE_GE] = SCMP_CMP_GE,
                [RULE_GT] = SCMP_CMP_GT,
                [RULE_MASKED_EQ] = SCMP_CMP_MASKED_EQ,
        };

        return compares[operator];
}

static void judge_forget(struct judge *judge, uint32_t number) {
        judge->unknown = reallocarray(judge->unknown, judge->n_unknown + 1, sizeof(number));
        assert_non_null(judge->unknown);
        judge->unknown[judge->n_unknown++] = number;
}

static void add_rule(struct judge *judge, scmp_filter_ctx context, const struct rule *rule,
                     enum syscall_arch arch) {
        struct scmp_arg_cmp args[6] = {0};

        for (size_t i = 0; i < rule->n_conditions; i++) {
                const struct rule_condition *condition = &rule->conditions[i];
                bool has_mask = condition->operator== RULE_MASKED_EQ;

                args[i] = (struct scmp_arg_cmp){
                        .arg = condition->argument,
                        .op = compare_of(condition->operator),
                        .datum_a = has_mask ? condition->mask : condition->value,
                        .datum_b = has_mask ? condition->value : 0,
                };
        }
        STRV_FOREACH (name, rule->names) {
                int number = syscall_number(arch, *name);
                int r;

                if (number < 0)
                        continue;
                if (seccomp_syscall_resolve_name_arch(token_of(arch), *name) != number) {
                        judge_forget(judge, (uint32_t)number);
                        continue;
                }
                /* By the number that the name has here, or by the negative one that stands for
                 * it: libseccomp makes it the other architecture's. */
                r = seccomp_rule_add_array(context, rule->action, seccomp_syscall_resolve_name(*name),
                                           (unsigned)rule->n_conditions, args);
                if (r < 0)
                        fail_msg("libseccomp takes no rule for %s: %s", *name, strerror(-r));
        }
}

static bool is_answer(uint32_t k) {
        switch (k & SECCOMP_RET_ACTION_FULL) {
        case SECCOMP_RET_ALLOW:
        case SECCOMP_RET_ERRNO:
        case SECCOMP_RET_LOG:
        case SECCOMP_RET_TRACE:
        case SECCOMP_RET_TRAP:
                return true;
        }
        return k == SECCOMP_RET_KILL_THREAD || k == SECCOMP_RET_KILL_PROCESS;
}

/* libseccomp writes a filter in the byte order of its architecture, and the simulator reads its
 * own.  (Where a filter is so long that a return is repeated, 2.5 turns the repeated one twice.) */
static void turn_bytes(struct seccomp_filter *filter) {
        for (size_t i = 0; i < filter->n; i++) {
                struct sock_filter *to = &filter->code[i];

                to->code = __builtin_bswap16(to->code);
                if (to->code != (BPF_RET | BPF_K) || is_answer(__builtin_bswap32(to->k)))
                        to->k = __builtin_bswap32(to->k);
        }
}

static void export(scmp_filter_ctx context, enum syscall_arch arch, struct seccomp_filter *ret) {
        int fd = memfd_create("filter", MFD_CLOEXEC);
        off_t size;

        assert_true(fd >= 0);
        assert_int_equal(seccomp_export_bpf(context, fd), 0);
        size = lseek(fd, 0, SEEK_END);
        assert_true(size > 0 && size % (off_t)sizeof(struct sock_filter) == 0);
        ret->n = (size_t)size / sizeof(struct sock_filter);
        ret->code = calloc(ret->n, sizeof(struct sock_filter));
        assert_non_null(ret->code);
        assert_int_equal(pread(fd, ret->code, (size_t)size, 0), size);
        (void)close(fd);
        if (syscall_arch_is_big_endian(arch) != syscall_arch_is_big_endian(SYSCALL_ARCH_NATIVE))
                turn_bytes(ret);
        seccomp_release(context);
}

struct judge *judge_new(const struct rules *rules, enum syscall_arch arch) {
        struct judge *judge = calloc(1, sizeof(*judge));
        scmp_filter_ctx context = context_new(arch, rules->default_action);

        assert_non_null(judge);
        judge->arch = arch;
        judge->filters = calloc(rules->n_rules + 1, sizeof(*judge->filters));
        assert_non_null(judge->filters);
        for (size_t i = 0; i < rules->n_rules; i++) {
                const struct rule *rule = &rules->rules[i];

                if (rule->action == SECCOMP_RET_ALLOW) {
                        if (rules->default_action != SECCOMP_RET_ALLOW)
                                add_rule(judge, context, rule, arch);
                        continue;
                }
                /* A stack can only take away: where the default is stricter, it says nothing. */
                assert_true(severity(rule->action) <= severity(rules->default_action));
                scmp_filter_ctx own = context_new(arch, SECCOMP_RET_ALLOW);
                add_rule(judge, own, rule, arch);
                export(own, arch, &judge->filters[judge->n++]);
        }
        export(context, arch, &judge->filters[judge->n++]);
        return judge;
}

void judge_free(struct judge *judge) {
        for (size_t i = 0; i < judge->n; i++)
                seccomp_filter_clear(&judge->filters[i]);
        free(judge->filters);
        free(judge->unknown);
        free(judge);
}

bool judge_knows(const struct judge *judge, uint32_t number) {
        for (size_t i = 0; i < judge->n_unknown; i++)
                if (judge->unknown[i] == number)
                        return false;
        return true;
}

uint32_t machine_answer(const struct seccomp_filter *filter, enum syscall_arch machine,
                        const struct seccomp_data *data) {
        struct seccomp_data there = *data;

        if (syscall_arch_is_big_endian(machine) != syscall_arch_is_big_endian(SYSCALL_ARCH_NATIVE))
                for (size_t i = 0; i < ARRAY_SIZE(there.args); i++)
                        there.args[i] = data->args[i] << 32 | data->args[i] >> 32;
        return seccomp_simulate(filter->code, filter->n, &there);
}

uint32_t judge_answer(const struct judge *judge, const struct seccomp_data *data) {
        uint32_t best = SECCOMP_RET_ALLOW;

        for (size_t i = 0; i < judge->n; i++) {
                uint32_t answer = machine_answer(&judge->filters[i], judge->arch, data);

                if (severity(answer) < severity(best))
                        best = answer;
        }
        return best;
}

/* ------------------------------------------------------------------- assertions */

static void assert_no_error(int r, const struct nsrun_error *err) {
        if (r < 0)
                fail_msg("%s", nsrun_error_format(err));
}

void rules_of(const char *file, const char *text, enum syscall_arch arch, struct rules *ret) {
        const struct rules_target target = {.arch = arch, .kernel_major = 6, .kernel_minor = 1};
        struct nsrun_error err = {0};

        assert_no_error(rules_parse(file, text, strlen(text), &target, ret, &err), &err);
}

void filter_of(const char *file, const struct rules *rules, enum syscall_arch arch,
               struct seccomp_filter *ret) {
        struct nsrun_error err = {0};

        assert_no_error(seccomp_compile(file, rules, arch, ret, &err), &err);
}

static void assert_answer(const char *file, const char *who, uint32_t answer, uint32_t expected,
                          const struct seccomp_data *data, enum syscall_arch native) {
        char left[32], right[32];

        if (answer != expected)
                fail_msg("%s: %s: the filter says %s, %s %s", file, point_format(data, native),
                         seccomp_action_format(left, answer), who, seccomp_action_format(right, expected));
}

static bool has_high_word(const struct seccomp_data *data) {
        bool has = false;

        for (size_t i = 0; i < ARRAY_SIZE(data->args); i++)
                has |= data->args[i] > UINT32_MAX;
        return has;
}

void assert_filter_agrees(const char *file, const struct seccomp_filter *filter, const struct rules *rules,
                          enum syscall_arch native, const bool judged[N_SYSCALL_ARCHS]) {
        struct judge *judges[N_SYSCALL_ARCHS] = {NULL};
        _cleanup_points_ struct points points = {0};
        struct model model = {.rules = rules};
        size_t n_judged = 0;

        for (enum syscall_arch arch = 0; arch < N_SYSCALL_ARCHS; arch++)
                judges[arch] = judged[arch] ? judge_new(rules, arch) : NULL;
        points_make(rules, native, &points);
        /* A sanitized build, in which a question takes ten times as long, asks a third of them. */
        for (size_t i = 0; i < points.n; i += NSRUN_HAS_ASAN ? 3 : 1) {
                const struct seccomp_data *data = &points.data[i];
                enum syscall_arch arch = point_arch(data, native);
                /* Who isn't named is turned away by the machine's own filter. */
                const struct judge *judge = arch < N_SYSCALL_ARCHS && rules->has_arch[arch] ? judges[arch]
                                            : data->nr != -1                                ? judges[native]
                                                                                            : NULL;
                uint32_t answer = machine_answer(filter, native, data);

                assert_answer(file, "the rules", answer, model_ask(&model, native, data), data, native);
                if (!judge || !judge_knows(judge, (uint32_t)data->nr) ||
                    (arch != native && has_high_word(data)))
                        continue;
                assert_answer(file, "libseccomp", answer, judge_answer(judge, data), data, native);
                n_judged++;
        }
        print_message("%s on %s: %zu instructions, %zu calls asked, %zu of them of libseccomp too\n", file,
                      syscall_arch_name(native), filter->n, points.n, n_judged);
        for (enum syscall_arch arch = 0; arch < N_SYSCALL_ARCHS; arch++)
                if (judges[arch])
                        judge_free(judges[arch]);
}

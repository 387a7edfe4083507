/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The compiler from rules to BPF.  A BPF jump only leads forward, so the program is written from its
 * last instruction to its first: the target of a jump is written, and has a position, before the
 * jump. */
#include "compile.h"

#include "base/array.h"

#define ENOSYS_ACTION (SECCOMP_RET_ERRNO | ENOSYS)

/* How the filter decides a call: by the first of `rules` whose conditions hold, or else by `final`.
 * Calls that are decided alike share one leaf. */
struct leaf {
        const struct rule **rules; /* the most restrictive first */
        size_t n_rules;
        uint32_t final;
        size_t position; /* of the leaf's first instruction, once has_position says that it is written */
        bool has_position;
};

/* The calls from number `start` up to the `start` of the next range, and the leaf that decides
 * them. */
struct range {
        uint32_t start;
        size_t leaf;
};

struct entry {
        uint32_t number;
        const struct rule *rule;
};

struct compiler {
        const struct rules *rules;
        bool is_big_endian; /* whether the machine is; the other architectures that it runs are what it is */
        struct leaf *leaves;
        size_t n_leaves;
        struct range *ranges;
        size_t n_ranges;
        /* The program in reverse: code[0] is the last instruction, code[n - 1] the first. */
        struct sock_filter *code;
        size_t n;
        bool has_failed;
};

/* ------------------------------------------------------------- instructions */

/* Writes an instruction in front of those that are written.  Returns its position. */
static size_t emit(struct compiler *c, uint16_t code, uint32_t k, size_t jt, size_t jf) {
        if (ARRAY_GROW(c->code, c->n) < 0) {
                c->has_failed = true;
                return 0;
        }
        c->code[c->n] = (struct sock_filter){.code = code, .k = k, .jt = (uint8_t)jt, .jf = (uint8_t)jf};
        return c->n++;
}

static size_t emit_load(struct compiler *c, size_t offset) {
        return emit(c, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

/* Answers a position that a conditional jump written next can reach and that leads to `target`.  The
 * offsets of a conditional jump have 8 bits; to a target further away it takes an unconditional
 * jump (BPF_JA, 32 bits), which is written close by. */
static size_t bring_near(struct compiler *c, size_t target) {
        if (c->n - target - 1 <= UINT8_MAX)
                return target;
        return emit(c, BPF_JMP | BPF_JA, (uint32_t)(c->n - target - 1), 0, 0);
}

static size_t emit_jump(struct compiler *c, uint16_t operation, uint32_t k, size_t yes, size_t no) {
        if (yes == no)
                return yes;
        /* The jump that is written for `no` may have pushed `yes` out of reach again. */
        do {
                yes = bring_near(c, yes);
                no = bring_near(c, no);
        } while (!c->has_failed && c->n - yes - 1 > UINT8_MAX);
        return emit(c, (uint16_t)(BPF_JMP | BPF_K | operation), k, c->n - yes - 1, c->n - no - 1);
}

/* --------------------------------------------------------------- conditions */

/* The offset in struct seccomp_data of one half of an argument: word 0 is the less significant one,
 * word 1 the more significant one. */
static size_t word_offset(const struct compiler *c, unsigned argument, unsigned word) {
        return offsetof(struct seccomp_data, args) + 8 * argument + 4 * (c->is_big_endian ? 1 - word : word);
}

static size_t emit_equal(struct compiler *c, const struct rule_condition *condition, size_t yes, size_t no) {
        size_t position = yes;

        for (unsigned word = 0; word < 2; word++) {
                uint32_t mask = (uint32_t)(condition->mask >> (32 * word));
                uint32_t value = (uint32_t)(condition->value >> (32 * word));

                if (mask == 0)
                        continue;
                (void)emit_jump(c, BPF_JEQ, value, position, no);
                if (mask != UINT32_MAX)
                        (void)emit(c, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
                position = emit_load(c, word_offset(c, condition->argument, word));
        }
        return position;
}

/* Compares an argument of 64 bits by its halves of 32: GT of the high words decides; where they are
 * equal, `operation` (GT or GE) of the low words does. */
static size_t emit_greater(struct compiler *c, const struct rule_condition *condition, uint16_t operation,
                           size_t yes, size_t no) {
        uint32_t low = (uint32_t)condition->value, high = (uint32_t)(condition->value >> 32);
        size_t position;

        (void)emit_jump(c, operation, low, yes, no);
        position = emit_load(c, word_offset(c, condition->argument, 0));
        position = emit_jump(c, BPF_JEQ, high, position, no);
        (void)emit_jump(c, BPF_JGT, high, yes, position);
        return emit_load(c, word_offset(c, condition->argument, 1));
}

static size_t emit_condition(struct compiler *c, const struct rule_condition *condition, size_t yes,
                             size_t no) {
        switch (condition->operator) {
        case RULE_EQ:
        case RULE_MASKED_EQ:
                return emit_equal(c, condition, yes, no);
        case RULE_NE:
                return emit_equal(c, condition, no, yes);
        case RULE_GT:
                return emit_greater(c, condition, BPF_JGT, yes, no);
        case RULE_GE:
                return emit_greater(c, condition, BPF_JGE, yes, no);
        case RULE_LT:
                return emit_greater(c, condition, BPF_JGE, no, yes);
        case RULE_LE:
                return emit_greater(c, condition, BPF_JGT, no, yes);
        }
        return no;
}

/* ------------------------------------------------------------------- leaves */

static size_t emit_return(struct compiler *c, uint32_t action) {
        return emit(c, BPF_RET | BPF_K, action, 0, 0);
}

/* Writes a leaf when it is asked for first; afterwards all branches of the tree jump to that one
 * copy. */
static size_t emit_leaf(struct compiler *c, struct leaf *leaf) {
        size_t position;

        if (leaf->has_position) {
                leaf->position = bring_near(c, leaf->position);
                return leaf->position;
        }
        position = emit_return(c, leaf->final);
        for (size_t i = leaf->n_rules; i > 0; i--) {
                const struct rule *rule = leaf->rules[i - 1];
                size_t holds = emit_return(c, rule->action);

                for (size_t j = rule->n_conditions; j > 0; j--)
                        holds = emit_condition(c, &rule->conditions[j - 1], holds, position);
                position = holds;
        }
        leaf->position = position;
        leaf->has_position = true;
        return position;
}

/* Writes the search for the call's number among the ranges from `first` to `last`.  The number stays
 * in BPF's accumulator on the whole way down to a leaf. */
static size_t emit_tree(struct compiler *c, size_t first, size_t last) {
        size_t middle, above, below;

        if (first == last)
                return emit_leaf(c, &c->leaves[c->ranges[first].leaf]);
        middle = first + (last - first + 1) / 2;
        above = emit_tree(c, middle, last);
        below = emit_tree(c, first, middle - 1);
        return emit_jump(c, BPF_JGE, c->ranges[middle].start, above, below);
}

/* ------------------------------------------------------- from rules to ranges */

static int find_leaf(struct compiler *c, const struct rule **rules, size_t n, uint32_t final, size_t *ret) {
        struct leaf *leaf;

        for (size_t i = 0; i < c->n_leaves; i++)
                if (c->leaves[i].final == final && c->leaves[i].n_rules == n &&
                    (n == 0 || memcmp(c->leaves[i].rules, rules, n * sizeof(rules[0])) == 0)) {
                        *ret = i;
                        return 0;
                }
        if (ARRAY_GROW(c->leaves, c->n_leaves) < 0)
                return -ENOMEM;
        leaf = &c->leaves[c->n_leaves];
        *leaf = (struct leaf){.final = final, .n_rules = n, .rules = malloc((n + 1) * sizeof(rules[0]))};
        if (!leaf->rules)
                return -ENOMEM;
        if (n > 0)
                memcpy(leaf->rules, rules, n * sizeof(rules[0]));
        *ret = c->n_leaves++;
        return 0;
}

size_t seccomp_decide(const struct rules *rules, const struct rule *const *named, size_t n,
                      const struct rule **ret_kept, uint32_t *ret_final) {
        const struct rule *always = NULL;
        size_t n_kept = 0;
        uint32_t final;

        for (size_t i = 0; i < n; i++)
                if (named[i]->n_conditions == 0 &&
                    (!always || rule_severity(named[i]->action) < rule_severity(always->action)))
                        always = named[i];
        final = always ? always->action : rules->default_action;
        for (size_t i = 0; i < n; i++) {
                size_t at = n_kept;

                if (named[i]->n_conditions == 0)
                        continue;
                if (always && (rule_severity(named[i]->action) > rule_severity(final) ||
                               (rule_severity(named[i]->action) == rule_severity(final) &&
                                named[i]->index > always->index)))
                        continue;
                for (; at > 0 && rule_severity(ret_kept[at - 1]->action) > rule_severity(named[i]->action);
                     at--)
                        ret_kept[at] = ret_kept[at - 1];
                ret_kept[at] = named[i];
                n_kept++;
        }
        while (n_kept > 0 && ret_kept[n_kept - 1]->action == final)
                n_kept--;
        *ret_final = final;
        return n_kept;
}

static int leaf_of_call(struct compiler *c, const struct entry *entries, size_t n, size_t *ret) {
        _cleanup_free_ const struct rule **named = malloc((n + 1) * sizeof(named[0]));
        _cleanup_free_ const struct rule **kept = malloc((n + 1) * sizeof(kept[0]));
        uint32_t final;

        if (!named || !kept)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                named[i] = entries[i].rule;
        n = seccomp_decide(c->rules, named, n, kept, &final);
        return find_leaf(c, kept, n, final, ret);
}

static int add_range(struct compiler *c, uint32_t start, size_t leaf) {
        if (c->n_ranges > 0 && c->ranges[c->n_ranges - 1].start == start) {
                c->ranges[c->n_ranges - 1].leaf = leaf;
                return 0;
        }
        if (c->n_ranges > 0 && c->ranges[c->n_ranges - 1].leaf == leaf)
                return 0;
        if (ARRAY_GROW(c->ranges, c->n_ranges) < 0)
                return -ENOMEM;
        c->ranges[c->n_ranges++] = (struct range){.start = start, .leaf = leaf};
        return 0;
}

static int compile_compare_entries(const void *a, const void *b) {
        const struct entry *x = a, *y = b;

        if (x->number != y->number)
                return x->number < y->number ? -1 : 1;
        return (x->rule->index > y->rule->index) - (x->rule->index < y->rule->index);
}

/* Collects the calls that the policy names, with their numbers, for each architecture whose
 * programs show this AUDIT_ARCH (x86_64's is x32's, too). */
static int compile_collect(struct compiler *c, uint32_t audit, struct entry **ret, size_t *ret_n) {
        struct entry *entries;
        size_t n = 0, most = 1;

        for (size_t i = 0; i < c->rules->n_rules; i++)
                most += 2 * strv_length(c->rules->rules[i].names);
        entries = calloc(most, sizeof(*entries));
        if (!entries)
                return -ENOMEM;
        for (size_t i = 0; i < c->rules->n_rules; i++)
                STRV_FOREACH (name, c->rules->rules[i].names)
                        for (enum syscall_arch arch = 0; arch < N_SYSCALL_ARCHS; arch++) {
                                int number;

                                if (!c->rules->has_arch[arch] || syscall_arch_audit(arch) != audit)
                                        continue;
                                number = syscall_number(arch, *name);
                                if (number >= 0)
                                        entries[n++] = (struct entry){(uint32_t)number, &c->rules->rules[i]};
                        }
        qsort(entries, n, sizeof(*entries), compile_compare_entries);
        *ret = entries;
        *ret_n = n;
        return 0;
}

/* Makes the ranges of one AUDIT_ARCH.  They cover all numbers from 0 on, without a gap. */
static int make_ranges(struct compiler *c, uint32_t audit) {
        bool has_x32 = c->rules->has_arch[SYSCALL_ARCH_X32];
        _cleanup_free_ struct entry *entries = NULL;
        size_t n = 0, other = 0, enosys = 0;
        int r;

        c->n_ranges = 0;
        r = find_leaf(c, NULL, 0, c->rules->default_action, &other);
        if (r >= 0)
                r = find_leaf(c, NULL, 0, ENOSYS_ACTION, &enosys);
        if (r >= 0)
                r = add_range(c, 0, other);
        if (r >= 0)
                r = compile_collect(c, audit, &entries, &n);
        for (size_t i = 0, next; r >= 0 && i < n; i = next) {
                size_t leaf = 0;

                for (next = i + 1; next < n && entries[next].number == entries[i].number;)
                        next++;
                r = leaf_of_call(c, entries + i, next - i, &leaf);
                if (r >= 0)
                        r = add_range(c, entries[i].number, leaf);
                if (r >= 0 && (next == n || entries[next].number != entries[i].number + 1))
                        r = add_range(c, entries[i].number + 1, other);
        }
        if (r >= 0 && audit == syscall_arch_audit(SYSCALL_ARCH_X32) && !has_x32)
                r = add_range(c, SYSCALL_X32_BIT, enosys);
        return r;
}

/* Refuses a policy under which no command could start (execve) or end (exit_group): it would only
 * show as a sandbox that hangs or dies without a reason. */
static int check_essential(struct compiler *c, const char *file, enum syscall_arch native,
                           struct nsrun_error *err) {
        static const char *const names[] = {"execve", "exit_group"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                uint32_t number = (uint32_t)syscall_number(native, names[i]);
                const struct leaf *leaf;
                size_t at = c->n_ranges;

                while (c->ranges[--at].start > number)
                        ;
                leaf = &c->leaves[c->ranges[at].leaf];
                if (leaf->n_rules == 0 && rule_severity(leaf->final) >= rule_severity(SECCOMP_RET_LOG))
                        continue;
                return error_setf(err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), file,
                                  "allow it without conditions",
                                  "the seccomp policy denies %s: no command could %s", names[i],
                                  i == 0 ? "start" : "end");
        }
        return 0;
}

/* Writes the tree of all ranges such that its root is the instruction written last, where the code
 * written next falls into it.  A tree that is a single leaf may have been written for another
 * architecture before; then a jump to that leaf is written. */
static void emit_whole_tree(struct compiler *c) {
        size_t root = emit_tree(c, 0, c->n_ranges - 1);

        if (root != c->n - 1)
                (void)emit(c, BPF_JMP | BPF_JA, (uint32_t)(c->n - root - 1), 0, 0);
}

static int emit_architectures(struct compiler *c, const char *file, enum syscall_arch native,
                              struct nsrun_error *err) {
        size_t position = emit_return(c, ENOSYS_ACTION);
        int r;

        /* The machine's own architecture is written last, so that the filter compares with it
         * first. */
        for (enum syscall_arch arch = N_SYSCALL_ARCHS; arch-- > 0;) {
                if (arch == native || !c->rules->has_arch[arch] || !syscall_arch_runs_on(arch, native) ||
                    syscall_arch_audit(arch) == syscall_arch_audit(native))
                        continue;
                r = make_ranges(c, syscall_arch_audit(arch));
                if (r < 0)
                        return error_oom(err);
                emit_whole_tree(c);
                position = emit_jump(c, BPF_JEQ, syscall_arch_audit(arch),
                                     emit_load(c, offsetof(struct seccomp_data, nr)), position);
        }
        r = make_ranges(c, syscall_arch_audit(native));
        if (r < 0)
                return error_oom(err);
        r = check_essential(c, file, native, err);
        if (r < 0)
                return r;
        emit_whole_tree(c);
        (void)emit_jump(c, BPF_JEQ, syscall_arch_audit(native),
                        emit_load(c, offsetof(struct seccomp_data, nr)), position);
        (void)emit_load(c, offsetof(struct seccomp_data, arch));
        return 0;
}

static void compiler_clear(struct compiler *c) {
        for (size_t i = 0; i < c->n_leaves; i++)
                free(c->leaves[i].rules);
        free(c->leaves);
        free(c->ranges);
        free(c->code);
}

int seccomp_compile(const char *file, const struct rules *rules, enum syscall_arch native,
                    struct seccomp_filter *ret, struct nsrun_error *err) {
        _cleanup_(compiler_clear) struct compiler c = {.rules = rules,
                                                       .is_big_endian = syscall_arch_is_big_endian(native)};
        struct sock_filter *code;
        int r = emit_architectures(&c, file, native, err);

        if (r < 0)
                return r;
        if (c.has_failed)
                return error_oom(err);
        if (c.n > BPF_MAXINSNS)
                return error_setf(
                        err, NSRUN_STAGE_POLICY, -E2BIG, file, "name fewer calls, or fewer arguments",
                        "the seccomp policy makes a filter of %zu instructions, and the kernel takes %d",
                        c.n, BPF_MAXINSNS);
        code = malloc(c.n * sizeof(*code));
        if (!code)
                return error_oom(err);
        for (size_t i = 0; i < c.n; i++)
                code[i] = c.code[c.n - 1 - i];
        *ret = (struct seccomp_filter){.code = code, .n = c.n};
        return 0;
}

void seccomp_filter_clear(struct seccomp_filter *filter) {
        free(filter->code);
        *filter = (struct seccomp_filter){0};
}

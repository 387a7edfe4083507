/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints seccomp policies and filters for a person. */
#include "print.h"

#include "simulate.h"

static void add_action(struct strbuf *b, uint32_t action) {
        char text[32];

        strbuf_add(b, seccomp_action_format(text, action));
}

static void add_condition(struct strbuf *b, const struct rule_condition *condition) {
        static const char *const signs[] = {
                [RULE_NE] = "!=", [RULE_LT] = "<", [RULE_LE] = "<=",        [RULE_EQ] = "==",
                [RULE_GE] = ">=", [RULE_GT] = ">", [RULE_MASKED_EQ] = "==",
        };

        if (condition->operator== RULE_MASKED_EQ)
                strbuf_addf(b, "(arg%u & 0x%jx)", condition->argument, (uintmax_t)condition->mask);
        else
                strbuf_addf(b, "arg%u", condition->argument);
        strbuf_addf(b, " %s 0x%jx", signs[condition->operator], (uintmax_t)condition->value);
}

static void add_call(struct strbuf *b, const struct rules *rules, const char *name, int number,
                     const struct rule **named, size_t n) {
        _cleanup_free_ const struct rule **kept = calloc(n + 1, sizeof(kept[0]));
        uint32_t final;

        if (!kept) {
                b->has_failed = true;
                return;
        }
        n = seccomp_decide(rules, named, n, kept, &final);
        strbuf_addf(b, "  %s (%u):", name, (unsigned)number & ~SYSCALL_X32_BIT);
        for (size_t i = 0; i < n; i++) {
                strbuf_add(b, " if ");
                for (size_t j = 0; j < kept[i]->n_conditions; j++) {
                        strbuf_add(b, j > 0 ? " and " : "");
                        add_condition(b, &kept[i]->conditions[j]);
                }
                strbuf_add(b, ": ");
                add_action(b, kept[i]->action);
                strbuf_add(b, "; else");
        }
        strbuf_add(b, " ");
        add_action(b, final);
        strbuf_add(b, "\n");
}

static void seccomp_print_add_arch(struct strbuf *b, const struct rules *rules, enum syscall_arch arch) {
        _cleanup_free_ const struct rule **named = calloc(rules->n_rules + 1, sizeof(named[0]));
        const char *name;

        if (!named) {
                b->has_failed = true;
                return;
        }
        strbuf_addf(b, "%s:\n", syscall_arch_name(arch));
        for (size_t i = 0; (name = syscall_name_at(i)); i++) {
                int number = syscall_number(arch, name);
                size_t n = 0;

                for (size_t j = 0; j < rules->n_rules; j++)
                        if (strv_contains(rules->rules[j].names, name))
                                named[n++] = &rules->rules[j];
                if (n > 0 && number >= 0)
                        add_call(b, rules, name, number, named, n);
        }
        strbuf_add(b, "  all others: ");
        add_action(b, rules->default_action);
        strbuf_add(b, "\n");
}

void seccomp_print_pfc(struct strbuf *b, const struct rules *rules, enum syscall_arch native) {
        seccomp_print_add_arch(b, rules, native);
        for (enum syscall_arch arch = 0; arch < N_SYSCALL_ARCHS; arch++)
                if (arch != native && rules->has_arch[arch])
                        seccomp_print_add_arch(b, rules, arch);
        strbuf_add(b, "all other architectures: errno ENOSYS\n");
}

static const char *jump_name(uint16_t code) {
        switch (BPF_OP(code)) {
        case BPF_JEQ:
                return "jeq";
        case BPF_JGT:
                return "jgt";
        case BPF_JGE:
                return "jge";
        }
        return "jset";
}

static void add_instruction(struct strbuf *b, const struct sock_filter *i, size_t at) {
        char text[32];

        strbuf_addf(b, "%4zu: ", at);
        switch (BPF_CLASS(i->code)) {
        case BPF_LD:
                strbuf_addf(b, "ld [%u]", i->k);
                break;
        case BPF_ALU:
                strbuf_addf(b, "and #0x%x", i->k);
                break;
        case BPF_RET:
                strbuf_addf(b, "ret #0x%08x  ; %s", i->k, seccomp_action_format(text, i->k));
                break;
        default:
                if (i->code == (BPF_JMP | BPF_JA))
                        strbuf_addf(b, "jmp %zu", at + 1 + i->k);
                else
                        strbuf_addf(b, "%s #0x%x, %zu, %zu", jump_name(i->code), i->k, at + 1 + i->jt,
                                    at + 1 + i->jf);
        }
        strbuf_add(b, "\n");
}

void seccomp_print_bpf(struct strbuf *b, const struct sock_filter *code, size_t n) {
        for (size_t i = 0; i < n; i++)
                add_instruction(b, &code[i], i);
}

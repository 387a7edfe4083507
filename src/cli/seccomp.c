/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun seccomp`: the policies, what they are, and what they say of a call. */
#include "seccomp/load.h"
#include "seccomp/print.h"
#include "seccomp/simulate.h"

#include "option.h"

enum seccomp_format {
        FORMAT_JSON,
        FORMAT_PFC,
        FORMAT_BPF
};

struct seccomp_options {
        enum seccomp_format format;
        enum syscall_arch arch;
        bool is_strict;
};

static int seccomp_apply_format(void *target, const struct option_spec *spec, const char *value,
                                struct nsrun_error *err) {
        struct seccomp_options *options = target;
        int i = option_choice(spec, value, err);

        if (i < 0)
                return i;
        options->format = (enum seccomp_format)i;
        return 0;
}

static int apply_arch(void *target, const struct option_spec *spec, const char *value,
                      struct nsrun_error *err) {
        struct seccomp_options *options = target;
        enum syscall_arch arch = syscall_arch_by_name(value);

        if (arch == N_SYSCALL_ARCHS)
                return option_refuse(spec, value, "no architecture that nsrun knows",
                                     "choose one of x86_64, x86, x32, aarch64, arm", err);
        options->arch = arch;
        return 0;
}

OPTION_FLAG(apply_strict, struct seccomp_options, is_strict);

const struct option_spec seccomp_options[] = {
        {"format", 0, "json|pfc|bpf", OPTION_COMPLETES_CHOICE, "Output",
         "show: the policy as it was written (the default), call by call, or as instructions",
         seccomp_apply_format},
        {"arch", 0, "x86_64|x86|x32|aarch64|arm", OPTION_COMPLETES_CHOICE, "Output",
         "check: a call of another architecture than the machine's own", apply_arch},
        {"strict-policy", 0, NULL, OPTION_COMPLETES_NOTHING, "Output",
         "refuse a file with an unknown call or a rule without effect, instead of warning", apply_strict},
};
const size_t n_seccomp_options = ARRAY_SIZE(seccomp_options);

static int load_policy(const char *name, const struct seccomp_options *options, struct seccomp_loaded *ret,
                       struct nsrun_error *err) {
        int r;

        if (streq(name, "none"))
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), name, "this policy has no filter",
                                 NULL);
        r = seccomp_load(name, options->is_strict, ret, err);
        if (r < 0)
                return r;
        STRV_FOREACH (warning, ret->warnings)
                (void)fprintf(stderr, "nsrun: warning: %s: %s\n", name, *warning);
        return 0;
}

static int list_policies(nsrun_unused char **words, nsrun_unused const struct seccomp_options *options,
                         nsrun_unused int *ret_status, nsrun_unused struct nsrun_error *err) {
        for (size_t i = 0; i < n_seccomp_shipped; i++)
                (void)printf("%-8s %s\n", seccomp_shipped[i].name, seccomp_shipped[i].description);
        return 0;
}

static int add_pfc(struct strbuf *b, const char *name, const char *text, struct nsrun_error *err) {
        _cleanup_rules_ struct rules rules = {0};
        struct rules_target target;
        int r = rules_target_here(&target, err);

        if (r >= 0)
                r = rules_parse(name, text, strlen(text), &target, &rules, err);
        if (r >= 0)
                seccomp_print_pfc(b, &rules, target.arch);
        return r;
}

static int show_policy(char **words, const struct seccomp_options *options, nsrun_unused int *ret_status,
                       struct nsrun_error *err) {
        _cleanup_loaded_ struct seccomp_loaded loaded = {0};
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_free_ char *text = NULL, *out = NULL;
        int r = load_policy(words[0], options, &loaded, err);

        if (r >= 0)
                r = seccomp_text(words[0], &text, err);
        if (r < 0)
                return r;
        if (options->format == FORMAT_JSON)
                strbuf_add(&b, text);
        else if (options->format == FORMAT_BPF)
                seccomp_print_bpf(&b, loaded.code, loaded.n);
        else
                r = add_pfc(&b, words[0], text, err);
        if (r < 0)
                return r;
        out = strbuf_finish(&b);
        if (!out)
                return error_oom(err);
        (void)fputs(out, stdout);
        return 0;
}

static int read_call(const char *word, enum syscall_arch arch, struct seccomp_data *ret,
                     struct nsrun_error *err) {
        int number = syscall_number(arch, word);
        char *end;

        if (number < 0 && *word >= '0' && *word <= '9') {
                unsigned long value;

                errno = 0;
                value = strtoul(word, &end, 0);
                if (errno == 0 && *end == '\0' && value <= UINT32_MAX) {
                        ret->nr = (int)(uint32_t)value;
                        return 0;
                }
        }
        if (number < 0)
                return error_setf(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), word, "a number is taken too",
                                  number == -ENOSYS ? "%s has no such call"
                                                    : "no call that nsrun knows on %s",
                                  syscall_arch_name(arch));
        ret->nr = number;
        return 0;
}

/* Prints what the filter answers; the status is 1 where that denies the call. */
static int check_call(char **words, const struct seccomp_options *options, int *ret_status,
                      struct nsrun_error *err) {
        _cleanup_loaded_ struct seccomp_loaded loaded = {0};
        struct seccomp_data data = {.arch = syscall_arch_audit(options->arch)};
        uint32_t action;
        char text[32];
        int r = load_policy(words[0], options, &loaded, err);

        if (r >= 0)
                r = read_call(words[1], options->arch, &data, err);
        for (size_t i = 0; r >= 0 && i < 6 && words[2 + i]; i++) {
                char *end;

                errno = 0;
                data.args[i] = strtoull(words[2 + i], &end, 0);
                if (errno != 0 || *end || end == words[2 + i])
                        r = error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), words[2 + i],
                                      "an argument is a number of 64 bits", NULL);
        }
        if (r < 0)
                return r;
        action = seccomp_simulate(loaded.code, loaded.n, &data);
        (void)printf("%s\n", seccomp_action_format(text, action));
        *ret_status = (action & SECCOMP_RET_ACTION_FULL) != SECCOMP_RET_ALLOW &&
                      (action & SECCOMP_RET_ACTION_FULL) != SECCOMP_RET_LOG;
        return 0;
}

static int compile(char **words, const struct seccomp_options *options, nsrun_unused int *ret_status,
                   struct nsrun_error *err) {
        _cleanup_loaded_ struct seccomp_loaded loaded = {0};
        int r;

        if (isatty(1))
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), NULL,
                                 "a filter is no text for a terminal",
                                 "redirect it to a file, or use 'nsrun seccomp show --format=bpf'");
        r = load_policy(words[0], options, &loaded, err);
        if (r >= 0)
                (void)fwrite(loaded.code, sizeof(*loaded.code), loaded.n, stdout);
        return r;
}

static const struct {
        const char *name;
        size_t fewest, most; /* words that follow */
        int (*run)(char **words, const struct seccomp_options *options, int *ret_status,
                   struct nsrun_error *err);
} actions[] = {
        {"list", 0, 0, list_policies},
        {"show", 1, 1, show_policy},
        {"check", 2, 8, check_call},
        {"compile", 1, 1, compile},
};

static int seccomp_run_action(struct invocation *invocation, struct nsrun_error *err) {
        const struct command *command = invocation->command;
        char **words = invocation->words;
        size_t n = strv_length(words);

        if (n == 0)
                return option_usage_error(command, NULL, "list, show, check or compile is missing", err);
        for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
                if (!streq(words[0], actions[i].name))
                        continue;
                if (n - 1 < actions[i].fewest)
                        return option_usage_error(command, words[0], "an argument is missing", err);
                if (n - 1 > actions[i].most)
                        return option_usage_error(command, words[actions[i].most + 1],
                                                  "an argument too many", err);
                return actions[i].run(words + 1, invocation->options, &invocation->status, err);
        }
        return option_usage_error(command, words[0], "neither list, show, check nor compile", err);
}

COMMAND_MAIN(seccomp, &(struct seccomp_options){.arch = SYSCALL_ARCH_NATIVE}, .run = seccomp_run_action,
             .is_mixed = true);

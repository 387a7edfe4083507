/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun plan`: prints what `nsrun run` would do, and does nothing. */
#include "run/degraded_trial.h"

#include "bundle.h"
#include "option.h"

struct plan_options {
        enum nsrun_format format;
        bool is_oci; /* instead of `format` */
        const char *bundle;
};

static int cli_plan_apply_format(void *target, const struct option_spec *spec, const char *value,
                                 struct nsrun_error *err) {
        static const enum nsrun_format formats[] = {NSRUN_FORMAT_TEXT, NSRUN_FORMAT_JSON,
                                                    NSRUN_FORMAT_BWRAP};
        struct plan_options *options = target;
        int i = option_choice(spec, value, err);

        if (i < 0)
                return i;
        options->is_oci = i == (int)ARRAY_SIZE(formats);
        if (!options->is_oci)
                options->format = formats[i];
        return 0;
}

OPTION_TEXT(cli_plan_apply_bundle, struct plan_options, bundle);

const struct option_spec plan_options[] = {
        {"format", 0, "text|json|bwrap|oci", OPTION_COMPLETES_CHOICE, "Output",
         "text (the default), JSON, an equivalent bubblewrap command for bash, or an OCI bundle's config.json",
         cli_plan_apply_format},
        {"bundle", 0, "DIR", OPTION_COMPLETES_FOLDER, "Output",
         "--format=oci: make the folder DIR, and the bundle in it", cli_plan_apply_bundle},
};
const size_t n_plan_options = ARRAY_SIZE(plan_options);

static int cli_print_plan(const struct nsrun_policy *policy, const struct plan_options *options,
                          struct nsrun_error *err) {
        enum nsrun_format format = options->format;
        const struct policy_request request = {.policy = policy, .starts_here = true, .is_shown = true};
        _cleanup_plan_ struct nsrun_plan *plan = NULL;
        _cleanup_free_ char *text = NULL;
        int r = plan_make(&request, &plan, err);

        /* A line for bubblewrap has no word for it. */
        if (r >= 0 && (format != NSRUN_FORMAT_BWRAP || plan->refuses_degraded))
                r = foretell_degraded(plan, err);
        if (r < 0)
                return r;
        if (options->is_oci)
                return bundle_write(plan, options->bundle, err);
        r = nsrun_plan_format(plan, format, &text, err);
        if (r < 0)
                return r;
        (void)printf("%s%s", text, text[0] && text[strlen(text) - 1] == '\n' ? "" : "\n");
        return 0;
}

static int check_and_print(struct invocation *i, struct nsrun_error *err) {
        const struct plan_options *options = i->options;
        const bool has_command = *i->words;
        int r = 0;

        if (has_command)
                r = command_set(i, err);
        else if (options->format == NSRUN_FORMAT_BWRAP)
                r = option_usage_error(i->command, "--format=bwrap", "no command", err);
        if (r == 0 && !has_command && options->is_oci)
                r = option_usage_error(i->command, "--format=oci", "no command", err);
        if (r == 0 && options->bundle && !options->is_oci)
                r = option_usage_error(i->command, "--bundle", "it is for --format=oci", err);
        return r == 0 ? cli_print_plan(i->policy, options, err) : r;
}

COMMAND_MAIN(plan, &(struct plan_options){.format = NSRUN_FORMAT_TEXT}, .run = check_and_print);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun config`: the configuration shown, checked, edited, and the schema that editors use. */
#include "policy/config.h"

#include <unistd.h>

#include "base/json.h"
#include "config_edit.h"
#include "option.h"
#include "plan/plan.h"
#include "proposal.h"

struct config_options {
        bool is_json;
};

static int cli_config_apply_json(void *target, nsrun_unused const struct option_spec *spec,
                                 nsrun_unused const char *value, nsrun_unused struct nsrun_error *err) {
        struct config_options *options = target;

        options->is_json = true;
        return 0;
}

const struct option_spec config_options[] = {
        {"json", 0, NULL, OPTION_COMPLETES_NOTHING, "Output", "show: print JSON", cli_config_apply_json},
};
const size_t n_config_options = ARRAY_SIZE(config_options);

static int print_shown(const struct policy_said *said, size_t n, struct nsrun_error *err) {
        size_t widest = 0, wide = 0;

        for (size_t i = 0; i < n; i++) {
                size_t length = strlen(said[i].value);

                wide = strlen(said[i].key) > wide ? strlen(said[i].key) : wide;
                widest = length > widest ? length : widest;
        }
        widest = widest > 40 ? 40 : widest;
        for (size_t i = 0; i < n; i++) {
                _cleanup_free_ char *value = str_visible(said[i].value);

                if (!value)
                        return error_oom(err);
                (void)printf("%-*s  %-*s  %s\n", (int)wide, said[i].key, (int)widest, value, said[i].from);
        }
        return 0;
}

static int print_shown_json(const struct policy_said *said, size_t n, struct nsrun_error *err) {
        _cleanup_json_ struct json_document document = {0};
        _cleanup_free_ char *text = NULL;
        struct json_value *settings;
        int r;

        r = json_open(&document, err);
        if (r < 0)
                return r;
        json_add_number(&document, document.root, "version", 1);
        settings = json_add_array(&document, document.root, "settings");
        for (size_t i = 0; i < n; i++) {
                struct json_value *setting = json_add_object(&document, settings, NULL);

                json_add_string(&document, setting, "name", said[i].key);
                json_add_string(&document, setting, "value", said[i].value);
                json_add_string(&document, setting, "from", said[i].from);
        }
        r = json_finish(&document, true, &text, err);
        if (r >= 0)
                (void)printf("%s\n", text);
        return r;
}

static int config_show(const struct nsrun_policy *policy, bool is_json, struct nsrun_error *err) {
        _cleanup_free_ struct policy_said *said = NULL;
        size_t n = 0;

        if (config_list_shown(policy, &said, &n) < 0)
                return error_oom(err);
        return is_json ? print_shown_json(said, n, err) : print_shown(said, n, err);
}

/* The whole file is checked, then whether a sandbox can be planned by it here. */
static int check_loaded(const struct nsrun_policy *policy, struct nsrun_error *err) {
        const struct policy_request request = {.policy = policy, .starts_here = true, .is_shown = true};
        _cleanup_free_ char *file = str_visible(policy->config);
        struct nsrun_plan *plan = NULL;
        int r = file ? config_check(policy->config_spelled, err) : error_oom(err);

        if (r >= 0)
                r = plan_make(&request, &plan, err);
        (void)nsrun_plan_free(plan);
        if (r >= 0)
                (void)printf("%s: no mistake in it\n", file);
        return r;
}

static int cli_config_check(struct nsrun_policy *policy, const char *file, struct nsrun_error *err) {
        _cleanup_free_ char *usual = NULL;
        int r = file ? config_load(policy, file, err) : nsrun_policy_find_config(policy, err);

        if (r < 0)
                return r;
        if (policy->config)
                return check_loaded(policy, err);
        if (config_find_user_file(policy, &usual) < 0)
                return error_oom(err);
        (void)printf("no configuration: neither %s nor " CONFIG_SYSTEM_FILE " is there\n",
                     usual ? usual : "one in a home folder");
        return 0;
}

static int print_schema(struct nsrun_error *err) {
        _cleanup_free_ char *text = NULL;
        int r = config_schema(&text, err);

        if (r >= 0)
                (void)printf("%s\n", text);
        return r;
}

static int act(const struct command *command, char *const *words, struct nsrun_policy *policy,
               const struct config_options *options, struct nsrun_error *err) {
        const char *action = words[0];

        if (!action)
                return option_usage_error(command, NULL, "say what: show, check, edit, schema or proposal",
                                          err);
        if (!streq(action, "show") && !streq(action, "check") && !streq(action, "edit") &&
            !streq(action, "schema") && !streq(action, "proposal"))
                return option_usage_error(command, action, "no such action", err);
        if (words[1] && (words[2] || (!streq(action, "check") && !streq(action, "edit"))))
                return option_usage_error(command, words[words[2] ? 2 : 1], "no argument is expected", err);
        if (options->is_json && !streq(action, "show"))
                return option_usage_error(command, "--json", "'nsrun config show' alone prints JSON", err);
        if (policy->given && (streq(action, "edit") || streq(action, "schema")))
                return option_usage_error(command, policy->given[0], "no option is expected", err);
        if (streq(action, "show"))
                return config_show(policy, options->is_json, err);
        if (streq(action, "proposal"))
                return proposal_show(policy, err);
        if (streq(action, "check"))
                return cli_config_check(policy, words[1], err);
        return streq(action, "edit") ? config_edit(policy, words[1], err) : print_schema(err);
}

int config_main(const struct command *command, char **argv) {
        struct nsrun_policy *policy = NULL;
        struct config_options options = {.is_json = false};
        struct common_options common = {0};
        struct nsrun_error err = {0};
        char **words;
        size_t n = 0;
        int r;

        while (argv[n])
                n++;
        words = calloc(n + 1, sizeof(*words));
        r = words ? nsrun_policy_new(&policy) : -ENOMEM;
        if (r < 0) {
                (void)error_oom(&err);
        } else {
                void *const targets[] = {policy, &options, &common};

                policy->keeps_said = true;
                r = option_parse_words(command, argv, targets, "show", words, &err);
                if (r == 0)
                        r = act(command, words, policy, &options, &err);
        }
        (void)nsrun_policy_free(policy);
        free(words);
        if (r < 0)
                return option_fail(&err);
        return r > 0 ? help_answer(command, &common) : option_close_stdout();
}

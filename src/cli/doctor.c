/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun doctor`: whether nsrun works on this host, what is missing, and what mends it. */
#include "doctor/doctor.h"

#include "option.h"

struct doctor_options {
        bool is_json;
        bool is_for;
        bool is_here;
};

OPTION_FLAG(cli_doctor_apply_json, struct doctor_options, is_json);
OPTION_FLAG(apply_for, struct doctor_options, is_for);
OPTION_FLAG(apply_here, struct doctor_options, is_here);

const struct option_spec doctor_options[] = {
        {"for", 0, NULL, OPTION_COMPLETES_NOTHING, "Judged",
         "judge a run with those of the sandbox's options that are given beside this, and no other",
         apply_for},
        {"here", 0, NULL, OPTION_COMPLETES_NOTHING, "Judged",
         "tell of this folder and home what may surprise in a run, and the option that decides it",
         apply_here},
        {"json", 0, NULL, OPTION_COMPLETES_NOTHING, "Output", "print JSON", cli_doctor_apply_json},
};
const size_t n_doctor_options = ARRAY_SIZE(doctor_options);

/* Whether it is this folder alone for which a run needs an option. */
static bool needs_folder_alone(const struct doctor *d) {
        return d->works && !d->has_project && strv_length(d->options) == 1;
}

static int doctor_print_text(const struct doctor *d, bool is_here, struct nsrun_error *err) {
        for (size_t i = 0; i < d->n_lines; i++) {
                const struct doctor_line *line = &d->lines[i];
                _cleanup_free_ char *text = str_visible(line->text);

                if (!text)
                        return error_oom(err);
                (void)printf("%-8s  %-17s  %s%s%s\n", doctor_state_name(line->state), line->check, text,
                             line->fix ? "; " : "", line->fix ? line->fix : "");
        }
        if (d->asked && is_here) {
                if (!d->works)
                        (void)puts("nsrun doesn't work here: mend what says \"no\"");
        } else if (d->asked) {
                (void)puts(d->works ? "nsrun works here with these options"
                                    : "nsrun doesn't work here with these options: mend what says \"no\"");
        } else if (!d->works) {
                (void)puts("nsrun doesn't work here: mend what says \"no\"");
        } else if (needs_folder_alone(d)) {
                (void)puts("nsrun works on this host, but not with this folder as the project");
        } else if (!d->options) {
                (void)puts("nsrun works here without an option");
        } else {
                (void)fputs("run with", stdout);
                STRV_FOREACH (option, d->options)
                        (void)printf(" %s", *option);
                (void)puts(d->is_weaker ? ", which may leave out a protection: better mend what says \"no\""
                                        : "");
        }
        return 0;
}

static int doctor_print_json(const struct doctor *d, struct nsrun_error *err) {
        _cleanup_json_ struct json_document document = json_begin();
        struct json_value *checks;

        json_add_number(&document, document.root, "version", 1);
        checks = json_add_array(&document, document.root, "checks");
        for (size_t i = 0; i < d->n_lines; i++) {
                struct json_value *line = json_add_object(&document, checks, NULL);

                json_add_string(&document, line, "check", d->lines[i].check);
                json_add_string(&document, line, "state", doctor_state_name(d->lines[i].state));
                json_add_string(&document, line, "text", d->lines[i].text);
                json_add_string(&document, line, "fix", d->lines[i].fix);
        }
        json_add_bool(&document, document.root, "works", d->works);
        json_add_bool(&document, document.root, "weaker", d->is_weaker);
        json_add_strings(&document, document.root, "options", d->options);
        return option_print_json(&document, true, err);
}

static int apply_words(void *data, struct nsrun_policy *policy, struct nsrun_error *err) {
        const struct invocation *i = data;
        struct doctor_options options = {.is_json = false};
        struct common_options common = {0};
        size_t first = 0;

        return option_parse(i->command, i->argv, (void *const[]){policy, &options, &common}, &first, err);
}

/* Sets what doctor found that a run needs here, "--proc=none", and the configuration. */
static int set_found_options(struct nsrun_policy *policy, char *const *found, struct nsrun_error *err) {
        int r = 0;

        STRV_FOREACH (option, found) {
                _cleanup_free_ char *name = strdup(*option + strlen("--"));
                char *value = name ? strchr(name, '=') : NULL;

                if (!name)
                        return -ENOMEM;
                if (value)
                        *value++ = '\0';
                if (r >= 0 && !streq(name, "no-project"))
                        r = nsrun_policy_set(policy, name, value, err);
        }
        if (r >= 0)
                r = nsrun_policy_set(policy, "no-project", NULL, err);
        return r < 0 ? r : nsrun_policy_find_config(policy, err);
}

static int run_true_in_session(const char *id, struct nsrun_error *err) {
        static const char *const words[] = {"sh", "-c", ":", NULL};
        struct nsrun_policy *policy = NULL;
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_plan *plan = NULL;
        struct nsrun_exit end;
        int r = nsrun_policy_new(&policy);

        if (r >= 0)
                r = nsrun_policy_set(policy, "session", id, err);
        if (r >= 0)
                r = nsrun_policy_set_command(policy, words, err);
        if (r >= 0)
                r = nsrun_plan_new(policy, &plan, err);
        if (r >= 0)
                r = nsrun_start(plan, NULL, &sandbox, err);
        if (r >= 0)
                r = nsrun_sandbox_wait(sandbox, &end, err);
        (void)nsrun_sandbox_free(sandbox);
        (void)nsrun_plan_free(plan);
        (void)nsrun_policy_free(policy);
        return r;
}

static bool has_line(const struct doctor *d, const char *check, enum doctor_state state) {
        for (size_t i = 0; i < d->n_lines; i++)
                if (streq(d->lines[i].check, check) && d->lines[i].state == state)
                        return true;
        return false;
}

/* A session of its own, outside the project, with one command: it takes calls that a run does without.  What
 * nsrun-monitor and the folders lack is said in their own lines. */
static void try_session(struct doctor *d) {
        struct nsrun_session_options options = NSRUN_SESSION_OPTIONS_INIT;
        struct nsrun_policy *policy = NULL;
        _cleanup_free_ char *id = NULL;
        struct nsrun_error error = {0};
        int r;

        if (!d->works || !has_line(d, "nsrun-monitor", DOCTOR_OK) ||
            !has_line(d, "cache folder", DOCTOR_OK) || !has_line(d, "sessions' folder", DOCTOR_OK))
                return;
        options.owner = getpid();
        r = nsrun_policy_new(&policy);
        if (r >= 0)
                r = set_found_options(policy, d->options, &error);
        if (r >= 0)
                r = nsrun_session_start(policy, &options, &id, NULL, &error);
        if (r >= 0)
                r = run_true_in_session(id, &error);
        (void)nsrun_policy_free(policy);
        if (id)
                (void)nsrun_session_kill(id, NULL);
        if (r == -ENOMEM)
                d->has_failed = true;
        else if (r < 0)
                (void)doctor_add_error(d, "session", DOCTOR_DEGRADED, &error);
        else
                doctor_say(d, "session", "can be had");
}

static int examine(struct invocation *i, struct nsrun_error *err) {
        _cleanup_doctor_ struct doctor d = {.lines = NULL};
        const struct doctor_options *options = i->options;
        const struct doctor_asked asked = {.apply = apply_words, .data = i};
        int r = command_refuse_words(i, "unexpected argument", err);

        if (r == 0 && strv_length(i->policy->given) > 0 && !options->is_for && !options->is_here) {
                char name[64];

                (void)snprintf(name, sizeof(name), "--%s", i->policy->given[0]);
                r = option_usage_error(i->command, name,
                                       "without --for doctor itself looks for the options of a run", err);
        }
        if (r >= 0)
                r = options->is_here ? doctor_examine_here(&asked, &d, err)
                                     : doctor_examine(options->is_for ? &asked : NULL, &d, err);
        if (r >= 0 && !options->is_for && !options->is_here) {
                try_session(&d);
                r = d.has_failed ? error_oom(err) : 0;
        }
        if (r >= 0)
                r = options->is_json ? doctor_print_json(&d, err)
                                     : doctor_print_text(&d, options->is_here, err);
        i->status = !d.works || (d.options && !needs_folder_alone(&d));
        return r;
}

/* What is wrong with the configuration doctor itself tells. */
static int examine_configuration(struct invocation *i, struct nsrun_error *err) {
        if (err->stage == NSRUN_STAGE_USAGE)
                return -EINVAL;
        *err = (struct nsrun_error){0};
        return examine(i, err);
}

COMMAND_MAIN(doctor, &(struct doctor_options){.is_json = false}, .run = examine,
             .failed = examine_configuration);

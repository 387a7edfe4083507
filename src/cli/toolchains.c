/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun toolchains`: the toolchain folders that are here or that a variable asks for, and how a run
 * from this folder shows each, or why not. */
#include "host/toolchains.h"
#include "base/json.h"
#include "option.h"
#include "resolve/resolve.h"

struct toolchains_options {
        bool is_json;
        bool wants_all;
};

static int cli_toolchains_apply_json(void *target, nsrun_unused const struct option_spec *spec,
                                     nsrun_unused const char *value, nsrun_unused struct nsrun_error *err) {
        struct toolchains_options *options = target;

        options->is_json = true;
        return 0;
}

static int apply_all(void *target, nsrun_unused const struct option_spec *spec,
                     nsrun_unused const char *value, nsrun_unused struct nsrun_error *err) {
        struct toolchains_options *options = target;

        options->wants_all = true;
        return 0;
}

const struct option_spec toolchains_options[] = {
        {"all", 0, NULL, OPTION_COMPLETES_NOTHING, "Output", "print the whole table instead", apply_all},
        {"json", 0, NULL, OPTION_COMPLETES_NOTHING, "Output", "print JSON", cli_toolchains_apply_json},
};
const size_t n_toolchains_options = ARRAY_SIZE(toolchains_options);

static const char *access_name(bool is_overlay) {
        return is_overlay ? "overlay" : "read-only";
}

static void print_visible(const char *text) {
        _cleanup_free_ char *visible = str_visible(text);

        (void)fputs(visible ? visible : "?", stdout);
}

/* Prints the table, and the variables that move each row. */
static void print_table(void) {
        for (size_t i = 0; i < n_toolchain_entries; i++) {
                const struct toolchain_entry *entry = &toolchain_entries[i];

                (void)printf("%-17s  %-9s  %s", entry->tool, access_name(entry->access == TOOLCHAIN_OVERLAY),
                             entry->path ? entry->path : "-");
                for (size_t k = 0; k < TOOLCHAIN_MOVES && entry->moved[k].variable; k++)
                        (void)printf("%s$%s%s%s", k == 0 ? "  " : ", ", entry->moved[k].variable,
                                     *entry->moved[k].below ? "/" : "", entry->moved[k].below);
                (void)puts("");
        }
}

static void cli_toolchains_print_text(const struct resolved *s) {
        for (size_t i = 0; i < s->n_toolchains; i++) {
                const struct resolved_toolchain *t = &s->toolchains[i];

                (void)printf("%-17s  %-9s  ", t->tool,
                             t->why ? "left out" : access_name(t->access == POLICY_OVERLAY));
                print_visible(t->path);
                if (t->variable)
                        (void)printf(" (%s)", t->variable);
                if (t->why) {
                        (void)fputs(": ", stdout);
                        print_visible(t->why);
                }
                (void)puts("");
        }
}

/* A row of the table, whether it is on this host or not. */
static void add_table_row(struct json_document *d, struct json_value *to,
                          const struct toolchain_entry *entry) {
        struct json_value *o = json_add_object(d, to, NULL), *variables;

        json_add_string(d, o, "tool", entry->tool);
        json_add_string(d, o, "path", entry->path);
        json_add_string(d, o, "access", access_name(entry->access == TOOLCHAIN_OVERLAY));
        variables = json_add_object(d, o, "variables");
        for (size_t k = 0; k < TOOLCHAIN_MOVES && entry->moved[k].variable; k++)
                json_add_string(d, variables, entry->moved[k].variable, entry->moved[k].below);
}

static void add_toolchain_object(struct json_document *d, struct json_value *to,
                                 const struct resolved_toolchain *t) {
        struct json_value *o = json_add_object(d, to, NULL);

        json_add_string(d, o, "tool", t->tool);
        json_add_string(d, o, "path", t->path);
        json_add_string(d, o, "access", access_name(t->access == POLICY_OVERLAY));
        json_add_bool(d, o, "exposed", !t->why);
        json_add_string(d, o, "variable", t->variable);
        json_add_string(d, o, "reason", t->why);
}

static int cli_toolchains_print_json(const struct resolved *s, bool wants_all, struct nsrun_error *err) {
        _cleanup_json_ struct json_document d = {0};
        _cleanup_free_ char *text = NULL;
        struct json_value *entries;
        int r;

        r = json_open(&d, err);
        if (r < 0)
                return r;
        json_add_number(&d, d.root, "version", 2);
        entries = json_add_array(&d, d.root, "toolchains");
        for (size_t i = 0; i < s->n_toolchains; i++)
                add_toolchain_object(&d, entries, &s->toolchains[i]);
        entries = wants_all ? json_add_array(&d, d.root, "table") : NULL;
        for (size_t i = 0; wants_all && i < n_toolchain_entries; i++)
                add_table_row(&d, entries, &toolchain_entries[i]);
        r = json_finish(&d, true, &text, err);
        if (r >= 0)
                (void)printf("%s\n", text);
        return r;
}

/* Resolves what `nsrun run` would have here; where the current folder can be no project, what it would
 * have without one. */
static int resolve_here(struct nsrun_policy *policy, struct resolved *s, struct nsrun_error *err) {
        const struct policy_request request = {.policy = policy, .is_session = true};
        struct nsrun_error ignored = {0};
        int r;

        r = nsrun_policy_find_config(policy, err);
        if (r < 0)
                return r;
        r = policy_resolve(&request, s, &ignored);
        if (r >= 0)
                return r;
        resolved_clear(s);
        r = nsrun_policy_set(policy, "no-project", NULL, err);
        return r < 0 ? r : policy_resolve(&request, s, err);
}

static int print_toolchains(const struct toolchains_options *options, struct nsrun_error *err) {
        _cleanup_resolved_ struct resolved resolved = {0};
        struct nsrun_policy *policy = NULL;
        int r;

        if (options->wants_all && !options->is_json) {
                print_table();
                return 0;
        }
        if (nsrun_policy_new(&policy) < 0)
                return error_oom(err);
        r = resolve_here(policy, &resolved, err);
        if (r >= 0 && options->is_json)
                r = cli_toolchains_print_json(&resolved, options->wants_all, err);
        else if (r >= 0)
                cli_toolchains_print_text(&resolved);
        resolved_clear(&resolved);
        (void)nsrun_policy_free(policy);
        return r;
}

int toolchains_main(const struct command *command, char **argv) {
        struct toolchains_options options = {0};
        struct common_options common = {0};
        void *const targets[] = {&options, &common};
        struct nsrun_error err = {0};
        size_t first = 0;
        int r;

        r = option_parse(command, argv, targets, &first, &err);
        if (r > 0)
                return help_answer(command, &common);
        if (r == 0 && argv[first])
                r = option_usage_error(command, argv[first], "no argument is expected", &err);
        if (r == 0)
                r = print_toolchains(&options, &err);
        return r < 0 ? option_fail(&err) : option_close_stdout();
}

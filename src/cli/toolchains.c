/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun toolchains`: the toolchain folders that are here or that a variable asks for, and how a run
 * from this folder shows each, or why not. */
#include "host/toolchains.h"
#include "option.h"
#include "resolve/resolve.h"

struct toolchains_options {
        bool is_json;
        bool wants_all;
};

OPTION_FLAG(cli_toolchains_apply_json, struct toolchains_options, is_json);
OPTION_FLAG(apply_all, struct toolchains_options, wants_all);

const struct option_spec toolchains_options[] = {
        {"all", 0, NULL, OPTION_COMPLETES_NOTHING, "Output", "print the whole table instead", apply_all},
        {"json", 0, NULL, OPTION_COMPLETES_NOTHING, "Output", "print JSON", cli_toolchains_apply_json},
};
const size_t n_toolchains_options = ARRAY_SIZE(toolchains_options);

static const char *access_name(bool is_overlay) {
        return is_overlay ? "overlay" : "read-only";
}

/* Prints the table, and the variables that move each row. */
static void print_table(void) {
        struct toolchain_entry entry;

        for (const char *at = NULL; toolchains_next(&at, &entry);) {
                (void)printf("%-17s  %-9s  %s", entry.tool, access_name(entry.access == TOOLCHAIN_OVERLAY),
                             entry.path ? entry.path : "-");
                for (size_t k = 0; k < TOOLCHAIN_MOVES && entry.moved[k].variable; k++)
                        (void)printf("%s$%s%s%s", k == 0 ? "  " : ", ", entry.moved[k].variable,
                                     *entry.moved[k].below ? "/" : "", entry.moved[k].below);
                (void)puts("");
        }
}

static void cli_toolchains_print_text(const struct resolved *s) {
        for (size_t i = 0; i < s->tools.n_toolchains; i++) {
                const struct resolved_toolchain *t = &s->tools.toolchains[i];

                (void)printf("%-17s  %-9s  ", t->tool,
                             t->why ? "left out" : access_name(t->access == POLICY_OVERLAY));
                print_visible("", t->path, "");
                if (t->variable)
                        (void)printf(" (%s)", t->variable);
                if (t->why)
                        print_visible(": ", t->why, "");
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
        _cleanup_json_ struct json_document d = json_begin();
        struct json_value *entries;
        struct toolchain_entry row;

        json_add_number(&d, d.root, "version", 2);
        entries = json_add_array(&d, d.root, "toolchains");
        for (size_t i = 0; i < s->tools.n_toolchains; i++)
                add_toolchain_object(&d, entries, &s->tools.toolchains[i]);
        entries = wants_all ? json_add_array(&d, d.root, "table") : NULL;
        for (const char *at = NULL; wants_all && toolchains_next(&at, &row);)
                add_table_row(&d, entries, &row);
        return option_print_json(&d, true, err);
}

/* Resolves what `nsrun run` would have here; where the current folder can be no project, what it would
 * have without one. */
static int resolve_here(struct nsrun_policy *policy, struct resolved *s, struct nsrun_error *err) {
        const struct policy_request request = {.policy = policy, .is_session = true};
        struct nsrun_error ignored = {0};
        int r = nsrun_policy_find_config(policy, err);

        if (r < 0)
                return r;
        r = policy_resolve(&request, s, &ignored);
        if (r >= 0)
                return r;
        resolved_clear(s);
        r = nsrun_policy_set(policy, "no-project", NULL, err);
        return r < 0 ? r : policy_resolve(&request, s, err);
}

static int print_toolchains(struct invocation *i, struct nsrun_error *err) {
        const struct toolchains_options *options = i->options;
        _cleanup_resolved_ struct resolved resolved = {0};
        int r = command_refuse_words(i, "no argument is expected", err);

        if (r < 0)
                return r;
        if (options->wants_all && !options->is_json) {
                print_table();
                return 0;
        }
        r = resolve_here(i->policy, &resolved, err);
        if (r >= 0 && options->is_json)
                r = cli_toolchains_print_json(&resolved, options->wants_all, err);
        else if (r >= 0)
                cli_toolchains_print_text(&resolved);
        return r;
}

COMMAND_MAIN(toolchains, &(struct toolchains_options){0}, .run = print_toolchains);

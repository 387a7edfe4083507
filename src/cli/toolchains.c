/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun toolchains`: the table of toolchain folders, and which of them are here. */
#include "host/toolchains.h"
#include "base/json.h"
#include "host/user.h"
#include "option.h"

struct toolchains_options {
        bool is_json;
};

static int cli_toolchains_apply_json(void *target, nsrun_unused const struct option_spec *spec,
                                     nsrun_unused const char *value, nsrun_unused struct nsrun_error *err) {
        struct toolchains_options *options = target;

        options->is_json = true;
        return 0;
}

const struct option_spec toolchains_options[] = {
        {"json", 0, NULL, OPTION_COMPLETES_NOTHING, "Output", "print JSON", cli_toolchains_apply_json},
};
const size_t n_toolchains_options = ARRAY_SIZE(toolchains_options);

/* Marks the entries that are here. */
static int note_found(void *data, const struct toolchain_entry *entry, nsrun_unused const char *path) {
        bool *is_found = data;

        is_found[entry - toolchain_entries] = true;
        return 0;
}

static const char *access_name(const struct toolchain_entry *entry) {
        return entry->access == TOOLCHAIN_OVERLAY ? "overlay" : "read-only";
}

static void print_text(const bool *is_found) {
        for (size_t i = 0; i < n_toolchain_entries; i++)
                (void)printf("%-10s %-8s %s\n", access_name(&toolchain_entries[i]),
                             is_found[i] ? "found" : "-", toolchain_entries[i].path);
}

static int cli_toolchains_print_json(const bool *is_found, struct nsrun_error *err) {
        _cleanup_json_ struct json_document d = {0};
        _cleanup_free_ char *text = NULL;
        struct json_value *entries;
        int r;

        r = json_open(&d, err);
        if (r < 0)
                return r;
        json_add_number(&d, d.root, "version", 1);
        entries = json_add_array(&d, d.root, "toolchains");
        for (size_t i = 0; i < n_toolchain_entries; i++) {
                struct json_value *entry = json_add_object(&d, entries, NULL);

                json_add_string(&d, entry, "path", toolchain_entries[i].path);
                json_add_string(&d, entry, "access", access_name(&toolchain_entries[i]));
                json_add_bool(&d, entry, "found", is_found[i]);
        }
        r = json_finish(&d, true, &text, err);
        if (r >= 0)
                (void)printf("%s\n", text);
        return r;
}

static int print_toolchains(const struct toolchains_options *options, struct nsrun_error *err) {
        _cleanup_free_ bool *is_found = calloc(n_toolchain_entries, sizeof(*is_found));
        _cleanup_free_ char *home = NULL;

        if (!is_found || user_find_home(getenv("HOME"), &home) < 0 ||
            toolchains_each(home, note_found, is_found) < 0)
                return error_oom(err);
        if (options->is_json)
                return cli_toolchains_print_json(is_found, err);
        print_text(is_found);
        return 0;
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

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun grant` and `nsrun revoke`: what a running sandbox is shown besides. */
#include "base/path.h"
#include "base/str.h"
#include "config_section.h"
#include "option.h"
#include "ps_row.h"

struct grant_cli {
        const char *option, *path;
        unsigned n;
        bool saves;
};

OPTION_FLAG(apply_save, struct grant_cli, saves);

static int grant_apply(void *target, const struct option_spec *spec, const char *value,
                       nsrun_unused struct nsrun_error *err) {
        struct grant_cli *cli = target;

        cli->option = spec->name;
        cli->path = value;
        cli->n++;
        return 0;
}

const struct option_spec grant_options[] = {
        {"ro", 0, "PATH", OPTION_COMPLETES_PATH, "Paths", "to be read", grant_apply},
        {"rw", 0, "FILE", OPTION_COMPLETES_PATH, "Paths", "to be written", grant_apply},
        {"overlay", 0, "DIR", OPTION_COMPLETES_FOLDER, "Paths", "to be written, and thrown away",
         grant_apply},
        {"save", 0, NULL, OPTION_COMPLETES_NOTHING, "Paths",
         "put it into your configuration, too, for the sandbox's project", apply_save},
};
const size_t n_grant_options = ARRAY_SIZE(grant_options);

static void print_notes(char *const *notes) {
        STRV_FOREACH (note, notes)
                (void)fprintf(stderr, "nsrun: note: %s\n", *note);
}

/* A symlink of the host's isn't there with what it leads to. */
static void tell_granted(const char *id, const char *project, const struct grant_cli *cli,
                         const char *shown) {
        _cleanup_free_ char *cwd = get_current_dir_name(), *joined = NULL, *typed = NULL,
                            *visible = str_visible(shown);

        LOG_BY_HAND("granted", "sandbox", id, "option", cli->option, "path", shown, "project", project);
        if (cwd)
                joined = *cli->path == '/' ? strdup(cli->path) : path_join(cwd, cli->path);
        typed = joined ? path_normalise(joined) : NULL;
        if (typed && !streq(typed, shown))
                (void)fprintf(stderr, "nsrun: note: a symlink leads there, and the sandbox has it at %s\n",
                              visible ? visible : "?");
}

/* In the section of the sandbox's project, where it is a person's. */
static int save_granted(const struct nsrun_plan *plan, const struct grant_cli *cli, const char *shown,
                        struct nsrun_error *err) {
        const char *key = streq(cli->option, "ro")   ? "readable"
                          : streq(cli->option, "rw") ? "writable"
                                                     : "overlay";
        _cleanup_free_ char *config = NULL, *said = NULL,
                            *project = config_section_name(plan->project ? plan->project : ""),
                            *path = config_section_name(shown);
        _cleanup_json_ struct json_document d = {0};
        struct json_value *section, *list;
        struct nsrun_policy *policy = NULL;
        int r;

        if (!plan->project)
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-ENOENT), NULL,
                                 "it is granted, but not saved: the sandbox has no project", NULL);
        r = nsrun_policy_new(&policy) < 0 ? error_oom(err) : config_edit_find(policy, NULL, &config, err);
        (void)nsrun_policy_free(policy);
        if (r >= 0)
                r = config_section_open(config, &d, err);
        if (r < 0)
                return r;
        if (!project || !path)
                return error_oom(err);
        section = config_section_find(&d, plan->project, project);
        if (section && json_has(section, CONFIG_SECTION_PROPOSAL))
                return error_set(
                        err, NSRUN_STAGE_USAGE, UNSAID(-EEXIST), config,
                        "it is granted, but not saved: the project's section is what it proposed itself",
                        "add it by 'nsrun config edit'");
        if (!section)
                section = json_add_object(&d, config_section_all(&d), project);
        list = json_get(section, key);
        if (!list)
                list = json_add_array(&d, section, key);
        for (size_t k = 0; k < json_length(list); k++)
                if (json_text(json_at(list, k)) && streq(json_text(json_at(list, k)), path))
                        return 0;
        json_add_string(&d, list, NULL, path);
        r = config_section_write(&d, config, err);
        said = r < 0 ? NULL : str_format("%s: \"%s\" has %s for %s", config, key, path, project);
        if (said) {
                _cleanup_free_ char *visible = str_visible(said);

                (void)printf("%s\n", visible ? visible : "?");
        }
        return r;
}

static int run_grant(struct invocation *i, struct nsrun_error *err) {
        const struct grant_cli *cli = i->options;
        _cleanup_widened_ struct widened w = WIDENED_INIT;
        _cleanup_strv_ char **notes = NULL;
        _cleanup_free_ char *shown = NULL;
        int r;

        if (!i->words[0])
                return option_usage_error(i->command, NULL, "the id of a sandbox is missing", err);
        if (i->words[1])
                return option_usage_error(i->command, i->words[1], "an argument too many", err);
        if (cli->n != 1)
                return option_usage_error(i->command, NULL, "one of --ro, --rw and --overlay, once", err);
        r = ps_open(i->words[0], &w, err);
        if (r >= 0)
                r = widen_grant(&w, cli->option, cli->path, NULL, &notes, &shown, err);
        if (r >= 0)
                tell_granted(i->words[0], w.plan->project, cli, shown);
        if (r >= 0 && cli->saves)
                r = save_granted(w.plan, cli, shown, err);
        print_notes(notes);
        return r;
}

COMMAND_MAIN(grant, &(struct grant_cli){0}, .is_mixed = true, .run = run_grant);

static int run_revoke(struct invocation *i, struct nsrun_error *err) {
        _cleanup_widened_ struct widened w = WIDENED_INIT;
        _cleanup_strv_ char **notes = NULL;
        size_t n = 0;
        int r;

        if (!i->words[0])
                return option_usage_error(i->command, NULL, "the id of a sandbox is missing", err);
        r = ps_open(i->words[0], &w, err);
        if (r >= 0 && !i->words[1]) {
                r = widen_revoke_path(&w, NULL, &notes, err);
                n += r >= 0;
                if (r >= 0)
                        LOG_BY_HAND("revoked", "sandbox", i->words[0], "project", w.plan->project);
        }
        /* The others are taken back all the same; the first that can't be is told of. */
        for (char *const *path = i->words + 1; i->words[1] && *path && w.file >= 0; path++) {
                struct nsrun_error other = {0};
                int q = widen_revoke_path(&w, *path, &notes, r < 0 ? &other : err);

                r = r < 0 ? r : q;
                n += q >= 0;
                if (q >= 0)
                        LOG_BY_HAND("revoked", "sandbox", i->words[0], "path", *path, "project",
                                    w.plan->project);
        }
        if (n > 0)
                (void)strv_add(&notes,
                               "what is open there, or in namespaces of the command's own, stays: a folder "
                               "shows what comes later, too, and its sockets and FIFOs can be talked to");
        print_notes(notes);
        return r;
}

COMMAND_MAIN(revoke, NULL, .run = run_revoke);

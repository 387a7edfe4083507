/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun grant` and `nsrun revoke`: what a running sandbox has besides. */
#include "base/path.h"
#include "option.h"
#include "policy/config_section.h"
#include "ps_row.h"
#include "widen/widen_net.h"

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

#define OPTIONS_OF_NETWORK(words)                                                                      \
        {"allow",    0, "HOST[:PORT,...]", OPTION_COMPLETES_NOTHING, "Network", words "to be reached", \
         grant_apply},                                                                                 \
        {                                                                                              \
                "publish", 0, "[ADDRESS:]PORT[:INSIDE]", OPTION_COMPLETES_NOTHING, "Network",          \
                        words "to be reached on the host", grant_apply                                 \
        }
const struct option_spec grant_options[] = {
        {"ro", 0, "PATH", OPTION_COMPLETES_PATH, "Paths", "to be read", grant_apply},
        {"rw", 0, "FILE", OPTION_COMPLETES_PATH, "Paths", "to be written", grant_apply},
        {"overlay", 0, "DIR", OPTION_COMPLETES_FOLDER, "Paths", "to be written, and thrown away",
         grant_apply},
        OPTIONS_OF_NETWORK(""),
        {"save", 0, NULL, OPTION_COMPLETES_NOTHING, "Configuration",
         "put it into your configuration, too, for the sandbox's project", apply_save},
};
const size_t n_grant_options = ARRAY_SIZE(grant_options);

const struct option_spec revoke_options[] = {
        OPTIONS_OF_NETWORK("not "),
        {"save", 0, NULL, OPTION_COMPLETES_NOTHING, "Configuration",
         "take it out of your configuration, too, for the sandbox's project", apply_save},
};
const size_t n_revoke_options = ARRAY_SIZE(revoke_options);

static bool is_of_network(const struct grant_cli *cli) {
        return cli->n > 0 && (streq(cli->option, "allow") || streq(cli->option, "publish"));
}

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

static int save_granted(const struct nsrun_plan *plan, const char *option, const char *text, bool adds,
                        struct nsrun_error *err) {
        _cleanup_free_ char *said = NULL;
        int r = config_section_save(plan->project, option, text, adds, &said, err);

        if (r >= 0 && said)
                print_visible("", said, "\n");
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
                return option_usage_error(i->command, NULL,
                                          "one of --ro, --rw, --overlay, --allow and --publish, once", err);
        r = ps_open(i->words[0], &w, err);
        if (r >= 0 && is_of_network(cli)) {
                r = widen_net_grant(&w, cli->option, cli->path, &shown, err);
                if (r >= 0)
                        LOG_BY_HAND("granted", "sandbox", i->words[0], "option", cli->option, "path", shown,
                                    "project", w.plan->project);
        } else if (r >= 0)
                r = widen_grant(&w, cli->option, cli->path, NULL, &notes, &shown, err);
        if (r >= 0 && !is_of_network(cli))
                tell_granted(i->words[0], w.plan->project, cli, shown);
        if (r >= 0 && cli->saves)
                r = save_granted(w.plan, cli->option, shown, true, err);
        print_notes(notes);
        return r;
}

COMMAND_MAIN(grant, &(struct grant_cli){0}, .is_mixed = true, .run = run_grant);

static void tell_ended(void) {
        (void)fputs("nsrun: note: connections that it alone allowed are ended; what was sent there can't be "
                    "taken back\n",
                    stderr);
}

static int revoke_network(struct invocation *i, struct widened *w, struct nsrun_error *err) {
        const struct grant_cli *cli = i->options;
        _cleanup_free_ char *shown = NULL;
        int r = widen_net_revoke(w, cli->option, cli->path, &shown, err);

        if (r < 0)
                return r;
        tell_ended();
        LOG_BY_HAND("revoked", "sandbox", i->words[0], "option", cli->option, "path", shown, "project",
                    w->plan->project);
        return cli->saves ? save_granted(w->plan, cli->option, shown, false, err) : 0;
}

/* What that path was granted as is taken out of the configuration. */
static int drop_saved(const struct widened *w, const char *path, struct nsrun_error *err) {
        _cleanup_free_ char *canonical = NULL;
        int r = path_canonical(path, &canonical, NULL) == -ENOMEM ? error_oom(err) : 0;

        for (size_t k = 0; k < w->granted.n && r >= 0; k++) {
                const struct granted *g = &w->granted.items[k];

                if (!granted_is_network(g) &&
                    (streq(g->path, path) || (canonical && streq(g->path, canonical))))
                        r = save_granted(w->plan, g->option, g->path, false, err);
        }
        return r;
}

static int run_revoke(struct invocation *i, struct nsrun_error *err) {
        const struct grant_cli *cli = i->options;
        _cleanup_widened_ struct widened w = WIDENED_INIT;
        _cleanup_strv_ char **notes = NULL;
        size_t n = 0, n_of_network = 0;
        int r;

        if (!i->words[0])
                return option_usage_error(i->command, NULL, "the id of a sandbox is missing", err);
        if (cli->n > 1)
                return option_usage_error(i->command, NULL, "one of --allow and --publish, once", err);
        if (cli->saves && cli->n == 0 && !i->words[1])
                return option_usage_error(i->command, NULL, "--save goes with a path, --allow or --publish",
                                          err);
        r = ps_open(i->words[0], &w, err);
        if (r >= 0 && cli->n > 0)
                r = revoke_network(i, &w, err);
        else if (r >= 0 && !i->words[1]) {
                for (size_t k = 0; k < w.granted.n; k++) {
                        n += w.granted.items[k].is_live && !granted_is_network(&w.granted.items[k]);
                        n_of_network +=
                                w.granted.items[k].is_live && granted_is_network(&w.granted.items[k]);
                }
                r = widen_revoke_path(&w, NULL, &notes, err);
                n = r >= 0 && (n > 0 || n_of_network == 0);
                if (r >= 0 && n_of_network > 0)
                        tell_ended();
                if (r >= 0)
                        LOG_BY_HAND("revoked", "sandbox", i->words[0], "project", w.plan->project);
        }
        /* The others are taken back all the same; the first that can't be is told of. */
        for (char *const *path = i->words + 1; i->words[1] && *path && w.file >= 0; path++) {
                struct nsrun_error other = {0};
                int q = widen_revoke_path(&w, *path, &notes, r < 0 ? &other : err);

                if (q >= 0 && cli->saves)
                        q = drop_saved(&w, *path, r < 0 ? &other : err);
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

COMMAND_MAIN(revoke, &(struct grant_cli){0}, .is_mixed = true, .run = run_revoke);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun plan`: prints what `nsrun run` would do, and does nothing. */
#include <sys/stat.h>

#include "base/file.h"
#include "base/path.h"
#include "option.h"
#include "plan/oci.h"
#include "run/degraded_trial.h"

/* ---------------------------------------------------------- a bundle */

/* The folder is made anew and is the caller's alone, so that nobody else can have put anything into it; and
 * it lies where the bundle's own command can't write, which would choose what the next runtime executes. */

static int bundle_fail(int r, const char *path, struct nsrun_error *err) {
        return error_set(err, NSRUN_STAGE_USAGE, r, path, "the bundle can't be written",
                         r == -EEXIST ? "it is made anew: name a folder that isn't there" : NULL);
}

static int bundle_write_file(int folder, const char *path, const char *text, mode_t mode) {
        int fd = openat(folder, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        int r = fd < 0 ? -errno : write_full(fd, text, strlen(text));

        if (r >= 0 && fchmod(fd, mode) < 0)
                r = -errno;
        if (fd >= 0 && close(fd) < 0 && r >= 0)
                r = -errno;
        return r;
}

static int bundle_write_entry(int folder, const struct oci_entry *entry) {
        if (entry->is_link)
                return symlinkat(entry->text, folder, entry->path) < 0 ? -errno : 0;
        if (entry->text)
                return bundle_write_file(folder, entry->path, entry->text, entry->mode);
        /* Modes are set in the end: a folder must let its entries in. */
        return mkdirat(folder, entry->path, 0700) < 0 ? -errno : 0;
}

static int bundle_write_all(int folder, const struct oci_bundle *bundle, struct nsrun_error *err) {
        int r = 0;

        for (size_t i = 0; i < bundle->n_entries && r >= 0; i++) {
                r = bundle_write_entry(folder, &bundle->entries[i]);
                if (r < 0)
                        return bundle_fail(r, bundle->entries[i].path, err);
        }
        for (size_t i = bundle->n_entries; i-- > 0;) {
                const struct oci_entry *entry = &bundle->entries[i];

                if (!entry->text && fchmodat(folder, entry->path, entry->mode, 0) < 0)
                        return bundle_fail(-errno, entry->path, err);
        }
        r = bundle_write_file(folder, "config.json", bundle->config, 0644);
        return r < 0 ? bundle_fail(r, "config.json", err) : 0;
}

/* Refuses a bundle in what the plan lets its command write. */
static int refuse_writable(const struct nsrun_plan *plan, const char *folder, struct nsrun_error *err) {
        for (size_t i = 0; i < plan->n_ops; i++) {
                const struct plan_op *op = &plan->ops[i];

                if (op->kind == PLAN_BIND && !op->is_read_only && !op->is_device && !op->is_in_rundir &&
                    path_is_beneath(folder, op->source))
                        return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EPERM), folder,
                                         "the bundle would lie where its command can write",
                                         "name a folder outside of the project and of --rw");
        }
        return 0;
}

/* The absolute path of a folder that isn't there yet. */
static int place_bundle(const char *folder, char **ret, struct nsrun_error *err) {
        _cleanup_free_ char *parent = NULL, *canonical = NULL;
        const char *slash = strrchr(folder, '/'), *name = slash ? slash + 1 : folder;
        unsigned mode = 0;
        int r;

        if (!*name || streq(name, ".") || streq(name, ".."))
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), folder,
                                 "--bundle: not the name of a new folder", NULL);
        parent = slash == folder ? strdup("/")
                 : slash         ? strndup(folder, (size_t)(slash - folder))
                                 : strdup(".");
        if (!parent)
                return error_oom(err);
        r = path_canonical(parent, &canonical, &mode);
        if (r < 0)
                return bundle_fail(r, parent, err);
        *ret = path_join(canonical, name);
        return *ret ? 0 : error_oom(err);
}

static int write_bundle(const struct nsrun_plan *plan, const char *path, const struct oci_bundle *bundle,
                        struct nsrun_error *err) {
        _cleanup_close_ int fd = -EBADF;
        int r = refuse_writable(plan, path, err);

        if (r < 0)
                return r;
        if (mkdir(path, 0700) < 0)
                return bundle_fail(-errno, path, err);
        fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return fd < 0 ? bundle_fail(-errno, path, err) : bundle_write_all(fd, bundle, err);
}

static int refuse_unsaid(const struct oci_bundle *bundle, struct nsrun_error *err) {
        return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EOPNOTSUPP), NULL, bundle->unsaid[0],
                         "an OCI bundle can't say otherwise: leave --strict out, or what asks for it");
}

/* Prints config.json, or with a folder makes that folder, which must not be there, and the bundle in it.
 * What the spec can't say goes to standard error, a line each; with --strict it is refused. */
static int bundle_write(const struct nsrun_plan *plan, const char *folder, struct nsrun_error *err) {
        struct oci_bundle bundle = {0};
        _cleanup_free_ char *path = NULL;
        int r = folder ? place_bundle(folder, &path, err) : 0;

        if (r >= 0)
                r = plan_make_oci(plan, path, &bundle, err);
        if (r >= 0 && plan->refuses_degraded && bundle.unsaid)
                r = refuse_unsaid(&bundle, err);
        if (r >= 0 && path)
                r = write_bundle(plan, path, &bundle, err);
        if (r >= 0 && !path)
                (void)printf("%s\n", bundle.config);
        if (r >= 0)
                STRV_FOREACH (line, bundle.unsaid)
                        (void)fprintf(stderr, "nsrun: note: not in the bundle: %s\n", *line);
        oci_bundle_clear(&bundle);
        return r;
}

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

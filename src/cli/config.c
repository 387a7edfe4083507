/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun config`: the configuration shown, checked, edited, and the schema that editors use. */
#include "policy/config.h"

#include <sys/wait.h>

#include "base/file.h"
#include "base/path.h"
#include "base/programs.h"
#include "confirm.h"
#include "learned_file.h"
#include "option.h"
#include "policy/config_section.h"
#include "proposal.h"

struct config_options {
        bool is_json;
};

OPTION_FLAG(cli_config_apply_json, struct config_options, is_json);

const struct option_spec config_options[] = {
        {"json", 0, NULL, OPTION_COMPLETES_NOTHING, "Output", "show: print JSON", cli_config_apply_json},
};
const size_t n_config_options = ARRAY_SIZE(config_options);

/* ---------------------------------------------------- edit: a copy beside the file, a check, a rename */

#define MOST_BYTES ((size_t)1 << 20)

static const char template[] = "{\n"
                               "        \"version\": 1\n"
                               "}\n";

struct edit {
        char *file; /* canonical, as far as it exists */
        char *copy; /* beside it */
        char *text; /* what the file said; NULL: it isn't there */
};

static int fail_edit(struct nsrun_error *err, int r, const char *path, const char *what, const char *hint) {
        return error_set(err, NSRUN_STAGE_USAGE, r, path, what, hint);
}

/* The file's text; NULL where there is no file. */
static int read_text(const char *file, char **ret, struct nsrun_error *err) {
        int r = read_small_file(AT_FDCWD, file, 0, MOST_BYTES, ret);

        return r == -ENOENT ? 0
               : r < 0      ? fail_edit(err, r, file, "the configuration can't be read", NULL)
                            : r;
}

/* A copy of mode 0600, which the rename gives to the file, too: a configuration is nobody else's business.
 */
static int make_copy(struct edit *e, struct nsrun_error *err) {
        _cleanup_free_ char *folder = path_parent(e->file);
        const char *text = e->text ? e->text : template;
        _cleanup_close_ int fd = -EBADF;
        int r = folder ? config_make_folders(e->file) : -ENOMEM;

        if (r < 0)
                return fail_edit(err, r, folder, "the configuration's folder can't be made", NULL);
        e->copy = str_format("%s/edited-XXXXXX.json", folder);
        if (!e->copy)
                return error_oom(err);
        fd = mkostemps(e->copy, (int)strlen(".json"), O_CLOEXEC);
        if (fd < 0) {
                r = -errno;
                free(TAKE_PTR(e->copy));
                return fail_edit(err, r, folder, "no file can be made beside the configuration", NULL);
        }
        r = write_full(fd, text, strlen(text));
        return r < 0 ? fail_edit(err, r, e->copy, "the copy can't be written", NULL) : 0;
}

static const char *find_editor(void) {
        const char *visual = getenv("VISUAL"), *editor = getenv("EDITOR");

        return visual && *visual ? visual : editor && *editor ? editor : "vi";
}

/* The editor, which may have arguments, as git runs it: by a shell.  The terminal's signals are the
 * editor's. */
static int run_editor(const char *copy, struct nsrun_error *err) {
        const char *editor = find_editor();
        int status = 0;
        pid_t pid;
        _cleanup_free_ char *line = str_format("%s \"$1\"", editor);

        if (!line)
                return error_oom(err);
        (void)fflush(stdout);
        pid = fork();
        if (pid < 0)
                return fail_edit(err, -errno, editor, "the editor can't be started", NULL);
        if (pid == 0) {
                program_restore_files();
                (void)execl("/bin/sh", "sh", "-c", line, editor, copy, (char *)NULL);
                _exit(EXIT_NOT_FOUND);
        }
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return fail_edit(err, -errno, editor, "the editor can't be waited for", NULL);
        return status == 0
                       ? 0
                       : fail_edit(err, UNSAID(-ECANCELED), editor, "the editor failed: nothing is changed",
                                   "VISUAL and EDITOR name another one");
}

/* Whether the user, told what is wrong, wants to go on. */
static bool wants_another_try(const struct nsrun_error *err) {
        _cleanup_close_ int fd = confirm_open_terminal();
        _cleanup_free_ char *line = nsrun_error_format(err), *prompt = NULL;
        char answer[CONFIRM_ANSWER_SIZE];

        if (fd < 0 || !line || !(prompt = str_format("nsrun: %s\nEdit it again? [Y/n] ", line)))
                return false;
        return confirm_ask(fd, prompt, answer) > 0 &&
               (streq(answer, "") || streq(answer, "y") || streq(answer, "yes"));
}

static int edit_until_right(const struct edit *e, struct nsrun_error *err) {
        int r;

        do {
                *err = (struct nsrun_error){0};
                r = run_editor(e->copy, err);
                if (r < 0)
                        return r;
                r = config_check(e->copy, err);
        } while (r < 0 && wants_another_try(err));
        return r;
}

static bool is_same_text(const char *a, const char *b) {
        return a && b ? streq(a, b) : a == b;
}

/* Puts the copy in the file's place, unless somebody else was there first. */
static int install(struct edit *e, struct nsrun_error *err) {
        _cleanup_free_ char *now = NULL, *edited = NULL;
        int r = read_text(e->copy, &edited, err);

        if (r >= 0)
                r = read_text(e->file, &now, err);
        if (r < 0)
                return r;
        if (!is_same_text(now, e->text)) {
                (void)fail_edit(err, UNSAID(-EAGAIN), e->copy, "the configuration was changed meanwhile",
                                "your edition is kept there");
                free(TAKE_PTR(e->copy));
                return -EAGAIN;
        }
        if (is_same_text(edited, e->text)) {
                (void)printf("%s: not changed\n", e->file);
                return 0;
        }
        if (rename(e->copy, e->file) < 0)
                return fail_edit(err, -errno, e->file, "the edition can't take the configuration's place",
                                 NULL);
        free(TAKE_PTR(e->copy));
        (void)printf("%s: saved, no mistake in it\n", e->file);
        return 0;
}

/* Has the user's editor change a copy of `file` (NULL: the user's configuration), there or not; the copy
 * takes the file's place when nsrun can read it.  -ECANCELED: the editor failed, or the user gave up;
 * -EAGAIN: the file was changed meanwhile; config_check()'s. */
static int config_edit(const struct nsrun_policy *policy, const char *file, struct nsrun_error *err) {
        struct edit e = {.file = NULL};
        int r = config_edit_find(policy, file, &e.file, err);

        if (r >= 0)
                r = read_text(e.file, &e.text, err);
        if (r >= 0)
                r = make_copy(&e, err);
        if (r >= 0)
                r = edit_until_right(&e, err);
        if (r >= 0)
                r = install(&e, err);
        if (e.copy)
                (void)unlink(e.copy);
        free(e.file);
        free(e.copy);
        free(e.text);
        return r;
}

/* --------------------------------------------------------------------- the others */

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
        _cleanup_json_ struct json_document document = json_begin();
        struct json_value *settings;

        json_add_number(&document, document.root, "version", 1);
        settings = json_add_array(&document, document.root, "settings");
        for (size_t i = 0; i < n; i++) {
                struct json_value *setting = json_add_object(&document, settings, NULL);

                json_add_string(&document, setting, "name", said[i].key);
                json_add_string(&document, setting, "value", said[i].value);
                json_add_string(&document, setting, "from", said[i].from);
        }
        return option_print_json(&document, true, err);
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
        if (r >= 0 && policy->network_config && policy->net != POLICY_NET_ALLOW)
                (void)printf(
                        "%s: what it says of hosts counts in runs with --net=allow or ask alone, or with "
                        "\"net\": \"allow\" in it\n",
                        file);
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

static int act(struct invocation *i, struct nsrun_error *err) {
        const struct command *command = i->command;
        const struct config_options *options = i->options;
        struct nsrun_policy *policy = i->policy;
        char *const *words = i->words;
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

static void prepare_config(struct nsrun_policy *policy) {
        policy->keeps_said = true;
}

COMMAND_MAIN(config, &(struct config_options){.is_json = false}, .run = act, .prepare = prepare_config,
             .is_mixed = true, .configured = "show");

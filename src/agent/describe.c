/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a model is told about the bash tool: a description, made from the plan by which its commands
 * run, and the schema of its parameters. */
#include "bash.h"
#include "run/sized.h"

#define SUMMARY "Runs a bash command"

/* Adds the targets of all operations that is_wanted() accepts, between `before` and `after`.  If
 * there are none it adds nothing and answers false. */
static bool add_targets(struct strbuf *b, const struct nsrun_plan *plan,
                        bool (*is_wanted)(const struct plan_op *), const char *before, const char *after) {
        size_t n = 0;

        for (size_t i = 0; i < plan->n_ops; i++) {
                _cleanup_free_ char *visible = NULL;

                if (!is_wanted(&plan->ops[i]))
                        continue;
                visible = str_visible(plan->ops[i].target);
                if (!visible)
                        b->has_failed = true;
                else
                        strbuf_addf(b, "%s%s", n++ ? ", " : before, visible);
        }
        if (n > 0)
                strbuf_add(b, after);
        return n > 0;
}

static bool is_writable_folder(const struct plan_op *op) {
        return op->kind == PLAN_BIND && !op->is_read_only && !op->is_device && !op->is_in_rundir;
}

static bool has_overlay_op(const struct plan_op *op) {
        return op->kind == PLAN_OVERLAY;
}

static const struct plan_op *find_target(const struct nsrun_plan *plan, const char *target) {
        for (size_t i = 0; i < plan->n_ops; i++)
                if (streq(plan->ops[i].target, target))
                        return &plan->ops[i];
        return NULL;
}

static void describe_files(struct strbuf *b, const struct nsrun_plan *plan) {
        const struct plan_op *tmp = find_target(plan, "/tmp");
        const char *life = plan->join ? "is shared by the commands of this session and gone after it"
                                      : "is empty when a command begins and gone when it ends";

        strbuf_add(b, "- It sees a part of the machine's files, most of them read-only.");
        if (!add_targets(b, plan, is_writable_folder, " What it writes is kept in: ", ".\n"))
                strbuf_addf(b, " Nothing that it writes outlives the %s.\n",
                            plan->join ? "session" : "command");
        (void)add_targets(
                b, plan, has_overlay_op, "- Writable, but ",
                plan->join ? ": the changes last as long as this session, and the user decides about them.\n"
                           : ": the changes are thrown away when the command ends.\n");
        if (tmp)
                strbuf_addf(b, "- /tmp %s.\n", is_writable_folder(tmp) ? "is kept between commands" : life);
}

/* What may be reached by name. */
static void describe_network(struct strbuf *b, const struct nsrun_plan *plan) {
        size_t n = 0;

        if (plan->net != POLICY_NET_ALLOW)
                return;
        strbuf_add(b, "- Of the network only this can be reached: ");
        STRV_FOREACH (line, plan->network) {
                const char *host = startswith(*line, "allow ");

                if (host)
                        strbuf_addf(b, "%s%s", n++ == 0 ? "" : ", ", host);
        }
        STRV_FOREACH (use, plan->key_uses) {
                unsigned port = (unsigned)strtoul(*use, NULL, 10);
                const char *url = strstr(*use, "https://");

                strbuf_addf(b, "%s%.*s with its key at http://127.0.0.1:%u", n++ == 0 ? "" : ", ",
                            url ? (int)strcspn(url, ",") : 0, url ? url : "", port);
        }
        strbuf_add(b, n == 0 ? "nothing.  Everything else is refused by policy.\n"
                             : ".  Everything else is refused by policy: trying again doesn't help.\n");
}

static void describe_sandbox(struct strbuf *b, const struct nsrun_plan *plan) {
        if (plan->plain) {
                strbuf_add(b,
                           "- There is no sandbox: it runs as the user, with all files and the network of "
                           "the machine.\n");
                return;
        }
        describe_files(b, plan);
        strbuf_add(b,
                   plan->net == POLICY_NET_NONE
                           ? "- There is no network: nothing can be downloaded, and servers are reached by "
                             "nobody outside.\n"
                   : plan->net == POLICY_NET_ALLOW ? ""
                                                   : "- The network is the machine's own.\n");
        describe_network(b, plan);
}

static void describe_life(struct strbuf *b, const struct nsrun_plan *plan,
                          const struct nsrun_bash_options *options) {
        bool survives = plan->join && !plan->join->kills_leftovers;

        strbuf_add(
                b,
                "- Standard input is empty: commands that ask get no answer, so give them options such as "
                "-y or -m.\n"
                "- Standard output and standard error come back as one text, without what goes to "
                "/dev/null: `2>/dev/null`.");
        strbuf_addf(b,
                    " Of a longer one the first %zu and the last %zu KiB are left: choose with head, "
                    "tail or grep.\n",
                    CAPTURE_HEAD / 1024, CAPTURE_TAIL / 1024);
        strbuf_addf(b,
                    "- The call returns when the command has ended and no process holds its output: `server "
                    "&` keeps it waiting, `server >/dev/null 2>&1 &` doesn't, and %s.\n",
                    !survives                       ? "is killed when the call returns"
                    : plan->join->isolates_commands ? "goes on running when the call returns"
                                                    : "goes on running until a later command kills it");
        strbuf_addf(b,
                    "- After %d seconds, or those that `timeout` says (%d at most), all its processes are "
                    "ended.\n"
                    "- An exit status other than 0 is a result like any other; the text ends with it.\n",
                    options->timeout, NSRUN_BASH_TIMEOUT_MOST);
        if (options->confirm)
                strbuf_add(b,
                           "- The user is asked before each command, and may decline it: that is an error "
                           "then.\n");
}

static int describe(const struct nsrun_plan *plan, const struct nsrun_bash_options *options, char **ret,
                    struct nsrun_error *err) {
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_free_ char *visible = str_visible(plan->cwd);

        if (!visible)
                return error_oom(err);
        strbuf_addf(
                &b,
                SUMMARY
                "%s.\n\n"
                "- Every command begins in %s: relative paths start there, and neither cd nor "
                "variables last until the next one. To work elsewhere, cd in the same command: `cd src/foo "
                "&& make test`.\n"
                "- Where you have tools that read, write, edit or search files, prefer them to cat, sed, rg "
                "and find.\n",
                plan->plain  ? ""
                : plan->join ? " in a sandbox that all commands of this session share"
                             : " in a sandbox of its own",
                visible);
        describe_sandbox(&b, plan);
        describe_life(&b, plan, options);
        *ret = strbuf_finish(&b);
        return *ret ? 0 : error_oom(err);
}

static const struct {
        const char *name, *type, *text;
} parameters[] = {
        {"command", "string", "The command, of one line or several, such as \"ls -la lib/\". Required."},
        {"description", "string",
         "What it is for, in three to seven words that the user is shown, such as "
         "\"Run unit tests\"."},
        {"timeout", "integer", "Seconds after which it is ended, such as 300."},
};

static int describe_json(const char *text, const struct nsrun_bash_options *options, char **ret,
                         struct nsrun_error *err) {
        static char command[] = "command";
        char *const required[] = {command, NULL};
        _cleanup_json_ struct json_document d = json_begin();
        struct json_value *schema, *properties, *one;

        json_add_string(&d, d.root, "name", "bash");
        json_add_string(&d, d.root, "description", text);
        schema = json_add_object(&d, d.root, "parameters");
        json_add_string(&d, schema, "type", "object");
        properties = json_add_object(&d, schema, "properties");
        for (size_t i = 0; i < ARRAY_SIZE(parameters); i++) {
                one = json_add_object(&d, properties, parameters[i].name);
                json_add_string(&d, one, "type", parameters[i].type);
                json_add_string(&d, one, "description", parameters[i].text);
                if (!streq(parameters[i].type, "integer"))
                        continue;
                json_add_number(&d, one, "minimum", 1);
                json_add_number(&d, one, "maximum", NSRUN_BASH_TIMEOUT_MOST);
                json_add_number(&d, one, "default", (uint64_t)options->timeout);
        }
        json_add_strings(&d, schema, "required", required);
        json_add_bool(&d, schema, "additionalProperties", false);
        return json_finish(&d, false, ret, err);
}

static int describe_text(const char *text, const struct nsrun_bash_options *options, char **ret,
                         struct nsrun_error *err) {
        _cleanup_strbuf_ struct strbuf b = {0};

        strbuf_addf(&b, "%s\nParameters:\n", text);
        for (size_t i = 0; i < ARRAY_SIZE(parameters); i++) {
                strbuf_addf(&b, "- %s (%s): %s", parameters[i].name, parameters[i].type, parameters[i].text);
                if (streq(parameters[i].type, "integer"))
                        strbuf_addf(&b, " From 1 to %d; %d if it is left out.", NSRUN_BASH_TIMEOUT_MOST,
                                    options->timeout);
                strbuf_add(&b, i + 1 < ARRAY_SIZE(parameters) ? "\n" : "");
        }
        *ret = strbuf_finish(&b);
        return *ret ? 0 : error_oom(err);
}

nsrun_public int nsrun_bash_describe(const struct nsrun_policy *policy,
                                     const struct nsrun_bash_options *options, enum nsrun_format format,
                                     char **ret, struct nsrun_error *error) {
        char *const argv[] = {(char *)"bash", NULL};
        const struct policy_request request = {.policy = policy, .argv = argv};
        struct nsrun_bash_options own = NSRUN_BASH_OPTIONS_INIT;
        _cleanup_plan_ struct nsrun_plan *plan = NULL;
        _cleanup_free_ char *text = NULL;
        int r = options ? sized_take(&own, sizeof(own), options, "nsrun_bash_options", error) : 0;

        if (r >= 0 && format != NSRUN_FORMAT_TEXT && format != NSRUN_FORMAT_JSON)
                r = error_set(error, NSRUN_STAGE_USAGE, -EINVAL, NULL, "a description has no such format",
                              NULL);
        if (r >= 0)
                r = bash_refuse_chdir(policy, error);
        if (r >= 0)
                r = plan_make(&request, &plan, error);
        if (r >= 0)
                r = plan_load_operations(plan, error);
        if (r >= 0)
                r = describe(plan, &own, &text, error);
        if (r < 0)
                return r;
        return format == NSRUN_FORMAT_JSON ? describe_json(text, &own, ret, error)
                                           : describe_text(text, &own, ret, error);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun agents`: the table that --agent takes its rows from, with those of the configuration. */
#include "policy/agents.h"
#include "option.h"

struct agents_options {
        bool is_json;
        const char *name; /* the one that is asked for; NULL: all */
};

OPTION_FLAG(cli_agents_apply_json, struct agents_options, is_json);

const struct option_spec agents_options[] = {
        {"json", 0, NULL, OPTION_COMPLETES_NOTHING, "Output", "print JSON", cli_agents_apply_json},
};
const size_t n_agents_options = ARRAY_SIZE(agents_options);

/* A row, whoever it is from; the lists are borrowed, or the strings in `paths`. */
struct agent_shown {
        const char *name, *what;
        char **paths[3]; /* by access: read-only, writable, overlay */
        const char *const *keys, *const *hosts;
        const struct agent_shipped *shipped; /* NULL: a configuration's */
        bool is_nested;
};

static const struct {
        enum policy_access access;
        const char *name;
} accesses[] = {{POLICY_OVERLAY, "overlay"}, {POLICY_RW, "writable"}, {POLICY_RO, "readable"}};

static void clear_shown(struct agent_shown *a) {
        for (size_t i = 0; i < ARRAY_SIZE(a->paths); i++)
                strv_free(TAKE_PTR(a->paths[i]));
}

static int cli_agents_add_folder(struct agent_shown *a, const struct agent_folder *folder) {
        _cleanup_strbuf_ struct strbuf b = {0};

        strbuf_add(&b, folder->path);
        for (size_t k = 0; k < AGENT_MOVES_MOST && folder->moved[k].variable; k++)
                strbuf_addf(&b, " ($%s%s%s)", folder->moved[k].variable, *folder->moved[k].below ? "/" : "",
                            folder->moved[k].below);
        return strv_consume(&a->paths[folder->access], strbuf_finish(&b));
}

static int show_agent(const struct agent_entry *entry, struct agent_shown *a) {
        const struct agent_folder *folder = entry->folders;
        int r = 0;

        *a = (struct agent_shown){.name = entry->name,
                                  .what = entry->what,
                                  .keys = entry->keys,
                                  .hosts = entry->hosts,
                                  .is_nested = entry->is_nested};
        for (; folder && folder->path && r >= 0; folder++)
                r = cli_agents_add_folder(a, folder);
        return r;
}

static void print_list(const char *label, const char *const *list) {
        if (!list || !*list)
                return;
        (void)printf("            %-10s", label);
        for (; *list; list++)
                print_visible("", *list, list[1] ? ", " : "\n");
}

static int print_text_row(void *data, const struct agent_shown *a) {
        (void)data;
        (void)printf("%-11s %s\n", a->name, a->what);
        for (size_t i = 0; i < ARRAY_SIZE(accesses); i++)
                print_list(accesses[i].name, (const char *const *)a->paths[accesses[i].access]);
        print_list("key", a->keys);
        print_list("hosts", a->hosts);
        if (a->is_nested)
                (void)puts("            seccomp   nested");
        if (a->shipped && a->shipped->login)
                (void)printf("            login     nsrun run --agent %s %s\n", a->name, a->shipped->login);
        if (a->shipped && a->shipped->version)
                (void)printf("            checked   %s, %s\n", a->shipped->version, a->shipped->date);
        return 0;
}

struct rows_json {
        struct json_document d;
        struct json_value *rows;
};

static void add_strings(struct rows_json *j, struct json_value *to, const char *key,
                        const char *const *list) {
        struct json_value *array = json_add_array(&j->d, to, key);

        for (; list && *list; list++)
                json_add_string(&j->d, array, NULL, *list);
}

static int add_json_row(void *data, const struct agent_shown *a) {
        struct rows_json *j = data;
        struct json_value *o = json_add_object(&j->d, j->rows, NULL);

        json_add_string(&j->d, o, "name", a->name);
        json_add_string(&j->d, o, "what", a->what);
        for (size_t i = 0; i < ARRAY_SIZE(accesses); i++)
                add_strings(j, o, accesses[i].name, (const char *const *)a->paths[accesses[i].access]);
        add_strings(j, o, "keys", a->keys);
        add_strings(j, o, "hosts", a->hosts);
        json_add_bool(&j->d, o, "nested", a->is_nested);
        if (a->shipped) {
                json_add_string(&j->d, o, "login", a->shipped->login);
                json_add_string(&j->d, o, "version", a->shipped->version);
                json_add_string(&j->d, o, "date", a->shipped->date);
        }
        return 0;
}

/* The configuration's rows, then those shipped ones that it doesn't replace. */
static int each_agent(const struct nsrun_policy *p, const struct agents_options *options,
                      int (*found)(void *data, const struct agent_shown *a), void *data) {
        struct agent_shown a = {0};
        int r = 0;

        for (size_t i = 0; i < p->n_agents + n_agent_entries && r >= 0; i++) {
                const struct agent_shipped *shipped =
                        i < p->n_agents ? NULL : &agent_entries[i - p->n_agents];
                const struct agent_entry *entry = shipped ? &shipped->entry : &p->agents[i].entry;

                if ((shipped && agent_find(p, entry->name) != entry) ||
                    (options->name && !streq(options->name, entry->name)))
                        continue;
                r = show_agent(entry, &a);
                a.shipped = shipped;
                if (r >= 0)
                        r = found(data, &a);
                clear_shown(&a);
        }
        return r;
}

static int print_agents(struct invocation *i, struct nsrun_error *err) {
        struct agents_options *options = i->options;
        struct nsrun_policy *policy = i->policy;
        struct rows_json j = {0};
        int r;

        options->name = i->words[0];
        if (options->name && i->words[1])
                return option_usage_error(i->command, i->words[1], "one name is enough", err);
        r = nsrun_policy_find_config(policy, err);
        if (r >= 0 && options->name && !agent_find(policy, options->name))
                r = error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), options->name,
                              "no agent of that name",
                              "'nsrun agents' has them all; a configuration adds one");
        if (r >= 0 && !options->is_json) {
                r = each_agent(policy, options, print_text_row, NULL) < 0 ? error_oom(err) : 0;
        } else if (r >= 0) {
                j.d = json_begin();
                json_add_number(&j.d, j.d.root, "version", 1);
                j.rows = json_add_array(&j.d, j.d.root, "agents");
                r = each_agent(policy, options, add_json_row, &j) < 0 ? error_oom(err) : 0;
                if (r >= 0)
                        r = option_print_json(&j.d, true, err);
                json_close(&j.d);
        }
        return r;
}

COMMAND_MAIN(agents, &(struct agents_options){0}, .run = print_agents);

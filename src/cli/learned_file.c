/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "learned_file.h"

#include "base/file.h"
#include "base/json.h"
#include "base/path.h"
#include "base/responds.h"
#include "policy/config.h"

#define MOST_BYTES ((size_t)1 << 20)

void learned_file_clear(struct learned_file *f) {
        learned_clear(&f->learned);
        strv_freep(&f->hosts);
        strv_freep(&f->refused);
        strv_freep(&f->denied);
}

/* ------------------------------------------------------------------- the text */

/* "~/x" for what is in the home. */
static char *home_path(const struct nsrun_plan *plan, const char *path) {
        const char *below = plan->home ? path_below(path, plan->home) : NULL;

        return below && *below ? str_concat("~/", below, "") : strdup(path);
}

/* "cc1, ld: 14 paths". */
static char *comment_of(const struct learned_rule *rule) {
        _cleanup_strbuf_ struct strbuf b = {0};

        STRV_FOREACH (program, rule->programs) {
                strbuf_add(&b, program == rule->programs ? "" : ", ");
                strbuf_add(&b, *program);
        }
        if (rule->n_files > 1)
                strbuf_addf(&b, "%s%zu paths", rule->programs ? ": " : "", rule->n_files);
        if (rule->is_written)
                strbuf_add(&b, "; written to, which is thrown away");
        return strbuf_finish(&b);
}

static void add_learned_rule(struct json_document *d, struct json_value *to, const struct nsrun_plan *plan,
                             const struct learned_rule *rule) {
        _cleanup_free_ char *path = home_path(plan, rule->path), *comment = comment_of(rule);
        struct json_value *entry = json_add_object(d, to, NULL);

        if (!path || !comment) {
                d->has_failed = true;
                return;
        }
        json_add_string(d, entry, "path", path);
        if (*comment)
                json_add_string(d, entry, "//", comment);
}

/* Whether a document has the path as it is, and not another one. */
static bool can_be_said(const char *path) {
        while (*path && json_utf8_length(path) > 0)
                path += json_utf8_length(path);
        return !*path;
}

static void add_rules_of(struct json_document *d, const struct learned_file *f, bool is_written,
                         const char *key) {
        struct json_value *array = json_get(d->root, key);

        for (size_t i = 0; i < f->learned.n_rules; i++) {
                if (f->learned.rules[i].is_written != is_written || !can_be_said(f->learned.rules[i].path))
                        continue;
                if (!array)
                        array = json_add_array(d, d->root, key);
                add_learned_rule(d, array, f->plan, &f->learned.rules[i]);
        }
}

/* A path as a glob for it, and for little else; braces are none, but refused, and what isn't UTF-8 can't be
 * said. */
static char *glob_of(const char *path) {
        _cleanup_strbuf_ struct strbuf b = {0};

        for (const char *at = path; *at; at++)
                if (*at == '{' || json_utf8_length(at) == 0) {
                        strbuf_add(&b, "?");
                } else {
                        size_t n = json_utf8_length(at);

                        strbuf_add(&b, strchr("*?[\\", *at) ? "\\" : "");
                        strbuf_add_bytes(&b, at, n);
                        at += n - 1;
                }
        return strbuf_finish(&b);
}

static void add_learned_hidden(struct json_document *d, const struct learned_file *f) {
        struct json_value *hide = json_get(d->root, "hide");

        STRV_FOREACH (hidden, f->learned.hidden) {
                _cleanup_free_ char *path = home_path(f->plan, *hidden), *glob = path ? glob_of(path) : NULL;

                if (!glob) {
                        d->has_failed = true;
                        return;
                }
                if (!hide)
                        hide = json_add_array(d, d->root, "hide");
                if (!json_array_has(hide, glob))
                        json_add_string(d, hide, NULL, glob);
        }
}

static void add_network(struct json_document *d, const struct learned_file *f) {
        struct json_value *allow = json_get(d->root, "allow");

        if (f->plan->net != POLICY_NET_ALLOW)
                return;
        if (!json_has(d->root, "net"))
                json_add_string(d, d->root, "net", "allow");
        STRV_FOREACH (host, f->hosts) {
                if (!allow)
                        allow = json_add_array(d, d->root, "allow");
                if (!json_array_has(allow, *host))
                        json_add_string(d, allow, NULL, *host);
        }
}

/* Whether what an option or a configuration said goes into the file.  Not the rules that allowed hosts:
 * those that were reached by them take their place. */
static bool is_carried(const struct policy_said *said) {
        return !streq(said->from, "default") && !streq(said->key, "allow");
}

/* What was said and no document can say.  Of a variable the name alone is told. */
static int list_no_utf8(const struct learned_file *f, char ***lines) {
        _cleanup_free_ struct policy_said *said = NULL;
        size_t n = 0;
        int r = f->update ? 0 : config_list_shown(f->policy, &said, &n);

        for (size_t i = 0; i < n && r >= 0; i++) {
                size_t length = streq(said[i].key, "env") ? strcspn(said[i].value, "=") : SIZE_MAX;
                _cleanup_free_ char *what = strndup(said[i].value, length), *named = NULL;

                if (!is_carried(&said[i]) || can_be_said(said[i].value))
                        continue;
                named = what ? str_concat(said[i].key, " ", what) : NULL;
                r = named ? strv_consume(lines,
                                         str_concat(named, ": in force, not given: ", "it is no UTF-8"))
                          : -ENOMEM;
        }
        return r;
}

static int add_not_given(struct json_document *d, const struct learned_file *f) {
        _cleanup_strv_ char **lines = NULL;
        int r = strv_copy(f->learned.not_given, &lines);

        if (r >= 0)
                r = list_no_utf8(f, &lines);
        for (size_t i = 0; i < f->learned.n_rules && r >= 0; i++)
                if (!can_be_said(f->learned.rules[i].path))
                        r = strv_consume(&lines, str_concat(f->learned.rules[i].path,
                                                            ": used, not given: ", "its name is no UTF-8"));
        STRV_FOREACH (host, f->refused)
                if (r >= 0)
                        r = strv_consume(&lines, str_concat(*host, ": asked for, not given: ",
                                                            "no rule allows the host"));
        STRV_FOREACH (call, f->denied)
                if (r >= 0)
                        r = strv_add(&lines, *call);
        if (r >= 0 && lines)
                json_add_strings(d, d->root, "// not given", lines);
        return r;
}

/* What it was made with, for people. */
static int add_origin(struct json_document *d, const struct learned_file *f) {
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_free_ char *text = NULL;

        strbuf_add(&b, "what this needs:");
        STRV_FOREACH (word, f->plan->argv) {
                _cleanup_free_ char *quoted = str_shell_quote(*word);

                strbuf_addf(&b, " %s", quoted ? quoted : "?");
        }
        strbuf_add(&b, f->has_failed ? " (it failed when 'nsrun learn' ran it)" : " (by 'nsrun learn')");
        text = strbuf_finish(&b);
        if (!text)
                return -ENOMEM;
        json_add_string(d, d->root, "//", text);
        return 0;
}

/* The options and the configuration that were in force, so that this file alone does for the command. */
static int add_in_force(struct json_document *d, const struct learned_file *f) {
        _cleanup_free_ struct policy_said *said = NULL;
        size_t n = 0;

        if (config_list_shown(f->policy, &said, &n) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                if (is_carried(&said[i]) && can_be_said(said[i].value))
                        config_carry(&said[i], d);
        return 0;
}

static int open_document(struct json_document *d, const struct learned_file *f, struct nsrun_error *err) {
        _cleanup_free_ char *text = NULL;
        int r;

        if (!f->update) {
                *d = json_begin();
                json_add_number(d, d->root, "version", 1);
                return add_origin(d, f) < 0 || add_in_force(d, f) < 0 ? error_oom(err) : 0;
        }
        r = read_small_file(AT_FDCWD, f->update, 0, MOST_BYTES, &text);
        if (r >= 0)
                r = json_parse(d, text, strlen(text), NULL, NULL);
        return r < 0 ? error_set(err, NSRUN_STAGE_USAGE, r, f->update, "the configuration can't be read",
                                 NULL)
                     : 0;
}

int learned_file_text(const struct learned_file *f, char **ret, struct nsrun_error *err) {
        _cleanup_json_ struct json_document d = {0};
        int r = open_document(&d, f, err);

        if (r < 0)
                return r;
        add_rules_of(&d, f, false, "readable");
        add_rules_of(&d, f, true, "overlay");
        add_learned_hidden(&d, f);
        add_network(&d, f);
        if (f->wants_nested && !json_has(d.root, "seccomp"))
                json_add_string(&d, d.root, "seccomp", "nested");
        if (add_not_given(&d, f) < 0)
                return error_oom(err);
        return json_lay_out(&d, ret, err);
}

/* ------------------------------------------------------------------- the file */

int learned_file_check(const struct nsrun_plan *plan, const char *file, bool is_new, char **ret,
                       struct nsrun_error *err) {
        _cleanup_free_ char *cwd = getcwd(NULL, 0), *named = path_join(cwd ? cwd : "/", file), *path = NULL;

        int r = named ? path_canonical_to_be(named, &path) : -ENOMEM;

        if (r < 0)
                return responds_fail(r, named, err);
        if (is_new && faccessat(AT_FDCWD, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EEXIST), path,
                                 "-o makes a new file, and this one is there",
                                 "--update FILE widens a configuration");
        for (size_t i = 0; i < plan->n_ops; i++)
                if (plan->ops[i].kind == PLAN_BIND && !plan->ops[i].is_read_only &&
                    path_is_beneath(path, plan->ops[i].source))
                        return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EPERM), path,
                                         "the command may write there, and no configuration that a command "
                                         "may have written is ever obeyed",
                                         "choose a place outside of the project, "
                                         "~/.config/nsrun/NAME.json");
        *ret = TAKE_PTR(path);
        return 0;
}

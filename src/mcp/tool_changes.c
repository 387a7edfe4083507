/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tools diff, commit and discard: what the session's overlays changed.  Whether there are the latter two
 * is the host's choice, and whether one is done may be the client's user's. */
#include "agent/capture.h"
#include "base/sys.h"
#include "tool.h"

enum {
        CHANGES_SHOWN_MOST = 8192 /* bytes of a diff in a question */
};

static struct nsrun_session_choice changes_meant(const char **paths, const char *digest) {
        return (struct nsrun_session_choice){
                .size = sizeof(struct nsrun_session_choice), .paths = paths, .digest = digest};
}

int tool_read_captured(int fd, char **ret, size_t *ret_n, struct nsrun_error *err) {
        _cleanup_free_ struct capture *capture = calloc(1, sizeof(*capture));
        char chunk[4096];
        uint64_t omitted;
        ssize_t n;

        if (!capture || lseek(fd, 0, SEEK_SET) < 0)
                return error_oom(err);
        while ((n = sys_read(fd, chunk, sizeof(chunk))) > 0)
                capture_add(capture, chunk, (size_t)n);
        return capture_finish(capture, ret, ret_n, &omitted) < 0 ? error_oom(err) : 0;
}

/* A diff as a text, and its digest. */
static int diff_text(const struct call *c, enum nsrun_diff form, const char **paths, char **ret,
                     size_t *ret_n, char **ret_digest, struct nsrun_error *err) {
        const struct nsrun_session_choice choice = changes_meant(paths, NULL);
        _cleanup_close_ int fd = sys_memfd("diff");
        int r;

        if (fd < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, fd, NULL, "no memory for the diff", NULL);
        r = nsrun_session_diff_choice(c->server->session, form, &choice, fd, ret_digest, err);
        return r < 0 ? r : tool_read_captured(fd, ret, ret_n, err);
}

static int form_of(const struct call *c, enum nsrun_diff *ret, struct nsrun_error *err) {
        static const struct {
                const char *name;
                enum nsrun_diff form;
        } forms[] = {{"patch", NSRUN_DIFF_PATCH}, {"list", NSRUN_DIFF_LIST}, {"stat", NSRUN_DIFF_STAT}};
        const char *name = argument_text(c, "form");

        *ret = NSRUN_DIFF_PATCH;
        for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
                if (name && streq(forms[i].name, name)) {
                        *ret = forms[i].form;
                        return 0;
                }
        return name ? tool_refuse(err, name, "a diff has no such form", "patch, list or stat") : 0;
}

int tool_diff(struct call *c, struct tool_answer *ret, struct nsrun_error *err) {
        _cleanup_free_ char *text = NULL, *digest = NULL;
        _cleanup_free_ const char **paths = NULL;
        enum nsrun_diff form;
        size_t n = 0;
        int r = form_of(c, &form, err);

        if (r >= 0 && argument_texts(c, "paths", &paths) < 0)
                r = error_oom(err);
        if (r >= 0)
                r = diff_text(c, form, paths, &text, &n, &digest, err);
        if (r < 0)
                return r;
        if (n == 0)
                strbuf_add(&ret->text, "nothing has changed\n");
        strbuf_add_bytes(&ret->text, text, n);
        strbuf_addf(&ret->text, "# digest: %s", digest);
        return 0;
}

/* ------------------------------------------------------------------------ asking */

/* The changes as the user is to see them: the list in whole, as nobody can say yes to what isn't shown, and
 * beneath it the patch, unless that is too long. */
static int diff_to_show(const struct call *c, const char **paths, char **ret, char **ret_digest,
                        struct nsrun_error *err) {
        _cleanup_free_ char *list = NULL, *patch = NULL, *digest = NULL, *patch_digest = NULL, *all = NULL;
        _cleanup_strbuf_ struct strbuf b = {0};
        size_t n = 0, n_patch = 0;
        int r = diff_text(c, NSRUN_DIFF_LIST, paths, &list, &n, &digest, err);

        if (r >= 0 && n > CHANGES_SHOWN_MOST)
                r = tool_refuse(err, NULL, "the changes are too many to be shown to the user",
                                "name fewer paths, or the user does it with 'nsrun session'");
        if (r >= 0)
                r = diff_text(c, NSRUN_DIFF_PATCH, paths, &patch, &n_patch, &patch_digest, err);
        if (r < 0)
                return r;
        /* A command may have changed something in between. */
        if (n_patch > CHANGES_SHOWN_MOST || !streq(digest, patch_digest))
                n_patch = 0;
        strbuf_add_bytes(&b, list, n);
        strbuf_add(&b, n_patch > 0 ? "\n" : "");
        strbuf_add_bytes(&b, patch, n_patch);
        n = b.length;
        all = strbuf_finish(&b);
        *ret = all ? str_visible_bytes(all, n) : NULL;
        if (!*ret)
                return error_oom(err);
        *ret_digest = TAKE_PTR(digest);
        return 0;
}

static char *question_of(const char *verb, const char *diff) {
        _cleanup_free_ char *message = str_format("%s these changes?\n\n%s", verb, diff);

        return message ? tool_spell_elicitation(message, verb, NULL, NULL) : NULL;
}

static int judge_answer(const struct json_value *answer, struct nsrun_error *err) {
        const char *action = json_text(json_get(answer, "action"));

        if (!action || !streq(action, "accept") ||
            !json_is_true(json_get(json_get(answer, "content"), "confirm")))
                return tool_refuse(err, NULL, "the user declined", NULL);
        return 0;
}

/* What a question is about: the call's arguments, the changes, and the words that the user is shown. */
static int digest_question(const struct call *c, const char *params, const char *digest,
                           unsigned char ret[SHA256_SIZE]) {
        _cleanup_free_ char *arguments = json_spell(c->arguments.root);
        struct sha256 s;

        if (!arguments)
                return -ENOMEM;
        sha256_begin(&s);
        sha256_add(&s, arguments, strlen(arguments) + 1);
        sha256_add(&s, digest, strlen(digest) + 1);
        sha256_add(&s, params, strlen(params) + 1);
        sha256_end(&s, ret);
        return 0;
}

/* The question is the call's result, and its answer comes with another call.  That answers this question
 * only if it is the same still: what has changed meanwhile is asked about anew. */
static int ask_by_result(struct call *c, const char *params, const char *digest, struct tool_answer *ret,
                         struct nsrun_error *err) {
        _cleanup_json_ struct json_document d = {0};
        unsigned char asked[SHA256_SIZE];

        if (digest_question(c, params, digest, asked) < 0 ||
            (c->input && json_parse(&d, c->input, strlen(c->input), NULL, NULL) < 0))
                return error_oom(err);
        if (c->is_retry && memcmp(asked, c->asked, SHA256_SIZE) == 0 && json_has(d.root, TOOL_QUESTION))
                return judge_answer(json_get(d.root, TOOL_QUESTION), err);
        if (questions_add(c->server->questions, asked, ret->state) < 0 || !(ret->question = strdup(params)))
                return error_oom(err);
        return 1;
}

/* 0: the client's user has said yes to what was shown.  1: *ret is the question. */
static int ask_user(struct call *c, const char *verb, const char *diff, const char *digest,
                    struct tool_answer *ret, struct nsrun_error *err) {
        _cleanup_free_ char *params = question_of(verb, diff), *reply = NULL;
        _cleanup_json_ struct json_document d = {0};
        int r;

        if (!params)
                return error_oom(err);
        if (c->terms->version->is_stateless)
                return ask_by_result(c, params, digest, ret, err);
        r = call_ask(c, params, 0, NULL, &reply);
        if (r < 0)
                return tool_refuse(err, NULL, "the user couldn't be asked", NULL);
        if (json_parse(&d, reply, strlen(reply), NULL, NULL) < 0)
                return error_oom(err);
        return judge_answer(d.root, err);
}

/* ----------------------------------------------------------- commit and discard */

static int finish_outcome(const char *verb, struct nsrun_session_outcome *o, int result,
                          struct tool_answer *ret, const struct nsrun_error *err) {
        _cleanup_free_ char *line = result < 0 ? nsrun_error_format(err) : NULL;

        if (result < 0)
                strbuf_addf(&ret->text, "Error: %s\n", line ? line : "out of memory");
        if (result >= 0 || o->n_applied > 0)
                strbuf_addf(&ret->text, "%s %zu path%s\n", verb, o->n_applied, o->n_applied == 1 ? "" : "s");
        STRV_FOREACH (note, o->notes)
                strbuf_addf(&ret->text, "note: %s\n", *note);
        STRV_FOREACH (conflict, o->conflicts)
                strbuf_addf(&ret->text, "conflict: %s\n", *conflict);
        nsrun_session_outcome_clear(o);
        return result;
}

int tool_commit(struct call *c, struct tool_answer *ret, struct nsrun_error *err) {
        struct nsrun_session_outcome outcome = NSRUN_SESSION_OUTCOME_INIT;
        _cleanup_free_ char *text = NULL, *digest = NULL;
        const char *expected = argument_text(c, "digest");
        _cleanup_free_ const char **paths = NULL;
        struct nsrun_session_choice choice;
        int r = argument_texts(c, "paths", &paths) < 0 ? error_oom(err) : 0;

        if (r >= 0 && c->server->settings->commits == MCP_COMMITS_ASKED) {
                r = diff_to_show(c, paths, &text, &digest, err);
                if (r >= 0 && expected && !streq(expected, digest))
                        r = tool_refuse(err, NULL, "the changes are others than those of the digest",
                                        "look at the diff again");
                if (r >= 0)
                        r = ask_user(c, "Commit", text, digest, ret, err);
                /* What was shown is what is committed. */
                expected = digest;
        }
        if (r < 0 || ret->question)
                return r;
        choice = changes_meant(paths, expected);
        r = nsrun_session_commit_choice(c->server->session, &choice, &outcome, err);
        return finish_outcome("committed", &outcome, r, ret, err);
}

int tool_discard(struct call *c, struct tool_answer *ret, struct nsrun_error *err) {
        struct nsrun_session_outcome outcome = NSRUN_SESSION_OUTCOME_INIT;
        _cleanup_free_ char *text = NULL, *digest = NULL;
        _cleanup_free_ const char **paths = NULL;
        int r = argument_texts(c, "paths", &paths) < 0 ? error_oom(err) : 0;

        if (r >= 0 && c->server->settings->commits == MCP_COMMITS_ASKED) {
                r = diff_to_show(c, paths, &text, &digest, err);
                if (r >= 0)
                        r = ask_user(c, "Discard", text, digest, ret, err);
        }
        if (r < 0 || ret->question)
                return r;
        r = nsrun_session_discard(c->server->session, paths, &outcome, err);
        return finish_outcome("discarded", &outcome, r, ret, err);
}

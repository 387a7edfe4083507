/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tools: what a client is told of each, how its arguments are judged, and what it does. */
#pragma once

#include "call.h"

enum {
        TOOL_PARAMETERS_MOST = 6
};

#define TOOL_IN_BACKGROUND "run_in_background"

struct tool_parameter {
        const char *name, *type; /* "string", "integer", "boolean" or "strings" */
        const char *text;        /* for the model */
        bool is_required;
        uint64_t least, most; /* of an integer */
};

/* What a tool answers: zero-initialised.  There is a text alone, with what a program might want to know in
 * it: where there is structuredContent beside it, clients hand that to the model, as JSON. */
struct tool_answer {
        struct strbuf text;
        bool is_error;
        char *question; /* instead of a text: an elicitation's params, and the state that stands for it */
        char state[QUESTION_STATE_SIZE];
};

/* What the one question of a call is called. */
#define TOOL_QUESTION "confirm"
/* An elicitation's params: yes or no, or one of `choices`, a value and its words each, up to a NULL; with
 * `access`, which is such, too, and begins with what is meant where nothing is said, also "access" and
 * "always". */
char *tool_spell_elicitation(const char *message, const char *title, const char *const choices[][2],
                             const char *const access[][2]);

struct tool {
        const char *name, *title, *text;
        enum call_lane lane;
        bool reads_alone;    /* it changes nothing */
        bool destroys;       /* what was there may be gone */
        bool is_of_overlays; /* it is there only if the session has such as the user has chosen */
        bool is_of_commits;  /* it is there only if the host lets changes be committed */
        struct tool_parameter parameters[TOOL_PARAMETERS_MOST];
        /* -errno with *err filled: that is the answer. */
        int (*run)(struct call *c, struct tool_answer *ret, struct nsrun_error *err);
};

/* NULL: this client has no such tool. */
const struct tool *tool_find(const struct mcp_server *s, const struct mcp_terms *terms, const char *name);
/* Whether it would ask a client that can't be asked: where each request has its own terms, it is listed for
 * all. */
bool tool_lacks_elicitation(const struct mcp_server *s, const struct mcp_terms *terms,
                            const struct tool *tool);
/* The list of tools as JSON: the result of tools/list. */
char *tools_list(const struct mcp_server *s, const struct mcp_terms *terms);
/* Judges a call's arguments and runs it: its result as JSON. */
char *tool_answer(struct call *c);

/* For the tools: the arguments, which have been judged.  NULL, `otherwise`: not given. */
const char *argument_text(const struct call *c, const char *name);
uint64_t argument_number(const struct call *c, const char *name, uint64_t otherwise);
bool argument_is_true(const struct call *c, const char *name);
/* A list of strings with NULL at its end, whose strings are the call's; NULL: not given.  -ENOMEM. */
int argument_texts(const struct call *c, const char *name, const char ***ret);
/* What there is in a file from its start, with what is too long left out; owned by the caller. */
int tool_read_captured(int fd, char **ret, size_t *ret_n, struct nsrun_error *err);
/* -EINVAL with *err filled, without an errno's words. */
int tool_refuse(struct nsrun_error *err, const char *path, const char *what, const char *hint);

/* The tools' own files. */
int tool_run_bash(struct call *c, struct tool_answer *ret, struct nsrun_error *err);
int tool_bash_output(struct call *c, struct tool_answer *ret, struct nsrun_error *err);
int tool_bash_kill(struct call *c, struct tool_answer *ret, struct nsrun_error *err);
int tool_read(struct call *c, struct tool_answer *ret, struct nsrun_error *err);
int tool_write(struct call *c, struct tool_answer *ret, struct nsrun_error *err);
int tool_edit(struct call *c, struct tool_answer *ret, struct nsrun_error *err);
int tool_list(struct call *c, struct tool_answer *ret, struct nsrun_error *err);
int tool_glob(struct call *c, struct tool_answer *ret, struct nsrun_error *err);
int tool_grep(struct call *c, struct tool_answer *ret, struct nsrun_error *err);
int tool_diff(struct call *c, struct tool_answer *ret, struct nsrun_error *err);
int tool_commit(struct call *c, struct tool_answer *ret, struct nsrun_error *err);
int tool_discard(struct call *c, struct tool_answer *ret, struct nsrun_error *err);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of tools; their list for a client, and the judging of arguments. */
#include "tool.h"

#include "base/sys.h"

#define PATH_TEXT    "Absolute, or relative to the project."
#define BASH_ID_TEXT "As the call of bash has named it."

static const struct tool tools[] = {
        {.name = "bash",
         .title = "Run a command",
         .text = "", /* nsrun_bash_describe()'s */
         .lane = LANE_COMMANDS,
         .parameters =
                 {{"command", "string", NULL, true, 0, 0},
                  {"description", "string", NULL, false, 0, 0},
                  {"timeout", "integer", NULL, false, 0, INT32_MAX},
                  {TOOL_IN_BACKGROUND, "boolean",
                   "True: it goes on in the background, whatever `timeout` says, and the call returns at "
                   "once. bash_output has what it prints, and bash_kill ends it.",
                   false, 0, 0}},
         .run = tool_run_bash},
        {.name = "bash_output",
         .title = "Read a background command's output",
         .text = "What a command in the background has printed so far, the first and the last 15 KiB, and "
                 "whether it runs or how it has ended.",
         .lane = LANE_COMMANDS,
         .reads_alone = true,
         .parameters = {{"bash_id", "string", BASH_ID_TEXT, true, 0, 0}},
         .run = tool_bash_output},
        {.name = "bash_kill",
         .title = "End a background command",
         .text = "Ends a command in the background, and all that it has started.",
         .lane = LANE_COMMANDS,
         .destroys = true,
         .parameters = {{"bash_id", "string", BASH_ID_TEXT, true, 0, 0}},
         .run = tool_bash_kill},
        {.name = "read",
         .title = "Read a file",
         .text = "Reads a text file: 30 KiB at most in one call, from the line `offset` on. The result says "
                 "which lines it has, and how to go on.",
         .lane = LANE_FILES,
         .reads_alone = true,
         .parameters = {{"file_path", "string", PATH_TEXT, true, 0, 0},
                        {"offset", "integer", "The first line, from 1. 1 if it is left out.", false, 1,
                         INT32_MAX},
                        {"limit", "integer", "How many lines at most.", false, 1, INT32_MAX}},
         .run = tool_read},
        {.name = "write",
         .title = "Write a file",
         .text = "Writes a whole text file. Folders that are missing on the way are made; what the file had "
                 "is gone.",
         .lane = LANE_FILES,
         .destroys = true,
         .parameters = {{"file_path", "string", PATH_TEXT, true, 0, 0},
                        {"content", "string", "All that the file will have.", true, 0, 0}},
         .run = tool_write},
        {.name = "edit",
         .title = "Edit a file",
         .text = "Replaces a text in a file. `old_string` must be there exactly once, spaces and all, "
                 "unless `replace_all` is true.",
         .lane = LANE_FILES,
         .destroys = true,
         .parameters = {{"file_path", "string", PATH_TEXT, true, 0, 0},
                        {"old_string", "string", "The text that is there.", true, 0, 0},
                        {"new_string", "string", "What takes its place.", true, 0, 0},
                        {"replace_all", "boolean", "Replace it wherever it is.", false, 0, 0}},
         .run = tool_edit},
        {.name = "list",
         .title = "List a folder",
         .text = "Lists a folder, sorted: a line for each entry, folders with a slash, symlinks with an @ at "
                 "their end. 1,000 entries at most.",
         .lane = LANE_FILES,
         .reads_alone = true,
         .parameters = {{"path", "string", PATH_TEXT " The project if it is left out.", false, 0, 0}},
         .run = tool_list},
        {.name = "glob",
         .title = "Find files",
         .text = "Finds files by name: * and ? stand for what is in a name, [abc] for one of these, ** for "
                 "any folders. A pattern without a slash is looked for at any depth. .git is left out. 1,000 "
                 "paths at most, sorted.",
         .lane = LANE_FILES,
         .reads_alone = true,
         .parameters = {{"pattern", "string", "Such as *.c or src/**/*.h.", true, 0, 0},
                        {"path", "string", "The folder to look in. The project if it is left out.", false, 0,
                         0}},
         .run = tool_glob},
        {.name = "grep",
         .title = "Search in files",
         .text = "Searches the lines of files by an extended regular expression, as grep -E in the "
                 "sandbox has it: [0-9], not \\d. Each line found is PATH:NUMBER:TEXT. .git and binary files "
                 "are left out. 30 KiB at most.",
         .lane = LANE_FILES,
         .reads_alone = true,
         .parameters = {{"pattern", "string", "The regular expression.", true, 0, 0},
                        {"path", "string", "A file or a folder. The project if it is left out.", false, 0,
                         0},
                        {"glob", "string", "Only files of such names, as glob has them.", false, 0, 0},
                        {"ignore_case", "boolean", "Small and capital letters are the same.", false, 0, 0}},
         .run = tool_grep},
        {.name = "diff",
         .title = "Show changes",
         .text = "Shows what was changed in the session's overlays, which are those that the user has chosen, "
                 "and a digest of it. Of a longer text the first and the last 15 KiB are left.",
         .lane = LANE_COMMANDS,
         .reads_alone = true,
         .is_of_overlays = true,
         .parameters = {{"paths", "strings", "Only at and beneath these.", false, 0, 0},
                        {"form", "string", "patch, list or stat. patch if it is left out.", false, 0, 0}},
         .run = tool_diff},
        {.name = "commit",
         .title = "Commit changes",
         .text = "Makes the user's files as the session's overlays show them. The user may be asked first. "
                 "What the user has changed meanwhile is not overwritten: that is an error, with a list.",
         .lane = LANE_COMMANDS,
         .destroys = true,
         .is_of_overlays = true,
         .is_of_commits = true,
         .parameters = {{"paths", "strings", "Only at and beneath these.", false, 0, 0},
                        {"digest", "string", "A diff's with the same paths: exactly that, or nothing.",
                         false, 0, 0}},
         .run = tool_commit},
        {.name = "discard",
         .title = "Discard changes",
         .text = "Gives changes in the session's overlays up: they show the user's files again. The user may "
                 "be asked first.",
         .lane = LANE_COMMANDS,
         .destroys = true,
         .is_of_overlays = true,
         .is_of_commits = true,
         .parameters = {{"paths", "strings", "Only at and beneath these.", false, 0, 0}},
         .run = tool_discard},
};

bool tool_lacks_elicitation(const struct mcp_server *s, const struct mcp_terms *terms,
                            const struct tool *tool) {
        return tool->is_of_commits && s->settings->commits == MCP_COMMITS_ASKED && !terms->client_elicits;
}

static bool client_has_tool(const struct mcp_server *s, const struct mcp_terms *terms,
                            const struct tool *tool) {
        if (tool->is_of_overlays && !s->has_overlays)
                return false;
        if (tool->is_of_commits && s->settings->commits == MCP_COMMITS_NEVER)
                return false;
        return terms->version->is_stateless || !tool_lacks_elicitation(s, terms, tool);
}

const struct tool *tool_find(const struct mcp_server *s, const struct mcp_terms *terms, const char *name) {
        for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
                if (streq(tools[i].name, name) && client_has_tool(s, terms, &tools[i]))
                        return &tools[i];
        return NULL;
}

/* ------------------------------------------------------------------------- list */

static void add_parameter(struct json_document *d, struct json_value *properties,
                          const struct tool_parameter *p) {
        struct json_value *o = json_add_object(d, properties, p->name), *items;
        bool is_list = streq(p->type, "strings");

        json_add_string(d, o, "type", is_list ? "array" : p->type);
        json_add_string(d, o, "description", p->text);
        if (is_list) {
                items = json_add_object(d, o, "items");
                json_add_string(d, items, "type", "string");
        }
        if (streq(p->type, "integer"))
                json_add_number(d, o, "minimum", p->least);
}

static void add_schema(const struct mcp_server *s, struct json_document *d, struct json_value *parent,
                       const struct tool *tool) {
        struct json_value *schema, *list;

        if (tool->run == tool_run_bash) {
                /* nsrun_bash_describe()'s, with what is this server's own. */
                json_add_json(d, parent, "inputSchema", s->bash_schema);
                list = json_get(json_get(parent, "inputSchema"), "properties");
                for (const struct tool_parameter *p = tool->parameters; p->name; p++)
                        if (p->text)
                                add_parameter(d, list, p);
                return;
        }
        schema = json_add_object(d, parent, "inputSchema");
        json_add_string(d, schema, "type", "object");
        list = json_add_object(d, schema, "properties");
        for (const struct tool_parameter *p = tool->parameters; p->name; p++)
                add_parameter(d, list, p);
        list = json_add_array(d, schema, "required");
        for (const struct tool_parameter *p = tool->parameters; p->name; p++)
                if (p->is_required)
                        json_add_string(d, list, NULL, p->name);
        json_add_bool(d, schema, "additionalProperties", false);
}

static void tool_add(const struct mcp_server *s, const struct mcp_terms *terms, struct json_document *d,
                     struct json_value *list, const struct tool *tool) {
        struct json_value *o = json_add_object(d, list, NULL), *hints;

        json_add_string(d, o, "name", tool->name);
        if (terms->version->has_titles)
                json_add_string(d, o, "title", tool->title);
        json_add_string(d, o, "description", tool->run == tool_run_bash ? s->bash_text : tool->text);
        add_schema(s, d, o, tool);
        hints = json_add_object(d, o, "annotations");
        json_add_string(d, hints, "title", tool->title);
        json_add_bool(d, hints, "readOnlyHint", tool->reads_alone);
        json_add_bool(d, hints, "destructiveHint", tool->destroys);
        json_add_bool(d, hints, "openWorldHint", tool->run == tool_run_bash);
        /* Claude Code hides tools behind a search of its own otherwise. */
        json_add_bool(d, json_add_object(d, o, "_meta"), "anthropic/alwaysLoad", true);
}

char *tools_list(const struct mcp_server *s, const struct mcp_terms *terms) {
        _cleanup_json_ struct json_document d = json_begin();
        struct json_value *list;

        list = json_add_array(&d, d.root, "tools");
        for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
                if (client_has_tool(s, terms, &tools[i]))
                        tool_add(s, terms, &d, list, &tools[i]);
        if (terms->version->is_stateless)
                terms_add_caching(&d);
        return json_line(&d);
}

/* -------------------------------------------------------------------- arguments */

/* What models call the arguments whose tools elsewhere have other names for them. */
static const struct {
        const char *name, *other;
} spellings[] = {
        {"file_path", "path"},
        {"file_path", "filePath"},
        {"old_string", "old"},
        {"old_string", "oldString"},
        {"new_string", "new"},
        {"new_string", "newString"},
        {"replace_all", "all"},
        {"replace_all", "replaceAll"},
        {"glob", "include"},
        {"ignore_case", "-i"},
        {"bash_id", "shell_id"},
        {"bash_id", "task_id"},
        {TOOL_IN_BACKGROUND, "is_background"},
};

/* NULL: not given. */
static const char *spelling_of(const struct call *c, const char *name) {
        if (json_has(c->arguments.root, name))
                return name;
        for (size_t i = 0; i < ARRAY_SIZE(spellings); i++)
                if (streq(spellings[i].name, name) && json_has(c->arguments.root, spellings[i].other))
                        return spellings[i].other;
        return NULL;
}

static const struct json_value *argument(const struct call *c, const char *name) {
        const char *key = spelling_of(c, name);

        return key ? json_get(c->arguments.root, key) : NULL;
}

const char *argument_text(const struct call *c, const char *name) {
        return json_text(argument(c, name));
}

uint64_t argument_number(const struct call *c, const char *name, uint64_t otherwise) {
        uint64_t number;

        return json_number(argument(c, name), &number) ? number : otherwise;
}

bool argument_is_true(const struct call *c, const char *name) {
        return json_is_true(argument(c, name));
}

int argument_texts(const struct call *c, const char *name, const char ***ret) {
        const struct json_value *list = argument(c, name);
        size_t n = json_length(list);
        const char **texts;

        *ret = NULL;
        if (n == 0)
                return 0;
        texts = calloc(n + 1, sizeof(*texts));
        if (!texts)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                texts[i] = json_text(json_at(list, i));
        *ret = texts;
        return 0;
}

int tool_refuse(struct nsrun_error *err, const char *path, const char *what, const char *hint) {
        return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), path, what, hint);
}

static int refuse_argument(struct nsrun_error *err, const char *name, const char *what) {
        return error_setf(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), NULL, NULL, "the argument %s %s", name,
                          what);
}

static bool is_list_of_texts(const struct json_value *v) {
        if (json_kind(v) != JSON_ARRAY)
                return false;
        for (size_t i = 0; i < json_length(v); i++)
                if (!json_text(json_at(v, i)))
                        return false;
        return true;
}

static int judge_argument(const struct tool_parameter *p, const struct json_value *v,
                          struct nsrun_error *err) {
        uint64_t number;

        if (streq(p->type, "string"))
                return json_text(v) ? 0 : refuse_argument(err, p->name, "is no text without NULs");
        if (streq(p->type, "boolean"))
                return json_kind(v) == JSON_BOOL
                               ? 0
                               : refuse_argument(err, p->name, "is neither true nor false");
        if (streq(p->type, "strings"))
                return is_list_of_texts(v) ? 0 : refuse_argument(err, p->name, "is no list of texts");
        if (!json_number(v, &number) || number < p->least || number > p->most)
                return refuse_argument(err, p->name, "is no whole number, or too small or large");
        return 0;
}

/* An argument that no tool of that kind has is named first: what is missing may be it. */
static int judge_arguments(const struct call *c, struct nsrun_error *err) {
        const char *known[TOOL_PARAMETERS_MOST], *unknown;
        _cleanup_strbuf_ struct strbuf names = {0};
        size_t n = 0;
        int r = 0;

        for (const struct tool_parameter *p = c->tool->parameters; p->name; p++) {
                const char *key = spelling_of(c, p->name);

                known[n++] = key ? key : p->name;
                strbuf_addf(&names, "%s%s", n > 1 ? ", " : "it has ", p->name);
        }
        unknown = json_unknown_key(c->arguments.root, known, n);
        if (unknown) {
                _cleanup_free_ char *visible = str_visible(unknown);

                return error_setf(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), NULL, names.text,
                                  "the argument %s is not one of this tool's", visible ? visible : "");
        }
        for (const struct tool_parameter *p = c->tool->parameters; p->name && r >= 0; p++)
                if (spelling_of(c, p->name))
                        r = judge_argument(p, argument(c, p->name), err);
                else if (p->is_required)
                        r = refuse_argument(err, p->name, "is missing");
        return r;
}

/* ----------------------------------------------------------------------- answer */

static struct json_value *spell_choice(struct json_document *d, struct json_value *to, const char *name,
                                       const char *title, const char *const choices[][2]) {
        struct json_value *o = json_add_object(d, to, name), *values, *words;

        json_add_string(d, o, "type", choices ? "string" : "boolean");
        json_add_string(d, o, "title", title);
        values = choices ? json_add_array(d, o, "enum") : NULL;
        words = choices ? json_add_array(d, o, "enumNames") : NULL;
        for (; choices && (*choices)[0]; choices++) {
                json_add_string(d, values, NULL, (*choices)[0]);
                json_add_string(d, words, NULL, (*choices)[1]);
        }
        return o;
}

char *tool_spell_elicitation(const char *message, const char *title, const char *const choices[][2],
                             const char *const access[][2]) {
        _cleanup_json_ struct json_document d = json_begin();
        struct json_value *schema, *all, *o;

        json_add_string(&d, d.root, "message", message);
        schema = json_add_object(&d, d.root, "requestedSchema");
        json_add_string(&d, schema, "type", "object");
        all = json_add_object(&d, schema, "properties");
        (void)spell_choice(&d, all, TOOL_QUESTION, title, choices);
        if (access) {
                o = spell_choice(&d, all, "access", "Access", access);
                json_add_string(&d, o, "default", (*access)[0]);
                (void)spell_choice(&d, all, "always", "Save it for the project's later sessions, too", NULL);
        }
        json_add_string(&d, json_add_array(&d, schema, "required"), NULL, TOOL_QUESTION);
        return json_line(&d);
}

static char *spell_question(const struct tool_answer *a) {
        _cleanup_json_ struct json_document d = json_begin();
        struct json_value *o =
                json_add_object(&d, json_add_object(&d, d.root, "inputRequests"), TOOL_QUESTION);

        json_add_string(&d, o, "method", "elicitation/create");
        json_add_json(&d, o, "params", a->question);
        json_add_string(&d, d.root, "requestState", a->state);
        return json_line(&d);
}

static char *spell_answer(const struct tool_answer *a) {
        _cleanup_json_ struct json_document d = json_begin();
        struct json_value *content;

        if (a->text.has_failed)
                return NULL;
        content = json_add_object(&d, json_add_array(&d, d.root, "content"), NULL);
        json_add_string(&d, content, "type", "text");
        json_add_bytes(&d, content, "text", a->text.text ? a->text.text : "", a->text.length);
        json_add_bool(&d, d.root, "isError", a->is_error);
        return json_line(&d);
}

/* One answer says that the sandbox isn't the one of the last call. */
static void add_note_of_loss(const struct call *c, struct strbuf *text) {
        int fd = c->server->settings->anew_fd;
        uint64_t n;

        if (fd > 0 && sys_read(fd, &n, sizeof(n)) == sizeof(n))
                strbuf_add(text, "\n\nnote: the session of the last calls was ended, and this is a new one: "
                                 "what was in its /tmp and its overlays, and what ran in it, is gone");
}

char *tool_answer(struct call *c) {
        struct tool_answer answer = {0};
        struct nsrun_error err = {0};
        char *text;
        int r = judge_arguments(c, &err);

        if (r >= 0)
                r = c->tool->run(c, &answer, &err);
        if (r < 0 && answer.text.length == 0) {
                _cleanup_free_ char *line = nsrun_error_format(&err);

                strbuf_addf(&answer.text, "Error: %s", line ? line : "out of memory");
        }
        answer.is_error |= r < 0;
        if (!answer.question)
                add_note_of_loss(c, &answer.text);
        c->asks_for_input = answer.question != NULL;
        text = answer.question ? spell_question(&answer) : spell_answer(&answer);
        free(answer.question);
        strbuf_clear(&answer.text);
        return text;
}

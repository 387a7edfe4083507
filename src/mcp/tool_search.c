/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tools glob and grep: bash's globs and grep(1), which run in the session and so see what its commands
 * see. What they print is a command's word: it is bounded, and nothing is done by it. */
#include <inttypes.h>

#include "file.h"

enum {
        SEARCH_SECONDS_MOST = 60,
        SEARCH_SHOWN_MOST = 500, /* bytes of a line that was found */
        SEARCH_OUTPUT_MOST = 8 * 1024 * 1024,
};

/* $1: a file, or a folder; $2: the glob, or nothing; for grep, $3: the pattern, $4: "-i" or nothing.  The
 * status is 2 where what is printed says why nothing is looked for. */
static const char script[] =
        "shopt -s globstar dotglob nullglob; unset CDPATH; export LC_ALL=C; IFS=; exec 2>/dev/null\n"
        "fail() { printf %s \"$1\"; exit 2; }\n"
        "list() {\n"
        "  [ ! \"$1\" ] || { printf '%s\\0' \"${1/#-/./-}\"; return; }\n"
        "  [ \"$2\" ] || { find . -name .git -prune -o -type f -print0 | sort -z; return; }\n"
        "  for f in $2; do\n"
        "    case /$f/ in */.git/*) continue ;; esac\n"
        "    f=${f/#-/./-}\n"
        "    if [ -L \"$f\" ]; then [ $# = 2 ]; else [ -e \"$f\" ] && [ ! -d \"$f\" ]; fi && printf '%s\\0' \"$f\"\n"
        "  done\n"
        "}\n"
        "if [ -d \"$1\" ]; then cd -- \"$1\" || fail 'the folder cannot be entered'; set -- '' \"${@:2}\"; fi\n"
        "[ $# != 2 ] || { list \"$@\" | head -z -n 1001; exit 0; }\n"
        "type grep xargs find head cut >&2 || fail 'the sandbox has no grep'\n"
        "why=$(grep -E $4 -e \"$3\" </dev/null 2>&1); [ $? -le 1 ] && [ ! \"$why\" ] || fail \"$why\"\n"
        "list \"$@\" | xargs -0 -r grep -nHIZ -D skip -E $4 -e \"$3\" -- | cut -b -5000 | head -n 16000\n"
        "exit 0\n";

struct search {
        struct call *call;
        struct tool_answer *answer;
        struct nsrun_error *err;
        struct strbuf output;
        size_t n_found;
        const char *cut; /* why not all was looked at; NULL: it was */
};

static void search_take(const char *bytes, size_t n, void *data) {
        struct search *s = data;

        if (n > SEARCH_OUTPUT_MOST - s->output.length)
                s->cut = "there is more";
        else
                strbuf_add_bytes(&s->output, bytes, n);
}

static char *search_command(const char *const *words) {
        _cleanup_strbuf_ struct strbuf b = {0};

        strbuf_add(&b, "set --");
        for (; *words; words++) {
                _cleanup_free_ char *quoted = str_shell_quote(*words);

                if (!quoted)
                        return NULL;
                strbuf_addf(&b, " %s", quoted);
        }
        strbuf_addf(&b, "\n%s", script);
        return strbuf_finish(&b);
}

/* What the session's commands say of a pattern that they can't take. */
static int refuse_pattern(struct search *s, const char *pattern) {
        _cleanup_free_ char *why = strbuf_finish(&s->output);

        return why ? tool_refuse(s->err, pattern, *why ? why : "the search has failed", NULL)
                   : error_oom(s->err);
}

static int search_run(struct search *s, const char *path, const char *glob, const char *pattern) {
        struct nsrun_bash_options options = NSRUN_BASH_OPTIONS_INIT;
        struct nsrun_bash_result result = NSRUN_BASH_RESULT_INIT;
        /* Without a slash it is that of a name at any depth. */
        _cleanup_free_ char *whole =
                str_concat(!glob || strchr(glob, '/') ? "" : "**/", glob ? glob : "", "");
        const char *const words[] = {path, whole, pattern,
                                     argument_is_true(s->call, "ignore_case") ? "-i" : "", NULL};
        _cleanup_free_ char *command = whole ? search_command(words) : NULL;
        int r;

        if (!command)
                return error_oom(s->err);
        options.timeout = SEARCH_SECONDS_MOST;
        options.cancel_fd = s->call->cancel_fd;
        options.output = search_take;
        options.data = s;
        r = nsrun_bash(s->call->server->policy, command, &options, &result, s->err);
        if (r >= 0 && result.timed_out)
                s->cut = "it took more than a minute";
        else if (r >= 0 && result.status != 0)
                r = refuse_pattern(s, pattern ? pattern : path);
        nsrun_bash_result_clear(&result);
        return r;
}

/* The path that ends with a NUL at *at, without the "./" before a name that begins with a dash; NULL: there
 * is none any more. */
static const char *next_path(const struct strbuf *output, size_t *at) {
        const char *path = *at < output->length ? output->text + *at : NULL;
        const char *end = path ? memchr(path, '\0', output->length - *at) : NULL;

        if (!end)
                return NULL;
        *at += (size_t)(end - path) + 1;
        return startswith(path, "./") ? path + 2 : path;
}

static void show_paths(struct search *s) {
        const char *path;

        for (size_t at = 0; (path = next_path(&s->output, &at)); s->n_found++) {
                _cleanup_free_ char *visible = str_visible(path);

                if (s->n_found == FILE_ENTRIES_MOST ||
                    (visible && s->answer->text.length + strlen(visible) > FILE_TEXT_MOST)) {
                        s->cut = "there are more";
                        return;
                }
                strbuf_addf(&s->answer->text, "%s\n", visible ? visible : "");
        }
}

/* Lines of "PATH", a NUL, "NUMBER:TEXT". */
static void show_lines(struct search *s) {
        const char *path;

        for (size_t at = 0; (path = next_path(&s->output, &at)); s->n_found++) {
                const char *rest = s->output.text + at, *end = memchr(rest, '\n', s->output.length - at);
                size_t length = end ? (size_t)(end - rest) : s->output.length - at, n, n_shown;
                const char *text = memchr(rest, ':', length);
                uint64_t number = strtoull(rest, NULL, 10);
                _cleanup_free_ char *visible = str_visible(path);

                at += length + (end != NULL);
                if (!text)
                        return;
                n = length - (size_t)(++text - rest);
                n_shown = n < SEARCH_SHOWN_MOST ? n : SEARCH_SHOWN_MOST;
                if (s->answer->text.length + n_shown > FILE_TEXT_MOST) {
                        s->cut = "there is more";
                        return;
                }
                strbuf_addf(&s->answer->text, "%s:%" PRIu64 ":", visible ? visible : "", number);
                strbuf_add_bytes(&s->answer->text, text, n_shown);
                strbuf_add(&s->answer->text, n_shown < n ? " ...\n" : "\n");
        }
}

/* The letter of the first \d or \D, which would be that letter, so that nothing would be found; or 0. */
static char digit_class_of(const char *pattern) {
        for (; (pattern = strchr(pattern, '\\')) && pattern[1]; pattern += 2)
                if ((pattern[1] | 0x20) == 'd')
                        return pattern[1];
        return 0;
}

static int search(struct call *c, struct tool_answer *ret, const char *glob, const char *pattern,
                  struct nsrun_error *err) {
        struct search s = {.call = c, .answer = ret, .err = err};
        const char *path = tool_path(c);
        char digits = pattern ? digit_class_of(pattern) : 0;
        struct stat st;
        int r = nsrun_workspace_stat(c->server->files, path, 1, &st, err);

        if (digits)
                return tool_refuse(err, pattern, digits == 'd' ? "grep -E has no \\d" : "grep -E has no \\D",
                                   digits == 'd' ? "take [0-9]" : "take [^0-9]");
        if (glob && *glob == '/')
                return tool_refuse(err, glob, "a glob is relative to the path",
                                   "name the folder as the path");
        if (r >= 0 && !pattern && !S_ISDIR(st.st_mode))
                r = error_set(err, NSRUN_STAGE_WORKSPACE, -ENOTDIR, path, "the path can't be opened", NULL);
        if (r >= 0)
                r = search_run(&s, path, glob, pattern);
        if (r >= 0) {
                pattern ? show_lines(&s) : show_paths(&s);
                if (s.n_found == 0)
                        strbuf_add(&ret->text, "nothing was found\n");
                if (s.cut)
                        strbuf_addf(&ret->text, "... [not all was looked at: %s] ...", s.cut);
        }
        strbuf_clear(&s.output);
        return r;
}

int tool_glob(struct call *c, struct tool_answer *ret, struct nsrun_error *err) {
        return search(c, ret, argument_text(c, "pattern"), NULL, err);
}

int tool_grep(struct call *c, struct tool_answer *ret, struct nsrun_error *err) {
        return search(c, ret, argument_text(c, "glob"), argument_text(c, "pattern"), err);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun completion`: scripts for bash, zsh and fish, made of the option tables. */
#include "base/str.h"
#include "option.h"

static bool is_word_of_choice(char c) {
        return c >= 'a' && c <= 'z';
}

/* The choices of "tmpfs|DIR" with `separator` between them; words in capitals
 * stand for paths and are left out. */
static void add_choices(struct strbuf *b, const char *choices, const char *separator) {
        bool is_first = true;

        while (*choices) {
                size_t n = strcspn(choices, "|");

                if (is_word_of_choice(*choices)) {
                        strbuf_add(b, is_first ? "" : separator);
                        strbuf_add_bytes(b, choices, n);
                        is_first = false;
                }
                choices += n + (choices[n] == '|');
        }
}

/* A shell's command that prints the ids of the sessions there are. */
#define LIST_AGENTS   "nsrun agents 2>/dev/null | sed -n \"s/^\\([^ ][^ ]*\\) .*/\\1/p\""
#define LIST_SESSIONS "nsrun session list 2>/dev/null | sed \"1d; s/ .*//\""

/* The words of `nsrun session` that an id follows. */
#define WORDS_OF_SESSIONS "show ps stop kill publish ask diff commit discard"

static bool is_about_sessions(const struct command *command) {
        return streq(command->name, "session");
}

/* Whether what follows a subcommand's options are paths. */
static bool takes_paths(const struct command *command) {
        return command->words && streq(command->words, "PATH");
}

static void add_subcommands(struct strbuf *b) {
        for (size_t i = 0; i < n_commands; i++)
                strbuf_addf(b, "%s%s", i > 0 ? " " : "", commands[i].name);
}

/* Single-quoted text for a shell's script: a quote in it is ended, escaped, begun again. */
static void add_quoted(struct strbuf *b, const char *text, const char *escaped_quote) {
        for (; *text; text++)
                if (*text == '\'')
                        strbuf_add(b, escaped_quote);
                else
                        strbuf_add_bytes(b, text, 1);
}

/* What each shell has for an option's value; a choice is spelled out. */
static const struct {
        const char *bash, *zsh, *fish;
} value_kinds[] = {
        [OPTION_COMPLETES_NOTHING] = {"", ":value:", " -x"},
        [OPTION_COMPLETES_PATH] = {"files=-f ", ":path:_files", " -r -F"},
        [OPTION_COMPLETES_FOLDER] = {"files=-d ", ":folder:_files -/",
                                     " -x -a '(__fish_complete_directories)'"},
        [OPTION_COMPLETES_VARIABLE] = {"files=-v ", ":variable:_parameters -g \"*export*\"",
                                       " -x -a '(set -nx)'"},
        [OPTION_COMPLETES_AGENT] = {"words=$(" LIST_AGENTS ") ", ":agent:{compadd -- $(" LIST_AGENTS ")}",
                                    " -x -a '(" LIST_AGENTS ")'"},
        [OPTION_COMPLETES_SESSION] = {"words=$(" LIST_SESSIONS ") ",
                                      ":session:{compadd -- $(" LIST_SESSIONS ")}",
                                      " -x -a '(" LIST_SESSIONS ")'"},
};

/* The choices of an option between what a shell has before them and after them; `after_path` where a folder
 * may be named, too. */
static void add_choice(struct strbuf *b, const struct option_spec *spec, const char *before,
                       const char *after, const char *before_path, const char *after_path) {
        bool has_path = strstr(spec->argument, "DIR") != NULL;

        strbuf_add(b, has_path ? before_path : before);
        add_choices(b, spec->argument, " ");
        strbuf_add(b, has_path ? after_path : after);
}

/* The next option of a command's tables behind that of *t and *i, which begin as 0; NULL: there is none. */
static const struct option_spec *next_option(const struct command *command, size_t *t, size_t *i) {
        for (; *t < MOST_TABLES && command->tables[*t].specs; (*t)++, *i = 0)
                if (*i < *command->tables[*t].n)
                        return &command->tables[*t].specs[(*i)++];
        return NULL;
}

static void add_bash_values(struct strbuf *b, const struct command *command) {
        const struct option_spec *spec;

        for (size_t t = 0, i = 0; (spec = next_option(command, &t, &i));) {
                if (!spec->argument)
                        continue;
                strbuf_addf(b, "        %s:--%s) ", command->name, spec->name);
                if (spec->completes == OPTION_COMPLETES_CHOICE)
                        add_choice(b, spec, "words='", "' ", "words='", "' files=-d ");
                else
                        strbuf_add(b, value_kinds[spec->completes].bash);
                strbuf_add(b, ";;\n");
        }
}

static void add_bash_options(struct strbuf *b, const struct command *command) {
        const struct option_spec *spec;

        strbuf_addf(b, "        %s) options='", command->name);
        for (size_t t = 0, i = 0, n = 0; (spec = next_option(command, &t, &i)); n++)
                strbuf_addf(b, "%s--%s", n > 0 ? " " : "", spec->name);
        strbuf_add(b, "' words='");
        if (command->words)
                add_choices(b, command->words, " ");
        strbuf_addf(b, "'%s ;;\n", takes_paths(command) ? " files=-f" : "");
}

/* Whether a command before the c-th shares its t-th table. */
static bool is_repeated(size_t c, size_t t) {
        for (size_t before = 0; before < c; before++)
                for (size_t i = 0; i < MOST_TABLES; i++)
                        if (commands[before].tables[i].specs == commands[c].tables[t].specs)
                                return true;
        return false;
}

/* The names of the options that take a value, as a case pattern. */
static void add_bash_valued(struct strbuf *b) {
        bool is_first = true;

        for (size_t c = 0; c < n_commands; c++)
                for (size_t t = 0; t < MOST_TABLES && commands[c].tables[t].specs; t++)
                        for (size_t i = 0; i < *commands[c].tables[t].n && !is_repeated(c, t); i++)
                                if (commands[c].tables[t].specs[i].argument) {
                                        strbuf_addf(b, "%s--%s", is_first ? "" : "|",
                                                    commands[c].tables[t].specs[i].name);
                                        is_first = false;
                                }
}

static const char bash_start[] =
        "# bash completion for nsrun; made by 'nsrun completion bash'\n"
        "_nsrun() {\n"
        "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
        "    local command=${COMP_WORDS[1]} options='' words='' files='' i\n"
        "    COMPREPLY=()\n"
        "    if ((COMP_CWORD == 1)); then\n"
        "        mapfile -t COMPREPLY < <(compgen -W '";

static const char bash_find_command[] =
        " --help --version' -- \"$current\")\n"
        "        return\n"
        "    fi\n"
        "    # readline cuts words at '='\n"
        "    if [[ $current == '=' ]]; then\n"
        "        current=''\n"
        "    elif [[ $previous == '=' ]]; then\n"
        "        previous=${COMP_WORDS[COMP_CWORD-2]}\n"
        "    fi\n"
        "    case $command in\n"
        "    run|plan)\n"
        "        # behind the options another program's command line begins\n"
        "        for ((i = 2; i < COMP_CWORD; i++)); do\n"
        "            case ${COMP_WORDS[i]} in\n"
        "            --) ((i++)); break ;;\n"
        "            ";

static const char bash_complete_command[] =
        ")\n"
        "                ((i++))\n"
        "                [[ ${COMP_WORDS[i]} == '=' ]] && ((i++)) ;;\n"
        "            -*) ;;\n"
        "            *) break ;;\n"
        "            esac\n"
        "        done\n"
        "        if ((i < COMP_CWORD)) || [[ ${COMP_WORDS[COMP_CWORD-1]} == -- ]]; then\n"
        "            if declare -F _command_offset >/dev/null; then\n"
        "                _command_offset \"$i\"\n"
        "            elif ((i < COMP_CWORD)); then\n"
        "                mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
        "            else\n"
        "                mapfile -t COMPREPLY < <(compgen -c -- \"$current\")\n"
        "            fi\n"
        "            return\n"
        "        fi ;;\n"
        "    esac\n"
        "    case $command:$previous in\n";

static const char bash_end[] =
        "        esac\n"
        "        if [[ $command == session ]] && ((COMP_CWORD > 2)); then\n"
        "            case $previous in\n"
        "            show|ps|stop|kill|diff|commit|discard|--json|--stat|--patch|--force|--digest)\n"
        "                words=$(" LIST_SESSIONS ") ;;\n"
        "            *) words='' ;;\n"
        "            esac\n"
        "        fi\n"
        "        [[ $current == -* ]] && words=$options\n"
        "        [[ $command == run || $command == plan ]] && [[ $current != -* ]] && files=-c ;;\n"
        "    esac\n"
        "    mapfile -t COMPREPLY < <(\n"
        "        [[ -n $words ]] && compgen -W \"$words\" -- \"$current\"\n"
        "        [[ -n $files ]] && compgen \"$files\" -- \"$current\")\n"
        "    [[ $files == -[df] ]] && compopt -o filenames\n"
        "}\n"
        "complete -F _nsrun nsrun\n";

static char *bash_text(void) {
        _cleanup_strbuf_ struct strbuf b = {0};

        strbuf_add(&b, bash_start);
        add_subcommands(&b);
        strbuf_add(&b, bash_find_command);
        add_bash_valued(&b);
        strbuf_add(&b, bash_complete_command);
        for (size_t i = 0; i < n_commands; i++)
                add_bash_values(&b, &commands[i]);
        strbuf_add(&b, "        *)\n        case $command in\n");
        for (size_t i = 0; i < n_commands; i++)
                add_bash_options(&b, &commands[i]);
        strbuf_add(&b, bash_end);
        return strbuf_finish(&b);
}

/* What _arguments calls an option's value. */
static void add_zsh_value(struct strbuf *b, const struct option_spec *spec) {
        if (spec->completes == OPTION_COMPLETES_CHOICE)
                add_choice(b, spec, ":choice:(", ")", ":choice:{_alternative \"choices\\:choice\\:(",
                           ")\" \"folders\\:folder\\:_files -/\"}");
        else
                strbuf_add(b, value_kinds[spec->completes].zsh);
}

/* Text in brackets within single quotes: brackets and colons would end it. */
static void add_zsh_help(struct strbuf *b, const char *text) {
        for (; *text; text++) {
                if (strchr("[]:\\", *text))
                        strbuf_add(b, "\\");
                if (*text == '\'')
                        strbuf_add(b, "'\\''");
                else
                        strbuf_add_bytes(b, text, 1);
        }
}

static void add_zsh_command(struct strbuf *b, const struct command *command) {
        const struct option_spec *spec;

        strbuf_addf(b, "    %s)\n        _arguments -S", command->name);
        for (size_t t = 0, i = 0; (spec = next_option(command, &t, &i));) {
                strbuf_addf(b, " \\\n            '*--%s%s[", spec->name, spec->argument ? "=" : "");
                add_zsh_help(b, spec->help);
                strbuf_add(b, "]");
                if (spec->argument)
                        add_zsh_value(b, spec);
                strbuf_add(b, "'");
        }
        if (command->takes_command)
                strbuf_add(b, " \\\n            '(-)1:command:_command_names -e' '*::argument:_normal'");
        if (takes_paths(command)) {
                strbuf_add(b, " \\\n            '*:path:_files'");
        } else if (command->words) {
                strbuf_add(b, " \\\n            '1:word:(");
                add_choices(b, command->words, " ");
                strbuf_add(b, ")'");
        }
        if (is_about_sessions(command))
                strbuf_add(b, " \\\n            '*:session:{[[ \" " WORDS_OF_SESSIONS
                              " \" == *\" $line[1] \"* ]] && compadd -- $(" LIST_SESSIONS ")}'");
        strbuf_add(b, " ;;\n");
}

static char *zsh_text(void) {
        _cleanup_strbuf_ struct strbuf b = {0};

        strbuf_add(&b, "#compdef nsrun\n# zsh completion for nsrun; made by 'nsrun completion zsh'\n"
                       "local -a subcommands=(");
        for (size_t i = 0; i < n_commands; i++) {
                strbuf_addf(&b, "\n    '%s:", commands[i].name);
                add_quoted(&b, commands[i].summary, "'\\''");
                strbuf_add(&b, "'");
        }
        strbuf_add(&b, ")\n"
                       "if ((CURRENT == 2)); then\n"
                       "    _describe -t subcommands subcommand subcommands\n"
                       "    return\n"
                       "fi\n"
                       "local subcommand=$words[2]\n"
                       "shift words\n"
                       "((CURRENT--))\n"
                       "case $subcommand in\n");
        for (size_t i = 0; i < n_commands; i++)
                add_zsh_command(&b, &commands[i]);
        strbuf_add(&b, "esac\n");
        return strbuf_finish(&b);
}

static void add_fish_option(struct strbuf *b, const struct command *command,
                            const struct option_spec *spec) {
        strbuf_addf(b, "complete -c nsrun -n '__fish_seen_subcommand_from %s' -l %s", command->name,
                    spec->name);
        if (spec->letter)
                strbuf_addf(b, " -s %c", spec->letter);
        if (spec->argument && spec->completes == OPTION_COMPLETES_CHOICE)
                add_choice(b, spec, " -x -a '", "'", " -x -a '", " (__fish_complete_directories)'");
        else if (spec->argument)
                strbuf_add(b, value_kinds[spec->completes].fish);
        strbuf_add(b, " -d '");
        add_quoted(b, spec->help, "\\'");
        strbuf_add(b, "'\n");
}

static char *fish_text(void) {
        _cleanup_strbuf_ struct strbuf b = {0};

        strbuf_add(&b,
                   "# fish completion for nsrun; made by 'nsrun completion fish'\ncomplete -c nsrun -f\n");
        for (size_t c = 0; c < n_commands; c++) {
                const struct command *command = &commands[c];
                const struct option_spec *spec;

                strbuf_addf(&b, "complete -c nsrun -n __fish_use_subcommand -a %s -d '", command->name);
                add_quoted(&b, command->summary, "\\'");
                strbuf_add(&b, "'\n");
                for (size_t t = 0, i = 0; (spec = next_option(command, &t, &i));)
                        add_fish_option(&b, command, spec);
                if (command->takes_command)
                        strbuf_addf(&b,
                                    "complete -c nsrun -n '__fish_seen_subcommand_from %s' -x -a "
                                    "'(__fish_complete_subcommand --fcs-skip=2)'\n",
                                    command->name);
                if (takes_paths(command)) {
                        strbuf_addf(&b, "complete -c nsrun -n '__fish_seen_subcommand_from %s' -F\n",
                                    command->name);
                } else if (command->words) {
                        strbuf_addf(
                                &b, "complete -c nsrun -n '__fish_seen_subcommand_from %s%s' -a '",
                                command->name,
                                is_about_sessions(command)
                                        ? "; and not __fish_seen_subcommand_from start list " WORDS_OF_SESSIONS
                                        : "");
                        add_choices(&b, command->words, " ");
                        strbuf_add(&b, "'\n");
                        if (is_about_sessions(command))
                                strbuf_add(&b,
                                           "complete -c nsrun -n '__fish_seen_subcommand_from session; and "
                                           "__fish_seen_subcommand_from " WORDS_OF_SESSIONS
                                           "' -a '(" LIST_SESSIONS ")'\n");
                }
        }
        return strbuf_finish(&b);
}

int completion_text(const char *shell, char **ret) {
        static const struct {
                const char *shell;
                char *(*text)(void);
        } kinds[] = {{"bash", bash_text}, {"zsh", zsh_text}, {"fish", fish_text}};

        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
                if (streq(shell, kinds[i].shell)) {
                        *ret = kinds[i].text();
                        return *ret ? 0 : -ENOMEM;
                }
        return -EINVAL;
}

static int print_completion(struct invocation *i, struct nsrun_error *err) {
        _cleanup_free_ char *text = NULL;
        int r;

        if (!i->words[0] || i->words[1])
                return option_usage_error(i->command, NULL, "name one shell: bash, zsh or fish", err);
        r = completion_text(i->words[0], &text);
        if (r == -EINVAL)
                return option_usage_error(i->command, i->words[0], "no completion for this shell", err);
        if (r < 0)
                return error_oom(err);
        (void)fputs(text, stdout);
        return 0;
}

int completion_main(const struct command *command, char **argv) {
        return command_main(&(struct invocation){.command = command, .argv = argv, .run = print_completion});
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun completion`: a script for bash, zsh or fish, which asks `nsrun completion words` at each key what
 * may stand there: a line for each word, with its meaning behind a tab, or what the shell itself knows,
 * behind a colon. */
#include "option.h"
#include "policy/agents.h"

struct completing {
        struct strbuf out;
        const char *prefix; /* of each word: "--net=" */
};

static void offer(struct completing *c, const char *word, size_t n, const char *meaning) {
        strbuf_addf(&c->out, "%s%.*s\t%s\n", c->prefix, (int)n, word, meaning);
}

/* The choices of "tmpfs|DIR"; words in capitals stand for folders. */
static void offer_choices(struct completing *c, const char *choices) {
        for (; *choices; choices += strcspn(choices, "|"), choices += *choices == '|')
                if (*choices >= 'a' && *choices <= 'z')
                        offer(c, choices, strcspn(choices, "|"), "");
}

static void offer_sessions(struct completing *c) {
        _cleanup_strv_ char **ids = NULL;

        (void)nsrun_session_list(&ids, NULL);
        STRV_FOREACH (id, ids)
                offer(c, *id, strlen(*id), "");
}

static void offer_agents(struct completing *c) {
        struct nsrun_policy *p = NULL;

        if (nsrun_policy_new(&p) >= 0 && nsrun_policy_find_config(p, NULL) >= 0)
                for (size_t i = 0; i < p->n_agents; i++)
                        offer(c, p->agents[i].name, strlen(p->agents[i].name), p->agents[i].entry.what);
        for (size_t i = 0; i < n_agent_entries; i++)
                offer(c, agent_entries[i].entry.name, strlen(agent_entries[i].entry.name),
                      agent_entries[i].entry.what);
        (void)nsrun_policy_free(p);
}

static void offer_value(struct completing *c, const struct option_spec *spec) {
        static const char *const of_shell[] = {[OPTION_COMPLETES_PATH] = ":files\n",
                                               [OPTION_COMPLETES_FOLDER] = ":folders\n",
                                               [OPTION_COMPLETES_VARIABLE] = ":variables\n",
                                               [OPTION_COMPLETES_AGENT] = ""};

        if (spec->completes == OPTION_COMPLETES_CHOICE) {
                offer_choices(c, spec->argument);
                strbuf_add(&c->out, strstr(spec->argument, "DIR") ? ":folders\n" : "");
        } else if (spec->completes == OPTION_COMPLETES_SESSION) {
                offer_sessions(c);
        } else if (spec->completes == OPTION_COMPLETES_AGENT) {
                offer_agents(c);
        } else if (of_shell[spec->completes]) {
                strbuf_add(&c->out, of_shell[spec->completes]);
        }
}

static void offer_options(struct completing *c, const struct command *command) {
        for (size_t t = 0; t < MOST_TABLES && command->tables[t].specs; t++)
                for (size_t i = 0; i < *command->tables[t].n; i++) {
                        const struct option_spec *spec = &command->tables[t].specs[i];
                        _cleanup_free_ char *name = str_concat("--", spec->name, "");

                        c->out.has_failed |= !name;
                        offer(c, name ? name : "", name ? strlen(name) : 0, spec->help);
                }
}

static void offer_subcommands(struct completing *c) {
        for (size_t i = 0; i < n_commands; i++)
                offer(c, commands[i].name, strlen(commands[i].name), commands[i].summary);
        offer(c, "--help", strlen("--help"), "show help");
        offer(c, "--version", strlen("--version"), "show the version");
}

/* What stands at the place of a word that is no option: `before` are the words of its kind before it. */
static void offer_words(struct completing *c, const struct command *command, char *const *before) {
        bool is_session = streq(command->name, "session");

        if (command->words && streq(command->words, "PATH"))
                strbuf_add(&c->out, ":files\n");
        else if (command->words && streq(command->words, "NAME") && !before)
                offer_agents(c);
        else if (command->words && !before)
                offer_choices(c, command->words);
        else if (is_session && before && !before[1] && !streq(*before, "start") && !streq(*before, "list"))
                offer_sessions(c);
}

/* The words that may stand at the last of n, whose first is the subcommand; `at`: the place of each in the
 * shell's list. */
static void complete_last(struct completing *c, const struct command *command, char **words,
                          const size_t *at, size_t n) {
        const char *current = words[n - 1], *last = words[n - 2], *equals = strchr(current, '=');
        const struct option_spec *own = equals ? option_named(command, current, NULL) : NULL,
                                 *valued = n > 2 && !strchr(last, '=') ? option_named(command, last, NULL)
                                                                       : NULL;
        size_t n_before = 0, first = command->takes_command ? option_skip(command, words) : n;
        _cleanup_free_ char **before = calloc(n, sizeof(*before)),
                            *prefix = strndup(current, own ? (size_t)(equals + 1 - current) : 0);

        c->out.has_failed |= !before || !prefix;
        if (c->out.has_failed)
                return;
        c->prefix = prefix;
        for (size_t i = 1; i < n - 1; i++) {
                const struct option_spec *spec = option_named(command, words[i], NULL);

                if (*words[i] != '-')
                        before[n_before++] = words[i];
                i += spec && spec->argument && !strchr(words[i], '=');
        }
        if (first < n - 1)
                strbuf_addf(&c->out, ":command %zu\n", at[first]);
        else if ((own && own->argument) || (valued && valued->argument))
                offer_value(c, own ? own : valued);
        else if (*current == '-' && !streq(last, "--"))
                offer_options(c, command);
        else if (command->takes_command)
                strbuf_add(&c->out, ":commands\n");
        else
                offer_words(c, command, n_before > 0 ? before : NULL);
        c->prefix = "";
}

char *completion_words(char *const *words) {
        size_t n = 0, most = strv_length(words);
        _cleanup_free_ char **list = calloc(most + 1, sizeof(*list));
        _cleanup_free_ size_t *at = calloc(most + 1, sizeof(*at));
        struct completing c = {.prefix = "", .out = {.has_failed = !list || !at}};
        const struct command *command = most > 0 ? command_find(words[0]) : NULL;

        for (size_t i = 0; i < most && !c.out.has_failed; i++) {
                /* bash has "--net=host" as three words. */
                bool is_cut = n > 1 && streq(words[i], "=") && startswith(list[n - 1], "--");

                if (is_cut && i + 1 < most)
                        continue;
                at[n] = i + 1;
                list[n++] = words[i] + is_cut;
        }
        if (n <= 1)
                offer_subcommands(&c);
        else if (command)
                complete_last(&c, command, list, at, n);
        return strbuf_finish(&c.out);
}

/* ------------------------------------------------------------------ the scripts */

static const struct {
        const char *shell, *text;
} scripts[] = {
        {"bash", "# bash completion for nsrun; made by 'nsrun completion bash'\n"
                 "_nsrun() {\n"
                 "    local current=${COMP_WORDS[COMP_CWORD]} line offset='' words=() kinds=()\n"
                 "    [[ $current == = ]] && current='' # readline cuts words there\n"
                 "    while IFS= read -r line; do\n"
                 "        case $line in\n"
                 "        :files) kinds+=(-f) ;;\n"
                 "        :folders) kinds+=(-d) ;;\n"
                 "        :variables) kinds+=(-v) ;;\n"
                 "        :commands) kinds+=(-c) ;;\n"
                 "        :command\\ *) offset=${line#* } ;;\n"
                 "        *) words+=(\"${line%%$'\\t'*}\") ;;\n"
                 "        esac\n"
                 "    done < <(nsrun completion words -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
                 "    if [[ $offset ]] && declare -F _command_offset >/dev/null; then\n"
                 "        _command_offset \"$offset\"\n"
                 "        return\n"
                 "    fi\n"
                 "    [[ $offset ]] && kinds=(-f)\n"
                 "    [[ ${kinds[*]} == -[df] ]] && compopt -o filenames 2>/dev/null\n"
                 "    mapfile -t COMPREPLY < <(\n"
                 "        [[ ${words[*]} ]] && compgen -W \"${words[*]}\" -- \"$current\"\n"
                 "        [[ ${kinds[*]} ]] && compgen \"${kinds[@]}\" -- \"$current\")\n"
                 "}\n"
                 "complete -F _nsrun nsrun\n"},
        {"zsh",
         "#compdef nsrun\n"
         "# zsh completion for nsrun; made by 'nsrun completion zsh'\n"
         "local line before=${words[CURRENT]}\n"
         "local -a candidates kinds\n"
         "for line in ${(f)\"$(nsrun completion words -- \"${(@)words[2,CURRENT]}\" 2>/dev/null)\"}; do\n"
         "    case $line in\n"
         "    :*) kinds+=(${line#:}) ;;\n"
         "    *) candidates+=(\"${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}\") ;;\n"
         "    esac\n"
         "done\n"
         "((${#candidates})) && _describe -t words word candidates\n"
         "[[ $before == --*=* ]] && compset -P '*='\n"
         "for line in $kinds; do\n"
         "    case $line in\n"
         "    files) _files ;;\n"
         "    folders) _files -/ ;;\n"
         "    variables) _parameters -g '*export*' ;;\n"
         "    commands) _command_names -e ;;\n"
         "    command\\ *)\n"
         "        shift ${line#* } words\n"
         "        ((CURRENT -= ${line#* }))\n"
         "        _normal ;;\n"
         "    esac\n"
         "done\n"},
        {"fish",
         "# fish completion for nsrun; made by 'nsrun completion fish'\n"
         "function __nsrun_complete\n"
         "    set -l words (commandline -opc) (commandline -ct)\n"
         "    set -l parts (string match -r '^(--[^=]*=|)(.*)$' -- \"$words[-1]\")\n"
         "    for line in (nsrun completion words -- $words[2..-1] 2>/dev/null)\n"
         "        switch $line\n"
         "            case ':files'\n"
         "                printf \"$parts[2]%s\\n\" (__fish_complete_path \"$parts[3]\")\n"
         "            case ':folders'\n"
         "                printf \"$parts[2]%s\\n\" (__fish_complete_directories \"$parts[3]\")\n"
         "            case ':variables'\n"
         "                printf \"$parts[2]%s\\n\" (set -nx)\n"
         "            case ':commands'\n"
         "                complete -C \"$words[-1]\"\n"
         "            case ':command *'\n"
         "                set -l first (math (string replace ':command ' '' -- $line) + 1)\n"
         "                complete -C (string join ' ' -- (string escape -- $words[$first..-2]) \"$words[-1]\")\n"
         "            case '*'\n"
         "                echo $line\n"
         "        end\n"
         "    end\n"
         "end\n"
         "complete -c nsrun -f -a '(__nsrun_complete)'\n"},
};

static int print_completion(struct invocation *i, struct nsrun_error *err) {
        _cleanup_free_ char *text = NULL;

        if (i->words[0] && streq(i->words[0], "words")) {
                text = completion_words(i->words + 1 + (i->words[1] && streq(i->words[1], "--")));
                return text && fputs(text, stdout) >= 0 ? 0 : error_oom(err);
        }
        if (!i->words[0] || i->words[1])
                return option_usage_error(i->command, NULL, "name one shell: bash, zsh or fish", err);
        for (size_t k = 0; k < ARRAY_SIZE(scripts); k++)
                if (streq(i->words[0], scripts[k].shell))
                        return fputs(scripts[k].text, stdout) >= 0 ? 0 : -EIO;
        return option_usage_error(i->command, i->words[0], "no completion for this shell", err);
}

COMMAND_MAIN(completion, NULL, .run = print_completion);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun-sh: nsrun called by that name is a shell, for programs that are told of a shell and of no options:
 * bash in `nsrun run`, with the words that the shell was given. */
#include "sh.h"

#include "base/array.h"
#include "base/path.h"
#include "base/str.h"
#include "host/program.h"
#include "option.h"

#define SESSION_VARIABLE "NSRUN_SH_SESSION"

static const char *called_as(const char *name) {
        const char *base = path_basename(name);

        return *base == '-' ? base + 1 : base;
}

bool sh_is_called(const char *name) {
        return streq(called_as(name), "nsrun-sh");
}

/* The shell inside.  What it starts finds it in SHELL, and not nsrun-sh, which isn't there. */
static int find_shell(char **ret) {
        int r = program_find("bash", ret);

        if (r == -ENOENT)
                *ret = strdup("/bin/sh");
        return r == -ENOMEM || !*ret ? -ENOMEM : 0;
}

static int push(char ***words, const char *word) {
        return strv_consume(words, strdup(word));
}

static int push_run(char ***words, const char *shell, bool is_login) {
        const char *session = getenv(SESSION_VARIABLE);
        int r = push(words, "run");

        if (r >= 0 && session)
                r = push(words, "--session");
        if (r >= 0 && session)
                r = push(words, session);
        if (r >= 0)
                r = push(words, "--unsetenv=" SESSION_VARIABLE);
        if (r >= 0)
                r = strv_consume(words, str_concat("--env=SHELL=", shell, ""));
        if (r >= 0)
                r = push(words, "--");
        if (r >= 0)
                r = push(words, shell);
        return r >= 0 && is_login ? push(words, "-l") : r;
}

int sh_main(char **argv) {
        _cleanup_strv_ char **words = NULL;
        _cleanup_free_ char *shell = NULL;
        struct nsrun_error err = {0};
        int r = find_shell(&shell);

        if (r >= 0)
                r = push_run(&words, shell, *path_basename(argv[0]) == '-');
        for (char **word = argv + 1; *word && r >= 0; word++)
                r = push(&words, *word);
        if (r < 0) {
                (void)error_oom(&err);
                return option_fail(&err);
        }
        return run_main(command_find("run"), words);
}

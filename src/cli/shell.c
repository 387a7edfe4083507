/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun shell`, and `nsrun session enter`: a person's own shell in a sandbox, with a terminal of its own;
 * and nsrun-sh. */
#include "shell.h"

#include "base/array.h"
#include "base/path.h"
#include "host/program.h"
#include "host/user.h"

/* Runs inside, where alone it can be known which shells there are: $1 is the prompt's beginning, the rest
 * the shells in the order of preference.  A start file that sets a prompt wins, and Debian's and Ubuntu's
 * show $debian_chroot. */
static const char chooser[] =
        "p=$1\n"
        "shift\n"
        "debian_chroot=${p#[}\n"
        "debian_chroot=${debian_chroot%]}\n"
        "export debian_chroot PS1 SHELL\n"
        "for s do\n"
        "  case ${s##*/} in nologin|false|true|sync) continue ;; esac\n"
        "  [ -x \"$s\" ] || continue\n"
        "  SHELL=$s\n"
        "  case ${s##*/} in\n"
        "  bash*) PS1=\"$p \\w\\\\\\$ \" ;;\n"
        "  zsh*) PS1=\"$p %~ %# \" ;;\n"
        "  fish) unset debian_chroot; exec \"$s\" -C \"functions -c fish_prompt nsrun_prompt; function fish_prompt; echo -n '$p '; "
        "nsrun_prompt; end\" ;;\n"
        "  *) PS1=\"$p \\$PWD \\$ \" ;;\n"
        "  esac\n"
        "  exec \"$s\"\n"
        "done\n"
        "echo 'nsrun: no shell is visible in the sandbox' >&2\n"
        "exit 127\n";

/* Makes a person's shell the policy's command, with a prompt that says where it runs: in the session `id`,
 * or NULL. */
static int shell_choose(struct nsrun_policy *policy, const char *id, struct nsrun_error *err) {
        _cleanup_(user_clear) struct user user = {0};
        _cleanup_free_ char *prompt = id ? str_concat("[nsrun ", id, "]") : strdup("[nsrun]");
        const char *shell = getenv("SHELL");

        if (!prompt || user_find(getuid(), getgid(), &user) < 0)
                return error_oom(err);
        return nsrun_policy_set_command(policy,
                                        (const char *const[]){"/bin/sh", "-c", chooser, "sh", prompt,
                                                              shell && *shell == '/' ? shell : user.shell,
                                                              user.shell, "/bin/bash", "/bin/sh", NULL},
                                        err);
}

int shell_enter(const char *id, int *ret_status, struct nsrun_error *err) {
        struct run_options options = RUN_OPTIONS_INIT;
        struct nsrun_policy *policy = NULL;
        int r = nsrun_policy_new(&policy) < 0 ? error_oom(err)
                                              : nsrun_policy_set(policy, "session", id, err);

        if (r >= 0)
                r = shell_choose(policy, id, err);
        options.wants_terminal = options.is_shell = true;
        if (r >= 0)
                r = run_sandbox(policy, &options, ret_status, err);
        (void)nsrun_policy_free(policy);
        return r;
}

static int start_shell(struct invocation *i, struct nsrun_error *err) {
        int r = command_refuse_words(
                i, "a shell is all that it starts: take 'nsrun run --pty' for a command", err);

        if (r == 0)
                r = shell_choose(i->policy, i->policy->session, err);
        return r == 0 ? run_sandbox(i->policy, i->options, &i->status, err) : r;
}

int shell_main(const struct command *command, char **argv) {
        _cleanup_(run_options_clear) struct run_options options = RUN_OPTIONS_INIT;

        options.wants_terminal = options.is_shell = true;
        return command_main(&(struct invocation){
                .command = command, .argv = argv, .options = &options, .run = start_shell});
}

/* ----------------------------------------------------------------- nsrun-sh(1) */

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

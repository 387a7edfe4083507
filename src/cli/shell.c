/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun shell`, and `nsrun session enter`: a person's own shell in a sandbox, with a terminal of its own.
 */
#include "shell.h"

#include "base/str.h"
#include "host/user.h"
#include "policy/policy.h"

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

int shell_choose(struct nsrun_policy *policy, const char *id, struct nsrun_error *err) {
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
        int r;

        r = nsrun_policy_new(&policy) < 0 ? error_oom(err) : nsrun_policy_set(policy, "session", id, err);
        if (r >= 0)
                r = shell_choose(policy, id, err);
        options.wants_terminal = options.is_shell = true;
        if (r >= 0)
                r = run_sandbox(policy, &options, ret_status, err);
        (void)nsrun_policy_free(policy);
        return r;
}

static int parse_and_run(const struct command *command, char **argv, struct nsrun_policy *policy,
                         struct common_options *common, int *ret_status, struct nsrun_error *err) {
        struct run_options options = RUN_OPTIONS_INIT;
        size_t first = 0;
        int r = option_parse(command, argv, (void *const[]){policy, &options, common}, &first, err);

        options.wants_terminal = options.is_shell = true;
        if (r == 0 && argv[first])
                r = option_usage_error(command, argv[first],
                                       "a shell is all that it starts: take 'nsrun run --pty' for a command",
                                       err);
        if (r == 0)
                r = shell_choose(policy, policy->session, err);
        if (r == 0)
                r = run_sandbox(policy, &options, ret_status, err);
        run_options_clear(&options);
        return r;
}

int shell_main(const struct command *command, char **argv) {
        return run_main_with(command, argv, parse_and_run);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun net`: the lists of hosts that --allow knows by name. */
#include "net/rules.h"

#include "option.h"

static int print_lists(struct invocation *invocation, struct nsrun_error *err) {
        char *const *words = invocation->words;

        if (!words[0])
                return option_usage_error(invocation->command, NULL, "say what: list", err);
        if (!streq(words[0], "list"))
                return option_usage_error(invocation->command, words[0], "no such action", err);
        if (words[1])
                return option_usage_error(invocation->command, words[1], "no argument is expected", err);
        for (size_t i = 0; i < n_net_lists; i++) {
                (void)printf("@%-10s %s\n", net_lists[i].name, net_lists[i].what);
                for (const char *const *host = net_lists[i].hosts; *host; host++)
                        (void)printf("            %s\n", *host);
        }
        return 0;
}

COMMAND_MAIN(net, NULL, .run = print_lists);

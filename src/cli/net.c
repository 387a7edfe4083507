/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun net`: the lists of hosts that --allow knows by name. */
#include "net/rules.h"

#include "option.h"

static void print_lists(void) {
        for (size_t i = 0; i < n_net_lists; i++) {
                (void)printf("@%-10s %s\n", net_lists[i].name, net_lists[i].what);
                for (const char *const *host = net_lists[i].hosts; *host; host++)
                        (void)printf("            %s\n", *host);
        }
}

int net_main(const struct command *command, char **argv) {
        struct nsrun_error err = {0};
        size_t first = 0;
        int status, r = 0;

        if (!option_parse_common(command, argv, &first, &status))
                return status;
        if (!argv[first])
                r = option_usage_error(command, NULL, "say what: list", &err);
        else if (!streq(argv[first], "list"))
                r = option_usage_error(command, argv[first], "no such action", &err);
        else if (argv[first + 1])
                r = option_usage_error(command, argv[first + 1], "no argument is expected", &err);
        if (r < 0)
                return option_fail(&err);
        print_lists();
        return option_close_stdout();
}

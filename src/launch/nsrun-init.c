/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun-init: pid 1 of a sandbox that a library's host started; and under other names, inside a sandbox, the
 * program that hands a link over to nsrun (--browser).  Not for people. */
#include "boundary/init_handover.h"
#include "desktop/browser.h"

int main(int argc, char **argv) {
        if (argc > 0 && browser_is_client(argv[0]))
                return browser_client_main(argc, argv);
        return init_exec_main(argc, argv);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun-monitor, the program behind a session.  `nsrun session` starts and ends it; it is not for
 * people. */
#include "monitor.h"

int main(int argc, char **argv) {
        return monitor_main(argc, argv);
}

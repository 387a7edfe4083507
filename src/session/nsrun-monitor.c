/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun-monitor: what keeps a session.  Not for people: 'nsrun session' starts and ends it. */
#include "monitor.h"

int main(int argc, char **argv) {
        return monitor_main(argc, argv);
}

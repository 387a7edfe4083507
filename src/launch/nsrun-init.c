/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun-init: pid 1 of a sandbox that a library's host started.  Not for people. */
#include "init_exec.h"

extern char **environ;

int main(int argc, char **argv) {
        return init_exec_main(argc, argv, environ);
}

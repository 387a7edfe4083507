/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What nsrun-faults and the tests that run it share: one page, which is the file
 * that $NSRUN_FAULT_LOG names.  See fault.c.  In no program that is installed. */
#pragma once

#include <stdatomic.h>

#include "base/macro.h"

enum fault_state {
        FAULT_WAITING, /* the Nth call has not been made yet; at the end of a run: it made fewer than N calls
                        */
        FAULT_ASKED,   /* a child has come to the Nth call: the watcher is to kill the supervisor */
        FAULT_DONE,    /* the Nth call has failed, or the supervisor has been killed */
};

struct fault_page {
        atomic_uint calls; /* so far, of all processes */
        atomic_int state;
        int is_supervisors; /* whose call it was */
        char call[32];      /* its name */
};

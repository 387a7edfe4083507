/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun-keeper: what keeps a session.  Not for people: 'nsrun session' starts and ends it. */
#include "keeper.h"

int main(int argc, char **argv) {
        return keeper_main(argc, argv);
}

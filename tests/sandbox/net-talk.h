/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of --net=ask share: the question about a name. */
#pragma once

#include "net.h"
#include "talk.h"

/* The question about the name; *code is what a yes to it is, which is for the run or the session. */
static inline void await_question_for(struct talk *t, const char *what, const char *name, char code[5]) {
        _cleanup_free_ char *shown =
                text_of(" wants to reach %s (ports 80 and 443), which no rule covers.\r\n"
                        "nsrun: Allow that until the %s ends? [",
                        name, what);

        await(t, shown);
        await_code(t, code);
}

static inline void await_question(struct talk *t, const char *name, char code[5]) {
        await_question_for(t, "run", name, code);
}

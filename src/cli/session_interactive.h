/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun session commit --interactive`: each change is shown on the terminal, and who sits there says which
 * are committed. */
#pragma once

#include "base/error.h"

struct interactive;

/* Asks.  0 with *ret, also where nothing was chosen; -ENXIO: there is no terminal; -errno. */
int interactive_ask(const char *id, const struct nsrun_session_choice *choice, struct interactive **ret,
                    struct nsrun_error *err);
/* Commits what was chosen, one item after another, each exactly as it was shown.  `ret` gets the outcome of
 * all.  A failure of one doesn't keep the others from being committed, but for -EINTR; all but one are
 * printed here, and that one, or one of asking, is returned. */
int interactive_commit(struct interactive *in, struct nsrun_session_outcome *ret, struct nsrun_error *err);
/* NULL is fine. */
void interactive_free(struct interactive *in);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --help and --version.  Callers search both for words, so help lists every option at the head of
 * a line of its own and is never wrapped. */
#include "options.h"

/* The interface that is spoken here. */
#define SPOKEN_VERSION "0.13.1"

char *bwrap_help(const char *program) {
        _cleanup_strbuf_ struct strbuf b = {0};

        strbuf_addf(&b, "usage: %s [OPTIONS...] [--] COMMAND [ARGS...]\n\n", program);
        for (size_t i = 0; i < n_bwrap_options; i++) {
                const struct bwrap_option *o = &bwrap_options[i];
                size_t begin = b.length;
                int n;

                strbuf_addf(&b, "    %s", o->name);
                for (size_t k = 0; k < bwrap_option_n_arguments(o); k++)
                        strbuf_addf(&b, " %s", o->arguments[k]);
                n = (int)(b.length - begin);
                strbuf_addf(&b, "%*s%s\n", n < 33 ? 33 - n : 1, "", o->help);
        }
        return strbuf_finish(&b);
}

char *bwrap_version(void) {
        return str_format("bubblewrap %s (nsrun %s)", SPOKEN_VERSION, nsrun_version());
}

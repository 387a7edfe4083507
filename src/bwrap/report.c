/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Messages on standard error, as bubblewrap's callers look for them.  Another process may write
 * there too, hence one write each. */
#include "report.h"

#include "base/sys.h"

void bwrap_report(const struct bwrap_config *config, enum bwrap_level level, const char *message) {
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_free_ char *visible = str_visible(message), *line = NULL;

        if (config->has_level_prefix)
                strbuf_addf(&b, "<%d>", (int)level);
        strbuf_addf(&b, "bwrap: %s\n", visible ? visible : "out of memory");
        line = strbuf_finish(&b);
        if (line)
                (void)sys_write(STDERR_FILENO, line, strlen(line));
}

void bwrap_report_warnings(const struct bwrap_config *config) {
        STRV_FOREACH (line, config->warnings)
                bwrap_report(config, BWRAP_WARNING, *line);
}

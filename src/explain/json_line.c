/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "json_line.h"

#include "base/file.h"

/* A pipe takes a line of up to PIPE_BUF bytes in one piece, and a file a line of any size. */
int json_write_line(int fd, struct json_document *d, const char *what, const char *hint,
                    struct nsrun_error *err) {
        _cleanup_free_ char *text = NULL;
        size_t left;
        int r = json_finish(d, false, &text, err);

        if (r < 0)
                return r;
        left = strlen(text);
        text[left++] = '\n';
        r = write_full(fd, text, left);
        return r < 0 ? error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, what, hint) : 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a refusal is told. */
#include "refusal.h"

#include <stdarg.h>

#include "host/user.h"

int policy_refuse(struct nsrun_error *err, const char *path, const char *hint, const char *what, ...) {
        char text[sizeof(err->what)];
        va_list ap;

        va_start(ap, what);
        (void)vsnprintf(text, sizeof(text), what, ap);
        va_end(ap);
        return error_set(err, NSRUN_STAGE_POLICY, UNSAID(-EPERM), path, text, hint);
}

int policy_refuse_writers(int fd, const struct stat *st, const char *file, const char *what,
                          struct nsrun_error *err) {
        _cleanup_free_ char *quoted = str_shell_quote(file),
                            *fix = quoted ? str_concat("chmod go-w ", quoted, "") : NULL;
        char words[USER_WRITERS_SIZE];
        const char *writers = user_writers(fd, st, words);

        if (!fix)
                return error_oom(err);
        return writers ? policy_refuse(err, file, fix, "%s may write to %s", writers, what) : 0;
}

/* The first folder on the way to a file that may not be entered; NULL if there is none. */
static char *find_closed_folder(const char *file) {
        char *path = strdup(file);

        for (char *at = path; path && (at = strchr(at + 1, '/'));) {
                *at = '\0';
                if (access(path, X_OK) < 0)
                        return path;
                *at = '/';
        }
        free(path);
        return NULL;
}

char *refuse_closed_fix(int r, const char *file) {
        _cleanup_free_ char *closed = r == -EACCES ? find_closed_folder(file) : NULL,
                            *quoted = r == -EACCES ? str_shell_quote(closed ? closed : file) : NULL;
        struct stat st;

        if (!quoted)
                return NULL;
        if (!closed)
                return stat(file, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 0400)
                               ? str_concat("chmod u+r ", quoted, "")
                               : NULL;
        /* A mode only keeps one out of a folder; of a FUSE mount without allow_other nothing can be told. */
        if (stat(closed, &st) < 0)
                return str_concat(
                        "you may not even look at ", closed,
                        ": a FUSE file system lets in nobody but who mounted it, unless that was done with "
                        "-o allow_other");
        return st.st_uid == geteuid()
                       ? str_concat("chmod u+x ", quoted, ", which may not be entered")
                       : str_concat("you may not enter ", closed, " (a service: ProtectHome=no)");
}

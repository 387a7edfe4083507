/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun session logs`: what the session's detached commands print, as they print it. */
#include "session_logs.h"

int session_print_logs(const char *id, const char *name, bool wants_json, bool follows,
                       struct nsrun_error *err) {
        _cleanup_free_ char *text = NULL;
        int r;

        if (name && wants_json)
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), name,
                                 "--json is for the list of logs: one of them is printed as it is",
                                 "leave it out");
        if (!name && follows)
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), NULL,
                                 "--follow needs the NAME of a log",
                                 "'nsrun session logs ID' shows those there are");
        if (name)
                return nsrun_session_log(id, name, follows, STDOUT_FILENO, err);
        r = nsrun_session_logs(id, wants_json ? NSRUN_FORMAT_JSON : NSRUN_FORMAT_TEXT, &text, err);
        if (r >= 0)
                (void)printf(wants_json ? "%s\n" : "%s", text);
        return r;
}

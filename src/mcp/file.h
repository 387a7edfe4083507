/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files of the session, opened for the file tools. */
#pragma once

#include "tool.h"

enum {
        FILE_TEXT_MOST = 30 * 1024,          /* bytes of an answer's text */
        FILE_EDIT_MOST = 4 * 1024 * 1024,    /* bytes of a file that is edited */
        FILE_EDITED_MOST = 16 * 1024 * 1024, /* and of what takes the place of something in it */
        FILE_ENTRIES_MOST = 1000,            /* of a list */
        FILE_READ_MOST = 1 << 30,            /* bytes that are read for an answer */
};

/* The argument path, or the project. */
const char *tool_path(const struct call *c);

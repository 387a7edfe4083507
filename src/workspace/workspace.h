/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The public workspace as an object: its roots, its umbrella and its environment.
 * nsrun.h documents the functions; policy/ makes rules of it. */
#pragma once

#include "roots.h"
#include "umbrella.h"

struct nsrun_workspace {
        struct workspace roots; /* roots[0] is the project, always there */
        struct umbrella umbrella;
        pid_t owner; /* a forked copy must not remove it */
        char **env;  /* "NAME=VALUE" */
        bool has_env;
        bool is_env_explicit;
        struct nsrun_workspace *next; /* of those with an umbrella */
};

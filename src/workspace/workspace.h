/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The public workspace as an object: its roots, its run directory and its environment.  nsrun.h
 * documents the functions; policy/workspace.c makes rules of it. */
#pragma once

#include "disk/rundir.h"
#include "roots.h"

struct nsrun_workspace {
        struct workspace roots; /* roots.roots[0] is the project, always there */
        struct rundir rundir;
        pid_t owner; /* who made the run directory: a forked copy must not remove it */
        char **env;  /* "NAME=VALUE": what the host program has set, else git's identity */
        bool has_env;
        bool is_env_explicit;
        bool is_allow_all;
        char **readable,
                **writable; /* the lists that nsrun_workspace_readable() and _writable() returned last */
        struct nsrun_workspace *next; /* the list of workspaces that have a run directory */
};

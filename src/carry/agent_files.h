/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files of an agent's state, by a list of globs, from an overlay's upper folder to the host's.  The upper
 * folder is the command's: no symlink is followed, nothing else than a plain file is read, and what is read
 * is bounded. */
#pragma once

#include <sys/stat.h>
#include <time.h>

#include "base/macro.h"

struct carried_files {
        int upper, host;
        char *const
                *globs; /* by fnmatch(3)'s rules, part by part; with a slash at the end all files below */
        char *const *others; /* paths of folders that aren't the project's; NULL: none */
        struct timespec
                since; /* when the run began: a file of the host's that changed later is the host's */
        /* What isn't carried, of a name that a glob has: `r` says why, -ESTALE that the host has changed it.
         */
        int (*failed)(void *data, const char *path, int r);
        /* An entry that no glob names, below a folder that is looked through; 0, or -ENOMEM. */
        int (*left)(void *data, const char *path, unsigned char type);
        void *data;
};

/* Carries what the globs name.  A file that the host has unchanged since then is replaced as a whole; to one
 * of lines ("*.jsonl") those are added that it lacks.  What is carried is taken out of the upper folder.  0,
 * or what a callback returned below 0; -ENOMEM. */
int carry_files(const struct carried_files *c);

#define CARRIED_DRAFT_SIZE 32

/* An empty file in the host's folder `parent`, locked, that is to become `name`; its own is stored for
 * carried_commit(); or -errno. */
int carried_draft(int parent, const char *name, char draft[CARRIED_DRAFT_SIZE]);
/* It becomes `name`, with what of `mode` is for reading and writing, if that is as `was` has it (NULL: isn't
 * there), whole or not at all.  -ESTALE: it isn't.  `r` below 0: the draft is removed, and that returned. */
int carried_commit(int parent, int fd, const char *draft, const char *name, const struct stat *was,
                   mode_t mode, int r);

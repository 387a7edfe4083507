/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a sandbox is granted while it runs: events in its plan's file (plan_shown.h), which whoever grants
 * adds to.  Nothing is ever changed there. */
#pragma once

#include "plan/plan.h"
#include "sweep/mount_inside.h"

#define GRANTS_MOST 256 /* of a sandbox at once */

enum granted_kind {
        GRANTED_ASKED = 1, /* with the bytes of a grant, which is attached next; all others are of that, too,
                              by `of` */
        GRANTED_SHOWN,     /* it is attached */
        GRANTED_ENDING,    /* it is being taken back */
        GRANTED_ENDED,     /* it was never attached, or is taken back */
        GRANTED_BY,        /* with the bytes of a struct granted_by */
};

struct granted {
        uint64_t id;
        char *option, *path; /* "ro"; of "allow" and "publish" that value, and nothing is mounted */
        char *shown;         /* the path where it was attached: `path`, or a folder on the way to it */
        bool makes;          /* which was made for it */
        uint64_t mount, way; /* what is mounted at `path`, and at such a folder; 0: there is none */
        bool is_shown, is_ending, has_ended;
        bool is_repaired; /* likewise: it has just been taken back, as was begun */
        /* The caller's: what is mounted; -ENOENT: nothing; else that isn't known, as if it were. */
        int tree;
        bool is_live;
};

/* Numbers of the waiter's descriptors. */
struct granted_by {
        int control; /* nsrun-net's socket (net/control.h); negative: there is none */
        struct launch_held held;
};

struct granted_list {
        struct granted *items;
        size_t n;
        struct granted_by by;
};

/* *ret of all of them.  -ENOMEM, -EBADMSG. */
int granted_read(int fd, struct granted_list *ret);
void granted_clear(struct granted_list *list);
#define _cleanup_granted_ _cleanup_(granted_clear)
/* Adds one, and gives it its id.  -EFBIG: there would be no room to say that it has ended. */
int granted_ask(int fd, struct granted *granted);
bool granted_is_network(const struct granted *granted);
int granted_say(int fd, enum granted_kind kind, const struct granted *granted);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a sandbox is granted while it runs: events in its plan's file (plan_shown.h), which whoever grants
 * and whoever waits for the sandbox add to.  Nothing is ever changed there. */
#pragma once

#include "plan/plan.h"
#include "sweep/mount_inside.h"

enum granted_kind {
        GRANTED_ASKED = 1, /* with the bytes of a grant; all others are of that, too, by `of` */
        GRANTED_KEPT,  /* by who waits: what comes of it is looked at from now on; value: an errno of why not
                        */
        GRANTED_MADE,  /* the mount of that id is attached next; value: the id */
        GRANTED_HELD,  /* a mount that holds the place of that is attached next; value: its id */
        GRANTED_SHOWN, /* it is attached */
        GRANTED_SWEPT, /* by who waits: it has ended, and what the command made there is kept aside */
        GRANTED_ENDING, /* it is being taken back */
        GRANTED_ENDED,  /* it was never attached, or is taken back; value: 1: who holds some of it still may
                           write there */
};

struct granted {
        uint64_t id;
        char *option, *path; /* "rw" */
        char *shown;         /* the path that is a mount point: `path`, or a folder on the way to it */
        bool makes;          /* that was made for it */
        bool needs_keeping;  /* who waits is to look after what it shows */
        char *plan;          /* bytes: what it shows, and what of that is kept from the command */
        size_t plan_size;
        uint64_t mount, held; /* 0: it isn't made */
        int why_not;          /* an errno */
        bool is_kept, is_shown, is_ending, has_ended, has_writers, is_swept;
        bool is_live; /* the caller's: the sandbox has it */
};

struct granted_list {
        struct granted *items;
        size_t n;
};

/* *ret of all of them.  -ENOMEM, -EBADMSG. */
int granted_read(int fd, struct granted_list *ret);
void granted_clear(struct granted_list *list);
#define _cleanup_granted_ _cleanup_(granted_clear)
/* Adds one, and gives it its id. */
int granted_ask(int fd, struct granted *granted);
int granted_say(int fd, enum granted_kind kind, const struct granted *granted, uint64_t value);
/* A descriptor of what the sandbox has at `shown`, if that is the grant's mount; -ENOENT: it isn't. */
int granted_open(const struct granted *granted, const struct inside *inside);

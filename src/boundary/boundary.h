/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The boundary's door.  Whoever clones hands over bytes (blueprint.h) and nothing else; from here on no
 * other code of nsrun's runs in that process, and nothing is allocated but by two mappings. */
#pragma once

#include "blueprint.h"

/* What of a process's own memory isn't for the sandbox: its command line, which all can read in /proc.  And
 * what is busy (sys_set_gone()) as long as who has cloned it wants to look at it; or NULL. */
struct boundary_own {
        char *command_line;
        size_t command_line_size;
        volatile pid_t *looks;
};

/* In the process that was cloned into the namespaces: opens the record, builds, and lives the rest of its
 * life as pid 1, as a reaper, or as the command. */
_Noreturn void boundary_run(char *bytes, size_t n, const struct boundary_own *own);

/* The stacks of processes that share their parent's memory until they exec or end. */
enum builder_stack {
        BUILDER_STACK_COMMAND,
        BUILDER_STACK_INNER, /* enter.c's */
        BUILDER_STACK_OUTER,
        BUILDER_STACKS,
};
#define BUILDER_STACK_SIZE 65536U

/* An opened record, and what its process goes by while it builds. */
struct builder {
        struct blueprint b;
        struct boundary_own own;
        char *bytes; /* the record's */
        size_t n;
        struct reaper reaper; /* what the process goes on as when everything is built; its error is the
                                 builder's, too */
        int *keep;            /* room for harden_descriptors()'s list of what stays open */
        char *memory;         /* the stacks, and the lists of the two */
        size_t memory_size;
};

/* Opens the record for a process that shares its caller's memory; *b is the caller's.  0, or -errno with
 * *err. */
int builder_open(struct builder *b, char *bytes, size_t n, const struct boundary_own *own,
                 struct nsrun_error *err);
void builder_close(struct builder *b);
static inline char *builder_stack_top(const struct builder *b, enum builder_stack which) {
        return b->memory + (which + 1) * BUILDER_STACK_SIZE;
}

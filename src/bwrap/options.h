/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The one table of bubblewrap's options, and what the functions that read an option's arguments
 * share.  For src/bwrap's parser alone: others see config.h. */
#pragma once

#include "args.h"
#include "config.h"

#define BWRAP_MOST_ARGUMENTS 3

/* What a row is besides its name. */
enum {
        BWRAP_IS_READ_ONLY = 1 << 0,
        BWRAP_IS_DEVICE = 1 << 1,
        BWRAP_IS_OPTIONAL = 1 << 2,
        BWRAP_TAKES_PERMS = 1 << 3,  /* --perms may come before it */
        BWRAP_TAKES_SIZE = 1 << 4,   /* --size may */
        BWRAP_IS_MODIFIER = 1 << 5,  /* it is for what follows: --perms, --size */
        BWRAP_SAYS_ONE = 1 << 6,     /* "takes one argument", where the others say "an argument" */
        BWRAP_HAS_FD = 1 << 7,       /* an operation's first argument is a descriptor */
        BWRAP_WANTS_LOWERS = 1 << 8, /* --overlay-src comes before it */
        BWRAP_WANTS_PATHS = 1 << 9,  /* its arguments that are paths may not be empty */
        BWRAP_MAKES_SOURCE = 1 << 10,
        BWRAP_HAS_MODE = 1 << 11, /* an operation's first argument is a mode */
};

/* A parse that is under way. */
struct bwrap_parser {
        struct bwrap_config *config;
        struct nsrun_error *err;
        bool is_in_args;  /* within --args' data */
        bool is_finished; /* --help or --version: what follows is not read */
        bool has_seccomp, has_add_seccomp;
        /* What --perms, --size and --overlay-src have said of the operation that comes next. */
        bool has_perms;
        mode_t perms;
        uint64_t size;
        char **lowers;
        char **overlay_options;
};

struct bwrap_option {
        const char *name;                            /* "--ro-bind" */
        const char *arguments[BWRAP_MOST_ARGUMENTS]; /* "SRC", "DEST": as help names them */
        const char *help;
        /* Called with as many values as there are arguments.  0, or an error with p->err filled. */
        int (*read)(struct bwrap_parser *p, const struct bwrap_option *option, const char *const *values);
        size_t offset; /* the field of struct bwrap_config that the option fills, for options that fill one
                        */
        enum bwrap_op_kind kind;
        unsigned flags;
};

extern const struct bwrap_option bwrap_options[];
extern const size_t n_bwrap_options;

const struct bwrap_option *bwrap_option_find(const char *name);
/* 0 to BWRAP_MOST_ARGUMENTS. */
size_t bwrap_option_n_arguments(const struct bwrap_option *option);

/* Fills p->err with a message of bubblewrap's and returns r. */
int bwrap_refuse(struct bwrap_parser *p, int r, const char *format, ...) nsrun_printf(3, 4);
/* -EINVAL and "Invalid fd: X". */
int bwrap_read_fd(struct bwrap_parser *p, const char *text, int *ret);
/* -EINVAL and "--chmod takes an octal argument <= 07777". */
int bwrap_read_octal(struct bwrap_parser *p, const struct bwrap_option *option, const char *text,
                     mode_t *ret);
/* Notes "Only the last X option will take effect". */
int bwrap_warn_again(struct bwrap_parser *p, const struct bwrap_option *option);
/* Every option of a source up to the first word that is none; leaves the rest in it. */
int bwrap_parse_options(struct bwrap_parser *p, struct bwrap_args *args);

/* operation.c: those that become a struct bwrap_op, and --overlay-src, --perms, --size for them. */
int bwrap_operation(struct bwrap_parser *p, const struct bwrap_option *option, const char *const *values);
int bwrap_overlay_source(struct bwrap_parser *p, const struct bwrap_option *option,
                         const char *const *values);
/* overlay.c: --overlay-opt. */
int bwrap_overlay_option(struct bwrap_parser *p, const struct bwrap_option *option,
                         const char *const *values);
/* -EINVAL where the overlay that was just read can't have what --overlay-opt said of it. */
int bwrap_check_overlay(struct bwrap_parser *p, const struct bwrap_op *op);
int bwrap_perms(struct bwrap_parser *p, const struct bwrap_option *option, const char *const *values);
int bwrap_size(struct bwrap_parser *p, const struct bwrap_option *option, const char *const *values);
/* -EINVAL where something still waits for an operation although `last` has been read.  NULL: at the
 * end, where bubblewrap minds no --perms or --size, and lower folders would be lost. */
int bwrap_check_waiting(struct bwrap_parser *p, const struct bwrap_option *last);

/* capability.c: --cap-add and --cap-drop. */
int bwrap_capability(struct bwrap_parser *p, const struct bwrap_option *option, const char *const *values);

/* environment.c: as setenv(3) and unsetenv(3) do it, on a vector.  -EINVAL: no name. */
int bwrap_env_set(char ***env, const char *name, const char *value);
int bwrap_env_unset(char **env, const char *name);

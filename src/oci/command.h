/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun-oci's subcommands: their options, and what each does. */
#pragma once

#include "base/error.h"

struct oci_options {
        const char *root, *log, *log_format;
        const char *bundle, *pid_file, *console_socket, *preserve_fds;
        const char *process, *cwd, *user, *format;
        char **env; /* of exec: NAME=VALUE, the command line's own */
        bool is_detached, has_tty, is_forced, is_quiet, kills_all, keeps_keyring;
        char **words; /* what is left of the command line, NULL at the end */
        int root_fd;  /* container_open_root(); of features none */
};

struct oci_command {
        const char *name, *summary, *words;
        int least, most; /* words; most -1: any number */
        /* 0, or -errno with *err; *ret_status is the exit status where all went well. */
        int (*run)(const struct oci_options *options, int *ret_status, struct nsrun_error *err);
};

/* options.c: reads the command line. 1: --help or --version was answered. */
int oci_parse(int argc, char **argv, const struct oci_command **ret_command, struct oci_options *ret,
              struct nsrun_error *err);

int oci_create(const struct oci_options *options, int *ret_status, struct nsrun_error *err);
int oci_run(const struct oci_options *options, int *ret_status, struct nsrun_error *err);
int oci_exec(const struct oci_options *options, int *ret_status, struct nsrun_error *err);
int oci_start(const struct oci_options *options, int *ret_status, struct nsrun_error *err);
int oci_state(const struct oci_options *options, int *ret_status, struct nsrun_error *err);
int oci_kill(const struct oci_options *options, int *ret_status, struct nsrun_error *err);
int oci_delete(const struct oci_options *options, int *ret_status, struct nsrun_error *err);
int oci_list(const struct oci_options *options, int *ret_status, struct nsrun_error *err);
int oci_features(const struct oci_options *options, int *ret_status, struct nsrun_error *err);

/* sealed.c: goes on as a copy of this program in memory that nobody can write to, where it isn't one yet: a
 * container's process may get hold of the program that made it, which else would be the host's file. */
int sealed_become(char **argv, struct nsrun_error *err);

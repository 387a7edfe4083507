/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A spec becomes a process: a new container's, or a further one in a container that runs. */
#pragma once

#include "container.h"
#include "launch/launch.h"
#include "spec.h"

struct start_options {
        const char *pid_file;       /* or NULL */
        const char *console_socket; /* a unix socket's path; or NULL */
        bool keeps_keyring;         /* no session keyring of the container's own */
};

/* Makes the container's namespaces and tree, and its command wait for container_start().  The state is
 * written, and the hooks before the command have run. */
int start_create(struct container *c, struct spec *spec, const struct start_options *options,
                 struct launch *ret, struct nsrun_error *err);
/* Lets the command of a created container begin. */
int start_release(struct container *c, struct nsrun_error *err);
/* Executes a process in a container that runs. */
int start_join(const struct container *c, struct spec *spec, const struct start_options *options,
               struct launch *ret, struct nsrun_error *err);
/* Waits for the process, to which signals are passed on, and returns its exit status, 128 and more for a
 * signal. */
int start_wait(const struct launch *l);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The mounts that lie on names of the host's, in folders that the command can write to.  The kernel takes
 * one away with the name when somebody outside the sandbox renames another file there, as git, editors and
 * sed -i do, or removes it.  Who waits for the command is told of it by the kernel, and mounts it again. */
#pragma once

#include "mount_inside.h"
#include "plan/plan.h"

struct covers;

/* Those of the plan; NULL: it has none.  -ENOMEM. */
int covers_new(const struct nsrun_plan *plan, struct covers **ret);
struct covers *covers_free(struct covers *covers);
/* Begins, in the sandbox `inside`, which the caller keeps, of which the process is: a descriptor of which
 * epoll(7) says EPOLLPRI when its mounts change.  -EACCES: they
 * can't be looked at. */
int covers_watch(struct covers *covers, const struct inside *inside, pid_t pid);
/* Another one, which covers_have_changed() reads; or -EBADF. */
int covers_fd(const struct covers *covers);
/* Whether its mounts have changed since the last call. */
bool covers_have_changed(const struct covers *covers);
/* Mounts again what is gone; what the host has removed, and not replaced, has none.  -errno with *err
 * filled: one can't be mounted. */
int covers_put_back(const struct covers *covers, struct nsrun_error *err);

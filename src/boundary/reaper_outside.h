/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A reaper of a session's command that isn't in the session's pid namespace: no process of the session can
 * signal, trace or see it.  What the command starts it knows by a uts namespace that is the reaper's and its
 * command's: every process inherits that, and only one that makes user namespaces can leave it.  It finds
 * them in the host's /proc. */
#pragma once

#include "init.h"

/* Fields of proc_pid_stat(5). */
struct outside_stat {
        char state;
        long parent, group, session;
};
/* Of a process or thread in the open /proc, or task folder.  False: it isn't there. */
bool outside_read_stat(int proc, pid_t pid, struct outside_stat *ret);

/* In the reaper: enters the session's `namespaces` (CLONE_NEW*), the pid namespace among them for its
 * children, and makes the uts namespace.  `id`: the session's, for messages; or NULL.  0, or -errno with
 * p->error. */
int outside_enter(struct reaper *p, uint64_t namespaces, const char *id);
/* Why no process can be started in the session; returns -errno. */
int outside_explain(int r, const char *id, bool has_ended, struct nsrun_error *err);
/* Sends a signal to all that the command has started; with SIGTERM a SIGCONT follows. */
void outside_signal(const struct reaper *p, int signal);
/* Kills all that the command has started.  Tries for some seconds: a process may fork faster than it is
 * found, or be nobody's to kill. */
void outside_end(const struct reaper *p);
/* Before the reaper ends: kills the children that the command made for it (CLONE_PARENT), which would become
 * children of a process of the host. */
void outside_end_children(const struct reaper *p);
/* Whether a process, of this process's pid namespace, is one that the command has started. */
bool outside_has(const struct reaper *p, pid_t pid);
/* Starts the command; a process of the session that stops it before its exec doesn't stop the reaper.  The
 * command's pid, or -errno. */
pid_t outside_start(struct reaper *p);

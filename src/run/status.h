/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The lines of --status-fd: one JSON object each, whole or not at all. */
#pragma once

#include "base/json.h"
#include "launch/launch.h"

/* The document as one line; `what` is what can't be written, `hint` may be NULL. */
int status_write_line(int fd, struct json_document *d, const char *what, const char *hint,
                      struct nsrun_error *err);

/* {"event":"started","init_pid":N,"command_pid":N,"namespaces":{"user":N,…},
 *  "seccomp":"default","landlock":{"scoped":true,"abi":N}}
 * and, where processes are bounded, "pids_limit":"cgroup" or "rlimit" (NULL: they aren't). */
int status_started(int fd, const struct nsrun_plan *plan, const struct launch *l,
                   const struct launch_report *report, const char *pids_limit, struct nsrun_error *err);
/* {"event":"note","message":"…","path":"…"} */
int status_note(int fd, const struct nsrun_error *note, struct nsrun_error *err);
/* {"event":"exited","code":N} or {"event":"exited","signal":N} of wait(2)'s status;
 * and "oom_kill":true, where the sandbox ran out of the memory it was given */
int status_exited(int fd, int status, bool has_oom_kill, struct nsrun_error *err);
/* {"event":"failed","stage":"…","errno":N,"path":"…","message":"…","hint":"…"} */
int status_failed(int fd, const struct nsrun_error *failure, struct nsrun_error *err);

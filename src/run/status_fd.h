/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The lines of --status-fd: each is one JSON object, written whole or not at all. */
#pragma once

#include "base/json.h"
#include "launch/launch.h"

/* Writes {"event":"started","init_pid":N,"command_pid":N,"namespaces":{"user":N,…},
 * "seccomp":"default","landlock":{"scoped":true,"abi":N}} and, unless pids_limit is NULL,
 * "pids_limit":"cgroup" or "rlimit"; and "degraded":[…], as print_json_add_degraded() has it. */
int status_started(int fd, const struct nsrun_plan *plan, const struct launch *l,
                   const struct launch_report *report, const char *pids_limit, char *const *degraded);
/* Writes {"event":"note","message":"…","path":"…"}. */
int status_note(int fd, const struct nsrun_error *note);
/* Writes {"event":"reason","text":"…"}, of --explain. */
int status_reason(int fd, const char *text);
/* Writes {"event":"exited","code":N} or {"event":"exited","signal":N} for wait(2)'s status, with
 * "oom_kill":true if the sandbox ran out of the memory that it may use, and "timed_out":true if its deadline
 * ended it. */
int status_exited(int fd, int status, bool has_oom_kill, bool timed_out);
/* Writes {"event":"failed","stage":"…","errno":N,"path":"…","message":"…","hint":"…"}. */
int status_failed(int fd, const struct nsrun_error *failure);

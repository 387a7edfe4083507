/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A detached command from the side of who starts it. */
#include "base/sys.h"
#include "job_keeper.h"
#include "monitor.h"
#include "session.h"

/* Reads answers until the one that no other follows.  Cancelled, it still waits for that: then nothing of
 * the command is left. */
static int await_answer(int answers, int cancel_fd, int ending_fd, struct detached_answer *ret,
                        char ***notes, struct nsrun_error *err) {
        bool was_cancelled = false;

        for (;;) {
                struct pollfd fds[] = {{.fd = answers, .events = POLLIN},
                                       {.fd = was_cancelled ? -1 : cancel_fd, .events = POLLIN}};
                struct detached_answer a;
                ssize_t n;

                if (sys_poll(fds, ARRAY_SIZE(fds), -1) < 0)
                        continue;
                if (fds[1].revents) {
                        was_cancelled = true;
                        (void)sys_write(ending_fd, "", 1);
                }
                if (!fds[0].revents)
                        continue;
                n = sys_read(answers, &a, sizeof(a));
                if (n == -EINTR)
                        continue;
                if (n != (ssize_t)sizeof(a))
                        return error_set(err, NSRUN_STAGE_SUPERVISE, n < 0 ? (int)n : -EIO, NULL,
                                         "the detached command's keeper was killed, and the command with it",
                                         NULL);
                if (a.kind == DETACHED_NOTE) {
                        if (strv_consume(notes, nsrun_error_format(&a.error)) < 0)
                                return error_oom(err);
                        continue;
                }
                if (a.kind == DETACHED_FAILED) {
                        if (err)
                                *err = a.error;
                        return a.error.error > 0 ? -a.error.error : -EINVAL;
                }
                *ret = a;
                /* It may have been ready before it could be ended. */
                return was_cancelled && a.kind != DETACHED_RUNS
                               ? error_set(err, NSRUN_STAGE_SUPERVISE, UNSAID(-ECANCELED), NULL,
                                           "the bash command was cancelled.", NULL)
                               : 0;
        }
}

int detached_start(const struct nsrun_plan *plan, const struct detached_request *request,
                   struct detached_answer *ret, char ***notes, struct nsrun_error *err) {
        _cleanup_close_ int answers = -EBADF, read_end = -EBADF, write_end = -EBADF;
        char timeout[24], port[24], *argv[DETACHED_N_ARGS + 1] = {0};
        int ends[2], r;

        (void)snprintf(timeout, sizeof(timeout), "%u", request->timeout);
        (void)snprintf(port, sizeof(port), "%u", request->port);
        argv[DETACHED_ARG_NAME] = (char *)DETACHED_NAME;
        argv[DETACHED_ARG_SESSION] = plan->join->folder.id;
        argv[DETACHED_ARG_KILLS_LEFTOVERS] = plan->join->kills_leftovers ? (char *)"1" : (char *)"";
        argv[DETACHED_ARG_TIMEOUT] = timeout;
        argv[DETACHED_ARG_PORT] = port;
        argv[DETACHED_ARG_TEXT] = request->text ? (char *)(uintptr_t)request->text : (char *)"";
        r = sys_pipe(ends);
        if (r >= 0) {
                write_end = ends[1];
                r = read_end = session_lift(ends[0]);
        }
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL,
                                 "no pipe to the detached command's keeper", NULL);
        r = session_start_program(argv, plan, read_end, &answers, err);
        if (r < 0)
                return r;
        close_fdp(&read_end);
        return await_answer(answers, request->cancel_fd, write_end, ret, notes, err);
}

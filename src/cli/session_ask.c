/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun session ask`: a terminal at which names are asked about for all commands of a session. */
#include "session_ask.h"

#include "base/sys.h"
#include "session/questions.h"
#include "terminal/asking.h"

static int answer_questions(struct asking *asking, int fd, struct nsrun_error *err) {
        (void)question_write(
                asking, "nsrun: names that no rule covers are asked about here, until the session ends\n");
        while (!asking->has_ended) {
                struct pollfd fds[] = {{.fd = fd, .events = POLLIN},
                                       {.fd = asking->is_open ? asking->tty : -1, .events = POLLIN}};
                int r = sys_poll(fds, ARRAY_SIZE(fds), -1);

                if (r < 0 && r != -EINTR)
                        return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "nsrun can't wait", NULL);
                if (r > 0 && fds[1].revents)
                        question_take_line(asking);
                if (r > 0 && fds[0].revents)
                        question_take(asking, fd);
        }
        return 0;
}

int session_ask_person(const char *id, struct nsrun_error *err) {
        struct asking asking = ASKING_INIT;
        _cleanup_close_ int fd = -EBADF;
        int r = question_begin(&asking, ASKED_NAME, err);

        asking.is_session = true;
        if (r >= 0)
                r = session_join_questions(id, &fd, &asking.init, err);
        if (r >= 0)
                r = answer_questions(&asking, fd, err);
        question_end(&asking);
        return r;
}

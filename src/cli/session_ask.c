/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun session ask`. */
#include "base/array.h"
#include "base/sys.h"
#include "option.h"
#include "session/questions.h"
#include "terminal/asking.h"

/* Asks one question at a time: what else comes waits, but names while another name's is open.  A file's that
 * comes no more was asked by who is gone. */
static int ask_until_its_end(struct asking *a, struct session_questions *from) {
        struct file_asker *files = &from->files;
        struct file_question q;

        while (!a->has_ended && (from->names >= 0 || files->listener >= 0 || files->fd >= 0)) {
                bool is_of_file = a->is_open && a->about == ASKED_FILE;
                struct pollfd fds[] = {
                        {.fd = from->end, .events = POLLIN},
                        {.fd = a->is_open ? a->tty : -1, .events = POLLIN},
                        {.fd = is_of_file ? -1 : from->names, .events = POLLIN},
                        {.fd = is_of_file || !a->is_open ? files->fd : -1, .events = POLLIN},
                        {.fd = !a->is_open && files->fd < 0 ? files->listener : -1, .events = POLLIN}};
                int r = sys_poll(fds, ARRAY_SIZE(fds), -1);

                if (r < 0 && r != -EINTR)
                        return r;
                if (r < 0)
                        continue;
                if (fds[0].revents)
                        break;
                if (fds[1].revents)
                        question_take_line(a);
                else if (fds[2].revents)
                        question_take(a, from->names);
                else if (fds[3].revents && !file_asker_read(files, &q))
                        question_drop_file(a);
                else if (fds[3].revents)
                        question_take_file(a, &q);
                else if (fds[4].revents)
                        file_asker_take_turn(files);
        }
        return 0;
}

int session_ask_here(const char *id, struct nsrun_error *err) {
        struct asking a = ASKING_INIT;
        struct session_questions from;
        int r = session_join_questions(id, true, &from, err);

        a.is_session = true;
        a.init = from.init;
        a.answer_file = file_asker_answer;
        a.data = &from.files;
        if (r >= 0)
                r = question_begin(&a, from.names >= 0 ? ASKED_NAME : ASKED_FILE, err);
        if (r >= 0 && from.names >= 0)
                (void)question_write(
                        &a,
                        "nsrun: names that no rule covers are asked about here, until the session ends\n");
        if (r >= 0 && from.files.listener >= 0)
                (void)question_write(&a, "nsrun: files that commands with --ask don't find are asked about "
                                         "here, until the session ends\n");
        if (r >= 0)
                r = ask_until_its_end(&a, &from);
        if (r < 0)
                r = error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "nsrun can't wait", NULL);
        question_end(&a);
        session_leave_questions(&from);
        return r;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names that no rule of a session covers (--net=ask), put to whoever answers for the whole session, and what
 * was answered. */
#include "questions.h"

#include "base/loop.h"
#include "base/sys.h"
#include "publish.h"
#include "session.h"
#include "terminal/asking.h"

static int refuse_unasked(const char *id, struct nsrun_error *err) {
        return error_set(err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), id, "nobody is asked in the session",
                         "one that was started with --net=ask asks about names that no rule covers");
}

void session_leave_questions(struct session_questions *q) {
        close_fdp(&q->names);
        close_fdp(&q->end);
        file_asker_end(&q->files);
}

int session_join_questions(const char *id, bool with_files, struct session_questions *ret,
                           struct nsrun_error *err) {
        _cleanup_records_ struct record_folder folder = RECORD_FOLDER_INIT;
        _cleanup_record_ struct plan_record record = {0};
        int r = session_read(id, &folder, &record, err);

        *ret = SESSION_QUESTIONS_INIT;
        if (r < 0)
                return r;
        with_files = with_files && file_questions_judge(record.plan, NULL) >= 0;
        if (!plan_asks(record.plan) && !with_files)
                return refuse_unasked(id, err);
        ret->init = record.init.pid;
        ret->end = record_open_process(&record.init);
        if (plan_asks(record.plan) && (r = question_join(folder.dir_fd, &ret->names)) < 0)
                return error_set(err, NSRUN_STAGE_NETWORK, r, id, "the session's nsrun-net doesn't answer",
                                 "its network has ended, or 64 are asked already");
        r = with_files ? file_asker_begin(folder.dir_fd, &ret->files) : 0;
        return r < 0 ? error_set(err, NSRUN_STAGE_SUPERVISE, r, id, "questions about files can't come here",
                                 NULL)
                     : 0;
}

nsrun_public int nsrun_session_ask(const char *id,
                                   int (*ask)(const char *name, const char *program, void *data), void *data,
                                   struct nsrun_error *error) {
        _cleanup_(session_leave_questions) struct session_questions q;
        int r = session_join_questions(id, false, &q, error);

        while (r >= 0) {
                r = loop_await(q.names, POLLIN, -1);
                if (r < 0)
                        return error_set(error, NSRUN_STAGE_SUPERVISE, r, NULL, "nsrun can't wait", NULL);
                if (question_call(q.names, q.init, 0, ask, data, NULL) < 0)
                        return 0;
        }
        return r;
}

nsrun_public int nsrun_session_answers(const char *id, char ***ret, struct nsrun_error *error) {
        _cleanup_records_ struct record_folder folder = RECORD_FOLDER_INIT;
        _cleanup_record_ struct plan_record record = {0};
        struct net_control question = {.kind = NET_CONTROL_LIST};
        struct net_control_answer answer = {.n_decided = 1};
        _cleanup_strv_ char **lines = NULL;
        int r = session_read(id, &folder, &record, error);

        if (r < 0)
                return r;
        for (; plan_asks(record.plan) && question.index < answer.n_decided; question.index++) {
                r = publish_ask(folder.dir_fd, &question, &answer);
                answer.name[sizeof(answer.name) - 1] = '\0';
                if (r >= 0 && question.index < answer.n_decided && !net_name_is_askable(answer.name))
                        r = -EPIPE;
                if (r < 0)
                        return error_set(error, NSRUN_STAGE_NETWORK, r, id,
                                         "the session's nsrun-net doesn't answer",
                                         "its network has ended: start another session");
                if (question.index >= answer.n_decided)
                        break;
                if (strv_consume(&lines,
                                 str_format("%s %s", answer.is_allowed ? "allow" : "deny", answer.name)) < 0)
                        return error_oom(error);
        }
        *ret = TAKE_PTR(lines);
        return 0;
}

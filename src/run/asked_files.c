/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --ask where nsrun has no terminal: questions about files are answered by a function of the caller's, or in
 * a session by who runs `nsrun session ask`. */
#include "base/closed_streams.h"
#include "base/loop.h"
#include "base/sys.h"
#include "explain/watch.h"
#include "run.h"
#include "terminal/file_asker.h"

enum {
        ASKER_LOOK_MS = 10000, /* at who is asked */
        ASKED_LOOK_MS = 50,    /* whether a client has answered */
};

static void note_of_files(struct run *run, const char *what, const char *hint) {
        struct nsrun_error note = {0};

        (void)error_set(&note, NSRUN_STAGE_SUPERVISE, 0, NULL, what, hint);
        (void)run_take_note(run, &note, NULL);
}

int run_begin_files(struct run *run, const struct nsrun_plan *plan, const struct run_params *params) {
        int r = file_questions_new(plan, plan->join ? plan->join->init.pid : run->launch.pid,
                                   !params->asks_to_read, &run->files);

        if (r < 0)
                return r;
        denials_watched(run->denials)->hold = file_questions_hold;
        denials_watched(run->denials)->data = run->files;
        run->asks_files_here = params->asks_files_here;
        run->ask_file = params->ask_file;
        run->ask_data = params->ask_data;
        run->record_fd = plan->join ? plan->join->folder.dir_fd : -EBADF;
        return 0;
}

int run_answer_file(struct run *run, enum file_answer answer, const struct file_wish *wish,
                    struct nsrun_error *err) {
        _cleanup_streams_ int held = closed_streams_hold(NULL);
        _cleanup_strv_ char **notes = NULL;
        int r = file_questions_answer(run->files, run->listener, answer, wish, &notes, err);

        STRV_FOREACH (note, notes)
                note_of_files(run, *note, NULL);
        return r;
}

void run_drop_files(struct run *run) {
        struct file_question q;

        close_fdp(&run->asked_fd);
        while (run->files && file_questions_first(run->files, &q))
                (void)run_answer_file(run, FILE_NOT_NOW, NULL, NULL);
}

/* Nobody sees what is refused now. */
static void refuse_unseen(struct run *run, bool are_many) {
        bool *has_told = are_many ? &run->has_told_many : &run->has_told_unseen;

        (void)run_answer_file(run, FILE_UNASKED, NULL, NULL);
        if (*has_told)
                return;
        *has_told = true;
        note_of_files(run,
                      are_many ? "files that aren't exposed are refused: too many commands wait to be asked "
                                 "about"
                               : "files that aren't exposed are refused: nobody is there to be asked",
                      !are_many && run->record_fd >= 0 ? "'nsrun session ask' asks at a terminal" : NULL);
}

static void note_last(struct run *run) {
        if (!run->has_told_last)
                note_of_files(run, "that was the last question: what else isn't exposed is refused", NULL);
        run->has_told_last = true;
}

static int answer_asked(struct run *run, const struct file_question *q, enum file_answer answer,
                        const struct file_wish *wish, struct nsrun_error *err) {
        static const char *const words[] = {
                [FILE_NO] = "no", [FILE_NEVER] = "never", [FILE_NOT_NOW] = "none"};
        int r = run_answer_file(run, answer, wish, err);

        run_log_answer(run, "file", *wish->path ? wish->path : q->path,
                       r < 0                ? "failed"
                       : answer == FILE_YES ? file_wish_word(wish)
                                            : words[answer]);
        if (q->is_last && answer != FILE_NEVER)
                note_last(run);
        return r;
}

bool run_waits_for_file(struct run *run) {
        struct pollfd fd = {.fd = denials_fd(&run->launch, run->listener), .events = POLLIN};

        if (sys_poll(&fd, 1, ASKED_LOOK_MS) > 0)
                denials_take(run->denials, &run->launch, &run->listener, fd.revents);
        return file_questions_wait(run->files, run->listener) &&
               loop_await(run->launch.report_fd, POLLIN, 0) == 0;
}

void run_ask_files(struct run *run) {
        struct file_question q;

        if (file_questions_look_no_more(run->files))
                note_last(run);
        while (!run->asks_files_here && run->asked_fd < 0 && file_questions_first(run->files, &q)) {
                enum file_answer answer = FILE_UNASKED;
                struct file_wish wish = FILE_WISH_INIT;
                struct nsrun_error err = {0};
                int r = 0;

                if (run->ask_file) {
                        /* What is to be read first may tell of the command's end. */
                        if (!run->has_exited && loop_await(run->launch.report_fd, POLLIN, 0) != 0)
                                return;
                        file_questions_look_again(run->files, run->listener);
                        if (!file_questions_first(run->files, &q))
                                break;
                        answer = run->has_exited ? FILE_NOT_NOW
                                                 : run->ask_file(run, &q, &wish, run->ask_data);
                }
                if (answer != FILE_UNASKED)
                        r = answer_asked(run, &q, answer, &wish, &err);
                else if (run->record_fd < 0 || (run->asked_fd = file_asking_join(run->record_fd)) < 0)
                        refuse_unseen(run, run->record_fd >= 0 && run->asked_fd == -EAGAIN);
                else {
                        run->is_put = false;
                        run->look_ms = sys_now_ms() + ASKER_LOOK_MS;
                }
                if (r > 0 || (r < 0 && !streq(wish.option, "ro")))
                        (void)run_take_note(run, &err, NULL);
        }
}

/* Another command's answer may have shown it while this one waited for its turn. */
static bool put_file_question(struct run *run) {
        struct file_question q;

        file_questions_look_again(run->files, run->listener);
        run->is_put = file_questions_first(run->files, &q) && file_asking_put(run->asked_fd, &q) >= 0;
        return run->is_put;
}

void run_take_asked(struct run *run) {
        struct file_wish wish;
        int answer = file_asking_hear(run->asked_fd, &wish);
        struct file_question q;

        if (answer == FILE_UNASKED && put_file_question(run))
                return;
        if (answer >= 0 && run->is_put && file_questions_first(run->files, &q)) {
                struct nsrun_error err = {0};
                int r = answer_asked(run, &q, (enum file_answer)answer, &wish, &err);

                file_asking_tell(run->asked_fd, r, &err);
        }
        close_fdp(&run->asked_fd);
        run_ask_files(run);
}

void run_await_asker(struct run *run, int *patience_ms) {
        uint64_t now = sys_now_ms();
        int left;

        if (run->asked_fd >= 0 && now >= run->look_ms) {
                run->look_ms = now + ASKER_LOOK_MS;
                if (file_asking_is_stopped(run->asked_fd)) {
                        close_fdp(&run->asked_fd);
                        run_ask_files(run);
                }
        }
        left = (int)(run->look_ms - now);
        if (run->asked_fd >= 0 && (*patience_ms < 0 || *patience_ms > left))
                *patience_ms = left;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A run's begin and end, and its reports. */
#include "run.h"

#include <sys/wait.h>

#include "base/closed_streams.h"
#include "base/file.h"
#include "base/path.h"
#include "base/programs.h"
#include "descriptors.h"
#include "disk/homes.h"
#include "explain/json_line.h"
#include "explain/watch.h"
#include "plan/record.h"
#include "running/plan_shown.h"
#include "status_fd.h"
#include "terminal/asking.h"
#include "widen/widen_plan.h"

/* What was written to the draft is on the disk, or that is said, once. */
static void take_history(struct run *run, const char *event) {
        struct nsrun_error note = {0};
        int r = history_take(&run->history, event);

        if (r >= 0)
                return;
        history_close(&run->history);
        (void)error_set(&note, NSRUN_STAGE_SUPERVISE, r, NULL, "the rest of this run isn't in the log",
                        NULL);
        if (run->note)
                (void)run->note(run->data, &note);
        else
                (void)strv_consume(&run->notes, nsrun_error_format(&note));
}

int run_take_note(struct run *run, const struct nsrun_error *note, struct nsrun_error *err) {
        const struct degraded *row = degraded_find(note);
        size_t n = strv_length(run->degraded);
        int r = row ? degraded_add(&run->degraded, row, note->path) : 0;

        if (r >= 0 && strv_length(run->degraded) > n)
                shown_add(run->shown, run->degraded[n]);
        if (r >= 0 && run->note)
                r = run->note(run->data, note);
        else if (r >= 0 && !(row && row->is_no_note))
                r = strv_consume(&run->notes, nsrun_error_format(note));
        if (run->history.folder >= 0 && status_note(run->history.draft, note) >= 0)
                take_history(run, NULL);
        return r == -ENOMEM ? error_oom(err) : r;
}

void run_log_answer(struct run *run, const char *about, const char *what, const char *answer) {
        _cleanup_json_ struct json_document d = json_begin();

        if (run->history.folder < 0)
                return;
        json_add_string(&d, d.root, about, what);
        json_add_string(&d, d.root, "answer", answer);
        if (json_write_line(run->history.draft, &d, "", NULL, NULL) >= 0)
                take_history(run, "asked");
}

static int take_finding(void *data, const struct nsrun_error *note) {
        return run_take_note(data, note, NULL);
}

/* In a session other commands' processes may have gone on since the last sweep: what they left is this
 * command's to find. */
static void look_back(struct run *run, const struct plan_join *join) {
        const struct timespec last = records_last_sweep(&join->folder), now = run->protected.since;

        if (time_is_before(&last, &now))
                run->gitdirs.since = run->protected.since = last;
}

/* Prepares all that surrounds a launch, in the order in which the parts need each other. */
static int run_prepare(struct run *run, const struct nsrun_plan *plan, bool may_move,
                       struct launch_params *params, struct nsrun_error *err) {
        struct stream_seen streams[3];
        const char *rundir;
        int r;

        params->wants_denials = params->wants_denials && plan->seccomp.code;
        if ((params->wants_denials || params->watches) && denials_new(plan, &run->denials) < 0)
                return error_oom(err);
        if (strv_copy(plan->degraded, &run->degraded) < 0)
                return error_oom(err);
        r = carried_make(plan, &run->carried, err);
        if (r < 0)
                return r;
        r = gitdirs_begin(plan, &run->gitdirs);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, plan->git_dir, "a git dir can't be opened",
                                 NULL);
        if (kept_by_new(plan, &run->kept_by) < 0 ||
            protected_begin(plan, run->kept_by, &run->protected) < 0 || head_begin(plan, &run->head) < 0 ||
            marks_begin(plan, &run->marks) < 0 || dropped_begin(plan, &run->dropped) < 0)
                return error_oom(err);
        if (plan->join)
                look_back(run, plan->join);
        r = plan->join ? hidden_refuse(plan, err) : hidden_begin(plan, &run->hidden, err);
        if (r >= 0)
                r = descriptors_check(params, plan->plain != NULL, streams, err);
        if (r >= 0 && !plan->plain && !plan->raw)
                r = reopen_streams(params->stdio, streams, &run->streams, err);
        if (r > 0)
                params->stdio = run->streams.stdio;
        if (r >= 0 && plan->private && !disk_needs_rundir(plan) &&
            versions_begin_in_memory(plan, run->kept_by, &run->versions) < 0)
                r = error_oom(err);
        if (r >= 0)
                r = disk_prepare(plan, run->versions.is_in_memory, &run->rundir, params, err);
        if (r >= 0 &&
            links_settle(&run->protected, &run->rundir, plan->join ? plan->join->rundir : NULL) < 0)
                return error_oom(err);
        if (r >= 0 && carried_recover(&run->rundir, take_finding, run) < 0)
                return error_oom(err);
        if (r >= 0)
                r = carried_begin(plan, &run->rundir, &run->carried, err);
        if (r >= 0)
                r = run_note_no_version(run, plan, err);
        if (r >= 0 && !run->versions.is_in_memory)
                r = versions_begin(plan, &run->rundir, run->kept_by, &run->versions, err);
        params->has_versions = run->versions.is_in_memory;
        params->files = run->versions.ops;
        params->n_files = run->versions.n_ops;
        rundir = plan->join ? plan->join->rundir : run->rundir.path;
        if (r >= 0 && rundir && !(run->record_path = strdup(rundir)))
                return error_oom(err);
        if (r >= 0)
                r = cgroup_prepare(plan, may_move, &run->cgroup, params, err);
        run->n_processes = params->n_processes;
        run->is_plain = plan->plain != NULL;
        return r < 0 ? r : run_note_start(run, plan, err);
}

static void log_failure(struct run *run, const struct nsrun_error *err) {
        if (err && run->history.folder >= 0 && status_failed(run->history.draft, err) >= 0)
                take_history(run, NULL);
}

static int begin_all(const struct nsrun_plan *plan, const struct run_params *params, struct run *run,
                     struct nsrun_error *err) {
        struct launch_params launch_params = params->launch;
        int r;

        *run = RUN_INIT;
        launch_params.wants_denials |= params->asks_files;
        launch_params.watches |= params->asks_files;
        /* No process of a sandbox keeps this one's memory, where keys are or were. */
        if (plan->keys)
                launch_params.init_path = program_init();
        r = launch_params.watches ? watch_judge(plan, err) : 0;
        if (r >= 0 && params->asks_files)
                r = file_questions_judge(plan, err);
        if (r < 0)
                return r;
        if (plan_asks(plan) && !params->can_ask && !plan->is_session && !plan->join)
                return error_set(
                        err, NSRUN_STAGE_NETWORK, UNSAID(-EOPNOTSUPP), NULL,
                        "nobody can be asked about names that no rule covers",
                        "'nsrun run' and sessions ask (--net=ask), at a terminal, and 'nsrun bash --json-stream': "
                        "take one of these, or --net=allow");
        if (plan_asks_of_keys(plan) && !params->can_ask_of_keys)
                return error_set(
                        err, NSRUN_STAGE_POLICY, UNSAID(-EOPNOTSUPP), NULL,
                        "nobody can be asked about signatures",
                        "only 'nsrun run' asks (--ssh-agent=ask), at its terminal: name the keys that "
                        "may sign without");
        if (plan_asks_of_links(plan) && !params->can_ask_of_keys)
                return error_set(
                        err, NSRUN_STAGE_POLICY, UNSAID(-EOPNOTSUPP), NULL,
                        "nobody can be asked about links",
                        "only 'nsrun run' and 'nsrun shell' ask (--browser), at their terminal: leave it "
                        "out");
        run->note = params->note;
        run->ends = params->ends;
        if (plan->join && !(run->joined = strdup(plan->join->folder.id)))
                return error_oom(err);
        run->data = params->data;
        /* The session's pid 1 is noted only where Landlock scopes tell commands apart.  Without,
         * each command has a pid namespace, whose processes the kernel kills when the command's
         * reaper dies.  Commands that aren't kept apart go on as one user's processes do. */
        if (plan->join && plan->join->isolates_commands && plan->is_scoped)
                run->session = plan->join->init;
        r = history_begin(plan, params->session, &run->history, err);
        if (r >= 0)
                r = run_prepare(run, plan, params->may_move, &launch_params, err);
        if (r >= 0 && plan->own_home && !plan->join)
                run->home = home_hold(plan->own_home);
        if (run->home == -EWOULDBLOCK)
                r = error_set(err, NSRUN_STAGE_WORKSPACE, UNSAID(-EBUSY), plan->own_home,
                              "this home is locked",
                              "nsrun home renames or removes it, or a command that has it locked it: see "
                              "nsrun home list");
        if (r >= 0 && !params->notes_later)
                r = run_note_environment(run, plan, err);
        if (r >= 0 && launch_params.watches &&
            denials_watch(run->denials, params->watched_by ? params->watched_by : plan,
                          params->watched_by != NULL) < 0)
                r = error_oom(err);
        if (r >= 0 && launch_params.watches && params->reads_prints)
                launch_params.watched_prints =
                        printed_begin(&denials_watched(run->denials)->printed, launch_params.stdio);
        if (r >= 0 && (params->watches_all_memory || (run->cgroup.controllers & CGROUP_MEMORY)))
                oom_watch_begin(&run->memory, &run->cgroup);
        if (r >= 0)
                r = network_begin(plan, params->has_journal_dir ? params->journal_dir : -1, &run->network,
                                  &launch_params, err);
        /* Where the session's network has ended, or enough are asked already, this one isn't. */
        if (r >= 0 && plan->join && params->can_ask && plan_asks(plan))
                (void)question_join(plan->join->folder.dir_fd, &run->network.life_fd);
        if (r >= 0)
                r = desktop_begin(plan, &run->desktop, &launch_params, err);
        launch_params.held = &run->held;
        launch_params.holds_network = run->network.control >= 0;
        if (r >= 0)
                r = launch_start(plan, &launch_params, &run->launch, err);
        network_launched(&run->network);
        desktop_launched(&run->desktop);
        run->is_gone = r < 0;
        if (r >= 0)
                r = desktop_finish(plan, &run->desktop, err);
        if (r < 0) {
                run->has_failed = true;
                log_failure(run, err);
                run_end(run);
                return r;
        }
        if (params->asks_files && run_begin_files(run, plan, params) < 0) {
                run_end(run);
                return error_oom(err);
        }
        /* The command has copies of them: the other end of a pipe sees its end only when all
         * holders have closed it. */
        for (size_t i = 0; i < launch_params.n_pass_fds && params->owns_pass_fds; i++)
                (void)close(launch_params.pass_fds[i]);
        /* Now, while the kernel and the child build the sandbox: nothing waits for it. */
        if (!plan->join && !plan->plain && run->launch.pid > 0) {
                const struct granted_by by = {run->network.control, run->held};

                run->shown = shown_begin(plan, run->launch.pid, run->degraded,
                                         &(struct shown_event){.kind = GRANTED_BY, .n = sizeof(by)}, &by);
        }
        return 0;
}

int run_begin(const struct nsrun_plan *plan, const struct run_params *params, struct run *ret,
              struct nsrun_error *err) {
        _cleanup_streams_ int held = closed_streams_hold(err);

        return held < 0 ? held : begin_all(plan, params, ret, err);
}

int run_take_report(struct run *run, struct launch_report *ret, struct nsrun_error *err) {
        struct launch_report report;
        int r;

        do
                r = launch_read_report(&run->launch, &report);
        while (r == -EINTR);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "pid 1's report can't be read", NULL);
        if (r == 0)
                return 0;
        if (report.kind == LAUNCH_FAILED) {
                bool is_refusal = report.error.error == 0 && degraded_is_refusal(&report.error);

                /* A report of a failure with an errno of 0 would read as success. */
                if (report.error.error <= 0 && !is_refusal)
                        report.error.error = EIO;
                if (err && err->stage == NSRUN_STAGE_NONE)
                        *err = report.error;
                run->has_failed = true;
                log_failure(run, &report.error);
                return is_refusal ? -EOPNOTSUPP : -report.error.error;
        }
        if (report.kind == LAUNCH_NOTE) {
                r = run_take_note(run, &report.error, err);
                if (r < 0)
                        return r;
        }
        if (report.kind == LAUNCH_DROPPED) {
                r = dropped_take(&run->dropped, report.error.path, &report.error);
                r = r > 0 ? run_take_note(run, &report.error, err) : r == -ENOMEM ? error_oom(err) : 0;
                if (r < 0)
                        return r;
        }
        if (report.kind == LAUNCH_EXITED) {
                run->has_exited = true;
                run->is_alone = report.is_alone;
                run->status = report.status;
                reopened_end(&run->streams);
        }
        if (run->files && run->ask_file)
                run_ask_files(run);
        *ret = report;
        return 1;
}

int run_await_start(struct run *run, struct launch_report *ret, struct nsrun_error *err) {
        for (;;) {
                struct launch_report report;
                int r = run_take_report(run, &report, err);

                if (r < 0)
                        return r;
                if (r == 0)
                        return error_set(err, NSRUN_STAGE_SUPERVISE, -EIO, NULL,
                                         "the sandbox was killed while it was being built", NULL);
                if (report.kind != LAUNCH_STARTED)
                        continue;
                if (ret)
                        *ret = report;
                return 0;
        }
}

void run_take_denial(struct run *run, int events) {
        denials_take(run->denials, &run->launch, &run->listener, events);
        if (run->files)
                run_ask_files(run);
}

/* What would be lost by a kill.  A short command has no time for it. */
static void write_down_kept(struct run *run) {
        const struct kept_by *k = run->kept_by;

        if (run->protected.killed || !k || !run->record_path ||
            killed_begin(run->record_path, k, &run->killed) < 0)
                return;
        run->protected.killed = &run->killed;
        if (!k->session)
                versions_write_down(&run->versions, &run->killed);
}

/* What can't be kept from the command ends it. */
static void judge_replaced(struct run *run, int r) {
        struct nsrun_error *why = &run->protected.uncovered;

        if (r >= 0)
                r = versions_judge(&run->versions, &run->rundir, false, why);
        if (r < 0)
                r = error_set(
                        why, NSRUN_STAGE_SUPERVISE, r, NULL,
                        "what the host has replaced can't be kept from the command: the sandbox is ended",
                        NULL);
        if (r >= 0)
                return;
        if (run->ends)
                run->ends(run->data, why);
        (void)launch_signal(&run->launch, SIGKILL);
}

static void make_killed(void *data) {
        struct run *run = data;

        if (!run->record_path && run->kept_by && !run->kept_by->session &&
            (run->rundir.path || rundir_make(&run->rundir, NULL) >= 0))
                run->record_path = strdup(run->rundir.path);
        write_down_kept(run);
}

void run_take_appeared(struct run *run) {
        _cleanup_streams_ int held = closed_streams_hold(NULL);

        write_down_kept(run);
        run->protected.make_killed = make_killed;
        run->protected.data = run;
        judge_replaced(run, protected_take(&run->protected, run->launch.pid));
}

void run_cover_again(struct run *run, bool has_changed) {
        write_down_kept(run);
        judge_replaced(run, protected_cover(&run->protected, run->launch.pid, has_changed));
}

bool run_ran_out_of_memory(struct run *run, bool was_killed) {
        bool is_own = run->memory.is_own, has_killed = oom_watch_ended(&run->memory);

        return has_killed && (is_own || was_killed);
}

/* Ends the session if the reaper of this joined command was killed: no process knows any more what
 * the command has started. */
static void end_session(const struct run *run, int status) {
        _cleanup_records_ struct record_folder folder = RECORD_FOLDER_INIT;
        _cleanup_close_ int init = -EBADF;

        if (run->session.pid <= 0 || !WIFSIGNALED(status))
                return;
        if (records_open(run->joined, &folder, NULL) >= 0)
                (void)records_end(&folder, false, "the reaper of one of its commands was killed");
        init = record_open_process(&run->session);
        if (init >= 0)
                (void)sys_pidfd_send_signal(init, SIGKILL);
}

/* Looks at what the command has left on the host. */
static void look_at_leavings(struct run *run) {
        const bool is_first = run->protected.since.tv_sec != 0;
        struct timespec begin;
        int r, end;

        (void)clock_gettime(CLOCK_REALTIME_COARSE, &begin);
        run->protected.make_killed = make_killed;
        run->protected.data = run;
        versions_receive(&run->versions, &run->launch);
        versions_look_at_places(&run->versions);
        r = gitdirs_end(&run->gitdirs, take_finding, run);
        end = protected_end(&run->protected, run->versions.folder, take_finding, run);
        if (is_first && run->launch.activity_fd >= 0 && r >= 0 && end >= 0)
                (void)records_sweep(run->launch.activity_fd, &begin);
}

static void tell_network(struct run *run) {
        struct nsrun_error note = {0};

        if (network_tell(&run->network, &note) > 0)
                (void)run_take_note(run, &note, NULL);
}

/* Why the session has ended, with its command. */
static void tell_session_end(struct run *run) {
        bool may_tell = run->joined && (run->has_exited ? run->status != 0 : !run->has_failed);
        _cleanup_free_ char *why = may_tell ? records_why(run->joined) : NULL;
        struct nsrun_error note = {0};

        if (!why)
                return;
        (void)error_set(&note, NSRUN_STAGE_SUPERVISE, 0, NULL, "the session has ended", why);
        (void)run_take_note(run, &note, NULL);
}

/* Nobody is shown more in the sandbox, nor less: those who would find the numbers of what is held in what is
 * shown. */
static void end_grants(struct run *run) {
        close_fdp(&run->shown);
        launch_let_go(&run->held);
}

int run_wait(struct run *run) {
        _cleanup_streams_ int held = closed_streams_hold(NULL);
        int status = 0;

        if (run->is_gone)
                return 0;
        /* Meanwhile the kernel takes the sandbox apart, which lasts as long: in its pid 1, if nothing here
         * holds its mounts. */
        if (run->is_alone) {
                end_grants(run);
                look_at_leavings(run);
        }
        /* Collects the reaper: where pid 1 collects no orphans, as in many containers, an
         * uncollected reaper would keep its session from ever ending.  A nested command's reaper
         * isn't waited for once the command has ended: it stays for what the command left behind. */
        if (!run->launch.is_nested || !run->has_exited) {
                status = launch_wait(&run->launch);
                tell_session_end(run);
                end_session(run, status);
        } else
                tell_session_end(run);
        run->is_gone = true;
        end_grants(run);
        tell_network(run);
        look_at_leavings(run);
        (void)head_end(&run->head, take_finding, run);
        marks_end(&run->marks);
        carried_end(&run->carried, &run->rundir, take_finding, run);
        (void)hidden_end(run->hidden, take_finding, run);
        (void)versions_end(&run->versions, &run->rundir, take_finding, run);
        (void)kept_by_tell(run->kept_by, take_finding, run);
        run->reaped = status;
        return status;
}

void run_kill(struct run *run) {
        if (run->is_gone)
                return;
        (void)launch_signal(&run->launch, SIGKILL);
        (void)run_wait(run);
}

/* What of the network was used, what was denied, and how the command ended. */
static void log_end(struct run *run) {
        if (run->history.folder < 0)
                return;
        if (network_report(&run->network, run->history.draft, true, NULL) >= 0)
                take_history(run, NULL);
        if (run->denials && denials_write(run->denials, run->history.draft, NULL) >= 0)
                take_history(run, "denied");
        if (!run->has_failed &&
            status_exited(run->history.draft, run->has_exited ? run->status : run->reaped,
                          run_ran_out_of_memory(run, false), run->timed_out) >= 0)
                take_history(run, NULL);
}

void run_end(struct run *run) {
        _cleanup_streams_ int held = closed_streams_hold(NULL);

        run_kill(run);
        log_end(run);
        launch_close(&run->launch);
        network_end(&run->network);
        desktop_end(&run->desktop);
        history_close(&run->history);
        reopened_end(&run->streams);
        close_fdp(&run->listener);
        close_fdp(&run->asked_fd);
        close_fdp(&run->home);
        end_grants(run);
        killed_close(&run->killed);
        free(run->record_path);
        free(run->joined);
        run->denials = denials_free(run->denials);
        run->files = file_questions_free(run->files);
        (void)oom_watch_ended(&run->memory);
        cgroup_remove(&run->cgroup);
        run->rundir.is_shown |= run->killed.has_taken;
        rundir_remove(&run->rundir);
        gitdirs_clear(&run->gitdirs);
        protected_clear(&run->protected);
        head_clear(&run->head);
        marks_clear(&run->marks);
        carried_clear(&run->carried);
        versions_clear(&run->versions);
        dropped_clear(&run->dropped);
        run->kept_by = kept_by_free(run->kept_by);
        strv_freep(&run->hidden);
        strv_freep(&run->notes);
        strv_freep(&run->degraded);
        *run = RUN_INIT;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An agent's command that goes on in the background of a session: refusals, start, result. */
#include <sys/wait.h>

#include "base/sys.h"
#include "bash.h"
#include "explain/missing_program.h"
#include "probe.h"
#include "session/job_keeper.h"

#define CHUNK ((size_t)16 * 1024)

int bash_check_detached(const struct nsrun_policy *policy, const struct nsrun_bash_options *options,
                        const struct bash_params *params, struct nsrun_error *err) {
        static const char leave_one[] = "leave one of them out";
        bool waits = options->until_port > 0 || options->until_text;
        const struct {
                bool is_mistake;
                const char *what, *hint;
        } all[] = {
                {!policy->session, "--detach needs a session, in which the command lives on",
                 "start one with 'nsrun session start', and give its ID with --session"},
                {params->start.launch.n_pass_fds > 0,
                 "--detach takes no --pass-fd: nobody would close the descriptor", leave_one},
                {options->wants_report,
                 "--detach takes no --report: denied calls are told when a command has ended", leave_one},
                {options->until_port > 0 && options->until_text,
                 "--until-port and --until can't both be waited for", leave_one},
        };

        if (!options->detaches)
                return !waits ? 0
                              : error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), NULL,
                                          "a port or a text is waited for with --detach alone",
                                          "add --detach and --session ID");
        for (size_t i = 0; i < ARRAY_SIZE(all); i++)
                if (all[i].is_mistake)
                        return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), NULL, all[i].what,
                                         all[i].hint);
        if (options->until_port > UINT16_MAX)
                return error_setf(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), NULL, "1 to 65535",
                                  "%u is no TCP port", options->until_port);
        if (options->until_text &&
            (!*options->until_text || strlen(options->until_text) > DETACHED_TEXT_MOST))
                return error_setf(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), NULL, NULL,
                                  "the text to wait for has 1 to %d bytes", DETACHED_TEXT_MOST);
        return 0;
}

/* Adds what the command has printed by now. */
static int read_output(const struct nsrun_plan *plan, const char *name, struct nsrun_bash_result *ret,
                       struct nsrun_error *err) {
        _cleanup_log_ struct log log = LOG_INIT;
        _cleanup_free_ struct capture *capture = calloc(1, sizeof(*capture));
        _cleanup_free_ char *chunk = malloc(CHUNK);
        uint64_t at = 0, skipped;
        ssize_t n;
        int r;

        if (!capture || !chunk)
                return error_oom(err);
        r = log_open(&plan->join->folder, name, &log, err);
        if (r < 0)
                return r;
        /* No more than it has now: the command may print faster than this reads. */
        for (uint64_t end = log.state.total; at < end;) {
                n = log_read(&log, &at, chunk, CHUNK, &skipped);
                if (n <= 0)
                        break;
                capture_add(capture, chunk, (size_t)n);
        }
        r = capture_finish(capture, &ret->output, &ret->output_size, &ret->bytes_omitted);
        if (r < 0)
                return error_oom(err);
        ret->bytes_total = log.state.total;
        ret->bytes_omitted += log.state.total > capture->total ? log.state.total - capture->total : 0;
        return 0;
}

/* Says why a command isn't ready. */
static int note_not_ready(const struct nsrun_bash_options *options, const struct detached_answer *a,
                          struct nsrun_bash_result *ret) {
        char waited[64];

        if (options->until_port > 0)
                (void)snprintf(waited, sizeof(waited), "anything listened on port %u", options->until_port);
        else
                (void)snprintf(waited, sizeof(waited), "it had printed the text");
        return strv_consume(
                &ret->notes,
                str_format("the command %s before %s; nothing of it is left%s",
                           a->kind == DETACHED_TIMED_OUT ? "was ended" : "ended", waited,
                           a->is_others ? ": a process outside of the session listens there" : ""));
}

static int detached_fill_result(const struct nsrun_plan *plan, const struct nsrun_bash_options *options,
                                const struct detached_answer *a, const char *command,
                                struct nsrun_bash_result *ret, struct nsrun_error *err) {
        int r;

        ret->is_ready = a->kind == DETACHED_RUNS;
        ret->is_running = ret->is_ready && !a->has_ended;
        ret->timed_out = a->kind == DETACHED_TIMED_OUT;
        ret->timeout = options->timeout;
        ret->pid = a->pid;
        ret->status = -1;
        if (!ret->is_running && WIFSIGNALED(a->status))
                ret->signal = WTERMSIG(a->status);
        else if (!ret->is_running)
                ret->status = WEXITSTATUS(a->status);
        ret->command = strdup(command);
        ret->detached = strdup(a->name);
        ret->session = strdup(plan->join->folder.id);
        if (!ret->command || !ret->detached || !ret->session)
                return error_oom(err);
        r = strv_copy(plan->degraded, &ret->degraded);
        if (r >= 0 && !ret->is_ready)
                r = note_not_ready(options, a, ret);
        STRV_FOREACH (line, plan->unseen)
                if (r >= 0)
                        r = strv_add(&ret->notes, *line);
        return r < 0 ? error_oom(err) : read_output(plan, a->name, ret, err);
}

int bash_run_detached(const struct policy_request *request, const char *command,
                      const struct bash_params *params, const struct nsrun_bash_options *options,
                      struct nsrun_bash_result *ret, struct nsrun_error *err) {
        const struct detached_request how = {
                .timeout = (unsigned)options->timeout,
                .port = options->until_port,
                .text = options->until_text,
                .cancel_fd = params->cancel_fd,
        };
        struct nsrun_bash_result result = NSRUN_BASH_RESULT_INIT;
        uint64_t begin = sys_now_ms();
        _cleanup_plan_ struct nsrun_plan *plan = NULL;
        struct detached_answer answer;
        int r = plan_make(request, &plan, err);

        if (r < 0)
                return r;
        r = detached_start(plan, &how, &answer, &result.notes, err);
        if (r >= 0)
                r = detached_fill_result(plan, options, &answer, command, &result, err);
        result.duration_ms = sys_now_ms() - begin;
        if (r < 0) {
                explain_missing_program(plan, err);
                nsrun_bash_result_clear(&result);
                return r;
        }
        *ret = result;
        return 0;
}

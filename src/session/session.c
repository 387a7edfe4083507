/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sessions as their users have them: started through a monitor, listed, shown and ended.  Commands
 * enter one by plans of their own (plan/join.c, launch/join.c). */
#include <sched.h>
#include <sys/wait.h>

#include "base/causes.h"
#include "base/degraded.h"
#include "base/file.h"
#include "base/loop.h"
#include "base/programs.h"
#include "base/stream.h"
#include "monitor.h"
#include "run/sized.h"
#include "session.h"

/* Moves a descriptor above those numbers at which the monitor gets its own, so that no dup2(2)
 * overwrites it. */
int session_lift(int fd) {
        int lifted = fcntl(fd, F_DUPFD_CLOEXEC, 2 * MONITOR_FD_FIRST_OTHER);
        int r = lifted >= 0 ? lifted : errno == EINVAL ? -EMFILE : -errno; /* EINVAL: above RLIMIT_NOFILE */

        (void)close(fd);
        return r;
}

static int store_plan(const struct nsrun_plan *plan, int *ret) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *bytes = NULL;
        size_t n = 0;
        int r = plan_store(plan, &bytes, &n);

        if (r < 0)
                return r;
        r = sys_memfd("nsrun-plan");
        fd = r < 0 ? r : session_lift(r);
        if (fd < 0)
                return fd;
        r = write_full(fd, bytes, n);
        if (r < 0)
                return r;
        *ret = TAKE_FD(fd);
        return 0;
}

static int session_spawn(char *const *argv, int null_fd, int plan_fd, int answer_fd, int owner_fd) {
        const int fds[] = {[MONITOR_FD_PLAN - SPAWN_FIRST_FD] = plan_fd,
                           [MONITOR_FD_ANSWER - SPAWN_FIRST_FD] = answer_fd,
                           [MONITOR_FD_OWNER - SPAWN_FIRST_FD] = owner_fd};
        siginfo_t info;
        pid_t pid;
        int r = spawn_apart(&(struct spawn){.program = program_monitor(),
                                            .argv = argv,
                                            .env = environ,
                                            .null_fd = null_fd,
                                            .fds = fds,
                                            .n_fds = ARRAY_SIZE(fds)},
                            &pid);

        /* The child that was spawned exits at once; the monitor goes on as a child of another
         * process (detach()). */
        if (r == 0)
                (void)sys_waitid(P_PID, (id_t)pid, &info, WEXITED);
        return r;
}

/* Reads the monitor's answers until the session has started or failed. */
static int hear(int fd, char **ret_id, char ***notes, struct nsrun_error *err) {
        for (;;) {
                const struct degraded *row;
                struct monitor_answer a;
                ssize_t n = sys_read(fd, &a, sizeof(a));

                if (n == -EINTR)
                        continue;
                if (n != (ssize_t)sizeof(a))
                        return error_set(err, NSRUN_STAGE_SUPERVISE, n < 0 ? (int)n : -EIO, NULL,
                                         "the session's monitor was killed before it had started", NULL);
                if (a.kind == MONITOR_FAILED) {
                        if (err)
                                *err = a.error;
                        return a.error.error > 0               ? -a.error.error
                               : degraded_is_refusal(&a.error) ? -EOPNOTSUPP
                                                               : -EINVAL;
                }
                if (a.kind == MONITOR_STARTED) {
                        *ret_id = strdup(a.id);
                        return *ret_id ? 0 : error_oom(err);
                }
                row = degraded_find(&a.error);
                if (notes && !(row && row->is_no_note) &&
                    strv_consume(notes, nsrun_error_format(&a.error)) < 0)
                        return error_oom(err);
        }
}

static int open_owner(pid_t owner, int *ret, struct nsrun_error *err) {
        char text[24];
        int r;

        if (owner <= 0)
                return 0;
        r = sys_pidfd_open(owner);
        if (r >= 0)
                r = session_lift(r);
        (void)snprintf(text, sizeof(text), "%d", (int)owner);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, text, "the owner can't be watched",
                                 "--owner names a process that lives");
        *ret = r;
        return 0;
}

int session_start_program(char *const *argv, const struct nsrun_plan *plan, int owner_fd, int *ret_answers,
                          struct nsrun_error *err) {
        _cleanup_close_ int null_fd = null_open(O_RDWR, err), plan_fd = -EBADF, read_end = -EBADF,
                            write_end = -EBADF;
        int ends[2], r;

        if (null_fd < 0)
                return null_fd;
        r = store_plan(plan, &plan_fd);
        if (r >= 0)
                r = sys_pipe(ends);
        if (r >= 0) {
                read_end = ends[0];
                r = write_end = session_lift(ends[1]);
        }
        if (r < 0)
                return plan_fd < 0 && (r == -EPERM || r == -ENOSYS)
                               ? error_cause(err, NSRUN_ERROR_FILTER_MEMFD, r, NULL)
                               : error_cause_with(err, NSRUN_ERROR_FILTER_MEMFD, r, NULL, NULL);
        r = session_spawn(argv, null_fd, plan_fd, write_end, owner_fd);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, program_monitor(),
                                 "nsrun-monitor can't be executed",
                                 !error_is_filtered(r)   ? "install nsrun completely"
                                 : sys_try_clone3() == r ? FILTER_HINT("clone3")
                                                         : FILTER_HINT("setsid"));
        *ret_answers = TAKE_FD(read_end);
        return 0;
}

static int start_monitor(const struct nsrun_plan *plan, const struct nsrun_session_options *options,
                         char **ret_id, char ***notes, struct nsrun_error *err) {
        _cleanup_close_ int owner_fd = -EBADF, answers = -EBADF;
        char idle[24], owner[24], *argv[MONITOR_N_ARGS + 1] = {0};
        int r;

        (void)snprintf(idle, sizeof(idle), "%u", options->idle_timeout);
        (void)snprintf(owner, sizeof(owner), "%d", (int)options->owner);
        argv[MONITOR_ARG_NAME] = (char *)"nsrun-monitor";
        argv[MONITOR_ARG_IDLE_TIMEOUT] = idle;
        argv[MONITOR_ARG_OWNER] = owner;
        argv[MONITOR_ARG_SESSION] = options->name ? (char *)(uintptr_t)options->name : (char *)"";
        r = open_owner(options->owner, &owner_fd, err);
        if (r >= 0)
                r = session_start_program(argv, plan, owner_fd, &answers, err);
        return r < 0 ? r : hear(answers, ret_id, notes, err);
}

/* Refuses a session with an empty name, which the monitor would take for "make one up", and one of
 * a policy that joins a session. */
static int session_check_options(const struct nsrun_policy *policy,
                                 const struct nsrun_session_options *options, struct nsrun_error *err) {
        if (options->name && !*options->name)
                return records_refuse_name(options->name, err);
        if (policy->session)
                return error_set(err, NSRUN_STAGE_USAGE, -EINVAL, policy->session,
                                 "a session can't be started in another one", "leave --session out");
        return 0;
}

nsrun_public int nsrun_session_start(const struct nsrun_policy *policy,
                                     const struct nsrun_session_options *options, char **ret_id,
                                     char ***ret_notes, struct nsrun_error *error) {
        const struct policy_request request = {.policy = policy, .is_session = true};
        struct nsrun_session_options own = NSRUN_SESSION_OPTIONS_INIT;
        _cleanup_plan_ struct nsrun_plan *plan = NULL;
        _cleanup_strv_ char **notes = NULL;
        int r = options ? sized_take(&own, sizeof(own), options, "nsrun_session_options", error) : 0;

        if (r >= 0)
                r = session_check_options(policy, &own, error);
        if (r >= 0)
                r = plan_make(&request, &plan, error);
        if (r >= 0)
                r = start_monitor(plan, &own, ret_id, ret_notes ? &notes : NULL, error);
        if (r < 0)
                return r;
        if (ret_notes)
                *ret_notes = TAKE_PTR(notes);
        return 0;
}

nsrun_public int nsrun_session_list(char ***ret, struct nsrun_error *error) {
        return records_list(ret, error);
}

int session_read(const char *id, struct record_folder *folder, struct plan_record *record,
                 struct nsrun_error *err) {
        _cleanup_free_ char *bytes = NULL;
        size_t n = 0;
        int r = records_open(id, folder, err);

        if (r >= 0)
                r = records_read(folder, &bytes, &n, err);
        return r < 0 ? r : record_restore(bytes, n, true, record, err);
}

static enum nsrun_commands commands_of(const struct plan_record *record) {
        if (record->plan->isolates_commands)
                return NSRUN_COMMANDS_ISOLATED;
        return record->plan->is_scoped && !(record->namespaces & CLONE_NEWNET) ? NSRUN_COMMANDS_UNTRACED
                                                                               : NSRUN_COMMANDS_SHARED;
}

/* What the user calls the session's: its project, or else the first folder that was asked for. */
static char *root_of_plan(const struct nsrun_plan *plan) {
        for (size_t i = 0; !plan->project && i < plan->n_ops; i++)
                if (plan->ops[i].was_asked_for)
                        return strdup(plan->ops[i].target);
        return plan->project ? strdup(plan->project) : NULL;
}

nsrun_public int nsrun_session_show(const char *id, struct nsrun_session_info **ret,
                                    struct nsrun_error *error) {
        _cleanup_records_ struct record_folder folder = RECORD_FOLDER_INIT;
        _cleanup_record_ struct plan_record record = {0};
        struct nsrun_session_info *info;
        int r = session_read(id, &folder, &record, error);

        if (r < 0)
                return r;
        info = calloc(1, sizeof(*info));
        if (!info)
                return error_oom(error);
        info->id = TAKE_PTR(record.id);
        info->root = root_of_plan(record.plan);
        info->project = TAKE_PTR(record.plan->project);
        info->rundir = TAKE_PTR(record.rundir);
        info->monitor = record.monitor.pid;
        info->init = record.init.pid;
        info->started = record.started_s;
        info->idle = records_idle_seconds(&folder);
        info->idle_timeout = (unsigned)record.idle_timeout;
        info->owner = record.owner;
        info->is_nested = record.is_nested;
        info->commands = commands_of(&record);
        info->degraded = TAKE_PTR(record.plan->degraded);
        *ret = info;
        return 0;
}

nsrun_public struct nsrun_session_info *nsrun_session_info_free(struct nsrun_session_info *info) {
        if (info) {
                free(info->id);
                free(info->project);
                free(info->rundir);
                free(info->root);
                strv_free(info->degraded);
        }
        free(info);
        return NULL;
}

/* Waits until the monitor has ended, and with it the session. */
static void await_monitor(int monitor) {
        if (monitor >= 0)
                (void)loop_await(monitor, POLLIN, -1);
}

nsrun_public int nsrun_session_end(const char *id, int is_kill, char ***ret_notes,
                                   struct nsrun_error *error) {
        _cleanup_records_ struct record_folder folder = RECORD_FOLDER_INIT;
        _cleanup_record_ struct plan_record record = {0};
        _cleanup_close_ int monitor = -EBADF, init = -EBADF, told = -EBADF;
        int r = session_read(id, &folder, &record, error);

        if (r >= 0)
                r = told = records_open_told(&folder, error);
        if (r < 0)
                return r;
        monitor = record_open_process(&record.monitor);
        init = is_kill ? record_open_process(&record.init) : -EBADF;
        r = monitor == -ESRCH ? 0 : monitor;
        if (r >= 0)
                (void)records_end(&folder, false, NULL);
        if (r >= 0 && init >= 0)
                r = sys_pidfd_send_signal(init, SIGKILL);
        /* Sent even after pid 1 was killed: processes that collect their children late could
         * otherwise delay the monitor's end (await_end() in monitor.c). */
        if (r >= 0 && monitor >= 0)
                r = sys_pidfd_send_signal(monitor, SIGTERM);
        if (r < 0 && r != -ESRCH)
                return error_set(error, NSRUN_STAGE_SUPERVISE, r, id, "the session can't be ended", NULL);
        await_monitor(monitor);
        r = ret_notes ? records_read_told(told, ret_notes) : 0;
        return r < 0 ? error_set(error, NSRUN_STAGE_SUPERVISE, r, id,
                                 "what the session's end says can't be read", NULL)
                     : 0;
}

nsrun_public int nsrun_session_stop(const char *id, struct nsrun_error *error) {
        return nsrun_session_end(id, 0, NULL, error);
}

nsrun_public int nsrun_session_kill(const char *id, struct nsrun_error *error) {
        return nsrun_session_end(id, 1, NULL, error);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A session's life on the host's side.  The monitor runs nothing of a command's, and has none of
 * its starter's memory, terminal, descriptors or working directory. */
#include "monitor.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/signalfd.h>

#include "base/beneath.h"
#include "base/loop.h"
#include "base/path.h"
#include "base/programs.h"
#include "base/responds.h"
#include "changes/changes.h"
#include "changes/index.h"
#include "job_keeper.h"
#include "run/run.h"

_Static_assert(sizeof(struct monitor_answer) <= PIPE_BUF, "an answer must be one atomic write");

struct monitor {
        struct plan_record record;
        struct record_folder folder;
        struct run run;
        int signal_fd;
        int owner_fd;          /* the owner's pidfd; -EBADF: the session has no owner */
        bool has_new_names;    /* protected ones may have appeared while a command runs */
        struct timespec begin; /* before the sandbox was begun */
        struct nsrun_error error;
};

/* Writes an answer to the process that started the monitor.  -errno: that process is gone. */
static int session_monitor_answer(enum monitor_answer_kind kind, const char *id,
                                  const struct nsrun_error *error) {
        struct monitor_answer a = {.kind = kind};
        ssize_t n;

        if (id)
                (void)snprintf(a.id, sizeof(a.id), "%s", id);
        if (error)
                a.error = *error;
        n = sys_write(MONITOR_FD_ANSWER, &a, sizeof(a));
        return n < 0 ? (int)n : 0;
}

int monitor_read_plan(struct nsrun_plan **ret, struct nsrun_error *err) {
        struct stat st;
        void *bytes;
        int r;

        if (sys_fstat(MONITOR_FD_PLAN, &st) < 0 || st.st_size == 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, -EBADMSG, NULL,
                                 "nsrun-monitor is started by nsrun alone", NULL);
        bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, MONITOR_FD_PLAN, 0);
        if (bytes == MAP_FAILED)
                return error_oom(err);
        r = plan_restore(bytes, (size_t)st.st_size, ret, err);
        (void)munmap(bytes, (size_t)st.st_size);
        (void)close(MONITOR_FD_PLAN);
        return r;
}

static int answer_note(nsrun_unused void *data, const struct nsrun_error *note) {
        (void)session_monitor_answer(MONITOR_NOTE, NULL, note);
        return 0;
}

/* Of an overlay that can be committed; no command has begun. */
static void remember_index(const struct monitor *k, const struct plan_op *op, int base) {
        _cleanup_close_ int layer = -EBADF;

        if (!op->was_asked_for || !op->text || k->run.rundir.dir_fd < 0)
                return;
        layer = beneath_open(k->run.rundir.dir_fd, op->text, O_RDONLY | O_DIRECTORY, 0);
        if (layer >= 0)
                index_remember(base, layer);
}

/* Notes device and inode of each overlay's base and of the mounted overlay in the plan.  By them a
 * later commit recognises both, even if commands have moved folders above them.  No command has run
 * yet. */
static void identify_folders(const struct monitor *k) {
        const struct nsrun_plan *plan = k->record.plan;
        _cleanup_close_ int root = -EBADF;
        char path[64];

        (void)snprintf(path, sizeof(path), "/proc/%d/root", (int)k->run.launch.pid);
        root = sys_open(AT_FDCWD, path, O_PATH | O_DIRECTORY, 0);
        for (size_t i = 0; i < plan->n_ops; i++) {
                struct plan_op *op = &plan->ops[i];
                _cleanup_close_ int base = -EBADF, merged = -EBADF;
                struct stat st;

                if (op->kind == PLAN_OVERLAY)
                        base = responds_open(AT_FDCWD, op->source, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
                if (base < 0 || sys_fstat(base, &st) < 0)
                        continue;
                op->base_dev = st.st_dev;
                op->base_ino = st.st_ino;
                remember_index(k, op, base);
                merged = root < 0 ? root : beneath_open(root, op->target + 1, O_PATH | O_DIRECTORY, 0);
                if (merged < 0 || sys_fstat(merged, &st) < 0)
                        continue;
                op->merged_dev = st.st_dev;
                op->merged_ino = st.st_ino;
        }
}

/* What a killed commit has left on the host. */
static void end_commits(const struct monitor *k) {
        const struct nsrun_plan *plan = k->record.plan;

        for (size_t i = 0; plan && i < plan->n_ops && k->run.rundir.dir_fd >= 0; i++) {
                const struct plan_op *op = &plan->ops[i];
                _cleanup_close_ int layer = -EBADF, base = -EBADF;
                struct stat st;

                if (op->kind != PLAN_OVERLAY || op->base_ino == 0)
                        continue;
                layer = beneath_open(k->run.rundir.dir_fd, op->text, O_RDONLY | O_DIRECTORY, 0);
                base = layer < 0
                               ? layer
                               : responds_open(AT_FDCWD, op->source, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
                if (base >= 0 && sys_fstat(base, &st) >= 0 && st.st_dev == op->base_dev &&
                    st.st_ino == op->base_ino)
                        changes_forget(layer, base);
        }
}

static int write_record(struct monitor *k) {
        struct plan_record *record = &k->record;
        _cleanup_close_ int own = sys_pidfd_open(getpid());
        _cleanup_free_ char *bytes = NULL;
        struct timespec since = {0};
        size_t n = 0;
        int r;

        record->id = strdup(k->folder.id);
        record->rundir = k->run.rundir.path ? strdup(k->run.rundir.path) : NULL;
        strv_free(record->plan->degraded);
        record->plan->degraded = TAKE_PTR(k->run.degraded);
        if (k->run.cgroup.launch.fd >= 0)
                record->cgroup = path_join(k->run.cgroup.place.path, k->run.cgroup.name);
        if (!record->id || (k->run.rundir.path && !record->rundir) ||
            (k->run.cgroup.launch.fd >= 0 && !record->cgroup))
                return error_oom(&k->error);
        identify_folders(k);
        record->namespaces = k->run.launch.namespaces;
        record->is_nested = record->plan->isolates_commands && !record->plan->is_scoped;
        r = own < 0 ? own : record_identify(getpid(), own, &record->monitor);
        if (r >= 0)
                r = record_identify(k->run.launch.pid, k->run.launch.pidfd, &record->init);
        if (r < 0)
                return error_set(
                        &k->error, NSRUN_STAGE_SUPERVISE, r, NULL,
                        "the session's processes can't be told apart",
                        r == -ESRCH || r == -ENOENT
                                ? "/proc shows another pid namespace than that of what nsrun starts: start "
                                  "what is around nsrun with unshare --pid --fork --mount-proc"
                                : NULL);
        r = changes_moment(k->begin, &since);
        record->started_s = record->base_s = since.tv_sec;
        record->base_ns = (uint64_t)since.tv_nsec;
        if (r >= 0)
                r = record_store(record, &bytes, &n);
        return r < 0 ? error_oom(&k->error) : records_write(&k->folder, bytes, n, &k->error);
}

static void tell_why(void *data, const struct nsrun_error *why) {
        _cleanup_free_ char *line = nsrun_error_format(why);

        (void)records_end(data, false, line);
}

/* Starts the sandbox, and waits until pid 1 reports that all is built. */
static int start_sandbox(struct monitor *k) {
        const struct run_params params = {.launch = {.terminal_fd = -1,
                                                     .wants_started = true,
                                                     .dies_with_thread = true,
                                                     .init_path = program_init()},
                                          .journal_dir = k->folder.dir_fd,
                                          .has_journal_dir = true,
                                          .session = k->folder.id,
                                          .may_move = true,
                                          .note = answer_note,
                                          .ends = tell_why,
                                          .data = &k->folder};
        const struct launch_namespaces *n;
        struct launch_report report;
        int r = run_begin(k->record.plan, &params, &k->run, &k->error);

        /* Of the proxy's password only nsrun-net needs to know, and of keys nsrun-keys. */
        secret_forget(&k->record.plan->via);
        secret_forget(&k->record.plan->key_values);
        if (r >= 0)
                r = run_await_start(&k->run, &report, &k->error);
        if (r < 0)
                return r;
        n = &report.namespaces;
        memcpy(k->record.namespace_inodes,
               (const uint64_t[]){n->user, n->mnt, n->pid, n->ipc, n->uts, n->net},
               sizeof(k->record.namespace_inodes));
        k->record.n_processes = k->run.n_processes;
        return 0;
}

static int monitor_start(struct monitor *k, const char *name) {
        int r = clock_gettime(CLOCK_REALTIME, &k->begin) < 0 ? -errno : 0;

        if (r >= 0)
                r = monitor_read_plan(&k->record.plan, &k->error);
        if (r >= 0)
                r = records_make(*name ? name : NULL, &k->folder, &k->error);
        if (r >= 0)
                r = k->signal_fd = signals_open(SIGNALS(SIGTERM, SIGINT, SIGHUP), &k->error);
        if (r >= 0)
                r = start_sandbox(k);
        return r < 0 ? r : write_record(k);
}

/* Milliseconds until the session may have been idle for long enough; -1: it has no idle timeout; 0:
 * it has been idle for long enough. */
static int idle_wait(const struct monitor *k) {
        uint64_t idle, left;

        if (k->record.idle_timeout == 0)
                return -1;
        idle = records_idle_seconds(&k->folder);
        if (idle >= k->record.idle_timeout)
                return 0;
        left = k->record.idle_timeout - idle;
        return left > INT_MAX / 1000 ? INT_MAX : (int)left * 1000;
}

enum {
        NAMES_MS = 500, /* between two looks whether a command runs still */
};

enum {
        KEPT_TO_END = 1, /* the session is to be ended */
        KEPT_GONE /* pid 1's end of the pipe is closed: it is gone or about to go, which may take long */
};

static int keep_until_gone(nsrun_unused void *data, nsrun_unused short revents) {
        return KEPT_GONE;
}

static int keep_until_told(void *data, nsrun_unused short revents) {
        const struct monitor *k = data;

        (void)records_end(&k->folder, false, NULL);
        return KEPT_TO_END;
}

static int keep_until_unowned(void *data, nsrun_unused short revents) {
        const struct monitor *k = data;

        (void)records_end(&k->folder, false, "the process that owned it has ended");
        return KEPT_TO_END;
}

/* While a command runs, who waits for it takes away what appears, and tells it; what is left of one is taken
 * when it has ended. */
static int keep_names(void *data, nsrun_unused short revents) {
        struct monitor *k = data;

        k->has_new_names = records_idle_seconds(&k->folder) == 0;
        if (k->has_new_names)
                run_cover_again(&k->run, true);
        else
                run_take_appeared(&k->run);
        return 0;
}

static int keep_covers(void *data, nsrun_unused short revents) {
        run_cover_again(&((struct monitor *)data)->run, true);
        return 0;
}

/* Why the session ends, once there is a reason. */
static int keep(struct loop *l, void *data) {
        struct monitor *k = data;

        if (k->has_new_names)
                (void)keep_names(k, POLLIN);
        l->patience_ms = idle_wait(k);
        if (l->patience_ms == 0 &&
            records_end(&k->folder, true, "no command ran in it for as long as its --idle-timeout") >= 0)
                return KEPT_TO_END;
        if (k->has_new_names && (l->patience_ms < 0 || l->patience_ms > NAMES_MS))
                l->patience_ms = NAMES_MS;
        loop_add(l, k->has_new_names ? -1 : protected_fd(&k->run.protected), POLLIN, keep_names);
        loop_add(l, k->has_new_names ? protected_covers_fd(&k->run.protected) : -1, POLLPRI, keep_covers);
        loop_add(l, k->run.launch.report_fd, 0, keep_until_gone);
        loop_add(l, k->signal_fd, POLLIN, keep_until_told);
        loop_add(l, k->owner_fd, POLLIN, keep_until_unowned);
        return 0;
}

/* Waits until pid 1 is gone, or `ms` milliseconds are over (-1: for ever).  The kernel lets pid 1
 * go only when all other processes of its pid namespace have been collected.  Reapers of joined
 * commands are children of processes outside, which may collect them late or never: so pid 1 counts
 * as gone as soon as it has exited itself, when no process lives in the namespace any more. */
static void await_end(const struct monitor *k, int ms) {
        struct pollfd end = {.fd = k->run.launch.pidfd, .events = POLLIN};

        for (int waited = 0; ms < 0 || waited < ms; waited += MONITOR_LOOK_MS)
                if (sys_poll(&end, 1, MONITOR_LOOK_MS) > 0 || record_has_exited(k->run.launch.pid))
                        return;
}

/* Asks pid 1 to send SIGTERM to all processes, and to end when they have ended.  After
 * MONITOR_GRACE_MS monitor_finish() kills it. */
static void monitor_stop(const struct monitor *k) {
        (void)launch_terminate_all(&k->run.launch);
        (void)launch_end_when_empty(&k->run.launch);
        await_end(k, MONITOR_GRACE_MS);
}

/* Writes a note down for whoever ends the session.  That nobody may is no reason to leave work undone. */
static int write_down(void *data, const struct nsrun_error *note) {
        _cleanup_free_ char *line = nsrun_error_format(note);

        if (line)
                (void)records_tell(data, line);
        return 0;
}

/* What detached commands leave in versions of their own their keepers carry, out of the run directory. */
static void await_keepers(const struct monitor *k) {
        _cleanup_strv_ char **names = NULL;

        (void)logs_list(&k->folder, &names);
        STRV_FOREACH (name, names) {
                _cleanup_log_ struct log log = LOG_INIT;
                _cleanup_close_ int keeper = log_open(&k->folder, *name, &log, NULL) < 0
                                                     ? -EBADF
                                                     : record_open_process(&log.state.keeper);

                /* They end at once, or none is waited for any more. */
                if (keeper >= 0 && loop_await(keeper, POLLIN, MONITOR_GRACE_MS) <= 0)
                        return;
        }
}

static void monitor_finish(struct monitor *k) {
        if (!k->run.is_gone) {
                (void)launch_signal(&k->run.launch, SIGKILL);
                await_end(k, -1);
                k->run.is_gone = true;
        }
        await_keepers(k);
        /* Sweeps what processes of the session have left in git dirs, and under protected names, since the
         * last command was swept after: what was there before, that command told. */
        k->run.gitdirs.since = k->run.protected.since = records_last_sweep(&k->folder);
        versions_look_at_places(&k->run.versions);
        (void)gitdirs_end(&k->run.gitdirs, write_down, &k->folder);
        (void)protected_end(&k->run.protected, k->run.versions.folder, write_down, &k->folder);
        carried_end(&k->run.carried, &k->run.rundir, write_down, &k->folder);
        (void)versions_end_folders(&k->run.versions, &k->run.rundir, write_down, &k->folder);
        (void)killed_keep(&k->run.rundir, true, write_down, &k->folder);
        (void)kept_by_tell(k->run.kept_by, write_down, &k->folder);
        end_commits(k);
        run_end(&k->run);
        /* This releases the folder's lock, last of all: who waits for the session's end finds
         * nothing left of it. */
        records_remove(&k->folder);
        record_clear(&k->record);
}

/* Forks, and lets the parent exit, so that the monitor is no child of the process that started it:
 * a host program waits for its own children alone. */
static void detach(void) {
        pid_t pid = fork();

        if (pid > 0)
                _exit(0);
        if (pid < 0)
                _exit(125);
}

int monitor_main(int argc, char **argv) {
        struct monitor k = {
                .folder = RECORD_FOLDER_INIT, .run = RUN_INIT, .signal_fd = -EBADF, .owner_fd = -EBADF};
        bool is_keeper = argc == DETACHED_N_ARGS && streq(argv[0], DETACHED_NAME);
        struct stat st;
        int r;

        if ((argc != MONITOR_N_ARGS && !is_keeper) || sys_fstat(MONITOR_FD_ANSWER, &st) < 0 ||
            !S_ISFIFO(st.st_mode)) {
                (void)fputs("nsrun-monitor: started by 'nsrun session start', not by people\n", stderr);
                return 125;
        }
        (void)sys_close_range(MONITOR_FD_FIRST_OTHER, ~0U);
        detach();
        program_raise_files();
        (void)chdir("/");
        for (int fd = MONITOR_FD_PLAN; fd < MONITOR_FD_FIRST_OTHER; fd++)
                (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
        if (is_keeper)
                return detached_main(argc, argv);
        (void)signal(SIGPIPE, SIG_IGN);
        (void)umask(077);
        k.record.idle_timeout = strtoull(argv[MONITOR_ARG_IDLE_TIMEOUT], NULL, 10);
        k.record.owner = (pid_t)strtol(argv[MONITOR_ARG_OWNER], NULL, 10);
        k.owner_fd = k.record.owner > 0 ? MONITOR_FD_OWNER : -EBADF;
        r = monitor_start(&k, argv[MONITOR_ARG_SESSION]);
        if (r >= 0) {
                /* If the starter is gone nobody has got the session's id: it ends at once. */
                bool is_known = session_monitor_answer(MONITOR_STARTED, k.folder.id, NULL) >= 0;

                (void)close(MONITOR_FD_ANSWER);
                if (is_known && loop_run(keep, &k) != KEPT_GONE)
                        monitor_stop(&k);
        }
        monitor_finish(&k);
        /* Reported last, when nothing is left of the session. */
        if (r < 0)
                (void)session_monitor_answer(MONITOR_FAILED, NULL, &k.error);
        return r < 0 ? 125 : 0;
}

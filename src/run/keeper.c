/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A session's life, seen from the host.  Runs nothing of a command's; of the caller's
 * memory, terminal, descriptors and working directory it has none. */
#include "keeper.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/sys.h"
#include "cgroup.h"
#include "changes/changes.h"
#include "disk.h"
#include "plan/record.h"
#include "programs.h"

_Static_assert(sizeof(struct keeper_answer) <= PIPE_BUF, "an answer must be one atomic write");

struct keeper {
        struct plan_record record;
        struct record_folder folder;
        struct umbrella umbrella;
        struct cgroup cgroup;
        struct launch launch;
        int signal_fd;
        int owner_fd; /* -EBADF: none */
        struct nsrun_error error;
};

/* -errno: whoever asked is gone. */
static int answer(enum keeper_answer_kind kind, const char *id, const struct nsrun_error *error) {
        struct keeper_answer a = {.kind = kind};
        ssize_t n;

        if (id)
                (void)snprintf(a.id, sizeof(a.id), "%s", id);
        if (error)
                a.error = *error;
        n = sys_write(KEEPER_FD_ANSWER, &a, sizeof(a));
        return n < 0 ? (int)n : 0;
}

static int read_plan(struct keeper *k) {
        struct stat st;
        void *bytes;
        int r;

        if (sys_fstat(KEEPER_FD_PLAN, &st) < 0 || st.st_size == 0)
                return error_set(&k->error, NSRUN_STAGE_SUPERVISE, -EBADMSG, NULL,
                                 "nsrun-keeper is started by nsrun alone", NULL);
        bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, KEEPER_FD_PLAN, 0);
        if (bytes == MAP_FAILED)
                return error_oom(&k->error);
        r = plan_restore(bytes, (size_t)st.st_size, &k->record.plan, &k->error);
        (void)munmap(bytes, (size_t)st.st_size);
        (void)close(KEEPER_FD_PLAN);
        return r;
}

static int watch_signals(struct keeper *k) {
        sigset_t set;

        (void)sigemptyset(&set);
        (void)sigaddset(&set, SIGTERM);
        (void)sigaddset(&set, SIGINT);
        (void)sigaddset(&set, SIGHUP);
        (void)sys_sigmask(SIG_BLOCK, &set, NULL);
        k->signal_fd = sys_signalfd(&set);
        if (k->signal_fd < 0)
                return error_set(&k->error, NSRUN_STAGE_SUPERVISE, k->signal_fd, NULL, "no signalfd", NULL);
        return 0;
}

/* Until pid 1 says that all is built. */
static int await_start(struct keeper *k) {
        for (;;) {
                struct launch_report report;
                int r = launch_read_report(&k->launch, &report);

                if (r <= 0)
                        return error_set(&k->error, NSRUN_STAGE_SUPERVISE, r < 0 ? r : -EIO, NULL,
                                         "the sandbox was killed while it was being built", NULL);
                if (report.kind == LAUNCH_FAILED) {
                        k->error = report.error;
                        return -report.error.error;
                }
                if (report.kind == LAUNCH_NOTE)
                        (void)answer(KEEPER_NOTE, NULL, &report.error);
                if (report.kind == LAUNCH_STARTED) {
                        const struct launch_namespaces *n = &report.namespaces;

                        memcpy(k->record.namespace_inodes,
                               (const uint64_t[]){n->user, n->mnt, n->pid, n->ipc, n->uts, n->net},
                               sizeof(k->record.namespace_inodes));
                        return 0;
                }
        }
}

/* A commit goes to no other folder. */
static void identify_bases(const struct nsrun_plan *plan) {
        for (size_t i = 0; i < plan->n_ops; i++) {
                struct plan_op *op = &plan->ops[i];
                struct stat st;

                if (op->kind != PLAN_OVERLAY || stat(op->source, &st) < 0)
                        continue;
                op->base_dev = st.st_dev;
                op->base_ino = st.st_ino;
        }
}

static int write_record(struct keeper *k) {
        struct plan_record *record = &k->record;
        _cleanup_close_ int own = sys_pidfd_open(getpid());
        _cleanup_free_ char *bytes = NULL;
        struct timespec since = {0};
        size_t n = 0;
        int r;

        record->id = strdup(k->folder.id);
        record->umbrella = k->umbrella.path ? strdup(k->umbrella.path) : NULL;
        if (k->cgroup.launch.fd >= 0)
                record->cgroup = path_join(k->cgroup.place.path, k->cgroup.name);
        if (!record->id || (k->umbrella.path && !record->umbrella) ||
            (k->cgroup.launch.fd >= 0 && !record->cgroup))
                return error_oom(&k->error);
        identify_bases(record->plan);
        record->namespaces = k->launch.namespaces;
        record->is_nested = !record->plan->is_scoped;
        r = own < 0 ? own : record_identify(getpid(), own, &record->keeper);
        if (r >= 0)
                r = record_identify(k->launch.pid, k->launch.pidfd, &record->init);
        if (r < 0)
                return error_set(&k->error, NSRUN_STAGE_SUPERVISE, r, NULL,
                                 "the session's processes can't be told apart",
                                 "nsrun needs a mounted /proc to start from");
        r = changes_moment(&since);
        record->started_s = record->base_s = since.tv_sec;
        record->base_ns = (uint64_t)since.tv_nsec;
        if (r >= 0)
                r = record_store(record, &bytes, &n);
        return r < 0 ? error_oom(&k->error) : records_write(&k->folder, bytes, n, &k->error);
}

static int start(struct keeper *k, const char *name) {
        struct launch_params params = {.terminal_fd = -1,
                                       .wants_started = true,
                                       .dies_with_thread = true,
                                       .init_path = program_init()};
        const struct nsrun_plan *plan;
        int r;

        r = read_plan(k);
        if (r >= 0)
                r = records_make(*name ? name : NULL, &k->folder, &k->error);
        if (r >= 0)
                r = watch_signals(k);
        if (r < 0)
                return r;
        plan = k->record.plan;
        r = disk_prepare(plan, &k->umbrella, &params, &k->error);
        if (r >= 0)
                r = cgroup_prepare(plan, true, &k->cgroup, &params, &k->error);
        k->record.n_processes = params.n_processes;
        if (r >= 0 && params.n_processes > 0)
                (void)answer(KEEPER_NOTE, NULL, &cgroup_by_rlimit);
        if (r >= 0)
                r = launch_start(plan, &params, &k->launch, &k->error);
        if (r >= 0)
                r = await_start(k);
        if (r >= 0)
                r = write_record(k);
        return r;
}

/* How long to wait for the next look, in milliseconds; -1: until something happens; 0: it has been
 * idle for long enough. */
static int idle_wait(const struct keeper *k) {
        uint64_t idle, left;

        if (k->record.idle_timeout == 0)
                return -1;
        idle = records_idle_seconds(&k->folder);
        if (idle >= k->record.idle_timeout)
                return 0;
        left = k->record.idle_timeout - idle;
        return left > INT_MAX / 1000 ? INT_MAX : (int)left * 1000;
}

/* Until there is a reason to end.  True: pid 1 is gone, or on its way, which may be long (see
 * await_end()): its end of the pipe is closed. */
static bool keep(const struct keeper *k) {
        struct pollfd fds[] = {{.fd = k->launch.report_fd},
                               {.fd = k->signal_fd, .events = POLLIN},
                               {.fd = k->owner_fd, .events = POLLIN}};

        for (;;) {
                int wait = idle_wait(k);

                (void)sys_poll(fds, ARRAY_SIZE(fds), wait);
                if (fds[0].revents)
                        return true;
                if (fds[1].revents || fds[2].revents) {
                        (void)records_end(&k->folder, false);
                        return false;
                }
                if (wait == 0 && records_end(&k->folder, true) >= 0)
                        return false;
        }
}

/* Until pid 1 is gone, or `ms` milliseconds are over (-1: never).  Its own end waits for the ends
 * of those whose parents are elsewhere to be seen: reapers of commands are children of whoever
 * joined, who may look later, or never.  By then nobody lives. */
static void await_end(const struct keeper *k, int ms) {
        struct pollfd end = {.fd = k->launch.pidfd, .events = POLLIN};

        for (int waited = 0; ms < 0 || waited < ms; waited += KEEPER_LOOK_MS)
                if (sys_poll(&end, 1, KEEPER_LOOK_MS) > 0 || record_has_exited(k->launch.pid))
                        return;
}

/* pid 1 sends everybody SIGTERM, and ends when they have; whatever becomes of that, it is killed a little
 * later. */
static void stop(const struct keeper *k) {
        (void)launch_terminate_all(&k->launch);
        (void)launch_end_when_empty(&k->launch);
        await_end(k, KEEPER_GRACE_MS);
}

static void finish(struct keeper *k) {
        if (k->launch.pidfd >= 0) {
                (void)launch_signal(&k->launch, SIGKILL);
                await_end(k, -1);
        }
        launch_close(&k->launch);
        cgroup_remove(&k->cgroup);
        umbrella_remove(&k->umbrella);
        /* With it goes the lock: whoever waits for the end sees all of it. */
        records_remove(&k->folder);
        record_clear(&k->record);
}

/* Nobody's child: whoever asked has its own to wait for. */
static void detach(void) {
        pid_t pid = fork();

        if (pid > 0)
                _exit(0);
        if (pid < 0)
                _exit(125);
}

int keeper_main(int argc, char **argv) {
        struct keeper k = {.folder = RECORD_FOLDER_INIT,
                           .umbrella = UMBRELLA_INIT,
                           .cgroup = CGROUP_INIT,
                           .launch = LAUNCH_INIT,
                           .signal_fd = -EBADF,
                           .owner_fd = -EBADF};
        struct stat st;
        int r;

        if (argc != KEEPER_N_ARGS || sys_fstat(KEEPER_FD_ANSWER, &st) < 0 || !S_ISFIFO(st.st_mode)) {
                (void)fputs("nsrun-keeper: started by 'nsrun session start', not by people\n", stderr);
                return 125;
        }
        (void)sys_close_range(KEEPER_FD_FIRST_OTHER, ~0U);
        detach();
        (void)signal(SIGPIPE, SIG_IGN);
        (void)chdir("/");
        (void)umask(077);
        for (int fd = KEEPER_FD_PLAN; fd < KEEPER_FD_FIRST_OTHER; fd++)
                (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
        k.record.idle_timeout = strtoull(argv[KEEPER_ARG_IDLE_TIMEOUT], NULL, 10);
        k.record.owner = (pid_t)strtol(argv[KEEPER_ARG_OWNER], NULL, 10);
        k.owner_fd = k.record.owner > 0 ? KEEPER_FD_OWNER : -EBADF;
        r = start(&k, argv[KEEPER_ARG_SESSION]);
        if (r >= 0) {
                /* A session whose id nobody has heard is nobody's. */
                bool is_known = answer(KEEPER_STARTED, k.folder.id, NULL) >= 0;

                (void)close(KEEPER_FD_ANSWER);
                if (is_known && !keep(&k))
                        stop(&k);
        }
        finish(&k);
        /* When nothing is left of it. */
        if (r < 0)
                (void)answer(KEEPER_FAILED, NULL, &k.error);
        return r < 0 ? 125 : 0;
}

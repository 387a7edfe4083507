/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The two ends of the way to nsrun-init.  Its one argument is the number of a file in memory, which has the
 * record.  Its fixed part is as it was left by whoever built the sandbox, and so are the descriptors that
 * are held, at the record's end. */
#include "init_handover.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "decimal.h"
#include "enter.h"
#include "harden.h"

/* The beginning of struct init, which every version of nsrun-init must be able to read. */
_Static_assert(offsetof(struct boundary_facts, init) == 0 && offsetof(struct init, size) == 0 &&
                       offsetof(struct init, version) == 4 && offsetof(struct init, report_fd) == 8,
               "an nsrun-init of another version says so over the pipe");

/* Lists those descriptors that nsrun-init gets for itself. */
static void list_descriptors(const struct init *init, int to[INIT_DESCRIPTORS]) {
        const int all[INIT_DESCRIPTORS] = {
                init->report_fd,        init->supervisor_fd,
                init->control_fd,       init->listener_socket,
                init->lock_fd,          init->session_fd,
                init->reaper_socket,    init->layers_fd,
                init->home_fd,          init->proc_fd,
                init->identity.self_fd, init->identity.is_late ? init->identity.block_fd : -EBADF};

        memcpy(to, all, sizeof(all));
}

/* Brings the record up to date: what was opened since, and what was learned. */
static void write_back(struct builder *b) {
        size_t at = b->n - b->b.n_held * sizeof(int);

        b->b.facts.init = b->reaper.init;
        blueprint_settle(b->bytes, &b->b.facts);
        for (size_t i = b->reaper.n_held; i < b->b.n_held; i++)
                b->reaper.held[i] = -EBADF;
        memcpy(b->bytes + at, b->reaper.held, b->b.n_held * sizeof(int));
}

/* A host's own bound on files (RLIMIT_FSIZE) isn't meant for this one, which is no file of anybody's. */
static int put_record(const struct builder *b, int data) {
        struct sys_rlimit own, most;
        ssize_t n;
        int r = sys_prlimit(RLIMIT_FSIZE, NULL, &own);

        if (r < 0)
                return r;
        most = (struct sys_rlimit){own.hard, own.hard};
        r = sys_prlimit(RLIMIT_FSIZE, &most, NULL);
        if (r < 0)
                return r;
        n = sys_write(data, b->bytes, b->n);
        r = sys_prlimit(RLIMIT_FSIZE, &own, NULL);
        return n < 0 ? (int)n : (size_t)n != b->n ? -EFBIG : r;
}

int init_exec(struct builder *b) {
        static char *const nothing[] = {NULL};
        char number[24];
        char *argv[] = {(char *)"nsrun-init", number, NULL};
        int fds[INIT_DESCRIPTORS + 1], data = b->b.facts.init_data_fd;
        int r;

        write_back(b);
        (void)number_format(number, (uint64_t)data);
        r = put_record(b, data);
        list_descriptors(&b->reaper.init, fds);
        fds[INIT_DESCRIPTORS] = data;
        for (size_t i = 0; i < ARRAY_SIZE(fds) && r >= 0; i++)
                if (fds[i] > 2 && fcntl(fds[i], F_SETFD, 0) < 0)
                        r = -errno;
        for (size_t i = 0; i < b->reaper.n_held && r >= 0; i++)
                if (fcntl(b->reaper.held[i], F_SETFD, 0) < 0)
                        r = -errno;
        if (r < 0)
                return error_set(&b->reaper.error, NSRUN_STAGE_SUPERVISE, r, NULL,
                                 "nsrun-init can't be told what it needs", NULL);
        /* Its environment is the command's: whoever enters a sandbox of nsrun-bwrap's by its pid takes that
         * from there. */
        r = sys_execveat(b->b.facts.init_fd, "", argv, b->b.env ? b->b.env : nothing, AT_EMPTY_PATH);
        if (r == -E2BIG)
                return error_set(&b->reaper.error, NSRUN_STAGE_EXEC, r, b->b.file, "the command is too long",
                                 NULL);
        return error_set(
                &b->reaper.error, NSRUN_STAGE_SUPERVISE, r, b->b.init_path, "nsrun-init can't be executed",
                error_is_filtered(r) ? FILTER_HINT("execveat")
                                     : "it must be a static program of this machine's architecture");
}

/* --------------------------------------------------------------- nsrun-init */

/* Copies the file's bytes, so that nobody who has the file changes what was looked at. */
static char *copy_record(int fd, size_t *ret_n) {
        struct stat st;
        void *bytes;

        if (sys_fstat(fd, &st) < 0 || st.st_size < (off_t)sizeof(struct init) || st.st_size > BLUEPRINT_MOST)
                return NULL;
        *ret_n = (size_t)st.st_size;
        bytes = mmap(NULL, *ret_n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (bytes == MAP_FAILED || lseek(fd, 0, SEEK_SET) < 0 ||
            sys_read(fd, bytes, *ret_n) != (ssize_t)*ret_n)
                return NULL;
        return bytes;
}

static void open_record(int fd, struct builder *b) {
        static const struct boundary_own nothing = {0};
        struct nsrun_error error = {0};
        size_t n;
        char *bytes = copy_record(fd, &n);
        int r = bytes ? builder_open(b, bytes, n, &nothing, &error) : -EBADMSG, report_fd;

        if (!bytes)
                _exit(125);
        memcpy(&report_fd, bytes + offsetof(struct init, report_fd), sizeof(report_fd));
        if (r < 0)
                report_failure(report_fd, -1, &error);
        (void)sys_close(fd);
}

/* Whatever enters the last user namespace after this program was executed, its memory belongs to the one
 * around it: nothing in the last one can look into it, by a capability neither. */
static void take_identity(struct reaper *p) {
        int r = identity_take(&p->init.identity, p->init.supervisor_fd, &p->error);

        if (r >= 0 && p->init.outlives_supervisor)
                r = identity_outlive(&p->error);
        if (r >= 0 && (r = sys_prctl(PR_SET_DUMPABLE, 0, 0)) < 0)
                (void)error_set(&p->error, NSRUN_STAGE_HARDENING, r, NULL,
                                "the reaper can't be made undumpable", NULL);
        if (r < 0)
                report_failure(p->init.report_fd, -1, &p->error);
}

/* Makes its memory unreadable first of all, before another process is in the namespace. */
int init_exec_main(int argc, char **argv) {
        extern char **environ;
        static struct builder b;
        struct reaper *p = &b.reaper;
        int fds[INIT_DESCRIPTORS], data;

        if (argc != 2 || sys_prctl(PR_SET_DUMPABLE, 0, 0) < 0)
                return 125;
        data = (int)strtol(argv[1], NULL, 10);
        /* All processes of a session can read it. */
        memset(argv[1], 0, strlen(argv[1]));
        open_record(data, &b);
        /* Of which whoever built the sandbox has changed PWD. */
        p->env = environ;
        list_descriptors(&p->init, fds);
        for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
                if (fds[i] > 2 && fcntl(fds[i], F_SETFD, FD_CLOEXEC) < 0)
                        return 125;
        for (size_t i = 0; i < p->n_held; i++)
                if (fcntl(p->held[i], F_SETFD, FD_CLOEXEC) < 0)
                        return 125;
        if (p->init.identity.is_late)
                take_identity(p);
        if (p->init.session_fd >= 0)
                enter_alone(p, b.b.cwd);
        init_finish(p);
}

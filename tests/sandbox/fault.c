/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The Nth system call of a run fails, or finds its supervisor killed; for the
 * check program nsrun-faults alone (-DNSRUN_FAULTS).  Calls are counted over the
 * supervisor, init and the vforked command together, in a page that they share.
 *
 *     NSRUN_FAULT=fail:N:ERRNO   the Nth call is not made and fails with that number
 *     NSRUN_FAULT=kill:N         before the Nth call the supervisor is killed
 *     NSRUN_FAULT=slow:N:MS      the Nth call is made so many milliseconds later
 *     NSRUN_FAULT=later:CALL:N:MS  the same of the Nth that the supervisor makes after its first CALL
 *     NSRUN_FAULT_LOG=FILE       the page (struct fault_page) is this file */
#include "fault.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/sys.h"

#define PAGE_SIZE 4096U

static struct {
        bool is_ready;
        struct fault_page *page; /* NULL: nothing was asked for */
        int *is_supervisor; /* 1 in the supervisor: a page with MADV_WIPEONFORK, which a fork's child finds
                               zeroed and a vfork's does not */
        unsigned nth, n_after;
        char after[16]; /* "": the calls of all are counted */
        bool is_after;
        int error; /* 0: kill */
        int slow_ms;
} fault;

static _Noreturn void fault_give_up(const char *what) {
        (void)fprintf(stderr, "nsrun-faults: %s: %s\n", what, strerror(errno));
        _exit(124);
}

static struct fault_page *map_page(void) {
        const char *path = getenv("NSRUN_FAULT_LOG");
        int flags = path ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS;
        _cleanup_close_ int fd = -EBADF;
        void *page;

        if (path) {
                fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
                if (fd < 0 || ftruncate(fd, PAGE_SIZE) < 0)
                        fault_give_up(path);
        }
        page = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, flags, fd, 0);
        if (page == MAP_FAILED)
                fault_give_up("the shared page");
        return page;
}

static int *map_mark(void) {
        int *mark = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (mark == MAP_FAILED || madvise(mark, PAGE_SIZE, MADV_WIPEONFORK) < 0)
                fault_give_up("the supervisor's mark");
        *mark = 1;
        return mark;
}

/* The watcher: kills the supervisor for a child that can't, because its pid namespace has no number for the
 * supervisor. Ends with the supervisor. */
static _Noreturn void fault_watch(int supervisor) {
        struct pollfd end = {.fd = supervisor, .events = POLLIN};

        /* The watcher closes its copies of the pipes: a test that waits for their end must not wait for the
         * watcher. */
        if (supervisor != 0 && (dup2(supervisor, 0) < 0))
                fault_give_up("the supervisor's descriptor");
        (void)syscall(SYS_close_range, 1, ~0U, 0);
        end.fd = 0;
        while (poll(&end, 1, 1) == 0)
                if (atomic_load(&fault.page->state) == FAULT_ASKED)
                        (void)syscall(SYS_pidfd_send_signal, 0, SIGKILL, NULL, 0);
        atomic_store(&fault.page->state, FAULT_DONE);
        _exit(0);
}

static void start_watcher(void) {
        int supervisor = (int)syscall(SYS_pidfd_open, getpid(), 0);
        pid_t between;

        if (supervisor < 0)
                fault_give_up("a pidfd of the supervisor");
        /* A double fork: the process under test may wait for any child, and must not find the watcher. */
        between = fork();
        if (between < 0)
                fault_give_up("the watcher");
        if (between == 0) {
                pid_t watcher = fork();

                if (watcher == 0)
                        fault_watch(supervisor);
                _exit(watcher < 0);
        }
        if (waitpid(between, NULL, 0) != between)
                fault_give_up("the watcher");
        (void)close(supervisor);
}

static void fault_prepare(void) {
        const char *wanted = getenv("NSRUN_FAULT");

        fault.is_ready = true;
        if (!wanted && !getenv("NSRUN_FAULT_LOG"))
                return;
        fault.page = map_page();
        fault.is_supervisor = map_mark();
        errno = EINVAL;
        if (!wanted)
                return;
        if (sscanf(wanted, "fail:%u:%d", &fault.nth, &fault.error) == 2 && fault.error > 0)
                return;
        if (sscanf(wanted, "slow:%u:%d", &fault.nth, &fault.slow_ms) == 2 && fault.slow_ms > 0)
                return;
        if (sscanf(wanted, "later:%15[^:]:%u:%d", fault.after, &fault.nth, &fault.slow_ms) == 3)
                return;
        if (sscanf(wanted, "kill:%u", &fault.nth) != 1 || fault.nth == 0)
                fault_give_up("NSRUN_FAULT");
        fault.error = 0;
        start_watcher();
}

static int be_killed(void) {
        struct fault_page *page = fault.page;
        int waiting = FAULT_WAITING;

        if (page->is_supervisors)
                (void)kill(getpid(), SIGKILL);
        (void)atomic_compare_exchange_strong(&page->state, &waiting, FAULT_ASKED);
        while (atomic_load(&page->state) != FAULT_DONE)
                (void)sched_yield();
        return 0;
}

/* Whether it is the call that was meant. */
static bool is_wanted(const char *call) {
        if (!fault.after[0])
                return atomic_fetch_add(&fault.page->calls, 1) + 1 == fault.nth;
        if (!*fault.is_supervisor)
                return false;
        if (fault.is_after)
                return ++fault.n_after == fault.nth;
        fault.is_after = streq(call, fault.after);
        return false;
}

/* Runs between clone and exec, too: it touches the shared page and makes plain system calls, nothing else.
 */
int fault_next(const char *call) {
        struct fault_page *page;

        if (!fault.is_ready)
                fault_prepare();
        page = fault.page;
        if (!page || !is_wanted(call))
                return 0;
        page->is_supervisors = *fault.is_supervisor;
        for (size_t i = 0; call[i] && i + 1 < sizeof(page->call); i++)
                page->call[i] = call[i];
        if (fault.error == 0 && fault.slow_ms == 0)
                return be_killed();
        if (fault.slow_ms > 0)
                (void)poll(NULL, 0, fault.slow_ms);
        atomic_store(&page->state, FAULT_DONE);
        return -fault.error;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The Nth system call of a run fails, or finds its supervisor killed; for the
 * check program nsrun-faults alone (-DNSRUN_FAULTS).  Calls are counted over the
 * supervisor, init and the vforked command together, in a page that they share.
 *
 *     NSRUN_FAULT=fail:N:ERRNO   the Nth call is not made and fails with that number
 *     NSRUN_FAULT=kill:N         before the Nth call the supervisor is killed
 *     NSRUN_FAULT_LOG=FILE       the page (struct fault_page) is this file */
#include "fault.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "sys.h"

#define PAGE_SIZE 4096U

static struct {
        bool is_ready;
        struct fault_page *page; /* NULL: nothing was asked for */
        int *is_supervisor;      /* in memory that a fork empties and a vfork keeps */
        unsigned nth;
        int error; /* 0: kill */
} fault;

static _Noreturn void give_up(const char *what) {
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
                        give_up(path);
        }
        page = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, flags, fd, 0);
        if (page == MAP_FAILED)
                give_up("the shared page");
        return page;
}

static int *map_mark(void) {
        int *mark = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (mark == MAP_FAILED || madvise(mark, PAGE_SIZE, MADV_WIPEONFORK) < 0)
                give_up("the supervisor's mark");
        *mark = 1;
        return mark;
}

/* A child can't name the supervisor from its pid namespace.  This process can, and
 * goes when the supervisor does. */
static _Noreturn void watch(int supervisor) {
        struct pollfd end = {.fd = supervisor, .events = POLLIN};

        /* Holds nothing that a test waits for the end of. */
        if (supervisor != 0 && (dup2(supervisor, 0) < 0))
                give_up("the supervisor's descriptor");
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
                give_up("a pidfd of the supervisor");
        /* Twice, so that it is no child of a process that waits for its children. */
        between = fork();
        if (between < 0)
                give_up("the watcher");
        if (between == 0) {
                pid_t watcher = fork();

                if (watcher == 0)
                        watch(supervisor);
                _exit(watcher < 0);
        }
        if (waitpid(between, NULL, 0) != between)
                give_up("the watcher");
        (void)close(supervisor);
}

static void prepare(void) {
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
        if (sscanf(wanted, "kill:%u", &fault.nth) != 1 || fault.nth == 0)
                give_up("NSRUN_FAULT");
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

/* Between clone and exec too: nothing but the page and plain system calls. */
int fault_next(const char *call) {
        struct fault_page *page;

        if (!fault.is_ready)
                prepare();
        page = fault.page;
        if (!page || atomic_fetch_add(&page->calls, 1) + 1 != fault.nth)
                return 0;
        page->is_supervisors = *fault.is_supervisor;
        for (size_t i = 0; call[i] && i + 1 < sizeof(page->call); i++)
                page->call[i] = call[i];
        if (fault.error == 0)
                return be_killed();
        atomic_store(&page->state, FAULT_DONE);
        return -fault.error;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The session's processes as the kernel lists them.  The session's own /proc has them and no others, however
 * many the host has, and hides none of them; no command can mount anything there, nor unmount it.  Where the
 * session has none of its own (--proc=none, bind) the host's is looked through. */
#include "processes.h"

#include <linux/magic.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>

#include "base/beneath.h"
#include "base/file.h"
#include "base/sys.h"
#include "boundary/decimal.h"
#include "session.h"

/* A process's list of groups is in the same file as its numbers: room for ten thousand. */
#define STATUS_MOST (1U << 16)
/* The kernel nests no deeper. */
#define PID_NAMESPACES_MOST 32
/* <linux/nsfs.h>, Linux 6.11 */
#ifndef NS_GET_TGID_IN_PIDNS
#define NS_GET_TGID_IN_PIDNS _IOR(NSIO, 0x9, int)
#endif

/* The inode of a namespace, "pid:[4026531836]"; 0: it can't be read. */
static uint64_t namespace_inode(int folder, const char *path) {
        char text[64] = "";
        ssize_t n = sys_readlinkat(folder, path, text, sizeof(text) - 1);
        const char *number = n > 0 ? strchr(text, '[') : NULL;

        return number ? strtoull(number + 1, NULL, 10) : 0;
}

static uint64_t descriptor_inode(int fd) {
        struct stat st;

        return sys_fstat(fd, &st) < 0 ? 0 : st.st_ino;
}

/* ------------------------------------------------------------- one process */

struct thread_search {
        struct process *process;
        int folder; /* of the thread that was found */
};

static bool look_for_living(void *data, int task, const char *name) {
        struct thread_search *t = data;
        _cleanup_close_ int folder = sys_open(task, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        struct process_stat thread;
        uint64_t number;

        if (folder < 0 || str_parse_number(name, false, &number) < 0 ||
            process_stat_read(folder, "stat", &thread) < 0 || thread.state == 'Z' || thread.state == 'X')
                return true;
        t->process->thread = (pid_t)number;
        t->process->stat.state = thread.state;
        t->folder = TAKE_FD(folder);
        return false;
}

/* A process lives on when its first thread has ended, of which /proc says then that it is a zombie, that
 * has no memory, no command line and no namespaces: a thread that lives is asked instead.  Returns the
 * folder to ask in. */
static int open_living(int folder, struct process *p) {
        struct thread_search t = {.process = p, .folder = -EBADF};
        _cleanup_close_ int task = -EBADF;

        if (p->stat.state == 'Z' && p->stat.n_threads > 1)
                task = sys_open(folder, "task", O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        if (task >= 0)
                (void)names_each(task, look_for_living, &t);
        return t.folder >= 0 ? t.folder : sys_open(folder, ".", O_PATH | O_DIRECTORY, 0);
}

/* Reads a process's numbers from "NSpid:", one for each pid namespace that it is in, from that of the
 * mounted /proc on.  Returns how many there are, or -errno. */
static int read_numbers(int folder, pid_t *numbers, size_t most) {
        _cleanup_free_ char *text = NULL;
        int r = process_file_read(folder, "status", STATUS_MOST - 1, &text, NULL), n = 0;
        char *at = r < 0 ? NULL : strstr(text, "\nNSpid:");

        if (r < 0)
                return r;
        if (!at)
                return -EBADMSG;
        for (at += strlen("\nNSpid:"); (size_t)n < most && *at == '\t';)
                numbers[n++] = (pid_t)strtol(at + 1, &at, 10);
        return n > 0 ? n : -EBADMSG;
}

/* Whether the process, of the host's /proc, is in the session's pid namespace or in one below.  Before 6.11
 * that can't be told of one that the caller may not look into: a reaper, or a program that only root may
 * read. */
static bool is_in_namespace(const struct process_view *v, int folder, pid_t number) {
        _cleanup_close_ int ns = -EBADF;
        int inside = sys_ioctl(v->pid_namespace, NS_GET_TGID_IN_PIDNS, (void *)(intptr_t)number);

        if (inside > 0)
                return true;
        if (inside == -ESRCH)
                return false;
        ns = sys_open(folder, "ns/pid", O_RDONLY, 0);
        for (int i = 0; ns >= 0 && i < PID_NAMESPACES_MOST; i++) {
                int parent;

                if (descriptor_inode(ns) == v->record.namespace_inodes[2])
                        return true;
                parent = sys_ioctl(ns, NS_GET_PARENT, NULL);
                close_fdp(&ns);
                ns = parent;
        }
        return false;
}

/* Whether a number of the host's /proc is one of the session's processes. */
static bool is_number_in_namespace(const struct process_view *v, pid_t number) {
        char name[24];
        _cleanup_close_ int folder = sys_open(v->proc, number_format(name, (uint64_t)number),
                                              O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);

        return folder >= 0 && is_in_namespace(v, folder, number);
}

/* What a command has started is told by a uts namespace (boundary/reaper_outside.h), which none of it can
 * leave but by a user namespace of its own. */
static uint64_t read_process_mark(const struct process_view *v, int folder) {
        uint64_t uts;

        if (v->record.plan->isolates_commands || namespace_inode(folder, "ns/user") != v->user)
                return 0;
        uts = namespace_inode(folder, "ns/uts");
        return uts == v->uts ? 0 : uts;
}

bool process_is_nsruns(const struct process_view *v, const struct process *p) {
        if (p->pid == 1)
                return true;
        /* Each command has a pid namespace, whose pid 1 is its reaper; and nothing else runs in the
         * session's. */
        if (v->record.is_nested)
                return p->depth == 0 || (p->depth == 1 && p->innermost == 1);
        /* A reaper is a child of nsrun's, outside; none of its command's can become one. */
        return v->record.plan->isolates_commands && p->stat.parent == 0;
}

/* 0; -ENOENT: the process is none of the session's, or has ended. */
static int process_read(const struct process_view *v, int folder, int number, struct process *ret) {
        pid_t numbers[PID_NAMESPACES_MOST + 1];
        struct process p = {.number = number};
        int n = read_numbers(folder, numbers, ARRAY_SIZE(numbers));
        _cleanup_close_ int living = -EBADF;

        if (n < 0 || (size_t)n <= v->level || process_stat_read(folder, "stat", &p.stat) < 0)
                return -ENOENT;
        living = open_living(folder, &p);
        if (living < 0 || (!v->is_own && !is_in_namespace(v, living, number)))
                return -ENOENT;
        if (!v->is_own && !is_number_in_namespace(v, p.stat.parent))
                p.stat.parent = 0;
        p.memory = process_memory_read(living, "statm");
        p.pid = numbers[v->level];
        p.innermost = numbers[n - 1];
        p.depth = (size_t)n - 1 - v->level;
        p.mark = process_is_nsruns(v, &p) ? (uint64_t)number : read_process_mark(v, living);
        *ret = p;
        return 0;
}

/* As much as fits, and a NUL.  A process that is gone has none. */
static size_t read_command_line(int folder, const struct process *p, char *to, size_t size) {
        char path[64] = "cmdline", number[24];
        _cleanup_close_ int fd = -EBADF;
        size_t n = 0;

        if (p->thread > 0)
                (void)snprintf(path, sizeof(path), "task/%s/cmdline",
                               number_format(number, (uint64_t)p->thread));
        fd = sys_open(folder, path, O_RDONLY, 0);

        if (fd >= 0)
                (void)read_full(fd, to, size - 1, &n);
        to[n] = '\0';
        return n;
}

int process_command_line(int folder, const struct process *process, char **ret) {
        char text[4096];
        size_t n = read_command_line(folder, process, text, sizeof(text));

        /* A process that overwrites its command line fills it up with NULs. */
        while (n > 0 && !text[n - 1])
                n--;
        for (size_t i = 0; i < n; i++)
                if (!text[i])
                        text[i] = ' ';
        *ret = strndup(text, n);
        return *ret ? 0 : -ENOMEM;
}

bool process_has_name(int folder, const struct process *process, const char *name) {
        const char *slash;
        char text[4096];

        if (streq(process->stat.name, name))
                return true;
        (void)read_command_line(folder, process, text, sizeof(text));
        slash = strrchr(text, '/');
        return streq(slash ? slash + 1 : text, name);
}

/* --------------------------------------------------------------- all of them */

struct looking {
        const struct process_view *view;
        int (*each)(void *data, int folder, const struct process *process);
        void *data;
        int result;
};

static bool look_at_process(void *data, int proc, const char *name) {
        struct looking *l = data;
        _cleanup_close_ int folder = -EBADF;
        struct process p;
        uint64_t number;

        if (str_parse_number(name, false, &number) < 0 || number > INT32_MAX)
                return true;
        folder = sys_open(proc, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        /* One that has ended since it was listed is skipped. */
        if (folder < 0 && folder != -ENOENT && folder != -ESRCH)
                l->result = folder == -EMFILE || folder == -ENFILE || folder == -ENOMEM ? folder : 0;
        else if (folder >= 0 && process_read(l->view, folder, (int)number, &p) >= 0)
                l->result = l->each(l->data, folder, &p);
        return l->result == 0;
}

int processes_each(const struct process_view *v,
                   int (*each)(void *data, int folder, const struct process *process), void *data) {
        struct looking l = {.view = v, .each = each, .data = data};
        int r = lseek(v->proc, 0, SEEK_SET) < 0 ? -errno : names_each(v->proc, look_at_process, &l);

        return r < 0 ? r : l.result;
}

/* ----------------------------------------------------------------- the view */

void processes_close(struct process_view *v) {
        close_fdp(&v->proc);
        close_fdp(&v->pid_namespace);
        close_fdp(&v->init);
        record_clear(&v->record);
        records_close(&v->folder);
}

/* Opens the session's own /proc, if it has one: -EXDEV if not. */
static int open_own_proc(const struct process_view *v, int root) {
        _cleanup_close_ int proc = beneath_open(root, "proc", O_RDONLY | O_DIRECTORY, 0);
        struct statfs fs;

        if (proc < 0 || sys_fstatfs(proc, &fs) < 0 || (unsigned long)fs.f_type != PROC_SUPER_MAGIC ||
            namespace_inode(proc, "1/ns/pid") != v->record.namespace_inodes[2])
                return -EXDEV;
        return TAKE_FD(proc);
}

/* `self` is pid 1's folder in the host's /proc. */
static int look_at_init(struct process_view *v, int self) {
        _cleanup_close_ int root = sys_open(self, "root", O_PATH | O_DIRECTORY, 0);
        pid_t numbers[PID_NAMESPACES_MOST + 1];
        char number[24];
        int n, folder;

        v->pid_namespace = sys_open(self, "ns/pid", O_RDONLY, 0);
        if (root < 0 || v->pid_namespace < 0)
                return root < 0 ? root : v->pid_namespace;
        if (descriptor_inode(v->pid_namespace) != v->record.namespace_inodes[2])
                return -ESRCH;
        v->user = namespace_inode(self, "ns/user");
        v->uts = namespace_inode(self, "ns/uts");
        v->proc = open_own_proc(v, root);
        v->is_own = v->proc >= 0;
        v->init_number = v->is_own ? 1 : v->record.init.pid;
        if (!v->is_own)
                v->proc = sys_open(AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY, 0);
        if (v->proc < 0)
                return v->proc;
        folder = sys_open(v->proc, number_format(number, (uint64_t)v->init_number), O_PATH | O_DIRECTORY, 0);
        n = folder < 0 ? folder : read_numbers(folder, numbers, ARRAY_SIZE(numbers));
        close_fdp(&folder);
        v->level = n < 0 ? 0 : (size_t)n - 1;
        return n < 0 ? n : 0;
}

int processes_open(const char *id, struct process_view *v, struct nsrun_error *err) {
        _cleanup_close_ int self = -EBADF;
        int r = session_read(id, &v->folder, &v->record, err);
        char path[64];

        if (r < 0)
                return r;
        r = v->init = record_open_process(&v->record.init);
        (void)snprintf(path, sizeof(path), "/proc/%d", (int)v->record.init.pid);
        if (r >= 0)
                r = self = sys_open(AT_FDCWD, path, O_PATH | O_DIRECTORY, 0);
        if (r >= 0)
                r = look_at_init(v, self);
        /* If it lives now the number was its own all the time. */
        if (r >= 0)
                r = sys_pidfd_send_signal(v->init, 0);
        if (r == -ENOENT)
                r = -ESRCH;
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, id,
                                 r == -ESRCH ? "the session has ended"
                                             : "the session's processes can't be looked at",
                                 NULL);
        return 0;
}

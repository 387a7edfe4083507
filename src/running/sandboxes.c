/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sandboxes.h"

#include <limits.h>
#include <linux/nsfs.h>

#include "base/array.h"
#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "base/sys.h"
#include "process_files.h"

#define STATUS_FILE_MOST (1U << 16)
#define ARGV_MOST        (1U << 17)

/* One process of the host's /proc. */
struct seen {
        pid_t pid;
        size_t depth;    /* in how many pid namespaces it is */
        pid_t innermost; /* its number in the last of them */
        uid_t uid;
        struct process_stat stat;
        uint64_t memory;
        /* 1 + the index of the sandbox that it belongs to; 0: none. */
        size_t owner;
        /* Of a head: the inode of its pid namespace; 0: it can't be told, or isn't one. */
        uint64_t namespace;
};

struct sight {
        int proc;
        struct seen *items;
        size_t n;
};

static int read_of(int proc, pid_t pid, const char *name, size_t most, char **ret, size_t *ret_n) {
        char path[64];

        (void)snprintf(path, sizeof(path), "%d/%s", (int)pid, name);
        return process_file_read(proc, path, most, ret, ret_n);
}

static int seen_status(int proc, struct seen *p) {
        _cleanup_free_ char *text = NULL;
        int r = read_of(proc, p->pid, "status", STATUS_FILE_MOST, &text, NULL);
        const char *uid = r < 0 ? NULL : strstr(text, "\nUid:\t");
        char *at = r < 0 ? NULL : strstr(text, "\nNSpid:");

        if (r < 0 || !uid || !at)
                return r < 0 ? r : -EBADMSG;
        p->uid = (uid_t)strtoul(uid + 6, NULL, 10);
        for (at += strlen("\nNSpid:"); *at == '\t'; p->depth++)
                p->innermost = (pid_t)strtol(at + 1, &at, 10);
        return 0;
}

static int see_process(void *data, int proc, const struct dirent *entry) {
        struct sight *s = data;
        struct seen p = {0};
        uint64_t number;
        char path[32];

        if (str_parse_number(entry->d_name, false, &number) < 0 || number > INT32_MAX)
                return 0;
        p.pid = (pid_t)number;
        (void)snprintf(path, sizeof(path), "%d/stat", (int)p.pid);
        /* One that has ended meanwhile is skipped. */
        if (seen_status(proc, &p) < 0 || p.uid != getuid() || process_stat_read(proc, path, &p.stat) < 0)
                return 0;
        (void)snprintf(path, sizeof(path), "%d/statm", (int)p.pid);
        p.memory = process_memory_read(proc, path);
        if (ARRAY_GROW(s->items, s->n) < 0)
                return -ENOMEM;
        s->items[s->n++] = p;
        return 0;
}

static int compare_pids(const void *a, const void *b) {
        const struct seen *p = a, *q = b;

        return p->pid < q->pid ? -1 : p->pid > q->pid;
}

static struct seen *seen_find(const struct sight *s, pid_t pid) {
        return s->n > 0 ? bsearch(&(struct seen){.pid = pid}, s->items, s->n, sizeof(struct seen),
                                  compare_pids)
                        : NULL;
}

/* The name of the program that a process runs; "": it can't be told. */
static const char *program_of(int proc, pid_t pid, char to[PATH_MAX]) {
        char path[32];
        const char *name;
        ssize_t n;
        char *deleted;

        (void)snprintf(path, sizeof(path), "%d/exe", (int)pid);
        n = sys_readlinkat(proc, path, to, PATH_MAX - 1);
        to[n > 0 ? n : 0] = '\0';
        deleted = strstr(to, " (deleted)");
        if (deleted && deleted[strlen(" (deleted)")] == '\0')
                *deleted = '\0';
        name = strrchr(to, '/');
        return name ? name + 1 : to;
}

/* Whose sandbox it is that `init` is the pid 1 of; false: nobody's of nsrun's. */
static bool find_kind(const struct sight *s, const struct seen *init, const struct seen *supervisor,
                      enum sandbox_kind *ret) {
        char path[PATH_MAX];
        const char *program = program_of(s->proc, supervisor->pid, path);

        /* One file may be all of them (one_file.c), which then have their names as processes. */
        if (streq(program, "nsrun") && startswith(supervisor->stat.name, "nsrun-") &&
            !streq(supervisor->stat.name, "nsrun-sh"))
                program = supervisor->stat.name;
        if (streq(program, "nsrun") || streq(program, "nsrun-faults"))
                *ret = SANDBOX_RUN;
        else if (streq(program, "nsrun-bwrap"))
                *ret = SANDBOX_BWRAP;
        else if (streq(program, "nsrun-monitor"))
                *ret = SANDBOX_SESSION;
        else if (init && streq(init->stat.name, "nsrun-init"))
                *ret = SANDBOX_LIBRARY;
        else
                return false;
        return true;
}

/* The inode of the pid namespace that a process is in right below those `depth` of this /proc; 0: it can't
 * be told. */
static uint64_t pid_namespace_of(const struct sight *s, const struct seen *p, size_t depth) {
        _cleanup_close_ int fd = -EBADF;
        char path[32];
        struct stat st;

        (void)snprintf(path, sizeof(path), "%d/ns/pid", (int)p->pid);
        fd = sys_open(s->proc, path, O_RDONLY, 0);
        for (size_t at = p->depth; fd >= 0 && at > depth + 1; at--) {
                int parent = sys_ioctl(fd, NS_GET_PARENT, NULL);

                close_fdp(&fd);
                fd = parent;
        }
        return fd >= 0 && sys_fstat(fd, &st) >= 0 ? st.st_ino : 0;
}

static char **read_argv(int proc, pid_t pid) {
        _cleanup_free_ char *text = NULL;
        char **argv = NULL;
        size_t n = 0;

        if (read_of(proc, pid, "cmdline", ARGV_MOST, &text, &n) < 0 || n == 0)
                return NULL;
        for (size_t at = 0; at < n; at += strlen(text + at) + 1)
                if (strv_add(&argv, text + at) < 0)
                        break;
        return argv;
}

static char *read_cwd(int proc, pid_t pid) {
        char path[32], to[PATH_MAX];
        ssize_t n;

        (void)snprintf(path, sizeof(path), "%d/cwd", (int)pid);
        n = sys_readlinkat(proc, path, to, sizeof(to) - 1);
        return n > 0 ? strndup(to, (size_t)n) : NULL;
}

static int add_member(struct sandbox_process *to, const struct seen *p, uint64_t cpu_ms) {
        to->cpu_ms += cpu_ms;
        if (p->pid == to->supervisor || p->stat.state == 'Z' || p->stat.state == 'X')
                return 0;
        if (ARRAY_GROW(to->members, to->n_members) < 0)
                return -ENOMEM;
        to->members[to->n_members++] = (struct sandbox_member){.pid = p->pid, .start = p->stat.start};
        if (p->pid != to->init) {
                to->memory += p->memory;
                to->n_processes++;
        }
        return 0;
}

/* The sandbox in whose pid namespace a process is. */
static size_t find_owner(const struct sight *s, const struct seen *p, size_t depth) {
        uint64_t namespace = pid_namespace_of(s, p, depth);

        for (size_t i = 0; namespace != 0 && i < s->n; i++) {
                const struct seen *head = &s->items[i];

                if (head->namespace == namespace)
                        return head->owner;
        }
        return 0;
}

/* Adds up what belongs to each sandbox: a process is of the sandbox of its next ancestor that is the head of
 * one.  Who is in a pid namespace never leaves it, and pid 1 adopts its orphans.  A session's command is the
 * child of who started it, outside. */
static int add_up(struct sight *s, size_t depth, struct sandbox_process *list) {
        uint64_t per_second = (uint64_t)sysconf(_SC_CLK_TCK);
        int r = 0;

        for (size_t i = 0; i < s->n && r >= 0; i++) {
                struct seen *p = &s->items[i], *at = p;

                for (size_t steps = 0; at && at->owner == 0 && steps < s->n; steps++)
                        at = seen_find(s, at->stat.parent);
                if ((!at || at->owner == 0) && p->depth > depth) {
                        p->owner = find_owner(s, p, depth);
                        at = p;
                }
                if (!at || at->owner == 0)
                        continue;
                r = add_member(&list[at->owner - 1], p, p->stat.ticks * 1000 / per_second);
        }
        return r;
}

static int add_sandbox(struct sight *s, size_t depth, struct seen *head, struct seen *supervisor,
                       enum sandbox_kind kind, struct sandbox_process **list, size_t *n) {
        if (ARRAY_GROW(*list, *n) < 0)
                return -ENOMEM;
        (*list)[(*n)++] = (struct sandbox_process){.supervisor = supervisor->pid,
                                                   .init = head == supervisor ? 0 : head->pid,
                                                   .kind = kind,
                                                   .is_stopped = supervisor->stat.state == 'T',
                                                   .start = supervisor->stat.start,
                                                   .age = process_age(supervisor->stat.start),
                                                   .argv = read_argv(s->proc, supervisor->pid),
                                                   .cwd = read_cwd(s->proc, supervisor->pid)};
        head->owner = *n;
        head->namespace = head->depth > depth ? pid_namespace_of(s, head, depth) : 0;
        return 0;
}

/* First by the pid 1 of each, then those of nsrun-bwrap that share the host's pid namespace. */
static int find_all(struct sight *s, size_t depth, struct sandbox_process **list, size_t *n) {
        enum sandbox_kind kind;
        int r = 0;

        for (size_t i = 0; i < s->n && r >= 0; i++) {
                struct seen *init = &s->items[i], *parent = seen_find(s, init->stat.parent);

                if (init->depth == depth + 1 && init->innermost == 1 && parent && parent->depth == depth &&
                    init->stat.state != 'Z' && find_kind(s, init, parent, &kind))
                        r = add_sandbox(s, depth, init, parent, kind, list, n);
        }
        for (size_t i = 0; i < s->n && r >= 0; i++) {
                struct seen *p = &s->items[i], *parent = seen_find(s, p->stat.parent);
                bool has_init = false;

                for (size_t j = 0; j < *n; j++)
                        has_init |= (*list)[j].supervisor == p->pid;
                /* Its own child, which becomes the command, is no second one. */
                if (p->depth == depth && p->stat.state != 'Z' && !has_init && find_kind(s, NULL, p, &kind) &&
                    kind == SANDBOX_BWRAP &&
                    !(parent && find_kind(s, NULL, parent, &kind) && kind == SANDBOX_BWRAP))
                        r = add_sandbox(s, depth, p, p, SANDBOX_BWRAP, list, n);
        }
        return r;
}

static int compare_starts(const void *a, const void *b) {
        const struct sandbox_process *p = a, *q = b;

        return p->start != q->start ? (p->start < q->start ? -1 : 1)
                                    : (p->supervisor < q->supervisor ? -1 : p->supervisor > q->supervisor);
}

void sandboxes_free(struct sandbox_process *list, size_t n) {
        for (size_t i = 0; i < n; i++) {
                free(list[i].members);
                strv_free(list[i].argv);
                free(list[i].cwd);
        }
        free(list);
}

int sandboxes_list(struct sandbox_process **ret, size_t *ret_n, struct nsrun_error *err) {
        struct sight s = {.proc = -EBADF};
        struct seen self = {.pid = getpid()};
        struct sandbox_process *list = NULL;
        size_t n = 0;
        int r = s.proc = sys_open(AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY, 0);

        if (r >= 0)
                r = seen_status(s.proc, &self);
        if (r >= 0)
                r = folder_each(s.proc, see_process, &s);
        if (r >= 0 && s.n > 0)
                qsort(s.items, s.n, sizeof(struct seen), compare_pids);
        if (r >= 0)
                r = find_all(&s, self.depth, &list, &n);
        if (r >= 0)
                r = add_up(&s, self.depth, list);
        if (r >= 0 && n > 0)
                qsort(list, n, sizeof(*list), compare_starts);
        close_fdp(&s.proc);
        free(s.items);
        if (r < 0) {
                sandboxes_free(list, n);
                return r == -ENOMEM ? error_oom(err)
                                    : error_set(err, NSRUN_STAGE_SUPERVISE, r, "/proc",
                                                "the processes can't be listed", NULL);
        }
        *ret = list;
        *ret_n = n;
        return 0;
}

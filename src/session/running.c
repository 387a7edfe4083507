/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What runs in a session, for those outside: listed, sent signals, counted. */
#include "base/array.h"
#include "base/file.h"
#include "base/path.h"
#include "base/sys.h"
#include "disk/occupied.h"
#include "processes.h"
#include "run/sized.h"

/* Signals go from 1 on. */
#define SIGNAL_MOST 64

/* ------------------------------------------------------------------- listed */

struct running_process {
        struct process process;
        char *command_line; /* NULL: nobody wants it */
        pid_t first;        /* the oldest that lives of what the same command started; 0: unknown */
};

struct running {
        const struct process_view *view;
        struct running_process *items; /* all processes, sorted by their numbers */
        size_t n;
        bool wants_command_lines;
};

/* What find_marks() gives a process of unknown origin meanwhile. */
#define MARK_UNKNOWN UINT64_MAX

static void running_clear(struct running *l) {
        for (size_t i = 0; i < l->n; i++)
                free(l->items[i].command_line);
        free(l->items);
}

static int running_add(void *data, int folder, const struct process *process) {
        struct running *l = data;
        struct running_process item = {.process = *process};
        size_t at;
        int r;

        if (ARRAY_GROW(l->items, l->n) < 0)
                return -ENOMEM;
        r = l->wants_command_lines ? process_command_line(folder, process, &item.command_line) : 0;
        if (r < 0)
                return r;
        /* The kernel lists them in this order. */
        for (at = l->n; at > 0 && l->items[at - 1].process.number > process->number; at--)
                l->items[at] = l->items[at - 1];
        l->items[at] = item;
        l->n++;
        return 0;
}

static struct process *running_find(const struct running *l, pid_t number) {
        size_t from = 0, to = l->n;

        while (from < to) {
                size_t middle = from + (to - from) / 2;

                if (l->items[middle].process.number == number)
                        return &l->items[middle].process;
                if (l->items[middle].process.number < number)
                        from = middle + 1;
                else
                        to = middle;
        }
        return NULL;
}

/* A process of unknown origin is its next known ancestor's command's; but pid 1 adopts those of all. */
static void find_marks(const struct running *l) {
        for (size_t i = 0; i < l->n; i++) {
                struct process *p = &l->items[i].process;
                uint64_t mark;

                for (size_t steps = 0; p && p->mark == 0 && steps < l->n; steps++)
                        p = running_find(l, p->stat.parent);
                mark = p && p->mark != 0 && p->pid != 1 ? p->mark : MARK_UNKNOWN;
                /* All on the way have it, too, and aren't walked through again. */
                for (p = &l->items[i].process; p && p->mark == 0; p = running_find(l, p->stat.parent))
                        p->mark = mark;
        }
}

static bool is_alive(const struct process *p) {
        return p->stat.state != 'Z' && p->stat.state != 'X';
}

static bool is_listed(const struct running *l, const struct process *p) {
        return !process_is_nsruns(l->view, p);
}

static int compare_ages(const void *a, const void *b) {
        const struct process *p = &(*(struct running_process *const *)a)->process;
        const struct process *q = &(*(struct running_process *const *)b)->process;

        if (p->mark != q->mark)
                return p->mark < q->mark ? -1 : 1;
        if (is_alive(p) != is_alive(q))
                return is_alive(p) ? -1 : 1;
        if (p->stat.start != q->stat.start)
                return p->stat.start < q->stat.start ? -1 : 1;
        return p->pid < q->pid ? -1 : p->pid > q->pid;
}

/* Finds the first of each command's. */
static int find_firsts(const struct running *l) {
        _cleanup_free_ struct running_process **by_age = calloc(l->n + 1, sizeof(struct running_process *));
        const struct process *first = NULL;
        size_t n = 0;

        if (!by_age)
                return -ENOMEM;
        for (size_t i = 0; i < l->n; i++)
                if (is_listed(l, &l->items[i].process) && l->items[i].process.mark != MARK_UNKNOWN)
                        by_age[n++] = &l->items[i];
        qsort(by_age, n, sizeof(struct running_process *), compare_ages);
        for (size_t i = 0; i < n; i++) {
                if (!first || first->mark != by_age[i]->process.mark)
                        first = &by_age[i]->process;
                by_age[i]->first = first->pid;
        }
        return 0;
}

static pid_t parent_of(const struct running *l, const struct process *p) {
        const struct process *parent = running_find(l, p->stat.parent);

        return parent ? parent->pid : 0;
}

static int look_at_running(struct running *l, struct nsrun_error *err) {
        int r = processes_each(l->view, running_add, l);

        if (r < 0)
                return r == -ENOMEM ? error_oom(err)
                                    : error_set(err, NSRUN_STAGE_SUPERVISE, r, l->view->record.id,
                                                "the session's processes can't be listed", NULL);
        find_marks(l);
        return find_firsts(l) < 0 ? error_oom(err) : 0;
}

static int describe_process(const struct running *l, size_t i, struct nsrun_session_process **ret) {
        const struct process *p = &l->items[i].process;
        struct nsrun_session_process *o = calloc(1, sizeof(*o));

        if (!o)
                return -ENOMEM;
        o->pid = p->pid;
        o->parent = parent_of(l, p);
        o->command = l->items[i].first;
        o->state = p->stat.state;
        o->age = process_age(p->stat.start);
        o->memory = p->memory;
        o->name = strdup(p->stat.name);
        o->command_line = TAKE_PTR(l->items[i].command_line);
        *ret = o;
        return o->name ? 0 : -ENOMEM;
}

nsrun_public int nsrun_session_processes(const char *id, struct nsrun_session_process ***ret,
                                         struct nsrun_error *error) {
        _cleanup_process_view_ struct process_view view = PROCESS_VIEW_INIT;
        struct running l = {.view = &view, .wants_command_lines = true};
        struct nsrun_session_process **list = NULL;
        int r = processes_open(id, &view, error);
        size_t n = 0;

        if (r >= 0)
                r = look_at_running(&l, error);
        if (r >= 0 && !(list = calloc(l.n + 1, sizeof(struct nsrun_session_process *))))
                r = error_oom(error);
        for (size_t i = 0; r >= 0 && i < l.n; i++)
                if (is_listed(&l, &l.items[i].process) && describe_process(&l, i, &list[n++]) < 0)
                        r = error_oom(error);
        running_clear(&l);
        if (r < 0)
                nsrun_session_processes_free(list);
        else
                *ret = list;
        return r < 0 ? r : 0;
}

nsrun_public struct nsrun_session_process **
nsrun_session_processes_free(struct nsrun_session_process **list) {
        for (size_t i = 0; list && list[i]; i++) {
                free(list[i]->name);
                free(list[i]->command_line);
                free(list[i]);
        }
        free(list);
        return NULL;
}

/* ------------------------------------------------------------- sent signals */

struct signalling_processes {
        const struct process_view *view;
        pid_t pid;
        const char *name; /* NULL: `pid` alone */
        int signal;
        size_t n_found;
        bool is_nsruns; /* `pid` is */
};

/* `folder` is of the process that was looked at, and so is the signal, whoever gets its number next. */
static int signal_if_meant(void *data, int folder, const struct process *p) {
        struct signalling_processes *s = data;
        int r;

        if (!is_alive(p) || !(s->name ? process_has_name(folder, p, s->name) : p->pid == s->pid))
                return 0;
        if (process_is_nsruns(s->view, p)) {
                s->is_nsruns = true;
                return 0;
        }
        r = sys_pidfd_send_signal(folder, s->signal);
        if (r >= 0)
                s->n_found++;
        return r == -ESRCH || r >= 0 ? 0 : r;
}

static int refuse_signalling(pid_t pid, const char *name, int signal, struct nsrun_error *err) {
        char number[24];

        (void)snprintf(number, sizeof(number), "%d", signal);
        if (signal < 1 || signal > SIGNAL_MOST)
                return error_set(err, NSRUN_STAGE_USAGE, -EINVAL, number, "no signal has that number", NULL);
        if (name && !*name)
                return error_set(err, NSRUN_STAGE_USAGE, -EINVAL, NULL, "an empty name names nothing", NULL);
        (void)snprintf(number, sizeof(number), "%d", (int)pid);
        return name || pid > 0 ? 0
                               : error_set(err, NSRUN_STAGE_USAGE, -EINVAL, number,
                                           "no process has that number", NULL);
}

nsrun_public int nsrun_session_signal(const char *id, pid_t pid, const char *name, int signal, size_t *ret_n,
                                      struct nsrun_error *error) {
        _cleanup_process_view_ struct process_view view = PROCESS_VIEW_INIT;
        struct signalling_processes s = {.view = &view, .pid = pid, .name = name, .signal = signal};
        int r = refuse_signalling(pid, name, signal, error);
        char number[24];

        if (r >= 0)
                r = processes_open(id, &view, error);
        if (r < 0)
                return r;
        (void)snprintf(number, sizeof(number), "%d", (int)pid);
        r = processes_each(&view, signal_if_meant, &s);
        if (r < 0)
                return error_set(error, NSRUN_STAGE_SUPERVISE, r, name ? name : number,
                                 "the signal can't be sent", NULL);
        if (s.n_found == 0 && s.is_nsruns && !name)
                return error_set(error, NSRUN_STAGE_SUPERVISE, -EPERM, number, "this process is nsrun's own",
                                 "'nsrun session stop ID' ends the session");
        if (s.n_found == 0)
                return error_set(error, NSRUN_STAGE_SUPERVISE, UNSAID(-ESRCH), name ? name : number,
                                 name ? "no process of the session has that name"
                                      : "no process of the session has that number",
                                 "'nsrun session ps ID' lists them");
        if (ret_n)
                *ret_n = s.n_found;
        return 0;
}

/* ------------------------------------------------------------------ counted */

/* Whether it stands for a command that runs: its first process or, where commands are isolated without pid
 * namespaces, its reaper. */
static bool is_command(const struct running *l, const struct process *p) {
        if (!is_alive(p) || p->pid == 1)
                return false;
        if (l->view->record.is_nested)
                return p->depth == 1 && p->innermost == 2;
        return p->stat.parent == 0 && is_listed(l, p) != l->view->record.plan->isolates_commands;
}

/* 0: there is no cgroup that counts memory. */
static uint64_t cgroup_memory(const char *cgroup) {
        _cleanup_free_ char *path = cgroup ? path_join(cgroup, "memory.current") : NULL;
        char text[32] = "";

        if (path)
                (void)read_kernel_file(AT_FDCWD, path, text, sizeof(text));
        return strtoull(text, NULL, 10);
}

static int usage_take(const struct process_view *view, struct nsrun_session_usage *ret,
                      struct nsrun_error *err) {
        struct running l = {.view = view};
        struct occupied occupied = {0};
        int r = look_at_running(&l, err);

        for (size_t i = 0; r >= 0 && i < l.n; i++) {
                const struct process *p = &l.items[i].process;

                ret->n_commands += is_command(&l, p);
                if (!is_listed(&l, p))
                        continue;
                ret->n_processes++;
                ret->memory += p->memory;
        }
        running_clear(&l);
        if (r < 0)
                return r;
        ret->cgroup_memory = cgroup_memory(view->record.cgroup);
        if (view->record.rundir && occupied_by(view->record.rundir, &occupied) < 0)
                occupied.is_more = true;
        ret->disk = occupied.bytes;
        ret->is_disk_more = occupied.is_more;
        return 0;
}

nsrun_public int nsrun_session_usage(const char *id, struct nsrun_session_usage *ret,
                                     struct nsrun_error *error) {
        struct nsrun_session_usage usage = NSRUN_SESSION_USAGE_INIT;
        _cleanup_process_view_ struct process_view view = PROCESS_VIEW_INIT;
        int r = sized_check(ret, "nsrun_session_usage", error);

        if (r >= 0)
                r = processes_open(id, &view, error);
        if (r >= 0)
                r = usage_take(&view, &usage, error);
        if (r >= 0)
                sized_move(ret, &usage);
        return r < 0 ? r : 0;
}

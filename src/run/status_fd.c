/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes the lines of --status-fd. */
#include "status_fd.h"

#include "explain/json_line.h"

#include <sys/wait.h>

#include "base/file.h"
#include "plan/print.h"

static int write_event(int fd, struct json_document *d) {
        return json_write_line(fd, d, "", NULL, NULL);
}

/* What fails here write_event() tells of. */
static struct json_document open_event(const char *event) {
        struct json_document d = json_begin();

        json_add_string(&d, d.root, "event", event);
        return d;
}

/* The command's pid in nsrun's own pid namespace: it is pid 1's child, and pid 2 inside.  0: it has
 * ended already, or the kernel lists no children (CONFIG_PROC_CHILDREN). */
static uint64_t find_command(pid_t init, bool is_plain) {
        char name[48], children[32], status[4096];
        const char *pids;
        uint64_t pid;

        (void)snprintf(name, sizeof(name), "task/%d/children", init);
        if (read_process_file(init, name, children, sizeof(children)) <= 0)
                return 0;
        pid = strtoull(children, NULL, 10);
        if (is_plain)
                return pid;
        if (read_process_file((pid_t)pid, "status", status, sizeof(status)) <= 0)
                return 0;
        pids = strstr(status, "\nNSpid:");
        if (!pids)
                return 0;
        pids += strcspn(pids + 1, "\n") - 1;
        return startswith(pids, "\t2\n") ? pid : 0;
}

int status_started(int fd, const struct nsrun_plan *plan, const struct launch *l,
                   const struct launch_report *report, const char *pids_limit, char *const *lesser) {
        const struct launch_namespaces *n = &report->namespaces;
        const struct {
                const char *name;
                uint64_t inode;
        } all[] = {{"user", n->user}, {"mnt", n->mnt}, {"pid", n->pid},
                   {"ipc", n->ipc},   {"uts", n->uts}, {"net", n->net}};
        _cleanup_json_ struct json_document d = open_event("started");
        struct json_value *namespaces, *landlock;
        uint64_t command = l->pid > 0 ? find_command(l->pid, l->is_plain) : 0;

        if (l->pid > 0)
                json_add_number(&d, d.root, "init_pid", (uint64_t)l->pid);
        if (command > 0)
                json_add_number(&d, d.root, "command_pid", command);
        json_add_bool(&d, d.root, "sandbox", !l->is_plain);
        namespaces = l->is_plain ? NULL : json_add_object(&d, d.root, "namespaces");
        for (size_t i = 0; namespaces && i < ARRAY_SIZE(all); i++)
                json_add_number(&d, namespaces, all[i].name, all[i].inode);
        json_add_string(&d, d.root, "seccomp", plan->seccomp_name);
        landlock = json_add_object(&d, d.root, "landlock");
        json_add_bool(&d, landlock, "scoped", plan->is_scoped);
        json_add_number(&d, landlock, "abi", (uint64_t)plan->landlock_abi);
        if (pids_limit)
                json_add_string(&d, d.root, "pids_limit", pids_limit);
        print_json_add_degraded(&d, d.root, lesser);
        return write_event(fd, &d);
}

int status_note(int fd, const struct nsrun_error *note) {
        _cleanup_json_ struct json_document d = open_event("note");

        json_add_string(&d, d.root, "message", note->what);
        json_add_string(&d, d.root, "path", note->path);
        return write_event(fd, &d);
}

int status_reason(int fd, const char *text) {
        _cleanup_json_ struct json_document d = open_event("reason");

        json_add_string(&d, d.root, "text", text);
        return write_event(fd, &d);
}

int status_exited(int fd, int status, bool has_oom_kill, bool timed_out) {
        _cleanup_json_ struct json_document d = open_event("exited");

        if (WIFSIGNALED(status))
                json_add_number(&d, d.root, "signal", (uint64_t)WTERMSIG(status));
        else
                json_add_number(&d, d.root, "code", (uint64_t)WEXITSTATUS(status));
        if (has_oom_kill)
                json_add_bool(&d, d.root, "oom_kill", true);
        if (timed_out)
                json_add_bool(&d, d.root, "timed_out", true);
        return write_event(fd, &d);
}

int status_failed(int fd, const struct nsrun_error *failure) {
        _cleanup_json_ struct json_document d = open_event("failed");

        json_add_string(&d, d.root, "stage", nsrun_stage_name(failure->stage));
        json_add_number(&d, d.root, "errno", (uint64_t)failure->error);
        json_add_string(&d, d.root, "path", failure->path);
        json_add_string(&d, d.root, "message", failure->what);
        json_add_string(&d, d.root, "hint", failure->hint);
        json_add_string(&d, d.root, "id", nsrun_error_name(failure->id));
        return write_event(fd, &d);
}

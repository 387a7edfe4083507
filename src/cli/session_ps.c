/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What runs in sessions, printed; and signals for it. */
#include "session_ps.h"

#include <signal.h>
#include <strings.h>
#include <time.h>

#include "option.h"

/* More of a command line is for --json. */
#define COMMAND_LINE_SHOWN 160

/* ------------------------------------------------------------------ numbers */

const char *short_age(unsigned long long seconds, char to[SHORT_SIZE]) {
        static const struct {
                unsigned long long from, unit;
                char letter;
        } units[] = {{2 * 86400, 86400, 'd'}, {2 * 3600, 3600, 'h'}, {2 * 60, 60, 'm'}, {0, 1, 's'}};
        size_t i = 0;

        while (seconds < units[i].from)
                i++;
        (void)snprintf(to, SHORT_SIZE, "%llu%c", seconds / units[i].unit, units[i].letter);
        return to;
}

/* "812K", "1.2M"; what is no whole number of them is rounded up, so that 0 is nothing. */
const char *short_size(unsigned long long bytes, bool is_more, char to[SHORT_SIZE]) {
        static const char letters[] = "KMGTPE";
        unsigned long long unit = 1024;
        size_t i = 0;

        while (i + 2 < sizeof(letters) && bytes / unit >= 1024) {
                unit *= 1024;
                i++;
        }
        if (i > 0 && bytes / unit < 10)
                (void)snprintf(to, SHORT_SIZE, "%s%u.%u%c", is_more ? ">" : "", (unsigned)(bytes / unit),
                               (unsigned)(bytes % unit / (unit / 1024) * 10 / 1024), letters[i]);
        else
                (void)snprintf(to, SHORT_SIZE, "%s%llu%c", is_more ? ">" : "",
                               bytes / unit + (bytes % unit != 0), letters[i]);
        return to;
}

/* ---------------------------------------------------------------- processes */

char *short_text(const char *text, size_t most) {
        _cleanup_free_ char *visible = NULL, *head = NULL;
        size_t n = most;

        if (strlen(text) <= n)
                return str_visible(text);
        /* Not in the middle of a character of UTF-8. */
        while (n > most - 4 && ((unsigned char)text[n] & 0xc0) == 0x80)
                n--;
        head = strndup(text, n);
        visible = str_visible(head);
        return visible ? str_concat(visible, "...", "") : NULL;
}

/* The command line, in brackets the name of what has none. */
static char *shown_command(const struct nsrun_session_process *p) {
        _cleanup_free_ char *name = str_concat("[", p->name, "]");

        return name ? short_text(*p->command_line ? p->command_line : name, COMMAND_LINE_SHOWN) : NULL;
}

static int print_process(const struct nsrun_session_process *p, struct nsrun_error *err) {
        char age[SHORT_SIZE], memory[SHORT_SIZE], command[SHORT_SIZE] = "-";
        _cleanup_free_ char *text = shown_command(p);

        if (!text)
                return error_oom(err);
        if (p->command > 0)
                (void)snprintf(command, sizeof(command), "%d", (int)p->command);
        (void)printf("%7d %7d %7s %c %5s %6s  %s\n", (int)p->pid, (int)p->parent, command, p->state,
                     short_age(p->age, age), short_size(p->memory, false, memory), text);
        return 0;
}

static void add_process(struct json_document *d, struct json_value *array,
                        const struct nsrun_session_process *p) {
        struct json_value *o = json_add_object(d, array, NULL);

        json_add_number(d, o, "pid", (uint64_t)p->pid);
        json_add_number(d, o, "parent", (uint64_t)p->parent);
        json_add_number(d, o, "command", (uint64_t)p->command);
        json_add_string(d, o, "state", (const char[]){p->state, '\0'});
        json_add_number(d, o, "age", p->age);
        json_add_number(d, o, "memory", p->memory);
        json_add_string(d, o, "name", p->name);
        json_add_string(d, o, "command_line", p->command_line);
}

static int print_processes_json(struct nsrun_session_process *const *list, struct nsrun_error *err) {
        _cleanup_json_ struct json_document d = json_begin();
        struct json_value *array;

        array = json_add_array(&d, d.root, "processes");
        for (size_t i = 0; list[i]; i++)
                add_process(&d, array, list[i]);
        return option_print_json(&d, false, err);
}

int session_print_processes(const char *id, bool wants_json, struct nsrun_error *err) {
        struct nsrun_session_process **list = NULL;
        int r = nsrun_session_processes(id, &list, err);

        if (r < 0)
                return r;
        if (wants_json) {
                r = print_processes_json(list, err);
        } else {
                (void)printf("%7s %7s %7s S %5s %6s  %s\n", "PID", "PPID", "FIRST", "AGE", "MEMORY",
                             "COMMAND");
                for (size_t i = 0; list[i] && r >= 0; i++)
                        r = print_process(list[i], err);
        }
        (void)nsrun_session_processes_free(list);
        return r;
}

int session_send_signal(const char *id, const char *who, int signal, struct nsrun_error *err) {
        uint64_t pid = 0;
        bool is_pid = str_parse_number(who, false, &pid) >= 0 && pid <= INT32_MAX;
        size_t n = 0;
        int r = nsrun_session_signal(id, (pid_t)(is_pid ? pid : 0), is_pid ? NULL : who, signal, &n, err);

        if (r >= 0)
                (void)printf("signalled %zu process%s\n", n, n == 1 ? "" : "es");
        return r;
}

/* ----------------------------------------------------------------- sessions */

static unsigned long long age_of(const struct nsrun_session_info *info) {
        long long now = (long long)time(NULL);

        return now > info->started ? (unsigned long long)(now - info->started) : 0;
}

static unsigned long long memory_of(const struct nsrun_session_usage *usage) {
        return usage->cgroup_memory > 0 ? usage->cgroup_memory : usage->memory;
}

void session_print_header(void) {
        (void)printf("%-12s %5s %5s %4s %5s %6s %7s  %s\n", "ID", "AGE", "IDLE", "CMDS", "PROCS", "MEMORY",
                     "DISK", "PROJECT");
}

void session_print_row(const struct nsrun_session_info *info, const struct nsrun_session_usage *usage) {
        _cleanup_free_ char *root = str_visible(info->root ? info->root : "-");
        char age[SHORT_SIZE], idle[SHORT_SIZE], memory[SHORT_SIZE], disk[SHORT_SIZE];

        (void)printf("%-12s %5s %5s %4zu %5zu %6s %7s  %s\n", info->id, short_age(age_of(info), age),
                     short_age(info->idle, idle), usage->n_commands, usage->n_processes,
                     short_size(memory_of(usage), false, memory),
                     short_size(usage->disk, usage->is_disk_more, disk), root ? root : "");
}

void session_print_usage(const struct nsrun_session_info *info, const struct nsrun_session_usage *usage) {
        char age[SHORT_SIZE], memory[SHORT_SIZE], disk[SHORT_SIZE];

        (void)printf("age:          %s\nrunning:      %zu command%s, %zu process%s\n"
                     "memory:       %s\ndisk:         %s%s\n",
                     short_age(age_of(info), age), usage->n_commands, usage->n_commands == 1 ? "" : "s",
                     usage->n_processes, usage->n_processes == 1 ? "" : "es",
                     short_size(memory_of(usage), false, memory), usage->is_disk_more ? "more than " : "",
                     short_size(usage->disk, false, disk));
}

void session_add_usage(struct json_document *d, struct json_value *o, const struct nsrun_session_info *info,
                       const struct nsrun_session_usage *usage) {
        json_add_string(d, o, "root", info->root);
        json_add_number(d, o, "age", age_of(info));
        json_add_number(d, o, "running", usage->n_commands);
        json_add_number(d, o, "processes", usage->n_processes);
        json_add_number(d, o, "memory", memory_of(usage));
        json_add_string(d, o, "memory_by", usage->cgroup_memory > 0 ? "cgroup" : "processes");
        json_add_number(d, o, "disk", usage->disk);
        json_add_bool(d, o, "disk_is_more", usage->is_disk_more);
}

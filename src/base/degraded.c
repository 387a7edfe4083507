/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table, notes and refusals made of it, and lists of its names.  causes.awk reads the rows, too. */
#include "degraded.h"

#include "str.h"

#define STRICT "--strict: "

/* A row; whether it is_quiet, and is_no_note, may follow. */
#define LESSER(id, name, when, lack, instead, fix, tested, ...) \
        [id] = {NSRUN_ERROR_##id, name, when, lack, instead, fix, .test = (tested), __VA_ARGS__}

const struct degraded degraded[N_DEGRADED] = {
        LESSER(DEGRADED_LANDLOCK, "landlock",
               "The kernel has no Landlock, or one before ABI 6 (Linux 6.12), and --landlock is auto.",
               "the kernel's Landlock can't keep abstract sockets inside",
               "a command in the host's network can reach those of the host",
               "boot Linux 6.12 or later with CONFIG_SECURITY_LANDLOCK=y and landlock in its parameter "
               "lsm=",
               "a_kernel_without_landlock_is_a_degradation", .is_quiet = true, .is_no_note = true),
        LESSER(DEGRADED_CGROUP_NAMESPACE, "cgroup-namespace",
               "The kernel gives no cgroup namespace (EINVAL, ENOSPC), as within another nsrun.",
               "no cgroup namespace can be had", "/proc/self/cgroup names the cgroup outside",
               "sudo sysctl -w user.max_cgroup_namespaces=15000, on a kernel with CONFIG_CGROUPS; a "
               "sandbox of nsrun's gives none",
               "a_cgroup_namespace_that_is_missing_is_a_degradation", .is_quiet = true, .is_no_note = true),
        LESSER(DEGRADED_COUNTERS, "counters", "/proc/sys is read-only, as containers have it.",
               "in a container's read-only /proc/sys commands can't be bounded",
               "they may make cgroup namespaces, and use up the user's inotify instances",
               "make the container's /proc/sys writable", "a_read_only_proc_sys_is_a_degradation"),
        LESSER(DEGRADED_PROC_SUBSET, "proc-subset",
               "A new /proc is refused, one with subset=pid isn't, and --proc is auto.",
               "a full /proc is refused here", "mounted with subset=pid",
               "run the container with an unmasked /proc, or choose --proc=subset",
               "a_masked_proc_is_a_degradation"),
        LESSER(DEGRADED_PROC_NONE, "proc-none", "That one is refused, too.", "no /proc can be mounted here",
               "the sandbox has none",
               "run the container with an unmasked /proc, or choose --proc=bind (which shows the host's "
               "processes) or --proc=none",
               "a_masked_proc_is_a_degradation"),
        LESSER(DEGRADED_CACHE_IN_MEMORY, "cache-in-memory",
               "The cache folder can't carry the layers of a default cache's overlay, or can't be made, "
               "and memory can.",
               "no overlay on disk can be had for this cache", "its overlay is in memory",
               "point XDG_CACHE_HOME at a local disk, or choose --overlay-backing=tmpfs",
               "a_cache_that_is_degraded_is_listed_and_strict_refuses_it"),
        LESSER(DEGRADED_CACHE_READ_ONLY, "cache-read-only", "No overlay can be laid over a default cache.",
               "no overlay can be had for this cache", "it is read-only",
               "name the folder with --ro or --rw",
               "a_cache_that_is_degraded_is_listed_and_strict_refuses_it"),
        LESSER(DEGRADED_CACHE_EMPTY, "cache-empty",
               "A default cache can't be opened, or not be bound either.", "this cache can't be shown",
               "it is empty inside", "let yourself read the folder (chmod u+rwx)",
               "a_cache_that_is_degraded_is_listed_and_strict_refuses_it"),
        LESSER(DEGRADED_GIT_CONFIG, "git-config-read-only",
               "No run directory can be made, or it can't carry an overlay's layers.",
               "what is protected can't be the command's own", "it is read-only",
               "point XDG_CACHE_HOME at a folder of your own", "without_a_run_directory_nothing_is_carried"),
        LESSER(DEGRADED_PIDS, "pids-by-rlimit",
               "--limit pids is asked for, and no cgroup can be made for it.",
               "no cgroup can be made to bound the number of processes", "RLIMIT_NPROC bounds it",
               "nsrun doctor tells what gives one", "processes_bounded_by_an_rlimit_are_a_degradation",
               .is_quiet = true),
        LESSER(DEGRADED_LEFTOVERS, "leftovers",
               "The user has no uts namespace left (ENOSPC) for a command that joins a session.",
               "the user has no uts namespace left to know the command's processes by",
               "those that leave its session live on", "sudo sysctl -w user.max_uts_namespaces=15000",
               "a_joined_command_without_a_mark_is_a_degradation"),
};

_Static_assert(sizeof(((struct nsrun_error *)0)->what) >= 512, "a row's words have room");

void degraded_note(struct nsrun_error *ret, enum degraded_id id, const char *path) {
        struct nsrun_error note = {0};
        char what[sizeof(note.what)] = "";

        strcat(what, degraded[id].lack);
        strcat(what, ": ");
        strcat(what, degraded[id].instead);
        (void)error_set_id(&note, degraded[id].error, NSRUN_STAGE_MOUNT, 0, path, what, NULL);
        *ret = note;
}

int degraded_refuse(struct nsrun_error *err, enum degraded_id id, const char *path, const char *hint) {
        char what[sizeof(err->what)] = STRICT;

        strcat(what, degraded[id].lack);
        return error_set_id(err, degraded[id].error, NSRUN_STAGE_POLICY, UNSAID(-EOPNOTSUPP), path, what,
                            hint ? hint : degraded[id].fix);
}

/* The row of an identifier; NULL: it is none of the table's. */
static const struct degraded *degraded_of(enum nsrun_error_id id) {
        for (size_t i = 0; i < N_DEGRADED; i++)
                if (degraded[i].error == id)
                        return &degraded[i];
        return NULL;
}

bool degraded_is_refusal(const struct nsrun_error *err) {
        return err->stage == NSRUN_STAGE_POLICY && degraded_of(err->id);
}

const struct degraded *degraded_find(const struct nsrun_error *note) {
        return note->stage == NSRUN_STAGE_POLICY ? NULL : degraded_of(note->id);
}

int degraded_add(char ***list, const struct degraded *row, const char *path) {
        char *entry = NULL;

        entry = str_format("%s%s%s", row->name, path && *path ? " " : "", path ? path : "");
        if (!entry)
                return -ENOMEM;
        if (!strv_contains(*list, entry))
                return strv_consume(list, entry);
        free(entry);
        return 0;
}

const struct degraded *degraded_read(const char *entry, const char **ret_path) {
        for (size_t i = 0; i < N_DEGRADED; i++) {
                const char *rest = startswith(entry, degraded[i].name);

                if (!rest || (*rest && *rest != ' '))
                        continue;
                *ret_path = *rest ? rest + 1 : NULL;
                return &degraded[i];
        }
        return NULL;
}

nsrun_public char *nsrun_degraded_format(const char *entry) {
        const char *path = NULL;
        const struct degraded *row = degraded_read(entry, &path);
        struct nsrun_error note;

        if (!row)
                return NULL;
        degraded_note(&note, (enum degraded_id)(row - degraded), path);
        return nsrun_error_format(&note);
}

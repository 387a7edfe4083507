/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The base of every sandbox, which a rule may cover: system roots, /dev, /proc, /tmp and
 * the home folder. */
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/path.h"
#include "build.h"
#include "disk/rundir.h"
#include "host/project.h"

static const char *const system_roots[] = {"/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32"};

static const char *const devices[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                      "/dev/random", "/dev/urandom", "/dev/tty"};

/* Ways from a process into the kernel's settings.  The folder is read-only for
 * everybody. */
static const char *const proc_covers[] = {"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"};

/* Root's uid owns these and may write there with no capability at all. */
static const char *const proc_covers_for_root[] = {
        "/proc/acpi", "/proc/asound",        "/proc/driver", "/proc/dynamic_debug", "/proc/fs",
        "/proc/mtrr", "/proc/latency_stats", "/proc/scsi",   "/proc/timer_stats",   "/proc/tty",
};

/* And may read these, which tell of the whole machine. */
static const char *const proc_hidden_for_root[] = {
        "/proc/kcore",      "/proc/keys",        "/proc/kpagecgroup", "/proc/kpagecount",
        "/proc/kpageflags", "/proc/sched_debug", "/proc/timer_list",  "/proc/vmallocinfo",
};

/* A symlink on the host (/lib -> usr/lib) is the same symlink inside. */
static void collect_roots(struct entries *e) {
        for (size_t i = 0; i < ARRAY_SIZE(system_roots); i++) {
                char text[PATH_MAX];
                ssize_t n;

                n = readlink(system_roots[i], text, sizeof(text) - 1);
                if (n > 0) {
                        text[n] = '\0';
                        entries_add_symlink(e, ENTRY_OWN, text, system_roots[i]);
                } else
                        entries_add_present(e, system_roots[i]);
        }
}

static int base_add_device(struct entries *e, const char *source, const char *target) {
        struct plan_op *op;
        struct stat st;

        if (lstat(source, &st) < 0 || !S_ISCHR(st.st_mode))
                return 0;
        op = entries_add(e, ENTRY_OWN, PLAN_BIND, target);
        op->is_device = true;
        op->source = strdup(source);
        return op->source ? 0 : -ENOMEM;
}

/* The terminal behind one of our standard streams, for /dev/console. */
static int base_add_console(struct entries *e) {
        for (int fd = 0; fd <= 2; fd++) {
                char link[32], path[PATH_MAX];
                ssize_t n;

                if (!isatty(fd))
                        continue;
                (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
                n = readlink(link, path, sizeof(path) - 1);
                if (n <= 0)
                        continue;
                path[n] = '\0';
                if (path_is_beneath(path, "/dev"))
                        return base_add_device(e, path, "/dev/console");
        }
        return 0;
}

static int collect_dev(struct entries *e, const struct resolved *s) {
        struct plan_op *op;
        int r;

        for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
                r = base_add_device(e, devices[i], devices[i]);
                if (r < 0)
                        return r;
        }
        op = entries_add(e, ENTRY_OWN, PLAN_DEVPTS, "/dev/pts");
        op->text = strdup("newinstance,ptmxmode=0666,mode=0620");
        if (!op->text)
                return -ENOMEM;
        entries_add_symlink(e, ENTRY_OWN, "pts/ptmx", "/dev/ptmx");
        entries_add_symlink(e, ENTRY_OWN, "/proc/self/fd", "/dev/fd");
        entries_add_symlink(e, ENTRY_OWN, "/proc/self/fd/0", "/dev/stdin");
        entries_add_symlink(e, ENTRY_OWN, "/proc/self/fd/1", "/dev/stdout");
        entries_add_symlink(e, ENTRY_OWN, "/proc/self/fd/2", "/dev/stderr");
        entries_add_tmpfs(e, ENTRY_OWN, "/dev/shm", 01777, s->policy->tmpfs_size);
        return base_add_console(e);
}

static int collect_proc_for_root(struct entries *e, enum policy_proc proc) {
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(proc_covers_for_root); i++)
                if (access(proc_covers_for_root[i], F_OK) == 0)
                        (void)entries_add(e, ENTRY_OWN, PLAN_COVER, proc_covers_for_root[i]);
        /* What "auto" comes to may not have them. */
        for (size_t i = 0; proc != POLICY_PROC_AUTO && i < ARRAY_SIZE(proc_hidden_for_root) && r >= 0; i++)
                if (access(proc_hidden_for_root[i], F_OK) == 0)
                        r = base_add_device(e, "/dev/null", proc_hidden_for_root[i]);
        return r;
}

static int collect_proc(struct entries *e, const struct resolved *s) {
        struct plan_op *op = entries_add(e, ENTRY_OWN, PLAN_PROC, "/proc");

        op->proc = s->policy->proc;
        /* A nested user namespace may mount a full /proc unless the one it sees has
         * something covered (mount_too_revealing(), 4.2): subset=pid alone is undone. */
        if (s->policy->proc == POLICY_PROC_SUBSET || s->policy->proc == POLICY_PROC_AUTO)
                (void)entries_add(e, ENTRY_OWN, PLAN_COVER, "/proc/1/task");
        if (s->policy->proc == POLICY_PROC_NONE || s->policy->proc == POLICY_PROC_SUBSET)
                return 0;
        for (size_t i = 0; i < ARRAY_SIZE(proc_covers); i++)
                (void)entries_add(e, ENTRY_OWN, PLAN_COVER, proc_covers[i]);
        return s->uid == 0 ? collect_proc_for_root(e, s->policy->proc) : 0;
}

static int add_scratch(struct entries *e, enum entry_origin origin, const char *target,
                       const struct resolved *s, const char *source) {
        struct plan_op *op = entries_add(e, origin, PLAN_BIND, target);

        op->is_directory = true;
        op->is_in_rundir = true;
        /* What stands in for it where there are no run directories (bubblewrap). */
        op->mode = 01777;
        op->size = s->policy->tmpfs_size;
        op->source = strdup(source);
        return op->source ? 0 : -ENOMEM;
}

/* At /tmp and at its host path, so that a name means the same on both sides. */
static int collect_scratch(struct entries *e, const struct resolved *s, struct nsrun_error *err) {
        _cleanup_free_ char *base = NULL, *path = NULL;
        int r;

        r = rundir_find_base(&base, err);
        if (r < 0)
                return r;
        if (asprintf(&path, "%s/" RUNDIR_NAME "/" RUNDIR_SCRATCH, base) < 0) {
                path = NULL;
                return -ENOMEM;
        }
        r = add_scratch(e, ENTRY_EXPLICIT, "/tmp", s, path);
        return r < 0 ? r : add_scratch(e, ENTRY_DEFAULT, path, s, path);
}

static int collect_tmp(struct entries *e, const struct resolved *s, struct nsrun_error *err) {
        struct plan_op *op;

        if (s->has_scratch)
                return collect_scratch(e, s, err);
        if (!s->tmp.source) {
                entries_add_tmpfs(e, ENTRY_OWN, "/tmp", 01777, s->policy->tmpfs_size);
                return 0;
        }
        op = entries_add(e, ENTRY_EXPLICIT, PLAN_BIND, "/tmp");
        op->is_directory = true;
        op->source = strdup(s->tmp.source);
        return op->source ? 0 : -ENOMEM;
}

/* The layers of other runs, where a rule shows the cache folder: at its own place, or with a
 * folder above it at another. */
static int hide_rundirs(struct entries *e, const struct resolved *s) {
        _cleanup_free_ char *base = NULL;
        int r = rundir_find_base(&base, NULL);

        if (r < 0)
                return r == -ENOMEM ? r : 0;
        entries_add_hidden(e, base, base);
        for (size_t i = 0; i < s->n_rules; i++) {
                const char *below = path_below(base, s->rules[i].source);
                _cleanup_free_ char *joined = NULL, *place = NULL;

                if (!below || !*below || streq(s->rules[i].source, s->rules[i].target))
                        continue;
                if (asprintf(&joined, "%s/%s", s->rules[i].target, below) < 0)
                        joined = NULL;
                place = joined ? path_normalise(joined) : NULL;
                if (!place)
                        return -ENOMEM;
                entries_add_hidden(e, place, base);
        }
        return 0;
}

int collect_base(struct entries *e, const struct resolved *s, struct nsrun_error *err) {
        int r;

        collect_roots(e);
        r = collect_dev(e, s);
        if (r < 0)
                return r;
        r = collect_proc(e, s);
        if (r < 0)
                return r;
        r = collect_tmp(e, s, err);
        if (r >= 0)
                r = hide_rundirs(e, s);
        if (r < 0)
                return r;
        /* Its own small tmpfs: ~/.gradle/daemon can be made while
         * ~/.gradle/gradle.properties does not exist.  Not where home is a system
         * folder (a daemon's "/usr/sbin"), which it would hide. */
        if (s->home && (streq(s->home, "/root") || !writable_denied(s->home)))
                entries_add_tmpfs(e, ENTRY_OWN, s->home, 0700, s->policy->tmpfs_size);
        STRV_FOREACH (folder, s->ephemeral)
                entries_add_tmpfs(e, ENTRY_OWN, *folder, 0700, s->policy->tmpfs_size);
        /* A mount point can't be renamed over, and this one is always empty. */
        STRV_FOREACH (name, s->reserved) {
                r = base_add_device(e, "/dev/null", *name);
                if (r < 0)
                        return r;
        }
        if (s->policy->no_project)
                entries_add_tmpfs(e, ENTRY_OWN, "/workspace", 0755, s->policy->tmpfs_size);
        return 0;
}

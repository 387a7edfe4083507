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

/* Files of /proc that change the kernel's settings: each is covered with a read-only mount of
 * itself, for every user, but in a whole /proc (struct resolved's has_whole_proc). */
static const char *const proc_covers[] = {"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"};

/* Files of /proc that host uid 0 owns, and may therefore write without any capability: covered too
 * where the sandbox's user is root. */
static const char *const proc_covers_for_root[] = {
        "/proc/acpi", "/proc/asound",        "/proc/driver", "/proc/dynamic_debug", "/proc/fs",
        "/proc/mtrr", "/proc/latency_stats", "/proc/scsi",   "/proc/timer_stats",   "/proc/tty",
};

/* Files of /proc that host uid 0 may read without any capability, and that tell of the whole
 * machine: hidden behind /dev/null where the sandbox's user is root. */
static const char *const proc_hidden_for_root[] = {
        "/proc/allocinfo",  "/proc/kcore",      "/proc/keys",         "/proc/kpagecgroup",
        "/proc/kpagecount", "/proc/kpageflags", "/proc/pagetypeinfo", "/proc/sched_debug",
        "/proc/slabinfo",   "/proc/timer_list", "/proc/vmallocinfo",  "/proc/vmcore",
};

/* Keys of the host's network, which root alone may read there; those of interfaces that are yet to come lie
 * in the folder, too. */
static const char *const proc_hidden_keys[] = {"/proc/sys/net/ipv4/tcp_fastopen_key",
                                               "/proc/sys/net/ipv6/conf"};

/* The system roots.  One that is a symlink on the host (/lib -> usr/lib) becomes the same symlink
 * inside, and where it leads to is shown. */
static int collect_roots(struct entries *e, const struct resolved *s) {
        for (size_t i = 0; i < ARRAY_SIZE(system_roots); i++) {
                char text[PATH_MAX];
                ssize_t n = readlink(system_roots[i], text, sizeof(text) - 1);

                if (n > 0) {
                        text[n] = '\0';
                        entries_add_symlink(e, ENTRY_OWN, text, system_roots[i]);
                        /* The usual one costs no further look. */
                        if (!startswith(text, "usr/") && entries_add_way(e, s, system_roots[i]) < 0)
                                return -ENOMEM;
                } else if (errno != ENOENT)
                        entries_add_present(e, system_roots[i]);
        }
        return 0;
}

static bool has_device(const char *path) {
        struct stat st;

        return lstat(path, &st) == 0 && S_ISCHR(st.st_mode);
}

static int base_add_device(struct entries *e, const char *source, const char *target) {
        struct plan_op *op;

        if (!has_device(source))
                return 0;
        op = entries_add(e, ENTRY_OWN, PLAN_BIND, target);
        op->origin = PLAN_BY_SYSTEM;
        op->is_device = true;
        op->source = strdup(source);
        return op->source ? 0 : -ENOMEM;
}

static int base_add_hide(struct entries *e, const char *target, bool is_directory) {
        struct plan_op *op = entries_add(e, ENTRY_OWN, PLAN_HIDE, target);

        op->origin = PLAN_BY_SYSTEM;
        op->is_directory = is_directory;
        op->proc = POLICY_PROC_AUTO;
        op->source = strdup(target);
        return op->source ? 0 : -ENOMEM;
}

/* Puts a file at `target` that is empty, or, on a host without /dev/null, can't be opened.  The kernel lets
 * nobody rename another file over a mount point. */
static int base_add_blank(struct entries *e, const char *target) {
        bool has_null = false;

        /* It was looked at, unless the sandbox goes without. */
        for (size_t i = 0; i < e->n && !has_null; i++)
                has_null = e->items[i].op.is_device && e->items[i].op.source &&
                           streq(e->items[i].op.source, "/dev/null");
        if (!has_null && !has_device("/dev/null"))
                return base_add_hide(e, target, false);
        struct plan_op *op = entries_add(e, ENTRY_OWN, PLAN_BIND, target);

        op->origin = PLAN_BY_SYSTEM;
        op->is_device = true;
        op->proc = POLICY_PROC_AUTO;
        op->source = strdup("/dev/null");
        return op->source ? 0 : -ENOMEM;
}

/* Shows the command's terminal as /dev/console: its own, else the one behind one of nsrun's own descriptors
 * 0 to 2.  One of another /dev, as a container's caller may have it, is none here: its path is another's. */
static int base_add_console(struct entries *e, const struct resolved *s) {
        char path[PATH_MAX];

        if (s->terminal)
                return base_add_device(e, s->terminal, "/dev/console");
        /* On that nsrun asks. */
        if (policy_asks(s->policy))
                return 0;
        for (int fd = 0; fd <= 2; fd++)
                if (ttyname_r(fd, path, sizeof(path)) == 0 && path_is_beneath(path, "/dev"))
                        return base_add_device(e, path, "/dev/console");
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
        return base_add_console(e, s);
}

static int collect_proc_for_root(struct entries *e, enum policy_net net) {
        struct stat st;
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(proc_covers_for_root); i++)
                if (access(proc_covers_for_root[i], F_OK) == 0)
                        (void)entries_add(e, ENTRY_OWN, PLAN_COVER, proc_covers_for_root[i]);
        for (size_t i = 0; i < ARRAY_SIZE(proc_hidden_for_root) && r >= 0; i++)
                if (access(proc_hidden_for_root[i], F_OK) == 0)
                        r = base_add_blank(e, proc_hidden_for_root[i]);
        for (size_t i = 0; i < ARRAY_SIZE(proc_hidden_keys) && r >= 0 && net == POLICY_NET_HOST; i++)
                if (stat(proc_hidden_keys[i], &st) == 0)
                        r = base_add_hide(e, proc_hidden_keys[i], S_ISDIR(st.st_mode));
        return r;
}

static int collect_proc(struct entries *e, const struct resolved *s) {
        struct plan_op *op = entries_add(e, ENTRY_OWN, PLAN_PROC, "/proc");

        op->proc = s->files.proc;
        /* Since 4.2 the kernel lets a nested user namespace mount a full /proc only if the /proc
         * that it can see has nothing covered (mount_too_revealing()).  With subset=pid alone a
         * command could so mount a full one; this cover keeps it from that. */
        if (s->files.proc == POLICY_PROC_SUBSET || s->files.proc == POLICY_PROC_AUTO) {
                op = entries_add(e, ENTRY_OWN, PLAN_COVER, "/proc/1/task");
                op->proc = POLICY_PROC_SUBSET;
        }
        if (s->files.proc == POLICY_PROC_NONE || s->files.proc == POLICY_PROC_SUBSET ||
            (s->files.has_whole_proc && s->files.proc != POLICY_PROC_BIND))
                return 0;
        for (size_t i = 0; i < ARRAY_SIZE(proc_covers); i++)
                (void)entries_add(e, ENTRY_OWN, PLAN_COVER, proc_covers[i]);
        /* When a key was pressed, anybody's. */
        if (base_add_blank(e, "/proc/interrupts") < 0)
                return -ENOMEM;
        return s->uid == 0 ? collect_proc_for_root(e, s->policy->net) : 0;
}

/* Shows which processors there are, and of the rest of /sys the run's own cgroup where there is one:
 * programs that size themselves by them look there alone.  Where the sandbox's user is root and the kernel
 * keeps addresses there for a crash dump, which root alone may read, nothing is shown. */
static void collect_sys(struct entries *e, const struct resolved *s) {
        if (s->uid != 0 || access("/sys/devices/system/cpu/cpu0/crash_notes", F_OK) < 0)
                entries_add_present(e, "/sys/devices/system/cpu");
        /* Where a JVM and its like look for the bounds by which they size themselves.  With these limits
         * there is a cgroup, or no run. */
        if (s->policy->limits.memory > 0 || s->policy->limits.cpu > 0)
                (void)entries_add(e, ENTRY_OWN, PLAN_CGROUP, "/sys/fs/cgroup");
}

static int add_scratch(struct entries *e, enum entry_origin origin, const char *target,
                       const struct resolved *s, const char *source) {
        struct plan_op *op = entries_add(e, origin, PLAN_BIND, target);

        op->origin = PLAN_BY_RUNDIR;
        op->is_directory = true;
        op->is_in_rundir = true;
        /* Mode and size of the tmpfs that the bubblewrap printer puts in the scratch folder's
         * place. */
        op->mode = 01777;
        op->size = s->policy->tmpfs_size;
        op->source = strdup(source);
        return op->source ? 0 : -ENOMEM;
}

/* The scratch folder is bound at /tmp and at its path on the host, so that a name in it means the
 * same on both sides. */
static int collect_scratch(struct entries *e, const struct resolved *s, struct nsrun_error *err) {
        _cleanup_free_ char *base = NULL, *path = NULL;
        int r;

        /* Where there is none it says why. */
        if (!s->own[OWN_RUNDIRS])
                return rundir_find_base(&base, err);
        path = path_join(s->own[OWN_RUNDIRS], RUNDIR_NAME "/" RUNDIR_SCRATCH);
        if (!path)
                return -ENOMEM;
        r = add_scratch(e, ENTRY_EXPLICIT, "/tmp", s, path);
        return r < 0 ? r : add_scratch(e, ENTRY_DEFAULT, path, s, path);
}

static int collect_tmp(struct entries *e, const struct resolved *s, struct nsrun_error *err) {
        struct plan_op *op;

        if (s->files.has_scratch)
                return collect_scratch(e, s, err);
        if (!s->files.tmp.source) {
                entries_add_tmpfs(e, ENTRY_OWN, "/tmp", 01777, s->policy->tmpfs_size);
                return 0;
        }
        op = entries_add(e, ENTRY_EXPLICIT, PLAN_BIND, "/tmp");
        op->origin = PLAN_BY_WRITABLE;
        op->is_directory = true;
        op->source = strdup(s->files.tmp.source);
        return op->source ? 0 : -ENOMEM;
}

/* Hides one of nsrun's own folders on the host wherever a rule shows it: at its path on the host, or
 * inside a folder that a rule binds to another target. */
static int hide_folder(struct entries *e, const struct resolved *s, const char *base) {
        entries_add_hidden(e, base, base);
        for (size_t i = 0; i < s->files.n_rules; i++) {
                const char *below = path_below(base, s->files.rules[i].source);
                _cleanup_free_ char *joined = NULL, *place = NULL;

                if (!below || !*below || streq(s->files.rules[i].source, s->files.rules[i].target))
                        continue;
                joined = str_format("%s/%s", s->files.rules[i].target, below);
                place = joined ? path_normalise(joined) : NULL;
                if (!place)
                        return -ENOMEM;
                entries_add_hidden(e, place, base);
        }
        return 0;
}

/* Hides the folder of all run directories, which has the layers of other runs, the one in which nsrun
 * remembers what earlier runs could write, and that of sessions' records, also where a rule shows just the
 * first of them. */
static int hide_own_folders(struct entries *e, const struct resolved *s) {
        int r = 0;

        for (size_t i = 0; i < OWN_FOLDERS && r >= 0; i++)
                if (s->own[i])
                        r = hide_folder(e, s, s->own[i]);
        return r;
}

/* A home in a folder that every sandbox shows (/opt/me) is hidden there as another is, unless a rule of the
 * user's shows it. */
static void add_home(struct entries *e, const struct resolved *s, const char *home) {
        enum entry_origin origin = ENTRY_HIDDEN;

        for (size_t i = 0; i < s->files.n_rules; i++)
                if (s->files.rules[i].origin != POLICY_BY_TOOLCHAINS &&
                    path_is_beneath(home, s->files.rules[i].target))
                        origin = ENTRY_OWN;
        entries_add_tmpfs(e, origin, home, 0700, s->policy->tmpfs_size);
}

int collect_accounts_home(struct entries *e, const struct resolved *s, const char *home) {
        static const char *const shown[] = {"/opt", "/usr"};
        _cleanup_free_ char *canonical = NULL;
        int r;

        if (!home || (s->home && streq(home, s->home)) || (s->home_link && streq(home, s->home_link)))
                return 0;
        r = path_canonical(home, &canonical, NULL);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        if (path_is_beneath_any(canonical, shown, ARRAY_SIZE(shown)) && !writable_denied(canonical) &&
            !project_home_is_systems(canonical) && !(s->home && path_is_beneath(canonical, s->home)))
                add_home(e, s, canonical);
        return 0;
}

int collect_base(struct entries *e, const struct resolved *s, struct nsrun_error *err) {
        int r = collect_roots(e, s);

        if (r >= 0)
                r = collect_dev(e, s);
        if (r < 0)
                return r;
        r = collect_proc(e, s);
        if (r < 0)
                return r;
        collect_sys(e, s);
        r = collect_tmp(e, s, err);
        if (r >= 0)
                r = hide_own_folders(e, s);
        if (r < 0)
                return r;
        /* The home folder is a small tmpfs of its own, so that ~/.gradle/daemon can be made where
         * ~/.gradle/gradle.properties does not exist.  A home that is a system folder (a daemon's
         * "/usr/sbin") gets none: the tmpfs would hide that folder's programs. */
        if (s->home && (streq(s->home, "/root") || !writable_denied(s->home)))
                add_home(e, s, s->home);
        if (s->home_link)
                entries_add_symlink(e, ENTRY_OWN, s->home, s->home_link);
        STRV_FOREACH (folder, s->files.ephemeral)
                entries_add_tmpfs(e, ENTRY_OWN, *folder, 0700, s->policy->tmpfs_size);
        if (s->policy->no_project)
                entries_add_tmpfs(e, ENTRY_OWN, "/workspace", 0755, s->policy->tmpfs_size);
        return 0;
}

void collect_links(struct entries *e) {
        static const struct {
                const char *text, *target, *folder;
        } links[] = {
                {"../tmp", "/var/tmp", "/var"},
                /* The C library's name of the table of mounts. */
                {"../proc/self/mounts", "/etc/mtab", "/etc"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
                bool is_taken = false;

                for (size_t j = 0; j < e->n && !is_taken; j++) {
                        const char *target = e->items[j].op.target;

                        /* What hides a folder is there only where another entry shows the folder. */
                        is_taken =
                                target && !e->items[j].op.is_hiding &&
                                (path_is_beneath(target, links[i].target) || streq(target, links[i].folder));
                }
                if (!is_taken)
                        entries_add_symlink(e, ENTRY_OWN, links[i].text, links[i].target);
        }
}

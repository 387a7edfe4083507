/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See verify.h.  The rules are those of the rest of nsrun, said a second time: of its code this file uses
 * base's paths and texts, and where nsrun has its own folders. */
#include "verify.h"

#include <sched.h>

#include "base/causes.h"
#include "base/sys.h"
#include "disk/rundir.h"
#include "host/user.h"
#include "rules/home_secrets.h"
#include "seccomp/simulate.h"
#include "verify_seen.h"

/* Whether a path is absolute and not the root, without an empty part, "." or "..". */
static bool is_plain_path(const char *path) {
        if (!path || path[0] != '/')
                return false;
        while (*path) {
                const char *part = path + 1;
                size_t n = strcspn(part, "/");

                if (n == 0 || (part[0] == '.' && (n == 1 || (n == 2 && part[1] == '.'))))
                        return false;
                path = part + n;
        }
        return true;
}

static bool begins_with_one_of(const char *text, const char *const *list) {
        while (*list && !startswith(text, *list))
                list++;
        return *list;
}

/* Each comes after what it lies on, and no two are at one place: nothing covers what came before. */
static int verify_order(struct verifying *v) {
        const struct nsrun_plan *plan = v->plan;

        for (size_t i = 0; i < plan->n_ops; i++) {
                if (!is_plain_path(plan->ops[i].target))
                        return verify_fail(v, &plan->ops[i], "has no normal target");
                if (i > 0 && path_compare(plan->ops[i - 1].target, plan->ops[i].target) >= 0)
                        return verify_fail(v, &plan->ops[i], "would cover what came before");
                tree_add(&v->targets, &plan->ops[i]);
        }
        return 0;
}

/* ---------------------------------------------------------- one operation and its ground */

/* Whose operations may be writable, whose an overlay, and whose may show what the home keeps secret. */
#define BIT(origin) (1U << (origin))
enum {
        MAY_BE_WRITABLE = BIT(PLAN_BY_PROJECT) | BIT(PLAN_BY_WRITABLE) | BIT(PLAN_BY_ARGUMENT) |
                          BIT(PLAN_BY_STATE) | BIT(PLAN_BY_GIT) | BIT(PLAN_BY_INSTANCE) |
                          BIT(PLAN_BY_RUNDIR) | BIT(PLAN_BY_PIN),
        MAY_BE_OVERLAY = BIT(PLAN_BY_READABLE) | BIT(PLAN_BY_TABLE) | BIT(PLAN_BY_AGENT),
        MAY_BE_READ = BIT(PLAN_BY_READABLE) | BIT(PLAN_BY_ARGUMENT),
};

/* A tmpfs or the scratch folder, where no command has ever been. */
static bool ground_is_new(const struct plan_op *ground) {
        return !ground || (ground->kind == PLAN_TMPFS && !ground->is_hiding) ||
               (ground->kind == PLAN_BIND && ground->is_in_rundir);
}

static bool shows_same_place(const struct plan_op *ground, const struct plan_op *op) {
        const char *inside = ground ? path_below(op->target, ground->target) : NULL;
        const char *outside = inside && ground->source ? path_below(op->source, ground->source) : NULL;

        return outside && streq(inside, outside);
}

static int verify_ground(const struct verifying *v, const struct plan_op *op, const struct plan_op *ground) {
        const struct nsrun_plan *plan = v->plan;
        bool is_of_host = ground && ((ground->kind == PLAN_BIND && !ground->is_device) ||
                                     ground->kind == PLAN_OVERLAY);
        bool is_in_proc =
                ground &&
                (ground->kind == PLAN_PROC || (ground->kind == PLAN_COVER && op->kind == PLAN_HIDE)) &&
                (op->kind == PLAN_COVER || op->kind == PLAN_HIDE || op->is_device);
        bool is_made = op->kind == PLAN_DIR || op->kind == PLAN_FILE || op->kind == PLAN_SYMLINK ||
                       op->makes_target;

        if (!ground_is_new(ground) && !is_of_host && !is_in_proc)
                return verify_fail(v, op, "lies on what is hidden or covered");
        if (is_made && !ground_is_new(ground))
                return verify_fail(v, op, "would make something in a folder of the host's");
        if (op->makes_on_host && ground && plan->own_home && ground->kind == PLAN_BIND &&
            streq(ground->source, plan->own_home))
                return 0;
        if (op->makes_on_host &&
            (!ground || !op_is_writable(ground) || !streq(ground->source, ground->target) ||
             !(is_in(op->target, plan->instance) || is_in(op->target, plan->workspace))))
                return verify_fail(v, op, "would make something outside of the instance");
        return 0;
}

static bool is_known_device(const struct plan_op *op) {
        static const char *const usual[] = {"/dev/full",    "/dev/random", "/dev/tty",
                                            "/dev/urandom", "/dev/zero",   NULL};
        static const char *const terminals[] = {"/dev/console", "/dev/hvc", "/dev/lxc/", "/dev/pts/",
                                                "/dev/rfcomm",  "/dev/tty", "/dev/xvc",  NULL};
        static const char *const granted[] = {"/dev/dri/render", "/dev/dxg",    "/dev/fuse", "/dev/kfd",
                                              "/dev/kvm",        "/dev/nvidia", "/dev/snd/", NULL};

        if (op->origin == PLAN_BY_GRANT)
                return streq(op->source, op->target) && begins_with_one_of(op->source, granted);
        return op->origin == PLAN_BY_SYSTEM &&
               (streq(op->source, "/dev/null") ||
                (streq(op->source, op->target) && is_among(op->source, usual)) ||
                (streq(op->target, "/dev/console") && begins_with_one_of(op->source, terminals)));
}

/* Outside of the project its git dir is writable, of a worktree the repository's. */
static bool is_git_writable(const struct nsrun_plan *plan, const char *source) {
        const char *git_dir = plan->git_common_dir ? plan->git_common_dir : plan->git_dir;

        return git_dir && streq(source, git_dir);
}

/* Whether an operation shows a run directory's scratch folder: its own run's, or one that a library's host
 * has made as a workspace's temp. */
static bool is_scratch(const struct verifying *v, const struct plan_op *op) {
        const char *rundir = op->is_in_rundir ? v->plan->rundir : v->own[OWN_RUNS];
        const char *below = rundir ? path_below(op->source, rundir) : NULL;

        if (op->is_in_rundir || !below)
                return below && op->origin == PLAN_BY_RUNDIR &&
                       (streq(below, RUNDIR_SCRATCH) ||
                        (streq(below, PLAN_PRIVATE_FOLDER) && streq(op->target, PLAN_PRIVATE)));
        return op->origin == PLAN_BY_WRITABLE && startswith(below, "workspace-") &&
               streq(below + strcspn(below, "/"), "/" RUNDIR_SCRATCH);
}

static int verify_writable(const struct verifying *v, const struct plan_op *op,
                           const struct plan_op *ground) {
        static const char *const never[] = {"/bin",   "/boot",  "/etc",    "/home", "/lib",
                                            "/lib32", "/lib64", "/libx32", "/opt",  "/root",
                                            "/run",   "/sbin",  "/usr",    "/var",  NULL};
        static const char *const kernel[] = {"/dev", "/proc", "/sys", NULL};
        const struct nsrun_plan *plan = v->plan;

        if (!(MAY_BE_WRITABLE & BIT(op->origin)))
                return verify_fail(v, op, "is writable, and nobody asked for that");
        if ((op->origin == PLAN_BY_PROJECT && !is_in(op->source, plan->project)) ||
            (op->origin == PLAN_BY_GIT && !is_git_writable(plan, op->source)) ||
            (op->origin == PLAN_BY_INSTANCE && !is_in(op->source, plan->instance) &&
             !is_in(op->source, plan->workspace)) ||
            (op->origin == PLAN_BY_PIN &&
             !(ground && op_is_writable(ground) && shows_same_place(ground, op))))
                return verify_fail(v, op, "is writable, and lies elsewhere than it should");
        return is_among(op->source, never) || (is_in_one_of(op->source, kernel) && !is_scratch(v, op))
                       ? verify_fail(v, op, "makes the system writable")
                       : 0;
}

/* A file that a grant shows may be one, what the user names to be read, and what is shown there anyway. */
static bool shows_secret(const struct plan_op *op, const struct plan_op *ground, const char *home) {
        const char *below = home ? path_below(op->source, home) : NULL;

        if (!below || !is_in_one_of(below, home_secrets) ||
            (op->is_read_only && (MAY_BE_READ & BIT(op->origin))))
                return false;
        if (op->origin == PLAN_BY_PROTECTED || op->origin == PLAN_BY_PIN)
                return !shows_same_place(ground, op);
        return op->origin != PLAN_BY_GRANT || is_among(below, home_secrets);
}

/* Whether the host has the source at the target's path, or has nothing there. */
static bool is_what_lies_there(const struct plan_op *op) {
        struct stat there, shown;

        return streq(op->source, op->target) || stat(op->target, &there) < 0 ||
               (lstat(op->source, &shown) == 0 && there.st_ino == shown.st_ino &&
                there.st_dev == shown.st_dev);
}

/* Whether an agent's overlay has the one layer that earlier runs in the project have left of it. */
static bool is_kept_layer(const struct verifying *v, const struct plan_op *op) {
        const char *base = v->own[OWN_RUNS], *project = v->plan->project;
        _cleanup_free_ char *path = base && project ? rundir_rest(base, project, op->text) : NULL;

        return path && op->origin == PLAN_BY_AGENT && streq(op->layers[0], path) && !op->layers[1];
}

static int verify_source(const struct verifying *v, const struct plan_op *op, const struct plan_op *ground) {
        static const char *const kernel[] = {"/dev", "/proc", NULL};
        static const char *const whole[] = {"/boot", "/etc", "/home", "/root", "/run", "/srv", "/var", NULL};
        bool is_named, is_scratch_folder;

        if (!is_plain_path(op->source))
                return verify_fail(v, op, "has no normal source");
        is_scratch_folder = is_scratch(v, op);
        if (op->origin == PLAN_BY_NOBODY || op->origin >= PLAN_BY_COMMAND)
                return verify_fail(v, op, "is nobody's");
        is_named = !op_is_writable(op) && (MAY_BE_READ & BIT(op->origin));
        if (op->kind == PLAN_OVERLAY && !(MAY_BE_OVERLAY & BIT(op->origin)))
                return verify_fail(v, op, "is an overlay, and nobody asked for that");
        if (op->layers && !is_kept_layer(v, op))
                return verify_fail(v, op, "has a layer that isn't the project's");
        if (op->is_device)
                return is_known_device(op) ? 0 : verify_fail(v, op, "shows a device that nobody may have");
        if (is_in_one_of(op->source, kernel) && !is_scratch_folder)
                return verify_fail(v, op, "shows the host's devices or processes");
        if (op->origin == PLAN_BY_SYSTEM && op->kind == PLAN_BIND && !is_what_lies_there(op))
                return verify_fail(v, op, "shows something else than the system has there");
        if (is_among(op->source, whole) && !is_named)
                return verify_fail(v, op, "shows too much of the system");
        if ((op->is_in_rundir || op->origin == PLAN_BY_RUNDIR) && !is_scratch_folder)
                return verify_fail(v, op, "is not the run's own scratch folder");
        for (size_t i = 0; i < ARRAY_SIZE(v->homes); i++) {
                if (shows_secret(op, ground, v->homes[i]))
                        return verify_fail(v, op, "shows a secret");
                if (op->origin == PLAN_BY_SYSTEM && v->plan->home && is_in(op->source, v->homes[i]))
                        return verify_fail(v, op, "shows the home as the system's");
        }
        /* To be read the user may name run directories. */
        for (size_t i = is_named ? OWN_STATE : 0; i <= OWN_RECORDS && !is_scratch_folder; i++)
                if (is_in(op->source, v->own[i]))
                        return verify_fail(v, op, "shows what nsrun keeps for itself");
        return op_is_writable(op) ? verify_writable(v, op, ground) : 0;
}

static bool has_usual_options(const struct plan_op *op) {
        char text[96];

        (void)snprintf(text, sizeof(text), "mode=%04o,size=%ju,nr_inodes=", (unsigned)op->mode,
                       (uintmax_t)op->size);
        return op->text && startswith(op->text, text) && !strchr(op->text + strlen(text), ',') &&
               !(op->mode & 06000);
}

/* Whether what stands in a bind's place is what may: for a protected file a symlink to the command's own
 * version of it, for a folder an overlay, of this one and no other. */
static bool has_usual_link(const struct verifying *v, const struct plan_op *op) {
        const struct plan_op *folder = seen_at(v, PLAN_PRIVATE);
        char *const *files = v->plan->private;
        const char *at = startswith(op->text, op->is_directory ? PLAN_PRIVATE_LAYER : PLAN_PRIVATE "/");
        size_t n = strspn(at ? at : "", "0123456789"), k = 0;

        while (files && op->source && files[k] && !streq(files[k], op->source))
                k++;
        return op->source && op->origin == PLAN_BY_PROTECTED && op->is_read_only && !op->is_link && folder &&
               folder->is_in_rundir && streq(folder->target, PLAN_PRIVATE) && files && files[k] && n > 0 &&
               n < 8 && strtoul(at, NULL, 10) == k &&
               (op->is_directory ? !at[n] : at[n] == '-' && streq(at + n + 1, path_basename(op->source)));
}

/* Whether an operation's fields are such as nsrun's own plans have for its kind. */
static bool is_well_made(const struct verifying *v, const struct plan_op *op) {
        bool is_in_proc = path_is_beneath(op->target, "/proc"), is_left_out = op->proc != POLICY_PROC_UNSAID;
        bool is_of_bind =
                op->is_device || op->makes_on_host || op->is_in_rundir || op->stubs || op->is_copied;

        if ((op->layers && op->kind != PLAN_OVERLAY) || op->work || op->is_own_link || op->has_source_fd ||
            op->is_optional || op->is_ephemeral || op->mount_flags || op->attributes || op->propagation ||
            op->is_shallow || op->parent_mode || (is_of_bind && op->kind != PLAN_BIND) ||
            op->kind >= PLAN_DATA)
                return false;
        switch ((int)op->kind) {
        case PLAN_BIND:
                return (!is_left_out || (op->is_device && is_in_proc)) &&
                       (!op->text || has_usual_link(v, op)) &&
                       (!op->can_be_empty || (op->text && op->is_directory)) &&
                       (!op->stubs || (op_is_writable(op) && op->is_directory)) &&
                       (!op->is_copied || (op->is_read_only && op->makes_target && !op->is_directory));
        case PLAN_OVERLAY:
                return op->text && startswith(op->text, "overlay-") && !strchr(op->text, '/');
        case PLAN_HIDE:
                return !is_left_out || is_in_proc;
        case PLAN_TMPFS:
                return has_usual_options(op);
        case PLAN_PROC:
                return streq(op->target, "/proc") && is_left_out;
        case PLAN_COVER:
                return is_in_proc && (!is_left_out || streq(op->target, "/proc/1/task"));
        case PLAN_DEVPTS:
                return op->text && streq(op->text, "newinstance,ptmxmode=0666,mode=0620");
        case PLAN_CGROUP:
                return streq(op->target, "/sys/fs/cgroup");
        case PLAN_SYMLINK:
        case PLAN_SOCKET:
                return op->text;
        default:
                return !(op->mode & 06000);
        }
}

static int verify_compare(const void *a, const void *b) {
        const struct plan_op *const *x = a, *const *y = b;

        return path_compare((*x)->source, (*y)->source);
}

/* What can be said of each by itself; and sorts those that show something of the host's by that. */
static int verify_operations(struct verifying *v) {
        size_t n = 0;

        for (size_t i = 0; i < v->plan->n_ops; i++) {
                const struct plan_op *op = &v->plan->ops[i], *ground = ground_of(v, op);
                bool has_source = op->kind == PLAN_BIND || op->kind == PLAN_OVERLAY;
                int r = is_well_made(v, op) ? 0 : verify_fail(v, op, "is not as nsrun makes them");

                if (r >= 0)
                        r = verify_ground(v, op, ground);
                if (r >= 0 && has_source)
                        r = verify_source(v, op, ground);
                if (r < 0)
                        return r;
                if (has_source && !op->is_device)
                        v->sources.ops[n++] = op;
        }
        qsort(v->sources.ops, n, sizeof(struct plan_op *), verify_compare);
        for (size_t i = 0; i < n; i++)
                tree_add(&v->sources, v->sources.ops[i]);
        return 0;
}

/* ---------------------------------------------------------------- the plan as a whole */

/* A /proc of all files has covers, unless a sandbox inside needs one without and no user here could write
 * there. */
static int verify_proc(const struct verifying *v) {
        static const char *const covers[] = {"/proc/bus", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger",
                                             NULL};
        static const char *const of_root[] = {
                "/proc/acpi", "/proc/fs",       "/proc/kcore",      "/proc/keys",        "/proc/kpageflags",
                "/proc/scsi", "/proc/slabinfo", "/proc/timer_list", "/proc/vmallocinfo", NULL};
        static const char *const keys[] = {"/proc/sys/net/ipv4/tcp_fastopen_key", "/proc/sys/net/ipv6/conf",
                                           NULL};
        const struct nsrun_plan *plan = v->plan;
        const struct plan_op *proc = seen_at(v, "/proc");
        const struct seccomp_shipped *shipped;
        bool is_part, is_full;

        if (plan->net != plan->asked_net && plan->net != POLICY_NET_NONE)
                return verify_fail_plan(v, "has another network than was asked for");
        if (proc && proc->kind == PLAN_PROC && proc->proc == POLICY_PROC_BIND &&
            plan->asked_proc != POLICY_PROC_BIND)
                return verify_fail(v, proc, "shows the host's processes");
        if (!proc || proc->kind != PLAN_PROC || proc->proc == POLICY_PROC_NONE)
                return 0;
        is_part = proc->proc == POLICY_PROC_SUBSET;
        shipped = seccomp_find_shipped(plan->seccomp_name, NULL);
        is_full = proc->proc != POLICY_PROC_BIND && shipped && streq(shipped->name, "nested") &&
                  plan->host_uid != 0;
        if ((is_part || proc->proc == POLICY_PROC_AUTO) && seen_at(v, "/proc/1/task")->kind != PLAN_COVER)
                return verify_fail(v, proc, "can be had in full by a sandbox inside");
        for (const char *const *path = covers; *path && !is_part && !is_full; path++)
                if (seen_at(v, *path)->kind != PLAN_COVER)
                        return verify_fail(v, proc, "lets the kernel's settings be written");
        if (!is_part && !is_full && seen_at(v, "/proc/interrupts") == proc)
                return verify_fail(v, proc, "tells when a key is pressed");
        for (const char *const *path = of_root; *path && !is_part && plan->host_uid == 0; path++)
                if (seen_at(v, *path) == proc && access(*path, F_OK) == 0)
                        return verify_fail(v, proc, "tells root of the whole machine");
        for (const char *const *path = keys;
             *path && !is_part && plan->host_uid == 0 && plan->net == POLICY_NET_HOST; path++)
                if (seen_at(v, *path)->kind != PLAN_HIDE && access(*path, F_OK) == 0)
                        return verify_fail(v, proc, "tells root the keys of the host's network");
        return 0;
}

/* Whether the filter is the one that was compiled for the policy when nsrun was built, but for its condition
 * on the setgid bit (load.h). */
static bool is_as_shipped(const struct seccomp_loaded *filter, const struct seccomp_shipped *shipped) {
        bool is_same = filter->n == shipped->n;

        for (size_t i = 0; i < filter->n && is_same; i++) {
                struct sock_filter line = shipped->code[i];

                if (line.code == (BPF_ALU | BPF_AND | BPF_K) && line.k == S_ISGID && filter->code[i].k == 0)
                        line.k = 0;
                is_same = memcmp(&filter->code[i], &line, sizeof(line)) == 0;
        }
        return is_same;
}

/* What the user wrote, or changed, may allow any call: but for those that no kernel has. */
static bool is_asked_filter(const struct seccomp_loaded *filter, const char *name) {
        const struct seccomp_data unknown = {.nr = 0x0fffffff,
                                             .arch = syscall_arch_audit(SYSCALL_ARCH_NATIVE)};
        const char *changes;
        const struct seccomp_shipped *shipped = seccomp_find_shipped(name, &changes);

        if (!filter->code || !shipped)
                return !filter->code == streq(name, "none");
        return *changes ? seccomp_simulate(filter->code, filter->n, &unknown) != SECCOMP_RET_ALLOW
                        : is_as_shipped(filter, shipped);
}

/* The filter and Landlock, or that they were declined by name.  no_new_privs isn't the plan's to say: no
 * launch goes without. */
static int verify_hardening(const struct verifying *v) {
        const struct nsrun_plan *plan = v->plan;

        if (!plan->seccomp_name || !is_asked_filter(&plan->seccomp, plan->seccomp_name))
                return verify_fail_plan(v, "has another filter than was asked for");
        if (!plan->is_scoped && plan->landlock != POLICY_LANDLOCK_OFF &&
            (plan->landlock != POLICY_LANDLOCK_AUTO || plan->landlock_abi >= LANDLOCK_ABI_SCOPES ||
             !plan->degraded))
                return verify_fail_plan(v, "leaves the host's sockets and processes in reach");
        return 0;
}

static int find_own_places(struct verifying *v) {
        const char *home = getenv("HOME");
        char *canonical = NULL;
        int r = home ? path_canonical(home, &canonical, NULL) : 0;

        /* Where this can be had, so can the others. */
        if (r == -EMFILE || r == -ENFILE || r == -ENOMEM)
                return error_looked_at(v->err, NSRUN_STAGE_PLAN, r, home, "the home can't be looked at",
                                       NULL);
        /* Where the root is somebody's home, it can't be told from the system's. */
        if (canonical && is_plain_path(canonical))
                v->homes[0] = TAKE_PTR(canonical);
        free(canonical);
        if (r != -ENOMEM)
                r = records_find_folders(&v->own[OWN_RUNS], &v->own[OWN_STATE], &v->own[OWN_RECORDS]);
        /* A home that no sandbox can have is none: passwd's is the user's then. */
        if (r != -ENOMEM && !v->plan->home && user_find_home(NULL, &v->homes[1]) < 0)
                r = -ENOMEM;
        if (r != -ENOMEM && v->plan->home && !(v->homes[0] && streq(v->homes[0], v->plan->home)))
                r = (v->homes[1] = strdup(v->plan->home)) ? 0 : -ENOMEM;
        return r == -ENOMEM ? error_oom(v->err) : 0;
}

static int verify_own(struct verifying *v) {
        const struct nsrun_plan *plan = v->plan;
        size_t n = plan->n_ops + 1;
        int r;

        if ((plan->argv && plan->argv[0]) == plan->is_session || !plan->cwd || plan->cwd[0] != '/' ||
            plan->root_size == 0)
                return verify_fail_plan(v, "isn't complete");
        v->sources.is_of_sources = true;
        v->targets.ops = calloc(2 * n, sizeof(*v->targets.ops));
        v->targets.above = calloc(2 * n, sizeof(*v->targets.above));
        if (!v->targets.ops || !v->targets.above)
                return error_oom(v->err);
        v->sources.ops = v->targets.ops + n;
        v->sources.above = v->targets.above + n;
        r = find_own_places(v);
        if (r >= 0)
                r = verify_hardening(v);
        if (r >= 0)
                r = verify_order(v);
        if (r >= 0)
                r = verify_operations(v);
        if (r >= 0)
                r = verify_seen(v);
        return r < 0 ? r : verify_proc(v);
}

/* A command that joins a session: what it sees was looked at when that was started. */
static int verify_join(const struct verifying *v) {
        const struct nsrun_plan *plan = v->plan;
        const uint64_t least = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID;

        if (plan->join->folder.dir_fd < 0 || plan->join->init.pid <= 0 || plan->rundir ||
            (plan->join->namespaces & least) != least || !plan->argv || plan->has_overlays ||
            plan->has_stubs)
                return verify_fail_plan(v, "joins no session");
        return verify_hardening(v);
}

/* No sandbox, as was asked for: nothing of one either. */
static int verify_plain(const struct verifying *v) {
        const struct nsrun_plan *plan = v->plan;

        return plan->n_ops > 0 || plan->is_session || !plan->argv || plan->seccomp.code ||
                               plan->landlock != POLICY_LANDLOCK_OFF
                       ? verify_fail_plan(v, "has a part of a sandbox, and is without one")
                       : 0;
}

/* A raw plan is what its command line says, in that order.  What can be said is that each operation is
 * complete, and that nothing comes after what is protected and hidden last of all. */
static int verify_raw(const struct verifying *v) {
        static const char *const types[] = {"cgroup2", "devpts", "mqueue", "proc", "sysfs", "tmpfs", NULL};
        bool has_last = false;

        for (size_t i = 0; i < v->plan->n_ops; i++) {
                const struct plan_op *op = &v->plan->ops[i];
                bool is_last = op->kind == PLAN_PROTECT || op->kind == PLAN_HIDE || op->kind == PLAN_MASK;

                if (op->kind > PLAN_SYSCTL || op->kind == PLAN_CGROUP || op->kind == PLAN_SOCKET ||
                    op->origin != PLAN_BY_COMMAND || op->is_in_rundir || op->makes_target ||
                    op->makes_on_host || op->is_hiding || op->stubs)
                        return verify_fail(v, op, "is of no raw plan");
                if (!op->target || (op->kind == PLAN_BIND && !op->source) ||
                    ((op->kind == PLAN_SYMLINK || op->kind == PLAN_SYSCTL) && !op->text) ||
                    (op->kind == PLAN_SYSCTL && strstr(op->target, "..")) ||
                    (op->kind == PLAN_FILESYSTEM && (!op->source || !is_among(op->source, types))))
                        return verify_fail(v, op, "isn't complete");
                if (has_last && !is_last && op->kind != PLAN_REMOUNT_RO)
                        return verify_fail(v, op, "comes after what is protected or hidden");
                has_last |= is_last;
        }
        return 0;
}

int plan_verify(const struct nsrun_plan *plan, struct nsrun_error *err) {
        struct verifying v = {.plan = plan, .err = err};
        int r = (plan->raw != NULL) + (plan->join != NULL) + (plan->plain != NULL) > 1
                        ? verify_fail_plan(&v, "is of two kinds")
                : plan->raw   ? verify_raw(&v)
                : plan->join  ? verify_join(&v)
                : plan->plain ? verify_plain(&v)
                              : verify_own(&v);

        for (size_t i = 0; i < ARRAY_SIZE(v.homes); i++)
                free(v.homes[i]);
        for (size_t i = 0; i < ARRAY_SIZE(v.own); i++)
                free(v.own[i]);
        free(v.targets.ops);
        free(v.targets.above);
        return r;
}

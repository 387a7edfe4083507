/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints a plan as a bundle of the OCI runtime specification.  The plan's own tmpfs / becomes the bundle's
 * root file system, read-only; what the plan makes on other tmpfs lies there, too, and "tmpcopyup" takes it
 * along. /dev is left to the runtime, which must make the same one (config-linux.md, "Default Devices"). */
#include <limits.h>
#include <sys/resource.h>

#include "base/array.h"
#include "base/path.h"
#include "oci.h"
#include "print.h"

#define OCI_VERSION "1.0.2"
#define ROOT        "rootfs"

struct oci_writer {
        const struct nsrun_plan *plan;
        const char *folder;
        struct oci_bundle *bundle;
        struct json_document *d;
        struct json_value *mounts;
        struct nsrun_error *err;
        bool has_failed; /* no memory */
};

void oci_bundle_clear(struct oci_bundle *bundle) {
        for (size_t i = 0; i < bundle->n_entries; i++) {
                free(bundle->entries[i].path);
                free(bundle->entries[i].text);
        }
        free(bundle->entries);
        free(bundle->config);
        strv_free(bundle->unsaid);
        *bundle = (struct oci_bundle){0};
}

static void leave_unsaid(struct oci_writer *w, const char *line) {
        if (!strv_contains(w->bundle->unsaid, line) && strv_add(&w->bundle->unsaid, line) < 0)
                w->has_failed = true;
}

/* ---------------------------------------------------------------- the root file system */

static bool oci_has_entry(const struct oci_writer *w, const char *path) {
        for (size_t i = 0; i < w->bundle->n_entries; i++)
                if (streq(w->bundle->entries[i].path, path))
                        return true;
        return false;
}

/* Adds an entry, which takes `path` and `text`, and before it the folders that it lies in. */
static void oci_add_entry(struct oci_writer *w, char *path, char *text, mode_t mode, bool is_link) {
        struct oci_bundle *b = w->bundle;
        char *slash;

        if (!path || (is_link && !text))
                goto fail;
        for (slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
                char *parent = strndup(path, (size_t)(slash - path));

                if (!parent || (!oci_has_entry(w, parent) && ARRAY_GROW(b->entries, b->n_entries) < 0)) {
                        free(parent);
                        goto fail;
                }
                if (oci_has_entry(w, parent))
                        free(parent);
                else
                        b->entries[b->n_entries++] = (struct oci_entry){.path = parent, .mode = 0755};
        }
        if (oci_has_entry(w, path)) {
                free(path);
                free(text);
                return;
        }
        if (ARRAY_GROW(b->entries, b->n_entries) < 0)
                goto fail;
        b->entries[b->n_entries++] =
                (struct oci_entry){.path = path, .text = text, .mode = mode, .is_link = is_link};
        return;
fail:
        free(path);
        free(text);
        w->has_failed = true;
}

static void add_to_root(struct oci_writer *w, const char *target, const char *text, mode_t mode,
                        bool is_link) {
        char *copy = text ? strdup(text) : NULL;

        if (text && !copy)
                w->has_failed = true;
        else
                oci_add_entry(w, str_concat(ROOT, target, ""), copy, mode, is_link);
}

/* A symlink of the host that the plan shows as it is: the spec binds what it leads to. */
static void add_host_link(struct oci_writer *w, const struct plan_op *op) {
        char text[PATH_MAX];
        ssize_t n = readlink(op->source, text, sizeof(text) - 1);

        if (n <= 0)
                return;
        text[n] = '\0';
        add_to_root(w, op->target, text, 0777, true);
}

/* ------------------------------------------------------------------------- mounts */

static void oci_add_mount(struct oci_writer *w, const char *target, const char *type, const char *source,
                          const char *const *options) {
        struct json_value *o = json_add_object(w->d, w->mounts, NULL), *array;

        json_add_string(w->d, o, "destination", target);
        json_add_string(w->d, o, "type", type);
        json_add_string(w->d, o, "source", source);
        array = json_add_array(w->d, o, "options");
        for (; *options; options++)
                json_add_string(w->d, array, NULL, *options);
}

#define MOUNT(w, target, type, source, ...) \
        oci_add_mount(w, target, type, source, (const char *const[]){__VA_ARGS__, NULL})

static void add_tmpfs_mount(struct oci_writer *w, const char *target, mode_t mode, uint64_t size,
                            bool is_read_only) {
        char size_option[40], mode_option[16];

        (void)snprintf(size_option, sizeof(size_option), "size=%ju", (uintmax_t)size);
        (void)snprintf(mode_option, sizeof(mode_option), "mode=%04o", (unsigned)mode);
        add_to_root(w, target, NULL, mode, false);
        MOUNT(w, target, "tmpfs", "tmpfs", "nosuid", "nodev", mode_option, "tmpcopyup",
              is_read_only ? "ro" : "rw", size > 0 ? size_option : NULL);
}

static void add_bind_mount(struct oci_writer *w, const struct plan_op *op) {
        if (op->is_link) {
                add_host_link(w, op);
                return;
        }
        if (op->stubs)
                leave_unsaid(w, "--protect=strict: names that don't exist can be made");
        if (op->makes_on_host)
                leave_unsaid(w, "folders of the instance that are missing must be made before");
        /* What is kept aside of a folder that the host hasn't. */
        if (op->can_be_empty)
                return;
        if (op->is_in_rundir && streq(op->target, PLAN_PRIVATE)) {
                leave_unsaid(w, "git's configuration is read-only");
                return;
        }
        if (op->is_in_rundir) {
                if (!w->plan->rundir || !path_is_beneath(op->target, w->plan->rundir))
                        add_tmpfs_mount(w, op->target, 01777, 0, false);
                leave_unsaid(w, "the scratch folder is in memory, and at /tmp alone");
                return;
        }
        add_to_root(w, op->target, op->is_directory ? NULL : "", op->is_directory ? 0755 : 0644, false);
        /* crun 1.8 sets attributes recursively in folders alone; a file has nothing beneath it. */
        if (op->is_directory)
                MOUNT(w, op->target, "bind", op->source, "rbind", "rprivate", "rnosuid", "rnodev",
                      op->is_read_only ? "rro" : NULL);
        else
                MOUNT(w, op->target, "bind", op->source, "bind", "private", "nosuid", "nodev",
                      op->is_read_only ? "ro" : "rw");
}

/* A path as an option of overlayfs: what would end it is escaped. */
static char *escape_layer(const char *path) {
        _cleanup_strbuf_ struct strbuf b = {0};

        for (; *path; path++)
                strbuf_addf(&b, "%s%c", strchr(":,\\", *path) ? "\\" : "", *path);
        return strbuf_finish(&b);
}

static char *layer_option(const char *name, const char *folder, const char *below) {
        _cleanup_free_ char *path = below ? path_join(folder, below) : strdup(folder);
        _cleanup_free_ char *escaped = path ? escape_layer(path) : NULL;

        return escaped ? str_concat(name, "=", escaped) : NULL;
}

static int add_overlay_mount(struct oci_writer *w, const struct plan_op *op) {
        _cleanup_free_ char *below = str_concat("layers/", op->text, "/upper");
        _cleanup_free_ char *other = str_concat("layers/", op->text, "/work");
        _cleanup_free_ char *lower = NULL, *upper = NULL, *work = NULL;

        if (!w->folder)
                return error_set(w->err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), op->target,
                                 "an overlay needs a bundle's folder for what is written to it",
                                 "name one with --bundle DIR");
        lower = layer_option("lowerdir", op->source, NULL);
        upper = below ? layer_option("upperdir", w->folder, below) : NULL;
        work = other ? layer_option("workdir", w->folder, other) : NULL;
        if (!lower || !upper || !work) {
                w->has_failed = true;
                return 0;
        }
        oci_add_entry(w, TAKE_PTR(below), NULL, 0755, false);
        oci_add_entry(w, TAKE_PTR(other), NULL, 0700, false);
        add_to_root(w, op->target, NULL, 0755, false);
        MOUNT(w, op->target, "overlay", "overlay", lower, upper, work, "userxattr", "nosuid", "nodev");
        leave_unsaid(w, "what is written to overlays stays in the bundle's layers/, on disk");
        return 0;
}

static void add_proc_mount(struct oci_writer *w, const struct plan_op *op) {
        add_to_root(w, op->target, NULL, 0555, false);
        if (op->proc == POLICY_PROC_NONE)
                return;
        if (op->proc == POLICY_PROC_AUTO)
                leave_unsaid(w, "--proc=auto: a new /proc, or none starts");
        if (op->proc == POLICY_PROC_BIND)
                MOUNT(w, op->target, "bind", "/proc", "rbind", "rprivate", "rro", "rnosuid", "rnodev",
                      "rnoexec");
        else
                MOUNT(w, op->target, "proc", "proc", "nosuid", "nodev", "noexec",
                      op->proc == POLICY_PROC_SUBSET ? "subset=pid" : NULL);
}

/* Of /dev the runtime makes all but what is mounted in it. */
static bool is_runtimes_own(const struct plan_op *op) {
        return path_is_beneath(op->target, "/dev") && !streq(op->target, "/dev") && op->kind != PLAN_TMPFS &&
               op->kind != PLAN_DEVPTS && (op->is_device || op->kind == PLAN_SYMLINK);
}

static bool is_cover(const struct plan_op *op) {
        return op->kind == PLAN_COVER;
}

/* A hidden name, or what nsrun hides in /proc, in which runc mounts nothing. */
static bool is_masked(const struct plan_op *op) {
        bool is_blank = (op->kind == PLAN_TMPFS && op->is_hiding) ||
                        (op->kind == PLAN_BIND && streq(op->source, "/dev/null"));

        return op->kind == PLAN_HIDE || (is_blank && path_is_beneath(op->target, "/proc"));
}

static int oci_add_op(struct oci_writer *w, const struct plan_op *op) {
        if (is_runtimes_own(op) ||
            (is_masked(op) && (op->kind != PLAN_HIDE || op->origin == PLAN_BY_SYSTEM)) ||
            (w->plan->rundir && op->kind == PLAN_DIR && path_is_beneath(op->target, w->plan->rundir)))
                return 0;
        switch (op->kind) {
        case PLAN_DIR:
                add_to_root(w, op->target, NULL, op->mode, false);
                return 0;
        case PLAN_FILE:
                add_to_root(w, op->target, op->text, op->mode, false);
                return 0;
        case PLAN_SYMLINK:
                add_to_root(w, op->target, op->text, 0777, true);
                return 0;
        case PLAN_BIND:
                add_bind_mount(w, op);
                return 0;
        case PLAN_OVERLAY:
                return add_overlay_mount(w, op);
        case PLAN_TMPFS:
                add_tmpfs_mount(w, op->target, op->mode, op->size, op->is_read_only || op->is_hiding);
                return 0;
        case PLAN_PROC:
                add_proc_mount(w, op);
                return 0;
        case PLAN_DEVPTS:
                add_to_root(w, op->target, NULL, 0755, false);
                MOUNT(w, op->target, "devpts", "devpts", "nosuid", "noexec", "newinstance", "ptmxmode=0666",
                      "mode=0620");
                return 0;
        case PLAN_CGROUP:
                add_to_root(w, op->target, NULL, 0755, false);
                MOUNT(w, op->target, "cgroup", "cgroup", "nosuid", "nodev", "noexec", "ro");
                return 0;
        case PLAN_HIDE:
                leave_unsaid(w, "a hidden file is empty, where it could not be opened");
                return 0;
        default:
                return 0;
        }
}

/* The targets of covers, or of what is masked: the spec's readonlyPaths and maskedPaths. */
static void add_paths(struct oci_writer *w, struct json_value *to, const char *key,
                      bool (*is_one)(const struct plan_op *op)) {
        struct json_value *array = json_add_array(w->d, to, key);

        for (size_t i = 0; i < w->plan->n_ops; i++)
                if (is_one(&w->plan->ops[i]))
                        json_add_string(w->d, array, NULL, w->plan->ops[i].target);
}

/* ------------------------------------------------------------------------- process */

static void oci_add_rlimit(struct oci_writer *w, struct json_value *array, const char *name, uint64_t soft,
                           uint64_t hard) {
        struct json_value *o = json_add_object(w->d, array, NULL);

        json_add_string(w->d, o, "type", name);
        json_add_number(w->d, o, "soft", soft);
        json_add_number(w->d, o, "hard", hard);
}

static void oci_add_rlimits(struct oci_writer *w, struct json_value *process) {
        struct json_value *array = json_add_array(w->d, process, "rlimits");

        for (size_t i = 0; i < RLIMITS_COUNT; i++) {
                const struct policy_rlimit *limit = &w->plan->limits.rlimits[rlimit_kinds[i].resource];
                char name[32] = "RLIMIT_";
                size_t n = strlen(name);

                if (!limit->is_set)
                        continue;
                for (const char *c = rlimit_kinds[i].resource == RLIMIT_CPU ? "cpu" : rlimit_kinds[i].name;
                     *c && n < sizeof(name) - 1; c++)
                        name[n++] = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
                name[n] = '\0';
                oci_add_rlimit(w, array, name, limit->soft, limit->hard);
        }
        if (w->plan->has_own_limits && !w->plan->limits.rlimits[RLIMIT_CORE].is_set)
                oci_add_rlimit(w, array, "RLIMIT_CORE", 0, 0);
}

static void oci_add_process(struct oci_writer *w) {
        static const char *const sets[] = {"bounding", "effective", "inheritable", "permitted", "ambient"};
        struct json_value *process = json_add_object(w->d, w->d->root, "process"), *o;

        json_add_bool(w->d, process, "terminal", false);
        o = json_add_object(w->d, process, "user");
        json_add_number(w->d, o, "uid", w->plan->uid);
        json_add_number(w->d, o, "gid", w->plan->gid);
        json_add_strings(w->d, process, "args", w->plan->argv);
        json_add_strings(w->d, process, "env", w->plan->env);
        json_add_string(w->d, process, "cwd", w->plan->cwd);
        o = json_add_object(w->d, process, "capabilities");
        for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
                (void)json_add_array(w->d, o, sets[i]);
        oci_add_rlimits(w, process);
        json_add_bool(w->d, process, "noNewPrivileges", true);
}

/* --------------------------------------------------------------------------- in_linux */

static void oci_add_id_map(struct oci_writer *w, struct json_value *in_linux, const char *key,
                           uint64_t inside, uint64_t outside) {
        struct json_value *o = json_add_object(w->d, json_add_array(w->d, in_linux, key), NULL);

        json_add_number(w->d, o, "containerID", inside);
        json_add_number(w->d, o, "hostID", outside);
        json_add_number(w->d, o, "size", 1);
}

static void oci_add_namespaces(struct oci_writer *w, struct json_value *in_linux) {
        static const char *const types[] = {"user", "mount", "pid", "ipc", "uts", "cgroup", "network"};
        struct json_value *array = json_add_array(w->d, in_linux, "namespaces");

        for (size_t i = 0; i < ARRAY_SIZE(types); i++)
                if (!streq(types[i], "network") || w->plan->net != POLICY_NET_HOST)
                        json_add_string(w->d, json_add_object(w->d, array, NULL), "type", types[i]);
        if (w->plan->net == POLICY_NET_ALLOW)
                leave_unsaid(w, "--net=allow: there is loopback alone, and no name can be reached");
}

static void oci_add_resources(struct oci_writer *w, struct json_value *in_linux) {
        const struct policy_limits *limits = &w->plan->limits;
        struct json_value *resources, *o;

        if (limits->memory == 0 && limits->pids == 0 && limits->cpu == 0)
                return;
        resources = json_add_object(w->d, in_linux, "resources");
        if (limits->memory > 0) {
                o = json_add_object(w->d, resources, "memory");
                json_add_number(w->d, o, "limit", limits->memory);
                json_add_number(w->d, o, "swap", limits->memory);
        }
        if (limits->pids > 0)
                json_add_number(w->d, json_add_object(w->d, resources, "pids"), "limit", limits->pids);
        if (limits->cpu > 0) {
                o = json_add_object(w->d, resources, "cpu");
                json_add_number(w->d, o, "quota", limits->cpu * 100);
                json_add_number(w->d, o, "period", 100000);
        }
}

/* What Docker adds to the spec's form is for its daemon to decide. */
static int refuse_dockers(struct oci_writer *w, const char *text) {
        static const char *const dockers[] = {"\"archMap\"", "\"caps\"", "\"minKernel\"", "\"flags\"",
                                              "\"architectures\""};

        for (size_t i = 0; i < ARRAY_SIZE(dockers); i++)
                if (strstr(text, dockers[i]))
                        return error_setf(w->err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), w->plan->seccomp_name,
                                          "name a policy without it",
                                          "the seccomp policy has %s, which no bundle is made of",
                                          dockers[i]);
        return 0;
}

static int oci_add_seccomp(struct oci_writer *w, struct json_value *in_linux) {
        const struct seccomp_shipped *shipped = seccomp_find_shipped(w->plan->seccomp_name, NULL);
        _cleanup_json_ struct json_document policy = {0};
        _cleanup_free_ char *text = NULL;
        int r = 0;

        if (!w->plan->seccomp.code)
                return 0;
        r = seccomp_text(w->plan->seccomp_name, &text, w->err);
        if (r >= 0 && !shipped)
                r = refuse_dockers(w, text);
        if (r < 0)
                return r;
        r = json_parse(&policy, text, strlen(text), NULL, NULL);
        if (r >= 0)
                r = oci_seccomp(w->d, in_linux, policy.root);
        return r >= 0 ? 0
               : r == -ENOMEM
                       ? error_oom(w->err)
                       : error_set(w->err, NSRUN_STAGE_USAGE, UNSAID(r), w->plan->seccomp_name,
                                   "the seccomp policy compares arguments in a way that a bundle can't say",
                                   "name another with --seccomp");
}

static int oci_add_linux(struct oci_writer *w) {
        struct json_value *in_linux = json_add_object(w->d, w->d->root, "linux");

        oci_add_namespaces(w, in_linux);
        oci_add_id_map(w, in_linux, "uidMappings", w->plan->uid, w->plan->host_uid);
        oci_add_id_map(w, in_linux, "gidMappings", w->plan->gid, w->plan->host_gid);
        json_add_string(w->d, in_linux, "rootfsPropagation", "private");
        oci_add_resources(w, in_linux);
        add_paths(w, in_linux, "readonlyPaths", is_cover);
        add_paths(w, in_linux, "maskedPaths", is_masked);
        return oci_add_seccomp(w, in_linux);
}

/* --------------------------------------------------------------------------- all of it */

static void list_unsaid(struct oci_writer *w) {
        const struct nsrun_plan *plan = w->plan;

        if (plan->is_scoped)
                leave_unsaid(w, "Landlock: abstract sockets and signals don't stay inside by it");
        if (plan->protected || plan->git_dirs)
                leave_unsaid(w, "protected names that don't exist can be made, and stay");
        if (plan->seccomp_log)
                leave_unsaid(w, "--seccomp-log: the kernel's log has no denied calls");
        if (plan->gives)
                leave_unsaid(
                        w,
                        "devices of the host's (--kvm, --gpu ...) are the engine's to pass, and no agent, no bus and no browser is reached");
        if (!plan->new_session)
                leave_unsaid(w, "--no-new-session: the command has a session of its own");
}

static int refuse_oci(const struct nsrun_plan *plan, struct nsrun_error *err) {
        const char *what = plan->plain   ? "without a sandbox there is no bundle"
                           : plan->join  ? "a command in a session has no bundle of its own"
                           : !plan->argv ? "no command"
                                         : NULL;

        return what ? error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), NULL, what, NULL) : 0;
}

int plan_make_oci(const struct nsrun_plan *plan, const char *folder, struct oci_bundle *ret,
                  struct nsrun_error *err) {
        _cleanup_json_ struct json_document d = json_begin();
        struct oci_writer w = {.plan = plan, .folder = folder, .bundle = ret, .d = &d, .err = err};
        struct json_value *root;
        int r = refuse_oci(plan, err);

        *ret = (struct oci_bundle){0};
        if (r < 0)
                return r;
        json_add_string(&d, d.root, "ociVersion", OCI_VERSION);
        root = json_add_object(&d, d.root, "root");
        json_add_string(&d, root, "path", ROOT);
        json_add_bool(&d, root, "readonly", true);
        if (plan->hostname)
                json_add_string(&d, d.root, "hostname", plan->hostname);
        oci_add_process(&w);
        w.mounts = json_add_array(&d, d.root, "mounts");
        oci_add_entry(&w, strdup(ROOT), NULL, 0755, false);
        for (size_t i = 0; i < plan->n_ops && r >= 0; i++)
                r = oci_add_op(&w, &plan->ops[i]);
        if (r >= 0)
                r = oci_add_linux(&w);
        list_unsaid(&w);
        if (r >= 0 && w.has_failed)
                r = error_oom(err);
        /* Another path than the plan's would be bound. */
        if (r >= 0 && d.is_other)
                r = error_set(
                        err, NSRUN_STAGE_PLAN, UNSAID(-EILSEQ), NULL,
                        "the plan has a path or a variable with bytes that are no UTF-8, which JSON can't say",
                        NULL);
        return r < 0 ? r : json_finish(&d, true, &ret->config, err);
}

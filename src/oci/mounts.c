/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The container's tree: its root, "mounts", the devices that every container has, what is masked or
 * read-only, and sysctls. */
#include <sched.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>

#include "base/array.h"
#include "base/causes.h"
#include "base/file.h"
#include "base/path.h"
#include "boundary/raw/beneath_root.h"
#include "spec.h"

#define CGROUP2_MAGIC 0x63677270

/* A row of "options" that isn't the file system's own. */
struct mount_option {
        const char *name;
        unsigned long set, clear; /* MS_*, among them MS_SLAVE and MS_PRIVATE */
        uint64_t attribute;       /* MOUNT_ATTR_*, of a bind */
};

static const struct mount_option mount_options[] = {
        {"ro", MS_RDONLY, 0, MOUNT_ATTR_RDONLY},
        {"rw", 0, MS_RDONLY, 0},
        {"rro", MS_RDONLY, 0, MOUNT_ATTR_RDONLY},
        {"nosuid", MS_NOSUID, 0, MOUNT_ATTR_NOSUID},
        {"rnosuid", MS_NOSUID, 0, MOUNT_ATTR_NOSUID},
        {"suid", 0, MS_NOSUID, 0},
        {"nodev", MS_NODEV, 0, MOUNT_ATTR_NODEV},
        {"rnodev", MS_NODEV, 0, MOUNT_ATTR_NODEV},
        {"dev", 0, MS_NODEV, 0},
        {"noexec", MS_NOEXEC, 0, MOUNT_ATTR_NOEXEC},
        {"rnoexec", MS_NOEXEC, 0, MOUNT_ATTR_NOEXEC},
        {"exec", 0, MS_NOEXEC, 0},
        {"relatime", MS_RELATIME, 0, 0},
        {"strictatime", MS_STRICTATIME, 0, 0},
        {"noatime", MS_NOATIME, 0, MOUNT_ATTR_NOATIME},
        {"nodiratime", MS_NODIRATIME, 0, MOUNT_ATTR_NODIRATIME},
        {"private", MS_PRIVATE, MS_SLAVE, 0},
        {"rprivate", MS_PRIVATE, MS_SLAVE, 0},
        {"slave", MS_SLAVE, MS_PRIVATE, 0},
        {"rslave", MS_SLAVE, MS_PRIVATE, 0},
        {"bind", MS_BIND, 0, 0},
        {"rbind", MS_BIND | MS_REC, 0, 0},
        {"tmpcopyup", 0, 0, 0},
};

/* Those that would be something else if they were handed to the file system, or left out. */
static const char *const refused_options[] = {
        "shared", "rshared", "unbindable", "runbindable", "idmap", "ridmap", "remount",
};

static struct plan_op *oci_mounts_add(struct nsrun_plan *plan, enum plan_op_kind kind, const char *target,
                                      const char *source, const char *text) {
        struct plan_op *op;

        if (ARRAY_GROW(plan->ops, plan->n_ops) < 0)
                return NULL;
        op = &plan->ops[plan->n_ops++];
        *op = (struct plan_op){.kind = kind, .origin = PLAN_BY_COMMAND, .parent_mode = 0755};
        op->target = strdup(target);
        op->source = source ? strdup(source) : NULL;
        op->text = text ? strdup(text) : NULL;
        return op->target && (op->source || !source) && (op->text || !text) ? op : NULL;
}

static int add_plain(struct nsrun_plan *plan, enum plan_op_kind kind, const char *target, const char *source,
                     const char *text, struct nsrun_error *err) {
        return oci_mounts_add(plan, kind, target, source, text) ? 0 : error_oom(err);
}

/* ------------------------------------------------------------------ one mount */

struct mount_asked {
        const char *target, *type, *source;
        unsigned long flags;
        uint64_t attributes;
        bool copies_up;
        struct strbuf data;
};

static int read_option(struct mount_asked *m, const char *option, struct nsrun_error *err) {
        char name[200];

        (void)snprintf(name, sizeof(name), "the mount option %.64s of %.100s", option, m->target);
        for (size_t i = 0; i < ARRAY_SIZE(refused_options); i++)
                if (streq(option, refused_options[i]) || startswith(option, "idmap=") ||
                    startswith(option, "ridmap="))
                        return fields_refuse(err, name, NULL);
        m->copies_up |= streq(option, "tmpcopyup");
        for (size_t i = 0; i < ARRAY_SIZE(mount_options); i++)
                if (streq(option, mount_options[i].name)) {
                        m->flags = (m->flags & ~mount_options[i].clear) | mount_options[i].set;
                        m->attributes |= mount_options[i].attribute;
                        if (mount_options[i].clear & MS_RDONLY)
                                m->attributes &= ~(uint64_t)MOUNT_ATTR_RDONLY;
                        return 0;
                }
        strbuf_addf(&m->data, "%s%s", m->data.length > 0 ? "," : "", option);
        return 0;
}

/* "tmpcopyup" of a folder that holds nothing is no work; of another it would be a copy. */
static int check_copy_up(const struct mount_asked *m, const char *root, struct nsrun_error *err) {
        _cleanup_close_ int root_fd = -EBADF, folder = -EBADF;
        char name[128];

        if (!m->copies_up)
                return 0;
        root_fd = sys_open(AT_FDCWD, root, O_PATH | O_DIRECTORY, 0);
        folder = root_fd < 0 ? root_fd : late_open(root_fd, m->target, O_RDONLY | O_DIRECTORY, 0);
        if (folder == -ENOENT || folder == -ENOTDIR)
                return 0;
        if (folder < 0)
                return error_set(err, NSRUN_STAGE_POLICY, folder, m->target, "it can't be looked at", NULL);
        (void)snprintf(name, sizeof(name), "tmpcopyup of %.64s, which holds files,", m->target);
        return folder_is_empty(folder)
                       ? 0
                       : fields_refuse(
                                 err, name,
                                 "podman's --tmpfs PATH:notmpcopyup leaves it out; nsrun's own bundles are for crun and runc");
}

static int mounts_add_bind(struct nsrun_plan *plan, const struct mount_asked *m, const char *bundle,
                           struct nsrun_error *err) {
        _cleanup_free_ char *path = m->source && m->source[0] == '/'
                                            ? strdup(m->source)
                                            : path_join(bundle, m->source ? m->source : "");
        _cleanup_free_ char *source = NULL;
        struct plan_op *op;
        int r = path ? path_canonical(path, &source, NULL) : -ENOMEM;

        if (r < 0)
                return error_looked_at(err, NSRUN_STAGE_POLICY, r, path,
                                       "the source of a mount can't be found", NULL);
        if (plan->raw->setup.is_private && (m->flags & MS_SLAVE))
                return fields_refuse(err, "a slave mount without linux.rootfsPropagation slave", NULL);
        if (m->data.length > 0)
                return fields_refuse(err, "a bind with options of a file system", m->data.text);
        op = oci_mounts_add(plan, PLAN_BIND, m->target, source, NULL);
        if (!op)
                return error_oom(err);
        op->attributes = m->attributes;
        op->is_shallow = !(m->flags & MS_REC);
        if (!plan->raw->setup.is_private && !(m->flags & MS_SLAVE))
                op->propagation = MS_PRIVATE | MS_REC;
        return 0;
}

/* The container's own cgroup, if there is a hierarchy of version 2 alone; else nothing, read-only. */
static int add_cgroup(struct spec *spec, const struct mount_asked *m, struct nsrun_error *err) {
        struct statfs fs;
        bool is_second = statfs("/sys/fs/cgroup", &fs) == 0 && (unsigned long)fs.f_type == CGROUP2_MAGIC &&
                         (spec->plan->raw->namespaces & CLONE_NEWCGROUP);
        struct plan_op *op =
                is_second ? oci_mounts_add(spec->plan, PLAN_FILESYSTEM, m->target, "cgroup2", NULL)
                          : oci_mounts_add(spec->plan, PLAN_FILESYSTEM, m->target, "tmpfs",
                                           "mode=0555,size=4k");

        if (!op)
                return error_oom(err);
        op->mount_flags = MS_NOSUID | MS_NODEV | MS_NOEXEC | (is_second ? m->flags & MS_RDONLY : MS_RDONLY);
        return 0;
}

static int add_filesystem(struct spec *spec, const struct mount_asked *m, const char *root,
                          struct nsrun_error *err) {
        static const char *const types[] = {"proc", "sysfs", "tmpfs", "devpts", "mqueue"};
        struct plan_op *op;
        char name[128];
        int r;

        if (m->type && streq(m->type, "cgroup"))
                return add_cgroup(spec, m, err);
        for (size_t i = 0; m->type && i < ARRAY_SIZE(types); i++) {
                if (!streq(m->type, types[i]))
                        continue;
                r = check_copy_up(m, root, err);
                if (r < 0)
                        return r;
                op = oci_mounts_add(spec->plan, PLAN_FILESYSTEM, m->target, m->type,
                                    m->data.length > 0 ? m->data.text : NULL);
                if (!op)
                        return error_oom(err);
                op->mount_flags = m->flags & ~(unsigned long)(MS_SLAVE | MS_PRIVATE);
                return 0;
        }
        (void)snprintf(name, sizeof(name), "a mount of the type %.64s", m->type ? m->type : "(none)");
        return fields_refuse(err, name, NULL);
}

static int mounts_add_one(const struct json_value *from, const char *bundle, const char *root,
                          struct spec *spec, struct nsrun_error *err) {
        const struct json_value *options = json_get(from, "options");
        const char *destination = json_text(json_get(from, "destination"));
        _cleanup_free_ char *target = NULL;
        struct mount_asked m = {.type = json_text(json_get(from, "type")),
                                .source = json_text(json_get(from, "source"))};
        int r = 0;

        if (!destination || !*destination)
                return fields_wrong(err, "mounts.destination", "no path");
        m.target = target = path_join("/", destination);
        if (!target)
                return error_oom(err);
        if (fields_is_empty(json_get(from, "uidMappings")) == false ||
            fields_is_empty(json_get(from, "gidMappings")) == false)
                return fields_refuse(err, "mounts.uidMappings", NULL);
        for (size_t i = 0; i < json_length(options) && r >= 0; i++) {
                const char *option = json_text(json_at(options, i));

                r = option ? read_option(&m, option, err) : fields_wrong(err, "mounts.options", "not texts");
        }
        if (r >= 0 && m.data.length > 0 && !m.data.text)
                r = error_oom(err);
        if (r >= 0)
                r = (m.flags & MS_BIND) || (m.type && streq(m.type, "bind"))
                            ? mounts_add_bind(spec->plan, &m, bundle, err)
                            : add_filesystem(spec, &m, root, err);
        strbuf_clear(&m.data);
        return r;
}

/* ------------------------------------------------------------------- devices */

static int add_device(struct nsrun_plan *plan, const char *path, struct nsrun_error *err) {
        struct plan_op *op = oci_mounts_add(plan, PLAN_BIND, path, path, NULL);

        if (!op)
                return error_oom(err);
        op->is_device = true;
        return 0;
}

/* A device is the host's node of the same name, bound: none is made. */
static int add_own_devices(const struct json_value *devices, struct nsrun_plan *plan,
                           struct nsrun_error *err) {
        int r = 0;

        for (size_t i = 0; i < json_length(devices) && r >= 0; i++) {
                const struct json_value *device = json_at(devices, i);
                const char *path = json_text(json_get(device, "path")),
                           *type = json_text(json_get(device, "type"));
                uint64_t first = 0, second = 0;
                char name[128];
                struct stat st;

                if (!path || path[0] != '/' || !type || !json_number(json_get(device, "major"), &first) ||
                    !json_number(json_get(device, "minor"), &second))
                        return fields_wrong(err, "linux.devices", "no path, type, major and minor");
                (void)snprintf(name, sizeof(name), "the device %.64s, which isn't the host's of that name,",
                               path);
                if (lstat(path, &st) < 0 ||
                    !(streq(type, "b") ? S_ISBLK(st.st_mode) : S_ISCHR(st.st_mode)) ||
                    major(st.st_rdev) != first || minor(st.st_rdev) != second)
                        return fields_refuse(err, name, NULL);
                r = add_device(plan, path, err);
        }
        return r;
}

/* config-linux.md, "Default Devices"; a /dev of the host's has them. */
static int add_default_devices(struct nsrun_plan *plan, struct nsrun_error *err) {
        static const char *const nodes[] = {"/dev/null", "/dev/zero",   "/dev/full",
                                            "/dev/tty",  "/dev/random", "/dev/urandom"};
        static const char *const links[][2] = {
                {"/dev/fd", "/proc/self/fd"},       {"/dev/stdin", "/proc/self/fd/0"},
                {"/dev/stdout", "/proc/self/fd/1"}, {"/dev/stderr", "/proc/self/fd/2"},
                {"/dev/ptmx", "pts/ptmx"},
        };
        int r = 0;

        for (size_t i = 0; i < plan->n_ops; i++)
                if (plan->ops[i].kind == PLAN_BIND && streq(plan->ops[i].target, "/dev"))
                        return 0;
        for (size_t i = 0; i < ARRAY_SIZE(nodes) && r >= 0; i++)
                r = add_device(plan, nodes[i], err);
        for (size_t i = 0; i < ARRAY_SIZE(links) && r >= 0; i++)
                r = add_plain(plan, PLAN_SYMLINK, links[i][0], NULL, links[i][1], err);
        return r;
}

/* ----------------------------------------------------------- paths and sysctls */

static int mounts_add_paths(const struct json_value *paths, const char *name, enum plan_op_kind kind,
                            struct nsrun_plan *plan, struct nsrun_error *err) {
        int r = 0;

        for (size_t i = 0; i < json_length(paths) && r >= 0; i++) {
                const char *path = json_text(json_at(paths, i));

                r = path && path[0] == '/' ? add_plain(plan, kind, path, NULL, NULL, err)
                                           : fields_wrong(err, name, "no absolute path");
        }
        return r;
}

/* Sysctls of a namespace that the container has to itself. */
static bool is_own_sysctl(const char *name, const struct spec *spec) {
        static const char *const ipc[] = {"kernel/msg", "kernel/sem", "kernel/shm", "fs/mqueue/"};
        uint64_t kinds = spec->plan->raw->namespaces;

        for (size_t i = 0; i < spec->n_namespaces; i++)
                kinds |= spec->namespaces[i].kind;
        for (size_t i = 0; i < ARRAY_SIZE(ipc); i++)
                if (startswith(name, ipc[i]))
                        return kinds & CLONE_NEWIPC;
        return startswith(name, "net/") && (kinds & CLONE_NEWNET);
}

static int add_sysctls(const struct json_value *sysctls, struct spec *spec, struct nsrun_error *err) {
        const char *known[64];
        size_t n = 0;

        for (const char *key; (key = json_unknown_key(sysctls, known, n)); known[n++] = key) {
                _cleanup_free_ char *path = strdup(key);
                const char *value = json_text(json_get(sysctls, key));
                char name[128];

                if (!path)
                        return error_oom(err);
                for (char *c = path; *c; c++)
                        *c = *c == '.' ? '/' : *c;
                (void)snprintf(name, sizeof(name), "the sysctl %.64s", key);
                if (n + 1 == ARRAY_SIZE(known) || strstr(path, "//") || !is_own_sysctl(path, spec))
                        return fields_refuse(err, name, "it would be the host's, too");
                if (!value)
                        return fields_wrong(err, name, "not a text");
                if (add_plain(spec->plan, PLAN_SYSCTL, path, NULL, value, err) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int mounts_find_root(const struct json_value *config, const char *bundle, char **ret,
                            bool *ret_is_private, struct nsrun_error *err) {
        const char *path = json_text(json_get(json_get(config, "root"), "path"));
        const char *propagation = json_text(json_get(json_get(config, "linux"), "rootfsPropagation"));
        _cleanup_free_ char *whole = NULL;
        unsigned mode = 0;
        int r;

        *ret_is_private = !propagation || !*propagation || streq(propagation, "private") ||
                          streq(propagation, "rprivate");
        if (!*ret_is_private && !streq(propagation, "slave") && !streq(propagation, "rslave"))
                return fields_refuse(err, "a linux.rootfsPropagation other than private and slave", NULL);
        if (!path || !*path)
                return fields_wrong(err, "root.path", "no path");
        whole = path[0] == '/' ? strdup(path) : path_join(bundle, path);
        r = whole ? path_canonical(whole, ret, &mode) : -ENOMEM;
        if (r >= 0 && !S_ISDIR(mode))
                r = -ENOTDIR;
        return r < 0 ? error_looked_at(err, NSRUN_STAGE_POLICY, r, whole,
                                       "the container's root can't be found", NULL)
                     : 0;
}

/* Images name one that they don't have. */
static int mounts_add_cwd(struct nsrun_plan *plan, struct nsrun_error *err) {
        struct plan_op *op = oci_mounts_add(plan, PLAN_DIR, plan->raw->directories[0], NULL, NULL);

        if (!op)
                return error_oom(err);
        op->mode = 0755;
        return 0;
}

int mounts_add(const struct json_value *config, const char *bundle, struct spec *spec,
               struct nsrun_error *err) {
        const struct json_value *in_linux = json_get(config, "linux"), *mounts = json_get(config, "mounts");
        struct nsrun_plan *plan = spec->plan;
        _cleanup_free_ char *root = NULL;
        int r = mounts_find_root(config, bundle, &root, &plan->raw->setup.is_private, err);

        if (r >= 0)
                r = add_plain(plan, PLAN_BIND, "/", root, NULL, err);
        for (size_t i = 0; i < json_length(mounts) && r >= 0; i++)
                r = mounts_add_one(json_at(mounts, i), bundle, root, spec, err);
        if (r >= 0)
                r = mounts_add_cwd(plan, err);
        if (r >= 0)
                r = add_default_devices(plan, err);
        if (r >= 0)
                r = add_own_devices(json_get(in_linux, "devices"), plan, err);
        if (r >= 0)
                r = add_sysctls(json_get(in_linux, "sysctl"), spec, err);
        if (r >= 0)
                r = mounts_add_paths(json_get(in_linux, "readonlyPaths"), "linux.readonlyPaths", PLAN_COVER,
                                     plan, err);
        if (r >= 0)
                r = mounts_add_paths(json_get(in_linux, "maskedPaths"), "linux.maskedPaths", PLAN_MASK, plan,
                                     err);
        if (r >= 0 && json_is_true(json_get(json_get(config, "root"), "readonly")))
                r = add_plain(plan, PLAN_REMOUNT_RO, "/", NULL, NULL, err);
        return r;
}

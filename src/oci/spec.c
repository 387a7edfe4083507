/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* config.json as a whole: namespaces, id maps, the filter, the host name. */
#include "spec.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>

#include "base/array.h"
#include "base/sys.h"

void spec_clear(struct spec *spec) {
        for (size_t i = 0; i < spec->n_namespaces; i++)
                free(spec->namespaces[i].path);
        free(spec->namespaces);
        free(spec->uid_map);
        free(spec->gid_map);
        free(spec->oom_score);
        plan_free(spec->plan);
        *spec = (struct spec){.umask = -1};
}

static int spec_make_plan(struct spec *spec, struct nsrun_error *err) {
        struct nsrun_plan *plan = calloc(1, sizeof(*plan));

        *spec = (struct spec){.plan = plan, .umask = -1};
        if (!plan || !(plan->raw = calloc(1, sizeof(*plan->raw))))
                return error_oom(err);
        plan->raw->setup.start_fd = plan->raw->identity.userns_fd = plan->raw->setup.userns_block_fd = -1;
        plan->raw->identity.block_fd = plan->raw->setup.exec_fd = plan->raw->setup.join_pidfd = -1;
        plan->raw->setup.console_socket = -1;
        plan->raw->setup.is_private = plan->raw->refuses_magic_links = true;
        plan->new_session = true;
        plan->host_uid = geteuid();
        plan->host_gid = getegid();
        return 0;
}

/* ------------------------------------------------------------------ namespaces */

static uint64_t namespace_kind(const char *type) {
        static const struct {
                const char *name;
                uint64_t kind;
        } all[] = {
                {"pid", CLONE_NEWPID},   {"network", CLONE_NEWNET}, {"ipc", CLONE_NEWIPC},
                {"uts", CLONE_NEWUTS},   {"mount", CLONE_NEWNS},    {"cgroup", CLONE_NEWCGROUP},
                {"user", CLONE_NEWUSER},
        };

        for (size_t i = 0; type && i < ARRAY_SIZE(all); i++)
                if (streq(type, all[i].name))
                        return all[i].kind;
        return 0;
}

static int add_namespace(const struct json_value *from, struct spec *spec, struct nsrun_error *err) {
        const char *path = json_text(json_get(from, "path")), *type = json_text(json_get(from, "type"));
        uint64_t kind = namespace_kind(type);
        struct spec_namespace *to;
        char name[64];

        (void)snprintf(name, sizeof(name), "a %.20s namespace%s", type ? type : "nameless",
                       path && *path ? " by path" : "");
        if (!kind || (path && *path && (kind == CLONE_NEWUSER || kind == CLONE_NEWNS)))
                return fields_refuse(err, name, NULL);
        if (!path || !*path) {
                spec->plan->raw->namespaces |= kind;
                return 0;
        }
        if (ARRAY_GROW(spec->namespaces, spec->n_namespaces) < 0)
                return error_oom(err);
        to = &spec->namespaces[spec->n_namespaces++];
        *to = (struct spec_namespace){.kind = kind, .path = strdup(path)};
        return to->path ? 0 : error_oom(err);
}

static int read_map(const struct json_value *maps, const char *name, char **ret, struct nsrun_error *err) {
        _cleanup_strbuf_ struct strbuf text = {0};

        for (size_t i = 0; i < json_length(maps); i++) {
                const struct json_value *map = json_at(maps, i);
                uint64_t inside = 0, outside = 0, size = 0;

                if (!json_number(json_get(map, "containerID"), &inside) ||
                    !json_number(json_get(map, "hostID"), &outside) ||
                    !json_number(json_get(map, "size"), &size) || size == 0)
                        return fields_wrong(err, name, "no containerID, hostID and size");
                /* Of more than 32 bits the kernel would take the lower ones: another id. */
                if (inside > UINT32_MAX || outside > UINT32_MAX || size > UINT32_MAX)
                        return fields_wrong(err, name, "an id has 32 bits");
                strbuf_addf(&text, "%ju %ju %ju\n", (uintmax_t)inside, (uintmax_t)outside, (uintmax_t)size);
        }
        *ret = strbuf_finish(&text);
        return *ret ? 0 : error_oom(err);
}

static int add_maps(const struct json_value *in_linux, struct spec *spec, struct nsrun_error *err) {
        const struct json_value *uids = json_get(in_linux, "uidMappings");
        const struct json_value *gids = json_get(in_linux, "gidMappings");
        int r;

        if (!(spec->plan->raw->namespaces & CLONE_NEWUSER))
                return json_length(uids) + json_length(gids) == 0
                               ? 0
                               : fields_wrong(err, "linux.uidMappings", "there is no user namespace");
        if (json_length(uids) == 0 || json_length(gids) == 0)
                return fields_wrong(err, "linux.uidMappings", "a user namespace needs both maps");
        spec->plan->raw->setup.becomes_root = true;
        r = read_map(uids, "linux.uidMappings", &spec->uid_map, err);
        return r < 0 ? r : read_map(gids, "linux.gidMappings", &spec->gid_map, err);
}

/* Whether this process is in the machine's first user namespace, in which devices can be made. */
static bool is_first_userns(void) {
        char text[64] = "";
        _cleanup_close_ int fd = sys_open(AT_FDCWD, "/proc/self/uid_map", O_RDONLY, 0);

        return fd < 0 || sys_read(fd, text, sizeof(text) - 1) <= 0 || strstr(text, " 4294967295");
}

/* "linux.resources.devices" keeps what no cgroup of ours does: without it only a user namespace, or these
 * capabilities' absence, keeps the container from the host's devices. */
int spec_check_devices(const struct spec *spec, bool has_userns, struct nsrun_error *err) {
        const struct plan_raw *raw = spec->plan->raw;
        uint64_t able = (UINT64_C(1) << CAP_MKNOD) | (UINT64_C(1) << CAP_SYS_ADMIN);

        if (!has_userns && ((raw->identity.bounding | raw->identity.capabilities) & able) &&
            is_first_userns())
                return fields_refuse(err, "CAP_MKNOD or CAP_SYS_ADMIN outside of a user namespace",
                                     "nsrun-oci makes no cgroups, which would keep devices away: leave it "
                                     "out, or run as an ordinary user");
        return 0;
}

static int spec_add_namespaces(const struct json_value *in_linux, struct spec *spec,
                               struct nsrun_error *err) {
        const struct json_value *list = json_get(in_linux, "namespaces");
        int r = 0;

        for (size_t i = 0; i < json_length(list) && r >= 0; i++)
                r = add_namespace(json_at(list, i), spec, err);
        if (r >= 0 && !(spec->plan->raw->namespaces & CLONE_NEWNS))
                return fields_refuse(err, "the host's mount namespace", NULL);
        return r < 0 ? r : add_maps(in_linux, spec, err);
}

/* ----------------------------------------------------------------------- the rest */

static int add_filter(const struct json_value *policy, struct spec *spec, struct nsrun_error *err) {
        _cleanup_free_ char *text = NULL;

        spec->is_unfiltered = json_kind(policy) == JSON_NULL;
        if (spec->is_unfiltered)
                return 0;
        text = json_spell(policy);
        return text ? seccomp_load_text("config.json: linux.seccomp", text, &spec->plan->seccomp, err)
                    : error_oom(err);
}

static int spec_add_hostname(const struct json_value *name, struct spec *spec, struct nsrun_error *err) {
        const char *text = json_text(name);

        if (!text || !*text)
                return 0;
        if (!(spec->plan->raw->namespaces & CLONE_NEWUTS))
                return fields_wrong(err, "hostname", "there is no uts namespace of the container's own");
        spec->plan->hostname = strdup(text);
        return spec->plan->hostname ? 0 : error_oom(err);
}

int spec_read_process(const struct json_value *config, const struct json_value *process, struct spec *ret,
                      struct nsrun_error *err) {
        _cleanup_spec_ struct spec spec = {0};
        int r = spec_make_plan(&spec, err);

        if (r >= 0)
                r = process_add(process, &spec, err);
        if (r >= 0)
                r = add_filter(json_get(json_get(config, "linux"), "seccomp"), &spec, err);
        if (r < 0)
                return r;
        *ret = spec;
        spec = (struct spec){0};
        return 0;
}

int spec_read(const struct json_value *config, const char *bundle, struct spec *ret,
              struct nsrun_error *err) {
        const struct json_value *in_linux = json_get(config, "linux");
        _cleanup_spec_ struct spec spec = {0};
        int r = fields_check(config, err);

        if (r >= 0)
                r = spec_read_process(config, json_get(config, "process"), &spec, err);
        if (r >= 0)
                r = spec_add_namespaces(in_linux, &spec, err);
        if (r >= 0)
                r = spec_check_devices(&spec, spec.plan->raw->namespaces & CLONE_NEWUSER, err);
        if (r >= 0)
                r = spec_add_hostname(json_get(config, "hostname"), &spec, err);
        if (r >= 0)
                r = mounts_add(config, bundle, &spec, err);
        if (r >= 0)
                r = process_add_home(&spec, spec.plan->ops[0].source, err);
        if (r < 0)
                return r;
        *ret = spec;
        spec = (struct spec){0};
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "process": the command, as whom it runs, and what it may have. */
#include <sys/resource.h>

#include "base/array.h"
#include "base/file.h"
#include "boundary/raw/beneath_root.h"
#include "host/user.h"
#include "spec.h"

#define PASSWD_BYTES (1U << 20)

static int copy_strings(const struct json_value *array, const char *name, char ***ret,
                        struct nsrun_error *err) {
        for (size_t i = 0; i < json_length(array); i++) {
                const char *text = json_text(json_at(array, i));

                if (!text)
                        return fields_wrong(err, name, "not an array of texts");
                if (strv_add(ret, text) < 0)
                        return error_oom(err);
        }
        return 0;
}

static int process_read_id(const struct json_value *v, const char *name, unsigned *ret,
                           struct nsrun_error *err) {
        uint64_t number = 0;

        if (json_kind(v) != JSON_NULL && (!json_number(v, &number) || number >= UINT32_MAX))
                return fields_wrong(err, name, "no id");
        *ret = (unsigned)number;
        return 0;
}

static int process_add_user(const struct json_value *user, struct spec *spec, struct nsrun_error *err) {
        const struct json_value *groups = json_get(user, "additionalGids"), *mask = json_get(user, "umask");
        struct plan_raw *raw = spec->plan->raw;
        uint64_t bits;
        int r = process_read_id(json_get(user, "uid"), "process.user.uid", &spec->plan->uid, err);

        if (r >= 0)
                r = process_read_id(json_get(user, "gid"), "process.user.gid", &spec->plan->gid, err);
        raw->identity.takes_uid = raw->identity.takes_gid = true;
        raw->identity.groups.n = json_length(groups);
        /* An ordinary user can't change them: those who ask for none keep what is mapped to nobody. */
        raw->identity.groups.is_set = geteuid() == 0 || raw->identity.groups.n > 0;
        if (r >= 0 && raw->identity.groups.n > PLAN_GROUPS_MAX)
                return fields_refuse(err, "process.user.additionalGids beyond 64", NULL);
        for (size_t i = 0; i < raw->identity.groups.n && r >= 0; i++)
                r = process_read_id(json_at(groups, i), "process.user.additionalGids",
                                    &raw->identity.groups.ids[i], err);
        if (r < 0 || json_kind(mask) == JSON_NULL)
                return r;
        if (!json_number(mask, &bits) || bits > 0777)
                return fields_wrong(err, "process.user.umask", "no umask");
        spec->umask = (int)bits;
        return 0;
}

static int add_set(const struct json_value *sets, const char *key, uint64_t *ret, struct nsrun_error *err) {
        const struct json_value *names = json_get(sets, key);

        *ret = 0;
        for (size_t i = 0; i < json_length(names); i++) {
                const char *name = json_text(json_at(names, i));
                int number = name && startswith(name, "CAP_") ? capability_find(name + 4) : -1;

                if (number < 0)
                        return error_setf(err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), NULL, NULL,
                                          "config.json: process.capabilities.%s: no capability: %s", key,
                                          name ? name : "not a text");
                *ret |= UINT64_C(1) << number;
        }
        return 0;
}

/* The effective set follows of the others at the exec: it is root's permitted one, and else the ambient. */
static int add_capabilities(const struct json_value *sets, struct plan_raw *raw, struct nsrun_error *err) {
        uint64_t effective = 0;
        int r;

        raw->identity.has_sets = true;
        r = add_set(sets, "bounding", &raw->identity.bounding, err);
        if (r >= 0)
                r = add_set(sets, "permitted", &raw->identity.capabilities, err);
        if (r >= 0)
                r = add_set(sets, "effective", &effective, err);
        if (r >= 0)
                r = add_set(sets, "inheritable", &raw->identity.inheritable, err);
        if (r >= 0)
                r = add_set(sets, "ambient", &raw->identity.ambient, err);
        if (r >= 0 && (effective & ~raw->identity.capabilities))
                return fields_wrong(err, "process.capabilities.effective", "not all of it is permitted");
        return r;
}

static int find_rlimit(const char *type) {
        const char *name = type ? startswith(type, "RLIMIT_") : NULL;

        for (size_t i = 0; name && i < RLIMITS_COUNT; i++)
                if (strcasecmp(name,
                               rlimit_kinds[i].resource == RLIMIT_CPU ? "cpu" : rlimit_kinds[i].name) == 0)
                        return rlimit_kinds[i].resource;
        return -1;
}

static int add_rlimits(const struct json_value *limits, struct nsrun_plan *plan, struct nsrun_error *err) {
        for (size_t i = 0; i < json_length(limits); i++) {
                const struct json_value *limit = json_at(limits, i);
                int resource = find_rlimit(json_text(json_get(limit, "type")));
                struct policy_rlimit *to;

                if (resource < 0)
                        return fields_wrong(err, "process.rlimits", "an unknown type");
                to = &plan->limits.rlimits[resource];
                if (!json_number(json_get(limit, "soft"), &to->soft) ||
                    !json_number(json_get(limit, "hard"), &to->hard) || to->soft > to->hard)
                        return fields_wrong(err, "process.rlimits", "no two numbers, soft and hard");
                to->is_set = true;
        }
        return 0;
}

static int add_console(const struct json_value *process, struct spec *spec, struct nsrun_error *err) {
        const struct json_value *size = json_get(process, "consoleSize");
        uint64_t rows = 0, columns = 0;

        spec->has_terminal = json_is_true(json_get(process, "terminal"));
        if (json_kind(size) == JSON_NULL)
                return 0;
        if (!json_number(json_get(size, "height"), &rows) ||
            !json_number(json_get(size, "width"), &columns) || rows > UINT16_MAX || columns > UINT16_MAX)
                return fields_wrong(err, "process.consoleSize", "no height and width");
        spec->plan->raw->setup.console_rows = (unsigned short)rows;
        spec->plan->raw->setup.console_columns = (unsigned short)columns;
        return 0;
}

static int add_rest(const struct json_value *process, struct spec *spec, struct nsrun_error *err) {
        const struct json_value *oom = json_get(process, "oomScoreAdj");
        const char *label = json_text(json_get(process, "selinuxLabel"));
        struct plan_raw *raw = spec->plan->raw;

        if (label && *label && !(raw->exec_label = strdup(label)))
                return error_oom(err);
        if (json_kind(oom) == JSON_NULL)
                return 0;
        if (json_kind(oom) != JSON_NUMBER && json_kind(oom) != JSON_REAL)
                return fields_wrong(err, "process.oomScoreAdj", "no number");
        spec->oom_score = json_spell(oom);
        return spec->oom_score ? 0 : error_oom(err);
}

int process_add(const struct json_value *process, struct spec *spec, struct nsrun_error *err) {
        const char *cwd = json_text(json_get(process, "cwd"));
        struct nsrun_plan *plan = spec->plan;
        int r = fields_check_process(process, err);

        if (r >= 0)
                r = copy_strings(json_get(process, "args"), "process.args", &plan->argv, err);
        if (r >= 0 && (!plan->argv || !plan->argv[0]))
                return fields_wrong(err, "process.args", "no command");
        if (r >= 0 && (!cwd || cwd[0] != '/'))
                return fields_wrong(err, "process.cwd", "no absolute path");
        if (r >= 0)
                r = copy_strings(json_get(process, "env"), "process.env", &plan->env, err);
        if (r >= 0 &&
            ((!plan->env && !(plan->env = calloc(1, sizeof(char *)))) ||
             !(plan->raw->file = strdup(plan->argv[0])) || strv_add(&plan->raw->directories, cwd) < 0))
                return error_oom(err);
        plan->raw->setup.needs_first_directory = true;
        if (r >= 0)
                r = process_add_user(json_get(process, "user"), spec, err);
        if (r >= 0)
                r = add_capabilities(json_get(process, "capabilities"), plan->raw, err);
        if (r >= 0)
                r = add_rlimits(json_get(process, "rlimits"), plan, err);
        if (r >= 0)
                r = add_console(process, spec, err);
        return r < 0 ? r : add_rest(process, spec, err);
}

int process_add_home(struct spec *spec, const char *root, struct nsrun_error *err) {
        _cleanup_close_ int folder = -EBADF, fd = -EBADF;
        _cleanup_free_ char *text = NULL, *home = NULL, *variable = NULL;

        STRV_FOREACH (entry, spec->plan->env)
                if (startswith(*entry, "HOME="))
                        return 0;
        folder = sys_open(AT_FDCWD, root, O_PATH | O_DIRECTORY, 0);
        fd = folder < 0 ? folder : late_open(folder, "/etc/passwd", O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
        if (fd >= 0 && read_small_fd(fd, PASSWD_BYTES, &text) >= 0 &&
            user_home_in(text, spec->plan->uid, &home) < 0)
                return error_oom(err);
        variable = str_concat("HOME", "=", home ? home : "/");
        return !variable || strv_add(&spec->plan->env, variable) < 0 ? error_oom(err) : 0;
}

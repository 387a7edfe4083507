/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which members of a configuration are carried.  One that isn't, and says something, is refused by name. */
#include "spec.h"

struct fields {
        const char *object; /* the path of the object, "" for the whole */
        const char *carried[20];
        const char *ignored[8]; /* they are for the engine alone */
};

static const struct fields tables[] = {
        {"", {"ociVersion", "process", "root", "hostname", "mounts", "hooks", "linux"}, {"annotations"}},
        {"root", {"path", "readonly"}, {NULL}},
        {"linux",
         {"uidMappings", "gidMappings", "namespaces", "sysctl", "devices", "resources", "seccomp",
          "maskedPaths", "readonlyPaths", "rootfsPropagation"},
         {NULL}},
        {"linux.resources", {"devices"}, {NULL}},
        {"hooks", {"prestart", "createRuntime", "poststart", "poststop"}, {NULL}},
};

static const struct fields process_table = {"process",
                                            {"terminal", "consoleSize", "user", "args", "env", "cwd",
                                             "capabilities", "rlimits", "oomScoreAdj", "selinuxLabel",
                                             "noNewPrivileges"},
                                            {NULL}};
static const struct fields user_table = {
        "process.user", {"uid", "gid", "umask", "additionalGids"}, {"username"}};

bool fields_is_empty(const struct json_value *v) {
        uint64_t number;

        switch (json_kind(v)) {
        case JSON_NULL:
                return true;
        case JSON_BOOL:
                return !json_is_true(v);
        case JSON_STRING:
                return json_text(v) && !*json_text(v);
        case JSON_NUMBER:
                return json_number(v, &number) && number == 0;
        case JSON_ARRAY:
                return json_length(v) == 0;
        case JSON_OBJECT:
                return !json_unknown_key(v, NULL, 0);
        case JSON_REAL:
                return false;
        }
        return false;
}

int fields_refuse(struct nsrun_error *err, const char *name, const char *why) {
        return error_setf(err, NSRUN_STAGE_POLICY, UNSAID(-EOPNOTSUPP), NULL, why,
                          "config.json: %s is not carried", name);
}

int fields_wrong(struct nsrun_error *err, const char *name, const char *why) {
        return error_setf(err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), NULL, NULL, "config.json: %s: %s", name,
                          why);
}

/* Why some are not, and what leaves them out. */
static const char *reason(const char *name) {
        static const struct {
                const char *name, *why;
        } all[] = {
                {"linux.cgroupsPath",
                 "nsrun-oci makes no cgroups: podman's --cgroups=disabled leaves it out"},
                {"linux.resources.",
                 "nsrun-oci makes no cgroups, and so can't hold the limit: leave it out"},
                {"linux.personality", "the command has its parent's"},
                {"hooks.", "only prestart, createRuntime, poststart and poststop are"},
                {"process.apparmorProfile", "podman's --security-opt apparmor=unconfined leaves it out"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(all); i++)
                if (startswith(name, all[i].name))
                        return all[i].why;
        return NULL;
}

static size_t list_length(const char *const *list, size_t most) {
        size_t n = 0;

        while (n < most && list[n])
                n++;
        return n;
}

static int check_object(const struct json_value *object, const struct fields *fields,
                        struct nsrun_error *err) {
        const char *known[ARRAY_SIZE(fields->carried) + ARRAY_SIZE(fields->ignored) + 32];
        size_t n = 0;

        for (size_t i = 0; i < list_length(fields->carried, ARRAY_SIZE(fields->carried)); i++)
                known[n++] = fields->carried[i];
        for (size_t i = 0; i < list_length(fields->ignored, ARRAY_SIZE(fields->ignored)); i++)
                known[n++] = fields->ignored[i];
        for (;;) {
                const char *key = json_unknown_key(object, known, n);
                char name[128];

                if (!key)
                        return 0;
                (void)snprintf(name, sizeof(name), "%s%s%.64s", fields->object, *fields->object ? "." : "",
                               key);
                if (!fields_is_empty(json_get(object, key)) || n == ARRAY_SIZE(known))
                        return fields_refuse(err, name, reason(name));
                known[n++] = key;
        }
}

static const struct json_value *find(const struct json_value *config, const char *path) {
        char name[64];

        for (size_t n; *path; path += n + (path[n] == '.')) {
                n = strcspn(path, ".");
                (void)snprintf(name, sizeof(name), "%.*s", (int)n, path);
                config = json_get(config, name);
        }
        return config;
}

int fields_check(const struct json_value *config, struct nsrun_error *err) {
        const char *version = json_text(json_get(config, "ociVersion"));
        int r = 0;

        if (json_kind(config) != JSON_OBJECT)
                return fields_wrong(err, "it", "not an object");
        if (!version || !startswith(version, "1."))
                return fields_refuse(err, "an ociVersion other than 1", NULL);
        for (size_t i = 0; i < ARRAY_SIZE(tables) && r >= 0; i++) {
                const struct json_value *object = find(config, tables[i].object);

                if (json_kind(object) != JSON_NULL && json_kind(object) != JSON_OBJECT)
                        return fields_wrong(err, tables[i].object, "not an object");
                r = check_object(object, &tables[i], err);
        }
        return r;
}

int fields_check_process(const struct json_value *process, struct nsrun_error *err) {
        int r;

        if (json_kind(process) != JSON_OBJECT)
                return fields_wrong(err, "process", "not an object");
        r = check_object(process, &process_table, err);
        return r < 0 ? r : check_object(json_get(process, "user"), &user_table, err);
}

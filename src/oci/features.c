/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* features: what is carried, as the specification's features.md has it. */
#include "command.h"
#include "spec.h"

static void features_add_list(struct json_document *d, struct json_value *to, const char *key,
                              const char *const *names) {
        struct json_value *array = json_add_array(d, to, key);

        for (; *names; names++)
                json_add_string(d, array, NULL, *names);
}

#define LIST(d, to, key, ...) features_add_list(d, to, key, (const char *const[]){__VA_ARGS__, NULL})

static void add_linux(struct json_document *d) {
        struct json_value *in_linux = json_add_object(d, d->root, "linux"), *o;

        LIST(d, in_linux, "namespaces", "cgroup", "ipc", "mount", "network", "pid", "user", "uts");
        o = json_add_object(d, in_linux, "cgroup");
        json_add_bool(d, o, "v1", false);
        json_add_bool(d, o, "v2", false);
        json_add_bool(d, o, "systemd", false);
        json_add_bool(d, o, "systemdUser", false);
        o = json_add_object(d, in_linux, "seccomp");
        json_add_bool(d, o, "enabled", true);
        o = json_add_object(d, in_linux, "apparmor");
        json_add_bool(d, o, "enabled", false);
        o = json_add_object(d, in_linux, "selinux");
        json_add_bool(d, o, "enabled", true);
}

int oci_features(nsrun_unused const struct oci_options *options, nsrun_unused int *ret_status,
                 struct nsrun_error *err) {
        _cleanup_json_ struct json_document d = json_begin();
        _cleanup_free_ char *text = NULL;
        int r;

        json_add_string(&d, d.root, "ociVersionMin", "1.0.0");
        json_add_string(&d, d.root, "ociVersionMax", "1.2.0");
        LIST(&d, d.root, "hooks", "prestart", "createRuntime", "poststart", "poststop");
        LIST(&d, d.root, "mountOptions", "bind", "dev", "exec", "noatime", "nodev", "nodiratime", "noexec",
             "nosuid", "private", "rbind", "relatime", "ro", "rprivate", "rro", "rw", "strictatime", "suid");
        add_linux(&d);
        r = json_finish(&d, true, &text, err);
        return r < 0            ? r
               : puts(text) < 0 ? error_set(err, NSRUN_STAGE_SUPERVISE, -EIO, NULL,
                                            "the features can't be written", NULL)
                                : 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The refusals that a single path earns.  Those that take two rules to see are
 * in resolve.c. */
#include "refuse.h"

#include <stdarg.h>

#include "base/path.h"
#include "environment.h"
#include "workspace/project.h"

/* Whoever can connect to one of these is root on the host, or as good as: an
 * engine starts privileged containers for the asking.  Read-only binds don't
 * help, connect(2) works on them. */
static const char *const control_sockets[] = {
        "/run/docker.sock",
        "/var/run/docker.sock",
        "/run/containerd/containerd.sock",
        "/var/run/containerd/containerd.sock",
        "/run/crio/crio.sock",
        "/var/run/crio/crio.sock",
        "/run/podman/podman.sock",
        "/var/run/podman/podman.sock",
        "/run/buildkit/buildkitd.sock",
        "/var/run/buildkit/buildkitd.sock",
        "/run/libvirt/libvirt-sock",
        "/var/run/libvirt/libvirt-sock",
        "/var/lib/lxd/unix.socket",
        "/var/snap/lxd/common/lxd/unix.socket",
        "/var/lib/incus/unix.socket",
        "/run/incus/unix.socket",
};

/* Below $XDG_RUNTIME_DIR and /run/user/UID. */
static const char *const rootless_sockets[] = {
        "docker.sock",
        "podman/podman.sock",
        "buildkit/buildkitd.sock",
        "containerd/containerd.sock",
        "libvirt/libvirt-sock",
};

/* What nsrun makes in every sandbox. */
static const char *const own_trees[] = {"/proc", "/dev"};
static const char *const own_files[] = {"/etc/passwd", "/etc/group", "/etc/hostname"};

int refuse(struct nsrun_error *err, const char *path, const char *hint, const char *what, ...) {
        char text[sizeof(err->what)];
        va_list ap;

        va_start(ap, what);
        (void)vsnprintf(text, sizeof(text), what, ap);
        va_end(ap);
        (void)error_set(err, NSRUN_STAGE_POLICY, 0, path, text, hint);
        return -EPERM;
}

/* Adds `path` and, where it exists and they differ, what it leads to.  One look
 * at each, and no more where there is nothing: this is on every run's way. */
static int list_socket(char ***sockets, const char *path) {
        _cleanup_free_ char *canonical = NULL;
        int r;

        if (strv_contains(*sockets, path))
                return 0;
        r = strv_add(sockets, path);
        if (r < 0 || access(path, F_OK) < 0)
                return r;
        r = path_canonical(path, &canonical, NULL);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        return strv_contains(*sockets, canonical) ? 0 : strv_consume(sockets, TAKE_PTR(canonical));
}

static int list_below(char ***sockets, const char *runtime) {
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(rootless_sockets) && r >= 0; i++) {
                _cleanup_free_ char *path = path_join(runtime, rootless_sockets[i]);

                r = path ? list_socket(sockets, path) : -ENOMEM;
        }
        return r;
}

/* Sockets that a service may make any time now count too, under the folder's
 * spelling and under its real name. */
static int list_rootless(char ***sockets, const char *runtime) {
        _cleanup_free_ char *canonical = NULL;
        int r;

        r = list_below(sockets, runtime);
        if (r < 0)
                return r;
        r = path_canonical(runtime, &canonical, NULL);
        if (r < 0 || streq(canonical, runtime))
                return r == -ENOMEM ? r : 0;
        return list_below(sockets, canonical);
}

/* DOCKER_HOST=unix:///somewhere/docker.sock, and CONTAINER_HOST likewise. */
static int list_named(char ***sockets, const char *address) {
        const char *path = address ? startswith(address, "unix://") : NULL;
        _cleanup_free_ char *normalised = NULL;

        if (!path || !path_is_absolute(path))
                return 0;
        normalised = path_normalise(path);
        return normalised ? list_socket(sockets, normalised) : -ENOMEM;
}

int refuse_list_sockets(char *const *environment, char ***ret) {
        const char *runtime = environment_get(environment, "XDG_RUNTIME_DIR");
        _cleanup_strv_ char **sockets = NULL;
        char by_uid[64];
        int r;

        for (size_t i = 0; i < ARRAY_SIZE(control_sockets); i++) {
                r = list_socket(&sockets, control_sockets[i]);
                if (r < 0)
                        return r;
        }
        (void)snprintf(by_uid, sizeof(by_uid), "/run/user/%u", (unsigned)geteuid());
        r = list_rootless(&sockets, by_uid);
        if (r >= 0 && runtime && path_is_absolute(runtime))
                r = list_rootless(&sockets, runtime);
        if (r >= 0)
                r = list_named(&sockets, environment_get(environment, "DOCKER_HOST"));
        if (r >= 0)
                r = list_named(&sockets, environment_get(environment, "CONTAINER_HOST"));
        if (r < 0)
                return r;
        *ret = TAKE_PTR(sockets);
        return 0;
}

static int refuse_socket(const struct policy_rule *rule, const char *socket, struct nsrun_error *err) {
        _cleanup_free_ char *visible = str_visible(socket);
        char hint[sizeof(err->hint)];

        if (!visible)
                return error_oom(err);
        if (streq(rule->source, socket))
                return refuse(err, rule->source,
                              "whoever can connect to it is as good as root on this machine",
                              "%s would expose a container engine's control socket", rule->option);
        (void)snprintf(
                hint, sizeof(hint),
                "whoever can connect to %s is as good as root on this machine; name the folders below "
                "that the command needs",
                visible);
        return refuse(err, rule->source, hint, "%s would expose a container engine's control socket",
                      rule->option);
}

int refuse_source(const struct policy_rule *rule, char *const *sockets, struct nsrun_error *err) {
        const char *reason;

        if (streq(rule->source, "/"))
                return refuse(err, "/", "name the folders that the command needs",
                              "%s would expose the whole file system", rule->option);
        for (size_t i = 0; i < ARRAY_SIZE(own_trees); i++)
                if (path_is_beneath(rule->source, own_trees[i]))
                        return refuse(err, rule->source, "the sandbox has a /proc and a /dev of its own",
                                      "%s would expose the host's %s", rule->option, own_trees[i]);
        reason = rule->access == POLICY_RW ? writable_denied(rule->source) : NULL;
        if (reason)
                return refuse(err, rule->source,
                              "expose it with --ro, or use --overlay to throw away what is written",
                              "%s would make %s writable", rule->option, reason);
        STRV_FOREACH (socket, sockets)
                if (path_is_beneath(*socket, rule->source))
                        return refuse_socket(rule, *socket, err);
        return 0;
}

bool refuse_is_own(const char *target) {
        for (size_t i = 0; i < ARRAY_SIZE(own_trees); i++)
                if (path_is_beneath(target, own_trees[i]) || path_is_beneath(own_trees[i], target))
                        return true;
        for (size_t i = 0; i < ARRAY_SIZE(own_files); i++)
                if (path_is_beneath(target, own_files[i]) || path_is_beneath(own_files[i], target))
                        return true;
        return false;
}

int refuse_target(const struct nsrun_policy *p, const char *target, const char *option,
                  struct nsrun_error *err) {
        if (streq(target, "/"))
                return refuse(err, target, "name a path below it", "%s would replace the sandbox's root",
                              option);
        if (streq(target, "/etc"))
                return refuse(err, target, "name the files in it that the command needs",
                              "%s would replace the sandbox's own /etc", option);
        if (refuse_is_own(target))
                return refuse(err, target, "choose another target with --bind SRC:DEST",
                              "%s would replace what nsrun makes itself", option);
        if (streq(target, "/tmp"))
                return refuse(err, target, "choose what /tmp is with --tmp=DIR",
                              "%s would replace the sandbox's /tmp", option);
        if (p->no_project && streq(target, POLICY_NO_PROJECT_DIR))
                return refuse(err, target, "choose another target, or name a project",
                              "%s would replace the folder of --no-project", option);
        return 0;
}

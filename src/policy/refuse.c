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
static const char *const run_sockets[] = {
        /* in /run and /var/run */
        "docker.sock",        "containerd/containerd.sock", "crio/crio.sock",
        "podman/podman.sock", "buildkit/buildkitd.sock",    "libvirt/libvirt-sock",
        "incus/unix.socket",
};
static const char *const var_sockets[] = {
        /* in /var */
        "lib/lxd/unix.socket",
        "snap/lxd/common/lxd/unix.socket",
        "lib/incus/unix.socket",
};
static const char *const rootless_sockets[] = {
        /* in $XDG_RUNTIME_DIR and /run/user/UID */
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

/* Adds what `path`, or the folder that it would be made in, leads to through
 * symlinks.  One look where that folder is missing: this is on every run's way. */
static int list_followed(char ***sockets, const char *path) {
        _cleanup_free_ char *parent = path_parent(path), *folder = NULL, *canonical = NULL;
        int r;

        if (!parent)
                return -ENOMEM;
        r = path_canonical(parent, &folder, NULL);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        r = path_canonical(path, &canonical, NULL);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                canonical = path_join(folder, path_basename(path));
        if (!canonical)
                return -ENOMEM;
        return streq(canonical, path) ? 0 : strv_consume(sockets, TAKE_PTR(canonical));
}

/* Adds each of `names` below `base` as it is spelled and where it leads, whether
 * it is there or not: a service may make it any time.  *bases are the folders
 * that have been looked at: /var/run is /run on most machines. */
static int list_below(char ***sockets, char ***bases, const char *base, const char *const *names, size_t n) {
        _cleanup_free_ char *canonical = NULL;
        bool is_new;
        int r;

        r = path_canonical(base, &canonical, NULL);
        if (r == -ENOMEM)
                return r;
        is_new = canonical && !strv_contains(*bases, canonical);
        r = is_new ? strv_add(bases, canonical) : 0;
        for (size_t i = 0; i < n && r >= 0; i++) {
                _cleanup_free_ char *spelled = path_join(base, names[i]);
                _cleanup_free_ char *path = path_join(canonical ? canonical : base, names[i]);

                if (!spelled || !path)
                        return -ENOMEM;
                r = is_new ? list_followed(sockets, path) : 0;
                if (r >= 0 && !streq(spelled, path))
                        r = strv_consume(sockets, TAKE_PTR(spelled));
                if (r >= 0)
                        r = strv_consume(sockets, TAKE_PTR(path));
        }
        return r;
}

/* DOCKER_HOST=unix:///somewhere/docker.sock, and CONTAINER_HOST likewise. */
static int list_named(char ***sockets, const char *address) {
        const char *path = address ? startswith(address, "unix://") : NULL;
        _cleanup_free_ char *normalised = NULL;
        int r;

        if (!path || !path_is_absolute(path))
                return 0;
        normalised = path_normalise(path);
        if (!normalised)
                return -ENOMEM;
        r = list_followed(sockets, normalised);
        return r < 0 ? r : strv_consume(sockets, TAKE_PTR(normalised));
}

int refuse_list_sockets(char *const *environment, char ***ret) {
        const char *runtime = environment_get(environment, "XDG_RUNTIME_DIR");
        _cleanup_strv_ char **sockets = NULL, **bases = NULL;
        char by_uid[64];
        int r;

        (void)snprintf(by_uid, sizeof(by_uid), "/run/user/%u", (unsigned)geteuid());
        r = list_below(&sockets, &bases, "/run", run_sockets, ARRAY_SIZE(run_sockets));
        if (r >= 0)
                r = list_below(&sockets, &bases, "/var/run", run_sockets, ARRAY_SIZE(run_sockets));
        if (r >= 0)
                r = list_below(&sockets, &bases, "/var", var_sockets, ARRAY_SIZE(var_sockets));
        if (r >= 0)
                r = list_below(&sockets, &bases, by_uid, rootless_sockets, ARRAY_SIZE(rootless_sockets));
        if (r >= 0 && runtime && path_is_absolute(runtime) && !streq(runtime, by_uid))
                r = list_below(&sockets, &bases, runtime, rootless_sockets, ARRAY_SIZE(rootless_sockets));
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

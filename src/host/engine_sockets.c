/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lists the control sockets of container engines.  rules/refuse.c refuses rules that show one. */
#include "engine_sockets.h"

#include "base/file.h"
#include "base/path.h"
#include "base/responds.h"
#include "base/str.h"

enum {
        CONTEXT_MAX = 64 << 10,
        CONTEXTS_MAX = 256,
};

/* Sockets that make whoever can connect as good as root on the host: an engine starts privileged
 * containers for anybody who asks.  Read-only binds don't help, since connect(2) works on them. */
static const char *const run_sockets[] = {
        /* these are in /run and /var/run */
        "docker.sock",        "containerd/containerd.sock",     "crio/crio.sock",
        "podman/podman.sock", "buildkit/buildkitd.sock",        "libvirt/libvirt-sock",
        "incus/unix.socket",  "k3s/containerd/containerd.sock", "libvirt/virtqemud-sock",
};
static const char *const var_sockets[] = {
        /* these are in /var */
        "lib/lxd/unix.socket",
        "snap/lxd/common/lxd/unix.socket",
        "lib/incus/unix.socket",
};
static const char *const home_sockets[] = {
        /* these are in $HOME: Docker Desktop, Colima, Rancher Desktop, Lima */
        ".docker/desktop/docker.sock",   ".docker/run/docker.sock", ".colima/docker.sock",
        ".colima/default/docker.sock",   ".rd/docker.sock",         ".lima/default/sock/docker.sock",
        ".lima/docker/sock/docker.sock",
};
static const char *const rootless_sockets[] = {
        /* these are in $XDG_RUNTIME_DIR and /run/user/UID */
        "docker.sock",
        "podman/podman.sock",
        "buildkit/buildkitd.sock",
        "containerd/containerd.sock",
        "libvirt/libvirt-sock",
        "libvirt/virtqemud-sock",
};

/* Adds the path to which `path` leads through symlinks; for a missing one, the path that it would
 * have.  If the folder is missing, too, it costs one look, since every run comes here. */
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

/* Whether something of the first name of `path` is in the folder that `names` is of. */
static bool may_be_in(const struct name_list *names, const char *path) {
        return name_list_find(names, path, strcspn(path, "/")) >= 0;
}

/* Adds each of `names` in `base`, as it is spelled and where it leads, whether it exists or not: a
 * service may make it at any time.  *bases has the folders that were looked at, since on most
 * machines /var/run is /run. */
static int list_below(char ***sockets, char ***bases, const char *base, const char *const *names, size_t n) {
        _cleanup_name_list_ struct name_list there = {.is_unknown = true};
        _cleanup_free_ char *canonical = NULL;
        bool is_new;
        int r = path_canonical(base, &canonical, NULL);

        if (r == -ENOMEM)
                return r;
        is_new = canonical && !strv_contains(*bases, canonical);
        r = is_new ? strv_add(bases, canonical) : 0;
        /* A look at the folder costs as much as one for each of so many. */
        if (r >= 0 && is_new && n > 4)
                r = name_list_read(canonical, NAME_LIST_USUAL, &there);
        for (size_t i = 0; i < n && r >= 0; i++) {
                _cleanup_free_ char *spelled = path_join(base, names[i]);
                _cleanup_free_ char *path = path_join(canonical ? canonical : base, names[i]);

                if (!spelled || !path)
                        return -ENOMEM;
                r = is_new && may_be_in(&there, names[i]) ? list_followed(sockets, path) : 0;
                if (r >= 0 && !streq(spelled, path))
                        r = strv_consume(sockets, TAKE_PTR(spelled));
                if (r >= 0)
                        r = strv_consume(sockets, TAKE_PTR(path));
        }
        return r;
}

/* Adds the socket of an address as in DOCKER_HOST or CONTAINER_HOST: unix:///somewhere/docker.sock. */
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

/* Adds the sockets in `home` that exist. */
static int list_present(char ***sockets, const char *home, const struct name_list *names) {
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(home_sockets) && r >= 0; i++) {
                _cleanup_free_ char *path = NULL;

                if (!may_be_in(names, home_sockets[i]))
                        continue;
                path = path_join(home, home_sockets[i]);
                if (!path)
                        return -ENOMEM;
                if (responds_below(home, path) == 0 && access(path, F_OK) < 0)
                        continue;
                r = list_followed(sockets, path);
                if (r >= 0)
                        r = strv_consume(sockets, TAKE_PTR(path));
        }
        return r;
}

/* Copies a JSON string, decoding those escapes that an address can have. */
static int copy_json_string(const char *from, char **ret) {
        _cleanup_strbuf_ struct strbuf b = {0};

        for (; *from && *from != '"'; from++) {
                if (*from == '\\' && from[1])
                        from++;
                strbuf_add_bytes(&b, from, 1);
        }
        *ret = strbuf_finish(&b);
        return *ret ? 0 : -ENOMEM;
}

/* Adds each "Host": "unix://…" in the description of a Docker context. */
static int list_hosts(char ***sockets, const char *text) {
        static const char key[] = "\"Host\"";
        static const char blank[] = " \t\r\n";

        while ((text = strstr(text, key))) {
                _cleanup_free_ char *address = NULL;
                int r;

                text += strlen(key);
                text += strspn(text, blank);
                if (*text != ':')
                        continue;
                text += 1 + strspn(text + 1, blank);
                if (*text != '"')
                        continue;
                r = copy_json_string(text + 1, &address);
                if (r >= 0)
                        r = list_named(sockets, address);
                if (r < 0)
                        return r;
        }
        return 0;
}

struct context_list {
        char ***sockets;
        unsigned n;
};

static int list_context(void *data, int folder, const struct dirent *entry) {
        _cleanup_free_ char *text = NULL, *file = NULL;
        struct context_list *list = data;
        int r;

        if (entry->d_name[0] == '.')
                return 0;
        if (list->n++ == CONTEXTS_MAX)
                return 1;
        file = str_concat(entry->d_name, "/", "meta.json");
        if (!file)
                return -ENOMEM;
        r = read_small_file(folder, file, 0, CONTEXT_MAX, &text);
        return r >= 0 ? list_hosts(list->sockets, text) : r == -ENOMEM ? r : 0;
}

/* Adds the sockets of Docker's contexts, which are in contexts/meta/HASH/meta.json of its
 * configuration. */
static int list_contexts(char ***sockets, char *const *environment, const char *home,
                         const struct name_list *names) {
        const char *config = environment_get(environment, "DOCKER_CONFIG");
        struct context_list list = {.sockets = sockets};
        _cleanup_close_ int folder = -EBADF;
        _cleanup_free_ char *path = NULL;
        int r;

        if (config && path_is_absolute(config))
                path = path_join(config, "contexts/meta");
        else if (home && may_be_in(names, ".docker"))
                path = path_join(home, ".docker/contexts/meta");
        else
                return 0;
        if (!path)
                return -ENOMEM;
        folder = responds_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
        r = folder < 0 ? 0 : folder_read(folder, list_context, &list);
        return r == -ENOMEM ? r : 0;
}

int sockets_list(char *const *environment, const char *home, const struct name_list *names, char ***ret) {
        const char *runtime = environment_get(environment, "XDG_RUNTIME_DIR");
        static const struct name_list unknown = {.is_unknown = true};
        _cleanup_strv_ char **sockets = NULL, **bases = NULL;
        char by_uid[64];
        const struct {
                const char *base, *const *names;
                size_t n;
        } places[] = {
                {"/run", run_sockets, ARRAY_SIZE(run_sockets)},
                {"/var/run", run_sockets, ARRAY_SIZE(run_sockets)},
                {"/var", var_sockets, ARRAY_SIZE(var_sockets)},
                {by_uid, rootless_sockets, ARRAY_SIZE(rootless_sockets)},
                {runtime, rootless_sockets, ARRAY_SIZE(rootless_sockets)},
        };
        int r = 0;

        names = names ? names : &unknown;
        (void)snprintf(by_uid, sizeof(by_uid), "/run/user/%u", (unsigned)geteuid());
        if (runtime && (!path_is_absolute(runtime) || streq(runtime, by_uid)))
                runtime = NULL;
        for (size_t i = 0; i < ARRAY_SIZE(places) - (runtime ? 0 : 1) && r >= 0; i++)
                r = list_below(&sockets, &bases, places[i].base, places[i].names, places[i].n);
        if (r >= 0)
                r = list_named(&sockets, environment_get(environment, "DOCKER_HOST"));
        if (r >= 0)
                r = list_named(&sockets, environment_get(environment, "CONTAINER_HOST"));
        if (r >= 0 && home)
                r = list_present(&sockets, home, names);
        if (r >= 0)
                r = list_contexts(&sockets, environment, home, names);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(sockets);
        return 0;
}

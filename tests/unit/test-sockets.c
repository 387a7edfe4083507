/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* policy/sockets.c: what counts as a container engine's control socket. */
#include "host/engine_sockets.h"

#include "base/str.h"

#include "scratch.h"

static int setup(void **state) {
        *state = scratch_make();
        return 0;
}

static int teardown(void **state) {
        scratch_remove(*state);
        return 0;
}

static bool is_listed(const char *root, const char *variable, const char *socket) {
        char *home = scratch_path(root, "home"), *path = scratch_path(root, socket), *entry = NULL;
        char *environment[] = {NULL, NULL};
        char **sockets = NULL;
        bool is_there;

        assert_true(asprintf(&entry, "%s%s", variable ? variable : "X=", variable ? root : "") > 0);
        environment[0] = entry;
        assert_int_equal(sockets_list(environment, home, NULL, &sockets), 0);
        is_there = strv_contains(sockets, socket[0] == '/' ? socket : path);
        strv_free(sockets);
        free(entry);
        free(path);
        free(home);
        return is_there;
}

TEST_WITH(engines_are_listed_whether_they_run_or_not, setup, teardown) {
        static const char *const names[] = {
                "docker.sock",    "podman/podman.sock",      "containerd/containerd.sock",
                "crio/crio.sock", "buildkit/buildkitd.sock", "libvirt/libvirt-sock"};
        char path[128];

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                (void)snprintf(path, sizeof(path), "/run/%s", names[i]);
                assert_true(is_listed(*state, NULL, path));
                (void)snprintf(path, sizeof(path), "/var/run/%s", names[i]);
                assert_true(is_listed(*state, NULL, path));
        }
        (void)snprintf(path, sizeof(path), "/run/user/%u/docker.sock", (unsigned)geteuid());
        assert_true(is_listed(*state, NULL, path));
        (void)snprintf(path, sizeof(path), "/run/user/%u/podman/podman.sock", (unsigned)geteuid());
        assert_true(is_listed(*state, NULL, path));
        assert_true(is_listed(*state, NULL, "/var/lib/lxd/unix.socket"));
        assert_true(is_listed(*state, NULL, "/var/snap/lxd/common/lxd/unix.socket"));
        assert_false(is_listed(*state, NULL, "/run/other.sock"));
        assert_true(is_listed(*state, "XDG_RUNTIME_DIR=", "podman/podman.sock"));
        assert_false(is_listed(*state, NULL, "podman/podman.sock"));
}

TEST_WITH(a_home_is_searched_for_those_that_are_there, setup, teardown) {
        static const char desktop[] = "home/.docker/desktop/docker.sock";

        assert_false(is_listed(*state, NULL, desktop));
        scratch_file(*state, desktop, "");
        assert_true(is_listed(*state, NULL, desktop));
        assert_false(is_listed(*state, NULL, "home/.colima/default/docker.sock"));
        /* And for what they lead to. */
        scratch_folder(*state, "home/.colima/default");
        scratch_file(*state, "vm/api.sock", "");
        scratch_link(*state, "home/.colima/default/docker.sock", "../../../vm/api.sock");
        assert_true(is_listed(*state, NULL, "vm/api.sock"));
}

static void write_context(const char *root, const char *name, const char *before, const char *after) {
        char *text = NULL;

        assert_true(asprintf(&text, "%s%s%s", before, root, after) > 0);
        scratch_file(root, name, text);
        free(text);
}

TEST_WITH(docker_contexts_name_more, setup, teardown) {
        const char *root = *state;
        char *fifo = scratch_path(root, "home/.docker/contexts/meta/fifo/meta.json");

        write_context(root, "home/.docker/contexts/meta/aaa/meta.json",
                      "{\"Name\":\"a\",\"Endpoints\":{\"docker\":{\"Host\":\"unix://", "/one.sock\"}}}");
        write_context(root, "home/.docker/contexts/meta/bbb/meta.json", "{ \"Host\" :\n\t\"unix:\\/\\/",
                      "/vm/two.sock\", \"Host\": 3, \"Host\"");
        scratch_file(root, "home/.docker/contexts/meta/ccc/meta.json", "{\"Host\":\"tcp://h:1\"}");
        scratch_file(root, "home/.docker/contexts/meta/plain", "{}");
        scratch_folder(root, "home/.docker/contexts/meta/fifo");
        assert_int_equal(mkfifo(fifo, 0600), 0);
        assert_true(is_listed(root, NULL, "one.sock"));
        assert_true(is_listed(root, NULL, "vm/two.sock"));
        /* Docker looks elsewhere where it is told so. */
        assert_false(is_listed(root, "DOCKER_CONFIG=", "one.sock"));
        write_context(root, "contexts/meta/ddd/meta.json", "{\"Host\":\"unix://", "/four.sock\"}");
        assert_true(is_listed(root, "DOCKER_CONFIG=", "four.sock"));
        assert_false(is_listed(root, NULL, "four.sock"));
        free(fifo);
}

int main(void) {
        return run_all_tests();
}

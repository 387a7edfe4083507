/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* workspace/toolchains.c: the table, its order, and what it must never expose. */
#include "host/toolchains.h"

#include "base/path.h"
#include "base/str.h"
#include "scratch.h"

/* What lies beside the caches and must stay unseen: credentials, configuration,
 * and what a later run outside would execute. */
static const char *const secrets[] = {
        ".gradle/gradle.properties",
        ".gradle/init.d/evil.gradle",
        ".gradle/init.gradle",
        ".gradle/enterprise/access-keys.properties",
        ".gradle/develocity/keys.properties",
        ".gradle/daemon/8.5/daemon-1.out.log",
        ".m2/settings.xml",
        ".m2/settings-security.xml",
        ".m2/toolchains.xml",
        ".cargo/credentials.toml",
        ".cargo/credentials",
        ".cargo/config.toml",
        ".cargo/env",
        ".ivy2/.credentials",
        ".npmrc",
        ".yarnrc",
        ".yarnrc.yml",
        ".pypirc",
        ".netrc",
        ".docker/config.json",
        ".aws/credentials",
        ".ssh/id_ed25519",
        ".gnupg/private-keys-v1.d/key",
        ".git-credentials",
        ".gitconfig",
        ".config/gh/hosts.yml",
        ".config/git/credentials",
        ".config/pip/pip.conf",
        ".config/uv/uv.toml",
        ".config/go/env",
        ".config/ccache/ccache.conf",
        ".config/dart/pub-credentials.json",
        ".config/NuGet/NuGet.Config",
        ".nuget/NuGet/NuGet.Config",
        ".local/share/uv/credentials/credentials.toml",
        ".local/share/gem/credentials",
        ".gem/credentials",
        ".bundle/config",
        ".pub-cache/credentials.json",
        ".pub-cache/log/pub_log.txt",
        ".pub-cache/bin/evil",
        ".bunfig.toml",
        ".bun/install/global/package.json",
        ".deno/credentials.json",
        ".cache/deno/location_data/x/local_storage",
        ".sdkman/etc/config",
        ".sdkman/bin/sdkman-init.sh",
        ".konan/konan.properties",
        ".kube/config",
        ".bashrc",
        ".profile",
        ".mozilla/firefox/key4.db",
        ".local/share/keyrings/login.keyring",
        ".local/state/x",
        ".cache/huggingface/token",
        ".cache/mozilla/x",
        ".rustup-not/x",
        "go/bin/x",
        ".npm-global/x",
};

struct listing {
        char **paths;
        size_t n_readable, n_overlay;
};

static int collect(void *data, const struct toolchain_entry *entry, const char *path) {
        struct listing *l = data;

        if (entry->access == TOOLCHAIN_READABLE) {
                assert_int_equal(l->n_overlay, 0); /* the readable ones come first */
                l->n_readable++;
        } else
                l->n_overlay++;
        return strv_add(&l->paths, path);
}

static void make_every_entry(const char *home) {
        for (size_t i = 0; i < n_toolchain_entries; i++) {
                const char *below = startswith(toolchain_entries[i].path, "~/");

                if (below)
                        scratch_folder(home, below);
        }
}

static int make_home(void **state) {
        *state = scratch_make();
        return 0;
}

static int remove_home(void **state) {
        scratch_remove(*state);
        return 0;
}

TEST(every_entry_is_one_folder_spelled_one_way) {
        for (size_t i = 0; i < n_toolchain_entries; i++) {
                const char *path = toolchain_entries[i].path;
                _cleanup_free_ char *normal = NULL;

                assert_true(path[0] == '/' || startswith(path, "~/"));
                normal = path_normalise(path[0] == '~' ? path + 1 : path);
                assert_string_equal(normal, path[0] == '~' ? path + 1 : path);
                for (size_t j = 0; j < n_toolchain_entries; j++)
                        assert_true(i == j || !path_is_beneath(path, toolchain_entries[j].path));
        }
}

TEST_WITH(the_reference_lists_come_first_and_in_order, make_home, remove_home) {
        static const char *const readable[] = {"/usr",           "/opt",    "~/.local/share/mise",
                                               "~/.config/mise", "~/.asdf", "~/.rbenv",
                                               "~/.pyenv",       "~/.nvm",  "~/.rustup"};
        static const char *const overlay[] = {"~/.cargo/registry",
                                              "~/.m2/repository",
                                              "~/.gradle/caches",
                                              "~/.gradle/wrapper/dists",
                                              "~/.gradle/jdks",
                                              "~/.ivy2/cache",
                                              "~/go/pkg/mod",
                                              "~/.cache/pip",
                                              "~/.cache/uv",
                                              "~/.npm",
                                              "~/.local/share/pnpm/store",
                                              "~/.nuget/packages"};
        struct listing l = {0};
        size_t first_overlay = 0;

        while (toolchain_entries[first_overlay].access == TOOLCHAIN_READABLE)
                first_overlay++;
        for (size_t i = 0; i < ARRAY_SIZE(readable); i++)
                assert_string_equal(toolchain_entries[i].path, readable[i]);
        for (size_t i = 0; i < ARRAY_SIZE(overlay); i++)
                assert_string_equal(toolchain_entries[first_overlay + i].path, overlay[i]);

        make_every_entry(*state);
        assert_int_equal(toolchains_each(*state, collect, &l), 0);
        assert_int_equal(l.n_readable, first_overlay - (access("/opt", F_OK) < 0));
        assert_int_equal(l.n_overlay, n_toolchain_entries - first_overlay);
        strv_free(l.paths);
}

TEST_WITH(no_entry_holds_or_lies_in_a_secret, make_home, remove_home) {
        struct listing l = {0};

        make_every_entry(*state);
        for (size_t i = 0; i < ARRAY_SIZE(secrets); i++)
                scratch_file(*state, secrets[i], "SECRET");
        assert_int_equal(toolchains_each(*state, collect, &l), 0);
        assert_true(l.n_overlay > 20);
        for (size_t i = 0; i < ARRAY_SIZE(secrets); i++) {
                _cleanup_free_ char *secret = scratch_path(*state, secrets[i]);

                STRV_FOREACH (path, l.paths) {
                        assert_false(path_is_beneath(secret, *path));
                        assert_false(path_is_beneath(*path, secret));
                }
        }
        strv_free(l.paths);
}

TEST_WITH(what_is_not_there_is_left_out, make_home, remove_home) {
        struct listing l = {0};
        _cleanup_free_ char *nvm = scratch_path(*state, ".nvm"), *npm = scratch_path(*state, ".npm");
        _cleanup_free_ char *asdf = scratch_path(*state, ".asdf");

        scratch_folder(*state, ".npm");
        scratch_file(*state, ".asdf", "no folder");
        scratch_link(*state, ".rbenv", "nowhere");
        scratch_folder(*state, "elsewhere");
        scratch_link(*state, ".nvm", "elsewhere");
        assert_int_equal(toolchains_each(*state, collect, &l), 0);
        assert_true(strv_contains(l.paths, "/usr"));
        assert_true(strv_contains(l.paths, npm));
        assert_true(strv_contains(l.paths, nvm)); /* a link to a folder is one */
        assert_false(strv_contains(l.paths, asdf));
        assert_int_equal(l.n_readable, 2 + (access("/opt", F_OK) == 0));
        assert_int_equal(l.n_overlay, 1);
        strv_free(l.paths);
}

TEST_WITH(a_cache_with_its_configuration_inside_is_left_out, make_home, remove_home) {
        struct listing l = {0};

        scratch_folder(*state, ".cache/ccache/0");
        assert_int_equal(toolchains_each(*state, collect, &l), 0);
        assert_int_equal(l.n_overlay, 1);
        strv_free(l.paths);

        l = (struct listing){0};
        scratch_file(*state, ".cache/ccache/ccache.conf", "remote_storage = redis://:SECRET@host");
        assert_int_equal(toolchains_each(*state, collect, &l), 0);
        assert_int_equal(l.n_overlay, 0);
        strv_free(l.paths);
}

TEST(without_a_home_only_the_system_is_left) {
        struct listing l = {0};

        assert_int_equal(toolchains_each(NULL, collect, &l), 0);
        assert_int_equal(l.n_overlay, 0);
        STRV_FOREACH (path, l.paths)
                assert_true(streq(*path, "/usr") || streq(*path, "/opt"));
        assert_true(strv_contains(l.paths, "/usr"));
        strv_free(l.paths);
}

static int stop_at_once(void *data, const struct toolchain_entry *entry nsrun_unused,
                        const char *path nsrun_unused) {
        ++*(int *)data;
        return -EXFULL;
}

TEST_WITH(the_caller_can_stop_the_walk, make_home, remove_home) {
        int n = 0;

        make_every_entry(*state);
        assert_int_equal(toolchains_each(*state, stop_at_once, &n), -EXFULL);
        assert_int_equal(n, 1);
}

int main(void) {
        return run_all_tests();
}

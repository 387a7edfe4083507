/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* host/toolchains.c: the table, its order, what it must never expose, and how variables move it. */
#include "host/toolchains.h"

#include "base/path.h"
#include "base/str.h"
#include "policy/withheld.h"
#include "scratch.h"

static struct toolchain_entry toolchain_entries[512];
static size_t n_toolchain_entries;

static __attribute__((__constructor__)) void read_table(void) {
        for (const char *at = NULL; toolchains_next(&at, &toolchain_entries[n_toolchain_entries]);)
                assert_true(++n_toolchain_entries < ARRAY_SIZE(toolchain_entries));
}

/* What belongs to no row's neighbourhood, and must stay unseen all the same. */
static const char *const secrets[] = {
        ".docker/config.json",
        ".aws/credentials",
        ".ssh/id_ed25519",
        ".gnupg/private-keys-v1.d/key",
        ".git-credentials",
        ".gitconfig",
        ".config/gh/hosts.yml",
        ".config/git/credentials",
        ".kube/config",
        ".bashrc",
        ".profile",
        ".mozilla/firefox/key4.db",
        ".local/share/keyrings/login.keyring",
        ".local/state/x",
        ".local/state/nsrun/x",
        ".cache/mozilla/x",
        ".cache/nsrun/x",
        ".rustup-not/x",
        "sdk/other/x",
        "R/x",
        ".local/lib/x",
};

struct listing {
        char **paths;
        size_t n_readable, n_overlay;
};

static const char *const *variables; /* "NAME", value, …, NULL */

static const char *variable(nsrun_unused const void *data, const char *name) {
        for (size_t i = 0; variables && variables[i]; i += 2)
                if (streq(variables[i], name))
                        return variables[i + 1];
        return NULL;
}

static int each(const char *home, int (*found)(void *data, const struct toolchain_place *place),
                void *data) {
        const struct toolchain_host host = {.home = home, .variable = variable};

        return toolchains_each(&host, found, data);
}

static int collect(void *data, const struct toolchain_place *place) {
        struct listing *l = data;

        if (place->state != TOOLCHAIN_FOUND || startswith(place->path, "/nix/")) /* the host's */
                return 0;
        if (place->entry->access == TOOLCHAIN_READABLE) {
                assert_int_equal(l->n_overlay, 0); /* the readable ones come first */
                l->n_readable++;
        } else
                l->n_overlay++;
        return strv_add(&l->paths, place->path);
}

/* Each place with what is said of it: "PATH variable state detail". */
static int describe(void *data, const struct toolchain_place *place) {
        static const char *const states[] = {"found",      "nowhere", "not-absolute", "no-folder",
                                             "not-itself", "holds",   "unreadable"};
        char *line = NULL;

        if (streq(place->entry->tool, "system") || startswith(place->path, "/nix/"))
                return 0;
        assert_true(asprintf(&line, "%s %s %s%s%s", place->path, place->variable ? place->variable : "-",
                             states[place->state], place->detail ? " " : "",
                             place->detail ? place->detail : "") > 0);
        return strv_consume(data, line);
}

/* Makes the folder of every row below the home folder, a star's as "x". */
static void make_every_entry(const char *home) {
        for (size_t i = 0; i < n_toolchain_entries; i++) {
                const char *path = toolchain_entries[i].path, *below = path ? startswith(path, "~/") : NULL;
                char name[256];

                if (!below)
                        continue;
                (void)snprintf(name, sizeof(name), "%s", below);
                if (toolchain_entries[i].is_file) {
                        scratch_file(home, name, "");
                        continue;
                }
                for (char *star = name; (star = strchr(star, '*'));)
                        *star = 'x';
                scratch_folder(home, name);
        }
}

static int make_home(void **state) {
        *state = scratch_make();
        variables = NULL;
        return 0;
}

static int remove_home(void **state) {
        scratch_remove(*state);
        return 0;
}

TEST(every_entry_is_one_folder_spelled_one_way) {
        for (size_t i = 0; i < n_toolchain_entries; i++) {
                const struct toolchain_entry *entry = &toolchain_entries[i];
                const char *path = entry->path;
                _cleanup_free_ char *normal = NULL;

                assert_true(entry->tool && *entry->tool && !strpbrk(entry->tool, " /"));
                for (size_t k = 0; k < TOOLCHAIN_MOVES && entry->moved[k].variable; k++)
                        assert_true(*entry->moved[k].below != '/');
                if (!path) {
                        assert_non_null(entry->moved[0].variable);
                        continue;
                }
                assert_true(path[0] == '/' || startswith(path, "~/"));
                normal = path_normalise(path[0] == '~' ? path + 1 : path);
                assert_string_equal(normal, path[0] == '~' ? path + 1 : path);
                /* Only an overlay may lie in another row's folder, which is read-only. */
                for (size_t j = 0; j < n_toolchain_entries; j++)
                        assert_true(i == j || !toolchain_entries[j].path ||
                                    !path_is_beneath(path, toolchain_entries[j].path) ||
                                    (entry->access == TOOLCHAIN_OVERLAY &&
                                     toolchain_entries[j].access == TOOLCHAIN_READABLE &&
                                     !streq(path, toolchain_entries[j].path)));
        }
}

/* The folders of secrets that no rule may write, and the variables that never reach a command. */
TEST(no_variable_of_the_table_is_withheld) {
        for (size_t i = 0; i < n_toolchain_entries; i++)
                for (size_t k = 0; k < TOOLCHAIN_MOVES && toolchain_entries[i].moved[k].variable; k++)
                        if (policy_env_withheld(toolchain_entries[i].moved[k].variable))
                                fail_msg("%s is withheld", toolchain_entries[i].moved[k].variable);
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
        assert_int_equal(each(*state, collect, &l), 0);
        for (size_t i = 0; i < n_toolchain_entries; i++) {
                const char *path = toolchain_entries[i].path, *below = path ? startswith(path, "~/") : NULL;

                if (below && !strchr(below, '*')) {
                        _cleanup_free_ char *whole = scratch_path(*state, below);

                        if (!strv_contains(l.paths, whole))
                                fail_msg("%s wasn't found", path);
                }
        }
        strv_free(l.paths);
}

static void assert_unseen(char *const *paths, const char *home, const char *secret) {
        _cleanup_free_ char *path = scratch_path(home, secret);

        STRV_FOREACH (shown, paths)
                if (path_is_beneath(path, *shown) || path_is_beneath(*shown, path))
                        fail_msg("%s shows %s", *shown, secret);
}

TEST_WITH(no_entry_holds_or_lies_in_a_secret, make_home, remove_home) {
        struct listing l = {0};
        size_t n = 0;

        make_every_entry(*state);
        for (size_t i = 0; i < ARRAY_SIZE(secrets); i++)
                scratch_file(*state, secrets[i], "SECRET");
        assert_int_equal(each(*state, collect, &l), 0);
        assert_true(l.n_overlay > 40 && l.n_readable > 90);
        for (size_t i = 0; i < ARRAY_SIZE(secrets); i++)
                assert_unseen(l.paths, *state, secrets[i]);
        /* And what the table itself says lies beside a row. */
        for (size_t i = 0; i < n_toolchain_entries; i++) {
                _cleanup_free_ char *files =
                        strdup(toolchain_entries[i].beside ? toolchain_entries[i].beside : "");
                char *save = NULL;

                for (char *file = strtok_r(files, " ", &save); file;
                     file = strtok_r(NULL, " ", &save), n++) {
                        assert_non_null(startswith(file, "~/"));
                        assert_unseen(l.paths, *state, file + 2);
                }
        }
        assert_true(n > 50);
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
        assert_int_equal(each(*state, collect, &l), 0);
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
        assert_int_equal(each(*state, collect, &l), 0);
        assert_int_equal(l.n_overlay, 1);
        strv_free(l.paths);

        l = (struct listing){0};
        scratch_file(*state, ".cache/ccache/ccache.conf", "remote_storage = redis://:SECRET@host");
        assert_int_equal(each(*state, collect, &l), 0);
        assert_int_equal(l.n_overlay, 0);
        strv_free(l.paths);
}

/* Expects that the walk says `lines`, in which an @ stands for the home folder. */
static void expect_said(const char *home, const char *const *lines) {
        _cleanup_strv_ char **said = NULL;
        size_t n = 0;

        assert_int_equal(each(home, describe, &said), 0);
        for (; lines[n]; n++) {
                _cleanup_free_ char *line = NULL;
                const char *at = strchr(lines[n], '@');

                if (at)
                        assert_true(asprintf(&line, "%.*s%s%s", (int)(at - lines[n]), lines[n], home,
                                             at + 1) > 0);
                if (!strv_contains(said, line ? line : lines[n])) {
                        STRV_FOREACH (is, said)
                                print_message("said: %s\n", *is);
                        fail_msg("not said: %s", line ? line : lines[n]);
                }
        }
        assert_int_equal(strv_length(said), n);
}

static int make_moved_home(void **state) {
        static const char *const folders[] = {
                ".cargo/bin", ".cargo/registry", "cargo/bin",         "cargo/registry", "cache/pip",
                ".cache/pip", ".cache/uv",       "go1/bin",           "go1/pkg/mod",    "go2/bin",
                "venv/bin",   "other",           "with-pip-conf/bin", ".virtualenvs/a", ".virtualenvs/b"};

        (void)make_home(state);
        for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
                scratch_folder(*state, folders[i]);
        scratch_file(*state, "venv/pyvenv.cfg", "");
        scratch_file(*state, "with-pip-conf/pyvenv.cfg", "");
        scratch_file(*state, "with-pip-conf/pip.conf", "index-url = https://u:SECRET@host");
        scratch_file(*state, "file", "");
        return 0;
}

static char *home_variable(const char *home, const char *below) {
        return scratch_path(home, below);
}

TEST_WITH(a_variable_moves_its_rows, make_moved_home, remove_home) {
        _cleanup_free_ char *cargo = home_variable(*state, "cargo"), *cache = home_variable(*state, "cache");
        _cleanup_free_ char *gopath = NULL, *venv = home_variable(*state, "venv");

        expect_said(*state, (const char *const[]){"@/.cargo/bin - found", "@/.cargo/registry - found",
                                                  "@/.cache/pip - found", "@/.cache/uv - found",
                                                  "@/.virtualenvs - found", NULL});
        assert_true(asprintf(&gopath, "%s/go1:%s/go2", (char *)*state, (char *)*state) > 0);
        variables = (const char *const[]){"CARGO_HOME", cargo, "GOPATH", gopath, "VIRTUAL_ENV", venv, NULL};
        expect_said(*state, (const char *const[]){"@/cargo/bin CARGO_HOME found",
                                                  "@/cargo/registry CARGO_HOME found",
                                                  "@/go1/bin GOPATH found", "@/go1/pkg/mod GOPATH found",
                                                  "@/venv VIRTUAL_ENV found", "@/.cache/pip - found",
                                                  "@/.cache/uv - found", "@/.virtualenvs - found", NULL});
        /* The narrower variable goes before the wider one; a value that says the usual place moves nothing.
         */
        _cleanup_free_ char *usual = home_variable(*state, ".cache/uv");
        variables = (const char *const[]){"PIP_CACHE_DIR", cache, "UV_CACHE_DIR", usual, NULL};
        expect_said(*state, (const char *const[]){"@/.cargo/bin - found", "@/.cargo/registry - found",
                                                  "@/cache PIP_CACHE_DIR found", "@/.cache/uv - found",
                                                  "@/.virtualenvs - found", NULL});
}

TEST_WITH(what_a_variable_says_wrongly_is_told, make_moved_home, remove_home) {
        _cleanup_free_ char *file = home_variable(*state, "file"), *other = home_variable(*state, "other");
        _cleanup_free_ char *conf = home_variable(*state, "with-pip-conf");

        variables = (const char *const[]){
                "PIP_CACHE_DIR", file,  "UV_CACHE_DIR", "uv",       "VIRTUAL_ENV", other, "WORKON_HOME", "",
                "JAVA_HOME",     other, "GOROOT",       "/nowhere", NULL};
        expect_said(*state,
                    (const char *const[]){"@/.cargo/bin - found", "@/.cargo/registry - found",
                                          "@/file PIP_CACHE_DIR no-folder", "uv UV_CACHE_DIR not-absolute",
                                          "@/other VIRTUAL_ENV not-itself pyvenv.cfg",
                                          "@/other JAVA_HOME not-itself bin/java", "/nowhere GOROOT nowhere",
                                          "@/.virtualenvs - found", NULL});
        scratch_file(*state, ".virtualenvs/b/pip.conf", "SECRET");
        variables = (const char *const[]){"VIRTUAL_ENV", conf, NULL};
        expect_said(*state, (const char *const[]){"@/.cargo/bin - found", "@/.cargo/registry - found",
                                                  "@/.cache/pip - found", "@/.cache/uv - found",
                                                  "@/with-pip-conf VIRTUAL_ENV holds pip.conf",
                                                  "@/.virtualenvs - holds */pip.conf", NULL});
}

TEST_WITH(a_star_stands_for_each_name, make_home, remove_home) {
        scratch_folder(*state, ".local/lib/python3.11/site-packages");
        scratch_folder(*state, ".local/lib/python3.13");
        scratch_folder(*state, ".local/lib/systemd");
        expect_said(*state, (const char *const[]){"@/.local/lib/python3.11 - found",
                                                  "@/.local/lib/python3.13 - found", NULL});
}

TEST_WITH(a_home_with_many_names_is_searched_all_the_same, make_home, remove_home) {
        for (unsigned i = 0; i < 5000; i++) {
                char name[32];

                (void)snprintf(name, sizeof(name), "x%u", i);
                scratch_file(*state, name, "");
        }
        scratch_folder(*state, ".npm");
        expect_said(*state, (const char *const[]){"@/.npm - found", NULL});
}

TEST(without_a_home_only_the_system_is_left) {
        struct listing l = {0};

        assert_int_equal(each(NULL, collect, &l), 0);
        assert_int_equal(l.n_overlay, 0);
        STRV_FOREACH (path, l.paths)
                assert_true(streq(*path, "/usr") || streq(*path, "/opt"));
        assert_true(strv_contains(l.paths, "/usr"));
        strv_free(l.paths);
}

static int stop_at_once(void *data, const struct toolchain_place *place nsrun_unused) {
        ++*(int *)data;
        return -EXFULL;
}

TEST_WITH(the_caller_can_stop_the_walk, make_home, remove_home) {
        int n = 0;

        make_every_entry(*state);
        assert_int_equal(each(*state, stop_at_once, &n), -EXFULL);
        assert_int_equal(n, 1);
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a coding agent's command gets of a developer's home with no option at all: the
 * toolchains and their caches, and not one byte of what lies beside them. */
#include "harness.h"

/* Each holds "SECRET-" and its own path. */
static const char *const secrets[] = {
        ".gradle/gradle.properties",
        ".gradle/init.d/evil.gradle",
        ".gradle/enterprise/access-keys.properties",
        ".gradle/daemon/8.0/daemon-1.out.log",
        ".gradle/native/x",
        ".m2/settings.xml",
        ".m2/settings-security.xml",
        ".cargo/credentials.toml",
        ".cargo/credentials",
        ".cargo/config.toml",
        ".cargo/env",
        ".ivy2/.credentials",
        ".npmrc",
        ".yarnrc",
        ".yarnrc.yml",
        ".bunfig.toml",
        ".pypirc",
        ".config/pip/pip.conf",
        ".config/uv/uv.toml",
        ".local/share/uv/credentials/credentials.toml",
        ".netrc",
        ".docker/config.json",
        ".docker/contexts/meta/x/meta.json",
        ".aws/credentials",
        ".aws/config",
        ".azure/accessTokens.json",
        ".config/gcloud/credentials.db",
        ".kube/config",
        ".ssh/id_ed25519",
        ".ssh/config",
        ".gnupg/private-keys-v1.d/key",
        ".password-store/x.gpg",
        ".git-credentials",
        ".gitconfig.d/credentials",
        ".config/git/credentials",
        ".config/gh/hosts.yml",
        ".config/hub",
        ".config/glab-cli/config.yml",
        ".config/configstore/x.json",
        ".deno/credentials.json",
        ".cache/deno/location_data/x/local_storage",
        ".bundle/config",
        ".gem/credentials",
        ".local/share/gem/credentials",
        ".nuget/NuGet/NuGet.Config",
        ".pub-cache/credentials.json",
        ".sdkman/etc/config",
        ".konan/x",
        ".terraform.d/credentials.tfrc.json",
        ".vault-token",
        ".bash_history",
        ".bashrc",
        ".profile",
        ".mozilla/firefox/x/logins.json",
        ".local/share/keyrings/login.keyring",
        ".config/mise.secret",
        "other-project/secret.txt",
        "go/credentials",
};

/* Each holds "SHOWN-" and its own path; those that are overlays first. */
static const char *const shown[] = {
        ".gradle/caches/modules-2/x.jar",
        ".gradle/wrapper/dists/x.zip",
        ".gradle/jdks/x/release",
        ".m2/repository/x/y.pom",
        ".cargo/registry/f",
        ".cargo/git/db/f",
        ".ivy2/cache/x.xml",
        "go/pkg/mod/x/go.mod",
        ".cache/pip/x",
        ".cache/uv/x",
        ".npm/_cacache/x",
        ".local/share/pnpm/store/v3/x",
        ".nuget/packages/x/x.nupkg",
        ".cache/yarn/x",
        ".cache/go-build/x",
        ".gem/ruby/x",
        ".rustup/toolchains/x",
        ".cargo/bin/x",
        ".nvm/versions/x",
        ".pyenv/versions/x",
        ".rbenv/versions/x",
        ".asdf/installs/x",
        ".local/share/mise/installs/x",
        ".config/mise/config.toml",
        ".local/bin/x",
};

enum {
        N_OVERLAYS = 16
};

static void plant(const char *path, const char *name, const char *word) {
        _cleanup_free_ char *text = text_of("%s-%s\n", word, name), *folder = strdup(path);

        assert_non_null(folder);
        for (char *slash = folder + 1; (slash = strchr(slash, '/')); slash++) {
                *slash = '\0';
                assert_true(mkdir(folder, 0755) == 0 || access(folder, F_OK) == 0);
                *slash = '/';
        }
        make_file("/", path + 1, text);
}

/* Where a shown file is: caches are where XDG_CACHE_HOME says. */
static char *place_of(const struct site *s, const char *name) {
        const char *in_cache = strncmp(name, ".cache/", 7) == 0 ? name + 7 : NULL;

        return path_of(in_cache ? s->cache : s->home, in_cache ? in_cache : name);
}

static int setup(void **state) {
        const struct site *s;

        if (site_setup(state) != 0)
                return -1;
        s = *state;
        for (size_t i = 0; i < ARRAY_SIZE(secrets); i++) {
                _cleanup_free_ char *path = path_of(s->home, secrets[i]);

                plant(path, secrets[i], "SECRET");
        }
        for (size_t i = 0; i < ARRAY_SIZE(shown); i++) {
                _cleanup_free_ char *path = place_of(s, shown[i]);

                plant(path, shown[i], "SHOWN");
        }
        return 0;
}

static size_t count_lines(const char *text) {
        size_t n = 0;

        for (; *text; text++)
                n += *text == '\n';
        return n;
}

/* Every readable byte but those of the system's own programs and of the kernel. */
static const char search[] =
        "find / -path /usr -prune -o -path /opt -prune -o -path /proc -prune -o -path /sys -prune -o "
        "-path /dev -prune -o -type f -print0 2>/dev/null | xargs -0 grep -ahsF -e SECRET- -e SHOWN- --; true";

TEST_WITH(no_secret_can_be_read_by_any_path, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *outside = text_of("grep -rahsF -e SECRET- '%s'", s->home);
        _cleanup_outcome_ struct outcome o = {0};

        /* The markers are there to be found, and the search inside finds what is shown. */
        run_outside(s, &o, outside);
        assert_int_equal(count_lines(o.out), ARRAY_SIZE(secrets));
        run_inside(s, &o, search);
        expect_status(&o, 0);
        for (size_t i = 0; i < ARRAY_SIZE(shown); i++) {
                _cleanup_free_ char *line = text_of("SHOWN-%s\n", shown[i]);

                expect_in(o.out, line);
        }
        expect_not_in(o.out, "SECRET-");
}

TEST_WITH(each_secret_is_missing_where_it_was, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        char *script = NULL;
        size_t size = 0;
        FILE *f = open_memstream(&script, &size);

        assert_non_null(f);
        (void)fputs("cd\n", f);
        for (size_t i = 0; i < ARRAY_SIZE(secrets); i++)
                (void)fprintf(f, "cat '%s' 2>&1 | sed 's/.*: //'\n", secrets[i]);
        assert_int_equal(fclose(f), 0);
        run_inside(s, &o, script);
        expect_status(&o, 0);
        assert_int_equal(count_lines(o.out), ARRAY_SIZE(secrets));
        for (const char *line = o.out; *line; line += strcspn(line, "\n") + 1)
                assert_int_equal(strncmp(line, "No such file or directory\n", 26), 0);
        run_outside(s, &o, script);
        assert_int_equal(count_lines(o.out), ARRAY_SIZE(secrets));
        expect_not_in(o.out, "No such file");
        free(script);
}

TEST_WITH(a_cache_takes_writes_and_throws_them_away, setup, site_teardown) {
        const struct site *s = *state;
        char *before = snapshot(s->home);
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < N_OVERLAYS; i++) {
                _cleanup_free_ char *path = place_of(s, shown[i]);
                _cleanup_free_ char *script = text_of(
                        "set -e; f='%s'; echo x >>\"$f\"; tail -n 1 \"$f\"; "
                        "echo y >\"$f.new\"; mv \"$f.new\" \"$f\"; cat \"$f\"; rm \"$f\"; ! test -e \"$f\"",
                        path);

                run_inside(s, &o, script);
                expect_status(&o, 0);
                expect_out(&o, "x\ny\n");
        }
        expect_unchanged(s->home, before);
        /* And the next run begins with what the host has. */
        run_inside(s, &o, "cat ~/.cargo/registry/f");
        expect_out(&o, "SHOWN-.cargo/registry/f\n");
}

TEST_WITH(a_toolchain_can_only_be_read, setup, site_teardown) {
        const struct site *s = *state;
        char *before = snapshot(s->home);
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = N_OVERLAYS; i < ARRAY_SIZE(shown); i++) {
                _cleanup_free_ char *script = text_of("cd; echo x >>'%s'", shown[i]);

                run_inside(s, &o, script);
                expect_in(o.err, "Read-only file system");
        }
        expect_unchanged(s->home, before);
}

TEST_WITH(beside_a_cache_there_is_room_for_what_its_owner_makes, setup, site_teardown) {
        const struct site *s = *state;
        char *before = snapshot(s->home);
        _cleanup_outcome_ struct outcome o = {0};

        run_inside(
                s, &o,
                "set -e; cd; ls -A .gradle .cargo .m2; mkdir .gradle/daemon; echo x >.gradle/daemon/log; "
                "echo y >.gradle/gradle.properties; cat .gradle/gradle.properties; echo z >.npmrc; ls -A .ssh || true");
        expect_status(&o, 0);
        expect_out(
                &o,
                ".cargo:\nbin\ngit\nregistry\n\n.gradle:\ncaches\njdks\nwrapper\n\n.m2:\nrepository\ny\n");
        expect_in(o.err, "No such file or directory");
        expect_unchanged(s->home, before);
}

/* What the project's own repository lets the command change is the user's to say, both ways. */
TEST_WITH(a_repository_can_be_left_open, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        if (!has_program("git"))
                skip_because("skipped: there is no git");
        run_outside(s, &o, "git init -q && mkdir -p .git/hooks && git config user.name x");
        expect_status(&o, 0);
        RUN(s, &o, "--no-protect", ".git", "--", "sh", "-c",
            "echo x >.git/hooks/post-commit && git config user.name y && rm .git/hooks/post-commit");
        expect_status(&o, 0);
        RUN(s, &o, "--no-protect", ".git", "--ro", "project/.git/hooks", "--ro", "project/.git/config", "--",
            "sh", "-c",
            "echo x >.git/hooks/post-commit; echo x >>.git/config; git -c user.email=x commit -q --allow-empty -m x && git log --format=%s");
        expect_status(&o, 0);
        expect_out(&o, "x\n");
        expect_in(o.err, ".git/hooks/post-commit: Read-only file system");
        expect_in(o.err, ".git/config: Read-only file system");
}

int main(void) {
        return run_all_tests();
}

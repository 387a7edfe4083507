/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Toolchains in a developer's home, laid out as their installers do: each works inside, what it keeps
 * secret isn't found there, a variable that moves one is followed as far as it may be, and what isn't
 * visible is said.  A stub stands for each program and tells what it sees; python3's venv is real. */
#include "harness.h"

/* Paths below the home folder.  The program reads `reads`, and makes a file in `writes`. */
struct layout {
        const char *tool, *program, *reads, *writes, *secret;
};

static const struct layout layouts[] = {
        {"cargo", ".cargo/bin/cargo", ".rustup/toolchains/stable/lib/x", ".cargo/registry",
         ".cargo/credentials.toml"},
        {"go", "go/bin/gopls", "go/pkg/mod/x/go.mod", ".cache/go-build", ".config/go/env"},
        {"conda", "miniconda3/bin/python", "miniconda3/lib/python3.12/os.py", NULL, "miniconda3/.condarc"},
        {"mamba", "micromamba/bin/mamba", "micromamba/lib/x", NULL, "micromamba/pkgs/urls.txt"},
        {"volta", ".volta/bin/node", ".volta/tools/image/node/20/x", NULL, ".npmrc"},
        {"fnm", ".local/share/fnm/node-versions/v20/installation/bin/node",
         ".local/share/fnm/aliases/default", NULL, ".config/fnm-secret"},
        {"nvm", ".nvm/versions/node/v20/bin/node", ".nvm/alias/default", ".npm", ".netrc"},
        {"asdf", ".asdf/shims/x", ".asdf/installs/x/1/x", NULL, ".asdfrc"},
        {"mise", ".local/share/mise/shims/x", ".local/share/mise/installs/x/1/x", NULL,
         ".local/state/mise/x"},
        {"pyenv", ".pyenv/shims/python", ".pyenv/versions/3.12/bin/python", NULL, ".pypirc"},
        {"rbenv", ".rbenv/shims/ruby", ".rbenv/versions/3.3/bin/ruby", ".gem/ruby", ".gem/credentials"},
        {"rvm", ".rvm/rubies/ruby-3.3/bin/ruby", ".rvm/gems/ruby-3.3/x", ".bundle/cache", ".bundle/config"},
        {"poetry", ".cache/pypoetry/virtualenvs/p-py3.11/bin/python",
         ".cache/pypoetry/virtualenvs/p-py3.11/pyvenv.cfg", ".cache/pypoetry/cache",
         ".config/pypoetry/auth.toml"},
        {"pipenv", ".local/share/virtualenvs/p-x/bin/python", ".local/share/virtualenvs/p-x/pyvenv.cfg",
         ".cache/pipenv", ".config/pip/pip.conf"},
        {"virtualenvwrapper", ".virtualenvs/p/bin/python", ".virtualenvs/p/pyvenv.cfg", NULL,
         ".pip/pip.conf"},
        {"uv", ".local/bin/uv", ".local/share/uv/python/cpython-3.12/bin/python3", ".cache/uv",
         ".local/share/uv/credentials/credentials.toml"},
        {"pip", ".local/bin/black", ".local/lib/python3.11/site-packages/black.py", ".cache/pip",
         ".local/lib/secret"},
        {"pnpm", ".local/share/pnpm/pnpm", ".local/share/pnpm/global/5/x", ".local/share/pnpm/store",
         ".config/pnpm/rc"},
        {"playwright", ".cache/ms-playwright/chromium-1/chrome", ".cache/ms-playwright/.links/x", NULL,
         ".config/chromium/Cookies"},
        {"puppeteer", ".cache/puppeteer/chrome/x/chrome", ".cache/puppeteer/chrome/x/icudtl.dat", NULL,
         ".config/google-chrome/Cookies"},
        {"node-gyp", ".npm-global/bin/node-gyp", ".npm-global/lib/node_modules/node-gyp/x",
         ".cache/node-gyp", ".npm-global/etc/npmrc"},
        {"corepack", ".npm-global/bin/corepack", ".cache/node/corepack/v1/pnpm/9/x", ".cache/node/corepack",
         ".config/configstore/x.json"},
        {"yarn", ".npm-global/bin/yarn", ".yarn/berry/cache/x", ".cache/yarn", ".yarnrc.yml"},
        {"pre-commit", ".local/bin/pre-commit", ".cache/pre-commit/repo1/x", ".cache/pre-commit",
         ".git-credentials"},
        {"sccache", ".cargo/bin/sccache", ".cargo/git/db/x", ".cache/sccache", ".config/sccache/config"},
        {"ccache", ".local/bin/ccache", ".cache/ccache/0/x", ".cache/ccache", ".config/ccache/ccache.conf"},
        {"ghcup", ".ghcup/bin/ghc", ".ghcup/ghc/9.4/lib/x", NULL, ".ghcup/config.yaml"},
        {"cabal", ".cabal/bin/hlint", ".cabal/packages/x", ".cabal/store", ".cabal/config"},
        {"stack", ".stack/programs/x/ghc-9/bin/ghc", ".stack/snapshots/x", ".stack/pantry",
         ".stack/config.yaml"},
        {"opam", ".opam/default/bin/ocaml", ".opam/default/lib/x", NULL, ".config/opam-secret"},
        {"dotnet", ".dotnet/dotnet", ".dotnet/sdk/8.0/x.dll", ".nuget/packages",
         ".dotnet/corefx/cryptography/x509stores/my/x.pfx"},
        {"android", "Android/Sdk/platform-tools/adb", "Android/Sdk/platforms/x", ".gradle/jdks",
         ".android/adbkey"},
        {"coursier", ".local/share/coursier/bin/cs", ".cache/coursier/v1/x", ".cache/coursier",
         ".config/coursier/credentials.properties"},
        {"sbt", ".sdkman/candidates/sbt/1/bin/sbt", ".ivy2/cache/x", ".sbt/boot", ".sbt/.credentials"},
        {"julia", ".juliaup/bin/julia", ".julia/juliaup/x/bin/julia", ".julia/compiled",
         ".julia/servers/pkg.julialang.org/auth.toml"},
        {"composer", ".config/composer/vendor/bin/phpunit", ".config/composer/vendor/autoload.php",
         ".cache/composer", ".config/composer/auth.json"},
        {"deno", ".deno/bin/deno", ".cache/deno/npm/x", ".cache/deno/deps", ".deno/credentials.json"},
        {"bun", ".bun/bin/bun", ".bun/install/cache/x", ".bun/install/cache", ".bunfig.toml"},
        {"zig", ".local/bin/zig", ".cache/zig/x", ".cache/zig", ".local/state/zig-secret"},
        {"huggingface", ".local/bin/hf", ".cache/huggingface/hub/m/x", ".cache/huggingface/hub",
         ".cache/huggingface/token"},
        {"maven", ".sdkman/candidates/maven/3/bin/mvn", ".m2/wrapper/dists/x", ".m2/repository",
         ".m2/settings.xml"},
        {"gradle", ".gradle/wrapper/dists/g/bin/gradle", ".gradle/caches/x", ".gradle/caches",
         ".gradle/gradle.properties"},
        {"nuget", ".dotnet/tools/x", ".nuget/packages/x/1/x", ".nuget/packages",
         ".nuget/NuGet/NuGet.Config"},
        {"hex", ".mix/escripts/x", ".mix/archives/x", ".hex/packages", ".hex/hex.config"},
};

/* Makes folder/name with `text`, and the folders on its way. */
static void lay(const char *folder, const char *name, const char *text) {
        _cleanup_free_ char *path = path_of(folder, name);

        for (char *slash = path + strlen(folder) + 1; (slash = strchr(slash, '/')); slash++) {
                *slash = '\0';
                assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
                *slash = '/';
        }
        make_file(folder, name, text);
}

static void lay_program(const char *folder, const char *name, const char *script) {
        _cleanup_free_ char *path = path_of(folder, name), *text = text_of("#!/bin/sh\n%s\n", script);

        lay(folder, name, text);
        assert_int_equal(chmod(path, 0755), 0);
}

static void lay_out(const char *home, const struct layout *l) {
        _cleanup_free_ char *secret = text_of("SECRET-%s\n", l->tool), *data = text_of("%s\n", l->tool);
        _cleanup_free_ char *writes = l->writes ? text_of("%s/kept", l->writes) : NULL;
        _cleanup_free_ char *write = text_of("f=$HOME/%s/made; echo x >\"$f\" && rm \"$f\" || exit 2\n",
                                             l->writes ? l->writes : "-");
        _cleanup_free_ char *script = text_of(
                "[ -f \"$HOME/%s\" ] || exit 1\n%s[ \"$(cat \"$HOME/%s\" 2>/dev/null)\" ] && echo leak\n"
                "echo %s works",
                l->reads, l->writes ? write : "", l->secret, l->tool);

        lay(home, l->reads, data);
        if (writes)
                lay(home, writes, "");
        lay(home, l->secret, secret);
        lay_program(home, l->program, script);
}

static int setup(void **state) {
        _cleanup_free_ char *cache = NULL;
        const struct site *s;

        if (site_setup(state) != 0)
                return -1;
        s = *state;
        assert_int_equal(setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 1), 0);
        /* nsrun's own cache folder, too, as everybody has it. */
        cache = path_of(s->home, ".cache");
        assert_int_equal(setenv("XDG_CACHE_HOME", cache, 1), 0);
        return 0;
}

static int setup_all(void **state) {
        if (setup(state) != 0)
                return -1;
        for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
                lay_out(((const struct site *)*state)->home, &layouts[i]);
        return 0;
}

/* ------------------------------------------------------------------- thirty and more */

TEST_WITH(each_toolchain_works_inside, setup_all, site_teardown) {
        const struct site *s = *state;
        char *script = strdup(""), *inside = strdup(""), *outside = strdup("");
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
                const struct layout *l = &layouts[i];
                char *more = text_of("%s\"$HOME/%s\" || echo '%s: '$?\n", script, l->program, l->tool);
                char *works = text_of("%s%s works\n", inside, l->tool);
                char *leaks = text_of("%sleak\n%s works\n", outside, l->tool);

                free(script);
                free(inside);
                free(outside);
                script = more;
                inside = works;
                outside = leaks;
        }
        /* Outside the same stubs see their secrets. */
        run_outside(s, &o, script);
        expect_out(&o, outside);
        run_inside(s, &o, script);
        expect_status(&o, 0);
        expect_out(&o, inside);
        free(script);
        free(inside);
        free(outside);
}

TEST_WITH(no_planted_secret_is_found_inside, setup_all, site_teardown) {
        static const char search[] =
                "find / -path /usr -prune -o -path /opt -prune -o -path /proc -prune -o "
                "-path /sys -prune -o -path /dev -prune -o -type f -print0 2>/dev/null | "
                "xargs -0 grep -alsF -e SECRET- --; true";
        const struct site *s = *state;
        _cleanup_free_ char *outside = text_of("grep -ralF SECRET- '%s' | wc -l", s->home);
        _cleanup_free_ char *count = text_of("%zu\n", ARRAY_SIZE(layouts));
        _cleanup_outcome_ struct outcome o = {0};

        run_outside(s, &o, outside);
        expect_out(&o, count);
        run_inside(s, &o, search);
        expect_status(&o, 0);
        expect_out(&o, "");
        /* The search finds what is there. */
        run_inside(s, &o, "echo SECRET- >~/x; find ~ -name x -type f -print0 | xargs -0 grep -l SECRET-");
        expect_in(o.out, "/x\n");
}

TEST_WITH(a_folder_with_a_credential_in_it_is_left_out, setup, site_teardown) {
        static const char *const held[][2] = {
                {".volta/hooks.json", "hooks.json"},
                {".virtualenvs/p/pip.conf", "*/pip.conf"},
                {".local/share/pnpm/auth.ini", "auth.ini"},
                {".opam/plugins/opam-publish/me.token", "plugins/opam-publish"},
                {".cache/ccache/ccache.conf", "ccache.conf"},
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(held); i++)
                lay(s->home, held[i][0], "SECRET-\n");
        run_inside(s, &o,
                   "cd; cat .volta/* .virtualenvs/*/* .local/share/pnpm/* .opam/plugins/* .cache/ccache/*");
        expect_not_in(o.out, "SECRET-");
        NSRUN(s, &o, "toolchains");
        expect_status(&o, 0);
        for (size_t i = 0; i < ARRAY_SIZE(held); i++) {
                _cleanup_free_ char *said = text_of(": it holds %s\n", held[i][1]);

                expect_in(o.out, said);
        }
}

/* ------------------------------------------------------------------- what variables say */

TEST_WITH(a_moved_folder_is_followed, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *cargo = path_of(s->outside, "cargo"), *gradle = path_of(s->outside, "gradle");
        _cleanup_free_ char *brew = path_of(s->outside, "brew"), *said = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        char *before;

        lay(s->outside, "cargo/registry/x", "crate\n");
        lay_program(s->outside, "cargo/bin/x", "cat \"$CARGO_HOME/registry/x\"");
        lay(s->outside, "cargo/credentials.toml", "SECRET-\n");
        lay(s->outside, "gradle/caches/x", "jar\n");
        lay(s->outside, "gradle/gradle.properties", "SECRET-\n");
        lay_program(s->outside, "brew/bin/x", "cat \"$HOMEBREW_PREFIX/Cellar/x\"");
        lay(s->outside, "brew/Cellar/x", "keg\n");
        lay(s->outside, "brew/var/x", "SECRET-\n");
        assert_int_equal(setenv("CARGO_HOME", cargo, 1), 0);
        assert_int_equal(setenv("GRADLE_USER_HOME", gradle, 1), 0);
        assert_int_equal(setenv("HOMEBREW_PREFIX", brew, 1), 0);
        before = snapshot(s->outside);
        run_inside(s, &o,
                   "$CARGO_HOME/bin/x && echo y >$CARGO_HOME/registry/x && $CARGO_HOME/bin/x && "
                   "$HOMEBREW_PREFIX/bin/x && cat $GRADLE_USER_HOME/caches/x && "
                   "mkdir $GRADLE_USER_HOME/daemon && : >$CARGO_HOME/.package-cache && "
                   "grep -r SECRET- $CARGO_HOME $GRADLE_USER_HOME $HOMEBREW_PREFIX");
        expect_status(&o, 1);
        expect_out(&o, "crate\ny\nkeg\njar\n");
        assert_string_equal(o.err, "");
        expect_unchanged(s->outside, before);
        NSRUN(s, &o, "toolchains");
        said = text_of("cargo              overlay    %s/registry (CARGO_HOME)\n", cargo);
        expect_in(o.out, said);
        /* What the command doesn't get doesn't count. */
        RUN(s, &o, "--unsetenv", "CARGO_HOME", "--", "ls", cargo);
        expect_in(o.err, "No such file or directory");
        assert_int_equal(unsetenv("CARGO_HOME"), 0);
        assert_int_equal(unsetenv("GRADLE_USER_HOME"), 0);
        assert_int_equal(unsetenv("HOMEBREW_PREFIX"), 0);
}

/* Runs with a variable; it changes nothing of what is seen of the home, and `reason` is said. */
static void expect_left_out(const struct site *s, const char *name, const char *value, const char *reason) {
        _cleanup_free_ char *said = text_of("left out   %s (%s): %s\n", value, name, reason);
        _cleanup_outcome_ struct outcome o = {0};

        assert_int_equal(setenv(name, value, 1), 0);
        NSRUN(s, &o, "toolchains");
        expect_status(&o, 0);
        expect_in(o.out, said);
        run_inside(s, &o, "cat ~/.ssh/id ~/secret ~/.aws/x \"$0\"/x 2>/dev/null; true");
        expect_status(&o, 0);
        expect_out(&o, "");
        assert_int_equal(unsetenv(name), 0);
}

TEST_WITH(a_variable_shows_no_more_than_a_toolchain, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *ssh = path_of(s->home, ".ssh"), *venv = path_of(s->outside, "venv");
        _cleanup_free_ char *link = path_of(s->project, "link"), *nowhere = path_of(s->outside, "nowhere");
        _cleanup_free_ char *aws = path_of(s->home, ".aws"), *file = path_of(s->home, "secret");
        _cleanup_free_ char *kube = path_of(s->home, ".kube");

        lay(s->home, ".ssh/id", "SECRET-\n");
        lay(s->home, ".aws/x", "SECRET-\n");
        lay(s->home, "secret", "SECRET-\n");
        lay(s->outside, "venv/pip.conf", "SECRET-\n");
        lay(s->outside, "venv/pyvenv.cfg", "");
        assert_int_equal(mkdir(kube, 0700), 0);
        assert_int_equal(symlink(ssh, link), 0);
        expect_left_out(s, "PIP_CACHE_DIR", s->home, "it holds the home folder");
        expect_left_out(s, "PIP_CACHE_DIR", s->root,
                        "toolchains would expose a container engine's control socket");
        expect_left_out(s, "UV_CACHE_DIR", ssh,
                        "toolchains would hand the secrets of the home to the command");
        expect_left_out(s, "RUSTUP_HOME", aws,
                        "toolchains would hand the secrets of the home to the command");
        expect_left_out(s, "RUSTUP_HOME", kube,
                        "toolchains would hand the secrets of the home to the command");
        expect_left_out(s, "RUSTUP_HOME", "/", "toolchains would expose the whole file system");
        expect_left_out(s, "RUSTUP_HOME", "/proc", "toolchains would expose the host's /proc");
        expect_left_out(s, "NVM_DIR", file, "it is no folder");
        expect_left_out(s, "NVM_DIR", nowhere, "nothing is there");
        expect_left_out(s, "NVM_DIR", "nvm", "that is no absolute path");
        expect_left_out(s, "VIRTUAL_ENV", venv, "it holds pip.conf");
        expect_left_out(s, "VIRTUAL_ENV", s->outside, "it has no pyvenv.cfg");
}

TEST_WITH(a_link_that_a_command_could_make_chooses_nothing, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *link = path_of(s->project, "link"), *caches = path_of(s->project, "caches");
        _cleanup_free_ char *other = path_of(s->outside, "other"), *said = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        lay(s->outside, "other/x", "SECRET-\n");
        assert_int_equal(symlink(other, link), 0);
        assert_int_equal(symlink(s->outside, caches), 0);
        assert_int_equal(setenv("PYENV_ROOT", link, 1), 0);
        run_inside(s, &o, "cat link/x caches/other/x");
        expect_status(&o, 1);
        expect_out(&o, "");
        NSRUN(s, &o, "toolchains");
        said = text_of(
                "pyenv              left out   %s (PYENV_ROOT): toolchains goes through a symlink in a "
                "writable folder\n",
                link);
        expect_in(o.out, said);
        /* A folder of the project's own is seen as that. */
        assert_int_equal(unlink(link), 0);
        lay(s->project, "link/y", "mine\n");
        run_inside(s, &o, "cat link/y && echo more >link/z");
        expect_status(&o, 0);
        expect_out(&o, "mine\n");
        assert_int_equal(unsetenv("PYENV_ROOT"), 0);
}

TEST_WITH(a_link_of_the_users_own_leads_to_its_toolchain, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *m2 = path_of(s->outside, "m2"), *maven = path_of(s->home, ".m2");
        _cleanup_free_ char *ssh = path_of(s->home, ".ssh"), *nvm = path_of(s->home, ".nvm"), *said = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        char *before;

        lay(s->outside, "m2/repository/x.jar", "jar\n");
        lay(s->outside, "m2/settings.xml", "SECRET-\n");
        lay(s->home, ".ssh/id", "SECRET-\n");
        assert_int_equal(symlink(m2, maven), 0);
        assert_int_equal(symlink(ssh, nvm), 0);
        before = snapshot(s->outside);
        run_inside(s, &o,
                   "cat ~/.m2/repository/x.jar && echo new >~/.m2/repository/x.jar && "
                   "cat ~/.m2/repository/x.jar; cat ~/.m2/settings.xml ~/.nvm/id");
        expect_out(&o, "jar\nnew\n");
        expect_unchanged(s->outside, before);
        NSRUN(s, &o, "toolchains");
        said = text_of(
                "nvm                left out   %s: toolchains would hand the secrets of the home to the "
                "command\n",
                nvm);
        expect_in(o.out, said);
}

/* A command in one run leaves a link in its project; in the next run the project is another one. */
TEST_WITH(a_link_of_an_earlier_run_leads_nowhere, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *jdks = path_of(s->home, ".jdks"), *target = path_of(s->outside, "target");
        _cleanup_free_ char *plant = text_of("ln -s '%s' ~/.jdks/link", target), *link = NULL, *said = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        lay(s->outside, "target/x", "SECRET-\n");
        assert_int_equal(mkdir(jdks, 0755), 0);
        RUN(s, &o, "--rw", jdks, "--", "sh", "-c", plant);
        expect_status(&o, 0);
        link = path_of(jdks, "link");
        assert_int_equal(setenv("PYENV_ROOT", link, 1), 0);
        run_inside(s, &o, "cat \"$PYENV_ROOT/x\"");
        expect_status(&o, 1);
        expect_out(&o, "");
        NSRUN(s, &o, "toolchains");
        said = text_of("pyenv              left out   %s (PYENV_ROOT): ", link);
        expect_in(o.out, said);
        assert_int_equal(unsetenv("PYENV_ROOT"), 0);
}

/* ------------------------------------------------------------------- what isn't visible */

TEST_WITH(an_active_venv_is_the_same_python_inside, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *venv = path_of(s->outside, "venv"), *make = NULL, *out = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        if (!has_program("python3"))
                skip_because("skipped: there is no python3");
        make = text_of("python3 -m venv --without-pip '%s'", venv);
        run_outside(s, &o, make);
        expect_status(&o, 0);
        assert_int_equal(setenv("VIRTUAL_ENV", venv, 1), 0);
        out = text_of("%s\n", venv);
        run_inside(s, &o, "PATH=$VIRTUAL_ENV/bin:$PATH; python -c 'import sys; print(sys.prefix)'");
        expect_status(&o, 0);
        expect_out(&o, out);
        run_inside(s, &o, "echo x >>$VIRTUAL_ENV/pyvenv.cfg");
        expect_in(o.err, "Read-only file system");
        assert_int_equal(unsetenv("VIRTUAL_ENV"), 0);
}

TEST_WITH(what_the_environment_names_in_vain_is_said, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *bin = path_of(s->outside, "bin"),
                            *path = text_of("%s:%s:%s", bin, bin, getenv("PATH"));
        _cleanup_free_ char *conda = path_of(s->outside, "conda"), *old = strdup(getenv("PATH"));
        _cleanup_free_ char *lines =
                text_of("not seen    JAVA_HOME=%s isn't visible inside: it has no bin/java\n"
                        "not seen    PATH names what isn't visible inside: %s\n",
                        bin, bin);
        _cleanup_free_ char *json = text_of(
                "\"notes\":[\"JAVA_HOME=%s isn't visible inside: it has no bin/java\",\"PATH names what "
                "isn't visible inside: %s\"]",
                bin, bin);
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->outside, "bin");
        lay(s->outside, "conda/bin/x", "");
        NSRUN(s, &o, "plan", "--env", "HOME", "--", "true");
        expect_not_in(o.out, "not seen");
        NSRUN(s, &o, "plan", "--env", "GH_TOKE", "--", "true");
        expect_in(o.out, "not seen    --env GH_TOKE passes nothing: it isn't set here\n");
        assert_int_equal(setenv("PATH", path, 1), 0);
        assert_int_equal(setenv("JAVA_HOME", bin, 1), 0);
        assert_int_equal(setenv("CONDA_PREFIX", conda, 1), 0);
        NSRUN(s, &o, "plan", "--", "true");
        expect_in(o.out, lines);
        NSRUN(s, &o, "bash", "--json", "true");
        expect_in(o.out, "\"notes\":[]");
        NSRUN(s, &o, "bash", "--json", "false");
        expect_in(o.out, json);
        NSRUN(s, &o, "run", "-v", "--", "true");
        expect_in(o.err, lines);
        NSRUN(s, &o, "run", "--", "true");
        assert_string_equal(o.err, "");
        NSRUN(s, &o, "plan", "--ro", bin, "--", "true");
        expect_not_in(o.out, "not seen");
        assert_int_equal(setenv("PATH", old, 1), 0);
        assert_int_equal(unsetenv("JAVA_HOME"), 0);
        assert_int_equal(unsetenv("CONDA_PREFIX"), 0);
}

TEST_WITH(the_table_and_the_places_are_printed, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *npm = text_of("      \"tool\": \"npm\",\n      \"path\": \"%s/.npm\",\n"
                                           "      \"access\": \"overlay\",\n      \"exposed\": true,\n"
                                           "      \"variable\": null,\n      \"reason\": null\n",
                                           s->home);
        _cleanup_free_ char *nvm = text_of("      \"path\": \"%s/.nvm\",\n      \"access\": \"read-only\",\n"
                                           "      \"exposed\": false,\n      \"variable\": null,\n"
                                           "      \"reason\": \"it is no folder\"\n",
                                           s->home);
        _cleanup_outcome_ struct outcome o = {0};

        lay(s->home, ".npm/x", "");
        lay(s->home, ".nvm", "");
        NSRUN(s, &o, "toolchains", "--json");
        expect_status(&o, 0);
        expect_in(o.out, npm);
        expect_in(o.out, nvm);
        expect_not_in(o.out, "rustup");
        NSRUN(s, &o, "toolchains", "--json", "--all");
        expect_in(o.out, npm);
        expect_in(o.out, "\"path\": \"~/.rustup\"");
        expect_in(o.out, "\"RUSTUP_HOME\": \"\"");
        NSRUN(s, &o, "toolchains", "--all");
        expect_status(&o, 0);
        expect_in(o.out, "\ncargo              overlay    ~/.cargo/registry  $CARGO_HOME/registry\n");
        expect_in(o.out, "\nvenv               read-only  -  $VIRTUAL_ENV\n");
        /* Where no project can be it tells what a run without one shows. */
        NSRUN_IN(s->home, &o, "toolchains");
        expect_status(&o, 0);
        expect_in(o.out, "/.npm\n");
}

TEST_WITH(a_starred_row_is_found_among_many_names, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *sdk = path_of(s->home, "sdk");
        _cleanup_outcome_ struct outcome o = {0};

        lay(s->home, "sdk/go1.2/x", "found\n");
        for (unsigned i = 0; i < 4200; i++) {
                char name[16];

                (void)snprintf(name, sizeof(name), "%u", i);
                make_file(sdk, name, "");
        }
        run_inside(s, &o, "cat ~/sdk/go1.2/x");
        expect_out(&o, "found\n");
}

/* ------------------------------------------------------------------- the user's own rows */

TEST_WITH(a_configuration_adds_rows, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *said = NULL, *moved = path_of(s->outside, "moved");
        _cleanup_outcome_ struct outcome o = {0};

        lay(s->home, ".config/nsrun/config.json",
            "{\"version\": 1, \"toolchains\": [{\"path\": \"~/sdk-x\"},\n"
            "{\"path\": \"~/cache-x\", \"cache\": true}, {\"path\": \"~/missing\"},\n"
            "{\"path\": \"~/y\", \"variable\": \"Y_HOME\"}, {\"path\": \"~/.ssh\"}]}\n");
        lay(s->home, "sdk-x/x", "sdk\n");
        lay(s->home, "cache-x/x", "cache\n");
        lay(s->outside, "moved/x", "moved\n");
        lay(s->home, ".ssh/x", "SECRET-\n");
        assert_int_equal(setenv("Y_HOME", moved, 1), 0);
        run_inside(s, &o,
                   "cat ~/sdk-x/x ~/cache-x/x $Y_HOME/x; echo new >~/cache-x/x && cat ~/cache-x/x; "
                   "echo new >~/sdk-x/x; cat ~/.ssh/x");
        expect_out(&o, "sdk\ncache\nmoved\nnew\n");
        expect_in(o.err, "sdk-x/x: Read-only file system");
        run_inside(s, &o, "cat ~/cache-x/x");
        expect_out(&o, "cache\n");
        NSRUN(s, &o, "toolchains");
        said = text_of(
                "configuration      read-only  %s/sdk-x\n"
                "configuration      overlay    %s/cache-x\n"
                "configuration      read-only  %s (Y_HOME)\n"
                "configuration      left out   %s/.ssh: %s/.config/nsrun/config.json:3:40: toolchains "
                "would hand the secrets of the home to the command\n",
                s->home, s->home, moved, s->home, s->home);
        expect_in(o.out, said);
        assert_int_equal(unsetenv("Y_HOME"), 0);
}

/* A program that was installed with others of its package doesn't start without them: what is said exposes
 * them, too. */
TEST(the_package_of_the_hosts_program_is_named) {
        static const struct {
                const char *make, *found, *options; /* below the folder outside; %O is that folder */
        } packages[] = {
                {"mkdir -p m/node_modules/.bin m/node_modules/p && cd m/node_modules && echo echo fine >p/part && "
                 "echo '#!/bin/sh\n. \"${0%/*}/../p/part\"' >p/tool && chmod 755 p/tool && ln -s ../p/tool .bin/tool",
                 "m/node_modules/.bin", "--ro %O/m/node_modules"},
                {"mkdir -p bin lib/node_modules/p && cd lib/node_modules && echo echo fine >p/part && "
                 "echo '#!/bin/sh\n. \"${0%/*}/../lib/node_modules/p/part\"' >p/tool && chmod 755 p/tool && "
                 "ln -s ../lib/node_modules/p/tool ../../bin/tool",
                 "bin", "--ro %O/bin/tool --ro %O/lib/node_modules"},
                {"mkdir -p v/bin && echo home=/usr/bin >v/pyvenv.cfg && ln -s /bin/sh v/bin/interpreter && "
                 "echo \"#!$PWD/v/bin/interpreter\necho fine\" >v/bin/tool && chmod 755 v/bin/tool",
                 "v/bin", "--ro %O/v"},
        };
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(packages); i++) {
                _cleanup_free_ char *make = text_of("cd '%s' && %s", s->outside, packages[i].make),
                                    *path = text_of("PATH=%s/%s:%s", s->outside, packages[i].found,
                                                    getenv("PATH")),
                                    *options = replaced(packages[i].options, "%O", s->outside),
                                    *line = text_of(
                                            "nsrun: command not found in the sandbox: "
                                            "tool: No such file or directory; the host's is %s/%s/tool, "
                                            "which the sandbox hasn't got: %s exposes it",
                                            s->outside, packages[i].found, options),
                                    *followed = text_of("'%s' run --no-config %s --env '%s' -- tool",
                                                        program(), options, path);
                _cleanup_outcome_ struct outcome o = {0};

                run_outside(s, &o, make);
                expect_status(&o, 0);
                RUN(s, &o, "--env", path, "--", "tool");
                expect_refusal(&o, 127, line);
                run_outside(s, &o, followed);
                expect_out(&o, "fine\n");
        }
}

int main(void) {
        return run_all_tests();
}

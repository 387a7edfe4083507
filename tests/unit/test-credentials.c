/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* policy/credentials.c, and what policy/environment.c makes of it: values that give away a secret under a
 * harmless name, and an environment of harmless ones. */
#include "policy/credentials.h"

#include "environment.h"

/* Names and values as they are on machines of developers and of continuous integration. */
TEST(a_harmless_environment_passes_as_a_whole) {
        static const char *const environment[] = {
                "LS_COLORS=rs=0:di=01;34:ln=01;36:*.tar=01;31:*.key=00;36",
                "LESSOPEN=| /usr/bin/lesspipe %s",
                "LESSCLOSE=/usr/bin/lesspipe %s %s",
                "PS1=\\u@\\h:\\w\\$ ",
                "PS4=+ ",
                "PROMPT_COMMAND=history -a; echo -ne done",
                "SHLVL=2",
                "_=/usr/bin/env",
                "IFS= ",
                "MAIL=/var/mail/u",
                "MANPATH=/usr/share/man",
                "INFOPATH=/usr/share/info",
                "PAGER=less -R",
                "VISUAL=vim",
                "BROWSER=firefox",
                "EDITOR=vi",
                "TERM_PROGRAM=vscode",
                "TERM_PROGRAM_VERSION=1.90",
                "TERM_SESSION_ID=w0t0p0",
                "COLORTERM=truecolor",
                "COLUMNS=80",
                "LINES=24",
                "HISTSIZE=1000",
                "HISTFILE=/home/u/.bash_history",
                "HISTCONTROL=ignoreboth",
                "XDG_CONFIG_HOME=/home/u/.config",
                "XDG_DATA_HOME=/home/u/.local/share",
                "XDG_CACHE_HOME=/home/u/.cache",
                "XDG_STATE_HOME=/home/u/.local/state",
                "XDG_DATA_DIRS=/usr/local/share:/usr/share",
                "XDG_CONFIG_DIRS=/etc/xdg",
                "XDG_SESSION_ID=3",
                "XDG_SESSION_TYPE=wayland",
                "XDG_SESSION_CLASS=user",
                "XDG_SESSION_DESKTOP=gnome",
                "XDG_CURRENT_DESKTOP=GNOME",
                "XDG_SEAT=seat0",
                "XDG_VTNR=2",
                "DESKTOP_SESSION=gnome",
                "GDMSESSION=gnome",
                "GDK_BACKEND=wayland",
                "QT_QPA_PLATFORM=wayland",
                "GTK_MODULES=gail:atk-bridge",
                "SSH_CONNECTION=10.0.0.1 5000 10.0.0.2 22",
                "SSH_CLIENT=10.0.0.1 5000 22",
                "LANGUAGE=en_GB:en",
                "LC_CTYPE=C.UTF-8",
                "TZ=Europe/Paris",
                "USER=u",
                "LOGNAME=u",
                "SHELL=/bin/bash",
                "HOSTNAME=machine",
                "HOSTTYPE=x86_64",
                "OSTYPE=linux-gnu",
                "MACHTYPE=x86_64-pc-linux-gnu",
                "CC=gcc",
                "CXX=g++",
                "LD=ld",
                "AR=ar",
                "CFLAGS=-O2 -DURL=\"http://localhost:8080/\"",
                "CXXFLAGS=-O2 -g",
                "CPPFLAGS=-DPASSWORD_MIN=8",
                "LDFLAGS=-Wl,-z,relro",
                "MAKEFLAGS= -j8 -- V=1",
                "MAKELEVEL=1",
                "MFLAGS=-j8",
                "PKG_CONFIG_PATH=/usr/lib/pkgconfig",
                "ACLOCAL_PATH=/usr/share/aclocal",
                "CMAKE_PREFIX_PATH=/opt/x",
                "CMAKE_BUILD_TYPE=Release",
                "CMAKE_GENERATOR=Ninja",
                "CCACHE_DIR=/home/u/.ccache",
                "DESTDIR=/tmp/d",
                "GIT_AUTHOR_NAME=A U Thor",
                "GIT_AUTHOR_EMAIL=a@example.org",
                "GIT_COMMITTER_NAME=A U Thor",
                "GIT_COMMITTER_EMAIL=a@example.org",
                "GIT_AUTHOR_DATE=2026-01-01T00:00:00Z",
                "GIT_DIR=/p/.git",
                "GIT_WORK_TREE=/p",
                "GIT_INDEX_FILE=.git/index",
                "GIT_EDITOR=vim",
                "GIT_PAGER=cat",
                "GIT_TERMINAL_PROMPT=0",
                "GIT_CONFIG_GLOBAL=/dev/null",
                "GIT_CONFIG_NOSYSTEM=1",
                "GIT_CONFIG_COUNT=1",
                "GIT_CONFIG_KEY_0=url.ssh://git@github.com/.insteadOf",
                "GIT_CONFIG_VALUE_0=https://github.com/",
                "GIT_SSH_COMMAND=ssh -o BatchMode=yes",
                "GIT_SSL_CAINFO=/etc/ssl/certs/ca-certificates.crt",
                "GIT_TRACE=0",
                "GIT_MERGE_AUTOEDIT=no",
                "GIT_URL=ssh://git@github.com/owner/name.git",
                "GIT_REMOTE=git@github.com:owner/name.git",
                "GIT_CEILING_DIRECTORIES=/home",
                "NPM_CONFIG_REGISTRY=https://registry.npmjs.org/",
                "npm_config_cache=/home/u/.npm",
                "npm_config_user_agent=npm/10.1.0 node/v20.1.0 linux x64 workspaces/false",
                "npm_config_noproxy=",
                "npm_config_local_prefix=/p",
                "npm_config_global_prefix=/usr",
                "npm_config_node_gyp=/usr/lib/node_modules/npm/node_modules/node-gyp/bin/node-gyp.js",
                "npm_package_json=/p/package.json",
                "npm_package_name=@scope/name",
                "npm_package_version=1.0.0",
                "npm_lifecycle_event=test",
                "npm_lifecycle_script=jest --ci",
                "npm_execpath=/usr/lib/node_modules/npm/bin/npm-cli.js",
                "npm_node_execpath=/usr/bin/node",
                "npm_command=run-script",
                "NODE_ENV=test",
                "NODE_OPTIONS=--max-old-space-size=4096",
                "NODE_PATH=/usr/lib/node_modules",
                "NODE_EXTRA_CA_CERTS=/etc/ca.pem",
                "NODE_VERSION=20.1.0",
                "NVM_DIR=/home/u/.nvm",
                "NVM_BIN=/home/u/.nvm/versions/node/v20/bin",
                "YARN_CACHE_FOLDER=/home/u/.yarn",
                "PNPM_HOME=/home/u/.local/share/pnpm",
                "COREPACK_ENABLE_STRICT=0",
                "UNPKG=https://unpkg.com/@scope/name@1.0.0/index.js",
                "PYTHONPATH=/p/src",
                "PYTHONHOME=/usr",
                "PYTHONUNBUFFERED=1",
                "PYTHONDONTWRITEBYTECODE=1",
                "PYTHONHASHSEED=0",
                "PYTHONIOENCODING=utf-8",
                "PYTHONSTARTUP=/home/u/.pythonrc",
                "PYTHONWARNINGS=ignore",
                "PIP_INDEX_URL=https://pypi.org/simple",
                "PIP_EXTRA_INDEX_URL=https://example.org/simple/",
                "PIP_DISABLE_PIP_VERSION_CHECK=1",
                "PIP_CACHE_DIR=/home/u/.cache/pip",
                "PIP_TRUSTED_HOST=example.org",
                "UV_CACHE_DIR=/home/u/.cache/uv",
                "POETRY_HOME=/opt/poetry",
                "VIRTUAL_ENV=/p/.venv",
                "CONDA_PREFIX=/opt/conda",
                "CONDA_DEFAULT_ENV=base",
                "PYENV_ROOT=/home/u/.pyenv",
                "TOX_ENV_NAME=py311",
                "PYTEST_CURRENT_TEST=tests/test_a.py::test_b (call)",
                "PYTEST_ADDOPTS=-q",
                "DJANGO_SETTINGS_MODULE=app.settings",
                "FLASK_APP=app",
                "JAVA_HOME=/usr/lib/jvm/default",
                "JAVA_OPTS=-Xmx1g -Dfile.encoding=UTF-8",
                "MAVEN_OPTS=-Xmx1g",
                "GRADLE_OPTS=-Dorg.gradle.daemon=false",
                "GRADLE_USER_HOME=/home/u/.gradle",
                "ANDROID_HOME=/opt/android",
                "KOTLIN_HOME=/opt/kotlin",
                "GOPATH=/home/u/go",
                "GOPROXY=https://proxy.golang.org,direct",
                "GOSUMDB=sum.golang.org",
                "GOFLAGS=-mod=mod",
                "GOCACHE=/home/u/.cache/go-build",
                "GOPRIVATE=github.com/me/*",
                "CGO_ENABLED=1",
                "CARGO_HOME=/home/u/.cargo",
                "CARGO_TARGET_DIR=/p/target",
                "CARGO_PKG_NAME=x",
                "CARGO_PKG_AUTHORS=A <a@example.org>",
                "RUSTUP_HOME=/home/u/.rustup",
                "RUSTFLAGS=-Ctarget-cpu=native",
                "RUST_BACKTRACE=1",
                "RUST_LOG=debug",
                "GEM_HOME=/home/u/.gem",
                "BUNDLE_PATH=vendor",
                "BUNDLE_GEMFILE=/p/Gemfile",
                "RAILS_ENV=test",
                "RACK_ENV=test",
                "PERL5LIB=/usr/share/perl5",
                "PHP_INI_SCAN_DIR=/etc/php",
                "COMPOSER_HOME=/home/u/.composer",
                "DOTNET_ROOT=/usr/share/dotnet",
                "DOTNET_CLI_TELEMETRY_OPTOUT=1",
                "CI=true",
                "GITHUB_ACTIONS=true",
                "GITHUB_REPOSITORY=owner/name",
                "GITHUB_REF=refs/heads/main",
                "GITHUB_SHA=0123456789abcdef0123456789abcdef01234567",
                "GITHUB_WORKSPACE=/home/runner/work",
                "GITHUB_SERVER_URL=https://github.com",
                "GITHUB_API_URL=https://api.github.com",
                "GITHUB_RUN_ID=1",
                "GITHUB_ACTOR=me",
                "RUNNER_OS=Linux",
                "RUNNER_TEMP=/home/runner/work/_temp",
                "GITLAB_CI=true",
                "CI_PIPELINE_ID=1",
                "CI_PIPELINE_URL=https://gitlab.com/owner/name/-/pipelines/1",
                "CI_PROJECT_URL=https://gitlab.com/owner/name",
                "CI_COMMIT_SHA=0123456789abcdef",
                "CI_COMMIT_AUTHOR=A U Thor <a@example.org>",
                "CI_MERGE_REQUEST_ID=1",
                "JENKINS_URL=http://jenkins.example.org:8080/",
                "BUILD_URL=http://jenkins.example.org:8080/job/a@script/1/",
                "BUILD_NUMBER=1",
                "JOB_NAME=a@b",
                "TRAVIS=true",
                "CIRCLECI=true",
                "BUILDKITE=true",
                "TEAMCITY_VERSION=2024",
                "http_proxy=http://proxy.example.org:3128",
                "HTTPS_PROXY=http://proxy.example.org:3128/",
                "ALL_PROXY=socks5h://127.0.0.1:1080",
                "no_proxy=localhost,127.0.0.1,.example.org",
                "SSL_CERT_DIR=/etc/ssl/certs",
                "REQUESTS_CA_BUNDLE=/etc/ssl/certs/ca-certificates.crt",
                "CURL_CA_BUNDLE=/etc/ssl/certs/ca-certificates.crt",
                "DEBIAN_FRONTEND=noninteractive",
                "DEBEMAIL=a@example.org",
                "DEBFULLNAME=A U Thor",
                "SOURCE_DATE_EPOCH=0",
                "BUILD_ARGS=--build-arg HTTP=1",
                "PGHOST=localhost",
                "PGPORT=5432",
                "PGUSER=u",
                "PGDATABASE=d",
                "DB_HOST=localhost",
                "DB_URL_SCHEME=postgres://",
                "POSTGRES_URL=postgres://u@localhost:5432/d?sslmode=disable",
                "REDIS_HOST=redis://localhost:6379/0",
                "IPV6_URL=http://[::1]:8080/a@b",
                "SEARCH_URL=https://example.org/?q=token&page=2",
                "DOCS_URL=https://example.org/a;b=c#section",
                "LIST_URL=https://example.org/?page=1&keys=2",
                "WORKERS=4",
                "PORT=3000",
                "HOST=0.0.0.0",
                "LOG_LEVEL=debug",
                "DEBUG=*",
                "VERBOSE=1",
                "FORCE_COLOR=1",
                "NO_COLOR=1",
                "CLICOLOR=1",
                "TOKENIZERS_PARALLELISM=false",
                "KEYBOARD=us",
                "KEYMAP=de",
                "COMPASS=north",
                "BYPASSED=1",
                "WEBHOOK_PORT=9000",
                "PATTERN=*.c",
                "HF_HOME=/home/u/.cache/huggingface",
                "CUDA_VISIBLE_DEVICES=0",
                "OMP_NUM_THREADS=4",
                "LD_LIBRARY_PATH=/opt/x/lib",
                "TERMINFO=/usr/share/terminfo",
                "WINDOWID=1",
                "VTE_VERSION=7000",
                "WSL_DISTRO_NAME=Debian",
                "EMACS=t",
                "INSIDE_EMACS=29.1,comint",
                "VIM=/usr/share/vim",
                "VIMRUNTIME=/usr/share/vim/vim91",
                "STARSHIP_SHELL=bash",
                "FZF_DEFAULT_OPTS=--height 40%",
                "RIPGREP_CONFIG_PATH=/home/u/.ripgreprc",
                "DIRENV_DIR=-/p",
                "MISE_SHELL=bash",
                "ASDF_DIR=/home/u/.asdf",
                "HOMEBREW_PREFIX=/home/linuxbrew/.linuxbrew",
                "NIX_PATH=nixpkgs=/nix/var/nix/profiles",
                "SYSTEMD_PAGER=",
                "INVOCATION_ID=0123456789abcdef",
                "JOURNAL_STREAM=8:1234",
                NULL,
        };
        struct resolved s = {0};
        struct nsrun_policy *p = new_policy(environment);

        resolve(&s, p);
        STRV_FOREACH (name, s.left_out)
                fail_msg("%s is withheld", *name);
        assert_null(s.secrets);
        resolved_clear(&s);
        (void)nsrun_policy_free(p);
}

/* Values that are withheld under whatever name, and beside each one that passes. */
TEST(credentials_in_a_value_are_withheld) {
        static const char *const values[][2] = {
                {"postgres://user:password@host/db", "postgres://user@host/db"},
                {"postgres://user:pa/ss@host/db", "postgres://host:5432/db@a"},
                {"postgres://user:1234@host", "postgres://user:1234"},
                {"redis://:password@host:6379", "redis://host:6379"},
                {"mongodb://u:p@h1:1,h2:2/d", "mongodb://h1:1,h2:2/d"},
                {"https://user:password@pypi.org/simple", "https://pypi.org/simple"},
                {"https://token@github.com/a/b", "ssh://git@github.com/a/b"},
                {"https://token:@example.org/", "https://example.org:443/@scope"},
                {"rest:https://u:p@host:8000/", "rest:https://host:8000/"},
                {"http://u:p@proxy:3128", "http://proxy:3128"},
                {"HTTP://u@proxy:3128", "ftp://anonymous@host"},
                {"socks5h://u:p@127.0.0.1:1080", "socks5h://127.0.0.1:1080"},
                {"https://pypi.org/simple https://u:p@example.org/", "https://pypi.org/simple a:b@c"},
                {"https://host/?token=x", "https://host/?token="},
                {"https://host/?a=b&sig=x", "https://host/?a=b&design=x"},
                {"https://host/o?X-Amz-Date=1&X-Amz-Signature=x", "https://host/o?X-Amz-Date=1"},
                {"https://host/#access_token=x", "https://host/#access"},
                {"jdbc:postgresql://host/db?user=u&password=p", "jdbc:postgresql://host/db?user=u"},
                {"jdbc:sqlserver://host;user=sa;Password=p", "jdbc:sqlserver://host;user=sa"},
                {"Server=h;User Id=u;Password=p;", "Server=h;User Id=u;Password=;"},
                {"DefaultEndpointsProtocol=https;AccountName=n;AccountKey=k==",
                 "DefaultEndpointsProtocol=https;AccountName=n"},
                {"host=h user=u password=p", "host=h user=u"},
                {"Authorization: basic eDp5", "Authorized: yes"},
                {"-----BEGIN RSA PRIVATE KEY-----\nMII\n", "-----BEGIN CERTIFICATE-----\nMII\n"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
                if (!credentials_in(values[i][0]))
                        fail_msg("%s passes", values[i][0]);
                if (credentials_in(values[i][1]))
                        fail_msg("%s is withheld", values[i][1]);
        }
}

TEST(what_is_withheld_for_its_value_is_named_a_secret) {
        struct resolved s = {0};
        struct nsrun_policy *p =
                new_policy(ENVIRONMENT("POSTGRES_URL=postgres://u:p@h/d", "DISPLAY=:0", "MY_TOKEN=t",
                                       "https_proxy=http://u:p@h:1", "PIP_INDEX_URL=https://h/simple"));

        set(p, "env", "https_proxy");
        resolve(&s, p);
        assert_value(&s, "POSTGRES_URL", NULL);
        assert_value(&s, "https_proxy", "http://u:p@h:1");
        assert_value(&s, "PIP_INDEX_URL", "https://h/simple");
        assert_int_equal(strv_length(s.left_out), 3);
        assert_int_equal(strv_length(s.secrets), 2);
        assert_string_equal(s.secrets[0], "MY_TOKEN");
        assert_string_equal(s.secrets[1], "POSTGRES_URL");
        set(p, "clean-env", NULL);
        resolve(&s, p);
        assert_null(s.secrets);
        assert_int_equal(strv_length(s.left_out), 4);
        resolved_clear(&s);
        (void)nsrun_policy_free(p);
}

/* git says "missing config value GIT_CONFIG_VALUE_0" and does nothing else. */
TEST(git_gets_all_of_its_configuration_or_none) {
        struct resolved s = {0};
        struct nsrun_policy *p =
                new_policy(ENVIRONMENT("GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.extraheader",
                                       "GIT_CONFIG_VALUE_0=AUTHORIZATION: basic eDp5"));

        resolve(&s, p);
        assert_value(&s, "GIT_CONFIG_COUNT", NULL);
        assert_value(&s, "GIT_CONFIG_KEY_0", "http.extraheader");
        assert_int_equal(strv_length(s.secrets), 2);
        assert_string_equal(s.secrets[0], "GIT_CONFIG_COUNT");
        set(p, "env", "GIT_CONFIG_VALUE_0");
        resolve(&s, p);
        assert_value(&s, "GIT_CONFIG_COUNT", "1");
        assert_null(s.secrets);
        resolved_clear(&s);
        (void)nsrun_policy_free(p);
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of toolchain folders.  Each holds nothing but programs or downloads.  What a toolchain
 * keeps beside it (credentials, configuration, anything that a later run outside the sandbox would
 * execute) is named in the comment and not exposed.  Only folders that exist are used, so that
 * nobody gets an empty ~/.rustup. */
#include "toolchains.h"

#include <sys/stat.h>

#include "base/path.h"

#define READABLE(p) \
        { .access = TOOLCHAIN_READABLE, .path = (p) }
#define OVERLAY(p) \
        { .access = TOOLCHAIN_OVERLAY, .path = (p) }

/* clang-format off */
const struct toolchain_entry toolchain_entries[] = {
        /* Installed by the user by other means: the command reads and executes them, and doesn't
         * write. */
        READABLE("/usr"),
        READABLE("/opt"),
        READABLE("~/.local/share/mise"),
        READABLE("~/.config/mise"),              /* tools' versions; not its neighbours in ~/.config */
        READABLE("~/.asdf"),
        READABLE("~/.rbenv"),
        READABLE("~/.pyenv"),
        READABLE("~/.nvm"),
        READABLE("~/.rustup"),
        READABLE("~/.cargo/bin"),                /* programs; not ../credentials.toml, ../config.toml, ../env */
        READABLE("~/.bun/bin"),                  /* programs; not ~/.bunfig.toml and its registry tokens */
        READABLE("~/.deno/bin"),                 /* programs; not ../credentials.json, deployctl's token */
        READABLE("~/.sdkman/candidates"),        /* the JDKs and tools; not ../etc, ../var, ../ext */
        READABLE("~/.local/share/uv/python"),    /* interpreters; not ../credentials, which uv auth writes */
        READABLE("~/.local/share/uv/tools"),     /* where ~/.local/bin's links lead; not ../credentials */
        READABLE("~/.local/share/pipx/venvs"),   /* the same for pipx; not ../logs */
        READABLE("~/.local/bin"),                /* programs; writable they would run outside later */

        /* Caches that the toolchain itself writes to as it runs. */
        OVERLAY("~/.cargo/registry"),            /* not ../credentials.toml: the publishing tokens */
        OVERLAY("~/.m2/repository"),             /* not ../settings.xml, ../settings-security.xml: passwords */
        OVERLAY("~/.gradle/caches"),             /* not ../gradle.properties: signing keys and tokens; not */
        OVERLAY("~/.gradle/wrapper/dists"),      /* ../init.d: runs in every later build; not ../enterprise: */
        OVERLAY("~/.gradle/jdks"),               /* keys; not ../daemon: logs that repeat -P properties */
        OVERLAY("~/.ivy2/cache"),                /* not ../.credentials */
        OVERLAY("~/go/pkg/mod"),                 /* not ~/.netrc, ~/.config/go/env */
        OVERLAY("~/.cache/pip"),                 /* not ~/.config/pip/pip.conf: index URLs with passwords */
        OVERLAY("~/.cache/uv"),                  /* not ~/.config/uv */
        OVERLAY("~/.npm"),                       /* the cache; the tokens are in ~/.npmrc */
        OVERLAY("~/.local/share/pnpm/store"),    /* not ~/.config/pnpm/rc */
        OVERLAY("~/.nuget/packages"),            /* not ../NuGet/NuGet.Config: feed passwords */
        OVERLAY("~/.cargo/git"),                 /* checkouts; Cargo keeps no URL and no login in them */
        OVERLAY("~/.bun/install/cache"),         /* not ../global: what later runs outside would load */
        OVERLAY("~/.cache/deno/npm"),            /* downloads, each by its kind; */
        OVERLAY("~/.cache/deno/remote"),         /* not ../location_data: the scripts' */
        OVERLAY("~/.cache/deno/deps"),           /* local storage, which may hold logins */
        OVERLAY("~/.cache/yarn"),                /* archives; the tokens are in ~/.yarnrc */
        OVERLAY("~/.yarn/berry/cache"),          /* archives; the tokens are in ~/.yarnrc.yml */
        OVERLAY("~/.cache/go-build"),            /* objects under their hashes */
        {.access = TOOLCHAIN_OVERLAY, .path = "~/.cache/ccache",
         .unless = "ccache.conf"},               /* objects; CCACHE_DIR's users keep the configuration in it,
                                                    remote_storage passwords included */
        OVERLAY("~/.konan/cache"),               /* not the compilers beside them: */
        OVERLAY("~/.konan/dependencies"),        /* they run outside later */
        OVERLAY("~/.pub-cache/hosted"),          /* not ../credentials.json, ../log, ../bin, */
        OVERLAY("~/.pub-cache/hosted-hashes"),   /* ../global_packages; the hashes are what */
        OVERLAY("~/.pub-cache/git"),             /* pub checks hosted/ against */
        OVERLAY("~/.gem/ruby"),                  /* not ../credentials: the RubyGems key */
        OVERLAY("~/.local/share/gem/ruby"),      /* likewise, where Ruby 3 keeps it */
        OVERLAY("~/.bundle/cache"),              /* not ../config: credentials of private sources */
};
/* clang-format on */

const size_t n_toolchain_entries = ARRAY_SIZE(toolchain_entries);

/* 1: the entry's folder exists and may be shown; 0: not; -ENOMEM. */
static int is_present(const struct toolchain_entry *entry, const char *path) {
        _cleanup_free_ char *forbidden = NULL;
        struct stat st;

        if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
                return 0;
        if (!entry->unless)
                return 1;
        forbidden = path_join(path, entry->unless);
        if (!forbidden)
                return -ENOMEM;
        /* Any other error than ENOENT leaves open whether the forbidden file exists. */
        return lstat(forbidden, &st) < 0 && errno == ENOENT;
}

int toolchains_each(const char *home,
                    int (*found)(void *data, const struct toolchain_entry *entry, const char *path),
                    void *data) {
        for (size_t i = 0; i < n_toolchain_entries; i++) {
                const struct toolchain_entry *entry = &toolchain_entries[i];
                const char *below_home = startswith(entry->path, "~/");
                _cleanup_free_ char *path = NULL;
                int r;

                if (below_home && !home)
                        continue;
                path = below_home ? path_join(home, below_home) : strdup(entry->path);
                if (!path)
                        return -ENOMEM;
                r = is_present(entry, path);
                if (r > 0)
                        r = found(data, entry, path);
                if (r != 0)
                        return r;
        }
        return 0;
}

bool toolchains_is_linked(const char *home, const char *path, const char *canonical) {
        const char *below = home ? path_below(path, home) : NULL;
        _cleanup_free_ char *real = NULL, *plain = NULL;

        if (!below || !*below || streq(path, canonical) || path_canonical(home, &real, NULL) < 0)
                return false;
        plain = path_join(real, below);
        return !plain || !streq(plain, canonical);
}

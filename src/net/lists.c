/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The lists of hosts that --allow @NAME stands for.  Each is what the tool of that name talks to when nobody
 * has configured it otherwise, over HTTPS where it can. */
#include "rules.h"

#define HOSTS(...) ((const char *const[]){__VA_ARGS__, NULL})

const struct net_list net_lists[] = {
        {"anthropic", "the API of Anthropic", HOSTS("api.anthropic.com:443")},
        {"crates", "cargo and rustup",
         HOSTS("crates.io:443", "index.crates.io:443", "static.crates.io:443", "static.rust-lang.org:443")},
        {"debian", "apt on Debian",
         HOSTS("deb.debian.org:80,443", "security.debian.org:80,443", "ftp.debian.org:80,443",
               "snapshot.debian.org:443")},
        {"github", "git and gh on GitHub, with releases and raw files",
         HOSTS("github.com:22,443", "api.github.com:443", "codeload.github.com:443",
               "uploads.github.com:443", "*.githubusercontent.com:443")},
        {"go", "go's module proxy and checksum database",
         HOSTS("proxy.golang.org:443", "sum.golang.org:443")},
        {"maven", "Maven and Gradle",
         HOSTS("repo.maven.apache.org:443", "repo1.maven.org:443", "plugins.gradle.org:443",
               "services.gradle.org:443", "downloads.gradle.org:443")},
        {"npm", "npm, pnpm and yarn", HOSTS("registry.npmjs.org:443", "registry.yarnpkg.com:443")},
        {"openai", "the API of OpenAI", HOSTS("api.openai.com:443")},
        {"pypi", "pip and uv", HOSTS("pypi.org:443", "files.pythonhosted.org:443")},
        {"rubygems", "gem and bundler", HOSTS("rubygems.org:443", "index.rubygems.org:443")},
        {"ubuntu", "apt on Ubuntu",
         HOSTS("archive.ubuntu.com:80,443", "security.ubuntu.com:80,443", "ports.ubuntu.com:80,443")},
};
const size_t n_net_lists = ARRAY_SIZE(net_lists);

const struct net_list *net_list_find(const char *name) {
        for (size_t i = 0; i < n_net_lists; i++)
                if (streq(net_lists[i].name, name))
                        return &net_lists[i];
        return NULL;
}

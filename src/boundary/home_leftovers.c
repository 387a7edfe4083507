/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A short look at the sandbox's own home: at names that aren't hidden, two levels deep, and at settings and
 * programs that people put there on purpose.  Other hidden names are programs' caches and state.  All of it
 * is the command's making: nothing is opened but folders of that one file system. */
#include "home_leftovers.h"

#include <fcntl.h>

#include "decimal.h"

/* More names than these are not looked at. */
#define MOST_NAMES 512

static const char *const on_purpose[] = {
        ".gitconfig", ".git-credentials", ".config/git",        ".npmrc",          ".yarnrc.yml",
        ".netrc",     ".pypirc",          ".config/pip",        ".condarc",        ".gemrc",
        ".bashrc",    ".bash_profile",    ".bash_aliases",      ".profile",        ".zshrc",
        ".zprofile",  ".vimrc",           ".inputrc",           ".tmux.conf",      ".curlrc",
        ".wgetrc",    ".ssh/config",      ".ssh/id_rsa",        ".ssh/id_ed25519", ".local/bin",
        ".local/lib", ".cargo/bin",       ".cargo/config.toml", ".config/gh",      ".config/glab-cli",
        ".aws",       ".azure",           ".config/gcloud",     ".kube/config",    ".docker/config.json",
};

struct home {
        int fd;
        uint64_t dev;
        const char *folder; /* the name of the one that is looked through; NULL: the home itself */
        unsigned n_names;
        size_t length;
        struct launch_report report; /* its error's path: the list, with "//" between two */
};

/* Adds "FOLDER/NAME" to the list; when that is full, "//" at its end. */
static void home_add(struct home *h, const char *name) {
        char *list = h->report.error.path;
        size_t n = strlen(name) + (h->folder ? strlen(h->folder) + 1 : 0) + (h->length > 0 ? 2 : 0);

        if (h->length + n + 3 > sizeof(h->report.error.path)) {
                if (h->length < 2 || strcmp(list + h->length - 2, "//") != 0) {
                        strcpy(list + h->length, "//");
                        h->length += 2;
                }
                h->n_names = MOST_NAMES;
                return;
        }
        if (h->length > 0)
                strcat(list, "//");
        if (h->folder)
                strcat(strcat(list, h->folder), "/");
        strcat(list, name);
        h->length += n;
}

/* Whether `name` in `folder` is of the home's own file system: what is exposed isn't. */
static bool is_in_home(const struct home *h, int folder, const char *name, struct stat *ret) {
        return fstatat(folder, name, ret, AT_SYMLINK_NOFOLLOW) == 0 && ret->st_dev == h->dev;
}

static bool take_inner(void *data, int folder, const char *name) {
        struct home *h = data;
        struct stat st;

        if (++h->n_names > MOST_NAMES)
                return false;
        if (is_in_home(h, folder, name, &st))
                home_add(h, name);
        return true;
}

static bool take_outer(void *data, int folder, const char *name) {
        struct home *h = data;
        struct stat st;
        int fd;

        if (++h->n_names > MOST_NAMES)
                return false;
        if (*name == '.' || !is_in_home(h, folder, name, &st))
                return true;
        home_add(h, name);
        fd = S_ISDIR(st.st_mode) ? sys_open(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0) : -EBADF;
        if (fd < 0)
                return true;
        h->folder = name;
        (void)names_each(fd, take_inner, h);
        h->folder = NULL;
        (void)sys_close(fd);
        return true;
}

void dropped_report(const struct init *init) {
        struct home h = {.fd = init->home_fd, .report = {.kind = LAUNCH_DROPPED}};
        struct statfs fs;
        struct stat st;

        if (init->home_fd < 0 || sys_fstatfs(init->home_fd, &fs) < 0 ||
            (uint64_t)(fs.f_files - fs.f_ffree) == init->home_files || sys_fstat(init->home_fd, &st) < 0)
                return;
        h.dev = st.st_dev;
        for (size_t i = 0; i < ARRAY_SIZE(on_purpose); i++)
                if (is_in_home(&h, h.fd, on_purpose[i], &st))
                        home_add(&h, on_purpose[i]);
        h.n_names = 0;
        (void)names_each(h.fd, take_outer, &h);
        if (h.length > 0)
                (void)report_send(init->report_fd, &h.report);
}

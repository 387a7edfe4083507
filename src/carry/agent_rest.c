/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agent_rest.h"

#include <sys/file.h>
#include <sys/stat.h>

#include "base/beneath.h"
#include "base/file.h"
#include "base/path.h"
#include "disk/remove_tree.h"
#include "disk/rundir.h"
#include "kept/kept_copy.h"
#include "policy/agents.h"

enum {
        REST_DEPTH = 64,
};

static int drop_older(void *data, int folder, const struct dirent *entry) {
        const int *host = data;
        struct stat was, now;

        if (fstatat(folder, entry->d_name, &was, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(was.st_mode) &&
            fstatat(*host, entry->d_name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
            time_is_before(&was.st_ctim, &now.st_ctim))
                (void)unlinkat(folder, entry->d_name, 0);
        return 0;
}

static int open_layer(const char *path, struct stat *st) {
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        return fd < 0 ? -errno : fstat(fd, st) < 0 ? (close(fd), -errno) : fd;
}

int rest_begin(const char *path, const char *host, struct timespec *ret_when) {
        _cleanup_close_ int folder = open(host, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = -EBADF;
        struct stat st;

        fd = open_layer(path, &st);
        if (fd < 0)
                return fd;
        if (folder >= 0)
                (void)folder_each(fd, drop_older, &folder);
        if (fstat(fd, &st) < 0)
                return -errno;
        *ret_when = st.st_ctim;
        return TAKE_FD(fd);
}

struct merging {
        int to;
        unsigned depth;
};

static int merge_entry(void *data, int from, const struct dirent *entry) {
        const struct merging *m = data;
        const char *name = entry->d_name;
        _cleanup_close_ int fd = -EBADF, to = -EBADF;
        int r;

        if (folder_type(from, entry) == DT_DIR) {
                fd = open_for_removal(from, name);
                if (fd < 0)
                        return fd;
                to = kept_is_opaque(fd)
                             ? -1
                             : openat(m->to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (to >= 0 && m->depth < REST_DEPTH) {
                        struct merging below = {.to = to, .depth = m->depth + 1};

                        return folder_each(fd, merge_entry, &below);
                }
        }
        r = remove_tree(m->to, name);
        return r < 0 || renameat(from, name, m->to, name) == 0 ? r : -errno;
}

static int drop_unused(void *data, int folder, const struct dirent *entry) {
        const time_t *now = data;
        struct stat st;

        if (fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            *now - st.st_mtim.tv_sec > REST_DAYS * (time_t)86400)
                (void)remove_tree(folder, entry->d_name);
        return 0;
}

/* The folder of a project's layers, locked; what no run has touched for long is removed beside it. */
static int lock_layers(const char *path) {
        _cleanup_free_ char *project = path_parent(path), *all = project ? path_parent(project) : NULL;
        _cleanup_close_ int fd = -EBADF, beside = -EBADF;
        time_t now = time(NULL);
        int r = all ? rundir_make_folders(project) : -ENOMEM;

        if (r < 0)
                return r;
        fd = open(project, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || flock(fd, LOCK_EX) < 0 || futimens(fd, NULL) < 0)
                return -errno;
        beside = open(all, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (beside >= 0)
                (void)folder_each(beside, drop_unused, &now);
        return TAKE_FD(fd);
}

int rest_keep(const char *path, const struct timespec *when, int from, const char *upper) {
        _cleanup_close_ int layers = lock_layers(path), fd = -EBADF, to = -EBADF;
        struct merging m = {0};
        struct stat st;
        int r;

        if (layers < 0)
                return layers;
        m.to = to = open_layer(path, &st);
        if (to < 0 && to != -ENOENT)
                return to;
        if ((to >= 0) != (when != NULL) ||
            (when && (st.st_ctim.tv_sec != when->tv_sec || st.st_ctim.tv_nsec != when->tv_nsec)))
                return -ESTALE;
        fd = open_for_removal(from, upper);
        if (fd < 0)
                return fd;
        if (to < 0)
                return renameat(from, upper, layers, path_basename(path)) < 0 ? -errno : 0;
        r = folder_each(fd, merge_entry, &m);
        return r >= 0 && futimens(to, NULL) < 0 ? -errno : r;
}

/* ------------------------------------------------------------------ for a person */

#define LAYER "overlay-" /* path_slug() of the folder follows (plan/) */

/* The folder of a layer's name; NULL: it is none, or for want of memory. */
static char *folder_of_layer(const char *name) {
        const char *slug = startswith(name, LAYER);
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_free_ char *again = NULL, *path = NULL;

        strbuf_add(&b, "/");
        for (const char *at = slug; at && *at; at++) {
                bool is_dash = startswith(at, "%2d"), is_percent = startswith(at, "%25");

                strbuf_add_bytes(&b, is_dash ? "-" : is_percent ? "%" : *at == '-' ? "/" : at, 1);
                at += is_dash || is_percent ? 2 : 0;
        }
        path = slug ? strbuf_finish(&b) : NULL;
        again = path ? path_slug(path) : NULL;
        return again && streq(again, slug) ? TAKE_PTR(path) : NULL;
}

struct listing_rest {
        const char *folder; /* of the host */
        int host;
        char ***ret;
};

/* Whether it is the agent's version of a file that lies beside its folder. */
static bool is_of_home(const char *name) {
        for (size_t i = 0; i < n_agent_entries; i++)
                for (const struct agent_folder *f = agent_entries[i].entry.folders; f->path; f++)
                        if (f->members && startswith(f->path, "~/") && streq(f->path + 2, name))
                                return true;
        return false;
}

static int list_rest_entry(void *data, int layer, const struct dirent *entry) {
        const struct listing_rest *l = data;
        unsigned char type = folder_type(layer, entry);

        if ((type != DT_REG && type != DT_DIR && type != DT_LNK) || is_of_home(entry->d_name) ||
            (l->host >= 0 && kept_is_within(layer, entry->d_name, l->host, entry->d_name)))
                return 0;
        return strv_consume(l->ret, path_join(l->folder, entry->d_name));
}

static int list_rest_layer(void *data, int layers, const struct dirent *entry) {
        struct listing_rest l = {.host = -EBADF, .ret = data};
        _cleanup_free_ char *folder = folder_of_layer(entry->d_name);
        _cleanup_close_ int fd = openat(layers, entry->d_name,
                                        O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
                            host = -EBADF;

        if (!folder || fd < 0)
                return 0;
        l.folder = folder;
        l.host = host = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return folder_read(fd, list_rest_entry, &l);
}

static int open_layers(const char *project, const char *layer) {
        struct nsrun_error unsaid = {0};
        _cleanup_free_ char *base = NULL, *path = NULL;

        if (rundir_find_base(&base, &unsaid) < 0 || !(path = rundir_rest(base, project, layer)))
                return -ENOENT;
        return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int rest_list(const char *project, char ***ret) {
        _cleanup_close_ int layers = open_layers(project, "");
        int r = layers < 0 ? 0 : folder_read(layers, list_rest_layer, ret);

        if (*ret)
                strv_sort(*ret, strv_length(*ret));
        return r == -ENOMEM ? r : 0;
}

int rest_open(const char *project, const char *path, const char **ret_name) {
        _cleanup_free_ char *at = path_normalise(path);
        int r = -ENOENT;

        if (!at || !streq(at, path))
                return at ? r : -ENOMEM;
        while (r == -ENOENT && path_up(at)) {
                _cleanup_free_ char *slug = path_slug(at),
                                    *layer = slug ? str_concat(LAYER, slug, "") : NULL,
                                    *parent = path_parent(path);
                _cleanup_close_ int fd = layer ? open_layers(project, layer) : -ENOMEM;

                if (!layer || !parent)
                        return -ENOMEM;
                if (fd >= 0)
                        r = beneath_open(fd, *path_below(parent, at) ? path_below(parent, at) : ".",
                                         O_RDONLY | O_DIRECTORY, 0);
        }
        *ret_name = path_basename(path);
        return r;
}

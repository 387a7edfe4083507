/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A command for the sandbox that tries one thing with each protected name: `grab WHAT NAMES`, WHAT being one
 * of the table below and NAMES a file.  Prints "NAME done", or "NAME ERROR" with the error of the first call
 * that failed; which says what worked inside, not what the host has of it. */
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/macro.h"
#include "error-word.h"

static int number;

static int put(int dir, const char *name, int flags) {
        int fd = openat(dir, name, O_WRONLY | O_NONBLOCK | flags, 0755);
        ssize_t n;

        if (fd < 0)
                return -errno;
        n = write(fd, "evil\n", 5);
        (void)close(fd);
        return n == 5 ? 0 : -errno;
}

/* A fresh file of the command's own, beside the name. */
static const char *own_file(void) {
        static char path[64];

        (void)snprintf(path, sizeof(path), "own-%d", number++);
        (void)put(AT_FDCWD, path, O_CREAT | O_EXCL);
        return path;
}

static int remove_one(const char *path, const struct stat *st nsrun_unused, int kind nsrun_unused,
                      struct FTW *at nsrun_unused) {
        (void)remove(path);
        return 0;
}

static void remove_all(const char *path) {
        (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int make(const char *name) {
        int r = put(AT_FDCWD, name, O_CREAT | O_EXCL);

        if (r < 0 && (mkdir(name, 0755) == 0 || mkfifo(name, 0644) == 0 || symlink("own", name) == 0))
                return 0;
        return r;
}

static int overwrite(const char *name) {
        char inside[4096];
        int r = put(AT_FDCWD, name, O_CREAT | O_TRUNC);

        (void)snprintf(inside, sizeof(inside), "%s/evil", name);
        if (r < 0 && put(AT_FDCWD, inside, O_CREAT) == 0)
                r = 0;
        if (r < 0 && (chmod(name, 0777) == 0 || truncate(name, 0) == 0))
                r = 0;
        return r;
}

static int rename_away(const char *name) {
        char away[64];

        (void)snprintf(away, sizeof(away), "away-%d", number++);
        return rename(name, away) == 0 ? 0 : -errno;
}

/* The folder that holds it, and then a new one of that name. */
static int rename_parent(const char *name) {
        char parent[4096], away[64], *slash;

        (void)snprintf(parent, sizeof(parent), "%s", name);
        slash = strrchr(parent, '/');
        if (slash) {
                *slash = '\0';
        } else {
                _cleanup_free_ char *here = getcwd(NULL, 0);

                (void)snprintf(parent, sizeof(parent), "%s", here);
        }
        (void)snprintf(away, sizeof(away), slash ? "away-%d" : "../away-%d", number++);
        if (rename(parent, away) < 0)
                return -errno;
        (void)mkdir(parent, 0755);
        return make(name);
}

static int link_over(const char *name) {
        const char *own = own_file();
        char link[64];

        (void)snprintf(link, sizeof(link), "link-%d", number++);
        if (symlink(own, link) < 0)
                return -errno;
        return rename(link, name) == 0 || symlink(own, name) == 0 ? 0 : -errno;
}

/* Both ways: another name for it, to write through; and the name for another file. */
static int hard_link(const char *name) {
        char other[64];
        int r;

        (void)snprintf(other, sizeof(other), "hard-%d", number++);
        if (linkat(AT_FDCWD, name, AT_FDCWD, other, 0) == 0)
                return put(AT_FDCWD, other, 0);
        r = -errno;
        return link(own_file(), name) == 0 ? 0 : r;
}

static int remake(const char *name) {
        remove_all(name);
        return make(name);
}

/* In namespaces of its own, without the mount that covers the name: the sandbox's whole tree is detached,
 * and its folder is reached by a descriptor. */
static int replace_uncovered(const char *name) {
        int folder = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC), r;
        const char *own = own_file();

        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
                return -errno;
        if (mount(own, name, NULL, MS_BIND, NULL) == 0)
                (void)umount2(name, MNT_DETACH);
        (void)umount2(name, MNT_DETACH);
        if (mount("tmpfs", "/tmp", "tmpfs", 0, NULL) < 0 || chdir("/tmp") < 0 ||
            syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0)
                return -errno;
        r = renameat(folder, own, folder, name) == 0 ? 0 : -errno;
        if (r < 0 && unlinkat(folder, name, 0) == 0)
                r = put(folder, name, O_CREAT);
        return r;
}

static int bind_over(const char *name) {
        int status = 0;
        pid_t pid = fork();

        if (pid == 0)
                _exit(-replace_uncovered(name));
        number++;
        return pid < 0 || waitpid(pid, &status, 0) < 0 ? -errno : -WEXITSTATUS(status);
}

static const struct {
        const char *word;
        int (*function)(const char *name);
} table[] = {
        {"make", make},           {"write", overwrite},
        {"rename", rename_away},  {"parent", rename_parent},
        {"link-over", link_over}, {"hard-link", hard_link},
        {"bind", bind_over},      {"remake", remake},
};

static void grab(const char *what, const char *names) {
        FILE *file = fopen(names, "re");
        _cleanup_free_ char *line = NULL;
        size_t size = 0;

        while (file && getline(&line, &size, file) > 0)
                for (size_t i = 0; i < ARRAY_SIZE(table); i++)
                        if (streq(table[i].word, what)) {
                                int r;

                                line[strcspn(line, "\n")] = '\0';
                                r = table[i].function(line);
                                (void)printf("%s %s\n", line, r < 0 ? error_word(-r) : "done");
                        }
        if (file)
                (void)fclose(file);
}

/* "all": everything but what needs namespaces, over and over. */
int main(int argc, char **argv) {
        const char *what = argc > 2 ? argv[1] : "", *names = argc > 2 ? argv[2] : "";

        if (!streq(what, "all"))
                grab(what, names);
        for (int i = 0; streq(what, "all") && i < 1000; i++)
                for (size_t j = 0; j < ARRAY_SIZE(table); j++)
                        if (!streq(table[j].word, "bind"))
                                grab(table[j].word, names);
        return fflush(stdout) == 0 ? 0 : 1;
}

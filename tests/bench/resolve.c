/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What one workspace_resolve() costs at depth 8, beside realpath(3) of the same path.
 * Prints a line for each kind of path, "NAME RESOLVE REALPATH", in microseconds:
 * medians of batches.  Judges nothing; measure.py does.
 *
 *   resolve FOLDER BATCHES     FOLDER is empty, and is left filled */
#include "workspace/resolve.h"

#include <limits.h>
#include <sys/stat.h>
#include <time.h>

enum {
        BATCH = 200,
        MOST_BATCHES = 10000,
};

static const struct {
        const char *name, *path; /* eight components below the project */
} cases[] = {
        {"plain", "1/2/3/4/5/6/7/file"},
        {"symlink", "1/2/3/link/5/6/7/file"},
        {"missing", "1/2/3/4/5/6/new/file"},
};

static void fail(const char *what) {
        (void)fprintf(stderr, "resolve: %s: %s\n", what, strerror(errno));
        exit(1);
}

static void make_tree(const char *top) {
        static const char file[] = "1/2/3/4/5/6/7/file", link[] = "1/2/3/link";
        char part[sizeof(file)];

        if (chdir(top) < 0)
                fail(top);
        for (const char *slash = strchr(file, '/'); slash; slash = strchr(slash + 1, '/')) {
                (void)snprintf(part, sizeof(part), "%.*s", (int)(slash - file), file);
                if (mkdir(part, 0755) < 0)
                        fail(part);
        }
        if (mknod(file, S_IFREG | 0644, 0) < 0)
                fail(file);
        if (symlink("4", link) < 0)
                fail(link);
}

/* As many roots as a developer's workspace has: the innermost is looked for in all. */
static void fill_workspace(struct workspace *w, const char *project) {
        static const char *const others[] = {"/usr",       "/etc",      "/usr/bin", "/usr/lib",
                                             "/usr/share", "/usr/sbin", "/var",     "/dev"};

        if (workspace_set_project(w, project, NULL, NULL) < 0)
                fail(project);
        for (size_t i = 0; i < ARRAY_SIZE(others); i++)
                if (workspace_add_root(w, WORKSPACE_READ, others[i], NULL) < 0)
                        fail(others[i]);
}

static double now(void) {
        struct timespec t;

        if (clock_gettime(CLOCK_MONOTONIC, &t) < 0)
                fail("clock_gettime");
        return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void resolve_once(const struct workspace *w, const char *path) {
        char *found = NULL;

        if (workspace_resolve(w, WORKSPACE_WRITE, path, &found, NULL) < 0)
                fail(path);
        free(found);
}

/* A missing file is an answer, too. */
static void realpath_once(const char *path) {
        char *found = realpath(path, NULL);

        if (!found && errno != ENOENT)
                fail(path);
        free(found);
}

static int compare(const void *a, const void *b) {
        const double *x = a, *y = b;

        return (*x > *y) - (*x < *y);
}

/* `w` NULL: realpath(3). */
static double median(const struct workspace *w, const char *path, size_t batches) {
        static double times[MOST_BATCHES];

        for (size_t i = 0; i < batches; i++) {
                double start = now();

                for (size_t k = 0; k < BATCH; k++)
                        if (w)
                                resolve_once(w, path);
                        else
                                realpath_once(path);
                times[i] = (now() - start) / BATCH;
        }
        qsort(times, batches, sizeof(*times), compare);
        return times[batches / 2];
}

int main(int argc, char **argv) {
        _cleanup_workspace_ struct workspace w = {0};
        size_t batches = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;

        if (batches == 0 || batches > MOST_BATCHES) {
                (void)fprintf(stderr, "usage: resolve FOLDER BATCHES (at most %d)\n", MOST_BATCHES);
                return 2;
        }
        make_tree(argv[1]);
        fill_workspace(&w, argv[1]);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                char path[PATH_MAX];

                (void)snprintf(path, sizeof(path), "%s/%s", argv[1], cases[i].path);
                (void)printf("%s %.2f %.2f\n", cases[i].name, median(&w, path, batches),
                             median(NULL, path, batches));
        }
        return 0;
}

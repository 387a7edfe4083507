/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun resolve` against the truth: what it says of thousands of generated paths is
 * what a process in the same sandbox can do with them.  The test program itself is
 * that process: `/probe agree LIST`. */
#include "harness.h"

#include <limits.h>

enum {
        TREES = 12,
        NODES = 90,
        PATHS = 400,
        MOST_FOLDERS = 256,
};

/* ------------------------------------------------------------- generated trees */

/* xorshift: the same trees on every machine; a failure names its seed. */
static uint32_t state_of_chance;

static uint32_t chance(uint32_t n) {
        state_of_chance ^= state_of_chance << 13;
        state_of_chance ^= state_of_chance >> 17;
        state_of_chance ^= state_of_chance << 5;
        return state_of_chance % n;
}

struct ground {
        const struct site *s;
        char *bases[7]; /* project, ro, rw, over, tmp, outside, home */
        char *folders[MOST_FOLDERS];
        size_t n_folders;
};

static const char *const base_names[] = {"project", "ro", "rw", "over", "tmp", "outside", "home"};

static const char *any_name(void) {
        static const char *const names[] = {"a", "b",  "c",   "d",  "e",   "f",     "a",        "b",
                                            "c", "ab", "...", " x", "-rf", "\x01z", "\xff\xfe", "J\xc3\xb6"};

        return names[chance(ARRAY_SIZE(names))];
}

static void add_components(FILE *f) {
        for (uint32_t n = chance(5); n > 0; n--) {
                static const char *const between[] = {"/", "/", "/", "//", "/./", "///"};
                uint32_t kind = chance(6);

                (void)fprintf(f, "%s%s", between[chance(ARRAY_SIZE(between))],
                              kind == 0   ? ".."
                              : kind == 1 ? "."
                                          : any_name());
        }
        if (chance(12) == 0)
                (void)fputs("/", f);
}

/* A path as somebody might write it, or the text of a symlink.  Not through the links
 * of /proc/self: they say of each process something else. */
static char *any_path(const struct ground *g) {
        static const char *const far[] = {
                "/",        "/tmp",    "/etc/passwd",   "/etc/hosts",   "/etc/ssl/private", "/usr/bin/env",
                "/lib",     "/bin/sh", "/proc/version", "/proc/self",   "/proc/sys",        "/dev/null",
                "/dev/shm", "/root",   "/home",         "/nonexistent", "/etc/../usr",      "/usr/.."};
        char *text = NULL;
        size_t size = 0;
        FILE *f = open_memstream(&text, &size);
        uint32_t kind = chance(20);

        assert_non_null(f);
        if (kind < 6)
                (void)fputs(any_name(), f);
        else if (kind < 10)
                (void)fputs(g->folders[chance((uint32_t)g->n_folders)], f);
        else if (kind < 13)
                (void)fputs(g->bases[chance(ARRAY_SIZE(g->bases))], f);
        else if (kind < 15)
                (void)fputs("/tmp", f);
        else if (kind < 17)
                (void)fprintf(f, "..%s", chance(2) ? "/.." : "");
        else if (kind < 19)
                (void)fputs(far[chance(ARRAY_SIZE(far))], f);
        else
                (void)fputs(".", f);
        add_components(f);
        if (chance(200) == 0) /* about as long as a path may be */
                for (uint32_t n = 2030 + chance(20); n > 0; n--)
                        (void)fputs("/.", f);
        assert_int_equal(fclose(f), 0);
        return text;
}

static void add_node(struct ground *g) {
        const char *folder = g->folders[chance((uint32_t)g->n_folders)];
        _cleanup_free_ char *path = path_of(folder, any_name());
        uint32_t kind = chance(10);

        if (kind < 4) {
                if (mkdir(path, 0755) == 0 && g->n_folders < MOST_FOLDERS)
                        g->folders[g->n_folders++] = strdup(path);
        } else if (kind < 6) {
                int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

                if (fd >= 0)
                        (void)close(fd);
        } else {
                _cleanup_free_ char *text = any_path(g);

                (void)symlink(text, path);
        }
}

static void make_ground(struct ground *g, const struct site *s, uint32_t seed) {
        *g = (struct ground){.s = s};
        state_of_chance = seed * 2654435761U + 1;
        for (size_t i = 0; i < ARRAY_SIZE(base_names); i++) {
                g->bases[i] = path_of(s->root, base_names[i]);
                (void)mkdir(g->bases[i], 0755);
                g->folders[g->n_folders++] = strdup(g->bases[i]);
        }
        for (size_t i = 0; i < NODES; i++)
                add_node(g);
}

static void ground_clear(struct ground *g) {
        for (size_t i = 0; i < ARRAY_SIZE(g->bases); i++)
                free(g->bases[i]);
        for (size_t i = 0; i < g->n_folders; i++)
                free(g->folders[i]);
}

/* --------------------------------------------------------------- inside and out */

static const char *policy[8];

static void make_policy(const struct ground *g) {
        static char options[4][PATH_MAX + 32];
        char self[PATH_MAX];
        ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

        assert_true(n > 0);
        self[n] = '\0';
        (void)snprintf(options[0], sizeof(options[0]), "--ro=%s", g->bases[1]);
        (void)snprintf(options[1], sizeof(options[1]), "--rw=%s", g->bases[2]);
        (void)snprintf(options[2], sizeof(options[2]), "--overlay=%s", g->bases[3]);
        (void)snprintf(options[3], sizeof(options[3]), "--tmp=%s", g->bases[4]);
        for (size_t i = 0; i < ARRAY_SIZE(options); i++)
                policy[i] = options[i];
        policy[4] = "--bind";
        static char bind[PATH_MAX + 32];
        (void)snprintf(bind, sizeof(bind), "%s:/probe:ro", self);
        policy[5] = bind;
        policy[6] = NULL;
}

/* The host's path or NULL for each of `paths`, as `nsrun resolve` has it. */
static void resolve(const struct site *s, const char *access, char *const *paths, char **ret) {
        const char *argv[PATHS + 16] = {"sh", "-c", "exec \"$@\" 2>&1", "sh", program(), "resolve", access};
        _cleanup_outcome_ struct outcome o = {0};
        size_t at = 7;
        char *rest, *line;

        for (size_t i = 0; policy[i]; i++)
                argv[at++] = policy[i];
        argv[at++] = "--";
        for (size_t i = 0; i < PATHS; i++)
                argv[at++] = paths[i];
        run(&(struct request){.argv = argv, .cwd = s->project}, &o);
        expect_status(&o, 1); /* some are refused, and some are not: */
        rest = o.out;
        for (size_t i = 0; i < PATHS; i++) {
                line = strsep(&rest, "\n");
                assert_non_null(rest);
                ret[i] = line[0] == '/' ? strdup(line) : NULL;
                if (!ret[i] && strncmp(line, "nsrun: the path ", 16) != 0)
                        fail_msg("%s: %s", paths[i], line);
        }
        assert_string_equal(rest, "");
}

/* What one path is to a process. */
struct fact {
        int error; /* of opening it */
        uintmax_t device, inode;
        int is_writable;
};

static void look_at(const char *path) {
        int fd = open(path, O_PATH | O_CLOEXEC);
        int error = fd < 0 ? errno : 0;
        struct stat st = {0};

        if (fd >= 0)
                (void)fstat(fd, &st);
        (void)printf("%d %ju %ju %d\n", error, (uintmax_t)st.st_dev, (uintmax_t)st.st_ino,
                     fd >= 0 && access(path, W_OK) == 0);
        if (fd >= 0)
                (void)close(fd);
}

/* `agree LIST`: a line for each NUL-terminated path in the file. */
static int look_at_all(const char *list) {
        int fd = open(list, O_RDONLY | O_CLOEXEC);
        static char text[8 << 20];
        size_t n = 0;
        ssize_t got;

        while (fd >= 0 && (got = read(fd, text + n, sizeof(text) - n)) > 0)
                n += (size_t)got;
        if (fd < 0 || n == 0)
                return 120;
        for (const char *path = text; path < text + n; path += strlen(path) + 1)
                look_at(path);
        return 0;
}

/* The facts on each of `paths`, inside. */
static void look(const struct site *s, char *const *paths, struct fact *ret) {
        const char *argv[32] = {program(), "run"};
        _cleanup_free_ char *list = path_of(s->project, "list");
        _cleanup_outcome_ struct outcome o = {0};
        size_t at = 2;
        char *rest;
        FILE *f = fopen(list, "we");

        assert_non_null(f);
        for (size_t i = 0; i < PATHS; i++)
                assert_int_equal(fwrite(paths[i], 1, strlen(paths[i]) + 1, f), strlen(paths[i]) + 1);
        assert_int_equal(fclose(f), 0);
        for (size_t i = 0; policy[i]; i++)
                argv[at++] = policy[i];
        argv[at++] = "--";
        argv[at++] = "/probe";
        argv[at++] = "agree";
        argv[at++] = "list";
        run(&(struct request){.argv = argv, .cwd = s->project}, &o);
        expect_status(&o, 0);
        rest = o.out;
        for (size_t i = 0; i < PATHS; i++) {
                char *line = strsep(&rest, "\n");

                assert_int_equal(sscanf(line, "%d %ju %ju %d", &ret[i].error, &ret[i].device, &ret[i].inode,
                                        &ret[i].is_writable),
                                 4);
        }
        assert_int_equal(unlink(list), 0);
}

/* Where the sandbox has a host path that resolve answered. */
static char *inside_of(const struct ground *g, const char *host) {
        size_t n = strlen(g->bases[4]);

        if (strncmp(host, g->bases[4], n) == 0 && (host[n] == '/' || !host[n]))
                return text_of("/tmp%s", host + n);
        return strdup(host);
}

/* The deepest part of a host path that is there. */
static char *present_part(const char *host, struct stat *ret) {
        char *part = strdup(host);

        assert_non_null(part);
        while (lstat(part, ret) < 0) {
                char *slash = strrchr(part, '/');

                assert_non_null(slash);
                slash[slash == part] = '\0';
        }
        return part;
}

/* ----------------------------------------------------------------- the judgement */

struct trial {
        struct ground g;
        uint32_t seed;
        char *paths[PATHS];
        char *answers[PATHS]; /* of one resolve */
        char *places[PATHS];  /* what of the answer is there, as the sandbox names it */
        struct stat hosts[PATHS];
        struct fact spelled[PATHS]; /* the paths inside */
        struct fact placed[PATHS];  /* the places inside */
        uintmax_t device;           /* the host's file system */
        size_t n_allowed, n_refused;
};

#define DISAGREE(t, i, word)                                                                                \
        fail_msg("seed %u: %s: %s (answer: %s, inside: errno %d, inode %ju, writable %d)", (t)->seed,       \
                 (t)->paths[i], word, (t)->answers[i] ? (t)->answers[i] : "refused", (t)->spelled[i].error, \
                 (t)->spelled[i].inode, (t)->spelled[i].is_writable)

static bool is_in_overlay(const struct trial *t, const char *host) {
        return strncmp(host, t->g.bases[3], strlen(t->g.bases[3])) == 0;
}

static void judge(struct trial *t, size_t i, bool is_write) {
        const struct fact *spelled = &t->spelled[i], *placed = &t->placed[i];
        bool is_overlaid = t->answers[i] && is_in_overlay(t, t->answers[i]); /* with inodes of its own */
        struct stat st;

        if (!t->answers[i]) {
                t->n_refused++;
                if (spelled->error == 0 && spelled->device == t->device &&
                    (!is_write || spelled->is_writable))
                        DISAGREE(t, i, "it was refused and is reachable");
                return;
        }
        t->n_allowed++;
        if (placed->error != 0 || (!is_overlaid && placed->inode != t->hosts[i].st_ino))
                DISAGREE(t, i, "what was allowed isn't there");
        if (is_write && !placed->is_writable)
                DISAGREE(t, i, "what was allowed for writing can't be written");
        if (is_write && is_overlaid)
                DISAGREE(t, i, "an overlay's writes never reach the host");
        /* And the path means the same to both. */
        if (spelled->error == 0 && !is_overlaid &&
            (lstat(t->answers[i], &st) < 0 || st.st_ino != spelled->inode))
                DISAGREE(t, i, "it is another file inside");
}

static void run_trial(struct trial *t, const char *access) {
        bool is_write = strcmp(access, "--write") == 0;

        resolve(t->g.s, access, t->paths, t->answers);
        for (size_t i = 0; i < PATHS; i++) {
                _cleanup_free_ char *part =
                        t->answers[i] ? present_part(t->answers[i], &t->hosts[i]) : strdup("/");

                t->places[i] = inside_of(&t->g, part);
        }
        look(t->g.s, t->paths, t->spelled);
        look(t->g.s, t->places, t->placed);
        for (size_t i = 0; i < PATHS; i++)
                judge(t, i, is_write);
        for (size_t i = 0; i < PATHS; i++) {
                free(t->answers[i]);
                free(t->places[i]);
        }
}

TEST(resolve_says_what_the_sandbox_does) {
        const struct site *s = *state;
        size_t n_allowed = 0, n_refused = 0;

        for (uint32_t seed = 1; seed <= TREES; seed++) {
                struct trial *t = calloc(1, sizeof(*t));
                _cleanup_outcome_ struct outcome o = {0};
                struct stat st;

                assert_non_null(t);
                t->seed = seed;
                make_ground(&t->g, s, seed);
                make_policy(&t->g);
                assert_int_equal(stat(s->project, &st), 0);
                t->device = st.st_dev;
                for (size_t i = 0; i < PATHS; i++)
                        t->paths[i] = any_path(&t->g);
                run_trial(t, "--read");
                run_trial(t, "--write");
                n_allowed += t->n_allowed;
                n_refused += t->n_refused;
                for (size_t i = 0; i < PATHS; i++)
                        free(t->paths[i]);
                ground_clear(&t->g);
                free(t);
                /* A new tree in the same places. */
                run_outside(s, &o, "cd .. && find project ro rw over tmp outside home -mindepth 1 -delete");
        }
        /* Both kinds were tried by the thousand. */
        assert_true(n_allowed > 2000);
        assert_true(n_refused > 2000);
}

/* ------------------------------------------------------------------ its words */

static void resolve_one(const struct site *s, struct outcome *o, const char *const *arguments) {
        const char *argv[16] = {program(), "resolve"};
        size_t at = 2;

        while (*arguments)
                argv[at++] = *arguments++;
        outcome_clear(o);
        run(&(struct request){.argv = argv, .cwd = s->project}, o);
}
#define RESOLVE(...) resolve_one(s, &o, OPTIONS(__VA_ARGS__))

#define LEADS_OUT                                                                          \
        ": Operation not permitted; only the project and the roots given to nsrun can be " \
        "reached"

TEST(each_answer_is_a_line_and_a_status) {
        const struct site *s = *state;
        _cleanup_free_ char *bind = text_of("--bind=%s:/in/it", s->outside), *line = NULL, *odd = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->project, "file", "");
        make_file(s->outside, "file", "");
        make_link(s->project, "link", "../outside/file");
        RESOLVE("--read", "file", "./x/../file", "none/y");
        expect_status(&o, 0);
        line = text_of("%s/file\n%s/file\n%s/none/y\n", s->project, s->project, s->project);
        expect_out(&o, line);
        assert_string_equal(o.err, "");
        RESOLVE("--write", "link");
        expect_refusal(&o, 1, "nsrun: the path leads out of the workspace: link" LEADS_OUT);
        RESOLVE("--read", "\x1b[2J/../../outside");
        expect_refusal(&o, 1,
                       "nsrun: the path leads out of the workspace: \\x1b[2J/../../outside" LEADS_OUT);
        RESOLVE("--write", "/usr/bin/env");
        expect_refusal(&o, 1,
                       "nsrun: the path is in a folder that may only be read: /usr/bin/env: Operation not "
                       "permitted");
        RESOLVE("--read", "/etc/passwd");
        expect_refusal(&o, 1, "nsrun: the path leads out of the workspace: /etc/passwd" LEADS_OUT);
        RESOLVE("--read", "");
        expect_refusal(&o, 1, "nsrun: the path can't be followed: No such file or directory");
        RESOLVE("--no-project", "--read", "file");
        expect_refusal(&o, 1, "nsrun: a relative path without a project: file: Operation not permitted");
        /* What is elsewhere inside is found by its name there, and by no other. */
        RESOLVE(bind, "--write", "/in/it/file");
        odd = text_of("%s/file\n", s->outside);
        expect_status(&o, 0);
        expect_out(&o, odd);
        RESOLVE(bind, "--read", "../outside/file");
        expect_refusal(&o, 1, "nsrun: the path leads out of the workspace: ../outside/file" LEADS_OUT);
}

TEST(a_question_that_makes_no_sense_is_no_answer) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        RESOLVE("file");
        expect_refusal(&o, 125, "nsrun: one of --read and --write is needed; see 'nsrun resolve --help'");
        RESOLVE("--read", "--write", "file");
        expect_refusal(&o, 125, "nsrun: one of --read and --write is needed; see 'nsrun resolve --help'");
        RESOLVE("--read");
        expect_refusal(&o, 125, "nsrun: no path; see 'nsrun resolve --help'");
        RESOLVE("--read", "--rw", "/", "file");
        expect_refusal(
                &o, 125,
                "nsrun: --rw would expose the whole file system: /; name the folders that the command "
                "needs");
}

int main(int argc, char **argv) {
        if (argc == 3 && strcmp(argv[1], "agree") == 0)
                return look_at_all(argv[2]);
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Command lines into runs, runs into reports.  See bwrap-run.h. */
#include "bwrap-run.h"

#include <ftw.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define FIRST_FD   20
#define MOST_FDS   16
#define MOST_WORDS 4096

const char *our_bwrap(void) {
        const char *path = getenv("NSRUN_BWRAP");

        return path && *path ? path : "./nsrun-bwrap";
}

const char *judging_bwrap(void) {
        /* Beside a newer one it goes by its whole name. */
        static const char *const names[] = {"bwrap", "bwrap-0.8.0"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                const char *const argv[] = {names[i], "--version", NULL};
                _cleanup_outcome_ struct outcome o = {0};

                if (!has_program(names[i]))
                        continue;
                run(&(struct request){.argv = argv}, &o);
                if (o.status == 0 && streq(o.out, "bubblewrap 0.8.0\n"))
                        return names[i];
        }
        return NULL;
}

bool case_is_for_us(const struct bwrap_case *c) {
        return c->by == BY_ANYBODY || (c->by == BY_ROOT) == (geteuid() == 0);
}

int expected_status(const struct bwrap_case *c) {
        int status = c->user_status && geteuid() != 0 ? c->user_status : c->status;

        return status == 0 ? INSIDE_STATUS : status == STATUS_0 ? 0 : status;
}

/* ------------------------------------------------------------------ the tree */

static const struct {
        const char *path;
        mode_t mode;
        const char *text; /* of a file or a link; "@" is the tree */
} tree[] = {
        {"a", S_IFDIR | 0755, NULL},
        {"a/file", S_IFREG | 0644, "a\n"},
        {"a/sub", S_IFDIR | 0755, NULL},
        {"a/sub/deep", S_IFREG | 0644, "deep\n"},
        {"b", S_IFDIR | 0755, NULL},
        {"b/file", S_IFREG | 0644, "b\n"},
        {"b/own", S_IFREG | 0600, "own\n"},
        {"private", S_IFDIR | 0700, NULL},
        {"private/file", S_IFREG | 0600, "private\n"},
        {"upper", S_IFDIR | 0755, NULL},
        {"work", S_IFDIR | 0755, NULL},
        {"up:,\\per", S_IFDIR | 0755, NULL},
        {"sticky", S_IFDIR | S_ISVTX | 0777, NULL},
        {"file", S_IFREG | 0644, "text\n"},
        {"other", S_IFREG | 0640, "other\n"},
        {"tool", S_IFREG | 0755, "#!/bin/sh\necho tool\n"},
        {"die", S_IFREG | 0644, "kill -$1 $$\n"},
        {"exit", S_IFREG | 0644, "exit $1\n"},
        {"leave", S_IFREG | 0644, "sleep 0 &\nexit 3\n"},
        {"link-a", S_IFLNK, "a"},
        {"link-absolute", S_IFLNK, "@/a"},
        {"link-file", S_IFLNK, "file"},
        {"link-link", S_IFLNK, "link-file"},
        {"dangling", S_IFLNK, "nothing"},
        {"loop", S_IFLNK, "loop"},
        /* To be a root folder: */
        {"root", S_IFDIR | 0755, NULL},
        {"root/usr", S_IFDIR | 0755, NULL},
        {"root/usr/bin", S_IFDIR | 0755, NULL},
        {"root/usr/share", S_IFDIR | 0755, NULL},
        {"root/bin", S_IFLNK, "usr/bin"},
        {"root/share", S_IFLNK, "/usr/share"},
        {"root/proc", S_IFDIR | 0755, NULL},
        {"root/inside", S_IFREG | 0755, ""},
        {"root/etc", S_IFDIR | 0755, NULL},
        {"root/etc/name", S_IFREG | 0644, "name\n"},
        {"root/etc/link", S_IFLNK, "name"},
        {"root/home", S_IFDIR | 0755, NULL},
        {"root/up", S_IFLNK, "../../.."},
        {"root/nowhere", S_IFLNK, "/nothing/there"},
};

/* 1: a folder was closed, as --perms makes them, and what it holds can be seen from now on. */
static int open_closed(const char *path, const struct stat *st, int kind, struct FTW *place) {
        if (place->level == 0 || (kind != FTW_D && kind != FTW_DNR) || (st->st_mode & 0700) == 0700)
                return 0;
        return chmod(path, 0700) < 0 ? -1 : 1;
}

static int take_away(const char *path, nsrun_unused const struct stat *st, int kind, struct FTW *place) {
        /* FTW_DNR: overlayfs' own folder in a work folder, mode 000 and empty. */
        if (place->level > 0 && (kind == FTW_DP || kind == FTW_DNR ? rmdir(path) : unlink(path)) < 0)
                return -1;
        return 0;
}

void make_tree(const struct site *s) {
        int r;

        while ((r = nftw(s->project, open_closed, 32, FTW_PHYS)) > 0)
                ;
        assert_int_equal(r, 0);
        assert_int_equal(nftw(s->project, take_away, 32, FTW_PHYS | FTW_DEPTH), 0);
        for (size_t i = 0; i < ARRAY_SIZE(tree); i++) {
                _cleanup_free_ char *path = path_of(s->project, tree[i].path);

                if (S_ISDIR(tree[i].mode)) {
                        make_folder(s->project, tree[i].path);
                } else {
                        _cleanup_free_ char *text = replaced(tree[i].text, "@", s->project);

                        (S_ISLNK(tree[i].mode) ? make_link : make_file)(s->project, tree[i].path, text);
                }
                if (!S_ISLNK(tree[i].mode))
                        assert_int_equal(chmod(path, tree[i].mode & 07777), 0);
        }
}

/* ------------------------------------------------------------ the descriptors */

struct words {
        const struct site *s;
        const char *program;
        char *words[MOST_WORDS];
        size_t n;
        struct {
                int fd; /* ours, to be dup'ed to FIRST_FD and so on */
                bool is_output, is_userns;
        } fds[MOST_FDS];
        size_t n_fds;
        const char *home;
};

static int fd_to_read(const char *text, size_t size) {
        int fd = memfd_create("text", MFD_CLOEXEC);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, size), size);
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        return fd;
}

static int fd_with_text(const char *spelled) {
        _cleanup_free_ char *text = strdup(spelled);
        size_t n = strlen(text);

        for (char *c = text; *c; c++)
                *c = (char)(*c == '~' ? ' ' : *c);
        for (size_t i = 0; i < n; i++)
                text[i] = (char)(text[i] == ',' ? '\0' : text[i]);
        return fd_to_read(text, n);
}

static int fd_with_filter(const char *name) {
        unsigned number = streq(name, "getsid")    ? SYS_getsid
                          : streq(name, "seccomp") ? SYS_seccomp
                                                   : SYS_getppid;
        const struct sock_filter filter[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EXDEV),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };

        return fd_to_read((const char *)filter, streq(name, "short") ? 7 : sizeof(filter));
}

static int closed_pipe(void) {
        int ends[2];

        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        (void)close(ends[1]);
        return ends[0];
}

/* The descriptor of a word that begins with "%", in the parent. */
static int open_word(const char *word) {
        int fd;

        if (strncmp(word, "%r:", 3) == 0)
                return fd_with_text(word + 3);
        if (strncmp(word, "%bpf:", 5) == 0)
                return fd_with_filter(word + 5);
        if (strncmp(word, "%o:", 3) == 0)
                fd = open(word + 3, O_PATH | O_CLOEXEC);
        else if (strncmp(word, "%f:", 3) == 0)
                fd = open(word + 3, O_RDONLY | O_CLOEXEC);
        else if (streq(word, "%closed"))
                fd = closed_pipe();
        else
                fd = memfd_create("output", MFD_CLOEXEC);
        if (fd < 0)
                fail_msg("%s: %s", word, strerror(errno));
        return fd;
}

/* In the child: a namespace whose only process is gone lives on in its descriptor. */
static int make_userns(void) {
        int ready[2], go[2], fd;
        char path[64], map[64];
        pid_t pid;

        if (pipe2(ready, O_CLOEXEC) < 0 || pipe2(go, O_CLOEXEC) < 0 || (pid = fork()) < 0)
                _exit(118);
        if (pid == 0) {
                if (unshare(CLONE_NEWUSER) < 0 || write(ready[1], "x", 1) != 1)
                        _exit(1);
                _exit(read(go[0], map, 1) == 1 ? 0 : 1);
        }
        (void)close(ready[1]);
        if (read(ready[0], map, 1) != 1)
                _exit(118);
        for (int i = 0; i < 3; i++) {
                static const char *const files[] = {"setgroups", "uid_map", "gid_map"};
                int file;

                (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, files[i]);
                (void)snprintf(map, sizeof(map), "%u %u 1", i == 1 ? geteuid() : getegid(),
                               i == 1 ? geteuid() : getegid());
                file = open(path, O_WRONLY | O_CLOEXEC);
                if (file < 0 || write(file, i == 0 ? "deny" : map, i == 0 ? 4 : strlen(map)) < 0)
                        _exit(118);
                (void)close(file);
        }
        (void)snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || write(go[1], "x", 1) != 1 || waitpid(pid, NULL, 0) != pid)
                _exit(118);
        return fd;
}

/* The child that becomes the program: a small environment, and no descriptors but the case's. */
static void prepare(void *data) {
        const struct words *w = data;

        (void)syscall(SYS_close_range, 3, ~0U, 4 /* CLOSE_RANGE_CLOEXEC */);
        for (size_t i = 0; i < w->n_fds; i++) {
                int fd = w->fds[i].is_userns ? make_userns() : w->fds[i].fd;

                if (dup2(fd, FIRST_FD + (int)i) < 0)
                        _exit(117);
        }
        (void)clearenv();
        (void)setenv("PATH", "/usr/bin:/bin", 1);
        (void)setenv("HOME", w->home, 1);
        (void)setenv("LC_ALL", "C", 1);
        (void)setenv("KEPT", "kept", 1);
}

/* ----------------------------------------------------------------- the words */

static const char *helper(const char *name) {
        static char path[4096];
        const char *folder = getenv("NSRUN_HELPERS");

        (void)snprintf(path, sizeof(path), "%s/%s", folder && *folder ? folder : "tests/sandbox", name);
        return path;
}

static void add_word(struct words *w, const char *word) {
        _cleanup_free_ char *site = replaced(word, "@", w->s->project);
        _cleanup_free_ char *inside = replaced(site, "INSIDE", helper("inside"));
        char *text = replaced(inside, "SELF", w->program);

        assert_true(w->n + 1 < MOST_WORDS);
        if (text[0] == '%') {
                assert_true(w->n_fds < MOST_FDS);
                w->fds[w->n_fds].is_output = streq(text, "%w");
                w->fds[w->n_fds].is_userns = streq(text, "%userns");
                w->fds[w->n_fds].fd = w->fds[w->n_fds].is_userns ? -1 : open_word(text);
                free(text);
                text = text_of("%zu", FIRST_FD + w->n_fds++);
        } else if (streq(text, "''")) {
                text[0] = '\0';
        }
        w->words[w->n++] = text;
}

static void add_words(struct words *w, const char *words) {
        _cleanup_free_ char *copy = strdup(words);
        char *rest = copy;

        for (char *word; (word = strsep(&rest, " "));) {
                if (streq(word, "^"))
                        add_words(w, "--ro-bind INSIDE /inside --proc /proc");
                else if (*word)
                        add_word(w, word);
        }
}

static bool has_word(const char *words, const char *word) {
        _cleanup_free_ char *padded = text_of(" %s ", words), *wanted = text_of(" %s ", word);

        return strstr(padded, wanted);
}

static void spell_out(struct words *w, const struct bwrap_case *c) {
        if (c->args[0] == '!') {
                add_words(w, c->args + 1);
                return;
        }
        if (!has_word(c->args, "^"))
                add_words(w, "^");
        add_words(w, c->args);
        if (!has_word(c->args, "--")) {
                add_words(w, "-- /inside");
                add_words(w, c->look ? c->look : "");
        }
}

static void words_clear(struct words *w) {
        for (size_t i = 0; i < w->n; i++)
                free(w->words[i]);
        for (size_t i = 0; i < w->n_fds; i++)
                if (w->fds[i].fd >= 0)
                        (void)close(w->fds[i].fd);
}

/* ---------------------------------------------------------------- the report */

/* "namespace pid:[4026531836]" in words. */
static bool is_hosts(const char *namespace) {
        char path[64], text[64];
        ssize_t n;

        (void)snprintf(path, sizeof(path), "/proc/self/ns/%.*s", (int)strcspn(namespace, ":"), namespace);
        n = readlink(path, text, sizeof(text) - 1);
        text[n > 0 ? n : 0] = '\0';
        return streq(namespace, text);
}

/* What inside printed, without the numbers that are another each time. */
static void report_out(FILE *f, const char *out) {
        _cleanup_free_ char *copy = strdup(out), *pid = NULL;
        const char *seen = strstr(out, "namespace pid:");
        bool has_own_pids = false;
        char *rest = copy;

        if (seen) {
                pid = strndup(seen + 10, strcspn(seen + 10, "\n"));
                has_own_pids = !is_hosts(pid);
        }
        for (char *line; (line = strsep(&rest, "\n"));) {
                if (strncmp(line, "namespace ", 10) == 0 && line[10])
                        (void)fprintf(f, "namespace %.*s: %s\n", (int)strcspn(line + 10, ":"), line + 10,
                                      is_hosts(line + 10) ? "the host's" : "its own");
                else if (seen && !has_own_pids &&
                         (strncmp(line, "pid ", 4) == 0 || strncmp(line, "process ", 8) == 0))
                        continue;
                else if (*line || rest)
                        (void)fprintf(f, "%s\n", line);
        }
}

static int compare_texts(const void *a, const void *b) {
        return strcmp(*(char *const *)a, *(char *const *)b);
}

/* One JSON object, whatever its order and its white space; numbers but for the exit code are N. */
static void report_object(FILE *f, int fd, char *object) {
        char *members[64], *rest = object;
        size_t n = 0;

        for (char *member; n < ARRAY_SIZE(members) && (member = strsep(&rest, ","));)
                members[n++] = member;
        qsort(members, n, sizeof(members[0]), compare_texts);
        for (size_t i = 0; i < n; i++) {
                char *value = strchr(members[i], ':');

                if (value && !strstr(members[i], "exit-code") && value[1] >= '1' && value[1] <= '9')
                        members[i][value + 1 - members[i]] = 'N', value[2] = '\0';
                (void)fprintf(f, "written to %d: %s\n", fd, members[i]);
        }
}

static void report_written(FILE *f, int number, int fd) {
        char text[8192], packed[8192];
        ssize_t size = pread(fd, text, sizeof(text) - 1, 0);
        size_t n = 0;

        assert_true(size >= 0);
        text[size] = '\0';
        if (size == 0)
                (void)fprintf(f, "written to %d: nothing\n", number);
        for (const char *c = text; *c; c++) {
                if (*c == '{')
                        n = 0;
                else if (*c == '}') {
                        packed[n] = '\0';
                        (void)fprintf(f, "written to %d: an object\n", number);
                        report_object(f, number, packed);
                        n = 0;
                } else if (!strchr(" \t\n", *c))
                        packed[n++] = *c;
        }
        if (n > 0)
                (void)fprintf(f, "written to %d: besides: %.*s\n", number, (int)n, packed);
}

/* nftw(3) hands nothing through. */
static struct {
        char *lines[512];
        size_t n, root;
} walk;

static int see(const char *path, const struct stat *st, nsrun_unused int kind,
               nsrun_unused struct FTW *place) {
        _cleanup_free_ char *text = S_ISREG(st->st_mode) ? file_text(path) : NULL;
        char link[4096] = "";

        if (S_ISLNK(st->st_mode) && readlink(path, link, sizeof(link) - 1) < 0)
                return -1;
        assert_true(walk.n < ARRAY_SIZE(walk.lines));
        walk.lines[walk.n++] =
                text_of("tree %s mode %o owner %u:%u links %ju %s%s", path + walk.root, st->st_mode,
                        st->st_uid, st->st_gid, (uintmax_t)st->st_nlink, text ? text : link,
                        text && *text && text[strlen(text) - 1] == '\n' ? "" : "\n");
        return 0;
}

static void report_tree(FILE *f, const char *path) {
        walk.n = 0;
        walk.root = strlen(path);
        assert_int_equal(nftw(path, see, 32, FTW_PHYS), 0);
        qsort(walk.lines, walk.n, sizeof(walk.lines[0]), compare_texts);
        for (size_t i = 0; i < walk.n; i++) {
                (void)fputs(walk.lines[i], f);
                free(walk.lines[i]);
        }
}

static void report_errors(FILE *f, const char *program, const char *err) {
        _cleanup_free_ char *usage = text_of("usage: %s ", program);
        _cleanup_free_ char *text = replaced(err, usage, "usage: PROGRAM ");
        char *rest = text;

        for (char *line; (line = strsep(&rest, "\n"));)
                if (*line)
                        (void)fprintf(f, "error %s\n", line);
}

static char *report(const struct site *s, const char *program, const char *denied,
                    const struct bwrap_case *c) {
        struct words w = {.s = s, .program = program, .home = c->home ? c->home : "/home"};
        _cleanup_free_ char *cwd = replaced(c->cwd ? c->cwd : "/", "@", s->project);
        _cleanup_outcome_ struct outcome o = {0};
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        assert_non_null(f);
        if (!c->keeps_tree)
                make_tree(s);
        if (denied) {
                w.words[w.n++] = strdup(helper("deny"));
                w.words[w.n++] = text_of("%d", ENOSYS);
                w.words[w.n++] = strdup(denied);
        }
        w.words[w.n++] = strdup(program);
        spell_out(&w, c);
        run(
                &(struct request){
                        .argv = (const char *const *)w.words, .cwd = cwd, .in_child = prepare, .data = &w},
                &o);
        (void)fprintf(f, "status %d\n", o.status);
        report_out(f, o.out);
        report_errors(f, program, o.err);
        for (size_t i = 0; i < w.n_fds; i++)
                if (w.fds[i].is_output)
                        report_written(f, FIRST_FD + (int)i, w.fds[i].fd);
        if (!c->keeps_tree)
                report_tree(f, s->project);
        words_clear(&w);
        assert_int_equal(fclose(f), 0);
        return text;
}

char *bwrap_report(const struct site *s, const char *program, const struct bwrap_case *c) {
        return report(s, program, NULL, c);
}

char *bwrap_report_denied(const struct site *s, const char *program, const char *calls,
                          const struct bwrap_case *c) {
        return report(s, program, calls, c);
}

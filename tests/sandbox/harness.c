/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sandbox tests' tools.  Nothing of nsrun's own code helps here: what judges it
 * must not share its mistakes. */
#include "harness.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

int deadline_seconds = 120;

static bool is_set(const char *variable) {
        const char *value = getenv(variable);

        return value && *value;
}

bool takes_samples(void) {
        return IS_SANITIZED || geteuid() == 0;
}

unsigned fault_step(int error) {
        /* Out of memory: sanitized, that shows what the error paths forget to free. */
        return !takes_samples() ? 1 : error == ENOMEM ? 5 : 11;
}

/* ------------------------------------------------------------- small things */

char *text_of(const char *format, ...) {
        char *text = NULL;
        va_list ap;

        va_start(ap, format);
        assert_true(vasprintf(&text, format, ap) >= 0);
        va_end(ap);
        return text;
}

char *path_of(const char *folder, const char *name) {
        return text_of("%s/%s", folder, name);
}

char *replaced(const char *text, const char *mark, const char *with) {
        char *result = NULL;
        size_t size = 0;
        FILE *f = open_memstream(&result, &size);

        assert_non_null(f);
        for (const char *next; (next = strstr(text, mark)); text = next + strlen(mark))
                (void)fprintf(f, "%.*s%s", (int)(next - text), text, with);
        (void)fputs(text, f);
        assert_int_equal(fclose(f), 0);
        return result;
}

/* Reads to the end; without an end, -1. */
static ssize_t read_all(int fd, char **ret) {
        size_t n = 0, capacity = 4096;
        char *text = malloc(capacity);

        assert_non_null(text);
        for (;;) {
                ssize_t got;

                if (capacity - n < 2) {
                        capacity *= 2;
                        text = realloc(text, capacity);
                        assert_non_null(text);
                }
                got = read(fd, text + n, capacity - n - 1);
                if (got < 0) {
                        free(text);
                        return -1;
                }
                if (got == 0)
                        break;
                n += (size_t)got;
        }
        text[n] = '\0';
        *ret = text;
        return (ssize_t)n;
}

char *file_text(const char *path) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
        char *text = NULL;

        if (fd < 0)
                return NULL;
        return read_all(fd, &text) < 0 ? NULL : text;
}

bool has_program(const char *name) {
        _cleanup_free_ char *path = strdup(getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin");
        char *rest = path;

        assert_non_null(path);
        for (char *folder; (folder = strsep(&rest, ":"));) {
                _cleanup_free_ char *file = path_of(folder, name);

                if (access(file, X_OK) == 0)
                        return true;
        }
        return false;
}

/* ------------------------------------------------------------------ running */

static int64_t now_ms(void) {
        struct timespec t;

        assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &t), 0);
        return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

const char *const deadlines[3] = {"1", "6", "36"};

bool keep_waiting(int64_t *since) {
        const struct timespec moment = {.tv_nsec = 2000000};

        if (*since == 0) {
                *since = now_ms();
                return true;
        }
        (void)nanosleep(&moment, NULL);
        return now_ms() - *since < (int64_t)deadline_seconds * 1000;
}

static void redirect(int from, int to) {
        if (from < 0 || dup2(from, to) < 0)
                _exit(120);
}

void spawn(const struct request *request, struct running *ret) {
        int out[2], err[2];
        pid_t pid;

        /* What outlives its parent becomes a child of ours, and leftovers() finds it. */
        assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
        assert_int_equal(pipe2(out, O_CLOEXEC), 0);
        assert_int_equal(pipe2(err, O_CLOEXEC), 0);
        (void)fflush(NULL);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                redirect(request->standard_input > 0 ? request->standard_input
                                                     : open("/dev/null", O_RDONLY | O_CLOEXEC),
                         0);
                redirect(out[1], 1);
                redirect(err[1], 2);
                if (request->cwd && chdir(request->cwd) < 0)
                        _exit(121);
                if (request->in_child)
                        request->in_child(request->data);
                (void)execvp(request->argv[0], (char *const *)(uintptr_t)request->argv);
                _exit(122);
        }
        (void)close(out[1]);
        (void)close(err[1]);
        *ret = (struct running){.pid = pid, .out = out[0], .err = err[0]};
        ret->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        assert_true(ret->pidfd >= 0);
}

char *read_line(int fd) {
        int64_t end = now_ms() + (int64_t)deadline_seconds * 1000;
        size_t n = 0, capacity = 256;
        char *line = malloc(capacity);

        assert_non_null(line);
        for (;;) {
                struct pollfd p = {.fd = fd, .events = POLLIN};
                int64_t left = end - now_ms();

                if (left <= 0 || poll(&p, 1, (int)left) <= 0)
                        fail_msg("no line came; so far: %.*s", (int)n, line);
                if (n + 2 > capacity) {
                        capacity *= 2;
                        line = realloc(line, capacity);
                        assert_non_null(line);
                }
                if (read(fd, line + n, 1) != 1)
                        fail_msg("the output ended before a line did; so far: %.*s", (int)n, line);
                if (line[n++] == '\n')
                        break;
        }
        line[n] = '\0';
        return line;
}

struct growing {
        char *text;
        size_t n, capacity;
        int fd;
};

/* False at the end. */
static bool grow(struct growing *g) {
        ssize_t got;

        if (g->capacity - g->n < 4096) {
                g->capacity = 2 * g->capacity + 8192;
                g->text = realloc(g->text, g->capacity);
                assert_non_null(g->text);
        }
        got = read(g->fd, g->text + g->n, g->capacity - g->n - 1);
        if (got > 0)
                g->n += (size_t)got;
        g->text[g->n] = '\0';
        if (got > 0 || (got < 0 && errno == EINTR))
                return true;
        (void)close(g->fd);
        g->fd = -1;
        return false;
}

void await_line(int fd, const char *expected) {
        _cleanup_free_ char *line = read_line(fd);

        assert_string_equal(line, expected);
}

void finish(struct running *running, struct outcome *ret) {
        struct growing out = {.fd = running->out}, err = {.fd = running->err};
        int64_t end = now_ms() + (int64_t)deadline_seconds * 1000;
        bool has_ended = false;
        siginfo_t info = {.si_pid = 0};

        while (out.fd >= 0 || err.fd >= 0 || !has_ended) {
                struct pollfd fds[] = {{.fd = out.fd, .events = POLLIN},
                                       {.fd = err.fd, .events = POLLIN},
                                       {.fd = has_ended ? -1 : running->pidfd, .events = POLLIN}};
                int64_t left = end - now_ms();

                if (left <= 0 || poll(fds, ARRAY_SIZE(fds), (int)left) == 0) {
                        (void)syscall(SYS_pidfd_send_signal, running->pidfd, SIGKILL, NULL, 0);
                        fail_msg("%s; out: %s; err: %s",
                                 has_ended ? "it ended, but something still holds its output"
                                           : "it does not end",
                                 out.text ? out.text : "", err.text ? err.text : "");
                }
                if (fds[0].revents)
                        (void)grow(&out);
                if (fds[1].revents)
                        (void)grow(&err);
                if (fds[2].revents)
                        has_ended = true;
        }
        assert_int_equal(waitid(P_PID, (id_t)running->pid, &info, WEXITED), 0);
        (void)close(running->pidfd);
        *ret = (struct outcome){
                .status = info.si_code == CLD_EXITED ? info.si_status : 1000 + info.si_status,
                .out = out.text,
                .err = err.text,
        };
}

void run(const struct request *request, struct outcome *ret) {
        struct running running;

        outcome_clear(ret);
        spawn(request, &running);
        finish(&running, ret);
}

void outcome_clear(struct outcome *o) {
        free(o->out);
        free(o->err);
        *o = (struct outcome){0};
}

const char *program(void) {
        const char *path = getenv("NSRUN");

        return path && *path ? path : "./nsrun";
}

bool in_a_session(void) {
        return is_set("NSRUN_IN_SESSIONS");
}

bool by_the_library(void) {
        return is_set("NSRUN_IN_LIBRARY");
}

const char **join_words(const char *const *const *lists) {
        const char **words = NULL;
        size_t n = 0;

        for (; *lists; lists++)
                for (const char *const *word = *lists; *word; word++) {
                        words = realloc(words, (n + 2) * sizeof(*words));
                        assert_non_null(words);
                        words[n++] = *word;
                        words[n] = NULL;
                }
        assert_non_null(words);
        return words;
}

const char **nsrun_argv(const struct site *s, const char *const *arguments) {
        return words_of(OPTIONS(program(), "run", "--project", s->project), arguments);
}

void run_words(const char *cwd, struct outcome *ret, const char *const *words) {
        _cleanup_free_ const char **argv = words_of(OPTIONS(program()), words);

        outcome_clear(ret);
        run(&(struct request){.argv = argv, .cwd = cwd}, ret);
}

void run_nsrun(const struct site *s, struct outcome *ret, const char *const *arguments) {
        _cleanup_free_ const char **words = words_of(OPTIONS("run", "--project", s->project), arguments);

        run_words(s->root, ret, words);
}

void run_inside(const struct site *s, struct outcome *ret, const char *script) {
        RUN(s, ret, "--", "sh", "-c", script);
}

void run_outside(const struct site *s, struct outcome *ret, const char *script) {
        const char *const argv[] = {"sh", "-c", script, NULL};

        outcome_clear(ret);
        run(&(struct request){.argv = argv, .cwd = s->project}, ret);
}

/* ------------------------------------------------------------- expectations */

void expect_status(const struct outcome *o, int status) {
        if (o->status != status)
                fail_msg("status %d, not %d; out: %s; err: %s", o->status, status, o->out, o->err);
}

void expect_out(const struct outcome *o, const char *text) {
        if (!streq(o->out, text))
                fail_msg("printed \"%s\", not \"%s\"; err: %s", o->out, text, o->err);
}

void expect_in(const char *text, const char *part) {
        if (!strstr(text, part))
                fail_msg("\"%s\" is not in \"%s\"", part, text);
}

void expect_not_in(const char *text, const char *part) {
        if (strstr(text, part))
                fail_msg("\"%s\" is in \"%s\"", part, text);
}

void expect_refusal(const struct outcome *o, int status, const char *line) {
        _cleanup_free_ char *expected = text_of("%s\n", line);

        if (!streq(o->err, expected))
                fail_msg("said \"%s\", not \"%s\"", o->err, expected);
        expect_status(o, status);
        expect_out(o, "");
}

void expect_host_refusal(const struct outcome *o, int status, const char *line) {
        _cleanup_free_ char *lines = text_of("%s%s", line, by_the_library() ? "" : SEE_DOCTOR);

        expect_refusal(o, status, lines);
}

/* ---------------------------------------------------------------- leftovers */

/* Mounts of other people's making, that come and go on any machine. */
static bool is_others(const char *mount_point) {
        static const char *const places[] = {"/run/", "/var/lib/", "/snap/", "/media/", "/mnt/"};

        for (size_t i = 0; i < ARRAY_SIZE(places); i++)
                if (strncmp(mount_point, places[i], strlen(places[i])) == 0)
                        return true;
        return false;
}

/* Lines of mountinfo, without the others' and without what counts up by itself. */
static char *mounts_now(void) {
        _cleanup_fclose_ FILE *in = fopen("/proc/self/mountinfo", "re");
        _cleanup_free_ char *line = NULL;
        size_t size = 0, text_size = 0;
        char *text = NULL;
        FILE *out = open_memstream(&text, &text_size);

        assert_non_null(in);
        assert_non_null(out);
        while (getline(&line, &size, in) > 0) {
                char *at = line;

                /* ID PARENT MAJOR:MINOR ROOT MOUNT-POINT … */
                for (int i = 0; at && i < 4; i++)
                        at = strchr(at + 1, ' ');
                assert_non_null(at);
                if (!is_others(at + 1))
                        assert_true(fputs(line, out) >= 0);
        }
        assert_int_equal(fclose(out), 0);
        return text;
}

static void wake_up(nsrun_unused int number) {
}

/* What the children of this process are, for a person to read. */
static char *children_in_words(void) {
        char *text = text_of("%s", "");
        FILE *list = fopen("/proc/thread-self/children", "re");
        int pid;

        assert_non_null(list);
        while (fscanf(list, "%d", &pid) == 1) {
                _cleanup_free_ char *so_far = text, *path = text_of("/proc/%d/stat", pid);
                _cleanup_free_ char *stat = file_text(path);

                text = text_of("%s\n%.60s", so_far, stat);
        }
        (void)fclose(list);
        return text;
}

void collect_orphans(void) {
        struct sigaction wakes = {.sa_handler = wake_up}, before;
        siginfo_t info;

        assert_int_equal(sigaction(SIGALRM, &wakes, &before), 0);
        (void)alarm((unsigned)deadline_seconds);
        while (waitid(P_ALL, 0, &info, WEXITED) == 0)
                ;
        if (errno == EINTR) {
                _cleanup_free_ char *left = children_in_words();

                fail_msg("what was left behind doesn't end:%s", left);
        }
        assert_int_equal(errno, ECHILD);
        (void)alarm(0);
        assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
}

/* The folder of records may stay, and nothing in it but why sessions have ended. */
static char *find_records(const struct site *s) {
        _cleanup_free_ char *records = path_of(s->runtime, "nsrun/sessions"), *seen = NULL;

        if (access(records, F_OK) < 0)
                return NULL;
        seen = snapshot(records);
        for (const char *line = strchr(seen, '\n') + 1; *line; line = strchr(line, '\n') + 1)
                if (!startswith(line, "/.ended-"))
                        return text_of("a session's record: %s", seen);
        return NULL;
}

/* A line of snapshot(): a spare run directory, or its lock. */
static bool is_spare(const char *line) {
        const char *end = startswith(line, "/.workspace-spare-");

        return end && (startswith(end + 1, "/ ") || startswith(end + 1, "/lock/ "));
}

char *leftovers(const struct site *s) {
        _cleanup_free_ char *mounts = mounts_now(), *rundirs = path_of(s->cache, "nsrun");
        siginfo_t info = {.si_pid = 0};

        if (waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOHANG) == 0)
                return text_of("a process, %s %d", info.si_pid > 0 ? "dead:" : "alive:", (int)info.si_pid);
        assert_int_equal(errno, ECHILD);
        if (!streq(mounts, s->mounts)) {
                print_missing("before:", s->mounts, mounts);
                print_missing("after: ", mounts, s->mounts);
                return text_of("a mount");
        }
        /* The folder itself may stay, and in it the compiled policies, where sessions had their records, and
         * spare run directories, empty ones. */
        if (access(rundirs, F_OK) == 0) {
                _cleanup_free_ char *seen = snapshot(rundirs);

                for (const char *line = strchr(seen, '\n') + 1; *line; line = strchr(line, '\n') + 1)
                        if (!startswith(line, "/seccomp/") && !startswith(line, "/sessions/ ") &&
                            !is_spare(line))
                                return text_of("in the cache folder: %s", seen);
        }
        return find_records(s);
}

/* -------------------------------------------------------------------- sites */

static char *make_root(void) {
        const char *parent = getenv("NSRUN_TEST_DIR");
        _cleanup_free_ char *pattern = NULL;
        char *root;

        /* Not /tmp, which every sandbox has one of its own over. */
        pattern = text_of("%s/nsrun-test-XXXXXX", parent && *parent ? parent : "/var/tmp");
        assert_non_null(mkdtemp(pattern));
        root = realpath(pattern, NULL);
        assert_non_null(root);
        assert_int_equal(chmod(root, 0755), 0);
        return root;
}

/* Takes variables of whoever runs the tests out of the environment of what looks like a secret, of which
 * nsrun would tell. */
static void drop_secrets(void) {
        static const char *const words[] = {"TOKEN", "SECRET", "PASS", "KEY",   "CRED",  "AUTH",
                                            "AWS_",  "AZURE_", "DSN",  "VAULT", "COOKIE"};

        for (size_t i = 0; environ[i];) {
                _cleanup_free_ char *name = strndup(environ[i], strcspn(environ[i], "="));
                bool is_secret = strstr(environ[i], "://") && strchr(environ[i], '@');

                assert_non_null(name);
                for (size_t k = 0; k < ARRAY_SIZE(words); k++)
                        is_secret |= !startswith(name, "NSRUN_") && strcasestr(name, words[k]);
                /* What follows comes to its place. */
                if (!is_secret || unsetenv(name) < 0)
                        i++;
        }
}

static const char *const moving[] = {
        "CARGO_HOME",     "RUSTUP_HOME",       "GOPATH",
        "GOMODCACHE",     "GOCACHE",           "GOROOT",
        "CCACHE_DIR",     "SCCACHE_DIR",       "npm_config_cache",
        "PNPM_HOME",      "PIP_CACHE_DIR",     "UV_CACHE_DIR",
        "VIRTUAL_ENV",    "CONDA_PREFIX",      "GRADLE_USER_HOME",
        "JAVA_HOME",      "NVM_DIR",           "XDG_DATA_HOME",
        "PYENV_ROOT",     "GEM_HOME",          "HF_HOME",
        "XDG_STATE_HOME", "YARN_CACHE_FOLDER",
};

/* The process whose site it is.  A child that fails before its exec comes back into cmocka, by the handler
 * of a signal too; it may have the host's folders mounted beneath the site, which a teardown would remove.
 */
static pid_t site_owner;

int site_setup(void **state) {
        struct site *s = calloc(1, sizeof(*s));

        if (!s)
                return -1;
        site_owner = getpid();
        (void)umask(022);
        drop_secrets();
        s->root = make_root();
        make_folder(s->root, "project");
        make_folder(s->root, "outside");
        make_folder(s->root, "home");
        make_folder(s->root, "cache");
        make_folder(s->root, "runtime");
        s->project = path_of(s->root, "project");
        s->outside = path_of(s->root, "outside");
        s->home = path_of(s->root, "home");
        s->cache = path_of(s->root, "cache");
        s->runtime = path_of(s->root, "runtime");
        /* Beside the others: what nsrun remembers there is no change to them. */
        s->state = text_of("%s.state", s->root);
        assert_int_equal(mkdir(s->state, 0755), 0);
        assert_int_equal(setenv("HOME", s->home, 1), 0);
        assert_int_equal(setenv("XDG_CACHE_HOME", s->cache, 1), 0);
        /* What moves a toolchain of whoever runs the tests. */
        for (size_t i = 0; i < ARRAY_SIZE(moving); i++)
                assert_int_equal(unsetenv(moving[i]), 0);
        /* No configuration and no instance of the tester's. */
        assert_int_equal(unsetenv("XDG_CONFIG_HOME"), 0);
        assert_int_equal(unsetenv("NSRUN_HOME"), 0);
        /* The make that runs the tests isn't a command's own: that of 4.4 has a FIFO. */
        assert_int_equal(unsetenv("MAKEFLAGS"), 0);
        assert_int_equal(unsetenv("MFLAGS"), 0);
        /* A git of the host's leaves nothing behind: since 2.47 the maintenance after a commit goes on in
         * the background.  (nsrun reads what `git -c` sets from nowhere.) */
        assert_int_equal(setenv("GIT_CONFIG_PARAMETERS", "'gc.autodetach=false'", 1), 0);
        assert_int_equal(setenv("XDG_RUNTIME_DIR", s->runtime, 1), 0);
        assert_int_equal(setenv("XDG_STATE_HOME", s->state, 1), 0);
        s->mounts = mounts_now();
        *state = s;
        return 0;
}

/* Ends what a failed test has left running, of which the next test would say the same. */
static void end_children(void) {
        const struct timespec moment = {.tv_nsec = 10000000};

        for (int i = 0; i < 500 && waitid(P_ALL, 0, &(siginfo_t){0}, WEXITED | WNOHANG | WNOWAIT) == 0;
             i++) {
                FILE *list = fopen("/proc/thread-self/children", "re");
                int pid;

                while (list && fscanf(list, "%d", &pid) == 1)
                        (void)kill(pid, SIGKILL);
                if (list)
                        (void)fclose(list);
                (void)nanosleep(&moment, NULL);
                while (waitpid(-1, NULL, WNOHANG) > 0)
                        ;
        }
}

int site_teardown(void **state) {
        struct site *s = *state;
        _cleanup_free_ char *left = NULL;
        const char *const argv[] = {
                "sh", "-c",    "chmod -R u+rwx -- \"$1\" 2>/dev/null; rm -rf -- \"$1\" \"$2\"",
                "sh", s->root, s->state,
                NULL};
        _cleanup_outcome_ struct outcome o = {0};

        if (getpid() != site_owner)
                _exit(123);
        left = leftovers(s);
        if (left)
                end_children();
        run(&(struct request){.argv = argv, .cwd = "/"}, &o);
        if (o.status != 0)
                print_message("%s", o.err);
        if (left)
                print_message("left behind: %s\n", left);
        free(s->root);
        free(s->project);
        free(s->outside);
        free(s->home);
        free(s->cache);
        free(s->runtime);
        free(s->state);
        free(s->mounts);
        free(s);
        return left || o.status != 0 ? -1 : 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A command that joins a session, as the session's other commands see it: from its first moment on it has
 * the session's mounts and network, and nothing of its caller's arguments or environment.  One command looks
 * at all processes as fast as it can while others join. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>

#include "library.h"
#include "session.h"

/* Of the caller's environment and of its command line. */
#define SECRET_VARIABLE "secret-of-the-environment"
#define SECRET_ARGUMENT "secret-of-the-command-line"

#define N_JOINS (takes_samples() ? 60 : 200)

/* ------------------------------------------------------------------ inside */

static char text[1 << 20], own_mounts[1 << 20], own_links[1 << 14];

/* What there is of a file, its NULs made spaces; NULL where it can't be read. */
static char *read_proc(const char *pid, const char *name, char *to, size_t size) {
        char path[300];
        size_t n = 0;
        ssize_t got;
        int fd;

        (void)snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return NULL;
        while ((got = read(fd, to + n, size - 1 - n)) > 0)
                n += (size_t)got;
        (void)close(fd);
        for (size_t i = 0; i < n; i++)
                if (!to[i])
                        to[i] = ' ';
        to[n] = '\0';
        return n > 0 ? to : NULL;
}

/* The names of the network's interfaces alone: what follows them counts bytes. */
static void names_only(char *devices) {
        char *to = devices, *next = devices;

        for (char *line; (line = strsep(&next, "\n"));) {
                size_t n = strcspn(line, ":");

                memmove(to, line, n);
                to += n;
                *to++ = line[n] ? '\n' : ' ';
        }
        *to = '\0';
}

static void look_at(const char *pid) {
        const char *found = read_proc(pid, "mountinfo", text, sizeof(text));

        if (found && strcmp(found, own_mounts) != 0)
                (void)printf("other mounts\n");
        if (read_proc(pid, "net/dev", text, sizeof(text))) {
                names_only(text);
                if (strcmp(text, own_links) != 0)
                        (void)printf("another network\n");
        }
        found = read_proc(pid, "cmdline", text, sizeof(text));
        if (found && strstr(found, SECRET_ARGUMENT))
                (void)printf("the caller's command line: %s\n", found);
        found = read_proc(pid, "environ", text, sizeof(text));
        if (found && strstr(found, SECRET_VARIABLE))
                (void)printf("the caller's environment\n");
}

/* Until the file "enough" is there.  Says what was seen, and at the end how many processes that were new. */
static void watch(void) {
        static char seen[1 << 22];
        size_t n_seen = 0;

        (void)read_proc("self", "mountinfo", own_mounts, sizeof(own_mounts));
        (void)read_proc("self", "net/dev", own_links, sizeof(own_links));
        names_only(own_links);
        (void)printf("ready\n");
        (void)fflush(stdout);
        while (access("enough", F_OK) < 0) {
                DIR *proc = opendir("/proc");

                for (const struct dirent *entry; proc && (entry = readdir(proc));) {
                        long pid = strtol(entry->d_name, NULL, 10);

                        if (pid <= 0)
                                continue;
                        look_at(entry->d_name);
                        if (pid < (long)sizeof(seen) && !seen[pid]) {
                                seen[pid] = 1;
                                n_seen++;
                        }
                }
                (void)closedir(proc);
        }
        (void)printf("%zu\n", n_seen);
}

/* ----------------------------------------------------------------- outside */

static char *start_watched(const struct site *s) {
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *bind = text_of("%s:/watch:ro", self);

        return START(s, "--net=none", "--bind", bind);
}

static void start_watching(const struct site *s, const char *id, struct running *ret) {

        SPAWN_JOINED(s, id, ret, "--", "/watch", "watch", "");
        await_line(ret->out, "ready\n");
}

static void expect_nothing_seen(const struct site *s, struct running *watcher) {
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->project, "enough", "");
        finish(watcher, &o);
        expect_status(&o, 0);
        /* At least a good part of the commands or their reapers, or nothing was tried. */
        if (!isdigit((unsigned char)o.out[0]) || strtol(o.out, NULL, 10) < N_JOINS / 10)
                fail_msg("seen: %.300s", o.out);
}

static void expect_unseen(const struct site *s, void (*join_all)(const struct site *s, const char *id)) {
        _cleanup_free_ char *id = start_watched(s);
        struct running watcher;

        start_watching(s, id, &watcher);
        assert_int_equal(setenv("NSRUN_TEST_TOKEN", SECRET_VARIABLE, 1), 0);
        join_all(s, id);
        assert_int_equal(unsetenv("NSRUN_TEST_TOKEN"), 0);
        expect_nothing_seen(s, &watcher);
        end_session(s, id, "stop");
}

static void join_by_command_line(const struct site *s, const char *id) {
        for (int i = 0; i < N_JOINS; i++) {
                _cleanup_outcome_ struct outcome o = {0};

                JOIN(s, id, &o, "--env", "ITS_OWN=" SECRET_ARGUMENT, "--", "true");
                expect_status(&o, 0);
        }
}

static void join_by_library(const struct site *s, const char *id) {
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL);
        const char *const argv[] = {self, "host", id, SECRET_ARGUMENT, NULL};
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        assert_string_equal(o.err, "");
        expect_status(&o, 0);
}

/* A host program, with a secret among its arguments. */
static int join_as_host(const char *id) {
        for (int i = 0; i < N_JOINS; i++) {
                struct nsrun_policy *policy = NULL;
                struct nsrun_sandbox *sandbox = NULL;
                struct nsrun_plan *plan = NULL;
                struct nsrun_error err = {0};
                struct nsrun_exit end;
                int r;

                r = nsrun_policy_new(&policy);
                if (r >= 0)
                        r = nsrun_policy_set(policy, "session", id, &err);
                if (r >= 0)
                        r = nsrun_policy_set_command(policy, OPTIONS("true"), &err);
                if (r >= 0)
                        r = nsrun_plan_new(policy, &plan, &err);
                if (r >= 0)
                        r = nsrun_start(plan, NULL, &sandbox, &err);
                if (r >= 0)
                        r = nsrun_sandbox_wait(sandbox, &end, &err);
                (void)nsrun_sandbox_free(sandbox);
                (void)nsrun_plan_free(plan);
                (void)nsrun_policy_free(policy);
                if (r < 0) {
                        (void)fprintf(stderr, "%s: %s\n", err.what, strerror(-r));
                        return 1;
                }
        }
        return 0;
}

TEST_IN_ALL_MODES(a_command_that_joins_is_seen_as_one_of_the_session) {
        expect_unseen(*state, join_by_command_line);
}

TEST_IN_ALL_MODES(a_command_that_a_host_sends_is_seen_as_one_of_the_session) {
        expect_unseen(*state, join_by_library);
}

int main(int argc, char **argv) {
        if (argc == 3 && streq(argv[1], "watch")) {
                watch();
                /* LeakSanitizer looks through /proc at a program's end, and not in a pid namespace below. */
                (void)fflush(stdout);
                _exit(0);
        }
        if (argc == 4 && streq(argv[1], "host"))
                return join_as_host(argv[2]);
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Commands of one session are one user's processes on one machine: what they may do to each other, and that
 * nothing of nsrun's can be reached, nor held up. */
#include <dirent.h>

#include "attack.h"

/* ------------------------------------------------------------------ inside */

/* All signals, to a process that none of them ends or stops. */
static void pester(pid_t pid) {
        for (int round = 0; round < 3; round++)
                for (int signal = 1; signal < 65; signal++)
                        if (kill(pid, signal) < 0 && errno != EINVAL)
                                tell("kill", -1);
        (void)puts("done");
}

/* A file of a process in /proc, its NULs made spaces; empty where it can't be read. */
static void read_of(long pid, const char *name, char *to, size_t size) {
        _cleanup_free_ char *path = text_of("/proc/%ld/%s", pid, name);
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, to, size - 1);

        for (ssize_t i = 0; i < n; i++)
                if (!to[i])
                        to[i] = ' ';
        to[n > 0 ? n : 0] = '\0';
}

/* Stops whoever is on its way into the session: it has nsrun's name until it is the command. */
static void waylay(void) {
        size_t n = 0;

        (void)puts("ready");
        (void)fflush(NULL);
        while (access("enough", F_OK) < 0) {
                DIR *proc = opendir("/proc");

                for (const struct dirent *entry; proc && (entry = readdir(proc));) {
                        long pid = strtol(entry->d_name, NULL, 10);
                        char name[64];

                        if (pid <= 1 || pid == getpid())
                                continue;
                        read_of(pid, "comm", name, sizeof(name));
                        if (startswith(name, "nsrun") && kill((pid_t)pid, SIGSTOP) == 0)
                                n++;
                }
                (void)closedir(proc);
        }
        (void)printf("%zu\n", n);
}

/* Whether any process has nsrun's name. */
static void look_for_nsrun(void) {
        DIR *proc = opendir("/proc");

        for (const struct dirent *entry; proc && (entry = readdir(proc));) {
                long pid = strtol(entry->d_name, NULL, 10);
                char name[64];

                if (pid <= 0)
                        continue;
                read_of(pid, "comm", name, sizeof(name));
                if (startswith(name, "nsrun"))
                        (void)printf("%ld %s", pid, name);
        }
        (void)closedir(proc);
}

static _Noreturn void inside(const char *what, const char *argument) {
        if (streq(what, "attack")) {
                attack((pid_t)atoi(argument));
        } else if (streq(what, "pester")) {
                pester((pid_t)atoi(argument));
        } else if (streq(what, "waylay")) {
                waylay();
        } else if (streq(what, "look-for-nsrun")) {
                look_for_nsrun();
        } else if (streq(what, "wait")) {
                (void)signal(RELEASE, SIG_IGN);
                (void)printf("%d %d\n", (int)getppid(), (int)getpid());
                (void)fflush(NULL);
                for (;;)
                        (void)pause();
        }
        (void)fflush(NULL);
        _exit(0);
}

/* ----------------------------------------------------------------- outside */

/* Of pid 1, which no signal from inside ends. */
static const char no_looks[] = "kill: ok\nqueue: ok\npidfd: ok\ngetfd: EPERM\nwrite: EPERM\n"
                               "prlimit: EPERM\nmem: EACCES\nenviron: EACCES\nroot: EACCES\ncwd: EACCES\n"
                               "exe: EACCES\nns/mnt: EACCES\nptrace: EPERM\n";

/* The kernel lets nobody trace what isn't in the same Landlock domain or in one below, and a domain can't be
 * joined: so commands that are kept from the host's abstract sockets don't trace each other. */
TEST(commands_reach_each_other_and_nothing_of_nsruns) {
        const struct site *s = *state;
        /* What is allowed there, at an address of the attacker's own. */
        _cleanup_free_ char *all = replaced(all_ok, "write: ok", "write: EFAULT");

        for (size_t i = SHARED; i < ARRAY_SIZE(modes); i++) {
                _cleanup_free_ char *id = start_session(s, modes[i], "--seccomp=default"), *line = NULL;
                _cleanup_outcome_ struct outcome o = {0}, its = {0};
                struct running other;

                spawn_in(s, id, &other, "wait", false);
                line = read_line(other.out);
                /* Its parent, the reaper, has no number there. */
                assert_true(startswith(line, "0 "));
                line[1 + strcspn(line + 1, "\n")] = '\0';
                run_in(s, id, &o, "attack", line + 2);
                expect_out(&o, i == SHARED && has_scopes() ? no_looks : all);
                run_in(s, id, &o, "attack", "1");
                expect_out(&o, no_looks);
                run_in(s, id, &o, "pester", "1");
                expect_out(&o, "done\n");
                run_in(s, id, &o, "look-for-nsrun", "");
                expect_out(&o, "1 nsrun-init\n");
                assert_true(is_alive(&other));
                assert_int_equal(kill(other.pid, SIGTERM), 0);
                finish(&other, &its);
                expect_status(&its, 128 + SIGTERM);
                end_session(s, id);
        }
}

enum {
        N_WAYLAID = 12,
};

/* A command that another one stops before its exec ends at its deadline as any other.  The way is long. */
TEST(who_is_stopped_on_its_way_in_holds_up_nobody) {
        const struct site *s = *state;
        _cleanup_free_ char *id = start_session(s, modes[SHARED], "--seccomp=default"),
                            *enough = path_of(s->project, "enough");
        struct running waylayer, waylaid[N_WAYLAID];
        _cleanup_outcome_ struct outcome o = {0};
        char path[3 * 4096] = "PATH=", *end = path + strlen(path);

        for (int i = 0; i < 3900; i++)
                end = stpcpy(end, "/a:");
        (void)stpcpy(end, "/bin");
        spawn_in(s, id, &waylayer, "waylay", false);
        free(read_line(waylayer.out));
        for (size_t i = 0; i < ARRAY_SIZE(waylaid); i++) {
                const char *const argv[] = {program(), "bash", "--session", id,       "--timeout", "1",
                                            "--env",   path,   "--",        "exit 3", NULL};

                spawn(&(struct request){.argv = argv, .cwd = s->root}, &waylaid[i]);
        }
        for (size_t i = 0; i < ARRAY_SIZE(waylaid); i++) {
                outcome_clear(&o);
                finish(&waylaid[i], &o);
                /* It was missed, ended at its deadline, or by its reaper for having been stopped. */
                if (o.status != 3 && o.status != 124 && o.status != 128 + SIGKILL)
                        fail_msg("status %d, out: %s, err: %s", o.status, o.out, o.err);
        }
        make_file(s->project, "enough", "");
        outcome_clear(&o);
        finish(&waylayer, &o);
        expect_status(&o, 0);
        if (strtol(o.out, NULL, 10) == 0)
                fail_msg("nobody was stopped: %s", enough);
        end_session(s, id);
}

static void expect_commands(const struct site *s, const char *id, const char *word) {
        const char *const show[] = {program(), "session", "show", "--json", id, NULL};
        _cleanup_free_ char *expected = text_of("\"commands\":\"%s\"", word);
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = show, .cwd = s->root}, &o);
        expect_status(&o, 0);
        expect_in(o.out, expected);
}

TEST(a_session_says_what_its_commands_may_do) {
        static const char *const words[] = {[ISOLATED] = "isolated",
                                            [NESTED] = "isolated",
                                            [SHARED] = "untraced",
                                            [SHARED_WITHOUT_LANDLOCK] = "shared",
                                            [SHARED_WITHOUT_NETWORK] = "shared"};
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
                _cleanup_free_ char *id = start_session(s, modes[i], "--seccomp=default");

                expect_commands(s, id, i == SHARED && !has_scopes() ? "shared" : words[i]);
                end_session(s, id);
        }
}

TEST(a_configuration_isolates_commands) {
        const struct site *s = *state;
        static const struct {
                const char *value, *word;
        } cases[] = {{"true", "isolated"}, {"false", "shared"}};
        _cleanup_free_ char *file = path_of(s->root, "c.json");

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *text = text_of("{\"isolate_commands\": %s}", cases[i].value),
                                    *id = NULL;
                const char *const mode[2] = {"--config", file};

                make_file(s->root, "c.json", text);
                id = start_session(s, mode, "--landlock=off");
                expect_commands(s, id, cases[i].word);
                end_session(s, id);
        }
        {
                const char *const argv[] = {program(), "run", "--config", file, "--", "true", NULL};
                _cleanup_outcome_ struct outcome o = {0};

                /* Of a run it says nothing. */
                run(&(struct request){.argv = argv, .cwd = s->project}, &o);
                expect_status(&o, 0);
                make_file(s->root, "c.json", "{\"isolate_commands\": 1}");
                run(&(struct request){.argv = argv, .cwd = s->project}, &o);
                expect_status(&o, 125);
                expect_in(o.err, "true or false");
        }
}

/* Whoever waits for what a command left behind doesn't wait for the end of a session that has ended. */
TEST(a_reaper_that_waits_for_leftovers_ends_with_the_session) {
        const struct site *s = *state;
        _cleanup_free_ char *id = start_session(s, modes[SHARED], "--seccomp=default");
        const char *const argv[] = {program(), "bash", "--session", id, "sleep 1000 & echo >left", NULL};
        _cleanup_free_ char *left = path_of(s->project, "left");
        _cleanup_outcome_ struct outcome o = {0};
        struct pollfd reaper = {.events = POLLIN};
        struct running running;

        spawn(&(struct request){.argv = argv, .cwd = s->root}, &running);
        while (access(left, F_OK) < 0)
                sched_yield();
        reaper.fd = (int)syscall(SYS_pidfd_open, reaper_of(running.pid), 0);
        assert_true(reaper.fd >= 0);
        assert_int_equal(kill(running.pid, SIGSTOP), 0);
        kill_session(s, id);
        assert_int_equal(poll(&reaper, 1, deadline_seconds * 1000), 1);
        assert_int_equal(kill(running.pid, SIGCONT), 0);
        (void)close(reaper.fd);
        finish(&running, &o);
        collect_orphans();
}

int main(int argc, char **argv) {
        if (argc == 3)
                inside(argv[1], argv[2]);
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a sandbox of an earlier run may have planted in a bound folder leads no operation of
 * nsrun-bwrap's out of the new root: not by what lies there, not by a race, not on a kernel
 * without openat2.  And what a killed monitor, a dead parent or a look at pid 1 give away. */
#include "../seed.h"
#include "bwrap-run.h"
#include "faults.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define N_KILLS (takes_samples() ? 10 : 100)
#define N_RACES (takes_samples() ? 2U : 20U)
/* Of the operations on the targets, each link is led to by every fourth, and each of them by every fourth
 * link: a step that has no divisor in common with how many there are. */
#define STEP (takes_samples() ? 41U : 4U)

/* Where the planted link leads; "#" is the folder outside, on the host.  /oldroot is what
 * bubblewrap calls the host's root while it works. */
static const char *const evils[] = {
        "#",
        "../outside",
        "../../../../../../../../../..#",
        "/oldroot#",
        "../oldroot#",
        "../../oldroot#",
        "/newroot/../oldroot#",
        "/proc/self/root#",
        "/proc/self/cwd#",
        "/proc/1/root#",
        "/proc/self/fd/3#",
        "/dev/fd/3#",
};

/* Beneath the folder that is bound; outside has "file" and "folder". */
static const char *const targets[] = {"evil", "evil/new", "evil/file", "evil/folder",
                                      "evil/folder/new/deeper"};

/* "=" is the target. */
static const char *const operations[] = {
        "--dir =",
        "--perms 0777 --dir =",
        "--file %r:written =",
        "--perms 0666 --file %r:written =",
        "--bind-data %r:written =",
        "--ro-bind-data %r:written =",
        "--symlink text =",
        "--tmpfs =",
        "--proc =",
        "--unshare-pid --proc =",
        "--dev =",
        "--unshare-ipc --mqueue =",
        "--bind @/../sources =",
        "--bind @/../sources/file =",
        "--ro-bind-fd %o:@/../sources =",
        "--overlay-src @/../sources --tmp-overlay =",
        "--overlay-src @/../sources --overlay @/../layer @/../layer-work =",
        "--overlay-src @/../sources --overlay-src @/../sources --ro-overlay =",
        "--chmod 0777 =",
        "--remount-ro =",
        "--lock-file =",
};

/* How the folder is shown; "=" becomes the target in it. */
static const struct layout {
        const char *args, *prefix;
} layouts[] = {
        {"--bind @ /p", "/p"},
        {"--bind @ /", ""},
        {"--ro-bind / / --bind @ @", "@"},
        /* What the links say is there, and is the new root's own. */
        {"--dir #/folder --dir /outside --dir /oldroot#/folder --bind @ /p", "/p"},
};

/* What is left unchanged: a listing of what may be reached, and the names at the top. */
struct host {
        char *outside, *home, *sources, *top;
};

static char *top_level(const struct site *s) {
        const char *const argv[] = {"ls", "-A", "/", s->root, NULL};
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = argv, .cwd = "/"}, &o);
        expect_status(&o, 0);
        return strdup(o.out);
}

static struct host look_at(const struct site *s) {
        _cleanup_free_ char *sources = path_of(s->root, "sources");

        return (struct host){.outside = snapshot(s->outside),
                             .home = snapshot(s->home),
                             .sources = snapshot(sources),
                             .top = top_level(s)};
}

static void expect_same_host(const struct site *s, struct host before) {
        _cleanup_free_ char *sources = path_of(s->root, "sources"), *top = top_level(s);

        expect_unchanged(s->outside, before.outside);
        expect_unchanged(s->home, before.home);
        expect_unchanged(sources, before.sources);
        assert_string_equal(before.top, top);
        free(before.top);
}

static void fill(const struct site *s) {
        make_file(s->outside, "file", "outside\n");
        make_folder(s->outside, "folder");
        make_file(s->root, "sources/file", "source\n");
        make_folder(s->root, "layer");
        make_folder(s->root, "layer-work");
}

static char *spelled(const struct site *s, const struct layout *layout, const char *operation,
                     const char *target) {
        _cleanup_free_ char *path = text_of("%s/%s", layout->prefix, target);
        _cleanup_free_ char *op = replaced(operation, "=", path);
        _cleanup_free_ char *line = text_of("! %s %s -- true", layout->args, op);
        _cleanup_free_ char *half = replaced(line, "@", s->project);

        return replaced(half, "#", s->outside);
}

static int status_of(const char *report) {
        return (int)strtol(report + strlen("status "), NULL, 10);
}

/* In place of what the last operation made of it. */
static void plant(const struct site *s, const char *evil) {
        _cleanup_free_ char *link = path_of(s->project, "evil"), *text = replaced(evil, "#", s->outside);
        const char *const argv[] = {"rm", "-rf", "--", link, NULL};
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = argv, .cwd = "/"}, &o);
        expect_status(&o, 0);
        make_link(s->project, "evil", text);
}

/* Returns how many did something in the new root. */
static unsigned attack_all(const struct site *s, const struct layout *layout, const char *denied) {
        unsigned n_ran = 0;

        for (size_t i = 0; i < ARRAY_SIZE(evils); i++) {
                struct host before = look_at(s);

                for (size_t j = i % STEP; j < ARRAY_SIZE(operations) * ARRAY_SIZE(targets); j += STEP) {
                        _cleanup_free_ char *args = spelled(s, layout, operations[j / ARRAY_SIZE(targets)],
                                                            targets[j % ARRAY_SIZE(targets)]);
                        _cleanup_free_ char *report = NULL;
                        struct bwrap_case c = {.args = args, .keeps_tree = true};

                        plant(s, evils[i]);
                        report = bwrap_report_denied(s, our_bwrap(), denied, &c);
                        if (status_of(report) > 1 ||
                            (status_of(report) == 1 && !strstr(report, "error bwrap: ")))
                                fail_msg("evil -> %s, %s: %.500s", evils[i], args, report);
                        n_ran += status_of(report) == 0 || strstr(report, "execvp") != NULL;
                }
                expect_same_host(s, before);
        }
        return n_ran;
}

/* The links do lead out for whoever follows them on the host, and for bubblewrap 0.8.0. */
static void expect_links_to_be_evil(const struct site *s) {
        _cleanup_free_ char *args = spelled(s, &layouts[0], operations[0], "evil/new");
        _cleanup_free_ char *made = path_of(s->outside, "new");
        _cleanup_outcome_ struct outcome o = {0};

        plant(s, evils[1]);
        run_outside(s, &o, "mkdir evil/new");
        expect_status(&o, 0);
        assert_int_equal(rmdir(made), 0);
        if (judging_bwrap()) {
                _cleanup_free_ char *report = NULL;

                plant(s, "/oldroot#");
                report = bwrap_report(s, judging_bwrap(),
                                      &(struct bwrap_case){.args = args, .keeps_tree = true});
                collect_orphans();
                if (rmdir(made) < 0)
                        fail_msg("bubblewrap 0.8.0 does not fall for it: %s", report);
        }
}

TEST(a_planted_link_leads_no_operation_out) {
        const struct site *s = *state;
        unsigned n_ran = 0, n = 0;

        fill(s);
        expect_links_to_be_evil(s);
        for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
                n_ran += attack_all(s, &layouts[i], NULL);
                n += (unsigned)(ARRAY_SIZE(evils) * ARRAY_SIZE(operations) * ARRAY_SIZE(targets));
        }
        print_message("%u operations, %u of them carried out in the new root\n", n, n_ran);
        assert_true(n_ran > 0 && n_ran < n);
}

TEST(a_planted_link_leads_no_operation_out_without_openat2) {
        const struct site *s = *state;
        unsigned n_ran;

        fill(s);
        n_ran = attack_all(s, &layouts[2], "openat2");
        n_ran += attack_all(s, &layouts[3], "openat2");
        print_message("%u were carried out in the new root\n", n_ran);
        assert_true(n_ran > 0);
}

/* ------------------------------------------------------------------- races */

static pid_t start_swapping(const char *folder) {
        pid_t pid;

        (void)fflush(NULL);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                for (;;)
                        (void)exchange_names(fd, "sub", fd, "evil");
        }
        return pid;
}

static void race(const struct site *s, const char *denied) {
        for (size_t i = 0; i < ARRAY_SIZE(operations); i++)
                for (unsigned n = 0; n < N_RACES; n++) {
                        _cleanup_free_ char *name = text_of("sub/new-%zu-%u", i, n);
                        _cleanup_free_ char *args = spelled(s, &layouts[n % 2], operations[i],
                                                            n % 3 == 0   ? "sub"
                                                            : n % 3 == 1 ? "sub/file"
                                                                         : name);
                        _cleanup_free_ char *report = NULL;

                        report = bwrap_report_denied(s, our_bwrap(), denied,
                                                     &(struct bwrap_case){.args = args, .keeps_tree = true});
                        if (status_of(report) > 1)
                                fail_msg("%s: %.500s", args, report);
                }
}

TEST(a_link_swapped_in_meanwhile_leads_no_operation_out) {
        static const char *const leads_to[] = {"/oldroot#", "../outside"};
        const struct site *s = *state;

        fill(s);
        for (size_t i = 0; i < 2 * ARRAY_SIZE(leads_to); i++) {
                _cleanup_outcome_ struct outcome o = {0};
                struct host before = look_at(s);
                pid_t pid;

                plant(s, leads_to[i / 2]);
                make_file(s->project, "sub/file", "mine\n");
                pid = start_swapping(s->project);
                race(s, i % 2 == 0 ? NULL : "openat2");
                assert_int_equal(kill(pid, SIGKILL), 0);
                assert_int_equal(waitpid(pid, NULL, 0), pid);
                expect_same_host(s, before);
                run_outside(s, &o, "rm -rf sub evil");
                expect_status(&o, 0);
        }
}

/* ----------------------------------------------------------- /proc and pid 1 */

#define BWRAP(site, outcome, ...) run_bwrap(site, outcome, our_bwrap(), OPTIONS(__VA_ARGS__))

static void run_bwrap(const struct site *s, struct outcome *ret, const char *program_path,
                      const char *const *arguments) {
        _cleanup_free_ const char **argv = words_of(OPTIONS(program_path), arguments);

        outcome_clear(ret);
        run(&(struct request){.argv = argv, .cwd = s->root}, ret);
}

TEST(proc_sys_can_not_be_written_not_even_by_root) {
        static const char script[] =
                "(: >>/proc/sys/kernel/domainname) 2>&1; (: >>/proc/sys/kernel/hostname) 2>&1";
        /* An ordinary user's are not covered: the files say no, and a sandbox in the sandbox needs it so. */
        const char *const denied[] = {
                geteuid() == 0 ? "/proc/sys/kernel/domainname: Read-only file system\n"
                               : "/proc/sys/kernel/domainname: Permission denied\n",
                geteuid() == 0 ? "/proc/sys/kernel/hostname: Read-only file system\n"
                               : "/proc/sys/kernel/hostname: Permission denied\n",
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        BWRAP(s, &o, "--ro-bind", "/", "/", "--proc", "/proc", "sh", "-c", script);
        expect_in(o.out, denied[0]);
        expect_in(o.out, denied[1]);
        BWRAP(s, &o, "--ro-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "sh", "-c", script);
        expect_in(o.out, denied[0]);
        BWRAP(s, &o, "--ro-bind", "/", "/", "--unshare-all", "--uid", "0", "--cap-add", "ALL", "--proc",
              "/proc", "sh", "-c", script);
        expect_in(o.out, "/proc/sys/kernel/hostname: ");
        /* Outside it isn't the file system that says no, and root may. */
        run_outside(s, &o, script);
        expect_not_in(o.out, "Read-only file system");
        if (geteuid() == 0)
                expect_out(&o, "");
}

/* The monitor's argv names host paths and --setenv's values. */
TEST(pid_1_shows_no_argv_of_the_hosts) {
        static const char script[] = "tr '\\0' ' ' </proc/1/cmdline; echo; ls /proc";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        const char *const *arguments =
                OPTIONS("--ro-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "--setenv", "SECRET",
                        "the-secret-word", "--unsetenv", "SECRET", "sh", "-c", script);

        run_bwrap(s, &o, our_bwrap(), arguments);
        expect_status(&o, 0);
        expect_in(o.out, "\n1\n");
        expect_not_in(o.out, "the-secret-word");
        expect_not_in(o.out, "--ro-bind");
        if (judging_bwrap()) {
                run_bwrap(s, &o, judging_bwrap(), arguments);
                collect_orphans();
                expect_in(o.out, "the-secret-word");
        }
}

/* ------------------------------------------------------------------ killing */

/* Whoever is left holds the output, and finish() fails. */
static unsigned kill_at_random(const struct site *s, const char *const *argv, unsigned *seed) {
        unsigned n_killed = 0;

        for (int i = 0; i < N_KILLS; i++) {
                _cleanup_outcome_ struct outcome o = {0};
                struct running r;

                spawn(&(struct request){.argv = argv, .cwd = s->root}, &r);
                pause_up_to(seed, 6000000);
                assert_int_equal(syscall(SYS_pidfd_send_signal, r.pidfd, SIGKILL, NULL, 0), 0);
                finish(&r, &o);
                collect_orphans();
                n_killed += o.status == 1000 + SIGKILL;
        }
        return n_killed;
}

TEST(a_monitor_killed_at_any_moment_leaves_no_process) {
        /* Without --die-with-parent a command that runs already goes on: it has to end by itself. */
        const char *const ending[] = {our_bwrap(),     "--ro-bind", "/",    "/",
                                      "--unshare-all", "--dev",     "/dev", "--proc",
                                      "/proc",         "true",      NULL};
        const char *const plain[] = {our_bwrap(), "--ro-bind", "/", "/", "true", NULL};
        const char *const *dying =
                OPTIONS(our_bwrap(), "--ro-bind", "/", "/", "--unshare-all", "--die-with-parent", "--proc",
                        "/proc", "sh", "-c", "setsid sleep 1000 & sleep 1000");
        unsigned seed = (unsigned)test_seed(), n;

        n = kill_at_random(*state, ending, &seed);
        n += kill_at_random(*state, plain, &seed);
        assert_true(n > 0);
        n += kill_at_random(*state, dying, &seed);
        print_message("%u of %d were killed before their end\n", n, 3 * N_KILLS);
}

/* More than a pipe holds, so that it is written only once the reader runs, and then the reader
 * has all of its set-up before it. */
static void feed_options(int fd) {
        static const char option[] = "--setenv\0A"; /* and the value */
        static char words[100000];

        memset(words, 'x', sizeof(words) - 1);
        memcpy(words, option, sizeof(option));
        assert_int_equal(write(fd, words, sizeof(words)), sizeof(words));
        (void)close(fd);
}

TEST(die_with_parent_has_no_window) {
        static const char script[] =
                "\"$0\" --args 30 --ro-bind / / --die-with-parent --unshare-pid sleep 1000; :";
        const struct site *s = *state;
        const char *const argv[] = {"sh", "-c", script, our_bwrap(), NULL};
        unsigned seed = (unsigned)test_seed();

        for (int i = 0; i < N_KILLS; i++) {
                _cleanup_outcome_ struct outcome o = {0};
                struct running r;
                int ends[2];

                assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
                spawn(&(struct request){.argv = argv, .cwd = s->root, .in_child = keep_30, .data = &ends[0]},
                      &r);
                (void)close(ends[0]);
                feed_options(ends[1]);
                pause_up_to(&seed, 5000000);
                assert_int_equal(syscall(SYS_pidfd_send_signal, r.pidfd, SIGKILL, NULL, 0), 0);
                finish(&r, &o);
                expect_status(&o, 1000 + SIGKILL);
                collect_orphans();
        }
}

/* ----------------------------------------------------------------- the reaper */

/* It has the command's uid, and no filter.  No descriptor of it opens, its report pipe's neither, whatever
 * its number.  `options`: the last ones, and NULL. */
static void expect_unreachable(const struct site *s, const char *const *options) {
        static const char script[] =
                "readlink /proc/1/fd/0; cat /proc/1/environ; head -c 1 /proc/1/exe; (: 3<>/proc/1/mem); "
                "cat /proc/1/fd/9/../file; readlink /proc/1/ns/user; head -c 1 /proc/1/maps /proc/1/auxv; "
                "ls /proc/1/root/; ls /proc/1/cwd/; ls /proc/1/map_files; n=0; while [ $n -lt 40 ]; do "
                "(: >>/proc/1/fd/$n) && echo writes; head -c 0 /proc/1/fd/$n && echo reads; n=$((n + 1)); done; "
                "readlink /proc/$$/fd/0 >&2 && (: >>/proc/$$/fd/2) && echo control";
        const char *argv[32] = {"sh",
                                "-c",
                                "exec \"$0\" \"$@\" 8>&2 9<\"$FOLDER\"",
                                our_bwrap(),
                                "--unshare-all",
                                "--ro-bind",
                                "/",
                                "/",
                                "--proc",
                                "/proc",
                                "--bind-fd",
                                "9",
                                "/mnt"};
        size_t n = 13;
        _cleanup_free_ char *folder = path_of(s->outside, "folder");
        _cleanup_outcome_ struct outcome o = {0};

        while (*options && n < ARRAY_SIZE(argv) - 4)
                argv[n++] = *options++;
        argv[n++] = "sh";
        argv[n++] = "-c";
        argv[n] = script;
        if (access(folder, F_OK) < 0) {
                make_file(s->outside, "file", "outside\n");
                make_folder(s->outside, "folder");
        }
        assert_int_equal(setenv("FOLDER", folder, 1), 0);
        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        assert_int_equal(unsetenv("FOLDER"), 0);
        expect_out(&o, "control\n");
        expect_in(o.err, "/proc/1/environ: Permission denied");
        expect_in(o.err, "/proc/1/mem: Permission denied");
}

TEST(the_reaper_can_not_be_reached) {
        expect_unreachable(*state, OPTIONS("--chdir", "/"));
}

/* With a descriptor that tells its pid it is one that the caller can look into. */
TEST(the_reaper_can_not_be_reached_where_its_pid_is_told) {
        expect_unreachable(*state, OPTIONS("--json-status-fd", "8"));
}

TEST(the_reaper_can_not_be_reached_where_its_pid_is_told_once) {
        expect_unreachable(*state, OPTIONS("--info-fd", "8"));
}

/* There its files in /proc belong to the command's user. */
TEST(the_reaper_can_not_be_reached_where_the_caller_enters) {
        expect_unreachable(*state, OPTIONS("--info-fd", "8", "--dev", "/dev"));
        expect_unreachable(*state, OPTIONS("--info-fd", "8", "--disable-userns", "--unshare-user"));
        if (geteuid() != 0)
                expect_unreachable(*state, OPTIONS("--info-fd", "8", "--dev", "/dev", "--cap-add", "ALL"));
}

/* ------------------------------------------------------------------- nesting */

/* A new proc is refused by the kernel where the one that is seen has covered parts. */
TEST(it_runs_inside_itself) {
        const struct site *s = *state;
        const char *b = our_bwrap();
        _cleanup_outcome_ struct outcome o = {0};

        BWRAP(s, &o, "--ro-bind", "/", "/", "--dev", "/dev", "--unshare-pid", "--proc", "/proc", "--", b,
              "--ro-bind", "/", "/", "--proc", "/proc", "--", "echo", "nested");
        expect_status(&o, 0);
        expect_out(&o, "nested\n");
        BWRAP(s, &o, "--ro-bind", "/", "/", "--dev", "/dev", "--unshare-all", "--proc", "/proc", "--", b,
              "--ro-bind", "/", "/", "--unshare-all", "--dev", "/dev", "--", "sh", "-c", "exit 42");
        expect_status(&o, 42);
        BWRAP(s, &o, "--bind", "/", "/", "--", b, "--bind", "/", "/", "--", b, "--bind", "/", "/", "--",
              "echo", "thrice");
        expect_status(&o, 0);
        expect_out(&o, "thrice\n");
        BWRAP(s, &o, "--ro-bind", "/", "/", "--unshare-user", "--disable-userns", "--", b, "--unshare-user",
              "--ro-bind", "/", "/", "--", "true");
        expect_status(&o, 1);
        expect_in(o.err, "bwrap: ");
}

TEST(it_runs_through_proc_self_exe_and_as_a_copy) {
        static const char *const through[] = {
                "/proc/self/fd/30", "--ro-bind", "/", "/", "echo", "run", NULL};
        const struct site *s = *state;
        _cleanup_free_ char *script =
                text_of("cp '%s' other-name && ./other-name --ro-bind / / echo copy", our_bwrap());
        _cleanup_close_ int fd = open(our_bwrap(), O_RDONLY | O_CLOEXEC);
        _cleanup_outcome_ struct outcome o = {0};

        assert_true(fd >= 0);
        run(&(struct request){.argv = through, .cwd = "/", .in_child = keep_30, .data = &fd}, &o);
        expect_status(&o, 0);
        expect_out(&o, "run\n");
        run_outside(s, &o, script);
        expect_status(&o, 0);
        expect_out(&o, "copy\n");
}

int main(void) {
        return run_all_tests();
}

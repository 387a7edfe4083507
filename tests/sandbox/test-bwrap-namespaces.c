/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Namespaces that a caller hands from one nsrun-bwrap to another by the pid that it is told, as flatpak
 * does: which of them the caller can open, and what comes of them.  And whose the descriptors are that it
 * passes. */
#include "bwrap-run.h"

#include <poll.h>
#include <sched.h>
#include <sys/wait.h>

/* A sandbox that runs, and whose child-pid is known. */
struct held {
        struct running r;
        int input; /* closed, the sandbox ends */
        pid_t child;
};

/* `options`: more of them, and NULL. */
static void hold_with(const struct site *s, const char *const *options, const char *command,
                      struct held *ret) {
        _cleanup_free_ const char **argv =
                words_of(OPTIONS(our_bwrap(), "--unshare-user", "--unshare-pid", "--unshare-net",
                                 "--ro-bind", "/", "/", "--proc", "/proc", "--info-fd", "30"),
                         options, OPTIONS("sh", "-c", command));
        int info[2], input[2];
        char text[1024] = "";
        ssize_t got;

        assert_int_equal(pipe2(info, O_CLOEXEC), 0);
        assert_int_equal(pipe2(input, O_CLOEXEC), 0);
        spawn(&(struct request){.argv = argv,
                                .cwd = s->root,
                                .standard_input = input[0],
                                .in_child = keep_30,
                                .data = &info[1]},
              &ret->r);
        (void)close(info[1]);
        (void)close(input[0]);
        ret->input = input[1];
        got = read(info[0], text, sizeof(text) - 1);
        (void)close(info[0]);
        assert_true(got > 0 && strstr(text, "\"child-pid\": "));
        ret->child = (pid_t)strtol(strstr(text, "\"child-pid\": ") + strlen("\"child-pid\": "), NULL, 10);
}

static void hold(const struct site *s, const char *option, const char *command, struct held *ret) {
        hold_with(s, OPTIONS(option), command, ret);
}

static void let_go(struct held *h, struct outcome *o) {
        (void)close(h->input);
        finish(&h->r, o);
}

static int open_namespace(pid_t pid, const char *name) {
        _cleanup_free_ char *path = text_of("/proc/%d/ns/%s", (int)pid, name);
        int fd = open(path, O_RDONLY | O_CLOEXEC);

        if (fd < 0)
                fail_msg("%s: %s", path, strerror(errno));
        return fd;
}

/* slirp4netns, pasta and flatpak open the namespaces of the pid that they are told.  The command still can't
 * look into that process: test-bwrap-attacks. */
TEST(the_caller_opens_the_namespaces_of_the_pid_that_it_is_told) {
        static const char *const names[] = {"user", "pid", "net", "mnt"};
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *line = NULL;
        struct held h;

        hold(*state, "--new-session",
             "echo ready; read word; readlink /proc/self/ns/user /proc/self/ns/pid /proc/self/ns/net "
             "/proc/self/ns/mnt",
             &h);
        line = read_line(h.r.out);
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                (void)close(open_namespace(h.child, names[i]));
        let_go(&h, &o);
        expect_status(&o, 0);
        assert_string_equal(line, "ready\n");
        expect_in(o.out, "user:[");
}

/* As flatpak enter does: first the user namespace that owns the others, which the app shows, last the app's.
 */
static void enter_held(void *data) {
        static const char *const files[] = {"root/run/.userns", "ns/pid", "ns/mnt", "ns/user"};
        const struct held *h = data;
        int fds[ARRAY_SIZE(files)];

        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                _cleanup_free_ char *path = text_of("/proc/%d/%s", (int)h->child, files[i]);

                fds[i] = open(path, O_RDONLY | O_CLOEXEC);
                if (fds[i] < 0)
                        _exit(111);
        }
        for (size_t i = 0; i < ARRAY_SIZE(files); i++)
                if (setns(fds[i], 0) < 0)
                        _exit(112 + (int)i);
        if (chdir("/") < 0 || chroot("/") < 0 || setgid(getgid()) < 0 || setuid(getuid()) < 0)
                _exit(117);
}

/* Root enters an app without user namespaces: tests/callers/flatpak. */
TEST_IF(geteuid() != 0, the_caller_enters_the_sandbox_of_the_pid_that_it_is_told, site_setup,
        site_teardown) {
        static const char look[] = "readlink /proc/self/ns/user; readlink /proc/self/ns/pid; "
                                   "readlink /proc/self/ns/mnt; id -u; cat /proc/self/uid_map; echo on";
        static const char *const options[] = {
                "--dev",        "/dev",     "--tmpfs", "/run", "--bind-try", "/proc/self/ns/user",
                "/run/.userns", "--setenv", "MARK",    "told", NULL};
        const char *const argv[] = {"sh", "-c", look, NULL};
        _cleanup_free_ char *command = text_of("exec 2>&1; %s; read word; :", look), *path = NULL;
        _cleanup_outcome_ struct outcome o = {0}, entered = {0};
        _cleanup_free_ char *inside = strdup("");
        static char text[1 << 20]; /* make's environment is large */
        struct held h;
        int fd;

        hold_with(*state, options, command, &h);
        do {
                _cleanup_free_ char *line = read_line(h.r.out);
                char *longer = text_of("%s%s", inside, line);

                free(inside);
                inside = longer;
        } while (!strstr(inside, "on\n"));
        path = text_of("/proc/%d/environ", (int)h.child);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                fail_msg("%s: %s", path, strerror(errno));
        for (ssize_t i = 0, n = read(fd, text, sizeof(text) - 1); i < n; i++)
                if (!text[i])
                        text[i] = '\n';
        (void)close(fd);
        run(&(struct request){.argv = argv, .cwd = "/", .in_child = enter_held, .data = &h}, &entered);
        let_go(&h, &o);
        expect_status(&o, 0);
        expect_status(&entered, 0);
        expect_out(&entered, inside);
        expect_in(text, "MARK=told\n");
}

/* With an agent's or a debugger's capability the command could look into a reaper of the same user
 * namespace, so that the caller can't either. */
TEST(a_reaper_is_not_for_the_caller_where_the_command_may_trace_all) {
        const struct site *s = *state;
        const char *const *argv =
                OPTIONS("sh", "-c", "exec \"$0\" \"$@\" 8>/dev/null", our_bwrap(), "--unshare-user",
                        "--unshare-pid", "--cap-add", "CAP_SYS_PTRACE", "--json-status-fd", "8", "--ro-bind",
                        "/", "/", "--proc", "/proc", "sh", "-c",
                        "readlink /proc/1/ns/user && exit; readlink /proc/self/ns/user >&2 && "
                        "echo hidden");
        _cleanup_outcome_ struct outcome o = {0};

        if (geteuid() == 0)
                return; /* may trace every process of the machine, and keeps that */
        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        expect_status(&o, 0);
        expect_out(&o, "hidden\n");
}

struct given {
        int user, pid; /* or another namespace in the place of the pid namespace */
};

static void keep_both(void *data) {
        const struct given *g = data;

        /* The sanitizer's look for leaks is a process of its own, which would be born in the given namespace
         * and wait there for ever. */
        if (dup2(g->user, 30) < 0 || dup2(g->pid, 31) < 0 || setenv("ASAN_OPTIONS", "detect_leaks=0", 1) < 0)
                _exit(117);
}

static void run_in(const struct site *s, const struct given *given, const char *const *argv,
                   struct outcome *o) {
        run(&(struct request){.argv = argv,
                              .cwd = s->root,
                              .in_child = keep_both,
                              .data = (void *)(uintptr_t)given},
            o);
}

/* flatpak run --parent-pid --parent-share-pids. */
TEST(a_sandbox_shares_another_ones_processes) {
        const struct site *s = *state;
        static const char look[] = "readlink /proc/self/ns/pid; echo $(cat /proc/[0-9]*/comm)";
        const char *const shared[] = {our_bwrap(), "--userns", "30",    "--pidns", "31", "--ro-bind", "/",
                                      "/",         "--proc",   "/proc", "sh",      "-c", look,        NULL};
        const char *const beneath[] = {our_bwrap(),     "--userns",  "30", "--pidns", "31",
                                       "--unshare-pid", "--ro-bind", "/",  "/",       "--proc",
                                       "/proc",         "sh",        "-c", look,      NULL};
        _cleanup_free_ char *path = NULL, *line = NULL, *expected = NULL;
        _cleanup_outcome_ struct outcome o = {0}, one = {0}, two = {0};
        struct given given;
        char own[64] = "";
        struct held h;

        hold(s, "--new-session", "echo ready; read word", &h);
        line = read_line(h.r.out);
        given = (struct given){open_namespace(h.child, "user"), open_namespace(h.child, "pid")};
        path = text_of("/proc/%d/ns/pid", (int)h.child);
        assert_true(readlink(path, own, sizeof(own) - 1) > 0);
        expected = text_of("%s\n", own);
        run_in(s, &given, shared, &one);
        run_in(s, &given, beneath, &two);
        (void)close(given.user);
        (void)close(given.pid);
        let_go(&h, &o);
        expect_status(&one, 0);
        assert_ptr_equal(strstr(one.out, expected), one.out);
        /* The other sandbox's shell, and none of the host's. */
        expect_in(one.out, " sh ");
        assert_null(strstr(one.out, "systemd"));
        expect_status(&two, 0);
        assert_null(strstr(two.out, expected));
        /* A reaper, the shell and cat. */
        expect_in(two.out, " sh cat\n");
}

/* Where that has more than one of them; with another uid there is no power left to mount, as with
 * bubblewrap. */
TEST_IF(geteuid() == 0, a_gid_is_taken_in_a_given_user_namespace, site_setup, site_teardown) {
        static const char script[] =
                "unshare -U sleep 1000 >/dev/null 2>&1 & until readlink /proc/$!/exe | grep -q sleep; do :; done\n"
                "for m in uid gid; do echo 0 0 4294967295 >/proc/$!/${m}_map; done; exec 9</proc/$!/ns/user\n"
                "for i in '' '--gid 8' '--uid 0 --gid 8'; do\n"
                "\"$0\" --userns 9 $i --ro-bind / / sh -c 'echo $(id -u) $(id -g)' || echo $?; done; kill $!; wait";
        const struct site *s = *state;
        const char *const argv[] = {"sh", "-c", script, our_bwrap(), NULL};
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        expect_out(&o, "0 0\n0 8\n0 8\n");
}

/* The status of a sandbox beneath a given pid namespace is its command's, and its pid the caller's number.
 */
TEST(a_sandbox_beneath_a_given_pid_namespace_ends_as_its_command) {
        const struct site *s = *state;
        const char *const ends[] = {
                our_bwrap(), "--userns",         "30", "--pidns", "31", "--unshare-pid", "--ro-bind", "/",
                "/",         "--json-status-fd", "2",  "sh",      "-c", "kill -TERM $$", NULL};
        _cleanup_outcome_ struct outcome o = {0}, of = {0};
        _cleanup_free_ char *line = NULL;
        struct given given;
        struct held h;

        hold(s, "--new-session", "echo ready; read word", &h);
        line = read_line(h.r.out);
        given = (struct given){open_namespace(h.child, "user"), open_namespace(h.child, "pid")};
        run_in(s, &given, ends, &of);
        (void)close(given.user);
        (void)close(given.pid);
        let_go(&h, &o);
        expect_status(&of, 128 + SIGTERM);
        expect_in(of.err, "\"pid-namespace\": ");
        expect_in(of.err, "\"exit-code\": 143");
}

/* A network that somebody else has set up: the command is in it, has loopback as it was left there, and gets
 * no descriptor of it. */
TEST(a_given_network_namespace_is_entered) {
        static const char look[] = "readlink /proc/self/ns/net; [ -e /proc/self/fd/31 ] || echo none; "
                                   "exec tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '";
        const struct site *s = *state;
        const char *const entered[] = {our_bwrap(),  "--userns", "30", "--netns", "31",
                                       "--dev-bind", "/",        "/",  "--proc",  "/proc",
                                       "sh",         "-c",       look, NULL};
        const char *const without[] = {our_bwrap(), "--dev-bind", "/",  "/",  "--proc",
                                       "/proc",     "sh",         "-c", look, NULL};
        _cleanup_outcome_ struct outcome o = {0}, inside = {0}, outside = {0};
        _cleanup_free_ char *path = NULL, *line = NULL, *expected = NULL;
        struct given given;
        char own[64] = "";
        struct held h;

        hold(s, "--new-session", "echo ready; read word", &h);
        line = read_line(h.r.out);
        given = (struct given){open_namespace(h.child, "user"), open_namespace(h.child, "net")};
        path = text_of("/proc/%d/ns/net", (int)h.child);
        assert_true(readlink(path, own, sizeof(own) - 1) > 0);
        expected = text_of("%s\nnone\nlo\n", own);
        run_in(s, &given, entered, &inside);
        (void)close(given.user);
        (void)close(given.pid);
        run(&(struct request){.argv = without, .cwd = s->root}, &outside);
        let_go(&h, &o);
        expect_status(&inside, 0);
        expect_out(&inside, expected);
        expect_status(&outside, 0);
        assert_null(strstr(outside.out, own));
}

TEST(a_network_namespace_that_can_not_be_entered_is_an_error) {
        static const char not_ours[] =
                "bwrap: Joining specified network namespace failed: Operation not permitted (--userns with the "
                "user namespace that owns it?)\n";
        static const char wrong[] = "bwrap: Joining specified network namespace failed: Invalid argument\n";
        static const char closed[] =
                "bwrap: Joining specified network namespace failed: Bad file descriptor\n";
        const struct site *s = *state;
        const char *const others[] = {our_bwrap(), "--netns", "31", "--dev-bind", "/", "/", "true", NULL};
        const char *const user[] = {our_bwrap(),  "--userns", "30", "--netns", "30",
                                    "--dev-bind", "/",        "/",  "true",    NULL};
        const char *const none[] = {our_bwrap(), "--netns", "77", "--dev-bind", "/", "/", "true", NULL};
        _cleanup_outcome_ struct outcome o = {0}, of_others = {0}, of_user = {0}, of_none = {0};
        _cleanup_free_ char *line = NULL;
        struct given given;
        struct held h;

        hold(s, "--new-session", "echo ready; read word", &h);
        line = read_line(h.r.out);
        given = (struct given){open_namespace(h.child, "user"), open_namespace(h.child, "net")};
        run_in(s, &given, others, &of_others);
        run_in(s, &given, user, &of_user);
        run_in(s, &given, none, &of_none);
        (void)close(given.user);
        (void)close(given.pid);
        let_go(&h, &o);
        /* Root has every privilege over the namespaces of its users. */
        expect_status(&of_others, geteuid() == 0 ? 0 : 1);
        assert_string_equal(of_others.err, geteuid() == 0 ? "" : not_ours);
        expect_status(&of_user, 1);
        assert_string_equal(of_user.err, wrong);
        expect_status(&of_none, 1);
        assert_string_equal(of_none.err, closed);
}

/* flatpak writes it on every run. */
TEST(the_childs_own_namespace_is_bound) {
        const struct site *s = *state;
        static const char compare[] =
                "[ \"$(readlink /proc/self/ns/user)\" = \"user:[$(stat -c %i /run/.userns)]\" ] && echo same";
        const char *const *bound =
                OPTIONS(our_bwrap(), "--unshare-user", "--ro-bind", "/", "/", "--tmpfs", "/run", "--proc",
                        "/proc", "--bind-try", "/proc/self/ns/user", "/run/.userns", "sh", "-c", compare);
        const char *const *missing =
                OPTIONS(our_bwrap(), "--ro-bind", "/", "/", "--tmpfs", "/run", "--bind-try",
                        "/proc/self/ns/nothing", "/run/.userns", "sh", "-c", "ls -A /run; echo on");
        _cleanup_outcome_ struct outcome o = {0}, none = {0};

        run(&(struct request){.argv = bound, .cwd = s->root}, &o);
        expect_out(&o, "same\n");
        run(&(struct request){.argv = missing, .cwd = s->root}, &none);
        expect_out(&none, "on\n");
}

/* ---------------------------------------------------------------- descriptors */

static void keep_9(void *data) {
        if (dup2(*(const int *)data, 9) < 0)
                _exit(117);
}

/* Whether the pipe that the command had, and has closed, is closed before it ends. */
static bool is_closed_with_the_commands(const struct site *s, const char *const *options, int wait) {
        _cleanup_free_ const char **argv =
                words_of(OPTIONS(our_bwrap(), "--ro-bind", "/", "/"), options,
                         OPTIONS("sh", "-c", "exec 9>&-; echo closed; read word"));
        _cleanup_outcome_ struct outcome o = {0};
        int passed[2], input[2];
        struct pollfd end;
        struct running r;
        bool is_closed;

        assert_int_equal(pipe2(passed, O_CLOEXEC), 0);
        assert_int_equal(pipe2(input, O_CLOEXEC), 0);
        spawn(&(struct request){.argv = argv,
                                .cwd = s->root,
                                .standard_input = input[0],
                                .in_child = keep_9,
                                .data = &passed[1]},
              &r);
        (void)close(passed[1]);
        (void)close(input[0]);
        await_line(r.out, "closed\n");
        end = (struct pollfd){.fd = passed[0], .events = POLLIN};
        is_closed = poll(&end, 1, wait) == 1;
        (void)close(input[1]);
        finish(&r, &o);
        (void)close(passed[0]);
        return is_closed;
}

/* A lock of the caller's ends, and the reader of its pipe sees the end, when the command closes what it has
 * of these: neither the monitor nor the reaper has it, but for what --sync-fd names. */
TEST(a_descriptor_that_a_caller_passes_is_the_commands_alone) {
        static const char *const ways[][6] = {
                {NULL},
                {"--unshare-pid", NULL},
                {"--unshare-pid", "--dev", "/dev", "--info-fd", "2", NULL},
                {"--unshare-pid", "--as-pid-1", NULL},
                {"--unshare-pid", "--die-with-parent", "--sync-fd", "0", NULL},
                {"--lock-file", "/etc/passwd", NULL},
        };
        static const char *const held[] = {"--sync-fd", "9", NULL};

        for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
                if (!is_closed_with_the_commands(*state, ways[i], 60000))
                        fail_msg("%s %s: it is held", ways[i][0] ? ways[i][0] : "",
                                 ways[i][0] ? ways[i][1] : "");
        assert_false(is_closed_with_the_commands(*state, held, 0));
}

int main(void) {
        return run_all_tests();
}

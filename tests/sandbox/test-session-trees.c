/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What commands of a session leave running: it stays, and its neighbours with it, until
 * its time has come; and who ends a command ends all that it started, and nobody else's. */
#include "session.h"

/* Its holders are the processes that a script started: nobody else has it open. */
static int open_fifo_of(const struct site *s, const char *name) {
        _cleanup_free_ char *path = path_of(s->project, name);
        int fd;

        assert_int_equal(mkfifo(path, 0600), 0);
        fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(fcntl(fd, F_SETFL, 0), 0);
        return fd;
}

static void expect_held(int fd) {
        struct pollfd end = {.fd = fd, .events = POLLIN};

        assert_int_equal(poll(&end, 1, 0), 0);
}

/* The last holder is gone; whatever they said before is read. */
static void expect_released(int fd) {
        struct pollfd end = {.fd = fd, .events = POLLIN};
        char bytes[4096];
        ssize_t n;

        do {
                if (poll(&end, 1, deadline_seconds * 1000) != 1)
                        fail_msg("a process of the command lives on");
                n = read(fd, bytes, sizeof(bytes));
        } while (n > 0);
        assert_int_equal(n, 0);
}

/* Leaves the command's session, its process group and its ancestors. */
#define AWAY \
        "(setsid sh -c '(exec sleep 1000) & (sh -c \"exec setsid sleep 1000\" &) & exec sleep 1000' &) & "

/* Of two generations, where each forks and ends at once: no list of processes has it for long. */
#define COMETS               \
        "cat >comet <<'X'\n" \
        "sh ./comet &\n"     \
        "X\n"                \
        "(setsid sh ./comet &) & "

TEST_IN_ALL_MODES(a_background_process_outlives_its_command) {
        const struct site *s = *state;
        _cleanup_close_ int fifo = open_fifo_of(s, "fifo");
        _cleanup_free_ char *id = START_PLAIN(s);
        _cleanup_outcome_ struct outcome o = {0};

        JOIN_SCRIPT(s, id, &o, "exec 1>fifo 2>&1; " AWAY "echo started");
        expect_status(&o, 0);
        await_line(fifo, "started\n");
        expect_held(fifo);
        /* The next one has to do with it, once it is there. */
        expect_good_join(
                s, id,
                "until [ \"$(cat /proc/[0-9]*/comm 2>/dev/null | grep -c sleep)\" = 3 ]; do :; done; echo seen",
                "seen\n");
        expect_held(fifo);
        end_session(s, id, "stop");
        expect_released(fifo);
}

TEST_IN_ALL_MODES(bash_leaves_background_processes_and_shows_what_it_ran) {
        const struct site *s = *state;
        _cleanup_close_ int fifo = open_fifo_of(s, "fifo");
        _cleanup_free_ char *id = START_PLAIN(s);
        _cleanup_outcome_ struct outcome o = {0};
        const char *const script = "exec 3>fifo; sleep 1000 >&3 2>&3 & echo started";

        NSRUN_IN(s->root, &o, "bash", "--session", id, script);
        expect_status(&o, 0);
        expect_out(&o, "$ exec 3>fifo; sleep 1000 >&3 2>&3 & echo started\nstarted\n\n\nexit status: 0");
        expect_held(fifo);
        expect_good_join(s, id, "echo next", "next\n");
        expect_held(fifo);
        end_session(s, id, "stop");
        expect_released(fifo);
}

TEST_IN_ALL_MODES(a_server_answers_the_next_command) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *ask = path_of(s->project, "ask"),
                            *answer = path_of(s->project, "answer");
        _cleanup_outcome_ struct outcome o = {0};

        assert_int_equal(mkfifo(ask, 0600), 0);
        assert_int_equal(mkfifo(answer, 0600), 0);
        JOIN_SCRIPT(s, id, &o,
                    "(while read x <ask; do echo \"you said $x\" >answer; done) >/dev/null 2>&1 &");
        expect_status(&o, 0);
        for (int i = 0; i < 3; i++)
                expect_good_join(s, id, "echo hello >ask; cat answer", "you said hello\n");
        end_session(s, id, "kill");
}

TEST_IN_ALL_MODES(kill_leftovers_ends_them_and_nobody_elses) {
        const struct site *s = *state;
        _cleanup_close_ int own = open_fifo_of(s, "own"), others = open_fifo_of(s, "others"),
                            left = open_fifo_of(s, "left");
        _cleanup_free_ char *id = START_PLAIN(s);
        _cleanup_outcome_ struct outcome o = {0};
        struct running neighbour;

        JOIN_SCRIPT(s, id, &o, "exec >left 2>&1; " AWAY "echo left");
        expect_status(&o, 0);
        SPAWN_JOINED(s, id, &neighbour, "--", "sh", "-c",
                     "exec 2>/dev/null; trap 'exit 4' TERM; (" AWAY "echo others) >others; echo ready; "
                     "while :; do sleep 0.02; done");
        await_line(neighbour.out, "ready\n");
        JOIN(s, id, &o, "--kill-leftovers", "--", "sh", "-c",
             "exec >own 2>&1; " AWAY COMETS "echo own; exit 5");
        expect_status(&o, 5);
        expect_released(own);
        await_line(left, "left\n");
        await_line(others, "others\n");
        expect_held(left);
        expect_held(others);
        assert_false(has_ended(neighbour.pidfd));
        send_signal(neighbour.pidfd, SIGTERM);
        outcome_clear(&o);
        finish(&neighbour, &o);
        expect_status(&o, 4);
        expect_held(left);
        end_session(s, id, "stop");
        expect_released(left);
        expect_released(others);
}

/* A comet of so many generations at most: where nobody reaps it, each of them keeps its number. */
#define SHORT_COMET                                  \
        "cat >short <<'X'\n"                         \
        "[ $1 -gt 0 ] && sh ./short $(($1 - 1)) &\n" \
        "X\n"                                        \
        "(setsid sh ./short 700 &) & (setsid sh ./short 700 &) & "

/* Where the session's pid 1 is held up, what has ended stays in the list of processes: that it is there, and
 * nothing else, doesn't say that it left nobody. */
TEST(kill_leftovers_ends_them_where_nobody_reaps) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s);
        _cleanup_close_ int init = session_pidfd(s, id, "init");
        _cleanup_free_ char *cpus = NULL;
        int n_alive = 0, n_told = 0;

        send_signal(init, SIGSTOP);
        for (int i = 0; i < 12; i++) {
                _cleanup_free_ char *name = text_of("own-%d", i),
                                    *script = text_of("exec >%s 2>&1; " SHORT_COMET "sleep 0.02; exit 5",
                                                      name);
                _cleanup_close_ int own = open_fifo_of(s, name);
                _cleanup_outcome_ struct outcome o = {0};
                struct pollfd end = {.fd = own, .events = POLLIN};
                bool is_alive;

                JOIN(s, id, &o, "--kill-leftovers", "--", "sh", "-c", script);
                expect_status(&o, 5);
                /* At once: they would end by themselves. */
                is_alive = poll(&end, 1, 0) != 1 || end.revents != POLLHUP;
                n_told += is_alive &&
                          strstr(o.err, "nsrun: note: not all that the command had started could be ended");
                n_alive += is_alive;
        }
        send_signal(init, SIGCONT);
        end_session(s, id, "stop");
        /* On user-mode-linux, where the looks are slower than comets, --kill-leftovers gives up after 5
         * seconds and says so; nowhere else. */
        cpus = file_text("/proc/cpuinfo");
        if (!cpus || !strstr(cpus, "User Mode Linux"))
                assert_int_equal(n_alive, 0);
        assert_int_equal(n_alive, n_told);
}

/* `tree` is a script that starts what is to die. */
static void expect_killed_whole(const struct site *s, const char *id, const char *tree) {
        _cleanup_close_ int own = open_fifo_of(s, "own"), others = open_fifo_of(s, "others");
        _cleanup_free_ char *script = text_of("exec >own 2>&1; %s echo ready; while :; do sleep 1000; done",
                                              tree),
                            *own_path = path_of(s->project, "own"),
                            *others_path = path_of(s->project, "others");
        _cleanup_outcome_ struct outcome o = {0};
        struct running r, neighbour;

        SPAWN_JOINED(s, id, &neighbour, "--", "sh", "-c",
                     "exec 2>/dev/null; trap 'exit 4' TERM; (" AWAY "echo others) >others; echo ready; "
                     "while :; do sleep 0.02; done");
        await_line(neighbour.out, "ready\n");
        await_line(others, "others\n");
        SPAWN_JOINED(s, id, &r, "--", "sh", "-c", script);
        await_line(own, "ready\n");
        send_signal(r.pidfd, SIGKILL);
        finish(&r, &o);
        expect_status(&o, 1000 + SIGKILL);
        expect_released(own);
        expect_held(others);
        assert_false(has_ended(neighbour.pidfd));
        send_signal(neighbour.pidfd, SIGTERM);
        outcome_clear(&o);
        finish(&neighbour, &o);
        expect_status(&o, 4);
        expect_held(others);
        expect_good_join(s, id, "echo on", "on\n");
        assert_int_equal(unlink(own_path), 0);
        assert_int_equal(unlink(others_path), 0);
}

TEST_IN_ALL_MODES(who_kills_the_waiting_nsrun_kills_the_whole_tree) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s);
        _cleanup_outcome_ struct outcome o = {0};

        expect_killed_whole(s, id, AWAY);
        expect_killed_whole(s, id, COMETS);
        expect_killed_whole(s, id, AWAY AWAY COMETS COMETS COMETS);
        /* Their reapers are ours to reap by now, and we haven't: that holds up nothing. */
        SESSION(s, &o, "kill", id);
        expect_status(&o, 0);
        collect_orphans();
}

/* What left its process group, session and ancestors goes, too, and comets. */
TEST_IN_ALL_MODES(a_deadline_ends_what_its_command_started_and_nobody_elses) {
        const struct site *s = *state;
        _cleanup_close_ int own = open_fifo_of(s, "own"), left = open_fifo_of(s, "left");
        _cleanup_free_ char *id = START_PLAIN(s);
        _cleanup_outcome_ struct outcome o = {0};
        const char *const script =
                "exec 3>own; (trap '' TERM; exec sleep 1000) & " AWAY COMETS "echo own >&3; exec sleep 1000";

        JOIN_SCRIPT(s, id, &o, "exec >left 2>&1; " AWAY "echo left");
        expect_status(&o, 0);
        await_line(left, "left\n");
        NSRUN_IN(s->root, &o, "bash", "--session", id, "--timeout", "1", script);
        expect_status(&o, 124);
        expect_released(own);
        expect_held(left);
        expect_good_join(s, id, "echo on", "on\n");
        end_session(s, id, "stop");
        expect_released(left);
}

/* As a developer's server is restarted.  The first command's end leaves no process of nsrun's behind. */
static void expect_restarts(const struct site *s, const char *option) {
        _cleanup_close_ int fifo = open_fifo_of(s, "fifo");
        _cleanup_free_ char *id = START(s, option), *path = path_of(s->project, "fifo");
        _cleanup_outcome_ struct outcome o = {0};

        JOIN_SCRIPT(s, id, &o, "exec >fifo 2>&1; sleep 888 & echo $! >pid; echo started");
        expect_status(&o, 0);
        await_line(fifo, "started\n");
        expect_good_join(
                s, id,
                "until [ \"$(cat /proc/$(cat pid)/comm)\" = sleep ]; do :; done; kill $(cat pid) && echo killed",
                "killed\n");
        expect_released(fifo);
        NSRUN_IN(s->root, &o, "bash", "--session", id, "exec 3>fifo; setsid sleep 888 >/dev/null 2>&1 &");
        expect_status(&o, 0);
        expect_held(fifo);
        expect_good_join(
                s, id,
                "until pkill -x sleep; do :; done; while pgrep -x sleep >/dev/null; do :; done; ps -e -o comm= | grep -v -e ps -e grep -e sh",
                "nsrun-init\n");
        expect_released(fifo);
        end_session(s, id, "stop");
        assert_int_equal(unlink(path), 0);
}

TEST(a_later_command_ends_what_an_earlier_one_started) {
        expect_restarts(*state, "--landlock=auto");
        expect_restarts(*state, "--landlock=off");
        expect_restarts(*state, "--net=none");
}

/* The neighbour goes, and so does all that runs; the reaper tells how. */
TEST(commands_signal_each_other) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s);
        _cleanup_outcome_ struct outcome o = {0};
        struct running neighbour;

        SPAWN_JOINED(s, id, &neighbour, "--", "sh", "-c",
                     "exec 2>/dev/null; trap 'exit 5' INT; echo ready; while :; do sleep 0.02; done");
        await_line(neighbour.out, "ready\n");
        JOIN_SCRIPT(s, id, &o, "kill -INT -1");
        expect_status(&o, 0);
        outcome_clear(&o);
        finish(&neighbour, &o);
        expect_status(&o, 5);
        SPAWN_JOINED(s, id, &neighbour, "--", "sh", "-c", "echo ready; exec sleep 1000");
        await_line(neighbour.out, "ready\n");
        JOIN_SCRIPT(s, id, &o, "kill -KILL -1");
        outcome_clear(&o);
        finish(&neighbour, &o);
        expect_status(&o, 128 + SIGKILL);
        assert_string_equal(o.err, "");
        expect_good_join(s, id, "echo on", "on\n");
        end_session(s, id, "stop");
}

/* The control: a signal to a process of one's own works, and 0 of a neighbour is refused. */
static void expect_no_signals(void **state) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s);
        _cleanup_outcome_ struct outcome o = {0};
        struct running neighbour;

        SPAWN_JOINED(s, id, &neighbour, "--", "sh", "-c",
                     "exec 2>/dev/null; trap 'exit 4' TERM; trap 'exit 5' INT; echo ready; "
                     "while :; do sleep 0.02; done");
        await_line(neighbour.out, "ready\n");
        JOIN_SCRIPT(
                s, id, &o,
                "n=0; for p in /proc/[0-9]*; do p=${p#/proc/}; [ $p = $$ ] && continue; "
                "kill -INT $p 2>/dev/null && n=$((n+1)); done; sleep 1000 & kill -KILL $! && echo own $n");
        expect_status(&o, 0);
        /* In a pid namespace of its own 1 is its reaper, which ignores that. */
        expect_out(&o, is_nested ? "own 1\n" : "own 0\n");
        JOIN_SCRIPT(s, id, &o, "trap '' TERM; kill -TERM -1; exit 0");
        assert_false(has_ended(neighbour.pidfd));
        send_signal(neighbour.pidfd, SIGTERM);
        outcome_clear(&o);
        finish(&neighbour, &o);
        expect_status(&o, 4);
        end_session(s, id, "stop");
}

TEST_WITH(no_command_signals_its_neighbour_where_they_are_isolated, isolated_setup, isolated_teardown) {
        expect_no_signals(state);
}

TEST_WITH(no_command_signals_its_neighbour_where_they_are_nested, nested_setup, nested_teardown) {
        expect_no_signals(state);
}

TEST_IN_ALL_MODES(a_session_ends_with_all_that_was_left) {
        static const char *const ways[] = {"stop", "kill"};
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
                _cleanup_close_ int fifo = open_fifo_of(s, ways[i]);
                _cleanup_free_ char *id = START_PLAIN(s),
                                    *script = text_of("exec >%s 2>&1; " AWAY COMETS "echo left", ways[i]);
                _cleanup_outcome_ struct outcome o = {0};

                JOIN_SCRIPT(s, id, &o, script);
                expect_status(&o, 0);
                end_session(s, id, ways[i]);
                expect_released(fifo);
                expect_nothing_left(s);
        }
}

int main(void) {
        return run_all_tests();
}

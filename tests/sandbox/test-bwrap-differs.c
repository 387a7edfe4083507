/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each command line of bwrap-cases.h under nsrun-bwrap and under Debian's bubblewrap 0.8.0,
 * by whoever runs this: everything that bwrap-run.c reports is the same, but for what is
 * excused below with its reason.  An excuse that nothing needs is a failure as well. */
#include "bwrap-cases.h"
#include "bwrap-differ.h"

#include <sched.h>
#include <sys/wait.h>

#define PARENTS(args)                                                                \
        {                                                                            \
                BY_ANYBODY, args, "[-+]path /* mode 40[0-7]?? *",                    \
                        "parents are 0755, as the manual says of them", false, false \
        }

static struct excuse excuses[] = {
        {BY_ANYBODY, "*", "+mount /*/sys ro,nosuid,nodev,*relatime proc root /sys rw",
         "/proc/sys is never writable", false, false},
        {BY_ROOT, "*", "[-+]open /proc/sys/kernel/domainname: *", "/proc/sys is never writable", false,
         false},
        {BY_ROOT, "--unshare-user --uid 5 --gid 6 --dev /dev *", "-mount /proc/[bi]* ro,*",
         "what nobody inside may write to is not covered", false, false},
        {BY_ANYBODY, "--symlink target /l --symlink other /l", "[-+]error *", "0.11.1 says what is there",
         false, false},
        {BY_ANYBODY, "*--lock-file /x/missing", "*", "a lock that can't be had ends the sandbox", false,
         false},
        {BY_ANYBODY, "*", "-mount /* rw,relatime *", "a mount that another one hides gets its flags as well",
         true, false},
        {BY_ANYBODY, "*bind / */dev*", "+mount /*/dev/* r[ow],nosuid,*",
         "a mount that another one hides gets its flags as well", true, false},
        {BY_ANYBODY, "*bind / /host*", "+mount /host/* r[ow],nosuid,*",
         "a mount that another one hides gets its flags as well", true, false},
        {BY_ANYBODY, "--dev-bind /dev /dev", "+mount /dev/* r[ow],nosuid,*",
         "a mount that another one hides gets its flags as well", true, false},
        {BY_ANYBODY, "*--userns %userns*",
         "-fd 2? -> user:", "the command gets no descriptor of a namespace", false, false},
        {BY_ROOT, "*--cap-*", "[-+]Cap*",
         "what is dropped stays dropped: 0.8.0 leaves root's bounding set, and exec gives all of it back",
         false, false},
        {BY_ROOT, "*--cap-*", "[-+]bounding set lacks *",
         "what is dropped stays dropped: 0.8.0 leaves root's bounding set, and exec gives all of it back",
         false, false},
        {BY_ANYBODY, "!--json-status-fd %w --ro-bind @/missing / -- true", "[-+]written to 20: *",
         "sources are opened before anything is started", false, false},
        {BY_ANYBODY, "--bind @/root / ^ --tmpfs /up/etc", "*", "\"..\" above the new root is the new root",
         false, false},
        {BY_ANYBODY, "--bind @/root / ^ --file %r:text /etc/link", "*",
         "no file is written through a link, as since 0.12", false, false},
        {BY_ANYBODY, "--symlink target /l --symlink target /l", "*",
         "0.11.1 takes an existing link with the same text for what was asked for", false, false},
        {BY_ANYBODY, "--bind @/root / ^ * /share*", "*",
         "an absolute link in the new root leads into the new root; 0.8.0 looks in a root of its own", false,
         false},
        {BY_A_USER, "*--dev *", "[-+]/proc/self/?id_map: *",
         "devpts is mounted without a second user namespace around it", false, false},
        {BY_A_USER, "*--dev *", "[-+]path */pts mode 40755 *",
         "devpts is mounted without a second user namespace around it", false, false},
        {BY_A_USER, "*--dev *", "[-+]make in */pts: *",
         "devpts is mounted without a second user namespace around it", false, false},
        {BY_ANYBODY, "--bind @/a /x --bind @/file /x/new/deeper", "[-+]tree /a/new mode 40*",
         "parents are 0755, as the manual says of them", false, false},
        PARENTS("--bind @/* /deep*"),
        PARENTS("--bind @//a /x//y///z"),
        PARENTS("--bind @/a x/y"),
        PARENTS("--bind @/a /x --bind @/file /x/new/deeper"),
        PARENTS("--symlink target /d/l"),
        PARENTS("--unshare-ipc --mqueue /d/q"),
        PARENTS("--unshare-pid --proc /p/q"),
        PARENTS("--dev /d/ev"),
};

static void compare_cases(const struct site *s, const struct bwrap_case *cases, size_t n) {
        const char *judge = judging_bwrap();
        size_t n_wrong = 0, n_run = 0;

        if (!judge)
                skip_because("skipped: bubblewrap 0.8.0 is not installed");
        deadline_seconds = 30;
        if (!bwrap_works_here(s, judge))
                skip_because("skipped: bubblewrap runs no static program here");
        for (size_t i = 0; i < n; i++)
                if (case_is_for_us(&cases[i])) {
                        n_wrong +=
                                bwrap_differs(s, judge, &cases[i], excuses, ARRAY_SIZE(excuses), true) > 0;
                        n_run++;
                }
        print_message("%zu command lines compared\n", n_run);
        if (n_wrong > 0)
                fail_msg("%zu of %zu command lines differ", n_wrong, n_run);
}

TEST(binds_are_as_bubblewraps) {
        compare_cases(*state, bind_cases, ARRAY_SIZE(bind_cases));
}

TEST(made_files_and_folders_are_as_bubblewraps) {
        compare_cases(*state, made_cases, ARRAY_SIZE(made_cases));
}

TEST(proc_dev_and_whole_roots_are_as_bubblewraps) {
        compare_cases(*state, special_cases, ARRAY_SIZE(special_cases));
}

TEST(namespaces_and_ids_are_as_bubblewraps) {
        compare_cases(*state, namespace_cases, ARRAY_SIZE(namespace_cases));
}

TEST(privileges_and_filters_are_as_bubblewraps) {
        compare_cases(*state, privilege_cases, ARRAY_SIZE(privilege_cases));
}

TEST(the_environment_and_the_folder_are_as_bubblewraps) {
        compare_cases(*state, environment_cases, ARRAY_SIZE(environment_cases));
}

TEST(processes_and_descriptors_are_as_bubblewraps) {
        compare_cases(*state, process_cases, ARRAY_SIZE(process_cases));
}

TEST(command_lines_are_refused_as_by_bubblewrap) {
        compare_cases(*state, refusal_cases, ARRAY_SIZE(refusal_cases));
}

TEST(options_given_twice_are_as_with_bubblewrap) {
        compare_cases(*state, repeated_cases, ARRAY_SIZE(repeated_cases));
}

TEST(help_lists_every_option_of_bubblewraps) {
        const char *const theirs[] = {judging_bwrap(), "--help", NULL}, *const ours[] = {our_bwrap(),
                                                                                         "--help", NULL};
        _cleanup_outcome_ struct outcome a = {0}, b = {0};
        _cleanup_free_ char *usage = text_of("usage: %s [OPTIONS...] [--] COMMAND [ARGS...]\n", our_bwrap());
        size_t n = 0;

        if (!judging_bwrap())
                skip_because("skipped: bubblewrap 0.8.0 is not installed");
        run(&(struct request){.argv = theirs}, &a);
        run(&(struct request){.argv = ours}, &b);
        expect_status(&b, 0);
        assert_string_equal(b.err, "");
        assert_true(strncmp(b.out, usage, strlen(usage)) == 0);
        for (const char *at = a.out; (at = strstr(at, "\n    --")); at++, n++) {
                /* The option and its operands, up to the explanation. */
                size_t length = strcspn(at + 5, "\n");
                const char *explanation = strstr(at + 5, "  ");
                _cleanup_free_ char *option = NULL;

                if (explanation && (size_t)(explanation - at - 5) < length)
                        length = (size_t)(explanation - at - 5);
                option = text_of("\n    %.*s", (int)length, at + 5);
                expect_in(b.out, option);
        }
        assert_true(n > 60);
}

/* A descriptor is read to its end by the first that names it. */
TEST(a_descriptor_that_is_given_twice_is_as_with_bubblewrap) {
        static const char script[] =
                "\"$0\" --ro-bind / / --tmpfs /mnt --ro-bind-data 5 /mnt/a --ro-bind-data 5 /mnt/b "
                "cat /mnt/a /mnt/b 5<file; echo $?";
        const struct site *s = *state;
        const char *const programs[] = {our_bwrap(), judging_bwrap()};
        struct outcome both[2] = {{0}, {0}};

        if (!judging_bwrap())
                skip_because("skipped: bubblewrap 0.8.0 is not installed");
        make_file(s->project, "file", "text\n");
        for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
                const char *const argv[] = {"sh", "-c", script, programs[i], NULL};

                run(&(struct request){.argv = argv, .cwd = s->project}, &both[i]);
        }
        assert_string_equal(both[0].out, both[1].out);
        outcome_clear(&both[0]);
        outcome_clear(&both[1]);
}

/* In a session of its own the command gets none of the terminal's signals, and isn't ended with who started
 * it. */
TEST(an_interrupt_leaves_the_command_of_a_new_session_as_with_bubblewrap) {
        static const char script[] =
                "exec \"$0\" --ro-bind / / --dev-bind /dev /dev --proc /proc --unshare-pid "
                "--new-session sh -c 'echo ready; read x <go; echo \"left $x\"'";
        const struct site *s = *state;
        const char *const programs[] = {our_bwrap(), judging_bwrap()};
        _cleanup_free_ char *go = path_of(s->project, "go");

        if (!judging_bwrap())
                skip_because("skipped: bubblewrap 0.8.0 is not installed");
        assert_int_equal(mkfifo(go, 0600), 0);
        for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
                const char *const argv[] = {"sh", "-c", script, programs[i], NULL};
                _cleanup_outcome_ struct outcome o = {0};
                struct running running;
                siginfo_t end = {.si_pid = 0};
                FILE *f;

                spawn(&(struct request){.argv = argv, .cwd = s->project}, &running);
                await_line(running.out, "ready\n");
                assert_int_equal(kill(running.pid, SIGINT), 0);
                assert_int_equal(waitid(P_PID, (id_t)running.pid, &end, WEXITED | WNOWAIT), 0);
                f = fopen(go, "w");
                assert_non_null(f);
                (void)fputs("alone\n", f);
                (void)fclose(f);
                finish(&running, &o);
                expect_status(&o, 1000 + SIGINT);
                expect_out(&o, "left alone\n");
                collect_orphans();
        }
}

/* Runs last. */
TEST(every_excuse_is_needed) {
        if (!judging_bwrap())
                skip_because("skipped: bubblewrap 0.8.0 is not installed");
        expect_no_idle(excuses, ARRAY_SIZE(excuses));
}

int main(void) {
        /* Root's --mqueue shows the host's queues: what a command line makes or changes there would stay. */
        if (geteuid() == 0 && unshare(CLONE_NEWIPC) < 0)
                return 1;
        return run_all_tests();
}

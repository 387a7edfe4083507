/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "no-sandbox": the same calls with nothing around the command, which says so wherever its end is told, and
 * which nothing but the host's own call leads to. */
#include <sys/wait.h>

#include "library.h"
#include "stage.h"

#define WARNING                                                                                     \
        "--no-sandbox: the command runs as you and reads what you can: ~/.ssh, cloud credentials, " \
        "browser sessions; leave --no-sandbox away, or have a container around it"
#define TOLD "no sandbox: it ran as the user, with all files and the network of the machine"

static struct nsrun_policy *plain_policy(const struct site *s, const char *script) {
        struct nsrun_policy *policy = make_policy(s, OPTIONS("sh", "-c", script));
        struct nsrun_error err = {0};

        expect_good(nsrun_policy_set(policy, "no-sandbox", NULL, &err), &err);
        return policy;
}

/* Takes the policy over. */
static struct nsrun_sandbox *start_with(struct nsrun_policy *policy,
                                        const struct nsrun_start_options *options) {
        struct nsrun_plan *plan = NULL;
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_error err = {0};

        expect_good(nsrun_plan_new(policy, &plan, &err), &err);
        expect_good(nsrun_start(plan, options, &sandbox, &err), &err);
        (void)nsrun_plan_free(plan);
        (void)nsrun_policy_free(policy);
        return sandbox;
}

static struct nsrun_sandbox *start_plain(const struct site *s, const char *script) {
        return start_with(plain_policy(s, script), NULL);
}

/* Out of the way of the number that is passed. */
static void make_pipe(int ends[2]) {
        int made[2];

        assert_int_equal(pipe2(made, O_CLOEXEC), 0);
        for (int i = 0; i < 2; i++) {
                ends[i] = fcntl(made[i], F_DUPFD_CLOEXEC, 20);
                assert_true(ends[i] >= 0);
                (void)close(made[i]);
        }
}

static void expect_pipe(int fd, const char *expected) {
        char text[256];
        size_t n = 0;
        ssize_t got;

        while (n < sizeof(text) - 1 && (got = read(fd, text + n, sizeof(text) - 1 - n)) > 0)
                n += (size_t)got;
        text[n] = '\0';
        assert_string_equal(text, expected);
        (void)close(fd);
}

TEST(it_has_pipes_and_all_files_and_says_what_it_is) {
        const struct site *s = *state;
        _cleanup_free_ char *script = text_of("cat; cat %s/secret; echo \"$A_TOKEN $PWD\"; echo seven >&7; "
                                              "exit 3",
                                              s->outside),
                            *expected = text_of("typed\nthe key\nshown %s\n", s->project);
        struct nsrun_start_options options = NSRUN_START_OPTIONS_INIT;
        struct nsrun_policy *policy = make_policy(s, OPTIONS("sh", "-c", script));
        struct nsrun_sandbox *sandbox;
        const char *const *notes;
        struct nsrun_error err = {0};
        int in[2], out[2], more[2];

        make_file(s->outside, "secret", "the key\n");
        assert_int_equal(setenv("A_TOKEN", "shown", 1), 0);
        for (int round = 0; round < 2; round++) {
                make_pipe(in);
                make_pipe(out);
                make_pipe(more);
                assert_int_equal(dup2(more[1], 7), 7);
                assert_int_equal(fcntl(7, F_SETFD, FD_CLOEXEC), 0);
                options.stdio[0] = in[0];
                options.stdio[1] = out[1];
                options.pass_fds = (const int[]){7};
                options.n_pass_fds = 1;
                if (round == 1) {
                        expect_good(nsrun_policy_set(policy, "no-sandbox", NULL, &err), &err);
                        sandbox = start_with(policy, &options);
                } else {
                        struct nsrun_plan *plan = NULL;

                        expect_good(nsrun_plan_new(policy, &plan, &err), &err);
                        expect_good(nsrun_start(plan, &options, &sandbox, &err), &err);
                        (void)nsrun_plan_free(plan);
                }
                (void)close(in[0]);
                (void)close(out[1]);
                (void)close(more[1]);
                (void)close(7);
                assert_int_equal(write(in[1], "typed\n", 6), 6);
                (void)close(in[1]);
                expect_pipe(more[0], "seven\n");
                assert_int_equal(nsrun_sandbox_is_confined(sandbox), round == 0);
                notes = nsrun_sandbox_notes(sandbox);
                if (round == 1) {
                        expect_pipe(out[0], expected);
                        assert_string_equal(notes[0], WARNING);
                        assert_null(notes[1]);
                } else {
                        /* The control: neither the file nor the variable. */
                        _cleanup_free_ char *confined = text_of("typed\n %s\n", s->project);

                        expect_pipe(out[0], confined);
                        assert_string_equal(notes[0],
                                            "variables that look like secrets are withheld from the command "
                                            "(--env NAME passes one): A_TOKEN");
                        assert_null(notes[1]);
                }
                expect_end(sandbox, 3, 0);
                assert_null(nsrun_sandbox_free(sandbox));
        }
        (void)unsetenv("A_TOKEN");
}

/* ------------------------------------------------------------------------------ ends */

TEST(signals_and_ends_reach_all_that_it_started_and_nobody_else) {
        const struct site *s = *state;
        pid_t bystander = fork();
        struct nsrun_sandbox *sandbox;
        siginfo_t info = {.si_pid = 0};
        int fd;

        assert_true(bystander >= 0);
        if (bystander == 0) {
                (void)pause();
                _exit(1);
        }
        sandbox = start_plain(s, "kill -TERM $$");
        expect_end(sandbox, -1, SIGTERM);
        assert_int_equal(nsrun_sandbox_kill(sandbox, SIGTERM), -ESRCH);
        assert_null(nsrun_sandbox_free(sandbox));

        fd = open_fifo(s);
        sandbox = start_plain(s, "trap 'exit 9' TERM; exec >fifo; setsid sleep 1000 & echo ready; wait");
        expect_ready(fd);
        expect_alive(fd);
        assert_int_equal(nsrun_sandbox_kill(sandbox, SIGTERM), 0);
        /* What it left behind is gone when its end is told. */
        expect_end(sandbox, 9, 0);
        expect_all_gone(fd);
        assert_null(nsrun_sandbox_free(sandbox));
        (void)close(fd);

        fd = open_fifo(s);
        sandbox = start_plain(s, waiting);
        expect_ready(fd);
        assert_int_equal(nsrun_sandbox_kill(sandbox, SIGKILL), 0);
        expect_end(sandbox, -1, SIGKILL);
        expect_all_gone(fd);
        assert_null(nsrun_sandbox_free(sandbox));
        (void)close(fd);

        fd = open_fifo(s);
        sandbox = start_plain(s, waiting);
        expect_ready(fd);
        assert_null(nsrun_sandbox_free(sandbox));
        expect_all_gone(fd);
        (void)close(fd);

        assert_int_equal(waitid(P_PID, (id_t)bystander, &info, WEXITED | WNOHANG), 0);
        assert_int_equal(info.si_pid, 0);
        assert_int_equal(kill(bystander, SIGKILL), 0);
        assert_int_equal(waitid(P_PID, (id_t)bystander, &info, WEXITED), 0);
}

/* One of the command's own children has ended before it, and is reaped after it. */
TEST(the_end_that_is_told_is_the_commands) {
        const struct site *s = *state;
        int fd = open_fifo(s);
        struct nsrun_sandbox *sandbox = start_plain(s, "(echo ready; exit 5) >fifo & exec sleep 1000");

        expect_ready(fd);
        expect_all_gone(fd);
        assert_int_equal(nsrun_sandbox_kill(sandbox, SIGKILL), 0);
        expect_end(sandbox, -1, SIGKILL);
        assert_null(nsrun_sandbox_free(sandbox));
        (void)close(fd);
}

TEST(it_ends_with_its_host) {
        const struct site *s = *state;
        int fd = open_fifo(s);
        siginfo_t info;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                (void)start_plain(s, waiting);
                (void)pause();
                _exit(1);
        }
        expect_ready(fd);
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED), 0);
        expect_all_gone(fd);
        (void)close(fd);
        collect_orphans();
}

/* ------------------------------------------------------------------------------ bash */

TEST(bash_has_its_deadline_and_its_result_says_it) {
        const struct site *s = *state;
        struct nsrun_policy *policy = plain_policy(s, ":"), *confined = make_policy(s, OPTIONS(":"));
        _cleanup_free_ char *command = text_of("cat %s/secret", s->outside), *text = NULL, *json = NULL,
                            *expected = text_of("$ %s\nthe key\n\n\nexit status: 0\n" TOLD, command);
        struct nsrun_bash_options options = NSRUN_BASH_OPTIONS_INIT;
        struct nsrun_bash_result result = NSRUN_BASH_RESULT_INIT;
        struct nsrun_error err = {0};

        make_file(s->outside, "secret", "the key\n");
        expect_good(nsrun_bash(confined, command, NULL, &result, &err), &err);
        assert_int_equal(result.status, 1);
        assert_int_equal(result.no_sandbox, 0);
        nsrun_bash_result_clear(&result);
        expect_good(nsrun_bash(policy, command, NULL, &result, &err), &err);
        assert_int_equal(result.no_sandbox, 1);
        assert_string_equal(result.notes[0], WARNING);
        assert_null(result.notes[1]);
        expect_good(nsrun_bash_format(&result, NULL, NSRUN_FORMAT_TEXT, &text, NULL, &err), &err);
        assert_string_equal(text, expected);
        expect_good(nsrun_bash_format(&result, NULL, NSRUN_FORMAT_JSON, &json, NULL, &err), &err);
        expect_in(json, "\"sandbox\":false");
        nsrun_bash_result_clear(&result);

        options.timeout = 1;
        expect_good(nsrun_bash(policy, "echo a; setsid sleep 1000 & sleep 1000", &options, &result, &err),
                    &err);
        assert_int_equal(result.timed_out, 1);
        assert_int_equal(result.signal, SIGTERM);
        free(text);
        expect_good(nsrun_bash_format(&result, NULL, NSRUN_FORMAT_TEXT, &text, NULL, &err), &err);
        assert_string_equal(text, "Error: command timed out after 1s (sent SIGTERM, then SIGKILL).\n\n"
                                  "$ echo a; setsid sleep 1000 & sleep 1000\na\n\n\n" TOLD);
        nsrun_bash_result_clear(&result);
        /* Its bash is called as it is in a sandbox. */
        expect_good(nsrun_bash(policy, "echo $0; nonesuch", NULL, &result, &err), &err);
        assert_string_equal(result.output, "bash\nbash: line 1: nonesuch: command not found\n");
        nsrun_bash_result_clear(&result);
        free(text);
        expect_good(nsrun_bash_describe(policy, NULL, NSRUN_FORMAT_TEXT, &text, &err), &err);
        expect_in(text, "- There is no sandbox: it runs as the user, with all files and the network");
        (void)nsrun_policy_free(confined);
        (void)nsrun_policy_free(policy);
}

TEST(a_plan_says_it) {
        const struct site *s = *state;
        struct nsrun_policy *policy = plain_policy(s, ":");
        struct nsrun_plan *plan = NULL;
        _cleanup_free_ char *text = NULL, *json = NULL,
                            *expected = text_of("command     sh -c :\n"
                                                "project     %s\n"
                                                "directory   %s\n"
                                                "sandbox     NONE: " WARNING "\n"
                                                "session     new\n"
                                                "withheld    nothing\n",
                                                s->project, s->project);
        struct nsrun_error err = {0};

        expect_good(nsrun_plan_new(policy, &plan, &err), &err);
        expect_good(nsrun_plan_format(plan, NSRUN_FORMAT_TEXT, &text, &err), &err);
        assert_string_equal(text, expected);
        expect_good(nsrun_plan_format(plan, NSRUN_FORMAT_JSON, &json, &err), &err);
        expect_in(json, "\"sandbox\": false,");
        expect_in(json, "\"namespaces\": [");
        free(TAKE_PTR(text));
        expect_error(nsrun_plan_format(plan, NSRUN_FORMAT_BWRAP, &text, &err), -EINVAL, NSRUN_STAGE_USAGE,
                     &err,
                     "without a sandbox there is no bubblewrap command: Invalid argument; leave "
                     "--no-sandbox out");
        (void)nsrun_plan_free(plan);
        (void)nsrun_policy_free(policy);
}

/* -------------------------------------------------------------------------- refusals */

TEST(what_contradicts_it_is_refused) {
        static const struct {
                const char *option, *value, *line;
        } cases[] = {
#define BESIDE(what, why) what " can't be had with --no-sandbox: " why "; leave one of the two out"
#define CONFINED(what)    BESIDE(what, "nothing is confined")
                {"ro", "/usr", CONFINED("--ro")},
                {"rw", ".", CONFINED("--rw")},
                {"overlay", ".", CONFINED("--overlay")},
                {"bind", "/usr:/x", CONFINED("--bind")},
                {"symlink", "a:/b", CONFINED("--symlink")},
                {"tmp", "scratch", CONFINED("--tmp")},
                {"tmpfs", "/x", CONFINED("--tmpfs")},
                {"uid", "0", CONFINED("--uid")},
                {"net", "none", CONFINED("--net")},
                {"net", "host", CONFINED("--net")},
                {"seccomp", "none", CONFINED("--seccomp")},
                {"landlock", "off", CONFINED("--landlock")},
                {"hostname", "x", CONFINED("--hostname")},
                {"profile", "code", CONFINED("--profile")},
                {"instance", "/x", CONFINED("--instance")},
                {"kill-leftovers", NULL,
                 "--kill-leftovers is for commands in a session: Invalid argument; name one with --session; "
                 "without, all ends with the command"},
                {"no-project", NULL, BESIDE("--no-project", "there is no empty folder to run in")},
                {"session", "some",
                 "--no-sandbox can't be given with --session: what a session's commands may do was decided "
                 "when it was started: some; leave it out, or start another session "
                 "with it"},
                /* The control. */
                {"env", "A=b", NULL},
                {"unsetenv", "A", NULL},
                {"clean-env", NULL, NULL},
                {"chdir", "/", NULL},
                {"no-new-session", NULL, NULL},
                {"limit", "nofile=64", NULL},
        };
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct nsrun_policy *policy = NULL;
                struct nsrun_plan *plan = NULL;
                struct nsrun_error err = {0};
                bool is_session = streq(cases[i].option, "session");

                /* Without the project: a session takes none. */
                assert_int_equal(nsrun_policy_new(&policy), 0);
                if (!is_session && !streq(cases[i].option, "no-project"))
                        expect_good(nsrun_policy_set(policy, "project", s->project, &err), &err);
                expect_good(nsrun_policy_set_command(policy, OPTIONS("true"), &err), &err);
                expect_good(nsrun_policy_set(policy, cases[i].option, cases[i].value, &err), &err);
                expect_good(nsrun_policy_set(policy, "no-sandbox", NULL, &err), &err);
                if (cases[i].line)
                        expect_error(nsrun_plan_new(policy, &plan, &err), is_session ? -EPERM : -EINVAL,
                                     is_session ? NSRUN_STAGE_POLICY : NSRUN_STAGE_USAGE, &err,
                                     cases[i].line);
                else
                        expect_good(nsrun_plan_new(policy, &plan, &err), &err);
                (void)nsrun_plan_free(plan);
                (void)nsrun_policy_free(policy);
        }
}

TEST(a_session_and_an_instance_are_sandboxes) {
        const struct site *s = *state;
        struct nsrun_isolation_config config = NSRUN_ISOLATION_CONFIG_INIT;
        _cleanup_free_ char *root = path_of(s->home, "instance"), *id = NULL;
        struct nsrun_policy *policy = plain_policy(s, ":");
        struct nsrun_isolation *isolation = NULL;
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_error err = {0};

        expect_error(nsrun_session_start(policy, NULL, &id, NULL, &err), -EINVAL, NSRUN_STAGE_USAGE, &err,
                     BESIDE("a session", "it is a sandbox for many commands"));
        config.enabled = 1;
        config.root = root;
        assert_int_equal(nsrun_isolation_new(&isolation), 0);
        assert_int_equal(nsrun_isolation_configure(isolation, &config), 0);
        expect_error(nsrun_isolation_start(isolation, policy, NULL, &sandbox, &err), -EINVAL,
                     NSRUN_STAGE_USAGE, &err, CONFINED("the instance profile"));
        (void)nsrun_isolation_free(isolation);
        (void)nsrun_policy_free(policy);
}

TEST(a_workspace_that_allows_everything_is_for_it) {
        const struct site *s = *state;
        struct nsrun_workspace *all = NULL, *own = NULL;
        struct nsrun_policy *policy = NULL;
        struct nsrun_plan *plan = NULL;
        struct nsrun_error err = {0};

        assert_int_equal(nsrun_policy_new(&policy), 0);
        expect_good(nsrun_policy_set_command(policy, OPTIONS("true"), &err), &err);
        /* Of a home folder no sandbox is made. */
        expect_good(nsrun_workspace_new_allow_all(s->home, &all, &err), &err);
        assert_int_equal(nsrun_policy_set_workspace(policy, all, &err), -EPERM);
        memset(&err, 0, sizeof(err));
        expect_good(nsrun_policy_set(policy, "no-sandbox", NULL, &err), &err);
        expect_good(nsrun_policy_set_workspace(policy, all, &err), &err);
        expect_good(nsrun_plan_new(policy, &plan, &err), &err);
        plan = nsrun_plan_free(plan);
        /* Its file tools and the command would mean two folders by /tmp. */
        expect_good(nsrun_workspace_new(s->project, &own, &err), &err);
        expect_good(nsrun_workspace_set_temp(own, 1, &err), &err);
        expect_good(nsrun_policy_set_workspace(policy, own, &err), &err);
        expect_error(nsrun_plan_new(policy, &plan, &err), -EINVAL, NSRUN_STAGE_USAGE, &err,
                     BESIDE("a workspace's temp as /tmp", "the command has the host's /tmp"));
        expect_good(nsrun_workspace_set_temp(own, 0, &err), &err);
        expect_good(nsrun_policy_set_workspace(policy, own, &err), &err);
        expect_good(nsrun_plan_new(policy, &plan, &err), &err);
        (void)nsrun_plan_free(plan);
        (void)nsrun_policy_free(policy);
        (void)nsrun_workspace_free(own);
        (void)nsrun_workspace_free(all);
}

/* --------------------------------------------------------------- no other way to it */

TEST(no_configuration_leads_to_it) {
        static const char *const keys[] = {"no-sandbox", "no_sandbox", "sandbox"};
        const struct site *s = *state;
        _cleanup_free_ char *file = path_of(s->outside, "c.json");

        for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
                _cleanup_free_ char *text = text_of("{\"%s\": true}", keys[i]),
                                    *line = text_of("nsrun: %s:1:2: unknown key: %s; nsrun.conf(5) "
                                                    "has them all",
                                                    file, keys[i]);
                _cleanup_outcome_ struct outcome o = {0};

                make_file(s->outside, "c.json", text);
                RUN(s, &o, "--config", file, "--", "true");
                expect_refusal(&o, 125, line);
        }
}

/* Where no sandbox can be had nothing runs but what was asked for without one. */
TEST(a_host_without_user_namespaces_runs_what_was_asked_for_without_a_sandbox) {
        const struct site *s = *state;
        int status = -1;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                struct nsrun_policy *plain = plain_policy(s, ":"), *confined = make_policy(s, OPTIONS(":"));
                struct nsrun_bash_result result = NSRUN_BASH_RESULT_INIT;
                struct nsrun_error err = {0};

                stage_enter();
                stage_write("/proc/sys/user/max_user_namespaces", "0");
                if (nsrun_bash(confined, "touch ran", NULL, &result, &err) >= 0 ||
                    err.stage != NSRUN_STAGE_NAMESPACE || access("ran", F_OK) == 0)
                        _exit(11);
                memset(&err, 0, sizeof(err));
                if (nsrun_bash(plain, "echo ran", NULL, &result, &err) < 0)
                        stage_fail(err.what);
                _exit(streq(result.output, "ran\n") && result.no_sandbox == 1 ? 0 : 12);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
}

/* ------------------------------------------------------------------------ the program */

TEST(run_warns_and_tells_its_status) {
        const struct site *s = *state;
        _cleanup_free_ char *script = text_of("cat %s/secret; exit 4", s->outside);
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->outside, "secret", "the key\n");
        RUN(s, &o, "--", "sh", "-c", script);
        expect_status(&o, 4);
        expect_out(&o, "");
        RUN(s, &o, "--no-sandbox", "--", "sh", "-c", script);
        expect_status(&o, 4);
        expect_out(&o, "the key\n");
        assert_string_equal(o.err, "nsrun: warning: " WARNING "\n");
        RUN(s, &o, "--no-sandbox", "--status-fd", "1", "--", "true");
        expect_in(o.out, "{\"event\":\"note\",\"message\":\"--no-sandbox: the command runs as you");
        expect_in(o.out, "\"sandbox\":false");
        expect_in(o.out, "{\"event\":\"exited\",\"code\":0}");
        RUN(s, &o, "--no-sandbox", "--", "no-such-command");
        expect_status(&o, 127);
        expect_in(o.err, "nsrun: command not found: no-such-command: No such file or directory; it is in no "
                         "folder of PATH: install it\n");
}

TEST(resolve_has_no_answer_without_a_sandbox) {
        const struct site *s = *state;
        const char *const plain[] = {program(),  "resolve", "--no-sandbox", "--project",
                                     s->project, "--read",  "file",         NULL},
                          *const confined[] = {program(), "resolve", "--project", s->project,
                                               "--read",  "file",    NULL};
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = plain, .cwd = s->root}, &o);
        expect_refusal(&o, 125,
                       "nsrun: without a sandbox every path is the host's: Invalid argument; leave "
                       "--no-sandbox out");
        outcome_clear(&o);
        run(&(struct request){.argv = confined, .cwd = s->root}, &o);
        expect_status(&o, 0);
}

int main(void) {
        return run_all_tests();
}

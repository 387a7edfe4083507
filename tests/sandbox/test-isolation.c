/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The library's isolation, as an agent host uses it: configured, checked before anything
 * runs, and started; enabled, and not. */
#include "library.h"

#include <signal.h>
#include <sys/wait.h>

#include "stage.h"

static struct nsrun_isolation *make(const struct nsrun_isolation_config *config) {
        struct nsrun_isolation *isolation = NULL;

        assert_int_equal(nsrun_isolation_new(&isolation), 0);
        if (config)
                assert_int_equal(nsrun_isolation_configure(isolation, config), 0);
        return isolation;
}

static struct nsrun_policy *script_policy(const struct site *s, const char *script) {
        return make_policy(s, OPTIONS("sh", "-c", script));
}

static void run_script(const struct site *s, const struct nsrun_isolation *isolation, const char *script,
                       int code) {
        struct nsrun_policy *policy = script_policy(s, script);
        struct nsrun_error err = {0};
        struct nsrun_exit end = {0};

        expect_good(nsrun_isolation_run(isolation, policy, NULL, &end, &err), &err);
        assert_int_equal(end.signal, 0);
        assert_int_equal(end.code, code);
        (void)nsrun_policy_free(policy);
}

TEST(a_new_isolation_is_off_and_keeps_what_it_is_told) {
        static const struct nsrun_expose_path paths[] = {{"/a/../b", "", "ro"}};
        const struct site *s = *state;
        struct nsrun_isolation_config config = {.size = sizeof(config),
                                                .enabled = 1,
                                                .root = s->outside,
                                                .expose_paths = paths,
                                                .n_expose_paths = 1};
        struct nsrun_isolation *isolation = make(NULL);
        struct nsrun_isolation_config now = NSRUN_ISOLATION_CONFIG_INIT;

        config.workspace = s->project;

        nsrun_isolation_current(isolation, &now);
        assert_int_equal(now.enabled, 0);
        assert_null(now.root);
        assert_int_equal(now.n_expose_paths, 0);
        assert_int_equal(nsrun_isolation_configure(isolation, &config), 0);
        nsrun_isolation_current(isolation, &now);
        assert_int_equal(now.enabled, 1);
        assert_string_equal(now.root, s->outside);
        assert_string_equal(now.workspace, s->project);
        assert_int_equal(now.n_expose_paths, 1);
        assert_string_equal(now.expose_paths[0].source, "/b");
        assert_string_equal(now.expose_paths[0].target, "/b");
        /* A program of the release that had no workspace. */
        config.size = now.size = offsetof(struct nsrun_isolation_config, workspace);
        assert_int_equal(nsrun_isolation_configure(isolation, &config), 0);
        now.workspace = s->home;
        nsrun_isolation_current(isolation, &now);
        assert_string_equal(now.workspace, s->home);
        now.size = sizeof(now);
        nsrun_isolation_current(isolation, &now);
        assert_null(now.workspace);
        assert_null(nsrun_isolation_free(isolation));
        assert_null(nsrun_isolation_free(NULL));
}

TEST(an_enabled_isolation_runs_in_the_instance) {
        const struct site *s = *state;
        _cleanup_free_ char *root = path_of(s->root, "instance"), *shown = path_of(s->root, "shown");
        const struct nsrun_expose_path paths[] = {{shown, "/shown", "ro"}};
        struct nsrun_isolation *isolation =
                make(&(struct nsrun_isolation_config){.size = sizeof(struct nsrun_isolation_config),
                                                      .enabled = 1,
                                                      .root = root,
                                                      .expose_paths = paths,
                                                      .n_expose_paths = 1});
        _cleanup_free_ char *home = text_of("[ $HOME = %s/runtime-user-env/home ]", root);
        struct nsrun_error err = {0};

        make_folder(s->root, "shown");
        make_file(shown, "f", "x");
        expect_good(nsrun_isolation_preflight(isolation, &err), &err);
        assert_int_equal(access(root, F_OK), 0);
        run_script(s, isolation, home, 0);
        run_script(s, isolation, "test -f /shown/f", 0);
        run_script(s, isolation, "echo w >/shown/w", 2);
        run_script(s, isolation, "exit 9", 9);
        (void)nsrun_isolation_free(isolation);
}

TEST(an_isolations_workspace_is_where_its_commands_work) {
        const struct site *s = *state;
        _cleanup_free_ char *root = path_of(s->root, "instance"), *workspace = path_of(s->root, "ws/deep");
        _cleanup_free_ char *usual = path_of(root, "workspace"), *note = path_of(workspace, "note");
        _cleanup_free_ char *in_it = text_of("[ $PWD = %s ] && echo w >note", workspace);
        _cleanup_free_ char *in_project = text_of("[ $PWD = %s ] && echo w >%s", s->project, note);
        struct nsrun_isolation *isolation =
                make(&(struct nsrun_isolation_config){.size = sizeof(struct nsrun_isolation_config),
                                                      .enabled = 1,
                                                      .root = root,
                                                      .workspace = workspace});
        struct nsrun_policy *policy = NULL;
        struct nsrun_error err = {0};
        struct nsrun_exit end = {0};

        expect_good(nsrun_isolation_preflight(isolation, &err), &err);
        assert_int_equal(access(workspace, F_OK), 0);
        assert_int_equal(access(root, F_OK), 0);
        assert_int_equal(access(usual, F_OK), -1);
        assert_int_equal(nsrun_policy_new(&policy), 0);
        assert_int_equal(nsrun_policy_set_command(policy, OPTIONS("sh", "-c", in_it), &err), 0);
        expect_good(nsrun_isolation_run(isolation, policy, NULL, &end, &err), &err);
        assert_int_equal(end.code, 0);
        assert_int_equal(access(note, F_OK), 0);
        (void)nsrun_policy_free(policy);
        run_script(s, isolation, in_project, 0);
        (void)nsrun_isolation_free(isolation);
}

TEST(a_planted_root_or_workspace_is_refused_before_anything_is_made) {
        const struct site *s = *state;
        _cleanup_free_ char *root = path_of(s->project, "instance"), *good = path_of(s->root, "instance");
        _cleanup_free_ char *said =
                text_of("the instance goes through a symlink in a writable folder: %s; it leads "
                        "to %s, and a command in the sandbox may have planted it: name the "
                        "real path",
                        root, s->outside);
        struct nsrun_isolation_config config = {.size = sizeof(config), .enabled = 1, .root = root};
        struct nsrun_isolation *isolation = make(&config);
        struct nsrun_policy *policy = script_policy(s, "true");
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_error err = {0};
        char *before = snapshot(s->outside);

        make_link(s->project, "instance", s->outside);
        expect_error(nsrun_isolation_start(isolation, policy, NULL, &sandbox, &err), -EPERM,
                     NSRUN_STAGE_POLICY, &err, said);
        config.root = good;
        config.workspace = root;
        free(said);
        said = text_of(
                "the instance's workspace goes through a symlink in a writable folder: %s; it leads to %s, "
                "and a command in the sandbox may have planted it: name the real path",
                root, s->outside);
        assert_int_equal(nsrun_isolation_configure(isolation, &config), 0);
        expect_error(nsrun_isolation_start(isolation, policy, NULL, &sandbox, &err), -EPERM,
                     NSRUN_STAGE_POLICY, &err, said);
        expect_unchanged(s->outside, before);
        assert_int_equal(access(good, F_OK), -1);
        config.workspace = NULL;
        assert_int_equal(nsrun_isolation_configure(isolation, &config), 0);
        run_script(s, isolation, "true", 0);
        (void)nsrun_policy_free(policy);
        (void)nsrun_isolation_free(isolation);
}

TEST(a_preflight_says_what_would_go_wrong) {
        static const struct nsrun_expose_path no_mode[] = {{"/a", "", "x"}};
        static const struct nsrun_expose_path all[] = {{"/", "/x", "ro"}};
        const struct site *s = *state;
        _cleanup_free_ char *root = path_of(s->root, "instance"), *link = path_of(root, "logs");
        _cleanup_free_ char *planted =
                text_of("a folder of the instance can't be made: %s: Too many levels of "
                        "symbolic links; something else is there, which a command may have "
                        "put there: remove it",
                        link);
        struct nsrun_isolation_config config = {.size = sizeof(config), .enabled = 1, .root = "."};
        struct nsrun_isolation *isolation = make(&config);
        struct nsrun_error err = {0};

        expect_error(
                nsrun_isolation_preflight(isolation, &err), -EINVAL, NSRUN_STAGE_POLICY, &err,
                "the instance root is relative: .; name an absolute path with --instance DIR or NSRUN_HOME");
        config = (struct nsrun_isolation_config){.size = sizeof(struct nsrun_isolation_config),
                                                 .enabled = 1,
                                                 .root = root,
                                                 .expose_paths = no_mode,
                                                 .n_expose_paths = 1};
        assert_int_equal(nsrun_isolation_configure(isolation, &config), 0);
        expect_error(nsrun_isolation_preflight(isolation, &err), -EINVAL, NSRUN_STAGE_POLICY, &err,
                     "expose_paths: the mode is neither ro nor rw: x; choose ro or rw");
        config.expose_paths = all;
        assert_int_equal(nsrun_isolation_configure(isolation, &config), 0);
        expect_error(nsrun_isolation_preflight(isolation, &err), -EPERM, NSRUN_STAGE_POLICY, &err,
                     "expose_paths would expose the whole file system: /; name the folders that the command "
                     "needs");
        config.n_expose_paths = 0;
        assert_int_equal(nsrun_isolation_configure(isolation, &config), 0);
        expect_good(nsrun_isolation_preflight(isolation, &err), &err);
        assert_int_equal(rmdir(link), 0);
        make_link(root, "logs", s->outside);
        expect_error(nsrun_isolation_preflight(isolation, &err), -ELOOP, NSRUN_STAGE_WORKSPACE, &err,
                     planted);
        expect_error(nsrun_isolation_prepare_root("x", &err), -EINVAL, NSRUN_STAGE_POLICY, &err,
                     "the instance root is relative: x; name an absolute path");
        (void)nsrun_isolation_free(isolation);
}

/* A service's working directory is "/", unless its unit says otherwise. */
TEST(a_preflight_says_of_a_working_directory_what_a_run_says) {
        static const char said[] = "a system root can't be the working directory: /; "
                                   "choose a folder with --project DIR, or use --no-project";
        const struct site *s = *state;
        _cleanup_free_ char *root = path_of(s->root, "instance"), *workspace = path_of(s->root, "ws");
        _cleanup_free_ char *here = getcwd(NULL, 0);
        struct nsrun_isolation_config config = {.size = sizeof(config), .enabled = 1, .root = root};
        struct nsrun_isolation *isolation = make(&config);
        struct nsrun_policy *policy = NULL;
        struct nsrun_error err = {0};
        struct nsrun_exit end = {0};

        assert_int_equal(nsrun_policy_new(&policy), 0);
        assert_int_equal(nsrun_policy_set_command(policy, OPTIONS("true"), &err), 0);
        assert_int_equal(chdir("/"), 0);
        expect_error(nsrun_isolation_preflight(isolation, &err), -EPERM, NSRUN_STAGE_POLICY, &err, said);
        assert_int_equal(access(root, F_OK), -1);
        expect_error(nsrun_isolation_run(isolation, policy, NULL, &end, &err), -EPERM, NSRUN_STAGE_POLICY,
                     &err, said);
        (void)nsrun_policy_free(policy);

        config.workspace = workspace;
        assert_int_equal(nsrun_isolation_configure(isolation, &config), 0);
        expect_good(nsrun_isolation_preflight(isolation, &err), &err);
        config.workspace = NULL;
        assert_int_equal(nsrun_isolation_configure(isolation, &config), 0);
        assert_int_equal(chdir(s->outside), 0);
        expect_good(nsrun_isolation_preflight(isolation, &err), &err);
        assert_int_equal(chdir(here), 0);
        (void)nsrun_isolation_free(isolation);
}

/* In a child, which becomes a host without user namespaces. */
TEST_IF(!IS_THREAD_SANITIZED, a_preflight_says_where_no_sandbox_can_be_had, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *root = path_of(s->root, "instance");
        struct nsrun_isolation *isolation = make(&(struct nsrun_isolation_config){
                .size = sizeof(struct nsrun_isolation_config), .enabled = 1, .root = root});
        struct nsrun_error err = {0};
        int status = -1;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                stage_enter();
                if (nsrun_isolation_preflight(isolation, &err) != 0)
                        _exit(10);
                stage_write("/proc/sys/user/max_user_namespaces", "0");
                if (nsrun_isolation_preflight(isolation, &err) >= 0)
                        _exit(11);
                if (err.stage != NSRUN_STAGE_NAMESPACE ||
                    strcmp(err.what, "user namespaces are switched off") != 0)
                        stage_fail(err.what);
                _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        expect_good(nsrun_isolation_preflight(isolation, &err), &err);
        (void)nsrun_isolation_free(isolation);
}

TEST(a_disabled_isolation_runs_plainly_and_notes_it) {
        const struct site *s = *state;
        struct nsrun_isolation *isolation = make(NULL);
        _cleanup_free_ char *script =
                text_of("[ $HOME = %s ] && [ $PWD = %s ] && exit 3", s->home, s->project);
        struct nsrun_policy *policy = script_policy(s, "kill -TERM $$");
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_error err = {0};

        expect_good(nsrun_isolation_preflight(isolation, &err), &err);
        run_script(s, isolation, script, 3);
        expect_good(nsrun_isolation_start(isolation, policy, NULL, &sandbox, &err), &err);
        assert_string_equal(nsrun_sandbox_notes(sandbox)[0],
                            "isolation is disabled: the command runs with no sandbox at all");
        assert_null(nsrun_sandbox_notes(sandbox)[1]);
        expect_end(sandbox, -1, SIGTERM);
        expect_end(sandbox, -1, SIGTERM);
        assert_int_equal(nsrun_sandbox_kill(sandbox, SIGTERM), -ESRCH);
        (void)nsrun_sandbox_free(sandbox);
        (void)nsrun_policy_free(policy);

        policy = script_policy(s, "exec sleep 1000");
        expect_good(nsrun_isolation_start(isolation, policy, NULL, &sandbox, &err), &err);
        assert_int_equal(nsrun_sandbox_kill(sandbox, SIGKILL), 0);
        expect_end(sandbox, -1, SIGKILL);
        (void)nsrun_sandbox_free(sandbox);
        /* What was never had is not given back: the host's standard input is its own. */
        assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
        /* The end of one that still runs comes with its free. */
        expect_good(nsrun_isolation_start(isolation, policy, NULL, &sandbox, &err), &err);
        (void)nsrun_sandbox_free(sandbox);
        (void)nsrun_policy_free(policy);

        policy = make_policy(s, OPTIONS("/no/such/command"));
        expect_error(
                nsrun_isolation_start(isolation, policy, NULL, &sandbox, &err), -ENOENT, NSRUN_STAGE_EXEC,
                &err,
                "command not found: /no/such/command: No such file or directory; it, or the interpreter "
                "it names, isn't there");
        (void)nsrun_policy_free(policy);
        (void)nsrun_isolation_free(isolation);
}

static void keep_line(void *data, const char *line) {
        char **kept = data;

        assert_null(*kept);
        *kept = strdup(line);
}

TEST(each_start_is_logged_once) {
        const struct site *s = *state;
        _cleanup_free_ char *root = path_of(s->root, "instance"), *line = NULL, *start = NULL;
        struct nsrun_isolation *isolation = make(&(struct nsrun_isolation_config){
                .size = sizeof(struct nsrun_isolation_config), .enabled = 1, .root = root});

        start = text_of("{\"level\":\"debug\",\"message\":\"linux isolation mount plan\",\"root\":\"%s\","
                        "\"command\":[\"sh\",\"-c\",\"exit 0\"],\"working_dir\":\"%s\",\"mounts\":[",
                        root, s->project);
        nsrun_isolation_set_log(isolation, keep_line, &line);
        run_script(s, isolation, "exit 0", 0);
        assert_non_null(line);
        expect_in(line, start);
        assert_null(strchr(line, '\n'));
        (void)nsrun_isolation_free(isolation);
}

TEST(a_prepared_command_can_be_planned) {
        const struct site *s = *state;
        _cleanup_free_ char *root = path_of(s->root, "instance"), *text = NULL, *resolved = NULL;
        struct nsrun_isolation *isolation = make(&(struct nsrun_isolation_config){
                .size = sizeof(struct nsrun_isolation_config), .enabled = 1, .root = root});
        struct nsrun_policy *policy = script_policy(s, "exit 0");
        struct nsrun_plan *plan = NULL;
        struct nsrun_error err = {0};

        expect_good(nsrun_isolation_resolve_root(isolation, &resolved, &err), &err);
        assert_string_equal(resolved, root);
        expect_good(nsrun_isolation_prepare_command(isolation, policy, &err), &err);
        /* A policy may be planned as often as one likes. */
        for (int i = 0; i < 2; i++) {
                plan = nsrun_plan_free(plan);
                free(text);
                text = NULL;
                expect_good(nsrun_plan_new(policy, &plan, &err), &err);
                expect_good(nsrun_plan_format(plan, NSRUN_FORMAT_TEXT, &text, &err), &err);
                expect_in(text, root);
        }
        assert_int_equal(access(root, F_OK), -1);
        (void)nsrun_plan_free(plan);
        (void)nsrun_policy_free(policy);
        (void)nsrun_isolation_free(isolation);
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The public functions: a sandbox's life from its start to its end, from threads
 * that come and go, and every failure in its words. */
#include <pthread.h>
#include <stdatomic.h>

#include "library.h"

enum {
        N_THREADS = 5,
        N_EACH = 10,
};

/* ----------------------------------------------------------------------- the life */

TEST(a_sandbox_ends_as_its_command_does) {
        const struct site *s = *state;
        struct nsrun_sandbox *sandbox;

        sandbox = start(s, "exit 7");
        expect_end(sandbox, 7, 0);
        /* Asked again, it says the same. */
        expect_end(sandbox, 7, 0);
        assert_int_equal(nsrun_sandbox_kill(sandbox, SIGTERM), -ESRCH);
        assert_null(nsrun_sandbox_free(sandbox));

        sandbox = start(s, "kill -TERM $$");
        expect_end(sandbox, -1, SIGTERM);
        assert_null(nsrun_sandbox_free(sandbox));
        assert_null(nsrun_sandbox_free(NULL));
}

TEST(a_signal_reaches_the_command) {
        const struct site *s = *state;
        _cleanup_close_ int fifo = open_fifo(s);
        struct nsrun_sandbox *sandbox = start(s, waiting);
        struct pollfd end = {.fd = nsrun_sandbox_pidfd(sandbox), .events = POLLIN};

        expect_ready(fifo);
        expect_alive(fifo);
        assert_int_equal(poll(&end, 1, 0), 0);
        assert_int_equal(nsrun_sandbox_kill(sandbox, SIGTERM), 0);
        expect_end(sandbox, -1, SIGTERM);
        assert_int_equal(poll(&end, 1, 0), 1);
        expect_all_gone(fifo);
        assert_null(nsrun_sandbox_free(sandbox));
}

TEST(a_killed_sandbox_says_so) {
        const struct site *s = *state;
        _cleanup_close_ int fifo = open_fifo(s);
        struct nsrun_sandbox *sandbox = start(s, waiting);
        struct nsrun_exit end = {.code = 99, .signal = 99};
        struct nsrun_error err = {0};
        _cleanup_free_ char *line = NULL;

        expect_ready(fifo);
        assert_int_equal(nsrun_sandbox_kill(sandbox, SIGKILL), 0);
        assert_int_equal(nsrun_sandbox_wait(sandbox, &end, &err), -EIO);
        assert_int_equal(end.code, 99);
        assert_int_equal(err.stage, NSRUN_STAGE_SUPERVISE);
        line = nsrun_error_format(&err);
        assert_string_equal(line, "the sandbox was killed, and the command with it: Input/output error");
        expect_all_gone(fifo);
        assert_null(nsrun_sandbox_free(sandbox));
}

TEST(free_ends_what_runs) {
        const struct site *s = *state;
        _cleanup_close_ int fifo = open_fifo(s);
        struct nsrun_sandbox *sandbox = start(s, waiting);

        expect_ready(fifo);
        expect_alive(fifo);
        assert_null(nsrun_sandbox_free(sandbox));
        expect_all_gone(fifo);
}

TEST(an_overlay_leaves_nothing_on_disk) {
        const struct site *s = *state;
        const char *const argv[] = {"sh", "-c", "echo x >\"$1\"/file && cat \"$1\"/file >seen",
                                    "sh", NULL, NULL};
        _cleanup_free_ char *layered = path_of(s->root, "layered"), *seen = path_of(s->project, "seen"),
                            *text = NULL, *left = NULL;
        struct nsrun_policy *policy;
        struct nsrun_plan *plan = NULL;
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_error err = {0};
        const char *with_folder[ARRAY_SIZE(argv)];

        make_folder(s->root, "layered");
        memcpy(with_folder, argv, sizeof(argv));
        with_folder[4] = layered;
        policy = make_policy(s, with_folder);
        assert_int_equal(nsrun_policy_set(policy, "overlay", layered, &err), 0);
        assert_int_equal(nsrun_plan_new(policy, &plan, &err), 0);
        assert_int_equal(nsrun_start(plan, NULL, &sandbox, &err), 0);
        assert_null(nsrun_plan_free(plan));
        assert_null(nsrun_policy_free(policy));
        expect_end(sandbox, 0, 0);
        assert_null(nsrun_sandbox_free(sandbox));
        text = file_text(seen);
        assert_string_equal(text, "x\n");
        assert_int_equal(rmdir(layered), 0);
        left = leftovers(s);
        assert_null(left);
}

/* ------------------------------------------------------------------------- asking */

static int answer_by_name(const char *name, const char *program, void *data) {
        char *asked = data;

        (void)snprintf(asked + strlen(asked), 256 - strlen(asked), "%s by %.6s; ", name, program);
        return streq(name, "yes.example.test");
}

TEST(a_host_is_asked_about_names_that_no_rule_covers) {
        static const char script[] =
                "getent hosts yes.example.test >/dev/null && ! getent hosts no.example.test && "
                "! getent hosts no.example.test";
        const struct site *s = *state;
        struct nsrun_policy *policy = make_policy(s, OPTIONS("sh", "-c", script));
        struct nsrun_start_options options = NSRUN_START_OPTIONS_INIT;
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_plan *plan = NULL;
        struct nsrun_error err = {0};
        char asked[256] = "";

        assert_int_equal(nsrun_policy_set(policy, "net", "ask", &err), 0);
        assert_int_equal(nsrun_plan_new(policy, &plan, &err), 0);
        expect_error(nsrun_start(plan, &options, &sandbox, &err), -EOPNOTSUPP, NSRUN_STAGE_NETWORK, &err,
                     "nobody can be asked about names that no rule covers; 'nsrun run' and sessions ask "
                     "(--net=ask), at a terminal, and 'nsrun bash --json-stream': take one of these, or "
                     "--net=allow");
        options.ask = answer_by_name;
        options.data = asked;
        expect_good(nsrun_start(plan, &options, &sandbox, &err), &err);
        expect_end(sandbox, 0, 0);
        assert_null(nsrun_sandbox_free(sandbox));
        assert_string_equal(asked, "yes.example.test by getent; no.example.test by getent; ");
        assert_null(nsrun_plan_free(plan));
        assert_null(nsrun_policy_free(policy));
}

static int show_by_name(const char *path, const char *folder, const char *program, void *data) {
        char *asked = data;
        const char *name = strrchr(path, '/') + 1;

        (void)snprintf(asked + strlen(asked), 256 - strlen(asked), "%s in %s by %.3s; ", name,
                       folder ? strrchr(folder, '/') + 1 : "none", program);
        return streq(name, "file") ? 1 : streq(name, "part") ? 2 : streq(name, "other") ? 0 : -1;
}

TEST(a_host_is_asked_about_files_that_are_not_exposed) {
        static const char script[] =
                "cd; cat file; cat one/part one/rest; cat two/other two/rest 2>/dev/null; cat three/x four/x 2>/dev/null; :";
        const struct site *s = *state;
        struct nsrun_policy *policy = make_policy(s, OPTIONS("sh", "-c", script));
        struct nsrun_start_options options = NSRUN_START_OPTIONS_INIT;
        _cleanup_close_ int out = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        const char *const files[] = {"file",     "one/part", "one/rest", "two/other",
                                     "two/rest", "three/x",  "four/x"};
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_plan *plan = NULL;
        struct nsrun_error err = {0};
        char asked[256] = "", text[64] = "";

        assert_true(out >= 0);
        make_folder(s->home, "one");
        make_folder(s->home, "two");
        make_folder(s->home, "three");
        make_folder(s->home, "four");
        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                _cleanup_free_ char *line = text_of("%s\n", files[i]);

                make_file(s->home, files[i], line);
        }
        /* libtool's. */
        assert_int_equal(nsrun_policy_set(policy, "unsetenv", "LD_LIBRARY_PATH", &err), 0);
        assert_int_equal(nsrun_plan_new(policy, &plan, &err), 0);
        options.ask_file = show_by_name;
        options.data = asked;
        options.stdio[1] = out;
        expect_good(nsrun_start(plan, &options, &sandbox, &err), &err);
        expect_end(sandbox, 0, 0);
        assert_null(nsrun_sandbox_free(sandbox));
        assert_string_equal(
                asked, "file in none by cat; part in one by cat; other in two by cat; x in three by cat; ");
        assert_true(pread(out, text, sizeof(text) - 1, 0) > 0);
        assert_string_equal(text, "file\none/part\none/rest\n");
        assert_null(nsrun_plan_free(plan));
        assert_int_equal(nsrun_policy_set(policy, "hide", "x", &err), 0);
        assert_int_equal(nsrun_plan_new(policy, &plan, &err), 0);
        expect_error(
                nsrun_start(plan, &options, &sandbox, &err), -EPERM, NSRUN_STAGE_POLICY, &err,
                "with --hide a sandbox is shown nothing more; leave out the questions about files (--ask), and "
                "name them");
        assert_null(nsrun_plan_free(plan));
        assert_null(nsrun_policy_free(policy));
}

TEST(a_running_sandbox_is_shown_more_and_less_again) {
        const struct site *s = *state;
        _cleanup_free_ char *beside = path_of(s->home, "beside"), *file = path_of(s->home, "beside/f"),
                            *go = path_of(s->project, "go"),
                            *script = text_of(
                                    "until [ -e go ]; do sleep .01; done; ls %s; mv go gone; "
                                    "until [ -e go ]; do sleep .01; done; ! ls %s/other && echo x >>%s",
                                    file, beside, file);
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_error err = {0};

        make_folder(s->home, "beside");
        make_file(s->home, "beside/f", "text\n");
        make_file(s->home, "beside/other", "text\n");
        sandbox = start(s, script);
        expect_good(nsrun_grant(sandbox, "ro", beside, &err), &err);
        make_file(s->project, "go", "");
        while (access(go, F_OK) == 0)
                usleep(1000);
        expect_good(nsrun_revoke(sandbox, beside, &err), &err);
        expect_error(nsrun_revoke(sandbox, NULL, &err), -ENOENT, NSRUN_STAGE_SUPERVISE, &err,
                     "nothing of that was granted; 'nsrun inspect' lists it");
        expect_error(nsrun_grant(sandbox, "bind", beside, &err), -EINVAL, NSRUN_STAGE_USAGE, &err,
                     "not one of ro, rw, overlay, allow and publish: bind");
        expect_good(nsrun_grant(sandbox, "rw", file, &err), &err);
        make_file(s->project, "go", "");
        expect_end(sandbox, 0, 0);
        expect_error(nsrun_grant(sandbox, "ro", beside, &err), -ESRCH, NSRUN_STAGE_SUPERVISE, &err,
                     "the sandbox has ended");
        assert_null(nsrun_sandbox_free(sandbox));
}

/* ------------------------------------------------------------------------ threads */

struct starter {
        const struct site *site;
        struct nsrun_sandbox *sandbox;
        struct nsrun_error err;
        int r;
};

static void *start_in_thread(void *data) {
        struct starter *t = data;

        t->r = start_script(t->site, waiting, &t->sandbox, &t->err);
        return NULL;
}

/* The parent-death signal is a thread's: the library must not use it. */
TEST(a_sandbox_outlives_the_thread_that_started_it) {
        struct starter t = {.site = *state};
        _cleanup_close_ int fifo = open_fifo(t.site);
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, start_in_thread, &t), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(t.r, 0);
        expect_ready(fifo);
        expect_alive(fifo);
        assert_int_equal(nsrun_sandbox_kill(t.sandbox, SIGINT), 0);
        expect_end(t.sandbox, -1, SIGINT);
        assert_null(nsrun_sandbox_free(t.sandbox));
}

static atomic_bool has_enough;

/* Holds the locks of malloc and stdio most of the time: a child that wanted one of
 * them would wait for ever. */
static void *keep_busy(nsrun_unused void *data) {
        FILE *f = fopen("/dev/null", "we");

        while (f && !atomic_load(&has_enough)) {
                char *memory = malloc(100000);

                (void)fprintf(f, "%p", (void *)memory);
                free(memory);
        }
        if (f)
                (void)fclose(f);
        return NULL;
}

static void *start_and_wait(void *data) {
        struct starter *t = data;

        for (int i = 0; i < N_EACH && t->r == 0; i++) {
                _cleanup_free_ char *script = NULL;
                struct nsrun_exit end = {0};

                t->r = asprintf(&script, "exit %d", i) < 0 ? -ENOMEM : 0;
                if (t->r == 0)
                        t->r = start_script(t->site, script, &t->sandbox, &t->err);
                if (t->r == 0)
                        t->r = nsrun_sandbox_wait(t->sandbox, &end, &t->err);
                if (t->r == 0 && (end.code != i || end.signal != 0))
                        t->r = -EBADMSG;
                t->sandbox = nsrun_sandbox_free(t->sandbox);
        }
        return NULL;
}

TEST(fifty_from_several_threads_end_each_in_its_own_way) {
        struct starter starters[N_THREADS];
        pthread_t threads[N_THREADS], busy[2];

        atomic_store(&has_enough, false);
        for (size_t i = 0; i < ARRAY_SIZE(busy); i++)
                assert_int_equal(pthread_create(&busy[i], NULL, keep_busy, NULL), 0);
        for (size_t i = 0; i < N_THREADS; i++) {
                starters[i] = (struct starter){.site = *state};
                assert_int_equal(pthread_create(&threads[i], NULL, start_and_wait, &starters[i]), 0);
        }
        for (size_t i = 0; i < N_THREADS; i++)
                assert_int_equal(pthread_join(threads[i], NULL), 0);
        atomic_store(&has_enough, true);
        for (size_t i = 0; i < ARRAY_SIZE(busy); i++)
                assert_int_equal(pthread_join(busy[i], NULL), 0);
        for (size_t i = 0; i < N_THREADS; i++)
                if (starters[i].r != 0)
                        fail_msg("%s: %s: %s", strerror(-starters[i].r), starters[i].err.what,
                                 starters[i].err.path);
}

TEST(fifty_at_once_are_all_alive) {
        const struct site *s = *state;
        struct nsrun_sandbox *sandboxes[N_THREADS * N_EACH];
        _cleanup_close_ int fifo = open_fifo(s);

        for (size_t i = 0; i < ARRAY_SIZE(sandboxes); i++) {
                sandboxes[i] = start(s, waiting);
                expect_ready(fifo);
        }
        for (size_t i = 0; i < ARRAY_SIZE(sandboxes); i++) {
                expect_alive(fifo);
                assert_int_equal(nsrun_sandbox_kill(sandboxes[i], SIGTERM), 0);
                expect_end(sandboxes[i], -1, SIGTERM);
                assert_null(nsrun_sandbox_free(sandboxes[i]));
        }
        expect_all_gone(fifo);
}

/* ------------------------------------------------------------------------- errors */

TEST(a_command_that_is_not_there_is_named) {
        const struct site *s = *state;
        const char *const absent[] = {"no-such-command", NULL}, *const folder[] = {"/usr", NULL},
                          *const path[] = {"./absent", NULL};
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_error err = {0};

        expect_error(
                start_command(s, absent, &sandbox, &err), -ENOENT, NSRUN_STAGE_EXEC, &err,
                "command not found in the sandbox: no-such-command: No such file or directory; it is in "
                "no folder of the sandbox's PATH: add --ro, or install it");
        expect_error(start_command(s, path, &sandbox, &err), -ENOENT, NSRUN_STAGE_EXEC, &err,
                     "command not found in the sandbox: ./absent: No such file or directory; it, or the "
                     "interpreter it names, is not exposed: add --ro");
        expect_error(start_command(s, folder, &sandbox, &err), -EACCES, NSRUN_STAGE_EXEC, &err,
                     "command not executable: /usr: Permission denied; it needs the x permission, and must "
                     "not be a folder");
        assert_null(sandbox);
        /* Nobody needs to want the words. */
        assert_int_equal(start_command(s, absent, &sandbox, NULL), -ENOENT);
        assert_null(sandbox);
}

TEST(a_wrong_option_is_named) {
        const char *const nothing[] = {NULL}, *const command[] = {"true", NULL};
        struct nsrun_policy *policy = make_policy(*state, command);
        struct nsrun_plan *plan = NULL;
        struct nsrun_error err = {0};

        expect_error(nsrun_policy_set(policy, "no-such-option", "x", &err), -EINVAL, NSRUN_STAGE_USAGE, &err,
                     "unknown option: no-such-option");
        expect_error(nsrun_policy_set(policy, "net", "everywhere", &err), -EINVAL, NSRUN_STAGE_USAGE, &err,
                     "--net: no such choice: everywhere; choose one of host|none|allow|ask");
        expect_error(nsrun_policy_set(policy, "net", NULL, &err), -EINVAL, NSRUN_STAGE_USAGE, &err,
                     "this option needs a value: net");
        expect_error(nsrun_policy_set(policy, "clean-env", "x", &err), -EINVAL, NSRUN_STAGE_USAGE, &err,
                     "this option takes no value: clean-env");
        expect_error(nsrun_policy_set_command(policy, nothing, &err), -EINVAL, NSRUN_STAGE_USAGE, &err,
                     "no command");
        /* The policy is as it was before the mistakes. */
        assert_int_equal(nsrun_plan_new(policy, &plan, &err), 0);
        assert_null(nsrun_plan_free(plan));
        assert_int_equal(nsrun_policy_set(policy, "rw", "/usr", &err), 0);
        plan = NULL;
        assert_int_equal(nsrun_plan_new(policy, &plan, &err), -EPERM);
        assert_int_equal(err.stage, NSRUN_STAGE_POLICY);
        assert_null(plan);
        assert_null(nsrun_policy_free(policy));
}

TEST(a_hidden_name_that_was_moved_before_the_start_ends_it) {
        const struct site *s = *state;
        _cleanup_free_ char *from = path_of(s->project, "x.pem"), *to = path_of(s->project, "y.pem"),
                            *line = text_of("a hidden name was moved while the sandbox was being built: %s: "
                                            "Stale file handle; start again",
                                            from);
        struct nsrun_policy *policy = make_policy(s, OPTIONS("sh", "-c", "! cat *.pem 2>/dev/null"));
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_plan *plan = NULL;
        struct nsrun_error err = {0};

        make_file(s->project, "x.pem", "secret\n");
        assert_int_equal(nsrun_policy_set(policy, "hide", "*.pem", &err), 0);
        assert_int_equal(nsrun_plan_new(policy, &plan, &err), 0);
        assert_int_equal(nsrun_start(plan, NULL, &sandbox, &err), 0);
        expect_end(sandbox, 0, 0);
        assert_null(nsrun_sandbox_free(sandbox));
        sandbox = NULL;
        assert_int_equal(rename(from, to), 0);
        expect_error(nsrun_start(plan, NULL, &sandbox, &err), -ESTALE, NSRUN_STAGE_POLICY, &err, line);
        assert_null(sandbox);
        assert_null(nsrun_plan_free(plan));
        assert_null(nsrun_policy_free(policy));
        assert_int_equal(unlink(to), 0);
}

/* Each source is looked up anew when the sandbox is built: a link is followed neither in its place nor on
 * the way. */
TEST(a_source_that_a_link_took_the_place_of_before_the_start_ends_it) {
        static const struct {
                const char *shown, *swapped;
                const char *const test[5];
        } cases[] = {
                {"given", "given", {"grep", "-q", "mine", "given", NULL}},
                {"kept", "kept", {"test", "-e", "kept/deep/x", NULL}},
                {"kept/deep", "kept", {"test", "-e", "kept/deep/x", NULL}},
                {"kept/deep/x", "kept/deep", {"grep", "-q", "mine", "kept/deep/x", NULL}},
        };
        const struct site *s = *state;

        make_file(s->project, "given", "mine\n");
        make_file(s->project, "kept/deep/x", "mine\n");
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *shown = path_of(s->project, cases[i].shown),
                                    *swapped = path_of(s->project, cases[i].swapped),
                                    *aside = path_of(s->project, "aside"),
                                    *line = text_of("the source was replaced by a symlink while the sandbox "
                                                    "was being built: %s: Too many levels of symbolic links",
                                                    swapped);
                struct nsrun_policy *policy = make_policy(s, cases[i].test);
                struct nsrun_sandbox *sandbox = NULL;
                struct nsrun_plan *plan = NULL;
                struct nsrun_error err = {0};

                assert_int_equal(nsrun_policy_set(policy, "ro", shown, &err), 0);
                assert_int_equal(nsrun_plan_new(policy, &plan, &err), 0);
                assert_int_equal(nsrun_start(plan, NULL, &sandbox, &err), 0);
                expect_end(sandbox, 0, 0);
                assert_null(nsrun_sandbox_free(sandbox));
                sandbox = NULL;
                assert_int_equal(rename(swapped, aside), 0);
                assert_int_equal(symlink("aside", swapped), 0);
                expect_error(nsrun_start(plan, NULL, &sandbox, &err), -ELOOP, NSRUN_STAGE_MOUNT, &err, line);
                assert_null(sandbox);
                assert_int_equal(unlink(swapped), 0);
                assert_int_equal(rename(aside, swapped), 0);
                assert_null(nsrun_plan_free(plan));
                assert_null(nsrun_policy_free(policy));
        }
}

TEST(a_missing_nsrun_init_is_named) {
        const struct site *s = *state;
        _cleanup_free_ char *saved = strdup(getenv("NSRUN_INIT")), *path = path_of(s->root, "absent");
        _cleanup_free_ char *line = text_of("nsrun-init can't be opened: %s: No such file or directory; "
                                            "install nsrun completely",
                                            path);
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_error err = {0};

        assert_int_equal(setenv("NSRUN_INIT", path, 1), 0);
        expect_error(start_script(s, "exit 0", &sandbox, &err), -ENOENT, NSRUN_STAGE_SUPERVISE, &err, line);
        /* A program that isn't one. */
        make_file(s->root, "absent", "no program");
        assert_int_equal(start_script(s, "exit 0", &sandbox, &err), -EACCES);
        assert_string_equal(err.what, "nsrun-init can't be executed");
        assert_int_equal(setenv("NSRUN_INIT", saved, 1), 0);
        expect_end((sandbox = start(s, "exit 0")), 0, 0);
        assert_null(nsrun_sandbox_free(sandbox));
}

TEST(a_plan_prints_in_every_format) {
        static const struct {
                enum nsrun_format format;
                const char *begins;
        } formats[] = {{NSRUN_FORMAT_TEXT, ""}, {NSRUN_FORMAT_JSON, "{"}, {NSRUN_FORMAT_BWRAP, "bwrap "}};
        const struct site *s = *state;
        const char *const command[] = {"true", NULL};
        struct nsrun_policy *policy = make_policy(s, command);
        struct nsrun_plan *plan = NULL;
        struct nsrun_error err = {0};

        assert_int_equal(nsrun_plan_new(policy, &plan, &err), 0);
        for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
                _cleanup_free_ char *text = NULL;

                assert_int_equal(nsrun_plan_format(plan, formats[i].format, &text, &err), 0);
                assert_non_null(startswith(text, formats[i].begins));
                expect_in(text, s->project);
        }
        assert_null(nsrun_plan_free(plan));
        assert_null(nsrun_policy_free(policy));
        assert_null(nsrun_plan_free(NULL));
        assert_null(nsrun_policy_free(NULL));
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Folders as hosts have them: on mounts that never answer, with more in them than can be looked at, and, for
 * root, another user's. */
#include "host.h"

/* Where in the site a mount lies that never answers, which variable names it, and the option that does. */
static const struct {
        const char *folder, *variable, *option;
} silent_places[] = {
        {"project/net", NULL, NULL},
        {"project/a/net", NULL, "--hide=key"},
        {"outside/net", NULL, "--rw"},
        {"outside/net", "HOME", NULL},
        {"outside/net", "XDG_CONFIG_HOME", NULL},
};

static void stage_mounted(void *data) {
        const struct host *host = data;

        stage_enter();
        stage_tmpfs(host->path, 0);
        if (host->text && setenv(host->text, host->path, 1) < 0)
                stage_fail(host->text);
}

TEST(a_mount_that_never_answers_is_named) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->project, "a");
        for (size_t i = 0; i < ARRAY_SIZE(silent_places); i++) {
                _cleanup_free_ char *place = path_of(s->root, silent_places[i].folder);
                const char *option = silent_places[i].option, *variable = silent_places[i].variable;
                bool has_path = option && !strchr(option, '=');
                _cleanup_free_ char *named = path_of(place, variable && streq(variable, "HOME")
                                                                    ? ".config/nsrun/config.json"
                                                                    : "nsrun/config.json"),
                                    *line = text_of("nsrun: what is mounted there doesn't answer: %s: "
                                                    "Connection timed out; see who serves it (findmnt -T "
                                                    "PATH), or take it away: fusermount3 -u PATH, sudo "
                                                    "umount -l PATH",
                                                    variable ? named : place);
                const char *const options[] = {option, has_path ? place : NULL, NULL};
                struct host host = {.path = place, .text = variable};

                make_folder(s->root, silent_places[i].folder);
                run_on(s, stage_mounted, &host, "silent:other", options, "echo fine", &o);
                expect_fine(&o);
                run_on(s, stage_mounted, &host, "silent:net", options, "echo fine", &o);
                expect_host_refusal(&o, 125, line);
                assert_int_equal(rmdir(place), 0);
        }
}

TEST_IF(!IS_SANITIZED, more_folders_than_can_be_looked_into_are_refused, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *line = text_of(
                "nsrun: there are more folders in it than can be looked into for repositories: %s: Argument "
                "list too long; look who made them; --no-protect '*' protects nothing",
                s->project);
        _cleanup_outcome_ struct outcome o = {0};

        run_outside(s, &o, "seq 1 50000 | xargs mkdir");
        RUN(s, &o, "--", "true");
        expect_status(&o, 0);
        run_outside(s, &o, "mkdir 0");
        RUN(s, &o, "--", "true");
        expect_refusal(&o, 125, line);
        RUN(s, &o, "--no-protect", "*", "--", "true");
        expect_status(&o, 0);
}

TEST_IF(geteuid() == 0, root_is_told_of_a_project_that_it_can_not_write, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *
                project = path_of(s->outside, "theirs"),
               *made = path_of(project, "made"),
               *note = text_of("nsrun: note: root has no power over others' files in a sandbox: the command "
                               "can't write the project, which is 60999's: %s; start nsrun as that user: "
                               "setpriv --reuid=60999 --regid=60999 --clear-groups env -u HOME nsrun\n",
                               project);
        const char *const argv[] = {program(), "run", "--project",      project, "--",
                                    "sh",      "-c",  "id -u; : >made", NULL};
        const char *const as_owner[] = {"setpriv",
                                        "--reuid=60999",
                                        "--regid=60999",
                                        "--clear-groups",
                                        "env",
                                        "-u",
                                        "HOME",
                                        program(),
                                        "run",
                                        "--no-config",
                                        "--project",
                                        project,
                                        "--",
                                        "sh",
                                        "-c",
                                        "id -u; : >made",
                                        NULL};
        const char *const doctor[] = {program(), "doctor", "--here", "--project", project, NULL};
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->outside, "theirs");
        assert_int_equal(chown(project, 60999, 60998), 0);
        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        assert_int_not_equal(o.status, 0);
        expect_out(&o, "0\n");
        assert_ptr_equal(startswith(o.err, note), o.err + strlen(note));
        assert_int_not_equal(access(made, F_OK), 0);
        /* The advice, followed. */
        assert_int_equal(chmod(s->root, 0711), 0);
        outcome_clear(&o);
        run(&(struct request){.argv = as_owner, .cwd = s->root}, &o);
        expect_status(&o, 0);
        expect_out(&o, "60999\n");
        assert_int_equal(access(made, F_OK), 0);
        outcome_clear(&o);
        run(&(struct request){.argv = doctor, .cwd = s->root}, &o);
        expect_status(&o, 1);
        expect_in(o.out,
                  "no        owner              the command can't write it: it is 60999's; start nsrun as "
                  "that user\nok        .git");
        /* Its own is nobody else's. */
        RUN(s, &o, "--", "id", "-u");
        expect_out(&o, "0\n");
        assert_string_equal(o.err, "");
}

int main(void) {
        return run_all_tests();
}

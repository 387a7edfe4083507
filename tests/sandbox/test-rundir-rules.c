/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rules around the folder of run directories ($XDG_CACHE_HOME/nsrun): none lets a command write
 * it, replace it, or make it before a later run does. */
#include "harness.h"

#include <fcntl.h>

#define WOULD_WRITE                                                                                     \
        "nsrun: %s would let a command write what nsrun keeps of other runs and sessions: %s; that is " \
        "in %s: name other folders, or set XDG_CACHE_HOME to one that no command may write"

TEST(no_rule_lets_a_command_write_run_directories) {
        const struct site *s = *state;
        _cleanup_free_ char *base = path_of(s->cache, "nsrun"), *inside = path_of(s->cache, "other"),
                            *tmp = text_of("--tmp=%s", s->cache),
                            *elsewhere = text_of("%s:/elsewhere", s->cache);
        _cleanup_free_ char *records = path_of(base, "sessions"), *file = path_of(records, "file");
        _cleanup_free_ char *tmp_line = text_of(WOULD_WRITE, "--tmp", s->cache, base),
                            *bind_line = text_of(WOULD_WRITE, "--bind", s->cache, base);
        const char *const sources[] = {s->root, base};
        _cleanup_outcome_ struct outcome o = {0};

        /* Records of sessions are in the cache folder then, which every rule hides. */
        assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
        make_folder(s->cache, "other");
        /* Whether it could be made, or is there. */
        for (int i = 0; i < 2; i++) {
                for (size_t j = 0; j < (i == 0 ? 1 : ARRAY_SIZE(sources)); j++) {
                        _cleanup_free_ char *line = text_of(WOULD_WRITE, "--rw", sources[j], base);

                        RUN(s, &o, "--no-project", "--rw", sources[j], "--", "true");
                        expect_refusal(&o, 125, line);
                        assert_int_equal(access(base, F_OK), i - 1);
                }
                RUN(s, &o, tmp, "--", "true");
                expect_refusal(&o, 125, tmp_line);
                RUN(s, &o, "--bind", elsewhere, "--", "true");
                expect_refusal(&o, 125, bind_line);
                RUN(s, &o, "--rw", inside, "--", "true");
                expect_status(&o, 0);
                assert_int_equal(access(base, F_OK), i - 1);
                for (size_t j = 0; i == 1 && j < ARRAY_SIZE(sources); j++) {
                        RUN(s, &o, "--no-project", "--ro", sources[j], "--", "true");
                        expect_status(&o, 0);
                }
                if (i == 0)
                        make_folder(s->cache, "nsrun");
        }
        make_folder(base, "sessions");
        make_file(records, "file", "");
        RUN(s, &o, "--no-project", "--ro", base, "--", "ls", "-A", records);
        expect_status(&o, 0);
        expect_out(&o, "");
        assert_int_equal(unlink(file), 0);
        assert_int_equal(rmdir(records), 0);
}

/* A new account: there is no ~/.cache/nsrun, and no filter is kept in it either. */
TEST(beside_run_directories_a_command_may_write) {
        static const char attack[] =
                "cd \"$1\"; echo x >beside; mv nsrun away; rm -rf nsrun; rmdir nsrun; "
                "mkdir -p nsrun/workspace-AAAAAA; ln -sfn beside nsrun; ls nsrun; echo done";
        const struct site *s = *state;
        _cleanup_free_ char *base = path_of(s->cache, "nsrun"), *beside = path_of(s->cache, "beside"),
                            *policy = path_of(s->outside, "policy"),
                            *option = text_of("--seccomp=%s", policy),
                            *layered = path_of(s->root, "layered");
        _cleanup_outcome_ struct outcome o = {0};
        struct stat st;

        make_folder(s->root, "layered");
        make_file(s->outside, "policy", "{\"defaultAction\": \"SCMP_ACT_ALLOW\"}");
        RUN(s, &o, option, "--", "true");
        expect_status(&o, 0);
        assert_int_equal(access(base, F_OK), -1);
        for (int i = 0; i < 2; i++) {
                RUN(s, &o, "--rw", s->cache, "--", "sh", "-c", attack, "sh", s->cache);
                expect_status(&o, 0);
                expect_out(&o, "done\n");
                assert_int_equal(lstat(base, &st), 0);
                assert_int_equal(st.st_mode, S_IFDIR | 0700);
                assert_int_equal(st.st_nlink, 2);
                assert_int_equal(access(beside, F_OK), 0);
        }
        /* Nor does a command that may only read see what other runs put there later. */
        assert_int_equal(rmdir(base), 0);
        RUN(s, &o, "--ro", s->cache, "--overlay", layered, "--", "sh", "-c", "ls -A \"$1/nsrun\"; echo done",
            "sh", s->cache);
        expect_status(&o, 0);
        expect_out(&o, "done\n");
        /* The control: what isn't nsrun's own is refused, and stays. */
        run_outside(
                s, &o,
                "cd \"$XDG_CACHE_HOME/nsrun\" && rm .workspace-spare-0/lock && rmdir .workspace-spare-0");
        expect_status(&o, 0);
        assert_int_equal(rmdir(base), 0);
        make_link(s->cache, "nsrun", s->outside);
        RUN(s, &o, "--rw", s->cache, "--", "true");
        expect_status(&o, 125);
        assert_int_equal(unlink(base), 0);
}

/* The folder that hides them is the command's own by its owner, whose chmod is refused all the same. */
TEST(what_hides_run_directories_is_read_only) {
        const struct site *s = *state;
        _cleanup_free_ char *error = text_of("chmod: changing permissions of '%s/nsrun': Read-only file "
                                             "system\n",
                                             s->cache);
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--rw", s->cache, "--", "sh", "-c",
            "chmod 700 \"$1\" && chmod 700 \"$1/nsrun\"; ls -A \"$1\"", "sh", s->cache);
        expect_status(&o, 0);
        assert_string_equal(o.err, error);
        expect_out(&o, "nsrun\n");
        RUN(s, &o, "--rw", s->cache, "--", "sh", "-c", ": >\"$1/nsrun/x\"; ls -A \"$1/nsrun\"", "sh",
            s->cache);
        expect_out(&o, "");
}

/* A folder that is taken away from the command, which stands in it, leads it to no run directory; nor is
 * there any more what leads into one. */
TEST(what_is_taken_away_leads_to_no_run_directory) {
        static const char script[] = "cd \"$1\" && mkdir x && : >x/f && cd x && mv ../x ../.vscode && "
                                     "while test -e \"$1/.vscode\"; do :; done; ls ..",
                          shown[] = "cd \"$1\" && mkdir x && : >x/f && cd x && mv ../x ../.vscode && "
                                    "until grep -q \" $1/.vscode \" /proc/self/mountinfo; do :; done; "
                                    "until ! ls .. >/dev/null; do :; done";
        const struct site *s = *state;
        _cleanup_free_ char *base = path_of(s->cache, "nsrun");
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--no-project", "--rw", s->cache, "--", "sh", "-c", script, "sh", s->cache);
        expect_status(&o, 0);
        expect_out(&o, "nsrun\n");
        expect_in(o.err, "a protected name that came to be is kept aside");
        /* Elsewhere no mount has both. */
        RUN(s, &o, "--", "sh", "-c", shown, "sh", s->project);
        expect_in(o.err, "ls: cannot access '..': No such file or directory\n");
        expect_in(o.err, "a protected name that came to be is kept aside");
        assert_int_equal(rmdir(base), 0);
}

/* What nsrun can't make its command can't either. */
TEST_IF(geteuid() != 0, a_folder_that_can_not_be_made_needs_no_hiding, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *base = path_of(s->cache, "nsrun");
        _cleanup_outcome_ struct outcome o = {0};

        assert_int_equal(chmod(s->cache, 0500), 0);
        RUN(s, &o, "--rw", s->cache, "--", "mkdir", base);
        assert_int_equal(chmod(s->cache, 0700), 0);
        expect_status(&o, 1);
        expect_in(o.err, "Permission denied");
        assert_int_equal(access(base, F_OK), -1);
}

TEST(a_project_that_holds_run_directories_is_refused) {
        const struct site *s = *state;
        _cleanup_free_ char *cache = path_of(s->project, ".cache"), *base = path_of(cache, "nsrun"),
                            *line = text_of(WOULD_WRITE, "--project", s->project, base);
        _cleanup_outcome_ struct outcome o = {0};

        assert_int_equal(setenv("XDG_CACHE_HOME", cache, 1), 0);
        RUN(s, &o, "--", "true");
        expect_refusal(&o, 125, line);
        assert_int_equal(setenv("XDG_CACHE_HOME", s->cache, 1), 0);
        RUN(s, &o, "--", "true");
        expect_status(&o, 0);
}

/* A command could put a folder in the link's place, and later runs would use that. */
TEST(a_cache_behind_a_link_that_a_command_can_replace_is_refused) {
        const struct site *s = *state;
        _cleanup_free_ char *link = path_of(s->project, "link"), *below = path_of(link, "a/b"),
                            *outer = path_of(s->root, "outer"),
                            *line = text_of("nsrun: the cache folder goes through a symlink in a writable "
                                            "folder: %s; it leads to %s, and a command in the sandbox may "
                                            "have planted it: name the real path",
                                            link, s->cache),
                            *line_below =
                                    text_of("nsrun: the cache folder goes through a symlink in a "
                                            "writable folder: %s; it leads to %s/a/b, and a command in "
                                            "the sandbox may have planted it: name the real path",
                                            link, s->cache);
        _cleanup_outcome_ struct outcome o = {0};

        make_link(s->project, "link", s->cache);
        make_link(s->root, "outer", s->cache);
        assert_int_equal(setenv("XDG_CACHE_HOME", link, 1), 0);
        RUN(s, &o, "--", "true");
        expect_refusal(&o, 125, line);
        assert_int_equal(setenv("XDG_CACHE_HOME", below, 1), 0);
        RUN(s, &o, "--", "true");
        expect_refusal(&o, 125, line_below);
        /* A link where no command writes is the user's. */
        assert_int_equal(setenv("XDG_CACHE_HOME", outer, 1), 0);
        RUN(s, &o, "--", "true");
        expect_status(&o, 0);
        assert_int_equal(setenv("XDG_CACHE_HOME", s->cache, 1), 0);
}

int main(void) {
        return run_all_tests();
}

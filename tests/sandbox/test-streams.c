/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Standard streams that are files: what the caller opened for reading can't be written through them, and is
 * read as it would be without nsrun. */
#include <fcntl.h>

#include "session.h"
#include "stage.h"

#define LINES "one\ntwo\nthree\n"
/* What whoever has a descriptor may do to the file that it leads to. */
#define ATTACK                                                                                              \
        "cat; echo evil >/proc/self/fd/0; chmod 777 /proc/self/fd/0; touch -d 2001-01-01 /proc/self/fd/0; " \
        "ln -L /proc/self/fd/0 linked; : 2>/proc/self/fd/0; true"

static int open_lines(const struct site *s) {
        _cleanup_free_ char *path = path_of(s->outside, "lines");
        int fd;

        make_file(s->outside, "lines", LINES);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        return fd;
}

static void attack(const struct site *s, const char *const *argv) {
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_close_ int fd = open_lines(s);
        char *before = snapshot(s->outside);

        run(&(struct request){.argv = argv, .cwd = s->root, .standard_input = fd}, &o);
        expect_out(&o, LINES);
        expect_in(o.err, "/proc/self/fd/0: Read-only file system\n");
        expect_unchanged(s->outside, before);
}

TEST(a_file_that_was_opened_for_reading_is_not_written) {
        const struct site *s = *state;
        const char *const argv[] = {program(), "run", "--project", s->project, "--",
                                    "sh",      "-c",  ATTACK,      NULL};
        const char *const control[] = {"sh", "-c",
                                       "chmod 600 /proc/self/fd/0 && echo more >>/proc/self/fd/0", NULL};
        _cleanup_free_ char *path = path_of(s->outside, "lines"), *text = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_close_ int fd = -EBADF;

        attack(s, argv);
        fd = open_lines(s);
        run(&(struct request){.argv = control, .cwd = s->root, .standard_input = fd}, &o);
        expect_status(&o, 0);
        text = file_text(path);
        assert_string_equal(text, LINES "more\n");
}

TEST_IN_BOTH_MODES(a_sessions_command_does_not_write_it_either) {
        const struct site *s = *state;
        const char *const options[] = {is_nested ? "--landlock=off" : "--landlock=auto", NULL};
        _cleanup_free_ char *id = start_session(s, options);
        const char *const argv[] = {program(), "run", "--session", id, "--", "sh", "-c", ATTACK, NULL};
        const char *const stop[] = {"stop", id, NULL};
        _cleanup_outcome_ struct outcome o = {0};

        attack(s, argv);
        run_session(s, &o, stop);
        expect_status(&o, 0);
        collect_orphans();
}

/* Descriptors 1 and 2 may be such files, too; and what the caller opened for writing is the caller's own. */
TEST(each_stream_is_judged_by_itself) {
        const struct site *s = *state;
        _cleanup_free_ char *lines = path_of(s->outside, "lines"), *log = path_of(s->outside, "log"),
                            *text = NULL, *kept = NULL,
                            *script = text_of("%s run --project %s -- sh -c 'echo x >/dev/stdout; echo y "
                                              ">>/proc/self/fd/2; cat <&2' >>%s 2<%s",
                                              program(), s->project, log, lines);
        const char *const argv[] = {"sh", "-c", script, NULL};
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->outside, "lines", LINES);
        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        expect_status(&o, 0);
        text = file_text(log);
        assert_string_equal(text, "x\n" LINES);
        kept = file_text(lines);
        assert_string_equal(kept, LINES);
}

TEST(a_command_leaves_off_where_others_go_on) {
        const struct site *s = *state;
        const char *const argv[] = {program(), "run", "--project",           s->project, "--",
                                    "sh",      "-c",  "read x; echo \"$x\"", NULL};
        _cleanup_close_ int fd = open_lines(s);

        for (size_t i = 0; i < 3; i++) {
                static const char *const lines[] = {"one\n", "two\n", "three\n"};
                _cleanup_outcome_ struct outcome o = {0};

                run(&(struct request){.argv = argv, .cwd = s->root, .standard_input = fd}, &o);
                expect_status(&o, 0);
                expect_out(&o, lines[i]);
        }
        assert_int_equal(lseek(fd, 0, SEEK_CUR), strlen(LINES));
}

TEST(a_deleted_file_is_read) {
        const struct site *s = *state;
        const char *const argv[] = {program(), "run", "--project", s->project, "--", "cat", NULL};
        _cleanup_free_ char *path = path_of(s->outside, "lines");
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_close_ int fd = open_lines(s);

        assert_int_equal(unlink(path), 0);
        run(&(struct request){.argv = argv, .cwd = s->root, .standard_input = fd}, &o);
        assert_string_equal(o.err, "");
        expect_out(&o, LINES);
}

static void stage_covered(void *data) {
        stage_enter();
        stage_tmpfs(data, 0);
}

TEST(a_file_that_its_path_does_not_lead_to_is_refused) {
        const struct site *s = *state;
        const char *const argv[] = {program(), "run", "--project", s->project, "--", "cat", NULL};
        _cleanup_free_ char *piped = text_of("cat | \"$0\" run --project %s -- cat", s->project);
        const char *const advised[] = {"sh", "-c", piped, program(), NULL};
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_close_ int fd = open_lines(s);
        struct request request = {.argv = argv,
                                  .cwd = s->root,
                                  .standard_input = fd,
                                  .in_child = stage_covered,
                                  .data = s->outside};

        run(&request, &o);
        expect_refusal(
                &o, 125,
                "nsrun: standard input is a file that can't be opened anew, so that the command couldn't write "
                "to it: Invalid cross-device link; hand it over through a pipe: cat FILE | nsrun …");
        outcome_clear(&o);
        request.argv = advised;
        run(&request, &o);
        expect_status(&o, 0);
        expect_out(&o, LINES);
}

int main(void) {
        return run_all_tests();
}

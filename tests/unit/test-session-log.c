/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A session's logs, made by several keepers at once. */
#include "session/log.h"

#include <fcntl.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/str.h"
#include "scratch.h"

enum {
        N_KEEPERS = 8,
        N_FREE = 3,
};

/* A keeper: tells whether it has a log, and lives until `end` is closed. */
static _Noreturn void keeper_main(const struct record_folder *f, int tell, int begin, int end) {
        struct log log = LOG_INIT;
        char byte;

        (void)read(begin, &byte, 1);
        byte = log_make(f, "command", &log, NULL) >= 0 ? '+' : '-';
        (void)write(tell, &byte, 1);
        (void)read(end, &byte, 1);
        _exit(0);
}

TEST(keepers_that_begin_at_once_take_no_log_from_each_other) {
        char *top = scratch_make();
        struct record_folder f = RECORD_FOLDER_INIT;
        int tell[2], begin[2], end[2], n_made = 0;
        _cleanup_strv_ char **names = NULL;

        f.dir_fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(f.dir_fd >= 0);
        assert_int_equal(pipe(tell), 0);
        assert_int_equal(pipe(begin), 0);
        assert_int_equal(pipe(end), 0);
        for (int i = 0; i < LOGS_MOST - N_FREE; i++) {
                _cleanup_log_ struct log log = LOG_INIT;

                assert_int_equal(log_make(&f, "command", &log, NULL), 0);
        }
        for (int i = 0; i < N_KEEPERS; i++)
                if (fork() == 0) {
                        (void)close(begin[1]);
                        (void)close(end[1]);
                        keeper_main(&f, tell[1], begin[0], end[0]);
                }
        (void)close(begin[1]);
        for (int i = 0; i < N_KEEPERS; i++) {
                char byte;

                assert_int_equal(read(tell[0], &byte, 1), 1);
                n_made += byte == '+';
        }
        assert_int_equal(n_made, N_FREE);
        assert_int_equal(logs_list(&f, &names), 0);
        assert_int_equal(strv_length(names), LOGS_MOST);
        (void)close(end[1]);
        while (wait(NULL) > 0)
                ;
        (void)close(f.dir_fd);
        scratch_remove(top);
}

int main(void) {
        return run_all_tests();
}

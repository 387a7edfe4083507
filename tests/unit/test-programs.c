/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* base/programs.c: what is started on the host's side has the limit of open files that there was, and no
 * thread of the caller's notices. */
#include "base/programs.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scratch.h"

enum {
        FEW = 64,
        SPAWNS = 300
};

static atomic_bool is_done;

/* Opens one file more than the limit was; 0 or the errno. */
static void *open_many(nsrun_unused void *data) {
        intptr_t error = 0;

        while (!is_done && error == 0) {
                int fd = fcntl(0, F_DUPFD_CLOEXEC, FEW + 1);

                error = fd < 0 ? errno : 0;
                close_fdp(&fd);
        }
        return (void *)error;
}

TEST(the_limit_of_files_is_lowered_in_the_child_alone) {
        char *const argv[] = {(char *)"sh", (char *)"-c", (char *)"echo $(ulimit -n) $(pwd); exit 3", NULL},
                    *const env[] = {NULL};
        struct rlimit files;
        pthread_t thread;
        void *error;
        pid_t pid;
        int ends[2], status;
        _cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        struct spawn s = {.program = "/bin/true", .argv = argv, .env = env, .folder = "/", .null_fd = null};

        assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
        files.rlim_cur = FEW;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
        program_raise_files();
        assert_int_equal(pthread_create(&thread, NULL, open_many, NULL), 0);
        for (unsigned i = 0; i < SPAWNS; i++) {
                assert_int_equal(spawn_apart(&s, &pid), 0);
                assert_int_equal(waitpid(pid, &status, 0), pid);
                assert_int_equal(status, 0);
        }
        is_done = true;
        assert_int_equal(pthread_join(thread, &error), 0);
        assert_int_equal((intptr_t)error, 0);

        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        s.program = "/bin/sh";
        s.streams = (const int[]){null, ends[1], null};
        assert_int_equal(spawn_apart(&s, &pid), 0);
        close_fdp(&ends[1]);
        {
                char text[64] = "";

                assert_int_equal(read(ends[0], text, sizeof(text) - 1), 5);
                assert_string_equal(text, "64 /\n");
        }
        close_fdp(&ends[0]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(WEXITSTATUS(status), 3);
        s.streams = NULL;
        s.program = "/bin/none";
        assert_int_equal(spawn_apart(&s, &pid), -ENOENT);
        s.folder = "/none";
        assert_int_equal(spawn_apart(&s, &pid), -ENOENT);
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* sweep/appearing.c: a watch that ends gives back what it had, though nobody waits for that. */
#include "sweep/appearing.h"

#include <fcntl.h>
#include <sys/inotify.h>

#include "base/file.h"
#include "scratch.h"

static int count_entry(void *data, nsrun_unused int folder, nsrun_unused const struct dirent *entry) {
        ++*(unsigned *)data;
        return 0;
}

static unsigned count_descriptors(void) {
        _cleanup_close_ int fds = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        unsigned n = 0;

        assert_int_equal(folder_each(fds, count_entry, &n), 0);
        return n;
}

/* More in a row than a user may have at once.  Where the kernel is behind none is to be had for a moment. */
TEST(ended_watches_are_given_back) {
        char *globs[] = {(char[]){"*/x"}, NULL}, *top = scratch_make(), *text = NULL;
        _cleanup_close_ int folder = scratch_open(top);
        unsigned before = count_descriptors(), most;

        assert_true(read_small_file(AT_FDCWD, "/proc/sys/fs/inotify/max_user_instances", 0, 64, &text) >= 0);
        most = (unsigned)strtoul(text, NULL, 10);
        for (unsigned i = 0; i < 2 * most && i < 1024;) {
                struct appearing *a = appearing_new();

                assert_non_null(a);
                assert_true(appearing_begins(a));
                i += !appearing_polls(a);
                appearing_watch(a, 0, folder, globs);
                (void)appearing_free(a);
                assert_int_equal(count_descriptors(), before);
        }
        free(text);
        scratch_remove(top);
}

int main(void) {
        return run_all_tests();
}

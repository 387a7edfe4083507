/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records of sessions as bytes: what is stored comes back the same, and whatever else is
 * read is refused, without a crash (the sanitizers look on). */
#include "../test.h"

#include <sys/syscall.h>

#include "plan/record.h"

static struct nsrun_plan *make_plan(void) {
        static const char *const argv[] = {"sh", "-c", "", "two words\n", NULL}, *const env[] = {
                                                                                         "A=b",
                                                                                         "EMPTY=", NULL};
        struct nsrun_plan *plan = calloc(1, sizeof(*plan));
        struct seccomp_loaded *loaded;
        size_t size;

        assert_non_null(plan);
        loaded = &plan->seccomp;
        plan->ops = calloc(3, sizeof(*plan->ops));
        plan->n_ops = 2;
        plan->ops[0] = (struct plan_op){.kind = PLAN_OVERLAY,
                                        .origin = PLAN_BY_TABLE,
                                        .target = strdup("/a"),
                                        .source = strdup("/b\xff"),
                                        .text = strdup(""),
                                        .mode = 0755,
                                        .size = UINT64_MAX,
                                        .was_asked_for = true,
                                        .makes_target = true};
        plan->ops[1] = (struct plan_op){.target = strdup("/c"), .is_read_only = true, .is_hiding = true};
        plan->root_size = 4096;
        plan->seccomp_name = strdup("default");
        loaded->n = 5;
        size = loaded->n * sizeof(*loaded->code);
        loaded->owned = malloc(size);
        assert_non_null(loaded->owned);
        memset(loaded->owned, 0x5a, size);
        loaded->code = loaded->owned;
        plan->is_scoped = plan->new_session = plan->is_session = true;
        plan->cwd = strdup("/work");
        plan->hostname = strdup("host");
        plan->uid = 1000;
        plan->gid = 100;
        plan->limits.memory = 1;
        for (size_t i = 0; argv[i]; i++)
                assert_int_equal(strv_add(&plan->argv, argv[i]), 0);
        for (size_t i = 0; env[i]; i++)
                assert_int_equal(strv_add(&plan->env, env[i]), 0);
        return plan;
}

static void make_record(struct plan_record *ret) {
        *ret = (struct plan_record){.id = strdup("abcdefgh"),
                                    .plan = make_plan(),
                                    .monitor = {.pid = 17, .pidfd_inode = 99, .start_time = 5},
                                    .init = {.pid = 18, .pidfd_inode = 100, .start_time = 6},
                                    .namespaces = 0x7e020000,
                                    .namespace_inodes = {1, 2, 3, 4, 5, 6},
                                    .is_nested = true,
                                    .started_s = 1,
                                    .base_s = -2,
                                    .base_ns = 3,
                                    .idle_timeout = 4,
                                    .owner = 5,
                                    .rundir = strdup("/cache/rundir")};
}

static char *store(const struct plan_record *record, size_t *ret_n) {
        char *bytes = NULL;

        assert_int_equal(record_store(record, &bytes, ret_n), 0);
        return bytes;
}

TEST(what_is_stored_comes_back_the_same) {
        _cleanup_record_ struct plan_record record = {0}, again = {0};
        _cleanup_free_ char *bytes = NULL, *second = NULL;
        struct nsrun_error err = {0};
        size_t n = 0, m = 0;

        make_record(&record);
        bytes = store(&record, &n);
        assert_int_equal(record_restore(bytes, n, true, &again, &err), 0);
        assert_int_equal(err.stage, NSRUN_STAGE_NONE);
        second = store(&again, &m);
        assert_int_equal(n, m);
        assert_memory_equal(bytes, second, n);
        assert_string_equal(again.id, "abcdefgh");
        assert_string_equal(again.rundir, "/cache/rundir");
        assert_null(again.cgroup);
        assert_int_equal(again.init.pid, 18);
        assert_int_equal(again.base_s, -2);
        assert_int_equal(again.plan->n_ops, 2);
        assert_int_equal(again.plan->ops[0].origin, PLAN_BY_TABLE);
        assert_string_equal(again.plan->ops[0].source, "/b\xff");
        assert_string_equal(again.plan->ops[0].text, "");
        assert_null(again.plan->ops[1].source);
        assert_true(again.plan->ops[0].size == UINT64_MAX && again.plan->ops[1].is_hiding);
        assert_int_equal(again.plan->seccomp.n, 5);
        assert_memory_equal(again.plan->seccomp.code, record.plan->seccomp.code,
                            5 * sizeof(*record.plan->seccomp.code));
        assert_int_equal(strv_length(again.plan->argv), 4);
        assert_string_equal(again.plan->argv[3], "two words\n");
        assert_string_equal(again.plan->env[1], "EMPTY=");
}

/* In memory of its own, so that a read behind its end is seen. */
static int restore(const char *bytes, size_t n, struct nsrun_error *err) {
        _cleanup_record_ struct plan_record record = {0};
        _cleanup_free_ char *copy = malloc(n ? n : 1);
        int r;

        assert_non_null(copy);
        memcpy(copy, bytes, n);
        r = record_restore(copy, n, true, &record, err);
        if (r < 0)
                assert_null(record.plan);
        return r;
}

TEST(every_truncation_is_refused) {
        _cleanup_record_ struct plan_record record = {0};
        _cleanup_free_ char *bytes = NULL, *longer = NULL;
        struct nsrun_error err = {0};
        size_t n = 0;

        make_record(&record);
        bytes = store(&record, &n);
        for (size_t i = 0; i < n; i++) {
                err = (struct nsrun_error){0};
                assert_int_equal(restore(bytes, i, &err), -EBADMSG);
                assert_string_equal(err.what, "what was written down of the session can't be read");
                assert_int_equal(err.stage, NSRUN_STAGE_SUPERVISE);
        }
        longer = calloc(1, n + 1);
        assert_non_null(longer);
        memcpy(longer, bytes, n);
        assert_int_equal(restore(longer, n + 1, &err), -EBADMSG);
        assert_int_equal(restore(bytes, n, NULL), 0);
}

/* Each either makes sense by chance or is refused; and what makes sense can be stored again. */
TEST(no_bytes_crash_the_reader) {
        _cleanup_record_ struct plan_record record = {0};
        _cleanup_free_ char *bytes = NULL, *changed = NULL;
        unsigned seed = 20261122, n_refused = 0;
        size_t n = 0;

        make_record(&record);
        bytes = store(&record, &n);
        changed = malloc(n);
        assert_non_null(changed);
        for (int i = 0; i < 20000; i++) {
                struct nsrun_error err = {0};
                int r;

                memcpy(changed, bytes, n);
                for (int j = rand_r(&seed) % 4; j >= 0; j--)
                        changed[(size_t)rand_r(&seed) % n] =
                                (char)(rand_r(&seed) % 3 ? rand_r(&seed) : 0xff);
                r = restore(changed, n, &err);
                assert_true(r == 0 || r == -EBADMSG || r == -ENOMEM);
                n_refused += r < 0;
        }
        assert_true(n_refused > 1000);
}

TEST(another_version_is_refused) {
        _cleanup_record_ struct plan_record record = {0};
        _cleanup_free_ char *bytes = NULL;
        struct nsrun_error err = {0};
        size_t n = 0;

        make_record(&record);
        bytes = store(&record, &n);
        bytes[sizeof(uint64_t)]++;
        assert_int_equal(restore(bytes, n, &err), -EBADMSG);
        assert_string_equal(err.hint, "another version of nsrun wrote it: stop the session with that one");
        bytes[sizeof(uint64_t)]--;
        assert_int_equal(restore(bytes, n, NULL), 0);
}

TEST(a_plan_travels_too) {
        struct nsrun_plan *plan = make_plan(), *again = NULL;
        _cleanup_free_ char *bytes = NULL;
        size_t n = 0;

        assert_int_equal(plan_store(plan, &bytes, &n), 0);
        for (size_t i = 0; i < n; i++)
                assert_int_equal(plan_restore(bytes, i, &again, NULL), -EBADMSG);
        assert_null(again);
        assert_int_equal(plan_restore(bytes, n, &again, NULL), 0);
        assert_string_equal(again->cwd, plan->cwd);
        plan_free(again);
        plan_free(plan);
}

TEST(a_process_is_told_by_more_than_its_number) {
        _cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0), opened = -EBADF;
        struct record_process own, other;

        assert_true(pidfd >= 0);
        assert_int_equal(record_identify(getpid(), pidfd, &own), 0);
        opened = record_open_process(&own);
        assert_true(opened >= 0);
        other = own;
        other.pidfd_inode += own.pidfd_inode ? 1 : 0;
        other.start_time++;
        assert_int_equal(record_open_process(&other), -ESRCH);
        /* As on a kernel whose pidfds all have one inode. */
        own.pidfd_inode = 0;
        close_fdp(&opened);
        opened = record_open_process(&own);
        assert_true(opened >= 0);
        other.pidfd_inode = 0;
        assert_int_equal(record_open_process(&other), -ESRCH);
}

int main(void) {
        return run_all_tests();
}

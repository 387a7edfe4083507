/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fuzzes records of sessions and plans as bytes.  The input is a list of edits of a good one: what
 * is read after them is refused, or stored again to the same bytes each time; and a plan is looked over,
 * whatever it says, without a crash. */
#include "fuzz.h"

#include "plan/record.h"
#include "plan/verify.h"

static struct nsrun_plan *good_plan(void) {
        static const char *const argv[] = {"sh", "-c", "true", NULL};
        struct nsrun_plan *plan = calloc(1, sizeof(*plan));

        CHECK(plan);
        plan->ops = calloc(3, sizeof(*plan->ops));
        plan->argv = calloc(ARRAY_SIZE(argv), sizeof(char *));
        plan->seccomp.owned = calloc(2, sizeof(*plan->seccomp.owned));
        CHECK(plan->ops && plan->argv && plan->seccomp.owned);
        plan->n_ops = 2;
        plan->ops[0] = (struct plan_op){
                .kind = PLAN_OVERLAY, .target = strdup("/a"), .source = strdup("/b"), .text = strdup("")};
        plan->ops[1] = (struct plan_op){.target = strdup("/c"), .is_read_only = true};
        plan->seccomp.code = plan->seccomp.owned;
        plan->seccomp.n = 2;
        plan->seccomp_name = strdup("default");
        plan->cwd = strdup("/work");
        for (size_t i = 0; argv[i]; i++)
                plan->argv[i] = strdup(argv[i]);
        return plan;
}

/* Four bytes an edit: a place of two, what is done there, and a byte. */
static size_t edit(char *bytes, size_t n, size_t size, const uint8_t *edits, size_t n_edits) {
        for (; n_edits >= 4 && n > 0; edits += 4, n_edits -= 4) {
                size_t at = (edits[0] | (size_t)edits[1] << 8) % n;

                switch (edits[2] % 5) {
                case 0: /* takes a byte away */
                        memmove(bytes + at, bytes + at + 1, n - at - 1);
                        n--;
                        break;
                case 1: /* adds one */
                        if (n == size)
                                break;
                        memmove(bytes + at + 1, bytes + at, n - at);
                        bytes[at] = (char)edits[3];
                        n++;
                        break;
                case 2: /* cuts the rest off */
                        if (edits[3] == 0)
                                n = at;
                        break;
                default:
                        bytes[at] = (char)edits[3];
                }
        }
        return n;
}

/* Bytes of exactly this size, so that one that is read too far is seen. */
static char *edited(const char *good, size_t n, const uint8_t *input, size_t n_input, size_t *ret_n) {
        char *room = malloc(n + n_input + 1), *exact;

        CHECK(room);
        memcpy(room, good, n);
        *ret_n = edit(room, n, n + n_input, input, n_input);
        exact = malloc(*ret_n + (*ret_n == 0));
        CHECK(exact);
        memcpy(exact, room, *ret_n);
        free(room);
        return exact;
}

static void check_record(const char *bytes, size_t n) {
        _cleanup_record_ struct plan_record record = {0}, again = {0}, short_one = {0};
        _cleanup_free_ char *first = NULL, *second = NULL;
        size_t n_first = 0, n_second = 0;
        struct nsrun_error err = {0};
        int r = record_restore(bytes, n, true, &record, &err);

        CHECK(r == 0 || ((r == -EBADMSG || r == -ENOMEM) && err.what[0]));
        if (r < 0) {
                CHECK(!record.plan && !record.id);
                r = record_restore(bytes, n, false, &short_one, &err);
                CHECK(r == 0 || r == -EBADMSG || r == -ENOMEM);
                return;
        }
        CHECK(record_restore(bytes, n, false, &short_one, &err) == 0 && short_one.plan->n_ops == 0);
        CHECK(record.id && record.plan->cwd && record.plan->seccomp_name);
        CHECK(record_store(&record, &first, &n_first) == 0);
        CHECK(record_restore(first, n_first, true, &again, &err) == 0);
        CHECK(record_store(&again, &second, &n_second) == 0);
        CHECK(n_first == n_second && memcmp(first, second, n_first) == 0);
}

static void check_plan(const char *bytes, size_t n) {
        _cleanup_plan_ struct nsrun_plan *plan = NULL, *again = NULL;
        _cleanup_free_ char *first = NULL, *second = NULL;
        size_t n_first = 0, n_second = 0;
        struct nsrun_error err = {0};
        int r = plan_restore(bytes, n, &plan, &err);

        CHECK(r == 0 || ((r == -EBADMSG || r == -ENOMEM) && err.what[0] && !plan));
        if (r < 0)
                return;
        r = plan_verify(plan, &err);
        CHECK(r == 0 || ((r == -EINVAL || r == -ENOMEM) && err.what[0]));
        CHECK(plan_store(plan, &first, &n_first) == 0);
        CHECK(plan_restore(first, n_first, &again, &err) == 0);
        CHECK(plan_store(again, &second, &n_second) == 0);
        CHECK(n_first == n_second && memcmp(first, second, n_first) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n) {
        static char *good, *good_as_plan;
        static size_t n_good, n_good_as_plan;
        char *bytes;
        size_t n_bytes;

        if (!good) {
                struct plan_record record = {.id = strdup("abcdefgh"),
                                             .plan = good_plan(),
                                             .namespaces = 0x7e020000,
                                             .rundir = strdup("/cache/rundir")};

                CHECK(record_store(&record, &good, &n_good) == 0);
                CHECK(plan_store(record.plan, &good_as_plan, &n_good_as_plan) == 0);
                record_clear(&record);
        }
        bytes = edited(good, n_good, input, n, &n_bytes);
        check_record(bytes, n_bytes);
        free(bytes);
        bytes = edited(good_as_plan, n_good_as_plan, input, n, &n_bytes);
        check_plan(bytes, n_bytes);
        free(bytes);
        return 0;
}

#ifndef FUZZ_WITH_LIBFUZZER
static size_t make_input(uint8_t *to, size_t size) {
        size_t n = 4 * draw(size < 64 ? size / 4 : 16);

        for (size_t i = 0; i < n; i++)
                to[i] = (uint8_t)draw(draw(2) ? 256 : 4);
        return n;
}
#endif

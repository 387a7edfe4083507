/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Every system call of an `nsrun bash` fails once, in turn: its result is the whole truth, or it is
 * an error, and nothing is left behind. */
#include "bash.h"
#include "faults.h"

#define MOST_CALLS 5000U

/* The second output comes from who holds the pipe when the command has ended. */
static const char command[] =
        "grep CapBnd /proc/self/status; cat; (read -t 0.02 <> <(:); echo late) & echo out >&2; exit 7";
static const char output[] = "CapBnd:\t0000000000000000\nout\nlate\n";

/* What is wrong, or NULL. */
static const char *judge(const struct outcome *o, struct json_object *object) {
        const char *error = json_object_get_string(json_object_object_get(object, "error")),
                   *found = json_object_get_string(json_object_object_get(object, "output"));

        if (o->status == 125)
                return error && *error && !found ? NULL : "125 without an error";
        if (o->status != 7)
                return "neither the command's status nor 125";
        if (error || !found || !streq(found, output))
                return "the command's status, and not its output";
        return NULL;
}

static void fail_every_call(const struct site *s, int error) {
        const char **argv = bash_argv(s, OPTIONS("--json", command));
        unsigned step = fault_step(error), n_good = 0, n_wrong = 0, n;
        _cleanup_outcome_ struct outcome o = {0};
        struct fault_page page;

        argv[0] = faults_program();
        for (n = 1; n < MOST_CALLS; n += step) {
                _cleanup_free_ char *wanted = text_of("fail:%u:%d", n, error), *left = NULL;
                struct json_object *object;
                const char *wrong;

                run_faulty(s, argv, wanted, 0, &o, &page);
                object = json_tokener_parse(o.out);
                /* Where the failing call was to wait for pid 1, it is ours to wait for. */
                reap_orphans();
                left = leftovers(s);
                /* Before there is a result to print: a usage error or the like. */
                if (o.status == 125 && !o.out[0])
                        wrong = startswith(o.err, "nsrun: ") ? NULL : "125 without a word";
                else
                        wrong = judge(&o, object);
                (void)json_object_put(object);
                n_good += o.status == 7;
                if (!page.call[0])
                        break;
                if (!wrong && !left)
                        continue;
                n_wrong++;
                print_message("call %u (%s of %s) fails with \"%s\": %s; status %d, out: %s, err: %s, %s\n",
                              n, page.call, page.is_supervisors ? "the supervisor" : "a child",
                              strerror(error), wrong ? wrong : "it leaves something behind", o.status, o.out,
                              o.err, left ? left : "");
        }
        free(argv);
        /* The last run was past the end. */
        expect_status(&o, 7);
        assert_true(n > 100);
        print_message("%u calls failed with \"%s\", %u of them harmlessly\n", (n - 1) / step,
                      strerror(error), n_good);
        assert_int_equal(n_wrong, 0);
}

TEST(a_failing_call_never_makes_a_result_lie) {
        static const int errors[] = {EIO, EPERM, ENOMEM, ENOSYS};

        for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
                fail_every_call(*state, errors[i]);
}

int main(void) {
        return run_all_tests();
}

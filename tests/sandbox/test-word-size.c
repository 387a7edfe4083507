/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Programs of 32 bits on x86_64: they run, by the same policy as others; and where they don't that is told.
 */
#include "harness.h"

#include <sys/socket.h>

#ifdef __x86_64__

#define LOADED_AT 0x08048000U
#define HEADERS   84U

/* An ELF program of i386 that makes one call, after "32\n" was printed, and ends with what that returns: its
 * errno, or 0. */
static void make_program(const struct site *s, const char *name, unsigned number, unsigned first,
                         unsigned second, unsigned third) {
        _cleanup_free_ char *path = path_of(s->project, name);
        unsigned char bytes[256] = {
                0x7f, 'E', 'L', 'F', 1, 1,
                1, [16] = 2, [18] = 3, [20] = 1, [28] = 52, [40] = 52, [42] = 32, [44] = 1, [52] = 1,
                [HEADERS] =
                        /* write(1, text, 3) */
                0xb8,
                4, 0, 0, 0, 0xbb, 1, 0, 0, 0, 0xb9, 0, 0, 0, 0, 0xba, 3, 0, 0, 0, 0xcd, 0x80,
                /* the call */
                0xb8, 0, 0, 0, 0, 0xbb, 0, 0, 0, 0, 0xb9, 0, 0, 0, 0, 0xba, 0, 0, 0, 0, 0xcd, 0x80,
                /* exit_group(result < 0 ? -result : 0): mov ebx, eax; sar eax, 31; neg ebx; and ebx, eax */
                0x89, 0xc3, 0xc1, 0xf8, 31, 0xf7, 0xdb, 0x21, 0xc3, 0xb8, 252, 0, 0, 0, 0xcd, 0x80, '3', '2',
                '\n'};
        const uint32_t words[][2] = {{24, LOADED_AT + HEADERS},
                                     {60, LOADED_AT},
                                     {64, LOADED_AT},
                                     {68, sizeof(bytes)},
                                     {72, sizeof(bytes)},
                                     {76, 5},
                                     {80, 4096},
                                     {HEADERS + 11, LOADED_AT + HEADERS + 60},
                                     {HEADERS + 23, number},
                                     {HEADERS + 28, first},
                                     {HEADERS + 33, second},
                                     {HEADERS + 38, third}};
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                memcpy(bytes + words[i][0], &words[i][1], 4);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
        assert_int_equal(close(fd), 0);
}

/* A kernel without CONFIG_IA32_EMULATION has none, and some virtual machines have no interrupt for them. */
static bool runs_32_bits(const struct site *s) {
        _cleanup_free_ char *path = path_of(s->project, "getpid");
        const char *const argv[] = {path, NULL};
        _cleanup_outcome_ struct outcome o = {0};

        make_program(s, "getpid", 20, 0, 0, 0);
        run(&(struct request){.argv = argv}, &o);
        return o.status == 0 && streq(o.out, "32\n");
}

static void want_32_bits(const struct site *s) {
        if (!runs_32_bits(s))
                skip_as_lacking("no programs of 32 bits run here");
}

TEST(programs_of_32_bits_run_and_are_denied_what_others_are) {
        static const struct {
                const char *name;
                unsigned number, arguments[3];
                int status;
        } cases[] = {
                {"getpid", 20, {0}, 0},
                {"mount", 21, {0}, EPERM},
                {"unix-socket", 359, {AF_UNIX, SOCK_STREAM, 0}, 0},
                {"packet-socket", 359, {AF_PACKET, SOCK_RAW, 0}, EAFNOSUPPORT},
                {"socketcall", 102, {1, LOADED_AT, 0}, EPERM},
                {"clock_gettime64", 403, {CLOCK_MONOTONIC, 0, 0}, EFAULT},
                {"clone3", 435, {0}, ENOSYS},
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        want_32_bits(s);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *path = path_of(s->project, cases[i].name);
                const unsigned *a = cases[i].arguments;

                make_program(s, cases[i].name, cases[i].number, a[0], a[1], a[2]);
                RUN(s, &o, "--", path);
                expect_status(&o, cases[i].status);
                expect_out(&o, "32\n");
                outcome_clear(&o);
        }
}

TEST(where_programs_of_32_bits_do_not_run_the_reason_is_told) {
        const struct site *s = *state;
        _cleanup_free_ char *path = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        want_32_bits(s);
        path = path_of(s->project, "getpid");
        RUN(s, &o, "--explain", "--seccomp=strict", "--", path);
        expect_out(&o, "");
        assert_int_not_equal(o.status, 0);
        expect_in(o.err,
                  "nsrun: reason: the seccomp policy lets no 32-bit programs run: --seccomp=default does\n");
        outcome_clear(&o);
        /* They have other names for the same calls, and socketcall(2) and ipc(2). */
        RUN(s, &o, "--explain", "--seccomp=default-connect", "--", path);
        expect_out(&o, "");
        expect_in(o.err, "nsrun: reason: a policy from which calls are taken lets no 32-bit programs run, "
                         "which have other calls for the same: nothing allows both\n");
        RUN(s, &o, "--seccomp=default+kcmp", "--", path);
        expect_out(&o, "32\n");
        outcome_clear(&o);
        /* What is missing there is told of as ever. */
        RUN(s, &o, "--explain", "--", "sh", "-c", "\"$0\"; exit 1", path);
        expect_out(&o, "32\n");
        assert_null(strstr(o.err, "32-bit"));
}

#endif

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of system calls: it agrees with the kernel's headers and with libseccomp, and an
 * architecture is known by everybody's name for it. */
#include "judge.h"

#include <seccomp.h>

#include "scratch.h"

/* ------------------------------------------------------------ the kernel's headers */

struct header {
        char names[600][40];
        uint32_t numbers[600];
        size_t n;
        uint32_t last; /* newest call: all up to it are there */
};

/* "#define __NR_read 0", "#define __NR_read (__X32_SYSCALL_BIT + 0)", and of asm-generic/unistd.h,
 * where it says what a 64-bit machine has, "#define __NR_fcntl __NR3264_fcntl". */
static void header_take(struct header *h, const char *line) {
        char name[40], other[40];
        unsigned number = 0;

        if (sscanf(line, "#define __NR_%39[a-z0-9_] __NR3264_%39s", name, other) == 2) {
                for (size_t i = 0; i < h->n; i++)
                        if (startswith(h->names[i], "3264_") && streq(h->names[i] + 5, other))
                                number = h->numbers[i];
        } else if (sscanf(line, "#define __NR%39[a-z0-9_] %u", name, &number) != 2 &&
                   sscanf(line, "#define __NR%39[a-z0-9_] (__X32_SYSCALL_BIT + %u)", name, &number) != 2) {
                return;
        } else {
                memmove(name, name + (name[0] == '_'), strlen(name));
        }
        if (streq(name, "syscalls") || streq(name, "arch_specific_syscall"))
                return;
        assert_true(h->n < ARRAY_SIZE(h->names));
        strcpy(h->names[h->n], name);
        h->numbers[h->n++] = number;
        /* From 512 on are the few of x32's own. */
        h->last = number > h->last && number < 512 ? number : h->last;
}

static bool header_read(const char *name, struct header *ret) {
        static const char *const folders[] = {"/usr/include/x86_64-linux-gnu", "/usr/include"};
        char path[128], line[256];
        FILE *file = NULL;

        *ret = (struct header){.n = 0};
        for (size_t i = 0; i < ARRAY_SIZE(folders) && !file; i++) {
                (void)snprintf(path, sizeof(path), "%s/%s", folders[i], name);
                file = fopen(path, "re");
        }
        while (file && fgets(line, sizeof(line), file))
                header_take(ret, line);
        if (file)
                (void)fclose(file);
        return file != NULL;
}

static const char *header_name(const struct header *h, const char *name) {
        for (size_t i = 0; i < h->n; i++)
                if (streq(h->names[i], name))
                        return h->names[i];
        return NULL;
}

/* Calls that came later than the header and yet have numbers that were free. */
static bool fills_a_gap(const char *name) {
        static const char *const names[] = {"uprobe", "uretprobe", "riscv_hwprobe", "riscv_flush_icache"};
        bool does = false;

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                does |= streq(name, names[i]);
        return does;
}

static uint32_t x32_mark(enum syscall_arch arch) {
        return arch == SYSCALL_ARCH_X32 ? SYSCALL_X32_BIT : 0;
}

/* The last of the calls that all machines have by the same number. */
static uint32_t newest_call(enum syscall_arch arch) {
        uint32_t newest = 0;
        const char *name;

        for (size_t i = 0; (name = syscall_name_at(i)); i++) {
                uint32_t number = (uint32_t)syscall_number(arch, name) ^ x32_mark(arch);

                newest = number > newest && number < 512 ? number : newest;
        }
        return newest;
}

/* The first call of the header that the table has not, or by another number.  A call of a later kernel than
 * the table knows gets ENOSYS, as from one without it, and the tree builds with that kernel's headers. */
static const char *header_first_wrong(const struct header *h, enum syscall_arch arch, bool is_generic) {
        uint32_t newest = newest_call(arch);

        for (size_t i = 0; i < h->n; i++) {
                int number = syscall_number(arch, h->names[i]);

                /* What only 32-bit machines have, or those that ask for it. */
                if (number < 0 && (is_generic || (h->numbers[i] > newest && h->numbers[i] < 512)))
                        continue;
                if (number != (int)(h->numbers[i] | x32_mark(arch)))
                        return h->names[i];
        }
        return NULL;
}

/* The table has what the header has; and up to the header's last number no more. */
static void expect_header(const char *file, enum syscall_arch arch, size_t at_least, bool is_generic) {
        static struct header h;
        const char *name;

        if (!header_read(file, &h)) {
                print_message("no header %s here\n", file);
                skip();
        }
        assert_between(h.n, at_least, ARRAY_SIZE(h.names));
        name = header_first_wrong(&h, arch, is_generic);
        if (name)
                fail_msg("%s: %s is %d in the table, and another in %s: is seccomp/syscalls.txt complete?",
                         syscall_arch_name(arch), name, syscall_number(arch, name), file);
        for (size_t i = 0; (name = syscall_name_at(i)); i++) {
                int number = syscall_number(arch, name);

                if (number >= 0 && ((uint32_t)number ^ x32_mark(arch)) <= h.last && !header_name(&h, name) &&
                    !fills_a_gap(name))
                        fail_msg("%s: the table's %s, %d, is not in %s", syscall_arch_name(arch), name,
                                 number, file);
        }
}

TEST(the_table_is_the_kernels) {
        expect_header("asm-generic/unistd.h", SYSCALL_ARCH_RISCV64, 300, true);
        expect_header("asm-generic/unistd.h", SYSCALL_ARCH_AARCH64, 300, true);
#ifdef __x86_64__
        expect_header("asm/unistd_64.h", SYSCALL_ARCH_X86_64, 360, false);
        expect_header("asm/unistd_32.h", SYSCALL_ARCH_X86, 430, false);
        expect_header("asm/unistd_x32.h", SYSCALL_ARCH_X32, 340, false);
#endif
}

TEST(only_a_later_kernels_call_may_be_unknown) {
        static const struct {
                const char *line, *wrong;
        } cases[] = {
                {"#define __NR_read 0", NULL},
                {"#define __NR_a_later_one 511", NULL},
                {"#define __NR_nosuchcall 300", "nosuchcall"},
                {"#define __NR_read 511", "read"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct header h = {.n = 0};
                const char *wrong;

                header_take(&h, cases[i].line);
                assert_int_equal(h.n, 1);
                wrong = header_first_wrong(&h, SYSCALL_ARCH_X86_64, false);
                if (cases[i].wrong)
                        assert_string_equal(wrong, cases[i].wrong);
                else
                        assert_null(wrong);
        }
}

/* --------------------------------------------------------------------- libseccomp */

TEST(an_architecture_is_libseccomps) {
        size_t n = 0;

        for (enum syscall_arch arch = 0; arch < N_SYSCALL_ARCHS; arch++) {
                uint32_t token = seccomp_arch_resolve_name(syscall_arch_name(arch));

                assert_int_equal(syscall_arch_is_known(arch), token != 0);
                if (token == 0)
                        continue;
                n++;
                /* Of x32 the token is libseccomp's own. */
                if (arch != SYSCALL_ARCH_X32)
                        assert_int_equal(token, syscall_arch_audit(arch));
                for (unsigned number = 0; number < 600; number++) {
                        char *name = seccomp_syscall_resolve_num_arch(token, (int)number);

                        if (name && !streq(name, syscall_name(arch, arch == SYSCALL_ARCH_X32
                                                                            ? number | SYSCALL_X32_BIT
                                                                            : number)))
                                fail_msg("%s: %u is %s", syscall_arch_name(arch), number, name);
                        free(name);
                }
        }
        assert_true(n >= 9);
}

TEST(the_table_is_sorted_and_a_number_has_one_name) {
        const char *name, *last = "";
        size_t n = 0;

        for (; (name = syscall_name_at(n)); n++) {
                assert_true(strcmp(last, name) < 0);
                last = name;
                for (enum syscall_arch arch = 0; arch < N_SYSCALL_ARCHS; arch++)
                        if (syscall_number(arch, name) >= 0)
                                assert_string_equal(syscall_name(arch, (uint32_t)syscall_number(arch, name)),
                                                    name);
        }
        assert_true(n > 480);
        assert_int_equal(syscall_number(SYSCALL_ARCH_X86_64, "frobnicate"), -ENOENT);
        assert_int_equal(syscall_number(SYSCALL_ARCH_X86_64, "riscv_hwprobe"), -ENOSYS);
        assert_int_equal(syscall_number(SYSCALL_ARCH_RISCV64, "riscv_hwprobe"), 258);
        assert_int_equal(syscall_number(SYSCALL_ARCH_X32, "read"), SYSCALL_X32_BIT);
        assert_int_equal(syscall_number(SYSCALL_ARCH_S390X, "setxattrat"), 463);
}

/* A line of the supplement that contradicts libseccomp, or makes no sense, ends the build. */
TEST(a_wrong_supplement_is_refused) {
        static const struct {
                const char *text;
                bool is_right;
        } cases[] = {
                {"# nothing", true},
                {"brandnew 600", true},
                {"brandnew 600 x86_64 s390x", true},
                {"read 0 x86_64", true},
                {"read 1 x86_64", false},
                {"brandnew 1 x86_64", false},
                {"brandnew 221", false},
                {"brandnew", false},
                {"brandnew six", false},
                {"brandnew -1", false},
                {"brandnew 7000", false},
                {"brandnew 600 pdp11", false},
                {"a_name_that_is_longer_than_any_call_has 600", false},
        };
        char *folder = scratch_make(), *supplement = scratch_path(folder, "supplement"),
             *out = scratch_path(folder, "out.c"), command[512];

        if (access("seccomp/tabulate", X_OK) < 0)
                skip();
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                FILE *file = fopen(supplement, "we");
                int status;

                assert_non_null(file);
                assert_true(fprintf(file, "%s\n", cases[i].text) > 0);
                assert_int_equal(fclose(file), 0);
                (void)snprintf(command, sizeof(command), "seccomp/tabulate '%s' '%s' 2>/dev/null", out,
                               supplement);
                status = system(command);
                if (status != (cases[i].is_right ? 0 : 1 << 8))
                        fail_msg("\"%s\": %d", cases[i].text, status);
        }
        free(supplement);
        free(out);
        scratch_remove(folder);
}

/* ------------------------------------------------------------------------- names */

TEST(an_architecture_is_known_by_all_its_names) {
        static const struct {
                const char *name, *oci;
                enum syscall_arch arch, machine;
                bool is_big_endian;
        } cases[] = {
                {"x86_64", "SCMP_ARCH_X86_64", SYSCALL_ARCH_X86_64, SYSCALL_ARCH_X86_64, false},
                {"x86", "SCMP_ARCH_X86", SYSCALL_ARCH_X86, SYSCALL_ARCH_X86_64, false},
                {"x32", "SCMP_ARCH_X32", SYSCALL_ARCH_X32, SYSCALL_ARCH_X86_64, false},
                {"aarch64", "SCMP_ARCH_AARCH64", SYSCALL_ARCH_AARCH64, SYSCALL_ARCH_AARCH64, false},
                {"arm", "SCMP_ARCH_ARM", SYSCALL_ARCH_ARM, SYSCALL_ARCH_AARCH64, false},
                {"riscv64", "SCMP_ARCH_RISCV64", SYSCALL_ARCH_RISCV64, SYSCALL_ARCH_RISCV64, false},
                {"ppc64le", "SCMP_ARCH_PPC64LE", SYSCALL_ARCH_PPC64LE, SYSCALL_ARCH_PPC64LE, false},
                {"s390x", "SCMP_ARCH_S390X", SYSCALL_ARCH_S390X, SYSCALL_ARCH_S390X, true},
                {"s390", "SCMP_ARCH_S390", SYSCALL_ARCH_S390, SYSCALL_ARCH_S390X, true},
                {"loongarch64", "SCMP_ARCH_LOONGARCH64", SYSCALL_ARCH_LOONGARCH64, SYSCALL_ARCH_LOONGARCH64,
                 false},
        };

        assert_int_equal(ARRAY_SIZE(cases), N_SYSCALL_ARCHS);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                assert_string_equal(syscall_arch_name(cases[i].arch), cases[i].name);
                assert_int_equal(syscall_arch_by_name(cases[i].name), cases[i].arch);
                assert_int_equal(syscall_arch_by_name(cases[i].oci), cases[i].arch);
                assert_int_equal(syscall_arch_is_big_endian(cases[i].arch), cases[i].is_big_endian);
                for (enum syscall_arch machine = 0; machine < N_SYSCALL_ARCHS; machine++)
                        assert_int_equal(syscall_arch_runs_on(cases[i].arch, machine),
                                         machine == cases[i].machine || machine == cases[i].arch);
        }
        assert_int_equal(syscall_arch_by_name("SCMP_ARCH_MIPS"), N_SYSCALL_ARCHS);
}

/* Podman's profile lists them all, on every machine. */
TEST(a_policy_may_name_every_architecture) {
        static const char text[] =
                "{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"architectures\": [\"SCMP_ARCH_X86_64\", "
                "\"SCMP_ARCH_AARCH64\", \"SCMP_ARCH_RISCV64\", \"SCMP_ARCH_PPC64LE\", \"SCMP_ARCH_S390X\", "
                "\"SCMP_ARCH_S390\", \"SCMP_ARCH_LOONGARCH64\", \"SCMP_ARCH_MIPS64N32\", "
                "\"SCMP_ARCH_PARISC\"]}";

        for (enum syscall_arch machine = 0; machine < N_SYSCALL_ARCHS; machine++) {
                _cleanup_rules_ struct rules rules = {0};

                rules_of("all", text, machine, &rules);
                assert_null(rules.warnings);
                for (enum syscall_arch arch = 0; arch < N_SYSCALL_ARCHS; arch++)
                        assert_int_equal(rules.has_arch[arch],
                                         arch == machine || (arch == SYSCALL_ARCH_S390 &&
                                                             machine == SYSCALL_ARCH_S390X));
        }
}

int main(void) {
        return run_all_tests();
}

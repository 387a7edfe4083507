/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes the system calls that its arguments name, and no other but write(2) to tell
 * of them and exit_group(2): no libc, whose start alone needs a dozen.
 *
 *     raw [COUNTx | WORKERS& | i]NUMBER[,ARGUMENT...]...
 *
 * Numbers are decimal or 0x hexadecimal; "i" makes the call as 32-bit x86 does, "9x" nine
 * times; "9&" forks nine processes that do the rest of the line, and waits for them.  Prints a
 * result a line; the status is the last one's errno, or the sum of the workers' statuses. */
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "no raw system calls for this architecture"
#endif

static long raw_call(long number, const uint64_t a[6]) {
#ifdef __x86_64__
        register uint64_t r10 __asm__("r10") = a[3];
        register uint64_t r8 __asm__("r8") = a[4];
        register uint64_t r9 __asm__("r9") = a[5];
        long result = number;

        __asm__ volatile("syscall"
                         : "+a"(result)
                         : "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                         : "rcx", "r11", "memory");
        return result;
#else
        register uint64_t x0 __asm__("x0") = a[0];
        register uint64_t x1 __asm__("x1") = a[1];
        register uint64_t x2 __asm__("x2") = a[2];
        register uint64_t x3 __asm__("x3") = a[3];
        register uint64_t x4 __asm__("x4") = a[4];
        register uint64_t x5 __asm__("x5") = a[5];
        register long x8 __asm__("x8") = number;

        __asm__ volatile("svc 0"
                         : "+r"(x0)
                         : "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5), "r"(x8)
                         : "memory");
        return (long)x0;
#endif
}

/* As 32-bit x86 does; three arguments are enough. */
static long int80(long number, const uint64_t a[6]) {
#ifdef __x86_64__
        long result = number;

        __asm__ volatile("int $0x80"
                         : "+a"(result)
                         : "b"(a[0]), "c"(a[1]), "d"(a[2])
                         : "r8", "r9", "r10", "r11", "memory");
        return (int32_t)result;
#else
        return raw_call(number, a);
#endif
}

static long call3(long number, uint64_t a, uint64_t b, uint64_t c) {
        const uint64_t arguments[6] = {a, b, c};

        return raw_call(number, arguments);
}

static _Noreturn void leave(long status) {
        for (;;)
                (void)call3(SYS_exit_group, (uint64_t)status & 0xff, 0, 0);
}

static void say(long result) {
        uint64_t n = result < 0 ? 0 - (uint64_t)result : (uint64_t)result;
        char text[24];
        size_t at = sizeof(text);

        text[--at] = '\n';
        do
                text[--at] = (char)('0' + n % 10);
        while ((n /= 10) > 0);
        if (result < 0)
                text[--at] = '-';
        (void)call3(SYS_write, 1, (uint64_t)(uintptr_t)(text + at), sizeof(text) - at);
}

static uint64_t read_number(const char **at) {
        unsigned base = (*at)[0] == '0' && (*at)[1] == 'x' ? 16 : 10;
        uint64_t n = 0;

        for (*at += base == 16 ? 2 : 0;; (*at)++) {
                char c = **at;

                if (c >= '0' && c <= '9')
                        n = n * base + (uint64_t)(c - '0');
                else if (base == 16 && c >= 'a' && c <= 'f')
                        n = n * base + (uint64_t)(c - 'a') + 10;
                else
                        return n;
        }
}

/* In the workers it returns; the first process's status is the sum of theirs. */
static void share_work(uint64_t workers) {
        long sum = 0;

        for (uint64_t i = 0; i < workers; i++)
                if (call3(SYS_clone, 17 /* SIGCHLD */, 0, 0) == 0)
                        return;
        for (uint64_t i = 0; i < workers; i++) {
                int status = 0;
                const uint64_t any[6] = {(uint64_t)-1, (uint64_t)(uintptr_t)&status};

                if (raw_call(SYS_wait4, any) < 0)
                        leave(99);
                sum += status >> 8;
        }
        leave(sum);
}

/* A compiler that doesn't optimise calls it where an array is cleared, and no library is linked. */
void *memset(void *to, int byte, size_t n);
void *memset(void *to, int byte, size_t n) {
        volatile unsigned char *at = to;

        while (n-- > 0)
                *at++ = (unsigned char)byte;
        return to;
}

/* One word; its errno, or 0. */
static long do_word(const char *at) {
        uint64_t n = read_number(&at), count = 1, arguments[6] = {0};
        long result = 0;
        int is_int80;

        if (*at == '&') {
                share_work(n);
                return 0;
        }
        if (*at == 'x') {
                count = n;
                at++;
                is_int80 = *at == 'i';
                at += is_int80;
                n = read_number(&at);
        } else {
                is_int80 = *at == 'i';
                at += is_int80;
                if (is_int80)
                        n = read_number(&at);
        }
        for (unsigned i = 0; i < 6 && *at == ','; i++) {
                at++;
                arguments[i] = read_number(&at);
        }
        if (*at)
                leave(98);
        for (uint64_t i = 0; i < count; i++)
                result = is_int80 ? int80((long)n, arguments) : raw_call((long)n, arguments);
        say(result);
        return result < 0 && result > -4096 ? -result : 0;
}

/* argc, argv: as the kernel laid them out on the stack. */
__attribute__((__used__)) _Noreturn void raw_main(const long *stack) {
        const char *const *argv = (const char *const *)(const void *)(stack + 1);
        long status = 0;

        for (long i = 1; i < stack[0]; i++)
                status = do_word(argv[i]);
        leave(status);
}

#ifdef __x86_64__
__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall raw_main\n");
#else
__asm__(".globl _start\n_start:\n\tmov x29, #0\n\tmov x0, sp\n\tbl raw_main\n");
#endif

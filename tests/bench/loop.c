/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a call costs in a sandbox: loops of getppid, open and close, and stat, in
 * process, and the median of many short rounds in nanoseconds a call.  It compares
 * nothing: measure.py runs it under one filter and another. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS_MAX 1000U

static void loop_getppid(unsigned n) {
        while (n-- > 0)
                (void)getppid();
}

static void loop_open(unsigned n) {
        while (n-- > 0) {
                int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

                if (fd < 0 || close(fd) < 0) {
                        perror("/dev/null");
                        exit(1);
                }
        }
}

static void loop_stat(unsigned n) {
        struct stat st;

        while (n-- > 0)
                if (stat("/usr", &st) < 0) {
                        perror("/usr");
                        exit(1);
                }
}

static const struct {
        const char *name;
        void (*run)(unsigned n);
        unsigned calls; /* a round: about a millisecond */
} loops[] = {{"getppid", loop_getppid, 10000}, {"open+close", loop_open, 1000}, {"stat", loop_stat, 1500}};

#define N_LOOPS (sizeof(loops) / sizeof(loops[0]))

static uint64_t now(void) {
        struct timespec t;

        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static int compare(const void *a, const void *b) {
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

/* loop ROUNDS: one line each, the name and the nanoseconds. */
int main(int argc, char **argv) {
        static double times[N_LOOPS][ROUNDS_MAX];
        unsigned long rounds = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;

        if (rounds == 0 || rounds > ROUNDS_MAX) {
                (void)fprintf(stderr, "usage: loop ROUNDS   (at most %u)\n", ROUNDS_MAX);
                return 2;
        }
        for (unsigned long round = 0; round < rounds; round++)
                for (size_t i = 0; i < N_LOOPS; i++) {
                        uint64_t start = now();

                        loops[i].run(loops[i].calls);
                        times[i][round] = (double)(now() - start) / loops[i].calls;
                }
        for (size_t i = 0; i < N_LOOPS; i++) {
                qsort(times[i], rounds, sizeof(times[i][0]), compare);
                (void)printf("%s %.1f\n", loops[i].name, times[i][rounds / 2]);
        }
        return 0;
}

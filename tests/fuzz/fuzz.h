/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the fuzz programs share: a check that aborts, and, unless the compiler has libFuzzer
 * (-DFUZZ_WITH_LIBFUZZER), a main that tries inputs made by each program's make_input(). */
#pragma once

#include <time.h>

#include "base/macro.h"

#define CHECK(what)                                                                              \
        do {                                                                                     \
                if (!(what)) {                                                                   \
                        (void)fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
                        abort();                                                                 \
                }                                                                                \
        } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n);

/* The input with a NUL after it, for the caller to free. */
static inline char *input_text(const uint8_t *input, size_t n) {
        char *text = malloc(n + 1);

        if (!text)
                return NULL;
        if (n > 0)
                memcpy(text, input, n);
        text[n] = '\0';
        return text;
}

#ifndef FUZZ_WITH_LIBFUZZER

/* xorshift64*: random enough to choose words with, and the same on every machine. */
static uint64_t dealer = 1;

static inline uint64_t draw(uint64_t below) {
        dealer ^= dealer >> 12;
        dealer ^= dealer << 25;
        dealer ^= dealer >> 27;
        return (dealer * UINT64_C(2685821657736338717) >> 33) % below;
}

/* Writes tokens in random order, with a byte of noise now and then. */
static inline size_t deal_tokens(uint8_t *to, size_t size, const char *const *tokens, size_t n_tokens) {
        size_t n = 0;

        for (uint64_t words = draw(40); words > 0 && n + 128 < size; words--) {
                const char *token = tokens[draw(n_tokens)];

                if (draw(30) == 0) {
                        to[n++] = (uint8_t)draw(256);
                        continue;
                }
                memcpy(to + n, token, strlen(token));
                n += strlen(token);
        }
        return n;
}

/* Defined by each fuzz program: makes an input that the parser accepts more often than not; returns
 * its length. */
static size_t make_input(uint8_t *to, size_t size);

static int run_file(const char *path) {
        static uint8_t input[1 << 20];
        FILE *f = fopen(path, "re");
        size_t n;

        if (!f) {
                perror(path);
                return 1;
        }
        n = fread(input, 1, sizeof(input), f);
        (void)fclose(f);
        return LLVMFuzzerTestOneInput(input, n);
}

static unsigned hex_digit(char c) {
        return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a' + 10);
}

/* Runs the inputs of a file of tests/fuzz/corpus: one a line, in hexadecimal digits, after its comments. */
static int replay(const char *path) {
        FILE *f = fopen(path, "re");
        _cleanup_free_ char *line = NULL;
        size_t capacity = 0, inputs = 0;

        if (!f) {
                perror(path);
                return 1;
        }
        for (ssize_t n; (n = getline(&line, &capacity, f)) > 0;) {
                uint8_t *input;
                size_t length = (size_t)(n - 1) / 2;

                if (line[0] == '#')
                        continue;
                /* Of its own size, so that a sanitizer sees what is read behind it. */
                input = malloc(length + (length == 0));
                if (!input)
                        return 1;
                for (size_t i = 0; i < length; i++)
                        input[i] = (uint8_t)(hex_digit(line[2 * i]) << 4 | hex_digit(line[2 * i + 1]));
                (void)LLVMFuzzerTestOneInput(input, length);
                free(input);
                inputs++;
        }
        (void)fclose(f);
        printf("%zu inputs\n", inputs);
        return inputs == 0;
}

/* PROGRAM SECONDS [SEED]; PROGRAM FILE... to run inputs that once failed; or PROGRAM --replay FILE. */
int main(int argc, char **argv) {
        uint8_t input[8192];
        char *end = NULL;
        long seconds = argc > 1 ? strtol(argv[1], &end, 10) : 0;
        struct timespec now, start;
        uint64_t n = 0;
        int r = 0;

        if (argc == 3 && streq(argv[1], "--replay"))
                return replay(argv[2]);
        if (argc < 2 || *end) {
                for (int i = 1; i < argc && r == 0; i++)
                        r = run_file(argv[i]);
                return argc < 2 ? 2 : r;
        }
        if (argc > 2)
                dealer = strtoull(argv[2], NULL, 10) | 1;
        (void)clock_gettime(CLOCK_MONOTONIC, &start);
        do {
                for (int i = 0; i < 1000; i++, n++)
                        (void)LLVMFuzzerTestOneInput(input, make_input(input, sizeof(input)));
                (void)clock_gettime(CLOCK_MONOTONIC, &now);
        } while (now.tv_sec - start.tv_sec < seconds);
        printf("%llu inputs in %ld s\n", (unsigned long long)n, (long)(now.tv_sec - start.tv_sec));
        return 0;
}

#endif

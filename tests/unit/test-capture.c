/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* run/capture.c: which bytes of an output stay, and what stands for the others. */
#include "agent/capture.h"

#include <inttypes.h>

#include "scratch.h"

#define BOTH (CAPTURE_HEAD + CAPTURE_TAIL)

/* Adds `text` in parts of `part` bytes. */
static void add_in_parts(struct capture *c, const char *text, size_t n, size_t part) {
        for (size_t at = 0; at < n; at += part)
                capture_add(c, text + at, n - at < part ? n - at : part);
}

static void expect_kept(const char *text, size_t n, size_t part, const char *expected, size_t expected_size,
                        uint64_t expected_omitted) {
        struct capture *c = calloc(1, sizeof(*c));
        _cleanup_free_ char *kept = NULL;
        uint64_t omitted = 99;
        size_t size = 99;

        assert_non_null(c);
        add_in_parts(c, text, n, part);
        assert_int_equal(c->total, n);
        assert_int_equal(capture_finish(c, &kept, &size, &omitted), 0);
        assert_int_equal(size, expected_size);
        assert_memory_equal(kept, expected, expected_size);
        assert_int_equal(kept[size], '\0');
        assert_int_equal(omitted, expected_omitted);
        free(c);
}

/* Bytes that tell where they were, none of them part of a longer character. */
static char *counted(size_t n) {
        char *text = malloc(n + 1);

        assert_non_null(text);
        for (size_t i = 0; i < n; i++)
                text[i] = (char)(' ' + i % 89);
        return text;
}

TEST(what_fits_is_kept_whole) {
        static const size_t sizes[] = {0,        1,   CAPTURE_HEAD - 1, CAPTURE_HEAD, CAPTURE_HEAD + 1,
                                       BOTH - 1, BOTH};
        static const size_t parts[] = {1, 7, 4096, 65536};

        for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
                for (size_t j = 0; j < ARRAY_SIZE(parts); j++) {
                        _cleanup_free_ char *text = counted(sizes[i]);

                        expect_kept(text, sizes[i], parts[j], text, sizes[i], 0);
                }
}

TEST(of_a_longer_one_both_ends_are_kept) {
        static const size_t more[] = {1, 2, CAPTURE_TAIL - 1, CAPTURE_TAIL, CAPTURE_TAIL + 1, 1000000};
        static const size_t parts[] = {1, 7, CAPTURE_TAIL, 40000, 2000000};

        for (size_t i = 0; i < ARRAY_SIZE(more); i++)
                for (size_t j = 0; j < ARRAY_SIZE(parts); j++) {
                        size_t n = BOTH + more[i];
                        _cleanup_free_ char *text = counted(n), *expected = NULL;
                        int size = asprintf(&expected,
                                            "%.*s\n... [%zu bytes omitted, %zu bytes total] ...\n%.*s",
                                            (int)CAPTURE_HEAD, text, more[i], n, (int)CAPTURE_TAIL,
                                            text + n - CAPTURE_TAIL);

                        assert_true(size > 0);
                        expect_kept(text, n, parts[j], expected, (size_t)size, more[i]);
                }
}

/* A character of `length` bytes lies on the edge, `before` of them on its first side. */
static void expect_uncut(const char *character, size_t before_head, size_t before_tail) {
        size_t length = strlen(character), n = 3 * BOTH, head = CAPTURE_HEAD, tail = CAPTURE_TAIL;
        size_t tail_at = n - CAPTURE_TAIL;
        _cleanup_free_ char *text = counted(n), *expected = NULL;
        int size;

        memcpy(text + CAPTURE_HEAD - before_head, character, length);
        memcpy(text + tail_at - before_tail, character, length);
        if (before_head < length)
                head -= before_head;
        if (before_tail > 0 && before_tail < length)
                tail -= length - before_tail;
        size = asprintf(&expected, "%.*s\n... [%zu bytes omitted, %zu bytes total] ...\n%.*s", (int)head,
                        text, n - head - tail, n, (int)tail, text + n - tail);
        assert_true(size > 0);
        expect_kept(text, n, 1000, expected, (size_t)size, n - head - tail);
}

TEST(no_character_is_cut_in_two) {
        static const char *const characters[] = {"\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x90\xa7"};

        for (size_t i = 0; i < ARRAY_SIZE(characters); i++)
                for (size_t head = 0; head <= strlen(characters[i]); head++)
                        for (size_t tail = 0; tail <= strlen(characters[i]); tail++)
                                expect_uncut(characters[i], head, tail);
}

/* What is no UTF-8 at all loses three bytes a side at most. */
TEST(bytes_that_are_no_text_stay_bounded) {
        struct capture *c = calloc(1, sizeof(*c));
        _cleanup_free_ char *kept = NULL;
        char byte = '\x80';
        uint64_t omitted = 0;
        size_t size = 0;

        assert_non_null(c);
        for (size_t i = 0; i < 2 * BOTH; i++)
                capture_add(c, &byte, 1);
        assert_int_equal(capture_finish(c, &kept, &size, &omitted), 0);
        assert_int_equal(omitted, BOTH + 3);
        assert_int_equal(kept[0], byte);
        assert_int_equal(kept[size - 1], byte);
        free(c);
}

/* More than 32 bits can count. */
TEST(the_count_has_no_end) {
        struct capture *c = calloc(1, sizeof(*c));
        _cleanup_free_ char *kept = NULL;
        uint64_t omitted = 0;
        size_t size = 0;

        assert_non_null(c);
        capture_add(c, "begin", 5);
        /* As if so much had come: what lies between is never looked at. */
        memset(c->head, 'x', CAPTURE_HEAD);
        c->total = UINT64_C(10) * 1024 * 1024 * 1024;
        for (size_t i = 0; i < CAPTURE_TAIL; i++)
                capture_add(c, "e", 1);
        assert_int_equal(capture_finish(c, &kept, &size, &omitted), 0);
        assert_non_null(strstr(kept, "x\n... [10737402880 bytes omitted, 10737433600 bytes total] ...\ne"));
        assert_int_equal(omitted, UINT64_C(10737402880));
        free(c);
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* base/stream.c: what is written to a terminal can't draw on it. */
#include "base/stream.h"

#include <fcntl.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include "scratch.h"

/* Both ends of a new terminal that changes nothing of what is written. */
static int open_terminal(int *ret_master) {
        int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), terminal;
        struct termios settings;

        assert_true(master >= 0);
        assert_int_equal(grantpt(master), 0);
        assert_int_equal(unlockpt(master), 0);
        terminal = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
        assert_true(terminal >= 0);
        assert_int_equal(tcgetattr(terminal, &settings), 0);
        cfmakeraw(&settings);
        assert_int_equal(tcsetattr(terminal, TCSANOW, &settings), 0);
        *ret_master = master;
        return terminal;
}

static void expect_read(int fd, const char *expected) {
        char text[256];
        ssize_t n = 0, m;

        while (n < (ssize_t)strlen(expected) && (m = read(fd, text + n, sizeof(text) - 1 - (size_t)n)) > 0)
                n += m;
        text[n] = '\0';
        assert_string_equal(text, expected);
}

TEST(a_terminal_gets_no_escape_sequence) {
        _cleanup_close_ int master = -EBADF, terminal = open_terminal(&master);
        FILE *to = NULL;

        assert_int_equal(stream_open(terminal, &to), 0);
        (void)fprintf(to, "a\x1b[2Jb\tc\n\xc2\x9b%s\n", "\xe2\x80\xae.");
        (void)fwrite("x\0y\n", 1, 4, to);
        assert_int_equal(fclose(to), 0);
        expect_read(master, "a\\x1b[2Jb\tc\n\\xc2\\x9b\\xe2\\x80\\xae.\nx\\x00y\n");
}

/* Each byte in a write of its own. */
TEST(a_character_in_pieces_stays_one) {
        static const char text[] = "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80 \xe2\x82";
        _cleanup_close_ int master = -EBADF, terminal = open_terminal(&master);
        FILE *to = NULL;

        assert_int_equal(stream_open(terminal, &to), 0);
        assert_int_equal(setvbuf(to, NULL, _IONBF, 0), 0);
        for (const char *at = text; *at; at++)
                assert_int_equal(fputc(*at, to), (unsigned char)*at);
        assert_int_equal(fclose(to), 0);
        expect_read(master, "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80 \\xe2\\x82");
}

TEST(whatever_is_no_terminal_gets_the_bytes) {
        _cleanup_close_ int reader = -EBADF, writer = -EBADF;
        FILE *to = NULL;
        int ends[2];

        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        reader = ends[0];
        writer = ends[1];
        assert_int_equal(stream_open(writer, &to), 0);
        (void)fputs("a\x1b[2Jb\n", to);
        assert_int_equal(fclose(to), 0);
        expect_read(reader, "a\x1b[2Jb\n");
}

TEST(a_closed_descriptor_is_no_stream) {
        FILE *to = NULL;

        assert_int_equal(stream_open(-1, &to), -EBADF);
        assert_null(to);
}

int main(void) {
        return run_all_tests();
}

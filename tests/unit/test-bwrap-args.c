/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --args: options from a descriptor, in any number; and how src/bwrap's messages look. */
#include "bwrap.h"

#include "bwrap/args.h"
#include "bwrap/report.h"

/* "--args FD" for the data, and after it `words`. */
static struct parsed *parse_data(const char *data, size_t n, const char *const *words) {
        const char *all[MOST_WORDS] = {"--args"};
        int fd = data_fd(data, n);
        struct parsed *p;
        char number[16];

        (void)snprintf(number, sizeof(number), "%d", fd);
        all[1] = number;
        for (size_t i = 0; words[i]; i++)
                all[2 + i] = words[i];
        p = parse_as(0, all);
        /* It was the caller's only end of it. */
        assert_int_equal(fcntl(fd, F_GETFD), -1);
        return p;
}

#define PARSE_DATA(data, ...) parse_data(data, sizeof(data) - 1, (const char *const[]){__VA_ARGS__, NULL})

TEST(options_come_from_a_descriptor) {
        struct parsed *p;

        p = accepted(PARSE_DATA("--dir\0/a\0--dir\0/b", "--dir", "/c", "true"));
        assert_int_equal(p->config.n_ops, 3);
        assert_string_equal(p->config.ops[0].target, "/a");
        assert_string_equal(p->config.ops[1].target, "/b");
        assert_string_equal(p->config.ops[2].target, "/c");
        assert_string_equal(p->config.argv[0], "true");
        parsed_free(p);
        /* An empty word is a word. */
        p = accepted(PARSE_DATA("--argv0\0\0--dir\0/a\0", "true"));
        assert_string_equal(p->config.argv0, "");
        assert_string_equal(p->config.ops[0].target, "/a");
        parsed_free(p);
        parsed_free(accepted(PARSE_DATA("", "true")));
        p = accepted(PARSE_DATA("--dir\0/a\0--help\0--nope\0", "--nope"));
        assert_true(p->config.wants_help);
        parsed_free(p);
}

TEST(a_command_in_the_data_is_none) {
        static const char *const datas[] = {"foo", "--", "--|foo", "|--nope", "--dir|/a|foo|--nope"};

        for (size_t i = 0; i < ARRAY_SIZE(datas); i++) {
                char data[64];
                size_t n = strlen(datas[i]);
                struct parsed *p;

                memcpy(data, datas[i], n);
                for (size_t k = 0; k < n; k++)
                        if (data[k] == '|')
                                data[k] = '\0';
                p = accepted(parse_data(data, n, (const char *const[]){"--setenv", "A", "b", "true", NULL}));
                assert_int_equal(strv_length(p->config.argv), 1);
                assert_string_equal(p->config.argv[0], "true");
                parsed_free(p);
                p = accepted(parse_data(data, n, (const char *const[]){NULL}));
                assert_true(p->config.lacks_command);
                parsed_free(p);
        }
}

TEST(an_option_does_not_reach_past_the_data) {
        refused(PARSE_DATA("--setenv\0A\0", "b", "true"), -EINVAL, "--setenv takes two arguments");
        refused(PARSE_DATA("--perms\0"
                           "700\0",
                           "--dir", "/a", "true"),
                -EINVAL, "--perms must be followed by an option that creates a file");
        refused(PARSE_DATA("--overlay-src\0/a\0", "--tmp-overlay", "/b", "true"), -EINVAL,
                "--overlay-src must be followed by another --overlay-src or one of --overlay, --tmp-overlay, or "
                "--ro-overlay");
        refused(PARSE_DATA("--nope\0", "true"), -EINVAL, "Unknown option --nope");
        refused(PARSE_DATA("--args\0"
                           "5\0",
                           "true"),
                -EINVAL, "--args not supported in arguments file");
}

TEST(perms_before_the_data_are_for_its_first_option) {
        int fd = data_fd("--dir\0/a\0--dir\0/b\0", 18);
        struct parsed *p;
        char number[16];

        (void)snprintf(number, sizeof(number), "%d", fd);
        p = ACCEPT("--perms", "700", "--args", number, "true");
        assert_true(p->config.ops[0].has_perms && p->config.ops[0].perms == 0700);
        assert_false(p->config.ops[1].has_perms);
        parsed_free(p);
}

TEST(args_may_be_repeated) {
        char first[16], second[16];
        struct parsed *p;

        (void)snprintf(first, sizeof(first), "%d", data_fd("--dir\0/a", 8));
        (void)snprintf(second, sizeof(second), "%d", data_fd("--dir\0/b", 8));
        p = ACCEPT("--args", second, "--args", first, "true");
        assert_int_equal(p->config.n_ops, 2);
        assert_string_equal(p->config.ops[0].target, "/b");
        assert_string_equal(p->config.ops[1].target, "/a");
        parsed_free(p);
        /* The same one again is closed. */
        (void)snprintf(first, sizeof(first), "%d", data_fd("--dir\0/a", 8));
        refused(PARSE("--args", first, "--args", first, "true"), -EBADF,
                "Can't read --args data: Bad file descriptor");
}

TEST(nine_thousand_arguments_are_not_the_end) {
        const size_t n = 100000;
        _cleanup_strbuf_ struct strbuf b = {0};
        struct parsed *p;

        for (size_t i = 0; i < n; i++) {
                strbuf_add_bytes(&b, "--ro-bind", 10);
                strbuf_addf(&b, "/%zu", i);
                strbuf_add_bytes(&b, "\0/target", 9);
        }
        p = accepted(parse_data(b.text, b.length, (const char *const[]){"true", NULL}));
        assert_int_equal(p->config.n_ops, n);
        assert_string_equal(p->config.ops[0].source, "/0");
        assert_string_equal(p->config.ops[n - 1].source, "/99999");
        assert_string_equal(p->config.ops[n - 1].target, "/target");
        parsed_free(p);
}

TEST(what_cannot_be_read_is_said) {
        static const struct {
                const char *path;
                int flags, r;
                const char *message;
        } cases[] = {
                {"/", O_RDONLY, -EISDIR, "Can't read --args data: Is a directory"},
                {"/dev/null", O_WRONLY, -EBADF, "Can't read --args data: Bad file descriptor"},
                {"/dev/zero", O_RDONLY, -EFBIG, "Can't read --args data: File too large"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                int fd = open(cases[i].path, cases[i].flags | O_CLOEXEC);
                char number[16];

                assert_true(fd >= 0);
                (void)snprintf(number, sizeof(number), "%d", fd);
                refused(PARSE("--args", number, "true"), cases[i].r, cases[i].message);
                assert_int_equal(fcntl(fd, F_GETFD), -1);
        }
}

/* What is written to standard error meanwhile. */
static void report(bool has_level_prefix, char *const *warnings, const char *message, char *ret,
                   size_t size) {
        struct bwrap_config config = {
                .has_level_prefix = has_level_prefix,
                .warnings = (char **)(uintptr_t)warnings,
        };
        int saved = dup(STDERR_FILENO), fd = data_fd("", 0);
        ssize_t n;

        assert_true(saved >= 0);
        assert_int_equal(dup2(fd, STDERR_FILENO), STDERR_FILENO);
        bwrap_report_warnings(&config);
        bwrap_report(&config, BWRAP_ERROR, message);
        assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
        (void)close(saved);
        n = pread(fd, ret, size - 1, 0);
        (void)close(fd);
        assert_true(n >= 0);
        ret[n] = '\0';
}

TEST(messages_begin_with_bwrap_and_the_level) {
        static char first[] = "Only this", second[] = "Only that";
        char *const warnings[] = {first, second, NULL};
        char text[256];

        report(false, NULL, "Unknown option --nope", text, sizeof(text));
        assert_string_equal(text, "bwrap: Unknown option --nope\n");
        report(true, NULL, "Unknown option --nope", text, sizeof(text));
        assert_string_equal(text, "<3>bwrap: Unknown option --nope\n");
        report(true, warnings, "x", text, sizeof(text));
        assert_string_equal(text, "<4>bwrap: Only this\n<4>bwrap: Only that\n<3>bwrap: x\n");
        /* What a terminal would obey, or a reader of lines. */
        report(false, NULL, "Unknown option --\033[2J\n", text, sizeof(text));
        assert_string_equal(text, "bwrap: Unknown option --\\x1b[2J\\x0a\n");
}

int main(void) {
        return run_all_tests();
}

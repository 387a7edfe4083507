/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* src/bwrap's parser: every option, every mistake with bubblewrap's words for it, and, where
 * bubblewrap 0.8 is installed, that its words are the same.  Makes no sandbox. */
#include "bwrap.h"

/* The descriptor that holds a filter of one instruction; and one that is not open. */
#define FILTER_FD "190"
#define CLOSED_FD "191"

/* -------------------------------------------------------------- the table */

/* 0.13.1's and ours, written down by hand. */
static const struct {
        const char *name;
        size_t n;
} options[] = {
        {"--help", 0},
        {"--version", 0},
        {"--args", 1},
        {"--argv0", 1},
        {"--level-prefix", 0},
        {"--unshare-user", 0},
        {"--unshare-user-try", 0},
        {"--unshare-ipc", 0},
        {"--unshare-pid", 0},
        {"--unshare-net", 0},
        {"--unshare-uts", 0},
        {"--unshare-cgroup", 0},
        {"--unshare-cgroup-try", 0},
        {"--unshare-all", 0},
        {"--share-net", 0},
        {"--userns", 1},
        {"--userns2", 1},
        {"--disable-userns", 0},
        {"--assert-userns-disabled", 0},
        {"--pidns", 1},
        {"--uid", 1},
        {"--gid", 1},
        {"--hostname", 1},
        {"--chdir", 1},
        {"--clearenv", 0},
        {"--setenv", 2},
        {"--unsetenv", 1},
        {"--lock-file", 1},
        {"--sync-fd", 1},
        {"--bind", 2},
        {"--bind-try", 2},
        {"--dev-bind", 2},
        {"--dev-bind-try", 2},
        {"--ro-bind", 2},
        {"--ro-bind-try", 2},
        {"--bind-fd", 2},
        {"--ro-bind-fd", 2},
        {"--remount-ro", 1},
        {"--overlay-src", 1},
        {"--overlay", 3},
        {"--tmp-overlay", 1},
        {"--ro-overlay", 1},
        {"--proc", 1},
        {"--dev", 1},
        {"--tmpfs", 1},
        {"--mqueue", 1},
        {"--dir", 1},
        {"--file", 2},
        {"--bind-data", 2},
        {"--ro-bind-data", 2},
        {"--symlink", 2},
        {"--chmod", 2},
        {"--perms", 1},
        {"--size", 1},
        {"--seccomp", 1},
        {"--add-seccomp-fd", 1},
        {"--exec-label", 1},
        {"--file-label", 1},
        {"--block-fd", 1},
        {"--userns-block-fd", 1},
        {"--info-fd", 1},
        {"--json-status-fd", 1},
        {"--new-session", 0},
        {"--die-with-parent", 0},
        {"--as-pid-1", 0},
        {"--cap-add", 1},
        {"--cap-drop", 1},
        {"--not-a-security-boundary", 0},
        /* nsrun's own. */
        {"--netns", 1},
        {"--scope-abstract-unix-sockets", 0},
        {"--seccomp-policy", 1},
        {"--overlay-opt", 1},
        {"--bind-create", 2},
        {"--dev-bind-create", 2},
        {"--ro-bind-create", 2},
        {"--protect", 1},
        {"--hide", 1},
        {"--report", 1},
};

_Static_assert(ARRAY_SIZE(options) == BWRAP_OPTIONS + OWN_OPTIONS,
               "bubblewrap 0.13.1 has 68 options, and nsrun-bwrap some of its own");

TEST(help_lists_each_option_once_and_no_other) {
        _cleanup_free_ char *help = bwrap_help("/x/my bwrap");
        size_t n = 0;

        assert_non_null(help);
        assert_ptr_equal(
                strstr(help, "usage: /x/my bwrap [OPTIONS...] [--] COMMAND [ARGS...]\n\n    --help "), help);
        for (const char *line = strstr(help, "\n    --"); line; line = strstr(line + 1, "\n    --"))
                n++;
        assert_int_equal(n, ARRAY_SIZE(options));
        for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
                char head[64];

                (void)snprintf(head, sizeof(head), "\n    %s ", options[i].name);
                assert_non_null(strstr(help, head));
        }
}

static void missing_text(size_t i, char *to, size_t size) {
        const char *name = options[i].name;
        bool says_one = streq(name, "--chdir") || streq(name, "--remount-ro") || streq(name, "--argv0");

        (void)snprintf(to, size, "%s takes %s argument%s", name,
                       options[i].n == 3   ? "three"
                       : options[i].n == 2 ? "two"
                       : says_one          ? "one"
                                           : "an",
                       options[i].n > 1 ? "s" : "");
}

TEST(a_missing_argument_is_named) {
        for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
                const char *words[MOST_WORDS] = {options[i].name};
                char expected[128];

                missing_text(i, expected, sizeof(expected));
                for (size_t given = 0; given < options[i].n; given++) {
                        words[given + 1] = NULL;
                        refused(parse_as(0, words), -EINVAL, expected);
                        words[given + 1] = "7";
                }
        }
}

/* ------------------------------------------------------------- mistakes */

enum {
        NEWER = 1 << 0,    /* 0.8 does not know the option */
        BETTER = 1 << 1,   /* 0.8 does not see the mistake */
        ROOT = 1 << 2,     /* it is one for root alone */
        REWORDED = 1 << 3, /* 0.8 says it in other words */
};

#define FD_OPTION(name)                                                                                     \
        {{name, "x"}, "Invalid fd: x", 0}, {{name, "-1"}, "Invalid fd: -1", 0},                             \
                {{name, ""}, "Invalid fd: ", 0}, {{name, "3x"}, "Invalid fd: 3x", 0},                       \
                {{name, "2147483648"}, "Invalid fd: 2147483648", 0}, {{name, "0x3"}, "Invalid fd: 0x3", 0}, \
        {                                                                                                   \
                {name, "99999999999999999999"}, "Invalid fd: 99999999999999999999", 0                       \
        }
#define FD_OPERATION(name)                              \
        {{name, "x", "/d"}, "Invalid fd: x", 0}, {      \
                {name, "-1", "/d"}, "Invalid fd: -1", 0 \
        }
#define ID_OPTION(name, word)                                                                         \
        {{name, "x"}, "Invalid " word ": x", 0}, {{name, ""}, "Invalid " word ": ", 0},               \
                {{name, "-1"}, "Invalid " word ": -1", 0}, {{name, "5x"}, "Invalid " word ": 5x", 0}, \
                {{name, "0x10"}, "Invalid " word ": 0x10", 0},                                        \
                {{name, "2147483648"}, "Invalid " word ": 2147483648", 0},                            \
                {{name, "4294967295"}, "Invalid " word ": 4294967295", 0},                            \
                {{name, "99999999999999"}, "Invalid " word ": 99999999999999", BETTER}, {             \
                {name, "77", "true"}, "Specifying " name " requires --unshare-user or --userns", ROOT \
        }
#define OCTAL(...)                                                                              \
        {{"--perms", __VA_ARGS__}, "--perms takes an octal argument <= 07777", 0}, {            \
                {"--chmod", __VA_ARGS__, "/tmp"}, "--chmod takes an octal argument <= 07777", 0 \
        }
#define CAPABILITY(name)                                      \
        {{"--cap-add", name}, "unknown cap: " name, 0}, {     \
                {"--cap-drop", name}, "unknown cap: " name, 0 \
        }
#define NO_FILE(...) \
        { {"--perms", "700", __VA_ARGS__}, "--perms must be followed by an option that creates a file", 0 }
#define NO_TMPFS(...) \
        { {"--size", "5", __VA_ARGS__}, "--size must be followed by --tmpfs", 0 }
#define NO_SIZE(text) \
        { {"--size", text}, "--size takes a non-zero number of bytes", 0 }
#define LEFT_OVER \
        "--overlay-src must be followed by another --overlay-src or one of --overlay, --tmp-overlay, or --ro-overlay"

static const struct mistake {
        const char *words[MOST_WORDS];
        const char *message;
        unsigned flags;
} mistakes[] = {
        {{"--nope"}, "Unknown option --nope", 0},
        {{"--nope", "--help"}, "Unknown option --nope", 0},
        {{"-h"}, "Unknown option -h", 0},
        {{"-"}, "Unknown option -", 0},
        {{"--help=1"}, "Unknown option --help=1", 0},
        {{"--bind=/a"}, "Unknown option --bind=/a", 0},
        {{"--versio"}, "Unknown option --versio", 0},
        {{"--unshare-user-tr"}, "Unknown option --unshare-user-tr", 0},
        {{"--chdir", "/", "--uid", "x"}, "Invalid uid: x", 0},

        {{"--bind", "", "/x"}, "--bind does not take an empty path argument", BETTER},
        {{"--bind", "/", ""}, "--bind does not take an empty path argument", BETTER},
        {{"--bind-try", "", "/x"}, "--bind-try does not take an empty path argument", BETTER},
        {{"--bind-try", "/", ""}, "--bind-try does not take an empty path argument", BETTER},
        {{"--dev-bind", "", "/x"}, "--dev-bind does not take an empty path argument", BETTER},
        {{"--dev-bind", "/", ""}, "--dev-bind does not take an empty path argument", BETTER},
        {{"--dev-bind-try", "", "/x"}, "--dev-bind-try does not take an empty path argument", BETTER},
        {{"--dev-bind-try", "/", ""}, "--dev-bind-try does not take an empty path argument", BETTER},
        {{"--ro-bind", "", "/x"}, "--ro-bind does not take an empty path argument", BETTER},
        {{"--ro-bind", "/", ""}, "--ro-bind does not take an empty path argument", BETTER},
        {{"--ro-bind-try", "", "/x"}, "--ro-bind-try does not take an empty path argument", BETTER},
        {{"--ro-bind-try", "/", ""}, "--ro-bind-try does not take an empty path argument", BETTER},
        {{"--symlink", "", "/x"}, "--symlink does not take an empty path argument", BETTER},
        {{"--symlink", "/", ""}, "--symlink does not take an empty path argument", BETTER},
        {{"--chdir", ""}, "--chdir does not take an empty path argument", BETTER},
        {{"--lock-file", ""}, "--lock-file does not take an empty path argument", BETTER},
        {{"--remount-ro", ""}, "--remount-ro does not take an empty path argument", BETTER},
        {{"--proc", ""}, "--proc does not take an empty path argument", BETTER},
        {{"--dev", ""}, "--dev does not take an empty path argument", BETTER},
        {{"--tmpfs", ""}, "--tmpfs does not take an empty path argument", BETTER},
        {{"--mqueue", ""}, "--mqueue does not take an empty path argument", BETTER},
        {{"--dir", ""}, "--dir does not take an empty path argument", BETTER},
        {{"--bind-fd", "0", ""}, "--bind-fd does not take an empty path argument", BETTER},
        {{"--ro-bind-fd", "0", ""}, "--ro-bind-fd does not take an empty path argument", BETTER},
        {{"--file", "0", ""}, "--file does not take an empty path argument", BETTER},
        {{"--bind-data", "0", ""}, "--bind-data does not take an empty path argument", BETTER},
        {{"--ro-bind-data", "0", ""}, "--ro-bind-data does not take an empty path argument", BETTER},
        {{"--chmod", "0700", ""}, "--chmod does not take an empty path argument", BETTER},
        {{"--overlay-src", ""}, "--overlay-src does not take an empty path argument", NEWER},
        {{"--overlay-src", "/", "--overlay", "/r", "", "/d"},
         "--overlay does not take an empty path argument",
         NEWER},
        {{"--argv0", "a", "--argv0", "a"}, "--argv0 used multiple times", NEWER},
        {{"--unshare-user", "--disable-userns", "--info-fd", "0", "--userns-block-fd", "0"},
         "--disable-userns is not compatible with --userns-block-fd",
         REWORDED},

        FD_OPTION("--args"),
        FD_OPTION("--userns"),
        FD_OPTION("--userns2"),
        FD_OPTION("--pidns"),
        FD_OPTION("--sync-fd"),
        FD_OPTION("--seccomp"),
        FD_OPTION("--add-seccomp-fd"),
        FD_OPTION("--block-fd"),
        FD_OPTION("--userns-block-fd"),
        FD_OPTION("--info-fd"),
        FD_OPTION("--json-status-fd"),
        FD_OPERATION("--bind-fd"),
        FD_OPERATION("--ro-bind-fd"),
        FD_OPERATION("--file"),
        FD_OPERATION("--bind-data"),
        FD_OPERATION("--ro-bind-data"),

        ID_OPTION("--uid", "uid"),
        ID_OPTION("--gid", "gid"),

        OCTAL("x"),
        OCTAL(""),
        OCTAL("-1"),
        OCTAL("8"),
        OCTAL("755x"),
        OCTAL("0o755"),
        OCTAL("0x1ff"),
        OCTAL("10000"),
        OCTAL("7777777777777777777777"),
        NO_SIZE("x"),
        NO_SIZE(""),
        NO_SIZE("0"),
        NO_SIZE("-1"),
        NO_SIZE("+5"),
        NO_SIZE(" 5"),
        NO_SIZE("1K"),
        NO_SIZE("09"),
        NO_SIZE("0x"),
        NO_SIZE("18446744073709551616"),
        {{"--size", "9223372036854775808"}, "--size (for tmpfs) is limited to 9223372036854775807", 0},
        {{"--size", "18446744073709551615"}, "--size (for tmpfs) is limited to 9223372036854775807", 0},

        {{"--setenv", "A=B", "c"}, "setenv failed", 0},
        {{"--setenv", "", "c"}, "setenv failed", 0},
        {{"--unsetenv", "A=B"}, "unsetenv failed", 0},
        {{"--unsetenv", ""}, "unsetenv failed", 0},

        CAPABILITY("CAP_NOPE"),
        CAPABILITY("CAP_CHOWNx"),
        CAPABILITY("SYS_ADMIN"),
        CAPABILITY("CAP_ALL"),
        CAPABILITY("CAP_21"),
        CAPABILITY(""),
        CAPABILITY(" CAP_CHOWN"),
        CAPABILITY(" 5"),
        CAPABILITY("-1"),
        CAPABILITY("64"),
        CAPABILITY("4294967301"),
        CAPABILITY("99999999999999999999"),
        {{"--cap-drop", "CAP_CHOWN,CAP_KILL"}, "unknown cap: CAP_CHOWN,CAP_KILL", BETTER},
        {{"--cap-drop", "5x"}, "unknown cap: 5x", BETTER},

        NO_FILE("--bind", "/", "/"),
        NO_FILE("--dev-bind", "/", "/"),
        NO_FILE("--ro-bind-try", "/", "/"),
        NO_FILE("--bind-fd", CLOSED_FD, "/"),
        NO_FILE("--remount-ro", "/"),
        NO_FILE("--proc", "/proc"),
        NO_FILE("--dev", "/dev"),
        NO_FILE("--mqueue", "/m"),
        NO_FILE("--symlink", "a", "/b"),
        NO_FILE("--chmod", "700", "/"),
        NO_FILE("--setenv", "A", "b", "--tmpfs", "/tmp"),
        NO_FILE("--unshare-pid"),
        NO_FILE("--size", "5", "--bind", "/", "/"),
        {{"--perms", "700", "--overlay-src", "/"},
         "--perms must be followed by an option that creates a file",
         NEWER},
        {{"--perms", "700", "--bind", "x"}, "--bind takes two arguments", 0},
        {{"--perms", "700", "--perms", "755"}, "--perms given twice for the same action", 0},
        NO_TMPFS("--dir", "/d"),
        NO_TMPFS("--file", CLOSED_FD, "/f"),
        NO_TMPFS("--proc", "/proc"),
        NO_TMPFS("--chdir", "/"),
        NO_TMPFS("--perms", "700", "--dir", "/d"),
        {{"--size", "5", "--size", "6"}, "--size given twice for the same action", 0},

        {{"--overlay-src", "/a", "--bind", "/", "/"}, LEFT_OVER, NEWER},
        {{"--overlay-src", "/a", "--perms", "700"}, LEFT_OVER, NEWER},
        {{"--overlay-src", "/a", "true"}, LEFT_OVER, NEWER},
        {{"--overlay-src", "/a", "--", "true"}, LEFT_OVER, NEWER},
        {{"--overlay-src", "/a"}, LEFT_OVER, NEWER},
        {{"--overlay", "/u", "/w", "/d"}, "--overlay requires at least one --overlay-src", NEWER},
        {{"--tmp-overlay", "/d"}, "--tmp-overlay requires at least one --overlay-src", NEWER},
        {{"--ro-overlay", "/d"}, "--ro-overlay requires at least two --overlay-src", NEWER},
        {{"--overlay-src", "/a", "--ro-overlay", "/d"},
         "--ro-overlay requires at least two --overlay-src",
         NEWER},
        {{"--overlay-src", "/a", "--tmp-overlay", "/d", "--tmp-overlay", "/e"},
         "--tmp-overlay requires at least one --overlay-src",
         NEWER},

        {{"--seccomp", CLOSED_FD, "--add-seccomp-fd", "x"},
         "--add-seccomp-fd cannot be combined with --seccomp",
         0},
        {{"--add-seccomp-fd", FILTER_FD, "--seccomp", "x"},
         "--seccomp cannot be combined with --add-seccomp-fd",
         0},
        {{"--seccomp", CLOSED_FD, "--seccomp", "x"}, "Invalid fd: x", 0},

        {{"--userns-block-fd", CLOSED_FD}, "--userns-block-fd requires --unshare-user", 0},
        {{"--userns-block-fd", CLOSED_FD, "--unshare-user-try", "true"},
         "--userns-block-fd requires --unshare-user",
         0},
        {{"--userns-block-fd", CLOSED_FD, "--unshare-user"}, "--userns-block-fd requires --info-fd", 0},
        {{"--userns-block-fd", CLOSED_FD, "--unshare-user", "--json-status-fd", CLOSED_FD, "true"},
         "--userns-block-fd requires --info-fd",
         0},
        {{"--userns", CLOSED_FD, "--unshare-user"}, "--userns not compatible --unshare-user", 0},
        {{"--unshare-user", "--userns", CLOSED_FD, "true"}, "--userns not compatible --unshare-user", 0},
        {{"--userns", CLOSED_FD, "--unshare-user-try"}, "--userns not compatible --unshare-user-try", 0},
        {{"--userns", CLOSED_FD, "--unshare-all"}, "--userns not compatible --unshare-user-try", 0},
        {{"--disable-userns"}, "--disable-userns requires --unshare-user", 0},
        {{"--disable-userns", "--unshare-all", "true"}, "--disable-userns requires --unshare-user", 0},
        {{"--disable-userns", "--userns", CLOSED_FD, "true"}, "--disable-userns requires --unshare-user", 0},
        {{"--hostname", "x", "true"}, "Specifying --hostname requires --unshare-uts", 0},
        {{"--hostname", "", "true"}, "Specifying --hostname requires --unshare-uts", 0},
        {{"--as-pid-1", "true"}, "Specifying --as-pid-1 requires --unshare-pid", 0},
        {{"--as-pid-1", "--lock-file", "/x", "true"}, "Specifying --as-pid-1 requires --unshare-pid", 0},
        {{"--as-pid-1", "--pidns", CLOSED_FD, "true"}, "Specifying --as-pid-1 requires --unshare-pid", 0},
        {{"--as-pid-1", "--unshare-pid", "--lock-file", "/x", "true"},
         "Specifying --as-pid-1 and --lock-file is not permitted",
         0},

        /* Of two mistakes the same one is told. */
        {{"--disable-userns", "--userns-block-fd", CLOSED_FD},
         "--userns-block-fd requires --unshare-user",
         0},
        {{"--userns", CLOSED_FD, "--unshare-user", "--userns-block-fd", CLOSED_FD},
         "--userns-block-fd requires --info-fd",
         0},
        {{"--disable-userns", "--hostname", "x", "true"}, "--disable-userns requires --unshare-user", 0},
        {{"--hostname", "x", "--as-pid-1", "true"}, "Specifying --hostname requires --unshare-uts", 0},
        {{"--hostname", "x", "--gid", "77", "true"},
         "Specifying --gid requires --unshare-user or --userns",
         ROOT},
        {{"--gid", "77", "--uid", "77", "true"},
         "Specifying --uid requires --unshare-user or --userns",
         ROOT},

        {{"--args", CLOSED_FD}, "Can't read --args data: Bad file descriptor", 0},
        {{"--perms", "700", "--args", CLOSED_FD}, "Can't read --args data: Bad file descriptor", 0},
};

TEST(each_mistake_has_bubblewraps_words) {
        for (size_t i = 0; i < ARRAY_SIZE(mistakes); i++) {
                const struct mistake *m = &mistakes[i];
                bool cannot_read = startswith(m->message, "Can't read");

                refused(parse_as(0, m->words), cannot_read ? -EBADF : -EINVAL, m->message);
        }
}

/* ---------------------------------------------- what 0.8 accepts, and we */

static const char *const fine[][MOST_WORDS] = {
        {"--sync-fd", "+3"},
        {"--sync-fd", " 3"},
        {"--sync-fd", "-0"},
        {"--block-fd", "007"},
        {"--uid", "010"},
        {"--uid", " 5"},
        {"--gid", "2147483647"},
        {"--perms", "0"},
        {"--perms", "-0"},
        {"--perms", "+755"},
        {"--perms", " 755"},
        {"--perms", "00000777"},
        {"--chmod", "7777", "/tmp"},
        {"--size", "1"},
        {"--size", "010"},
        {"--size", "0x10"},
        {"--size", "9223372036854775807"},
        {"--perms", "700", "--size", "5"},
        {"--perms", "700", "--tmpfs", "/t"},
        {"--perms", "700", "--size", "5", "--tmpfs", "/t"},
        {"--size", "5", "--perms", "700", "--tmpfs", "/t"},
        {"--perms", "700", "--dir", "/d"},
        {"--perms", "700", "--file", CLOSED_FD, "/f"},
        {"--perms", "700", "--bind-data", CLOSED_FD, "/f"},
        {"--perms", "700", "--ro-bind-data", CLOSED_FD, "/f"},
        {"--cap-add", "cap_sys_admin"},
        {"--cap-drop", "Cap_Checkpoint_Restore"},
        {"--cap-drop", "all"},
        {"--cap-drop", "ALL"},
        {"--cap-drop", "63"},
        {"--cap-drop", "0x10"},
        {"--cap-drop", "010"},
        {"--setenv", "A", ""},
        {"--hostname", ""},
        {"--lock-file", "/x", "--lock-file", "/x"},
        {"--new-session", "--new-session", "--clearenv", "--clearenv"},
        {"--add-seccomp-fd", FILTER_FD},
        {"--chdir", "/", "--chdir", "/tmp", "--chdir", "/usr"},
        {"--uid", "0", "--uid", "0"},
        {"--gid", "0", "--gid", "0"},
        {"--hostname", "x", "--hostname", "x"},
        {"--userns", "5", "--userns", "5"},
        {"--userns2", "5", "--userns2", "5"},
        {"--pidns", "5", "--pidns", "5"},
        {"--seccomp", "5", "--seccomp", "5"},
        {"--block-fd", "5", "--block-fd", "5"},
        {"--userns-block-fd", "5", "--userns-block-fd", "5"},
        {"--info-fd", "5", "--info-fd", "5"},
        {"--json-status-fd", "5", "--json-status-fd", "5"},
};

/* The words and an unknown option: that option is what is refused. */
static const char **with_nope(const char *const *words, const char *to[MOST_WORDS]) {
        size_t n = 0;

        for (; words[n]; n++)
                to[n] = words[n];
        to[n] = "--nope";
        to[n + 1] = NULL;
        return to;
}

TEST(what_bubblewrap_takes_is_taken) {
        const char *words[MOST_WORDS];

        for (size_t i = 0; i < ARRAY_SIZE(fine); i++)
                refused(parse_as(0, with_nope(fine[i], words)), -EINVAL, "Unknown option --nope");
}

/* ------------------------------------------------ beside the installed one */

/* Its name, or NULL.  Beside a newer one it goes by its whole name. */
static const char *bwrap_0_8(void) {
        static const char *const names[] = {"bwrap", "bwrap-0.8.0"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                char command[64], line[64] = "";
                FILE *f;

                (void)snprintf(command, sizeof(command), "exec %s --version 2>/dev/null", names[i]);
                f = popen(command, "re");
                assert_non_null(f);
                (void)!fgets(line, sizeof(line), f);
                (void)pclose(f);
                if (startswith(line, "bubblewrap 0.8."))
                        return names[i];
        }
        return NULL;
}

/* What bubblewrap 0.8 says on standard error; its exit status. */
static int run_bwrap(const char *const *words, char *ret, size_t size) {
        char *argv[MOST_WORDS + 2] = {(char *)(uintptr_t) "bwrap"};
        const char *program = bwrap_0_8();
        int pipe_fds[2], status, filter;
        size_t n = 0;
        ssize_t r;
        pid_t pid;

        for (size_t i = 0; words[i]; i++)
                argv[i + 1] = (char *)(uintptr_t)words[i];
        filter = data_fd("\6\0\0\0\0\0\377\177", 8);
        assert_non_null(program);
        assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                if (dup2(pipe_fds[1], STDERR_FILENO) < 0 || dup2(filter, atoi(FILTER_FD)) < 0)
                        _exit(126);
                (void)close(atoi(CLOSED_FD));
                (void)execvp(program, argv);
                _exit(127);
        }
        (void)close(pipe_fds[1]);
        (void)close(filter);
        while ((r = read(pipe_fds[0], ret + n, size - 1 - n)) > 0)
                n += (size_t)r;
        ret[n] = '\0';
        (void)close(pipe_fds[0]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        return WEXITSTATUS(status);
}

/* The lines that we say, and theirs. */
static void compare(const char *const *words) {
        struct parsed *p = parse_as(getuid(), words);
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_free_ char *ours = NULL;
        char theirs[4096];

        STRV_FOREACH (line, p->config.warnings)
                strbuf_addf(&b, "bwrap: %s\n", *line);
        strbuf_addf(&b, "bwrap: %s\n", p->err.what);
        ours = strbuf_finish(&b);
        assert_int_equal(run_bwrap(words, theirs, sizeof(theirs)), 1);
        assert_string_equal(ours, theirs);
        parsed_free(p);
}

TEST(the_installed_bubblewrap_says_the_same) {
        const char *words[MOST_WORDS];
        char text[128];

        if (!bwrap_0_8()) {
                print_message("skipped: no bubblewrap 0.8 is installed to compare with\n");
                skip();
        }
        for (size_t i = 0; i < ARRAY_SIZE(mistakes); i++)
                if (!(mistakes[i].flags & (NEWER | BETTER | REWORDED)) &&
                    (getuid() == 0 || !(mistakes[i].flags & ROOT)))
                        compare(mistakes[i].words);
        for (size_t i = 0; i < ARRAY_SIZE(fine); i++)
                compare(with_nope(fine[i], words));
        for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
                missing_text(i, text, sizeof(text));
                /* Unknown to 0.8; and it calls --ro-bind-fd by its sister's name. */
                if (options[i].n == 0 || i >= BWRAP_OPTIONS || strstr(text, "overlay") ||
                    strstr(text, "--argv0") || streq(options[i].name, "--ro-bind-fd"))
                        continue;
                compare((const char *const[]){options[i].name, NULL});
        }
}

int main(void) {
        return run_all_tests();
}

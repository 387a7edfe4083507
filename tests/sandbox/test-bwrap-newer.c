/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What nsrun-bwrap understands that Debian's bubblewrap 0.8.0 can't judge: the options of
 * 0.9 to 0.11, after their manual, nsrun-bwrap's own after ours, and what takes a caller on the other side
 * of a descriptor. The expectations are written down by hand. */
#include "bwrap-run.h"

#include <fnmatch.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* ------------------------------------------------------------------ by table */

struct expectation {
        struct bwrap_case c;
        const char *lines; /* patterns of fnmatch(3), one a line; "!" in front: no such line */
};

static const struct expectation overlays[] = {
        {{.args = "--overlay-src @/a --tmp-overlay /x --file %r:new /x/new",
          .look = "/x /x/file /x/sub/deep /x/new"},
         "mount /x rw,nosuid,nodev,* overlay root / rw,*\npath /x mode 40755 *\nin /x new\nin /x file\nread /x/file: a|\n"
         "read /x/sub/deep: deep|\nwrite /x/file: ok\nread /x/new: new\n!tree /a/new *"},
        {{.args = "--overlay-src @/a --overlay-src @/b --tmp-overlay /x",
          .look = "/x /x/file /x/own /x/sub/deep"},
         "read /x/file: b|\nread /x/own: own|\nread /x/sub/deep: deep|"},
        {{.args = "--overlay-src @/b --overlay-src @/a --tmp-overlay /x", .look = "/x/file"},
         "read /x/file: a|"},
        {{.args = "--overlay-src @/a --overlay-src @/b --ro-overlay /x", .look = "/x /x/file /x/sub/deep"},
         "mount /x r[ow],* overlay root / *\nread /x/file: b|\nmake in /x: Read-only file system\n"
         "write /x/file: Read-only file system"},
        {{.args = "--overlay-src @/a --overlay @/upper @/work /x --file %r:new /x/new --chmod 0600 /x/file",
          .look = "/x /x/file /x/new"},
         "mount /x rw,* overlay root / *\nread /x/file: a|\nread /x/new: new\npath /x/file mode 100600 *\n"
         "tree /upper/new mode 100666 *new\ntree /upper/file mode 100600 *a\ntree /a/file mode 100644 *a"},
        {{.args = "--overlay-src @/a --overlay @/b @/work /x", .look = "/x/file /x/sub/deep"},
         "read /x/file: b|\nread /x/sub/deep: deep|"},
        {{.args = "--overlay-src @/a --overlay-src @/b --overlay @/upper @/work /x",
          .look = "/x/file /x/own"},
         "read /x/file: b|\nread /x/own: own|"},
        {{.args = "--overlay-src @/a --overlay @/up:,\\per @/work /x --file %r:new /x/new",
          .look = "/x/file"},
         "read /x/file: a|\ntree /up:,\\\\per/new mode 100666 *new"},
        {{.args = "--overlay-src @/up:,\\per --overlay-src @/a --tmp-overlay /x", .look = "/x/file"},
         "read /x/file: a|"},
        {{.args = "--overlay-src a --tmp-overlay /x", .look = "/x/file", .cwd = "@"}, "read /x/file: a|"},
        {{.args = "--overlay-src @/link-a --tmp-overlay /x", .look = "/x/file"}, "read /x/file: a|"},
        {{.args = "--bind @/root / ^ --overlay-src @/a --tmp-overlay /home", .look = "/home /home/file"},
         "mount /home rw,* overlay *\nread /home/file: a|"},
        {{.args = "--overlay-src @/a --tmp-overlay /x --bind @/b /x/sub --remount-ro /x",
          .look = "/x /x/sub/file"},
         "make in /x: Read-only file system\nread /x/sub/file: b|\nwrite /x/sub/file: ok"},
        {{.args = "--overlay-src @/a --tmp-overlay /d/x", .look = "/d"}, "path /d mode 40755 *"},
        {{.args = "--overlay-src @/missing --tmp-overlay /x", .status = 1},
         "error bwrap: Can't find *@/missing*"},
        {{.args = "--overlay-src @/a --ro-overlay /x", .status = 1}, "error bwrap: --ro-overlay requires *"},
        {{.args = "--tmp-overlay /x", .status = 1}, "error bwrap: --tmp-overlay requires *--overlay-src*"},
        {{.args = "--overlay @/upper @/work /x", .status = 1},
         "error bwrap: --overlay requires *--overlay-src*"},
        {{.args = "--ro-overlay /x", .status = 1}, "error bwrap: --ro-overlay requires *--overlay-src*"},
        {{.args = "--overlay-src @/a --bind @/b /x", .status = 1},
         "error bwrap: --overlay-src must be followed by *"},
        {{.args = "--overlay-src @/a", .status = 1}, "error bwrap: --overlay-src must be followed by *"},
        {{.args = "!--overlay-src", .status = 1}, "error bwrap: --overlay-src takes *argument*"},
        {{.args = "!--overlay a b", .status = 1}, "error bwrap: --overlay takes *arguments*"},
        {{.args = "!--tmp-overlay", .status = 1}, "error bwrap: --tmp-overlay takes *argument*"},
        {{.args = "!--ro-overlay", .status = 1}, "error bwrap: --ro-overlay takes *argument*"},
};

static const struct expectation small_options[] = {
        {{.args = "--argv0 other"}, "name other"},
        {{.args = "--argv0 ''"}, "name "},
        {{.args = "--argv0 a --argv0 b", .status = 1}, "error bwrap: --argv0 used multiple times"},
        {{.args = "!--argv0", .status = 1}, "error bwrap: --argv0 takes *argument*"},
        {{.args = "--bind-fd %o:@/a /x", .look = "/x /x/file"},
         "mount /x rw,*\nread /x/file: a|\nwrite /x/file: ok"},
        {{.args = "--ro-bind-fd %o:@/a /x", .look = "/x/file"},
         "mount /x ro,*\nwrite /x/file: Read-only file system"},
        {{.args = "--bind-fd %r:text /x", .status = 1}, "error bwrap: *"},
        {{.args = "--level-prefix --bind @/missing /x", .status = 1},
         "error <3>bwrap: Can't find source path @/missing: No such file or directory"},
        {{.args = "--level-prefix --chdir / --chdir /"},
         "error <4>bwrap: Only the last --chdir option will take effect"},
        {{.args = "--symlink target /l --symlink target /l", .look = "/l"},
         "path /l mode 120777 * -> target"},
        {{.args = "--symlink target /l --symlink other /l", .status = 1},
         "error bwrap: Can't make symlink at /l: existing destination is target"},
        {{.args = "!--version", .status = STATUS_0}, "bubblewrap 0.13.1 (nsrun *)\n!error *"},
        {{.args = "!--help", .status = STATUS_0},
         "usage: SELF \\[OPTIONS...] \\[--] COMMAND \\[ARGS...]\n    --argv0 *\n    --level-prefix *\n    --overlay-src *\n"
         "    --overlay *\n    --tmp-overlay *\n    --ro-overlay *\n    --bind-fd *\n    --ro-bind-fd *\n!error *"},
        {{.args = "--info-fd 77", .status = 1}, "error bwrap: *\n!name *"},
        {{.args = "--json-status-fd 77", .status = 1}, "error bwrap: *\n!name *"},
        {{.args = "--unshare-pid", .look = "/proc/sys/kernel/hostname"},
         "open /proc/sys/kernel/domainname: [!o]*\n"
         "write /proc/sys/kernel/hostname: [!o]*"},
        {{.args = "--unshare-all --uid 0 --cap-add ALL", .look = "/proc/sys/kernel/hostname"},
         "open /proc/sys/kernel/domainname: [!o]*\n"
         "write /proc/sys/kernel/hostname: [!o]*"},
        {{.args = "--dir /d/e --perms 0700 --file %r:text /f/g/h --perms 0640 --bind-data %r:text /i/j",
          .look = "/d /d/e /f /f/g /f/g/h /i /i/j"},
         "path /d mode 40755 *\npath /d/e mode 40755 *\npath /f mode 40700 *\npath /f/g mode 40700 *\n"
         "path /f/g/h mode 100700 *\npath /i mode 40750 *\npath /i/j mode 100640 *"},
        {{.args = "--sync-fd %r:x --sync-fd %r:x"}, "!error *"},
        {{.args = "--not-a-security-boundary --ro-bind @/a /x", .look = "/x"}, "mount /x ro,*\n!error *"},
        {{.args = "--symlink nowhere /l --bind @/a /l", .look = "/l /nowhere/file"},
         "path /l mode 120777 * -> nowhere\nmount /nowhere rw,*\nread /nowhere/file: a|"},
        {{.args = "--symlink /no/where /l --bind @/file /l", .look = "/no/where"},
         "mount /no/where rw,*\nread /no/where: text|"},
        {{.args = "--symlink ../../../where /l --dir /l", .look = "/where"}, "path /where mode 40755 *"},
        {{.args = "--bind @/root / ^ --ro-bind @/a /nowhere", .status = 1},
         "error bwrap: Can't mkdir /nowhere: No such file or directory\n!tree /root/nothing*"},
        {{.args = "--bind @/root /x --symlink x/made /l --tmpfs /l", .status = 1},
         "error bwrap: Can't mkdir /l: No such file or directory\n!tree /root/made*"},
        {{.args = "--dir /d --symlink d/f /l --file %r:text /l", .status = 1},
         "error bwrap: Can't create file /l: Too many levels of symbolic links"},
        {{.args = "--symlink /m /l --symlink /l /m --dir /l", .status = 1},
         "error bwrap: Can't mkdir /l: Too many levels of symbolic links"},
        {{.args = "--symlink nowhere /l --bind @/a /l/y", .status = 1},
         "error bwrap: Can't mkdir /l/y: No such file or directory"},
        {{.args = "--dir /y --bind @/a /x/../y", .look = "/x /y/file"},
         "path /x mode 40755 *\nmount /y rw,*\nread /y/file: a|"},
        {{.args = "--file %r:text /f/", .look = "/f"}, "read /f: text"},
        {{.args = "--bind @/file /f/", .look = "/f"}, "mount /f rw,*\nread /f: text|"},
        {{.args = "--chdir ''", .status = 1}, "error bwrap: --chdir does not take an empty path argument"},
        {{.args = "--block-fd 77", .status = 1},
         "error bwrap: the block fd can't be read: Bad file descriptor\n!name *"},
        {{.args = "--unshare-pid --dev /dev --info-fd %w --block-fd 77", .status = 1},
         "error bwrap: the block fd can't be read: Bad file descriptor\n!name *"},
        {{.args = "--unshare-pid --dev /dev --block-fd %r:x --json-status-fd %w"}, "name /inside"},
        {{.args = "--json-status-fd %w --ro-bind-data 77 /x", .status = 1}, "written to 20: nothing"},
        {{.args = "--json-status-fd %w --add-seccomp-fd 77", .status = 1}, "written to 20: nothing"},
        {{.args = "--unshare-user --disable-userns --userns-block-fd %r:x --info-fd %w", .status = 1},
         "error bwrap: --disable-userns is not compatible with --userns-block-fd\nwritten to 21: nothing"},
        {{.args = "--add-seccomp-fd 77", .status = 1},
         "error bwrap: Can't read seccomp data: Bad file descriptor"},
        {{.args = "--add-seccomp-fd %bpf:seccomp --add-seccomp-fd %bpf:getsid"}, "!error *"},
        {{.args = "--ro-bind-data 77 /x", .status = 1},
         "error bwrap: Can't write data to file /x: Bad file descriptor"},
        {{.args = "--bind @/root / ^ --ro-bind @/a /share --dir /share/sub/x", .status = 1},
         "error bwrap: *"},
        {{.args = "--bind @/root / ^ --ro-bind @/a /share", .look = "/usr/share /usr/share/file"},
         "mount /usr/share ro,*\nread /usr/share/file: a|"},
};

/* What no bubblewrap has. */
static const struct expectation own_options[] = {
        {{.args = "--seccomp-policy default"},
         "no_new_privs 1 seccomp 2 *\na user namespace: Operation not permitted\n!error *"},
        {{.args = "--seccomp-policy strict --unshare-pid"},
         "no_new_privs 1 seccomp 2 *\na user namespace: Operation not permitted\n!error *"},
        {{.args = "--seccomp-policy nested"}, "no_new_privs 1 seccomp 2 *\na user namespace: ok\n!error *"},
        {{.args = "--seccomp-policy none"}, "no_new_privs 1 seccomp 0 *\na user namespace: ok\n!error *"},
        {{.args = "--seccomp-policy none --seccomp-policy nested"},
         "no_new_privs 1 seccomp 2 *\n"
         "error bwrap: Only the last --seccomp-policy option will take effect"},
        {{.args = "--seccomp-policy missing", .status = 1},
         "error bwrap: Can't load seccomp policy missing: no such seccomp policy, and no such file: No such "
         "file or directory\n!name *"},
        {{.args = "--seccomp-policy @/a", .status = 1},
         "error bwrap: Can't load seccomp policy @/a: the seccomp policy is no plain file: Invalid argument"},
        {{.args = "--seccomp-policy @/file", .status = 1},
         "error bwrap: Can't load seccomp policy @/file: *\n!name *"},
        {{.args = "--overlay-opt volatile --overlay-src @/a --overlay-opt xino=off,index=off --tmp-overlay /x "
                  "--overlay-src @/b --tmp-overlay /y",
          .look = "/x /x/file /y /y/file"},
         "mount /x rw,* overlay root / rw,*volatile*\nread /x/file: a|\nwrite /x/file: ok\n"
         "!mount /y *volatile*\nread /y/file: b|\n!error *"},
        {{.args = "--overlay-opt index=off,xino=on --overlay-src @/a --overlay-src @/b --ro-overlay /x",
          .look = "/x/file"},
         "read /x/file: b|\nwrite /x/file: Read-only file system\n!error *"},
        {{.args = "--overlay-opt upperdir=@/b --overlay-src @/a --tmp-overlay /x", .status = 1},
         "error bwrap: --overlay-opt does not take 'upperdir=@/b', only volatile, index=on|off, "
         "redirect_dir=nofollow, metacopy=off and xino=on|off|auto\n!name *"},
        {{.args = "--bind-create @/new/deep/er/ /x", .look = "/x"},
         "mount /x rw,nosuid,nodev,*\nmake in /x: ok\ntree /new mode 40700 *\ntree /new/deep mode 40700 *\n"
         "tree /new/deep/er mode 40700 *\n!error *"},
        {{.args = "--ro-bind-create @/new /x", .look = "/x"},
         "mount /x ro,nosuid,nodev,*\nmake in /x: Read-only file system\ntree /new mode 40700 *"},
        {{.args = "--dev-bind-create @/new /x", .look = "/x"},
         "mount /x rw,nosuid,relatime*\ntree /new mode 40700 *"},
        {{.args = "--bind-create new /x", .look = "/x", .cwd = "@"},
         "make in /x: ok\ntree /new mode 40700 *"},
        {{.args = "--bind-create ./new/../new /x", .cwd = "@", .status = 1},
         "error bwrap: Can't create source path ./new/../new: No such file or directory\n!name *"},
        {{.args = "--bind-create @/a /x --bind-create @/file /y --bind-create @/link-a/new /z",
          .look = "/x/file /y /z"},
         "read /x/file: a|\nread /y: text|\nmake in /z: ok\ntree /a mode 40755 *\ntree /a/new mode 40700 *"},
        {{.args = "--bind-create @/dangling /x", .status = 1},
         "error bwrap: Can't create source path @/dangling: Too many levels of symbolic links\n"
         "!tree /nothing*\n!name *"},
        {{.args = "--bind-create @/dangling/sub /x", .status = 1},
         "error bwrap: Can't create source path @/dangling/sub: Too many levels of symbolic links\n"
         "!tree /nothing*"},
        {{.args = "--bind-create @/loop/sub /x", .status = 1},
         "error bwrap: Can't find source path @/loop/sub: Too many levels of symbolic links"},
        {{.args = "--bind-create @/file/sub /x", .status = 1},
         "error bwrap: Can't find source path @/file/sub: Not a directory"},
        {{.args = "--bind-create /proc/new /x", .status = 1},
         "error bwrap: Can't create source path /proc/new: No such file or directory"},
        {{.args = "--bind-create @/new /x --bind @/missing /y", .status = 1},
         "error bwrap: Can't find source path @/missing: No such file or directory\ntree /new mode 40700 *"},
        {{.args = "--unshare-user --bind @/a /x --protect /x/sub", .look = "/x /x/file /x/sub /x/sub/deep"},
         "make in /x: ok\nwrite /x/file: ok\nmake in /x/sub: Read-only file system\n"
         "read /x/sub/deep: deep|\nwrite /x/sub/deep: Read-only file system\n!error *"},
        {{.args = "--unshare-user --protect x/./sub/../file --bind @/a /x", .look = "/x /x/file"},
         "make in /x: ok\nread /x/file: a|\nwrite /x/file: Read-only file system\n!error *"},
        {{.args = "--unshare-user --protect /x --bind @/a /x --bind @/b /x/sub",
          .look = "/x /x/file /x/sub/file"},
         "make in /x: Read-only file system\nwrite /x/file: Read-only file system\n"
         "write /x/sub/file: Read-only file system\n!error *"},
        {{.args = "--unshare-user --protect / --bind @/a /x", .look = "/ /x"},
         "make in /: Read-only file system\nmake in /x: Read-only file system\n!error *"},
        {{.args = "--unshare-user --file %r:text /etc/f --protect /etc/f", .look = "/etc /etc/f"},
         "make in /etc: ok\nread /etc/f: text\nwrite /etc/f: Read-only file system"},
        {{.args = "--unshare-user --bind @/a /x --protect /x/none", .status = 1},
         "error bwrap: Can't protect /x/none: No such file or directory\n!tree /a/none*\n!name *"},
        {{.args = "--unshare-user --bind @/a /x --protect /x/file/none", .status = 1},
         "error bwrap: Can't protect /x/file/none: Not a directory"},
        {{.args = "--unshare-user --bind @/a /x --symlink x /l --protect /l/sub", .status = 1},
         "error bwrap: Can't protect /l/sub: Too many levels of symbolic links"},
        {{.args = "--unshare-user --bind @ /x --protect /x/link-a", .status = 1},
         "error bwrap: Can't protect /x/link-a: Too many levels of symbolic links"},
        {{.args = "--unshare-user --hide /x/sub --bind @/a /x", .look = "/x /x/file /x/sub /x/sub/deep"},
         "write /x/file: ok\npath /x/sub mode 40555 *\nmake in /x/sub: Read-only file system\n"
         "path /x/sub/deep: No such file or directory\n!in /x/sub *\n!error *"},
        {{.args = "--unshare-user --bind @/a /x --hide /x/file --protect /x/file", .look = "/x /x/file"},
         "make in /x: ok\npath /x/file mode 100000 * size 0*\n!read /x/file: a|\n"
         "tree /a/file mode 100644 *a\n!error *"},
        {{.args = "--unshare-user --bind @/a /x --hide /x/none --hide /none/at/all", .look = "/x"},
         "make in /x: ok\n!tree /a/none*\n!error *"},
        {{.args = "--unshare-user --bind @/a /x --symlink x /l --hide /l/file", .status = 1},
         "error bwrap: Can't hide /l/file: Too many levels of symbolic links\n!name *"},
        {{.args = "--unshare-user --bind @/a /x --hide /x/file/sub", .status = 1},
         "error bwrap: Can't hide /x/file/sub: Not a directory"},
        {{.args = "--seccomp-policy default --report %w"},
         "a user namespace: Operation not permitted\nwritten to 20: \"flags\":\"CLONE_NEWUSER\"\nwritten to 20: \"errno\":\"EPERM\"\n!error *"},
        {{.args = "--seccomp-policy none --report %w"},
         "a user namespace: ok\nwritten to 20: nothing\n!error *"},
        {{.args = "--seccomp-policy default --report 77", .status = 1},
         "error bwrap: Can't write to report fd: Bad file descriptor\n!name *"},
        {{.args = "--json-status-fd %w --seccomp-policy missing", .status = 1}, "written to 20: nothing"},
};

static bool has_line(const char *report, const char *pattern) {
        _cleanup_free_ char *copy = strdup(report);
        char *rest = copy;

        for (char *line; (line = strsep(&rest, "\n"));)
                if (fnmatch(pattern, line, 0) == 0)
                        return true;
        return false;
}

static size_t check(const struct site *s, const struct expectation *e) {
        _cleanup_free_ char *half = replaced(e->lines, "@", s->project);
        _cleanup_free_ char *lines = replaced(half, "SELF", our_bwrap());
        _cleanup_free_ char *status = text_of("status %d", expected_status(&e->c));
        _cleanup_free_ char *report = bwrap_report(s, our_bwrap(), &e->c);
        char *rest = lines;
        size_t n_wrong = !has_line(report, status);

        for (char *line; (line = strsep(&rest, "\n"));)
                n_wrong += line[0] == '!' ? has_line(report, line + 1) : !has_line(report, line);
        if (n_wrong > 0) /* more than cmocka prints at once */
                (void)printf("  %s\n    %zu wrong of %s, %s\n    in %s\n", e->c.args, n_wrong, status, lines,
                             report);
        return n_wrong;
}

static void check_all(const struct site *s, const struct expectation *all, size_t n) {
        size_t n_wrong = 0;

        for (size_t i = 0; i < n; i++)
                n_wrong += check(s, &all[i]) > 0;
        if (n_wrong > 0)
                fail_msg("%zu of %zu command lines are not as expected", n_wrong, n);
}

TEST(overlays_are_as_the_manual_has_them) {
        check_all(*state, overlays, ARRAY_SIZE(overlays));
}

TEST(newer_options_are_as_the_manual_has_them) {
        check_all(*state, small_options, ARRAY_SIZE(small_options));
}

TEST(own_options_are_as_our_manual_has_them) {
        check_all(*state, own_options, ARRAY_SIZE(own_options));
}

/* A walk by hand stands in for openat2(2) where that is missing. */
TEST(no_file_is_written_through_a_link_without_openat2) {
        static const struct {
                const char *args, *line;
        } cases[] = {
                {"--dir /d --symlink d/f /l --file %r:text /l",
                 "error bwrap: Can't create file /l: Too many levels of symbolic links"},
                {"--dir /d --symlink d /l --file %r:text /l/f", "read /d/f: text"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *report =
                        bwrap_report_denied(*state, our_bwrap(), "openat2",
                                            &(struct bwrap_case){.args = cases[i].args, .look = "/d/f"});

                if (!has_line(report, cases[i].line))
                        fail_msg("%s: %.2000s", cases[i].args, report);
        }
}

/* -------------------------------------------------------- with a caller's help */

static void keep(void *data) {
        const int *fds = data;

        /* At 30 and up, without close-on-exec. */
        for (int i = 0; fds[i] >= 0; i++)
                if (dup2(fds[i], 30 + i) < 0)
                        _exit(117);
}

static char *read_some(int fd) {
        char text[4096];
        ssize_t n = read(fd, text, sizeof(text) - 1);

        assert_true(n > 0);
        text[n] = '\0';
        return strdup(text);
}

static pid_t pid_in(const char *json) {
        const char *at = strstr(json, "\"child-pid\"");

        assert_non_null(at);
        return (pid_t)strtol(strchr(at, ':') + 1, NULL, 10);
}

TEST(the_command_waits_for_the_block_fd) {
        const struct site *s = *state;
        const char *const argv[] = {our_bwrap(), "--ro-bind", "/",  "/",  "--block-fd", "30",
                                    "--info-fd", "31",        "sh", "-c", "echo ran",   NULL};
        int block[2], info[2];
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *json = NULL;
        struct pollfd p;
        struct running r;

        assert_int_equal(pipe2(block, O_CLOEXEC), 0);
        assert_int_equal(pipe2(info, O_CLOEXEC), 0);
        spawn(&(struct request){.argv = argv,
                                .cwd = s->root,
                                .in_child = keep,
                                .data = (int[]){block[0], info[1], -1}},
              &r);
        /* It has been started, and it is in its namespaces: only the word is missing. */
        json = read_some(info[0]);
        assert_true(pid_in(json) > 0);
        p = (struct pollfd){.fd = r.out, .events = POLLIN};
        assert_int_equal(poll(&p, 1, 0), 0);
        assert_int_equal(write(block[1], "x", 1), 1);
        finish(&r, &o);
        expect_status(&o, 0);
        expect_out(&o, "ran\n");
        for (int i = 0; i < 2; i++)
                (void)close(block[i]), (void)close(info[i]);
}

static void write_to(const char *path, const char *text) {
        _cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

        if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
                fail_msg("%s: %s", path, strerror(errno));
}

/* What newuidmap would do. */
static void write_maps(pid_t pid, unsigned inside) {
        static const char *const files[] = {"setgroups", "uid_map", "gid_map"};

        for (int i = 0; i < 3; i++) {
                _cleanup_free_ char *path = text_of("/proc/%d/%s", (int)pid, files[i]);
                _cleanup_free_ char *map = text_of("%u %u 1", inside, i == 1 ? geteuid() : getegid());

                write_to(path, i == 0 ? "deny" : map);
        }
}

TEST(the_caller_writes_the_id_maps) {
        const struct site *s = *state;
        const char *const *argv = OPTIONS(our_bwrap(), "--unshare-user", "--ro-bind", "/", "/", "--proc",
                                          "/proc", "--userns-block-fd", "30", "--info-fd", "31", "sh", "-c",
                                          "echo $(cat /proc/self/uid_map); id -u");
        int block[2], info[2];
        _cleanup_free_ char *json = NULL, *expected = text_of("77 %u 1\n77\n", geteuid());
        _cleanup_outcome_ struct outcome o = {0};
        struct running r;

        assert_int_equal(pipe2(block, O_CLOEXEC), 0);
        assert_int_equal(pipe2(info, O_CLOEXEC), 0);
        spawn(&(struct request){.argv = argv,
                                .cwd = s->root,
                                .in_child = keep,
                                .data = (int[]){block[0], info[1], -1}},
              &r);
        json = read_some(info[0]);
        write_maps(pid_in(json), 77);
        assert_int_equal(write(block[1], "x", 1), 1);
        finish(&r, &o);
        expect_status(&o, 0);
        expect_out(&o, expected);
        for (int i = 0; i < 2; i++)
                (void)close(block[i]), (void)close(info[i]);
}

TEST(a_lock_is_held_as_long_as_the_sandbox_runs) {
        const struct site *s = *state;
        _cleanup_free_ char *file = path_of(s->project, "lock");
        const char *const argv[] = {our_bwrap(),   "--bind", "/",  "/",  "--unshare-pid",
                                    "--lock-file", file,     "sh", "-c", "echo ready; read word",
                                    NULL};
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_close_ int fd = -EBADF;
        struct running r;
        int input[2];

        make_file(s->project, "lock", "");
        fd = open(file, O_RDWR | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(pipe2(input, O_CLOEXEC), 0);
        assert_int_equal(fcntl(fd, F_SETLK, &lock), 0);
        lock.l_type = F_UNLCK;
        assert_int_equal(fcntl(fd, F_SETLK, &lock), 0);
        spawn(&(struct request){.argv = argv, .cwd = s->root, .standard_input = input[0]}, &r);
        await_line(r.out, "ready\n");
        lock.l_type = F_WRLCK;
        assert_int_equal(fcntl(fd, F_SETLK, &lock), -1);
        assert_true(errno == EAGAIN || errno == EACCES);
        (void)close(input[0]);
        (void)close(input[1]);
        finish(&r, &o);
        assert_int_equal(fcntl(fd, F_SETLKW, &lock), 0);
}

/* Its write end is open as long as anything of the sandbox is. */
TEST(the_sync_fd_closes_with_the_sandbox) {
        const struct site *s = *state;
        const char *const argv[] = {our_bwrap(), "--ro-bind", "/",  "/",  "--unshare-pid",
                                    "--sync-fd", "30",        "sh", "-c", "echo ready; read word; echo done",
                                    NULL};
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *line = NULL;
        int sync[2], input[2];
        struct pollfd p;
        struct running r;

        assert_int_equal(pipe2(sync, O_CLOEXEC), 0);
        assert_int_equal(pipe2(input, O_CLOEXEC), 0);
        spawn(&(struct request){.argv = argv,
                                .cwd = s->root,
                                .standard_input = input[0],
                                .in_child = keep,
                                .data = (int[]){sync[1], -1}},
              &r);
        (void)close(sync[1]);
        line = read_line(r.out);
        p = (struct pollfd){.fd = sync[0], .events = POLLIN};
        assert_int_equal(poll(&p, 1, 0), 0);
        (void)close(input[0]);
        (void)close(input[1]);
        finish(&r, &o);
        expect_out(&o, "done\n");
        assert_int_equal(poll(&p, 1, deadline_seconds * 1000), 1);
        assert_true(p.revents & POLLHUP);
        (void)close(sync[0]);
}

/* The limit was 9,000. */
TEST(twenty_thousand_arguments_are_read) {
        const struct site *s = *state;
        const char *const argv[] = {our_bwrap(), "--args", "30", "--ro-bind",  "/",
                                    "/",         "sh",     "-c", "echo $LAST", NULL};
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_fclose_ FILE *f = tmpfile();

        assert_non_null(f);
        for (int i = 0; i < 20000 / 3; i++)
                (void)fprintf(f, "--setenv%cLAST%c%d%c", 0, 0, i, 0);
        assert_int_equal(fflush(f), 0);
        rewind(f);
        run(
                &(struct request){
                        .argv = argv, .cwd = s->root, .in_child = keep, .data = (int[]){fileno(f), -1}},
                &o);
        assert_string_equal(o.err, "");
        expect_status(&o, 0);
        expect_out(&o, "6665\n");
}

/* "The pid 1 process exits … when there are no other processes in the sandbox left." */
TEST(what_runs_in_the_background_outlives_the_command) {
        static const char script[] = "{ read word; echo $word; } <\"$0\" & exit 3";
        const struct site *s = *state;
        _cleanup_free_ char *fifo = path_of(s->project, "fifo");
        const char *const argv[] = {our_bwrap(), "--dev-bind", "/",    "/",  "--unshare-pid",
                                    "sh",        "-c",         script, fifo, NULL};
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_close_ int fd = -EBADF;
        struct pollfd p;
        struct running r;

        assert_int_equal(mkfifo(fifo, 0600), 0);
        fd = open(fifo, O_RDWR | O_CLOEXEC);
        assert_true(fd >= 0);
        spawn(&(struct request){.argv = argv, .cwd = s->root}, &r);
        p = (struct pollfd){.fd = r.pidfd, .events = POLLIN};
        assert_int_equal(poll(&p, 1, deadline_seconds * 1000), 1);
        assert_int_equal(write(fd, "still here\n", 11), 11);
        finish(&r, &o);
        expect_status(&o, 3);
        expect_out(&o, "still here\n");
        collect_orphans();
}

/* The caller dies, and with it, at once, the sandbox: finish() waits for whoever holds the output. */
TEST(it_dies_with_its_parent) {
        static const char script[] =
                "\"$0\" --ro-bind / / --unshare-pid --die-with-parent sh -c 'echo ready; exec sleep 1000' & wait";
        const struct site *s = *state;
        const char *const argv[] = {"sh", "-c", script, our_bwrap(), NULL};
        _cleanup_outcome_ struct outcome o = {0};
        struct running r;

        spawn(&(struct request){.argv = argv, .cwd = s->root}, &r);
        await_line(r.out, "ready\n");
        assert_int_equal(syscall(SYS_pidfd_send_signal, r.pidfd, SIGKILL, NULL, 0), 0);
        finish(&r, &o);
        expect_status(&o, 1000 + SIGKILL);
        collect_orphans();
}

/* A failure after the child is there leaves it nowhere. */
TEST(a_descriptor_that_can_not_be_written_leaves_nothing) {
        static const char *const options[] = {"--info-fd", "--json-status-fd"};
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
                const char *const argv[] = {our_bwrap(), "--ro-bind", "/",    "/", options[i],
                                            "30",        "sleep",     "1000", NULL};
                _cleanup_close_ int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
                _cleanup_outcome_ struct outcome o = {0};

                assert_true(fd >= 0);
                run(
                        &(struct request){
                                .argv = argv, .cwd = s->root, .in_child = keep, .data = (int[]){fd, -1}},
                        &o);
                expect_status(&o, 1);
                expect_in(o.err, "bwrap: ");
                expect_in(o.err, "No space left on device");
        }
}

int main(void) {
        return run_all_tests();
}

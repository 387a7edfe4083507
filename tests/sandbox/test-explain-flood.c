/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun run --explain` of commands that flood the notifier, change what it looks at, or die under it. */
#include "explain.h"

/* A hundred thousand names, each another one; then something that is to be told. */
TEST(who_floods_the_notifier_ends_and_is_told_of_at_most_ten_things) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        size_t n = 0;

        make_host(s);
        explained(s, &o, NULL,
                  "python3 - <<'E'\n"
                  "import os\n"
                  "for i in range(40000):\n"
                  "    os.access('%H/work/' + 'x' * 100 + str(i), 0)\n"
                  "for i in range(40):\n"
                  "    try: open('/new%d' % i, 'w')\n"
                  "    except OSError: pass\n"
                  "E\n"
                  "exit 3");
        expect_status(&o, 3);
        for (const char *at = o.err; (at = strstr(at, "nsrun: reason: ")); at++)
                n++;
        assert_between(n, 1, 10);
}

/* Each part of a path is looked at: behind so many of them what came earlier isn't, or nsrun would be busy
 * long after the command has ended. */
TEST(who_asks_for_deep_paths_does_not_keep_nsrun_busy) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome few = {0}, many = {0};
        static const char command[] =
                "python3 - <<'E'\n"
                "for path in ['%%O/data'] + ['/srv/%%d' %% i + '/a' * 240 for i in range(%d)]:\n"
                "    try: open(path)\n"
                "    except OSError: pass\n"
                "E\n"
                "exit 3";
        _cleanup_free_ char *with_few = text_of(command, 10), *with_many = text_of(command, 1000);

        make_host(s);
        explained(s, &few, NULL, with_few);
        expect_in(few.err, s->outside);
        explained(s, &many, NULL, with_many);
        expect_status(&many, 3);
        expect_not_in(many.err, s->outside);
}

/* The path is another one for the kernel than for who looks, or is no text at all. */
TEST(a_path_that_changes_under_the_notifier_gets_nothing_through) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_host(s);
        explained(s, &o, "--hide=.env.local",
                  "python3 - <<'E'\n"
                  "import ctypes, os, threading\n"
                  "libc = ctypes.CDLL(None, use_errno=True)\n"
                  "good, bad = b'%P/plain\\0', b'%P/.env.local\\0'.ljust(4096, b'\\0')\n"
                  "buffer = ctypes.create_string_buffer(4096)\n"
                  "done = False\n"
                  "def swap():\n"
                  "    while not done:\n"
                  "        ctypes.memmove(buffer, good, len(good)); ctypes.memmove(buffer, bad, len(bad))\n"
                  "t = threading.Thread(target=swap); t.start()\n"
                  "leaks = 0\n"
                  "for i in range(2000):\n"
                  "    fd = libc.open(buffer, 0)\n"
                  "    if fd >= 0:\n"
                  "        leaks += os.readlink('/proc/self/fd/%d' % fd).endswith('.env.local')\n"
                  "        os.close(fd)\n"
                  "done = True; t.join()\n"
                  "for address in (0, 1, 2 ** 64 - 1, 2 ** 47 - 4096):\n"
                  "    assert libc.open(ctypes.c_void_p(address), 0) < 0 and ctypes.get_errno() == 14\n"
                  "assert libc.open(b'x' * 5000, 0) < 0 and ctypes.get_errno() == 36\n"
                  "for address in (0, 1, 2 ** 64 - 1, 2 ** 47 - 4096):\n"
                  "    for call in libc.write, libc.writev:\n"
                  "        assert call(2, ctypes.c_void_p(address), 9) < 0 and ctypes.get_errno() == 14\n"
                  "print('leaks', leaks)\n"
                  "E\n"
                  "exit 3");
        expect_status(&o, 3);
        expect_in(o.out, "leaks 0\n");
}

TEST(who_dies_or_forks_under_the_notifier_changes_nothing) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_host(s);
        explained(s, &o, NULL,
                  "python3 - <<'E'\n"
                  "import os, signal\n"
                  "for i in range(300):\n"
                  "    pid = os.fork()\n"
                  "    if pid == 0:\n"
                  "        while True: os.access('%O/x', 0)\n"
                  "    os.kill(pid, signal.SIGKILL); os.waitpid(pid, 0)\n"
                  "for i in range(2000):\n"
                  "    pid = os.fork()\n"
                  "    if pid == 0:\n"
                  "        os.access('%O/y', 0); os._exit(0)\n"
                  "    if i % 50 == 0:\n"
                  "        while True:\n"
                  "            try: os.wait()\n"
                  "            except ChildProcessError: break\n"
                  "os.open('plain', 0)\n"
                  "E\n"
                  "cat plain; exit 3");
        expect_status(&o, 3);
        expect_out(&(struct outcome){.out = o.out}, "x");
}

int main(void) {
        return run_all_tests();
}

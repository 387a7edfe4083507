/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --display: a compositor with security contexts, one without, one that misbehaves, an X server; and one
 * line where there is none. */
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "session.h"

/* A compositor in Python.  It says "direct" to whoever comes by its own socket, and "sandboxed" at the
 * socket of a security context; and prints what it is told of one. */
static const char fake_compositor[] =
        "import os, select, socket, struct, sys, threading\n"
        "mode = sys.argv[2]\n"
        "def text(s):\n"
        "    b = s.encode() + b'\\0'\n"
        "    return struct.pack('=I', len(b)) + b + b'\\0' * (-len(b) % 4)\n"
        "def event(o, op, body): return struct.pack('=II', o, (8 + len(body)) << 16 | op) + body\n"
        "def context(listener, life):\n"
        "    l = socket.socket(fileno=listener)\n"
        "    while True:\n"
        "        r = select.select([l, life], [], [])[0]\n"
        "        if life in r:\n"
        "            print('closed', flush=True)\n"
        "            return\n"
        "        c, _ = l.accept()\n"
        "        c.recv(5)\n"
        "        c.sendall(b'sandboxed\\n')\n"
        "        c.close()\n"
        "def serve(c):\n"
        "    data, fds, told = b'', [], []\n"
        "    while True:\n"
        "        more, given, _, _ = socket.recv_fds(c, 4096, 8)\n"
        "        if not more: return\n"
        "        data += more\n"
        "        fds += given\n"
        "        if data.startswith(b'hello'):\n"
        "            c.sendall(b'direct\\n')\n"
        "            return\n"
        "        while len(data) >= 8:\n"
        "            o, w = struct.unpack('=II', data[:8])\n"
        "            size, op = w >> 16, w & 65535\n"
        "            if len(data) < size: break\n"
        "            body, data = data[8:size], data[size:]\n"
        "            if (o, op) == (1, 1):\n"
        "                c.sendall(event(2, 0, struct.pack('=I', 1) + text('wl_compositor') + struct.pack('=I', 4)))\n"
        "                if mode != 'plain':\n"
        "                    c.sendall(event(2, 0, struct.pack('=I', 7) + text('wp_security_context_manager_v1') + "
        "struct.pack('=I', 1)))\n"
        "                if mode == 'nonsense': c.sendall(struct.pack('=II', 9, 3 << 16))\n"
        "            elif (o, op) == (1, 0):\n"
        "                c.sendall(event(struct.unpack('=I', body)[0], 0, b'\\0\\0\\0\\0'))\n"
        "            elif o == 2: told.append(struct.unpack('=I', body[:4])[0])\n"
        "            elif o == 5 and op in (1, 2): told.append(body[4:].rstrip(b'\\0').decode())\n"
        "            elif o == 5 and op == 4 and mode == 'error':\n"
        "                c.sendall(event(1, 0, struct.pack('=II', 5, 1) + text('no')))\n"
        "            elif o == 5 and op == 4:\n"
        "                print(told, len(fds), flush=True)\n"
        "                threading.Thread(target=context, args=(fds[0], fds[1]), daemon=True).start()\n"
        "l = socket.socket(socket.AF_UNIX)\n"
        "l.bind(sys.argv[1])\n"
        "l.listen(9)\n"
        "print('ready', flush=True)\n"
        "while True:\n"
        "    c, _ = l.accept()\n"
        "    threading.Thread(target=serve, args=(c,), daemon=True).start()\n";

static const char client[] =
        "import os, socket\n"
        "c = socket.socket(socket.AF_UNIX)\n"
        "c.connect(os.environ['XDG_RUNTIME_DIR'] + '/' + os.environ['WAYLAND_DISPLAY'])\n"
        "c.sendall(b'hello')\n"
        "print(c.recv(99).decode(), end='')\n"
        "print(os.listdir(os.environ['XDG_RUNTIME_DIR']), os.environ.get('DISPLAY'))\n";

struct compositor {
        struct running running;
        char *socket;
};

static void forget_displays(void) {
        static const char *const names[] = {"WAYLAND_DISPLAY", "DISPLAY", "XAUTHORITY"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                assert_int_equal(unsetenv(names[i]), 0);
}

static void compositor_begin(struct compositor *c, const struct site *s, const char *mode) {
        const char *argv[] = {"python3", "-c", fake_compositor, NULL, mode, NULL};

        if (!has_program("python3"))
                skip_because("there is no python3");
        forget_displays();
        *c = (struct compositor){.socket = path_of(s->runtime, "wayland-7")};
        argv[3] = c->socket;
        spawn(&(struct request){.argv = argv, .in_child = die_with_test}, &c->running);
        await_line(c->running.out, "ready\n");
        assert_int_equal(setenv("WAYLAND_DISPLAY", "wayland-7", 1), 0);
}

static void compositor_end(struct compositor *c, const char *said) {
        _cleanup_outcome_ struct outcome o = {0};

        (void)kill(c->running.pid, SIGKILL);
        finish(&c->running, &o);
        (void)unlink(c->socket);
        free(c->socket);
        forget_displays();
        expect_out(&o, said);
}

TEST(a_security_context_where_the_compositor_has_it) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *line = NULL, *closed = NULL;
        struct compositor c;

        compositor_begin(&c, s, "context");
        RUN(s, &o, "--display", "--net=none", "--", "python3", "-c", client);
        expect_status(&o, 0);
        expect_out(&o, "sandboxed\n['wayland-0'] None\n");
        line = read_line(c.running.out);
        assert_string_equal(line, "[7, 'nsrun', 'nsrun'] 2\n");
        /* Nobody can come by that socket when the sandbox has ended. */
        closed = read_line(c.running.out);
        assert_string_equal(closed, "closed\n");
        RUN(s, &o, "--display", "-v", "--", "true");
        expect_in(
                o.err,
                "\ngives away  --display: windows on the Wayland display; the compositor knows them to be a "
                "sandbox's (security context), and keeps from them what it keeps from such\n");
        free(TAKE_PTR(line));
        free(TAKE_PTR(closed));
        line = read_line(c.running.out);
        closed = read_line(c.running.out);
        assert_string_equal(closed, "closed\n");
        compositor_end(&c, "");
}

TEST(else_its_own_socket_which_is_said) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        struct compositor c;

        compositor_begin(&c, s, "plain");
        RUN(s, &o, "--display", "--", "python3", "-c", client);
        expect_status(&o, 0);
        expect_out(&o, "direct\n['wayland-0'] None\n");
        RUN(s, &o, "--display", "-v", "--", "true");
        expect_in(
                o.err,
                "\ngives away  --display: windows on the Wayland display, and what its compositor lets every "
                "client do (the clipboard, and with some pictures of the screen and typing): it has no "
                "security contexts\n");
        RUN(s, &o, "--", "sh", "-c", "echo ${WAYLAND_DISPLAY-none}");
        expect_out(&o, "none\n");
        compositor_end(&c, "");
}

/* What isn't a compositor, and one that refuses: one line, and the command never starts. */
TEST(a_compositor_that_fails_is_one_line) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *nonsense = NULL, *error = NULL;
        struct compositor c;

        compositor_begin(&c, s, "nonsense");
        nonsense = text_of(
                "nsrun: --display: what listens there doesn't answer as a Wayland compositor: %s; look at "
                "WAYLAND_DISPLAY",
                c.socket);
        RUN(s, &o, "--display", "--", "true");
        expect_refusal(&o, 125, nonsense);
        compositor_end(&c, "");
        compositor_begin(&c, s, "error");
        error = text_of(
                "nsrun: --display: the Wayland compositor makes no security context: %s: Protocol error",
                c.socket);
        RUN(s, &o, "--display", "--", "true");
        expect_refusal(&o, 125, error);
        compositor_end(&c, "");
}

TEST(no_display_is_one_line) {
        static const char none[] =
                "nsrun: --display: the host has no display: neither WAYLAND_DISPLAY nor DISPLAY "
                "leads to a socket; start nsrun from the desktop's session";
        static const char *const displays[] = {NULL, "host:0", "localhost:10.0", ":65000",
                                               ":",  ":1x",    "unix",           ":-1"};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        forget_displays();
        for (size_t i = 0; i < ARRAY_SIZE(displays); i++) {
                if (displays[i])
                        assert_int_equal(setenv("DISPLAY", displays[i], 1), 0);
                RUN(s, &o, "--display", "--", "true");
                expect_refusal(&o, 125, none);
        }
        forget_displays();
}

/* An X server's socket is one in /tmp/.X11-unix: one of the test's own, by a number that nobody has. */
TEST(an_x_server_is_shown_with_its_warning) {
        static const char look[] =
                "echo $DISPLAY; ls /tmp/.X11-unix; cat $XAUTHORITY; echo ${XAUTHORITY##*/}";
        const struct site *s = *state;
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        _cleanup_free_ char *display = NULL, *said = NULL, *shown = NULL;
        _cleanup_outcome_ struct outcome o = {0}, v = {0};
        unsigned number = 20000 + (unsigned)getpid() % 40000;
        bool is_made;

        forget_displays();
        is_made = mkdir("/tmp/.X11-unix", 01777) == 0;
        if (is_made)
                assert_int_equal(chmod("/tmp/.X11-unix", 01777), 0);
        (void)snprintf(at.sun_path, sizeof(at.sun_path), "/tmp/.X11-unix/X%u", number);
        assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
        assert_int_equal(listen(fd, 4), 0);
        make_file(s->home, ".Xauthority", "cookie\n");
        display = text_of(":%u.0", number);
        assert_int_equal(setenv("DISPLAY", display, 1), 0);
        RUN(s, &o, "--display", "--", "sh", "-c", look);
        RUN(s, &v, "--display", "-v", "--", "true");
        assert_int_equal(unlink(at.sun_path), 0);
        if (is_made)
                (void)rmdir("/tmp/.X11-unix");
        forget_displays();
        shown = text_of(":%u\nX%u\ncookie\nXauthority\n", number, number);
        expect_status(&o, 0);
        expect_out(&o, shown);
        said = text_of(
                "\ngives away  --display: the whole X11 display :%u: each of its clients can read all keys, "
                "also of other windows (passwords), see these, and type into them; and the cookies of every "
                "display that XAUTHORITY has\n",
                number);
        expect_in(v.err, said);
}

/* A session's context lives as long as the session. */
TEST(a_session_has_its_context_for_its_life) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome stopped = {0}, o = {0};
        _cleanup_free_ char *id = NULL, *line = NULL;
        struct compositor c;

        if (in_a_session() || by_the_library())
                skip_because("this is about the nsrun program itself");
        compositor_begin(&c, s, "context");
        id = START(s, "--display");
        for (int i = 0; i < 2; i++)
                JOIN(s, id, &o, "--", "python3", "-c", client);
        SESSION(s, &stopped, "stop", id);
        expect_status(&o, 0);
        expect_out(&o, "sandboxed\n['wayland-0'] None\n");
        line = read_line(c.running.out);
        await_line(c.running.out, "closed\n");
        compositor_end(&c, "");
        collect_orphans();
}

int main(void) {
        return run_all_tests();
}

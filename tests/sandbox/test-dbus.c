/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --dbus: which names of the session bus a command can call, see and own, by which addresses a bus is found,
 * and the life of the proxy between. */
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "session.h"

/* D-Bus, as far as the tests speak it. */
#define BUS                                                                                                     \
        "import os, socket, struct, sys\n"                                                                      \
        "def text(t): return struct.pack('<I', len(t)) + t.encode() + b'\\0'\n"                                 \
        "class Bus:\n"                                                                                          \
        "    def __init__(s, address):\n"                                                                       \
        "        kind, _, name = address.partition(':')[2].partition(',')[0].partition('=')\n"                  \
        "        s.c = socket.socket(socket.AF_UNIX)\n"                                                         \
        "        s.c.connect('\\0' + name if kind == 'abstract' else name)\n"                                   \
        "        s.c.sendall(b'\\0AUTH EXTERNAL ' + str(os.getuid()).encode().hex().encode() + b'\\r\\n')\n"    \
        "        b = b''\n"                                                                                     \
        "        while not b.endswith(b'\\r\\n'): b += s.read(1)\n"                                             \
        "        if not b.startswith(b'OK'): raise SystemExit('not let in')\n"                                  \
        "        s.c.sendall(b'BEGIN\\r\\n'); s.n = 0; s.signals = []\n"                                        \
        "        s.name = s.bus('Hello')\n"                                                                     \
        "    def read(s, n):\n"                                                                                 \
        "        b = b''\n"                                                                                     \
        "        while len(b) < n:\n"                                                                           \
        "            more = s.c.recv(n - len(b))\n"                                                             \
        "            if not more: raise EOFError\n"                                                             \
        "            b += more\n"                                                                               \
        "        return b\n"                                                                                    \
        "    def send(s, kind, fields, body=b'', sig=''):\n"                                                    \
        "        s.n += 1; f = b''\n"                                                                           \
        "        for code, t, v in fields + ([(8, 'g', sig)] if sig else []):\n"                                \
        "            f += b'\\0' * (-len(f) % 8) + bytes([code, 1]) + t.encode() + b'\\0'\n"                    \
        "            f += struct.pack('<I', v) if t == 'u' else bytes([len(v)]) + v.encode() + b'\\0' "         \
        "if t == 'g' else text(v)\n"                                                                            \
        "        h = b'l' + bytes([kind, 0, 1]) + struct.pack('<III', len(body), s.n, len(f)) + f\n"            \
        "        s.c.sendall(h + b'\\0' * (-len(h) % 8) + body)\n"                                              \
        "        return s.n\n"                                                                                  \
        "    def receive(s):\n"                                                                                 \
        "        h = s.read(16); n, serial, size = struct.unpack('<III', h[4:])\n"                              \
        "        f = s.read(size + -size % 8); body = s.read(n); fields = {}; i = 0\n"                          \
        "        while i < size:\n"                                                                             \
        "            i += -i % 8; code, t = f[i], chr(f[i + 2]); i += 4\n"                                      \
        "            if t == 'g': fields[code] = f[i + 1:i + 1 + f[i]].decode(); i += f[i] + 2\n"               \
        "            else:\n"                                                                                   \
        "                fields[code] = v = struct.unpack('<I', f[i:i + 4])[0]; i += 4\n"                       \
        "                if t != 'u': fields[code] = f[i:i + v].decode(); i += v + 1\n"                         \
        "        return h[1], serial, fields, body\n"                                                           \
        "    def call(s, to, member, body=b'', sig='', path='/', face=None):\n"                                 \
        "        n = s.send(1, [(1, 'o', path), (2, 's', face or to), (3, 's', member), (6, 's', to)], "        \
        "body, sig)\n"                                                                                          \
        "        while True:\n"                                                                                 \
        "            kind, serial, f, body = s.receive()\n"                                                     \
        "            if kind == 4: s.signals += [f[3]] * (f[3] != 'NameAcquired')\n"                            \
        "            elif f.get(5) == n and kind == 3: return f[4].rpartition('.')[2]\n"                        \
        "            elif f.get(5) == n:\n"                                                                     \
        "                k = f.get(8, '')\n"                                                                    \
        "                return body[4:-1].decode() if k == 's' else struct.unpack('<I', body[:4])[0] if "      \
        "k in 'ub' and k else body\n"                                                                           \
        "    def bus(s, member, *texts):\n"                                                                     \
        "        return s.call('org.freedesktop.DBus', member, b''.join(map(text, texts)), 's' * len(texts))\n" \
        "    def own(s, name):\n"                                                                               \
        "        b = text(name); b += b'\\0' * (-len(b) % 4) + b'\\0' * 4\n"                                    \
        "        return s.call('org.freedesktop.DBus', 'RequestName', b, 'su')\n"

/* Has three names; each method answers with its own name, "Shout" with a signal before. */
static const char service[] = BUS
        "b = Bus(sys.argv[1])\n"
        "for name in ('org.example.One', 'org.example.Two', 'net.example.Three'): assert b.own(name) == 1\n"
        "print('ready', flush=True)\n"
        "while True:\n"
        "    kind, serial, f, body = b.receive()\n"
        "    if kind != 1: continue\n"
        "    if f[3] == 'Shout': b.send(4, [(1, 'o', '/'), (2, 's', 'org.example.One'), (3, 's', 'Heard')])\n"
        "    b.send(2, [(5, 'u', serial), (6, 's', f[7])], text(f[3] + f[1]), 's')\n";

#define CLIENT BUS "b = Bus(os.environ['DBUS_SESSION_BUS_ADDRESS'])\n"

struct desk {
        struct running daemon, service;
        char *address;
};

/* A bus at that address, and the service at the one that the bus tells. */
static void bus_begin(struct desk *d, const char *address) {
        _cleanup_free_ char *option = text_of("--address=%s", address);

        if (!has_program("python3") || !has_program("dbus-daemon") || !has_program("xdg-dbus-proxy"))
                skip_because("python3, dbus-daemon or xdg-dbus-proxy is missing");
        spawn(&(struct request){.argv = OPTIONS("dbus-daemon", "--session", "--nofork", "--print-address",
                                                option),
                                .in_child = die_with_test},
              &d->daemon);
        d->address = read_line(d->daemon.out);
        d->address[strcspn(d->address, "\n")] = '\0';
        assert_int_equal(setenv("DBUS_SESSION_BUS_ADDRESS", d->address, 1), 0);
        if (strchr(d->address, '%'))
                return;
        spawn(&(struct request){.argv = OPTIONS("python3", "-c", service, d->address),
                                .in_child = die_with_test},
              &d->service);
        await_line(d->service.out, "ready\n");
}

static void bus_end(struct desk *d) {
        _cleanup_outcome_ struct outcome o = {0}, of_service = {0};

        (void)kill(d->daemon.pid, SIGKILL);
        finish(&d->daemon, &o);
        if (d->service.pid > 0) {
                (void)kill(d->service.pid, SIGKILL);
                finish(&d->service, &of_service);
        }
        free(d->address);
        *d = (struct desk){.address = NULL};
        assert_int_equal(unsetenv("DBUS_SESSION_BUS_ADDRESS"), 0);
}

static char *usual_address(const struct site *s) {
        return text_of("unix:path=%s/bus", s->runtime);
}

static void python(const struct site *s, const char *const *options, const char *script,
                   struct outcome *ret) {
        _cleanup_free_ const char **words = words_of(options, OPTIONS("--", "python3", "-c", script));

        run_nsrun(s, ret, words);
}

/* The same script outside gets all. */
static void python_outside(const char *script, struct outcome *ret) {
        outcome_clear(ret);
        run(&(struct request){.argv = OPTIONS("python3", "-c", script)}, ret);
}

TEST(named_names_alone_are_called_and_seen) {
        static const char script[] = CLIENT
                "for n in ('org.example.One', 'org.example.Two', 'net.example.Three'):\n"
                "    print(b.call(n, 'Ping'), b.bus('NameHasOwner', n), n.encode() in b.bus('ListNames'))\n";
        const struct site *s = *state;
        _cleanup_free_ char *address = usual_address(s);
        _cleanup_outcome_ struct outcome o = {0};
        struct desk d = {.address = NULL};

        bus_begin(&d, address);
        python_outside(script, &o);
        expect_out(&o, "Ping/ 1 True\nPing/ 1 True\nPing/ 1 True\n");
        python(s, OPTIONS("--dbus", "org.example.One"), script, &o);
        expect_status(&o, 0);
        expect_out(&o, "Ping/ 1 True\nServiceUnknown 0 False\nServiceUnknown 0 False\n");
        python(s, OPTIONS("--dbus", "org.example.*", "--net=none"), script, &o);
        expect_status(&o, 0);
        expect_out(&o, "Ping/ 1 True\nPing/ 1 True\nServiceUnknown 0 False\n");
        python(s, OPTIONS("--dbus", "see=org.example.One", "--dbus", "talk=net.example.Three"), script, &o);
        expect_status(&o, 0);
        expect_out(&o, "AccessDenied 1 True\nServiceUnknown 0 False\nPing/ 1 True\n");
        /* Without the option there is no bus, where it is or elsewhere. */
        RUN(s, &o, "--env", "DBUS_SESSION_BUS_ADDRESS", "--", "python3", "-c", script);
        assert_int_equal(o.status, 1);
        bus_end(&d);
}

TEST(calls_broadcasts_and_own_names_have_rules) {
        static const char script[] = CLIENT
                "b.bus('AddMatch', \"type='signal',interface='org.example.One'\")\n"
                "print(b.call('org.example.One', 'Ping'), b.call('org.example.One', 'Shout'), "
                "b.call('org.example.One', 'Shout', path='/deep/er'), b.bus('GetId') != b'' and b.signals)\n"
                "print(b.own('org.example.Mine'), b.own('org.example.Other'))\n";
        const struct site *s = *state;
        _cleanup_free_ char *address = usual_address(s);
        _cleanup_outcome_ struct outcome o = {0};
        struct desk d = {.address = NULL};

        bus_begin(&d, address);
        python_outside(script, &o);
        expect_out(&o, "Ping/ Shout/ Shout/deep/er ['Heard', 'Heard']\n1 1\n");
        python(s, OPTIONS("--dbus", "org.example.One"), script, &o);
        expect_out(&o, "Ping/ Shout/ Shout/deep/er ['Heard', 'Heard']\nServiceUnknown ServiceUnknown\n");
        python(s,
               OPTIONS("--dbus", "call=org.example.One=org.example.One.Shout@/deep/*", "--dbus",
                       "own=org.example.Mine"),
               script, &o);
        expect_out(&o, "AccessDenied AccessDenied Shout/deep/er []\n1 ServiceUnknown\n");
        python(s,
               OPTIONS("--dbus", "call=org.example.One=org.example.One.Shout", "--dbus",
                       "broadcast=org.example.One=org.example.One.*"),
               script, &o);
        expect_in(o.out, "AccessDenied Shout/ Shout/deep/er ['Heard', 'Heard']\n");
        bus_end(&d);
}

/* By the bus itself a program sets variables of what it starts, and listens to everybody. */
TEST(the_bus_itself_obeys_no_command) {
        static const char script[] = CLIENT
                "D = '/org/freedesktop/DBus'\n"
                "print(b.call('org.freedesktop.DBus', 'UpdateActivationEnvironment', b'\\0' * 8, 'a{ss}', D), "
                "b.call('org.freedesktop.DBus', 'BecomeMonitor', b'\\0' * 8, 'asu', "
                "D, 'org.freedesktop.DBus.Monitoring'))\n";
        const struct site *s = *state;
        _cleanup_free_ char *address = usual_address(s);
        _cleanup_outcome_ struct outcome o = {0};
        struct desk d = {.address = NULL};

        bus_begin(&d, address);
        python_outside(script, &o);
        expect_out(&o, "b'' b''\n");
        python(s, OPTIONS("--dbus", "org.example.*", "--dbus", "org.freedesktop.*"), script, &o);
        expect_status(&o, 0);
        expect_out(&o, "AccessDenied AccessDenied\n");
        bus_end(&d);
}

TEST(a_bus_is_found_by_every_kind_of_address) {
        static const char ping[] = CLIENT "print(b.call('org.example.One', 'Ping'))\n",
                          hello[] = CLIENT "print(b.bus('NameHasOwner', 'org.freedesktop.DBus'))\n";
        const struct site *s = *state;
        _cleanup_free_ char *usual = usual_address(s),
                            *abstract = text_of("unix:abstract=nsrun test %d", (int)getpid()),
                            *strange = text_of("unix:path=%s/a%%20b%%2c%%3bc%%25", s->runtime),
                            *several = NULL, *spaced = replaced(abstract, " ", "%20");
        _cleanup_outcome_ struct outcome o = {0};
        struct desk d = {.address = NULL};

        bus_begin(&d, usual);
        several = text_of("tcp:host=localhost,port=1;unix:path=/nonexistent/bus,guid=00;%s", d.address);
        assert_int_equal(setenv("DBUS_SESSION_BUS_ADDRESS", several, 1), 0);
        python(s, OPTIONS("--dbus", "org.example.One"), ping, &o);
        expect_out(&o, "Ping/\n");
        /* Without an address it is where libraries look for it. */
        assert_int_equal(unsetenv("DBUS_SESSION_BUS_ADDRESS"), 0);
        python(s, OPTIONS("--dbus", "org.example.One"), ping, &o);
        expect_out(&o, "Ping/\n");
        bus_end(&d);
        bus_begin(&d, strange);
        python(s, OPTIONS("--dbus", "org.example.One"), hello, &o);
        expect_status(&o, 0);
        expect_out(&o, "1\n");
        bus_end(&d);
        bus_begin(&d, spaced);
        assert_int_equal(setenv("DBUS_SESSION_BUS_ADDRESS", spaced, 1), 0);
        python(s, OPTIONS("--dbus", "org.example.One"), hello, &o);
        expect_status(&o, 0);
        expect_out(&o, "1\n");
        bus_end(&d);
}

static void expect_refused(const struct site *s, const char *rule, const char *line) {
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--dbus", rule, "--", "true");
        expect_refusal(&o, 125, line);
}

TEST(what_cannot_be_had_is_one_line) {
        static const char *const wrong[] = {"",
                                            "org",
                                            "org.*",
                                            "org.example.One.*x",
                                            "own=a",
                                            ":1.5",
                                            "*",
                                            "a..b",
                                            "a.b\n",
                                            "call=a.b",
                                            "a.b=c.d",
                                            "see=a.1b",
                                            "call=a.b=c",
                                            "call=a.b=c.d@x",
                                            "call=a.b=@/x*y",
                                            "talk=a.b --talk=c.d"};
        const struct site *s = *state;
        _cleanup_free_ char *address = usual_address(s), *own = path_of(s->project, "bus"),
                            *at_own = text_of("unix:path=%s", own), *of_project = NULL, *path = NULL,
                            *gone = NULL, *own_proxy = NULL;
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        _cleanup_outcome_ struct outcome o = {0};
        struct desk d = {.address = NULL};

        if (!has_program("xdg-dbus-proxy"))
                skip_because("xdg-dbus-proxy is missing");
        for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
                RUN(s, &o, "--dbus", wrong[i], "--", "true");
                assert_int_equal(o.status, 125);
                expect_in(o.err, "--dbus: not a rule");
                assert_true(is_one_line(o.err));
        }
        expect_refused(s, "a..b",
                       "nsrun: --dbus: not a rule: a..b; give a name of the bus (org.example.Name, "
                       "org.example.*), own=NAME, see=NAME, call=NAME=INTERFACE.METHOD@/PATH or "
                       "broadcast=NAME=...; see 'nsrun run --help'");
        expect_refused(s, "org.freedesktop.DBus",
                       "nsrun: --dbus: the bus itself: org.freedesktop.DBus; name the services; what a "
                       "client needs of the bus it always has; see 'nsrun run --help'");
        expect_refused(
                s, "own=org.freedesktop.DBus.*",
                "nsrun: --dbus: the bus itself: own=org.freedesktop.DBus.*; name the services; what a "
                "client needs of the bus it always has; see 'nsrun run --help'");
        assert_int_equal(unsetenv("DBUS_SESSION_BUS_ADDRESS"), 0);
        expect_refused(s, "org.example.One",
                       "nsrun: --dbus: no session bus is running: DBUS_SESSION_BUS_ADDRESS isn't set; start "
                       "nsrun from the desktop's session, or with dbus-run-session");
        assert_int_equal(setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent/bus", 1), 0);
        expect_refused(s, "org.example.One",
                       "nsrun: --dbus: no session bus listens at a socket of this host: "
                       "unix:path=/nonexistent/bus; start nsrun from the desktop's session, or with "
                       "dbus-run-session");
        assert_int_equal(setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/x%0", 1), 0);
        expect_refused(s, "org.example.One",
                       "nsrun: --dbus: DBUS_SESSION_BUS_ADDRESS isn't an address of a bus: unix:path=/x%0; "
                       "it is as unix:path=/run/user/1000/bus");
        /* A socket of the command's own. */
        (void)snprintf(at.sun_path, sizeof(at.sun_path), "%s", own);
        assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
        assert_int_equal(listen(fd, 1), 0);
        assert_int_equal(setenv("DBUS_SESSION_BUS_ADDRESS", at_own, 1), 0);
        of_project =
                text_of("nsrun: what --dbus would show lies in a writable folder, where a command could "
                        "change it: %s; keep it outside of what a command may write",
                        own);
        expect_refused(s, "org.example.One", of_project);

        bus_begin(&d, address);
        RUN(s, &o, "--dbus", "org.example.One", "--uid", "4711", "--", "true");
        expect_refusal(&o, 125,
                       "nsrun: --dbus: the bus lets nobody in who is another user inside; leave --uid out");
        path = strdup(getenv("PATH"));
        gone = text_of("%s:/nonexistent", s->outside);
        /* One that isn't the system's is none. */
        make_file(s->outside, "xdg-dbus-proxy", "#!/bin/sh\n");
        own_proxy = path_of(s->outside, "xdg-dbus-proxy");
        assert_int_equal(chmod(own_proxy, 0755), 0);
        assert_int_equal(setenv("PATH", gone, 1), 0);
        RUN(s, &o, "--dbus", "org.example.One", "--", "/bin/true");
        assert_int_equal(setenv("PATH", path, 1), 0);
        expect_refusal(&o, 125,
                       "nsrun: --dbus: the host has no xdg-dbus-proxy in a folder of PATH that is root's; "
                       "install the package xdg-dbus-proxy");
        bus_end(&d);
}

TEST(plans_say_what_is_given_away) {
        const struct site *s = *state;
        _cleanup_free_ char *address = usual_address(s), *socket_line = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        struct desk d = {.address = NULL};

        bus_begin(&d, address);
        NSRUN_IN(NULL, &o, "plan", "--project", s->project, "--dbus", "org.example.One", "--dbus",
                 "org.freedesktop.*", "--dbus", "own=org.example.Mine", "--dbus", "see=a.b", "--dbus",
                 "broadcast=c.d=c.d.*", "--", "true");
        bus_end(&d);
        if (in_a_session() || by_the_library())
                skip_because("this is about the nsrun program itself");
        expect_status(&o, 0);
        expect_in(o.out,
                  "gives away  --dbus: calls to org.example.One, org.freedesktop.* on the session bus: "
                  "what these programs do for any caller they do as you, outside of the sandbox\n");
        expect_in(o.out, "gives away  --dbus: org.freedesktop.* starts any program as you, outside of the "
                         "sandbox: with it this is no boundary\n");
        expect_not_in(o.out, "org.example.One starts");
        expect_in(o.out, "gives away  --dbus: the name org.example.Mine on the session bus: the command "
                         "answers whoever calls it, and may call who has it\n");
        expect_in(o.out, "gives away  --dbus: whether a.b runs\n");
        expect_in(o.out, "gives away  --dbus: what c.d tells all on the session bus\n");
        socket_line = text_of("  socket   /run/user/%u/bus", (unsigned)getuid());
        expect_in(o.out, socket_line);
        expect_in(o.out, "xdg-dbus-proxy listens there, on the host's side\n");
}

TEST(a_configuration_says_the_same) {
        static const char script[] =
                CLIENT "print(b.call('org.example.One', 'Ping'), b.call('org.example.Two', 'Ping'))\n";
        const struct site *s = *state;
        _cleanup_free_ char *address = usual_address(s), *config = path_of(s->outside, "c.json");
        _cleanup_outcome_ struct outcome o = {0}, wrong = {0};
        struct desk d = {.address = NULL};

        bus_begin(&d, address);
        make_file(s->outside, "c.json",
                  "{\"version\": 1, \"dbus\": [\"call=org.example.One=*\", \"see=org.example.Two\"]}");
        python(s, OPTIONS("--config", config), script, &o);
        expect_status(&o, 0);
        expect_out(&o, "Ping/ AccessDenied\n");
        make_file(s->outside, "c.json", "{\"version\": 1, \"dbus\": [\"org\"]}");
        RUN(s, &wrong, "--config", config, "--", "true");
        assert_int_equal(wrong.status, 125);
        expect_in(wrong.err, "not a rule: org;");
        bus_end(&d);
}

/* ------------------------------------------------------------------- its life */

TEST(a_session_has_the_proxy_for_its_life) {
        static const char script[] =
                CLIENT "print(b.call('org.example.One', 'Ping'), b.call('org.example.Two', 'Ping'))\n";
        const struct site *s = *state;
        _cleanup_free_ char *address = usual_address(s), *id = NULL;
        _cleanup_outcome_ struct outcome stopped = {0}, o = {0};
        struct desk d = {.address = NULL};

        if (in_a_session() || by_the_library())
                skip_because("this is about the nsrun program itself");
        bus_begin(&d, address);
        id = START(s, "--dbus", "org.example.One");
        for (int i = 0; i < 2; i++)
                JOIN(s, id, &o, "--", "python3", "-c", script);
        SESSION(s, &stopped, "stop", id);
        expect_status(&o, 0);
        expect_out(&o, "Ping/ ServiceUnknown\n");
        bus_end(&d);
        collect_orphans();
}

/* Looks at the proxy, kills it, then nsrun, with a command that has a connection all the while. */
TEST(the_proxy_is_confined_and_its_end_is_the_buss) {
        static const char script
                [] = CLIENT "print('in', flush=True)\n"
                            "sys.stdin.readline()\n"
                            "try: b.bus('GetId'); print('open')\n"
                            "except OSError: print('closed')\n"
                            "except EOFError: print('closed')\n"
                            "try: Bus(os.environ['DBUS_SESSION_BUS_ADDRESS']); print('open')\n"
                            "except OSError as e: print(e.strerror, flush=True)\n"
                            "sys.stdin.readline()\n",
          look[] =
                  "for p in /proc/[0-9]*; do grep -q \"^PPid:.$1$\" $p/status 2>/dev/null && "
                  "tr '\\0' ' ' <$p/cmdline | grep -q '^/[^ ]*/xdg-dbus-proxy --fd=3 ' && { "
                  "grep -E '^(Seccomp|NoNewPrivs|CapEff):' $p/status; ls $p/fd | sort -n | "
                  "head -4 | tr '\\n' ' '; awk '/Max data/ { print $4 }' $p/limits; kill -9 ${p#/proc/}; }; done; :";
        const struct site *s = *state;
        _cleanup_free_ char *address = usual_address(s), *pid = NULL;
        _cleanup_outcome_ struct outcome o = {0}, killed = {0};
        const char **argv =
                nsrun_argv(s, OPTIONS("--dbus", "org.example.One", "--", "python3", "-c", script));
        struct desk d = {.address = NULL};
        struct running running;
        int pipe_fds[2];

        if (in_a_session() || by_the_library())
                skip_because("this is about the nsrun program itself");
        bus_begin(&d, address);
        assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
        spawn(&(struct request){.argv = argv, .cwd = s->root, .standard_input = pipe_fds[0]}, &running);
        await_line(running.out, "in\n");
        pid = text_of("%d", (int)running.pid);
        run(&(struct request){.argv = OPTIONS("sh", "-c", look, "sh", pid)}, &o);
        expect_in(o.out, "CapEff:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n0 1 2 3 268435456\n");
        assert_int_equal(write(pipe_fds[1], "\n", 1), 1);
        await_line(running.out, "closed\n");
        await_line(running.out, "Connection refused\n");
        (void)kill(running.pid, SIGKILL);
        finish(&running, &killed);
        (void)close(pipe_fds[0]);
        (void)close(pipe_fds[1]);
        free(argv);
        bus_end(&d);
        collect_orphans();
}

/* finish() and the teardown wait for nothing that is left: the proxy ends with nsrun. */
TEST(the_proxy_ends_when_nsrun_is_killed) {
        static const char script[] = CLIENT "print('in', flush=True)\nsys.stdin.readline()\n";
        const struct site *s = *state;
        _cleanup_free_ char *address = usual_address(s);
        _cleanup_outcome_ struct outcome killed = {0};
        const char **argv =
                nsrun_argv(s, OPTIONS("--dbus", "org.example.One", "--", "python3", "-c", script));
        struct desk d = {.address = NULL};
        struct running running;
        int pipe_fds[2];

        if (in_a_session() || by_the_library())
                skip_because("this is about the nsrun program itself");
        bus_begin(&d, address);
        assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
        spawn(&(struct request){.argv = argv, .cwd = s->root, .standard_input = pipe_fds[0]}, &running);
        await_line(running.out, "in\n");
        (void)kill(running.pid, SIGKILL);
        finish(&running, &killed);
        (void)close(pipe_fds[0]);
        (void)close(pipe_fds[1]);
        free(argv);
        bus_end(&d);
        collect_orphans();
}

/* As a session bus's own library speaks: GLib's. */
FULL_TEST(glib_finds_the_bus, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *address = usual_address(s);
        _cleanup_outcome_ struct outcome o = {0};
        struct desk d = {.address = NULL};

        if (!has_program("gdbus"))
                skip_because("there is no gdbus");
        bus_begin(&d, address);
        RUN(s, &o, "--dbus", "org.example.One", "--", "gdbus", "call", "--session", "--dest",
            "org.example.One", "--object-path", "/x", "--method", "org.example.One.Ping");
        bus_end(&d);
        expect_status(&o, 0);
        expect_out(&o, "('Ping/x',)\n");
}

int main(void) {
        return run_all_tests();
}

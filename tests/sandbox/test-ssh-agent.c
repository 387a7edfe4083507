/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --ssh-agent: which keys a command can list and have sign, what is refused, a person asked before each
 * signature; and attacks on the filter from both of its sides. */
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "session.h"
#include "talk.h"

/* An agent in Python, so that what it answers is the test's: keys "one" and "two" whose blobs are their
 * names, signatures that are "signed NAME", and other behaviour by its mode. */
static const char fake_agent[] =
        "import os, socket, struct, sys\n"
        "mode = sys.argv[2]\n"
        "def s(b): return struct.pack('>I', len(b)) + b\n"
        "def read(c, n):\n"
        "    b = b''\n"
        "    while len(b) < n:\n"
        "        more = c.recv(n - len(b))\n"
        "        if not more: raise EOFError\n"
        "        b += more\n"
        "    return b\n"
        "keys = [(b'one', b'one'), (b'two', b'two')]\n"
        "if mode == 'forged': keys = [(b'one', b'\\x1b[2J\\x07one\\n\\xe2\\x80\\xae')]\n"
        "l = socket.socket(socket.AF_UNIX)\n"
        "l.bind(sys.argv[1])\n"
        "l.listen(9)\n"
        "print('ready', flush=True)\n"
        "while True:\n"
        "    c, _ = l.accept()\n"
        "    lists = 0\n"
        "    try:\n"
        "        while True:\n"
        "            m = read(c, struct.unpack('>I', read(c, 4))[0])\n"
        "            if m[0] == 11:\n"
        "                lists += 1\n"
        "                a = b'\\x0c' + struct.pack('>I', len(keys)) + b''.join(s(k) + s(t) for k, t in keys)\n"
        "                if mode == 'nonsense' or (mode == 'later' and lists > 1): a = b'\\x0c\\xff\\xff\\xff\\xff'\n"
        "                if mode == 'huge' and lists > 1:\n"
        "                    c.sendall(struct.pack('>I', 1 << 30) + b'x' * 65536)\n"
        "                    continue\n"
        "                c.sendall(s(a))\n"
        "            elif m[0] == 13:\n"
        "                n = struct.unpack('>I', m[1:5])[0]\n"
        "                if mode == 'dies':\n"
        "                    c.sendall(struct.pack('>I', 100) + b'half')\n"
        "                    os._exit(0)\n"
        "                c.sendall(s(b'\\x0e' + s(b'signed ' + m[5:5 + n])))\n"
        "            else:\n"
        "                print('REACHED', m[0], flush=True)\n"
        "                c.sendall(s(b'\\x06'))\n"
        "    except (EOFError, OSError): pass\n"
        "    c.close()\n";

/* What a client of the tests begins with. */
#define CLIENT                                                                      \
        "import os, socket, struct, sys\n"                                          \
        "P = os.environ['SSH_AUTH_SOCK']\n"                                         \
        "def s(b): return struct.pack('>I', len(b)) + b\n"                          \
        "def new():\n"                                                              \
        "    c = socket.socket(socket.AF_UNIX); c.connect(P); return c\n"           \
        "def read(c, n):\n"                                                         \
        "    b = b''\n"                                                             \
        "    while len(b) < n:\n"                                                   \
        "        more = c.recv(n - len(b))\n"                                       \
        "        if not more: raise EOFError\n"                                     \
        "        b += more\n"                                                       \
        "    return b\n"                                                            \
        "def call(c, b):\n"                                                         \
        "    c.sendall(s(b)); return read(c, struct.unpack('>I', read(c, 4))[0])\n" \
        "def sign(k): return b'\\x0d' + s(k) + s(b'data') + b'\\0\\0\\0\\0'\n"

struct desk {
        const struct site *site;
        struct running agent;
        char *socket;
};

static void agent_begin(struct desk *d, const struct site *s, const char *mode) {
        const char *argv[] = {"python3", "-c", fake_agent, NULL, mode, NULL};

        if (!has_program("python3"))
                skip_because("there is no python3");
        *d = (struct desk){.site = s, .socket = path_of(s->runtime, "agent.sock")};
        argv[3] = d->socket;
        spawn(&(struct request){.argv = argv, .in_child = die_with_test}, &d->agent);
        await_line(d->agent.out, "ready\n");
        assert_int_equal(setenv("SSH_AUTH_SOCK", d->socket, 1), 0);
}

/* What the agent printed, for the caller to free. */
static char *agent_end(struct desk *d) {
        struct outcome o = {0};
        char *text;

        (void)kill(d->agent.pid, SIGKILL);
        finish(&d->agent, &o);
        text = o.out;
        free(o.err);
        free(d->socket);
        assert_int_equal(unsetenv("SSH_AUTH_SOCK"), 0);
        return text;
}

static void python(const struct site *s, const char *const *options, const char *script,
                   struct outcome *ret) {
        _cleanup_free_ const char **words = words_of(options, OPTIONS("--", "python3", "-c", script));

        run_nsrun(s, ret, words);
}

TEST(listed_keys_alone_are_shown_and_sign) {
        static const char script[] = CLIENT "c = new()\n"
                                            "a = call(c, b'\\x0b')\n"
                                            "print(a[0], a[1:])\n"
                                            "print(call(c, sign(b'one')), call(c, sign(b'two')))\n"
                                            "print(call(new(), sign(b'three')))\n";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *said = NULL;
        struct desk d;

        agent_begin(&d, s, "plain");
        python(s, OPTIONS("--ssh-agent", "one"), script, &o);
        expect_status(&o, 0);
        expect_out(&o, "12 b'\\x00\\x00\\x00\\x01\\x00\\x00\\x00\\x03one\\x00\\x00\\x00\\x03one'\n"
                       "b'\\x0e\\x00\\x00\\x00\\nsigned one' b'\\x05'\nb'\\x05'\n");
        /* By what ssh-add -l prints: of the blob "two". */
        python(s, OPTIONS("--ssh-agent", "SHA256:P8TM/nRYcOLA2Z9x8w/wZWyN7dQcwdfT03aw2+aF4vM", "--net=none"),
               script, &o);
        expect_status(&o, 0);
        expect_in(o.out, "two\\x00\\x00\\x00\\x03two'\nb'\\x05' b'\\x0e");
        python(s, OPTIONS("--ssh-agent", "all"), script, &o);
        expect_status(&o, 0);
        expect_in(o.out, "signed one' b'\\x0e\\x00\\x00\\x00\\nsigned two'\nb'\\x05'\n");
        said = agent_end(&d);
        assert_string_equal(said, "");
}

/* Of ssh's own files what says where hosts are and which keys they have; new ones can be added. */
TEST(hosts_that_the_user_knows_are_known_inside) {
        static const char config
                [] = "Host h\nHostName h.example.org\nProxyCommand touch ran\nIdentityFile ~/.ssh/id\n"
                     "Match exec \"touch ran\"\nUser evil\nInclude more\n",
          look[] = "cd ~/.ssh && ls -A && cat config known_hosts2 && echo x >>known_hosts && "
                   "{ ! command -v ssh >/dev/null || ssh -G h | grep -i '^hostname\\|^user \\|^proxyc'; }";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0}, none = {0};
        _cleanup_free_ char *folder = path_of(s->home, ".ssh"), *said = NULL, *hosts = NULL,
                            *ran = path_of(s->project, "ran"), *file = path_of(folder, "known_hosts");
        struct desk d;

        make_folder(s->home, ".ssh");
        make_file(folder, "config", config);
        make_file(folder, "more", "Host h\nUser evil\n");
        make_file(folder, "id", "secret\n");
        make_file(folder, "known_hosts", "h ssh-ed25519 AAAA me\nevil\n");
        agent_begin(&d, s, "plain");
        RUN(s, &o, "--ssh-agent", "one", "--", "sh", "-c", look);
        expect_status(&o, 0);
        expect_in(o.out, "config\nknown_hosts2\nHost h\nHostName h.example.org\nh ssh-ed25519 AAAA\n");
        if (has_program("ssh"))
                expect_in(o.out, "\nhostname h.example.org\n");
        expect_not_in(o.out, "evil");
        expect_not_in(o.out, "ran");
        RUN(s, &none, "--", "sh", "-c", "ls -A ~/.ssh");
        expect_out(&none, "");
        said = agent_end(&d);
        assert_string_equal(said, "");
        assert_int_equal(access(ran, F_OK), -1);
        hosts = file_text(file);
        assert_string_equal(hosts, "h ssh-ed25519 AAAA me\nevil\n");
}

/* Keys added and removed, locks, smartcards, extensions as session-bind@openssh.com: none gets to the agent.
 */
TEST(nothing_else_gets_to_the_agent) {
        static const char script[] = CLIENT
                "c = new()\n"
                "bad = [t for t in range(256) for body in (b'', s(b'session-bind@openssh.com') + b'x' * 99, "
                "s(b'one') + s(b'data') + b'\\0\\0\\0', s(b'one') + s(b'data') + b'\\0\\0\\0\\0\\0')\n"
                "    if (t, body) != (11, b'') and call(c, bytes([t]) + body) != b'\\x05']\n"
                "print(bad, call(c, b'\\x0b')[0])\n";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *said = NULL;
        struct desk d;

        agent_begin(&d, s, "plain");
        python(s, OPTIONS("--ssh-agent", "all"), script, &o);
        expect_status(&o, 0);
        expect_out(&o, "[] 12\n");
        said = agent_end(&d);
        assert_string_equal(said, "");
}

/* Lengths that lie, messages that never end, 1,000 connections that say nothing. */
TEST(a_hostile_client_harms_itself) {
        static const char script[] = CLIENT
                "def ends(b):\n"
                "    c = new(); c.sendall(b)\n"
                "    try: return c.recv(1) == b''\n"
                "    except ConnectionResetError: return True\n"
                "print([ends(b) for b in (b'\\0\\0\\0\\0', b'\\xff\\xff\\xff\\xff', b'\\0\\x04\\0\\x01' + b'x' * "
                "9)])\n"
                "slow = new(); slow.sendall(b'\\0\\x04\\0\\0' + b'x' * 1000)\n"
                "idle = []\n"
                "for i in range(1000):\n"
                "    idle.append(new())\n"
                "    if i % 9 == 0: idle[-1].sendall(b'\\0\\0')\n"
                "    if i % 100 == 0: idle[-1].sendall(s(sign(b'one'))); idle[-1].close()\n"
                "print(call(new(), sign(b'one')))\n"
                "c = new(); c.sendall(s(b'\\x0b') * 5000)\n"
                "print(sum(read(c, struct.unpack('>I', read(c, 4))[0])[0] for i in range(5000)))\n"
                "print(len(call(new(), b'\\x0d' + s(b'one') + s(b'd' * 262000) + b'\\0\\0\\0\\0')))\n";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *said = NULL;
        struct desk d;

        agent_begin(&d, s, "plain");
        python(s, OPTIONS("--ssh-agent", "one"), script, &o);
        expect_status(&o, 0);
        expect_out(&o, "[True, True, True]\nb'\\x0e\\x00\\x00\\x00\\nsigned one'\n60000\n15\n");
        said = agent_end(&d);
        assert_string_equal(said, "");
}

/* An agent that dies in the middle of an answer, answers nonsense, or without end: a failure, and no hang.
 */
TEST(an_agent_that_fails_is_a_failure) {
        static const char script[] =
                CLIENT "c = new()\n"
                       "print(call(c, sign(b'one')), call(c, b'\\x0b'), call(new(), sign(b'one')))\n";
        static const char *const modes[] = {"dies", "huge", "later"};
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
                _cleanup_outcome_ struct outcome o = {0};
                _cleanup_free_ char *said = NULL;
                struct desk d;

                agent_begin(&d, s, modes[i]);
                python(s, OPTIONS("--ssh-agent", "one"), script, &o);
                expect_status(&o, 0);
                expect_out(&o, "b'\\x05' b'\\x05' b'\\x05'\n");
                assert_int_equal(unlink(d.socket), 0);
                said = agent_end(&d);
        }
}

TEST(what_cannot_be_had_is_one_line) {
        const struct site *s = *state;
        _cleanup_free_ char *file = path_of(s->outside, "file"), *said = NULL, *nonsense = NULL,
                            *missing = NULL, *no_socket = NULL, *planted = NULL,
                            *own = path_of(s->project, "a"), *of_project = NULL;
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        _cleanup_outcome_ struct outcome o = {0};
        struct desk d;

        assert_int_equal(unsetenv("SSH_AUTH_SOCK"), 0);
        RUN(s, &o, "--ssh-agent", "one", "--", "true");
        expect_refusal(&o, 125,
                       "nsrun: --ssh-agent: no agent is running: SSH_AUTH_SOCK isn't set; start one: eval "
                       "\"$(ssh-agent)\" && ssh-add");
        make_file(s->outside, "file", "");
        assert_int_equal(setenv("SSH_AUTH_SOCK", file, 1), 0);
        no_socket = text_of("nsrun: --ssh-agent: SSH_AUTH_SOCK names no socket: %s; start an agent: eval "
                            "\"$(ssh-agent)\" && ssh-add",
                            file);
        RUN(s, &o, "--ssh-agent", "one", "--", "true");
        expect_refusal(&o, 125, no_socket);
        /* A socket of the command's own, or a link of its to the user's. */
        (void)snprintf(at.sun_path, sizeof(at.sun_path), "%s", own);
        assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
        assert_int_equal(setenv("SSH_AUTH_SOCK", own, 1), 0);
        of_project = text_of(
                "nsrun: what --ssh-agent would show lies in a writable folder, where a command could "
                "change it: %s; keep it outside of what a command may write",
                own);
        RUN(s, &o, "--ssh-agent", "one", "--", "true");
        expect_refusal(&o, 125, of_project);

        agent_begin(&d, s, "plain");
        missing = text_of(
                "nsrun: --ssh-agent: the agent hasn't all the keys that are named: %s; 'ssh-add -l' lists "
                "them, with their SHA256: and their comments",
                "one, three");
        RUN(s, &o, "--ssh-agent", "one", "--ssh-agent", "three", "--", "true");
        expect_refusal(&o, 125, missing);
        RUN(s, &o, "--ssh-agent", "one", "--ssh-agent", "all", "--", "true");
        expect_refusal(
                &o, 125,
                "nsrun: --ssh-agent: all keys and some of them; leave 'all' out, or the keys that are "
                "named");
        RUN(s, &o, "--ssh-agent", "", "--", "true");
        expect_refusal(&o, 125,
                       "nsrun: --ssh-agent: not a key; give SHA256:... as 'ssh-add -l' prints it, a key's "
                       "comment, ask or all; see 'nsrun run --help'");
        make_link(s->project, "link", d.socket);
        planted = path_of(s->project, "link");
        assert_int_equal(setenv("SSH_AUTH_SOCK", planted, 1), 0);
        RUN(s, &o, "--ssh-agent", "one", "--", "true");
        assert_int_equal(o.status, 125);
        expect_in(o.err, "symlink");
        assert_int_equal(unlink(d.socket), 0);
        said = agent_end(&d);

        free(said);
        agent_begin(&d, s, "nonsense");
        nonsense =
                text_of("nsrun: --ssh-agent: what listens there doesn't answer as an SSH agent: %s; look at "
                        "SSH_AUTH_SOCK, and at 'ssh-add -l'",
                        d.socket);
        RUN(s, &o, "--ssh-agent", "all", "--", "sh", "-c", "echo started");
        /* A list that promises more than it has is still a list; the key is not in it. */
        RUN(s, &o, "--ssh-agent", "one", "--", "true");
        assert_int_equal(o.status, 125);
        assert_true(is_one_line(o.err));
        said = agent_end(&d);
}

/* ---------------------------------------------------------------- a person asked */

static void talk_with(struct talk *t, const struct site *s, const char *script) {
        talk_begin(t, s, OPTIONS("--ssh-agent", "ask", "--", "python3", "-c", script));
}

static void talk_answer(struct talk *t, const char *key, const char *with) {
        _cleanup_free_ char *shown =
                text_of("nsrun: a program wants a signature by the SSH key %s (SHA256:", key);

        await(t, shown);
        talk_answer_to(t, ").\r\nnsrun: Sign this once? [", with);
}

TEST(a_person_is_asked_before_each_signature) {
        static const char script[] = CLIENT "c = new()\n"
                                            "for k in (b'one', b'two', b'one', b'two', b'one'):\n"
                                            "    print(call(c, sign(k))[0], flush=True)\n";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0}, nobody = {0};
        _cleanup_free_ char *said = NULL;
        struct desk d;
        struct talk t;

        if (in_a_session() || by_the_library())
                skip_because("this is about the nsrun program itself");
        agent_begin(&d, s, "plain");
        talk_with(&t, s, script);
        talk_answer(&t, "one", NULL);
        await(&t, "nsrun: signed\r\n");
        talk_answer(&t, "two", "n\n");
        await(&t, "nsrun: refused\r\n");
        talk_answer(&t, "one", NULL);
        talk_answer(&t, "two", "q\n");
        await(&t, "nsrun: refused, and so is every other signature\r\n");
        end_talk_alone(&t, &o);
        expect_status(&o, 0);
        expect_out(&o, "14\n5\n14\n5\n5\n");
        /* Where nobody is, nothing starts. */
        run(&(struct request){.argv = OPTIONS("setsid", "-w", program(), "run", "--project", s->project,
                                              "--ssh-agent", "ask", "--", "echo", "started")},
            &nobody);
        expect_refusal(
                &nobody, 125,
                "nsrun: nobody can be asked about signatures; --ssh-agent=ask asks on the terminal, and "
                "there is none: name the keys that may sign without");
        said = agent_end(&d);
        assert_string_equal(said, "");
}

/* Whoever adds a key chooses its comment: at the question it draws nothing. */
TEST(a_forged_comment_draws_nothing) {
        static const char script[] = CLIENT "print(call(new(), sign(b'one'))[0])\n";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *said = NULL;
        struct desk d;
        struct talk t;

        if (in_a_session() || by_the_library())
                skip_because("this is about the nsrun program itself");
        agent_begin(&d, s, "forged");
        talk_with(&t, s, script);
        talk_answer(&t, "?[2J?one????", "n\n");
        end_talk_alone(&t, &o);
        assert_null(strchr(t.text, '\x1b'));
        expect_out(&o, "5\n");
        said = agent_end(&d);
}

/* The client goes while a person is asked: the answer is nobody's, and the next request is served. */
TEST(a_client_that_goes_while_a_person_is_asked) {
        static const char script[] = CLIENT "c = new(); c.sendall(s(sign(b'one'))); c.close()\n"
                                            "print(call(new(), sign(b'two'))[0])\n";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *said = NULL;
        struct desk d;
        struct talk t;

        if (in_a_session() || by_the_library())
                skip_because("this is about the nsrun program itself");
        agent_begin(&d, s, "plain");
        talk_with(&t, s, script);
        /* The first is asked about if the filter saw it before its client was gone. */
        await(&t, "nsrun: a program wants a signature by the SSH key ");
        t.seen -= strlen("nsrun: a program wants a signature by the SSH key ");
        if (strstr(t.text + t.seen, "key one")) {
                talk_answer(&t, "one", NULL);
        }
        talk_answer(&t, "two", NULL);
        end_talk_alone(&t, &o);
        expect_out(&o, "14\n");
        said = agent_end(&d);
}

/* ------------------------------------------------------------------- its life */

TEST(a_session_has_the_filter_for_its_life) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome stopped = {0}, o = {0}, ask = {0};
        _cleanup_free_ char *id = NULL, *said = NULL;
        struct desk d;

        if (in_a_session() || by_the_library())
                skip_because("this is about the nsrun program itself");
        agent_begin(&d, s, "plain");
        id = START(s, "--ssh-agent", "one");
        for (int i = 0; i < 2; i++)
                JOIN(s, id, &o, "--", "python3", "-c",
                     CLIENT "print(call(new(), sign(b'one'))[0], "
                            "call(new(), sign(b'two'))[0])");
        SESSION(s, &stopped, "stop", id);
        expect_status(&o, 0);
        expect_out(&o, "14 5\n");
        NSRUN_IN(s->root, &ask, "session", "start", "--project", s->project, "--ssh-agent", "ask");
        expect_refusal(
                &ask, 125,
                "nsrun: nobody can be asked about signatures; only 'nsrun run' asks (--ssh-agent=ask), at "
                "its terminal: name the keys that may sign without");
        said = agent_end(&d);
        collect_orphans();
}

/* What the filter can do: nothing but move bytes. */
TEST(the_filter_is_confined_and_dies_with_nsrun) {
        static const char look[] =
                "for p in /proc/[0-9]*; do "
                "tr '\\0' ' ' <$p/cmdline 2>/dev/null | grep -q '^nsrun-net ssh-agent' && "
                "grep -E '^(Seccomp|NoNewPrivs|CapEff):' $p/status; done; :";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0}, killed = {0};
        _cleanup_free_ char *said = NULL;
        const char **argv =
                nsrun_argv(s, OPTIONS("--ssh-agent", "all", "--", "sh", "-c", "echo in; read x"));
        struct running running;
        struct desk d;
        int pipe_fds[2];

        if (in_a_session() || by_the_library())
                skip_because("this is about the nsrun program itself");
        agent_begin(&d, s, "plain");
        assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
        spawn(&(struct request){.argv = argv, .cwd = s->root, .standard_input = pipe_fds[0]}, &running);
        await_line(running.out, "in\n");
        run(&(struct request){.argv = OPTIONS("sh", "-c", look)}, &o);
        expect_in(o.out, "CapEff:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n");
        (void)kill(running.pid, SIGKILL);
        finish(&running, &killed);
        (void)close(pipe_fds[0]);
        (void)close(pipe_fds[1]);
        free(argv);
        said = agent_end(&d);
        collect_orphans();
}

/* OpenSSH's own programs on both sides. */
FULL_TEST(openssh_lists_and_signs, site_setup, site_teardown) {
        static const char script[] =
                "cd $ROOT/outside && ssh-keygen -q -t ed25519 -N '' -C one -f k1 && ssh-keygen -q -t ecdsa -N '' -C "
                "two -f k2 && ssh-keygen -q -t rsa -b 2048 -N '' -C three -f k3 && cp k1.pub k2.pub k3.pub "
                "$ROOT/project && ssh-add -q k1 k2 k3 && cd $ROOT/project && echo text >text && "
                "$NSRUN run --ssh-agent one --ssh-agent three -- sh -c '\n"
                "  ssh-add -l | cut -d\" \" -f3,4\n"
                "  for k in k1 k2 k3; do ssh-keygen -q -Y sign -f $k.pub -n file <text >$k.sig 2>/dev/null && echo "
                "$k; done\n"
                "  ssh-add -q -D 2>/dev/null || echo kept\n"
                "  ssh-add -q -d k1.pub 2>/dev/null || echo kept'\n"
                "for k in k1 k3; do ssh-keygen -q -Y check-novalidate -n file -s $k.sig <text >/dev/null && echo good "
                "$k; done; ssh-add -l | wc -l; ssh-keygen -q -Y sign -f k2.pub -n file <text >k2.sig && echo outside";
        const struct site *s = *state;
        _cleanup_free_ char *with_root = replaced(script, "$ROOT", s->root),
                            *whole = replaced(with_root, "$NSRUN", program());
        _cleanup_outcome_ struct outcome o = {0};

        struct running agent;
        _cleanup_outcome_ struct outcome ended = {0};
        _cleanup_free_ char *socket_path = path_of(s->runtime, "agent.sock"), *line = NULL;

        if (!has_program("ssh-agent"))
                skip_because("there is no ssh-agent");
        spawn(&(struct request){.argv = OPTIONS("ssh-agent", "-D", "-a", socket_path)}, &agent);
        line = read_line(agent.out);
        assert_int_equal(setenv("SSH_AUTH_SOCK", socket_path, 1), 0);
        run(&(struct request){.argv = OPTIONS("sh", "-c", whole), .cwd = s->root}, &o);
        assert_int_equal(unsetenv("SSH_AUTH_SOCK"), 0);
        (void)kill(agent.pid, SIGTERM);
        finish(&agent, &ended);
        expect_status(&o, 0);
        expect_out(&o, "one (ED25519)\nthree (RSA)\nk1\nk3\nkept\nkept\ngood k1\ngood k3\n3\noutside\n");
}

/* A user who has commits signed: by the agent and the key's public half; else a note, in a repository alone.
 */
TEST(commits_are_signed_by_an_agent) {
        static const char script[] =
                "set -e; cd ~/project; git init -q .; mkdir -p ~/.ssh; ssh-keygen -q -t ed25519 -N '' -C me -f ~/.ssh/k\n"
                "eval \"$(ssh-agent)\" >/dev/null; trap 'ssh-agent -k >/dev/null' EXIT; ssh-add -q ~/.ssh/k\n"
                "git config --global user.name J; git config --global user.email j@x; git config --global gpg.format ssh\n"
                "git config --global commit.gpgSign true; git config --global tag.gpgSign true\n"
                "git config --global gpg.ssh.allowedSignersFile ~/signers; echo \"j@x $(cat ~/.ssh/k.pub)\" >~/signers\n"
                "for key in '~/.ssh/k' ~/.ssh/k.pub \"key::$(cat ~/.ssh/k.pub)\" \"$(cat ~/.ssh/k.pub)\"; do\n"
                "  git config --global user.signingKey \"$key\"\n"
                "  \"$NSRUN_PROGRAM\" run --ssh-agent=all -- sh -c 'git commit -q --allow-empty -m x; git tag -m t t; "
                "test ! -e ~/.ssh' 2>&1\n"
                "  git log -1 --format=%G?; git tag -v t >/dev/null 2>&1; git tag -d t >/dev/null\n"
                "done";
        static const struct {
                const char *config, *option, *note;
        } cases[] = {
                {"[gpg]\nformat=ssh\n", NULL, "no agent: --ssh-agent KEY, as ssh-add -l lists it"},
                {"", NULL, "no agent: --gpg-agent"},
                {"[gpg]\nformat=ssh\n", "--ssh-agent=all", "user.signingKey isn't"},
                {"[gpg]\nformat=ssh\n[user]\nsigningKey=~/k\n", "--ssh-agent=all",
                 "user.signingKey names no public key"},
                {"[gpg]\nformat=x509\n", "--ssh-agent=all", "gpg.format is neither ssh nor openpgp"},
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *said = NULL, *whole = NULL;
        struct desk d;

        make_folder(s->project, ".git");
        make_file(s->home, "k", "-----BEGIN OPENSSH PRIVATE KEY-----\nsecret\n");
        make_file(s->home, "k.pub", "ssh-ed25519 secret\n");
        agent_begin(&d, s, "plain");
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                for (unsigned j = 0; j < 3; j++) {
                        _cleanup_free_ char *config = text_of("%s[commit]\ngpgSign=true\n", cases[i].config),
                                            *note = text_of("nsrun: note: commits are not signed here: "
                                                            "commit.gpgsign is set, and %s\n",
                                                            cases[i].note);

                        make_file(s->home, ".gitconfig", config);
                        make_file(s->project, ".git/config", j == 1 ? "[commit]\ngpgSign=false\n" : "");
                        if (j == 2)
                                RUN(s, &o, "--no-project", "--", "cat", "/etc/gitconfig");
                        else if (cases[i].option)
                                RUN(s, &o, cases[i].option, "--", "cat", "/etc/gitconfig");
                        else
                                RUN(s, &o, "--", "cat", "/etc/gitconfig");
                        expect_not_in(o.out, "sign");
                        expect_not_in(o.out, "secret");
                        (j == 0 ? expect_in : expect_not_in)(o.err, j == 0 ? note : "not signed");
                }
        said = agent_end(&d);

        if (!has_program("git") || !has_program("ssh-keygen") || !has_program("ssh-agent"))
                skip_because("there is no git, or no ssh");
        whole = text_of(
                "HOME='%s'; export HOME; rm -rf ~/.gitconfig ~/project; mkdir ~/project; NSRUN_PROGRAM='%s'; "
                "export NSRUN_PROGRAM; %s",
                s->home, program(), script);
        run_outside(s, &o, whole);
        collect_orphans();
        expect_status(&o, 0);
        expect_out(&o, "G\nG\nG\nG\n");
}

int main(void) {
        return run_all_tests();
}

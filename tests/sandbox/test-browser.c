/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --browser: links of a command's are opened on the host when a person says yes, and no other ones; what a
 * hostile command tries at that. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <sys/un.h>

#include "talk.h"

/* The host's program: says by a pipe what it was started with. */
struct desk {
        char *opener;
        int pipe;
};

static void opener_begin(struct desk *d, const struct site *s) {
        _cleanup_free_ char *pipe_path = path_of(s->outside, "opened");

        if (!has_program("python3"))
                skip_because("there is no python3");
        make_file(
                s->outside, "opener",
                "#!/bin/sh\necho \"$# $1 $DISPLAY $(pwd) $PATH ${BROWSER-none}\" >\"${0%opener}opened\"\n");
        *d = (struct desk){.opener = path_of(s->outside, "opener")};
        assert_int_equal(chmod(d->opener, 0755), 0);
        assert_int_equal(mkfifo(pipe_path, 0600), 0);
        d->pipe = open(pipe_path, O_RDWR | O_CLOEXEC);
        assert_true(d->pipe >= 0);
        assert_int_equal(setenv("BROWSER", d->opener, 1), 0);
        assert_int_equal(setenv("DISPLAY", ":77", 1), 0);
}

static void opener_end(struct desk *d) {
        struct pollfd more = {.fd = d->pipe, .events = POLLIN};

        /* It was started no other time. */
        assert_int_equal(poll(&more, 1, 0), 0);
        (void)close(d->pipe);
        free(d->opener);
        assert_int_equal(unsetenv("BROWSER"), 0);
        assert_int_equal(unsetenv("DISPLAY"), 0);
}

static void expect_opened(const struct desk *d, const char *link) {
        _cleanup_free_ char *wanted =
                text_of("1 %s :77 / /usr/local/bin:/usr/bin:/bin:/run/current-system/sw/bin:"
                        "/run/current-system/profile/bin none\n",
                        link);

        await_line(d->pipe, wanted);
}

static void answer_link(struct talk *t, const char *host, const char *link, const char *with) {
        _cleanup_free_ char *question =
                text_of("nsrun: a program wants to open a link to %s on the host:\r\n"
                        "nsrun:   %s\r\nnsrun: Open it? (",
                        host, link);

        talk_answer_to(t, question, with);
}

static void skip_unless_nsrun(void) {
        if (in_a_session() || by_the_library())
                skip_because("this is about the nsrun program itself");
}

TEST(a_person_is_asked_before_each_link) {
        static const char script[] =
                "xdg-open 'https://example.com/a?b=c&d=%20,e' && echo $?; sensible-browser http://LocalHost:80; "
                "echo $?; python3 -m webbrowser https://three.example/ >/dev/null; "
                "\"$BROWSER\" https://four.example; echo $?; www-browser https://five.example; echo $?";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        struct desk d;
        struct talk t;

        skip_unless_nsrun();
        opener_begin(&d, s);
        talk_begin(&t, s, OPTIONS("--browser", "--", "sh", "-c", script));
        answer_link(&t, "example.com", "https://example.com/a?b=c&d=%20,e", NULL);
        await(&t, "nsrun: opened\r\n");
        expect_opened(&d, "https://example.com/a?b=c&d=%20,e");
        talk_answer_to(&t,
                       "nsrun: a program wants to open a link to localhost:80 on the host:\r\n"
                       "nsrun:   http://LocalHost:80\r\n"
                       "nsrun: That is a service of this machine's own.\r\n"
                       "nsrun: Open it? (",
                       "n\n");
        await(&t, "nsrun: not opened\r\n");
        answer_link(&t, "three.example", "https://three.example/", NULL);
        await(&t, "nsrun: opened\r\n");
        expect_opened(&d, "https://three.example/");
        answer_link(&t, "four.example", "https://four.example", "q\n");
        await(&t, "nsrun: not opened, and neither is any other link\r\n");
        end_talk_alone(&t, &o);
        expect_status(&o, 0);
        expect_out(&o, "0\n4\n4\n4\n");
        expect_in(o.err, "sensible-browser: the person at nsrun's terminal doesn't open it\n");
        collect_orphans();
        opener_end(&d);
}

/* The address of an interface; of loopback where there is no other. */
static void own_address(char ret[INET_ADDRSTRLEN]) {
        struct ifaddrs *all = NULL;

        (void)strcpy(ret, "127.0.0.1");
        assert_int_equal(getifaddrs(&all), 0);
        for (const struct ifaddrs *i = all; i; i = i->ifa_next)
                if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET && !(i->ifa_flags & IFF_LOOPBACK))
                        (void)inet_ntop(AF_INET, &((const struct sockaddr_in *)i->ifa_addr)->sin_addr, ret,
                                        INET_ADDRSTRLEN);
        freeifaddrs(all);
}

TEST(this_machines_own_services_are_marked) {
        static const char mark[] = "nsrun: That is a service of this machine's own.\r\n";
        const struct site *s = *state;
        char address[INET_ADDRSTRLEN], name[HOST_NAME_MAX + 1] = "";
        const char *const hosts[] = {address, name, "192.0.2.77"};
        struct desk d;

        skip_unless_nsrun();
        own_address(address);
        assert_int_equal(gethostname(name, sizeof(name) - 1), 0);
        opener_begin(&d, s);
        for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
                _cleanup_free_ char *script = text_of("xdg-open http://%s:8080/x", hosts[i]),
                                    *question = text_of("nsrun:   http://%s:8080/x\r\n%snsrun: Open it? (",
                                                        hosts[i], i < 2 ? mark : "");
                _cleanup_outcome_ struct outcome o = {0};
                struct talk t;

                talk_begin(&t, s, OPTIONS("--browser", "--", "sh", "-c", script));
                talk_answer_to(&t, question, "n\n");
                await(&t, "nsrun: not opened\r\n");
                end_talk_alone(&t, &o);
                expect_status(&o, 4);
        }
        collect_orphans();
        opener_end(&d);
}

/* Whatever stands at the socket: a person is asked about links alone, and by their text alone. */
TEST(nothing_but_links_is_asked_about) {
        static const char script[] =
                "import os, socket\n"
                "P = os.environ['XDG_RUNTIME_DIR'] + '/nsrun/browser'\n"
                "def new():\n"
                "    c = socket.socket(socket.AF_UNIX); c.connect(P); return c\n"
                "def ask(b):\n"
                "    c = new(); c.sendall(b); return c.recv(9)\n"
                "print({ask(b) for b in (b'\\n', b'file:///etc/passwd\\n', b'javascript:alert(1)\\n', "
                "b'--help\\n', b'-x https://a.example\\n', b'/bin/sh\\n', b'https://a.example/\\x1b[2J\\n', "
                "b'https://a.example\\0x\\n', b'https://a.example\\nhttps://b.example\\n', "
                "b'https://good.example@bad.example/\\n', b'https://a.example/`id`\\n', "
                "b'https://a.example/\\'x\\n', b'https://a.example/\\xe2\\x80\\xae\\n', "
                "b'https://a.example/' + b'x' * 2049)})\n"
                "idle = [new() for i in range(200)]\n"
                "for c in idle[::3]:\n"
                "    try: c.sendall(b'https://idle.exam')\n"
                "    except BrokenPipeError: pass\n"
                "gone = new(); gone.sendall(b'https://gone.example\\n'); gone.shutdown(socket.SHUT_WR)\n"
                "print(gone.recv(9), ask(b'https://' + b'y' * 200 + b'/' + b'x' * 1800 + b'\\n'))\n"
                "c = new(); c.sendall(b'https://left.example\\n'); print('left', flush=True)\n"
                "c.close()\n"
                "print(ask(b'https://last.example\\n'))\n";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        struct desk d;
        struct talk t;
        size_t n = 0;

        skip_unless_nsrun();
        opener_begin(&d, s);
        talk_begin(&t, s, OPTIONS("--browser", "--", "python3", "-c", script));
        answer_link(&t, "gone.example", "https://gone.example", NULL);
        expect_opened(&d, "https://gone.example");
        talk_answer_to(&t, "nsrun: a program wants to open a link to yyyyyyyy", "n\n");
        /* Whose program has gone: it is asked about if the filter saw it before, and its answer is nobody's.
         */
        await(&t, "nsrun: not opened\r\n");
        await(&t, "nsrun: a program wants to open a link to l");
        t.seen--;
        if (startswith(t.text + t.seen, "left")) {
                talk_answer_to(&t, "left.example", "n\n");
                talk_answer_to(&t, "last.example", "n\n");
        } else
                talk_answer_to(&t, "last.example", "n\n");
        end_talk_alone(&t, &o);
        expect_status(&o, 0);
        expect_out(&o, "{b'n'}\nb'y' b'n'\nleft\nb'n'\n");
        assert_null(strchr(t.text, '\x1b'));
        for (const char *at = t.text; (at = strstr(at, "wants to open")); at++)
                n++;
        assert_true(n == 3 || n == 4);
        collect_orphans();
        opener_end(&d);
}

TEST(what_cannot_be_had_is_one_line) {
        const struct site *s = *state;
        _cleanup_free_ char *planted = path_of(s->project, "opener"), *path = strdup(getenv("PATH")),
                            *refusal = NULL;
        _cleanup_outcome_ struct outcome nobody = {0}, session = {0}, bash = {0}, none = {0}, own = {0};
        struct desk d;

        skip_unless_nsrun();
        opener_begin(&d, s);
        run(&(struct request){.argv = OPTIONS("setsid", "-w", program(), "run", "--project", s->project,
                                              "--browser", "--", "echo", "started")},
            &nobody);
        expect_refusal(
                &nobody, 125,
                "nsrun: nobody can be asked about links; --browser asks on the terminal, and there is "
                "none: leave it out");
        NSRUN_IN(s->root, &session, "session", "start", "--project", s->project, "--browser");
        expect_refusal(&session, 125,
                       "nsrun: nobody can be asked about links; only 'nsrun run' and 'nsrun shell' ask "
                       "(--browser), at their terminal: leave it out");
        NSRUN_IN(s->root, &bash, "bash", "--project", s->project, "--browser", "echo started");
        assert_int_equal(bash.status, 125);
        expect_in(bash.out, "nobody can be asked about links; only 'nsrun run'");
        /* A program of the command's own, and no program at all. */
        make_file(s->project, "opener", "#!/bin/sh\n");
        assert_int_equal(chmod(planted, 0755), 0);
        assert_int_equal(setenv("BROWSER", planted, 1), 0);
        refusal =
                text_of("nsrun: what --browser would show lies in a writable folder, where a command could "
                        "change it: %s; keep it outside of what a command may write",
                        planted);
        RUN(s, &own, "--browser", "--", "true");
        expect_refusal(&own, 125, refusal);
        assert_int_equal(setenv("BROWSER", "no-such-program", 1), 0);
        assert_int_equal(setenv("PATH", s->outside, 1), 0);
        RUN(s, &none, "--browser", "--", "/bin/true");
        assert_int_equal(setenv("PATH", path, 1), 0);
        expect_refusal(&none, 125,
                       "nsrun: --browser: the host has no program that opens links; install xdg-open (the "
                       "package xdg-utils), or set BROWSER to a program's path");
        collect_orphans();
        opener_end(&d);
}

TEST(plans_and_configurations_say_it) {
        const struct site *s = *state;
        _cleanup_free_ char *config = path_of(s->outside, "c.json"), *line = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        struct desk d;

        skip_unless_nsrun();
        opener_begin(&d, s);
        make_file(s->outside, "c.json", "{\"version\": 1, \"browser\": true}");
        NSRUN_IN(s->root, &o, "plan", "--project", s->project, "--config", config, "--", "true");
        line = text_of("gives away  --browser: links (http, https) that you say yes to, opened by %s on the "
                       "host: what the command has read can stand in one\n",
                       d.opener);
        expect_status(&o, 0);
        expect_in(o.out, line);
        expect_in(o.out, "/nsrun/browser ");
        opener_end(&d);
}

/* The filter moves bytes and can do nothing else; when nsrun is killed, nothing is left. */
TEST(the_filter_is_confined_and_dies_with_nsrun) {
        static const char look[] =
                "for p in /proc/[0-9]*; do grep -q \"^PPid:.$1$\" $p/status 2>/dev/null && "
                "tr '\\0' ' ' <$p/cmdline | grep -q '^nsrun-net browser ' && "
                "grep -E '^(Seccomp|NoNewPrivs|CapEff):' $p/status; done; :";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0}, killed = {0};
        _cleanup_free_ char *pid = NULL;
        struct desk d;
        struct talk t;

        skip_unless_nsrun();
        opener_begin(&d, s);
        talk_begin(&t, s, OPTIONS("--browser", "--", "sh", "-c", "echo in; xdg-open https://a.example"));
        await_line(t.running.out, "in\n");
        await(&t, "nsrun: Open it? (");
        pid = text_of("%d", (int)t.running.pid);
        run(&(struct request){.argv = OPTIONS("sh", "-c", look, "sh", pid)}, &o);
        expect_in(o.out, "CapEff:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n");
        (void)kill(t.running.pid, SIGKILL);
        end_talk_alone(&t, &killed);
        collect_orphans();
        opener_end(&d);
}

int main(void) {
        return run_all_tests();
}

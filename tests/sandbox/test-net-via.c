/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --net-via: names are reached through the user's proxy, by HTTP and by SOCKS; what a proxy can do wrong,
 * and where its password isn't. */
#include <netinet/in.h>

#include "net.h"
#include "session.h"

static const char hosts[] =
        "203.0.113.5 good.test other.test\n10.0.0.5 private.test\n127.0.0.1 proxy.test\n";

#define VIA_HTTP "--net-via=http://u:p%40%3Ass@127.0.0.1:3128"

static void expect_log(const struct world *w, const char *text) {
        _cleanup_free_ char *log = file_text(w->log);

        assert_string_equal(log, text);
        assert_int_equal(truncate(w->log, 0), 0);
}

TEST(a_name_is_reached_through_a_proxy) {
        static const struct {
                const char *way, *via, *log;
        } cases[] = {
                {"http", "--net-via=http://127.0.0.1:3128", "proxy CONNECT good.test:8080 HTTP/1.1\n"},
                {"http", "--net-via=proxy.test:3128", "proxy CONNECT good.test:8080 HTTP/1.1\n"},
                {"407", VIA_HTTP, "proxy CONNECT good.test:8080 HTTP/1.1, with credentials\n"},
                {"slow", VIA_HTTP, "proxy CONNECT good.test:8080 HTTP/1.1, with credentials\n"},
                {"socks", "--net-via=socks5h://127.0.0.1:3128", "proxy name good.test:8080\n"},
                {"socks", "--net-via=socks5://127.0.0.1:3128", "proxy address 203.0.113.5:8080\n"},
                {"socks-user", "--net-via=socks5h://u:p%40%3Ass@127.0.0.1:3128",
                 "user u, password p@:ss\nproxy name good.test:8080\n"},
        };
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;

        world_make(*state, &w, hosts);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *log = text_of("%stcp 203.0.113.5\n", cases[i].log);

                w.proxy = cases[i].way;
                WORLD_RUN(&w, &o, OPTIONS("--net=allow", "--allow=good.test:8080", cases[i].via), "reach",
                          "good.test:8080");
                expect_out(&o, "good.test:8080: to 203.0.113.5: 2 bytes\n");
                assert_string_equal(o.err, "");
                expect_log(&w, log);
        }
        /* What a server says first may come with the proxy's answer. */
        w.proxy = "early";
        WORLD_RUN(&w, &o, OPTIONS("--net=allow", "--allow=good.test:8080", VIA_HTTP), "reach",
                  "good.test:8080");
        expect_out(&o, "good.test:8080: behind it\n");
}

/* Each is seen inside as a host's refusal is, and told in one line. */
TEST(a_proxy_that_does_not_lead_there_is_told) {
        static const struct {
                const char *way, *via, *why;
        } cases[] = {
                {"403", "http://127.0.0.1:3128", "answers 403"},
                {"407", "http://127.0.0.1:3128", "answers 407: user or password"},
                {"407", "http://u:wrong@127.0.0.1:3128", "answers 407: user or password"},
                {"close", "http://127.0.0.1:3128", "closed the connection"},
                {"half", "http://127.0.0.1:3128", "closed the connection"},
                {"short", "http://127.0.0.1:3128", "answers no HTTP"},
                {"garbage", "http://127.0.0.1:3128", "answers no HTTP"},
                {"flood", "http://127.0.0.1:3128", "answers too much"},
                {"http", "http://127.0.0.1:3129", "can't be reached"},
                {"http", "http://no.such.test:3128", "has no address"},
                {"socks-user", "socks5h://127.0.0.1:3128", "wants a user and a password"},
                {"socks-user", "socks5h://v:w@127.0.0.1:3128", "refuses the user or the password"},
                {"socks-refuse", "socks5h://127.0.0.1:3128", "answers 2: not allowed"},
                {"socks-odd", "socks5h://127.0.0.1:3128", "answers no SOCKS5"},
                {"socks-garbage", "socks5h://127.0.0.1:3128", "answers no SOCKS5"},
        };
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;

        world_make(*state, &w, hosts);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *via = text_of("--net-via=%s", cases[i].via),
                                    *note = text_of(
                                            "nsrun: note: network: good.test:8080 isn't reached, since "
                                            "the proxy %s; allowed: good.test:8080\n",
                                            cases[i].why),
                                    *log = NULL;

                w.proxy = cases[i].way;
                WORLD_RUN(&w, &o, OPTIONS("--net=allow", "--allow=good.test:8080", via), "reach",
                          "good.test:8080");
                expect_out(&o, "good.test:8080: Connection reset by peer\n");
                assert_string_equal(o.err, note);
                log = file_text(w.log);
                expect_not_in(log, "tcp");
        }
        /* One that dies in the middle of a connection. */
        w.proxy = "die";
        WORLD_RUN(&w, &o, OPTIONS("--net=allow", "--allow=good.test:8080", VIA_HTTP), "reach",
                  "good.test:8080");
        expect_not_in(o.out, "bytes");
        expect_status(&o, 0);
}

TEST(what_is_named_by_address_is_reached_directly) {
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;

        world_make(*state, &w, hosts);
        w.proxy = "http";
        WORLD_RUN(&w, &o,
                  OPTIONS("--net=allow", "--allow=203.0.113.5:8080", "--allow=localhost:8080", VIA_HTTP),
                  "reach", "203.0.113.5:8080", "127.0.0.1:8080", "other.test:8080");
        expect_out(&o, "203.0.113.5:8080: to 203.0.113.5: 2 bytes\n127.0.0.1:8080: to 127.0.0.1: 2 bytes\n"
                       "other.test:8080: no such name\n");
        expect_log(&w, "tcp 203.0.113.5\ntcp 127.0.0.1\n");
}

/* A proxy that is told names looks them up itself; one that is told addresses is told none that lead home.
 */
TEST(a_name_that_leads_home_is_checked_where_the_host_looks_it_up) {
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;

        world_make(*state, &w, hosts);
        w.proxy = "socks";
        WORLD_RUN(&w, &o,
                  OPTIONS("--net=allow", "--allow=private.test:8080", "--net-via=socks5h://127.0.0.1:3128"),
                  "reach", "private.test:8080");
        expect_out(&o, "private.test:8080: to 10.0.0.5: 2 bytes\n");
        expect_log(&w, "proxy name private.test:8080\ntcp 10.0.0.5\n");
        WORLD_RUN(&w, &o,
                  OPTIONS("--net=allow", "--allow=private.test:8080", "--net-via=socks5://127.0.0.1:3128"),
                  "reach", "private.test:8080");
        expect_out(&o, "private.test:8080: Connection reset by peer\n");
        expect_in(o.err, "private.test:8080 isn't allowed, since it leads to 10.0.0.5");
        expect_log(&w, "");
}

/* Through the proxy any host could be had. */
TEST(the_proxy_itself_is_not_reached) {
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;

        world_make(*state, &w, hosts);
        w.proxy = "http";
        WORLD_RUN(&w, &o, OPTIONS("--net=allow", "--allow=*.test:8080,3128", "--net-via=proxy.test:3128"),
                  "reach", "good.test:8080", "proxy.test:3128", "127.0.0.1:3128");
        expect_out(&o, "good.test:8080: to 203.0.113.5: 2 bytes\nproxy.test:3128: Connection reset by peer\n"
                       "127.0.0.1:3128: Connection reset by peer\n");
        expect_log(&w, "proxy CONNECT good.test:8080 HTTP/1.1\ntcp 203.0.113.5\n");
        /* Nor by another name that leads to its address: whoever answers for that name chooses it. */
        WORLD_RUN(&w, &o,
                  OPTIONS("--net=allow", "--allow=*.test:8080", "--net-via=socks5://203.0.113.5:8080"),
                  "reach", "good.test:8080");
        expect_out(&o, "good.test:8080: Connection reset by peer\n");
        expect_in(o.err, "good.test:8080 isn't allowed, since it leads to 203.0.113.5");
        expect_log(&w, "");
        assert_int_equal(setenv("HTTPS_PROXY", "203.0.113.5:8080", 1), 0);
        assert_int_equal(setenv("NO_PROXY", ".test", 1), 0);
        WORLD_RUN(&w, &o, OPTIONS("--net=allow", "--allow=*.test:8080", "--net-via=env"), "reach",
                  "good.test:8080");
        expect_out(&o, "good.test:8080: Connection reset by peer\n");
        expect_log(&w, "");
        assert_int_equal(unsetenv("HTTPS_PROXY"), 0);
        assert_int_equal(unsetenv("NO_PROXY"), 0);
}

/* Asks the name server for names below .test whose first label is no host's, and sends UDP to an address. */
static _Noreturn void ask_odd_names(void) {
        static const struct {
                const char *label;
                unsigned char n;
        } labels[] = {{"good", 4}, {"x\r\nA: b", 7}, {"a\0b", 3}, {"a b", 3},
                      {"a:1", 3},  {"a@b", 3},       {"\n", 1}};
        const struct sockaddr_in server = {
                .sin_family = AF_INET, .sin_port = htons(53), .sin_addr = {htonl(INADDR_LOOPBACK)}};
        struct sockaddr_in named = {.sin_family = AF_INET, .sin_port = htons(8080)};
        int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        unsigned char answer[512];
        char byte = 0;

        (void)connect(fd, (const struct sockaddr *)&server, sizeof(server));
        for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
                unsigned char query[64] = {0, (unsigned char)i, 1, 0, 0, 1};
                size_t n = 12;

                query[n++] = labels[i].n;
                memcpy(query + n, labels[i].label, labels[i].n);
                n += labels[i].n;
                memcpy(query + n, "\4test\0\0\1\0\1", 10);
                n += 10;
                if (send(fd, query, n, 0) < 0 || recv(fd, answer, sizeof(answer), 0) < (ssize_t)n)
                        _exit(1);
                (void)printf("%u ", answer[3] & 15U);
                if (i == 0)
                        memcpy(&named.sin_addr, answer + n + 12, 4);
        }
        fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (connect(fd, (const struct sockaddr *)&named, sizeof(named)) < 0 || send(fd, &byte, 1, 0) < 0 ||
            recv(fd, &byte, 1, 0) >= 0)
                _exit(1);
        (void)printf("%s\n", strerror(errno));
        _exit(fflush(stdout) ? 97 : 0);
}

TEST(nothing_is_said_to_the_proxy_but_names) {
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;

        world_make(*state, &w, hosts);
        w.proxy = "http";
        WORLD_RUN(&w, &o, OPTIONS("--net=allow", "--allow=*.test:8080", "--net-via=127.0.0.1:3128"), "odd");
        expect_out(&o, "0 3 3 3 3 3 3 Connection refused\n");
        expect_log(&w, "");
}

TEST(the_environments_proxy_is_taken_when_it_is_asked_for) {
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;

        world_make(*state, &w, hosts);
        w.proxy = "http";
        assert_int_equal(setenv("HTTPS_PROXY", "http://u:p%40%3Ass@127.0.0.1:3128/", 1), 0);
        WORLD_RUN(&w, &o, OPTIONS("--net=allow", "--allow=good.test:8080"), "reach", "good.test:8080");
        expect_log(&w, "tcp 203.0.113.5\n");
        WORLD_RUN(&w, &o, OPTIONS("--net=allow", "--allow=good.test:8080", "--net-via=env"), "reach",
                  "good.test:8080");
        expect_log(&w, "proxy CONNECT good.test:8080 HTTP/1.1, with credentials\ntcp 203.0.113.5\n");
        assert_int_equal(setenv("NO_PROXY", "localhost, .test:8080,10.0.0.0/8", 1), 0);
        WORLD_RUN(&w, &o, OPTIONS("--net=allow", "--allow=good.test:8080", "--net-via=env"), "reach",
                  "good.test:8080");
        expect_log(&w, "tcp 203.0.113.5\n");
        /* These are of the environment's proxy alone. */
        WORLD_RUN(&w, &o, OPTIONS("--net=allow", "--allow=good.test:8080", "--net-via=127.0.0.1:3128"),
                  "reach", "good.test:8080");
        expect_log(&w, "proxy CONNECT good.test:8080 HTTP/1.1\ntcp 203.0.113.5\n");
        assert_int_equal(unsetenv("HTTPS_PROXY"), 0);
        assert_int_equal(unsetenv("NO_PROXY"), 0);
}

static void run_plan(const struct site *s, struct outcome *o, const char *form, const char *via) {
        outcome_clear(o);
        NSRUN_IN(s->root, o, "plan", "--project", s->project, form, "--net=allow", "--allow=good.test", via,
                 "--", "true");
        expect_status(o, 0);
}

TEST(a_plan_has_the_proxy_without_its_password) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        run_plan(s, &o, "--format=text", "--net-via=http://us%20er:sEcReT@[2001:db8::1]");
        expect_in(o.out, "\n            via http://us%20er:***@[2001:db8::1]:80\n");
        expect_not_in(o.out, "sEcReT");
        run_plan(s, &o, "--format=json", "--net-via=socks5h://user:sEcReT@Proxy.Example.");
        expect_in(o.out, "\"via socks5h://user:***@proxy.example:1080\"");
        expect_not_in(o.out, "sEcReT");
        /* A name alone may be a token. */
        run_plan(s, &o, "--format=text", "--net-via=http://sEcReT@proxy.example:1");
        expect_in(o.out, "via http://***@proxy.example:1\n");
        expect_not_in(o.out, "sEcReT");
        assert_int_equal(setenv("https_proxy", "http://user:sEcReT@proxy.example:8", 1), 0);
        assert_int_equal(setenv("no_proxy", "corp.example,*.lan:81", 1), 0);
        run_plan(s, &o, "--format=text", "--net-via=env");
        expect_in(o.out, "via http://user:***@proxy.example:8\n");
        expect_in(o.out, "direct corp.example\n");
        expect_in(o.out, "direct lan:81\n");
        expect_not_in(o.out, "sEcReT");
        assert_int_equal(setenv("no_proxy", "*", 1), 0);
        run_plan(s, &o, "--format=text", "--net-via=env");
        expect_in(o.out, "via none\n");
        assert_int_equal(unsetenv("https_proxy"), 0);
        assert_int_equal(unsetenv("no_proxy"), 0);
        run_plan(s, &o, "--format=text", "--net-via=env");
        expect_in(o.out, "via none\n");
}

TEST(nothing_inside_knows_the_proxy) {
        static const char look[] = "env; for p in /proc/[0-9]*; do cat $p/cmdline $p/environ $p/mountinfo; "
                                   "done 2>/dev/null | tr '\\0' '\\n'; :";
        _cleanup_outcome_ struct outcome o = {0};
        const struct site *s = *state;

        assert_int_equal(setenv("http_proxy", "http://pLaIn.example:3128", 1), 0);
        assert_int_equal(setenv("npm_config_https_proxy", "http://pLaIn.example:3128", 1), 0);
        RUN(s, &o, "--net=allow", "--allow=good.test", "--", "sh", "-c", look);
        expect_in(o.out, "pLaIn");
        assert_int_equal(setenv("HTTPS_PROXY", "http://user:sEcReT@pLaIn.example:3128", 1), 0);
        for (int i = 0; i < 3; i++) {
                RUN(s, &o, "--net=allow", "--allow=good.test", i == 2 ? "--proc=bind" : "--proc=new",
                    i == 0 ? "--net-via=env" : "--net-via=http://user:sEcReT@pLaIn.example:3128", "--", "sh",
                    "-c", look);
                expect_status(&o, 0);
                expect_in(o.out, "PATH=");
                expect_not_in(o.out, "sEcReT");
                if (i < 2)
                        expect_not_in(o.out, "pLaIn");
                assert_string_equal(o.err, "");
        }
        assert_int_equal(unsetenv("http_proxy"), 0);
        assert_int_equal(unsetenv("npm_config_https_proxy"), 0);
        assert_int_equal(unsetenv("HTTPS_PROXY"), 0);
}

TEST(a_proxy_that_is_none_is_refused_without_its_text) {
        static const struct {
                const char *option[3], *line;
        } cases[] = {
                {{"--net-via=https://u:sEcReT@proxy.example"},
                 "nsrun: --net-via: neither an HTTP nor a SOCKS5 proxy: https://********@proxy.example; write "
                 "http://HOST:PORT, socks5://HOST:PORT or socks5h://HOST:PORT, with USER:PASSWORD@ before "
                 "HOST where it wants that; env; or none; see 'nsrun run --help'"},
                {{"--net-via=http://proxy.example:3128", "--allow=proxy.example:443,3128"},
                 "nsrun: --allow proxy.example:443,3128 would let the command use the proxy of --net-via "
                 "itself, for any host; leave that port out of it"},
                {{"--net-via=http://127.0.0.1:3128", "--allow=localhost:3128"},
                 "nsrun: --allow localhost:3128 would let the command use the proxy of --net-via itself, for "
                 "any host; leave that port out of it"},
                {{"--net-via=http://10.0.0.1:3128", "--allow=10.0.0.0/8:3128"},
                 "nsrun: --allow 10.0.0.0/8:3128 would let the command use the proxy of --net-via itself, for "
                 "any host; leave that port out of it"},
                {{"--net-via=http://proxy.example:3128", "--allow=udp:a.test:99"},
                 "nsrun: --allow udp:a.test:99 and --net-via contradict: the proxy carries no UDP; leave one of "
                 "the two out"},
                {{"--net-via=http://localhost:3128", "--publish=3128"},
                 "nsrun: --publish 3128 would make a server inside the proxy of --net-via; choose another "
                 "PORT, with PORT:INSIDE"},
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                outcome_clear(&o);
                if (cases[i].option[1])
                        RUN(s, &o, "--net=allow", cases[i].option[0], cases[i].option[1], "--", "true");
                else
                        RUN(s, &o, "--net=allow", cases[i].option[0], "--", "true");
                expect_refusal(&o, 125, cases[i].line);
        }
        RUN(s, &o, "--net-via=http://u:sEcReT@proxy.example", "--", "true");
        expect_refusal(&o, 125, "nsrun: --net-via is of no use without its network; add --net=allow");
        assert_int_equal(setenv("all_proxy", "socks4://u:sEcReT@proxy.example", 1), 0);
        RUN(s, &o, "--net=allow", "--net-via=env", "--", "true");
        expect_refusal(&o, 125,
                       "nsrun: --net-via=env: all_proxy: neither an HTTP nor a SOCKS5 proxy; name the proxy "
                       "with --net-via URL");
        assert_int_equal(unsetenv("all_proxy"), 0);
}

TEST(a_sessions_record_has_no_password) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL,
                            *shown = text_of("grep -rlF 'uSeR:***@' %s %s %s", s->runtime, s->cache,
                                             s->state),
                            *secret = text_of("grep -rlF sEcReT %s %s %s %s", s->runtime, s->cache, s->state,
                                              s->home);
        _cleanup_outcome_ struct outcome o = {0};

        id = START(s, "--net=allow", "--allow=good.test", "--net-via=http://uSeR:sEcReT@proxy.example:3128");
        run_outside(s, &o, shown);
        expect_status(&o, 0);
        run_outside(s, &o, secret);
        expect_status(&o, 1);
        JOIN_SCRIPT(s, id, &o, "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null; :");
        expect_status(&o, 0);
        expect_not_in(o.out, "sEcReT");
        expect_not_in(o.out, "uSeR");
        end_session(s, id, "stop");
}

int main(int argc, char **argv) {
        if (argc > 1 && streq(argv[1], "odd"))
                ask_odd_names();
        client_main(argc, argv);
        return run_all_tests();
}

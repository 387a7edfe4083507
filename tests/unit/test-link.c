/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* desktop/link.c: which links a person may be asked about, and the host that is shown of them. */
#include <netinet/in.h>

#include "scratch.h"

#include "desktop/link.h"

static const struct {
        const char *link, *host; /* NULL: it isn't one */
} links[] = {
        {"https://example.com", "example.com"},
        {"HTTP://Example.com:8080/x", "example.com:8080"},
        {"http://127.0.0.1:1/", "127.0.0.1:1"},
        {"https://[::1]:99999/x", "[::1]:99999"},
        {"https://xn--bcher-kva.example/b%C3%BCcher?a=b&c=d,e,f+g~_.-:@#x", "xn--bcher-kva.example"},
        {"https://example.com?q", "example.com"},
        {"https://example.com#f", "example.com"},
        {"http://203.0.113.5/x", "203.0.113.5"},
        {"http://203.0.113.5./x", "203.0.113.5."},
        {"http://1.example", "1.example"},
        {"http://2130706433/", NULL},
        {"http://0x7f.1/", NULL},
        {"http://127.1/", NULL},
        {"http://127.0.0.1.1/", NULL},
        {"http://0177.0.0.1/", NULL},
        {"http://example.0x7f/", NULL},
        {"https://_dmarc.example.com/", NULL},
        {"", NULL},
        {"-x", NULL},
        {"--help", NULL},
        {"example.com", NULL},
        {"//example.com", NULL},
        {"/etc/passwd", NULL},
        {"file:///etc/passwd", NULL},
        {"javascript:alert(1)", NULL},
        {"data:text/html,x", NULL},
        {"ssh://example.com", NULL},
        {"vscode://file/x", NULL},
        {"httpss://example.com", NULL},
        {"https:/example.com", NULL},
        {"https:example.com", NULL},
        {" https://example.com", NULL},
        {"https://", NULL},
        {"https:///x", NULL},
        {"https://-x/", NULL},
        {"https://.x/", NULL},
        {"https://github.com@evil.example/", NULL},
        {"https://user:password@example.com/", NULL},
        {"https://b\xc3\xbc"
         "cher.example/",
         NULL},
        {"https://example.com:/", NULL},
        {"https://example.com:123456/", NULL},
        {"https://example.com:80x/", NULL},
        {"https://[::1", NULL},
        {"https://[]/", NULL},
        {"https://[::1]x/", NULL},
        {"https://example.com\\@evil.example/", NULL},
        {"https://example.com/a b", NULL},
        {"https://example.com/\n", NULL},
        {"https://example.com/\x1b[2J", NULL},
        {"https://example.com/\x7f", NULL},
        {"https://example.com/'", NULL},
        {"https://example.com/$(id)", NULL},
        {"https://example.com/$x", NULL},
        {"https://example.com/(x)", NULL},
        {"https://example.com/;x", NULL},
        {"https://example.com/!x", NULL},
        {"https://example.com/*", NULL},
        {"https://example.com/\"", NULL},
        {"https://example.com/`", NULL},
        {"https://example.com/\\", NULL},
        {"https://example.com/<>", NULL},
        {"https://example.com/{|}^", NULL},
        {"https://example.com/[x]", NULL},
        {"https://example.com/%", NULL},
        {"https://example.com/%2", NULL},
        {"https://example.com/%g0", NULL},
        {"https://example.com/\xe2\x80\xae", NULL},
};

TEST(links_are_judged) {
        for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
                char host[LINK_HOST_MOST + 1] = "";

                if (link_is_openable(links[i].link, host) != (links[i].host != NULL))
                        fail_msg("%s", links[i].link);
                if (links[i].host)
                        assert_string_equal(host, links[i].host);
        }
}

TEST(long_links_and_long_hosts_are_none) {
        char link[LINK_MOST + 2] = "https://example.com/", host[LINK_HOST_MOST + 1];
        size_t n = strlen(link);

        memset(link + n, 'x', LINK_MOST - n);
        assert_true(link_is_openable(link, host));
        link[LINK_MOST] = 'x';
        assert_false(link_is_openable(link, host));
        (void)strcpy(link, "https://");
        memset(link + 8, 'x', LINK_HOST_MOST);
        link[8 + LINK_HOST_MOST] = '\0';
        assert_true(link_is_openable(link, host));
        assert_int_equal(strlen(host), LINK_HOST_MOST);
        (void)strcat(link, "x");
        assert_false(link_is_openable(link, host));
}

TEST(this_machines_own_are_known) {
        static const char *const own[] = {"localhost",
                                          "localhost:80",
                                          "localhost.",
                                          "x.localhost:1",
                                          "127.0.0.1",
                                          "127.9.9.9:8",
                                          "0.0.0.0:80",
                                          "[::1]:80",
                                          "[::]",
                                          "[::0:1]",
                                          "[::ffff:7f00:1]",
                                          "[::ffff:127.0.0.1]:9",
                                          "127.0.0.1.:1",
                                          "build.example:80",
                                          "BUILD.example.",
                                          "ip6-localhost",
                                          "[::g]",
                                          "localhost.localdomain:1"},
                                 *const others[] = {
                                         "example.com",    "localhost.example", "notlocalhost",
                                         "128.0.0.1",      "10.0.0.1:80",       "[2001:db8::1]:80",
                                         "[::ffff:a00:1]", "localhost-x",       "build.example.com"};

        for (size_t i = 0; i < ARRAY_SIZE(own); i++)
                if (!link_is_of_this_machine(own[i], "build.example"))
                        fail_msg("%s", own[i]);
        for (size_t i = 0; i < ARRAY_SIZE(others); i++)
                if (link_is_of_this_machine(others[i], "build.example"))
                        fail_msg("%s", others[i]);
}

TEST(a_machine_is_known_by_the_short_forms_of_its_name) {
        assert_true(link_is_of_this_machine("build:631", "Build.example"));
        assert_true(link_is_of_this_machine("build.local:631", "build"));
        assert_true(link_is_of_this_machine("build.local", "build.example"));
        assert_false(link_is_of_this_machine("build.localx", "build"));
        assert_false(link_is_of_this_machine("buildx.local", "build"));
        assert_false(link_is_of_this_machine("x.build.local", "build"));
}

/* A machine without a name isn't each link's. */
TEST(a_name_that_is_missing_is_nobodys) {
        assert_false(link_is_of_this_machine("example.com", ""));
        assert_true(link_is_of_this_machine("localhost", ""));
}

TEST(an_interfaces_address_is_known) {
        const struct sockaddr_in four = {.sin_family = AF_INET, .sin_addr = {htonl(0x0a000005)}};
        const struct sockaddr_in6 six = {.sin6_family = AF_INET6,
                                         .sin6_addr = {{{0x20, 0x01, 0x0d, 0xb8, [15] = 5}}}};
        static const char *const fours[] = {"10.0.0.5", "10.0.0.5:80", "10.0.0.5.", "[::ffff:10.0.0.5]:8"},
                                 *const neither[] = {"10.0.0.6", "[2001:db8::6]", "example.com",
                                                     "10.0.0.5.example"};

        for (size_t i = 0; i < ARRAY_SIZE(fours); i++)
                if (!link_is_at(fours[i], (const struct sockaddr *)&four))
                        fail_msg("%s", fours[i]);
        assert_true(link_is_at("[2001:DB8:0::5]:443", (const struct sockaddr *)&six));
        assert_false(link_is_at("10.0.0.5", (const struct sockaddr *)&six));
        assert_false(link_is_at("[2001:db8::5]", (const struct sockaddr *)&four));
        for (size_t i = 0; i < ARRAY_SIZE(neither); i++)
                if (link_is_at(neither[i], (const struct sockaddr *)&four) ||
                    link_is_at(neither[i], (const struct sockaddr *)&six))
                        fail_msg("%s", neither[i]);
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* net/: rules and addresses as text, what rules say, which addresses lead home, the layout of a sandbox's
 * addresses, and DNS packets. */
#include "net/layout.h"
#include "net/pool.h"
#include "net/question.h"
#include "net/wire.h"

#include "base/str.h"

#include "../test.h"

TEST(a_rule_has_one_spelling) {
        static const struct {
                const char *in, *out;
        } cases[] = {
                {"Example.ORG.", "allow example.org:80,443"},
                {"example.org:8443,22,22", "allow example.org:22,8443"},
                {"*.example.org:443", "allow *.example.org:443"},
                {"udp:Time.example.org:123", "allow udp:time.example.org:123"},
                {"udp:[2001:db8::1]:443", "allow udp:[2001:db8::1]:443"},
                {"xn--bcher-kva.example", "allow xn--bcher-kva.example:80,443"},
                {"_service.example.org", "allow _service.example.org:80,443"},
                {"db:5432", "allow db:5432"},
                {"192.0.2.1", "allow 192.0.2.1:80,443"},
                {"192.0.2.0/24:443", "allow 192.0.2.0/24:443"},
                {"0.0.0.0/0", "allow 0.0.0.0/0:80,443"},
                {"2001:db8::1", "allow [2001:db8::1]:80,443"},
                {"[2001:db8::1]:443", "allow [2001:db8::1]:443"},
                {"[2001:db8::]/32:443", "allow [2001:db8::]/32:443"},
                {"[2001:db8::/32]:443", "allow [2001:db8::]/32:443"},
                {"::ffff:192.0.2.1", "allow 192.0.2.1:80,443"},
                {"localhost:5432", "allow localhost:5432"},
                {"127.0.0.1:5432", "allow localhost:5432"},
                {"[::1]:5432", "allow localhost:5432"},
                {"host.nsrun.internal:1", "allow localhost:1"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *line = NULL, *again = NULL;
                struct net_rule rule;

                assert_null(net_rule_parse(cases[i].in, false, &rule));
                line = net_rule_format(&rule);
                assert_string_equal(line, cases[i].out);
                assert_null(net_rule_parse(line + strlen("allow "), false, &rule));
                again = net_rule_format(&rule);
                assert_string_equal(again, line);
        }
}

TEST(what_is_no_rule_is_refused_with_a_reason) {
        static const struct {
                const char *in, *why;
                bool is_deny;
        } cases[] = {
                {"", "not a host's name", false},
                {".", "not a host's name", false},
                {"a..b", "not a host's name", false},
                {"a b", "not a host's name", false},
                {"http://example.org", "not a port", false},
                {"udp:example.org", "a host of UDP needs a port", false},
                {"udp:example.org:53", "port 53 is the sandbox's own name server's", false},
                {"udp:", "a host of UDP needs a port", false},
                {"udp:example.org", "a host is denied for TCP and UDP alike", true},
                {"example.org/x", "not a range of addresses", false},
                {"*", "not a host's name", false},
                {"*.", "not a host's name", false},
                {"a.*.org", "not a host's name", false},
                {"b\xc3\xbc"
                 "cher.example",
                 "not a host's name in ASCII: write it with xn--", false},
                {"1.2.3", "neither a host's name nor an address", false},
                {"0x7f.1", "neither a host's name nor an address", false},
                {"2130706433", "neither a host's name nor an address", false},
                {"example.org:0", "not a port", false},
                {"example.org:65536", "not a port", false},
                {"example.org:", "not a port", false},
                {"example.org:80,", "not a port", false},
                {"example.org:80-90", "not a port", false},
                {"example.org:53", "port 53 is the sandbox's own name server's", false},
                {"a:1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", "more than 16 ports", false},
                {"[2001:db8::1", "'[' without ']'", false},
                {"192.0.2.1/24", "not a range of addresses", false},
                {"192.0.2.0/33", "not a range of addresses", false},
                {"localhost", "localhost needs a port", false},
                {"127.0.0.2:80", "of loopback only localhost can be had", false},
                {"127.0.0.0/8:80", "of loopback only localhost can be had", false},
                {"0.0.0.0:80", "of loopback only localhost can be had", false},
                {"[::]:80", "of loopback only localhost can be had", false},
                {"198.18.0.9:80", "addresses of 198.18.0.0/15 stand for names inside", false},
                {"[fd6e:7372:756e::9]:80", "addresses of fd6e:7372:756e::/48 stand for names inside", false},
                {"[fd6e:7372:756e:1::/64]:80", "addresses of fd6e:7372:756e::/48 stand for names inside",
                 false},
                {"[fe80::1]:80", "a link-local address is none without its interface", false},
                {"x.nsrun.internal", "that name is nsrun's own, or loopback's", false},
                {"example.org:80", "a host alone, without ports, is denied", true},
                {"localhost", "the host's loopback can't be reached unless --allow says so", true},
        };
        struct net_rule rule;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                const char *why = net_rule_parse(cases[i].in, cases[i].is_deny, &rule);

                assert_non_null(why);
                assert_string_equal(why, cases[i].why);
        }
}

TEST(what_is_published_has_one_spelling) {
        static const struct {
                const char *in, *out;
        } cases[] = {
                {"5173", "publish 127.0.0.1:5173:5173"},
                {"8080:80", "publish 127.0.0.1:8080:80"},
                {"0.0.0.0:8080:80", "publish 0.0.0.0:8080:80"},
                {"192.0.2.1:8080", "publish 192.0.2.1:8080:8080"},
                {"[::1]:8080:80", "publish [::1]:8080:80"},
                {"x", NULL},
                {"", NULL},
                {"1:2:3", NULL},
                {"0", NULL},
                {"80:", NULL},
                {"::1:80", NULL},
                {"1.2.3:80", NULL},
                {"[::1]", NULL},
                {"80:81 ", NULL},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct net_publish p;
                const char *why = net_publish_parse(cases[i].in, &p);
                _cleanup_free_ char *line = why ? NULL : net_publish_format(&p);

                assert_int_equal(!why, cases[i].out != NULL);
                if (cases[i].out)
                        assert_string_equal(line, cases[i].out);
        }
}

TEST(a_proxy_has_one_spelling_and_one_without_its_password) {
        static const struct {
                const char *in, *out, *shown;
        } cases[] = {
                {"proxy.example", "http://proxy.example:80", "http://proxy.example:80"},
                {"Proxy.Example.:3128/", "http://proxy.example:3128", "http://proxy.example:3128"},
                {"http://10.0.0.1:1", "http://10.0.0.1:1", "http://10.0.0.1:1"},
                {"socks5://[2001:DB8::1]", "socks5://[2001:DB8::1]:1080", "socks5://[2001:DB8::1]:1080"},
                {"socks5h://u:p@h:65535", "socks5h://u:p@h:65535", "socks5h://u:***@h:65535"},
                {"http://u:p%40%2f:s@h", "http://u:p%40%2F%3As@h:80", "http://u:***@h:80"},
                {"http://u:a@b@h", "http://u:a%40b@h:80", "http://u:***@h:80"},
                {"http://token@h", "http://token:@h:80", "http://***@h:80"},
                {"http://:p@h", "http://:p@h:80", "http://:***@h:80"},
                {"none", "none", "none"},
        };
        static const char *const refused[] = {
                "",           "http://",       "https://h",     "socks4://h",      "socks://h",
                "ftp://h",    "http://h:0",    "http://h:",     "http://h:65536",  "http://h:1x",
                "http://h/x", "http://[::1",   "http://::1:80", "http://h h",      "http://[h]",
                "h\r\nX: y",  "http://u%0d@h", "http://u%00@h", "http://u%4@h",    "http://1.2.3:1",
                "http://h?x", "http://u:p@",   "socks5://u@h",  "socks5h://:p@h:1"};
        struct net_proxy p;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *out = NULL, *shown = NULL, *again = NULL;

                assert_null(net_proxy_parse(cases[i].in, &p));
                out = net_proxy_format(&p, true);
                shown = net_proxy_format(&p, false);
                assert_string_equal(out, cases[i].out);
                assert_string_equal(shown, cases[i].shown);
                assert_null(net_proxy_parse(out, &p));
                again = net_proxy_format(&p, true);
                assert_string_equal(again, out);
                assert_null(net_proxy_parse(shown, &p));
        }
        for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
                assert_non_null(net_proxy_parse(refused[i], &p));
}

TEST(what_is_reached_without_the_proxy_is_a_name_and_those_below) {
        struct net_direct d;

        assert_true(net_direct_parse("*.Example.org:8080", &d));
        assert_true(net_direct_has(&d, "example.org", 8080));
        assert_true(net_direct_has(&d, "a.b.example.org", 8080));
        assert_false(net_direct_has(&d, "example.org", 80));
        assert_false(net_direct_has(&d, "badexample.org", 8080));
        assert_true(net_direct_parse(".example.org", &d));
        assert_true(net_direct_has(&d, "example.org", 1));
        assert_false(net_direct_parse("10.0.0.0/8", &d));
        assert_false(net_direct_parse("*", &d));
        assert_false(net_direct_parse("a:0", &d));
        assert_false(net_direct_parse("a:+1", &d));
        assert_false(net_direct_parse("[::1]", &d));
}

TEST(a_person_is_asked_about_names_of_the_outer_world) {
        static const char *const askable[] = {"a.b", "xn--bcher-kva.example", "_x.example.org",
                                              "a.local.example"};
        static const char *const others[] = {
                "",           "a",          "a.local",     "1.0.0.127.in-addr.arpa",
                "A.b",        "a.b.",       "a..b",        "host.nsrun.internal",
                "1.2",        "a.b\nc.d",   "a.b\033[2Jc", "a.b c.d",
                "a.\xc3\xa4", "x.localhost"};

        for (size_t i = 0; i < ARRAY_SIZE(askable); i++)
                assert_true(net_name_is_askable(askable[i]));
        for (size_t i = 0; i < ARRAY_SIZE(others); i++)
                assert_false(net_name_is_askable(others[i]));
}

static struct net_rules rules_of(char *const *lines) {
        struct net_rules rules = {0};

        assert_int_equal(net_rules_read(lines, &rules), 0);
        return rules;
}
#define RULES(...) rules_of((char *const[]){__VA_ARGS__, NULL})

TEST(rules_say_what_is_meant_and_no_more) {
        _cleanup_net_rules_ struct net_rules rules = RULES(
                (char *)"allow example.org:443", (char *)"allow *.wild.org:443", (char *)"deny bad.wild.org",
                (char *)"deny *.worse.wild.org", (char *)"allow localhost:5432");

        assert_true(net_rules_have_name(&rules, "example.org"));
        assert_true(net_rules_allow_name(&rules, "example.org", 443));
        assert_false(net_rules_allow_name(&rules, "example.org", 80));
        assert_false(net_rules_allow_name(&rules, "example.org", 0));
        assert_false(net_rules_have_name(&rules, "www.example.org"));
        assert_false(net_rules_have_name(&rules, "xexample.org"));
        assert_false(net_rules_have_name(&rules, "org"));
        assert_true(net_rules_allow_name(&rules, "a.wild.org", 443));
        assert_true(net_rules_allow_name(&rules, "a.b.wild.org", 443));
        assert_false(net_rules_have_name(&rules, "wild.org"));
        assert_false(net_rules_have_name(&rules, ".wild.org"));
        assert_false(net_rules_have_name(&rules, "awild.org"));
        assert_false(net_rules_have_name(&rules, "bad.wild.org"));
        assert_true(net_rules_have_name(&rules, "x.bad.wild.org"));
        assert_true(net_rules_have_name(&rules, "worse.wild.org"));
        assert_false(net_rules_have_name(&rules, "x.worse.wild.org"));
        assert_true(net_rules_have_name(&rules, NET_HOST_NAME));
        assert_true(net_rules_allow_host(&rules, 5432));
        assert_false(net_rules_allow_host(&rules, 443));
}

TEST(a_rule_of_udp_is_none_of_tcp) {
        _cleanup_net_rules_ struct net_rules rules =
                RULES((char *)"allow udp:example.org:123", (char *)"allow example.org:443",
                      (char *)"allow udp:localhost:8125", (char *)"allow udp:192.0.2.1:99");
        const struct net_address a = {.bytes = {192, 0, 2, 1}};
        struct net_layout layout;
        size_t n_udp = 0;

        assert_true(net_rules_allow_name(&rules, "example.org", 123 | NET_UDP));
        assert_false(net_rules_allow_name(&rules, "example.org", 123));
        assert_false(net_rules_allow_name(&rules, "example.org", 443 | NET_UDP));
        assert_true(net_rules_allow_host(&rules, 8125 | NET_UDP));
        assert_false(net_rules_allow_host(&rules, 8125));
        assert_true(net_rules_allow_address(&rules, &a, 99 | NET_UDP, false));
        assert_false(net_rules_allow_address(&rules, &a, 99, false));
        assert_int_equal(net_layout_make(&rules, &layout), 0);
        for (size_t i = 0; i < layout.n_sockets; i++) {
                n_udp += layout.sockets[i].kind == NET_SOCKET_UDP;
                if (layout.sockets[i].kind == NET_SOCKET_LISTEN)
                        assert_int_equal(layout.sockets[i].port, 443);
        }
        /* Both families' of the name, of the host and of its loopback; the address. */
        assert_int_equal(n_udp, 7);
        net_layout_clear(&layout);
}

static bool allows(const struct net_rules *rules, const char *address, bool is_own) {
        struct net_address a;

        assert_true(net_address_parse(address, &a));
        return net_rules_allow_address(rules, &a, 80, is_own);
}

TEST(a_wide_range_names_no_address_that_leads_home) {
        _cleanup_net_rules_ struct net_rules wide = RULES((char *)"allow 0.0.0.0/0:80",
                                                          (char *)"allow [::]/0:80"),
                                             narrow = RULES((char *)"allow 10.0.0.0/8:80",
                                                            (char *)"allow 169.254.169.254:80",
                                                            (char *)"allow 192.0.2.1:80",
                                                            (char *)"deny 10.9.0.0/16");

        assert_true(allows(&wide, "192.0.2.1", false));
        assert_false(allows(&wide, "192.0.2.1", true));
        assert_true(allows(&wide, "2001:db8::1", false));
        assert_false(allows(&wide, "10.1.2.3", false));
        assert_false(allows(&wide, "169.254.169.254", false));
        assert_false(allows(&wide, "127.0.0.1", false));
        assert_false(allows(&wide, "::1", false));
        assert_false(allows(&wide, "fd00:ec2::254", false));
        assert_true(allows(&narrow, "10.1.2.3", false));
        assert_true(allows(&narrow, "10.1.2.3", true));
        assert_false(allows(&narrow, "10.9.2.3", false));
        assert_true(allows(&narrow, "169.254.169.254", false));
        assert_false(allows(&narrow, "169.254.169.253", false));
        assert_true(allows(&narrow, "192.0.2.1", true));
        assert_false(allows(&narrow, "192.0.2.2", false));
}

TEST(all_that_leads_home_is_known) {
        static const char *const home[] = {"127.0.0.1",
                                           "127.255.255.255",
                                           "0.0.0.0",
                                           "0.1.2.3",
                                           "10.0.0.0",
                                           "10.255.255.255",
                                           "172.16.0.1",
                                           "172.31.255.255",
                                           "192.168.0.1",
                                           "169.254.169.254",
                                           "100.64.0.1",
                                           "100.100.100.200",
                                           "100.127.255.255",
                                           "192.0.0.192",
                                           "168.63.129.16",
                                           "198.18.0.1",
                                           "198.19.255.255",
                                           "224.0.0.1",
                                           "239.255.255.255",
                                           "255.255.255.255",
                                           "::",
                                           "::1",
                                           "::127.0.0.1",
                                           "::ffff:127.0.0.1",
                                           "::ffff:169.254.169.254",
                                           "fe80::1",
                                           "fec0::1",
                                           "fc00::1",
                                           "fd00:ec2::254",
                                           "fdff::1",
                                           "ff02::1",
                                           "64:ff9b::7f00:1",
                                           "64:ff9b::a9fe:a9fe",
                                           "::ffff:0:a9fe:a9fe",
                                           "64:ff9b:1::1",
                                           "2002:7f00:1::1",
                                           "2002:a9fe:a9fe::",
                                           "2001:0:1::1"};
        static const char *const away[] = {
                "1.1.1.1",         "9.255.255.255",   "11.0.0.0",       "172.15.255.255", "172.32.0.0",
                "192.167.0.1",     "169.253.0.1",     "100.63.255.255", "100.128.0.0",    "198.17.0.1",
                "198.20.0.0",      "223.255.255.255", "2001:db8::1",    "2606:4700::1",   "64:ff9b::808:808",
                "2002:808:808::1", "168.63.129.17"};
        struct net_address a;

        for (size_t i = 0; i < ARRAY_SIZE(home); i++) {
                assert_true(net_address_parse(home[i], &a));
                assert_non_null(net_address_home(&a));
        }
        for (size_t i = 0; i < ARRAY_SIZE(away); i++) {
                assert_true(net_address_parse(away[i], &a));
                assert_null(net_address_home(&a));
        }
}

/* An address that stands for a denied one is denied. */
TEST(a_denied_address_is_denied_by_each_of_its_names) {
        char allow[] = "allow [::]/0:80", deny[] = "deny 8.8.8.0/24";
        char *const lines[] = {allow, deny, NULL};
        static const char *const denied[] = {"8.8.8.8", "::ffff:8.8.8.8", "64:ff9b::808:808",
                                             "::ffff:0:808:808", "2002:808:808::1"};
        _cleanup_net_rules_ struct net_rules rules = {0};
        struct net_address a;

        assert_int_equal(net_rules_read(lines, &rules), 0);
        for (size_t i = 0; i < ARRAY_SIZE(denied); i++) {
                assert_true(net_address_parse(denied[i], &a));
                if (!net_rules_deny_address(&rules, &a) || net_rules_allow_address(&rules, &a, 80, false))
                        fail_msg("%s isn't denied", denied[i]);
        }
        assert_true(net_address_parse("64:ff9b::909:909", &a));
        assert_false(net_rules_deny_address(&rules, &a));
}

TEST(every_number_has_its_addresses) {
        static const uint32_t numbers[] = {NET_INDEX_OWN, NET_INDEX_HOST, NET_INDEX_NAMES,  255,
                                           256,           65536,          NET_INDEX_END - 1};
        struct net_address a;
        uint32_t index;

        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
                for (int is_v6 = 0; is_v6 < 2; is_v6++) {
                        a = net_index_address(numbers[i], is_v6);
                        assert_true(net_address_index(&a, &index));
                        assert_int_equal(index, numbers[i]);
                }
        assert_true(net_address_parse("198.20.0.0", &a));
        assert_false(net_address_index(&a, &index));
        assert_true(net_address_parse("fd6e:7372:756e::2:0", &a));
        assert_false(net_address_index(&a, &index));
}

TEST(the_shipped_lists_are_rules) {
        for (size_t i = 0; i < n_net_lists; i++) {
                assert_true(i == 0 || strcmp(net_lists[i - 1].name, net_lists[i].name) < 0);
                for (const char *const *host = net_lists[i].hosts; *host; host++) {
                        struct net_rule rule;

                        assert_null(net_rule_parse(*host, false, &rule));
                        assert_true(rule.kind == NET_RULE_NAME || rule.kind == NET_RULE_WILDCARD);
                }
        }
        assert_ptr_equal(net_list_find("npm"), net_list_find("npm"));
        assert_null(net_list_find("@npm"));
}

/* Names that nobody is connected to make room; those that are held stay. */
TEST(a_pool_is_bounded_and_keeps_what_is_held) {
        _cleanup_net_rules_ struct net_rules rules =
                RULES((char *)"allow fixed.org:80", (char *)"allow *.org:80");
        struct net_layout layout;
        struct net_pool *pool;
        uint32_t held, n = 0;
        char name[32];

        assert_int_equal(net_layout_make(&rules, &layout), 0);
        pool = net_pool_new(&layout);
        assert_int_equal(net_pool_find(pool, "fixed.org"), NET_INDEX_NAMES);
        held = net_pool_find(pool, "held.org");
        net_pool_hold(pool, held);
        for (size_t i = 0; i < 3 * NET_POOL_MOST; i++) {
                (void)snprintf(name, sizeof(name), "n%zu.org", i);
                n = net_pool_find(pool, name);
                assert_true(n > NET_INDEX_NAMES && n <= NET_INDEX_NAMES + NET_POOL_MOST && n != held);
                assert_string_equal(net_pool_name(pool, n), name);
        }
        assert_int_equal(net_pool_find(pool, "held.org"), held);
        assert_int_equal(net_pool_find(pool, "fixed.org"), NET_INDEX_NAMES);
        net_pool_release(pool, held);
        assert_null(net_pool_name(pool, NET_INDEX_HOST));
        assert_null(net_pool_name(pool, NET_INDEX_END));
        net_pool_free(pool);
        net_layout_clear(&layout);
}

/* ------------------------------------------------------------------- packets */

static const uint8_t question[] = {0x12, 0x34, 1, 0,   0,   1,   0, 0, 0, 0, 0, 0,
                                   1,    'A',  3, 'o', 'R', 'g', 0, 0, 1, 0, 1};

TEST(a_question_is_answered) {
        struct net_address v4 = net_index_address(16, false);
        uint8_t to[DNS_ANSWER_MOST];
        struct dns_query query;

        assert_int_equal(dns_read_query(question, sizeof(question), &query), DNS_OK);
        assert_string_equal(query.name, "a.org");
        assert_int_equal(query.type, DNS_TYPE_A);
        assert_int_equal(dns_write_answer(question, &query, DNS_OK, &v4, NULL, to), sizeof(question) + 16);
        assert_memory_equal(to, question, 2);
        assert_int_equal(to[2], 0x85);
        assert_int_equal(to[3], 0x80);
        assert_int_equal(to[7], 1);
        assert_memory_equal(to + 12, question + 12, sizeof(question) - 12);
        assert_memory_equal(to + sizeof(question) + 12, v4.bytes, 4);
        assert_int_equal(dns_write_answer(question, &query, DNS_NO_NAME, &v4, NULL, to), sizeof(question));
        assert_int_equal(to[3], 0x83);
}

TEST(a_packet_that_is_no_question_is_not_believed) {
        uint8_t bytes[sizeof(question)];
        struct dns_query query;

        for (size_t n = 0; n < sizeof(question); n++)
                assert_int_equal(dns_read_query(question, n, &query), n < 12 ? -EBADMSG : DNS_MALFORMED);
        memcpy(bytes, question, sizeof(bytes));
        bytes[2] |= 0x80;
        assert_int_equal(dns_read_query(bytes, sizeof(bytes), &query), -EBADMSG);
        memcpy(bytes, question, sizeof(bytes));
        bytes[2] = 5 << 3;
        assert_int_equal(dns_read_query(bytes, sizeof(bytes), &query), DNS_UNKNOWN);
        memcpy(bytes, question, sizeof(bytes));
        bytes[5] = 2;
        assert_int_equal(dns_read_query(bytes, sizeof(bytes), &query), DNS_MALFORMED);
        /* A pointer to itself. */
        memcpy(bytes, question, sizeof(bytes));
        bytes[12] = 0xc0;
        bytes[13] = 12;
        assert_int_equal(dns_read_query(bytes, sizeof(bytes), &query), DNS_MALFORMED);
        /* A dot within a label is no dot. */
        memcpy(bytes, question, sizeof(bytes));
        bytes[16] = '.';
        assert_int_equal(dns_read_query(bytes, sizeof(bytes), &query), DNS_OK);
        assert_string_equal(query.name, "");
}

/* One of 254 bytes would be looked up without its last one: a.com as a.co. */
TEST(no_name_is_longer_than_names_are) {
        for (size_t length = NET_NAME_MOST - 1; length <= NET_NAME_MOST + 1; length++) {
                uint8_t bytes[DNS_ANSWER_MOST] = {[2] = 1, [5] = 1};
                struct dns_query query;
                size_t n = 12;

                for (size_t left = length + 1; left > 0;) {
                        size_t label = left > 64 ? 63 : left - 1;

                        bytes[n++] = (uint8_t)label;
                        memset(bytes + n, 'a', label);
                        n += label;
                        left -= label + 1;
                }
                bytes[n + 1] = 0x1b; /* a type */
                bytes[n + 2] = 'c';
                bytes[n + 4] = 1;
                assert_int_equal(dns_read_query(bytes, n + 5, &query),
                                 length > NET_NAME_MOST ? DNS_MALFORMED : DNS_OK);
                if (length <= NET_NAME_MOST)
                        assert_ptr_equal(memchr(query.name, '\0', sizeof(query.name)), query.name + length);
        }
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun learn` where the network has names: the hosts that were used stand in the file, and no other. */
#include "base/str.h"
#include "net.h"
#include "net/journal.h"
#include "net/rules.h"
#include "run/network.h"

static const char hosts[] = "203.0.113.5 good.test a.wild.test b.wild.test other.test\n";

TEST(hosts_that_were_used_are_learned_and_others_are_not_reached_then) {
        const struct site *s = *state;
        _cleanup_free_ char *file = path_of(s->outside, "learned.json"), *text = NULL,
                            *config = text_of("--config=%s", file);
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;

        world_make(s, &w, hosts);
        w.command = "learn";
        WORLD_RUN(&w, &o,
                  OPTIONS("--net=allow", "--allow=good.test:8080", "--allow=*.wild.test:8080", "-o", file),
                  "reach", "good.test:8080", "a.wild.test:8080", "other.test:8080");
        expect_out(&o, "good.test:8080: to 203.0.113.5: 2 bytes\na.wild.test:8080: to 203.0.113.5: 2 "
                       "bytes\nother.test:8080: no such name\n");
        expect_in(o.err, "nsrun: learned: 0 rules, 2 hosts; ");
        text = file_text(file);
        /* The rules that allowed more don't stand there. */
        expect_in(text,
                  "    \"net\": \"allow\",\n    \"allow\": [\"good.test:8080\", \"a.wild.test:8080\"],\n");
        expect_in(text, "\"other.test: asked for, not given: no rule allows the host\"");
        w.command = "run";
        WORLD_RUN(&w, &o, OPTIONS(config), "reach", "good.test:8080", "a.wild.test:8080",
                  "b.wild.test:8080");
        expect_out(&o, "good.test:8080: to 203.0.113.5: 2 bytes\na.wild.test:8080: to 203.0.113.5: 2 "
                       "bytes\nb.wild.test:8080: no such name\n");
        WORLD_CONTROL(&w, &o, "reach", "b.wild.test:8080");
        expect_out(&o, "b.wild.test:8080: to 203.0.113.5: 2 bytes\n");
}

TEST(an_address_is_written_as_a_rule_takes_it) {
        static struct net_journal journal;
        const struct network n = {.journal = &journal};
        _cleanup_strv_ char **used = NULL, **refused = NULL;
        struct net_rule rule;

        (void)net_journal_count(&journal, NET_TALLY_CONNECTED, "2001:db8::1", 8443, NULL);
        (void)net_journal_count(&journal, NET_TALLY_CONNECTED, NET_HOST_UDP "2001:db8::1", 443, NULL);
        (void)net_journal_count(&journal, NET_TALLY_CONNECTED, "203.0.113.5", 443, NULL);
        (void)net_journal_count(&journal, NET_TALLY_CONNECTED, NET_HOST_UDP "good.test", 443, NULL);
        (void)net_journal_count(&journal, NET_EVENT_PORT, "2001:db8::2", 22, NULL);
        assert_int_equal(network_used(&n, &used, &refused), 0);
        assert_string_equal(used[0], "[2001:db8::1]:8443");
        assert_string_equal(used[1], "udp:[2001:db8::1]:443");
        assert_string_equal(used[2], "203.0.113.5:443");
        assert_string_equal(used[3], "udp:good.test:443");
        assert_string_equal(refused[0], "[2001:db8::2]:22");
        STRV_FOREACH (host, used)
                assert_null(net_rule_parse(*host, false, &rule));
}

int main(int argc, char **argv) {
        client_main(argc, argv);
        return run_all_tests();
}

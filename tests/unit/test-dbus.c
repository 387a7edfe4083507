/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* desktop/dbus.c: addresses of buses, rules of --dbus, and names that give a sandbox away. */
#include "scratch.h"

#include "desktop/dbus.h"

static const struct {
        const char *list;
        const char *found[3];
        int end; /* what comes after those */
} lists[] = {
        {"", {NULL}, 0},
        {";;", {NULL}, 0},
        {"unix:path=/run/user/1000/bus", {"/run/user/1000/bus"}, 0},
        {"unix:path=/run/bus,guid=0123", {"/run/bus"}, 0},
        {"unix:guid=0123,path=/run/bus", {"/run/bus"}, 0},
        {"unix:abstract=/tmp/dbus-x", {"@/tmp/dbus-x"}, 0},
        {"unix:path=/a%20b%2C%3b%25", {"/a b,;%"}, 0},
        {"tcp:host=localhost,port=1;unix:path=/a;unixexec:path=/bin/sh;unix:abstract=b", {"/a", "@b"}, 0},
        {"unix:tmpdir=/tmp;autolaunch:;unix:runtime=yes", {NULL}, 0},
        {"unix:path=/a;nonsense", {"/a"}, -EBADMSG},
        {":path=/a", {NULL}, -EBADMSG},
        {"unix:path", {NULL}, -EBADMSG},
        {"unix:=/a", {NULL}, -EBADMSG},
        {"unix:path=", {NULL}, -EBADMSG},
        {"unix:path=a", {NULL}, -EBADMSG},
        {"unix:path=/a%", {NULL}, -EBADMSG},
        {"unix:path=/a%2", {NULL}, -EBADMSG},
        {"unix:path=/a%00b", {NULL}, -EBADMSG},
        {"unix:path=/a%g0", {NULL}, -EBADMSG},
        {"unix:path=/a,path=/b", {NULL}, -EBADMSG},
        {"unix:path=/a,abstract=b", {NULL}, -EBADMSG},
};

TEST(addresses_are_read) {
        for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
                const char *at = lists[i].list;
                _cleanup_free_ char *last = NULL;

                for (size_t k = 0; k < ARRAY_SIZE(lists[i].found) && lists[i].found[k]; k++) {
                        _cleanup_free_ char *found = NULL;

                        assert_int_equal(dbus_address_next(&at, &found), 1);
                        assert_string_equal(found, lists[i].found[k]);
                }
                if (dbus_address_next(&at, &last) != lists[i].end)
                        fail_msg("%s", lists[i].list);
        }
}

TEST(a_long_abstract_name_is_no_address) {
        char list[200] = "unix:abstract=";
        const char *at = list;
        _cleanup_free_ char *found = NULL, *none = NULL;

        memset(list + strlen(list), 'x', 107);
        assert_int_equal(dbus_address_next(&at, &found), 1);
        list[strlen(list)] = 'x';
        at = list;
        assert_int_equal(dbus_address_next(&at, &none), -EBADMSG);
}

TEST(an_abstract_name_is_escaped_and_read_again) {
        _cleanup_free_ char *address = dbus_address_of_abstract("a b,c;d=%\xff\n/e"), *found = NULL;
        const char *at = address;

        assert_string_equal(address, "unix:abstract=a%20b%2cc%3bd%3d%25%ff%0a/e");
        assert_int_equal(dbus_address_next(&at, &found), 1);
        assert_string_equal(found, "@a b,c;d=%\xff\n/e");
}

static const struct {
        const char *value, *option;
        size_t length;
        int result;
} rules[] = {
        {"org.example", "--talk", 11, 0},
        {"talk=org.example.*", "--talk", 13, 0},
        {"own=org.ex-ample._1", "--own", 15, 0},
        {"see=a.b", "--see", 3, 0},
        {"call=a.b=*", "--call", 3, 0},
        {"call=a.b=@/", "--call", 3, 0},
        {"call=a.b=*@/x/*", "--call", 3, 0},
        {"call=a.b=c.d.E@/x/y_1", "--call", 3, 0},
        {"broadcast=a.*=c.d.*", "--broadcast", 3, -EINVAL},
        {"broadcast=a.b.*=c.d.*", "--broadcast", 5, 0},
        {"org.freedesktop.DBus", NULL, 0, -EPERM},
        {"own=org.freedesktop.DBus", NULL, 0, -EPERM},
        {"org.freedesktop.DBus.x", "--talk", 22, 0},
        {"", NULL, 0, -EINVAL},
        {"org", NULL, 0, -EINVAL},
        {"org.", NULL, 0, -EINVAL},
        {".org.x", NULL, 0, -EINVAL},
        {"org..x", NULL, 0, -EINVAL},
        {"org.*", NULL, 0, -EINVAL},
        {"*", NULL, 0, -EINVAL},
        {"org.1x", NULL, 0, -EINVAL},
        {":1.5", NULL, 0, -EINVAL},
        {"org.x.*y", NULL, 0, -EINVAL},
        {"org.x y", NULL, 0, -EINVAL},
        {"org.x\n", NULL, 0, -EINVAL},
        {"org.x=", NULL, 0, -EINVAL},
        {"say=org.x", NULL, 0, -EINVAL},
        {"call=a.b", NULL, 0, -EINVAL},
        {"call=a.b=", NULL, 0, -EINVAL},
        {"call=a.b=c", NULL, 0, -EINVAL},
        {"call=a.b=c-d.e", NULL, 0, -EINVAL},
        {"call=a.b=**", NULL, 0, -EINVAL},
        {"call=a.b=c.d@", NULL, 0, -EINVAL},
        {"call=a.b=c.d@x", NULL, 0, -EINVAL},
        {"call=a.b=c.d@//", NULL, 0, -EINVAL},
        {"call=a.b=c.d@/x*", NULL, 0, -EINVAL},
        {"call=a.b=c.d@/*x", NULL, 0, -EINVAL},
};

TEST(rules_are_read) {
        for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
                struct dbus_rule rule = {.length = 0};

                if (dbus_rule_read(rules[i].value, &rule) != rules[i].result)
                        fail_msg("%s", rules[i].value);
                if (rules[i].result == 0) {
                        assert_string_equal(rule.option, rules[i].option);
                        assert_int_equal(rule.length, rules[i].length);
                }
        }
}

TEST(names_that_give_the_sandbox_away_are_known) {
        static const struct {
                const char *value;
                bool is_known;
        } names[] = {
                {"org.freedesktop.systemd1", true},   {"org.freedesktop.systemd1.*", true},
                {"org.freedesktop.*", true},          {"call=org.gnome.Shell=*", true},
                {"org.gnome.Shell.Extensions", true}, {"org.gtk.vfs.Daemon", true},
                {"org.kde.kwalletd6", true},          {"org.freedesktop.systemd", false},
                {"org.freedesktop.systemd10", false}, {"org.freedesktop.Notifications", false},
                {"org.gnome.ShellX", false},          {"org.example.*", false},
        };

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                struct dbus_rule rule;

                assert_int_equal(dbus_rule_read(names[i].value, &rule), 0);
                if (names[i].is_known != (dbus_rule_power(&rule) != NULL))
                        fail_msg("%s", names[i].value);
        }
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the sandbox has of the host's /etc: an allowlist, and nothing private that
 * stands within it.  The host's /etc is a staged one, so that every machine has the same. */
#include "stage.h"

static const char list[] =
        "cd /etc && find * -type f ! -name passwd ! -name group ! -name hostname | LC_ALL=C sort";

/* With its own name as its text. */
static void make_staged(const char *name) {
        _cleanup_free_ char *path = text_of("/etc/%s", name);

        for (char *slash = path + strlen("/etc/"); (slash = strchr(slash, '/')); slash++) {
                *slash = '\0';
                if (mkdir(path, 0755) < 0 && errno != EEXIST)
                        stage_fail(path);
                *slash = '/';
        }
        stage_make_file(path, name);
}

/* A host with certificates, keys, a JDK and Maven; `data`: the names of its files. */
static void stage_etc(void *data) {
        static const char jvm[] = "/usr/lib/jvm";
        const char *const *names = data;

        stage_enter();
        stage_tmpfs("/etc", 0);
        for (; *names; names++)
                make_staged(*names);
        if (access(jvm, F_OK) < 0)
                return;
        stage_tmpfs(jvm, 0);
        if (mkdir("/usr/lib/jvm/java-99-openjdk-amd64", 0755) < 0)
                stage_fail(jvm);
}

/* Lists the files inside, and outside as the control; then compares. */
static void compare(const struct site *s, const char *const *names, const char *outside,
                    const char *inside) {
        const char *const on_host[] = {"sh", "-c", list, NULL};
        _cleanup_free_ const char **in_sandbox = nsrun_argv(s, OPTIONS("--", "sh", "-c", list));
        struct request request = {
                .argv = on_host, .cwd = s->root, .in_child = stage_etc, .data = (void *)(uintptr_t)names};
        _cleanup_outcome_ struct outcome o = {0};

        run(&request, &o);
        expect_out(&o, outside);
        outcome_clear(&o);
        request.argv = in_sandbox;
        run(&request, &o);
        expect_out(&o, inside);
}

TEST(certificates_are_there_and_private_keys_are_not) {
        static const char *const names[] = {"ssl/certs/ca.pem",      "ssl/private/key.pem",
                                            "ssl/openssl.cnf",       "pki/tls/certs/ca.pem",
                                            "pki/tls/private/k.key", "pki/CA/private/ca.key",
                                            "pki/entitlement/x.pem", "pki/consumer/key.pem",
                                            "pki/ca-trust/cert.pem", NULL};

        compare(*state, names,
                "pki/CA/private/ca.key\npki/ca-trust/cert.pem\npki/consumer/key.pem\n"
                "pki/entitlement/x.pem\npki/tls/certs/ca.pem\npki/tls/private/k.key\n"
                "ssl/certs/ca.pem\nssl/openssl.cnf\nssl/private/key.pem\n",
                "pki/ca-trust/cert.pem\npki/tls/certs/ca.pem\nssl/certs/ca.pem\nssl/openssl.cnf\n");
}

/* The machine's own, whoever may enter its folder of keys. */
TEST(the_machines_private_keys_are_not_visible) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        if (access("/etc/ssl/private", F_OK) < 0 || access("/etc/ssl/certs", F_OK) < 0)
                skip_because("skipped: this machine has no /etc/ssl/certs or no /etc/ssl/private");
        run_inside(s, &o,
                   "ls -A /etc/ssl/private 2>/dev/null; ls -A /etc/ssl/certs >/dev/null && echo certs");
        expect_status(&o, 0);
        expect_out(&o, "certs\n");
}

TEST(the_mounts_are_found_by_their_old_name) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        run_inside(s, &o,
                   "readlink /etc/mtab; cmp /etc/mtab /proc/self/mounts && df . >/dev/null && echo same");
        expect_out(&o, "../proc/self/mounts\nsame\n");
}

TEST(maven_gets_its_settings_and_no_password) {
        static const char *const names[] = {"maven/m2.conf", "maven/logging/simplelogger.properties",
                                            "maven/settings.xml", "mavenrc", NULL};

        compare(*state, names,
                "maven/logging/simplelogger.properties\nmaven/m2.conf\nmaven/settings.xml\nmavenrc\n",
                "maven/logging/simplelogger.properties\nmaven/m2.conf\n");
}

FULL_TEST(a_jdk_gets_its_settings_and_no_password, site_setup, site_teardown) {
#define SETTINGS "java-99-openjdk/management/management.properties", "java-99-openjdk/security/java.security"
        static const char *const without[] = {SETTINGS, "java-99/x", NULL},
                                 *const with[] = {SETTINGS, "java-99-openjdk/management/jmxremote.password",
                                                  NULL},
                                 *const fedora[] = {"java/java-99-openjdk/security/java.security",
                                                    "java/java.conf", NULL};

        if (access("/usr/lib/jvm", F_OK) < 0)
                skip_because("skipped: no JDK is installed");
        compare(*state, without,
                "java-99-openjdk/management/management.properties\njava-99-openjdk/security/java.security\n"
                "java-99/x\n",
                "java-99-openjdk/management/management.properties\njava-99-openjdk/security/java.security\n");
        /* Where it holds a password the folder is hidden. */
        compare(*state, with,
                "java-99-openjdk/management/jmxremote.password\n"
                "java-99-openjdk/management/management.properties\njava-99-openjdk/security/java.security\n",
                "java-99-openjdk/security/java.security\n");
        compare(*state, fedora, "java/java-99-openjdk/security/java.security\njava/java.conf\n",
                "java/java-99-openjdk/security/java.security\n");
}

static char large[20000];

static void stage_sizes(nsrun_unused void *data) {
        stage_enter();
        stage_tmpfs("/etc", 0);
        stage_make_file("/etc/services", "one\n");
        stage_make_file("/etc/hosts", "one\n");
        stage_make_file("/etc/protocols", "");
        memset(large, 'x', sizeof(large) - 1);
        stage_make_file("/etc/mime.types", large);
        if (mkfifo("/etc/manpath.config", 0644) < 0)
                stage_fail("/etc/manpath.config");
}

/* What changes meanwhile, or is large, is bound. */
TEST(small_files_that_do_not_change_are_copied) {
        const struct site *s = *state;
        _cleanup_free_ const char **argv = nsrun_argv(
                s, OPTIONS("--", "sh", "-c",
                           "cat /etc/services; wc -c </etc/mime.types; wc -c </etc/protocols; "
                           "cut -d' ' -f5 /proc/self/mountinfo | grep ^/etc/; echo x >>/etc/services"));
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = argv, .cwd = s->root, .in_child = stage_sizes}, &o);
        expect_out(&o, "one\n19999\n0\n/etc/hosts\n/etc/manpath.config\n/etc/mime.types\n/etc/protocols\n");
        expect_in(o.err, "cannot create /etc/services");
}

int main(void) {
        return run_all_tests();
}

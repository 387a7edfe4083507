/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* resolve/environment.c: what the command inherits, what it doesn't, and that the
 * man page's list is the code's. */
#include "environment.h"
#include "manual.h"

/* Each pattern with its reason, a name that it alone withholds, and one beside it that passes. */
static const struct {
        const char *pattern, *reason, *example, *near_miss;
} patterns[] = {
        {"SSH_AUTH_SOCK", "unreachable", "SSH_AUTH_SOCK", "SSH_AUTH_SOCKX"},
        {"SSH_AGENT_PID", "unreachable", "SSH_AGENT_PID", "SSH_AGENT_PIDX"},
        {"SSH_AGENT_LAUNCHER", "unreachable", "SSH_AGENT_LAUNCHER", "SSH_AGENT_LAUNCHERX"},
        {"SSH_TTY", "unreachable", "SSH_TTY", "SSH_TTYX"},
        {"SSH_ASKPASS*", "unreachable", "SSH_ASKPASSS", "SSH_ASKPAS"},
        {"GIT_ASKPASS", "unreachable", "GIT_ASKPASS", "GIT_ASKPASSX"},
        {"SUDO_ASKPASS", "unreachable", "SUDO_ASKPASS", "SUDO_ASKPASSX"},
        {"GPG_AGENT_INFO", "unreachable", "GPG_AGENT_INFO", "GPG_AGENT_INFOX"},
        {"GPG_TTY", "unreachable", "GPG_TTY", "GPG_TTYX"},
        {"GNOME_KEYRING_*", "unreachable", "GNOME_KEYRING_S", "GNOME_KEYRING"},
        {"DBUS_*", "unreachable", "DBUS_S", "DBUS"},
        {"AT_SPI_BUS_ADDRESS", "unreachable", "AT_SPI_BUS_ADDRESS", "AT_SPI_BUS_ADDRESSX"},
        {"XDG_RUNTIME_DIR", "unreachable", "XDG_RUNTIME_DIR", "XDG_RUNTIME_DIRX"},
        {"DISPLAY", "unreachable", "DISPLAY", "DISPLAYX"},
        {"WAYLAND_DISPLAY", "unreachable", "WAYLAND_DISPLAY", "WAYLAND_DISPLAYX"},
        {"WAYLAND_SOCKET", "unreachable", "WAYLAND_SOCKET", "WAYLAND_SOCKETX"},
        {"XAUTHORITY", "unreachable", "XAUTHORITY", "XAUTHORITYX"},
        {"ICEAUTHORITY", "unreachable", "ICEAUTHORITY", "ICEAUTHORITYX"},
        {"SESSION_MANAGER", "unreachable", "SESSION_MANAGER", "SESSION_MANAGERX"},
        {"PULSE_SERVER", "unreachable", "PULSE_SERVER", "PULSE_SERVERX"},
        {"PIPEWIRE_*", "unreachable", "PIPEWIRE_S", "PIPEWIRE"},
        {"I3SOCK", "unreachable", "I3SOCK", "I3SOCKX"},
        {"SWAYSOCK", "unreachable", "SWAYSOCK", "SWAYSOCKX"},
        {"NIRI_SOCKET", "unreachable", "NIRI_SOCKET", "NIRI_SOCKETX"},
        {"KITTY_LISTEN_ON", "unreachable", "KITTY_LISTEN_ON", "KITTY_LISTEN_ONX"},
        {"TMUX", "unreachable", "TMUX", "TMUXX"},
        {"TMUX_PANE", "unreachable", "TMUX_PANE", "TMUX_PANEX"},
        {"STY", "unreachable", "STY", "STYX"},
        {"NVIM", "unreachable", "NVIM", "NVIMX"},
        {"NVIM_LISTEN_ADDRESS", "unreachable", "NVIM_LISTEN_ADDRESS", "NVIM_LISTEN_ADDRESSX"},
        {"VSCODE_IPC_*", "unreachable", "VSCODE_IPC_S", "VSCODE_IPC"},
        {"VSCODE_GIT_*", "unreachable", "VSCODE_GIT_S", "VSCODE_GIT"},
        {"DOCKER_HOST", "unreachable", "DOCKER_HOST", "DOCKER_HOSTX"},
        {"DOCKER_CONTEXT", "unreachable", "DOCKER_CONTEXT", "DOCKER_CONTEXTX"},
        {"DOCKER_CERT_PATH", "unreachable", "DOCKER_CERT_PATH", "DOCKER_CERT_PATHX"},
        {"DOCKER_CONFIG", "unreachable", "DOCKER_CONFIG", "DOCKER_CONFIGX"},
        {"CONTAINER_HOST", "unreachable", "CONTAINER_HOST", "CONTAINER_HOSTX"},
        {"CONTAINERD_ADDRESS", "unreachable", "CONTAINERD_ADDRESS", "CONTAINERD_ADDRESSX"},
        {"BUILDKIT_HOST", "unreachable", "BUILDKIT_HOST", "BUILDKIT_HOSTX"},
        {"KUBECONFIG", "unreachable", "KUBECONFIG", "KUBECONFIGX"},
        {"LISTEN_FDS", "unreachable", "LISTEN_FDS", "LISTEN_FDSX"},
        {"LISTEN_PID", "unreachable", "LISTEN_PID", "LISTEN_PIDX"},
        {"LISTEN_FDNAMES", "unreachable", "LISTEN_FDNAMES", "LISTEN_FDNAMESX"},
        {"LISTEN_PIDFDID", "unreachable", "LISTEN_PIDFDID", "LISTEN_PIDFDIDX"},
        {"NOTIFY_SOCKET", "unreachable", "NOTIFY_SOCKET", "NOTIFY_SOCKETX"},
        {"WATCHDOG_PID", "unreachable", "WATCHDOG_PID", "WATCHDOG_PIDX"},
        {"WATCHDOG_USEC", "unreachable", "WATCHDOG_USEC", "WATCHDOG_USECX"},
        {"MAINPID", "unreachable", "MAINPID", "MAINPIDX"},
        {"SYSTEMD_EXEC_PID", "unreachable", "SYSTEMD_EXEC_PID", "SYSTEMD_EXEC_PIDX"},
        {"TMPDIR", "unreachable", "TMPDIR", "TMPDIRX"},
        {"TMP", "unreachable", "TMP", "TMPX"},
        {"TEMP", "unreachable", "TEMP", "TEMPX"},
        {"OLDPWD", "unreachable", "OLDPWD", "OLDPWDX"},
        {"AWS_*", "secret", "AWS_S", "AWS"},
        {"AZURE_*", "secret", "AZURE_S", "AZURE"},
        {"ARM_CLIENT_*", "secret", "ARM_CLIENT_S", "ARM_CLIENT"},
        {"VAULT_*", "secret", "VAULT_S", "VAULT"},
        {"OP_SESSION_*", "secret", "OP_SESSION_S", "OP_SESSION"},
        {"BW_SESSION", "secret", "BW_SESSION", "BW_SESSIONX"},
        {"*TOKEN", "secret", "MYTOKEN", "MYTOKENS"},
        {"*_TOKEN_*", "secret", "MY_TOKEN_S", "_TOKENX"},
        {"*SECRET*", "secret", "MYSECRETS", "SECRE"},
        {"*PASSWORD*", "secret", "MYPASSWORDS", "PASSWOR"},
        {"*PASSWD*", "secret", "MYPASSWDS", "PASSW"},
        {"*PASSPHRASE*", "secret", "MYPASSPHRASES", "PASSPHRAS"},
        {"*_PASS", "secret", "MY_PASS", "MY_PASSS"},
        {"*PASSCOMMAND", "secret", "MYPASSCOMMAND", "MYPASSCOMMANDS"},
        {"*PASSFILE", "secret", "MYPASSFILE", "MYPASSFILES"},
        {"SSHPASS", "secret", "SSHPASS", "SSHPASSX"},
        {"MYSQL_PWD", "secret", "MYSQL_PWD", "MYSQL_PWDX"},
        {"*CREDENTIAL*", "secret", "MYCREDENTIALS", "CREDENTIA"},
        {"*APIKEY*", "secret", "MYAPIKEYS", "APIKE"},
        {"*API_KEY*", "secret", "MYAPI_KEYS", "API_KE"},
        {"*ACCESS_KEY*", "secret", "MYACCESS_KEYS", "ACCESS_KE"},
        {"*PRIVATE_KEY*", "secret", "MYPRIVATE_KEYS", "PRIVATE_KE"},
        {"*SIGNING_KEY*", "secret", "MYSIGNING_KEYS", "SIGNING_KE"},
        {"*ENCRYPTION_KEY*", "secret", "MYENCRYPTION_KEYS", "ENCRYPTION_KE"},
        {"*MASTER_KEY*", "secret", "MYMASTER_KEYS", "MASTER_KE"},
        {"*_KEY", "secret", "MY_KEY", "MY_KEYS"},
        {"*_PAT", "secret", "MY_PAT", "MY_PATS"},
        {"*_JWT", "secret", "MY_JWT", "MY_JWTS"},
        {"*COOKIE", "secret", "COOKIE", "COOKIEX"},
        {"*_AUTH", "secret", "MY_AUTH", "MY_AUTHS"},
        {"*_BEARER", "secret", "MY_BEARER", "MY_BEARERS"},
        {"PASS", "secret", "PASS", "PASSX"},
        {"DBPASS", "secret", "DBPASS", "DBPASSX"},
        {"*USERPASS*", "secret", "MYUSERPASSS", "USERPAS"},
        {"*STOREPASS*", "secret", "MYSTOREPASSS", "STOREPAS"},
        {"*KEYPASS*", "secret", "MYKEYPASSS", "KEYPAS"},
        {"*USERPWD*", "secret", "MYUSERPWDS", "USERPW"},
        {"*DB_PWD", "secret", "MYDB_PWD", "DB_PWDS"},
        {"*_PW", "secret", "MY_PW", "MY_PWS"},
        {"*BINDPW", "secret", "LDAPBINDPW", "BINDPWS"},
        {"ROOTPW", "secret", "ROOTPW", "ROOTPWX"},
        {"*_PSW", "secret", "MY_PSW", "MY_PSWX"},
        {"*CREDS*", "secret", "MYCREDSX", "CREDX"},
        {"*_CRED", "secret", "MY_CRED", "MY_CREDX"},
        {"*PRIVKEY*", "secret", "MYPRIVKEYS", "PRIVKE"},
        {"*PRIV_KEY*", "secret", "MYPRIV_KEYS", "PRIV_KE"},
        {"*PRIVATEKEY*", "secret", "MYPRIVATEKEYS", "PRIVATEKE"},
        {"*AUTHKEY*", "secret", "MYAUTHKEYS", "AUTHKE"},
        {"*AUTH_KEY*", "secret", "MYAUTH_KEYS", "AUTH_KE"},
        {"*ACCOUNT_KEY*", "secret", "MYACCOUNT_KEYS", "ACCOUNT_KE"},
        {"*SERVICE_KEY*", "secret", "MYSERVICE_KEYS", "SERVICE_KE"},
        {"*DEPLOY_KEY*", "secret", "MYDEPLOY_KEYS", "DEPLOY_KE"},
        {"*SSH_KEY*", "secret", "MYSSH_KEYS", "SSH_KE"},
        {"*MNEMONIC*", "secret", "MYMNEMONICS", "MNEMONI"},
        {"*SEED_PHRASE*", "secret", "MYSEED_PHRASES", "SEED_PHRAS"},
        {"*TOTP*", "secret", "TOTP_SEED", "TOT_P"},
        {"*SERVICE_ROLE*", "secret", "SUPABASE_SERVICE_ROLE", "SERVICE_ROL"},
        {"PAT", "secret", "PAT", "PATX"},
        {"JWT", "secret", "JWT", "JWTX"},
        {"*_JWT_*", "secret", "MY_JWT_V2", "MYJWT_V2"},
        {"BEARER", "secret", "BEARER", "BEARERX"},
        {"*COOKIES", "secret", "MYCOOKIES", "COOKIESX"},
        {"*AUTHORIZATION*", "secret", "MYAUTHORIZATIONS", "AUTHORIZATIO"},
        {"*AUTH_HEADER*", "secret", "MYAUTH_HEADERS", "AUTH_HEADE"},
        {"*AUTH_CONFIG*", "secret", "MYAUTH_CONFIGS", "AUTH_CONFI"},
        {"AOC_SESSION", "secret", "AOC_SESSION", "AOC_SESSIONX"},
        {"NPM_CONFIG__AUTH*", "secret", "NPM_CONFIG__AUTHS", "NPM_CONFIG__AUT"},
        {"NPM_CONFIG_//*", "secret", "NPM_CONFIG_//registry.org/:x", "NPM_CONFIG_/"},
        {"NETRC", "secret", "NETRC", "NETRCX"},
        {"KRB5CCNAME", "secret", "KRB5CCNAME", "KRB5CCNAMEX"},
        {"*_DSN", "secret", "MY_DSN", "MY_DSNS"},
        {"DSN", "secret", "DSN", "DSNX"},
        {"*_SAS", "secret", "MY_SAS", "MY_SASS"},
        {"*SAS_UR*", "secret", "MYSAS_URLS", "SAS_U"},
        {"*WEBHOOK", "secret", "MYWEBHOOK", "MYWEBHOOK_PORT"},
        {"*WEBHOOKS", "secret", "MYWEBHOOKS", "MYWEBHOOKS_PORT"},
        {"*DATABASE_URL*", "secret", "MYDATABASE_URLS", "DATABASE_UR"},
        {"*_DB_URL", "secret", "MY_DB_URL", "MY_DB_URLS"},
        {"*CONNECTION_STRING*", "secret", "MYCONNECTION_STRINGS", "CONNECTION_STRIN"},
        {"*CONNSTR*", "secret", "MYCONNSTRS", "CONNST"},
        {"*WEBHOOK_URL*", "secret", "MYWEBHOOK_URLS", "WEBHOOK_UR"},
        {"MONGO_UR*", "secret", "MONGO_URS", "MONGO_U"},
        {"MONGODB_UR*", "secret", "MONGODB_URS", "MONGODB_U"},
        {"REDIS_URL", "secret", "REDIS_URL", "REDIS_URLX"},
        {"AMQP_URL", "secret", "AMQP_URL", "AMQP_URLX"},
};

static void expect_withheld(const char *name, const char *reason) {
        const char *is = policy_env_withheld(name);

        if (!is || !streq(is, reason))
                fail_msg("%s: %s", name, is ? is : "passes");
}

TEST(each_pattern_withholds_its_example_and_not_what_is_beside_it) {
        for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
                expect_withheld(patterns[i].example, patterns[i].reason);
                if (policy_env_withheld(patterns[i].near_miss))
                        fail_msg("%s is withheld: %s", patterns[i].near_miss,
                                 policy_env_withheld(patterns[i].near_miss));
        }
}

TEST(each_pattern_has_an_example) {
        for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
                assert_non_null(environment_withheld[i].pattern);
                assert_string_equal(environment_withheld[i].pattern, patterns[i].pattern);
                assert_string_equal(environment_withheld[i].reason, patterns[i].reason);
        }
        assert_null(environment_withheld[ARRAY_SIZE(patterns)].pattern);
}

/* As people have them. */
TEST(secrets_of_the_wild_are_withheld) {
        static const char *const names[] = {
                "GITHUB_TOKEN",
                "gh_token",
                "SLACK_TOKEN_PROD",
                "AWS_SESSION_TOKEN",
                "AWS_CA_BUNDLE_TOKEN",
                "OPENAI_API_KEY",
                "CLIENT_SECRET",
                "PGPASSWORD",
                "PGPASSFILE",
                "DB_PASS",
                "sudo_password",
                "STRIPE_KEY",
                "AZURE_CLIENT_ID",
                "SENTRY_DSN",
                "MY_DATABASE_URL_RO",
                "MONGODB_URI",
                "npm_config__authtoken",
                "BORG_PASSCOMMAND",
                "OP_SESSION_x",
                "RAILS_MASTER_KEY",
                "CREDENTIALS_DIRECTORY",
                "GOOGLE_APPLICATION_CREDENTIALS",
                "AzureWebJobsConnection_String",
                "npm_config_//registry.npmjs.org/:_authToken",
                "SLACK_WEBHOOK",
                "CREDS",
                "PRIVKEY",
                "LDAP_BINDPW",
                "REGISTRY_PSW",
                "TS_AUTHKEY",
                "DOCKER_AUTH_CONFIG",
                "PAT",
        };

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                expect_withheld(names[i], "secret");
}

TEST(a_developers_variables_pass) {
        static const char *const names[] = {
                "PATH",
                "HOME",
                "TERM",
                "LANG",
                "LC_ALL",
                "EDITOR",
                "JAVA_HOME",
                "GOPATH",
                "CARGO_HOME",
                "VIRTUAL_ENV",
                "PYTHONPATH",
                "CFLAGS",
                "MAKEFLAGS",
                "CC",
                "LD_PRELOAD",
                "LD_LIBRARY_PATH",
                "CI",
                "DEBUG",
                "NO_COLOR",
                "HTTP_PROXY",
                "https_proxy",
                "SSL_CERT_FILE",
                "GIT_AUTHOR_NAME",
                "TOKENIZERS_PARALLELISM",
                "KEYBOARD",
                "PWD",
                "COMPASS",
                "PATTERN",
                "MONKEY",
                "DISPLAYS",
                "MY_DISPLAY",
                "TMUXINATOR",
                "AWSOME",
                "AWS_CA_BUNDLE",
                "AWS_DEFAULT_OUTPUT",
                "AWS_DEFAULT_REGION",
                "AWS_PAGER",
                "AWS_REGION",
                "",
        };

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (policy_env_withheld(names[i]))
                        fail_msg("%s is withheld: %s", names[i], policy_env_withheld(names[i]));
}

TEST(the_rest_is_inherited_in_order) {
        struct resolved s = {0};
        struct nsrun_policy *p = new_policy(ENVIRONMENT("B=2", "TMUX=x", "A=1=1", "A=later", "E=", "=odd",
                                                        "odd", "GITHUB_TOKEN=t", "PATH=/bin", "TMUX=y"));

        resolve(&s, p);
        assert_int_equal(s.environment.variables.n, 4);
        assert_string_equal(s.environment.variables.entries[0], "B=2");
        assert_string_equal(s.environment.variables.entries[1], "A=1=1");
        assert_string_equal(s.environment.variables.entries[2], "E=");
        assert_string_equal(s.environment.variables.entries[3], "PATH=/bin");
        assert_int_equal(strv_length(s.environment.left_out), 2);
        assert_string_equal(s.environment.left_out[0], "GITHUB_TOKEN");
        assert_string_equal(s.environment.left_out[1], "TMUX");
        resolved_clear(&s);
        (void)nsrun_policy_free(p);
}

TEST(an_empty_environment_gets_a_path) {
        static const char *const nothing[] = {NULL};
        struct resolved s = {0};
        struct nsrun_policy *p = new_policy(nothing);

        resolve(&s, p);
        assert_int_equal(s.environment.variables.n, 1);
        assert_value(&s, "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        assert_null(s.environment.left_out);
        set(p, "unsetenv", "PATH");
        resolve(&s, p);
        assert_int_equal(s.environment.variables.n, 0);
        resolved_clear(&s);
        (void)nsrun_policy_free(p);
}

TEST(env_brings_back_sets_and_removes) {
        struct resolved s = {0};
        struct nsrun_policy *p = new_policy(ENVIRONMENT("GITHUB_TOKEN=t", "DISPLAY=:0", "KEEP=k", "GONE=g"));

        set(p, "env", "GITHUB_TOKEN");
        set(p, "env", "DISPLAY=:9");
        set(p, "env", "NOT_THERE");
        set(p, "env", "NEW=a=b");
        set(p, "env", "EMPTY=");
        set(p, "unsetenv", "GONE");
        set(p, "unsetenv", "NEVER_WAS");
        resolve(&s, p);
        assert_value(&s, "GITHUB_TOKEN", "t");
        assert_value(&s, "DISPLAY", ":9");
        assert_value(&s, "NOT_THERE", NULL);
        assert_value(&s, "NEW", "a=b");
        assert_value(&s, "EMPTY", "");
        assert_value(&s, "KEEP", "k");
        assert_value(&s, "GONE", NULL);
        assert_null(s.environment.left_out);
        /* Twice is as once. */
        resolve(&s, p);
        assert_int_equal(s.environment.variables.n, 6);
        resolved_clear(&s);
        (void)nsrun_policy_free(p);
}

TEST(a_clean_environment_is_short) {
        struct resolved s = {0};
        struct nsrun_policy *p = new_policy(ENVIRONMENT("HOME=/h", "LC_TIME=C", "TERM=dumb", "EDITOR=vi",
                                                        "TZ=UTC", "LCX=1", "SECRET_X=s", "KEEP=k"));

        set(p, "clean-env", NULL);
        set(p, "env", "KEEP");
        set(p, "env", "MINE=1");
        resolve(&s, p);
        assert_value(&s, "HOME", "/h");
        assert_value(&s, "LC_TIME", "C");
        assert_value(&s, "TERM", "dumb");
        assert_value(&s, "TZ", "UTC");
        assert_value(&s, "KEEP", "k");
        assert_value(&s, "MINE", "1");
        assert_value(&s, "EDITOR", NULL);
        assert_value(&s, "LCX", NULL);
        assert_int_equal(strv_length(s.environment.left_out), 3);
        assert_string_equal(s.environment.left_out[0], "EDITOR");
        assert_string_equal(s.environment.left_out[1], "LCX");
        assert_string_equal(s.environment.left_out[2], "SECRET_X");
        resolved_clear(&s);
        (void)nsrun_policy_free(p);
}

TEST(home_is_what_the_policy_found) {
        struct resolved s = {0};
        struct nsrun_policy *p = new_policy(ENVIRONMENT("HOME=/h//x/"));

        resolve_at(&s, p, "/h/x");
        assert_value(&s, "HOME", "/h/x");
        set(p, "env", "HOME=/elsewhere");
        resolve_at(&s, p, "/h/x");
        assert_value(&s, "HOME", "/elsewhere");
        set(p, "unsetenv", "HOME");
        resolve_at(&s, p, "/h/x");
        assert_value(&s, "HOME", NULL);
        resolved_clear(&s);
        (void)nsrun_policy_free(p);
}

/* The page's two lists, one after the other, are the table and nothing else. */
TEST(the_man_page_lists_what_is_withheld) {
        static const char *const lists[] = {"What points at things that aren't in the sandbox:",
                                            "What looks like a secret:"};
        static const char *const reasons[] = {"unreachable", "secret"};
        char *text = manual_page("nsrun-protect.7"), *from = text;
        size_t n = 0;

        for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
                char *at = strstr(from, lists[i]), *end, *save = NULL;

                assert_non_null(at);
                at = strstr(at, "\n.nh\n");
                assert_non_null(at);
                end = strstr(at, "\n.hy\n");
                assert_non_null(end);
                *end = '\0';
                for (char *word = strtok_r(at + 5, " ,.\n", &save); word;
                     word = strtok_r(NULL, " ,.\n", &save), n++) {
                        if (!environment_withheld[n].pattern)
                                fail_msg("nsrun-protect.7 has %s, which nothing withholds", word);
                        assert_string_equal(word, environment_withheld[n].pattern);
                        assert_string_equal(environment_withheld[n].reason, reasons[i]);
                }
                from = end + 1;
        }
        if (environment_withheld[n].pattern)
                fail_msg("nsrun-protect.7 lacks %s", environment_withheld[n].pattern);
        free(text);
}

int main(void) {
        return run_all_tests();
}

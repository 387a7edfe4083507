/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* policy/environment.c: what the command inherits, what it doesn't, and that the
 * man page's list is the code's. */
#include "scratch.h"

#include "policy/environment.h"

static struct nsrun_policy *new_policy(const char *const *environment) {
        struct nsrun_policy *p = NULL;

        assert_int_equal(nsrun_policy_new(&p), 0);
        assert_int_equal(nsrun_policy_set_environ(p, environment), 0);
        return p;
}

#define ENVIRONMENT(...) ((const char *const[]){__VA_ARGS__, NULL})

static void set(struct nsrun_policy *p, const char *option, const char *value) {
        assert_int_equal(nsrun_policy_set(p, option, value, NULL), 0);
}

static void resolve(struct nsrun_policy *p) {
        assert_int_equal(environment_resolve(p, NULL), 0);
}

static void assert_value(const struct nsrun_policy *p, const char *name, const char *value) {
        const char *is = environment_get(p->final_env, name);

        if (!value) {
                assert_null(is);
        } else {
                assert_non_null(is);
                assert_string_equal(is, value);
        }
}

static void secrets_are_withheld(void **state nsrun_unused) {
        static const char *const names[] = {
                "GITHUB_TOKEN",
                "gh_token",
                "NPM_TOKEN",
                "CARGO_REGISTRY_TOKEN",
                "TOKEN",
                "GITHUBTOKEN",
                "SLACK_TOKEN_PROD",
                "AWS_ACCESS_KEY_ID",
                "AWS_SESSION_TOKEN",
                "AWS_PROFILE",
                "OPENAI_API_KEY",
                "ANTHROPIC_API_KEY",
                "MY_APIKEY",
                "CLIENT_SECRET",
                "SECRET_KEY_BASE",
                "DJANGO_SECRET",
                "PGPASSWORD",
                "PGPASSFILE",
                "MYSQL_PWD",
                "SSHPASS",
                "DB_PASS",
                "sudo_password",
                "KEY_PASSPHRASE",
                "SIGNING_KEY",
                "SSH_PRIVATE_KEY",
                "STRIPE_KEY",
                "AZURE_CLIENT_ID",
                "ARM_CLIENT_ID",
                "GITLAB_PAT",
                "SENTRY_DSN",
                "DATABASE_URL",
                "MY_DATABASE_URL_RO",
                "MONGODB_URI",
                "REDIS_URL",
                "NPM_CONFIG__AUTH",
                "npm_config__authtoken",
                "VAULT_ADDR",
                "BORG_PASSCOMMAND",
                "NETRC",
                "CI_JOB_JWT",
                "BW_SESSION",
                "OP_SESSION_x",
                "SESSION_COOKIE",
                "REGISTRY_AUTH",
                "SLACK_WEBHOOK_URL",
                "RAILS_MASTER_KEY",
                "CREDENTIALS_DIRECTORY",
                "GOOGLE_APPLICATION_CREDENTIALS",
                "AzureWebJobsConnection_String",
                "npm_config_//registry.npmjs.org/:_authToken",
        };

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                const char *reason = policy_env_withheld(names[i]);

                if (!reason || !streq(reason, "secret"))
                        fail_msg("%s: %s", names[i], reason ? reason : "passes");
        }
}

static void what_points_nowhere_is_withheld(void **state nsrun_unused) {
        static const char *const names[] = {
                "SSH_AUTH_SOCK",
                "SSH_AGENT_PID",
                "DBUS_SESSION_BUS_ADDRESS",
                "DBUS_SYSTEM_BUS_ADDRESS",
                "XDG_RUNTIME_DIR",
                "DISPLAY",
                "WAYLAND_DISPLAY",
                "WAYLAND_SOCKET",
                "XAUTHORITY",
                "DOCKER_HOST",
                "CONTAINER_HOST",
                "GPG_AGENT_INFO",
                "TMUX",
                "STY",
                "LISTEN_FDS",
                "LISTEN_PID",
                "LISTEN_FDNAMES",
                "NOTIFY_SOCKET",
                "KUBECONFIG",
                "TMPDIR",
                "OLDPWD",
                "GNOME_KEYRING_CONTROL",
        };

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                const char *reason = policy_env_withheld(names[i]);

                if (!reason || !streq(reason, "unreachable"))
                        fail_msg("%s: %s", names[i], reason ? reason : "passes");
        }
}

static void a_developers_variables_pass(void **state nsrun_unused) {
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
                "",
        };

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (policy_env_withheld(names[i]))
                        fail_msg("%s is withheld: %s", names[i], policy_env_withheld(names[i]));
}

static void the_rest_is_inherited_in_order(void **state nsrun_unused) {
        struct nsrun_policy *p = new_policy(ENVIRONMENT("B=2", "TMUX=x", "A=1=1", "A=later", "E=", "=odd",
                                                        "odd", "GITHUB_TOKEN=t", "PATH=/bin", "TMUX=y"));

        resolve(p);
        assert_int_equal(strv_length(p->final_env), 4);
        assert_string_equal(p->final_env[0], "B=2");
        assert_string_equal(p->final_env[1], "A=1=1");
        assert_string_equal(p->final_env[2], "E=");
        assert_string_equal(p->final_env[3], "PATH=/bin");
        assert_int_equal(strv_length(p->left_out), 2);
        assert_string_equal(p->left_out[0], "GITHUB_TOKEN");
        assert_string_equal(p->left_out[1], "TMUX");
        (void)nsrun_policy_free(p);
}

static void an_empty_environment_gets_a_path(void **state nsrun_unused) {
        static const char *const nothing[] = {NULL};
        struct nsrun_policy *p = new_policy(nothing);

        resolve(p);
        assert_int_equal(strv_length(p->final_env), 1);
        assert_value(p, "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        assert_null(p->left_out);
        set(p, "unsetenv", "PATH");
        resolve(p);
        assert_int_equal(strv_length(p->final_env), 0);
        (void)nsrun_policy_free(p);
}

static void env_brings_back_sets_and_removes(void **state nsrun_unused) {
        struct nsrun_policy *p = new_policy(ENVIRONMENT("GITHUB_TOKEN=t", "DISPLAY=:0", "KEEP=k", "GONE=g"));

        set(p, "env", "GITHUB_TOKEN");
        set(p, "env", "DISPLAY=:9");
        set(p, "env", "NOT_THERE");
        set(p, "env", "NEW=a=b");
        set(p, "env", "EMPTY=");
        set(p, "unsetenv", "GONE");
        set(p, "unsetenv", "NEVER_WAS");
        resolve(p);
        assert_value(p, "GITHUB_TOKEN", "t");
        assert_value(p, "DISPLAY", ":9");
        assert_value(p, "NOT_THERE", NULL);
        assert_value(p, "NEW", "a=b");
        assert_value(p, "EMPTY", "");
        assert_value(p, "KEEP", "k");
        assert_value(p, "GONE", NULL);
        assert_null(p->left_out);
        /* Twice is as once. */
        resolve(p);
        assert_int_equal(strv_length(p->final_env), 6);
        (void)nsrun_policy_free(p);
}

static void a_clean_environment_is_short(void **state nsrun_unused) {
        struct nsrun_policy *p = new_policy(ENVIRONMENT("HOME=/h", "LC_TIME=C", "TERM=dumb", "EDITOR=vi",
                                                        "TZ=UTC", "LCX=1", "SECRET_X=s", "KEEP=k"));

        set(p, "clean-env", NULL);
        set(p, "env", "KEEP");
        set(p, "env", "MINE=1");
        resolve(p);
        assert_value(p, "HOME", "/h");
        assert_value(p, "LC_TIME", "C");
        assert_value(p, "TERM", "dumb");
        assert_value(p, "TZ", "UTC");
        assert_value(p, "KEEP", "k");
        assert_value(p, "MINE", "1");
        assert_value(p, "EDITOR", NULL);
        assert_value(p, "LCX", NULL);
        assert_int_equal(strv_length(p->left_out), 3);
        assert_string_equal(p->left_out[0], "EDITOR");
        assert_string_equal(p->left_out[1], "LCX");
        assert_string_equal(p->left_out[2], "SECRET_X");
        (void)nsrun_policy_free(p);
}

static void home_is_what_the_policy_found(void **state nsrun_unused) {
        struct nsrun_policy *p = new_policy(ENVIRONMENT("HOME=/h//x/"));

        p->home = strdup("/h/x");
        resolve(p);
        assert_value(p, "HOME", "/h/x");
        set(p, "env", "HOME=/elsewhere");
        resolve(p);
        assert_value(p, "HOME", "/elsewhere");
        set(p, "unsetenv", "HOME");
        resolve(p);
        assert_value(p, "HOME", NULL);
        (void)nsrun_policy_free(p);
}

static void the_man_page_lists_what_is_withheld(void **state nsrun_unused) {
        const char *srcdir = getenv("srcdir");
        char *path = NULL, *text = calloc(1, 1 << 20);
        FILE *f;

        assert_non_null(text);
        assert_true(asprintf(&path, "%s/src/cli/nsrun.1", srcdir ? srcdir : ".") > 0);
        f = fopen(path, "re");
        if (!f)
                fail_msg("can't read %s: set srcdir to the top of the sources", path);
        assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
        (void)fclose(f);
        for (size_t i = 0; i < environment_n_patterns(); i++) {
                const char *reason, *pattern = environment_pattern(i, &reason), *at = text;
                size_t n = strlen(pattern);
                bool is_listed = false;

                assert_true(streq(reason, "secret") || streq(reason, "unreachable"));
                while (!is_listed && (at = strstr(at, pattern))) {
                        is_listed = strchr(" ,.\n", at[n]) && strchr(" \n", at[-1]);
                        at++;
                }
                if (!is_listed)
                        fail_msg("nsrun.1 lacks %s", pattern);
        }
        free(text);
        free(path);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(secrets_are_withheld),
                cmocka_unit_test(what_points_nowhere_is_withheld),
                cmocka_unit_test(a_developers_variables_pass),
                cmocka_unit_test(the_rest_is_inherited_in_order),
                cmocka_unit_test(an_empty_environment_gets_a_path),
                cmocka_unit_test(env_brings_back_sets_and_removes),
                cmocka_unit_test(a_clean_environment_is_short),
                cmocka_unit_test(home_is_what_the_policy_found),
                cmocka_unit_test(the_man_page_lists_what_is_withheld),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

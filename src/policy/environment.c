/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What of the caller's environment the command gets: all variables but those that point at things
 * which aren't in the sandbox and those that look like a secret, by their name or by their value
 * (secret_values.h).  The table below is the one list of names; nsrun-protect(7), VARIABLES, repeats it. */
#include "environment.h"

#include <stdatomic.h>

#include "proxy.h"
#include "secret_values.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static const char secret[] = "secret";
static const char unreachable[] = "unreachable";

/* Patterns of names that are withheld, in upper case; names are compared without regard to case.  A
 * star may stand at the start, at the end or at both. */
const struct environment_pattern environment_withheld[] = {
        /* Names of sockets, displays, terminals, descriptors and pids of the host. */
        {"SSH_AUTH_SOCK", unreachable},
        {"SSH_AGENT_PID", unreachable},
        {"SSH_AGENT_LAUNCHER", unreachable},
        {"SSH_TTY", unreachable},
        {"SSH_ASKPASS*", unreachable},
        {"GIT_ASKPASS", unreachable},
        {"SUDO_ASKPASS", unreachable},
        {"GPG_AGENT_INFO", unreachable},
        {"GPG_TTY", unreachable},
        {"GNOME_KEYRING_*", unreachable},
        {"DBUS_*", unreachable},
        {"AT_SPI_BUS_ADDRESS", unreachable},
        {"XDG_RUNTIME_DIR", unreachable},
        {"DISPLAY", unreachable},
        {"WAYLAND_DISPLAY", unreachable},
        {"WAYLAND_SOCKET", unreachable},
        {"XAUTHORITY", unreachable},
        {"ICEAUTHORITY", unreachable},
        {"SESSION_MANAGER", unreachable},
        {"PULSE_SERVER", unreachable},
        {"PIPEWIRE_*", unreachable},
        {"I3SOCK", unreachable},
        {"SWAYSOCK", unreachable},
        {"NIRI_SOCKET", unreachable},
        {"KITTY_LISTEN_ON", unreachable},
        {"TMUX", unreachable},
        {"TMUX_PANE", unreachable},
        {"STY", unreachable},
        {"NVIM", unreachable},
        {"NVIM_LISTEN_ADDRESS", unreachable},
        {"VSCODE_IPC_*", unreachable},
        {"VSCODE_GIT_*", unreachable},
        {"DOCKER_HOST", unreachable},
        {"DOCKER_CONTEXT", unreachable},
        {"DOCKER_CERT_PATH", unreachable},
        {"DOCKER_CONFIG", unreachable},
        {"CONTAINER_HOST", unreachable},
        {"CONTAINERD_ADDRESS", unreachable},
        {"BUILDKIT_HOST", unreachable},
        {"KUBECONFIG", unreachable},
        {"LISTEN_FDS", unreachable},
        {"LISTEN_PID", unreachable},
        {"LISTEN_FDNAMES", unreachable},
        {"LISTEN_PIDFDID", unreachable},
        {"NOTIFY_SOCKET", unreachable},
        {"WATCHDOG_PID", unreachable},
        {"WATCHDOG_USEC", unreachable},
        {"MAINPID", unreachable},
        {"SYSTEMD_EXEC_PID", unreachable},
        {"TMPDIR", unreachable},
        {"TMP", unreachable},
        {"TEMP", unreachable},
        {"OLDPWD", unreachable},

        /* Families of names whose members hold credentials in many ways. */
        {"AWS_*", secret},
        {"AZURE_*", secret},
        {"ARM_CLIENT_*", secret},
        {"VAULT_*", secret},
        {"OP_SESSION_*", secret},
        {"BW_SESSION", secret},
        /* Names with a word in them that stands for a credential. */
        {"*TOKEN", secret},
        {"*_TOKEN_*", secret},
        {"*SECRET*", secret},
        {"*PASSWORD*", secret},
        {"*PASSWD*", secret},
        {"*PASSPHRASE*", secret},
        {"*_PASS", secret},
        {"*PASSCOMMAND", secret},
        {"*PASSFILE", secret},
        {"SSHPASS", secret},
        {"MYSQL_PWD", secret},
        {"*CREDENTIAL*", secret},
        {"*APIKEY*", secret},
        {"*API_KEY*", secret},
        {"*ACCESS_KEY*", secret},
        {"*PRIVATE_KEY*", secret},
        {"*SIGNING_KEY*", secret},
        {"*ENCRYPTION_KEY*", secret},
        {"*MASTER_KEY*", secret},
        {"*_KEY", secret},
        {"*_PAT", secret},
        {"*_JWT", secret},
        {"*_COOKIE", secret},
        {"*_AUTH", secret},
        {"*_BEARER", secret},
        {"PASS", secret},
        {"DBPASS", secret},
        {"*USERPASS*", secret},
        {"*STOREPASS*", secret},
        {"*KEYPASS*", secret},
        {"*USERPWD*", secret},
        {"*DB_PWD", secret},
        {"*_PW", secret},
        {"*BINDPW", secret},
        {"ROOTPW", secret},
        {"*_PSW", secret},
        {"*CREDS*", secret},
        {"*_CRED", secret},
        {"*PRIVKEY*", secret},
        {"*PRIV_KEY*", secret},
        {"*PRIVATEKEY*", secret},
        {"*AUTHKEY*", secret},
        {"*AUTH_KEY*", secret},
        {"*ACCOUNT_KEY*", secret},
        {"*SERVICE_KEY*", secret},
        {"*DEPLOY_KEY*", secret},
        {"*SSH_KEY*", secret},
        {"*MNEMONIC*", secret},
        {"*SEED_PHRASE*", secret},
        {"PAT", secret},
        {"JWT", secret},
        {"*_JWT_*", secret},
        {"BEARER", secret},
        {"*_COOKIES", secret},
        {"*AUTHORIZATION*", secret},
        {"*AUTH_HEADER*", secret},
        {"*AUTH_CONFIG*", secret},
        {"AOC_SESSION", secret},
        {"NPM_CONFIG__AUTH*", secret},
        {"NPM_CONFIG_//*", secret},
        {"NETRC", secret},
        {"KRB5CCNAME", secret},
        /* Addresses that carry a password. */
        {"*_DSN", secret},
        {"DSN", secret},
        {"*_SAS", secret},
        {"*SAS_UR*", secret},
        {"*WEBHOOK", secret},
        {"*WEBHOOKS", secret},
        {"*DATABASE_URL*", secret},
        {"*_DB_URL", secret},
        {"*CONNECTION_STRING*", secret},
        {"*CONNSTR*", secret},
        {"*WEBHOOK_URL*", secret},
        {"MONGO_UR*", secret},
        {"MONGODB_UR*", secret},
        {"REDIS_URL", secret},
        {"AMQP_URL", secret},
        {0},
};

/* Names of such a family that hold none: their values are looked at alone. */
static const char *const harmless[] = {"AWS_CA_BUNDLE", "AWS_DEFAULT_OUTPUT", "AWS_DEFAULT_REGION",
                                       "AWS_PAGER", "AWS_REGION"};

/* The names that --clean-env lets through.  (The plan sets PWD anew.) */
static const char *const clean[] = {"HOME",      "USER", "LOGNAME",  "SHELL", "PATH", "TERM",
                                    "COLORTERM", "LANG", "LANGUAGE", "LC_*",  "TZ",   "PWD"};

/* An ASCII letter in upper case.  toupper(3) would depend on the locale of the library's caller. */
static char upper(char c) {
        return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static bool matches_at(const char *name, const char *word, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (upper(name[i]) != word[i])
                        return false;
        return true;
}

/* A bit for each byte of a name or a pattern but '*'; several bytes share one. */
static uint32_t bytes_in(const char *text, size_t length) {
        uint32_t bytes = 0;

        for (size_t i = 0; i < length; i++)
                bytes |= text[i] == '*' ? 0 : UINT32_C(1) << (upper(text[i]) & 31);
        return bytes;
}

/* The bytes of each of the patterns, found out once: few names have all of those of a word that they don't
 * hold, and every run looks at every variable.  0: not yet. */
static _Atomic uint32_t bytes_of_withheld[ARRAY_SIZE(environment_withheld)];

static bool may_match(uint32_t bytes, size_t i) {
        uint32_t needed = atomic_load_explicit(&bytes_of_withheld[i], memory_order_relaxed);

        if (needed == 0) {
                const char *pattern = environment_withheld[i].pattern;

                needed = bytes_in(pattern, strlen(pattern));
                atomic_store_explicit(&bytes_of_withheld[i], needed, memory_order_relaxed);
        }
        return (needed & ~bytes) == 0;
}

static bool matches(const char *name, size_t length, const char *pattern) {
        bool is_open_left = pattern[0] == '*', is_open_right;
        const char *word = pattern + is_open_left;
        size_t n;

        if (!is_open_left && upper(name[0]) != word[0])
                return false;
        n = strlen(word);
        is_open_right = n > 0 && word[n - 1] == '*';
        n -= is_open_right;
        if (n > length || (!is_open_left && !is_open_right && n != length))
                return false;
        if (!is_open_left)
                return matches_at(name, word, n);
        if (!is_open_right)
                return matches_at(name + length - n, word, n);
        for (size_t i = 0; i + n <= length; i++)
                if (matches_at(name + i, word, n))
                        return true;
        return false;
}

const char *policy_env_withheld(const char *name) {
        size_t length = strlen(name);
        uint32_t bytes = bytes_in(name, length);

        for (size_t i = 0; i < ARRAY_SIZE(harmless); i++)
                if (matches(name, length, harmless[i]))
                        return NULL;
        for (size_t i = 0; environment_withheld[i].pattern; i++)
                if (may_match(bytes, i) && matches(name, length, environment_withheld[i].pattern))
                        return environment_withheld[i].reason;
        return NULL;
}

static bool is_clean(const char *name) {
        size_t length = strlen(name);

        for (size_t i = 0; i < ARRAY_SIZE(clean); i++)
                if (matches(name, length, clean[i]))
                        return true;
        return false;
}

bool environment_name_is_valid(const char *name, size_t length) {
        return length > 0 && !memchr(name, '=', length);
}

char *const *environment_inherited(const struct nsrun_policy *p) {
        return p->host_environ ? p->host_environ : environ;
}

static int set_variable(struct variables *v, const char *name, const char *value) {
        char *entry = NULL;

        return variables_set(v, asprintf(&entry, "%s=%s", name, value) < 0 ? NULL : entry);
}

/* Whether an --env option names the variable `name`. */
static bool is_asked_for(const struct nsrun_policy *p, const char *name) {
        return variables_find(&p->env, name, strlen(name));
}

static bool is_unset(const struct nsrun_policy *p, const char *name) {
        return variables_find(&p->unset, name, strlen(name));
}

const char *environment_passed(const struct nsrun_policy *p, const char *name) {
        const char *value = variables_value(&p->env, name);

        if (value || is_unset(p, name))
                return value;
        value = environment_get(environment_inherited(p), name);
        if (!value || is_asked_for(p, name))
                return value;
        return (p->clean_env && !is_clean(name)) || proxy_withholds(p, name) || policy_env_withheld(name) ||
                               credentials_in(value)
                       ? NULL
                       : value;
}

/* Withholds a variable: its name goes into s->left_out, and into s->secrets. */
static int leave_out(struct resolved *s, const char *name, bool is_secret) {
        int r = strv_contains(s->left_out, name) ? 0 : strv_add(&s->left_out, name);

        return r < 0 || !is_secret || strv_contains(s->secrets, name) ? r : strv_add(&s->secrets, name);
}

/* Decides one inherited variable: it is passed, withheld, or dropped by --unsetenv. */
static int inherit(struct resolved *s, const char *entry) {
        const struct nsrun_policy *p = s->policy;
        const char *equals = strchr(entry, '='), *why;
        _cleanup_free_ char *name = NULL;

        /* An entry without a "=", or without a name before it, can't be looked up by anybody. */
        if (!equals || equals == entry)
                return 0;
        name = strndup(entry, (size_t)(equals - entry));
        if (!name)
                return -ENOMEM;
        if (is_unset(p, name) || environment_get(s->granted, name))
                return 0;
        if (!is_asked_for(p, name) && !(s->agent_key && streq(name, s->agent_key))) {
                if ((p->clean_env && !is_clean(name)) || proxy_withholds(p, name))
                        return leave_out(s, name, false);
                why = p->clean_env || s->plain ? NULL : policy_env_withheld(name);
                if (!why && !s->plain && credentials_in(equals + 1))
                        why = secret;
                if (why)
                        return leave_out(s, name, why == secret);
        }
        /* Of two entries of one name the first counts, as for getenv(3). */
        return variables_find(&s->env, name, strlen(name)) ? 0 : variables_set(&s->env, strdup(entry));
}

/* git stops where a key or a value is missing that its count promises. */
static int keep_git_whole(struct resolved *s) {
        static const char count[] = "GIT_CONFIG_COUNT";

        STRV_FOREACH (name, s->secrets)
                if (startswith(*name, "GIT_CONFIG_KEY_") || startswith(*name, "GIT_CONFIG_VALUE_")) {
                        if (!variables_value(&s->env, count) || is_asked_for(s->policy, count))
                                return 0;
                        variables_drop(&s->env, count, strlen(count));
                        return leave_out(s, count, true);
                }
        return 0;
}

static int policy_environment_compare_names(const void *a, const void *b) {
        return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Adds the committer's name and address as git on the host has them.  A variable of the caller's
 * environment wins over them, as it does for git. */
static int add_identity(const struct resolved *s, struct variables *passed) {
        STRV_FOREACH (entry, s->identity) {
                _cleanup_free_ char *name = strndup(*entry, strcspn(*entry, "="));
                int r;

                if (!name)
                        return -ENOMEM;
                r = variables_value(passed, name) ? 0 : variables_set(passed, strdup(*entry));
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Sets a workspace's or an instance's variables, unless --unsetenv names them.  They win over
 * inherited ones, and --env, which is applied later, wins over them. */
static int add_explicit(const struct nsrun_policy *p, char *const *entries, struct variables *passed) {
        STRV_FOREACH (entry, entries) {
                _cleanup_free_ char *name = strndup(*entry, strcspn(*entry, "="));
                int r;

                if (!name)
                        return -ENOMEM;
                r = is_unset(p, name) ? 0 : variables_set(passed, strdup(*entry));
                if (r < 0)
                        return r;
        }
        return 0;
}

int environment_add_usual(const struct resolved *s, struct variables *env) {
        for (const char *const *entry = s->usual; entry && *entry; entry++) {
                _cleanup_free_ char *name = strndup(*entry, strcspn(*entry, "="));
                int r;

                if (!name)
                        return -ENOMEM;
                if (is_asked_for(s->policy, name) || is_unset(s->policy, name))
                        continue;
                r = variables_set(env, strdup(*entry));
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Whatever PATH is, a grant's programs come before others of their names. */
static int put_first(const struct resolved *s, struct variables *passed) {
        const char *path = s->programs_first ? variables_value(passed, "PATH") : NULL;
        _cleanup_free_ char *with = path ? str_concat(s->programs_first, ":", path) : NULL;

        if (!path)
                return 0;
        return with ? set_variable(passed, "PATH", with) : -ENOMEM;
}

static int policy_environment_make_environment(struct resolved *s, struct variables *passed) {
        const struct nsrun_policy *p = s->policy;
        int r;

        STRV_FOREACH (entry, environment_inherited(p)) {
                r = inherit(s, *entry);
                if (r < 0)
                        return r;
        }
        r = keep_git_whole(s);
        if (r < 0)
                return r;
        if (s->home && !is_unset(p, "HOME")) {
                r = set_variable(passed, "HOME", s->home);
                if (r < 0)
                        return r;
        }
        if (!variables_value(passed, "PATH") && !is_unset(p, "PATH")) {
                r = set_variable(passed, "PATH", DEFAULT_PATH);
                if (r < 0)
                        return r;
        }
        r = add_identity(s, passed);
        if (r >= 0)
                r = environment_add_usual(s, passed);
        if (r >= 0 && p->is_env_explicit)
                r = add_explicit(p, p->workspace_env, passed);
        if (r >= 0)
                r = add_explicit(p, s->instance_env, passed);
        if (r >= 0)
                r = add_explicit(p, s->granted, passed);
        if (r < 0)
                return r;
        STRV_FOREACH (entry, p->env.entries)
                if (strchr(*entry, '=')) {
                        r = variables_set(passed, strdup(*entry));
                        if (r < 0)
                                return r;
                }
        return put_first(s, passed);
}

static void sort_names(char **names) {
        if (names)
                qsort(names, strv_length(names), sizeof(*names), policy_environment_compare_names);
}

int environment_resolve(struct resolved *s, struct nsrun_error *err) {
        if (policy_environment_make_environment(s, &s->env) < 0)
                return error_oom(err);
        for (const char *const *name = s->unset; name && *name; name++)
                variables_drop(&s->env, *name, strlen(*name));
        sort_names(s->left_out);
        sort_names(s->secrets);
        return 0;
}

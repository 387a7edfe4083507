/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which of the caller's variables the command gets: all but those that point at things which aren't in the
 * sandbox and those that look like a secret, by their name or by their value (secret_values.h).  The table
 * below is the one list of names; nsrun-protect(7), VARIABLES, repeats it. */
#include "withheld.h"

#include <stdatomic.h>

#include "secret_values.h"

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
        {"*COOKIE", secret},
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
        {"*TOTP*", secret},
        {"*SERVICE_ROLE*", secret},
        {"PAT", secret},
        {"JWT", secret},
        {"*_JWT_*", secret},
        {"BEARER", secret},
        {"*COOKIES", secret},
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

/* A bit for each byte of a name or a pattern but '*'; several bytes share one. */
static uint32_t bytes_in(const char *text, size_t length) {
        uint32_t bytes = 0;

        for (size_t i = 0; i < length; i++)
                bytes |= text[i] == '*' ? 0 : UINT32_C(1) << (ascii_upper(text[i]) & 31);
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

        if (!is_open_left && ascii_upper(name[0]) != word[0])
                return false;
        n = strlen(word);
        is_open_right = n > 0 && word[n - 1] == '*';
        n -= is_open_right;
        if (n > length || (!is_open_left && !is_open_right && n != length))
                return false;
        if (!is_open_left)
                return begins_with(name, word, n);
        if (!is_open_right)
                return begins_with(name + length - n, word, n);
        for (size_t i = 0; i + n <= length; i++)
                if (begins_with(name + i, word, n))
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

/* What says which proxy programs use is kept from a command whose network goes through one. */
static bool names_proxy(const struct nsrun_policy *p, const char *name) {
        return p->net == POLICY_NET_ALLOW && p->net_via && !streq(p->net_via, "none") &&
               (matches(name, strlen(name), "*_PROXY") || matches(name, strlen(name), "*_NOPROXY"));
}

const char *environment_withholds(const struct nsrun_policy *p, bool has_sandbox, const char *name,
                                  const char *value) {
        const char *why = NULL;

        if ((p->clean_env && !is_clean(name)) || names_proxy(p, name))
                return unreachable;
        if (has_sandbox && !p->clean_env)
                why = policy_env_withheld(name);
        return why ? why : has_sandbox && credentials_in(value) ? secret : NULL;
}

const char *environment_passed(const struct nsrun_policy *p, const char *name) {
        const char *value = variables_value(&p->env, name);

        if (value || policy_unsets(p, name))
                return value;
        value = environment_get(environment_inherited(p), name);
        return value && !policy_sets(p, name) && environment_withholds(p, true, name, value) ? NULL : value;
}

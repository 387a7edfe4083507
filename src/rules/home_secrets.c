/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The folders of a home in which programs keep keys, tokens and passwords.  None becomes a project,
 * writable or an overlay, whatever a slip or a planted symlink asks for. */
#include "home_secrets.h"

#include "base/path.h"
#include "policy/refusal.h"

const char *const home_secrets[] = {
        ".1password",
        ".age",
        ".aws",
        ".azure",
        ".bitcoin",
        ".cloudflared",
        ".config/1Password",
        ".config/BraveSoftware",
        ".config/Bitwarden",
        ".config/chromium",
        ".config/containers",
        ".config/doctl",
        ".config/gcloud",
        ".config/gh",
        ".config/github-copilot",
        ".config/glab-cli",
        ".config/google-chrome",
        ".config/hub",
        ".config/microsoft-edge",
        ".config/op",
        ".config/rclone",
        ".config/solana",
        ".config/sops",
        ".docker",
        ".electrum",
        ".gnupg",
        ".kube",
        ".local/share/keyrings",
        ".local/share/kwalletd",
        ".mozilla",
        ".oci",
        ".password-store",
        ".pki",
        ".putty",
        ".ssh",
        ".terraform.d",
        ".thunderbird",
        ".vault",
        NULL,
};

static bool exists(const char *home, const char *name) {
        _cleanup_free_ char *path = path_join(home, name);

        /* If memory runs out the secret is taken to exist. */
        return !path || access(path, F_OK) == 0;
}

/* Whether the home has any of them. */
static bool has_secrets(const char *home) {
        for (size_t i = 0; home_secrets[i]; i++)
                if (exists(home, home_secrets[i]))
                        return true;
        return false;
}

/* Whether `path` (normalised) is a folder of secrets, lies in one, or is a hidden folder that holds
 * one which exists; or the home, or a folder around it. */
static bool is_secret(const char *path, const char *home) {
        const char *below = home ? path_below(path, home) : NULL;

        if (home && path_is_beneath(home, path))
                return has_secrets(home);
        if (!below || *below != '.')
                return false;
        for (size_t i = 0; home_secrets[i]; i++) {
                size_t n = strlen(home_secrets[i]), m = strlen(below);

                if (strncmp(below, home_secrets[i], n < m ? n : m) != 0)
                        continue;
                if (n == m || (n < m && below[n] == '/'))
                        return true;
                if (n > m && home_secrets[i][m] == '/' && exists(home, home_secrets[i]))
                        return true;
        }
        return false;
}

bool secrets_hold(const char *below) {
        for (size_t i = 0; home_secrets[i]; i++)
                if (path_is_beneath(below, home_secrets[i]))
                        return true;
        return false;
}

int refuse_secrets(const struct resolved_rule *rule, const char *home, struct nsrun_error *err) {
        _cleanup_free_ char *normalised = NULL, *canonical = NULL;
        bool is_one;

        if (rule->access == POLICY_RO || !home)
                return 0;
        is_one = is_secret(rule->source, home);
        /* The spelling is compared as well as the source, since ~/.gnupg may be a symlink; so may
         * the home. */
        if (!is_one && rule->spelled) {
                normalised = path_normalise(rule->spelled);
                if (!normalised)
                        return error_oom(err);
                is_one = is_secret(normalised, home);
        }
        if (!is_one && !path_is_beneath(rule->source, home) && path_canonical(home, &canonical, NULL) >= 0)
                is_one = is_secret(rule->source, canonical);
        if (!is_one)
                return 0;
        return policy_refuse(
                err, rule->source,
                "--ro exposes single files of it; what shall be written belongs into another folder",
                "%s would hand the secrets of the home to the command", rule->option);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "learn_view.h"

#include <dirent.h>
#include <fnmatch.h>

#include "base/path.h"
#include "disk/homes.h"
#include "disk/records.h"
#include "disk/rundir.h"
#include "policy/refusal.h"
#include "rules/home_secrets.h"
#include "rules/rules.h"

static const char wide_option[] = "the view of nsrun learn";

/* Names of files in which programs keep keys, tokens and passwords, and of histories, in which people leave
 * some. */
const char *const wide_hidden[] = {
        ".env",
        ".env.*",
        ".netrc",
        "_netrc",
        ".pgpass",
        ".my.cnf",
        ".git-credentials",
        ".npmrc",
        ".yarnrc.yml",
        ".pypirc",
        ".boto",
        ".s3cfg",
        ".vault-token",
        ".htpasswd",
        ".claude.json",
        "auth.json",
        "credentials",
        "credentials.json",
        "credentials.toml",
        "credentials.xml",
        "settings-security.xml",
        "*.key",
        "*key.pem",
        "*.p12",
        "*.pfx",
        "*.jks",
        "*.keystore",
        "*.kdbx",
        "*.gpg",
        "*.tfstate",
        "id_rsa",
        "id_dsa",
        "id_ecdsa",
        "id_ed25519",
        "id_*_sk",
        /* of editors, browsers and what is built like one */
        "state.vscdb*",
        "Cookies",
        "Login Data",
        "Local Storage",
        "cookies.sqlite",
        "key4.db",
        "logins.json",
        ".*_history",
        "fish_history",
        "history.db*",
        ".lesshst",
        ".viminfo",
        ".Xauthority",
        ".ICEauthority",
        NULL,
};

/* Folders of a home that hold those of many programs, some of them secret: what is in them is shown one by
 * one. */
static const char *const parents[] = {".cache", ".config", ".local", ".local/share", ".local/state"};

void policy_widen(struct nsrun_policy *p) {
        p->is_wide = true;
}

bool wide_is_rule(const struct resolved_rule *rule) {
        return rule->option == wide_option;
}

bool wide_is_secret_name(const char *name) {
        for (size_t i = 0; wide_hidden[i]; i++)
                if (fnmatch(wide_hidden[i], name, 0) == 0)
                        return true;
        return false;
}

bool wide_is_secret(const char *path, const char *home) {
        const char *below = home ? path_below(path, home) : NULL;

        return (below && secrets_hold(below)) || wide_is_secret_name(path_basename(path));
}

/* What nsrun itself keeps there, which no command may see. */
static bool is_of_nsrun(const char *path) {
        _cleanup_free_ char *runs = NULL, *records = NULL;

        if (rundir_find_base(&runs, NULL) >= 0 && runs &&
            (path_is_beneath(runs, path) || path_is_beneath(path, runs)))
                return true;
        if (records_find_base(&records, NULL) >= 0 && records &&
            (path_is_beneath(records, path) || path_is_beneath(path, records)))
                return true;
        return streq(path_basename(path), "nsrun") || streq(path_basename(path), ".nsrun");
}

static bool is_parent(const char *below) {
        for (size_t i = 0; below && i < ARRAY_SIZE(parents); i++)
                if (streq(below, parents[i]))
                        return true;
        return false;
}

bool wide_may_be_whole(const char *folder, const char *home) {
        const char *below = home ? path_below(folder, home) : NULL;

        for (size_t i = 0; below && home_secrets[i]; i++)
                if (path_is_beneath(home_secrets[i], below)) {
                        _cleanup_free_ char *secret = path_join(home, home_secrets[i]);

                        if (!secret || access(secret, F_OK) == 0)
                                return false;
                }
        return !is_parent(below);
}

bool wide_is_like_secret(const char *path) {
        for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/'))
                if (secrets_hold(at + 1) || path_is_beneath(at + 1, NAMED_HOMES))
                        return true;
        return false;
}

bool wide_is_like_secret_name(const char *name) {
        for (size_t i = 0; home_secrets[i]; i++) {
                size_t n = strcspn(home_secrets[i], "/");

                if (strlen(name) == n && strncmp(name, home_secrets[i], n) == 0)
                        return true;
        }
        return false;
}

static int wide_add_folders(struct resolved *s, const char *folder, struct nsrun_error *err);

/* Shows one folder, as an overlay. */
static int wide_add_folder(struct resolved *s, const char *path, struct nsrun_error *err) {
        const char *below = s->guarded ? path_below(path, s->guarded) : NULL;
        const struct rule_request request = {.access = POLICY_OVERLAY,
                                             .origin = POLICY_BY_TOOLCHAINS,
                                             .option = wide_option,
                                             .source = path,
                                             .is_optional = true};
        struct nsrun_error why = {0};
        struct stat st;
        int r;

        if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) || access(path, R_OK | X_OK) < 0)
                return 0;
        if ((s->project && path_is_beneath(path, s->project)) || wide_is_secret(path, s->guarded) ||
            is_of_nsrun(path))
                return 0;
        if (is_parent(below) || (s->guarded && path_is_beneath(s->guarded, path)))
                return wide_add_folders(s, path, err);
        r = resolve_rule(s, &request, &why);
        return r == -ENOMEM ? error_oom(err) : 0;
}

static int wide_add_folders(struct resolved *s, const char *folder, struct nsrun_error *err) {
        DIR *dir = opendir(folder);
        struct dirent *entry;
        int r = 0;

        while (dir && r >= 0 && (entry = readdir(dir))) {
                _cleanup_free_ char *path = NULL;

                if (streq(entry->d_name, ".") || streq(entry->d_name, ".."))
                        continue;
                path = path_join(folder, entry->d_name);
                r = path ? wide_add_folder(s, path, err) : error_oom(err);
        }
        if (dir)
                (void)closedir(dir);
        return r;
}

/* The folder around the project, if it is the user's own: what is beside a project in a folder of
 * everybody's is others'. */
static bool is_own_folder(const struct resolved *s, const char *folder) {
        struct stat st;

        return !streq(folder, "/") && !(s->guarded && path_is_beneath(folder, s->guarded)) &&
               stat(folder, &st) >= 0 && st.st_uid == s->uid && !(st.st_mode & S_IWOTH);
}

int wide_add_rules(struct resolved *s, struct nsrun_error *err) {
        _cleanup_free_ char *around = s->project ? path_parent(s->project) : NULL;
        int r = 0;

        if (!s->policy->is_wide)
                return 0;
        if (s->guarded && !streq(s->guarded, "/"))
                r = wide_add_folders(s, s->guarded, err);
        if (r >= 0 && around && is_own_folder(s, around))
                r = wide_add_folders(s, around, err);
        return r;
}

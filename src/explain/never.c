/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "never.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>

#include "base/path.h"
#include "host/gitorders.h"
#include "keys/use.h"
#include "policy/agents.h"
#include "policy/options.h"
#include "protect/learn_view.h"
#include "protect/protect_home.h"
#include "rules/home_secrets.h"

bool explain_has_key_file(const struct nsrun_plan *plan, const char *path) {
        bool has = false;

        STRV_FOREACH (source, plan->keys) {
                _cleanup_free_ char *canonical = NULL;
                char name[KEY_NAME_MOST + 1];
                enum key_source_kind kind;
                const char *file;

                if (key_source_read(*source, name, &kind, &file) || kind != KEY_OF_FILE)
                        continue;
                has |= path_is_beneath(file, path) ||
                       (path_canonical(file, &canonical, NULL) >= 0 && path_is_beneath(canonical, path));
        }
        return has;
}

/* Which option does without the secret itself, by the folder of the home that has it. */
static const struct {
        const char *folder, *option, *instead;
} ways[] = {
        {".ssh", "ssh-agent",
         "--ssh-agent KEY lets a key of the agent's sign, which is as much as git over ssh needs"},
        {".gnupg", "gpg-agent", "--gpg-agent lets a key sign"},
        {".docker", NULL, "what needs a registry's login runs outside"},
        {"", NULL, "what needs that runs outside"},
};

/* Folders in which what belongs to root is the system's state. */
static const char *const of_system[] = {"/bin",   "/boot",      "/etc",     "/gnu",     "/lib",
                                        "/lib64", "/nix",       "/run",     "/sbin",    "/snap",
                                        "/usr",   "/var/cache", "/var/lib", "/var/log", "/var/spool"};

static const char *way_around(const char *below) {
        size_t i = 0;

        for (; *ways[i].folder; i++) {
                bool is_had = !ways[i].option;

                for (size_t k = 0; k < n_policy_options; k++)
                        is_had |= ways[i].option && streq(policy_options[k].name, ways[i].option);
                if (is_had && path_is_beneath(below, ways[i].folder))
                        break;
        }
        return ways[i].instead;
}

/* The folder of keys that a path lies in, or the path itself, if its name alone tells. */
static int never_secret(const char *path, const char *home, char **ret) {
        const char *below = home ? path_below(path, home) : NULL;
        size_t n = strlen(path);

        for (size_t i = 0; below && home_secrets[i]; i++)
                if (path_is_beneath(below, home_secrets[i]))
                        n = (size_t)(below - path) + strlen(home_secrets[i]);
        return asprintf(
                       ret,
                       "%.*s is not exposed by policy, whether it exists or not: it is where keys and passwords "
                       "are kept; %s",
                       (int)n, path, way_around(below ? below : "")) < 0
                       ? -ENOMEM
                       : 0;
}

int explain_never_of_tmp(const char *path, char **ret) {
        static const char *const names[] = {".*",      "dbus-*",           "gpg-*",   "keyring-*",
                                            "krb5*",   "launch-*",         "pulse-*", "snap.*",
                                            "ssh-*",   "systemd-private*", "tkt*",    "tmux-*",
                                            "vscode-*"};
        const char *below = path_below(path, "/tmp");
        _cleanup_free_ char *name = below ? strndup(below, strcspn(below, "/")) : NULL;

        *ret = NULL;
        if (below && !name)
                return -ENOMEM;
        for (size_t i = 0; name && i < ARRAY_SIZE(names); i++)
                if (fnmatch(names[i], name, 0) == 0)
                        return never_secret(path, NULL, ret);
        return 0;
}

/* To the agent itself its own option is proposed. */
static int never_agents(const struct nsrun_plan *plan, const char *path, char **ret) {
        const char *below = plan->home ? path_below(path, plan->home) : NULL;
        const char *command = plan->argv && plan->argv[0] ? path_basename(plan->argv[0]) : "";

        for (size_t i = 0; below && i < n_agent_entries; i++)
                for (const struct agent_folder *f = agent_entries[i].entry.folders; f->path; f++) {
                        const char *name = agent_entries[i].entry.name,
                                   *way = ways[ARRAY_SIZE(ways) - 1].instead;
                        bool is_own = streq(command, name);

                        if (f->access != POLICY_OVERLAY || !startswith(f->path, "~/") ||
                            !path_is_beneath(below, f->path + 2))
                                continue;
                        return asprintf(
                                       ret,
                                       "%s/%s has the settings and the login of %s, whether it exists or not: "
                                       "%s%s%s",
                                       plan->home, f->path + 2, agent_entries[i].entry.what,
                                       is_own ? "--agent " : "", is_own ? name : way,
                                       is_own ? " gives it a version of its own" : "") < 0
                                       ? -ENOMEM
                                       : 0;
                }
        return 0;
}

bool explain_is_whole_system(const char *path) {
        for (size_t i = 0; i < ARRAY_SIZE(of_system); i++)
                if (path_is_beneath(of_system[i], path))
                        return true;
        return false;
}

bool explain_is_in_system(const char *path) {
        return path_is_beneath_any(path, of_system, ARRAY_SIZE(of_system));
}

bool explain_may_write(const char *path) {
        _cleanup_free_ char *at = strdup(path);

        while (at && *at && access(at, F_OK) < 0)
                *strrchr(at, '/') = '\0';
        return at && access(*at ? at : "/", W_OK) == 0;
}

/* Whether root alone may do with it as asked: a file that all may read they may read inside, too; what a
 * folder holds may be another matter.  What is to be made is whose the folder around it is. */
static bool never_is_roots(const char *path, bool to_write) {
        _cleanup_free_ char *at = strdup(path);
        struct stat st;

        while (at && stat(at, &st) < 0)
                if (!to_write || !path_up(at))
                        return false;
        return !at || (st.st_uid == 0 && (to_write || !S_ISREG(st.st_mode) || !(st.st_mode & S_IROTH)));
}

/* Who isn't root reads of it what all do. */
static int never_system(const char *path, const char *home, bool to_write, char **ret) {
        if (!explain_is_in_system(path) || (home && path_is_beneath(path, home)) ||
            (geteuid() == 0 ? !never_is_roots(path, to_write) : !to_write || explain_may_write(path)))
                return 0;
        return asprintf(ret, "%s is the system's own: %s", path, ways[ARRAY_SIZE(ways) - 1].instead) < 0
                       ? -ENOMEM
                       : 0;
}

/* What is written to a folder of the home's that PATH has, the host runs. */
static int never_programs(const char *path, const char *home, char **ret) {
        const char *list = getenv("PATH");
        bool is_run = false;

        for (size_t n; list && *list; list += n + (list[n] == ':')) {
                _cleanup_free_ char *named = NULL, *folder = NULL;

                n = strcspn(list, ":");
                if (*list != '/')
                        continue;
                named = strndup(list, n);
                folder = named ? path_normalise(named) : NULL;
                if (!folder)
                        return -ENOMEM;
                is_run |= home && path_is_beneath(folder, home) &&
                          (path_is_beneath(path, folder) || path_is_beneath(folder, path));
        }
        return is_run && asprintf(ret, "%s is where the host's programs are: %s", path,
                                  ways[ARRAY_SIZE(ways) - 1].instead) < 0
                       ? -ENOMEM
                       : 0;
}

/* What is written there, the host's next shell, git or desktop obeys; of a folder there can be a version. */
static int never_obeyed(const char *path, const char *home, char **ret) {
        _cleanup_free_ char *parent = path_parent(path), *word = NULL;
        const char *folder;
        struct stat st;

        if (!parent)
                return -ENOMEM;
        if (!home || !protect_home_is_obeyed(home, path))
                return 0;
        folder = stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? path : parent;
        if (stat(folder, &st) == 0 && S_ISDIR(st.st_mode) && path_below(folder, home) &&
            strchr(path_below(folder, home), '/') && protect_home_is_obeyed(home, folder) &&
            !(word = str_shell_quote(folder)))
                return -ENOMEM;
        *ret = word ? str_format("%s is obeyed by programs on the host: --overlay %s gives the command a "
                                 "version of its own",
                                 path, word)
                    : str_format("%s is obeyed by programs on the host: %s", path,
                                 ways[ARRAY_SIZE(ways) - 1].instead);
        return *ret ? 0 : -ENOMEM;
}

struct naming {
        const struct nsrun_plan *plan;
        const char *path;
        char *key; /* that names it, or what it lies in, or what lies in it */
};

static int note_named(void *data, const struct gitconfig_entry *entry) {
        struct naming *n = data;
        const char *value = entry->value, *in_home = value ? startswith(value, "~/") : NULL;
        const char *const bases[] = {n->plan->project, n->plan->git_dir};

        if (!value || (*value != '/' && !in_home && !startswith(value, "..")))
                return 0;
        for (size_t i = 0; i < ARRAY_SIZE(bases); i++) {
                const char *base = in_home ? n->plan->home : bases[i];
                _cleanup_free_ char *named = base ? path_join(base, in_home ? in_home : value) : NULL;

                if (base && !named)
                        return -ENOMEM;
                if (named && (path_is_beneath(n->path, named) || path_is_beneath(named, n->path)))
                        return (n->key = str_visible(entry->name)) ? 1 : -ENOMEM;
        }
        return 0;
}

int explain_repository_names(const struct nsrun_plan *plan, const char *path, char **ret_key) {
        const char *git_dir = plan->git_common_dir ? plan->git_common_dir : plan->git_dir;
        _cleanup_close_ int fd =
                git_dir ? open(git_dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -EBADF;
        struct naming n = {.plan = plan, .path = path};
        int r = fd < 0 ? 0 : gitorders_read(fd, note_named, &n);

        *ret_key = n.key;
        return r < 0 && r != -ENOMEM ? 0 : r;
}

static int never_repositorys(const struct nsrun_plan *plan, const char *path, char **ret) {
        _cleanup_free_ char *key = NULL;
        int r = explain_repository_names(plan, path, &key);

        if (r > 0)
                *ret = str_format("%s is not exposed by policy, whether it exists or not: the repository's "
                                  "configuration alone names it (%s), which is no reason to",
                                  path, key);
        return r > 0 && !*ret ? -ENOMEM : r;
}

int explain_never(const struct nsrun_plan *plan, const char *path, bool to_write, char **ret) {
        int r = 0;

        *ret = NULL;
        if (explain_has_key_file(plan, path))
                r = (*ret = str_format(
                             "%s is not exposed by policy: a key that stays outside lies there (--key)",
                             path))
                            ? 0
                            : -ENOMEM;
        if (r >= 0 && !*ret && wide_is_secret(path, plan->home))
                r = never_secret(path, plan->home, ret);
        if (r >= 0 && !*ret)
                r = never_agents(plan, path, ret);
        if (r >= 0 && !*ret)
                r = never_repositorys(plan, path, ret);
        if (r >= 0 && !*ret)
                r = never_system(path, plan->home, to_write, ret);
        if (r >= 0 && !*ret && to_write)
                r = never_programs(path, plan->home, ret);
        if (r >= 0 && !*ret && to_write)
                r = never_obeyed(path, plan->home, ret);
        if (r < 0)
                *ret = NULL;
        return r;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "protect_home.h"

#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/responds.h"
#include "policy/withheld.h"

enum {
        FOLDERS_MOST = 256,
        LINKS_MOST = 40,   /* of one way */
        NAMES_MOST = 1024, /* of one folder; in a larger one nothing is looked at */
};

/* What programs on the host obey or execute of the home, one look each; and the folders in which anything is
 * so, down to how many levels.  Those of agents, of editors' plugins and of caches have many thousands below
 * these. */
struct home_place {
        const char *path;
        unsigned depth;
};

static const char *const files_of_home[] = {
        ".aws/config",           ".cargo/config.toml",
        ".claude/settings.json", ".claude/skills",
        ".codex/config.toml",    ".docker/config.json",
        ".emacs.d/init.el",      ".gemini/settings.json",
        ".gnupg/gpg-agent.conf", ".gnupg/gpg.conf",
        ".kube/config",          ".oh-my-zsh/custom",
        ".ssh/config",           ".ssh/rc",
        ".vim/plugin",           ".vim/vimrc",
};
static const char *const files_of_config[] = {
        "direnv/direnvrc",  "fish/conf.d",    "fish/config.fish", "git/config", "jj/config.toml",
        "mise/config.toml", "nvim/init.lua",  "nvim/init.vim",    "nvim/lua",   "nvim/plugin",
        "systemd/user",     "tmux/tmux.conf", "zsh/.zshrc",
};
static const struct home_place programs[] = {{".local/bin", 1}, {"bin", 1}};
static const struct home_place of_home[] = {
        {".agents/skills", 1},
        {".aws", 1},
        {".bashrc.d", 1},
        {".cargo", 1},
        {".cargo/bin", 1},
        {".claude", 1},
        {".claude/agents", 1},
        {".claude/commands", 1},
        {".claude/hooks", 1},
        {".claude/skills", 1},
        {".codex", 1},
        {".config/Code/User", 1},
        {".config/Cursor/User", 1},
        {".cursor", 1},
        {".docker", 1},
        {".emacs.d", 1},
        {".gemini", 1},
        {".gnupg", 1},
        {".gradle", 1},
        {".gradle/init.d", 1},
        {".kube", 1},
        {".local/share/applications", 1},
        {".m2", 1},
        {".oh-my-zsh/custom", 2},
        {".profile.d", 1},
        {".qwen", 1},
        {".sbt", 2},
        {".ssh", 1},
        {".tmux", 1},
        {".vim", 2},
        {".xmonad", 1},
        {".zsh", 2},
        {".zshrc.d", 1},
};
static const struct home_place of_config[] = {
        {"alacritty", 1},
        {"autostart", 1},
        {"bash", 1},
        {"containers", 1},
        {"direnv", 2},
        {"emacs", 1},
        {"environment.d", 1},
        {"fish", 2},
        {"foot", 1},
        {"ghostty", 1},
        {"git", 2},
        {"go", 1},
        {"helix", 1},
        {"hypr", 1},
        {"i3", 1},
        {"jj", 2},
        {"kitty", 1},
        {"mise", 2},
        {"mpv", 2},
        {"nsrun", 1},
        {"nushell", 2},
        {"nvim", 3},
        {"opencode", 2},
        {"pip", 1},
        {"sway", 1},
        {"systemd", 3},
        {"tmux", 1},
        {"vim", 2},
        {"wezterm", 1},
        {"zed", 1},
        {"zellij", 1},
        {"zsh", 2},
};

static bool is_at_place(const char *path, const char *place) {
        return path_is_beneath(path, place) || path_is_beneath(place, path);
}

static bool is_of_places(const char *path, const struct home_place *places, size_t n,
                         const char *const *files, size_t n_files) {
        bool is_met = false;

        for (size_t i = 0; i < n && !is_met; i++)
                is_met = is_at_place(path, places[i].path);
        for (size_t i = 0; i < n_files && !is_met; i++)
                is_met = is_at_place(path, files[i]);
        return is_met;
}

bool protect_home_is_obeyed(const char *home, const char *path) {
        const char *below = path_below(path, home), *in_config = below ? path_below(below, ".config") : NULL;
        struct stat st;

        if (!below || !*below)
                return false;
        if (*below == '.' && !strchr(below, '/') && (stat(path, &st) < 0 || !S_ISDIR(st.st_mode)))
                return true;
        return (in_config && is_of_places(in_config, of_config, ARRAY_SIZE(of_config), files_of_config,
                                          ARRAY_SIZE(files_of_config))) ||
               is_of_places(below, of_home, ARRAY_SIZE(of_home), files_of_home, ARRAY_SIZE(files_of_home)) ||
               is_of_places(below, programs, ARRAY_SIZE(programs), NULL, 0);
}

struct home_walk {
        const struct resolved *resolved;
        char ***ret;
        unsigned n_folders;
};

bool protect_is_writable(const struct resolved *s, const struct resolved_rule *rule) {
        return rule->access == POLICY_RW && rule->is_directory && rule->option != s->files.tmp.option;
}

bool protect_can_be_written(const struct resolved *s, const char *path) {
        for (size_t i = 0; i < s->files.n_rules; i++)
                if (protect_is_writable(s, &s->files.rules[i]) &&
                    path_is_beneath(path, s->files.rules[i].source))
                        return true;
        return false;
}

int protect_take_target(const struct resolved *s, const char *path, char ***to) {
        return !protect_can_be_written(s, path) || strv_contains(*to, path) ? 0 : strv_add(to, path);
}

/* Takes the link, by the name below it that is wanted, if that is in there for sure. */
static int take_met(const struct resolved *s, const char *link, const char *rest, char ***to) {
        _cleanup_free_ char *path = strstr(rest, "..") ? strdup(link) : str_concat(link, "/", rest),
                            *normal = path ? path_normalise(path) : NULL;

        return normal ? protect_take_target(s, normal, to) : -ENOMEM;
}

int protect_take_way(const struct resolved *s, const char *path, char ***to) {
        _cleanup_free_ char *at = strdup("/"), *rest = strdup(path);
        const char *next = rest;
        int r = at && rest ? 0 : -ENOMEM;

        for (unsigned links = 0; r >= 0 && *(next += strspn(next, "/"));) {
                _cleanup_free_ char *part = strndup(next, strcspn(next, "/")),
                                    *entry = part ? path_join(at, part) : NULL;
                char text[PATH_MAX], *whole;
                ssize_t n = entry && !streq(part, "..") ? readlink(entry, text, sizeof(text) - 1) : -1;

                next += strcspn(next, "/");
                if (!entry)
                        return -ENOMEM;
                if (n <= 0) {
                        free(at);
                        at = TAKE_PTR(entry);
                        continue;
                }
                if (links++ >= LINKS_MOST)
                        return 0;
                text[n] = '\0';
                r = take_met(s, entry, next, to);
                if (path_is_absolute(text))
                        at[1] = '\0';
                whole = str_concat(text, "/", next);
                free(rest);
                next = rest = whole;
                r = r < 0 || whole ? r : -ENOMEM;
        }
        return r < 0 ? r : protect_take_target(s, at, to);
}

/* Whether a path is taken by its letters: those of the home's folders that programs keep for themselves, to
 * which hundreds of links lead. */
static bool is_of_programs(const struct resolved *s, const char *path) {
        const char *below = path_below(path, s->home);

        return below && *below == '.' &&
               name_list_find(&s->home_names, below, strcspn(below, "/")) == DT_DIR;
}

/* Adds what the entry leads to in a writable folder, if it is a symlink: as it says, and all the way, since
 * a link there may be the command's to replace. */
static int take_home_link(const struct home_walk *w, const char *folder, const char *path) {
        _cleanup_free_ char *said = NULL;
        char text[PATH_MAX];
        int r = responds_below(w->resolved->home, path);
        ssize_t n = r < 0 ? r : readlink(path, text, sizeof(text) - 1);

        if (n <= 0)
                return r;
        text[n] = '\0';
        said = path_join(folder, text);
        r = said ? protect_take_target(w->resolved, said, w->ret) : -ENOMEM;
        return r < 0 || is_of_programs(w->resolved, said) ? r : protect_take_way(w->resolved, path, w->ret);
}

/* Looks through a folder, `depth` levels of it. */
static int walk_place(struct home_walk *w, const char *folder, unsigned depth) {
        _cleanup_name_list_ struct name_list list = {0};
        int r = w->n_folders++ < FOLDERS_MOST ? name_list_read(folder, NAMES_MOST, &list) : 0;

        for (size_t i = 0; i < list.n && r >= 0; i++) {
                const char type = list.names[i][-1];
                _cleanup_free_ char *path = NULL;

                if (type != DT_UNKNOWN && type != DT_LNK && (type != DT_DIR || depth == 1))
                        continue;
                path = path_join(folder, list.names[i]);
                r = !path ? -ENOMEM : type == DT_DIR ? 0 : take_home_link(w, folder, path);
                if (r >= 0 && type != DT_LNK && depth > 1)
                        r = walk_place(w, path, depth - 1);
        }
        return r;
}

/* Of a folder, whose names are known, the links and the files; names that begin otherwise are no program's.
 */
static int take_files(const struct home_walk *w, const char *folder, const struct name_list *names,
                      const char *const *files, size_t n, const char *begin) {
        int r = 0;

        for (size_t i = 0; i < names->n && r >= 0; i++)
                if (names->names[i][-1] == DT_LNK && startswith(names->names[i], begin)) {
                        _cleanup_free_ char *path = path_join(folder, names->names[i]);

                        r = path ? take_home_link(w, folder, path) : -ENOMEM;
                }
        for (size_t i = 0; i < n && r >= 0; i++)
                if (name_list_find(names, files[i], strcspn(files[i], "/")) >= 0) {
                        _cleanup_free_ char *path = path_join(folder, files[i]),
                                            *parent = path ? path_parent(path) : NULL;

                        r = parent ? take_home_link(w, parent, path) : -ENOMEM;
                }
        return r;
}

static int walk_places(struct home_walk *w, const char *folder, const struct name_list *names,
                       const struct home_place *places, size_t n) {
        int r = 0;

        for (size_t i = 0; i < n && r >= 0; i++)
                if (name_list_find(names, places[i].path, strcspn(places[i].path, "/")) >= 0) {
                        _cleanup_free_ char *path = path_join(folder, places[i].path);

                        r = path ? walk_place(w, path, places[i].depth) : -ENOMEM;
                }
        return r;
}

/* Where a variable has the folder of configuration in one that the command may write to, no link leads
 * there: all of the table is what it may not change or make. */
static int take_config(const struct resolved *s, const char *config, char ***to) {
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(of_config) && r >= 0 && protect_can_be_written(s, config); i++) {
                _cleanup_free_ char *path = path_join(config, of_config[i].path);

                r = path ? protect_take_target(s, path, to) : -ENOMEM;
        }
        return r;
}

/* All folders are looked through where one link leads there: who keeps such files elsewhere has more. */
int protect_home_targets(const struct resolved *s, char ***ret) {
        struct home_walk w = {.resolved = s, .ret = ret};
        const struct name_list *names = &s->home_names;
        _cleanup_name_list_ struct name_list in_config = {0};
        const char *xdg = environment_get(environment_inherited(s->policy), "XDG_CONFIG_HOME");
        bool is_elsewhere = xdg && path_is_absolute(xdg);
        _cleanup_free_ char *config = is_elsewhere ? path_normalise(xdg)
                                      : s->home    ? path_join(s->home, ".config")
                                                   : NULL;
        int r = !s->home || config ? 0 : -ENOMEM;

        if (!s->home)
                return 0;
        if (r >= 0 && is_elsewhere)
                r = take_config(s, config, ret);
        if (r >= 0 && (is_elsewhere || name_list_find(names, ".config", strlen(".config")) >= 0))
                r = name_list_read(config, NAMES_MOST, &in_config);
        if (r >= 0)
                r = take_files(&w, s->home, names, files_of_home, ARRAY_SIZE(files_of_home), ".");
        if (r >= 0)
                r = take_files(&w, config, &in_config, files_of_config, ARRAY_SIZE(files_of_config), "");
        if (r >= 0)
                r = walk_places(&w, s->home, names, programs, ARRAY_SIZE(programs));
        if (r < 0 || !*ret)
                return r;
        r = walk_places(&w, config, &in_config, of_config, ARRAY_SIZE(of_config));
        return r < 0 ? r : walk_places(&w, s->home, names, of_home, ARRAY_SIZE(of_home));
}

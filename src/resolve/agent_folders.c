/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --agent NAME: a row of the table, the configuration's or the shipped one, becomes rules.  Every rule is
 * one of nsrun's own: an option or a configuration that names the same folder decides. */
#include "steps.h"

#include <fcntl.h>

#include "base/array.h"
#include "base/json.h"
#include "base/path.h"
#include "base/responds.h"
#include "base/sys.h"
#include "policy/agents.h"
#include "policy/refusal.h"
#include "policy/withheld.h"
#include "protect/protect_names.h"
#include "rules/rules.h"

static const char of_agent[] = "--agent";

/* An overlay of the row's. */
struct agent_place {
        char *spelled;
        const char *source; /* canonical, the rule's; NULL: somebody else's rule decides what is there */
};

/* Whether an option or a configuration shows something at that place or around it. */
static bool is_shown_by_name(const struct resolved *s, const char *path) {
        for (size_t i = 0; i < s->files.n_rules; i++)
                if (!policy_is_default(s->files.rules[i].origin) &&
                    path_is_beneath(path, s->files.rules[i].target))
                        return true;
        return false;
}

/* Adds an overlay, or a writable folder, which the run makes where it is missing. */
static int agent_add_folder(struct resolved *s, enum policy_access access, const char *path,
                            struct nsrun_error *err) {
        const struct rule_request request = {.access = access,
                                             .origin = POLICY_BY_DEFAULT,
                                             .giver = access == POLICY_RW ? PLAN_BY_STATE : PLAN_BY_AGENT,
                                             .option = of_agent,
                                             .source = path,
                                             .is_to_be_made = true};

        return resolve_rule(s, &request, err);
}

/* A protected folder of the project, or a place of the agent's in one.  Where that folder is missing the run
 * makes it, so that the command can't; but not in another sandbox's placeholder. */
static int agent_add_place(struct resolved *s, const struct agent_folder *folder, struct nsrun_error *err) {
        const char *below = folder->path;
        _cleanup_free_ char *first = strndup(below, strcspn(below, "/")), *path = NULL, *canonical = NULL,
                            *around = NULL;
        _cleanup_close_ int project =
                s->project ? sys_open(AT_FDCWD, s->project, O_PATH | O_DIRECTORY, 0) : -EBADF;
        struct rule_request request = {.access = POLICY_RO,
                                       .origin = POLICY_BY_DEFAULT,
                                       .giver = PLAN_BY_AGENT,
                                       .option = of_agent,
                                       .is_to_be_made = true};
        int r = 0;

        if (!s->project)
                return 0;
        path = path_join(s->project, below);
        request.source = around = first ? path_join(s->project, first) : NULL;
        r = path && around ? path_canonical_to_be(path, &canonical) : -ENOMEM;
        if (r < 0)
                return responds_fail(r, path, err);
        if (!streq(path, canonical) || is_shown_by_name(s, path) ||
            protect_is_placeholder(project, first, NULL))
                return 0;
        if (access(around, F_OK) < 0) {
                if (strv_consume(&s->protection.present, str_concat(s->project, "//", first)) < 0)
                        return error_oom(err);
                r = resolve_rule(s, &request, err);
        }
        return r < 0 || folder->access != POLICY_RW ? r : agent_add_folder(s, POLICY_RW, path, err);
}

/* Where a folder is: a variable's place, if the command gets that variable.  A value
 * that is no absolute path moves nothing.  1: *ret, normalised; 0: nobody knows the home; -ENOMEM. */
static int place_folder(const struct resolved *s, const struct agent_folder *folder, char **ret) {
        const char *base = s->home, *below = folder->path + 2;

        if (folder->path[0] != '~') {
                base = "/";
                below = folder->path + 1;
        }
        for (size_t i = AGENT_MOVES_MOST; i-- > 0;) {
                const char *variable = folder->moved[i].variable;
                const char *moved = variable ? environment_passed(s->policy, variable) : NULL;

                if (!moved || !path_is_absolute(moved))
                        continue;
                base = moved;
                below = folder->moved[i].below;
        }
        if (!base)
                return 0;
        *ret = path_join(base, *below ? below : ".");
        return *ret ? 1 : -ENOMEM;
}

static int agent_add_overlay(struct resolved *s, const char *path, struct agent_place *place,
                             struct nsrun_error *err) {
        _cleanup_free_ char *canonical = NULL;
        int r = path_canonical_to_be(path, &canonical);

        *place = (struct agent_place){.spelled = strdup(path)};
        if (r < 0 || !place->spelled)
                return responds_fail(r, path, err);
        if (is_shown_by_name(s, canonical))
                return 0;
        r = agent_add_folder(s, POLICY_OVERLAY, path, err);
        place->source = r < 0 ? NULL : s->files.rules[s->files.n_rules - 1].source;
        return r;
}

enum {
        SESSIONS_FOLDER_MOST = 200
};

/* Has `name` of an overlay carried to the host at the end. */
static int add_carried(struct resolved *s, const char *folder, const char *name, bool is_folder,
                       struct nsrun_error *err) {
        char *line;

        if (asprintf(&line, "%s//%s%s", folder, name, is_folder ? "/" : "") < 0 ||
            strv_consume(&s->files.carried, line) < 0)
                return error_oom(err);
        return 0;
}

/* A file of JSON, of which the command has a copy of its own in an overlay.  Where the file itself doesn't
 * lie there, a symlink leads to the copy: agents follow one, and put a new file in the place of a copy. */
static int add_mixed(struct resolved *s, const struct agent_folder *folder, const char *path,
                     const struct agent_place *in, struct nsrun_error *err) {
        _cleanup_free_ char *file = NULL, *copy = NULL, *members = NULL;
        _cleanup_strbuf_ struct strbuf b = {0};
        struct policy_link link = {0};
        char *line;
        int r;

        r = path_canonical_to_be(path, &file);
        if (r < 0)
                return responds_fail(r, path, err);
        if (!in || !in->source || is_shown_by_name(s, path) || is_shown_by_name(s, file))
                return 0;
        for (const char *const *member = folder->members; *member; member++)
                strbuf_addf(&b, "%s%s", member == folder->members ? "" : ",", *member);
        members = strbuf_finish(&b);
        copy = path_join(in->source, path_basename(path));
        if (!members || !copy ||
            asprintf(&line, "%s//%s//%s//%s", in->source, path_basename(path), file, members) < 0 ||
            strv_consume(&s->files.carried, line) < 0)
                return error_oom(err);
        if (streq(file, copy))
                return 0;
        if (ARRAY_GROW(s->files.links, s->files.n_links) < 0)
                return error_oom(err);
        link.text = TAKE_PTR(copy);
        link.path = strdup(path);
        s->files.links[s->files.n_links++] = link;
        return link.path ? 0 : error_oom(err);
}

/* The overlay that a path lies in, as both are spelled; for a file beside all of them the first. */
static const struct agent_place *find_place(const struct agent_place *places, size_t n, const char *path,
                                            const char **ret_below) {
        for (size_t i = 0; i < n; i++)
                if ((*ret_below = path_below(path, places[i].spelled)))
                        return &places[i];
        return n > 0 ? places : NULL;
}

/* What claude calls the folder of a project's sessions: each character that is no letter or digit is a dash,
 * of UTF-16, and what is longer is cut. */
static char *sessions_folder(const char *project) {
        static const char kept[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        _cleanup_strbuf_ struct strbuf b = {0};

        while (*project && b.length < SESSIONS_FOLDER_MOST) {
                size_t n = json_utf8_length(project);

                strbuf_add_bytes(&b, strchr(kept, *project) ? project : "-", 1);
                if (n == 4 && b.length < SESSIONS_FOLDER_MOST)
                        strbuf_add(&b, "-");
                project += n > 0 ? n : 1;
        }
        return strbuf_finish(&b);
}

/* Other projects' sessions aren't this one's to write. */
static int add_carried_of_project(struct resolved *s, const char *folder, const char *name, const char *at,
                                  struct nsrun_error *err) {
        _cleanup_free_ char *own = s->project ? sessions_folder(s->project) : NULL, *whole = NULL;

        if (!s->project)
                return 0;
        whole = own ? str_format("%.*s/%s%s", (int)(at - name), name, own, at + strlen("/@")) : NULL;
        return whole ? add_carried(s, folder, whole, false, err) : error_oom(err);
}

static int add_state(struct resolved *s, const struct agent_folder *folder, const char *path,
                     const struct agent_place *places, size_t n_places, struct nsrun_error *err) {
        bool is_folder = folder->path[strlen(folder->path) - 1] == '/';
        const char *below = NULL;
        const struct agent_place *in = find_place(places, n_places, path, &below);
        size_t n = s->files.n_rules;
        int r = 0;

        if (folder->members)
                return add_mixed(s, folder, path, in, err);
        if (below && !in->source)
                return 0;
        if (below && agent_is_of_project(folder))
                return add_carried_of_project(s, in->source, below, strstr(below, "/@"), err);
        if (below && (is_folder || strchr(path, '*')))
                return add_carried(s, in->source, below, is_folder, err);
        r = is_folder ? agent_add_folder(s, POLICY_RW, path, err)
                      : resolve_default(s, PLAN_BY_STATE, POLICY_RW, path, of_agent, err);
        /* What isn't there can't be mounted. */
        return r < 0 || !below || s->files.n_rules > n ? r : add_carried(s, in->source, below, false, err);
}

/* Where a protected folder exists what is any agent's state in it is no less the host's: git, which anybody
 * may have make a worktree there, has written down where it is. */
static int add_places_there(struct resolved *s, const struct agent_entry *but, struct nsrun_error *err) {
        int r = 0;

        for (size_t i = 0; i < n_agent_entries && s->project && r >= 0; i++) {
                const struct agent_folder *folder = agent_entries[i].entry.folders;

                for (; folder && folder->path && r >= 0; folder++) {
                        _cleanup_free_ char *around = NULL;
                        size_t n = strcspn(folder->path, "/");
                        unsigned mode = 0;
                        bool is_mount = false;

                        if (strchr("~/", folder->path[0]) || folder->access != POLICY_RW ||
                            (but && streq(but->name, agent_entries[i].entry.name)))
                                continue;
                        if (asprintf(&around, "%s/%.*s", s->project, (int)n, folder->path) < 0) {
                                around = NULL;
                                return error_oom(err);
                        }
                        if (sys_look(around, &mode, &is_mount) < 0 || !S_ISDIR(mode))
                                continue;
                        r = is_mount ? responds_in_time(AT_FDCWD, around, NULL, err) : 0;
                        if (r >= 0 && access(around, W_OK | X_OK) == 0)
                                r = agent_add_place(s, folder, err);
                }
        }
        return r;
}

int agent_add_rules(struct resolved *s, struct nsrun_error *err) {
        const struct agent_entry *agent = agent_chosen(s->policy);
        const struct agent_folder *folder = agent ? agent->folders : NULL;
        struct agent_place *places = NULL;
        size_t n_places = 0;
        int r = policy_is_instance(s->policy) ? 0 : add_places_there(s, agent, err);

        if (agent && policy_is_instance(s->policy))
                return policy_refuse(
                        err, NULL, "leave one of the two out",
                        "--agent can't be had with the instance profile, which has a home of its own");
        for (; folder && folder->path && r >= 0; folder++) {
                _cleanup_free_ char *path = NULL;

                if (!strchr("~/", folder->path[0])) {
                        r = agent_add_place(s, folder, err);
                        continue;
                }
                r = place_folder(s, folder, &path);
                if (r == 0)
                        continue;
                if (r < 0 || ARRAY_GROW(places, n_places) < 0)
                        r = error_oom(err);
                else if (folder->access == POLICY_OVERLAY)
                        r = agent_add_overlay(s, path, &places[n_places++], err);
                else if (folder->access == POLICY_RW)
                        r = add_state(s, folder, path, places, n_places, err);
                else
                        r = resolve_default(s, agent->is_of_config ? PLAN_BY_READABLE : PLAN_BY_TABLE,
                                            folder->access, path, of_agent, err);
        }
        for (size_t i = 0; i < n_places; i++)
                free(places[i].spelled);
        free(places);
        return r < 0 ? r : 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The folders of agents that --agent doesn't name, as far as the project is one, lies in one or has one in
 * it. */
#include <dirent.h>

#include "base/array.h"
#include "base/path.h"
#include "policy/agents.h"
#include "policy/refusal.h"
#include "policy/withheld.h"
#include "steps.h"

/* The canonical path of a folder of an agent's, as the caller's environment has it; *ret_is_linked: a
 * symlink at the top of the home leads there.  NULL, with 0: nobody knows the home. */
static int find_agents_folder(const struct resolved *s, const struct agent_folder *folder, char **ret,
                              bool *ret_is_linked) {
        const char *base = s->home, *below = folder->path + 2;
        _cleanup_free_ char *path = NULL;
        int r;

        if (folder->path[0] != '~') {
                base = "/";
                below = folder->path + 1;
        }
        for (size_t i = 0; i < AGENT_MOVES_MOST && folder->moved[i].variable; i++) {
                const char *moved =
                        environment_get(environment_inherited(s->policy), folder->moved[i].variable);

                if (!moved || !path_is_absolute(moved))
                        continue;
                base = moved;
                below = folder->moved[i].below;
                break;
        }
        if (!base)
                return 0;
        path = path_join(base, *below ? below : ".");
        below = path && s->home ? path_below(path, s->home) : NULL;
        *ret_is_linked = below && name_list_find(&s->home_names, below, strcspn(below, "/")) == DT_LNK;
        /* The project has answered: a folder that is silent is neither it nor in it. */
        if (path && *ret_is_linked && (r = path_canonical_to_be(path, ret)) != -ETIMEDOUT)
                return r;
        *ret = TAKE_PTR(path);
        return *ret ? 0 : -ENOMEM;
}

static int hide_state_file(struct resolved *s, char *path) {
        struct stat st;

        if (!path)
                return -ENOMEM;
        if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode)) {
                free(path);
                return 0;
        }
        if (ARRAY_GROW(s->files.hidden, s->files.n_hidden) < 0) {
                free(path);
                return -ENOMEM;
        }
        s->files.hidden[s->files.n_hidden++] = (struct resolved_hidden){
                .path = path, .dev = st.st_dev, .inode = st.st_ino, .n_names = st.st_nlink};
        return 0;
}

/* In a repository to which the home's symlinks lead: the login and the history are nobody's. */
static int hide_state(struct resolved *s, const struct agent_entry *agent, const struct agent_folder *around,
                      const char *path) {
        size_t n = strlen(around->path);
        int r = 0;

        for (const struct agent_folder *f = agent->folders; f->path && r >= 0; f++)
                if (f->access == POLICY_RW && !f->members && strncmp(f->path, around->path, n) == 0 &&
                    f->path[n] == '/' && !strchr(f->path, '*') && !agent_is_of_project(f) &&
                    f->path[strlen(f->path) - 1] != '/')
                        r = hide_state_file(s, path_join(path, f->path + n + 1));
        return r;
}

static int judge_agent(struct resolved *s, const struct agent_entry *agent, struct nsrun_error *err) {
        static const char hint[] = "choose a folder with --project DIR, or use --no-project";
        int r = 0;

        for (const struct agent_folder *f = agent->folders; f && f->path && r >= 0; f++) {
                _cleanup_free_ char *path = NULL;
                bool is_linked = false;

                if (f->access != POLICY_OVERLAY)
                        continue;
                r = find_agents_folder(s, f, &path, &is_linked);
                if (r < 0 || !path)
                        continue;
                if (path_is_beneath(s->project, path))
                        return error_identify(
                                err, NSRUN_ERROR_PROJECT_DENIED,
                                policy_refuse(err, s->project, hint,
                                              "the folder of %s's settings and login can't be the project",
                                              agent->name));
                if (!path_is_beneath(path, s->project) || access(path, F_OK) < 0)
                        continue;
                if (!is_linked)
                        return policy_refuse(err, path, hint,
                                             "the folder of %s's settings and login can't be in the project",
                                             agent->name);
                if (agent != agent_chosen(s->policy))
                        r = hide_state(s, agent, f, path);
        }
        return r < 0 ? error_oom(err) : 0;
}

int agent_homes_judge(struct resolved *s, struct nsrun_error *err) {
        const struct nsrun_policy *p = s->policy;
        int r = 0;

        for (size_t i = 0; i < p->n_agents + n_agent_entries && s->project && r >= 0; i++) {
                const struct agent_entry *agent =
                        i < p->n_agents ? &p->agents[i].entry : &agent_entries[i - p->n_agents].entry;

                if (agent_find(p, agent->name) == agent)
                        r = judge_agent(s, agent, err);
        }
        return r;
}

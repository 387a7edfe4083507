/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What of this folder and home may surprise in a run: what a run's policy comes to here, by the functions
 * that a run asks.  Nothing is started. */
#include <limits.h>

#include "base/file.h"
#include "base/path.h"
#include "base/responds.h"
#include "doctor.h"
#include "host/gitdir.h"
#include "host/walk.h"

enum {
        ENTRIES_MANY = 10000, /* no more of the tree are counted */
        MOUNTS_MOST = 10,
};

static void say_here_home(struct doctor *d, const struct resolved *s) {
        _cleanup_strbuf_ struct strbuf links = {0};
        size_t n = 0;

        if (!s->home) {
                doctor_add(d, "home", DOCTOR_DEGRADED,
                           "the command has none: HOME names no folder that can be one",
                           "export HOME=/a/folder/of/yours");
                return;
        }
        if (s->files.own_home)
                doctor_say(d, "home", "%s, which shows %s", s->home, s->files.own_home);
        else
                doctor_add(d, "home", DOCTOR_OK, s->home,
                           "inside an empty one: --ro and --rw show parts of it, --home has one that stays");
        if (s->home_link)
                doctor_say(d, "home", "%s leads there, and is a link inside, too", s->home_link);
        for (size_t i = 0; i < s->home_names.n; i++)
                if (s->home_names.names[i][-1] == DT_LNK && n++ < 3)
                        strbuf_addf(&links, "%s%s", n > 1 ? ", " : "", s->home_names.names[i]);
        if (n > 0 && !links.has_failed)
                doctor_add(d, "links in the home", DOCTOR_OK, links.text,
                           "what one leads to is shown where it is named: --ro");
}

void doctor_say_owner(struct doctor *d, const char *project) {
        bool is_root = geteuid() == 0;
        struct stat st;

        if (stat(project, &st) < 0 || st.st_uid == geteuid())
                return;
        if (is_root ? !(st.st_mode & S_IWOTH) : access(project, W_OK) < 0) {
                struct nsrun_error error = {0};

                (void)error_setf(&error, NSRUN_STAGE_POLICY, 0, NULL, "start nsrun as that user",
                                 "the command can't write it: it is %u's", (unsigned)st.st_uid);
                (void)doctor_add_error(d, "owner", is_root ? DOCTOR_NO : DOCTOR_DEGRADED, &error);
                d->works &= !is_root;
        } else {
                doctor_say(d, "owner", "%u", (unsigned)st.st_uid);
        }
}

static void say_here_git(struct doctor *d, const struct resolved *s) {
        _cleanup_gitdir_ struct gitdir g = {0};
        const char *why = NULL, *hint = NULL;
        size_t n = strv_length(s->git.worktrees);

        int r = gitdir_find(s->project, &g, &why, &hint);

        d->has_failed |= r == -ENOMEM;
        if (!s->git.has_repository)
                doctor_add(d, ".git", DOCTOR_OK, "there is none",
                           "git init, or --project where there is one");
        else if (r > 0)
                doctor_say(d, ".git", "%s to %s, which is shown, too",
                           g.is_link ? "a link" : "a file that leads",
                           g.common_dir ? g.common_dir : g.git_dir);
        else
                doctor_say(d, ".git", "a folder");
        if (n > 0)
                doctor_add(d, "worktrees", DOCTOR_OK, "others of this repository look empty inside",
                           "--rw shows one");
        STRV_FOREACH (line, s->git.lacks)
                doctor_add(d, "git", DOCTOR_DEGRADED, *line, NULL);
}

struct counting {
        struct nsrun_error silent;
        unsigned n;
};

static int count_here(void *data, nsrun_unused const struct walk_entry *entry) {
        ((struct counting *)data)->n++;
        return 0;
}

/* Once for each mount; what doesn't answer is told, and ends the count. */
static int cross_here(void *data, int folder, const char *name) {
        _cleanup_free_ char *shown = fd_name(folder);

        return responds_in_time(folder, name, shown, &((struct counting *)data)->silent);
}

static void say_here_size(struct doctor *d, const struct resolved *s) {
        _cleanup_close_ int fd = open(s->project, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        struct counting c = {0};
        const struct walk walk = {.is_for_all = true,
                                  .entries_max = ENTRIES_MANY,
                                  .found = count_here,
                                  .crosses = cross_here,
                                  .data = &c};
        int r = fd < 0 ? -errno : walk_names(&walk, fd);

        if (fd < 0)
                return;
        if (r == -ETIMEDOUT)
                (void)doctor_add_error(d, "mount", DOCTOR_DEGRADED, &c.silent);
        else if (r == -E2BIG)
                doctor_add(d, "size", DOCTOR_OK, "more than 10000 files and folders",
                           "with --hide each is looked at, and a session's diff looks at all that changed");
        else
                doctor_say(d, "size", "%u files", c.n);
}

/* Below the project: the command sees them, and who serves one may be away when it looks. */
static void say_here_mounts(struct doctor *d, const struct resolved *s) {
        _cleanup_fclose_ FILE *f = fopen("/proc/self/mountinfo", "re");
        char line[2 * PATH_MAX], place[PATH_MAX], type[64];
        unsigned n = 0;

        while (f && n < MOUNTS_MOST && fgets(line, sizeof(line), f)) {
                const char *rest = strstr(line, " - ");
                const char *below;

                if (!rest || sscanf(line, "%*d %*d %*s %*s %4095s", place) != 1 ||
                    sscanf(rest, " - %63s", type) != 1)
                        continue;
                below = path_below(place, s->project);
                if (!below || !*below)
                        continue;
                n++;
                doctor_add(d, "mount", DOCTOR_OK, place,
                           streq(type, "autofs") ? "look into it before the run: none is mounted from inside"
                                                 : "is shown; --hide hides it");
        }
}

void doctor_look_here(struct doctor *d) {
        static const char *const nothing_at_all[] = {"true", NULL};
        struct nsrun_policy *policy = NULL;
        _cleanup_resolved_ struct resolved s = {0};
        struct nsrun_error error = {0};
        int r = nsrun_policy_new(&policy);

        if (r >= 0)
                r = d->asked->apply(d->asked->data, policy, &error);
        if (r >= 0)
                r = nsrun_policy_set_command(policy, nothing_at_all, &error);
        if (r >= 0)
                r = policy_resolve(&(struct policy_request){.policy = policy, .starts_here = true}, &s,
                                   &error);
        d->works = r >= 0;
        if (r == -ENOMEM)
                d->has_failed = true;
        else if (r < 0)
                (void)doctor_add_error(d, "run", DOCTOR_NO, &error);
        if (r >= 0) {
                say_here_home(d, &s);
                STRV_FOREACH (line, s.tools.unseen)
                        doctor_add(d, "environment", DOCTOR_DEGRADED, *line, NULL);
        }
        if (r >= 0 && s.project) {
                doctor_say(d, "project", "%s", s.project);
                doctor_say_owner(d, s.project);
                say_here_git(d, &s);
                say_here_mounts(d, &s);
                say_here_size(d, &s);
        }
        (void)nsrun_policy_free(policy);
}

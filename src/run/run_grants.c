/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See run_grants.h. */
#include "run_grants.h"

#include <sys/epoll.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/str.h"
#include "base/sys.h"
#include "plan/record.h"
#include "running/granted.h"

struct run_grant {
        uint64_t id; /* granted.h's */
        struct protected_names names;
        char **hidden; /* as hidden_begin() has them */
        bool is_made;
        struct run_grant *next;
};

static void make_killed_of_grants(void *data) {
        struct run *run = data;

        run_make_killed(run);
        for (struct run_grant *g = run->grants; g; g = g->next)
                g->names.killed = run->protected.killed;
}

static int begin_names(struct run *run, const struct granted *granted, struct run_grant *g) {
        _cleanup_plan_ struct nsrun_plan *plan = NULL;
        struct protected_names *names = &g->names;
        int r = plan_restore(granted->plan, granted->plan_size, &plan, NULL);

        if (r >= 0 && !run->kept_by)
                r = kept_by_new(plan, &run->kept_by);
        if (r >= 0)
                r = hidden_begin(plan, &g->hidden, NULL);
        if (r >= 0)
                r = protected_begin(plan, run->kept_by, names);
        if (r < 0 || !names->appearing)
                return r < 0 ? r : -ENOMEM;
        names->make_killed = make_killed_of_grants;
        names->data = run;
        names->killed = run->protected.killed;
        /* What is at these paths now is the command's. */
        if (covers_keep_within(names->covers, granted->shown, 0) < 0)
                return -ENOMEM;
        r = protected_cover(names, run->launch.pid, true);
        return r < 0 ? r : names->covers && names->lacks_covers ? -EACCES : 0;
}

static void free_grant(struct run_grant *g) {
        if (!g)
                return;
        protected_clear(&g->names);
        strv_free(g->hidden);
        free(g);
}

static int end_grant(struct run *run, struct run_grant *g,
                     int (*found)(void *data, const struct nsrun_error *note), void *data) {
        int r = protected_end(&g->names, run->versions.folder, found, data);

        if (r >= 0)
                r = hidden_end(g->hidden, found, data);
        strv_freep(&g->hidden);
        return r;
}

/* Who asks waits for the answer, and shows the command nothing before. */
static int begin_grant(struct run *run, const struct granted *granted) {
        struct run_grant *g = calloc(1, sizeof(*g));
        struct epoll_event event = {.events = EPOLLIN};
        int r = g ? begin_names(run, granted, g) : -ENOMEM;

        if (r >= 0 && run->grants_fd < 0) {
                run->grants_fd = epoll_create1(EPOLL_CLOEXEC);
                r = run->grants_fd < 0 || fd_lift(&run->grants_fd) < 0 ? -errno : 0;
                if (r >= 0)
                        appearing_also(run->protected.appearing, run->grants_fd, EPOLLIN);
        }
        if (r >= 0 && epoll_ctl(run->grants_fd, EPOLL_CTL_ADD, protected_fd(&g->names), &event) < 0)
                r = -errno;
        if (r < 0) {
                free_grant(g);
                return r;
        }
        g->id = granted->id;
        g->next = run->grants;
        run->grants = g;
        return 0;
}

static struct run_grant *find_grant(const struct run *run, uint64_t id) {
        struct run_grant *g = run->grants;

        while (g && g->id != id)
                g = g->next;
        return g;
}

static void forget_grant(struct run *run, struct run_grant *g) {
        struct run_grant **at = &run->grants;

        while (*at && *at != g)
                at = &(*at)->next;
        if (*at)
                *at = g->next;
        free_grant(g);
}

static int take_grants_note(void *data, const struct nsrun_error *note) {
        struct run *run = data;

        return run->note ? run->note(run->data, note) : strv_consume(&run->notes, nsrun_error_format(note));
}

static void take_one(struct run *run, const struct granted *granted, bool may_begin) {
        struct run_grant *g = find_grant(run, granted->id);

        if (!granted->needs_keeping)
                return;
        if (!g && may_begin && !granted->is_kept && !granted->has_ended) {
                int r = begin_grant(run, granted);

                (void)granted_say(run->shown, GRANTED_KEPT, granted, (uint64_t)-r);
        }
        if (g && granted->mount)
                (void)covers_keep_within(g->names.covers, granted->shown, granted->mount);
        if (g)
                g->is_made |= granted->mount != 0;
        if (!granted->is_kept || !granted->has_ended || granted->has_writers || granted->is_swept)
                return;
        /* Nobody can make anything there any more. */
        if (g && g->is_made)
                (void)end_grant(run, g, take_grants_note, run);
        forget_grant(run, g);
        (void)granted_say(run->shown, GRANTED_SWEPT, granted, 0);
}

static void read_log(struct run *run, bool may_begin) {
        _cleanup_granted_ struct granted_list list = {0};
        struct stat st;

        if (run->shown < 0 || sys_fstat(run->shown, &st) < 0 || st.st_size == run->shown_size ||
            granted_read(run->shown, &list) < 0)
                return;
        run->shown_size = st.st_size;
        for (size_t i = 0; i < list.n; i++)
                take_one(run, &list.items[i], may_begin);
}

void run_grants_read(struct run *run) {
        read_log(run, false);
}

void run_grants_take(struct run *run) {
        if (run->shown < 0 || !run->protected.appearing)
                return;
        if (!run->watches_shown)
                run->watches_shown = appearing_watch_file(run->protected.appearing, run->shown);
        read_log(run, true);
        for (struct run_grant *g = run->grants; g; g = g->next)
                if (g->is_made && g->names.appearing)
                        run_judge_replaced(run, &g->names.uncovered,
                                           protected_take(&g->names, run->launch.pid));
}

int run_grants_fd(const struct run *run) {
        return run->grants_fd;
}

int run_grants_end(struct run *run, int (*found)(void *data, const struct nsrun_error *note), void *data) {
        int r = 0;

        for (struct run_grant *g = run->grants; g && r >= 0; g = g->next)
                if (g->is_made)
                        r = end_grant(run, g, found, data);
        return r;
}

void run_grants_clear(struct run *run) {
        for (struct run_grant *g; (g = run->grants);) {
                run->grants = g->next;
                free_grant(g);
        }
        close_fdp(&run->grants_fd);
}

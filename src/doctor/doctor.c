/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The list of what was found, and the kernel's part of it. */
#include "doctor.h"

#include <sched.h>
#include <stdarg.h>
#include <sys/utsname.h>

#include "base/sys.h"
#include "launch/launch.h"
#include "resolve/hardening.h"

const char *doctor_state_name(enum doctor_state state) {
        static const char *const names[] = {"ok", "degraded", "no"};

        return names[state];
}

static void clear_line(struct doctor_line *line) {
        free(line->check);
        free(line->text);
        free(line->fix);
}

/* Takes the texts; `fix` may be NULL. */
static struct doctor_line *doctor_take_line(struct doctor *d, enum doctor_state state, const char *check,
                                            char *text, char *fix) {
        struct doctor_line line = {.check = strdup(check), .state = state, .text = text, .fix = fix}, *lines;

        lines = line.check && text ? reallocarray(d->lines, d->n_lines + 1, sizeof(*lines)) : NULL;
        if (!lines) {
                d->has_failed = true;
                clear_line(&line);
                return NULL;
        }
        d->lines = lines;
        lines[d->n_lines] = line;
        return &lines[d->n_lines++];
}

void doctor_say(struct doctor *d, const char *check, const char *text, ...) {
        va_list arguments;
        char *said = NULL;

        va_start(arguments, text);
        if (vasprintf(&said, text, arguments) < 0)
                said = NULL;
        va_end(arguments);
        (void)doctor_take_line(d, DOCTOR_OK, check, said, NULL);
}

void doctor_add(struct doctor *d, const char *check, enum doctor_state state, const char *text,
                const char *fix) {
        char *copy = fix ? strdup(fix) : NULL;

        d->has_failed |= fix && !copy;
        (void)doctor_take_line(d, state, check, strdup(text), copy);
}

struct doctor_line *doctor_add_error(struct doctor *d, const char *check, enum doctor_state state,
                                     const struct nsrun_error *error) {
        struct nsrun_error cause = *error;
        char *fix = error->hint[0] ? str_visible(error->hint) : NULL;

        d->has_failed |= error->hint[0] && !fix;
        cause.hint[0] = '\0';
        return doctor_take_line(d, state, check, nsrun_error_format(&cause), fix);
}

static void look_at_kernel(struct doctor *d) {
        struct utsname name;

        if (uname(&name) >= 0)
                doctor_say(d, "kernel", "%s %s %s", name.sysname, name.release, name.machine);
}

/* Whether a run as it is asked for takes what the trial tries. */
static bool doctor_needs(const struct doctor *d, const struct launch_trial *trial) {
        const struct nsrun_plan *plan = d->plan;

        if (!plan)
                return true;
        if (trial->namespaces & CLONE_NEWNET)
                return !plan->plain && !plan->join && plan->net != POLICY_NET_HOST;
        if (trial->namespaces)
                return !plan->plain && !plan->join;
        return streq(trial->name, "landlock") ? !plan->plain && plan->landlock != POLICY_LANDLOCK_OFF
                                              : plan->seccomp.code != NULL;
}

/* Landlock keeps abstract sockets and signals inside, where the kernel's version of it can; runs go on
 * without. */
static void say_landlock(struct doctor *d) {
        int abi = sys_landlock_abi();
        struct nsrun_error error = {0};

        if (refuse_landlock(&error) >= 0) {
                doctor_say(d, "landlock", "ABI %d: abstract sockets and signals stay inside", abi);
                return;
        }
        (void)snprintf(error.hint, sizeof(error.hint), "%s", landlock_fix(abi));
        (void)doctor_add_error(d, "landlock", DOCTOR_DEGRADED, &error);
}

static void try_kernel(struct doctor *d) {
        bool has_namespaces = true;
        struct nsrun_error error;
        int r;

        for (size_t i = 0; i < n_launch_trials; i++) {
                const struct launch_trial *trial = &launch_trials[i];
                bool is_landlock = streq(trial->name, "landlock"), is_needed = doctor_needs(d, trial);

                /* Why there is no user namespace is said once. */
                if ((trial->namespaces && !has_namespaces) || (d->asked && !is_needed))
                        continue;
                error = (struct nsrun_error){0};
                r = launch_try(trial, &error);
                if (r < 0)
                        (void)doctor_add_error(d, trial->name, is_needed ? DOCTOR_NO : DOCTOR_DEGRADED,
                                               &error);
                else if (is_landlock)
                        say_landlock(d);
                else
                        doctor_say(d, trial->name, "can be had");
                if (r < 0 && trial->namespaces == CLONE_NEWUSER)
                        has_namespaces = false;
        }
        if (d->asked && d->plan && (d->plan->plain || d->plan->join))
                return;
        error = (struct nsrun_error){0};
        r = launch_try_binds(&error);
        if (r < 0)
                (void)doctor_add_error(d, "binds", DOCTOR_NO, &error);
        else
                doctor_say(d, "binds", "by mount_setattr(2)");
}

int doctor_examine(const struct doctor_asked *asked, struct doctor *ret, struct nsrun_error *err) {
        _cleanup_doctor_ struct doctor d = {.asked = asked, .has_project = true};

        doctor_make_plan(&d);
        look_at_kernel(&d);
        doctor_look_at_modules(&d);
        try_kernel(&d);
        doctor_run(&d);
        if (d.plan && d.plan->project && !d.plan->plain)
                doctor_say_owner(&d, d.plan->project);
        doctor_look_at_host(&d);
        doctor_look_at_caller(&d);
        if (d.has_failed)
                return error_oom(err);
        *ret = d;
        d = (struct doctor){.lines = NULL};
        return 0;
}

int doctor_examine_here(const struct doctor_asked *asked, struct doctor *ret, struct nsrun_error *err) {
        _cleanup_doctor_ struct doctor d = {.asked = asked, .has_project = true};

        doctor_look_here(&d);
        if (d.has_failed)
                return error_oom(err);
        *ret = d;
        d = (struct doctor){.lines = NULL};
        return 0;
}

void doctor_clear(struct doctor *d) {
        for (size_t i = 0; i < d->n_lines; i++)
                clear_line(&d->lines[i]);
        free(d->lines);
        strv_free(d->options);
        plan_free(d->plan);
}

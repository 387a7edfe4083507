/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Real runs: `nsrun run -- true` as it is, with the options that could help where it is refused, and with
 * what it does without where that fails: overlays on disk, limits.  Nothing is written down of them. */
#include <sys/wait.h>

#include "base/file.h"
#include "base/sys.h"
#include "doctor.h"
#include "resolve/refuse_config.h"
#include "run/run.h"

/* Of what a run's command prints no more is read. */
#define MOST_OUTPUT 4096

/* An option as nsrun_policy_set() takes it. */
struct doctor_option {
        const char *name, *value;
};

#define MOST_OPTIONS 6

/* One run, with what it had to say. */
struct doctor_attempt {
        const struct doctor_asked *asked; /* come before `options`; or NULL */
        struct doctor_option options[MOST_OPTIONS];
        size_t n_options;
        bool is_weaker;     /* one of the options leaves out something that protects */
        bool names_project; /* the configuration does */
        const char *const *argv;
        int out; /* the command's standard output; -1: /dev/null */
        /* What came of it. */
        int r; /* 0: the command has ended, with `status` */
        int status;
        struct nsrun_error error;
        struct nsrun_error *notes;
        size_t n_notes;
        struct nsrun_plan *plan;
        char *pids_place; /* the cgroup above the run's; NULL: it had none */
};

static const char *const nothing[] = {"true", NULL};
/* Where the sandbox's PATH has no such program. */
static const char *const nothing_of_shell[] = {"sh", "-c", ":", NULL};

static void attempt_clear(struct doctor_attempt *a) {
        free(a->notes);
        plan_free(a->plan);
        free(a->pids_place);
}
#define _cleanup_attempt_ _cleanup_(attempt_clear)

static void add_option(struct doctor_attempt *a, const char *name, const char *value) {
        if (a->n_options < MOST_OPTIONS)
                a->options[a->n_options++] = (struct doctor_option){name, value};
}

static int keep_note(void *data, const struct nsrun_error *note) {
        struct doctor_attempt *a = data;
        struct nsrun_error *notes = reallocarray(a->notes, a->n_notes + 1, sizeof(*notes));

        if (!notes)
                return -ENOMEM;
        a->notes = notes;
        notes[a->n_notes++] = *note;
        return 0;
}

static int make_plan(struct doctor_attempt *a) {
        struct nsrun_policy *policy = NULL;
        int r = nsrun_policy_new(&policy);

        if (r >= 0 && a->asked)
                r = a->asked->apply(a->asked->data, policy, &a->error);
        for (size_t i = 0; i < a->n_options && r >= 0; i++)
                r = nsrun_policy_set(policy, a->options[i].name, a->options[i].value, &a->error);
        if (r >= 0 && !a->asked)
                r = nsrun_policy_find_config(policy, &a->error);
        a->names_project = policy && policy->project;
        if (r >= 0)
                r = nsrun_policy_set_command(policy, a->argv, &a->error);
        if (r >= 0) {
                const struct policy_request request = {
                        .policy = policy, .starts_here = true, .is_plain = policy_is_plain(policy)};

                r = request.is_plain ? refuse_plain_config(policy, &a->error) : 0;
                if (r >= 0)
                        r = plan_make(&request, &a->plan, &a->error);
        }
        (void)nsrun_policy_free(policy);
        return r;
}

/* Watches a run to its end. */
static int watch(struct doctor_attempt *a, struct run *run) {
        struct launch_report report;
        int r, status;

        do
                r = run_take_report(run, &report, &a->error);
        while (r > 0);
        status = run_wait(run);
        if (r >= 0 && !run->has_exited && !WIFSIGNALED(status))
                return error_set(&a->error, NSRUN_STAGE_SUPERVISE, -EIO, NULL,
                                 "pid 1 ended without a report", NULL);
        a->status = run->has_exited ? run->status : status;
        return r;
}

static int carry_out(struct doctor_attempt *a) {
        _cleanup_close_ int null = sys_open(AT_FDCWD, "/dev/null", O_RDWR | O_NOCTTY, 0);
        const int stdio[] = {null, a->out >= 0 ? a->out : null, null};
        const struct run_params params = {
                .launch = {.stdio = stdio, .terminal_fd = -1, .dies_with_thread = true},
                .may_move = true,
                .note = keep_note,
                .data = a,
        };
        struct run run = RUN_INIT;
        int r;

        /* The command does nothing: later runs needn't know of it. */
        strv_freep(&a->plan->exposes);
        a->plan->exposes = NULL;
        r = run_begin(a->plan, &params, &run, &a->error);
        if (r >= 0)
                r = watch(a, &run);
        if (r >= 0 && run.cgroup.place.path)
                a->pids_place = strdup(run.cgroup.place.path);
        run_end(&run);
        return r;
}

static struct doctor_attempt with_options_of(const struct doctor_attempt *a) {
        struct doctor_attempt next = {.asked = a->asked,
                                      .argv = a->argv,
                                      .n_options = a->n_options,
                                      .is_weaker = a->is_weaker,
                                      .out = -1};

        memcpy(next.options, a->options, sizeof(next.options));
        return next;
}

/* Makes the run.  True: its command has ended well. */
static bool attempt(struct doctor_attempt *a) {
        a->out = a->out > 0 ? a->out : -1;
        a->r = make_plan(a);
        if (a->r >= 0)
                a->r = carry_out(a);
        if (a->r == -ENOENT && a->error.stage == NSRUN_STAGE_EXEC && a->argv == nothing) {
                struct doctor_attempt next = with_options_of(a);

                next.argv = nothing_of_shell;
                next.out = a->out;
                attempt_clear(a);
                *a = next;
                return attempt(a);
        }
        return a->r >= 0 && a->status == 0;
}

/* ------------------------------------------------------------ which options it takes */

/* What may help where a run is refused at this stage, the least first. */
static const struct {
        enum nsrun_stage stage;
        struct doctor_option option;
        bool is_weaker; /* something that protects is left out then */
} remedies[] = {
        {NSRUN_STAGE_PROC, {"proc", "subset"}, false},
        {NSRUN_STAGE_PROC, {"proc", "none"}, false},
        {NSRUN_STAGE_OVERLAY, {"overlay-backing", "tmpfs"}, false},
        {NSRUN_STAGE_WORKSPACE, {"overlay-backing", "tmpfs"}, false},
        {NSRUN_STAGE_POLICY, {"no-config", NULL}, true},
        {NSRUN_STAGE_POLICY, {"no-project", NULL}, false},
        {NSRUN_STAGE_HARDENING, {"landlock", "off"}, true},
        {NSRUN_STAGE_HARDENING, {"seccomp", "none"}, true},
};

static bool is_same_refusal(const struct doctor_attempt *a, const struct doctor_attempt *b) {
        return a->error.stage == b->error.stage && streq(a->error.path, b->error.path) &&
               (a->error.stage != NSRUN_STAGE_POLICY || streq(a->error.what, b->error.what));
}

/* Adds to the refused attempt the first option that gets it further, and tries again.  False: none does. */
static bool get_further(struct doctor_attempt *a) {
        for (size_t i = 0; i < ARRAY_SIZE(remedies); i++) {
                _cleanup_attempt_ struct doctor_attempt next = with_options_of(a);

                if (remedies[i].stage != a->error.stage || a->n_options == MOST_OPTIONS)
                        continue;
                add_option(&next, remedies[i].option.name, remedies[i].option.value);
                next.is_weaker |= remedies[i].is_weaker;
                if (!attempt(&next) && is_same_refusal(&next, a))
                        continue;
                attempt_clear(a);
                *a = next;
                next = (struct doctor_attempt){.argv = nothing};
                return true;
        }
        return false;
}

static char *option_text(const struct doctor_option *option) {
        return str_concat("--", option->name, "");
}

static void keep_options(struct doctor *d, const struct doctor_attempt *a) {
        for (size_t i = 0; i < a->n_options; i++) {
                _cleanup_free_ char *name = option_text(&a->options[i]);
                char *text = !name                 ? NULL
                             : a->options[i].value ? str_concat(name, "=", a->options[i].value)
                                                   : strdup(name);

                d->has_failed |= !text || strv_consume(&d->options, text) < 0;
        }
}

static char *join_options(const struct doctor *d) {
        _cleanup_strbuf_ struct strbuf text = {0};

        STRV_FOREACH (option, d->options) {
                strbuf_add(&text, option == d->options ? "" : " ");
                strbuf_add(&text, *option);
        }
        return strbuf_finish(&text);
}

/* Whether nobody could take this folder as a project, for what it is: the home, a folder of the system.  All
 * else that is refused of a project may be mended. */
static bool is_folder_denied(const struct doctor_attempt *a) {
        return !a->asked && !a->names_project && a->r < 0 && a->error.id == NSRUN_ERROR_PROJECT_DENIED;
}

/* That is of the folder, not of the host: a run without a project is judged then. */
static void leave_project_out(struct doctor *d, struct doctor_attempt *a) {
        _cleanup_attempt_ struct doctor_attempt next = with_options_of(a);

        add_option(&next, "no-project", NULL);
        d->works = attempt(&next);
        (void)doctor_add_error(d, "project", DOCTOR_DEGRADED, &a->error);
        d->has_project = false;
        attempt_clear(a);
        *a = next;
        next = (struct doctor_attempt){.argv = nothing};
}

/* The line of a plain run; and what it needs, if anything helps. */
static void find_options(struct doctor *d, struct doctor_attempt *a) {
        struct nsrun_error first;
        struct doctor_line *line;

        d->works = attempt(a);
        if (is_folder_denied(a))
                leave_project_out(d, a);
        if (d->works) {
                doctor_say(d, "run", "%s",
                           a->asked         ? "works with these options"
                           : d->has_project ? "\"nsrun run -- true\" works"
                                            : "\"nsrun run --no-project -- true\" works");
                keep_options(d, a);
                return;
        }
        if (a->r >= 0)
                (void)error_setf(&a->error, NSRUN_STAGE_EXEC, 0, "true", "look at it with nsrun run -- sh",
                                 WIFSIGNALED(a->status) ? "the command was killed by signal %d"
                                                        : "the command ends with status %d",
                                 WIFSIGNALED(a->status) ? WTERMSIG(a->status) : WEXITSTATUS(a->status));
        first = a->error;
        do
                d->works = a->r >= 0 && a->status == 0;
        while (!d->works && !a->asked && get_further(a));
        line = doctor_add_error(d, "run", DOCTOR_NO, &first);
        if (!d->works || !line)
                return;
        keep_options(d, a);
        d->is_weaker = a->is_weaker;
        free(line->fix);
        line->fix = join_options(d);
        d->has_failed |= !line->fix;
}

/* ----------------------------------------------------------------- what runs do without */

static const struct nsrun_error *find_note(const struct doctor_attempt *a, const char *path) {
        for (size_t i = 0; i < a->n_notes; i++)
                if (streq(a->notes[i].path, path))
                        return &a->notes[i];
        return NULL;
}

static void say_proc(struct doctor *d, const struct doctor_attempt *a) {
        const struct nsrun_error *note = find_note(a, "/proc");

        for (size_t i = 0; i < a->n_options; i++)
                if (streq(a->options[i].name, "proc")) {
                        doctor_add(d, "/proc", DOCTOR_NO,
                                   "a full one is refused, as parts of it are masked outside",
                                   streq(a->options[i].value, "none") ? "--proc=none" : "--proc=subset");
                        return;
                }
        if (note)
                (void)doctor_add_error(d, "/proc", DOCTOR_DEGRADED, note);
        else
                doctor_say(d, "/proc", "a new one can be had");
}

/* Asks for the overlay of a default cache that had none, so that its refusal says why. */
static void explain_cache(struct doctor *d, const struct doctor_attempt *a, const char *path) {
        const struct nsrun_error *note = find_note(a, path);
        _cleanup_attempt_ struct doctor_attempt asked = with_options_of(a);
        struct doctor_line *line = doctor_add_error(d, "cache", DOCTOR_DEGRADED, note);

        add_option(&asked, "overlay", path);
        if (!line || attempt(&asked) || !asked.error.hint[0])
                return;
        line->fix = strdup(asked.error.hint);
        d->has_failed |= !line->fix;
}

static void say_caches(struct doctor *d, const struct doctor_attempt *a) {
        bool is_disk = a->plan->backing == POLICY_BACKING_DISK;

        for (size_t i = 0; i < a->plan->n_ops; i++) {
                const struct plan_op *op = &a->plan->ops[i];

                if (op->kind != PLAN_OVERLAY || op->was_asked_for)
                        continue;
                if (find_note(a, op->target))
                        explain_cache(d, a, op->target);
                else
                        doctor_say(d, "cache", "%s: an overlay %s", op->target,
                                   is_disk ? "on disk" : "in memory");
        }
}

/* What else is had in a lesser way: of /proc, caches, limits and Landlock that is said with them. */
static void say_degraded(struct doctor *d, const struct doctor_attempt *a) {
        for (size_t i = 0; i < a->n_notes; i++) {
                const struct degraded *row = degraded_find(&a->notes[i]);

                if (row &&
                    (row == &degraded[DEGRADED_CGROUP_NAMESPACE] || row == &degraded[DEGRADED_COUNTERS]))
                        doctor_add(d, row->name, DOCTOR_DEGRADED, a->notes[i].what, row->fix);
        }
}

/* An overlay over the project, with layers in the cache folder: what --overlay and sessions need. */
static void try_overlay(struct doctor *d, const struct doctor_attempt *a) {
        static const char name[] = "overlay on disk";
        _cleanup_attempt_ struct doctor_attempt asked = with_options_of(a);
        const char *project = a->plan->project;

        if (!project)
                return;
        for (size_t i = 0; i < asked.n_options; i++)
                if (streq(asked.options[i].name, "overlay-backing"))
                        asked.options[i] = asked.options[--asked.n_options];
        add_option(&asked, "overlay-backing", "disk");
        add_option(&asked, "overlay", project);
        if (attempt(&asked))
                doctor_say(d, name, "can be laid over %s", project);
        else if (asked.error.stage != NSRUN_STAGE_WORKSPACE) /* that of the cache folder is said there */
                (void)doctor_add_error(d, name, DOCTOR_DEGRADED, &asked.error);
}

/* Without the option's name before the words, which the line has. */
static void say_no_limit(struct doctor *d, const char *name, const struct nsrun_error *error) {
        const char *what = startswith(error->what, name);
        struct nsrun_error said = *error;

        if (what && startswith(what, ": "))
                (void)snprintf(said.what, sizeof(said.what), "%s", what + strlen(": "));
        (void)doctor_add_error(d, name, DOCTOR_DEGRADED, &said);
}

/* What counts the processes of a run, where a limit was asked for that takes a cgroup. */
static void say_limits(struct doctor *d, const struct doctor_attempt *a) {
        if (a->pids_place)
                doctor_say(d, "--limit", "by a cgroup in %s", a->pids_place);
}

/* That RLIMIT_NPROC bounds the processes; a run that refuses this says why, and what mends it. */
static void say_rlimit(struct doctor *d, const char *name, const struct doctor_attempt *a) {
        const struct degraded *row = &degraded[DEGRADED_PIDS];
        _cleanup_attempt_ struct doctor_attempt asked = with_options_of(a);

        add_option(&asked, "limit", "pids=100");
        add_option(&asked, "strict", NULL);
        (void)attempt(&asked);
        doctor_add(d, name, DOCTOR_DEGRADED, "by RLIMIT_NPROC, as no cgroup can be made for it",
                   asked.error.id == row->error ? asked.error.hint : row->fix);
}

static void try_limits(struct doctor *d, const struct doctor_attempt *a) {
        static const struct {
                const char *name, *value;
        } limits[] = {
                {"--limit memory", "memory=1G"}, {"--limit pids", "pids=100"}, {"--limit cpu", "cpu=1"}};

        for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
                _cleanup_attempt_ struct doctor_attempt asked = with_options_of(a);

                add_option(&asked, "limit", limits[i].value);
                if (!attempt(&asked))
                        say_no_limit(d, limits[i].name, &asked.error);
                else if (asked.pids_place)
                        doctor_say(d, limits[i].name, "by a cgroup in %s", asked.pids_place);
                else
                        say_rlimit(d, limits[i].name, &asked);
        }
}

/* ------------------------------------------------------------------- what is seen inside */

static const char look[] =
        "for f in \"$SSL_CERT_FILE\" \"$CURL_CA_BUNDLE\" /etc/ssl/certs/ca-certificates.crt "
        "/etc/pki/tls/certs/ca-bundle.crt /etc/ssl/ca-bundle.pem /etc/ssl/cert.pem "
        "/etc/ssl/certs/ca-bundle.crt; do [ -s \"$f\" ] && [ -r \"$f\" ] && echo \"ca $f\" && break; done; "
        "for p in bash git; do echo \"$p $(command -v $p)\"; done";

/* What follows a word at a line's beginning; the caller frees it, NULL if there is no such line. */
static char *find_answer(const char *text, const char *word) {
        const char *at = text;

        while (at && !startswith(at, word)) {
                at = strchr(at, '\n');
                at = at ? at + 1 : NULL;
        }
        at = at ? startswith(at, word) : NULL;
        return at && *at != '\n' ? strndup(at, strcspn(at, "\n")) : NULL;
}

static void say_inside(struct doctor *d, const char *text) {
        static const struct {
                const char *word, *check, *without, *fix;
        } all[] = {
                {"bash ", "bash inside", "the sandbox's PATH leads to none",
                 "install the package bash; or expose the folder of yours with --ro"},
                {"git ", "git inside", "the sandbox's PATH leads to none",
                 "install the package git; or expose the folder of yours with --ro"},
                {"ca ", "certificates",
                 "no file of certificates is visible inside, without which TLS trusts nobody",
                 "install the package ca-certificates; or expose your file of them with --ro"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
                _cleanup_free_ char *found = find_answer(text, all[i].word);

                if (found)
                        doctor_say(d, all[i].check, "%s", found);
                else
                        doctor_add(d, all[i].check, DOCTOR_DEGRADED, all[i].without, all[i].fix);
        }
}

static void look_inside(struct doctor *d, const struct doctor_attempt *a) {
        static const char *const shell[] = {"sh", "-c", look, NULL};
        _cleanup_attempt_ struct doctor_attempt asked = with_options_of(a);
        char text[MOST_OUTPUT] = "";
        int ends[2], r = sys_pipe(ends);
        size_t n = 0;

        if (r < 0)
                return;
        asked.argv = shell;
        asked.out = ends[1];
        (void)attempt(&asked);
        (void)sys_close(ends[1]);
        r = asked.r < 0 ? asked.r : read_full(ends[0], text, sizeof(text) - 1, &n);
        (void)sys_close(ends[0]);
        text[r < 0 ? 0 : n] = '\0';
        if (asked.r < 0)
                (void)doctor_add_error(d, "shell inside", DOCTOR_DEGRADED, &asked.error);
        else
                say_inside(d, text);
}

void doctor_make_plan(struct doctor *d) {
        _cleanup_attempt_ struct doctor_attempt a = {.asked = d->asked, .argv = nothing, .out = -1};

        if (make_plan(&a) >= 0)
                d->plan = TAKE_PTR(a.plan);
}

void doctor_run(struct doctor *d) {
        _cleanup_attempt_ struct doctor_attempt a = {.asked = d->asked, .argv = nothing, .out = -1};

        find_options(d, &a);
        if (!d->works || a.plan->plain)
                return;
        if (!a.plan->join)
                say_proc(d, &a);
        say_caches(d, &a);
        say_degraded(d, &a);
        if (d->asked) {
                say_limits(d, &a);
        } else {
                try_overlay(d, &a);
                try_limits(d, &a);
        }
        look_inside(d, &a);
}

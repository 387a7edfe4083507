/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a run's start has to say: of its environment, of its bounds, of what guards it. */
#include "base/path.h"
#include "base/programs.h"
#include "explain/path.h"
#include "run.h"

int run_note_no_version(struct run *run, const struct nsrun_plan *plan, struct nsrun_error *err) {
        struct nsrun_error note;

        if (!plan->private || plan->join || plan->plain || run->rundir.path || run->versions.is_in_memory)
                return 0;
        degraded_note(&note, DEGRADED_GIT_CONFIG, plan->private[0]);
        return run_take_note(run, &note, err);
}

/* Says which variables the command doesn't get.  Of a session's that was said at its start. */
static int note_secrets(struct run *run, const struct nsrun_plan *plan, struct nsrun_error *err) {
        _cleanup_strbuf_ struct strbuf names = {0};
        _cleanup_free_ char *list = NULL;
        struct nsrun_error note = {0};

        if (plan->join || !plan->secrets)
                return 0;
        STRV_FOREACH (name, plan->secrets) {
                strbuf_add(&names, name == plan->secrets ? "" : ", ");
                strbuf_add(&names, *name);
        }
        list = strbuf_finish(&names);
        if (!list)
                return error_oom(err);
        (void)error_set(
                &note, NSRUN_STAGE_POLICY, 0, list,
                "variables that look like secrets are withheld from the command (--env NAME passes one)",
                NULL);
        return run_take_note(run, &note, err);
}

/* Notes, a line each. */
static int note_lines(struct run *run, char *const *lines, enum nsrun_stage stage, struct nsrun_error *err) {
        int r = 0;

        STRV_FOREACH (line, lines) {
                struct nsrun_error note = {0};

                (void)error_set(&note, stage, 0, NULL, *line, NULL);
                r = r < 0 ? r : run_take_note(run, &note, err);
        }
        return r;
}

/* Whether the command may write what lies at that path of the host's. */
static int can_be_replaced(const struct nsrun_plan *plan, const char *path) {
        for (size_t i = 0; i < plan->n_ops; i++) {
                const struct plan_op *op = &plan->ops[i];
                const char *below = op->kind == PLAN_BIND && !op->is_read_only && !op->is_device
                                            ? path_below(path, op->source)
                                            : NULL;
                _cleanup_free_ char *inside = below ? path_join(op->target, below) : NULL;

                if (below && !inside)
                        return -ENOMEM;
                if (below && explain_covering(plan, inside) == op)
                        return 1;
        }
        return 0;
}

/* Says that the command may replace what nsrun starts outside of any sandbox. */
static int note_own_programs(struct run *run, const struct nsrun_plan *plan, struct nsrun_error *err) {
        const char *const own[] = {program_init(), program_monitor(), program_net(), program_http(),
                                   program_keys()};
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(own) && r == 0; i++) {
                struct nsrun_error note = {0};

                r = can_be_replaced(plan, own[i]);
                if (r <= 0)
                        continue;
                (void)error_set(
                        &note, NSRUN_STAGE_POLICY, 0, own[i],
                        "the command may replace nsrun's own program, which runs outside the sandbox "
                        "(install nsrun where no command may write)",
                        NULL);
                return run_take_note(run, &note, err);
        }
        return r < 0 ? error_oom(err) : 0;
}

int run_note_start(struct run *run, const struct nsrun_plan *plan, struct nsrun_error *err) {
        struct nsrun_error note = {0};
        int r = 0;

        if (plan->plain) {
                (void)error_set(&note, NSRUN_STAGE_POLICY, 0, NULL, plan->plain, NULL);
                r = run_take_note(run, &note, err);
        }
        if (r >= 0 && run->n_processes > 0) {
                degraded_note(&note, DEGRADED_PIDS, NULL);
                r = run_take_note(run, &note, err);
        }
        return r >= 0 && !plan->join && !plan->raw && !plan->plain ? note_own_programs(run, plan, err) : r;
}

int run_note_environment(struct run *run, const struct nsrun_plan *plan, struct nsrun_error *err) {
        int r = note_secrets(run, plan, err);

        /* What the environment points at that the command doesn't find. */
        if (r >= 0)
                r = note_lines(run, plan->unseen, NSRUN_STAGE_PLAN, err);
        return r < 0 ? r : note_lines(run, plan->lacks, NSRUN_STAGE_POLICY, err);
}

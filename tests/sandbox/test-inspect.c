/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The plan in force of sandboxes whose waiter answers no question: of `nsrun bash` and of a host of the
 * library.  test-ps has those that answer. */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "library.h"

static void inspect(const char *id, const char *option, struct outcome *ret) {
        outcome_clear(ret);
        NSRUN_IN(NULL, ret, "inspect", option ? option : id, option ? id : NULL);
}

/* `option` with that value, of a command that prints "ready" into the fifo and waits. */
static struct nsrun_plan *plan_of(const struct site *s, const char *option, const char *value) {
        struct nsrun_policy *policy = make_policy(s, OPTIONS("sh", "-c", waiting));
        struct nsrun_plan *plan = NULL;
        struct nsrun_error err = {0};

        expect_good(nsrun_policy_set(policy, option, value, &err), &err);
        expect_good(nsrun_plan_new(policy, &plan, &err), &err);
        (void)nsrun_policy_free(policy);
        return plan;
}

static struct nsrun_sandbox *start_plan(const struct nsrun_plan *plan) {
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_error err = {0};

        expect_good(nsrun_start(plan, NULL, &sandbox, &err), &err);
        return sandbox;
}

/* The id of a sandbox of this process: its pid 1. */
static char *id_of(const struct nsrun_sandbox *sandbox) {
        _cleanup_free_ char *path = text_of("/proc/self/fdinfo/%d", nsrun_sandbox_pidfd(sandbox));
        _cleanup_fclose_ FILE *f = fopen(path, "re");
        char line[128];
        int pid = 0;

        assert_non_null(f);
        while (pid == 0 && fgets(line, sizeof(line), f))
                (void)sscanf(line, "Pid: %d", &pid);
        assert_true(pid > 0);
        return text_of("%d", pid);
}

static char *with_newline(char *text) {
        char *ret = text_of("%s%s", text, text[strlen(text) - 1] == '\n' ? "" : "\n");

        free(text);
        return ret;
}

/* What inspect must print: the plan as the host sees it, behind what is degraded. */
static void expect_plan(const struct nsrun_plan *plan, const struct nsrun_sandbox *sandbox) {
        _cleanup_free_ char *id = id_of(sandbox), *text = NULL, *json = NULL, *all = strdup("");
        _cleanup_outcome_ struct outcome o = {0};
        struct nsrun_error err = {0};

        expect_good(nsrun_plan_format(plan, NSRUN_FORMAT_TEXT, &text, &err), &err);
        expect_good(nsrun_plan_format(plan, NSRUN_FORMAT_JSON, &json, &err), &err);
        text = with_newline(text);
        json = with_newline(json);
        for (const char *const *entry = nsrun_sandbox_degraded(sandbox); *entry; entry++) {
                _cleanup_free_ char *words = nsrun_degraded_format(*entry), *before = all;

                all = text_of("%sdegraded: %s\n", before, words);
        }
        inspect(id, NULL, &o);
        expect_status(&o, 0);
        expect_in(o.out, text);
        o.out[strlen(o.out) - strlen(text)] = '\0';
        expect_out(&o, all);
        if (*nsrun_sandbox_degraded(sandbox))
                return;
        inspect(id, "--json", &o);
        expect_status(&o, 0);
        expect_out(&o, json);
}

static void ps_line(const char *id, const char *part) {
        _cleanup_free_ char *mark = text_of("\n%s ", id);
        _cleanup_outcome_ struct outcome o = {0};
        char *line;

        NSRUN_IN(NULL, &o, "ps");
        expect_status(&o, 0);
        line = strstr(o.out, mark);
        assert_non_null(line);
        line[1 + strcspn(line + 1, "\n")] = '\0';
        expect_in(line, part);
}

/* Two of one process, which waits for neither: each by its own id. */
TEST(a_hosts_sandboxes_show_their_plans) {
        const struct site *s = *state;
        _cleanup_close_ int fifo = open_fifo(s);
        struct nsrun_plan *alone = plan_of(s, "net", "none"), *other = plan_of(s, "tmpfs-size", "3M");
        struct nsrun_sandbox *first = start_plan(alone), *second = start_plan(other);
        _cleanup_free_ char *id = id_of(first), *other_id = id_of(second), *line = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        expect_ready(fifo);
        expect_ready(fifo);
        ps_line(id, " library ");
        ps_line(id, " none ");
        ps_line(id, s->project);
        ps_line(other_id, " host ");
        expect_plan(alone, first);
        expect_plan(other, second);
        (void)nsrun_sandbox_free(first);
        inspect(id, NULL, &o);
        line = text_of("nsrun: no such sandbox: %s; 'nsrun ps' lists them", id);
        expect_refusal(&o, 125, line);
        expect_plan(other, second);
        (void)nsrun_sandbox_free(second);
        (void)nsrun_plan_free(alone);
        (void)nsrun_plan_free(other);
}

/* Root's processes are counted by a cgroup alone, which not every host has. */
TEST_IF(geteuid() != 0, what_the_start_found_to_be_degraded_is_shown, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_close_ int fifo = open_fifo(s);
        struct nsrun_plan *plan = plan_of(s, "limit", "pids=200");
        struct nsrun_sandbox *sandbox = start_plan(plan);

        expect_ready(fifo);
        expect_plan(plan, sandbox);
        (void)nsrun_sandbox_free(sandbox);
        (void)nsrun_plan_free(plan);
}

static const char bash_script[] = "echo ready >fifo; exec sleep 1000";

static void begin_bash(const struct site *s, const char *script, struct running *ret) {
        const char *const argv[] = {program(), "bash", "--net=none", "--project", s->project, script, NULL};

        spawn(&(struct request){.argv = argv}, ret);
}

static void end_bash(struct running *running) {
        _cleanup_outcome_ struct outcome o = {0};

        assert_int_equal(kill(running->pid, SIGTERM), 0);
        assert_int_equal(kill(running->pid, SIGCONT), 0);
        finish(running, &o);
        assert_int_equal(o.status, 1000 + SIGTERM);
}

TEST(a_bash_command_shows_its_plan_also_while_it_is_stopped) {
        const struct site *s = *state;
        _cleanup_close_ int fifo = open_fifo(s);
        _cleanup_free_ char *id = NULL;
        _cleanup_outcome_ struct outcome running_plan = {0}, stopped_plan = {0};
        struct running running;
        siginfo_t info;

        begin_bash(s, bash_script, &running);
        expect_ready(fifo);
        id = text_of("%d", (int)running.pid);
        ps_line(id, " bash ");
        ps_line(id, " none ");
        inspect(id, "--json", &running_plan);
        expect_status(&running_plan, 0);
        expect_in(running_plan.out, bash_script);
        assert_int_equal(kill(running.pid, SIGSTOP), 0);
        assert_int_equal(waitid(P_PID, (id_t)running.pid, &info, WSTOPPED | WNOWAIT), 0);
        inspect(id, "--json", &stopped_plan);
        expect_status(&stopped_plan, 0);
        assert_string_equal(stopped_plan.out, running_plan.out);
        end_bash(&running);
}

/* The file is there, outside; no process inside has it, and one of the same name changes nothing. */
TEST(a_command_neither_has_nor_forges_the_plan) {
        static const char script[] =
                "ls -l /proc/[0-9]*/fd 2>/dev/null | grep -c nsrun-plan >found;"
                "exec python3 -c 'import os, time\n"
                "for n in range(1, 200): os.write(os.memfd_create(\"nsrun-plan-of-%d\" % n), b\"for\" b\"ged\")\n"
                "open(\"fifo\", \"w\").write(\"ready\\n\"); time.sleep(1000)'";
        const struct site *s = *state;
        _cleanup_close_ int fifo = open_fifo(s);
        _cleanup_free_ char *id = NULL, *look = NULL;
        _cleanup_outcome_ struct outcome o = {0}, seen = {0};
        struct running running;

        begin_bash(s, script, &running);
        expect_ready(fifo);
        id = text_of("%d", (int)running.pid);
        look = text_of("cat found; ls -l /proc/%s/fd | grep -c nsrun-plan-of", id);
        run_outside(s, &seen, look);
        expect_out(&seen, "0\n1\n");
        inspect(id, NULL, &o);
        expect_status(&o, 0);
        expect_in(o.out, "\nnetwork     none");
        expect_not_in(o.out, "forged");
        end_bash(&running);
}

/* It may be sandboxed itself, by an nsrun-bwrap that shares the host's pid namespace. */
TEST(who_waits_in_namespaces_of_its_own_is_not_believed) {
        static const char *const options[] = {"-r", "-m"};
        const struct site *s = *state;

        for (size_t i = 0; i < (geteuid() == 0 ? 2 : 1); i++) {
                const char *const argv[] = {"unshare",   options[i], program(),   "bash", "--net=none",
                                            "--project", s->project, bash_script, NULL};
                _cleanup_close_ int fifo = open_fifo(s);
                _cleanup_free_ char *id = NULL;
                _cleanup_outcome_ struct outcome o = {0};
                struct running running;

                spawn(&(struct request){.argv = argv}, &running);
                expect_ready(fifo);
                id = text_of("%d", (int)running.pid);
                inspect(id, NULL, &o);
                expect_refusal(
                        &o, 125,
                        "nsrun: whoever waits for this sandbox is in namespaces of its own, and is not "
                        "believed");
                end_bash(&running);
        }
}

/* A host without room for files of that size is not sent a SIGXFSZ, and its sandbox runs. */
TEST(a_host_that_may_write_no_files_starts_it_all_the_same) {
        const struct site *s = *state;
        _cleanup_close_ int fifo = open_fifo(s);
        _cleanup_free_ char *id = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        struct nsrun_sandbox *sandbox;
        struct rlimit own, none;

        assert_int_equal(getrlimit(RLIMIT_FSIZE, &own), 0);
        none = (struct rlimit){.rlim_cur = 8192, .rlim_max = own.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
        sandbox = start(s, waiting);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &own), 0);
        expect_ready(fifo);
        id = id_of(sandbox);
        inspect(id, NULL, &o);
        expect_refusal(
                &o, 125,
                "nsrun: whoever waits for this sandbox has no plan to show; it may be another version, "
                "have ended, or have no room for files of that size");
        (void)nsrun_sandbox_free(sandbox);
}

/* A host with keys in its memory lets nobody of its user look at it. */
TEST_IF(geteuid() != 0, a_host_that_can_not_be_looked_at_says_nothing, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_close_ int fifo = open_fifo(s);
        struct nsrun_sandbox *sandbox = start(s, waiting);
        _cleanup_free_ char *id = id_of(sandbox);
        _cleanup_outcome_ struct outcome before = {0}, o = {0};

        expect_ready(fifo);
        inspect(id, NULL, &before);
        expect_status(&before, 0);
        assert_int_equal(prctl(PR_SET_DUMPABLE, 0), 0);
        inspect(id, NULL, &o);
        assert_int_equal(prctl(PR_SET_DUMPABLE, 1), 0);
        expect_refusal(
                &o, 125,
                "nsrun: the program that waits for this sandbox lets nobody look at it: Permission denied");
        (void)nsrun_sandbox_free(sandbox);
}

int main(void) {
        return run_all_tests();
}

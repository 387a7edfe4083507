/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each command line of bwrap-cases.h under nsrun-bwrap and under Debian's bubblewrap 0.8.0,
 * by whoever runs this: everything that bwrap-run.c reports is the same, but for what is
 * excused below with its reason.  An excuse that nothing needs is a failure as well. */
#include "bwrap-cases.h"

#include <fnmatch.h>
#include <sys/wait.h>

#define PARENTS(args)                                                                \
        {                                                                            \
                BY_ANYBODY, args, "[-+]path /* mode 40[0-7]?? *",                    \
                        "parents are 0755, as the manual says of them", false, false \
        }

static struct excuse {
        enum bwrap_user by;
        const char *args; /* patterns of fnmatch(3): the case */
        const char *line; /* and "-LINE" that bubblewrap alone has, or "+LINE" that nsrun-bwrap has */
        const char *reason;
        bool may_be_idle; /* what asks for it is this machine's */
        bool is_used;
} excuses[] = {
        {BY_ANYBODY, "*", "+mount /*/sys ro,nosuid,nodev,*relatime proc root /sys rw",
         "/proc/sys is never writable", false, false},
        {BY_ROOT, "*", "[-+]open /proc/sys/kernel/domainname: *", "/proc/sys is never writable", false,
         false},
        {BY_ROOT, "--unshare-user --uid 5 --gid 6 --dev /dev *", "-mount /proc/[bi]* ro,*",
         "what nobody inside may write to is not covered", false, false},
        {BY_ANYBODY, "--symlink target /l --symlink other /l", "[-+]error *", "0.11.1 says what is there",
         false, false},
        {BY_ANYBODY, "*--lock-file /x/missing", "*", "a lock that can't be had ends the sandbox", false,
         false},
        {BY_ANYBODY, "*", "-mount /* rw,relatime *", "a mount that another one hides gets its flags as well",
         true, false},
        {BY_ANYBODY, "*bind / */dev*", "+mount /*/dev/* r[ow],nosuid,*",
         "a mount that another one hides gets its flags as well", true, false},
        {BY_ANYBODY, "*bind / /host*", "+mount /host/* r[ow],nosuid,*",
         "a mount that another one hides gets its flags as well", true, false},
        {BY_ANYBODY, "--dev-bind /dev /dev", "+mount /dev/* r[ow],nosuid,*",
         "a mount that another one hides gets its flags as well", true, false},
        {BY_ANYBODY, "*--userns %userns*",
         "-fd 2? -> user:", "the command gets no descriptor of a namespace", false, false},
        {BY_ROOT, "*--cap-*", "[-+]Cap*",
         "what is dropped stays dropped: 0.8.0 leaves root's bounding set, and exec gives all of it back",
         false, false},
        {BY_ROOT, "*--cap-*", "[-+]bounding set lacks *",
         "what is dropped stays dropped: 0.8.0 leaves root's bounding set, and exec gives all of it back",
         false, false},
        {BY_ANYBODY, "!--json-status-fd %w --ro-bind @/missing / -- true", "[-+]written to 20: *",
         "sources are opened before anything is started", false, false},
        {BY_ANYBODY, "--bind @/root / ^ --tmpfs /up/etc", "*", "\"..\" above the new root is the new root",
         false, false},
        {BY_ANYBODY, "--bind @/root / ^ --file %r:text /etc/link", "*",
         "no file is written through a link, as since 0.12", false, false},
        {BY_ANYBODY, "--symlink target /l --symlink target /l", "*",
         "0.11.1 takes an existing link with the same text for what was asked for", false, false},
        {BY_ANYBODY, "--bind @/root / ^ * /share*", "*",
         "an absolute link in the new root leads into the new root; 0.8.0 looks in a root of its own", false,
         false},
        {BY_A_USER, "*--dev *", "[-+]/proc/self/?id_map: *",
         "devpts is mounted without a second user namespace around it", false, false},
        {BY_A_USER, "*--dev *", "[-+]path */pts mode 40755 *",
         "devpts is mounted without a second user namespace around it", false, false},
        {BY_A_USER, "*--dev *", "[-+]make in */pts: *",
         "devpts is mounted without a second user namespace around it", false, false},
        {BY_ANYBODY, "--bind @/a /x --bind @/file /x/new/deeper", "[-+]tree /a/new mode 40*",
         "parents are 0755, as the manual says of them", false, false},
        PARENTS("--bind @/* /deep*"),
        PARENTS("--bind @//a /x//y///z"),
        PARENTS("--bind @/a x/y"),
        PARENTS("--bind @/a /x --bind @/file /x/new/deeper"),
        PARENTS("--symlink target /d/l"),
        PARENTS("--unshare-ipc --mqueue /d/q"),
        PARENTS("--unshare-pid --proc /p/q"),
        PARENTS("--dev /d/ev"),
};

static const struct excuse *excuse_of(const struct bwrap_case *c, const char *line) {
        for (size_t i = 0; i < ARRAY_SIZE(excuses); i++) {
                struct excuse *e = &excuses[i];

                if (e->by != BY_ANYBODY && (e->by == BY_ROOT) != (geteuid() == 0))
                        continue;
                if (fnmatch(e->args, c->args, 0) == 0 && fnmatch(e->line, line, 0) == 0) {
                        e->is_used = true;
                        return e;
                }
        }
        return NULL;
}

/* ----------------------------------------------------------------- comparing */

struct lines {
        char *text, **lines;
        size_t n;
};

/* What bubblewrap says of a failure is compared only where callers match it. */
static bool is_compared(const struct bwrap_case *c, const char *line) {
        return c->same_words || strncmp(line, "error ", 6) != 0;
}

static void split(const struct bwrap_case *c, const char *report, struct lines *ret) {
        char *rest;

        *ret = (struct lines){.text = strdup(report)};
        rest = ret->text;
        for (char *line; (line = strsep(&rest, "\n"));)
                if (*line && is_compared(c, line)) {
                        ret->lines = reallocarray(ret->lines, ret->n + 1, sizeof(*ret->lines));
                        ret->lines[ret->n++] = line;
                }
}

static void lines_clear(struct lines *l) {
        free(l->text);
        free(l->lines);
}

/* Takes the first line equal to `line` out of `l`. */
static bool take(struct lines *l, const char *line) {
        for (size_t i = 0; i < l->n; i++)
                if (l->lines[i] && streq(l->lines[i], line)) {
                        l->lines[i] = NULL;
                        return true;
                }
        return false;
}

static size_t complain(const struct bwrap_case *c, char sign, const char *line) {
        _cleanup_free_ char *signed_line = text_of("%c%s", sign, line);

        if (excuse_of(c, signed_line))
                return 0;
        print_message("    %s\n", signed_line);
        return 1;
}

/* How many lines differ without an excuse. */
static size_t compare_reports(const struct bwrap_case *c, const char *theirs, const char *ours) {
        struct lines left, right;
        size_t n_differences = 0, n_excused = 0;
        bool is_same_order = true;

        split(c, theirs, &left);
        split(c, ours, &right);
        for (size_t i = 0; i < left.n && i < right.n; i++)
                is_same_order = is_same_order && streq(left.lines[i], right.lines[i]);
        for (size_t i = 0; i < left.n; i++)
                if (!take(&right, left.lines[i])) {
                        size_t n = complain(c, '-', left.lines[i]);

                        n_differences += n;
                        n_excused += !n;
                }
        for (size_t i = 0; i < right.n; i++)
                if (right.lines[i]) {
                        size_t n = complain(c, '+', right.lines[i]);

                        n_differences += n;
                        n_excused += !n;
                }
        /* Of mounts on top of each other, the order tells. */
        if (n_differences + n_excused == 0 && !is_same_order) {
                print_message("    the same lines in another order\n");
                n_differences++;
        }
        lines_clear(&left);
        lines_clear(&right);
        return n_differences;
}

/* Each message is bubblewrap's by its first word, but for the help; no failure goes without one. */
static size_t judge_messages(const struct bwrap_case *c, const char *report) {
        size_t n_wrong = 0, n = 0;

        for (const char *at = report; (at = strstr(at, "\nerror ")); at++, n++)
                if (strncmp(at + 7, "usage: ", 7) == 0)
                        return n_wrong;
                else if (strncmp(at + 7, "bwrap: ", 7) != 0) {
                        print_message("    a message without \"bwrap: \": %.*s\n",
                                      (int)strcspn(at + 7, "\n"), at + 7);
                        n_wrong++;
                }
        if (n == 0 && strncmp(report, "status 1\n", 9) == 0 && !strstr(c->args, "false")) {
                print_message("    a failure without a message\n");
                n_wrong++;
        }
        return n_wrong;
}

static bool differs(const struct site *s, const char *judge, const struct bwrap_case *c) {
        _cleanup_free_ char *theirs = bwrap_report(s, judge, c), *ours = NULL;
        _cleanup_free_ char *expected = text_of("status %d\n", expected_status(c));
        siginfo_t info;
        size_t n;

        /* bubblewrap leaves its dead to whoever comes after it. */
        collect_orphans();
        print_message("  %s%s%s\n", c->args, c->cwd ? " in " : "", c->cwd ? c->cwd : "");
        if (strncmp(theirs, expected, strlen(expected)) != 0) {
                const char *error = strstr(theirs, "\nerror ");

                print_message("    the table is wrong: bubblewrap itself: %.*s, %.200s\n",
                              (int)strcspn(theirs, "\n"), theirs, error ? error + 1 : "");
                return true;
        }
        ours = bwrap_report(s, our_bwrap(), c);
        /* What a command leaves behind lives on, and ends by itself. */
        if (strstr(c->args, "@/leave"))
                collect_orphans();
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0) {
                print_message("    nsrun-bwrap leaves a process behind\n");
                return true;
        }
        n = compare_reports(c, theirs, ours);
        if (n > 0 && !strstr(ours, "\nmount "))
                print_message("    nsrun-bwrap: %.300s\n", ours);
        return n + judge_messages(c, ours) > 0;
}

/* The simplest of all. */
static bool works_here(const struct site *s, const char *judge) {
        _cleanup_free_ char *report = bwrap_report(s, judge, &(struct bwrap_case){.args = "--unshare-pid"});

        collect_orphans();
        return strncmp(report, "status 7\n", 9) == 0;
}

static void compare_cases(const struct site *s, const struct bwrap_case *cases, size_t n) {
        const char *judge = judging_bwrap();
        size_t n_wrong = 0, n_run = 0;

        if (!judge)
                skip_because("skipped: bubblewrap 0.8.0 is not installed");
        deadline_seconds = 30;
        if (!works_here(s, judge))
                skip_because("skipped: bubblewrap runs no static program here");
        for (size_t i = 0; i < n; i++)
                if (case_is_for_us(&cases[i])) {
                        n_wrong += differs(s, judge, &cases[i]);
                        n_run++;
                }
        print_message("%zu command lines compared\n", n_run);
        if (n_wrong > 0)
                fail_msg("%zu of %zu command lines differ", n_wrong, n_run);
}

TEST(binds_are_as_bubblewraps) {
        compare_cases(*state, bind_cases, ARRAY_SIZE(bind_cases));
}

TEST(made_files_and_folders_are_as_bubblewraps) {
        compare_cases(*state, made_cases, ARRAY_SIZE(made_cases));
}

TEST(proc_dev_and_whole_roots_are_as_bubblewraps) {
        compare_cases(*state, special_cases, ARRAY_SIZE(special_cases));
}

TEST(namespaces_and_ids_are_as_bubblewraps) {
        compare_cases(*state, namespace_cases, ARRAY_SIZE(namespace_cases));
}

TEST(privileges_and_filters_are_as_bubblewraps) {
        compare_cases(*state, privilege_cases, ARRAY_SIZE(privilege_cases));
}

TEST(the_environment_and_the_folder_are_as_bubblewraps) {
        compare_cases(*state, environment_cases, ARRAY_SIZE(environment_cases));
}

TEST(processes_and_descriptors_are_as_bubblewraps) {
        compare_cases(*state, process_cases, ARRAY_SIZE(process_cases));
}

TEST(command_lines_are_refused_as_by_bubblewrap) {
        compare_cases(*state, refusal_cases, ARRAY_SIZE(refusal_cases));
}

TEST(options_given_twice_are_as_with_bubblewrap) {
        compare_cases(*state, repeated_cases, ARRAY_SIZE(repeated_cases));
}

TEST(help_lists_every_option_of_bubblewraps) {
        const char *const theirs[] = {"bwrap", "--help", NULL}, *const ours[] = {our_bwrap(), "--help",
                                                                                 NULL};
        _cleanup_outcome_ struct outcome a = {0}, b = {0};
        _cleanup_free_ char *usage = text_of("usage: %s [OPTIONS...] [--] COMMAND [ARGS...]\n", our_bwrap());
        size_t n = 0;

        if (!judging_bwrap())
                skip_because("skipped: bubblewrap 0.8.0 is not installed");
        run(&(struct request){.argv = theirs}, &a);
        run(&(struct request){.argv = ours}, &b);
        expect_status(&b, 0);
        assert_string_equal(b.err, "");
        assert_true(strncmp(b.out, usage, strlen(usage)) == 0);
        for (const char *at = a.out; (at = strstr(at, "\n    --")); at++, n++) {
                /* The option and its operands, up to the explanation. */
                size_t length = strcspn(at + 5, "\n");
                const char *explanation = strstr(at + 5, "  ");
                _cleanup_free_ char *option = NULL;

                if (explanation && (size_t)(explanation - at - 5) < length)
                        length = (size_t)(explanation - at - 5);
                option = text_of("\n    %.*s", (int)length, at + 5);
                expect_in(b.out, option);
        }
        assert_true(n > 60);
}

/* Runs last. */
TEST(every_excuse_is_needed) {
        size_t n_idle = 0;

        if (!judging_bwrap())
                skip_because("skipped: bubblewrap 0.8.0 is not installed");
        for (size_t i = 0; i < ARRAY_SIZE(excuses); i++)
                if (!excuses[i].is_used && !excuses[i].may_be_idle &&
                    (excuses[i].by == BY_ANYBODY || (excuses[i].by == BY_ROOT) == (geteuid() == 0))) {
                        print_message("    nothing needs: %s, %s: %s\n", excuses[i].args, excuses[i].line,
                                      excuses[i].reason);
                        n_idle++;
                }
        assert_int_equal(n_idle, 0);
}

int main(void) {
        return run_all_tests();
}

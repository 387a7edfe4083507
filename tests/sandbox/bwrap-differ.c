/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Two reports side by side, line by line.  See bwrap-differ.h. */
#include "bwrap-differ.h"

#include <fnmatch.h>
#include <sys/wait.h>

struct judging {
        const struct bwrap_case *c;
        struct excuse *excuses;
        size_t n_excuses;
};

static bool is_excused(const struct judging *j, const char *line) {
        for (size_t i = 0; i < j->n_excuses; i++) {
                struct excuse *e = &j->excuses[i];

                if (e->by != BY_ANYBODY && (e->by == BY_ROOT) != (geteuid() == 0))
                        continue;
                if (fnmatch(e->args, j->c->args, 0) == 0 && fnmatch(e->line, line, 0) == 0) {
                        e->is_used = true;
                        return true;
                }
        }
        return false;
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

static size_t complain(const struct judging *j, char sign, const char *line) {
        _cleanup_free_ char *signed_line = text_of("%c%s", sign, line);

        if (is_excused(j, signed_line))
                return 0;
        print_message("    %s\n", signed_line);
        return 1;
}

/* How many lines differ without an excuse. */
static size_t compare_reports(const struct judging *j, const char *theirs, const char *ours) {
        struct lines left, right;
        size_t n_differences = 0, n_excused = 0;
        bool is_same_order = true;

        split(j->c, theirs, &left);
        split(j->c, ours, &right);
        for (size_t i = 0; i < left.n && i < right.n; i++)
                is_same_order = is_same_order && streq(left.lines[i], right.lines[i]);
        for (size_t i = 0; i < left.n; i++)
                if (!take(&right, left.lines[i])) {
                        size_t n = complain(j, '-', left.lines[i]);

                        n_differences += n;
                        n_excused += !n;
                }
        for (size_t i = 0; i < right.n; i++)
                if (right.lines[i]) {
                        size_t n = complain(j, '+', right.lines[i]);

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

size_t bwrap_differs(const struct site *s, const char *judge, const struct bwrap_case *c,
                     struct excuse *excuses, size_t n_excuses, bool expects) {
        const struct judging j = {.c = c, .excuses = excuses, .n_excuses = n_excuses};
        _cleanup_free_ char *theirs = bwrap_report(s, judge, c), *ours = NULL;
        _cleanup_free_ char *expected = text_of("status %d\n", expected_status(c));
        siginfo_t info;
        size_t n;

        /* bubblewrap leaves its dead to whoever comes after it. */
        collect_orphans();
        if (expects)
                print_message("  %s%s%s\n", c->args, c->cwd ? " in " : "", c->cwd ? c->cwd : "");
        if (expects && strncmp(theirs, expected, strlen(expected)) != 0) {
                const char *error = strstr(theirs, "\nerror ");

                print_message("    the table is wrong: bubblewrap itself: %.*s, %.200s\n",
                              (int)strcspn(theirs, "\n"), theirs, error ? error + 1 : "");
                return 1;
        }
        ours = bwrap_report(s, our_bwrap(), c);
        /* What a command leaves behind lives on, and ends by itself. */
        if (strstr(c->args, "@/leave"))
                collect_orphans();
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0) {
                print_message("    nsrun-bwrap leaves a process behind\n");
                return 1;
        }
        n = compare_reports(&j, theirs, ours);
        if (n > 0 && !strstr(ours, "\nmount "))
                print_message("    nsrun-bwrap: %.300s\n", ours);
        return n + judge_messages(c, ours);
}

bool bwrap_works_here(const struct site *s, const char *judge) {
        _cleanup_free_ char *report = bwrap_report(s, judge, &(struct bwrap_case){.args = "--unshare-pid"});

        collect_orphans();
        return strncmp(report, "status 7\n", 9) == 0;
}

void expect_no_idle(const struct excuse *excuses, size_t n) {
        size_t n_idle = 0;

        for (size_t i = 0; i < n; i++)
                if (!excuses[i].is_used && !excuses[i].may_be_idle &&
                    (excuses[i].by == BY_ANYBODY || (excuses[i].by == BY_ROOT) == (geteuid() == 0))) {
                        print_message("    nothing needs: %s, %s: %s\n", excuses[i].args, excuses[i].line,
                                      excuses[i].reason);
                        n_idle++;
                }
        assert_int_equal(n_idle, 0);
}

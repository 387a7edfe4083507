/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun session commit --interactive`: a person at a terminal, who is asked about each change. */
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>

#include "session.h"

#define QUESTION "commit this? [y,n,d,a,q,?] "
#define DIFFERS                                                                                                \
        "nsrun: the session isn't in the state that this digest is of, so nothing was committed: %s/%s; look " \
        "at the diff again\n"
#define OTHER_STATE 123 /* the status */

/* nsrun, and the terminal that is its own and none of its standard streams. */
struct talk {
        struct running running;
        int master, slave;
        char text[64 * 1024]; /* all that was printed there */
        size_t n, seen;       /* seen: up to the last question's end */
};

struct at_terminal {
        int slave;
        bool ignores_hangup;
};

static void take_the_terminal(void *data) {
        const struct at_terminal *at = data;

        if (at->ignores_hangup)
                (void)signal(SIGHUP, SIG_IGN);
        if (setsid() < 0 || ioctl(at->slave, TIOCSCTTY, 0) < 0)
                _exit(119);
}

static void begin_talk(const struct site *s, struct talk *t, bool ignores_hangup, const char *const *words) {
        _cleanup_free_ const char **argv = words_of(
                (const char *const[]){program(), "session", "commit", "--interactive", NULL}, words);
        struct at_terminal at = {.ignores_hangup = ignores_hangup};
        struct request request = {.argv = argv, .cwd = s->root, .in_child = take_the_terminal, .data = &at};

        *t = (struct talk){.n = 0};
        assert_int_equal(openpty(&t->master, &t->slave, NULL, NULL, NULL), 0);
        assert_int_equal(fcntl(t->master, F_SETFD, FD_CLOEXEC), 0);
        at.slave = t->slave;
        spawn(&request, &t->running);
        /* nsrun has none but what it opens by itself. */
        assert_int_equal(fcntl(t->slave, F_SETFD, FD_CLOEXEC), 0);
}
#define BEGIN(site, talk, ...) begin_talk(site, talk, false, (const char *const[]){__VA_ARGS__, NULL})

static bool read_more(struct talk *t, int timeout) {
        struct pollfd more = {.fd = t->master, .events = POLLIN};
        ssize_t n;

        if (poll(&more, 1, timeout) != 1)
                return false;
        n = read(t->master, t->text + t->n, sizeof(t->text) - 1 - t->n);
        if (n <= 0)
                return false;
        t->n += (size_t)n;
        t->text[t->n] = '\0';
        return true;
}

/* Waits for the next question; before it exactly `shown` is printed, but for the echo of the last answer. */
static void expect_question(struct talk *t, const char *shown) {
        _cleanup_free_ char *expected = text_of("%s" QUESTION, shown);
        const char *at;

        while (!(at = strstr(t->text + t->seen, QUESTION)))
                if (!read_more(t, deadline_seconds * 500))
                        fail_msg("no question comes after: %s", t->text + t->seen);
        t->text[t->n] = '\0';
        if (strncmp(t->text + t->seen, expected, strlen(expected)) != 0)
                fail_msg("not [%s] but [%s]", expected, t->text + t->seen);
        t->seen = (size_t)(at - t->text) + strlen(QUESTION);
}

/* Types a line, and takes its echo. */
static void type(struct talk *t, const char *line) {
        _cleanup_free_ char *echo = text_of("%s\r\n", line), *typed = text_of("%s\n", line);

        assert_int_equal(write(t->master, typed, strlen(typed)), (ssize_t)strlen(typed));
        while (t->n - t->seen < strlen(echo) && read_more(t, deadline_seconds * 500))
                ;
        assert_int_equal(strncmp(t->text + t->seen, echo, strlen(echo)), 0);
        t->seen += strlen(echo);
}

static void end_talk(struct talk *t, struct outcome *ret) {
        finish(&t->running, ret);
        while (read_more(t, 0))
                ;
        if (t->master >= 0)
                (void)close(t->master);
        (void)close(t->slave);
}

static void expect_result(struct talk *t, int status, const char *out, const char *err) {
        _cleanup_outcome_ struct outcome o = {0};

        end_talk(t, &o);
        assert_string_equal(o.err, err);
        assert_string_equal(o.out, out);
        expect_status(&o, status);
}

/* NULL: there is none. */
static void expect_file(const struct site *s, const char *name, const char *text) {
        _cleanup_free_ char *path = path_of(s->project, name), *is = NULL;

        if (!text) {
                assert_int_equal(access(path, F_OK), -1);
                return;
        }
        is = file_text(path);
        assert_string_equal(is, text);
}

static char *start_with(const struct site *s, const char *script) {
        char *id = START(s, "--overlay", s->project);

        expect_good_join(s, id, script, "");
        return id;
}

#define THREE "echo 2 >a; echo 2 >b; echo 2 >c"
static void make_three(const struct site *s) {
        make_file(s->project, "a", "1\n");
        make_file(s->project, "b", "1\n");
        make_file(s->project, "c", "1\n");
}

static const char help[] = "y - commit this\r\n"
                           "n - leave it in the session\r\n"
                           "d - show its patch, and ask again\r\n"
                           "a - commit this and all that are left\r\n"
                           "q - ask no more, and commit what was chosen before\r\n"
                           "? - show this\r\n";

TEST(each_change_is_shown_and_asked_about) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL;
        struct talk t;

        make_three(s);
        make_file(s->project, "gone", "1\n");
        id = start_with(s, THREE "; rm gone; echo new >new; printf 'a\\033[2Jb\\n' >wipes");
        BEGIN(s, &t, id);
        expect_question(&t, "M  a\r\n");
        type(&t, "y");
        expect_question(&t, "M  b\r\n");
        type(&t, "no");
        expect_question(&t, "M  c\r\n");
        type(&t, "d");
        expect_question(&t, "diff --git a/c b/c\r\n--- a/c\r\n+++ b/c\r\n@@ -1 +1 @@\r\n-1\r\n+2\r\n");
        type(&t, "?");
        expect_question(&t, help);
        type(&t, "yy");
        expect_question(&t, help);
        type(&t, "");
        expect_question(&t, help);
        type(&t, "YES");
        expect_question(&t, "D  gone\r\n");
        type(&t, "y");
        expect_question(&t, "A  new\r\n");
        type(&t, "n");
        expect_question(&t, "A  wipes\r\n");
        type(&t, "d");
        expect_question(&t, "diff --git a/wipes b/wipes\r\nnew file mode 100644\r\n--- /dev/null\r\n"
                            "+++ b/wipes\r\n@@ -0,0 +1 @@\r\n+a\\x1b[2Jb\r\n");
        type(&t, "n");
        expect_result(&t, 0, "committed 3 paths\n", "");
        expect_file(s, "a", "2\n");
        expect_file(s, "b", "1\n");
        expect_file(s, "c", "2\n");
        expect_file(s, "gone", NULL);
        expect_file(s, "new", NULL);
        /* What was left is asked about again; only what the paths choose. */
        BEGIN(s, &t, id, "b", "w*");
        expect_question(&t, "M  b\r\n");
        type(&t, "y");
        expect_question(&t, "A  wipes\r\n");
        type(&t, "n");
        expect_result(&t, 0, "committed 1 path\n", "");
        expect_file(s, "b", "2\n");
        expect_file(s, "wipes", NULL);
        end_session(s, id, "stop");
}

TEST(all_that_are_left_and_no_more) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL;
        struct talk t;

        make_three(s);
        id = start_with(s, THREE);
        BEGIN(s, &t, id);
        expect_question(&t, "M  a\r\n");
        type(&t, "y");
        expect_question(&t, "M  b\r\n");
        type(&t, "q");
        expect_result(&t, 0, "committed 1 path\n", "");
        expect_file(s, "a", "2\n");
        expect_file(s, "b", "1\n");
        expect_file(s, "c", "1\n");
        expect_good_join(s, id, "echo 3 >a", "");
        BEGIN(s, &t, id);
        expect_question(&t, "M  a\r\n");
        type(&t, "n");
        expect_question(&t, "M  b\r\n");
        type(&t, "a");
        expect_result(&t, 0, "committed 2 paths\n", "");
        assert_string_equal(t.text + t.seen, "M  c\r\n");
        expect_file(s, "a", "2\n");
        expect_file(s, "b", "2\n");
        expect_file(s, "c", "2\n");
        end_session(s, id, "stop");
}

/* What else ends the questions. */
TEST(an_end_of_the_input_is_q_and_a_signal_ends_all) {
        const struct site *s = *state;
        static const struct {
                const char *typed; /* NULL: the terminal is gone */
                bool ignores_hangup;
                int status;
        } cases[] = {
                {"\003", false, 1000 + SIGINT},
                {NULL, false, 1000 + SIGHUP},
                {"\004", false, 0},
                {NULL, true, 0},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                const bool is_kept = cases[i].status == 0;
                _cleanup_free_ char *id = NULL;
                struct talk t;

                make_three(s);
                id = start_with(s, THREE);
                begin_talk(s, &t, cases[i].ignores_hangup, (const char *const[]){id, NULL});
                expect_question(&t, "M  a\r\n");
                type(&t, "y");
                expect_question(&t, "M  b\r\n");
                if (cases[i].typed) {
                        assert_int_equal(write(t.master, cases[i].typed, 1), 1);
                } else {
                        (void)close(t.master);
                        t.master = -1;
                }
                expect_result(&t, cases[i].status, is_kept ? "committed 1 path\n" : "", "");
                expect_file(s, "a", is_kept ? "2\n" : "1\n");
                expect_file(s, "b", "1\n");
                end_session(s, id, "stop");
        }
}

static void leave_the_terminal(void *data nsrun_unused) {
        if (setsid() < 0)
                _exit(119);
}

static void expect_refused(const struct site *s, const char *err, int status, const char *const *words) {
        _cleanup_free_ const char **argv =
                words_of((const char *const[]){program(), "session", NULL}, words);
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = argv, .cwd = s->root, .in_child = leave_the_terminal}, &o);
        assert_string_equal(o.err, err);
        expect_out(&o, "");
        expect_status(&o, status);
}
#define EXPECT_REFUSED(site, err, status, ...) \
        expect_refused(site, err, status, (const char *const[]){__VA_ARGS__, NULL})

TEST(what_it_is_not_for_is_refused) {
        const struct site *s = *state;
        static const char digest[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
        _cleanup_free_ char *id = NULL, *nothing = NULL;
        struct talk t;

        make_three(s);
        id = start_with(s, THREE);
        EXPECT_REFUSED(s,
                       "nsrun: nobody can be asked what to commit: No such device or address; --interactive "
                       "asks on the terminal, and there is none\n",
                       125, "commit", "--interactive", id);
        EXPECT_REFUSED(s,
                       "nsrun: --interactive makes the digests for --expect itself: give one of the two: "
                       "commit; see 'nsrun session --help'\n",
                       125, "commit", "--interactive", "--expect", digest, id);
        EXPECT_REFUSED(s, "nsrun: --interactive is for commit alone: diff; see 'nsrun session --help'\n",
                       125, "diff", "--interactive", id);
        expect_file(s, "a", "1\n");
        nothing = text_of("nsrun: nothing has changed there: none; nsrun session diff says what has\n");
        BEGIN(s, &t, id, "a", "none");
        expect_result(&t, 125, "", nothing);
        BEGIN(s, &t, id, "a");
        expect_question(&t, "M  a\r\n");
        type(&t, "y");
        expect_result(&t, 0, "committed 1 path\n", "");
        expect_file(s, "a", "2\n");
        end_session(s, id, "stop");
}

TEST(what_changes_after_the_question_is_not_committed) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL, *err = text_of(DIFFERS, s->project, "a"),
                            *both = text_of(DIFFERS DIFFERS, s->project, "a", s->project, "c");
        struct talk t;

        make_three(s);
        id = start_with(s, THREE);
        BEGIN(s, &t, id);
        expect_question(&t, "M  a\r\n");
        expect_good_join(s, id, "echo evil >a", "");
        type(&t, "y");
        expect_question(&t, "M  b\r\n");
        type(&t, "y");
        expect_question(&t, "M  c\r\n");
        type(&t, "n");
        expect_result(&t, OTHER_STATE, "committed 1 path\n", err);
        expect_file(s, "a", "1\n");
        expect_file(s, "b", "2\n");
        /* Nothing but those two, which changed. */
        BEGIN(s, &t, id);
        expect_question(&t, "M  a\r\n");
        type(&t, "y");
        expect_question(&t, "M  c\r\n");
        expect_good_join(s, id, "rm a; ln -s c a; echo evil >c", "");
        type(&t, "y");
        expect_result(&t, OTHER_STATE, "", both);
        expect_file(s, "a", "1\n");
        expect_file(s, "c", "1\n");
        /* A patch is of what there is now, and then that is what was shown. */
        BEGIN(s, &t, id, "c");
        expect_question(&t, "M  c\r\n");
        expect_good_join(s, id, "echo good >c; chmod 755 c", "");
        type(&t, "d");
        expect_question(&t,
                        "diff --git a/c b/c\r\nold mode 100644\r\nnew mode 100755\r\n--- a/c\r\n+++ b/c\r\n"
                        "@@ -1 +1 @@\r\n-1\r\n+good\r\nIt has changed since it was shown:\r\n"
                        "M  c (mode 0644 -> 0755)\r\ndiff --git a/c b/c\r\nold mode 100644\r\n"
                        "new mode 100755\r\n--- a/c\r\n+++ b/c\r\n@@ -1 +1 @@\r\n-1\r\n+good\r\n");
        type(&t, "y");
        expect_result(&t, 0, "committed 1 path\n", "");
        expect_file(s, "c", "good\n");
        end_session(s, id, "stop");
}

/* A conflict of one keeps no other from being committed. */
TEST(what_the_host_has_changed_is_told) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        struct talk t;

        make_three(s);
        id = start_with(s, THREE);
        make_file(s->project, "a", "the user's\n");
        BEGIN(s, &t, id, "a", "b");
        expect_question(&t, "M! a\r\n");
        type(&t, "y");
        expect_question(&t, "M  b\r\n");
        type(&t, "y");
        end_talk(&t, &o);
        expect_in(o.err, "nsrun: conflict: a\n");
        expect_out(&o, "committed 1 path\n");
        expect_status(&o, 125);
        expect_file(s, "a", "the user's\n");
        expect_file(s, "b", "2\n");
        BEGIN(s, &t, "--force", id, "a");
        expect_question(&t, "M! a\r\n");
        type(&t, "y");
        expect_result(&t, 0, "committed 1 path\n", "nsrun: conflict: a\n");
        expect_file(s, "a", "2\n");
        end_session(s, id, "stop");
}

TEST(no_name_draws_or_chooses_more_than_itself) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL;
        static const struct {
                const char *shown;
                bool is_chosen;
        } names[] = {
                {"A  \"\\033[2J\"\r\n", true}, {"A  \"\\\"\\\\\"\r\n", true}, {"A  *\r\n", true},
                {"A  -x\r\n", false},          {"A  [ab]\r\n", false},        {"A  a\r\n", false},
                {"A  \"n\\nM  a\"\r\n", true}, {"A  \"\\377\"\r\n", true},
        };
        struct talk t;

        id = start_with(s,
                        "for i in \"$(printf '\\033[2J')\" '\"\\' '*' -x '[ab]' a \"$(printf 'n\\nM  a')\" "
                        "\"$(printf '\\377')\"; do echo 1 >\"./$i\"; done");
        BEGIN(s, &t, id);
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                expect_question(&t, names[i].shown);
                type(&t, names[i].is_chosen ? "y" : "n");
        }
        expect_result(&t, 0, "committed 5 paths\n", "");
        assert_null(strchr(t.text, '\033'));
        expect_file(s, "\033[2J", "1\n");
        expect_file(s, "\"\\", "1\n");
        expect_file(s, "*", "1\n");
        expect_file(s, "n\nM  a", "1\n");
        expect_file(s, "\377", "1\n");
        expect_file(s, "-x", NULL);
        expect_file(s, "[ab]", NULL);
        expect_file(s, "a", NULL);
        end_session(s, id, "stop");
}

/* A name that would be a glob, once the file of that name is gone, chooses nothing that wasn't shown. */
TEST(a_name_that_becomes_a_glob_is_refused) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL, *err = text_of(DIFFERS, s->project, "*");
        struct talk t;

        id = start_with(s, "echo 1 >'*'; echo 1 >b");
        BEGIN(s, &t, id);
        expect_question(&t, "A  *\r\n");
        type(&t, "y");
        expect_question(&t, "A  b\r\n");
        expect_good_join(s, id, "rm '*'", "");
        type(&t, "n");
        expect_result(&t, OTHER_STATE, "", err);
        expect_file(s, "b", NULL);
        end_session(s, id, "stop");
}

TEST(what_hangs_together_is_one_item) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL;
        struct talk t;

        make_folder(s->project, "old");
        make_file(s->project, "old/f", "1\n");
        make_folder(s->project, "gone");
        make_file(s->project, "gone/f", "2\n");
        id = start_with(s, "mkdir -p new/sub; echo 1 >new/sub/f; mv old moved; rm -r gone; mkdir two; "
                           "echo 1 >two/a; echo 1 >two/b; echo 1 >two/c");
        BEGIN(s, &t, id, ".");
        expect_question(&t, "D  gone/\r\nD  gone/f\r\n");
        type(&t, "y");
        expect_question(&t, "A  moved/\r\nR  old/f -> moved/f\r\nD  old/\r\n");
        type(&t, "y");
        expect_question(&t, "A  new/\r\nA  new/sub/\r\nA  new/sub/f\r\n");
        type(&t, "y");
        expect_question(&t, "A  two/\r\nA  two/a\r\nA  two/b\r\nA  two/c\r\n");
        type(&t, "n");
        expect_result(&t, 0, "committed 8 paths\n", "");
        expect_file(s, "gone", NULL);
        expect_file(s, "old", NULL);
        expect_file(s, "moved/f", "1\n");
        expect_file(s, "new/sub/f", "1\n");
        expect_file(s, "two", NULL);
        /* Both need the new folder. */
        BEGIN(s, &t, id, "two/a", "two/b");
        expect_question(&t, "A  two/a\r\nA  two/b\r\n");
        type(&t, "y");
        expect_result(&t, 0, "committed 2 paths\n", "");
        expect_file(s, "two/a", "1\n");
        expect_file(s, "two/b", "1\n");
        expect_file(s, "two/c", NULL);
        end_session(s, id, "stop");
}

TEST(what_a_commit_leaves_out_is_not_asked_about) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        struct talk t;

        run_outside(s, &o, "git init -q . && printf '*.log\\n' >.gitignore");
        expect_status(&o, 0);
        id = start_with(
                s, "mkdir -p .git/hooks; echo evil >.git/hooks/pre-commit; echo 1 >x.log; echo 1 >y.log; "
                   "mkdir d; echo 1 >d/z.log; echo 1 >d/a; echo 1 >e");
        BEGIN(s, &t, id);
        expect_question(&t, "A  d/\r\nA  d/a\r\n# ignored by git: 1 path (--ignored lists it)\r\n");
        type(&t, "a");
        expect_result(&t, 0, "committed 3 paths\n",
                      "nsrun: note: .git/hooks/pre-commit: left out, git would do what it says; name it to "
                      "commit it\n"
                      "nsrun: note: ignored by git: 3 paths stay in the session (--ignored commits them)\n");
        assert_string_equal(t.text + t.seen, "A  e\r\n");
        expect_file(s, "e", "1\n");
        expect_file(s, "d/a", "1\n");
        expect_file(s, "x.log", NULL);
        expect_file(s, "d/z.log", NULL);
        expect_file(s, ".git/hooks/pre-commit", NULL);
        /* But where it is named. */
        BEGIN(s, &t, id, ".git/hooks/pre-commit", "x.log");
        expect_question(&t, "A  .git/hooks/pre-commit\r\n");
        type(&t, "y");
        expect_question(&t, "A  x.log\r\n");
        type(&t, "y");
        expect_result(&t, 0, "committed 2 paths\n", "");
        expect_file(s, ".git/hooks/pre-commit", "evil\n");
        expect_file(s, "x.log", "1\n");
        BEGIN(s, &t, "--ignored", id);
        expect_question(&t, "A  d/z.log\r\n");
        type(&t, "y");
        expect_question(&t, "A  y.log\r\n");
        type(&t, "n");
        expect_result(&t, 0, "committed 1 path\n", "");
        expect_file(s, "d/z.log", "1\n");
        expect_file(s, "y.log", NULL);
        end_session(s, id, "stop");
}

TEST(each_overlay_is_told) {
        const struct site *s = *state;
        _cleanup_free_ char *other = path_of(s->outside, "b"), *id = NULL, *script = NULL, *first = NULL,
                            *second = NULL, *text = NULL;
        struct talk t;

        make_file(s->project, "a", "1\n");
        make_file(s->outside, "b", "1\n");
        id = START(s, "--overlay", s->project, "--overlay", s->outside);
        script = text_of("echo 2 >a; echo 2 >%s", other);
        expect_good_join(s, id, script, "");
        first = text_of("overlay %s:\r\nM  b\r\n", s->outside);
        second = text_of("overlay %s:\r\nM  a\r\n", s->project);
        BEGIN(s, &t, id);
        expect_question(&t, first);
        type(&t, "y");
        expect_question(&t, second);
        type(&t, "n");
        expect_result(&t, 0, "committed 1 path\n", "");
        expect_file(s, "a", "1\n");
        text = file_text(other);
        assert_string_equal(text, "2\n");
        end_session(s, id, "stop");
}

int main(void) {
        return run_all_tests();
}

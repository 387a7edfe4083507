/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun grant` and `nsrun revoke` are killed before every system call: what is there then is whole or is
 * taken back by the next one, and nothing stays. */
#include "faults.h"
#include "grant.h"

#define CALL_STEP  (takes_samples() ? 5U : 1U)
#define LAST_CALLS 250U /* before them nothing is written down or mounted */

/* Whoever was killed has left no process: it would have the lock. */
static void expect_all_taken_back(const struct site *s, const char *id, const char *path) {
        _cleanup_free_ char *look = text_of(
                                    "ls -A ~; grep -e deep -e revoked /proc/self/mountinfo; ls -A / | "
                                    "grep revoked; [ ! -e %s ]",
                                    path),
                            *was = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        NSRUN(s, &o, "revoke", id);
        if (o.status != 0)
                expect_refusal(&o, 125, "nsrun: nothing of that was granted; 'nsrun inspect' lists it");
        JOIN_SCRIPT(s, id, &o, look);
        expect_out(&o, "");
        expect_status(&o, 0);
        NSRUN(s, &o, "inspect", id);
        was = text_of("--ro %s", path);
        assert_null(strstr(o.out, was));
}

static void grant_killed(const struct site *s, const char *id, const char *path, bool is_revoked) {
        const char *const grant[] = {faults_program(), "grant", id, "--ro", path, NULL},
                          *const revoke[] = {faults_program(), "revoke", id, path, NULL};
        _cleanup_free_ char *look = text_of("cat %s/f", path), *was = text_of("--ro %s", path);
        _cleanup_outcome_ struct outcome o = {0};
        struct fault_page page;
        unsigned n, n_shown = 0, n_killed = 0;

        if (is_revoked)
                expect_granted(s, id, "--ro", path);
        run_faulty(s, is_revoked ? revoke : grant, NULL, 0, &o, &page);
        expect_status(&o, 0);
        expect_all_taken_back(s, id, path);
        n = page.calls > LAST_CALLS ? page.calls - LAST_CALLS : 1;
        print_message("%u calls\n", page.calls);
        /* Each grant that has ended is a call more, to look for its folders. */
        for (unsigned end = n + 2 * LAST_CALLS; n < end; n += CALL_STEP) {
                _cleanup_free_ char *wanted = text_of("kill:%u", n);

                if (is_revoked)
                        expect_granted(s, id, "--ro", path);
                run_faulty(s, is_revoked ? revoke : grant, wanted, 0, &o, &page);
                /* Each process that is listed is a call. */
                while (waitpid(-1, NULL, WNOHANG) > 0)
                        ;
                if (!page.call[0])
                        break;
                expect_status(&o, 1000 + SIGKILL);
                n_killed++;
                NSRUN(s, &o, "inspect", id);
                if (strstr(o.out, was) && !is_revoked) {
                        JOIN_SCRIPT(s, id, &o, look);
                        expect_out(&o, "text\n");
                        n_shown++;
                }
                expect_all_taken_back(s, id, path);
        }
        expect_status(&o, 0);
        assert_true(n_killed > 20);
        print_message("killed at %u calls, shown %u times\n", n_killed, n_shown);
        expect_all_taken_back(s, id, path);
}

TEST(a_grant_that_is_killed_is_whole_or_gone) {
        const struct site *s = *state;
        _cleanup_free_ char *path = path_of(s->home, "deep/er/x"), *id = START_PLAIN(s);

        make_file(s->home, "deep/er/x/f", "text\n");
        grant_killed(s, id, path, false);
        end_session(s, id, "stop");
}

TEST(a_revocation_that_is_killed_is_ended_by_the_next) {
        const struct site *s = *state;
        _cleanup_free_ char *path = path_of(s->home, "deep"), *id = START_PLAIN(s);

        make_file(s->home, "deep/f", "text\n");
        grant_killed(s, id, path, true);
        end_session(s, id, "stop");
}

/* What nsrun-net says of itself. */
TEST(a_port_that_is_granted_by_one_who_is_killed_is_taken_back) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START(s, "--net=allow");
        const char *const grant[] = {faults_program(), "grant", id, "--publish", "127.77.0.1:4567", NULL};
        _cleanup_outcome_ struct outcome o = {0};
        unsigned n, n_killed = 0, n_shown = 0;
        struct fault_page page;

        run_faulty(s, grant, NULL, 0, &o, &page);
        expect_status(&o, 0);
        NSRUN(s, &o, "revoke", id);
        expect_status(&o, 0);
        n = page.calls > LAST_CALLS ? page.calls - LAST_CALLS : 1;
        for (unsigned end = n + 2 * LAST_CALLS; n < end; n += CALL_STEP) {
                _cleanup_free_ char *wanted = text_of("kill:%u", n);

                run_faulty(s, grant, wanted, 0, &o, &page);
                while (waitpid(-1, NULL, WNOHANG) > 0)
                        ;
                if (!page.call[0])
                        break;
                expect_status(&o, 1000 + SIGKILL);
                n_killed++;
                NSRUN(s, &o, "inspect", id);
                n_shown += strstr(o.out, "--publish") != NULL;
                NSRUN(s, &o, "revoke", id);
                if (o.status != 0)
                        expect_refusal(&o, 125,
                                       "nsrun: nothing of that was granted; 'nsrun inspect' lists it");
                SESSION(s, &o, "publish", id);
                expect_out(&o, "");
                expect_status(&o, 0);
                NSRUN(s, &o, "inspect", id);
                assert_null(strstr(o.out, "--publish"));
        }
        expect_status(&o, 0);
        assert_true(n_killed > 10);
        print_message("killed at %u calls, shown %u times\n", n_killed, n_shown);
        end_session(s, id, "stop");
}

/* Whatever is there of it is listed, and then is revoked. */
TEST(a_host_that_is_granted_by_one_who_is_killed_is_listed) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START(s, "--net=allow");
        const char *const grant[] = {faults_program(), "grant", id, "--allow", "good.test:80", NULL};
        _cleanup_outcome_ struct outcome o = {0};
        unsigned n, n_begun = 0;
        struct fault_page page;

        run_faulty(s, grant, NULL, 0, &o, &page);
        expect_status(&o, 0);
        NSRUN(s, &o, "revoke", id);
        expect_status(&o, 0);
        n = page.calls > LAST_CALLS ? page.calls - LAST_CALLS : 1;
        for (unsigned end = n + 2 * LAST_CALLS; n < end; n += CALL_STEP) {
                _cleanup_free_ char *wanted = text_of("kill:%u", n);
                bool is_listed;

                run_faulty(s, grant, wanted, 0, &o, &page);
                while (waitpid(-1, NULL, WNOHANG) > 0)
                        ;
                if (!page.call[0])
                        break;
                NSRUN(s, &o, "inspect", id);
                is_listed = strstr(o.out, "--allow good.test:80");
                n_begun += strstr(o.out, "--allow good.test:80 (begun)") != NULL;
                NSRUN(s, &o, "revoke", id, "--allow", "good.test:80");
                if (is_listed)
                        expect_status(&o, 0);
                else
                        expect_refusal(&o, 125,
                                       "nsrun: nothing of that was granted: good.test:80; 'nsrun inspect' "
                                       "lists it");
                NSRUN(s, &o, "inspect", id);
                assert_null(strstr(o.out, "--allow"));
        }
        assert_true(n_begun > 0);
        end_session(s, id, "stop");
}

/* One of the list's five hosts, that is. */
TEST(what_cant_be_taken_back_keeps_nothing_else) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START(s, "--net=allow");
        const char *const revoke[] = {faults_program(), "revoke", id, "--allow", "@maven", NULL};
        _cleanup_outcome_ struct outcome o = {0};
        unsigned n, n_left[6] = {0};
        struct fault_page page;

        expect_granted(s, id, "--allow", "@maven");
        run_faulty(s, revoke, NULL, 0, &o, &page);
        expect_status(&o, 0);
        for (n = page.calls - 60; n <= page.calls; n += takes_samples() ? 3 : 1) {
                _cleanup_free_ char *wanted = text_of("fail:%u:%d", n, EIO);
                struct fault_page other;
                unsigned left = 0;

                expect_granted(s, id, "--allow", "@maven");
                run_faulty(s, revoke, wanted, 0, &o, &other);
                NSRUN(s, &o, "inspect", id);
                for (const char *at = o.out; (at = strstr(at, "--allow ")); at++)
                        left++;
                assert_between(left, 0, 5);
                n_left[left]++;
                if (left > 0)
                        NSRUN(s, &o, "revoke", id);
        }
        assert_int_equal(n_left[2] + n_left[3] + n_left[4], 0);
        assert_true(n_left[1] > 0);
        end_session(s, id, "stop");
}

/* Whoever has started a sandbox looks at its pid 1 before nobody can any more, however slow it is. */
TEST(a_slow_start_can_be_granted_more) {
        const struct site *s = *state;
        _cleanup_free_ char *script = text_of(
                "cd '%s' && { '%s' run --net=allow -- sh -c 'echo >up; until [ -e down ]; do sleep 0.02; done' & "
                "until [ -e up ] && '%s' inspect $! >inspected 2>&1 || ! kill -0 $!; do sleep 0.02; done; '%s' grant $! --allow 127.0.0.1:9; echo $?; "
                "echo >down; wait $!; rm up down; }",
                s->project, faults_program(), program(), program());
        const char *const argv[] = {"sh", "-c", script, NULL};
        _cleanup_outcome_ struct outcome o = {0};
        struct fault_page page = {.call = ""};
        unsigned n_slow = 0;

        /* The two calls that look come soon after it is made. */
        for (unsigned n = 1; n <= 4; n++) {
                _cleanup_free_ char *wanted = text_of("later:clone:%u:300", n);

                run_faulty(s, argv, wanted, 0, &o, &page);
                expect_out(&o, "0\n");
                assert_true(page.is_supervisors);
                n_slow += streq(page.call, "open");
        }
        assert_true(n_slow > 0);
}

int main(void) {
        return run_all_tests();
}

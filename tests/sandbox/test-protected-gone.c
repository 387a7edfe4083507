/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Protected names that are gone when a command has ended, the host's that were taken for the command's, and
 * what lies in closed folders. */
#include "bash.h"
#include "repository.h"
#include "session.h"

/* Each link of the way, by each way to run a command. */
TEST(a_protected_link_that_is_removed_is_put_back) {
        static const char setup[] =
                "rm -rf * .[a-z]*; mkdir d real; >real/f; ln -s ../real/f d/l; ln -s d/l conf; ln -s conf .envrc; ln -s real .vscode",
                          list[] = "for l in .envrc conf d/l .vscode; do readlink $l || true; done",
                          script[] = "rm .envrc conf d/l .vscode";
        const struct site *s = *state;
        _cleanup_free_ char
                *said = text_of("a protected symlink was removed while the command ran, by it or by others, "
                                "and is put back: %s/d/l",
                                s->project),
                *not_said = text_of("a protected symlink was removed while the command ran, by it or by "
                                    "others, and can't be put back: %s/d/l",
                                    s->project);
        _cleanup_outcome_ struct outcome o = {0}, seen = {0};

        for (unsigned way = 0; way < 4; way++) {
                on_host(s, setup, &seen);
                if (way == 0)
                        RUN(s, &o, "--", "sh", "-c", script);
                if (way == 1)
                        BASH(s, &o, "--", script);
                if (way == 2) {
                        _cleanup_free_ char *id = START_PLAIN(s);

                        JOIN_SCRIPT(s, id, &o, script);
                        end_session(s, id, "stop");
                }
                if (way == 3)
                        RUN(s, &o, "--", "mv", "d", "e");
                expect_status(&o, 0);
                expect_in(way == 1 ? o.out : o.err, way == 3 ? not_said : said);
                on_host(s, list, &seen);
                expect_out(&seen, way == 3 ? "conf\nd/l\nreal\n" : "conf\nd/l\n../real/f\nreal\n");
        }
        /* The control. */
        RUN(s, &o, "--no-protect", "*", "--", "rm", ".vscode");
        assert_string_equal(o.err, "");
        on_host(s, list, &seen);
        expect_out(&seen, "conf\nd/l\n");
}

/* What another command of the session makes of a link, to be seen as this one begins, doesn't become the
 * user's: the monitor, which would take it away, is held. */
TEST(a_protected_link_is_what_it_was_when_the_session_began) {
        static const char *const scripts[] = {"true", "rm .envrc", "ln -sf third .envrc"};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
                _cleanup_free_ char *id = NULL;
                _cleanup_close_ int monitor = -EBADF;

                on_host(s, "rm -rf * .[a-z]*; ln -s real .envrc", &o);
                id = START_PLAIN(s);
                monitor = session_pidfd(s, id, "monitor");
                send_signal(monitor, SIGSTOP);
                on_host(s, "ln -sfn other .envrc", &o);
                JOIN_SCRIPT(s, id, &o, scripts[i]);
                expect_status(&o, 0);
                on_host(s, "readlink .envrc", &o);
                expect_out(&o, "real\n");
                send_signal(monitor, SIGCONT);
                end_session(s, id, "stop");
        }
}

/* What a command has put in a link's place, or made, while who waits for it is held, isn't the user's for a
 * run or a session that begins then: not beside it, and not after it. */
TEST(what_another_run_makes_of_a_link_is_not_put_back) {
        static const char script[] =
                "way=%s; rm -rf * .[a-z]*; ln -s real .envrc\n"
                "'%s' run -- sh -c '>b; until [ -e go ]; do :; done; %s; >did\n"
                "until [ -e end ]; do :; done' & b=$!\n"
                "until [ -e b ]; do :; done; kill -STOP $b; >go; until [ -e did ]; do :; done\n"
                "case $way in run) '%s' run -- sh -c '>c; until [ -e bye ]; do :; done; %s' & c=$!\n"
                "until [ -e c ]; do :; done;; *) id=$('%s' session start); esac\n"
                "kill -CONT $b; >end; wait $b; readlink .envrc .npmrc; >bye\n"
                "case $way in run) wait $c;; *) '%s' run --session $id -- sh -c '%s'; '%s' session stop $id; esac\n"
                "readlink .envrc .npmrc; true\n";
        static const struct {
                const char *what, *then;
        } cases[] = {{"ln -sfn evil .envrc", "true"},
                     {"ln -sfn evil .envrc", "rm -f .envrc"},
                     {"rm .envrc", "true"},
                     {"rm .envrc", "ln -s evil .envrc"},
                     {"rm .envrc; echo evil >.envrc", "true"},
                     {"ln -s evil .npmrc", "true"},
                     {"ln -s evil .npmrc", "rm -f .envrc"}};
        const struct site *s = *state;

        for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
                const char *what = cases[i / 2].what, *then = cases[i / 2].then, *n = program(),
                           *way = i % 2 ? "session" : "run";
                _cleanup_free_ char *text = text_of(script, way, n, what, n, then, n, n, then, n);
                _cleanup_outcome_ struct outcome o = {0};

                on_host(s, text, &o);
                collect_orphans();
                expect_status(&o, 0);
                if (!streq(o.out, "real\nreal\n"))
                        fail_msg("%s, then %s, in a %s: %s%s", what, then, way, o.out, o.err);
        }
}

/* What the command closes to its owner is looked into; what the user has closed stays so. */
TEST(a_repository_in_a_closed_folder_is_found) {
        static const char *const closed[] = {"chmod 000 n", "chmod 444 n", "chmod 300 n/.git",
                                             "chmod 444 n/.git"};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(closed); i++) {
                _cleanup_free_ char *script =
                        text_of("git init -q n; echo x >n/.git/hooks/pre-commit; %s", closed[i]);

                with_git(s, "chmod -Rf u+rwX .; rm -rf n .git; git init -q .; mkdir -m 000 own", &o);
                await_tick();
                RUN(s, &o, "--", "sh", "-c", script);
                expect_in(o.err, "a git repository with hooks");
                expect_in(o.err, ", which is moved aside there: ");
                with_git(s,
                         "chmod -f 755 n n/.git || true; ! [ -e n/.git/hooks ]; stat -c %a own; rmdir own",
                         &o);
                expect_out(&o, "0\n");
        }
}

/* What direnv has an environment from is told from a virtual environment's folder beside it by a wildcard.
 */
TEST(a_cached_environment_is_protected_and_not_the_folder_around) {
        static const char *const modes[] = {"--protect=.envrc", "--protect=strict"};
        static const char script[] =
                "mkdir -p .direnv/python; echo mine >.direnv/python/x; echo evil >.direnv/a.rc;"
                "echo evil >.Rprofile";
        const struct site *s = *state;

        for (size_t i = 0; i < 2 * ARRAY_SIZE(modes); i++) {
                const char *mode = modes[i / 2];
                _cleanup_outcome_ struct outcome o = {0};

                on_host(s, i % 2 == 0 ? "rm -rf .direnv" : "echo real >.direnv/a.rc", &o);
                RUN(s, &o, mode, "--", "sh", "-c", script);
                expect_in(o.err, i % 2 == 0 ? "/.direnv/a.rc; --no-protect '.direnv/*.rc' lets it stay\n"
                                            : "cannot create .direnv/a.rc: Read-only file system\n");
                on_host(s, "cat .direnv/*.rc .direnv/python/x 2>/dev/null; ls -A | grep R || true", &o);
                expect_out(&o, i % 2 == 0 ? "mine\n" : "real\nmine\n");
        }
}

int main(void) {
        return run_all_tests();
}

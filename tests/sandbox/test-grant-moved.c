/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Commands, sandboxes and users that move what a running sandbox is granted, and who has it meanwhile. */
#include "grant.h"
#include "repository.h"
#include "seccomp.h"

/* A command that makes, moves and replaces the mount point all the time gets the tree where it was granted,
 * or nowhere. */
TEST(a_command_that_turns_the_mount_point_moves_no_mount) {
        const struct site *s = *state;
        _cleanup_free_ char *script = NULL, *look = NULL, *stop = path_of(s->project, "stop");
        struct running running;
        unsigned granted = 0, refused = 0;
        BEGIN(s);

        if (access("/usr/bin/perl", X_OK) < 0)
                skip_because("skipped: there is no perl");
        script = text_of(
                "chdir $ENV{HOME}; until (-e '%s') { for (1..1000) { mkdir 'beside'; rename 'beside', 'away'; "
                "mkdir 'beside'; rmdir 'away'; "
                "if (rmdir 'beside') { symlink '%s', 'beside'; unlink 'beside' } } }",
                stop, s->project);
        look = text_of(
                "grep ' [^ ]*/beside [^ ]* ' /proc/self/mountinfo | grep -v ' %s ' | grep -cv ' /.nsrun-revoked '",
                beside);
        SPAWN_JOINED(s, id, &running, "--", "/usr/bin/perl", "-e", script);
        for (unsigned i = 0; i < 300 && (granted < 5 || refused < 20); i++) {
                NSRUN(s, &o, "grant", id, "--ro", beside);
                if (o.status == 0) {
                        granted++;
                        JOIN_SCRIPT(s, id, &o, look);
                        expect_out(&o, "0\n");
                        NSRUN(s, &o, "revoke", id, beside);
                        expect_status(&o, 0);
                } else {
                        refused++;
                        expect_status(&o, 125);
                        assert_true(is_one_line(o.err));
                }
        }
        make_file(s->project, "stop", "");
        outcome_clear(&o);
        finish(&running, &o);
        expect_out(&o, "");
        assert_true(granted > 0);
        JOIN_SCRIPT(s, id, &o, "grep -c -e '/beside ' -e revoked /proc/self/mountinfo");
        expect_out(&o, "0\n");
        end_session(s, id, "stop");
}

/* A command that may make mount namespaces moves what is mounted from one that hasn't the mount. */
TEST(with_namespaces_nothing_is_mounted_where_the_command_can_write) {
        const struct site *s = *state;
        _cleanup_free_ char *beside = path_of(s->home, "beside"), *around = path_of(s->home, "around"),
                            *x = path_of(s->home, "around/x"), *said = NULL, *at_around = NULL,
                            *policy = make_policy(s, DENY("\"getppid\"", "7"));
        const char *const filters[] = {"nested", "none", "default+kcmp", policy};
        static const char move[] = "nsrun: the command could move it from a namespace of its own: %s; start "
                                   "the sandbox with the option";
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->home, "beside");
        make_folder(s->home, "around");
        make_folder(s->home, "around/x");
        said = text_of(move, beside);
        at_around = text_of(move, around);
        for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
                _cleanup_free_ char *id = START(s, "--seccomp", filters[i], "--ro", around);

                expect_refused(s, id, "--ro", beside, said);
                JOIN(s, id, &o, "--", "mkdir", beside);
                expect_refused(s, id, "--ro", beside, said);
                /* The folder is a mount of its own, and lies in one that can be written to. */
                expect_refused(s, id, "--overlay", x, at_around);
                expect_granted(s, id, "--ro", "/srv");
                NSRUN(s, &o, "revoke", id);
                expect_status(&o, 0);
                assert_string_equal(o.err, STAYS_OPEN);
                end_session(s, id, "stop");
        }
        for (size_t i = 0; i < 2; i++) {
                _cleanup_free_ char *id =
                        START(s, "--seccomp", i == 0 ? "default" : "strict", "--ro", around);

                expect_granted(s, id, "--ro", beside);
                expect_granted(s, id, "--overlay", x);
                end_session(s, id, "stop");
        }
}

/* Who is stopped while it grants keeps nobody waiting for ever. */
TEST(who_has_the_sandbox_is_not_waited_for) {
        const struct site *s = *state;
        _cleanup_free_ char *script = NULL;
        BEGIN(s);

        if (!has_program("flock"))
                skip_because("skipped: there is no flock");
        script = text_of("for f in /proc/%ld/fd/*; do case $(readlink $f) in *memfd:nsrun-plan-of*) "
                         "exec flock $f '%s' grant %s --ro '%s';; esac; done",
                         session_number(s, id, "monitor"), program(), id, beside);
        run(&(struct request){.argv = (const char *const[]){"sh", "-c", script, NULL}, .cwd = s->root}, &o);
        expect_refusal(&o, 125, "nsrun: another nsrun grant or revoke has the sandbox");
        expect_granted(s, id, "--ro", beside);
        end_session(s, id, "stop");
}

/* What the user or another sandbox renames is found, and what is gone isn't said never to have been. */
TEST(a_mount_that_was_renamed_is_taken_back) {
        const struct site *s = *state;
        _cleanup_free_ char *around = path_of(s->home, "around"), *x = path_of(s->home, "around/x y"),
                            *id = NULL, *script = NULL, *said = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->home, "around");
        make_folder(s->home, "around/x y");
        id = START(s, "--ro", around);
        expect_granted(s, id, "--overlay", x);
        on_host(s, "mv \"$HOME/around/x y\" \"$HOME/around/z w\"", &o);
        script = text_of("echo evil 2>/dev/null >'%s/z w/f' && echo written", around);
        JOIN_SCRIPT(s, id, &o, script);
        expect_out(&o, "written\n");
        NSRUN(s, &o, "revoke", id, x);
        assert_string_equal(o.err, STAYS_OPEN);
        expect_status(&o, 0);
        JOIN_SCRIPT(s, id, &o, script);
        expect_out(&o, "");
        on_host(s, "mv \"$HOME/around/z w\" \"$HOME/around/x y\"; rm -f \"$HOME/around/x y/f\"", &o);
        expect_granted(s, id, "--overlay", x);
        on_host(s, "rmdir \"$HOME/around/x y\"", &o);
        NSRUN(s, &o, "revoke", id, x);
        said = text_of("nsrun: it was moved or removed, and what holds it keeps it: %s; end the sandbox: "
                       "nsrun stop ID",
                       x);
        expect_refusal(&o, 125, said);
        SESSION(s, &o, "stop", id);
        expect_status(&o, 0);
        collect_orphans();
}

/* The command's own files at the same path are covered by nothing. */
TEST(what_is_the_commands_own_stays_so) {
        const struct site *s = *state;
        _cleanup_free_ char *script = NULL, *look = NULL;
        BEGIN(s);

        script = text_of("mkdir %s; echo own >%s/.envrc", beside, beside);
        JOIN_SCRIPT(s, id, &o, script);
        expect_status(&o, 0);
        expect_granted(s, id, "--ro", beside);
        NSRUN(s, &o, "revoke", id);
        expect_status(&o, 0);
        look = text_of("echo new >>%s/.envrc; cat %s/.envrc", beside, beside);
        JOIN_SCRIPT(s, id, &o, look);
        expect_out(&o, "own\nnew\n");
        assert_string_equal(o.err, "");
        end_session(s, id, "stop");
}

int main(void) {
        return run_all_tests();
}

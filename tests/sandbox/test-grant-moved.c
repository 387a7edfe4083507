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

/* A command that may make mount namespaces could move what is mounted from one that hasn't the mount. */
TEST(with_namespaces_nothing_is_shown) {
        const struct site *s = *state;
        _cleanup_free_ char *beside = path_of(s->home, "beside"),
                            *policy = make_policy(s, DENY("\"getppid\"", "7"));
        const char *const filters[] = {"nested", "none", "default+kcmp", policy}, *const none[] = {"default",
                                                                                                   "strict"};

        make_folder(s->home, "beside");
        for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
                _cleanup_free_ char
                        *id = START(s, "--seccomp", filters[i]),
                        *said = text_of(
                                "nsrun: with this filter, which may let the command make namespaces, a "
                                "sandbox is shown nothing more: %s; start it with the option",
                                filters[i]);

                expect_refused(s, id, "--ro", beside, said);
                expect_refused(s, id, "--overlay", beside, said);
                end_session(s, id, "stop");
        }
        for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
                _cleanup_free_ char *id = START(s, "--seccomp", none[i]);

                expect_granted(s, id, "--ro", beside);
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
        run(&(struct request){.argv = OPTIONS("sh", "-c", script), .cwd = s->root}, &o);
        expect_refusal(&o, 125, "nsrun: another nsrun grant or revoke has the sandbox");
        expect_granted(s, id, "--ro", beside);
        end_session(s, id, "stop");
}

/* Whoever has a folder of the host's elsewhere, the command among them, could move what is mounted in it. */
TEST(in_a_folder_of_the_hosts_nothing_is_mounted) {
        const struct site *s = *state;
        _cleanup_free_ char *around = path_of(s->home, "around"), *x = path_of(s->home, "around/x"),
                            *elsewhere = text_of("%s:%s:ro", s->project, around),
                            *sub = path_of(s->project, "sub"), *beside = path_of(s->home, "beside"),
                            *said = NULL, *in_project = NULL;

        make_folder(s->home, "around/x");
        make_folder(s->home, "beside");
        make_folder(s->project, "sub");
        make_folder(s->project, "x");
        said = text_of(
                "nsrun: the sandbox shows a folder of the host's around it: %s; name a path beside that, or start the "
                "sandbox with the option",
                x);
        in_project = replaced(said, x, sub);
        for (unsigned i = 0; i < 2; i++) {
                _cleanup_free_ char *id = i == 0 ? START(s, "--ro", around) : START(s, "--bind", elsewhere);

                expect_refused(s, id, "--overlay", x, said);
                expect_refused(s, id, "--overlay", sub, in_project);
                expect_granted(s, id, "--overlay", beside);
                end_session(s, id, "stop");
        }
}

/* Nor where something of the sandbox's own lies between: that moves with the folder. */
TEST(in_a_tmpfs_in_a_folder_of_the_hosts_nothing_is_mounted) {
        const struct site *s = *state;
        _cleanup_free_ char *around = path_of(s->home, "around"), *t = path_of(s->home, "around/t"),
                            *z = path_of(s->home, "around/t/z"), *own = path_of(s->home, "own"),
                            *in_own = path_of(s->home, "own/z"), *id = NULL, *said = NULL;

        make_folder(s->home, "around/t/z");
        make_folder(s->home, "own/z");
        id = START(s, "--rw", around, "--tmpfs", t, "--tmpfs", own);
        said = text_of(
                "nsrun: the sandbox shows a folder of the host's around it: %s; name a path beside that, or start the "
                "sandbox with the option",
                z);
        expect_refused(s, id, "--ro", z, said);
        expect_refused(s, id, "--overlay", z, said);
        expect_granted(s, id, "--ro", in_own);
        end_session(s, id, "stop");
}

/* By the name by which it was granted, whatever lies there now; by a link that leads there, too, which is
 * told. */
TEST(a_grant_has_the_name_of_what_it_shows) {
        const struct site *s = *state;
        _cleanup_free_ char *link = path_of(s->home, "link"), *other = path_of(s->home, "other"),
                            *told = NULL, *look = NULL;
        BEGIN(s);

        make_folder(s->home, "other");
        make_link(s->home, "link", "beside");
        told = text_of("nsrun: note: a symlink leads there, and the sandbox has it at %s\n", beside);
        NSRUN(s, &o, "grant", id, "--ro", link);
        expect_status(&o, 0);
        assert_string_equal(o.err, told);
        NSRUN(s, &o, "revoke", id, link);
        expect_status(&o, 0);
        expect_granted(s, id, "--ro", beside);
        expect_granted(s, id, "--ro", other);
        on_host(s, "mv \"$HOME/beside\" \"$HOME/moved\"; ln -s other \"$HOME/beside\"", &o);
        NSRUN(s, &o, "revoke", id, beside);
        expect_status(&o, 0);
        look = text_of("ls -d %s; ls -d %s", other, beside);
        JOIN_SCRIPT(s, id, &o, look);
        expect_status(&o, 2);
        expect_in(o.out, other);
        expect_not_in(o.out, beside);
        end_session(s, id, "stop");
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

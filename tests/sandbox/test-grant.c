/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun grant` and `nsrun revoke`: what a running sandbox is shown besides. */
#include <signal.h>
#include <sys/stat.h>

#include "grant.h"
#include "repository.h"

TEST(a_path_is_there_until_it_is_taken_back) {
        const struct site *s = *state;
        _cleanup_free_ char *script = NULL, *told = NULL;
        BEGIN(s);

        script = text_of(
                "cat %s/f && ! echo no 2>/dev/null >%s/f && grep -q ' %s ro,nosuid,nodev' /proc/self/mountinfo",
                beside, beside, beside);
        JOIN_SCRIPT(s, id, &o, script);
        expect_status(&o, 1);
        expect_granted(s, id, "--ro", beside);
        JOIN_SCRIPT(s, id, &o, script);
        expect_out(&o, "text\n");
        expect_status(&o, 0);
        NSRUN(s, &o, "inspect", id);
        told = text_of("--ro %s\n", beside);
        expect_in(o.out, told);
        NSRUN(s, &o, "inspect", "--json", id);
        expect_in(o.out, "\"granted\"");
        NSRUN(s, &o, "revoke", id, beside);
        expect_status(&o, 0);
        assert_string_equal(o.err, STAYS_OPEN);
        JOIN_SCRIPT(s, id, &o, script);
        expect_status(&o, 1);
        NSRUN(s, &o, "revoke", id, beside);
        free(told);
        told = text_of("nsrun: nothing of that was granted: %s; 'nsrun inspect' lists it", beside);
        expect_refusal(&o, 125, told);
        end_session(s, id, "stop");
}

TEST(what_is_written_there_is_looked_through) {
        const struct site *s = *state;
        _cleanup_free_ char *script = NULL;
        BEGIN(s);

        make_file(s->home, "beside/.envrc", "mine\n");
        expect_granted(s, id, "--rw", beside);
        script = text_of(
                "cd %s && echo new >f && ! echo evil 2>/dev/null >.envrc && mkdir .vscode && echo evil >.vscode/tasks.json",
                beside);
        JOIN_SCRIPT(s, id, &o, script);
        expect_status(&o, 0);
        NSRUN(s, &o, "revoke", id);
        expect_status(&o, 0);
        on_host(s, "cd \"$HOME/beside\"; cat f .envrc; ls -A", &o);
        expect_out(&o, "new\nmine\n.envrc\nf\n");
        NSRUN(s, &o, "review", "--project", s->project);
        expect_in(o.out, "beside/.vscode");
        SESSION(s, &o, "stop", id);
        expect_status(&o, 0);
        expect_in(o.err, "is kept aside");
        collect_orphans();
}

TEST(an_overlay_is_thrown_away) {
        const struct site *s = *state;
        _cleanup_free_ char *script = NULL, *text = NULL;
        _cleanup_free_ char *file = path_of(s->home, "beside/f");
        BEGIN(s);

        expect_granted(s, id, "--overlay", beside);
        script = text_of("echo over >%s/f && cat %s/f", beside, beside);
        JOIN_SCRIPT(s, id, &o, script);
        expect_out(&o, "over\n");
        text = file_text(file);
        assert_string_equal(text, "text\n");
        end_session(s, id, "stop");
}

TEST(what_a_start_refuses_is_refused) {
        const struct site *s = *state;
        _cleanup_free_ char *within = NULL, *granted = NULL, *missing = NULL,
                            *none = path_of(s->root, "none");
        _cleanup_free_ char *file = path_of(s->home, "beside/f");
        BEGIN(s);

        expect_refused(
                s, id, "--rw", "/",
                "nsrun: --rw would expose the whole file system: /; name the folders that the command needs");
        expect_refused(
                s, id, "--ro", "/proc",
                "nsrun: --ro would expose the host's /proc: /proc; the sandbox has a /proc and a /dev of its own");
        missing = text_of(
                "nsrun: the source of --ro can't be opened: %s: No such file or directory; create it first, or leave the option out",
                none);
        expect_refused(s, id, "--ro", none, missing);
        expect_refused(s, id, "--ro", "/usr/bin", "nsrun: the sandbox has it already: /usr/bin");
        within = text_of("nsrun: the sandbox has it already: %s", s->project);
        expect_refused(s, id, "--rw", s->project, within);
        expect_granted(s, id, "--ro", beside);
        granted =
                text_of("nsrun: the sandbox was granted this: %s; take it back first: nsrun revoke", beside);
        expect_refused(s, id, "--ro", file, granted);
        NSRUN(s, &o, "grant", "nobody", "--ro", beside);
        expect_refusal(&o, 125, "nsrun: no such sandbox: nobody; 'nsrun ps' lists them");
        NSRUN(s, &o, "grant", id);
        expect_status(&o, 125);
        expect_in(o.err, "one of --ro, --rw and --overlay, once");
        end_session(s, id, "stop");
}

TEST(what_is_hidden_and_protected_stays_so) {
        const struct site *s = *state;
        _cleanup_free_ char *
                beside = path_of(s->home, "beside"),
               *id = NULL, *script = NULL, *hides = NULL, *env = path_of(s->home, "beside/.env"),
               *envrc = path_of(s->project, ".envrc"),
               *said = text_of(
                       "nsrun: the sandbox protects what lies here: %s; --no-protect, where the sandbox is started, lets "
                       "it be written",
                       envrc);
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->home, "beside");
        make_file(s->home, "beside/.env", "secret\n");
        make_file(s->project, ".envrc", "mine\n");
        id = START(s, "--hide", ".env");
        expect_granted(s, id, "--ro", beside);
        script = text_of("ls -A %s; cat %s/.env", beside, beside);
        JOIN_SCRIPT(s, id, &o, script);
        expect_status(&o, 1);
        assert_string_equal(o.out, ".env\n");
        expect_refused(s, id, "--rw", envrc, said);
        NSRUN(s, &o, "revoke", id);
        expect_status(&o, 0);
        hides = text_of("nsrun: the sandbox hides what lies here: %s", env);
        expect_refused(s, id, "--ro", env, hides);
        end_session(s, id, "stop");
}

TEST(nothing_that_the_sandbox_has_is_covered) {
        const struct site *s = *state;
        _cleanup_free_ char *around = path_of(s->home, "around"), *x = path_of(s->home, "around/x"),
                            *id = NULL, *said = NULL;

        make_folder(s->home, "around");
        make_folder(s->home, "around/x");
        make_folder(s->home, "around/y");
        id = START(s, "--ro", x);
        said = text_of(
                "nsrun: the sandbox has this, and what lies around it would cover it: %s; name what is wanted beside it",
                x);
        expect_refused(s, id, "--ro", around, said);
        free(said);
        said = path_of(s->home, "around/y");
        expect_granted(s, id, "--ro", said);
        end_session(s, id, "stop");
}

/* What the command has put in the way is no way. */
TEST(a_planted_link_leads_nowhere) {
        const struct site *s = *state;
        _cleanup_free_ char *script = NULL, *said = NULL, *look = NULL;
        BEGIN(s);

        script = text_of("ln -s %s %s", s->project, beside);
        JOIN_SCRIPT(s, id, &o, script);
        expect_status(&o, 0);
        said = text_of(
                "nsrun: a symlink stands in the way of a mount point: %s: Too many levels of symbolic links; the command may have made it",
                beside);
        expect_refused(s, id, "--ro", beside, said);
        look = text_of("rm %s", beside);
        JOIN_SCRIPT(s, id, &o, look);
        expect_granted(s, id, "--ro", beside);
        end_session(s, id, "stop");
}

/* A folder that a command could rename has nothing mounted in it; nor is anything made in one of the host's.
 */
TEST(what_can_be_moved_is_no_place) {
        const struct site *s = *state;
        _cleanup_free_ char *script = NULL, *said = NULL, *deep = path_of(s->home, "deep/er/x"),
                            *own = path_of(s->home, "deep"), *in_project = NULL;
        _cleanup_free_ char *id = START_PLAIN(s);
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->home, "deep");
        make_folder(s->home, "deep/er");
        make_folder(s->home, "deep/er/x");
        script = text_of("mkdir %s && mkdir %s/er", own, own);
        JOIN_SCRIPT(s, id, &o, script);
        expect_status(&o, 0);
        said = text_of(
                "nsrun: the command could move this folder, and what is mounted in it: %s; name a path "
                "beside it, or start the sandbox with the option",
                own);
        expect_refused(s, id, "--ro", deep, said);
        free(script);
        script = text_of("rmdir %s/er %s", own, own);
        JOIN_SCRIPT(s, id, &o, script);
        expect_status(&o, 0);
        expect_granted(s, id, "--ro", deep);
        free(script);
        script =
                text_of("! mv %s %s-2 2>/dev/null && ! mkdir %s/y 2>/dev/null && ls %s", own, own, own, own);
        JOIN_SCRIPT(s, id, &o, script);
        expect_out(&o, "er\n");
        expect_status(&o, 0);
        /* What lies in the same skeleton is mounted in it. */
        make_folder(s->home, "deep/er/z");
        in_project = path_of(s->home, "deep/er/z");
        expect_granted(s, id, "--ro", in_project);
        end_session(s, id, "stop");
}

/* Whoever stands in what is taken back, or has it open, finds what is hidden there hidden still, and writes
 * no more. */
TEST(what_is_held_over_a_revocation_keeps_its_covers) {
        const struct site *s = *state;
        _cleanup_free_ char *beside = path_of(s->home, "beside"), *id = NULL, *script = NULL,
                            *ready = path_of(s->project, "ready"), *go = path_of(s->project, "go");
        _cleanup_outcome_ struct outcome o = {0}, revoked = {0};
        struct running running;
        char line[24];
        FILE *f;

        make_folder(s->home, "beside");
        make_folder(s->home, "beside/.git");
        make_file(s->home, "beside/f", "text\n");
        make_file(s->home, "beside/.env", "secret\n");
        make_file(s->home, "beside/.envrc", "mine\n");
        assert_int_equal(mkfifo(ready, 0600) + mkfifo(go, 0600), 0);
        id = START(s, "--hide", ".env");
        expect_granted(s, id, "--rw", beside);
        script = text_of(
                "cd %s && exec 7<. && echo 1 >%s && read x <%s; cat f; cat .env; cat /proc/self/fd/7/.env; "
                "echo evil >.envrc; echo evil >g; cat %s/f; ls -a /",
                beside, ready, go, beside);
        SPAWN_JOINED(s, id, &running, "--", "sh", "-c", script);
        f = fopen(ready, "re");
        assert_non_null(f);
        assert_non_null(fgets(line, sizeof(line), f));
        (void)fclose(f);
        NSRUN(s, &revoked, "revoke", id, beside);
        expect_status(&revoked, 0);
        assert_string_equal(revoked.err, STAYS_OPEN);
        f = fopen(go, "we");
        assert_non_null(f);
        assert_int_equal(fclose(f), 0);
        finish(&running, &o);
        assert_true(startswith(o.out, "text\n.\n"));
        assert_null(strstr(o.out, "secret"));
        assert_null(strstr(o.out, ".nsrun-revoked"));
        on_host(s, "cd \"$HOME/beside\"; cat .envrc; ls", &o);
        expect_out(&o, "mine\nf\n");
        end_session(s, id, "stop");
}

/* What the host replaces is covered again, and what is open for writing is said to stay so. */
TEST(who_waits_looks_after_it) {
        const struct site *s = *state;
        _cleanup_free_ char *script = NULL, *look = NULL;
        BEGIN(s);

        make_file(s->home, "beside/.envrc", "mine\n");
        expect_granted(s, id, "--rw", beside);
        on_host(s, "cd \"$HOME/beside\"; echo other >new; mv new .envrc", &o);
        script = text_of("until grep -q ' %s/.envrc ro,' /proc/self/mountinfo; do :; done; cat %s/.envrc; "
                         "! echo evil 2>/dev/null >%s/.envrc",
                         beside, beside, beside);
        JOIN_SCRIPT(s, id, &o, script);
        expect_out(&o, "other\n");
        expect_status(&o, 0);
        look = text_of("exec 7>>%s/f; mkdir %s/.vscode; while [ -e %s/.vscode/x ] || mkdir %s/.vscode/x; do "
                       "echo evil >%s/.vscode/x/y || break; [ -s %s/f ] && break; done 2>/dev/null; exit 0",
                       beside, beside, beside, beside, beside, beside);
        JOIN_SCRIPT(s, id, &o, look);
        expect_status(&o, 0);
        NSRUN(s, &o, "revoke", id, beside);
        expect_status(&o, 0);
        on_host(s, "cd \"$HOME/beside\"; ls -A", &o);
        expect_out(&o, ".envrc\nf\n");
        SESSION(s, &o, "stop", id);
        expect_status(&o, 0);
        expect_in(o.err, "is kept aside");
        collect_orphans();
}

/* The folder that two lie in stays for the other, and is gone with the last. */
TEST(of_several_in_a_folder_one_is_taken_back) {
        const struct site *s = *state;
        _cleanup_free_ char *x = path_of(s->home, "around/x"), *y = path_of(s->home, "around/y"),
                            *id = START_PLAIN(s), *script = NULL, *said = NULL, *on_inside = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->home, "around");
        make_folder(s->home, "around/x");
        make_folder(s->home, "around/y");
        make_file(s->home, "around/x/f", "x\n");
        make_file(s->home, "around/y/f", "y\n");
        expect_granted(s, id, "--ro", x);
        expect_granted(s, id, "--ro", y);
        script = text_of(
                "cat %s/f 2>/dev/null; cat %s/f 2>/dev/null; ls -a ~ / | grep -c -e around -e revoked", x,
                y);
        JOIN_SCRIPT(s, id, &o, script);
        expect_out(&o, "x\ny\n1\n");
        NSRUN(s, &o, "revoke", id, x);
        expect_status(&o, 0);
        JOIN_SCRIPT(s, id, &o, script);
        expect_out(&o, "y\n1\n");
        on_inside = text_of("ls %s/..", y);
        JOIN_SCRIPT(s, id, &o, on_inside);
        expect_out(&o, "y\n");
        expect_granted(s, id, "--ro", x);
        NSRUN(s, &o, "revoke", id, y, s->home, x);
        expect_status(&o, 125);
        said = text_of("%snsrun: nothing of that was granted: %s; 'nsrun inspect' lists it\n", STAYS_OPEN,
                       s->home);
        assert_string_equal(o.err, said);
        JOIN_SCRIPT(s, id, &o, script);
        expect_out(&o, "0\n");
        end_session(s, id, "stop");
}

/* Nothing of the host's is there that wasn't looked through before. */
TEST(a_path_is_looked_through_when_nobody_else_has_the_sandbox) {
        const struct site *s = *state;
        _cleanup_free_ char *beside = path_of(s->home, "beside"), *id = NULL, *script = NULL, *look = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        if (!has_program("flock"))
                skip_because("skipped: there is no flock");
        make_folder(s->home, "beside");
        id = START(s, "--hide", ".env");
        script = text_of(
                "for f in /proc/%ld/fd/*; do case $(readlink $f) in *memfd:nsrun-plan-of*) break;; esac; "
                "done; exec 9<$f; flock 9; '%s' grant %s --ro '%s' 9<&- & "
                "until readlink /proc/$!/fd/* | grep -q memfd:nsrun-plan-of; do :; done; "
                "echo secret >'%s/.env'; flock -u 9; wait $!",
                session_number(s, id, "monitor"), program(), id, beside, beside);
        run(&(struct request){.argv = (const char *const[]){"sh", "-c", script, NULL}, .cwd = s->root}, &o);
        assert_string_equal(o.err, "");
        expect_status(&o, 0);
        look = text_of("ls -A %s; cat %s/.env", beside, beside);
        JOIN_SCRIPT(s, id, &o, look);
        expect_status(&o, 1);
        assert_string_equal(o.out, ".env\n");
        end_session(s, id, "stop");
}

/* Whoever swaps the folder for another one while it is granted. */
TEST(what_is_swapped_meanwhile_is_looked_through_or_not_shown) {
        const struct site *s = *state;
        _cleanup_free_ char *beside = path_of(s->home, "beside"), *id = NULL, *look = NULL,
                            *stop = path_of(s->root, "stop");
        const char swap[] =
                "cd \"$HOME\"; until [ -e \"$0\" ]; do mv beside t; mv other beside; mv t other; done";
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;

        make_folder(s->home, "beside");
        make_folder(s->home, "other");
        make_file(s->home, "other/.env", "secret\n");
        id = START(s, "--hide", ".env");
        look = text_of("ls -A %s; cat %s/.env", beside, beside);
        spawn(&(struct request){.argv = (const char *const[]){"sh", "-c", swap, stop, NULL}, .cwd = s->root},
              &running);
        for (unsigned i = 0; i < (takes_samples() ? 20 : 100); i++) {
                NSRUN(s, &o, "grant", id, "--ro", beside);
                if (o.status != 0) {
                        expect_status(&o, 125);
                        assert_true(is_one_line(o.err));
                        continue;
                }
                JOIN_SCRIPT(s, id, &o, look);
                assert_null(strstr(o.out, "secret"));
                NSRUN(s, &o, "revoke", id);
                expect_status(&o, 0);
        }
        make_file(s->root, "stop", "");
        outcome_clear(&o);
        finish(&running, &o);
        end_session(s, id, "stop");
}

TEST(what_was_granted_goes_with_the_sandbox) {
        const struct site *s = *state;
        _cleanup_free_ char *script = NULL, *again = NULL;
        BEGIN(s);

        script = text_of("cat %s/f", beside);
        expect_granted(s, id, "--ro", beside);
        NSRUN(s, &o, "inspect", id);
        expect_in(o.out, beside);
        end_session(s, id, "stop");
        NSRUN(s, &o, "inspect", id);
        expect_status(&o, 125);
        again = START(s, "--name", id);
        JOIN_SCRIPT(s, again, &o, script);
        expect_status(&o, 1);
        NSRUN(s, &o, "inspect", again);
        assert_null(strstr(o.out, beside));
        end_session(s, again, "stop");
}

TEST_WITH(gits_configuration_is_read_only, repository_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *script = NULL;
        BEGIN(s);

        NEED_GIT();
        on_host(s, "git init -q \"$HOME/beside\"", &o);
        expect_granted(s, id, "--rw", beside);
        script = text_of(
                "cd %s && ! git config core.pager evil 2>/dev/null && ! echo evil 2>/dev/null >.git/hooks/pre-commit && "
                "! ln .git/config c 2>/dev/null && ! mv .git g 2>/dev/null && git add f && git write-tree >/dev/null",
                beside);
        JOIN_SCRIPT(s, id, &o, script);
        assert_string_equal(o.err, "");
        expect_status(&o, 0);
        on_host(s,
                "cd \"$HOME/beside\"; ! git config core.pager; ls .git/hooks | grep -v sample; git ls-files",
                &o);
        expect_out(&o, "f\n");
        end_session(s, id, "stop");
}

/* Nobody would look after what a command makes there, and no name is read that is to be hidden. */
TEST(who_does_not_look_is_shown_nothing) {
        const struct site *s = *state;
        _cleanup_free_ char
                *beside = path_of(s->home, "beside"),
                *file = path_of(s->home, "one"), *ready = path_of(s->project, "ready"),
                *go = path_of(s->project, "go"),
                *script = text_of("echo 1 >ready; read x <go; ls %s 2>/dev/null; cat %s", beside, file),
                *said = text_of(
                        "nsrun: who waits for the sandbox doesn't look after what this shows: %s; it is "
                        "stopped, or a program with the library that waits for something else",
                        beside);
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;
        char pid[24];
        FILE *f;

        make_folder(s->home, "beside");
        make_file(s->home, "beside/f", "text\n");
        make_file(s->home, "one", "one\n");
        assert_int_equal(mkfifo(ready, 0600) + mkfifo(go, 0600), 0);
        spawn(&(struct request){.argv = (const char *const[]){program(), "run", "--", "sh", "-c", script,
                                                              NULL},
                                .cwd = s->project},
              &running);
        f = fopen(ready, "re");
        assert_non_null(f);
        assert_non_null(fgets(pid, sizeof(pid), f));
        (void)fclose(f);
        (void)snprintf(pid, sizeof(pid), "%d", (int)running.pid);
        assert_int_equal(kill(running.pid, SIGSTOP), 0);
        expect_refused(s, pid, "--rw", beside, said);
        expect_granted(s, pid, "--ro", file);
        assert_int_equal(kill(running.pid, SIGCONT), 0);
        f = fopen(go, "we");
        assert_non_null(f);
        assert_int_equal(fclose(f), 0);
        finish(&running, &o);
        expect_out(&o, "one\n");
        collect_orphans();
        expect_nothing_left(s);
}

/* Nothing stays of it but the mount. */
TEST(no_process_stays) {
        const struct site *s = *state;
        _cleanup_free_ char *script = NULL;
        BEGIN(s);

        expect_granted(s, id, "--ro", beside);
        script = text_of("pgrep -u $(id -u) -fc '[n]srun grant %s' || true", id);
        on_host(s, script, &o);
        expect_out(&o, "0\n");
        end_session(s, id, "stop");
        collect_orphans();
        expect_nothing_left(s);
}

TEST(a_run_is_granted_a_file) {
        const struct site *s = *state;
        _cleanup_free_ char *ready = path_of(s->project, "ready"), *go = path_of(s->project, "go"),
                            *file = path_of(s->home, "one"),
                            *script = text_of(
                                    "echo 1 >ready; read x <go; cat %s; echo no 2>/dev/null >%s; echo end",
                                    file, file);
        _cleanup_outcome_ struct outcome o = {0}, granted = {0};
        struct running running;
        char pid[24];
        FILE *f;

        make_file(s->home, "one", "one\n");
        assert_int_equal(mkfifo(ready, 0600), 0);
        assert_int_equal(mkfifo(go, 0600), 0);
        spawn(&(struct request){.argv = (const char *const[]){program(), "run", "--", "sh", "-c", script,
                                                              NULL},
                                .cwd = s->project},
              &running);
        f = fopen(ready, "re");
        assert_non_null(f);
        assert_non_null(fgets(pid, sizeof(pid), f));
        (void)fclose(f);
        (void)snprintf(pid, sizeof(pid), "%d", (int)running.pid);
        NSRUN(s, &granted, "grant", pid, "--ro", file);
        assert_string_equal(granted.err, "");
        expect_status(&granted, 0);
        f = fopen(go, "we");
        assert_non_null(f);
        assert_int_equal(fclose(f), 0);
        finish(&running, &o);
        expect_out(&o, "one\nend\n");
        collect_orphans();
        expect_nothing_left(s);
}

int main(void) {
        return run_all_tests();
}

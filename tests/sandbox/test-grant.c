/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun grant` and `nsrun revoke`: what a running sandbox is shown besides. */
#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
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

TEST(a_file_can_be_written_until_it_is_taken_back) {
        const struct site *s = *state;
        _cleanup_free_ char *file = path_of(s->home, "beside/f"), *script = text_of("echo x >>%s", file),
                            *text = NULL, *said = NULL;
        BEGIN(s);

        JOIN_SCRIPT(s, id, &o, script);
        expect_status(&o, 2);
        expect_granted(s, id, "--rw", file);
        JOIN_SCRIPT(s, id, &o, script);
        expect_status(&o, 0);
        text = file_text(file);
        assert_string_equal(text, "text\nx\n");
        /* Nothing can be made or renamed beside it. */
        JOIN_SCRIPT(s, id, &o, "cd ~/beside && ! echo >new && ! mv f g && ls -A");
        expect_out(&o, "f\n");
        said = text_of("nsrun: the sandbox was granted this: %s; take it back first: nsrun revoke", file);
        expect_refused(s, id, "--ro", file, said);
        free(said);
        said = text_of(
                "nsrun: a running sandbox is shown no folder writable, since nobody would look after what the command makes there: %s; name a file, or start the sandbox with --rw",
                beside);
        expect_refused(s, id, "--rw", beside, said);
        NSRUN(s, &o, "revoke", id, file);
        expect_status(&o, 0);
        JOIN_SCRIPT(s, id, &o, script);
        expect_status(&o, 2);
        end_session(s, id, "stop");
}

/* A grant that is wanted again is in the section of the sandbox's project. */
TEST(a_grant_is_saved_for_the_project) {
        const struct site *s = *state;
        _cleanup_free_ char *config = path_of(s->home, ".config/nsrun/config.json"),
                            *other = path_of(s->home, "other"), *text = NULL, *line = NULL, *proposed = NULL;
        BEGIN(s);

        make_folder(s->home, "other");
        NSRUN(s, &o, "grant", id, "--ro", beside, "--save");
        assert_string_equal(o.err, "");
        line = text_of("%s: \"readable\" has ~/beside for %s\n", config, s->project);
        expect_out(&o, line);
        NSRUN(s, &o, "grant", id, "--save", "--overlay", other);
        expect_status(&o, 0);
        text = file_text(config);
        free(line);
        line = text_of("\"%s\": {\"readable\": [\"~/beside\"], \"overlay\": [\"~/other\"]}\n", s->project);
        expect_in(text, line);
        /* The next run has both, and one of another project neither. */
        RUN(s, &o, "--", "sh", "-c", "cat ~/beside/f; echo x >~/other/made && ls ~/other");
        expect_out(&o, "text\nmade\n");
        NSRUN(s, &o, "run", "--project", s->outside, "--", "ls", beside);
        expect_status(&o, 2);
        /* It is taken out of the list that it was put into, by any name. */
        NSRUN(s, &o, "revoke", id, "--save", "../home/other");
        free(line);
        line = text_of("%s: \"overlay\" has no more ~/other for %s\n", config, s->project);
        expect_out(&o, line);
        free(text);
        text = file_text(config);
        expect_in(text, "{\"readable\": [\"~/beside\"], \"overlay\": []}");
        /* Twice is once. */
        NSRUN(s, &o, "revoke", id);
        NSRUN(s, &o, "grant", id, "--ro", beside, "--save");
        expect_out(&o, "");
        expect_status(&o, 0);
        /* What the project proposed itself isn't mixed with it. */
        NSRUN(s, &o, "revoke", id);
        proposed = text_of("{\"projects\": {\"%s\": {\"// proposal\": \"x\"}}}", s->project);
        make_file(s->home, ".config/nsrun/config.json", proposed);
        NSRUN(s, &o, "grant", id, "--ro", beside, "--save");
        free(line);
        line = text_of(
                "nsrun: it is granted, but not saved: the project's section is what it proposed itself: %s; add "
                "it by 'nsrun config edit'",
                config);
        expect_refusal(&o, 125, line);
        free(text);
        text = file_text(config);
        assert_string_equal(text, proposed);
        /* What can't be read isn't written, but the grant is in force. */
        make_file(s->home, ".config/nsrun/config.json", "{");
        NSRUN(s, &o, "grant", id, "--ro", other, "--save");
        expect_status(&o, 125);
        expect_in(o.err, "nsrun: it is granted, but not saved: the configuration can't be read: ");
        make_file(s->home, ".config/nsrun/config.json", "{}");
        JOIN_SCRIPT(s, id, &o, "ls ~/other");
        expect_status(&o, 0);
        end_session(s, id, "stop");
}

/* Who writes the configuration has its folder locked, and what was written meanwhile stays. */
TEST(two_that_are_saved_at_once_are_both_saved) {
        const struct site *s = *state;
        _cleanup_free_ char *folder = path_of(s->home, ".config/nsrun"),
                            *config = path_of(s->home, ".config/nsrun/config.json"), *text = NULL,
                            *first = text_of("{\"projects\": {\"%s\": {\"overlay\": [\"~/other\"]}}}",
                                             s->project),
                            *both = text_of(
                                    "\"%s\": {\"overlay\": [\"~/other\"], \"readable\": [\"~/beside\"]}",
                                    s->project);
        struct running running;
        int fd;
        BEGIN(s);

        make_folder(s->home, "other");
        make_file(s->home, ".config/nsrun/config.json", "{}");
        fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(flock(fd, LOCK_EX), 0);
        spawn(&(struct request){.argv = OPTIONS(program(), "grant", id, "--ro", beside, "--save"),
                                .cwd = s->root},
              &running);
        JOIN_SCRIPT(s, id, &o, "until [ -e ~/beside/f ]; do :; done");
        expect_status(&o, 0);
        make_file(s->home, ".config/nsrun/config.json", first);
        (void)close(fd);
        outcome_clear(&o);
        finish(&running, &o);
        expect_status(&o, 0);
        text = file_text(config);
        expect_in(text, both);
        end_session(s, id, "stop");
}

TEST(what_a_start_refuses_is_refused) {
        const struct site *s = *state;
        _cleanup_free_ char *within = NULL, *granted = NULL, *missing = NULL,
                            *none = path_of(s->root, "none");
        _cleanup_free_ char *file = path_of(s->home, "beside/f");
        BEGIN(s);

        expect_refused(
                s, id, "--ro", "/",
                "nsrun: --ro would expose the whole file system: /; name the folders that the command needs");
        expect_refused(
                s, id, "--ro", "/proc",
                "nsrun: --ro would expose the host's /proc: /proc; the sandbox has a /proc and a /dev of its own");
        missing = text_of(
                "nsrun: the source of --ro can't be opened: %s: No such file or directory; create it first, or leave the option out",
                none);
        expect_refused(s, id, "--ro", none, missing);
        expect_refused(s, id, "--ro", "/usr/bin", "nsrun: the sandbox has it already: /usr/bin");
        within = text_of("nsrun: the sandbox has it already: %s", s->project);
        expect_refused(s, id, "--ro", s->project, within);
        expect_granted(s, id, "--ro", beside);
        granted = text_of(
                "nsrun: the sandbox was granted this, and so has what lies in it: %s; take it back first: nsrun revoke",
                beside);
        expect_refused(s, id, "--ro", file, granted);
        NSRUN(s, &o, "grant", "nobody", "--ro", beside);
        expect_refusal(&o, 125, "nsrun: no such sandbox: nobody; 'nsrun ps' lists them");
        NSRUN(s, &o, "grant", id, "--bind", beside);
        expect_refusal(&o, 125, "nsrun: unknown option: --bind; see 'nsrun grant --help'");
        NSRUN(s, &o, "grant", id);
        expect_status(&o, 125);
        expect_in(o.err, "one of --ro, --rw, --overlay, --allow and --publish, once");
        end_session(s, id, "stop");
}

TEST(nothing_that_the_sandbox_has_is_covered) {
        const struct site *s = *state;
        _cleanup_free_ char *around = path_of(s->home, "around"), *x = path_of(s->home, "around/x"),
                            *id = NULL, *said = NULL;

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

/* The folder that two lie in stays for the other, and is gone with the last. */
TEST(of_several_in_a_folder_one_is_taken_back) {
        const struct site *s = *state;
        _cleanup_free_ char *x = path_of(s->home, "around/x"), *y = path_of(s->home, "around/y"),
                            *id = START_PLAIN(s), *script = NULL, *said = NULL, *on_inside = NULL;
        _cleanup_outcome_ struct outcome o = {0};

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
        spawn(&(struct request){.argv = OPTIONS(program(), "run", "--", "sh", "-c", script),
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

/* Its first thread has ended, and the kernel shows no namespaces of such a process: what nsrun holds itself
 * is enough. */
TEST(who_can_not_be_looked_at_keeps_nothing) {
        static const char threads[] =
                "import ctypes, os, sys, threading, time\n"
                "def other():\n"
                "  while open('/proc/self/task/%d/stat' % os.getpid()).read().split()[2] != 'Z': time.sleep(.01)\n"
                "  open('seen', 'w').close()\n"
                "  while os.path.exists(sys.argv[1]): time.sleep(.01)\n"
                "  print('gone', flush=True)\n"
                "  os._exit(0)\n"
                "open('ready', 'w').close()\n"
                "while not os.path.exists(sys.argv[1]): time.sleep(.01)\n"
                "threading.Thread(target=other).start()\n"
                "ctypes.CDLL(None).syscall(60, 0)\n";
        const struct site *s = *state;
        _cleanup_free_ char *ready = path_of(s->project, "ready"), *seen = path_of(s->project, "seen"),
                            *file = path_of(s->home, "one"), *other = path_of(s->home, "other");
        _cleanup_outcome_ struct outcome o = {0}, granted = {0};
        struct running running;
        char pid[24];
        FILE *f;

        make_file(s->home, "one", "one\n");
        make_file(s->home, "other", "other\n");
        assert_int_equal(mkfifo(ready, 0600), 0);
        assert_int_equal(mkfifo(seen, 0600), 0);
        spawn(&(struct request){.argv = OPTIONS(program(), "run", "--", "python3", "-c", threads, file),
                                .cwd = s->project},
              &running);
        f = fopen(ready, "re");
        assert_non_null(f);
        (void)fclose(f);
        (void)snprintf(pid, sizeof(pid), "%d", (int)running.pid);
        NSRUN(s, &granted, "grant", pid, "--ro", file);
        assert_string_equal(granted.err, "");
        expect_status(&granted, 0);
        f = fopen(seen, "re");
        assert_non_null(f);
        (void)fclose(f);
        /* It wouldn't see what is shown in other namespaces than its own.  Root may look at pid 1. */
        NSRUN(s, &granted, "grant", pid, "--ro", other);
        if (geteuid() != 0)
                expect_refusal(
                        &granted, 125,
                        "nsrun: the sandbox can't be entered: Permission denied; it is being started, or "
                        "its command is in namespaces of its own");
        NSRUN(s, &granted, "revoke", pid);
        expect_status(&granted, 0);
        finish(&running, &o);
        expect_out(&o, "gone\n");
        collect_orphans();
        expect_nothing_left(s);
}

/* What is hidden could have other names in what is shown later. */
TEST(with_hide_nothing_is_shown) {
        const struct site *s = *state;
        _cleanup_free_ char *beside = path_of(s->home, "beside"), *id = NULL, *plain = NULL;

        make_folder(s->home, "beside");
        id = START(s, "--hide", ".env");
        expect_refused(s, id, "--ro", beside,
                       "nsrun: with --hide a sandbox is shown nothing more; start it with the option");
        end_session(s, id, "stop");
        plain = START_PLAIN(s);
        expect_granted(s, plain, "--ro", beside);
        end_session(s, plain, "stop");
}

TEST(what_has_parts_that_are_kept_from_commands_is_refused) {
        const struct site *s = *state;
        _cleanup_free_ char *part = path_of(s->state, "part"), *id = NULL, *said = NULL;

        make_folder(s->state, "part");
        id = START_PLAIN(s);
        said = text_of("nsrun: the sandbox must be started anew to show this: something in it is kept from "
                       "commands: %s; name a path in it, or start the sandbox with the option",
                       s->state);
        expect_refused(s, id, "--ro", s->state, said);
        expect_granted(s, id, "--ro", part);
        end_session(s, id, "stop");
}

/* Whoever stands in what is taken back reads on, but runs and overwrites nothing. */
TEST(what_is_held_over_a_revocation_stays_open) {
        const struct site *s = *state;
        _cleanup_free_ char *script = NULL, *ready = path_of(s->project, "ready"),
                            *go = path_of(s->project, "go");
        _cleanup_outcome_ struct outcome revoked = {0};
        struct running running;
        char line[24];
        FILE *f;
        BEGIN(s);

        make_file(s->home, "beside/run", "#!/bin/sh\necho ran\n");
        on_host(s, "chmod +x \"$HOME/beside/run\"", &o);
        assert_int_equal(mkfifo(ready, 0600) + mkfifo(go, 0600), 0);
        expect_granted(s, id, "--overlay", beside);
        script = text_of("cd %s && ./run && echo over >g && echo 1 >%s && read x <%s; cat f; ./run; "
                         "echo evil >g; cat g; cat %s/f; ls -a /",
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
        outcome_clear(&o);
        finish(&running, &o);
        assert_true(startswith(o.out, "ran\ntext\nover\n.\n"));
        assert_null(strstr(o.out, ".nsrun-revoked"));
        end_session(s, id, "stop");
}

/* What is mounted on the host in what is shown covers there what it covers here, and who has that open is
 * not let see below when it is taken back. */
TEST_IF(geteuid() == 0, mounts_of_the_hosts_stay_where_they_are, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *sub = path_of(s->home, "beside/sub"), *script = NULL,
                            *ready = path_of(s->project, "ready"), *go = path_of(s->project, "go");
        _cleanup_outcome_ struct outcome revoked = {0};
        struct running running;
        char line[24];
        FILE *f;
        /* No other test sees what is mounted. */
        _cleanup_close_ int hosts = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC),
                            cwd = open(".", O_PATH | O_CLOEXEC);
        bool is_alone = unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
        BEGIN(s);

        assert_true(is_alone);
        make_file(s->home, "beside/sub/below", "below\n");
        assert_int_equal(mount("tmpfs", sub, "tmpfs", 0, "size=64k"), 0);
        make_file(sub, "over", "over\n");
        assert_int_equal(mkfifo(ready, 0600) + mkfifo(go, 0600), 0);
        expect_granted(s, id, "--ro", beside);
        script = text_of("cd %s && ls sub && echo 1 >%s && read x <%s; ls sub", beside, ready, go);
        SPAWN_JOINED(s, id, &running, "--", "sh", "-c", script);
        f = fopen(ready, "re");
        assert_non_null(f);
        assert_non_null(fgets(line, sizeof(line), f));
        (void)fclose(f);
        NSRUN(s, &revoked, "revoke", id, beside);
        expect_status(&revoked, 0);
        f = fopen(go, "we");
        assert_non_null(f);
        assert_int_equal(fclose(f), 0);
        outcome_clear(&o);
        finish(&running, &o);
        expect_out(&o, "over\nover\n");
        end_session(s, id, "stop");
        assert_int_equal(setns(hosts, CLONE_NEWNS) + fchdir(cwd), 0);
}

/* Whoever swaps the folder for another one meanwhile gets shown the one that was looked at, or none. */
TEST(what_is_swapped_meanwhile_is_not_shown) {
        const struct site *s = *state;
        const char swap[] =
                "cd \"$HOME\"; until [ -e \"$0\" ]; do mv beside t; mv other beside; mv t other; done";
        _cleanup_free_ char *changed = NULL, *stop = path_of(s->root, "stop"), *look = NULL;
        const char *const options[] = {"--ro", "--overlay"};
        unsigned n_granted = 0, n_changed = 0;
        struct running running;
        BEGIN(s);

        make_folder(s->home, "other");
        changed = text_of("nsrun: what lies there has changed at this moment: %s; try again\n", beside);
        look = text_of("ls %s", beside);
        spawn(&(struct request){.argv = OPTIONS("sh", "-c", swap, stop), .cwd = s->root}, &running);
        for (unsigned i = 0; i < 400 && (n_granted < 5 || n_changed < 2); i++) {
                NSRUN(s, &o, "grant", id, options[i % 2], beside);
                if (o.status != 0) {
                        expect_status(&o, 125);
                        assert_true(is_one_line(o.err));
                        n_changed += streq(o.err, changed);
                        continue;
                }
                n_granted++;
                NSRUN(s, &o, "revoke", id);
                expect_status(&o, 0);
        }
        make_file(s->root, "stop", "");
        outcome_clear(&o);
        finish(&running, &o);
        print_message("granted %u times, changed %u times\n", n_granted, n_changed);
        assert_true(n_granted > 0);
        JOIN_SCRIPT(s, id, &o, look);
        expect_out(&o, "");
        end_session(s, id, "stop");
}

/* A shell's limits keep nothing shown, and show nothing that they would keep. */
TEST(limits_keep_nothing_shown) {
        const struct site *s = *state;
        _cleanup_free_ char *script = NULL, *refused = NULL, *look = NULL, *few = NULL, *told = NULL;
        BEGIN(s);

        refused = text_of("ulimit -f 1; exec '%s' grant %s --ro %s", program(), id, beside);
        run_outside(s, &o, refused);
        expect_status(&o, 125);
        expect_in(o.err, "nsrun: it can't be written down, and so isn't granted: ");
        expect_in(o.err, ": File too large; ");
        few = text_of("ulimit -n 40; exec '%s' grant %s --ro %s", program(), id, beside);
        run_outside(s, &o, few);
        expect_status(&o, 125);
        expect_in(o.err, "nsrun: file descriptors are needed: Too many open files; ");
        expect_granted(s, id, "--ro", beside);
        script = text_of("ulimit -f 0; exec '%s' revoke %s", program(), id);
        run_outside(s, &o, script);
        expect_status(&o, 0);
        told = text_of("nsrun: note: it is taken back, but that isn't written down: %s\n%s", beside,
                       STAYS_OPEN);
        assert_string_equal(o.err, told);
        look = text_of("! ls %s 2>/dev/null", beside);
        JOIN_SCRIPT(s, id, &o, look);
        expect_status(&o, 0);
        expect_granted(s, id, "--ro", beside);
        NSRUN(s, &o, "revoke", id, beside);
        assert_string_equal(o.err, STAYS_OPEN);
        expect_status(&o, 0);
        JOIN_SCRIPT(s, id, &o, look);
        expect_status(&o, 0);
        end_session(s, id, "stop");
}

int main(void) {
        return run_all_tests();
}

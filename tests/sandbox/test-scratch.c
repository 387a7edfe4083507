/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --tmp=scratch: one folder of the run's run directory as /tmp and at its host path, and
 * nothing else of the run directory. */
#include <sys/mount.h>

#include "harness.h"
#include "stage.h"

/* Where it is, as a command finds out: $p, with its run directory $u and the folder of all, $b. */
#define FIND "b=\"$XDG_CACHE_HOME/nsrun\"; u=$(echo \"$b\"/workspace-*); p=$u/scratch; "

static void run_in_scratch(const struct site *s, struct outcome *o, const char *script) {
        RUN(s, o, "--tmp=scratch", "--", "sh", "-c", script);
}

TEST(tmp_and_the_host_path_are_one_folder) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        run_in_scratch(s, &o,
                       FIND "set -e; ls -A /tmp; stat -c %a /tmp \"$p\"; test /tmp -ef \"$p\"; "
                            "echo x >/tmp/one; cat \"$p/one\"; mkdir \"$p/two\"; rmdir /tmp/two;");
        expect_status(&o, 0);
        expect_out(&o, "1777\n1777\nx\n");
        /* And the next run begins with an empty one. */
        run_in_scratch(s, &o, "ls -A /tmp");
        expect_status(&o, 0);
        expect_out(&o, "");
}

/* No device of the host's is shown by that. */
TEST(a_cache_below_dev_shm_works_as_any_other) {
        const struct site *s = *state;
        _cleanup_free_ char *cache = text_of("/dev/shm/nsrun-test-%d", (int)getpid()),
                            *old = strdup(s->cache);
        _cleanup_outcome_ struct outcome o = {0};

        assert_int_equal(mkdir(cache, 0700), 0);
        assert_int_equal(setenv("XDG_CACHE_HOME", cache, 1), 0);
        RUN(s, &o, "--tmp=scratch", "--overlay", s->outside, "--", "sh", "-c",
            "echo x >/tmp/f; cat \"$XDG_CACHE_HOME\"/nsrun/*/scratch/f; echo y >\"$0\"/f; cat \"$0\"/f",
            s->outside);
        assert_int_equal(setenv("XDG_CACHE_HOME", old, 1), 0);
        expect_status(&o, 0);
        expect_out(&o, "x\ny\n");
        outcome_clear(&o);
        run(&(struct request){.argv = OPTIONS("rm", "-r", cache), .cwd = s->root}, &o);
}

/* A run that waits, having printed its scratch folder's path. */
static char *start_waiting(const struct site *s, const char *option, const char *value, struct running *ret,
                           int *ret_input) {
        _cleanup_free_ const char **argv =
                nsrun_argv(s, OPTIONS("--tmp=scratch", option, value, "--", "sh", "-c",
                                      FIND "echo inside >/tmp/from-inside; echo \"$p\"; "
                                           "read line; cat /tmp/from-outside"));
        int ends[2];
        char *path;

        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        spawn(&(struct request){.argv = argv, .cwd = s->root, .standard_input = ends[0]}, ret);
        (void)close(ends[0]);
        *ret_input = ends[1];
        path = read_line(ret->out);
        path[strcspn(path, "\n")] = '\0';
        return path;
}

static void end_waiting(struct running *running, int input, struct outcome *o) {
        assert_int_equal(write(input, "\n", 1), 1);
        (void)close(input);
        outcome_clear(o);
        finish(running, o);
}

TEST(a_path_that_is_printed_works_on_both_sides) {
        const struct site *s = *state;
        struct running running;
        int input;
        _cleanup_free_ char *path = start_waiting(s, "--net=none", "--net=none", &running, &input);
        _cleanup_free_ char *inside = path_of(path, "from-inside"), *text = file_text(inside);
        _cleanup_outcome_ struct outcome o = {0};
        struct stat st;

        assert_non_null(startswith(path, s->cache));
        assert_string_equal(text, "inside\n");
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 01777);
        make_file(path, "from-outside", "outside\n");
        end_waiting(&running, input, &o);
        expect_status(&o, 0);
        expect_out(&o, "outside\n");
        assert_int_equal(access(path, F_OK), -1);
}

/* Not its layers and its lock, and not another run's run directory. */
TEST(nothing_else_of_an_rundir_is_seen) {
        static const char look[] =
                FIND "set -e; ls -A \"$b\" | sed s/-......$//; ls -A \"$u\"; "
                     "ls \"$u/lock\" 2>/dev/null || echo no lock; "
                     "! mkdir \"$b/other\" 2>/dev/null; find / -xdev -name 'overlay-*' 2>/dev/null";
        static const char expected[] = "workspace\nscratch\nno lock\n";
        const struct site *s = *state;
        _cleanup_free_ char *layered = path_of(s->root, "layered"), *names = NULL, *bind = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;
        char *path;
        int input;

        make_folder(s->root, "layered");
        path = start_waiting(s, "--overlay", layered, &running, &input);
        /* The control: there is something to be seen.  Two more are for runs that last. */
        names = replaced(
                "ls -A \"$(dirname '%')\" | sed 's/^overlay.*/overlay/' | grep -v -x -e away -e kept | sort",
                "%", path);
        run_outside(s, &o, names);
        expect_out(&o, "lock\noverlay\nscratch\n");

        RUN(s, &o, "--tmp=scratch", "--overlay", layered, "--", "sh", "-c", look);
        expect_status(&o, 0);
        expect_out(&o, expected);
        /* Where a rule shows the cache folder, and all of the run directories in it. */
        RUN(s, &o, "--tmp=scratch", "--overlay", layered, "--ro", s->cache, "--", "sh", "-c", look);
        expect_status(&o, 0);
        expect_out(&o, expected);
        /* At another place there is nothing of ours to be seen at all. */
        bind = text_of("%s:/elsewhere:ro", s->cache);
        RUN(s, &o, "--bind", bind, "--", "sh", "-c", "ls -A /elsewhere; ls -A /elsewhere/nsrun | wc -l");
        expect_status(&o, 0);
        expect_out(&o, "nsrun\n0\n");
        end_waiting(&running, input, &o);
        assert_int_equal(access(path, F_OK), -1);
        free(path);
}

/* The command does what it can to put something else in the scratch folder's place, and
 * leaves links in it that lead out. */
TEST(what_is_planted_leads_nowhere) {
        static const char attack[] = FIND
                "out=$1; for n in \"$p\" \"$u\" \"$b\"; do rm -rf \"$n\"; rmdir \"$n\"; mv \"$n\" \"$n.gone\"; "
                "ln -sfn \"$out\" \"$n\"; done 2>/dev/null; "
                "ln -s \"$out\" /tmp/link; ln -s \"$out/precious\" /tmp/scratch; mkdir -p /tmp/d/e; "
                "ln -s ../../../../.. /tmp/d/e/up; chmod 000 /tmp/d; mkfifo /tmp/fifo; echo done";
        static const char *const shown[] = {NULL, "--rw"};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        char *before;

        make_file(s->outside, "precious", "x");
        before = snapshot(s->outside);
        for (size_t i = 0; i < ARRAY_SIZE(shown); i++) {
                RUN(s, &o, "--tmp=scratch", shown[i] ? shown[i] : "--net=none",
                    shown[i] ? s->cache : "--net=none", "--", "sh", "-c", attack, "sh", s->outside);
                expect_status(&o, 0);
                expect_out(&o, "done\n");
                /* The next run has a new one, and at the same two places. */
                run_in_scratch(s, &o, FIND "ls -A /tmp; test /tmp -ef \"$p\" && stat -c %F \"$p\"");
                expect_out(&o, "directory\n");
        }
        expect_unchanged(s->outside, before);
}

TEST(a_project_below_tmp_is_seen) {
        const struct site *s = *state;
        char folder[] = "/tmp/nsrun-test-XXXXXX";
        const char *const argv[] = {program(), "run", "--project",         folder, "--tmp=scratch", "--",
                                    "sh",      "-c",  "pwd; echo x >file", NULL};
        _cleanup_free_ char *tmp = text_of("--tmp=%s", s->outside);
        const char *const hidden[] = {program(), "run", "--project", folder, tmp, "--", "true", NULL};
        _cleanup_free_ char *line = NULL, *pwd = NULL, *file = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        assert_non_null(mkdtemp(folder));
        pwd = text_of("%s\n", folder);
        file = path_of(folder, "file");
        line = text_of("nsrun: the project would be hidden by the folder of --tmp: %s; choose a project "
                       "elsewhere, or use --tmp=scratch",
                       folder);
        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        expect_status(&o, 0);
        expect_out(&o, pwd);
        assert_int_equal(unlink(file), 0);
        outcome_clear(&o);
        run(&(struct request){.argv = hidden, .cwd = s->root}, &o);
        expect_refusal(&o, 125, line);
        assert_int_equal(rmdir(folder), 0);
        RUN(s, &o, tmp, "--", "true");
        expect_status(&o, 0);
}

/* ---------------------------------------------------------------- full disks */

struct disk {
        const char *cache;
        const char *options;
};

static void set_disk(void *data) {
        const struct disk *disk = data;

        stage_enter();
        if (mount("tmpfs", disk->cache, "tmpfs", 0, disk->options) < 0)
                stage_fail(disk->cache);
}

/* nsrun with the cache folder on a small disk of its own, and what is left on that. */
static void run_on_disk(const struct site *s, const char *options, const char *script, struct outcome *o) {
        struct disk disk = {s->cache, options};
        const char *const *argv =
                OPTIONS("sh", "-c", "\"$@\"; echo $? $(ls \"$XDG_CACHE_HOME/nsrun\")", "sh", program(),
                        "run", "--project", s->project, "--tmp=scratch", "--", "sh", "-c", script);

        outcome_clear(o);
        run(&(struct request){.argv = argv, .cwd = s->root, .in_child = set_disk, .data = &disk}, o);
}

TEST(a_full_disk_is_told_clearly) {
        const struct site *s = *state;
        _cleanup_free_ char *begin = text_of("nsrun: a scratch folder can't be made in this run's folder: "
                                             "%s/nsrun/workspace-",
                                             s->cache);
        static const char end[] =
                ": No space left on device; set XDG_CACHE_HOME to a folder of your own on a "
                "local disk\n";
        _cleanup_outcome_ struct outcome o = {0};

        /* The root, nsrun, the run directory, its lock: and no inode for the scratch folder. */
        run_on_disk(s, "mode=0700,nr_inodes=4", "echo ran", &o);
        expect_out(&o, "125\n");
        assert_non_null(startswith(o.err, begin));
        assert_int_equal(strlen(o.err), strlen(begin) + 6 + strlen(end));
        assert_string_equal(o.err + strlen(begin) + 6, end);
        run_on_disk(s, "mode=0700,nr_inodes=5", "echo ran", &o);
        expect_out(&o, "ran\n0\n");
        assert_string_equal(o.err, "");
}

TEST(the_command_that_fills_the_disk_is_told_and_ends) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        run_on_disk(s, "mode=0700,size=256k", "head -c 1000000 /dev/zero >/tmp/big; echo $?", &o);
        expect_out(&o, "1\n0\n");
        expect_in(o.err, "No space left on device");
        run_on_disk(s, "mode=0700,size=2m", "head -c 1000000 /dev/zero >/tmp/big; echo $?", &o);
        expect_out(&o, "0\n0\n");
}

/* ------------------------------------------------------------ plan and resolve */

static void run_program(const struct site *s, struct outcome *o, const char *const *arguments) {
        const char *argv[16] = {program(), arguments[0], "--project", s->project};

        for (size_t i = 1; arguments[i]; i++)
                argv[i + 3] = arguments[i];
        outcome_clear(o);
        run(&(struct request){.argv = argv, .cwd = s->root}, o);
}
#define PROGRAM(site, outcome, ...) run_program(site, outcome, OPTIONS(__VA_ARGS__))

TEST(a_plan_shows_where_it_will_be_and_makes_nothing) {
        const struct site *s = *state;
        _cleanup_free_ char *place = text_of("%s/nsrun/workspace-XXXXXX/scratch", s->cache);
        _cleanup_free_ char *from = text_of("read-write, on disk, gone at the end, from %s\n", place);
        char *before = snapshot(s->cache);
        _cleanup_outcome_ struct outcome o = {0};

        PROGRAM(s, &o, "plan", "--tmp=scratch", "--", "true");
        expect_status(&o, 0);
        expect_in(o.out, place);
        expect_in(o.out, from);
        PROGRAM(s, &o, "plan", "--tmp=scratch", "--format=bwrap", "--", "true");
        expect_status(&o, 0);
        expect_in(o.out, " --perms 1777 --size 2147483648 --tmpfs /tmp ");
        expect_not_in(o.out, "nsrun/workspace-");
        PROGRAM(s, &o, "plan", "--", "true");
        expect_not_in(o.out, "nsrun/workspace-");
        expect_unchanged(s->cache, before);
}

TEST(before_a_run_it_is_nowhere_on_the_host) {
        const struct site *s = *state;
        _cleanup_free_ char *tmp = text_of("--tmp=%s", s->outside), *file = text_of("%s/x\n", s->outside),
                            *inside = text_of("%s/x\n", s->project);
        _cleanup_outcome_ struct outcome o = {0};

        PROGRAM(s, &o, "resolve", "--tmp=scratch", "--read", "/tmp/x");
        expect_refusal(&o, 1,
                       "nsrun: a run's scratch folder is not on the host before the run begins: /tmp/x: "
                       "Operation not permitted");
        PROGRAM(s, &o, "resolve", "--tmp=scratch", "--write", "x");
        expect_status(&o, 0);
        expect_out(&o, inside);
        PROGRAM(s, &o, "resolve", tmp, "--read", "/tmp/x");
        expect_status(&o, 0);
        expect_out(&o, file);
}

/* --tmp=DIR is at /tmp too, where a rule for a path in DIR doesn't reach. */
TEST(what_is_protected_in_a_folder_is_not_written_by_way_of_tmp) {
        static const char *const options[] = {"--ro", "--overlay"};
        const struct site *s = *state;
        _cleanup_free_ char *tmp = text_of("--tmp=%s", s->outside), *inner = path_of(s->outside, "inner"),
                            *mirror = text_of("%s:/tmp/inner:ro", inner),
                            *script = text_of("echo x >%s/own; echo x >/tmp/inner/own", inner);
        _cleanup_outcome_ struct outcome o = {0};
        char *before;

        make_folder(s->outside, "inner");
        before = snapshot(inner);
        for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
                _cleanup_free_ char *line = text_of(
                        "nsrun: what %s protects could be written by way of /tmp: %s; choose another "
                        "folder for --tmp, or use --tmp=scratch",
                        options[i], inner);

                RUN(s, &o, tmp, options[i], inner, "--", "true");
                expect_refusal(&o, 125, line);
        }
        /* Protected at both places it is. */
        RUN(s, &o, tmp, "--ro", inner, "--bind", mirror, "--", "sh", "-c", script);
        expect_status(&o, 2);
        expect_unchanged(inner, before);
        RUN(s, &o, tmp, "--", "sh", "-c", script);
        expect_status(&o, 0);
}

int main(void) {
        return run_all_tests();
}

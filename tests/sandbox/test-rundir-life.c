/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The life of run directories among real runs: crowds of them, killed ones, full disks, and
 * folders as old as they look.  A dead one is reclaimed, and a live one is never
 * touched, whoever sweeps.  The library's own part is in tests/unit/test-rundir.c. */
#include <dirent.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <time.h>

#include "../seed.h"
#include "stage.h"

enum {
        RUNS = 32,
        SWEEPERS = 8,
        DAY = 24 * 60 * 60,
};

/* A run with a folder of the site as its overlay. */
struct owner {
        struct running running;
        int input; /* it waits until this is closed */
        bool is_alive;
};

/* Writes to the overlay; waits; and finds what it wrote, and the file below. */
static const char script[] = "cd ../layered && echo mine-$0 >mine && echo ready && read x; "
                             "cat mine lower && echo more >>lower && mkdir new && rm lower && ls";
static const char last_words[] = "mine-%d\nlower\nmine\nnew\n";

static void start_owner(const struct site *s, int number, struct owner *ret) {
        _cleanup_free_ char *layered = path_of(s->root, "layered"), *name = text_of("%d", number);
        _cleanup_free_ const char **argv =
                nsrun_argv(s, OPTIONS("--overlay", layered, "--", "sh", "-c", script, name));
        int ends[2];

        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        spawn(&(struct request){.argv = argv, .cwd = s->root, .standard_input = ends[0]}, &ret->running);
        (void)close(ends[0]);
        ret->input = ends[1];
        ret->is_alive = true;
}

static void expect_ready(const struct owner *o) {
        await_line(o->running.out, "ready\n");
}

static void kill_owner(struct owner *o) {
        _cleanup_outcome_ struct outcome end = {0};

        assert_int_equal(syscall(SYS_pidfd_send_signal, o->running.pidfd, SIGKILL, NULL, 0), 0);
        finish(&o->running, &end);
        expect_status(&end, 1000 + SIGKILL);
        (void)close(o->input);
        o->is_alive = false;
}

static void end_owner(struct owner *o, int number) {
        _cleanup_free_ char *expected = text_of(last_words, number);
        _cleanup_outcome_ struct outcome end = {0};

        (void)close(o->input);
        finish(&o->running, &end);
        assert_string_equal(end.err, "");
        expect_status(&end, 0);
        expect_out(&end, expected);
        o->is_alive = false;
}

/* How many run directories there are; the name of one that isn't in `known`, where that is
 * asked for (free it). */
static unsigned count_rundirs(const struct site *s, const char *known, char **ret_new) {
        _cleanup_free_ char *path = path_of(s->cache, "nsrun");
        DIR *dir = opendir(path);
        unsigned n = 0;

        for (struct dirent *entry; dir && (entry = readdir(dir));) {
                if (streq(entry->d_name, ".") || streq(entry->d_name, "..") ||
                    startswith(entry->d_name, ".workspace-spare-"))
                        continue;
                n++;
                if (ret_new && (!known || !streq(entry->d_name, known)) && !*ret_new)
                        *ret_new = strdup(entry->d_name);
        }
        if (dir)
                (void)closedir(dir);
        return n;
}

static bool has_rundir(const struct site *s, const char *name) {
        _cleanup_free_ char *path = text_of("%s/nsrun/%s", s->cache, name);

        return access(path, F_OK) == 0;
}

static void set_age(const struct site *s, const char *name, time_t age) {
        const struct timespec times[2] = {{.tv_sec = time(NULL) - age}, {.tv_sec = time(NULL) - age}};
        _cleanup_free_ char *path = text_of("%s/nsrun/%s", s->cache, name);

        assert_int_equal(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

/* Runs that each sweep, all at once. */
static void sweep_at_once(const struct site *s) {
        _cleanup_free_ char *layered = path_of(s->root, "layered");
        _cleanup_free_ const char **argv = nsrun_argv(s, OPTIONS("--overlay", layered, "--", "true"));
        struct running sweepers[SWEEPERS];

        for (size_t i = 0; i < SWEEPERS; i++)
                spawn(&(struct request){.argv = argv, .cwd = s->root}, &sweepers[i]);
        for (size_t i = 0; i < SWEEPERS; i++) {
                _cleanup_outcome_ struct outcome o = {0};

                finish(&sweepers[i], &o);
                assert_string_equal(o.err, "");
                expect_status(&o, 0);
        }
}

/* Sweeps until so many are left.  A killed run's outputs are closed an instant before
 * its lock is. */
static void expect_rundirs(const struct site *s, unsigned expected) {
        unsigned n = UINT32_MAX;

        for (int i = 0; i < 1000 && n != expected; i++) {
                sweep_at_once(s);
                n = count_rundirs(s, NULL, NULL);
                if (n < expected)
                        break;
        }
        assert_int_equal(n, expected);
}

static int setup(void **state) {
        const struct site *s;

        if (site_setup(state) != 0)
                return -1;
        s = *state;
        make_file(s->root, "layered/lower", "lower\n");
        return 0;
}

/* ------------------------------------------------------------------ crowds */

/* A quarter is killed as it starts, a quarter as it runs, in no order. */
TEST_WITH(of_a_crowd_the_killed_are_reclaimed_and_the_living_keep_their_overlays, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *layered = path_of(s->root, "layered");
        unsigned seed = (unsigned)test_seed(), n_alive = 0;
        struct owner owners[RUNS];
        char *before = snapshot(layered);

        for (int i = 0; i < RUNS; i++) {
                start_owner(s, i, &owners[i]);
                /* The one before it has had just the time of a fork. */
                if (i % 4 == 1)
                        kill_owner(&owners[i - 1]);
        }
        for (int i = 0; i < RUNS; i++)
                if (owners[i].is_alive)
                        expect_ready(&owners[i]);
        for (unsigned n = 0; n < RUNS / 4;) {
                struct owner *o = &owners[(unsigned)rand_r(&seed) % RUNS];

                if (!o->is_alive)
                        continue;
                kill_owner(o);
                n++;
        }
        for (int i = 0; i < RUNS; i++)
                n_alive += owners[i].is_alive;
        assert_int_equal(n_alive, RUNS / 2);
        expect_rundirs(s, n_alive);
        for (int i = 0; i < RUNS; i++)
                if (owners[i].is_alive)
                        end_owner(&owners[i], i);
        collect_orphans();
        assert_int_equal(count_rundirs(s, NULL, NULL), 0);
        expect_unchanged(layered, before);
}

/* ------------------------------------------------------------------ spare ones */

/* What the command can open (/.nsrun, the layers) is new each time; what it can't is the last run's. */
TEST_WITH(a_run_takes_the_last_ones_folder_and_nothing_that_its_command_had, setup, site_teardown) {
        static const char look[] =
                "stat -c %a /.nsrun && find /.nsrun ../layered .git/hooks ! -type d ! -name '*.sample' | "
                "sed 's,/[0-9]*-,/N-,'",
                          spoil[] =
                                  "chmod 2777 /.nsrun . ../layered .git/hooks && touch /.nsrun/x ../layered/x "
                                  ".git/hooks/x && git config user.name x && kill -9 $$",
                          expected[] = "700\n/.nsrun/N-config\n../layered/lower\n";
        const struct site *s = *state;
        _cleanup_free_ char *layered = path_of(s->root, "layered"),
                            *spare = path_of(s->cache, "nsrun/.workspace-spare-0");
        _cleanup_close_ int first = -EBADF;
        const char *const commands[] = {look, spoil, look};
        _cleanup_outcome_ struct outcome o = {0};
        struct stat st, now;

        if (!has_program("git"))
                skip_because("skipped: there is no git");
        run_outside(s, &o, "git init -q");
        for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
                RUN(s, &o, "--overlay", layered, "--", "sh", "-c", commands[i]);
                if (commands[i] == look)
                        expect_out(&o, expected);
                if (first < 0)
                        first = open(spare, O_PATH | O_DIRECTORY | O_CLOEXEC);
                assert_int_equal(fstat(first, &st), 0);
                assert_int_equal(stat(spare, &now), 0);
                assert_int_equal(now.st_ino, st.st_ino);
                assert_int_equal(count_rundirs(s, NULL, NULL), 0);
        }
}

/* -------------------------------------------------------------------- ages */

TEST_WITH(age_reclaims_what_has_no_owner_and_spares_what_lives, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *killed = NULL, *live = NULL;
        struct owner dead, owner;

        start_owner(s, 1, &dead);
        expect_ready(&dead);
        assert_int_equal(count_rundirs(s, NULL, &killed), 1);
        start_owner(s, 2, &owner);
        expect_ready(&owner);
        assert_int_equal(count_rundirs(s, killed, &live), 2);
        kill_owner(&dead);
        assert_true(has_rundir(s, killed));
        make_file(s->cache, "nsrun/workspace-8days0/file", "x");
        make_file(s->cache, "nsrun/workspace-6days0/file", "x");
        set_age(s, killed, 6 * DAY);
        set_age(s, live, 8 * DAY);
        set_age(s, "workspace-8days0", 8 * DAY);
        set_age(s, "workspace-6days0", 6 * DAY);

        expect_rundirs(s, 2);
        assert_true(has_rundir(s, live));
        assert_true(has_rundir(s, "workspace-6days0"));
        set_age(s, "workspace-6days0", 7 * DAY + 60);
        set_age(s, live, 400 * DAY);
        expect_rundirs(s, 1);
        assert_true(has_rundir(s, live));
        end_owner(&owner, 2);
        collect_orphans();
        assert_int_equal(count_rundirs(s, NULL, NULL), 0);
}

/* -------------------------------------------------------------- full disks */

struct disk {
        const char *path, *options;
};

/* The cache folder is a disk of its own, and a small one. */
static void stage_disk(void *data) {
        const struct disk *disk = data;

        stage_enter();
        if (mount("tmpfs", disk->path, "tmpfs", 0, disk->options) < 0)
                stage_fail(disk->path);
}

/* A run with the overlay on such a disk; then what is left there. */
static void run_on_disk(const struct site *s, const char *options, const char *backing, const char *command,
                        struct outcome *ret) {
        _cleanup_free_ char *text =
                text_of("'%s' run --project '%s' --overlay '%s/layered' "
                        "--overlay-backing=%s -- sh -c '%s'; "
                        "echo \"status $?\"; find '%s' -mindepth 1 ! -path '*/.workspace-spare-*'",
                        program(), s->project, s->root, backing, command, s->cache);
        const char *const argv[] = {"sh", "-c", text, NULL};
        struct disk disk = {.path = s->cache, .options = options};

        outcome_clear(ret);
        run(&(struct request){.argv = argv, .cwd = s->root, .in_child = stage_disk, .data = &disk}, ret);
        expect_status(ret, 0);
}

/* The overlay needs a disk with user.* attributes, which tmpfs has since Linux 6.6. */
static void want_overlays(const struct site *s) {
        _cleanup_outcome_ struct outcome o = {0};

        run_on_disk(s, "mode=0700", "disk", "true", &o);
        if (!strstr(o.out, "status 0\n"))
                skip_because("skipped: no overlay on this kernel's tmpfs: %s", o.err);
}

/* With one more inode each time, until there are enough. */
TEST_WITH(a_disk_without_room_for_an_rundir_is_a_line_and_leaves_nothing, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *base = path_of(s->cache, "nsrun");
        _cleanup_free_ char *ended = text_of("ran\nstatus 0\n%s\n", base),
                            *failed = text_of("status 125\n%s\n", base);
        char *lines[] = {
                text_of("nsrun: the cache folder can't be made: %s: No space left on device; make room "
                        "there, or set XDG_CACHE_HOME to a folder of your own on a local disk" SEE_DOCTOR
                        "\n",
                        base),
                text_of("nsrun: a folder for this run can't be made and locked: %s: No space left on "
                        "device; make room there, or set XDG_CACHE_HOME to a folder of your own on a local disk\n",
                        base),
                text_of("nsrun: there is no room for the overlay's layers: %s: No space left on "
                        "device; the cache folder's disk is full: make room, or use "
                        "--overlay-backing=tmpfs" SEE_DOCTOR "\n",
                        base),
        };
        size_t at = 0;

        want_overlays(s);
        for (unsigned n = 1; n < 100; n++) {
                _cleanup_free_ char *options = text_of("mode=0700,nr_inodes=%u", n);
                _cleanup_outcome_ struct outcome o = {0};

                run_on_disk(s, options, "disk", "echo ran", &o);
                if (streq(o.out, ended))
                        break;
                /* Each comes in its turn, and none is left out. */
                if (at + 1 < ARRAY_SIZE(lines) && !streq(o.err, lines[at]))
                        at++;
                assert_string_equal(o.err, lines[at]);
                assert_string_equal(o.out, at == 0 ? "status 125\n" : failed);
        }
        assert_int_equal(at, ARRAY_SIZE(lines) - 1);
        for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
                free(lines[i]);
}

TEST_WITH(an_overlay_on_a_full_disk_says_so_and_the_run_goes_on, setup, site_teardown) {
        static const char command[] =
                "cd ../layered && dd if=/dev/zero of=big bs=4096 count=64; echo dd $?; "
                "echo x >>lower && echo added; cat lower; "
                "rm big; echo small >small && cat small";
        const struct site *s = *state;
        _cleanup_free_ char *expected = text_of("dd 1\nlower\nsmall\nstatus 0\n%s/nsrun\n", s->cache);
        _cleanup_outcome_ struct outcome o = {0};

        want_overlays(s);
        run_on_disk(s, "mode=0700,size=128k", "disk", command, &o);
        expect_out(&o, expected);
        expect_in(o.err, "No space left on device");
        /* The same elsewhere, and with more room. */
        run_on_disk(s, "mode=0700,size=128k", "tmpfs", command, &o);
        expect_out(&o, "dd 0\nadded\nlower\nx\nsmall\nstatus 0\n");
}

int main(void) {
        return run_all_tests();
}

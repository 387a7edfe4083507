/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The flags of every mount that a command sees, as the kernel tells them and libmount reads
 * them: nothing is setuid, a device only where one was asked for, no mount shares what happens
 * to it with the host.  What can be written where has test-files.c. */
#include <fnmatch.h>
#include <libmount/libmount.h>
#include <sys/mount.h>

#include "stage.h"

/* What is said of a mount: the first row counts that matches its target and its type. */
struct row {
        const char *target; /* fnmatch(3) with FNM_PATHNAME; NULL: whatever there is else */
        const char *type;   /* NULL: any */
        const char *flags;  /* of ro, rw, nosuid, nodev and noexec: these and no others */
        bool may_be_missing;
};

/* The flags that count, in one order. */
static char *flags_of(struct libmnt_fs *fs) {
        static const char *const names[] = {"ro", "rw", "nosuid", "nodev", "noexec"};
        const char *options = mnt_fs_get_vfs_options(fs);
        char *flags = text_of("%s", "");

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (mnt_optstr_get_option(options, names[i], NULL, NULL) == 0) {
                        char *longer = text_of("%s%s%s", flags, *flags ? "," : "", names[i]);

                        free(flags);
                        flags = longer;
                }
        return flags;
}

/* Private: nothing that is mounted there goes to anybody else, or comes from there. */
static void expect_private(struct libmnt_fs *fs) {
        unsigned long propagation = 0;

        assert_int_equal(mnt_fs_get_propagation(fs, &propagation), 0);
        /* Nothing at all is said of a private one. */
        if (propagation & (MS_SHARED | MS_SLAVE))
                fail_msg("%s: propagation %lx", mnt_fs_get_target(fs), propagation);
}

static bool is_of(const struct row *row, const char *target, const char *type) {
        return (!row->target || fnmatch(row->target, target, FNM_PATHNAME) == 0) &&
               (!row->type || streq(row->type, type));
}

static void expect_rows(const char *mountinfo, const struct row *rows, size_t n_rows) {
        _cleanup_fclose_ FILE *in = fmemopen((void *)(uintptr_t)mountinfo, strlen(mountinfo), "r");
        struct libmnt_iter *iter = mnt_new_iter(MNT_ITER_FORWARD);
        struct libmnt_table *table = mnt_new_table();
        struct libmnt_fs *fs;
        bool seen[32] = {false};

        assert_non_null(in);
        assert_true(n_rows <= ARRAY_SIZE(seen));
        assert_int_equal(mnt_table_parse_stream(table, in, "mountinfo"), 0);
        while (mnt_table_next_fs(table, iter, &fs) == 0) {
                const char *target = mnt_fs_get_target(fs), *type = mnt_fs_get_fstype(fs);
                _cleanup_free_ char *flags = flags_of(fs);
                size_t i = 0;

                while (i < n_rows && !is_of(&rows[i], target, type))
                        i++;
                if (i == n_rows)
                        fail_msg("nobody asked for this mount: %s %s", target, type);
                seen[i] = true;
                if (!streq(flags, rows[i].flags))
                        fail_msg("%s: %s %s, not %s", target, type, flags, rows[i].flags);
                expect_private(fs);
        }
        for (size_t i = 0; i < n_rows; i++)
                if (!seen[i] && rows[i].target && !rows[i].may_be_missing)
                        fail_msg("nothing is mounted at %s", rows[i].target);
        mnt_free_iter(iter);
        mnt_unref_table(table);
}

/* What all runs have, whatever was asked for. */
#define EVERY_RUN                                                                                    \
        {"/", "tmpfs", "ro,nosuid,nodev", false}, {"/dev/pts", "devpts", "rw,nosuid,noexec", false}, \
                {"/dev/shm", "tmpfs", "rw,nosuid,nodev", false},                                     \
                {"/dev/*", NULL, "ro,nosuid,noexec", false},                                         \
                {"/proc", "proc", "rw,nosuid,nodev,noexec",                                          \
                 false}, /* Files that root alone could read have /dev/null over them. */            \
                {"/proc/*", "proc", "ro,nosuid,nodev,noexec", false},                                \
                {"/proc/*", NULL, "ro,nosuid,noexec", true},                                         \
                {"/proc/sys/net/*/*", "tmpfs", "ro,nosuid,nodev,noexec", true}, {                    \
                "/usr", NULL, "ro,nosuid,nodev", false                                               \
        }
/* The system's folders, of which each machine has its own; and one that is hidden from a caller who
 * could read it, by an empty folder that is nobody else's. */
#define OTHERS                                                    \
        {"/etc/ssl/private", "tmpfs", "ro,nosuid,nodev", true}, { \
                NULL, NULL, "ro,nosuid,nodev", true               \
        }

static void run_and_expect(const struct site *s, const char *const *options, const struct row *rows,
                           size_t n_rows) {
        _cleanup_free_ const char **words = words_of(options, OPTIONS("--", "cat", "/proc/self/mountinfo"));
        _cleanup_outcome_ struct outcome o = {0};

        run_nsrun(s, &o, words);
        expect_status(&o, 0);
        expect_rows(o.out, rows, n_rows);
}
#define EXPECT_MOUNTS(site, options, rows) run_and_expect(site, options, rows, ARRAY_SIZE(rows))

/* Folders of the site's: to read, to write, to write over, to put elsewhere. */
static char *make_root_folder(const struct site *s, const char *name) {
        make_folder(s->root, name);
        return path_of(s->root, name);
}

TEST(each_mount_of_a_run_has_just_the_rights_it_needs) {
        static const char *const backings[] = {"disk", "tmpfs"};
        const struct site *s = *state;
        _cleanup_free_ char *read = make_root_folder(s, "read"), *write = make_root_folder(s, "write"),
                            *layer = make_root_folder(s, "layer"),
                            *bind_ro = text_of("%s:/put/ro:ro", s->outside),
                            *bind_rw = text_of("%s:/put/rw:rw", s->outside);
        const struct row rows[] = {EVERY_RUN,
                                   {s->home, "tmpfs", "rw,nosuid,nodev", false},
                                   {s->project, NULL, "rw,nosuid,nodev", false},
                                   {"/tmp", "tmpfs", "rw,nosuid,nodev", false},
                                   {read, NULL, "ro,nosuid,nodev", false},
                                   {write, NULL, "rw,nosuid,nodev", false},
                                   {layer, "overlay", "rw,nosuid,nodev", false},
                                   {"/put/ro", NULL, "ro,nosuid,nodev", false},
                                   {"/put/rw", NULL, "rw,nosuid,nodev", false},
                                   OTHERS};

        for (size_t i = 0; i < ARRAY_SIZE(backings); i++) {
                const char *const options[] = {
                        "--ro",   read,    "--rw",   write,   "--overlay",         layer,
                        "--bind", bind_ro, "--bind", bind_rw, "--overlay-backing", backings[i],
                        NULL};

                EXPECT_MOUNTS(s, options, rows);
        }
}

TEST(a_scratch_folder_at_tmp_has_no_more_than_a_tmpfs) {
        const struct site *s = *state;
        _cleanup_free_ char *scratch = path_of(s->cache, "nsrun/workspace-*/scratch");
        const struct row rows[] = {EVERY_RUN,
                                   {s->home, "tmpfs", "rw,nosuid,nodev", false},
                                   {s->project, NULL, "rw,nosuid,nodev", false},
                                   {"/tmp", NULL, "rw,nosuid,nodev", false},
                                   {scratch, NULL, "rw,nosuid,nodev", false},
                                   OTHERS};

        EXPECT_MOUNTS(s, (OPTIONS("--tmp", "scratch")), rows);
}

/* As systemd leaves every host: what is mounted there would come in, and what a privileged
 * process mounted here would go out. */
static void share_all_mounts(nsrun_unused void *data) {
        stage_enter();
        if (mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL) < 0)
                stage_fail("shared mounts");
}

TEST(no_mount_is_shared_with_a_host_that_shares_its_own) {
        static const char *const show[] = {"cat", "/proc/self/mountinfo", NULL};
        const struct site *s = *state;
        _cleanup_free_ const char **argv = nsrun_argv(s, OPTIONS("--", show[0], show[1]));
        struct request request = {.argv = show, .cwd = s->root, .in_child = share_all_mounts};
        const struct row rows[] = {EVERY_RUN,
                                   {s->home, "tmpfs", "rw,nosuid,nodev", false},
                                   {s->project, NULL, "rw,nosuid,nodev", false},
                                   {"/tmp", NULL, "rw,nosuid,nodev", false},
                                   OTHERS};
        _cleanup_outcome_ struct outcome o = {0};

        run(&request, &o);
        expect_status(&o, 0);
        expect_in(o.out, " shared:");
        outcome_clear(&o);
        request.argv = argv;
        run(&request, &o);
        expect_status(&o, 0);
        expect_rows(o.out, rows, ARRAY_SIZE(rows));
}

/* bubblewrap promises less: devices where --dev-bind names them, and no mounts over /proc. */
TEST(bubblewraps_mounts_have_the_flags_that_it_gives_them) {
        const struct site *s = *state;
        const char *path = getenv("NSRUN_BWRAP");
        const char *const *argv =
                OPTIONS(path && *path ? path : "./nsrun-bwrap", "--ro-bind", "/usr", "/usr", "--symlink",
                        "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64",
                        "/lib64", "--unshare-pid", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/t",
                        "--bind", s->outside, "/b", "--dev-bind", s->outside, "/d", "--ro-bind", s->outside,
                        "/r", "cat", "/proc/self/mountinfo");
        static const struct row rows[] = {{"/", "tmpfs", "rw,nosuid,nodev", false},
                                          {"/usr", NULL, "ro,nosuid,nodev", false},
                                          {"/dev", "tmpfs", "rw,nosuid,nodev", false},
                                          {"/dev/pts", "devpts", "rw,nosuid,noexec", false},
                                          {"/dev/*", NULL, "rw,nosuid", false},
                                          {"/proc", "proc", "rw,nosuid,nodev,noexec", false},
                                          {"/proc/*", NULL, "ro,nosuid,nodev,noexec", true},
                                          {"/t", "tmpfs", "rw,nosuid,nodev", false},
                                          {"/b", NULL, "rw,nosuid,nodev", false},
                                          {"/d", NULL, "rw,nosuid", false},
                                          {"/r", NULL, "ro,nosuid,nodev", false}};
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        expect_status(&o, 0);
        expect_rows(o.out, rows, ARRAY_SIZE(rows));
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where overlays keep what is written when nobody says: toolchains' caches in memory, where there is enough
 * of it, all else on disk; and that whoever fills the memory is told. */
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <sys/xattr.h>

#include "stage.h"

#define IN_MEMORY "overlays    in memory\n"
#define ON_DISK   "overlays    on disk\n"
#define FULL                                                                                     \
        "nsrun: note: the memory for overlays is full, and writes to them may have failed: use " \
        "--overlay-backing=disk\n"

static void make_cache(const struct site *s) {
        _cleanup_free_ char *npm = path_of(s->home, ".npm");

        make_folder(s->home, ".npm");
        make_file(npm, "kept", "as it was\n");
}

static void plan(const struct site *s, void (*stage)(void *), void *data, const char *const *options,
                 struct outcome *ret) {
        _cleanup_free_ const char **argv = words_of(OPTIONS(program(), "plan", "--project", s->project),
                                                    options, OPTIONS("--", "true"));

        outcome_clear(ret);
        run(&(struct request){.argv = argv, .cwd = s->root, .in_child = stage, .data = data}, ret);
        expect_status(ret, 0);
}

/* Caches are in memory where that keeps user attributes (Linux 6.6), */
static void want_attributes(void) {
        _cleanup_close_ int fd = memfd_create("attributes", MFD_CLOEXEC);

        if (fsetxattr(fd, "user.test", "", 0, 0) < 0)
                skip_because("this kernel's memory keeps no attributes");
}

/* and, if nobody names a size, where there is enough of it. */
static void want_memory(void) {
        struct sysinfo machine;

        want_attributes();
        assert_int_equal(sysinfo(&machine), 0);
        if ((uint64_t)machine.totalram * machine.mem_unit < UINT64_C(1) << 32)
                skip_because("this machine has less than 4 GiB of memory");
}

TEST(caches_are_in_memory_and_other_overlays_on_disk) {
        const struct site *s = *state;
        _cleanup_free_ char *npm = path_of(s->home, ".npm");
        const char *const on_disk[][2] = {{"--overlay", s->outside},
                                          {"--overlay", npm},
                                          {"--overlay-backing=disk"},
                                          {"--limit", "memory=3G"}};
        _cleanup_outcome_ struct outcome o = {0};

        want_memory();
        make_cache(s);
        plan(s, NULL, NULL, NO_OPTIONS, &o);
        expect_in(o.out, IN_MEMORY);
        for (size_t i = 0; i < ARRAY_SIZE(on_disk); i++) {
                plan(s, NULL, NULL, OPTIONS(on_disk[i][0], on_disk[i][1]), &o);
                expect_in(o.out, ON_DISK);
        }
        plan(s, NULL, NULL, OPTIONS("--overlay", s->outside, "--overlay-backing=tmpfs"), &o);
        expect_in(o.out, IN_MEMORY);
}

TEST(what_is_written_to_a_cache_in_memory_is_thrown_away) {
        const struct site *s = *state;
        _cleanup_free_ char *npm = path_of(s->home, ".npm");
        _cleanup_outcome_ struct outcome o = {0};
        char *before;

        make_cache(s);
        make_folder(npm, "d");
        before = snapshot(npm);
        RUN(s, &o, "--", "sh", "-c",
            "cd ~/.npm && echo new >kept && rmdir d && mkdir d && mv d e && ls && cat kept && stat -f -c %T .");
        assert_string_equal(o.err, "");
        expect_out(&o, "e\nkept\nnew\noverlayfs\n");
        expect_unchanged(npm, before);
}

/* A machine or a container with so little memory that a build would fill it. */
static void stage_with_bound(void *data) {
        static const char folder[] = "/sys/fs/cgroup";
        const char *text = data;

        stage_enter();
        stage_tmpfs(folder, 0);
        make_file(folder, "memory.max", text);
        make_folder(folder, "memory");
        make_file("/sys/fs/cgroup/memory", "memory.limit_in_bytes", text);
}

TEST(little_memory_keeps_caches_on_disk) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        want_memory();
        make_cache(s);
        plan(s, stage_with_bound, (char[]){"max\n"}, NO_OPTIONS, &o);
        expect_in(o.out, IN_MEMORY);
        plan(s, stage_with_bound, (char[]){"4294967295\n"}, NO_OPTIONS, &o);
        expect_in(o.out, ON_DISK);
        plan(s, stage_with_bound, (char[]){"4294967296\n"}, NO_OPTIONS, &o);
        expect_in(o.out, IN_MEMORY);
}

TEST(a_size_that_is_asked_for_bounds_caches_in_memory) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        want_attributes();
        make_cache(s);
        plan(s, stage_with_bound, (char[]){"1000000\n"}, OPTIONS("--tmpfs-size=8M"), &o);
        expect_in(o.out, IN_MEMORY);
        RUN(s, &o, "--tmpfs-size=8M", "--", "sh", "-c", "df -k --output=size ~/.npm");
        expect_in(o.out, "8192\n");
}

TEST(full_memory_is_told) {
        const struct site *s = *state;
        static const char fill[] = "head -c 9M /dev/zero >~/.npm/x",
                          fits[] = "head -c 7M /dev/zero >~/.npm/x";
        _cleanup_outcome_ struct outcome o = {0};

        want_attributes();
        make_cache(s);
        RUN(s, &o, "--tmpfs-size=8M", "--", "sh", "-c", fill);
        expect_status(&o, 1);
        expect_in(o.err, "No space left on device\n");
        expect_in(o.err, FULL);
        RUN(s, &o, "--tmpfs-size=8M", "--", "sh", "-c", fits);
        assert_string_equal(o.err, "");
        expect_status(&o, 0);
        outcome_clear(&o);
        /* As the note says. */
        RUN(s, &o, "--tmpfs-size=8M", "--overlay-backing=disk", "--", "sh", "-c", fill);
        assert_string_equal(o.err, "");
        expect_status(&o, 0);
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which cgroups nsrun takes for --limit and which it leaves as they are, on a cgroup of plain files: few
 * test machines have a real one with other processes in it.  Its folders get no files by themselves, so that
 * no run gets further than to making one. */
#include "stage.h"

/* A folder of plain files that looks like the cgroup of this process. */
static void stage_cgroup(void *data) {
        const struct site *s = data;
        _cleanup_free_ char *mountinfo = path_of(s->root, "mountinfo"), *cgroup = path_of(s->root, "cgroup");

        stage_enter();
        stage_bind(s->outside, "/sys/fs/cgroup");
        stage_bind(mountinfo, "/proc/self/mountinfo");
        stage_bind(cgroup, "/proc/self/cgroup");
}

static void make_cgroup(const struct site *s, const char *type, const char *processes) {
        make_file(s->root, "mountinfo", "29 23 0:26 / /sys/fs/cgroup rw - cgroup2 c rw\n");
        make_file(s->root, "cgroup", "0::/\n");
        make_file(s->outside, "cgroup.type", type);
        make_file(s->outside, "cgroup.controllers", "cpu memory pids\n");
        make_file(s->outside, "cgroup.subtree_control", "");
        make_file(s->outside, "cgroup.procs", processes);
}

static void run_in_cgroup(const struct site *s, struct outcome *o, const char *limit) {
        const char *const argv[] = {program(), "run", "--project", s->project, "--proc=none",
                                    "--limit", limit, "true",      NULL};

        outcome_clear(o);
        run(&(struct request){.argv = argv, .cwd = s->root, .in_child = stage_cgroup, .data = (void *)s}, o);
}

/* The kernel would let pids and cpu be enabled there, and then no process into the cgroup that is made. */
TEST(a_cgroup_with_other_processes_is_left_as_it_is) {
        const struct site *s = *state;
        _cleanup_free_ char *control = path_of(s->outside, "cgroup.subtree_control"), *text = NULL;
        const char *hint = access("/run/systemd/system", F_OK) < 0
                                   ? "move them to a child of it: cd there; mkdir all; for p in $(cat "
                                     "cgroup.procs); do echo $p >all/cgroup.procs; done"
                           : geteuid() == 0
                                   ? "systemd-run --scope -p Delegate=yes nsrun ... gives one"
                                   : "systemd-run --user --scope -p Delegate=yes nsrun ... gives one";
        _cleanup_free_ char *line =
                text_of("nsrun: --limit cpu: no cgroup can be made, as other processes are in the one above "
                        "it: /sys/fs/cgroup; %s",
                        hint);
        _cleanup_outcome_ struct outcome o = {0};

        make_cgroup(s, "domain\n", "1\n2\n");
        run_in_cgroup(s, &o, "cpu=0.5");
        expect_host_refusal(&o, 125, line);
        text = file_text(control);
        assert_string_equal(text, "");
        /* What the kernel calls a cgroup with processes and such children. */
        make_file(s->outside, "cgroup.subtree_control", "cpu pids\n");
        make_file(s->outside, "cgroup.type", "domain threaded\n");
        run_in_cgroup(s, &o, "cpu=0.5");
        expect_host_refusal(&o, 125, line);
}

TEST(a_host_without_cgroups_is_named) {
        const struct site *s = *state;
        _cleanup_free_ char *mountinfo = path_of(s->root, "mountinfo");
        _cleanup_outcome_ struct outcome o = {0};

        make_cgroup(s, "domain\n", "");
        assert_int_equal(unlink(mountinfo), 0);
        make_file(s->root, "mountinfo", "29 23 0:26 / /sys rw - sysfs sysfs rw\n");
        run_in_cgroup(s, &o, "cpu=0.5");
        expect_host_refusal(&o, 125,
                            "nsrun: --limit cpu: no cgroup2 file system is mounted that shows this process; "
                            "sudo mount -t cgroup2 none /sys/fs/cgroup");
}

/* Whom neither systemd-run nor a boot parameter helps at once is told what does, the same by doctor. */
TEST(a_hybrid_host_is_told_what_bounds_there) {
        static const char *const limits[] = {"memory=1G", "cpu=0.5"};
        const struct site *s = *state;
        _cleanup_free_ char *fix = text_of("boot with %s", access("/run/systemd/system", F_OK) < 0
                                                                   ? "cgroup_no_v1=all"
                                                                   : "systemd.unified_cgroup_hierarchy=1");
        _cleanup_outcome_ struct outcome o = {0}, by_itself = {0};

        make_cgroup(s, "domain\n", "");
        make_file(s->outside, "cgroup.controllers", "hugetlb\n");
        make_file(s->root, "cgroup", "4:memory:/x\n3:cpu,cpuacct:/\n0::/\n");
        for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
                _cleanup_free_ char *line = text_of(
                        "nsrun: --limit %s: no cgroup can be made that has the controllers: /sys/fs/cgroup; this "
                        "machine has cgroup v1, with which nsrun bounds nothing: %s%s",
                        i == 0 ? "memory" : "cpu",
                        i == 0 ? "--limit data=SIZE bounds each process, or " : "", fix);

                run_in_cgroup(s, &o, limits[i]);
                expect_host_refusal(&o, 125, line);
        }
        /* The advice, followed. */
        RUN(s, &by_itself, "--limit", "data=60M", "--", "python3", "-c", "x = b'x' * 100000000");
        assert_int_equal(by_itself.status, 1);
        expect_in(by_itself.err, "MemoryError");
}

TEST(a_cgroup_without_controllers_is_named) {
        const struct site *s = *state;
        _cleanup_free_ char *controllers = path_of(s->outside, "cgroup.controllers");
        _cleanup_free_ char *line = text_of(
                "nsrun: --limit cpu: no cgroup can be made that has the controllers: /sys/fs/cgroup; %s",
                access("/run/systemd/system", F_OK) < 0
                        ? "without systemd it takes a cgroup that nsrun's user may write, with the controllers in "
                          "the cgroup.subtree_control above it"
                : geteuid() == 0 ? "systemd-run --scope -p Delegate=yes nsrun ... gives one"
                                 : "systemd-run --user --scope -p Delegate=yes nsrun ... gives one");
        _cleanup_outcome_ struct outcome o = {0};

        make_cgroup(s, "domain\n", "");
        assert_int_equal(unlink(controllers), 0);
        make_file(s->outside, "cgroup.controllers", "memory pids\n");
        run_in_cgroup(s, &o, "cpu=0.5");
        expect_host_refusal(&o, 125, line);
        /* With the controller it gets further. */
        assert_int_equal(unlink(controllers), 0);
        make_file(s->outside, "cgroup.controllers", "cpu memory pids\n");
        run_in_cgroup(s, &o, "cpu=0.5");
        expect_refusal(&o, 125, "nsrun: a cgroup can't be made: /sys/fs/cgroup: No such file or directory");
}

TEST(what_was_enabled_in_a_cgroup_is_disabled_again) {
        const struct site *s = *state;
        _cleanup_free_ char *control = path_of(s->outside, "cgroup.subtree_control"), *text = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        make_cgroup(s, "domain\n", "");
        run_in_cgroup(s, &o, "cpu=0.5");
        /* No kernel makes files in the new folder. */
        expect_refusal(&o, 125, "nsrun: a cgroup can't be made: /sys/fs/cgroup: No such file or directory");
        text = file_text(control);
        assert_string_equal(text, "-cpu");
}

TEST(controllers_that_others_use_stay_enabled) {
        const struct site *s = *state;
        _cleanup_free_ char *control = path_of(s->outside, "cgroup.subtree_control"),
                            *other = path_of(s->outside, "other"), *text = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        make_cgroup(s, "domain\n", "");
        make_folder(s->outside, "other");
        make_file(other, "cpu.max", "50000 100000\n");
        run_in_cgroup(s, &o, "cpu=0.5");
        expect_status(&o, 125);
        text = file_text(control);
        assert_string_equal(text, "+cpu");
}

int main(void) {
        return run_all_tests();
}

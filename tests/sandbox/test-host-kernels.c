/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kernels that lack a part, security modules, chroots, and hosts without a root file system: each refusal
 * names it, and what its words advise helps. */
#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "host.h"

/* As run_on() without a stage, on a kernel that answers a mount so (deny.c). */
static void run_on_kernel(const struct site *s, int error, const char *mount, const char *const *options,
                          const char *script, struct outcome *ret) {
        _cleanup_free_ char *deny = helper_path("deny"), *number = text_of("%d", error);
        _cleanup_free_ const char **argv =
                words_of(OPTIONS(deny, number, mount, program(), "run", "--project", s->project), options,
                         OPTIONS("--", "sh", "-c", script));

        outcome_clear(ret);
        run(&(struct request){.argv = argv, .cwd = s->root}, ret);
}

/* An overlay that is asked for is refused in these words, in memory and on disk; --ro and another kernel's
 * answer help; a default cache is read-only instead. */
static void expect_no_overlays(const struct site *s, int error, const char *words) {
        _cleanup_free_ char
                *layered = path_of(s->root, "layered"),
                *npm = path_of(s->home, ".npm"), *line = replaced(words, "%s", layered),
                *note = text_of("nsrun: note: no overlay can be had for this cache: it is read-only: %s\n",
                                npm);
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->root, "layered");
        run_on_kernel(s, error, "mount:overlay", OPTIONS("--overlay", layered), "echo fine", &o);
        expect_host_refusal(&o, 125, line);
        run_on_kernel(s, error, "mount:overlay", OPTIONS("--overlay", layered, "--overlay-backing=tmpfs"),
                      "echo fine", &o);
        expect_host_refusal(&o, 125, line);
        run_on_kernel(s, error, "mount:overlay", OPTIONS("--ro", layered), "echo fine", &o);
        expect_fine(&o);
        run_on_kernel(s, error, "mount:another", OPTIONS("--overlay", layered), "echo fine", &o);
        expect_fine(&o);
        make_folder(s->home, ".npm");
        run_on_kernel(s, error, "mount:overlay", NO_OPTIONS, "! touch ~/.npm/x 2>/dev/null && echo fine",
                      &o);
        expect_status(&o, 0);
        expect_out(&o, "fine\n");
        assert_string_equal(o.err, note);
}

TEST(a_kernel_without_overlays_is_named) {
        expect_no_overlays(*state, ENODEV,
                           "nsrun: the kernel has no overlayfs: %s: No such device; load the module: "
                           "sudo modprobe overlay (CONFIG_OVERLAY_FS)");
}

TEST(a_kernel_that_refuses_overlays_is_named) {
        expect_no_overlays(*state, EPERM,
                           "nsrun: the kernel refuses overlays in a user namespace: %s: Operation not "
                           "permitted; Linux before 5.11 does, or AppArmor or SELinux (see the kernel log): "
                           "use --ro or --rw for this folder, which takes the overlay's place");
}

/* subset=pid is of Linux 5.8. */
TEST(a_kernel_without_the_option_subset_is_named) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        run_on_kernel(s, EINVAL, "mount:proc:subset=pid", OPTIONS("--proc=subset"), "echo fine", &o);
        expect_host_refusal(&o, 125,
                            "nsrun: /proc can't be mounted: /proc: Invalid argument; subset=pid needs Linux "
                            "5.8: choose --proc=new, or --proc=auto");
        for (size_t i = 0; i < 2; i++) {
                run_on_kernel(s, EINVAL, "mount:proc:subset=pid", OPTIONS(i ? "--proc=new" : "--proc=auto"),
                              "echo fine", &o);
                expect_fine(&o);
        }
        run_on_kernel(s, EINVAL, "mount:proc:hidepid", OPTIONS("--proc=subset"), "echo fine", &o);
        expect_fine(&o);
}

/* Whoever has rules of Landlock about files mounts nothing, in no namespace. */
static void stage_landlock(nsrun_unused void *data) {
        struct landlock_ruleset_attr rules = {.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_BLOCK};
        int fd = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0);

        if (fd < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
            syscall(SYS_landlock_restrict_self, fd, 0) < 0)
                stage_fail("Landlock");
}

static void stage_selinux(void *data) {
        const struct host *host = data;

        stage_enter();
        stage_tmpfs("/sys/fs", 0);
        make_folder("/sys/fs", "selinux");
        stage_make_file("/sys/fs/selinux/enforce", host->text);
}

TEST(selinux_that_refuses_namespaces_is_named) {
        const struct site *s = *state;
        _cleanup_free_ char *deny = helper_path("deny"), *number = text_of("%d", EACCES);
        const char *const argv[] = {deny,       number, "clone-newuser", program(), "run", "--project",
                                    s->project, "--",   "true",          NULL};
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = argv, .in_child = stage_selinux, .data = &(struct host){.text = "1"}},
            &o);
        expect_host_refusal(&o, 125,
                            "nsrun: SELinux lets this user make no user namespace: /proc/self/attr/current: "
                            "Permission denied; load the module of its policy that nsrun doctor names "
                            "(nsrun-hosts(7), SELINUX)");
        outcome_clear(&o);
        /* Permissive, it is another's refusal. */
        run(&(struct request){.argv = argv, .in_child = stage_selinux, .data = &(struct host){.text = "0"}},
            &o);
        expect_status(&o, 125);
        expect_in(o.err, "a seccomp filter, as containers");
}

TEST(a_module_that_refuses_mounts_is_named) {
        static const char line[] =
                "nsrun: a security module lets user namespaces be made but not used: Operation not permitted; "
                "Landlock, AppArmor or SELinux confines this program: run nsrun outside of what was confined "
                "by Landlock; what the others refused is in the kernel log (nsrun-hosts(7), APPARMOR)";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        if (syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) < 0)
                skip_because("this kernel has no Landlock");
        run_on(s, stage_landlock, &(struct host){0}, NULL, NO_OPTIONS, "echo fine", &o);
        expect_host_refusal(&o, 125, line);
        run_on(s, stage_plain, &(struct host){0}, NULL, NO_OPTIONS, "echo fine", &o);
        expect_fine(&o);
}

/* Root's own namespaces, which nothing locks. */
static void stage_as_root(void) {
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                stage_fail("a mount namespace");
}

static void stage_root_without_proc(void *data) {
        const struct host *host = data;

        stage_as_root();
        if (host->text)
                stage_tmpfs("/proc", 0);
}

/* As where a distribution lets programs be executed alone.  root may read all. */
TEST_IF(geteuid() != 0, a_program_that_cant_be_read_is_named, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *copy = path_of(s->root, "nsrun");
        const char *const copying[] = {"cp", "--", program(), copy, NULL}, *const argv[] = {
                                                                                   copy,        "run",
                                                                                   "--project", s->project,
                                                                                   "--",        "echo",
                                                                                   "fine",      NULL};
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = copying}, &o);
        expect_status(&o, 0);
        outcome_clear(&o);
        /* The leak check, too, needs a process that is dumpable. */
        assert_int_equal(setenv("LSAN_OPTIONS", "detect_leaks=0", 1), 0);
        assert_int_equal(chmod(copy, 0111), 0);
        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        expect_host_refusal(
                &o, 125,
                "nsrun: the id map can't be written by a process that isn't dumpable: "
                "/proc/self/setgroups: Permission denied; let nsrun's file be read by who executes "
                "it: sudo chmod a+r \"$(command -v nsrun)\"");
        outcome_clear(&o);
        assert_int_equal(chmod(copy, 0555), 0);
        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        assert_int_equal(unsetenv("LSAN_OPTIONS"), 0);
        expect_status(&o, 0);
        expect_out(&o, "fine\n");
}

/* Without --unshare-user no id map is written for root. */
TEST_IF(geteuid() == 0 && !IS_SANITIZED, a_root_without_proc_is_refused, site_setup, site_teardown) {
        const struct site *s = *state;
        const char *bwrap = getenv("NSRUN_BWRAP");
        const char *const argv[] = {
                bwrap && *bwrap ? bwrap : "./nsrun-bwrap", "--ro-bind", "/", "/", "echo", "fine", NULL};
        struct host host = {.text = NULL};
        _cleanup_outcome_ struct outcome o = {0};

        run(
                &(struct request){
                        .argv = argv, .cwd = s->root, .in_child = stage_root_without_proc, .data = &host},
                &o);
        expect_fine(&o);
        host.text = "none";
        outcome_clear(&o);
        run(
                &(struct request){
                        .argv = argv, .cwd = s->root, .in_child = stage_root_without_proc, .data = &host},
                &o);
        expect_status(&o, 1);
        expect_out(&o, "");
        assert_string_equal(o.err, "bwrap: the host's /proc can't be opened /proc/self/fd: No such file or "
                                   "directory\n");
}

/* The kernel's first file system becomes the root, as on a host that never left its initramfs; what was the
 * root is mounted in a folder there.  With a text it is made the root again, as the refusal's words advise.
 */
#define BELOW_FIRST "/nsrun-test"

static void enter_first(void) {
        int own;

        stage_as_root();
        own = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
        /* Joining one's own namespace leads to the lowest root that is left. */
        if (own < 0 || umount2("/", MNT_DETACH) < 0 || setns(own, CLONE_NEWNS) < 0)
                stage_fail("the first file system");
}

static void stage_initramfs(void *data) {
        const struct host *host = data;
        _cleanup_free_ char *home = text_of(BELOW_FIRST "%s", host->site->home);
        int tree = (int)syscall(SYS_open_tree, AT_FDCWD, "/",
                                OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);

        enter_first();
        if ((mkdir(BELOW_FIRST, 0755) < 0 && errno != EEXIST) ||
            (mkdir("/proc", 0755) < 0 && errno != EEXIST) ||
            syscall(SYS_move_mount, tree, "", AT_FDCWD, BELOW_FIRST, MOVE_MOUNT_F_EMPTY_PATH) < 0 ||
            mount("proc", "/proc", "proc", 0, NULL) < 0)
                stage_fail(BELOW_FIRST);
        if (!host->text)
                (void)setenv("HOME", home, 1);
        else if (chdir(BELOW_FIRST) < 0 || mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0)
                stage_fail("the root again");
}

/* The folder lies below everybody's root, where nobody else sees it. */
static void remove_below_first(void) {
        pid_t pid = fork();
        int status;

        assert_true(pid >= 0);
        if (pid == 0) {
                enter_first();
                _exit(rmdir(BELOW_FIRST) < 0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
}

TEST_IF(geteuid() == 0 && !IS_SANITIZED, a_host_that_runs_from_its_initramfs_is_named, site_setup,
        site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *nsrun = realpath(program(), NULL), *there = text_of(BELOW_FIRST "%s", nsrun),
                            *project = text_of(BELOW_FIRST "%s", s->project);
        const char *argv[] = {there, "run", "--project", project, "--", "echo", "fine", NULL};
        struct host host = {.site = s};
        struct request request = {.argv = argv, .cwd = s->root, .in_child = stage_initramfs, .data = &host};
        _cleanup_outcome_ struct outcome o = {0};

        run(&request, &o);
        remove_below_first();
        if (o.status == 122)
                skip_because("nsrun isn't static, and its loader isn't below that root");
        expect_host_refusal(
                &o, 125,
                "nsrun: pivot_root to the sandbox's root failed: /: Invalid argument; the host runs from its "
                "initramfs: switch_root to another file system; or, as root, make a mount the root: mount "
                "--rbind / /mnt && cd /mnt && mount --move . / && exec chroot . sh");
        host.text = "mended";
        argv[0] = nsrun;
        argv[3] = s->project;
        outcome_clear(&o);
        run(&request, &o);
        remove_below_first();
        expect_fine(&o);
}

/* As chroot(8) is started by a shell that stays outside. */
static void stage_chroot_of_a_child(void *data) {
        const struct host *host = data;
        int status = 0;
        pid_t pid;

        stage_enter();
        if (mount("/", host->folder, NULL, MS_BIND | MS_REC, NULL) < 0 || (pid = fork()) < 0)
                stage_fail("a child");
        if (pid > 0) {
                (void)waitpid(pid, &status, 0);
                _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
        }
        if (chroot(host->folder) < 0 || chdir("/") < 0)
                stage_fail("chroot");
}

TEST(a_chroot_to_a_mount_is_named_if_a_process_outside_shows_it) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        run_on(s, stage_chroot_of_a_child, &(struct host){.folder = s->outside}, NULL, NO_OPTIONS,
               "echo fine", &o);
        expect_host_refusal(
                &o, 125,
                "nsrun: nsrun is in a chroot, where the kernel lets nobody make user namespaces: "
                "Operation not permitted; enter the folder another way: bwrap --bind FOLDER / --dev "
                "/dev --proc /proc, or systemd-nspawn -D FOLDER");
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hosts that don't give a sandbox what it needs: namespaces switched off, a
 * container's filter, a masked /proc, no /dev/null.  Each
 * refusal in its exact words, beside the same run on the same stage without the
 * obstacle. */
#include <dirent.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "host.h"

static const char masked_line[] =
        "nsrun: a new /proc can't be mounted: /proc: Operation not permitted; a container masks parts of "
        "/proc: start it with an unmasked one (podman: --security-opt unmask=ALL, docker: --security-opt "
        "systempaths=unconfined, Kubernetes: procMount: Unmasked), or choose --proc=bind (which shows "
        "the host's processes) or --proc=none";

/* ---------------------------------------------------------- namespaces refused */

static void expect_no_process(const struct site *s, int error, const char *line) {
        _cleanup_free_ char *deny = helper_path("deny"), *number = text_of("%d", error);
        const char *const argv[] = {deny,       number, "clone-newuser", program(), "run", "--project",
                                    s->project, "--",   "true",          NULL};
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        expect_host_refusal(&o, 125, line);
        outcome_clear(&o);
        run(&(struct request){.argv = argv + 3, .cwd = s->root}, &o);
        expect_status(&o, 0);
}

/* As the kernel answers where a cgroup allows no further process: the user has fewer than RLIMIT_NPROC. */
TEST(no_room_in_a_cgroup_is_named) {
        expect_no_process(*state, EAGAIN,
                          "nsrun: no process for the sandbox can be made: Resource temporarily unavailable; "
                          "raise the cgroup's limit of processes, pids.max (docker, podman: --pids-limit; "
                          "systemd: TasksMax=; the kernel's own is kernel.pid_max)");
}

TEST(no_memory_for_a_process_is_named) {
        expect_no_process(
                *state, ENOMEM,
                "nsrun: no process for the sandbox can be made: Cannot allocate memory; end programs "
                "that hold memory, or raise the cgroup's memory.max (docker, podman: --memory; systemd: "
                "MemoryMax=); vm.overcommit_memory=2 refuses early");
}

static void stage_one_process(void *data) {
        const struct host *host = data;
        struct rlimit one;

        if (getrlimit(RLIMIT_NPROC, &one) < 0)
                stage_fail("getrlimit");
        /* A sanitizer looks for leaks by a process of its own. */
        if (setenv("LSAN_OPTIONS", "detect_leaks=0", 1) < 0)
                stage_fail("setenv");
        one.rlim_cur = 1;
        if (host->text)
                one.rlim_max = 1;
        stage_enter();
        if (setrlimit(RLIMIT_NPROC, &one) < 0)
                stage_fail("RLIMIT_NPROC");
}

/* Root's processes aren't counted. */
TEST_IF(geteuid() != 0, no_room_for_a_process_is_named, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        run_on(s, stage_one_process, &(struct host){0}, NULL, NO_OPTIONS, "echo fine", &o);
        expect_host_refusal(
                &o, 125,
                "nsrun: no process for the sandbox can be made: Resource temporarily "
                "unavailable; raise the limit of processes (ulimit -u 4096; in dash: ulimit -p 4096)");
        run_on(s, stage_one_process, &(struct host){.text = "hard"}, NULL, NO_OPTIONS, "echo fine", &o);
        expect_host_refusal(
                &o, 125,
                "nsrun: no process for the sandbox can be made: Resource temporarily "
                "unavailable; the hard limit of processes is too low, and root alone raises it: "
                "limits.conf(5), a service's LimitNPROC=, docker's and podman's --ulimit nproc=1024");
}

static void stage_limited(void *data) {
        const struct host *host = data;

        stage_enter();
        stage_write(host->path, "0");
}

TEST(a_limit_of_no_namespaces_is_named) {
        static const struct {
                const char *kind, *name;
        } kinds[] = {{"user", "user"}, {"mnt", "mount"}, {"pid", "pid"},
                     {"ipc", "ipc"},   {"uts", "uts"},   {"net", "network"}};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        run_on(s, stage_plain, &(struct host){0}, NULL, OPTIONS("--net=none"), "echo fine", &o);
        expect_fine(&o);
        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
                _cleanup_free_ char *path = text_of("/proc/sys/user/max_%s_namespaces", kinds[i].kind);
                _cleanup_free_ char *line =
                        text_of("nsrun: %s namespaces are switched off: %s: No space left on device; sudo "
                                "sysctl -w user.max_%s_namespaces=15000",
                                kinds[i].name, path, kinds[i].kind);

                run_on(s, stage_limited, &(struct host){.path = path}, NULL, OPTIONS("--net=none"),
                       "echo fine", &o);
                expect_host_refusal(&o, 125, line);
        }
}

/* The sandbox itself allows none below it, and nsrun in nsrun shall work. */
TEST(a_host_without_cgroup_namespaces_will_do) {
        struct host host = {.path = "/proc/sys/user/max_cgroup_namespaces"};
        _cleanup_outcome_ struct outcome o = {0};

        run_on(*state, stage_limited, &host, NULL, NO_OPTIONS, "echo fine", &o);
        expect_fine(&o);
}

static void stage_few(void *data) {
        const struct host *host = data;

        stage_enter();
        stage_write(host->path, "1");
}

/* stage_enter() has made one of each. */
TEST(a_limit_of_few_namespaces_is_named) {
        static const struct host few = {.path = "/proc/sys/user/max_mnt_namespaces"};
        struct host host = few;
        _cleanup_outcome_ struct outcome o = {0};

        run_on(*state, stage_few, &host, NULL, NO_OPTIONS, "echo fine", &o);
        expect_host_refusal(
                &o, 125,
                "nsrun: the limit of namespaces is reached: /proc/sys/user/max_mnt_namespaces: No "
                "space left on device; sudo sysctl -w user.max_mnt_namespaces=15000");
        host.path = "/proc/sys/user/max_net_namespaces";
        run_on(*state, stage_few, &host, NULL, NO_OPTIONS, "echo fine", &o);
        expect_fine(&o);
}

static void stage_deep(nsrun_unused void *data) {
        while (stage_nest())
                ;
}

TEST(a_nesting_too_deep_is_named) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        run_on(s, stage_deep, &(struct host){0}, NULL, NO_OPTIONS, "echo fine", &o);
        expect_host_refusal(
                &o, 125,
                "nsrun: a namespace around this one allows no further namespaces (32 levels are the kernel's own "
                "end): No space left on device; run nsrun outside of it, or start it without bwrap's "
                "--disable-userns and the like: nothing inside can raise the limit");
}

/* Its masks come with its filter. */
static void stage_docker(nsrun_unused void *data) {
        stage_enter();
        stage_bind("/dev/null", "/proc/interrupts");
}

TEST(a_filter_that_refuses_namespaces_is_named) {
        const struct site *s = *state;
        _cleanup_free_ char *line = strdup("nsrun: " FILTER_REFUSES_NAMESPACES),
                            *both = strdup("nsrun: " FILTER_REFUSES_NAMESPACES MASKED_TOO);
        _cleanup_outcome_ struct outcome o = {0};

        run_on(s, NULL, &(struct host){0}, "clone-newuser", NO_OPTIONS, "echo fine", &o);
        expect_host_refusal(&o, 125, line);
        run_on(s, NULL, &(struct host){0}, "clone3", NO_OPTIONS, "echo fine", &o);
        expect_fine(&o);
        run_on(s, stage_docker, &(struct host){0}, "clone-newuser", NO_OPTIONS, "echo fine", &o);
        expect_host_refusal(&o, 125, both);
}

TEST(a_filter_that_refuses_mounts_is_named) {
        const struct site *s = *state;
        _cleanup_free_ char *line = strdup("nsrun: " FILTER_REFUSES_MOUNTS);
        _cleanup_outcome_ struct outcome o = {0};

        run_on(s, NULL, &(struct host){0}, "mount", NO_OPTIONS, "echo fine", &o);
        expect_host_refusal(&o, 125, line);
}

static void stage_limit(void *data) {
        const struct host *host = data;
        bool is_stack = streq(host->text, "stack");
        struct rlimit limit = {.rlim_cur = is_stack ? 40960 : 0, .rlim_max = RLIM_INFINITY};

        if (getrlimit(is_stack ? RLIMIT_STACK : RLIMIT_FSIZE, &limit) < 0)
                stage_fail("getrlimit");
        limit.rlim_cur = is_stack ? 40960 : 0;
        if (setrlimit(is_stack ? RLIMIT_STACK : RLIMIT_FSIZE, &limit) < 0)
                stage_fail("setrlimit");
}

TEST_IF(!IS_SANITIZED, a_limit_that_nsrun_cant_run_with_is_named, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        run_on(s, stage_limit, &(struct host){.text = "stack"}, NULL, NO_OPTIONS, "echo fine", &o);
        expect_refusal(&o, 125,
                       "nsrun: the limit of the stack is too small for nsrun; ulimit -s 256, or more");
        run_on(s, stage_limit, &(struct host){.text = "file size"}, NULL, NO_OPTIONS, "echo fine", &o);
        expect_status(&o, 125);
        expect_in(o.err, "File too large; raise the limit of files' sizes (ulimit -f unlimited)\n");
}

static void stage_noexec(void *data) {
        const struct host *host = data;
        _cleanup_free_ char *script = path_of(host->site->project, "script");

        stage_enter();
        stage_tmpfs(host->site->project, host->path ? MS_NOEXEC : 0);
        stage_make_file(script, "#!/bin/sh\necho fine\n");
        if (chmod(script, 0755) < 0)
                stage_fail(script);
}

TEST(a_project_that_is_mounted_noexec_is_named) {
        const struct site *s = *state;
        const char *const argv[] = {program(), "run", "--project", s->project, "--", "./script", NULL};
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = argv, .in_child = stage_noexec, .data = &(struct host){.site = s}},
            &o);
        expect_fine(&o);
        outcome_clear(&o);
        run(&(struct request){.argv = argv,
                              .in_child = stage_noexec,
                              .data = &(struct host){.site = s, .path = "noexec"}},
            &o);
        expect_refusal(
                &o, 126,
                "nsrun: command not executable: ./script: Permission denied; its file system is mounted "
                "noexec: name its interpreter as the command (sh FILE), or mount -o remount,exec");
}

static void stage_kernel_file(void *data) {
        const struct host *host = data;

        stage_enter();
        stage_tmpfs("/proc/sys/kernel", 0);
        stage_make_file(host->path, host->text);
}

TEST(debians_switch_is_named) {
        const struct site *s = *state;
        struct host off = {.path = "/proc/sys/kernel/unprivileged_userns_clone", .text = "0\n"};
        struct host on = {.path = off.path, .text = "1\n"};
        _cleanup_free_ char *other = strdup("nsrun: " FILTER_REFUSES_NAMESPACES MASKED_TOO);
        _cleanup_outcome_ struct outcome o = {0};

        run_on(s, stage_kernel_file, &off, "clone-newuser", NO_OPTIONS, "echo fine", &o);
        expect_host_refusal(
                &o, 125,
                "nsrun: user namespaces are switched off for ordinary users: "
                "/proc/sys/kernel/unprivileged_userns_clone: Operation not permitted; sudo sysctl -w "
                "kernel.unprivileged_userns_clone=1");
        run_on(s, stage_kernel_file, &on, "clone-newuser", NO_OPTIONS, "echo fine", &o);
        expect_host_refusal(&o, 125, other);
}

/* Ubuntu lets the namespaces be made and then refuses the mounts in them. */
TEST(apparmors_switch_is_named) {
        const struct site *s = *state;
        struct host on = {.path = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", .text = "1\n"};
        struct host off = {.path = on.path, .text = "0\n"};
        _cleanup_free_ char *other = strdup("nsrun: " FILTER_REFUSES_MOUNTS MASKED_TOO),
                            *filter = strdup("nsrun: " FILTER_REFUSES_NAMESPACES MASKED_TOO);
        _cleanup_outcome_ struct outcome o = {0};

        run_on(s, stage_kernel_file, &on, "mount", NO_OPTIONS, "echo fine", &o);
        expect_host_refusal(
                &o, 125,
                "nsrun: AppArmor restricts user namespaces to programs with a profile: "
                "/proc/sys/kernel/apparmor_restrict_unprivileged_userns: Operation not permitted; give "
                "nsrun a profile that allows userns (nsrun-hosts(7), APPARMOR), or: sudo sysctl -w "
                "kernel.apparmor_restrict_unprivileged_userns=0");
        run_on(s, stage_kernel_file, &off, "mount", NO_OPTIONS, "echo fine", &o);
        expect_host_refusal(&o, 125, other);
        /* In a container on Ubuntu its filter comes first. */
        run_on(s, stage_kernel_file, &on, "clone-newuser", NO_OPTIONS, "echo fine", &o);
        expect_host_refusal(&o, 125, filter);
}

static void stage_chroot(void *data) {
        const struct host *host = data;

        stage_enter();
        if (mount("/", host->folder, NULL, MS_BIND | MS_REC, NULL) < 0 || chroot(host->folder) < 0 ||
            chdir("/") < 0)
                stage_fail("chroot");
}

TEST(a_chroot_is_among_the_reasons) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        run_on(s, stage_chroot, &(struct host){.folder = s->outside}, NULL, NO_OPTIONS, "echo fine", &o);
        expect_host_refusal(
                &o, 125,
                "nsrun: the kernel refuses the new namespaces: Operation not permitted; a chroot, a "
                "security module or a kernel setting forbids them here");
}

/* As debootstrap's are: what is in the root folder is mounted in a folder that is none itself, unless it is
 * `path`.  Without the folder `text`. */
static void stage_chroot_without_mount(void *data) {
        const struct host *host = data;
        _cleanup_free_ char *root = host->path ? strdup(host->path) : path_of(host->folder, "root");
        DIR *dir = opendir("/");

        stage_enter();
        stage_tmpfs(host->folder, 0);
        if (!host->path)
                make_folder(host->folder, "root");
        for (const struct dirent *entry; dir && (entry = readdir(dir));) {
                _cleanup_free_ char *from = path_of("/", entry->d_name), *to = path_of(root, entry->d_name);
                char text[256] = "";

                if (entry->d_type == DT_LNK && readlink(from, text, sizeof(text) - 1) > 0) {
                        make_link(root, entry->d_name, text);
                } else if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
                           !(host->text && streq(entry->d_name, host->text))) {
                        make_folder(root, entry->d_name);
                        if (mount(from, to, NULL, MS_BIND | MS_REC, NULL) < 0)
                                stage_fail(from);
                }
        }
        if (!dir || closedir(dir) < 0 || chroot(root) < 0 || chdir("/") < 0)
                stage_fail("chroot");
}

/* Sanitizers need a /proc. */
TEST_IF(!IS_SANITIZED, a_chroot_is_named, site_setup, site_teardown) {
        static const char *const without[] = {NULL, "proc"};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(without); i++) {
                run_on(s, stage_chroot_without_mount,
                       &(struct host){.folder = s->outside, .text = without[i]}, NULL, NO_OPTIONS,
                       "echo fine", &o);
                expect_host_refusal(
                        &o, 125,
                        "nsrun: nsrun is in a chroot, where the kernel lets nobody make user namespaces: "
                        "Operation not permitted; enter the folder another way: bwrap --bind FOLDER / --dev "
                        "/dev --proc /proc, or systemd-nspawn -D FOLDER");
        }
        /* Here nothing but a /proc would tell. */
        run_on(s, stage_chroot_without_mount,
               &(struct host){.folder = s->outside, .path = s->outside, .text = "proc"}, NULL, NO_OPTIONS,
               "echo fine", &o);
        expect_host_refusal(
                &o, 125,
                "nsrun: the kernel refuses the new namespaces, and no /proc is mounted that tells why: "
                "Operation not permitted; sudo mount -t proc proc /proc");
}

static void stage_without_kinds(void *data) {
        const struct host *host = data;

        stage_enter();
        stage_bind(host->folder, "/proc/self/ns");
}

TEST(a_kernel_without_user_namespaces_is_named) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        run_on(s, stage_without_kinds, &(struct host){.folder = s->outside}, "clone-newuser", NO_OPTIONS,
               "echo fine", &o);
        expect_host_refusal(&o, 125,
                            "nsrun: the kernel has no user namespaces: Operation not permitted; it needs "
                            "CONFIG_USER_NS=y");
        run_on(s, stage_without_kinds, &(struct host){.folder = s->outside}, NULL, OPTIONS("--proc=none"),
               "echo fine", &o);
        expect_fine(&o);
}

/* As unshare --pid does without --fork: in the new pid namespace there is nobody yet. */
static void stage_pids_for_children(nsrun_unused void *data) {
        stage_enter();
        /* A search for leaks clones a thread, which can't be had there, and waits for it. */
        if (unshare(CLONE_NEWPID) < 0 || setenv("ASAN_OPTIONS", "detect_leaks=0", 1) < 0)
                stage_fail("unshare");
}

TEST(a_pid_namespace_for_children_alone_is_named) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        run_on(s, stage_pids_for_children, &(struct host){0}, NULL, NO_OPTIONS, "echo fine", &o);
        expect_host_refusal(
                &o, 125,
                "nsrun: what nsrun starts would go into a pid namespace that nsrun isn't in: "
                "/proc/self/ns/pid_for_children: Invalid argument; nothing inside mends that: what is around "
                "nsrun was started with unshare --pid alone; start it with unshare --pid --fork "
                "--mount-proc");
}

static void stage_unmapped(nsrun_unused void *data) {
        if (unshare(CLONE_NEWUSER) < 0)
                stage_fail("unshare");
}

TEST(a_user_without_an_id_is_named) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        run_on(s, stage_unmapped, &(struct host){0}, NULL, NO_OPTIONS, "echo fine", &o);
        expect_host_refusal(
                &o, 125,
                "nsrun: this user or its group has no id in the user namespace that nsrun is in: "
                "/proc/self/uid_map: Operation not permitted; who makes that namespace must give it "
                "one (unshare --map-current-user, podman --userns=keep-id), since nobody inside can; or run "
                "nsrun outside of it");
}

/* As --cap-drop=ALL and --cap-add do: the exec that follows loses all other capabilities. */
static void stage_capabilities(void *data) {
        const struct host *host = data;

        for (int i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
                if ((i != CAP_SETFCAP || !host->text) && prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0)
                        stage_fail("a capability");
}

TEST_IF(geteuid() == 0, a_root_that_may_not_map_its_id_is_named, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        run_on(s, stage_capabilities, &(struct host){.text = "setfcap"}, NULL, NO_OPTIONS, "echo fine", &o);
        expect_fine(&o);
        run_on(s, stage_capabilities, &(struct host){0}, NULL, NO_OPTIONS, "echo fine", &o);
        expect_host_refusal(
                &o, 125,
                "nsrun: root has not the capability CAP_SETFCAP, without which nobody can have root's "
                "id in a new user namespace: Operation not permitted; give it that one (a container: "
                "--cap-add=SETFCAP), or run nsrun as another user (a container: --user 1000)");
}

/* --------------------------------------------------------------------- /dev/null */

static void stage_no_input(void *data) {
        const struct host *host = data;

        stage_enter();
        if (host->path)
                stage_tmpfs(host->path, 0);
        if (close(0) < 0)
                stage_fail("standard input");
}

static void stage_no_devices(nsrun_unused void *data) {
        stage_enter();
        stage_tmpfs("/dev", 0);
}

TEST(a_missing_null_device_is_named) {
        static const char line[] =
                "the null device can't be opened: /dev/null: No such file or directory; sudo "
                "mknod -m 666 /dev/null c 1 3";
        const struct site *s = *state;
        const char *const bash[] = {program(), "bash", "--project", s->project, "--", "echo fine", NULL},
                          *const session[] = {program(), "session", "start", "--project", s->project, NULL};
        _cleanup_free_ char *refusal = text_of("nsrun: %s", line), *answer = text_of("Error: %s", line);
        struct host host = {.path = "/dev"};
        _cleanup_outcome_ struct outcome o = {0};

        run_on(s, stage_no_input, &(struct host){0}, NULL, NO_OPTIONS, "cat; echo fine", &o);
        expect_fine(&o);
        run_on(s, stage_no_input, &host, NULL, NO_OPTIONS, "cat; echo fine", &o);
        expect_host_refusal(&o, 125, refusal);
        outcome_clear(&o);
        run(&(struct request){.argv = session, .cwd = s->root, .in_child = stage_no_input, .data = &host},
            &o);
        expect_host_refusal(&o, 125, refusal);
        outcome_clear(&o);
        run(&(struct request){.argv = bash, .cwd = s->root, .in_child = stage_no_devices}, &o);
        expect_status(&o, 125);
        expect_out(&o, answer);
}

/* ------------------------------------------------------------------------ /proc */

static void stage_read_only_proc(nsrun_unused void *data) {
        stage_enter();
        stage_bind_itself("/proc", MS_RDONLY);
}

TEST(a_read_only_proc_is_named) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        run_on(s, stage_read_only_proc, &(struct host){0}, NULL, NO_OPTIONS, "echo fine", &o);
        expect_host_refusal(
                &o, 125,
                "nsrun: the id map can't be written: /proc/self/setgroups: Read-only file system; "
                "sudo mount -o remount,bind,rw /proc");
}

static void stage_no_proc(nsrun_unused void *data) {
        stage_enter();
        stage_tmpfs("/proc", 0);
}

TEST(a_host_without_proc_is_refused) {
        static const char line[] =
                "nsrun: the id map can't be written: /proc/self/uid_map: No such file or "
                "directory; nsrun needs a /proc to start from: sudo mount -t proc proc /proc";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        run_on(s, stage_no_proc, &(struct host){0}, NULL, NO_OPTIONS, "echo fine", &o);
        if (IS_SANITIZED) {
                /* The leak check can't do without /proc either, and has the last word. */
                assert_int_not_equal(o.status, 0);
                expect_out(&o, "");
                expect_in(o.err, line);
        } else
                expect_host_refusal(&o, 125, line);
}

TEST(a_masked_proc_is_refused_unless_another_is_chosen) {
        static const char look[] = "echo $$; test -e /proc/self/status || echo none";
        const struct site *s = *state;
        struct host host = {0};
        _cleanup_outcome_ struct outcome o = {0};

        run_on(s, stage_plain, &host, NULL, NO_OPTIONS, look, &o);
        expect_status(&o, 0);
        expect_out(&o, "2\n");

        run_on(s, stage_masked, &host, NULL, NO_OPTIONS, look, &o);
        expect_host_refusal(&o, 125, masked_line);
        run_on(s, stage_masked, &host, NULL, OPTIONS("--proc=new"), look, &o);
        expect_host_refusal(&o, 125, masked_line);

        run_on(s, stage_masked, &host, NULL, OPTIONS("--proc=none"), look, &o);
        expect_status(&o, 0);
        expect_out(&o, "2\nnone\n");
        assert_string_equal(o.err, "");
}

/* Whether a masked /proc forbids subset=pid too depends on the kernel: what nsrun
 * says of its choice must be what it did. */
TEST(proc_auto_takes_what_it_can_get_and_says_so) {
        static const char look[] = "test -e /proc/self/status && echo status; test -e /proc/meminfo && echo "
                                   "meminfo; :";
        static const char note[] =
                "nsrun: note: no /proc can be mounted here: the sandbox has none: /proc\n";
        static const char subset_note[] =
                "nsrun: note: a full /proc is refused here: mounted with subset=pid: /proc\n";
        const struct site *s = *state;
        struct host host = {0};
        _cleanup_outcome_ struct outcome o = {0}, subset = {0};

        run_on(s, stage_plain, &host, NULL, OPTIONS("--proc=auto"), look, &o);
        expect_status(&o, 0);
        expect_out(&o, "status\nmeminfo\n");
        assert_string_equal(o.err, "");
        run_on(s, stage_plain, &host, NULL, OPTIONS("--proc=subset"), look, &o);
        expect_status(&o, 0);
        expect_out(&o, "status\n");

        run_on(s, stage_masked, &host, NULL, OPTIONS("--proc=subset"), look, &subset);
        run_on(s, stage_masked, &host, NULL, OPTIONS("--proc=auto"), look, &o);
        expect_status(&o, 0);
        if (subset.status == 0) {
                expect_out(&subset, "status\n");
                expect_out(&o, "status\n");
                assert_string_equal(o.err, subset_note);
        } else {
                expect_host_refusal(&subset, 125, masked_line);
                expect_out(&o, "");
                assert_string_equal(o.err, note);
        }
}

/* It shows the host's processes; it gives none of them away.  Overlays in memory have their layers
 * elsewhere.
 */
TEST(a_bound_proc_opens_no_host_process) {
        const struct site *s = *state;
        _cleanup_free_ char *look = text_of(
                "cd /proc/%d && cat comm >/dev/null && echo seen; ls root/ "
                "2>&1; cat environ 2>&1; readlink fd/0 || echo unseen; cat maps 2>&1; kill -0 %d 2>&1; echo x "
                ">/proc/sys/kernel/hostname",
                getpid(), getpid());
        _cleanup_free_ char *here =
                text_of("cd /proc/%d && ls root/ && cat environ maps && readlink fd/0", getpid());
        _cleanup_free_ char *overlay = text_of("--overlay=%s", s->outside);
        const char *const plan[] = {program(),  "plan", "--proc=bind", "--project",
                                    s->project, "--",   "true",        NULL};
        _cleanup_outcome_ struct outcome o = {0}, planned = {0};

        run_outside(s, &o, here);
        expect_status(&o, 0);
        run_on(s, stage_masked, &(struct host){0}, NULL,
               OPTIONS("--proc=bind", "--overlay-backing=tmpfs", overlay), look, &o);
        assert_int_not_equal(o.status, 0);
        expect_in(o.out, "seen\n");
        expect_in(o.out, "root/': Permission denied\n");
        expect_in(o.out, "cat: environ: Permission denied\n");
        expect_in(o.out, "\nunseen\n");
        expect_in(o.out, "cat: maps: Permission denied\n");
        expect_in(o.out, "No such process");
        expect_in(o.err, "Read-only file system");
        run(&(struct request){.argv = plan, .cwd = s->root}, &planned);
        expect_status(&planned, 0);
        expect_not_in(planned.out, "untold");
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table, and an error's way into it and out of it.  causes.awk reads the rows as they stand here: each
 * field begins a line. */
#include "causes.h"

const struct cause causes[NSRUN_ERROR_COUNT] = {
        [NSRUN_ERROR_USERNS_CLONE] =
                {
                        .stage = NSRUN_STAGE_NAMESPACE,
                        .when = "Debian's sysctl kernel.unprivileged_userns_clone is 0.",
                        .what = "user namespaces are switched off for ordinary users",
                        .fix = "sudo sysctl -w kernel.unprivileged_userns_clone=1",
                        .test = "debians_switch_is_named",
                },
        [NSRUN_ERROR_MAX_USER] =
                {
                        .stage = NSRUN_STAGE_NAMESPACE,
                        .when = "The sysctl user.max_user_namespaces is 0.",
                        .what = "user namespaces are switched off",
                        .fix = "sudo sysctl -w user.max_user_namespaces=15000",
                        .test = "a_limit_of_no_namespaces_is_named",
                },
        [NSRUN_ERROR_APPARMOR] =
                {
                        .stage = NSRUN_STAGE_NAMESPACE,
                        .when = "The sysctl kernel.apparmor_restrict_unprivileged_userns is 1, as on Ubuntu, and "
                                "nsrun has no profile.",
                        .what = "AppArmor restricts user namespaces to programs with a profile",
                        .fix = "give nsrun a profile that allows userns (nsrun-hosts(7), APPARMOR), or: sudo sysctl -w "
                               "kernel.apparmor_restrict_unprivileged_userns=0",
                        .test = "apparmors_switch_is_named",
                },
        [NSRUN_ERROR_MAX_MNT] =
                {
                        .stage = NSRUN_STAGE_NAMESPACE,
                        .when = "The sysctl user.max_mnt_namespaces is 0.",
                        .what = "mount namespaces are switched off",
                        .fix = "sudo sysctl -w user.max_mnt_namespaces=15000",
                        .test = "a_limit_of_no_namespaces_is_named",
                },
        [NSRUN_ERROR_MAX_PID] =
                {
                        .stage = NSRUN_STAGE_NAMESPACE,
                        .when = "The sysctl user.max_pid_namespaces is 0.",
                        .what = "pid namespaces are switched off",
                        .fix = "sudo sysctl -w user.max_pid_namespaces=15000",
                        .test = "a_limit_of_no_namespaces_is_named",
                },
        [NSRUN_ERROR_MAX_IPC] =
                {
                        .stage = NSRUN_STAGE_NAMESPACE,
                        .when = "The sysctl user.max_ipc_namespaces is 0.",
                        .what = "ipc namespaces are switched off",
                        .fix = "sudo sysctl -w user.max_ipc_namespaces=15000",
                        .test = "a_limit_of_no_namespaces_is_named",
                },
        [NSRUN_ERROR_MAX_UTS] =
                {
                        .stage = NSRUN_STAGE_NAMESPACE,
                        .when = "The sysctl user.max_uts_namespaces is 0.",
                        .what = "uts namespaces are switched off",
                        .fix = "sudo sysctl -w user.max_uts_namespaces=15000",
                        .test = "a_limit_of_no_namespaces_is_named",
                },
        [NSRUN_ERROR_MAX_NET] =
                {
                        .stage = NSRUN_STAGE_NAMESPACE,
                        .when = "The sysctl user.max_net_namespaces is 0.",
                        .what = "network namespaces are switched off",
                        .fix = "sudo sysctl -w user.max_net_namespaces=15000",
                        .test = "a_limit_of_no_namespaces_is_named",
                },
        [NSRUN_ERROR_NAMESPACES_USED_UP] =
                {
                        .stage = NSRUN_STAGE_NAMESPACE,
                        .when = "The kernel answers ENOSPC or EUSERS, and a counter of this user namespace that "
                                "isn't 0 is below 15000, or this is the host's own namespace.",
                        .what = "the limit of namespaces is reached",
                        .fix = "raise the sysctl that the refusal names: sudo sysctl -w user.max_user_namespaces=15000",
                        .test = "a_limit_of_few_namespaces_is_named",
                },
        [NSRUN_ERROR_OUTER_LIMIT] =
                {
                        .stage = NSRUN_STAGE_NAMESPACE,
                        .when = "The same, and none of its own counters is low.",
                        .what = "a namespace around this one allows no further namespaces (32 levels are the "
                                "kernel's own end)",
                        .fix = "run nsrun outside of it, or start it without bwrap's --disable-userns and the "
                               "like: nothing inside can raise the limit",
                        .test = "a_nesting_too_deep_is_named",
                },
        [NSRUN_ERROR_NO_USERNS] =
                {
                        .stage = NSRUN_STAGE_NAMESPACE,
                        .when = "/proc/self/ns has no user.",
                        .what = "the kernel has no user namespaces",
                        .fix = "it needs CONFIG_USER_NS=y",
                        .test = "a_kernel_without_user_namespaces_is_named",
                },
        [NSRUN_ERROR_NO_PROC_TO_TELL] =
                {
                        .stage = NSRUN_STAGE_NAMESPACE,
                        .when = "The namespaces are refused, no /proc is mounted, and it isn't seen without one that "
                                "this is a chroot.",
                        .what = "the kernel refuses the new namespaces, and no /proc is mounted that tells why",
                        .fix = "sudo mount -t proc proc /proc",
                        .test = "a_chroot_is_named",
                },
        [NSRUN_ERROR_UNMAPPED] =
                {
                        .stage = NSRUN_STAGE_NAMESPACE,
                        .when = "The user or the group isn't in /proc/self/uid_map or gid_map.",
                        .what = "this user or its group has no id in the user namespace that nsrun is in",
                        .fix = "who makes that namespace must give it one (unshare --map-current-user, podman "
                               "--userns=keep-id), since nobody inside can; or run nsrun outside of it",
                        .test = "a_user_without_an_id_is_named",
                },
        [NSRUN_ERROR_CHROOT] =
                {
                        .stage = NSRUN_STAGE_NAMESPACE,
                        .when = "Nothing is mounted at this process's root, or what is mounted there is "
                                "elsewhere for a process that started this one.",
                        .what = "nsrun is in a chroot, where the kernel lets nobody make user namespaces",
                        .fix = "enter the folder another way: bwrap --bind FOLDER / --dev /dev --proc /proc, or "
                               "systemd-nspawn -D FOLDER",
                        .test = "a_chroot_is_named",
                },
        [NSRUN_ERROR_OTHERS_PIDS] =
                {
                        .stage = NSRUN_STAGE_NAMESPACE,
                        .when = "nsrun's children go into another pid namespace than its own, and the kernel "
                                "answers EINVAL or ENOMEM.",
                        .what = "what nsrun starts would go into a pid namespace that nsrun isn't in",
                        .fix = "nothing inside mends that: what is around nsrun was started with unshare --pid alone; start it "
                               "with unshare --pid --fork --mount-proc",
                        .test = "a_pid_namespace_for_children_alone_is_named",
                },
        [NSRUN_ERROR_FILTER_USERNS] =
                {
                        .stage = NSRUN_STAGE_NAMESPACE,
                        .when = "A user namespace is refused, and this process has a seccomp filter.",
                        .what = "a seccomp filter, as containers and services have one, refuses user namespaces",
                        .fix = "start the container with a profile that allows them (docker, podman: "
                               "--security-opt seccomp=unconfined; Kubernetes: a seccompProfile of type "
                               "Unconfined), or the service without RestrictNamespaces=",
                        .test = "a_filter_that_refuses_namespaces_is_named",
                },
        [NSRUN_ERROR_FILTER_MOUNTS] =
                {
                        .stage = NSRUN_STAGE_NAMESPACE,
                        .when = "A user namespace can be made, a mount in it is refused, and this process has a "
                                "seccomp filter.",
                        .what = "a seccomp filter, as containers and services have one, refuses mounts in a user "
                                "namespace",
                        .fix = "start the container with a profile that allows them (docker, podman: "
                               "--security-opt seccomp=unconfined; Kubernetes: a seccompProfile of type "
                               "Unconfined), or the service with @mount in SystemCallFilter=",
                        .test = "a_filter_that_refuses_mounts_is_named",
                },
        [NSRUN_ERROR_MODULE] =
                {
                        .stage = NSRUN_STAGE_NAMESPACE,
                        .when = "The same without a filter: Landlock lets nobody mount who has rules about files.",
                        .what = "a security module lets user namespaces be made but not used",
                        .fix = "Landlock, AppArmor or SELinux confines this program: run nsrun outside of what was confined by Landlock; what the others refused is in the kernel log (nsrun-hosts(7), APPARMOR)",
                        .test = "a_module_that_refuses_mounts_is_named",
                },
        [NSRUN_ERROR_NAMESPACES_REFUSED] =
                {
                        .stage = NSRUN_STAGE_NAMESPACE,
                        .when = "A user namespace is refused, and nothing of the above is so.",
                        .what = "the kernel refuses the new namespaces",
                        .fix = "a chroot, a security module or a kernel setting forbids them here",
                        .test = "a_chroot_is_among_the_reasons",
                },
        [NSRUN_ERROR_PROCESSES_USED_UP] =
                {
                        .stage = NSRUN_STAGE_NAMESPACE,
                        .when = "The kernel answers EAGAIN, and the user has as many processes as the limit allows.",
                        .what = "no process for the sandbox can be made",
                        .fix = "raise the limit of processes (ulimit -u 4096; in dash: ulimit -p 4096)",
                        .test = "no_room_for_a_process_is_named",
                },
        [NSRUN_ERROR_PIDS_USED_UP] =
                {
                        .stage = NSRUN_STAGE_NAMESPACE,
                        .when = "The kernel answers EAGAIN, and the user has fewer.",
                        .what = "no process for the sandbox can be made",
                        .fix = "raise the cgroup's limit of processes, pids.max (docker, podman: --pids-limit; systemd: "
                               "TasksMax=; the kernel's own is kernel.pid_max)",
                        .test = "no_room_in_a_cgroup_is_named",
                },
        [NSRUN_ERROR_MEMORY_USED_UP] =
                {
                        .stage = NSRUN_STAGE_NAMESPACE,
                        .when = "The kernel answers ENOMEM.",
                        .what = "no process for the sandbox can be made",
                        .fix = "end programs that hold memory, or raise the cgroup's memory.max (docker, podman: "
                               "--memory; systemd: MemoryMax=); vm.overcommit_memory=2 refuses early",
                        .test = "no_memory_for_a_process_is_named",
                },
        [NSRUN_ERROR_SETFCAP] =
                {
                        .stage = NSRUN_STAGE_IDMAP,
                        .when = "A root's id map can't be written, and it hasn't that capability.",
                        .what = "root has not the capability CAP_SETFCAP, without which nobody can have root's "
                                "id in a new user namespace",
                        .fix = "give it that one (a container: --cap-add=SETFCAP), or run nsrun as another user "
                               "(a container: --user 1000)",
                        .test = "a_root_that_may_not_map_its_id_is_named",
                },
        [NSRUN_ERROR_NO_PROC_FOR_IDS] =
                {
                        .stage = NSRUN_STAGE_IDMAP,
                        .when = "No /proc is mounted.",
                        .what = "the id map can't be written",
                        .fix = "nsrun needs a /proc to start from: sudo mount -t proc proc /proc",
                        .test = "a_host_without_proc_is_refused",
                },
        [NSRUN_ERROR_READ_ONLY_PROC] =
                {
                        .stage = NSRUN_STAGE_IDMAP,
                        .when = "/proc is mounted read-only.",
                        .what = "the id map can't be written",
                        .fix = "sudo mount -o remount,bind,rw /proc",
                        .test = "a_read_only_proc_is_named",
                },
        [NSRUN_ERROR_UNDUMPABLE] =
                {
                        .stage = NSRUN_STAGE_IDMAP,
                        .when = "The caller's own files in /proc aren't its to open (EACCES), as of a program that it "
                                "may execute and not read, or a host of the library that isn't dumpable "
                                "(PR_SET_DUMPABLE).",
                        .what = "the id map can't be written by a process that isn't dumpable",
                        .fix = "let nsrun's file be read by who executes it: sudo chmod a+r \"$(command -v nsrun)\"",
                        .test = "a_program_that_cant_be_read_is_named",
                },
        [NSRUN_ERROR_NO_PROC_FOR_MOUNTS] =
                {
                        .stage = NSRUN_STAGE_MOUNT,
                        .when = "No /proc is mounted, and no id map is to be written, as nsrun-bwrap doesn't for root.",
                        .what = "the host's /proc can't be opened",
                        .fix = "nsrun needs a /proc to start from: sudo mount -t proc proc /proc",
                        .test = "a_root_without_proc_is_refused",
                },
        [NSRUN_ERROR_NO_PIDFD] =
                {
                        .stage = NSRUN_STAGE_SUPERVISE,
                        .when = "pidfd_open(2) fails with ENOSYS.",
                        .what = "no descriptors to watch the sandbox with",
                        .fix = "nsrun needs Linux 5.3 or later, and no seccomp filter that refuses pidfd_open",
                        .test = "without_a_newer_call_the_sandbox_is_the_same_or_the_cause_is_named",
                },
        [NSRUN_ERROR_FILTER_PIDFD] =
                {
                        .stage = NSRUN_STAGE_SUPERVISE,
                        .when = "pidfd_open(2) fails with EPERM.",
                        .what = "no descriptors to watch the sandbox with",
                        .fix = FILTER_HINT("pidfd_open"),
                        .test = "a_filter_that_refuses_one_call_is_named",
                },
        [NSRUN_ERROR_FILTER_PIVOT] =
                {
                        .stage = NSRUN_STAGE_MOUNT,
                        .when = "pivot_root(2) fails with EPERM or ENOSYS.",
                        .what = "pivot_root to the sandbox's root failed",
                        .fix = FILTER_HINT("pivot_root"),
                        .test = "a_filter_that_refuses_one_call_is_named",
                },
        [NSRUN_ERROR_INITRAMFS] =
                {
                        .stage = NSRUN_STAGE_MOUNT,
                        .when = "pivot_root(2) fails with EINVAL.",
                        .what = "pivot_root to the sandbox's root failed",
                        .fix = "the host runs from its initramfs: switch_root to another file system; or, as root, make a mount the root: mount --rbind / /mnt && cd /mnt && mount --move . / && exec chroot . sh",
                        .test = "a_host_that_runs_from_its_initramfs_is_named",
                },
        [NSRUN_ERROR_FILTER_UMOUNT] =
                {
                        .stage = NSRUN_STAGE_MOUNT,
                        .when = "umount2(2) fails with EPERM or ENOSYS.",
                        .what = "the host's root can't be detached",
                        .fix = FILTER_HINT("umount2"),
                        .test = "a_filter_that_refuses_one_call_is_named",
                },
        [NSRUN_ERROR_FILTER_MOVE] =
                {
                        .stage = NSRUN_STAGE_MOUNT,
                        .when = "move_mount(2) fails with EPERM.",
                        .what = "the bind can't be attached",
                        .fix = FILTER_HINT("move_mount"),
                        .test = "behind_a_filter_the_sandbox_is_the_same_or_the_cause_is_named",
                },
        [NSRUN_ERROR_FILTER_UNSHARE] =
                {
                        .stage = NSRUN_STAGE_NAMESPACE,
                        .when = "unshare(2), which a session's commands take, fails with EPERM or ENOSYS.",
                        .what = "no mark can be put on the command",
                        .fix = FILTER_HINT("unshare"),
                        .test = "a_filter_that_refuses_a_sessions_calls_is_named",
                },
        [NSRUN_ERROR_FILTER_MEMFD] =
                {
                        .stage = NSRUN_STAGE_SUPERVISE,
                        .when = "memfd_create(2), which a session takes, fails with EPERM or ENOSYS.",
                        .what = "the plan can't be handed to nsrun-monitor",
                        .fix = FILTER_HINT("memfd_create"),
                        .test = "a_filter_that_refuses_a_sessions_calls_is_named",
                },
        [NSRUN_ERROR_FILTER_SOCKETS] =
                {
                        .stage = NSRUN_STAGE_NETWORK,
                        .when = "socket(2) fails with EAFNOSUPPORT, EPERM or EACCES, and --net isn't host.",
                        .what = "no socket to bring loopback up with",
                        .fix = "a seccomp filter refuses it, as of a service without AF_INET in "
                               "RestrictAddressFamilies=: allow it, or choose --net=host",
                        .test = "a_filter_that_refuses_sockets_is_named",
                },
        [NSRUN_ERROR_FILTER_MOUNT_CALLS] =
                {
                        .stage = NSRUN_STAGE_MOUNT,
                        .when = "open_tree(2), move_mount(2) or mount_setattr(2) fails with EPERM.",
                        .what = "open_tree, move_mount or mount_setattr is refused",
                        .fix = FILTER_HINT("open_tree, move_mount and mount_setattr"),
                        .test = "behind_a_filter_the_sandbox_is_the_same_or_the_cause_is_named",
                },
        [NSRUN_ERROR_NO_MOUNT_CALLS] =
                {
                        .stage = NSRUN_STAGE_MOUNT,
                        .when = "open_tree(2), move_mount(2) or mount_setattr(2) can't be had.",
                        .what = "the kernel or its seccomp filter lacks mount_setattr(2), of Linux 5.12",
                        .fix = "use a newer kernel, or let the filter allow the call",
                        .test = "without_a_newer_call_the_sandbox_is_the_same_or_the_cause_is_named",
                },
        [NSRUN_ERROR_PROC_MASKED] =
                {
                        .stage = NSRUN_STAGE_PROC,
                        .when = "A new /proc is refused with EPERM.",
                        .what = "a new /proc can't be mounted",
                        .fix = "a container masks parts of /proc: start it with an unmasked one (podman: "
                               "--security-opt unmask=ALL, docker: --security-opt systempaths=unconfined, "
                               "Kubernetes: procMount: Unmasked), or choose --proc=bind (which shows "
                               "the host's processes) or --proc=none",
                        .test = "a_masked_proc_is_refused_unless_another_is_chosen",
                },
        [NSRUN_ERROR_NO_PROC_SUBSET] =
                {
                        .stage = NSRUN_STAGE_PROC,
                        .when = "--proc=subset is asked for, and fails with another errno.",
                        .what = "/proc can't be mounted",
                        .fix = "subset=pid needs Linux 5.8: choose --proc=new, or --proc=auto",
                        .test = "a_kernel_without_the_option_subset_is_named",
                },
        [NSRUN_ERROR_NO_OVERLAYFS] =
                {
                        .stage = NSRUN_STAGE_OVERLAY,
                        .when = "An overlay's mount fails with ENODEV.",
                        .what = "the kernel has no overlayfs",
                        .fix = "load the module: sudo modprobe overlay (CONFIG_OVERLAY_FS)",
                        .test = "a_kernel_without_overlays_is_named",
                },
        [NSRUN_ERROR_OVERLAY_REFUSED] =
                {
                        .stage = NSRUN_STAGE_OVERLAY,
                        .when = "An overlay's mount fails with EPERM.",
                        .what = "the kernel refuses overlays in a user namespace",
                        .fix = "Linux before 5.11 does, or AppArmor or SELinux (see the kernel log): use --ro or "
                               "--rw for this folder, which takes the overlay's place",
                        .test = "a_kernel_that_refuses_overlays_is_named",
                },
        [NSRUN_ERROR_OVERLAY_OVER_MOUNTS] =
                {
                        .stage = NSRUN_STAGE_OVERLAY,
                        .when = "Something is mounted below the folder.",
                        .what = "a folder in which something is mounted can't be below an overlay",
                        .fix = "unmount what is mounted in it, or use --ro or --rw for the folder, which takes the overlay's place",
                        .test = "a_folder_with_a_mount_in_it_is_named",
                },
        [NSRUN_ERROR_OVERLAY_OVER_OVERLAYS] =
                {
                        .stage = NSRUN_STAGE_OVERLAY,
                        .when = "The folder can't be the lower one of a trial.",
                        .what = "the folder's file system can't be below an overlay",
                        .fix = "one that is made of overlays on overlays can't, nor one that folds case: use "
                               "--ro or --rw for it, which takes the overlay's place",
                        .test = "a_folder_that_no_overlay_can_be_laid_over_is_named",
                },
        [NSRUN_ERROR_OVERLAY_IN_CACHE] =
                {
                        .stage = NSRUN_STAGE_OVERLAY,
                        .when = "It can, and the layers are on disk.",
                        .what = "the cache folder's file system can't carry an overlay's upper layer",
                        .fix = "use --overlay-backing=tmpfs, or point XDG_CACHE_HOME at a local disk",
                        .test = "a_cache_that_carries_no_overlay_is_refused",
                },
        [NSRUN_ERROR_OVERLAY_DISK_FULL] =
                {
                        .stage = NSRUN_STAGE_OVERLAY,
                        .when = "An overlay on disk fails with ENOSPC or EDQUOT.",
                        .what = "there is no room for the overlay's layers",
                        .fix = "the cache folder's disk is full: make room, or use --overlay-backing=tmpfs",
                        .test = "a_disk_without_room_for_an_rundir_is_a_line_and_leaves_nothing",
                },
        [NSRUN_ERROR_NO_SECCOMP] =
                {
                        .stage = NSRUN_STAGE_HARDENING,
                        .when = "seccomp(2) fails, and not with EPERM.",
                        .what = "the seccomp filter can't be installed",
                        .fix = "the kernel needs CONFIG_SECCOMP_FILTER (and 5.0 for --report), and a filter around "
                               "nsrun must allow seccomp(2); --seccomp=none goes on without",
                        .test = "without_its_filter_no_command_starts",
                },
        [NSRUN_ERROR_FILTER_SECCOMP] =
                {
                        .stage = NSRUN_STAGE_HARDENING,
                        .when = "seccomp(2) fails with EPERM.",
                        .what = "the seccomp filter can't be installed",
                        .fix = FILTER_HINT("seccomp") "; --seccomp=none goes on without",
                        .test = "without_its_filter_no_command_starts",
                },
        [NSRUN_ERROR_NO_LANDLOCK] =
                {
                        .stage = NSRUN_STAGE_POLICY,
                        .when = "--landlock=require is asked for, and the kernel answers ENOSYS.",
                        .what = "Landlock can't keep abstract sockets and signals inside",
                        .fix = "boot a kernel with CONFIG_SECURITY_LANDLOCK=y; if it has that, the seccomp filter around "
                               "nsrun must allow landlock_create_ruleset; --landlock=auto goes on without",
                        .test = "where_the_kernel_has_none_auto_goes_on_and_require_does_not",
                },
        [NSRUN_ERROR_FILTER_LANDLOCK] =
                {
                        .stage = NSRUN_STAGE_POLICY,
                        .when = "landlock_create_ruleset(2) fails with EPERM, and --landlock=require or --strict is "
                                "asked for.",
                        .what = "Landlock can't keep abstract sockets and signals inside",
                        .fix = FILTER_HINT("landlock_create_ruleset") "; --landlock=auto goes on without",
                        .test = "a_filter_that_refuses_landlock_is_named",
                },
        [NSRUN_ERROR_LANDLOCK_OFF] =
                {
                        .stage = NSRUN_STAGE_POLICY,
                        .when = "--landlock=require is asked for, and the kernel answers EOPNOTSUPP.",
                        .what = "Landlock can't keep abstract sockets and signals inside",
                        .fix = "the kernel has it switched off: add landlock to its lsm= parameter, or use "
                               "--landlock=auto",
                        .test = "where_the_kernel_has_none_auto_goes_on_and_require_does_not",
                },
        [NSRUN_ERROR_LANDLOCK_REFUSED] =
                {
                        .stage = NSRUN_STAGE_HARDENING,
                        .when = "The kernel has Landlock's scopes, and they can't be entered.",
                        .what = "Landlock can't keep abstract sockets and signals inside",
                        .fix = "--landlock=off goes on without",
                        .test = "a_scope_that_can_not_be_entered_starts_nothing",
                },
        [NSRUN_ERROR_FILTER_RESTRICT] =
                {
                        .stage = NSRUN_STAGE_HARDENING,
                        .when = "The same, and landlock_restrict_self(2) fails with EPERM or ENOSYS.",
                        .what = "Landlock can't keep abstract sockets and signals inside",
                        .fix = FILTER_HINT("landlock_restrict_self") "; --landlock=off goes on without",
                        .test = "a_scope_that_can_not_be_entered_starts_nothing",
                },
        [NSRUN_ERROR_NO_NULL] =
                {
                        .stage = NSRUN_STAGE_SUPERVISE,
                        .when = "There is no /dev/null.",
                        .what = "the null device can't be opened",
                        .fix = "sudo mknod -m 666 /dev/null c 1 3",
                        .test = "a_missing_null_device_is_named",
                },
        [NSRUN_ERROR_CLOSED_NULL] =
                {
                        .stage = NSRUN_STAGE_SUPERVISE,
                        .when = "/dev/null may not be opened.",
                        .what = "the null device can't be opened",
                        .fix = "sudo chmod 666 /dev/null",
                        .test = "a_null_device_that_is_none_is_named",
                },
        [NSRUN_ERROR_NODEV_NULL] =
                {
                        .stage = NSRUN_STAGE_SUPERVISE,
                        .when = "The same, and it lies on a mount with nodev: its own, or that of /dev or /.",
                        .what = "the null device can't be opened",
                        .fix = "it is mounted nodev: sudo mount -o remount,bind,dev /dev",
                        .test = "a_null_device_that_is_mounted_nodev_is_named",
                },
        [NSRUN_ERROR_CACHE_UNMADE] =
                {
                        .stage = NSRUN_STAGE_WORKSPACE,
                        .when = "The folder of runs can't be made.",
                        .what = "the cache folder can't be made",
                        .fix = "set XDG_CACHE_HOME to a folder of your own on a local disk",
                        .test = "a_default_cache_without_a_run_directory_has_its_overlay_in_memory",
                },
        [NSRUN_ERROR_CACHE_WRITABLE] =
                {
                        .stage = NSRUN_STAGE_WORKSPACE,
                        .when = "Others may write to the folder of runs.",
                        .what = "others may write to the cache folder",
                        .fix = "chmod go-w that folder",
                        .test = "a_cache_folder_that_is_not_ones_own_is_refused",
                },
        [NSRUN_ERROR_CACHE_FOREIGN] =
                {
                        .stage = NSRUN_STAGE_WORKSPACE,
                        .when = "It is another user's.",
                        .what = "the cache folder belongs to another user",
                        .fix = "set XDG_CACHE_HOME to a folder of your own on a local disk",
                        .test = "a_cache_folder_of_another_user_is_refused",
                },
        [NSRUN_ERROR_NO_CGROUP] =
                {
                        .stage = NSRUN_STAGE_HARDENING,
                        .when = "--limit is asked for, and no cgroup2 is mounted with this process in it.",
                        .what = "no cgroup2 file system is mounted that shows this process",
                        .fix = "sudo mount -t cgroup2 none /sys/fs/cgroup",
                        .test = "a_host_without_cgroups_is_named",
                },
        [NSRUN_ERROR_CGROUP_CROWDED] =
                {
                        .stage = NSRUN_STAGE_HARDENING,
                        .when = "--limit is asked for, and nsrun isn't alone in its cgroup.",
                        .what = "no cgroup can be made, as other processes are in the one above it",
                        .fix = "systemd-run --user --scope -p Delegate=yes nsrun ... gives one",
                        .test = "a_cgroup_with_other_processes_is_left_as_it_is",
                },
        [NSRUN_ERROR_CGROUP_REFUSED] =
                {
                        .stage = NSRUN_STAGE_HARDENING,
                        .when = "--limit is asked for, and no cgroup above may be written, or has the "
                                "controller.",
                        .what = "no cgroup can be made that has the controllers",
                        .fix = "systemd-run --user --scope -p Delegate=yes nsrun ... gives one",
                        .test = "a_cgroup_without_controllers_is_named",
                },
        [NSRUN_ERROR_SMALL_STACK] =
                {
                        .stage = NSRUN_STAGE_SUPERVISE,
                        .when = "The soft limit RLIMIT_STACK is below 96 KiB.",
                        .what = "the limit of the stack is too small for nsrun",
                        .fix = "ulimit -s 256, or more",
                        .test = "a_limit_that_nsrun_cant_run_with_is_named",
                },
        [NSRUN_ERROR_NO_ANSWER] =
                {
                        .stage = NSRUN_STAGE_POLICY,
                        .when = "The server of a file system (NFS, FUSE, automount) is gone.",
                        .what = "what is mounted there doesn't answer",
                        .fix = "see who serves it (findmnt -T PATH), or take it away: fusermount3 -u PATH, "
                               "sudo umount -l PATH",
                        .test = "a_mount_that_never_answers_is_named",
                },
        [NSRUN_ERROR_OUTER_FILTER] =
                {
                        .stage = NSRUN_STAGE_NAMESPACE,
                        .when = "Namespaces are refused in a sandbox of another nsrun.",
                        .what = "this nsrun is in a sandbox of another one, whose seccomp policy refuses namespaces",
                        .fix = "start the outer one with --seccomp=nested",
                        .test = "a_refusal_in_nsrun_blames_the_outer_one",
                },
        [NSRUN_ERROR_OUTER_STRICT] =
                {
                        .stage = NSRUN_STAGE_NAMESPACE,
                        .when = "The sysctl user.max_mnt_namespaces is 0 in a sandbox of another nsrun.",
                        .what = "this nsrun is in a sandbox of another one, whose --protect=strict forbids mount "
                                "namespaces",
                        .fix = "start the outer one without --protect=strict",
                        .test = "a_refusal_in_nsrun_blames_the_outer_one",
                },
        [NSRUN_ERROR_OUTER_ROOT] =
                {
                        .stage = NSRUN_STAGE_IDMAP,
                        .when = "The user is root in a sandbox of another nsrun, where root has no capability.",
                        .what = "root has not the capability CAP_SETFCAP, without which nobody can have root's "
                                "id in a new user namespace",
                        .fix = "start the nsrun around this one with --uid=1000",
                        .test = "a_refusal_in_nsrun_blames_the_outer_one",
                },
        [NSRUN_ERROR_OUTER_PROC] =
                {
                        .stage = NSRUN_STAGE_PROC,
                        .when = "A new /proc is refused with EPERM in a sandbox of another nsrun.",
                        .what = "a new /proc can't be mounted",
                        .fix = "the nsrun around this one covers parts of its own: leave --proc out, or choose "
                               "--proc=none, or --proc=bind (which shows that one's processes)",
                        .test = "a_refusal_in_nsrun_blames_the_outer_one",
                },
};

int error_cause_with(struct nsrun_error *err, enum nsrun_error_id id, int r, const char *path,
                     const char *fix) {
        return error_set_id(err, id, causes[id].stage, r, path, causes[id].what, fix);
}

int error_cause(struct nsrun_error *err, enum nsrun_error_id id, int r, const char *path) {
        return error_cause_with(err, id, r, path, causes[id].fix);
}

const struct cause *error_find_cause(const struct nsrun_error *err) {
        return (unsigned)err->id < NSRUN_ERROR_COUNT && causes[err->id].what ? &causes[err->id] : NULL;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a command may try by files: the kernel's and the host's own, descriptors, handles,
 * links, setuid programs.  Each attempt has a control that differs in one thing and
 * succeeds.  Planted links have test-planted.c and test-escapes.c. */
#include <sys/mount.h>

#include "attempt.h"
#include "host.h"

/* --------------------------------------------------------------------- files */

TEST(kernel_files_are_not_written_to) {
        static const char *const files[] = {
                "/proc/sys/kernel/core_pattern",
                "/proc/sys/kernel/hostname",
                "/proc/sys/kernel/modprobe",
                "/proc/sys/kernel/hotplug",
                "/proc/sys/vm/drop_caches",
                "/proc/sys/net/ipv4/ip_forward",
                "/proc/sys/fs/suid_dumpable",
                "/proc/sys/fs/binfmt_misc/register",
                "/proc/sysrq-trigger",
                "/proc/irq/default_smp_affinity",
                "/proc/mtrr",
                "/sys/kernel/uevent_helper",
                "/sys/power/state",
                "/sys/fs/cgroup/cgroup.procs",
                "/sys/kernel/mm/ksm/run",
        };
        const struct site *s = *state;
        bool is_root = geteuid() == 0;
        unsigned n_tried = 0;

        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                const char *const *attempt = WORDS("write", files[i]);
                _cleanup_outcome_ struct outcome o = {0};

                if (access(files[i], F_OK) < 0)
                        continue;
                n_tried++;
                try_inside(s, NULL, attempt, &o);
                /* ENOENT: of /sys there are the processors alone, and some of /proc is hidden. */
                if (!streq(o.out, is_root ? "EROFS\n" : "EACCES\n") && !streq(o.out, "ENOENT\n"))
                        fail_msg("%s inside: %s", files[i], o.out);
        }
        assert_true(n_tried > 4);
        expect_both(s, WORDS("write", files[0]), is_root ? "EROFS" : "EACCES", is_root ? "ok" : "EACCES");
        /* To be read it is there, so that the path is right. */
        expect_inside(s, NULL, WORDS("process-file", "child", "../sys/kernel/core_pattern"), "ok");
}

static void stage_masked_proc(nsrun_unused void *data) {
        stage_enter();
        stage_bind("/dev/null", "/proc/interrupts");
}

static void stage_without_devices(nsrun_unused void *data) {
        stage_enter();
        stage_tmpfs("/dev", 0);
}

/* What others but root may not read of the machine's /proc, no sandbox may, root's neither; with whatever
 * /proc it comes to be, and on a host without a /dev/null to hide such files behind. */
TEST(root_reads_no_more_of_the_machines_proc_than_others) {
        /* An ordinary user's keys are his own. */
        static const char script[] = "[ $(id -u) = 0 ] && keys=/proc/keys; "
                                     "for f in $(find /proc -maxdepth 1 -type f ! -perm -004) $keys; do "
                                     "[ -n \"$(head -c1 $f 2>&1 | tr '\\0' x)\" ] && "
                                     "! head -c1 $f 2>&1 | grep -q '^head: ' && echo $f; done; echo fine";
        static const char *const options[] = {"--proc=new", "--proc=auto", "--proc=bind", "--proc=subset",
                                              "--net=none"};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
                run_on(s, NULL, &(struct host){0}, NULL, OPTIONS(options[i]), script, &o);
                expect_status(&o, 0);
                expect_out(&o, "fine\n");
        }
        run_on(s, stage_masked_proc, &(struct host){0}, NULL, OPTIONS("--proc=auto"), script, &o);
        expect_out(&o, "fine\n");
        /* A session can't be started there. */
        if (geteuid() == 0 && !in_a_session()) {
                run_on(s, stage_without_devices, &(struct host){0}, NULL, NO_OPTIONS,
                       "for f in /proc/keys /proc/vmallocinfo; do IFS= read -r x <$f && echo $f $x; done; echo "
                       "fine",
                       &o);
                expect_out(&o, "fine\n");
        }
        run_outside(s, &o, script);
        if (geteuid() == 0)
                expect_in(o.out, "/proc/timer_list\n");
}

TEST(devices_of_the_host_are_not_there) {
        static const char *const files[] = {
                "/dev/kmsg",  "/dev/mem",     "/dev/port",    "/dev/vda",         "/dev/sda",
                "/dev/fuse",  "/dev/kvm",     "/dev/net/tun", "/dev/userfaultfd", "/dev/loop-control",
                "/dev/vsock", "/dev/console", "/dev/tty0",    "/dev/tty1"};
        const struct site *s = *state;
        unsigned n_tried = 0;

        for (size_t i = 0; i < ARRAY_SIZE(files); i++)
                if (access(files[i], F_OK) == 0) {
                        n_tried++;
                        expect_inside(s, NULL, WORDS("write", files[i]), "ENOENT");
                }
        assert_true(n_tried > 0);
        if (geteuid() == 0) {
                _cleanup_free_ char *node = path_of(s->project, "disk");

                expect_both(s, WORDS("disk"), "EPERM", "ok");
                assert_int_equal(unlink(node), 0);
        } else
                expect_inside(s, NULL, WORDS("disk"), "EPERM");
}

TEST(a_running_program_is_not_overwritten) {
        const struct site *s = *state;
        _cleanup_free_ char *bind = text_of("%s/attempt:/mine:ro", s->project);
        _cleanup_outcome_ struct outcome o = {0};

        /* The user's own file, which only the mount is read-only for. */
        copy_helper(s, "attempt");
        RUN(s, &o, "--bind", bind, "--", "/mine", "overwrite-self");
        expect_out(&o, "ETXTBSY\n");
        expect_in(o.err, "Read-only file system");
        run_inside(s, &o, "./attempt overwrite-self");
        expect_out(&o, "ETXTBSY\nok\n");
}

/* Of all programs that run in there, which nsrun itself is one of, none opens. */
TEST(no_process_inside_leads_to_nsruns_own_program) {
        static const char script[] = "for p in /proc/[0-9]*; do "
                                     "(exec 9<$p/exe) 2>/dev/null && readlink -f $p/exe; done; echo end";
        const struct site *s = *state;
        _cleanup_free_ char *real = realpath(program(), NULL);
        _cleanup_outcome_ struct outcome o = {0};

        run_inside(s, &o, script);
        expect_status(&o, 0);
        expect_in(o.out, "/usr/bin/");
        expect_in(o.out, "end\n");
        expect_not_in(o.out, "nsrun");
        assert_int_equal(access(real, X_OK), 0);
}

TEST(climbing_ends_at_the_sandboxs_root) {
        const struct site *s = *state;
        _cleanup_free_ char *secret = path_of(s->outside, "secret");

        make_file(s->outside, "secret", "secret\n");
        expect_both(s, WORDS("climb", secret), "ENOENT", "ok");
        expect_inside(s, NULL, WORDS("climb", "/usr/bin/env"), "ok");
        expect_inside(s, NULL, WORDS("chroot", secret), "EPERM");
        /* The classic, on a host that lets it happen. */
        expect_outside(s, WORDS("unshare", "-Ur"), WORDS("chroot", secret), "ok");
}

TEST(a_namespace_of_ones_own_is_no_way_to_a_mount) {
        const struct site *s = *state;

        expect_both(s, WORDS("namespace"), "EPERM", "ok");
        expect_inside(s, WORDS("--seccomp=none"), WORDS("namespace"), "ok");
        expect_inside(s, NULL, WORDS("tmpfs"), "EPERM");
        expect_outside(s, WORDS("unshare", "-Urm"), WORDS("tmpfs"), "ok");
}

/* What "nested" opens is a namespace's own: its root has all capabilities in there. */
TEST(the_root_of_a_nested_namespace_rules_nothing_else) {
        const struct site *s = *state;
        /* user_namespaces(7): without CAP_SETFCAP root can't be mapped to anybody (5.12). */
        const char *enter = geteuid() == 0 ? "-Um" : "-Urm";
        _cleanup_free_ char *helper = helper_path("attempt"), *bind = text_of("%s:/attempt:ro", helper),
                            *secret = path_of(s->outside, "secret"),
                            *script = text_of(
                                    "/attempt chroot %s; /attempt climb %s; "
                                    "/attempt write /proc/sys/kernel/core_pattern; /attempt raw; "
                                    "/attempt disk; /attempt ptrace 1; /attempt process-file 1 mem; "
                                    "/attempt process-file 1 root; /attempt user-keyring; /attempt tmpfs",
                                    secret, secret),
                            *expected = text_of("ENOENT\nENOENT\n%s\nEPERM\nEPERM\nEPERM\nEACCES\n"
                                                "EACCES\nEPERM\nok\n",
                                                geteuid() == 0 ? "EROFS" : "EACCES");
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->outside, "secret", "secret\n");
        RUN(s, &o, "--seccomp=nested", "--bind", bind, "--", "unshare", "--keep-caps", enter, "sh", "-c",
            script);
        expect_out(&o, expected);
        expect_outside(s, WORDS("unshare", "-Urm"), WORDS("chroot", secret), "ok");
        RUN(s, &o, "--bind", bind, "--", "unshare", "-Urm", "/attempt", "tmpfs");
        expect_status(&o, 1);
        expect_in(o.err, "Operation not permitted");
}

static void leak_a_folder(void *data) {
        int fd = open(data, O_RDONLY | O_DIRECTORY);

        if (fd < 0 || dup2(fd, 3) < 0 || dup2(fd, 77) < 0)
                _exit(123);
}

TEST(an_open_folder_of_the_caller_is_no_way_out) {
        static const char *const numbers[] = {"3", "77"};
        const struct site *s = *state;
        _cleanup_free_ char *helper = helper_path("attempt"), *bind = text_of("%s:/attempt:ro", helper);

        make_file(s->outside, "secret", "secret\n");
        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
                const char *const outside[] = {helper, "from-descriptor", numbers[i], "secret", NULL};
                _cleanup_free_ const char **inside = nsrun_argv(
                        s, WORDS("--bind", bind, "--", "/attempt", "from-descriptor", numbers[i], "secret"));
                struct request request = {
                        .argv = inside, .cwd = s->root, .in_child = leak_a_folder, .data = s->outside};
                _cleanup_outcome_ struct outcome o = {0};

                run(&request, &o);
                expect_out(&o, "EBADF\n");
                outcome_clear(&o);
                request.argv = outside;
                run(&request, &o);
                expect_out(&o, "ok\n");
        }
}

/* "TYPE:HEX" */
static char *handle_of(const char *path) {
        struct {
                struct file_handle handle;
                unsigned char bytes[MAX_HANDLE_SZ];
        } found = {.handle = {.handle_bytes = MAX_HANDLE_SZ}};
        char *text = NULL;
        size_t size;
        int mount_id;
        FILE *f;

        if (name_to_handle_at(AT_FDCWD, path, &found.handle, &mount_id, 0) < 0)
                return NULL;
        f = open_memstream(&text, &size);
        assert_non_null(f);
        (void)fprintf(f, "%d:", found.handle.handle_type);
        for (unsigned i = 0; i < found.handle.handle_bytes; i++)
                (void)fprintf(f, "%02x", found.bytes[i]);
        assert_int_equal(fclose(f), 0);
        return text;
}

/* The way out of early Docker: no folder leads there, but the file system is the same. */
TEST(a_file_handle_opens_nothing) {
        const struct site *s = *state;
        _cleanup_free_ char *secret = path_of(s->outside, "secret"), *handle = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->outside, "secret", "secret\n");
        handle = handle_of(secret);
        if (!handle)
                skip_because("skipped: this file system has no handles: %s", strerror(errno));
        expect_inside(s, NULL, WORDS("handle", handle, s->project), "EPERM");
        expect_inside(s, NULL, WORDS("climb", secret), "ENOENT");
        try_outside(s, NULL, WORDS("handle", handle, s->project), &o);
        expect_out(&o, geteuid() == 0 ? "ok\n" : "EPERM\n");
}

TEST(a_hard_link_carries_nothing_into_a_writable_folder) {
        const struct site *s = *state;
        _cleanup_free_ char *secret = path_of(s->outside, "secret"), *link = path_of(s->project, "linked");

        make_file(s->outside, "secret", "secret\n");
        expect_inside(s, WORDS("--ro", s->outside), WORDS("hard-link", secret, link), "EXDEV");
        expect_outside(s, NULL, WORDS("hard-link", secret, link), "ok");
}

/* ----------------------------------------------------------------- privileges */

/* Root can give a program away, and set it to run as its new owner; an ordinary user
 * has those of the system.  A libc ignores LD_SHOW_AUXV in a program that has just
 * gained something. */
TEST(a_setuid_program_gives_nothing) {
        static const char system[] = "LD_SHOW_AUXV=1 $(command -v passwd) --help | tr -s ' ' | grep AT_EUID";
        const struct site *s = *state;
        _cleanup_free_ char *path = path_of(s->project, "attempt"),
                            *expected = text_of("AT_EUID: %u\n", geteuid());
        _cleanup_outcome_ struct outcome o = {0};

        if (geteuid() == 0) {
                copy_helper(s, "attempt");
                assert_int_equal(chown(path, 12345, 12345), 0);
                assert_int_equal(chmod(path, 06755), 0);
                run_outside(s, &o, "./attempt ids");
                expect_out(&o, "12345 12345 0\n");
                run_inside(s, &o, "./attempt ids");
                expect_out(&o, "0 0 1\n");
                return;
        }
        run_outside(s, &o, "test -u $(command -v passwd) && LD_SHOW_AUXV=1 sh -c : | grep -q AT_EUID");
        if (o.status != 0)
                skip_because("skipped: no setuid passwd here, or a libc that can't tell");
        run_inside(s, &o, system);
        expect_out(&o, expected);
        run_outside(s, &o, system);
        expect_out(&o, "");
}

/* The file and its bit are on the host's disk, as chmod(1) by the same user on the host
 * would leave them; in the sandbox it gives nothing, by nosuid and no_new_privs. */
TEST(a_dropped_setuid_file_gives_nothing_inside) {
        const struct site *s = *state;
        _cleanup_free_ char *path = path_of(s->project, "dropped"),
                            *ids = text_of("%u %u 1\n", geteuid(), getegid());
        _cleanup_outcome_ struct outcome o = {0};
        struct stat st;

        copy_helper(s, "attempt");
        run_inside(s, &o,
                   "cp attempt dropped && chmod 6755 dropped; ./dropped ids; grep -c nosuid /proc/mounts; "
                   "grep -v nosuid /proc/mounts | grep ' rw'");
        assert_true(startswith(o.out, ids));
        /* No mount that is written to is without nosuid: the last grep found none. */
        expect_status(&o, 1);
        assert_int_equal(lstat(path, &st), 0);
        assert_int_equal(st.st_uid, geteuid());
        print_message("the host sees: owner %u, mode %04o\n", st.st_uid, st.st_mode & 07777);
}

/* What root alone may read of the kernel's settings says nothing that is secret, but for these keys: a file
 * that a later kernel has there is seen here. */
TEST_IF(geteuid() == 0, root_reads_no_keys_of_the_hosts_network, site_setup, site_teardown) {
        static const char script[] =
                "find /proc/sys -type f ! -perm -o+r -perm -u+r ! -path '*/stable_secret' | while read -r f; do "
                "cat $f >/dev/null 2>&1 && echo $f; done | "
                "grep -vxE '/proc/sys/(kernel/(cad_pid|usermodehelper/(bset|inheritable))|vm/(mmap_rnd_.*|stat_refresh))'; "
                "ls -A /proc/sys/net/ipv6/conf 2>/dev/null | wc -l; cat /proc/sys/net/ipv4/tcp_fastopen_key 2>&1";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0}, own = {0}, outside = {0};

        run_inside(s, &o, script);
        expect_out(&o, "0\ncat: /proc/sys/net/ipv4/tcp_fastopen_key: Permission denied\n");
        /* Of its own network it may know. */
        RUN(s, &own, "--net=none", "--", "sh", "-c", script);
        expect_in(own.out, "/proc/sys/net/ipv4/tcp_fastopen_key\n");
        expect_not_in(own.out, "denied");
        run_outside(s, &outside, script);
        expect_in(outside.out, "/proc/sys/net/ipv4/tcp_fastopen_key\n");
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the command sees and can't do: the root folder, processes, privileges,
 * descriptors, devices, network, environment.  Files have test-files.c. */
#include "harness.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "probe.h"

/* ---------------------------------------------------------------- the root */

/* Not to root where the kernel keeps addresses for a crash dump there. */
static bool shows_processors(void) {
        return access("/sys/devices/system/cpu/online", F_OK) == 0 &&
               (geteuid() != 0 || access("/sys/devices/system/cpu/cpu0/crash_notes", F_OK) != 0);
}

TEST(the_root_folder_holds_the_plans_entries_alone) {
        static const char *const always[] = {"bin", "dev", "etc",  "lib",  "lib32", "lib64", "libx32",
                                             "nix", "opt", "proc", "sbin", "sys",   "tmp",   "usr"};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *top = strdup(s->root + 1), *expected = NULL;
        size_t size;
        FILE *f = open_memstream(&expected, &size);

        top[strcspn(top, "/")] = '\0';
        for (size_t i = 0; i < ARRAY_SIZE(always); i++) {
                _cleanup_free_ char *path = path_of("", always[i]);

                if (access(path, F_OK) == 0 && (!streq(always[i], "sys") || shows_processors()))
                        (void)fprintf(f, "%s\n", always[i]);
        }
        (void)fprintf(f, "%s\n", top);
        (void)fclose(f);

        RUN(s, &o, "--env", "LC_ALL=C", "--", "ls", "-A", "/");
        expect_status(&o, 0);
        expect_out(&o, expected);
        RUN(s, &o, "--", "ls", "-A", s->root);
        expect_out(&o, "home\nproject\n");
        run_outside(s, &o, "ls -A / ..");
        expect_in(o.out, "boot\n");
        expect_in(o.out, "outside\n");
}

TEST(what_is_not_exposed_does_not_exist) {
        const struct site *s = *state;
        _cleanup_free_ char *script =
                text_of("cat /etc/shadow; ls ~/.ssh; cat %s/secret; ls /etc/ssh; ls /run; "
                        "ls /sys/kernel; ls /boot",
                        s->outside);
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->home, ".ssh");
        make_file(s->outside, "secret", "secret");
        run_inside(s, &o, script);
        expect_in(o.err, "/etc/shadow: No such file or directory\n");
        expect_in(o.err, "/.ssh': No such file or directory\n");
        expect_in(o.err, "/outside/secret: No such file or directory\n");
        expect_in(o.err, "'/etc/ssh': No such file or directory\n");
        expect_in(o.err, "'/run': No such file or directory\n");
        expect_in(o.err, "'/sys/kernel': No such file or directory\n");
        expect_in(o.err, "'/boot': No such file or directory\n");
        expect_out(&o, "");
        run_outside(s, &o, "test -e /etc/shadow && ls ~/.ssh && cat ../outside/secret && test -d /run");
        expect_status(&o, 0);
        expect_out(&o, "secret");
}

TEST(the_system_and_the_root_are_read_only) {
        static const char *const paths[] = {"/usr/x", "/x", "/etc/x", "/dev/x", "/opt/x"};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
                _cleanup_free_ char *expected = text_of("%s: Read-only file system\n", paths[i]);

                PROBE(s, &o, "create", paths[i]);
                expect_out(&o, expected);
        }
        /* The host itself says something else of the same folders. */
        assert_true(access("/usr", W_OK) == 0 || errno == EACCES || errno == EROFS);
        PROBE(s, &o, "create", "/tmp/x");
        expect_out(&o, "/tmp/x: ok\n");
        RUN(s, &o, "--", "sh", "-c", "echo made >made && echo home >~/made && cat made ~/made");
        expect_out(&o, "made\nhome\n");
        run_outside(s, &o, "cat made; ls -A ~");
        expect_out(&o, "made\n");
}

TEST(passwd_and_group_name_the_user_root_and_nobody) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *ids = text_of("%u:%u\n", geteuid(), getegid());

        RUN(s, &o, "--", "sh", "-c",
            "cut -d: -f3 /etc/passwd; echo; cut -d: -f3 /etc/group; stat -c %a /etc/passwd");
        if (geteuid() == 0)
                expect_out(&o, "0\n65534\n\n0\n65534\n444\n");
        else {
                _cleanup_free_ char *expected =
                        text_of("0\n%u\n65534\n\n0\n%u\n65534\n444\n", geteuid(), getegid());

                expect_out(&o, expected);
        }
        RUN(s, &o, "--", "sh", "-c", "echo $(id -u):$(id -g) && id -un >/dev/null && id -gn >/dev/null");
        expect_status(&o, 0);
        expect_out(&o, ids);
        expect_in(o.err, "");
        run_outside(s, &o, "test $(wc -l </etc/passwd) -gt 3");
        expect_status(&o, 0);
}

/* Another name for the same user: its rights are no more than they were. */
TEST(an_id_of_ones_own_choice_brings_no_right) {
        static const char good[] =
                "id -u; id -g; id -un; id -gn; stat -c %u:%g .; : >made; stat -c %u:%g made; "
                "chown 0:0 made && echo chowned; ls -d ~ >/dev/null && echo home";
        static const char refused[] =
                "grep -h ^Cap /proc/self/status | cut -f2 | sort -u; "
                "try() { \"$@\" >/dev/null 2>&1 && echo \"could $*\"; }; "
                "try mount -t tmpfs x /tmp; try chown 1:1 made; try unshare -m true; try unshare -U true; "
                "try chroot /; try sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'; try hostname x; "
                "try sh -c 'echo x >/usr/x'; try cat /proc/1/environ; try ls -l /proc/1/cwd/; "
                "try sh -c 'echo 1 >/proc/sys/kernel/msgmax'; echo done";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *made = path_of(s->project, "made"),
                            *shown = text_of("uid 4711, gid 4712, on the host %u and %u; no cap", geteuid(),
                                             getegid());
        struct stat st;

        RUN(s, &o, "--uid=0", "--gid", "0", "--net=none", "--", "sh", "-c", good);
        expect_status(&o, 0);
        expect_out(&o, "0\n0\nroot\nroot\n0:0\n0:0\nchowned\nhome\n");
        assert_string_equal(o.err, "");
        assert_int_equal(stat(made, &st), 0);
        assert_int_equal(st.st_uid, geteuid());
        assert_int_equal(st.st_gid, getegid());
        RUN(s, &o, "--uid=0", "--gid", "0", "--net=none", "--", "sh", "-c", refused);
        expect_status(&o, 0);
        expect_out(&o, "0000000000000000\ndone\n");
        RUN(s, &o, "--uid=4711", "--gid=4712", "--", "sh", "-c",
            "id -u; id -g; cut -d: -f3 /etc/passwd; id -un");
        expect_status(&o, 0);
        expect_in(o.out, "4711\n4712\n0\n4711\n65534\n");
        NSRUN(s, &o, "plan", "--uid=4711", "--gid=4712", "--", "true");
        expect_in(o.out, shown);
        /* The control: without it the ids are the host's. */
        RUN(s, &o, "--", "sh", "-c", "id -u");
        expect_status(&o, 0);
        assert_int_equal(atoi(o.out), geteuid());
}

TEST(the_host_name_is_the_hosts_or_the_one_asked_for) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        struct utsname before, after;
        char expected[sizeof(before.nodename) * 2 + 4];

        assert_int_equal(uname(&before), 0);
        (void)snprintf(expected, sizeof(expected), "%s\n%s\n", before.nodename, before.nodename);
        RUN(s, &o, "--", "sh", "-c", "uname -n; cat /etc/hostname");
        expect_out(&o, expected);
        RUN(s, &o, "--hostname", "box-7.example", "--", "sh", "-c", "uname -n; cat /etc/hostname");
        expect_out(&o, "box-7.example\nbox-7.example\n");
        assert_int_equal(uname(&after), 0);
        assert_string_equal(before.nodename, after.nodename);
}

/* --------------------------------------------------------------- processes */

TEST(names_of_services_and_of_the_distribution_are_the_hosts) {
        static const char *const scripts[] = {"getent services 443/tcp", "getent protocols tcp",
                                              ". /etc/os-release; echo $ID $VERSION_ID"};
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
                _cleanup_outcome_ struct outcome inside = {0}, outside = {0};

                run_outside(s, &outside, scripts[i]);
                /* A small Debian 12 has neither list. */
                if (i == 2 || (access("/etc/services", F_OK) == 0 && access("/etc/protocols", F_OK) == 0))
                        expect_status(&outside, 0);
                run_inside(s, &inside, scripts[i]);
                expect_status(&inside, outside.status);
                expect_out(&inside, outside.out);
        }
}

TEST(var_tmp_is_tmp_unless_something_is_shown_there) {
        const struct site *s = *state;
        char home[] = "/tmp/nsrun-view-XXXXXX";
        const char *const *argv = OPTIONS(program(), "run", "--no-project", "--", "sh", "-c",
                                          "echo kept >/var/tmp/file; readlink /var/tmp; cat /tmp/file");
        const char *const *shown = OPTIONS(program(), "run", "--no-project", "--ro", s->project, "--", "sh",
                                           "-c", "readlink /var/tmp; ls /var/tmp | wc -l");
        _cleanup_outcome_ struct outcome o = {0};

        assert_non_null(mkdtemp(home));
        assert_int_equal(setenv("HOME", home, 1), 0);
        assert_int_equal(unsetenv("XDG_CACHE_HOME"), 0);
        assert_int_equal(unsetenv("XDG_STATE_HOME"), 0);
        run(&(struct request){.argv = argv, .cwd = "/"}, &o);
        expect_status(&o, 0);
        expect_out(&o, "../tmp\nkept\n");
        outcome_clear(&o);
        run(&(struct request){.argv = shown, .cwd = "/"}, &o);
        expect_status(&o, 0);
        expect_out(&o, "1\n");
        assert_int_equal(setenv("XDG_CACHE_HOME", s->cache, 1), 0);
        run_outside(s, &o, "rm -rf \"$HOME\"");
        expect_status(&o, 0);
        assert_int_equal(access("/var/tmp/file", F_OK), -1);
}

TEST(the_processors_are_shown_and_nothing_else_of_sys) {
        static const char script[] =
                "cat /sys/devices/system/cpu/online /sys/devices/system/cpu/possible; lscpu -p=cpu | grep -vc ^#; "
                "echo $(find /sys -maxdepth 3 | sort); (echo 0 >/sys/devices/system/cpu/cpu0/uevent) 2>&1 | sed 's,/.*:,:,'; "
                "unshare -Urm mount -t sysfs x /tmp 2>/dev/null; echo $?";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *online = file_text("/sys/devices/system/cpu/online"),
                            *possible = file_text("/sys/devices/system/cpu/possible"),
                            *expected = online ? text_of("%s%s%ld\n/sys /sys/devices /sys/devices/system "
                                                         "/sys/devices/system/cpu\n",
                                                         online, possible, sysconf(_SC_NPROCESSORS_ONLN))
                                               : NULL;

        RUN(s, &o, "--", "sh", "-c", script);
        if (!shows_processors()) {
                expect_not_in(o.out, "/sys");
                return;
        }
        expect_in(o.out, "Read-only file system\n1\n");
        assert_int_equal(strncmp(o.out, expected, strlen(expected)), 0);
}

TEST(a_host_process_can_not_be_signalled) {
        const struct site *s = *state;
        _cleanup_free_ char *pid = text_of("%d", getpid());
        _cleanup_outcome_ struct outcome o = {0};

        /* The numbers of a sandbox begin at 1 again. */
        assert_true(getpid() > 8);
        PROBE(s, &o, "kill", pid);
        expect_out(&o, "kill: No such process\n");
        run_control(s, &o, "kill", pid);
        expect_out(&o, "kill: ok\n");
}

TEST(proc_shows_the_sandboxs_processes_alone) {
        const struct site *s = *state;
        _cleanup_free_ char *pid = text_of(" %d ", getpid());
        _cleanup_outcome_ struct outcome o = {0};

        PROBE(s, &o, "processes", NULL);
        expect_out(&o, "1 2 ");
        run_control(s, &o, "processes", NULL);
        expect_in(o.out, pid);
}

/* Whether a line is of a file that the kernel has of no process, as user-mode-linux has no "syscall". */
static bool is_of_no_file(const char *line) {
        const char *name = startswith(line, "/proc/1/");
        char path[64];

        if (!name)
                return false;
        (void)snprintf(path, sizeof(path), "/proc/self/%.*s", (int)strcspn(name, ":"), name);
        return !strchr(path + strlen("/proc/self/"), '/') && access(path, F_OK) < 0 && errno == ENOENT;
}

TEST(pid_1_can_not_be_read_or_ended) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        PROBE(s, &o, "pid1", "1");
        for (const char *line = o.out, *end; (end = strchr(line, '\n')); line = end + 1)
                if (strncmp(end - 19, ": Permission denied", 19) != 0 &&
                    strncmp(end - 25, ": Operation not permitted", 25) != 0 && !is_of_no_file(line) &&
                    /* Root may search the folder, and learns which numbers are not open. */
                    (geteuid() != 0 || strncmp(line, "/proc/1/fd/5: ", 14) != 0 ||
                     strncmp(end - 27, ": No such file or directory", 27) != 0))
                        fail_msg("pid 1 was not closed: %.*s", (int)(end - line), line);
        expect_in(o.out, "/proc/1/mem: ");
        expect_in(o.out, "vm_readv: ");
        /* The same calls, on a process that is the caller's. */
        RUN(s, &o, "--", "sh", "-c",
            "head -c1 /proc/$$/environ >/dev/null && ls /proc/$$/root/usr >/dev/null && "
            "cat /proc/$$/maps >/dev/null");
        expect_status(&o, 0);
        RUN(s, &o, "--", "sh", "-c", "kill -KILL 1; kill -TERM 1; kill -INT 1; echo alive");
        expect_status(&o, 0);
        expect_out(&o, "alive\n");
}

TEST(pid_1_keeps_nothing_of_the_callers_command_line) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--env", "SECRET_WORD=marzipan", "--hostname", "marzipan", "--", "sh", "-c",
            "tr -d '\\0' </proc/1/cmdline; cat /proc/1/comm; tr -d '\\0' </proc/$$/cmdline; : marzipan");
        expect_status(&o, 0);
        expect_not_in(o.out, "--hostname");
        expect_not_in(o.out, "SECRET_WORD");
        if (by_the_library() || in_a_session())
                assert_int_equal(strncmp(o.out, "nsrun-initnsrun-init\nsh-c", 25), 0);
        else
                assert_int_equal(strncmp(o.out, "nsrun\nsh-c", 10), 0);
        expect_in(o.out, "marzipan");
}

TEST(all_five_capability_sets_are_empty) {
        static const char script[] = "for p in 1 self; do grep -E '^(Cap|NoNewPrivs)' /proc/$p/status; done";
        static const char none[] = "CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\n"
                                   "CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\n"
                                   "CapAmb:\t0000000000000000\nNoNewPrivs:\t1\n";
        const struct site *s = *state;
        _cleanup_free_ char *twice = text_of("%s%s", none, none);
        _cleanup_outcome_ struct outcome o = {0};

        run_inside(s, &o, script);
        expect_out(&o, twice);
        run_outside(s, &o, script);
        expect_not_in(o.out, "CapBnd:\t0000000000000000\n");
}

TEST(nothing_that_needs_a_privilege_works) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        PROBE(s, &o, "mount", NULL);
        expect_out(&o, "mount: Operation not permitted\nbind: Operation not permitted\n"
                       "remount: Operation not permitted\numount: Operation not permitted\n"
                       "chroot: Operation not permitted\nmknod: Operation not permitted\n"
                       "sethostname: Operation not permitted\nsetuid: Invalid argument\n");
        run_outside(s, &o, "unshare -Urm mount -t tmpfs none /tmp");
        expect_status(&o, 0);
}

TEST(a_nested_user_namespace_undoes_nothing) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        PROBE(s, &o, "nested", NULL);
        expect_in(o.out, "unshare: Operation not permitted\ntmpfs: Operation not permitted\n");
        run_probe(s, &o, OPTIONS("--seccomp=nested"), "nested", NULL);
        /* What it makes for itself is its own. */
        expect_in(o.out, "unshare: ok\ntmpfs: ok\n");
        expect_in(o.out, "\nusr: Operation not permitted\nroot: Operation not permitted\n"
                         "sys: Invalid argument\nproc: Invalid argument\nnull: Invalid argument\n"
                         "home: Invalid argument\n/: Invalid argument\n/x: Read-only file system\n"
                         "/usr/x: Read-only file system\n");
        expect_in(o.out,
                  geteuid() == 0 ? "/hostname: Read-only file system\n" : "/hostname: Permission denied\n");
}

TEST(kernel_settings_can_not_be_written_not_even_by_root) {
        static const char script[] =
                "find /proc/sys /proc/sysrq-trigger /proc/irq /proc/bus /proc/fs -writable 2>/dev/null | head";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        run_inside(s, &o, script);
        expect_status(&o, 0);
        expect_out(&o, "");
        PROBE(s, &o, "write", "/proc/sys/kernel/core_pattern");
        expect_in(o.out, geteuid() == 0 ? ": Read-only file system\n" : ": Permission denied\n");
        PROBE(s, &o, "open", "/proc/sys/kernel/core_pattern");
        expect_out(&o, "/proc/sys/kernel/core_pattern: ok\n");
        /* Nor is told when a key was pressed. */
        RUN(s, &o, "--", "cat", "/proc/interrupts");
        expect_out(&o, "");
        if (geteuid() == 0) {
                run_outside(s, &o, script);
                expect_in(o.out, "/proc/sys/");
        }
}

TEST(shared_memory_of_the_host_is_not_there) {
        const struct site *s = *state;
        key_t key = 0x6e730000 + getpid();
        _cleanup_free_ char *text = text_of("%d", (int)key);
        _cleanup_outcome_ struct outcome o = {0}, control = {0};
        int id = shmget(key, 4096, IPC_CREAT | IPC_EXCL | 0600);

        assert_true(id >= 0);
        PROBE(s, &o, "memory", text);
        run_control(s, &control, "memory", text);
        assert_int_equal(shmctl(id, IPC_RMID, NULL), 0);
        expect_out(&o, "segment: No such file or directory\n");
        expect_out(&control, "segment: ok\n");
}

/* ------------------------------------------------- what is inherited or not */

static void leak_descriptors(void *data) {
        const int *numbers = data;
        int fd = open("/", O_RDONLY | O_DIRECTORY);

        for (; *numbers; numbers++)
                if (fd < 0 || dup2(fd, *numbers) < 0)
                        _exit(123);
        (void)close(fd);
}

TEST(no_descriptor_above_2_reaches_the_command) {
        static int numbers[] = {5, 7, 100, 1000, 0};
        const struct site *s = *state;
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL);
        _cleanup_free_ char *bind = text_of("%s:/probe:ro", self);
        _cleanup_free_ const char **argv =
                nsrun_argv(s, OPTIONS("--bind", bind, "--", "/probe", "probe", "descriptors"));
        const char *const control[] = {"/proc/self/exe", "probe", "descriptors", NULL};
        struct request request = {.argv = control, .in_child = leak_descriptors, .data = numbers};
        _cleanup_outcome_ struct outcome o = {0};

        run(&request, &o);
        expect_in(o.out, "0 1 2 ");
        expect_in(o.out, " 7 ");
        expect_in(o.out, " 100 ");
        expect_in(o.out, " 1000 ");
        outcome_clear(&o);
        request.argv = argv;
        run(&request, &o);
        expect_status(&o, 0);
        expect_out(&o, "0 1 2 ");
}

TEST(the_standard_streams_are_the_callers) {
        const struct site *s = *state;
        _cleanup_free_ char *path = path_of(s->outside, "input");
        _cleanup_free_ const char **argv = nsrun_argv(s, OPTIONS("--", "sh", "-c", "cat; echo error >&2"));
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_close_ int fd = -EBADF;

        make_file(s->outside, "input", "from the host\n");
        fd = open(path, O_RDONLY | O_CLOEXEC);
        assert_true(fd > 0);
        run(&(struct request){.argv = argv, .standard_input = fd}, &o);
        expect_status(&o, 0);
        expect_out(&o, "from the host\n");
        assert_string_equal(o.err, "error\n");
}

static void set_process_state(nsrun_unused void *data) {
        struct sigaction ignore = {.sa_handler = SIG_IGN};
        const unsigned long standard[8] = {0};
        sigset_t set;

        (void)umask(027);
        /* The two that the C library keeps for its threads: a host with some has handlers for them. */
        for (int signal = 32; signal <= 33; signal++)
                (void)syscall(SYS_rt_sigaction, signal, standard, NULL, (size_t)8);
        (void)sigemptyset(&set);
        (void)sigaddset(&set, SIGUSR1);
        (void)sigaddset(&set, SIGRTMIN + 3);
        if (sigprocmask(SIG_SETMASK, &set, NULL) < 0 || sigaction(SIGUSR2, &ignore, NULL) < 0 ||
            sigaction(SIGPIPE, &ignore, NULL) < 0)
                _exit(123);
}

/* But not what the caller has blocked for itself: the command's end would have to wait for SIGKILL. */
TEST(umask_and_ignored_signals_are_inherited) {
        const struct site *s = *state;
        const char *const grep[] = {"grep", "-E", "^(Umask|SigBlk|SigIgn|SigCgt)", "/proc/self/status",
                                    NULL};
        const char *const options[] = {"--", grep[0], grep[1], grep[2], grep[3], NULL};
        _cleanup_free_ const char **argv = nsrun_argv(s, options);
        struct request request = {.argv = grep, .in_child = set_process_state};
        _cleanup_outcome_ struct outcome outside = {0}, inside = {0};
        _cleanup_free_ char *expected = NULL;

        run(&request, &outside);
        expect_status(&outside, 0);
        expect_in(outside.out, "Umask:\t0027\n");
        expect_in(outside.out, "SigBlk:\t0000001000000200\n");
        expected = replaced(outside.out, "0000001000000200", "0000000000000000");
        request.argv = argv;
        run(&request, &inside);
        expect_status(&inside, 0);
        expect_out(&inside, expected);
}

TEST(secrets_and_dead_addresses_are_left_out_of_the_environment) {
        static const char *const variables[][2] = {
                {"GITHUB_TOKEN", "sesame"},     {"AWS_ACCESS_KEY_ID", "sesame"},
                {"MY_PASSWORD", "sesame"},      {"OPENAI_API_KEY", "sesame"},
                {"npm_config__auth", "sesame"}, {"SSH_AUTH_SOCK", "/sesame"},
                {"XDG_RUNTIME_DIR", "/sesame"}, {"DISPLAY", ":sesame"},
                {"DOCKER_HOST", "sesame"},      {"DBUS_SESSION_BUS_ADDRESS", "x"},
                {"WAYLAND_DISPLAY", "sesame"},
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
                assert_int_equal(setenv(variables[i][0], variables[i][1], 1), 0);
        assert_int_equal(setenv("HARMLESS", "a=b c", 1), 0);
        RUN(s, &o, "--env", "GITHUB_TOKEN", "--env", "ADDED=x", "--unsetenv", "LANG", "--", "env");
        expect_status(&o, 0);
        expect_in(o.out, "GITHUB_TOKEN=sesame\n");
        expect_in(o.out, "HARMLESS=a=b c\n");
        expect_in(o.out, "ADDED=x\n");
        expect_not_in(o.out, "LANG=");
        if (!in_a_session())
                assert_string_equal(
                        o.err, "nsrun: note: variables that look like secrets are withheld from the command "
                               "(--env NAME passes one): AWS_ACCESS_KEY_ID, MY_PASSWORD, OPENAI_API_KEY, "
                               "npm_config__auth\n");
        for (size_t i = 1; i < ARRAY_SIZE(variables); i++)
                expect_not_in(o.out, variables[i][0]);

        RUN(s, &o, "--clean-env", "--env", "ADDED=x", "--", "env");
        expect_not_in(o.out, "HARMLESS");
        assert_string_equal(o.err, "");
        expect_not_in(o.out, "sesame");
        expect_in(o.out, "ADDED=x\n");
        expect_in(o.out, "PATH=");
        expect_in(o.out, "HOME=");
        run_outside(s, &o, "env");
        for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
                expect_in(o.out, variables[i][0]);
                assert_int_equal(unsetenv(variables[i][0]), 0);
        }
        assert_int_equal(unsetenv("HARMLESS"), 0);
}

/* -------------------------------------------------------- devices, terminals */

TEST(the_devices_are_there_and_no_others) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--env", "LC_ALL=C", "--", "ls", "-A", "/dev");
        expect_out(&o,
                   "fd\nfull\nnull\nptmx\npts\nrandom\nshm\nstderr\nstdin\nstdout\ntty\nurandom\nzero\n");
        PROBE(s, &o, "devices", NULL);
        expect_out(&o, "zero: ok\nbytes: 0 0\nfull: No space left on device\nnull: ok\nurandom: ok\n"
                       "shm: ok\nnew: Read-only file system\n");
        PROBE(s, &o, "pty", NULL);
        expect_out(&o, "forkpty: ok\nread: ok\nname: /dev/pts/0\n");
}

TEST(the_hosts_device_nodes_can_not_be_changed) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        struct stat before, after;

        assert_int_equal(stat("/dev/full", &before), 0);
        RUN(s, &o, "--", "sh", "-c", "chmod 666 /dev/full; touch -c -m /dev/full");
        assert_int_equal(stat("/dev/full", &after), 0);
        expect_in(o.err, "Read-only file system");
        assert_int_equal(before.st_ctim.tv_sec, after.st_ctim.tv_sec);
        assert_int_equal(before.st_ctim.tv_nsec, after.st_ctim.tv_nsec);
}

static void take_terminal(void *data) {
        const int *terminal = data;

        if (setsid() < 0 || ioctl(*terminal, TIOCSCTTY, 0) < 0)
                _exit(123);
}

TEST(the_callers_terminal_is_shared_only_when_asked_for) {
        const struct site *s = *state;
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL);
        _cleanup_free_ char *bind = text_of("%s:/probe:ro", self);
        _cleanup_free_ const char **own =
                nsrun_argv(s, OPTIONS("--bind", bind, "--", "/probe", "probe", "session"));
        _cleanup_free_ const char **shared = nsrun_argv(
                s, OPTIONS("--bind", bind, "--no-new-session", "--", "/probe", "probe", "session"));
        _cleanup_close_ int master = -EBADF, slave = -EBADF;
        struct request request = {.argv = own, .in_child = take_terminal, .data = &slave};
        _cleanup_outcome_ struct outcome o = {0};

        assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
        request.standard_input = slave;
        run(&request, &o);
        expect_status(&o, 0);
        expect_out(&o, "own session: yes\n/dev/tty: No such device or address\n");
        outcome_clear(&o);
        close_fdp(&slave);
        close_fdp(&master);
        assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
        request.standard_input = slave;
        request.argv = shared;
        run(&request, &o);
        expect_status(&o, 0);
        expect_out(&o, "own session: no\n/dev/tty: ok\n");
}

/* ----------------------------------------------------------------- network */

TEST(without_a_network_there_is_loopback_alone) {
        static const char *const none[] = {"--net=none", NULL};
        const struct site *s = *state;
        struct sockaddr_in at = {.sin_family = AF_INET};
        socklen_t n = sizeof(at);
        _cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *port = NULL;

        run_probe(s, &o, none, "network", NULL);
        expect_out(&o, "bind: ok\nlisten: ok\nconnect: ok\nup: lo\n");

        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        assert_int_equal(bind(fd, (const struct sockaddr *)&at, n), 0);
        assert_int_equal(listen(fd, 8), 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
        port = text_of("%u", (unsigned)ntohs(at.sin_port));
        run_probe(s, &o, none, "connect", port);
        expect_out(&o, "connect: Connection refused\n");
        PROBE(s, &o, "connect", port);
        expect_out(&o, "connect: ok\n");
}

int main(int argc, char **argv) {
        probe_main(argc, argv);
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the seccomp filter of a run answers, call by call: answer.c tells it from what
 * the kernel would say, so that each row has its own control without a filter.  What a
 * command gets at in the end is in test-breakouts.c. */
#include "faults.h"

/* A call of answer.c, and who answers it how: an error is the filter's, "kernel" is
 * a call that it lets pass. */
struct row {
        const char *call;
        const char *answer;
};

static char *script_of(const struct row *rows, size_t n, const char *program_inside) {
        char *script = NULL;
        size_t size;
        FILE *f = open_memstream(&script, &size);

        assert_non_null(f);
        (void)fputs("for c in", f);
        for (size_t i = 0; i < n; i++)
                (void)fprintf(f, " %s", rows[i].call);
        (void)fprintf(f, "; do echo \"$c: $(%s $c 2>&1)\"; done", program_inside);
        assert_int_equal(fclose(f), 0);
        return script;
}

/* With `answer` for all, or each with its own. */
static char *lines_of(const struct row *rows, size_t n, const char *answer) {
        char *lines = NULL;
        size_t size;
        FILE *f = open_memstream(&lines, &size);

        assert_non_null(f);
        for (size_t i = 0; i < n; i++)
                (void)fprintf(f, "%s: %s\n", rows[i].call, answer ? answer : rows[i].answer);
        assert_int_equal(fclose(f), 0);
        return lines;
}

static void ask(const struct site *s, const char *option, const char *script, struct outcome *ret) {
        _cleanup_free_ char *helper = helper_path("answer"), *bind = text_of("%s:/answer:ro", helper);

        if (option)
                RUN(s, ret, option, "--bind", bind, "--", "sh", "-c", script);
        else
                RUN(s, ret, "--bind", bind, "--", "sh", "-c", script);
        expect_status(ret, 0);
}

/* Leaves out the rows of 32-bit programs where the machine has no way into the kernel for these, and skips
 * the test where something else answers before the kernel: a filter that nsrun itself was started behind, as
 * in a container.  Returns how many are left. */
static size_t keep_the_kernels(const struct site *s, struct row *rows, size_t n) {
        _cleanup_free_ char *helper = helper_path("answer"), *script = script_of(rows, n, helper);
        _cleanup_outcome_ struct outcome o = {0};
        size_t n_kept = 0;
        char *next, other[256] = "";

        run_outside(s, &o, script);
        expect_status(&o, 0);
        next = o.out;
        for (size_t i = 0; i < n; i++) {
                const char *line = strsep(&next, "\n");
                _cleanup_free_ char *kernels = text_of("%s: kernel", rows[i].call);
                _cleanup_free_ char *none = text_of("%s: signal %d", rows[i].call, SIGSEGV);

                if (streq(line, kernels))
                        rows[n_kept++] = rows[i];
                else if (!startswith(line, "int80-") || !streq(line, none))
                        (void)snprintf(other, sizeof(other), "%s", line);
        }
        if (other[0]) {
                outcome_clear(&o);
                free(TAKE_PTR(script));
                free(TAKE_PTR(helper));
                skip_because("skipped: something here answers before the kernel already: %s", other);
        }
        return n_kept;
}

/* `option` NULL: what a run has where nobody asks.  The control is the same sandbox
 * without a filter: there the kernel has the last word. */
static void check_rows(const struct site *s, const char *option, const struct row *rows, size_t n) {
        _cleanup_free_ char *script = script_of(rows, n, "/answer"), *expected = lines_of(rows, n, NULL);
        _cleanup_free_ char *all_kernel = lines_of(rows, n, "kernel");
        _cleanup_outcome_ struct outcome o = {0};

        ask(s, "--seccomp=none", script, &o);
        expect_out(&o, all_kernel);
        ask(s, option, script, &o);
        expect_out(&o, expected);
}

static void check(const struct site *s, const char *option, struct row *rows, size_t n) {
        size_t n_kept = keep_the_kernels(s, rows, n);

        if (n_kept > 0)
                check_rows(s, option, rows, n_kept);
        if (n_kept < n)
                skip_as_lacking("no programs of 32 bits run here: %zu of %zu calls", n - n_kept, n);
}
#define CHECK(site, option, ...)                             \
        do {                                                 \
                struct row rows[] = {__VA_ARGS__};           \
                check(site, option, rows, ARRAY_SIZE(rows)); \
        } while (0)

/* ------------------------------------------------------------------ what is denied */

TEST(no_call_makes_or_changes_a_mount) {
        CHECK(*state, NULL, {"mount", "EPERM"}, {"umount2", "EPERM"}, {"pivot_root", "EPERM"},
              {"chroot", "EPERM"}, {"open_tree", "EPERM"}, {"open_tree_attr", "EPERM"},
              {"move_mount", "EPERM"}, {"fsopen", "EPERM"}, {"fsconfig", "EPERM"}, {"fsmount", "EPERM"},
              {"fspick", "EPERM"}, {"mount_setattr", "EPERM"});
}

/* clone3's flags are in memory, where no filter can read: it is unknown, and libc
 * falls back to clone. */
TEST(no_call_makes_or_enters_a_namespace) {
        CHECK(*state, NULL, {"unshare-user", "EPERM"}, {"unshare-mount", "EPERM"}, {"unshare-pid", "EPERM"},
              {"unshare-net", "EPERM"}, {"unshare-ipc", "EPERM"}, {"unshare-uts", "EPERM"},
              {"unshare-cgroup", "EPERM"}, {"unshare-time", "EPERM"}, {"clone-user", "EPERM"},
              {"clone-mount", "EPERM"}, {"clone-pid", "EPERM"}, {"clone-net", "EPERM"},
              {"clone-ipc", "EPERM"}, {"clone-uts", "EPERM"}, {"clone-cgroup", "EPERM"},
              {"clone-user-high", "EPERM"}, {"clone-user-in-a-crowd", "EPERM"}, {"clone3", "ENOSYS"},
              {"setns", "EPERM"}, {"setns-user", "EPERM"}, {"setns-mount", "EPERM"}, {"setns-pid", "EPERM"},
              {"setns-net", "EPERM"}, {"setns-ipc", "EPERM"}, {"setns-uts", "EPERM"},
              {"setns-cgroup", "EPERM"}, {"setns-time", "EPERM"});
}

TEST(parts_of_the_kernel_with_a_history_are_closed) {
        CHECK(*state, NULL, {"keyctl", "EPERM"}, {"add_key", "EPERM"}, {"request_key", "EPERM"},
              {"bpf", "EPERM"}, {"perf_event_open", "EPERM"}, {"io_uring_setup", "EPERM"},
              {"io_uring_enter", "EPERM"}, {"io_uring_register", "EPERM"}, {"userfaultfd", "EPERM"},
              {"open_by_handle_at", "EPERM"});
}

TEST(the_machine_is_not_the_commands_to_rule) {
        CHECK(*state, NULL, {"init_module", "EPERM"}, {"finit_module", "EPERM"}, {"delete_module", "EPERM"},
              {"kexec_load", "EPERM"},
#ifdef __x86_64__
              {"kexec_file_load", "EPERM"}, {"iopl", "EPERM"}, {"ioperm", "EPERM"},
#endif
              {"reboot", "EPERM"}, {"swapon", "EPERM"}, {"swapoff", "EPERM"}, {"acct", "EPERM"},
              {"quotactl", "EPERM"}, {"quotactl_fd", "EPERM"}, {"settimeofday", "EPERM"},
              {"clock_settime", "EPERM"});
}

/* The kernel reads 32 bits of a request: what stands above them fools nobody. */
TEST(a_terminal_is_not_typed_into_by_ioctl) {
        CHECK(*state, NULL, {"ioctl-TIOCSTI", "EPERM"}, {"ioctl-TIOCSTI-high", "EPERM"},
              {"ioctl-TIOCLINUX", "EPERM"}, {"ioctl-TIOCLINUX-high", "EPERM"}, {"ioctl-TIOCSETD", "EPERM"},
              {"ioctl-TIOCEXCL", "EPERM"}, {"ioctl-TIOCGWINSZ", "kernel"});
}

/* nosuid holds in the sandbox alone: on the host such a file would lend its owner's rights. */
TEST(no_file_gets_a_setuid_bit_and_no_folder_that_others_reach_a_setgid_bit) {
        static const char *const policies[] = {NULL, "--seccomp=strict", "--seccomp=nested"};
        const struct site *s = *state;

        for (size_t i = 0; i < 2 * ARRAY_SIZE(policies); i++) {
                const char *setgid = i % 2 == 0 ? "kernel" : "EPERM";

                assert_int_equal(chmod(s->root, i % 2 == 0 ? 0700 : 0755), 0);
                CHECK(s, policies[i / 2], {"fchmodat-plain", "kernel"}, {"fchmodat-setuid", "EPERM"},
                      {"fchmod-setgid", setgid}, {"openat-plain", "kernel"}, {"openat-setuid", "EPERM"},
                      {"openat-tmpfile-setgid", setgid}, {"mknodat-setuid", "EPERM"});
        }
}

TEST(folders_for_a_group_are_made_as_outside) {
        static const char script[] =
                "umask 022; set -e; cd $(mktemp -d XXXXXX)\n"
                "git init -q --shared=group t1; mkdir -m 2775 t2; install -d -m 2755 t3\n"
                "tar cf t4.tar t2; mkdir t5; tar xpf t4.tar -C t5; stat -c '%n %a' t1/.git t2 t3 t5/t2\n";
        struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        assert_int_equal(chmod(s->root, 0700), 0);
        run_outside(s, &o, script);
        expect_out(&o, "t1/.git 2775\nt2 2775\nt3 2755\nt5/t2 2775\n");
        RUN(s, &o, "--", "sh", "-c", script);
        expect_status(&o, 0);
        expect_out(&o, "t1/.git 2775\nt2 2775\nt3 2755\nt5/t2 2775\n");
        RUN(s, &o, "--", "chmod", "4755", ".");
        expect_status(&o, 1);
        assert_string_equal(o.err, "chmod: changing permissions of '.': Operation not permitted\n");
        /* A folder that the command may write keeps nobody out, since its mode can be changed. */
        assert_int_equal(chmod(s->root, 0755) + chmod(s->project, 0700), 0);
        RUN(s, &o, "--", "chmod", "2755", ".");
        expect_status(&o, 1);
        assert_string_equal(o.err, "chmod: changing permissions of '.': Operation not permitted\n");
}

/* Its mode is in memory.  Where sandboxes are made inside it is had all the same: bubblewrap 0.12 stops
 * without it. */
TEST(openat2_is_for_those_who_make_sandboxes_alone) {
        CHECK(*state, NULL, {"openat2", "ENOSYS"});
        CHECK(*state, "--seccomp=strict", {"openat2", "ENOSYS"});
        CHECK(*state, "--seccomp=nested", {"openat2", "kernel"});
}

/* A socket of another protocol makes the kernel load its module. */
TEST(protocols_are_those_that_people_use) {
        CHECK(*state, NULL, {"socket-tcp", "kernel"}, {"socket-sctp", "EPROTONOSUPPORT"},
              {"socket-sctp-by-type", "ESOCKTNOSUPPORT"}, {"socket-dccp", "ESOCKTNOSUPPORT"},
              {"socket-l2tp", "EPROTONOSUPPORT"});
}

TEST(sockets_are_of_four_families) {
        CHECK(*state, NULL, {"socket-unix", "kernel"}, {"socket-inet", "kernel"}, {"socket-inet6", "kernel"},
              {"socket-route", "kernel"}, {"socket-vsock", "EAFNOSUPPORT"},
              {"socket-vsock-high", "EAFNOSUPPORT"}, {"socket-alg", "EAFNOSUPPORT"},
              {"socket-packet", "EAFNOSUPPORT"}, {"socket-packet-high", "EAFNOSUPPORT"},
              {"socket-key", "EAFNOSUPPORT"}, {"socket-bluetooth", "EAFNOSUPPORT"},
              {"socket-can", "EAFNOSUPPORT"}, {"socket-tipc", "EAFNOSUPPORT"},
              {"socket-rds", "EAFNOSUPPORT"}, {"socket-xdp", "EAFNOSUPPORT"});
}

TEST(netlink_is_for_routes_alone) {
        CHECK(*state, NULL, {"netlink-audit", "EPROTONOSUPPORT"}, {"netlink-netfilter", "EPROTONOSUPPORT"},
              {"netlink-netfilter-high", "EPROTONOSUPPORT"}, {"netlink-xfrm", "EPROTONOSUPPORT"},
              {"netlink-uevent", "EPROTONOSUPPORT"}, {"netlink-generic", "EPROTONOSUPPORT"});
}

TEST(a_call_that_nobody_knows_is_unknown) {
        CHECK(*state, NULL, {"nobodys", "ENOSYS"});
}

#ifdef __x86_64__
/* What a family is can't be seen of socketcall(2). */
TEST(programs_of_32_bits_are_denied_what_others_are) {
        CHECK(*state, NULL, {"int80-getpid", "kernel"}, {"int80-mount", "EPERM"}, {"int80-ptrace", "kernel"},
              {"int80-umount2", "EPERM"}, {"int80-umount", "EPERM"}, {"int80-ioctl-TIOCSTI", "EPERM"},
              {"int80-chroot", "EPERM"}, {"int80-socketcall", "EPERM"}, {"int80-socketcall-high", "EPERM"},
              {"int80-socketcall-pair", "EPERM"}, {"int80-socketcall-send", "kernel"},
              {"int80-clone-user", "EPERM"}, {"int80-pivot_root", "EPERM"}, {"int80-keyctl", "EPERM"},
              {"int80-unshare-user", "EPERM"}, {"int80-setns", "EPERM"}, {"int80-bpf", "EPERM"},
              {"int80-socket-vsock", "EAFNOSUPPORT"}, {"int80-socket-raw", "EPERM"},
              {"int80-open-setuid", "EPERM"}, {"int80-prlimit64-other", "EPERM"},
              {"int80-modify_ldt", "ENOSYS"}, {"int80-clock_settime64", "EPERM"}, {"int80-stime", "EPERM"},
              {"int80-vm86", "ENOSYS"}, {"int80-openat2", "ENOSYS"}, {"int80-io_uring_setup", "EPERM"},
              {"int80-clone3", "ENOSYS"});
}

TEST(strict_closes_the_gate_of_32_bit_programs) {
        CHECK(*state, "--seccomp=strict", {"int80-getpid", "ENOSYS"}, {"int80-mount", "ENOSYS"},
              {"int80-socketcall-send", "ENOSYS"}, {"int80-clone3", "ENOSYS"});
}

TEST(the_gate_of_x32_programs_is_closed) {
        CHECK(*state, NULL, {"x32-getpid", "ENOSYS"}, {"x32-mount", "ENOSYS"}, {"x32-chroot", "ENOSYS"},
              {"x32-unshare-user", "ENOSYS"}, {"x32-clone-user", "ENOSYS"}, {"x32-keyctl", "ENOSYS"},
              {"x32-bpf", "ENOSYS"}, {"x32-ioctl-TIOCSTI", "ENOSYS"}, {"x32-ptrace", "ENOSYS"});
}
#endif

/* ----------------------------------------------------------------- what is allowed */

TEST(what_debuggers_and_threads_need_is_let_through) {
        CHECK(*state, NULL, {"ptrace", "kernel"}, {"process_vm_readv", "kernel"},
              {"process_vm_writev", "kernel"}, {"personality", "kernel"}, {"clone-process", "kernel"},
              {"clone-thread", "kernel"});
}

TEST(default_is_what_a_run_has_by_itself) {
        CHECK(*state, "--seccomp=default", {"mount", "EPERM"}, {"unshare-user", "EPERM"},
              {"clone3", "ENOSYS"}, {"ioctl-TIOCSTI", "EPERM"}, {"socket-vsock", "EAFNOSUPPORT"},
              {"ptrace", "kernel"});
}

TEST(calls_are_added_to_a_policy_and_taken_from_it) {
        CHECK(*state, "--seccomp=strict+ptrace+process_vm_readv", {"ptrace", "kernel"},
              {"process_vm_readv", "kernel"}, {"process_vm_writev", "EPERM"}, {"mount", "EPERM"});
        CHECK(*state, "--seccomp=default-ptrace+socket", {"ptrace", "EPERM"}, {"socket-vsock", "kernel"},
              {"process_vm_readv", "kernel"}, {"ioctl-TIOCSTI", "EPERM"}, {"clone3", "ENOSYS"});
}

TEST(nested_with_calls_more_or_less_starts) {
        CHECK(*state, "--seccomp=nested-ptrace+perf_event_open", {"ptrace", "EPERM"},
              {"unshare-user", "kernel"}, {"int80-getpid", "ENOSYS"}, {"int80-socketcall-send", "ENOSYS"},
              {"socket-vsock", "EAFNOSUPPORT"});
}

/* For programs that bring a sandbox of their own, as browsers do. */
TEST(nested_differs_by_user_namespaces) {
        CHECK(*state, "--seccomp=nested", {"unshare-user", "kernel"}, {"clone-user", "kernel"},
              {"clone-pid", "kernel"}, {"clone-net", "kernel"}, {"chroot", "kernel"}, {"clone3", "ENOSYS"},
              {"keyctl", "EPERM"}, {"bpf", "EPERM"}, {"perf_event_open", "EPERM"},
              {"io_uring_setup", "EPERM"}, {"userfaultfd", "EPERM"}, {"open_by_handle_at", "EPERM"},
              {"reboot", "EPERM"}, {"ioctl-TIOCSTI", "EPERM"}, {"socket-vsock", "EAFNOSUPPORT"},
              {"socket-packet", "EAFNOSUPPORT"}, {"netlink-netfilter", "EPROTONOSUPPORT"});
}

TEST(strict_has_nothing_for_debuggers) {
        CHECK(*state, "--seccomp=strict", {"ptrace", "EPERM"}, {"process_vm_readv", "EPERM"},
              {"process_vm_writev", "EPERM"}, {"personality", "EPERM"}, {"mount", "EPERM"},
              {"unshare-user", "EPERM"}, {"clone-user", "EPERM"}, {"clone3", "ENOSYS"}, {"keyctl", "EPERM"},
              {"bpf", "EPERM"}, {"io_uring_setup", "EPERM"}, {"ioctl-TIOCSTI", "EPERM"},
              {"socket-vsock", "EAFNOSUPPORT"}, {"nobodys", "ENOSYS"}, {"clone-process", "kernel"},
              {"clone-thread", "kernel"}, {"socket-unix", "kernel"}, {"socket-inet", "kernel"});
}

int main(void) {
        return run_all_tests();
}

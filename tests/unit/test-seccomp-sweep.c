/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The shipped policies: what their filters answer for every call, as libseccomp and
 * as the rules have it; that each rule matters; that the kernel answers like the simulator. */
#include "judge.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "seccomp/errnos.h"
#include "seccomp/load.h"

/* Those that a filter is shipped for, but for loongarch64: Debian 12's libseccomp doesn't know it. */
static const enum syscall_arch machines[] = {SYSCALL_ARCH_X86_64, SYSCALL_ARCH_AARCH64, SYSCALL_ARCH_RISCV64,
                                             SYSCALL_ARCH_PPC64LE, SYSCALL_ARCH_S390X};

static const struct seccomp_shipped *shipped(const char *name) {
        for (size_t i = 0; i < n_seccomp_shipped; i++)
                if (streq(seccomp_shipped[i].name, name))
                        return &seccomp_shipped[i];
        fail_msg("no policy %s is shipped", name);
        return NULL;
}

TEST(the_three_policies_are_shipped) {
        static const char *const names[] = {"default", "strict", "nested"};

        assert_int_equal(n_seccomp_shipped, ARRAY_SIZE(names));
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                assert_string_equal(seccomp_shipped[i].name, names[i]);
                assert_true(strlen(seccomp_shipped[i].description) > 20);
                assert_null(strstr(seccomp_shipped[i].description, "SPDX"));
        }
}

TEST(a_shipped_table_is_what_its_policy_compiles_to) {
        for (size_t i = 0; i < n_seccomp_shipped; i++) {
                const struct seccomp_shipped *policy = &seccomp_shipped[i];
                _cleanup_filter_ struct seccomp_filter filter = {0};
                _cleanup_rules_ struct rules rules = {0};

                rules_of(policy->name, policy->json, SYSCALL_ARCH_NATIVE, &rules);
                filter_of(policy->name, &rules, SYSCALL_ARCH_NATIVE, &filter);
                assert_int_equal(filter.n, policy->n);
                assert_memory_equal(filter.code, policy->code, filter.n * sizeof(filter.code[0]));
        }
}

TEST(the_json_is_the_file_of_the_source) {
        const char *source = getenv("NSRUN_SOURCE");

        if (!source)
                skip();
        for (size_t i = 0; i < n_seccomp_shipped; i++) {
                _cleanup_free_ char *path = NULL, *text = calloc(1, RULES_MAX_BYTES);
                _cleanup_fclose_ FILE *file = NULL;
                size_t n;

                assert_true(asprintf(&path, "%s/seccomp/%s.json", source, seccomp_shipped[i].name) > 0);
                file = fopen(path, "re");
                assert_non_null(file);
                n = fread(text, 1, RULES_MAX_BYTES - 1, file);
                assert_int_equal(n, strlen(seccomp_shipped[i].json));
                assert_string_equal(text, seccomp_shipped[i].json);
        }
}

TEST(a_policy_names_known_calls_of_its_machines_alone) {
        for (size_t i = 0; i < n_seccomp_shipped; i++) {
                _cleanup_rules_ struct rules rules = {0};

                rules_of(seccomp_shipped[i].name, seccomp_shipped[i].json, SYSCALL_ARCH_NATIVE, &rules);
                assert_null(rules.warnings);
                for (size_t j = 0; j < rules.n_rules; j++)
                        STRV_FOREACH (name, rules.rules[j].names) {
                                bool has = false;

                                for (enum syscall_arch arch = 0; arch < N_SYSCALL_ARCHS; arch++)
                                        has |= syscall_number(arch, *name) >= 0;
                                if (!has)
                                        fail_msg("%s names %s, which no machine has",
                                                 seccomp_shipped[i].name, *name);
                        }
        }
}

/* Root and a sanitized build take samples: it is an ordinary user's run that judges all policies. */
static size_t sample(size_t all) {
        return NSRUN_HAS_ASAN || geteuid() == 0 ? 1 : all;
}

TEST(every_answer_is_libseccomps_and_the_rules) {
        for (size_t i = 0; i < n_seccomp_shipped; i++)
                for (size_t m = 0; m < sample(ARRAY_SIZE(machines)); m++) {
                        const struct seccomp_shipped *policy = &seccomp_shipped[i];
                        _cleanup_filter_ struct seccomp_filter filter = {0};
                        _cleanup_rules_ struct rules rules = {0};
                        bool judged[N_SYSCALL_ARCHS] = {false};

                        rules_of(policy->name, policy->json, machines[m], &rules);
                        filter_of(policy->name, &rules, machines[m], &filter);
                        memcpy(judged, rules.has_arch, sizeof(judged));
                        assert_filter_agrees(policy->name, &filter, &rules, machines[m], judged);
                }
}

/* A policy that lets 32-bit programs run answers as its rules have it. */
TEST(foreign_architectures_and_x32_get_ENOSYS) {
        for (size_t i = 0; i < n_seccomp_shipped; i++) {
                const struct seccomp_shipped *policy = &seccomp_shipped[i];
                _cleanup_points_ struct points points = {0};
                _cleanup_rules_ struct rules rules = {0};
                size_t n_own = 0;

                rules_of(policy->name, policy->json, SYSCALL_ARCH_NATIVE, &rules);
                points_make(&rules, SYSCALL_ARCH_NATIVE, &points);
                for (size_t j = 0; j < points.n; j++) {
                        const struct seccomp_data *data = &points.data[j];
                        uint32_t answer = seccomp_simulate(policy->code, policy->n, data);
                        enum syscall_arch arch = point_arch(data, SYSCALL_ARCH_NATIVE);

                        if (arch == SYSCALL_ARCH_NATIVE)
                                n_own += answer == SECCOMP_RET_ALLOW;
                        else if (arch >= N_SYSCALL_ARCHS || !rules.has_arch[arch])
                                assert_int_equal(answer, SECCOMP_RET_ERRNO | ENOSYS);
                }
                assert_true(n_own > 200);
        }
}

/* ------------------------------------------------------------------- mutations */

enum mutation {
        DROPPED,
        INVERTED,
        WITHOUT_A_CONDITION,
        OF_A_NEIGHBOUR,
        WITH_THE_HIGH_WORD,
        N_MUTATIONS
};

static const char *const mutation_names[] = {
        [DROPPED] = "dropped",
        [INVERTED] = "inverted",
        [WITHOUT_A_CONDITION] = "without a condition",
        [OF_A_NEIGHBOUR] = "of a neighbouring value",
        [WITH_THE_HIGH_WORD] = "with the high word looked at",
};

/* Changes the copy's rule; false where the rule has nothing of the kind. */
static bool mutate(struct rules *copy, size_t at, enum mutation mutation, size_t condition) {
        struct rule *rule = &copy->rules[at];
        struct rule_condition *changed = &rule->conditions[condition];

        if (mutation > INVERTED ? condition >= rule->n_conditions : condition > 0)
                return false;
        switch (mutation) {
        case DROPPED:
                memmove(rule, rule + 1, (copy->n_rules - at - 1) * sizeof(*rule));
                copy->n_rules--;
                return true;
        case INVERTED:
                rule->action =
                        rule->action == SECCOMP_RET_ALLOW ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_ALLOW;
                return true;
        case WITHOUT_A_CONDITION:
                *changed = rule->conditions[--rule->n_conditions];
                return true;
        case OF_A_NEIGHBOUR:
                changed->value ^= changed->mask & -changed->mask;
                return true;
        case WITH_THE_HIGH_WORD:
                /* Families above 16 and protocols above 262 are denied, and with a high word each is above.
                 */
                if (startswith(rule->names[0], "socket") && changed->argument != 1)
                        return false;
                if (changed->operator!= RULE_MASKED_EQ)
                        return false;
                changed->mask |= UINT64_C(0xffffffff00000000);
                return true;
        case N_MUTATIONS:
                break;
        }
        return false;
}

/* *from: where the mutant before was caught, and so, most likely, this one is. */
static bool is_caught(const struct rules *copy, enum syscall_arch arch, const struct points *points,
                      const uint32_t *expected, size_t *from) {
        _cleanup_filter_ struct seccomp_filter filter = {0};

        /* Nothing can be exec'ed: the compiler itself catches it. */
        if (seccomp_compile("mutant", copy, arch, &filter, NULL) < 0)
                return true;
        for (size_t n = 0; n < points->n; n++) {
                size_t i = (*from + n) % points->n;

                if (machine_answer(&filter, arch, &points->data[i]) != expected[i]) {
                        *from = i;
                        return true;
                }
        }
        return false;
}

static bool mutant_is_caught(const struct rules *rules, enum syscall_arch arch, size_t at,
                             enum mutation mutation, size_t condition, const struct points *points,
                             const uint32_t *expected, size_t *from, bool *ret_exists) {
        struct rules copy = *rules;
        _cleanup_free_ struct rule *own = malloc(rules->n_rules * sizeof(*own));

        assert_non_null(own);
        memcpy(own, rules->rules, rules->n_rules * sizeof(*own));
        copy.rules = own;
        *ret_exists = mutate(&copy, at, mutation, condition);
        return *ret_exists && is_caught(&copy, arch, points, expected, from);
}

/* Whether some of the rule's calls is one of the machine's.  Of the machines whose rules are those
 * of the first two, clone's alone: s390x has its own. */
static bool concerns(const struct rule *rule, enum syscall_arch arch) {
        bool is_known = arch == SYSCALL_ARCH_X86_64 || arch == SYSCALL_ARCH_AARCH64, does = false;

        STRV_FOREACH (name, rule->names)
                does |= syscall_number(arch, *name) >= 0 && (is_known || streq(*name, "clone"));
        return does;
}

static size_t catch_all_mutants(const struct seccomp_shipped *policy, enum syscall_arch arch) {
        _cleanup_rules_ struct rules rules = {0};
        _cleanup_points_ struct points points = {0};
        _cleanup_free_ uint32_t *expected = NULL;
        struct model model = {.rules = &rules};
        size_t n = 0, from = 0;

        rules_of(policy->name, policy->json, arch, &rules);
        points_make(&rules, arch, &points);
        expected = calloc(points.n, sizeof(*expected));
        assert_non_null(expected);
        for (size_t i = 0; i < points.n; i++)
                expected[i] = model_ask(&model, arch, &points.data[i]);
        for (size_t i = 0; i < rules.n_rules; i++)
                for (enum mutation m = 0; concerns(&rules.rules[i], arch) && m < N_MUTATIONS; m++)
                        for (size_t c = 0; c < ARRAY_SIZE(rules.rules[i].conditions); c++) {
                                bool exists;

                                if (!mutant_is_caught(&rules, arch, i, m, c, &points, expected, &from,
                                                      &exists) &&
                                    exists)
                                        fail_msg("%s on %s: rule %zu (%s, …) %s makes no difference",
                                                 policy->name, syscall_arch_name(arch), i + 1,
                                                 rules.rules[i].names[0], mutation_names[m]);
                                n += exists;
                        }
        return n;
}

TEST(a_rule_that_is_dropped_or_changed_is_noticed) {
        for (size_t i = 0; i < sample(n_seccomp_shipped); i++)
                for (size_t m = 0; m < sample(ARRAY_SIZE(machines)); m++) {
                        size_t n = catch_all_mutants(&seccomp_shipped[i], machines[m]);

                        print_message("%s on %s: %zu mutants, all caught\n", seccomp_shipped[i].name,
                                      syscall_arch_name(machines[m]), n);
                        assert_true(n > (m < 2 ? 60 : 0));
                }
}

/* ------------------------------------------------------------------ the promises */

#define ALL     "default strict nested"
#define HIGH(x) (UINT64_C(0xdeadbeef00000000) | (x))

static const struct promise {
        const char *policies;
        const char *call;
        uint64_t args[4];
        int error; /* 0: allowed */
} promises[] = {
        /* What every program does. */
        {ALL, "execve", {0}, 0},
        {ALL, "execveat", {0}, 0},
        {ALL, "exit_group", {0}, 0},
        {ALL, "rt_sigreturn", {0}, 0},
        {ALL, "restart_syscall", {0}, 0},
        {ALL, "openat", {0}, 0},
        {ALL, "mmap", {0}, 0},
        {ALL, "clone", {0x3d0f00}, 0},  /* a thread of glibc's */
        {ALL, "clone", {0x1200011}, 0}, /* fork() */
        {ALL, "clone", {0x4111}, 0},    /* posix_spawn() */
        {ALL, "clone3", {0}, ENOSYS},
        {ALL, "modify_ldt", {0}, ENOSYS},
        {ALL, "uretprobe", {0}, 0},
        {ALL, "map_shadow_stack", {0}, 0},
        {ALL, "seccomp", {0}, 0},
        {ALL, "landlock_restrict_self", {0}, 0},
        {ALL, "futex_waitv", {0}, 0},
        {ALL, "cachestat", {0}, 0},
        {ALL, "mseal", {0}, 0},
        {ALL, "rseq_slice_yield", {0}, 0},
        {ALL, "setxattrat", {0}, 0},
        {ALL, "nfsservctl", {0}, ENOSYS},
        /* F_GETFL, F_GETLEASE, F_SETLEASE. */
        {ALL, "fcntl", {0, 3}, 0},
        {ALL, "fcntl", {0, 1025}, 0},
        {ALL, "fcntl", {0, HIGH(1024)}, EACCES},
        /* Namespaces. */
        {"default strict", "unshare", {0x10000000}, EPERM},
        {"default strict", "setns", {0}, EPERM},
        {"default strict", "clone", {0x10000011}, EPERM},
        {"default strict", "clone", {HIGH(0x10000011)}, EPERM},
        {"default strict", "clone", {0x20011}, EPERM},
        {"default strict", "clone", {0x2000011}, EPERM},
        {"default strict", "clone", {0x4000011}, EPERM},
        {"default strict", "clone", {0x8000011}, EPERM},
        {"default strict", "clone", {0x20000011}, EPERM},
        {"default strict", "clone", {0x40000011}, EPERM},
        {"nested", "unshare", {0x10000000}, 0},
        {"nested", "setns", {0}, 0},
        {"nested", "clone", {0x7e020011}, 0},
        {ALL, "listns", {0}, EPERM},
        /* Mounts. */
        {"default strict", "mount", {0}, EPERM},
        {"default strict", "umount2", {0}, EPERM},
        {"default strict", "pivot_root", {0}, EPERM},
        {"default strict", "chroot", {0}, EPERM},
        {"default strict", "fsopen", {0}, EPERM},
        {"default strict", "fsconfig", {0}, EPERM},
        {"default strict", "fsmount", {0}, EPERM},
        {"default strict", "fspick", {0}, EPERM},
        {"default strict", "move_mount", {0}, EPERM},
        {"default strict", "open_tree", {0}, EPERM},
        {"default strict", "open_tree_attr", {0}, EPERM},
        {"default strict", "mount_setattr", {0}, EPERM},
        {"nested", "mount", {0}, 0},
        {"nested", "open_tree", {0}, 0},
        {"nested", "move_mount", {0}, 0},
        {"nested", "mount_setattr", {0}, 0},
        {"nested", "pivot_root", {0}, 0},
        {"nested", "umount2", {0}, 0},
        {"nested", "sethostname", {0}, 0},
        {"default nested", "statmount", {0}, 0},
        {"strict", "statmount", {0}, EPERM},
        {ALL, "open_by_handle_at", {0}, EPERM},
        /* What the kernel keeps for the whole machine. */
        {ALL, "keyctl", {0}, EPERM},
        {ALL, "add_key", {0}, EPERM},
        {ALL, "request_key", {0}, EPERM},
        {ALL, "bpf", {0}, EPERM},
        {ALL, "perf_event_open", {0}, EPERM},
        {ALL, "io_uring_setup", {0}, EPERM},
        {ALL, "io_uring_enter", {0}, EPERM},
        {ALL, "io_uring_register", {0}, EPERM},
        {ALL, "userfaultfd", {0}, EPERM},
        {ALL, "fanotify_init", {0}, EPERM},
        {ALL, "finit_module", {0}, EPERM},
        {ALL, "kexec_load", {0}, EPERM},
        {ALL, "reboot", {0}, EPERM},
        {ALL, "swapon", {0}, EPERM},
        {ALL, "acct", {0}, EPERM},
        {ALL, "quotactl", {0}, EPERM},
        {ALL, "quotactl_fd", {0}, EPERM},
        {ALL, "syslog", {0}, EPERM},
        {ALL, "settimeofday", {0}, EPERM},
        {ALL, "clock_settime", {0}, EPERM},
        {ALL, "adjtimex", {0}, EPERM},
        {ALL, "clock_adjtime", {0}, EPERM},
        /* Debuggers. */
        {"default nested", "ptrace", {0}, 0},
        {"default nested", "process_vm_readv", {0}, 0},
        {"default nested", "process_vm_writev", {0}, 0},
        {"default nested", "personality", {0x40000}, 0},
        {"strict", "ptrace", {0}, EPERM},
        {"strict", "process_vm_readv", {0}, EPERM},
        {"strict", "process_vm_writev", {0}, EPERM},
        {"strict", "pidfd_getfd", {0}, EPERM},
        {"strict", "personality", {0x40000}, EPERM},
        {"strict", "personality", {0}, EPERM},
        {"strict", "personality", {0xffffffff}, 0},
        {"strict", "personality", {HIGH(0x40000)}, EPERM},
        /* Terminals. */
        {ALL, "ioctl", {0, 0x5401}, 0},
        {ALL, "ioctl", {0, 0x5412}, EPERM},
        {ALL, "ioctl", {0, HIGH(0x5412)}, EPERM},
        {ALL, "ioctl", {0, 0x541c}, EPERM},
        {ALL, "ioctl", {0, HIGH(0x541c)}, EPERM},
        {ALL, "ioctl", {0, 0x5423}, EPERM},
        {ALL, "ioctl", {0, HIGH(0x5423)}, EPERM},
        {ALL, "ioctl", {0, 0x540c}, EPERM},
        {ALL, "ioctl", {0, 0x540d}, 0},
        /* Setuid and setgid files. */
        {ALL, "chmod", {0, 0755}, 0},
        {ALL, "chmod", {0, 01777}, 0},
        {ALL, "chmod", {0, 04755}, EPERM},
        {ALL, "chmod", {0, HIGH(02755)}, EPERM},
        {ALL, "fchmod", {0, 04000}, EPERM},
        {ALL, "fchmodat", {0, 0, 06755}, EPERM},
        {ALL, "fchmodat2", {0, 0, 02755}, EPERM},
        {ALL, "fchmodat2", {0, 0, 0755}, 0},
        {ALL, "creat", {0, 04755}, EPERM},
        {ALL, "mknod", {0, S_IFREG | 04755}, EPERM},
        {ALL, "mknodat", {0, 0, S_IFREG | 02755}, EPERM},
        {ALL, "open", {0, O_CREAT | O_WRONLY, 04755}, EPERM},
        {ALL, "open", {0, O_RDONLY, 04755}, 0},
        {ALL, "openat", {0, 0, O_CREAT | O_WRONLY, 02755}, EPERM},
        {ALL, "openat", {0, 0, O_TMPFILE | O_WRONLY, 04755}, EPERM},
        {ALL, "openat", {0, 0, O_RDONLY, 07777}, 0},
        {ALL, "openat", {0, 0, O_CREAT | O_WRONLY, 0777}, 0},
        {"default strict", "openat2", {0}, ENOSYS},
        {"nested", "openat2", {0}, 0},
        /* Sockets. */
        {ALL, "socket", {AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC}, 0},
        {ALL, "socket", {AF_INET, SOCK_STREAM}, 0},
        {ALL, "socket", {AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK}, 0},
        {ALL, "socket", {AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0}, 0},
        {ALL, "socket", {AF_NETLINK, SOCK_RAW, 4}, EPROTONOSUPPORT},
        {ALL, "socket", {HIGH(AF_NETLINK), SOCK_RAW, 15}, EAFNOSUPPORT},
        {ALL, "socket", {AF_NETLINK, SOCK_RAW, 12}, EPROTONOSUPPORT},
        {ALL, "socket", {AF_INET, SOCK_RAW, 1}, EPERM},
        {ALL, "socket", {AF_INET6, SOCK_RAW | SOCK_CLOEXEC, 1}, EPERM},
        {ALL, "socket", {AF_INET, SOCK_PACKET, 3}, EAFNOSUPPORT},
        {ALL, "socket", {AF_INET, SOCK_PACKET | SOCK_CLOEXEC, 3}, EAFNOSUPPORT},
        {ALL, "socket", {AF_PACKET, SOCK_RAW}, EAFNOSUPPORT},
        {ALL, "socket", {AF_INET, SOCK_STREAM, 6}, 0},
        {ALL, "socket", {AF_INET, SOCK_STREAM, 262}, 0},
        {ALL, "socket", {AF_INET, SOCK_DGRAM, 1}, 0},
        {ALL, "socket", {AF_INET6, SOCK_DGRAM, 58}, 0},
        {ALL, "socket", {AF_INET, SOCK_STREAM, 132}, EPROTONOSUPPORT},
        {ALL, "socket", {AF_INET6, SOCK_DGRAM, 136}, EPROTONOSUPPORT},
        {ALL, "socket", {AF_INET, SOCK_DGRAM, 115}, EPROTONOSUPPORT},
        {ALL, "socket", {AF_INET, SOCK_STREAM, HIGH(132)}, EPROTONOSUPPORT},
        {ALL, "socket", {AF_INET, SOCK_STREAM, 256}, EPROTONOSUPPORT},
        {ALL, "socket", {AF_INET, SOCK_STREAM, 263}, EPROTONOSUPPORT},
        {ALL, "socket", {AF_INET, SOCK_SEQPACKET}, ESOCKTNOSUPPORT},
        {ALL, "socket", {AF_INET6, SOCK_SEQPACKET | SOCK_CLOEXEC}, ESOCKTNOSUPPORT},
        {ALL, "socket", {AF_UNIX, SOCK_SEQPACKET}, 0},
        {ALL, "socket", {AF_INET, SOCK_DCCP}, ESOCKTNOSUPPORT},
        {ALL, "socket", {AF_ALG, SOCK_SEQPACKET}, EAFNOSUPPORT},
        {ALL, "socket", {AF_VSOCK, SOCK_STREAM}, EAFNOSUPPORT},
        {ALL, "socket", {HIGH(AF_VSOCK), SOCK_STREAM}, EAFNOSUPPORT},
        {ALL, "socket", {AF_KEY, SOCK_RAW}, EAFNOSUPPORT},
        {ALL, "socket", {HIGH(AF_KEY), SOCK_RAW}, EAFNOSUPPORT},
        {ALL, "socket", {255, 0}, EAFNOSUPPORT},
        {ALL, "socketpair", {AF_UNIX, SOCK_STREAM}, 0},
        {ALL, "socketpair", {AF_TIPC, SOCK_STREAM}, EAFNOSUPPORT},
};

static void assert_promise(const struct promise *promise, const char *name,
                           const struct seccomp_filter *filter, enum syscall_arch arch) {
        struct seccomp_data data = {.arch = syscall_arch_audit(arch)};
        uint32_t expected =
                promise->error ? SECCOMP_RET_ERRNO | (uint32_t)promise->error : SECCOMP_RET_ALLOW;
        uint32_t answer;
        char text[32];

        data.nr = syscall_number(arch, promise->call);
        if (data.nr < 0)
                return;
        for (size_t i = 0; i < ARRAY_SIZE(promise->args); i++)
                data.args[i] = promise->args[i];
        /* The flags come second there. */
        if (arch == SYSCALL_ARCH_S390X && streq(promise->call, "clone")) {
                data.args[0] = promise->args[1];
                data.args[1] = promise->args[0];
        }
        answer = machine_answer(filter, arch, &data);
        if (answer != expected)
                fail_msg("%s on %s: %s", name, point_format(&data, arch),
                         seccomp_action_format(text, answer));
}

TEST(a_policy_keeps_its_promises) {
        for (size_t j = 0; j < n_seccomp_shipped; j++)
                for (size_t m = 0; m < ARRAY_SIZE(machines); m++) {
                        const char *name = seccomp_shipped[j].name;
                        _cleanup_filter_ struct seccomp_filter filter = {0};
                        _cleanup_rules_ struct rules rules = {0};

                        rules_of(name, seccomp_shipped[j].json, machines[m], &rules);
                        filter_of(name, &rules, machines[m], &filter);
                        for (size_t i = 0; i < ARRAY_SIZE(promises); i++)
                                if (strstr(promises[i].policies, name))
                                        assert_promise(&promises[i], name, &filter, machines[m]);
                }
}

/* What seccomp_allow_setgid() leaves is what the policy's other rules compile to. */
TEST(the_setgid_bits_rules_and_no_others_are_taken_out) {
        for (size_t i = 0; i < n_seccomp_shipped; i++) {
                const struct seccomp_shipped *policy = &seccomp_shipped[i];
                struct seccomp_loaded loaded = {.code = policy->code, .n = policy->n};
                _cleanup_filter_ struct seccomp_filter filter = {0};
                _cleanup_rules_ struct rules rules = {0}, kept = {0};
                _cleanup_points_ struct points points = {0};
                struct nsrun_error err;
                size_t n_taken = 0;

                rules_of(policy->name, policy->json, SYSCALL_ARCH_NATIVE, &rules);
                points_make(&rules, SYSCALL_ARCH_NATIVE, &points);
                rules_of(policy->name, policy->json, SYSCALL_ARCH_NATIVE, &kept);
                for (size_t j = 0; j < kept.n_rules; j++)
                        for (size_t k = 0; k < kept.rules[j].n_conditions; k++)
                                if (kept.rules[j].conditions[k].mask == S_ISGID) {
                                        strv_free(kept.rules[j].names);
                                        kept.rules[j].names = NULL;
                                        n_taken++;
                                }
                assert_int_equal(n_taken, 6);
                filter_of(policy->name, &kept, SYSCALL_ARCH_NATIVE, &filter);
                assert_int_equal(seccomp_allow_setgid(&loaded, &err), 0);
                for (size_t j = 0; j < points.n; j++)
                        if (seccomp_simulate(loaded.code, loaded.n, &points.data[j]) !=
                            seccomp_simulate(filter.code, filter.n, &points.data[j]))
                                fail_msg("%s: %s", policy->name,
                                         point_format(&points.data[j], SYSCALL_ARCH_NATIVE));
                seccomp_loaded_clear(&loaded);
        }
}

/* What strict allows default allows, and what default allows nested allows. */
TEST(a_stricter_policy_allows_nothing_more) {
        static const char *const order[] = {"strict", "default", "nested"};

        for (size_t i = 0; i + 1 < ARRAY_SIZE(order); i++) {
                const struct seccomp_shipped *less = shipped(order[i]), *more = shipped(order[i + 1]);
                _cleanup_points_ struct points points = {0};
                _cleanup_rules_ struct rules rules = {0};
                size_t n_more = 0;

                rules_of(less->name, less->json, SYSCALL_ARCH_NATIVE, &rules);
                points_make(&rules, SYSCALL_ARCH_NATIVE, &points);
                for (size_t j = 0; j < points.n; j++) {
                        bool left =
                                seccomp_simulate(less->code, less->n, &points.data[j]) == SECCOMP_RET_ALLOW;
                        bool right =
                                seccomp_simulate(more->code, more->n, &points.data[j]) == SECCOMP_RET_ALLOW;

                        if (left && !right)
                                fail_msg("%s allows what %s doesn't: %s", less->name, more->name,
                                         point_format(&points.data[j], SYSCALL_ARCH_NATIVE));
                        n_more += right && !left;
                }
                assert_true(n_more > 0);
        }
}

/* -------------------------------------------------------------------- the kernel */

/* An errno that the kernel itself never gives: whose answer it is can't be mistaken. */
#define MARK 2000

static void install(const struct seccomp_shipped *policy) {
        struct sock_filter code[BPF_MAXINSNS];
        struct sock_fprog program = {.len = (unsigned short)policy->n, .filter = code};

        for (size_t i = 0; i < policy->n; i++) {
                code[i] = policy->code[i];
                if (code[i].code == (BPF_RET | BPF_K) &&
                    (code[i].k & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO)
                        code[i].k += MARK;
        }
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
            syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
                _exit(3);
}

/* In a child of its own: makes every denied call of `points`.  The statuses: 0, or
 * 4 where the kernel's answer is another, and then the point's index is in *at. */
static nsrun_no_asan void ask_the_kernel(const struct seccomp_shipped *policy, const struct points *points,
                                         const uint32_t *answers, int report) {
        install(policy);
        for (size_t i = 0; i < points->n; i++) {
                const struct seccomp_data *d = &points->data[i];
                long r;

                if ((answers[i] & SECCOMP_RET_ACTION_FULL) != SECCOMP_RET_ERRNO ||
                    d->arch != syscall_arch_audit(SYSCALL_ARCH_NATIVE))
                        continue;
                r = syscall(d->nr, d->args[0], d->args[1], d->args[2], d->args[3], d->args[4], d->args[5]);
                if (r != -1 || errno != (int)(answers[i] & SECCOMP_RET_DATA) + MARK) {
                        (void)write(report, &i, sizeof(i));
                        _exit(4);
                }
        }
        /* And what is allowed reaches the kernel. */
        if (syscall(SYS_getppid) <= 0 || socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0 ||
            ioctl(-1, TIOCGWINSZ, NULL) != -1 || errno != EBADF)
                _exit(5);
        _exit(0);
}

TEST(the_kernel_answers_as_the_simulator_does) {
        for (size_t i = 0; i < n_seccomp_shipped; i++) {
                const struct seccomp_shipped *policy = &seccomp_shipped[i];
                _cleanup_points_ struct points points = {0};
                _cleanup_rules_ struct rules rules = {0};
                _cleanup_free_ uint32_t *answers = NULL;
                int report[2], status;
                size_t at = 0;
                pid_t pid;

                rules_of(policy->name, policy->json, SYSCALL_ARCH_NATIVE, &rules);
                points_make(&rules, SYSCALL_ARCH_NATIVE, &points);
                answers = calloc(points.n, sizeof(*answers));
                assert_non_null(answers);
                for (size_t j = 0; j < points.n; j++)
                        answers[j] = seccomp_simulate(policy->code, policy->n, &points.data[j]);
                assert_int_equal(pipe(report), 0);
                pid = fork();
                assert_true(pid >= 0);
                if (pid == 0)
                        ask_the_kernel(policy, &points, answers, report[1]);
                assert_int_equal(waitpid(pid, &status, 0), pid);
                assert_true(WIFEXITED(status));
                if (WEXITSTATUS(status) == 4) {
                        assert_int_equal(read(report[0], &at, sizeof(at)), sizeof(at));
                        fail_msg("%s: the kernel disagrees: %s", policy->name,
                                 point_format(&points.data[at], SYSCALL_ARCH_NATIVE));
                }
                assert_int_equal(WEXITSTATUS(status), 0);
                (void)close(report[0]);
                (void)close(report[1]);
        }
}

int main(void) {
        return run_all_tests();
}

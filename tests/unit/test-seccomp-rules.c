/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Policies that others wrote: what is wrong with one is said exactly, Docker's and
 * Podman's load as they are, and whatever the rules, the filter says the same. */
#include "judge.h"

#include <errno.h>
#include <fcntl.h>

#include "base/file.h"
#include "seccomp/errnos.h"

#define PODMANS "/usr/share/containers/seccomp.json"
#define DOCKERS "/usr/share/gocode/src/github.com/docker/docker/profiles/seccomp/default.json"

/* What a policy has around its rules. */
#define POLICY(rules) "{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"syscalls\": [" rules "]}"
#define ESSENTIAL     "{\"names\": [\"execve\", \"exit_group\"], \"action\": \"SCMP_ACT_ALLOW\"}"
#define RULE(rest)    POLICY("{\"names\": [\"read\"], \"action\": \"SCMP_ACT_ALLOW\"" rest "}")
#define ARGS(args)    RULE(", \"args\": [" args "]")

static int read_and_compile(const char *text, size_t size, struct seccomp_filter *ret,
                            struct nsrun_error *err) {
        const struct rules_target target = {.arch = SYSCALL_ARCH_NATIVE, .kernel_major = 6};
        _cleanup_rules_ struct rules rules = {0};
        int r;

        r = rules_parse("bad.json", text, size, &target, &rules, err);
        if (r >= 0)
                r = seccomp_compile("bad.json", &rules, SYSCALL_ARCH_NATIVE, ret, err);
        return r;
}

static void assert_refused(const char *text, int error, const char *message) {
        struct seccomp_filter filter = {0};
        struct nsrun_error err = {0};

        if (read_and_compile(text, strlen(text), &filter, &err) != -error)
                fail_msg("not refused, or with another error: %s", text);
        /* The words say it all: "Invalid argument" would say it again. */
        assert_int_equal(err.error, error == EINVAL ? 0 : error);
        assert_int_equal(err.stage, NSRUN_STAGE_POLICY);
        assert_string_equal(err.path, "bad.json");
        assert_string_equal(err.what, message);
        /* Never a part of a filter. */
        assert_null(filter.code);
        assert_int_equal(filter.n, 0);
}

static void assert_taken(const char *text) {
        _cleanup_filter_ struct seccomp_filter filter = {0};
        struct nsrun_error err = {0};

        if (read_and_compile(text, strlen(text), &filter, &err) < 0)
                fail_msg("%s: %s", text, nsrun_error_format(&err));
        assert_true(filter.n > 0);
}

TEST(a_bad_policy_is_refused_by_rule_and_reason) {
        static const struct {
                const char *text, *message;
        } cases[] = {
                {"[]", "the seccomp policy: the file is no object"},
                {"{\"syscalls\": []}", "the seccomp policy: \"defaultAction\" is missing, or no text"},
                {"{\"defaultAction\": 7}", "the seccomp policy: \"defaultAction\" is missing, or no text"},
                {"{\"defaultAction\": \"SCMP_ACT_ALOW\"}",
                 "the seccomp policy: unknown action \"SCMP_ACT_ALOW\""},
                {"{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"defaultErrnoRet\": 4096}",
                 "the seccomp policy: \"defaultErrnoRet\" is no number from 0 to 4095"},
                {"{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"defaultErrno\": \"EBOGUS\"}",
                 "the seccomp policy: \"defaultErrno\" is no error's name"},
                {"{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"syscals\": []}",
                 "the seccomp policy: unknown key \"syscals\""},
                {"{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"syscalls\": {}}",
                 "the seccomp policy: \"syscalls\" is no array"},
                {"{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"architectures\": [\"PDP11\"]}",
                 "the seccomp policy: \"PDP11\" is no architecture"},
                {"{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"flags\": [\"SECCOMP_FILTER_FLAG_FAST\"]}",
                 "the seccomp policy: unknown flag \"SECCOMP_FILTER_FLAG_FAST\""},
                {POLICY(ESSENTIAL ", 7"), "the seccomp policy: rule 2 of \"syscalls\": no object"},
                {POLICY(ESSENTIAL ", {\"names\": [\"read\"]}"),
                 "the seccomp policy: \"action\" is missing, or no text"},
                {POLICY(ESSENTIAL ", {\"action\": \"SCMP_ACT_ALLOW\"}"),
                 "the seccomp policy: rule 2 of \"syscalls\": \"names\" is missing, empty, or no array"},
                {POLICY(ESSENTIAL ", {\"names\": [], \"action\": \"SCMP_ACT_ALLOW\"}"),
                 "the seccomp policy: rule 2 of \"syscalls\": \"names\" is missing, empty, or no array"},
                {POLICY("{\"names\": [\"read\", 4], \"action\": \"SCMP_ACT_ALLOW\"}"),
                 "the seccomp policy: rule 1 of \"syscalls\": a name that is no text"},
                {POLICY("{\"name\": \"read\", \"names\": [\"read\"], \"action\": \"SCMP_ACT_ALLOW\"}"),
                 "the seccomp policy: rule 1 of \"syscalls\": both \"name\" and \"names\""},
                {RULE(", \"arg\": []"), "the seccomp policy: rule 1 of \"syscalls\": unknown key \"arg\""},
                {RULE(", \"args\": {}"), "the seccomp policy: rule 1 of \"syscalls\": \"args\" is no array"},
                {ARGS("7"),
                 "the seccomp policy: rule 1 of \"syscalls\": \"args\" has something that is no object"},
                {ARGS("{\"index\": 6, \"value\": 0, \"op\": \"SCMP_CMP_EQ\"}"),
                 "the seccomp policy: rule 1 of \"syscalls\": \"index\" is no number from 0 to 5"},
                {ARGS("{\"index\": 0, \"value\": -1, \"op\": \"SCMP_CMP_EQ\"}"),
                 "the seccomp policy: rule 1 of \"syscalls\": \"value\" is no number of 64 bits"},
                {ARGS("{\"index\": 0, \"value\": 1.5, \"op\": \"SCMP_CMP_EQ\"}"),
                 "the seccomp policy: rule 1 of \"syscalls\": \"value\" is no number of 64 bits"},
                {ARGS("{\"index\": 0, \"value\": 0, \"valueTwo\": \"1\", \"op\": \"SCMP_CMP_EQ\"}"),
                 "the seccomp policy: rule 1 of \"syscalls\": \"valueTwo\" is no number of 64 bits"},
                {ARGS("{\"index\": 0, \"value\": 0, \"op\": \"SCMP_CMP_LIKE\"}"),
                 "the seccomp policy: rule 1 of \"syscalls\": unknown operator \"SCMP_CMP_LIKE\""},
                {ARGS("{\"index\": 0, \"value\": 0, \"operator\": \"SCMP_CMP_EQ\"}"),
                 "the seccomp policy: rule 1 of \"syscalls\": unknown key \"operator\" in \"args\""},
                {ARGS("{\"index\": 0, \"value\": 0, \"op\": \"SCMP_CMP_EQ\"},"
                      "{\"index\": 0, \"value\": 1, \"op\": \"SCMP_CMP_EQ\"}"),
                 "the seccomp policy: rule 1 of \"syscalls\": two conditions on argument 0; write two rules "
                 "(runc reads them as alternatives, others as both)"},
                {RULE(", \"includes\": {\"cap\": []}"),
                 "the seccomp policy: rule 1 of \"syscalls\": unknown key \"cap\" in \"includes\" or \"excludes\""},
                {RULE(", \"excludes\": 7"),
                 "the seccomp policy: rule 1 of \"syscalls\": \"includes\" and \"excludes\" are objects"},
                {RULE(", \"includes\": {\"minKernel\": \"new\"}"),
                 "the seccomp policy: rule 1 of \"syscalls\": \"minKernel\" is no version: \"new\""},
                {RULE(", \"errnoRet\": -1"), "the seccomp policy: \"errnoRet\" is no number from 0 to 4095"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                assert_refused(cases[i].text, EINVAL, cases[i].message);
        /* The same frame around what is right. */
        assert_taken(POLICY(ESSENTIAL
                            ", {\"names\": [\"read\"], \"action\": \"SCMP_ACT_ERRNO\", \"errnoRet\": 4095, "
                            "\"args\": [{\"index\": 5, \"value\": 18446744073709551615, \"op\": "
                            "\"SCMP_CMP_EQ\"}], \"includes\": {\"minKernel\": \"4.8\"}}"));
}

TEST(malformed_json_is_refused_with_its_line) {
        struct nsrun_error err = {0};
        struct seccomp_filter filter = {0};
        static const char text[] = "{\n  \"defaultAction\": \"SCMP_ACT_ERRNO\",\n  \"syscalls\" [\n  ]\n}\n";

        assert_int_equal(read_and_compile(text, strlen(text), &filter, &err), -EINVAL);
        assert_non_null(strstr(err.what, "the seccomp policy is no JSON: line 3: "));
        assert_string_equal(err.path, "bad.json");
        assert_null(filter.code);
        for (size_t n = 0; n < strlen(text); n++) {
                err = (struct nsrun_error){0};
                assert_int_equal(read_and_compile(text, n, &filter, &err), -EINVAL);
                assert_null(filter.code);
        }
}

TEST(nobody_would_answer_a_notification) {
        assert_refused(POLICY(ESSENTIAL ", {\"names\": [\"read\"], \"action\": \"SCMP_ACT_NOTIFY\"}"),
                       EOPNOTSUPP, "the seccomp policy: nobody would answer SCMP_ACT_NOTIFY");
        assert_refused("{\"defaultAction\": \"SCMP_ACT_NOTIFY\"}", EOPNOTSUPP,
                       "the seccomp policy: nobody would answer SCMP_ACT_NOTIFY");
}

TEST(a_policy_without_execve_or_exit_group_is_refused) {
        static const char start[] = "the seccomp policy denies execve: no command could start";
        static const char end[] = "the seccomp policy denies exit_group: no command could end";

        assert_refused(POLICY("{\"names\": [\"exit_group\"], \"action\": \"SCMP_ACT_ALLOW\"}"), EINVAL,
                       start);
        assert_refused(POLICY("{\"names\": [\"execve\"], \"action\": \"SCMP_ACT_ALLOW\"}"), EINVAL, end);
        assert_refused(POLICY(ESSENTIAL ", {\"names\": [\"execve\"], \"action\": \"SCMP_ACT_ERRNO\"}"),
                       EINVAL, start);
        assert_refused(POLICY(ESSENTIAL
                              ", {\"names\": [\"exit_group\"], \"action\": \"SCMP_ACT_KILL\", \"args\": "
                              "[{\"index\": 0, \"value\": 3, \"op\": \"SCMP_CMP_EQ\"}]}"),
                       EINVAL, end);
        assert_refused("{\"defaultAction\": \"SCMP_ACT_KILL\"}", EINVAL, start);
        assert_taken(POLICY(ESSENTIAL));
        assert_taken("{\"defaultAction\": \"SCMP_ACT_ALLOW\"}");
        assert_taken("{\"defaultAction\": \"SCMP_ACT_LOG\"}");
}

TEST(a_policy_of_ten_megabytes_is_refused) {
        static const char policy[] = POLICY(ESSENTIAL);
        size_t big = 10U * 1024 * 1024;
        _cleanup_free_ char *text = malloc(big + 1);
        _cleanup_filter_ struct seccomp_filter filter = {0};
        struct nsrun_error err = {0};

        assert_non_null(text);
        memset(text, ' ', big);
        memcpy(text, policy, strlen(policy));
        text[big] = '\0';
        assert_refused(text, E2BIG, "the seccomp policy is bigger than 1024 KiB");
        text[RULES_MAX_BYTES + 1] = '\0';
        assert_refused(text, E2BIG, "the seccomp policy is bigger than 1024 KiB");
        assert_int_equal(read_and_compile(text, RULES_MAX_BYTES, &filter, &err), 0);
}

/* A rule costs about six instructions: 640 of them fit, 800 don't. */
static void add_many_rules(struct strbuf *b, unsigned n) {
        strbuf_add(b, "{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"syscalls\": [" ESSENTIAL);
        for (unsigned i = 0; i < n; i++)
                strbuf_addf(b,
                            ", {\"names\": [\"read\"], \"action\": \"SCMP_ACT_ALLOW\", \"args\": "
                            "[{\"index\": 0, \"value\": %u, \"op\": \"SCMP_CMP_EQ\"}]}",
                            i);
        strbuf_add(b, "]}");
}

TEST(a_filter_beyond_4096_instructions_is_refused) {
        _cleanup_strbuf_ struct strbuf fits = {0}, bursts = {0};
        struct seccomp_filter filter = {0};
        struct nsrun_error err = {0};
        size_t n = 0;

        add_many_rules(&fits, 640);
        add_many_rules(&bursts, 900);
        assert_int_equal(read_and_compile(fits.text, fits.length, &filter, &err), 0);
        assert_true(filter.n > 3000 && filter.n <= 4096);
        /* Jumps have eight bits, and these go further. */
        for (unsigned i = 0; i < 700; i++) {
                const struct seccomp_data data = {.nr = syscall_number(SYSCALL_ARCH_NATIVE, "read"),
                                                  .arch = syscall_arch_audit(SYSCALL_ARCH_NATIVE),
                                                  .args = {i}};

                assert_int_equal(seccomp_simulate(filter.code, filter.n, &data),
                                 i < 640 ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | EPERM);
        }
        seccomp_filter_clear(&filter);
        assert_int_equal(read_and_compile(bursts.text, bursts.length, &filter, &err), -E2BIG);
        assert_null(filter.code);
        assert_int_equal(
                sscanf(err.what,
                       "the seccomp policy makes a filter of %zu instructions, and the kernel takes 4096",
                       &n),
                1);
        assert_true(n > 4096);
}

/* ------------------------------------------------------------ what others mean */

static uint32_t answer_of(const char *text, const char *call, uint64_t first) {
        _cleanup_filter_ struct seccomp_filter filter = {0};
        struct seccomp_data data = {.nr = syscall_number(SYSCALL_ARCH_NATIVE, call),
                                    .arch = syscall_arch_audit(SYSCALL_ARCH_NATIVE),
                                    .args = {first}};
        struct nsrun_error err = {0};

        assert_true(data.nr >= 0);
        if (read_and_compile(text, strlen(text), &filter, &err) < 0)
                fail_msg("%s", nsrun_error_format(&err));
        return seccomp_simulate(filter.code, filter.n, &data);
}

#define ANSWER(rules, call) answer_of(POLICY(ESSENTIAL ", " rules), call, 0)
#define READ(rest)          "{\"names\": [\"read\"], " rest "}"

TEST(errors_are_given_by_number_or_by_name) {
        assert_int_equal(ANSWER(READ("\"action\": \"SCMP_ACT_ERRNO\""), "read"), SECCOMP_RET_ERRNO | EPERM);
        assert_int_equal(ANSWER(READ("\"action\": \"SCMP_ACT_ERRNO\", \"errnoRet\": 13"), "read"),
                         SECCOMP_RET_ERRNO | EACCES);
        /* Podman's name goes before the number. */
        assert_int_equal(
                ANSWER(READ("\"action\": \"SCMP_ACT_ERRNO\", \"errnoRet\": 1, \"errno\": \"ENOSYS\""),
                       "read"),
                SECCOMP_RET_ERRNO | ENOSYS);
        assert_int_equal(
                answer_of("{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"defaultErrnoRet\": 95, \"syscalls\": "
                          "[" ESSENTIAL "]}",
                          "read", 0),
                SECCOMP_RET_ERRNO | EOPNOTSUPP);
        assert_int_equal(ANSWER(READ("\"action\": \"SCMP_ACT_TRACE\", \"errnoRet\": 7"), "read"),
                         SECCOMP_RET_TRACE | 7);
        assert_int_equal(ANSWER(READ("\"action\": \"SCMP_ACT_TRAP\""), "read"), SECCOMP_RET_TRAP);
        assert_int_equal(ANSWER(READ("\"action\": \"SCMP_ACT_KILL\""), "read"), SECCOMP_RET_KILL_THREAD);
        assert_int_equal(ANSWER(READ("\"action\": \"SCMP_ACT_KILL_PROCESS\""), "read"),
                         SECCOMP_RET_KILL_PROCESS);
        assert_int_equal(ANSWER(READ("\"action\": \"SCMP_ACT_LOG\""), "read"), SECCOMP_RET_LOG);
}

TEST(of_two_errors_the_first_in_the_file_is_given) {
        static const char ifs[] =
                "\"action\": \"SCMP_ACT_ERRNO\", \"errnoRet\": 13, \"args\": [{\"index\": 0, "
                "\"value\": 0, \"op\": \"SCMP_CMP_EQ\"}]";
        static const char always[] = "\"action\": \"SCMP_ACT_ERRNO\", \"errnoRet\": 22";
        _cleanup_free_ char *first = NULL, *last = NULL;

        assert_true(asprintf(&first, POLICY(ESSENTIAL ", " READ("%s") ", " READ("%s")), ifs, always) > 0);
        assert_true(asprintf(&last, POLICY(ESSENTIAL ", " READ("%s") ", " READ("%s")), always, ifs) > 0);
        assert_int_equal(answer_of(first, "read", 0), SECCOMP_RET_ERRNO | EACCES);
        assert_int_equal(answer_of(first, "read", 1), SECCOMP_RET_ERRNO | EINVAL);
        assert_int_equal(answer_of(last, "read", 0), SECCOMP_RET_ERRNO | EINVAL);
}

/* A tree of one leaf for each of two architectures, and the leaf is the same. */
TEST(what_is_allowed_for_every_architecture_is_allowed) {
        assert_int_equal(answer_of("{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"architectures\": "
                                   "[\"SCMP_ARCH_X86\", \"SCMP_ARCH_X32\", \"SCMP_ARCH_ARM\"]}",
                                   "read", 0),
                         SECCOMP_RET_ALLOW);
}

TEST(includes_and_excludes_are_decided_for_a_command_without_capabilities) {
        static const struct {
                const char *rest;
                bool is_for_us;
        } cases[] = {
                {"\"includes\": {}", true},
                {"\"includes\": null", true},
                {"\"includes\": {\"caps\": [\"CAP_SYS_ADMIN\"]}", false},
                {"\"excludes\": {\"caps\": [\"CAP_SYS_ADMIN\"]}", true},
                {"\"includes\": {\"caps\": []}", true},
                {"\"includes\": {\"arches\": [\"amd64\", \"arm64\", \"riscv64\"]}", true},
                {"\"includes\": {\"arches\": [\"s390x\"]}", false},
                {"\"excludes\": {\"arches\": [\"amd64\", \"arm64\", \"riscv64\"]}", false},
                {"\"excludes\": {\"arches\": [\"s390x\"]}", true},
                {"\"includes\": {\"minKernel\": \"4.8\"}", true},
                {"\"includes\": {\"minKernel\": \"6.0\"}", true},
                {"\"includes\": {\"minKernel\": \"6.1\"}", false},
                {"\"includes\": {\"minKernel\": \"10.0\"}", false},
                {"\"excludes\": {\"minKernel\": \"4.8\"}", false},
                {"\"excludes\": {\"minKernel\": \"6.1\"}", true},
                {"\"includes\": {\"arches\": [\"amd64\", \"arm64\", \"riscv64\"], \"caps\": [\"CAP_BPF\"]}",
                 false},
                {"\"includes\": {\"minKernel\": \"4.8\"}, \"excludes\": {\"arches\": [\"amd64\", \"arm64\", \"riscv64\"]}",
                 false},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *text = NULL;

                assert_true(asprintf(&text,
                                     POLICY(ESSENTIAL ", " READ("\"action\": \"SCMP_ACT_ALLOW\", %s")),
                                     cases[i].rest) > 0);
                if (answer_of(text, "read", 0) !=
                    (cases[i].is_for_us ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | EPERM))
                        fail_msg("%s", cases[i].rest);
        }
}

TEST(an_unknown_call_is_a_warning_with_its_rule) {
        static const char text[] = POLICY(
                ESSENTIAL ", {\"names\": [\"read\", \"frobnicate\"], \"action\": \"SCMP_ACT_ALLOW\"}");
        _cleanup_rules_ struct rules rules = {0};

        rules_of("unknown.json", text, SYSCALL_ARCH_NATIVE, &rules);
        assert_int_equal(strv_length(rules.warnings), 1);
        assert_string_equal(rules.warnings[0],
                            "rule 2 of \"syscalls\" names a call that nsrun doesn't know: frobnicate");
        assert_int_equal(answer_of(text, "read", 0), SECCOMP_RET_ALLOW);
}

/* Each against libseccomp, where the policy's architectures allow. */
static void published_profile(const char *path, const char *refused, const char *allowed) {
        static const enum syscall_arch machines[] = {SYSCALL_ARCH_X86_64, SYSCALL_ARCH_AARCH64};
        _cleanup_free_ char *text = NULL;

        if (access(path, R_OK) < 0) {
                print_message("%s is not on this machine (scripts/setup full)\n", path);
                skip();
        }
        assert_int_equal(read_small_file(AT_FDCWD, path, 0, RULES_MAX_BYTES, &text), 0);
        for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
                _cleanup_filter_ struct seccomp_filter filter = {0};
                _cleanup_rules_ struct rules rules = {0};
                bool judged[N_SYSCALL_ARCHS] = {false};

                rules_of(path, text, machines[i], &rules);
                STRV_FOREACH (warning, rules.warnings)
                        fail_msg("%s: %s", path, *warning);
                /* The 32-bit ones are named by the archMap: all those that the machine runs. */
                for (enum syscall_arch arch = 0; arch < N_SYSCALL_ARCHS; arch++)
                        assert_int_equal(rules.has_arch[arch], syscall_arch_runs_on(arch, machines[i]));
                filter_of(path, &rules, machines[i], &filter);
                /* Not x86: there libseccomp also writes rules for socketcall(2) and ipc(2). */
                judged[machines[i]] = true;
                judged[SYSCALL_ARCH_X32] = machines[i] == SYSCALL_ARCH_X86_64;
                judged[SYSCALL_ARCH_ARM] = machines[i] == SYSCALL_ARCH_AARCH64;
                assert_filter_agrees(path, &filter, &rules, machines[i], judged);
        }
        assert_int_equal(answer_of(text, allowed, 0), SECCOMP_RET_ALLOW);
        assert_int_not_equal(answer_of(text, refused, 0), SECCOMP_RET_ALLOW);
        assert_int_equal(answer_of(text, "personality", 8), SECCOMP_RET_ALLOW);
        assert_int_not_equal(answer_of(text, "personality", 0x40000), SECCOMP_RET_ALLOW);
}

FULL_TEST(dockers_profile_loads_as_it_is, NULL, NULL) {
        published_profile(DOCKERS, "mount", "openat");
}

FULL_TEST(podmans_profile_loads_as_it_is, NULL, NULL) {
        published_profile(PODMANS, "kexec_load", "openat");
}

/* ---------------------------------------------------- whatever the rules may be */

static uint64_t seed;

/* xorshift: the same rules on every machine. */
static uint64_t next(uint64_t below) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        return seed % below;
}

static uint64_t next_value(void) {
        static const uint64_t values[] = {0,
                                          1,
                                          2,
                                          16,
                                          UINT32_MAX,
                                          UINT64_C(0x100000000),
                                          UINT64_C(0x100000001),
                                          UINT64_C(0x1ffffffff),
                                          UINT64_C(0x8000000000000000),
                                          UINT64_MAX};

        return next(4) ? values[next(ARRAY_SIZE(values))] : seed;
}

static void make_rule(struct rule *rule, size_t index) {
        static const uint32_t actions[] = {
                SECCOMP_RET_ALLOW, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO | 1,    SECCOMP_RET_ERRNO | 38,
                SECCOMP_RET_LOG,   SECCOMP_RET_TRAP,  SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_KILL_THREAD};
        static const char *const names[] = {"read",       "write",  "open",  "openat", "socket",
                                            "clone",      "mount",  "mseal", "close",  "statx",
                                            "socketcall", "listns", "ioctl", "brk"};

        *rule = (struct rule){.index = index, .action = actions[next(ARRAY_SIZE(actions))]};
        for (uint64_t i = next(4) + 1; i > 0; i--)
                assert_int_equal(strv_add(&rule->names, names[next(ARRAY_SIZE(names))]), 0);
        /* At most two, on arguments of their own. */
        rule->n_conditions = next(3);
        for (size_t i = 0; i < rule->n_conditions; i++) {
                struct rule_condition *condition = &rule->conditions[i];

                condition->argument = (unsigned)(i + next(2) * 2);
                condition->operator=(enum rule_operator) next(RULE_MASKED_EQ + 1);
                condition->mask = condition->operator== RULE_MASKED_EQ ? next_value() : UINT64_MAX;
                condition->value = next_value() & condition->mask;
        }
}

static void make_rules(struct rules *ret) {
        static const uint32_t defaults[] = {SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO | 1, SECCOMP_RET_ERRNO | 38,
                                            SECCOMP_RET_KILL_PROCESS};
        static const char *const essential[] = {"execve", "exit_group"};
        size_t n = next(12);

        *ret = (struct rules){.default_action = defaults[next(ARRAY_SIZE(defaults))]};
        ret->rules = calloc(n + 1, sizeof(*ret->rules));
        assert_non_null(ret->rules);
        ret->rules[0].action = SECCOMP_RET_ALLOW;
        for (size_t i = 0; i < ARRAY_SIZE(essential); i++)
                assert_int_equal(strv_add(&ret->rules[0].names, essential[i]), 0);
        ret->n_rules = 1;
        /* With ALLOW for all there may be no rule at all. */
        if (ret->default_action == SECCOMP_RET_ALLOW && n == 0) {
                strv_free(ret->rules[0].names);
                ret->n_rules = 0;
        }
        for (size_t i = 0; i < n; i++, ret->n_rules++)
                make_rule(&ret->rules[ret->n_rules], ret->n_rules);
        for (enum syscall_arch arch = 0; arch < N_SYSCALL_ARCHS; arch++)
                ret->has_arch[arch] = next(2) == 0;
}

/* Fewer points than points_make()'s, so that there can be more policies. */
static void assert_filter_is_the_rules(const struct rules *rules, enum syscall_arch arch) {
        static const uint32_t marks[] = {0, SYSCALL_X32_BIT};
        _cleanup_filter_ struct seccomp_filter filter = {0};

        filter_of("random", rules, arch, &filter);
        for (unsigned i = 0; i < 4000; i++) {
                enum syscall_arch from = (enum syscall_arch)next(N_SYSCALL_ARCHS);
                struct seccomp_data data = {.arch = syscall_arch_audit(from)};
                uint32_t answer;

                data.nr = (int)((uint32_t)next(480) | marks[next(2)]);
                if (rules->n_rules > 0 && next(3) > 0) {
                        const struct rule *rule = &rules->rules[next(rules->n_rules)];
                        int number = syscall_number(from, rule->names[0]);

                        data.nr = number >= 0 ? number + (int)next(3) - 1 : (int)next(UINT64_C(0x100000000));
                }
                for (size_t j = 0; j < ARRAY_SIZE(data.args); j++)
                        data.args[j] = next_value() + next(3) - 1;
                answer = machine_answer(&filter, arch, &data);
                if (answer != model_answer(rules, arch, &data))
                        fail_msg("%s: the filter says %#x, the rules %#x", point_format(&data, arch), answer,
                                 model_answer(rules, arch, &data));
        }
}

TEST(a_filter_says_what_its_rules_say_whatever_they_are) {
        for (unsigned i = 0; i < 600; i++) {
                _cleanup_rules_ struct rules rules = {0};
                static const enum syscall_arch machines[] = {SYSCALL_ARCH_AARCH64, SYSCALL_ARCH_X86_64,
                                                             SYSCALL_ARCH_S390X};
                enum syscall_arch arch = machines[i % ARRAY_SIZE(machines)];

                seed = UINT64_C(0x9e3779b97f4a7c15) + i;
                make_rules(&rules);
                rules.has_arch[arch] = true;
                assert_filter_is_the_rules(&rules, arch);
        }
}

/* Against libseccomp: one rule, every operator, values whose words differ. */
TEST(every_operator_means_what_libseccomp_means) {
        static const char *const operators[] = {"NE", "LT", "LE", "EQ", "GE", "GT", "MASKED_EQ"};
        static const char *const values[] = {"0",
                                             "1",
                                             "16",
                                             "4294967295",
                                             "4294967296",
                                             "4294967297",
                                             "8589934591",
                                             "9223372036854775808",
                                             "18446744073709551615"};

        for (size_t i = 0; i < ARRAY_SIZE(operators); i++)
                for (size_t j = 0; j < ARRAY_SIZE(values); j++) {
                        _cleanup_filter_ struct seccomp_filter filter = {0};
                        _cleanup_rules_ struct rules rules = {0};
                        _cleanup_free_ char *text = NULL;
                        bool judged[N_SYSCALL_ARCHS] = {false};

                        assert_true(asprintf(&text,
                                             POLICY(ESSENTIAL
                                                    ", " READ("\"action\": \"SCMP_ACT_ALLOW\", \"args\": "
                                                              "[{\"index\": 3, \"value\": %s, \"valueTwo\": "
                                                              "4294967312, \"op\": \"SCMP_CMP_%s\"}]")),
                                             values[j], operators[i]) > 0);
                        rules_of(operators[i], text, SYSCALL_ARCH_NATIVE, &rules);
                        filter_of(operators[i], &rules, SYSCALL_ARCH_NATIVE, &filter);
                        judged[SYSCALL_ARCH_NATIVE] = true;
                        assert_filter_agrees(operators[i], &filter, &rules, SYSCALL_ARCH_NATIVE, judged);
                }
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counts denied calls, and answers the kernel's questions about them. */
#include "denials.h"

#include "base/array.h"
#include "base/file.h"
#include "base/sys.h"
#include "json_line.h"
#include "output.h"
#include "seccomp/errnos.h"
#include "seccomp/simulate.h"
#include "seccomp/variant.h"
#include "watch.h"

/* ------------------------------------------------ a call's arguments */

/* The arguments of a denied call that tell what was tried, in the manual pages' words.  Reads no
 * memory of the caller's: what a pointer leads to may change at any time. */

struct decoded_argument {
        const char *label; /* "family": the argument's name */
        char text[128];    /* "AF_VSOCK", "CLONE_NEWUSER|CLONE_NEWNET", "0x5412": its value */
};

#define DECODED_MOST 2

struct value_name {
        uint64_t value;
        const char *name;
};

static const struct value_name families[] = {
        {0, "AF_UNSPEC"},     {1, "AF_UNIX"},    {2, "AF_INET"}, {10, "AF_INET6"}, {15, "AF_KEY"},
        {16, "AF_NETLINK"},   {17, "AF_PACKET"}, {21, "AF_RDS"}, {29, "AF_CAN"},   {30, "AF_TIPC"},
        {31, "AF_BLUETOOTH"}, {38, "AF_ALG"},    {39, "AF_NFC"}, {40, "AF_VSOCK"}, {43, "AF_SMC"},
        {44, "AF_XDP"},       {45, "AF_MCTP"},   {0, NULL},
};

static const struct value_name netlink_protocols[] = {
        {0, "NETLINK_ROUTE"},
        {4, "NETLINK_SOCK_DIAG"},
        {9, "NETLINK_AUDIT"},
        {12, "NETLINK_NETFILTER"},
        {15, "NETLINK_KOBJECT_UEVENT"},
        {16, "NETLINK_GENERIC"},
        {0, NULL},
};

/* Values that are flags: all that are set are named. */
static const struct value_name clone_flags[] = {
        {0x00000080, "CLONE_NEWTIME"}, {0x00020000, "CLONE_NEWNS"},  {0x02000000, "CLONE_NEWCGROUP"},
        {0x04000000, "CLONE_NEWUTS"},  {0x08000000, "CLONE_NEWIPC"}, {0x10000000, "CLONE_NEWUSER"},
        {0x20000000, "CLONE_NEWPID"},  {0x40000000, "CLONE_NEWNET"}, {0, NULL},
};

static const struct value_name requests[] = {
        {0x5412, "TIOCSTI"},
        {0x541c, "TIOCLINUX"},
        {0, NULL},
};

static const struct value_name keyctl_commands[] = {
        {0, "KEYCTL_GET_KEYRING_ID"},
        {1, "KEYCTL_JOIN_SESSION_KEYRING"},
        {6, "KEYCTL_DESCRIBE"},
        {8, "KEYCTL_LINK"},
        {10, "KEYCTL_SEARCH"},
        {11, "KEYCTL_READ"},
        {0, NULL},
};

static const struct value_name bpf_commands[] = {
        {0, "BPF_MAP_CREATE"}, {5, "BPF_PROG_LOAD"}, {7, "BPF_OBJ_GET"}, {18, "BPF_BTF_LOAD"}, {0, NULL},
};

static const struct {
        const char *syscall;
        unsigned argument;
        const char *label;
        const struct value_name *names;
        bool is_flags;
} interesting[] = {
        {"socket", 0, "family", families, false},
        {"socketpair", 0, "family", families, false},
        {"clone", 0, "flags", clone_flags, true},
        {"unshare", 0, "flags", clone_flags, true},
        {"setns", 1, "flags", clone_flags, true},
        {"ioctl", 1, "request", requests, false},
        {"keyctl", 0, "command", keyctl_commands, false},
        {"bpf", 0, "command", bpf_commands, false},
        {"ptrace", 0, "request", NULL, false},
        {"prctl", 0, "option", NULL, false},
        {"personality", 0, "persona", NULL, false},
};

static void decode_add(char text[128], const char *word) {
        size_t n = strlen(text);

        (void)snprintf(text + n, 128 - n, "%s%s", n > 0 ? "|" : "", word);
}

static void name_flags(char text[128], const struct value_name *names, uint64_t value) {
        char rest[24];

        text[0] = '\0';
        for (; names->name; names++)
                if (value & names->value) {
                        decode_add(text, names->name);
                        value &= ~names->value;
                }
        (void)snprintf(rest, sizeof(rest), "0x%jx", (uintmax_t)value);
        if (value != 0 || text[0] == '\0')
                decode_add(text, rest);
}

static void name_value(char text[128], const struct value_name *names, uint64_t value) {
        for (; names && names->name; names++)
                if (names->value == value) {
                        (void)snprintf(text, 128, "%s", names->name);
                        return;
                }
        (void)snprintf(text, 128, value < 1024 ? "%ju" : "0x%jx", (uintmax_t)value);
}

/* Decodes a call's arguments.  Returns how many were decoded, at most DECODED_MOST. */
static size_t decode_arguments(const char *syscall, const uint64_t arguments[6],
                               struct decoded_argument ret[DECODED_MOST]) {
        size_t n = 0;

        for (size_t i = 0; i < ARRAY_SIZE(interesting) && n == 0; i++) {
                /* These arguments are ints: the kernel looks at the low 32 bits alone. */
                uint32_t value = (uint32_t)arguments[interesting[i].argument];

                if (!streq(interesting[i].syscall, syscall))
                        continue;
                ret[n].label = interesting[i].label;
                if (interesting[i].is_flags)
                        name_flags(ret[n].text, interesting[i].names, value);
                else
                        name_value(ret[n].text, interesting[i].names, value);
                n++;
        }
        if (n > 0 && streq(syscall, "socket") && streq(ret[0].text, "AF_NETLINK")) {
                ret[n].label = "protocol";
                name_value(ret[n].text, netlink_protocols, (uint32_t)arguments[2]);
                n++;
        }
        return n;
}

/* The most kinds of calls that are remembered one by one, however many a command tries. */
#define MOST_KINDS 1000
/* After so many failures in a row the listener of a watched command is given up. */
#define FAILURES_MOST 100

struct denial {
        enum syscall_arch arch; /* N_SYSCALL_ARCHS: an architecture that nsrun doesn't know */
        int number;
        uint32_t action;
        struct decoded_argument arguments[DECODED_MOST];
        size_t n_arguments;
        bool is_raw; /* a raw socket of the Internet */
        uint32_t pid;
        char comm[32];
        uint64_t count;
};

struct denials {
        const struct nsrun_plan *plan;
        struct denial *kinds;
        size_t n_kinds;
        struct watch *watch; /* NULL: calls that are allowed aren't asked about */
        uint64_t others;     /* number of calls that came after MOST_KINDS kinds */
        /* Of a watched command: who had no openat2 and has opened nothing by an older call since; 0: nobody.
         */
        uint32_t stopped_at_openat2;
};

int denials_new(const struct nsrun_plan *plan, struct denials **ret) {
        struct denials *denials = calloc(1, sizeof(*denials));

        if (!denials)
                return -ENOMEM;
        denials->plan = plan;
        *ret = denials;
        return 0;
}

int denials_watch(struct denials *denials, const struct nsrun_plan *plan, bool is_learning) {
        return watch_new(plan, is_learning, &denials->watch);
}

struct watch *denials_watched(const struct denials *denials) {
        return denials ? denials->watch : NULL;
}

struct denials *denials_free(struct denials *denials) {
        if (denials) {
                (void)watch_free(denials->watch);
                free(denials->kinds);
        }
        free(denials);
        return NULL;
}

static enum syscall_arch arch_of(const struct seccomp_data *data) {
        bool is_x32 =
                data->arch == syscall_arch_audit(SYSCALL_ARCH_X32) && ((uint32_t)data->nr & SYSCALL_X32_BIT);
        enum syscall_arch arch = 0;

        if (is_x32)
                return SYSCALL_ARCH_X32;
        while (arch < N_SYSCALL_ARCHS && syscall_arch_audit(arch) != data->arch)
                arch++;
        return arch;
}

static const char *name_of(const struct denial *d) {
        return d->arch < N_SYSCALL_ARCHS ? syscall_name(d->arch, (uint32_t)d->number) : NULL;
}

static bool is_same(const struct denial *a, const struct denial *b) {
        if (a->arch != b->arch || a->number != b->number || a->action != b->action ||
            a->n_arguments != b->n_arguments || a->is_raw != b->is_raw)
                return false;
        for (size_t i = 0; i < a->n_arguments; i++)
                if (!streq(a->arguments[i].text, b->arguments[i].text))
                        return false;
        return true;
}

static void denials_remember(struct denials *denials, const struct seccomp_notif *question,
                             uint32_t action) {
        struct denial d = {.arch = arch_of(&question->data), .number = question->data.nr, .action = action};
        const char *name = name_of(&d);
        uint64_t arguments[6];

        for (size_t i = 0; i < 6; i++)
                arguments[i] = question->data.args[i];
        d.n_arguments = name ? decode_arguments(name, arguments, d.arguments) : 0;
        d.is_raw = name && streq(name, "socket") && (arguments[1] & 0xf) == SOCK_RAW &&
                   (arguments[0] == AF_INET || arguments[0] == AF_INET6);
        for (size_t i = 0; i < denials->n_kinds; i++)
                if (is_same(&denials->kinds[i], &d)) {
                        denials->kinds[i].count++;
                        return;
                }
        if (denials->n_kinds >= MOST_KINDS || ARRAY_GROW(denials->kinds, denials->n_kinds) < 0) {
                denials->others++;
                return;
        }
        d.pid = question->pid;
        d.count = 1;
        read_process_name((pid_t)d.pid, d.comm, sizeof(d.comm));
        denials->kinds[denials->n_kinds++] = d;
}

/* A program that is told ENOSYS goes on with an older call, or is at its end. */
static void denials_note_open(struct denials *denials, const struct seccomp_notif *question,
                              uint32_t action) {
        const char *name = NULL;

        if (question->data.arch == syscall_arch_audit(SYSCALL_ARCH_NATIVE))
                name = syscall_name(SYSCALL_ARCH_NATIVE, (uint32_t)question->data.nr);
        if (!name)
                return;
        if (streq(name, "openat2") && action == (SECCOMP_RET_ERRNO | ENOSYS))
                denials->stopped_at_openat2 = question->pid;
        else if (denials->stopped_at_openat2 == question->pid &&
                 (streq(name, "openat") || streq(name, "open")))
                denials->stopped_at_openat2 = 0;
}

/* Takes one question from the listener, counts it and answers it.  -errno: the listener can't be
 * used any more. */
static int denials_answer(struct denials *denials, int listener) {
        const struct seccomp_loaded *filter = &denials->plan->seccomp;
        struct seccomp_notif question;
        uint32_t action;
        int r = sys_seccomp_receive(listener, &question);

        /* The caller was killed, or a signal interrupted its call, before the question was taken. */
        if (r == -ENOENT || r == -EINTR)
                return 0;
        if (r < 0)
                return r;
        action =
                filter->code ? seccomp_simulate(filter->code, filter->n, &question.data) : SECCOMP_RET_ALLOW;
        if (denials->watch)
                denials_note_open(denials, &question, action);
        if (action == SECCOMP_RET_ALLOW && denials->watch) {
                r = watch_take(denials->watch, listener, &question);
                return r == -ENOENT || r == -EINTR ? 0 : r;
        }
        denials_remember(denials, &question, action);
        r = sys_seccomp_answer(listener, &question, -(int)(action & SECCOMP_RET_DATA));
        return r == -ENOENT || r == -EINTR ? 0 : r;
}

static void take_listener(struct denials *denials, struct launch *l, int *listener) {
        struct watch *watch = denials->watch;
        int fd = launch_receive_listener(l);

        if (watch && watch->root_fd < 0 && fd >= 0) {
                watch->root_fd = fd;
                return;
        }
        *listener = fd;
        close_fdp(&l->listener_socket);
        if (watch && fd >= 0)
                (void)sys_seccomp_take_turns(fd);
}

/* Whether a watched command's listener is to be kept after a failure: without one its calls would fail. */
static bool may_try_again(const struct denials *denials) {
        return denials->watch && ++denials->watch->failures < FAILURES_MOST;
}

void denials_take(struct denials *denials, struct launch *l, int *listener, int events) {
        int r;

        if (*listener < 0) {
                take_listener(denials, l, listener);
                return;
        }
        /* POLLHUP: no process with that filter is left.  Before 6.6 taking a question would then wait for
         * ever. */
        r = events & POLLIN ? denials_answer(denials, *listener) : -EPIPE;
        if (r >= 0 && denials->watch)
                denials->watch->failures = 0;
        if (r == -EPIPE || (r < 0 && !may_try_again(denials)))
                close_fdp(listener);
}

/* ----------------------------------------------------------------- the lines */

static void add_error(struct json_document *d, struct json_value *to, uint32_t action) {
        int number = (int)(action & SECCOMP_RET_DATA);
        const char *name = errno_name(number);

        if (name)
                json_add_string(d, to, "errno", name);
        else
                json_add_number(d, to, "errno", (uint64_t)number);
}

static void add_denial(struct json_document *d, struct json_value *to, const struct denial *denial) {
        const char *name = name_of(denial);
        struct json_value *arguments;

        if (name)
                json_add_string(d, to, "syscall", name);
        else
                json_add_number(d, to, "syscall", (uint32_t)denial->number);
        json_add_string(d, to, "arch",
                        denial->arch < N_SYSCALL_ARCHS ? syscall_arch_name(denial->arch) : NULL);
        arguments = json_add_object(d, to, "args");
        for (size_t i = 0; i < denial->n_arguments; i++)
                json_add_string(d, arguments, denial->arguments[i].label, denial->arguments[i].text);
        add_error(d, to, denial->action);
        json_add_number(d, to, "pid", denial->pid);
        json_add_string(d, to, "comm", denial->comm);
        json_add_number(d, to, "count", denial->count);
}

static void add_others(struct json_document *d, struct json_value *to, uint64_t count) {
        json_add_string(d, to, "syscall", NULL);
        json_add_number(d, to, "count", count);
}

static int denials_write_line(int fd, struct json_document *d, struct nsrun_error *err) {
        return json_write_line(fd, d, "the report of denied calls can't be written", NULL, err);
}

static int write_denial(const struct denial *denial, int fd, struct nsrun_error *err) {
        _cleanup_json_ struct json_document d = json_begin();

        add_denial(&d, d.root, denial);
        return denials_write_line(fd, &d, err);
}

int denials_write(const struct denials *denials, int fd, struct nsrun_error *err) {
        _cleanup_json_ struct json_document d = json_begin();
        int r = 0;

        for (size_t i = 0; i < denials->n_kinds && r >= 0; i++)
                r = write_denial(&denials->kinds[i], fd, err);
        if (r < 0 || denials->others == 0)
                return r;
        add_others(&d, d.root, denials->others);
        return denials_write_line(fd, &d, err);
}

int denials_format(const struct denials *denials, char **ret, struct nsrun_error *err) {
        _cleanup_json_ struct json_document d = json_begin();
        struct json_value *array;
        char *text = NULL, *begin;
        size_t n;
        int r;

        array = json_add_array(&d, d.root, "report");
        for (size_t i = 0; i < denials->n_kinds; i++)
                add_denial(&d, json_add_object(&d, array, NULL), &denials->kinds[i]);
        if (denials->others > 0)
                add_others(&d, json_add_object(&d, array, NULL), denials->others);
        r = json_finish(&d, false, &text, err);
        if (r < 0)
                return r;
        /* Takes the array out of {"report":[...]}. */
        begin = strchr(text, '[');
        n = strlen(begin);
        memmove(text, begin, n);
        text[n - 1] = '\0';
        *ret = text;
        return 0;
}

/* Whether programs of that architecture can end under a filter, and so run. */
static bool lets_run(const struct sock_filter *code, size_t n, enum syscall_arch arch) {
        const struct seccomp_data data = {.nr = syscall_number(arch, "exit_group"),
                                          .arch = syscall_arch_audit(arch)};

        return !code || seccomp_simulate(code, n, &data) == SECCOMP_RET_ALLOW;
}

/* A call that is ENOSYS because all of its architecture's are, where nsrun's default has them. */
static bool is_of_other_word_size(const struct denials *denials, const struct denial *d) {
        const struct seccomp_loaded *filter = &denials->plan->seccomp;
        const struct seccomp_shipped *usual = seccomp_find_shipped("default", NULL);

        return d->arch < N_SYSCALL_ARCHS && d->arch != SYSCALL_ARCH_NATIVE &&
               !lets_run(filter->code, filter->n, d->arch) && lets_run(usual->code, usual->n, d->arch);
}

/* Whether nobody missed the call: libraries try io_uring and go on without, and programs that can't name it.
 */
static bool is_tried_in_passing(const struct denials *denials, const char *name) {
        const struct printed *p = denials->watch ? &denials->watch->printed : NULL;

        return p && startswith(name, "io_uring_") &&
               !(p->bytes && memmem(p->bytes, p->n, "uring", strlen("uring")));
}

int denials_explain(const struct denials *denials, char ***ret) {
        int r = 0;

        for (size_t i = 0; i < denials->n_kinds && r >= 0; i++) {
                const struct denial *d = &denials->kinds[i];
                const char *name = name_of(d);
                _cleanup_free_ char *reason = NULL;

                if (is_of_other_word_size(denials, d))
                        r = explain_add(ret, variant_takes_calls(denials->plan->seccomp_name)
                                                     ? EXPLAIN_NO_32_BITS_OF_CHANGED
                                                     : EXPLAIN_NO_32_BITS);
                if (!name || r < 0 || is_tried_in_passing(denials, name))
                        continue;
                r = explain_call(denials->plan->seccomp_name, name,
                                 d->n_arguments > 0 ? d->arguments[0].text : "", d->is_raw,
                                 (int)(d->action & SECCOMP_RET_DATA), &reason);
                if (r >= 0 && reason)
                        r = explain_add(ret, reason);
        }
        if (r >= 0 && denials->stopped_at_openat2 != 0)
                r = explain_add(ret, EXPLAIN_NO_OPENAT2);
        return r;
}

bool denials_want_nested(const struct denials *denials) {
        if (denials->stopped_at_openat2 != 0)
                return true;
        for (size_t i = 0; i < denials->n_kinds; i++) {
                const char *name = name_of(&denials->kinds[i]);

                if (name && (denials->kinds[i].action & SECCOMP_RET_DATA) != ENOSYS &&
                    explain_call_is_nested(name))
                        return true;
        }
        return false;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The structures of record.h as bytes, and back.  A table for each struct names its members and how
 * each is stored: a member that is added to the struct without a row in its table does not compile. */
#include "record.h"

#include "base/file.h"
#include "base/sys.h"
#include "build.h"

#ifndef PIDFS_MAGIC
#define PIDFS_MAGIC 0x50494446
#endif

/* One macro for each way to store a member, named by the kind in the member's row. */
#define VISIT_NUMBER(s, of, member)  STORE_NUMBER(s, (of)->member)
#define VISIT_BOOL(s, of, member)    store_bool(s, &(of)->member)
#define VISIT_TEXT(s, of, member)    store_string(s, &(of)->member)
#define VISIT_TEXTS(s, of, member)   store_strv(s, &(of)->member)
#define VISIT_SECRET(s, of, member)  store_string(s, &(of)->member)
#define VISIT_FILTER(s, of, member)  visit_filter(s, &(of)->member)
#define VISIT_LIMITS(s, of, member)  visit_limits(s, &(of)->member)
#define VISIT_RLIMITS(s, of, member) visit_rlimits(s, (of)->member)
/* A member that is stored for a PLAN_OVERLAY alone. */
#define VISIT_OVERLAYS(s, of, member)                  \
        do {                                           \
                if ((of)->kind == PLAN_OVERLAY)        \
                        STORE_NUMBER(s, (of)->member); \
        } while (0)
/* A member that is not part of a record. */
#define VISIT_NOTHING(s, of, member)        (void)(of)->member
#define VISIT_UNSTORED_TEXT(s, of, member)  (void)(of)->member
#define VISIT_UNSTORED_TEXTS(s, of, member) (void)(of)->member
#define VISIT(kind, member)                 VISIT_##kind(s, of, member);
#define VISIT_OP(told, kind, member)        VISIT_##kind(s, of, member);

/* Makes an initialiser that has one item for each row: the compiler complains
 * (missing-field-initializers) where the struct has a member without a row. */
#define EMPTY_NUMBER         0
#define EMPTY_BOOL           false
#define EMPTY_TEXT           NULL
#define EMPTY_TEXTS          NULL
#define EMPTY_SECRET         NULL
#define EMPTY_UNSTORED_TEXT  NULL
#define EMPTY_UNSTORED_TEXTS NULL
#define EMPTY_FILTER \
        { .code = NULL }
#define EMPTY_LIMITS \
        { .cpu = 0 }
#define EMPTY_RLIMITS              \
        {                          \
                [0] = {.hard = 0 } \
        }
#define EMPTY_NOTHING                  0
#define EMPTY(kind, member)            EMPTY_##kind,
#define HAS_ALL_MEMBERS(type, members) static const nsrun_unused struct type every_##type = {members(EMPTY)}

#define RLIMIT_MEMBERS(M) \
        M(BOOL, is_set)   \
        M(NUMBER, soft)   \
        M(NUMBER, hard)

#define LIMITS_MEMBERS(M)   \
        M(RLIMITS, rlimits) \
        M(NUMBER, memory)   \
        M(NUMBER, pids)     \
        M(NUMBER, cpu)

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wmissing-field-initializers"
HAS_ALL_MEMBERS(policy_rlimit, RLIMIT_MEMBERS);
HAS_ALL_MEMBERS(policy_limits, LIMITS_MEMBERS);
HAS_ALL_MEMBERS(nsrun_plan, PLAN_MEMBERS);
#pragma GCC diagnostic pop

static void visit_op(struct store *s, struct plan_op *of) {
        OP_MEMBERS(VISIT_OP)
}

static void visit_ops(struct store *s, struct nsrun_plan *plan) {
        uint64_t n = plan->n_ops;

        store_u64(s, &n);
        if (s->is_reading && !s->is_broken) {
                /* Each operation takes far more than a byte: a count above the bytes that are left
                 * is a lie. */
                if (n > s->n) {
                        s->is_broken = true;
                        return;
                }
                plan->ops = calloc(n + 1, sizeof(*plan->ops));
                s->has_failed |= !plan->ops;
                plan->n_ops = plan->ops ? n : 0;
        }
        for (size_t i = 0; i < plan->n_ops; i++)
                visit_op(s, &plan->ops[i]);
}

static void visit_filter(struct store *s, struct seccomp_loaded *loaded) {
        void *code = (void *)(uintptr_t)loaded->code;

        store_array(s, &code, &loaded->n, sizeof(*loaded->code));
        if (s->is_reading)
                loaded->code = loaded->owned = code;
        STORE_NUMBER(s, loaded->flags);
}

static void visit_rlimits(struct store *s, struct policy_rlimit *rlimits) {
        for (struct policy_rlimit *of = rlimits; of < rlimits + RLIMITS_COUNT; of++) {
                RLIMIT_MEMBERS(VISIT)
        }
}

static void visit_limits(struct store *s, struct policy_limits *of) {
        LIMITS_MEMBERS(VISIT)
}

/* Stores or restores all of a plan but its operations. */
static void visit_plan(struct store *s, struct nsrun_plan *of) {
        PLAN_MEMBERS(VISIT)
}

static void visit_process(struct store *s, struct record_process *process) {
        STORE_NUMBER(s, process->pid);
        store_u64(s, &process->pidfd_inode);
        store_u64(s, &process->start_time);
}

static void visit_record(struct store *s, struct plan_record *record) {
        store_string(s, &record->id);
        visit_process(s, &record->monitor);
        visit_process(s, &record->init);
        store_u64(s, &record->namespaces);
        for (size_t i = 0; i < ARRAY_SIZE(record->namespace_inodes); i++)
                store_u64(s, &record->namespace_inodes[i]);
        store_bool(s, &record->is_nested);
        STORE_NUMBER(s, record->started_s);
        STORE_NUMBER(s, record->base_s);
        store_u64(s, &record->base_ns);
        store_u64(s, &record->idle_timeout);
        STORE_NUMBER(s, record->owner);
        store_string(s, &record->rundir);
        store_string(s, &record->cgroup);
        store_u64(s, &record->n_processes);
        visit_plan(s, record->plan);
}

/* The last number of a record: by it a record that was cut off is recognised, also where the
 * operations aren't read. */
#define LAST_WORD UINT64_C(0x6e7372756e656e64)

static void visit_end(struct store *s) {
        uint64_t word = LAST_WORD;

        store_u64(s, &word);
        s->is_broken |= word != LAST_WORD;
}

static bool has_end(const char *bytes, size_t n) {
        uint64_t word = 0;

        if (n >= sizeof(word))
                memcpy(&word, bytes + n - sizeof(word), sizeof(word));
        return word == LAST_WORD;
}

/* The first thing in a record is nsrun's version: another version's structs have other members. */
static void visit_version(struct store *s) {
        const char *version = nsrun_version();
        char *text = s->is_reading ? NULL : (char *)(uintptr_t)version;

        store_string(s, &text);
        if (!s->is_reading)
                return;
        s->is_broken |= !text || !streq(text, version);
        free(text);
}

static int record_finish(struct store *s, char **ret, size_t *ret_n) {
        size_t n = s->written.length;
        char *text = strbuf_finish(&s->written);

        if (!text)
                return -ENOMEM;
        *ret = text;
        *ret_n = n;
        return 0;
}

static int broken(int r, struct nsrun_error *err) {
        if (r == -ENOMEM)
                return error_oom(err);
        return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL,
                         "what was written down of the session can't be read",
                         "another version of nsrun wrote it: stop the session with that one");
}

void plan_store_in(const struct nsrun_plan *plan, struct store *s) {
        visit_version(s);
        visit_plan(s, (struct nsrun_plan *)(uintptr_t)plan);
        visit_ops(s, (struct nsrun_plan *)(uintptr_t)plan);
}

int plan_store(const struct nsrun_plan *plan, char **ret, size_t *ret_n) {
        _cleanup_store_ struct store s = {0};

        plan_store_in(plan, &s);
        return record_finish(&s, ret, ret_n);
}

int plan_restore(const void *bytes, size_t n, struct nsrun_plan **ret, struct nsrun_error *err) {
        _cleanup_plan_ struct nsrun_plan *plan = calloc(1, sizeof(*plan));
        struct store s = store_reader(bytes, n);
        int r;

        if (!plan)
                return error_oom(err);
        visit_version(&s);
        visit_plan(&s, plan);
        visit_ops(&s, plan);
        r = store_result(&s);
        if (r < 0)
                return broken(r, err);
        *ret = TAKE_PTR(plan);
        return 0;
}

int record_store(const struct plan_record *record, char **ret, size_t *ret_n) {
        _cleanup_store_ struct store s = {0};

        visit_version(&s);
        visit_record(&s, (struct plan_record *)(uintptr_t)record);
        visit_ops(&s, record->plan);
        visit_end(&s);
        return record_finish(&s, ret, ret_n);
}

int record_restore(const void *bytes, size_t n, bool with_operations, struct plan_record *ret,
                   struct nsrun_error *err) {
        _cleanup_record_ struct plan_record record = {.plan = calloc(1, sizeof(*record.plan))};
        struct store s = store_reader(bytes, n);
        int r;

        if (!record.plan)
                return error_oom(err);
        visit_version(&s);
        visit_record(&s, &record);
        if (with_operations) {
                visit_ops(&s, record.plan);
                visit_end(&s);
        } else {
                s.is_broken |= s.n == 0 || !has_end(bytes, n);
                s.n = 0;
        }
        r = store_result(&s);
        if (r >= 0 && (!record.id || !record.plan->cwd || !record.plan->seccomp_name))
                r = -EBADMSG;
        if (r < 0)
                return broken(r, err);
        *ret = record;
        record = (struct plan_record){0};
        return 0;
}

void record_clear(struct plan_record *record) {
        free(record->id);
        free(record->rundir);
        free(record->cgroup);
        plan_free(record->plan);
        *record = (struct plan_record){0};
}

/* Reads the time of a process's start from /proc/PID/stat, the 22nd field.  The second is a name in
 * parentheses, with any byte in it, so that fields are counted from the last parenthesis. */
static int read_start_time(pid_t pid, uint64_t *ret) {
        char text[1024];
        const char *at;
        ssize_t n = read_process_file(pid, "stat", text, sizeof(text));

        if (n < 0)
                return n == -ENOENT ? -ESRCH : (int)n;
        at = strrchr(text, ')');
        for (int field = 2; at && field < 22; field++)
                at = strchr(at + 1, ' ');
        if (!at)
                return -EBADMSG;
        *ret = strtoull(at + 1, NULL, 10);
        return 0;
}

/* Whether /proc is that of this process's pid namespace.  In another's a number is some other process's, or
 * nobody's. */
static bool has_own_proc(void) {
        char text[16] = "";

        return sys_readlinkat(AT_FDCWD, "/proc/self", text, sizeof(text) - 1) > 0 && atoi(text) == getpid();
}

static uint64_t unique_inode(int pidfd) {
        struct statfs fs;
        struct stat st;

        if (fstatfs(pidfd, &fs) < 0 || (unsigned long)fs.f_type != PIDFS_MAGIC || sys_fstat(pidfd, &st) < 0)
                return 0;
        return st.st_ino;
}

int record_identify(pid_t pid, int pidfd, struct record_process *ret) {
        struct record_process process = {.pid = pid, .pidfd_inode = unique_inode(pidfd)};
        int r = has_own_proc() ? read_start_time(pid, &process.start_time) : -ESRCH;

        if (r >= 0)
                *ret = process;
        return r;
}

int record_open_process(const struct record_process *process) {
        _cleanup_close_ int pidfd = sys_pidfd_open(process->pid);
        uint64_t start_time = 0;
        int r;

        if (pidfd < 0)
                return pidfd == -EINVAL ? -ESRCH : pidfd;
        if (process->pidfd_inode != 0)
                return unique_inode(pidfd) == process->pidfd_inode ? TAKE_FD(pidfd) : -ESRCH;
        r = read_start_time(process->pid, &start_time);
        if (r < 0)
                return r;
        return start_time == process->start_time ? TAKE_FD(pidfd) : -ESRCH;
}

/* A process that has exited has no memory any more, which /proc/PID/statm tells (proc(5)). */
bool record_has_exited(pid_t pid) {
        char text[128];

        return read_process_file(pid, "statm", text, sizeof(text)) > 0 && startswith(text, "0 ");
}

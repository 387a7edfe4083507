/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The record's form: the fixed part as it is in memory, then the members of struct blueprint in the order of
 * its list here.  A number has seven bits in each byte, the lowest first; a text its length and one more (0:
 * there is none), its bytes, and a zero; a list its length and its items.  One list of members writes and
 * reads, and the compiler complains where a struct has one that isn't in it. */
#include "blueprint.h"

#include <sys/mman.h>

/* Each of a record's numbers or texts takes a byte at least, what is made of it no more than this. */
#define LISTS_PER_BYTE 32U
#define LISTS_ROOM     65536U

/* ----------------------------------------------------------------- the members */

#define BLUEPRINT_MEMBERS(M) \
        M(STRUCT, facts)     \
        M(TEXT, file)        \
        M(TEXT, cwd)         \
        M(TEXT, hostname)    \
        M(TEXT, home)        \
        M(TEXT, rundir)      \
        M(TEXT, rundir_path) \
        M(TEXT, init_path)   \
        M(TEXT, processes_hint) \
        M(TEXT, session)     \
        M(TEXT, cgroup_path) \
        M(TEXT, file_label)  \
        M(TEXT, exec_label)  \
        M(TEXTS, argv)       \
        M(TEXTS, env)        \
        M(TEXTS, directories) \
        M(TEXTS, pwd)        \
        M(TEXTS, lock_files) \
        M(FILTERS, filters)  \
        M(NOTHING, n_filters) \
        M(ITEMS, passed)     \
        M(NOTHING, n_passed) \
        M(ITEMS, routes)     \
        M(NOTHING, n_routes) \
        M(ITEMS, sockets)    \
        M(NOTHING, n_sockets) \
        M(OPS, ops)          \
        M(NOTHING, n_ops)    \
        M(ITEMS, held)       \
        M(NOTHING, n_held)   \
        M(NOTHING, lists)    \
        M(NOTHING, lists_size)

#define OP_MEMBERS(M)             \
        M(NUMBER, kind)           \
        M(TEXT, target)           \
        M(TEXT, source)           \
        M(NUMBER, mode)           \
        M(NUMBER, size)           \
        M(BYTES, text)            \
        M(BOOL, was_asked_for)    \
        M(BOOL, can_be_empty)     \
        M(NOTHING, base_dev)      \
        M(NOTHING, base_ino)      \
        M(NOTHING, merged_dev)    \
        M(NOTHING, merged_ino)    \
        M(BOOL, is_read_only)     \
        M(BOOL, is_device)        \
        M(BOOL, is_directory)     \
        M(BOOL, is_link)          \
        M(TEXTS, stubs)           \
        M(BOOL, is_git_dir)       \
        M(BOOL, is_in_rundir)     \
        M(BOOL, makes_target)     \
        M(NOTHING, makes_on_host) \
        M(TEXTS, layers)          \
        M(TEXT, work)             \
        M(BOOL, is_own_link)      \
        M(NUMBER, parent_mode)    \
        M(NUMBER, source_fd)      \
        M(BOOL, has_source_fd)    \
        M(BOOL, is_optional)      \
        M(BOOL, is_ephemeral)     \
        M(BOOL, is_hiding)        \
        M(NUMBER, inode)          \
        M(NUMBER, mount_flags)    \
        M(NUMBER, attributes)     \
        M(NUMBER, propagation)    \
        M(BOOL, is_shallow)       \
        M(NUMBER, proc)

/* An initialiser that has one item for each row. */
#define EMPTY_NUMBER         0
#define EMPTY_BOOL           false
#define EMPTY_TEXT           NULL
#define EMPTY_BYTES          NULL
#define EMPTY_TEXTS          NULL
#define EMPTY_FILTERS        NULL
#define EMPTY_ITEMS          NULL
#define EMPTY_OPS            NULL
#define EMPTY_NOTHING        0
#define EMPTY_STRUCT         {.life = BOUNDARY_SANDBOX}
#define EMPTY(kind, member)  EMPTY_##kind,
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wmissing-field-initializers"
static const nsrun_unused struct plan_op every_op = {OP_MEMBERS(EMPTY)};
static const nsrun_unused struct blueprint every_member = {BLUEPRINT_MEMBERS(EMPTY)};
#pragma GCC diagnostic pop

/* Whether an operation's text is bytes of a file, any of them, and not a string. */
static bool has_bytes(const struct plan_op *op, bool is_raw) {
        return op->kind == PLAN_DATA || (op->kind == PLAN_FILE && is_raw);
}

/* -------------------------------------------------------------------- writing */

struct blueprint_writer {
        char *bytes;
        size_t n, room;
        bool is_raw;
        bool has_failed;
};

static bool writer_reserve(struct blueprint_writer *w, size_t more) {
        size_t room = w->room > 0 ? w->room : 16384;
        char *bytes;

        if (w->has_failed || more > BLUEPRINT_MOST)
                return !(w->has_failed = true);
        while (room < w->n + more)
                room *= 2;
        if (room > w->room) {
                bytes = realloc(w->bytes, room);
                if (!bytes)
                        return !(w->has_failed = true);
                w->bytes = bytes;
                w->room = room;
        }
        return true;
}

static void write_items(struct blueprint_writer *w, const void *items, size_t n) {
        if (n == 0 || !writer_reserve(w, n))
                return;
        memcpy(w->bytes + w->n, items, n);
        w->n += n;
}

static void write_number(struct blueprint_writer *w, uint64_t n) {
        if (!writer_reserve(w, 10))
                return;
        for (; n >= 0x80; n >>= 7)
                w->bytes[w->n++] = (char)(n | 0x80);
        w->bytes[w->n++] = (char)n;
}

static void write_bytes(struct blueprint_writer *w, const char *bytes, size_t n) {
        write_number(w, bytes ? (uint64_t)n + 1 : 0);
        if (bytes) {
                write_items(w, bytes, n);
                write_items(w, "", 1);
        }
}

static void write_text(struct blueprint_writer *w, const char *text) {
        write_bytes(w, text, text ? strlen(text) : 0);
}

static void write_texts(struct blueprint_writer *w, char *const *texts) {
        write_number(w, texts ? (uint64_t)strv_length(texts) + 1 : 0);
        STRV_FOREACH (text, texts)
                write_text(w, *text);
}

static void write_filters(struct blueprint_writer *w, const struct sock_fprog *filters, size_t n) {
        write_number(w, n);
        for (size_t i = 0; i < n; i++) {
                write_number(w, filters[i].len);
                write_items(w, filters[i].filter, filters[i].len * sizeof(*filters[i].filter));
        }
}

#define WRITE_NUMBER(w, of, member)  write_number(w, (uint64_t)(of)->member);
#define WRITE_BOOL(w, of, member)    write_number(w, (of)->member);
#define WRITE_TEXT(w, of, member)    write_text(w, (of)->member);
#define WRITE_BYTES(w, of, member)   write_bytes(w, (of)->member, op_text_length(of, (w)->is_raw));
#define WRITE_TEXTS(w, of, member)   write_texts(w, (of)->member);
#define WRITE_FILTERS(w, of, member) write_filters(w, (of)->member, (of)->n_##member);
#define WRITE_ITEMS(w, of, member)   \
        write_number(w, (of)->n_##member); \
        write_items(w, (of)->member, (of)->n_##member * sizeof(*(of)->member));
#define WRITE_OPS(w, of, member)      write_ops(w, (of)->member, (of)->n_##member);
#define WRITE_NOTHING(w, of, member)
#define WRITE_STRUCT(w, of, member)
#define WRITE(kind, member) WRITE_##kind(w, of, member)

static size_t op_text_length(const struct plan_op *op, bool is_raw) {
        return !op->text ? 0 : has_bytes(op, is_raw) ? op->size : strlen(op->text);
}

static void write_op(struct blueprint_writer *w, const struct plan_op *of) {
        OP_MEMBERS(WRITE)
}

static void write_ops(struct blueprint_writer *w, const struct plan_op *ops, size_t n) {
        write_number(w, n);
        for (size_t i = 0; i < n; i++)
                write_op(w, &ops[i]);
}

static void write_members(struct blueprint_writer *w, const struct blueprint *of) {
        BLUEPRINT_MEMBERS(WRITE)
}

int blueprint_write(const struct blueprint *b, char **ret, size_t *ret_n) {
        struct blueprint_writer w = {.is_raw = b->facts.life == BOUNDARY_RAW};

        write_items(&w, &b->facts, sizeof(b->facts));
        write_members(&w, b);
        if (w.has_failed || w.n > BLUEPRINT_MOST) {
                free(w.bytes);
                return w.n > BLUEPRINT_MOST ? -E2BIG : -ENOMEM;
        }
        *ret = w.bytes;
        *ret_n = w.n;
        return 0;
}

void blueprint_settle(char *bytes, const struct boundary_facts *facts) {
        memcpy(bytes, facts, sizeof(*facts));
}

/* -------------------------------------------------------------------- reading */

struct blueprint_reader {
        char *at, *end;
        char *lists, *lists_end;
        bool is_raw;
        bool is_broken;
};

/* Memory for a list; NULL: the record is broken from now on. */
static void *reader_list(struct blueprint_reader *r, size_t n, size_t size) {
        size_t room = (size_t)(r->lists_end - r->lists);
        void *list = r->lists;

        /* Each item takes a byte of the record. */
        if (r->is_broken || n > (size_t)(r->end - r->at) + 1 || n * size + 16 > room) {
                r->is_broken = true;
                return NULL;
        }
        r->lists += (n * size + 15) & ~(size_t)15;
        return list;
}

static uint64_t read_number(struct blueprint_reader *r) {
        uint64_t n = 0;

        for (unsigned bits = 0; r->at < r->end && bits < 64; bits += 7) {
                unsigned char byte = (unsigned char)*r->at++;

                n |= (uint64_t)(byte & 0x7f) << bits;
                if (byte < 0x80)
                        return n;
        }
        r->is_broken = true;
        return 0;
}

static bool read_bool(struct blueprint_reader *r) {
        uint64_t n = read_number(r);

        r->is_broken |= n > 1;
        return n == 1;
}

/* Bytes with a zero behind them, in place. */
static char *read_bytes(struct blueprint_reader *r, size_t *ret_n) {
        uint64_t n = read_number(r);
        char *bytes = r->at;

        *ret_n = 0;
        if (n == 0 || r->is_broken)
                return NULL;
        if (n > (uint64_t)(r->end - r->at) || bytes[n - 1] != '\0') {
                r->is_broken = true;
                return NULL;
        }
        r->at += n;
        *ret_n = (size_t)n - 1;
        return bytes;
}

static char *read_text(struct blueprint_reader *r) {
        size_t n;
        char *text = read_bytes(r, &n);

        r->is_broken |= text && strlen(text) != n;
        return text;
}

static char **read_texts(struct blueprint_reader *r) {
        uint64_t n = read_number(r);
        char **texts = n == 0 ? NULL : reader_list(r, n, sizeof(*texts));

        if (!texts)
                return NULL;
        for (uint64_t i = 0; i < n - 1; i++) {
                texts[i] = read_text(r);
                r->is_broken |= !texts[i];
                if (r->is_broken)
                        return NULL;
        }
        texts[n - 1] = NULL;
        return texts;
}

/* Copied, since they lie anywhere in the bytes. */
static void *read_items(struct blueprint_reader *r, size_t *ret_n, size_t size) {
        uint64_t n = read_number(r);
        void *items;

        *ret_n = 0;
        if (r->is_broken || n > (uint64_t)(r->end - r->at) / size) {
                r->is_broken = true;
                return NULL;
        }
        items = reader_list(r, n, size);
        if (!items)
                return NULL;
        memcpy(items, r->at, n * size);
        r->at += n * size;
        *ret_n = n;
        return items;
}

static struct sock_fprog *read_filters(struct blueprint_reader *r, size_t *ret_n) {
        uint64_t n = read_number(r);
        struct sock_fprog *filters = reader_list(r, n, sizeof(*filters));

        *ret_n = 0;
        for (uint64_t i = 0; i < n && filters && !r->is_broken; i++) {
                size_t length;

                filters[i].filter = read_items(r, &length, sizeof(*filters[i].filter));
                filters[i].len = (unsigned short)length;
                r->is_broken |= length > BPF_MAXINSNS;
        }
        *ret_n = filters ? n : 0;
        return filters;
}

#define READ_NUMBER(r, of, member)                                         \
        do {                                                               \
                uint64_t number_ = read_number(r);                         \
                (of)->member = (__typeof__((of)->member))number_;          \
                (r)->is_broken |= (uint64_t)(of)->member != number_;       \
        } while (0);
#define READ_BOOL(r, of, member)    (of)->member = read_bool(r);
#define READ_TEXT(r, of, member)    (of)->member = read_text(r);
#define READ_BYTES(r, of, member)   read_op_text(r, of);
#define READ_TEXTS(r, of, member)   (of)->member = read_texts(r);
#define READ_FILTERS(r, of, member) (of)->member = read_filters(r, &(of)->n_##member);
#define READ_ITEMS(r, of, member)   (of)->member = read_items(r, &(of)->n_##member, sizeof(*(of)->member));
#define READ_OPS(r, of, member)     (of)->member = read_ops(r, &(of)->n_##member);
#define READ_NOTHING(r, of, member)
#define READ_STRUCT(r, of, member)
#define READ(kind, member) READ_##kind(r, of, member)

/* Bytes are counted by the operation's size, which was read before them. */
static void read_op_text(struct blueprint_reader *r, struct plan_op *op) {
        size_t n;

        op->text = read_bytes(r, &n);
        r->is_broken |= op->text && (has_bytes(op, r->is_raw) ? n != op->size : strlen(op->text) != n);
}

/* What no operation may lack, so that carrying it out has nothing to ask. */
static bool op_can_be(const struct plan_op *op, bool is_raw) {
        if ((unsigned)op->kind > PLAN_SYSCTL || (unsigned)op->proc > POLICY_PROC_NONE || !op->target)
                return false;
        if (op->source_fd < 0 && op->has_source_fd)
                return false;
        switch (op->kind) {
        case PLAN_FILE:
        case PLAN_SYMLINK:
        case PLAN_DATA:
        case PLAN_SOCKET:
        case PLAN_SYSCTL:
                if (!op->text)
                        return false;
                break;
        case PLAN_BIND:
        case PLAN_FILESYSTEM:
                if (!op->source)
                        return false;
                break;
        case PLAN_OVERLAY:
                if (is_raw ? !op->layers || (op->source && !op->work) : !op->source || !op->text)
                        return false;
                break;
        default:
                break;
        }
        /* nsrun's own plans name absolute paths, which are resolved beneath a folder without their slash. */
        return is_raw || (op->kind <= PLAN_SOCKET && op->target[0] == '/' &&
                          (!op->source || op->source[0] == '/'));
}

static void read_op(struct blueprint_reader *r, struct plan_op *of) {
        *of = (struct plan_op){0};
        OP_MEMBERS(READ)
        r->is_broken |= !op_can_be(of, r->is_raw);
}

static struct plan_op *read_ops(struct blueprint_reader *r, size_t *ret_n) {
        uint64_t n = read_number(r);
        struct plan_op *ops = reader_list(r, n, sizeof(*ops));

        *ret_n = 0;
        for (uint64_t i = 0; i < n && ops && !r->is_broken; i++)
                read_op(r, &ops[i]);
        *ret_n = ops ? n : 0;
        return ops;
}

static void read_members(struct blueprint_reader *r, struct blueprint *of) {
        BLUEPRINT_MEMBERS(READ)
}

/* ------------------------------------------------------------- the fixed part */

static bool is_text(const char *text, size_t size) {
        return memchr(text, '\0', size) != NULL;
}

static bool identity_can_be(const struct init_identity *id) {
        return id->groups.n <= PLAN_GROUPS_MAX && is_text(id->uid_map, sizeof(id->uid_map)) &&
               is_text(id->gid_map, sizeof(id->gid_map));
}

/* Whether the parts agree with each other, so that nobody has to ask again. */
static bool blueprint_can_be(const struct blueprint *b) {
        const struct boundary_facts *f = &b->facts;
        const struct init *init = &f->init;

        if ((unsigned)f->life > BOUNDARY_RAW || (unsigned)init->terminal > INIT_TERMINAL_OWN ||
            (unsigned)init->leftovers > INIT_LEFTOVERS_REAP || init->n_limits > RLIMITS_COUNT ||
            init->report_fd < 0)
                return false;
        if (!is_text(f->uid_map, sizeof(f->uid_map)) || !is_text(f->gid_map, sizeof(f->gid_map)) ||
            !identity_can_be(&init->identity))
                return false;
        for (size_t i = 0; i < b->n_passed; i++)
                if (b->passed[i] < 3)
                        return false;
        if (init->has_command && (!b->argv || !b->argv[0] || !b->env || !b->file))
                return false;
        if (f->life != BOUNDARY_RAW && (!b->cwd || b->cwd[0] != '/'))
                return false;
        if (f->life == BOUNDARY_RAW && (!b->directories || !b->directories[0]))
                return false;
        if (b->pwd && strv_length(b->pwd) != strv_length(b->directories))
                return false;
        return !b->home || b->home[0] == '/';
}

int blueprint_open(char *bytes, size_t n, struct blueprint *ret) {
        struct blueprint b = {.lists_size = n * LISTS_PER_BYTE + LISTS_ROOM};
        struct blueprint_reader r;

        if (n < offsetof(struct init, supervisor_fd) || n > BLUEPRINT_MOST)
                return -EBADMSG;
        memcpy(&b.facts, bytes, n < sizeof(b.facts) ? n : sizeof(b.facts));
        if (b.facts.init.size != sizeof(b.facts) || b.facts.init.version != INIT_VERSION)
                return -EPROTO;
        if (n < sizeof(b.facts))
                return -EBADMSG;
        b.lists = mmap(NULL, b.lists_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                       -1, 0);
        if (b.lists == MAP_FAILED)
                return -ENOMEM;
        r = (struct blueprint_reader){.at = bytes + sizeof(b.facts),
                                      .end = bytes + n,
                                      .lists = b.lists,
                                      .lists_end = (char *)b.lists + b.lists_size,
                                      .is_raw = b.facts.life == BOUNDARY_RAW};
        read_members(&r, &b);
        if (r.is_broken || r.at != r.end || !blueprint_can_be(&b)) {
                blueprint_close(&b);
                return -EBADMSG;
        }
        *ret = b;
        return 0;
}

void blueprint_close(struct blueprint *b) {
        if (b->lists)
                (void)munmap(b->lists, b->lists_size);
        b->lists = NULL;
}

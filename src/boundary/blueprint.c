/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The record's form: the fixed part as it is in memory, then the members of struct blueprint in the order of
 * members.h.  A number has seven bits in each byte, the lowest first; a text its length and one more (0:
 * there is none), its bytes, and a zero; a list its length and its items. */
#include "members.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include "base/path.h"

/* Each of a record's numbers or texts takes a byte at least, what is made of it no more than this. */
#define LISTS_PER_BYTE 32U
#define LISTS_ROOM     4096U

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
        if (r->is_broken || n > (size_t)(r->end - r->at) + 1 || blueprint_list_size(n, size) > room) {
                r->is_broken = true;
                return NULL;
        }
        r->lists += blueprint_list_size(n, size);
        return list;
}

static uint64_t reader_number(struct blueprint_reader *r) {
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

static bool reader_bool(struct blueprint_reader *r) {
        uint64_t n = reader_number(r);

        r->is_broken |= n > 1;
        return n == 1;
}

/* Bytes with a zero behind them, in place. */
static char *reader_bytes(struct blueprint_reader *r, size_t *ret_n) {
        uint64_t n = reader_number(r);
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

static char *reader_text(struct blueprint_reader *r) {
        size_t n;
        char *text = reader_bytes(r, &n);

        r->is_broken |= text && strlen(text) != n;
        return text;
}

static char **reader_texts(struct blueprint_reader *r) {
        uint64_t n = reader_number(r);
        char **texts = n == 0 ? NULL : reader_list(r, n, sizeof(*texts));

        if (!texts)
                return NULL;
        for (uint64_t i = 0; i < n - 1; i++) {
                texts[i] = reader_text(r);
                r->is_broken |= !texts[i];
                if (r->is_broken)
                        return NULL;
        }
        texts[n - 1] = NULL;
        return texts;
}

/* Copied, since they lie anywhere in the bytes. */
static void *reader_items(struct blueprint_reader *r, size_t *ret_n, size_t size) {
        uint64_t n = reader_number(r);
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

static struct sock_fprog *reader_filters(struct blueprint_reader *r, size_t *ret_n) {
        uint64_t n = reader_number(r);
        struct sock_fprog *filters = reader_list(r, n, sizeof(*filters));

        *ret_n = 0;
        for (uint64_t i = 0; i < n && filters && !r->is_broken; i++) {
                size_t length;

                filters[i].filter = reader_items(r, &length, sizeof(*filters[i].filter));
                filters[i].len = (unsigned short)length;
                r->is_broken |= length > BPF_MAXINSNS;
        }
        *ret_n = filters ? n : 0;
        return filters;
}

#define READ_NUMBER(r, of, member)                                   \
        do {                                                         \
                uint64_t number_ = reader_number(r);                 \
                (of)->member = (__typeof__((of)->member))number_;    \
                (r)->is_broken |= (uint64_t)(of)->member != number_; \
        } while (0);
#define READ_BOOL(r, of, member)    (of)->member = reader_bool(r);
#define READ_TEXT(r, of, member)    (of)->member = reader_text(r);
#define READ_BYTES(r, of, member)   reader_op_text(r, of);
#define READ_TEXTS(r, of, member)   (of)->member = reader_texts(r);
#define READ_FILTERS(r, of, member) (of)->member = reader_filters(r, &(of)->n_##member);
#define READ_ITEMS(r, of, member)   (of)->member = reader_items(r, &(of)->n_##member, sizeof(*(of)->member));
#define READ_OPS(r, of, member)     (of)->member = reader_ops(r, &(of)->n_##member);
#define READ_NOTHING(r, of, member)
#define READ_STRUCT(r, of, member)
#define READ(kind, member)            READ_##kind(r, of, member)
#define READ_OP(kind, stored, member) READ_##kind(r, of, member)

/* Bytes are counted by the operation's size, which was read before them. */
static void reader_op_text(struct blueprint_reader *r, struct plan_op *op) {
        size_t n;

        op->text = reader_bytes(r, &n);
        r->is_broken |= op->text && (op_has_bytes(op, r->is_raw) ? n != op->size : strlen(op->text) != n);
}

/* Whether a path has a folder above it that isn't the root. */
static bool has_parent(const char *path) {
        const char *last = strrchr(path, '/');

        return last && last > path;
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
        case PLAN_SYSCTL:
                if (!op->text)
                        return false;
                break;
        case PLAN_SOCKET:
                if (!op->text || !has_parent(op->target))
                        return false;
                break;
        case PLAN_BIND:
        case PLAN_FILESYSTEM:
                if (!op->source)
                        return false;
                break;
        case PLAN_COVER: /* on the way to its target there are the kernel's folders alone */
                if (!is_raw && !path_is_beneath(op->target, "/proc"))
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
        return is_raw ||
               (op->kind <= PLAN_SOCKET && op->target[0] == '/' && (!op->source || op->source[0] == '/'));
}

static void reader_op(struct blueprint_reader *r, struct plan_op *of) {
        *of = (struct plan_op){0};
        OP_MEMBERS(READ_OP)
        r->is_broken |= !op_can_be(of, r->is_raw);
}

static struct plan_op *reader_ops(struct blueprint_reader *r, size_t *ret_n) {
        uint64_t n = reader_number(r);
        struct plan_op *ops = reader_list(r, n, sizeof(*ops));

        *ret_n = 0;
        for (uint64_t i = 0; i < n && ops && !r->is_broken; i++)
                reader_op(r, &ops[i]);
        *ret_n = ops ? n : 0;
        return ops;
}

static void reader_members(struct blueprint_reader *r, struct blueprint *of) {
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

/* A byte that is neither 0 nor 1 is no bool, and nothing may be read of it as one. */
static bool bools_can_be(const struct boundary_facts *f) {
        static const size_t all[] = {
                offsetof(struct boundary_facts, is_within),
                offsetof(struct boundary_facts, joins_cgroup),
                offsetof(struct boundary_facts, dies_with_thread),
                offsetof(struct boundary_facts, is_session),
                offsetof(struct boundary_facts, is_strict),
                offsetof(struct boundary_facts, layers_on_disk),
                offsetof(struct boundary_facts, scopes_init),
                offsetof(struct boundary_facts, raw.is_private),
                offsetof(struct boundary_facts, raw.becomes_root),
                offsetof(struct boundary_facts, raw.has_root_outside),
                offsetof(struct boundary_facts, raw.has_reaper),
                offsetof(struct boundary_facts, raw.needs_first_directory),
                offsetof(struct boundary_facts, raw.disables_userns),
                offsetof(struct boundary_facts, network_own[0].is_v6),
                offsetof(struct boundary_facts, network_own[1].is_v6),
                offsetof(struct boundary_facts, init.has_command),
                offsetof(struct boundary_facts, init.wants_started),
                offsetof(struct boundary_facts, init.has_own_stdio),
                offsetof(struct boundary_facts, init.is_plain),
                offsetof(struct boundary_facts, init.is_nested),
                offsetof(struct boundary_facts, init.is_outside),
                offsetof(struct boundary_facts, init.kills_when_released),
                offsetof(struct boundary_facts, init.kills_on_failure),
                offsetof(struct boundary_facts, init.outlives_supervisor),
                offsetof(struct boundary_facts, init.refuses_degraded),
                offsetof(struct boundary_facts, init.command_dies_with_it),
                offsetof(struct boundary_facts, init.refuses_magic_links),
                offsetof(struct boundary_facts, init.runs_scripts),
                offsetof(struct boundary_facts, init.sheds_inherited),
                offsetof(struct boundary_facts, init.sends_listener),
                offsetof(struct boundary_facts, init.filters_by_prctl),
                offsetof(struct boundary_facts, init.session_is_scoped),
                offsetof(struct boundary_facts, init.identity.is_late),
                offsetof(struct boundary_facts, init.identity.makes_userns),
                offsetof(struct boundary_facts, init.identity.needs_no_userns),
                offsetof(struct boundary_facts, init.identity.takes_uid),
                offsetof(struct boundary_facts, init.identity.takes_gid),
                offsetof(struct boundary_facts, init.identity.keeps_capabilities),
                offsetof(struct boundary_facts, init.identity.keeps_through_exec),
                offsetof(struct boundary_facts, init.identity.new_session),
                offsetof(struct boundary_facts, init.identity.has_sets),
                offsetof(struct boundary_facts, init.identity.groups.is_set),
        };

        for (size_t i = 0; i < ARRAY_SIZE(all); i++)
                if (((const unsigned char *)f)[all[i]] > 1)
                        return false;
        return true;
}

static bool limits_can_be(const struct init *init) {
        if (init->n_limits > RLIMITS_COUNT)
                return false;
        for (size_t i = 0; i < init->n_limits; i++)
                if ((unsigned)init->limits[i].resource >= RLIM_NLIMITS)
                        return false;
        return true;
}

/* The run directory's name is put into paths beneath it (mount_special.c), which are as long as they are. */
static bool rundir_can_be(const struct blueprint *b) {
        for (size_t i = 0; i < b->n_ops; i++)
                if (b->ops[i].is_in_rundir && (!b->rundir || !path_is_beneath(b->ops[i].source, b->rundir)))
                        return false;
        return !b->rundir || b->rundir[0] == '/';
}

static bool grant_can_be(const struct blueprint *b) {
        if (b->facts.life != BOUNDARY_GRANT)
                return true;
        if (!b->grant || b->grant[0] != '/' || !b->grant[1])
                return false;
        for (size_t i = 0; i < b->n_ops; i++)
                if (b->ops[i].target && streq(b->ops[i].target, b->grant))
                        return true;
        return false;
}

/* Whether the parts agree with each other, so that nobody has to ask again. */
static bool blueprint_can_be(const struct blueprint *b) {
        const struct boundary_facts *f = &b->facts;
        const struct init *init = &f->init;

        if ((unsigned)f->life > BOUNDARY_RAW || (unsigned)init->terminal > INIT_TERMINAL_OWN ||
            (unsigned)init->leftovers > INIT_LEFTOVERS_REAP || init->report_fd < 0 ||
            init->terminal_fd > 2 || !limits_can_be(init))
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
        return (!b->home || b->home[0] == '/') && (!b->cgroup_path || b->cgroup_path[0] == '/') &&
               (!b->rundir_path || b->rundir_path[0] == '/') && rundir_can_be(b) && grant_can_be(b);
}

int blueprint_open(char *bytes, size_t n, struct blueprint *ret) {
        struct blueprint b = {.lists = NULL};
        struct blueprint_reader r;

        if (n < offsetof(struct init, supervisor_fd) || n > BLUEPRINT_MOST)
                return -EBADMSG;
        memcpy(&b.facts, bytes, n < sizeof(b.facts) ? n : sizeof(b.facts));
        if (b.facts.init.size != sizeof(b.facts) || b.facts.init.version != INIT_VERSION)
                return -EPROTO;
        if (n < sizeof(b.facts) || !bools_can_be(&b.facts))
                return -EBADMSG;
        if (b.facts.n_lists > (uint64_t)n * LISTS_PER_BYTE)
                return -EBADMSG;
        b.lists_size = b.facts.n_lists + LISTS_ROOM;
        b.lists = mmap(NULL, b.lists_size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (b.lists == MAP_FAILED)
                return -ENOMEM;
        r = (struct blueprint_reader){.at = bytes + sizeof(b.facts),
                                      .end = bytes + n,
                                      .lists = b.lists,
                                      .lists_end = (char *)b.lists + b.lists_size,
                                      .is_raw = b.facts.life == BOUNDARY_RAW};
        reader_members(&r, &b);
        if (r.is_broken || r.at != r.end || !blueprint_can_be(&b)) {
                blueprint_close(&b);
                return -EBADMSG;
        }
        *ret = b;
        return 0;
}

void blueprint_settle(char *bytes, const struct boundary_facts *facts) {
        memcpy(bytes, facts, sizeof(*facts));
}

void blueprint_close(struct blueprint *b) {
        if (b->lists)
                (void)munmap(b->lists, b->lists_size);
        b->lists = NULL;
}

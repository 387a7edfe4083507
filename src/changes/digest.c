/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See digest.h.  A diff reads the objects from the session, a commit from its own stage, which nobody else
 * writes to: what a commit moves is what it has hashed. */
#include "digest.h"

#include "base/str.h"
#include "file.h"

static void digest_add_number(struct sha256 *sum, uint64_t number) {
        unsigned char bytes[8];

        for (size_t i = 0; i < sizeof(bytes); i++)
                bytes[i] = (unsigned char)(number >> (56 - 8 * i));
        sha256_add(sum, bytes, sizeof(bytes));
}

/* A string with its length, so that two are told from one. */
static void digest_add_string(struct sha256 *sum, const char *text) {
        digest_add_number(sum, strlen(text));
        sha256_add(sum, text, strlen(text));
}

int digest_content(int fd, unsigned char ret[SHA256_SIZE]) {
        struct sha256 sum;
        int r;

        sha256_begin(&sum);
        r = file_hash_content(fd, &sum);
        sha256_end(&sum, ret);
        return r;
}

void digest_text(const char *text, size_t n, unsigned char ret[SHA256_SIZE]) {
        struct sha256 sum;

        sha256_begin(&sum);
        file_hash_text(text, n, &sum);
        sha256_end(&sum, ret);
}

int digest_attributes(int fd, unsigned char ret[SHA256_SIZE]) {
        struct sha256 sum;
        int r;

        sha256_begin(&sum);
        r = file_hash_attributes(fd, &sum);
        sha256_end(&sum, ret);
        return r;
}

/* Whether the session's object is the one that the scan found, as far as stat(2) tells. */
static bool is_as_seen(const struct change *c, const struct stat *st) {
        const struct stat *seen = &c->upper;

        if (seen->st_mode != st->st_mode || seen->st_uid != st->st_uid || seen->st_gid != st->st_gid)
                return false;
        return !S_ISREG(st->st_mode) ||
               (seen->st_size == st->st_size && seen->st_mtim.tv_sec == st->st_mtim.tv_sec &&
                seen->st_mtim.tv_nsec == st->st_mtim.tv_nsec);
}

/* A diff that shows no new content, or no new attributes, says that they are the host's. */
static int check_unchanged(struct apply *a, const struct op *op) {
        const struct change *c = op->change;
        const bool has_content = c->kind == CHANGE_ADDED || (c->what & (CHANGE_CONTENT | CHANGE_TYPE)) != 0;
        const bool has_attributes =
                c->kind != CHANGE_MODIFIED || (c->what & (CHANGE_XATTR | CHANGE_TYPE)) != 0;
        unsigned char content[SHA256_SIZE], attributes[SHA256_SIZE];
        _cleanup_close_ int fd = -EBADF;
        const char *name;
        int dir, r;

        if (has_content && has_attributes)
                return 0;
        dir = tree_parent(&a->target, c->from ? c->from : c->path, &name);
        fd = dir < 0 ? dir : file_open(dir, name);
        r = fd < 0 ? fd : digest_content(fd, content);
        if (r >= 0)
                r = digest_attributes(fd, attributes);
        if (r < 0)
                return r;
        if ((!has_content && memcmp(content, op->content, sizeof(content)) != 0) ||
            (!has_attributes && memcmp(attributes, op->attributes, sizeof(attributes)) != 0))
                return -ESTALE;
        return 0;
}

static int digest_file(struct apply *a, struct op *op) {
        _cleanup_close_ int fd = -EBADF;
        const char *name;
        struct stat st;
        int dir = tree_parent(&a->source, op->path, &name), r;

        fd = dir < 0 ? dir : file_open(dir, name);
        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!is_as_seen(op->change, &st))
                return -ESTALE;
        r = digest_content(fd, op->content);
        if (r >= 0)
                r = digest_attributes(fd, op->attributes);
        return r < 0 ? r : check_unchanged(a, op);
}

static int digest_link(struct apply *a, struct op *op) {
        _cleanup_free_ char *text = NULL;
        const char *name;
        int dir = tree_parent(&a->source, op->path, &name);
        int r = dir < 0 ? dir : file_link_text(dir, name, &text);

        if (r >= 0)
                digest_text(text, strlen(text), op->content);
        return r;
}

static int digest_folder(struct apply *a, struct op *op) {
        int fd = tree_folder(&a->source, op->path);

        return fd < 0 ? fd : digest_attributes(fd, op->attributes);
}

/* Where the content goes along: not where a mode is set in place, nor where a name is one more of an inode.
 */
static bool has_object(const struct apply *a, size_t i) {
        const struct op *op = &a->ops[i];

        return op->is_put && op->role != ROLE_LEFT_OUT && op->role != ROLE_MODE && op->link_of == i;
}

static int digest_source(struct apply *a, size_t i) {
        struct op *op = &a->ops[i];

        if (op->is_put && !is_as_seen(op->change, &op->source))
                return -ESTALE;
        /* Of a further name of a file the content was hashed under the first. */
        if (op->is_put && op->link_of != i) {
                memcpy(op->content, a->ops[op->link_of].content, sizeof(op->content));
                memcpy(op->attributes, a->ops[op->link_of].attributes, sizeof(op->attributes));
                return check_unchanged(a, op);
        }
        if (!has_object(a, i))
                return 0;
        if (S_ISREG(op->source.st_mode))
                return digest_file(a, op);
        if (S_ISLNK(op->source.st_mode))
                return digest_link(a, op);
        return S_ISDIR(op->source.st_mode) ? digest_folder(a, op) : 0;
}

int digest_sources(struct apply *a, struct changes *c) {
        for (size_t i = 0; i < a->n_ops; i++) {
                const struct op *op = &a->ops[i], *object = &a->ops[op->link_of];
                struct change *change = &c->list[op->change - c->list];
                int r = digest_source(a, i);

                if (r == -ENOMEM)
                        return error_oom(a->err);
                /* All else means that it was swapped meanwhile: the scan could look at it. */
                if (r < 0)
                        return error_set(a->err, NSRUN_STAGE_WORKSPACE, -ESTALE, op->path,
                                         "it changed again while it was being looked at", "try again");
                if (!has_object(a, op->link_of) || S_ISDIR(op->source.st_mode))
                        continue;
                memcpy(change->digest, object->content, sizeof(change->digest));
                change->has_digest = true;
        }
        return 0;
}

/* The bits of a mode that a commit sets. */
static mode_t committed_mode(const struct op *op) {
        const mode_t mode = op->source.st_mode;

        return mode & (S_IFMT | (S_ISDIR(mode) ? 01777 : 0777));
}

static void add_object(const struct apply *a, size_t i, struct sha256 *sum) {
        const struct op *op = &a->ops[i];
        const struct timespec *mtime = &op->source.st_mtim;

        digest_add_number(sum, committed_mode(op));
        if (op->role == ROLE_LEFT_OUT)
                return;
        if (geteuid() == 0) {
                digest_add_number(sum, op->source.st_uid);
                digest_add_number(sum, op->source.st_gid);
        }
        if (!S_ISDIR(op->source.st_mode)) {
                digest_add_number(sum, (uint64_t)mtime->tv_sec);
                digest_add_number(sum, (uint64_t)mtime->tv_nsec);
        }
        if (op->link_of != i)
                digest_add_string(sum, a->ops[op->link_of].path);
        if (has_object(a, i)) {
                sha256_add(sum, op->content, sizeof(op->content));
                sha256_add(sum, op->attributes, sizeof(op->attributes));
        }
}

void digest_add_ops(const struct apply *a, struct sha256 *sum) {
        digest_add_number(sum, a->n_ops);
        for (size_t i = 0; i < a->n_ops; i++) {
                const struct op *op = &a->ops[i];

                digest_add_string(sum, op->path);
                digest_add_string(sum, op->change->from ? op->change->from : "");
                digest_add_number(sum, op->change->kind);
                digest_add_number(sum, op->change->what);
                digest_add_number(sum, op->role);
                digest_add_number(sum, op->is_put);
                digest_add_number(sum, op->is_there ? op->seen.st_mode & S_IFMT : 0);
                if (op->is_put)
                        add_object(a, i, sum);
        }
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See gitindex.h.  A command may have written every byte: all lengths are checked against what is left. */
#include "gitindex.h"

#include <limits.h>

#include "base/file.h"
#include "base/str.h"

enum {
        HEADER_SIZE = 12,
        FIXED_SIZE = 40, /* times, device, inode, mode, uid, gid, size: before the hash */
        MODE_AT = 24,
        FLAG_EXTENDED = 0x4000,
        FLAGS_LENGTH = 0xfff, /* the name's, or that it is longer */
        BLOCK_SIZE = 8,       /* of what tells git's threads where entries are */
        EXTENSION_HEAD = 8,
        END_SIZE = EXTENSION_HEAD + 4 + 20, /* of EOIE, by whichever hash */
        CHUNK = 64 << 10,
        MODE_TYPE = 0170000,
        MODE_FILE = 0100000,
        MODE_LINK = 0120000,
        MODE_FOLDER = 0040000, /* of a sparse index */
        MODE_GITLINK = 0160000,
};

struct index {
        const unsigned char *at, *end; /* what is left of the entries */
        size_t hash_size;
        uint32_t version;
        char *name; /* of the last entry: in version 4 the next one begins with a part of it */
        size_t length, size;
};

static uint32_t number_at(const unsigned char *at) {
        return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Version 4: how many bytes are cut off the last name, as git's pack files have offsets. */
static bool take_cut(struct index *x, size_t *ret) {
        size_t n = 0;

        for (unsigned i = 0; x->at < x->end && i < 4; i++) {
                unsigned char byte = *x->at++;

                n = (n << 7) + (byte & 0x7f);
                if (!(byte & 0x80)) {
                        *ret = n;
                        return true;
                }
                n++;
        }
        return false;
}

/* Whether git would write such a name: it would follow "a//b" and "./a" as well.  A split index has empty
 * ones, too. */
static bool is_name(const char *name, uint32_t mode) {
        bool is_folder = (mode & MODE_TYPE) == MODE_FOLDER;

        for (const char *at = name; *at;) {
                size_t n = strcspn(at, "/");

                if (n == 0 || (n <= 2 && strspn(at, ".") >= n) || (at[n] && !at[n + 1] && !is_folder))
                        return false;
                at += n + (at[n] == '/');
        }
        return true;
}

/* The name, with what follows it.  `start` is where the entry begins: in versions 2 and 3 its length is a
 * multiple of eight; `said`: the name's, as the flags have it, which is what git believes. */
static bool take_name(struct index *x, const unsigned char *start, size_t said) {
        size_t kept = 0, cut = 0, n, size, seen;
        bool was_long = x->length >= PATH_MAX;
        const char *slash;
        const unsigned char *nul;

        if (x->version == 4) {
                if (!take_cut(x, &cut) || cut > x->length)
                        return false;
                kept = x->length - cut;
        }
        nul = memchr(x->at, '\0', (size_t)(x->end - x->at));
        if (!nul)
                return false;
        n = (size_t)(nul - x->at);
        if (kept + n >= x->size)
                return false;
        memcpy(x->name + kept, x->at, n + 1);
        x->length = kept + n;
        /* Of what it shares with the last one only the end isn't known to be right; longer ones lead
         * nowhere. */
        seen = kept < 1 || was_long ? 0 : kept - 1;
        slash = x->length < PATH_MAX ? memrchr(x->name, '/', seen) : NULL;
        if (said != (x->length < FLAGS_LENGTH ? x->length : FLAGS_LENGTH) ||
            (x->length < PATH_MAX && !is_name(slash ? slash + 1 : x->name, number_at(start + MODE_AT))))
                return false;
        size = (size_t)(nul - start);
        x->at = x->version == 4 ? nul + 1 : start + (size + 8) / 8 * 8;
        return x->at <= x->end;
}

static bool is_mode(uint32_t mode) {
        uint32_t type = mode & MODE_TYPE;

        return type == MODE_FILE || type == MODE_LINK || type == MODE_FOLDER || mode == MODE_GITLINK;
}

/* The mode of the next entry, whose name is in x->name; 0: there is none, or one that git doesn't write and
 * might read otherwise. */
static uint32_t take_index_entry(struct index *x) {
        const unsigned char *start = x->at;
        size_t fixed = FIXED_SIZE + x->hash_size + 2;
        uint32_t flags, mode;

        if ((size_t)(x->end - x->at) < fixed + 2)
                return 0;
        flags = (uint32_t)start[fixed - 2] << 8 | start[fixed - 1];
        mode = number_at(start + MODE_AT);
        if (flags & FLAG_EXTENDED)
                fixed += 2;
        x->at += fixed;
        return is_mode(mode) && (x->version >= 3 || !(flags & FLAG_EXTENDED)) &&
                               take_name(x, start, flags & FLAGS_LENGTH)
                       ? mode
                       : 0;
}

/* What an index says besides its entries: where the extension of a split one has its hash; the blocks of
 * entries that git's threads read; and what says where extensions begin.  NULL: it has none. */
struct extensions {
        const unsigned char *link, *blocks, *end;
        size_t n_blocks;
};

/* The extension at `at`, whose bytes follow its head.  What git takes the first of, or the last, is there
 * once. */
static bool take_extension(struct extensions *e, const struct index *x, const unsigned char *text,
                           const unsigned char *at, size_t size) {
        const unsigned char *bytes = at + EXTENSION_HEAD;

        if (memcmp(at, "link", 4) == 0) {
                if (e->link || size < x->hash_size)
                        return false;
                e->link = bytes;
        } else if (memcmp(at, "IEOT", 4) == 0) {
                if (e->blocks || size < 4 + BLOCK_SIZE || (size - 4) % BLOCK_SIZE != 0)
                        return false;
                e->blocks = bytes + 4;
                e->n_blocks = (size - 4) / BLOCK_SIZE;
        } else if (memcmp(at, "EOIE", 4) == 0) {
                if (e->end || size < 4 || number_at(bytes) != (size_t)(x->at - text))
                        return false;
                e->end = at;
        }
        return true;
}

/* Whether the rest is extensions and the hash: so the hash's size was the right one. */
static bool ends_well(const struct index *x, const unsigned char *text, struct extensions *ret) {
        const unsigned char *at = x->at, *last;

        *ret = (struct extensions){.link = NULL};
        /* An extension may be empty. */
        while ((size_t)(x->end - at) >= x->hash_size + EXTENSION_HEAD) {
                uint32_t size = number_at(at + 4);
                size_t left = (size_t)(x->end - at) - EXTENSION_HEAD;

                if (size > left || left - size < x->hash_size || !take_extension(ret, x, text, at, size))
                        return false;
                at += EXTENSION_HEAD + size;
        }
        if ((size_t)(x->end - at) != x->hash_size)
                return false;
        /* Git looks for it at one place, whatever extension's bytes that is in. */
        if ((size_t)(x->end - text) < HEADER_SIZE + END_SIZE + x->hash_size)
                return true;
        last = x->end - x->hash_size - END_SIZE;
        return last == ret->end || memcmp(last, "EOIE", 4) != 0;
}

/* The name of the file that a split index shares its entries with.  Where there is none its hash is zero. */
static void name_shared(const unsigned char *hash, size_t n, char *shared) {
        size_t length = strlen(strcpy(shared, "sharedindex."));

        str_hex(hash, n, shared + length);
        if (!shared[length + strspn(shared + length, "0")])
                *shared = '\0';
}

static int parse_entries(struct index *x, uint32_t n, gitindex_found_t *found, void *data) {
        for (; n > 0; n--) {
                uint32_t mode = take_index_entry(x);
                int r;

                if (mode == 0)
                        return -EBADMSG;
                if (!found || !*x->name || x->length >= PATH_MAX)
                        continue;
                r = found(data, x->name, mode == MODE_GITLINK);
                if (r != 0)
                        return r;
        }
        return 0;
}

/* Whether the blocks are these entries, one behind the other. */
static bool has_blocks(const struct index *begin, uint32_t n, const struct extensions *e,
                       const unsigned char *text) {
        struct index x = *begin;

        for (size_t i = 0; i < e->n_blocks; i++) {
                uint32_t count = number_at(e->blocks + i * BLOCK_SIZE + 4);

                if (number_at(e->blocks + i * BLOCK_SIZE) != (size_t)(x.at - text) || count > n ||
                    parse_entries(&x, count, NULL, NULL) < 0)
                        return false;
                n -= count;
        }
        return e->n_blocks == 0 || n == 0;
}

/* Finds the hashes' size, and *ret before the first of *ret_n entries, with its name for the caller to free.
 * What can be read with either size is nothing that git has written. */
static int index_begin(const unsigned char *text, size_t n, struct index *ret, uint32_t *ret_n,
                       struct extensions *ret_extensions) {
        static const size_t hash_sizes[] = {20, 32};
        _cleanup_free_ char *name = NULL;
        unsigned n_right = 0;

        if (n < HEADER_SIZE || memcmp(text, "DIRC", 4) != 0 || number_at(text + 4) < 2 ||
            number_at(text + 4) > 4)
                return -EBADMSG;
        name = calloc(1, n);
        if (!name)
                return -ENOMEM;
        *ret_n = number_at(text + 8);
        for (size_t i = 0; i < ARRAY_SIZE(hash_sizes); i++) {
                const struct index begin = {.name = name,
                                            .size = n,
                                            .at = text + HEADER_SIZE,
                                            .end = text + n,
                                            .hash_size = hash_sizes[i],
                                            .version = number_at(text + 4)};
                struct index x = begin;
                struct extensions e;

                if (parse_entries(&x, *ret_n, NULL, NULL) < 0 || !ends_well(&x, text, &e) ||
                    !has_blocks(&begin, *ret_n, &e, text))
                        continue;
                n_right++;
                *ret = begin;
                *ret_extensions = e;
        }
        if (n_right != 1)
                return -EBADMSG;
        TAKE_PTR(name);
        return 0;
}

int gitindex_parse(const unsigned char *text, size_t n, gitindex_found_t *found, void *data, char *shared) {
        struct extensions e;
        struct index x;
        uint32_t count;
        int r = index_begin(text, n, &x, &count, &e);

        if (r < 0)
                return r;
        if (shared)
                *shared = '\0';
        if (shared && e.link)
                name_shared(e.link, x.hash_size, shared);
        r = parse_entries(&x, count, found, data);
        free(x.name);
        return r;
}

static int digest_entries(const unsigned char *text, size_t n, unsigned char ret[SHA256_SIZE]) {
        struct extensions e;
        struct sha256 sum;
        struct index x;
        uint32_t count;
        int r = index_begin(text, n, &x, &count, &e);

        if (r < 0)
                return r;
        sha256_begin(&sum);
        for (r = e.link ? -EBADMSG : 0; count > 0 && r >= 0; count--) {
                const unsigned char *entry = x.at;
                uint32_t mode = take_index_entry(&x);
                size_t flags = FIXED_SIZE + x.hash_size;

                if (mode == 0)
                        r = -EBADMSG;
                if (r < 0)
                        break;
                sha256_add(&sum, &mode, sizeof(mode));
                sha256_add(&sum, entry + FIXED_SIZE,
                           x.hash_size + (x.version >= 3 && ((uint32_t)entry[flags] << 8) & FLAG_EXTENDED
                                                  ? 4
                                                  : 2));
                sha256_add(&sum, x.name, x.length + 1);
        }
        sha256_end(&sum, ret);
        free(x.name);
        return r;
}

static int index_bytes(int git_dir, const char *name, size_t limit, char **ret, size_t *ret_n) {
        _cleanup_close_ int fd =
                openat(git_dir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);

        return fd < 0 ? -errno : read_bytes_fd(fd, limit, ret, ret_n);
}

int gitindex_read(int git_dir, const char *name, size_t limit, gitindex_found_t *found, void *data,
                  char *shared) {
        _cleanup_free_ char *text = NULL;
        size_t n = 0;
        int r = index_bytes(git_dir, name, limit, &text, &n);

        if (shared)
                *shared = '\0';
        return r < 0 ? r : gitindex_parse((const unsigned char *)text, n, found, data, shared);
}

bool gitindex_may_link(int git_dir, const char *name) {
        static const unsigned char mode[] = {0, 0, MODE_GITLINK >> 8, 0};
        _cleanup_close_ int fd =
                openat(git_dir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
        _cleanup_free_ unsigned char *text = malloc(CHUNK);
        size_t kept = 0, n = 0;

        if (!text)
                return true;
        while (fd >= 0 && read_full(fd, (char *)text + kept, CHUNK - kept, &n) >= 0 && n > 0) {
                const unsigned char *end = text + kept + n, *at = text + 2;

                while (at + 1 < end && (at = memchr(at, mode[2], (size_t)(end - at - 1)))) {
                        if (memcmp(at - 2, mode, sizeof(mode)) == 0)
                                return true;
                        at++;
                }
                kept = (size_t)(end - text) < sizeof(mode) - 1 ? (size_t)(end - text) : sizeof(mode) - 1;
                memmove(text, end - kept, kept);
        }
        return false;
}

int gitindex_digest(int git_dir, const char *name, size_t limit, unsigned char ret[SHA256_SIZE]) {
        _cleanup_free_ char *text = NULL;
        size_t n = 0;
        int r = index_bytes(git_dir, name, limit, &text, &n);

        return r < 0 ? r : digest_entries((const unsigned char *)text, n, ret);
}

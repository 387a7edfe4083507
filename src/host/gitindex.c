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
        MODE_TYPE = 0170000,
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

/* The name, with what follows it; a split index has empty ones, too.  `start` is where the entry begins: in
 * versions 2 and 3 its length is a multiple of eight. */
static bool take_name(struct index *x, const unsigned char *start) {
        size_t kept = 0, cut = 0, n, size;
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
        size = (size_t)(nul - start);
        x->at = x->version == 4 ? nul + 1 : start + (size + 8) / 8 * 8;
        return x->at <= x->end;
}

/* The mode of the next entry, whose name is in x->name; 0: there is none. */
static uint32_t take_index_entry(struct index *x) {
        const unsigned char *start = x->at;
        size_t fixed = FIXED_SIZE + x->hash_size + 2;

        if ((size_t)(x->end - x->at) < fixed + 2)
                return 0;
        if (x->version >= 3 && ((uint32_t)start[fixed - 2] << 8) & FLAG_EXTENDED)
                fixed += 2;
        x->at += fixed;
        return take_name(x, start) ? number_at(start + MODE_AT) : 0;
}

/* Whether the rest is extensions and the hash: so the hash's size was the right one.  *ret_link: where the
 * extension of a split index has its hash, or NULL. */
static bool ends_well(const struct index *x, const unsigned char **ret_link) {
        const unsigned char *at = x->at;

        *ret_link = NULL;
        /* As git does it: an extension may be empty, and a rest that is too short for one is passed over. */
        while ((size_t)(x->end - at) >= x->hash_size + 8) {
                uint32_t size = number_at(at + 4);
                bool is_link = memcmp(at, "link", 4) == 0;

                at += 8;
                if (size > (size_t)(x->end - at) || (size_t)(x->end - at) - size < x->hash_size)
                        return false;
                if (is_link && size >= x->hash_size)
                        *ret_link = at;
                at += size;
        }
        return (size_t)(x->end - at) >= x->hash_size;
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
                r = found(data, x->name, (mode & MODE_TYPE) == MODE_GITLINK);
                if (r != 0)
                        return r;
        }
        return 0;
}

/* Finds the hashes' size, and *ret before the first of *ret_n entries, with its name for the caller to free.
 * *ret_link: ends_well()'s. */
static int index_begin(const unsigned char *text, size_t n, struct index *ret, uint32_t *ret_n,
                       const unsigned char **ret_link) {
        static const size_t hash_sizes[] = {20, 32};
        _cleanup_free_ char *name = NULL;

        if (n < HEADER_SIZE || memcmp(text, "DIRC", 4) != 0 || number_at(text + 4) < 2 ||
            number_at(text + 4) > 4)
                return -EBADMSG;
        name = calloc(1, n);
        if (!name)
                return -ENOMEM;
        *ret_n = number_at(text + 8);
        for (size_t i = 0; i < ARRAY_SIZE(hash_sizes); i++) {
                *ret = (struct index){.name = name,
                                      .size = n,
                                      .at = text + HEADER_SIZE,
                                      .end = text + n,
                                      .hash_size = hash_sizes[i],
                                      .version = number_at(text + 4)};
                if (parse_entries(ret, *ret_n, NULL, NULL) < 0 || !ends_well(ret, ret_link))
                        continue;
                ret->at = text + HEADER_SIZE;
                ret->length = 0;
                TAKE_PTR(name);
                return 0;
        }
        return -EBADMSG;
}

int gitindex_parse(const unsigned char *text, size_t n, gitindex_found_t *found, void *data, char *shared) {
        const unsigned char *link;
        struct index x;
        uint32_t count;
        int r = index_begin(text, n, &x, &count, &link);

        if (r < 0)
                return r;
        if (shared)
                *shared = '\0';
        if (shared && link)
                name_shared(link, x.hash_size, shared);
        r = parse_entries(&x, count, found, data);
        free(x.name);
        return r;
}

static int digest_entries(const unsigned char *text, size_t n, unsigned char ret[SHA256_SIZE]) {
        const unsigned char *link;
        struct sha256 sum;
        struct index x;
        uint32_t count;
        int r = index_begin(text, n, &x, &count, &link);

        if (r < 0)
                return r;
        sha256_begin(&sum);
        for (r = link ? -EBADMSG : 0; count > 0 && r >= 0; count--) {
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

int gitindex_digest(int git_dir, const char *name, size_t limit, unsigned char ret[SHA256_SIZE]) {
        _cleanup_free_ char *text = NULL;
        size_t n = 0;
        int r = index_bytes(git_dir, name, limit, &text, &n);

        return r < 0 ? r : digest_entries((const unsigned char *)text, n, ret);
}

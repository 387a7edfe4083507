/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "name_list.h"

#include <linux/fs.h>

#include "file.h"
#include "responds.h"
#include "str.h"
#include "sys.h"

struct name_list_reader {
        struct strbuf text;
        size_t n, most;
        bool is_foreign; /* a name isn't ASCII */
};

static int name_list_take(void *data, nsrun_unused int folder, const struct dirent *entry) {
        const char type = (char)entry->d_type;
        struct name_list_reader *r = data;

        for (const char *c = entry->d_name; *c; c++)
                r->is_foreign |= (unsigned char)*c >= 0x80;
        if (++r->n > r->most)
                return -E2BIG;
        strbuf_add_bytes(&r->text, &type, 1);
        strbuf_add_bytes(&r->text, entry->d_name, strlen(entry->d_name) + 1);
        return r->text.has_failed ? -ENOMEM : 0;
}

/* Whether one name may be found by letters that aren't those of its own case: a Kelvin sign for a k. */
static bool folds_case(int fd) {
        int flags = 0;

        return sys_ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0 || (flags & FS_CASEFOLD_FL);
}

static int name_list_compare(const void *a, const void *b) {
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int name_list_sort(struct name_list_reader *r, struct name_list *l) {
        const char *at;

        l->names = calloc(r->n + 1, sizeof(*l->names));
        at = l->text = strbuf_finish(&r->text);
        if (!l->names || (r->n > 0 && !at))
                return -ENOMEM;
        for (; l->n < r->n; at += strlen(at) + 1)
                l->names[l->n++] = ++at;
        qsort(l->names, l->n, sizeof(*l->names), name_list_compare);
        return 0;
}

int name_list_read(const char *path, size_t most, struct name_list *ret) {
        struct name_list_reader reader = {.most = most};
        struct name_list l = {.is_canonical = true};
        const int flags = O_RDONLY | O_DIRECTORY | O_NONBLOCK;
        _cleanup_close_ int fd = responds_open(AT_FDCWD, path, flags, RESOLVE_NO_SYMLINKS);
        int r;

        if (fd < 0 && fd != -ENOENT && fd != -ENOTDIR && fd != -ETIMEDOUT) {
                l.is_canonical = false;
                fd = responds_open(AT_FDCWD, path, flags, 0);
        }
        r = fd < 0 ? fd : folder_read(fd, name_list_take, &reader);
        if (r >= 0)
                r = name_list_sort(&reader, &l);
        strbuf_clear(&reader.text);
        if (r == -ENOMEM) {
                name_list_clear(&l);
                return r;
        }
        l.is_unknown = (r < 0 && r != -ENOENT && r != -ENOTDIR) || (reader.is_foreign && folds_case(fd));
        *ret = l;
        return r == -ETIMEDOUT ? r : 0;
}

void name_list_clear(struct name_list *l) {
        free(l->text);
        free(l->names);
        *l = (struct name_list){.text = NULL};
}

int name_list_find(const struct name_list *l, const char *name, size_t n) {
        size_t low = 0, high = l->n;

        while (low < high) {
                size_t middle = low + (high - low) / 2;
                int c = strncmp(l->names[middle], name, n);

                if (c == 0 && !l->names[middle][n])
                        return (unsigned char)l->names[middle][-1];
                if (c < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        /* Some file systems find a name that is there in other letters. */
        for (size_t i = 0; i < l->n; i++)
                if (strncasecmp(l->names[i], name, n) == 0 && !l->names[i][n])
                        return DT_UNKNOWN;
        return l->is_unknown ? DT_UNKNOWN : -1;
}

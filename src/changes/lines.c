/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* E. Myers, "An O(ND) difference algorithm and its variations" (1986), with its
 * refinement for linear space. */
#include "lines.h"

/* Steps that one search may take; texts that differ in more lines than this are taken apart
 * where the search has got to. */
#define COST_MAX 2048

struct compare {
        struct line *a, *b;
        ptrdiff_t *forward, *backward; /* the furthest x on each diagonal, from either end */
};

size_t lines_count(const char *text, size_t n) {
        size_t count = 0;

        for (size_t i = 0; i < n; i++)
                count += text[i] == '\n';
        return count + (n > 0 && text[n - 1] != '\n');
}

int lines_cut(const char *text, size_t n, struct lines *ret) {
        struct lines l = {0};

        if (n > 0) {
                l.list = malloc(lines_count(text, n) * sizeof(*l.list));
                if (!l.list)
                        return -ENOMEM;
        }
        for (size_t at = 0; at < n;) {
                const char *end = memchr(text + at, '\n', n - at);
                size_t length = end ? (size_t)(end - text) - at + 1 : n - at;
                uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

                for (size_t i = 0; i < length; i++)
                        hash = (hash ^ (unsigned char)text[at + i]) * UINT64_C(0x100000001b3);
                l.list[l.n++] = (struct line){.text = text + at, .length = length, .hash = hash};
                at += length;
        }
        *ret = l;
        return 0;
}

void lines_clear(struct lines *l) {
        free(l->list);
        *l = (struct lines){0};
}

static bool same(const struct line *a, const struct line *b) {
        return a->hash == b->hash && a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

/* Where the way from the start has got to. */
static void furthest(const ptrdiff_t *f, ptrdiff_t low, ptrdiff_t high, ptrdiff_t x1, ptrdiff_t y1,
                     ptrdiff_t *ret_x, ptrdiff_t *ret_y) {
        ptrdiff_t best = -1;

        for (ptrdiff_t k = high; k >= low; k -= 2) {
                ptrdiff_t x = f[k] < x1 ? f[k] : x1;

                if (x - k > y1)
                        x = y1 + k;
                if (x + (x - k) <= best)
                        continue;
                best = x + (x - k);
                *ret_x = x;
                *ret_y = x - k;
        }
}

/* A point on a shortest way from (x0,y0) to (x1,y1), about in its middle.  Both ends of the range
 * differ, and neither side is empty. */
static void middle(struct compare *c, ptrdiff_t x0, ptrdiff_t x1, ptrdiff_t y0, ptrdiff_t y1,
                   ptrdiff_t *ret_x, ptrdiff_t *ret_y) {
        const ptrdiff_t lowest = x0 - y1, highest = x1 - y0, start = x0 - y0, end = x1 - y1;
        const bool is_odd = ((start - end) & 1) != 0;
        ptrdiff_t low = start, high = start, down = end, up = end, *f = c->forward, *b = c->backward;

        f[start] = x0;
        b[end] = x1;
        for (unsigned cost = 1;; cost++) {
                low > lowest ? f[--low - 1] = -1 : ++low;
                high < highest ? f[++high + 1] = -1 : --high;
                for (ptrdiff_t k = high; k >= low; k -= 2) {
                        ptrdiff_t x = f[k - 1] < f[k + 1] ? f[k + 1] : f[k - 1] + 1;

                        while (x < x1 && x - k < y1 && same(&c->a[x], &c->b[x - k]))
                                x++;
                        f[k] = x;
                        if (is_odd && k >= down && k <= up && b[k] <= x) {
                                *ret_x = x;
                                *ret_y = x - k;
                                return;
                        }
                }
                down > lowest ? b[--down - 1] = PTRDIFF_MAX : ++down;
                up < highest ? b[++up + 1] = PTRDIFF_MAX : --up;
                for (ptrdiff_t k = up; k >= down; k -= 2) {
                        ptrdiff_t x = b[k - 1] < b[k + 1] ? b[k - 1] : b[k + 1] - 1;

                        while (x > x0 && x - k > y0 && same(&c->a[x - 1], &c->b[x - k - 1]))
                                x--;
                        b[k] = x;
                        if (!is_odd && k >= low && k <= high && x <= f[k]) {
                                *ret_x = x;
                                *ret_y = x - k;
                                return;
                        }
                }
                if (cost >= COST_MAX) {
                        furthest(f, low, high, x1, y1, ret_x, ret_y);
                        return;
                }
        }
}

static void compare_range(struct compare *c, ptrdiff_t x0, ptrdiff_t x1, ptrdiff_t y0, ptrdiff_t y1) {
        for (;;) {
                ptrdiff_t x = 0, y = 0;

                while (x0 < x1 && y0 < y1 && same(&c->a[x0], &c->b[y0]))
                        x0++, y0++;
                while (x0 < x1 && y0 < y1 && same(&c->a[x1 - 1], &c->b[y1 - 1]))
                        x1--, y1--;
                if (x0 == x1 || y0 == y1)
                        break;
                middle(c, x0, x1, y0, y1, &x, &y);
                compare_range(c, x0, x, y0, y);
                x0 = x;
                y0 = y;
        }
        for (; x0 < x1; x0++)
                c->a[x0].is_changed = true;
        for (; y0 < y1; y0++)
                c->b[y0].is_changed = true;
}

int lines_compare(struct lines *a, struct lines *b) {
        const size_t room = a->n + b->n + 3;
        _cleanup_free_ ptrdiff_t *diagonals = malloc(2 * room * sizeof(*diagonals));

        if (!diagonals)
                return -ENOMEM;
        compare_range(&(struct compare){.a = a->list,
                                        .b = b->list,
                                        .forward = diagonals + b->n + 1,
                                        .backward = diagonals + room + b->n + 1},
                      0, (ptrdiff_t)a->n, 0, (ptrdiff_t)b->n);
        return 0;
}

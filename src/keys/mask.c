/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mask.h"

#include "base/macro.h"

#define BEGUN_SHOWN 8U /* bytes of a key that an answer's end may show fewer of */

int mask_add(struct mask *m, char *needle, size_t n_public) {
        if (!needle)
                return -ENOMEM;
        for (size_t i = 0; i < m->n; i++)
                if (streq(m->needles[i], needle)) {
                        free(needle);
                        return 0;
                }
        if (m->n == MASK_NEEDLES) {
                free(needle);
                return -E2BIG;
        }
        m->lengths[m->n] = strlen(needle);
        m->publics[m->n] = n_public;
        m->needles[m->n++] = needle;
        return 0;
}

void mask_clear(struct mask *m) {
        for (size_t i = 0; i < m->n; i++) {
                explicit_bzero(m->needles[i], m->lengths[i]);
                free(m->needles[i]);
        }
        *m = (struct mask){.n = 0};
}

static void cover(const struct mask *m, char *bytes, size_t n) {
        for (size_t i = 0; i < m->n; i++) {
                char *at = bytes, *found;

                while ((found = memmem(at, n - (size_t)(at - bytes), m->needles[i], m->lengths[i]))) {
                        memset(found, '*', m->lengths[i]);
                        at = found + m->lengths[i];
                }
        }
}

/* How many of the last bytes may be the beginning of a needle; `tells`: one that tells something of it. */
static size_t count_begun(const struct mask *m, const char *bytes, size_t n, bool tells) {
        size_t most = 0;

        for (size_t i = 0; i < m->n; i++)
                for (size_t k = m->lengths[i] - 1 < n ? m->lengths[i] - 1 : n; k > most; k--) {
                        if (tells && (k < BEGUN_SHOWN || k <= m->publics[i]))
                                break;
                        if (memcmp(bytes + n - k, m->needles[i], k) == 0)
                                most = k;
                }
        return most;
}

char *mask_feed(const struct mask *m, struct mask_held *held, const char *bytes, size_t n, size_t *ret_n) {
        size_t all = held->n + n, from = held->n_passed, kept;
        char *whole = malloc(all + 1), *rest = NULL;

        if (!whole)
                return NULL;
        if (held->n > 0)
                memcpy(whole, held->bytes, held->n);
        if (n > 0)
                memcpy(whole + held->n, bytes, n);
        cover(m, whole, all);
        kept = count_begun(m, whole, all, n == 0);
        if (n == 0) {
                memset(whole + all - kept, '*', kept);
                kept = 0;
        }
        if (kept > 0 && !(rest = malloc(kept))) {
                free(whole);
                return NULL;
        }
        if (kept > 0)
                memcpy(rest, whole + all - kept, kept);
        mask_held_clear(held);
        *held = (struct mask_held){rest, kept, from > all - kept ? from - (all - kept) : 0};
        *ret_n = all - kept > from ? all - kept - from : 0;
        memmove(whole, whole + from, *ret_n);
        return whole;
}

char *mask_pass_held(const struct mask *m, struct mask_held *held, size_t *ret_n) {
        size_t begun = count_begun(m, held->bytes, held->n, true);
        char *passed = malloc(held->n + 1);

        if (!passed)
                return NULL;
        if (held->n > 0)
                memcpy(passed, held->bytes, held->n);
        memset(passed + held->n - begun, '*', begun);
        *ret_n = held->n - held->n_passed;
        memmove(passed, passed + held->n_passed, *ret_n);
        held->n_passed = held->n;
        return passed;
}

void mask_held_clear(struct mask_held *held) {
        free(held->bytes);
        *held = (struct mask_held){.n = 0};
}

void mask_text(const struct mask *m, char *text) {
        cover(m, text, strlen(text));
}

bool mask_finds(const struct mask *m, const char *text) {
        for (size_t i = 0; i < m->n; i++)
                if (strstr(text, m->needles[i]))
                        return true;
        return false;
}

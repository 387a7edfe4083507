/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "granted.h"

#include "base/array.h"
#include "plan/store.h"
#include "plan_shown.h"

/* Room for what is said of all that a sandbox is granted, until that has ended. */
#define SPARE ((size_t)GRANTS_MOST * 3 * (1 + sizeof(struct shown_event)))

static void granted_free_one(struct granted *g) {
        close_fdp(&g->tree);
        free(g->option);
        free(g->path);
        free(g->shown);
}

void granted_clear(struct granted_list *list) {
        for (size_t i = 0; i < list->n; i++)
                granted_free_one(&list->items[i]);
        free(list->items);
        *list = (struct granted_list){0};
}

static void store_granted(struct store *s, struct granted *g) {
        store_string(s, &g->option);
        store_string(s, &g->path);
        store_string(s, &g->shown);
        store_bool(s, &g->makes);
        store_u64(s, &g->mount);
        store_u64(s, &g->way);
}

static int take_asked(struct granted_list *list, uint64_t id, const char *bytes, size_t n) {
        struct store s = store_reader(bytes, n);
        struct granted g = {.id = id, .tree = -ENOENT};
        int r;

        store_granted(&s, &g);
        r = store_result(&s);
        if (r >= 0 && (!g.option || !g.path || !g.shown))
                r = -EBADMSG;
        if (r >= 0)
                r = ARRAY_GROW(list->items, list->n);
        if (r < 0)
                granted_free_one(&g);
        else
                list->items[list->n++] = g;
        return r;
}

static void take_said(struct granted_list *list, const struct shown_event *event) {
        struct granted *g = NULL;

        for (size_t i = 0; i < list->n; i++)
                if (list->items[i].id == event->of)
                        g = &list->items[i];
        if (!g)
                return;
        g->is_shown |= event->kind == GRANTED_SHOWN;
        g->is_ending |= event->kind == GRANTED_ENDING;
        g->has_ended |= event->kind == GRANTED_ENDED;
}

int granted_read(int fd, struct granted_list *ret) {
        _cleanup_granted_ struct granted_list list = {.by = {-EBADF, LAUNCH_HELD_INIT}};
        _cleanup_free_ char *bytes = NULL;
        size_t n = 0, next;
        int r = shown_bytes(fd, &bytes, &n);

        for (size_t at = r < 0 ? n : shown_added(bytes, n); r >= 0 && at < n; at = next) {
                struct shown_event event;

                next = shown_next(bytes, n, at);
                if (bytes[at] != SHOWN_EVENT || next - at < 1 + sizeof(event))
                        continue;
                memcpy(&event, bytes + at + 1, sizeof(event));
                if (event.kind == GRANTED_BY && next - at == 1 + sizeof(event) + sizeof(list.by))
                        memcpy(&list.by, bytes + at + 1 + sizeof(event), sizeof(list.by));
                else if (event.kind != GRANTED_ASKED)
                        take_said(&list, &event);
                else if (next - at == 1 + sizeof(event) + event.n)
                        r = take_asked(&list, event.of, bytes + at + 1 + sizeof(event), event.n);
        }
        if (r < 0)
                return r;
        *ret = list;
        list = (struct granted_list){0};
        return 0;
}

static int say(int fd, struct shown_event event, const char *bytes, size_t spare) {
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_free_ char *text = NULL;
        size_t n;

        shown_form_event(&b, &event, bytes);
        n = b.length;
        text = strbuf_finish(&b);
        return text ? shown_append(fd, text, n, spare) : -ENOMEM;
}

int granted_ask(int fd, struct granted *g) {
        _cleanup_store_ struct store s = {0};
        _cleanup_free_ char *bytes = NULL;
        struct timespec now;
        size_t n;

        /* The caller has the lock: no two are asked for at once. */
        (void)clock_gettime(CLOCK_REALTIME, &now);
        g->id = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
        store_granted(&s, g);
        n = s.written.length;
        bytes = strbuf_finish(&s.written);
        return bytes ? say(fd, (struct shown_event){.kind = GRANTED_ASKED, .of = g->id, .n = n}, bytes,
                           SPARE)
                     : -ENOMEM;
}

int granted_say(int fd, enum granted_kind kind, const struct granted *g) {
        return say(fd, (struct shown_event){.kind = kind, .of = g->id}, "", 0);
}

bool granted_is_network(const struct granted *g) {
        return streq(g->option, "allow") || streq(g->option, "publish");
}

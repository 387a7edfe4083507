/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See granted.h. */
#include "granted.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "base/array.h"
#include "base/beneath.h"
#include "base/str.h"
#include "base/sys.h"
#include "plan/store.h"
#include "plan_shown.h"

static void granted_free_one(struct granted *g) {
        free(g->option);
        free(g->path);
        free(g->shown);
        free(g->plan);
}

void granted_clear(struct granted_list *list) {
        for (size_t i = 0; i < list->n; i++)
                granted_free_one(&list->items[i]);
        free(list->items);
        *list = (struct granted_list){0};
}

static void store_granted(struct store *s, struct granted *g) {
        void *plan = g->plan;

        store_string(s, &g->option);
        store_string(s, &g->path);
        store_string(s, &g->shown);
        store_bool(s, &g->makes);
        store_bool(s, &g->needs_keeping);
        store_array(s, &plan, &g->plan_size, 1);
        g->plan = plan;
}

static int take_asked(struct granted_list *list, uint64_t id, const char *bytes, size_t n) {
        struct store s = store_reader(bytes, n);
        struct granted g = {.id = id};
        int r;

        store_granted(&s, &g);
        r = store_result(&s);
        if (r >= 0 && (!g.option || !g.path || !g.shown || !g.plan))
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
        g->is_kept |= event->kind == GRANTED_KEPT;
        g->is_shown |= event->kind == GRANTED_SHOWN;
        g->is_ending |= event->kind == GRANTED_ENDING;
        g->has_ended |= event->kind == GRANTED_ENDED;
        g->is_swept |= event->kind == GRANTED_SWEPT;
        if (event->kind == GRANTED_KEPT)
                g->why_not = (int)event->value;
        if (event->kind == GRANTED_MADE)
                g->mount = event->value;
        if (event->kind == GRANTED_HELD)
                g->held = event->value;
        if (event->kind == GRANTED_ENDED)
                g->has_writers = event->value;
}

int granted_read(int fd, struct granted_list *ret) {
        _cleanup_granted_ struct granted_list list = {0};
        _cleanup_free_ char *bytes = NULL;
        size_t n = 0, next;
        int r = shown_bytes(fd, &bytes, &n);

        for (size_t at = r < 0 ? n : shown_added(bytes, n); r >= 0 && at < n; at = next) {
                struct shown_event event;

                next = shown_next(bytes, n, at);
                if (bytes[at] != SHOWN_EVENT || next - at < 1 + sizeof(event))
                        continue;
                memcpy(&event, bytes + at + 1, sizeof(event));
                if (event.kind != GRANTED_ASKED)
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

static int say(int fd, struct shown_event event, const char *bytes) {
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_free_ char *text = NULL;
        size_t n;

        strbuf_add_bytes(&b, (const char[]){SHOWN_EVENT}, 1);
        strbuf_add_bytes(&b, (const char *)&event, sizeof(event));
        strbuf_add_bytes(&b, bytes, event.n);
        n = b.length;
        text = strbuf_finish(&b);
        return text ? shown_append(fd, text, n) : -ENOMEM;
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
        return bytes ? say(fd, (struct shown_event){.kind = GRANTED_ASKED, .of = g->id, .n = n}, bytes)
                     : -ENOMEM;
}

int granted_say(int fd, enum granted_kind kind, const struct granted *g, uint64_t value) {
        return say(fd, (struct shown_event){.kind = kind, .of = g->id, .value = value}, "");
}

int granted_open(const struct granted *g, const struct inside *inside) {
        _cleanup_close_ int fd = beneath_open(inside->root, g->shown + 1, O_PATH, 0);
        struct sys_mount mount;

        if (fd < 0 || sys_mount_of(fd, &mount) < 0 || mount.id != g->mount || !mount.is_root)
                return -ENOENT;
        return TAKE_FD(fd);
}

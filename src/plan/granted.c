/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What grants show (grants/grants.h), as entries. */
#include "build.h"

static void granted_bind(struct entries *e, enum entry_origin origin, const struct resolved_shown *shown) {
        struct plan_op *op = entries_add(e, origin, PLAN_BIND, shown->target);

        op->origin = PLAN_BY_GRANT;
        op->is_device = shown->kind == SHOWN_DEVICE;
        op->is_read_only = shown->kind != SHOWN_DEVICE;
        op->source = strdup(shown->source);
        if (!op->source)
                e->has_failed = true;
}

void collect_granted(struct entries *e, const struct resolved *s) {
        for (size_t i = 0; i < s->n_shown; i++) {
                const struct resolved_shown *shown = &s->shown[i];
                struct plan_op *op;

                switch (shown->kind) {
                case SHOWN_DEVICE:
                        granted_bind(e, ENTRY_OWN, shown);
                        break;
                case SHOWN_FILE:
                        granted_bind(e, ENTRY_EXPLICIT, shown);
                        break;
                case SHOWN_SOCKET:
                        op = entries_add(e, ENTRY_EXPLICIT, PLAN_SOCKET, shown->target);
                        op->text = strdup(shown->text);
                        e->has_failed |= !op->text;
                        break;
                case SHOWN_PRESENT:
                        entries_add_present(e, shown->target);
                        break;
                case SHOWN_TEXT:
                        entries_add_file(e, shown->target, shown->text);
                        break;
                case SHOWN_LINK:
                        entries_add_symlink(e, ENTRY_OWN, shown->text, shown->target);
                        break;
                case SHOWN_OWN_FOLDER:
                        entries_add_tmpfs(e, ENTRY_EXPLICIT, shown->target, 0700, s->policy->tmpfs_size);
                        break;
                }
        }
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The options that do something to the new root: each becomes one struct bwrap_op.  And those that
 * only say something of the next one.  Judges no path. */
#include "base/array.h"
#include "options.h"

static int operation_copy(const char *text, char **ret) {
        char *s = strdup(text);

        if (!s)
                return -ENOMEM;
        *ret = s;
        return 0;
}

static int take_lowers(struct bwrap_parser *p, const struct bwrap_option *option, struct bwrap_op *op) {
        size_t n = strv_length(p->lowers);

        if (op->kind == BWRAP_RO_OVERLAY && n < 2)
                return bwrap_refuse(p, -EINVAL, "%s requires at least two --overlay-src", option->name);
        if (n < 1)
                return bwrap_refuse(p, -EINVAL, "%s requires at least one --overlay-src", option->name);
        op->lowers = TAKE_PTR(p->lowers);
        op->overlay_options = TAKE_PTR(p->overlay_options);
        return bwrap_check_overlay(p, op);
}

static void take_modifiers(struct bwrap_parser *p, const struct bwrap_option *option, struct bwrap_op *op) {
        if (p->has_perms && (option->flags & BWRAP_TAKES_PERMS)) {
                op->has_perms = true;
                op->perms = p->perms;
                p->has_perms = false;
        }
        if (option->flags & BWRAP_TAKES_SIZE) {
                op->size = p->size;
                p->size = 0;
        }
}

/* Reads an operation's arguments, whichever of these forms it has: FD DEST, OCTAL PATH, DEST, SRC DEST or
 * RWSRC WORKDIR DEST. */
static int operation_fill(struct bwrap_parser *p, const struct bwrap_option *option,
                          const char *const *values, struct bwrap_op *op) {
        size_t n = bwrap_option_n_arguments(option);
        int r = 0;

        if (option->flags & BWRAP_HAS_FD)
                r = bwrap_read_fd(p, values[0], &op->fd);
        else if (option->flags & BWRAP_HAS_MODE)
                r = bwrap_read_octal(p, option, values[0], &op->perms);
        else if (n > 1)
                r = operation_copy(values[0], &op->source);
        if (r == 0 && n == 3)
                r = operation_copy(values[1], &op->work);
        if (r == 0)
                r = operation_copy(values[n - 1], &op->target);
        if (r == 0 && (option->flags & BWRAP_WANTS_LOWERS))
                r = take_lowers(p, option, op);
        return r;
}

int bwrap_operation(struct bwrap_parser *p, const struct bwrap_option *option, const char *const *values) {
        struct bwrap_config *config = p->config;
        struct bwrap_op *op;

        if (ARRAY_GROW(config->ops, config->n_ops) < 0)
                return error_oom(p->err);
        /* Counted at once, so that bwrap_config_clear() frees what a failure leaves in it. */
        op = &config->ops[config->n_ops++];
        *op = (struct bwrap_op){
                .kind = option->kind,
                .option = option->name,
                .fd = -1,
                .is_read_only = option->flags & BWRAP_IS_READ_ONLY,
                .is_device = option->flags & BWRAP_IS_DEVICE,
                .is_optional = option->flags & BWRAP_IS_OPTIONAL,
                .makes_source = option->flags & BWRAP_MAKES_SOURCE,
        };
        take_modifiers(p, option, op);
        return operation_fill(p, option, values, op);
}

int bwrap_overlay_source(struct bwrap_parser *p, const struct bwrap_option *option nsrun_unused,
                         const char *const *values) {
        return strv_add(&p->lowers, values[0]);
}

int bwrap_perms(struct bwrap_parser *p, const struct bwrap_option *option, const char *const *values) {
        int r;

        if (p->has_perms)
                return bwrap_refuse(p, -EINVAL, "--perms given twice for the same action");
        r = bwrap_read_octal(p, option, values[0], &p->perms);
        if (r == 0)
                p->has_perms = true;
        return r;
}

int bwrap_size(struct bwrap_parser *p, const struct bwrap_option *option nsrun_unused,
               const char *const *values) {
        unsigned long long size = 0;
        char *end = NULL;

        if (p->size)
                return bwrap_refuse(p, -EINVAL, "--size given twice for the same action");
        errno = 0;
        /* No sign and no space before it; 0x10 and 010 are what C makes of them. */
        if (values[0][0] >= '0' && values[0][0] <= '9')
                size = strtoull(values[0], &end, 0);
        if (!end || *end || errno != 0 || size == 0)
                return bwrap_refuse(p, -EINVAL, "--size takes a non-zero number of bytes");
        if (size > INT64_MAX)
                return bwrap_refuse(p, -EINVAL, "--size (for tmpfs) is limited to %lld",
                                    (long long)INT64_MAX);
        p->size = size;
        return 0;
}

int bwrap_check_waiting(struct bwrap_parser *p, const struct bwrap_option *last) {
        /* `last` may be --perms, --size or --overlay-src itself; --args never is, whatever its data ended
         * with. */
        bool is_modifier = last && (last->flags & BWRAP_IS_MODIFIER);

        bool is_for_overlay =
                last && (last->read == bwrap_overlay_source || last->read == bwrap_overlay_option);

        if (p->lowers && !is_for_overlay)
                return bwrap_refuse(p, -EINVAL,
                                    "--overlay-src must be followed by another --overlay-src or one of "
                                    "--overlay, --tmp-overlay, or --ro-overlay");
        if (p->overlay_options && !is_for_overlay)
                return bwrap_refuse(p, -EINVAL,
                                    "--overlay-opt must be followed by --overlay-src or one of --overlay, "
                                    "--tmp-overlay, or --ro-overlay");
        if (p->has_perms && last && !is_modifier)
                return bwrap_refuse(p, -EINVAL, "--perms must be followed by an option that creates a file");
        if (p->size && last && !is_modifier)
                return bwrap_refuse(p, -EINVAL, "--size must be followed by --tmpfs");
        return 0;
}

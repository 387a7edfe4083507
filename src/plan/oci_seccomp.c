/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A seccomp policy as a bundle has it.  nsrun's rules for one call may overlap, and the strictest counts; to
 * libseccomp, by which runtimes build their filters, a rule without arguments swallows all others of its
 * call. So a call that is allowed but for some arguments is allowed by rules for exactly the other
 * arguments: boxes, each of which fixes some bits of some arguments, and which no denied arguments lie in.
 */
#include "base/array.h"
#include "oci.h"

#define ARGS_MOST  6
#define BOXES_MOST 4000

struct box {
        uint64_t mask[ARGS_MOST], value[ARGS_MOST];
};

struct boxes {
        struct box *items;
        size_t n;
        bool has_failed;
};

#if defined(__x86_64__)
static const char native_arch[] = "amd64";
#elif defined(__aarch64__)
static const char native_arch[] = "arm64";
#elif defined(__riscv)
static const char native_arch[] = "riscv64";
#elif defined(__powerpc64__)
static const char native_arch[] = "ppc64le";
#elif defined(__s390x__)
static const char native_arch[] = "s390x";
#else
static const char native_arch[] = "loong64";
#endif

/* ------------------------------------------------------------------------- boxes */

static void push_box(struct boxes *to, const struct box *box) {
        if (to->has_failed || to->n >= BOXES_MOST || ARRAY_GROW(to->items, to->n) < 0)
                to->has_failed = true;
        else
                to->items[to->n++] = *box;
}

/* Adds what of `box` has the bits `mask` of an argument as `value`, if anything has. */
static void push_part(struct boxes *to, const struct box *box, size_t arg, uint64_t mask, uint64_t value) {
        struct box part = *box;
        uint64_t both = part.mask[arg] & mask;

        if ((part.value[arg] & both) != (value & both))
                return;
        part.mask[arg] |= mask;
        part.value[arg] = (part.value[arg] | (value & mask)) & part.mask[arg];
        push_box(to, &part);
}

/* Adds what of `box` differs from `value` in a bit of `mask`; *box becomes what doesn't.  False: nothing is
 * left of it. */
static bool split_masked(struct boxes *to, struct box *box, size_t arg, uint64_t mask, uint64_t value) {
        for (unsigned bit = 64; bit-- > 0;) {
                uint64_t one = UINT64_C(1) << bit;

                if (!(mask & one))
                        continue;
                if (box->mask[arg] & one) {
                        if ((box->value[arg] ^ value) & one) {
                                push_box(to, box);
                                return false;
                        }
                        continue;
                }
                push_part(to, box, arg, one, ~value & one);
                box->mask[arg] |= one;
                box->value[arg] |= value & one;
        }
        return true;
}

/* Adds what of `box` is at most `most`: ranges that begin alike. */
static void split_at_most(struct boxes *to, const struct box *box, size_t arg, uint64_t most) {
        push_part(to, box, arg, UINT64_MAX, most);
        for (unsigned bit = 0; bit < 64; bit++)
                if (most & (UINT64_C(1) << bit)) {
                        uint64_t mask = UINT64_MAX << bit;

                        push_part(to, box, arg, mask, (most & mask) ^ (UINT64_C(1) << bit));
                }
}

/* ------------------------------------------------------------------ a rule of the policy */

static const char *rule_text(const struct json_value *rule, const char *key) {
        const char *text = json_text(json_get(rule, key));

        return text ? text : "";
}

/* Whether a rule is meant for this architecture. */
static bool rule_is_native(const struct json_value *rule) {
        const struct json_value *includes = json_get(json_get(rule, "includes"), "arches"),
                                *excludes = json_get(json_get(rule, "excludes"), "arches");

        return (json_length(includes) == 0 || json_array_has(includes, native_arch)) &&
               !json_array_has(excludes, native_arch);
}

static bool rule_allows(const struct json_value *rule) {
        return streq(rule_text(rule, "action"), "SCMP_ACT_ALLOW");
}

static bool rule_has_args(const struct json_value *rule) {
        return json_length(json_get(rule, "args")) > 0;
}

/* Takes what one denial denies out of `from`; -EOPNOTSUPP: a comparison that boxes don't know. */
static int subtract(const struct json_value *rule, const struct boxes *from, struct boxes *to) {
        const struct json_value *args = json_get(rule, "args");

        for (size_t i = 0; i < from->n; i++) {
                struct box left = from->items[i];

                for (size_t k = 0; k < json_length(args); k++) {
                        const struct json_value *arg = json_at(args, k);
                        const char *op = rule_text(arg, "op");
                        uint64_t index = 0, value = 0, two = 0;

                        (void)json_number(json_get(arg, "index"), &index);
                        (void)json_number(json_get(arg, "value"), &value);
                        (void)json_number(json_get(arg, "valueTwo"), &two);
                        if (index >= ARGS_MOST)
                                return -EOPNOTSUPP;
                        if (streq(op, "SCMP_CMP_MASKED_EQ")) {
                                if (!split_masked(to, &left, index, value, two & value))
                                        break;
                        } else if (streq(op, "SCMP_CMP_EQ")) {
                                if (!split_masked(to, &left, index, UINT64_MAX, value))
                                        break;
                        } else if (streq(op, "SCMP_CMP_NE")) {
                                push_part(to, &left, index, UINT64_MAX, value);
                        } else if (streq(op, "SCMP_CMP_GT")) {
                                split_at_most(to, &left, index, value);
                        } else {
                                return -EOPNOTSUPP;
                        }
                }
        }
        return to->has_failed ? -EOPNOTSUPP : 0;
}

/* ------------------------------------------------------------------------- writing */

static void write_argument(struct json_document *d, struct json_value *args, size_t index, uint64_t mask,
                           uint64_t value) {
        struct json_value *o = json_add_object(d, args, NULL);

        json_add_number(d, o, "index", index);
        json_add_number(d, o, "value", mask);
        json_add_number(d, o, "valueTwo", value);
        json_add_string(d, o, "op", "SCMP_CMP_MASKED_EQ");
}

static struct json_value *write_rule(struct json_document *d, struct json_value *syscalls, const char *call,
                                     const struct json_value *rule) {
        struct json_value *o = json_add_object(d, syscalls, NULL);
        uint64_t number;

        json_add_string(d, json_add_array(d, o, "names"), NULL, call);
        json_add_string(d, o, "action", rule_text(rule, "action"));
        if (json_number(json_get(rule, "errnoRet"), &number))
                json_add_number(d, o, "errnoRet", number);
        return o;
}

static int write_args(struct json_document *d, struct json_value *o, const struct json_value *rule) {
        _cleanup_free_ char *text = json_spell(json_get(rule, "args"));

        if (!text)
                return -ENOMEM;
        if (rule_has_args(rule))
                json_add_json(d, o, "args", text);
        return 0;
}

static void write_boxes(struct json_document *d, struct json_value *syscalls, const char *call,
                        const struct json_value *rule, const struct boxes *boxes) {
        for (size_t i = 0; i < boxes->n; i++) {
                struct json_value *args = json_add_array(d, write_rule(d, syscalls, call, rule), "args");

                for (size_t arg = 0; arg < ARGS_MOST; arg++)
                        if (boxes->items[i].mask[arg])
                                write_argument(d, args, arg, boxes->items[i].mask[arg],
                                               boxes->items[i].value[arg]);
        }
}

/* What the policy says of one call: every rule that denies as it is, and the one that allows all as boxes.
 */
static int write_call(struct json_document *d, struct json_value *syscalls, const struct json_value *rules,
                      const char *call) {
        const struct json_value *allow_all = NULL;
        struct boxes boxes = {0};
        int r = 0;

        push_box(&boxes, &(struct box){0});
        for (size_t i = 0; i < json_length(rules) && r >= 0; i++) {
                const struct json_value *rule = json_at(rules, i);
                struct boxes next = {0};

                if (!rule_is_native(rule) || !json_array_has(json_get(rule, "names"), call))
                        continue;
                if (rule_allows(rule) && !rule_has_args(rule)) {
                        allow_all = rule;
                        continue;
                }
                r = write_args(d, write_rule(d, syscalls, call, rule), rule);
                if (r < 0 || rule_allows(rule))
                        continue;
                r = subtract(rule, &boxes, &next);
                free(boxes.items);
                boxes = next;
        }
        if (r >= 0 && allow_all)
                write_boxes(d, syscalls, call, allow_all, &boxes);
        free(boxes.items);
        return r;
}

int oci_seccomp(struct json_document *d, struct json_value *parent, const struct json_value *policy) {
        const struct json_value *rules = json_get(policy, "syscalls");
        struct json_value *o = json_add_object(d, parent, "seccomp"), *syscalls;
        _cleanup_strv_ char **done = NULL;
        uint64_t number;
        int r = 0;

        json_add_string(d, o, "defaultAction", rule_text(policy, "defaultAction"));
        if (json_number(json_get(policy, "defaultErrnoRet"), &number))
                json_add_number(d, o, "defaultErrnoRet", number);
        syscalls = json_add_array(d, o, "syscalls");
        for (size_t i = 0; i < json_length(rules) && r >= 0; i++) {
                const struct json_value *names = json_get(json_at(rules, i), "names");

                for (size_t k = 0; k < json_length(names) && r >= 0; k++) {
                        const char *call = json_text(json_at(names, k));

                        if (!call || strv_contains(done, call))
                                continue;
                        r = strv_add(&done, call);
                        if (r >= 0)
                                r = write_call(d, syscalls, rules, call);
                }
        }
        return r;
}

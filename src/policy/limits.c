/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --limit NAME=VALUE: how it is read, and which values are refused.  Whether a cgroup can be had
 * for a limit is known only when the sandbox is started. */
#include "limits.h"

#include <inttypes.h>

#include "base/sys.h"
#include "refusal.h"
#include "values.h"

static const char size_hint[] = "give bytes, or a number with K, M, G or T, or \"unlimited\"";
static const char number_hint[] = "give a whole number, or \"unlimited\"";

/* Bytes; with a lower memory limit not even pid 1 could start. */
#define SMALLEST_MEMORY (UINT64_C(1) << 20)
#define MOST_CPUS       UINT64_C(1000000)

/* Reads a number, with a unit if is_bytes, or "unlimited". */
static int parse_amount(const struct option_spec *spec, const char *text, bool is_bytes, const char *value,
                        uint64_t *ret, struct nsrun_error *err) {
        int r;

        if (streq(text, "unlimited")) {
                *ret = POLICY_UNLIMITED;
                return 0;
        }
        r = str_parse_number(text, is_bytes, ret);
        if (r < 0)
                return option_refuse(spec, value, r == -ERANGE ? "too big" : "not a number",
                                     is_bytes ? size_hint : number_hint, err);
        return 0;
}

static int set_rlimit(struct policy_limits *limits, const struct option_spec *spec,
                      const struct rlimit_kind *kind, const char *text, const char *value,
                      struct nsrun_error *err) {
        struct policy_rlimit limit = {.is_set = true};
        const char *colon = strchr(text, ':');
        _cleanup_free_ char *soft = strndup(text, colon ? (size_t)(colon - text) : strlen(text));
        int r;

        if (!soft)
                return error_oom(err);
        r = parse_amount(spec, soft, kind->is_bytes, value, &limit.soft, err);
        limit.hard = limit.soft;
        if (r >= 0 && colon)
                r = parse_amount(spec, colon + 1, kind->is_bytes, value, &limit.hard, err);
        if (r < 0)
                return r;
        if (limit.soft > limit.hard)
                return option_refuse(spec, value, "the soft limit is above the hard one",
                                     "it is NAME=SOFT:HARD", err);
        limits->rlimits[kind->resource] = limit;
        return 0;
}

/* A limit that is one number. */
struct amount {
        const char *name;
        size_t at; /* of struct policy_limits */
        bool is_bytes;
        uint64_t least, most;
        const char *least_hint;
};
static const struct amount amounts[] = {
        {"memory", offsetof(struct policy_limits, memory), true, SMALLEST_MEMORY, POLICY_UNLIMITED,
         "the least is 1M"},
        {"pids", offsetof(struct policy_limits, pids), false, 1, INT32_MAX, "the command itself is one"},
};

static int set_amount(struct policy_limits *limits, const struct option_spec *spec,
                      const struct amount *amount, const char *text, const char *value,
                      struct nsrun_error *err) {
        uint64_t n;
        int r = parse_amount(spec, text, amount->is_bytes, value, &n, err);

        if (r < 0)
                return r;
        if (n < amount->least)
                return option_refuse(spec, value, "too small", amount->least_hint, err);
        if (n > amount->most && n != POLICY_UNLIMITED)
                return option_refuse(spec, value, "too big", number_hint, err);
        *(uint64_t *)((char *)limits + amount->at) = n == POLICY_UNLIMITED ? 0 : n;
        return 0;
}

/* Reads "2", "0.25" or "25%", as thousandths of a CPU. */
static int parse_cpu(const char *text, uint64_t *ret) {
        size_t n = strspn(text, "0123456789"), decimals;
        _cleanup_free_ char *whole = strndup(text, n);
        uint64_t thousandths, fraction = 0;
        int r;

        if (!whole)
                return -ENOMEM;
        r = str_parse_number(whole, false, &thousandths);
        if (r < 0 || thousandths > MOST_CPUS)
                return r < 0 ? r : -ERANGE;
        text += n;
        if (streq(text, "%")) {
                *ret = thousandths * 10;
                return 0;
        }
        decimals = *text == '.' ? strspn(text + 1, "0123456789") : 0;
        if (*text && (decimals < 1 || decimals > 3 || text[1 + decimals]))
                return -EINVAL;
        for (size_t i = 0; i < 3; i++)
                fraction = fraction * 10 + (i < decimals ? (uint64_t)(text[1 + i] - '0') : 0);
        *ret = thousandths * 1000 + fraction;
        return 0;
}

static int set_cpu(struct policy_limits *limits, const struct option_spec *spec, const char *text,
                   const char *value, struct nsrun_error *err) {
        static const char hint[] = "give CPUs (2, or 0.5; three decimals) or percent of one (50%), "
                                   "or \"unlimited\"";
        uint64_t n = 0;
        int r = streq(text, "unlimited") ? 0 : parse_cpu(text, &n);

        if (r == -ENOMEM)
                return error_oom(err);
        if (r < 0)
                return option_refuse(spec, value, r == -ERANGE ? "too big" : "not a share of the CPUs", hint,
                                     err);
        /* The kernel's least quota is 1 ms of each 100 ms. */
        if (n < 10 && !streq(text, "unlimited"))
                return option_refuse(spec, value, "too small", "the least is 0.01", err);
        limits->cpu = n;
        return 0;
}

static bool is_limit(const char *value, size_t n, const char *name) {
        return strlen(name) == n && memcmp(name, value, n) == 0;
}

int limits_apply_option(void *target, const struct option_spec *spec, const char *value,
                        struct nsrun_error *err) {
        struct policy_limits *limits = &((struct nsrun_policy *)target)->limits;
        size_t n = strcspn(value, "=");
        const char *text = value + n + 1;

        if (!value[n])
                return option_refuse(spec, value, "not NAME=VALUE", NULL, err);
        if (is_limit(value, n, "cpu"))
                return set_cpu(limits, spec, text, value, err);
        for (size_t i = 0; i < ARRAY_SIZE(amounts); i++)
                if (is_limit(value, n, amounts[i].name))
                        return set_amount(limits, spec, &amounts[i], text, value, err);
        for (size_t i = 0; i < RLIMITS_COUNT; i++)
                if (is_limit(value, n, rlimit_kinds[i].name))
                        return set_rlimit(limits, spec, &rlimit_kinds[i], text, value, err);
        return option_refuse(spec, value, "no such limit",
                             "there are memory, pids, cpu, as, core, cputime, data, fsize, locks, memlock, "
                             "msgqueue, nice, nofile, nproc, rss, rtprio, rttime, sigpending and stack",
                             err);
}

static void format_amount(uint64_t n, char *to, size_t size) {
        if (n == POLICY_UNLIMITED)
                (void)snprintf(to, size, "unlimited");
        else
                (void)snprintf(to, size, "%" PRIu64, n);
}

int refuse_limits(const struct nsrun_policy *p, struct nsrun_error *err) {
        for (int resource = 0; resource < RLIMITS_COUNT; resource++) {
                const struct policy_rlimit *limit = &p->limits.rlimits[resource];
                char asked[24], has[24];
                struct sys_rlimit own;
                int r;

                if (!limit->is_set)
                        continue;
                r = sys_prlimit(resource, NULL, &own);
                if (r < 0)
                        return error_setf(err, NSRUN_STAGE_POLICY, r, NULL, NULL,
                                          "--limit %s: the caller's own can't be read",
                                          rlimit_name(resource));
                if (limit->hard <= own.hard)
                        continue;
                format_amount(limit->hard, asked, sizeof(asked));
                format_amount(own.hard, has, sizeof(has));
                return policy_refuse(err, NULL,
                                     "a sandbox can only lower it; raise the caller's, or ask for less",
                                     "--limit %s: %s is above the caller's own hard limit, %s",
                                     rlimit_name(resource), asked, has);
        }
        return 0;
}

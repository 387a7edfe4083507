/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of the command's environment share: a policy with an environment to inherit, resolved. */
#pragma once

#include "policy/withheld.h"
#include "resolve/environment.h"
#include "scratch.h"

static inline struct nsrun_policy *new_policy(const char *const *environment) {
        struct nsrun_policy *p = NULL;

        assert_int_equal(nsrun_policy_new(&p), 0);
        assert_int_equal(nsrun_policy_set_environ(p, environment), 0);
        return p;
}

#define ENVIRONMENT(...) ((const char *const[]){__VA_ARGS__, NULL})

static inline void set(struct nsrun_policy *p, const char *option, const char *value) {
        assert_int_equal(nsrun_policy_set(p, option, value, NULL), 0);
}

static inline void resolve_at(struct resolved *s, const struct nsrun_policy *p, const char *home) {
        resolved_clear(s);
        s->policy = p;
        s->home = home ? strdup(home) : NULL;
        assert_int_equal(environment_resolve(s, NULL), 0);
}

static inline void resolve(struct resolved *s, const struct nsrun_policy *p) {
        resolve_at(s, p, NULL);
}

static inline void assert_value(const struct resolved *s, const char *name, const char *value) {
        const char *is = variables_value(&s->env, name);

        if (!value) {
                assert_null(is);
        } else {
                assert_non_null(is);
                assert_string_equal(is, value);
        }
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the filter that a policy's name stands for, and reads a policy that is a file. */
#include "load.h"

#include <sys/stat.h>

#include "base/file.h"
#include "variant.h"

const struct seccomp_shipped *seccomp_find_shipped(const char *name, const char **ret_changes) {
        for (size_t i = 0; i < n_seccomp_shipped; i++) {
                const char *rest = startswith(name, seccomp_shipped[i].name);

                if (!rest || (*rest && !variant_has_changes(rest)))
                        continue;
                if (ret_changes)
                        *ret_changes = rest;
                return &seccomp_shipped[i];
        }
        return NULL;
}

int seccomp_read_file(const char *path, char **ret, struct nsrun_error *err) {
        int r = read_small_file(AT_FDCWD, path, 0, RULES_MAX_BYTES, ret);

        if (r == -ENOMEM)
                return error_oom(err);
        if (r == -EFBIG)
                return error_setf(err, NSRUN_STAGE_POLICY, UNSAID(r), path, NULL,
                                  "the seccomp policy is bigger than %u KiB", RULES_MAX_BYTES / 1024);
        if (r == -EBADMSG)
                return error_set(err, NSRUN_STAGE_POLICY, -EINVAL, path, "the seccomp policy is no text",
                                 NULL);
        if (r == -EINVAL)
                return error_set(err, NSRUN_STAGE_POLICY, r, path, "the seccomp policy is no plain file",
                                 NULL);
        if (r == -ENOENT && !strchr(path, '/'))
                return error_set(err, NSRUN_STAGE_POLICY, r, path,
                                 "no such seccomp policy, and no such file",
                                 "nsrun's own are default, strict and nested; none is without");
        if (r < 0)
                return error_set(err, NSRUN_STAGE_POLICY, r, path, "the seccomp policy can't be read", NULL);
        return 0;
}

int seccomp_load_text(const char *name, const char *text, struct seccomp_loaded *ret,
                      struct nsrun_error *err) {
        _cleanup_rules_ struct rules rules = {0};
        struct seccomp_filter filter = {0};
        struct rules_target target;
        int r = rules_target_here(&target, err);

        if (r >= 0)
                r = rules_parse(name, text, strlen(text), &target, &rules, err);
        if (r >= 0)
                r = seccomp_compile(name, &rules, target.arch, &filter, err);
        if (r < 0)
                return r;
        ret->owned = filter.code;
        ret->code = filter.code;
        ret->n = filter.n;
        ret->flags = (rules.wants_log ? SECCOMP_FILTER_FLAG_LOG : 0U) |
                     (rules.wants_spec_allow ? SECCOMP_FILTER_FLAG_SPEC_ALLOW : 0U);
        ret->warnings = TAKE_PTR(rules.warnings);
        return 0;
}

int seccomp_text(const char *name, char **ret, struct nsrun_error *err) {
        const char *changes;
        const struct seccomp_shipped *shipped = seccomp_find_shipped(name, &changes);

        if (!shipped)
                return seccomp_read_file(name, ret, err);
        if (*changes)
                return variant_make(name, shipped->json, changes, ret, err);
        *ret = strdup(shipped->json);
        return *ret ? 0 : error_oom(err);
}

static int compile_named(const char *name, bool is_strict, struct seccomp_loaded *ret,
                         struct nsrun_error *err) {
        _cleanup_loaded_ struct seccomp_loaded loaded = {0};
        _cleanup_free_ char *text = NULL;
        int r = seccomp_text(name, &text, err);

        if (r >= 0)
                r = seccomp_load_text(name, text, &loaded, err);
        if (r < 0)
                return r;
        if (is_strict && loaded.warnings)
                return error_setf(err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), name,
                                  "correct it, or leave --strict-policy out", "the seccomp policy: %s",
                                  loaded.warnings[0]);
        *ret = loaded;
        loaded = (struct seccomp_loaded){0};
        return 0;
}

int seccomp_load(const char *name, bool is_strict, struct seccomp_loaded *ret, struct nsrun_error *err) {
        const char *changes = "";
        const struct seccomp_shipped *shipped = seccomp_find_shipped(name, &changes);

        if (*changes || (!shipped && !streq(name, "none")))
                return compile_named(name, is_strict, ret, err);
        *ret = (struct seccomp_loaded){0};
        if (shipped) {
                ret->code = shipped->code;
                ret->n = shipped->n;
        }
        return 0;
}

int seccomp_allow_setgid(struct seccomp_loaded *loaded, struct nsrun_error *err) {
        struct sock_filter *code = calloc(loaded->n, sizeof(code[0]));

        if (!code)
                return error_oom(err);
        memcpy(code, loaded->code, loaded->n * sizeof(code[0]));
        /* Nothing and 0 is never 02000: the condition doesn't hold any more. */
        for (size_t i = 0; i + 1 < loaded->n; i++)
                if (code[i].code == (BPF_ALU | BPF_AND | BPF_K) && code[i].k == S_ISGID &&
                    code[i + 1].code == (BPF_JMP | BPF_JEQ | BPF_K) && code[i + 1].k == S_ISGID)
                        code[i].k = 0;
        free(loaded->owned);
        loaded->code = loaded->owned = code;
        return 0;
}

void seccomp_loaded_clear(struct seccomp_loaded *loaded) {
        free(loaded->owned);
        strv_free(loaded->warnings);
        *loaded = (struct seccomp_loaded){0};
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* compile OUT.c NAME.json…: run by make, it turns the policies that come with nsrun
 * into the tables of seccomp/shipped.h.  Never installed, and the machine that builds need not
 * be the one that runs: every architecture's table is written. */
#include "seccomp/compile.h"

#include <fcntl.h>

#include "base/file.h"
#include "base/json.h"

#define SPDX " (SPDX-License-Identifier: "

struct policy {
        char *name; /* the policy file's name without ".json": "default" */
        char *path;
        char *json;
        char *description;
};

/* The machines that filters are written for, each with the compiler's macro by which shipped.c chooses
 * among them.  (src/seccomp/syscalls.h can't be compiled for any other machine.) */
static const struct {
        enum syscall_arch arch;
        const char *macro;
} machines[] = {
        {SYSCALL_ARCH_X86_64, "__x86_64__"}, {SYSCALL_ARCH_AARCH64, "__aarch64__"},
        {SYSCALL_ARCH_RISCV64, "__riscv"},   {SYSCALL_ARCH_PPC64LE, "__powerpc64__"},
        {SYSCALL_ARCH_S390X, "__s390x__"},   {SYSCALL_ARCH_LOONGARCH64, "__loongarch__"},
};

static void policy_clear(struct policy *policy) {
        free(policy->name);
        free(policy->path);
        free(policy->json);
        free(policy->description);
}

static int oom(void) {
        (void)fputs("seccomp/compile: out of memory\n", stderr);
        return -ENOMEM;
}

/* The policy file's own "comment", without the SPDX line that ends it. */
static int read_description(const char *path, const char *json, char **ret) {
        _cleanup_json_ struct json_document document = {0};
        const char *comment, *why = NULL, *end;
        char *description;
        size_t line = 0;

        /* If the file is no JSON rules_parse() says what is wrong with it. */
        if (json_parse(&document, json, strlen(json), &line, &why) < 0)
                return 0;
        comment = json_text(json_get(document.root, "comment"));
        end = comment ? strstr(comment, SPDX) : NULL;
        if (!end || end == comment || strpbrk(comment, "\\\"\n")) {
                (void)fprintf(stderr, "%s: no \"comment\" that says what it is for and ends with \"%s…)\"\n",
                              path, SPDX);
                return -EINVAL;
        }
        description = strndup(comment, (size_t)(end - comment));
        if (!description)
                return oom();
        *ret = description;
        return 0;
}

static int policy_read(const char *path, struct policy *ret) {
        _cleanup_(policy_clear) struct policy policy = {0};
        const char *slash = strrchr(path, '/');
        const char *name = slash ? slash + 1 : path;
        size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz");
        int r;

        if (n == 0 || !streq(name + n, ".json")) {
                (void)fprintf(stderr, "%s: a policy's name has the letters a to z, then .json\n", path);
                return -EINVAL;
        }
        policy.name = strndup(name, n);
        policy.path = strdup(path);
        if (!policy.name || !policy.path)
                return oom();
        r = read_small_file(AT_FDCWD, path, 0, RULES_MAX_BYTES, &policy.json);
        if (r < 0) {
                (void)fprintf(stderr, "%s: %s\n", path, strerror(-r));
                return r;
        }
        r = read_description(path, policy.json, &policy.description);
        if (r < 0)
                return r;
        *ret = policy;
        policy = (struct policy){0};
        return 0;
}

static int policy_compile(const struct policy *policy, enum syscall_arch arch, struct seccomp_filter *ret) {
        /* minKernel conditions are decided for kernel 0.0, so that none holds: a table that is
         * built now can't know which kernel it will run on. */
        const struct rules_target target = {.arch = arch};
        _cleanup_rules_ struct rules rules = {0};
        struct nsrun_error err = {0};
        int r;

        r = rules_parse(policy->path, policy->json, strlen(policy->json), &target, &rules, &err);
        if (r >= 0 && rules.warnings)
                r = error_set(&err, NSRUN_STAGE_POLICY, -EINVAL, policy->path, rules.warnings[0], NULL);
        if (r >= 0)
                r = seccomp_compile(policy->path, &rules, arch, ret, &err);
        if (r < 0) {
                _cleanup_free_ char *line = nsrun_error_format(&err);

                (void)fprintf(stderr, "%s\n", line ? line : "out of memory");
        }
        return r;
}

static int write_code(FILE *out, const struct policy *policy, enum syscall_arch arch) {
        _cleanup_filter_ struct seccomp_filter filter = {0};
        int r;

        r = policy_compile(policy, arch, &filter);
        if (r < 0)
                return r;
        (void)fprintf(out, "\nstatic const struct sock_filter %s_code[] = {\n", policy->name);
        for (size_t i = 0; i < filter.n; i++)
                (void)fprintf(out, "        {0x%02x, %u, %u, 0x%08x},\n", filter.code[i].code,
                              filter.code[i].jt, filter.code[i].jf, filter.code[i].k);
        (void)fputs("};\n", out);
        return 0;
}

/* Writes a text as C string literals, one for each of its lines. */
static void write_json(FILE *out, const struct policy *policy) {
        (void)fprintf(out, "\nstatic const char %s_json[] =\n        \"", policy->name);
        for (const unsigned char *c = (const unsigned char *)policy->json; *c; c++) {
                if (*c == '\n')
                        (void)fputs(c[1] ? "\\n\"\n        \"" : "\\n", out);
                else if (*c == '"' || *c == '\\')
                        (void)fprintf(out, "\\%c", *c);
                else if (*c < ' ' || *c > '~')
                        (void)fprintf(out, "\\%03o", *c);
                else
                        (void)fputc(*c, out);
        }
        (void)fputs("\";\n", out);
}

static int write_tables(FILE *out, const struct policy *policies, size_t n) {
        int r;

        (void)fputs("/* Written by seccomp/compile. */\n#include \"seccomp/shipped.h\"\n"
                    "#include \"seccomp/syscalls.h\"\n",
                    out);
        for (size_t m = 0; m < ARRAY_SIZE(machines); m++) {
                (void)fprintf(out, "\n#%s defined(%s)\n", m == 0 ? "if" : "elif", machines[m].macro);
                if (!syscall_arch_is_known(machines[m].arch))
                        (void)fprintf(
                                out,
                                "#error \"the libseccomp that this was built with knows no calls of %s\"\n",
                                syscall_arch_name(machines[m].arch));
                for (size_t i = 0; i < n && syscall_arch_is_known(machines[m].arch); i++) {
                        r = write_code(out, &policies[i], machines[m].arch);
                        if (r < 0)
                                return r;
                }
        }
        (void)fputs("\n#endif\n", out);
        for (size_t i = 0; i < n; i++)
                write_json(out, &policies[i]);
        (void)fputs("\nconst struct seccomp_shipped seccomp_shipped[] = {\n", out);
        for (size_t i = 0; i < n; i++)
                (void)fprintf(out,
                              "        {\"%s\", \"%s\",\n         %s_json, %s_code, ARRAY_SIZE(%s_code)},\n",
                              policies[i].name, policies[i].description, policies[i].name, policies[i].name,
                              policies[i].name);
        (void)fputs("};\n\nconst size_t n_seccomp_shipped = ARRAY_SIZE(seccomp_shipped);\n", out);
        return 0;
}

static int write_file(const char *path, const struct policy *policies, size_t n) {
        _cleanup_fclose_ FILE *out = fopen(path, "we");
        int r;

        if (!out) {
                (void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
                return -EIO;
        }
        r = write_tables(out, policies, n);
        if (r >= 0 && (fflush(out) != 0 || ferror(out))) {
                (void)fprintf(stderr, "%s: can't be written\n", path);
                r = -EIO;
        }
        return r;
}

int main(int argc, char **argv) {
        struct policy *policies;
        size_t n = 0;
        int r = 0;

        if (argc < 3) {
                (void)fputs("usage: compile OUT.c NAME.json...\n", stderr);
                return 2;
        }
        policies = calloc((size_t)argc, sizeof(*policies));
        if (!policies)
                return 1;
        for (int i = 2; r >= 0 && i < argc; i++) {
                r = policy_read(argv[i], &policies[n]);
                n += r >= 0;
        }
        if (r >= 0)
                r = write_file(argv[1], policies, n);
        for (size_t i = 0; i < n; i++)
                policy_clear(&policies[i]);
        free(policies);
        return r < 0 ? 1 : 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tabulate OUT.c SUPPLEMENT: run by make on the machine that builds, it writes the table of
 * src/seccomp/table.h from what libseccomp knows there and from seccomp/syscalls.txt.  Never
 * installed, and nothing that is installed needs libseccomp. */
#include "seccomp/table.h"

#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

/* Where an architecture's own calls begin: those of arm at FIRST_OF_ARM, those of mips at 4000,
 * 5000 and 6000 (one for each of its three ABIs). */
#define LAST_NUMBER  6999
#define FIRST_OF_ARM 0xf0000
#define LAST_OF_ARM  0xf00ff

static const char *const arch_names[N_SYSCALL_ARCHS] = {
#define NAME(id, name, ...) name,
        SYSCALL_ARCHS(NAME)
#undef NAME
};

/* Architectures of which the table has the calls' names and no numbers: Docker's and Podman's
 * profiles name calls of theirs, and a name that some machine has is no mistake in a policy. */
static const char *const others[] = {"mips",   "mips64",   "mips64n32", "mipsel", "mipsel64", "mipsel64n32",
                                     "parisc", "parisc64", "ppc",       "ppc64",  "m68k",     "sh"};

struct rows {
        struct syscall_row *list;
        size_t n;
};

static struct syscall_row *tabulate_row(struct rows *rows, const char *name) {
        struct syscall_row *row;

        for (size_t i = 0; i < rows->n; i++)
                if (streq(rows->list[i].name, name))
                        return &rows->list[i];
        if (strlen(name) >= sizeof(row->name)) {
                (void)fprintf(stderr, "%s: longer than struct syscall_row's name\n", name);
                return NULL;
        }
        row = reallocarray(rows->list, rows->n + 1, sizeof(*row));
        if (!row)
                return NULL;
        rows->list = row;
        row += rows->n++;
        *row = (struct syscall_row){.numbers = {0}};
        strcpy(row->name, name);
        for (size_t i = 0; i < N_SYSCALL_ARCHS; i++)
                row->numbers[i] = -1;
        return row;
}

static const char *name_with_number(const struct rows *rows, size_t arch, int number) {
        for (size_t i = 0; i < rows->n; i++)
                if (rows->list[i].numbers[arch] == number)
                        return rows->list[i].name;
        return NULL;
}

/* Adds a call to the table.  `arch` says whose number `number` is; N_SYSCALL_ARCHS: the name alone
 * is added. */
static int take_number(struct rows *rows, size_t arch, uint32_t token, int number) {
        char *name = seccomp_syscall_resolve_num_arch(token, number);
        struct syscall_row *row;

        if (!name)
                return 0;
        row = tabulate_row(rows, name);
        free(name);
        if (!row)
                return -ENOMEM;
        if (arch == N_SYSCALL_ARCHS)
                return 0;
        if (row->numbers[arch] >= 0) {
                (void)fprintf(stderr, "libseccomp gives %s of %s two numbers: %d and %d\n", row->name,
                              arch_names[arch], row->numbers[arch], number);
                return -EINVAL;
        }
        row->numbers[arch] = number;
        return 0;
}

static int take_arch(struct rows *rows, size_t arch, const char *name) {
        uint32_t token = seccomp_arch_resolve_name(name);
        int r = 0;

        /* It answers 0 for an architecture that is newer than this libseccomp. */
        if (token == 0)
                return 0;
        for (int number = 0; number <= LAST_NUMBER && r >= 0; number++)
                r = take_number(rows, arch, token, number);
        for (int number = FIRST_OF_ARM; number <= LAST_OF_ARM && r >= 0; number++)
                r = take_number(rows, arch, token, number);
        return r;
}

/* ----------------------------------------------------------------- the supplement */

static int add_supplement(struct rows *rows, const char *name, int number, size_t arch) {
        const char *known = name_with_number(rows, arch, number);
        struct syscall_row *row = tabulate_row(rows, name);

        if (!row)
                return -ENOMEM;
        if ((known && !streq(known, name)) || (row->numbers[arch] >= 0 && row->numbers[arch] != number)) {
                (void)fprintf(stderr, "the supplement says that %s is %d on %s, and libseccomp that %s is\n",
                              name, number, arch_names[arch], known ? known : "another number");
                return -EINVAL;
        }
        row->numbers[arch] = number;
        return 0;
}

static int read_line(struct rows *rows, char *line) {
        char *at = NULL, *name = strtok_r(line, " \n", &at), *number = strtok_r(NULL, " \n", &at),
             *end = NULL;
        char *word = strtok_r(NULL, " \n", &at);
        long value = number ? strtol(number, &end, 10) : -1;
        int r = 0;

        if (!name || name[0] == '#')
                return 0;
        if (value < 0 || value > LAST_NUMBER || *end) {
                (void)fprintf(stderr, "the supplement: %s has no number\n", name);
                return -EINVAL;
        }
        for (size_t arch = 0; !word && arch < N_SYSCALL_ARCHS && r >= 0; arch++)
                r = add_supplement(rows, name, (int)value, arch);
        for (; word && r >= 0; word = strtok_r(NULL, " \n", &at)) {
                size_t arch = 0;

                while (arch < N_SYSCALL_ARCHS && !streq(arch_names[arch], word))
                        arch++;
                if (arch == N_SYSCALL_ARCHS) {
                        (void)fprintf(stderr, "the supplement: %s: no architecture %s\n", name, word);
                        return -EINVAL;
                }
                r = add_supplement(rows, name, (int)value, arch);
        }
        return r;
}

static int read_supplement(struct rows *rows, const char *path) {
        FILE *in = fopen(path, "re");
        char line[256];
        int r = in ? 0 : -errno;

        if (!in)
                (void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
        while (r >= 0 && fgets(line, sizeof(line), in))
                r = read_line(rows, line);
        if (in)
                (void)fclose(in);
        return r;
}

/* ------------------------------------------------------------------ the table */

static int compare_rows(const void *a, const void *b) {
        return strcmp(((const struct syscall_row *)a)->name, ((const struct syscall_row *)b)->name);
}

static int write_table(const char *path, struct rows *rows) {
        FILE *out = fopen(path, "we");
        bool failed;

        if (!out) {
                (void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
                return -EIO;
        }
        qsort(rows->list, rows->n, sizeof(*rows->list), compare_rows);
        (void)fputs("/* Written by seccomp/tabulate. */\n#include \"seccomp/table.h\"\n\n"
                    "const struct syscall_row syscall_table[] = {\n",
                    out);
        for (size_t i = 0; i < rows->n; i++) {
                (void)fprintf(out, "        {\"%s\", {", rows->list[i].name);
                for (size_t arch = 0; arch < N_SYSCALL_ARCHS; arch++)
                        (void)fprintf(out, "%s%d", arch > 0 ? ", " : "", (int)rows->list[i].numbers[arch]);
                (void)fputs("}},\n", out);
        }
        (void)fprintf(out, "};\n\nconst size_t n_syscall_table = %zu;\n", rows->n);
        failed = ferror(out) != 0;
        failed |= fclose(out) != 0;
        if (failed)
                (void)fprintf(stderr, "%s: can't be written\n", path);
        return failed ? -EIO : 0;
}

int main(int argc, char **argv) {
        struct rows rows = {0};
        int r = 0;

        if (argc != 3) {
                (void)fputs("usage: tabulate OUT.c SUPPLEMENT\n", stderr);
                return 2;
        }
        for (size_t arch = 0; arch < N_SYSCALL_ARCHS && r >= 0; arch++)
                r = take_arch(&rows, arch, arch_names[arch]);
        for (size_t i = 0; i < ARRAY_SIZE(others) && r >= 0; i++)
                r = take_arch(&rows, N_SYSCALL_ARCHS, others[i]);
        if (r >= 0)
                r = read_supplement(&rows, argv[2]);
        if (r >= 0)
                r = write_table(argv[1], &rows);
        if (r == -ENOMEM)
                (void)fputs("seccomp/tabulate: out of memory, or a name that is too long\n", stderr);
        free(rows.list);
        return r < 0 ? 1 : 0;
}

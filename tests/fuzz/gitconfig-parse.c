/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fuzzes git configuration: a text is parsed, and its values serve as globs for each other. */
#include "fuzz.h"

#include "host/gitconfig.h"
#include "host/gitignore.h"

struct seen {
        size_t n;
        char *glob;
};

static int check_entry(void *data, const struct gitconfig_entry *entry) {
        struct seen *seen = data;
        const char *subsection = NULL;
        size_t n = 0;

        CHECK(*entry->name && strlen(entry->name) <= GITCONFIG_NAME_MAX);
        CHECK(!entry->value || strlen(entry->value) <= GITCONFIG_VALUE_MAX);
        for (const char *p = entry->name; *p && *p != '.'; p++)
                CHECK(*p < 'A' || *p > 'Z');
        if (gitconfig_is_in(entry->name, "includeif", "path", &subsection, &n))
                CHECK(subsection >= entry->name && subsection + n <= entry->name + strlen(entry->name));
        (void)gitconfig_is_true(entry->value);
        if (entry->value && seen->glob) {
                (void)gitignore_glob(seen->glob, strlen(seen->glob), entry->value, seen->n % 2);
                (void)gitignore_glob(entry->value, strlen(entry->value), seen->glob, seen->n % 2);
        }
        if (entry->value) {
                free(seen->glob);
                seen->glob = strdup(entry->value);
        }
        return ++seen->n > 10000 ? 1 : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n) {
        /* Its exact size, so that a byte too far is seen. */
        char *text = malloc(n ? n : 1);
        struct seen seen = {0};
        int r;

        if (!text)
                return 0;
        memcpy(text, input, n);
        r = gitconfig_parse(text, n, check_entry, &seen);
        CHECK(r == 0 || r == 1 || r == -EBADMSG || r == -ENOMEM);
        CHECK(r != 0 || !memchr(input, '\0', n));
        free(seen.glob);
        free(text);
        return 0;
}

#ifndef FUZZ_WITH_LIBFUZZER
static size_t make_input(uint8_t *to, size_t size) {
        static const char *const tokens[] = {
                "[user]\n",
                "[include]\n",
                "[includeIf \"gitdir:~/w/**/\"]",
                "[a.b]",
                "[a \"b\\\"c\"]",
                "\tname = A B\n",
                "email=a@b\n",
                "path = ~/x\n",
                "key\n",
                "\"",
                "\\\n",
                "\\t",
                "# c\n",
                ";",
                "**/",
                "*",
                "[!a-z]",
                "?",
                "=",
                "\n",
                " ",
                "]",
                "[",
                "\r\n",
                "\xef\xbb\xbf",
                "true\n",
        };

        return deal_tokens(to, size, tokens, ARRAY_SIZE(tokens));
}
#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The manual and the program say the same: synopses, options and the configuration's keys. */
#include "manual.h"
#include "scratch.h"

#include "cli/option.h"
#include "policy/config_keys.h"

/* "nsrun-run.1" for "nsrun-run(1)". */
static char *page_of(const struct command *command) {
        char *file = strdup(help_page(command)), *section;

        assert_non_null(file);
        section = strchr(file, '(');
        assert_non_null(section);
        *section = '.';
        section[2] = '\0';
        return file;
}

/* How often a page has an item with this macro and word: "Fl -" and "net" of ".It Fl -net Ns = ...". */
static size_t items(const char *page, const char *macro, const char *word) {
        char *text = NULL;
        size_t n = 0, length;

        assert_true(asprintf(&text, "%s%s", macro, word) > 0);
        length = strlen(text);
        for (const char *at = page; (at = strstr(at, "\n.It "));) {
                const char *line = ++at, *end = line + strcspn(line, "\n");

                while ((line = strstr(line, text)) && line < end) {
                        n += line[-1] == ' ' && (line[length] == ' ' || line[length] == '\n');
                        line += length;
                }
        }
        free(text);
        return n;
}

static char *escaped(const char *text, size_t n) {
        char *to = calloc(2, n + 1), *at = to;

        assert_non_null(to);
        for (size_t i = 0; i < n; i++) {
                if (text[i] == '-')
                        *at++ = '\\';
                *at++ = text[i];
        }
        return to;
}

TEST(each_synopsis_is_that_of_help) {
        for (size_t c = 0; c < n_commands; c++) {
                char *file = page_of(&commands[c]), *page = manual_page(file),
                     *help = help_text(&commands[c]);

                assert_non_null(help);
                for (const char *form = commands[c].arguments; *form;) {
                        size_t n = strcspn(form, "\n");
                        char *words = escaped(form, n), *in_page = NULL, *in_help = NULL;

                        assert_true(asprintf(&in_page, "\n.Nm nsrun %s\n%s\n", commands[c].name, words) > 0);
                        assert_true(asprintf(&in_help, " nsrun %s %.*s\n", commands[c].name, (int)n, form) >
                                    0);
                        if (!strstr(page, in_page))
                                fail_msg("the synopsis of %s lacks:%s", file, in_page);
                        assert_non_null(strstr(help, in_help));
                        free(in_page);
                        free(in_help);
                        free(words);
                        form += n + (form[n] == '\n');
                }
                assert_non_null(strstr(help, help_page(&commands[c])));
                free(help);
                free(page);
                free(file);
        }
}

TEST(examples_come_third) {
        for (size_t c = 0; c < n_commands; c++) {
                char *file = page_of(&commands[c]), *page = manual_page(file), *at = page;

                for (size_t i = 0; i < 3; i++) {
                        at = strstr(at + (i > 0), "\n.Sh ");
                        assert_non_null(at);
                }
                if (strncmp(at, "\n.Sh EXAMPLES\n", 14) != 0)
                        fail_msg("%s has other sections before EXAMPLES", file);
                free(page);
                free(file);
        }
}

/* The sandbox's own are in nsrun-run(1), and nowhere else; the page of whoever takes them says so. */
TEST(each_option_is_an_item_of_a_page) {
        char *first = manual_page("nsrun.1"), *run = manual_page("nsrun-run.1");

        for (size_t c = 0; c < n_commands; c++) {
                char *file = page_of(&commands[c]), *page = manual_page(file);

                for (size_t t = 0; t < MOST_TABLES && commands[c].tables[t].specs; t++)
                        for (size_t i = 0; i < *commands[c].tables[t].n; i++) {
                                const struct option_spec *specs = commands[c].tables[t].specs;
                                const char *name = specs[i].name;
                                bool is_sandboxs = specs == policy_options;
                                size_t n = items(is_sandboxs               ? run
                                                 : specs == common_options ? first
                                                                           : page,
                                                 "Fl -", name);

                                if (is_sandboxs ? n != 1 : n == 0)
                                        fail_msg("%s: --%s is an item %zu times", file, name, n);
                                if (is_sandboxs && !streq(file, "nsrun-run.1")) {
                                        assert_non_null(strstr(page, "\n.Xr nsrun-run 1"));
                                        if (items(page, "Fl -", name) > 0)
                                                fail_msg("%s repeats --%s", file, name);
                                }
                        }
                free(page);
                free(file);
        }
        free(first);
        free(run);
}

static bool is_taken(const char *file, const char *name) {
        for (size_t c = 0; c < n_commands; c++) {
                char *page = page_of(&commands[c]);
                bool is_its = streq(page, file);

                free(page);
                for (size_t t = 0; is_its && t < MOST_TABLES && commands[c].tables[t].specs; t++)
                        for (size_t i = 0; i < *commands[c].tables[t].n; i++)
                                if (streq(commands[c].tables[t].specs[i].name, name))
                                        return true;
        }
        return false;
}

TEST(each_item_is_an_option_that_is_taken) {
        for (size_t c = 0; c < n_commands; c++) {
                char *file = page_of(&commands[c]), *page = manual_page(file), *save = NULL;

                for (char *line = strtok_r(page, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                        for (char *at = line; startswith(line, ".It ") && (at = strstr(at, "Fl -"));) {
                                size_t n = strcspn(at += 4, " ");
                                char after = at[n];

                                at[n] = '\0';
                                if (!is_taken(file, at))
                                        fail_msg("%s has --%s, which nothing takes", file, at);
                                at[n] = after;
                        }
                }
                free(page);
                free(file);
        }
}

TEST(each_key_of_the_configuration_is_an_item) {
        char *page = manual_page("nsrun.conf.5"), *save = NULL;

        for (size_t i = 0; i < n_config_keys; i++)
                if (items(page, "", config_keys[i].name) != 1)
                        fail_msg("%s is an item %zu times", config_keys[i].name,
                                 items(page, "", config_keys[i].name));
        for (size_t i = 0; i < n_config_isolation_keys; i++)
                assert_non_null(strstr(page, config_isolation_keys[i].name));
        for (char *line = strtok_r(page, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                char *words = NULL;

                for (char *word = startswith(line, ".It Va ") ? strtok_r(line + 7, " ,", &words) : NULL;
                     word; word = strtok_r(NULL, " ,", &words)) {
                        bool is_known = false;

                        for (size_t i = 0; i < n_config_keys; i++)
                                is_known |= streq(config_keys[i].name, word);
                        if (!is_known)
                                fail_msg("%s is no key", word);
                }
        }
        free(page);
}

int main(void) {
        return run_all_tests();
}

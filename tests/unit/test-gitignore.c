/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What git ignores: patterns one by one, and random ones in random folders against git itself. */
#include "host/gitignore.h"

#include "../seed.h"
#include "base/str.h"
#include "changes/ignored.h"
#include "scratch.h"

static const struct {
        const char *pattern, *text;
        bool matches, crosses;
} globs[] = {
        {"a", "a", true, true},
        {"a", "b", false, false},
        {"", "", true, true},
        {"", "a", false, false},
        {"*", "", true, true},
        {"*", "a", true, true},
        {"*", "a/b", false, true},
        {"a*b", "axxb", true, true},
        {"a*b", "a/b", false, true},
        {"*.c", "src/a.c", false, true},
        {"src/*.c", "src/a/b.c", false, true},
        {"src/*.c", "src/a.c", true, true},
        {"?", "/", false, true},
        {"a?b", "axb", true, true},
        {"**", "a/b/c", true, true},
        {"**/b", "b", true, false},
        {"**/b", "a/c/b", true, true},
        {"**/b", "ab", false, false},
        {"a/**", "a", false, false},
        {"a/**", "a/b/c", true, true},
        {"a/**/c", "a/c", true, false},
        {"a/**/c", "a/x/y/c", true, true},
        {"a/**/c", "axc", false, false},
        {"**/a*/**/c", "x/ab/y/c", true, true},
        {"**/a*b/c", "ax/aab/c", true, true},
        {"x**y", "xay", true, true},
        {"x**y", "xa/y", false, true},
        {"***/b", "a/b", true, true},
        {"[ab]", "b", true, true},
        {"[!ab]", "b", false, false},
        {"[^ab]", "c", true, true},
        {"[a-c]x", "bx", true, true},
        {"[c-a]", "b", false, false},
        {"[c-a]", "c", true, true},
        {"[]]", "]", true, true},
        {"[!]]", "]", false, false},
        {"[]-a]", "^", true, true},
        {"[a-]", "-", true, true},
        {"[\\]]", "]", true, true},
        {"[\\a-\\c]", "b", true, true},
        {"[[:digit:]_]", "7", true, true},
        {"[[:digit:]_]", "_", true, true},
        {"[[:digit:]_]", "a", false, false},
        {"[[:DIGIT:]]", "7", false, false},
        {"[[:]", ":", true, true},
        {"[[:alpha:]-z]", "-", true, true},
        {"[!a]b", "/b", false, true},
        {"[a", "a", false, false},
        {"[a", "[a", false, false},
        {"a\\", "a", false, false},
        {"a\\", "a\\", false, false},
        {"\\*", "*", true, true},
        {"\\*", "a", false, false},
        {"\\a", "a", true, true},
        {"*a*a*a*a*a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false, false},
};

TEST(globs_match_as_those_of_git_do) {
        for (size_t i = 0; i < ARRAY_SIZE(globs); i++) {
                const char *pattern = globs[i].pattern;

                if (gitignore_glob(pattern, strlen(pattern), globs[i].text, false) != globs[i].matches)
                        fail_msg("%s and %s", pattern, globs[i].text);
                if (gitignore_glob(pattern, strlen(pattern), globs[i].text, true) != globs[i].crosses)
                        fail_msg("%s and %s, where slashes are crossed", pattern, globs[i].text);
        }
}

/* A minute for each would be a hang, and a glob that backtracks freely takes years. */
TEST(no_glob_takes_long) {
        char text[4001], pattern[513] = "";

        memset(text, 'a', sizeof(text) - 1);
        text[sizeof(text) - 1] = '\0';
        for (size_t i = 0; i < 128; i++)
                memcpy(pattern + i * 2, "*a", 3);
        memcpy(pattern + 256, "b", 2);
        assert_false(gitignore_glob(pattern, strlen(pattern), text, false));
        for (size_t i = 0; i < sizeof(text) - 1; i += 2)
                text[i] = '/';
        for (size_t i = 0; i < 100; i++)
                memcpy(pattern + i * 5, "**/a/", 6);
        memcpy(pattern + 500, "b", 2);
        assert_false(gitignore_glob(pattern, strlen(pattern), text, false));
        assert_true(gitignore_glob("**/a/**/a/**", 12, text, false));
}

/* ------------------------------------------------------------- against git */

/* splitmix64 */
static unsigned throw_dice(uint64_t *state, unsigned n) {
        uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return (unsigned)((z ^ (z >> 31)) % n);
}

static const char *const names[] = {"a",    "b", "ab", "a.c", "b c", "#a", "!b",
                                    "[ab]", "*", "a ", "\\a", "-",   "A1"};

static void draw_path(uint64_t *dice, char *to, size_t size, unsigned deepest) {
        unsigned depth = 1 + throw_dice(dice, deepest);

        to[0] = '\0';
        for (unsigned i = 0; i < depth; i++)
                (void)snprintf(to + strlen(to), size - strlen(to), "%s%s", i > 0 ? "/" : "",
                               names[throw_dice(dice, ARRAY_SIZE(names))]);
}

static void draw_pattern(uint64_t *dice, char *to, size_t size) {
        static const char *const pieces[] = {"a",           "b",
                                             "c",           ".",
                                             "*",           "?",
                                             "**/",         "/**/",
                                             "/",           "[ab]",
                                             "[!a]",        "[^b]",
                                             "[[:alpha:]]", "[a-c]",
                                             "\\*",         "\\a",
                                             " ",           "\\ ",
                                             "#",           "!",
                                             "-",           "[[:upper:]-]",
                                             "[]a]",        "[",
                                             "\\"};
        unsigned n = 1 + throw_dice(dice, 4);

        (void)snprintf(to, size, "%s", throw_dice(dice, 4) == 0 ? "!" : "");
        if (throw_dice(dice, 6) == 0)
                (void)snprintf(to + strlen(to), size - strlen(to), "**/");
        if (throw_dice(dice, 3) == 0)
                draw_path(dice, to + strlen(to), size - strlen(to), 2);
        for (unsigned i = 0; i < n; i++)
                (void)snprintf(to + strlen(to), size - strlen(to), "%s",
                               pieces[throw_dice(dice, ARRAY_SIZE(pieces))]);
        if (throw_dice(dice, 6) == 0)
                (void)snprintf(to + strlen(to), size - strlen(to), "/**");
        if (throw_dice(dice, 4) == 0)
                (void)snprintf(to + strlen(to), size - strlen(to), "/");
}

/* gitignore(5) says that such asterisks are like a single one; git matches what precedes them by itself, and
 * takes the rest for a pattern that begins with them. */
static bool is_beyond_manual(const char *pattern) {
        for (const char *at = pattern; (at = strstr(at, "**")); at += strspn(at, "*"))
                if (at > pattern && at[-1] != '/' && !(at == pattern + 1 && *pattern == '!'))
                        return true;
        return false;
}

static void write_patterns(uint64_t *dice, const char *top, const char *folder, const char *name) {
        char text[1024] = "", pattern[256], path[512];
        unsigned n = 1 + throw_dice(dice, 5);

        for (unsigned i = 0; i < n; i++) {
                draw_pattern(dice, pattern, sizeof(pattern));
                if (!is_beyond_manual(pattern))
                        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", pattern,
                                       throw_dice(dice, 8) == 0 ? "\r\n" : "\n");
        }
        (void)snprintf(path, sizeof(path), "%s%s%s", folder, *folder ? "/" : "", name);
        scratch_file(top, path, text);
}

#define N_PATHS 120

/* Fills the work tree `top` and the list of changes, one for each path that is there. */
static void fill(uint64_t *dice, const char *top, struct changes *c) {
        for (unsigned i = 0; i < N_PATHS; i++) {
                bool is_folder = throw_dice(dice, 3) == 0, is_known = false;
                char path[256];
                _cleanup_free_ char *full = NULL;
                struct stat st;

                draw_path(dice, path, sizeof(path), 4);
                full = scratch_path(top, path);
                for (char *slash = full + strlen(top) + 1; !is_known && (slash = strchr(slash, '/'));
                     slash++) {
                        *slash = '\0';
                        is_known = lstat(full, &st) == 0 && !S_ISDIR(st.st_mode);
                        *slash = '/';
                }
                if (is_known || lstat(full, &st) == 0)
                        continue;
                if (is_folder)
                        scratch_folder(top, path);
                else {
                        char *slash = strrchr(path, '/');

                        if (slash) {
                                *slash = '\0';
                                scratch_folder(top, path);
                                *slash = '/';
                        }
                        scratch_file(top, path, "");
                }
                assert_int_equal(lstat(full, &st), 0);
                c->list[c->n] = (struct change){.kind = CHANGE_MODIFIED,
                                                .path = strdup(path),
                                                .old_mode = st.st_mode,
                                                .new_mode = st.st_mode};
                assert_non_null(c->list[c->n++].path);
        }
}

/* Each ninth, with what lies in it; git's check-ignore would take the paths for pathspecs. */
static bool is_added(const struct changes *c, const char *path) {
        for (size_t i = 0; i < c->n; i += 9)
                if (S_ISREG(c->list[i].new_mode) && startswith(c->list[i].path, path) &&
                    strchr("/", c->list[i].path[strlen(path)]))
                        return true;
        return false;
}

/* What git says: the paths that its patterns are about, one by one. */
static char **ask_git(const char *top, const struct changes *c) {
        _cleanup_free_ char *in = scratch_path(top, ".git/in"), *out = scratch_path(top, ".git/out"),
                            *command = NULL;
        char **ignored = NULL, line[512];
        FILE *f = fopen(in, "we");
        size_t n = 0;

        assert_non_null(f);
        for (size_t i = 0; i < c->n; i++)
                (void)fprintf(f, "%s%c", c->list[i].path, '\0');
        (void)fclose(f);
        assert_true(asprintf(&command,
                             "cd '%s' && git check-ignore --no-index --stdin -z <.git/in >.git/out",
                             top) > 0);
        assert_true(system(command) >= 0);
        f = fopen(out, "re");
        assert_non_null(f);
        for (int byte; (byte = fgetc(f)) != EOF;) {
                assert_true(n < sizeof(line));
                line[n++] = (char)byte;
                if (byte == '\0') {
                        assert_int_equal(strv_add(&ignored, line), 0);
                        n = 0;
                }
        }
        (void)fclose(f);
        return ignored;
}

static void compare_with_git(uint64_t seed) {
        uint64_t dice = seed;
        char *top = scratch_make(), *upper = scratch_make();
        struct change list[N_PATHS];
        struct changes c = {.list = list};
        bool is_marked[N_PATHS] = {false};
        const struct changes_layer layer = {.upper_fd = scratch_open(upper), .base_fd = scratch_open(top)};
        const struct ignored_question q = {.layer = &layer, .top = top, .global = "*1\n"};
        _cleanup_free_ char *command = NULL;
        _cleanup_strv_ char **ignored = NULL;

        assert_true(asprintf(&command,
                             "export HOME='%s'; cd '%s'; git init -q . && echo '*1' >.git/global && "
                             "git config core.excludesFile \"$PWD/.git/global\"",
                             top, top) > 0);
        assert_int_equal(system(command), 0);
        fill(&dice, top, &c);
        for (size_t i = 0; i < c.n; i += 9)
                if (S_ISREG(c.list[i].new_mode)) {
                        free(command);
                        assert_true(asprintf(&command, "cd '%s'; git --literal-pathspecs add -f -- '%s'",
                                             top, c.list[i].path) > 0);
                        assert_int_equal(system(command), 0);
                }
        write_patterns(&dice, top, "", ".gitignore");
        write_patterns(&dice, top, "", ".git/info/exclude");
        for (size_t i = 0; i < c.n; i++)
                if (S_ISDIR(c.list[i].new_mode) && throw_dice(&dice, 3) == 0)
                        write_patterns(&dice, top, c.list[i].path, ".gitignore");
        assert_int_equal(ignored_mark(&q, &c, NULL, is_marked), 0);
        ignored = ask_git(top, &c);
        for (size_t i = 0; i < c.n; i++)
                if (is_marked[i] !=
                    (ignored && strv_contains(ignored, c.list[i].path) && !is_added(&c, c.list[i].path)))
                        fail_msg("seed %llu: '%s' is %signored, git says otherwise, in %s",
                                 (unsigned long long)seed, c.list[i].path, is_marked[i] ? "" : "not ", top);
        for (size_t i = 0; i < c.n; i++)
                free(c.list[i].path);
        (void)close(layer.upper_fd);
        (void)close(layer.base_fd);
        scratch_remove(top);
        scratch_remove(upper);
}

TEST(random_patterns_ignore_what_git_says) {
        const char *rounds = getenv("NSRUN_TEST_ROUNDS");
        uint64_t first = test_seed();

        for (uint64_t i = 0; i < (rounds ? strtoull(rounds, NULL, 10) : 25); i++)
                compare_with_git(first + i);
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What nsrun reads of git's index, against git itself; and that no damage to it is believed. */
#include "host/gitindex.h"

#include "base/file.h"
#include "base/str.h"
#include "changes/tracked.h"
#include "host/subrepositories.h"
#include "scratch.h"

static int note_path(void *data, const char *path, bool is_repository) {
        return is_repository ? strv_add(data, path) : 0;
}

static int stop_at_once(void *data, nsrun_unused const char *path, nsrun_unused bool is_repository) {
        ++*(int *)data;
        return 42;
}

/* The index of a new repository with `options`, in which are files and two repositories. */
static unsigned char *make_index(char *top, const char *options, size_t *ret_n) {
        static const char script[] =
                "set -e; exec >/dev/null 2>&1; cd '%s'; export HOME=$PWD; git init -q %s p; cd p\n"
                "git init -q %s long/name/of/a/folder/r; git init -q %s z\n"
                "for r in long/name/of/a/folder/r z; do (cd $r; echo x >f; git add f\n"
                "  git -c user.name=J -c user.email=j@e.org commit -qm x); done\n"
                "mkdir long/name/of/b; for i in 1 2 3 4 5 6 7 8 9; do echo $i >long/name/of/b/f$i; echo $i >g$i$i; done\n"
                "git add .; git add -N -f g11; [ -z \"$VERSION\" ] || git update-index --index-version $VERSION\n";
        _cleanup_free_ char *text = NULL;
        char *command = NULL;
        unsigned char *bytes = calloc(1, 1 << 16);
        FILE *f;

        assert_non_null(bytes);
        assert_true(asprintf(&command, script, top, options, options, options) > 0);
        assert_int_equal(system(command), 0);
        free(command);
        assert_true(asprintf(&text, "%s/p/.git/index", top) > 0);
        f = fopen(text, "re");
        assert_non_null(f);
        *ret_n = fread(bytes, 1, 1 << 16, f);
        (void)fclose(f);
        return bytes;
}

TEST(repositories_in_an_index_are_found_and_damage_is_refused) {
        static const struct {
                const char *version, *options;
        } cases[] = {{"", ""}, {"4", ""}, {"", "--object-format=sha256"}, {"4", "--object-format=sha256"}};

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                char *top = scratch_make();
                _cleanup_strv_ char **paths = NULL;
                _cleanup_free_ unsigned char *bytes = NULL;
                size_t n = 0;
                int stops = 0, n_taken = 0;

                assert_int_equal(setenv("VERSION", cases[i].version, 1), 0);
                bytes = make_index(top, cases[i].options, &n);
                assert_int_equal(gitindex_parse(bytes, n, note_path, &paths, NULL), 0);
                assert_int_equal(strv_length(paths), 2);
                assert_string_equal(paths[0], "long/name/of/a/folder/r");
                assert_string_equal(paths[1], "z");
                assert_int_equal(gitindex_parse(bytes, n, stop_at_once, &stops, NULL), 42);
                assert_int_equal(stops, 1);
                /* Cut off anywhere, at its end a block of its own: a byte too far would be seen. */
                for (size_t m = 0; m < n; m += m < 200 ? 1 : 7) {
                        unsigned char *part = malloc(m + 1);

                        assert_non_null(part);
                        memcpy(part, bytes, m);
                        if (gitindex_parse(part, m, stop_at_once, &stops, NULL) != -EBADMSG)
                                n_taken++;
                        free(part);
                }
                /* What is left of the extensions may be as long as the hash that ends an index. */
                assert_true(n_taken <= 1);
                bytes[7] = 5;
                assert_int_equal(gitindex_parse(bytes, n, stop_at_once, &stops, NULL), -EBADMSG);
                scratch_remove(top);
        }
}

/* Whatever an index and .gitmodules name, nothing outside the folder is looked at, and no link followed. */
TEST(nested_repositories_are_below_the_folder) {
        char *top = scratch_make();
        _cleanup_strv_ char **found = NULL;
        int fd = scratch_open(top);

        scratch_folder(top, "a/.git");
        scratch_file(top, "b/.git", "gitdir: x");
        scratch_folder(top, "c/d/.git");
        scratch_folder(top, "unknown/d/.git");
        scratch_link(top, "link", "a");
        scratch_file(
                top, ".gitmodules",
                "[submodule \"1\"]\npath = c/d\n[submodule \"2\"]\npath = ../x\n[submodule \"3\"]\npath = /etc\n"
                "[submodule \"4\"]\npath = link\n[submodule \"5\"]\npath = a\n[submodule \"6\"]\npath\n");
        assert_int_equal(nested_find(&(struct nested_places){.folder = fd, .git_dir = fd}, &found, NULL), 0);
        assert_int_equal(strv_length(found), 3);
        assert_true(strv_contains(found, "a"));
        assert_true(strv_contains(found, "b"));
        assert_true(strv_contains(found, "c/d"));
        (void)close(fd);
        scratch_remove(top);
}

/* Version 4 has of each name what is new in it: an index that takes a few megabytes has names of gigabytes.
 */
static void write_bomb(const char *top, unsigned n) {
        _cleanup_free_ char *path = NULL;
        FILE *f;

        assert_true(asprintf(&path, "%s/index", top) > 0);
        f = fopen(path, "we");
        assert_non_null(f);
        (void)fwrite("DIRC\0\0\0\4", 1, 8, f);
        for (int shift = 24; shift >= 0; shift -= 8)
                (void)fputc((int)(n >> shift & 0xff), f);
        for (unsigned i = 0; i < n; i++) {
                unsigned char entry[62] = {[24] = 0, [26] = 0x81, [27] = 0xa4, [60] = 0x0f, [61] = 0xa1};

                (void)fwrite(entry, 1, sizeof(entry), f);
                (void)fputc(i > 0, f);
                for (unsigned k = 0; i == 0 && k < 2000; k++)
                        (void)fputs("d/", f);
                (void)fputs("x", f);
                (void)fputc('\0', f);
        }
        for (unsigned i = 0; i < 20; i++)
                (void)fputc(0, f);
        assert_int_equal(fclose(f), 0);
}

TEST(what_an_index_comes_to_is_limited) {
        char *top = scratch_make();
        int fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct tracked t = {0};

        assert_true(fd >= 0);
        write_bomb(top, 1000);
        assert_int_equal(tracked_read(&t, fd), 0);
        assert_int_equal(t.n, 1000);
        tracked_clear(&t);
        write_bomb(top, 100000);
        assert_int_equal(tracked_read(&t, fd), -EFBIG);
        assert_true(t.n > 10000);
        tracked_clear(&t);
        (void)close(fd);
        scratch_remove(top);
}

static int count_links(void *data, const char *path, bool is_repository) {
        *(unsigned *)data += is_repository && strcmp(path, "deep/x") == 0;
        return 0;
}

/* Of version 4: two entries, the second of which keeps so many bytes of the first one's name. */
static int parse_two(const char *first, size_t kept, const char *rest, unsigned *links) {
        const char *const names[] = {first, rest};
        unsigned char text[8192] = "DIRC\0\0\0\4\0\0\0\2";
        size_t at = 12;

        *links = 0;
        for (unsigned i = 0; i < 2; i++) {
                size_t cut = i > 0 ? strlen(first) - kept : 0, n = strlen(names[i]), length = n + i * kept;

                text[at + 26] = 0xe0;
                text[at + 60] = (unsigned char)((length < 0xfff ? length : 0xfff) >> 8);
                text[at + 61] = (unsigned char)(length < 0xfff ? length : 0xfff);
                at += 62;
                if (cut > 0x7f)
                        text[at++] = (unsigned char)(0x80 | ((cut >> 7) - 1));
                text[at++] = (unsigned char)(cut & 0x7f);
                memcpy(text + at, names[i], n + 1);
                at += n + 1;
        }
        return gitindex_parse(text, at + 20, count_links, links, NULL);
}

/* Whatever it shares with a name before it that leads nowhere. */
TEST(a_name_is_right_in_all_its_parts) {
        static const struct {
                const char *first, *rest;
                size_t kept;
                int result;
        } cases[] = {
                {"a", "deep/x", 0, 0},           {"deep/a", "x", 5, 0},
                {"deep/x1", "", 6, 0},           {"deep", "//x", 4, -EBADMSG},
                {"deep/a", "/x", 5, -EBADMSG},   {"deep/x/a", "", 7, -EBADMSG},
                {"deep/a", "./x", 5, -EBADMSG},  {"deep/.a", "/x", 6, -EBADMSG},
                {"deep/.a", "./x", 6, -EBADMSG}, {"deep//x/", "", 7, -EBADMSG},
                {"deep//x", "x", 6, -EBADMSG},
        };
        char first[6000];
        unsigned n;

        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                assert_int_equal(parse_two(cases[i].first, cases[i].kept, cases[i].rest, &n),
                                 cases[i].result);
                assert_int_equal(n, cases[i].result == 0);
        }
        (void)memset(first, 'y', sizeof(first));
        first[sizeof(first) - 1] = '\0';
        memcpy(first, "deep//x", strlen("deep//x"));
        assert_int_equal(parse_two(first, strlen("deep//x"), "", &n), -EBADMSG);
        memcpy(first, "deep/x/", strlen("deep/x/"));
        assert_int_equal(parse_two(first, strlen("deep/x"), "", &n), 0);
        assert_int_equal(n, 1);
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cache of compiled policy files: a second run loads what the first has kept; what is
 * not whole, not sealed or not ours alone is never loaded; no command can reach it. */
#include "seccomp.h"

#include <dirent.h>

/* The cached entries' only one, or the one that isn't `but`, for the caller to free. */
static char *entry_path(const struct site *s, const char *but) {
        _cleanup_free_ char *folder = path_of(s->cache, "nsrun/seccomp");
        DIR *list = opendir(folder);
        char *found = NULL;

        assert_non_null(list);
        for (struct dirent *e; (e = readdir(list));) {
                char *path;

                if (e->d_name[0] == '.')
                        continue;
                path = path_of(folder, e->d_name);
                if (but && streq(path, but)) {
                        free(path);
                        continue;
                }
                if (found)
                        fail_msg("%s and %s", found, path);
                found = path;
        }
        (void)closedir(list);
        return found;
}

static size_t count_entries(const struct site *s) {
        _cleanup_free_ char *folder = path_of(s->cache, "nsrun/seccomp");
        DIR *list = opendir(folder);
        size_t n = 0;

        if (!list)
                return 0;
        while (readdir(list))
                n++;
        (void)closedir(list);
        return n - 2;
}

/* getppid fails with `error`: in the file, and so in the run. */
static void run_with(const struct site *s, const char *file, int error) {
        _cleanup_free_ char
                *rule = text_of(
                        "{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": [{\"names\": [\"getppid\"], "
                        "\"action\": \"SCMP_ACT_ERRNO\", \"errnoRet\": %d}]}",
                        error),
                *option = text_of("--seccomp=%s/%s", s->outside, file), *number = text_of("%d", SYS_getppid),
                *expected = text_of("-%d\n", error);
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->outside, file, rule);
        RAW(s, &o, option, number);
        expect_status(&o, error);
        expect_out(&o, expected);
        assert_string_equal(o.err, "");
}

static unsigned mode_of(const char *path) {
        struct stat st;

        assert_int_equal(lstat(path, &st), 0);
        return st.st_mode;
}

static void a_second_run_loads_what_the_first_has_kept(void **state) {
        const struct site *s = *state;
        _cleanup_free_ char *base = path_of(s->cache, "nsrun"), *folder = path_of(base, "seccomp"),
                            *log = path_of(s->root, "log"), *option = text_of("--seccomp=%s/a", s->outside);
        /* A leak sanitizer can't work under strace. */
        const char *const argv[] = {"strace",   "-E",   "ASAN_OPTIONS=detect_leaks=0",
                                    "-f",       "-y",   "-o",
                                    log,        "-e",   "trace=openat,read,rename,renameat,write",
                                    program(),  "run",  "--project",
                                    s->project, option, "--",
                                    "true",     NULL};
        _cleanup_free_ char *entry = NULL, *first = NULL, *second = NULL, *trace = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        copy_helper(s, "raw");
        run_with(s, "a", 7);
        entry = entry_path(s, NULL);
        assert_int_equal(mode_of(base), S_IFDIR | 0700);
        assert_int_equal(mode_of(folder), S_IFDIR | 0700);
        assert_int_equal(mode_of(entry), S_IFREG | 0600);
        first = snapshot(folder);
        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        expect_status(&o, 0);
        trace = file_text(log);
        expect_in(trace, entry);
        expect_not_in(trace, "rename");
        run_with(s, "a", 7);
        second = snapshot(folder);
        assert_string_equal(first, second);
        /* Another text, another entry; the same text in another file, the same. */
        run_with(s, "a", 8);
        assert_int_equal(count_entries(s), 2);
        run_with(s, "b", 8);
        assert_int_equal(count_entries(s), 2);
        /* What is nsrun's own is no file's. */
        RUN(s, &o, "--seccomp=strict", "--", "true");
        expect_status(&o, 0);
        assert_int_equal(count_entries(s), 2);
}

/* ---------------------------------------------------------------- poisoned */

struct poison {
        const struct site *site;
        char *folder;
        char *entry;      /* of the policy that makes getppid fail */
        char *good, *bad; /* its bytes, and those of one that lets it through */
        char *forged;     /* sealed for the first, and lets it through */
        size_t n_good, n_bad;
};

/* struct header: magic[8], n, flags, key[32], seal[32], then the instructions. */
enum {
        AT_KEY = 16,
        AT_SEAL = 48,
        AT_CODE = 80
};

static char *read_bytes(const char *path, size_t *ret) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
        struct stat st;
        char *bytes;

        assert_true(fd >= 0);
        assert_int_equal(fstat(fd, &st), 0);
        bytes = malloc((size_t)st.st_size);
        assert_non_null(bytes);
        assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
        *ret = (size_t)st.st_size;
        return bytes;
}

/* A new file, whatever stood there. */
static void put_bytes(const char *path, const char *bytes, size_t n) {
        int fd;

        (void)unlink(path);
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, bytes, n), n);
        (void)close(fd);
}

/* What somebody makes who knows the format and can write the file: a seal needs no secret. */
static void forge(struct poison *p) {
        static const char script[] = "{ head -c 48 forged; tail -c +81 forged; } | sha256sum";
        _cleanup_free_ char *path = path_of(p->site->root, "forged");
        const char *const argv[] = {"sh", "-c", script, NULL};
        _cleanup_outcome_ struct outcome o = {0};

        p->forged = malloc(p->n_bad);
        assert_non_null(p->forged);
        memcpy(p->forged, p->bad, p->n_bad);
        memcpy(p->forged + AT_KEY, p->good + AT_KEY, AT_SEAL - AT_KEY);
        put_bytes(path, p->forged, p->n_bad);
        run(&(struct request){.argv = argv, .cwd = p->site->root}, &o);
        expect_status(&o, 0);
        for (size_t i = 0; i < AT_CODE - AT_SEAL; i++) {
                unsigned byte = 0;

                assert_int_equal(sscanf(o.out + 2 * i, "%2x", &byte), 1);
                p->forged[AT_SEAL + i] = (char)byte;
        }
        assert_int_equal(unlink(path), 0);
}

static void poison_setup(struct poison *p, const struct site *s) {
        _cleanup_free_ char *allowing = NULL;
        _cleanup_free_ char *option = text_of("--seccomp=%s/allowing", s->outside);
        _cleanup_outcome_ struct outcome o = {0};

        *p = (struct poison){.site = s, .folder = path_of(s->cache, "nsrun/seccomp")};
        copy_helper(s, "raw");
        run_with(s, "own", 7);
        p->entry = entry_path(s, NULL);
        make_file(s->outside, "allowing", "{\"defaultAction\": \"SCMP_ACT_ALLOW\"}");
        RUN(s, &o, option, "--", "true");
        expect_status(&o, 0);
        allowing = entry_path(s, p->entry);
        p->good = read_bytes(p->entry, &p->n_good);
        p->bad = read_bytes(allowing, &p->n_bad);
        assert_true(p->n_bad > AT_CODE);
        forge(p);
}

static void poison_clear(struct poison *p) {
        free(p->folder);
        free(p->entry);
        free(p->good);
        free(p->bad);
        free(p->forged);
}
#define _cleanup_poison_ _cleanup_(poison_clear)

/* The run is the policy's own, and what stood there is replaced by what is right. */
static void expect_mended(const struct poison *p) {
        _cleanup_free_ char *now = NULL;
        size_t n = 0;

        run_with(p->site, "own", 7);
        assert_int_equal(mode_of(p->entry), S_IFREG | 0600);
        now = read_bytes(p->entry, &n);
        assert_int_equal(n, p->n_good);
        assert_memory_equal(now, p->good, n);
}

static void an_entry_that_is_not_whole_is_never_loaded(void **state) {
        _cleanup_poison_ struct poison p;

        poison_setup(&p, *state);
        for (size_t n = 0; n < p.n_good; n += n < 90 ? 1 : 7) {
                put_bytes(p.entry, p.good, n);
                expect_mended(&p);
        }
        for (size_t bit = 0; bit < 8 * p.n_good; bit += 5) {
                p.good[bit / 8] ^= (char)(1 << bit % 8);
                put_bytes(p.entry, p.good, p.n_good);
                p.good[bit / 8] ^= (char)(1 << bit % 8);
                expect_mended(&p);
        }
}

static void another_policys_entry_is_never_loaded(void **state) {
        _cleanup_poison_ struct poison p;
        /* struct header: magic[8], n, flags, key[32], seal[32], then the instructions. */
        enum {
                KEY = 16,
                SEAL = 48,
                CODE = 80
        };

        poison_setup(&p, *state);
        /* Under this name; with this key; with this key and seal; with its key and this seal. */
        for (int step = 0; step < 4; step++) {
                _cleanup_free_ char *bytes = malloc(p.n_bad);

                assert_non_null(bytes);
                memcpy(bytes, p.bad, p.n_bad);
                if (step == 1 || step == 2)
                        memcpy(bytes + AT_KEY, p.good + AT_KEY, 32);
                if (step == 2 || step == 3)
                        memcpy(bytes + AT_SEAL, p.good + AT_SEAL, 32);
                put_bytes(p.entry, bytes, p.n_bad);
                expect_mended(&p);
        }
}

/* The control: a forged entry is believed where nothing but nsrun's user could have made it. */
static void expect_fooled(const struct poison *p) {
        _cleanup_free_ char *option = text_of("--seccomp=%s/own", p->site->outside),
                            *number = text_of("%d", SYS_getppid);
        _cleanup_outcome_ struct outcome o = {0};

        RAW(p->site, &o, option, number);
        expect_out(&o, "1\n");
        expect_status(&o, 0);
}

static void what_others_may_have_written_is_never_loaded(void **state) {
        _cleanup_poison_ struct poison p;
        _cleanup_free_ char *other = NULL;

        /* Whole and sealed each time: who may write it is all that is wrong. */
        poison_setup(&p, *state);
        other = path_of(p.site->root, "other");
        for (int step = 0; step < 5; step++) {
                put_bytes(p.entry, p.forged, p.n_bad);
                expect_fooled(&p);
                if (step == 0)
                        assert_int_equal(chmod(p.entry, 0660), 0);
                if (step == 1)
                        assert_int_equal(chmod(p.entry, 0602), 0);
                if (step == 2)
                        assert_int_equal(link(p.entry, other), 0);
                if (step == 3) {
                        assert_int_equal(rename(p.entry, other), 0);
                        assert_int_equal(symlink(other, p.entry), 0);
                }
                if (step == 4 && geteuid() == 0)
                        assert_int_equal(chown(p.entry, 12345, 0), 0);
                else if (step == 4)
                        break;
                expect_mended(&p);
                (void)unlink(other);
        }
        assert_int_equal(unlink(p.entry), 0);
        assert_int_equal(mkfifo(p.entry, 0600), 0);
        expect_mended(&p);
}

static void a_folder_that_is_not_private_is_not_used(void **state) {
        _cleanup_poison_ struct poison p;
        _cleanup_free_ char *before = NULL, *moved = NULL;

        poison_setup(&p, *state);
        moved = path_of(p.site->root, "moved");
        put_bytes(p.entry, p.forged, p.n_bad);
        expect_fooled(&p);
        assert_int_equal(chmod(p.folder, 0770), 0);
        before = snapshot(p.folder);
        run_with(p.site, "own", 7);
        expect_unchanged(p.folder, TAKE_PTR(before));
        assert_int_equal(chmod(p.folder, 0700), 0);
        assert_int_equal(rename(p.folder, moved), 0);
        assert_int_equal(symlink(moved, p.folder), 0);
        before = snapshot(moved);
        run_with(p.site, "own", 7);
        expect_unchanged(moved, TAKE_PTR(before));
        assert_int_equal(unlink(p.folder), 0);
        assert_int_equal(rename(moved, p.folder), 0);
        expect_fooled(&p);
        if (geteuid() != 0)
                return;
        assert_int_equal(chown(p.folder, 12345, 0), 0);
        run_with(p.site, "own", 7);
        assert_int_equal(chown(p.folder, 0, 0), 0);
        expect_fooled(&p);
}

static void without_a_cache_folder_the_run_goes_on(void **state) {
        const struct site *s = *state;
        _cleanup_free_ char *file = path_of(s->root, "file"), *none = path_of(s->root, "none/deeper");

        copy_helper(s, "raw");
        make_file(s->root, "file", "");
        assert_int_equal(setenv("XDG_CACHE_HOME", file, 1), 0);
        run_with(s, "own", 7);
        assert_int_equal(setenv("XDG_CACHE_HOME", none, 1), 0);
        run_with(s, "own", 7);
        assert_int_equal(unsetenv("XDG_CACHE_HOME"), 0);
        assert_int_equal(unsetenv("HOME"), 0);
        run_with(s, "own", 7);
        assert_int_equal(setenv("HOME", s->home, 1), 0);
        assert_int_equal(setenv("XDG_CACHE_HOME", s->cache, 1), 0);
        assert_int_equal(count_entries(s), 0);
        assert_int_equal(chmod(s->cache, 0500), 0);
        run_with(s, "own", 7);
        assert_int_equal(chmod(s->cache, 0700), 0);
        run_with(s, "own", 7);
        assert_int_equal(count_entries(s), 1);
}

static void the_oldest_entries_make_room(void **state) {
        _cleanup_poison_ struct poison p;

        poison_setup(&p, *state);
        for (int i = 0; i < 70; i++) {
                _cleanup_free_ char *name = text_of("%064d", i), *path = path_of(p.folder, name);
                const struct timespec times[2] = {{.tv_sec = 1000 + i}, {.tv_sec = 1000 + i}};

                put_bytes(path, "x", 1);
                assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
        }
        assert_int_equal(count_entries(p.site), 72);
        run_with(p.site, "new", 9);
        assert_int_equal(count_entries(p.site), 64);
        /* The newest are still there: nothing is written anew. */
        for (int i = 0; i < 2; i++) {
                char *before = snapshot(p.folder);

                run_with(p.site, i == 0 ? "own" : "new", i == 0 ? 7 : 9);
                expect_unchanged(p.folder, before);
        }
}

/* ------------------------------------------------------------ and a command */

#define WOULD_WRITE                                                                                          \
        "nsrun: %s would let a command write the seccomp filters that nsrun keeps for later runs: %s; they " \
        "are in %s: name other folders, or set XDG_CACHE_HOME to one that no command may write"

static void no_rule_lets_a_command_write_the_cache(void **state) {
        const struct site *s = *state;
        _cleanup_free_ char *base = path_of(s->cache, "nsrun"), *folder = path_of(base, "seccomp"),
                            *inside = path_of(s->cache, "other"), *tmp = text_of("--tmp=%s", s->cache),
                            *elsewhere = text_of("%s:/elsewhere", s->cache), *entry = NULL;
        _cleanup_free_ char *tmp_line = text_of(WOULD_WRITE, "--tmp", s->cache, folder),
                            *bind_line = text_of(WOULD_WRITE, "--bind", s->cache, folder);
        _cleanup_outcome_ struct outcome o = {0};

        /* Records of sessions are in the cache folder then, which every rule hides. */
        assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
        copy_helper(s, "raw");
        make_folder(s->cache, "other");
        /* Whether it could be made, or is there. */
        for (int i = 0; i < 2; i++) {
                const char *const sources[] = {s->root, folder, base, entry};

                for (size_t j = 0; j < (i == 0 ? 1 : ARRAY_SIZE(sources)); j++) {
                        _cleanup_free_ char *line = text_of(WOULD_WRITE, "--rw", sources[j], folder);

                        RUN(s, &o, "--no-project", "--rw", sources[j], "--", "true");
                        expect_refusal(&o, 125, line);
                        RUN(s, &o, "--no-project", "--ro", sources[j], "--", "true");
                        expect_status(&o, 0);
                }
                RUN(s, &o, tmp, "--", "true");
                expect_refusal(&o, 125, tmp_line);
                RUN(s, &o, "--bind", elsewhere, "--", "true");
                expect_refusal(&o, 125, bind_line);
                RUN(s, &o, "--rw", inside, "--", "true");
                expect_status(&o, 0);
                run_with(s, "own", 7);
                if (!entry)
                        entry = entry_path(s, NULL);
        }
}

/* The one way to have the folder above writable: nsrun's own is under a mount. */
static void beside_the_cache_a_command_may_write(void **state) {
        static const char attack[] = "cd \"$1\"; echo x >beside; mv nsrun away; rm -rf nsrun; mkdir -p "
                                     "nsrun/seccomp; ln -sfn beside nsrun; ls nsrun; echo done";
        const struct site *s = *state;
        _cleanup_free_ char *base = path_of(s->cache, "nsrun"), *beside = path_of(s->cache, "beside"),
                            *line = text_of("nsrun: --rw would let a command write the seccomp filters that "
                                            "nsrun keeps for later runs: %s; make the folder first, and no "
                                            "command will see it: mkdir -m 700 %s",
                                            s->cache, base);
        _cleanup_outcome_ struct outcome o = {0};
        char *before;

        copy_helper(s, "raw");
        RUN(s, &o, "--rw", s->cache, "--", "true");
        expect_refusal(&o, 125, line);
        make_link(s->cache, "nsrun", s->outside);
        RUN(s, &o, "--rw", s->cache, "--", "true");
        expect_status(&o, 125);
        assert_int_equal(unlink(base), 0);
        run_with(s, "own", 7);
        before = snapshot(base);
        RUN(s, &o, "--rw", s->cache, "--", "sh", "-c", attack, "sh", s->cache);
        expect_status(&o, 0);
        expect_out(&o, "done\n");
        expect_unchanged(base, before);
        assert_int_equal(access(beside, F_OK), 0);
        run_with(s, "own", 7);
        run_inside(s, &o, "ls \"$XDG_CACHE_HOME\" ~/.cache");
        expect_status(&o, 2);
        expect_out(&o, "");
}

static void a_project_that_holds_the_cache_is_refused(void **state) {
        const struct site *s = *state;
        _cleanup_free_ char *cache = path_of(s->project, ".cache"),
                            *folder = path_of(cache, "nsrun/seccomp"),
                            *line = text_of(WOULD_WRITE, "--project", s->project, folder);
        _cleanup_outcome_ struct outcome o = {0};

        assert_int_equal(setenv("XDG_CACHE_HOME", cache, 1), 0);
        RUN(s, &o, "--", "true");
        expect_refusal(&o, 125, line);
        assert_int_equal(setenv("XDG_CACHE_HOME", s->cache, 1), 0);
        RUN(s, &o, "--", "true");
        expect_status(&o, 0);
}

/* It could put a folder in the link's place, and an entry of its own there. */
static void a_cache_behind_a_link_that_a_command_can_replace_is_refused(void **state) {
        const struct site *s = *state;
        _cleanup_free_ char *link = path_of(s->project, "link"), *below = path_of(link, "a/b"),
                            *outer = path_of(s->root, "outer"),
                            *line = text_of("nsrun: the cache folder goes through a symlink in a writable "
                                            "folder: %s; it leads to %s, and a command in the sandbox may "
                                            "have planted it: name the real path",
                                            link, s->cache),
                            *line_below =
                                    text_of("nsrun: the cache folder goes through a symlink in a "
                                            "writable folder: %s; it leads to %s/a/b, and a command in "
                                            "the sandbox may have planted it: name the real path",
                                            link, s->cache);
        _cleanup_outcome_ struct outcome o = {0};

        make_link(s->project, "link", s->cache);
        make_link(s->root, "outer", s->cache);
        assert_int_equal(setenv("XDG_CACHE_HOME", link, 1), 0);
        RUN(s, &o, "--", "true");
        expect_refusal(&o, 125, line);
        assert_int_equal(setenv("XDG_CACHE_HOME", below, 1), 0);
        RUN(s, &o, "--", "true");
        expect_refusal(&o, 125, line_below);
        /* A link where no command writes is the user's. */
        assert_int_equal(setenv("XDG_CACHE_HOME", outer, 1), 0);
        RUN(s, &o, "--", "true");
        expect_status(&o, 0);
        assert_int_equal(setenv("XDG_CACHE_HOME", s->cache, 1), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, site_setup, site_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_second_run_loads_what_the_first_has_kept),
                TEST(an_entry_that_is_not_whole_is_never_loaded),
                TEST(another_policys_entry_is_never_loaded),
                TEST(what_others_may_have_written_is_never_loaded),
                TEST(a_folder_that_is_not_private_is_not_used),
                TEST(without_a_cache_folder_the_run_goes_on),
                TEST(the_oldest_entries_make_room),
                TEST(no_rule_lets_a_command_write_the_cache),
                TEST(beside_the_cache_a_command_may_write),
                TEST(a_project_that_holds_the_cache_is_refused),
                TEST(a_cache_behind_a_link_that_a_command_can_replace_is_refused),
        };

        return cmocka_run_group_tests_name("seccomp-cache", tests, NULL, NULL);
}

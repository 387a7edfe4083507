/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A commit takes what a diff has shown, or nothing: --digest and --expect; and a command that swaps all it
 * can reach between the two, and meanwhile.  NSRUN_TEST_ROUNDS and NSRUN_TEST_SEED choose the rounds of
 * that. */
#include <fcntl.h>
#include <ftw.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "../seed.h"
#include "session.h"

#define DIFFERS                                                                                                \
        "nsrun: the session isn't in the state that this digest is of, so nothing was committed; look at the " \
        "diff again"
#define OTHER_STATE      123 /* the status */
#define SECRET           "a secret of the host\n"
#define NO_EMPTY_FOLDERS "find . ../copy -depth -mindepth 1 -type d -empty -delete"

enum {
        ROUNDS = 12,
        STEPS = 25
};

/* ------------------------------------------------------------------ inside */

struct dice {
        uint64_t state;
};

static unsigned roll(struct dice *d, unsigned n) {
        /* splitmix64 */
        uint64_t z = (d->state += UINT64_C(0x9e3779b97f4a7c15));

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return (unsigned)((z ^ (z >> 31)) % n);
}

/* A few names, so that operations meet. */
static const char *roll_path(struct dice *d, char path[16]) {
        unsigned depth = 1 + roll(d, 3);

        path[0] = '\0';
        for (unsigned i = 0; i < depth; i++) {
                const char name[] = {"abcde"[roll(d, 5)], '\0'};

                if (i > 0)
                        strcat(path, "/");
                strcat(path, name);
        }
        return path;
}

static void write_text(struct dice *d, const char *path) {
        FILE *f = fopen(path, roll(d, 3) == 0 ? "ae" : "we");

        if (!f)
                return;
        for (unsigned i = 0, n = roll(d, 4); i < n; i++)
                (void)fprintf(f, "line %u\n", roll(d, 1000));
        (void)fclose(f);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at) {
        (void)st;
        (void)type;
        (void)at;
        return remove(path) < 0 ? -1 : 0;
}

/* Links to `outside`, which the host has at that path and nobody inside. */
static void make_a_link(struct dice *d, const char *path, const char *outside) {
        _cleanup_free_ char *secret = path_of(outside, "secret");
        const char *const texts[] = {outside,         secret, "..", "../outside/secret",
                                     "../../outside", "/etc", "a",  "b/c"};

        (void)symlink(texts[roll(d, ARRAY_SIZE(texts))], path);
}

/* Moves the folder away in which the overlay is mounted, mount and all, and lies there with another. */
static void move_the_parent(const char *project) {
        _cleanup_free_ char *parent = strdup(project), *moved = NULL, *impostor = text_of("%s/a", project);

        *strrchr(parent, '/') = '\0';
        moved = text_of("%s.moved", parent);
        if (rename(parent, moved) < 0)
                return;
        (void)mkdir(parent, 0755);
        (void)mkdir(project, 0755);
        (void)mkdir(impostor, 0755);
        (void)nftw(parent, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        (void)rename(moved, parent);
}

static void step(struct dice *d, const char *outside, const char *project) {
        static const mode_t modes[] = {0755, 0700, 0750, 0711};
        char a[16], b[16], tag[2] = {0};

        (void)roll_path(d, a);
        (void)roll_path(d, b);
        tag[0] = "xyz"[roll(d, 3)];
        switch (roll(d, 13)) {
        case 0:
        case 1:
        case 2:
                write_text(d, a);
                break;
        case 3:
        case 4:
                (void)mkdir(a, modes[roll(d, 3)]);
                break;
        case 5:
                (void)rename(a, b);
                break;
        case 6:
                (void)exchange_names(AT_FDCWD, a, AT_FDCWD, b);
                break;
        case 7:
                (void)nftw(a, remove_one, 16, FTW_DEPTH | FTW_PHYS);
                break;
        case 8:
                make_a_link(d, a, outside);
                break;
        case 9:
                (void)link(a, b);
                break;
        case 10:
                (void)fchmodat(AT_FDCWD, a, modes[roll(d, 4)], 0);
                break;
        case 11:
                (void)lsetxattr(a, "user.test", tag, 1, 0);
                break;
        default:
                if (roll(d, 4) == 0)
                        move_the_parent(project);
                else
                        (void)mkfifo("f", 0600);
        }
}

static void swap(const char *seed, const char *steps, const char *outside, const char *project) {
        struct dice dice = {.state = strtoull(seed, NULL, 10)};

        (void)umask(022);
        for (unsigned long i = 0, n = strtoul(steps, NULL, 10); i < n; i++)
                step(&dice, outside, project);
        _exit(0);
}

/* -------------------------------------------------------------------- models */

static FILE *picture;

/* Fifos, which no commit takes, aren't in it; nor are times of folders. */
static int draw(const char *path, const struct stat *st, int type, struct FTW *at) {
        char link[4096] = "", tag[8] = "";
        uint64_t hash = UINT64_C(0xcbf29ce484222325);

        (void)type;
        if (S_ISFIFO(st->st_mode))
                return 0;
        (void)fprintf(picture, "%s %o", at->level == 0 ? "" : path, st->st_mode);
        (void)!readlink(path, link, sizeof(link) - 1);
        if (S_ISREG(st->st_mode) && st->st_size < 1 << 20) {
                FILE *f = fopen(path, "re");

                if (!f) {
                        (void)fprintf(stderr, "%s is not opened: %s\n", path, strerrorname_np(errno));
                        return -1;
                }
                for (int c; (c = fgetc(f)) != EOF;)
                        hash = (hash ^ (unsigned char)c) * UINT64_C(0x100000001b3);
                (void)fclose(f);
        }
        (void)lgetxattr(path, "user.test", tag, sizeof(tag) - 1);
        /* That a symlink was made again with the same text is no change: then its time isn't committed. */
        if (S_ISREG(st->st_mode))
                (void)fprintf(picture, " %jd.%09ld", (intmax_t)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
        (void)fprintf(picture, " %jx [%s] [%s]\n", (uintmax_t)hash, link, tag);
        return 0;
}

/* Prints the tree of the current folder, in the order in which the folders are. */
static int print_tree(FILE *to) {
        picture = to;
        return nftw(".", draw, 16, FTW_PHYS);
}

static int compare_lines(const void *a, const void *b) {
        return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *sorted(const char *text) {
        _cleanup_free_ char *copy = strdup(text);
        char *lines[4096], *save = NULL, *all = calloc(strlen(text) + 2, 1);
        size_t n = 0;

        assert_non_null(all);
        for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                assert_true(n < ARRAY_SIZE(lines));
                lines[n++] = line;
        }
        qsort(lines, n, sizeof(*lines), compare_lines);
        for (size_t i = 0; i < n; i++) {
                strcat(all, lines[i]);
                strcat(all, "\n");
        }
        return all;
}

static char *tree_of_host(const struct site *s) {
        _cleanup_free_ char *text = NULL;
        size_t size = 0;
        FILE *to = open_memstream(&text, &size);

        assert_non_null(to);
        assert_int_equal(chdir(s->project), 0);
        assert_int_equal(print_tree(to), 0);
        assert_int_equal(chdir("/"), 0);
        (void)fclose(to);
        return sorted(text);
}

static char *tree_of_session(const struct site *s, const char *id) {
        _cleanup_outcome_ struct outcome o = {0};

        JOIN(s, id, &o, "--", "/probe", "print");
        expect_status(&o, 0);
        return sorted(o.out);
}

/* ------------------------------------------------------------------- tests */

static char *start_probed(const struct site *s) {
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *bind = text_of("%s:/probe:ro", self);

        return START(s, "--overlay", s->project, "--bind", bind);
}

/* Takes the digest off the end of a diff's text; the caller frees it. */
static char *take_digest(const struct outcome *o) {
        char *line = strstr(o->out, "# digest: ");

        for (char *next; line && (next = strstr(line + 1, "# digest: "));)
                line = next;
        if (!line || strlen(line) != strlen("# digest: ") + 65)
                fail_msg("no digest in: %s", o->out);
        *line = '\0';
        return strndup(line + strlen("# digest: "), 64);
}

static char *digest_of(const struct site *s, const char *id, const char *path) {
        _cleanup_outcome_ struct outcome o = {0};

        SESSION(s, &o, "diff", "--digest", id, path);
        assert_string_equal(o.err, "");
        expect_status(&o, 0);
        return take_digest(&o);
}

static void outside(const struct site *s, const char *script) {
        _cleanup_outcome_ struct outcome o = {0};

        run_outside(s, &o, script);
        assert_string_equal(o.err, "");
        expect_status(&o, 0);
}

static void expect_other_state(const struct site *s, const char *id, const char *digest, const char *path) {
        _cleanup_outcome_ struct outcome o = {0};
        char *before = snapshot(s->project);

        SESSION(s, &o, "commit", "--expect", digest, id, path);
        expect_refusal(&o, OTHER_STATE, DIFFERS);
        /* The stage, which is gone, has touched the top folder. */
        outcome_clear(&o);
        free(before);
}

static const char first_state[] =
        "echo new >n; echo changed >m; mkdir o/p e; echo x >e/x; ln e/x e/y; ln -s old l; chmod 600 c; mv r t; "
        "rm g; /probe attr user.test 1 n; rm -r d; mkdir d; truncate -s 64M s; mkfifo f";

TEST(any_other_state_is_refused) {
        static const char *const others[] = {"touch -r n x; echo neW >n; touch -r x n; rm x",
                                             "chmod 755 n",
                                             "touch -d @1 n",
                                             "cp -Pp l x; ln -sfn new l; touch -h -r x l; rm x",
                                             "/probe attr user.test 2 n",
                                             "/probe attr user.more 1 o/p",
                                             "/probe attr user.more 1 o",
                                             "chmod 700 o/p",
                                             "echo >z",
                                             "rm e/x",
                                             "cp -p e/y e/z; mv e/z e/y",
                                             "rm d/../k",
                                             "rm -r e",
                                             "rm l; mkfifo l",
                                             "mv t u",
                                             "rm f; touch f",
                                             "chmod 640 c",
                                             "mv n nn; mv nn N",
                                             "echo x | dd of=s bs=1 seek=30M conv=notrunc",
                                             "mkdir d/x",
                                             "rmdir o/p"};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        char *before;

        outside(s,
                "for f in m c r g k; do echo $f >$f; done; mkdir o d; echo >d/h; touch -d @1000 m c r g k d/h");
        before = snapshot(s->project);
        for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
                _cleanup_free_ char *id = start_probed(s), *digest = NULL, *again = NULL;

                JOIN_SCRIPT(s, id, &o, first_state);
                expect_status(&o, 0);
                digest = digest_of(s, id, NULL);
                again = digest_of(s, id, NULL);
                assert_string_equal(digest, again);
                JOIN_SCRIPT(s, id, &o, others[i]);
                expect_status(&o, 0);
                SESSION(s, &o, "commit", "--expect", digest, id);
                if (o.status != OTHER_STATE || strcmp(o.err, DIFFERS "\n") != 0 || strcmp(o.out, "") != 0)
                        fail_msg("%s: %d, %s%s", others[i], o.status, o.err, o.out);
                end_session(s, id, "kill");
        }
        /* Only the top folder has been touched, by the stage. */
        {
                _cleanup_free_ char *after = snapshot(s->project);

                assert_string_equal(strchr(before, '\n'), strchr(after, '\n'));
                free(before);
        }
}

TEST(the_state_that_was_shown_is_committed) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL, *digest = NULL, *part = NULL, *there = NULL, *here = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        outside(s,
                "for f in m c r g k; do echo $f >$f; done; mkdir o d; echo >d/h; touch -d @1000 m c r g k d/h");
        id = start_probed(s);
        JOIN_SCRIPT(s, id, &o, first_state);
        expect_status(&o, 0);
        digest = digest_of(s, id, NULL);
        part = digest_of(s, id, "o");
        /* Other paths are another state, also where they come to the same. */
        expect_other_state(s, id, part, NULL);
        expect_other_state(s, id, digest, "o");
        expect_other_state(s, id, part, "k");
        /* What was made and unmade is as it was. */
        JOIN_SCRIPT(s, id, &o, "echo >z; chmod 600 n; chmod 644 n; rm z");
        SESSION(s, &o, "commit", "--expect", digest, id);
        assert_string_equal(o.err, "nsrun: note: f: fifos are left out\n");
        expect_out(&o, "committed 12 paths\n");
        expect_status(&o, 0);
        there = tree_of_session(s, id);
        here = tree_of_host(s);
        assert_string_equal(there, here);
        expect_other_state(s, id, digest, NULL);
        end_session(s, id, "kill");
}

TEST(every_form_of_a_diff_ends_with_the_digest) {
        const struct site *s = *state;
        _cleanup_free_ char *id = start_probed(s), *digest = NULL, *key = NULL;
        static const char *const forms[] = {"--patch", "--stat"};
        _cleanup_outcome_ struct outcome o = {0};

        expect_good_join(s, id, "echo a >a; echo b >b", "");
        digest = digest_of(s, id, NULL);
        for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
                _cleanup_free_ char *same = NULL;

                SESSION(s, &o, "diff", forms[i], "--digest", id);
                expect_status(&o, 0);
                same = take_digest(&o);
                assert_string_equal(same, digest);
        }
        key = text_of("],\"digest\":\"%s\"}\n", digest);
        SESSION(s, &o, "diff", "--json", "--digest", id);
        expect_status(&o, 0);
        expect_in(o.out, key);
        SESSION(s, &o, "diff", "--json", id);
        expect_not_in(o.out, "digest");
        {
                _cleanup_free_ char *one = NULL, *other = NULL;

                SESSION(s, &o, "diff", "--digest", id, "b", "a", "b");
                one = take_digest(&o);
                SESSION(s, &o, "diff", "--digest", id, "a", "b");
                other = take_digest(&o);
                assert_string_equal(one, other);
        }
        SESSION(s, &o, "commit", "--expect", "0123", id);
        expect_refusal(
                &o, 125,
                "nsrun: that is no digest of changes: 0123: Invalid argument; nsrun session diff --digest "
                "prints one");
        SESSION(s, &o, "commit", "--digest", id);
        expect_refusal(&o, 125, "nsrun: --digest is for diff alone: commit; see 'nsrun session --help'");
        SESSION(s, &o, "diff", "--expect", digest, id);
        expect_refusal(&o, 125, "nsrun: --expect is for commit alone: diff; see 'nsrun session --help'");
        end_session(s, id, "kill");
}

/* Another state in one overlay keeps both from being committed. */
TEST(a_digest_is_of_all_overlays_together) {
        const struct site *s = *state;
        _cleanup_free_ char *other = path_of(s->root, "other"), *digest = NULL, *id = NULL,
                            *script = text_of("echo x >%s/x; echo y >y", other),
                            *swap_there = text_of("echo z >%s/x", other),
                            *there = text_of("[ ! -e y ] && [ ! -e %s/x ]", other),
                            *both = text_of("[ -e y ] && [ -e %s/x ]", other);
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->root, "other");
        id = START(s, "--overlay", s->project, "--overlay", other);
        expect_good_join(s, id, script, "");
        digest = digest_of(s, id, NULL);
        expect_good_join(s, id, swap_there, "");
        expect_other_state(s, id, digest, NULL);
        outside(s, there);
        expect_good_join(s, id, script, "");
        free(digest);
        digest = digest_of(s, id, NULL);
        SESSION(s, &o, "commit", "--expect", digest, id);
        expect_out(&o, "committed 2 paths\n");
        expect_status(&o, 0);
        outside(s, both);
        end_session(s, id, "kill");
}

/* A name that wasn't there when the session looked, made on the host since: overlayfs lists it and doesn't
 * find it. */
TEST(after_a_commit_the_session_finds_what_is_on_the_host) {
        const struct site *s = *state;
        _cleanup_free_ char *id = start_probed(s);
        _cleanup_outcome_ struct outcome o = {0}, c = {0}, after = {0};

        JOIN(s, id, &o, "--", "/bin/sh", "-c", "cat new other 2>/dev/null; echo text >changed");
        expect_status(&o, 0);
        make_file(s->project, "new", "of the host\n");
        SESSION(s, &c, "commit", id);
        expect_out(&c, "committed 1 path\n");
        JOIN(s, id, &after, "--", "/bin/sh", "-c", "cat new; cat other 2>&1");
        expect_out(&after, "of the host\ncat: other: No such file or directory\n");
        end_session(s, id, "kill");
}

/* ------------------------------------------------------------------- attack */

struct round {
        const struct site *s;
        const char *id;
        struct dice dice;
        unsigned n_committed, n_refused;
};

static void start_swapping(struct round *r, struct running *running) {
        _cleanup_free_ char *seed = text_of("%u", roll(&r->dice, UINT32_MAX)),
                            *steps = text_of("%u", roll(&r->dice, 3) == 0 ? 1 : STEPS);

        SPAWN_JOINED(r->s, r->id, running, "--", "/probe", "swap", seed, steps, r->s->outside,
                     r->s->project);
}

static void swap_all(struct round *r) {
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;

        start_swapping(r, &running);
        finish(&running, &o);
        expect_status(&o, 0);
}

/* Nothing was written through a link, and nothing read through one. */
static void expect_inside(const struct round *r, char *before) {
        _cleanup_outcome_ struct outcome o = {0};

        expect_unchanged(r->s->outside, before);
        run_outside(r->s, &o,
                    "find . -type f -exec grep -l 'secret of the host' {} +; ls -A | grep nsrun; :");
        expect_out(&o, "");
}

/* The command swaps between the diff and the commit, or it doesn't: the model says whether anything differs.
 */
static void swap_between(struct round *r, bool swaps) {
        _cleanup_free_ char *digest = digest_of(r->s, r->id, NULL), *shown = tree_of_session(r->s, r->id),
                            *host = tree_of_host(r->s), *now = NULL, *after = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        if (swaps)
                swap_all(r);
        now = tree_of_session(r->s, r->id);
        SESSION(r->s, &o, "commit", "--expect", digest, r->id);
        after = tree_of_host(r->s);
        if (!streq(shown, now) || o.status != 0) {
                /* Fifos and hard links aren't in the model. */
                assert_true(swaps);
                expect_refusal(&o, OTHER_STATE, DIFFERS);
                assert_string_equal(after, host);
                r->n_refused++;
        } else {
                assert_string_equal(after, shown);
                r->n_committed++;
        }
}

/* The command swaps while nsrun looks and commits: what is on the host then is what the patch makes of what
 * was there. */
static void swap_meanwhile(struct round *r) {
        _cleanup_outcome_ struct outcome o = {0}, diff = {0}, swapper = {0}, check = {0};
        _cleanup_free_ char *digest = NULL, *patch = path_of(r->s->root, "patch"), *script = NULL;
        struct running running;

        run_outside(r->s, &o, "rm -rf ../model ../model.new; cp -a . ../model");
        expect_status(&o, 0);
        start_swapping(r, &running);
        SESSION(r->s, &diff, "diff", "--patch", "--digest", r->id);
        if (diff.status == 0) {
                digest = take_digest(&diff);
                make_file(r->s->root, "patch", diff.out);
                SESSION(r->s, &o, "commit", "--expect", digest, r->id);
        }
        finish(&running, &swapper);
        if (diff.status != 0 || o.status == OTHER_STATE) {
                run_outside(r->s, &check, "diff -r --no-dereference . ../model");
                r->n_refused++;
        } else {
                expect_status(&o, 0);
                /* Folders and modes are the other rounds' model; empty folders aren't in a patch; and git
                 * applies none that makes a folder of a symlink to itself. */
                script = text_of(
                        "rm -rf ../copy; cp -a . ../copy; : >../err; cd ../model && " NO_EMPTY_FOLDERS "; "
                        "! grep -q '^diff --git' %s || GIT_DIR=/nonexistent git apply --whitespace=nowarn %s 2>../err; "
                        "! grep -q 'Too many levels of symbolic links' ../err || exit 0; cat ../err >&2; " NO_EMPTY_FOLDERS
                        "; diff -r --no-dereference . ../copy",
                        patch, patch);
                run_outside(r->s, &check, script);
                r->n_committed++;
        }
        if (*check.out || *check.err)
                fail_msg("%s%s; the commit: %d, %s; shown: %s", check.out, check.err, o.status,
                         o.err ? o.err : "", diff.out);
        (void)unlink(patch);
}

/* Without --expect it commits what is there at that moment, and nothing else. */
static void swap_unexpected(struct round *r) {
        _cleanup_outcome_ struct outcome o = {0}, swapper = {0};
        struct running running;

        start_swapping(r, &running);
        SESSION(r->s, &o, "commit", r->id);
        finish(&running, &swapper);
        if (o.status != 0 && o.status != 125)
                expect_status(&o, 125);
}

static unsigned long number_of(const char *variable, unsigned long otherwise) {
        const char *value = getenv(variable);

        return value ? strtoul(value, NULL, 10) : otherwise;
}

TEST(a_command_that_swaps_everything_gets_nothing_committed_that_was_not_shown) {
        const struct site *s = *state;
        const unsigned long n = number_of("NSRUN_TEST_ROUNDS", ROUNDS);
        _cleanup_free_ char *id = start_probed(s);
        struct round r = {.s = s, .id = id};

        if (!has_program("git"))
                skip_because("skipped: git is not installed");
        r.dice.state = test_seed();
        make_file(s->outside, "secret", SECRET);
        for (unsigned long i = 0; i < n; i++) {
                char *before = snapshot(s->outside);

                if (roll(&r.dice, 2) == 0)
                        swap_all(&r);
                switch (roll(&r.dice, 5)) {
                case 0:
                        swap_between(&r, false);
                        break;
                case 1:
                        swap_between(&r, true);
                        break;
                case 2:
                        swap_unexpected(&r);
                        break;
                default:
                        swap_meanwhile(&r);
                }
                expect_inside(&r, before);
        }
        print_message("%lu rounds: %u committed as shown, %u refused\n", n, r.n_committed, r.n_refused);
        end_session(s, id, "kill");
}

int main(int argc, char **argv) {
        if (argc == 5 && streq(argv[1], "attr"))
                return setxattr(argv[4], argv[2], argv[3], strlen(argv[3]), 0) == 0 ? 0 : 1;
        if (argc == 6 && streq(argv[1], "swap"))
                swap(argv[2], argv[3], argv[4], argv[5]);
        if (argc == 2 && streq(argv[1], "print"))
                return print_tree(stdout) == 0 ? 0 : 1;
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Repositories deep in a project that its index names: the host's `git status` obeys what is in them, also
 * where the index is one that git reads and doesn't write, a large one, or was there before. */
#include "repository.h"

/* A repository deep/x whose configuration runs a command that leaves ../obeyed, and an index that names it.
 */
#define DEEP                                                                                                \
        "mkdir -p deep; git init -q deep/x; git -C deep/x commit -q --allow-empty -m a; h=$(git -C deep/x " \
        "rev-parse HEAD); git -C deep/x config core.fsmonitor \"touch '$PWD/../obeyed'; false\"\n"
#define NAMES \
        "name() { git update-index --add --cacheinfo \"160000,${h:-$(git hash-object -w --stdin <a)},$1\"; }\n"
#define BYTES "turn() { LC_ALL=C sed -i \"$1\" .git/index; }\n"

static const char begin[] =
        "rm -rf .git deep a obeyed ../obeyed; git init -q .; echo a >a; git add a; git commit -qm a",
                  look[] = "git status >/dev/null 2>&1; ls ../obeyed 2>/dev/null; rm -f ../obeyed";

/* What the second of two commands does, or NULL. */
static const struct {
        const char *first, *second;
        bool is_odd;
} indexes[] = {
        {DEEP NAMES "name deep/x", NULL, false},
        {DEEP NAMES BYTES "name deep/ax; turn 's|deep/ax|deep//x|'", NULL, true},
        {DEEP NAMES BYTES "name b/deep/x; turn 's|b/deep/x|./deep/x|'", NULL, true},
        {DEEP NAMES BYTES "name deep/xa; turn 's|deep/xa|deep/x/|'", NULL, true},
        {DEEP NAMES BYTES "name deep/a/x; turn 's|deep/a/x|deep/./x|'", NULL, true},
        /* Git believes the length in the flags, and takes any mode. */
        {DEEP NAMES BYTES "name deep/xyz; turn 's|\\x08deep/xyz|\\x05deep/xyz|'", NULL, true},
        {DEEP NAMES BYTES "name deep/x; turn 's|\\x00\\x00\\x81\\xa4|\\x00\\x00\\x00\\x00|'; rm a", NULL,
         true},
        {DEEP NAMES BYTES "name deep/x; turn 's|\\x00\\x00\\xe0\\x00|\\x00\\x00\\xe1\\xa4|'", NULL, true},
        /* A large one, that names it before it is there; and one that another file has the rest of. */
        {NAMES
         "name deep/x; seq -f \"100644 $(git hash-object a) 0\tf%06.0f\" 5000 | git update-index --index-info",
         DEEP, false},
        {NAMES BYTES DEEP "name deep/y; git update-index --split-index",
         "LC_ALL=C sed -i 's|deep/y|deep/x|' .git/sharedindex.*", false},
};

TEST(the_host_obeys_no_repository_that_an_odd_index_names) {
        const struct site *s = *state;
        _cleanup_free_ char *moved = text_of(
                "nsrun: note: the command left an index that git doesn't write, and which is moved aside there: "
                "%s; git reset makes it anew\n",
                s->project);
        _cleanup_outcome_ struct outcome o = {0};

        with_git(s, "true", &o);
        for (unsigned way = 0; way < 2; way++)
                for (size_t i = 0; i < ARRAY_SIZE(indexes); i++) {
                        run_outside(s, &o, begin);
                        expect_status(&o, 0);
                        for (unsigned n = 0; n < 2; n++) {
                                const char *script = n > 0 ? indexes[i].second : indexes[i].first;

                                if (!script)
                                        continue;
                                /* The control: on the host each of them is obeyed. */
                                if (way > 0)
                                        run_outside(s, &o, script);
                                else
                                        RUN(s, &o, "--", "sh", "-c", script);
                                expect_status(&o, 0);
                                if (way == 0 && indexes[i].is_odd)
                                        expect_in(o.err, moved);
                                else
                                        expect_not_in(o.err, "doesn't write");
                        }
                        run_outside(s, &o, look);
                        expect_out(&o, way > 0 ? "../obeyed\n" : "");
                }
}

/* Where git's threads and its reader of extensions begin is where they are. */
TEST(what_git_writes_is_left_and_what_leads_its_threads_elsewhere_is_not) {
        static const char threads
                [] = "git config index.threads 2; git config index.recordOffsetTable true\n"
                     "git config index.recordEndOfIndexEntries true; h=$(git hash-object -w a)\n"
                     "seq -f \"100644 $h 0\tf%06.0f\" 30000 | git update-index --index-info; grep -c IEOT .git/index\n"
                     "LC_ALL=C sed -i \"$1\" .git/index",
         many[] = "set -e; git update-index --index-version 4; git update-index --index-version 2\n"
                  "echo b >b; git add -N b; git update-index --untracked-cache --split-index\n"
                  "git update-index --no-split-index; git config core.fsmonitor false\n"
                  "mkdir d; echo c >d/c; git add d; git -c user.name=a -c user.email=a@b commit -qm d\n"
                  "git sparse-checkout set --cone --sparse-index e; git status --short\n"
                  "git init -q --object-format=sha256 o; cd o; echo a >a; git add a; git update-index "
                  "--split-index; git update-index --force-remove a; git rm -rq --cached --ignore-unmatch .";
        /* The offset of the first block; that of the end of the entries; a second table of blocks; an end
         * that is in another extension's bytes. */
        static const char *const turns[] = {
                "", "s/\\(IEOT........\\)..../\\1\\x00\\x00\\x00\\x54/",
                "s/\\(EOIE....\\)..../\\1\\x00\\x00\\x00\\x54/",
                "s/EOIE/IEOT\\x00\\x00\\x00\\x0c\\x00\\x00\\x00\\x01\\x00\\x00\\x00\\x0c\\x00\\x00\\x75\\x31&/",
                "s/EOIE/XTRA\\x00\\x00\\x00\\x20&/"};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        with_git(s, begin, &o);
        RUN(s, &o, "--", "sh", "-c", many);
        expect_status(&o, 0);
        expect_not_in(o.err, "doesn't write");
        /* Without an entry of its own: it could be taken for one with the other hash. */
        with_git(s, begin, &o);
        RUN(s, &o, "--", "sh", "-c",
            "touch -d yesterday a; git update-index --refresh; git update-index --add --cacheinfo "
            "100644,$(git hash-object a),b; git update-index --split-index");
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
        for (size_t i = 0; i < ARRAY_SIZE(turns); i++) {
                on_host(s, begin, &o);
                RUN(s, &o, "--", "sh", "-c", threads, "sh", turns[i]);
                expect_out(&o, "1\n");
                if (*turns[i])
                        expect_in(o.err, "doesn't write");
                else
                        expect_not_in(o.err, "doesn't write");
        }
}

TEST(an_index_that_is_too_large_to_look_through_is_told) {
        const struct site *s = *state;
        _cleanup_free_ char *told = text_of(
                "nsrun: note: the command left an index that is too large to look through, or can't be read or "
                "moved aside, and git may obey what is in repositories that it names: %s\n",
                s->project);
        _cleanup_outcome_ struct outcome o = {0};

        with_git(s, begin, &o);
        RUN(s, &o, "--", "truncate", "-s", "257M", ".git/index");
        assert_string_equal(o.err, told);
        RUN(s, &o, "--", "true");
        assert_string_equal(o.err, "");
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --home: a folder that HOME shows, and that stays. */
#include <sys/file.h>

#include "harness.h"

#include "session.h"
#include "talk.h"

TEST(it_lasts_and_has_mount_points_of_its_own) {
        const struct site *s = *state;
        _cleanup_free_ char *jail = path_of(s->home, "new/jail"), *project = path_of(s->home, "project"),
                            *shown = path_of(s->home, "shown"), *kept = path_of(jail, "kept"),
                            *made = path_of(project, "made");
        const struct request in_project = {
                .argv = OPTIONS(program(), "run", "--home", jail, "--ro", shown, "--", "sh", "-c",
                                "ls -A ~; cat ~/shown/file; echo x >~/kept; echo x >made; "
                                "echo x >>~/shown/file; cat ~/secret"),
                .cwd = project};
        _cleanup_outcome_ struct outcome o = {0};
        struct stat st;

        make_folder(s->home, "project");
        make_folder(s->home, ".cargo/registry");
        make_file(s->home, "shown/file", "shown\n");
        make_file(s->home, "secret", "secret\n");
        run(&in_project, &o);
        expect_status(&o, 1);
        expect_out(&o, "project\nshown\nshown\n");
        expect_in(o.err, "Read-only file system");
        /* It is the host's, and the next one has it. */
        assert_int_equal(access(kept, F_OK), 0);
        assert_int_equal(access(made, F_OK), 0);
        assert_int_equal(stat(jail, &st), 0);
        assert_int_equal(st.st_mode & 077, 0);
        outcome_clear(&o);
        run(&in_project, &o);
        expect_out(&o, "kept\nproject\nshown\nshown\n");
        /* The control: without it the home is empty but for these, and the tools' caches. */
        RUN(s, &o, "--", "ls", "-A", s->home);
        expect_out(&o, ".cargo\n");
        RUN(s, &o, "--home", jail, "--", "ls", "-A", s->home);
        expect_out(&o, "kept\nproject\nshown\n");
}

TEST(a_name_is_a_folder_of_nsruns) {
        const struct site *s = *state;
        _cleanup_free_ char *data = path_of(s->root, "data"), *kept = path_of(data, "nsrun/homes/work/kept");
        _cleanup_outcome_ struct outcome o = {0};

        assert_int_equal(setenv("XDG_DATA_HOME", data, 1), 0);
        RUN(s, &o, "--home=name:work", "--", "sh", "-c", "echo x >~/kept");
        assert_int_equal(unsetenv("XDG_DATA_HOME"), 0);
        expect_status(&o, 0);
        assert_int_equal(access(kept, F_OK), 0);
        RUN(s, &o, "--home=name:../x", "--", "true");
        expect_refusal(&o, 125, "nsrun: not a home's name (--home): ../x; choose letters and digits");
}

TEST(a_word_alone_is_no_new_folder) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--home", "lab", "--", "true");
        expect_refusal(
                &o, 125,
                "nsrun: there is no such folder (--home): lab; name:NAME is a home of nsrun's, ./NAME a "
                "new folder here");
        /* Once it is there it can be meant. */
        RUN(s, &o, "--home", "./lab", "--", "sh", "-c", "echo x >~/kept");
        expect_status(&o, 0);
        RUN(s, &o, "--home", "lab", "--", "sh", "-c", "cat ~/kept");
        expect_out(&o, "x\n");
}

TEST(a_home_that_is_locked_is_refused) {
        const struct site *s = *state;
        _cleanup_free_ char *jail = path_of(s->root, "jail"),
                            *line = text_of(
                                    "nsrun: this home is locked: %s; nsrun home renames or removes it, "
                                    "or a command that has it locked it: see nsrun home list",
                                    jail);
        _cleanup_outcome_ struct outcome o = {0};
        int fd;

        make_folder(s->root, "jail");
        fd = open(jail, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(flock(fd, LOCK_EX), 0);
        RUN(s, &o, "--home", jail, "--", "echo", "fine");
        expect_refusal(&o, 125, line);
        /* Who has it as well is no hindrance. */
        assert_int_equal(flock(fd, LOCK_SH), 0);
        RUN(s, &o, "--home", jail, "--", "echo", "fine");
        expect_out(&o, "fine\n");
        assert_int_equal(close(fd), 0);
}

/* What the user's own home has is told of as without it, keys among that. */
TEST(reasons_know_the_users_own_home) {
        const struct site *s = *state;
        _cleanup_free_ char *jail = path_of(s->root, "jail"), *beside = path_of(s->home, "beside"),
                            *exposes = text_of(
                                    "nsrun: reason: %s is on the host and isn't exposed: --ro %s exposes it",
                                    beside, beside),
                            *never = text_of("nsrun: reason: %s/.netrc is not exposed by policy", s->home);
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->home, "beside/f", "text\n");
        make_file(s->home, ".netrc", "text\n");
        RUN(s, &o, "--home", jail, "--explain", "--", "sh", "-c", "cat ~/beside/f");
        expect_in(o.err, exposes);
        RUN(s, &o, "--home", jail, "--explain", "--", "sh", "-c", "cat ~/.netrc");
        expect_in(o.err, never);
        RUN(s, &o, "--home", jail, "--explain", "--", "sh", "-c", "echo x >~/made; cat ~/made ~/none");
        expect_out(&o, "x\n");
        expect_not_in(o.err, "reason");
}

TEST(it_may_be_named_from_here_before_it_is_there) {
        static const char *const names[] = {"./jail-b", "outside/../jail-c"};
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                _cleanup_free_ char *kept = text_of("%s/%s/kept", s->root, names[i]);
                _cleanup_outcome_ struct outcome o = {0};

                RUN(s, &o, "--home", names[i], "--", "sh", "-c", "echo x >~/kept");
                expect_status(&o, 0);
                assert_string_equal(o.err, "");
                assert_int_equal(access(kept, F_OK), 0);
        }
}

TEST(what_a_command_put_in_the_way_of_a_mount_point_is_refused) {
        const struct site *s = *state;
        _cleanup_free_ char *jail = path_of(s->root, "jail"), *shown = path_of(s->home, "shown"),
                            *line = text_of(
                                    "nsrun: a mount point in the folder of --home can't be made: %s/shown: "
                                    "Too many levels of symbolic links; something else is there, which a "
                                    "command may have put there: remove it",
                                    jail);
        _cleanup_outcome_ struct outcome o = {0};
        char *before = NULL;

        make_folder(s->home, "shown");
        RUN(s, &o, "--home", jail, "--", "sh", "-c", "ln -s \"$0\" ~/shown", s->outside);
        expect_status(&o, 0);
        before = snapshot(s->outside);
        RUN(s, &o, "--home", jail, "--ro", shown, "--", "true");
        expect_refusal(&o, 125, line);
        expect_unchanged(s->outside, before);
}

TEST(no_home_is_the_users_own_nor_its_secrets) {
        static const char *const secrets[] = {"", ".ssh"};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->home, ".ssh");
        for (size_t i = 0; i < ARRAY_SIZE(secrets); i++) {
                _cleanup_free_ char *path = path_of(s->home, secrets[i]);

                RUN(s, &o, "--home", path, "--", "true");
                expect_status(&o, 125);
                expect_in(o.err, "--home would hand the secrets of the home to the command");
        }
        RUN(s, &o, "--home", s->project, "--", "true");
        expect_status(&o, 125);
        expect_in(o.err, "nsrun: the project is in the folder of --home: ");
        RUN(s, &o, "--profile=instance", "--home", s->outside, "--", "true");
        expect_refusal(&o, 125, "nsrun: an instance has a home of its own (--home); leave it out");
}

TEST(a_session_has_it) {
        const struct site *s = *state;
        _cleanup_free_ char *jail = path_of(s->root, "jail"), *id = START(s, "--home", jail, NULL),
                            *kept = path_of(jail, "kept");
        _cleanup_outcome_ struct outcome o = {0};

        JOIN_SCRIPT(s, id, &o, "echo x >~/kept");
        expect_status(&o, 0);
        end_session(s, id, "stop");
        assert_int_equal(access(kept, F_OK), 0);
}

/* `nsrun home WORDS` prints that, or is refused with that line. */
static void home_says(const struct site *s, bool is_refusal, const char *says, const char *const *words) {
        _cleanup_outcome_ struct outcome o = {0};

        run_words(s->project, &o, words);
        if (is_refusal) {
                expect_refusal(&o, 125, says);
        } else {
                assert_string_equal(o.err, "");
                expect_out(&o, says);
                expect_status(&o, 0);
        }
}
#define HOME_SAYS(site, says, ...)    home_says(site, false, says, OPTIONS("home", __VA_ARGS__))
#define HOME_REFUSES(site, line, ...) home_says(site, true, line, OPTIONS("home", __VA_ARGS__))

/* `nsrun home commit work PATH…` at a terminal, where each question is answered so. */
static void commit_answered(const struct site *s, const char *answer, const char *const *paths,
                            struct outcome *ret) {
        _cleanup_free_ const char **argv =
                words_of(OPTIONS(program(), "home", "commit", "work"), paths, OPTIONS(NULL));
        struct talk t = {0};

        start_talk(&t, s->project, argv);
        for (; *paths; paths++) {
                await(&t, "Put this on the host? [y/N] ");
                type(&t, answer);
        }
        end_talk_alone(&t, ret);
}

/* A person sees what he puts in his own home; nothing else comes there, and nothing goes. */
TEST(a_homes_changes_are_shown_and_taken_over_by_a_person) {
        static const char *const named[] = {"notes", "docs/a", "out", ".tool", "repo/hooks", NULL};
        const struct site *s = *state;
        _cleanup_free_ char *notes = path_of(s->home, "notes"), *other = path_of(s->home, "other"),
                            *text = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        char *before = NULL;

        make_folder(s->home, "docs");
        make_file(s->home, "docs/same", "same\n");
        make_file(s->home, "notes", "mine\n");
        make_file(s->home, "other", "mine\n");
        RUN(s, &o, "--home=name:work", "--", "sh", "-c",
            "cd; mkdir -p docs out/x repo/hooks other; echo same >docs/same; echo theirs >notes; echo a >docs/a; "
            "echo f >out/x/f; echo t >.tool; echo x >repo/hooks/x; echo o >other/o; ln -s /etc/passwd out/link; "
            "mkfifo fifo; mknod .bashrc c 0 0; setfattr -n user.overlay.opaque -v y . || :");
        expect_status(&o, 0);
        before = snapshot(s->home);
        HOME_SAYS(s, "A  .tool\nA  docs/a\nA  out/\nA  repo/\nM  notes\nM  other/\n", "diff", "work");
        HOME_SAYS(s, "M  notes\n", "diff", "work", notes);
        HOME_SAYS(s, "{\"changes\":[{\"kind\":\"added\",\"path\":\"docs/a\"}]}\n", "diff", "--json", "work",
                  "docs");
        HOME_REFUSES(s, "nsrun: the home has nothing there: none; 'nsrun home diff' shows what it has",
                     "diff", "work", "none");
        HOME_REFUSES(s,
                     "nsrun: this isn't below the home: /etc/x; name it as ~/PATH, or relative to the home",
                     "commit", "work", "/etc/x");
        /* Nobody is there, or says no. */
        NSRUN(s, &o, "home", "commit", "work", "notes");
        expect_status(&o, 125);
        expect_in(o.err,
                  "nsrun: nobody can be asked: a person takes over what is kept aside, at a terminal");
        commit_answered(s, "n\n", OPTIONS("out"), &o);
        expect_status(&o, 125);
        expect_in(o.out, "out/link\n      leads to /etc/passwd");
        expect_unchanged(s->home, before);
        commit_answered(s, "y\n", named, &o);
        expect_status(&o, 0);
        text = file_text(notes);
        assert_string_equal(text, "theirs\n");
        HOME_SAYS(s, "M  other/\n", "diff", "work");
        /* A folder that can't be read hides nothing else. */
        make_folder(s->home, "aside");
        RUN(s, &o, "--home=name:work", "--", "sh", "-c", "mkdir ~/aside");
        if (geteuid() != 0) {
                _cleanup_free_ char *aside = path_of(s->home, "aside");

                assert_int_equal(chmod(aside, 0), 0);
                NSRUN(s, &o, "home", "diff", "work");
                assert_int_equal(chmod(aside, 0755), 0);
                assert_string_equal(o.err, "nsrun: note: not all of it could be looked at\n");
                expect_out(&o, "M  other/\n");
        }
        /* What is a file stays one, also where something in a folder of its name is wanted. */
        commit_answered(s, "y\n", OPTIONS("other/o"), &o);
        expect_status(&o, 125);
        free(text);
        text = file_text(other);
        assert_string_equal(text, "mine\n");
}

TEST(a_home_is_renamed_and_removed_when_nobody_has_it) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START(s, "--home=name:work", NULL),
                            *used = text_of(
                                    "nsrun: a sandbox runs with this home: work; end it: nsrun stop %s", id),
                            *first = path_of(s->home, ".local/share/nsrun/homes/work"),
                            *second = path_of(s->home, ".local/share/nsrun/homes/other/kept");
        _cleanup_outcome_ struct outcome o = {0};

        JOIN_SCRIPT(s, id, &o, "echo x >~/kept");
        expect_status(&o, 0);
        HOME_REFUSES(s, used, "rename", "work", "other");
        HOME_REFUSES(s, used, "remove", "work");
        NSRUN(s, &o, "home", "list");
        expect_in(o.out, id);
        end_session(s, id, "stop");
        HOME_REFUSES(s, "nsrun: not a home's name: ../x; choose letters and digits", "rename", "work",
                     "../x");
        HOME_SAYS(s, "", "rename", "work", "other");
        assert_int_not_equal(access(first, F_OK), 0);
        assert_int_equal(access(second, F_OK), 0);
        HOME_REFUSES(s,
                     "nsrun: there is no home of that name: work; 'nsrun home list' shows those there are",
                     "remove", "work");
        HOME_SAYS(s, "", "remove", "other");
        assert_int_not_equal(access(second, F_OK), 0);
        HOME_SAYS(s, "{\"homes\":[]}\n", "list", "--json");
}

int main(void) {
        return run_all_tests();
}

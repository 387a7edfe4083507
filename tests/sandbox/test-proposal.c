/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A configuration that a project proposes: never in force by itself, shown as a difference, taken over by a
 * person's word at a terminal alone. */
#include <pty.h>
#include <sys/wait.h>

#include "harness.h"

/* Runs a shell's command in the project, $0 being nsrun. */
static void in_project(const struct site *s, struct outcome *ret, const char *command) {
        const char *const argv[] = {"sh", "-c", command, program(), NULL};

        outcome_clear(ret);
        run(&(struct request){.argv = argv, .cwd = s->project}, ret);
}

/* `nsrun config proposal` on a terminal of its own, whose question gets `answer`; what it said, without the
 * terminal's carriage returns. */
static char *answered(const struct site *s, const char *answer, int *ret_status) {
        char *text = NULL;
        size_t size = 0, n_asked = 0;
        FILE *f = open_memstream(&text, &size);
        int terminal = -1, status = 0;
        pid_t pid;
        char c;

        assert_non_null(f);
        pid = forkpty(&terminal, NULL, NULL, NULL);
        assert_true(pid >= 0);
        if (pid == 0) {
                if (chdir(s->project) == 0)
                        (void)execl(program(), "nsrun", "config", "proposal", "--project=.", NULL);
                _exit(99);
        }
        while (read(terminal, &c, 1) == 1) {
                if (c != '\r')
                        assert_int_equal(fputc(c, f), c);
                assert_int_equal(fflush(f), 0);
                if (size >= 6 && streq(text + size - 6, "[y/N] ") && n_asked++ == 0)
                        assert_int_equal(write(terminal, answer, strlen(answer)), strlen(answer));
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(close(terminal), 0);
        assert_int_equal(fclose(f), 0);
        *ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
        return text;
}

static char *users_file(const struct site *s) {
        return path_of(s->home, ".config/nsrun/config.json");
}

#define NOTE(state)                                                                                        \
        "nsrun: note: the project proposes a configuration (.nsrun.json), which " state ": 'nsrun config " \
        "proposal' shows it\n"

static const char proposal[] =
        "{\"net\": \"none\", \"env\": {\"MODE\": \"fast\"}, \"readable\": [\"~/sdk\"]}";

TEST(a_proposal_is_in_force_when_a_person_has_taken_it_over_and_not_before) {
        const struct site *s = *state;
        _cleanup_free_ char *file = users_file(s), *shown = NULL, *no = NULL, *yes = NULL, *text = NULL,
                            *refused = NULL, *again = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        int status;

        make_folder(s->home, "sdk");
        make_file(s->project, ".nsrun.json", proposal);
        in_project(s, &o, "\"$0\" run --project=. -- sh -c 'echo $MODE'");
        expect_status(&o, 0);
        assert_string_equal(o.out, "\n");
        assert_string_equal(o.err, NOTE("isn't in force"));
        /* Nobody is at a terminal. */
        shown = text_of(
                "%s/.nsrun.json proposes:\n- net host\n+ net none\n+ env MODE=fast\n+ readable %s/sdk\n",
                s->project, s->home);
        in_project(s, &o, "setsid \"$0\" config proposal --project=. </dev/null");
        expect_status(&o, 125);
        assert_string_equal(o.out, shown);
        expect_in(o.err, "nsrun: there is no terminal to ask on: nothing is taken over");
        no = answered(s, "n\n", &status);
        assert_int_equal(status, 0);
        expect_in(no, shown);
        expect_in(no, "nothing is taken over, and it counts as refused until it changes\n");
        /* The refusal is written down, and told each time. */
        refused = file_text(file);
        assert_non_null(refused);
        expect_in(refused, "\"// refused proposal\": \"");
        expect_not_in(refused, "none");
        in_project(s, &o, "\"$0\" run --project=. -- sh -c 'echo $MODE'");
        expect_out(&o, "\n");
        assert_string_equal(o.err, NOTE("you have refused"));
        again = answered(s, "\n", &status);
        expect_in(again, "/.nsrun.json, which you have refused, proposes:\n- net host\n");
        yes = answered(s, "y\n", &status);
        assert_int_equal(status, 0);
        expect_in(yes, ": taken over\n");
        text = file_text(file);
        expect_in(text, "\"net\": \"none\",\n");
        expect_in(text, "\"// proposal\": \"");
        expect_not_in(text, "refused");
        in_project(s, &o, "\"$0\" run --project=. -- sh -c 'echo $MODE; ls ~/'");
        expect_status(&o, 0);
        expect_in(o.out, "fast\n");
        expect_in(o.out, "sdk\n");
        assert_string_equal(o.err, "");
}

TEST(a_proposal_is_shown_with_what_it_gives_away) {
        static const struct {
                const char *proposal, *shown; /* %H: the home */
        } rows[] = {
                {"\"readable\": [\"~/sdk\"]", "\n+ readable %H/sdk\n"},
                {"\"readable\": [\"~/.ssh\"]",
                 "\n+ readable %H/.ssh   <- your keys and passwords are kept there\n"},
                {"\"readable\": [\"/\"]",
                 "\n+ readable /   <- all of your home, with your keys and passwords\n"},
                {"\"bind\": [\"~/.ssh:/x:ro\"]",
                 "\n+ bind %H/.ssh:/x:ro   <- your keys and passwords are kept there\n"},
                {"\"toolchains\": [{\"path\": \"~/sdk\", \"variable\": \"SDK\"}]",
                 "\n+ toolchains %H/sdk or $SDK\n"},
                {"\"toolchains\": [{\"path\": \"~/sdk or $SDK\", \"variable\": \"KEYS\"}]",
                 "\n+ toolchains %H/sdk or $SDK or $KEYS   <- your keys and passwords are kept there\n"},
                {"\"toolchains\": [{\"path\": \"~/sdk\", \"variable\": \"KEYS\"}]",
                 "\n+ toolchains %H/sdk or $KEYS   <- your keys and passwords are kept there\n"},
        };
        const struct site *s = *state;
        _cleanup_free_ char *keys = path_of(s->home, ".ssh");

        make_folder(s->home, "sdk");
        make_folder(s->home, ".ssh");
        assert_int_equal(setenv("KEYS", keys, 1), 0);
        assert_int_equal(unsetenv("SDK"), 0);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                const char *at = strstr(rows[i].shown, "%H");
                _cleanup_free_ char *text = text_of("{%s}\n", rows[i].proposal),
                                    *shown = at ? text_of("%.*s%s%s", (int)(at - rows[i].shown),
                                                          rows[i].shown, s->home, at + 2)
                                                : strdup(rows[i].shown);
                _cleanup_outcome_ struct outcome o = {0};

                make_file(s->project, ".nsrun.json", text);
                in_project(s, &o, "setsid \"$0\" config proposal --project=. </dev/null");
                expect_status(&o, 125);
                expect_in(o.out, shown);
        }
        assert_int_equal(unsetenv("KEYS"), 0);
}

TEST(a_proposal_that_changes_is_one_again) {
        const struct site *s = *state;
        _cleanup_free_ char *first = NULL, *second = NULL, *text = NULL, *file = users_file(s);
        _cleanup_outcome_ struct outcome o = {0};
        int status;

        make_folder(s->home, "sdk");
        make_file(s->project, ".nsrun.json", proposal);
        first = answered(s, "y\n", &status);
        assert_int_equal(status, 0);
        make_file(s->project, ".nsrun.json", "{\"net\": \"host\", \"env\": {\"MODE\": \"fast\"}}");
        in_project(s, &o, "\"$0\" run --project=. -- sh -c 'echo $MODE'");
        expect_out(&o, "fast\n");
        assert_string_equal(o.err, NOTE("has changed since you took it over"));
        second = answered(s, "yes\n", &status);
        expect_in(second,
                  "which has changed since you took it over, proposes:\n- net none\n+ net host\nTake");
        text = file_text(file);
        expect_not_in(text, "none");
        expect_not_in(text, "sdk");
}

/* As of those who keep their settings in a repository. */
/* A section under another name would be another project's. */
TEST(a_project_that_no_section_can_name_gets_none) {
        const struct site *s = *state;
        struct site other = *s;
        _cleanup_free_ char *odd = path_of(s->root, "p\377"), *same = path_of(s->root, "p"), *said = NULL,
                            *file = users_file(s), *good = NULL, *line = NULL;
        int status;

        for (size_t i = 0; i < 2; i++) {
                other.project = i == 0 ? odd : same;
                make_folder(s->root, i == 0 ? "p\377" : "p");
                make_file(other.project, ".nsrun.json", "{\"net\": \"none\"}");
        }
        other.project = odd;
        said = answered(&other, "y\n", &status);
        assert_int_equal(status, 125);
        line = text_of("nsrun: a path has bytes that are no UTF-8, which no configuration can name: "
                       "%s\n",
                       file);
        expect_in(said, line);
        assert_null(file_text(file));
        other.project = same;
        good = answered(&other, "y\n", &status);
        assert_int_equal(status, 0);
        expect_in(good, ": taken over\n");
}

TEST(a_configuration_that_is_a_link_stays_one) {
        const struct site *s = *state;
        _cleanup_free_ char *file = users_file(s), *folder = path_of(s->home, ".config/nsrun"),
                            *first = NULL, *text = NULL, *real = path_of(s->home, "dotfiles.json");
        struct stat st;
        int status;

        make_folder(s->home, "sdk");
        make_file(s->project, ".nsrun.json", proposal);
        make_folder(s->home, ".config");
        assert_int_equal(mkdir(folder, 0700), 0);
        make_file(s->home, "dotfiles.json", "{\"env\": {\"KEPT\": \"1\"}}");
        assert_int_equal(symlink(real, file), 0);
        first = answered(s, "y\n", &status);
        assert_int_equal(status, 0);
        expect_in(first, "dotfiles.json: taken over\n");
        assert_int_equal(lstat(file, &st), 0);
        assert_true(S_ISLNK(st.st_mode));
        text = file_text(real);
        expect_in(text, "KEPT");
        expect_in(text, "\"// proposal\": \"");
}

TEST(what_is_no_proposal_is_refused_and_a_persons_own_section_stays) {
        const struct site *s = *state;
        static const struct {
                const char *text, *error;
        } bad[] = {
                {"{\"version\": 1}",
                 ".nsrun.json:1:2: a key of your own configuration, not of a proposal: version; leave it out"},
                {"{\"projects\": {}}",
                 ".nsrun.json:1:2: a key of your own configuration, not of a proposal: projects; leave it out"},
                {"{\"key\": [\"A\"]}",
                 ".nsrun.json:1:2: a key of your own configuration, not of a proposal: key; leave it out"},
                {"{\"key_use\": []}",
                 ".nsrun.json:1:2: a key of your own configuration, not of a proposal: key_use; leave it out"},
                {"{\"net\": 3}", ".nsrun.json:1:9: a string is expected here: net"},
                {"nonsense", ".nsrun.json:1:1: this is no value"},
        };
        _cleanup_free_ char *own = NULL, *mine = NULL, *after = NULL, *file = users_file(s);
        _cleanup_outcome_ struct outcome o = {0};
        int status;

        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                make_file(s->project, ".nsrun.json", bad[i].text);
                in_project(s, &o, "\"$0\" config proposal --project=.");
                expect_status(&o, 125);
                assert_string_equal(o.out, "");
                expect_in(o.err, bad[i].error);
        }
        in_project(s, &o,
                   "rm .nsrun.json; ln -s /etc/hostname .nsrun.json; \"$0\" config proposal --project=.");
        expect_status(&o, 125);
        expect_in(o.err, "the proposal can't be read");
        in_project(s, &o, "rm .nsrun.json; \"$0\" config proposal --project=.");
        expect_status(&o, 0);
        expect_in(o.out, "the project proposes nothing");
        own = text_of("{\"projects\": {\"%s\": {\"net\": \"none\"}}}", s->project);
        in_project(s, &o, "mkdir -p ~/.config/nsrun");
        mine = path_of(s->home, ".config/nsrun");
        make_file(mine, "config.json", own);
        make_file(s->project, ".nsrun.json", "{\"env\": {\"X\": \"\\u001b[2J\"}}");
        free(own);
        own = answered(s, "y\n", &status);
        assert_int_equal(status, 125);
        expect_in(own, "the configuration has a section of yours for this project");
        expect_not_in(own, "\033");
        after = file_text(file);
        expect_not_in(after, "proposal");
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a user of sessions gets wrong at the command line: options of another action, a
 * variable that was empty.  Not what sessions refuse for safety's sake. */
#include <stdlib.h>

#include "harness.h"

/* The records of sessions get a folder of the site's. */
static int setup(void **state) {
        _cleanup_free_ char *runtime = NULL;
        const struct site *s;
        int r = site_setup(state);

        if (r != 0)
                return r;
        s = *state;
        make_folder(s->root, "records");
        runtime = path_of(s->root, "records");
        return setenv("XDG_RUNTIME_DIR", runtime, 1);
}

/* What a failed test left goes, too.  The monitors are children of ours by now. */
static int teardown(void **state) {
        static const char *const names[] = {"usage", "empty", "one", "two", "kept"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                _cleanup_outcome_ struct outcome o = {0};

                NSRUN((const struct site *)*state, &o, "session", "kill", names[i]);
        }
        collect_orphans();
        return site_teardown(state);
}

/* A session over the project, in which one file has changed; stop_session() ends it. */
static void start_session(const struct site *s, const char *name) {
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->project, "old", "old\n");
        NSRUN(s, &o, "session", "start", "--project", s->project, "--overlay", s->project, "--name", name);
        expect_status(&o, 0);
        NSRUN(s, &o, "run", "--session", name, "--", "sh", "-c", "echo new >old");
        expect_status(&o, 0);
}

static void stop_session(const struct site *s, const char *name) {
        _cleanup_outcome_ struct outcome o = {0};

        NSRUN(s, &o, "session", "stop", name);
        expect_status(&o, 0);
}

static void expect_old(const struct site *s, const char *text) {
        _cleanup_free_ char *path = path_of(s->project, "old"), *now = file_text(path);

        assert_string_equal(now, text);
}

#define SEE "; see 'nsrun session --help'"

TEST_WITH(an_option_of_another_action_is_refused_and_nothing_done, setup, teardown) {
        static const struct {
                const char *option, *action, *line;
        } cases[] = {
                {"--json", "commit",
                 "nsrun: --json is for list, show, ps, logs, review and diff alone: commit" SEE},
                {"--json", "stop",
                 "nsrun: --json is for list, show, ps, logs, review and diff alone: stop" SEE},
                {"--stat", "commit", "nsrun: --stat and --patch are for diff alone: commit" SEE},
                {"--patch", "discard", "nsrun: --stat and --patch are for diff alone: discard" SEE},
                {"--stat", "show", "nsrun: --stat and --patch are for diff alone: show" SEE},
                {"--force", "discard", "nsrun: --force is for commit alone: discard" SEE},
                {"--force", "kill", "nsrun: --force is for commit alone: kill" SEE},
                {"--force", "diff", "nsrun: --force is for commit alone: diff" SEE},
                {"--clean-env", "diff",
                 "nsrun: options of a policy are for 'session start' alone: diff" SEE},
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        start_session(s, "usage");
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                NSRUN(s, &o, "session", cases[i].action, cases[i].option, "usage");
                expect_refusal(&o, 125, cases[i].line);
                outcome_clear(&o);
        }
        NSRUN(s, &o, "resolve", "--session", "usage", "--read", "old");
        expect_refusal(&o, 125,
                       "nsrun: a session's paths are not the host's: its overlays and its /tmp are its own: "
                       "Invalid argument; look inside: nsrun run --session ID -- cat PATH, or nsrun session "
                       "diff ID");
        NSRUN(s, &o, "session", "diff", "--stat", "usage");
        expect_status(&o, 0);
        expect_out(&o, " old | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n");
        expect_old(s, "old\n");
        NSRUN(s, &o, "session", "commit", "--force", "usage");
        expect_status(&o, 0);
        expect_old(s, "new\n");
        stop_session(s, "usage");
}

TEST_WITH(an_empty_path_does_not_mean_the_whole_project, setup, teardown) {
        static const char *const actions[] = {"diff", "commit", "discard"};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        start_session(s, "empty");
        for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
                NSRUN(s, &o, "session", actions[i], "empty", "");
                expect_refusal(&o, 125,
                               "nsrun: an empty path names nothing: No such file or directory; "
                               "the whole project is '.'");
                outcome_clear(&o);
        }
        expect_old(s, "old\n");
        NSRUN(s, &o, "session", "diff", "empty", ".");
        expect_status(&o, 0);
        expect_out(&o, "M  old\n");
        NSRUN(s, &o, "session", "commit", "empty", ".");
        expect_status(&o, 0);
        expect_old(s, "new\n");
        stop_session(s, "empty");
}

TEST_WITH(a_path_that_looks_like_an_option_stands_behind_two_hyphens, setup, teardown) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        start_session(s, "empty");
        NSRUN(s, &o, "run", "--session", "empty", "--", "sh", "-c", "echo x >--force");
        expect_status(&o, 0);
        NSRUN(s, &o, "session", "diff", "--", "empty", "--stat");
        expect_status(&o, 0);
        expect_out(&o, "");
        NSRUN(s, &o, "session", "diff", "--", "empty", "--force");
        expect_status(&o, 0);
        expect_out(&o, "A  --force\n");
        NSRUN(s, &o, "session", "commit", "empty", "--", "--force");
        expect_status(&o, 0);
        expect_out(&o, "committed 1 path\n");
        expect_old(s, "old\n");
        stop_session(s, "empty");
}

TEST_WITH(a_session_needs_a_name_that_is_one_and_no_other_session, setup, teardown) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        NSRUN(s, &o, "session", "start", "--name", "");
        expect_refusal(&o, 125,
                       "nsrun: no name for a session: Invalid argument; 1 to 64 letters, digits, '.', '_' "
                       "and '-', a letter or digit first");
        start_session(s, "one");
        NSRUN(s, &o, "session", "start", "--name", "two", "--session", "one");
        expect_refusal(&o, 125,
                       "nsrun: a session can't be started in another one: one: Invalid argument; "
                       "leave --session out");
        NSRUN(s, &o, "session", "start", "--name", "two", "--project", s->project);
        expect_status(&o, 0);
        expect_out(&o, "two\n");
        stop_session(s, "two");
        stop_session(s, "one");
}

TEST_WITH(a_sessions_command_never_runs_without_its_sandbox, setup, teardown) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        start_session(s, "kept");
        NSRUN(s, &o, "bash", "--confirm=never", "--no-sandbox", "--session", "kept", "echo host >old");
        expect_status(&o, 125);
        expect_out(&o, "Error: --no-sandbox can't be given with --session: what a session's commands may do "
                       "was decided when it was started: kept; leave it out, or "
                       "start another session with it");
        expect_old(s, "old\n");
        NSRUN(s, &o, "bash", "--confirm=never", "--session", "kept", "echo inside >old");
        expect_status(&o, 0);
        expect_old(s, "old\n");
        NSRUN(s, &o, "bash", "--confirm=never", "--no-sandbox", "--project", s->project, "echo host >old");
        expect_status(&o, 0);
        expect_old(s, "host\n");
        stop_session(s, "kept");
}

static void expect_completions(const struct site *s, const char *const *argv, const char *expected) {
        _cleanup_free_ char *bin = path_of(s->root, "bin"), *link = path_of(bin, "nsrun"),
                            *real = realpath(program(), NULL), *path = text_of("%s:%s", bin, getenv("PATH"));
        _cleanup_free_ char *old = strdup(getenv("PATH"));
        _cleanup_outcome_ struct outcome o = {0};

        if (!has_program(argv[0]))
                skip_because("skipped: %s is not installed", argv[0]);
        make_folder(s->root, "bin");
        assert_non_null(real);
        assert_int_equal(symlink(real, link), 0);
        assert_int_equal(setenv("PATH", path, 1), 0);
        start_session(s, "one");
        start_session(s, "two");
        run(&(struct request){.argv = argv, .cwd = s->project}, &o);
        assert_int_equal(setenv("PATH", old, 1), 0);
        stop_session(s, "one");
        stop_session(s, "two");
        expect_status(&o, 0);
        expect_out(&o, expected);
}

TEST_WITH(bash_completes_the_ids_of_sessions, setup, teardown) {
        static const char script[] =
                ". <(nsrun completion bash)\n"
                "complete_words() { COMP_WORDS=(nsrun \"$@\"); COMP_CWORD=$#; COMPREPLY=(); _nsrun;\n"
                "    echo \"${COMPREPLY[*]}\"; }\n"
                "complete_words session stop ''\n"
                "complete_words session diff --stat t\n"
                "complete_words run --session ''\n"
                "complete_words session start ''\n"
                "complete_words session st\n";

        expect_completions(*state, OPTIONS("bash", "-c", script), "one two\ntwo\none two\n\nstart stop\n");
}

FULL_TEST(fish_completes_the_ids_of_sessions, setup, teardown) {
        static const char script[] =
                "nsrun completion fish | source\n"
                "for words in 'stop ' 'diff --stat t' 'start ' 'st'\n"
                "    echo -- (complete -C \"nsrun session $words\" | string replace -r '\\t.*' '')\n"
                "end\n"
                "echo -- (complete -C 'nsrun run --session ' | string replace -r '\\t.*' '')\n";

        expect_completions(*state, OPTIONS("fish", "--no-config", "-c", script),
                           "one two\ntwo\n\nstart stop\none two\n");
}

/* It completes where somebody types alone. */
FULL_TEST(zsh_completes_the_ids_of_sessions, setup, teardown) {
        static const char script[] =
                "zmodload zsh/zpty\n"
                "nsrun completion zsh >_nsrun\n"
                "zpty z zsh -f -i\n"
                "zpty -w z 'PROMPT=; fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D'\n"
                "zpty -w z \"bindkey '^I' complete-word; compdef _nsrun nsrun; echo re''ady\"\n"
                "zpty -r z text '*ready*'\n"
                "complete() {\n"
                "    zpty -w -n z \"nsrun $1\"$'\\t'\n"
                "    zpty -r z text \"*$2*\" && echo \"$2\"\n"
                "    zpty -w -n z $'\\x15'\n"
                "}\n"
                "complete 'session stop o' 'session stop one'\n"
                "complete 'session diff t' 'session diff two'\n"
                "complete 'session sho' 'session show'\n"
                "complete 'run --session=o' 'run --session=one'\n"
                "zpty -d z\n";

        expect_completions(*state, OPTIONS("zsh", "-f", "-c", script),
                           "session stop one\nsession diff two\nsession show\nrun --session=one\n");
}

int main(void) {
        return run_all_tests();
}

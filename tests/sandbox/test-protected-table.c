/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A table of protected names: every name, where it exists and where it doesn't, times all that a command can
 * do to a name, times the ways to run one, with and without --protect=strict.  When nsrun has returned,
 * nothing that programs on the host obey is changed; with strict not while the command runs either, and not
 * after SIGKILL. */
#include "../seed.h"
#include "bash.h"
#include "faults.h"
#include "repository.h"
#include "session.h"

#define RANDOM_KILLS 60

enum way {
        BY_RUN,
        BY_BASH,
        BY_SESSION,
        IN_OVERLAY,
        N_WAYS
};

static const char *const ways[N_WAYS] = {"run", "bash", "session", "overlay"};
static const char *const actions[] = {"make",      "write",     "rename", "parent",
                                      "link-over", "hard-link", "bind",   "remake"};

/* Two repositories with a submodule's git dir and a linked worktree's: ../full has all names, ../none has
 * none of them but for what makes a git dir.  And lists: ../names, all of them but .git, and ../absent. */
static const char prepare[] =
        "set -e; git init -q -b main .; mkdir -p .git/info .git/modules/sub/info "
        ".git/modules/sub/objects/info .git/worktrees/wt sub\n"
        "cp .git/HEAD .git/config .git/modules/sub; cp .git/HEAD .git/worktrees/wt\n"
        "echo ../.. >.git/worktrees/wt/commondir; echo \"$PWD/wt/.git\" >.git/worktrees/wt/gitdir\n"
        "\"$NSRUN\" plan --format=json --project . -- true | jq -r --arg pwd \"$PWD\" '.protected[] | "
        "select(.folder == $pwd and .name != \".git\") | .name' | grep -v '[*]' >../names\n"
        "grep -v -e wt/commondir -e wt/gitdir ../names >../absent\n"
        "xargs rm -rf <../absent; cp -a . ../none; cp -a . ../full; cd ../full\n"
        "while read -r n; do\n"
        "  case $n in\n"
        "    *branches|*hooks|*remotes|.vscode|.idea|.husky|.devcontainer|.claude|.codex|.cursor|.gemini|.agents|.zed|.windsurf|.yarn/*)\n"
        "      mkdir -p $n; echo real >$n/file ;;\n"
        "    *) mkdir -p $(dirname $n); [ -e $n ] || : >$n ;;\n"
        "  esac\n"
        "done <../names\n";

/* And nothing is kept aside yet. */
#define EMPTY "set -e; chmod -R u+rwx .; find . -mindepth 1 -delete; rm -rf \"$XDG_STATE_HOME\"/nsrun/kept\n"

static const char make_all[] = EMPTY "cp -a ../full/. .\n";
static const char make_none[] = EMPTY "cp -a ../none/. .\n";

/* All that there is of the names. */
static const char list_all[] =
        "find $(cat ../names) -printf '%p %y %i %m %l\\n' -type f -exec md5sum {} + 2>/dev/null; true\n";

static int setup(void **state) {
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *grab = helper_path("grab");
        const struct site *s;

        if (site_setup(state) != 0)
                return -1;
        s = *state;
        {
                _cleanup_free_ char *script =
                        text_of("cp '%s' ../grab; export NSRUN='%s'\n%s", grab, program(), prepare);

                on_host(s, script, &o);
        }
        return 0;
}

#undef TEST
#define TEST(name) TEST_WITH(name, setup, site_teardown)

struct cells {
        bool is_strict;
        bool is_there;
        enum way way;
        const char *action;
};

/* What grab(1) printed, and nsrun's notes; the caller frees both. */
static char *run_cells(const struct site *s, const struct cells *c, char **ret_notes) {
        _cleanup_free_ char *names = path_of(s->root, c->is_there ? "names" : "absent");
        _cleanup_free_ char *grab = path_of(s->root, "grab"),
                            *command = text_of("'%s' %s '%s'", grab, c->action, names);
        const char *mode = c->is_strict ? "--protect=strict" : "--landlock=auto";
        const char *seccomp = streq(c->action, "bind") ? "--seccomp=nested" : "--seccomp=default";
        _cleanup_outcome_ struct outcome o = {0}, end = {0};

        if (c->way == BY_RUN)
                RUN(s, &o, mode, seccomp, "--ro", names, "--ro", grab, "--", "sh", "-c", command);
        if (c->way == IN_OVERLAY)
                RUN(s, &o, mode, seccomp, "--overlay", s->project, "--ro", names, "--ro", grab, "--", "sh",
                    "-c", command);
        /* nsrun bash adds what it says to the output. */
        if (c->way == BY_BASH)
                BASH(s, &o, mode, seccomp, "--ro", names, "--ro", grab, "--", command);
        if (c->way == BY_SESSION) {
                _cleanup_free_ char *id = START(s, mode, seccomp, "--ro", names, "--ro", grab);

                JOIN_SCRIPT(s, id, &o, command);
                /* It may tell again what was changed in the clock tick in which the command ended. */
                SESSION(s, &end, "stop", id);
                expect_status(&end, 0);
                collect_orphans();
        }
        expect_status(&o, 0);
        if (c->is_strict || c->way == IN_OVERLAY)
                expect_not_in(o.err, "note");
        *ret_notes = TAKE_PTR(o.err);
        return TAKE_PTR(o.out);
}

/* How many of the lines end so. */
static unsigned count(const char *text, const char *end) {
        unsigned n = 0;

        for (const char *at = text; (at = strstr(at, end)); at += strlen(end))
                n++;
        return n;
}

static bool is_taken(unsigned i) {
        return !takes_samples() || i % 5 == 0;
}

static void expect_same(const struct site *s, const struct cells *c, const char *before) {
        _cleanup_outcome_ struct outcome after = {0};

        on_host(s, list_all, &after);
        if (!streq(after.out, before))
                fail_msg("%s, %s, %s, %s: %s\nbefore: %s", c->is_strict ? "strict" : "default",
                         c->is_there ? "exists" : "absent", ways[c->way], c->action, after.out, before);
}

/* The one way around: in namespaces of its own, which "nested" allows and strict doesn't, a command can take
 * the mount of a name that exists away.  A session's end says nothing. */
static bool is_open(const struct cells *c) {
        return !c->is_strict && c->is_there && streq(c->action, "bind") && c->way != IN_OVERLAY;
}

static void expect_all_told(const struct site *s, const char *said, const char *notes) {
        _cleanup_free_ char *text = strdup(said);

        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
                char *end = strstr(line, " done");
                _cleanup_free_ char *changed = NULL, *kept = NULL, *renamed = NULL;

                if (!end)
                        continue;
                *end = '\0';
                changed = text_of(
                        "nsrun: note: a protected name was changed while the command ran, by it or by "
                        "others: %s/%s\n",
                        s->project, line);
                kept = text_of("%s/%s; ", s->project, line);
                renamed = text_of("%s/%s.aside-0\n", s->project, line);
                if (!strstr(notes, kept) && !strstr(notes, renamed))
                        expect_in(notes, changed);
        }
}

static void run_table(const struct site *s, bool is_strict) {
        unsigned n_cells = 0, n_done = 0, n_overlay = 0, n_sandboxes = 0;

        for (unsigned i = 0; i < N_WAYS * ARRAY_SIZE(actions) * 2; i++) {
                const struct cells c = {.is_strict = is_strict,
                                        .is_there = i % 2,
                                        .way = i / 2 % N_WAYS,
                                        .action = actions[i / 2 / N_WAYS]};
                _cleanup_outcome_ struct outcome before = {0}, ignored = {0};
                _cleanup_free_ char *said = NULL, *notes = NULL;

                if (!is_taken(i))
                        continue;
                on_host(s, c.is_there ? make_all : make_none, &ignored);
                on_host(s, list_all, &before);
                said = run_cells(s, &c, &notes);
                if (is_open(&c))
                        expect_all_told(s, said, notes);
                else
                        expect_same(s, &c, before.out);
                n_sandboxes++;
                if (c.way == BY_BASH)
                        continue;
                n_cells += count(said, "\n");
                *(c.way == IN_OVERLAY ? &n_overlay : &n_done) += count(said, " done\n");
        }
        print_message("%s: %u sandboxes; %u cells told, of which %u worked inside for a while and %u in an "
                      "overlay\n",
                      is_strict ? "strict" : "default", n_sandboxes, n_cells, n_done, n_overlay);
        assert_true(n_cells > 100);
}

TEST(nothing_that_the_host_obeys_is_changed) {
        run_table(*state, false);
}

TEST(nothing_is_made_with_strict) {
        run_table(*state, true);
}

/* Without protection it all works: the attempts are no empty ones. */
TEST(unprotected_names_can_be_taken) {
        const struct site *s = *state;
        _cleanup_free_ char *grab = path_of(s->root, "grab"), *names = path_of(s->root, "names");

        for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
                _cleanup_outcome_ struct outcome o = {0}, ignored = {0}, before = {0}, after = {0};

                if (streq(actions[i], "bind"))
                        continue;
                on_host(s, streq(actions[i], "make") ? make_none : make_all, &ignored);
                on_host(s, list_all, &before);
                RUN(s, &o, "--no-protect", "*", "--ro", grab, "--ro", names, "--", grab, actions[i], names);
                on_host(s, list_all, &after);
                assert_string_not_equal(after.out, before.out);
                assert_true(count(o.out, " done\n") > 0);
        }
}

/* Names that are on the host at this moment. */
static void expect_none(const struct site *s, const char *when) {
        _cleanup_outcome_ struct outcome o = {0};

        on_host(s, "while read -r n; do [ ! -e \"$n\" ] && [ ! -L \"$n\" ] || echo \"$n\"; done <../absent",
                &o);
        if (o.out[0])
                fail_msg("%s: %s", when, o.out);
}

TEST(killed_at_any_moment_strict_leaves_nothing) {
        const struct site *s = *state;
        _cleanup_free_ char *grab = path_of(s->root, "grab"), *names = path_of(s->root, "absent");
        _cleanup_free_ const char **argv = NULL;
        unsigned seed = (unsigned)test_seed(), n_killed = 0;
        int n = takes_samples() ? RANDOM_KILLS / 4 : RANDOM_KILLS;
        _cleanup_outcome_ struct outcome ignored = {0};

        on_host(s, make_none, &ignored);
        argv = nsrun_argv(
                s, OPTIONS("--protect=strict", "--ro", grab, "--ro", names, "--", grab, "all", names));
        for (int i = 0; i < n; i++) {
                _cleanup_outcome_ struct outcome o = {0};
                struct running r;

                spawn(&(struct request){.argv = argv, .cwd = s->root}, &r);
                pause_up_to(&seed, 60000000);
                /* Half of them are looked at while they run. */
                if (i % 2)
                        expect_none(s, "while the command ran");
                send_signal(r.pidfd, SIGKILL);
                finish(&r, &o);
                reap_orphans();
                n_killed += o.status == 1000 + SIGKILL;
                expect_none(s, "after SIGKILL");
        }
        assert_true(n_killed > 0);
        print_message("%u of %d were killed before their end\n", n_killed, n);
        RUN(s, &ignored, "--protect=strict", "--", "true");
        expect_status(&ignored, 0);
}

int main(void) {
        return run_all_tests();
}

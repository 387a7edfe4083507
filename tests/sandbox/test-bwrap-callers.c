/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program that other people publish, which speaks bubblewrap's command line, through nsrun-bwrap
 * as the first `bwrap` on its PATH: srt, of the npm registry's @anthropic-ai/sandbox-runtime.  What
 * it asks for is its own affair: see test-bwrap-differs.c for the options. */
#include <limits.h>
#include <unistd.h>

#include "bwrap-run.h"

/* What is published under a version never changes, and so none of it is left open. */
static const char package[] =
        "{\"name\": \"caller\", \"version\": \"1.0.0\", \"private\": true, \"dependencies\": {\n"
        " \"@anthropic-ai/sandbox-runtime\": \"0.0.58\", \"@pondwader/socks5-server\": \"1.0.10\",\n"
        " \"commander\": \"12.1.0\", \"node-forge\": \"1.4.3\", \"shell-quote\": \"1.12.0\", \"zod\": \"3.25.76\"}}\n";

static const char settings[] =
        "{\"network\": {\"allowedDomains\": [], \"deniedDomains\": []},\n"
        " \"filesystem\": {\"denyRead\": [], \"allowWrite\": [\".\"], \"denyWrite\": []}}\n";

/* The folder that has `bwrap` is the same for all; what it leads to is not. */
static void link_bwrap(const struct site *s, const char *to) {
        _cleanup_free_ char *link = path_of(s->root, "bin/bwrap");

        (void)unlink(link);
        assert_int_equal(symlink(to, link), 0);
}

/* Once for all tests, which share one site. */
static void install(const struct site *s) {
        static const char *const programs[] = {"node", "npm", "socat", "rg"};
        static bool is_installed;
        _cleanup_outcome_ struct outcome o = {0};
        char ours[PATH_MAX];

        for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
                if (!has_program(programs[i]))
                        skip_because("skipped: %s is not installed", programs[i]);
        assert_non_null(realpath(our_bwrap(), ours));
        if (!is_installed) {
                run_outside(s, &o, "npm view @anthropic-ai/sandbox-runtime@0.0.58 version");
                if (o.status != 0)
                        skip_because("skipped: npm's registry can't be reached");
                make_folder(s->root, "bin");
                make_folder(s->root, "tmp");
                make_file(s->root, "caller/package.json", package);
                make_file(s->root, "caller/settings.json", settings);
                run_outside(s, &o, "cd ../caller && npm install --silent --no-audit --no-fund");
                expect_status(&o, 0);
                is_installed = true;
        }
        link_bwrap(s, ours);
}

/* `command` as srt runs it in the project, with the site's own `bwrap`. */
static void run_srt(const struct site *s, struct outcome *ret, const char *command) {
        static const char script[] =
                /* It leaves an empty folder in its temporary one each time. */
                "PATH=$1/bin:$PATH TMPDIR=$1/tmp; export PATH TMPDIR\n"
                "exec node \"$1/caller/node_modules/@anthropic-ai/sandbox-runtime/dist/cli.js\" "
                "--settings \"$1/caller/settings.json\" -c \"$2\"";
        const char *const argv[] = {"sh", "-c", script, "sh", s->root, command, NULL};

        outcome_clear(ret);
        run(&(struct request){.argv = argv, .cwd = s->project}, ret);
        /* It waits for its socat processes as little as bubblewrap does for the sandbox's end. */
        collect_orphans();
}

TEST_WITH(a_write_in_the_project_is_kept, NULL, NULL) {
        const struct site *s = *state;
        _cleanup_free_ char *file = path_of(s->project, "made");
        _cleanup_free_ char *text = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        install(s);
        run_srt(s, &o, "echo text >made && cat made");
        assert_string_equal(o.err, "");
        expect_status(&o, 0);
        expect_out(&o, "text\n");
        text = file_text(file);
        assert_non_null(text);
        assert_string_equal(text, "text\n");
}

TEST_WITH(a_write_outside_the_project_is_denied, NULL, NULL) {
        static const char attempt[] =
                "echo text >../outside/made; echo $?; echo more >>../outside/there; echo $?; "
                "rm ../outside/there; echo $?; cat ../outside/there";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        char *before;

        install(s);
        make_file(s->outside, "there", "there\n");
        before = snapshot(s->outside);
        run_srt(s, &o, attempt);
        expect_status(&o, 0);
        expect_out(&o, "1\n1\n1\nthere\n");
        expect_in(o.err, "../outside/made: Read-only file system\n");
        expect_in(o.err, "../outside/there: Read-only file system\n");
        expect_in(o.err, "rm: cannot remove '../outside/there': Read-only file system\n");
        expect_unchanged(s->outside, before);
        /* On the host all of it works. */
        run_outside(s, &o,
                    "echo text >../outside/made && echo more >>../outside/there && rm ../outside/there");
        expect_status(&o, 0);
}

TEST_WITH(what_is_to_stay_hidden_in_the_project_is, NULL, NULL) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        /* It covers .bashrc, .gitconfig and others that aren't there, and tidies up afterwards. */
        install(s);
        run_srt(s, &o, "echo text >.bashrc; echo $?; echo text >.gitconfig; echo $?");
        expect_status(&o, 0);
        expect_out(&o, "1\n1\n");
        run_outside(s, &o, "ls -d .bashrc .gitconfig");
        assert_int_not_equal(o.status, 0);
        run_outside(s, &o, "echo text >.bashrc && rm .bashrc");
        expect_status(&o, 0);
}

TEST_WITH(a_status_and_a_signal_come_through, NULL, NULL) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        install(s);
        run_srt(s, &o, "true");
        expect_status(&o, 0);
        run_srt(s, &o, "echo out; echo err >&2; exit 7");
        expect_status(&o, 7);
        expect_out(&o, "out\n");
        assert_string_equal(o.err, "err\n");
        run_srt(s, &o, "kill -KILL $$");
        expect_status(&o, 128 + SIGKILL);
}

TEST_WITH(its_namespaces_are_its_own, NULL, NULL) {
        static const char look[] = "for n in mnt net pid; do readlink /proc/self/ns/$n; done";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome inside = {0}, outside = {0};
        char *rest;

        install(s);
        run_srt(s, &inside, look);
        expect_status(&inside, 0);
        run_outside(s, &outside, look);
        expect_status(&outside, 0);
        expect_in(inside.out, "mnt:[");
        expect_in(inside.out, "net:[");
        expect_in(inside.out, "pid:[");
        rest = outside.out;
        for (char *line; (line = strsep(&rest, "\n")) && *line;)
                expect_not_in(inside.out, line);
}

/* What is mounted on /dev and /proc hides mounts of the host's, whose flags nobody sees. */
TEST_WITH(bubblewrap_shows_it_the_same, NULL, NULL) {
        static const char look[] =
                "grep -E '^(Cap|NoNewPrivs|Seccomp|Uid|Gid|Groups)' /proc/self/status; pwd; ls -A . /; "
                "env | cut -d= -f1 | sort; "
                "awk '$5 !~ \"^/(dev|proc)\" { print $5, $6 }' /proc/self/mountinfo | sort; "
                "set -- /proc/[0-9]*; echo $#; cut -d: -f1 /proc/net/dev; ls /dev; echo text >/usr/made; "
                "exec 3<>/proc/sys/kernel/domainname; unshare --user true; exit 7";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome ours = {0}, theirs = {0};
        char *rest, *other;

        if (!has_program("bwrap"))
                skip_because("skipped: bubblewrap is not installed");
        install(s);
        run_srt(s, &ours, look);
        link_bwrap(s, "/usr/bin/bwrap");
        run_srt(s, &theirs, look);
        expect_status(&theirs, ours.status);
        expect_in(theirs.out, "NoNewPrivs:\t1\n");
        rest = ours.out;
        other = theirs.out;
        for (char *line; (line = strsep(&rest, "\n"));) {
                char *same = strsep(&other, "\n");

                assert_non_null(same);
                assert_string_equal(line, same);
        }
        assert_null(other);
        assert_string_equal(ours.err, theirs.err);
}

/* The control for all the others: it is our program that srt has run. */
TEST_WITH(without_our_program_the_command_does_not_run, NULL, NULL) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        install(s);
        link_bwrap(s, "/bin/false");
        run_srt(s, &o, "echo ran");
        assert_int_not_equal(o.status, 0);
        expect_not_in(o.out, "ran");
}

int main(void) {
        return run_all_tests_in(site_setup, site_teardown);
}

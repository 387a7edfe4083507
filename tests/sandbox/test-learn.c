/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun learn`: what it writes lets the same command pass, and shows nothing that wasn't used; secrets are
 * never shown. */
#include "harness.h"

static char *make_path(const struct site *s, const char *path) {
        _cleanup_free_ char *line = text_of("mkdir -p \"$(dirname '%s/%s')\"", s->home, path);

        assert_int_equal(system(line), 0);
        return path_of(s->home, path);
}

static void make_in_home(const struct site *s, const char *path, const char *text, mode_t mode) {
        _cleanup_free_ char *full = make_path(s, path);
        FILE *f = fopen(full, "we");

        assert_non_null(f);
        assert_true(fputs(text, f) >= 0);
        assert_int_equal(fclose(f), 0);
        assert_int_equal(chmod(full, mode), 0);
}

/* A home with an SDK, a tool, a cache, secrets, and other people's things. */
static void make_home(const struct site *s) {
        make_in_home(s, "sdk/include/one.h", "1\n", 0644);
        make_in_home(s, "sdk/include/two.h", "2\n", 0644);
        make_in_home(s, "sdk/include/three.h", "3\n", 0644);
        make_in_home(s, "sdk/doc/manual", "long\n", 0644);
        make_in_home(s, "tools/tool",
                     "#!/bin/sh\ncat \"$HOME/lib/data\" && echo used >>\"$HOME/store/log\"\n", 0755);
        make_in_home(s, "lib/data", "data\n", 0644);
        make_in_home(s, "store/log", "", 0644);
        make_in_home(s, "work/other/file", "private\n", 0644);
        make_in_home(s, "work/other/.env", "TOKEN=1\n", 0644);
        make_in_home(s, ".ssh/id_ed25519", "KEY\n", 0600);
        make_in_home(s, ".config/gh/hosts.yml", "token\n", 0600);
        make_in_home(s, ".config/app/settings", "blue\n", 0644);
        make_in_home(s, ".config/Code/User/state.vscdb", "token\n", 0600);
        make_in_home(s, ".config/chat/Local Storage/leveldb/1.log", "token\n", 0600);
}

static const char build[] = "set -e\n"
                            "cat ~/sdk/include/one.h ~/sdk/include/two.h ~/sdk/include/three.h >built\n"
                            "~/tools/tool >>built; cat ~/.config/app/settings >>built; cat built\n";

static char *configuration(const struct site *s) {
        return path_of(s->outside, "learned.json");
}

TEST(a_command_passes_under_what_was_learned_of_it_and_sees_no_more) {
        const struct site *s = *state;
        _cleanup_free_ char *file = configuration(s), *text = NULL, *log = NULL, *logged = NULL;
        _cleanup_outcome_ struct outcome before = {0}, learned = {0}, after = {0}, beside = {0};

        make_home(s);
        NSRUN(s, &before, "run", "--project=.", "--", "sh", "-c", build);
        assert_int_not_equal(before.status, 0);
        NSRUN(s, &learned, "learn", "--project=.", "-o", file, "--", "sh", "-c", build);
        expect_status(&learned, 0);
        expect_out(&learned, "1\n2\n3\ndata\nblue\n");
        text = file_text(file);
        assert_non_null(text);
        expect_in(text, "{\"path\": \"~/sdk/include\", \"//\": \"cat: 3 paths\"}");
        expect_in(text, "{\"path\": \"~/lib/data\", \"//\": \"cat\"}");
        expect_in(text, "{\"path\": \"~/tools/tool\", ");
        expect_in(text, "{\"path\": \"~/.config/app/settings\", \"//\": \"cat\"}");
        expect_in(text, "\"overlay\": [");
        expect_in(text, "{\"path\": \"~/store\", \"//\": \"tool; written to, which is thrown away\"}");
        expect_not_in(text, "work");
        expect_not_in(text, "doc");
        expect_not_in(text, "not given");
        NSRUN(s, &after, "run", "--project=.", "--config", file, "--", "sh", "-c", build);
        expect_status(&after, 0);
        expect_out(&after, "1\n2\n3\ndata\nblue\n");
        assert_string_equal(after.err, "");
        NSRUN(s, &beside, "run", "--project=.", "--config", file, "--", "sh", "-c",
              "for f in ~/sdk/doc ~/work ~/.ssh ~/.config/gh ~/lib/other ~/tools/other; do "
              "test ! -e $f || echo $f; done");
        expect_status(&beside, 0);
        expect_out(&beside, "");
        log = path_of(s->home, "store/log");
        logged = file_text(log);
        assert_string_equal(logged, "");
}

TEST(secrets_are_not_shown_while_learning_and_are_listed) {
        const struct site *s = *state;
        _cleanup_free_ char *file = configuration(s), *text = NULL, *line = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        make_home(s);
        NSRUN(s, &o, "learn", "--project=.", "-o", file, "--", "sh", "-c",
              "cat ~/.ssh/id_ed25519 ~/.ssh/missing ~/.config/gh/hosts.yml ~/work/other/.env "
              "~/.config/Code/User/state.vscdb ~/.config/chat/Local*/leveldb/1.log 2>/dev/null; "
              "ls -d ~/.ssh ~/.config/gh 2>/dev/null; cat ~/work/other/file");
        expect_status(&o, 0);
        expect_out(&o, "private\n");
        text = file_text(file);
        for (const char *const *path = OPTIONS(".ssh/id_ed25519", ".ssh/missing", ".config/gh/hosts.yml",
                                               "work/other/.env", ".config/Code/User/state.vscdb");
             *path; path++) {
                free(line);
                line = text_of("%s/%s: asked for by cat, not given: it may hold a secret", s->home, *path);
                expect_in(text, line);
                expect_in(o.err, line);
        }
        expect_in(text, "{\"path\": \"~/work/other/file\", \"//\": \"cat\"}");
        expect_not_in(text, "\"~/.ssh");
        /* Nor is one reached by another name in the folders that are shown. */
        NSRUN(s, &o, "learn", "--project=.", "--", "sh", "-c",
              "cd ~/work/other; ln .env env; mv .env env; cd ..; mv other o; cat o/.env; cat o/env; "
              "ln -s ../.ssh ssh; cat ssh/id_ed25519; true");
        expect_not_in(o.out, "TOKEN");
        expect_not_in(o.out, "KEY");
}

/* A command can make anything in the sandbox's own home, where the host's links lead, too. */
TEST(what_a_command_makes_where_the_host_has_something_unseen_makes_no_rule) {
        const struct site *s = *state;
        _cleanup_free_ char *keys = make_path(s, "work/other/keys"), *dots = make_path(s, "work/dots"),
                            *said = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        make_home(s);
        make_in_home(s, "passwords.txt", "sesame\n", 0644);
        make_in_home(s, ".config/loose", "sesame\n", 0644);
        make_in_home(s, ".ssh/config", "Host\n", 0600);
        assert_int_equal(symlink("../../.ssh", keys), 0);
        assert_int_equal(symlink("../.config", dots), 0);
        NSRUN(s, &o, "learn", "--project=.", "--", "sh", "-c",
              "set -e; mkdir -p ~/.ssh ~/.config; for f in ~/passwords.txt ~/.config/loose ~/.ssh/config; "
              "do echo own >$f; cat $f; done; cat ~/work/other/keys/config; "
              "echo x >~/work/other/keys/new; echo x >~/work/dots/new; cat ~/lib/data");
        expect_status(&o, 0);
        said = text_of("%s/.ssh/config: asked for by cat, not given: it may hold a secret", s->home);
        expect_in(o.out, "own\nown\nown\nown\ndata\n{\n");
        expect_in(o.out, "    \"readable\": [{\"path\": \"~/lib/data\", \"//\": \"cat\"}],\n");
        expect_in(o.out, said);
        expect_not_in(o.out, "\"overlay\"");
}

TEST(a_folder_stands_for_what_was_used_of_it_and_not_for_the_secrets_in_it) {
        const struct site *s = *state;
        _cleanup_free_ char *file = configuration(s), *text = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        make_home(s);
        make_in_home(s, "work/other/a", "a\n", 0644);
        make_in_home(s, "work/other/b", "b\n", 0644);
        make_in_home(s, "work/other/deep/[x]{a,b}.key", "KEY\n", 0644);
        make_in_home(s, "store/.env", "TOKEN=2\n", 0644);
        NSRUN(s, &o, "learn", "--project=.", "-o", file, "--", "sh", "-c",
              "cd ~/work/other; cat file a b; echo used >>~/store/log");
        expect_status(&o, 0);
        expect_out(&o, "private\na\nb\n");
        text = file_text(file);
        expect_in(text, "{\"path\": \"~/work/other\", \"//\": \"cat: 3 paths\"}");
        expect_in(text, "\"~/work/other/.env\"");
        expect_in(text, "\"~/work/other/deep/\\\\[x]?a,b}.key\"");
        expect_in(text, "\"~/store/.env\"");
        NSRUN(s, &o, "run", "--project=.", "--config", file, "--", "sh", "-c",
              "cd ~/work/other; cat file a b; cat .env ~/store/.env deep/*");
        expect_out(&o, "private\na\nb\n");
        expect_status(&o, 1);
}

TEST(a_protected_name_that_is_written_to_is_told_and_makes_no_rule) {
        const struct site *s = *state;
        _cleanup_free_ char *said = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        make_home(s);
        make_folder(s->project, ".git/hooks");
        said = text_of("%s/.git/hooks/pre-commit: asked for by sh, not given: it is protected, since "
                       "programs on the host obey it",
                       s->project);
        NSRUN(s, &o, "learn", "--project=.", "--", "sh", "-c",
              "{ echo x >.git/hooks/pre-commit; } 2>/dev/null; true");
        expect_status(&o, 0);
        expect_in(o.out, said);
        expect_not_in(o.out, "\"overlay\"");
}

TEST(what_a_repository_names_makes_no_rule) {
        const struct site *s = *state;
        _cleanup_free_ char *said = text_of("%s/lib/data: asked for by cat, not given: the repository's "
                                            "configuration names it",
                                            s->home),
                            *git_dir = path_of(s->project, ".git");
        _cleanup_outcome_ struct outcome o = {0};

        make_home(s);
        make_folder(s->project, ".git");
        make_file(git_dir, "HEAD", "ref: refs/heads/main\n");
        for (int i = 0; i < 2; i++) {
                make_file(git_dir, "config", i == 0 ? "" : "[include]\npath = ~/lib/data\n");
                NSRUN(s, &o, "learn", "--project=.", "--", "sh", "-c", "cat ~/lib/data ~/store/log");
                expect_status(&o, 0);
                (i == 0 ? expect_not_in : expect_in)(o.out, said);
                (i == 0 ? expect_in : expect_not_in)(o.out, "\"~/lib/data\"");
                expect_in(o.out, "\"~/store/log\"");
        }
}

TEST(a_link_that_the_command_turns_does_not_move_the_file) {
        const struct site *s = *state;
        _cleanup_free_ char *link = path_of(s->project, "link"), *file = configuration(s),
                            *elsewhere = path_of(s->home, "learned.json"), *script = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        make_home(s);
        assert_int_equal(symlink(s->outside, link), 0);
        script = text_of("rm link && ln -s %s link", s->home);
        NSRUN(s, &o, "learn", "--project=.", "-o", "link/learned.json", "--", "sh", "-c", script);
        expect_status(&o, 0);
        assert_int_equal(access(elsewhere, F_OK), -1);
        assert_int_equal(access(file, F_OK), 0);
}

TEST(an_update_adds_to_a_file_and_keeps_what_a_person_wrote) {
        const struct site *s = *state;
        _cleanup_free_ char *file = configuration(s), *text = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        make_home(s);
        make_file(s->outside, "learned.json",
                  "{\"version\": 1, \"// mine\": [\"two\", \"lines\"], \"hostname\": \"box\",\n"
                  " \"readable\": [\"~/lib/data\", {\"path\": \"~/tools\", \"//\": \"all of them\"}]}");
        NSRUN(s, &o, "learn", "--project=.", "--update", file, "--", "sh", "-c",
              "hostname; cat ~/lib/data ~/sdk/doc/manual");
        expect_status(&o, 0);
        expect_out(&o, "box\ndata\nlong\n");
        text = file_text(file);
        assert_string_equal(text, "{\n"
                                  "    \"version\": 1,\n"
                                  "    \"// mine\": [\"two\", \"lines\"],\n"
                                  "    \"hostname\": \"box\",\n"
                                  "    \"readable\": [\n"
                                  "        \"~/lib/data\",\n"
                                  "        {\"path\": \"~/tools\", \"//\": \"all of them\"},\n"
                                  "        {\"path\": \"~/sdk/doc/manual\", \"//\": \"cat\"}\n"
                                  "    ]\n"
                                  "}\n");
        NSRUN(s, &o, "run", "--project=.", "--config", file, "--", "cat", "/dev/null");
        expect_status(&o, 0);
}

TEST(options_stand_in_the_file_and_values_of_secrets_do_not) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_home(s);
        NSRUN(s, &o, "learn", "--project=.", "--net=none", "--env=MODE=fast", "--env=API_TOKEN=sesame",
              "--limit=nofile=99", "--", "true");
        expect_status(&o, 0);
        expect_out(&o, "{\n"
                       "    \"version\": 1,\n"
                       "    \"//\": \"what this needs: true (by 'nsrun learn')\",\n"
                       "    \"net\": \"none\",\n"
                       "    \"env\": {\"MODE\": \"fast\", \"API_TOKEN\": true},\n"
                       "    \"limits\": {\"nofile\": \"99\"}\n"
                       "}\n");
}

TEST(a_command_that_fails_says_so_in_its_file) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_home(s);
        NSRUN(s, &o, "learn", "--", "sh", "-c",
              "unshare -r true 2>/dev/null; cat ~/lib/data >/dev/null; exit 9");
        expect_status(&o, 9);
        expect_in(o.out, "(it failed when 'nsrun learn' ran it)");
        expect_in(o.out, "\"seccomp\": \"nested\"");
        expect_in(o.out, "\"~/lib/data\"");
        expect_in(o.err,
                  "nsrun: note: the command failed: what it would have used after that isn't known\n");
}

/* openat2(2) alone, which the default policy answers as older kernels do. */
TEST(a_command_that_stops_without_openat2_is_given_it) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_home(s);
        NSRUN(s, &o, "learn", "--", "python3", "-c",
              "import ctypes, os\n"
              "ctypes.CDLL(None).syscall(437, -100, b'.', (ctypes.c_uint64 * 3)(os.O_PATH), 24)\n"
              "os._exit(9)");
        expect_status(&o, 9);
        expect_in(o.out, "\"seccomp\": \"nested\"");
}

TEST(a_file_that_nsrun_would_not_obey_is_refused) {
        const struct site *s = *state;
        _cleanup_free_ char *file = configuration(s), *inside = path_of(s->project, "x.json"), *line = NULL,
                            *there = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        line = text_of(
                "nsrun: the command may write there, and no configuration that a command may have written "
                "is ever obeyed: %s; choose a place outside of the project, ~/.config/nsrun/NAME.json",
                inside);
        NSRUN(s, &o, "learn", "--project=.", "-o", inside, "--", "touch", "ran");
        expect_refusal(&o, 125, line);
        make_file(s->outside, "learned.json", "{}");
        there = text_of("nsrun: -o makes a new file, and this one is there: %s; --update FILE widens a "
                        "configuration",
                        file);
        NSRUN(s, &o, "learn", "--project=.", "-o", file, "--", "touch", "ran");
        expect_refusal(&o, 125, there);
        NSRUN(s, &o, "learn", "--no-sandbox", "--", "touch", "ran");
        expect_refusal(&o, 125,
                       "nsrun: nsrun learn runs a command in a sandbox of its own, in the profile code");
        assert_int_equal(faccessat(AT_FDCWD, inside, F_OK, 0), -1);
}

/* JSON has no way to say it: what the file says instead must not be another path, nor let a secret be seen.
 */
TEST(a_name_that_is_no_utf_8_shows_nothing_more) {
        static const char look[] = "cat ~/work/caf*/.env; cat ~/work/a ~/work/b; ls ~/work; cat ~/odd?/file";
        const struct site *s = *state;
        _cleanup_free_ char *file = configuration(s), *text = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        make_in_home(s, "work/caf\351/.env", "TOKEN=1\n", 0644);
        make_in_home(s, "work/a", "a\n", 0644);
        make_in_home(s, "work/b", "b\n", 0644);
        make_in_home(s, "odd\351/file", "odd\n", 0644);
        NSRUN(s, &o, "learn", "--project=.", "-o", file, "--", "sh", "-c", look);
        text = file_text(file);
        expect_in(text, "\"hide\": [\"~/work/caf?/.env\"]");
        expect_in(text, "/odd\357\277\275/file: used, not given: its name is no UTF-8\"");
        NSRUN(s, &o, "run", "--config", file, "--project=.", "--", "sh", "-c", look);
        expect_in(o.out, "a\nb\n");
        expect_not_in(o.out, "TOKEN");
        expect_not_in(o.out, "odd");
}

/* Nor what the options said. */
TEST(an_option_that_is_no_utf_8_is_told_and_makes_no_other) {
        const struct site *s = *state;
        _cleanup_free_ char *file = configuration(s), *folder = path_of(s->home, "odd\351"), *text = NULL,
                            *line = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        make_in_home(s, "odd\351/file", "odd\n", 0644);
        NSRUN(s, &o, "learn", "--project=.", "-o", file, "--ro", folder, "--env", "KEPT=\303\244", "--env",
              "CUT=x\351", "--", "true");
        expect_status(&o, 0);
        text = file_text(file);
        line = text_of("\"ro %s/odd\357\277\275: in force, not given: it is no UTF-8\"", s->home);
        expect_in(text, line);
        expect_in(text, "\"env CUT: in force, not given: it is no UTF-8\"");
        expect_in(text, "\"env\": {\"KEPT\": \"\303\244\"}");
        expect_not_in(text, "\"readable\":");
        NSRUN(s, &o, "run", "--config", file, "--project=.", "--", "sh", "-c", "echo $KEPT$CUT");
        expect_out(&o, "\303\244\n");
}

TEST(all_that_is_protected_is_learned) {
        const struct site *s = *state;
        _cleanup_free_ char *file = configuration(s), *text = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        NSRUN(s, &o, "learn", "--project=.", "-o", file, "--protect=strict", "--protect=a", "--", "true");
        expect_status(&o, 0);
        text = file_text(file);
        expect_in(text, "\"protect\": [\"strict\", \"a\"]");
        NSRUN(s, &o, "run", "--config", file, "--project=.", "--", "sh", "-c",
              "echo x >a || echo x >.envrc");
        expect_in(o.err, "a: Read-only file system");
        expect_in(o.err, ".envrc: Read-only file system");
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --profile=instance, of the real program: what an instance's command sees and where its home
 * is, what the command line adds, and which configurations and leftovers are refused. */
#include "instance.h"

TEST(the_home_is_the_instances_and_lives_on) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *kept = NULL;

        make_file(s->home, "secret", "x");
        INSTANCE(
                s, &o, "--", "sh", "-c",
                "echo $HOME; echo $TMPDIR; echo $XDG_CONFIG_HOME; echo $XDG_CACHE_HOME; echo $XDG_STATE_HOME; pwd;"
                "echo kept >~/kept; mktemp >/dev/null && ls ~/../..");
        expect_status(&o, 0);
        expect_text(s, o.out,
                    "@home/.nsrun/runtime-user-env/home\n@home/.nsrun/runtime-user-env/tmp\n"
                    "@home/.nsrun/runtime-user-env/config\n@home/.nsrun/runtime-user-env/cache\n"
                    "@home/.nsrun/runtime-user-env/state\n@project\n"
                    "cache\nlogs\nruntime-user-env\nskills\nstate\nworkspace\n");
        kept = path_of(s->home, ".nsrun/runtime-user-env/home/kept");
        assert_int_equal(access(kept, F_OK), 0);
        /* Of the user's home there is the way to the instance, and nothing more. */
        _cleanup_free_ char *script = expanded(s, "ls -A @home; cat ~/kept; echo no >@home/x");
        INSTANCE(s, &o, "--", "sh", "-c", script);
        expect_text(s, o.out, ".nsrun\nkept\n");
        expect_in(o.err, "Read-only file system");
}

TEST(the_root_is_chosen_by_the_option_or_the_variable) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *a = path_of(s->root, "a"), *b = path_of(s->root, "b/c");

        assert_int_equal(setenv("NSRUN_HOME", a, 1), 0);
        INSTANCE(s, &o, "--", "sh", "-c", "echo $HOME");
        expect_text(s, o.out, "@root/a/runtime-user-env/home\n");
        INSTANCE(s, &o, "--instance", b, "--", "sh", "-c", "echo $HOME");
        expect_text(s, o.out, "@root/b/c/runtime-user-env/home\n");
        assert_int_equal(setenv("NSRUN_HOME", ".", 1), 0);
        INSTANCE(s, &o, "--", "true");
        expect_line(
                s, &o,
                "the instance root is relative: .; name an absolute path with --instance DIR or NSRUN_HOME");
        assert_int_equal(unsetenv("NSRUN_HOME"), 0);
        INSTANCE(s, &o, "--instance", s->home, "--", "true");
        expect_line(
                s, &o,
                "a home folder can't be the instance root: @home; choose a folder with --instance DIR or "
                "NSRUN_HOME");
        RUN(s, &o, "--instance", a, "--", "true");
        expect_line(s, &o, "--instance is of no use without its profile: @root/a; add --profile=instance");
        INSTANCE(s, &o, "--project", s->home, "--", "true");
        expect_line(
                s, &o,
                "a home folder can't be the working directory: @home; choose a folder with --project DIR, or "
                "use --no-project");
}

TEST(a_plan_makes_nothing) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        char *before = snapshot(s->root);

        PLAN(s, &o, "--", "true");
        expect_status(&o, 0);
        expect_in(o.out, "/home/.nsrun");
        expect_unchanged(s->root, before);
}

TEST(exposed_paths_are_where_they_should_be) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *file = path_of(s->root, "c.json"), *ro = path_of(s->root, "ro");
        _cleanup_free_ char *rw = path_of(s->root, "rw");

        make_folder(s->root, "ro");
        make_folder(s->root, "rw");
        make_file(ro, "name", "ro\n");
        make_file(rw, "name", "rw\n");
        write_config(s, "{\"isolation\": {\"enabled\": true, \"expose_paths\": [\n"
                        "{\"source\": \"@root/rw\", \"target\": \"/a\", \"mode\": \"rw\"},\n"
                        "{\"source\": \"@root/x/../rw/\", \"target\": \"/b/./c\", \"mode\": \"rw\"},\n"
                        "{\"source\": \"@root/ro\", \"target\": \"/b/x/../../a\", \"mode\": \"ro\"},\n"
                        "{\"source\": \"@root/ro\", \"target\": \"\", \"mode\": \"ro\"}]}}");
        INSTANCE(s, &o, "--config", file, "--", "sh", "-c",
                 "cat /a/name /b/c/name ../ro/name; echo w >/b/c/w; echo w >/a/w; echo w >../ro/w");
        expect_text(s, o.out, "ro\nrw\nro\n");
        expect_in(o.err, "/a/w: Read-only file system");
        expect_in(o.err, "../ro/w: Read-only file system");
        expect_not_in(o.err, "/b/c/w");
        /* The command line goes before. */
        INSTANCE(s, &o, "--config", file, "--rw", ro, "--", "sh", "-c", "echo w >../ro/w && cat ../ro/w");
        expect_status(&o, 0);
        expect_text(s, o.out, "w\n");
}

TEST(hostile_expose_paths_are_refused_where_they_stand) {
        static const struct {
                const char *item, *line;
        } cases[] = {
                {"{\"source\": \"/\", \"mode\": \"ro\"}",
                 "@root/c.json:2:1: expose_paths would expose the whole file system: /; name the folders that the "
                 "command needs"},
                {"{\"source\": \"/usr/../../\", \"target\": \"/x\", \"mode\": \"rw\"}",
                 "@root/c.json:2:1: expose_paths would expose the whole file system: /; name the folders that the "
                 "command needs"},
                {"{\"source\": \"@home\", \"target\": \"/x/..\", \"mode\": \"ro\"}",
                 "@root/c.json:2:1: expose_paths would replace the sandbox's root: /; name a path below it"},
                {"{\"source\": \"/proc/1\", \"target\": \"/p\", \"mode\": \"ro\"}",
                 "@root/c.json:2:1: expose_paths would expose the host's /proc: /proc/1; the sandbox has a /proc "
                 "and a /dev of its own"},
                {"{\"source\": \"/etc\", \"mode\": \"rw\"}",
                 "@root/c.json:2:1: expose_paths would make a system root writable: /etc; expose it with --ro@instead"},
                {"{\"source\": \"@root/loop\", \"mode\": \"ro\"}",
                 "the source of @root/c.json:2:1: expose_paths can't be opened: @root/loop: Too many levels of "
                 "symbolic links"},
                {"{\"source\": \"@root/missing\", \"mode\": \"ro\"}",
                 "the source of @root/c.json:2:1: expose_paths can't be opened: @root/missing: No such file or "
                 "directory; create it first, or take it out there"},
                {"{\"source\": \"@project/planted\", \"target\": \"/x\", \"mode\": \"ro\"}",
                 "@root/c.json:2:1: expose_paths goes through a symlink in a writable folder: @project/planted; it "
                 "leads to @home, and a command in the sandbox may have planted it: name the real path"},
                {"{\"source\": \"@root/d.sock\", \"mode\": \"ro\"}",
                 "@root/c.json:2:1: expose_paths would expose a container engine's control socket: @root/d.sock; "
                 "whoever can connect to it is as good as root on this machine"},
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *file = path_of(s->root, "c.json"), *host = text_of("unix://%s/d.sock", s->root);

        make_link(s->root, "loop", "loop");
        make_link(s->project, "planted", s->home);
        make_file(s->root, "d.sock", "");
        assert_int_equal(setenv("DOCKER_HOST", host, 1), 0);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *text =
                        text_of("{\"isolation\": {\"expose_paths\": [\n%s]}}", cases[i].item);

                write_config(s, text);
                INSTANCE(s, &o, "--config", file, "--", "true");
                expect_line(s, &o, cases[i].line);
        }
        assert_int_equal(unsetenv("DOCKER_HOST"), 0);
        write_config(
                s,
                "{\"isolation\": {\"expose_paths\": [\n{\"source\": \"@root/d.sock\", \"mode\": \"ro\"}]}}");
        INSTANCE(s, &o, "--config", file, "--", "true");
        expect_status(&o, 0);
}

TEST(ten_thousand_expose_paths_are_applied_exactly) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *file = path_of(s->root, "c.json"), *shown = path_of(s->root, "shown");
        FILE *f = fopen(file, "we");

        assert_non_null(f);
        make_folder(s->root, "shown");
        make_file(shown, "f", "x\n");
        (void)fprintf(f, "{\"isolation\": {\"expose_paths\": [\n");
        for (int i = 0; i < 10000; i++)
                (void)fprintf(f, "%s{\"source\":\"%s\",\"target\":\"/many/%d\",\"mode\":\"ro\"}",
                              i > 0 ? ",\n" : "", shown, i);
        (void)fprintf(f, "]}}");
        assert_int_equal(fclose(f), 0);
        INSTANCE(s, &o, "--config", file, "--", "sh", "-c", "cat /many/0/f /many/9999/f; ls /many | wc -l");
        expect_status(&o, 0);
        expect_out(&o, "x\nx\n10000\n");
        /* The last of them is wrong. */
        assert_int_equal(truncate(file, 0), 0);
        f = fopen(file, "we");
        assert_non_null(f);
        (void)fprintf(f, "{\"isolation\": {\"expose_paths\": [\n");
        for (int i = 0; i < 10000; i++)
                (void)fprintf(f, "%s{\"source\":\"%s\",\"target\":\"/many/%d\",\"mode\":\"%s\"}",
                              i > 0 ? ",\n" : "", shown, i, i == 9999 ? "no" : "ro");
        (void)fprintf(f, "]}}");
        assert_int_equal(fclose(f), 0);
        INSTANCE(s, &o, "--config", file, "--", "true");
        expect_line(
                s, &o,
                "@root/c.json:10001:1: expose_paths: the mode is neither ro nor rw: no; choose ro or rw");
}

/* ----------------------------------------------------------- the command line */

TEST(files_named_are_read_only_and_folders_are_writable) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *folder = path_of(s->outside, "folder"), *key = path_of(s->outside, "key");
        _cleanup_free_ char *file = path_of(s->outside, "file"), *other = path_of(s->outside, "other");
        _cleanup_free_ char *option = text_of("--out=%s", key);

        make_folder(s->outside, "folder");
        make_folder(s->outside, "key");
        make_file(s->outside, "file", "file\n");
        make_file(s->outside, "other", "other\n");
        INSTANCE(s, &o, "--", "sh", "-c",
                 "cat \"$1\"; echo w >\"$2/w\"; echo w >\"${3#--out=}/w\"; echo w >\"$1\"; ls -A \"$4\"",
                 "sh", file, folder, option, "/usr/..");
        expect_in(o.out, "file\n");
        expect_in(o.err, "/outside/file: Read-only file system");
        expect_not_in(o.err, "/w");
        expect_not_in(o.out, "outside");
        /* What was not named is not there. */
        _cleanup_free_ char *script = text_of("cat %s", other);
        INSTANCE(s, &o, "--", "sh", "-c", script, "sh", file);
        expect_in(o.err, "No such file or directory");
        INSTANCE(s, &o, "--", "cat", other);
        expect_status(&o, 0);
        expect_out(&o, "other\n");
}

/* The kernel walks through each folder that a path leaves by "..": it is there, and shows nothing. */
TEST(a_path_may_leave_folders_that_are_not_shown) {
        static const struct {
                const char *path, *out;
        } cases[] = {
                {"@root/other/../outside/x", "x\n"},
                {"@root/other//.././other/sub/../../outside/x", "x\n"},
                /* A symlink's own parent folder, twice, and what lies there. */
                {"@root/link/../y", "y\n"},
                {"@root/link/../deep/../../outside/x", "x\n"},
                {"--file=@root/other/../outside/x", "x\n"},
                {"/tmp/..@root/outside/x", "x\n"},
                {"/../usr/..@root/outside/x", "x\n"},
                {"@project/../outside/x", "x\n"},
                {"@home/.nsrun/../../outside/x", "x\n"},
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *left = expanded(s, "@root/missing/../outside/x"),
                            *file = expanded(s, "@root/outside/x/../x"),
                            *tool = expanded(s, "@root/other/../outside/tool"),
                            *program_path = path_of(s->outside, "tool"),
                            *elsewhere = expanded(s, "@root/link/../y"),
                            *planted = expanded(s, "@project/planted/../y"), *same = path_of(s->root, "y"),
                            *script =
                                    expanded(s, "ls -A @root/other @root/away/deep; echo w >@root/other/w");

        for (size_t i = 0; i < 2; i++) {
                make_folder(s->root, i ? "away" : "other");
                make_folder(s->root, i ? "away/deep" : "other/sub");
        }
        make_file(s->root, "other/secret", "secret\n");
        make_file(s->root, "away/deep/secret", "secret\n");
        make_file(s->root, "away/y", "y\n");
        make_file(s->root, "y", "another\n");
        make_file(s->outside, "x", "x\n");
        make_file(s->outside, "tool", "#!/bin/sh\necho tool\n");
        assert_int_equal(chmod(program_path, 0755), 0);
        make_link(s->root, "link", "away/deep");
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *path = expanded(s, cases[i].path);

                INSTANCE(s, &o, "--", "sh", "-c", "cat \"${1#--file=}\"", "sh", path);
                expect_out(&o, cases[i].out);
                expect_status(&o, 0);
        }
        INSTANCE(s, &o, "--", tool);
        expect_out(&o, "tool\n");
        INSTANCE(s, &o, "--", "sh", "-c", script, "sh", tool, elsewhere);
        expect_text(s, o.out, "@root/away/deep:\n\n@root/other:\n");
        expect_in(o.err, "Read-only file system");
        /* One folder's file is no other's of that name. */
        INSTANCE(s, &o, "--", "cat", elsewhere, same);
        expect_out(&o, "y\nanother\n");
        /* What the host's kernel doesn't walk through, the sandbox's doesn't. */
        INSTANCE(s, &o, "--", "cat", left);
        expect_in(o.err, "No such file or directory");
        INSTANCE(s, &o, "--", "cat", file);
        expect_in(o.err, "directory");
        make_link(s->project, "planted", "../away/deep");
        INSTANCE(s, &o, "--", "cat", planted);
        expect_line(s, &o,
                    "an argument goes through a symlink in a writable folder: @project/planted; it leads to "
                    "@root/away/y, and a command in the sandbox may have planted it: name the real path");
}

TEST(what_is_missing_can_be_made_but_not_in_a_home) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *made = path_of(s->outside, "new/file"), *at_home = path_of(s->home, "new");
        _cleanup_free_ char *parent = path_of(s->outside, "new"), *hidden = path_of(s->home, ".keys");
        _cleanup_free_ char *in_hidden = path_of(hidden, "new"), *old = path_of(hidden, "old");

        INSTANCE(s, &o, "--", "sh", "-c", "mkdir \"${1%/*}\" && echo w >\"$1\"", "sh", made);
        expect_status(&o, 0);
        assert_int_equal(access(made, F_OK), 0);
        assert_int_equal(access(parent, F_OK), 0);
        INSTANCE(s, &o, "--", "sh", "-c", "echo w >\"$1\"", "sh", at_home);
        expect_in(o.err, "Read-only file system");
        assert_int_equal(access(at_home, F_OK), -1);
        /* Where others keep their keys and settings is no better. */
        make_file(s->home, ".keys/old", "x");
        INSTANCE(s, &o, "--", "sh", "-c", "echo w >\"$1\"", "sh", in_hidden);
        expect_in(o.err, "cannot create");
        /* What is there is another matter. */
        INSTANCE(s, &o, "--", "cat", old);
        expect_out(&o, "x");
        assert_int_equal(access(in_hidden, F_OK), -1);
        /* Nor is the home itself shown for the naming. */
        make_file(s->home, "secret", "x");
        INSTANCE(s, &o, "--", "ls", "-A", s->home);
        expect_out(&o, ".nsrun\n");
}

TEST(the_executable_comes_with_its_folder) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *bin = path_of(s->outside, "bin"), *real = path_of(s->outside, "real");
        _cleanup_free_ char *tool = path_of(bin, "tool"), *target = path_of(real, "tool.sh");
        _cleanup_free_ char *path = text_of("%s:%s", bin, getenv("PATH")), *old = strdup(getenv("PATH"));

        make_folder(s->outside, "bin");
        make_folder(s->outside, "real");
        make_file(real, "tool.sh",
                  "#!/bin/sh\ncat \"$(dirname \"$(readlink -f \"$0\")\")/data\"\n"
                  "echo w >\"$(dirname \"$(readlink -f \"$0\")\")/data\"\n");
        make_file(real, "data", "data\n");
        assert_int_equal(chmod(target, 0755), 0);
        make_link(bin, "tool", "../real/tool.sh");
        INSTANCE(s, &o, "--", tool);
        expect_out(&o, "data\n");
        expect_in(o.err, "Read-only file system");
        assert_int_equal(setenv("PATH", path, 1), 0);
        INSTANCE(s, &o, "--", "tool");
        assert_int_equal(setenv("PATH", old, 1), 0);
        expect_out(&o, "data\n");
}

/* As npx of a node in a folder of its own, which is a link to a script of the package npm. */
TEST(a_linked_tool_finds_its_package_and_can_not_change_it) {
        static const char tool[] =
                "#!/bin/sh\ncd \"$(dirname \"$(readlink -f \"$0\")\")\" && cat ../lib/data "
                "../../other/data && echo w >../lib/w\n";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *link = path_of(s->outside, "v20/bin/tool"), *target = NULL;
        _cleanup_free_ char *data = path_of(s->outside, "v20/lib/data"), *planted = NULL;

        run_outside(s, &o,
                    "cd ../outside && mkdir -p v20/bin v20/lib/node_modules/tool/bin "
                    "v20/lib/node_modules/tool/lib v20/lib/node_modules/other");
        expect_status(&o, 0);
        make_file(s->outside, "v20/lib/data", "not a package's\n");
        make_file(s->outside, "v20/lib/node_modules/tool/lib/data", "its own\n");
        make_file(s->outside, "v20/lib/node_modules/other/data", "another's\n");
        make_file(s->outside, "v20/lib/node_modules/tool/bin/tool.sh", tool);
        target = path_of(s->outside, "v20/lib/node_modules/tool/bin/tool.sh");
        assert_int_equal(chmod(target, 0755), 0);
        make_link(s->outside, "v20/bin/tool", "../lib/node_modules/tool/bin/tool.sh");
        INSTANCE(s, &o, "--", link);
        expect_out(&o, "its own\nanother's\n");
        expect_in(o.err, "Read-only file system");
        INSTANCE(s, &o, "--", "sh", "-c", "cat \"$1\"", "sh", data);
        expect_out(&o, "not a package's\n");
        make_file(s->outside, "v20/lib/node_modules/tool/bin/tool.sh",
                  "#!/bin/sh\ncat \"${0%/*}/../lib/data\"\n");
        INSTANCE(s, &o, "--", link);
        expect_in(o.err, "v20/bin/../lib/data: No such file or directory");
        /* Who chose the link chose the package. */
        planted = path_of(s->project, "tool");
        make_link(s->project, "tool", target);
        INSTANCE(s, &o, "--", planted);
        expect_line(
                s, &o,
                "the executable goes through a symlink in a writable folder: @project/tool; it leads to "
                "@root/outside/v20/lib/node_modules, and a command in the sandbox may have planted it: name "
                "the real path");
}

/* npm itself, where it is installed with node in the user's home. */
FULL_TEST(npx_of_a_node_in_the_home_runs, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *bin = path_of(s->home, ".nvm/versions/node/v1/bin");
        _cleanup_free_ char *path = text_of("%s:%s", bin, getenv("PATH")), *old = strdup(getenv("PATH"));
        const char *const tools[] = {"npm", "npx"};

        if (!has_program("npm"))
                skip_because("skipped: npm is not installed");
        run_outside(
                s, &o,
                "to=~/.nvm/versions/node/v1 npm=$(dirname \"$(dirname \"$(readlink -f \"$(which npm)\")\")\")\n"
                "mkdir -p $to/bin $to/lib/node_modules && cp -RL \"$npm\" $to/lib/node_modules/npm && "
                "cp \"$(which node)\" $to/bin && cd $to/bin && "
                "ln -s ../lib/node_modules/npm/bin/npm-cli.js npm && "
                "ln -s ../lib/node_modules/npm/bin/npx-cli.js npx");
        expect_status(&o, 0);
        assert_int_equal(setenv("PATH", path, 1), 0);
        for (size_t i = 0; i < ARRAY_SIZE(tools); i++) {
                _cleanup_outcome_ struct outcome outside = {0};
                _cleanup_free_ char *script = text_of("%s --version", tools[i]);

                INSTANCE(s, &o, "--net=none", "--", tools[i], "--version");
                expect_status(&o, 0);
                run_outside(s, &outside, script);
                expect_out(&o, outside.out);
        }
        assert_int_equal(setenv("PATH", old, 1), 0);
}

TEST(a_planted_executable_brings_no_folder) {
        const struct site *s = *state;
        _cleanup_free_ char *tool = path_of(s->project, "tool"), *target = path_of(s->outside, "tool.sh");
        _cleanup_free_ char *by_hand = path_of(s->root, "tool");
        const char *const names[] = {"./tool", tool, by_hand};
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->outside, "tool.sh", "#!/bin/sh\ncat \"${1%/*}/key\"\n");
        make_file(s->outside, "key", "the key\n");
        assert_int_equal(chmod(target, 0755), 0);
        make_link(s->root, "tool", "outside/tool.sh");
        INSTANCE(s, &o, "--", by_hand, target);
        expect_out(&o, "the key\n");
        assert_int_equal(unlink(by_hand), 0);
        make_link(s->root, "tool", "project/tool");
        INSTANCE(s, &o, "--", "ln", "-s", "../outside/tool.sh", "tool");
        expect_status(&o, 0);
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                INSTANCE(s, &o, "--", names[i]);
                expect_line(s, &o,
                            "the executable goes through a symlink in a writable folder: @project/tool; it "
                            "leads to @root/outside, and a command in the sandbox may have planted it: name "
                            "the real path");
        }
}

TEST(a_folder_that_is_read_only_stays_so_whatever_is_named_in_it) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *file = path_of(s->root, "c.json"), *sub = path_of(s->outside, "sub");
        _cleanup_free_ char *other = path_of(s->root, "other");

        make_folder(s->outside, "sub");
        make_folder(s->root, "other");
        write_config(
                s,
                "{\"isolation\": {\"expose_paths\": [{\"source\": \"@root/outside\", \"mode\": \"ro\"}]}}");
        INSTANCE(s, &o, "--config", file, "--", "sh", "-c", "echo w >\"$1/w\"", "sh", sub);
        expect_in(o.err, "Read-only file system");
        INSTANCE(s, &o, "--config", file, "--", "sh", "-c", "echo w >\"$1/w\"", "sh", other);
        expect_status(&o, 0);
}

TEST(a_socket_that_the_command_line_names_is_refused) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *path = path_of(s->root, "d.sock"), *host = text_of("unix://%s", path);

        make_file(s->root, "d.sock", "");
        assert_int_equal(setenv("DOCKER_HOST", host, 1), 0);
        INSTANCE(s, &o, "--", "ls", path);
        expect_line(
                s, &o,
                "an argument would expose a container engine's control socket: @root/d.sock; whoever can "
                "connect to it is as good as root on this machine");
        assert_int_equal(unsetenv("DOCKER_HOST"), 0);
        INSTANCE(s, &o, "--", "ls", path);
        expect_status(&o, 0);
}

/* ------------------------------------------------------------------- hostility */

TEST(an_earlier_command_moves_no_folder_of_the_instance) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *script =
                expanded(s, "cd ~/.. && rm -r home tmp && ln -s @root/outside home && mkfifo tmp");
        char *before;

        INSTANCE(s, &o, "--", "sh", "-c", script);
        expect_status(&o, 0);
        before = snapshot(s->outside);
        INSTANCE(s, &o, "--", "true");
        expect_line(
                s, &o,
                "a folder of the instance can't be made: @home/.nsrun/runtime-user-env/home: Too many levels "
                "of symbolic links; something else is there, which a command may have put there: remove it");
        _cleanup_free_ char *home = path_of(s->home, ".nsrun/runtime-user-env/home");
        assert_int_equal(unlink(home), 0);
        INSTANCE(s, &o, "--", "true");
        expect_line(
                s, &o,
                "a folder of the instance can't be made: @home/.nsrun/runtime-user-env/tmp: Not a directory; "
                "something else is there, which a command may have put there: remove it");
        expect_unchanged(s->outside, before);
}

TEST(a_configuration_in_the_instance_is_refused) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *root = path_of(s->home, ".nsrun"), *file = path_of(root, "c.json"),
                            *beside = path_of(s->home, "c.json");

        INSTANCE(s, &o, "--", "true");
        expect_status(&o, 0);
        make_file(root, "c.json", "{}");
        INSTANCE(s, &o, "--config", file, "--", "true");
        expect_line(s, &o,
                    "the configuration lies in a writable folder, where a command could change it: "
                    "@home/.nsrun/c.json; keep it outside of what a command may write");
        /* What the instance's command could write no other run obeys, either. */
        RUN(s, &o, "--config", file, "--", "true");
        expect_line(
                s, &o,
                "the configuration lies in a folder that an earlier run could write, where a command could "
                "change it: @home/.nsrun/c.json; keep it outside of what a command may write");
        make_file(s->home, "c.json", "{}");
        RUN(s, &o, "--config", beside, "--", "true");
        expect_status(&o, 0);
}

/* ------------------------------------------------------------------- the rest */

TEST(a_disabled_isolation_runs_plainly_and_says_so) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *file = path_of(s->root, "c.json"), *home = text_of("%s\n", s->home);
        _cleanup_free_ char *warning = expanded(
                s,
                "nsrun: warning: isolation is disabled (@root/c.json:2:28: enabled): the command runs with no "
                "sandbox at all\n");

        write_config(s, "{\n\"isolation\": {\"enabled\":   false}}");
        INSTANCE(s, &o, "--config", file, "--", "sh", "-c", "echo $HOME; exit 7");
        expect_status(&o, 7);
        expect_out(&o, home);
        assert_string_equal(o.err, warning);
        INSTANCE(s, &o, "--config", file, "--status-fd", "1", "--", "true");
        expect_status(&o, 0);
        expect_in(o.out, "{\"event\":\"note\",\"message\":\"isolation is disabled");
        PLAN(s, &o, "--config", file, "--", "true");
        expect_line(
                s, &o,
                "isolation is disabled (@root/c.json:2:28: enabled); nsrun run would run the command with no "
                "sandbox at all");
        /* Without the profile it is not asked. */
        RUN(s, &o, "--config", file, "--", "sh", "-c", "ls -A $HOME");
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
        write_config(s, "{\"isolation\": {\"enabled\": true}}");
        INSTANCE(s, &o, "--config", file, "--", "sh", "-c", "[ $HOME != \"$1\" ]", "sh", s->home);
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
}

/* Else a command would write the file that leads the next one out of the sandbox. */
TEST(a_planted_configuration_disables_nothing) {
        static const char text[] = "{\"isolation\": {\"enabled\": false}}";
        const struct site *s = *state;
        _cleanup_free_ char *root = path_of(s->home, ".nsrun"), *real = path_of(s->outside, "c.json"),
                            *planted = path_of(s->project, "c.json"), *link = path_of(s->project, "link"),
                            *in_root = path_of(root, "c.json"),
                            *script = expanded(s, "ln -s @root/outside/c.json link && cp link c.json");
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->outside, "c.json", text);
        INSTANCE(s, &o, "--ro", s->outside, "--", "sh", "-c", script);
        expect_status(&o, 0);
        make_file(root, "c.json", text);
        INSTANCE(s, &o, "--config", planted, "--", "echo", "ran");
        expect_line(s, &o,
                    "the configuration lies in a writable folder, where a command could change it: "
                    "@project/c.json; keep it outside of what a command may write");
        INSTANCE(s, &o, "--config", in_root, "--", "echo", "ran");
        expect_line(s, &o,
                    "the configuration lies in a writable folder, where a command could change it: "
                    "@home/.nsrun/c.json; keep it outside of what a command may write");
        INSTANCE(s, &o, "--config", link, "--", "echo", "ran");
        expect_line(
                s, &o,
                "the configuration goes through a symlink in a writable folder: @project/link; it leads "
                "to @root/outside/c.json, and a command in the sandbox may have planted it: name the real "
                "path");
        INSTANCE(s, &o, "--rw", s->outside, "--config", real, "--", "echo", "ran");
        expect_line(s, &o,
                    "the configuration lies in a writable folder, where a command could change it: "
                    "@root/outside/c.json; keep it outside of what a command may write");
        INSTANCE(s, &o, "--config", real, "--", "echo", "ran");
        expect_out(&o, "ran\n");
        expect_status(&o, 0);
}

TEST(the_plan_is_logged_as_one_line) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *start = expanded(
                s,
                "{\"level\":\"debug\",\"message\":\"linux isolation mount plan\",\"root\":\"@home/.nsrun\","
                "\"command\":[\"true\"],\"working_dir\":\"@project\",\"mounts\":[{\"source\":\"");
        _cleanup_free_ char *mount =
                expanded(s, "{\"source\":\"@home/.nsrun\",\"target\":\"@home/.nsrun\",\"mode\":\"rw\"}");

        INSTANCE(s, &o, "--debug", "--", "true");
        expect_status(&o, 0);
        expect_in(o.err, start);
        expect_in(o.err, mount);
        expect_in(o.err, "{\"source\":\"/usr\",\"target\":\"/usr\",\"mode\":\"ro\"}");
        assert_ptr_equal(strchr(o.err, '\n'), o.err + strlen(o.err) - 1);
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --profile=instance, of the real program: the workspace, and the mount points that a run makes
 * in the instance, whatever an earlier command has left there. */
#include "instance.h"

/* --------------------------------------------------------------- the workspace */

TEST(the_workspace_is_made_and_is_where_commands_work) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *file = path_of(s->root, "c.json"), *sub = path_of(s->root, "ws/sub");
        _cleanup_free_ char *other = path_of(s->root, "other/deep"), *note = path_of(s->root, "ws/note");
        const struct site standing = {.project = sub};

        write_config(s, "{\"isolation\": {\"workspace\": \"@root/ws\"}}");
        /* It takes the place of the root's own, and of the current folder, which then isn't shown. */
        INSTANCE(s, &o, "--config", file, "--", "sh", "-c",
                 "pwd; echo w >note; mkdir sub; ls ~/../..; ls -A \"$1\"", "sh", "-");
        expect_text(s, o.out, "@root/ws\ncache\nlogs\nruntime-user-env\nskills\nstate\n");
        assert_int_equal(access(note, F_OK), 0);
        _cleanup_free_ char *script = expanded(s, "ls -A @root");
        INSTANCE(s, &o, "--config", file, "--", "sh", "-c", script);
        expect_in(o.out, "home\n");
        expect_not_in(o.out, "project");
        /* Who stands in it stays there. */
        INSTANCE(&standing, &o, "--config", file, "--", "sh", "-c", "pwd; cat ../note");
        expect_text(s, o.out, "@root/ws/sub\nw\n");
        INSTANCE(s, &o, "--config", file, "--project", s->project, "--", "sh", "-c",
                 "pwd; echo more >>\"$1\" && cat \"$1\"", "sh", note);
        expect_text(s, o.out, "@project\nw\nmore\n");
        INSTANCE(s, &o, "--config", file, "--no-project", "--", "sh", "-c", "pwd; cat \"$1\"", "sh", note);
        expect_text(s, o.out, "/workspace\nw\nmore\n");
        INSTANCE(s, &o, "--config", file, "--instance-workspace", other, "--", "sh", "-c", "pwd; cat \"$1\"",
                 "sh", "/no/such");
        expect_text(s, o.out, "@root/other/deep\n");
        expect_in(o.err, "/no/such");
        /* The key is for the profile alone; who gives the option without it is told. */
        RUN(s, &o, "--config", file, "--", "pwd");
        expect_text(s, o.out, "@project\n");
        RUN(s, &o, "--instance-workspace", other, "--", "true");
        expect_line(s, &o,
                    "--instance-workspace is of no use without its profile: @root/other/deep; add "
                    "--profile=instance");
}

TEST(a_workspace_that_is_none_is_refused) {
        static const struct {
                const char *dir, *line;
        } cases[] = {
                {"ws", "the instance's workspace is relative: ws; name an absolute path with "
                       "--instance-workspace DIR"},
                {"@home", "a home folder can't be the instance's workspace: @home; choose a folder with "
                          "--instance-workspace DIR"},
                {"/usr/../tmp",
                 "a system root can't be the instance's workspace: /tmp; choose a folder with "
                 "--instance-workspace DIR"},
                {"@home/.ssh", "the instance's workspace would hand the secrets of the home to the command: "
                               "@home/.ssh; --ro exposes single files of it; what shall be written belongs "
                               "into another folder"},
                {"@root/file",
                 "a folder of the instance can't be made: @root/file: Not a directory; something "
                 "else is there, which a command may have put there: remove it"},
                {"@home/.nsrun/planted",
                 "the instance's workspace goes through a symlink in a writable folder: @home/.nsrun/planted; it "
                 "leads to @root/outside, and a command in the sandbox may have planted it: name the real path"},
                {"@home/.nsrun/dangling/x",
                 "the instance's workspace goes through a symlink in a writable folder: @home/.nsrun/dangling; it "
                 "leads to @root/outside/new/x, and a command in the sandbox may have planted it: name the real "
                 "path"},
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *script =
                expanded(s, "cd ~/../.. && ln -s @root/outside planted && ln -s @root/outside/new dangling");
        char *before = snapshot(s->outside);

        make_file(s->root, "file", "x");
        make_folder(s->home, ".ssh");
        INSTANCE(s, &o, "--", "sh", "-c", script);
        expect_status(&o, 0);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *dir = expanded(s, cases[i].dir);

                INSTANCE(s, &o, "--instance-workspace", dir, "--", "true");
                expect_line(s, &o, cases[i].line);
        }
        expect_unchanged(s->outside, before);
        INSTANCE(s, &o, "--instance-workspace", s->outside, "--", "pwd");
        expect_text(s, o.out, "@root/outside\n");
}

/* --------------------------------------------------- mount points in the instance */

/* With @source/tool.sh and the folder @source/folder, both outside. */
static char *expose_two(const struct site *s, const char *file_target, const char *folder_target) {
        _cleanup_free_ char *text =
                text_of("{\"isolation\": {\"workspace\": \"@root/ws\", \"expose_paths\": [\n"
                        "{\"source\": \"@root/outside/file\", \"target\": \"%s\", \"mode\": \"ro\"},\n"
                        "{\"source\": \"@root/outside/folder\", \"target\": \"%s\", \"mode\": \"rw\"}]}}",
                        file_target, folder_target);

        write_config(s, text);
        return path_of(s->root, "c.json");
}

static void make_two(const struct site *s) {
        make_folder(s->outside, "folder");
        make_file(s->outside, "file", "exposed\n");
}

TEST(a_missing_mount_point_in_the_instance_is_made) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *file = expose_two(s, "@home/.nsrun/a/b/file", "@root/ws/assets"),
                            *script = NULL;
        _cleanup_free_ char *made = path_of(s->home, ".nsrun/a/b/file"), *written = NULL, *left = NULL;
        char *before = snapshot(s->root);

        make_two(s);
        free(before);
        before = snapshot(s->root);
        PLAN(s, &o, "--config", file, "--", "true");
        expect_status(&o, 0);
        expect_unchanged(s->root, before);
        script = expanded(s,
                          "cat @home/.nsrun/a/b/file && echo w >assets/w && echo w >@home/.nsrun/a/b/file");
        for (int i = 0; i < 2; i++) {
                INSTANCE(s, &o, "--config", file, "--", "sh", "-c", script);
                expect_out(&o, "exposed\n");
                expect_in(o.err, "/a/b/file: Read-only file system");
        }
        written = path_of(s->outside, "folder/w");
        assert_int_equal(access(written, F_OK), 0);
        /* What is left is empty. */
        left = file_text(made);
        assert_string_equal(left, "");
        PLAN(s, &o, "--config", file, "--format=json", "--", "true");
        expect_in(o.out, "\"makes_on_host\": true");
}

/* One place is refused, the other is fine. */
TEST(a_mount_point_elsewhere_is_not_made) {
        static const char *const targets[] = {"@project/new", "@root/inner/new", "@root/shown/new"};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_two(s);
        make_folder(s->root, "inner");
        make_folder(s->root, "shown");
        for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
                _cleanup_free_ char *file = expose_two(s, "@home/.nsrun/file", targets[i]);
                _cleanup_free_ char *inner = path_of(s->root, "inner"), *shown = path_of(s->root, "shown");
                _cleanup_free_ char *bind = text_of("%s:%s", shown, inner);
                _cleanup_free_ char *line = text_of(
                        "the mount point does not exist: %s: No such file or directory; make it on the host "
                        "first: nsrun leaves no ghost files in your folders",
                        targets[i]);
                _cleanup_free_ char *full = NULL;

                /* Another folder in the place of one of the instance's is none of its. */
                INSTANCE(s, &o, "--config", file, "--project", s->project, "--rw", shown, "--bind", bind,
                         "--instance-workspace", inner, "--", "true");
                expect_line(s, &o, line);
                full = expanded(s, targets[i]);
                assert_int_equal(access(full, F_OK), -1);
        }
}

TEST(a_planted_link_moves_no_mount_point_of_the_instance) {
        static const struct {
                const char *plant, *line;
        } cases[] = {
                {"ln -s @root/outside a",
                 "a mount point in the instance can't be made: @home/.nsrun/a/file: Too "
                 "many levels of symbolic links; something else is there, which a "
                 "command may have put there: remove it"},
                {"echo x >a",
                 "a mount point in the instance can't be made: @home/.nsrun/a/file: Not a directory; "
                 "something else is there, which a command may have put there: remove it"},
                {"mkdir a; ln -s @root/outside/new a/file",
                 "a symlink stands in the way of a mount point: @home/.nsrun/a/file: Too many levels of symbolic "
                 "links; nsrun follows none there: name the real path, or remove the link"},
                {"mkdir a; ln -s @root/outside/new a/folder",
                 "a mount point in the instance can't be made: @home/.nsrun/a/folder: Too many levels of symbolic "
                 "links; something else is there, which a command may have put there: remove it"},
                {"mkdir a; ln -s /proc/1/root a/folder",
                 "a mount point in the instance can't be made: @home/.nsrun/a/folder: Too many levels of symbolic "
                 "links; something else is there, which a command may have put there: remove it"},
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *file = NULL;
        char *before;

        make_two(s);
        file = expose_two(s, "@home/.nsrun/a/file", "@home/.nsrun/a/folder");
        before = snapshot(s->outside);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *plant = expanded(s, cases[i].plant);
                _cleanup_free_ char *script = text_of("cd ~/../.. && rm -rf a && %s", plant);

                INSTANCE(s, &o, "--", "sh", "-c", script);
                expect_status(&o, 0);
                INSTANCE(s, &o, "--config", file, "--", "true");
                expect_line(s, &o, cases[i].line);
        }
        expect_unchanged(s->outside, before);
        INSTANCE(s, &o, "--", "sh", "-c", "rm -rf ~/../../a");
        INSTANCE(s, &o, "--config", file, "--", "cat", "/dev/null");
        expect_status(&o, 0);
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* resolve/resolve.c, rules.c and refuse.c: what each refusal says, word for word. */
#include "policy-world.h"

/* What is advised to who may write there himself, and to others. */
#define WRITABLE_ROOT(option, path)                                                                      \
        (geteuid() == 0 ? option " would make a system root writable: " path                             \
                                 "; expose it with --ro, or use --overlay to throw away what is written" \
                        : option " would make a system root writable: " path                             \
                                 "; expose it with --ro: the user may not write there on the host either")

TEST_WITH(a_bad_project_is_refused, set_up, tear_down) {
        static const struct {
                const char *project;
                int r;
                const char *line;
        } cases[] = {
                {"/", -EPERM,
                 "a system root can't be the project: /; choose a folder with --project DIR, or use --no-project"},
                {"/usr", -EPERM,
                 "a system root can't be the project: /usr; choose a folder with --project DIR, or use --no-project"},
                {"@/home", -EPERM,
                 "a home folder can't be the project: @/home; choose a folder with --project DIR, or use "
                 "--no-project"},
                {"@", -EPERM,
                 "a folder that holds a home folder can't be the project: @; choose a folder with --project DIR, or "
                 "use --no-project"},
                {"@/nowhere", -ENOENT,
                 "the project can't be opened: @/nowhere: No such file or directory; choose a folder with --project "
                 "DIR, or use --no-project"},
                {"@/data/file", -ENOTDIR,
                 "the project can't be opened: @/data/file: Not a directory; choose a folder with --project DIR, or "
                 "use --no-project"},
                {"@/sockets", -EPERM,
                 "--project would expose a container engine's control socket: @/runtime; whoever can connect to "
                 "@/runtime/docker.sock is as good as root on this machine; name the folders below that the "
                 "command needs"},
        };
        struct world *w = *state;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                new_policy(w);
                set(w, "project", cases[i].project);
                assert_refused(w, cases[i].r, cases[i].line);
        }
        new_policy(w);
        enter(w, "@/home");
        assert_refused(
                w, -EPERM,
                "a home folder can't be the project: @/home; choose a folder with --project DIR, or use "
                "--no-project");
}

TEST_WITH(a_bad_rule_is_refused, set_up, tear_down) {
        const struct {
                const char *option, *value;
                int r;
                const char *line;
        } cases[] = {
                {"ro", "@/nowhere", -ENOENT,
                 "the source of --ro can't be opened: @/nowhere: No such file or directory; create it first, or "
                 "leave the option out"},
                {"rw", "@/data/file/x", -ENOTDIR,
                 "the source of --rw can't be opened: @/data/file/x: Not a directory"},
                {"overlay", "@/data/file", -ENOTDIR,
                 "only a folder can be the source of --overlay: @/data/file: Not a directory; expose it with --ro or "
                 "--rw"},
                {"ro", "/", -EPERM,
                 "--ro would expose the whole file system: /; name the folders that the command needs"},
                {"overlay", "/usr/..", -EPERM,
                 "--overlay would expose the whole file system: /; name the folders that the command needs"},
                {"ro", "/proc/self/../1", -EPERM,
                 "--ro would expose the host's /proc: /proc/1; the sandbox has a /proc and a /dev of its own"},
                {"bind", "/dev:/d", -EPERM,
                 "--bind would expose the host's /dev: /dev; the sandbox has a /proc and a /dev of its own"},
                {"rw", "/usr", -EPERM, WRITABLE_ROOT("--rw", "/usr")},
                {"bind", "/usr:/u", -EPERM, WRITABLE_ROOT("--bind", "/usr")},
                {"bind", "@/data:x/y", -EPERM,
                 "a relative target (--bind): x/y; targets are absolute paths inside the sandbox"},
                {"bind", "@/data:/x/..", -EPERM,
                 "--bind would replace the sandbox's root: /; name a path below it"},
                {"ro", "/etc", -EPERM,
                 "--ro would replace the sandbox's own /etc: /etc; name the files in it that the command needs"},
                {"ro", "/etc/passwd", -EPERM,
                 "--ro would replace what nsrun makes itself: /etc/passwd; choose another target with --bind "
                 "SRC:DEST"},
                {"bind", "@/data:/etc/passwd/x", -EPERM,
                 "--bind would replace what nsrun makes itself: /etc/passwd/x; choose another target with --bind "
                 "SRC:DEST"},
                {"symlink", "a:/etc/hostname/a/b", -EPERM,
                 "--symlink would replace what nsrun makes itself: /etc/hostname/a/b; choose another target with "
                 "--bind SRC:DEST"},
                {"bind", "@/data:/proc/x", -EPERM,
                 "--bind would replace what nsrun makes itself: /proc/x; choose another target with --bind SRC:DEST"},
                {"bind", "@/data:/dev", -EPERM,
                 "--bind would replace what nsrun makes itself: /dev; choose another target with --bind SRC:DEST"},
                {"bind", "@/data:/tmp", -EPERM,
                 "--bind would replace the sandbox's /tmp: /tmp; choose what /tmp is with --tmp=DIR"},
                {"bind", "@/data:/workspace/", -EPERM,
                 "--bind would replace the folder of --no-project: /workspace; choose another target, or name a "
                 "project"},
                {"symlink", "a:b", -EPERM,
                 "a relative target (--symlink): b; targets are absolute paths inside the sandbox"},
                {"symlink", "a:/dev/x", -EPERM,
                 "--symlink would replace what nsrun makes itself: /dev/x; choose another target with --bind "
                 "SRC:DEST"},
                {"tmp", "@/nowhere", -ENOENT,
                 "the folder of --tmp can't be opened: @/nowhere: No such file or directory; create it first, or use "
                 "--tmp=tmpfs"},
                {"tmp", "@/data/file", -ENOTDIR,
                 "the folder of --tmp can't be opened: @/data/file: Not a directory; create it first, or use "
                 "--tmp=tmpfs"},
                {"tmp", "/usr", -EPERM, WRITABLE_ROOT("--tmp", "/usr")},
        };
        struct world *w = *state;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                new_policy(w);
                set(w, "no-project", NULL);
                set(w, cases[i].option, cases[i].value);
                assert_refused(w, cases[i].r, cases[i].line);
        }
}

TEST_WITH(a_folder_of_secrets_is_only_ever_read, set_up, tear_down) {
        static const char hint[] =
                "--ro exposes single files of it; what shall be written belongs into another folder";
        static const struct {
                const char *option, *value, *source;
        } cases[] = {
                {"project", "@/home/.ssh", "@/home/.ssh"},
                {"project", "@/home/.ssh/keys", "@/home/.ssh/keys"},
                {"project", "@/data/app", "@/home/.ssh"},
                {"rw", "@/home/.ssh/keys", "@/home/.ssh/keys"},
                {"rw", "@/home/.config", "@/home/.config"},
                {"rw", "@/home", "@/home"},
                {"overlay", "@/home/.config/gh", "@/home/.config/gh"},
                {"overlay", "@/home/.gnupg", "@/data/gnupg"},
                {"tmp", "@/home/.ssh", "@/home/.ssh"},
        };
        struct world *w = *state;

        scratch_folder(w->top, "home/.ssh/keys");
        scratch_folder(w->top, "home/.sshfs");
        scratch_folder(w->top, "home/.config/gh");
        scratch_folder(w->top, "home/.config/ghost");
        scratch_folder(w->top, "data/gnupg");
        scratch_link(w->top, "home/.gnupg", "../data/gnupg");
        scratch_link(w->top, "data/app", "../home/.ssh");
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *line = NULL;

                new_policy(w);
                if (!streq(cases[i].option, "project"))
                        set(w, "no-project", NULL);
                set(w, cases[i].option, cases[i].value);
                assert_true(asprintf(&line, "--%s would hand the secrets of the home to the command: %s; %s",
                                     cases[i].option, cases[i].source, hint) > 0);
                assert_refused(w, -EPERM, line);
        }
        new_policy(w);
        set(w, "project", "@/home/.sshfs");
        set(w, "ro", "@/home/.ssh");
        set(w, "rw", "@/home/.config/ghost");
        resolve(w);
}

TEST_WITH(a_home_behind_a_symlink_has_its_secrets_too, set_up, tear_down) {
        struct world *w = *state;
        _cleanup_free_ char *home = NULL, *line = NULL;

        scratch_folder(w->top, "home/.ssh/keys");
        scratch_link(w->top, "house", "home");
        assert_true(asprintf(&home, "HOME=%s/house", w->top) > 0);
        assert_true(asprintf(&line,
                             "--rw would hand the secrets of the home to the command: @/home/.ssh/keys; %s",
                             "--ro exposes single files of it; what shall be written belongs into another "
                             "folder") > 0);
        for (int is_secret = 0; is_secret <= 1; is_secret++) {
                new_policy(w);
                assert_int_equal(nsrun_policy_set_environ(w->p, (const char *const[]){home, NULL}), 0);
                set(w, "no-project", NULL);
                set(w, "rw", is_secret ? "@/home/.ssh/keys" : "@/data/cache");
                if (is_secret)
                        assert_refused(w, -EPERM, line);
                else
                        resolve(w);
        }
}

TEST_WITH(a_control_socket_is_refused_by_any_way, set_up, tear_down) {
        static const char hint[] = "whoever can connect to it is as good as root on this machine";
        struct world *w = *state;
        char *line = NULL;

        scratch_file(w->top, "runtime/podman/podman.sock", "");
        scratch_link(w->top, "innocent", "runtime/podman/podman.sock");
        new_policy(w);
        set(w, "no-project", NULL);
        set(w, "ro", "@/innocent");
        assert_true(asprintf(&line,
                             "--ro would expose a container engine's control socket: "
                             "@/runtime/podman/podman.sock; %s",
                             hint) > 0);
        assert_refused(w, -EPERM, line);
        free(line);

        /* Where no socket is yet one may come. */
        new_policy(w);
        set(w, "no-project", NULL);
        set(w, "overlay", "@/sockets");
        assert_refused(
                w, -EPERM,
                "--overlay would expose a container engine's control socket: @/runtime; whoever can connect "
                "to @/runtime/docker.sock is as good as root on this machine; name the folders below that "
                "the command needs");

        /* A folder beside it is nobody's secret. */
        scratch_folder(w->top, "runtime/other");
        new_policy(w);
        set(w, "no-project", NULL);
        set(w, "ro", "@/runtime/other");
        resolve(w);
}

/* An engine's folder that is a symlink: its socket will be where that leads. */
TEST_WITH(a_socket_is_looked_for_where_its_folder_leads, set_up, tear_down) {
        struct world *w = *state;

        scratch_link(w->top, "runtime/buildkit", "../data/cache");
        set(w, "no-project", NULL);
        set(w, "ro", "@/data");
        assert_refused(
                w, -EPERM,
                "--ro would expose a container engine's control socket: @/data; whoever can connect to "
                "@/data/cache/buildkitd.sock is as good as root on this machine; name the folders below that "
                "the command needs");
}

TEST_WITH(a_socket_that_docker_host_names_is_refused, set_up, tear_down) {
        struct world *w = *state;
        char *home = in(w, "HOME=@/home"), *docker = in(w, "DOCKER_HOST=unix://@/link/my.sock");

        set(w, "no-project", NULL);
        assert_int_equal(nsrun_policy_set_environ(w->p, (const char *const[]){home, docker, NULL}), 0);
        set(w, "rw", "@/data");
        assert_refused(
                w, -EPERM,
                "--rw would expose a container engine's control socket: @/data; whoever can connect to "
                "@/data/my.sock is as good as root on this machine; name the folders below that the command "
                "needs");
        free(home);
        free(docker);
}

TEST_WITH(two_rules_for_one_target_are_refused, set_up, tear_down) {
        static const struct {
                const char *options[2], *values[2], *line;
        } cases[] = {
                {{"ro", "rw"},
                 {"@/data", "@/link"},
                 "two rules for one target (--ro and --rw): @/data; keep one of them"},
                {{"bind", "bind"},
                 {"@/data:/x", "@/repo:/x"},
                 "two rules for one target (--bind and --bind): /x; keep one of them"},
                {{"bind", "overlay"},
                 {"@/repo:@/data", "@/data"},
                 "two rules for one target (--bind and --overlay): @/data; keep one of them"},
                {{"ro", "symlink"},
                 {"@/data", "a:@/data"},
                 "two rules for one target (--ro and --symlink): @/data; keep one of them"},
                {{"symlink", "symlink"},
                 {"a:/l", "b:/l"},
                 "two rules for one target (--symlink and --symlink): /l; keep one of them"},
        };
        struct world *w = *state;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                new_policy(w);
                set(w, "no-project", NULL);
                set(w, cases[i].options[0], cases[i].values[0]);
                set(w, cases[i].options[1], cases[i].values[1]);
                assert_refused(w, -EPERM, cases[i].line);
        }
}

TEST_WITH(no_command_is_wrong_usage, set_up, tear_down) {
        struct world *w = *state;
        struct nsrun_error err = {0};

        assert_int_equal(nsrun_policy_set_command(w->p, (const char *const[]){NULL}, &err), -EINVAL);
        assert_string_equal(err.what, "no command");
        strv_free(TAKE_PTR(w->p->argv));
        assert_refused(w, -EINVAL, "no command");
}

TEST_WITH(control_bytes_in_a_path_are_made_visible, set_up, tear_down) {
        struct world *w = *state;

        set(w, "no-project", NULL);
        set(w, "ro", "@/\033[2J\n");
        assert_refused(
                w, -ENOENT,
                "the source of --ro can't be opened: @/\\x1b[2J\\x0a: No such file or directory; create it "
                "first, or leave the option out");
}

int main(void) {
        return run_all_tests();
}

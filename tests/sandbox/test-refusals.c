/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What nsrun refuses: each with its exact line and status, and beside it a run that
 * differs in just what was refused and works.  Refusals that the kernel or a
 * container causes are in test-fallback.c. */
#include "host.h"

#include <sys/socket.h>
#include <sys/un.h>

#define MOST_OPTIONS 6

/* "@project", "@outside", "@home" and "@root" stand for the site's folders. */
struct refusal {
        const char *options[MOST_OPTIONS];
        const char *line; /* without "nsrun: " */
        const char *control[MOST_OPTIONS];
};

static char *expand(const struct site *s, const char *text) {
        _cleanup_free_ char *a = replaced(text, "@project", s->project),
                            *b = replaced(a, "@outside", s->outside), *c = replaced(b, "@home", s->home);

        _cleanup_free_ char *d = replaced(c, "@root", s->root);

        /* What root may write, and nobody else. */
        return replaced(d, "@instead",
                        geteuid() == 0 ? ", or use --overlay to throw away what is written"
                                       : ": the user may not write there on the host either");
}

/* `nsrun run OPTION… -- true`, from the project. */
static void run_options(const struct site *s, const char *const *options, struct outcome *ret) {
        const char *argv[MOST_OPTIONS + 6] = {program(), "run"};
        char *expanded[MOST_OPTIONS] = {NULL};
        size_t n = 2;

        for (size_t i = 0; i < MOST_OPTIONS && options[i]; i++)
                argv[n++] = expanded[i] = expand(s, options[i]);
        argv[n++] = "--";
        argv[n] = "true";
        outcome_clear(ret);
        run(&(struct request){.argv = argv, .cwd = s->project}, ret);
        for (size_t i = 0; i < MOST_OPTIONS; i++)
                free(expanded[i]);
}

static void refuse_all(const struct site *s, const struct refusal *refusals, size_t n) {
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < n; i++) {
                _cleanup_free_ char *expanded = expand(s, refusals[i].line);
                _cleanup_free_ char *line = text_of("nsrun: %s", expanded), *left = NULL;
                char *before = snapshot(s->root);

                run_options(s, refusals[i].options, &o);
                expect_refusal(&o, 125, line);
                left = leftovers(s);
                if (left)
                        fail_msg("left behind: %s", left);
                expect_unchanged(s->root, before);
                run_options(s, refusals[i].control, &o);
                expect_status(&o, 0);
                assert_string_equal(o.err, "");
        }
}
#define REFUSE_ALL(s, refusals) refuse_all(s, refusals, ARRAY_SIZE(refusals))

#define CHOOSE "; choose a folder with --project DIR, or use --no-project"

TEST(a_system_root_or_a_home_is_no_project) {
        static const struct refusal refusals[] = {
                {{"--project", "/"},
                 "a system root can't be the project: /" CHOOSE,
                 {"--project", "@project"}},
                {{"--project", "/usr"}, "a system root can't be the project: /usr" CHOOSE, {"--no-project"}},
                {{"--project", "/usr/../tmp"}, "a system root can't be the project: /tmp" CHOOSE, {NULL}},
                {{"--project=/etc/profile.d"},
                 "a folder of the system can't be the project: /etc/profile.d" CHOOSE,
                 {NULL}},
                {{"--project", "@home"}, "a home folder can't be the project: @home" CHOOSE, {NULL}},
                {{"--project", "../home/."}, "a home folder can't be the project: @home" CHOOSE, {NULL}},
                {{"--project", "@root"},
                 "a folder that holds a home folder can't be the project: @root" CHOOSE,
                 {NULL}},
                {{"--project", "@project/none"},
                 "the project can't be opened: @project/none: No such file or directory" CHOOSE,
                 {"--project", "@project"}},
                {{"--project", "file"},
                 "the project can't be opened: file: Not a directory" CHOOSE,
                 {"--project", "."}},
        };
        const struct site *s = *state;
        const char *const argv[] = {program(), "run", "--", "true", NULL};
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->project, "file", "");
        REFUSE_ALL(s, refusals);
        /* By where it is called, too. */
        run(&(struct request){.argv = argv, .cwd = "/"}, &o);
        expect_refusal(&o, 125, "nsrun: a system root can't be the project: /" CHOOSE);
        outcome_clear(&o);
        run(&(struct request){.argv = argv, .cwd = s->project}, &o);
        expect_status(&o, 0);
}

/* Dotfiles kept in git: the home, or all of the host, is a work tree. */
TEST(a_git_folder_of_the_home_makes_no_project_of_it) {
        const struct site *s = *state;
        _cleanup_free_ char *src = path_of(s->home, "src"), *deep = path_of(src, "x"),
                            *expected = text_of("%s\n", deep);
        _cleanup_free_ char *line = text_of("nsrun: a home folder can't be the project: %s" CHOOSE, s->home);
        const char *const argv[] = {program(), "run", "--", "sh", "-c", "pwd && : >made", NULL};
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->home, ".git");
        make_folder(s->home, "src");
        make_folder(src, "x");
        run(&(struct request){.argv = argv, .cwd = deep}, &o);
        expect_status(&o, 0);
        expect_out(&o, expected);
        free(expected);
        expected = path_of(deep, "made");
        assert_int_equal(access(expected, F_OK), 0);
        outcome_clear(&o);
        run(&(struct request){.argv = argv, .cwd = s->home}, &o);
        expect_refusal(&o, 125, line);
        /* A repository in it is what it was. */
        make_folder(src, ".git");
        free(expected);
        expected = text_of("%s\n", src);
        NSRUN_IN(deep, &o, "run", "--", "sh", "-c", "cd .. && pwd && : >made");
        expect_status(&o, 0);
        expect_out(&o, expected);
        free(expected);
        expected = path_of(src, "made");
        assert_int_equal(access(expected, F_OK), 0);
}

#define NAME_FOLDERS "; name the folders that the command needs"
#define OWN_TREES    "; the sandbox has a /proc and a /dev of its own"
#define USE_RO       "; expose it with --ro@instead"

TEST(a_source_that_opens_the_host_is_refused) {
        static const struct refusal refusals[] = {
                {{"--rw", "/"},
                 "--rw would expose the whole file system: /" NAME_FOLDERS,
                 {"--rw", "@outside"}},
                {{"--ro", "/"},
                 "--ro would expose the whole file system: /" NAME_FOLDERS,
                 {"--ro", "@outside"}},
                {{"--overlay", "/usr/.."},
                 "--overlay would expose the whole file system: /" NAME_FOLDERS,
                 {"--overlay", "/usr"}},
                {{"--bind", "/:/host:ro"},
                 "--bind would expose the whole file system: /" NAME_FOLDERS,
                 {"--bind", "@outside:/host:ro"}},
                {{"--rw", "/usr"}, "--rw would make a system root writable: /usr" USE_RO, {"--ro", "/usr"}},
                {{"--bind", "/etc:/x"},
                 "--bind would make a system root writable: /etc" USE_RO,
                 {"--bind", "/etc/profile.d:/x:ro"}},
                {{"--rw", "/sys/kernel"},
                 "--rw would make a folder of the kernel's writable: /sys/kernel" USE_RO,
                 {"--ro", "/sys/kernel"}},
                {{"--ro", "/proc/sys"}, "--ro would expose the host's /proc: /proc/sys" OWN_TREES, {NULL}},
                {{"--bind", "/dev:/d"}, "--bind would expose the host's /dev: /dev" OWN_TREES, {NULL}},
                {{"--ro", "@root/none"},
                 "the source of --ro can't be opened: @root/none: No such file or directory; create it first, or leave the "
                 "option out",
                 {"--ro", "@outside"}},
                {{"--rw", "@outside/file/x"},
                 "the source of --rw can't be opened: @outside/file/x: Not a directory",
                 {"--rw", "@outside/file"}},
                {{"--ro", "@outside/loop"},
                 "the source of --ro can't be opened: @outside/loop: Too many levels of symbolic links",
                 {"--ro", "@outside"}},
                {{"--overlay", "@outside/file"},
                 "only a folder can be the source of --overlay: @outside/file: Not a directory; expose it with --ro or --rw",
                 {"--ro", "@outside/file"}},
                {{"--tmp", "@root/none"},
                 "the folder of --tmp can't be opened: @root/none: No such file or directory; create it first, or use "
                 "--tmp=tmpfs",
                 {"--tmp", "@outside"}},
                {{"--tmp=@outside/file"},
                 "the folder of --tmp can't be opened: @outside/file: Not a directory; create it first, or use --tmp=tmpfs",
                 {"--tmp=tmpfs"}},
                {{"--tmp=/usr"}, "--tmp would make a system root writable: /usr" USE_RO, {"--tmp=@outside"}},
        };
        const struct site *s = *state;

        make_file(s->outside, "file", "");
        make_link(s->outside, "loop", "loop");
        REFUSE_ALL(s, refusals);
}

TEST(a_container_engines_socket_is_refused) {
        static const char hint[] =
                "; whoever can connect to @outside/engine.sock is as good as root on this machine; name "
                "the folders below that the command needs";
        const struct site *s = *state;
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        _cleanup_free_ char *address = text_of("unix://%s/engine.sock", s->outside);
        _cleanup_free_ char *folder =
                text_of("--ro would expose a container engine's control socket: @outside%s", hint);
        const struct refusal refusals[] = {
                {{"--ro", "@outside"}, folder, {"--ro", "@outside/sub"}},
                {{"--ro", "@outside/engine.sock"},
                 "--ro would expose a container engine's control socket: @outside/engine.sock; whoever can connect to it is "
                 "as good as root on this machine",
                 {"--ro", "@outside/other"}},
                {{"--rw", "@project/link"},
                 "--rw would expose a container engine's control socket: @outside/engine.sock; whoever can connect to it is "
                 "as good as root on this machine",
                 {"--rw", "@outside/sub"}},
        };
        _cleanup_outcome_ struct outcome o = {0};

        assert_true((size_t)snprintf(at.sun_path, sizeof(at.sun_path), "%s/engine.sock", s->outside) <
                    sizeof(at.sun_path));
        assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
        make_folder(s->outside, "sub");
        make_file(s->outside, "other", "");
        make_link(s->project, "link", at.sun_path);
        RUN(s, &o, "--ro", s->outside, "--", "true");
        expect_status(&o, 0);
        assert_int_equal(setenv("DOCKER_HOST", address, 1), 0);
        REFUSE_ALL(s, refusals);
        assert_int_equal(unsetenv("DOCKER_HOST"), 0);
}

#define ANOTHER  "; choose another target with --bind SRC:DEST"
#define ABSOLUTE "; targets are absolute paths inside the sandbox"

TEST(a_target_that_hides_the_sandboxs_own_is_refused) {
        static const struct refusal refusals[] = {
                {{"--bind", "@outside:/"},
                 "--bind would replace the sandbox's root: /; name a path below it",
                 {"--bind", "@outside:/x"}},
                {{"--bind", "@outside:/a/.."},
                 "--bind would replace the sandbox's root: /; name a path below it",
                 {NULL}},
                {{"--bind", "@outside:/etc"},
                 "--bind would replace the sandbox's own /etc: /etc; name the files in it that the command needs",
                 {"--bind", "@outside:/etc/x"}},
                {{"--ro", "/etc"},
                 "--ro would replace the sandbox's own /etc: /etc; name the files in it that the command needs",
                 {"--ro", "/etc/profile.d"}},
                {{"--bind", "@outside:/proc/1"},
                 "--bind would replace what nsrun makes itself: /proc/1" ANOTHER,
                 {NULL}},
                {{"--bind", "@outside/file:/dev/null"},
                 "--bind would replace what nsrun makes itself: /dev/null" ANOTHER,
                 {NULL}},
                {{"--symlink", "x:/dev/fd"},
                 "--symlink would replace what nsrun makes itself: /dev/fd" ANOTHER,
                 {"--symlink", "x:/d"}},
                {{"--ro", "/etc/passwd"},
                 "--ro would replace what nsrun makes itself: /etc/passwd" ANOTHER,
                 {"--bind", "/etc/passwd:/p:ro"}},
                {{"--bind", "@outside:/tmp"},
                 "--bind would replace the sandbox's /tmp: /tmp; choose what /tmp is with --tmp=DIR",
                 {"--bind", "@outside:/tmp/x"}},
                {{"--no-project", "--bind", "@outside:/workspace"},
                 "--bind would replace the folder of --no-project: /workspace; choose another target, or name a project",
                 {"--bind", "@outside:/workspace"}},
                {{"--tmpfs", "/dev/shm"},
                 "--tmpfs would replace what nsrun makes itself: /dev/shm; choose another path",
                 {"--tmpfs", "/var/lib/x"}},
                {{"--tmpfs", "/tmp:1M"},
                 "--tmpfs would replace the sandbox's /tmp: /tmp; choose what /tmp is with --tmp=DIR",
                 {"--tmpfs", "/tmp/x"}},
                {{"--bind", "@outside:x/y"},
                 "a relative target (--bind): x/y" ABSOLUTE,
                 {"--bind", "@outside:/x/y"}},
                {{"--symlink", "x:y"}, "a relative target (--symlink): y" ABSOLUTE, {"--symlink", "x:/y"}},
        };
        const struct site *s = *state;

        make_file(s->outside, "file", "");
        REFUSE_ALL(s, refusals);
}

TEST(two_rules_for_one_target_are_refused) {
        static const struct refusal refusals[] = {
                {{"--ro", "@outside", "--rw", "@outside"},
                 "two rules for one target (--ro and --rw): @outside; keep one of them",
                 {"--ro", "@outside", "--ro", "@outside"}},
                {{"--bind", "@outside:/x", "--overlay", "@outside", "--bind", "@project:/x/."},
                 "two rules for one target (--bind and --bind): /x; keep one of them",
                 {"--bind", "@outside:/x", "--bind", "@project:/y"}},
                {{"--bind", "@outside:/x", "--symlink", "y:/x"},
                 "two rules for one target (--bind and --symlink): /x; keep one of them",
                 {"--bind", "@outside:/x", "--symlink", "y:/z"}},
                {{"--symlink", "y:/x", "--symlink", "z:/x"},
                 "two rules for one target (--symlink and --symlink): /x; keep one of them",
                 {"--symlink", "y:/x", "--symlink", "y:/x"}},
                {{"--tmpfs", "/x", "--tmpfs", "/y/../x:1M"},
                 "two rules for one target (--tmpfs and --tmpfs): /x; keep one of them",
                 {"--tmpfs", "/x:1M", "--tmpfs", "/y/../x:1M"}},
                {{"--tmpfs", "/x", "--symlink", "y:/x"},
                 "two rules for one target (--symlink and --tmpfs): /x; keep one of them",
                 {"--tmpfs", "/x", "--symlink", "y:/z"}},
                {{"--ro", "@outside", "--tmpfs", "../outside"},
                 "two rules for one target (--ro and --tmpfs): @outside; keep one of them",
                 {"--ro", "@outside", "--tmpfs", "../outside/in"}},
                {{"--tmpfs", "."},
                 "two rules for one target (the project and --tmpfs): @project; keep one of them",
                 {"--tmpfs", "folder"}},
                {{"--tmpfs", "none"},
                 "the mount point does not exist: @project/none: No such file or directory; make it on the host "
                 "first: nsrun leaves no ghost files in your folders",
                 {"--tmpfs", "folder"}},
                {{"--tmpfs", "link"},
                 "a symlink stands in the way of a mount point: @project/link: Too many levels of symbolic "
                 "links; nsrun follows none there: name the real path, or remove the link",
                 {"--tmpfs", "folder"}},
                {{"--symlink", "/usr:/s", "--bind", "@outside:/s/x"},
                 "the target lies beneath a symlink of the sandbox: /s/x: Too many levels of symbolic links; name the real "
                 "path",
                 {"--symlink", "/usr:/s", "--bind", "@outside:/t/x"}},
                {{"--symlink", "y:@project/x"},
                 "a symlink can't be made in a folder of the host: @project/x: Read-only file system; choose another place "
                 "for it",
                 {"--symlink", "y:@home/x"}},
                {{"--bind", "/usr/bin/env:@project/folder:ro"},
                 "the mount point and the source are not both folders or both files: @project/folder: Not a directory",
                 {"--bind", "/usr/bin:@project/folder:ro"}},
                {{"--bind", "/usr/bin:@project/file:ro"},
                 "the mount point is not a folder: @project/file: Not a directory",
                 {"--bind", "/usr/bin/env:@project/file:ro"}},
                {{"--chdir", "none"},
                 "the working directory can't be entered: @project/none: No such file or directory; --chdir names a folder "
                 "that the sandbox has",
                 {"--chdir", "folder"}},
                {{"--chdir", "@outside"},
                 "the working directory can't be entered: @outside: No such file or directory; --chdir names a folder that "
                 "the sandbox has",
                 {"--ro", "@outside", "--chdir", "@outside"}},
        };
        const struct site *s = *state;

        make_folder(s->project, "folder");
        make_file(s->project, "file", "");
        make_link(s->project, "link", "folder");
        make_folder(s->outside, "in");
        REFUSE_ALL(s, refusals);
}

#define SEE      "see 'nsrun run --help'"
#define COLON    "; a colon in a path is written '\\:'; " SEE
#define NOT_BIND "not SRC:DEST or SRC:DEST:ro or SRC:DEST:rw: "
#define BYTES    "; give bytes, or a number with K, M, G or T: 512M; " SEE
#define NAMES    "; 1 to 64 letters, digits, dots and hyphens; " SEE

TEST(wrong_usage_says_so_in_a_line) {
        static const struct refusal refusals[] = {
                {{"--no-such"}, "unknown option: --no-such; " SEE, {NULL}},
                {{"-x"}, "unknown option: -x; " SEE, {NULL}},
                {{"--esc\033[2J"}, "unknown option: --esc\\x1b[2J; " SEE, {NULL}},
                {{"--no-project=x"}, "this option takes no value: --no-project=x; " SEE, {"--no-project"}},
                {{"--ro="}, "--ro: an empty value; " SEE, {"--ro=@outside"}},
                {{"--project", ""}, "--project: an empty value; " SEE, {"--project", "."}},
                {{"--net=some"},
                 "--net: no such choice: some; choose one of host|none|allow|ask; " SEE,
                 {"--net=host"}},
                {{"--net", ""},
                 "--net: no such choice; choose one of host|none|allow|ask; " SEE,
                 {"--net", "none"}},
                {{"--proc=old"},
                 "--proc: no such choice: old; choose one of auto|new|subset|bind|none; " SEE,
                 {"--proc=new"}},
                {{"--overlay-backing=x"},
                 "--overlay-backing: no such choice: x; choose one of auto|disk|tmpfs; " SEE,
                 {"--overlay-backing=tmpfs"}},
                {{"--tmpfs-size=x"}, "--tmpfs-size: not a size: x" BYTES, {"--tmpfs-size=1m"}},
                {{"--tmpfs-size=1KB"}, "--tmpfs-size: not a size: 1KB" BYTES, {"--tmpfs-size=64K"}},
                {{"--tmpfs-size=0"},
                 "--tmpfs-size: too small: 0; the least is 4K; " SEE,
                 {"--tmpfs-size=4096"}},
                {{"--tmpfs-size=99999999999999999999"},
                 "--tmpfs-size: too big: 99999999999999999999" BYTES,
                 {"--tmpfs-size=1G"}},
                {{"--hostname", "a b"}, "--hostname: not a host name: a b" NAMES, {"--hostname", "a-b"}},
                {{"--env", "=x"}, "--env: not NAME or NAME=VALUE: =x; " SEE, {"--env", "A=x"}},
                {{"--unsetenv", "A=x"}, "--unsetenv: not a variable's name: A=x; " SEE, {"--unsetenv", "A"}},
                {{"--bind", "/usr"}, "--bind: " NOT_BIND "/usr" COLON, {"--bind", "/usr:/u:ro"}},
                {{"--bind", ":/x"}, "--bind: " NOT_BIND ":/x" COLON, {NULL}},
                {{"--bind", "/usr:/u:ro:x"}, "--bind: " NOT_BIND "/usr:/u:ro:x" COLON, {NULL}},
                {{"--bind", "/usr:/u:wo"},
                 "--bind: neither ro nor rw after the second colon: /usr:/u:wo" COLON,
                 {NULL}},
                {{"--symlink", "x"}, "--symlink: not TEXT:PATH: x" COLON, {"--symlink", "x:/y"}},
                {{"--status-fd", "x"}, "--status-fd: not the number of a file descriptor: x; " SEE, {NULL}},
                {{"--status-fd", "99"}, "--status-fd: no such file descriptor is open: 99; " SEE, {NULL}},
                {{"--status-fd", "0"},
                 "--status-fd: this file descriptor is not open for writing: 0; " SEE,
                 {"--status-fd", "1"}},
                {{"--report", "0"},
                 "--report: this file descriptor is not open for writing: 0; " SEE,
                 {"--report", "1"}},
        };
        static const struct {
                const char *words[3];
                const char *line;
        } others[] = {
                {{NULL}, "nsrun: no subcommand; see 'nsrun --help'"},
                {{"fly"},
                 "nsrun: unknown subcommand: fly; a command stands behind 'nsrun run --'; see 'nsrun --help'"},
                {{"sesion"}, "nsrun: unknown subcommand: sesion; perhaps session; see 'nsrun --help'"},
                {{"help", "sesion"},
                 "nsrun: no such subcommand or topic: sesion; perhaps session; see 'nsrun --help'"},
                {{"--no-config", "run"},
                 "nsrun: options stand behind the subcommand: --no-config; see 'nsrun --help'"},
                {{"--fly"}, "nsrun: unknown option: --fly; see 'nsrun --help'"},
                {{"help", "fly"}, "nsrun: no such subcommand or topic: fly; see 'nsrun --help'"},
                {{"help", "limits", "x"}, "nsrun: one subcommand or topic is enough: x; see 'nsrun --help'"},
                {{"run"}, "nsrun: no command; " SEE},
                {{"run", "--"}, "nsrun: no command; " SEE},
                {{"run", "--ro"}, "nsrun: this option needs a value: --ro; " SEE},
                {{"plan", "--format=bwrap"}, "nsrun: no command: --format=bwrap; see 'nsrun plan --help'"},
                {{"completion"}, "nsrun: name one shell: bash, zsh or fish; see 'nsrun completion --help'"},
                {{"completion", "csh"},
                 "nsrun: no completion for this shell: csh; see 'nsrun completion --help'"},
        };
        const struct site *s = *state;

        REFUSE_ALL(s, refusals);
        for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
                const char *const argv[] = {
                        program(), others[i].words[0], others[i].words[0] ? others[i].words[1] : NULL,
                        others[i].words[0] && others[i].words[1] ? others[i].words[2] : NULL, NULL};
                _cleanup_outcome_ struct outcome o = {0};

                run(&(struct request){.argv = argv, .cwd = s->project}, &o);
                expect_refusal(&o, 125, others[i].line);
        }
        {
                /* A subcommand and a topic of one name are both shown. */
                const char *const argv[] = {program(), "help", "seccomp", NULL};
                _cleanup_outcome_ struct outcome o = {0};

                run(&(struct request){.argv = argv, .cwd = s->project}, &o);
                expect_status(&o, 0);
                expect_in(o.out, "Usage: nsrun seccomp ");
                expect_in(o.out, "\nnsrun help seccomp: ");
                expect_in(o.out, "--landlock=");
        }
}

/* `nsrun run -- true`, with streams that the shell sets. */
static void expect_stream(const struct site *s, const char *script, int status, const char *err) {
        const char *const argv[] = {"sh",        "-c",       script, "sh",   program(), "run",
                                    "--project", s->project, "--",   "true", NULL};
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = argv, .cwd = s->project}, &o);
        expect_status(&o, status);
        expect_out(&o, "");
        assert_string_equal(o.err, err);
}

TEST(a_folder_as_a_standard_stream_is_refused) {
        const struct site *s = *state;
        _cleanup_free_ const char **argv = nsrun_argv(s, OPTIONS("--", "cat"));
        _cleanup_close_ int folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = argv, .standard_input = folder}, &o);
        expect_refusal(
                &o, 125,
                "nsrun: standard input is a folder, through which the command could leave the sandbox: Is a "
                "directory; redirect it from a file or /dev/null");
        outcome_clear(&o);
        run(&(struct request){.argv = argv}, &o);
        expect_status(&o, 0);
        expect_stream(
                s, "\"$@\" 1</", 125,
                "nsrun: standard output is a folder, through which the command could leave the sandbox: "
                "Is a directory; redirect it from a file or /dev/null\n");
        expect_stream(s, "\"$@\" 2</", 125, "");
        expect_stream(s, "\"$@\" 1>/dev/null 2>/dev/null", 0, "");
}

TEST(a_cache_folder_that_is_not_ones_own_is_refused) {
        const struct site *s = *state;
        _cleanup_free_ char *folder = path_of(s->cache, "nsrun");
        _cleanup_free_ char *line =
                text_of("nsrun: others may write to the cache folder: %s; chmod go-w %s", folder, folder);
        _cleanup_outcome_ struct outcome o = {0};

        assert_int_equal(mkdir(folder, 0700), 0);
        assert_int_equal(chmod(folder, 0777), 0);
        RUN(s, &o, "--overlay", s->outside, "--", "true");
        expect_host_refusal(&o, 125, line);
        RUN(s, &o, "--overlay", s->outside, "--overlay-backing=tmpfs", "--", "true");
        expect_status(&o, 0);
        assert_int_equal(chmod(folder, 0755), 0);
        RUN(s, &o, "--overlay", s->outside, "--", "true");
        expect_status(&o, 0);
}

static void stage_foreign_cache(void *data) {
        stage_enter();
        stage_bind("/usr", data);
}

/* /usr stands for a folder of another user's; root gives its own away. */
TEST(a_cache_folder_of_another_user_is_refused) {
        const struct site *s = *state;
        _cleanup_free_ char *folder = path_of(s->cache, "nsrun");
        _cleanup_free_ char *line = text_of("nsrun: the cache folder belongs to another user: %s; set "
                                            "XDG_CACHE_HOME to a folder of your own on a local disk",
                                            folder);
        const char *const argv[] = {program(),  "run", "--project", s->project, "--overlay",
                                    s->outside, "--",  "echo",      "fine",     NULL};
        struct request request = {.argv = argv, .cwd = s->root, .data = folder};
        _cleanup_outcome_ struct outcome o = {0};

        assert_int_equal(mkdir(folder, 0700), 0);
        if (geteuid() == 0)
                assert_int_equal(chown(folder, 54321, 54321), 0);
        else
                request.in_child = stage_foreign_cache;
        run(&request, &o);
        expect_host_refusal(&o, 125, line);
        assert_int_equal(rmdir(folder), 0);
        request.in_child = NULL;
        outcome_clear(&o);
        run(&request, &o);
        expect_fine(&o);
}

TEST(a_umask_that_takes_rights_from_the_owner_is_named) {
        static const char *const masks[] = {"0777", "0177", "0400", "0077"},
                                 script[] = "umask %s; cd '%s'; '%s' run echo fine";
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(masks); i++) {
                _cleanup_free_ char *text = text_of(script, masks[i], s->project, program());
                _cleanup_free_ char *line = text_of(
                        "nsrun: the umask %s takes from the owner what nsrun needs of the files and folders that it makes; umask 022",
                        masks[i]);
                _cleanup_outcome_ struct outcome o = {0};

                run_outside(s, &o, text);
                if (i < 3)
                        expect_refusal(&o, 125, line);
                else
                        expect_out(&o, "fine\n");
        }
}

int main(void) {
        return run_all_tests();
}

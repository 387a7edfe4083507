/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun-bwrap's own options, which no bubblewrap has, where a line of test-bwrap-newer.c doesn't show what
 * they are for: several together, what was there before, and what a command tries against them. */
#include "bwrap-run.h"
#include "launch/launch.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/* Runs nsrun-bwrap with these words, `fd` at 30. */
static void run_bwrap(const struct site *s, struct outcome *o, int fd, const char *const *words) {
        const char *argv[40] = {our_bwrap()};

        for (size_t i = 0; words[i]; i++) {
                assert_true(i < ARRAY_SIZE(argv) - 2);
                argv[i + 1] = words[i];
        }
        outcome_clear(o);
        run(
                &(struct request){
                        .argv = argv, .cwd = s->root, .in_child = fd < 0 ? NULL : keep_30, .data = &fd},
                o);
}

#define BWRAP(site, outcome, fd, ...) run_bwrap(site, outcome, fd, OPTIONS(__VA_ARGS__))

/* ------------------------------------------------------------ --seccomp-policy */

/* A filter by which `number` fails with EXDEV, for a caller to bring. */
static int filter_fd(unsigned number) {
        const struct sock_filter filter[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EXDEV),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        int fd = memfd_create("filter", MFD_CLOEXEC);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, filter, sizeof(filter)), sizeof(filter));
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        return fd;
}

/* A file's rules and the filter that the caller brings, each with its errno; with flags and without. */
TEST(a_policy_file_goes_together_with_the_callers_filters) {
        static const char *const flags[] = {"", "\"flags\": [\"SECCOMP_FILTER_FLAG_LOG\"], "};
        static const char script[] =
                "mkdir new; rmdir there; grep Seccomp_filters /proc/self/status | tr -dc '0-9\\n'";
        const struct site *s = *state;
        _cleanup_free_ char *file = path_of(s->outside, "own.json");
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
                _cleanup_free_ char *policy = text_of(
                        "{%s\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": [{\"names\": "
                        "[\"mkdir\", \"mkdirat\"], \"action\": \"SCMP_ACT_ERRNO\", \"errnoRet\": 5}]}",
                        flags[i]);
                _cleanup_close_ int filter = filter_fd(
#ifdef SYS_rmdir
                        SYS_rmdir
#else
                        SYS_unlinkat
#endif
                );

                make_file(s->outside, "own.json", policy);
                make_folder(s->project, "there");
                BWRAP(s, &o, filter, "--dev-bind", "/", "/", "--chdir", s->project, "--add-seccomp-fd", "30",
                      "--seccomp-policy", file, "sh", "-c", script);
                expect_in(o.err, "Input/output error");
                expect_in(o.err, "Invalid cross-device link");
                expect_out(&o, "2\n");
                BWRAP(s, &o, -1, "--dev-bind", "/", "/", "--chdir", s->project, "sh", "-c",
                      "mkdir new && rmdir there new && echo both");
                expect_out(&o, "both\n");
        }
}

/* What the policy denies is told once with its count, whoever makes it; what the caller's filter denies and
 * what is allowed isn't; and the answers are the same as without. */
TEST(denied_calls_are_told) {
        static const char script[] =
                "mkdir a 2>&1; mkdir b 2>&1; rmdir there 2>&1; sh -c 'chmod 600 file' 2>&1; exit 5";
        static const char *const options[][2] = {{"--unshare-pid", "--json-status-fd"},
                                                 {"--new-session", "--json-status-fd"},
                                                 {"--unshare-pid", "--info-fd"}};
        const struct site *s = *state;
        _cleanup_free_ char *policy = path_of(s->outside, "own.json"),
                            *report = path_of(s->outside, "report");
        _cleanup_outcome_ struct outcome o = {0}, without = {0};

        make_file(
                s->outside, "own.json",
                "{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": [{\"names\": [\"mkdir\", "
                "\"mkdirat\", \"rmdir\", \"unlinkat\"], \"action\": \"SCMP_ACT_ERRNO\", \"errnoRet\": 5}]}");
        make_file(s->project, "file", "");
        make_folder(s->project, "there");
        for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
                _cleanup_close_ int fd = open(report, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
                _cleanup_free_ char *text = NULL;

                BWRAP(s, &without, -1, "--dev-bind", "/", "/", "--chdir", s->project, "--seccomp-policy",
                      policy, options[i][0], "sh", "-c", script);
                BWRAP(s, &o, fd, "--dev-bind", "/", "/", "--chdir", s->project, "--seccomp-policy", policy,
                      "--report", "30", options[i][0], options[i][1], "2", "sh", "-c", script);
                expect_status(&without, 5);
                expect_status(&o, 5);
                expect_out(&o, without.out);
                text = file_text(report);
                expect_in(text, "{\"syscall\":\"mkdir");
                expect_in(text, "\"errno\":\"EIO\"");
                expect_in(text, "\"comm\":\"mkdir\",\"count\":2}\n{\"syscall\":");
                expect_in(text, "\"comm\":\"rmdir\",\"count\":1}\n");
                assert_null(strstr(text, "chmod"));
        }
}

/* A filter has one listener above all: told, and the sandbox without it starts. */
TEST(a_report_within_a_report_is_refused) {
        static const char busy[] =
                "bwrap: Can't hear of denied calls: a sandbox around this one does (leave --report out)\n";
        const struct site *s = *state;
        _cleanup_free_ char *policy = path_of(s->outside, "own.json");
        _cleanup_close_ int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
        _cleanup_free_ char *bwrap = realpath(our_bwrap(), NULL);
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->outside, "own.json", "{\"defaultAction\": \"SCMP_ACT_ALLOW\"}");
        BWRAP(s, &o, fd, "--dev-bind", "/", "/", "--seccomp-policy", policy, "--report", "30", bwrap,
              "--dev-bind", "/", "/", "--seccomp-policy", policy, "--report", "0", "echo", "ran");
        expect_status(&o, 1);
        assert_string_equal(o.err, busy);
        expect_out(&o, "");
        BWRAP(s, &o, fd, "--dev-bind", "/", "/", "--seccomp-policy", policy, "--report", "30", bwrap,
              "--dev-bind", "/", "/", "--seccomp-policy", policy, "echo", "ran");
        expect_status(&o, 0);
        expect_out(&o, "ran\n");
}

TEST(a_report_that_can_not_be_written_is_a_warning) {
        const struct site *s = *state;
        _cleanup_close_ int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
        _cleanup_outcome_ struct outcome o = {0};

        BWRAP(s, &o, fd, "--dev-bind", "/", "/", "--level-prefix", "--seccomp-policy", "default", "--report",
              "30", "sh", "-c", "unshare -m true; exit 4");
        expect_status(&o, 4);
        expect_in(o.err, "<4>bwrap: Can't write to report fd");
}

TEST(a_call_that_a_policy_names_and_nobody_knows_is_told) {
        const struct site *s = *state;
        _cleanup_free_ char *file = path_of(s->outside, "own.json");
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->outside, "own.json",
                  "{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": [{\"names\": "
                  "[\"no_such_call\"], \"action\": \"SCMP_ACT_ERRNO\"}]}");
        BWRAP(s, &o, -1, "--level-prefix", "--dev-bind", "/", "/", "--seccomp-policy", file, "echo", "ran");
        expect_status(&o, 0);
        expect_out(&o, "ran\n");
        expect_in(o.err, "<4>bwrap: ");
        expect_in(o.err, "no_such_call");
}

/* ---------------------------------------------------------------- --overlay-opt */

/* The kernel marks the work folder, and mounts no overlay on it again before somebody has looked. */
TEST(a_volatile_overlay_is_marked_until_its_mark_is_removed) {
        static const char used[] = "bwrap: Can't make overlay mount on /newroot/mnt: Invalid argument\n";
        static const char marked[] = "chmod -R u+rwx work && ls -d work/work/incompat/volatile";
        const struct site *s = *state;
        _cleanup_free_ char *lower = path_of(s->project, "lower"), *upper = path_of(s->project, "upper"),
                            *work = path_of(s->project, "work");
        const char *const *words = OPTIONS(
                "--dev-bind", "/", "/", "--overlay-opt",
                "volatile,index=off,redirect_dir=nofollow,metacopy=off,xino=auto", "--overlay-src", lower,
                "--overlay", upper, work, "/mnt", "sh", "-c",
                "grep -c ' /mnt overlay .*volatile' /proc/mounts; cat /mnt/file; echo new >/mnt/new");
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->project, "lower/file", "lower\n");
        make_folder(s->project, "upper");
        make_folder(s->project, "work");
        run_bwrap(s, &o, -1, words);
        expect_status(&o, 0);
        expect_out(&o, "1\nlower\n");
        run_bwrap(s, &o, -1, words);
        expect_status(&o, 1);
        assert_string_equal(o.err, used);
        run_outside(s, &o, marked);
        expect_out(&o, "work/work/incompat/volatile\n");
        run_outside(s, &o, "cat upper/new; rm -rf work/work/incompat");
        expect_out(&o, "new\n");
        run_bwrap(s, &o, -1, words);
        expect_status(&o, 0);
        run_outside(s, &o, "chmod -R u+rwx work && rm -rf work");
        expect_status(&o, 0);
}

/* ------------------------------------------------------------------- --hostname */

TEST(a_host_name_that_is_too_long_is_named) {
        static const char name[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0";
        const struct site *s = *state;
        _cleanup_free_ char *said = text_of("bwrap: Can't set hostname to %s: Invalid argument\n", name);
        _cleanup_outcome_ struct outcome o = {0};

        BWRAP(s, &o, -1, "--dev-bind", "/", "/", "--unshare-user", "--unshare-uts", "--hostname", name,
              "true");
        expect_status(&o, 1);
        assert_string_equal(o.err, said);
}

/* ------------------------------------------------------------ --protect, --hide */

/* What the command tries against a protected file and a hidden one, and by which it succeeds where neither
 * is asked for. */
static const struct {
        const char *script, *refusal;
} attacks[] = {
        {"mv top/sub top/moved", "Device or resource busy"},
        {"mv top moved", "Device or resource busy"},
        {"mv top/sub/kept top/sub/moved", "Device or resource busy"},
        {"mv top/sub/secret top/sub/moved", "Device or resource busy"},
        {"rm -f top/sub/kept", "Device or resource busy"},
        {"rm -f top/sub/secret", "Device or resource busy"},
        {"echo evil >top/sub/kept", "Read-only file system"},
        {"chmod 777 top/sub/kept", "Read-only file system"},
        {"touch new && mv -f new top/sub/kept", "Device or resource busy"},
        {"ln top/sub/secret link && cat link >&2 && rm -f link", "Invalid cross-device link"},
};

static void make_attacked(const struct site *s) {
        _cleanup_outcome_ struct outcome o = {0};

        run_outside(
                s, &o,
                "rm -rf top moved new link && mkdir -p top/sub && echo kept >top/sub/kept && echo secret "
                ">top/sub/secret");
        expect_status(&o, 0);
}

TEST(what_is_protected_or_hidden_stays_in_its_place) {
        const struct site *s = *state;
        _cleanup_free_ char *kept = path_of(s->project, "top/sub/kept"),
                            *secret = path_of(s->project, "top/sub/secret");
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(attacks); i++) {
                make_attacked(s);
                BWRAP(s, &o, -1, "--dev-bind", "/", "/", "--unshare-user", "--chdir", s->project, "sh", "-c",
                      attacks[i].script);
                expect_status(&o, 0);
                make_attacked(s);
                BWRAP(s, &o, -1, "--dev-bind", "/", "/", "--unshare-user", "--chdir", s->project,
                      "--protect", kept, "--hide", secret, "sh", "-c", attacks[i].script);
                if (o.status == 0 || !strstr(o.err, attacks[i].refusal))
                        fail_msg("%s: %d %s", attacks[i].script, o.status, o.err);
                run_outside(s, &o, "cat top/sub/kept top/sub/secret");
                expect_out(&o, "kept\nsecret\n");
        }
}

/* In a mount namespace of the command's own the mounts are locked; but from one in which they are no more
 * the folder that holds them can be changed: no such namespace can be made. */
TEST(a_cover_forbids_nested_mount_namespaces) {
        static const char script[] = "unshare -Urm true && echo made; unshare -U true && echo empty";
        const struct site *s = *state;
        _cleanup_free_ char *kept = path_of(s->project, "top/sub/kept");
        const char *const covers[] = {"--protect", "--hide"};
        _cleanup_outcome_ struct outcome o = {0};

        make_attacked(s);
        BWRAP(s, &o, -1, "--dev-bind", "/", "/", "--unshare-user", "sh", "-c", script);
        expect_out(&o, "made\nempty\n");
        for (size_t i = 0; i < ARRAY_SIZE(covers); i++) {
                BWRAP(s, &o, -1, "--dev-bind", "/", "/", "--unshare-user", covers[i], kept, "sh", "-c",
                      script);
                expect_out(&o, "empty\n");
                expect_in(o.err, "No space left on device");
                BWRAP(s, &o, -1, "--dev-bind", "/", "/", "--unshare-user", "--disable-userns", covers[i],
                      kept, "sh", "-c", script);
                expect_out(&o, "");
                if (geteuid() != 0)
                        continue;
                BWRAP(s, &o, -1, "--dev-bind", "/", "/", covers[i], kept, "true");
                expect_status(&o, 1);
                expect_in(o.err, "bwrap: Can't protect or hide without --unshare-user, or --disable-userns: "
                                 "Operation not permitted\n");
        }
}

/* What is changed of the record while the sandbox is built is what nsrun-init opens. */
TEST(a_files_trailing_slash_and_another_working_folder_reach_the_command) {
        static const char script[] =
                "exec 5<\"$1\"; cd \"$2\"; exec \"$0\" --ro-bind / / --tmpfs /mnt --tmpfs /var --file 5 "
                "/mnt/x/ --dev /dev sh -c 'cat /mnt/x; pwd; env | grep ^PWD='";
        const struct site *s = *state;
        _cleanup_free_ char *file = path_of(s->project, "file"), *gone = text_of("%s/gone", s->project);
        const char *const argv[] = {"env", "HOME=/usr", "sh", "-c", script, our_bwrap(), file, gone, NULL};
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->project, "file", "text\n");
        make_folder(s->project, "gone");
        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        expect_status(&o, 0);
        expect_out(&o, "text\n/usr\nPWD=/usr\n");
}

/* What is given by descriptors is in memory, and in what a sandbox is built from. */
TEST(a_file_of_seventy_megabytes_reaches_the_command) {
        static const char script[] =
                "truncate -s 70M big; printf end >>big; exec \"$0\" --dev-bind / / --tmpfs /mnt --file 5 /mnt/x "
                "--ro-bind-data 6 /mnt/y sh -c 'stat -c %s /mnt/x /mnt/y; tail -c 3 /mnt/x /mnt/y' 5<big 6<big";
        const struct site *s = *state;
        const char *const argv[] = {"sh", "-c", script, our_bwrap(), NULL};
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = argv, .cwd = s->project}, &o);
        expect_status(&o, 0);
        expect_out(&o, "73400323\n73400323\n==> /mnt/x <==\nend\n==> /mnt/y <==\nend");
}

TEST(a_command_that_isnt_there_is_named_whatever_it_is_to_call_itself) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        BWRAP(s, &o, -1, "--dev-bind", "/", "/", "--argv0", "/usr/bin/true", "/none", "x");
        expect_status(&o, 1);
        assert_string_equal(o.err, "bwrap: execvp /none: No such file or directory\n");
        outcome_clear(&o);
        BWRAP(s, &o, -1, "--dev-bind", "/", "/", "--argv0", "/none", "/usr/bin/true");
        expect_status(&o, 0);
}

/* A start that waited for a reader would wait for the command of another one. */
TEST(a_fifo_in_the_place_of_a_file_is_an_error_at_once) {
        const struct site *s = *state;
        _cleanup_free_ char *fifo = path_of(s->project, "fifo"), *expected = NULL;
        _cleanup_close_ int fd = filter_fd(0);
        _cleanup_outcome_ struct outcome o = {0};

        expected = text_of("bwrap: Can't create file %s: No such device or address\n", fifo);
        assert_int_equal(mkfifo(fifo, 0600), 0);
        BWRAP(s, &o, fd, "--dev-bind", "/", "/", "--file", "30", fifo, "true");
        expect_status(&o, 1);
        assert_string_equal(o.err, expected);
}

/* ----------------------------------------------------- nsrun plan --format=bwrap */

/* Of the shells that come between, SHLVL tells; bubblewrap's /dev has a link more; and of git's
 * configuration no command but nsrun's own has a version of its own, in /.nsrun. */
#define LOOK                                                                                                                \
        "pwd; id -u; id -g; ls -A / . \"$HOME\" | grep -v ^.nsrun; ls /dev | grep -vx core; env | grep -v ^SHLVL= | sort; " \
        "grep -E 'Seccomp:|CapEff|CapBnd|NoNew' /proc/self/status; ls /sys/class/net /proc/sys/net | wc -l; "               \
        "cat .env; head -n 1 .git/config; { echo x >sub/new && echo wrote sub; rm sub/new; } 2>&1; "                        \
        "{ echo x >/usr/new || echo x >.git/branches/new || echo x >kept; } 2>&1; unshare -m true 2>&1; exit 3"

static const struct {
        const char *options[4]; /* "@" is the site's outside folder */
        bool is_for_debians;    /* bubblewrap 0.8.0 can say it, too: it has no overlays */
} plans[] = {
        {{NULL}, true},
        {{"--net=none"}, true},
        {{"--hide", ".env"}, true},
        {{"--protect", "kept"}, true},
        {{"--tmp=scratch"}, true},
        {{"--seccomp=strict"}, true},
        {{"--seccomp=none"}, true},
        {{"--seccomp=@/own.json"}, true},
        {{"--ro", "sub"}, true},
        {{"--bind", "@:/mnt:ro", "--new-session"}, true},
        {{"--hostname=box"}, true},
        {{"--no-project"}, true},
        {{"--overlay", "sub"}, false},
};

/* `line` by bash, with `folder` in front of PATH: there are nsrun, which compiles the filter, and bwrap. */
static void run_line(const struct site *s, const char *folder, const char *line, struct outcome *o) {
        _cleanup_free_ char *script = text_of("PATH=%s:$PATH; %s", folder, line);
        const char *const argv[] = {"bash", "-c", script, NULL};

        outcome_clear(o);
        run(&(struct request){.argv = argv, .cwd = s->project}, o);
        /* bash leaves the processes that hold a plan's data. */
        collect_orphans();
}

static void plan_argv(const struct site *s, size_t i, const char *const *before, char *own[4],
                      const char *argv[20]) {
        size_t n = 0;

        while (*before)
                argv[n++] = *before++;
        for (size_t j = 0; plans[i].options[j]; j++)
                argv[n++] = own[j] = replaced(plans[i].options[j], "@", s->outside);
        for (const char *const *word = OPTIONS("--", "sh", "-c", LOOK); *word; word++)
                argv[n++] = *word;
        argv[n] = NULL;
}

/* The printed line, the run itself, and the line under Debian's bubblewrap. */
static void compare_plan(const struct site *s, size_t i, const char *folder, const char *debians) {
        const char *const plan[] = {program(), "plan", "--format=bwrap", NULL};
        const char *const runs[] = {program(), "run", NULL};
        char *words[2][4] = {{NULL}};
        const char *argv[20];
        _cleanup_outcome_ struct outcome printed = {0}, itself = {0}, line = {0};

        plan_argv(s, i, plan, words[0], argv);
        run(&(struct request){.argv = argv, .cwd = s->project}, &printed);
        expect_status(&printed, 0);
        plan_argv(s, i, runs, words[1], argv);
        run(&(struct request){.argv = argv, .cwd = s->project}, &itself);
        expect_status(&itself, 3);
        run_line(s, folder, printed.out, &line);
        expect_status(&line, 3);
        expect_out(&line, itself.out);
        assert_string_equal(line.err, itself.err);
        if (debians && plans[i].is_for_debians) {
                run_line(s, debians, printed.out, &line);
                expect_status(&line, 3);
                expect_out(&line, itself.out);
        }
        for (size_t j = 0; j < 4; j++) {
                free(words[0][j]);
                free(words[1][j]);
        }
}

TEST(a_plan_that_is_printed_runs_the_same_under_nsrun_bwrap) {
        const struct site *s = *state;
        _cleanup_free_ char *ours = path_of(s->outside, "ours"), *theirs = path_of(s->outside, "theirs"),
                            *bwrap = realpath(our_bwrap(), NULL), *nsrun = realpath(program(), NULL);
        const char *judge = judging_bwrap();
        _cleanup_outcome_ struct outcome o = {0};

        make_link(s->outside, "ours/bwrap", bwrap);
        make_link(s->outside, "ours/nsrun", nsrun);
        make_link(s->outside, "theirs/nsrun", nsrun);
        make_file(s->outside, "own.json",
                  "{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": [{\"names\": [\"unshare\"], "
                  "\"action\": \"SCMP_ACT_ERRNO\", \"errnoRet\": 5}]}");
        run_outside(s, &o,
                    "git init -q . && mkdir -p sub .git/branches && echo secret >.env && echo kept >kept");
        expect_status(&o, 0);
        for (size_t i = 0; i < ARRAY_SIZE(plans); i++)
                compare_plan(s, i, ours, judge ? theirs : NULL);
}

/* Root's command that may trace can write to the report pipe without a user namespace: what it writes is no
 * index into anything of the monitor's. */
TEST_IF(geteuid() == 0, a_forged_report_harms_no_monitor, site_setup, site_teardown) {
        static const char script[] = "for at in /proc/1/fd/*; do case $(readlink $at) in pipe:*) "
                                     "[ ${at##*/} -lt 3 ] || cat /mnt/report >$at;; esac; done; sleep 100";
        const struct site *s = *state;
        struct launch_report report = {
                .kind = LAUNCH_FAILED,
                .operation = 0x7ffffff0,
                .error = {.stage = NSRUN_STAGE_MOUNT, .error = ENOENT, .what = "a forged word"}};
        const char *const *argv =
                OPTIONS(our_bwrap(), "--ro-bind", "/", "/", "--bind", s->root, "/mnt", "--proc", "/proc",
                        "--dev", "/dev", "--chdir", "/", "--unshare-pid", "--cap-drop", "ALL", "--cap-add",
                        "CAP_SYS_PTRACE", "sh", "-c", script);
        _cleanup_free_ char *path = path_of(s->root, "report");
        _cleanup_outcome_ struct outcome o = {0};
        int fd;

        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, &report, sizeof(report)), sizeof(report));
        close(fd);
        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        expect_status(&o, 1);
        assert_string_equal(o.err, "bwrap: a forged word: No such file or directory\n");
}

int main(void) {
        return run_all_tests();
}

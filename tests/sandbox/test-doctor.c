/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun doctor`: on hosts that lack something it names just that, in the words in which a run refuses, and
 * what it says mends it mends it. */
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "build.h"
#include "doctor.h"

TEST(a_plain_host_needs_nothing_and_nothing_is_left_of_the_look) {
        static const char *const names[] = {"user namespace", "mount namespace", "pid namespace",
                                            "ipc namespace",  "uts namespace",   "network namespace",
                                            "id maps",        "mounts",          "seccomp filter"};
        const struct site *s = *state;
        const struct host host = {.site = s};
        _cleanup_free_ char *overlay = text_of("can be laid over %s", s->project),
                            *memory = path_of(s->state, "nsrun/exposed");
        char *before = snapshot(s->project);
        _cleanup_outcome_ struct outcome o = {0};

        expect_works(&host);
        assert_int_equal(unlink(memory), 0);
        THERE(&host, &o, "doctor");
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                expect_line(&o, "ok", names[i], "can be had");
        expect_line(&o, "ok", "run", "\"nsrun run -- true\" works");
        expect_line(&o, "ok", "/proc", "a new one can be had");
        expect_line(&o, "ok", "overlay on disk", overlay);
        expect_line(&o, "ok", "/dev/null", "can be opened");
        expect_line(&o, "ok", "session", "can be had");
        expect_unchanged(s->project, before);
        /* Later runs don't hear that a command could write the project. */
        assert_int_equal(access(memory, F_OK), -1);
}

TEST(the_same_as_json) {
        const struct site *s = *state;
        const struct host host = {.site = s}, without = {.site = s, .error = EPERM, .calls = "seccomp"};
        _cleanup_outcome_ struct outcome o = {0};

        THERE(&host, &o, "doctor", "--json");
        expect_status(&o, 0);
        expect_in(o.out,
                  "\"check\": \"user namespace\",\n      \"state\": \"ok\",\n      \"text\": \"can be "
                  "had\",\n      \"fix\": null\n");
        expect_in(o.out, "\"check\": \"--limit pids\"");
        expect_in(o.out, "\"works\": true,\n  \"weaker\": false,\n  \"options\": []\n");
        THERE(&without, &o, "doctor", "--json");
        expect_status(&o, 1);
        expect_in(o.out, "\"fix\": \"--seccomp=none\"");
        expect_in(o.out,
                  "\"works\": true,\n  \"weaker\": true,\n  \"options\": [\n    \"--seccomp=none\"\n  ]\n");
        THERE(&host, &o, "doctor", "word");
        expect_status(&o, 125);
        expect_in(o.err, "nsrun: unexpected argument: word");
}

/* Of an installation that lacks a helper, too. */
TEST(a_version_tells_what_was_built_and_which_helpers_are_there) {
        const struct site *s = *state;
        const struct host host = {.site = s};
        _cleanup_free_ char *monitor = text_of("\"monitor\": \"%s\",\n", getenv("NSRUN_MONITOR")),
                            *net = strdup(getenv("NSRUN_NET"));
        _cleanup_outcome_ struct outcome o = {0};

        THERE(&host, &o, "--version");
        expect_out(&o, "nsrun " PACKAGE_VERSION "\n");
        THERE(&host, &o, "--version", "--json");
        expect_status(&o, 0);
        expect_in(o.out, "{\n  \"version\": 1,\n  \"nsrun\": \"" PACKAGE_VERSION "\",\n");
        expect_in(o.out, *BUILD_COMMIT ? "\"commit\": \"" BUILD_COMMIT "\",\n" : "\"commit\": null,\n");
        expect_in(o.out, "\"options\": \"" BUILD_OPTIONS "\",\n");
        expect_in(o.out, "\"compiler\": \"" __VERSION__ "\",\n");
        expect_in(o.out,
                  *BUILD_LIBEVENT ? "\"libevent\": \"" BUILD_LIBEVENT "\"\n" : "\"libevent\": null\n");
        expect_in(o.out, monitor);
        assert_int_equal(setenv("NSRUN_NET", "/nowhere", 1), 0);
        THERE(&host, &o, "--version", "--json");
        assert_int_equal(setenv("NSRUN_NET", net, 1), 0);
        expect_in(o.out, "\"net\": null,\n");
}

/* ------------------------------------------------------------------ what a filter refuses */

TEST(calls_that_a_container_refuses_are_named) {
        static const struct {
                int error;
                const char *calls, *check, *words;
        } refused[] = {
                {EPERM, "clone-newuser", "user namespace", FILTER_REFUSES_NAMESPACES},
                /* As Docker's own profile has it. */
                {EPERM, "clone-newuser,mount,mount_setattr,open_tree,move_mount,pivot_root",
                 "user namespace", FILTER_REFUSES_NAMESPACES},
                {EPERM, "mount", "mounts", FILTER_REFUSES_MOUNTS},
                {EPERM, "pivot_root", "mounts",
                 "pivot_root to the sandbox's root failed: /: Operation not permitted; " FILTER_REFUSES(
                         "pivot_root")},
                {EPERM, "pidfd_open", "run",
                 "no descriptors to watch the sandbox with: Operation not permitted; " FILTER_REFUSES(
                         "pidfd_open")},
        };
        const struct site *s = *state;
        const struct host mended = {.site = s};

        for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
                const struct host host = {.site = s, .error = refused[i].error, .calls = refused[i].calls};
                _cleanup_outcome_ struct outcome o = {0};

                THERE(&host, &o, "doctor");
                expect_status(&o, 1);
                expect_line(&o, "no", refused[i].check, refused[i].words);
                expect_last(&o, BROKEN_LINE);
                expect_same_words(&host, &o);
        }
        /* The container without its filter, which is what the line asks for. */
        expect_works(&mended);
}

/* A session takes calls that a run does without. */
TEST(a_session_that_cant_be_had_is_named) {
        static const struct {
                const char *call, *words;
        } refused[] = {
                {"memfd_create",
                 "the plan can't be handed to nsrun-monitor: Operation not permitted; " FILTER_REFUSES(
                         "memfd_create")},
                {"unshare",
                 "no mark can be put on the command: Operation not permitted; " FILTER_REFUSES("unshare")},
        };
        const struct site *s = *state;
        const struct host plain = {.site = s};

        for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
                const struct host host = {.site = s, .error = EPERM, .calls = refused[i].call};
                _cleanup_outcome_ struct outcome o = {0};

                THERE(&host, &o, "doctor");
                expect_status(&o, 0);
                expect_line(&o, "degraded", "session", refused[i].words);
                expect_last(&o, WORKS_LINE);
                THERE(&host, &o, "session", "list");
                expect_out(&o, "");
        }
        expect_works(&plain);
}

TEST(a_protection_that_is_refused_has_an_option_that_costs_it) {
        static const struct {
                const char *calls, *check, *words, *option;
        } refused[] = {
                {"landlock_restrict_self", "landlock",
                 "Landlock can't keep abstract sockets and signals inside: Operation not permitted; " FILTER_REFUSES(
                         "landlock_restrict_self") "; --landlock=off goes on without",
                 "--landlock=off"},
                {"seccomp", "seccomp filter",
                 "the seccomp filter can't be installed: Operation not permitted; " FILTER_REFUSES(
                         "seccomp") "; --seccomp=none goes on without",
                 "--seccomp=none"},
        };
        const struct site *s = *state;
        const struct host plain = {.site = s};
        _cleanup_outcome_ struct outcome fine = {0};

        THERE(&plain, &fine, "doctor");
        for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
                const struct host host = {.site = s, .error = EPERM, .calls = refused[i].calls};
                _cleanup_free_ char *last = text_of(
                        "run with %s, which may leave out a protection: better mend what says \"no\"\n",
                        refused[i].option);
                _cleanup_outcome_ struct outcome o = {0};

                /* A kernel whose Landlock has no scopes isn't asked for them. */
                if (strstr(fine.out, "\ndegraded  landlock") && streq(refused[i].check, "landlock"))
                        continue;
                THERE(&host, &o, "doctor");
                expect_line(&o, "no", refused[i].check, refused[i].words);
                expect_last(&o, last);
                expect_option_mends(&host, &o, refused[i].option);
        }
}

TEST(a_kernel_without_landlock_will_do) {
        static const struct {
                int error;
                const char *words;
        } kernels[] = {
                {ENOSYS,
                 "Landlock can't keep abstract sockets and signals inside: Function not implemented; "
                 "boot a kernel with CONFIG_SECURITY_LANDLOCK=y; if it has that, the seccomp filter around nsrun must "
                 "allow landlock_create_ruleset"},
                {EPERM,
                 "Landlock can't keep abstract sockets and signals inside: Operation not permitted; " FILTER_REFUSES(
                         "landlock_create_ruleset")},
                {EOPNOTSUPP, "Landlock can't keep abstract sockets and signals inside: Operation not "
                             "supported; add landlock to the parameter lsm= of the kernel"},
        };
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(kernels); i++) {
                const struct host host = {
                        .site = s, .error = kernels[i].error, .calls = "landlock_create_ruleset"};
                _cleanup_outcome_ struct outcome o = {0};

                THERE(&host, &o, "doctor");
                expect_line(&o, "degraded", "landlock", kernels[i].words);
                expect_works(&host);
        }
}

/* --------------------------------------------------------------------- what is staged */

static void stage_limited(void *data) {
        const struct host *host = data;

        stage_enter();
        stage_write(host->path, "0");
}

/* The same with the command that doctor gives done: stage_write() is what sysctl(8) does. */
static void stage_mended(void *data) {
        const struct host *host = data;

        stage_limited(data);
        stage_write(host->path, "15000");
}

TEST(namespaces_that_are_switched_off_are_named_with_their_switch) {
        static const struct {
                const char *kind, *check, *words;
        } kinds[] = {{"user", "user namespace", "user namespaces"},
                     {"mnt", "mount namespace", "mount namespaces"},
                     {"pid", "pid namespace", "pid namespaces"},
                     {"ipc", "ipc namespace", "ipc namespaces"},
                     {"uts", "uts namespace", "uts namespaces"}};
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
                _cleanup_free_ char *path = text_of("/proc/sys/user/max_%s_namespaces", kinds[i].kind),
                                    *words =
                                            text_of("%s are switched off: %s: No space left on device; sudo "
                                                    "sysctl -w user.max_%s_namespaces=15000",
                                                    kinds[i].words, path, kinds[i].kind);
                const struct host host = {.site = s, .stage = stage_limited, .path = path};
                const struct host mended = {.site = s, .stage = stage_mended, .path = path};
                _cleanup_outcome_ struct outcome o = {0};

                THERE(&host, &o, "doctor");
                expect_status(&o, 1);
                expect_line(&o, "no", kinds[i].check, words);
                expect_last(&o, BROKEN_LINE);
                expect_same_words(&host, &o);
                expect_works(&mended);
        }
}

static void stage_net_limited(void *data) {
        const struct host *host = data;

        stage_limited((void *)(uintptr_t)host);
        stage_write("/proc/sys/user/max_net_namespaces", "0");
}

/* Each check has its own cause where two are at fault. */
TEST(two_switches_are_told_apart) {
        const struct site *s = *state;
        const struct host host = {
                .site = s, .stage = stage_net_limited, .path = "/proc/sys/user/max_pid_namespaces"};
        _cleanup_outcome_ struct outcome o = {0};

        THERE(&host, &o, "doctor");
        expect_line(&o, "no", "pid namespace",
                    "pid namespaces are switched off: /proc/sys/user/max_pid_namespaces: No space left on "
                    "device; sudo sysctl -w user.max_pid_namespaces=15000");
        expect_line(&o, "degraded", "network namespace",
                    "network namespaces are switched off: /proc/sys/user/max_net_namespaces: No space left "
                    "on device; sudo sysctl -w user.max_net_namespaces=15000");
}

static void stage_without_ids(nsrun_unused void *data) {
        if (unshare(CLONE_NEWUSER) < 0)
                stage_fail("unshare");
}

TEST(a_user_without_an_id_is_named) {
        const struct site *s = *state;
        const struct host host = {.site = s, .stage = stage_without_ids};
        _cleanup_outcome_ struct outcome o = {0};

        THERE(&host, &o, "doctor");
        expect_status(&o, 1);
        expect_line(
                &o, "no", "user namespace",
                "this user or its group has no id in the user namespace that nsrun is in: "
                "/proc/self/uid_map: Operation not permitted; who makes that namespace must give it "
                "one (unshare --map-current-user, podman --userns=keep-id), since nobody inside can; or run "
                "nsrun outside of it");
}

/* Which of the two can be had depends on the kernel. */
TEST(a_masked_proc_has_an_option) {
        const struct site *s = *state;
        const struct host host = {.site = s, .stage = stage_masked};
        _cleanup_outcome_ struct outcome o = {0}, subset = {0};
        const char *option;

        THERE(&host, &subset, "run", "--proc=subset", "--", "true");
        option = subset.status == 0 ? "--proc=subset" : "--proc=none";
        THERE(&host, &o, "doctor");
        _cleanup_free_ char *words = text_of("a full one is refused, as parts of it are masked outside; %s",
                                             option),
                            *cause = text_of("a new /proc can't be mounted: /proc: Operation not permitted; "
                                             "%s",
                                             option),
                            *last = text_of("run with %s\n", option);
        expect_line(&o, "no", "/proc", words);
        expect_line(&o, "no", "run", cause);
        expect_last(&o, last);
        expect_option_mends(&host, &o, option);
}

static void stage_overlaid_cache(void *data) {
        const struct host *host = data;
        const char *folder = host->site->outside;
        const char *const parts[] = {"lower", "upper", "work"};
        _cleanup_free_ char *options = text_of(
                "userxattr,lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work", folder, folder, folder);

        stage_enter();
        stage_tmpfs(folder, 0);
        for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
                make_folder(folder, parts[i]);
        if (mount("overlay", host->site->cache, "overlay", 0, options) < 0)
                stage_fail("an overlay");
}

TEST(a_cache_folder_that_carries_no_overlay_is_named) {
        const struct site *s = *state;
        const struct host host = {.site = s, .stage = stage_overlaid_cache};
        _cleanup_free_ char *words = text_of("the cache folder's file system can't carry an overlay's upper "
                                             "layer: %s/nsrun: Invalid argument; use "
                                             "--overlay-backing=tmpfs, or point XDG_CACHE_HOME at a local "
                                             "disk",
                                             s->cache);
        _cleanup_outcome_ struct outcome o = {0};

        expect_works(&host);
        THERE(&host, &o, "doctor");
        expect_line(&o, "degraded", "overlay on disk", words);
        THERE(&host, &o, "run", "--overlay", s->project, "--", "true");
        expect_status(&o, 125);
        THERE(&host, &o, "run", "--overlay", s->project, "--overlay-backing=tmpfs", "--", "true");
        expect_status(&o, 0);
}

static void stage_mounted(void *data) {
        const struct host *host = data;

        stage_enter();
        stage_tmpfs(host->path, 0);
}

TEST(a_default_cache_that_has_no_overlay_is_named_with_the_cause) {
        const struct site *s = *state;
        _cleanup_free_ char *npm = path_of(s->home, ".npm"), *below = path_of(npm, "below");
        _cleanup_free_ char *words = text_of(
                                    "no overlay can be had for this cache: it is read-only: %s; sudo umount "
                                    "%s, or use --ro or --rw for %s, which takes the overlay's place",
                                    npm, below, npm),
                            *fine = text_of("\nok        cache              %s: an overlay ", npm);
        const struct host plain = {.site = s}, host = {.site = s, .stage = stage_mounted, .path = below};
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->home, ".npm");
        make_folder(npm, "below");
        THERE(&plain, &o, "doctor");
        expect_in(o.out, fine);
        THERE(&host, &o, "doctor");
        expect_line(&o, "degraded", "cache", words);
        expect_works(&host);
        /* No note, and so nothing to degrade. */
        THERE(&host, &o, "run", "--ro", npm, "--", "true");
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
}

/* ------------------------------------------------------------- folders, programs, limits */

#define LIBEVENT_FIX                                                                          \
        "install the package libevent (Debian, Ubuntu: libevent-extra-2.1-7, or where there " \
        "is none libevent-extra-2.1-7t64)"

static void set_monitor(void *data) {
        const struct host *host = data;

        (void)setenv("NSRUN_MONITOR", host->path, 1);
}

TEST(a_missing_monitor_is_named) {
        const struct site *s = *state;
        const struct host host = {.site = s, .stage = set_monitor, .path = "/nowhere"};
        _cleanup_outcome_ struct outcome o = {0};

        THERE(&host, &o, "doctor");
        expect_status(&o, 0);
        expect_line(
                &o, "degraded", "nsrun-monitor",
                "nsrun-monitor can't be executed, and without it no session can be started: /nowhere: No "
                "such file or directory; install nsrun completely");
}

static void set_http(void *data) {
        const struct host *host = data;

        (void)setenv("NSRUN_HTTP", host->path, 1);
}

/* As the loader ends a program whose library isn't there. */
TEST(http_without_its_program_or_library_is_named) {
        const struct site *s = *state;
        _cleanup_free_ char *loader = path_of(s->outside, "no-library");
        struct host host = {.site = s, .stage = set_http, .path = "/nowhere"};
        _cleanup_outcome_ struct outcome o = {0};

        THERE(&host, &o, "doctor");
        expect_status(&o, 0);
        expect_line(
                &o, "degraded", "nsrun-http",
                "nsrun-http can't be executed, and without it nsrun mcp --http can't be had: /nowhere: No "
                "such file or directory; install nsrun completely");
        make_file(s->outside, "no-library", "#!/bin/sh\nexit 127\n");
        assert_int_equal(chmod(loader, 0755), 0);
        host.path = loader;
        THERE(&host, &o, "doctor");
        expect_status(&o, 0);
        expect_line(&o, "degraded", "mcp --http", "nsrun-http lacks its library; " LIBEVENT_FIX);
}

static void stage_file_as_null(void *data) {
        const struct host *host = data;

        stage_enter();
        stage_bind(host->path, "/dev/null");
}

TEST(a_null_device_that_is_none_is_named) {
        static const struct {
                const char *name;
                mode_t mode;
                const char *words;
        } files[] = {
                {"file", 0600,
                 "this is not the null device: /dev/null; sudo rm -f /dev/null; sudo mknod -m 666 /dev/null c "
                 "1 3"},
                {"closed", 0,
                 "the null device can't be opened: /dev/null: Permission denied; sudo chmod 666 "
                 "/dev/null"},

        };
        const struct site *s = *state;

        for (size_t i = 0; i < (geteuid() == 0 ? 1 : ARRAY_SIZE(files)); i++) {
                _cleanup_free_ char *path = path_of(s->outside, files[i].name);
                const struct host host = {.site = s, .stage = stage_file_as_null, .path = path};
                _cleanup_outcome_ struct outcome o = {0};

                make_file(s->outside, files[i].name, "");
                assert_int_equal(chmod(path, files[i].mode), 0);
                THERE(&host, &o, "doctor");
                expect_line(&o, "degraded", "/dev/null", files[i].words);
        }
}

static void stage_null_without_devices(nsrun_unused void *data) {
        stage_enter();
        stage_bind_itself("/dev/null", MS_NODEV);
}

TEST(a_null_device_that_is_mounted_nodev_is_named) {
        const struct host host = {.site = *state, .stage = stage_null_without_devices};
        _cleanup_outcome_ struct outcome o = {0};

        THERE(&host, &o, "doctor");
        expect_line(
                &o, "degraded", "/dev/null",
                "the null device can't be opened: /dev/null: Permission denied; it is mounted nodev: sudo "
                "mount -o remount,bind,dev /dev/null");
}

static void set_home(void *data) {
        const struct host *host = data;

        (void)setenv("HOME", host->path, 1);
}

TEST(a_home_that_isnt_there_is_named_and_the_command_mends_it) {
        const struct site *s = *state;
        _cleanup_free_ char *nowhere = path_of(s->root, "nowhere");
        _cleanup_free_ char *words =
                text_of("\ndegraded  HOME               HOME doesn't lead to a folder: %s: No such file or "
                        "directory; ",
                        nowhere);
        const struct host host = {.site = s, .stage = set_home, .path = nowhere};
        _cleanup_free_ char *script = NULL;
        _cleanup_outcome_ struct outcome o = {0}, mended = {0};
        const char *fix;

        THERE(&host, &o, "doctor");
        expect_status(&o, 0);
        expect_in(o.out, words);
        fix = strstr(o.out, words) + strlen(words);
        script = text_of("%.*s && \"$0\" doctor", (int)strcspn(fix, "\n"), fix);
        run(&(struct request){.argv = OPTIONS("sh", "-c", script, program()),
                              .cwd = s->project,
                              .in_child = set_home,
                              .data = (void *)(uintptr_t)&host},
            &mended);
        expect_in(mended.out, "\nok        HOME ");
        collect_orphans();
        (void)rmdir(nowhere);
        if (geteuid() != 0) {
                const struct host foreign = {.site = s, .stage = set_home, .path = "/usr"};

                THERE(&foreign, &o, "doctor");
                expect_in(o.out,
                          "\ndegraded  HOME               HOME belongs to another user: /usr; export HOME=");
        }
}

TEST(a_broken_configuration_is_named) {
        const struct site *s = *state;
        const struct host host = {.site = s, .stage = set_config, .path = s->outside};
        _cleanup_free_ char *file = path_of(s->outside, "nsrun/config.json"),
                            *words = text_of("%s:1:3: a key is expected here", file),
                            *cause = text_of("%s; --no-config", words);
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->outside, "nsrun/config.json", "{ x");
        THERE(&host, &o, "doctor");
        expect_line(&o, "no", "configuration", words);
        expect_line(&o, "no", "run", cause);
        expect_option_mends(&host, &o, "--no-config");
        make_file(s->outside, "nsrun/config.json", "{\"version\": 1}");
        expect_works(&host);
        THERE(&host, &o, "doctor");
        expect_line(&o, "ok", "configuration", file);
}

static void set_no_size(nsrun_unused void *data) {
        const struct rlimit none = {0, 0};

        if (setrlimit(RLIMIT_FSIZE, &none) < 0)
                stage_fail("RLIMIT_FSIZE");
}

static void set_few_files(nsrun_unused void *data) {
        const struct rlimit few = {64, 4096};

        if (setrlimit(RLIMIT_NOFILE, &few) < 0)
                stage_fail("RLIMIT_NOFILE");
}

TEST_IF(!IS_SANITIZED, low_limits_are_named, site_setup, site_teardown) {
        const struct site *s = *state;
        const struct host sizes = {.site = s, .stage = set_no_size},
                          files = {.site = s, .stage = set_few_files};
        _cleanup_outcome_ struct outcome o = {0};

        THERE(&sizes, &o, "doctor");
        expect_line(&o, "degraded", "limits", "files may not have 1 MiB; ulimit -f unlimited");
        THERE(&files, &o, "doctor");
        expect_status(&o, 0);
        expect_line(&o, "degraded", "limits", "fewer than 256 open files are allowed; ulimit -n 1024");
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hosts that deny something which nsrun goes on without: each such thing is in `nsrun plan`, in the status
 * lines and with --verbose, a session's in `session show`; and --strict refuses it in one line. */
#include <sys/mount.h>

#include <sys/syscall.h>

#include "host.h"

/* What a kernel without Landlock's scopes lacks is a test's own: in the others nobody asks for them there.
 */
static void leave_landlock_out(const struct site *s) {
        _cleanup_free_ char *at = path_of(s->home, ".config");

        if (has_scopes())
                return;
        if (access(at, F_OK) < 0) {
                make_folder(s->home, ".config/nsrun");
        }
        make_file(s->home, ".config/nsrun/config.json", "{\"version\": 1, \"landlock\": \"off\"}\n");
}

/* Runs a script of the host's, in which "$0" is nsrun, "$1" the project and "$2" host->text, on a stage. */
static void run_script(const struct site *s, void (*stage)(void *), struct host *host, const char *script,
                       struct outcome *ret) {
        const char *const argv[] = {"sh", "-c", script, program(), s->project, host->text ? host->text : "",
                                    NULL};

        host->site = s;
        leave_landlock_out(s);
        outcome_clear(ret);
        run(&(struct request){.argv = argv, .cwd = s->root, .in_child = stage, .data = host}, ret);
        reap_orphans();
}

/* What a plan says, in both forms, the started line, and what --strict says of run, bash, session and plan:
 * "$2" has more options. */
#define PLAN "\"$0\" plan --project \"$1\" $2 -- true | grep -E '^(degraded|untold|strict)';"
#define JSON \
        "\"$0\" plan --project \"$1\" $2 --format=json -- true | tr -d '\\n' | grep -o '\"degraded\".*';"
#define STARTED "\"$0\" run --project \"$1\" $2 --status-fd 3 -- true 3>&1 | grep -o '\"degraded\".*';"
#define STRICT                                                                                                 \
        "for f in 'run -- echo never' 'plan -- true' 'bash true' 'session start'; do set -- \"$1\" \"$2\" $f;" \
        " a=$3; shift 3; \"$0\" $a --project \"$p\" --strict $o \"$@\"; echo $?; set -- \"$p\" \"$o\"; done;"
#define NAMES "p=$1 o=$2;"

/* What STRICT prints on standard output, and the same line four times on standard error. */
static const char refused[] = "125\n125\nError: %s125\n125\n";

static char *three_lines(const char *line) {
        return text_of("nsrun: %s\nnsrun: %s\nnsrun: %s\n", line, line, line);
}

static char *listed(const char *name, const char *path, const char *message, const char *fix) {
        return text_of("\"degraded\":[{\"name\":\"%s\",\"path\":%s,\"message\":\"%s\",\"fix\":\"%s\"}]}\n",
                       name, path, message, fix);
}

TEST(nothing_is_degraded_on_a_whole_host) {
        const struct site *s = *state;
        struct host host = {.text = "--overlay-backing=disk"};
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->home, ".npm");
        assert_int_equal(rmdir(s->cache), 0);
        /* The trial leaves no folder behind that wasn't there. */
        run_script(s, NULL, &host, PLAN JSON "test -e \"$XDG_CACHE_HOME\" && echo left;" STARTED, &o);
        expect_out(&o, "\"degraded\": []}\n\"degraded\":[]}\n");
        assert_string_equal(o.err, "");
        run_script(s, NULL, &host,
                   "\"$0\" run --project \"$1\" $2 --strict -- echo fine;"
                   "\"$0\" bash --project \"$1\" $2 --strict 'echo fine';"
                   "\"$0\" plan --project \"$1\" $2 --strict -- true | grep ^strict;"
                   "\"$0\" session start --project \"$1\" $2 --strict --name one;"
                   "\"$0\" run --session one -- echo fine; \"$0\" session show one | grep degraded;"
                   "\"$0\" session show --json one | grep -o '\"degraded\":[^]]*]'; \"$0\" session kill one",
                   &o);
        expect_out(&o, "fine\n$ echo fine\nfine\n\n\nexit status: 0"
                       "strict      what can be had in a lesser way alone is refused\n"
                       "one\nfine\n\"degraded\":[]\n");
        assert_string_equal(o.err, "");
}

/* ------------------------------------------------------------------------------ Landlock */

TEST(a_kernel_without_landlock_is_a_degradation) {
        static const char message
                [] = "the kernel's Landlock can't keep abstract sockets inside: a command in "
                     "the host's network can reach those of the host",
         fix[] = "boot Linux 6.12 or later with CONFIG_SECURITY_LANDLOCK=y and landlock in its parameter lsm=",
         line[] = "--strict: the kernel's Landlock can't keep abstract sockets inside; boot a kernel with "
                  "CONFIG_SECURITY_LANDLOCK=y; if it has that, the seccomp filter around nsrun must allow "
                  "landlock_create_ruleset",
         config[] = "{\"strict\": true}\n";
        const struct site *s = *state;
        _cleanup_free_ char *deny = helper_path("deny"), *number = text_of("%d", ENOSYS),
                            *json = listed("landlock", "null", message, fix),
                            *out = text_of("degraded    %s\n%s%s", message, json, json),
                            *lines = three_lines(line), *answers = replaced(refused, "%s", line),
                            *file = path_of(s->root, "config");
        const char *argv[] = {
                deny, number, "landlock_create_ruleset", "sh", "-c", NULL, program(), s->project, "",
                file, NULL};
        const struct request request = {.argv = argv, .cwd = s->root};
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->root, "config", config);
        argv[5] = PLAN STARTED
                "\"$0\" bash --json --project \"$1\" true | grep -o '\"degraded\":[^]]*]' | sed 's/$/}/'";
        run(&request, &o);
        expect_out(&o, out);
        /* It changes nothing that a command does: a run says it with --verbose. */
        assert_string_equal(o.err, "");
        argv[5] = NAMES STRICT;
        outcome_clear(&o);
        run(&request, &o);
        expect_out(&o, answers);
        assert_string_equal(o.err, lines);
        argv[5] = "\"$0\" run --project \"$1\" -v -- true 2>&1 | grep -c ^degraded;"
                  "\"$0\" run --project \"$1\" --strict --landlock=off -- echo fine;"
                  "\"$0\" run --project \"$1\" --config \"$3\" -- echo never";
        outcome_clear(&o);
        run(&request, &o);
        expect_status(&o, 125);
        expect_out(&o, "1\nfine\n");
        free(lines);
        lines = text_of("nsrun: %s\n", line);
        assert_string_equal(o.err, lines);
}

/* ----------------------------------------------------------------------------- namespaces */

static void stage_without_cgroup_namespaces(nsrun_unused void *data) {
        stage_enter();
        stage_write("/proc/sys/user/max_cgroup_namespaces", "0");
}

TEST(a_cgroup_namespace_that_is_missing_is_a_degradation) {
        static const char message[] =
                "no cgroup namespace can be had: /proc/self/cgroup names the cgroup outside",
                          fix[] = "sudo sysctl -w user.max_cgroup_namespaces=15000, on a kernel with "
                                  "CONFIG_CGROUPS; a sandbox of nsrun's gives none";
        const struct site *s = *state;
        struct host host = {0};
        _cleanup_free_ char *json = listed("cgroup-namespace", "null", message, fix),
                            *out = text_of("degraded    %s\n%sfine\n", message, json),
                            *line = text_of("--strict: no cgroup namespace can be had; %s", fix),
                            *lines = three_lines(line), *answers = replaced(refused, "%s", line),
                            *note = text_of("nsrun: note: %s\n", message),
                            *shown = text_of("degraded: %s\n", message);
        _cleanup_outcome_ struct outcome o = {0};

        run_script(s, stage_without_cgroup_namespaces, &host,
                   PLAN STARTED "\"$0\" run --project \"$1\" -- echo fine;"
                                "\"$0\" run --project \"$1\" -v -- true 2>&1 | grep ^nsrun >&2",
                   &o);
        expect_out(&o, out);
        assert_string_equal(o.err, note);
        run_script(s, stage_without_cgroup_namespaces, &host, NAMES STRICT, &o);
        expect_out(&o, answers);
        assert_string_equal(o.err, lines);
        /* The start found it out when inspect's file was there already. */
        run_script(s, stage_without_cgroup_namespaces, &host,
                   "\"$0\" bash --project \"$1\" 'exec sleep 1000' >/dev/null 2>&1 &"
                   "until \"$0\" inspect $! 2>/dev/null | grep ^degraded:; do :; done;"
                   "\"$0\" stop $!; wait",
                   &o);
        expect_out(&o, shown);
}

static void stage_read_only_sys(nsrun_unused void *data) {
        stage_enter();
        stage_bind("/proc/sys", "/proc/sys");
        if (mount(NULL, "/proc/sys", NULL,
                  MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
                stage_fail("a read-only /proc/sys");
}

TEST(a_read_only_proc_sys_is_a_degradation) {
        static const char message[] =
                "in a container's read-only /proc/sys commands can't be bounded: they may "
                "make cgroup namespaces, and use up the user's inotify instances",
                          fix[] = "make the container's /proc/sys writable";
        const struct site *s = *state;
        struct host host = {.text = "--proc=none"};
        _cleanup_free_ char *path = text_of("/proc/sys/user/max_cgroup_namespaces"),
                            *quoted = text_of("\"%s\"", path),
                            *json = listed("counters", quoted, message, fix),
                            *out = text_of("degraded    %s: %s\n%s", message, path, json),
                            *line = text_of(
                                    "--strict: in a container's read-only /proc/sys commands can't be "
                                    "bounded: %s; %s",
                                    path, fix),
                            *lines = three_lines(line), *answers = replaced(refused, "%s", line),
                            *note = text_of("nsrun: note: %s: %s\n", message, path);
        _cleanup_outcome_ struct outcome o = {0};

        run_script(s, stage_read_only_sys, &host, PLAN STARTED, &o);
        expect_out(&o, out);
        assert_string_equal(o.err, note);
        run_script(s, stage_read_only_sys, &host, NAMES STRICT, &o);
        expect_out(&o, answers);
        assert_string_equal(o.err, lines);
}

/* ----------------------------------------------------------------------------------- /proc */

/* Whether subset=pid is refused with a full one depends on the kernel. */
TEST(a_masked_proc_is_a_degradation) {
        const struct site *s = *state;
        struct host host = {.text = "--proc=auto"};
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *message = NULL, *fix = NULL, *lack = NULL, *out = NULL, *lines = NULL,
                            *answers = NULL, *json = NULL, *line = NULL, *note = NULL;
        bool has_subset;

        run_script(s, stage_masked, &host, "\"$0\" run --project \"$1\" --proc=subset --strict -- true", &o);
        has_subset = o.status == 0;
        lack = text_of("%s", has_subset ? "a full /proc is refused here" : "no /proc can be mounted here");
        message = text_of("%s: %s", lack, has_subset ? "mounted with subset=pid" : "the sandbox has none");
        fix = text_of("run the container with an unmasked /proc, or choose --proc=%s",
                      has_subset ? "subset" : "bind (which shows the host's processes) or --proc=none");
        json = listed(has_subset ? "proc-subset" : "proc-none", "\"/proc\"", message, fix);
        out = text_of("degraded    %s: /proc\n%s", message, json);
        line = text_of("--strict: %s: /proc; %s", lack, fix);
        lines = three_lines(line);
        answers = replaced(refused, "%s", line);
        note = text_of("nsrun: note: %s: /proc\n", message);
        run_script(s, stage_masked, &host, PLAN STARTED, &o);
        expect_out(&o, out);
        assert_string_equal(o.err, note);
        run_script(s, stage_masked, &host, NAMES STRICT, &o);
        expect_out(&o, answers);
        assert_string_equal(o.err, lines);
}

/* ---------------------------------------------------------------------------------- caches */

/* A session of it: what its record says, what a joined command hears, and that no diff is made up. */
#define SESSION                                                                                            \
        "\"$0\" session start --project \"$1\" $2 --overlay \"$1\" --name one >/dev/null;"                 \
        "\"$0\" session show one | grep ^degraded; \"$0\" run --session one --status-fd 3 -- true 3>&1 | " \
        "grep -o '\"degraded\".*'; \"$0\" session diff one ~/.npm; echo $?; \"$0\" session kill one"

static void expect_degraded(const struct site *s, void (*stage)(void *), struct host *host, const char *name,
                            const char *path, const char *lack, const char *instead, const char *fix,
                            const char *hint) {
        _cleanup_free_ char *message = text_of("%s: %s", lack, instead), *quoted = text_of("\"%s\"", path),
                            *json = listed(name, quoted, message, fix),
                            *out = text_of("degraded    %s: %s\n%s", message, path, json),
                            *line = text_of("--strict: %s: %s; %s", lack, path, hint),
                            *lines = three_lines(line), *answers = replaced(refused, "%s", line),
                            *note = text_of("nsrun: note: %s: %s\n", message, path);
        _cleanup_outcome_ struct outcome o = {0};

        run_script(s, stage, host, PLAN STARTED, &o);
        expect_out(&o, out);
        assert_string_equal(o.err, note);
        run_script(s, stage, host, NAMES STRICT, &o);
        expect_out(&o, answers);
        assert_string_equal(o.err, lines);
}

TEST(a_cache_that_is_degraded_is_listed_and_strict_refuses_it) {
        static const char in_memory[] = "no overlay on disk can be had for this cache",
                          fix[] = "point XDG_CACHE_HOME at a local disk, or choose --overlay-backing=tmpfs";
        const struct site *s = *state;
        _cleanup_free_ char *npm = path_of(s->home, ".npm"), *below = path_of(npm, "below"), *hint = NULL,
                            *mounted = text_of(
                                    "a folder in which something is mounted can't be below an overlay: "
                                    "sudo umount %s, or use --ro or --rw for %s, which takes the overlay's "
                                    "place",
                                    below, npm);
        struct host memory = {.text = "--overlay-backing=disk", .folder = s->outside},
                    read_only = {.text = "--overlay-backing=tmpfs", .folder = below};

        make_folder(s->home, ".npm");
        make_folder(npm, "below");
        expect_degraded(s, stage_overlaid_cache, &memory, "cache-in-memory", npm, in_memory,
                        "its overlay is in memory", fix,
                        "the cache folder's file system can't carry an overlay's upper layer: use "
                        "--overlay-backing=tmpfs, or point XDG_CACHE_HOME at a local disk");
        expect_degraded(s, stage_mounted, &read_only, "cache-read-only", npm,
                        "no overlay can be had for this cache", "it is read-only",
                        "name the folder with --ro or --rw", mounted);
        hint = text_of(
                "the cache folder can't be made: %s/nsrun: Read-only file system; set XDG_RUNTIME_DIR, "
                "XDG_CACHE_HOME and XDG_STATE_HOME to folders of your own that can be written (a service with "
                "ProtectSystem=strict: name them in ReadWritePaths=)",
                s->cache);
        {
                _cleanup_free_ char *line = text_of("nsrun: --strict: %s: %s; %s\n", in_memory, npm, hint);
                _cleanup_outcome_ struct outcome o = {0};

                run_script(s, stage_read_only_cache, &memory,
                           "\"$0\" run --project \"$1\" $2 --strict -- echo never", &o);
                expect_status(&o, 125);
                expect_out(&o, "");
                assert_string_equal(o.err, line);
        }
}

/* The command has its version of git's configuration all the same, but not what --strict promises. */
TEST(without_a_run_directory_nothing_is_carried) {
        const struct site *s = *state;
        _cleanup_free_ char *
                config = path_of(s->project, ".git/config"),
               *start = text_of("nsrun: --strict: what is protected can't be the command's own: %s; the "
                                "cache folder can't be made: ",
                                config),
               *end = text_of(
                       "0\nname = inside\nnsrun: note: no folder for this run can be made, and "
                       "nothing of it is carried: %s; set XDG_CACHE_HOME to a folder of your own that can be "
                       "written\nbare=false\n",
                       config);
        struct host host = {.text = ""};
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->project, ".git/objects");
        make_folder(s->project, ".git/refs");
        make_file(s->project, ".git/HEAD", "ref: refs/heads/main\n");
        make_file(s->project, ".git/config", "[core]\nbare=false\n");
        run_script(s, stage_read_only_cache, &host, "\"$0\" run --project \"$1\" --strict -- echo never",
                   &o);
        expect_status(&o, 125);
        expect_out(&o, "");
        assert_ptr_equal(strstr(o.err, start), o.err);
        run_script(
                s, stage_read_only_cache, &host,
                "\"$0\" plan --project \"$1\" -- true | grep -c ^degraded\n"
                "\"$0\" run --project \"$1\" -- sh -c 'printf \"[user]\\nname = inside\\n\" >>.git/config; "
                "tail -n 1 .git/config' 2>&1; tail -n 1 \"$1\"/.git/config",
                &o);
        expect_out(&o, end);
}

TEST(a_session_remembers_what_is_degraded) {
        const struct site *s = *state;
        _cleanup_free_ char *npm = path_of(s->home, ".npm"), *below = path_of(npm, "below"),
                            *quoted = text_of("\"%s\"", npm),
                            *json = listed("cache-read-only", quoted,
                                           "no overlay can be had for this cache: it is read-only",
                                           "name the folder with --ro or --rw"),
                            *out = text_of("degraded:     no overlay can be had for this cache: it is "
                                           "read-only: %s\n%s125\n",
                                           npm, json),
                            *err = text_of(
                                    "nsrun: note: no overlay can be had for this cache: it is read-only: "
                                    "%s\nnsrun: this cache has no overlay on disk: %s: Operation not "
                                    "supported; 'nsrun session show' says why\n",
                                    npm, npm);
        struct host host = {.text = "--overlay-backing=disk", .folder = below};
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->home, ".npm");
        make_folder(npm, "below");
        run_script(s, stage_mounted, &host, SESSION, &o);
        expect_out(&o, out);
        assert_string_equal(o.err, err);
        run_script(s, stage_plain, &host, SESSION, &o);
        expect_out(&o, "\"degraded\":[]}\n0\n");
        assert_string_equal(o.err, "");
}

/* root's sandbox can't open what only another user may. */
TEST_IF(geteuid() == 0, a_cache_that_cant_be_opened_is_refused, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *cargo = path_of(s->home, ".cargo"), *registry = path_of(cargo, "registry");
        struct host host = {.text = ""};

        make_folder(s->home, ".cargo");
        make_folder(cargo, "registry");
        assert_int_equal(chmod(cargo, 0700), 0);
        assert_int_equal(chown(cargo, 54321, 54321), 0);
        expect_degraded(s, NULL, &host, "cache-empty", registry, "this cache can't be shown",
                        "it is empty inside", "let yourself read the folder (chmod u+rwx)",
                        "let yourself read the folder (chmod u+rwx)");
}

/* ------------------------------------------------------------------- processes, sessions */

static void stage_without_cgroups(nsrun_unused void *data) {
        stage_enter();
        stage_tmpfs("/sys/fs/cgroup", 0);
}

/* The kernel doesn't bound root's.  What mends it depends on the machine. */
TEST_IF(geteuid() != 0, processes_bounded_by_an_rlimit_are_a_degradation, site_setup, site_teardown) {
        static const char message[] =
                "no cgroup can be made to bound the number of processes: RLIMIT_NPROC bounds it",
                          fix[] = "nsrun doctor tells what gives one",
                          line[] = "--strict: no cgroup can be made to bound the number of processes",
                          plain[] = "\"$0\" run --project \"$1\" $2 -v -- true 2>&1 | grep ^nsrun";
        const struct site *s = *state;
        struct host host = {.text = "--limit pids=30"};
        _cleanup_free_ char *json = listed("pids-by-rlimit", "null", message, fix),
                            *out = text_of("degraded    %s\n%s", message, json),
                            *answers = text_of("nsrun: %s\n125\nnsrun: %s\n125\nError: %s\n125\nnsrun: "
                                               "%s\n125\n",
                                               line, line, line, line),
                            *note = text_of("nsrun: note: %s\n", message);
        _cleanup_outcome_ struct outcome o = {0};

        run_script(s, stage_without_cgroups, &host, PLAN STARTED, &o);
        expect_out(&o, out);
        assert_string_equal(o.err, "");
        run_script(s, stage_without_cgroups, &host, plain, &o);
        expect_out(&o, note);
        run_script(s, stage_without_cgroups, &host,
                   NAMES "{ " STRICT " } 2>&1 | sed 's/\\(.\\)125$/\\1\\n125/; s/;[^\\n]*//'", &o);
        expect_out(&o, answers);
}

TEST(a_joined_command_without_a_mark_is_a_degradation) {
        static const char message[] =
                "the user has no uts namespace left to know the command's processes by: "
                "those that leave its session live on",
                          fix[] = "sudo sysctl -w user.max_uts_namespaces=15000";
        const struct site *s = *state;
        _cleanup_free_ char *deny = helper_path("deny"), *number = text_of("%d", ENOSPC),
                            *join = text_of("%s %s unshare \"$0\" run --session", deny, number),
                            *script = text_of("\"$0\" session start --project \"$1\" --name lax;"
                                              "\"$0\" session start --project \"$1\" --name strict --strict;"
                                              "%s lax --status-fd 3 -- true 3>&1 | grep -o '\"degraded\".*';"
                                              "%s strict -- echo never; echo $?;"
                                              "\"$0\" run --session strict -- echo fine;"
                                              "\"$0\" session kill lax; \"$0\" session kill strict",
                                              join, join),
                            *json = listed("leftovers", "null", message, fix),
                            *out = text_of("lax\nstrict\n%s125\nfine\n", json),
                            *err = text_of(
                                    "nsrun: note: %s\nnsrun: --strict: the user has no uts namespace left "
                                    "to know the command's processes by; %s\n",
                                    message, fix);
        struct host host = {0};
        _cleanup_outcome_ struct outcome o = {0};

        run_script(s, NULL, &host, script, &o);
        expect_out(&o, out);
        assert_string_equal(o.err, err);
}

int main(void) {
        return run_all_tests();
}

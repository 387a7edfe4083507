/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hosts that don't give a sandbox what it needs: namespaces switched off, a
 * container's filter, a masked /proc, a cache folder that carries no overlay.  Each
 * refusal in its exact words, beside the same run on the same stage without the
 * obstacle. */
#include <sched.h>
#include <sys/mount.h>

#include "faults.h"
#include "stage.h"

static const char seccomp_hint[] =
        "start the container with a profile that allows them, for instance --security-opt seccomp=unconfined";
static const char masked_line[] =
        "nsrun: a new /proc can't be mounted: /proc: Operation not permitted; a container masks parts of "
        "/proc; run it with an unmasked one, or choose --proc=auto, --proc=none, or --proc=bind (which shows "
        "the host's processes)";

struct host {
        const struct site *site;
        const char *path; /* what the stage is about */
        const char *text;
        const char *folder; /* where things are mounted */
};

/* `nsrun run --project PROJECT OPTIONS… -- sh -c SCRIPT` on a stage, behind a filter
 * where `calls` is not NULL. */
static void run_on(const struct site *s, void (*stage)(void *), struct host *host, const char *calls,
                   const char *const *options, const char *script, struct outcome *ret) {
        _cleanup_free_ char *deny = helper_path("deny"), *number = text_of("%d", EPERM);
        const char *argv[32] = {deny, number, calls ? calls : "", program(), "run", "--project", s->project};
        size_t n = 7;

        while (*options)
                argv[n++] = *options++;
        argv[n++] = "--";
        argv[n++] = "sh";
        argv[n++] = "-c";
        argv[n] = script;
        host->site = s;
        outcome_clear(ret);
        run(
                &(struct request){
                        .argv = calls ? argv : argv + 3, .cwd = s->root, .in_child = stage, .data = host},
                ret);
}

#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NO_OPTIONS   ((const char *const[]){NULL})

static void expect_fine(const struct outcome *o) {
        expect_status(o, 0);
        expect_out(o, "fine\n");
        assert_string_equal(o->err, "");
}

/* ---------------------------------------------------------- namespaces refused */

static void stage_plain(nsrun_unused void *data) {
        stage_enter();
}

static void stage_limited(void *data) {
        const struct host *host = data;

        stage_enter();
        stage_write(host->path, "0");
}

TEST(a_limit_of_no_namespaces_is_named) {
        static const struct {
                const char *kind, *name;
        } kinds[] = {{"user", "user"}, {"mnt", "mount"}, {"pid", "pid"},
                     {"ipc", "ipc"},   {"uts", "uts"},   {"net", "network"}};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        run_on(s, stage_plain, &(struct host){0}, NULL, OPTIONS("--net=none"), "echo fine", &o);
        expect_fine(&o);
        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
                _cleanup_free_ char *path = text_of("/proc/sys/user/max_%s_namespaces", kinds[i].kind);
                _cleanup_free_ char *line =
                        text_of("nsrun: %s namespaces are switched off: %s: No space left on device; sudo "
                                "sysctl -w user.max_%s_namespaces=15000",
                                kinds[i].name, path, kinds[i].kind);

                run_on(s, stage_limited, &(struct host){.path = path}, NULL, OPTIONS("--net=none"),
                       "echo fine", &o);
                expect_refusal(&o, 125, line);
        }
}

/* The sandbox itself allows none below it, and nsrun in nsrun shall work. */
TEST(a_host_without_cgroup_namespaces_will_do) {
        struct host host = {.path = "/proc/sys/user/max_cgroup_namespaces"};
        _cleanup_outcome_ struct outcome o = {0};

        run_on(*state, stage_limited, &host, NULL, NO_OPTIONS, "echo fine", &o);
        expect_fine(&o);
}

static void stage_deep(nsrun_unused void *data) {
        while (stage_nest())
                ;
}

TEST(a_nesting_too_deep_is_named) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        run_on(s, stage_deep, &(struct host){0}, NULL, NO_OPTIONS, "echo fine", &o);
        expect_refusal(&o, 125,
                       "nsrun: the limit of namespaces is reached, or they are nested too deep: "
                       "/proc/sys/user: No space left on device; raise user.max_*_namespaces (32 levels are "
                       "the kernel's own end)");
}

TEST(a_filter_that_refuses_namespaces_is_named) {
        const struct site *s = *state;
        _cleanup_free_ char *line = text_of("nsrun: a seccomp filter, as containers have one, refuses user "
                                            "namespaces: Operation not permitted; %s",
                                            seccomp_hint);
        _cleanup_outcome_ struct outcome o = {0};

        run_on(s, NULL, &(struct host){0}, "clone-newuser", NO_OPTIONS, "echo fine", &o);
        expect_refusal(&o, 125, line);
        run_on(s, NULL, &(struct host){0}, "clone3", NO_OPTIONS, "echo fine", &o);
        expect_fine(&o);
}

TEST(a_filter_that_refuses_mounts_is_named) {
        const struct site *s = *state;
        _cleanup_free_ char *line =
                text_of("nsrun: a seccomp filter, as containers have one, refuses mounts in "
                        "a user namespace: Operation not permitted; %s",
                        seccomp_hint);
        _cleanup_outcome_ struct outcome o = {0};

        run_on(s, NULL, &(struct host){0}, "mount", NO_OPTIONS, "echo fine", &o);
        expect_refusal(&o, 125, line);
}

static void stage_kernel_file(void *data) {
        const struct host *host = data;

        stage_enter();
        stage_tmpfs("/proc/sys/kernel", 0);
        stage_make_file(host->path, host->text);
}

TEST(debians_switch_is_named) {
        const struct site *s = *state;
        struct host off = {.path = "/proc/sys/kernel/unprivileged_userns_clone", .text = "0\n"};
        struct host on = {.path = off.path, .text = "1\n"};
        _cleanup_free_ char *other = text_of("nsrun: a seccomp filter, as containers have one, refuses user "
                                             "namespaces: Operation not permitted; %s",
                                             seccomp_hint);
        _cleanup_outcome_ struct outcome o = {0};

        run_on(s, stage_kernel_file, &off, "clone-newuser", NO_OPTIONS, "echo fine", &o);
        expect_refusal(&o, 125,
                       "nsrun: user namespaces are switched off for ordinary users: "
                       "/proc/sys/kernel/unprivileged_userns_clone: Operation not permitted; sudo sysctl -w "
                       "kernel.unprivileged_userns_clone=1");
        run_on(s, stage_kernel_file, &on, "clone-newuser", NO_OPTIONS, "echo fine", &o);
        expect_refusal(&o, 125, other);
}

/* Ubuntu lets the namespaces be made and then refuses the mounts in them. */
TEST(apparmors_switch_is_named) {
        const struct site *s = *state;
        struct host on = {.path = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", .text = "1\n"};
        struct host off = {.path = on.path, .text = "0\n"};
        _cleanup_free_ char *other =
                text_of("nsrun: a seccomp filter, as containers have one, refuses mounts "
                        "in a user namespace: Operation not permitted; %s",
                        seccomp_hint);
        _cleanup_outcome_ struct outcome o = {0};

        run_on(s, stage_kernel_file, &on, "mount", NO_OPTIONS, "echo fine", &o);
        expect_refusal(
                &o, 125,
                "nsrun: AppArmor restricts user namespaces to programs with a profile: "
                "/proc/sys/kernel/apparmor_restrict_unprivileged_userns: Operation not permitted; give "
                "nsrun a profile that allows userns (nsrun(1), APPARMOR), or: sudo sysctl -w "
                "kernel.apparmor_restrict_unprivileged_userns=0");
        run_on(s, stage_kernel_file, &off, "mount", NO_OPTIONS, "echo fine", &o);
        expect_refusal(&o, 125, other);
}

static void stage_chroot(void *data) {
        const struct host *host = data;

        stage_enter();
        if (mount("/", host->folder, NULL, MS_BIND | MS_REC, NULL) < 0 || chroot(host->folder) < 0 ||
            chdir("/") < 0)
                stage_fail("chroot");
}

TEST(a_chroot_is_among_the_reasons) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        run_on(s, stage_chroot, &(struct host){.folder = s->outside}, NULL, NO_OPTIONS, "echo fine", &o);
        expect_refusal(&o, 125,
                       "nsrun: the kernel refuses the new namespaces: Operation not permitted; a chroot, a "
                       "security module or a kernel setting forbids them here");
}

/* ------------------------------------------------------------------------ /proc */

static void stage_no_proc(nsrun_unused void *data) {
        stage_enter();
        stage_tmpfs("/proc", 0);
}

TEST(a_host_without_proc_is_refused) {
        static const char line[] = "nsrun: the id map can't be written: /proc/self/uid_map: No such file or "
                                   "directory; nsrun needs a mounted /proc to start from";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        run_on(s, stage_no_proc, &(struct host){0}, NULL, NO_OPTIONS, "echo fine", &o);
        if (IS_SANITIZED) {
                /* The leak check can't do without /proc either, and has the last word. */
                assert_int_not_equal(o.status, 0);
                expect_out(&o, "");
                expect_in(o.err, line);
        } else
                expect_refusal(&o, 125, line);
}

/* As containers mask theirs: the kernel then gives no full /proc to any namespace below. */
static void stage_masked(nsrun_unused void *data) {
        stage_enter();
        stage_bind("/dev/null", "/proc/interrupts");
}

TEST(a_masked_proc_is_refused_unless_another_is_chosen) {
        static const char look[] = "echo $$; test -e /proc/self/status || echo none";
        const struct site *s = *state;
        struct host host = {0};
        _cleanup_outcome_ struct outcome o = {0};

        run_on(s, stage_plain, &host, NULL, NO_OPTIONS, look, &o);
        expect_status(&o, 0);
        expect_out(&o, "2\n");

        run_on(s, stage_masked, &host, NULL, NO_OPTIONS, look, &o);
        expect_refusal(&o, 125, masked_line);
        run_on(s, stage_masked, &host, NULL, OPTIONS("--proc=new"), look, &o);
        expect_refusal(&o, 125, masked_line);

        run_on(s, stage_masked, &host, NULL, OPTIONS("--proc=none"), look, &o);
        expect_status(&o, 0);
        expect_out(&o, "2\nnone\n");
        assert_string_equal(o.err, "");
}

/* Whether a masked /proc forbids subset=pid too depends on the kernel: what nsrun
 * says of its choice must be what it did. */
TEST(proc_auto_takes_what_it_can_get_and_says_so) {
        static const char look[] = "test -e /proc/self/status && echo status; test -e /proc/meminfo && echo "
                                   "meminfo; :";
        static const char note[] =
                "nsrun: note: no /proc can be mounted here: the sandbox has none: /proc\n";
        static const char subset_note[] =
                "nsrun: note: a full /proc is refused here: mounted with subset=pid: /proc\n";
        const struct site *s = *state;
        struct host host = {0};
        _cleanup_outcome_ struct outcome o = {0}, subset = {0};

        run_on(s, stage_plain, &host, NULL, OPTIONS("--proc=auto"), look, &o);
        expect_status(&o, 0);
        expect_out(&o, "status\nmeminfo\n");
        assert_string_equal(o.err, "");
        run_on(s, stage_plain, &host, NULL, OPTIONS("--proc=subset"), look, &o);
        expect_status(&o, 0);
        expect_out(&o, "status\n");

        run_on(s, stage_masked, &host, NULL, OPTIONS("--proc=subset"), look, &subset);
        run_on(s, stage_masked, &host, NULL, OPTIONS("--proc=auto"), look, &o);
        expect_status(&o, 0);
        if (subset.status == 0) {
                expect_out(&subset, "status\n");
                expect_out(&o, "status\n");
                assert_string_equal(o.err, subset_note);
        } else {
                expect_refusal(&subset, 125, masked_line);
                expect_out(&o, "");
                assert_string_equal(o.err, note);
        }
}

/* It shows the host's processes; it gives none of them away. */
TEST(a_bound_proc_opens_no_host_process) {
        const struct site *s = *state;
        _cleanup_free_ char *look = text_of(
                "cd /proc/%d && cat comm >/dev/null && echo seen; ls root/ "
                "2>&1; cat environ 2>&1; readlink fd/0 || echo unseen; cat maps 2>&1; kill -0 %d 2>&1; echo x "
                ">/proc/sys/kernel/hostname",
                getpid(), getpid());
        _cleanup_free_ char *here =
                text_of("cd /proc/%d && ls root/ && cat environ maps && readlink fd/0", getpid());
        _cleanup_outcome_ struct outcome o = {0};

        run_outside(s, &o, here);
        expect_status(&o, 0);
        run_on(s, stage_masked, &(struct host){0}, NULL, OPTIONS("--proc=bind"), look, &o);
        assert_int_not_equal(o.status, 0);
        expect_in(o.out, "seen\n");
        expect_in(o.out, "root/': Permission denied\n");
        expect_in(o.out, "cat: environ: Permission denied\n");
        expect_in(o.out, "\nunseen\n");
        expect_in(o.out, "cat: maps: Permission denied\n");
        expect_in(o.out, "No such process");
        expect_in(o.err, "Read-only file system");
}

/* --------------------------------------------------------------------- overlays */

/* An overlay can't be another one's upper. */
static void stage_overlaid_cache(void *data) {
        const struct host *host = data;
        const char *const parts[] = {"lower", "upper", "work"};
        _cleanup_free_ char *options =
                text_of("userxattr,lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work", host->folder,
                        host->folder, host->folder);

        stage_enter();
        stage_tmpfs(host->folder, 0);
        for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
                make_folder(host->folder, parts[i]);
        if (mount("overlay", host->site->cache, "overlay", 0, options) < 0)
                stage_fail("an overlay");
}

TEST(a_cache_that_carries_no_overlay_is_refused) {
        const struct site *s = *state;
        _cleanup_free_ char *layered = path_of(s->root, "layered");
        _cleanup_free_ char *line =
                text_of("nsrun: the cache folder's file system can't carry an overlay's "
                        "upper layer: %s: Invalid argument; use --overlay-backing=tmpfs, "
                        "or point XDG_CACHE_HOME at a local disk",
                        layered);
        _cleanup_free_ char *script = text_of("echo fine >%s/file; cat %s/file", layered, layered);
        struct host host = {.folder = s->outside};
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->root, "layered");
        run_on(s, stage_plain, &host, NULL, OPTIONS("--overlay", layered), script, &o);
        expect_fine(&o);
        run_on(s, stage_overlaid_cache, &host, NULL, OPTIONS("--overlay", layered), script, &o);
        expect_refusal(&o, 125, line);
        run_on(s, stage_overlaid_cache, &host, NULL,
               OPTIONS("--overlay", layered, "--overlay-backing=tmpfs"), script, &o);
        expect_fine(&o);
        /* Each wrote to a layer of its own. */
        assert_int_equal(rmdir(layered), 0);
}

/* The kernel stacks two overlays, and no third one. */
static void stage_stacked(void *data) {
        const struct host *host = data;
        const char *const parts[] = {"lower", "a", "a-upper", "a-work", "b", "b-upper", "b-work"};
        _cleanup_free_ char *a = text_of("%s/a", host->folder), *b = text_of("%s/b", host->folder),
                            *first = text_of("userxattr,lowerdir=%s/lower,upperdir=%s-upper,workdir=%s-work",
                                             host->folder, a, a),
                            *second = text_of("userxattr,lowerdir=%s,upperdir=%s-upper,workdir=%s-work", a,
                                              b, b);

        stage_enter();
        stage_tmpfs(host->folder, 0);
        for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
                make_folder(host->folder, parts[i]);
        if (mount("overlay", a, "overlay", 0, first) < 0 || mount("overlay", b, "overlay", 0, second) < 0)
                stage_fail("an overlay");
}

TEST(a_folder_that_no_overlay_can_be_laid_over_is_named) {
        const struct site *s = *state;
        _cleanup_free_ char *a = path_of(s->outside, "a"), *b = path_of(s->outside, "b"),
                            *script = text_of("ls -d %s && echo fine", b), *fine = text_of("%s\nfine\n", b),
                            *shown = text_of("%s\nfine\n", a), *other = text_of("ls -d %s && echo fine", a),
                            *line = text_of(
                                    "nsrun: the folder's file system can't be below an overlay: %s: "
                                    "Invalid argument; one that is made of overlays on overlays can't, "
                                    "nor one that folds case: use --ro or --rw for it, which takes the "
                                    "overlay's place",
                                    b);
        struct host host = {.folder = s->outside};
        _cleanup_outcome_ struct outcome o = {0};

        run_on(s, stage_stacked, &host, NULL, OPTIONS("--overlay", b), script, &o);
        expect_refusal(&o, 125, line);
        run_on(s, stage_stacked, &host, NULL, OPTIONS("--overlay", b, "--overlay-backing=tmpfs"), script,
               &o);
        expect_refusal(&o, 125, line);
        /* The same layers over another folder, and this folder as the message advises. */
        run_on(s, stage_stacked, &host, NULL, OPTIONS("--overlay", a), other, &o);
        expect_status(&o, 0);
        expect_out(&o, shown);
        run_on(s, stage_stacked, &host, NULL, OPTIONS("--ro", b), script, &o);
        expect_status(&o, 0);
        expect_out(&o, fine);
}

/* root's sandbox has no capability over what isn't root's. */
TEST_IF(geteuid() == 0, a_project_in_another_users_closed_folder_is_named, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *closed = path_of(s->outside, "closed"), *project = path_of(closed, "project"),
                            *line = text_of(
                                    "nsrun: the source can't be opened: %s: Permission denied; a folder "
                                    "above it is another user's, and a sandbox has no capabilities over "
                                    "it, root's neither: run nsrun as that user, or let others pass "
                                    "(chmod o+x)",
                                    project);
        const char *const argv[] = {program(), "run", "--project", project, "--", "echo", "fine", NULL};
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->outside, "closed");
        make_folder(closed, "project");
        assert_int_equal(chown(closed, 60999, 60999), 0);
        assert_int_equal(chmod(closed, 0700), 0);
        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        expect_refusal(&o, 125, line);
        assert_int_equal(chmod(closed, 0701), 0);
        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        expect_fine(&o);
}

int main(void) {
        return run_all_tests();
}

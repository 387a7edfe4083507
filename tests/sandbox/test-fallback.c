/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Older kernels and other people's filters: with each of the newer system calls
 * refused, as unknown or as forbidden, the sandbox is the same to the last mount
 * flag, or nsrun says what is missing and starts nothing. */
#include <sys/mount.h>
#include <sys/syscall.h>

#include "faults.h"
#include "stage.h"

static const char no_mount_calls[] =
        "nsrun: the kernel or its seccomp filter lacks mount_setattr(2), of Linux 5.12: Function not "
        "implemented; use a newer kernel, or let the filter allow the call" SEE_DOCTOR "\n";
static const char filtered[] =
        "nsrun: open_tree, move_mount or mount_setattr is refused: Operation not permitted; " FILTER_REFUSES(
                "open_tree, move_mount and mount_setattr") SEE_DOCTOR "\n";
static const char no_pidfd_unknown[] = "nsrun: no descriptors to watch the sandbox with: Function not "
                                       "implemented; nsrun needs Linux 5.3 or later, and no "
                                       "seccomp filter that refuses pidfd_open\n";
static const char no_pidfd_refused[] =
        "nsrun: no descriptors to watch the sandbox with: Operation not permitted; " FILTER_REFUSES(
                "pidfd_open") "\n";

/* A source with mounts of all kinds below it: what is read-only stays so, what comes
 * along gets the rule's flags, and a flag that somebody locked stays locked. */
static void set_stage(void *data) {
        const struct site *s = data;
        _cleanup_free_ char *writable = path_of(s->outside, "source/writable"),
                            *read_only = path_of(s->outside, "source/read-only"),
                            *odd = path_of(s->outside, "source/odd \\name"),
                            *below = path_of(s->outside, "source/writable/below"),
                            *file = path_of(s->outside, "source/file"),
                            *text = path_of(s->outside, "source/text");

        stage_enter();
        stage_tmpfs(writable, 0);
        if (mkdir(below, 0755) < 0)
                stage_fail(below);
        stage_tmpfs(below, MS_NODEV | MS_NOATIME);
        stage_tmpfs(read_only, MS_RDONLY | MS_NOSUID);
        stage_tmpfs(odd, MS_NOEXEC);
        stage_bind(text, file);
        /* Descriptors that a caller leaks. */
        if (dup2(0, 3) < 0 || dup2(0, 30) < 0 || dup2(0, 700) < 0)
                stage_fail("leaked descriptors");
}

static void make_source(const struct site *s) {
        make_folder(s->outside, "source/writable");
        make_folder(s->outside, "source/read-only");
        make_folder(s->outside, "source/odd \\name");
        make_file(s->outside, "source/file", "");
        make_file(s->outside, "source/text", "text");
        make_folder(s->outside, "layered");
}

/* Runs look behind a filter; `calls` NULL: behind none. */
static void run_filtered(const struct site *s, const char *nsrun, int error, const char *calls,
                         const char *access, struct outcome *ret) {
        _cleanup_free_ char *number = text_of("%d", error), *deny = helper_path("deny"),
                            *source = path_of(s->outside, "source"),
                            *layered = path_of(s->outside, "layered");
        _cleanup_free_ char *a = path_of(source, "new"), *b = path_of(source, "writable/new"),
                            *c = path_of(source, "writable/below/new"),
                            *d = path_of(source, "read-only/new"), *e = path_of(source, "odd \\name/new"),
                            *f = path_of(source, "file");
        const char *const argv[] = {
                deny,
                number,
                calls ? calls : "",
                nsrun,
                "run",
                "--project",
                s->project,
                access,
                source,
                "--overlay",
                layered,
                "--net=none",
                "--",
                "./look",
                a,
                b,
                c,
                d,
                e,
                f,
                "/usr/x",
                "/proc/sys/kernel/hostname",
                "/dev/shm/x",
                NULL,
        };

        outcome_clear(ret);
        run(&(struct request){.argv = calls ? argv : argv + 3,
                              .cwd = s->root,
                              .in_child = set_stage,
                              .data = (void *)(uintptr_t)s},
            ret);
}

struct refusal {
        const char *calls;
        const char *unknown; /* what is said; NULL: the sandbox is the same */
        const char *refused;
};

static const struct refusal refusals[] = {
        {"clone3", NULL, NULL},
        {"openat2", NULL, NULL},
        {"close_range", NULL, NULL},
        {"mount_setattr", no_mount_calls, filtered},
        {"open_tree", no_mount_calls, filtered},
        /* Outside, the kernel itself says EPERM: nobody can know before it is too late. */
        {"move_mount", no_mount_calls, "the bind can't be attached"},
        {"pidfd_send_signal", NULL, NULL},
        {"pidfd_open", no_pidfd_unknown, no_pidfd_refused},
        {"clone3,openat2,close_range,pidfd_send_signal", NULL, NULL},
};

static void compare_views(const struct site *s, int error, const char *access) {
        _cleanup_outcome_ struct outcome expected = {0}, o = {0};

        run_filtered(s, program(), 0, NULL, access, &expected);
        expect_status(&expected, 7);
        expect_in(expected.out, "source/writable/below");
        for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
                const struct refusal *refusal = &refusals[i];
                const char *words = error == ENOSYS ? refusal->unknown : refusal->refused;

                run_filtered(s, program(), error, refusal->calls, access, &o);
                if (words) {
                        expect_status(&o, 125);
                        expect_out(&o, "");
                        expect_in(o.err, words);
                } else if (o.status != 7 || !streq(o.out, expected.out) || o.err[0]) {
                        print_difference("expected:", expected.out, o.out);
                        print_difference("found:   ", o.out, expected.out);
                        fail_msg("without %s (%s): status %d, err: %s", refusal->calls, strerror(error),
                                 o.status, o.err);
                }
        }
}

static void compare_all(void **state, int error) {
        const struct site *s = *state;

        make_source(s);
        copy_helper(s, "look");
        compare_views(s, error, "--ro");
        compare_views(s, error, "--rw");
}

TEST(without_a_newer_call_the_sandbox_is_the_same_or_the_cause_is_named) {
        compare_all(state, ENOSYS);
}

TEST(behind_a_filter_the_sandbox_is_the_same_or_the_cause_is_named) {
        compare_all(state, EPERM);
}

/* What else is wrong with a host is said first, in the kernel's order. */
TEST(without_mount_calls_and_namespaces_the_namespaces_are_the_reason) {
        const struct site *s = *state;
        _cleanup_free_ char *deny = helper_path("deny"), *number = text_of("%d", EPERM);
        const char *const *argv = OPTIONS(deny, number, "mount_setattr,clone-newuser", program(), "run",
                                          "--project", s->project, "--", "true");
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        expect_status(&o, 125);
        expect_in(o.err,
                  "nsrun: a seccomp filter, as containers and services have one, refuses user namespaces: ");
}

/* nsrun-bwrap says it in bubblewrap's form. */
TEST(without_mount_calls_nsrun_bwrap_names_the_cause) {
        const struct site *s = *state;
        _cleanup_free_ char *deny = helper_path("deny"), *number = text_of("%d", ENOSYS),
                            *bwrap = helper_path("bwrap-dynamic");
        const char *const argv[] = {deny, number, "mount_setattr", bwrap, "--ro-bind", "/",
                                    "/",  "--",   "true",          NULL};
        _cleanup_outcome_ struct outcome with = {0}, without = {0};

        run(&(struct request){.argv = argv + 3, .cwd = s->root}, &with);
        expect_status(&with, 0);
        run(&(struct request){.argv = argv, .cwd = s->root}, &without);
        expect_status(&without, 1);
        assert_string_equal(without.err,
                            "bwrap: the kernel or its seccomp filter lacks mount_setattr(2), of "
                            "Linux 5.12: Function not implemented\n");
}

/* As automounters leave them: one on top of another, and one beneath a later one. */
static void set_stacked_stage(void *data) {
        const struct site *s = data;
        _cleanup_free_ char *writable = path_of(s->outside, "source/writable"),
                            *below = path_of(s->outside, "source/writable/below"),
                            *odd = path_of(s->outside, "source/odd \\name");

        stage_enter();
        stage_tmpfs(odd, MS_NOATIME | MS_NODEV);
        stage_tmpfs(odd, 0);
        stage_tmpfs(writable, 0);
        if (mkdir(below, 0755) < 0)
                stage_fail(below);
        stage_tmpfs(below, MS_NOATIME);
        stage_tmpfs(writable, 0);
        if (mkdir(below, 0755) < 0)
                stage_fail(below);
}

TEST(covered_mounts_are_in_nobodys_way) {
        const struct site *s = *state;
        _cleanup_free_ char *source = path_of(s->outside, "source"), *odd = path_of(source, "odd \\name/x"),
                            *below = path_of(source, "writable/below/x");
        const char *const argv[] = {program(), "run",    "--project", s->project, "--ro", source,
                                    "--",      "./look", odd,         below,      NULL};
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *first = text_of("write %s: Read-only file system\n", odd),
                            *second = text_of("write %s: Read-only file system\n", below);

        make_source(s);
        copy_helper(s, "look");
        run(&(struct request){.argv = argv,
                              .cwd = s->root,
                              .in_child = set_stacked_stage,
                              .data = (void *)(uintptr_t)s},
            &o);
        expect_status(&o, 7);
        expect_in(o.out, first);
        expect_in(o.out, second);
}

/* Without openat2 the walk is nsrun's own: it must say no to the same links. */
TEST(without_openat2_a_planted_symlink_still_stops_a_bind) {
        static const char *const targets[] = {"evil/secret", "loop/x", "dots/outside/secret", "proc/etc"};
        const struct site *s = *state;
        _cleanup_free_ char *deny = helper_path("deny"), *number = text_of("%d", ENOSYS);

        make_file(s->outside, "secret", "");
        make_file(s->root, "source", "new");
        make_link(s->project, "evil", s->outside);
        make_link(s->project, "loop", "loop");
        make_link(s->project, "dots", "..");
        make_link(s->project, "proc", "/proc/self/root");
        for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
                _cleanup_free_ char *bind = text_of("%s/source:%s/%s", s->root, s->project, targets[i]);
                const char *const argv[] = {deny,       number,   "openat2", program(), "run",  "--project",
                                            s->project, "--bind", bind,      "--",      "true", NULL};
                _cleanup_outcome_ struct outcome with = {0}, without = {0};
                char *before = snapshot(s->outside);

                run(&(struct request){.argv = argv + 3, .cwd = s->root}, &with);
                run(&(struct request){.argv = argv, .cwd = s->root}, &without);
                expect_status(&with, 125);
                expect_status(&without, 125);
                assert_string_equal(without.err, with.err);
                expect_unchanged(s->outside, before);
        }
}

/* Nor does the look at a command's file wait for who writes to it. */
TEST(without_openat2_a_fifo_as_a_command_holds_up_nobody) {
        const struct site *s = *state;
        _cleanup_free_ char *deny = helper_path("deny"), *number = text_of("%d", ENOSYS),
                            *fifo = path_of(s->project, "fifo");
        const char *const argv[] = {deny,        number,     "openat2", program(), "run",
                                    "--project", s->project, "--",      "./fifo",  NULL};
        _cleanup_outcome_ struct outcome o = {0};

        assert_int_equal(mkfifo(fifo, 0755), 0);
        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        expect_refusal(
                &o, 126,
                "nsrun: command not executable: ./fifo: Permission denied; it needs the x permission, "
                "and must not be a folder");
}

/* pidfd_send_signal gone, the signal still has to come through. */
TEST(without_pidfd_signals_the_command_gets_its_signals) {
        const struct site *s = *state;
        _cleanup_free_ char *deny = helper_path("deny"), *number = text_of("%d", ENOSYS);
        const char *const *argv =
                OPTIONS(deny, number, "pidfd_send_signal", program(), "run", "--project", s->project, "--",
                        "sh", "-c", "trap 'exit 42' TERM; echo ready; while :; do sleep 0.05; done");
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *line = NULL;
        struct running r;

        spawn(&(struct request){.argv = argv, .cwd = s->root}, &r);
        line = read_line(r.out);
        assert_int_equal(syscall(SYS_pidfd_send_signal, r.pidfd, SIGTERM, NULL, 0), 0);
        finish(&r, &o);
        expect_status(&o, 42);
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Filters that refuse single calls, as those of containers and services do: each refusal names the call, and
 * where nsrun can do without it there is none. */
#include "host.h"

#define ALLOW(call) "; " FILTER_REFUSES(call)

TEST(a_filter_that_refuses_one_call_is_named) {
        static const struct {
                const char *call, *line;
        } cases[] = {
                {"pivot_root",
                 "pivot_root to the sandbox's root failed: /: Operation not permitted" ALLOW("pivot_root")},
                {"umount2",
                 "the host's root can't be detached: /: Operation not permitted" ALLOW("umount2")},
                {"pidfd_open",
                 "no descriptors to watch the sandbox with: Operation not permitted" ALLOW("pidfd_open")},
                {"eventfd2",
                 "no descriptors to watch the sandbox with: Operation not permitted" ALLOW("eventfd2")},
                {"move_mount",
                 "the bind can't be attached: /dev/full: Operation not permitted" ALLOW("move_mount")},
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *line = text_of("nsrun: %s", cases[i].line);

                run_on(s, NULL, &(struct host){0}, cases[i].call, NO_OPTIONS, "echo fine", &o);
                expect_host_refusal(&o, 125, line);
        }
        /* As libseccomp of before faccessat2(2) refuses it, and others. */
        run_on(s, NULL, &(struct host){0}, "faccessat2,execveat", NO_OPTIONS, "echo fine", &o);
        expect_fine(&o);
}

/* As systemd's RestrictAddressFamilies= does. */
TEST(a_filter_that_refuses_sockets_is_named) {
        const struct site *s = *state;
        _cleanup_free_ char *deny = helper_path("deny"), *number = text_of("%d", EAFNOSUPPORT);
        const char *argv[] = {deny,       number,       "socket", program(), "run",  "--project",
                              s->project, "--net=none", "--",     "echo",    "fine", NULL};
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        expect_host_refusal(&o, 125,
                            "nsrun: no socket to bring loopback up with: Address family not supported by "
                            "protocol; a seccomp filter refuses it, as of a service without AF_INET in "
                            "RestrictAddressFamilies=: allow it, or choose --net=host");
        argv[7] = "--net=host";
        outcome_clear(&o);
        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        expect_fine(&o);
        argv[7] = "--net=none";
        outcome_clear(&o);
        run(&(struct request){.argv = argv + 3, .cwd = s->root}, &o);
        expect_fine(&o);
}

TEST(a_filter_that_refuses_a_sessions_calls_is_named) {
        const struct site *s = *state;
        _cleanup_free_ char *deny = helper_path("deny"), *number = text_of("%d", EPERM), *id = NULL;
        const char *start[] = {deny,    number,      "memfd_create", program(), "session",
                               "start", "--project", s->project,     NULL};
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = start, .cwd = s->root}, &o);
        expect_host_refusal(&o, 125,
                            "nsrun: the plan can't be handed to nsrun-monitor: Operation not "
                            "permitted" ALLOW("memfd_create"));
        outcome_clear(&o);
        run(&(struct request){.argv = start + 3, .cwd = s->root}, &o);
        expect_status(&o, 0);
        id = strndup(o.out, strcspn(o.out, "\n"));
        for (int skipped = 0; skipped <= 3; skipped += 3) {
                const char *const join[] = {deny, number, "unshare", program(), "run", "--session",
                                            id,   "--",   "echo",    "fine",    NULL};

                outcome_clear(&o);
                run(&(struct request){.argv = join + skipped, .cwd = s->root}, &o);
                if (skipped > 0)
                        expect_fine(&o);
                else
                        expect_host_refusal(&o, 125,
                                            "nsrun: no mark can be put on the command: Operation not "
                                            "permitted" ALLOW("unshare"));
        }
        outcome_clear(&o);
        run(&(struct request){.argv = OPTIONS(program(), "session", "stop", id), .cwd = s->root}, &o);
        expect_status(&o, 0);
        collect_orphans();
}

/* nsrun-init may end before the library has asked it: then it reads the report where a start's cause was
 * looked for, one time in twenty. */
TEST(a_host_of_the_library_hears_the_same_of_a_joins_call) {
        static const char script[] =
                "export NSRUN_REAL=\"$0\"; \"$0\" session start --project \"$1\" --name one;"
                "for i in $(seq 40); do"
                "  \"$2\" \"$4\" unshare \"$3\" run --session one -- echo never; done 2>&1 | sort -u;"
                "\"$3\" run --session one -- echo fine; \"$0\" session stop one";
        const struct site *s = *state;
        _cleanup_free_ char *deny = helper_path("deny"), *number = text_of("%d", EPERM),
                            *library = helper_path("in-library");
        const char *const argv[] = {"sh", "-c", script, program(), s->project, deny, library, number, NULL};
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        expect_out(&o, "one\nnsrun: no mark can be put on the command: Operation not permitted" ALLOW(
                               "unshare") "\nfine\n");
        collect_orphans();
}

int main(void) {
        return run_all_tests();
}

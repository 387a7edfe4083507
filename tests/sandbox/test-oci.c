/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun plan --format=oci`: crun and runc run the bundle, and a probe in it gives the answers that it gives
 * under `nsrun run`; what a bundle can't say is said, or refused. */
#include <sys/resource.h>

#include "faults.h"

/* What the probe tells: ids, capabilities, what can be written, the mounts and their flags, variables,
 * limits, and who answers calls.  Left out is what nsrun-run(1), BUNDLES, says is otherwise, and files of
 * /etc, of which nsrun copies some. */
static const char probe[] =
        "echo ids $(id -u) $(id -g); grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status; pwd; "
        "ls -1 / ~ 2>&1; ls -1 /etc; cat /etc/passwd; "
        "for d in / /usr /etc /tmp /dev/shm ~ . .. sub; do "
        "  { true >$d/probe-x && rm $d/probe-x && echo write $d; } 2>/dev/null || echo closed $d; done; "
        "awk '$5 !~ /^\\/(dev|proc|sys)/ && $5 != \"/\" && "
        "  ($5 !~ /^\\/etc/ || system(\"test -d \" $5) == 0) { n = split($6, o, \",\"); f = \"\"; "
        "  for (i = 1; i <= n; i++) if (o[i] ~ /^(ro|rw|nosuid|nodev)$/) f = f \",\" o[i]; print $5 f }' "
        "  /proc/self/mountinfo | sort -u; "
        "env | grep -v -E '^(_|SHLVL|OLDPWD)=' | sort; "
        "for l in n u f s v t; do echo limit $l $(ulimit -S$l) $(ulimit -H$l); done; "
        "hostname; ls /sys/class/net 2>/dev/null; cat /proc/net/dev | wc -l; "
        "for c in mount pivot_root unshare-user unshare-net clone-user clone-mount clone-net clone-user-high clone3 "
        "  setns keyctl add_key bpf perf_event_open io_uring_setup userfaultfd open_by_handle_at init_module "
        "  ioctl-TIOCSTI ioctl-TIOCSTI-high ioctl-TIOCLINUX fchmodat-setuid fchmod-setgid openat-setuid "
        "  openat-tmpfile-setgid mknodat-setuid socket-tcp socket-unix socket-sctp socket-l2tp socket-vsock "
        "  socket-vsock-high socket-alg socket-packet socket-xdp netlink-audit netlink-netfilter; do "
        "  echo $c $(/answer $c); done; "
        "cat sub/lower 2>/dev/null; echo new >sub/lower 2>/dev/null; cat sub/lower 2>/dev/null; true";

static const struct policy {
        const char *name;
        const char *options[10];
} policies[] = {
        {"default code", {NULL}},
        {"net none", {"--net=none", "--hostname", "inside", NULL}},
        {"instance", {"--profile=instance", "--instance", "@/instance", NULL}},
        {"overlays", {"--overlay", "@/project/sub", "--overlay-backing=disk", NULL}},
        {"limits", {"--limit", "nofile=64:128", "--limit", "cputime=60:90", "--limit", "stack=1M", NULL}},
};

/* The arguments from `first` on, with @ made the site's folder.  The caller frees the strings that were
 * made. */
static size_t add_options(const struct site *s, const struct policy *policy, const char **argv, size_t n,
                          char **made) {
        for (size_t i = 0; policy->options[i]; i++) {
                bool is_path = policy->options[i][0] == '@';

                made[i] = is_path ? text_of("%s%s", s->root, policy->options[i] + 1) : NULL;
                argv[n++] = is_path ? made[i] : policy->options[i];
        }
        return n;
}

static void nsrun_with(const struct site *s, const struct policy *policy, bool as_root, const char *verb,
                       const char *bundle, struct outcome *o) {
        _cleanup_free_ char *helper = helper_path("answer"), *bind = text_of("%s:/answer:ro", helper);
        const char *argv[40] = {program(), verb, "--project", s->project, "--bind", bind};
        char *made[10] = {NULL};
        size_t n = 6;

        if (bundle) {
                argv[n++] = "--format=oci";
                argv[n++] = "--bundle";
                argv[n++] = bundle;
        }
        if (as_root) {
                argv[n++] = "--uid=0";
                argv[n++] = "--gid=0";
        }
        n = add_options(s, policy, argv, n, made);
        argv[n++] = "--";
        argv[n++] = "sh";
        argv[n++] = "-c";
        argv[n++] = probe;
        outcome_clear(o);
        run(&(struct request){.argv = argv, .cwd = s->project}, o);
        for (size_t i = 0; i < ARRAY_SIZE(made); i++)
                free(made[i]);
}

/* crun refuses hosts with both versions of cgroups, of which it is to need neither here. */
static const char without_cgroups[] = "mount -t tmpfs tmpfs /sys/fs/cgroup 2>/dev/null; exec \"$@\"";

static void run_bundle(const struct site *s, const char *runtime, const char *bundle, struct outcome *o) {
        _cleanup_free_ char *root = text_of("%s/%s-state", s->root, runtime);
        bool is_crun = streq(runtime, "crun"), is_root = geteuid() == 0;
        const char *argv[20];
        size_t n = 0;

        if (is_crun) {
                argv[n++] = "unshare";
                argv[n++] = "--mount";
                if (!is_root) {
                        argv[n++] = "--map-current-user";
                        argv[n++] = "--keep-caps";
                }
                argv[n++] = "sh";
                argv[n++] = "-c";
                argv[n++] = without_cgroups;
                argv[n++] = "sh";
        }
        argv[n++] = runtime;
        if (is_crun)
                argv[n++] = "--cgroup-manager=disabled";
        argv[n++] = "--root";
        argv[n++] = root;
        argv[n++] = "run";
        argv[n++] = "--bundle";
        argv[n++] = bundle;
        argv[n++] = "nsrun-test";
        argv[n] = NULL;
        outcome_clear(o);
        run(&(struct request){.argv = argv, .cwd = s->project}, o);
}

static void expect_same(const struct policy *policy, const struct outcome *ours,
                        const struct outcome *theirs) {
        if (streq(ours->out, theirs->out) && theirs->status == ours->status)
                return;
        for (const char *a = ours->out, *b = theirs->out; *a || *b;) {
                size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");

                if (n != m || memcmp(a, b, n) != 0) {
                        print_error("%s: nsrun says: %.*s\nthe bundle:  %.*s\n", policy->name, (int)n, a,
                                    (int)m, b);
                        break;
                }
                a += n + (a[n] == '\n');
                b += m + (b[m] == '\n');
        }
        print_error("nsrun: %d\n%s\nbundle: %d\n%s\n%s\n", ours->status, ours->out, theirs->status,
                    theirs->out, theirs->err);
        fail();
}

static void compare_all(const struct site *s, const char *runtime) {
        /* runc wants a root inside, be it one without rights. */
        bool as_root = streq(runtime, "runc") && geteuid() != 0;
        struct rlimit files;

        /* runc, a program in Go, makes it so for itself, and its command has it then. */
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
        files.rlim_cur = files.rlim_max;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
        make_folder(s->project, "sub");
        make_folder(s->root, "instance");
        for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
                _cleanup_free_ char *bundle = text_of("%s/bundle-%zu", s->root, i), *lower = NULL,
                                    *path = NULL;
                _cleanup_outcome_ struct outcome ours = {0}, plan = {0}, theirs = {0};

                make_file(s->project, "sub/lower", "lower\n");
                nsrun_with(s, &policies[i], as_root, "run", NULL, &ours);
                expect_status(&ours, 0);
                make_file(s->project, "sub/lower", "lower\n");
                nsrun_with(s, &policies[i], as_root, "plan", bundle, &plan);
                expect_status(&plan, 0);
                if (has_scopes())
                        expect_in(plan.err, "nsrun: note: not in the bundle: Landlock");
                run_bundle(s, runtime, bundle, &theirs);
                expect_same(&policies[i], &ours, &theirs);
                path = path_of(s->project, "sub/lower");
                lower = file_text(path);
                assert_string_equal(lower, streq(policies[i].name, "overlays") ? "lower\n" : "new\n");
        }
}

TEST(crun_gives_the_probe_the_same_answers) {
        if (!has_program("crun") || !has_program("unshare"))
                skip_because("crun isn't installed");
        compare_all(*state, "crun");
}

TEST(runc_gives_the_probe_the_same_answers) {
        if (!has_program("runc"))
                skip_because("runc isn't installed");
        compare_all(*state, "runc");
}

/* `nsrun plan --project PROJECT ARGUMENT…` */
#define PLAN(s, o, ...)                                                                                   \
        run(&(struct request){.argv = OPTIONS(program(), "plan", "--project", (s)->project, __VA_ARGS__), \
                              .cwd = (s)->root},                                                          \
            (o))

TEST(without_a_folder_the_spec_is_printed) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        PLAN(s, &o, "--format=oci", "--limit", "memory=64M", "--limit", "pids=20", "--limit", "cpu=0.5",
             "--", "echo", "one two");
        expect_status(&o, 0);
        expect_in(o.out, "\"ociVersion\": \"1.0.2\"");
        expect_in(o.out, "\"args\": [\n      \"echo\",\n      \"one two\"\n    ]");
        expect_in(o.out, "\"limit\": 67108864");
        expect_in(o.out, "\"limit\": 20");
        expect_in(o.out, "\"quota\": 50000");
        expect_in(o.out, "\"defaultErrnoRet\"");
        expect_in(
                o.err,
                "nsrun: note: not in the bundle: protected names that don't exist can be made, and stay\n");
}

TEST(what_a_bundle_can_not_say_is_said_or_refused) {
        static const struct {
                const char *options[4];
                const char *said;
        } cases[] = {
                {{"--net=allow", "--allow", "example.org"},
                 "--net=allow: there is loopback alone, and no name can be reached"},
                {{"--seccomp-log"}, "--seccomp-log: the kernel's log has no denied calls"},
                {{"--no-new-session"}, "--no-new-session: the command has a session of its own"},
                {{"--tmp=scratch"}, "the scratch folder is in memory, and at /tmp alone"},
                {{"--protect=strict"}, "--protect=strict: names that don't exist can be made"},
                {{"--hide", ".env"}, "a hidden file is empty, where it could not be opened"},
                {{"--proc=auto"}, "--proc=auto: a new /proc, or none starts"},
        };
        const struct site *s = *state;
        _cleanup_free_ char *bundle = path_of(s->root, "bundle");
        _cleanup_outcome_ struct outcome strict = {0};

        make_file(s->project, ".env", "secret\n");
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                const char *argv[16] = {program(), "plan", "--project", s->project, "--format=oci"};
                _cleanup_free_ char *line = text_of("nsrun: note: not in the bundle: %s\n", cases[i].said);
                _cleanup_outcome_ struct outcome o = {0};
                size_t n = 5;

                for (size_t k = 0; k < 4 && cases[i].options[k]; k++)
                        argv[n++] = cases[i].options[k];
                argv[n++] = "true";
                run(&(struct request){.argv = argv, .cwd = s->root}, &o);
                expect_status(&o, 0);
                expect_in(o.err, line);
        }
        PLAN(s, &strict, "--format=oci", "--bundle", bundle, "--landlock=off", "--strict", "--", "true");
        expect_refusal(
                &strict, 125,
                "nsrun: protected names that don't exist can be made, and stay; an OCI bundle can't say "
                "otherwise: leave --strict out, or what asks for it");
        assert_int_equal(access(bundle, F_OK), -1);
        outcome_clear(&strict);
        strict = (struct outcome){0};
        PLAN(s, &strict, "--format=oci", "--bundle", bundle, "--landlock=off", "--no-protect=*", "--strict",
             "--", "true");
        expect_status(&strict, 0);
        assert_int_equal(access(bundle, F_OK), 0);
}

TEST(a_bundle_lies_in_a_new_folder_that_its_command_can_not_write) {
        const struct site *s = *state;
        _cleanup_free_ char *inside = path_of(s->project, "bundle"), *there = path_of(s->root, "there");
        _cleanup_free_ char *writable =
                text_of("nsrun: the bundle would lie where its command can write: %s; "
                        "name a folder outside of the project and of --rw",
                        inside);
        _cleanup_free_ char *exists = text_of(
                "nsrun: the bundle can't be written: %s: File exists; it is made anew: name a folder that isn't there",
                there);
        _cleanup_free_ char *layers =
                text_of("nsrun: an overlay needs a bundle's folder for what is written to "
                        "it: %s; name one with --bundle DIR",
                        s->project);
        _cleanup_outcome_ struct outcome o = {0}, second = {0}, overlay = {0}, format = {0}, none = {0};

        make_folder(s->root, "there");
        PLAN(s, &o, "--format=oci", "--bundle", inside, "--", "true");
        expect_refusal(&o, 125, writable);
        assert_int_equal(access(inside, F_OK), -1);
        PLAN(s, &second, "--format=oci", "--bundle", there, "--", "true");
        expect_refusal(&second, 125, exists);
        PLAN(s, &overlay, "--format=oci", "--overlay", s->project, "--", "true");
        expect_refusal(&overlay, 125, layers);
        PLAN(s, &format, "--bundle", there, "--", "true");
        expect_refusal(&format, 125, "nsrun: it is for --format=oci: --bundle; see 'nsrun plan --help'");
        PLAN(s, &none, "--format=oci");
        expect_refusal(&none, 125, "nsrun: no command: --format=oci; see 'nsrun plan --help'");
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* policy/resolve.c and refuse.c: what becomes of rules, and what each refusal
 * says, word for word. */
#include "scratch.h"

#include "policy/environment.h"
#include "policy/policy.h"

/* A user's home and a project, with a symlink or two. */
struct world {
        char *top;
        char *old_cwd;
        struct nsrun_policy *p;
};

static void new_policy(struct world *w) {
        char *home = NULL, *runtime = NULL;

        w->p = nsrun_policy_free(w->p);
        assert_int_equal(nsrun_policy_new(&w->p), 0);
        assert_true(asprintf(&home, "HOME=%s/home", w->top) > 0);
        assert_true(asprintf(&runtime, "XDG_RUNTIME_DIR=%s/runtime", w->top) > 0);
        assert_int_equal(nsrun_policy_set_environ(w->p, (const char *const[]){home, runtime, NULL}), 0);
        assert_int_equal(nsrun_policy_set_command(w->p, (const char *const[]){"true", NULL}, NULL), 0);
        free(home);
        free(runtime);
}

static int set_up(void **state) {
        static const char *const folders[] = {
                "home/.npm",  "home/.cargo/registry", "home/src/x/sub/deep", "home/src/plain",
                "data/cache", "runtime/podman",       "repo/.git",           "repo/a/b",
        };
        struct world *w = calloc(1, sizeof(*w));

        assert_non_null(w);
        w->top = scratch_make();
        for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
                scratch_folder(w->top, folders[i]);
        scratch_file(w->top, "data/file", "text");
        scratch_file(w->top, "home/src/x/.git", "gitdir: .");
        scratch_link(w->top, "link", "data");
        scratch_link(w->top, "npm", "home/.npm");
        scratch_link(w->top, "x", "home/src/x");
        scratch_link(w->top, "sockets", "runtime");
        w->old_cwd = getcwd(NULL, 0);
        assert_non_null(w->old_cwd);
        new_policy(w);
        *state = w;
        return 0;
}

static int tear_down(void **state) {
        struct world *w = *state;

        assert_int_equal(chdir(w->old_cwd), 0);
        w->p = nsrun_policy_free(w->p);
        free(w->old_cwd);
        scratch_remove(w->top);
        free(w);
        return 0;
}

/* `text` with each @ replaced by the world's folder; the caller's. */
static char *in(const struct world *w, const char *text) {
        char *result = calloc(1, strlen(text) + 1 + 8 * strlen(w->top)), *to = result;

        assert_non_null(result);
        for (; *text; text++)
                if (*text == '@')
                        to = stpcpy(to, w->top);
                else
                        *to++ = *text;
        return result;
}

static void set(struct world *w, const char *option, const char *value) {
        char *expanded = value ? in(w, value) : NULL;
        struct nsrun_error err = {0};

        assert_int_equal(nsrun_policy_set(w->p, option, expanded, &err), 0);
        free(expanded);
}

static void resolve(struct world *w) {
        struct nsrun_error err = {0};

        if (policy_resolve(w->p, &err) < 0)
                fail_msg("%s", nsrun_error_format(&err));
}

static void assert_refused(struct world *w, int r, const char *line) {
        struct nsrun_error err = {0};
        char *is, *expected = in(w, line);

        assert_int_equal(policy_resolve(w->p, &err), r);
        is = nsrun_error_format(&err);
        assert_string_equal(is, expected);
        free(is);
        free(expected);
}

static const struct policy_rule *find_rule(struct world *w, const char *target) {
        char *expanded = in(w, target);
        const struct policy_rule *found = NULL;

        for (size_t i = 0; i < w->p->n_rules; i++)
                if (streq(w->p->rules[i].target, expanded)) {
                        assert_null(found); /* one rule for one target */
                        found = &w->p->rules[i];
                }
        free(expanded);
        return found;
}

static void assert_rule(struct world *w, const char *target, enum policy_access access, const char *source,
                        const char *alias) {
        const struct policy_rule *rule = find_rule(w, target);
        char *expected_source = in(w, source), *expected_alias = alias ? in(w, alias) : NULL;

        if (!rule)
                fail_msg("no rule for %s", target);
        assert_int_equal(rule->access, access);
        assert_string_equal(rule->source, expected_source);
        if (!expected_alias)
                assert_null(rule->alias);
        else
                assert_string_equal(rule->alias, expected_alias);
        free(expected_source);
        free(expected_alias);
}

static void enter(struct world *w, const char *folder) {
        char *path = in(w, folder);

        assert_int_equal(chdir(path), 0);
        free(path);
}

static void the_project_is_the_git_top_level(void **state) {
        struct world *w = *state;
        char *expected = in(w, "@/home/src/x");

        enter(w, "@/home/src/x/sub/deep");
        for (int i = 0; i < 3; i++) {
                resolve(w); /* twice is as once */
                assert_string_equal(w->p->project, expected);
                assert_rule(w, "@/home/src/x", POLICY_RW, "@/home/src/x", NULL);
        }
        free(expected);
}

static void without_git_the_project_is_the_current_folder(void **state) {
        struct world *w = *state;
        char *expected = in(w, "@/home/src/plain");

        enter(w, "@/home/src/plain");
        resolve(w);
        assert_string_equal(w->p->project, expected);
        free(expected);
}

static void a_project_keeps_the_name_it_was_given(void **state) {
        struct world *w = *state;

        set(w, "project", "@/x/../x/");
        for (int i = 0; i < 2; i++) {
                resolve(w);
                assert_rule(w, "@/home/src/x", POLICY_RW, "@/home/src/x", "@/x");
        }
        set(w, "project", "@/repo");
        resolve(w);
        assert_rule(w, "@/repo", POLICY_RW, "@/repo", NULL);
        assert_null(find_rule(w, "@/home/src/x"));
}

static void no_project_exposes_none(void **state) {
        struct world *w = *state;

        enter(w, "@/repo");
        set(w, "no-project", NULL);
        resolve(w);
        assert_null(w->p->project);
        assert_null(find_rule(w, "@/repo"));
}

static void toolchains_are_default_rules(void **state) {
        struct world *w = *state;
        const struct policy_rule *rule;

        set(w, "no-project", NULL);
        resolve(w);
        assert_rule(w, "/usr", POLICY_RO, "/usr", NULL);
        assert_rule(w, "@/home/.npm", POLICY_OVERLAY, "@/home/.npm", NULL);
        assert_rule(w, "@/home/.cargo/registry", POLICY_OVERLAY, "@/home/.cargo/registry", NULL);
        assert_null(find_rule(w, "@/home/.nuget/packages")); /* which isn't there */
        rule = find_rule(w, "/usr");
        assert_true(rule->is_default);
        assert_true(rule->is_directory);
        assert_string_equal(rule->option, "toolchains");
}

static void an_explicit_rule_replaces_a_default_one(void **state) {
        struct world *w = *state;

        set(w, "project", "@/repo");
        set(w, "ro", "@/repo");
        set(w, "ro", "@/npm"); /* a symlink to a toolchain's folder */
        set(w, "bind", "@/data:/usr:ro");
        resolve(w);
        assert_rule(w, "@/repo", POLICY_RO, "@/repo", NULL);
        assert_rule(w, "@/home/.npm", POLICY_RO, "@/home/.npm", "@/npm");
        assert_rule(w, "/usr", POLICY_RO, "@/data", NULL);
        assert_false(find_rule(w, "/usr")->is_default);
        resolve(w);
        assert_rule(w, "@/repo", POLICY_RO, "@/repo", NULL);
}

static void the_same_rule_twice_is_one(void **state) {
        struct world *w = *state;

        set(w, "no-project", NULL);
        set(w, "ro", "@/data");
        set(w, "ro", "@/link/"); /* the same folder by another name */
        set(w, "bind", "@/data:@//data/.:ro");
        set(w, "symlink", "a:/l");
        set(w, "symlink", "a:/./l");
        resolve(w);
        assert_rule(w, "@/data", POLICY_RO, "@/data", "@/link");
        assert_int_equal(w->p->n_links, 1);
        assert_string_equal(w->p->links[0].path, "/l");
}

static void sources_are_canonical_and_targets_normalised(void **state) {
        struct world *w = *state;

        enter(w, "@/repo");
        set(w, "no-project", NULL);
        set(w, "ro", "../link/file");
        set(w, "bind", "@/link/cache:/x//y/../z/");
        set(w, "rw", "../repo/a");
        resolve(w);
        assert_rule(w, "@/data/file", POLICY_RO, "@/data/file", "@/link/file");
        assert_false(find_rule(w, "@/data/file")->is_directory);
        assert_rule(w, "/x/z", POLICY_RW, "@/data/cache", NULL);
        assert_true(find_rule(w, "/x/z")->is_directory);
        assert_rule(w, "@/repo/a", POLICY_RW, "@/repo/a", NULL);
}

/* /top/x/.. is /top/home/src for the kernel and /top for a lexical mind. */
static void a_spelling_that_leads_elsewhere_makes_no_alias(void **state) {
        struct world *w = *state;

        set(w, "no-project", NULL);
        set(w, "ro", "@/x/../plain");
        resolve(w);
        assert_rule(w, "@/home/src/plain", POLICY_RO, "@/home/src/plain", NULL);
}

static void an_alias_gives_way_to_a_rule(void **state) {
        struct world *w = *state;

        set(w, "no-project", NULL);
        set(w, "ro", "@/link");
        set(w, "bind", "@/repo:@/link");
        resolve(w);
        assert_rule(w, "@/data", POLICY_RO, "@/data", NULL);
        assert_rule(w, "@/link", POLICY_RW, "@/repo", NULL);
}

static void a_hidden_spelling_in_proc_makes_no_alias(void **state) {
        struct world *w = *state;

        enter(w, "@/data");
        set(w, "no-project", NULL);
        set(w, "ro", "/proc/self/cwd/cache");
        resolve(w);
        assert_rule(w, "@/data/cache", POLICY_RO, "@/data/cache", NULL);
}

static void many_rules_keep_their_order(void **state) {
        struct world *w = *state;
        char *source = in(w, "@/data");

        set(w, "no-project", NULL);
        for (int i = 0; i < 2000; i++) {
                char target[32];

                (void)snprintf(target, sizeof(target), "/many/%d", (i * 7919) % 2000);
                assert_int_equal(policy_add_rule(w->p, POLICY_RO, source, target, "--bind"), 0);
        }
        resolve(w);
        for (int i = 0; i < 2000; i++) {
                char target[32];

                (void)snprintf(target, sizeof(target), "/many/%d", (i * 7919) % 2000);
                assert_string_equal(w->p->rules[i].target, target);
        }
        free(source);
}

static void the_home_is_found(void **state) {
        struct world *w = *state;
        static const struct {
                const char *home, *expected;
        } cases[] = {
                {"HOME=/home/./u/", "/home/u"},    {"HOME=/", NULL},
                {"HOME=/usr/sbin", NULL},          {"HOME=/tmp", NULL},
                {"HOME=/tmp/h", "/tmp/h"},         {"HOME=/dev/shm", NULL},
                {"HOME=/var/lib/x", "/var/lib/x"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                new_policy(w);
                set(w, "no-project", NULL);
                assert_int_equal(nsrun_policy_set_environ(w->p, (const char *const[]){cases[i].home, NULL}),
                                 0);
                resolve(w);
                if (cases[i].expected)
                        assert_string_equal(w->p->home, cases[i].expected);
                else
                        assert_null(w->p->home);
        }
}

static void tmp_can_be_a_folder(void **state) {
        struct world *w = *state;
        char *expected = in(w, "@/data");

        set(w, "no-project", NULL);
        set(w, "tmp", "@/link");
        for (int i = 0; i < 2; i++) {
                resolve(w);
                assert_string_equal(w->p->tmp, expected);
                assert_rule(w, "@/data", POLICY_RW, "@/data", "@/link");
        }
        /* An explicit rule for the same path goes before, whatever the link says. */
        set(w, "ro", "@/data");
        resolve(w);
        assert_string_equal(w->p->tmp, expected);
        assert_rule(w, "@/data", POLICY_RO, "@/data", "@/link");
        free(expected);
}

static void a_bad_project_is_refused(void **state) {
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

static void a_bad_rule_is_refused(void **state) {
        static const struct {
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
                {"rw", "/usr", -EPERM,
                 "--rw would make a system root writable: /usr; expose it with --ro, or use --overlay to throw away "
                 "what is written"},
                {"bind", "/usr:/u", -EPERM,
                 "--bind would make a system root writable: /usr; expose it with --ro, or use --overlay to throw "
                 "away what is written"},
                {"bind", "@/data:x/y", -EPERM,
                 "a relative target (--bind): x/y; targets are absolute paths inside the sandbox"},
                {"bind", "@/data:/x/..", -EPERM,
                 "--bind would replace the sandbox's root: /; name a path below it"},
                {"ro", "/etc", -EPERM,
                 "--ro would replace the sandbox's own /etc: /etc; name the files in it that the command needs"},
                {"ro", "/etc/passwd", -EPERM,
                 "--ro would replace what nsrun makes itself: /etc/passwd; choose another target with --bind "
                 "SRC:DEST"},
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
                {"tmp", "/usr", -EPERM,
                 "--tmp would make a system root writable: /usr; expose it with --ro, or use --overlay to throw away "
                 "what is written"},
        };
        struct world *w = *state;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                new_policy(w);
                set(w, "no-project", NULL);
                set(w, cases[i].option, cases[i].value);
                assert_refused(w, cases[i].r, cases[i].line);
        }
}

static void a_control_socket_is_refused_by_any_way(void **state) {
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
static void a_socket_is_looked_for_where_its_folder_leads(void **state) {
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

static void a_socket_that_docker_host_names_is_refused(void **state) {
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

static void two_rules_for_one_target_are_refused(void **state) {
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

static void nested_rules_are_fine(void **state) {
        struct world *w = *state;

        set(w, "project", "@/repo");
        set(w, "ro", "@/repo/a");
        set(w, "overlay", "@/repo/a/b");
        resolve(w);
        assert_rule(w, "@/repo", POLICY_RW, "@/repo", NULL);
        assert_rule(w, "@/repo/a", POLICY_RO, "@/repo/a", NULL);
        assert_rule(w, "@/repo/a/b", POLICY_OVERLAY, "@/repo/a/b", NULL);
}

static void no_command_is_wrong_usage(void **state) {
        struct world *w = *state;
        struct nsrun_error err = {0};

        assert_int_equal(nsrun_policy_set_command(w->p, (const char *const[]){NULL}, &err), -EINVAL);
        assert_string_equal(err.what, "no command");
        strv_free(TAKE_PTR(w->p->argv));
        assert_refused(w, -EINVAL, "no command");
}

static void control_bytes_in_a_path_are_made_visible(void **state) {
        struct world *w = *state;

        set(w, "no-project", NULL);
        set(w, "ro", "@/\033[2J\n");
        assert_refused(
                w, -ENOENT,
                "the source of --ro can't be opened: @/\\x1b[2J\\x0a: No such file or directory; create it "
                "first, or leave the option out");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(the_project_is_the_git_top_level),
                TEST(without_git_the_project_is_the_current_folder),
                TEST(a_project_keeps_the_name_it_was_given),
                TEST(no_project_exposes_none),
                TEST(toolchains_are_default_rules),
                TEST(an_explicit_rule_replaces_a_default_one),
                TEST(the_same_rule_twice_is_one),
                TEST(sources_are_canonical_and_targets_normalised),
                TEST(a_spelling_that_leads_elsewhere_makes_no_alias),
                TEST(an_alias_gives_way_to_a_rule),
                TEST(a_hidden_spelling_in_proc_makes_no_alias),
                TEST(many_rules_keep_their_order),
                TEST(the_home_is_found),
                TEST(tmp_can_be_a_folder),
                TEST(a_bad_project_is_refused),
                TEST(a_bad_rule_is_refused),
                TEST(a_control_socket_is_refused_by_any_way),
                TEST(a_socket_is_looked_for_where_its_folder_leads),
                TEST(a_socket_that_docker_host_names_is_refused),
                TEST(two_rules_for_one_target_are_refused),
                TEST(nested_rules_are_fine),
                TEST(no_command_is_wrong_usage),
                TEST(control_bytes_in_a_path_are_made_visible),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

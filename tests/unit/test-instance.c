/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The instance root: which folder it is, what is made in it, and that nothing a command left
 * there leads the making out of it. */
#include "policy-world.h"

#include <signal.h>

#include "base/path.h"
#include "policy/withheld.h"
#include "resolve/environment.h"
#include "resolve/instance_folders.h"
#include "resolve/project.h"

static struct nsrun_policy *make(const char *home, const char *named, const char *option) {
        char *const_home = NULL, *const_named = NULL;
        const char *environment[3] = {NULL};
        struct nsrun_policy *p = NULL;
        size_t n = 0;

        assert_int_equal(nsrun_policy_new(&p), 0);
        if (home) {
                assert_true(asprintf(&const_home, "HOME=%s", home) > 0);
                environment[n++] = const_home;
        }
        if (named) {
                assert_true(asprintf(&const_named, "NSRUN_HOME=%s", named) > 0);
                environment[n++] = const_named;
        }
        assert_int_equal(nsrun_policy_set_environ(p, environment), 0);
        free(const_home);
        free(const_named);
        if (option)
                assert_int_equal(nsrun_policy_set(p, "instance", option, NULL), 0);
        return p;
}

static int find_root(const struct nsrun_policy *p, char **ret, struct nsrun_error *err) {
        char *home = NULL;
        int r;

        assert_int_equal(policy_find_home(environment_get(p->host_environ, "HOME"), &home, NULL), 0);
        r = instance_find_root(p->instance, p->host_environ, home, ret, NULL, err);
        free(home);
        return r;
}

TEST(the_root_is_the_option_else_the_variable_else_in_the_home) {
        static const struct {
                const char *home, *named, *option, *root;
        } cases[] = {
                {"/nowhere/u", NULL, NULL, "/nowhere/u/.nsrun"},
                {"/nowhere/u", "", NULL, "/nowhere/u/.nsrun"},
                {"/nowhere/u", "/nowhere/n", NULL, "/nowhere/n"},
                {"/nowhere/u", "/nowhere/n", "/nowhere/o/../p/", "/nowhere/p"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct nsrun_policy *p = make(cases[i].home, cases[i].named, cases[i].option);
                struct nsrun_error err = {0};
                char *root = NULL;

                assert_int_equal(find_root(p, &root, &err), 0);
                assert_string_equal(root, cases[i].root);
                free(root);
                (void)nsrun_policy_free(p);
        }
}

TEST(a_relative_root_a_home_and_a_system_folder_are_refused) {
        static const struct {
                const char *named;
                int r;
                const char *line;
        } cases[] = {
                {".", -EINVAL,
                 "the instance root is relative: .; name an absolute path with --instance DIR or NSRUN_HOME"},
                {"x/y", -EINVAL,
                 "the instance root is relative: x/y; name an absolute path with --instance DIR or NSRUN_HOME"},
                {"/", -EPERM,
                 "a system root can't be the instance root: /; choose a folder with --instance DIR or NSRUN_HOME"},
                {"/usr/../tmp", -EPERM,
                 "a system root can't be the instance root: /tmp; choose a folder with --instance DIR or NSRUN_HOME"},
                {"/etc/x", -EPERM,
                 "a folder of the system can't be the instance root: /etc/x; choose a folder with --instance DIR or NSRUN_HOME"},
                {"/nowhere/u", -EPERM,
                 "a home folder can't be the instance root: /nowhere/u; choose a folder with --instance DIR or NSRUN_HOME"},
                {"/nowhere", -EPERM,
                 "a folder that holds a home folder can't be the instance root: /nowhere; choose a folder with --instance DIR or NSRUN_HOME"},
        };

        for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
                const char *named = cases[i / 2].named;
                struct nsrun_policy *p = make("/nowhere/u", i % 2 ? named : NULL, i % 2 ? NULL : named);
                struct nsrun_error err = {0};
                char *root = NULL, *line;

                assert_int_equal(find_root(p, &root, &err), cases[i / 2].r);
                line = nsrun_error_format(&err);
                assert_string_equal(line, cases[i / 2].line);
                assert_null(root);
                free(line);
                (void)nsrun_policy_free(p);
        }
}

TEST(all_folders_are_made_and_stay_as_they_are) {
        static const char *const names[] = {"skills",
                                            "logs",
                                            "cache",
                                            "state",
                                            "workspace",
                                            "runtime-user-env/home",
                                            "runtime-user-env/tmp",
                                            "runtime-user-env/config",
                                            "runtime-user-env/cache",
                                            "runtime-user-env/state"};
        char *folder = scratch_make(), *root = scratch_path(folder, "a/b"), *kept;
        mode_t mask = umask(022);
        struct stat st;

        assert_int_equal(instance_make_dirs(root, NULL, NULL), 0);
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                char *path = scratch_path(root, names[i]);

                assert_int_equal(lstat(path, &st), 0);
                assert_int_equal(st.st_mode, S_IFDIR | 0755);
                free(path);
        }
        kept = scratch_path(root, "logs");
        assert_int_equal(chmod(kept, 0700), 0);
        scratch_file(root, "logs/kept", "x");
        assert_int_equal(instance_make_dirs(root, NULL, NULL), 0);
        assert_int_equal(lstat(kept, &st), 0);
        assert_int_equal(st.st_mode, S_IFDIR | 0700);
        assert_true(scratch_has(root, "logs/kept"));
        free(kept);
        (void)umask(mask);
        free(root);
        scratch_remove(folder);
}

/* What a command may have left in the place of a folder. */
static void put(const char *root, const char *name, int kind, const char *outside) {
        char *path = scratch_path(root, name), *file = scratch_path(outside, "file");

        switch (kind) {
        case 0:
                assert_int_equal(symlink(outside, path), 0);
                break;
        case 1:
                assert_int_equal(symlink(name, path), 0); /* to itself, or to nothing */
                break;
        case 2:
                assert_int_equal(mkfifo(path, 0600), 0);
                break;
        case 3:
                assert_int_equal(link(file, path), 0);
                break;
        default:
                assert_int_equal(symlink("/proc/self/cwd", path), 0);
        }
        free(path);
        free(file);
}

TEST(nothing_that_was_planted_moves_a_folder) {
        static const char *const names[] = {"logs", "runtime-user-env", "runtime-user-env/home"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                for (int kind = 0; kind < 5; kind++) {
                        char *folder = scratch_make(), *root = scratch_path(folder, "root");
                        char *outside = scratch_path(folder, "outside"), *line;
                        struct nsrun_error err = {0};
                        int r;

                        scratch_folder(folder, "outside");
                        scratch_file(folder, "outside/file", "x");
                        scratch_folder(folder, i == 2 ? "root/runtime-user-env" : "root");
                        put(root, names[i], kind, outside);
                        r = instance_make_dirs(root, NULL, &err);
                        assert_int_equal(r, kind == 2 || kind == 3 ? -ENOTDIR : -ELOOP);
                        line = nsrun_error_format(&err);
                        assert_non_null(strstr(line, "a folder of the instance can't be made: "));
                        assert_string_equal(
                                err.hint,
                                "something else is there, which a command may have put there: remove it");
                        assert_int_equal(err.stage, NSRUN_STAGE_WORKSPACE);
                        /* Nothing was made out there. */
                        assert_false(scratch_has(outside, "home"));
                        assert_false(scratch_has(outside, "tmp"));
                        assert_int_equal(rmdir(outside), -1);
                        free(line);
                        free(outside);
                        free(root);
                        scratch_remove(folder);
                }
}

/* A mount point that a run makes in the instance: the same kinds of leftovers, on the way and in its place.
 */
TEST(nothing_that_was_planted_moves_a_mount_point) {
        static const char *const names[] = {"a", "a/b"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                for (int kind = 0; kind < 5; kind++) {
                        char *folder = scratch_make(), *root = scratch_path(folder, "root");
                        char *outside = scratch_path(folder, "outside"), *target = scratch_path(root, "a/b");
                        struct nsrun_error err = {0};

                        scratch_folder(folder, "outside");
                        scratch_file(folder, "outside/file", "x");
                        scratch_folder(folder, i == 1 ? "root/a" : "root");
                        put(root, names[i], kind, outside);
                        assert_int_equal(instance_make(target, true, "it", &err),
                                         kind == 2 || kind == 3 ? -ENOTDIR : -ELOOP);
                        assert_string_equal(err.what, "it can't be made");
                        assert_string_equal(
                                err.hint,
                                "something else is there, which a command may have put there: remove it");
                        /* What is in a file's place stays, and the mount refuses it if it is a link. */
                        assert_int_equal(instance_make(target, false, "it", &err), i == 1 ? 0
                                                                                   : kind == 2 || kind == 3
                                                                                           ? -ENOTDIR
                                                                                           : -ELOOP);
                        assert_false(scratch_has(outside, "b"));
                        assert_false(scratch_has(folder, "b"));
                        free(target);
                        free(outside);
                        free(root);
                        scratch_remove(folder);
                }
}

/* A link to nothing is no way to make a file out there. */
TEST(no_file_is_made_through_a_link) {
        char *folder = scratch_make(), *link = scratch_path(folder, "root/f");

        scratch_folder(folder, "root");
        scratch_link(folder, "root/f", "../made");
        assert_int_equal(instance_make(link, false, "it", NULL), 0);
        assert_false(scratch_has(folder, "made"));
        assert_int_equal(unlink(link), 0);
        assert_int_equal(instance_make(link, false, "it", NULL), 0);
        assert_int_equal(unlink(link), 0);
        free(link);
        link = scratch_path(folder, "root/x/y/f");
        assert_int_equal(instance_make(link, false, "it", NULL), 0);
        assert_int_equal(instance_make(link, false, "it", NULL), 0);
        assert_int_equal(unlink(link), 0);
        free(link);
        scratch_remove(folder);
}

/* A command of another run that puts a link in a folder's place, and the folder back, all the time. */
TEST(a_race_moves_no_mount_point) {
        char *folder = scratch_make(), *a = scratch_path(folder, "root/a"),
             *link = scratch_path(folder, "root/l");
        char *outside = scratch_path(folder, "outside"), *target = scratch_path(folder, "root/a/b/c");
        char *parent = scratch_path(folder, "root/a/b");
        unsigned n_made = 0, n_refused = 0;
        pid_t pid;

        scratch_folder(folder, "root/a");
        scratch_folder(folder, "outside");
        assert_int_equal(symlink(outside, link), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
                for (;;)
                        (void)exchange_names(AT_FDCWD, a, AT_FDCWD, link);
        for (unsigned i = 0; i < 200000 && (i < 2000 || !n_made || !n_refused); i++) {
                int r = instance_make(target, i % 2, "it", NULL);

                assert_false(scratch_has(outside, "b"));
                n_made += r >= 0;
                n_refused += r < 0;
                /* What else the race may end with: the folder has just been removed, or not yet. */
                assert_true(r >= 0 || r == -ELOOP || r == -ENOTDIR || r == -ENOENT);
                (void)rmdir(target);
                (void)unlink(target);
                (void)rmdir(parent);
        }
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_true(n_made > 0);
        assert_true(n_refused > 0);
        free(parent);
        free(target);
        free(outside);
        free(link);
        free(a);
        scratch_remove(folder);
}

TEST(the_environment_points_into_the_root) {
        static const char *const expected[] = {
                "HOME=/r/runtime-user-env/home", "TMPDIR=/r/runtime-user-env/tmp",
                "XDG_CONFIG_HOME=/r/runtime-user-env/config", "XDG_CACHE_HOME=/r/runtime-user-env/cache",
                "XDG_STATE_HOME=/r/runtime-user-env/state"};
        struct nsrun_user_env *env = NULL;
        struct nsrun_policy *p = NULL;
        char **list = NULL, **dirs = NULL;
        size_t n = 0;

        assert_int_equal(instance_environment("/r", &list), 0);
        assert_int_equal(nsrun_policy_new(&p), 0);
        assert_int_equal(nsrun_isolation_apply_user_env(p, "/r"), 0);
        for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
                assert_string_equal(list[i], expected[i]);
                assert_string_equal(p->env.entries[i], expected[i]);
        }
        assert_int_equal(strv_length(list), ARRAY_SIZE(expected));
        assert_int_equal(p->env.n, ARRAY_SIZE(expected));
        assert_int_equal(nsrun_isolation_user_env("/r", &env), 0);
        assert_string_equal(env->home, expected[0] + 5);
        assert_string_equal(env->tmp, expected[1] + 7);
        assert_string_equal(env->config, expected[2] + 16);
        assert_string_equal(env->cache, expected[3] + 15);
        assert_string_equal(env->state, expected[4] + 15);
        assert_int_equal(nsrun_isolation_instance_dirs("/r", &dirs), 0);
        while (dirs[n])
                n++;
        assert_int_equal(n, INSTANCE_N_DIRS);
        assert_true(strv_contains(dirs, "/r") && strv_contains(dirs, "/r/skills") &&
                    strv_contains(dirs, "/r/runtime-user-env/home"));
        free(dirs);
        free(env);
        strv_free(list);
        (void)nsrun_policy_free(p);
}

/* A symlink to a program brings what the program was installed with, and no more than that. */
TEST_WITH(a_linked_program_brings_its_package, set_up, tear_down) {
        static const struct {
                const char *link, *program;
                const char *package, *other; /* shown, and not shown; both may be NULL */
        } cases[] = {
                /* node's packages: all that may need each other. */
                {"home/.nvm/v20/bin/npx", "home/.nvm/v20/lib/node_modules/npm/bin/npx-cli.js",
                 "home/.nvm/v20/lib/node_modules", "home/.nvm/v20/lib"},
                {"opt/node/bin/a", "opt/node/lib/node_modules/a/cli.js", "opt/node/lib/node_modules",
                 "opt/node"},
                {"bin/b", "home/.g/5/node_modules/.pnpm/b@1/node_modules/b/b.js", "home/.g/5/node_modules",
                 "home/.g/5"},
                {"home/x/node_modules/.bin/c", "home/x/node_modules/c/bin/c.js", "home/x/node_modules",
                 "home/x"},
                /* The folder above its "bin". */
                {"bin/tool", "opt/tool/bin/tool", "opt/tool", "opt"},
                {"home/.local/bin/app", "home/.local/share/venvs/app/bin/app", "home/.local/share/venvs/app",
                 "home/.local/share/venvs"},
                {"bin/e", "home/.local/share/e/bin/e", "home/.local/share/e", "home/.local/share"},
                {"bin/f", "home/tools/f/bin/f", "home/tools/f", "home/tools"},
                /* Not of what may hold anything. */
                {"bin/g", "home/bin/g", NULL, "home"},
                {"bin/h", "home/Documents/bin/h", NULL, "home/Documents"},
                {"bin/i", "home/.cargo/bin/i", NULL, "home/.cargo"},
                {"bin/j", "home/.local/share/bin/j", NULL, "home/.local/share"},
                {"bin/k", "home/src/.keys/k/bin/k", NULL, "home/src/.keys/k"},
                /* The link's own folder. */
                {"opt/l/bin/l", "opt/l/bin/l-1.2", NULL, "opt/l"},
                {"opt/m/sbin/m", "opt/m/bin/m", NULL, "opt/m"},
                /* Neither. */
                {"bin/n", "opt/n/libexec/n", NULL, "opt/n"},
                {NULL, "opt/o/bin/o", NULL, "opt/o"},
                {NULL, "opt/p/node_modules/p/bin/p", NULL, "opt/p/node_modules"},
        };
        struct world *w = *state;

        set(w, "profile", "instance");
        set(w, "no-project", NULL);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                char *program = scratch_path(w->top, cases[i].program);
                char *link = scratch_path(w->top, cases[i].link ? cases[i].link : cases[i].program);

                scratch_file(w->top, cases[i].program, "#!/bin/sh\n");
                if (cases[i].link) {
                        scratch_file(w->top, cases[i].link, "");
                        assert_int_equal(unlink(link), 0);
                        assert_int_equal(symlink(program, link), 0);
                }
                assert_int_equal(nsrun_policy_set_command(w->p, (const char *const[]){link, NULL}, NULL), 0);
                resolve(w);
                for (size_t j = 0; j < w->s.files.n_rules; j++) {
                        char *other = scratch_path(w->top, cases[i].other);

                        if (path_is_beneath(other, w->s.files.rules[j].target))
                                fail_msg("%s shows %s", link, w->s.files.rules[j].target);
                        free(other);
                }
                if (cases[i].package) {
                        char *package = NULL;

                        assert_true(asprintf(&package, "@/%s", cases[i].package) > 0);
                        assert_rule(w, package, POLICY_RO, package, NULL);
                        free(package);
                }
                free(link);
                free(program);
        }
}

int main(void) {
        return run_all_tests();
}

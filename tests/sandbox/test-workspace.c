/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The public workspace: what its functions promise, and each refusal in its words.  The
 * shared object, and its public names alone. */
#include <sys/wait.h>

#include "workspace.h"

static void expect_resolved(const struct nsrun_workspace *w, enum nsrun_access access, const char *path,
                            const char *host) {
        _cleanup_free_ char *found = NULL;
        struct nsrun_error err = {0};

        expect_good(nsrun_workspace_resolve(w, access, path, &found, &err), &err);
        assert_string_equal(found, host);
}

/* And neither way of asking gives anything out. */
static void expect_refused(const struct nsrun_workspace *w, enum nsrun_access access, const char *path,
                           const char *what) {
        _cleanup_free_ char *line = text_of("%s: %s: Operation not permitted", what, path);
        char *found = NULL;
        struct nsrun_error err = {0};
        int fd = -7;

        assert_int_equal(nsrun_workspace_open(w, access, path, O_RDONLY, 0, &fd, &err), -EPERM);
        assert_int_equal(fd, -7);
        memset(&err, 0, sizeof(err));
        assert_int_equal(nsrun_workspace_resolve(w, access, path, &found, &err), -EPERM);
        assert_null(found);
        err.hint[0] = '\0';
        expect_error(-EPERM, -EPERM, NSRUN_STAGE_POLICY, &err, line);
}

static void expect_hidden(const struct nsrun_workspace *w, const char *path) {
        expect_refused(w, NSRUN_READ, path, "the path is hidden");
        expect_refused(w, NSRUN_WRITE, path, "the path is hidden");
}

/* The same names as for commands, by the library's own calls and in a sandbox. */
TEST(hidden_names_are_hidden_from_file_tools) {
        static const char *const globs[] = {".env",      "*.pem",    "secrets/**", "/conf/key",
                                            "deep/er/x", "**/s/key", "b/**/x.pem", "[[:digit:]].key"};
        static const char *const wrong[] = {"", "!x", "a//b", "../x"};
        const struct site *s = *state;
        _cleanup_free_ char *absolute = path_of(s->outside, "token");
        struct nsrun_workspace *w = NULL;
        struct nsrun_error err = {0};
        int fd = -1;

        make_file(s->project, ".env", "secret\n");
        make_folder(s->project, "deep");
        make_folder(s->project, "a/s");
        make_folder(s->project, "b/c");
        make_file(s->project, "sub/a.pem", "secret\n");
        make_file(s->project, "secrets/x", "secret\n");
        make_file(s->project, "open", "open\n");
        make_file(s->outside, "token", "secret\n");
        make_link(s->project, "link", "sub/a.pem");
        expect_good(nsrun_workspace_new(s->project, &w, &err), &err);
        expect_good(nsrun_workspace_add_readable(w, s->outside, &err), &err);
        expect_resolved(w, NSRUN_READ, absolute, absolute);
        for (size_t i = 0; i < ARRAY_SIZE(globs); i++)
                expect_good(nsrun_workspace_hide(w, globs[i], &err), &err);
        expect_good(nsrun_workspace_hide(w, absolute, &err), &err);
        for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
                memset(&err, 0, sizeof(err));
                assert_int_equal(nsrun_workspace_hide(w, wrong[i], &err), -EINVAL);
                assert_string_equal(err.what, "not a glob of names to hide");
        }
        /* There or not, at any depth, by a symlink, and below a folder of the name. */
        for (size_t i = 0; i < 10; i++)
                expect_hidden(w, ((const char *const[]){".env", "sub/.env", "sub/a.pem", "link", "secrets",
                                                        "secrets/x", "sub/../conf/key", "sub/.env/x",
                                                        "deep/er/x", "sub/7.key"})[i]);
        expect_refused(w, NSRUN_READ, absolute, "the path is hidden");
        memset(&err, 0, sizeof(err));
        assert_int_equal(nsrun_workspace_create(w, "sub/new.pem", O_WRONLY, 0600, &fd, &err), -EPERM);
        assert_int_equal(nsrun_workspace_rename(w, "open", "sub/.env", 0, &err), -EPERM);
        assert_int_equal(nsrun_workspace_rename(w, "secrets", "s", 0, &err), -EPERM);
        memset(&err, 0, sizeof(err));
        assert_int_equal(nsrun_workspace_rename(w, "deep", "d", 0, &err), -EBUSY);
        assert_string_equal(err.what, "a hidden name may be in the folder");
        memset(&err, 0, sizeof(err));
        for (size_t i = 0; i < 3; i++) {
                static const char *const folders[] = {"a/s", "b", "b/c"};

                assert_int_equal(nsrun_workspace_rename(w, folders[i], "moved", 0, &err), -EBUSY);
                assert_string_equal(err.what, "a hidden name may be in the folder");
                memset(&err, 0, sizeof(err));
        }
        expect_good(nsrun_workspace_rename(w, "a", "z", 0, &err), &err);
        expect_good(nsrun_workspace_open(w, NSRUN_READ, "open", O_RDONLY, 0, &fd, &err), &err);
        (void)close(fd);
        expect_good(nsrun_workspace_rename(w, "sub", "t", 0, &err), &err);
        expect_hidden(w, "t/a.pem");
        (void)nsrun_workspace_free(w);
}

static const char leads_out[] = "the path leads out of the workspace";
static const char read_only[] = "the path is in a folder that may only be read";

/* What a command of an earlier run left, or the author of a repository, chooses no root. */
TEST(a_planted_link_is_no_root) {
        const struct site *s = *state;
        static const char *const places[] = {"in a folder that an earlier run could write",
                                             "in a git work tree"};
        _cleanup_free_ char *clone = path_of(s->root, "clone");
        const char *const folders[] = {s->project, clone};
        struct nsrun_workspace *w = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        struct nsrun_error err = {0};

        make_folder(s->root, "clone");
        make_folder(clone, ".git");
        make_link(clone, "app", "../outside");
        make_link(s->root, "own", "outside");
        RUN(s, &o, "--", "ln", "-s", "../outside", "app");
        expect_status(&o, 0);
        for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
                _cleanup_free_ char *link = path_of(folders[i], "app"), *own = path_of(s->root, "own");

                memset(&err, 0, sizeof(err));
                assert_int_equal(nsrun_workspace_new(link, &w, &err), -EPERM);
                expect_in(err.what, "the project goes through a symlink ");
                expect_in(err.what, places[i]);
                assert_string_equal(err.path, link);
                memset(&err, 0, sizeof(err));
                expect_good(nsrun_workspace_new(own, &w, &err), &err);
                assert_int_equal(nsrun_workspace_add_readable(w, link, &err), -EPERM);
                memset(&err, 0, sizeof(err));
                assert_int_equal(nsrun_workspace_add_writable(w, link, &err), -EPERM);
                expect_in(err.what, places[i]);
                memset(&err, 0, sizeof(err));
                expect_good(nsrun_workspace_add_writable(w, own, &err), &err);
                (void)nsrun_workspace_free(w);
        }
}

/* ------------------------------------------------------------------------ roots */

TEST(a_project_is_looked_up_once_and_must_be_fit) {
        const struct site *s = *state;
        _cleanup_free_ char *link = path_of(s->root, "link"), *none = path_of(s->root, "none"),
                            *file = path_of(s->root, "file"), *in_home = path_of(s->home, "project");
        const char *above = strrchr(s->home, '/');
        _cleanup_free_ char *holds_home = strndup(s->home, (size_t)(above - s->home));
        const char hint[] = "; choose a folder further down";
        const struct {
                const char *project;
                int r;
                char *line;
        } cases[] = {
                {none, -ENOENT, text_of("the project can't be opened: %s: No such file or directory", none)},
                {file, -ENOTDIR, text_of("the project can't be opened: %s: Not a directory", file)},
                {"/", -EPERM,
                 text_of("a system root can't be the project: /: Operation not permitted%s", hint)},
                {"/etc", -EPERM,
                 text_of("a system root can't be the project: /etc: Operation not permitted%s", hint)},
                {"/usr/../usr/lib", -EPERM,
                 text_of("a system root can't be the project: /usr/lib: Operation not permitted%s", hint)},
                {"/tmp", -EPERM,
                 text_of("a system root can't be the project: /tmp: Operation not permitted%s", hint)},
                {s->home, -EPERM,
                 text_of("a home folder can't be the project: %s: Operation not permitted%s", s->home,
                         hint)},
                {holds_home, -EPERM,
                 text_of("a folder that holds a home folder can't be the project: %s: Operation not permitted%s",
                         holds_home, hint)},
        };
        struct nsrun_workspace *w = NULL;
        struct nsrun_error err = {0};

        make_file(s->root, "file", "");
        make_link(s->root, "link", "project");
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                expect_error(nsrun_workspace_new(cases[i].project, &w, &err), cases[i].r, NSRUN_STAGE_POLICY,
                             &err, cases[i].line);
                assert_null(w);
                free(cases[i].line);
        }
        make_folder(s->home, "project");
        expect_good(nsrun_workspace_new(in_home, &w, &err), &err);
        assert_null(nsrun_workspace_free(w));
        expect_good(nsrun_workspace_new(link, &w, &err), &err);
        assert_string_equal(nsrun_workspace_project(w), s->project);
        assert_null(nsrun_workspace_temp(w));
        /* Whatever the link says later. */
        assert_int_equal(unlink(link), 0);
        make_link(s->root, "link", "outside");
        expect_resolved(w, NSRUN_WRITE, s->project, s->project);
        expect_refused(w, NSRUN_READ, s->outside, leads_out);
        assert_null(nsrun_workspace_free(w));
        assert_null(nsrun_workspace_free(NULL));
}

TEST(a_root_is_read_or_written_as_it_was_added) {
        const struct site *s = *state;
        struct nsrun_workspace *w = make_workspace(s);
        _cleanup_free_ char *readable = path_of(s->root, "readable"),
                            *writable = path_of(s->root, "writable"), *none = path_of(s->root, "none"),
                            *nested = path_of(readable, "nested"), *file = path_of(s->root, "file");
        _cleanup_free_ char *missing =
                text_of("the root can't be opened: %s: No such file or directory", none);
        struct nsrun_error err = {0};

        make_folder(s->root, "writable");
        make_folder(s->root, "readable/nested");
        make_file(s->root, "file", "");
        expect_refused(w, NSRUN_READ, readable, leads_out);
        expect_good(nsrun_workspace_add_readable(w, readable, &err), &err);
        expect_resolved(w, NSRUN_READ, readable, readable);
        expect_refused(w, NSRUN_WRITE, readable, read_only);
        expect_good(nsrun_workspace_add_writable(w, writable, &err), &err);
        expect_resolved(w, NSRUN_READ, writable, writable);
        expect_resolved(w, NSRUN_WRITE, writable, writable);
        /* The innermost decides, and twice is writable if once was. */
        expect_good(nsrun_workspace_add_writable(w, nested, &err), &err);
        expect_resolved(w, NSRUN_WRITE, nested, nested);
        expect_good(nsrun_workspace_add_readable(w, nested, &err), &err);
        expect_resolved(w, NSRUN_WRITE, nested, nested);
        expect_good(nsrun_workspace_add_readable(w, file, &err), &err);
        expect_resolved(w, NSRUN_READ, file, file);
        expect_error(nsrun_workspace_add_readable(w, none, &err), -ENOENT, NSRUN_STAGE_POLICY, &err,
                     missing);
        expect_error(nsrun_workspace_add_writable(w, none, &err), -ENOENT, NSRUN_STAGE_POLICY, &err,
                     missing);
        expect_error(
                nsrun_workspace_add_writable(w, "/usr", &err), -EPERM, NSRUN_STAGE_POLICY, &err,
                "a system root can't be writable: /usr: Operation not permitted; choose a folder further down");
        expect_good(nsrun_workspace_add_readable(w, "/usr", &err), &err);
        assert_null(nsrun_workspace_free(w));
}

/* -------------------------------------------------------------------- containment */

TEST(a_path_leads_where_it_really_leads) {
        const struct site *s = *state;
        struct nsrun_workspace *w = make_workspace(s);
        _cleanup_free_ char *file = path_of(s->project, "lib/file"),
                            *tail = path_of(s->project, "lib/new/dir/x");
        struct nsrun_error err = {0};
        char *found = NULL;

        make_file(s->project, "lib/file", "text");
        make_link(s->project, "in", "lib");
        make_link(s->project, "out", "../outside");
        make_link(s->project, "loop", "loop");
        make_file(s->outside, "file", "secret");
        expect_resolved(w, NSRUN_READ, "lib/file", file);
        expect_resolved(w, NSRUN_WRITE, file, file);
        expect_resolved(w, NSRUN_READ, "in/./file", file);
        expect_resolved(w, NSRUN_WRITE, "lib/new/dir/x", tail);
        expect_refused(w, NSRUN_READ, "lib/../../outside/file", leads_out);
        expect_refused(w, NSRUN_READ, "out/file", leads_out);
        expect_refused(w, NSRUN_READ, "/etc/passwd", leads_out);
        expect_refused(w, NSRUN_READ, "/tmp/x", leads_out);
        expect_error(nsrun_workspace_resolve(w, NSRUN_READ, "loop", &found, &err), -ELOOP,
                     NSRUN_STAGE_POLICY, &err,
                     "the path can't be followed: loop: Too many levels of symbolic links");
        expect_error(nsrun_workspace_resolve(w, NSRUN_READ, "", &found, &err), -ENOENT, NSRUN_STAGE_POLICY,
                     &err, "the path can't be followed: No such file or directory");
        expect_error(nsrun_workspace_resolve(w, (enum nsrun_access)7, "x", &found, &err), -EINVAL,
                     NSRUN_STAGE_USAGE, &err, "no such access: Invalid argument");
        assert_null(found);
        assert_null(nsrun_workspace_free(w));
}

TEST(an_opened_file_is_the_one_that_was_allowed) {
        const struct site *s = *state;
        struct nsrun_workspace *w = make_workspace(s);
        _cleanup_free_ char *made = path_of(s->project, "made"), *text = NULL;
        struct nsrun_error err = {0};
        struct stat st;
        int fd = -7;
        char byte;

        make_file(s->project, "file", "x");
        make_link(s->project, "out", "../outside");
        assert_int_equal(mkfifo(made, 0600), 0);
        expect_good(nsrun_workspace_open(w, NSRUN_READ, "file", O_RDONLY, 0, &fd, &err), &err);
        assert_int_equal(read(fd, &byte, 1), 1);
        assert_int_equal(byte, 'x');
        assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
        (void)close(fd);
        /* A fifo holds nobody up. */
        expect_good(nsrun_workspace_open(w, NSRUN_READ, "made", O_RDONLY, 0, &fd, &err), &err);
        (void)close(fd);
        assert_int_equal(unlink(made), 0);
        expect_good(
                nsrun_workspace_open(w, NSRUN_WRITE, "made", O_WRONLY | O_CREAT | O_EXCL, 0640, &fd, &err),
                &err);
        assert_int_equal(write(fd, "y", 1), 1);
        (void)close(fd);
        assert_int_equal(stat(made, &st), 0);
        assert_int_equal(st.st_mode & 0777 & ~0640U, 0);
        text = file_text(made);
        assert_string_equal(text, "y");

        fd = -7;
        expect_error(nsrun_workspace_open(w, NSRUN_READ, "file", O_RDWR, 0, &fd, &err), -EINVAL,
                     NSRUN_STAGE_POLICY, &err, "flags that write, to read with: file: Invalid argument");
        expect_error(nsrun_workspace_open(w, NSRUN_READ, "file", O_RDONLY | O_TRUNC, 0, &fd, &err), -EINVAL,
                     NSRUN_STAGE_POLICY, &err, "flags that write, to read with: file: Invalid argument");
        expect_error(nsrun_workspace_open(w, NSRUN_READ, "none", O_RDONLY, 0, &fd, &err), -ENOENT,
                     NSRUN_STAGE_POLICY, &err, "the path can't be opened: none: No such file or directory");
        expect_error(nsrun_workspace_open(w, (enum nsrun_access)7, "x", O_RDONLY, 0, &fd, &err), -EINVAL,
                     NSRUN_STAGE_USAGE, &err, "no such access: Invalid argument");
        expect_error(
                nsrun_workspace_open(w, NSRUN_WRITE, "out/new", O_WRONLY | O_CREAT, 0600, &fd, &err), -EPERM,
                NSRUN_STAGE_POLICY, &err,
                "the path leads out of the workspace: out/new: Operation not permitted; only the project and the "
                "roots given to nsrun can be reached");
        assert_int_equal(fd, -7);
        assert_null(nsrun_workspace_free(w));
}

/* ----------------------------------------------------------------- temp, run directory */

TEST(a_temp_is_of_the_rundir_and_goes_with_it) {
        const struct site *s = *state;
        struct nsrun_workspace *w = make_workspace(s);
        _cleanup_free_ char *base = path_of(s->cache, "nsrun"), *temp = NULL, *x = NULL;
        const char *rundir = NULL;
        struct nsrun_error err = {0};
        struct stat st;

        /* Until it is asked for there is nothing. */
        assert_int_equal(access(base, F_OK), -1);
        expect_good(nsrun_workspace_set_temp(w, 0, &err), &err);
        temp = strdup(nsrun_workspace_temp(w));
        x = path_of(temp, "x");
        expect_good(nsrun_workspace_rundir(w, &rundir, &err), &err);
        assert_non_null(startswith(rundir, base));
        assert_non_null(startswith(temp, rundir));
        assert_string_equal(temp + strlen(rundir), "/scratch");
        assert_int_equal(stat(rundir, &st), 0);
        assert_int_equal(st.st_mode, S_IFDIR | 0700);
        assert_int_equal(stat(temp, &st), 0);
        assert_int_equal(st.st_mode, S_IFDIR | 01777);

        expect_resolved(w, NSRUN_WRITE, x, x);
        expect_refused(w, NSRUN_READ, rundir, leads_out);
        expect_refused(w, NSRUN_READ, "/tmp/x", leads_out);
        expect_good(nsrun_workspace_set_temp(w, 1, &err), &err);
        assert_string_equal(nsrun_workspace_temp(w), temp);
        expect_resolved(w, NSRUN_WRITE, "/tmp/x", x);
        expect_resolved(w, NSRUN_READ, "/tmp", temp);
        expect_refused(w, NSRUN_READ, "/tmpx", leads_out);
        expect_good(nsrun_workspace_set_temp(w, 0, &err), &err);
        expect_refused(w, NSRUN_READ, "/tmp/x", leads_out);

        make_file(temp, "x", "");
        assert_null(nsrun_workspace_free(w));
        assert_int_equal(access(temp, F_OK), -1);
        assert_int_equal(rmdir(base), 0); /* so it was empty */
}

TEST(a_bad_cache_folder_is_told) {
        const struct site *s = *state;
        struct nsrun_workspace *w = make_workspace(s);
        _cleanup_free_ char *base = path_of(s->cache, "nsrun");
        _cleanup_free_ char *line = text_of("others may write to the cache folder: %s; "
                                            "chmod go-w %s",
                                            base, base);
        const char *rundir = NULL;
        struct nsrun_error err = {0};

        assert_int_equal(nsrun_sweep(&err), 0);
        assert_int_equal(access(base, F_OK), -1);
        make_folder(s->cache, "nsrun");
        assert_int_equal(chmod(base, 0777), 0);
        expect_error(nsrun_workspace_set_temp(w, 1, &err), -EPERM, NSRUN_STAGE_WORKSPACE, &err, line);
        assert_null(nsrun_workspace_temp(w));
        expect_error(nsrun_workspace_rundir(w, &rundir, &err), -EPERM, NSRUN_STAGE_WORKSPACE, &err, line);
        assert_null(rundir);
        expect_error(nsrun_sweep(&err), -EPERM, NSRUN_STAGE_WORKSPACE, &err, line);
        assert_int_equal(chmod(base, 0700), 0);
        expect_good(nsrun_sweep(&err), &err);
        expect_good(nsrun_workspace_set_temp(w, 1, &err), &err);
        assert_null(nsrun_workspace_free(w));
}

TEST(the_dead_are_swept_and_the_living_are_not) {
        const struct site *s = *state;
        struct nsrun_workspace *w = make_workspace(s);
        _cleanup_free_ char *dead = path_of(s->cache, "nsrun/workspace-dead00");
        const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
        const char *rundir = NULL;
        struct nsrun_error err = {0};

        expect_good(nsrun_workspace_rundir(w, &rundir, &err), &err);
        make_file(s->cache, "nsrun/workspace-dead00/lock", "");
        make_folder(s->cache, "nsrun/workspace-dead00/scratch");
        assert_int_equal(utimensat(AT_FDCWD, rundir, old, 0), 0);
        expect_good(nsrun_sweep(&err), &err);
        assert_int_equal(access(dead, F_OK), -1);
        assert_int_equal(access(rundir, F_OK), 0);
        assert_null(nsrun_workspace_free(w));
}

/* In a forked host: what it does is over when this returns its exit status. */
static int in_another_host(int (*host)(void *data), void *data) {
        siginfo_t info = {.si_pid = 0};
        pid_t pid;

        (void)fflush(NULL);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
                exit(host(data));
        assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED), 0);
        assert_int_equal(info.si_code, CLD_EXITED);
        return info.si_status;
}

static int exit_without_freeing(void *data) {
        const struct site *s = data;
        struct nsrun_workspace *w = NULL;
        _cleanup_fclose_ FILE *f = NULL;
        _cleanup_free_ char *path = path_of(s->project, "temp");

        if (nsrun_workspace_new(s->project, &w, NULL) < 0 || nsrun_workspace_set_temp(w, 1, NULL) < 0)
                return 1;
        f = fopen(path, "we");
        return f && access(nsrun_workspace_temp(w), F_OK) == 0 && fputs(nsrun_workspace_temp(w), f) >= 0 ? 7
                                                                                                         : 2;
}

static int free_a_copy(void *data) {
        return nsrun_workspace_free(data) ? 1 : 7;
}

static int only_exit(nsrun_unused void *data) {
        return 7;
}

TEST(exit_removes_what_its_own_process_made) {
        struct site *s = *state;
        struct nsrun_workspace *w;
        _cleanup_free_ char *path = path_of(s->project, "temp"), *temp = NULL;
        struct nsrun_error err = {0};

        assert_int_equal(in_another_host(exit_without_freeing, s), 7);
        temp = file_text(path);
        assert_non_null(startswith(temp, s->cache));
        assert_int_equal(access(temp, F_OK), -1);

        w = make_workspace(s);
        expect_good(nsrun_workspace_set_temp(w, 1, &err), &err);
        assert_int_equal(in_another_host(only_exit, NULL), 7);
        assert_int_equal(in_another_host(free_a_copy, w), 7);
        assert_int_equal(access(nsrun_workspace_temp(w), F_OK), 0);
        assert_null(nsrun_workspace_free(w));
}

/* --------------------------------------------------------------------- environment */

static void expect_env(struct nsrun_workspace *w, const char *text) {
        _cleanup_free_ char *found = NULL;
        const char *const *env = NULL;
        struct nsrun_error err = {0};
        size_t size = 0;
        FILE *f = open_memstream(&found, &size);

        assert_non_null(f);
        expect_good(nsrun_workspace_env(w, &env, &err), &err);
        for (; *env; env++)
                (void)fprintf(f, "%s\n", *env);
        assert_int_equal(fclose(f), 0);
        assert_string_equal(found, text);
}

static const char identity[] = "GIT_AUTHOR_NAME=A U Thor\nGIT_AUTHOR_EMAIL=a@example.org\n"
                               "GIT_COMMITTER_NAME=A U Thor\nGIT_COMMITTER_EMAIL=a@example.org\n";

TEST(the_identity_is_looked_up_late_and_once_and_not_where_it_is_given) {
        const struct site *s = *state;
        struct nsrun_workspace *w = make_workspace(s);
        _cleanup_free_ char *old_path = strdup(getenv("PATH"));
        const char *const given[] = {"ONE=1", "EMPTY=", NULL}, *const nothing[] = {NULL},
                          *const bad[] = {"ONE=1", "TWO", NULL}, *const nameless[] = {"=x", NULL};
        struct nsrun_error err = {0};

        set_git(s);
        expect_good(nsrun_workspace_set_env(w, given, &err), &err);
        expect_env(w, "ONE=1\nEMPTY=\n");
        expect_good(nsrun_workspace_set_env(w, nothing, &err), &err);
        expect_env(w, "");
        expect_error(nsrun_workspace_set_env(w, bad, &err), -EINVAL, NSRUN_STAGE_USAGE, &err,
                     "an environment's entry is not NAME=VALUE: TWO: Invalid argument");
        expect_error(nsrun_workspace_set_env(w, nameless, &err), -EINVAL, NSRUN_STAGE_USAGE, &err,
                     "an environment's entry is not NAME=VALUE: =x: Invalid argument");
        expect_env(w, "");

        make_file(s->home, "more", "[user]\nname=Early\nemail=a@example.org\n");
        expect_good(nsrun_workspace_set_env(w, NULL, &err), &err);
        make_file(s->home, "more", "[user]\nname=A U Thor\nemail=a@example.org\n");
        expect_env(w, identity);
        make_file(s->home, "more", "[user]\nname=Late\n");
        expect_env(w, identity);
        assert_null(nsrun_workspace_free(w));
        w = make_workspace(s);
        expect_env(w, "GIT_AUTHOR_NAME=Late\nGIT_COMMITTER_NAME=Late\n");
        expect_no_git(s);
        assert_int_equal(setenv("PATH", old_path, 1), 0);
        assert_null(nsrun_workspace_free(w));
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun config edit`: a copy beside the file, the editor, a check, and a rename. */
#include "config_edit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/path.h"
#include "base/sys.h"
#include "confirm.h"
#include "option.h"
#include "policy/config.h"

#define MOST_BYTES ((size_t)1 << 20)

static const char template[] = "{\n"
                               "        \"version\": 1\n"
                               "}\n";

struct edit {
        char *file; /* canonical, as far as it exists */
        char *copy; /* beside it */
        char *text; /* what the file said; NULL: it isn't there */
};

static int fail_edit(struct nsrun_error *err, int r, const char *path, const char *what, const char *hint) {
        return error_set(err, NSRUN_STAGE_USAGE, r, path, what, hint);
}

/* The file's text; NULL where there is no file. */
static int read_text(const char *file, char **ret, struct nsrun_error *err) {
        int r = read_small_file(AT_FDCWD, file, 0, MOST_BYTES, ret);

        return r == -ENOENT ? 0
               : r < 0      ? fail_edit(err, r, file, "the configuration can't be read", NULL)
                            : r;
}

/* Makes the folder, and those above it, for the user alone. */
static int make_config_folders(const char *folder) {
        _cleanup_free_ char *above = NULL;

        if (mkdir(folder, 0700) == 0 || errno == EEXIST)
                return 0;
        if (errno != ENOENT)
                return -errno;
        above = path_parent(folder);
        if (!above || streq(above, folder))
                return -ENOENT;
        return make_config_folders(above) < 0 || (mkdir(folder, 0700) < 0 && errno != EEXIST) ? -errno : 0;
}

/* A copy of mode 0600, which the rename gives to the file, too: a configuration is nobody else's business.
 */
static int make_copy(struct edit *e, struct nsrun_error *err) {
        _cleanup_free_ char *folder = path_parent(e->file);
        const char *text = e->text ? e->text : template;
        _cleanup_close_ int fd = -EBADF;
        int r;

        r = folder ? make_config_folders(folder) : -ENOMEM;
        if (r < 0)
                return fail_edit(err, r, folder, "the configuration's folder can't be made", NULL);
        if (asprintf(&e->copy, "%s/edited-XXXXXX.json", folder) < 0) {
                e->copy = NULL;
                return error_oom(err);
        }
        fd = mkostemps(e->copy, (int)strlen(".json"), O_CLOEXEC);
        if (fd < 0) {
                r = -errno;
                free(TAKE_PTR(e->copy));
                return fail_edit(err, r, folder, "no file can be made beside the configuration", NULL);
        }
        r = write_full(fd, text, strlen(text));
        return r < 0 ? fail_edit(err, r, e->copy, "the copy can't be written", NULL) : 0;
}

static const char *find_editor(void) {
        const char *visual = getenv("VISUAL"), *editor = getenv("EDITOR");

        return visual && *visual ? visual : editor && *editor ? editor : "vi";
}

/* The editor, which may have arguments, as git runs it: by a shell.  The terminal's signals are the
 * editor's. */
static int run_editor(const char *copy, struct nsrun_error *err) {
        const char *editor = find_editor();
        _cleanup_free_ char *line = NULL;
        int status = 0;
        pid_t pid;

        if (asprintf(&line, "%s \"$1\"", editor) < 0) {
                line = NULL;
                return error_oom(err);
        }
        (void)fflush(stdout);
        pid = fork();
        if (pid < 0)
                return fail_edit(err, -errno, editor, "the editor can't be started", NULL);
        if (pid == 0) {
                (void)execl("/bin/sh", "sh", "-c", line, editor, copy, (char *)NULL);
                _exit(EXIT_NOT_FOUND);
        }
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return fail_edit(err, -errno, editor, "the editor can't be waited for", NULL);
        return status == 0
                       ? 0
                       : fail_edit(err, UNSAID(-ECANCELED), editor, "the editor failed: nothing is changed",
                                   "VISUAL and EDITOR name another one");
}

/* Whether the user, told what is wrong, wants to go on. */
static bool wants_another_try(const struct nsrun_error *err) {
        _cleanup_close_ int fd = confirm_open_terminal();
        _cleanup_free_ char *line = nsrun_error_format(err), *prompt = NULL;
        char answer[CONFIRM_ANSWER_SIZE];

        if (fd < 0 || !line || asprintf(&prompt, "nsrun: %s\nEdit it again? [Y/n] ", line) < 0) {
                prompt = NULL;
                return false;
        }
        return confirm_ask(fd, prompt, answer) > 0 &&
               (streq(answer, "") || streq(answer, "y") || streq(answer, "yes"));
}

static int edit_until_right(const struct edit *e, struct nsrun_error *err) {
        int r;

        do {
                *err = (struct nsrun_error){0};
                r = run_editor(e->copy, err);
                if (r < 0)
                        return r;
                r = config_check(e->copy, err);
        } while (r < 0 && wants_another_try(err));
        return r;
}

static bool is_same_text(const char *a, const char *b) {
        return a && b ? streq(a, b) : a == b;
}

/* Puts the copy in the file's place, unless somebody else was there first. */
static int install(struct edit *e, struct nsrun_error *err) {
        _cleanup_free_ char *now = NULL, *edited = NULL;
        int r = read_text(e->copy, &edited, err);

        if (r >= 0)
                r = read_text(e->file, &now, err);
        if (r < 0)
                return r;
        if (!is_same_text(now, e->text)) {
                (void)fail_edit(err, UNSAID(-EAGAIN), e->copy, "the configuration was changed meanwhile",
                                "your edition is kept there");
                free(TAKE_PTR(e->copy));
                return -EAGAIN;
        }
        if (is_same_text(edited, e->text)) {
                (void)printf("%s: not changed\n", e->file);
                return 0;
        }
        if (rename(e->copy, e->file) < 0)
                return fail_edit(err, -errno, e->file, "the edition can't take the configuration's place",
                                 NULL);
        free(TAKE_PTR(e->copy));
        (void)printf("%s: saved, no mistake in it\n", e->file);
        return 0;
}

int config_edit_find(const struct nsrun_policy *policy, const char *file, char **ret,
                     struct nsrun_error *err) {
        _cleanup_free_ char *found = file ? strdup(file) : NULL;

        if (!file && config_find_user_file(policy, &found) < 0)
                return error_oom(err);
        if (!found)
                return file ? error_oom(err)
                            : fail_edit(err, UNSAID(-ENOENT), NULL, "nobody knows your home folder",
                                        "set HOME");
        if (path_canonical(found, ret, NULL) >= 0)
                return 0;
        *ret = TAKE_PTR(found);
        return 0;
}

int config_edit(const struct nsrun_policy *policy, const char *file, struct nsrun_error *err) {
        struct edit e = {.file = NULL};
        int r;

        r = config_edit_find(policy, file, &e.file, err);
        if (r >= 0)
                r = read_text(e.file, &e.text, err);
        if (r >= 0)
                r = make_copy(&e, err);
        if (r >= 0)
                r = edit_until_right(&e, err);
        if (r >= 0)
                r = install(&e, err);
        if (e.copy)
                (void)unlink(e.copy);
        free(e.file);
        free(e.copy);
        free(e.text);
        return r;
}

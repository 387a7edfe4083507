/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See widen_ask.h.  A command learns from a call that waits that the host has the path; of keys, and of what
 * no grant would show, it doesn't, since nobody is asked. */
#include "widen_ask.h"

#include <limits.h>

#include "base/array.h"
#include "base/beneath.h"
#include "base/file.h"
#include "base/path.h"
#include "base/responds.h"
#include "base/sys.h"
#include "explain/never.h"
#include "policy/config_section.h"
#include "protect/learn_view.h"
#include "running/process_files.h"
#include "widen_plan.h"

/* ---------------------------------------------------- a whole folder */

/* Whether a person who says yes to a folder would show what he wouldn't. */

enum {
        WHOLE_ENTRIES = 20000, /* about 0.1 s */
        WHOLE_DEPTH = 32,
};

struct whole {
        unsigned entries, depth;
};

/* 1: that must not be shown, or isn't known. */
static int judge_whole(void *data, int folder, const struct dirent *entry) {
        struct whole *w = data;
        unsigned char type = folder_type(folder, entry);
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (w->entries++ == WHOLE_ENTRIES || wide_is_secret_name(entry->d_name))
                return 1;
        if (type != DT_DIR)
                return type != DT_REG && type != DT_LNK;
        if (wide_is_like_secret_name(entry->d_name))
                return 1;
        fd = sys_openat2(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0,
                         RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
        /* What the user can neither list nor enter the command can't. */
        if (fd == -EACCES)
                return faccessat(folder, entry->d_name, X_OK, 0) == 0;
        if (fd < 0 || w->depth == WHOLE_DEPTH)
                return 1;
        w->depth++;
        r = folder_read(fd, judge_whole, w);
        w->depth--;
        return r;
}

/* Whether all that is in the folder `path`, open as `fd`, may be shown: it is none of those that programs
 * share, and holds nothing of a key's name, no socket, FIFO or device and no mount, as far as a bounded look
 * tells. `home` may be NULL. */
static bool widen_may_be_whole(int fd, const char *path, const char *home) {
        struct whole w = {0};

        return wide_may_be_whole(path, home) && folder_each(fd, judge_whole, &w) == 0;
}

enum {
        HELD_MOST = 1024, /* calls that wait at once */
        LOOKS_MOST = 512, /* paths of the host's that are judged */
        LINKS_MOST = 40,  /* on the way to one, as in the kernel */
        WISHES_MOST = 3,  /* that fail, of a question */
};

struct file_entry {
        char *path, *folder;
        struct stat path_is, folder_is; /* when it was asked about; */
        int path_fd, folder_fd; /* held until it is answered, so that nothing else gets their numbers */
        char program[40];
        enum watched_how how;
        unsigned n_failed; /* wishes */
        enum {
                FILE_WAITS,
                FILE_REFUSED,
                FILE_SHOWN,
                FILE_UNPUT, /* refused; its place is another's as soon as it is the last */
        } state;
};

#define FILE_ENTRY_INIT                                \
        (struct file_entry) {                          \
                .path_fd = -EBADF, .folder_fd = -EBADF \
        }

struct held_call {
        struct seccomp_notif call;
        char *path; /* that it names */
        enum watched_how how;
        char program[16];
        size_t entry;
};

struct file_questions {
        const struct nsrun_plan *plan;
        pid_t init, waiter;
        int root_fd; /* the watch's */
        struct file_entry entries[FILE_QUESTIONS_MOST];
        size_t n;
        struct held_call held[HELD_MOST];
        size_t n_held, n_looks;
        char **refused; /* what would be refused, */
        char **no;      /* and what was, with all that is in it */
        bool is_never, is_of_writing, looks_no_more;
};

int file_questions_new(const struct nsrun_plan *plan, pid_t init, bool is_of_writing,
                       struct file_questions **ret) {
        struct file_questions *q = calloc(1, sizeof(*q));
        struct process_stat stat = {0};
        char path[32];

        if (!q)
                return -ENOMEM;
        (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)init);
        /* Where that can't be read nothing is granted. */
        (void)process_stat_read(AT_FDCWD, path, &stat);
        q->plan = plan;
        q->init = init;
        q->is_of_writing = is_of_writing;
        q->waiter = stat.parent;
        *ret = q;
        return 0;
}

int file_questions_judge(const struct nsrun_plan *plan, struct nsrun_error *err) {
        int r = widen_allows(plan, err);

        if (r < 0 && err)
                (void)snprintf(err->hint, sizeof(err->hint), "%s",
                               "leave out the questions about files (--ask), and name them");
        return r;
}

static void let_go(struct file_entry *e) {
        close_fdp(&e->path_fd);
        close_fdp(&e->folder_fd);
}

static void entry_clear(struct file_entry *e) {
        let_go(e);
        free(e->path);
        free(e->folder);
}

struct file_questions *file_questions_free(struct file_questions *q) {
        for (size_t i = 0; q && i < q->n; i++)
                entry_clear(&q->entries[i]);
        for (size_t i = 0; q && i < q->n_held; i++)
                free(q->held[i].path);
        if (q) {
                strv_freep(&q->refused);
                strv_freep(&q->no);
        }
        free(q);
        return NULL;
}

/* ------------------------------------------------------------- what is asked about */

/* Of these no path is worth a question, or the host's says nothing of what is meant; but a home may lie
 * there.
 */
static bool is_of_another_kind(const char *path, const char *home) {
        static const char *const folders[] = {"/dev", "/proc", "/sys", "/tmp", "/var/run", "/var/tmp"};

        return (explain_is_in_system(path) || path_is_beneath_any(path, folders, ARRAY_SIZE(folders))) &&
               (!home || !path_is_beneath(path, home));
}

static bool was_refused(const struct file_questions *q, const char *path) {
        STRV_FOREACH (folder, q->no)
                if (path_is_beneath(path, *folder))
                        return true;
        return strv_contains(q->refused, path);
}

static bool is_never(const struct file_questions *q, const char *path) {
        _cleanup_free_ char *never = NULL;

        return wide_is_like_secret(path) || explain_never(q->plan, path, false, &never) < 0 || never;
}

/* Follows symlinks below a root folder.  0: what the path leads to is there; 1: it isn't, and *ret is where
 * it would be, without a symlink on the way; -ELOOP: nobody looks where a symlink leads, since that may be a
 * key, or there are too many, or the last one itself may be meant. */
static int find_missing(const struct file_questions *q, int root, const char *path, enum watched_how how,
                        char **ret) {
        _cleanup_free_ char *left = strdup(path), *at = strdup("");

        for (unsigned n = 0; left && at && *left;) {
                size_t length = 1 + strcspn(left + 1, "/");
                _cleanup_free_ char *next = str_format("%s%.*s", at, (int)length, left),
                                    *rest = strdup(left + length);
                _cleanup_close_ int fd =
                        next ? beneath_open(root, next + 1, O_PATH | O_NOFOLLOW, 0) : -ENOMEM;
                char text[PATH_MAX];
                ssize_t r = fd < 0 ? fd : sys_readlinkat(fd, "", text, sizeof(text) - 1);

                if (!next || !rest)
                        return -ENOMEM;
                if (fd == -ENOENT)
                        return (*ret = str_concat(next, rest, "")) ? 1 : -ENOMEM;
                /* Who looks may look at the symlink itself. */
                if (fd < 0 || (r > 0 && ((!*rest && how == WATCHED_LOOK) || n++ == LINKS_MOST)))
                        return fd < 0 ? fd : -ELOOP;
                free(left);
                if (r > 0) {
                        _cleanup_free_ char *joined = NULL;

                        text[r] = '\0';
                        joined = str_format("%s/%s%s", *text == '/' ? "" : at, text, rest);
                        left = joined ? path_normalise(joined) : NULL;
                        *at = '\0';
                        if (left && is_never(q, left))
                                return -ELOOP;
                } else {
                        left = TAKE_PTR(rest);
                        free(at);
                        at = TAKE_PTR(next);
                }
        }
        return left && at ? 0 : -ENOMEM;
}

/* Whether the host has what a path leads to. */
static bool host_leads(const struct file_questions *q, const char *path) {
        _cleanup_close_ int root = sys_open(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0);
        _cleanup_free_ char *missing = NULL;

        return root >= 0 && responds_in_time(AT_FDCWD, path, NULL, NULL) >= 0 &&
               find_missing(q, root, path, WATCHED_READ, &missing) == 0;
}

/* Opens (O_PATH) the file or folder that the host has there, by no symlink, and which the user may read: of
 * what may be another machine's, or a program's, to answer for nobody is asked. */
static int host_open(const char *path, struct stat *ret) {
        _cleanup_close_ int fd = -EBADF;
        struct sys_mount mount;

        if (responds_in_time(AT_FDCWD, path, NULL, NULL) < 0)
                return -ETIMEDOUT;
        fd = sys_openat2(AT_FDCWD, path, O_PATH | O_CLOEXEC | O_NOFOLLOW, 0,
                         RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
        if (fd < 0 || fd_lift(&fd) < 0 || sys_mount_of(fd, &mount) < 0 || !mount.is_local ||
            sys_fstat(fd, ret) < 0 || (!S_ISDIR(ret->st_mode) && !S_ISREG(ret->st_mode)) ||
            access(fd_link(fd).path, S_ISDIR(ret->st_mode) ? R_OK | X_OK : R_OK) < 0)
                return -ENOENT;
        return TAKE_FD(fd);
}

/* Whether it is the home, what that lies in, or one of the system's folders or at the top. */
static bool is_too_wide(const struct file_questions *q, const char *folder) {
        return !strchr(folder + 1, '/') || explain_is_whole_system(folder) ||
               (q->plan->home && path_is_beneath(q->plan->home, folder));
}

/* What is to be shown for a path that is missing: itself, or the folder of the first symlink on the host's
 * way to it.  False: the host hasn't got it, or nothing can be shown for it. */
static bool find_askable(const struct file_questions *q, const char *path, struct file_entry *ret) {
        bool is_link = false;

        if (!host_leads(q, path) || !(ret->path = strdup(path)))
                return false;
        ret->path_fd = host_open(path, &ret->path_is);
        if (ret->path_fd >= 0)
                return true;
        /* The longest part that is reached by no symlink. */
        do {
                _cleanup_close_ int fd = sys_openat2(AT_FDCWD, ret->path, O_PATH | O_CLOEXEC | O_NOFOLLOW, 0,
                                                     RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);

                if (fd < 0)
                        continue;
                is_link = sys_fstat(fd, &ret->path_is) >= 0 && S_ISLNK(ret->path_is.st_mode);
                break;
        } while (path_up(ret->path));
        if (!is_link || !path_up(ret->path) || is_too_wide(q, ret->path))
                return false;
        ret->path_fd = host_open(ret->path, &ret->path_is);
        return ret->path_fd >= 0;
}

static int open_sandbox(const struct file_questions *q, struct widened *ret, struct nsrun_error *err) {
        return widen_open(q->waiter, q->init, sys_pidfd_open(q->init), true, ret, err);
}

static bool may_be_shown(const struct file_questions *q, struct widened *w, const char *path, int fd,
                         const struct stat *is) {
        _cleanup_free_ char *visible = str_visible(path);

        return visible && strlen(visible) <= FILE_PATH_MOST && !is_never(q, path) &&
               (!S_ISDIR(is->st_mode) || widen_may_be_whole(fd, path, q->plan->home)) &&
               widen_judge(w, "ro", path, is, NULL) >= 0;
}

/* What of a folder was shown before, read-only, doesn't keep all of it from being shown. */
static void disregard_parts(struct widened *w, const char *folder, bool is_live) {
        for (size_t i = 0; i < w->granted.n; i++) {
                struct granted *g = &w->granted.items[i];

                if (!g->has_ended && streq(g->option, "ro") && path_is_beneath(g->path, folder))
                        g->is_live = is_live;
        }
}

/* The folder around a file, if all of it may be shown. */
static void find_whole_folder(const struct file_questions *q, struct widened *w, struct file_entry *e) {
        _cleanup_free_ char *folder = path_parent(e->path);
        bool may;

        if (!folder || is_too_wide(q, folder))
                return;
        e->folder_fd = host_open(folder, &e->folder_is);
        disregard_parts(w, folder, false);
        may = e->folder_fd >= 0 && may_be_shown(q, w, folder, e->folder_fd, &e->folder_is);
        disregard_parts(w, folder, true);
        e->folder = may ? TAKE_PTR(folder) : NULL;
}

/* The question is put only if a yes would show it. */
static bool judge_entry(const struct file_questions *q, struct file_entry *e) {
        _cleanup_widened_ struct widened w = WIDENED_INIT;

        if (open_sandbox(q, &w, NULL) < 0 || !may_be_shown(q, &w, e->path, e->path_fd, &e->path_is))
                return false;
        if (S_ISREG(e->path_is.st_mode))
                find_whole_folder(q, &w, e);
        return true;
}

static void name_program(struct file_entry *e, const char *program, uint32_t pid) {
        char name[17];

        (void)snprintf(name, sizeof(name), "%s", program);
        for (char *c = name; *c; c++)
                if (*c < ' ' || *c > '~')
                        *c = '?';
        (void)snprintf(e->program, sizeof(e->program), "%s (pid %u)", *name ? name : "a program", pid);
}

static struct file_entry *question_about(struct file_questions *q, const char *path) {
        for (size_t i = 0; i < q->n; i++)
                if (streq(q->entries[i].path, path))
                        return &q->entries[i];
        return NULL;
}

/* NULL: nobody is asked about it.  What it has is taken over. */
static struct file_entry *add_file_question(struct file_questions *q, struct file_entry *e) {
        if (q->n == FILE_QUESTIONS_MOST || was_refused(q, e->path))
                return NULL;
        if (q->n_looks == LOOKS_MOST) {
                q->looks_no_more = true;
                return NULL;
        }
        q->n_looks++;
        if (!judge_entry(q, e)) {
                (void)strv_add(&q->refused, e->path);
                return NULL;
        }
        q->entries[q->n] = *e;
        *e = FILE_ENTRY_INIT;
        return &q->entries[q->n++];
}

/* The question that a call is to wait for, if somebody is to be asked.  Of what has a key's name nobody
 * looks whether the host has it. */
static struct file_entry *entry_of(struct file_questions *q, const struct held_call *held) {
        _cleanup_(entry_clear) struct file_entry found = FILE_ENTRY_INIT;
        _cleanup_free_ char *missing = NULL;
        struct file_entry *e;

        if (q->is_never || strlen(held->path) > FILE_PATH_MOST)
                return NULL;
        if (find_missing(q, q->root_fd, held->path, held->how, &missing) <= 0 ||
            strlen(missing) > FILE_PATH_MOST || is_of_another_kind(missing, q->plan->home) ||
            is_never(q, missing) || !find_askable(q, missing, &found))
                return NULL;
        e = question_about(q, found.path);
        if (!e) {
                found.how = streq(found.path, missing) ? held->how : WATCHED_LOOK;
                name_program(&found, held->program, held->call.pid);
                e = add_file_question(q, &found);
        }
        return e && e->state == FILE_WAITS ? e : NULL;
}

bool file_questions_look_no_more(const struct file_questions *q) {
        return q->looks_no_more;
}

bool file_questions_hold(void *questions, int root_fd, const struct seccomp_notif *call, const char *path,
                         enum watched_how how, const char *program) {
        struct file_questions *q = questions;
        struct held_call held = {.call = *call, .path = (char *)(uintptr_t)path, .how = how};
        const struct file_entry *e;

        if (q->n_held == HELD_MOST || (how != WATCHED_LOOK && how != WATCHED_READ && how != WATCHED_EXEC &&
                                       (how != WATCHED_WRITE || !q->is_of_writing)))
                return false;
        q->root_fd = root_fd;
        (void)snprintf(held.program, sizeof(held.program), "%s", program);
        e = entry_of(q, &held);
        if (!e || !(held.path = strdup(path)))
                return false;
        held.entry = (size_t)(e - q->entries);
        q->held[q->n_held++] = held;
        return true;
}

/* -------------------------------------------------------------------- the answers */

static struct file_entry *first_waiting(struct file_questions *q) {
        for (size_t i = 0; i < q->n; i++)
                if (q->entries[i].state == FILE_WAITS)
                        return &q->entries[i];
        return NULL;
}

bool file_questions_first(const struct file_questions *q, struct file_question *ret) {
        const struct file_entry *e = first_waiting((struct file_questions *)(uintptr_t)q);

        if (!e)
                return false;
        *ret = (struct file_question){.how = e->how,
                                      .is_folder = S_ISDIR(e->path_is.st_mode),
                                      .is_last = e == &q->entries[FILE_QUESTIONS_MOST - 1]};
        if (q->plan->home && path_is_beneath(e->path, q->plan->home))
                ret->home = strlen(q->plan->home);
        (void)snprintf(ret->path, sizeof(ret->path), "%s", e->path);
        (void)snprintf(ret->folder, sizeof(ret->folder), "%s", e->folder ? e->folder : "");
        (void)snprintf(ret->program, sizeof(ret->program), "%s", e->program);
        return true;
}

static int refuse_wish(const char *path, const char *what, struct nsrun_error *err) {
        return error_set(err, NSRUN_STAGE_POLICY, UNSAID(-EPERM), path, what, NULL);
}

/* Opens a folder that a person has named: what was asked about lies in it, and it is none of those that no
 * question names. */
static int open_wider(const struct file_questions *q, const struct file_entry *e, const char *path,
                      struct stat *ret, struct nsrun_error *err) {
        const char *below = path_below(e->path, path);
        _cleanup_close_ int fd = -EBADF, part = -EBADF;
        struct stat is;

        if (!below || !*below)
                return refuse_wish(path, "what was asked about doesn't lie in it", err);
        if (is_too_wide(q, path))
                return refuse_wish(path, "no answer shows the home, what is around it, or the system's",
                                   err);
        fd = host_open(path, ret);
        part = fd < 0 ? fd
                      : sys_openat2(fd, below, O_PATH | O_CLOEXEC | O_NOFOLLOW, 0,
                                    RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
        if (part < 0 || sys_fstat(part, &is) < 0 || is.st_dev != e->path_is.st_dev ||
            is.st_ino != e->path_is.st_ino)
                return refuse_wish(path, "what was asked about doesn't lie in it any more", err);
        return TAKE_FD(fd);
}

/* What was shown of a folder before lies under it then, for who has it open. */
static int show_answered(const struct file_questions *q, const struct file_entry *e, const char *path,
                         const struct file_wish *wish, char ***notes, struct nsrun_error *err) {
        bool is_itself = streq(path, e->path), is_folder = e->folder && streq(path, e->folder);
        struct stat is = is_folder ? e->folder_is : e->path_is;
        _cleanup_widened_ struct widened w = WIDENED_INIT;
        _cleanup_close_ int wider = -EBADF;
        _cleanup_free_ char *said = NULL;
        int r = 0;

        if (!is_itself && !is_folder)
                r = wider = open_wider(q, e, path, &is, err);
        if (r >= 0)
                r = open_sandbox(q, &w, err);
        if (r < 0)
                return r;
        /* Somebody may have put something there meanwhile. */
        if (S_ISDIR(is.st_mode) && (is_never(q, path) || !widen_may_be_whole(is_itself   ? e->path_fd
                                                                             : is_folder ? e->folder_fd
                                                                                         : wider,
                                                                             path, q->plan->home)))
                return refuse_wish(path, "something in it is none of what may be shown", err);
        disregard_parts(&w, path, false);
        r = widen_grant(&w, wish->option, path, &is, notes, NULL, err);
        return r < 0 ? r
                     : wish->is_always && config_section_save(w.plan->project, wish->option, path, true,
                                                              &said, err) < 0;
}

/* Lets the calls go on that wait for nothing any more; what was shown may lead to something else that is
 * missing. */
static void release_held(struct file_questions *q, int listener, bool looks_again) {
        size_t n = 0;

        for (size_t i = 0; i < q->n_held; i++) {
                struct held_call *held = &q->held[i];
                const struct file_entry *e = &q->entries[held->entry];

                if (e->state == FILE_SHOWN || looks_again)
                        e = entry_of(q, held);
                if (e && e->state == FILE_WAITS) {
                        held->entry = (size_t)(e - q->entries);
                        q->held[n++] = *held;
                        continue;
                }
                /* Its caller may have been killed meanwhile. */
                (void)sys_seccomp_continue(listener, &held->call);
                free(held->path);
        }
        q->n_held = n;
}

static void take_places_back(struct file_questions *q) {
        while (q->n > 0 && q->entries[q->n - 1].state == FILE_UNPUT)
                entry_clear(&q->entries[--q->n]);
}

void file_questions_look_again(struct file_questions *q, int listener) {
        release_held(q, listener, true);
        for (size_t i = 0; i < q->n; i++) {
                struct file_entry *e = &q->entries[i];
                bool is_wanted = e->state != FILE_WAITS;

                for (size_t k = 0; k < q->n_held && !is_wanted; k++)
                        is_wanted = q->held[k].entry == i;
                if (is_wanted)
                        continue;
                e->state = FILE_UNPUT;
                *e->path = '\0';
                let_go(e);
        }
        take_places_back(q);
}

bool file_questions_wait(const struct file_questions *q, int listener) {
        const struct file_entry *e = first_waiting((struct file_questions *)(uintptr_t)q);

        for (size_t i = 0; i < q->n_held; i++)
                if (&q->entries[q->held[i].entry] == e && sys_seccomp_waits(listener, &q->held[i].call))
                        return true;
        return false;
}

int file_questions_answer(struct file_questions *q, int listener, enum file_answer answer,
                          const struct file_wish *wish, char ***notes, struct nsrun_error *err) {
        struct file_entry *e = first_waiting(q);
        const char *shown = NULL;
        int r = 0;

        if (!e)
                return 0;
        if (answer == FILE_YES && !file_questions_wait(q, listener)) {
                answer = FILE_UNASKED;
                r = error_set(err, NSRUN_STAGE_SUPERVISE, UNSAID(-ESRCH), e->path, "who has asked has ended",
                              NULL);
        }
        if (answer == FILE_YES) {
                bool is_offered = streq(wish->option, "ro") && (!*wish->path || streq(wish->path, e->path) ||
                                                                (e->folder && streq(wish->path, e->folder)));

                shown = *wish->path ? wish->path : e->path;
                r = show_answered(q, e, shown, wish, notes, err);
                if (r < 0 && !is_offered && ++e->n_failed < WISHES_MOST)
                        return r;
        }
        e->state = shown && r >= 0 ? FILE_SHOWN : answer == FILE_UNASKED ? FILE_UNPUT : FILE_REFUSED;
        /* It may be asked about again. */
        if (answer == FILE_NOT_NOW || answer == FILE_UNASKED)
                *e->path = '\0';
        q->is_never |= answer == FILE_NEVER;
        if (answer == FILE_NO)
                (void)strv_add(&q->no, e->folder ? e->folder : e->path);
        for (size_t i = 0; i < q->n; i++) {
                struct file_entry *other = &q->entries[i];

                if (other->state == FILE_WAITS && shown && r >= 0 && path_is_beneath(other->path, shown))
                        other->state = FILE_SHOWN;
                else if (other->state == FILE_WAITS && (q->is_never || was_refused(q, other->path)))
                        other->state = FILE_REFUSED;
        }
        for (size_t i = 0; i < q->n; i++)
                if (q->entries[i].state != FILE_WAITS)
                        let_go(&q->entries[i]);
        release_held(q, listener, false);
        take_places_back(q);
        return r;
}

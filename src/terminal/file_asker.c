/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See file_asker.h. */
#include "file_asker.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"
#include "base/loop.h"
#include "base/sys.h"

#define FILE_ASKER_NAME "file-questions."

enum {
        WAIT_MOST = 64,     /* commands that wait for their turns */
        SHOWN_MS = 60000,   /* for how long a mount may take */
        TURN = FILE_UNASKED /* what comes before an answer */
};

/* To who asks goes a uint32_t, TURN or an enum file_answer; and back a struct file_question, and this. */
struct file_told {
        int r;
        struct nsrun_error why;
};

/* ------------------------------------------------------------------- the words */

char *file_question_path(const char *path) {
        _cleanup_free_ char *visible = str_visible(path);

        return visible ? str_shell_quote(visible) : NULL;
}

char *file_question_words(const struct file_question *q) {
        _cleanup_free_ char *path = file_question_path(q->path);

        return path ? str_format("%s %s %s, which isn't exposed", q->program,
                                 q->how == WATCHED_EXEC   ? "wants to execute"
                                 : q->how == WATCHED_READ ? "wants to read"
                                                          : "looks for",
                                 path)
                    : NULL;
}

/* ---------------------------------------------------------------- who is asked */

/* By way of the folder's descriptor: a path of any length. */
static const struct sockaddr *asker_at(int folder, const char *name, struct sockaddr_un *ret) {
        *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
        (void)snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/%.32s", folder, name);
        return (const struct sockaddr *)ret;
}

int file_asker_begin(int folder, struct file_asker *a) {
        _cleanup_close_ int fd = sys_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
        struct sockaddr_un address;
        char name[32];
        int r = fd < 0 ? fd : fd_lift(&fd);

        if (r < 0)
                return r;
        (void)snprintf(name, sizeof(name), FILE_ASKER_NAME "%d", (int)getpid());
        /* Of one that was called so before. */
        (void)unlinkat(folder, name, 0);
        r = sys_bind(fd, asker_at(folder, name, &address), sizeof(address));
        if (r >= 0 && listen(fd, WAIT_MOST) < 0)
                r = -errno;
        if (r < 0)
                return r;
        *a = FILE_ASKER_INIT;
        a->listener = TAKE_FD(fd);
        return 0;
}

void file_asker_end(struct file_asker *a) {
        close_fdp(&a->fd);
        close_fdp(&a->listener);
}

static bool say_to_asking(int fd, uint32_t what) {
        return send(fd, &what, sizeof(what), MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof(what);
}

void file_asker_take_turn(struct file_asker *a) {
        a->fd = accept4(a->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (a->fd >= 0 && (fd_lift(&a->fd) < 0 || !say_to_asking(a->fd, TURN)))
                close_fdp(&a->fd);
}

bool file_asker_read(struct file_asker *a, struct file_question *ret) {
        if (recv(a->fd, ret, sizeof(*ret), MSG_DONTWAIT) != (ssize_t)sizeof(*ret)) {
                close_fdp(&a->fd);
                return false;
        }
        ret->path[FILE_PATH_MOST] = ret->folder[FILE_PATH_MOST] = ret->program[sizeof(ret->program) - 1] =
                '\0';
        ret->is_last = ++a->n_asked == FILE_ASKED_MOST;
        return true;
}

int file_asker_answer(void *asker, enum file_answer answer, struct nsrun_error *err) {
        struct file_asker *a = asker;
        _cleanup_close_ int fd = TAKE_FD(a->fd);
        struct file_told told;

        if (answer == FILE_NEVER || a->n_asked == FILE_ASKED_MOST)
                close_fdp(&a->listener);
        (void)say_to_asking(fd, answer);
        if (answer != FILE_YES && answer != FILE_FOLDER)
                return 0;
        if (loop_await(fd, POLLIN, SHOWN_MS) <= 0 ||
            recv(fd, &told, sizeof(told), MSG_DONTWAIT) != (ssize_t)sizeof(told))
                return error_set(err, NSRUN_STAGE_SUPERVISE, UNSAID(-ESRCH), NULL,
                                 "who has asked has ended, or takes long", NULL);
        if (told.r < 0 && err)
                *err = told.why;
        return told.r;
}

/* -------------------------------------------------------------------- who asks */

/* Who has ended refuses it, and who has too many that wait. */
static int try_asker(void *data, int folder, const struct dirent *entry) {
        struct sockaddr_un address;

        return startswith(entry->d_name, FILE_ASKER_NAME) &&
               connect(*(const int *)data, asker_at(folder, entry->d_name, &address), sizeof(address)) == 0;
}

int file_asking_join(int folder) {
        _cleanup_close_ int fd = sys_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
        int r = fd < 0 ? fd : fd_lift(&fd);

        if (r >= 0)
                r = folder_each(folder, try_asker, &fd);
        return r < 0 ? r : r == 0 ? -ENOENT : TAKE_FD(fd);
}

enum file_answer file_asking_hear(int fd) {
        uint32_t what;

        return recv(fd, &what, sizeof(what), MSG_DONTWAIT) == (ssize_t)sizeof(what) && what <= TURN
                       ? (enum file_answer)what
                       : FILE_NOT_NOW;
}

int file_asking_put(int fd, const struct file_question *q) {
        return send(fd, q, sizeof(*q), MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof(*q) ? 0 : -EPIPE;
}

void file_asking_tell(int fd, int r, const struct nsrun_error *why) {
        const struct file_told told = {.r = r, .why = *why};

        (void)send(fd, &told, sizeof(told), MSG_NOSIGNAL | MSG_DONTWAIT);
}

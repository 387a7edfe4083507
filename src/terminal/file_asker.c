/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "file_asker.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "base/file.h"
#include "base/loop.h"
#include "base/path.h"
#include "base/sys.h"
#include "running/process_files.h"

#define FILE_ASKER_NAME "file-questions."

enum {
        WAIT_MOST = 64,     /* commands that wait for their turns */
        SHOWN_MS = 60000,   /* for how long a mount may take */
        TURN = FILE_UNASKED /* what comes before an answer */
};

/* To who asks goes this, TURN or an enum file_answer; and back a struct file_question, and the other. */
struct file_said {
        uint32_t what;
        struct file_wish wish;
};
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
                                 q->how == WATCHED_EXEC    ? "wants to execute"
                                 : q->how == WATCHED_READ  ? "wants to read"
                                 : q->how == WATCHED_WRITE ? "wants to write"
                                                           : "looks for",
                                 path)
                    : NULL;
}

/* Cuts off the next word, and takes its quotes away, as a shell does; NULL: a quote has no end. */
static char *next_word(char **words, bool *ret_is_quoted) {
        char *at = *words + strspn(*words, " "), *word = at, *to = at;
        bool is_in = false;

        *ret_is_quoted = false;
        for (; *at && (is_in || *at != ' '); at++)
                if (*at == '\'' || (*at == '\\' && !is_in && at[1])) {
                        *ret_is_quoted = true;
                        if (*at == '\'')
                                is_in = !is_in;
                        else
                                *to++ = *++at;
                } else {
                        *to++ = *at;
                }
        *words = at + (*at != '\0');
        *to = '\0';
        return is_in ? NULL : word;
}

/* The path that a word is, if it is one of what may be named. */
static char *named_path(const char *word, const struct file_question *q) {
        bool is_home = *word == '~' && (word[1] == '/' || !word[1]) && q->home > 0;
        _cleanup_free_ char *path = is_home ? str_format("%.*s%s", (int)q->home, q->path, word + 1)
                                            : strdup(word),
                            *normal = path && *path == '/' ? path_normalise(path) : NULL;

        return normal && path_is_beneath(q->path, normal) ? TAKE_PTR(normal) : NULL;
}

static bool take_wish_word(const char *word, bool is_quoted, const struct file_question *q,
                           struct file_wish *ret) {
        _cleanup_free_ char *path = NULL;

        if (!is_quoted && streq(word, "always") && !ret->is_always)
                return ret->is_always = true;
        if (!is_quoted && (streq(word, "rw") || streq(word, "overlay")) && streq(ret->option, "ro")) {
                (void)snprintf(ret->option, sizeof(ret->option), "%s", word);
                return true;
        }
        /* A name's own blanks are none between words. */
        if (*ret->path || (!is_quoted && strchr(q->path, ' ')) || !(path = named_path(word, q)))
                return false;
        (void)snprintf(ret->path, sizeof(ret->path), "%s", path);
        return true;
}

bool file_wish_read(char *words, const struct file_question *q, struct file_wish *ret, char **ret_wrong) {
        while (*(words += strspn(words, " "))) {
                bool is_quoted;
                const char *word = next_word(&words, &is_quoted);
                _cleanup_free_ char *visible = NULL, *path = NULL;

                if (word && take_wish_word(word, is_quoted, q, ret))
                        continue;
                visible = file_question_path(word ? word : "'");
                path = file_question_path(q->path);
                *ret_wrong = visible && path
                                     ? str_format("nsrun: %s isn't understood: behind y and the digits may "
                                                  "stand rw or overlay, always, and %s or a folder around "
                                                  "it, in quotes where that has blanks\n",
                                                  visible, path)
                                     : NULL;
                return false;
        }
        return true;
}

const char *file_wish_word(const struct file_wish *wish) {
        return streq(wish->option, "rw") ? "yes rw" : streq(wish->option, "overlay") ? "yes overlay" : "yes";
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

static bool say_to_asking(int fd, uint32_t what, const struct file_wish *wish) {
        const struct file_said said = {what, *wish};

        return send(fd, &said, sizeof(said), MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof(said);
}

void file_asker_take_turn(struct file_asker *a) {
        a->fd = accept4(a->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (a->fd >= 0 && (fd_lift(&a->fd) < 0 || !say_to_asking(a->fd, TURN, &FILE_WISH_INIT)))
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

int file_asker_answer(void *asker, enum file_answer answer, const struct file_wish *wish,
                      struct nsrun_error *err) {
        struct file_asker *a = asker;
        _cleanup_close_ int fd = TAKE_FD(a->fd);
        struct file_told told;

        if (answer == FILE_NEVER || a->n_asked == FILE_ASKED_MOST)
                close_fdp(&a->listener);
        (void)say_to_asking(fd, answer, wish);
        if (answer != FILE_YES)
                return 0;
        if (loop_await(fd, POLLIN, SHOWN_MS) <= 0 ||
            recv(fd, &told, sizeof(told), MSG_DONTWAIT) != (ssize_t)sizeof(told))
                return error_set(err, NSRUN_STAGE_SUPERVISE, UNSAID(-ESRCH), NULL,
                                 "who has asked has ended, or takes long", NULL);
        if (told.r != 0 && err)
                *err = told.why;
        return told.r;
}

/* -------------------------------------------------------------------- who asks */

struct asker_found {
        int fd;
        bool has_too_many; /* somebody is there, where no more can wait */
};

static bool is_stopped(pid_t pid) {
        struct process_stat stat = {0};
        char path[32];

        (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        return process_stat_read(AT_FDCWD, path, &stat) >= 0 && stat.state == 'T';
}

bool file_asking_is_stopped(int fd) {
        struct ucred peer = {0};
        socklen_t n = sizeof(peer);

        return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 && is_stopped(peer.pid);
}

/* Who has ended refuses it. */
static int try_asker(void *data, int folder, const struct dirent *entry) {
        struct asker_found *found = data;
        struct sockaddr_un address;

        if (!startswith(entry->d_name, FILE_ASKER_NAME) ||
            is_stopped((pid_t)strtol(entry->d_name + strlen(FILE_ASKER_NAME), NULL, 10)))
                return 0;
        if (connect(found->fd, asker_at(folder, entry->d_name, &address), sizeof(address)) == 0)
                return 1;
        found->has_too_many |= errno == EAGAIN;
        return 0;
}

int file_asking_join(int folder) {
        _cleanup_close_ int fd = sys_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
        int r = fd < 0 ? fd : fd_lift(&fd);
        struct asker_found found = {.fd = fd};

        if (r >= 0)
                r = folder_each(folder, try_asker, &found);
        return r < 0 ? r : r > 0 ? TAKE_FD(fd) : found.has_too_many ? -EAGAIN : -ENOENT;
}

int file_asking_hear(int fd, struct file_wish *ret) {
        struct file_said said;
        ssize_t n = recv(fd, &said, sizeof(said), MSG_DONTWAIT);

        *ret = FILE_WISH_INIT;
        if (n == 0 || (n < 0 && errno == ECONNRESET))
                return -EPIPE;
        if (n != (ssize_t)sizeof(said) || said.what > TURN)
                return FILE_NOT_NOW;
        *ret = said.wish;
        ret->option[sizeof(ret->option) - 1] = ret->path[FILE_PATH_MOST] = '\0';
        return (int)said.what;
}

int file_asking_put(int fd, const struct file_question *q) {
        return send(fd, q, sizeof(*q), MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof(*q) ? 0 : -EPIPE;
}

void file_asking_tell(int fd, int r, const struct nsrun_error *why) {
        const struct file_told told = {.r = r, .why = *why};

        (void)send(fd, &told, sizeof(told), MSG_NOSIGNAL | MSG_DONTWAIT);
}

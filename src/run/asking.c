/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command may write to the same terminal, and could make a person answer another question than nsrun's:
 * a yes has digits that the question alone shows. */
#include "asking.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "base/file.h"
#include "base/str.h"
#include "base/sys.h"

bool plan_asks(const struct nsrun_plan *plan) {
        return plan->net == POLICY_NET_ALLOW && !plan->plain && strv_contains(plan->network, NET_RULES_ASK);
}

/* nsrun-net reads the sandbox's bytes: that a name is one is made sure of again. */
int question_read(int fd, struct net_question *ret) {
        ssize_t n = recv(fd, ret, sizeof(*ret), MSG_DONTWAIT);

        if (n < 0)
                return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        if (n != (ssize_t)sizeof(*ret))
                return -EPIPE;
        ret->name[sizeof(ret->name) - 1] = '\0';
        return net_name_is_askable(ret->name) ? 1 : -EBADMSG;
}

void question_answer(int fd, uint32_t number, enum net_verdict verdict) {
        const struct net_answer a = {number, (uint32_t)verdict};

        (void)send(fd, &a, sizeof(a), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* ---------------------------------------------------------------- who asks */

struct asker {
        char socket[64]; /* its link's text: of all sockets of the kernel just that one has the number */
        pid_t pid;
};

static bool link_is(int dir, const char *path, const char *text) {
        char found[64];
        ssize_t n = sys_readlinkat(dir, path, found, sizeof(found) - 1);

        if (n <= 0)
                return false;
        found[n] = '\0';
        return streq(found, text);
}

static int has_socket_fd(void *data, int folder, const struct dirent *entry) {
        const struct asker *asker = data;

        return link_is(folder, entry->d_name, asker->socket);
}

static int asks_by_socket(void *data, int proc, const struct dirent *entry) {
        struct asker *asker = data;
        _cleanup_close_ int fds = -EBADF;
        char path[sizeof(entry->d_name) + sizeof("/fd")];

        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
                return 0;
        (void)snprintf(path, sizeof(path), "%s/fd", entry->d_name);
        fds = sys_open(proc, path, O_RDONLY | O_DIRECTORY, 0);
        if (fds < 0 || folder_read(fds, has_socket_fd, asker) <= 0)
                return 0;
        asker->pid = (pid_t)strtol(entry->d_name, NULL, 10);
        return 1;
}

/* Of the sandbox's UDP sockets the one that has the port.  0: none. */
static uint64_t find_socket(pid_t init, uint16_t port) {
        _cleanup_fclose_ FILE *f = NULL;
        char path[64], line[512];

        (void)snprintf(path, sizeof(path), "/proc/%d/net/udp", (int)init);
        f = fopen(path, "re");
        while (f && fgets(line, sizeof(line), f)) {
                uint64_t inode;
                unsigned own;

                if (sscanf(line, " %*[0-9]: %*[0-9A-F]:%x %*s %*s %*s %*s %*s %*s %*s %" SCNu64, &own,
                           &inode) == 2 &&
                    own == port)
                        return inode;
        }
        return 0;
}

void question_program(pid_t init, uint16_t port, char to[QUESTION_PROGRAM_MOST]) {
        uint64_t inode = port ? find_socket(init, port) : 0;
        struct asker asker = {.pid = 0};
        _cleanup_close_ int proc = -EBADF, fd = -EBADF;
        char path[64], name[17] = "";
        ssize_t n = 0;

        (void)snprintf(to, QUESTION_PROGRAM_MOST, "a program");
        if (inode == 0)
                return;
        (void)snprintf(asker.socket, sizeof(asker.socket), "socket:[%" PRIu64 "]", inode);
        proc = sys_open(AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY, 0);
        if (proc < 0 || folder_read(proc, asks_by_socket, &asker) <= 0)
                return;
        (void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)asker.pid);
        fd = sys_open(AT_FDCWD, path, O_RDONLY, 0);
        n = fd < 0 ? fd : sys_read(fd, name, sizeof(name) - 1);
        for (ssize_t i = 0; i < n; i++)
                if (name[i] == '\n' && i == n - 1)
                        name[i] = '\0';
                else if (name[i] < ' ' || name[i] > '~')
                        name[i] = '?';
        if (n > 0)
                (void)snprintf(to, QUESTION_PROGRAM_MOST, "%s (pid %d)", name, (int)asker.pid);
}

/* ----------------------------------------------------------------- asked */

int question_begin(struct asking *a, struct nsrun_error *err) {
        a->tty = sys_open(AT_FDCWD, "/dev/tty", O_RDWR | O_NOCTTY | O_NONBLOCK, 0);
        if (a->tty < 0)
                return error_set(err, NSRUN_STAGE_NETWORK, UNSAID(a->tty), NULL,
                                 "nobody can be asked about names that no rule covers",
                                 "--net=ask asks on the terminal, and there is none: take --net=allow");
        return 0;
}

static void question_write(const struct asking *a, const char *text) {
        for (size_t left = strlen(text); left > 0;) {
                ssize_t n = sys_write(a->tty, text, left);

                if (n < 0 && n != -EINTR)
                        return;
                if (n > 0) {
                        text += n;
                        left -= (size_t)n;
                }
        }
}

/* Lines, with an echo, whatever the command has made of the terminal.  What was typed before the question is
 * no answer to it. */
static void prepare_terminal(struct asking *a) {
        struct termios lines;

        a->has_before = tcgetattr(a->tty, &a->before) == 0;
        lines = a->before;
        lines.c_lflag |= ICANON | ECHO | ISIG;
        lines.c_iflag |= ICRNL;
        lines.c_oflag |= OPOST | ONLCR;
        if (a->has_before)
                (void)tcsetattr(a->tty, TCSANOW, &lines);
        (void)tcflush(a->tty, TCIFLUSH);
}

static void close_question(struct asking *a) {
        if (a->is_open && a->has_before)
                (void)tcsetattr(a->tty, TCSANOW, &a->before);
        a->is_open = false;
}

void question_show(struct asking *a, int fd, pid_t init) {
        char program[QUESTION_PROGRAM_MOST], text[NET_NAME_MOST + 256];
        unsigned char digits = 0;
        int r = question_read(fd, &a->question);

        if (r < 0)
                a->has_ended = true;
        if (r <= 0)
                return;
        if (getrandom(&digits, 1, 0) != 1) {
                question_answer(fd, a->question.number, NET_VERDICT_NO);
                return;
        }
        if (tcgetpgrp(a->tty) != getpgrp()) {
                (void)snprintf(text, sizeof(text),
                               "\nnsrun: %s is refused: nsrun is in the background, and can't ask\n",
                               a->question.name);
                question_write(a, text);
                question_answer(fd, a->question.number, NET_VERDICT_NO);
                return;
        }
        question_program(init, a->question.client_port, program);
        (void)snprintf(a->code, sizeof(a->code), "%d%d", digits % 10, digits / 16 % 10);
        (void)snprintf(text, sizeof(text),
                       "\nnsrun: %s wants to reach %s (ports 80 and 443), which no rule covers.\n"
                       "nsrun: Allow that until the run ends? [y%s, n, or q to be asked no more] ",
                       program, a->question.name, a->code);
        prepare_terminal(a);
        a->is_open = true;
        a->n = 0;
        question_write(a, text);
}

static void question_decide(struct asking *a, int fd) {
        char yes[4], text[2 * NET_NAME_MOST + 128];
        enum net_verdict verdict = streq(a->line, "n")   ? NET_VERDICT_NO
                                   : streq(a->line, "q") ? NET_VERDICT_NEVER
                                                         : NET_VERDICT_YES;

        (void)snprintf(yes, sizeof(yes), "y%s", a->code);
        if (verdict == NET_VERDICT_YES && !streq(a->line, yes)) {
                (void)snprintf(text, sizeof(text), "nsrun: [y%s, n, or q to be asked no more] ", a->code);
                question_write(a, text);
                return;
        }
        if (verdict == NET_VERDICT_YES)
                (void)snprintf(text, sizeof(text), "nsrun: %s is allowed; in later runs by --allow %s\n",
                               a->question.name, a->question.name);
        else
                (void)snprintf(text, sizeof(text), "nsrun: %s is refused%s\n", a->question.name,
                               verdict == NET_VERDICT_NEVER ? ", and so is all that no rule covers" : "");
        question_write(a, text);
        if (a->question.number + 1 >= NET_QUESTIONS_MOST && verdict != NET_VERDICT_NEVER)
                question_write(a,
                               "nsrun: That was the last question: what else no rule covers is refused\n");
        close_question(a);
        question_answer(fd, a->question.number, verdict);
}

void question_take_line(struct asking *a, int fd) {
        char bytes[64];
        ssize_t n = sys_read(a->tty, bytes, sizeof(bytes));

        if (n == -EAGAIN || n == -EINTR)
                return;
        /* The terminal is gone, or its input has ended. */
        if (n <= 0) {
                close_question(a);
                question_answer(fd, a->question.number, NET_VERDICT_NEVER);
                return;
        }
        for (ssize_t i = 0; i < n && a->is_open; i++) {
                if (bytes[i] != '\n') {
                        /* What is too long is no answer. */
                        a->n += a->n < sizeof(a->line);
                        if (a->n < sizeof(a->line))
                                a->line[a->n - 1] = bytes[i];
                        continue;
                }
                a->line[a->n < sizeof(a->line) ? a->n : 0] = '\0';
                a->n = 0;
                question_decide(a, fd);
        }
}

void question_end(struct asking *a) {
        if (a->is_open)
                question_write(a, "\n");
        close_question(a);
        close_fdp(&a->tty);
}

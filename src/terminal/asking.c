/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command may write to the same terminal, and could make a person answer another question than nsrun's:
 * a yes has digits that the question alone shows. */
#include "asking.h"

#include <dirent.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <limits.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "base/file.h"
#include "base/str.h"
#include "base/sys.h"
#include "desktop/ssh_agent.h"
#include "net/control.h"

bool plan_asks(const struct nsrun_plan *plan) {
        return plan->net == POLICY_NET_ALLOW && !plan->plain && strv_contains(plan->network, NET_RULES_ASK);
}

bool plan_asks_of_keys(const struct nsrun_plan *plan) {
        return !plan->plain && !plan->join && strv_contains(plan->ssh_keys, SSH_AGENT_ASKS);
}

bool plan_asks_of_links(const struct nsrun_plan *plan) {
        return !plan->plain && !plan->join && plan->browser;
}

/* nsrun-net reads the sandbox's bytes: that a name is one is made sure of again. */
int question_read(int fd, struct net_question *ret) {
        ssize_t n = recv(fd, ret, sizeof(*ret), MSG_DONTWAIT);

        if (n < 0)
                return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        if (n != (ssize_t)sizeof(*ret))
                return -EPIPE;
        ret->name[sizeof(ret->name) - 1] = '\0';
        if (ret->kind == NET_QUESTION_HELLO)
                return 0;
        return net_name_is_askable(ret->name) ? 1 : -EBADMSG;
}

void question_answer(int fd, uint32_t number, enum net_verdict verdict) {
        const struct net_answer a = {number, (uint32_t)verdict};

        (void)send(fd, &a, sizeof(a), MSG_DONTWAIT | MSG_NOSIGNAL);
}

#define HELLO_MS 2000

/* Waits until nsrun-net knows of it: what the command asks for comes later. */
static int await_hello(int fd) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        struct net_question q;
        int r;

        do
                r = sys_poll(&wait, 1, HELLO_MS);
        while (r == -EINTR);
        if (r <= 0)
                return r < 0 ? r : -ETIMEDOUT;
        return recv(fd, &q, sizeof(q), MSG_DONTWAIT) == (ssize_t)sizeof(q) && q.kind == NET_QUESTION_HELLO
                       ? 0
                       : -EPIPE;
}

int question_join(int folder, int *ret_fd) {
        _cleanup_close_ int to = sys_socket(AF_UNIX, SOCK_DGRAM, 0), mine = -EBADF, other = -EBADF;
        const struct net_control control = {.kind = NET_CONTROL_ASK};
        struct sockaddr_un address;
        int ends[2], r = to < 0 ? to : sys_socketpair(ends);

        if (r < 0)
                return r;
        mine = ends[0];
        other = ends[1];
        r = fd_lift(&mine);
        if (r >= 0 && connect(to, network_control_at(folder, &address), sizeof(address)) < 0)
                r = -errno;
        if (r >= 0)
                r = sys_send_fds(to, &control, sizeof(control), &other, 1);
        close_fdp(&other);
        if (r >= 0)
                r = await_hello(mine);
        if (r < 0)
                return r;
        *ret_fd = TAKE_FD(mine);
        return 0;
}

/* ---------------------------------------------------------------- who asks */

/* What is looked at for it, at most, descriptors and sockets each: a command can have millions, and nsrun
 * has its deadline to keep meanwhile.  Whoever isn't found among these is a program without a name. */
#define LOOKS_MOST 16384

struct asker {
        char socket[64]; /* its link's text: of all sockets of the kernel just that one has the number */
        char own[64];    /* the host's network namespace, in which it is not, as a link's text */
        unsigned n_looked;
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
        struct asker *asker = data;

        if (asker->n_looked++ >= LOOKS_MOST)
                return -E2BIG;
        return link_is(folder, entry->d_name, asker->socket);
}

static int asks_by_socket(void *data, int proc, const struct dirent *entry) {
        struct asker *asker = data;
        _cleanup_close_ int fds = -EBADF;
        char path[sizeof(entry->d_name) + sizeof("/ns/net")];
        int r;

        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
                return 0;
        (void)snprintf(path, sizeof(path), "%s/ns/net", entry->d_name);
        if (link_is(proc, path, asker->own))
                return 0;
        if (asker->n_looked++ >= LOOKS_MOST)
                return -E2BIG;
        (void)snprintf(path, sizeof(path), "%s/fd", entry->d_name);
        fds = sys_open(proc, path, O_RDONLY | O_DIRECTORY, 0);
        r = fds < 0 ? 0 : folder_read(fds, has_socket_fd, asker);
        if (r <= 0)
                return r == -E2BIG ? r : 0;
        asker->pid = (pid_t)strtol(entry->d_name, NULL, 10);
        return 1;
}

/* Of the sandbox's UDP sockets the one that has the port.  0: none. */
static uint64_t find_socket(pid_t init, uint16_t port) {
        _cleanup_fclose_ FILE *f = NULL;
        char path[64], line[512];

        (void)snprintf(path, sizeof(path), "/proc/%d/net/udp", (int)init);
        f = fopen(path, "re");
        for (int i = 0; f && i < LOOKS_MOST && fgets(line, sizeof(line), f); i++) {
                uint64_t inode;
                unsigned own;

                if (sscanf(line, " %*[0-9]: %*[0-9A-F]:%x %*s %*s %*s %*s %*s %*s %*s %" SCNu64, &own,
                           &inode) == 2 &&
                    own == port)
                        return inode;
        }
        return 0;
}

/* 0: unknown. */
static pid_t find_asker(pid_t init, uint16_t port) {
        uint64_t inode = port ? find_socket(init, port) : 0;
        struct asker asker = {.pid = 0};
        _cleanup_close_ int proc = -EBADF;
        ssize_t n;

        if (inode == 0)
                return 0;
        (void)snprintf(asker.socket, sizeof(asker.socket), "socket:[%" PRIu64 "]", inode);
        proc = sys_open(AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY, 0);
        n = proc < 0 ? proc : sys_readlinkat(proc, "self/ns/net", asker.own, sizeof(asker.own) - 1);
        return n <= 0 || folder_read(proc, asks_by_socket, &asker) <= 0 ? 0 : asker.pid;
}

void question_program(pid_t init, uint16_t port, char to[QUESTION_PROGRAM_MOST]) {
        pid_t pid = find_asker(init, port);
        _cleanup_close_ int fd = -EBADF;
        char path[64], name[17] = "";
        ssize_t n = 0;

        (void)snprintf(to, QUESTION_PROGRAM_MOST, "a program");
        if (pid == 0)
                return;
        (void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
        fd = sys_open(AT_FDCWD, path, O_RDONLY, 0);
        n = fd < 0 ? fd : sys_read(fd, name, sizeof(name) - 1);
        for (ssize_t i = 0; i < n; i++)
                if (name[i] == '\n' && i == n - 1)
                        name[i] = '\0';
                else if (name[i] < ' ' || name[i] > '~')
                        name[i] = '?';
        if (n > 0)
                (void)snprintf(to, QUESTION_PROGRAM_MOST, "%s (pid %d)", name, (int)pid);
}

/* 0: it has none, or is gone. */
static pid_t ppid_of(pid_t pid) {
        _cleanup_close_ int fd = -EBADF;
        char path[64], text[512];
        const char *end;
        int parent = 0;
        ssize_t n;

        (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        fd = sys_open(AT_FDCWD, path, O_RDONLY, 0);
        n = fd < 0 ? fd : sys_read(fd, text, sizeof(text) - 1);
        text[n > 0 ? n : 0] = '\0';
        /* The process chose its name, which stands in parentheses before. */
        end = strrchr(text, ')');
        return end && sscanf(end, ") %*c %d", &parent) == 1 ? (pid_t)parent : 0;
}

void question_tell_whose(int fd, const struct net_question *q, pid_t init, pid_t reaper) {
        pid_t pid = reaper > 0 ? find_asker(init, q->client_port) : 0;

        /* A longer chain of parents is made by who wants that it takes long. */
        for (int i = 0; i < 1024 && pid > 1 && pid != reaper; i++)
                pid = ppid_of(pid);
        question_answer(fd, q->number, pid > 1 && pid == reaper ? NET_VERDICT_MINE : NET_VERDICT_NOT_MINE);
}

int question_call(int fd, pid_t init, pid_t reaper,
                  int (*ask)(const char *name, const char *program, void *data), void *data) {
        char program[QUESTION_PROGRAM_MOST];
        struct net_question q;
        int r = question_read(fd, &q);

        if (r > 0 && q.kind == NET_QUESTION_WHOSE) {
                question_tell_whose(fd, &q, init, reaper);
        } else if (r > 0) {
                question_program(init, q.client_port, program);
                question_answer(fd, q.number,
                                ask(q.name, program, data) > 0 ? NET_VERDICT_YES : NET_VERDICT_NO);
        }
        return r < 0 ? r : 0;
}

/* ----------------------------------------------------------------- asked */

int question_begin(struct asking *a, enum asked_about about, struct nsrun_error *err) {
        a->tty = sys_open(AT_FDCWD, "/dev/tty", O_RDWR | O_NOCTTY | O_NONBLOCK, 0);
        if (a->tty < 0 && about == ASKED_LINK)
                return error_set(err, NSRUN_STAGE_POLICY, UNSAID(a->tty), NULL,
                                 "nobody can be asked about links",
                                 "--browser asks on the terminal, and there is none: leave it out");
        if (a->tty < 0 && about == ASKED_KEY)
                return error_set(
                        err, NSRUN_STAGE_POLICY, UNSAID(a->tty), NULL,
                        "nobody can be asked about signatures",
                        "--ssh-agent=ask asks on the terminal, and there is none: name the keys that "
                        "may sign without");
        if (a->tty < 0)
                return error_set(err, NSRUN_STAGE_NETWORK, UNSAID(a->tty), NULL,
                                 "nobody can be asked about names that no rule covers",
                                 "--net=ask asks on the terminal, and there is none: take --net=allow");
        return 0;
}

#define WRITE_MS 2000 /* for how long the terminal may take nothing */

bool question_write(const struct asking *a, const char *text) {
        /* It still has to show what the command has printed. */
        return write_waiting(a->tty, text, strlen(text), WRITE_MS) >= 0;
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

/* What is shown is the question, as it is written, whatever the command has printed before. */
static bool clear_screen(const struct asking *a) {
        char text[SCREEN_CLEAR_MOST] = "";

        if (a->screen)
                screen_clear(a->screen, text);
        return question_write(a, text);
}

static void close_question(struct asking *a) {
        if (a->is_open && a->has_before)
                (void)tcsetattr(a->tty, TCSANOW, &a->before);
        a->is_open = false;
}

/* Whether a link's host is this machine, by a name or an address that the machine has now. */
static bool is_this_machine(const char *host) {
        char name[HOST_NAME_MAX + 1] = "";
        struct ifaddrs *all = NULL;
        bool is_own;

        (void)gethostname(name, sizeof(name) - 1);
        is_own = link_is_of_this_machine(host, name);
        if (is_own || getifaddrs(&all) < 0)
                return is_own;
        for (const struct ifaddrs *i = all; i && !is_own; i = i->ifa_next)
                is_own = i->ifa_addr && link_is_at(host, i->ifa_addr);
        freeifaddrs(all);
        return is_own;
}

#define QUESTION_MOST (LINK_MOST + 2 * NET_NAME_MOST + 256)

/* The question's lines. */
static void question_word(const struct asking *a, char *to, size_t size) {
        char program[QUESTION_PROGRAM_MOST];

        if (a->about == ASKED_LINK) {
                (void)snprintf(to, size,
                               "\nnsrun: a program wants to open a link to %s on the host:\nnsrun:   %s\n%s"
                               "nsrun: Open it? (%s) [type y%s for yes, n for no, q to be asked no more] ",
                               a->question.name, a->link,
                               is_this_machine(a->question.name)
                                       ? "nsrun: That is a service of this machine's own.\n"
                                       : "",
                               a->question.name, a->code);
                return;
        }
        if (a->about == ASKED_KEY) {
                (void)snprintf(to, size,
                               "\nnsrun: a program wants a signature by the SSH key %s.\n"
                               "nsrun: Sign this once? [type y%s for yes, n for no, q to be asked no more] ",
                               a->question.name, a->code);
                return;
        }
        question_program(a->init, a->question.client_port, program);
        (void)snprintf(
                to, size,
                "\nnsrun: %s wants to reach %s (ports 80 and 443), which no rule covers.\n"
                "nsrun: Allow that until the %s ends? [type y%s for yes, n for no, q to be asked no more] ",
                program, a->question.name, a->is_session ? "session" : "run", a->code);
}

static void question_show(struct asking *a, int fd) {
        char text[QUESTION_MOST];
        unsigned char digits = 0;

        if (a->is_open || getrandom(&digits, 1, 0) != 1) {
                question_answer(fd, a->question.number, NET_VERDICT_NOT_NOW);
                return;
        }
        if (tcgetpgrp(a->tty) != getpgrp()) {
                (void)snprintf(text, sizeof(text),
                               "\nnsrun: %s is refused: nsrun is in the background, and can't ask\n",
                               a->question.name);
                (void)question_write(a, text);
                question_answer(fd, a->question.number,
                                a->is_session ? NET_VERDICT_NOT_NOW : NET_VERDICT_NO);
                return;
        }
        (void)snprintf(a->code, sizeof(a->code), "%d%d", digits % 10, digits / 16 % 10);
        question_word(a, text, sizeof(text));
        prepare_terminal(a);
        a->is_open = true;
        /* What isn't shown in whole isn't asked. */
        if (!clear_screen(a) || !question_write(a, text)) {
                close_question(a);
                question_answer(fd, a->question.number, NET_VERDICT_NOT_NOW);
                return;
        }
        a->fd = fd;
        a->n = 0;
        a->n_asked += a->about == ASKED_NAME;
}

void question_take(struct asking *a, int fd) {
        struct net_question q;
        int r = question_read(fd, &q);

        if (r < 0)
                a->has_ended = true;
        if (r <= 0)
                return;
        if (q.kind == NET_QUESTION_WHOSE) {
                question_tell_whose(fd, &q, a->init, a->reaper);
        } else if (a->is_open) {
                question_answer(fd, q.number, NET_VERDICT_NOT_NOW);
        } else {
                a->question = q;
                a->about = ASKED_NAME;
                question_show(a, fd);
        }
}

/* The comment is the key's owner's to choose: it is made fit to print once more. */
void question_take_key(struct asking *a, int fd) {
        ssize_t n = recv(fd, &a->question, sizeof(a->question), MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        a->has_no_keys = n != (ssize_t)sizeof(a->question);
        if (a->has_no_keys)
                return;
        a->question.name[sizeof(a->question.name) - 1] = '\0';
        for (char *at = a->question.name; *at; at++)
                if (*at < ' ' || *at > '~')
                        *at = '?';
        a->about = ASKED_KEY;
        question_show(a, fd);
}

/* The filter reads the sandbox's bytes: that a link is one is made sure of again. */
void question_take_link(struct asking *a, int fd) {
        char host[LINK_HOST_MOST + 1];
        struct link_question q;
        ssize_t n = recv(fd, &q, sizeof(q), MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        q.link[sizeof(q.link) - 1] = '\0';
        a->has_no_links = n != (ssize_t)sizeof(q) || !link_is_openable(q.link, host);
        if (a->has_no_links)
                return;
        a->question = (struct net_question){.number = q.number};
        (void)snprintf(a->question.name, sizeof(a->question.name), "%s", host);
        memcpy(a->link, q.link, sizeof(a->link));
        a->about = ASKED_LINK;
        question_show(a, fd);
}

/* What comes of the answer. */
static void question_tell(const struct asking *a, enum net_verdict verdict) {
        const char *name = a->question.name;
        char text[2 * NET_NAME_MOST + 128];

        if (a->about == ASKED_LINK)
                (void)snprintf(text, sizeof(text), "nsrun: %s\n",
                               verdict == NET_VERDICT_YES ? "opened"
                               : verdict == NET_VERDICT_NOT_NOW
                                       ? "not opened: the host's program can't be started"
                               : verdict == NET_VERDICT_NO ? "not opened"
                                                           : "not opened, and neither is any other link");
        else if (a->about == ASKED_KEY)
                (void)snprintf(text, sizeof(text), "nsrun: %s\n",
                               verdict == NET_VERDICT_YES  ? "signed"
                               : verdict == NET_VERDICT_NO ? "refused"
                                                           : "refused, and so is every other signature");
        else if (verdict == NET_VERDICT_YES)
                (void)snprintf(text, sizeof(text), "nsrun: %s is allowed; in later %ss by --allow %s\n",
                               name, a->is_session ? "session" : "run", name);
        else
                (void)snprintf(text, sizeof(text), "nsrun: %s is refused%s\n", name,
                               verdict == NET_VERDICT_NO ? "" : ", and so is all that no rule covers");
        (void)question_write(a, text);
        if (a->about == ASKED_NAME && a->n_asked == NET_QUESTIONS_MOST && verdict != NET_VERDICT_NEVER)
                (void)question_write(
                        a, "nsrun: That was the last question: what else no rule covers is refused\n");
}

static void question_decide(struct asking *a) {
        char yes[4], text[QUESTION_MOST];
        enum net_verdict verdict = streq(a->line, "n")   ? NET_VERDICT_NO
                                   : streq(a->line, "q") ? NET_VERDICT_NEVER
                                                         : NET_VERDICT_YES;

        (void)snprintf(yes, sizeof(yes), "y%s", a->code);
        if (verdict == NET_VERDICT_YES && !streq(a->line, yes)) {
                /* What was meant may have been a question of the command's: this one is asked again. */
                question_word(a, text, sizeof(text));
                (void)question_write(a, text);
                return;
        }
        if (a->about == ASKED_LINK && verdict == NET_VERDICT_YES && opener_open(&a->opener, a->link) < 0)
                verdict = NET_VERDICT_NOT_NOW;
        question_tell(a, verdict);
        close_question(a);
        question_answer(a->fd, a->question.number, verdict);
}

void question_take_line(struct asking *a) {
        char bytes[64];
        ssize_t n = sys_read(a->tty, bytes, sizeof(bytes));

        if (n == -EAGAIN || n == -EINTR)
                return;
        /* The terminal is gone, or its input has ended. */
        if (n <= 0) {
                close_question(a);
                question_answer(a->fd, a->question.number, NET_VERDICT_NEVER);
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
                question_decide(a);
        }
}

void question_end(struct asking *a) {
        if (a->is_open)
                (void)question_write(a, "\n");
        close_question(a);
        close_fdp(&a->tty);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command may write to the same terminal, and could make a person answer another question than nsrun's:
 * a yes has digits that the question alone shows. */
#include "asking.h"

#include <ifaddrs.h>
#include <limits.h>
#include <sys/random.h>

#include "base/file.h"
#include "base/loop.h"
#include "base/sys.h"
#include "desktop/ssh_agent.h"
#include "file_asker.h"
#include "host/socket_table.h"
#include "net/control.h"

#define QUESTION_PROGRAM_MOST 64 /* bytes of what question_program() writes */

bool plan_asks(const struct nsrun_plan *plan) {
        return plan->net == POLICY_NET_ALLOW && !plan->plain && strv_contains(plan->network, NET_RULES_ASK);
}

bool plan_asks_of_keys(const struct nsrun_plan *plan) {
        return !plan->plain && !plan->join && strv_contains(plan->ssh_keys, SSH_AGENT_ASKS);
}

bool plan_asks_of_links(const struct nsrun_plan *plan) {
        return !plan->plain && !plan->join && plan->browser;
}

/* 1 with a question whose name is one; 0: there is none now; -errno: there will be none any more.  nsrun-net
 * reads the sandbox's bytes: that a name is one is made sure of again. */
static int question_read(int fd, struct net_question *ret) {
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

static void question_answer(int fd, uint32_t number, enum net_verdict verdict) {
        const struct net_answer a = {number, (uint32_t)verdict};

        (void)send(fd, &a, sizeof(a), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Answers the question that is put. */
static int give_answer(struct asking *a, int fd, enum net_verdict verdict, struct nsrun_error *err) {
        if (a->about != ASKED_FILE) {
                question_answer(fd, a->question.number, verdict);
                return 0;
        }
        return a->answer_file(a->data,
                              verdict == NET_VERDICT_YES     ? FILE_YES
                              : verdict == NET_VERDICT_NO    ? FILE_NO
                              : verdict == NET_VERDICT_NEVER ? FILE_NEVER
                                                             : FILE_NOT_NOW,
                              &a->wish, err);
}

#define HELLO_MS 10000

/* Waits until nsrun-net knows of it: what the command asks for comes later. */
static int await_hello(int fd) {
        struct net_question q;
        int r = loop_await(fd, POLLIN, HELLO_MS);

        if (r <= 0)
                return r < 0 ? r : -ETIMEDOUT;
        return recv(fd, &q, sizeof(q), MSG_DONTWAIT) == (ssize_t)sizeof(q) && q.kind == NET_QUESTION_HELLO
                       ? 0
                       : -EPIPE;
}

int question_join(int folder, int *ret_fd) {
        _cleanup_close_ int to = sys_open(folder, NET_CONTROL_NAME, O_PATH | O_NOFOLLOW, 0), mine = -EBADF,
                            other = -EBADF;
        const struct net_control control = {.kind = NET_CONTROL_ASK};
        int ends[2], r = to < 0 ? to : sys_socketpair(ends);

        if (r < 0)
                return r;
        mine = ends[0];
        other = ends[1];
        r = fd_lift(&mine);
        if (r >= 0)
                r = control_submit(to, &control, &other, 1);
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
        unsigned port;
        uint64_t inode;
};

static int is_askers_port(void *data, const struct socket_row *row) {
        struct asker *asker = data;

        asker->inode = row->port == asker->port ? row->inode : 0;
        return asker->inode > 0;
}

/* Whose UDP socket of the sandbox's has the port; who is in the host's network namespace has none.  0:
 * unknown. */
static pid_t find_asker(pid_t init, uint16_t port) {
        struct asker asker = {.port = port};
        size_t left = LOOKS_MOST;
        char folder[32], own[64];
        ssize_t n = sys_readlinkat(AT_FDCWD, "/proc/self/ns/net", own, sizeof(own) - 1);
        pid_t pid;

        (void)snprintf(folder, sizeof(folder), "/proc/%d/net", (int)init);
        if (n <= 0 || port == 0 || socket_table_each(folder, "udp", &left, is_askers_port, &asker) <= 0)
                return 0;
        own[n] = '\0';
        pid = socket_find_owner(&asker.inode, 1, &(struct socket_owners){"net", own, true, LOOKS_MOST});
        return pid > 0 ? pid : 0;
}

/* "NAME (pid N)" of the process inside whose socket asks, as it calls itself, fit to print; else "a
 * program". `init` is a process in the sandbox's network. */
static void question_program(pid_t init, uint16_t port, char to[QUESTION_PROGRAM_MOST]) {
        pid_t pid = find_asker(init, port);
        char name[17];

        (void)snprintf(to, QUESTION_PROGRAM_MOST, "a program");
        if (pid == 0)
                return;
        read_process_name(pid, name, sizeof(name));
        for (char *c = name; *c; c++)
                if (*c < ' ' || *c > '~')
                        *c = '?';
        if (*name)
                (void)snprintf(to, QUESTION_PROGRAM_MOST, "%s (pid %d)", name, (int)pid);
}

/* Answers whether the program that asks descends from `reaper`; 0: none does. */
static void question_tell_whose(int fd, const struct net_question *q, pid_t init, pid_t reaper) {
        pid_t pid = reaper > 0 ? find_asker(init, q->client_port) : 0;

        /* A longer chain of parents is made by who wants that it takes long. */
        for (int i = 0; i < 1024 && pid > 1 && pid != reaper; i++)
                pid = read_process_parent(pid);
        question_answer(fd, q->number, pid > 1 && pid == reaper ? NET_VERDICT_MINE : NET_VERDICT_NOT_MINE);
}

int question_call(int fd, pid_t init, pid_t reaper,
                  int (*ask)(const char *name, const char *program, void *data), void *data,
                  bool *ret_is_undecided) {
        char program[QUESTION_PROGRAM_MOST];
        enum net_verdict verdict;
        struct net_question q;
        int r = question_read(fd, &q), answer;

        if (r > 0 && q.kind == NET_QUESTION_WHOSE) {
                question_tell_whose(fd, &q, init, reaper);
        } else if (r > 0) {
                question_program(init, q.client_port, program);
                answer = ask(q.name, program, data);
                verdict = answer > 0 ? NET_VERDICT_YES : NET_VERDICT_NO;
                if (answer < 0 && ret_is_undecided) {
                        verdict = NET_VERDICT_NOT_NOW;
                        *ret_is_undecided = true;
                }
                question_answer(fd, q.number, verdict);
        }
        return r < 0 ? r : 0;
}

/* ----------------------------------------------------------------- asked */

int question_begin(struct asking *a, enum asked_about about, struct nsrun_error *err) {
        static const struct {
                const char *what, *hint;
        } nobody[] = {
                [ASKED_NAME] = {"nobody can be asked about names that no rule covers",
                                "--net=ask asks on the terminal, and there is none: take --net=allow"},
                [ASKED_KEY] = {"nobody can be asked about signatures",
                               "--ssh-agent=ask asks on the terminal, and there is none: name the keys that "
                               "may sign without"},
                [ASKED_LINK] = {"nobody can be asked about links",
                                "--browser asks on the terminal, and there is none: leave it out"},
                [ASKED_FILE] = {"nobody can be asked about files",
                                "--ask asks on the terminal, and there is none: leave it out"},
        };

        a->tty = sys_open(AT_FDCWD, "/dev/tty", O_RDWR | O_NOCTTY | O_NONBLOCK, 0);
        return a->tty < 0 ? error_set(err, about == ASKED_NAME ? NSRUN_STAGE_NETWORK : NSRUN_STAGE_POLICY,
                                      UNSAID(a->tty), NULL, nobody[about].what, nobody[about].hint)
                          : 0;
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

/* A byte of a path is four characters at most. */
#define QUESTION_MOST (LINK_MOST + 2 * NET_NAME_MOST + 8 * FILE_PATH_MOST + 256)

static const char *asked_file(const struct asking *a) {
        return *a->wish.path ? a->wish.path : a->file.path;
}

/* Of a file the path, else the name. */
static char *visible_subject(const struct asking *a) {
        return a->about == ASKED_FILE ? file_question_path(asked_file(a)) : strdup(a->question.name);
}

static void file_word(const struct asking *a, char *to, size_t size) {
        _cleanup_free_ char *words = file_question_words(&a->file),
                            *folder = *a->file.folder ? file_question_path(a->file.folder) : NULL;

        (void)snprintf(
                to, size,
                "\nnsrun: %s.\n"
                "nsrun: Show it, read-only, until the %s ends? [type y%s for %s%s%s%s%s, n for no, q to "
                "be asked no more, or y%s [%s] [always] [FOLDER]] ",
                words ? words : "?", a->is_session ? "session" : "run", a->code,
                folder ? "this file" : "yes", folder ? ", f" : "", folder ? a->code : "",
                folder ? " for all of " : "", folder ? folder : "", a->code,
                a->file.is_folder ? "overlay" : "rw|overlay");
}

/* The question's lines. */
static void question_word(const struct asking *a, char *to, size_t size) {
        char program[QUESTION_PROGRAM_MOST];

        if (a->about == ASKED_FILE) {
                file_word(a, to, size);
                return;
        }
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
                (void)give_answer(a, fd, NET_VERDICT_NOT_NOW, NULL);
                return;
        }
        if (tcgetpgrp(a->tty) != getpgrp()) {
                _cleanup_free_ char *subject = visible_subject(a);

                (void)snprintf(text, sizeof(text),
                               "\nnsrun: %s is refused: nsrun is in the background, and can't ask\n",
                               subject ? subject : "?");
                (void)question_write(a, text);
                (void)give_answer(a, fd,
                                  a->is_session || a->about == ASKED_FILE ? NET_VERDICT_NOT_NOW
                                                                          : NET_VERDICT_NO,
                                  NULL);
                return;
        }
        (void)snprintf(a->code, sizeof(a->code), "%d%d", digits % 10, digits / 16 % 10);
        question_word(a, text, sizeof(text));
        prepare_terminal(a);
        a->is_open = true;
        /* What isn't shown in whole isn't asked. */
        if (!clear_screen(a) || !question_write(a, text)) {
                close_question(a);
                (void)give_answer(a, fd, NET_VERDICT_NOT_NOW, NULL);
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

void question_take_file(struct asking *a, const struct file_question *file) {
        a->file = *file;
        a->wish = FILE_WISH_INIT;
        a->about = ASKED_FILE;
        question_show(a, -EBADF);
}

/* For those who write it down. */
static void tell_answered(const struct asking *a, const char *answer) {
        static const char *const about[] = {"name", "key", "link", "file"};

        if (a->answered)
                a->answered(a->data, about[a->about],
                            a->about == ASKED_LINK   ? a->link
                            : a->about == ASKED_FILE ? asked_file(a)
                                                     : a->question.name,
                            answer);
}

/* Nobody answers it any more. */
static void abandon_question(struct asking *a) {
        if (!a->is_open)
                return;
        (void)question_write(a, "\n");
        close_question(a);
        tell_answered(a, "none");
}

void question_drop_file(struct asking *a) {
        if (a->about == ASKED_FILE)
                abandon_question(a);
}

/* What comes of the answer about a file; `err`: why it isn't shown. */
static void tell_file(const struct asking *a, enum net_verdict verdict, const struct nsrun_error *err) {
        const char *path = asked_file(a);
        _cleanup_free_ char *subject = visible_subject(a), *visible = str_visible(path), *text = NULL,
                            *folder = *a->file.folder ? file_question_path(a->file.folder) : NULL,
                            *why = NULL;
        bool is_saved = a->wish.is_always && !(err && err->stage);
        /* What can't be typed as it is seen is no advice. */
        bool is_word = subject && visible && streq(visible, path) && !is_saved;

        if (verdict == NET_VERDICT_YES)
                text = str_format("nsrun: %s is shown%s%s%s%s\n", subject ? subject : "?",
                                  is_saved  ? ", and saved for the project"
                                  : is_word ? "; in later runs by --"
                                            : "",
                                  is_word ? a->wish.option : "", is_word ? " " : "", is_word ? subject : "");
        else if (verdict == NET_VERDICT_NO)
                text = str_format("nsrun: %s is refused%s%s\n", subject ? subject : "?",
                                  folder ? ", and so is what else is in " : "", folder ? folder : "");
        else if (verdict == NET_VERDICT_NEVER)
                text = str_format("nsrun: %s is refused, and so is all else that isn't exposed\n",
                                  subject ? subject : "?");
        if (text)
                (void)question_write(a, text);
        free(text);
        why = err && err->stage ? nsrun_error_format(err) : NULL;
        text = why ? str_format("nsrun: %s%s\n", verdict == NET_VERDICT_YES ? "" : "it isn't shown: ", why)
                   : NULL;
        if (text)
                (void)question_write(a, text);
        if (a->file.is_last && verdict != NET_VERDICT_NEVER)
                (void)question_write(
                        a, "nsrun: That was the last question: what else isn't exposed is refused\n");
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

/* Whether a line is the letter with the question's digits, and nothing else but where it is a file's. */
static bool is_answer(const struct asking *a, char letter) {
        const char *rest = startswith(a->line + (*a->line == letter), a->code);

        return *a->line == letter && rest && (!*rest || (a->about == ASKED_FILE && *rest == ' '));
}

/* Reads a yes.  False: it is none; *ret_wrong, for free(3), or NULL, says why. */
static bool read_yes(struct asking *a, char **ret_wrong) {
        bool is_folder = a->about == ASKED_FILE && *a->file.folder && is_answer(a, 'f');

        if (!is_folder && !is_answer(a, 'y'))
                return false;
        a->wish = FILE_WISH_INIT;
        if (is_folder)
                memcpy(a->wish.path, a->file.folder, sizeof(a->wish.path));
        return a->about != ASKED_FILE ||
               file_wish_read(a->line + 1 + strlen(a->code), &a->file, &a->wish, ret_wrong);
}

static void question_decide(struct asking *a) {
        _cleanup_free_ char *wrong = NULL;
        char text[QUESTION_MOST];
        struct nsrun_error err = {0};
        enum net_verdict verdict = streq(a->line, "n")   ? NET_VERDICT_NO
                                   : streq(a->line, "q") ? NET_VERDICT_NEVER
                                                         : NET_VERDICT_YES;

        if (verdict == NET_VERDICT_YES && !read_yes(a, &wrong)) {
                /* What was meant may have been a question of the command's: this one is asked again. */
                a->wish = FILE_WISH_INIT;
                (void)question_write(a, wrong ? wrong : "nsrun: that isn't understood\n");
                question_word(a, text, sizeof(text));
                (void)question_write(a, text);
                return;
        }
        if (a->about == ASKED_LINK && verdict == NET_VERDICT_YES && opener_open(&a->opener, a->link) < 0)
                verdict = NET_VERDICT_NOT_NOW;
        if (a->about != ASKED_FILE) {
                question_tell(a, verdict);
                question_answer(a->fd, a->question.number, verdict);
        } else {
                verdict = give_answer(a, -EBADF, verdict, &err) < 0 ? NET_VERDICT_NOT_NOW : verdict;
                tell_file(a, verdict, &err);
        }
        close_question(a);
        tell_answered(a, verdict == NET_VERDICT_YES     ? file_wish_word(&a->wish)
                         : verdict == NET_VERDICT_NO    ? "no"
                         : verdict == NET_VERDICT_NEVER ? "never"
                                                        : "failed");
}

void question_take_line(struct asking *a) {
        char bytes[64];
        ssize_t n = sys_read(a->tty, bytes, sizeof(bytes));

        if (n == -EAGAIN || n == -EINTR)
                return;
        /* The terminal is gone, or its input has ended. */
        if (n <= 0) {
                if (a->about == ASKED_FILE)
                        tell_file(a, NET_VERDICT_NEVER, NULL);
                close_question(a);
                tell_answered(a, "never");
                (void)give_answer(a, a->fd, NET_VERDICT_NEVER, NULL);
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
        abandon_question(a);
        close_fdp(&a->tty);
}

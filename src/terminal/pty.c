/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pty.h"

#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/sys.h"
#include "boundary/harden.h"
#include "modes.h"

/* How much a command that has ended may have left to be read: a process of a session that lives on could
 * print for ever. */
#define LEFT_MOST ((size_t)1 << 20)

/* The kernel tells nobody that a terminal's last byte was read. */
#define END_WAIT_LEAST_MS 50
#define END_WAIT_IDLE_MS  1000 /* while nobody reads */
#define END_WAIT_MOST_MS  60000

/* Nor does it tell that nsrun has come to the foreground: a shell continues those alone that were stopped.
 */
#define FOREGROUND_MS 250

/* ------------------------------------------------------------- the two ends */

static int find_terminal_of(const int *fds, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (isatty(fds[i]))
                        return fds[i];
        return -1;
}

static int caller_terminal(void) {
        return find_terminal_of((const int[]){0, 1, 2}, 3);
}

/* The same file by a description of nsrun's own, or else a copy of the descriptor.  A plain file's position
 * is the caller's, and no read or write of one waits. */
static int open_own(int fd, int mode, int *ret) {
        char path[32];
        struct stat st;
        int r = sys_fstat(fd, &st);

        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        *ret = r >= 0 && (S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode))
                       ? sys_open(AT_FDCWD, path, mode | O_NONBLOCK | O_NOCTTY, 0)
                       : -EBADF;
        if (*ret >= 0)
                return 0;
        *ret = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        return *ret < 0 ? -errno : 0;
}

static bool is_controlling(int fd) {
        return tcgetsid(fd) == getsid(0);
}

static int open_streams(struct pty *p) {
        bool is_all = !p->is_for_asking;
        int to = is_all || is_controlling(1) ? 1 : is_controlling(2) ? 2 : 0, r = 0;

        for (int fd = 0; fd <= 2; fd++)
                p->stdio[fd] = is_all || is_controlling(fd) ? p->slave : -1;
        if (is_all || is_controlling(0))
                r = open_own(0, O_RDONLY, &p->input);
        else
                p->has_input_ended = true;
        return r < 0 ? r : open_own(to, O_WRONLY, &p->output);
}

static int open_ends(struct pty *p) {
        int number = 0, unlocked = 0, r;

        r = p->master = sys_open(AT_FDCWD, "/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK, 0);
        if (r >= 0)
                r = sys_ioctl(p->master, TIOCSPTLCK, &unlocked);
        if (r >= 0)
                r = sys_ioctl(p->master, TIOCGPTN, &number);
        (void)snprintf(p->path, sizeof(p->path), "/dev/pts/%d", number);
        if (r >= 0)
                r = p->slave = sys_open(AT_FDCWD, p->path, O_RDWR | O_NOCTTY, 0);
        return r < 0 ? r : 0;
}

/* Where nobody could continue it, nsrun isn't stopped; it then never reads. */
static bool await_foreground(int fd) {
        for (pid_t group; (group = tcgetpgrp(fd)) >= 0 && group != getpgrp();) {
                if (getsid(getppid()) != getsid(0))
                        return false;
                (void)sys_kill(0, SIGTTIN);
        }
        return true;
}

static int pty_prepare(struct pty *p) {
        int fd = caller_terminal(), r;

        r = open_streams(p);
        if (r < 0)
                return r;
        p->has_terminal = !p->has_input_ended && isatty(0) && tcgetattr(0, &p->before) == 0;
        if (p->has_terminal && !p->is_for_asking && !await_foreground(0))
                p->has_input_ended = true;
        p->raw = p->before;
        cfmakeraw(&p->raw);
        /* In the background the modes are those of another job. */
        if (fd >= 0 && (!p->is_for_asking || tcgetpgrp(fd) == getpgrp())) {
                struct termios modes;

                if (tcgetattr(fd, &modes) == 0)
                        (void)tcsetattr(p->slave, TCSANOW, &modes);
        }
        pty_resize(p);
        return 0;
}

int pty_open(struct pty *p, struct nsrun_error *err) {
        int r = open_ends(p);

        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, "/dev/ptmx",
                                 "the command can't have a terminal of its own",
                                 r == -ENOSPC || r == -EIO ? "raise kernel.pty.max" : NULL);
        r = pty_prepare(p);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL,
                                 "the command's terminal can't be connected with standard input and output",
                                 NULL);
        return 0;
}

int pty_open_for_asking(struct pty *p, struct nsrun_error *err) {
        if (p->slave >= 0 || (!is_controlling(0) && !is_controlling(1) && !is_controlling(2)))
                return 0;
        p->is_for_asking = true;
        return pty_open(p, err);
}

void pty_resize(struct pty *p) {
        struct winsize size = {.ws_row = 24, .ws_col = 80};
        int fd = caller_terminal();

        if (fd >= 0)
                (void)sys_ioctl(fd, TIOCGWINSZ, &size);
        if (fd >= 0 || !p->is_active)
                (void)sys_ioctl(p->master, TIOCSWINSZ, &size);
}

/* -------------------------------------------------------- the caller's terminal */

/* ------------------------------------------------------- a terminal's late answers */

#define ANSWERS_WAIT_MS 500

/* An answer that is looked for in what comes, a byte at a time. */
struct awaited {
        char text[24]; /* "ESC [ ROW ; COLUMN R" */
        size_t n, at;
};

static bool is_answered(struct awaited *a, const char *bytes, size_t n) {
        for (size_t i = 0; i < n && a->at < a->n; i++) {
                if (bytes[i] != a->text[a->at])
                        a->at = 0;
                a->at += bytes[i] == a->text[a->at];
        }
        return a->at == a->n;
}

/* Asks where the cursor is, having put it somewhere: what a terminal was asked before is answered before.
 * The place is one of the screen's, by lot, so that no answer to a question of the command's is taken for
 * this one's. */
static void ask_for_place(const struct pty *p, struct awaited *ret) {
        struct winsize size = {0};
        unsigned char lot[2] = {0};
        char question[48];
        unsigned row, column;

        (void)sys_ioctl(p->output, TIOCGWINSZ, &size);
        (void)getrandom(lot, sizeof(lot), GRND_NONBLOCK);
        row = 1 + lot[0] % (size.ws_row > 0 ? size.ws_row : 24U);
        column = 1 + lot[1] % (size.ws_col > 0 ? size.ws_col : 80U);
        (void)snprintf(question, sizeof(question), "\0337\033[%u;%uH\033[6n\0338", row, column);
        (void)write_waiting(p->output, question, strlen(question), -1);
        ret->n = (size_t)snprintf(ret->text, sizeof(ret->text), "\033[%u;%uR", row, column);
        ret->at = 0;
}

/* Takes what the terminal has to say to the command's questions, which the shell would read as typed. */
static void take_answers(const struct pty *p) {
        uint64_t end = sys_now_ms() + ANSWERS_WAIT_MS;
        struct awaited place;
        bool is_done = false;

        ask_for_place(p, &place);
        while (!is_done) {
                struct pollfd ready = {.fd = p->input, .events = POLLIN};
                int64_t left = (int64_t)(end - sys_now_ms());
                char bytes[512];
                ssize_t n;

                if (left <= 0 || sys_poll(&ready, 1, (int)left) == 0)
                        return;
                n = sys_read(p->input, bytes, sizeof(bytes));
                if (n <= 0 && n != -EAGAIN && n != -EINTR)
                        return;
                is_done = n > 0 && is_answered(&place, bytes, (size_t)n);
        }
}

/* Sees nsrun's end.  In a session of its own it gets no signal that is meant for nsrun's process group, and
 * may set the terminal's modes although it isn't in the foreground: only where nobody else has set others
 * meanwhile, as an interactive shell does. */
static _Noreturn void watch_nsrun(const struct pty *p, int end) {
        int keep[] = {end, p->input, isatty(p->output) ? p->output : -1};
        struct nsrun_error ignored = {0};
        struct termios now;
        char byte = '\0';

        (void)setsid();
        for (int fd = 0; fd <= 2; fd++)
                (void)close(fd);
        (void)harden_descriptors(keep, ARRAY_SIZE(keep), &ignored);
        while (sys_read(end, &byte, 1) == -EINTR)
                ;
        /* nsrun ends it by a byte, else it is dead. */
        if (byte == 'e')
                _exit(0);
        if (p->is_raw && tcgetattr(p->input, &now) == 0 && standard_same_modes(&now, &p->raw))
                (void)tcsetattr(p->input, TCSAFLUSH, &p->before);
        if (isatty(p->output))
                (void)write_waiting(p->output, screen_sequence(), strlen(screen_sequence()), -1);
        _exit(0);
}

static void begin_watch(struct pty *p) {
        int ends[2];

        if (sys_pipe(ends) < 0)
                return;
        p->watcher = fork();
        if (p->watcher == 0) {
                (void)close(ends[1]);
                watch_nsrun(p, ends[0]);
        }
        (void)close(ends[0]);
        p->watched = ends[1];
        if (p->watcher < 0)
                p->watcher = 0;
}

static void end_watch(struct pty *p) {
        if (p->watcher > 0) {
                (void)sys_write(p->watched, "e", 1);
                while (waitpid(p->watcher, NULL, 0) < 0 && errno == EINTR)
                        ;
        }
        p->watcher = 0;
        close_fdp(&p->watched);
}

void pty_take_terminal(struct pty *p) {
        p->is_active = true;
        if (!p->has_terminal || p->has_input_ended)
                return;
        /* The command goes on in the background, and nothing is read for it there. */
        if (p->is_for_asking && tcgetpgrp(p->input) != getpgrp())
                return;
        if (p->is_for_asking && !p->is_raw && tcgetattr(p->input, &p->before) == 0) {
                p->raw = p->before;
                cfmakeraw(&p->raw);
        }
        if (!await_foreground(p->input)) {
                p->has_input_ended = true;
                return;
        }
        pty_resize(p);
        p->is_raw = true;
        if (p->watcher == 0)
                begin_watch(p);
        (void)tcsetattr(p->input, TCSADRAIN, &p->raw);
}

void pty_leave_terminal(struct pty *p) {
        bool has_screen = p->output >= 0 && isatty(p->output), asks = has_screen && p->screen.asks;
        const char *sequence;
        pid_t group;

        if (!p->is_raw)
                return;
        sequence = has_screen ? screen_reset(&p->screen) : "";
        (void)write_waiting(p->output, sequence, strlen(sequence), -1);
        p->screen.asks = false;
        group = tcgetpgrp(p->input);
        /* In the background the modes are another job's.  A terminal's answers to a program's questions are
         * nothing for the shell that reads next. */
        if (asks && group == getpgrp())
                take_answers(p);
        if (group < 0 || group == getpgrp())
                (void)tcsetattr(p->input, TCSAFLUSH, &p->before);
        p->is_raw = false;
        end_watch(p);
}

/* --------------------------------------------------------------- passing on */

static bool pty_is_drained(const struct pty_buffer *b) {
        return b->from == b->to;
}

struct pty_events pty_wanted(const struct pty *p) {
        bool types = !pty_is_drained(&p->typed), prints = !pty_is_drained(&p->printed);

        /* What is printed shows a person that the command runs, who then types: by then the terminal is the
         * command's, whose echo may be off. */
        return (struct pty_events){
                .input = p->is_active && !p->has_input_ended && !types && !pty_waits_behind(p),
                .output = prints,
                .master = (short)((types ? POLLOUT : 0) | (p->is_active && !prints ? POLLIN : 0))};
}

/* 1: there is something in it; 0: the end; -errno. */
static int pty_fill(struct pty_buffer *b, int fd) {
        ssize_t n = sys_read(fd, b->bytes, sizeof(b->bytes));

        b->from = 0;
        b->to = n > 0 ? (size_t)n : 0;
        return n > 0 ? 1 : (int)n;
}

static int pty_put(struct pty_buffer *b, int fd) {
        ssize_t n = sys_write(fd, b->bytes + b->from, b->to - b->from);

        if (n > 0)
                b->from += (size_t)n;
        return n < 0 ? (int)n : 0;
}

static bool is_passing(int r) {
        return r == -EAGAIN || r == -EINTR;
}

static void read_printed(struct pty *p) {
        if (pty_fill(&p->printed, p->master) > 0 && p->has_output_ended)
                p->printed.from = p->printed.to;
}

/* The end of a file that is typed is what a person would type for it.  A program that takes each key for
 * itself and goes on gets it ever more rarely: to it the key may mean something else. */
static void type_end(struct pty *p) {
        struct termios modes;

        if (tcgetattr(p->slave, &modes) < 0 || modes.c_cc[VEOF] == _POSIX_VDISABLE)
                return;
        p->typed = (struct pty_buffer){.from = p->is_shell && !strchr("\r\n", p->last_typed) ? 0 : 1,
                                       .bytes = {'\n', (char)modes.c_cc[VEOF]},
                                       .to = 2};
        p->last_typed = '\0';
        if (modes.c_lflag & ICANON)
                p->end_wait_ms = END_WAIT_LEAST_MS;
        else if (p->end_wait_ms < END_WAIT_MOST_MS)
                p->end_wait_ms *= 2;
}

bool pty_waits_behind(const struct pty *p) {
        return p->is_for_asking && p->is_active && p->has_terminal && !p->has_input_ended && !p->is_raw;
}

int pty_patience(const struct pty *p) {
        int64_t left = (int64_t)(p->end_due_ms - sys_now_ms());

        if (pty_waits_behind(p))
                return FOREGROUND_MS;
        return !p->keeps_end ? -1 : left > 0 ? (int)left : 0;
}

void pty_keep_end(struct pty *p) {
        struct pollfd unread = {.fd = p->slave, .events = POLLIN};

        if (pty_patience(p) != 0)
                return;
        if (pty_is_drained(&p->typed) && sys_poll(&unread, 1, 0) == 0)
                type_end(p);
        else if (p->end_wait_ms < END_WAIT_IDLE_MS)
                p->end_wait_ms *= 2;
        p->end_due_ms = sys_now_ms() + (unsigned)p->end_wait_ms;
}

void pty_end_input(struct pty *p) {
        p->has_input_ended = p->keeps_end = true;
        p->end_wait_ms = END_WAIT_LEAST_MS;
        pty_keep_end(p);
}

static bool is_enough(struct pty *p) {
        for (size_t i = p->typed.from; i < p->typed.to && p->has_terminal; i++) {
                if (p->typed.bytes[i] != PTY_ENOUGH)
                        p->n_enough = 0;
                else if (p->n_enough == 0 || sys_now_ms() - p->enough_ms > 1000)
                        p->n_enough = 1, p->enough_ms = sys_now_ms();
                else if (++p->n_enough == 3)
                        return true;
        }
        return false;
}

int pty_take_input(struct pty *p) {
        int r = pty_fill(&p->typed, p->input);

        if (r > 0) {
                p->last_typed = p->typed.bytes[p->typed.to - 1];
                return is_enough(p) ? SIGKILL : 0;
        }
        if (is_passing(r))
                return 0;
        /* The caller's terminal is gone. */
        if (p->has_terminal) {
                p->has_input_ended = true;
                return SIGHUP;
        }
        pty_end_input(p);
        return 0;
}

int pty_put_output(struct pty *p) {
        size_t from = p->printed.from;
        int r = pty_put(&p->printed, p->output);

        /* Not of what is still to be written: a question may come before. */
        screen_watch(&p->screen, p->printed.bytes + from, p->printed.from - from);
        if (r >= 0 || is_passing(r))
                return 0;
        p->printed.from = p->printed.to;
        p->has_output_ended = true;
        return SIGHUP;
}

void pty_exchange(struct pty *p, short revents) {
        if (revents & POLLIN)
                read_printed(p);
        if (revents & POLLOUT)
                (void)pty_put(&p->typed, p->master);
}

void pty_drain(struct pty *p) {
        size_t n = 0;

        do {
                if (!pty_is_drained(&p->printed) && !p->has_output_ended) {
                        screen_watch(&p->screen, p->printed.bytes + p->printed.from,
                                     p->printed.to - p->printed.from);
                        (void)write_waiting(p->output, p->printed.bytes + p->printed.from,
                                            p->printed.to - p->printed.from, -1);
                }
                p->printed.from = p->printed.to = 0;
                read_printed(p);
                n += p->printed.to;
        } while (!pty_is_drained(&p->printed) && n < LEFT_MOST);
}

void pty_finish(struct pty *p) {
        pty_drain(p);
        pty_leave_terminal(p);
}

void pty_close(struct pty *p) {
        pty_leave_terminal(p);
        close_fdp(&p->master);
        close_fdp(&p->slave);
        close_fdp(&p->input);
        close_fdp(&p->output);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun top`: ps again and again, who uses most of the processors first. */
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <time.h>

#include "base/file.h"
#include "base/sys.h"
#include "option.h"
#include "ps_row.h"
#include "run/standard.h"
#include "session_ps.h"

#define DELAY_MOST 3600
/* A terminal's other screen, without a cursor and with lines that are cut at its edge; and back. */
#define SCREEN_BEGIN "\033[?1049h\033[?25l\033[?7l"
#define SCREEN_END   "\033[?7h\033[?25h\033[?1049l"

struct top_cli {
        int delay;
        uint64_t count; /* 0: no end */
        bool is_batch;
};

static int apply_delay(void *target, const struct option_spec *spec, const char *value,
                       struct nsrun_error *err) {
        struct top_cli *cli = target;
        int r = option_seconds(&cli->delay, spec, value, err);

        if (r >= 0 && (cli->delay < 1 || cli->delay > DELAY_MOST))
                return option_refuse(spec, value, "not 1 to 3600 seconds", NULL, err);
        return r;
}

static int apply_count(void *target, const struct option_spec *spec, const char *value,
                       struct nsrun_error *err) {
        struct top_cli *cli = target;

        if (str_parse_number(value, false, &cli->count) < 0 || cli->count == 0)
                return option_refuse(spec, value, "not a number of looks", NULL, err);
        return 0;
}

static int apply_batch(void *target, nsrun_unused const struct option_spec *spec,
                       nsrun_unused const char *value, nsrun_unused struct nsrun_error *err) {
        struct top_cli *cli = target;

        cli->is_batch = true;
        return 0;
}

const struct option_spec top_options[] = {
        {"delay", 'd', "SECONDS", OPTION_COMPLETES_NOTHING, "Output",
         "look again after SECONDS, 1 to 3600; the default is 2", apply_delay},
        {"count", 'n', "N", OPTION_COMPLETES_NOTHING, "Output", "end after N looks", apply_count},
        {"batch", 'b', NULL, OPTION_COMPLETES_NOTHING, "Output",
         "print each look below the last one, also where there is no terminal", apply_batch},
};
const size_t n_top_options = ARRAY_SIZE(top_options);

/* ------------------------------------------------------------------------ a look */

struct top_row {
        struct ps_row row;
        uint64_t share; /* of a processor, in thousandths */
};

struct look {
        struct sandbox_process *list;
        struct top_row *rows;
        size_t n;
        uint64_t at; /* ms */
};

static void look_clear(struct look *look) {
        for (size_t i = 0; look->rows && i < look->n; i++)
                ps_row_clear(&look->rows[i].row);
        free(look->rows);
        sandboxes_free(look->list, look->n);
        *look = (struct look){.n = 0};
}

static uint64_t top_now(void) {
        struct timespec t = {0};

        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static const struct ps_row *find_earlier(const struct look *earlier, const struct sandbox_process *p) {
        for (size_t i = 0; i < earlier->n; i++) {
                const struct sandbox_process *q = earlier->rows[i].row.process;

                if (q->supervisor == p->supervisor && q->init == p->init && q->start == p->start)
                        return &earlier->rows[i].row;
        }
        return NULL;
}

/* Since the last look, or where that hadn't the sandbox since its start. */
static uint64_t share_of(const struct sandbox_process *p, const struct ps_row *before, uint64_t passed) {
        uint64_t used = p->cpu_ms, ms = (p->age > 0 ? p->age : 1) * 1000;

        if (before) {
                used = p->cpu_ms > before->process->cpu_ms ? p->cpu_ms - before->process->cpu_ms : 0;
                ms = passed > 0 ? passed : 1;
        }
        return used * 1000 / ms;
}

static int compare_shares(const void *a, const void *b) {
        const struct top_row *x = a, *y = b;
        const struct sandbox_process *p = x->row.process, *q = y->row.process;

        if (x->share != y->share)
                return x->share > y->share ? -1 : 1;
        if (p->cpu_ms != q->cpu_ms)
                return p->cpu_ms > q->cpu_ms ? -1 : 1;
        return p < q ? -1 : p > q;
}

static int look_take(const struct look *earlier, struct look *ret, struct nsrun_error *err) {
        _cleanup_(known_sessions_free) struct known_sessions known = {0};
        _cleanup_(look_clear) struct look look = {.at = top_now()};
        int r = sandboxes_list(&look.list, &look.n, err);

        if (r >= 0)
                r = known_sessions_read(&known, err);
        if (r < 0)
                return r;
        look.rows = calloc(look.n + 1, sizeof(*look.rows));
        if (!look.rows)
                return error_oom(err);
        for (size_t i = 0; i < look.n; i++) {
                const struct ps_row *before = find_earlier(earlier, &look.list[i]);

                look.rows[i].row.process = &look.list[i];
                look.rows[i].share = share_of(&look.list[i], before, look.at - earlier->at);
                if (ps_row_fill(&look.rows[i].row, &known, before) < 0)
                        return error_oom(err);
        }
        qsort(look.rows, look.n, sizeof(*look.rows), compare_shares);
        *ret = look;
        look = (struct look){.n = 0};
        return 0;
}

/* -------------------------------------------------------------------- and printed */

static int add_top_row(struct strbuf *b, const struct top_row *top, const char *end) {
        const struct sandbox_process *p = top->row.process;
        char age[SHORT_SIZE], memory[SHORT_SIZE];
        _cleanup_free_ char *words = ps_row_words(&top->row);

        if (!words)
                return -ENOMEM;
        strbuf_addf(b, "%-12s %-7s %5s %4ju.%ju %4ju.%ju %5zu %6s %-5s  %s%s\n", top->row.id, top->row.kind,
                    short_age(p->age, age), (uintmax_t)top->share / 10, (uintmax_t)top->share % 10,
                    (uintmax_t)p->cpu_ms / 1000, (uintmax_t)p->cpu_ms % 1000 / 100, p->n_processes,
                    short_size(p->memory, false, memory), top->row.net ? top->row.net : "-", words, end);
        return 0;
}

/* `end`: what stands before each line's end. */
static int add_look(struct strbuf *b, const struct look *look, size_t n_lines, const char *end) {
        uint64_t share = 0, memory = 0;
        char size[SHORT_SIZE];

        for (size_t i = 0; i < look->n; i++) {
                share += look->rows[i].share;
                memory += look->list[i].memory;
        }
        strbuf_addf(b, "nsrun top: %zu sandbox%s, %ju.%ju%% of a processor, %s%s\n%s\n", look->n,
                    look->n == 1 ? "" : "es", (uintmax_t)share / 10, (uintmax_t)share % 10,
                    short_size(memory, false, size), end, end);
        strbuf_addf(b, "%-12s %-7s %5s %6s %6s %5s %6s %-5s  %s%s\n", "ID", "KIND", "AGE", "%CPU", "CPU",
                    "PROCS", "MEMORY", "NET", PS_ROW_HEADS, end);
        for (size_t i = 0; i < look->n && i + 3 < n_lines; i++)
                if (add_top_row(b, &look->rows[i], end) < 0)
                        return -ENOMEM;
        return 0;
}

static int top_print(struct strbuf *b, struct nsrun_error *err) {
        _cleanup_free_ char *text = strbuf_finish(b);
        int r = text ? write_full(STDOUT_FILENO, text, strlen(text)) : -ENOMEM;

        return r == -ENOMEM ? error_oom(err)
               : r < 0 ? error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "standard output can't be written",
                                   NULL)
                       : 0;
}

static int print_look(const struct look *look, bool is_first, struct nsrun_error *err) {
        _cleanup_strbuf_ struct strbuf b = {0};

        strbuf_add(&b, is_first ? "" : "\n");
        return add_look(&b, look, SIZE_MAX, "") < 0 ? error_oom(err) : top_print(&b, err);
}

/* ------------------------------------------------------------------- the terminal */

static int draw_look(const struct look *look, struct nsrun_error *err) {
        _cleanup_strbuf_ struct strbuf b = {0};
        struct winsize size = {0};

        (void)sys_ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
        strbuf_add(&b, "\033[H");
        /* The last line stays empty: its newline would move all the others up. */
        if (add_look(&b, look, size.ws_row > 4 ? size.ws_row - 1U : 4, "\033[K") < 0)
                return error_oom(err);
        strbuf_add(&b, "\033[J");
        return top_print(&b, err);
}

struct top {
        struct standard_state standard;
        struct termios modes;
        sigset_t mask; /* the caller's */
        int signal_fd;
        int ended_by; /* a signal; 0: q, or the last look */
};

static void screen_begin(const struct top *top) {
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &top->modes);
        (void)write_full(STDOUT_FILENO, SCREEN_BEGIN, strlen(SCREEN_BEGIN));
}

static void screen_end(const struct top *top) {
        (void)write_full(STDOUT_FILENO, SCREEN_END, strlen(SCREEN_END));
        standard_restore(&top->standard);
}

static int top_begin(struct top *top, struct nsrun_error *err) {
        static const int taken[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH, SIGPIPE};
        sigset_t set;
        int r;

        standard_save(&top->standard);
        if (tcgetattr(STDIN_FILENO, &top->modes) < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, -errno, NULL, "the terminal has no modes",
                                 NULL);
        top->modes.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        top->modes.c_cc[VMIN] = 1;
        top->modes.c_cc[VTIME] = 0;
        (void)sigemptyset(&set);
        for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
                (void)sigaddset(&set, taken[i]);
        r = sys_sigmask(SIG_BLOCK, &set, &top->mask);
        if (r >= 0)
                r = top->signal_fd = sys_signalfd(&set);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "no signalfd",
                                 FILTER_HINT_FOR(r, "signalfd4"));
        screen_begin(top);
        return 0;
}

static void top_end(struct top *top) {
        screen_end(top);
        close_fdp(&top->signal_fd);
        (void)sys_sigmask(SIG_SETMASK, &top->mask, NULL);
}

static void top_take_signals(struct top *top) {
        struct signalfd_siginfo info;

        while (sys_read(top->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
                switch (info.ssi_signo) {
                case SIGTSTP:
                        screen_end(top);
                        (void)sys_kill(getpid(), SIGSTOP);
                        screen_begin(top);
                        break;
                case SIGCONT:
                        screen_begin(top);
                        break;
                case SIGWINCH:
                        break;
                default:
                        top->ended_by = (int)info.ssi_signo;
                }
}

/* Until the next look: what is left of the delay, or any key.  0: the end. */
static int top_wait(struct top *top, int delay_ms) {
        struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                               {.fd = top->signal_fd, .events = POLLIN}};
        char keys[64];
        ssize_t n = 0;
        int r = sys_poll(fds, ARRAY_SIZE(fds), delay_ms);

        if (r < 0)
                return r == -EINTR;
        if (fds[1].revents)
                top_take_signals(top);
        if (fds[0].revents && top->ended_by == 0) {
                n = sys_read(STDIN_FILENO, keys, sizeof(keys));
                /* A terminal that is gone can be read, and has nothing. */
                if (n <= 0)
                        return n == -EINTR || n == -EAGAIN;
        }
        for (ssize_t i = 0; i < n; i++)
                if (keys[i] == 'q' || keys[i] == 'Q' || keys[i] == 4)
                        return 0;
        return top->ended_by == 0;
}

static int top_run(const struct top_cli *cli, struct top *top, struct nsrun_error *err) {
        _cleanup_(look_clear) struct look earlier = {.at = 0};

        for (uint64_t i = 0;; i++) {
                _cleanup_(look_clear) struct look look = {.at = 0};
                int r = look_take(&earlier, &look, err);

                if (r >= 0)
                        r = top ? draw_look(&look, err) : print_look(&look, i == 0, err);
                if (r < 0)
                        return r;
                look_clear(&earlier);
                earlier = look;
                look = (struct look){.at = 0};
                if (cli->count > 0 && i + 1 == cli->count)
                        return 0;
                if (top && top_wait(top, cli->delay * 1000) == 0)
                        return 0;
                if (!top)
                        (void)sys_poll(NULL, 0, cli->delay * 1000);
        }
}

static int top_interactive(const struct top_cli *cli, int *ret_signal, struct nsrun_error *err) {
        struct top top = {.signal_fd = -EBADF};
        int r;

        if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-ENOTTY), NULL,
                                 "top is for a person at a terminal", "--batch prints to any output");
        r = top_begin(&top, err);
        if (r >= 0) {
                r = top_run(cli, &top, err);
                top_end(&top);
        }
        *ret_signal = top.ended_by;
        return r;
}

int top_main(const struct command *command, char **argv) {
        struct common_options common = {0};
        struct nsrun_error err = {0};
        struct top_cli cli = {.delay = 2};
        size_t first = 0;
        int r = option_parse(command, argv, (void *const[]){&cli, &common}, &first, &err), signal = 0;

        if (r == 0 && argv[first])
                r = option_usage_error(command, argv[first], "an argument too many", &err);
        if (r > 0)
                return help_answer(command, &common);
        if (r == 0)
                r = cli.is_batch ? top_run(&cli, NULL, &err) : top_interactive(&cli, &signal, &err);
        if (r < 0)
                return option_fail(&err);
        /* As whoever doesn't catch it. */
        if (signal > 0)
                (void)raise(signal);
        return option_close_stdout();
}

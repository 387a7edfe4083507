/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See plan_query.h. */
#include "plan_query.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include "base/file.h"
#include "base/str.h"
#include "base/sys.h"

/* The value of the signal: a word of its own, what is asked, and the descriptor of the one who asks. */
#define QUERY_MAGIC     0x6e730000
#define QUERY_MASK      0x7fff0000
#define QUERY_KINDS     4
#define QUERY_FD_MOST   (0x10000 / QUERY_KINDS)
#define QUERY_FILE      "nsrun-question"
#define QUERY_FILE_LINK "/memfd:" QUERY_FILE " (deleted)"
#define ANSWER_MOST     (16U << 20)

bool query_is(const struct signalfd_siginfo *info) {
        return info->ssi_signo == SIGURG && info->ssi_code == SI_QUEUE && info->ssi_pid != 0 &&
               (info->ssi_int & QUERY_MASK) == QUERY_MAGIC;
}

/* The file of the one who asks: of that name alone, so that no other process's file is written to, which by
 * now may have the number. */
static int open_question(const struct signalfd_siginfo *info) {
        char path[64], text[sizeof(QUERY_FILE_LINK) + 1] = "";

        (void)snprintf(path, sizeof(path), "/proc/%u/fd/%d", info->ssi_pid,
                       (info->ssi_int & 0xffff) / QUERY_KINDS);
        if (sys_readlinkat(AT_FDCWD, path, text, sizeof(text) - 1) < 0 || !streq(text, QUERY_FILE_LINK))
                return -ENOENT;
        return sys_open(AT_FDCWD, path, O_RDWR, 0);
}

static void query_add_line(struct strbuf *b, const char *name, const char *value) {
        _cleanup_free_ char *visible = value ? str_visible(value) : NULL;

        if (!visible)
                return;
        strbuf_add(b, name);
        strbuf_add(b, " ");
        strbuf_add(b, visible);
        strbuf_add(b, "\n");
}

void query_answer(const struct signalfd_siginfo *info, const struct nsrun_plan *plan,
                  char *const *degraded) {
        static const char *const nets[] = {
                [POLICY_NET_HOST] = "host", [POLICY_NET_NONE] = "none", [POLICY_NET_ALLOW] = "allow"};
        _cleanup_close_ int fd = open_question(info);
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_free_ char *text = NULL, *formatted = NULL;
        int kind = info->ssi_int % QUERY_KINDS;

        if (fd < 0)
                return;
        query_add_line(&b, "project", plan->project);
        query_add_line(&b, "net", (size_t)plan->net < ARRAY_SIZE(nets) ? nets[plan->net] : NULL);
        query_add_line(&b, "session", plan->join ? plan->join->folder.id : NULL);
        for (char *const *entry = degraded; entry && *entry; entry++)
                query_add_line(&b, "degraded", *entry);
        if (kind != QUERY_FACTS &&
            nsrun_plan_format(plan, kind == QUERY_JSON ? NSRUN_FORMAT_JSON : NSRUN_FORMAT_TEXT, &formatted,
                              NULL) >= 0) {
                strbuf_add(&b, "\n");
                strbuf_add(&b, formatted);
        }
        text = strbuf_finish(&b);
        if (text)
                (void)write_full(fd, text, strlen(text));
        (void)sys_kill((pid_t)info->ssi_pid, SIGURG);
}

int query_ask(int pidfd, pid_t pid, enum query what, int ms, char **ret) {
        struct timespec patience = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
        _cleanup_close_ int fd = sys_memfd(QUERY_FILE);
        sigset_t urgent, own;
        siginfo_t info;
        int r;

        if (fd < 0 || fd >= QUERY_FD_MOST)
                return fd < 0 ? fd : -EMFILE;
        (void)sigemptyset(&urgent);
        (void)sigaddset(&urgent, SIGURG);
        (void)sigprocmask(SIG_BLOCK, &urgent, &own);
        /* pidfd_send_signal(2) can carry a value, too; but sigqueue(3) is what every libc has.  The number
         * is still that process's: a zombie keeps it, and who is no zombie is asked. */
        r = sys_pidfd_send_signal(pidfd, 0);
        if (r >= 0 &&
            sigqueue(pid, SIGURG,
                     (union sigval){.sival_int = QUERY_MAGIC | (fd * QUERY_KINDS + (int)what)}) < 0)
                r = -errno;
        while (r >= 0) {
                r = sigtimedwait(&urgent, &info, &patience);
                if (r < 0)
                        r = errno == EAGAIN ? -ETIMEDOUT : errno == EINTR ? 0 : -errno;
                else if (info.si_pid == pid)
                        break;
        }
        (void)sigprocmask(SIG_SETMASK, &own, NULL);
        if (r < 0)
                return r;
        if (lseek(fd, 0, SEEK_SET) < 0)
                return -errno;
        return read_small_fd(fd, ANSWER_MOST, ret);
}

char *query_fact(const char *facts, const char *name, const char **at) {
        const char *line = at && *at ? *at : facts;
        size_t n = strlen(name);

        while (line && *line && *line != '\n') {
                const char *end = strchr(line, '\n');

                if (!end)
                        return NULL;
                if (strncmp(line, name, n) == 0 && line[n] == ' ') {
                        if (at)
                                *at = end + 1;
                        return strndup(line + n + 1, (size_t)(end - line) - n - 1);
                }
                line = end + 1;
        }
        return NULL;
}

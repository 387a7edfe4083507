/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints a plan as a bubblewrap command on one line, for bash: synthetic files and the seccomp
 * filter come through process substitutions.  It needs bubblewrap 0.11 where the plan has overlays,
 * else 0.8.  What bubblewrap has no option for (bounds on the root, devpts options, limits,
 * Landlock) is left out. */
#include "base/path.h"
#include "print.h"

/* The first descriptor number for process substitutions.  bash itself uses 10 for a script that it
 * reads from a file. */
#define FIRST_FD 11

struct printing {
        struct strbuf words;
        struct strbuf redirections;
        unsigned next_fd;
        bool has_proc; /* /proc was printed: bubblewrap covers /proc/sys and its like there by itself */
};

/* Adds a word in bash's $'…' quotes, for a word that would break the line or control the terminal
 * that shows it. */
static void add_escaped(struct strbuf *b, const char *word) {
        strbuf_add(b, " $'");
        for (; *word; word++)
                if (*word == '\n' || *word == '\r')
                        strbuf_add(b, *word == '\n' ? "\\n" : "\\r");
                else if (*word < ' ' ||
                         *word > '~') /* true of bytes from 0x80 on whether char is signed or not */
                        strbuf_addf(b, "\\%03o", (unsigned char)*word);
                else
                        strbuf_addf(b, "%s%c", *word == '\'' || *word == '\\' ? "\\" : "", *word);
        strbuf_add(b, "'");
}

static void add_word(struct strbuf *b, const char *word) {
        _cleanup_free_ char *quoted = NULL, *visible = str_visible(word);

        if (visible && !streq(visible, word)) {
                add_escaped(b, word);
                return;
        }
        quoted = visible ? str_shell_quote(word) : NULL;
        if (!quoted) {
                b->has_failed = true;
                return;
        }
        strbuf_addf(b, " %s", quoted);
}

static void add_words(struct strbuf *b, const char *const *words) {
        for (; *words; words++)
                add_word(b, *words);
}

#define ADD(p, ...) add_words(&(p)->words, (const char *const[]){__VA_ARGS__, NULL})

/* Adds "--perms 1777" in front of an option whose mode is not the one that bubblewrap gives by
 * itself. */
static void add_mode(struct printing *p, mode_t mode) {
        char octal[8];

        if (mode == 0755)
                return;
        (void)snprintf(octal, sizeof(octal), "%04o", (unsigned)mode);
        ADD(p, "--perms", octal);
}

static void add_file(struct printing *p, const struct plan_op *op) {
        char fd[16];

        (void)snprintf(fd, sizeof(fd), "%u", p->next_fd++);
        add_mode(p, op->mode);
        ADD(p, "--ro-bind-data", fd, op->target);
        strbuf_addf(&p->redirections, " %s< <(printf %%s", fd);
        add_word(&p->redirections, op->text);
        strbuf_add(&p->redirections, ")");
}

static void print_bwrap_add_tmpfs(struct printing *p, const struct plan_op *op) {
        char size[24];

        (void)snprintf(size, sizeof(size), "%ju", (uintmax_t)op->size);
        add_mode(p, op->mode);
        ADD(p, "--size", size, "--tmpfs", op->target);
}

static void print_bwrap_add_proc(struct printing *p, const struct plan_op *op) {
        if (op->proc == POLICY_PROC_BIND)
                ADD(p, "--ro-bind", "/proc", op->target);
        else if (op->proc != POLICY_PROC_NONE)
                ADD(p, "--proc", op->target);
        p->has_proc = op->proc != POLICY_PROC_BIND && op->proc != POLICY_PROC_NONE;
}

static void print_bwrap_add_op(struct printing *p, const struct plan_op *op) {
        switch (op->kind) {
        case PLAN_DIR:
                add_mode(p, op->mode);
                ADD(p, "--dir", op->target);
                return;
        case PLAN_FILE:
                add_file(p, op);
                return;
        case PLAN_SYMLINK:
                ADD(p, "--symlink", op->text, op->target);
                return;
        case PLAN_BIND:
                /* Without the command's own versions what these stand for is read-only. */
                if (op->is_in_rundir) {
                        if (!streq(op->target, PLAN_PRIVATE))
                                print_bwrap_add_tmpfs(p, op);
                        return;
                }
                /* What is kept aside of a folder that the host hasn't. */
                if (op->can_be_empty)
                        return;
                ADD(p,
                    op->is_device      ? "--dev-bind"
                    : op->is_read_only ? "--ro-bind"
                                       : "--bind",
                    op->source, op->target);
                return;
        case PLAN_OVERLAY:
                ADD(p, "--overlay-src", op->source, "--tmp-overlay", op->target);
                return;
        case PLAN_TMPFS:
                print_bwrap_add_tmpfs(p, op);
                return;
        case PLAN_PROC:
                print_bwrap_add_proc(p, op);
                return;
        case PLAN_HIDE:
                if (op->is_directory)
                        ADD(p, "--perms", "0555", "--tmpfs", op->target, "--remount-ro", op->target);
                else
                        add_file(p, &(const struct plan_op){.target = op->target, .text = (char[]){""}});
                return;
        case PLAN_COVER:
                if (!p->has_proc)
                        ADD(p, "--ro-bind-try", op->target, op->target);
                return;
        default: /* bubblewrap makes none */
                return;
        }
}

/* Prints the operations.  bubblewrap's --dev stands for all operations of /dev. */
static void add_ops(struct printing *p, const struct nsrun_plan *plan) {
        bool has_dev = false;

        for (size_t i = 0; i < plan->n_ops; i++) {
                const struct plan_op *op = &plan->ops[i];

                /* bubblewrap has no run directories: the scratch folder is printed as a tmpfs, and
                 * at /tmp alone. */
                if (plan->rundir && path_is_beneath(op->target, plan->rundir))
                        continue;
                if (!path_is_beneath(op->target, "/dev")) {
                        print_bwrap_add_op(p, op);
                        continue;
                }
                if (!has_dev)
                        ADD(p, "--dev", "/dev");
                has_dev = true;
                if (op->kind == PLAN_TMPFS && !streq(op->target, "/dev"))
                        print_bwrap_add_tmpfs(p, op);
        }
        for (size_t i = 0; i < plan->n_ops; i++)
                if (plan->ops[i].kind == PLAN_TMPFS && plan->ops[i].is_read_only)
                        ADD(p, "--remount-ro", plan->ops[i].target);
        if (has_dev)
                ADD(p, "--remount-ro", "/dev");
        ADD(p, "--remount-ro", "/");
}

static void print_bwrap_add_environment(struct printing *p, char *const *env) {
        ADD(p, "--clearenv");
        STRV_FOREACH (entry, env) {
                const char *equals = strchr(*entry, '=');
                _cleanup_free_ char *name = equals ? strndup(*entry, (size_t)(equals - *entry)) : NULL;

                if (name)
                        ADD(p, "--setenv", name, equals + 1);
                else
                        p->words.has_failed = true;
        }
}

/* A filter is too long for a line, so the line calls `nsrun seccomp` to compile it.  If that fails,
 * bubblewrap reads an empty filter and refuses to go on. */
static void add_seccomp(struct printing *p, const struct nsrun_plan *plan) {
        char fd[16];

        if (!plan->seccomp.code)
                return;
        (void)snprintf(fd, sizeof(fd), "%u", p->next_fd++);
        ADD(p, "--seccomp", fd);
        strbuf_addf(&p->redirections, " %s< <(nsrun seccomp compile", fd);
        add_word(&p->redirections, plan->seccomp_name);
        strbuf_add(&p->redirections, ")");
}

/* Without these bubblewrap keeps the caller's ids. */
static void add_ids(struct printing *p, const struct nsrun_plan *plan) {
        char id[16];

        (void)snprintf(id, sizeof(id), "%u", (unsigned)plan->uid);
        if (plan->uid != plan->host_uid)
                ADD(p, "--uid", id);
        (void)snprintf(id, sizeof(id), "%u", (unsigned)plan->gid);
        if (plan->gid != plan->host_gid)
                ADD(p, "--gid", id);
}

int plan_print_bwrap(const struct nsrun_plan *plan, char **ret, struct nsrun_error *err) {
        struct printing p = {.next_fd = FIRST_FD};
        _cleanup_free_ char *words = NULL, *redirections = NULL;

        if (plan->plain)
                return error_set(err, NSRUN_STAGE_USAGE, -EINVAL, NULL,
                                 "without a sandbox there is no bubblewrap command",
                                 "leave --no-sandbox out");
        if (plan->is_strict)
                return error_set(err, NSRUN_STAGE_USAGE, -EINVAL, NULL,
                                 "bubblewrap has nothing for --protect=strict", "leave it out");
        if (plan->net == POLICY_NET_ALLOW)
                return error_set(err, NSRUN_STAGE_USAGE, -EINVAL, NULL,
                                 "bubblewrap has nothing for --net=allow", "print it with --net=none");
        strbuf_add(&p.words,
                   "bwrap --unshare-user --unshare-ipc --unshare-pid --unshare-uts --unshare-cgroup-try");
        if (plan->net == POLICY_NET_NONE)
                ADD(&p, "--unshare-net");
        add_ids(&p, plan);
        ADD(&p, "--die-with-parent", "--cap-drop", "ALL");
        if (plan->new_session)
                ADD(&p, "--new-session");
        if (plan->hostname)
                ADD(&p, "--hostname", plan->hostname);
        add_ops(&p, plan);
        print_bwrap_add_environment(&p, plan->env);
        add_seccomp(&p, plan);
        ADD(&p, "--chdir", plan->cwd, "--");
        add_words(&p.words, (const char *const *)plan->argv);
        words = strbuf_finish(&p.words);
        redirections = strbuf_finish(&p.redirections);
        if (!words || !redirections || !(*ret = str_format("%s%s\n", words, redirections)))
                return error_oom(err);
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The monitor: launches the plan, tells --info-fd and --json-status-fd, waits, and exits
 * as the command did. */
#include "run.h"

#include <linux/capability.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/path.h"
#include "base/programs.h"
#include "boundary/harden.h"
#include "build.h"
#include "explain/denials.h"
#include "report.h"

#define EXIT_BWRAP 1

char *bwrap_arguments;
size_t bwrap_arguments_size;

struct monitor {
        const struct bwrap_config *config;
        const struct nsrun_plan *plan;
        struct launch launch;
        pid_t child;             /* the launch's pid as the caller sees it */
        struct denials *denials; /* --report's; or NULL */
        int listener;            /* that of the command's policy; or -EBADF */
        int go_fd;               /* the write end of a pipe: closing it lets the child begin */
        bool has_started, has_exited;
        bool has_others; /* the command left processes behind */
        int status;      /* wait(2)'s */
};

static int fail_run(const struct bwrap_config *config, const char *message) {
        bwrap_report(config, BWRAP_ERROR, message ? message : "Out of memory");
        return EXIT_BWRAP;
}

static int fail_errno(const struct bwrap_config *config, const char *what, int r) {
        char text[256];

        (void)snprintf(text, sizeof(text), "%s: %s", what, error_words(-r));
        return fail_run(config, text);
}

/* ------------------------------------------------------------------- status */

/* The namespaces that were asked for, as "key": inode. */
static void add_namespaces(struct strbuf *b, const struct monitor *m, const char *between) {
        static const struct {
                const char *file, *key;
                uint64_t flag;
        } all[] = {
                {"cgroup", "cgroup-namespace", CLONE_NEWCGROUP}, {"ipc", "ipc-namespace", CLONE_NEWIPC},
                {"mnt", "mnt-namespace", CLONE_NEWNS},           {"net", "net-namespace", CLONE_NEWNET},
                {"pid", "pid-namespace", CLONE_NEWPID},          {"uts", "uts-namespace", CLONE_NEWUTS},
        };

        for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
                char path[64];
                struct stat st;

                (void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", m->child, all[i].file);
                if ((m->plan->raw->namespaces & all[i].flag) && sys_stat(path, &st) >= 0)
                        strbuf_addf(b, ",%s\"%s\": %ju", between, all[i].key, (uintmax_t)st.st_ino);
        }
}

/* 0 or -errno; frees the text. */
static int write_text(int fd, char *text) {
        int r = text ? write_full(fd, text, strlen(text)) : -ENOMEM;

        free(text);
        return r;
}

/* 0, or EXIT_BWRAP after a message. */
static int bwrap_run_tell_started(const struct monitor *m) {
        struct strbuf info = {0}, status = {0};
        int r = 0;

        if (m->config->info_fd >= 0) {
                strbuf_addf(&info, "{\n    \"child-pid\": %d", m->child);
                add_namespaces(&info, m, "\n    ");
                strbuf_add(&info, "\n}\n");
                r = write_text(m->config->info_fd, strbuf_finish(&info));
                (void)sys_close(m->config->info_fd);
        }
        if (r < 0)
                return fail_errno(m->config, "Write to info_fd", r);
        if (m->config->json_status_fd >= 0) {
                strbuf_addf(&status, "{ \"child-pid\": %d", m->child);
                add_namespaces(&status, m, " ");
                strbuf_add(&status, " }\n");
                r = write_text(m->config->json_status_fd, strbuf_finish(&status));
        }
        return r < 0 ? fail_errno(m->config, "Write to json_status_fd", r) : 0;
}

static int exit_status(int status) {
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void tell_exited(const struct monitor *m) {
        char *text = NULL;

        if (m->config->json_status_fd >= 0 &&
            asprintf(&text, "{ \"exit-code\": %d }\n", exit_status(m->status)) >= 0)
                (void)write_text(m->config->json_status_fd, text);
}

/* The command has run: what can't be told of it is only a warning. */
static void tell_denied(struct monitor *m) {
        struct nsrun_error err = {0};

        if (m->denials && denials_write(m->denials, m->config->report_fd, &err) < 0)
                bwrap_report(m->config, BWRAP_WARNING, "Can't write to report fd");
}

static int begin_report(const struct bwrap_config *config, const struct nsrun_plan *plan,
                        struct denials **ret) {
        if (config->report_fd < 0 || !plan->seccomp.code)
                return 0;
        return denials_new(plan, ret) < 0 ? fail_run(config, NULL) : 0;
}

/* ------------------------------------------------------------------ waiting */

/* Answers the kernel's questions until there is a report. */
static int await_report(struct monitor *m) {
        for (;;) {
                struct pollfd fds[] = {{.fd = m->launch.report_fd, .events = POLLIN},
                                       {.fd = denials_fd(&m->launch, m->listener), .events = POLLIN}};
                int r = sys_poll(fds, ARRAY_SIZE(fds), -1);

                if (r < 0 && r != -EINTR)
                        return r;
                if (r > 0 && fds[1].revents)
                        denials_take(m->denials, &m->launch, &m->listener, fds[1].revents);
                if (r > 0 && fds[0].revents)
                        return 0;
        }
}

/* 0, or EXIT_BWRAP after a message.  The pipe ends with a direct command's exec, or with the reaper. */
static int read_reports(struct monitor *m) {
        for (;;) {
                _cleanup_free_ char *message = NULL;
                struct launch_report report;
                int r = m->denials ? await_report(m) : 0;

                if (r >= 0)
                        r = launch_read_report(&m->launch, &report);
                if (r == -EINTR)
                        continue;
                if (r < 0)
                        return fail_errno(m->config, "Can't read the sandbox's report", r);
                if (r == 0)
                        return 0;
                if (report.kind == LAUNCH_FAILED) {
                        message = bwrap_message(m->plan, &report.error, report.operation);
                        return fail_run(m->config, message);
                }
                if (report.kind == LAUNCH_STARTED ||
                    (report.kind == LAUNCH_BUILT && !m->plan->raw->setup.has_reaper))
                        m->has_started = true;
                if (report.kind == LAUNCH_EXITED) {
                        m->has_exited = true;
                        m->status = report.status;
                        m->has_others = report.operation != 0;
                        return 0;
                }
        }
}

static int wait_for_child(struct monitor *m) {
        siginfo_t info = {.si_status = 0};
        int r = sys_waitid(P_PIDFD, (id_t)m->launch.pidfd, &info, WEXITED);

        if (r < 0)
                return fail_errno(m->config, "Can't wait for the sandbox", r);
        if (!m->has_exited)
                m->status =
                        info.si_code == CLD_EXITED ? (info.si_status & 0xff) << 8 : info.si_status & 0x7f;
        return 0;
}

/* In a pid namespace an interactive shell can't name the group that was in the terminal's foreground before
 * it: it leaves its own there, which is gone, and a script around would be stopped. */
static void take_terminal_back(void) {
        const sigset_t output = SIGNALS(SIGTTOU);
        const pid_t own = getpgrp();

        for (int fd = 0; fd <= 2; fd++) {
                pid_t group = -1;

                if (sys_ioctl(fd, TIOCGPGRP, &group) < 0 || group <= 0 || sys_kill(-group, 0) != -ESRCH)
                        continue;
                (void)sys_sigmask(SIG_BLOCK, &output, NULL);
                (void)sys_ioctl(fd, TIOCSPGRP, (void *)&own);
                (void)sys_sigmask(SIG_UNBLOCK, &output, NULL);
        }
}

static int watch_child(struct monitor *m) {
        int r = bwrap_run_tell_started(m);

        if (r == 0 && m->go_fd >= 0) {
                (void)sys_write(m->go_fd, "", 1);
                close_fdp(&m->go_fd);
        }
        if (r == 0)
                r = read_reports(m);
        /* The reaper stays for processes that the command left behind. */
        if (r == 0 && !m->has_others)
                r = wait_for_child(m);
        if (r != 0) {
                (void)launch_signal(&m->launch, SIGKILL);
                (void)sys_waitid(P_PIDFD, (id_t)m->launch.pidfd, &(siginfo_t){0}, WEXITED);
                return r;
        }
        take_terminal_back();
        tell_denied(m);
        if (m->has_started)
                tell_exited(m);
        return exit_status(m->status);
}

/* ------------------------------------------------------------------- launch */

/* SIGKILL for us when the caller dies, and then for the sandbox, whose own parent we are. */
static int die_with_parent(const struct bwrap_config *config) {
        int r = sys_prctl(PR_SET_PDEATHSIG, SIGKILL, 0);

        if (r >= 0 && getppid() != config->parent)
                _exit(EXIT_BWRAP);
        return r;
}

static int enter_given_namespaces(const struct bwrap_config *config) {
        int r;

        if (config->userns_fd >= 0) {
                r = sys_setns(config->userns_fd, CLONE_NEWUSER);
                if (r < 0)
                        return fail_errno(config, "Joining specified user namespace failed", r);
        }
        if (config->pidns_fd >= 0) {
                r = sys_setns(config->pidns_fd, CLONE_NEWPID);
                if (r < 0)
                        return fail_errno(config, "Setting pidns failed", r);
        }
        if (config->netns_fd >= 0) {
                r = sys_setns(config->netns_fd, CLONE_NEWNET);
                if (r == -EPERM && config->userns_fd < 0)
                        return fail_run(config,
                                        "Joining specified network namespace failed: Operation not "
                                        "permitted (--userns with the user namespace that owns it?)");
                if (r < 0)
                        return fail_errno(config, "Joining specified network namespace failed", r);
        }
        return 0;
}

/* The process that the monitor's parent becomes: it ends as the monitor does. */
static _Noreturn void follow_monitor(pid_t pid) {
        int status;

        /* Whoever reads --info-fd waits for its end. */
        (void)sys_close_range(3, ~0U);
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        _exit(EXIT_BWRAP);
        _exit(exit_status(status));
}

/* A process that has chosen a pid namespace for its children can make no other: only a child, which is in
 * the one that was chosen, can make one beneath it.  The child goes on as the monitor. */
static int become_monitor_in_namespace(const struct bwrap_config *config) {
        struct nsrun_error err = {0};
        int self, r;
        pid_t pid;

        if (config->pidns_fd < 0 || !config->unshare_pid)
                return 0;
        self = sys_pidfd_open(getpid());
        if (self < 0)
                return fail_errno(config, "pidfd_open", self);
        pid = fork();
        if (pid < 0)
                return fail_errno(config, "fork", -errno);
        if (pid > 0)
                follow_monitor(pid);
        r = config->die_with_parent ? harden_die_with(self, &err) : 0;
        (void)sys_close(self);
        return r < 0 ? fail_run(config, err.what) : 0;
}

/* The launch's pid in the caller's own namespace, which is that of the mounted /proc. */
static pid_t find_child(const struct bwrap_config *config, const struct launch *l) {
        char path[64], text[512];
        const char *number;

        if (config->pidns_fd < 0 || !config->unshare_pid)
                return l->pid;
        (void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", l->pidfd);
        (void)read_kernel_file(AT_FDCWD, path, text, sizeof(text));
        number = strstr(text, "\nPid:");
        return number ? (pid_t)strtol(number + strlen("\nPid:"), NULL, 10) : l->pid;
}

/* Whether the caller, who gets to know the reaper's pid, shall be able to open the namespaces of it,
 * although nothing inside can look into it.  For the kernel a process's memory belongs to the user namespace
 * in which it executed its program: of one that nsrun-init was executed in, the namespace's owner outside
 * may look, and a command may that has CAP_SYS_PTRACE inside.  In a pid namespace that others are in already
 * there would be a moment in which they could. */
static bool wants_inspectable_reaper(const struct bwrap_config *config, const struct nsrun_plan *plan) {
        return plan->raw->setup.has_reaper && (config->info_fd >= 0 || config->json_status_fd >= 0) &&
               config->unshare_pid && config->pidns_fd < 0 && geteuid() != 0 && !config->exec_label &&
               (plan->raw->identity.is_late ||
                !(plan->raw->identity.capabilities & (UINT64_C(1) << CAP_SYS_PTRACE))) &&
               sys_is_executable(program_init()) >= 0;
}

/* Whether the command runs in a user namespace beneath the one that the sandbox is made in.  Then the
 * reaper's environment is open to the caller as well (flatpak enter), and the reaper closed to every
 * capability of the command's.  It is so where bubblewrap has two, too, so that the ids outside look the
 * same. */
static bool takes_late_identity(const struct bwrap_config *config, const struct nsrun_plan *plan) {
        bool has_two = config->disable_userns;

        for (size_t i = 0; i < plan->n_ops && !has_two; i++)
                has_two = plan->ops[i].kind == PLAN_DEVPTS;
        return has_two && (plan->raw->namespaces & CLONE_NEWUSER) && config->userns_block_fd < 0 &&
               config->userns2_fd < 0;
}

/* What the caller passed to the command is the command's alone: a lock or a pipe ends when it closes it. */
static void shed_descriptors_of_command(const struct monitor *m) {
        int own[] = {
                m->config->info_fd, m->config->json_status_fd, m->config->report_fd, m->launch.report_fd,
                m->launch.pidfd,    m->launch.listener_socket, m->launch.control_fd, m->go_fd};
        struct nsrun_error ignored = {0};

        (void)harden_descriptors(own, ARRAY_SIZE(own), &ignored);
}

/* Makes the child wait until its namespaces have been reported: they can be read only while it lives. */
static int hold_child(const struct bwrap_config *config, struct nsrun_plan *plan, int *ret_go) {
        int ends[2], r;

        if (config->info_fd < 0 && config->json_status_fd < 0)
                return 0;
        r = sys_pipe(ends);
        if (r < 0)
                return fail_errno(config, "pipe", r);
        plan->raw->setup.start_fd = ends[0];
        *ret_go = ends[1];
        return 0;
}

static int launch(const struct bwrap_config *config, struct nsrun_plan *plan) {
        bool is_late = plan->raw->identity.is_late = takes_late_identity(config, plan);
        bool is_inspectable = wants_inspectable_reaper(config, plan);
        struct monitor m = {
                .config = config, .plan = plan, .launch = LAUNCH_INIT, .listener = -EBADF, .go_fd = -EBADF};
        const struct launch_params params = {
                .rundir_fd = -EBADF,
                .lock_fd = -EBADF,
                .terminal_fd = -1,
                .wants_started = true,
                .wants_denials = config->report_fd >= 0,
                .dies_with_thread = config->die_with_parent,
                .command_line = bwrap_arguments,
                .command_line_size = bwrap_arguments_size,
                .init_path = is_inspectable ? program_init() : NULL,
        };
        struct sigaction standard = {.sa_handler = SIG_DFL};
        struct nsrun_error err = {0};
        int r;

        plan->raw->identity.is_late = is_late && is_inspectable;
        (void)sigaction(SIGCHLD, &standard, NULL);
        r = enter_given_namespaces(config);
        if (r == 0)
                r = become_monitor_in_namespace(config);
        if (r == 0)
                r = hold_child(config, plan, &m.go_fd);
        if (r == 0)
                r = begin_report(config, plan, &m.denials);
        if (r != 0)
                return r;
        r = launch_start(plan, &params, &m.launch, &err);
        if (r < 0) {
                _cleanup_free_ char *message = bwrap_message(plan, &err, -1);

                r = fail_run(config, message);
        } else {
                m.child = find_child(config, &m.launch);
                shed_descriptors_of_command(&m);
                r = watch_child(&m);
                launch_close(&m.launch);
        }
        close_fdp(&m.listener);
        m.denials = denials_free(m.denials);
        return r;
}

int bwrap_run(const struct bwrap_config *config, nsrun_unused const char *program) {
        struct nsrun_plan *plan = NULL;
        struct nsrun_error err = {0};
        int r = config->die_with_parent ? die_with_parent(config) : 0;

        if (r < 0)
                return fail_errno(config, "prctl(PR_SET_PDEATHSIG)", r);
        r = bwrap_build(config, &plan, &err);
        if (r < 0)
                return fail_run(config, err.what);
        STRV_FOREACH (line, plan->seccomp.warnings)
                bwrap_report(config, BWRAP_WARNING, *line);
        r = plan_raw_remember(plan, false, &err);
        r = r < 0 ? fail_errno(config, "Can't write down what the sandbox may write", r) : 0;
        if (r == 0)
                r = launch(config, plan);
        plan_free(plan);
        return r;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "output.h"

#include <inttypes.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include "base/file.h"
#include "base/path.h"
#include "base/sys.h"
#include "ports.h"

/* How many of the output's last lines are read. */
#define LINES_MOST 200

static const struct {
        const char *text;
        enum refused how;
} marks[] = {
        {": bad interpreter", REFUSED_ABSENT},
        {": cannot open shared object file: No such file", REFUSED_ABSENT},
        {"No such file or directory", REFUSED_ABSENT},
        {"no such file or directory", REFUSED_ABSENT},
        {"cannot execute: required file not found", REFUSED_ABSENT},
        {"Directory nonexistent", REFUSED_MAKE},
        {"nonexistent directory", REFUSED_MAKE},
        {" does not exist", REFUSED_ABSENT},
        {"Read-only file system", REFUSED_WRITE},
        {"read-only file system", REFUSED_WRITE},
        {"Device or resource busy", REFUSED_REPLACE},
        {"Permission denied", REFUSED_ACCESS},
        {"permission denied", REFUSED_ACCESS},
        {"No space left on device", REFUSED_SPACE},
        {"no space left on device", REFUSED_SPACE},
        {": Wrote only ", REFUSED_SPACE}, /* tar */
};

#define NO_OTHER_PROCESS \
        "a command sees, signals and traces the processes of its sandbox alone: nothing allows the host's"
#define NO_CORE   "no core files are written: --limit core=unlimited lets crashes leave some"
#define NO_MEMORY "the memory that --limit memory=SIZE gives was used up: a larger SIZE allows more"
#define NO_MOUNT                                                                                       \
        "the command has no right to mount: nothing allows it; with --seccomp=nested it may do so in " \
        "namespaces of its own"
#define NO_NAMESPACES "seccomp denies new namespaces: --seccomp=nested allows user namespaces"
#define NO_CGROUP_NAMESPACE                                                                             \
        "a sandbox has no cgroup namespaces, by which a command could freeze what shares your cgroup: " \
        "nsrun-bwrap takes bubblewrap's options and does without"

/* What programs say of things that no path stands for.  `host`: what the host must have, or the sandbox
 * isn't to blame; or NULL.  `is_nested`: what a denied call says better where it is known. */
static const struct {
        const char *text, *host, *reason;
        bool is_nested;
} words[] = {
        {"\"no new privileges\" flag", NULL, EXPLAIN_NO_PRIVILEGES, false},
        {"su: Critical error - immediate abort", NULL, EXPLAIN_NO_PRIVILEGES, false},
        {": pam_start() failed", NULL, EXPLAIN_NO_PRIVILEGES, false},
        {"must be superuser to use mount", NULL, NO_MOUNT, true},
        {"unshare failed: Operation not permitted", NULL, NO_NAMESPACES, true},
        {"No permissions to create new namespace", NULL, NO_NAMESPACES, true},
        {"Creating new namespace failed: nesting depth", NULL, NO_CGROUP_NAMESPACE, false},
        {"unshare failed: No space left on device", NULL, NO_CGROUP_NAMESPACE, false},
        {"socktype: SOCK_RAW", NULL, EXPLAIN_NO_RAW_SOCKETS, false},
        {"ping: socket: Operation not permitted", NULL, EXPLAIN_NO_RAW_SOCKETS, false},
        {"Lacking privilege for raw socket", NULL, EXPLAIN_NO_RAW_SOCKETS, false},
        {"mount: permission denied", NULL, NO_MOUNT, true},
        {"sudo: PERM_SUDOERS: setresuid", NULL, EXPLAIN_NO_PRIVILEGES, false},
        {"effective uid is not 0, is ", NULL, EXPLAIN_NO_PRIVILEGES, false},
        {"must be setuid root", NULL, EXPLAIN_NO_PRIVILEGES, false},
        {"Cannot connect to the Docker daemon at unix:", NULL, EXPLAIN_NO_ENGINE, false},
        {"are you root?", NULL, EXPLAIN_NO_PRIVILEGES, false}, /* apt */
        {"ptrace: No such process", NULL, NO_OTHER_PROCESS, false},
        {"): No such process", NULL, NO_OTHER_PROCESS, false}, /* strace */
        {"System has not been booted with systemd", "/run/systemd/system",
         "the host's systemd can't be reached from the sandbox: nothing allows it", false},
};

/* What of the home a program lacks that names no path. */
static const struct {
        const char *text, *path;
        bool is_login;
} homes[] = {
        {"ssh: Could not resolve hostname", ".ssh/config", false},
        {"Permission denied (publickey", ".ssh", true},
        {"fatal: could not read Username for ", ".git-credentials", true},
        {"fatal: could not read Password for ", ".git-credentials", true},
        {"gpg: signing failed", ".gnupg", true},
        {"gpg failed to sign", ".gnupg", true},
        {".envrc is blocked", ".local/share/direnv", false}, /* what direnv was told to allow */
};

bool explain_lacks_a_login(const char *output, size_t size) {
        for (size_t i = 0; i < ARRAY_SIZE(homes) && size > 0; i++)
                if (homes[i].is_login && memmem(output, size, homes[i].text, strlen(homes[i].text)))
                        return true;
        return false;
}

int explain_add(char ***ret, const char *reason) {
        return strv_contains(*ret, reason) || strv_length(*ret) >= EXPLAIN_MOST ? 0 : strv_add(ret, reason);
}

/* Whether the caller has core files, or may ask for some (`by_asking`), and the command may not. */
static bool took_cores(const struct nsrun_plan *plan, bool by_asking) {
        struct rlimit own;

        return plan->has_own_limits && !plan->limits.rlimits[RLIMIT_CORE].is_set &&
               getrlimit(RLIMIT_CORE, &own) == 0 && (by_asking ? own.rlim_max : own.rlim_cur) > 1;
}

static int explain_add_path(const struct explained *e, const char *path, enum refused how, char ***ret) {
        _cleanup_free_ char *reason = NULL, *absolute = NULL;
        int r;

        absolute = *path == '/' ? strdup(path) : path_join(e->plan->cwd ? e->plan->cwd : "/", path);
        r = absolute ? explain_path(e->plan, absolute, how, &reason) : -ENOMEM;
        return r < 0 || !reason ? r : explain_add(ret, reason);
}

/* The text in quotes that ends last before `end`, or begins first behind it; NULL: there is none. */
static char *quoted(const char *line, const char *end) {
        const char *close = end, *open;

        while (close > line && close[-1] != '\'' && close[-1] != '"')
                close--;
        if (close > line + 1) {
                close--;
                for (open = close; open > line && open[-1] != *close; open--)
                        ;
                return open > line ? strndup(open, (size_t)(close - open)) : NULL;
        }
        open = strpbrk(end, "'\"");
        close = open ? strchr(open + 1, *open) : NULL;
        return close ? strndup(open + 1, (size_t)(close - open - 1)) : NULL;
}

/* The last part before `end` of "program: what: the path: the error"; of "open /path" the path, and of
 * dash's and busybox's "cannot create path", too. */
static char *last_part(const char *line, const char *end) {
        static const char *const verbs[] = {"cannot create ",
                                            "cannot open ",
                                            "can't create ",
                                            "can't open ",
                                            "could not write config file ",
                                            "*** "};
        const char *begin, *space;
        char *part;

        while (end > line && (end[-1] == ' ' || end[-1] == ':' || end[-1] == '('))
                end--;
        for (begin = end; begin > line && !(begin[-1] == ' ' && begin - line > 1 && begin[-2] == ':');
             begin--)
                ;
        for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
                if ((size_t)(end - begin) > strlen(verbs[i]) && startswith(begin, verbs[i]))
                        begin += strlen(verbs[i]);
        part = strndup(begin, (size_t)(end - begin));
        space = part ? strstr(part, " /") : NULL;
        if (space)
                memmove(part, space + 1, strlen(space + 1) + 1);
        return part;
}

/* A script of the project's that couldn't be executed: the interpreter that its first line names.  The
 * command may have planted anything there, so that no symlink is followed. */
static int add_interpreter(const struct explained *e, const char *script, char ***ret) {
        _cleanup_free_ char *joined = path_join(e->plan->cwd ? e->plan->cwd : "/", script),
                            *path = joined ? path_normalise(*script == '/' ? script : joined) : NULL;
        _cleanup_close_ int fd = -EBADF;
        char line[256], *name;
        struct stat st;
        ssize_t n;

        if (!path)
                return -ENOMEM;
        if (!e->plan->project || !path_is_beneath(path, e->plan->project))
                return 0;
        fd = sys_openat2(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, RESOLVE_NO_SYMLINKS);
        if (fd < 0 || sys_fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
                return 0;
        n = sys_read(fd, line, sizeof(line) - 1);
        line[n > 0 ? n : 0] = '\0';
        if (!startswith(line, "#!"))
                return 0;
        name = line + 2 + strspn(line + 2, " \t");
        name[strcspn(name, " \t\n")] = '\0';
        return *name == '/' ? explain_add_path(e, name, REFUSED_ABSENT, ret) : 0;
}

/* Whether a line about something that is missing says that it was to be made. */
static bool tells_of_making(const char *line) {
        static const char *const verbs[] = {"cannot create", "can't create",     "cannot touch",
                                            "cannot make",   "failed to create", "could not create"};

        for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
                if (strstr(line, verbs[i]))
                        return true;
        return false;
}

/* What the caller has by that name in a folder of `list`, as PATH is one, and the sandbox hasn't.  Where the
 * file isn't in it, a folder that isn't exposed explains nothing. */
static int add_listed(const struct explained *e, const char *list, const char *name, int mode, char ***ret) {
        for (const char *from = list ? list : ""; *from;) {
                size_t n = strcspn(from, ":");
                int r;
                _cleanup_free_ char *path = str_format("%.*s/%s", (int)n, from, name);

                if (!path)
                        return -ENOMEM;
                r = *path == '/' && access(path, mode) == 0 ? explain_add_path(e, path, REFUSED_ABSENT, ret)
                                                            : 0;
                if (r < 0)
                        return r;
                from += n + (from[n] == ':');
        }
        return 0;
}

/* What isn't there: a path; a program or a library by its name alone; or a script, whose interpreter isn't.
 */
static int add_absent(const struct explained *e, const char *line, const char *path, char ***ret) {
        size_t before = strv_length(*ret);
        int r = explain_add_path(e, path, REFUSED_ABSENT, ret);

        if (r < 0 || strv_length(*ret) > before)
                return r;
        if (strchr(path, '/'))
                return add_interpreter(e, path, ret);
        return strstr(line, "shared object file") ? add_listed(e, e->libraries, path, R_OK, ret)
                                                  : add_listed(e, e->search, path, X_OK, ret);
}

/* What isn't said to be full may be: of the sandbox's own folders, unless the disk is. */
static int add_full(const struct explained *e, char ***ret) {
        struct statvfs disk;

        STRV_FOREACH (reason, *ret)
                if (strstr(*reason, "--tmpfs"))
                        return 0;
        if (!e->plan->project || statvfs(e->plan->project, &disk) < 0 || disk.f_bavail == 0)
                return 0;
        return explain_add(ret, "no space was left: if that was in /tmp or the home, which are tmpfs of "
                                "the sandbox's, --tmpfs-size SIZE enlarges them");
}

static int read_marks(const struct explained *e, const char *line, char ***ret) {
        for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
                const char *at = strstr(line, marks[i].text);
                enum refused how = marks[i].how;
                size_t before = strv_length(*ret);
                _cleanup_free_ char *path = NULL;
                int r;

                if (!at)
                        continue;
                path = quoted(line, at);
                if (!path)
                        path = last_part(line, at);
                if (!path)
                        return -ENOMEM;
                if (strstr(line, "required file not found"))
                        return add_interpreter(e, path, ret);
                if (how == REFUSED_ABSENT && tells_of_making(line))
                        how = REFUSED_MAKE;
                r = !*path                  ? 0
                    : how == REFUSED_ABSENT ? add_absent(e, line, path, ret)
                                            : explain_add_path(e, path, how, ret);
                return r >= 0 && how == REFUSED_SPACE && strv_length(*ret) == before ? add_full(e, ret) : r;
        }
        return 0;
}

/* The command that a shell didn't find: bash's "NAME: command not found", zsh's "command not found: NAME",
 * dash's and busybox's "NAME: not found".  NULL with 0: the line is no such thing. */
static int missing_command(const char *line, char **ret) {
        static const char zsh[] = "command not found: ", others[] = ": not found";
        const char *begin = strstr(line, zsh), *at = begin ? NULL : strstr(line, ": command not found");
        size_t n = strcspn(line, "\n");

        if (begin)
                begin += strlen(zsh);
        else if (!at && n > strlen(others) && startswith(line + n - strlen(others), others))
                at = line + n - strlen(others);
        *ret = begin ? strndup(begin, strcspn(begin, "\n")) : at ? last_part(line, at) : NULL;
        return (begin || at) && !*ret ? -ENOMEM : 0;
}

/* A command that wasn't found: a path, or a name where the caller's own PATH has it. */
static int read_command(const struct explained *e, char *line, char ***ret) {
        _cleanup_free_ char *name = NULL;
        int found = missing_command(line, &name);

        if (found < 0 || !name || !*name)
                return found;
        if (*name == '/')
                return explain_add_path(e, name, REFUSED_ABSENT, ret);
        return strchr(name, '/') ? add_interpreter(e, name, ret) : add_listed(e, e->search, name, X_OK, ret);
}

bool explain_has_word(const char *line, const char *word) {
        static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
        size_t n = strlen(word);

        for (const char *at = strstr(line, word); at; at = strstr(at + 1, word))
                if ((at == line || !strchr(letters, at[-1])) && (!at[n] || !strchr(letters, at[n])))
                        return true;
        return false;
}

static int read_withheld(const struct explained *e, const char *line, char ***ret) {
        STRV_FOREACH (name, e->plan->secrets) {
                _cleanup_free_ char *reason = NULL;

                if (!explain_has_word(line, *name))
                        continue;
                reason = str_concat("the variable ", *name, " is withheld, since it looks like a secret");
                if (!reason || explain_add(ret, reason) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int read_words(const struct explained *e, const char *line, char ***ret) {
        static const char *const unreachable[] = {"Could not resolve host",
                                                  "Temporary failure in name resolution",
                                                  "Name or service not known",
                                                  "EAI_AGAIN",
                                                  "ENOTFOUND",
                                                  "Network is unreachable",
                                                  "network is unreachable"};
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(words) && r >= 0; i++)
                if (strstr(line, words[i].text) && !(words[i].is_nested && e->knows_nested) &&
                    (!words[i].host || access(words[i].host, F_OK) == 0))
                        r = explain_add(ret, words[i].reason);
        /* "mount: /mnt: permission denied.", as it says to root. */
        if (r >= 0 && !e->knows_nested && startswith(line, "mount: ") && strstr(line, ": permission denied"))
                r = explain_add(ret, NO_MOUNT);
        for (size_t i = 0; i < ARRAY_SIZE(unreachable) && r >= 0 && e->plan->net == POLICY_NET_NONE; i++)
                if (strstr(line, unreachable[i]))
                        r = explain_add(ret, EXPLAIN_NO_NETWORK);
        return r;
}

/* By which signal, or in which words of a program's, a limit of setrlimit(2) is met. */
static const struct {
        int resource, signal;
        const char *words[4];
} met[] = {
        {RLIMIT_AS, 0, {"annot allocate memory", "MemoryError", "bad_alloc", "out of memory"}},
        {RLIMIT_CPU, SIGXCPU, {"CPU time limit exceeded"}},
        {RLIMIT_DATA, 0, {"annot allocate memory", "MemoryError", "bad_alloc", "out of memory"}},
        {RLIMIT_FSIZE, SIGXFSZ, {"File size limit exceeded", "ile too large"}},
        {RLIMIT_MEMLOCK, 0, {"annot allocate memory"}},
        {RLIMIT_NOFILE, 0, {"oo many open files", "EMFILE"}},
        {RLIMIT_NPROC, 0, {"esource temporarily unavailable", "Cannot fork", "can't start new thread"}},
        {RLIMIT_STACK, SIGSEGV, {"Segmentation fault"}},
};

/* Adds the limits of the plan's own that a line names, or the signal by which the command ended. */
static int add_met(const struct explained *e, const char *line, char ***ret) {
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(met) && r >= 0; i++) {
                const struct policy_rlimit *limit = &e->plan->limits.rlimits[met[i].resource];
                bool is_met = !line && e->signal != 0 && met[i].signal == e->signal;
                _cleanup_free_ char *reason = NULL;

                for (size_t k = 0; line && k < ARRAY_SIZE(met[i].words) && met[i].words[k]; k++)
                        is_met |= strstr(line, met[i].words[k]) != NULL;
                if (!is_met || !limit->is_set || limit->soft == POLICY_UNLIMITED)
                        continue;
                reason = str_format("what --limit %s=%" PRIu64 " gives was used up: more of it allows more",
                                    rlimit_name(met[i].resource), limit->soft);
                r = reason ? explain_add(ret, reason) : -ENOMEM;
        }
        return r;
}

/* Whether the filter ends who makes some call, as no shipped one does. */
static bool filter_kills(const struct seccomp_loaded *filter) {
        for (size_t i = 0; i < filter->n; i++) {
                uint32_t action = filter->code[i].k & SECCOMP_RET_ACTION_FULL;

                if (filter->code[i].code == (BPF_RET | BPF_K) &&
                    (action == SECCOMP_RET_KILL_PROCESS || action == SECCOMP_RET_KILL_THREAD ||
                     action == SECCOMP_RET_TRAP))
                        return true;
        }
        return false;
}

/* How the command ended. */
static int read_end(const struct explained *e, char ***ret) {
        static const int of_crashes[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGQUIT};
        int r = e->oom_killed && e->plan->limits.memory > 0 ? explain_add(ret, NO_MEMORY) : 0;

        if (r >= 0)
                r = add_met(e, NULL, ret);
        for (size_t i = 0; i < ARRAY_SIZE(of_crashes) && r >= 0; i++)
                if (e->signal == of_crashes[i] && took_cores(e->plan, false))
                        r = explain_add(ret, NO_CORE);
        if (r >= 0 && e->signal == SIGSYS && filter_kills(&e->plan->seccomp)) {
                _cleanup_free_ char *reason =
                        str_format("the policy of --seccomp=%s kills for a call (SIGSYS): where it has "
                                   "SCMP_ACT_ERRNO instead, the call is named here",
                                   e->plan->seccomp_name);

                r = reason ? explain_add(ret, reason) : -ENOMEM;
        }
        return r;
}

static int add_pids(const struct explained *e, char ***ret) {
        _cleanup_free_ char *reason =
                str_format("the %" PRIu64 " processes that --limit pids=%" PRIu64
                           " gives were used up: a larger number, as --limit pids=%" PRIu64 ", allows more",
                           e->plan->limits.pids, e->plan->limits.pids, e->plan->limits.pids * 4);

        return reason ? explain_add(ret, reason) : -ENOMEM;
}

static int read_homes(const struct explained *e, const char *line, char ***ret) {
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(homes) && e->plan->home && r >= 0; i++)
                if (strstr(line, homes[i].text) && (homes[i].is_login || !e->has_succeeded)) {
                        _cleanup_free_ char *path = path_join(e->plan->home, homes[i].path);

                        r = path ? explain_add_path(e, path, REFUSED_ABSENT, ret) : -ENOMEM;
                }
        return r;
}

/* What the plan decides of things that no path stands for. */
static int read_planned(const struct explained *e, const char *line, size_t *port_lines, char ***ret) {
        bool is_fork = strstr(line, "fork") || strstr(line, "thread") || strstr(line, "process") ||
                       startswith(line, "make");
        int r = 0;

        if (e->has_terminal && strstr(line, ": No such device or address") &&
            (strstr(line, "/dev/tty") || strstr(line, "fatal: could not read ")))
                r = explain_add(ret,
                                "the command has no terminal that /dev/tty opens: nsrun run --pty gives it "
                                "one of its own");
        if (r >= 0)
                r = read_homes(e, line, ret);
        /* dash doesn't say which limit. */
        if (r >= 0 && took_cores(e->plan, true) &&
            (strstr(line, "core file size: cannot modify limit") ||
             strstr(line, "ulimit: error setting limit")))
                r = explain_add(ret, NO_CORE);
        if (r >= 0 && e->plan->limits.pids > 0 &&
            ((is_fork && strcasestr(line, "resource temporarily unavailable")) ||
             strstr(line, "Cannot fork") || strstr(line, "BlockingIOError: [Errno 11]") ||
             strstr(line, "can't start new thread")))
                r = add_pids(e, ret);
        if (r >= 0 && e->agent && *e->agent && access(e->agent, F_OK) == 0 &&
            (strstr(line, "authentication agent") || strstr(line, "agent refused operation")))
                r = explain_add(
                        ret,
                        "the agent of SSH_AUTH_SOCK isn't shown: --ssh-agent KEY lets a key of it sign (KEY "
                        "is its fingerprint or comment, as ssh-add -l lists them)");
        if (r >= 0 && e->bus && *e->bus && !e->plan->dbus &&
            (strstr(line, "autolaunch D-Bus") || strstr(line, "autolaunch a dbus-daemon") ||
             strstr(line, "spawn a message bus without a machine-id") || strstr(line, "dbus-launch") ||
             /* systemctl says "Host is down" of the system's bus. */
             (strstr(line, "Failed to connect to bus:") && !strstr(line, "Host is down"))))
                r = explain_add(
                        ret,
                        "the session bus isn't shown: --dbus NAME lets the program of that name be called");
        if (r >= 0 && !e->plan->browser &&
            (strstr(line, "xdg-open: no method available for opening 'http") ||
             strstr(line, "Couldn't find a suitable web browser")))
                r = explain_add(ret,
                                "no browser of the host's is reached: nsrun run --browser opens a link when "
                                "a person at its terminal says yes");
        if (r >= 0)
                r = explain_port_line(e, line, port_lines, ret);
        return r < 0 ? r : add_met(e, line, ret);
}

/* Programs quote with U+2018 and U+2019 in a UTF-8 locale. */
static void make_quotes_plain(char *line) {
        for (char *at = line; (at = strstr(at, "\xe2\x80")); at++)
                if (at[2] == '\x98' || at[2] == '\x99') {
                        *at = '\'';
                        memmove(at + 1, at + 3, strlen(at + 3) + 1);
                }
}

static int read_output_line(const struct explained *e, char *line, size_t *port_lines, char ***ret) {
        int r;

        if (e->has_succeeded)
                return read_homes(e, line, ret);
        make_quotes_plain(line);
        r = read_marks(e, line, ret);

        if (r >= 0)
                r = read_command(e, line, ret);
        if (r >= 0)
                r = read_withheld(e, line, ret);
        if (r >= 0)
                r = read_planned(e, line, port_lines, ret);
        return r < 0 ? r : read_words(e, line, ret);
}

int explain_output(const struct explained *e, char ***ret) {
        const char *end = e->size > 0 ? e->output + e->size : e->output;
        size_t port_lines = EXPLAIN_PORT_LINES_MOST;
        int r = 0;

        for (int n = 0; n < LINES_MOST && end > e->output && r >= 0; n++) {
                const char *begin = end;
                _cleanup_free_ char *line = NULL;

                while (begin > e->output && begin[-1] != '\n')
                        begin--;
                line = strndup(begin, (size_t)(end - begin));
                r = line ? read_output_line(e, line, &port_lines, ret) : -ENOMEM;
                end = begin > e->output ? begin - 1 : begin;
        }
        return r < 0 || e->has_succeeded ? r : read_end(e, ret);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of options that parser and help are made of, and the readers of those that fill a
 * field or two.  What becomes an operation is read in operation.c. */
#include "options.h"

#include <limits.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include "base/array.h"

#define SELINUX_FILESYSTEM 0xf97cff8c

/* ------------------------------------------------------------ readers */

static void *bwrap_options_field(struct bwrap_parser *p, const struct bwrap_option *option) {
        return (char *)p->config + option->offset;
}

static int read_flag(struct bwrap_parser *p, const struct bwrap_option *option,
                     const char *const *values nsrun_unused) {
        *(bool *)bwrap_options_field(p, option) = true;
        return 0;
}

static int read_unshare_all(struct bwrap_parser *p, const struct bwrap_option *option nsrun_unused,
                            const char *const *values nsrun_unused) {
        struct bwrap_config *config = p->config;

        config->unshare_user_try = config->unshare_ipc = config->unshare_pid = true;
        config->unshare_net = config->unshare_uts = config->unshare_cgroup_try = true;
        return 0;
}

static int read_share_net(struct bwrap_parser *p, const struct bwrap_option *option nsrun_unused,
                          const char *const *values nsrun_unused) {
        p->config->unshare_net = false;
        return 0;
}

/* --help and --version: the rest of the command line isn't read. */
static int read_question(struct bwrap_parser *p, const struct bwrap_option *option,
                         const char *const *values) {
        p->is_finished = true;
        return read_flag(p, option, values);
}

static int read_fd_field(struct bwrap_parser *p, const struct bwrap_option *option,
                         const char *const *values) {
        int *fd = bwrap_options_field(p, option);
        int r = 0;

        if (*fd >= 0)
                r = bwrap_warn_again(p, option);
        return r < 0 ? r : bwrap_read_fd(p, values[0], fd);
}

static int bwrap_options_read_text(struct bwrap_parser *p, const struct bwrap_option *option,
                                   const char *const *values) {
        char **text = bwrap_options_field(p, option), *copy;
        int r = 0;

        if (*text)
                r = bwrap_warn_again(p, option);
        if (r < 0)
                return r;
        copy = strdup(values[0]);
        if (!copy)
                return -ENOMEM;
        free(*text);
        *text = copy;
        return 0;
}

/* --sync-fd: all that are given are kept open. */
static int read_sync_fd(struct bwrap_parser *p, const struct bwrap_option *option nsrun_unused,
                        const char *const *values) {
        struct bwrap_config *config = p->config;
        int fd = -1, r = bwrap_read_fd(p, values[0], &fd);

        if (r < 0)
                return r;
        if (ARRAY_GROW(config->sync_fds, config->n_sync_fds) < 0)
                return -ENOMEM;
        config->sync_fds[config->n_sync_fds++] = fd;
        return 0;
}

static int read_argv0(struct bwrap_parser *p, const struct bwrap_option *option, const char *const *values) {
        if (p->config->argv0)
                return bwrap_refuse(p, -EINVAL, "%s used multiple times", option->name);
        return bwrap_options_read_text(p, option, values);
}

static int read_path(struct bwrap_parser *p, const struct bwrap_option *option, const char *const *values) {
        return strv_add(bwrap_options_field(p, option), values[0]);
}

/* Labels are SELinux'.  Mounted read-only, as containers have it, nothing can be asked of it. */
static int read_label(struct bwrap_parser *p, const struct bwrap_option *option, const char *const *values) {
        struct statfs fs;

        if (statfs("/sys/fs/selinux", &fs) < 0 || (unsigned)fs.f_type != SELINUX_FILESYSTEM ||
            (fs.f_flags & ST_RDONLY))
                return bwrap_refuse(p, -EINVAL, "labeling not supported on this system");
        return bwrap_options_read_text(p, option, values);
}

/* "uid" or "gid" is the option's name without its dashes. */
static int read_id(struct bwrap_parser *p, const struct bwrap_option *option, const char *const *values) {
        struct bwrap_config *config = p->config;
        bool is_uid = streq(option->name, "--uid");
        bool *has = is_uid ? &config->has_uid : &config->has_gid;
        char *end;
        long id;
        int r = 0;

        if (*has)
                r = bwrap_warn_again(p, option);
        if (r < 0)
                return r;
        errno = 0;
        id = strtol(values[0], &end, 10);
        if (end == values[0] || *end || errno != 0 || id < 0 || id > INT_MAX)
                return bwrap_refuse(p, -EINVAL, "Invalid %s: %s", option->name + 2, values[0]);
        *has = true;
        if (is_uid)
                config->uid = (uid_t)id;
        else
                config->gid = (gid_t)id;
        return 0;
}

static int read_clearenv(struct bwrap_parser *p, const struct bwrap_option *option nsrun_unused,
                         const char *const *values nsrun_unused) {
        strv_freep(&p->config->env);
        return 0;
}

static int read_setenv(struct bwrap_parser *p, const struct bwrap_option *option nsrun_unused,
                       const char *const *values) {
        int r = bwrap_env_set(&p->config->env, values[0], values[1]);

        return r == -EINVAL ? bwrap_refuse(p, r, "setenv failed") : r;
}

static int read_unsetenv(struct bwrap_parser *p, const struct bwrap_option *option nsrun_unused,
                         const char *const *values) {
        int r = bwrap_env_unset(p->config->env, values[0]);

        return r == -EINVAL ? bwrap_refuse(p, r, "unsetenv failed") : r;
}

/* --seccomp: one, the last.  --add-seccomp-fd: all of them. */
static int read_seccomp(struct bwrap_parser *p, const struct bwrap_option *option,
                        const char *const *values) {
        struct bwrap_config *config = p->config;
        bool is_added = streq(option->name, "--add-seccomp-fd");
        int fd = -1, r = 0;

        if (is_added ? p->has_seccomp : p->has_add_seccomp)
                return bwrap_refuse(p, -EINVAL, "%s cannot be combined with %s", option->name,
                                    is_added ? "--seccomp" : "--add-seccomp-fd");
        if (p->has_seccomp)
                r = bwrap_warn_again(p, option);
        if (r == 0)
                r = bwrap_read_fd(p, values[0], &fd);
        if (r < 0)
                return r;
        if (p->has_seccomp) {
                config->seccomp_fds[0] = fd;
                return 0;
        }
        if (ARRAY_GROW(config->seccomp_fds, config->n_seccomp_fds) < 0)
                return -ENOMEM;
        config->seccomp_fds[config->n_seccomp_fds++] = fd;
        *(is_added ? &p->has_add_seccomp : &p->has_seccomp) = true;
        return 0;
}

static int read_args(struct bwrap_parser *p, const struct bwrap_option *option nsrun_unused,
                     const char *const *values) {
        _cleanup_free_ char *data = NULL;
        size_t n = 0;
        int fd = -1, r;
        struct bwrap_args args;

        if (p->is_in_args)
                return bwrap_refuse(p, -EINVAL, "--args not supported in arguments file");
        r = bwrap_read_fd(p, values[0], &fd);
        if (r < 0)
                return r;
        r = bwrap_args_read(fd, &data, &n);
        if (r < 0)
                return bwrap_refuse(p, r, "Can't read --args data: %s", error_words(-r));
        args = (struct bwrap_args){.data = data, .end = data + n};
        p->is_in_args = true;
        /* Words in the data that are no options are ignored: only argv names the command. */
        r = bwrap_parse_options(p, &args);
        p->is_in_args = false;
        return r;
}

/* ---------------------------------------------------------- the table */

/* What a row does, to keep each on a line or two. */
#define TAKES(...) \
        { __VA_ARGS__ }
#define FIELD(name)  .offset = offsetof(struct bwrap_config, name)
#define FLAG(name)   .read = read_flag, FIELD(name)
#define FD(name)     .read = read_fd_field, FIELD(name)
#define TEXT(name)   .read = bwrap_options_read_text, FIELD(name)
#define OP(op, bits) .read = bwrap_operation, .kind = BWRAP_##op, .flags = BWRAP_WANTS_PATHS | (bits)

/* In the order in which --help lists them. */
const struct bwrap_option bwrap_options[] = {
        {"--help", TAKES(NULL), "List the options and exit", .read = read_question, FIELD(wants_help)},
        {"--version", TAKES(NULL), "Say the version and exit", .read = read_question, FIELD(wants_version)},
        {"--args", TAKES("FD"), "Read more options, each ended by a NUL, from FD", .read = read_args},
        {"--argv0", TAKES("VALUE"), "The command's argv[0] is VALUE", .read = read_argv0, FIELD(argv0),
         .flags = BWRAP_SAYS_ONE},
        {"--level-prefix", TAKES(NULL), "Begin messages with <3> or <4>, as sd-daemon(3) has it",
         FLAG(has_level_prefix)},

        {"--unshare-all", TAKES(NULL), "New namespaces of every kind; user and cgroup where possible",
         .read = read_unshare_all},
        {"--share-net", TAKES(NULL), "Keep the host's network, after --unshare-all or --unshare-net",
         .read = read_share_net},
        {"--unshare-user", TAKES(NULL), "New user namespace; there always is one for an ordinary user",
         FLAG(unshare_user)},
        {"--unshare-user-try", TAKES(NULL), "New user namespace where that is possible",
         FLAG(unshare_user_try)},
        {"--unshare-ipc", TAKES(NULL), "New IPC namespace", FLAG(unshare_ipc)},
        {"--unshare-pid", TAKES(NULL), "New pid namespace", FLAG(unshare_pid)},
        {"--unshare-net", TAKES(NULL), "New network namespace: loopback alone", FLAG(unshare_net)},
        {"--unshare-uts", TAKES(NULL), "New UTS namespace", FLAG(unshare_uts)},
        {"--unshare-cgroup", TAKES(NULL), "New cgroup namespace", FLAG(unshare_cgroup)},
        {"--unshare-cgroup-try", TAKES(NULL), "New cgroup namespace where that is possible",
         FLAG(unshare_cgroup_try)},
        {"--userns", TAKES("FD"), "Enter the user namespace FD instead of a new one", FD(userns_fd)},
        {"--userns2", TAKES("FD"), "Enter the user namespace FD once all is set up", FD(userns2_fd)},
        {"--disable-userns", TAKES(NULL), "No further user namespaces inside (needs --unshare-user)",
         FLAG(disable_userns)},
        {"--assert-userns-disabled", TAKES(NULL), "Fail where further user namespaces can be made inside",
         FLAG(assert_userns_disabled)},
        {"--pidns", TAKES("FD"), "Enter the pid namespace FD; with --unshare-pid, a new one beneath it",
         FD(pidns_fd)},
        {"--uid", TAKES("UID"), "User id inside (needs a user namespace)", .read = read_id},
        {"--gid", TAKES("GID"), "Group id inside (needs a user namespace)", .read = read_id},
        {"--hostname", TAKES("NAME"), "Host name inside (needs --unshare-uts)", TEXT(hostname)},

        {"--chdir", TAKES("DIR"), "Working directory inside", TEXT(chdir),
         .flags = BWRAP_SAYS_ONE | BWRAP_WANTS_PATHS},
        {"--clearenv", TAKES(NULL), "Unset every variable but PWD", .read = read_clearenv},
        {"--setenv", TAKES("VAR", "VALUE"), "Set a variable", .read = read_setenv},
        {"--unsetenv", TAKES("VAR"), "Unset a variable", .read = read_unsetenv},
        {"--lock-file", TAKES("DEST"), "Hold a lock on DEST as long as the sandbox runs; repeatable",
         .read = read_path, FIELD(lock_files), .flags = BWRAP_WANTS_PATHS},
        {"--sync-fd", TAKES("FD"), "Hold FD open as long as the sandbox runs; repeatable",
         .read = read_sync_fd},

        {"--bind", TAKES("SRC", "DEST"), "Show the host's SRC at DEST", OP(BIND, 0)},
        {"--bind-try", TAKES("SRC", "DEST"), "Like --bind, left out where SRC is missing",
         OP(BIND, BWRAP_IS_OPTIONAL)},
        {"--dev-bind", TAKES("SRC", "DEST"), "Show SRC at DEST, its device files usable",
         OP(BIND, BWRAP_IS_DEVICE)},
        {"--dev-bind-try", TAKES("SRC", "DEST"), "Like --dev-bind, left out where SRC is missing",
         OP(BIND, BWRAP_IS_DEVICE | BWRAP_IS_OPTIONAL)},
        {"--ro-bind", TAKES("SRC", "DEST"), "Show SRC at DEST, read-only", OP(BIND, BWRAP_IS_READ_ONLY)},
        {"--ro-bind-try", TAKES("SRC", "DEST"), "Like --ro-bind, left out where SRC is missing",
         OP(BIND, BWRAP_IS_READ_ONLY | BWRAP_IS_OPTIONAL)},
        {"--bind-fd", TAKES("FD", "DEST"), "Show the folder or file that FD has open at DEST",
         OP(BIND_FD, BWRAP_HAS_FD)},
        {"--ro-bind-fd", TAKES("FD", "DEST"), "Like --bind-fd, read-only",
         OP(BIND_FD, BWRAP_HAS_FD | BWRAP_IS_READ_ONLY)},
        {"--remount-ro", TAKES("DEST"), "Make the mount at DEST read-only, and none beneath it",
         OP(REMOUNT_RO, BWRAP_SAYS_ONE)},

        {"--overlay-src", TAKES("SRC"), "A lower folder of the next overlay; the last one lies uppermost",
         .read = bwrap_overlay_source, .flags = BWRAP_WANTS_PATHS},
        {"--overlay", TAKES("RWSRC", "WORKDIR", "DEST"), "Overlay at DEST, changes go to RWSRC",
         OP(OVERLAY, BWRAP_WANTS_LOWERS)},
        {"--tmp-overlay", TAKES("DEST"), "Overlay at DEST, changes are lost",
         OP(TMP_OVERLAY, BWRAP_WANTS_LOWERS)},
        {"--ro-overlay", TAKES("DEST"), "Overlay at DEST, read-only (at least two --overlay-src)",
         OP(RO_OVERLAY, BWRAP_WANTS_LOWERS)},

        {"--exec-label", TAKES("LABEL"), "The command's SELinux label", .read = read_label,
         FIELD(exec_label)},
        {"--file-label", TAKES("LABEL"), "SELinux label of what the sandbox makes", .read = read_label,
         FIELD(file_label)},
        {"--proc", TAKES("DEST"), "proc at DEST", OP(PROC, 0)},
        {"--dev", TAKES("DEST"), "A small /dev at DEST", OP(DEV, 0)},
        {"--tmpfs", TAKES("DEST"), "Empty tmpfs at DEST", OP(TMPFS, BWRAP_TAKES_PERMS | BWRAP_TAKES_SIZE)},
        {"--mqueue", TAKES("DEST"), "mqueue at DEST", OP(MQUEUE, 0)},
        {"--dir", TAKES("DEST"), "Make the folder DEST", OP(DIR, BWRAP_TAKES_PERMS)},
        {"--file", TAKES("FD", "DEST"), "Make the file DEST of what FD holds",
         OP(FILE, BWRAP_HAS_FD | BWRAP_TAKES_PERMS)},
        {"--bind-data", TAKES("FD", "DEST"), "Show a file of what FD holds at DEST",
         OP(BIND_DATA, BWRAP_HAS_FD | BWRAP_TAKES_PERMS)},
        {"--ro-bind-data", TAKES("FD", "DEST"), "Like --bind-data, read-only",
         OP(BIND_DATA, BWRAP_HAS_FD | BWRAP_TAKES_PERMS | BWRAP_IS_READ_ONLY)},
        {"--symlink", TAKES("SRC", "DEST"), "Make DEST a symlink whose text is SRC", OP(SYMLINK, 0)},
        {"--chmod", TAKES("OCTAL", "PATH"), "Change the mode of PATH, which is there already",
         OP(CHMOD, BWRAP_HAS_MODE)},
        {"--perms", TAKES("OCTAL"), "Mode of what the next option makes (--dir, --file, --tmpfs, ...)",
         .read = bwrap_perms, .flags = BWRAP_IS_MODIFIER},
        {"--size", TAKES("BYTES"), "Size of the next --tmpfs", .read = bwrap_size,
         .flags = BWRAP_IS_MODIFIER},

        {"--seccomp", TAKES("FD"), "Install the compiled filter in FD; the last one counts",
         .read = read_seccomp},
        {"--add-seccomp-fd", TAKES("FD"), "Install the compiled filter in FD; repeatable",
         .read = read_seccomp},
        {"--block-fd", TAKES("FD"), "Wait until something can be read from FD", FD(block_fd)},
        {"--userns-block-fd", TAKES("FD"), "Wait on FD until the id maps are written (needs --info-fd)",
         FD(userns_block_fd)},
        {"--info-fd", TAKES("FD"), "Write pids and namespaces to FD, as JSON", FD(info_fd)},
        {"--json-status-fd", TAKES("FD"), "Write start and end to FD, as lines of JSON", FD(json_status_fd)},
        {"--new-session", TAKES(NULL), "New terminal session", FLAG(new_session)},
        {"--die-with-parent", TAKES(NULL), "Die when the caller dies", FLAG(die_with_parent)},
        {"--as-pid-1", TAKES(NULL), "The command is pid 1, without a reaper (needs --unshare-pid)",
         FLAG(as_pid_1)},
        {"--cap-add", TAKES("CAP"), "Give the command a capability; ALL: all of them",
         .read = bwrap_capability},
        {"--cap-drop", TAKES("CAP"), "Take a capability from the command; ALL: all of them",
         .read = bwrap_capability},
        {"--not-a-security-boundary", TAKES(NULL), "Taken for callers of bubblewrap 0.12; changes nothing",
         FLAG(is_no_boundary)},

        /* nsrun's own, which no bubblewrap knows. */
        {"--netns", TAKES("FD"), "Enter the network namespace FD (an ordinary user: with --userns)",
         FD(netns_fd)},
        {"--scope-abstract-unix-sockets", TAKES(NULL),
         "No abstract socket of processes outside (Linux 6.12)", FLAG(scopes_sockets)},
        {"--seccomp-policy", TAKES("NAME|FILE"),
         "nsrun's policy default, strict or nested, as it is or as default+CALL-CALL; or a file",
         TEXT(seccomp_policy)},
        {"--overlay-opt", TAKES("OPTIONS"),
         "overlayfs' options for the next overlay: volatile, index=off, ...", .read = bwrap_overlay_option},
        {"--bind-create", TAKES("SRC", "DEST"), "Like --bind, a SRC that is missing is made, as a folder",
         OP(BIND, BWRAP_MAKES_SOURCE)},
        {"--dev-bind-create", TAKES("SRC", "DEST"),
         "Like --dev-bind, a SRC that is missing is made, as a folder",
         OP(BIND, BWRAP_IS_DEVICE | BWRAP_MAKES_SOURCE)},
        {"--ro-bind-create", TAKES("SRC", "DEST"),
         "Like --ro-bind, a SRC that is missing is made, as a folder",
         OP(BIND, BWRAP_IS_READ_ONLY | BWRAP_MAKES_SOURCE)},
        {"--protect", TAKES("PATH"),
         "When all is mounted, make PATH and what is in it read-only; repeatable", .read = read_path,
         FIELD(protect), .flags = BWRAP_WANTS_PATHS},
        {"--hide", TAKES("PATH"), "When all is mounted, put nothing in the place of PATH; repeatable",
         .read = read_path, FIELD(hide), .flags = BWRAP_WANTS_PATHS},
        {"--report", TAKES("FD"), "Write which calls --seccomp-policy denied to FD, as lines of JSON",
         FD(report_fd)},
};

const size_t n_bwrap_options = ARRAY_SIZE(bwrap_options);

const struct bwrap_option *bwrap_option_find(const char *name) {
        for (size_t i = 0; i < n_bwrap_options; i++)
                if (streq(bwrap_options[i].name, name))
                        return &bwrap_options[i];
        return NULL;
}

size_t bwrap_option_n_arguments(const struct bwrap_option *option) {
        size_t n = 0;

        while (n < BWRAP_MOST_ARGUMENTS && option->arguments[n])
                n++;
        return n;
}

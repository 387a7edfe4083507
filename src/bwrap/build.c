/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command line becomes a raw plan: sources canonical, descriptors read, --dev
 * and --proc spelled out. */
#include <fcntl.h>
#include <limits.h>
#include <sched.h>

#include "base/array.h"
#include "base/path.h"
#include "base/sys.h"
#include "boundary/harden.h"
#include "build.h"

/* *err's words are the whole message, as the parser's are. */
#define bwrap_build_fail(err, r, ...) error_setf(err, NSRUN_STAGE_POLICY, r, NULL, NULL, __VA_ARGS__)

static struct plan_op *build_add_op(struct nsrun_plan *plan, enum plan_op_kind kind, const char *target,
                                    const char *below) {
        struct plan_op *op;
        char *path;

        if (ARRAY_GROW(plan->ops, plan->n_ops) < 0 ||
            !(path = str_format("%s%s%s", target, *below ? "/" : "", below)))
                return NULL;
        op = &plan->ops[plan->n_ops++];
        *op = (struct plan_op){.kind = kind, .origin = PLAN_BY_COMMAND, .target = path, .parent_mode = 0755};
        return op;
}

/* The mode of folders that are made on the way to what has this mode: where group or others get nothing of
 * that, they get nothing of these. */
static mode_t parent_mode(mode_t mode) {
        return 0755 & ~((mode & 0070) ? 0U : 0050U) & ~((mode & 0007) ? 0U : 0005U);
}

/* The whole of what a descriptor holds; closes it.  `what`: the beginning of the message of a failure. */
static int read_descriptor(int fd, const char *what, char **ret, size_t *ret_n, struct nsrun_error *err) {
        _cleanup_strbuf_ struct strbuf text = {0};
        char part[4096];
        ssize_t got;

        while ((got = sys_read(fd, part, sizeof(part))) != 0)
                if (got > 0)
                        strbuf_add_bytes(&text, part, (size_t)got);
                else if (got != -EINTR)
                        return bwrap_build_fail(err, (int)got, "%s: %s", what, error_words((int)-got));
        (void)sys_close(fd);
        *ret_n = text.length;
        *ret = strbuf_finish(&text);
        return *ret ? 0 : error_oom(err);
}

static int fail_unfound(const char *path, int r, struct nsrun_error *err) {
        return bwrap_build_fail(err, r, "Can't find source path %s: %s", path, error_words(-r));
}

static int canonical(const char *path, char **ret, struct nsrun_error *err) {
        int r = path_canonical(path, ret, NULL);

        return r < 0 ? fail_unfound(path, r, err) : 0;
}

/* ------------------------------------------------------------------- binds */

/* Whether the path is a link of /proc to a namespace of whoever asks, which has no other name.  bubblewrap
 * binds what it is for the child (flatpak writes "--bind-try /proc/self/ns/user /run/.userns"). */
static bool is_namespace_link(const char *path) {
        const char *below = startswith(path, "/proc/self/ns/");
        struct stat st;

        return below && !strchr(below, '/') && sys_stat(path, &st) >= 0;
}

static int add_bind(struct nsrun_plan *plan, const struct bwrap_op *from, struct nsrun_error *err) {
        char *source = NULL;
        struct plan_op *op;
        bool is_magic;
        int r = path_canonical(from->source, &source, NULL);

        if (r == -ENOENT && from->makes_source) {
                r = bwrap_make_source(from->source);
                if (r < 0)
                        return bwrap_build_fail(err, r, "Can't create source path %s: %s", from->source,
                                                error_words(-r));
                r = path_canonical(from->source, &source, NULL);
        }
        is_magic = r == -ENOENT && from->is_optional && is_namespace_link(from->source);
        if (is_magic) {
                source = path_normalise(from->source);
                r = source ? 0 : -ENOMEM;
        }
        if (r == -ENOENT && from->is_optional)
                return 0;
        if (r < 0)
                return fail_unfound(from->source, r, err);
        op = build_add_op(plan, PLAN_BIND, from->target, "");
        if (!op) {
                free(source);
                return error_oom(err);
        }
        op->source = source;
        op->is_read_only = from->is_read_only;
        op->is_device = from->is_device;
        op->is_own_link = is_magic;
        return 0;
}

/* A descriptor belongs to a mount of the caller's namespace: what is bound is the path that it
 * stands for, if that still leads to the same file. */
static int add_bind_fd(struct nsrun_plan *plan, const struct bwrap_op *from, struct nsrun_error *err) {
        char link[32], path[4096];
        struct plan_op *op;
        ssize_t n;

        (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", from->fd);
        n = sys_readlinkat(AT_FDCWD, link, path, sizeof(path) - 1);
        if (n < 0)
                return bwrap_build_fail(err, (int)n, "Invalid fd: %d", from->fd);
        path[n] = '\0';
        op = build_add_op(plan, PLAN_BIND, from->target, "");
        if (!op || !(op->source = strdup(path)))
                return error_oom(err);
        op->source_fd = from->fd;
        op->has_source_fd = true;
        op->is_read_only = from->is_read_only;
        (void)fcntl(from->fd, F_SETFD, FD_CLOEXEC);
        return 0;
}

static int add_overlay(struct nsrun_plan *plan, const struct bwrap_op *from, struct nsrun_error *err) {
        struct plan_op *op = build_add_op(plan, PLAN_OVERLAY, from->target, "");
        int r = 0;

        if (!op)
                return error_oom(err);
        op->is_ephemeral = from->kind == BWRAP_TMP_OVERLAY;
        STRV_FOREACH (option, from->overlay_options) {
                char *text = str_concat(op->text ? op->text : "", op->text ? "," : "", *option);

                if (!text)
                        return error_oom(err);
                free(op->text);
                op->text = text;
        }
        STRV_FOREACH (lower, from->lowers) {
                char *path = NULL;

                r = canonical(*lower, &path, err);
                if (r >= 0 && strv_consume(&op->layers, path) < 0)
                        r = error_oom(err);
                if (r < 0)
                        return r;
        }
        if (from->kind != BWRAP_OVERLAY)
                return 0;
        r = canonical(from->source, &op->source, err);
        return r < 0 ? r : canonical(from->work, &op->work, err);
}

/* ------------------------------------------------------- files and folders */

static int add_data(struct nsrun_plan *plan, const struct bwrap_op *from, struct nsrun_error *err) {
        bool is_bound = from->kind == BWRAP_BIND_DATA;
        struct plan_op *op = build_add_op(plan, is_bound ? PLAN_DATA : PLAN_FILE, from->target, "");
        _cleanup_free_ char *what = str_concat("Can't write data to file ", from->target, "");
        size_t n = 0;
        int r;

        if (!op || !what)
                return error_oom(err);
        op->mode = from->has_perms ? from->perms : is_bound ? 0600 : 0666;
        op->is_read_only = from->is_read_only;
        /* The file's own folder shows no more than the file. */
        if (from->has_perms || is_bound)
                op->parent_mode = parent_mode(op->mode);
        r = read_descriptor(from->fd, what, &op->text, &n, err);
        op->size = n;
        return r;
}

static int add_simple(struct nsrun_plan *plan, enum plan_op_kind kind, const struct bwrap_op *from,
                      struct nsrun_error *err) {
        struct plan_op *op = build_add_op(plan, kind, from->target, "");

        if (!op || (kind == PLAN_SYMLINK && !(op->text = strdup(from->source))))
                return error_oom(err);
        op->mode = from->has_perms || kind == PLAN_CHMOD ? from->perms : 0755;
        if (from->has_perms)
                op->parent_mode = parent_mode(op->mode);
        return 0;
}

static int build_add_tmpfs(struct nsrun_plan *plan, const struct bwrap_op *from, struct nsrun_error *err) {
        struct plan_op *op = build_add_op(plan, PLAN_TMPFS, from->target, "");
        unsigned mode = from->has_perms ? from->perms : 0755;

        if (!op)
                return error_oom(err);
        op->parent_mode = parent_mode(mode);
        op->text = from->size > 0 ? str_format("mode=%#o,size=%ju", mode, (uintmax_t)from->size)
                                  : str_format("mode=%#o", mode);
        return op->text ? 0 : error_oom(err);
}

/* ---------------------------------------------------------- /proc and /dev */

/* Parts of /proc that root may write without any capability are covered, for root alone: an ordinary user
 * can't write them anyway, and a nested sandbox can mount a /proc of its own only where nothing of this one
 * is covered (mount_too_revealing()). */
static int build_add_proc(struct nsrun_plan *plan, const struct bwrap_config *config,
                          const struct bwrap_op *from, struct nsrun_error *err) {
        static const char *const covered[] = {"sys", "sysrq-trigger", "irq", "bus"};
        struct plan_op *op = build_add_op(plan, PLAN_PROC, from->target, "");

        if (!op)
                return error_oom(err);
        op->proc = config->unshare_pid || config->pidns_fd >= 0 ? POLICY_PROC_NEW : POLICY_PROC_BIND;
        for (size_t i = 0; i < ARRAY_SIZE(covered); i++) {
                op = build_add_op(plan, PLAN_COVER, from->target, covered[i]);
                if (!op)
                        return error_oom(err);
                op->is_optional = i > 0 || !(geteuid() == 0 || config->caps_added != 0 ||
                                             (config->has_uid && config->uid == 0));
        }
        return 0;
}

static int build_add_device(struct nsrun_plan *plan, const char *dev, const char *name, const char *source,
                            struct nsrun_error *err) {
        struct plan_op *op = build_add_op(plan, PLAN_BIND, dev, name);

        if (!op || !(op->source = strdup(source)))
                return error_oom(err);
        op->is_device = true;
        return 0;
}

static int add_dev_link(struct nsrun_plan *plan, const char *dev, const char *name, const char *text,
                        struct nsrun_error *err) {
        struct plan_op *op = build_add_op(plan, PLAN_SYMLINK, dev, name);

        return op && (op->text = strdup(text)) ? 0 : error_oom(err);
}

static int add_devices(struct nsrun_plan *plan, const char *dev, struct nsrun_error *err) {
        static const char *const nodes[][2] = {
                {"null", "/dev/null"},     {"zero", "/dev/zero"},       {"full", "/dev/full"},
                {"random", "/dev/random"}, {"urandom", "/dev/urandom"}, {"tty", "/dev/tty"},
        };
        static const char *const links[][2] = {
                {"stdin", "/proc/self/fd/0"}, {"stdout", "/proc/self/fd/1"}, {"stderr", "/proc/self/fd/2"},
                {"fd", "/proc/self/fd"},      {"core", "/proc/kcore"},
        };
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(nodes) && r >= 0; i++)
                r = build_add_device(plan, dev, nodes[i][0], nodes[i][1], err);
        for (size_t i = 0; i < ARRAY_SIZE(links) && r >= 0; i++)
                r = add_dev_link(plan, dev, links[i][0], links[i][1], err);
        return r;
}

/* The terminal that standard output is, as /dev/console.  One of another /dev has no name in this one. */
static int build_add_console(struct nsrun_plan *plan, const char *dev, struct nsrun_error *err) {
        char path[PATH_MAX];

        return ttyname_r(1, path, sizeof(path)) == 0 ? build_add_device(plan, dev, "console", path, err) : 0;
}

static int add_dev(struct nsrun_plan *plan, const struct bwrap_op *from, struct nsrun_error *err) {
        const struct bwrap_op root = {.target = from->target};
        struct plan_op *op;
        int r = build_add_tmpfs(plan, &root, err);

        if (r >= 0)
                r = add_devices(plan, from->target, err);
        if (r < 0)
                return r;
        op = build_add_op(plan, PLAN_DIR, from->target, "shm");
        if (op)
                op->mode = 0755;
        op = op ? build_add_op(plan, PLAN_DIR, from->target, "pts") : NULL;
        if (op)
                op->mode = 0755;
        op = op ? build_add_op(plan, PLAN_DEVPTS, from->target, "pts") : NULL;
        if (!op || !(op->text = strdup("newinstance,ptmxmode=0666,mode=620")))
                return error_oom(err);
        r = add_dev_link(plan, from->target, "ptmx", "pts/ptmx", err);
        return r < 0 ? r : build_add_console(plan, from->target, err);
}

static int add_operation(struct nsrun_plan *plan, const struct bwrap_config *config,
                         const struct bwrap_op *from, struct nsrun_error *err) {
        switch (from->kind) {
        case BWRAP_BIND:
                return add_bind(plan, from, err);
        case BWRAP_BIND_FD:
                return add_bind_fd(plan, from, err);
        case BWRAP_OVERLAY:
        case BWRAP_TMP_OVERLAY:
        case BWRAP_RO_OVERLAY:
                return add_overlay(plan, from, err);
        case BWRAP_PROC:
                return build_add_proc(plan, config, from, err);
        case BWRAP_DEV:
                return add_dev(plan, from, err);
        case BWRAP_TMPFS:
                return build_add_tmpfs(plan, from, err);
        case BWRAP_MQUEUE:
                return add_simple(plan, PLAN_MQUEUE, from, err);
        case BWRAP_DIR:
                return add_simple(plan, PLAN_DIR, from, err);
        case BWRAP_FILE:
        case BWRAP_BIND_DATA:
                return add_data(plan, from, err);
        case BWRAP_SYMLINK:
                return add_simple(plan, PLAN_SYMLINK, from, err);
        case BWRAP_CHMOD:
                return add_simple(plan, PLAN_CHMOD, from, err);
        case BWRAP_REMOUNT_RO:
                return add_simple(plan, PLAN_REMOUNT_RO, from, err);
        }
        return bwrap_build_fail(err, -EINVAL, "Unexpected type %d", (int)from->kind);
}

/* The hidden come last of all: they win over the protected. */
static int add_covers(struct nsrun_plan *plan, enum plan_op_kind kind, char *const *paths,
                      struct nsrun_error *err) {
        STRV_FOREACH (path, paths) {
                _cleanup_free_ char *whole = path_join("/", *path);

                if (!whole || !build_add_op(plan, kind, whole, ""))
                        return error_oom(err);
        }
        return 0;
}

/* ----------------------------------------------------------------- the rest */

/* The old working directory, else home, else the root; or what --chdir says. */
static int add_directories(struct plan_raw *raw, const struct bwrap_config *config) {
        _cleanup_free_ char *cwd = getcwd(NULL, 0);
        const char *home = environment_get(config->env, "HOME");
        int r = 0;

        raw->setup.needs_first_directory = config->chdir != NULL;
        if (config->chdir)
                r = strv_add(&raw->directories, config->chdir);
        if (!config->chdir && cwd && cwd[0] == '/')
                r = strv_add(&raw->directories, cwd);
        if (r >= 0 && !config->chdir && home && *home)
                r = strv_add(&raw->directories, home);
        if (r >= 0 && !config->chdir)
                r = strv_add(&raw->directories, "/");
        STRV_FOREACH (directory, raw->directories)
                if (r >= 0)
                        r = strv_consume(&raw->pwd, str_format("PWD=%s", *directory));
        return r;
}

static int build_add_environment(struct nsrun_plan *plan, const struct bwrap_config *config) {
        int r = 0;

        STRV_FOREACH (variable, config->env)
                if (r >= 0 && !startswith(*variable, "PWD="))
                        r = strv_add(&plan->env, *variable);
        /* The last entry of the environment is PWD: the child replaces it when it knows which folder it
         * could enter. */
        return r < 0 ? r : strv_add(&plan->env, plan->raw->pwd[0]);
}

static int build_add_command(struct nsrun_plan *plan, const struct bwrap_config *config) {
        int r;

        if (!(plan->raw->file = strdup(config->argv[0])) || strv_copy(config->argv, &plan->argv) < 0)
                return -ENOMEM;
        if (config->argv0) {
                char *name = strdup(config->argv0);

                if (!name)
                        return -ENOMEM;
                free(plan->argv[0]);
                plan->argv[0] = name;
        }
        if (config->hostname && !(plan->hostname = strdup(config->hostname)))
                return -ENOMEM;
        if (config->file_label && !(plan->raw->file_label = strdup(config->file_label)))
                return -ENOMEM;
        if (config->exec_label && !(plan->raw->exec_label = strdup(config->exec_label)))
                return -ENOMEM;
        r = strv_copy(config->lock_files, &plan->raw->lock_files);
        if (r >= 0)
                r = add_directories(plan->raw, config);
        return r < 0 ? r : build_add_environment(plan, config);
}

static void choose_namespaces(struct plan_raw *raw, const struct bwrap_config *config) {
        raw->namespaces = CLONE_NEWNS | (config->unshare_ipc ? CLONE_NEWIPC : 0U) |
                          (config->unshare_pid ? CLONE_NEWPID : 0U) |
                          (config->unshare_net ? CLONE_NEWNET : 0U) |
                          (config->unshare_uts ? CLONE_NEWUTS : 0U) |
                          (config->unshare_cgroup || config->unshare_cgroup_try ? CLONE_NEWCGROUP : 0U);
        if (config->unshare_cgroup_try && !config->unshare_cgroup)
                raw->optional |= CLONE_NEWCGROUP;
        /* An ordinary user can make no other namespace without one of users. */
        if (config->unshare_user || config->unshare_user_try || (geteuid() != 0 && config->userns_fd < 0))
                raw->namespaces |= CLONE_NEWUSER;
        if (config->unshare_user_try && !config->unshare_user && geteuid() == 0)
                raw->optional |= CLONE_NEWUSER;
}

/* Root keeps what it has, and a new user namespace gives it no more; anyone else has nothing
 * but what --cap-add says. */
static void choose_capabilities(struct plan_raw *raw, const struct bwrap_config *config) {
        bool is_root = geteuid() == 0, is_new = (raw->namespaces & CLONE_NEWUSER) || config->userns_fd >= 0;
        uint64_t own = 0;

        if (is_root && sys_capget(&own) < 0)
                own = UINT64_MAX;
        raw->identity.capabilities = (own & config->caps_kept) | config->caps_added;
        raw->identity.keeps_through_exec = config->caps_kept != UINT64_MAX || config->caps_added != 0;
        raw->identity.keeps_capabilities =
                is_root && !is_new && config->caps_kept == UINT64_MAX && config->caps_added == 0;
}

static int add_filters(struct plan_raw *raw, const struct bwrap_config *config, struct nsrun_error *err) {
        raw->filters = calloc(config->n_seccomp_fds + 1, sizeof(*raw->filters));
        if (!raw->filters)
                return error_oom(err);
        for (size_t i = 0; i < config->n_seccomp_fds; i++) {
                char *text = NULL;
                size_t n = 0;
                int r = read_descriptor(config->seccomp_fds[i], "Can't read seccomp data", &text, &n, err);

                if (r < 0)
                        return r;
                raw->filters[raw->n_filters].filter = (struct sock_filter *)(void *)text;
                raw->filters[raw->n_filters++].len = (unsigned short)(n / sizeof(struct sock_filter));
                if (n % sizeof(struct sock_filter) != 0)
                        return bwrap_build_fail(err, -EINVAL, "Invalid seccomp data, must be multiple of 8");
                if (n / sizeof(struct sock_filter) > UINT16_MAX)
                        return bwrap_build_fail(err, -EINVAL, "Invalid seccomp data, too long");
        }
        return 0;
}

/* It is installed after the caller's own filters: of all verdicts on a call the kernel takes the strictest.
 */
static int build_load_policy(struct nsrun_plan *plan, const struct bwrap_config *config,
                             struct nsrun_error *err) {
        struct nsrun_error why = {0};
        int r;

        if (!config->seccomp_policy)
                return 0;
        r = seccomp_load(config->seccomp_policy, false, &plan->seccomp, &why);
        if (r < 0)
                return bwrap_build_fail(err, r, "Can't load seccomp policy %s: %s%s%s",
                                        config->seccomp_policy, why.what, why.error ? ": " : "",
                                        why.error ? error_words(why.error) : "");
        if (config->report_fd >= 0 && fcntl(config->report_fd, F_GETFD) < 0)
                return bwrap_build_fail(err, -EBADF, "Can't write to report fd: %s", error_words(EBADF));
        plan->seccomp_name = strdup(config->seccomp_policy);
        return plan->seccomp_name ? 0 : error_oom(err);
}

/* A kernel that can't is refused, for without the scope the command reaches X11 and D-Bus. */
static int choose_scopes(struct plan_raw *raw, const struct bwrap_config *config, struct nsrun_error *err) {
        static const char what[] = "Can't scope abstract unix sockets";
        int abi = config->scopes_sockets ? sys_landlock_abi() : LANDLOCK_ABI_SCOPES;

        if (abi == -ENOSYS)
                return bwrap_build_fail(err, abi, "%s: the kernel, or a seccomp filter, has no Landlock",
                                        what);
        if (abi == -EOPNOTSUPP)
                return bwrap_build_fail(
                        err, abi, "%s: Landlock is switched off: the kernel's lsm= parameter has to name it",
                        what);
        if (abi < 0)
                return bwrap_build_fail(err, abi, "%s: %s", what, error_words(-abi));
        if (abi < LANDLOCK_ABI_SCOPES)
                return bwrap_build_fail(
                        err, -EOPNOTSUPP,
                        "%s: the kernel's Landlock has ABI %d, and that takes %d, of Linux 6.12", what, abi,
                        LANDLOCK_ABI_SCOPES);
        if (config->scopes_sockets)
                raw->scopes = HARDEN_SCOPE_SOCKETS;
        return 0;
}

/* The reaper keeps --sync-fd's that are open, and the command does where there is no reaper.  The command
 * gets none of the others. */
static int keep_from_command(struct plan_raw *raw, const struct bwrap_config *config) {
        const int own[] = {config->block_fd,       config->userns_block_fd, config->info_fd,
                           config->json_status_fd, config->userns_fd,       config->userns2_fd,
                           config->pidns_fd,       config->netns_fd,        config->report_fd};

        for (size_t i = 0; i < ARRAY_SIZE(own); i++)
                if (own[i] >= 0)
                        (void)fcntl(own[i], F_SETFD, FD_CLOEXEC);
        if (!raw->setup.has_reaper)
                return 0;
        for (size_t i = 0; i < config->n_sync_fds; i++) {
                if (fcntl(config->sync_fds[i], F_SETFD, FD_CLOEXEC) < 0)
                        continue;
                if (ARRAY_GROW(raw->held_fds, raw->n_held_fds) < 0)
                        return -ENOMEM;
                raw->held_fds[raw->n_held_fds++] = config->sync_fds[i];
        }
        return 0;
}

static int build_fill_raw(struct nsrun_plan *plan, const struct bwrap_config *config,
                          struct nsrun_error *err) {
        struct plan_raw *raw = plan->raw;
        int r = 0;

        raw->setup.start_fd = raw->setup.exec_fd = raw->setup.join_pidfd = raw->setup.console_socket = -1;
        raw->identity.userns_fd = config->userns2_fd;
        raw->setup.userns_block_fd = config->userns_block_fd;
        raw->identity.block_fd = config->block_fd;
        plan->host_uid = geteuid();
        plan->host_gid = getegid();
        plan->uid = config->has_uid ? config->uid : plan->host_uid;
        plan->gid = config->has_gid ? config->gid : plan->host_gid;
        plan->net = config->unshare_net ? POLICY_NET_NONE : POLICY_NET_HOST;
        plan->new_session = config->new_session;

        raw->setup.has_reaper = !config->as_pid_1 && (config->unshare_pid || config->lock_files ||
                                                      config->n_sync_fds > 0 || config->report_fd >= 0);
        raw->setup.disables_userns = config->disable_userns;
        raw->identity.needs_no_userns = config->assert_userns_disabled;
        choose_namespaces(raw, config);
        choose_capabilities(raw, config);
        raw->identity.takes_uid = config->has_uid && config->userns_fd >= 0;
        raw->identity.takes_gid = config->has_gid && config->userns_fd >= 0;
        if (keep_from_command(raw, config) < 0)
                return error_oom(err);
        for (size_t i = 0; i < config->n_ops && r >= 0; i++)
                r = add_operation(plan, config, &config->ops[i], err);
        if (r >= 0)
                r = add_covers(plan, PLAN_PROTECT, config->protect, err);
        if (r >= 0)
                r = add_covers(plan, PLAN_HIDE, config->hide, err);
        if (r >= 0)
                r = choose_scopes(raw, config, err);
        if (r >= 0)
                r = add_filters(raw, config, err);
        if (r >= 0)
                r = build_load_policy(plan, config, err);
        if (r >= 0 && build_add_command(plan, config) < 0)
                r = error_oom(err);
        return r;
}

int bwrap_build(const struct bwrap_config *config, struct nsrun_plan **ret, struct nsrun_error *err) {
        struct nsrun_plan *plan = calloc(1, sizeof(*plan));
        int r;

        if (!plan || !(plan->raw = calloc(1, sizeof(*plan->raw)))) {
                free(plan);
                return error_oom(err);
        }
        r = build_fill_raw(plan, config, err);
        if (r < 0) {
                plan_free(plan);
                return r;
        }
        *ret = plan;
        return 0;
}

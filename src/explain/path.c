/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "path.h"

#include <fcntl.h>
#include <inttypes.h>

#include "base/path.h"
#include "base/sys.h"
#include "host/project.h"
#include "never.h"
#include "policy/options.h"
#include "protect/protect_names.h"

#define PROTECTED "%s is protected, since programs on the host obey it"

/* Of a path with more parts than people make nothing is told: each is looked at. */
#define DEPTH_MOST 256

const struct plan_op *explain_covering(const struct nsrun_plan *plan, const char *path) {
        const struct plan_op *found = NULL;

        for (size_t i = 0; i < plan->n_ops; i++) {
                const struct plan_op *op = &plan->ops[i];

                if (path_is_beneath(path, op->target) &&
                    (!found || strlen(op->target) >= strlen(found->target)))
                        found = op;
        }
        return found;
}

bool explain_is_own_tmp(const struct plan_op *op) {
        return op && op->kind == PLAN_TMPFS && !op->is_read_only && streq(op->target, "/tmp");
}

/* Whether the sandbox itself made the path, as a folder on the way to something that is exposed. */
static bool is_on_the_way(const struct nsrun_plan *plan, const char *path) {
        for (size_t i = 0; i < plan->n_ops; i++)
                if (path_is_beneath(plan->ops[i].target, path))
                        return true;
        return false;
}

static bool shows_the_host(const struct nsrun_plan *plan, const struct plan_op *op) {
        /* --home's folder has nothing of what lies in the user's own. */
        bool is_home = op && plan->own_home && op->source && streq(op->source, plan->own_home);

        return op && !is_home && (op->kind == PLAN_BIND || op->kind == PLAN_OVERLAY);
}

/* What of a path may be looked for on the host: *ret_all of it, or only its part of that many bytes; 0:
 * nothing. */
static size_t tellable(const struct nsrun_plan *plan, const char *path) {
        static const char *const system[] = {"/bin", "/dev",  "/etc",  "/gnu", "/lib", "/lib64",  "/nix",
                                             "/opt", "/sbin", "/snap", "/srv", "/usr", "/var/lib"};
        _cleanup_free_ char *around = plan->project ? path_parent(plan->project) : NULL;
        const char *const folders[] = {around, plan->home};
        size_t n = 0;

        for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
                const char *below =
                        folders[i] && !streq(folders[i], "/") ? path_below(path, folders[i]) : NULL;
                struct stat st;

                /* What is beside a project in a folder of everybody's, as /tmp, is others'. */
                if (below && *below && (i == 1 || (stat(folders[i], &st) >= 0 && !(st.st_mode & S_IWOTH))))
                        n = (size_t)(below - path) + strcspn(below, "/") > n
                                    ? (size_t)(below - path) + strcspn(below, "/")
                                    : n;
        }
        return n == 0 && path_is_beneath_any(path, system, ARRAY_SIZE(system)) ? strlen(path) : n;
}

/* Whether the host has a device of that name, or a folder of devices, in its own /dev.  Neither /dev/fd,
 * which has nsrun's descriptors, nor /dev/shm, where everybody's files are, leads there: whether they exist
 * isn't told.
 */
static bool host_has_device(const char *path) {
        const char *below = path_below(path, "/dev");
        _cleanup_close_ int folder = sys_open(AT_FDCWD, "/dev", O_PATH | O_DIRECTORY, 0), fd = -EBADF;
        struct stat st;

        if (folder < 0 || !below || !*below)
                return false;
        fd = sys_openat2(folder, below, O_PATH | O_CLOEXEC, 0,
                         RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV);
        return fd >= 0 && sys_fstat(fd, &st) >= 0 &&
               (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode) || S_ISDIR(st.st_mode));
}

/* Devices of the host are shown by words of their own, where there are such.  0 or -ENOMEM. */
static int explain_device(const char *path, char **ret) {
        static const struct {
                const char *device, *option;
        } devices[] = {{"/dev/kvm", "kvm"},  {"/dev/fuse", "fuse"},     {"/dev/dri", "gpu"},
                       {"/dev/kfd", "gpu"},  {"/dev/nvidiactl", "gpu"}, {"/dev/nvidia0", "gpu"},
                       {"/dev/snd", "sound"}};
        const char *option = NULL;

        for (size_t i = 0; i < ARRAY_SIZE(devices); i++)
                for (size_t k = 0; k < n_policy_options && path_is_beneath(path, devices[i].device); k++)
                        if (streq(policy_options[k].name, devices[i].option))
                                option = devices[i].option;
        if (!host_has_device(path))
                return 0;
        *ret = str_format("%s is a device of the host's, which isn't shown: %s%s%s%s", path,
                          option ? "--" : "", option ? option : "nothing",
                          option && streq(option, "fuse") ? " --seccomp=nested" : "",
                          option ? " shows it" : " allows it");
        return *ret ? 0 : -ENOMEM;
}

/* Folders of a home that hold those of many programs, tokens among them. */
static const char *const shared[] = {".local/share/", ".local/state/", ".local/", ".config/", ".cache/"};

static bool is_of_many(const struct nsrun_plan *plan, const char *path) {
        const char *below = plan->home ? path_below(path, plan->home) : NULL;

        for (size_t i = 0; below && i < ARRAY_SIZE(shared); i++)
                if (strlen(below) == strlen(shared[i]) - 1 && startswith(shared[i], below))
                        return true;
        return false;
}

/* A part of the path in one of these; or 0. */
static size_t part_of_shared(const struct nsrun_plan *plan, const char *path) {
        const char *below = plan->home ? path_below(path, plan->home) : NULL;

        for (size_t i = 0; below && i < ARRAY_SIZE(shared); i++)
                if (startswith(below, shared[i]))
                        return (size_t)(below - path) + strlen(shared[i]) +
                               strcspn(below + strlen(shared[i]), "/");
        return 0;
}

/* Whether the user could use what is there, were it exposed. */
static bool is_usable(const char *path) {
        struct stat st;

        return stat(path, &st) >= 0 &&
               (access(path, X_OK) == 0 || (!S_ISDIR(st.st_mode) && access(path, R_OK) == 0));
}

static size_t count_slashes(const char *path) {
        size_t n = 0;

        for (; (path = strchr(path, '/')); path++)
                n++;
        return n;
}

/* Of a system root. */
#define NEVER_WHOLE "--rw exposes a folder in it, never all of it"

/* Whether a symlink of the sandbox's own, as /bin, leads to what shows the host. */
static bool leads_to_the_host(const struct nsrun_plan *plan, const struct plan_op *link, const char *path) {
        _cleanup_free_ char *folder = path_parent(link->target),
                            *said = path_is_absolute(link->text) ? strdup(link->text)
                                    : folder                     ? path_join(folder, link->text)
                                                                 : NULL,
                            *led = said ? str_concat(said, path + strlen(link->target), "") : NULL,
                            *normal = led ? path_normalise(led) : NULL;

        return normal && shows_the_host(plan, explain_covering(plan, normal));
}

/* Where symlinks in what is exposed lead on the host; NULL: there are none, or that is exposed, too.
 * -ENOMEM.
 */
static int find_led_out(const struct nsrun_plan *plan, const struct plan_op *op, const char *path,
                        char **ret) {
        _cleanup_free_ char *hosts = op->source ? str_concat(op->source, path + strlen(op->target), "")
                                                : NULL,
                            *led = NULL;
        int r = !op->source ? -ENOENT : hosts ? path_canonical_to_be(hosts, &led) : -ENOMEM;

        if (r >= 0 && !streq(led, hosts) && !shows_the_host(plan, explain_covering(plan, led)))
                *ret = TAKE_PTR(led);
        return r == -ENOMEM ? r : 0;
}

/* A path that isn't inside: what of it is on the host and isn't exposed.  0 or -ENOMEM. */
static int explain_absent(const struct nsrun_plan *plan, const char *path, bool to_write, char **ret) {
        const struct plan_op *op = explain_covering(plan, path);
        size_t n = tellable(plan, path), n_own = part_of_shared(plan, path);
        _cleanup_free_ char *part = NULL, *word = NULL;
        int r;

        if (op && op->kind == PLAN_SYMLINK && leads_to_the_host(plan, op, path))
                return 0;
        if (shows_the_host(plan, op)) {
                _cleanup_free_ char *led = NULL;

                r = find_led_out(plan, op, path, &led);
                return r < 0 || !led ? r : explain_absent(plan, led, to_write, ret);
        }
        if (is_on_the_way(plan, path) || is_of_many(plan, path) || count_slashes(path) > DEPTH_MOST)
                return 0;
        if (path_is_beneath(path, "/dev"))
                return explain_device(path, ret);
        r = explain_never(plan, path, to_write, ret);
        if (r < 0 || *ret)
                return r;
        if (explain_is_own_tmp(op) && !to_write) {
                r = explain_never_of_tmp(path, ret);
                if (r < 0 || *ret)
                        return r;
                word = str_shell_quote(path);
                *ret = word ? str_format(
                                      "%s isn't in the sandbox's /tmp, which is its own: --ro %s exposes the "
                                      "host's, if it is there",
                                      path, word)
                            : NULL;
                return *ret ? 0 : -ENOMEM;
        }
        if (n_own > 0) {
                _cleanup_free_ char *own = strndup(path, n_own), *never = NULL;

                word = own ? str_shell_quote(own) : NULL;
                if (!word || explain_never(plan, own, true, &never) < 0)
                        return -ENOMEM;
                *ret = str_format(
                        "%s is not exposed by policy, whether it exists or not: --ro %s exposes it%s", own,
                        word, never ? "" : ", --rw writable");
                return *ret ? 0 : -ENOMEM;
        }
        part = n > 0 ? strndup(path, n) : NULL;
        if (n > 0 && !part)
                return -ENOMEM;
        /* Of a path that is missing on the host, too, the folder may be what isn't exposed. */
        while (part && *part && !is_on_the_way(plan, part) &&
               !shows_the_host(plan, explain_covering(plan, part))) {
                r = explain_never(plan, part, to_write, ret);
                if (r < 0 || *ret)
                        return r;
                if (access(part, F_OK) == 0 && (!is_usable(part) || explain_is_whole_system(part)))
                        return 0;
                if (access(part, F_OK) == 0) {
                        bool may_write = explain_may_write(part), is_root = writable_denied(part);
                        _cleanup_free_ char *never = NULL;

                        word = str_shell_quote(part);
                        if (!word || explain_never(plan, part, true, &never) < 0)
                                return -ENOMEM;
                        *ret = to_write && !may_write
                                       ? str_format("%s is on the host, and the user may not write there "
                                                    "either: nothing allows it",
                                                    part)
                               : to_write && is_root
                                       ? str_format("%s is on the host and isn't exposed: " NEVER_WHOLE,
                                                    part)
                                       : str_format(
                                                 "%s is on the host and isn't exposed: %s %s exposes it%s",
                                                 part, to_write ? "--rw" : "--ro", word,
                                                 to_write                         ? ", writable"
                                                 : never || !may_write || is_root ? ""
                                                                                  : ", --rw writable");
                        return *ret ? 0 : -ENOMEM;
                }
                *strrchr(part, '/') = '\0';
        }
        return 0;
}

/* What is exposed around a protected name, writable: the outermost, below which --no-protect names it. NULL:
 * there is none. */
static const struct plan_op *writable_around(const struct nsrun_plan *plan, const struct plan_op *op) {
        const struct plan_op *found = NULL;

        /* The user's own --ro protects nothing by a name. */
        if (op && op->origin == PLAN_BY_READABLE)
                return NULL;
        while (op && !streq(op->target, "/")) {
                _cleanup_free_ char *parent = path_parent(op->target);

                op = parent ? explain_covering(plan, parent) : NULL;
                /* A worktree may lie in its repository. */
                if (!shows_the_host(plan, op) || op->is_read_only ||
                    (op->origin == PLAN_BY_GIT && found && path_is_beneath(found->target, plan->project)))
                        break;
                found = op;
        }
        return found;
}

bool explain_is_protected(const struct nsrun_plan *plan, const char *path) {
        const struct plan_op *op = explain_covering(plan, path);

        return op && op->kind == PLAN_BIND && op->is_read_only && !op->text && writable_around(plan, op);
}

/* Whether --rw may be of use: in the home nothing is told.  What isn't in the root has no folder to expose.
 */
static bool can_be_exposed(const struct nsrun_plan *plan, const char *path) {
        return (plan->home && path_is_beneath(path, plan->home)) ||
               (explain_may_write(path) && (strrchr(path, '/') != path || access(path, F_OK) == 0));
}

/* What the command has a version of its own of it may write, and not replace. */
static int explain_write(const struct nsrun_plan *plan, const char *path, bool to_replace, char **ret) {
        const struct plan_op *op = explain_covering(plan, path), *around = writable_around(plan, op);
        const char *name = op && around ? path_below(op->target, around->target) : NULL;
        const bool is_writable = op && op->kind == PLAN_BIND && !op->is_read_only;
        _cleanup_free_ char *word = NULL, *in_git = NULL;
        bool is_closed;
        int r;

        if (name && around->origin == PLAN_BY_GIT && !(name = in_git = str_concat(".git", "/", name)))
                return -ENOMEM;

        /* A folder that the command has made goes on inside, as a mount point. */
        if (is_writable && to_replace && (name = protect_name_of(plan->protected, path))) {
                word = str_shell_quote(name);
                *ret = word ? str_format(PROTECTED ": --no-protect %s lifts that", path, word) : NULL;
                return *ret ? 0 : -ENOMEM;
        }
        if (is_writable ||
            (op && op->kind == PLAN_BIND && op->text && !(to_replace && streq(op->target, path))))
                return 0;
        is_closed = op && op->kind == PLAN_BIND && access(op->source, W_OK) < 0;
        r = around || is_closed
                    ? 0
                    : explain_never(plan, op && op->kind == PLAN_BIND ? op->target : path, true, ret);
        if (r < 0 || *ret)
                return r;
        if (op && op->kind == PLAN_BIND) {
                word = str_shell_quote(name ? name : op->target);
                if (!word)
                        return -ENOMEM;
        }
        if (name && str_is_pattern(name))
                *ret = str_format(PROTECTED, op->target);
        else if (op && op->kind == PLAN_BIND && around)
                *ret = str_format(PROTECTED ": --no-protect %s lifts that", op->target, word);
        else if (is_closed)
                *ret = str_format(
                        "%s is read-only, and the user may not write there on the host either: nothing "
                        "allows it",
                        op->target);
        else if (op && op->kind == PLAN_BIND && writable_denied(op->target))
                *ret = str_format("%s is exposed read-only: " NEVER_WHOLE, op->target);
        else if (op && op->kind == PLAN_BIND)
                *ret = str_format("%s is exposed read-only: --rw %s makes it writable", op->target, word);
        else if (!op || op->kind == PLAN_DIR || (op->kind == PLAN_TMPFS && op->is_read_only))
                *ret = str_format(
                        "%s lies outside of what is exposed, where the sandbox is read-only: %s", path,
                        can_be_exposed(plan, path)
                                ? "--rw exposes a folder of the host's, --tmpfs makes an empty one"
                        : explain_may_write(path)
                                ? "--tmpfs makes an empty folder"
                                : "--tmpfs makes an empty folder; on the host the user may not write "
                                  "there either");
        else
                return 0;
        return *ret ? 0 : -ENOMEM;
}

enum {
        ROUGH_SIZE = 24 /* bytes of a size as people read it */
};

/* "64M", as the options take it, rounded down where it is long. */
static const char *rough_size(uint64_t size, char to[ROUGH_SIZE]) {
        static const char suffixes[] = "\0KMGT";
        size_t i = 0;

        for (; i < 4 && size > 0 && (size % 1024 == 0 || size >= 10240); i++)
                size /= 1024;
        (void)snprintf(to, ROUGH_SIZE, "%ju%.1s", (uintmax_t)size, &suffixes[i]);
        return to;
}

/* What --tmpfs-size bounds has the size that /dev/shm has, or is an overlay in memory; what has another one
 * got it of --tmpfs. */
static int explain_space(const struct nsrun_plan *plan, const struct plan_op *op, char **ret) {
        bool is_overlay = op && op->kind == PLAN_OVERLAY && plan->backing != POLICY_BACKING_DISK;
        bool is_tmpfs = op && op->kind == PLAN_TMPFS && !op->is_read_only && !op->is_hiding;
        const struct plan_op *usual = explain_covering(plan, "/dev/shm");
        char size[ROUGH_SIZE], more[ROUGH_SIZE];
        bool is_own = is_tmpfs && usual && usual->kind == PLAN_TMPFS && op->size != usual->size;
        _cleanup_free_ char *quoted = is_own ? str_shell_quote(op->target) : NULL;

        if (!is_overlay && !is_tmpfs)
                return 0;
        if (is_own && !quoted)
                return -ENOMEM;
        *ret = str_format("%s is %s, and its %s are full: %s%s%s%s gives it more", op->target,
                          is_overlay ? "an overlay in memory" : "a tmpfs of the sandbox's",
                          rough_size(op->size, size), is_own ? "--tmpfs " : "--tmpfs-size ",
                          is_own ? quoted : "", is_own ? ":" : "", rough_size(op->size * 4, more));
        return *ret ? 0 : -ENOMEM;
}

int explain_path(const struct nsrun_plan *plan, const char *path, enum refused how, char **ret) {
        _cleanup_free_ char *normal = path_normalise(path);
        const struct plan_op *op;

        *ret = NULL;
        if (!normal)
                return -ENOMEM;
        op = explain_covering(plan, normal);
        if (op && op->kind == PLAN_HIDE && how != REFUSED_SPACE) {
                *ret = str_format("%s is hidden%s", op->target,
                                  op->origin == PLAN_BY_SYSTEM ? " from root" : ": a --hide names it");
                return *ret ? 0 : -ENOMEM;
        }
        if (how == REFUSED_ABSENT || how == REFUSED_MAKE)
                return explain_absent(plan, normal, how == REFUSED_MAKE, ret);
        if (how == REFUSED_WRITE || how == REFUSED_REPLACE)
                return explain_write(plan, normal, how == REFUSED_REPLACE, ret);
        return how == REFUSED_SPACE ? explain_space(plan, op, ret) : 0;
}

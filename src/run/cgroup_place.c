/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Looks for a cgroup in which a child with the wanted controllers can be made: from this process's
 * own upwards, to the top of what is mounted.  The first one that fits is taken. */
#include "cgroup_place.h"

#include <poll.h>
#include <sys/file.h>

#include "base/causes.h"
#include "base/file.h"
#include "base/path.h"
#include "base/str.h"

static const char *const names[] = {"memory", "pids", "cpu"};

void cgroup_place_clear(struct cgroup_place *place) {
        close_fdp(&place->fd);
        free(place->path);
        *place = CGROUP_PLACE_INIT;
}

/* The names of `controllers`, separated by commas. */
static void cgroup_names(unsigned controllers, char to[32]) {
        to[0] = '\0';
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (controllers & (1U << i)) {
                        strcat(to, *to ? ", " : "");
                        strcat(to, names[i]);
                }
}

/* The whole text of one of the kernel's files; NULL if it can't be read. */
static char *cgroup_place_read_text(int dir, const char *name) {
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
        char part[4096];
        ssize_t n;

        if (fd < 0)
                return NULL;
        while ((n = read(fd, part, sizeof(part))) > 0)
                strbuf_add_bytes(&b, part, (size_t)n);
        if (b.length == 0)
                strbuf_add(&b, "");
        return n < 0 ? NULL : strbuf_finish(&b);
}

/* Takes a field of a mountinfo line, in which \040 stands for a space, and moves *at behind it. */
static char *take_field(const char **at) {
        size_t length = strcspn(*at, " \n");
        char *field = strndup(*at, length), *to = field;

        for (const char *from = field; field && *from;) {
                if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] && from[3]) {
                        *to++ = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
                        from += 4;
                } else {
                        *to++ = *from++;
                }
        }
        if (field)
                *to = '\0';
        *at += length;
        *at += **at == ' ';
        return field;
}

/* Finds the folder of the cgroup `own` if a mountinfo line is of a cgroup2 mount that shows it.  1
 * with *ret; 0 if not. */
static int folder_of_mount(const char *line, const char *own, char **ret) {
        const char *end = line + strcspn(line, "\n"), *type = strstr(line, " - ");
        _cleanup_free_ char *root = NULL, *point = NULL;
        const char *below;

        if (!type || type > end || !startswith(type, " - cgroup2 "))
                return 0;
        for (size_t i = 0; i < 3; i++)
                line += strcspn(line, " ") + 1;
        root = take_field(&line);
        point = root ? take_field(&line) : NULL;
        if (!point)
                return -ENOMEM;
        below = path_below(own, root);
        if (!below)
                return 0;
        *ret = *below ? path_join(point, below) : strdup(point);
        return *ret ? 1 : -ENOMEM;
}

int cgroup_folder(const char *mountinfo, const char *cgroup, char **ret) {
        const char *own = startswith(cgroup, "0::") ? cgroup : strstr(cgroup, "\n0::");
        _cleanup_free_ char *path = NULL;

        if (!own)
                return -ENOENT;
        own += strcspn(own, "/");
        /* The process's cgroup lies above the root of this cgroup namespace. */
        if (startswith(own, "/.."))
                return -ENOENT;
        path = strndup(own, strcspn(own, "\n"));
        if (!path)
                return -ENOMEM;
        for (const char *line = mountinfo; *line; line += strcspn(line, "\n"), line += *line == '\n') {
                int r = folder_of_mount(line, path, ret);

                if (r != 0)
                        return r < 0 ? r : 0;
        }
        return -ENOENT;
}

/* The controllers that are listed in a cgroup's file. */
static unsigned read_controllers(int fd, const char *name) {
        _cleanup_free_ char *text = cgroup_place_read_text(fd, name);
        unsigned found = 0;

        for (const char *at = text; at && *at;) {
                size_t n = strcspn(at, " \n");

                for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                        if (strlen(names[i]) == n && memcmp(names[i], at, n) == 0)
                                found |= 1U << i;
                at += n;
                at += *at != '\0';
        }
        return found;
}

int cgroup_switch(int fd, unsigned controllers, char sign) {
        _cleanup_close_ int file = openat(fd, "cgroup.subtree_control", O_WRONLY | O_CLOEXEC);
        char text[64] = "";

        if (file < 0)
                return -errno;
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (controllers & (1U << i)) {
                        size_t n = strlen(text);

                        (void)snprintf(text + n, sizeof(text) - n, "%s%c%s", n > 0 ? " " : "", sign,
                                       names[i]);
                }
        return write(file, text, strlen(text)) < 0 ? -errno : 0;
}

/* Whether a process can be started in a child of the cgroup: that takes the right to write both
 * cgroup.procs. */
static bool is_writable(int fd) {
        return faccessat(fd, ".", W_OK, AT_EACCESS) == 0 &&
               faccessat(fd, "cgroup.procs", W_OK, AT_EACCESS) == 0;
}

/* Whether this process is alone in the cgroup.  (Processes of another pid namespace read as 0.) */
static bool is_alone(int fd) {
        _cleanup_free_ char *text = cgroup_place_read_text(fd, "cgroup.procs");
        char own[24];

        (void)snprintf(own, sizeof(own), "%d\n", getpid());
        return text && streq(text, own);
}

/* The kernel's root cgroup has no cgroup.type, and processes in it are no hindrance. */
static bool is_kernels_root(int fd) {
        return faccessat(fd, "cgroup.type", F_OK, 0) < 0;
}

/* Whether a process can be in a child of the cgroup.  Not where the cgroup has both processes and children
 * with pids or cpu, which the kernel allows: it is "domain threaded" then, and the children are "domain
 * invalid". */
static bool is_domain(int fd) {
        _cleanup_free_ char *type = cgroup_place_read_text(fd, "cgroup.type");

        return is_kernels_root(fd) || (type && streq(type, "domain\n"));
}

static bool has_processes(int fd) {
        _cleanup_free_ char *text = cgroup_place_read_text(fd, "cgroup.procs");

        return !text || *text;
}

/* Whether this process may enable `wanted` controllers for the cgroup's children. */
static bool may_enable(int fd, unsigned wanted) {
        return is_writable(fd) && faccessat(fd, "cgroup.subtree_control", W_OK, AT_EACCESS) == 0 &&
               (read_controllers(fd, "cgroup.controllers") & wanted) == wanted;
}

/* Whether this process can leave the cgroup for a child of it, so that controllers can be enabled. */
static bool can_move_out(int fd, unsigned wanted) {
        return may_enable(fd, wanted) && !is_kernels_root(fd) && is_domain(fd) && is_alone(fd);
}

/* Locks the place for as long as it is used, so that a run that ends takes no controller away meanwhile.
 * Anybody can hold the lock of a folder that may be read, so that nothing may depend on having it: who keeps
 * it from one run keeps it from all that would take something away. */
static void cgroup_place_lock(int fd) {
        for (int tries = 0; tries < 20 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK; tries++)
                (void)poll(NULL, 0, 5);
}

/* Whether the cgroup's children have the `wanted` controllers.  With `enables` missing ones are
 * enabled if the cgroup has them; *ret_enabled are these. */
static bool cgroup_place_is_fit(int fd, unsigned wanted, bool enables, unsigned *ret_enabled) {
        unsigned missing;

        if (!is_writable(fd) || !is_domain(fd))
                return false;
        cgroup_place_lock(fd);
        missing = wanted & ~read_controllers(fd, "cgroup.subtree_control");
        if (missing == 0)
                return true;
        if (!enables || !may_enable(fd, missing) || (has_processes(fd) && !is_kernels_root(fd)) ||
            cgroup_switch(fd, missing, '+') < 0)
                return false;
        *ret_enabled = missing;
        /* A process may have come in meanwhile. */
        if (is_domain(fd))
                return true;
        (void)cgroup_switch(fd, missing, '-');
        *ret_enabled = 0;
        return false;
}

/* Whether an entry of the place is a child that is bounded by one of the controllers. */
static int is_bounded(void *data, int place, const struct dirent *entry) {
        static const char *const files[] = {"memory.max", "pids.max", "cpu.max"};
        const unsigned *controllers = data;
        _cleanup_close_ int child =
                entry->d_type == DT_DIR ? openat(place, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                                        : -EBADF;
        bool found = false;

        for (size_t i = 0; child >= 0 && i < ARRAY_SIZE(files); i++) {
                _cleanup_free_ char *text =
                        *controllers & (1U << i) ? cgroup_place_read_text(child, files[i]) : NULL;

                found |= text && !startswith(text, "max");
        }
        return found;
}

void cgroup_place_restore(struct cgroup_place *place) {
        if (place->fd < 0 || place->enabled == 0 || flock(place->fd, LOCK_EX | LOCK_NB) < 0 ||
            folder_each(place->fd, is_bounded, &place->enabled) != 0)
                return;
        (void)cgroup_switch(place->fd, place->enabled, '-');
        place->enabled = 0;
}

/* Whether a folder is of cgroup2; that above the file system's mount point isn't. */
static bool is_cgroup(int fd) {
        return faccessat(fd, "cgroup.subtree_control", F_OK, 0) == 0;
}

/* Finds a cgroup that fits, at or above `own`.  1 with *ret; 0: there is none; -ENOMEM. */
static int cgroup_place_search(const char *own, unsigned wanted, bool enables, struct cgroup_place *ret) {
        _cleanup_free_ char *path = strdup(own);

        while (path) {
                _cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                unsigned enabled = 0;
                char *parent;

                if (fd < 0 || !is_cgroup(fd))
                        return 0;
                if (cgroup_place_is_fit(fd, wanted, enables, &enabled)) {
                        *ret = (struct cgroup_place){
                                .fd = TAKE_FD(fd), .path = TAKE_PTR(path), .enabled = enabled};
                        return 1;
                }
                parent = path_parent(path);
                free(path);
                path = parent;
        }
        return -ENOMEM;
}

/* Whether cgroup v1 has a controller ("4:memory:/x" in /proc/PID/cgroup), so that v2 can't have it. */
static bool is_in_v1(const char *cgroup, const char *name) {
        size_t n = strlen(name);

        for (const char *at = cgroup; (at = strstr(at, name)); at += n)
                if (at > cgroup && (at[-1] == ':' || at[-1] == ',') && (at[n] == ':' || at[n] == ','))
                        return true;
        return false;
}

/* Where no systemd can be asked for a cgroup of one's own. */
static const char move_hint[] =
        "move them to a child of it: cd there; mkdir all; for p in $(cat cgroup.procs); do echo $p "
        ">all/cgroup.procs; done";

static const char own_hint[] = "without systemd it takes a cgroup that nsrun's user may write, with the "
                               "controllers in the cgroup.subtree_control above it";

static bool has_systemd(void) {
        return access("/run/systemd/system", F_OK) == 0;
}

const char *cgroup_v1_fix(void) {
        return has_systemd() ? "boot with systemd.unified_cgroup_hierarchy=1" : "boot with cgroup_no_v1=all";
}

/* Whether other processes in `own` are all that is in the way. */
static bool is_crowded(const char *own, unsigned wanted) {
        _cleanup_close_ int fd = own ? open(own, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -EBADF;

        return fd >= 0 && may_enable(fd, wanted) && has_processes(fd) && !is_alone(fd);
}

static int cgroup_place_fail(const char *cgroup, const char *own, unsigned wanted, struct nsrun_error *err) {
        bool is_shared = is_crowded(own, wanted);
        enum nsrun_error_id id = !own        ? NSRUN_ERROR_NO_CGROUP
                                 : is_shared ? NSRUN_ERROR_CGROUP_CROWDED
                                             : NSRUN_ERROR_CGROUP_REFUSED;
        const struct cause *cause = &causes[id];
        const char *hint = own && !has_systemd() ? is_shared ? move_hint : own_hint
                           : own && geteuid() == 0
                                   ? "systemd-run --scope -p Delegate=yes nsrun ... gives one"
                                   : cause->fix;
        char list[32], of_v1[160];

        cgroup_names(wanted, list);
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if ((wanted & (1U << i)) && is_in_v1(cgroup, names[i])) {
                        (void)snprintf(of_v1, sizeof(of_v1),
                                       "this machine has cgroup v1, with which nsrun bounds nothing: %s%s",
                                       wanted & CGROUP_MEMORY ? "--limit data=SIZE bounds each process, or "
                                                              : "",
                                       cgroup_v1_fix());
                        hint = of_v1;
                }
        return error_identify(err, id,
                              error_setf(err, cause->stage, UNSAID(-EOPNOTSUPP), own, hint, "--limit %s: %s",
                                         list, cause->what));
}

int cgroup_find_own(char **ret, bool *ret_has_v1) {
        _cleanup_free_ char *mountinfo = cgroup_place_read_text(AT_FDCWD, "/proc/self/mountinfo"),
                            *cgroup = cgroup_place_read_text(AT_FDCWD, "/proc/self/cgroup");
        bool has_v1 = false;

        for (size_t i = 0; i < ARRAY_SIZE(names) && cgroup; i++)
                has_v1 |= is_in_v1(cgroup, names[i]);
        if (ret_has_v1)
                *ret_has_v1 = has_v1;
        return mountinfo && cgroup ? cgroup_folder(mountinfo, cgroup, ret) : -ENOENT;
}

int cgroup_find_place(unsigned wanted, bool may_move, struct cgroup_place *ret, struct nsrun_error *err) {
        _cleanup_free_ char *mountinfo = cgroup_place_read_text(AT_FDCWD, "/proc/self/mountinfo"),
                            *cgroup = cgroup_place_read_text(AT_FDCWD, "/proc/self/cgroup"), *own = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (mountinfo && cgroup && cgroup_folder(mountinfo, cgroup, &own) == -ENOMEM)
                return error_oom(err);
        if (!own)
                return cgroup_place_fail(cgroup ? cgroup : "", NULL, wanted, err);
        fd = open(own, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (may_move && fd >= 0 && can_move_out(fd, wanted)) {
                *ret = (struct cgroup_place){
                        .fd = TAKE_FD(fd), .path = TAKE_PTR(own), .is_own = true, .enabled = wanted};
                return 0;
        }
        r = cgroup_place_search(own, wanted, false, ret);
        if (r == 0)
                r = cgroup_place_search(own, wanted, true, ret);
        if (r < 0)
                return error_oom(err);
        return r > 0 ? 0 : cgroup_place_fail(cgroup, own, wanted, err);
}

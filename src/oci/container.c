/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes, finds and removes a container's folder.  What is in it was written by nsrun-oci alone: nobody else
 * may write there. */
#include "container.h"

#include <sys/file.h>

#include "base/file.h"
#include "base/path.h"
#include "base/sys.h"
#include "disk/remove_tree.h"
#include "disk/rundir.h"
#include "host/user.h"
#include "spec.h"

#define CONTAINER_STATE  "container.json"
#define CONTAINER_CONFIG "config.json"
#define CONTAINER_BYTES  (4U * 1024 * 1024)

void container_close(struct container *c) {
        /* A child that was made meanwhile has the lock, too. */
        if (c->folder >= 0)
                container_unlock(c);
        close_fdp(&c->folder);
        free(c->bundle);
        free(c->created);
        json_close(&c->config);
        *c = CONTAINER_INIT;
}

int container_fail(struct nsrun_error *err, int r, const char *id, const char *what) {
        return error_set(err, NSRUN_STAGE_SUPERVISE, r, id, what, NULL);
}

static int check_id(const char *id, struct nsrun_error *err) {
        size_t n = strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-.");

        if (id[n] || n == 0 || n > 255 || id[0] == '.')
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), id, "no container's name",
                                 "letters, digits and _+-. are, without a dot at the beginning");
        return 0;
}

int container_open_root(const char *root, int *ret, struct nsrun_error *err) {
        const char *runtime = getenv("XDG_RUNTIME_DIR"), *hint = NULL;
        _cleanup_free_ char *path =
                root ? strdup(root) : path_join(runtime && *runtime == '/' ? runtime : "/run", "nsrun-oci");
        _cleanup_exposed_ struct exposed known = {0};
        _cleanup_free_ char *canonical = NULL;
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        int r;

        if (!path)
                return error_oom(err);
        if (!root && !runtime)
                hint = "set XDG_RUNTIME_DIR, or name a folder of yours with --root";
        r = rundir_make_folders(path);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, path,
                                 "the folder of containers can't be made", hint);
        fd = sys_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
        r = fd < 0 ? fd : sys_fstat(fd, &st);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, path,
                                 "the folder of containers can't be opened", hint);
        if (st.st_uid != geteuid() || user_writers(fd, &st, (char[USER_WRITERS_SIZE]){0}))
                return container_fail(err, UNSAID(-EPERM), path,
                                      "the folder of containers may be written by others");
        if (r >= 0 && (canonical = fd_name(fd)) && exposed_read(&known) >= 0 &&
            exposed_is_known(&known, canonical))
                return container_fail(err, UNSAID(-EPERM), path,
                                      "the folder of containers lies where an earlier run could write");
        *ret = TAKE_FD(fd);
        return 0;
}

/* ------------------------------------------------------------------- files in it */

static int container_write(int folder, const char *name, const char *text) {
        _cleanup_close_ int fd = sys_open(folder, "new", O_CREAT | O_TRUNC | O_WRONLY | O_NOFOLLOW, 0600);
        int r = fd < 0 ? fd : write_full(fd, text, strlen(text));

        return r >= 0 && renameat(folder, "new", folder, name) < 0 ? -errno : r;
}

static int parse(int folder, const char *name, struct json_document *ret) {
        _cleanup_free_ char *text = NULL;
        int r = read_small_file(folder, name, O_NOFOLLOW, CONTAINER_BYTES, &text);

        return r < 0 ? r : json_parse(ret, text, strlen(text), NULL, NULL);
}

int container_save(struct container *c, struct nsrun_error *err) {
        _cleanup_json_ struct json_document d = json_begin();
        _cleanup_free_ char *text = NULL;
        int r;

        json_add_string(&d, d.root, "bundle", c->bundle);
        json_add_string(&d, d.root, "created", c->created);
        json_add_number(&d, d.root, "pid", (uint64_t)c->process.pid);
        json_add_number(&d, d.root, "inode", c->process.pidfd_inode);
        json_add_number(&d, d.root, "start", c->process.start_time);
        r = json_finish(&d, false, &text, err);
        if (r >= 0 && (r = container_write(c->folder, CONTAINER_STATE, text)) < 0)
                return container_fail(err, r, c->id, "the container's state can't be written");
        return r;
}

static int container_load(struct container *c) {
        _cleanup_json_ struct json_document d = {0};
        int r = parse(c->folder, CONTAINER_STATE, &d);
        uint64_t pid = 0;

        if (r < 0)
                return r;
        if (!json_number(json_get(d.root, "pid"), &pid) || pid > INT32_MAX ||
            !json_number(json_get(d.root, "inode"), &c->process.pidfd_inode) ||
            !json_number(json_get(d.root, "start"), &c->process.start_time) ||
            !json_text(json_get(d.root, "bundle")) || !json_text(json_get(d.root, "created")))
                return -EBADMSG;
        c->process.pid = (pid_t)pid;
        c->bundle = strdup(json_text(json_get(d.root, "bundle")));
        c->created = strdup(json_text(json_get(d.root, "created")));
        if (!c->bundle || !c->created)
                return -ENOMEM;
        return parse(c->folder, CONTAINER_CONFIG, &c->config);
}

/* ----------------------------------------------------------------- its own life */

static char *time_now(void) {
        struct timespec now;
        struct tm parts;
        char day[32];

        if (clock_gettime(CLOCK_REALTIME, &now) < 0 || !gmtime_r(&now.tv_sec, &parts) ||
            strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &parts) == 0)
                return NULL;
        return str_format("%s.%09ldZ", day, now.tv_nsec);
}

static int container_open_folder(int root, const char *id, bool is_locked, struct container *c) {
        int r = c->folder = sys_open(root, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        struct stat st;

        c->id = id;
        if (r >= 0 && is_locked && flock(c->folder, LOCK_EX) < 0)
                r = -errno;
        if (r >= 0)
                r = sys_fstat(c->folder, &st);
        /* It was removed while we waited. */
        return r >= 0 && st.st_nlink == 0 ? -ENOENT : r;
}

int container_make(int root, const char *id, const char *bundle, const char *config, struct container *ret,
                   struct nsrun_error *err) {
        _cleanup_container_ struct container c = CONTAINER_INIT;
        int r = check_id(id, err);

        if (r < 0)
                return r;
        r = sys_mkdirat(root, id, 0700);
        if (r == -EEXIST)
                return container_fail(err, UNSAID(r), id, "there is a container of that name");
        if (r >= 0)
                r = container_open_folder(root, id, true, &c);
        if (r >= 0)
                r = container_write(c.folder, CONTAINER_CONFIG, config);
        if (r >= 0)
                r = parse(c.folder, CONTAINER_CONFIG, &c.config);
        if (r >= 0 && mkfifoat(c.folder, CONTAINER_FIFO, 0600) < 0)
                r = -errno;
        if (r < 0)
                return container_fail(err, r, id, "the container's folder can't be made");
        c.bundle = strdup(bundle);
        c.created = time_now();
        r = c.bundle && c.created ? container_save(&c, err) : error_oom(err);
        if (r < 0)
                return r;
        *ret = c;
        c = CONTAINER_INIT;
        return 0;
}

int container_open_process(const struct container *c) {
        int fd = c->process.pid > 0 ? record_open_process(&c->process) : -ESRCH;

        if (fd >= 0 && record_has_exited(c->process.pid)) {
                (void)sys_close(fd);
                return -ESRCH;
        }
        return fd;
}

static enum container_status find_status(const struct container *c) {
        _cleanup_close_ int process = container_open_process(c);

        if (c->process.pid == 0)
                return CONTAINER_CREATING;
        if (process < 0)
                return CONTAINER_STOPPED;
        return faccessat(c->folder, CONTAINER_FIFO, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ? CONTAINER_CREATED
                                                                                    : CONTAINER_RUNNING;
}

int container_lock(const struct container *c) {
        return flock(c->folder, LOCK_EX) < 0 ? -errno : 0;
}

void container_unlock(const struct container *c) {
        (void)flock(c->folder, LOCK_UN);
}

int container_open(int root, const char *id, bool is_locked, struct container *ret,
                   struct nsrun_error *err) {
        _cleanup_container_ struct container c = CONTAINER_INIT;
        int r = check_id(id, err);

        if (r < 0)
                return r;
        r = container_open_folder(root, id, is_locked, &c);
        if (r == -ENOENT)
                return container_fail(err, UNSAID(r), id, "there is no container of that name");
        if (r >= 0)
                r = container_load(&c);
        if (r == -ENOENT && c.folder >= 0) /* whoever made it died at that */
                r = c.bundle ? 0 : (c.bundle = strdup("")) && (c.created = strdup("")) ? 0 : -ENOMEM;
        if (r < 0)
                return container_fail(err, r, id, "the container's state can't be read");
        c.status = find_status(&c);
        *ret = c;
        c = CONTAINER_INIT;
        return 0;
}

int container_remove(int root, struct container *c, struct nsrun_error *err) {
        int r = remove_contents(c->folder, NULL);

        if (r >= 0)
                r = sys_rmdirat(root, c->id);
        return r < 0 ? container_fail(err, r, c->id, "the container's folder can't be removed") : 0;
}

/* -------------------------------------------------------------------- the state */

const char *container_status_name(enum container_status status) {
        static const char *const names[] = {[CONTAINER_CREATING] = "creating",
                                            [CONTAINER_CREATED] = "created",
                                            [CONTAINER_RUNNING] = "running",
                                            [CONTAINER_STOPPED] = "stopped"};

        return names[status];
}

int container_describe(const struct container *c, bool is_indented, char **ret, struct nsrun_error *err) {
        const struct json_value *annotations = json_get(c->config.root, "annotations");
        _cleanup_json_ struct json_document d = json_begin();

        json_add_string(&d, d.root, "ociVersion", SPEC_VERSION);
        json_add_string(&d, d.root, "id", c->id);
        json_add_string(&d, d.root, "status", container_status_name(c->status));
        json_add_number(&d, d.root, "pid", c->status == CONTAINER_STOPPED ? 0 : (uint64_t)c->process.pid);
        json_add_string(&d, d.root, "bundle", c->bundle);
        json_add_string(&d, d.root, "created", c->created);
        if (json_kind(annotations) == JSON_OBJECT) {
                _cleanup_free_ char *text = json_spell(annotations);

                if (!text)
                        return error_oom(err);
                json_add_json(&d, d.root, "annotations", text);
        }
        return json_finish(&d, is_indented, ret, err);
}

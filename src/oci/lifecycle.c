/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* create, run, start, state, kill, delete, list. */
#include <sys/wait.h>

#include "base/file.h"
#include "base/path.h"
#include "base/sys.h"
#include "command.h"
#include "start.h"

#define CONFIG_BYTES (4U * 1024 * 1024)
#define KILL_WAIT_MS 10000

/* ------------------------------------------------------------------ create and run */

static int read_bundle(const char *folder, char **ret_bundle, char **ret_text, struct nsrun_error *err) {
        _cleanup_free_ char *path = NULL;
        int r = path_canonical(folder ? folder : ".", ret_bundle, NULL);

        if (r < 0)
                return container_fail(err, r, folder, "the bundle can't be found");
        path = path_join(*ret_bundle, "config.json");
        r = path ? read_small_file(AT_FDCWD, path, 0, CONFIG_BYTES, ret_text) : -ENOMEM;
        return r < 0 ? container_fail(err, r, path, "the configuration can't be read") : 0;
}

static int read_spec(const char *bundle, const char *text, struct spec *ret, struct nsrun_error *err) {
        _cleanup_json_ struct json_document d = {0};
        const char *why = NULL;
        size_t line = 0;
        int r = json_parse(&d, text, strlen(text), &line, &why);

        if (r == -EINVAL)
                return error_setf(err, NSRUN_STAGE_POLICY, UNSAID(r), bundle, NULL,
                                  "config.json: line %zu: %s", line, why);
        if (r < 0)
                return container_fail(err, r, bundle, "config.json can't be read");
        return spec_read(d.root, bundle, ret, err);
}

static int create(const struct oci_options *options, struct container *c, struct launch *l,
                  struct nsrun_error *err) {
        const struct start_options how = {.pid_file = options->pid_file,
                                          .console_socket = options->console_socket,
                                          .keeps_keyring = options->keeps_keyring};
        _cleanup_free_ char *bundle = NULL, *text = NULL;
        _cleanup_spec_ struct spec spec = {0};
        int r = read_bundle(options->bundle, &bundle, &text, err);

        if (r >= 0)
                r = read_spec(bundle, text, &spec, err);
        if (r >= 0)
                r = container_make(options->root_fd, options->words[0], bundle, text, c, err);
        if (r < 0)
                return r;
        r = start_create(c, &spec, &how, l, err);
        if (r < 0)
                (void)container_remove(options->root_fd, c, NULL);
        return r;
}

int oci_create(const struct oci_options *options, nsrun_unused int *ret_status, struct nsrun_error *err) {
        _cleanup_container_ struct container c = CONTAINER_INIT;
        struct launch l = LAUNCH_INIT;
        int r = create(options, &c, &l, err);

        launch_close(&l);
        return r;
}

/* What follows an end that has come already can fail, but not undo it: the hooks that are left run, too. */
static int lifecycle_end(int root, struct container *c, struct nsrun_error *err) {
        int r;

        c->status = CONTAINER_STOPPED;
        r = container_remove(root, c, err);
        return r < 0 ? r : hooks_run(c, "poststop", err);
}

int oci_run(const struct oci_options *options, int *ret_status, struct nsrun_error *err) {
        _cleanup_container_ struct container c = CONTAINER_INIT;
        struct launch l = LAUNCH_INIT;
        int r = create(options, &c, &l, err);

        if (r < 0)
                return r;
        r = start_release(&c, err);
        if (r >= 0)
                r = hooks_run(&c, "poststart", err);
        if (r >= 0 && !options->is_detached) {
                close_fdp(&l.report_fd);
                container_unlock(&c);
                *ret_status = start_wait(&l);
                r = container_lock(&c);
                r = r < 0 ? container_fail(err, r, c.id, "the container can't be locked")
                          : lifecycle_end(options->root_fd, &c, err);
        }
        launch_close(&l);
        return r;
}

int oci_start(const struct oci_options *options, nsrun_unused int *ret_status, struct nsrun_error *err) {
        _cleanup_container_ struct container c = CONTAINER_INIT;
        int r = container_open(options->root_fd, options->words[0], true, &c, err);

        if (r >= 0)
                r = start_release(&c, err);
        return r < 0 ? r : hooks_run(&c, "poststart", err);
}

/* ------------------------------------------------------------------ state and list */

int oci_state(const struct oci_options *options, nsrun_unused int *ret_status, struct nsrun_error *err) {
        _cleanup_container_ struct container c = CONTAINER_INIT;
        _cleanup_free_ char *text = NULL;
        int r = container_open(options->root_fd, options->words[0], false, &c, err);

        if (r >= 0)
                r = container_describe(&c, true, &text, err);
        if (r >= 0 && puts(text) < 0)
                r = container_fail(err, -EIO, NULL, "the state can't be written");
        return r;
}

struct listing {
        const struct oci_options *options;
        size_t n;
        struct nsrun_error *err;
};

static int list_one(void *data, int root, const struct dirent *entry) {
        struct listing *list = data;
        bool is_json = list->options->format && streq(list->options->format, "json");
        _cleanup_container_ struct container c = CONTAINER_INIT;
        _cleanup_free_ char *text = NULL;
        struct nsrun_error gone = {0};
        int r = container_open(root, entry->d_name, false, &c, &gone);

        if (r < 0) /* it was removed meanwhile */
                return 0;
        if (list->options->is_quiet)
                (void)printf("%s\n", c.id);
        else if (!is_json)
                (void)printf("%-28s %-9d %-9s %s\n", c.id,
                             c.status == CONTAINER_STOPPED ? 0 : (int)c.process.pid,
                             container_status_name(c.status), c.bundle);
        else if ((r = container_describe(&c, false, &text, list->err)) >= 0)
                (void)printf("%s%s", list->n > 0 ? "," : "", text);
        list->n++;
        return r;
}

int oci_list(const struct oci_options *options, nsrun_unused int *ret_status, struct nsrun_error *err) {
        bool is_json = options->format && streq(options->format, "json");
        struct listing list = {.options = options, .err = err};
        int r;

        if (options->format && !is_json && !streq(options->format, "table"))
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), options->format,
                                 "--format is table or json", NULL);
        if (!options->is_quiet && !is_json)
                (void)printf("%-28s %-9s %-9s %s\n", "NAME", "PID", "STATUS", "BUNDLE");
        if (is_json && !options->is_quiet)
                (void)printf("[");
        r = folder_each(options->root_fd, list_one, &list);
        if (is_json && !options->is_quiet)
                (void)printf("]\n");
        return r < 0 ? container_fail(err, r, NULL, "the containers can't be listed") : 0;
}

/* ------------------------------------------------------------------ kill and delete */

int oci_kill(const struct oci_options *options, nsrun_unused int *ret_status, struct nsrun_error *err) {
        _cleanup_container_ struct container c = CONTAINER_INIT;
        _cleanup_close_ int process = -EBADF;
        int signal = options->words[1] ? signal_parse(options->words[1]) : SIGTERM;
        int r;

        if (signal == 0)
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), options->words[1],
                                 "there is no such signal", NULL);
        /* The end of a pid namespace's first process is that of all. */
        if (options->kills_all && signal != SIGKILL)
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EOPNOTSUPP), NULL,
                                 "--all is for SIGKILL alone", "nsrun-oci has no cgroup to find all by");
        r = container_open(options->root_fd, options->words[0], true, &c, err);
        if (r < 0)
                return r;
        process = container_open_process(&c);
        r = process < 0 ? process : sys_pidfd_send_signal(process, signal);
        return r < 0 ? error_set(err, NSRUN_STAGE_SUPERVISE, UNSAID(-ESRCH), c.id,
                                 "the container is not running", NULL)
                     : 0;
}

static int kill_and_wait(const struct container *c, struct nsrun_error *err) {
        _cleanup_close_ int process = container_open_process(c);
        struct pollfd end = {.fd = process, .events = POLLIN};
        int r;

        if (process < 0)
                return 0;
        r = sys_pidfd_send_signal(process, SIGKILL);
        if (r >= 0)
                r = sys_poll(&end, 1, KILL_WAIT_MS);
        return r == 0  ? container_fail(err, -ETIMEDOUT, c->id, "the container does not end")
               : r < 0 ? container_fail(err, r, c->id, "the container can't be killed")
                       : 0;
}

int oci_delete(const struct oci_options *options, nsrun_unused int *ret_status, struct nsrun_error *err) {
        _cleanup_container_ struct container c = CONTAINER_INIT;
        struct nsrun_error why = {0};
        int r = container_open(options->root_fd, options->words[0], true, &c, &why);

        if (r == -ENOENT && options->is_forced)
                return 0;
        if (r < 0) {
                *err = why;
                return r;
        }
        if (c.status == CONTAINER_RUNNING && !options->is_forced)
                return error_setf(err, NSRUN_STAGE_SUPERVISE, UNSAID(-EBUSY), c.id,
                                  "end it first, or use --force", "the container is %s",
                                  container_status_name(c.status));
        r = kill_and_wait(&c, err);
        return r < 0 ? r : lifecycle_end(options->root_fd, &c, err);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* exec: a further process in a container that runs.  It is described by a file (--process), or is the
 * container's own with another command. */
#include "base/file.h"
#include "base/sys.h"
#include "command.h"
#include "start.h"

#define PROCESS_BYTES (1024U * 1024)

static void add_copy(struct json_document *d, const struct json_value *from, const char *key) {
        const struct json_value *v = json_get(from, key);
        _cleanup_free_ char *text = json_kind(v) == JSON_NULL ? NULL : json_spell(v);

        if (text)
                json_add_json(d, d->root, key, text);
}

static int exec_add_user(struct json_document *d, const char *user, struct nsrun_error *err) {
        _cleanup_free_ char *copy = strdup(user);
        char *colon = copy ? strchr(copy, ':') : NULL;
        struct json_value *o = json_add_object(d, d->root, "user");
        uint64_t uid = 0, gid = 0;

        if (!copy)
                return error_oom(err);
        if (colon)
                *colon++ = '\0';
        if (str_parse_number(copy, false, &uid) < 0 || (colon && str_parse_number(colon, false, &gid) < 0))
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), user, "--user is UID or UID:GID",
                                 NULL);
        json_add_number(d, o, "uid", uid);
        json_add_number(d, o, "gid", gid);
        return 0;
}

/* The container's own process, with what the command line says instead. */
static int exec_describe(const struct oci_options *options, const struct json_value *own,
                         struct json_document *d, struct nsrun_error *err) {
        static const char *const kept[] = {"capabilities", "rlimits", "oomScoreAdj", "selinuxLabel"};
        const struct json_value *env = json_get(own, "env");
        struct json_value *array;

        *d = json_begin();
        for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
                add_copy(d, own, kept[i]);
        json_add_strings(d, d->root, "args", options->words + 1);
        json_add_string(d, d->root, "cwd", options->cwd ? options->cwd : json_text(json_get(own, "cwd")));
        json_add_bool(d, d->root, "terminal", options->has_tty);
        array = json_add_array(d, d->root, "env");
        for (size_t i = 0; i < json_length(env); i++)
                json_add_string(d, array, NULL, json_text(json_at(env, i)));
        STRV_FOREACH (variable, options->env)
                json_add_string(d, array, NULL, *variable);
        if (options->user)
                return exec_add_user(d, options->user, err);
        add_copy(d, own, "user");
        return d->has_failed ? error_oom(err) : 0;
}

static int read_process(const struct oci_options *options, const struct json_value *own,
                        struct json_document *d, struct nsrun_error *err) {
        _cleanup_free_ char *text = NULL;
        int r;

        if (!options->process == !options->words[1])
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), NULL,
                                 "exec takes a command, or --process", NULL);
        if (!options->process)
                return exec_describe(options, own, d, err);
        r = read_small_file(AT_FDCWD, options->process, 0, PROCESS_BYTES, &text);
        if (r >= 0)
                r = json_parse(d, text, strlen(text), NULL, NULL);
        return r < 0 ? error_set(err, NSRUN_STAGE_POLICY, r, options->process, "the process can't be read",
                                 NULL)
                     : 0;
}

int oci_exec(const struct oci_options *options, int *ret_status, struct nsrun_error *err) {
        const struct start_options how = {.pid_file = options->pid_file,
                                          .console_socket = options->console_socket,
                                          .keeps_keyring = true};
        _cleanup_container_ struct container c = CONTAINER_INIT;
        _cleanup_json_ struct json_document process = {0};
        _cleanup_spec_ struct spec spec = {0};
        struct launch l = LAUNCH_INIT;
        int r = container_open(options->root_fd, options->words[0], false, &c, err);

        if (r >= 0)
                r = read_process(options, json_get(c.config.root, "process"), &process, err);
        if (r >= 0)
                r = spec_read_process(c.config.root, process.root, &spec, err);
        if (r >= 0)
                r = start_join(&c, &spec, &how, &l, err);
        if (r >= 0 && !options->is_detached)
                *ret_status = start_wait(&l);
        launch_close(&l);
        return r;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hooks: programs of the engine's, which run on the host's side. */
#include <sys/wait.h>

#include "base/file.h"
#include "base/sys.h"
#include "container.h"
#include "spec.h"

struct hook {
        const char *path;
        char **argv, **env; /* env: NULL: nsrun-oci's own */
        int timeout_ms;     /* -1: none */
};

static void hook_clear(struct hook *h) {
        strv_free(h->argv);
        strv_free(h->env);
}

static int read_texts(const struct json_value *from, char ***ret) {
        for (size_t i = 0; i < json_length(from); i++) {
                const char *text = json_text(json_at(from, i));

                if (!text)
                        return -EINVAL;
                if (strv_add(ret, text) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int hook_read(const struct json_value *from, const char *name, struct hook *ret,
                     struct nsrun_error *err) {
        const struct json_value *timeout = json_get(from, "timeout");
        uint64_t seconds = 0;
        int r;

        *ret = (struct hook){.path = json_text(json_get(from, "path")), .timeout_ms = -1};
        if (!ret->path || ret->path[0] != '/')
                return fields_wrong(err, name, "a hook without an absolute path");
        if (json_kind(timeout) != JSON_NULL &&
            (!json_number(timeout, &seconds) || seconds == 0 || seconds > INT32_MAX / 1000))
                return fields_wrong(err, name, "a hook's timeout is no number of seconds");
        ret->timeout_ms = seconds > 0 ? (int)seconds * 1000 : -1;
        r = read_texts(json_get(from, "args"), &ret->argv);
        if (r >= 0 && !ret->argv)
                r = strv_add(&ret->argv, ret->path);
        if (r >= 0)
                r = read_texts(json_get(from, "env"), &ret->env);
        if (r >= 0 && !ret->env && json_kind(json_get(from, "env")) != JSON_NULL &&
            !(ret->env = calloc(1, sizeof(char *))))
                r = -ENOMEM;
        return r == -EINVAL ? fields_wrong(err, name, "a hook's args or env are no texts")
               : r < 0      ? error_oom(err)
                            : 0;
}

static _Noreturn void hook_execute(const struct hook *h, int input) {
        sigset_t none;

        (void)sigemptyset(&none);
        (void)sys_sigmask(SIG_SETMASK, &none, NULL);
        if (dup2(input, STDIN_FILENO) >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
                (void)execve(h->path, h->argv, h->env ? h->env : environ);
        _exit(127);
}

static int hook_await(const struct hook *h, const char *name, pid_t pid, struct nsrun_error *err) {
        _cleanup_close_ int pidfd = sys_pidfd_open(pid);
        struct pollfd end = {.fd = pidfd, .events = POLLIN};
        int status = 0, r = pidfd < 0 ? pidfd : sys_poll(&end, 1, h->timeout_ms);

        if (r <= 0)
                (void)sys_kill(pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        if (r == 0)
                return error_setf(err, NSRUN_STAGE_SUPERVISE, UNSAID(-ETIMEDOUT), h->path, NULL,
                                  "a %s hook took longer than its timeout", name);
        if (r < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
                return error_setf(err, NSRUN_STAGE_SUPERVISE, UNSAID(-EIO), h->path, NULL,
                                  "a %s hook failed with the status %d", name,
                                  WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
        return 0;
}

static int hook_run(const struct hook *h, const char *name, const char *state, struct nsrun_error *err) {
        int ends[2], r = sys_pipe(ends);
        void (*before)(int);
        pid_t pid;

        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, h->path, "a hook can't be run", NULL);
        pid = fork();
        if (pid == 0)
                hook_execute(h, ends[0]);
        (void)sys_close(ends[0]);
        /* A hook needn't read it: that is no error. */
        before = signal(SIGPIPE, SIG_IGN);
        if (pid > 0)
                (void)write_full(ends[1], state, strlen(state));
        (void)signal(SIGPIPE, before);
        (void)sys_close(ends[1]);
        return pid < 0 ? error_set(err, NSRUN_STAGE_SUPERVISE, -errno, h->path, "a hook can't be run", NULL)
                       : hook_await(h, name, pid, err);
}

int hooks_run(const struct container *c, const char *name, struct nsrun_error *err) {
        const struct json_value *list = json_get(json_get(c->config.root, "hooks"), name);
        _cleanup_free_ char *state = NULL;
        int r = json_length(list) == 0 ? 0 : container_describe(c, false, &state, err);

        for (size_t i = 0; i < json_length(list) && r >= 0; i++) {
                _cleanup_(hook_clear) struct hook hook = {0};

                r = hook_read(json_at(list, i), name, &hook, err);
                if (r >= 0)
                        r = hook_run(&hook, name, state, err);
        }
        return r;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of commands in the background share: starting one, its log, and whether it lives. */
#pragma once

#include <dirent.h>

#include "session.h"

static inline const char **detach_argv(const char *id, const char *const *arguments) {
        return words_of(OPTIONS(program(), "bash", "--session", id, "--detach"), arguments);
}

static inline void detach(const struct site *s, const char *id, struct outcome *ret,
                          const char *const *arguments) {
        _cleanup_free_ const char **argv = detach_argv(id, arguments);

        outcome_clear(ret);
        run(&(struct request){.argv = argv, .cwd = s->root}, ret);
}
#define DETACH(site, id, outcome, ...) detach(site, id, outcome, OPTIONS(__VA_ARGS__))

static inline void spawn_detach(const struct site *s, const char *id, struct running *ret,
                                const char *const *arguments) {
        _cleanup_free_ const char **argv = detach_argv(id, arguments);

        spawn(&(struct request){.argv = argv, .cwd = s->root}, ret);
}
#define SPAWN_DETACH(site, id, running, ...) spawn_detach(site, id, running, OPTIONS(__VA_ARGS__))

static inline void expect_log(const struct site *s, const char *id, const char *name, const char *text) {
        _cleanup_outcome_ struct outcome o = {0};

        SESSION(s, &o, "logs", id, name);
        expect_status(&o, 0);
        expect_out(&o, text);
        assert_string_equal(o.err, "");
}

/* Waits until a command of the session has made a file of the project. */
static inline void await_file(const struct site *s, const char *name) {
        _cleanup_free_ char *path = path_of(s->project, name);

        for (int64_t since = 0; access(path, F_OK) < 0;)
                if (!keep_waiting(&since))
                        fail_msg("nobody makes %s", path);
}

/* Waits until a log has a text. */
static inline void await_log(const struct site *s, const char *id, const char *name, const char *text) {
        _cleanup_outcome_ struct outcome o = {0};

        int64_t since = 0;

        do
                SESSION(s, &o, "logs", id, name);
        while (!strstr(o.out, text) && keep_waiting(&since));
        expect_in(o.out, text);
}

/* Whether a process anywhere has exactly that argument: the tests' sleeps have numbers of their own. */
static inline bool is_argument_alive(const char *argument) {
        DIR *proc = opendir("/proc");
        bool is_found = false;

        assert_non_null(proc);
        for (const struct dirent *entry; (entry = readdir(proc));) {
                _cleanup_free_ char *path = text_of("/proc/%s/cmdline", entry->d_name);
                _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
                char text[4096] = "";
                ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

                for (ssize_t i = 0; i < n; i += (ssize_t)strlen(text + i) + 1)
                        is_found |= streq(text + i, argument);
        }
        (void)closedir(proc);
        return is_found;
}

/* How long a sleep lasts that no other test has. */
static inline char *own_sleep(void) {
        return text_of("1000.%d", (int)getpid());
}

#define UNTIL_GO(word) "touch " word "; until [ -e go ]; do sleep 0.01; done; "

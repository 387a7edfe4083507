/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --sound: the sockets of the user's sound servers, PipeWire's and PulseAudio's, and the cookie of the
 * latter; where there is no server, ALSA's own devices. */
#include <sys/stat.h>

#include "base/file.h"
#include "base/path.h"
#include "grants.h"

#define COOKIE_SIZE 256 /* PA_NATIVE_COOKIE_LENGTH */

/* base/name as a new string, where base is an absolute path; or NULL, with *ret_r -ENOMEM if it was for want
 * of memory. */
static char *sound_path(const char *base, const char *name, int *ret_r) {
        char *path;

        if (!base || !path_is_absolute(base))
                return NULL;
        path = path_join(base, name);
        if (!path)
                *ret_r = -ENOMEM;
        return path;
}

/* 1: it is shown; 0: there is none. */
static int find_pipewire(const struct granting *g) {
        const char *remote = grant_variable(g, "PIPEWIRE_REMOTE"),
                   *folder = grant_variable(g, "PIPEWIRE_RUNTIME_DIR");
        _cleanup_free_ char *path = NULL;
        int r = 0;

        path = sound_path(folder ? folder : grant_variable(g, "XDG_RUNTIME_DIR"),
                          remote ? remote : "pipewire-0", &r);
        if (r < 0)
                return error_oom(g->err);
        return path ? grant_bind(g, path, S_IFSOCK, "pipewire-0", NULL, NULL) : 0;
}

/* The cookie has 256 bytes: what has another size is none. */
static int show_cookie(const struct granting *g) {
        static const char *const usual[] = {".config/pulse/cookie", ".pulse-cookie"};
        const char *named = grant_variable(g, "PULSE_COOKIE");
        _cleanup_free_ char *path = named ? strdup(named) : NULL;
        struct stat st;
        int r = named && !path ? -ENOMEM : 0;

        for (size_t i = 0; i < ARRAY_SIZE(usual) && !path && r >= 0; i++) {
                path = sound_path(g->s->home, usual[i], &r);
                if (path && access(path, R_OK) < 0)
                        free(TAKE_PTR(path));
        }
        if (r < 0)
                return error_oom(g->err);
        if (!path || stat(path, &st) < 0 || st.st_size != COOKIE_SIZE)
                return 0;
        return grant_bind(g, path, S_IFREG, "pulse/cookie", "PULSE_COOKIE", "");
}

/* 1: it is shown; 0: there is none. */
static int find_pulse(const struct granting *g) {
        const char *server = grant_variable(g, "PULSE_SERVER"), *rest;
        _cleanup_free_ char *path = NULL;
        int r = 0;

        if (server) {
                rest = startswith(server, "unix:");
                path = strdup(rest ? rest : server);
                r = path ? 0 : -ENOMEM;
        } else
                path = sound_path(grant_variable(g, "XDG_RUNTIME_DIR"), "pulse/native", &r);
        if (r < 0)
                return error_oom(g->err);
        r = path ? grant_bind(g, path, S_IFSOCK, "pulse/native", "PULSE_SERVER", "unix:") : 0;
        if (r <= 0)
                return r;
        r = show_cookie(g);
        return r < 0 ? r : 1;
}

static int sound_look(void *data, nsrun_unused int folder, const struct dirent *entry) {
        static const char *const names[] = {"control", "pcm"};
        char ***found = data;
        _cleanup_free_ char *path = NULL;
        bool is_one = streq(entry->d_name, "timer");

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                is_one |= startswith(entry->d_name, names[i]) != NULL;
        path = is_one ? path_join("/dev/snd", entry->d_name) : NULL;
        if (is_one && !path)
                return -ENOMEM;
        return is_one && grant_can_open(path) ? strv_add(found, path) : 0;
}

/* 1: some are shown; 0: there are none. */
static int find_alsa(const struct granting *g) {
        _cleanup_close_ int fd = open("/dev/snd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_strv_ char **found = NULL;

        if (fd >= 0 && folder_read(fd, sound_look, &found) == -ENOMEM)
                return error_oom(g->err);
        STRV_FOREACH (path, found) {
                int r = grant_show(g, SHOWN_DEVICE, *path, *path, NULL);

                if (r < 0)
                        return r;
        }
        return found != NULL;
}

static int show_settings(const struct granting *g) {
        static const char *const files[] = {"/etc/alsa", "/etc/asound.conf", "/etc/pulse/client.conf",
                                            "/etc/pipewire/client.conf"};
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(files) && r >= 0; i++)
                if (access(files[i], F_OK) == 0)
                        r = grant_show(g, SHOWN_PRESENT, NULL, files[i], NULL);
        return r;
}

int grant_sound(const struct granting *g) {
        int pipewire = find_pipewire(g), pulse = pipewire < 0 ? pipewire : find_pulse(g), alsa = 0,
            r = pulse;

        if (r == 0 && pipewire == 0)
                r = alsa = find_alsa(g);
        if (r < 0)
                return r;
        if (!pipewire && !pulse && !alsa)
                return grant_refuse(g, NULL,
                                    "the host has no sound server's socket ($XDG_RUNTIME_DIR/pipewire-0 and "
                                    "pulse/native, PULSE_SERVER) and no /dev/snd",
                                    "start one, or set XDG_RUNTIME_DIR as in the desktop's session");
        r = show_settings(g);
        if (r >= 0 && alsa)
                return grant_say(g, "playing and recording by ALSA's devices (/dev/snd): the microphone");
        return r < 0 ? r
                     : grant_say(g,
                                 "playing and recording by %s: the microphone, and what other programs "
                                 "play%s",
                                 pipewire && pulse ? "PipeWire and PulseAudio"
                                 : pipewire        ? "PipeWire"
                                                   : "PulseAudio",
                                 pulse ? "; PulseAudio's clients can load modules of its, which open files "
                                         "and sockets as you on the host"
                                       : "");
}

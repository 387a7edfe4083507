/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See dbus_proxy.h.  xdg-dbus-proxy makes its socket itself: in a folder of the sandbox's, on a tmpfs on
 * which no command has been, by a descriptor of that folder, so that the host has no path for it and nothing
 * of it stays. */
#include "dbus_proxy.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/str.h"
#include "base/sys.h"
#include "boundary/operation.h"
#include "dbus.h"
#include "net/confine.h"

#define WORDS_MOST 1024U
/* Messages of 128 MiB are allowed by the protocol, and the proxy keeps what it can't pass on yet. */
#define MEMORY_MOST (UINT64_C(256) << 20)
_Static_assert(DBUS_FD_BUS == 4, "in bus_address()");

static int bound_memory(void) {
        struct rlimit memory;

        if (getrlimit(RLIMIT_DATA, &memory) < 0)
                return -errno;
        if (memory.rlim_max > MEMORY_MOST)
                memory.rlim_max = MEMORY_MOST;
        memory.rlim_cur = memory.rlim_max;
        return setrlimit(RLIMIT_DATA, &memory) < 0 ? -errno : 0;
}

static _Noreturn void proxy_fail(int r) {
        const unsigned char error = (unsigned char)(-r > 0 && -r < DBUS_PROXY_READY ? -r : EIO);

        (void)send(DBUS_FD_SANDBOX, &error, 1, MSG_NOSIGNAL);
        _exit(125);
}

static char *bus_address(const char *bus) {
        return *bus == '@' ? dbus_address_of_abstract(bus + 1) : strdup("unix:path=/proc/self/fd/4");
}

_Noreturn void dbus_proxy_main(char *const *words) {
        /* No module of GLib's is looked for, and no other bus. */
        static char modules[] = "GIO_MODULE_DIR=/nonexistent", vfs[] = "GIO_USE_VFS=local",
                    *env[] = {modules, vfs, NULL};
        _cleanup_free_ char *address = NULL;
        static char filter[] = "--filter";
        char fd_option[24], path[64], *argv[WORDS_MOST];
        size_t n = 0;
        int folder, r;

        if (!words[0] || !words[1])
                _exit(125);
        (void)sys_close_range(*words[1] == '@' ? DBUS_FD_SANDBOX + 1 : DBUS_FD_BUS + 1, ~0U);
        folder = sys_receive_fd(DBUS_FD_SANDBOX);
        /* The sandbox isn't built. */
        if (folder < 0)
                _exit(0);
        r = fcntl(folder, F_SETFD, 0) < 0 ? -errno : confine_proxy(words[0], folder);
        if (r < 0)
                proxy_fail(r);
        address = bus_address(words[1]);
        if (!address)
                proxy_fail(-ENOMEM);
        (void)snprintf(fd_option, sizeof(fd_option), "--fd=%d", DBUS_FD_SANDBOX);
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d/" DBUS_SOCKET_NAME, folder);
        argv[n++] = words[0];
        argv[n++] = fd_option;
        argv[n++] = address;
        argv[n++] = path;
        argv[n++] = filter;
        for (words += 2; *words && n < ARRAY_SIZE(argv) - 1; words++)
                argv[n++] = *words;
        argv[n] = NULL;
        if (*words)
                proxy_fail(-E2BIG);
        r = bound_memory();
        if (r < 0)
                proxy_fail(r);
        (void)execve(argv[0], argv, env);
        proxy_fail(-errno);
}

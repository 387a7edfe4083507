/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A session's network as /proc/PID/net tells it.  Where it is the host's a socket's inode tells whose it is:
 * that of a process in the session's user namespace, which no process of the host is in. */
#include "listeners.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>

#include "base/array.h"
#include "base/file.h"
#include "base/sys.h"

/* The states are the kernel's (net/tcp_states.h). */
#define TCP_LISTENS 0x0aU

struct inodes {
        uint64_t *items;
        size_t n;
};

/* Whether who connects to localhost gets to that address, four words as the kernel prints them: to ::, ::1,
 * 0.0.0.0, 127.0.0.1, the last two as IPv6 addresses, too. */
static bool is_localhost(const uint32_t a[4], bool is_v6) {
        bool is_mapped = is_v6 && a[0] == 0 && a[1] == 0 && a[2] == htonl(0xffff);

        if (!is_v6 || is_mapped)
                return a[3] == 0 || a[3] == htonl(INADDR_LOOPBACK);
        return a[0] == 0 && a[1] == 0 && a[2] == 0 && (a[3] == 0 || a[3] == htonl(1));
}

/* One line of proc_pid_net(5)'s tcp or tcp6.  The inode of a socket that listens on the port; 0: it is none.
 */
static uint64_t inode_of_listener(const char *line, unsigned port, bool is_v6) {
        uint32_t address[4] = {0};
        unsigned own_port, state;
        uint64_t inode;
        int n;

        if (is_v6)
                n = sscanf(line,
                           " %*[0-9]: %8" SCNx32 "%8" SCNx32 "%8" SCNx32 "%8" SCNx32
                           ":%x %*s %x %*s %*s %*s %*s %*s %" SCNu64,
                           &address[0], &address[1], &address[2], &address[3], &own_port, &state, &inode);
        else
                n = sscanf(line, " %*[0-9]: %8" SCNx32 ":%x %*s %x %*s %*s %*s %*s %*s %" SCNu64,
                           &address[3], &own_port, &state, &inode) +
                    3;
        return n == 7 && own_port == port && state == TCP_LISTENS && is_localhost(address, is_v6) ? inode
                                                                                                  : 0;
}

static int add_listeners(pid_t init, const char *name, unsigned port, struct inodes *ret) {
        _cleanup_fclose_ FILE *f = NULL;
        char path[64], line[512];

        (void)snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)init, name);
        f = fopen(path, "re");
        /* A kernel without IPv6 has no tcp6. */
        if (!f)
                return errno == ENOENT && streq(name, "tcp6") ? 0 : -errno;
        while (fgets(line, sizeof(line), f)) {
                uint64_t inode = inode_of_listener(line, port, streq(name, "tcp6"));

                if (inode == 0)
                        continue;
                if (ARRAY_GROW(ret->items, ret->n) < 0)
                        return -ENOMEM;
                ret->items[ret->n++] = inode;
        }
        return ferror(f) ? -EIO : 0;
}

/* The number in a link text such as "socket:[123]"; 0: it is another text. */
static uint64_t number_in_link(int dir, const char *path, const char *kind) {
        const char *number;
        char text[64];
        ssize_t n = sys_readlinkat(dir, path, text, sizeof(text) - 1);

        if (n <= 0)
                return 0;
        text[n] = '\0';
        number = startswith(text, kind);
        return number ? strtoull(number, NULL, 10) : 0;
}

static int look_at_fd(void *data, int folder, const struct dirent *entry) {
        const struct inodes *inodes = data;
        uint64_t inode = number_in_link(folder, entry->d_name, "socket:[");

        for (size_t i = 0; i < inodes->n && inode != 0; i++)
                if (inodes->items[i] == inode)
                        return 1;
        return 0;
}

struct owners {
        const struct plan_join *join;
        struct inodes inodes;
};

/* 1: the process is the session's and has one of the sockets. */
static int port_look_at_process(void *data, int proc, const struct dirent *entry) {
        struct owners *owners = data;
        _cleanup_close_ int fds = -EBADF;
        char path[sizeof(entry->d_name) + sizeof("/ns/user")];

        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
                return 0;
        (void)snprintf(path, sizeof(path), "%s/ns/user", entry->d_name);
        if (number_in_link(proc, path, "user:[") != owners->join->namespace_inodes[0])
                return 0;
        (void)snprintf(path, sizeof(path), "%s/fd", entry->d_name);
        fds = sys_open(proc, path, O_RDONLY | O_DIRECTORY, 0);
        /* It may have ended meanwhile. */
        return fds >= 0 && folder_read(fds, look_at_fd, &owners->inodes) > 0;
}

int port_look(const struct plan_join *join, unsigned port, enum port_state *ret) {
        struct owners owners = {.join = join};
        _cleanup_close_ int proc = -EBADF;
        int r = add_listeners(join->init.pid, "tcp", port, &owners.inodes);

        if (r >= 0)
                r = add_listeners(join->init.pid, "tcp6", port, &owners.inodes);
        if (r >= 0 && owners.inodes.n > 0 && !(join->namespaces & CLONE_NEWNET)) {
                r = proc = sys_open(AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY, 0);
                if (r >= 0)
                        r = folder_read(proc, port_look_at_process, &owners);
                *ret = r > 0 ? PORT_OURS : PORT_OTHERS;
        } else if (r >= 0) {
                *ret = owners.inodes.n > 0 ? PORT_OURS : PORT_FREE;
        }
        free(owners.inodes.items);
        return r < 0 ? r : 0;
}

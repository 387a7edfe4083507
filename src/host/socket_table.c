/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See socket_table.h.  A command can have millions of sockets and descriptors: callers say of how many are
 * looked at. */
#include "socket_table.h"

#include <arpa/inet.h>

#include "base/file.h"
#include "base/sys.h"

#define STATE_LISTENS 0x0aU /* the kernel's (net/tcp_states.h) */

/* An address is one word of eight digits or four, each in the machine's order. */
static bool read_row(const char *line, struct socket_row *ret) {
        char digits[4 * 8 + 1];
        uint32_t word[4] = {0};
        unsigned state;
        bool is_any, is_mapped;

        if (sscanf(line, " %*u: %32[0-9A-F]:%x %*s %x %*s %*s %*s %*s %*s %" SCNu64, digits, &ret->port,
                   &state, &ret->inode) != 4)
                return false;
        /* IPv4's becomes ::ffff:a.b.c.d. */
        if (strlen(digits) == 8)
                (void)sscanf(digits, "%8" SCNx32, &word[3]);
        else
                (void)sscanf(digits, "%8" SCNx32 "%8" SCNx32 "%8" SCNx32 "%8" SCNx32, &word[0], &word[1],
                             &word[2], &word[3]);
        is_mapped = strlen(digits) == 8 || (word[0] == 0 && word[1] == 0 && word[2] == htonl(0xffff));
        is_any = word[3] == 0 && (is_mapped || (word[0] == 0 && word[1] == 0 && word[2] == 0));
        ret->is_listening = state == STATE_LISTENS;
        ret->is_at_localhost =
                is_any || (is_mapped ? word[3] == htonl(INADDR_LOOPBACK)
                                     : word[0] == 0 && word[1] == 0 && word[2] == 0 && word[3] == htonl(1));
        ret->is_at_loopback = ret->is_at_localhost || (is_mapped && ntohl(word[3]) >> 24 == 127);
        return true;
}

int socket_table_each(const char *folder, const char *table, size_t *left,
                      int (*found)(void *data, const struct socket_row *row), void *data) {
        _cleanup_fclose_ FILE *f = NULL;
        char path[64], line[512];
        int r = 0;

        (void)snprintf(path, sizeof(path), "%s/%s", folder, table);
        f = fopen(path, "re");
        if (!f)
                return errno == ENOENT && streq(table, "tcp6") ? 0 : -errno;
        while (r == 0 && (!left || *left > 0) && fgets(line, sizeof(line), f)) {
                struct socket_row row;

                if (left)
                        (*left)--;
                r = read_row(line, &row) ? found(data, &row) : 0;
        }
        return r == 0 && ferror(f) ? -EIO : r;
}

static int serves_port(void *data, const struct socket_row *row) {
        return row->is_listening && row->is_at_loopback && row->port == *(const unsigned *)data;
}

bool socket_is_served(const char *folder, unsigned port, size_t *left) {
        return socket_table_each(folder, "tcp", left, serves_port, &port) > 0 ||
               socket_table_each(folder, "tcp6", left, serves_port, &port) > 0;
}

/* ------------------------------------------------------------------------ whose */

struct looking {
        const struct socket_owners *among;
        const uint64_t *inodes;
        size_t n, n_looked;
        pid_t pid;
};

static bool socket_read_link(int dir, const char *path, char to[64]) {
        ssize_t n = sys_readlinkat(dir, path, to, 63);

        to[n > 0 ? n : 0] = '\0';
        return n > 0;
}

static int look_at_fd(void *data, int folder, const struct dirent *entry) {
        struct looking *l = data;
        uint64_t inode = 0;
        char text[64];

        if (l->n_looked++ >= l->among->most)
                return -E2BIG;
        if (!socket_read_link(folder, entry->d_name, text) ||
            sscanf(text, "socket:[%" SCNu64 "]", &inode) != 1)
                return 0;
        for (size_t i = 0; i < l->n; i++)
                if (l->inodes[i] == inode)
                        return 1;
        return 0;
}

/* It may end meanwhile. */
static int look_at_owner(void *data, int proc, const struct dirent *entry) {
        char path[sizeof(entry->d_name) + sizeof("/ns/user")], text[64];
        _cleanup_close_ int fds = -EBADF;
        struct looking *l = data;
        int r;

        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
                return 0;
        (void)snprintf(path, sizeof(path), "%s/ns/%s", entry->d_name, l->among->kind);
        if ((socket_read_link(proc, path, text) && streq(text, l->among->text)) == l->among->are_others)
                return 0;
        if (l->n_looked++ >= l->among->most)
                return -E2BIG;
        (void)snprintf(path, sizeof(path), "%s/fd", entry->d_name);
        fds = sys_open(proc, path, O_RDONLY | O_DIRECTORY, 0);
        r = fds < 0 ? 0 : folder_read(fds, look_at_fd, l);
        if (r > 0)
                l->pid = (pid_t)strtol(entry->d_name, NULL, 10);
        return r > 0 || r == -E2BIG ? r : 0;
}

pid_t socket_find_owner(const uint64_t *inodes, size_t n, const struct socket_owners *among) {
        struct looking l = {.among = among, .inodes = inodes, .n = n};
        _cleanup_close_ int proc = sys_open(AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY, 0);
        int r = proc < 0 ? proc : folder_read(proc, look_at_owner, &l);

        return r < 0 && r != -E2BIG ? r : l.pid;
}

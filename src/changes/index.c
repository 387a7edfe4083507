/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "index.h"

#include "base/beneath.h"
#include "base/file.h"
#include "base/sys.h"
#include "host/gitindex.h"

#define REMEMBERED "git-index" /* in the session's folder: the digest */

enum {
        INDEX_MOST = 64 << 20, /* bytes */
};

static int read_digest(int base_fd, unsigned char ret[SHA256_SIZE]) {
        _cleanup_close_ int git_dir = beneath_open(base_fd, ".git", O_PATH | O_DIRECTORY, 0);

        return git_dir < 0 ? git_dir : gitindex_digest(git_dir, "index", INDEX_MOST, ret);
}

void index_remember(int base_fd, int record_fd) {
        unsigned char digest[SHA256_SIZE];
        _cleanup_close_ int fd = -EBADF;

        (void)sys_unlinkat(record_fd, REMEMBERED);
        if (read_digest(base_fd, digest) < 0)
                return;
        fd = sys_open(record_fd, REMEMBERED, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
        if (fd >= 0)
                (void)write_full(fd, digest, sizeof(digest));
}

bool index_is_remembered(int base_fd, int record_fd) {
        unsigned char digest[SHA256_SIZE];
        _cleanup_free_ char *remembered = NULL;
        _cleanup_close_ int fd = sys_open(record_fd, REMEMBERED, O_RDONLY | O_NOFOLLOW, 0);
        size_t n = 0;

        return fd >= 0 && read_bytes_fd(fd, SHA256_SIZE, &remembered, &n) >= 0 && n == SHA256_SIZE &&
               read_digest(base_fd, digest) >= 0 && memcmp(remembered, digest, n) == 0;
}

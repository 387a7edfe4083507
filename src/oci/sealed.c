/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The program as a sealed file in memory. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>

#include "base/sys.h"
#include "command.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x10U
#endif
#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static bool is_sealed(int program) {
        int seals = fcntl(program, F_GET_SEALS);

        return seals >= 0 && (seals & SEALS) == SEALS;
}

static int copy_program(int program, int *ret) {
        _cleanup_close_ int copy = memfd_create("nsrun-oci", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
        struct stat st;
        int r;

        if (copy < 0 && errno == EINVAL) /* MFD_EXEC came with 6.3 */
                copy = memfd_create("nsrun-oci", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (copy < 0)
                return -errno;
        r = sys_fstat(program, &st);
        for (off_t left = st.st_size; r >= 0 && left > 0;) {
                ssize_t n = sendfile(copy, program, NULL, (size_t)left);

                if (n <= 0)
                        return n < 0 ? -errno : -EIO;
                left -= n;
        }
        if (r >= 0 && (fchmod(copy, 0555) < 0 || fcntl(copy, F_ADD_SEALS, SEALS) < 0))
                r = -errno;
        if (r >= 0)
                *ret = TAKE_FD(copy);
        return r;
}

int sealed_become(char **argv, struct nsrun_error *err) {
        _cleanup_close_ int program = sys_open(AT_FDCWD, "/proc/self/exe", O_RDONLY, 0), copy = -EBADF;
        int r;

        if (program >= 0 && is_sealed(program))
                return 0;
        r = program < 0 ? program : copy_program(program, &copy);
        if (r >= 0)
                r = sys_execveat(copy, "", argv, environ, AT_EMPTY_PATH);
        return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL,
                         "nsrun-oci can't go on as a copy of itself in memory", NULL);
}

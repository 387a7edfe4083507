/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Filling and printing struct nsrun_error. */
#include "error.h"

#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "str.h"

static const char *const stage_names[] = {
        [NSRUN_STAGE_NONE] = "none",       [NSRUN_STAGE_USAGE] = "usage",
        [NSRUN_STAGE_POLICY] = "policy",   [NSRUN_STAGE_WORKSPACE] = "workspace",
        [NSRUN_STAGE_PLAN] = "plan",       [NSRUN_STAGE_NAMESPACE] = "namespace",
        [NSRUN_STAGE_IDMAP] = "idmap",     [NSRUN_STAGE_MOUNT] = "mount",
        [NSRUN_STAGE_OVERLAY] = "overlay", [NSRUN_STAGE_PROC] = "proc",
        [NSRUN_STAGE_NETWORK] = "network", [NSRUN_STAGE_HARDENING] = "hardening",
        [NSRUN_STAGE_EXEC] = "exec",       [NSRUN_STAGE_SUPERVISE] = "supervise",
};

/* strlcpy(3), but a text that is too long ends in "...". */
static void copy_bounded(char *to, size_t size, const char *from) {
        size_t i = 0;

        if (from)
                for (; from[i] && i + 1 < size; i++)
                        to[i] = from[i];
        to[i] = '\0';
        if (from && from[i])
                memcpy(to + size - 4, "...", 3);
}

#if defined(__GLIBC__)
static const char *unknown_error(int error) {
        static char text[32];
        char digits[12];
        unsigned left = (unsigned)(error < 0 ? -error : error);
        size_t n = 0;

        do
                digits[n++] = (char)('0' + left % 10);
        while ((left /= 10) > 0);
        strcpy(text, error < 0 ? "Unknown error -" : "Unknown error ");
        for (size_t at = strlen(text); n > 0;) {
                text[at++] = digits[--n];
                text[at] = '\0';
        }
        return text;
}
#endif

/* What musl's strerror(3) says otherwise than glibc's and than every program beside nsrun does. */
const char *error_words(int error) {
        static const struct {
                int error;
                const char *words;
        } same[] = {
                {EIO, "Input/output error"},
                {ECHILD, "No child processes"},
                {ENOMEM, "Cannot allocate memory"},
                {EBUSY, "Device or resource busy"},
                {EXDEV, "Invalid cross-device link"},
                {EMFILE, "Too many open files"},
                {ENOTTY, "Inappropriate ioctl for device"},
                {ESPIPE, "Illegal seek"},
                {EDOM, "Numerical argument out of domain"},
                {ERANGE, "Numerical result out of range"},
                {EDEADLK, "Resource deadlock avoided"},
                {ENAMETOOLONG, "File name too long"},
                {ELOOP, "Too many levels of symbolic links"},
                {ETIME, "Timer expired"},
                {EOVERFLOW, "Value too large for defined data type"},
                {EILSEQ, "Invalid or incomplete multibyte or wide character"},
                {EUSERS, "Too many users"},
                {ENOTSOCK, "Socket operation on non-socket"},
                {EMSGSIZE, "Message too long"},
                {EOPNOTSUPP, "Operation not supported"},
                {EADDRINUSE, "Address already in use"},
                {EADDRNOTAVAIL, "Cannot assign requested address"},
                {ENETUNREACH, "Network is unreachable"},
                {ENETRESET, "Network dropped connection on reset"},
                {ECONNABORTED, "Software caused connection abort"},
                {EISCONN, "Transport endpoint is already connected"},
                {ENOTCONN, "Transport endpoint is not connected"},
                {ESHUTDOWN, "Cannot send after transport endpoint shutdown"},
                {ETOOMANYREFS, "Too many references: cannot splice"},
                {ETIMEDOUT, "Connection timed out"},
                {EHOSTUNREACH, "No route to host"},
                {EINPROGRESS, "Operation now in progress"},
                {EUCLEAN, "Structure needs cleaning"},
                {EDQUOT, "Disk quota exceeded"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(same); i++)
                if (same[i].error == error)
                        return same[i].words;
#if defined(__GLIBC__)
        /* strerror(3) translates, and may allocate for that. */
        const char *words = strerrordesc_np(error);

        return words ? words : unknown_error(error);
#else
        return strerror(error);
#endif
}

/* Which word of ulimit raises a limit, and who else may: the user can't go beyond the hard one. */
static const struct {
        int resource;
        const char *fix, *hard_fix;
} limit_hints[] = {
        {RLIMIT_NOFILE, "raise the limit of open files (ulimit -n 1024)",
         "the hard limit of open files is too low, and root alone raises it: limits.conf(5), a service's LimitNOFILE=, "
         "docker's and podman's --ulimit nofile=1024"},
        {RLIMIT_FSIZE, "raise the limit of files' sizes (ulimit -f unlimited)",
         "the hard limit of files' sizes is too low, and root alone raises it: limits.conf(5), a service's LimitFSIZE=, "
         "docker's and podman's --ulimit fsize=-1"},
        {RLIMIT_NPROC, "raise the limit of processes (ulimit -u 4096; in dash: ulimit -p 4096)",
         "the hard limit of processes is too low, and root alone raises it: limits.conf(5), a service's LimitNPROC=, "
         "docker's and podman's --ulimit nproc=1024"},
        {RLIMIT_STACK, "ulimit -s 256, or more",
         "the hard limit of the stack is too low, and root alone raises it: limits.conf(5), a service's LimitSTACK=, "
         "docker's and podman's --ulimit stack=8388608"},
};

const char *error_limit_hint(int resource, uint64_t least) {
        for (size_t i = 0; i < ARRAY_SIZE(limit_hints); i++) {
                uint64_t own[2]; /* of 64 bits in every C library: the soft one, the hard one */

                if (limit_hints[i].resource == resource)
                        return syscall(SYS_prlimit64, 0, resource, NULL, own) == 0 && own[1] < least
                                       ? limit_hints[i].hard_fix
                                       : limit_hints[i].fix;
        }
        return NULL;
}

/* Whether a write may have met it; what nsrun itself reads no further than some bytes is too large, too. */
static bool is_size_limited(void) {
        uint64_t own[2];

        return syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, own) == 0 && own[0] != UINT64_MAX;
}

bool error_is_behind_filter(void) {
        return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2;
}

/* Whether a step of the set-up failed as a call does that a seccomp filter refuses, and there is one.
 * nsrun's own is in force only when nothing can fail any more. */
static bool may_be_filtered(enum nsrun_stage stage, int r) {
        return error_is_filtered(r) &&
               (stage == NSRUN_STAGE_MOUNT || stage == NSRUN_STAGE_HARDENING ||
                stage == NSRUN_STAGE_SUPERVISE) &&
               error_is_behind_filter();
}

int error_set(struct nsrun_error *err, enum nsrun_stage stage, int r, const char *path, const char *what,
              const char *hint) {
        const bool is_unsaid = r < -ERROR_UNSAID;

        if (is_unsaid)
                r += ERROR_UNSAID;
        if (!err || err->stage != NSRUN_STAGE_NONE)
                return r < 0 ? r : -EIO;
        err->stage = stage;
        err->error = r < 0 && !is_unsaid ? -r : 0;
        copy_bounded(err->path, sizeof(err->path), path);
        copy_bounded(err->what, sizeof(err->what), what);
        if (r == -EMFILE)
                hint = error_limit_hint(RLIMIT_NOFILE, 64);
        if (r == -ENFILE)
                hint = "raise the host's limit of open files (sudo sysctl -w fs.file-max=1000000)";
        if (r == -EFBIG && !is_unsaid && is_size_limited())
                hint = error_limit_hint(RLIMIT_FSIZE, 1 << 20);
        if (!hint && !is_unsaid && may_be_filtered(stage, r))
                hint = "a seccomp filter, as containers and services have one, may refuse a call of it: " ALLOWED_BY_FILTER;
        copy_bounded(err->hint, sizeof(err->hint), hint);
        return r < 0 ? r : -EIO;
}

int error_set_id(struct nsrun_error *err, enum nsrun_error_id id, enum nsrun_stage stage, int r,
                 const char *path, const char *what, const char *hint) {
        if (err && err->stage == NSRUN_STAGE_NONE)
                err->id = id;
        return error_set(err, stage, r, path, what, hint);
}

int error_identify(struct nsrun_error *err, enum nsrun_error_id id, int r) {
        if (err && err->id == NSRUN_ERROR_OTHER)
                err->id = id;
        return r;
}

int error_setf(struct nsrun_error *err, enum nsrun_stage stage, int r, const char *path, const char *hint,
               const char *what, ...) {
        char text[sizeof(err->what)];
        va_list ap;

        va_start(ap, what);
        (void)vsnprintf(text, sizeof(text), what, ap);
        va_end(ap);
        return error_set(err, stage, r, path, text, hint);
}

int error_oom(struct nsrun_error *err) {
        return error_set(err, NSRUN_STAGE_PLAN, -ENOMEM, NULL, "out of memory", NULL);
}

nsrun_public const char *nsrun_stage_name(enum nsrun_stage stage) {
        if ((size_t)stage >= ARRAY_SIZE(stage_names))
                return "unknown";
        return stage_names[stage];
}

/* One line, without a newline: what, where, why, and what to do about it.  The
 * program's name is the caller's to print. */
nsrun_public char *nsrun_error_format(const struct nsrun_error *err) {
        _cleanup_free_ char *path = NULL, *hint = str_visible(err->hint), *what = str_visible(err->what);

        if (!hint || !what)
                return NULL;
        if (err->path[0]) {
                path = str_visible(err->path);
                if (!path)
                        return NULL;
        }
        return str_format("%s%s%s%s%s%s%s", what, path ? ": " : "", path ? path : "",
                          err->error > 0 ? ": " : "", err->error > 0 ? error_words(err->error) : "",
                          *hint ? "; " : "", hint);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an overlay changed: looked at, committed to the host, or discarded.  Works on
 * descriptors of an overlay that is mounted and in use; makes no mount itself. */
#pragma once

#include <sys/stat.h>
#include <time.h>

#include "base/json.h"
#include "base/sha256.h"

/* One overlay of a session.  The descriptors stay the caller's; folders, open for reading. */
struct changes_layer {
        int upper_fd;  /* its upper folder on the host; only read */
        int base_fd;   /* the folder beneath it on the host: where a commit writes */
        int merged_fd; /* the live overlay: where a discard writes, and contents are read */
        int record_fd; /* a folder of the session's own that is never seen inside */
        /* The session's first moment: see changes_moment(). */
        struct timespec since;
};

/* The moment to keep as `since`, to be taken once the upper folder is there and before
 * the first command runs.  Waits for the clock that file systems stamp inodes with to
 * pass `begin` (of CLOCK_REALTIME; 10 ms at most), so that whatever was changed before `begin` has an
 * earlier ctime, and whatever is changed after the return has not.  What the host changed in between may be
 * on either side. */
int changes_moment(struct timespec begin, struct timespec *ret);

enum change_kind {
        CHANGE_ADDED,
        CHANGE_MODIFIED,
        CHANGE_DELETED,
        CHANGE_RENAMED, /* a regular file, with its content untouched */
};

/* What differs, of a modified or a renamed path. */
enum {
        CHANGE_TYPE = 1 << 0,
        CHANGE_CONTENT = 1 << 1, /* also a symlink's text */
        CHANGE_MODE = 1 << 2,
        CHANGE_MTIME = 1 << 3, /* of regular files only */
        CHANGE_XATTR = 1 << 4, /* user.*, but for overlayfs's own */
};

struct change {
        enum change_kind kind;
        unsigned what;
        char *path;      /* relative to the overlay; bytes, never "" but for its top folder */
        char *from;      /* of a renamed path: the old one */
        mode_t old_mode; /* type and permissions; 0: wasn't there */
        mode_t new_mode; /* 0: is there no more */
        uint64_t old_size, new_size;
        bool is_special;   /* the new file has a setuid or setgid bit, which a commit drops */
        bool has_conflict; /* the host's side has changed since the session began */
        bool is_ignored;   /* git ignores it; set by whoever asked ignored.h */
        bool is_left_out;  /* git obeys it, so that a commit leaves it out; set by whoever asked git.h */
        int error;         /* why it can't be looked at (errno), or 0 */
        /* The fields below are for src/changes alone. */
        bool has_digest; /* by changes_digest(): of the content or the link's text that a commit puts there
                          */
        unsigned char digest[SHA256_SIZE];
        struct stat base, upper;
};

/* Sorted: a folder before what lies in it, siblings by bytes. */
struct changes {
        struct change *list;
        size_t n;
};

/* Looks at the whole layer.  A path that was copied up and is the same again is no
 * change; the times of folders and symlinks are none either, nor are owners, ACLs and a
 * setuid bit alone.  What changes meanwhile may or may not be seen.  -EOPNOTSUPP: the upper
 * holds what no overlay of nsrun's makes (redirects, metacopy); -ENOMEM; what the kernel
 * said.  A folder or file that can't be read is in the list, with `error`. */
int changes_scan(const struct changes_layer *layer, struct changes *ret, struct nsrun_error *err);
void changes_clear(struct changes *c);
#define _cleanup_changes_ _cleanup_(changes_clear)

/* A selection is relative and normalised: "a/b"; "" is all; or, after a slash, a glob as git's pathspecs
 * are, which also matches slashes. Whether one of the NULL-terminated `paths` (NULL or empty: all) is the
 * change's path, its old path, or a folder above one of them; or a glob that matches one of the two. */
bool changes_selects(char *const *paths, const struct change *c);

/* What a commit of another state than that of a digest is refused with; -ECANCELED. */
#define CHANGES_DIFFER "the session isn't in the state that this digest is of, so nothing was committed"

/* What became of a commit or a discard. */
struct changes_report {
        size_t n_applied; /* paths that are now as they should be */
        char **notes;     /* "a/b: the setuid bit is dropped", one line each, fit to print */
        char **conflicts; /* paths, fit to print, that stood or would have stood in the way */
};
void changes_report_clear(struct changes_report *r);
#define _cleanup_changes_report_ _cleanup_(changes_report_clear)

enum {
        CHANGES_FORCE = 1 << 0,  /* conflicts are reported and overridden */
        CHANGES_DIGEST = 1 << 1, /* changes_add_digest() will be asked */
};

/* A filter that takes some of the chosen changes out of a commit again by unmarking them in the very list
 * that the commit is made of. A new or removed folder that contains an unmarked change is then not moved as
 * a whole. Returns 1: some were unmarked; 0: none; -ENOMEM. */
struct changes_filter {
        int (*leave_out)(void *data, const struct changes *c, bool *is_chosen);
        /* Whether a path gets an inode of its own, whatever it shares one with in the overlay; may be NULL.
         */
        bool (*is_apart)(void *data, const char *path);
        void *data;
};

/* Makes the host's side of the chosen paths what the overlay shows.  Everything is first
 * made ready in a folder of its own in base_fd (so want of room leaves the host as it was),
 * is on the disk, and is then moved into place path by path: each path, a new or a removed
 * tree counting as one, is old or new at any moment, also after a kill or a loss of power.
 * A conflict (-ESTALE) is found before anything is moved; one that arises while things are
 * being moved ends the commit there.  Setuid and setgid bits are dropped, devices, sockets and new
 * fifos left out, all with a note.  -ENOENT: a path selects no change.  -EINTR, with
 * nothing done: a SIGHUP, SIGINT or SIGTERM that the caller blocks was pending before the
 * first path was moved.
 *
 * In two steps, so that several commits are all ready before one begins, and that what is ready can be held
 * against a digest.  A commit that is freed before changes_finish() has done nothing; `filter` (may be
 * NULL), `report` and `err` are used until then. */
struct changes_commit;
int changes_prepare(const struct changes_layer *layer, char *const *paths, unsigned flags,
                    const struct changes_filter *filter, struct changes_report *report,
                    struct changes_commit **ret, struct nsrun_error *err);
/* Adds what digest.h says of the commit that is ready, or of the one that would be made of the changes `c`
 * now, for which the contents are read.  -ESTALE: something isn't any more what the scan saw. */
void changes_add_digest(const struct changes_commit *k, struct sha256 *sum);
int changes_digest(const struct changes_layer *layer, struct changes *c, char *const *paths,
                   const struct changes_filter *filter, struct sha256 *sum, struct nsrun_error *err);
int changes_finish(struct changes_commit *k);
/* Returns NULL; NULL is fine. */
struct changes_commit *changes_commit_free(struct changes_commit *k);

/* When the session has ended: removes what a killed commit has left in the host's folder, by its record. */
void changes_forget(int record_fd, int base_fd);

/* Makes the overlay's side of the chosen paths what the host has, through the mount. */
int changes_discard(const struct changes_layer *layer, char *const *paths, struct changes_report *ret,
                    struct nsrun_error *err);

/* Printing of those that `paths` selects.  -EIO etc.: the stream's error.  Each says "" where there is
 * nothing. */
/* "M a", "R a -> b", names quoted as git does; then what changed where that isn't the content. */
int changes_print_list(FILE *to, const struct changes *c, char *const *paths);
/* Adds an object for each to the array `list`. */
int changes_add_json(struct json_document *d, struct json_value *list, const struct changes *c,
                     char *const *paths);

/* What git is to be told of changes, so that it makes a patch of them. */
struct changes_export {
        FILE *stream;       /* for git fast-import: the branches old and new */
        FILE *aside;        /* lines of what the stream doesn't have: they begin with "# " */
        bool counts;        /* they stand beside counts, and begin with a space */
        char *const *paths; /* a selection */
};
/* Binary files are binary in the stream, and so are those that are too large to be in it.  -ESTALE: not what
 * the digest is of. */
int changes_export(struct changes_export *asked, const struct changes_layer *layer, const struct changes *c);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The digest of a commit: a SHA-256 of everything that the commit does, so that it can be held against
 * what somebody has looked at.  It covers, of each path in the commit's order, what kind of change it is,
 * its old path, what is done to it, and what stands on the host now (only its type); of what is put there
 * its type, mode, mtime, content or link text, user.* attributes, which other path it is a hard link of and,
 * where root commits, its owner.  Deleted paths are there one by one, those beneath an opaque folder too. */
#pragma once

#include "apply.h"

/* Digests of one object, in which a hole and the zeros that it reads as are the same. */
int digest_content(int fd, unsigned char ret[SHA256_SIZE]);
void digest_text(const char *text, size_t n, unsigned char ret[SHA256_SIZE]);
int digest_attributes(int fd, unsigned char ret[SHA256_SIZE]);

/* Fills op->content and op->attributes of each op that puts something from the source, and has_digest and
 * digest of its change.  -ESTALE: something isn't any more what the scan saw. */
int digest_sources(struct apply *a, struct changes *c);
/* Adds all ops, whose content and attributes are there. */
void digest_add_ops(const struct apply *a, struct sha256 *sum);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun mcp --http`: its port, its token, and nsrun-http. */
#pragma once

#include "base/error.h"
#include "http_wire.h"

/* A socket that listens at "127.0.0.1:PORT", and in *ret its port and a token for it.  -EINVAL, or as the
 * kernel has it. */
int http_open_port(const char *address, struct http_start *ret, struct nsrun_error *err);
/* Starts nsrun-http, which takes the socket's connections, and tells standard error the token. */
int http_begin(int fd, const struct http_start *start, int *ret_control, struct nsrun_error *err);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the frames of a WebSocket's server begin and end (RFC 6455, 5.2).  Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct frame {
        uint64_t left; /* bytes of its payload that haven't come; 0: what comes next is a head */
        unsigned char head[10];
        size_t n_head;
        bool is_control; /* it may stand between two frames of one message */
};

/* Takes *ret_n of n bytes, n at least 1: of one frame's head, or of its payload.  -EBADMSG: no server sends
 * such to a client that has offered no extension; what is compressed is among it. */
int frame_take(struct frame *f, const char *bytes, size_t n, size_t *ret_n);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun bash --json-stream`: what happens to a command, a JSON object on a line of standard output each. */
#pragma once

#include "base/macro.h"
#include "nsrun.h"

/* To be zero-initialised. */
struct bash_stream {
        int cancel_fd;
        long timeout; /* seconds, of the command */
        bool has_sandbox;
        bool was_started;
        bool is_over;      /* cancelled, or the reader has gone: nothing is written any more */
        int failure;       /* negative: why lines could not be written */
        uint64_t ends_ms;  /* the deadline, on CLOCK_MONOTONIC */
        char *rest;        /* of lines that the reader hasn't taken; */
        size_t n_rest;     /* so many bytes, */
        size_t n_written;  /* of which so many are */
        uint64_t left_out; /* bytes of the output that no line has */
        char held[3];      /* of the output, what may begin a character */
        size_t n_held;
        char answer[300]; /* a line of standard input */
        size_t n_answer;
};

void bash_stream_start(struct bash_stream *s);
/* A reader that doesn't read has the command wait, until its deadline: what it prints after that is left
 * out. */
void bash_stream_output(struct bash_stream *s, const char *bytes, size_t n);
/* Waits for "allow NAME" or "deny NAME" on standard input: 1, 0.  -1: neither comes. */
int bash_stream_ask(struct bash_stream *s, const char *name, const char *program);
/* The last line, of one of both; takes the result's output and reasons. */
int bash_stream_end(struct bash_stream *s, struct nsrun_bash_result *result,
                    const struct nsrun_error *failure, struct nsrun_error *err);
void bash_stream_clear(struct bash_stream *s);

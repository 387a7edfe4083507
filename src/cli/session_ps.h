/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun session ps`, `kill ID PID|NAME`, and the columns of `list`. */
#pragma once

#include "base/json.h"

enum {
        SHORT_SIZE = 24, /* bytes of a number as people read it */
};
/* "59s", "3h"; "812K", "1.2M", with a ">" before it where it is_more. */
const char *short_age(unsigned long long seconds, char to[SHORT_SIZE]);
const char *short_size(unsigned long long bytes, bool is_more, char to[SHORT_SIZE]);

/* As much of `text` as a line of a table has room for, `most` bytes, fit to print; for the caller to free.
 */
char *short_text(const char *text, size_t most);

/* Ends a session, and tells what is left of it. */
int cli_end_session(const char *id, int is_kill, struct nsrun_error *err);
int session_print_processes(const char *id, bool wants_json, struct nsrun_error *err);
/* Sends a signal to one process of a session (`who` is a number) or to those of a name. */
int session_send_signal(const char *id, const char *who, int signal, struct nsrun_error *err);

void session_print_header(void);
void session_print_row(const struct nsrun_session_info *info, const struct nsrun_session_usage *usage);
/* The last lines of `show`. */
void session_print_usage(const struct nsrun_session_info *info, const struct nsrun_session_usage *usage);
void session_add_usage(struct json_document *d, struct json_value *o, const struct nsrun_session_info *info,
                       const struct nsrun_session_usage *usage);

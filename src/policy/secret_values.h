/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Credentials in the value of a variable whose name says nothing of them. */
#pragma once

#include "base/macro.h"

/* Whether `value` holds credentials: a URL with a password before its host, or with a token or a signature
 * in its query; a connection string with a password; an Authorization header; a private key in PEM. */
bool credentials_in(const char *value);

/* An ASCII letter in upper case.  toupper(3) would depend on the locale of the library's caller. */
char ascii_upper(char c);
/* Whether `text` begins with the first n bytes of `word`, which is in upper case. */
bool begins_with(const char *text, const char *word, size_t n);

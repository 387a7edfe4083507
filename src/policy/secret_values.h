/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Credentials in the value of a variable whose name says nothing of them. */
#pragma once

#include "base/macro.h"

/* Whether `value` holds credentials: a URL with a password before its host, or with a token or a signature
 * in its query; a connection string with a password; an Authorization header; a private key in PEM. */
bool credentials_in(const char *value);

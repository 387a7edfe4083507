/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A session's questions about names, at this terminal. */
#pragma once

#include "base/error.h"

/* Asks until the session's network ends.  Refuses without a terminal. */
int session_ask_person(const char *id, struct nsrun_error *err);

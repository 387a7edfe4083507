/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Signals by name. */
#pragma once

/* The number of "TERM", "SIGTERM" (in any case) or "15"; 0: there is none. */
int signal_parse(const char *text);

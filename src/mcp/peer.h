/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who is at the other end of a Unix socket. */
#pragma once

/* Why a client isn't served, static, "" if it has gone already; NULL: it may be. */
const char *peer_judge(int fd);

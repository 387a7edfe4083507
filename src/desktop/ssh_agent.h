/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --ssh-agent: nsrun-net in another role, between a sandbox and the user's SSH agent. */
#pragma once

/* The word that chooses the role. */
#define SSH_AGENT_ROLE "ssh-agent"
/* A line of the keys' file that isn't a key: a person is asked before each signature. */
#define SSH_AGENT_ASKS "ask"
/* The same: any key will do. */
#define SSH_AGENT_ALL "all"

/* The descriptors that it starts with. */
enum {
        SSH_FD_SANDBOX =
                3,    /* a socket: it says whether it is ready, and gets the socket that waits inside */
        SSH_FD_KEYS,  /* a file with the keys that are wanted, a line each */
        SSH_FD_LIFE,  /* a socket: net/question.h's questions; when its other end is closed it ends */
        SSH_FD_AGENT, /* connected with the agent: it gets no other */
};
/* What it says on SSH_FD_SANDBOX, as an int32_t: 0; -errno; or 1 and the index of the first key that the
 * agent doesn't have. */

_Noreturn void ssh_agent_main(void);

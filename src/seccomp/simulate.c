/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An interpreter of the part of classic BPF that seccomp(2) accepts: loads of 32-bit words of
 * struct seccomp_data, masks, jumps forward, returns. */
#include "simulate.h"

#include "errnos.h"

#define NO_FILTER SECCOMP_RET_KILL_PROCESS

static bool simulate_load(const struct seccomp_data *data, uint32_t at, uint32_t *ret) {
        if (at % sizeof(*ret) != 0 || at > sizeof(*data) - sizeof(*ret))
                return false;
        memcpy(ret, (const char *)data + at, sizeof(*ret));
        return true;
}

/* Whether a conditional jump of operation `code` is taken; -1 for an operation that seccomp filters
 * don't have. */
static int jumps(uint16_t code, uint32_t a, uint32_t k) {
        switch (BPF_OP(code)) {
        case BPF_JEQ:
                return a == k;
        case BPF_JGT:
                return a > k;
        case BPF_JGE:
                return a >= k;
        case BPF_JSET:
                return (a & k) != 0;
        }
        return -1;
}

uint32_t seccomp_simulate(const struct sock_filter *code, size_t n, const struct seccomp_data *data) {
        uint32_t a = 0;

        for (size_t at = 0; at < n; at++) {
                const struct sock_filter *i = &code[at];
                int jump;

                switch (i->code) {
                case BPF_RET | BPF_K:
                        return i->k;
                case BPF_LD | BPF_W | BPF_ABS:
                        if (!simulate_load(data, i->k, &a))
                                return NO_FILTER;
                        break;
                case BPF_ALU | BPF_AND | BPF_K:
                        a &= i->k;
                        break;
                case BPF_JMP | BPF_JA:
                        if (i->k >= n)
                                return NO_FILTER;
                        at += i->k;
                        break;
                default:
                        jump = BPF_CLASS(i->code) == BPF_JMP && BPF_SRC(i->code) == BPF_K
                                       ? jumps(i->code, a, i->k)
                                       : -1;
                        if (jump < 0)
                                return NO_FILTER;
                        at += jump ? i->jt : i->jf;
                }
        }
        return NO_FILTER;
}

const char *seccomp_action_format(char to[32], uint32_t action) {
        int data = (int)(action & SECCOMP_RET_DATA);
        const char *name = errno_name(data);

        switch (action & SECCOMP_RET_ACTION_FULL) {
        case SECCOMP_RET_ALLOW:
                return "allow";
        case SECCOMP_RET_LOG:
                return "log";
        case SECCOMP_RET_TRACE:
                (void)snprintf(to, 32, "trace %d", data);
                return to;
        case SECCOMP_RET_USER_NOTIF:
                return "notify";
        case SECCOMP_RET_ERRNO:
                if (name)
                        (void)snprintf(to, 32, "errno %s", name);
                else
                        (void)snprintf(to, 32, "errno %d", data);
                return to;
        case SECCOMP_RET_TRAP:
                return "trap";
        case SECCOMP_RET_KILL_THREAD:
                return "kill_thread";
        }
        return "kill_process";
}

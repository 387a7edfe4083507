/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --ssh-agent: signatures by keys of the user's SSH agent, through a filter (desktop/ssh_agent.h). */
#include <sys/stat.h>

#include "desktop/ssh_agent.h"
#include "grants.h"

static int ssh_say(const struct granting *g) {
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_free_ char *names = NULL;
        bool asks = false;

        STRV_FOREACH (key, g->s->policy->ssh_agent) {
                if (streq(*key, SSH_AGENT_ASKS))
                        asks = true;
                else if (!streq(*key, SSH_AGENT_ALL))
                        strbuf_addf(&b, "%s%s", b.length ? ", " : "", *key);
        }
        if (!b.length)
                strbuf_add(&b, "every key");
        names = strbuf_finish(&b);
        if (!names)
                return error_oom(g->err);
        return grant_say(
                g,
                "signatures by %s of the SSH agent%s: whoever gets one is let in wherever the key is, "
                "once for each",
                names, asks ? ", asking you before each" : ", without a question");
}

int grant_ssh_agent(const struct granting *g) {
        const char *named = grant_variable(g, "SSH_AUTH_SOCK");
        char *const *keys = g->s->policy->ssh_agent;
        int r;

        if (strv_contains(keys, SSH_AGENT_ALL) &&
            strv_length(keys) > (strv_contains(keys, SSH_AGENT_ASKS) ? 2U : 1U))
                return grant_refuse(g, NULL, "all keys and some of them",
                                    "leave 'all' out, or the keys that are named");
        if (!named)
                return grant_refuse(g, NULL, "no agent is running: SSH_AUTH_SOCK isn't set",
                                    "start one: eval \"$(ssh-agent)\" && ssh-add");
        r = grant_find(g, named, S_IFSOCK, &g->to->ssh_agent);
        if (r == 0)
                return grant_refuse(g, named, "SSH_AUTH_SOCK names no socket",
                                    "start an agent: eval \"$(ssh-agent)\" && ssh-add");
        if (r >= 0)
                r = grant_place(g, SHOWN_SOCKET, NULL, "ssh-agent", "ssh-agent", "SSH_AUTH_SOCK", "");
        return r < 0 ? r : ssh_say(g);
}

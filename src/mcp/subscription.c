/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Open subscriptions: their acknowledgement and their end. */
#include "subscription.h"

#define SUBSCRIPTION_META "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":%s}"

int subscription_begin(struct mcp_server *s, const struct message *m, struct reply *refusal) {
        _cleanup_free_ char *params = str_format("{" SUBSCRIPTION_META ",\"notifications\":{}}", m->id),
                            *text = NULL, *id = strdup(m->id);

        if (json_kind(json_get(m->params, "notifications")) != JSON_OBJECT)
                return reply_refuse(refusal, MESSAGE_BAD_PARAMS, "notifications is missing, or no object");
        if (s->n_subscriptions == SUBSCRIPTIONS_MOST)
                return reply_refuse(refusal, MESSAGE_FAILED, "too many subscriptions are open");
        if (params)
                text = message_request(NULL, "notifications/subscriptions/acknowledged", params);
        if (!text || !id)
                return reply_refuse(refusal, MESSAGE_FAILED, "out of memory");
        s->subscriptions[s->n_subscriptions++] = TAKE_PTR(id);
        writer_send(&s->writer, text);
        return 0;
}

bool subscriptions_have(const struct mcp_server *s, const char *id) {
        for (size_t i = 0; i < s->n_subscriptions; i++)
                if (streq(s->subscriptions[i], id))
                        return true;
        return false;
}

void subscriptions_cancel(struct mcp_server *s, const char *id) {
        for (size_t i = 0; i < s->n_subscriptions; i++)
                if (streq(s->subscriptions[i], id)) {
                        free(s->subscriptions[i]);
                        s->subscriptions[i--] = s->subscriptions[--s->n_subscriptions];
                }
}

void subscriptions_end(struct mcp_server *s) {
        while (s->n_subscriptions > 0) {
                _cleanup_free_ char *id = s->subscriptions[--s->n_subscriptions],
                                    *result = str_format(
                                            "{\"resultType\":\"complete\"," SUBSCRIPTION_META "}", id),
                                    *text = result ? message_result(id, result) : NULL;

                writer_send(&s->writer, text);
        }
}

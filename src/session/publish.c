/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A port is taken here, by the process that asks, so that a refusal is the kernel's to it; the listening
 * socket then goes to the session's nsrun-net. */
#include "publish.h"

#include <sys/socket.h>

#include "base/str.h"
#include "base/sys.h"
#include "net/control.h"
#include "resolve/network.h"
#include "run/network.h"
#include "session.h"

#define ANSWER_MS 10000

int publish_ask(int folder_fd, const struct net_control *question, int fd, struct net_control_answer *ret) {
        _cleanup_close_ int to = sys_socket(AF_UNIX, SOCK_DGRAM, 0), mine = -EBADF, other = -EBADF;
        struct net_control_answer answer;
        struct sockaddr_un address;
        struct pollfd wait;
        int pair[2], r = to < 0 ? to : sys_socketpair(pair);

        if (r < 0)
                return r;
        mine = pair[0];
        other = pair[1];
        if (connect(to, network_control_at(folder_fd, &address), sizeof(address)) < 0)
                return -errno;
        r = sys_send_fds(to, question, sizeof(*question), (const int[]){other, fd}, fd >= 0 ? 2 : 1);
        if (r < 0)
                return r;
        close_fdp(&other);
        wait = (struct pollfd){.fd = mine, .events = POLLIN};
        do
                r = sys_poll(&wait, 1, ANSWER_MS);
        while (r == -EINTR);
        if (r <= 0)
                return r < 0 ? r : -ETIMEDOUT;
        if (recv(mine, &answer, sizeof(answer), 0) != (ssize_t)sizeof(answer) ||
            answer.n > NET_PUBLISHES_MOST)
                return -EPIPE;
        *ret = answer;
        return 0;
}

/* The rules that the session's network has, and one more port. */
static int refuse_taken(const struct nsrun_plan *plan, const struct net_publish *p,
                        struct nsrun_error *err) {
        _cleanup_net_rules_ struct net_rules rules = {0};
        _cleanup_strv_ char **lines = NULL;
        int r = strv_copy(plan->network, &lines);

        if (r >= 0)
                r = strv_consume(&lines, net_publish_format(p));
        if (r >= 0)
                r = net_rules_read(lines, &rules);
        return r < 0 ? error_oom(err) : network_refuse_taken(&rules, err);
}

static bool has_rules(const struct plan_record *record) {
        return record->plan->net == POLICY_NET_ALLOW && !record->plan->plain;
}

static int publish_failed(int r, const char *id, struct nsrun_error *err) {
        if (r == -E2BIG)
                return error_setf(err, NSRUN_STAGE_NETWORK, UNSAID(r), NULL, NULL,
                                  "the session publishes %u ports, and more can't be", NET_PUBLISHES_MOST);
        return error_set(err, NSRUN_STAGE_NETWORK, r, id, "the session's nsrun-net doesn't answer",
                         "its network has ended: start another session");
}

nsrun_public int nsrun_session_publish(const char *id, const char *port, struct nsrun_error *error) {
        _cleanup_records_ struct record_folder folder = RECORD_FOLDER_INIT;
        _cleanup_record_ struct plan_record record = {0};
        struct net_control question = {.kind = NET_CONTROL_PUBLISH};
        struct net_control_answer answer;
        _cleanup_close_ int fd = -EBADF;
        const char *why = net_publish_parse(port, &question.publish);
        int r;

        if (why)
                return error_set(error, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), port, why,
                                 "write PORT, PORT:INSIDE or ADDRESS:PORT:INSIDE");
        r = session_read(id, &folder, &record, error);
        if (r < 0)
                return r;
        if (!has_rules(&record))
                return error_set(error, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), id,
                                 "nothing of the session can be published",
                                 "a session that was started with --net=allow has a network for that");
        r = refuse_taken(record.plan, &question.publish, error);
        if (r >= 0)
                r = fd = network_listen(&question.publish, "", error);
        if (r < 0)
                return r;
        r = publish_ask(folder.dir_fd, &question, fd, &answer);
        if (r >= 0)
                r = answer.error;
        return r < 0 ? publish_failed(r, id, error) : 0;
}

nsrun_public int nsrun_session_published(const char *id, char ***ret, struct nsrun_error *error) {
        const struct net_control question = {.kind = NET_CONTROL_LIST};
        _cleanup_records_ struct record_folder folder = RECORD_FOLDER_INIT;
        _cleanup_record_ struct plan_record record = {0};
        struct net_control_answer answer = {.n = 0};
        _cleanup_strv_ char **ports = NULL;
        int r = session_read(id, &folder, &record, error);

        if (r < 0)
                return r;
        if (has_rules(&record)) {
                r = publish_ask(folder.dir_fd, &question, -1, &answer);
                if (r < 0)
                        return publish_failed(r, id, error);
        }
        for (uint32_t i = 0; i < answer.n; i++) {
                _cleanup_free_ char *line = net_publish_format(&answer.publishes[i]);

                if (!line || strv_add(&ports, startswith(line, "publish ")) < 0)
                        return error_oom(error);
        }
        *ret = TAKE_PTR(ports);
        return 0;
}

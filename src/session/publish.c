/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See publish.h.  A port is granted as nsrun grant does it. */
#include "publish.h"

#include <fcntl.h>

#include "base/sys.h"
#include "session.h"
#include "widen/widen_net.h"

int publish_ask(int folder_fd, const struct net_control *question, struct net_control_answer *ret) {
        _cleanup_close_ int to = sys_open(folder_fd, NET_CONTROL_NAME, O_PATH | O_NOFOLLOW, 0);
        struct net_control_answer answer;
        int r = to < 0 ? to : control_ask(to, question, NULL, 0, &answer, sizeof(answer));

        if (r >= 0 && answer.n > NET_PUBLISHES_MOST)
                r = -EPIPE;
        if (r >= 0)
                *ret = answer;
        return r;
}

nsrun_public int nsrun_session_publish(const char *id, const char *port, struct nsrun_error *error) {
        _cleanup_records_ struct record_folder folder = RECORD_FOLDER_INIT;
        _cleanup_record_ struct plan_record record = {0};
        _cleanup_widened_ struct widened w = WIDENED_INIT;
        int r = session_read(id, &folder, &record, error);

        if (r >= 0)
                r = widen_open(record.monitor.pid, record.init.pid, sys_pidfd_open(record.init.pid), true,
                               &w, error);
        return r < 0 ? r : widen_net_grant(&w, "publish", port, NULL, error);
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
        if (record.plan->net == POLICY_NET_ALLOW && !record.plan->plain) {
                r = publish_ask(folder.dir_fd, &question, &answer);
                if (r < 0)
                        return error_set(error, NSRUN_STAGE_NETWORK, r, id,
                                         "the session's nsrun-net doesn't answer",
                                         "its network has ended: start another session");
        }
        for (uint32_t i = 0; i < answer.n; i++) {
                _cleanup_free_ char *line = net_publish_format(&answer.publishes[i]);

                if (!line || strv_add(&ports, startswith(line, "publish ")) < 0)
                        return error_oom(error);
        }
        *ret = TAKE_PTR(ports);
        return 0;
}

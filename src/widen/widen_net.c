/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sockets are made in the sandbox's network namespace by a process that ends, as pid 1 makes those of a
 * start (boundary/network.c), and nsrun-net gets them with the rule.  It is written down before, so that
 * what is begun by one that is killed is taken back by the next. */
#include "widen_net.h"

#include "base/file.h"
#include "base/sys.h"
#include "net/control.h"
#include "resolve/network.h"

/* ------------------------------------------------------------- nsrun-net asked */

/* Of that sandbox, if it lives when the socket is open: its waiter has it as long. */
static int control_of(const struct widened *w) {
        char path[64];
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        int r;

        if (w->granted.by.control < 0)
                return -ENOENT;
        (void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)w->waiter, w->granted.by.control);
        r = fd = sys_open(AT_FDCWD, path, O_PATH, 0);
        if (r >= 0)
                r = sys_pidfd_send_signal(w->pidfd, 0);
        if (r >= 0)
                r = sys_fstat(fd, &st);
        return r < 0 ? r : !S_ISSOCK(st.st_mode) ? -ENOTSOCK : TAKE_FD(fd);
}

static int say_line(const struct widened *w, enum net_control_kind kind, const char *option,
                    const char *value, const int *fds, size_t n, struct net_lacks *ret_lacks) {
        struct net_control question = {.kind = kind};
        _cleanup_close_ int to = control_of(w);
        struct net_control_answer answer;
        int r = to;

        if ((size_t)snprintf(question.line, sizeof(question.line), "%s %s", option, value) >=
            sizeof(question.line))
                r = -EINVAL;
        if (r >= 0)
                r = ret_lacks ? control_ask(to, &question, fds, n, ret_lacks, sizeof(*ret_lacks))
                              : control_ask(to, &question, fds, n, &answer, sizeof(answer));
        return r < 0 ? r : ret_lacks ? ret_lacks->error : answer.error;
}

/* --------------------------------------------------------------- sockets made */

struct making {
        const struct net_lacks *lacks;
        int to;
};

static int do_make(void *data) {
        const struct making *m = data;

        /* Who makes routes makes an address of one's own, too: another than what there is. */
        return network_hand_over(&(struct boundary_network){.socket = m->to,
                                                            .own = {m->lacks->own[0], m->lacks->own[1]},
                                                            .routes = m->lacks->routes,
                                                            .n_routes = m->lacks->n_routes,
                                                            .sockets = m->lacks->sockets,
                                                            .n_sockets = m->lacks->n_sockets},
                                 NULL);
}

/* *ret: where nsrun-net reads them. */
static int make_sockets_inside(const struct widened *w, const struct net_lacks *lacks, int *ret) {
        struct inside inside = INSIDE_INIT;
        _cleanup_close_ int to = -EBADF;
        int pair[2], r = sys_socketpair(pair);

        if (r < 0)
                return r;
        *ret = pair[0];
        to = pair[1];
        /* Nobody reads meanwhile. */
        r = fcntl(to, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
        if (r >= 0)
                r = fd_lift(&to);
        if (r >= 0 && lacks->n_sockets + lacks->n_routes > 0) {
                r = inside_open_network(w->waiter, &w->granted.by.held, &inside);
                if (r >= 0)
                        r = inside_do(&inside, &to, 1, do_make, &(struct making){lacks, to});
                inside_close(&inside);
        }
        return r;
}

/* ------------------------------------------------------------------- granted */

/* The last that is there, or was before widen_open() repaired it. */
static struct granted *find_network(const struct widened *w, const char *line) {
        for (size_t i = w->granted.n; i-- > 0;) {
                struct granted *g = &w->granted.items[i];
                const char *value = startswith(line, g->option);

                if ((g->is_live || g->is_repaired) && granted_is_network(g) && value && *value == ' ' &&
                    streq(value + 1, g->path))
                        return g;
        }
        return NULL;
}

/* The value's lines, of a list its hosts'; and the value as nsrun inspect has it. */
static int read_network_value(const char *option, const char *value, char ***ret, char **ret_text,
                              struct nsrun_error *err) {
        struct resolved_net net = {.rules = NULL};
        struct nsrun_policy *policy = NULL;
        const char *text;
        int r = nsrun_policy_new(&policy) < 0 ? error_oom(err)
                                              : nsrun_policy_set(policy, option, value, err);

        if (r >= 0 && ret_text) {
                text = startswith(policy->network[0], option);
                *ret_text = strdup(text ? text + 1 : policy->network[0]);
        }
        if (r >= 0 && (network_add_lines(policy->network, &net) < 0 || (ret_text && !*ret_text)))
                r = error_oom(err);
        *ret = net.rules;
        (void)nsrun_policy_free(policy);
        return r;
}

/* As a start judges it, with what the sandbox has.  *ret: those that it hasn't. */
static int judge_lines(const struct widened *w, const char *value, char *const *lines, char ***ret,
                       struct nsrun_error *err) {
        _cleanup_strv_ char **all = NULL, **with_denied = NULL;
        int r = strv_copy(w->plan->network, &all);

        for (size_t i = 0; i < w->granted.n && r >= 0; i++) {
                const struct granted *g = &w->granted.items[i];

                if (g->is_live && granted_is_network(g))
                        r = strv_consume(&all, str_format("%s %s", g->option, g->path));
        }
        STRV_FOREACH (line, all)
                if (r >= 0 && startswith(*line, "deny "))
                        r = strv_add(&with_denied, *line);
        STRV_FOREACH (line, lines)
                if (r >= 0 && !strv_contains(all, *line) && (r = strv_add(ret, *line)) >= 0 &&
                    (r = strv_add(&all, *line)) >= 0)
                        r = strv_add(&with_denied, *line);
        if (r < 0)
                return error_oom(err);
        if (!*ret)
                return error_set(err, NSRUN_STAGE_POLICY, UNSAID(-EEXIST), value,
                                 "the sandbox has it already", NULL);
        r = network_refuse_contradiction(with_denied, err);
        return r < 0 ? r : network_refuse(all, err);
}

static int net_fail(int r, const char *value, struct nsrun_error *err) {
        return r == -EADDRINUSE
                       ? error_set(err, NSRUN_STAGE_NETWORK, UNSAID(r), value,
                                   "a server in the sandbox has a port of it", "end that server first")
               : r == -ENOENT ? error_set(err, NSRUN_STAGE_NETWORK, UNSAID(r), value,
                                          "the sandbox's nsrun-net can't be asked",
                                          "start the sandbox with the option")
               : r == -ECONNREFUSED || r == -EPIPE || r == -ESRCH
                       ? error_set(err, NSRUN_STAGE_NETWORK, r, value,
                                   "the sandbox's nsrun-net doesn't answer",
                                   "its network has ended: start another sandbox")
                       : error_set(err, NSRUN_STAGE_NETWORK, r, value,
                                   "the sandbox's network can't be given it", NULL);
}

static int grant_line(struct widened *w, const char *option, char *value, struct nsrun_error *err) {
        struct granted g = {.option = (char *)(uintptr_t)option, .path = value, .shown = value};
        _cleanup_close_ int made = -EBADF, listener = -EBADF;
        struct net_publish publish;
        struct net_lacks lacks;
        int r;

        if (streq(option, "publish") && !net_publish_parse(value, &publish)) {
                r = listener = network_listen(&publish, "", err);
                if (r < 0)
                        return r;
        }
        r = say_line(w, NET_CONTROL_PREPARE, option, value, NULL, 0, &lacks);
        if (r >= 0 && (lacks.n_sockets > NET_LACKS_MOST || lacks.n_routes > ARRAY_SIZE(lacks.routes)))
                r = -EPIPE;
        if (r >= 0)
                r = make_sockets_inside(w, &lacks, &made);
        if (r >= 0)
                r = granted_ask(w->file, &g);
        if (r < 0) {
                /* That ends the preparation. */
                (void)say_line(w, NET_CONTROL_REMOVE, "", "", NULL, 0, NULL);
                return net_fail(r, value, err);
        }
        r = say_line(w, NET_CONTROL_ADD, option, value, (const int[]){made, listener}, listener >= 0 ? 2 : 1,
                     NULL);
        if (r >= 0)
                r = granted_say(w->file, GRANTED_SHOWN, &g);
        if (r >= 0)
                return 0;
        (void)widen_net_take(w, &g, NULL);
        return net_fail(r, value, err);
}

int widen_net_take(const struct widened *w, struct granted *g, struct nsrun_error *err) {
        int r = say_line(w, NET_CONTROL_REMOVE, g->option, g->path, NULL, 0, NULL);

        /* It was never there; or nobody has a network any more. */
        if (r < 0 && r != -ENOENT && r != -ECONNREFUSED)
                return error_set(err, NSRUN_STAGE_NETWORK, r, g->path, "it can't be taken back",
                                 "'nsrun inspect' lists what is still granted");
        g->has_ended = true;
        g->is_live = false;
        return granted_say(w->file, GRANTED_ENDED, g) < 0;
}

/* How many were taken back, now or by widen_open().  -errno: one of them wasn't, and *err is the first's. */
static int take_lines(const struct widened *w, char *const *lines, struct nsrun_error *err) {
        int r = 0, n = 0;

        STRV_FOREACH (line, lines) {
                struct granted *g = find_network(w, *line);
                int q = 0;

                if (!g)
                        continue;
                n++;
                if (g->is_live) {
                        (void)granted_say(w->file, GRANTED_ENDING, g);
                        q = widen_net_take(w, g, r < 0 ? NULL : err);
                }
                r = r < 0 ? r : q;
        }
        return r < 0 ? r : n;
}

int widen_net_grant(struct widened *w, const char *option, const char *value, char **ret_text,
                    struct nsrun_error *err) {
        _cleanup_strv_ char **lines = NULL, **fresh = NULL;
        int r = read_network_value(option, value, &lines, ret_text, err);

        if (r >= 0 && w->plan->net != POLICY_NET_ALLOW)
                r = error_setf(err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), NULL,
                               "start the sandbox with --net=allow", "--%s is of no use without its network",
                               option);
        if (r >= 0)
                r = judge_lines(w, value, lines, &fresh, err);
        STRV_FOREACH (line, fresh)
                if (r >= 0)
                        r = grant_line(w, option, *line + strlen(option) + 1, err);
        if (r < 0 && fresh && widen_find_live(w) >= 0)
                (void)take_lines(w, fresh, NULL);
        return r;
}

int widen_net_revoke(struct widened *w, const char *option, const char *value, char **ret_text,
                     struct nsrun_error *err) {
        _cleanup_strv_ char **lines = NULL;
        int r = read_network_value(option, value, &lines, ret_text, err);

        if (r >= 0)
                r = take_lines(w, lines, err);
        return r > 0   ? 0
               : r < 0 ? r
                       : error_set(err, NSRUN_STAGE_SUPERVISE, UNSAID(-ENOENT), value,
                                   "nothing of that was granted", "'nsrun inspect' lists it");
}

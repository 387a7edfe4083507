/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun-net's start, with all that it is given, and its end; and the line that says what it refused. */
#include "network.h"

#include <inttypes.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/programs.h"
#include "base/stream.h"
#include "disk/rundir.h"
#include "net/control.h"
#include "terminal/asking.h"

#define JOURNAL_NAME "network"
_Static_assert(NET_FD_SANDBOX == SPAWN_FIRST_FD, "the first that is given");
/* Above the numbers that nsrun-net's descriptors get. */
#define FIRST_FREE (NET_FD_PUBLISHED + NET_PUBLISHES_MOST + 1)
#define MOST_TOLD  8 /* hosts in the line */

/* ------------------------------------------------------------------ its start */

void given_clear(struct given *g) {
        for (size_t i = 0; i < g->n; i++)
                close_fdp(&g->fds[i]);
}

int give(struct given *g, int fd) {
        int lifted = fd < 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, g->above);
        int r = lifted >= 0 || fd < 0 ? lifted
                : errno == EINVAL     ? -EMFILE
                                      : -errno; /* above RLIMIT_NOFILE */

        if (fd >= 0)
                (void)close(fd);
        if (r >= 0)
                g->fds[g->n++] = r;
        return r < 0 ? r : 0;
}

int give_pair(struct given *g, int *ret_other) {
        int ends[2], r = sys_socketpair(ends);

        if (r < 0)
                return r;
        *ret_other = ends[0];
        return give(g, ends[1]);
}

int give_lines(struct given *g, const char *name, char *const *lines, const char *via) {
        _cleanup_close_ int fd = sys_memfd(name);
        int r = fd < 0 ? fd : 0;

        STRV_FOREACH (line, lines) {
                const char *text = via && startswith(*line, "via ") ? via : *line;

                if (r >= 0)
                        r = write_full(fd, text, strlen(text));
                if (r >= 0)
                        r = write_full(fd, "\n", 1);
        }
        if (r >= 0 && lseek(fd, 0, SEEK_SET) < 0)
                r = -errno;
        return r < 0 ? r : give(g, TAKE_FD(fd));
}

static int map_journal(struct network *n, int fd) {
        struct stat st;
        void *at;

        if (fstat(fd, &st) < 0 || st.st_size < (off_t)sizeof(*n->journal))
                return -EBADMSG;
        at = mmap(NULL, sizeof(*n->journal), PROT_READ, MAP_SHARED, fd, 0);
        if (at == MAP_FAILED)
                return -errno;
        n->journal = at;
        n->n_seen = __atomic_load_n(&n->journal->n, __ATOMIC_ACQUIRE);
        n->n_others = n->journal->n_others;
        n->n_tallies = __atomic_load_n(&n->journal->n_tallies, __ATOMIC_ACQUIRE);
        if (n->n_tallies == 0)
                return 0;
        if (n->n_tallies > NET_TALLIES)
                return -EBADMSG;
        n->tallies = calloc(n->n_tallies, sizeof(*n->tallies));
        if (!n->tallies)
                return -ENOMEM;
        memcpy(n->tallies, n->journal->tallies, n->n_tallies * sizeof(*n->tallies));
        return 0;
}

static int give_journal(struct network *n, struct given *g, int dir) {
        _cleanup_close_ int fd = dir >= 0 ? sys_open(dir, JOURNAL_NAME, O_RDWR | O_CREAT | O_EXCL, 0600)
                                          : sys_memfd("nsrun-journal");
        int r = fd < 0 ? fd : 0;

        if (r >= 0 && ftruncate(fd, sizeof(*n->journal)) < 0)
                r = -errno;
        /* A disk that the session's commands fill later would end nsrun-net at a page that it has no room
         * for.
         */
        if (r >= 0 && dir >= 0 && fallocate(fd, 0, 0, sizeof(*n->journal)) < 0 && errno != EOPNOTSUPP)
                r = -errno;
        if (r >= 0)
                r = map_journal(n, fd);
        return r < 0 ? r : give(g, TAKE_FD(fd));
}

static int give_published(struct network *n, struct given *g, struct nsrun_error *err) {
        for (size_t i = 0; i < n->rules.n_publishes; i++) {
                int r = network_listen(&n->rules.publishes[i], "--", err);

                if (r < 0)
                        return r;
                r = give(g, r);
                if (r < 0)
                        return error_set(err, NSRUN_STAGE_NETWORK, r, NULL, "the network can't be prepared",
                                         NULL);
        }
        return 0;
}

/* By which more is allowed and published later.  Its own path may be longer than a socket's may be. */
static int listen_control(int dir, const char *name, int *ret_fd) {
        _cleanup_close_ int fd = sys_socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int r = fd < 0 ? fd : 0;

        (void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", dir, name);
        if (r >= 0)
                r = sys_bind(fd, (const struct sockaddr *)&address, sizeof(address));
        if (r >= 0)
                *ret_fd = TAKE_FD(fd);
        return r < 0 ? r : sys_open(dir, name, O_PATH | O_NOFOLLOW, 0);
}

/* A session's is in the folder of its record; any other's loses its name at once, and has none where nsrun
 * has no folder for it: then nothing is granted. */
static int give_control(struct network *n, struct given *g, int dir, struct nsrun_error *err) {
        _cleanup_close_ int base = -EBADF, fd = -EBADF;
        _cleanup_free_ char *path = NULL;
        char name[64] = NET_CONTROL_NAME;
        uint64_t number = 0;
        int r = dir < 0 ? rundir_open_base(&base, &path, NULL) : 0;

        if (dir < 0 && getrandom(&number, sizeof(number), 0) == (ssize_t)sizeof(number))
                (void)snprintf(name, sizeof(name), NET_CONTROL_NAME "-%" PRIx64, number);
        if (r >= 0)
                r = n->control = listen_control(dir < 0 ? base : dir, name, &fd);
        if (base >= 0) {
                int q = sys_unlinkat(base, name);

                /* Nothing else takes the name away. */
                if (q < 0 && q != -ENOENT)
                        q = sys_unlinkat(base, name);
                r = r < 0 ? r : q;
        }
        if (r < 0 && dir < 0) {
                close_fdp(&n->control);
                close_fdp(&fd);
                r = fd = null_open(O_RDONLY, err);
        }
        if (r >= 0)
                r = give(g, TAKE_FD(fd));
        return r < 0 ? error_set(err, NSRUN_STAGE_NETWORK, r, NULL, "the network can't be prepared", NULL)
                     : 0;
}

int network_spawn(const char *role, char *const *words, const struct given *g, int *ret_pidfd,
                  struct nsrun_error *err) {
        _cleanup_free_ char **argv = calloc(strv_length(words) + 3, sizeof(*argv));
        /* Nothing of the caller's environment: where libraries are looked for could be a folder of the
         * command's.  A rule's name is whole: the domains that resolv.conf has to search in are put behind
         * no name (resolv.conf(5)). */
        static char search[] = "LOCALDOMAIN=", *env[] = {search, NULL};
        const char *name = g->program ? g->name : "nsrun-net",
                   *program = g->program ? g->program : program_net();
        _cleanup_close_ int null_fd = null_open(O_RDWR, err);
        pid_t pid = 0;
        int r;

        if (null_fd < 0)
                return null_fd;
        if (!argv)
                return error_oom(err);
        argv[0] = (char *)(uintptr_t)name;
        argv[1] = (char *)(uintptr_t)role;
        for (size_t i = 0; i < strv_length(words); i++)
                argv[2 + i] = words[i];
        r = spawn_apart(&(struct spawn){.program = program,
                                        .argv = argv,
                                        .env = env,
                                        .folder = "/",
                                        .null_fd = null_fd,
                                        .fds = g->fds,
                                        .n_fds = g->n},
                        &pid);
        if (r < 0)
                return error_setf(err, NSRUN_STAGE_NETWORK, r, program,
                                  r == -EPERM || r == -ENOSYS ? NULL : "install nsrun completely",
                                  "%s can't be executed", name);
        r = *ret_pidfd = sys_pidfd_open(pid);
        return r < 0 ? error_setf(err, NSRUN_STAGE_NETWORK, r, NULL, NULL, "%s can't be watched", name) : 0;
}

static int network_open(const struct nsrun_plan *plan, int journal_dir, struct network *n, struct given *g,
                        struct nsrun_error *err) {
        int r = strv_copy(plan->network, &n->lines);

        if (r >= 0)
                r = net_rules_read(n->lines, &n->rules);
        if (r >= 0)
                r = net_layout_make(&n->rules, &n->layout);
        if (r >= 0)
                r = give_pair(g, &n->launch.socket);
        if (r >= 0)
                /* Of the proxy's line the plan has what may be shown alone. */
                r = give_lines(g, "nsrun-rules", plan->network, plan->via);
        if (r >= 0)
                r = give_pair(g, &n->life_fd);
        if (r >= 0)
                r = give_journal(n, g, journal_dir);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_NETWORK, r, NULL, "the network can't be prepared", NULL);
        r = keys_begin(plan, g, &n->keys, err);
        if (r >= 0)
                r = give_published(n, g, err);
        return r < 0 ? r : give_control(n, g, journal_dir, err);
}

/* A session's command looks into the session's journal.  Without it nothing is told. */
static int look_into_session(const struct nsrun_plan *plan, struct network *n) {
        _cleanup_close_ int fd = sys_open(plan->join->folder.dir_fd, JOURNAL_NAME, O_RDONLY | O_NOFOLLOW, 0);

        if (fd >= 0)
                (void)map_journal(n, fd);
        return strv_copy(plan->network, &n->lines);
}

int network_begin(const struct nsrun_plan *plan, int journal_dir, struct network *n,
                  struct launch_params *params, struct nsrun_error *err) {
        _cleanup_(given_clear) struct given g = {.above = FIRST_FREE};
        int r;

        if (plan->net != POLICY_NET_ALLOW || plan->plain || plan->raw)
                return 0;
        if (plan->join)
                return look_into_session(plan, n) < 0 ? error_oom(err) : 0;
        r = network_open(plan, journal_dir, n, &g, err);
        if (r >= 0)
                r = network_spawn(NULL, NULL, &g, &n->pidfd, err);
        n->launch.layout = &n->layout;
        params->network = &n->launch;
        return r;
}

void network_launched(struct network *n) {
        close_fdp(&n->launch.socket);
}

/* -------------------------------------------------------------------- its end */

void network_end(struct network *n) {
        network_launched(n);
        close_fdp(&n->life_fd);
        close_fdp(&n->control);
        if (n->pidfd >= 0) {
                struct pollfd end = {.fd = n->pidfd, .events = POLLIN};

                /* What the sandbox has sent goes out yet. */
                (void)sys_poll(&end, 1, 2 * 1000);
        }
        sys_end_process(&n->pidfd);
        keys_end(&n->keys);
        if (n->journal)
                (void)munmap((void *)(uintptr_t)n->journal, sizeof(*n->journal));
        net_layout_clear(&n->layout);
        net_rules_clear(&n->rules);
        strv_free(n->lines);
        free(n->tallies);
        *n = NETWORK_INIT;
}

/* --------------------------------------------------------------- what it says */

void network_copy(const char *from, size_t size, const char *allowed, char *to) {
        size_t i = 0;

        for (; i < size - 1 && from[i]; i++)
                to[i] = (char)((allowed ? !!strchr(allowed, from[i]) : from[i] >= ' ' && from[i] <= '~')
                                       ? from[i]
                                       : '?');
        to[i] = '\0';
}

static char *describe_event(const struct net_event *e, const struct net_rules *rules) {
        char host[sizeof(e->host)], why[sizeof(e->text)];
        struct net_address a;

        network_copy(e->host, sizeof(host), NETWORK_HOST, host);
        switch ((enum net_event_kind)e->kind) {
        case NET_EVENT_NAME:
                return str_format("%.200s isn't allowed%s", host,
                                  net_rules_deny_name(rules, host) ? " (--deny)" : "");
        case NET_EVENT_PORT:
                return str_format("%.200s:%u isn't allowed", host, e->port);
        case NET_EVENT_HOME:
                return memchr(e->text, '\0', sizeof(e->text)) && net_address_parse(e->text, &a)
                               ? str_format("%.200s:%u isn't allowed, since it leads to %s", host, e->port,
                                            e->text)
                               : NULL;
        case NET_EVENT_UNRESOLVED:
                return str_format("%.200s has no address outside", host);
        case NET_EVENT_UNREACHED:
                return str_format("%.200s:%u can't be reached", host, e->port);
        case NET_EVENT_UNASKED:
                network_copy(e->text, sizeof(why), NULL, why);
                return str_format("nobody is asked any more after %.10s names", why);
        case NET_EVENT_VIA:
                network_copy(e->text, sizeof(why), NULL, why);
                return str_format("%.200s:%u isn't reached, since the proxy %.47s", host, e->port, why);
        default:
                return NULL;
        }
}

/* Adds the value of --allow that would have let it through, if there is one: what --deny names has none. */
static int add_remedy(const struct net_event *e, const struct net_rules *rules, char ***remedies) {
        char host[sizeof(e->host)], text[sizeof(e->host) + sizeof(":65535")];
        const char *to = e->kind == NET_EVENT_HOME ? e->text : host;
        struct net_address a;
        struct net_rule rule;

        network_copy(e->host, sizeof(host), NETWORK_HOST, host);
        if ((e->kind != NET_EVENT_NAME && e->kind != NET_EVENT_PORT && e->kind != NET_EVENT_HOME) ||
            net_rules_deny_name(rules, host) ||
            (e->kind == NET_EVENT_HOME && !memchr(e->text, '\0', sizeof(e->text))))
                return 0;
        if (net_address_parse(to, &a) && net_rules_deny_address(rules, &a))
                return 0;
        (void)snprintf(text, sizeof(text),
                       e->port == 0      ? "%s"
                       : strchr(to, ':') ? "[%s]:%u"
                                         : "%s:%u",
                       to, e->port);
        /* Of loopback localhost alone can be had, and by that name. */
        if (net_rule_parse(text, false, &rule) ||
            (e->kind == NET_EVENT_HOME && rule.kind != NET_RULE_RANGE) || strv_contains(*remedies, text))
                return 0;
        return strv_add(remedies, text);
}

/* What a person would do about it, in one step.  NULL: nothing, or there is no memory. */
static char *write_hint(const struct net_rules *rules, char *const *remedies) {
        const char *it = strv_length(remedies) == 1 ? "it" : "them";
        _cleanup_strbuf_ struct strbuf b = {0};

        if (!remedies)
                return NULL;
        strbuf_addf(&b, rules->publishes_later ? "to allow %s, start a session with" : "to allow %s:", it);
        STRV_FOREACH (remedy, remedies) {
                if (b.length + strlen(*remedy) > 900) {
                        strbuf_add(&b, " ...");
                        break;
                }
                strbuf_addf(&b, " --allow %s", *remedy);
        }
        /* A name was refused before anybody could say which port was meant. */
        STRV_FOREACH (remedy, remedies)
                if (!strchr(*remedy, ':')) {
                        strbuf_addf(&b, " (ports 80 and 443; another port: --allow %s:PORT)", *remedy);
                        break;
                }
        if (rules->publishes_later && rules->asks)
                strbuf_add(&b, ", or answer 'nsrun session ask'");
        return strbuf_finish(&b);
}

static int collect_events(const struct network *n, const struct net_rules *rules, char ***ret,
                          char ***ret_remedies, size_t *ret_more) {
        uint64_t end = __atomic_load_n(&n->journal->n, __ATOMIC_ACQUIRE), i = n->n_seen;

        if (end > i + NET_JOURNAL_EVENTS)
                i = end - NET_JOURNAL_EVENTS;
        for (; i < end; i++) {
                const struct net_event e = n->journal->events[i % NET_JOURNAL_EVENTS];
                char *text = describe_event(&e, rules);

                if (!text || strv_contains(*ret, text)) {
                        free(text);
                        continue;
                }
                if (strv_length(*ret) >= MOST_TOLD && e.kind != NET_EVENT_UNASKED) {
                        free(text);
                        (*ret_more)++;
                        continue;
                }
                if (strv_consume(ret, text) < 0 || add_remedy(&e, rules, ret_remedies) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static void add_allowed(struct strbuf *b, char *const *lines) {
        size_t n = 0, more = 0;

        STRV_FOREACH (line, lines) {
                const char *host = startswith(*line, "allow "), *key = startswith(*line, "key ");

                if (!host && !key)
                        continue;
                if (key)
                        host = strrchr(key, ' ') + 1;
                if (b->length + strlen(host) > 420)
                        more++;
                else
                        strbuf_addf(b, "%s%s%s", n++ == 0 ? "; allowed: " : ", ", host,
                                    key ? " by its key" : "");
        }
        if (more > 0)
                strbuf_addf(b, " and %zu more", more);
        if (n == 0)
                strbuf_add(b, "; nothing is allowed");
}

int network_tell(struct network *n, struct nsrun_error *ret_note) {
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_strv_ char **events = NULL, **remedies = NULL;
        _cleanup_net_rules_ struct net_rules rules = {0};
        _cleanup_free_ char *text = NULL, *hint = NULL;
        struct nsrun_error note = {0};
        size_t more = 0;

        if (!n->journal)
                return 0;
        if (net_rules_read(n->lines, &rules) < 0 || collect_events(n, &rules, &events, &remedies, &more) < 0)
                return -ENOMEM;
        n->n_seen = __atomic_load_n(&n->journal->n, __ATOMIC_ACQUIRE);
        if (!events)
                return 0;
        strbuf_add(&b, "network: ");
        STRV_FOREACH (event, events)
                if (b.length + strlen(*event) > 330 && event != events)
                        more++;
                else
                        strbuf_addf(&b, "%s%s", event == events ? "" : ", ", *event);
        if (more > 0)
                strbuf_addf(&b, " and %zu more", more);
        add_allowed(&b, n->lines);
        text = strbuf_finish(&b);
        if (!text)
                return -ENOMEM;
        hint = write_hint(&rules, remedies);
        (void)error_set(&note, NSRUN_STAGE_NETWORK, 0, NULL, text, hint);
        *ret_note = note;
        return 1;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "access_list.h"

#include "base/array.h"
#include "base/path.h"
#include "host/engine_sockets.h"
#include "host/socket_table.h"
#include "ports.h"
#include "rules/home_secrets.h"

/* How many of the last calls count as "just before the end", and how many of the programs. */
#define LATE          40
#define LATE_PROGRAMS 3
/* Each part of a path is looked at for its reason: so many in all, of the last paths first, take about a
 * second. */
#define PARTS_MOST 50000
/* Twice as many as items, so that a search ends soon. */
#define SLOTS (ASKED_MOST * 2)

/* ---------------------------------------------------------------- the list */

static bool changes_something(enum watched_how how) {
        return how == WATCHED_WRITE || how == WATCHED_MAKE || how == WATCHED_REMOVE;
}

bool asked_is_read(enum watched_how how) {
        return how == WATCHED_READ || how == WATCHED_EXEC;
}

bool asked_is_of_interest(const struct nsrun_plan *plan, const char *path, enum watched_how how) {
        const struct plan_op *op = explain_covering(plan, path);

        if (path_is_beneath(path, "/proc") || path_is_beneath(path, "/sys"))
                return false;
        switch (op ? op->kind : PLAN_DIR) {
        case PLAN_DIR:
        case PLAN_HIDE:
                return true;
        case PLAN_TMPFS:
                return !explain_is_own_tmp(op) || asked_is_read(how);
        case PLAN_BIND:
                return changes_something(how) && op->is_read_only;
        default:
                return false;
        }
}

/* FNV-1a. */
static uint32_t asked_hash(const char *path, enum watched_how how) {
        uint32_t hash = 2166136261U ^ (uint32_t)how;

        for (; *path; path++)
                hash = (hash ^ (uint8_t)*path) * 16777619U;
        return hash;
}

/* Forgets all items: of a flood the last ones count. */
static void forget(struct asked_list *list) {
        for (size_t i = 0; i < list->n; i++)
                free(list->items[i].path);
        memset(list->slots, 0, SLOTS * sizeof(*list->slots));
        list->others += list->n;
        list->n = list->bytes = 0;
}

static bool asked_has_room(const struct asked_list *list, size_t length) {
        return list->n < ASKED_MOST && list->bytes + length <= ASKED_MOST_BYTES;
}

struct asked *asked_add(struct asked_list *list, const char *path, enum watched_how how) {
        size_t length = strlen(path) + 1, slot = asked_hash(path, how) % SLOTS;
        struct asked *item;

        if (!list->slots && !(list->slots = calloc(SLOTS, sizeof(*list->slots))))
                return NULL;
        for (; list->slots[slot] > 0; slot = (slot + 1) % SLOTS) {
                item = &list->items[list->slots[slot] - 1];
                if (item->how == how && streq(item->path, path)) {
                        item->count++;
                        item->last = list->calls;
                        return item;
                }
        }
        if (!asked_has_room(list, length) && !list->is_whole) {
                forget(list);
                slot = asked_hash(path, how) % SLOTS;
        }
        if (!asked_has_room(list, length) || ARRAY_GROW(list->items, list->n) < 0) {
                list->others++;
                return NULL;
        }
        item = &list->items[list->n];
        *item = (struct asked){.path = strdup(path), .how = how, .count = 1, .last = list->calls};
        if (!item->path) {
                list->others++;
                return NULL;
        }
        list->bytes += length;
        list->slots[slot] = (uint32_t)++list->n;
        return item;
}

void asked_clear(struct asked_list *list) {
        for (size_t i = 0; i < list->n; i++)
                free(list->items[i].path);
        free(list->items);
        free(list->slots);
        *list = (struct asked_list){.plan = list->plan};
}

/* ------------------------------------------------------------- the reasons */

/* Where libraries look in every program, whatever it does. */
static bool is_always_probed(const struct nsrun_plan *plan, const char *path) {
        static const char *const probes[] = {
                "/etc/selinux",          "/etc/ld.so.preload", "/etc/ld.so.nohwcap",
                "/usr/local/lib/locale", "/etc/terminfo",      "/etc/host.conf",
                "/etc/gai.conf",         "/etc/gitconfig",     "/etc/ssh"};
        /* Of git's settings nsrun passes the user's name and address; without the others programs go on,
         * too, as in a new home. */
        static const char *const own[] = {".gitconfig", ".config", ".cache", ".local", ".ssh/config"};
        const char *below = plan->home ? path_below(path, plan->home) : NULL;

        return path_is_beneath_any(path, probes, ARRAY_SIZE(probes)) ||
               (below && path_is_beneath_any(below, own, ARRAY_SIZE(own)));
}

/* Whether programs look there for settings which they do without: what lies in /etc, and hidden files right
 * in the home. */
static bool is_probed(const struct nsrun_plan *plan, const char *path) {
        const char *below = plan->home ? path_below(path, plan->home) : NULL;

        return path_is_beneath(path, "/etc") || (below && *below == '.' && !strchr(below, '/'));
}

/* A folder that a person has named, perhaps as one of those in which a compiler looks. */
static bool is_named_folder(const struct nsrun_plan *plan, const char *path) {
        const char *below = plan->home ? path_below(path, plan->home) : NULL;

        return !path_is_beneath(path, "/etc") && (!below || *below != '.');
}

/* Whether a program was looked for in a folder of PATH that another one has: the next, for the most part. */
static bool is_search_of_path(const struct nsrun_plan *plan, const struct asked *a) {
        const char *path = environment_get(plan->env, "PATH"), *name = path_basename(a->path);
        size_t folder = (size_t)(name - a->path) - 1;
        bool is_searched = false, is_found = false;

        if (!path || a->is_there || (a->how != WATCHED_LOOK && a->how != WATCHED_EXEC))
                return false;
        for (const char *end; *path && !(is_searched && is_found); path = end + (*end == ':')) {
                _cleanup_free_ char *there = NULL;
                const struct plan_op *op;

                end = strchrnul(path, ':');
                if ((size_t)(end - path) == folder && strncmp(path, a->path, folder) == 0) {
                        is_searched = true;
                        continue;
                }
                there = str_format("%.*s/%s", (int)(end - path), path, name);
                op = there && *there == '/' ? explain_covering(plan, there) : NULL;
                is_found |= op && op->kind == PLAN_BIND && access(there, X_OK) == 0;
        }
        return is_searched && is_found;
}

static bool may_be_cause(const struct asked_list *list, const struct asked *a, enum asked_depth depth) {
        const char *below = list->plan->home ? path_below(a->path, list->plan->home) : NULL;
        bool is_late = a->last + LATE >= list->calls,
             is_passing = a->how == WATCHED_LOOK || is_probed(list->plan, a->path);

        if (depth == ASKED_PROTECTED)
                return changes_something(a->how) && explain_is_protected(list->plan, a->path);
        if (is_always_probed(list->plan, a->path) || is_search_of_path(list->plan, a) ||
            (!is_late && explain_is_own_tmp(explain_covering(list->plan, a->path))))
                return false;
        if (depth == ASKED_PLAIN)
                return !is_passing && !(below && secrets_hold(below));
        return !is_passing || is_late || (depth == ASKED_WIDE && is_named_folder(list->plan, a->path));
}

static bool is_refused(const struct asked *a, enum refused *ret) {
        *ret = REFUSED_ABSENT;
        if (a->how == WATCHED_MAKE || (changes_something(a->how) && a->is_there)) {
                *ret = a->is_replaced ? REFUSED_REPLACE : REFUSED_WRITE;
                /* mkdir(2) of what is there, as mkdir -p calls it. */
                return a->how != WATCHED_MAKE || !a->is_folder;
        }
        return !a->is_there;
}

static size_t count_parts(const char *path) {
        size_t n = 0;

        for (; *path; path++)
                n += *path == '/';
        return n;
}

/* Whether it was to be made, too: that says more than that it isn't there. */
static bool was_to_be_made(const struct asked_list *list, const char *path) {
        for (size_t i = 0; i < list->n; i++)
                if (list->items[i].how == WATCHED_MAKE && streq(list->items[i].path, path))
                        return true;
        return false;
}

/* Adds to *parts what it looks at. */
static int asked_reason(const struct asked_list *list, const struct asked *a, enum asked_depth depth,
                        size_t *parts, char **ret) {
        const struct plan_op *op = explain_covering(list->plan, a->path);
        enum refused how;
        int r;

        *ret = NULL;
        /* In an empty folder of the sandbox's own anything can be made. */
        if (!may_be_cause(list, a, depth) ||
            (a->how == WATCHED_MAKE && a->is_made && op && op->kind == PLAN_TMPFS && !op->is_read_only))
                return 0;
        if (!is_refused(a, &how)) {
                if (!op || op->kind != PLAN_HIDE || a->how == WATCHED_LOOK)
                        return 0;
                how = REFUSED_ACCESS;
        }
        *parts += count_parts(a->path);
        if (how == REFUSED_ABSENT && was_to_be_made(list, a->path))
                return 0;
        if (how == REFUSED_WRITE || how == REFUSED_REPLACE) {
                r = explain_path(list->plan, a->path, REFUSED_MAKE, ret);
                if (r < 0 || *ret)
                        return r;
        }
        return explain_path(list->plan, a->path, how, ret);
}

static int compare_last(const void *a, const void *b) {
        const struct asked *x = *(const struct asked *const *)a, *y = *(const struct asked *const *)b;

        return x->last != y->last ? (x->last < y->last ? 1 : -1) : (x > y) - (x < y);
}

static void forget_port(struct asked_list *list, uint16_t port) {
        size_t n = 0;

        for (size_t i = 0; i < list->n_ports; i++)
                if (list->ports[i] != port)
                        list->ports[n++] = list->ports[i];
        list->n_ports = n;
}

void asked_add_port(struct asked_list *list, uint16_t port, const char *folder) {
        size_t left = ASKED_MOST_PORT_LINES - list->n_port_lines;
        bool is_served = left > 0 && socket_is_served(folder, port, &left);

        list->n_port_lines = ASKED_MOST_PORT_LINES - left;
        forget_port(list, port);
        if (is_served || left == 0)
                return;
        if (list->n_ports == ARRAY_SIZE(list->ports))
                forget_port(list, list->ports[0]);
        list->ports[list->n_ports++] = port;
}

/* A service of the host's that was looked for at the sandbox's own loopback. */
static int explain_ports(const struct asked_list *list, char ***ret) {
        int r = 0;

        for (size_t i = list->n_ports; i-- > 0 && r >= 0;) {
                char reason[192];

                if (!socket_is_served("/proc/self/net", list->ports[i], NULL))
                        continue;
                (void)snprintf(reason, sizeof(reason),
                               "port %u of localhost is the sandbox's own, and nobody listens there: "
                               "%s--allow localhost:%u reaches the host's",
                               list->ports[i], list->plan->net == POLICY_NET_NONE ? "--net=allow " : "",
                               list->ports[i]);
                r = explain_add(ret, reason);
        }
        return r < 0 ? r : explain_low_port(list->plan, list->bound, ret);
}

bool asked_was_privileged(const struct asked_list *list) {
        return list->privileged_at > 0 && list->executions < list->privileged_at + LATE_PROGRAMS;
}

/* A connection to a container engine fails in the same way whether one runs or not. */
static int explain_engines(const struct asked_list *list, char ***ret) {
        _cleanup_strv_ char **sockets = NULL;
        int r = 0;

        for (size_t i = 0; i < list->n && r >= 0; i++) {
                if (list->items[i].how != WATCHED_CONNECT || list->items[i].is_there)
                        continue;
                if (!sockets)
                        r = sockets_list(environ, list->plan->home, NULL, &sockets);
                if (r >= 0 && strv_contains(sockets, list->items[i].path))
                        r = explain_add(ret, EXPLAIN_NO_ENGINE);
        }
        return r;
}

int asked_explain(const struct asked_list *list, enum asked_depth depth, char ***ret) {
        _cleanup_free_ const struct asked **sorted = calloc(list->n + 1, sizeof(*sorted));
        size_t parts = 0;
        int r = 0;

        if (!sorted)
                return -ENOMEM;
        for (size_t i = 0; i < list->n; i++)
                sorted[i] = &list->items[i];
        qsort(sorted, list->n, sizeof(*sorted), compare_last);
        if (depth != ASKED_PROTECTED && list->has_inet && list->plan->net == POLICY_NET_NONE)
                r = explain_add(ret, EXPLAIN_NO_NETWORK);
        if (r >= 0 && depth != ASKED_PROTECTED)
                r = explain_ports(list, ret);
        if (r >= 0 && depth != ASKED_PROTECTED)
                r = explain_engines(list, ret);
        for (size_t i = 0; i < list->n && strv_length(*ret) < EXPLAIN_MOST && parts < PARTS_MOST && r >= 0;
             i++) {
                _cleanup_free_ char *reason = NULL;

                r = asked_reason(list, sorted[i], depth, &parts, &reason);
                if (r >= 0 && reason)
                        r = explain_add(ret, reason);
        }
        return r;
}

/* ------------------------------------------------------------- denied calls */

bool explain_call_is_nested(const char *name) {
        static const char *const calls[] = {"unshare", "clone",   "setns",         "mount",     "umount2",
                                            "fsopen",  "fsmount", "move_mount",    "open_tree", "pivot_root",
                                            "chroot",  "umount",  "mount_setattr", "fsconfig"};

        return STR_IS_ANY(name, calls);
}

/* Calls that reach no further than the command's own processes: whoever wants one may have it by its name.
 */
static bool is_to_be_added(const char *name) {
        static const char *const calls[] = {"perf_event_open",
                                            "userfaultfd",
                                            "ptrace",
                                            "process_vm_readv",
                                            "process_vm_writev",
                                            "process_madvise",
                                            "process_mrelease",
                                            "pidfd_getfd",
                                            "kcmp",
                                            "personality",
                                            "get_mempolicy",
                                            "set_mempolicy",
                                            "mbind",
                                            "move_pages",
                                            "migrate_pages",
                                            "name_to_handle_at",
                                            "remap_file_pages",
                                            "set_mempolicy_home_node"};

        return STR_IS_ANY(name, calls);
}

/* Whether a policy's changes name the call. */
static bool is_changed(const char *changes, const char *name) {
        size_t n = strlen(name);

        for (const char *at = changes; *at; at += 1 + strcspn(at + 1, "+-"))
                if (strncmp(at + 1, name, n) == 0 && strcspn(at + 1, "+-") == n)
                        return true;
        return false;
}

int explain_call(const char *policy, const char *name, const char *argument, bool is_raw, int error,
                 char **ret) {
        const char *changes = "", *blank = *argument ? " " : "";
        const struct seccomp_shipped *shipped = seccomp_find_shipped(policy, &changes);
        bool is_open = !is_changed(changes, name);

        *ret = NULL;
        if (is_raw || streq(name, "socketcall") || (shipped && is_open && strstr(name, "chmod"))) {
                *ret = strdup(is_raw                  ? EXPLAIN_NO_RAW_SOCKETS
                              : strstr(name, "chmod") ? EXPLAIN_NO_MODE
                                                      : EXPLAIN_NO_SOCKETCALL);
                return *ret ? 0 : -ENOMEM;
        }
        /* What is missing on older kernels, too, programs do without. */
        if (error == ENOSYS)
                return 0;
        if (shipped && is_open && is_to_be_added(name))
                *ret = str_format("seccomp denies %s: --seccomp=%s+%s allows it", name, policy, name);
        else if (is_open && explain_call_is_nested(name))
                *ret = str_format(
                        "seccomp denies %s%s%s: --seccomp=nested%s allows it in user namespaces of the "
                        "command's own",
                        name, blank, argument, changes);
        else
                *ret = str_format(
                        "seccomp denies %s%s%s, %s", name, blank, argument,
                        shipped && is_open
                                ? "and no option that is safe allows it: what needs it runs outside"
                                : "by the policy that --seccomp names: one that has it allows it");
        return *ret ? 0 : -ENOMEM;
}

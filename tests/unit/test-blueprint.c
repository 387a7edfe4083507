/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The boundary's one door: what is written of a record is opened the same, and whatever else stands there is
 * refused before anything is done, without a crash (the sanitizers look on). */
#include "../test.h"

#include <sys/mount.h>
#include <sys/resource.h>

#include "../seed.h"
#include "launch/child.h"

static char *words[] = {(char *)"sh", (char *)"-c", (char *)"", (char *)"two words\n\xff", NULL};
static char *variables[] = {(char *)"A=b", (char *)"EMPTY=", NULL};
static char *folders[] = {(char *)"/a", (char *)"/b", NULL},
            *pwds[] = {(char *)"PWD=/a", (char *)"PWD=/b", NULL};
static char *stubs[] = {(char *)".envrc", (char *)".vscode/", NULL};
static struct sock_filter code[] = {{.code = 6, .k = 0x7fff0000}, {.code = 6, .k = 1}};
static struct sock_fprog filters[] = {{.len = 2, .filter = code}, {.len = 1, .filter = code}};
static int passed[] = {3, 1000}, held[] = {7, -EBADF, -EBADF};
static struct net_range routes[] = {{.address = {.bytes = {198, 18}}, .bits = 15}};
static struct net_socket sockets[] = {{.kind = NET_SOCKET_UDP, .port = 53}, {.kind = NET_SOCKET_CONNECT}};
static struct plan_op ops[] = {
        {.kind = PLAN_DIR, .target = (char *)"/x", .mode = 0755},
        {.kind = PLAN_FILE, .target = (char *)"/x/f", .mode = 0444, .text = (char *)"text\n"},
        {.kind = PLAN_BIND,
         .target = (char *)"/y",
         .source = (char *)"/\xff",
         .is_directory = true,
         .stubs = stubs,
         .inode = UINT64_MAX},
        {.kind = PLAN_OVERLAY,
         .target = (char *)"/z",
         .source = (char *)"/s",
         .text = (char *)"slug",
         .size = UINT64_MAX,
         .was_asked_for = true},
        {.kind = PLAN_PROC, .target = (char *)"/proc", .proc = POLICY_PROC_NONE},
};

static struct blueprint make_blueprint(void) {
        static const struct child fresh = CHILD_INIT;
        struct blueprint b = fresh.b;

        b.facts.life = BOUNDARY_SANDBOX;
        b.facts.init.report_fd = 17;
        b.facts.init.has_command = true;
        b.facts.namespaces = 0x7e020000;
        strcpy(b.facts.uid_map, "1000 1000 1\n");
        b.file = words[0];
        b.cwd = (char *)"/x";
        b.home = (char *)"/home/me";
        b.argv = words;
        b.env = variables;
        b.directories = folders;
        b.pwd = pwds;
        b.filters = filters;
        b.n_filters = ARRAY_SIZE(filters);
        b.passed = passed;
        b.n_passed = ARRAY_SIZE(passed);
        b.routes = routes;
        b.n_routes = ARRAY_SIZE(routes);
        b.sockets = sockets;
        b.n_sockets = ARRAY_SIZE(sockets);
        b.ops = ops;
        b.n_ops = ARRAY_SIZE(ops);
        b.held = held;
        b.n_held = ARRAY_SIZE(held);
        return b;
}

static char *write_blueprint(struct blueprint *b, size_t *ret_n) {
        char *bytes = NULL;

        assert_int_equal(blueprint_write(b, &bytes, ret_n), 0);
        return bytes;
}

static void expect_opens(struct blueprint *b, int r) {
        _cleanup_free_ char *bytes = NULL;
        struct blueprint opened;
        size_t n;

        bytes = write_blueprint(b, &n);
        assert_int_equal(blueprint_open(bytes, n, &opened), r);
        if (r >= 0)
                blueprint_close(&opened);
}

static void expect_texts(char *const *a, char *const *b) {
        assert_int_equal(strv_length(a), strv_length(b));
        for (size_t i = 0; a && a[i]; i++)
                assert_string_equal(a[i], b[i]);
}

TEST(what_is_written_is_opened_the_same) {
        struct blueprint b = make_blueprint();
        _cleanup_free_ char *bytes = NULL;
        struct blueprint o;
        size_t n;

        bytes = write_blueprint(&b, &n);
        assert_int_equal(blueprint_open(bytes, n, &o), 0);
        assert_memory_equal(&o.facts, &b.facts, sizeof(b.facts));
        assert_string_equal(o.file, b.file);
        assert_string_equal(o.cwd, b.cwd);
        assert_string_equal(o.home, b.home);
        assert_null(o.hostname);
        expect_texts(o.argv, b.argv);
        expect_texts(o.env, b.env);
        expect_texts(o.directories, b.directories);
        expect_texts(o.pwd, b.pwd);
        assert_null(o.lock_files);
        assert_int_equal(o.n_filters, 2);
        assert_memory_equal(o.filters[0].filter, code, sizeof(code));
        assert_int_equal(o.filters[1].len, 1);
        assert_int_equal(o.n_passed, 2);
        assert_memory_equal(o.passed, passed, sizeof(passed));
        assert_memory_equal(o.routes, routes, sizeof(routes));
        assert_memory_equal(o.sockets, sockets, sizeof(sockets));
        assert_int_equal(o.n_held, 3);
        assert_memory_equal(o.held, held, sizeof(held));
        assert_int_equal(o.n_ops, ARRAY_SIZE(ops));
        for (size_t i = 0; i < o.n_ops; i++) {
                assert_int_equal(o.ops[i].kind, ops[i].kind);
                assert_string_equal(o.ops[i].target, ops[i].target);
                assert_int_equal(o.ops[i].mode, ops[i].mode);
                assert_int_equal(o.ops[i].size, ops[i].size);
                assert_int_equal(o.ops[i].inode, ops[i].inode);
                assert_int_equal(o.ops[i].proc, ops[i].proc);
                assert_int_equal(o.ops[i].is_directory, ops[i].is_directory);
                assert_int_equal(o.ops[i].was_asked_for, ops[i].was_asked_for);
                expect_texts(o.ops[i].stubs, ops[i].stubs);
        }
        assert_string_equal(o.ops[2].source, ops[2].source);
        blueprint_close(&o);
}

/* What bubblewrap's --file has may be any bytes. */
TEST(a_files_bytes_may_be_any) {
        struct plan_op file = {.kind = PLAN_DATA, .target = (char *)"x", .text = (char *)"a\0b", .size = 3};
        struct blueprint b = make_blueprint(), o;
        _cleanup_free_ char *bytes = NULL;
        size_t n;

        b.facts.life = BOUNDARY_RAW;
        b.ops = &file;
        b.n_ops = 1;
        bytes = write_blueprint(&b, &n);
        assert_int_equal(blueprint_open(bytes, n, &o), 0);
        assert_memory_equal(o.ops[0].text, "a\0b", 4);
        blueprint_close(&o);
}

TEST(another_versions_record_is_told_apart) {
        struct blueprint b = make_blueprint();

        expect_opens(&b, 0);
        b.facts.init.version++;
        expect_opens(&b, -EPROTO);
        b.facts.init.version--;
        b.facts.init.size--;
        expect_opens(&b, -EPROTO);
}

#define EXPECT_REFUSED(change)                                                  \
        do {                                                                    \
                struct blueprint b = make_blueprint();                          \
                struct plan_op op = {.kind = PLAN_DIR, .target = (char *)"/x"}; \
                                                                                \
                b.ops = &op;                                                    \
                b.n_ops = 1;                                                    \
                expect_opens(&b, 0);                                            \
                change;                                                         \
                expect_opens(&b, -EBADMSG);                                     \
        } while (0)

TEST(what_can_not_be_is_refused) {
        static int low[] = {2};

        EXPECT_REFUSED(b.facts.life = BOUNDARY_RAW + 1);
        EXPECT_REFUSED(b.facts.init.terminal = INIT_TERMINAL_OWN + 1);
        EXPECT_REFUSED(b.facts.init.leftovers = INIT_LEFTOVERS_REAP + 1);
        EXPECT_REFUSED(b.facts.init.n_limits = RLIMITS_COUNT + 1);
        EXPECT_REFUSED(b.facts.init.report_fd = -1);
        EXPECT_REFUSED(b.facts.init.identity.groups.n = PLAN_GROUPS_MAX + 1);
        EXPECT_REFUSED(memset(b.facts.gid_map, '1', sizeof(b.facts.gid_map)));
        EXPECT_REFUSED(b.facts.init.terminal_fd = 3);
        EXPECT_REFUSED(b.facts.init.n_limits = 1; b.facts.init.limits[0].resource = RLIM_NLIMITS);
        EXPECT_REFUSED(memset(&b.facts.is_strict, 2, 1));
        EXPECT_REFUSED(memset(&b.facts.init.identity.is_late, 0xff, 1));
        EXPECT_REFUSED(b.cgroup_path = (char *)"x");
        EXPECT_REFUSED(op.is_in_rundir = true; op.source = (char *)"/run/abcdef/scratch");
        EXPECT_REFUSED(op.is_in_rundir = true; op.source = (char *)"/r"; b.rundir = (char *)"/run/abcdef");
        EXPECT_REFUSED(op.kind = PLAN_SOCKET; op.text = (char *)"dbus");
        EXPECT_REFUSED(b.argv = NULL);
        EXPECT_REFUSED(b.argv = words + 4);
        EXPECT_REFUSED(b.env = NULL);
        EXPECT_REFUSED(b.file = NULL);
        EXPECT_REFUSED(b.cwd = NULL);
        EXPECT_REFUSED(b.cwd = (char *)"x");
        EXPECT_REFUSED(b.home = (char *)"home");
        EXPECT_REFUSED(b.pwd = folders + 1);
        EXPECT_REFUSED(b.passed = low; b.n_passed = 1);
        EXPECT_REFUSED(op.kind = PLAN_SYSCTL + 1);
        EXPECT_REFUSED(op.kind = PLAN_SYSCTL); /* only in raw plans */
        EXPECT_REFUSED(op.kind = PLAN_PROTECT);
        EXPECT_REFUSED(op.proc = POLICY_PROC_NONE + 1);
        EXPECT_REFUSED(op.target = NULL);
        EXPECT_REFUSED(op.target = (char *)"x");
        EXPECT_REFUSED(op.kind = PLAN_BIND);
        EXPECT_REFUSED(op.kind = PLAN_BIND; op.source = (char *)"x");
        EXPECT_REFUSED(op.kind = PLAN_COVER); /* its target is not in /proc */
        EXPECT_REFUSED(op.kind = PLAN_FILE);
        EXPECT_REFUSED(op.kind = PLAN_SYMLINK);
        EXPECT_REFUSED(op.kind = PLAN_OVERLAY; op.source = (char *)"/s");
        EXPECT_REFUSED(op.has_source_fd = true; op.source_fd = -1);
        EXPECT_REFUSED(b.facts.life = BOUNDARY_RAW; b.directories = NULL);
}

/* Cut anywhere, and with a byte more. */
TEST(a_record_has_its_own_length) {
        struct blueprint b = make_blueprint();
        _cleanup_free_ char *bytes = NULL, *longer = NULL;
        struct blueprint o;
        size_t n;

        bytes = write_blueprint(&b, &n);
        for (size_t cut = 0; cut < n; cut++) {
                _cleanup_free_ char *part = malloc(cut + 1);

                memcpy(part, bytes, cut);
                assert_int_equal(blueprint_open(part, cut, &o), -EBADMSG);
        }
        longer = calloc(1, n + 1);
        memcpy(longer, bytes, n);
        assert_int_equal(blueprint_open(longer, n + 1, &o), -EBADMSG);
}

/* A text ends where its length says. */
TEST(a_text_has_no_zero_in_it) {
        struct blueprint b = make_blueprint(), o;
        _cleanup_free_ char *bytes = NULL;
        char *home;
        size_t n;

        bytes = write_blueprint(&b, &n);
        home = memmem(bytes, n, b.home, strlen(b.home) + 1);
        assert_non_null(home);
        home[5] = '\0';
        assert_int_equal(blueprint_open(bytes, n, &o), -EBADMSG);
}

/* Numbers alone are the fixed part's: what lies behind it may be anything. */
TEST(any_bytes_are_opened_or_refused) {
        struct blueprint b = make_blueprint();
        _cleanup_free_ char *bytes = NULL;
        unsigned n_opened = 0;
        size_t n, from = sizeof(b.facts);

        bytes = write_blueprint(&b, &n);
        for (unsigned round = 0; round < 20000; round++) {
                _cleanup_free_ char *changed = malloc(n);
                struct blueprint o;
                unsigned changes = 1 + (unsigned)random() % 4;

                memcpy(changed, bytes, n);
                while (changes-- > 0)
                        changed[from + (size_t)random() % (n - from)] = (char)random();
                if (blueprint_open(changed, n, &o) >= 0) {
                        n_opened++;
                        assert_true(o.cwd[0] == '/');
                        for (size_t i = 0; i < o.n_ops; i++)
                                assert_true(o.ops[i].target[0] == '/');
                        blueprint_close(&o);
                }
        }
        assert_true(n_opened > 0);
}

int main(void) {
        srandom((unsigned)test_seed());
        return run_all_tests();
}

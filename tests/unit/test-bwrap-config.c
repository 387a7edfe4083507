/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What src/bwrap's parser makes of a command line that it accepts: the struct, field by field; and
 * how messages look.  Mistakes are in test-bwrap-parse.c. */
#include <sys/vfs.h>

#include "bwrap.h"
#include "bwrap/options.h"
#include "manual.h"

TEST(a_later_option_warns_of_an_earlier_one) {
        static const char *const once[] = {
                "--chdir",          "--uid",     "--gid",      "--hostname",        "--userns",
                "--userns2",        "--pidns",   "--block-fd", "--userns-block-fd", "--info-fd",
                "--json-status-fd", "--seccomp", "--netns",    "--seccomp-policy",  "--report",
        };
        struct parsed *p;

        for (size_t i = 0; i < ARRAY_SIZE(once); i++) {
                char expected[128];

                (void)snprintf(expected, sizeof(expected), "Only the last %s option will take effect",
                               once[i]);
                p = PARSE(once[i], "4", "--nope");
                assert_null(p->config.warnings);
                parsed_free(p);
                p = PARSE(once[i], "4", once[i], "5", once[i], "6", "--nope");
                assert_int_equal(strv_length(p->config.warnings), 2);
                assert_string_equal(p->config.warnings[0], expected);
                assert_string_equal(p->config.warnings[1], expected);
                parsed_free(p);
        }
        p = ACCEPT("--chdir", "/a", "--chdir", "/b", "--seccomp", "4", "--seccomp", "5", "--unshare-user",
                   "--uid", "4", "true");
        assert_string_equal(p->config.chdir, "/b");
        assert_int_equal(p->config.n_seccomp_fds, 1);
        assert_int_equal(p->config.seccomp_fds[0], 5);
        parsed_free(p);
}

struct expected_op {
        struct bwrap_op op;
        const char *source, *target, *work;
};

static void assert_text(const char *got, const char *expected) {
        if (expected)
                assert_string_equal(got, expected);
        else
                assert_null(got);
}

static void assert_op(const struct bwrap_op *op, const struct expected_op *e) {
        assert_int_equal(op->kind, e->op.kind);
        assert_string_equal(op->option, e->op.option);
        assert_text(op->source, e->source);
        assert_text(op->target, e->target);
        assert_text(op->work, e->work);
        assert_int_equal(op->fd, e->op.fd ? e->op.fd : -1);
        assert_int_equal(op->is_read_only, e->op.is_read_only);
        assert_int_equal(op->is_device, e->op.is_device);
        assert_int_equal(op->is_optional, e->op.is_optional);
        assert_int_equal(op->makes_source, e->op.makes_source);
        assert_int_equal(op->has_perms, e->op.has_perms);
        assert_int_equal(op->perms, e->op.perms);
        assert_int_equal(op->size, e->op.size);
}

TEST(each_operation_carries_what_was_given) {
        static const struct {
                const char *words[MOST_WORDS];
                struct expected_op e;
        } cases[] = {
                {{"--bind", "a", "b"}, {{.kind = BWRAP_BIND}, "a", "b", NULL}},
                {{"--bind-try", "a", "b"}, {{.kind = BWRAP_BIND, .is_optional = true}, "a", "b", NULL}},
                {{"--dev-bind", "a", "b"}, {{.kind = BWRAP_BIND, .is_device = true}, "a", "b", NULL}},
                {{"--dev-bind-try", "a", "b"},
                 {{.kind = BWRAP_BIND, .is_device = true, .is_optional = true}, "a", "b", NULL}},
                {{"--ro-bind", "a", "b"}, {{.kind = BWRAP_BIND, .is_read_only = true}, "a", "b", NULL}},
                {{"--ro-bind-try", "a", "b"},
                 {{.kind = BWRAP_BIND, .is_read_only = true, .is_optional = true}, "a", "b", NULL}},
                {{"--bind-create", "a", "b"}, {{.kind = BWRAP_BIND, .makes_source = true}, "a", "b", NULL}},
                {{"--dev-bind-create", "a", "b"},
                 {{.kind = BWRAP_BIND, .is_device = true, .makes_source = true}, "a", "b", NULL}},
                {{"--ro-bind-create", "a", "b"},
                 {{.kind = BWRAP_BIND, .is_read_only = true, .makes_source = true}, "a", "b", NULL}},
                {{"--bind-fd", "7", "b"}, {{.kind = BWRAP_BIND_FD, .fd = 7}, NULL, "b", NULL}},
                {{"--ro-bind-fd", "7", "b"},
                 {{.kind = BWRAP_BIND_FD, .fd = 7, .is_read_only = true}, NULL, "b", NULL}},
                {{"--remount-ro", "b"}, {{.kind = BWRAP_REMOUNT_RO}, NULL, "b", NULL}},
                {{"--proc", "b"}, {{.kind = BWRAP_PROC}, NULL, "b", NULL}},
                {{"--dev", "b"}, {{.kind = BWRAP_DEV}, NULL, "b", NULL}},
                {{"--tmpfs", "b"}, {{.kind = BWRAP_TMPFS}, NULL, "b", NULL}},
                {{"--mqueue", "b"}, {{.kind = BWRAP_MQUEUE}, NULL, "b", NULL}},
                {{"--dir", "b"}, {{.kind = BWRAP_DIR}, NULL, "b", NULL}},
                {{"--file", "7", "b"}, {{.kind = BWRAP_FILE, .fd = 7}, NULL, "b", NULL}},
                {{"--bind-data", "7", "b"}, {{.kind = BWRAP_BIND_DATA, .fd = 7}, NULL, "b", NULL}},
                {{"--ro-bind-data", "7", "b"},
                 {{.kind = BWRAP_BIND_DATA, .fd = 7, .is_read_only = true}, NULL, "b", NULL}},
                {{"--symlink", "a", "b"}, {{.kind = BWRAP_SYMLINK}, "a", "b", NULL}},
                {{"--chmod", "1750", "b"}, {{.kind = BWRAP_CHMOD, .perms = 01750}, NULL, "b", NULL}},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct parsed *p = accepted(parse_as(0, cases[i].words));
                struct expected_op e = cases[i].e;

                e.op.option = cases[i].words[0];
                assert_int_equal(p->config.n_ops, 1);
                assert_op(&p->config.ops[0], &e);
                assert_null(p->config.ops[0].lowers);
                parsed_free(p);
        }
}

TEST(operations_keep_their_order_and_their_modifiers) {
        static const struct expected_op expected[] = {
                {{.kind = BWRAP_TMPFS, .option = "--tmpfs", .has_perms = true, .perms = 0700, .size = 4096},
                 NULL,
                 "/a",
                 NULL},
                {{.kind = BWRAP_TMPFS, .option = "--tmpfs"}, NULL, "/b", NULL},
                {{.kind = BWRAP_DIR, .option = "--dir", .has_perms = true}, NULL, "/c", NULL},
                {{.kind = BWRAP_DIR, .option = "--dir"}, NULL, "/d", NULL},
                {{.kind = BWRAP_BIND, .option = "--bind"}, "/d", "/a", NULL},
        };
        struct parsed *p =
                ACCEPT("--perms", "700", "--size", "0x1000", "--tmpfs", "/a", "--tmpfs", "/b", "--perms",
                       "0", "--dir", "/c", "--dir", "/d", "--bind", "/d", "/a", "true");

        assert_int_equal(p->config.n_ops, ARRAY_SIZE(expected));
        for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
                assert_op(&p->config.ops[i], &expected[i]);
        parsed_free(p);

        /* Waiting in vain at the end is no mistake to bubblewrap. */
        p = ACCEPT("--perms", "700", "--size", "5", "true");
        assert_int_equal(p->config.n_ops, 0);
        parsed_free(p);
}

TEST(options_go_to_the_next_overlay_alone) {
        static const char *const orders[][MOST_WORDS] = {
                {"--overlay-opt", "index=off,xino=off", "--overlay-src", "/1", "--tmp-overlay", "/e",
                 "--overlay-src", "/2", "--tmp-overlay", "/f", "true"},
                {"--overlay-src", "/1", "--overlay-opt", "index=off", "--overlay-opt", "xino=off",
                 "--tmp-overlay", "/e", "--overlay-src", "/2", "--tmp-overlay", "/f", "true"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
                struct parsed *p = accepted(parse_as(0, orders[i]));

                assert_int_equal(p->config.n_ops, 2);
                assert_int_equal(strv_length(p->config.ops[0].overlay_options), 2);
                assert_string_equal(p->config.ops[0].overlay_options[0], "index=off");
                assert_string_equal(p->config.ops[0].overlay_options[1], "xino=off");
                assert_null(p->config.ops[1].overlay_options);
                parsed_free(p);
        }
}

TEST(lower_folders_go_to_the_next_overlay) {
        static const struct expected_op expected[] = {
                {{.kind = BWRAP_OVERLAY, .option = "--overlay"}, "/u", "/d", "/w"},
                {{.kind = BWRAP_TMP_OVERLAY, .option = "--tmp-overlay"}, NULL, "/e", NULL},
                {{.kind = BWRAP_RO_OVERLAY, .option = "--ro-overlay"}, NULL, "/f", NULL},
        };
        struct parsed *p = ACCEPT("--overlay-src", "/1", "--overlay", "/u", "/w", "/d", "--overlay-src",
                                  "/2", "--tmp-overlay", "/e", "--overlay-src", "/3", "--overlay-src", "/4",
                                  "--ro-overlay", "/f", "true");

        assert_int_equal(p->config.n_ops, ARRAY_SIZE(expected));
        for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
                assert_op(&p->config.ops[i], &expected[i]);
        assert_int_equal(strv_length(p->config.ops[0].lowers), 1);
        assert_string_equal(p->config.ops[0].lowers[0], "/1");
        assert_int_equal(strv_length(p->config.ops[1].lowers), 1);
        assert_string_equal(p->config.ops[1].lowers[0], "/2");
        assert_int_equal(strv_length(p->config.ops[2].lowers), 2);
        assert_string_equal(p->config.ops[2].lowers[0], "/3");
        assert_string_equal(p->config.ops[2].lowers[1], "/4");
        parsed_free(p);
}

TEST(each_flag_sets_its_own_field) {
        static const struct {
                const char *option;
                size_t offset;
        } flags[] = {
                {"--level-prefix", offsetof(struct bwrap_config, has_level_prefix)},
                {"--unshare-user", offsetof(struct bwrap_config, unshare_user)},
                {"--unshare-user-try", offsetof(struct bwrap_config, unshare_user_try)},
                {"--unshare-ipc", offsetof(struct bwrap_config, unshare_ipc)},
                {"--unshare-pid", offsetof(struct bwrap_config, unshare_pid)},
                {"--unshare-net", offsetof(struct bwrap_config, unshare_net)},
                {"--unshare-uts", offsetof(struct bwrap_config, unshare_uts)},
                {"--unshare-cgroup", offsetof(struct bwrap_config, unshare_cgroup)},
                {"--unshare-cgroup-try", offsetof(struct bwrap_config, unshare_cgroup_try)},
                {"--assert-userns-disabled", offsetof(struct bwrap_config, assert_userns_disabled)},
                {"--new-session", offsetof(struct bwrap_config, new_session)},
                {"--die-with-parent", offsetof(struct bwrap_config, die_with_parent)},
        };

        for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
                struct parsed *p = ACCEPT(flags[i].option, "true");

                for (size_t k = 0; k < ARRAY_SIZE(flags); k++)
                        assert_int_equal(*((const bool *)&p->config + flags[k].offset), k == i);
                parsed_free(p);
        }
}

TEST(each_descriptor_has_its_own_field) {
        static const struct {
                const char *option;
                size_t offset;
        } fds[] = {
                {"--userns", offsetof(struct bwrap_config, userns_fd)},
                {"--userns2", offsetof(struct bwrap_config, userns2_fd)},
                {"--pidns", offsetof(struct bwrap_config, pidns_fd)},
                {"--block-fd", offsetof(struct bwrap_config, block_fd)},
                {"--info-fd", offsetof(struct bwrap_config, info_fd)},
                {"--json-status-fd", offsetof(struct bwrap_config, json_status_fd)},
        };
        struct parsed *p;

        for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
                p = ACCEPT(fds[i].option, "42", "true");
                for (size_t k = 0; k < ARRAY_SIZE(fds); k++)
                        assert_int_equal(
                                *(const int *)(const void *)((const char *)&p->config + fds[k].offset),
                                k == i ? 42 : -1);
                assert_int_equal(p->config.userns_block_fd, -1);
                parsed_free(p);
        }
        p = ACCEPT("--unshare-user", "--info-fd", "4", "--userns-block-fd", "5", "true");
        assert_int_equal(p->config.userns_block_fd, 5);
        parsed_free(p);
        p = ACCEPT("--sync-fd", "8", "--sync-fd", "7", "true");
        assert_int_equal(p->config.n_sync_fds, 2);
        assert_memory_equal(p->config.sync_fds, ((const int[]){8, 7}), 2 * sizeof(int));
        assert_null(p->config.warnings);
        parsed_free(p);
        p = ACCEPT("--add-seccomp-fd", "8", "--add-seccomp-fd", "7", "--add-seccomp-fd", "8", "true");
        assert_int_equal(p->config.n_seccomp_fds, 3);
        assert_memory_equal(p->config.seccomp_fds, ((const int[]){8, 7, 8}), 3 * sizeof(int));
        parsed_free(p);
}

TEST(unshare_all_is_six_of_them_and_share_net_takes_one_back) {
        struct parsed *p = ACCEPT("--unshare-all", "true");

        assert_true(p->config.unshare_user_try && p->config.unshare_ipc && p->config.unshare_pid);
        assert_true(p->config.unshare_net && p->config.unshare_uts && p->config.unshare_cgroup_try);
        assert_false(p->config.unshare_user || p->config.unshare_cgroup);
        parsed_free(p);
        p = ACCEPT("--unshare-all", "--share-net", "true");
        assert_false(p->config.unshare_net);
        parsed_free(p);
        p = ACCEPT("--share-net", "--unshare-all", "true");
        assert_true(p->config.unshare_net);
        parsed_free(p);
}

TEST(an_ordinary_user_may_have_any_id) {
        static const char *const words[] = {"--uid", "77", "--gid", "78", "true", NULL};
        struct parsed *p = accepted(parse_as(1000, words));

        assert_true(p->config.has_uid && p->config.has_gid);
        assert_int_equal(p->config.uid, 77);
        assert_int_equal(p->config.gid, 78);
        parsed_free(p);
        REFUSE("Specifying --uid requires --unshare-user or --userns", "--uid", "77", "--gid", "78", "true");
        /* Root's own ids; and with a user namespace, made, tried or entered. */
        parsed_free(ACCEPT("--uid", "0", "--gid", "0", "true"));
        parsed_free(ACCEPT("--uid", "77", "--unshare-user", "true"));
        parsed_free(ACCEPT("--uid", "77", "--unshare-all", "true"));
        parsed_free(ACCEPT("--gid", "77", "--userns", "5", "true"));
}

TEST(what_needs_another_option_is_fine_with_it) {
        struct parsed *p = ACCEPT("--hostname", "h", "--unshare-uts", "--as-pid-1", "--unshare-pid",
                                  "--disable-userns", "--unshare-user", "true");

        assert_string_equal(p->config.hostname, "h");
        assert_true(p->config.as_pid_1 && p->config.disable_userns);
        parsed_free(p);
        p = ACCEPT("--unshare-pid", "--lock-file", "/b", "--lock-file", "/a", "true");
        assert_int_equal(strv_length(p->config.lock_files), 2);
        assert_string_equal(p->config.lock_files[0], "/b");
        assert_string_equal(p->config.lock_files[1], "/a");
        parsed_free(p);
}

TEST(labels_need_selinux) {
        struct statfs fs;
        bool has_selinux = statfs("/sys/fs/selinux", &fs) == 0 && (unsigned)fs.f_type == 0xf97cff8c &&
                           !(fs.f_flags & 1);
        struct parsed *p;

        if (!has_selinux) {
                REFUSE("labeling not supported on this system", "--exec-label", "a", "--nope");
                REFUSE("labeling not supported on this system", "--file-label", "a", "--nope");
                return;
        }
        p = ACCEPT("--exec-label", "a", "--file-label", "b", "true");
        assert_string_equal(p->config.exec_label, "a");
        assert_string_equal(p->config.file_label, "b");
        parsed_free(p);
}

static void assert_caps(struct parsed *p, uint64_t kept, uint64_t added) {
        assert_true(p->config.caps_kept == kept);
        assert_true(p->config.caps_added == added);
        parsed_free(p);
}

TEST(capabilities_add_up_from_left_to_right) {
        const uint64_t all = UINT64_MAX, chown = 1, kill = 1U << 5, admin = 1U << 21;

        assert_caps(ACCEPT("true"), all, 0);
        assert_caps(ACCEPT("--cap-add", "CAP_SYS_ADMIN", "true"), all, admin);
        assert_caps(ACCEPT("--cap-add", "cap_kill", "--cap-add", "0", "true"), all, kill | chown);
        assert_caps(ACCEPT("--cap-drop", "CAP_KILL", "true"), all & ~kill, 0);
        assert_caps(ACCEPT("--cap-drop", "ALL", "--cap-add", "Cap_Chown", "true"), 0, chown);
        assert_caps(ACCEPT("--cap-add", "CAP_CHOWN", "--cap-drop", "all", "true"), 0, 0);
        assert_caps(ACCEPT("--cap-add", "ALL", "--cap-drop", "CAP_CHOWN", "true"), all & ~chown,
                    all & ~chown);
        assert_caps(ACCEPT("--cap-drop", "40", "--cap-add", "CAP_CHECKPOINT_RESTORE", "true"),
                    all & ~(UINT64_C(1) << 40), UINT64_C(1) << 40);
}

/* The kernel's own list, where a file of it is there: each name has its number. */
TEST(each_capability_has_the_kernels_number) {
        FILE *f = fopen("/usr/include/linux/capability.h", "re");
        char line[256], name[64];
        unsigned number, n = 0;

        if (!f) {
                print_message("skipped: no linux/capability.h in /usr/include\n");
                skip();
        }
        while (fgets(line, sizeof(line), f))
                if (sscanf(line, "#define CAP_%32[A-Z_] %u", name, &number) == 2 && number < 41) {
                        char word[80];

                        (void)snprintf(word, sizeof(word), "CAP_%s", name);
                        assert_caps(ACCEPT("--cap-add", word, "true"), UINT64_MAX, UINT64_C(1) << number);
                        n++;
                }
        (void)fclose(f);
        assert_true(n >= 38);
}

static void set_environment(const char *const *entries) {
        extern char **environ;

        environ = (char **)(uintptr_t)entries;
}

static void assert_env(struct parsed *p, const char *const *expected) {
        size_t i = 0;

        for (; expected[i]; i++)
                assert_text(p->config.env[i], expected[i]);
        assert_null(p->config.env[i]);
        parsed_free(p);
}

#define ASSERT_ENV(p, ...) assert_env(p, (const char *const[]){__VA_ARGS__, NULL})

TEST(the_environment_changes_from_left_to_right) {
        static const char *const doubled[] = {"A=1", "B=2", "A=3", "BARE", "=x", NULL};
        extern char **environ;
        char **saved = environ;
        struct parsed *p;

        set_environment(doubled);
        ASSERT_ENV(ACCEPT("true"), "A=1", "B=2", "A=3", "BARE", "=x");
        ASSERT_ENV(ACCEPT("--setenv", "A", "9", "true"), "A=9", "B=2", "A=3", "BARE", "=x");
        ASSERT_ENV(ACCEPT("--unsetenv", "A", "true"), "B=2", "BARE", "=x");
        ASSERT_ENV(ACCEPT("--unsetenv", "BARE", "--setenv", "BAR", "E=", "true"), "A=1", "B=2", "A=3",
                   "BARE", "=x", "BAR=E=");
        ASSERT_ENV(ACCEPT("--setenv", "C", "d", "--clearenv", "--setenv", "E", "", "--setenv", "C", "f",
                          "--setenv", "E", "g", "--unsetenv", "C", "true"),
                   "E=g");
        p = ACCEPT("--setenv", "C", "d", "--clearenv", "--unsetenv", "C", "true");
        assert_int_equal(strv_length(p->config.env), 0);
        parsed_free(p);
        /* The parser's own environment is left alone. */
        assert_ptr_equal(environ, doubled);
        assert_null(getenv("C"));
        environ = saved;
}

TEST(the_command_is_what_follows_the_options) {
        struct parsed *p = ACCEPT("--argv0", "name", "cmd", "--bind", "--", "-x");

        assert_string_equal(p->config.argv0, "name");
        assert_int_equal(strv_length(p->config.argv), 4);
        assert_string_equal(p->config.argv[0], "cmd");
        assert_string_equal(p->config.argv[3], "-x");
        parsed_free(p);
        p = ACCEPT("--", "--nope");
        assert_int_equal(strv_length(p->config.argv), 1);
        assert_string_equal(p->config.argv[0], "--nope");
        parsed_free(p);
        p = ACCEPT("", "x");
        assert_string_equal(p->config.argv[0], "");
        parsed_free(p);
        p = ACCEPT("true");
        assert_false(p->config.lacks_command || p->config.wants_help || p->config.wants_version);
        parsed_free(p);
}

TEST(without_a_command_nothing_is_to_run) {
        static const char *const none[][MOST_WORDS] = {
                {NULL},
                {"--"},
                {"--bind", "/", "/"},
                /* What it could not run with anyway is not what is said then. */
                {"--hostname", "x"},
                {"--as-pid-1"},
                {"--uid", "77"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
                struct parsed *p = accepted(parse_as(0, none[i]));

                assert_true(p->config.lacks_command);
                assert_null(p->config.argv);
                parsed_free(p);
        }
}

TEST(help_and_version_end_the_parse) {
        struct parsed *p = ACCEPT("--perms", "700", "--help", "--nope");

        assert_true(p->config.wants_help && !p->config.wants_version && !p->config.lacks_command);
        parsed_free(p);
        p = ACCEPT("--disable-userns", "--version", "--bind");
        assert_true(p->config.wants_version && !p->config.wants_help && !p->config.lacks_command);
        parsed_free(p);
}

TEST(version_names_both) {
        _cleanup_free_ char *version = bwrap_version(), *expected = NULL;

        assert_true(asprintf(&expected, "bubblewrap 0.13.1 (nsrun %s)", nsrun_version()) > 0);
        assert_string_equal(version, expected);
}

/* The item that an option has in the man page, with its arguments. */
static void assert_man_has(const char *page, const struct bwrap_option *option) {
        char item[256];
        int n = snprintf(item, sizeof(item), "\n.It Fl %s", option->name + 1);

        for (size_t i = 0; i < bwrap_option_n_arguments(option); i++)
                n += snprintf(item + n, sizeof(item) - (size_t)n, "%s %s", i == 0 ? " Ar" : "",
                              option->arguments[i]);
        (void)snprintf(item + n, sizeof(item) - (size_t)n, "\n");
        if (!strstr(page, item))
                fail_msg("nsrun-bwrap.1 lacks:%s", item);
}

static size_t count(const char *text, const char *what) {
        size_t n = 0;

        for (const char *at = text; (at = strstr(at, what)); at++)
                n++;
        return n;
}

TEST(help_and_man_page_know_every_option) {
        char *page = manual_page("nsrun-bwrap.1"), *help = bwrap_help("bwrap");

        assert_non_null(help);
        for (size_t i = 0; i < n_bwrap_options; i++) {
                char *line = NULL;

                assert_man_has(page, &bwrap_options[i]);
                assert_true(asprintf(&line, "\n    %s ", bwrap_options[i].name) > 0);
                assert_int_equal(count(help, line), 1);
                free(line);
        }
        /* And no others. */
        assert_int_equal(n_bwrap_options, BWRAP_OPTIONS + OWN_OPTIONS);
        assert_int_equal(count(page, "\n.It Fl -"), n_bwrap_options);
        assert_int_equal(count(help, "\n    --"), n_bwrap_options);
        free(page);
        free(help);
}

int main(void) {
        return run_all_tests();
}

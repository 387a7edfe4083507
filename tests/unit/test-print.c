/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan/print*.c: a small plan in all three forms, byte for byte, and base/json.c. */
#include "scratch.h"

#include "base/json.h"
#include "plan/plan.h"

static char usr_bin[] = "usr/bin", bin[] = "/bin", dev[] = "/dev", null[] = "/dev/null", shm[] = "/dev/shm",
            pts[] = "/dev/pts", passwd[] = "/etc/passwd", users[] = "u:x:1:1:it's 100%:/h:/bin/sh\n",
            etc[] = "/etc", proc[] = "/proc", proc_sys[] = "/proc/sys", tmp[] = "/tmp", usr[] = "/usr",
            project[] = "/srv/a b", npm[] = "/h/.npm", slug[] = "h-.npm", data[] = "/data",
            bad[] = "/d\xff\033", tmpfs_options[] = "mode=1777", own_cgroup[] = "/sys/fs/cgroup";

static struct plan_op ops[] = {
        {.kind = PLAN_SYMLINK, .target = bin, .text = usr_bin, .makes_target = true},
        {.kind = PLAN_DIR, .target = dev, .mode = 0755, .makes_target = true},
        {.kind = PLAN_BIND, .target = null, .source = null, .is_device = true, .makes_target = true},
        {.kind = PLAN_DEVPTS, .target = pts, .makes_target = true},
        {.kind = PLAN_TMPFS, .target = shm, .mode = 01777, .size = 65536, .makes_target = true},
        {.kind = PLAN_DIR, .target = etc, .mode = 0755, .makes_target = true},
        {.kind = PLAN_FILE, .target = passwd, .text = users, .mode = 0444, .makes_target = true},
        {.kind = PLAN_PROC, .target = proc, .proc = POLICY_PROC_NEW, .makes_target = true},
        {.kind = PLAN_COVER, .target = proc_sys},
        {.kind = PLAN_TMPFS,
         .target = tmp,
         .text = tmpfs_options,
         .mode = 01777,
         .size = 2147483648,
         .makes_target = true},
        {.kind = PLAN_BIND,
         .target = usr,
         .source = usr,
         .is_read_only = true,
         .is_directory = true,
         .makes_target = true},
        {.kind = PLAN_BIND, .target = project, .source = data, .is_directory = true, .makes_target = true},
        {.kind = PLAN_OVERLAY, .target = npm, .source = npm, .text = slug, .makes_target = true},
        {.kind = PLAN_BIND, .target = bad, .source = bad, .is_directory = true},
        {.kind = PLAN_CGROUP, .target = own_cgroup, .makes_target = true},
};

static char make[] = "make", quoted[] = "it's $x", empty[] = "", host[] = "box", path[] = "PATH=/bin",
            lines[] = "TEXT=a\n'b\\", token[] = "A_TOKEN", display[] = "DISPLAY",
            goroot[] = "GOROOT=/g isn't visible inside", strict[] = "strict", none[] = "none",
            policy[] = "/etc/o'hara \033.json", unknown[] = "rules[0]: no call \"x\"";
static char *argv[] = {make, quoted, empty, NULL}, *env[] = {path, lines, NULL},
            *left_out[] = {token, display, NULL}, *unseen[] = {goroot, NULL}, *warnings[] = {unknown, NULL};
static const struct sock_filter code[3];

static struct nsrun_plan new_plan(void) {
        return (struct nsrun_plan){
                .ops = ops,
                .n_ops = ARRAY_SIZE(ops),
                .root_size = 1 << 20,
                .net = POLICY_NET_NONE,
                .new_session = true,
                .has_overlays = true,
                .hostname = host,
                .cwd = project,
                .argv = argv,
                .env = env,
                .left_out = left_out,
                .unseen = unseen,
                .uid = 1000,
                .host_uid = 1000,
                .host_gid = 100,
                .gid = 100,
                .project = project,
                .seccomp_name = strict,
                .seccomp = {.code = code, .n = ARRAY_SIZE(code)},
                .landlock_abi = 6,
                .is_scoped = true,
        };
}

TEST(text_has_one_operation_a_line) {
        struct nsrun_plan plan = new_plan();
        char *text = NULL;

        assert_int_equal(plan_print_text(&plan, &text, NULL), 0);
        assert_string_equal(text, "command     make 'it'\\''s $x' ''\n"
                                  "project     /srv/a b\n"
                                  "directory   /srv/a b\n"
                                  "namespaces  user mnt pid ipc uts cgroup net\n"
                                  "ids         uid 1000, gid 100, as on the host; no capabilities\n"
                                  "hostname    box\n"
                                  "network     none but loopback\n"
                                  "seccomp     strict, 3 instructions\n"
                                  "landlock    abstract sockets and signals stay inside\n"
                                  "session     new\n"
                                  "overlays    on disk\n"
                                  "withheld    A_TOKEN DISPLAY\n"
                                  "not seen    GOROOT=/g isn't visible inside\n"
                                  "mounts      the root: a tmpfs, at most 1M, read-only in the end\n"
                                  "  symlink  /bin            -> usr/bin\n"
                                  "  dir      /dev\n"
                                  "  bind     /dev/null       device\n"
                                  "  devpts   /dev/pts\n"
                                  "  tmpfs    /dev/shm        mode 1777, at most 64K\n"
                                  "  dir      /etc\n"
                                  "  file     /etc/passwd     29 bytes\n"
                                  "  proc     /proc           new\n"
                                  "  cover    /proc/sys       read-only\n"
                                  "  tmpfs    /tmp            mode 1777, at most 2G\n"
                                  "  bind     /usr            read-only\n"
                                  "  bind     /srv/a b        read-write, from /data\n"
                                  "  overlay  /h/.npm         read-write, writes are thrown away\n"
                                  "  bind     /d\\xff\\x1b      read-write\n"
                                  "  cgroup   /sys/fs/cgroup  read-only, the cgroup that has the limits\n");
        free(text);
}

TEST(text_says_what_is_the_hosts) {
        struct nsrun_plan plan = {.argv = argv, .cwd = project, .seccomp_name = none, .landlock_abi = 5};
        char *text = NULL;

        assert_int_equal(plan_print_text(&plan, &text, NULL), 0);
        assert_non_null(strstr(text, "\nproject     none\n"));
        assert_non_null(strstr(text, "\nnamespaces  user mnt pid ipc uts cgroup\n"));
        assert_non_null(strstr(text, "\nhostname    the host's\nnetwork     the host's\nseccomp     none\n"
                                     "landlock    not to be had: the kernel has ABI 5, scopes take 6\n"
                                     "session     the caller's\n"));
        assert_non_null(strstr(text, "\nwithheld    nothing\n"));
        assert_null(strstr(text, "overlays"));
        free(text);
}

TEST(text_says_what_is_gone_at_the_end) {
        static char private[] = PLAN_PRIVATE;
        struct plan_op op = {.kind = PLAN_BIND, .target = private, .source = data, .is_in_rundir = true};
        struct nsrun_plan plan = new_plan();
        char *text = NULL;

        plan.ops = &op;
        plan.n_ops = 1;
        assert_int_equal(plan_print_text(&plan, &text, NULL), 0);
        assert_non_null(strstr(text, "  bind     " PLAN_PRIVATE
                                     "  read-write, the command's versions, gone at the end\n"));
        free(TAKE_PTR(text));
        op.target = project;
        assert_int_equal(plan_print_text(&plan, &text, NULL), 0);
        assert_non_null(
                strstr(text, "  bind     /srv/a b  read-write, on disk, gone at the end, from /data\n"));
        free(text);
}

TEST(text_tells_all_of_the_hardening) {
        struct nsrun_plan plan = new_plan();
        char *text = NULL;

        plan.seccomp_name = policy;
        plan.seccomp.warnings = warnings;
        plan.seccomp_log = true;
        plan.landlock = POLICY_LANDLOCK_OFF;
        plan.is_scoped = false;
        assert_int_equal(plan_print_text(&plan, &text, NULL), 0);
        assert_non_null(strstr(
                text, "\nseccomp     /etc/o'hara \\x1b.json, 3 instructions; the kernel logs denials\n"
                      "landlock    off\n"
                      "warning     rules[0]: no call \"x\"\n"
                      "session     new\n"));
        free(text);
}

TEST(bwrap_is_one_line_for_bash) {
        struct nsrun_plan plan = new_plan();
        char *text = NULL;

        assert_int_equal(plan_print_bwrap(&plan, &text, NULL), 0);
        assert_string_equal(
                text,
                "bwrap --unshare-user --unshare-ipc --unshare-pid --unshare-uts --unshare-cgroup-try "
                "--unshare-net --die-with-parent --cap-drop ALL --new-session --hostname box "
                "--symlink usr/bin /bin --dev /dev --perms 1777 --size 65536 --tmpfs /dev/shm --dir /etc "
                "--perms 0444 --ro-bind-data 11 /etc/passwd --proc /proc "
                "--perms 1777 --size 2147483648 --tmpfs /tmp --ro-bind /usr /usr --bind /data '/srv/a b' "
                "--overlay-src /h/.npm --tmp-overlay /h/.npm --bind $'/d\\377\\033' $'/d\\377\\033' "
                "--remount-ro /dev --remount-ro / --clearenv --setenv PATH /bin --setenv TEXT $'a\\n\\'b\\\\' "
                "--seccomp 12 --chdir '/srv/a b' -- make 'it'\\''s $x' '' "
                "11< <(printf %s $'u:x:1:1:it\\'s 100%:/h:/bin/sh\\n') 12< <(nsrun seccomp compile strict)\n");
        free(text);
}

/* bubblewrap gets the filter that nsrun would load: a file's, or none. */
TEST(bwrap_gets_the_plans_filter) {
        struct nsrun_plan plan = {.argv = argv,
                                  .cwd = usr,
                                  .seccomp_name = policy,
                                  .seccomp = {.code = code, .n = ARRAY_SIZE(code)}};
        char *text = NULL;

        assert_int_equal(plan_print_bwrap(&plan, &text, NULL), 0);
        assert_non_null(strstr(text, " --clearenv --seccomp 11 --chdir /usr -- "));
        assert_non_null(strstr(text, " '' 11< <(nsrun seccomp compile $'/etc/o\\'hara \\033.json')\n"));
        free(text);
        plan.seccomp_name = none;
        plan.seccomp = (struct seccomp_loaded){.code = NULL};
        assert_int_equal(plan_print_bwrap(&plan, &text, NULL), 0);
        assert_null(strstr(text, "seccomp"));
        free(text);
}

/* The words that `line` gives to bwrap(1), each with its NUL. */
static size_t words_in_bash(const char *line, char *words, size_t size) {
        char *script = NULL;
        size_t n;
        FILE *f;

        assert_true(asprintf(&script, "bwrap() { printf '%%s\\0' \"$@\"; }\n%s", line) > 0);
        assert_int_equal(setenv("SCRIPT", script, 1), 0);
        f = popen("exec bash -c \"$SCRIPT\"", "re");
        assert_non_null(f);
        n = fread(words, 1, size, f);
        assert_int_equal(pclose(f), 0);
        assert_int_equal(unsetenv("SCRIPT"), 0);
        free(script);
        return n;
}

TEST(bash_reads_back_every_byte_of_a_bwrap_line) {
        char every[256], utf8[] = "caf\xc3\xa9\xc2\x9b \xe2\x80\xaegpj", tail[512],
                         *words[] = {every, utf8, NULL};
        struct nsrun_plan plan = {.argv = words, .cwd = usr};
        char got[4096] = "", *text = NULL;
        size_t n, n_tail;

        if (system("bash -c true") != 0) {
                print_message("skipped: bash is not installed\n");
                skip();
        }
        for (int c = 1; c < 256; c++)
                every[c - 1] = (char)c;
        every[255] = '\0';
        assert_int_equal(plan_print_bwrap(&plan, &text, NULL), 0);
        for (const char *c = text; *c; c++)
                assert_true((*c >= ' ' && *c <= '~') || c[1] == '\0');
        n = words_in_bash(text, got, sizeof(got));
        n_tail = (size_t)snprintf(tail, sizeof(tail), "--%c%s%c%s", '\0', every, '\0', utf8) + 1;
        assert_true(n > n_tail);
        assert_memory_equal(got + n - n_tail, tail, n_tail);
        free(text);
}

static char rundir[] = "/h/.cache/nsrun/workspace-XXXXXX",
            scratch[] = "/h/.cache/nsrun/workspace-XXXXXX/scratch", tmp_again[] = "/tmp";

TEST(a_scratch_is_to_be_found_in_every_format) {
        struct plan_op two[] = {
                {.kind = PLAN_DIR, .target = rundir, .mode = 0755},
                {.kind = PLAN_BIND,
                 .target = scratch,
                 .source = scratch,
                 .mode = 01777,
                 .size = 4096,
                 .is_directory = true,
                 .is_in_rundir = true},
                {.kind = PLAN_BIND,
                 .target = tmp_again,
                 .source = scratch,
                 .mode = 01777,
                 .size = 4096,
                 .is_directory = true,
                 .is_in_rundir = true},
        };
        struct nsrun_plan plan = {.ops = two,
                                  .n_ops = ARRAY_SIZE(two),
                                  .rundir = rundir,
                                  .argv = argv,
                                  .cwd = project,
                                  .seccomp_name = strict};
        _cleanup_free_ char *text = NULL, *bwrap = NULL, *json = NULL;

        assert_int_equal(plan_print_text(&plan, &text, NULL), 0);
        assert_non_null(strstr(
                text,
                "  dir      /h/.cache/nsrun/workspace-XXXXXX\n"
                "  bind     /h/.cache/nsrun/workspace-XXXXXX/scratch  read-write, on disk, gone at the end\n"
                "  bind     /tmp                              read-write, on disk, gone at the end, from /h/.cache/nsrun/workspace-XXXXXX/scratch\n"));
        assert_int_equal(plan_print_bwrap(&plan, &bwrap, NULL), 0);
        assert_non_null(strstr(bwrap, " --perms 1777 --size 4096 --tmpfs /tmp --remount-ro / "));
        assert_null(strstr(bwrap, "workspace"));
        assert_int_equal(plan_print_json(&plan, &json, NULL), 0);
        assert_non_null(strstr(json, "\"in_run_directory\": true"));
}

/* A host's /proc has to be covered by hand; a new one is bubblewrap's business. */
TEST(bwrap_covers_a_bound_proc) {
        struct plan_op few[] = {
                {.kind = PLAN_PROC, .target = proc, .proc = POLICY_PROC_BIND, .makes_target = true},
                {.kind = PLAN_COVER, .target = proc_sys},
        };
        struct nsrun_plan plan = {.ops = few, .n_ops = ARRAY_SIZE(few), .argv = argv, .cwd = usr};
        char *text = NULL;

        assert_int_equal(plan_print_bwrap(&plan, &text, NULL), 0);
        assert_non_null(
                strstr(text, " --ro-bind /proc /proc --ro-bind-try /proc/sys /proc/sys --remount-ro / "));
        assert_null(strstr(text, "--unshare-net"));
        assert_null(strstr(text, "--new-session"));
        assert_null(strstr(text, "--dev"));
        free(text);
        few[0].proc = POLICY_PROC_NONE;
        assert_int_equal(plan_print_bwrap(&plan, &text, NULL), 0);
        assert_null(strstr(text, "bind /proc /proc"));
        assert_null(strstr(text, "--proc"));
        free(text);
}

TEST(json_has_every_operation) {
        static const char *const pieces[] = {
                "\"version\": 1,",
                "\"command\": [\n    \"make\",\n    \"it's $x\",\n    \"\"\n  ],",
                "\"project\": \"/srv/a b\",",
                "\"uid\": 1000,",
                "\"host_uid\": 1000,",
                "\"gid\": 100,",
                "\"hostname\": \"box\",",
                "\"net\": \"none\",",
                "\"new_session\": true,",
                "\"overlay_backing\": \"disk\",",
                "\"seccomp\": {\n    \"policy\": \"strict\",\n    \"instructions\": 3,\n    \"log\": true,\n    "
                "\"warnings\": [\n      \"rules[0]: no call \\\"x\\\"\"\n    ]\n  },",
                "\"landlock\": {\n    \"scoped\": true,\n    \"abi\": 6\n  },",
                "\"root_size\": 1048576,",
                "{\n      \"op\": \"symlink\",\n      \"target\": \"/bin\",\n      \"text\": \"usr/bin\",\n      "
                "\"makes_target\": true\n    }",
                "{\n      \"op\": \"bind\",\n      \"target\": \"/usr\",\n      \"source\": \"/usr\",\n      "
                "\"read_only\": true,\n      \"device\": false,\n      \"directory\": true,\n      "
                "\"makes_target\": true\n    }",
                "{\n      \"op\": \"overlay\",\n      \"target\": \"/h/.npm\",\n      \"source\": \"/h/.npm\",\n"
                "      \"layer\": \"h-.npm\",\n      \"makes_target\": true\n    }",
                "{\n      \"op\": \"tmpfs\",\n      \"target\": \"/tmp\",\n      \"mode\": \"1777\",\n      "
                "\"size\": 2147483648,\n      \"read_only\": false,\n      \"makes_target\": true\n    }",
                "{\n      \"op\": \"proc\",\n      \"target\": \"/proc\",\n      \"proc\": \"new\",\n      "
                "\"makes_target\": true\n    }",
                "{\n      \"op\": \"cover\",\n      \"target\": \"/proc/sys\"\n    }",
                "\"target\": \"/d\xef\xbf\xbd\\u001b\",",
                "\"environment\": {\n    \"PATH\": \"/bin\",\n    \"TEXT\": \"a\\n'b\\\\\"\n  },",
                "\"withheld\": [\n    \"A_TOKEN\",\n    \"DISPLAY\"\n  ],\n  \"not_seen\": [\n    \"GOROOT=/g isn't visible inside\"\n  ],\n",
        };
        struct nsrun_plan plan = new_plan();
        char *text = NULL;

        plan.seccomp_log = true;
        plan.seccomp.warnings = warnings;
        assert_int_equal(plan_print_json(&plan, &text, NULL), 0);
        for (size_t i = 0; i < ARRAY_SIZE(pieces); i++)
                if (!strstr(text, pieces[i]))
                        fail_msg("lacks %s in:\n%s", pieces[i], text);
        free(text);
}

TEST(json_has_no_byte_that_draws_on_a_terminal) {
        static const struct {
                const char *text, *json;
        } cases[] = {
                {"plain", "{\"k\":\"plain\"}"},
                {"a/b\"\\\n", "{\"k\":\"a/b\\\"\\\\\\n\"}"},
                {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\xa7",
                 "{\"k\":\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\xa7\"}"},
                {"\x1b[2J\x7f", "{\"k\":\"\\u001b[2J\\u007f\"}"},
                {"\xc2\x80\xc2\x9b"
                 "2J\xc2\x9f\xc2\xa0",
                 "{\"k\":\"\\u0080\\u009b2J\\u009f\xc2\xa0\"}"},
                {"\xe2\x80\xae\xe2\x81\xa6\xe2\x80\xa6", "{\"k\":\"\\u202e\\u2066\xe2\x80\xa6\"}"},
                {"\xff", "{\"k\":\"\xef\xbf\xbd\"}"},
                {"\xc3", "{\"k\":\"\xef\xbf\xbd\"}"},
                {"\xc3(", "{\"k\":\"\xef\xbf\xbd(\"}"},
                {"\xe2\x82", "{\"k\":\"\xef\xbf\xbd\xef\xbf\xbd\"}"},
                {"\xc0\xaf", "{\"k\":\"\xef\xbf\xbd\xef\xbf\xbd\"}"},                 /* overlong */
                {"\xed\xa0\x80", "{\"k\":\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"}"}, /* surrogate */
                {"\xf4\x90\x80\x80", "{\"k\":\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"}"},
                {"\xf4\x8f\xbf\xbf", "{\"k\":\"\xf4\x8f\xbf\xbf\"}"},
                {NULL, "{\"k\":null}"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_json_ struct json_document d = json_begin();
                _cleanup_free_ char *text = NULL;

                json_add_string(&d, d.root, "k", cases[i].text);
                assert_int_equal(json_finish(&d, false, &text, NULL), 0);
                assert_string_equal(text, cases[i].json);
        }
}

TEST(json_keys_and_numbers_are_safe) {
        _cleanup_json_ struct json_document d = json_begin();
        _cleanup_free_ char *text = NULL;
        struct json_value *array;

        json_add_number(&d, d.root, "a\xff", UINT64_MAX);
        array = json_add_array(&d, d.root, "b");
        json_add_number(&d, array, NULL, 0);
        json_add_bool(&d, array, NULL, false);
        json_add_strings(&d, json_add_object(&d, array, NULL), "c", NULL);
        assert_int_equal(json_finish(&d, false, &text, NULL), 0);
        assert_string_equal(text, "{\"a\xef\xbf\xbd\":18446744073709551615,\"b\":[0,false,{\"c\":[]}]}");
}

TEST(ids_of_ones_own_choice_are_told_beside_the_hosts) {
        struct nsrun_plan plan = new_plan();
        struct nsrun_error err = {0};
        char *text = NULL;

        plan.uid = 0;
        assert_int_equal(plan_print_text(&plan, &text, &err), 0);
        assert_non_null(
                strstr(text, "ids         uid 0, gid 100, on the host 1000 and 100; no capabilities\n"));
        free(text);
        assert_int_equal(plan_print_bwrap(&plan, &text, &err), 0);
        assert_non_null(strstr(text, " --unshare-net --uid 0 --die-with-parent "));
        free(text);
}

TEST(a_tmpfs_that_ends_read_only_says_so) {
        static char folder[] = "/h/src";
        struct plan_op few[] = {{.kind = PLAN_TMPFS,
                                 .target = folder,
                                 .mode = 0755,
                                 .size = 4096,
                                 .is_read_only = true,
                                 .makes_target = true}};
        struct nsrun_plan plan = new_plan();
        char *text = NULL;

        plan.ops = few;
        plan.n_ops = 1;
        assert_int_equal(plan_print_text(&plan, &text, NULL), 0);
        assert_non_null(strstr(text, "  tmpfs    /h/src  read-only, empty but for what is shown in it\n"));
        free(text);
        assert_int_equal(plan_print_json(&plan, &text, NULL), 0);
        assert_non_null(strstr(text, "\"size\": 4096,\n      \"read_only\": true,"));
        free(text);
        assert_int_equal(plan_print_bwrap(&plan, &text, NULL), 0);
        assert_non_null(strstr(text, " --size 4096 --tmpfs /h/src --remount-ro /h/src --remount-ro / "));
        free(text);
}

int main(void) {
        return run_all_tests();
}

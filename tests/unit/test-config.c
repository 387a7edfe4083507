/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Configurations as text: what each key becomes, and what each mistake is answered with.
 * Every refusal has a text beside it that differs in the one thing and is good. */
#include "scratch.h"

#include "policy/config.h"
#include "policy/withheld.h"

static const char *const home[] = {"HOME=/home/u", NULL};

static struct nsrun_policy *make(void) {
        struct nsrun_policy *p = NULL;

        assert_int_equal(nsrun_policy_new(&p), 0);
        assert_int_equal(nsrun_policy_set_environ(p, home), 0);
        return p;
}

static struct nsrun_policy *applied(const char *text) {
        struct nsrun_policy *p = make();
        struct nsrun_error err = {0};

        if (config_apply(p, "/c", text, &err) != 0)
                fail_msg("%s: %s: %s", text, err.what, err.path);
        assert_int_equal(err.stage, NSRUN_STAGE_NONE);
        return p;
}

static void expect_refused(const char *text, const char *line) {
        struct nsrun_policy *p = make();
        struct nsrun_error err = {0};
        char *found;

        assert_true(config_apply(p, "/c", text, &err) < 0);
        found = nsrun_error_format(&err);
        assert_non_null(found);
        if (strcmp(found, line) != 0)
                fail_msg("%s\n  says   %s\n  not as %s", text, found, line);
        assert_int_equal(err.stage, NSRUN_STAGE_POLICY);
        free(found);
        (void)nsrun_policy_free(p);
}

TEST(each_key_becomes_its_option) {
        struct nsrun_policy *p = applied("{\"version\": 1, \"project\": \"~/x\", \"net\": \"none\",\n"
                                         "\"seccomp\": \"strict\", \"temp\": \"scratch\",\n"
                                         "\"readable\": [\"/r\", \"~\"], \"writable\": [\"/w\"],\n"
                                         "\"overlay\": [\"/o\"],\n"
                                         "\"env\": {\"A\": \"b=c\", \"B\": true, \"C\": null}}");

        assert_string_equal(p->project, "/home/u/x");
        assert_int_equal(p->net, POLICY_NET_NONE);
        assert_string_equal(p->seccomp, "strict");
        assert_int_equal(p->tmp_kind, POLICY_TMP_SCRATCH);
        assert_int_equal(p->n_rules, 4);
        assert_string_equal(p->rules[0].source, "/r");
        assert_int_equal(p->rules[0].access, POLICY_RO);
        assert_string_equal(p->rules[0].option, "/c:3:14: readable");
        assert_string_equal(p->rules[1].source, "/home/u");
        assert_string_equal(p->rules[1].option, "/c:3:20: readable");
        assert_string_equal(p->rules[2].source, "/w");
        assert_int_equal(p->rules[2].access, POLICY_RW);
        assert_string_equal(p->rules[3].source, "/o");
        assert_int_equal(p->rules[3].access, POLICY_OVERLAY);
        assert_int_equal(p->env.n, 2);
        assert_string_equal(p->env.entries[0], "A=b=c");
        assert_string_equal(p->env.entries[1], "B");
        assert_int_equal(p->unset.n, 1);
        assert_string_equal(p->unset.entries[0], "C");
        assert_int_equal(p->isolation, POLICY_ISOLATION_UNSAID);
        (void)nsrun_policy_free(p);
        p = applied("{\"temp\": \"/t\", \"seccomp\": \"~/s.json\", \"proc\": \"auto\", "
                    "\"overlay_backing\": \"tmpfs\"}");
        assert_int_equal(p->proc, POLICY_PROC_AUTO);
        assert_int_equal(p->backing, POLICY_BACKING_TMPFS);
        assert_string_equal(p->tmp, "/t");
        assert_string_equal(p->seccomp, "/home/u/s.json");
        (void)nsrun_policy_free(p);
        p = applied("{\"seccomp\": \"none\"}");
        assert_string_equal(p->seccomp, "none");
        (void)nsrun_policy_free(p);
        (void)nsrun_policy_free(applied("{}"));
}

TEST(isolation_has_the_form_of_the_reference) {
        struct nsrun_policy *p =
                applied("{\"isolation\": {\"enabled\": true, \"expose_paths\": [\n"
                        " {\"source\": \"/opt/go\", \"target\": \"/go/../x/\", \"mode\": \"ro\"},\n"
                        " {\"source\": \"/data/./s\", \"mode\": \"rw\"},\n"
                        " {\"mode\": \"rw\", \"target\": \"\", \"source\": \"/e\"}]}}");

        assert_int_equal(p->isolation, POLICY_ISOLATION_ON);
        assert_int_equal(p->expose.n, 3);
        assert_string_equal(p->expose.items[0].source, "/opt/go");
        assert_string_equal(p->expose.items[0].target, "/x");
        assert_string_equal(p->expose.items[0].mode, "ro");
        assert_string_equal(p->expose.items[0].label, "/c:2:2: expose_paths");
        assert_string_equal(p->expose.items[1].source, "/data/s");
        assert_string_equal(p->expose.items[1].target, "/data/s");
        assert_string_equal(p->expose.items[2].target, "/e");
        assert_string_equal(p->expose.items[2].label, "/c:4:2: expose_paths");
        (void)nsrun_policy_free(p);
        p = applied("{\"isolation\": {\"enabled\": false, \"workspace\": \"/w\"}}");
        assert_string_equal(p->instance_workspace, "/w");
        assert_int_equal(p->isolation, POLICY_ISOLATION_OFF);
        assert_string_equal(p->isolation_label, "/c:1:27: enabled");
        (void)nsrun_policy_free(p);
}

TEST(each_mistake_is_told_where_it_is) {
        static const struct {
                const char *text, *line;
        } cases[] = {
                {"{\n  \"colour\": 1}", "/c:2:3: unknown key: colour; nsrun.conf(5) has them all"},
                {"{\"redable\": []}",
                 "/c:1:2: unknown key: redable; perhaps readable; nsrun.conf(5) has them all"},
                {"{\"evn\": {}}", "/c:1:2: unknown key: evn; perhaps env; nsrun.conf(5) has them all"},
                {"{\"no-protect\": []}",
                 "/c:1:2: unknown key: no-protect; perhaps no_protect; nsrun.conf(5) has them all"},
                {"{\"ro\": []}", "/c:1:2: unknown key: ro; perhaps readable; nsrun.conf(5) has them all"},
                {"{\"rw\": []}", "/c:1:2: unknown key: rw; perhaps writable; nsrun.conf(5) has them all"},
                {"{\"netwrok\": 1}",
                 "/c:1:2: unknown key: netwrok; perhaps net; nsrun.conf(5) has them all"},
                {"{\"isolation\": {\"enable\": true}}",
                 "/c:1:16: unknown key: enable; perhaps enabled; nsrun.conf(5) has them all"},
                {"{\"isolation\": {\"expose_paths\": [{\"path\": \"/x\"}]}}",
                 "/c:1:34: unknown key: path; an expose path has source, target and mode"},
                {"{\"a\\u001bb\": 1}", "/c:1:2: unknown key: a\\x1bb; nsrun.conf(5) has them all"},
                {"{\"net\": \"none\",\n\"net\": \"host\"}",
                 "/c:2:1: this key is there twice; the first one is at 1:2"},
                {"{\"net\":\n \"none\"", "/c:2:8: it ends too early: a } is missing"},
                {"{\"env\": {\"A\": \"}\\\\\"", "/c:1:20: it ends too early: a } is missing"},
                {"{\"hide\": [{}, \"a\\\"]\"", "/c:1:21: it ends too early: a ] is missing"},
                {"{\"net\": \"none}", "/c:1:15: it ends too early: a \" is missing"},
                {"\n", "/c:2:1: it is empty"},
                {"[]", "/c:1:1: an object is expected here"},
                {"\"x\"", "/c:1:1: an object is expected here"},
                {"{\"version\": 2}", "/c:1:13: no version that this nsrun knows; the only one is 1"},
                {"{\"version\": \"1\"}", "/c:1:13: no version that this nsrun knows; the only one is 1"},
                {"{\"project\": 1}", "/c:1:13: a path is expected here: project"},
                {"{\"project\": \"\"}", "/c:1:13: a path is expected here: project"},
                {"{\"project\": \"a\\u0000b\"}",
                 "/c:1:13: an escape in this string stands for no character"},
                {"{\"env\": {\"A\": \"\\ud800\"}}",
                 "/c:1:15: an escape in this string stands for no character"},
                {"{\"env\": {\"A\": \"\\\\ud800 \\\" \\ud83d\\ude00\\udc00\"}}",
                 "/c:1:15: an escape in this string stands for no character"},
                {"{\"project\": \"x\"}", "/c:1:13: not an absolute path: x; begin it with / or with ~/"},
                {"{\"project\": \"~root/x\"}",
                 "/c:1:13: not an absolute path: ~root/x; begin it with / or with ~/"},
                {"{\"readable\": \"/x\"}", "/c:1:14: an array of paths is expected here: readable"},
                {"{\"writable\": [\"/x\", 7]}",
                 "/c:1:21: a path, or an object with path and optional is expected here"},
                {"{\"overlay\": [\"../x\"]}",
                 "/c:1:14: not an absolute path: ../x; begin it with / or with ~/"},
                {"{\"toolchains\": {}}", "/c:1:16: an array is expected here: toolchains"},
                {"{\"toolchains\": [\"/x\"]}", "/c:1:17: an object is expected here"},
                {"{\"toolchains\": [{}]}", "/c:1:17: a toolchain without a path"},
                {"{\"toolchains\": [{\"path\": \"x\"}]}",
                 "/c:1:26: not an absolute path: x; begin it with / or with ~/"},
                {"{\"toolchains\": [{\"path\": \"/x\", \"cache\": 1}]}",
                 "/c:1:41: true or false is expected here: cache"},
                {"{\"toolchains\": [{\"path\": \"/x\", \"variable\": \"A=B\"}]}",
                 "/c:1:44: not a variable's name: A=B"},
                {"{\"toolchains\": [{\"path\": \"/x\", \"mode\": 1}]}",
                 "/c:1:32: unknown key: mode; a toolchain has path, cache and variable"},
                {"{\"net\": \"some\"}",
                 "/c:1:9: --net: no such choice: some; choose one of host|none|allow|ask"},
                {"{\"net\": null}", "/c:1:9: a string is expected here: net"},
                {"{\"overlay_backing\": \"ram\"}",
                 "/c:1:21: --overlay-backing: no such choice: ram; choose one of auto|disk|tmpfs"},
                {"{\"overlay_backing\": true}", "/c:1:21: a string is expected here: overlay_backing"},
                {"{\"proc\": \"old\"}",
                 "/c:1:10: --proc: no such choice: old; choose one of auto|new|subset|bind|none"},
                {"{\"temp\": \"tmp\"}", "/c:1:10: not an absolute path: tmp; begin it with / or with ~/"},
                {"{\"seccomp\": \"pol.json\"}",
                 "/c:1:13: no policy of nsrun's own: pol.json; a file's path begins with / or with ~/; see 'nsrun "
                 "seccomp list'"},
                {"{\"seccomp\": \"pol/x.json\"}",
                 "/c:1:13: not an absolute path: pol/x.json; begin it with / or with ~/"},
                {"{\"seccomp\": \"~pol\"}",
                 "/c:1:13: not an absolute path: ~pol; begin it with / or with ~/"},
                {"{\"seccomp\": \"\"}", "/c:1:13: a path is expected here: seccomp"},
                {"{\"env\": [\"A=b\"]}", "/c:1:9: an object is expected here: env"},
                {"{\"env\": {\"A\": 1}}", "/c:1:15: a string, true or null is expected here: A"},
                {"{\"env\": {\"A\": false}}", "/c:1:15: a string, true or null is expected here: A"},
                {"{\"env\": {\"A=B\": \"c\"}}", "/c:1:10: not a variable's name: A=B"},
                {"{\"env\": {\"\": \"c\"}}", "/c:1:10: not a variable's name"},
                {"{\"limits\": [1]}", "/c:1:12: an object is expected here: limits"},
                {"{\"limits\": {\"nofile\": 1.5}}",
                 "/c:1:23: a whole number or a string is expected here: nofile"},
                {"{\"limits\": {\"a=b\": 1}}", "/c:1:13: not a limit's name: a=b"},
                {"{\"isolation\": {\"enabled\": \"yes\"}}",
                 "/c:1:27: true or false is expected here: enabled"},
                {"{\"isolation\": {\"workspace\": true}}", "/c:1:29: a path is expected here: workspace"},
                {"{\"isolation\": {\"workspace\": \"x\"}}",
                 "/c:1:29: not an absolute path: x; begin it with / or with ~/"},
                {"{\"isolation\": {\"expose_paths\": {}}}",
                 "/c:1:32: an array is expected here: expose_paths"},
                {"{\"isolation\": {\"expose_paths\": [\"/x\"]}}", "/c:1:33: an object is expected here"},
                {"{\"isolation\": {\"expose_paths\": [{\"source\": 1}]}}",
                 "/c:1:44: a string is expected here: source"},
                {"{\"isolation\": {\"expose_paths\": [{\"mode\": \"ro\"}]}}",
                 "/c:1:33: expose_paths: no source"},
                {"{\"isolation\": {\"expose_paths\": [{\"source\": \"/x\"}]}}",
                 "/c:1:33: expose_paths: no mode; choose ro or rw"},
                {"{\"isolation\": {\"expose_paths\": [{\"source\": \"/x\", \"mode\": \"RO\"}]}}",
                 "/c:1:33: expose_paths: the mode is neither ro nor rw: RO; choose ro or rw"},
                {"{\"isolation\": {\"expose_paths\": [{\"source\": \"x\", \"mode\": \"ro\"}]}}",
                 "/c:1:33: expose_paths: the source is no absolute path: x"},
                {"{\"isolation\": {\"expose_paths\": [{\"source\": \"/x\", \"target\": \"y\", \"mode\": \"ro\"}]}}",
                 "/c:1:33: expose_paths: the target is no absolute path: y"},
                {"{\"isolation\": {\"access_rules\": []}}",
                 "/c:1:16: unsupported configuration, for Windows alone: access_rules; take it out"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                expect_refused(cases[i].text, cases[i].line);
        /* The same with the one thing changed. */
        (void)nsrun_policy_free(applied("{\"net\": \"none\"}"));
        (void)nsrun_policy_free(applied("{\"env\": {\"A\": \"\\\\ud800 \\\" \\ud83d\\ude00\"}}"));
        (void)nsrun_policy_free(
                applied("{\"project\": \"/x\", \"readable\": [\"/x\"], \"writable\": [\"/x\"]}"));
        (void)nsrun_policy_free(applied("{\"env\": {\"A\": \"c\"}, \"temp\": \"tmpfs\", \"version\": 1}"));
        (void)nsrun_policy_free(
                applied("{\"isolation\": {\"expose_paths\": [{\"source\": \"/x\", \"mode\": \"ro\"}]}}"));
}

TEST(a_file_name_is_made_visible_and_cut) {
        struct nsrun_policy *p = make();
        struct nsrun_error err = {0};
        char name[1000];

        assert_true(config_apply(p, "/a\x1b[m", "{", &err) < 0);
        assert_string_equal(err.what, "/a\\x1b[m:1:2: it ends too early: a } is missing");
        memset(&err, 0, sizeof(err));
        memset(name, 'n', sizeof(name) - 1);
        name[sizeof(name) - 1] = '\0';
        assert_true(config_apply(p, name, "{", &err) < 0);
        assert_memory_equal(err.what, "...nnn", 6);
        assert_string_equal(err.what + 200, ":1:2: it ends too early: a } is missing");
        (void)nsrun_policy_free(p);
}

TEST(what_is_set_later_goes_before_the_configuration) {
        struct nsrun_policy *p =
                applied("{\"net\": \"none\", \"env\": {\"A\": \"config\"}, \"temp\": \"/t\"}");

        assert_int_equal(nsrun_policy_set(p, "net", "host", NULL), 0);
        assert_int_equal(nsrun_policy_set(p, "env", "A=option", NULL), 0);
        assert_int_equal(nsrun_policy_set(p, "tmp", "tmpfs", NULL), 0);
        assert_int_equal(p->net, POLICY_NET_HOST);
        assert_int_equal(p->env.n, 1);
        assert_string_equal(p->env.entries[0], "A=option");
        assert_null(p->tmp);
        (void)nsrun_policy_free(p);
}

/* ------------------------------------------------------------------- files */

/* "what: PATH" and, with `more`, what follows the path. */
static void expect_file_refused(const char *path, int r, const char *what, const char *more) {
        struct nsrun_policy *p = make();
        struct nsrun_error err = {0};
        char *found, *expected = NULL;

        assert_int_equal(config_load(p, path, &err), r);
        found = nsrun_error_format(&err);
        assert_true(asprintf(&expected, "%s: %s%s", what, path, more) > 0);
        assert_string_equal(found, expected);
        free(expected);
        free(found);
        (void)nsrun_policy_free(p);
}

TEST(a_file_that_others_may_have_made_is_refused) {
        char *folder = scratch_make(), *path = scratch_path(folder, "c.json"), *other, *fix;
        struct nsrun_policy *p = make();

        assert_true(asprintf(&fix, "; chmod go-w %s", path) > 0);
        scratch_file(folder, "c.json", "{\"net\": \"none\"}");
        assert_int_equal(chmod(path, 0644), 0);
        assert_int_equal(config_load(p, path, NULL), 0);
        assert_int_equal(p->net, POLICY_NET_NONE);
        assert_string_equal(p->config, path);
        assert_int_equal(config_load(p, path, NULL), -EINVAL);
        (void)nsrun_policy_free(p);

        assert_int_equal(chmod(path, 0646), 0);
        expect_file_refused(path, -EPERM, "others may write to the configuration", fix);
        assert_int_equal(chmod(path, 0644), 0);
        /* Root alone, and not in a sandbox, gives files away. */
        if (geteuid() == 0 && chown(path, 12345, 0) == 0) {
                expect_file_refused(path, -EPERM, "the configuration is somebody else's file",
                                    "; it must be yours or root's; --no-config does without");
                assert_int_equal(chown(path, 0, 0), 0);
        }
        other = scratch_path(folder, "fifo");
        assert_int_equal(mkfifo(other, 0600), 0);
        expect_file_refused(other, -EINVAL, "the configuration is no plain file",
                            ": Invalid argument; --no-config does without");
        free(other);
        expect_file_refused(folder, -EINVAL, "the configuration is no plain file",
                            ": Invalid argument; --no-config does without");
        other = scratch_path(folder, "missing");
        expect_file_refused(other, -ENOENT, "the configuration can't be opened",
                            ": No such file or directory");
        free(other);
        free(path);
        free(fix);
        scratch_remove(folder);
}

TEST(a_file_is_bounded) {
        char *folder = scratch_make(), *path = scratch_path(folder, "c.json");
        struct nsrun_policy *p = make();
        char *text = malloc((1 << 20) + 2);
        int fd;

        assert_non_null(text);
        memset(text, ' ', 1 << 20);
        memcpy(text, "{}", 2);
        text[1 << 20] = '\0';
        scratch_file(folder, "c.json", text);
        assert_int_equal(chmod(path, 0600), 0);
        assert_int_equal(config_load(p, path, NULL), 0);
        (void)nsrun_policy_free(p);
        text[1 << 20] = ' ';
        text[(1 << 20) + 1] = '\0';
        scratch_file(folder, "c.json", text);
        expect_file_refused(path, -EFBIG, "the configuration is larger than 1 MiB", "");
        fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, "{}\0", 3), 3);
        assert_int_equal(close(fd), 0);
        expect_file_refused(path, -EBADMSG, "there is a NUL in the configuration", "");
        free(text);
        free(path);
        scratch_remove(folder);
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The file tools of `nsrun mcp`: what they do, that they see what commands see, and that nothing leads them
 * out of the sandbox. */
#include "mcp.h"

#define SIXTY_FOUR   "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define FIVE_HUNDRED SIXTY_FOUR SIXTY_FOUR SIXTY_FOUR SIXTY_FOUR SIXTY_FOUR SIXTY_FOUR SIXTY_FOUR SIXTY_FOUR
#define TWO_THOUSAND FIVE_HUNDRED FIVE_HUNDRED FIVE_HUNDRED FIVE_HUNDRED

static void expect_same(struct client *c, const char *command, const char *output) {
        _cleanup_free_ char *arguments = text_of("{\"command\":\"%s\"}", command);
        struct json_object *o = client_call(c, "bash", arguments);

        expect_output(o, output);
        (void)json_object_put(o);
}

TEST(files_are_written_edited_and_read) {
        static const struct {
                const char *tool, *arguments, *text;
                bool is_error;
        } cases[] = {
                {"write", "{\"path\":\"a/b/c.txt\",\"content\":\"one\\ntwo\\nthree\\n\"}",
                 "made a/b/c.txt: 14 bytes", false},
                {"read", "{\"path\":\"a/b/c.txt\"}", "one\ntwo\nthree\n", false},
                {"read", "{\"path\":\"a/b/c.txt\",\"offset\":2,\"limit\":1}",
                 "two\n... [more follows: go on with offset 3] ...", false},
                {"read", "{\"path\":\"a/b/c.txt\",\"offset\":4}", "", false},
                {"read", "{\"path\":\"a/b\"}", "Error: the path is no file: a/b: Is a directory", true},
                {"read", "{\"path\":\"none\"}",
                 "Error: the path can't be opened: none: No such file or directory", true},
                {"edit", "{\"file_path\":\"a/b/c.txt\",\"old_string\":\"two\",\"new_string\":\"2\"}",
                 "edited a/b/c.txt: 1 replaced", false},
                {"edit", "{\"path\":\"a/b/c.txt\",\"old\":\"two\",\"new\":\"2\"}",
                 "Error: the old text is not in the file: a/b/c.txt; read the file again", true},
                {"edit", "{\"path\":\"a/b/c.txt\",\"old\":\"e\",\"new\":\"E\"}",
                 "Error: the old text is in the file 3 times: a/b/c.txt; take more of what surrounds it, or "
                 "set replace_all",
                 true},
                {"edit", "{\"path\":\"a/b/c.txt\",\"old\":\"\",\"new\":\"E\"}",
                 "Error: the old text is empty: a/b/c.txt; write makes a file", true},
                {"edit", "{\"path\":\"a/b/c.txt\",\"old\":\"e\",\"new\":\"E\",\"all\":true}",
                 "edited a/b/c.txt: 3 replaced", false},
                {"write", "{\"path\":\"top\",\"content\":\"x\"}", "made top: 1 bytes", false},
                {"write", "{\"path\":\"/tmp/\\u001b[1m\",\"content\":\"x\"}", "made /tmp/\\x1b[1m: 1 bytes",
                 false},
                {"write", "{\"path\":\"top\",\"content\":\"\"}", "wrote top: 0 bytes", false},
                {"list", "{}", "a/\nlink@\ntop\n", false},
                {"list", "{\"path\":\"top\"}", "Error: the path can't be opened: top: Not a directory",
                 true},
                {"glob", "{\"pattern\":\"*.txt\"}", "a/b/c.txt\n", false},
                {"glob", "{\"pattern\":\"a/**/c.*\"}", "a/b/c.txt\n", false},
                {"glob", "{\"pattern\":\"a/*.txt\"}", "nothing was found\n", false},
                {"glob", "{\"pattern\":\"b/*\",\"path\":\"a\"}", "b/c.txt\n", false},
                {"grep", "{\"pattern\":\"^.n[D-F]$|x\"}", "a/b/c.txt:1:onE\n", false},
                {"grep", "{\"pattern\":\"thr\",\"path\":\"a/b/c.txt\"}", "a/b/c.txt:3:thrEE\n", false},
                {"grep", "{\"pattern\":\"ONE\",\"ignore_case\":true,\"glob\":\"*.c\"}",
                 "nothing was found\n", false},
                {"grep", "{\"pattern\":\"(\"}", "Error: grep: Unmatched ( or \\(: (", true},
                {"grep", "{\"pattern\":\"\\\\d\"}", "Error: grep -E has no \\d: \\d; take [0-9]", true},
                {"grep", "{\"pattern\":\"x\\\\\\\\d\\\\D\"}",
                 "Error: grep -E has no \\D: x\\\\d\\D; take [^0-9]", true},
                {"grep", "{\"pattern\":\"\\\\\\\\d|thr\"}", "a/b/c.txt:3:thrEE\n", false},
                /* Not the standard input. */
                {"write", "{\"path\":\"-\",\"content\":\"dash\\n\"}", "made -: 5 bytes", false},
                {"grep", "{\"pattern\":\"dash\",\"path\":\"-\"}", "-:1:dash\n", false},
                {"grep", "{\"pattern\":\"dash\"}", "-:1:dash\n", false},
                {"glob", "{\"pattern\":\"-\"}", "-\n", false},
                {"grep", "{\"pattern\":\"one\",\"glob\":\"/etc/*\"}",
                 "Error: a glob is relative to the path: /etc/*; name the folder as the path", true},
                {"grep", "{\"pattern\":\"-e\",\"glob\":\"-*\"}", "nothing was found\n", false},
                {"glob", "{\"pattern\":\"link\"}", "link\n", false},
                {"glob", "{\"pattern\":\"a\",\"path\":\"top\"}",
                 "Error: the path can't be opened: top: Not a directory", true},
                {"glob", "{\"pattern\":\"*\",\"path\":\"none\"}",
                 "Error: the path can't be opened: none: No such file or directory", true},
                /* Words, and no shell's. */
                {"write",
                 "{\"path\":\"q/-$(touch made)';touch made;'\\n.c\",\"content\":\"x:1\\n$HOME `touch made`\"}",
                 "made q/-$(touch made)';touch made;'\\x0a.c: 22 bytes", false},
                {"glob", "{\"pattern\":\"-$(touch made)';touch made;'\\n.?\"}",
                 "q/-$(touch made)';touch made;'\\x0a.c\n", false},
                {"grep", "{\"pattern\":\"^[$]HOME `touch made`$\",\"path\":\"q\"}",
                 "-$(touch made)';touch made;'\\x0a.c:2:$HOME `touch made`\n", false},
                {"grep", "{\"pattern\":\"x:1\",\"path\":\"q/-$(touch made)';touch made;'\\n.c\"}",
                 "q/-$(touch made)';touch made;'\\x0a.c:1:x:1\n", false},
                {"glob", "{\"pattern\":\"made\"}", "nothing was found\n", false},
        };
        const struct site *s = *state;
        struct client c;

        make_link(s->project, "link", "top");
        CLIENT_OPEN_PLAIN(s, &c);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                expect_call(&c, cases[i].tool, cases[i].arguments, cases[i].text, cases[i].is_error);
        {
                _cleanup_free_ char *project = text_of("{\"path\":\"%s\"}", s->project);
                _cleanup_free_ char *file =
                        text_of("{\"path\":\"%s/a/../a/b/c.txt\",\"limit\":2}", s->project);

                expect_call(&c, "list", project, "-\na/\nlink@\nq/\ntop\n", false);
                expect_call(&c, "read", file, "onE\n2\n... [more follows: go on with offset 3] ...", false);
        }
        /* A line that doesn't end. */
        expect_same(&c, "truncate -s 2G hole", "");
        expect_call(
                &c, "read", "{\"path\":\"hole\",\"offset\":2}",
                "Error: more than 1 GiB lies before the end of what is asked for: hole; the tool bash has sed and tail",
                true);
        expect_same(&c, "rm hole", "");
        /* A regular expression that takes other machines for ever. */
        expect_call(&c, "write",
                    "{\"path\":\"long\",\"content\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}",
                    "made long: 40 bytes", false);
        expect_call(&c, "grep", "{\"pattern\":\"^(a|a)*(a*)*b\"}", "nothing was found\n", false);
        expect_same(&c, "cat a/b/c.txt", "onE\n2\nthrEE\n");
        client_close(&c, "");
}

static bool has_tool(struct client *c, const char *name) {
        struct json_object *o = client_answer(c, client_request(c, "tools/list", "{}"));
        struct json_object *list = member_of(o, "result.tools");
        bool is_there = false;

        for (size_t i = 0; i < json_object_array_length(list); i++)
                is_there |= streq(text_at(json_object_array_get_idx(list, i), "name"), name);
        (void)json_object_put(o);
        return is_there;
}

static size_t count_lines(const char *text) {
        size_t n = 0;

        for (; (text = strchr(text, '\n')); text++)
                n++;
        return n;
}

TEST(an_answer_is_bounded) {
        struct json_object *o;
        struct client c;

        CLIENT_OPEN_PLAIN(*state, &c);
        /* Without an overlay there are no changes to be shown. */
        assert_false(has_tool(&c, "diff"));
        expect_same(&c, "seq 100000 >big; printf 'a\\\\0b' >binary; seq -f %g.x 1010 | xargs touch", "");
        o = client_call(&c, "read", "{\"path\":\"big\"}");
        assert_true(strlen(text_at(o, "result.content.0.text")) < 31 * 1024);
        expect_in(text_at(o, "result.content.0.text"),
                  "the text is cut off in line 6366: go on with offset");
        (void)json_object_put(o);
        expect_call(&c, "read", "{\"path\":\"big\",\"offset\":100000}", "100000\n", false);
        expect_call(&c, "read", "{\"path\":\"binary\"}",
                    "Error: the file is no text; it has 3 bytes: binary", true);
        expect_call(&c, "edit", "{\"path\":\"binary\",\"old\":\"a\",\"new\":\"b\"}",
                    "Error: the file is no text: binary: Bad message", true);
        /* 16,384 times 2,048 bytes: a call doesn't take the machine's memory. */
        expect_same(&c, "yes a | tr -d '\\\\n' | head -c 16384 >many", "");
        expect_call(&c, "edit",
                    "{\"path\":\"many\",\"old\":\"a\",\"all\":true,\"new\":\"" TWO_THOUSAND "\"}",
                    "Error: the file would be too large: many", true);
        expect_same(&c, "wc -c <many; rm many", "16384\n");
        o = client_call(&c, "grep", "{\"pattern\":\"1\",\"path\":\"big\"}");
        assert_true(strlen(text_at(o, "result.content.0.text")) < 31 * 1024);
        expect_in(text_at(o, "result.content.0.text"), "[not all was looked at: there is more]");
        (void)json_object_put(o);
        o = client_call(&c, "glob", "{\"pattern\":\"*.x\"}");
        assert_int_equal(count_lines(text_at(o, "result.content.0.text")), 1000);
        expect_in(text_at(o, "result.content.0.text"), "[not all was looked at: there are more]");
        (void)json_object_put(o);
        o = client_call(&c, "list", "{}");
        assert_int_equal(count_lines(text_at(o, "result.content.0.text")), 1000);
        expect_in(text_at(o, "result.content.0.text"),
                  "\n... [the folder has more than 1000 entries: 1000 are shown] ...");
        (void)json_object_put(o);
        /* Names are as long as the command likes. */
        expect_same(&c, "mkdir long; cd long; for i in $(seq 200); do : >$(printf %0240d $i); done", "");
        o = client_call(&c, "list", "{\"path\":\"long\"}");
        assert_true(strlen(text_at(o, "result.content.0.text")) < 31 * 1024);
        expect_in(text_at(o, "result.content.0.text"), "\n... [73 more entries are left out] ...");
        (void)json_object_put(o);
        o = client_call(&c, "glob", "{\"pattern\":\"long/*\"}");
        assert_true(strlen(text_at(o, "result.content.0.text")) < 31 * 1024);
        expect_in(text_at(o, "result.content.0.text"), "[not all was looked at: there are more]");
        (void)json_object_put(o);
        client_close(&c, "");
}

/* Each beside a command that does the same. */
TEST(file_tools_see_what_commands_see) {
        static const struct {
                const char *tool, *arguments, *text, *command;
        } refused[] = {
                {"read", "{\"path\":\"out\"}",
                 "Error: the path can't be opened: out: No such file or directory", "cat out"},
                {"read", "{\"path\":\"../outside/secret\"}",
                 "Error: the path can't be opened: ../outside/secret: No such file or directory",
                 "cat ../outside/secret"},
                {"read", "{\"path\":\"hidden.pem\"}",
                 "Error: the file can't be opened: hidden.pem: Permission denied", "cat hidden.pem"},
                {"write", "{\"path\":\"hidden.pem\",\"content\":\"x\"}",
                 "Error: the file can't be opened: hidden.pem: Permission denied", "echo >hidden.pem"},
                {"write", "{\"path\":\".envrc\",\"content\":\"x\"}",
                 "Error: the file can't be opened: .envrc: Read-only file system", "echo >.envrc"},
                {"edit", "{\"path\":\".envrc\",\"old\":\"a\",\"new\":\"x\"}",
                 "Error: the file can't be opened: .envrc: Read-only file system", "echo >.envrc"},
                {"write", "{\"path\":\"/etc/new\",\"content\":\"x\"}",
                 "Error: the path can't be opened: /etc/new: Read-only file system", "echo >/etc/new"},
                {"write", "{\"path\":\"/proc/1/mem\",\"content\":\"x\"}",
                 "Error: the path is no plain file: /proc/1/mem", "echo >/proc/1/mem"},
        };
        static const struct {
                const char *path, *text;
        } no_files[] = {
                {"/proc/1/environ", "Error: the path is no plain file: /proc/1/environ"},
                {"/proc/version", "Error: the path is no plain file: /proc/version"},
                {"/dev/zero", "Error: the path is no plain file: /dev/zero"},
                {"fifo", "Error: the path is no plain file: fifo"},
        };
        const struct site *s = *state;
        _cleanup_free_ char *secret = path_of(s->outside, "secret"), *before = NULL;
        struct client c;

        make_file(s->outside, "secret", "secret\n");
        make_file(s->project, "hidden.pem", "key\n");
        make_file(s->project, ".envrc", "a\n");
        make_link(s->project, "out", secret);
        before = snapshot(s->outside);
        CLIENT_OPEN(s, &c, "--hide=*.pem");
        expect_same(&c, "echo t >/tmp/t; echo h >~/h; mkfifo fifo", "");
        expect_call(&c, "read", "{\"path\":\"/tmp/t\"}", "t\n", false);
        expect_call(&c, "write", "{\"path\":\"/tmp/t\",\"content\":\"u\"}", "wrote /tmp/t: 1 bytes", false);
        expect_same(&c, "cat /tmp/t", "u");
        /* What is hidden, and what a link leads to outside, is not looked through. */
        expect_call(&c, "grep", "{\"pattern\":\"key|secret\"}", "nothing was found\n", false);
        expect_call(&c, "grep", "{\"pattern\":\"key\",\"path\":\"hidden.pem\"}", "nothing was found\n",
                    false);
        for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
                _cleanup_free_ char *command =
                        text_of("{\"command\":\"(%s) 2>/dev/null || echo refused\"}", refused[i].command);
                struct json_object *o = client_call(&c, "bash", command);

                expect_output(o, "refused\n");
                (void)json_object_put(o);
                expect_call(&c, refused[i].tool, refused[i].arguments, refused[i].text, true);
        }
        for (size_t i = 0; i < ARRAY_SIZE(no_files); i++) {
                _cleanup_free_ char *arguments = text_of("{\"path\":\"%s\"}", no_files[i].path);

                expect_call(&c, "read", arguments, no_files[i].text, true);
        }
        client_close(&c, "");
        expect_unchanged(s->outside, TAKE_PTR(before));
}

TEST(what_an_overlay_has_is_what_file_tools_write) {
        const struct site *s = *state;
        _cleanup_free_ char *file = path_of(s->project, "f"), *text = NULL;
        struct client c;

        make_file(s->project, "f", "old\n");
        CLIENT_OPEN(s, &c, "--overlay", s->project);
        expect_call(&c, "edit", "{\"path\":\"f\",\"old\":\"old\",\"new\":\"new\"}", "edited f: 1 replaced",
                    false);
        expect_same(&c, "cat f; echo more >>f", "new\n");
        expect_call(&c, "read", "{\"path\":\"f\"}", "new\nmore\n", false);
        text = file_text(file);
        assert_string_equal(text, "old\n");
        client_close(&c, "");
}

/* ------------------------------------------------------------- overlays' changes */

TEST(changes_are_shown_and_committed_only_if_the_host_allows_it) {
        const struct site *s = *state;
        _cleanup_free_ char *file = path_of(s->project, "f"), *rc = path_of(s->project, "rc"), *old = NULL,
                            *new = NULL, *expected = NULL;
        struct json_object *o;
        struct client c;

        make_file(s->project, "f", "old\n");
        CLIENT_OPEN(s, &c, "--overlay", s->project);
        expect_same(&c, "echo new >f", "");
        o = client_call(&c, "diff", "{}");
        expect_in(text_at(o, "result.content.0.text"), "-old\n+new\n# digest: ");
        (void)json_object_put(o);
        expect_call(&c, "diff", "{\"form\":\"loud\"}",
                    "Error: a diff has no such form: loud; patch, list or stat", true);
        assert_false(has_tool(&c, "commit"));
        o = client_call(&c, "commit", "{}");
        expect_at(o, "error.message", "\"there is no such tool\"");
        (void)json_object_put(o);
        client_close(&c, "");
        old = file_text(file);
        assert_string_equal(old, "old\n");

        CLIENT_OPEN(s, &c, "--overlay", s->project, "--allow-commit");
        assert_true(has_tool(&c, "commit"));
        expect_same(&c, "echo new >f; echo g >g; echo h >h", "");
        o = client_call(&c, "diff", "{\"form\":\"list\",\"paths\":[\"f\"]}");
        expect_in(text_at(o, "result.content.0.text"), "M  f\n# digest: ");
        expected = text_of("{\"paths\":[\"f\"],\"digest\":\"%s\"}",
                           strstr(text_at(o, "result.content.0.text"), "# digest: ") + strlen("# digest: "));
        (void)json_object_put(o);
        expect_call(&c, "discard", "{\"paths\":[\"g\"]}", "discarded 1 path\n", false);
        expect_same(&c, "ls; echo newer >f", "f\nh\n");
        o = client_call(&c, "commit", expected);
        expect_at(o, "result.isError", "true");
        (void)json_object_put(o);
        expect_call(&c, "commit", "{\"paths\":[\"f\"]}", "committed 1 path\n", false);
        /* A model may name what programs on the host obey as often as it likes. */
        make_link(s->home, ".zshrc", rc);
        expect_same(&c, "mkdir -p .git/hooks; echo x >.git/hooks/x; echo x >rc", "");
        expect_call(
                &c, "commit", "{\"paths\":[\".git/hooks/x\", \"rc\"]}",
                "committed 0 paths\nnote: .git/hooks/x: left in the session: programs on the host obey it; "
                "name it at a terminal to commit it\nnote: rc: left in the session: programs on the host obey "
                "it; name it at a terminal to commit it\n",
                false);
        client_close(&c, "");
        new = file_text(file);
        assert_string_equal(new, "newer\n");
}

/* The model's call, what the client's user is shown, the answer, and what the model is told. */
static void commit_asked(struct client *c, const char *shown, const char *result, const char *text,
                         bool is_error) {
        unsigned id = client_begin(c, "commit", "{}");
        struct json_object *o = client_read(c);
        _cleanup_free_ char *reply = NULL;

        expect_at(o, "method", "\"elicitation/create\"");
        expect_in(text_at(o, "params.message"), "Commit these changes?\n\n");
        expect_in(text_at(o, "params.message"), shown);
        reply = text_of("{\"jsonrpc\":\"2.0\",\"id\":\"%s\",%s}", text_at(o, "id"), result);
        (void)json_object_put(o);
        client_send(c, reply);
        o = client_answer(c, id);
        assert_string_equal(text_at(o, "result.content.0.text"), text);
        expect_at(o, "result.isError", is_error ? "true" : "false");
        (void)json_object_put(o);
}

TEST(the_clients_user_is_asked_before_a_commit) {
        const struct site *s = *state;
        _cleanup_free_ char *file = path_of(s->project, "f"), *old = NULL, *new = NULL;
        struct client c;

        make_file(s->project, "f", "old\n");
        CLIENT_OPEN(s, &c, "--overlay", s->project, "--ask-commit");
        assert_false(has_tool(&c, "commit")); /* the client can't ask */
        client_end(&c, "");
        client_start(s, &c, OPTIONS("--overlay", s->project, "--ask-commit"));
        (void)json_object_put(client_initialize(&c, "2025-06-18", "{\"elicitation\":{}}"));
        assert_true(has_tool(&c, "commit"));
        expect_same(&c, "echo new >f", "");
        commit_asked(&c, "M  f\n\ndiff --git", "\"result\":{\"action\":\"decline\"}",
                     "Error: the user declined", true);
        commit_asked(&c, "M  f\n\ndiff --git",
                     "\"result\":{\"action\":\"accept\",\"content\":{\"confirm\":false}}",
                     "Error: the user declined", true);
        commit_asked(&c, "M  f\n\ndiff --git", "\"result\":{\"action\":\"accept\"}",
                     "Error: the user declined", true);
        commit_asked(&c, "M  f\n\ndiff --git", "\"error\":{\"code\":-1,\"message\":\"no\"}",
                     "Error: the user couldn't be asked", true);
        old = file_text(file);
        assert_string_equal(old, "old\n");
        commit_asked(&c, "M  f\n\ndiff --git",
                     "\"result\":{\"action\":\"accept\",\"content\":{\"confirm\":true}}",
                     "committed 1 path\n", false);
        new = file_text(file);
        assert_string_equal(new, "new\n");
        /* Nobody is there to answer: the input has ended. */
        (void)client_begin(&c, "discard", "{}");
        (void)json_object_put(client_read(&c));
        client_close(&c, "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{\"content\":[{\"type\":\"text\","
                         "\"text\":\"Error: the user couldn't be asked\"}],\"isError\":true}}\n");
}

#define YES "\"result\":{\"action\":\"accept\",\"content\":{\"confirm\":true}}"

/* Of what is too long the user sees less, and nobody is asked about what can't be shown in whole. */
TEST(the_clients_user_is_shown_all_that_is_committed) {
        const struct site *s = *state;
        _cleanup_free_ char *link = path_of(s->project, "link"), *big = path_of(s->project, "big"),
                            *many = path_of(s->project, "many");
        char to[16] = "";
        struct client c;

        make_file(s->project, "link", "a file\n");
        client_start(s, &c, OPTIONS("--overlay", s->project, "--ask-commit"));
        (void)json_object_put(client_initialize(&c, "2025-06-18", "{\"elicitation\":{}}"));
        expect_same(&c, "rm link; ln -s /elsewhere link; printf 'x\\\\033[2J' >ctl; chmod 0777 ctl", "");
        commit_asked(&c, "A  ctl (mode 0777)\nT  link\n\n# A  ctl (mode 0777)\ndiff",
                     "\"result\":{\"action\":\"decline\"}", "Error: the user declined", true);
        commit_asked(&c, "+x\\x1b[2J", "\"result\":{\"action\":\"decline\"}", "Error: the user declined",
                     true);
        commit_asked(
                &c,
                "new file mode 120000\nindex 0000000..affe1e1\n--- /dev/null\n+++ b/link\n@@ -0,0 +1 @@\n+/elsewhere\n",
                YES, "committed 2 paths\n", false);
        assert_int_equal(readlink(link, to, sizeof(to) - 1), strlen("/elsewhere"));
        expect_same(&c, "seq 5000 >big", "");
        commit_asked(&c, "?\n\nA  big\n", YES, "committed 1 path\n", false);
        assert_int_equal(access(big, F_OK), 0);
        /* To git it is a text, since the NUL is far behind. */
        expect_same(&c, "printf 'a\\\\000b\\\\n' >>big; echo evil >last", "");
        commit_asked(&c, "+a\\x00b\n", "\"result\":{\"action\":\"decline\"}", "Error: the user declined",
                     true);
        commit_asked(&c, "+evil\n", YES, "committed 2 paths\n", false);
        expect_same(&c, "mkdir many; for i in $(seq 1000); do : >many/$i-and-more; done", "");
        expect_call(
                &c, "commit", "{}",
                "Error: the changes are too many to be shown to the user; name fewer paths, or the user does "
                "it with 'nsrun session'",
                true);
        expect_call(
                &c, "discard", "{}",
                "Error: the changes are too many to be shown to the user; name fewer paths, or the user does "
                "it with 'nsrun session'",
                true);
        assert_int_equal(access(many, F_OK), -1);
        client_close(&c, "");
}

/* A command swaps a folder for a link that leads out, and back, all the while. */
TEST(a_link_planted_between_list_and_write_leads_nowhere) {
        const struct site *s = *state;
        _cleanup_free_ char *before = NULL, *swap = NULL;
        int rounds = size_of_test(200, 10000), good = 0, bad = 0;
        struct client c;

        make_file(s->outside, "x", "untouched\n");
        make_folder(s->project, "d");
        before = snapshot(s->outside);
        CLIENT_OPEN_PLAIN(s, &c);
        swap = text_of("(while :; do mv d e; ln -s %s d; rm d; mv e d; done) >/dev/null 2>&1 &", s->outside);
        expect_same(&c, swap, "");
        for (int i = 0; i < rounds; i++) {
                struct json_object *o = client_call(&c, "list", "{\"path\":\"d\"}");

                (void)json_object_put(o);
                o = client_call(&c, "write", "{\"path\":\"d/x\",\"content\":\"y\"}");
                good += !json_object_get_boolean(member_of(o, "result.isError"));
                bad += json_object_get_boolean(member_of(o, "result.isError"));
                (void)json_object_put(o);
        }
        if (good == 0 || (bad == 0 && rounds > 1000))
                fail_msg("the folder wasn't swapped in time: %d writes, %d refusals", good, bad);
        client_close(&c, "");
        expect_unchanged(s->outside, TAKE_PTR(before));
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An agent at work: fifty commands one after the other in one project, each through `nsrun bash
 * --json`, read by a JSON parser that is not nsrun's.  What one leaves on disk the next one sees;
 * folders, variables, processes and what hangs don't stay. */
#include <json-c/json.h>

#include "harness.h"

struct step {
        const char *command;
        int status;         /* what it should be */
        const char *output; /* exactly; or NULL */
        const char *part;   /* or what is in it */
        bool times_out;
};

/* A server that answers with one line, its port in the file it is told of once it listens. */
static const char server[] = "cat >server.py <<'END'\n"
                             "import http.server, sys\n"
                             "class Handler(http.server.BaseHTTPRequestHandler):\n"
                             "    def do_GET(self):\n"
                             "        self.send_response(200)\n"
                             "        self.end_headers()\n"
                             "        self.wfile.write(b'hello ' + self.path.encode() + b'\\n')\n"
                             "    def log_message(self, *words):\n"
                             "        pass\n"
                             "s = http.server.HTTPServer(('127.0.0.1', 0), Handler)\n"
                             "open(sys.argv[1] + '.new', 'w').write(str(s.server_port))\n"
                             "import os\n"
                             "os.rename(sys.argv[1] + '.new', sys.argv[1])\n"
                             "s.serve_forever()\n"
                             "END\n"
                             "wc -l <server.py";

#define START \
        "rm -f port; python3 server.py port >server.log 2>&1 & until [ -s port ]; do read -t 0.05 <> <(:); done; "
#define GET "curl -sS --noproxy '*' http://127.0.0.1:$(cat port)"

static const struct step steps[] = {
        {"ls -A", 0, "", NULL, false},
        {"git init -q -b main . && git config user.email a@b.c && git config user.name A", 0, "", NULL,
         false},
        {"git status --short", 0, "", NULL, false},
        {"mkdir src tests", 0, "", NULL, false},
        {"cat >src/add.c <<'END'\nint add(int a, int b);\nint add(int a, int b) {\n        return a - b;\n}\nEND",
         0, "", NULL, false},
        {"cat >tests/test.c <<'END'\n#include <stdio.h>\nint add(int a, int b);\nint main(void) {\n        int sum = add(2, 3);\n        printf(\"2 + 3 = %d\\n\", sum);\n        return sum != 5;\n}\nEND",
         0, "", NULL, false},
        {"printf 'test: tests/test\\n\\t./tests/test\\ntests/test: src/add.c tests/test.c\\n\\t$(CC) -o $@ src/add.c tests/test.c\\n' >Makefile",
         0, "", NULL, false},
        {"cat -A Makefile | head -2", 0, "test: tests/test$\n^I./tests/test$\n", NULL, false},
        {"make -s", 2, NULL, "2 + 3 = -1\n", false},
        {"grep -rn 'a - b' .", 0, "./src/add.c:3:        return a - b;\n", NULL, false},
        {"sed -i 's/a - b/a + b/' src/add.c", 0, "", NULL, false},
        {"make -s", 0, "2 + 3 = 5\n", NULL, false},
        {"printf 'tests/test\\nport*\\n*.log\\n' >.gitignore && git add -A && git commit -qm First", 0, "",
         NULL, false},
        {"git log --format=%s:%an", 0, "First:A\n", NULL, false},
        {"git ls-files", 0, ".gitignore\nMakefile\nsrc/add.c\ntests/test.c\n", NULL, false},
        {"git checkout -q -b other && git branch --show-current", 0, "other\n", NULL, false},
        {"cd src && ls", 0, "add.c\n", NULL, false},
        {"ls", 0, "Makefile\nsrc\ntests\n", NULL, false},
        {"export KEPT=yes; echo $KEPT", 0, "yes\n", NULL, false},
        {"echo ${KEPT-no}", 0, "no\n", NULL, false},
        {"echo x >/tmp/kept; ls /tmp", 0, "kept\n", NULL, false},
        {"ls /tmp", 0, "", NULL, false},
        {"no-such-program", 127, NULL, "no-such-program: command not found\n", false},
        {"./src/add.c", 126, NULL, "Permission denied\n", false},
        {"if true", 2, NULL, "syntax error", false},
        {"echo out; echo err >&2; echo out again", 0, "out\nerr\nout again\n", NULL, false},
        {"read -r line; echo \"[$line] $?\"", 0, "[] 1\n", NULL, false},
        {"set -o pipefail; false | cat; echo $?", 0, "1\n", NULL, false},
        {"false && echo never; echo always", 0, "always\n", NULL, false},
        {"for i in 1 2 3; do echo $i; done | paste -sd+ | bc 2>/dev/null || echo 6", 0, "6\n", NULL, false},
        {"printf 'gr\\303\\274\\303\\237e \\360\\237\\220\\247'", 0,
         "gr\xc3\xbc\xc3\x9f"
         "e \xf0\x9f\x90\xa7",
         NULL, false},
        {"printf '\\377\\376'", 0, "\xef\xbf\xbd\xef\xbf\xbd", NULL, false},
        {"seq 100000 | tail -1", 0, "100000\n", NULL, false},
        {"seq 100000", 0, NULL, "\n... [558175 bytes omitted, 588895 bytes total] ...\n", false},
        {"yes | head -c 20000 | wc -c", 0, "20000\n", NULL, false},
        {server, 0, "13\n", NULL, false},
        {START GET "/one", 0, "hello /one\n", NULL, false},
        /* It ended with the command that started it. */
        {GET "/two", 7, NULL, "curl: (7)", false},
        {START "kill %1; wait %1; echo $?", 0, "143\n", NULL, false},
        {"python3 server.py port", 143, "", NULL, true},
        {"sleep 1000 & echo started", 0, "started\n", NULL, true},
        {"sleep 1000 >/dev/null 2>&1 & echo started", 0, "started\n", NULL, false},
        {"jobs; pgrep -c sleep || true", 0, "0\n", NULL, false},
        {"python3 -c 'import json; print(json.dumps({\"a\": [1, None]}))'", 0, "{\"a\": [1, null]}\n", NULL,
         false},
        {"python3 -c 'raise SystemExit(42)'", 42, "", NULL, false},
        {"touch /usr/bin/x /etc/passwd", 1, NULL, "Read-only file system\n", false},
        {"git add -A && git commit -qm Server && git diff --stat main | tail -1", 0,
         " 1 file changed, 13 insertions(+)\n", NULL, false},
        {"git checkout -q main && ls", 0, "Makefile\nport\nserver.log\nsrc\ntests\n", NULL, false},
        {"rm -rf tests src && git status --short | sort", 0, " D src/add.c\n D tests/test.c\n", NULL, false},
        {"git stash -q && make -s", 0, "2 + 3 = 5\n", NULL, false},
};
_Static_assert(ARRAY_SIZE(steps) == 50, "fifty");

static int int_of(struct json_object *object, const char *key) {
        return json_object_get_int(json_object_object_get(object, key));
}

static void judge(const struct step *step, const struct outcome *o) {
        struct json_object *object = json_tokener_parse(o->out), *value = NULL;
        const char *output;
        int status;

        if (!object || !json_object_object_get_ex(object, "output", &value))
                fail_msg("%s: no result: %s; %s", step->command, o->out, o->err);
        output = json_object_get_string(value);
        status = json_object_object_get(object, "status") ? int_of(object, "status")
                                                          : 128 + int_of(object, "signal");
        if (status != step->status || (step->output && !streq(output, step->output)) ||
            (step->part && !strstr(output, step->part)) ||
            json_object_get_boolean(json_object_object_get(object, "timed_out")) != step->times_out ||
            o->status != (step->times_out ? 124 : status) ||
            json_object_get_boolean(json_object_object_get(object, "oom_killed")))
                fail_msg("%s: %s; %s", step->command, o->out, o->err);
        if (json_object_get_int64(json_object_object_get(object, "bytes_omitted")) == 0 &&
            !strstr(output, "\xef\xbf\xbd"))
                assert_int_equal(json_object_get_int64(json_object_object_get(object, "bytes_total")),
                                 json_object_get_string_len(value));
        (void)json_object_put(object);
}

TEST(fifty_commands_have_the_right_results) {
        static const char *const programs[] = {"git", "cc", "make", "python3", "curl", "pgrep"};
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
                if (!has_program(programs[i]))
                        skip_because("skipped: no %s here", programs[i]);
        for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
                _cleanup_outcome_ struct outcome o = {0};
                size_t n = 0;

                do {
                        const char *const *argv =
                                OPTIONS(program(), "bash", "--project", s->project, "--json", "--timeout",
                                        steps[i].times_out ? deadlines[n] : "600", "--", steps[i].command);

                        outcome_clear(&o);
                        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
                } while (steps[i].times_out &&
                         was_too_short(o.out, strstr(steps[i].command, "started") ? "started\\n" : "", &n));
                if (!strstr(steps[i].command, "git init") && !steps[i].times_out)
                        assert_string_equal(o.err, "");
                judge(&steps[i], &o);
        }
}

/* The indented lines of README after `mark`, without their indent. */
static char *example(const char *mark) {
        const char *folder = getenv("NSRUN_SOURCE");
        _cleanup_free_ char *path = path_of(folder ? folder : ".", "README"), *readme = file_text(path);
        char *at, *text = text_of("%s", "");

        assert_non_null(readme);
        at = strstr(readme, mark);
        assert_non_null(at);
        at = strchr(at, '\n') + 1;
        for (; startswith(at, "    ") || *at == '\n'; at += strcspn(at, "\n") + 1) {
                char *longer = text_of("%s%.*s\n", text, (int)strcspn(at, "\n") - (*at == '\n' ? 0 : 4),
                                       *at == '\n' ? at : at + 4);

                free(text);
                text = longer;
        }
        return text;
}

TEST(the_readmes_example_works) {
        const struct site *s = *state;
        _cleanup_free_ char *text = example("In Python:"), *folder = path_of(s->project, "bin"),
                            *nsrun = path_of(folder, "nsrun"), *script = NULL, *path = NULL,
                            *old = text_of("%s", getenv("PATH"));
        const char *argv[] = {"python3", "-c", NULL, NULL};
        const struct request request = {.argv = argv, .cwd = s->project};
        _cleanup_outcome_ struct outcome o = {0};

        if (!has_program("python3"))
                skip_because("skipped: no python3 here");
        /* In a folder that is visible inside, too: else a note says that it isn't. */
        assert_int_equal(mkdir(folder, 0755), 0);
        assert_int_equal(symlink(program(), nsrun), 0);
        path = text_of("%s:%s", folder, old);
        script = text_of("%sr = bash('.', 'cat; printf hi')\n"
                         "assert r['output'] == 'hi' and r['status'] == 0, r\n"
                         "try: bash('.', ' '); assert False\n"
                         "except RuntimeError as e: assert str(e) == 'empty bash command.', e\n"
                         "assert bash('.', 'sleep 99', 1)['timed_out']\n",
                         text);
        argv[2] = script;
        assert_int_equal(setenv("PATH", path, 1), 0);
        run(&request, &o);
        assert_int_equal(setenv("PATH", old, 1), 0);
        assert_string_equal(o.err, "");
        expect_out(&o, "3\n");
        expect_status(&o, 0);
}

int main(void) {
        /* Those of the make that may run this are none of the agent's. */
        (void)unsetenv("MAKEFLAGS");
        (void)unsetenv("MFLAGS");
        (void)unsetenv("MAKELEVEL");
        return run_all_tests();
}

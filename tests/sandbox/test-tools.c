/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Developers' tools do their work under the shipped seccomp policies: debuggers,
 * tracers, compilers, runtimes, a browser with a sandbox of its own.  Each does the same
 * outside first, so that what is missing or broken here is skipped by name and proves
 * nothing. */
#include "faults.h"

/* Where distributions put theirs: a tool in somebody's home is not in the sandbox. */
#define SYSTEM_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define PATHS       "PATH=" SYSTEM_PATH "\n"

struct tool {
        const char *name;       /* as it is called */
        const char *version;    /* prints a line of it */
        const char *script;     /* its work, in the project */
        const char *out;        /* all that it prints there */
        const char *options[8]; /* of the run; a --ro whose folder isn't here is left out */
};

static void print_version(const struct site *s, const struct tool *tool) {
        _cleanup_free_ char *script = text_of(PATHS "%s 2>&1 | head -n 1", tool->version);
        _cleanup_outcome_ struct outcome o = {0};

        run_outside(s, &o, script);
        print_message("%s: %s", tool->name, o.out);
}

static void run_tool(const struct site *s, const struct tool *tool, const char *policy,
                     struct outcome *ret) {
        _cleanup_free_ char *script = text_of(PATHS "%s", tool->script);
        const char *arguments[24] = {policy};
        size_t n = 1;

        for (size_t i = 0; i < ARRAY_SIZE(tool->options) && tool->options[i]; i++) {
                if (streq(tool->options[i], "--ro") && access(tool->options[i + 1], F_OK) < 0)
                        i++;
                else
                        arguments[n++] = tool->options[i];
        }
        arguments[n++] = "--";
        arguments[n++] = "sh";
        arguments[n++] = "-c";
        arguments[n++] = script;
        assert_true(n < ARRAY_SIZE(arguments));
        run_nsrun(s, ret, arguments);
}

/* Outside it must do what is wanted of it. */
static void require(const struct site *s, const struct tool *tool) {
        _cleanup_free_ char *find = text_of(PATHS "command -v %s >/dev/null", tool->name),
                            *script = text_of(PATHS "%s", tool->script);
        _cleanup_outcome_ struct outcome o = {0};

        run_outside(s, &o, find);
        if (o.status != 0)
                skip_because("skipped: %s is not installed", tool->name);
        print_version(s, tool);
        run_outside(s, &o, script);
        reap_orphans(); /* helpers of a runtime end after it, where no pid 1 ends them */
        if (o.status != 0 || !streq(o.out, tool->out))
                skip_because("skipped: %s doesn't work outside either (%d): %s%s", tool->name, o.status,
                             o.out, o.err);
}

static void expect_works(const struct site *s, const struct tool *tool, const char *policy) {
        _cleanup_outcome_ struct outcome o = {0};

        run_tool(s, tool, policy, &o);
        if (o.status != 0 || !streq(o.out, tool->out))
                fail_msg("%s under %s: status %d\n%s%s", tool->name, policy, o.status, o.out, o.err);
}

static void check(const struct site *s, const struct tool *tool) {
        require(s, tool);
        expect_works(s, tool, "--seccomp=default");
}

/* ------------------------------------------------------------- debuggers, tracers */

static const char c_program[] = "#include <stdio.h>\n"
                                "#include <stdlib.h>\n"
                                "#include <sys/wait.h>\n"
                                "#include <unistd.h>\n"
                                "int answer(int x) {\n"
                                "        return x * 7;\n"
                                "}\n"
                                "int main(int argc, char **argv) {\n"
                                "        volatile int value = answer(6);\n"
                                "        char *p = malloc(8);\n"
                                "        if (argc > 1) {\n"
                                "                puts(\"waiting\");\n"
                                "                fflush(stdout);\n"
                                "                for (;;) pause();\n"
                                "        }\n"
                                "        if (fork() == 0) {\n"
                                "                execlp(\"true\", \"true\", (char *)0);\n"
                                "                _exit(1);\n"
                                "        }\n"
                                "        wait(0);\n"
                                "        printf(\"%d\\n\", value);\n"
                                "        free(p);\n"
                                "        return 0;\n"
                                "}\n";

#define COMPILE "cc -g -O0 -o program program.c || exit 1\n"

TEST(gdb_stops_at_a_breakpoint_and_tells_the_way_there) {
        const struct tool tool = {
                .name = "gdb",
                .version = "gdb --version",
                .script = COMPILE
                "gdb -nx -q -batch -ex 'break answer' -ex run -ex backtrace -ex 'print x + 1' "
                "-ex continue ./program >log 2>&1\n"
                "grep -c '^Breakpoint 1, answer (x=6) at program.c:6$' log\n"
                "grep -c '^#1 .* in main (argc=1' log; grep '^.1 = ' log; grep -cx 42 log\n"
                "grep -c 'exited normally' log",
                .out = "1\n1\n$1 = 7\n1\n1\n"};
        const struct site *s = *state;

        make_file(s->project, "program.c", c_program);
        check(s, &tool);
}

TEST(gdb_attaches_to_a_process_that_runs) {
        const struct tool tool = {
                .name = "gdb",
                .version = "gdb --version",
                /* In another branch of the family: that it need not be a child is the point. */
                .script =
                        COMPILE "mkfifo fifo; ./program wait >fifo & exec 3<fifo; read word <&3\n"
                                "gdb -nx -q -batch -p $! -ex 'up-silently 100' -ex 'print value' -ex detach "
                                ">log 2>&1; rm fifo\n"
                                "grep '^.1 = ' log; kill $! && echo \"$word, and ran on\"",
                .out = "$1 = 42\nwaiting, and ran on\n"};
        const struct site *s = *state;

        make_file(s->project, "program.c", c_program);
        check(s, &tool);
}

TEST(strace_follows_children) {
        const struct tool tool = {.name = "strace",
                                  .version = "strace --version",
                                  .script = COMPILE
                                  "strace -f -o log ./program && grep -c 'execve(.*= 0$' log && "
                                  "grep -c '+++ exited with 0 +++' log",
                                  .out = "42\n2\n2\n"};
        const struct site *s = *state;

        make_file(s->project, "program.c", c_program);
        check(s, &tool);
}

TEST(valgrind_checks_memory) {
        const struct tool tool = {.name = "valgrind",
                                  .version = "valgrind --version",
                                  .script = COMPILE
                                  "valgrind -q --error-exitcode=9 --leak-check=full ./program && "
                                  "valgrind --tool=none -q ./program",
                                  .out = "42\n42\n"};
        const struct site *s = *state;

        make_file(s->project, "program.c", c_program);
        check(s, &tool);
}

/* ------------------------------------------------------------------------ runtimes */

TEST(node_has_worker_threads) {
        const struct tool tool = {.name = "node",
                                  .version = "node --version",
                                  .script = "node program.js",
                                  .out = "worker 42\nchild 42\n"};
        const struct site *s = *state;

        make_file(s->project, "program.js",
                  "const {Worker, isMainThread, parentPort} = require('worker_threads');\n"
                  "if (!isMainThread) parentPort.postMessage(6 * 7);\n"
                  "else new Worker(__filename).on('message', m => {\n"
                  "  console.log('worker', m);\n"
                  "  require('child_process').execFile(process.execPath, ['-p', '6*7'],\n"
                  "    (e, out) => process.stdout.write('child ' + out));\n"
                  "});\n");
        check(s, &tool);
}

TEST(python_has_processes_and_threads) {
        const struct tool tool = {.name = "python3",
                                  .version = "python3 --version",
                                  .script = "python3 program.py",
                                  .out = "fork [42]\nthread [42]\nspawn [42]\nforkserver [42]\nqueue 42\n"};
        const struct site *s = *state;

        make_file(s->project, "program.py",
                  "import concurrent.futures as f, multiprocessing as m, threading\n"
                  "def g(x): return x * 7\n"
                  "def put(q): q.put(42)\n"
                  "if __name__ == '__main__':\n"
                  "    for kind in 'fork', 'thread', 'spawn', 'forkserver':\n"
                  "        if kind == 'thread': e = f.ThreadPoolExecutor(2)\n"
                  "        else: e = f.ProcessPoolExecutor(1, m.get_context(kind))\n"
                  "        with e: print(kind, list(e.map(g, [6])), flush=True)\n"
                  "    q = m.Queue(); p = m.Process(target=put, args=(q,)); p.start()\n"
                  "    print('queue', q.get()); p.join()\n");
        check(s, &tool);
}

TEST(java_compiles_and_runs) {
        const struct tool tool = {
                .name = "javac",
                .version = "java -version",
                .script = "javac Program.java && java Program",
                .out = "thread 42\n",
                /* Debian keeps the runtime's settings there. */
                .options = {"--ro", "/etc/java-17-openjdk", "--ro", "/etc/java-21-openjdk"}};
        const struct site *s = *state;

        make_file(s->project, "Program.java",
                  "public class Program {\n"
                  "  public static void main(String[] a) throws Exception {\n"
                  "    Thread t = new Thread(() -> System.out.println(\"thread \" + 6 * 7));\n"
                  "    t.start(); t.join(); System.gc();\n"
                  "  }\n"
                  "}\n");
        check(s, &tool);
}

/* ----------------------------------------------------------------------- compilers */

TEST(go_builds_and_runs) {
        const struct tool tool = {.name = "go",
                                  .version = "go version",
                                  .script = "GOCACHE=$HOME/go-build go build -o hello hello.go && ./hello",
                                  .out = "42\n"};
        const struct site *s = *state;

        make_file(s->project, "hello.go",
                  "package main\n"
                  "import (\"fmt\"; \"os/exec\")\n"
                  "func main() {\n"
                  "  c := make(chan int)\n"
                  "  go func() { c <- 6 * 7 }()\n"
                  "  if err := exec.Command(\"true\").Run(); err != nil { panic(err) }\n"
                  "  fmt.Println(<-c)\n"
                  "}\n");
        check(s, &tool);
}

TEST(rustc_builds_and_runs) {
        const struct tool tool = {.name = "rustc",
                                  .version = "rustc --version",
                                  .script = "rustc -o hello hello.rs && ./hello",
                                  .out = "42\n"};
        const struct site *s = *state;

        make_file(s->project, "hello.rs",
                  "fn main() {\n"
                  "    let t = std::thread::spawn(|| 6 * 7);\n"
                  "    std::process::Command::new(\"true\").status().unwrap();\n"
                  "    println!(\"{}\", t.join().unwrap());\n"
                  "}\n");
        check(s, &tool);
}

/* ------------------------------------------------------------------------- browser */

/* Its sandbox needs user namespaces: it works under "nested", and under "default" the browser
 * says that it has none, and does not start without. */
/* Chromium's sandbox doesn't start for root. */
TEST_IF(geteuid() != 0, a_browser_has_its_own_sandbox_under_nested, site_setup, site_teardown) {
        const struct tool tool = {
                .name = "chromium",
                .version = "{ chromium --version 2>/dev/null; }",
                .script =
                        "chromium --headless --disable-gpu --user-data-dir=$PWD/profile --dump-dom "
                        "'data:text/html,<p id=x>a</p><script>x.textContent=6*7</script>' 2>log; status=$?; "
                        /* Its crash handler may write more than a few lines after the reason. */
                        "[ $status = 0 ] || cat log >&2; rm -rf profile; exit $status",
                .out = "<html><head></head><body><p id=\"x\">42</p><script>x.textContent=6*7</script></body></html>\n",
                .options = {"--ro", "/etc/fonts", "--ro", "/etc/chromium.d"}};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        require(s, &tool);
        expect_works(s, &tool, "--seccomp=nested");
        run_tool(s, &tool, "--seccomp=default", &o);
        assert_int_not_equal(o.status, 0);
        expect_out(&o, "");
        expect_in(o.err, "sandbox");
}

int main(void) {
        return run_all_tests();
}

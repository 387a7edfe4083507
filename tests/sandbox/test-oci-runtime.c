/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun-oci without an engine: the life of a container, what it may, its hooks, and what is refused by name.
 * Its root is the host's, read-only. */
#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "faults.h"

/* %1$s: the command; %2$s: further members of the whole; %3$s: of "linux"; %4$u: who root is outside; %5$s:
 * the project, /mnt inside. */
static const char form[] =
        "{\"ociVersion\": \"1.0.2\", \"process\": {\"user\": {\"uid\": 0, \"gid\": 0}, \"cwd\": \"/\", \"args\": %1$s,"
        "\"env\": [\"PATH=/usr/bin:/bin\"], \"capabilities\": {\"bounding\": [\"CAP_KILL\"], \"permitted\": "
        "[\"CAP_KILL\"], \"effective\": [\"CAP_KILL\"]}}, \"root\": {\"path\": \"/\", \"readonly\": true},"
        "\"hostname\": \"inside\"%2$s, \"mounts\": [{\"destination\": \"/proc\", \"type\": \"proc\", \"source\": \"proc\"},"
        "{\"destination\": \"/dev\", \"type\": \"tmpfs\", \"options\": [\"nosuid\", \"mode=755\"]},"
        "{\"destination\": \"/mnt\", \"type\": \"bind\", \"source\": \"%5$s\", \"options\": [\"rbind\", \"rw\"]}],"
        "\"linux\": {\"namespaces\": [{\"type\": \"user\"}, {\"type\": \"mount\"}, {\"type\": \"pid\"}, {\"type\": \"uts\"},"
        "{\"type\": \"ipc\"}, {\"type\": \"network\"}], \"uidMappings\": [{\"containerID\": 0, \"hostID\": %4$u, \"size\": 1}],"
        "\"gidMappings\": [{\"containerID\": 0, \"hostID\": %6$u, \"size\": 1}], \"maskedPaths\": [\"/proc/version\", \"/srv\"],"
        "\"readonlyPaths\": [\"/proc/sys\"]%3$s}}";

static const char *oci(void) {
        const char *path = getenv("NSRUN_OCI");

        assert_non_null(path);
        return path;
}

static void write_config(const struct site *s, const char *args, const char *more, const char *in_linux) {
        _cleanup_free_ char *text =
                text_of(form, args, more, in_linux, (unsigned)geteuid(), s->project, (unsigned)getegid());
        _cleanup_free_ char *bundle = path_of(s->root, "bundle");

        if (access(bundle, F_OK) < 0)
                make_folder(s->root, "bundle");
        make_file(s->root, "bundle/config.json", text);
}

/* A byte longer than the kernel takes. */
#define LONG_NAME       "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0"
#define COMMAND(script) "[\"sh\", \"-c\", \"" script "\"]"

/* `nsrun-oci --root … WORD…` from the bundle's folder. */
#define OCI(s, o, ...)                                                                                     \
        do {                                                                                               \
                _cleanup_free_ char *states_ = path_of((s)->root, "states"),                               \
                                    *bundle_ = path_of((s)->root, "bundle");                               \
                run(&(struct request){.argv = (const char *const[]){oci(), "--root", states_, __VA_ARGS__, \
                                                                    NULL},                                 \
                                      .cwd = bundle_},                                                     \
                    (o));                                                                                  \
        } while (0)

static void expect_nothing_left(const struct site *s) {
        _cleanup_outcome_ struct outcome o = {0};

        OCI(s, &o, "list", "--quiet");
        expect_status(&o, 0);
        assert_string_equal(o.out, "");
}

TEST(a_container_is_what_its_configuration_says) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        write_config(
                s,
                COMMAND("echo $$ $(id -u) $(hostname); grep -E '^(CapEff|CapBnd|CapInh|NoNewPrivs):' "
                        "/proc/self/status; ls -1 /proc/self/fd; tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; ls /srv | wc -l; "
                        "cat /proc/version | wc -c; true 2>/dev/null >/usr/x || echo closed; "
                        "true 2>/dev/null >/proc/sys/kernel/hostname || echo closed; true >/mnt/made; "
                        "echo x >/dev/null; exit 7"),
                "", "");
        OCI(s, &o, "run", "one");
        assert_string_equal(o.err, "");
        expect_status(&o, 7);
        assert_string_equal(o.out, "1 0 inside\n"
                                   "CapInh:\t0000000000000000\nCapEff:\t0000000000000020\n"
                                   "CapBnd:\t0000000000000020\nNoNewPrivs:\t1\n"
                                   "0\n1\n2\n3\nlo\n0\n0\nclosed\nclosed\n");
        expect_nothing_left(s);
}

/* Creates a container whose command says hello by a fifo and waits at another. */
static void create_waiting(const struct site *s) {
        _cleanup_free_ char *hello = path_of(s->project, "hello"), *go = path_of(s->project, "go");
        _cleanup_free_ char *states = path_of(s->root, "states"), *bundle = path_of(s->root, "bundle");
        _cleanup_outcome_ struct outcome o = {0};

        assert_int_equal(mkfifo(hello, 0600), 0);
        assert_int_equal(mkfifo(go, 0600), 0);
        write_config(s, COMMAND("echo hello >/mnt/hello; read word </mnt/go; echo $word >/mnt/said"), "",
                     "");
        /* The container keeps what it is given open. */
        run(&(struct request){.argv = OPTIONS("sh", "-c", "exec \"$@\" >/dev/null 2>&1", "sh", oci(),
                                              "--root", states, "create", "--pid-file", "pid", "one"),
                              .cwd = bundle},
            &o);
        expect_status(&o, 0);
}

TEST(a_created_container_waits_for_its_start) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome early = {0}, created = {0}, again = {0}, started = {0}, twice = {0},
                                         running = {0}, inside = {0}, kill = {0}, gone = {0}, delete = {0},
                                         none = {0};
        _cleanup_free_ char *hello = path_of(s->project, "hello"), *text = NULL;

        create_waiting(s);
        OCI(s, &created, "state", "one");
        expect_in(created.out, "\"status\": \"created\"");
        OCI(s, &again, "create", "one");
        expect_refusal(&again, 1, "nsrun-oci: there is a container of that name: one");
        OCI(s, &started, "start", "one");
        expect_status(&started, 0);
        text = file_text(hello);
        assert_string_equal(text, "hello\n");
        OCI(s, &twice, "start", "one");
        expect_refusal(&twice, 1, "nsrun-oci: the container can't be started: it is running: one");
        OCI(s, &running, "state", "one");
        expect_in(running.out, "\"status\": \"running\"");
        OCI(s, &early, "delete", "one");
        expect_refusal(&early, 1, "nsrun-oci: the container is running: one; end it first, or use --force");
        /* The leak checker starts a process of its own, which in the container's pid namespace it waits for
         * in vain. */
        look_for_leaks(false);
        OCI(s, &inside, "exec", "--env", "A=b", "--cwd", "/mnt", "one", "sh", "-c",
            "echo $A $PWD $(hostname) $(id -u); ls -d /proc/1; test -e /mnt/said; exit 5");
        look_for_leaks(is_long());
        if (geteuid() == 0) {
                assert_string_equal(inside.err, "");
                assert_string_equal(inside.out, "b /mnt inside 0\n/proc/1\n");
                expect_status(&inside, 5);
        } else {
                expect_refusal(
                        &inside, 1,
                        "nsrun-oci: exec takes root's rights in the caller's user namespace; podman has "
                        "them in its own");
        }
        OCI(s, &kill, "kill", "one", "KILL");
        expect_status(&kill, 0);
        OCI(s, &delete, "delete", "--force", "one");
        expect_status(&delete, 0);
        OCI(s, &gone, "state", "one");
        expect_refusal(&gone, 1, "nsrun-oci: there is no container of that name: one");
        /* It is ours since `create` has ended. */
        assert_true(waitpid(-1, NULL, 0) > 0);
        OCI(s, &none, "delete", "--force", "one");
        expect_status(&none, 0);
        expect_nothing_left(s);
}

/* buildah gives one up so. */
TEST(a_created_container_can_be_deleted) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        create_waiting(s);
        OCI(s, &o, "delete", "one");
        expect_status(&o, 0);
        assert_true(waitpid(-1, NULL, 0) > 0);
        expect_nothing_left(s);
}

/* As podman and buildah start it: signals that they ignore, no HOME, a folder that the image lacks, a mount
 * whose place isn't absolute, pipes that are theirs, states in a folder that isn't there. */
TEST(a_command_has_what_an_engine_leaves_out) {
        const struct site *s = *state;
        _cleanup_free_ char *more =
                text_of(", \"hooks\": {\"poststart\": [{\"path\": \"/bin/sh\", \"args\": [\"sh\", \"-c\", "
                        "\"echo $KEPT >%s/hook\"]}]}",
                        s->root);
        _cleanup_free_ char *hook = path_of(s->root, "hook"), *home = text_of("%s\n", getpwuid(0)->pw_dir);
        _cleanup_free_ char *text = NULL, *config = path_of(s->root, "bundle/config.json"), *whole = NULL;
        _cleanup_free_ char *states = path_of(s->root, "states/deep/er"),
                            *bundle = path_of(s->root, "bundle");
        _cleanup_outcome_ struct outcome o = {0};
        char *at;

        write_config(
                s,
                COMMAND("echo $HOME; pwd; yes | head -n 1; grep SigIgn /proc/self/status | tail -c 8; echo x >/dev/stdout"),
                more, "");
        whole = file_text(config);
        at = strstr(whole, "\"cwd\": \"/\"");
        assert_non_null(at);
        text = text_of("%.*s\"cwd\": \"/mnt/new/one\"%s", (int)(at - whole), whole,
                       at + strlen("\"cwd\": \"/\""));
        at = strstr(text, "\"destination\": \"/mnt\"");
        assert_non_null(at);
        memcpy(at, "\"destination\":  \"mnt\"", strlen("\"destination\":  \"mnt\""));
        make_file(s->root, "bundle/config.json", text);
        assert_int_equal(setenv("KEPT", "kept", 1), 0);
        (void)signal(SIGPIPE, SIG_IGN);
        run(&(struct request){.argv = OPTIONS(oci(), "--root", states, "run", "one"), .cwd = bundle}, &o);
        (void)signal(SIGPIPE, SIG_DFL);
        assert_int_equal(unsetenv("KEPT"), 0);
        assert_string_equal(o.err, "");
        expect_status(&o, 0);
        assert_true(startswith(o.out, home) != NULL);
        assert_string_equal(o.out + strlen(home), "/mnt/new/one\ny\n0000000\nx\n");
        free(TAKE_PTR(text));
        text = file_text(hook);
        assert_string_equal(text, "kept\n");
}

TEST(hooks_run_in_their_order_with_the_state) {
        static const char hooks[] =
                ", \"hooks\": {\"%s\": [{\"path\": \"/bin/sh\", \"args\": [\"sh\", \"-c\", \"%s\"]}], "
                "\"poststop\": [{\"path\": \"/bin/sh\", \"args\": [\"sh\", \"-c\", \"echo stop >>%s/order\"]}]}";
        const struct site *s = *state;
        _cleanup_free_ char *script =
                text_of("cat >%s/state; echo before >>%s/order", s->project, s->project);
        _cleanup_free_ char *good = text_of(hooks, "createRuntime", script, s->project);
        _cleanup_free_ char *bad = text_of(hooks, "prestart", "exit 3", s->project);
        _cleanup_free_ char *order = path_of(s->project, "order"), *file = path_of(s->project, "state");
        _cleanup_free_ char *text = NULL, *told = NULL;
        _cleanup_outcome_ struct outcome o = {0}, failed = {0};

        write_config(s, COMMAND("echo command >>/mnt/order"), good, "");
        OCI(s, &o, "run", "one");
        assert_string_equal(o.err, "");
        expect_status(&o, 0);
        text = file_text(order);
        assert_string_equal(text, "before\ncommand\nstop\n");
        told = file_text(file);
        expect_in(told, "\"id\":\"one\"");
        write_config(s, COMMAND("echo command >>/mnt/order"), bad, "");
        OCI(s, &failed, "run", "one");
        expect_refusal(&failed, 1, "nsrun-oci: a prestart hook failed with the status 3: /bin/sh");
        expect_nothing_left(s);
}

TEST(what_is_not_carried_is_refused_by_name) {
        static const struct {
                const char *args, *more, *in_linux, *said;
        } cases[] = {
                {COMMAND("true"), ", \"domainname\": \"x\"", "", "config.json: domainname is not carried"},
                {COMMAND("true"), ", \"hooks\": {\"startContainer\": [{\"path\": \"/x\"}]}", "",
                 "config.json: hooks.startContainer is not carried; only prestart, createRuntime, poststart and "
                 "poststop are"},
                {COMMAND("true"), "", ", \"cgroupsPath\": \"/x\"",
                 "config.json: linux.cgroupsPath is not carried; nsrun-oci makes no cgroups: podman's "
                 "--cgroups=disabled leaves it out"},
                {COMMAND("true"), "", ", \"resources\": {\"memory\": {\"limit\": 1}}",
                 "config.json: linux.resources.memory is not carried; nsrun-oci makes no cgroups, and so can't "
                 "hold the limit: leave it out"},
                {COMMAND("true"), "", ", \"sysctl\": {\"kernel.core_pattern\": \"x\"}",
                 "config.json: the sysctl kernel.core_pattern is not carried; it would be the host's, too"},
                {COMMAND("true"), "", ", \"rootfsPropagation\": \"shared\"",
                 "config.json: a linux.rootfsPropagation other than private and slave is not carried"},
                {COMMAND("true"), "",
                 ", \"devices\": [{\"path\": \"/dev/null\", \"type\": \"c\", \"major\": 9, \"minor\": 9}]",
                 "config.json: the device /dev/null, which isn't the host's of that name, is not carried"},
                {COMMAND("true"), "", ", \"personality\": {\"domain\": \"LINUX32\"}",
                 "config.json: linux.personality is not carried; the command has its parent's"},
                {COMMAND("true"), "",
                 ", \"uidMappings\": [{\"containerID\": 0, \"hostID\": 4294967296, \"size\": 1}]",
                 "config.json: linux.uidMappings: an id has 32 bits"},
                {COMMAND("true"), ", \"hostname\": \"" LONG_NAME "\"", "",
                 "the host name can't be set: " LONG_NAME ": Invalid argument; 64 bytes are the most"},
                {"[]", "", "", "config.json: process.args: no command"},
                {"[\"/nothing\"]", "", "",
                 "command not found in the sandbox: /nothing: No such file or directory"},
                {"[\"/proc/self/exe\"]", "", "",
                 "command can't be executed: /proc/self/exe: Too many levels of symbolic links"},
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome control = {0}, option = {0}, command = {0};

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *line = text_of("nsrun-oci: %s", cases[i].said);
                _cleanup_outcome_ struct outcome o = {0};

                write_config(s, cases[i].args, cases[i].more, cases[i].in_linux);
                OCI(s, &o, "run", "one");
                expect_refusal(&o, 1, line);
        }
        write_config(s, COMMAND("true"), "", "");
        OCI(s, &option, "--systemd-cgroup", "run", "one");
        expect_refusal(&option, 1,
                       "nsrun-oci: --systemd-cgroup is not carried; leave it out: podman "
                       "--cgroup-manager=cgroupfs");
        OCI(s, &command, "pause", "one");
        expect_refusal(&command, 1, "nsrun-oci: the command is not carried: pause; see nsrun-oci --help");
        OCI(s, &control, "--log-format=json", "run", "one");
        expect_status(&control, 0);
        expect_nothing_left(s);
}

TEST(a_folder_of_states_that_others_may_write_is_refused) {
        const struct site *s = *state;
        _cleanup_free_ char *states = path_of(s->root, "states");
        _cleanup_free_ char *said =
                text_of("nsrun-oci: the folder of containers may be written by others: %s", states);
        _cleanup_free_ char *exposed = text_of(
                "nsrun-oci: the folder of containers lies where an earlier run could write: %s", states);
        _cleanup_outcome_ struct outcome o = {0}, mended = {0};

        make_folder(s->root, "states");
        assert_int_equal(chmod(states, 0777), 0);
        write_config(s, COMMAND("true"), "", "");
        OCI(s, &o, "run", "one");
        expect_refusal(&o, 1, said);
        assert_int_equal(chmod(states, 0700), 0);
        OCI(s, &mended, "run", "one");
        expect_status(&mended, 0);
        /* Its hooks are the host's programs. */
        RUN(s, &o, "--rw", states, "--", "true");
        expect_status(&o, 0);
        OCI(s, &o, "run", "one");
        expect_refusal(&o, 1, exposed);
}

/* The project is /mnt. */
TEST(what_a_container_may_write_no_later_run_believes) {
        static const char text[] = "{\"version\": 1, \"tmpfs_size\": \"1G\"}";
        const struct site *s = *state;
        _cleanup_free_ char *written = path_of(s->project, "c.json"), *apart = path_of(s->root, "c.json");
        _cleanup_outcome_ struct outcome o = {0}, refused = {0}, control = {0};

        make_file(s->project, "c.json", text);
        make_file(s->root, "c.json", text);
        write_config(s, COMMAND("true"), "", "");
        OCI(s, &o, "run", "one");
        expect_status(&o, 0);
        RUN(s, &refused, "--no-project", "--config", written, "--", "true");
        expect_status(&refused, 125);
        expect_in(refused.err, "in a folder that an earlier run could write");
        RUN(s, &control, "--no-project", "--config", apart, "--", "true");
        expect_status(&control, 0);
}

int main(void) {
        return run_all_tests();
}

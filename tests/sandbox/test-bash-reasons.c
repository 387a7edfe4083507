/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What `nsrun bash` says of a command that failed: what the sandbox did, and nothing of what it didn't. */
#include "bash.h"

/* The text with H, P and O after a '%' replaced by the home, the project and the folder outside. */
static char *expanded(const struct site *s, const char *text) {
        char *ret = NULL;
        size_t size = 0;
        FILE *f = open_memstream(&ret, &size);

        assert_non_null(f);
        for (; *text; text++)
                if (text[0] == '%' && text[1] && strchr("HPO", text[1])) {
                        text++;
                        (void)fputs(*text == 'H' ? s->home : *text == 'P' ? s->project : s->outside, f);
                } else {
                        (void)fputc(*text, f);
                }
        assert_int_equal(fclose(f), 0);
        return ret;
}

static void make_things(const struct site *s) {
        _cleanup_free_ char *program = path_of(s->outside, "onlyhere"), *folder = path_of(s->home, "work"),
                            *path = NULL;

        make_folder(s->home, ".npm");
        make_file(s->outside, "data", "x");
        make_file(s->outside, "onlyhere", "#!/bin/sh\n");
        make_file(s->outside, "libonlyhere.so", "");
        assert_int_equal(setenv("LD_LIBRARY_PATH", s->outside, 1), 0);
        assert_int_equal(chmod(program, 0755), 0);
        assert_int_equal(mkdir(folder, 0755), 0);
        make_file(s->project, ".envrc", "");
        make_file(folder, "file", "x");
        make_file(s->project, ".env.local", "x");
        make_file(s->project, "plain", "x");
        path = text_of("%s:/usr/local/bin:/usr/bin:/bin", s->outside);
        assert_int_equal(setenv("PATH", path, 1), 0);
        assert_int_equal(setenv("WORK_API_TOKEN", "x", 1), 0);
        free(path);
        path = path_of(s->outside, "data");
        assert_int_equal(setenv("SSH_AUTH_SOCK", path, 1), 0);
        assert_int_equal(setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/1000/bus", 1), 0);
}

/* A program, or what it prints, where the host hasn't got it. */
#define REAL(name, command, words) "if command -v " name " >/dev/null; then " command "; else " words "; fi"

#define NO_BUS "the session bus isn't shown: --dbus NAME lets the program of that name be called"
#define NO_RAW "no command has the capability for raw sockets: nothing allows it"

static const struct {
        const char *command, *option, *reason;
} caused[] = {
        {"cat %O/data", NULL, "%O is on the host and isn't exposed: --ro %O exposes it, --rw writable"},
        {"ls -l %O/data", NULL, "%O is on the host and isn't exposed: --ro %O exposes it, --rw writable"},
        {"%O/onlyhere", NULL, "%O is on the host and isn't exposed: --ro %O exposes it, --rw writable"},
        {"onlyhere", NULL, "%O is on the host and isn't exposed: --ro %O exposes it, --rw writable"},
        {"sh -c '%O/onlyhere'", NULL,
         "%O is on the host and isn't exposed: --ro %O exposes it, --rw writable"},
        {"cat ~/.netrc", NULL,
         "%H/.netrc is not exposed by policy, whether it exists or not: it is where keys and passwords are kept; what needs that runs "
         "outside"},
        {"cat %O/id_ed25519", NULL,
         "%O/id_ed25519 is not exposed by policy, whether it exists or not: it is where keys and passwords are kept; what needs that runs "
         "outside"},
        {"echo \"cat: ~/.config/\\$(id): No such file or directory\" | sed \"s:~:$HOME:\"; exit 1", NULL,
         "%H/.config/$(id) is not exposed by policy, whether it exists or not: --ro '%H/.config/$(id)' exposes it, --rw "
         "writable"},
        {"sh -c 'onlyhere; exit 3'", NULL,
         "%O is on the host and isn't exposed: --ro %O exposes it, --rw writable"},
        {REAL("zsh", "zsh -c onlyhere", "echo 'zsh: command not found: onlyhere'; exit 127"), NULL,
         "%O is on the host and isn't exposed: --ro %O exposes it, --rw writable"},
        {"printf '#!%O/onlyhere\\n' >s; chmod +x s; ./s", NULL,
         "%O is on the host and isn't exposed: --ro %O exposes it, --rw writable"},
        {"touch %O/new", NULL, "%O is on the host and isn't exposed: --rw %O exposes it, writable"},
        {"mkdir %O/new", NULL, "%O is on the host and isn't exposed: --rw %O exposes it, writable"},
        {"sh -c 'echo x >%O/new'", NULL,
         "%O is on the host and isn't exposed: --rw %O exposes it, writable"},
        {"printf 'all:\\n\\tonlyhere\\n' >Mk; make -f Mk", NULL,
         "%O is on the host and isn't exposed: --ro %O exposes it, --rw writable"},
        {"python3 -c 'import subprocess; subprocess.run([\"onlyhere\"])'", NULL,
         "%O is on the host and isn't exposed: --ro %O exposes it, --rw writable"},
        {"printf '#!/usr/bin/env onlyhere\\n' >s; chmod +x s; ./s", NULL,
         "%O is on the host and isn't exposed: --ro %O exposes it, --rw writable"},
        {"printf '#!%O/onlyhere\\n' >s; chmod +x s; sh -c 'exec ./s'", NULL,
         "%O is on the host and isn't exposed: --ro %O exposes it, --rw writable"},
        {"make -C %O", NULL, "%O is on the host and isn't exposed: --ro %O exposes it, --rw writable"},
        {"echo \"fatal: repository '%O/data' does not exist\"; exit 128", NULL,
         "%O is on the host and isn't exposed: --ro %O exposes it, --rw writable"},
        {"echo 'x: error while loading shared libraries: libonlyhere.so: cannot open shared object file: No such "
         "file or directory'; exit 127",
         NULL, "%O is on the host and isn't exposed: --ro %O exposes it, --rw writable"},
        {"cat %H/.config/app/settings", NULL,
         "%H/.config/app is not exposed by policy, whether it exists or not: --ro %H/.config/app exposes it, --rw "
         "writable"},
        {"cat /tmp/missing", NULL,
         "/tmp/missing isn't in the sandbox's /tmp, which is its own: --ro /tmp/missing exposes the host's, if it is "
         "there"},
        {"tar -C /usr/bin -cf /tmp/x.tar bash", "--tmpfs-size=1M",
         "/tmp is a tmpfs of the sandbox's, and its 1M are full: --tmpfs-size 4M gives it more"},
        {"cat %H/work/file", NULL,
         "%H/work is on the host and isn't exposed: --ro %H/work exposes it, --rw writable"},
        {"cd %H/work", NULL,
         "%H/work is on the host and isn't exposed: --ro %H/work exposes it, --rw writable"},
        {"cat %H/.ssh/id_ed25519", NULL,
         "%H/.ssh is not exposed by policy, whether it exists or not: it is where keys and passwords are kept; "
         "--ssh-agent KEY lets a key of the agent's sign, which is as much as git over ssh needs"},
        {"cat %H/.aws/credentials", NULL,
         "%H/.aws is not exposed by policy, whether it exists or not: it is where keys and passwords are kept; "
         "what needs that runs outside"},
        {"cat .env.local", "--hide=.env.local", "%P/.env.local is hidden: a --hide names it"},
        {"touch .envrc", NULL,
         "%P/.envrc is protected, since programs on the host obey it: --no-protect .envrc lifts that"},
        {"echo x >.envrc", NULL,
         "%P/.envrc is protected, since programs on the host obey it: --no-protect .envrc lifts that"},
        {"touch %O/new", "--ro=%O", "%O is exposed read-only: --rw %O makes it writable"},
        {"rm %O/data", "--ro=%O", "%O is exposed read-only: --rw %O makes it writable"},
        {"head -c 3000000 /dev/zero | tee /tmp/x >/dev/null; cp /usr/bin/bash /tmp/y", "--tmpfs-size=1M",
         "/tmp is a tmpfs of the sandbox's, and its 1M are full: --tmpfs-size 4M gives it more"},
        {"dd if=/dev/zero of=/tmp/x bs=1M count=3", "--tmpfs-size=1M",
         "/tmp is a tmpfs of the sandbox's, and its 1M are full: --tmpfs-size 4M gives it more"},
        {"cp /usr/bin/bash /data/x", "--tmpfs=/data:64K",
         "/data is a tmpfs of the sandbox's, and its 64K are full: --tmpfs /data:256K gives it more"},
        {"cp /usr/bin/bash '/my data/x'", "--tmpfs=/my data:64K",
         "/my data is a tmpfs of the sandbox's, and its 64K are full: --tmpfs '/my data':256K gives it more"},
        {"cp /usr/bin/bash %H/.npm/x", "--tmpfs-size=64K",
         "%H/.npm is an overlay in memory, and its 64K are full: --tmpfs-size 256K gives it more"},
        {": ${WORK_API_TOKEN:?}", NULL,
         "the variable WORK_API_TOKEN is withheld, since it looks like a secret"},
        {"sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep 99 >/dev/null 2>&1 & done'", "--limit=pids=3",
         "the 3 processes that --limit pids=3 gives were used up: a larger number, as --limit pids=12, allows more"},
        {"head -c 3000000 /dev/zero >big", "--limit=fsize=1M",
         "what --limit fsize=1048576 gives was used up: more of it allows more"},
        {"echo 'git@host: Permission denied (publickey).'; exit 128", NULL,
         "%H/.ssh is not exposed by policy, whether it exists or not: it is where keys and passwords are kept; "
         "--ssh-agent KEY lets a key of the agent's sign, which is as much as git over ssh needs"},
        {"cat /dev/full0 /dev/fuse", NULL,
         "/dev/fuse is a device of the host's, which isn't shown: --fuse --seccomp=nested shows it"},
        {REAL("ssh-add", "ssh-add -l",
              "echo 'Could not open a connection to your authentication agent.'; exit 2"),
         NULL,
         "the agent of SSH_AUTH_SOCK isn't shown: --ssh-agent KEY lets a key of it sign (KEY is its fingerprint or "
         "comment, as ssh-add -l lists them)"},
        {"echo 'Cannot autolaunch D-Bus without X11 $DISPLAY'; exit 1", NULL, NO_BUS},
        {REAL("dbus-send", "dbus-send --session --dest=a.b / a.b.c",
              "echo 'Unable to autolaunch a dbus-daemon without a $DISPLAY for X11'; exit 1"),
         NULL, NO_BUS},
        {REAL("gdbus", "gdbus call --session --dest a.b --object-path / --method a.b.c",
              "echo 'Error connecting: Cannot spawn a message bus without a machine-id'; exit 1"),
         NULL, NO_BUS},
        {REAL("xdg-open", "BROWSER=none-such xdg-open https://example.com",
              "echo \"xdg-open: no method available for opening 'https://example.com'\"; exit 3"),
         NULL,
         "no browser of the host's is reached: nsrun run --browser opens a link when a person at its terminal "
         "says yes"},
        {"echo 'ping: socket: Operation not permitted'; exit 2", NULL, NO_RAW},
        {REAL("ping", "ping -c1 -W1 127.0.0.1", "echo 'ping: socktype: SOCK_RAW'; exit 2"), "--net=none",
         NO_RAW},
        {REAL("sudo", "sudo true",
              "echo 'sudo: The \"no new privileges\" flag is set, which prevents sudo from running as root.'; exit 1"),
         NULL, "no program gets privileges in the sandbox (sudo, su, setuid): nothing allows it"},
        {"mount -t tmpfs none /tmp", NULL,
         "the command has no right to mount: nothing allows it; with --seccomp=nested it may do so in namespaces "
         "of its own"},
        {"echo 'Cannot connect to the Docker daemon at unix:///var/run/docker.sock.'; exit 1", NULL,
         "sockets of container engines aren't exposed, whether one runs or not: nothing allows it"},
        {"python3 -c 'import socket; a = socket.socket(); a.bind((\"127.0.0.1\", 0)); "
         "socket.socket().bind(a.getsockname())'",
         NULL,
         "the network is the host's, and its ports with it: with --net=allow or --net=none the command has ports "
         "of its own"},
        {"echo \"fatal: could not read Username for 'https://h'\"; exit 128", NULL,
         "%H/.git-credentials is not exposed by policy, whether it exists or not: it is where keys and passwords "
         "are kept; what needs that runs outside"},
        {"echo 'E: Unable to lock directory /x, are you root?'; exit 100", NULL,
         "no program gets privileges in the sandbox (sudo, su, setuid): nothing allows it"},
        {"echo 'ptrace: No such process.'; exit 1", NULL,
         "a command sees, signals and traces the processes of its sandbox alone: nothing allows the host's"},
        {"touch /run/new", NULL, "/run/new is the system's own: what needs that runs outside"},
        {"touch /srv/new", NULL,
         "/srv is on the host, and the user may not write there either: nothing allows it"},
        {"unshare -r true", NULL, "seccomp denies new namespaces: --seccomp=nested allows user namespaces"},
        {"python3 -c 'import socket; socket.getaddrinfo(\"h.invalid\", 80)'", "--net=none",
         "there is no network (--net=none): --net=allow --allow HOST gives one host, --net=host all"},
};

TEST(what_the_sandbox_caused_is_told_with_its_option) {
        const struct site *s = *state;

        make_things(s);
        for (size_t i = 0; i < ARRAY_SIZE(caused); i++) {
                _cleanup_free_ char *command = expanded(s, caused[i].command),
                                    *option =
                                            expanded(s, caused[i].option ? caused[i].option : "--net=host"),
                                    *reason = expanded(s, caused[i].reason),
                                    *line = text_of("\nreason: %s", reason);
                _cleanup_outcome_ struct outcome o = {0};
                const char *found;

                if (strstr(command, "/dev/fuse") && access("/dev/fuse", F_OK) < 0)
                        continue; /* a host without it */
                if (geteuid() == 0 && (strstr(option, "pids=") || startswith(command, "touch /srv")))
                        continue; /* root's processes are counted by a cgroup alone, which not every host
                                     has, and root may write there */
                BASH(s, &o, option, command);
                assert_int_not_equal(o.status, 0);
                found = strstr(o.out, line);
                if (!found || strstr(found + 1, "\nreason: "))
                        fail_msg("%s: not the one reason '%s': %s", command, line, o.out);
        }
}

static const char *const innocent[] = {
        "ls /var/lib/nosuch/x",
        "kill -0 4194305",
        "echo 'RTNETLINK answers: No such process'; exit 2",
        "false",
        "exit 7",
        "cat missing",
        "cat %P/missing",
        "cat /etc/no-such-file",
        "cat /usr/include/no-such.h",
        "cat /no-such-folder/x",
        "test -x /tmp/missing",
        "ls nothing-here/below",
        "no-such-program-anywhere",
        "cat test",
        "./plain",
        "chmod 0 plain; cat plain",
        "printf 'all:\\n\\tno-such-program\\n' >Mk; make -f Mk",
        "echo 'listen tcp :9: bind: address already in use'; exit 1",
        "mkdir plain",
        "cd plain",
        "rmdir none-such",
        "python3 -c 'import nothing_of_that_name'",
        "grep -q y plain",
        "printf '#!/no/such/interpreter\\n' >t; chmod +x t; ./t",
        "kill -9 $$",
        "echo 'fork: Resource temporarily unavailable'; false",
        "cat /dev/no-such-device",
        "echo 'listen: address family not supported'; false",
        "echo 'int main(' | cc -xc - -o /dev/null",
        "test -e %O/data",
        "cat %O/data; true",
};

TEST(more_room_is_told_and_is_enough) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome before = {0}, after = {0};

        BASH(s, &before, "--tmpfs-size=1M", "dd if=/dev/zero of=/tmp/x bs=1M count=3");
        assert_int_not_equal(before.status, 0);
        expect_in(before.out, ": --tmpfs-size 4M gives it more");
        BASH(s, &after, "--tmpfs-size", "4M", "dd if=/dev/zero of=/tmp/x bs=1M count=3");
        assert_int_equal(after.status, 0);
        expect_not_in(after.out, "reason: ");
}

TEST(what_was_to_be_written_is_told_with_the_option_that_lets_it) {
        const struct site *s = *state;
        _cleanup_free_ char *command = text_of("touch %s/new", s->outside),
                            *advice = text_of("--rw %s exposes it, writable", s->outside);
        _cleanup_outcome_ struct outcome before = {0}, after = {0};

        BASH(s, &before, command);
        assert_int_not_equal(before.status, 0);
        expect_in(before.out, advice);
        BASH(s, &after, "--rw", s->outside, command);
        assert_int_equal(after.status, 0);
}

/* The name is told as the option takes it. */
TEST(what_lifts_the_protection_in_a_git_dir_is_told_and_works) {
        const struct site *s = *state;
        _cleanup_free_ char *script =
                text_of("cd '%s' && git init -q . && mkdir -p .git/branches", s->project);
        _cleanup_outcome_ struct outcome made = {0}, before = {0}, after = {0};

        run_outside(s, &made, script);
        expect_status(&made, 0);
        BASH(s, &before, "echo x >.git/branches/x");
        assert_int_not_equal(before.status, 0);
        expect_in(before.out,
                  "/.git/branches is protected, since programs on the host obey it: --no-protect "
                  ".git/branches lifts that");
        BASH(s, &after, "--no-protect=.git/branches", "echo x >.git/branches/x");
        assert_int_equal(after.status, 0);
}

TEST(nothing_is_told_of_other_failures) {
        const struct site *s = *state;

        make_things(s);
        for (size_t i = 0; i < ARRAY_SIZE(innocent); i++) {
                _cleanup_free_ char *command = expanded(s, innocent[i]);
                _cleanup_outcome_ struct outcome o = {0};

                if (getuid() == 0 && startswith(innocent[i], "chmod 0"))
                        continue; /* no failure at all */
                BASH(s, &o, command);
                if (strstr(o.out, "reason:"))
                        fail_msg("%s: %s", command, o.out);
        }
}

/* A command can't ask the host by way of the reasons whether a key exists. */
TEST(a_folder_of_secrets_has_the_same_words_for_what_is_there_and_what_is_not) {
        const struct site *s = *state;
        _cleanup_free_ char *ssh = path_of(s->home, ".ssh"), *command = expanded(s, "cat %H/.ssh/id; false");
        _cleanup_outcome_ struct outcome without = {0}, with = {0};

        BASH(s, &without, command);
        assert_int_equal(mkdir(ssh, 0700), 0);
        make_file(ssh, "id", "x");
        BASH(s, &with, command);
        expect_in(with.out, "\nreason: ");
        assert_string_equal(with.out, without.out);
}

/* One remote took it, and the other had no login: the command's own status doesn't tell. */
TEST(a_login_that_was_missing_is_told_of_a_success) {
        static const char command[] =
                "echo \"fatal: could not read Username for 'https://h'\"; cat none; true";
        const struct site *s = *state;
        _cleanup_free_ char *line = expanded(s, "\nreason: %H/.git-credentials is not exposed by policy, ");
        _cleanup_outcome_ struct outcome o = {0};

        BASH(s, &o, command);
        expect_status(&o, 0);
        expect_in(o.out, line);
}

/* Nor by /dev, in which descriptors of nsrun's lead to folders with links of the command's. */
TEST(no_reason_tells_of_what_lies_behind_a_descriptor_or_in_shared_memory) {
        const struct site *s = *state;
        _cleanup_close_ int folder = open(s->project, O_RDONLY | O_DIRECTORY);
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *command = NULL, *shared = text_of("/dev/shm/nsrun-test-%d", (int)getpid());

        assert_true(folder >= 0);
        assert_int_equal(symlinkat("/", folder, "l"), 0);
        make_file("/dev/shm", strrchr(shared, '/') + 1, "x");
        command = text_of(
                "echo 'cat: /dev/fd/%d/l%s/plain: No such file or directory'; cat %s; cat /dev/fd/0/x; false",
                folder, s->project, shared);
        BASH(s, &o, command);
        assert_int_equal(unlink(shared), 0);
        expect_not_in(o.out, "reason:");
}

TEST(json_has_the_reasons_and_at_most_ten) {
        const struct site *s = *state;
        _cleanup_told_ struct told few = {0}, keys = {0}, many = {0}, none = {0};
        struct json_object *reasons = NULL;

        TOLD(s, &none, "cat missing");
        expect_member(&none, "reasons", "[]");
        TOLD(s, &few, "--net=none", "echo Network is unreachable; false");
        expect_member(
                &few, "reasons",
                "[\"there is no network (--net=none): --net=allow --allow HOST gives one host, --net=host "
                "all\"]");
        /* All keys of a folder are one. */
        TOLD(s, &keys, "for i in $(seq 99); do cat ~/.ssh/$i; done");
        assert_true(json_object_object_get_ex(keys.object, "reasons", &reasons));
        assert_int_equal(json_object_array_length(reasons), 1);
        TOLD(s, &many, "for i in $(seq 99); do cat ~/.config/$i/x; done");
        assert_true(json_object_object_get_ex(many.object, "reasons", &reasons));
        assert_int_equal(json_object_array_length(reasons), 10);
}

#define OUTSIDE(path)   path " lies outside of what is exposed, where the sandbox is read-only: "
#define NO_FOLDER(path) OUTSIDE(path) "--tmpfs makes an empty folder"
#define NO_WAY(path) \
        OUTSIDE(path) "--tmpfs makes an empty folder; on the host the user may not write there either"

/* A folder of root's alone, a home of nobody's that is in /home, and of system roots, which are never
 * writable. */
TEST(no_reason_names_an_option_that_is_refused) {
        static const struct {
                const char *command, *of_user, *of_root;
        } cases[] = {
                {"touch /root/x", NO_WAY("/root/x"), NULL},
                {"LC_ALL=C.UTF-8 mkdir /newfolder", NO_WAY("/newfolder"), NO_FOLDER("/newfolder")},
                {"LC_ALL=C mkdir /newfolder", NO_WAY("/newfolder"), NO_FOLDER("/newfolder")},
                {"echo x >/new", NO_WAY("/new"), NO_FOLDER("/new")},
                {"touch /root/a/x", NO_WAY("/root/a/x"), NULL},
                {"mkdir /mnt/x", NO_WAY("/mnt/x"),
                 OUTSIDE("/mnt/x") "--rw exposes a folder of the host's, --tmpfs makes an empty one"},
                {"touch /srv/x",
                 "/srv is on the host, and the user may not write there either: nothing allows it",
                 "/srv is on the host and isn't exposed: --rw exposes a folder in it, never all of it"},
                {"touch /opt/x",
                 "/opt is read-only, and the user may not write there on the host either: nothing allows it",
                 "/opt is exposed read-only: --rw exposes a folder in it, never all of it"},
                {"ls /srv/.", "/srv is on the host and isn't exposed: --ro /srv exposes it",
                 "/srv is on the host and isn't exposed: --ro /srv exposes it"},
        };
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                const char *reason = geteuid() == 0 ? cases[i].of_root : cases[i].of_user;
                _cleanup_free_ char *line = reason ? text_of("nsrun: reason: %s\n", reason) : NULL;
                _cleanup_outcome_ struct outcome o = {0};
                const char *found;

                if (!reason)
                        continue;
                RUN(s, &o, "--explain", "--", "sh", "-c", cases[i].command);
                found = strstr(o.err, line);
                if (!found || strstr(o.err, "nsrun: reason: ") != found || found[strlen(line)])
                        fail_msg("%s: not the one reason '%s': %s", cases[i].command, line, o.err);
        }
}

#define OBEYED(path) path " is obeyed by programs on the host: "
#define OWN(folder)  "--overlay " folder " gives the command a version of its own"

/* Nor is what the host's shells, git, desktop and service manager obey. */
TEST(to_write_what_the_host_obeys_of_a_home_is_not_proposed) {
        static const struct {
                const char *makes, *option, *command, *reason;
        } cases[] = {
                {"mkdir -p %H/.local/bin", "--ro=%H/.local/bin", "echo x >%H/.local/bin/x",
                 OBEYED("%H/.local/bin") OWN("%H/.local/bin")},
                {"mkdir -p %H/.config/systemd/user", "--ro=%H/.config/systemd",
                 "mkdir %H/.config/systemd/user/x", OBEYED("%H/.config/systemd") OWN("%H/.config/systemd")},
                {"mkdir -p %H/.config/autostart", "--ro=%H/.config/autostart",
                 "echo >%H/.config/autostart/x", OBEYED("%H/.config/autostart") OWN("%H/.config/autostart")},
                {"mkdir -p %H/.config/fish", "--ro=%H/.config/fish", "echo >%H/.config/fish/x",
                 OBEYED("%H/.config/fish") OWN("%H/.config/fish")},
                {"mkdir -p %H/.config/git; : >%H/.config/git/config", "--ro=%H/.config/git/config",
                 "echo >%H/.config/git/config", OBEYED("%H/.config/git/config") OWN("%H/.config/git")},
                {": >%H/.bashrc", "--ro=%H/.bashrc", "echo >%H/.bashrc",
                 OBEYED("%H/.bashrc") "what needs that runs outside"},
                {": >%H/.profile", "--ro=%H/.profile", "echo >%H/.profile",
                 OBEYED("%H/.profile") "what needs that runs outside"},
                {"mkdir %H/.config/sway", NULL, "cat %H/.config/sway/config",
                 "%H/.config/sway is not exposed by policy, whether it exists or not: --ro %H/.config/sway exposes "
                 "it"},
                {"mkdir %H/.tool", "--ro=%H/.tool", "echo >%H/.tool/x",
                 "%H/.tool is exposed read-only: --rw %H/.tool makes it writable"},
        };
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *command = expanded(s, cases[i].command),
                                    *option = expanded(s, cases[i].option ? cases[i].option : "--net=host"),
                                    *makes = expanded(s, cases[i].makes),
                                    *reason = expanded(s, cases[i].reason),
                                    *line = text_of("nsrun: reason: %s\n", reason);
                _cleanup_outcome_ struct outcome o = {0};

                assert_int_equal(system(makes), 0);
                RUN(s, &o, "--explain", option, "--", "sh", "-c", command);
                expect_in(o.err, line);
        }
}

int main(void) {
        return run_all_tests();
}

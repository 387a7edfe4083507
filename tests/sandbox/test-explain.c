/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun run --explain`: a failure that the sandbox caused is told with the option that allows it, any other
 * isn't. */
#include "explain.h"
#include "session.h"

#define EXPOSE(path) path " is on the host and isn't exposed: --ro " path " exposes it, --rw writable"
#define WRITE(path)  path " is on the host and isn't exposed: --rw " path " exposes it, writable"
#define NESTED(call) \
        "seccomp denies " call ": --seccomp=nested allows it in user namespaces of the command's own"
#define OUTSIDE(path)                                                                                      \
        path " lies outside of what is exposed, where the sandbox is read-only: --rw exposes a folder of " \
             "the host's, --tmpfs makes an empty one"

#define OF_GIT(name) \
        "%P/" name " is protected, since programs on the host obey it: --no-protect " name " lifts that"
#define MET(limit) "what --limit " limit " gives was used up: more of it allows more"

#define OWN_TMP(path)                                                     \
        path " isn't in the sandbox's /tmp, which is its own: --ro " path \
             " exposes the host's, if it is there"

#define LOGIN(path)                                                                                           \
        path " is not exposed by policy, whether it exists or not: it is where keys and passwords are kept; " \
             "what needs that runs outside"

/* A call of openat2(2). */
#define URING "import ctypes, os; ctypes.CDLL(None).syscall(425, 8, None); os._exit(1)"
#define OPENAT2 \
        "import ctypes, os; ctypes.CDLL(None).syscall(437, -100, b\".\", (ctypes.c_uint64 * 3)(os.O_PATH), 24)"

/* None of these says anything on its own outputs: the reasons come from what was asked for. */
static const struct {
        const char *command, *option, *reason;
} caused[] = {
        {"cat %O/data", NULL, EXPOSE("%O")},
        {"test -e %O/data", NULL, EXPOSE("%O")},
        {"cat /tmp/missing", NULL, OWN_TMP("/tmp/missing")},
        {"ls /tmp/missing", NULL, OWN_TMP("/tmp/missing")},
        {"cat /tmp/krb5cc_0", NULL, LOGIN("/tmp/krb5cc_0")},
        {"cat /tmp/ssh-x/agent.1", NULL, LOGIN("/tmp/ssh-x/agent.1")},
        {"/tmp/a/tool", NULL, OWN_TMP("/tmp/a/tool")},
        {"cat '/tmp/with blank'", NULL,
         "/tmp/with blank isn't in the sandbox's /tmp, which is its own: --ro '/tmp/with blank' exposes the host's, "
         "if it is there"},
        {"%O/tool", NULL, EXPOSE("%O")},
        {". %O/data", NULL, EXPOSE("%O")},
        {"cd %H/work", NULL, EXPOSE("%H/work")},
        {"cd %P && cat ../outside/data", NULL, EXPOSE("%O")},
        /* By a symlink of the project's. */
        {"ln -sf ../outside led; cat led/data", NULL, EXPOSE("%O")},
        {"ln -sf %O/data one; cat one", NULL, EXPOSE("%O")},
        {"ln -sf %H/.ssh keys; cat keys/id_ed25519", NULL,
         "%H/.ssh is not exposed by policy, whether it exists or not: it is where keys and passwords are kept; "
         "--ssh-agent KEY lets a key of the agent's sign, which is as much as git over ssh needs"},
        {"mkdir %O/new", NULL, WRITE("%O")},
        {"echo x >%O/new", NULL, WRITE("%O")},
        {"printf '#!%O/tool\\n' >s; chmod +x s; ./s; test -x %O/tool", NULL, EXPOSE("%O")},
        {"echo x >%O/new", "--ro=%O", "%O is exposed read-only: --rw %O makes it writable"},
        {"rm -f %O/data; false", "--ro=%O", "%O is exposed read-only: --rw %O makes it writable"},
        {"mv %O/data %O/other", "--ro=%O", "%O is exposed read-only: --rw %O makes it writable"},
        {"chmod 700 %O/data", "--ro=%O", "%O is exposed read-only: --rw %O makes it writable"},
        {"touch .envrc", NULL,
         "%P/.envrc is protected, since programs on the host obey it: --no-protect .envrc lifts that"},
        {"cat .env.local", "--hide=.env.local", "%P/.env.local is hidden: a --hide names it"},
        {"cat %H/.ssh/id_ed25519", NULL,
         "%H/.ssh is not exposed by policy, whether it exists or not: it is where keys and passwords are kept; "
         "--ssh-agent KEY lets a key of the agent's sign, which is as much as git over ssh needs"},
        {"cat %H/.aws/credentials", NULL,
         "%H/.aws is not exposed by policy, whether it exists or not: it is where keys and passwords are kept; "
         "what needs that runs outside"},
        {"sed -i s/x/y/ .git/config", NULL, OF_GIT(".git/config")},
        {"mv .git/hooks other", NULL, OF_GIT(".git/hooks")},
        {"rm -f .git/config; false", NULL, OF_GIT(".git/config")},
        {"python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"%O/s\")'", NULL, WRITE("%O")},
        {"unshare -r true", NULL, NESTED("unshare CLONE_NEWUSER")},
        {"chmod u+s plain", NULL,
         "seccomp denies the setuid bit, and where other users can reach a writable folder the setgid bit: a "
         "folder above it that only you can enter (chmod 700) allows setgid"},
        {"python3 -c '" OPENAT2 "; os._exit(1)'", NULL,
         "seccomp has no openat2, as older kernels, and a program went no further without: "
         "--seccomp=nested allows it"},
        {"exec 3<>/dev/null; python3 -c 'import socket; s = socket.socket(); s.settimeout(5); "
         "s.connect((\"192.0.2.1\", 9))'",
         "--net=none",
         "there is no network (--net=none): --net=allow --allow HOST gives one host, --net=host all"},
};

#define NO_PRIVILEGES "no program gets privileges in the sandbox (sudo, su, setuid): nothing allows it"

#define NO_CORE "no core files are written: --limit core=unlimited lets crashes leave some"

/* These say it on standard error, or nowhere. */
static const struct {
        const char *command, *option, *reason;
        bool is_for_users; /* root's processes aren't counted, and no program gives it anything */
} said[] = {
        {"dd if=/dev/zero of=/tmp/x bs=1M count=3", "--tmpfs-size=1M",
         "/tmp is a tmpfs of the sandbox's, and its 1M are full: --tmpfs-size 4M gives it more", false},
        {"python3 -c 'open(\"/tmp/x\", \"wb\").write(b\"x\" * 3000000)'", "--tmpfs-size=1M",
         "no space was left: if that was in /tmp or the home, which are tmpfs of the sandbox's, --tmpfs-size SIZE "
         "enlarges them",
         false},
        {"printf '#!%O/tool\\n' >s; chmod +x s; ./s", NULL, EXPOSE("%O"), false},
        {"printf '#!%O/tool\\n' >s; chmod +x s; python3 -c 'import subprocess; subprocess.run([\"./s\"])'",
         NULL, EXPOSE("%O"), false},
        {"echo 'Could not open a connection to your authentication agent.' >&2; exit 2", NULL,
         "the agent of SSH_AUTH_SOCK isn't shown: --ssh-agent KEY lets a key of it sign (KEY is its "
         "fingerprint or comment, as ssh-add -l lists them)",
         false},
        {"python3 -c 'import os; os.writev(2, [b\"mount: permission\", b\" denied\"])'; exit 1", NULL,
         "the command has no right to mount: nothing allows it; with --seccomp=nested it may do so in "
         "namespaces of its own",
         false},
        {"python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"/run/docker.sock\")'", NULL,
         "sockets of container engines aren't exposed, whether one runs or not: nothing allows it", false},
        {"python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)'", NULL,
         "no command has the capability for raw sockets: nothing allows it", false},
        {"sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep 99 >/dev/null 2>&1 & done'", "--limit=pids=3",
         "the 3 processes that --limit pids=3 gives were used up: a larger number, as --limit pids=12, allows "
         "more",
         true},
        {"python3 -c 'while True: pass'", "--limit=cputime=1", MET("cputime=1"), false},
        {"python3 -c 'while True: pass'", "--limit=cputime=1:9", MET("cputime=1"), false},
        {"head -c 5000 /dev/zero >x", "--limit=fsize=1K", MET("fsize=1024"), false},
        {"python3 -c 'x = [open(\"/dev/null\") for i in range(20)]'", "--limit=nofile=10", MET("nofile=10"),
         false},
        {"python3 -c 'x = b\"x\" * 100000000'", "--limit=as=60M", MET("as=62914560"), false},
        {"echo 'git@host: Permission denied (publickey).' >&2; exit 128", NULL,
         "%H/.ssh is not exposed by policy, whether it exists or not: it is where keys and passwords are kept; "
         "--ssh-agent KEY lets a key of the agent's sign, which is as much as git over ssh needs",
         false},
        {"echo 'error: gpg failed to sign the data' >&2; exit 128", NULL,
         "%H/.gnupg is not exposed by policy, whether it exists or not: it is where keys and passwords are kept; "
         "--gpg-agent lets a key sign",
         false},
        {"su -c true </dev/null", NULL, NO_PRIVILEGES, true},
        {"python3 -c 'import ctypes, os; ctypes.CDLL(None).syscall(250 if os.uname().machine == \"x86_64\" else "
         "219, 1, None); os._exit(1)'",
         NULL,
         "seccomp denies keyctl KEYCTL_JOIN_SESSION_KEYRING, and no option that is safe allows it: what needs it "
         "runs outside",
         false},
        {"python3 -c '" URING "' || echo io_uring_setup failed >&2; exit 1", NULL,
         "seccomp denies io_uring_setup, and no option that is safe allows it: what needs it runs outside",
         false},
        {"bash -c 'ulimit -c unlimited'", NULL, NO_CORE, false},
        {"sh -c 'kill -ABRT $$'", NULL, NO_CORE, false},
        {"echo 'direnv: error %P/.envrc is blocked. Run `direnv allow` to approve its content' >&2; exit 1",
         NULL,
         "%H/.local/share/direnv is not exposed by policy, whether it exists or not: --ro %H/.local/share/direnv "
         "exposes it, --rw writable",
         false},
};

/* Root may write it, and no reason says so. */
TEST_IF(geteuid() == 0, of_the_systems_own_state_nothing_is_proposed, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_host(s);
        explained(s, &o, NULL, "touch /var/lib/x; touch /usr/x; cat /etc/shadow %O/data");
        expect_in(o.err, "nsrun: reason: /var/lib/x is the system's own: what needs that runs outside\n");
        expect_in(o.err, "nsrun: reason: /usr is the system's own: what needs that runs outside\n");
        expect_in(o.err, "nsrun: reason: /etc/shadow is the system's own: what needs that runs outside\n");
        expect_in(o.err, "--rw writable\n");
        expect_not_in(o.err, "--rw /");
        outcome_clear(&o);
        /* What a folder that all may enter holds is not always for all. */
        explained(s, &o, NULL, "touch /boot/x; touch /var/spool/x; touch /run/x/y; cat /etc/pam.d/missing");
        expect_in(o.err, "nsrun: reason: /boot/x is the system's own: what needs that runs outside\n");
        expect_in(o.err, "nsrun: reason: /var/spool/x is the system's own: what needs that runs outside\n");
        expect_in(o.err, "nsrun: reason: /etc/pam.d is the system's own: what needs that runs outside\n");
        expect_not_in(o.err, "--r");
}

/* The next of the host's commands would be the sandbox's. */
TEST(to_write_where_path_leads_is_not_proposed) {
        const struct site *s = *state;
        const char *path = getenv("PATH");
        _cleanup_free_ char *bin = path_of(s->home, "bin"), *longer = text_of("%s:%s", path, bin);
        _cleanup_free_ char *reason = in_site(
                s,
                "nsrun: reason: %H/bin/x is where the host's programs are: what needs that runs outside\n");
        _cleanup_outcome_ struct outcome o = {0};

        make_host(s);
        make_folder(s->home, "bin");
        assert_int_equal(setenv("PATH", longer, 1), 0);
        explained(s, &o, NULL, "touch %H/bin/x");
        longer[strlen(path)] = '\0';
        assert_int_equal(setenv("PATH", longer, 1), 0);
        expect_in(o.err, reason);
}

TEST(what_a_command_says_of_its_failure_is_heard) {
        const struct site *s = *state;

        make_host(s);
        for (size_t i = 0; i < ARRAY_SIZE(said); i++) {
                _cleanup_free_ char *reason = in_site(s, said[i].reason),
                                    *line = text_of("nsrun: reason: %s\n", reason);
                _cleanup_outcome_ struct outcome o = {0};
                const char *found;

                if (said[i].is_for_users && geteuid() == 0)
                        continue;
                explained(s, &o, said[i].option, said[i].command);
                assert_int_not_equal(o.status, 0);
                found = strstr(o.err, line);
                if (!found || strstr(found + 1, "nsrun: reason: ") ||
                    strstr(o.err, "nsrun: reason: ") != found)
                        fail_msg("%s: not the one reason '%s': %s", said[i].command, line, o.err);
        }
}

/* Most projects lie in a folder of the home. */
TEST(what_lies_beside_a_project_in_the_home_is_told) {
        const struct site *s = *state;
        _cleanup_free_ char *src = path_of(s->home, "src"), *project = path_of(src, "app"),
                            *library = path_of(src, "library"),
                            *read = text_of("nsrun: reason: " EXPOSE("%s") "\n", library, library),
                            *written = text_of("nsrun: reason: " OUTSIDE("%s/new") "\n", src);
        static const char *const commands[] = {"cat ../library/data", "make -C ../library",
                                               "echo '#include <x.h>' | cc -I../library -xc -c -o o -"};

        make_folder(s->home, "src");
        make_folder(src, "app");
        make_folder(src, "library");
        for (size_t i = 0; i <= ARRAY_SIZE(commands); i++) {
                _cleanup_outcome_ struct outcome o = {0};
                const char *command = i < ARRAY_SIZE(commands) ? commands[i] : "echo x >../new";

                NSRUN_IN(s->root, &o, "run", "--explain", "--project", project, "--", "sh", "-c", command);
                assert_int_not_equal(o.status, 0);
                expect_in(o.err, i < ARRAY_SIZE(commands) ? read : written);
        }
}

TEST(what_the_sandbox_caused_is_told_once_with_its_option) {
        const struct site *s = *state;

        make_host(s);
        for (size_t i = 0; i < ARRAY_SIZE(caused); i++) {
                _cleanup_free_ char *reason = in_site(s, caused[i].reason),
                                    *line = text_of("nsrun: reason: %s\n", reason);
                _cleanup_outcome_ struct outcome o = {0};
                const char *found;

                explained(s, &o, caused[i].option, caused[i].command);
                assert_int_not_equal(o.status, 0);
                assert_int_not_equal(o.status, 125);
                found = strstr(o.err, line);
                if (!found || strstr(found + 1, "nsrun: reason: ") ||
                    strstr(o.err, "nsrun: reason: ") != found)
                        fail_msg("%s: not the one reason '%s': %s", caused[i].command, line, o.err);
        }
}

/* What a project in /tmp shows is none of the sandbox's own /tmp. */
TEST(a_project_in_tmp_has_its_reasons) {
        static const struct {
                const char *option, *command, *reason;
        } cases[] = {
                {"--hide=key", "cat key", "%s/key is hidden: a --hide names it"},
                {"--ro=held",
                 "echo x >held/x; for i in 1 2 3 4 5 6 7 8 9; do /bin/true; /bin/cat f; done; false",
                 "%s/held is exposed read-only: --rw %s/held makes it writable"},
        };
        char project[] = "/tmp/nsrun-test-XXXXXX";
        _cleanup_outcome_ struct outcome removed = {0};

        assert_non_null(mkdtemp(project));
        make_file(project, "key", "");
        make_file(project, "f", "");
        make_folder(project, "held");
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *reason = replaced(cases[i].reason, "%s", project),
                                    *line = text_of("nsrun: reason: %s\n", reason);
                _cleanup_outcome_ struct outcome o = {0};
                const char *const argv[] = {
                        program(), "run", "--explain", "--project",      project, cases[i].option,
                        "--",      "sh",  "-c",        cases[i].command, NULL};

                run(&(struct request){.argv = argv, .cwd = project}, &o);
                expect_status(&o, 1);
                expect_in(o.err, line);
        }
        run(&(struct request){.argv = OPTIONS("rm", "-r", project)}, &removed);
        expect_status(&removed, 0);
}

static const char *const innocent[] = {
        "false",
        "exit 7",
        "kill -9 $$",
        "cat missing",
        "cat %P/missing",
        "test -x /tmp/missing",
        "cat /tmp/missing 2>/dev/null; for i in 1 2 3 4 5 6 7 8 9; do /bin/true; /bin/cat plain; done; false",
        "echo x >/tmp/here; cat /tmp/here; false",
        "echo x >/tmp/missing/new",
        "cat %H/missing",
        "ls nothing-here/below",
        "cat /etc/no-such-file",
        "cat /usr/include/no-such.h",
        "cat /no-such-folder/x",
        "no-such-program-anywhere",
        "./plain",
        "mkdir plain",
        "mkdir -p /tmp/a/b deep/er; false",
        "cd plain",
        "rmdir none-such",
        "grep -q y plain",
        "printf '#!/no/such/interpreter\\n' >t; chmod +x t; ./t",
        "python3 -c 'import nothing_of_that_name'",
        /* One that goes on without the call that it doesn't have. */
        "python3 -c '" OPENAT2 "; open(\"/dev/null\"); os._exit(1)'",
        "python3 -c '" URING "'",
        "awk 'BEGIN { exit 3 }'",
        "mv plain /tmp/p && rm /tmp/p && false",
        /* The command's own versions. */
        "git config user.name x && echo y >.git/hooks/update && rm .git/hooks/update && false",
        /* Written in the sandbox's own home, which works. */
        "echo x >%H/loose; false",
        /* Probed in passing by many programs. */
        "cat %H/.gitconfig %H/.config/git/config %H/.config/curlrc /etc/gitconfig 2>/dev/null; false",
        /* Said to nobody. */
        "sh -c 'echo it must be setuid root >&2' 2>/dev/null; false",
        "echo 'int x;' | cc -I%H/.config -xc -E - >/dev/null && grep -q y plain",
        "test -r /etc/shadow || cat /etc/shadow",
};

TEST(nothing_is_told_of_a_failure_that_is_not_the_sandboxs_or_of_a_success) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome well = {0};

        make_host(s);
        for (size_t i = 0; i < ARRAY_SIZE(innocent); i++) {
                _cleanup_outcome_ struct outcome o = {0};

                if (geteuid() == 0 && strstr(innocent[i], "shadow"))
                        continue; /* who may read it may have it exposed */
                explained(s, &o, NULL, innocent[i]);
                assert_int_not_equal(o.status, 0);
                if (strstr(o.err, "nsrun: reason"))
                        fail_msg("%s: %s", innocent[i], o.err);
        }
        explained(s, &well, NULL, "cat %O/data 2>/dev/null || true");
        expect_status(&well, 0);
        assert_string_equal(well.err, "");
}

TEST(of_a_success_is_told_what_was_protected_from_it) {
        const struct site *s = *state;
        _cleanup_free_ char *line = in_site(s, "nsrun: reason: " OF_GIT(".envrc") "\n");
        _cleanup_outcome_ struct outcome o = {0}, login = {0}, lifted = {0};

        make_host(s);
        explained(s, &o, NULL, "echo x 2>/dev/null >>.envrc; cat %O/data 2>/dev/null; true");
        expect_status(&o, 0);
        assert_string_equal(o.err, line);
        explained(s, &login, NULL,
                  "cat %O/data; echo \"fatal: could not read Username for 'https://h'\" >&2; true");
        expect_status(&login, 0);
        expect_in(login.err, "/.git-credentials is not exposed by policy, ");
        expect_not_in(login.err, "isn't exposed");
        /* The advice, followed. */
        explained(s, &lifted, "--no-protect=.envrc", "echo x >>.envrc");
        expect_status(&lifted, 0);
        assert_string_equal(lifted.err, "");
}

/* A command can't ask the host by way of the reasons whether a key exists, or what else lies in a folder. */
/* All options of a run's reasons in one further run, as a person would paste them. */
static void follow(const struct site *s, struct outcome *ret, const char *reasons, const char *command) {
        _cleanup_free_ char *script = text_of(
                "o=$(grep '^nsrun: reason: ' <<'E' | grep -oE -- \"--([a-z-]+=[^ ,;]+|[a-z-]+ (/[^ ,;]*|'[^']*')|(env|no-protect|agent) [^ ,;]+)\"\n%s\nE\n)\n"
                "set -f; eval \"set -- $(echo $o)\"; exec '%s' run --hide .env \"$@\" -- sh -c '%s'",
                reasons, program(), command);

        run_outside(s, ret, script);
}

/* What can be had is (the control); a secret or an agent's login isn't, whichever row's advice is followed.
 */
TEST(no_advice_that_is_followed_shows_a_secret) {
        static const char *const secrets[] = {
                ".ssh/id_rsa", ".aws/credentials",          ".netrc",          ".config/gh/hosts",
                ".gnupg/key",  ".claude/.credentials.json", ".codex/auth.json"};
        static const char look[] =
                "cd; cat .ssh/id_rsa .aws/credentials .netrc .config/gh/hosts .gnupg/key "
                ".claude/.credentials.json .codex/auth.json; cat work/plain; cd - >/dev/null; "
                "cat .env; echo $WORK_API_TOKEN; : ${WORK_API_TOKEN:?}";
        const struct site *s = *state;
        _cleanup_free_ char *tool = path_of(s->project, "claude");
        _cleanup_free_ char *lay = text_of("echo plain-word >%s/work/plain", s->home);
        _cleanup_outcome_ struct outcome plain = {0}, agent = {0}, first = {0}, then = {0};

        make_host(s);
        for (size_t i = 0; i < ARRAY_SIZE(secrets); i++) {
                _cleanup_free_ char *make = text_of("mkdir -p $(dirname %s/%s) && echo secret-word >%s/%s",
                                                    s->home, secrets[i], s->home, secrets[i]);
                _cleanup_outcome_ struct outcome made = {0};

                run_outside(s, &made, make);
                expect_status(&made, 0);
        }
        run_outside(s, &plain, lay);
        expect_status(&plain, 0);
        make_file(s->project, ".env", "secret-word\n");
        assert_int_equal(setenv("WORK_API_TOKEN", "secret-word", 1), 0);
        explained(s, &first, "--hide=.env", look);
        expect_in(first.err,
                  "/.claude has the settings and the login of Claude Code, whether it exists or not: "
                  "what needs that runs outside\n");
        make_file(s->project, "claude", "#!/bin/sh\ncat ~/.claude/.credentials.json\n");
        assert_int_equal(chmod(tool, 0755), 0);
        RUN(s, &agent, "--explain", "--", "./claude");
        expect_in(agent.err, "--agent claude gives it a version of its own\n");
        follow(s, &then, first.err, look);
        expect_out(&then, "plain-word\n\n");
        for (size_t i = 0; i < ARRAY_SIZE(caused); i++) {
                _cleanup_outcome_ struct outcome o = {0}, followed = {0};

                explained(s, &o, caused[i].option, caused[i].command);
                follow(s, &followed, o.err, look);
                expect_not_in(followed.out, "secret-word");
        }
}

/* Its maker has chosen the path, and has git ask for it. */
TEST(what_a_repository_names_is_not_proposed) {
        static const struct {
                const char *config, *reason;
        } cases[] = {
                {"[core]\nhooksPath = docs\n", EXPOSE("%O")},
                {"[core]\nhooksPath = ../outside/data\n", "(core.hookspath)"},
                {"[include]\npath = %O\n", "(include.path)"},
                {"[remote \"x\"]\nurl = %O/data/r.git\n", "(remote.x.url)"},
        };
        const struct site *s = *state;
        _cleanup_free_ char *git_dir = path_of(s->project, ".git");

        make_host(s);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *config = in_site(s, cases[i].config),
                                    *reason = in_site(s, cases[i].reason);
                _cleanup_outcome_ struct outcome o = {0};

                make_file(git_dir, "config", config);
                explained(s, &o, NULL, "cat %O/data");
                expect_in(o.err, reason);
                (i == 0 ? expect_in : expect_not_in)(o.err, "exposes it");
        }
}

TEST(a_failure_does_not_tell_what_is_on_the_host) {
        const struct site *s = *state;
        _cleanup_free_ char *ssh = NULL, *work = NULL;
        _cleanup_outcome_ struct outcome without = {0}, with = {0};
        static const char script[] = "cat %H/.ssh/id %H/work/name %H/.ssh 2>/dev/null; false";

        make_host(s);
        explained(s, &without, NULL, script);
        ssh = path_of(s->home, ".ssh");
        make_file(ssh, "id", "x");
        work = path_of(s->home, "work");
        make_file(work, "name", "x");
        explained(s, &with, NULL, script);
        expect_in(with.err, "nsrun: reason: ");
        assert_string_equal(with.err, without.err);
}

TEST(a_report_has_what_was_asked_for) {
        const struct site *s = *state;
        _cleanup_free_ char *option = text_of("--report=%s/report", s->outside), *text = NULL, *file = NULL,
                            *command = NULL, *line = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        make_host(s);
        command = text_of("cat %s/data; cat %s/data", s->outside, s->outside);
        RUN(s, &o, "--explain", option, "--", "sh", "-c", command);
        expect_status(&o, 1);
        file = path_of(s->outside, "report");
        text = file_text(file);
        line = text_of("{\"path\":\"%s/data\",\"how\":\"read\",\"there\":false,\"count\":2,\"pid\":",
                       s->outside);
        expect_in(text, line);
        expect_in(text, ",\"comm\":\"cat\"}\n");
}

/* -------------------------------------------------------------------- attacks */

TEST(a_reason_is_a_status_line) {
        const struct site *s = *state;
        _cleanup_free_ char *text =
                in_site(s, "\"reason\",\"text\":\"" EXPOSE("%O") "\"}\n{\"event\":\"exited");
        _cleanup_outcome_ struct outcome o = {0};

        make_host(s);
        explained(s, &o, "--status-fd=1", "cat %O/data");
        expect_in(o.out, text);
        RUN(s, &o, "--status-fd=1", "--", "cat", "/newfile");
        assert_null(strstr(o.out, "\"reason\""));
}

/* Descendants that outlive the command end with it; nothing waits for an answer for ever. */
TEST(what_the_command_leaves_behind_ends_with_it) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_host(s);
        explained(s, &o, NULL, "(while :; do test -e %O/x; done) >/dev/null 2>&1 & exit 4");
        expect_status(&o, 4);
}

/* ------------------------------------------------------------------- refusals */

/* A folder of PATH that isn't exposed is no reason if the program is in another one. */
TEST(a_search_of_path_is_no_reason) {
        const struct site *s = *state;
        _cleanup_free_ char *tools = path_of(s->home, "tools"), *before = strdup(getenv("PATH")),
                            *path = text_of("%s:%s", tools, before),
                            *reason = text_of("nsrun: reason: %s is on the host and isn't exposed", tools);
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->home, "tools/own", "#!/bin/sh\n");
        make_file(s->home, "tools/cat", "");
        assert_int_equal(setenv("PATH", path, 1), 0);
        RUN(s, &o, "--explain", "--", "sh", "-c", "cat none");
        assert_int_equal(setenv("PATH", before, 1), 0);
        expect_status(&o, 1);
        expect_not_in(o.err, "reason");
        /* The control. */
        assert_int_equal(setenv("PATH", path, 1), 0);
        RUN(s, &o, "--explain", "--", "sh", "-c", "own");
        assert_int_equal(setenv("PATH", before, 1), 0);
        expect_status(&o, 127);
        expect_in(o.err, reason);
}

TEST(a_sessions_command_is_watched_if_it_leaves_nothing_behind) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *session = text_of("--session=%s", id),
                            *beside = path_of(s->home, "beside"),
                            *reason = text_of("nsrun: reason: %s is on the host and isn't exposed", beside);
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->home, "beside/f", "text\n");
        NSRUN(s, &o, "run", session, "--explain", "--kill-leftovers", "--", "sh", "-c", "cat ~/beside/f");
        expect_status(&o, 1);
        expect_in(o.err, reason);
        NSRUN(s, &o, "run", session, "--explain", "--", "true");
        expect_refusal(
                &o, 125,
                "nsrun: what a watched command leaves behind in a session would have nobody to answer it; "
                "add --kill-leftovers, which ends that with the command");
        end_session(s, id, "stop");
}

TEST(what_can_not_be_watched_is_refused) {
        const struct site *s = *state;
        _cleanup_free_ char *policy = NULL;
        _cleanup_outcome_ struct outcome session = {0}, plain = {0}, filter = {0}, none = {0};

        make_file(s->outside, "p.json",
                  "{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": [{\"names\": [\"sendmsg\"], "
                  "\"action\": \"SCMP_ACT_ERRNO\"}]}");
        policy = text_of("--seccomp=%s/p.json", s->outside);
        RUN(s, &session, "--explain", "--session=none", "--", "true");
        expect_status(&session, 125);
        RUN(s, &plain, "--explain", "--no-sandbox", "--", "true");
        expect_refusal(&plain, 125, "nsrun: a command without a sandbox isn't watched");
        RUN(s, &filter, "--explain", policy, "--", "true");
        expect_status(&filter, 125);
        expect_in(filter.err, "the filter denies sendmsg(2), without which the command can't be watched");
        RUN(s, &none, "--explain", "--seccomp=none", "--", "cat", "/newfile/x", "plain");
        expect_status(&none, 1);
}

/* A file system of the command's own would hold whoever looks at it for as long as it likes. */
TEST(what_can_answer_for_files_is_not_watched) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        if (access("/dev/fuse", R_OK | W_OK) < 0)
                return; /* nobody else is shown it */
        RUN(s, &o, "--explain", "--fuse", "--seccomp=nested", "--", "true");
        expect_refusal(
                &o, 125,
                "nsrun: a command that has /dev/fuse can't be watched: a look at a file system of its own would end when "
                "it likes, or never; leave out --fuse; 'nsrun bash' gives reasons without watching");
        RUN(s, &o, "--fuse", "--seccomp=nested", "--", "true");
        expect_status(&o, 0);
        RUN(s, &o, "--explain", "--seccomp=nested", "--", "true");
        expect_status(&o, 0);
}

int main(void) {
        return run_all_tests();
}

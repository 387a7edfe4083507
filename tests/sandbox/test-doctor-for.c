/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun doctor --for`: given options are judged alone, as a run with them would be; and what doctor tells
 * of the caller and of the kernel's security modules. */
#include <pty.h>
#include <sys/resource.h>

#include "doctor.h"

#define FOR_WORKS  "nsrun works here with these options\n"
#define FOR_BROKEN "nsrun doesn't work here with these options: mend what says \"no\"\n"

static void expect_judged(const struct outcome *o, bool works) {
        expect_status(o, works ? 0 : 1);
        expect_last(o, works ? FOR_WORKS : FOR_BROKEN);
        if (works)
                expect_not_in(o->out, "\nno ");
        else
                expect_in(o->out, "\nno ");
}

/* ------------------------------------------------------------------- given options */

static void stage_no_network(nsrun_unused void *data) {
        stage_enter();
        stage_write("/proc/sys/user/max_net_namespaces", "0");
}

TEST(a_namespace_is_needed_by_those_who_ask_for_it) {
        static const char words[] =
                "network namespaces are switched off: /proc/sys/user/max_net_namespaces: No space left on "
                "device; sudo sysctl -w user.max_net_namespaces=15000";
        const struct site *s = *state;
        const struct host host = {.site = s, .stage = stage_no_network}, plain = {.site = s};
        _cleanup_outcome_ struct outcome o = {0};

        expect_works(&host);
        THERE(&host, &o, "doctor");
        expect_line(&o, "degraded", "network namespace", words);
        THERE(&host, &o, "doctor", "--for", "--net=none");
        expect_judged(&o, false);
        expect_line(&o, "no", "network namespace", words);
        expect_line(&o, "no", "run", words);
        THERE(&host, &o, "run", "--net=none", "--", "true");
        expect_status(&o, 125);
        expect_in(o.err, words);
        expect_in(o.err, SEE_DOCTOR);
        THERE(&host, &o, "doctor", "--for", "--net=host");
        expect_judged(&o, true);
        expect_not_in(o.out, "network namespace");
        THERE(&plain, &o, "doctor", "--net=none", "--for");
        expect_judged(&o, true);
        expect_line(&o, "ok", "network namespace", "can be had");
        expect_line(&o, "ok", "run", "works with these options");
}

TEST(a_protection_is_judged_where_it_is_asked_for) {
        static const struct {
                const char *calls, *check, *option;
        } refused[] = {{"landlock_restrict_self", "\nno        landlock", "--landlock=off"},
                       {"seccomp", "\nno        seccomp filter", "--seccomp=none"}};
        const struct site *s = *state;
        const struct host plain = {.site = s};
        _cleanup_outcome_ struct outcome fine = {0};

        THERE(&plain, &fine, "doctor");
        for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
                const struct host host = {.site = s, .error = EPERM, .calls = refused[i].calls};
                _cleanup_outcome_ struct outcome o = {0};

                /* A kernel whose Landlock has no scopes isn't asked for them. */
                if (i == 0 && strstr(fine.out, "\ndegraded  landlock"))
                        continue;
                THERE(&host, &o, "doctor", "--for");
                expect_judged(&o, false);
                expect_in(o.out, refused[i].check);
                THERE(&host, &o, "doctor", "--for", refused[i].option);
                expect_judged(&o, true);
        }
}

TEST(no_option_is_looked_for_where_options_are_judged) {
        const struct site *s = *state;
        const struct host host = {.site = s, .stage = stage_masked};
        _cleanup_outcome_ struct outcome o = {0};

        THERE(&host, &o, "doctor", "--for");
        expect_judged(&o, false);
        THERE(&host, &o, "doctor", "--for", "--proc=none");
        expect_judged(&o, true);
        THERE(&host, &o, "doctor", "--for", "--proc=none", "--json");
        expect_status(&o, 0);
        expect_in(o.out, "\"works\": true,\n  \"weaker\": false,\n  \"options\": []\n");
}

TEST(without_a_sandbox_nothing_of_one_is_judged) {
        const struct site *s = *state;
        const struct host host = {.site = s, .error = EPERM, .calls = "clone-newuser"};
        _cleanup_outcome_ struct outcome o = {0};

        THERE(&host, &o, "doctor", "--for");
        expect_judged(&o, false);
        expect_in(o.out, "\nno        user namespace");
        THERE(&host, &o, "doctor", "--for", "--no-sandbox");
        expect_judged(&o, true);
        expect_not_in(o.out, "namespace");
}

TEST(what_the_user_gets_wrong_is_a_line_of_its_own) {
        const struct site *s = *state;
        const struct host host = {.site = s};
        _cleanup_outcome_ struct outcome o = {0};

        THERE(&host, &o, "doctor", "--for", "--rw", "/usr");
        expect_judged(&o, false);
        expect_in(o.out, "\nno        run                --rw would make a system root writable: /usr; ");
        THERE(&host, &o, "run", "--rw", "/usr", "--", "true");
        expect_status(&o, 125);
        expect_not_in(o.err, SEE_DOCTOR);
        THERE(&host, &o, "doctor", "--net=none");
        expect_refusal(
                &o, 125,
                "nsrun: without --for doctor itself looks for the options of a run: --net; see 'nsrun "
                "doctor --help'");
        THERE(&host, &o, "doctor", "--no-config");
        expect_refusal(&o, 125,
                       "nsrun: without --for doctor itself looks for the options of a run: --no-config; see "
                       "'nsrun doctor --help'");
        THERE(&host, &o, "doctor", "--for", "--timeout", "3");
        expect_refusal(&o, 125, "nsrun: unknown option: --timeout; see 'nsrun doctor --help'");
        THERE(&host, &o, "doctor", "--for", "--", "true");
        expect_refusal(&o, 125, "nsrun: unexpected argument: true; see 'nsrun doctor --help'");
}

TEST(a_configuration_is_read_unless_the_options_say_otherwise) {
        const struct site *s = *state;
        const struct host host = {.site = s, .stage = set_config, .path = s->outside};
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->outside, "nsrun/config.json", "{ x");
        THERE(&host, &o, "doctor", "--for");
        expect_judged(&o, false);
        expect_in(o.out, "\nno        configuration      ");
        THERE(&host, &o, "doctor", "--for", "--no-config");
        expect_judged(&o, true);
}

/* ----------------------------------------------------------------------- the caller */

static void ignore_two(nsrun_unused void *data) {
        (void)signal(SIGTERM, SIG_IGN);
        (void)signal(SIGUSR1, SIG_IGN);
}

static void ignore_one(nsrun_unused void *data) {
        (void)signal(SIGHUP, SIG_IGN);
}

static void block_one(nsrun_unused void *data) {
        sigset_t set;

        (void)sigemptyset(&set);
        (void)sigaddset(&set, SIGTERM);
        (void)sigprocmask(SIG_BLOCK, &set, NULL);
}

TEST(signals_of_the_caller_are_told_and_the_command_mends_them) {
        static const char mend[] = "env --default-signal=TERM,USR1 ";
        const struct site *s = *state;
        const struct host two = {.site = s, .stage = ignore_two}, one = {.site = s, .stage = ignore_one},
                          blocked = {.site = s, .stage = block_one};
        _cleanup_free_ char *script = text_of("%s\"$0\" doctor", mend),
                            *words = text_of(
                                    "the caller ignores TERM,USR1, and so does a command; %snsrun ...",
                                    mend);
        _cleanup_outcome_ struct outcome o = {0};

        THERE(&two, &o, "doctor");
        expect_status(&o, 0);
        expect_line(&o, "degraded", "signals", words);
        THERE(&one, &o, "doctor");
        expect_line(&o, "ok", "signals", "the caller ignores HUP, and so does a command");
        THERE(&blocked, &o, "doctor");
        expect_line(&o, "ok", "signals", "the caller blocks TERM, a command blocks none");
        outcome_clear(&o);
        run(&(struct request){.argv = OPTIONS("sh", "-c", script, program()),
                              .cwd = s->project,
                              .in_child = ignore_two},
            &o);
        expect_line(&o, "ok", "signals", "none is blocked or ignored");
        collect_orphans();
}

TEST(a_terminal_of_another_session_is_told) {
        const struct site *s = *state;
        const char *const argv[] = {program(), "doctor", NULL}, *const mended[] = {"setsid", "--ctty",
                                                                                   "--wait", program(),
                                                                                   "doctor", NULL};
        _cleanup_outcome_ struct outcome o = {0};
        int terminal = -1, other = -1;

        assert_int_equal(openpty(&other, &terminal, NULL, NULL, NULL), 0);
        run(&(struct request){.argv = argv, .cwd = s->project, .standard_input = terminal}, &o);
        expect_line(
                &o, "degraded", "terminal",
                "it isn't this session's own: ^C and ^Z don't reach what runs; setsid --ctty --wait nsrun "
                "...");
        outcome_clear(&o);
        run(&(struct request){.argv = mended, .cwd = s->project, .standard_input = terminal}, &o);
        expect_line(&o, "ok", "terminal", "standard input is one, and nsrun is in its foreground");
        outcome_clear(&o);
        run(&(struct request){.argv = argv, .cwd = s->project}, &o);
        expect_line(&o, "ok", "terminal", "none");
        (void)close(other);
        (void)close(terminal);
        collect_orphans();
}

static void set_small_stack(nsrun_unused void *data) {
        struct rlimit limit = {0};

        if (getrlimit(RLIMIT_STACK, &limit) < 0)
                stage_fail("RLIMIT_STACK");
        limit.rlim_cur = 256 << 10;
        if (setrlimit(RLIMIT_STACK, &limit) < 0)
                stage_fail("RLIMIT_STACK");
}

TEST_IF(!IS_SANITIZED, a_small_stack_is_told, site_setup, site_teardown) {
        const struct site *s = *state;
        const struct host host = {.site = s, .stage = set_small_stack};
        _cleanup_outcome_ struct outcome o = {0};

        THERE(&host, &o, "doctor");
        expect_status(&o, 0);
        expect_line(&o, "degraded", "limits", "stacks may not have 1 MiB; ulimit -s 8192");
}

/* ------------------------------------------------------------- the kernel's modules */

static void stage_modules(nsrun_unused void *data) {
        stage_enter();
        stage_tmpfs("/sys/kernel", 0);
        make_folder("/sys/kernel", "security");
        stage_make_file("/sys/kernel/security/lsm", "lockdown,capability,landlock,selinux");
        stage_make_file("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
        stage_tmpfs("/sys/fs", 0);
        make_folder("/sys/fs", "selinux");
        stage_make_file("/sys/fs/selinux/enforce", "1");
        stage_tmpfs("/sys/module", 0);
        make_folder("/sys/module", "apparmor");
        make_folder("/sys/module/apparmor", "parameters");
        stage_make_file("/sys/module/apparmor/parameters/enabled", "Y\n");
}

TEST(security_modules_are_listed_as_the_kernel_tells_them) {
        const struct site *s = *state;
        const struct host host = {.site = s, .stage = stage_modules};
        _cleanup_outcome_ struct outcome o = {0};

        THERE(&host, &o, "doctor");
        expect_line(&o, "ok", "security modules", "lockdown,capability,landlock,selinux");
        expect_line(&o, "ok", "lockdown", "integrity");
        expect_in(o.out, "\nok        SELinux            enforcing, nsrun's context is ");
}

TEST(selinux_that_refuses_namespaces_is_mended_by_one_line) {
        const struct site *s = *state;
        const struct host host = {
                .site = s, .stage = stage_modules, .error = EACCES, .calls = "clone-newuser"};
        _cleanup_outcome_ struct outcome o = {0};

        THERE(&host, &o, "doctor");
        expect_line(
                &o, "degraded", "SELinux",
                access(NSRUN_SELINUX_PATH, R_OK) < 0
                        ? "this user may make no user namespace; the policy needs a module, which "
                          "nsrun's packages have"
                        : "this user may make no user namespace; the policy needs rules for this domain as "
                          "those of " NSRUN_SELINUX_PATH);
}

/* Ubuntu's switch; the profile that was installed, if there is one, is for the program `path`. */
static void stage_apparmor(void *data) {
        const struct host *host = data;
        _cleanup_free_ char *profile = NULL;

        stage_enter();
        stage_tmpfs("/proc/sys/kernel", 0);
        stage_make_file("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
        if (!host->path)
                return;
        stage_tmpfs("/usr/local/etc", 0);
        make_folder("/usr/local/etc", "apparmor.d");
        profile = text_of("profile nsrun %s flags=(unconfined) {\n", host->path);
        stage_make_file("/usr/local/etc/apparmor.d/nsrun", profile);
}

/* One line, for whoever hasn't installed nsrun, too. */
TEST_IF(geteuid() != 0, apparmor_without_a_profile_is_mended_by_one_line, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *own = realpath(program(), NULL),
                            *written =
                                    text_of("no profile allows user namespaces to nsrun; printf 'abi "
                                            "<abi/4.0>,\\n\"%%s{,-*}\" flags=(unconfined) { userns, }\\n' "
                                            "%s | sudo tee /etc/apparmor.d/nsrun-local && sudo "
                                            "apparmor_parser -r /etc/apparmor.d/nsrun-local",
                                            own);
        const struct host host = {.site = s, .stage = stage_apparmor, .error = EPERM, .calls = "mount"},
                          installed = {.site = s, .stage = stage_apparmor, .path = own},
                          others = {.site = s, .stage = stage_apparmor, .path = "/usr/bin/true"};
        _cleanup_outcome_ struct outcome o = {0};

        THERE(&host, &o, "doctor");
        expect_status(&o, 1);
        expect_line(&o, "degraded", "AppArmor", written);
        if (startswith(NSRUN_APPARMOR_PATH, "/usr/local/etc/apparmor.d/")) {
                THERE(&others, &o, "doctor");
                expect_line(&o, "degraded", "AppArmor", written);
                THERE(&installed, &o, "doctor");
                expect_line(&o, "degraded", "AppArmor",
                            "no profile allows user namespaces to nsrun; sudo cp " NSRUN_APPARMOR_PATH
                            " /etc/apparmor.d/nsrun && sudo apparmor_parser -r /etc/apparmor.d/nsrun");
        }
        THERE(&(const struct host){.site = s}, &o, "doctor");
        expect_not_in(o.out, "degraded  AppArmor");
}

static void stage_a_mount(void *data) {
        const struct host *host = data;

        stage_enter();
        stage_tmpfs(host->path, 0);
}

/* What is so in this folder and home, with the option that decides it, and no run. */
TEST(what_may_surprise_here_is_told) {
        const struct site *s = *state;
        _cleanup_free_ char *at = path_of(s->project, "at"), *link = path_of(s->root, "home-link"),
                            *mount = text_of("%s; is shown; --hide hides it", at),
                            *shows = text_of("%s, which shows %s\n", s->home, s->outside),
                            *leads = text_of("%s leads there, and is a link inside, too", link),
                            *hooks = text_of("hooks are not run here: core.hooksPath names %s, which isn't "
                                             "shown",
                                             s->outside),
                            *closed = text_of("a home folder can't be the project: %s; choose a folder with "
                                              "--project DIR, or use --no-project",
                                              s->home),
                            *silent = text_of(
                                    "what is mounted there doesn't answer: %s: Connection timed out; "
                                    "see who serves it (findmnt -T PATH), or take it away: "
                                    "fusermount3 -u PATH, sudo umount -l PATH",
                                    at);
        const struct host host = {.site = s, .stage = stage_a_mount, .path = at},
                          away = {.site = s,
                                  .stage = stage_a_mount,
                                  .path = at,
                                  .error = EPERM,
                                  .calls = "silent:at"};
        const char *const in_home[] = {program(), "doctor", "--here", NULL};
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->project, "at");
        make_link(s->home, ".vimrc", "elsewhere");
        make_link(s->root, "home-link", "home");
        assert_int_equal(setenv("HOME", link, 1), 0);
        THERE(&host, &o, "doctor", "--here");
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
        expect_line(&o, "ok", "home", leads);
        expect_line(&o, "ok", "links in the home",
                    ".vimrc; what one leads to is shown where it is named: --ro");
        expect_line(&o, "ok", "project", s->project);
        expect_line(&o, "ok", ".git", "there is none; git init, or --project where there is one");
        expect_line(&o, "ok", "mount", mount);
        THERE(&host, &o, "doctor", "--here", "--home", s->outside);
        expect_in(o.out, shows);
        run_outside(s, &o, "git init -q && git config core.hooksPath ../outside");
        expect_status(&o, 0);
        THERE(&host, &o, "doctor", "--here");
        expect_line(&o, "ok", ".git", "a folder");
        expect_line(&o, "degraded", "git", hooks);
        assert_int_equal(setenv("HOME", s->home, 1), 0);
        THERE(&away, &o, "doctor", "--here");
        expect_status(&o, 1);
        expect_last(&o, BROKEN_LINE);
        expect_in(o.out, silent);
        outcome_clear(&o);
        run(&(struct request){.argv = in_home, .cwd = s->home}, &o);
        expect_status(&o, 1);
        expect_in(o.out, closed);
}

int main(void) {
        return run_all_tests();
}

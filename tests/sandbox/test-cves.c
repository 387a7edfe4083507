/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What has been wrong in other sandboxes, tried in this one: nsrun-security(7) lists them.  Each attempt has
 * a control that shows that the way is the right one but for what holds it. */
#include <sys/stat.h>

#include "repository.h"
#include "session.h"

#define INSIDE(s, o, ...)                                                                          \
        do {                                                                                       \
                outcome_clear(o);                                                                  \
                run(&(struct request){.argv = OPTIONS(program(), "run", "--project", (s)->project, \
                                                      __VA_ARGS__),                                \
                                      .cwd = (s)->root},                                           \
                    o);                                                                            \
        } while (0)

/* runc, CVE-2019-5736: the runtime's own program is written to through /proc/PID/exe. */
TEST(nsruns_own_program_is_not_written_to) {
        static const char script[] = "cp /bin/sleep s; ./s 9 & for p in /proc/[0-9]*; do "
                                     "(: >>$p/exe) 2>/dev/null && echo $(readlink $p/exe); done; "
                                     "(: </proc/1/exe) 2>/dev/null && echo read; kill $!";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        /* Of a program that runs the kernel has it busy (ETXTBSY), which only luck lets pass later. */
        INSIDE(s, &o, "--", "sh", "-c", script);
        expect_out(&o, "");
}

/* runc, CVE-2024-21626: a descriptor of the host's is left to the command, or its working directory. */
TEST(no_descriptor_of_the_callers_leads_out) {
        const struct site *s = *state;
        _cleanup_free_ char *line =
                text_of("exec 7</; exec '%s' run --project '%s' \"$@\"", program(), s->project);
        _cleanup_outcome_ struct outcome o = {0};
        const char *const look[] = {"sh", "-c", line, "sh",
                                    "--", "sh", "-c", "ls /proc/self/fd | tr '\\n' ' '",
                                    NULL},
                          *const stand[] = {"sh", "-c", line, "sh", "--chdir", "/proc/self/fd/7",
                                            "--", "ls", NULL};

        run(&(struct request){.argv = look, .cwd = s->root}, &o);
        expect_out(&o, "0 1 2 3 ");
        outcome_clear(&o);
        run(&(struct request){.argv = stand, .cwd = s->root}, &o);
        expect_status(&o, 125);
        assert_string_equal(o.out, "");
}

/* flatpak, CVE-2019-10063: a filter compares 32 bits of what the kernel takes as 32 of 64.  CVE-2023-28100:
 * TIOCLINUX.  ENOTTY (25) is what a call gets that the filter lets through. */
TEST(terminals_are_not_typed_into_by_other_spellings) {
        static const char script[] =
                "for $r (0x5412, 0x100005412, 0xffffffff00005412, 0x541c, 0x5413) { $b = \"\\0\" x 64; "
                "$! = 0; syscall(16, 0, $r, $b); printf \"%d \", $! }";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        if (!has_program("perl"))
                skip_because("skipped: there is no perl");
        INSIDE(s, &o, "--", "perl", "-e", script);
        expect_out(&o, "1 1 1 1 25 ");
}

/* flatpak, CVE-2021-41133: mounts by calls that are newer than the filter, and namespaces by clone3(2). */
TEST(newer_calls_mount_nothing) {
        static const char script[] =
                "for $n (428, 429, 430, 431, 432, 433, 435, 442, 467, 39) { $! = 0; "
                "$r = syscall($n, 0, 0, 0, 0, 0, 0); print $r < 0 ? $!+0 : 'works', ' ' }";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        if (!has_program("perl"))
                skip_because("skipped: there is no perl");
        INSIDE(s, &o, "--", "perl", "-e", script);
        expect_in(o.out, " works ");
        assert_null(strstr(strstr(o.out, "works") + 1, "works"));
        expect_not_in(o.out, "22 ");
        expect_not_in(o.out, "14 ");
}

/* flatpak, CVE-2024-32462: a command's words are taken for the sandbox's options. */
TEST(the_commands_words_are_no_options) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        INSIDE(s, &o, "--", "--bind", "/:/host", "ls", "/host");
        expect_status(&o, 127);
        INSIDE(s, &o, "--rw", "--no-sandbox", "--", "true");
        expect_status(&o, 125);
        INSIDE(s, &o, "--", "echo", "--bind");
        expect_out(&o, "--bind\n");
}

/* flatpak, CVE-2023-28101: what is shown of a policy draws on the terminal. */
TEST(a_plan_draws_nothing) {
        const struct site *s = *state;
        _cleanup_free_ char *folder = path_of(s->home, "a\033[2Jb");
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->home, "a\033[2Jb");
        NSRUN_IN(s->root, &o, "plan", "--project", s->project, "--ro", folder, "--", "true");
        expect_status(&o, 0);
        expect_in(o.out, "a\\x1b[2Jb");
        expect_not_in(o.out, "\033");
}

/* flatpak, CVE-2024-42472: a folder that lasts has a symlink by the next run, which a mount follows. */
TEST(a_lasting_home_leads_no_mount_astray) {
        const struct site *s = *state;
        _cleanup_free_ char *home = path_of(s->home, "lasting"), *docs = path_of(s->home, "docs"),
                            *script = text_of("rmdir '%s'; ln -s \"$PWD\" '%s'", docs, docs);
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->home, "docs/f", "text\n");
        INSIDE(s, &o, "--home", home, "--ro", docs, "--", "cat", "docs/f");
        INSIDE(s, &o, "--home", home, "--", "sh", "-c", script);
        INSIDE(s, &o, "--home", home, "--ro", docs, "--", "true");
        expect_status(&o, 125);
        expect_in(o.err, "docs: Too many levels of symbolic links; ");
        on_host(s, "rm \"$HOME/lasting/docs\"", &o);
        INSIDE(s, &o, "--home", home, "--ro", docs, "--", "sh", "-c", "cat ~/docs/f");
        expect_out(&o, "text\n");
}

/* sandbox-runtime, CVE-2025-66479: no host is named, and all are reached. */
TEST(where_no_host_is_named_none_is_reached) {
        static const char script[] =
                "getent hosts example.org || echo no name; "
                "ls /sys/class/net 2>/dev/null; tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        INSIDE(s, &o, "--net=allow", "--", "sh", "-c", script);
        expect_out(&o, "no name\nlo\n");
}

/* codex, CVE-2025-59532: where the command is started becomes writable. */
TEST(the_folder_of_a_start_is_not_writable_for_it) {
        const struct site *s = *state;
        _cleanup_free_ char *elsewhere = path_of(s->home, "elsewhere"),
                            *made = path_of(s->home, "elsewhere/made"),
                            *script = text_of("mkdir -p '%s' 2>/dev/null; echo x >'%s'; echo x >made",
                                              elsewhere, made),
                            *own = path_of(s->project, "made");
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->home, "elsewhere");
        NSRUN_IN(elsewhere, &o, "run", "--project", s->project, "--", "sh", "-c", script);
        assert_int_equal(access(own, F_OK), 0);
        assert_int_equal(access(made, F_OK), -1);
}

/* codex, CVE-2025-61260, and others: what the project holds is the sandbox's configuration. */
TEST(a_project_configures_nothing) {
        static const char text[] =
                "{\"version\": 1, \"readable\": [\"~/notes\"], \"isolation\": {\"enabled\": false}}\n",
                          *const names[] = {"config.json", "nsrun/config.json",
                                            "nsrun.json",  ".nsrun.json",
                                            ".nsrun",      ".env"};
        const struct site *s = *state;
        _cleanup_free_ char *secret = path_of(s->home, "notes"),
                            *config = path_of(s->project, "config.json"),
                            *script = text_of("cat '%s' 2>/dev/null || echo none", secret);
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->home, "notes", "text\n");
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                make_file(s->project, names[i],
                          streq(names[i], ".env") ? "NSRUN_HOME=/\nXDG_CONFIG_HOME=.\n" : text);
        NSRUN(s, &o, "run", "--", "sh", "-c", script);
        expect_out(&o, "none\n");
        /* Named by the user, and not by its place, it is refused: a command could have written it. */
        INSIDE(s, &o, "--config", config, "--", "true");
        expect_status(&o, 125);
}

int main(void) {
        return run_all_tests();
}

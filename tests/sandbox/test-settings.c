/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The user's settings of npm and pip inside: what is harmless at the place where the program
 * looks for it, and never a credential. */
#include "harness.h"

static int setup_files(void **state) {
        int r = site_setup(state);
        const struct site *s = *state;

        make_file(s->home, ".npmrc",
                  "registry=https://npm.example.org/\n//npm.example.org/:_authToken=planted\n"
                  "@corp:registry=https://u:planted@corp/\n@own:registry=https://own.example.org/\n");
        make_file(s->home, ".config/pip/pip.conf",
                  "[global]\nindex-url = https://pypi.example.org/simple\n"
                  "extra-index-url = https://u:planted@y/simple\nproxy = http://planted/\n");
        make_file(s->home, ".cargo/config.toml", "token = \"planted\"\n");
        make_file(s->home, ".m2/settings.xml", "<password>planted</password>\n");
        return r;
}

static const char npmrc[] =
        "registry = https://npm.example.org/\n@own:registry = https://own.example.org/\n",
                  pip_conf[] = "[global]\nindex-url = https://pypi.example.org/simple\n";

TEST_WITH(harmless_settings_are_where_the_programs_look, setup_files, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *expected = text_of("%s%s", npmrc, pip_conf);
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--", "sh", "-c", "cat ~/.npmrc ~/.config/pip/pip.conf");
        expect_status(&o, 0);
        expect_out(&o, expected);
        RUN(s, &o, "--", "sh", "-c",
            "grep -rls planted ~ /etc/npmrc /etc/pip.conf; env | grep -i 'example\\.'");
        expect_out(&o, "");
        run_outside(s, &o, "grep -rls planted ~ | wc -l");
        expect_out(&o, "4\n");
        /* They are the command's to change, and the host's stay as they are. */
        RUN(s, &o, "--", "sh", "-c",
            "echo fund=true >>~/.npmrc && tail -n 1 ~/.npmrc && rm ~/.config/pip/pip.conf");
        expect_status(&o, 0);
        expect_out(&o, "fund=true\n");
        run_outside(s, &o, "grep -c fund ~/.npmrc; ls ~/.config/pip");
        expect_out(&o, "0\npip.conf\n");
        RUN(s, &o, "--clean-env", "--", "sh", "-c", "ls -A ~ ~/.config | grep -e npmrc -e pip");
        expect_out(&o, "");
}

TEST_WITH(a_rule_goes_before_the_settings, setup_files, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *npm = path_of(s->home, ".npmrc"), *m2 = path_of(s->home, ".m2"),
                            *link = text_of("/nowhere:%s/.config", s->home);
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--ro", npm, "--ro", m2, "--", "sh", "-c",
            "cat ~/.npmrc ~/.m2/settings.xml | grep -c planted");
        expect_out(&o, "3\n");
        RUN(s, &o, "--symlink", link, "--", "sh", "-c", "readlink ~/.config; cat ~/.config/pip/pip.conf");
        expect_status(&o, 1);
        expect_out(&o, "/nowhere\n");
}

TEST_WITH(a_moved_file_of_settings_is_where_it_was_moved, setup_files, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *moved = path_of(s->outside, "npm"),
                            *variable = text_of("npm_config_userconfig=%s/rc", moved),
                            *expected = text_of("%s%s", npmrc, pip_conf),
                            *xdg = text_of("XDG_CONFIG_HOME=%s", s->outside);
        _cleanup_outcome_ struct outcome o = {0};

        run_outside(s, &o,
                    "mkdir ../outside/npm; mv ~/.npmrc ../outside/npm/rc; mv ~/.config/pip ../outside/pip");
        RUN(s, &o, "--env", variable, "--env", xdg, "--", "sh", "-c",
            "cat $npm_config_userconfig $XDG_CONFIG_HOME/pip/pip.conf; ls ~/.npmrc ~/.config/pip 2>/dev/null");
        expect_out(&o, expected);
        RUN(s, &o, "--env", "npm_config_userconfig=/proc/rc", "--env", "XDG_CONFIG_HOME=x", "--", "sh", "-c",
            "cat $npm_config_userconfig ~/.config/pip/pip.conf 2>/dev/null");
        expect_status(&o, 1);
        expect_out(&o, "");
}

/* What a command could write, or has had written, isn't the user's. */
TEST_WITH(settings_of_a_commands_making_do_not_count, setup_files, site_teardown) {
        static const char show[] = "cat ~/.npmrc ~/.config/pip/pip.conf 2>/dev/null";
        const struct site *s = *state;
        _cleanup_free_ char *inside = text_of("XDG_CONFIG_HOME=%s/config", s->project);
        _cleanup_outcome_ struct outcome o = {0};

        run_outside(s, &o, "cp -r ~/.config config; mv ~/.npmrc ~/.npmrc2; ln -s .npmrc2 ~/.npmrc");
        RUN(s, &o, "--env", inside, "--", "sh", "-c", show);
        expect_out(&o, "");
        run_outside(
                s, &o,
                "rm ~/.npmrc; mkfifo ~/.npmrc; mv ~/.config/pip ~/.config/pip2; ln -s pip2 ~/.config/pip");
        RUN(s, &o, "--", "sh", "-c", show);
        expect_out(&o, "");
        /* The positive control. */
        run_outside(s, &o,
                    "rm ~/.npmrc ~/.config/pip; mv ~/.npmrc2 ~/.npmrc; mv ~/.config/pip2 ~/.config/pip");
        RUN(s, &o, "--", "sh", "-c", show);
        expect_in(o.out, "npm.example.org");
        expect_in(o.out, "pypi.example.org");
}

int main(void) {
        return run_all_tests();
}

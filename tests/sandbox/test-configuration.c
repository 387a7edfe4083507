/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Configuration files of the real program: where they are found, who wins, and which are
 * refused because a command could have written them. */
#include "harness.h"
#include "stage.h"

/* "@root" and "@project" in `text` are the site's. */
static void write_config(const struct site *s, const char *folder, const char *name, const char *text) {
        _cleanup_free_ char *a = replaced(text, "@project", s->project), *b = replaced(a, "@root", s->root);

        make_file(folder, name, b);
}

/* `nsrun run ARGUMENT…` in the project. */
static void run_at(const struct site *s, struct outcome *ret, const char *const *arguments) {
        _cleanup_free_ const char **words = words_of(OPTIONS("run"), arguments);

        run_words(s->project, ret, words);
}
#define AT(site, outcome, ...) run_at(site, outcome, OPTIONS(__VA_ARGS__))

static void expect_line(const struct site *s, struct outcome *o, const char *line) {
        _cleanup_free_ char *a = replaced(line, "@project", s->project), *b = replaced(a, "@root", s->root);
        _cleanup_free_ char *full = text_of("nsrun: %s", b);

        expect_refusal(o, 125, full);
}

static void make_home_config(const struct site *s, const char *text) {
        _cleanup_free_ char *folder = path_of(s->home, ".config"), *inner = path_of(folder, "nsrun");

        make_folder(s->home, ".config");
        make_folder(folder, "nsrun");
        write_config(s, inner, "config.json", text);
}

static void make_home_config_again(const struct site *s, const char *text) {
        _cleanup_free_ char *folder = path_of(s->home, ".config/nsrun");

        write_config(s, folder, "config.json", text);
}

TEST(denials_without_their_network_are_told) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_home_config(s, "{\"deny\": [\"example.org\"]}");
        AT(s, &o, "--", "true");
        expect_status(&o, 0);
        assert_string_equal(o.err,
                            "nsrun: note: what the configuration denies can be reached: the network is the "
                            "host's, and \"deny\" counts with \"net\": \"allow\" alone\n");
        AT(s, &o, "--net=none", "--", "true");
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
        make_home_config_again(s, "{\"allow\": [\"example.org\"]}");
        AT(s, &o, "--", "true");
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
}

TEST(the_folder_to_start_in_is_below_the_home_or_the_project) {
        static const struct {
                const char *text, *folder;
        } rows[] = {{"{\"chdir\": \"~/project/sub\"}", "@home/project/sub\n"},
                    {"{\"chdir\": \"~\"}", "@home\n"},
                    {"{\"chdir\": \"sub\"}", "@project/sub\n"}};
        const struct site *s = *state;
        _cleanup_free_ char *shown = path_of(s->home, "project");
        _cleanup_outcome_ struct outcome o = {0};

        run_outside(s, &o, "mkdir -p sub \"$HOME/project/sub\"");
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_free_ char *a = replaced(rows[i].folder, "@home", s->home),
                                    *folder = replaced(a, "@project", s->project);

                if (i == 0)
                        make_home_config(s, rows[i].text);
                else
                        make_home_config_again(s, rows[i].text);
                AT(s, &o, "--ro", shown, "--", "pwd");
                expect_out(&o, folder);
        }
}

TEST(the_users_file_is_found_and_no_config_does_without) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *other = path_of(s->root, "xdg");

        make_home_config(s, "{\"env\": {\"WHO\": \"home\"}}");
        AT(s, &o, "--", "sh", "-c", "echo $WHO");
        expect_status(&o, 0);
        expect_out(&o, "home\n");
        AT(s, &o, "--no-config", "--", "sh", "-c", "echo $WHO");
        expect_out(&o, "\n");

        make_folder(s->root, "xdg");
        make_folder(other, "nsrun");
        assert_int_equal(setenv("XDG_CONFIG_HOME", other, 1), 0);
        AT(s, &o, "--", "sh", "-c", "echo $WHO");
        expect_out(&o, "\n");
        write_config(s, other, "nsrun/config.json", "{\"env\": {\"WHO\": \"xdg\"}}");
        AT(s, &o, "--", "sh", "-c", "echo $WHO");
        expect_out(&o, "xdg\n");
        write_config(s, s->root, "c.json", "{\"env\": {\"WHO\": \"option\"}}");
        AT(s, &o, "--config", "../c.json", "--", "sh", "-c", "echo $WHO");
        expect_out(&o, "option\n");
        AT(s, &o, "--config", "../c.json", "--no-config", "--", "sh", "-c", "echo $WHO");
        expect_out(&o, "option\n");
        assert_int_equal(unsetenv("XDG_CONFIG_HOME"), 0);
}

static void stage_groups(void *data) {
        stage_enter();
        stage_bind(data, "/etc/group");
}

/* On a host that knows the user's own group with these members (for "others" it doesn't know the group) what
 * is asked is refused for `writers`, or, for "", not. */
static void expect_writers(const struct site *s, const char *const *argv, const char *members,
                           const char *writers, const char *what, const char *path) {
        _cleanup_free_ char *groups = path_of(s->root, "groups"),
                            *text = text_of("devs:x:%s%u:%s\n", *writers == 'o' ? "1" : "", getegid(),
                                            members),
                            *said = text_of("nsrun: %s may write to %s: %s; chmod go-w %s", writers, what,
                                            path, path);
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->root, "groups", text);
        run(&(struct request){.argv = argv, .cwd = s->project, .in_child = stage_groups, .data = groups},
            &o);
        if (*writers)
                expect_refusal(&o, 125, said);
        else
                expect_status(&o, 0);
}

/* umask 002, where each user has a group of one's own, leaves files that this group may write. */
TEST(a_group_of_the_user_alone_is_no_other) {
        static const char *const cases[][2] = {
                {"", ""}, {"root", ""}, {"somebody", "the group devs"}, {"", "others"}};
        const struct site *s = *state;
        _cleanup_free_ char *config = path_of(s->root, "c.json");
        const char *const run[] = {program(), "run", "--config", config, "--", "echo", "fine", NULL};
        const char *const list[] = {program(), "session", "list", NULL};

        write_config(s, s->root, "c.json", "{}");
        assert_int_equal(chmod(config, 0664), 0);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                expect_writers(s, run, cases[i][0], cases[i][1], "the configuration", config);
        assert_int_equal(chmod(s->runtime, 0770), 0);
        for (size_t i = 2; i < ARRAY_SIZE(cases); i++)
                expect_writers(s, list, cases[i][0], cases[i][1], "the folder of sessions", s->runtime);
}

/* Somebody meant one to be there: to run without would be to run with less than that. */
TEST(a_symlink_to_no_configuration_is_an_error) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *xdg = path_of(s->root, "xdg"), *folder = path_of(xdg, "nsrun"),
                            *away = path_of(s->root, "away");
        static const char line[] =
                "the configuration can't be opened: @root/xdg/nsrun/config.json: No such file "
                "or directory; a symlink there leads nowhere; --no-config does without";

        make_folder(s->root, "xdg");
        make_folder(xdg, "nsrun");
        make_link(folder, "config.json", "dotfiles/nsrun.json");
        assert_int_equal(setenv("XDG_CONFIG_HOME", xdg, 1), 0);
        AT(s, &o, "--", "true");
        expect_line(s, &o, line);
        AT(s, &o, "--no-config", "--", "true");
        expect_status(&o, 0);
        make_folder(folder, "dotfiles");
        write_config(s, folder, "dotfiles/nsrun.json", "{\"env\": {\"WHO\": \"dotfiles\"}}");
        AT(s, &o, "--", "sh", "-c", "echo $WHO");
        expect_out(&o, "dotfiles\n");
        assert_int_equal(rename(folder, away), 0);
        make_link(xdg, "nsrun", "nowhere");
        AT(s, &o, "--", "true");
        expect_line(s, &o, line);
        assert_int_equal(unsetenv("XDG_CONFIG_HOME"), 0);
}

/* As ProtectHome= of a service closes a home, and a slip of chmod. */
TEST_IF(geteuid() != 0, a_closed_folder_on_the_way_to_the_configuration_is_named, site_setup,
        site_teardown) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *xdg = path_of(s->root, "xdg");

        make_folder(s->root, "xdg");
        make_folder(xdg, "nsrun");
        write_config(s, xdg, "nsrun/config.json", "{\"env\": {\"WHO\": \"xdg\"}}");
        assert_int_equal(chmod(xdg, 0600), 0);
        assert_int_equal(setenv("XDG_CONFIG_HOME", xdg, 1), 0);
        AT(s, &o, "--", "true");
        expect_line(
                s, &o,
                "the configuration can't be opened: @root/xdg/nsrun/config.json: Permission denied; chmod u+x "
                "@root/xdg, which may not be entered; --no-config does without");
        assert_int_equal(chmod(xdg, 0700), 0);
        AT(s, &o, "--", "sh", "-c", "echo $WHO");
        expect_out(&o, "xdg\n");
        assert_int_equal(unsetenv("XDG_CONFIG_HOME"), 0);
}

static void stage_system_config(nsrun_unused void *data) {
        stage_enter();
        stage_tmpfs("/etc", 0);
        if (mkdir("/etc/nsrun", 0755) < 0)
                stage_fail("mkdir");
        stage_make_file("/etc/nsrun/config.json", "{\"env\": {\"WHO\": \"system\"}}");
}

TEST(the_systems_file_is_read_where_the_user_has_none) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        const char *const argv[] = {program(), "run", "--", "sh", "-c", "echo $WHO", NULL};
        struct request request = {.argv = argv, .cwd = s->project, .in_child = stage_system_config};

        run(&request, &o);
        expect_status(&o, 0);
        expect_out(&o, "system\n");
        make_home_config(s, "{}");
        outcome_clear(&o);
        run(&request, &o);
        expect_status(&o, 0);
        expect_out(&o, "\n");
}

TEST(the_command_line_goes_before_the_configuration) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *file = path_of(s->root, "c.json"), *shown = path_of(s->root, "shown");

        make_folder(s->root, "shown");
        make_file(shown, "f", "old\n");
        write_config(
                s, s->root, "c.json",
                "{\"readable\": [\"@root/shown\"], \"env\": {\"A\": \"c\", \"B\": \"c\"}, \"net\": \"none\"}");
        AT(s, &o, "--config", file, "--", "sh", "-c",
           "echo $A $B; (echo new >../shown/f) 2>/dev/null || cat ../shown/f; ls /sys/class 2>/dev/null");
        expect_status(&o, 2);
        expect_out(&o, "c c\nold\n");
        /* Wherever it stands. */
        AT(s, &o, "--env", "A=o", "--rw", shown, "--config", file, "--", "sh", "-c",
           "echo $A $B; echo new >../shown/f && cat ../shown/f");
        expect_status(&o, 0);
        expect_out(&o, "o c\nnew\n");
}

TEST(a_configuration_that_a_command_could_write_is_refused) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *good = path_of(s->root, "c.json"), *planted = path_of(s->project, "link");
        _cleanup_free_ char *inside = path_of(s->project, "c.json"), *dotfiles = path_of(s->root, "link");
        _cleanup_free_ char *kept = path_of(s->root, "kept");

        make_file(s->root, "c.json", "{\"env\": {\"A\": \"c\"}}");
        make_file(s->project, "c.json", "{}");
        make_link(s->project, "link", good);
        AT(s, &o, "--config", inside, "--", "true");
        expect_line(s, &o,
                    "the configuration lies in a writable folder, where a command could change it: "
                    "@project/c.json; keep it outside of what a command may write");
        AT(s, &o, "--config", "link", "--", "true");
        expect_line(
                s, &o,
                "the configuration goes through a symlink in a writable folder: @project/link; it leads to "
                "@root/c.json, and a command in the sandbox may have planted it: name the real path");
        AT(s, &o, "--config", planted, "--ro", s->project, "--", "true");
        expect_status(&o, 125);
        make_folder(s->root, "kept");
        make_file(kept, "c.json", "{}");
        AT(s, &o, "--config", "../kept/c.json", "--rw", kept, "--", "true");
        expect_line(s, &o,
                    "the configuration lies in a writable folder, where a command could change it: "
                    "@root/kept/c.json; keep it outside of what a command may write");
        AT(s, &o, "--config", "../kept/c.json", "--ro", kept, "--", "true");
        expect_status(&o, 0);
        /* A link that no command can have made is the user's. */
        make_link(s->root, "link", "c.json");
        AT(s, &o, "--config", dotfiles, "--", "sh", "-c", "echo $A");
        expect_status(&o, 0);
        expect_out(&o, "c\n");
}

TEST(no_command_writes_a_configuration_for_later_runs) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *config = path_of(s->home, ".config"), *own = path_of(config, "nsrun"),
                            *file = path_of(own, "config.json"), *mine = path_of(s->outside, "mine.json");
        _cleanup_free_ char *bind = text_of("%s:/x", s->home),
                            *kept = text_of("%s:/x/.config/nsrun:ro", own),
                            *elsewhere = path_of(s->root, "elsewhere.json");
        static const char hint[] =
                "; make the folder and keep it as it is: mkdir -p @root/home/.config/nsrun, and "
                "--ro for it; a config.json in it also takes --no-config, or a --config elsewhere";
        _cleanup_free_ char *home_line = text_of(
                "%s: @root/home%s", "--rw would let a command write the configuration of later runs", hint);
        _cleanup_free_ char *bind_line =
                text_of("%s: @root/home%s",
                        "--bind would let a command write the configuration of later runs", hint);
        static const char own_line[] =
                "--rw would let a command write the configuration of later runs: @root/home/.config/nsrun; "
                "name a folder that neither holds nor lies in @root/home/.config/nsrun";
        static const char tmp_line[] =
                "--tmp would let a command write the configuration of later runs: @root/home/.config; "
                "name a folder that neither holds nor lies in @root/home/.config/nsrun";
        _cleanup_free_ char *project_line =
                text_of("%s: @root/home/.config%s",
                        "--project would let a command write the configuration of later runs", hint);

        AT(s, &o, "--rw", s->home, "--", "true");
        expect_line(s, &o, home_line);
        make_home_config(s, "{}");
        AT(s, &o, "--rw", s->home, "--no-config", "--", "true");
        expect_line(s, &o, home_line);
        AT(s, &o, "--bind", bind, "--no-config", "--", "true");
        expect_line(s, &o, bind_line);
        AT(s, &o, "--rw", own, "--no-config", "--", "true");
        expect_line(s, &o, own_line);
        AT(s, &o, "--tmp", config, "--no-config", "--", "true");
        expect_line(s, &o, tmp_line);
        AT(s, &o, "--project", config, "--no-config", "--", "true");
        expect_line(s, &o, project_line);
        /* What the hint says of a config.json in it. */
        AT(s, &o, "--project", config, "--ro", own, "--", "true");
        expect_line(s, &o,
                    "the configuration lies in a writable folder, where a command could change it: "
                    "@root/home/.config/nsrun/config.json; keep it outside of what a command may write");
        make_file(s->root, "elsewhere.json", "{}");
        AT(s, &o, "--project", config, "--ro", own, "--config", elsewhere, "--", "true");
        expect_status(&o, 0);
        AT(s, &o, "--project", config, "--no-config", "--ro", own, "--", "sh", "-c",
           "echo w >nsrun/config.json; mv nsrun x || touch made");
        expect_status(&o, 0);
        expect_in(o.err, "nsrun/config.json: Read-only file system");
        AT(s, &o, "--bind", bind, "--bind", kept, "--no-config", "--", "touch", "/x/made");
        expect_status(&o, 0);
        AT(s, &o, "--overlay", config, "--", "true");
        expect_status(&o, 0);
        /* Of a link that leads to a file elsewhere that file is kept. */
        make_file(s->outside, "mine.json", "{}");
        assert_int_equal(unlink(file), 0);
        assert_int_equal(symlink(mine, file), 0);
        AT(s, &o, "--rw", s->outside, "--no-config", "--", "true");
        expect_line(
                s, &o,
                "--rw would let a command write the configuration of later runs: @root/outside; keep it as it "
                "is: --ro @root/outside/mine.json");
        AT(s, &o, "--rw", s->outside, "--no-config", "--ro", mine, "--", "true");
        expect_status(&o, 0);
}

TEST(what_a_configuration_asks_for_is_refused_where_it_stands) {
        static const struct {
                const char *text, *line;
        } cases[] = {
                {"{\n\"readable\": [\"/run/docker.sock\"]}", NULL},
                {"{\n\"readable\": [\"/\"]}",
                 "@root/c.json:2:14: readable would expose the whole file system: /; name the folders that the "
                 "command needs"},
                {"{\n\"writable\": [\"@project\", \"/usr\"]}", NULL},
                {"{\"readable\": [\"@root/missing\"]}",
                 "the source of @root/c.json:1:15: readable can't be opened: @root/missing: No such file or "
                 "directory; create it first, or take it out there"},
                {"{\"readable\": [\"@root/loop\"]}",
                 "the source of @root/c.json:1:15: readable can't be opened: @root/loop: Too many levels of "
                 "symbolic links"},
                {"{\"readable\": [\"@root/home\"],\n\"writable\": [\"@root/home\"]}",
                 "two rules for one target (@root/c.json:1:15: readable and @root/c.json:2:14: writable): "
                 "@root/home; keep one of them"},
                {"{\"net\": \"mine\"}",
                 "@root/c.json:1:9: --net: no such choice: mine; choose one of host|none|allow|ask"},
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *file = path_of(s->root, "c.json");

        make_link(s->root, "loop", "loop");
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                write_config(s, s->root, "c.json", cases[i].text);
                AT(s, &o, "--config", file, "--", "true");
                if (cases[i].line)
                        expect_line(s, &o, cases[i].line);
                else
                        expect_status(&o, 125);
        }
        write_config(s, s->root, "c.json", "{\n\"writable\": [\"@project\", \"/usr\"]}");
        AT(s, &o, "--config", file, "--", "true");
        expect_in(o.err, "/c.json:2:");
        expect_in(o.err, ": writable would make a system root writable: /usr; ");
        write_config(s, s->root, "c.json", "{\"readable\": [\"/run/docker.sock\"]}");
        AT(s, &o, "--config", file, "--", "true");
        if (access("/run/docker.sock", F_OK) == 0)
                expect_in(o.err, "/c.json:1:15: readable would expose a container engine's control socket");
        write_config(s, s->root, "c.json", "{\"readable\": [\"@root/home\"]}");
        AT(s, &o, "--config", file, "--", "true");
        expect_status(&o, 0);
}

TEST(help_comes_before_a_broken_configuration) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_home_config(s, "{\"nett\": 1}");
        AT(s, &o, "--", "true");
        expect_line(s, &o,
                    "@root/home/.config/nsrun/config.json:1:2: unknown key: nett; perhaps net; "
                    "nsrun.conf(5) has them all");
        AT(s, &o, "--status-fd", "1", "--", "true");
        expect_status(&o, 125);
        expect_in(o.out, "{\"event\":\"failed\",\"stage\":\"policy\",\"errno\":0,\"path\":\"nett\",");
        AT(s, &o, "--help");
        expect_status(&o, 0);
        AT(s, &o, "--no-config", "--", "true");
        expect_status(&o, 0);
        AT(s, &o, "--config=--", "--", "true");
        expect_line(s, &o, "the configuration can't be opened: --: No such file or directory");
}

TEST(limits_are_those_of_the_configuration) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *file = path_of(s->root, "c.json");

        make_file(s->root, "c.json", "{\"limits\": {\"nofile\": 77, \"core\": \"0\"}}");
        AT(s, &o, "--config", file, "--", "sh", "-c", "ulimit -n; ulimit -c");
        expect_status(&o, 0);
        expect_out(&o, "77\n0\n");
        AT(s, &o, "--limit", "nofile=78", "--config", file, "--", "sh", "-c", "ulimit -n; ulimit -c");
        expect_out(&o, "78\n0\n");
        make_file(s->root, "c.json", "{\"limits\": {\n\"colour\": 1}}");
        AT(s, &o, "--config", file, "--", "true");
        expect_status(&o, 125);
        expect_in(o.err, "/c.json:2:11: --limit: ");
}

/* One that is set up with it; its commands take little else, and none of it again. */
TEST(a_session_has_its_configuration_from_its_start) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        const char *start[] = {program(), "session", "start", "--name", "s1", "--profile=instance", NULL};
        const char *list[] = {program(), "session", "list", NULL};
        const char *stop[] = {program(), "session", "kill", "s1", NULL};
        _cleanup_free_ char *home = text_of("shown\n%s/.nsrun/runtime-user-env/home\n", s->home);

        make_home_config(
                s, "{\"readable\": [\"@root/shown\"], \"net\": \"none\", \"env\": {\"A\": \"shown\"}}");
        make_folder(s->root, "shown");
        run(&(struct request){.argv = start, .cwd = s->project}, &o);
        expect_status(&o, 0);
        AT(s, &o, "--session", "s1", "--", "sh", "-c", "ls -d ../shown >/dev/null && echo $A; echo $HOME");
        expect_status(&o, 0);
        expect_out(&o, home);
        AT(s, &o, "--session", "s1", "--net=none", "--", "true");
        expect_status(&o, 125);
        make_home_config_again(s, "{");
        outcome_clear(&o);
        run(&(struct request){.argv = list, .cwd = s->project}, &o);
        expect_status(&o, 0);
        outcome_clear(&o);
        run(&(struct request){.argv = stop, .cwd = s->project}, &o);
        expect_status(&o, 0);
        collect_orphans();
        outcome_clear(&o);
        run(&(struct request){.argv = start, .cwd = s->project}, &o);
        expect_line(s, &o, "@root/home/.config/nsrun/config.json:1:2: it ends too early: a } is missing");
}

TEST(an_agent_reads_what_is_wrong_with_a_configuration_as_json) {
        const struct site *s = *state;
        const char *const argv[] = {program(), "bash", "--json", "true", NULL};
        _cleanup_free_ char *line =
                text_of("{\"error\":\"%s/.config/nsrun/config.json:1:2: unknown key: nett; perhaps net; "
                        "nsrun.conf(5) has them all\",\"id\":\"other\"}\n",
                        s->home);
        _cleanup_outcome_ struct outcome o = {0};

        make_home_config(s, "{\"nett\": \"none\"}");
        run(&(struct request){.argv = argv, .cwd = s->project}, &o);
        expect_status(&o, 125);
        expect_out(&o, line);
        assert_string_equal(o.err, "");
        make_home_config_again(s, "{\"net\": \"none\"}");
        outcome_clear(&o);
        run(&(struct request){.argv = argv, .cwd = s->project}, &o);
        expect_status(&o, 0);
        expect_in(o.out, "{\"status\":0,");
}

/* `nsrun run ARGUMENT…` in a folder that no command has written to. */
static void run_elsewhere(const struct site *s, struct outcome *ret, const char *const *arguments) {
        _cleanup_free_ char *other = path_of(s->root, "other");
        _cleanup_free_ const char **words = words_of(OPTIONS("run"), arguments);

        (void)mkdir(other, 0755);
        run_words(other, ret, words);
}
#define ELSEWHERE(site, outcome, ...) run_elsewhere(site, outcome, OPTIONS(__VA_ARGS__))

/* The usual configuration counts as little, where a link leads to what a command wrote. */
TEST(the_users_configuration_is_none_of_an_earlier_runs) {
        static const char *const links[] = {
                "mkdir -p .config; ln -s ../../project/nsrun .config/nsrun",
                "mkdir -p .config/nsrun; ln -s ../../../project/nsrun/config.json .config/nsrun/config.json"};
        const struct site *s = *state;
        _cleanup_free_ char *key = path_of(s->outside, "key"),
                            *line = text_of(
                                    "nsrun: the configuration lies in a folder that an earlier run could "
                                    "write, where a command could change it: %s/nsrun/config.json; keep "
                                    "it outside of what a command may write",
                                    s->project),
                            *script = text_of(
                                    "mkdir nsrun; echo '{\"readable\": [\"%s\"]}' >nsrun/config.json",
                                    s->outside);
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->outside, "key", "key\n");
        run_inside(s, &o, script);
        expect_status(&o, 0);
        for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
                _cleanup_free_ char *make = text_of("cd ../home && rm -rf .config; %s", links[i]);

                run_outside(s, &o, make);
                expect_status(&o, 0);
                ELSEWHERE(s, &o, "--", "cat", key);
                expect_refusal(&o, 125, line);
                ELSEWHERE(s, &o, "--config", "../project/nsrun/config.json", "--", "cat", key);
                expect_refusal(&o, 125, line);
        }
        run_outside(
                s, &o,
                "cd ../home && rm -rf .config && mkdir -p .config/nsrun && cp ../project/nsrun/config.json .config/nsrun/");
        ELSEWHERE(s, &o, "--", "cat", key);
        expect_out(&o, "key\n");
}

/* Nor is one file that is a link to another folder a command's to write, as long as it is the user's. */
TEST(what_the_users_configuration_leads_to_is_not_writable) {
        const struct site *s = *state;
        _cleanup_free_ char *file = path_of(s->outside, "c.json"), *bind = text_of("%s:/c.json", file),
                            *to = text_of("%s:/c.json:ro", file);
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->outside, "c.json", "{}");
        run_outside(
                s, &o,
                "mkdir -p ../home/.config/nsrun; ln -s ../../../outside/c.json ../home/.config/nsrun/config.json");
        expect_status(&o, 0);
        AT(s, &o, "--no-config", "--rw", file, "--", "true");
        expect_line(
                s, &o,
                "--rw would let a command write the configuration of later runs: @root/outside/c.json; name a "
                "folder that neither holds nor lies in @root/outside/c.json");
        AT(s, &o, "--no-config", "--bind", bind, "--", "true");
        expect_status(&o, 125);
        AT(s, &o, "--no-config", "--rw", s->outside, "--", "true");
        expect_status(&o, 125);
        expect_in(o.err, "--rw would let a command write the configuration of later runs");
        AT(s, &o, "--no-config", "--bind", to, "--", "cat", "/c.json");
        expect_out(&o, "{}");
}

int main(void) {
        return run_all_tests();
}

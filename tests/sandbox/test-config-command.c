/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parts of a configuration that hold for some runs alone, and `nsrun config`, by the real program. */
#include "harness.h"

/* Runs SCRIPT in the project: $0 is nsrun, and the configuration "c.json" is the site's, in whose text "@"
 * is its root. */
static void try(const struct site *s, struct outcome *ret, const char *config, const char *script) {
        _cleanup_free_ char *text = config ? replaced(config, "@", s->root) : NULL,
                            *line = text_of("NSRUN_CONFIG=%s/c.json; nsrun() { \"$0\" \"$@\"; }; %s",
                                            s->root, script);
        const char *const argv[] = {"sh", "-c", line, program(), NULL};

        if (text)
                make_file(s->root, "c.json", text);
        outcome_clear(ret);
        run(&(struct request){.argv = argv, .cwd = s->project}, ret);
}

static void expect_try(const struct site *s, const char *config, const char *script, const char *out,
                       const char *err) {
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *full_out = replaced(out, "@", s->root), *full_err = replaced(err, "@", s->root);

        try(s, &o, config, script);
        expect_out(&o, full_out);
        assert_string_equal(o.err, full_err);
}

static const char parts[] =
        "{\"env\": {\"WHO\": \"file\", \"A\": \"file\"}, \"profile\": \"usual\",\n"
        " \"profiles\": {\n"
        "  \"usual\": {\"env\": {\"WHO\": \"usual\"}},\n"
        "  \"wide\": {\"inherits\": \"usual\", \"env\": {\"B\": \"wide\"}, \"writable\": [\"@/outside\"]},\n"
        "  \"both\": {\"inherits\": [\"wide\"], \"env\": {\"B\": \"both\"}}},\n"
        " \"projects\": {\n"
        "  \"@/project\": {\"env\": {\"WHO\": \"project\"}, \"readable\": [\"@/outside\"]},\n"
        "  \"@\": {\"profile\": \"wide\", \"env\": {\"WHO\": \"above\", \"C\": \"above\"}},\n"
        "  \"@/projec\": {\"env\": {\"WHO\": \"never\"}}}}";

#define SAY "-- sh -c 'echo $WHO,$A,$B,$C'"

TEST(a_project_has_its_sections_and_a_narrower_one_wins) {
        const struct site *s = *state;

        expect_try(s, parts,
                   "nsrun run --config $NSRUN_CONFIG " SAY "; cd / && nsrun run --config $NSRUN_CONFIG "
                   "--no-project " SAY
                   "; nsrun run --config $NSRUN_CONFIG --project $OLDPWD/../outside " SAY,
                   "project,file,wide,above\nusual,file,,\nabove,file,wide,above\n", "");
        /* Below a project's top, too: a command that makes a repository there changes nothing. */
        expect_try(s, NULL,
                   "mkdir -p deep/.git && cd deep && nsrun run --config $NSRUN_CONFIG --project . " SAY,
                   "project,file,wide,above\n", "");
}

/* Both say what is to become of one folder; the project's own section is the narrower wish. */
TEST(of_two_parts_with_one_target_the_later_holds) {
        const struct site *s = *state;

        expect_try(
                s, parts,
                "nsrun run --config $NSRUN_CONFIG -- sh -c '! touch \"$1/x\" 2>/dev/null && echo read-only' sh "
                "\"$PWD/../outside\"; nsrun run --config $NSRUN_CONFIG --profile wide -- touch ../outside/x; "
                "ls ../outside",
                "read-only\nx\n", "");
}

TEST(a_profile_is_chosen_by_its_name) {
        const struct site *s = *state;

        expect_try(s, parts,
                   "nsrun run --profile both --config $NSRUN_CONFIG " SAY
                   "; nsrun run --config $NSRUN_CONFIG "
                   "--profile both --env B=option " SAY,
                   "usual,file,both,above\nusual,file,option,above\n", "");
        expect_try(
                s, NULL,
                "nsrun run --config $NSRUN_CONFIG --profile none -- true; echo $?; nsrun run --profile none -- "
                "true; echo $?; nsrun run --no-config --profile none -- true; echo $?",
                "125\n125\n125\n",
                "nsrun: @/c.json has no such profile: none; --profile takes code, instance, or a name in its "
                "\"profiles\"\n"
                "nsrun: no configuration has such a profile: none; --profile takes code, instance, or a name in "
                "a configuration's \"profiles\"\n"
                "nsrun: no configuration has such a profile: none; --profile takes code, instance, or a name in "
                "a configuration's \"profiles\"\n");
}

TEST(an_agents_commands_have_a_profile_of_their_own) {
        static const char config[] =
                "{\"profile\": \"person\", \"agent_profile\": [\"agent\"], \"profiles\": {"
                "\"person\": {\"env\": {\"WHO\": \"person\"}},"
                "\"agent\": {\"env\": {\"WHO\": \"agent\"}}}}";
        static const char script[] =
                "for profile in '' --profile=person; do "
                "nsrun run --config $NSRUN_CONFIG $profile -- sh -c 'echo is $WHO'; "
                "nsrun bash --config $NSRUN_CONFIG $profile 'echo is $WHO' | grep '^is '; "
                "done";
        const struct site *s = *state;

        expect_try(s, config, script, "is person\nis agent\nis person\nis person\n", "");
        expect_try(s, "{\"agent_profile\": \"none\"}", "nsrun run --config $NSRUN_CONFIG -- echo ran",
                   "ran\n", "");
        expect_try(s, NULL, "nsrun bash --config $NSRUN_CONFIG 'echo ran'", "",
                   "nsrun: @/c.json:1:19: no such profile: none; it must be one of \"profiles\"\n");
        expect_try(s, NULL, "nsrun config check $NSRUN_CONFIG; echo $?", "125\n",
                   "nsrun: @/c.json:1:19: no such profile: none; it must be one of \"profiles\"\n");
}

TEST(profiles_that_make_no_sense_are_refused) {
        const struct site *s = *state;

        expect_try(
                s,
                "{\"profile\": \"a\", \"profiles\": {\"a\": {\"inherits\": \"b\"}, \"b\": {\"inherits\": \"a\"}}}",
                "nsrun run --config $NSRUN_CONFIG -- true; echo $?", "125\n",
                "nsrun: @/c.json:1:73: profiles inherit from one another too often: a; is there a circle?\n");
        expect_try(
                s, "{\"profiles\": {\"a\": {\"inherits\": \"b\"}}}",
                "nsrun run --config $NSRUN_CONFIG --profile a -- true; echo $?; nsrun run --config $NSRUN_CONFIG "
                "-- echo fine",
                "125\nfine\n", "nsrun: @/c.json:1:33: no such profile: b; it must be one of \"profiles\"\n");
        expect_try(
                s, "{\"projects\": {\"@\":\n{\"isolation\": {}}}}",
                "nsrun run --config $NSRUN_CONFIG -- true; echo $?", "125\n",
                "nsrun: @/c.json:2:2: a key of the whole file alone: isolation; no profile and no project has "
                "it\n");
        expect_try(
                s, "{\"profiles\": {\"a\": {\"profile\": \"b\"}}}", "nsrun config check $NSRUN_CONFIG", "",
                "nsrun: @/c.json:1:21: no key of a profile: profile; \"inherits\" names other profiles there\n");
        expect_try(
                s, "{\"projects\": {\"@\":\n{\"inherits\": \"b\"}}}",
                "nsrun run --config $NSRUN_CONFIG -- true", "",
                "nsrun: @/c.json:2:2: a key of profiles alone: inherits; elsewhere \"profile\" names them\n");
        expect_try(s, "{\"projects\": {\"src\": {}}}", "nsrun run --config $NSRUN_CONFIG -- true; echo $?",
                   "125\n", "nsrun: @/c.json:1:22: not an absolute path: src; begin it with / or with ~/\n");
}

/* A folder that a command can swap for a link has no section of another's. */
TEST(no_section_is_lent_by_a_symlink) {
        const struct site *s = *state;

        make_link(s->root, "lent", s->project);
        expect_try(s, "{\"projects\": {\"@/lent\": {\"env\": {\"WHO\": \"lent\"}}}}",
                   "nsrun run --config $NSRUN_CONFIG " SAY, ",,,\n", "");
        expect_try(s, "{\"projects\": {\"~/p\": {\"env\": {\"WHO\": \"home\"}}}}",
                   "mkdir ../real ../real/p && ln -s real ../linked && cd ../linked/p && "
                   "HOME=$PWD/.. nsrun run --project . --config $NSRUN_CONFIG " SAY,
                   "home,,,\n", "");
}

TEST(a_path_may_be_the_projects_and_may_be_missing) {
        static const char config[] =
                "{\"readable\": [\"./kept\", {\"path\": \"~/none\", \"optional\": true},"
                "{\"path\": \"./none\", \"optional\": true}, {\"path\": \"@/outside\", \"optional\": true}]}";
        const struct site *s = *state;

        make_folder(s->project, "kept");
        expect_try(
                s, config,
                "nsrun run --config $NSRUN_CONFIG -- sh -c 'touch here; touch kept/x 2>/dev/null || echo kept; ls "
                "-d \"$1\"' sh \"$PWD/../outside\" | sed 's|.*/||'; ls",
                "kept\noutside\nhere\nkept\n", "");
        expect_try(
                s, NULL, "cd / && nsrun run --no-project --config $NSRUN_CONFIG -- true; echo $?", "125\n",
                "nsrun: there is no project for what is relative to it (@/c.json:1:15: readable): kept; make it "
                "{\"path\": ..., \"optional\": true}\n");
        expect_try(s, "{\"readable\": [\"@/none\"]}", "nsrun run --config $NSRUN_CONFIG -- true; echo $?",
                   "125\n",
                   "nsrun: the source of @/c.json:1:15: readable can't be opened: @/none: No such file or "
                   "directory; create it first, or take it out there\n");
}

/* What is relative to the project is still a path that a command may have planted a link in. */
TEST(a_planted_link_in_the_project_is_not_followed) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_link(s->project, "kept", s->outside);
        try(s, &o, "{\"readable\": [\"./kept\"]}", "nsrun run --config $NSRUN_CONFIG -- true");
        expect_status(&o, 125);
        assert_non_null(strstr(o.err, "symlink"));
}

TEST(each_option_is_a_key) {
        const struct site *s = *state;

        expect_try(
                s,
                "{\"bind\": [\"@/outside:/mnt/bound:ro\"], \"symlink\": [\"/mnt/bound:/mnt/link\"], \"tmpfs\": "
                "[\"/mnt/empty:1M\"], \"tmpfs_size\": 4194304, \"hostname\": \"named\", \"uid\": 77, \"gid\": \"78\","
                " \"landlock\": \"off\", \"clean_env\": true, \"new_session\": false, \"chdir\": \"deep\"}",
                "mkdir -p deep; touch ../outside/x; SECRETLESS=1 nsrun run --config $NSRUN_CONFIG -- sh -c 'ls "
                "/mnt/link; ls /mnt/empty; hostname; id -u; id -g; echo ${SECRETLESS-unset}; basename $PWD; touch "
                "/mnt/bound/y 2>/dev/null || echo read-only'",
                "x\nnamed\n77\n78\nunset\ndeep\nread-only\n", "");
        expect_try(s, "{\"uid\": true}", "nsrun run --config $NSRUN_CONFIG -- true; echo $?", "125\n",
                   "nsrun: @/c.json:1:9: a whole number or a string is expected here: uid\n");
        expect_try(s, "{\"clean_env\": \"yes\"}", "nsrun run --config $NSRUN_CONFIG -- true; echo $?",
                   "125\n", "nsrun: @/c.json:1:15: true or false is expected here: clean_env\n");
}

/* ---------------------------------------------------------------- nsrun config */

TEST(show_says_who_said_what) {
        const struct site *s = *state;

        expect_try(
                s,
                "{\"net\": \"none\", \"seccomp\": \"strict\",\n \"env\": {\"A\": \"1\", \"B\": \"2\"}, \"hide\": [\".env\"],\n"
                " \"readable\": [\"./x\"]}",
                "nsrun config show --config $NSRUN_CONFIG --net=allow --allow example.org --unsetenv B "
                "--env A=3 | tr -s ' '",
                "seccomp strict @/c.json:1:28\n"
                "hide .env @/c.json:2:40\n"
                "readable ./x @/c.json:3:15\n"
                "config @/c.json --config\n"
                "net allow --net\n"
                "allow example.org --allow\n"
                "unsetenv B --unsetenv\n"
                "env A=3 --env\n"
                "profile code default\n"
                "landlock auto default\n"
                "overlay-backing auto default\n"
                "tmpfs-size 2G default\n",
                "");
        expect_try(s, "{\"net\": \"none\"}",
                   "nsrun config show --json --config $NSRUN_CONFIG | tr -d ' \\n' | cut -d, -f1-3",
                   "{\"version\":1,\"settings\":[{\"name\":\"net\",\"value\":\"none\"\n", "");
}

/* The defaults that are shown hold: what they say, said, gives the same plan. */
TEST(the_defaults_that_are_shown_are_those_of_a_plan) {
        const struct site *s = *state;

        expect_try(s, NULL,
                   "nsrun plan -- true >../silent; nsrun plan $(nsrun config show --no-config | "
                   "sed -n 's/^\\([a-z-]*\\)  *\\([^ ]*\\)  *default$/--\\1=\\2/p') -- true >../said; "
                   "nsrun config show | grep -c default; cmp ../silent ../said && echo same",
                   "6\nsame\n", "");
}

TEST(check_finds_mistakes_in_parts_that_this_run_does_not_need) {
        const struct site *s = *state;

        expect_try(s, parts, "nsrun config check $NSRUN_CONFIG; echo $?", "@/c.json: no mistake in it\n0\n",
                   "");
        expect_try(s, "{\"allow\": [\"example.org\"]}", "nsrun config check $NSRUN_CONFIG; echo $?",
                   "@/c.json: no mistake in it\n@/c.json: what it says of hosts counts in runs with "
                   "--net=allow or ask alone, or with \"net\": \"allow\" in it\n0\n",
                   "");
        expect_try(s, "{\"net\": \"allow\", \"allow\": [\"example.org\"]}",
                   "nsrun config check $NSRUN_CONFIG; echo $?", "@/c.json: no mistake in it\n0\n", "");
        expect_try(
                s, "{\"profiles\": {\"a\": {\"nett\": \"none\"}}}",
                "nsrun run --config $NSRUN_CONFIG -- echo runs; nsrun config check $NSRUN_CONFIG; echo $?",
                "runs\n125\n",
                "nsrun: @/c.json:1:21: unknown key: nett; perhaps net; nsrun.conf(5) has them all\n");
        expect_try(s, "{\"projects\": {\"/never\": {\"net\": \"nun\"}}}",
                   "nsrun config check $NSRUN_CONFIG; echo $?", "125\n",
                   "nsrun: @/c.json:1:33: --net: no such choice: nun; choose one of host|none|allow|ask\n");
        expect_try(s, "{\"readable\": [\"/never\"]}", "nsrun config check $NSRUN_CONFIG; echo $?", "125\n",
                   "nsrun: the source of @/c.json:1:15: readable can't be opened: /never: No such file or "
                   "directory; create it first, or take it out there\n");
        expect_try(
                s, NULL, "HOME=/never XDG_CONFIG_HOME= nsrun config check; echo $?",
                "no configuration: neither /never/.config/nsrun/config.json nor /etc/nsrun/config.json is "
                "there\n0\n",
                "");
}

TEST(an_editor_changes_a_copy_that_is_checked_first) {
        const struct site *s = *state;

        expect_try(
                s, NULL,
                "export HOME=$PWD/../fresh; VISUAL='sed -i s/1$/1,\\\"net\\\":\\\"none\\\"/' nsrun config edit; "
                "ls -A $HOME/.config/nsrun; stat -c %a $HOME/.config/nsrun/config.json; "
                "nsrun config show | grep -c '^net *none'; VISUAL=true nsrun config edit",
                "@/fresh/.config/nsrun/config.json: saved, no mistake in it\nconfig.json\n600\n1\n"
                "@/fresh/.config/nsrun/config.json: not changed\n",
                "");
        expect_try(
                s, "{\"net\": \"none\"}",
                "ln -s c.json ../linked; EDITOR='sed -i s/none/host/' nsrun config edit ../linked; cat ../c.json; "
                "ls -A .. | grep edited; readlink ../linked",
                "@/c.json: saved, no mistake in it\n{\"net\": \"host\"}c.json\n", "");
        expect_try(
                s, "{\"net\": \"none\"}",
                "EDITOR='sed -i s/none/nun/' setsid \"$0\" config edit ../c.json 2>&1 | sed 's/edited-......json/E/; "
                "s/edited-[^.]*/E/'; cat ../c.json; ls -A .. | grep edited",
                "nsrun: @/E.json:1:9: --net: no such choice: nun; choose one of host|none|allow|ask\n{\"net\": \"none\"}",
                "");
        expect_try(
                s, NULL,
                "EDITOR=false nsrun config edit ../c.json; echo $?; EDITOR=/never nsrun config edit ../c.json "
                "2>/dev/null; echo $?",
                "125\n125\n",
                "nsrun: the editor failed: nothing is changed: false; VISUAL and EDITOR name another one\n");
        expect_try(
                s, NULL,
                "EDITOR='echo {} >../c.json; sed -i s/none/host/' nsrun config edit ../c.json 2>&1 | "
                "sed 's/edited-[^.]*/E/'; cat ../c.json; ls -A .. | grep -c edited",
                "nsrun: the configuration was changed meanwhile: @/E.json; your edition is kept there\n{}\n1\n",
                "");
}

TEST(the_schema_has_every_key_and_is_json) {
        const struct site *s = *state;

        expect_try(
                s, NULL,
                "nsrun config schema >../schema && python3 - ../schema <<'END'\n"
                "import json, sys\n"
                "d = json.load(open(sys.argv[1]))\n"
                "print(d['properties']['proc']['enum'], d['properties']['temp'].get('enum'))\n"
                "print(sorted(set(d['properties']) - set(d['$defs']['profile']['properties'])))\n"
                "print(sorted(set(d['$defs']['profile']['properties']) - set(d['properties'])))\n"
                "print(all(p['description'] for p in d['properties'].values()))\n"
                "END",
                "['auto', 'new', 'subset', 'bind', 'none'] None\n"
                "['$schema', 'agent_profile', 'agents', 'isolation', 'profile', 'profiles', 'project', 'projects', 'version']\n"
                "['inherits']\nTrue\n",
                "");
}

TEST(what_config_can_not_do_is_said) {
        static const struct {
                const char *arguments, *line;
        } lines[] = {
                {"", "say what: show, check, edit, schema or proposal; see 'nsrun config --help'"},
                {"print", "no such action: print; see 'nsrun config --help'"},
                {"show x", "no argument is expected: x; see 'nsrun config --help'"},
                {"check a b", "no argument is expected: b; see 'nsrun config --help'"},
                {"schema x", "no argument is expected: x; see 'nsrun config --help'"},
                {"check --json", "'nsrun config show' alone prints JSON: --json; see 'nsrun config --help'"},
                {"edit --net none", "no option is expected: net; see 'nsrun config --help'"},
                {"check none", "the configuration can't be opened: none: No such file or directory"},
        };
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
                _cleanup_free_ char *script = text_of("nsrun config %s; echo $?", lines[i].arguments),
                                    *line = text_of("nsrun: %s\n", lines[i].line);

                expect_try(s, NULL, script, "125\n", line);
        }
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* HOME behind a symlink is the same home, wherever it is compared; and what the user's own configuration of
 * git names is protected, however it is spelled and whatever stands beside it. */
#include "harness.h"
#include "stage.h"

/* `nsrun ARGUMENT…` in the folder `cwd`, where HOME is root/link, which leads to the home. */
static void nsrun_in(const struct site *s, const char *cwd, struct outcome *ret,
                     const char *const *arguments) {
        _cleanup_free_ char *link = path_of(s->root, "link");

        assert_int_equal(setenv("HOME", link, 1), 0);
        run_words(cwd, ret, arguments);
        assert_int_equal(setenv("HOME", s->home, 1), 0);
}
#define LINKED(site, cwd, outcome, ...) nsrun_in(site, cwd, outcome, OPTIONS(__VA_ARGS__))

static void make_homes(const struct site *s) {
        static const char *const folders[] = {"project", "private", ".config", ".config/foo",
                                              ".config/gcloud"};

        make_link(s->root, "link", "home");
        for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
                make_folder(s->home, folders[i]);
        make_file(s->home, "private/file", "private\n");
        make_file(s->home, ".config/foo/token", "token\n");
        make_file(s->home, ".config/gcloud/key", "key\n");
}

TEST(a_home_behind_a_link_is_the_same_home) {
        const struct site *s = *state;
        _cleanup_free_ char *project = path_of(s->home, "project"), *link = path_of(s->root, "link"),
                            *file = path_of(link, "private/file"), *real = path_of(s->home, "private/file"),
                            *homes = text_of("%s\n%s\n", link, s->home),
                            *given = path_of(s->outside, "given"),
                            *instance = path_of(s->outside, "instance"),
                            *missing = path_of(s->home, ".config/foo/missing");
        _cleanup_outcome_ struct outcome o = {0};

        make_homes(s);
        LINKED(s, project, &o, "run", "--", "sh", "-c",
               "echo $HOME; cd; pwd -P; echo >~/project/made; cat private/file");
        expect_out(&o, homes);
        expect_status(&o, 1);
        LINKED(s, project, &o, "run", "--ro", file, "--", "cat", file, real);
        expect_out(&o, "private\nprivate\n");
        /* A variable of a tool's shows no home. */
        assert_int_equal(setenv("GOMODCACHE", link, 1), 0);
        LINKED(s, project, &o, "run", "--", "cat", file, real);
        assert_int_equal(unsetenv("GOMODCACHE"), 0);
        expect_out(&o, "");
        /* Nor does learning show its secrets, by either name. */
        LINKED(s, project, &o, "learn", "--project=.", "-o", given, "--", "sh", "-c",
               "cat ~/private/file ~/.config/gcloud/key");
        expect_out(&o, "private\n");
        assert_null(strstr(o.err, "gcloud/key\n"));
        /* A missing file that an instance's command line names asks for no hidden folder. */
        LINKED(s, project, &o, "run", "--profile=instance", "--instance", instance, "--", "sh", "-c",
               "cat \"$(dirname \"$1\")/token\"", "sh", missing);
        expect_out(&o, "");
}

/* What is in the user's configuration (@ is the home), or a key that variables have, or a variable; where
 * the command stands, and what it may not write.
 */
static const struct {
        const char *text, *project, *target;
} orders[] = {
        {"[core]\nhooksPath = ~/project/hooks\n", "project", "hooks/pre-commit"},
        {"[core]\nhooksPath = @/../link/project/hooks\n", "project", "hooks/pre-commit"},
        {"[include]\npath = project/extra\n", "project", "extra"},
        {"[includeIf \"gitdir:/never/\"]\npath = ~/project/extra\n", "project", "extra"},
        {"[include]\npath = ~/project/long\n[core]\nhooksPath = ~/project/hooks\n", "project",
         "hooks/pre-commit"},
        {"[include]\npath = ~/project/bad\n[core]\nhooksPath = ~/project/hooks\n", "project",
         "hooks/pre-commit"},
        {"[core]\nhooksPath = ~/tools/hooks\n", "tools", "hooks/pre-commit"},
        {"Core.hooksPath", "project", "hooks/pre-commit"},
        {"Core.fsmonitor", "project", "hooks/pre-commit"},
        {"Include.Path", "project", "extra"},
        {"includeIf.gitdir:/Never/.path", "project", "extra"},
        {"GIT_CONFIG_GLOBAL", "project", "extra"},
        {"GIT_CONFIG_SYSTEM", "project", "extra"},
};

TEST(what_the_users_configuration_of_git_names_is_protected) {
        const struct site *s = *state;
        _cleanup_free_ char *long_text = malloc(1200000);
        static const char *const folders[] = {"project/hooks", "project/.git", "tools", "tools/hooks"};

        make_homes(s);
        for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
                make_folder(s->home, folders[i]);
        make_file(s->home, "project/.git/HEAD", "ref: refs/heads/main\n");
        assert_non_null(long_text);
        memset(long_text, '#', 1199999);
        long_text[1199999] = '\0';
        make_file(s->home, "project/long", long_text);
        make_file(s->home, "project/bad", "[core\n");
        make_file(s->home, "project/extra", "");
        for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
                bool is_file = *orders[i].text == '[';
                const char *variable =
                        is_file || strchr(orders[i].text, '.') ? "GIT_CONFIG_COUNT" : orders[i].text;
                _cleanup_free_ char *text = replaced(is_file ? orders[i].text : "", "@", s->home),
                                    *cwd = path_of(s->home, orders[i].project),
                                    *target = path_of(cwd, orders[i].target), *kept = NULL, *other = NULL;
                _cleanup_outcome_ struct outcome o = {0};

                make_file(s->home, ".gitconfig", text);
                if (!is_file) {
                        assert_int_equal(setenv(variable, strchr(orders[i].text, '.') ? "1" : target, 1), 0);
                        assert_int_equal(setenv("GIT_CONFIG_KEY_0", orders[i].text, 1), 0);
                        assert_int_equal(setenv("GIT_CONFIG_VALUE_0", target, 1), 0);
                }
                LINKED(s, cwd, &o, "run", "--project", ".", "--", "sh", "-c", "echo >other; echo >\"$0\"",
                       target);
                /* A file is read-only, a folder the command's own. */
                kept = file_text(target);
                if (kept && *kept)
                        fail_msg("%s: %s", orders[i].text, kept);
                other = path_of(cwd, "other");
                assert_int_equal(unlink(other), 0);
                assert_int_equal(unsetenv(variable), 0);
        }
}

static void stage_passwd(void *data) {
        stage_enter();
        stage_bind(data, "/etc/passwd");
}

/* What lies in another writable folder ($O, me's home) than the repository. */
static const struct {
        const char *before, *option, *target; /* on the host, in the project; below $O */
} elsewhere[] = {
        {"git config --global core.hooksPath $O/hooks", "--project=.", "hooks/x"},
        {"git config --global core.hooksPath $O/hooks", "--no-project", "hooks/x"},
        {"git config core.hooksPath $O/hooks; mkdir -p $O/hooks s; >s/x; ln -s $PWD/s/x $O/hooks",
         "--project=.", "hooks/x"},
        {"git config core.hooksPath $O/hooks; mkdir $O/hooks", "--project=.", "hooks/x"},
        {"git config core.hooksPath '~me/hooks'", "--project=.", "hooks/x"},
        {"git config --global include.path '~me/inc'", "--project=.", "inc"},
        {"git config include.path $O/inc; git config -f $O/inc core.hooksPath $O/hooks", "--project=.",
         "hooks/x"},
        {"git config --global includeIf.gitdir:/no/.path $O/inc; git config -f $O/inc core.hooksPath $O/hooks",
         "--project=.", "hooks/x"},
        {"git config include.path $O/../home/inc; git config --global include.path inc; git config -f ~/inc core.hooksPath $O/hooks",
         "--project=.", "hooks/x"},
        {"git config alias.a '!$O/bin/x'; git config alias.a \"!$O/bin/x\"", "--project=.", "bin/x"},
        {"rm -r .git/hooks; ln -s $O/hooks .git; mkdir $O/hooks", "--project=.", "hooks/x"},
        {"mkdir $O/husky; ln -s $O/husky .husky", "--project=.", "husky/x"},
        {"git config core.hooksPath $O/hooks", "--overlay=.", "hooks/x"},
        {"git init -q ../m; git -C ../m config include.path ../inc; git config -f ../m/inc core.hooksPath $O/hooks; "
         "git -C ../m commit -q --allow-empty -m m; rm -rf .git; git -C ../m worktree add -qf ../project",
         "--project=.", "hooks/x"},
        {"mkdir $O/t; git config --global init.templateDir $O/t", "--project=.", "t/hooks/x"},
        {"mkdir $O/t; git config init.templateDir $O/t", "--project=.", "t/hooks/x"},
        {"git config --global core.attributesFile $O/a", "--project=.", "a"},
        {"git config core.fsmonitor \"sh $O/late\"", "--project=.", "late"},
        {"git config core.fsmonitor \"\\$HOME/../${O##*/}/fs\"", "--project=.", "fs"},
        {"git config --global alias.a \"!\\\"\\${HOME}/../${O##*/}/bin/x\\\" y\"", "--project=.", "bin/x"},
        {"for i in $(seq 70); do printf '[alias]\\na%s=!/no/%s\\n' $i $i; done >>~/.gitconfig; "
         "git config --global core.fsmonitor $O/fs",
         "--project=.", "fs"},
        {"for i in $(seq 70); do printf '[include]\\npath=/no/%s\\n' $i; done >>~/.gitconfig; "
         "git config --global --add include.path $O/inc",
         "--project=.", "inc"},
};

TEST(what_configuration_names_in_another_writable_folder_is_protected) {
        const struct site *s = *state;
        _cleanup_free_ char *passwd = path_of(s->root, "passwd"), *free_file = path_of(s->outside, "free"),
                            *text = text_of("me:x:%u:%u::%s:/bin/sh\n", geteuid(), getegid(), s->outside);

        if (!has_program("git"))
                skip_because("skipped: git is not installed");
        make_file(s->root, "passwd", text);
        assert_int_equal(setenv("O", s->outside, 1), 0);
        for (size_t i = 0; i < ARRAY_SIZE(elsewhere); i++) {
                _cleanup_free_ char *
                        before = text_of(
                               "rm -rf .git .husky s $O/* ../m ../inc ~/.gitconfig; git init -q .; git config --global user.name J; git config --global user.email j@example.org\n%s",
                               elsewhere[i].before),
                       *target = path_of(s->outside, elsewhere[i].target), *kept = NULL;
                const char *const argv[] = {program(),
                                            "run",
                                            "--rw",
                                            s->outside,
                                            elsewhere[i].option,
                                            "--",
                                            "sh",
                                            "-c",
                                            "mkdir -p \"${1%/*}\"; echo evil >\"$1\"; echo >\"$2\"",
                                            "sh",
                                            target,
                                            free_file,
                                            NULL};
                _cleanup_outcome_ struct outcome o = {0};

                run_outside(s, &o, before);
                assert_string_equal(o.err, "");
                outcome_clear(&o);
                run(
                        &(struct request){
                                .argv = argv, .cwd = s->project, .in_child = stage_passwd, .data = passwd},
                        &o);
                kept = access(target, F_OK) == 0 ? file_text(target) : NULL;
                if (kept && strstr(kept, "evil"))
                        fail_msg("%s: %s", elsewhere[i].before, o.err);
                if (unlink(free_file) < 0)
                        fail_msg("%s: %s", elsewhere[i].before, o.err);
        }
        assert_int_equal(unsetenv("O"), 0);
}

TEST(configuration_that_names_too_much_is_refused) {
        static const char *const makes[] = {
                "for i in $(seq $n); do printf '[alias]\\na%s=!/no/%s\\n' $i $i; done >~/.gitconfig",
                "for i in $(seq $n); do printf '[include]\\npath=/no/%s\\n' $i; done >~/.gitconfig",
        };
        const struct site *s = *state;
        _cleanup_free_ char *line = text_of("nsrun: git's configuration names more than nsrun can protect: "
                                            "%s/.gitconfig; include fewer files, and have fewer keys with a "
                                            "program",
                                            s->home);
        const char *const argv[] = {program(), "run", "--project=.", "--", "true", NULL};

        for (size_t i = 0; i < ARRAY_SIZE(makes); i++) {
                _cleanup_free_ char *fit = text_of("n=900; %s", makes[i]),
                                    *many = text_of("n=4097; %s", makes[i]);
                _cleanup_outcome_ struct outcome o = {0};

                run_outside(s, &o, fit);
                outcome_clear(&o);
                run(&(struct request){.argv = argv, .cwd = s->project}, &o);
                expect_status(&o, 0);
                run_outside(s, &o, many);
                outcome_clear(&o);
                run(&(struct request){.argv = argv, .cwd = s->project}, &o);
                expect_refusal(&o, 125, line);
        }
}

/* $O/cur, in a writable folder, is in the middle of each. */
TEST(a_symlink_in_the_middle_of_a_way_is_put_back) {
        static const char *const ways[] = {
                "ln -s $O/cur ~/hk; git config --global core.hooksPath '~/hk'",
                "ln -s $O/cur ~/hk; git config core.hooksPath '~/hk/../v1'",
                "ln -s $O/cur ~/x; ln -s ~/x/rc ~/.bashrc",
                "ln -s $O/cur ~/dots; ln -s dots/rc ~/.gitconfig",
                "ln -s cur/rc $O/y; ln -s y $O/z; ln -s $O/z .git/hooks/pre-commit",
        };
        const struct site *s = *state;
        _cleanup_free_ char *current = path_of(s->outside, "cur");

        if (!has_program("git"))
                skip_because("skipped: git is not installed");
        assert_int_equal(setenv("O", s->outside, 1), 0);
        for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
                _cleanup_free_ char
                        *before = text_of("rm -rf .git $O/* ~/hk ~/x ~/dots ~/.bashrc ~/.gitconfig; "
                                          "git init -q .; mkdir $O/v1 $O/v2; >$O/v1/rc; ln -s v1 $O/cur; %s",
                                          ways[i]),
                        *kept = NULL;
                _cleanup_outcome_ struct outcome o = {0};

                run_outside(s, &o, before);
                assert_string_equal(o.err, "");
                NSRUN(s, &o, "run", "--rw", s->outside, "--project=.", "--", "sh", "-c", "ln -sfn v2 \"$1\"",
                      "sh", current);
                expect_in(o.err, "a protected symlink is put back");
                kept = realpath(current, NULL);
                if (!kept || !streq(kept + strlen(kept) - 2, "v1"))
                        fail_msg("%s: %s", ways[i], o.err);
        }
        assert_int_equal(unsetenv("O"), 0);
}

/* Where a variable has the folder of configuration in the project, each program's is there. */
TEST(the_folder_of_configuration_that_a_variable_names_is_protected) {
        static const char *const obeyed[] = {"git/config", "fish/config.fish", "systemd/user/x.service",
                                             "autostart/x.desktop"};
        const struct site *s = *state;
        _cleanup_free_ char *config = path_of(s->project, "conf"), *free_one = path_of(config, "app/x");

        make_folder(s->project, "conf");
        make_folder(config, "nsrun");
        assert_int_equal(setenv("XDG_CONFIG_HOME", config, 1), 0);
        for (size_t i = 0; i <= ARRAY_SIZE(obeyed); i++) {
                const char *name = i < ARRAY_SIZE(obeyed) ? obeyed[i] : "app/x";
                _cleanup_free_ char *script = text_of("f=conf/%s; mkdir -p ${f%%/*}; echo evil >$f", name),
                                    *path = path_of(config, name), *at = strndup(name, strcspn(name, "/")),
                                    *said = text_of("/conf/%s", at);
                bool is_free = streq(path, free_one);
                _cleanup_outcome_ struct outcome o = {0};

                NSRUN(s, &o, "run", "--project=.", "--ro=conf/nsrun", "--", "sh", "-c", script);
                if (is_free != (access(path, F_OK) == 0) || is_free != !strstr(o.err, said))
                        fail_msg("%s: %s", name, o.err);
        }
        assert_int_equal(unsetenv("XDG_CONFIG_HOME"), 0);
}

static int remove_of(const char *folder, const char *name) {
        _cleanup_free_ char *path = path_of(folder, name);

        return unlink(path);
}

/* Each alone, and those that count where there is another; deeper ones, and what no program reads, don't. */
TEST(what_symlinks_of_the_home_lead_to_is_protected) {
        static const struct {
                const char *link, *beside;
                bool is_open;
        } cases[] = {
                {".zshrc", NULL, false},
                {".config/git/config", NULL, false},
                {".config/nvim/init.lua", NULL, false},
                {".config/fish/conf.d", NULL, false},
                {".config/tool", NULL, false},
                {".ssh/config", NULL, false},
                {".local/bin/x", NULL, false},
                {"bin/x", NULL, false},
                {".config/kitty/kitty.conf", ".zshrc", false},
                {".config/nvim/lua/a/x.lua", ".zshrc", false},
                {".claude/skills/x", ".zshrc", false},
                {".config/nvim/lua/a/b/x.lua", ".zshrc", true},
                {"notes", ".zshrc", true},
        };
        const struct site *s = *state;
        _cleanup_free_ char *project = path_of(s->home, "project"), *file = path_of(project, "file"),
                            *v1 = path_of(project, "v1");
        _cleanup_outcome_ struct outcome o = {0};

        make_homes(s);
        make_file(project, "other", "");
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char
                        *script =
                                text_of("mkdir -p \"$(dirname %s)\"; ln -s \"$PWD/project/file\" %s; "
                                        "echo good >project/file; [ ! '%s' ] || ln -s project/other '%s'",
                                        cases[i].link, cases[i].link, cases[i].beside ? cases[i].beside : "",
                                        cases[i].beside ? cases[i].beside : ""),
                        *text = NULL;

                outcome_clear(&o);
                run(&(struct request){.argv = OPTIONS("sh", "-c", script), .cwd = s->home}, &o);
                expect_status(&o, 0);
                LINKED(s, project, &o, "run", "--project=.", "--", "sh", "-c", "echo evil >file; echo done");
                expect_out(&o, "done\n");
                text = file_text(file);
                if (streq(text, cases[i].is_open ? "evil\n" : "good\n") == 0)
                        fail_msg("%s: %s%s", cases[i].link, text, o.err);
                assert_int_equal(remove_of(s->home, cases[i].link), 0);
                if (cases[i].beside)
                        assert_int_equal(remove_of(s->home, cases[i].beside), 0);
        }
        /* A link on the way is the command's as little. */
        make_folder(project, "v1");
        make_file(v1, "rc", "");
        make_link(project, "current", "v1");
        make_link(s->home, ".zshrc", "project/current/rc");
        LINKED(s, project, &o, "run", "--project=.", "--", "sh", "-c", "ln -sfn . current");
        expect_in(o.err, "a protected symlink is put back");
}

/* Where HOME names none that a sandbox can have, passwd's is the home whose secrets are kept. */
TEST(a_home_that_is_no_home_gives_nobodys_secrets_away) {
        const struct site *s = *state;
        _cleanup_free_ char
                *passwd = path_of(s->root, "passwd"),
                *keys = path_of(s->home, ".ssh"),
                *text = text_of("me:x:%u:%u::%s:/bin/sh\n", geteuid(), getegid(), s->home),
                *line = text_of("nsrun: --rw would hand the secrets of the home to the command: %s; --ro "
                                "exposes single files of it; what shall be written belongs into another "
                                "folder",
                                keys);
        const char *argv[] = {program(), "run", "--project", s->project, "--rw", keys, "--", "true", NULL};
        struct request request = {.argv = argv, .cwd = s->root, .in_child = stage_passwd, .data = passwd};
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->root, "passwd", text);
        make_folder(s->home, ".ssh");
        assert_int_equal(setenv("HOME", "/", 1), 0);
        run(&request, &o);
        expect_refusal(&o, 125, line);
        outcome_clear(&o);
        argv[5] = s->outside;
        run(&request, &o);
        expect_status(&o, 0);
        assert_int_equal(setenv("HOME", s->home, 1), 0);
}

/* Where a service's home may lie, and by which name HOME has it; NULL: by that. */
static const struct {
        const char *mounted, *home, *link;
} service_homes[] = {
        {"/opt", "/opt/svc", NULL},
        {"/usr/local/share", "/usr/local/share/svc", NULL},
        {"/usr/local/share", "/usr/local/share/svc", "/usr/local/share/link"},
        {"/var/lib", "/var/lib/svc", NULL},
        {"/mnt", "/mnt/svc", "/mnt/link"},
};

static void stage_service(void *data) {
        const size_t *i = data;
        const char *home = service_homes[*i].home, *link = service_homes[*i].link;
        _cleanup_free_ char *secret = path_of(home, "secret"), *given = path_of(home, "given");

        stage_enter();
        stage_tmpfs(service_homes[*i].mounted, 0);
        if (chmod(service_homes[*i].mounted, 0755) < 0 || mkdir(home, 0755) < 0 ||
            (link && symlink(home, link) < 0) || setenv("HOME", link ? link : home, 1) < 0)
                stage_fail(home);
        stage_make_file(secret, "secret\n");
        stage_make_file(given, "given\n");
}

/* Root has what the system keeps in /usr. */
TEST_IF(geteuid() != 0, a_home_in_what_every_sandbox_shows_is_hidden_there, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(service_homes); i++) {
                _cleanup_free_ char *given = path_of(service_homes[i].home, "given"),
                                    *secret = path_of(service_homes[i].home, "secret");
                const char *const *argv = OPTIONS(
                        program(), "run", "--project", s->project, "--ro", given, "--", "sh", "-c",
                        "cat \"$@\"; cat ~/secret; echo >~/made && echo writable", "sh", given, secret);

                outcome_clear(&o);
                run(&(struct request){.argv = argv, .cwd = s->root, .in_child = stage_service, .data = &i},
                    &o);
                expect_status(&o, 0);
                expect_out(&o, "given\nwritable\n");
        }
}

int main(void) {
        return run_all_tests();
}

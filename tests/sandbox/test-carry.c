/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* git's configuration inside is the command's own: what git writes there works, and what is known to be
 * harmless of it reaches the host. */
#include <pty.h>
#include <sys/wait.h>

#include "repository.h"
#include "session.h"

/* What is kept aside of .git/config in the store. */
static void expect_kept(const struct site *s, const char *text) {
        _cleanup_outcome_ struct outcome o = {0};

        on_host(s,
                "for k in \"$XDG_STATE_HOME\"/nsrun/kept/*/*; do ! grep -qs 'git/config\"' $k/about.json || cat $k/entry; done",
                &o);
        expect_out(&o, text);
}

TEST_WITH(what_git_writes_works_and_what_is_harmless_comes_out, repository_setup, site_teardown) {
        static const char script[] =
                "set -e; git remote add up https://me:secret@example.org/up.git; git checkout -q -b topic\n"
                "git branch -q --set-upstream-to=main; git config user.name Inside; git sparse-checkout init --cone\n"
                "git config core.hooksPath .husky; git config alias.st status; git config core.hooksPath\n"
                "mv .git/config .git/c 2>/dev/null && echo moved; rm .git/config 2>/dev/null && echo removed; true";
        const struct site *s = *state;
        _cleanup_free_ char *note = text_of(
                "nsrun: note: carried to it: remote up (https://example.org/up.git): %s/.git/config\n"
                "nsrun: note: what the command wrote to it is kept aside: alias.st, core.hookspath, extensions.worktreeconfig: "
                "%s/.git/config\nnsrun: note: 2 kept aside: nsrun review --project %s (--accept N takes one over)\n",
                s->project, s->project, s->project);
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        RUN(s, &o, "--", "sh", "-c", script);
        expect_status(&o, 0);
        expect_out(&o, ".husky\n");
        expect_in(o.err, note);
        on_host(s,
                "git config --local --list | LC_ALL=C sort | "
                "grep -v '^core.\\(bare\\|filemode\\|logallrefupdates\\|repositoryformatversion\\)='",
                &o);
        expect_out(
                &o,
                "branch.topic.merge=refs/heads/main\nbranch.topic.remote=.\n"
                "remote.up.fetch=+refs/heads/*:refs/remotes/up/*\nremote.up.url=https://me:secret@example.org/up.git\n"
                "user.email=j@example.org\nuser.name=Inside\n");
        expect_kept(
                s,
                "[alias]\n\tst = \"status\"\n[core]\n\thookspath = \".husky\"\n[extensions]\n\tworktreeconfig = \"true\"\n");
        /* Of a later command what it wrote itself is told. */
        RUN(s, &o, "--", "git", "config", "core.editor", "./x");
        expect_in(o.err, "what the command wrote to it is kept aside: core.editor: ");
        RUN(s, &o, "--", "git", "config", "--unset", "core.editor");
        expect_not_in(o.err, "what the command wrote");
        /* It is there again in the next run, and not outside; what is taken back is kept no longer. */
        RUN(s, &o, "--", "sh", "-c", "git config core.hooksPath; git st -s; git config --unset alias.st");
        expect_status(&o, 0);
        expect_out(&o, ".husky\n");
        expect_kept(s, "[core]\n\thookspath = \".husky\"\n[extensions]\n\tworktreeconfig = \"true\"\n");
        on_host(s, "git config core.hooksPath || echo none", &o);
        expect_out(&o, "none\n");
        RUN(s, &o, "--", "sh", "-c",
            "git config --unset core.hooksPath; git config --unset extensions.worktreeConfig");
        assert_string_equal(o.err, "");
        expect_kept(s, "");
        /* A key that stays on the host is gone in the next run too; of a remote with an address that stays
         * inside nothing comes out. */
        RUN(s, &o, "--", "sh", "-c", "git config --unset user.email; git remote add half /srv/half.git");
        expect_kept(
                s,
                "[remote \"half\"]\n\tfetch = \"+refs/heads/*:refs/remotes/half/*\"\n[remote \"half\"]\n\turl = \"/srv/half.git\"\n[nsrun]\n\tunset = \"user.email\"\n");
        RUN(s, &o, "--", "sh", "-c",
            "git config --local user.email; git config --local --get-regexp nsrun; git remote");
        expect_out(&o, "half\nup\n");
        assert_string_equal(o.err, "");
        on_host(s, "git config --local user.email; git remote", &o);
        expect_out(&o, "j@example.org\nup\n");
        RUN(s, &o, "--", "sh", "-c", "git config user.email j@example.org; git remote remove half");
        expect_kept(s, "");
}

/* Where the project has its configuration the sandbox has a symlink, and so has a copy that is made inside.
 */
TEST_WITH(a_copy_of_a_repository_has_a_plain_configuration, repository_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char
                *note = text_of(
                        "nsrun: note: the command made a copy of a git repository, which has neither its "
                        "remotes nor its settings: git remote add, git config: %s/copy/.git\n",
                        s->project),
                *aside = text_of(
                        "symlinks or pipes in its git dir, which is moved aside there: %s/copy/.git\n",
                        s->project);
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        on_host(s,
                "git remote add up https://me:secret@example.org/up.git; git config extensions.worktreeConfig true",
                &o);
        RUN(s, &o, "--", "sh", "-c",
            "mkdir copy; cp -a .git copy/; git -C copy status -s; git config core.fsmonitor ./x");
        expect_in(o.err, note);
        /* What it leads to may be another run's, or of a repository that who made the link may not read. */
        on_host(s,
                "git -C copy fsck; git -C copy config --local --list | cut -d= -f1 | LC_ALL=C sort; "
                "git -C copy log -1 --format=%s; rm -r copy",
                &o);
        expect_in(o.out, "core.bare\ncore.filemode\ncore.logallrefupdates\ncore.repositoryformatversion\n"
                         "extensions.worktreeconfig\n");
        expect_not_in(o.out, "remote");
        expect_not_in(o.out, "user");
        /* What leads elsewhere is taken for what it is. */
        RUN(s, &o, "--", "sh", "-c",
            "mkdir copy; cp -a .git copy/; for f in /.nsrun/*-config; do ln -sf \"$PWD/x\" $f; done; git config -f x a.b c");
        expect_in(o.err, aside);
        RUN(s, &o, "--", "sh", "-c",
            "rm -rf copy; mkdir copy; cp -a .git copy/; ln -sf /.nsrun/../etc/passwd copy/.git/config");
        expect_in(o.err, aside);
        on_host(s, "! [ -e copy/.git ]", &o);
}

/* Its exit status, when a person at a terminal has answered the question. */
static int accept_key(const struct site *s, const char *number, const char *key, const char *answer) {
        char text[4096] = "";
        bool is_answered = false;
        size_t n = 0;
        int fd, status;
        pid_t pid = forkpty(&fd, NULL, NULL, NULL);

        assert_true(pid >= 0);
        if (pid == 0) {
                (void)execl(program(), "nsrun", "review", "--project", s->project, "--accept", number, key,
                            NULL);
                _exit(127);
        }
        for (ssize_t got; n + 1 < sizeof(text) && (got = read(fd, text + n, sizeof(text) - 1 - n)) > 0;) {
                n += (size_t)got;
                text[n] = '\0';
                if (is_answered || !strstr(text, "[y/N] "))
                        continue;
                assert_int_equal(write(fd, answer, strlen(answer)), strlen(answer));
                is_answered = true;
        }
        (void)close(fd);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (streq(answer, "y\n") && WEXITSTATUS(status) != 0)
                fail_msg("%s", text);
        return WEXITSTATUS(status);
}

static int accept_number(const struct site *s, const char *number, const char *answer) {
        return accept_key(s, number, NULL, answer);
}

/* A person's yes at a terminal, and nothing else, puts it on the host. */
TEST_WITH(what_is_kept_aside_is_reviewed, repository_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char
                *listed = text_of("1  %s/.git/config\n"
                                  "    by sh -c 'git config core.fsmonitor evil; git config --unset "
                                  "user.email'\n"
                                  "    + core.fsmonitor = evil    (git would execute it)\n"
                                  "    - user.email = j@example.org\n",
                                  s->project),
                *review = text_of("'%s' review", program()), *accept = text_of("%s --accept 1", review),
                *wrong = text_of("%s core.fsmonitor core.pager 2>&1 || true", accept),
                *wrong_key = text_of(
                        "nsrun: no change of a key that was named is kept aside of it: %s/.git/config; "
                        "'nsrun review' shows those that are\n",
                        s->project),
                *detached = text_of("setsid -w %s", accept),
                *discard = text_of("%s --discard 1; %s", review, review),
                *json = text_of("%s --all --json | grep -o '\"executed\": *[a-z]*'", review);
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        RUN(s, &o, "--", "sh", "-c", "git config core.fsmonitor evil; git config --unset user.email");
        expect_status(&o, 0);
        on_host(s, review, &o);
        expect_out(&o, listed);
        on_host(s, json, &o);
        expect_out(&o, "\"executed\": true\n\"executed\": false\n");
        outcome_clear(&o);
        run(&(struct request){.argv = OPTIONS("sh", "-c", detached), .cwd = s->project}, &o);
        expect_status(&o, 125);
        assert_string_equal(
                o.err,
                "nsrun: nobody can be asked: a person takes over what is kept aside, at a terminal\n");
        assert_int_equal(accept_number(s, "1", "n\n"), 125);
        on_host(s, "git config core.fsmonitor; git config user.email", &o);
        expect_out(&o, "j@example.org\n");
        /* A key of it alone. */
        on_host(s, wrong, &o);
        expect_out(&o, wrong_key);
        assert_int_equal(accept_key(s, "1", "user.email", "y\n"), 0);
        on_host(s, "git config core.fsmonitor; git config user.email || echo none", &o);
        expect_out(&o, "none\n");
        assert_int_equal(accept_number(s, "1", "y\n"), 0);
        on_host(s, "git config core.fsmonitor; git config user.email || echo none", &o);
        expect_out(&o, "evil\nnone\n");
        on_host(s, review, &o);
        expect_out(&o, "nothing is kept aside\n");
        RUN(s, &o, "--", "git", "config", "core.hooksPath", "x");
        on_host(s, discard, &o);
        expect_out(&o, "nothing is kept aside\n");
        expect_kept(s, "");
}

/* A key's values are kept all together, and so is a key without any. */
TEST_WITH(a_key_with_several_values_has_each_once, repository_setup, site_teardown) {
        static const char show[] =
                "git config --get-all x.y | tr '\\n' ' '; git config --type=bool x.bare || echo none";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        on_host(s, "git config x.y 1", &o);
        RUN(s, &o, "--", "sh", "-c", "git config --add x.y 2; printf '[x]\\n\\tbare\\n' >>.git/config");
        RUN(s, &o, "--", "sh", "-c", show);
        expect_out(&o, "1 2 true\n");
        RUN(s, &o, "--", "git", "config", "--add", "x.y", "3");
        assert_int_equal(accept_key(s, "1", "x.y", "y\n"), 0);
        RUN(s, &o, "--", "sh", "-c", show);
        expect_out(&o, "1 2 3 true\n");
        on_host(s, show, &o);
        expect_out(&o, "1 2 3 none\n");
        assert_int_equal(accept_number(s, "1", "y\n"), 0);
        on_host(s, show, &o);
        expect_out(&o, "1 2 3 true\n");
        expect_kept(s, "");
}

/* A folder of protected names is the command's own: hooks run inside, a checkout of other skills is whole,
 * and the host has what it had. */
TEST_WITH(a_protected_folder_is_the_commands_own, repository_setup, site_teardown) {
        static const char prepare[] =
                "set -e; mkdir -p .claude/skills .husky; echo 1 >.claude/skills/a; echo 1 >.claude/skills/b\n"
                "echo 1 >.husky/x; git add -A; git commit -qm 1; git checkout -q -b two; echo 2 >.claude/skills/a\n"
                "git rm -q .claude/skills/b; echo 2 >.claude/new; git add -A; git commit -qm 2; git checkout -q main";
        static const char husky[] =
                "set -e; mkdir -p .husky/_; git config core.hooksPath .husky/_; printf '#!/bin/sh\\necho ran\\n' >.husky/_/pre-commit\n"
                "chmod +x .husky/_/pre-commit; cp .husky/_/pre-commit .git/hooks; git commit -q --allow-empty -m x 2>&1; git merge -q two\n"
                "git status --short -uno; cat .claude/skills/* .claude/new; rm -r .claude/skills; mkdir .claude/skills; echo 3 >.claude/skills/c";
        static const char overlays[] = "grep -c 'git/hooks .* overlay ' /proc/self/mountinfo; ls .git/hooks";
        static const char hostile[] =
                "cd .husky; mkfifo p; ln -s /etc l; mknod d c 0 0; mkdir -m 0 z; echo y >s; chmod 755 s; chmod 4755 s\n"
                "setfattr -n user.overlay.opaque -v y . ; setfattr -n trusted.overlay.opaque -v y .; true";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        on_host(s, prepare, &o);
        /* Samples alone need none. */
        RUN(s, &o, "--", "sh", "-c", overlays);
        expect_out(&o, "0\n");
        /* Of other folders they are the project's. */
        on_host(s, "mkdir .zed; echo 1 >.zed/a.sample", &o);
        RUN(s, &o, "--", "ls", ".zed");
        expect_out(&o, "a.sample\n");
        on_host(s, "rm -r .zed", &o);
        RUN(s, &o, "--", "sh", "-c", husky);
        expect_status(&o, 0);
        expect_out(&o, "ran\n2\n2\n");
        expect_in(o.err, "nsrun: note: 4 kept aside: nsrun review --project ");
        on_host(s,
                "ls -A .husky .claude/skills; ls .git/hooks | grep -v sample; cat .claude/skills/*; git commit --allow-empty -qm y",
                &o);
        expect_out(&o, ".claude/skills:\na\nb\n\n.husky:\nx\n1\n1\n");
        /* It is there again, and nothing new is kept. */
        RUN(s, &o, "--", "sh", "-c",
            "git commit -q --allow-empty -m z 2>&1; ls -A .claude .claude/skills; ls .git/hooks | grep -v sample");
        expect_out(&o, "ran\n.claude:\nnew\nskills\nworktrees\n\n.claude/skills:\nc\npre-commit\n");
        assert_string_equal(o.err, "");
        RUN(s, &o, "--", "sh", "-c", overlays);
        expect_in(o.out, "1\n");
        RUN(s, &o, "--", "sh", "-c", hostile);
        expect_in(o.err, "/.husky\nnsrun: note: 4 kept aside: nsrun review --project ");
        /* What is taken over is there, what was removed is gone, and the rest is as it was. */
        for (unsigned i = 1; i <= 4; i++) {
                _cleanup_free_ char *number = text_of("%u", i);

                assert_int_equal(accept_number(s, number, "yes\n"), 0);
        }
        on_host(s, "find .claude .husky .git/hooks/pre-commit -printf '%p %y %m\n' | LC_ALL=C sort", &o);
        expect_out(&o,
                   ".claude d 755\n.claude/new f 644\n.claude/skills d 755\n.claude/skills/c f 644\n"
                   ".git/hooks/pre-commit f 755\n.husky d 755\n.husky/_ d 755\n.husky/_/pre-commit f 755\n"
                   ".husky/l l 777\n.husky/s f 755\n.husky/x f 644\n.husky/z d 700\n");
}

/* Two overlays can't have one layer. */
TEST_WITH(of_a_protected_folder_that_is_shown_twice_one_is_the_commands_own, repository_setup,
          site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *bind = text_of("%s:/mnt/x", s->project);
        _cleanup_outcome_ struct outcome o = {0};

        on_host(s, "mkdir .husky; echo 1 >.husky/a", &o);
        RUN(s, &o, "--bind", bind, "--", "sh", "-c",
            "for f in . /mnt/x; do (echo 2 >$f/.husky/a) 2>/dev/null || echo no; done; cat .husky/a /mnt/x/.husky/a");
        expect_out(&o, "no\n1\n2\n");
        /* Nor is that tried. */
        expect_not_in(o.err, "can't be the command's own");
}

/* Who changed nothing drops nothing; what is dropped for its age is told. */
TEST_WITH(what_another_run_has_kept_stays, repository_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL, *review = text_of("'%s' review 2>&1 | sed \"s,$PWD,P,\"", program());
        _cleanup_outcome_ struct outcome o = {0};

        on_host(s, "mkdir .husky; echo x >.husky/x", &o);
        id = START_PLAIN(s);
        JOIN_SCRIPT(s, id, &o, "echo y >.husky/y; rm .husky/y");
        RUN(s, &o, "--", "sh", "-c", "echo mine >.husky/pre-push");
        end_session(s, id, "stop");
        on_host(s, review, &o);
        expect_in(o.out, "    + P/.husky/pre-push\n");
        /* The control: who began with it drops it. */
        RUN(s, &o, "--", "sh", "-c", "rm .husky/pre-push");
        on_host(s, review, &o);
        expect_out(&o, "nothing is kept aside\n");
        RUN(s, &o, "--", "sh", "-c", "echo mine >.husky/pre-push");
        on_host(s, "sed -i 's/\"time\": *[0-9]*/\"time\": 1/' \"$XDG_STATE_HOME\"/nsrun/kept/*/1/about.json",
                &o);
        on_host(s, review, &o);
        expect_in(o.out, "nsrun: note: what was kept aside of it for 30 days is dropped: P/.husky\n");
        expect_in(o.out, "nothing is kept aside\n");
}

/* A session goes on, and what is shown is what is kept aside now: in the end what its commands took back is
 * no part of it, and what another run kept is. */
TEST_WITH(what_a_session_has_kept_aside_so_far_is_shown, repository_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL, *review = NULL,
                            *all = text_of("'%s' review | grep -v '^    by ' | sed \"s,$PWD,P,\"",
                                           program());
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        on_host(s, "mkdir .husky; echo x >.husky/x; echo x >.husky/gone", &o);
        id = START_PLAIN(s);
        review = text_of("cd / && '%s' session review %s | grep -v '^    by ' | sed \"s,$OLDPWD,P,\"",
                         program(), id);
        on_host(s, review, &o);
        expect_out(&o, "nothing is kept aside\n");
        JOIN_SCRIPT(s, id, &o, "git config alias.a b; echo y >.husky/x; echo n >.husky/new; rm .husky/gone");
        on_host(s, review, &o);
        expect_in(o.out, "1  P/.git/config\n    + alias.a = b\n2  P/.husky\n");
        expect_in(o.out, "    + P/.husky/new\n      @@ -0,0 +1 @@\n      +n\n");
        expect_in(o.out, "    ~ P/.husky/x\n      @@ -1 +1 @@\n      -x\n      +y\n");
        JOIN_SCRIPT(s, id, &o, "rm .husky/new; cat .husky/x; ls -A .husky");
        expect_out(&o, "y\nx\n");
        SESSION(s, &o, "stop", id);
        expect_status(&o, 0);
        collect_orphans();
        on_host(s, all, &o);
        expect_in(o.out, "    - P/.husky/gone\n");
        expect_not_in(o.out, "new");
        /* What is another run's. */
        free(id);
        id = START_PLAIN(s);
        RUN(s, &o, "--", "sh", "-c", "echo mine >.husky/pre-push");
        JOIN_SCRIPT(s, id, &o, "echo mine >.husky/more");
        free(review);
        review = text_of("'%s' session review %s", program(), id);
        on_host(s, review, &o);
        expect_in(o.out, "/.husky/pre-push");
        expect_in(o.out, "/.husky/more");
        SESSION(s, &o, "stop", id);
        expect_status(&o, 0);
        collect_orphans();
        on_host(s, all, &o);
        expect_in(o.out, "/.husky/pre-push");
        expect_in(o.out, "/.husky/more");
}

/* By its path; what an agent removed, or keeps beside its folder, isn't listed. */
TEST_WITH(what_an_agent_wrote_is_taken_over_by_a_person, repository_setup, site_teardown) {
        static const char script[] =
                "echo '{\"hooks\":1}' >~/.claude/settings.json; mkdir -p ~/.claude/skills/x; echo a >~/.claude/skills/x/s\n"
                "mkdir -p ~/.claude/deep/a; echo b >~/.claude/deep/a/b; rm ~/.claude/CLAUDE.md; echo '{\"mcpServers\":{\"a\":1}}' >~/.claude.json";
        const struct site *s = *state;
        _cleanup_free_ char *
                home = path_of(s->home, ".claude"),
               *settings = path_of(home, "settings.json"), *skills = path_of(home, "skills"),
               *deep = path_of(home, "deep/a/b"), *project = path_of(s->project, "none"),
               *review = text_of("'%s' review | sed \"s,$HOME,H,\"", program()),
               *silent = text_of("! '%s' review --accept ~/.claude/settings.json", program()),
               *gone = text_of("! '%s' review --accept %s && ! '%s' review --discard ~/.ssh", program(),
                               project, program()),
               *discard = text_of(
                       "'%s' review --discard ~/.claude/settings.json && '%s' review --discard ~/.claude/deep && %s",
                       program(), program(), review),
               *text = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->home, ".claude");
        make_file(home, "settings.json", "{}\n");
        make_file(home, "CLAUDE.md", "x\n");
        RUN(s, &o, "--agent", "claude", "--", "sh", "-c", script);
        expect_status(&o, 0);
        on_host(s, review, &o);
        expect_out(&o, "of agents, here alone; --accept PATH shows one, and asks:\n"
                       "    H/.claude/deep\n    H/.claude/settings.json\n    H/.claude/skills\n");
        on_host(s, silent, &o);
        expect_in(o.out, "      -{}\n      +{\"hooks\":1}\n");
        expect_in(o.err, "nobody can be asked");
        on_host(s, gone, &o);
        expect_in(o.err, "no agent wrote this here");
        assert_int_equal(accept_number(s, settings, "no\n"), 125);
        text = file_text(settings);
        assert_string_equal(text, "{}\n");
        assert_int_equal(accept_number(s, skills, "yes\n"), 0);
        on_host(s, "cat ~/.claude/skills/x/s", &o);
        expect_out(&o, "a\n");
        /* The folders on the way are made, and lead nowhere else. */
        on_host(s, "mkdir elsewhere; ln -s \"$PWD/elsewhere\" ~/.claude/deep", &o);
        assert_int_equal(accept_number(s, deep, "yes\n"), 125);
        on_host(s, "ls elsewhere; rm ~/.claude/deep; rmdir elsewhere", &o);
        expect_out(&o, "");
        assert_int_equal(accept_number(s, deep, "yes\n"), 0);
        on_host(s,
                "cat ~/.claude/deep/a/b; stat -c %a ~/.claude/deep ~/.claude/deep/a; rm -r ~/.claude/deep",
                &o);
        expect_out(&o, "b\n700\n700\n");
        on_host(s, discard, &o);
        expect_out(&o, "nothing is kept aside\n");
        RUN(s, &o, "--agent", "claude", "--", "sh", "-c", "cat ~/.claude/settings.json");
        expect_out(&o, "{}\n");
        on_host(s, "rm -r \"$XDG_CACHE_HOME/nsrun/agents\"", &o);
}

/* With the modes that it had, and for others no wider than what is there; and with its time. */
TEST_WITH(what_is_taken_over_has_its_modes_and_times, repository_setup, site_teardown) {
        static const char make[] =
                "umask 22; echo token >n; chmod 600 n; mv n .npmrc; mkdir -m 700 v; echo x >v/f; echo y >e; chmod 755 e\n"
                "touch -d @9 e v/f; mv v .vscode; mv e .envrc; echo z >.yarnrc.yml";
        const struct site *s = *state;
        _cleanup_free_ char *review = text_of("'%s' review", program());
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--", "sh", "-c", make);
        expect_in(o.err, "nsrun: note: 4 kept aside: nsrun review --project ");
        on_host(s, "echo mine >.envrc; chmod 600 .envrc; echo mine >mine; ln -s mine .yarnrc.yml", &o);
        on_host(s, review, &o);
        expect_in(o.out, "/.yarnrc.yml\n      replaces a link to mine\n      @@");
        for (unsigned i = 1; i <= 4; i++) {
                _cleanup_free_ char *number = text_of("%u", i);

                assert_int_equal(accept_number(s, number, "yes\n"), 0);
        }
        on_host(s,
                "stat -c '%n %a' .npmrc .vscode .vscode/f .envrc .yarnrc.yml; cat .envrc mine; stat -c %Y .envrc .vscode/f",
                &o);
        expect_out(&o,
                   ".npmrc 600\n.vscode 700\n.vscode/f 644\n.envrc 700\n.yarnrc.yml 644\ny\nmine\n9\n9\n");
}

/* A NUL hides nothing, and what can't be shown at all is put nowhere. */
TEST_WITH(what_was_not_shown_is_not_taken_over, repository_setup, site_teardown) {
        static const char *const make[] = {
                "printf '#!/bin/sh\\necho \\0evil\\n' >.envrc",
                "mkdir d; for i in $(seq 257); do echo $i >d/$i; done; mv d .vscode",
                "head -c 4200000 /dev/zero | tr '\\0' x >.npmrc"};
        const struct site *s = *state;
        _cleanup_free_ char *review = text_of("'%s' review", program()),
                            *accept = text_of("! '%s' review --accept 2 && ! '%s' review --accept 3 >&2",
                                              program(), program());
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(make); i++)
                RUN(s, &o, "--", "sh", "-c", make[i]);
        expect_in(o.err, "nsrun: note: 3 kept aside: nsrun review --project ");
        on_host(s, review, &o);
        expect_in(o.out, "/.envrc\n      @@ -0,0 +1,2 @@\n      +#!/bin/sh\n      +echo \\x00evil\n");
        expect_in(o.out, "      (not compared)\n");
        on_host(s, accept, &o);
        expect_status(&o, 0);
        expect_in(o.err, "nsrun: what can't be shown isn't put on the host: ");
        expect_in(o.err, "/3/entry; look at it there, and copy it by hand\n");
        expect_in(o.err, "/2/entry/");
        expect_not_in(o.err, "[y/N]");
        assert_int_equal(accept_number(s, "1", "yes\n"), 0);
        on_host(s, "cat .envrc | tr '\\0' 0; [ ! -e .npmrc ] && [ ! -e .vscode ]", &o);
        expect_out(&o, "#!/bin/sh\necho 0evil\n");
}

/* Protected names that a command made: a folder with all that a folder can have, and one that is too large.
 */
TEST_WITH(what_a_command_made_is_taken_over_by_a_person, repository_setup, site_teardown) {
        static const char odd[] =
                "mkdir .vscode; cd .vscode; echo x >f; ln -s /etc l; mkdir d; echo y >d/f\n"
                "chmod 400 d/f; chmod 0 d; printf '\\033[2J\\n' >run; chmod 755 run";
        static const char *const make[] = {odd, "mkdir s/.idea; echo z >s/.idea/f"};
        /* What no copy would have, or is too much, may be the user's own. */
        static const char *const large[] = {"for i in $(seq 4097); do : >src/$i; done; mv src .zed",
                                            "mkfifo src/p; mv src .zed",
                                            "echo >src/a; ln src/a src/b; mv src .zed"};
        const struct site *s = *state;
        _cleanup_free_ char *review =
                text_of("'%s' review | grep -v '^    by ' | sed \"s,$PWD,P,\" | sort", program());
        _cleanup_outcome_ struct outcome o = {0};

        on_host(s, "mkdir s", &o);
        for (size_t i = 0; i < ARRAY_SIZE(make); i++) {
                _cleanup_free_ char *count = text_of("nsrun: note: %zu kept aside: nsrun review --project ",
                                                     i + 1),
                                    *put_back = text_of(
                                            "nsrun: note: a protected name that came to be is kept aside "
                                            "(nsrun review --project %s --accept %zu puts it back): ",
                                            s->project, i + 1);

                RUN(s, &o, "--protect", "s/.idea", "--", "sh", "-c", make[i]);
                expect_in(o.err, put_back);
                expect_in(o.err, count);
        }
        on_host(s, "ls -A . s", &o);
        expect_out(&o, ".:\n.git\ns\n\ns:\n");
        on_host(s, review, &o);
        expect_in(o.out, "      +\\x1b[2J\n      +x\n      +y\n      +z\n");
        expect_in(o.out, "      leads to /etc\n");
        expect_in(
                o.out,
                "    + P/.vscode/d/f\n    + P/.vscode/f\n    + P/.vscode/l\n    + P/.vscode/run    (a program)\n"
                "    + P/s/.idea/f\n");
        assert_int_equal(accept_number(s, "1", "no\n"), 125);
        on_host(s, "! [ -e .vscode ]", &o);
        assert_int_equal(accept_number(s, "1", "yes\n"), 0);
        /* The folder is a symlink by now. */
        on_host(s, "rmdir s; mkdir ../elsewhere; ln -s ../elsewhere s", &o);
        assert_int_equal(accept_number(s, "2", "yes\n"), 125);
        on_host(s, "ls -A ../elsewhere; rm s; mkdir s", &o);
        expect_out(&o, "");
        assert_int_equal(accept_number(s, "2", "yes\n"), 0);
        on_host(s, "umask; find .vscode .zed s -printf '%p %y %m %l\n' 2>/dev/null | LC_ALL=C sort", &o);
        expect_out(
                &o,
                "0022\n.vscode d 755 \n.vscode/d d 700 \n.vscode/d/f f 600 \n.vscode/f f 644 \n.vscode/l l 777 /etc\n"
                ".vscode/run f 755 \ns d 755 \ns/.idea d 755 \ns/.idea/f f 644 \n");
        for (size_t i = 0; i < ARRAY_SIZE(large); i++) {
                on_host(s, "rm -rf .zed.aside-* src; mkdir src; echo mine >src/mine", &o);
                RUN(s, &o, "--", "sh", "-c", large[i]);
                expect_in(o.err, "can't be kept aside, and is renamed: ");
                on_host(s, "! [ -e .zed ] && cat .zed.aside-*/mine && ls .zed.aside-* | wc -l", &o);
                expect_out(&o, i == 0 ? "mine\n4098\n" : i == 1 ? "mine\n2\n" : "mine\n3\n");
        }
}

/* A session's commands carry one by one, and what is carried uncovers nothing. */
TEST_WITH(after_a_carry_the_hosts_file_is_covered_still, repository_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        id = START(s, "--no-config");
        for (int i = 0; i < 3; i++) {
                _cleanup_free_ char *set = text_of("git config branch.b%d.description d", i),
                                    *get = text_of("git config branch.b%d.description", i);

                JOIN_SCRIPT(s, id, &o, set);
                /* What is kept aside of an earlier command is told once. */
                assert_string_equal(o.err, "");
                on_host(s, get, &o);
                expect_out(&o, "d\n");
                JOIN_SCRIPT(s, id, &o,
                            "readlink .git/config | sed s,[0-9]*-,N-,; git config core.fsmonitor evil");
                expect_out(&o, "/.nsrun/N-config\n");
                on_host(s, "git config core.fsmonitor || echo none; ls .git | grep lock || true", &o);
                expect_out(&o, "none\n");
        }
        /* What a person changes outside isn't taken back by what the session has. */
        on_host(s, "git config branch.b1.description host", &o);
        JOIN_SCRIPT(s, id, &o, "git config branch.b3.description d");
        on_host(s, "git config branch.b1.description; git config branch.b3.description", &o);
        expect_out(&o, "host\nd\n");
        /* Whether its end tells it once more hangs on the clock's ticks. */
        SESSION(s, &o, "stop", id);
        expect_status(&o, 0);
        collect_orphans();
}

/* A command line is cut, and may be of any bytes; so may a path. */
TEST_WITH(whatever_bytes_a_command_and_its_project_have_are_kept, repository_setup, site_teardown) {
        static const char script[] =
                "p=$(printf 'p\\377'); git init -q $p; cd $p; many=$(printf '\\303\\251%%.0s' $(seq 3000))\n"
                "for x in a bc; do %s run -- sh -c 'git config core.pager $0; echo $0 >.envrc; while [ -e .envrc ]; do :; done' "
                "$x \"$many\" $p 2>&1 | grep -c ' is kept aside'; done\n"
                "%s run -- git config core.pager; %s review | grep -a ^[1-9]";
        const struct site *s = *state;
        _cleanup_free_ char
                *text = text_of(script, program(), program(), program()),
                *all = text_of(
                        "2\n2\nbc\n1  %s/p\\xff/.envrc\n2  %s/p\\xff/.git/config\n3  %s/p\\xff/.envrc\n",
                        s->project, s->project, s->project);
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        on_host(s, text, &o);
        assert_string_equal(o.out, all);
}

/* What lies beside, in a folder that the command has closed before it was killed. */
TEST_WITH(what_a_killed_command_has_closed_is_kept, repository_setup, site_teardown) {
        static const char script[] =
                "mkdir .github; %s run -- sh -c 'mkdir -p .github/d/x; chmod 500 .github/d; mv .github/d .github/hooks\n"
                "until ! [ -e .github/hooks ] || grep -q \" $PWD/.github/hooks \" /proc/self/mountinfo; do :; done; chmod 0 .github; >go; exec sleep 1000' & p=$!\n"
                "until [ -e go ]; do :; done; kill -9 $p; wait $p; until [ -s ../err ]; do %s run -- true 2>../err; done\n"
                "cat ../err; ls -A .github";
        const struct site *s = *state;
        _cleanup_free_ char *
                text = text_of(script, program(), program()),
               *all = text_of(
                       "nsrun: note: what the command of an earlier run left here is kept aside: %s/.github/hooks\n"
                       "nsrun: note: 1 kept aside: nsrun review (--accept N takes one over)\n",
                       s->project);
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        on_host(s, text, &o);
        collect_orphans();
        assert_string_equal(o.out, all);
}

/* Inside, git takes the file system for one without modes. */
TEST_WITH(a_git_init_in_a_repository_leaves_the_hosts_modes_alone, repository_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *note = text_of(
                "nsrun: note: what the command wrote to it is kept aside: core.filemode: %s/.git/config\n"
                "nsrun: note: 1 kept aside: nsrun review --project %s (--accept N takes one over)\n",
                s->project, s->project);
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        for (unsigned i = 0; i < 2; i++) {
                RUN(s, &o, "--", "sh", "-c",
                    "git config core.filemode; git init -q .; echo >f; chmod +x f; git config core.filemode");
                expect_out(&o, "true\nfalse\n");
                assert_string_equal(o.err, i == 0 ? note : "");
                on_host(s, "git config core.filemode", &o);
                expect_out(&o, "true\n");
        }
}

int main(void) {
        return run_all_tests();
}

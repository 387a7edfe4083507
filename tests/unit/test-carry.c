/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* carry/: what of a hostile configuration comes out, whatever it looks like, and whoever is killed
 * meanwhile. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>

#include "../seed.h"
#include "base/file.h"
#include "base/str.h"
#include "carry/agent_files.h"
#include "carry/git_config.h"
#include "carry/git_keys.h"
#include "carry/in_place.h"
#include "carry/kept_by.h"
#include "host/gitconfig.h"
#include "host/program.h"
#include "kept/kept.h"
#include "scratch.h"

#define PLAIN "[core]\n\tbare = false ; a comment\n[user]\n\tname = Jo\n"

static int make_repository(void **state) {
        char *top = scratch_make();

        assert_int_equal(setenv("XDG_STATE_HOME", top, 1), 0);
        scratch_file(top, "p/.git/config", PLAIN);
        scratch_folder(top, "rundir");
        *state = top;
        return 0;
}

static int remove_repository(void **state) {
        scratch_remove(*state);
        return 0;
}

static bool has_git(void) {
        char *path = NULL;
        bool has = program_find("git", &path) == 0;

        free(path);
        return has;
}

#define NEED_GIT()                                                   \
        do {                                                         \
                if (!has_git()) {                                    \
                        print_message("skipped: there is no git\n"); \
                        skip();                                      \
                }                                                    \
        } while (0)

/* Carries `inside`, n bytes, of a command that got `base`. */
static int carry(const char *top, const char *base, const char *inside, size_t n, char **ret_words) {
        char *path = scratch_path(top, "p/.git/config"), *rundir = scratch_path(top, "rundir");
        char project[] = "/p", command[] = "make";
        struct kept_by kept_by = {.project = project, .command = command};
        struct git_config_carry g = {.rundir = rundir,
                                     .path = path,
                                     .kept_by = &kept_by,
                                     .base = base,
                                     .n_base = strlen(base),
                                     .inside = inside,
                                     .n_inside = n};
        int r = git_config_carry(&g, ret_words);

        free(g.remotes);
        free(rundir);
        free(path);
        return r;
}

static char *host_text(const char *top) {
        char *path = scratch_path(top, "p/.git/config"), *text = NULL;

        assert_int_equal(read_small_file(AT_FDCWD, path, 0, 4 << 20, &text), 0);
        free(path);
        return text;
}

static void a_value_is_carried_by_its_keys_rule(void **state nsrun_unused) {
        static const struct {
                const char *key, *value;
                bool is_carried;
        } cases[] = {
                {"branch.topic.merge", "refs/heads/main", true},
                {"branch.feature/x.remote", "origin", true},
                {"branch.x.remote", ".", true},
                {"branch.x.remote", "ext::sh -c evil", false},
                {"branch.x.remote", "../evil", false},
                {"branch.x.remote", "/tmp/evil", false},
                {"branch.x.merge", "--upload-pack=evil", false},
                {"branch.x.description", "line\nline", true},
                {"branch.x.description", "\033]0;evil\a", false},
                {"branch.x.description",
                 "x\xc2\x9b"
                 "31m",
                 false},
                {"remote.pushdefault", "up", false},
                {"remote.up.url", "https://example.org/a/b.git", true},
                {"remote.up.url", "http://jo:pw@[::1]:80/a", true},
                {"remote.up.url", "ssh://git@example.org:22/a.git", true},
                {"remote.up.url", "git@example.org:a/b.git", true},
                {"remote.up.url", "ssh://-oProxyCommand=evil/a", false},
                {"remote.up.url", "git@-oProxyCommand=evil:a", false},
                {"remote.up.url", "-oProxyCommand=evil:a", false},
                {"remote.up.url", "ssh://a@$(evil)/a", false},
                {"remote.up.url", "ext::sh -c evil", false},
                {"remote.up.url", "ext::evil", false},
                {"remote.up.url", "foo::https://x/y", false},
                {"remote.up.url", "file:///p/evil.git", false},
                {"remote.up.url", "../evil.git", false},
                {"remote.up.url", "./evil:git", false},
                {"remote.up.url", "/p/evil.git", false},
                {"remote.up.url", "https://example.org/a\nb", false},
                {"remote.up\n.url", "https://example.org/a", false},
                {"remote.-x.url", "https://example.org/a", false},
                {"remote.up.fetch", "+refs/heads/*:refs/remotes/up/*", true},
                {"remote.up.fetch", "+refs/heads/*:refs/heads/*", false},
                {"remote.up.tagopt", "--no-tags", true},
                {"remote.up.tagopt", "--upload-pack=evil", false},
                {"remote.up.vcs", "evil", false},
                {"remote.up.uploadpack", "evil", false},
                {"submodule.a.update", "merge", true},
                {"submodule.a.update", "!evil", false},
                {"user.signingkey", "/etc/passwd", false},
                {"core.hookspath", ".husky", false},
                {"core.fsmonitor", "evil", false},
                {"core.sparsecheckout", "true", true},
                {"core.sparsecheckout", "evil", false},
                {"core.repositoryformatversion", "1", true},
                {"core.worktree", "/", false},
                {"extensions.worktreeconfig", "true", false},
                {"alias.st", "status", false},
                {"include.path", "x", false},
                {"url.ext::evil.insteadof", "https://", false},
                {"core", "x", false},
                {"core.bare", NULL, false},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                if (git_key_is_carried(cases[i].key, cases[i].value) != cases[i].is_carried)
                        fail_msg("%s = %s", cases[i].key, cases[i].value ? cases[i].value : "(nothing)");
}

static void comments_and_order_stay(void **state) {
        static const char inside[] = PLAIN "[core]\n\thooksPath = x\n[remote \"up\"]\n\turl = https://a/b\n";
        const char *top = *state;
        char *words = NULL, *text;

        NEED_GIT();
        assert_int_equal(carry(top, PLAIN, inside, strlen(inside), &words), 0);
        assert_string_equal(words, "what the command wrote to it is kept aside: core.hookspath");
        text = host_text(top);
        assert_string_equal(text, PLAIN "[remote \"up\"]\n\turl = https://a/b\n");
        free(text);
        free(words);
}

static void the_host_has_the_last_word(void **state) {
        static const char base[] = PLAIN "[branch \"a\"]\n\tremote = one\n",
                          inside[] = PLAIN "[branch \"a\"]\n\tremote = two\n\tdescription = in\n"
                                           "[remote \"up\"]\n\turl = https://evil/b\n",
                          host[] = PLAIN
                          "[branch \"a\"]\n\tremote = three\n[remote \"up\"]\n\turl = https://a/b\n";
        const char *top = *state;
        char *words = NULL, *text;

        NEED_GIT();
        scratch_file(top, "p/.git/config", host);
        assert_int_equal(carry(top, base, inside, strlen(inside), &words), 0);
        assert_string_equal(
                words, "what the command wrote to it is kept aside: branch.a.remote (the host has changed "
                       "it, too), remote.up.url (the host has changed it, too)");
        text = host_text(top);
        assert_string_equal(text, PLAIN "[branch \"a\"]\n\tremote = three\n\tdescription = in\n"
                                        "[remote \"up\"]\n\turl = https://a/b\n");
        free(text);
        free(words);
}

/* What the user pushes to a remote that he has goes nowhere else, and what he has set isn't taken out. */
static void a_remote_of_the_hosts_stays_where_it_is(void **state) {
        static const char base[] = PLAIN "[remote \"up\"]\n\turl = https://a/b\n",
                          inside[] = "[core]\n\tbare = false\n[remote \"up\"]\n\turl = https://evil/b\n"
                                     "\tpushurl = https://evil/b\n\tprune = true\n";
        const char *top = *state;
        char *words = NULL, *text;

        NEED_GIT();
        scratch_file(top, "p/.git/config", base);
        assert_int_equal(carry(top, base, inside, strlen(inside), &words), 0);
        assert_string_equal(
                words,
                "what the command wrote to it is kept aside: remote.up.pushurl, remote.up.url, user.name");
        text = host_text(top);
        assert_string_equal(text, PLAIN "[remote \"up\"]\n\turl = https://a/b\n\tprune = true\n");
        free(text);
        free(words);
}

/* git takes a remote that has no address for a folder, in which it starts what lies there; and where the
 * user's branch leads already it stays. */
static void a_branch_follows_what_the_host_has(void **state) {
        static const char base[] =
                PLAIN "[remote \"up\"]\n\turl = https://a/b\n[branch \"main\"]\n\tremote = up\n";
        static const char inside[] = PLAIN
                "[remote \"up\"]\n\turl = https://a/b\n\tfetch = +refs/heads/x:refs/remotes/up/main\n"
                "[remote \"evil\"]\n\turl = https://evil/b\n"
                "[branch \"main\"]\n\tremote = evil\n\tpushRemote = x/evil.git\n"
                "[branch \"a\"]\n\tremote = x/evil.git\n[branch \"b\"]\n\tremote = evil\n"
                "[branch \"c\"]\n\tremote = up\n\tmerge = refs/heads/c\n[branch \"d\"]\n\tremote = .\n";
        static const char gone[] = PLAIN "[remote \"up\"]\n\turl = https://a/b\n";
        const char *top = *state;
        char *words = NULL, *text;

        NEED_GIT();
        scratch_file(top, "p/.git/config", base);
        assert_int_equal(carry(top, base, inside, strlen(inside), &words), 0);
        assert_string_equal(words,
                            "what the command wrote to it is kept aside: branch.a.remote, branch.b.remote, "
                            "branch.main.pushremote, branch.main.remote, remote.up.fetch");
        free(words);
        text = host_text(top);
        assert_null(strstr(text, "x/evil.git"));
        assert_null(strstr(text, "remote = evil"));
        assert_non_null(strstr(text, "[branch \"c\"]\n\tmerge = refs/heads/c\n\tremote = up\n"));
        assert_non_null(strstr(text, "[branch \"d\"]\n\tremote = .\n"));
        free(text);
        /* Nor is it taken out, so that the next run could set it. */
        scratch_file(top, "p/.git/config", base);
        words = NULL;
        assert_int_equal(carry(top, base, gone, strlen(gone), &words), 0);
        assert_string_equal(words, "what the command wrote to it is kept aside: branch.main.remote");
        free(words);
}

/* ---------------------------------------------------------------- what executes */

static const char *pick(unsigned *seed, const char *const *from, size_t n) {
        return from[(unsigned)rand_r(seed) % n];
}

/* A line or two, in which somewhere a program is named that leaves a mark. */
static void add_order(struct strbuf *b, unsigned *seed, const char *mark) {
        static const char *const sections[] = {"core",
                                               "CoRe",
                                               "alias",
                                               "filter \"x\"",
                                               "FILTER \"a\\\"b\"",
                                               "diff \"y\"",
                                               "credential",
                                               "credential \"https://example.org\"",
                                               "remote \"origin\"",
                                               "remote \"or\\\\ig\"",
                                               "url \"ext::x\"",
                                               "include",
                                               "includeIf \"gitdir:/\"",
                                               "includeIf \"onbranch:*\"",
                                               "gpg",
                                               "gpg \"ssh\"",
                                               "pager",
                                               "merge \"z\"",
                                               "submodule \"s\"",
                                               "uploadpack",
                                               "protocol \"ext\"",
                                               "branch \"main\"",
                                               "user",
                                               "sequence",
                                               "trailer \"t\"",
                                               "gc",
                                               "core.sub",
                                               "remote.origin",
                                               "branch \"ma\x01in\""};
        static const char *const keys[] = {"hooksPath",
                                           "HOOKSPATH",
                                           "fsmonitor",
                                           "fsMonitor",
                                           "sshCommand",
                                           "pager",
                                           "editor",
                                           "askPass",
                                           "clean",
                                           "smudge",
                                           "process",
                                           "textconv",
                                           "command",
                                           "helper",
                                           "url",
                                           "pushurl",
                                           "fetch",
                                           "vcs",
                                           "uploadpack",
                                           "receivepack",
                                           "proxy",
                                           "insteadOf",
                                           "path",
                                           "program",
                                           "defaultKeyCommand",
                                           "status",
                                           "log",
                                           "diff",
                                           "driver",
                                           "update",
                                           "packObjectsHook",
                                           "allow",
                                           "st",
                                           "remote",
                                           "merge",
                                           "name",
                                           "signingKey",
                                           "external",
                                           "recentObjectsHook",
                                           "gitProxy",
                                           "alternateRefsCommand",
                                           "worktree",
                                           "attributesFile"};
        static const char *const forms[][3] = {
                {"\t", " = touch ", "\n"},
                {"", "=\"touch ", "\"\n"},
                {"  ", " = !touch ", " ; x\n"},
                {"", " = \\\n touch ", "\n"},
                {"", " = ext::sh -c \"touch% ", "\"\n"},
                {"", " = touch ", "\r\n"},
                {"", " = \"to\"uch\" \"", "\n"},
                {"", " = ", "\n"},
                {"", " = file://", "\n"},
                {"", " = ssh://-oProxyCommand=touch${IFS}", "/x\n"},
                {"", " = --upload-pack=touch ", "\n"},
                {"", " = true\n", " = x\n"},
        };
        const char *const *form = forms[(unsigned)rand_r(seed) % ARRAY_SIZE(forms)];

        strbuf_addf(b, (unsigned)rand_r(seed) % 4 ? "[%s]\n" : "[%s] ",
                    pick(seed, sections, ARRAY_SIZE(sections)));
        strbuf_addf(b, "%s%s%s%s%s", form[0], pick(seed, keys, ARRAY_SIZE(keys)), form[1],
                    form[2] ? mark : "", form[2] ? form[2] : "");
}

static void add_oddity(struct strbuf *b, unsigned *seed) {
        switch ((unsigned)rand_r(seed) % 12) {
        case 0:
                strbuf_add_bytes(b, "\0", 1);
                break;
        case 1:
                strbuf_add(b, "[branch \"a\"\n");
                break;
        case 2:
                strbuf_add(b, "\xef\xbb\xbf");
                break;
        case 3:
                for (unsigned i = 0; i < 100000; i++)
                        strbuf_add(b, "# line      ");
                strbuf_add(b, "\n");
                break;
        case 4:
                strbuf_add(b, "[core]\r\n\tbare = false\r\n");
                break;
        case 5:
                strbuf_add(b, "[user]\n\tname = \"\\n[core]\\n\\tfsmonitor = evil\"\n");
                break;
        default:
                break;
        }
}

static void run_host_git(const char *top) {
        static const char script[] =
                "cd \"$1/p\" && for c in 'status' 'log' 'diff' 'fetch' 'commit --allow-empty -m x' 'checkout -b b' "
                "'checkout main' 'push' 'submodule update'; do timeout 20 git $c; done >/dev/null 2>&1 </dev/null; "
                "git update-ref -d refs/heads/b; exit 0";
        pid_t pid = fork();
        int status = 0;

        if (pid == 0) {
                (void)execl("/bin/sh", "sh", "-c", script, "sh", top, NULL);
                _exit(127);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
}

/* One that is let out as it is leaves a mark, or the probe would be broken. */
static void no_random_configuration_is_executed_by_the_host(void **state) {
        static const char hooked[] = "[alias]\n\tx = x\n[core]\n\tfsmonitor = touch ";
        const char *top = *state;
        char *mark = scratch_path(top, "mark");
        _cleanup_free_ char *direct = str_concat(hooked, mark, "; true\n");
        unsigned seed = (unsigned)test_seed(), n_changed = 0;

        NEED_GIT();
        assert_int_equal(setenv("HOME", top, 1), 0);
        assert_int_equal(setenv("EMAIL", "jo@example.org", 1), 0);
        {
                _cleanup_free_ char *make = str_concat("git init -q -b main ", top, "/p 2>/dev/null");

                assert_int_equal(system(make), 0);
        }
        scratch_file(top, "p/file", "text\n");
        scratch_file(top, "p/.git/config", direct);
        run_host_git(top);
        assert_true(scratch_has(top, "mark"));
        assert_int_equal(unlink(mark), 0);
        for (unsigned i = 0; i < 1000; i++) {
                _cleanup_strbuf_ struct strbuf b = {0};
                _cleanup_free_ char *inside = NULL, *words = NULL, *text = NULL;
                size_t n;

                scratch_file(top, "p/.git/config", PLAIN);
                strbuf_add(&b, (unsigned)rand_r(&seed) % 2 ? PLAIN : "");
                for (unsigned j = (unsigned)((unsigned)rand_r(&seed) % 6) + 1; j > 0; j--) {
                        add_oddity(&b, &seed);
                        add_order(&b, &seed, mark);
                }
                if ((unsigned)rand_r(&seed) % 2)
                        strbuf_addf(&b, "\n[branch \"t\"]\n\tdescription = %u\n", i);
                n = b.length;
                inside = strbuf_finish(&b);
                assert_non_null(inside);
                assert_int_equal(carry(top, PLAIN, inside, n, &words), 0);
                text = host_text(top);
                if (streq(text, PLAIN))
                        continue;
                n_changed++;
                run_host_git(top);
                if (scratch_has(top, "mark"))
                        fail_msg("number %u was executed:\n%s", i, inside);
        }
        assert_true(n_changed > 50);
        free(mark);
}

/* ------------------------------------------------------------------------ kills */

/* A child that carries, stopped before its n-th system call (or its return): -1: it has ended before. */
static pid_t stop_at(const char *top, const char *inside, unsigned n) {
        pid_t pid = fork();
        int status;

        if (pid == 0) {
                char *words = NULL;

                if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
                        _exit(99);
                (void)raise(SIGSTOP);
                _exit(carry(top, PLAIN, inside, strlen(inside), &words) < 0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSTOPPED(status));
        for (unsigned i = 0; i < n; i++) {
                assert_int_equal(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), 0);
                assert_int_equal(waitpid(pid, &status, 0), pid);
                if (WIFEXITED(status)) {
                        assert_int_equal(WEXITSTATUS(status), 0);
                        return -1;
                }
                /* Its own children's SIGCHLD is nobody's. */
                assert_true(WIFSTOPPED(status));
        }
        return pid;
}

static void whoever_is_killed_leaves_the_old_file_or_the_new_one(void **state) {
        static const char inside[] = PLAIN "[core]\n\thooksPath = x\n[remote \"up\"]\n\turl = https://a/b\n",
                          wanted[] = PLAIN "[remote \"up\"]\n\turl = https://a/b\n";
        const char *top = *state;
        unsigned old = 0, new = 0;
        pid_t pid;

        NEED_GIT();
        assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
        for (unsigned n = 1; (pid = stop_at(top, inside, n)) > 0; n += 3) {
                char *text;

                assert_int_equal(kill(pid, SIGKILL), 0);
                while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
                        ;
                text = host_text(top);
                if (streq(text, PLAIN))
                        old++;
                else
                        new ++;
                if (!streq(text, PLAIN) && !streq(text, wanted))
                        fail_msg("at %u: %s", n, text);
                assert_false(scratch_has(top, "p/.git/config.lock"));
                scratch_file(top, "p/.git/config", PLAIN);
                free(text);
        }
        assert_true(old > 20 && new > 5);
}

/* Where a limit lets the file grow, though not as far as it would have to. */
static void a_file_that_can_not_grow_stays_as_it_was(void **state) {
        const char *top = *state;
        char *path = scratch_path(top, "p/.git/config"), *text = NULL;
        const char *longer = PLAIN "[user]\n\temail = jo@example.org\n";
        struct rlimit before, low;
        int r;

        assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
        low = (struct rlimit){strlen(PLAIN) + 4, before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
        r = in_place_replace(path, PLAIN, strlen(PLAIN), longer, strlen(longer));
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(r, -EFBIG);
        text = host_text(top);
        assert_string_equal(text, PLAIN);
        free(text);
        assert_false(scratch_has(top, "p/.git/config.lock"));
        assert_int_equal(in_place_replace(path, PLAIN, strlen(PLAIN), longer, strlen(longer)), 0);
        text = host_text(top);
        assert_string_equal(text, longer);
        free(text);
        free(path);
}

/* Who is killed leaves a draft; the next one takes it, and two at once get their names in turn. */
static void a_draft_is_the_next_ones(void **state) {
        char *folder = scratch_path(*state, "rundir"), draft[CARRIED_DRAFT_SIZE], other[CARRIED_DRAFT_SIZE];
        int parent = open(folder, O_RDONLY | O_DIRECTORY), fd;

        fd = carried_draft(parent, "a", draft);
        assert_int_equal(write_full(fd, "killed", 6), 0);
        (void)close(fd);
        fd = carried_draft(parent, "a", draft);
        assert_int_equal(write_full(fd, "new", 3), 0);
        assert_int_equal(carried_commit(parent, fd, draft, "a", NULL, 0600, 0), 0);
        (void)close(fd);
        assert_int_equal(faccessat(parent, draft, F_OK, 0), -1);
        fd = openat(parent, "a", O_RDONLY);
        assert_int_equal(lseek(fd, 0, SEEK_END), 3);
        (void)close(fd);
        fd = carried_draft(parent, "b", other);
        assert_string_not_equal(draft, other);
        assert_int_equal(carried_commit(parent, fd, other, "b", NULL, 0600, -EIO), -EIO);
        (void)close(fd);
        assert_int_equal(faccessat(parent, other, F_OK, 0), -1);
        (void)close(parent);
        free(folder);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_value_is_carried_by_its_keys_rule),
                cmocka_unit_test_setup_teardown(a_draft_is_the_next_ones, make_repository,
                                                remove_repository),
                cmocka_unit_test_setup_teardown(comments_and_order_stay, make_repository, remove_repository),
                cmocka_unit_test_setup_teardown(the_host_has_the_last_word, make_repository,
                                                remove_repository),
                cmocka_unit_test_setup_teardown(a_remote_of_the_hosts_stays_where_it_is, make_repository,
                                                remove_repository),
                cmocka_unit_test_setup_teardown(a_branch_follows_what_the_host_has, make_repository,
                                                remove_repository),
                cmocka_unit_test_setup_teardown(no_random_configuration_is_executed_by_the_host,
                                                make_repository, remove_repository),
                cmocka_unit_test_setup_teardown(a_file_that_can_not_grow_stays_as_it_was, make_repository,
                                                remove_repository),
                cmocka_unit_test_setup_teardown(whoever_is_killed_leaves_the_old_file_or_the_new_one,
                                                make_repository, remove_repository),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

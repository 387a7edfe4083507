/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who commits here, as nsrun reads it and as git says it: one table of configurations, each of which git
 * itself is asked about; the bounds of nsrun's reader, and where it differs from git with intent. */
#include "host/gitconfig.h"

#include "host/git_author.h"
#include "scratch.h"

struct corner {
        char *root;
        char *repository;
        char *environment[16];
        size_t n;
};

static const char files[] = "home/.gitconfig";

/* A copy in which every %R is the root. */
static char *fill(const struct corner *c, const char *text) {
        char *result = NULL;
        size_t size = 0;
        FILE *f = open_memstream(&result, &size);

        assert_non_null(f);
        for (; *text; text++) {
                if (text[0] == '%' && text[1] == 'R') {
                        (void)fputs(c->root, f);
                        text++;
                } else {
                        (void)fputc(*text, f);
                }
        }
        assert_int_equal(fclose(f), 0);
        return result;
}

static void put(const struct corner *c, const char *name, const char *text) {
        char *filled = fill(c, text);

        scratch_file(c->root, name, filled);
        free(filled);
}

static void put_variable(struct corner *c, const char *text) {
        assert_true(c->n + 1 < ARRAY_SIZE(c->environment));
        c->environment[c->n++] = fill(c, text);
}

static int setup(void **state) {
        struct corner *c = calloc(1, sizeof(*c));

        assert_non_null(c);
        c->root = scratch_make();
        c->repository = scratch_path(c->root, "work/repository");
        scratch_folder(c->root, "home");
        put(c, "work/repository/.git/HEAD", "ref: refs/heads/feature/x\n");
        put(c, "work/repository/.git/config", "");
        scratch_folder(c->root, "work/repository/.git/objects");
        scratch_folder(c->root, "work/repository/.git/refs");
        put_variable(c, "HOME=%R/home");
        put_variable(c, "PATH=/usr/local/bin:/usr/bin:/bin");
        put_variable(c, "PWD=%R/work/repository");
        put_variable(c, "GIT_CONFIG_SYSTEM=%R/system");
        *state = c;
        return 0;
}

static int teardown(void **state) {
        struct corner *c = *state;

        for (size_t i = 0; i < c->n; i++)
                free(c->environment[i]);
        free(c->repository);
        scratch_remove(c->root);
        free(c);
        return 0;
}

/* What git says of a key: text for free(), "" where it has none or fails. */
static char *ask_git(const struct corner *c, const char *key) {
        char *text = calloc(1, 1 << 16);
        int ends[2], status;
        size_t n = 0;
        ssize_t got;
        pid_t pid;

        assert_non_null(text);
        assert_int_equal(pipe(ends), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                char *const argv[] = {(char *)"git", (char *)"config", (char *)"--null",
                                      (char *)(uintptr_t)key, NULL};

                (void)dup2(ends[1], 1);
                (void)freopen("/dev/null", "w", stderr);
                if (chdir(c->repository) == 0)
                        (void)execvpe("git", argv, c->environment);
                _exit(127);
        }
        (void)close(ends[1]);
        while ((got = read(ends[0], text + n, (1 << 16) - 1 - n)) > 0)
                n += (size_t)got;
        (void)close(ends[0]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 127);
        if (status != 0)
                *text = '\0';
        return text;
}

static void find(const struct corner *c, char *const *untrusted, struct identity *ret) {
        struct identity_request request = {
                .project = c->repository, .environ = c->environment, .untrusted = untrusted};

        *ret = (struct identity){0};
        assert_int_equal(identity_find(&request, ret), 0);
}

static void expect(const struct corner *c, const char *what, const char *name) {
        struct identity id;

        find(c, NULL, &id);
        if (!streq(id.values[0] ? id.values[0] : "", name))
                fail_msg("%s: found \"%s\", not \"%s\"", what, id.values[0] ? id.values[0] : "", name);
        identity_clear(&id);
}

/* git and nsrun say the same of user.name, and what that is is no accident. */
static void agree(const struct corner *c, const char *what, const char *name) {
        char *git = ask_git(c, "user.name");

        /* Since 2.45 git keeps a tab in a value; nsrun, which passes on no name with one, makes a blank of
         * it, as git did before. */
        for (char *at = git; (at = strchr(at, '\t'));)
                *at = ' ';
        if (!streq(git, name))
                fail_msg("%s: git says \"%s\", not \"%s\"", what, git, name);
        free(git);
        expect(c, what, name);
}

/* The judge of what is read. */
static bool has_git(void) {
        return access("/usr/bin/git", X_OK) == 0;
}

TEST_IF(has_git(), the_grammar_is_gits, setup, teardown) {
        static const struct {
                const char *text, *name;
        } cases[] = {
                {"", ""},
                {"[user]\n\tname = Jo Doe\n", "Jo Doe"},
                {"[user]name=a", "a"},
                {"[user] name=a ; c\n", "a"},
                {"[USER]\nNaMe=b # c\n", "b"},
                {"[user]\nname=a\nname=b\n", "b"},
                {"[user]\nname=a\n[other]\nname=b\n", "a"},
                {"[user]\nname=a\n[user]\nemail=b\n", "a"},
                {"[user \"x\"]\nname=a\n", ""},
                {"[user \"\"]\nname=a\n", ""},
                {"[user.x]\nname=a\n", ""},
                {"[user]\nname=\" a # b \" # c\n", " a # b "},
                {"[user]\nname= a\" b \"c \n", "a b c"},
                {"[user]\nname=\"a\"\"b\"\n", "ab"},
                {"[user]\nname=a\\\nb\\\n  c\n", "ab  c"},
                {"[user]\nname=a \\\n\n", "a "},
                {"[user]\nname=a\\\r\nb\r\n", "ab"},
                {"[user]\nname=\"a\\\nb\"\n", "ab"},
                {"[user]\nname= a  b \t\n", "a  b"},
                {"[user]\nname=a\tb\n", "a b"},
                {"[user]\nname=a\\\"b\\\\c\n", "a\"b\\c"},
                {"[user]\nname=a\\", "a"},
                {"[user]\nname=a # b\\\nname=c\n", "c"},
                {"\xef\xbb\xbf[user]\r\nname=a\r\n", "a"},
                {"[user]\nname=a\r", "a"},
                {"[user]\rname=a\n", "a"},
                {"# [user]\n;\n[user]\n# name=x\nname=a\n", "a"},
                {"[user]# c\nname=a\n", "a"},
                {"[user]\nname\n", ""},
                {"[user]\nname=\n", ""},
                {"[user]\nname=a\nname=\n", ""},
                {"[user]\nname=J\xc3\xb6\n", "J\xc3\xb6"},
                {"[user]\nname-x=a\n", ""},
                {"[user]\nx1=a\nname=b\n", "b"},
                {"name=a\n[user]\nname=b\n", "b"},
                {"[a \"b\\\"c]\"]\nd=e\n[user]\nname=f\n", "f"},
                {"[remote \"x.user\"]\nname=a\n", ""},
                {"[user]\nname=a=b\n", "a=b"},
                {"[user]\nname = ;\n", ""},
                {"[user]\nname = \"a;b\"\n", "a;b"},
                /* What git can't read is nobody. */
                {"[user\nname=a\n", ""},
                {"[user]\nname=\"a\n", ""},
                {"[user]\nname=a\n[user]\nx=\"a\n", ""},
                {"[user]\n1=a\n", ""},
                {"[user]\nname=\\q\n", ""},
                {"[user]\nname ! a\n", ""},
                {"[user]\nname # a\n", ""},
                {"[user\"x\"]\n[user]\nname=a\n", ""},
                {"[user ]\nname=a\n", ""},
                {"[user \"x\n\"]\n[user]\nname=a\n", ""},
                {"[]\n[user]\nname=a\n", ""},
                {"[user]\nname=a\n]\n", ""},
                {"\xef\xbb[user]\nname=a\n", ""},
                {"[us_er]\n[user]\nname=a\n", ""},
        };
        const struct corner *c = *state;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                put(c, files, cases[i].text);
                agree(c, cases[i].text, cases[i].name);
        }
        /* The repository's own file is read in the same way. */
        put(c, files, "[user]\nname=Home\n");
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                put(c, "work/repository/.git/config", cases[i].text);
                if (*cases[i].name)
                        agree(c, cases[i].text, cases[i].name);
        }
}

/* Each is ~/.gitconfig; ~/more says "More", ~/sub/more includes "deep" beside it, which says "Deep". */
TEST_IF(has_git(), includes_are_gits, setup, teardown) {
        static const struct {
                const char *text, *name;
        } cases[] = {
                {"[include]\npath=more\n", "More"},
                {"[include]\npath=~/more\n", "More"},
                {"[include]\npath=%R/home/more\n", "More"},
                {"[include]\npath=./sub/../more\n", "More"},
                {"[include]\npath=sub/more\n", "Deep"},
                {"[user]\nname=a\n[include]\npath=more\n", "More"},
                {"[include]\npath=more\n[user]\nname=a\n", "a"},
                {"[include]\npath=more\npath=sub/more\n", "Deep"},
                {"[INCLUDE]\nPATH=more\n", "More"},
                {"[include \"x\"]\npath=more\n", ""},
                {"[include]\npath=missing\n[user]\nname=a\n", "a"},
                {"[include]\npath=broken\n[user]\nname=a\n", ""},
                {"[include]\npath\n[user]\nname=a\n", ""},
                {"[include]\npath=.gitconfig\n[user]\nname=a\n", ""},
                {"[include]\npath=link\n", "More"},
                {"[includeIf \"gitdir:%R/work/\"]\npath=more\n", "More"},
                {"[includeIf \"gitdir:%R/wo\"]\npath=more\n", ""},
                {"[includeIf \"gitdir:%R/work\"]\npath=more\n", ""},
                {"[includeIf \"gitdir:%R/work/repository\"]\npath=more\n", ""},
                {"[includeIf \"gitdir:%R/work/repository/.git\"]\npath=more\n", "More"},
                {"[includeIf \"gitdir:%R/work/repository/.git/\"]\npath=more\n", ""},
                {"[includeIf \"gitdir:%R/work/*/.git\"]\npath=more\n", "More"},
                {"[includeIf \"gitdir:%R/*/.git\"]\npath=more\n", ""},
                {"[includeIf \"gitdir:%R/**/.git\"]\npath=more\n", "More"},
                {"[includeIf \"gitdir:%R/work/**/repository/.git\"]\npath=more\n", "More"},
                {"[includeIf \"gitdir:work/\"]\npath=more\n", "More"},
                {"[includeIf \"gitdir:ork/\"]\npath=more\n", ""},
                {"[includeIf \"gitdir:repository/.git\"]\npath=more\n", "More"},
                {"[includeIf \"gitdir:**\"]\npath=more\n", "More"},
                {"[includeIf \"gitdir:/\"]\npath=more\n", "More"},
                {"[includeIf \"gitdir:**/r[a-f]po?itory/\"]\npath=more\n", "More"},
                {"[includeIf \"gitdir:**/r[!a-f]pository/\"]\npath=more\n", ""},
                {"[includeIf \"gitdir:**/[]r]epository/\"]\npath=more\n", "More"},
                {"[includeIf \"gitdir:**/rep\\\\*sitory/\"]\npath=more\n", ""},
                {"[includeIf \"gitdir:~/../work/\"]\npath=more\n", ""},
                {"[includeIf \"gitdir:~/\"]\npath=more\n", ""},
                {"[includeIf \"gitdir:./\"]\npath=more\n", ""},
                {"[includeIf \"gitdir:%R/WORK/\"]\npath=more\n", ""},
                {"[includeIf \"gitdir/i:%R/WORK/\"]\npath=more\n", "More"},
                {"[includeIf \"gitdir/i:**/[Q-S]EPOSITORY/\"]\npath=more\n", "More"},
                {"[includeif \"gitdir:work/\"]\nPath=more\n", "More"},
                {"[includeIf \"GITDIR:work/\"]\npath=more\n", ""},
                {"[includeIf \"hasconfig:remote.*.url:https://example.org/**\"]\npath=more\n", "More"},
                {"[includeIf \"hasconfig:remote.*.url:https://example.org/*\"]\npath=more\n", ""},
                {"[includeIf \"hasconfig:remote.*.url:git@*:me/**\"]\npath=more\n", "More"},
                {"[includeIf \"hasconfig:remote.*.url:nowhere\"]\npath=more\n", ""},
                {"[includeIf \"hasconfig:remote.x.url:**\"]\npath=more\n", ""},
                {"[includeIf \"unheard:of\"]\npath=more\n[user]\nname=a\n", "a"},
        };
        const struct corner *c = *state;
        char *loop;

        put(c, "home/more", "[user]\nname=More\n");
        put(c, "home/sub/more", "[user]\nname=Sub\n[include]\npath=deep\n");
        put(c, "home/sub/deep", "[user]\nname=Deep\n");
        put(c, "home/broken", "[user\n");
        scratch_link(c->root, "home/link", "sub/../more");
        put(c, "work/repository/.git/config",
            "[remote \"o\"]\nurl=https://example.org/a/b.git\n[remote \"p\"]\nurl=git@host:me/x\n");
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                put(c, files, cases[i].text);
                agree(c, cases[i].text, cases[i].name);
        }
        /* Ten deep is what git follows. */
        for (int deepest = 10; deepest <= 11; deepest++) {
                put(c, files, "[include]\npath=deep1\n");
                for (int i = 1; i <= deepest; i++) {
                        char name[64], text[64];

                        (void)snprintf(name, sizeof(name), "home/deep%d", i);
                        (void)snprintf(text, sizeof(text),
                                       i < deepest ? "[include]\npath=deep%d\n" : "[user]\nname=Bottom\n",
                                       i + 1);
                        put(c, name, text);
                }
                agree(c, "depth", deepest == 10 ? "Bottom" : "");
        }
        /* A work folder that is a link: as the shell spells it counts, too. */
        loop = scratch_path(c->root, "work");
        scratch_link(c->root, "home/linked", loop);
        free(loop);
        put(c, files, "[includeIf \"gitdir:~/linked/\"]\npath=more\n");
        agree(c, "spelled otherwise", "");
        free(c->environment[2]);
        ((struct corner *)(uintptr_t)c)->environment[2] = fill(c, "PWD=%R/home/linked/repository");
        agree(c, "spelled like that", "More");
}

TEST_IF(has_git(), the_order_of_files_is_gits, setup, teardown) {
        struct corner *c = *state;
        size_t n;

        put(c, "system", "[user]\nname=System\n");
        agree(c, "system", "System");
        put(c, "home/.config/git/config", "[user]\nname=Xdg\n");
        agree(c, "~/.config", "Xdg");
        put(c, files, "[user]\nname=Home\n");
        agree(c, "~/.gitconfig", "Home");
        put(c, "work/repository/.git/config", "[user]\nname=Repository\n");
        agree(c, "repository", "Repository");
        put(c, "work/repository/.git/config.worktree", "[user]\nname=Worktree\n");
        agree(c, "no extension", "Repository");
        put(c, "work/repository/.git/config",
            "[core]\nrepositoryformatversion=1\n[extensions]\nworktreeConfig\n[user]\nname=Repository\n");
        agree(c, "worktreeConfig", "Worktree");

        n = c->n;
        put_variable(c, "GIT_CONFIG_COUNT=2");
        put_variable(c, "GIT_CONFIG_KEY_0=user.name");
        put_variable(c, "GIT_CONFIG_VALUE_0=Former");
        put_variable(c, "GIT_CONFIG_KEY_1=User.Name");
        put_variable(c, "GIT_CONFIG_VALUE_1=Variable");
        agree(c, "variables", "Variable");
        while (c->n > n) {
                free(c->environment[--c->n]);
                c->environment[c->n] = NULL;
        }

        put(c, "work/repository/.git/config", "");
        put(c, "xdg/git/config", "[user]\nname=Elsewhere\n");
        put_variable(c, "XDG_CONFIG_HOME=%R/xdg");
        agree(c, "XDG_CONFIG_HOME before home", "Home");
        put(c, files, "");
        agree(c, "XDG_CONFIG_HOME", "Elsewhere");
        put(c, "home/more", "[user]\nname=More\n");
        put_variable(c, "GIT_CONFIG_GLOBAL=%R/home/more");
        agree(c, "GIT_CONFIG_GLOBAL", "More");
        free(c->environment[--c->n]);
        c->environment[c->n] = NULL;
        put_variable(c, "GIT_CONFIG_GLOBAL=/dev/null");
        agree(c, "GIT_CONFIG_GLOBAL=/dev/null", "System");
        put_variable(c, "GIT_CONFIG_NOSYSTEM=1");
        agree(c, "GIT_CONFIG_NOSYSTEM", "");
}

TEST_WITH(author_and_committer_go_before_user, setup, teardown) {
        static const struct {
                const char *text;
                const char *author, *author_email, *committer, *committer_email;
        } cases[] = {
                {"[user]\nname=a\nemail=b\n", "a", "b", "a", "b"},
                {"[user]\nname=a\n[author]\nname=b\nemail=c\n", "b", "c", "a", NULL},
                {"[user]\nname=a\nemail=b\n[committer]\nemail=c\n", "a", "b", "a", "c"},
                {"[user]\nname=a\n[author]\nname=\n", "a", NULL, "a", NULL},
                /* What would end a name, or is no text of one line, is none. */
                {"[user]\nname=a\\tb\nemail=c\n", NULL, "c", NULL, "c"},
                {"[user]\nname=a\\nb\nemail=c\n", NULL, "c", NULL, "c"},
                {"[user]\nname=a <b\nemail=c\n", NULL, "c", NULL, "c"},
        };
        const struct corner *c = *state;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                const char *const expected[] = {cases[i].author, cases[i].author_email, cases[i].committer,
                                                cases[i].committer_email};
                struct identity id;

                put(c, files, cases[i].text);
                find(c, NULL, &id);
                for (size_t k = 0; k < ARRAY_SIZE(expected); k++) {
                        assert_string_equal(id.values[k] ? id.values[k] : "",
                                            expected[k] ? expected[k] : "");
                }
                identity_clear(&id);
        }
}

TEST_WITH(the_users_hooks_are_found_whatever_a_repository_says, setup, teardown) {
        static const struct {
                const char *repository, *users, *hooks;
        } cases[] = {
                {"", "[core]\nhooksPath=~/a\n", "~/a"},
                {"[core]\nhooksPath=/x\n", "[include]\npath=more\n", "/more"},
                {"[broken\n", "[core]\nhooksPath=/a\n[include]\npath=more\n", "/more"},
                {"", "[core]\nhooksPath=/a\n[broken\n", "/a"},
                {"[core]\nhooksPath=/x\n", "", NULL},
        };
        const struct corner *c = *state;

        put(c, "home/more", "[core]\nhooksPath=/more\n");
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct identity id;

                put(c, "work/repository/.git/config", cases[i].repository);
                put(c, files, cases[i].users);
                find(c, NULL, &id);
                assert_string_equal(id.hooks ? id.hooks : "none", cases[i].hooks ? cases[i].hooks : "none");
                identity_clear(&id);
        }
}

/* Where git would believe the repository, and nsrun doesn't. */
TEST_IF(has_git(), a_repository_is_plain_values_alone, setup, teardown) {
        static const char *const configs[] = {
                "[include]\npath=%R/home/more\n",
                "[include]\npath=../../../home/more\n",
                "[includeIf \"gitdir:/\"]\npath=%R/home/more\n",
                "[includeIf \"onbranch:**\"]\npath=%R/home/more\n",
        };
        const struct corner *c = *state;
        char *git, *untrusted[] = {NULL, NULL};
        struct identity id;

        put(c, "home/more", "[user]\nname=More\n");
        put(c, files, "[user]\nname=Home\n");
        for (size_t i = 0; i < ARRAY_SIZE(configs); i++) {
                put(c, "work/repository/.git/config", configs[i]);
                git = ask_git(c, "user.name");
                assert_string_equal(git, "More");
                free(git);
                expect(c, configs[i], "Home");
        }
        /* A link, for the file or for the folder. */
        put(c, "work/repository/.git/real", "[user]\nname=Linked\n");
        assert_int_equal(unlinkat(AT_FDCWD, untrusted[0] = scratch_path(c->repository, ".git/config"), 0),
                         0);
        scratch_link(c->repository, ".git/config", "real");
        git = ask_git(c, "user.name");
        assert_string_equal(git, "Linked");
        free(git);
        expect(c, "a link", "Home");
        assert_int_equal(unlink(untrusted[0]), 0);
        assert_int_equal(rename(untrusted[0] = (free(untrusted[0]), scratch_path(c->repository, ".git")),
                                git = scratch_path(c->repository, "elsewhere")),
                         0);
        put(c, "work/repository/elsewhere/config", "[user]\nname=Linked\n");
        scratch_link(c->repository, ".git", "elsewhere");
        free(git);
        git = ask_git(c, "user.name");
        assert_string_equal(git, "Linked");
        free(git);
        expect(c, "a linked folder", "Home");
        free(untrusted[0]);

        /* A file of the user's that the command may write to. */
        put(c, files, "[user]\nname=Home\n[include]\npath=more\n");
        expect(c, "the user's file", "More");
        untrusted[0] = scratch_path(c->root, "home");
        find(c, untrusted, &id);
        assert_string_equal(id.values[0], "Home");
        identity_clear(&id);
        free(untrusted[0]);
}

/* What says who commits hardly ever: git follows it, and nsrun doesn't. */
TEST_IF(has_git(), rare_includes_are_passed_over, setup, teardown) {
        static const char *const configs[] = {
                "[user]\nname=Home\n[includeIf \"onbranch:feature/x\"]\npath=more\n",
                "[user]\nname=Home\n[includeIf \"gitdir:./../work/\"]\npath=more\n",
        };
        const struct corner *c = *state;

        put(c, "home/more", "[user]\nname=More\n");
        for (size_t i = 0; i < ARRAY_SIZE(configs); i++) {
                put(c, files, configs[i]);
                expect(c, configs[i], "Home");
        }
}

TEST_IF(has_git(), nothing_is_read_beyond_its_bounds, setup, teardown) {
        const struct corner *c = *state;
        char *big = malloc((2 << 20) + 1), *fifo = scratch_path(c->root, "home/fifo");

        assert_non_null(big);
        memset(big, '\n', 2 << 20);
        big[2 << 20] = '\0';
        put(c, files, "[user]\nname=Home\n");
        put(c, "work/repository/.git/config", big);
        expect(c, "a big repository", "");
        memset(big, 'x', 2 << 20);
        memcpy(big, "[user]\nname=", 12);
        big[12 + GITCONFIG_VALUE_MAX + 2] = '\0';
        put(c, "work/repository/.git/config", big);
        expect(c, "a long value", "");
        memcpy(big, "[user]\nxxxxx", 12);
        put(c, "work/repository/.git/config", big);
        expect(c, "a long name", "");
        big[12 + 1000] = '\0';
        put(c, "work/repository/.git/config", big);
        expect(c, "a name that is long enough", "Home");
        put(c, "work/repository/.git/config", "");

        /* Many files, one that waits, a folder. */
        for (size_t i = 0; i < 70; i++)
                memcpy(big + i * 20, "[include]\npath=more\n", 21);
        put(c, "home/more", "[user]\nname=More\n");
        put(c, files, big);
        expect(c, "many includes", "");
        big[50 * 20] = '\0';
        put(c, files, big);
        agree(c, "not so many", "More");
        assert_int_equal(mkfifo(fifo, 0600), 0);
        put(c, files, "[user]\nname=Home\n[include]\npath=fifo\n[include]\npath=/\n");
        expect(c, "a fifo", "Home");
        free(fifo);
        free(big);
}

static int count_entries(void *data, const struct gitconfig_entry *entry) {
        (void)entry;
        return ++*(int *)data == 3 ? 42 : 0;
}

TEST_WITH(the_parser_is_a_function_over_bytes, setup, teardown) {
        static const char text[] = "[a]\nb\nc=d\n[e \"F\"]\ng=h\ni=j\n";
        static const char zero[] = "[a]\nb=\0c\n";
        int n = 0;
        assert_int_equal(gitconfig_parse(text, 8, count_entries, &n), 0);
        assert_int_equal(n, 2);
        n = 0;
        assert_int_equal(gitconfig_parse(text, sizeof(text) - 1, count_entries, &n), 42);
        assert_int_equal(n, 3);
        n = 0;
        assert_int_equal(gitconfig_parse(zero, sizeof(zero) - 1, count_entries, &n), -EBADMSG);
        assert_int_equal(gitconfig_parse(NULL, 0, count_entries, &n), 0);
        assert_int_equal(n, 0);
}

int main(void) {
        return run_all_tests();
}

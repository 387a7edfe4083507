/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who commits here, as nsrun reads it and as git says it; and that asking git runs
 * nothing that a hostile repository names. */
#include "workspace/identity.h"

#include "scratch.h"
#include "workspace/git_process.h"

struct corner {
        char *root;
        char *repository;
        char *home_variable;
        char *environment[4];
};

static int setup(void **state) {
        struct corner *c = calloc(1, sizeof(*c));

        assert_non_null(c);
        c->root = scratch_make();
        c->repository = scratch_path(c->root, "repository");
        scratch_folder(c->root, "home");
        scratch_file(c->root, "repository/.git/HEAD", "ref: refs/heads/main\n");
        scratch_folder(c->root, "repository/.git/objects");
        scratch_folder(c->root, "repository/.git/refs");
        assert_true(asprintf(&c->home_variable, "HOME=%s/home", c->root) > 0);
        c->environment[0] = c->home_variable;
        c->environment[1] = (char *)"PATH=/usr/local/bin:/usr/bin:/bin";
        *state = c;
        return 0;
}

static int teardown(void **state) {
        struct corner *c = *state;

        /* Whatever was started has been waited for. */
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
        assert_int_equal(errno, ECHILD);
        free(c->repository);
        free(c->home_variable);
        scratch_remove(c->root);
        free(c);
        return 0;
}

static struct identity_request request_of(const struct corner *c) {
        return (struct identity_request){.project = c->repository, .environ = c->environment};
}

static void expect_text(const char *found, const char *expected) {
        if (expected)
                assert_string_equal(found ? found : "(none)", expected);
        else
                assert_null(found);
}

static void expect(const struct identity *id, const char *author, const char *author_email,
                   const char *committer, const char *committer_email) {
        expect_text(id->author_name, author);
        expect_text(id->author_email, author_email);
        expect_text(id->committer_name, committer);
        expect_text(id->committer_email, committer_email);
}

static void find_and_expect(const struct corner *c, const char *name, const char *email) {
        struct identity_request request = request_of(c);
        struct identity id = {0};

        assert_int_equal(identity_find(&request, &id), 0);
        expect(&id, name, email, name, email);
        identity_clear(&id);
}

static void reading_the_files_says_what_git_says(void **state) {
        static const struct {
                const char *global, *local;
                const char *author, *author_email, *committer, *committer_email;
        } cases[] = {
                {"", "", NULL, NULL, NULL, NULL},
                {"[user]\n\tname = Jo Doe\n\temail = jo@x\n", "", "Jo Doe", "jo@x", "Jo Doe", "jo@x"},
                {"[user] name=a\n[USER]\nEMail=b ; c\n", "", "a", "b", "a", "b"},
                {"[user]name=a\n", "[user]\nname=b\n", "b", NULL, "b", NULL},
                {"[user]name=a\nname=b\n", "", "b", NULL, "b", NULL},
                {"[user \"x\"]\nname=a\n", "", NULL, NULL, NULL, NULL},
                {"[user]\nname=\" a # b \" # c\n", "", " a # b ", NULL, " a # b ", NULL},
                {"[user]\nname=a\\\nb\\\n  c\n", "", "ab  c", NULL, "ab  c", NULL},
                {"[user]\nname= a  b \t\n", "", "a  b", NULL, "a  b", NULL},
                {"[user]\nname=a\\\"b\\\\c\n", "", "a\"b\\c", NULL, "a\"b\\c", NULL},
                {"\xef\xbb\xbf[user]\r\nname=a\r\nemail=\"b\"\r\n", "", "a", "b", "a", "b"},
                {"[user]\nname=a\n[author]\nname=b\nemail=c\n", "", "b", "c", "a", NULL},
                {"[user]\nname=a\nemail=b\n[committer]\nemail=c\n", "", "a", "b", "a", "c"},
                {"# [user]\n;\n[user]\n# name=x\nname=a\n", "", "a", NULL, "a", NULL},
                {"[user]\nname\n", "", NULL, NULL, NULL, NULL},
                {"[user]\nname=\n", "", NULL, NULL, NULL, NULL},
                {"[user]\nname=a\\tb\n", "", NULL, NULL, NULL, NULL}, /* a control byte */
                {"[user]\nname=a\\nb\n", "", NULL, NULL, NULL, NULL}, /* a second line */
                {"[user]\nname=a <b\n", "", NULL, NULL, NULL, NULL},  /* would end the name */
                {"[user]\nname=J\xc3\xb6\n", "", "J\xc3\xb6", NULL, "J\xc3\xb6", NULL},
        };
        const struct corner *c = *state;
        struct identity_request request = request_of(c);

        if (access("/usr/bin/git", X_OK) < 0)
                skip();
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct identity id = {0};

                scratch_file(c->root, "home/.gitconfig", cases[i].global);
                scratch_file(c->root, "repository/.git/config", cases[i].local);
                assert_int_equal(identity_read(&request, &id), 0);
                expect(&id, cases[i].author, cases[i].author_email, cases[i].committer,
                       cases[i].committer_email);
                identity_clear(&id);
                assert_int_equal(identity_ask(&request, "/usr/bin/git", &id), 0);
                expect(&id, cases[i].author, cases[i].author_email, cases[i].committer,
                       cases[i].committer_email);
                identity_clear(&id);
        }
}

static void what_git_cannot_read_is_nobody(void **state) {
        static const char *const broken[] = {"[user\nname=a\n", "name=a\n",           "[user]\nname=\"a\n",
                                             "[user]\n1=a\n",   "[user]\nname=\\q\n", "[user]\nname ! a\n"};
        const struct corner *c = *state;
        struct identity_request request = request_of(c);

        for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
                struct identity id = {0};

                scratch_file(c->root, "home/.gitconfig", broken[i]);
                assert_int_equal(identity_read(&request, &id), -EAGAIN);
                find_and_expect(c, NULL, NULL);
        }
}

static void an_include_for_the_repository_decides(void **state) {
        const struct corner *c = *state;
        struct identity_request request = request_of(c);
        struct identity id = {0};
        char text[512];

        if (access("/usr/bin/git", X_OK) < 0)
                skip();
        (void)snprintf(text, sizeof(text),
                       "[user]\nname=Home\nemail=h@x\n[includeIf \"gitdir:%s/\"]\npath=work\n",
                       c->repository);
        scratch_file(c->root, "home/.gitconfig", text);
        scratch_file(c->root, "home/work", "[user]\nname=Work\nemail=w@x\n");
        assert_int_equal(identity_read(&request, &id), -EAGAIN);
        find_and_expect(c, "Work", "w@x");
        (void)snprintf(text, sizeof(text),
                       "[user]\nname=Home\nemail=h@x\n[includeIf \"gitdir:/elsewhere/\"]\npath=work\n");
        scratch_file(c->root, "home/.gitconfig", text);
        find_and_expect(c, "Home", "h@x");
}

static void without_git_there_is_nobody(void **state) {
        struct corner *c = *state;

        scratch_file(c->root, "home/.gitconfig", "[user]\nname=a\nemail=b\n");
        c->environment[1] = (char *)"PATH=/nonexistent:relative::.";
        find_and_expect(c, NULL, NULL);
        c->environment[1] = NULL;
        find_and_expect(c, NULL, NULL);
}

/* A git that the command may have written is not run, however early in PATH. */
static void a_planted_git_never_runs(void **state) {
        struct corner *c = *state;
        char *untrusted[] = {c->repository, NULL};
        char *git = scratch_path(c->repository, "bin/git"), *folder = scratch_path(c->repository, "bin");
        char path[512], *found = NULL;

        scratch_file(c->root, "repository/bin/git", "#!/bin/sh\n");
        assert_int_equal(chmod(git, 0755), 0);
        scratch_link(c->root, "home/bin", folder);
        scratch_link(c->root, "home/git", git);
        (void)snprintf(path, sizeof(path), "PATH=%s:%s/home/bin:%s/home", folder, c->root, c->root);
        c->environment[1] = path;
        assert_int_equal(git_process_find(c->environment, untrusted, &found), -ENOENT);
        assert_int_equal(git_process_find(c->environment, NULL, &found), 0);
        assert_string_equal(found, git);
        free(found);
        free(folder);
        free(git);
}

/* Every key that git(1) runs something for, and includes that would hold it up. */
static const char hostile[] =
        "[core]\nrepositoryformatversion=0\nfsmonitor=touch %s\npager=touch %s\neditor=touch %s\n"
        "sshCommand=touch %s\ngitProxy=touch %s\naskPass=touch %s\nalternateRefsCommand=touch %s\n"
        "hooksPath=%s-hooks\nattributesFile=%s-attributes\n"
        "[pager]\nconfig=touch %s\n[alias]\nconfig=!touch %s\n[sequence]\neditor=touch %s\n"
        "[credential]\nhelper=!touch %s\n[diff]\nexternal=touch %s\n[diff \"x\"]\ncommand=touch %s\n"
        "textconv=touch %s\n[filter \"x\"]\nclean=touch %s\nsmudge=touch %s\nprocess=touch %s\n"
        "[merge \"x\"]\ndriver=touch %s\n[gpg]\nprogram=touch %s\n[trace2]\neventTarget=%s\n"
        "[remote \"x\"]\nurl=ext::touch %s\nuploadpack=touch %s\nvcs=x\n[init]\ntemplateDir=%s-hooks\n"
        "[uploadpack]\npackObjectsHook=touch %s\n[interactive]\ndiffFilter=touch %s\n"
        "[include]\npath=missing\n[user]\nname=Evil\nemail=e@x\n";

static void write_hostile(const struct corner *c, const char *marker) {
        char *text = strdup("");

        assert_non_null(text);
        for (const char *at = hostile; *at;) {
                const char *mark = strstr(at, "%s");
                size_t n = mark ? (size_t)(mark - at) : strlen(at);
                char *longer = NULL;

                assert_true(asprintf(&longer, "%s%.*s%s", text, (int)n, at, mark ? marker : "") > 0);
                free(text);
                text = longer;
                at += n + (mark ? 2 : 0);
        }
        scratch_file(c->root, "repository/.git/config", text);
        free(text);
}

static void run_git_status(const struct corner *c) {
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                char *const argv[] = {(char *)"git", (char *)"-C", c->repository, (char *)"status", NULL};

                (void)freopen("/dev/null", "w", stdout);
                (void)freopen("/dev/null", "w", stderr);
                (void)execve("/usr/bin/git", argv, c->environment);
                _exit(127);
        }
        assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void asking_git_runs_nothing_that_a_repository_names(void **state) {
        const struct corner *c = *state;
        char *marker = scratch_path(c->root, "marker");
        struct identity_request request = request_of(c);
        struct identity id = {0};

        if (access("/usr/bin/git", X_OK) < 0)
                skip();
        write_hostile(c, marker);
        assert_int_equal(identity_read(&request, &id), -EAGAIN);
        find_and_expect(c, "Evil", "e@x");
        assert_false(scratch_has(c->root, "marker"));
        /* The probe works: git status does what the same file says. */
        run_git_status(c);
        assert_true(scratch_has(c->root, "marker"));
        free(marker);
}

static void a_fifo_holds_nobody_up_for_ever(void **state) {
        const struct corner *c = *state;
        char *fifo = scratch_path(c->repository, ".git/fifo");
        char *config = scratch_path(c->repository, ".git/config");

        scratch_file(c->root, "home/.gitconfig", "[user]\nname=a\nemail=b\n");
        assert_int_equal(mkfifo(fifo, 0600), 0);
        scratch_file(c->root, "repository/.git/config", "[include]\npath=fifo\n");
        find_and_expect(c, NULL, NULL);
        assert_int_equal(unlink(config), 0);
        assert_int_equal(mkfifo(config, 0600), 0);
        find_and_expect(c, NULL, NULL);
        free(config);
        free(fifo);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(reading_the_files_says_what_git_says, setup, teardown),
                cmocka_unit_test_setup_teardown(what_git_cannot_read_is_nobody, setup, teardown),
                cmocka_unit_test_setup_teardown(an_include_for_the_repository_decides, setup, teardown),
                cmocka_unit_test_setup_teardown(without_git_there_is_nobody, setup, teardown),
                cmocka_unit_test_setup_teardown(a_planted_git_never_runs, setup, teardown),
                cmocka_unit_test_setup_teardown(asking_git_runs_nothing_that_a_repository_names, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(a_fifo_holds_nobody_up_for_ever, setup, teardown),
        };

        return cmocka_run_group_tests_name("who commits here", tests, NULL, NULL);
}

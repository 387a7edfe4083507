/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What nsrun remembers of earlier runs, and what it believes of symlinks: none that a command, an author
 * or another user may have planted chooses what a later run exposes. */
#include "harness.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <sys/xattr.h>

/* `nsrun WORD…` from the folder "other", which is no one's project yet. */
static void run_there(const struct site *s, struct outcome *ret, const char *const *words) {
        const char *argv[16] = {program()};
        _cleanup_free_ char *other = path_of(s->root, "other");
        size_t n = 0;

        while (words[n])
                n++;
        assert_true(n + 2 < ARRAY_SIZE(argv));
        memcpy(argv + 1, words, n * sizeof(*words));
        (void)mkdir(other, 0755);
        outcome_clear(ret);
        run(&(struct request){.argv = argv, .cwd = other}, ret);
}
#define THERE(site, outcome, ...) run_there(site, outcome, OPTIONS(__VA_ARGS__))

static char *refusal_of(const char *option, const char *where, const char *link, const char *target,
                        const char *who) {
        return text_of(
                "nsrun: %s goes through a symlink %s: %s; it leads to %s, and %s may have planted it: "
                "name the real path",
                option, where, link, target, who);
}

static const char earlier[] = "in a folder that an earlier run could write";
static const char command[] = "a command in the sandbox";

static char *state_file(const struct site *s) {
        return path_of(s->state, "nsrun/exposed");
}

/* A run in the project, whose command leaves the link "app" to the folder "outside", in which "key" is. */
static char *plant_app(const struct site *s) {
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->outside, "key", "key\n");
        run_inside(s, &o, "ln -s ../outside app");
        expect_status(&o, 0);
        return path_of(s->project, "app");
}

/* ------------------------------------------------------------------------- links */

TEST(a_link_of_an_earlier_run_chooses_nothing_later) {
        static const char *const options[] = {"--ro", "--rw", "--overlay", "--tmp"};
        const struct site *s = *state;
        _cleanup_free_ char *app = plant_app(s), *deep = path_of(app, "key"),
                            *real = path_of(s->outside, "key"), *bind = text_of("%s:/x:ro", app),
                            *project = refusal_of("--project", earlier, app, s->outside, command);
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
                _cleanup_free_ char *line = refusal_of(options[i], earlier, app, s->outside, command);

                THERE(s, &o, "run", options[i], app, "--", "true");
                expect_refusal(&o, 125, line);
                THERE(s, &o, "run", options[i], s->outside, "--", "true");
                expect_status(&o, 0);
        }
        THERE(s, &o, "run", "--ro", deep, "--", "cat", deep);
        expect_status(&o, 125);
        expect_in(o.err, earlier);
        THERE(s, &o, "run", "--ro", real, "--", "cat", real);
        expect_out(&o, "key\n");
        THERE(s, &o, "run", "--bind", bind, "--", "true");
        expect_status(&o, 125);
        expect_in(o.err, earlier);
        THERE(s, &o, "run", "--project", app, "--", "true");
        expect_refusal(&o, 125, project);
        THERE(s, &o, "run", "--project", s->outside, "--", "cat", "key");
        expect_out(&o, "key\n");
}

TEST(no_other_way_in_follows_it_either) {
        const struct site *s = *state;
        _cleanup_free_ char *app = plant_app(s),
                            *config = text_of("{\"version\": 1, \"readable\": [\"%s\"]}", app),
                            *file = path_of(s->home, "c.json");
        const char *const ways[][8] = {
                {"plan", "--ro", app, "--", "true"},
                {"bash", "--ro", app, "--", "true"},
                {"session", "start", "--ro", app},
                {"resolve", "--ro", app, "--read", "x"},
                {"run", "--config", file, "--", "true"},
                {"run", "--profile=instance", "--instance", app, "--", "true"},
                {"run", "--profile=instance", "--", "/bin/true", app},
        };
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->home, "c.json", config);
        for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
                run_there(s, &o, ways[i]);
                if (!streq(ways[i][0], "bash"))
                        expect_status(&o, 125);
                if (!strstr(o.err, earlier) && !strstr(o.out, earlier))
                        fail_msg("%s %s: %s%s", ways[i][0], ways[i][1], o.out, o.err);
        }
        assert_int_equal(unlink(app), 0);
        make_folder(s->project, "app");
        for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
                if (streq(ways[i][0], "session"))
                        continue;
                run_there(s, &o, ways[i]);
                expect_status(&o, 0);
        }
}

TEST(a_link_that_stays_in_its_folder_opens_nothing) {
        const struct site *s = *state;
        _cleanup_free_ char *app = path_of(s->project, "app");
        _cleanup_outcome_ struct outcome o = {0};

        run_inside(s, &o, "mkdir src; echo x >src/file; ln -s src app");
        expect_status(&o, 0);
        THERE(s, &o, "run", "--ro", app, "--", "cat", "../project/app/file");
        expect_out(&o, "x\n");
        THERE(s, &o, "run", "--project", app, "--", "cat", "file");
        expect_out(&o, "x\n");
}

/* ~/work -> another disk, a home that is reached through a link, a toolchain elsewhere. */
TEST(a_link_of_the_users_own_is_followed) {
        const struct site *s = *state;
        _cleanup_free_ char *work = path_of(s->home, "work");
        _cleanup_outcome_ struct outcome o = {0};

        /* Something is remembered. */
        free(plant_app(s));
        make_link(s->home, "work", s->outside);
        make_link(s->root, "homes", "home");
        for (int i = 0; i < 2; i++) {
                THERE(s, &o, "run", "--project", work, "--", "cat", "key");
                expect_out(&o, "key\n");
                THERE(s, &o, "run", "--rw", work, "--", "true");
                expect_status(&o, 0);
                /* A home that is a repository of dot files is no project, and its links are the user's. */
                if (i == 0)
                        make_folder(s->home, ".git");
        }
        _cleanup_free_ char *linked = path_of(s->root, "homes");
        assert_int_equal(setenv("HOME", linked, 1), 0);
        THERE(s, &o, "run", "--", "true");
        expect_status(&o, 0);
}

TEST(a_link_in_a_git_work_tree_leads_nowhere_else) {
        const struct site *s = *state;
        _cleanup_free_ char *clone = path_of(s->root, "clone"), *evil = path_of(clone, "sub/evil"),
                            *good = path_of(clone, "sub/good"),
                            *line = refusal_of("--ro", "in a git work tree", evil, s->outside,
                                               "who wrote the repository");
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->root, "clone");
        make_folder(clone, "src");
        make_link(clone, "sub/evil", "../../outside");
        make_link(clone, "sub/good", "../src");
        THERE(s, &o, "run", "--ro", evil, "--", "true");
        expect_status(&o, 0);
        make_folder(clone, ".git");
        THERE(s, &o, "run", "--ro", evil, "--", "true");
        expect_refusal(&o, 125, line);
        THERE(s, &o, "run", "--ro", good, "--", "true");
        expect_status(&o, 0);
        THERE(s, &o, "run", "--ro", s->outside, "--", "true");
        expect_status(&o, 0);
}

/* An access list that lets the user of id 1 write, as the kernel keeps it. */
static int let_another_write(const char *path) {
        static const unsigned char list[] = {
                2, 0, 0,   0,   1,   0,   7,    0, 255, 255, 255, 255, 2,   0,    7,
                0, 1, 0,   0,   0,   4,   0,    5, 0,   255, 255, 255, 255, 0x10, 0,
                7, 0, 255, 255, 255, 255, 0x20, 0, 5,   0,   255, 255, 255, 255,
        };

        return setxattr(path, "system.posix_acl_access", list, sizeof(list), 0);
}

TEST(a_link_where_others_may_write_is_not_followed) {
        static const mode_t modes[] = {0777, 01777, 0757};
        const struct site *s = *state;
        _cleanup_free_ char *shared = path_of(s->root, "shared"), *link = path_of(shared, "link"),
                            *below = path_of(shared, "mine/link"), *mine = path_of(shared, "mine"),
                            *line = refusal_of("--ro", "in a folder that others may write", link, s->outside,
                                               "another user");
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->root, "shared");
        make_link(shared, "link", "../outside");
        make_link(shared, "mine/link", "../../outside");
        THERE(s, &o, "run", "--ro", link, "--", "true");
        expect_status(&o, 0);
        for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
                assert_int_equal(chmod(shared, modes[i]), 0);
                THERE(s, &o, "run", "--ro", link, "--", "true");
                expect_refusal(&o, 125, line);
                /* A sticky folder keeps others from moving what is below. */
                THERE(s, &o, "run", "--ro", below, "--", "true");
                expect_status(&o, modes[i] & S_ISVTX ? 0 : 125);
        }
        assert_int_equal(chmod(shared, 0755), 0);
        if (let_another_write(shared) == 0) {
                THERE(s, &o, "run", "--ro", link, "--", "true");
                expect_refusal(&o, 125, line);
                assert_int_equal(removexattr(shared, "system.posix_acl_access"), 0);
                assert_int_equal(chmod(shared, 0755), 0);
        }
        /* A group of root's alone is nobody else's; one of others is. */
        if (geteuid() == 0) {
                assert_int_equal(chown(shared, 0, 0), 0);
                assert_int_equal(chmod(shared, 0775), 0);
                THERE(s, &o, "run", "--ro", link, "--", "true");
                expect_status(&o, 0);
                assert_int_equal(chown(shared, 0, 1), 0);
                THERE(s, &o, "run", "--ro", link, "--", "true");
                expect_refusal(&o, 125, line);
                assert_int_equal(chown(shared, 1, 0), 0);
                assert_int_equal(chmod(shared, 0755), 0);
                THERE(s, &o, "run", "--ro", link, "--", "true");
                expect_refusal(&o, 125, line);
                (void)mine;
        }
}

/* The command of an earlier run could have written it, whoever names it now. */
TEST(a_file_that_nsrun_obeys_is_none_of_an_earlier_runs) {
        const struct site *s = *state;
        _cleanup_free_ char *config = path_of(s->project, "c.json"), *good = path_of(s->home, "c.json"),
                            *line = text_of(
                                    "nsrun: the configuration lies in a folder that an earlier run could "
                                    "write, where a command could change it: %s; keep it outside of what "
                                    "a command may write",
                                    config);
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->home, "c.json", "{\"version\": 1}");
        THERE(s, &o, "run", "--config", good, "--", "true");
        expect_status(&o, 0);
        run_inside(s, &o, "echo '{\"version\": 1}' >c.json");
        expect_status(&o, 0);
        THERE(s, &o, "run", "--config", config, "--", "true");
        expect_refusal(&o, 125, line);
}

/* --------------------------------------------------------------------- the project */

static const char no_git[] =
        "nsrun: the project of earlier runs has no .git any more: %s; a command may have "
        "removed it: --project %s goes on with that folder, --project %s takes the one "
        "around it";

static void run_in(const char *folder, struct outcome *ret, const char *project) {
        const char *const *argv = OPTIONS(program(), "run", project ? "--project" : "--",
                                          project ? project : "pwd", project ? "--" : NULL, "pwd");

        outcome_clear(ret);
        run(&(struct request){.argv = argv, .cwd = folder}, ret);
}

TEST(a_project_that_loses_its_git_does_not_widen) {
        const struct site *s = *state;
        _cleanup_free_ char *inner = path_of(s->project, "inner"), *git = path_of(inner, ".git"),
                            *sub = path_of(inner, "sub"), *nested = path_of(sub, "plain"),
                            *line = text_of(no_git, inner, inner, s->project),
                            *plan = text_of("\"project\": \"%s\"", s->project);
        const char *const find[] = {program(), "plan", "--format=json", "--", "true", NULL};
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->project, ".git");
        make_folder(s->project, "inner");
        make_folder(inner, ".git");
        make_folder(inner, "sub");
        make_folder(sub, "plain");
        run_in(sub, &o, NULL);
        expect_status(&o, 0);
        assert_int_equal(rmdir(git), 0);
        for (size_t i = 0; i < 3; i++) {
                run_in(i == 0 ? inner : i == 1 ? sub : nested, &o, NULL);
                expect_refusal(&o, 125, line);
        }
        /* The outer one's own folders are what they were. */
        run_in(s->project, &o, NULL);
        expect_status(&o, 0);
        /* What the line names works; the narrow one says nothing of later runs. */
        run_in(sub, &o, inner);
        expect_status(&o, 0);
        run_in(sub, &o, NULL);
        expect_refusal(&o, 125, line);
        make_folder(inner, ".git");
        run_in(sub, &o, NULL);
        expect_status(&o, 0);
        assert_int_equal(rmdir(git), 0);
        /* The wide one does. */
        run_in(sub, &o, s->project);
        expect_status(&o, 0);
        run_in(sub, &o, NULL);
        expect_status(&o, 0);
        outcome_clear(&o);
        run(&(struct request){.argv = find, .cwd = sub}, &o);
        expect_in(o.out, plan);
}

/* ------------------------------------------------------------------------ the file */

/* A run whose folder is known writes nothing, and a folder in a known one is known. */
TEST(a_folder_is_written_down_once) {
        const struct site *s = *state;
        _cleanup_free_ char *file = state_file(s), *line = text_of("w %s\n", s->project),
                            *sub = path_of(s->project, "sub"), *text = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        char *before;

        RUN(s, &o, "--", "true");
        expect_status(&o, 0);
        text = file_text(file);
        assert_non_null(text);
        assert_string_equal(text, line);
        make_folder(s->project, "sub");
        before = snapshot(s->state);
        RUN(s, &o, "--", "true");
        expect_status(&o, 0);
        RUN(s, &o, "--project", sub, "--", "true");
        expect_status(&o, 0);
        /* Neither does one that lets nothing be written, or that only makes a plan. */
        THERE(s, &o, "run", "--no-project", "--ro", s->outside, "--overlay", s->home, "--", "true");
        THERE(s, &o, "plan", "--rw", s->outside, "--", "true");
        expect_status(&o, 0);
        expect_unchanged(s->state, before);
}

TEST(odd_names_are_written_down) {
        const struct site *s = *state;
        _cleanup_free_ char *odd = path_of(s->root, "a\nb\\c"), *link = path_of(odd, "link");
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->root, "a\nb\\c");
        make_link(odd, "link", "../outside");
        THERE(s, &o, "run", "--ro", link, "--", "true");
        expect_status(&o, 0);
        THERE(s, &o, "run", "--rw", odd, "--", "true");
        expect_status(&o, 0);
        THERE(s, &o, "run", "--ro", link, "--", "true");
        expect_status(&o, 125);
        expect_in(o.err, earlier);
}

/* Lost, the first use begins again; damaged, whoever could have made a link may have. */
TEST(a_damaged_file_is_not_believed) {
        static const char *const damages[] = {"garbage\n", "w relative\n", "full\n", "x /\n"};
        const struct site *s = *state;
        _cleanup_free_ char *file = state_file(s), *work = path_of(s->home, "work"), *all = NULL,
                            *sub = path_of(s->project, "sub");
        const char *unknown = "in a folder that an earlier run may have written";
        _cleanup_outcome_ struct outcome o = {0};

        make_link(s->home, "work", s->outside);
        make_folder(s->project, "sub");
        make_folder(s->project, ".git");
        RUN(s, &o, "--", "true");
        all = file_text(file);
        for (size_t i = 0; i < ARRAY_SIZE(damages); i++) {
                _cleanup_free_ char *text = text_of("%s%s", all, damages[i]);

                make_file(s->state, "nsrun/exposed", text);
                THERE(s, &o, "run", "--ro", work, "--", "true");
                expect_status(&o, 125);
                expect_in(o.err, unknown);
                expect_in(o.err, "nsrun-protect(7), SYMLINKS");
                run_in(sub, &o, NULL);
                expect_status(&o, 125);
                expect_in(o.err, "which project this folder had before can't be known");
                /* What needs no answer goes on. */
                RUN(s, &o, "--", "true");
                expect_status(&o, 0);
                THERE(s, &o, "run", "--ro", s->outside, "--", "true");
                expect_status(&o, 0);
        }
        /* Nor one that others may write; or a folder, or a fifo in its place. */
        make_file(s->state, "nsrun/exposed", all);
        assert_int_equal(chmod(file, 0666), 0);
        THERE(s, &o, "run", "--ro", work, "--", "true");
        expect_in(o.err, unknown);
        assert_int_equal(unlink(file), 0);
        assert_int_equal(mkfifo(file, 0600), 0);
        THERE(s, &o, "run", "--ro", work, "--", "true");
        expect_in(o.err, unknown);
        /* A line that was cut off is one of a command that never started. */
        assert_int_equal(unlink(file), 0);
        {
                _cleanup_free_ char *torn = text_of("%sw %s/ho", all, s->root), *now = NULL,
                                    *then = text_of("%sw %s\n", all, s->outside);

                make_file(s->state, "nsrun/exposed", torn);
                assert_int_equal(chmod(file, 0600), 0);
                THERE(s, &o, "run", "--rw", work, "--no-project", "--", "true");
                expect_status(&o, 0);
                now = file_text(file);
                assert_string_equal(now, then);
        }
        assert_int_equal(unlink(file), 0);
        THERE(s, &o, "run", "--ro", work, "--", "true");
        expect_status(&o, 0);
}

/* No file grows beyond that many bytes. */
static void keep_files_small(void *data) {
        const struct rlimit *most = data;

        (void)signal(SIGXFSZ, SIG_IGN);
        (void)setrlimit(RLIMIT_FSIZE, most);
}

/* A full disk, or any other fault of the moment: the command must not start unseen. */
TEST(a_folder_that_cannot_be_written_down_is_not_exposed) {
        const struct site *s = *state;
        _cleanup_free_ char *file = state_file(s), *text = NULL, *all = NULL,
                            *padding = text_of("w %s\nw /mnt/%01000d\n", s->project, 0);
        _cleanup_free_ char *line = text_of(
                "nsrun: what a command may write can't be written down: %s/nsrun: File too large; the hard limit of "
                "files' sizes is too low, and root alone raises it: limits.conf(5), a service's LimitFSIZE=, docker's "
                "and podman's --ulimit fsize=-1",
                s->state);
        struct rlimit most = {strlen(padding), strlen(padding)};
        const char *const fresh[] = {program(), "run", "--project", s->outside, "--", "true", NULL};
        const char *const known[] = {program(), "run", "--project", s->project, "--", "true", NULL};
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->state, "nsrun/exposed", padding);
        run(&(struct request){.argv = fresh, .cwd = s->root, .in_child = keep_files_small, .data = &most},
            &o);
        expect_refusal(&o, 125, line);
        text = file_text(file);
        assert_string_equal(text, padding);
        outcome_clear(&o);
        run(&(struct request){.argv = known, .cwd = s->root, .in_child = keep_files_small, .data = &most},
            &o);
        expect_status(&o, 0);
        outcome_clear(&o);
        run(&(struct request){.argv = fresh, .cwd = s->root}, &o);
        expect_status(&o, 0);
        all = file_text(file);
        expect_in(all, s->outside);
}

/* A home that may not be written, and no other place: runs go on, and links are not followed. */
TEST_IF(geteuid() != 0, without_a_place_for_it_links_are_not_followed, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *home = path_of(s->root, "bare"), *work = path_of(s->home, "work"),
                            *no = path_of(home, "none");
        _cleanup_outcome_ struct outcome o = {0};

        make_link(s->home, "work", s->outside);
        THERE(s, &o, "run", "--ro", work, "--", "true");
        expect_status(&o, 0);
        make_folder(s->root, "bare");
        assert_int_equal(chmod(home, 0555), 0);
        assert_int_equal(setenv("XDG_STATE_HOME", no, 1), 0);
        RUN(s, &o, "--", "true");
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
        THERE(s, &o, "run", "--ro", work, "--", "true");
        expect_status(&o, 125);
        expect_in(o.err, "in a folder that an earlier run may have written");
        THERE(s, &o, "run", "--ro", s->outside, "--", "true");
        expect_status(&o, 0);
}

/* Folders that are gone are forgotten when there is no room; when there is still none, all is unknown. */
TEST(the_file_stays_small) {
        static const struct {
                const char *folder;
                bool is_full;
        } cases[] = {{"/var/tmp/gone", false}, {"/mnt/away", true}};
        const struct site *s = *state;
        _cleanup_free_ char *file = state_file(s), *line = text_of("w %s\n", s->project);
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *text = NULL, *after = NULL;
                size_t size = 0;
                FILE *f = open_memstream(&text, &size);

                assert_non_null(f);
                for (int n = 0; ftell(f) < 262144 - 30; n++)
                        (void)fprintf(f, "w %s/%d\n", cases[i].folder, n);
                assert_int_equal(fclose(f), 0);
                (void)unlink(file);
                if (i == 0)
                        make_folder(s->state, "nsrun");
                make_file(s->state, "nsrun/exposed", text);
                assert_int_equal(chmod(file, 0600), 0);
                RUN(s, &o, "--", "true");
                expect_status(&o, 0);
                after = file_text(file);
                assert_string_equal(after, cases[i].is_full ? "full\n" : line);
        }
}

TEST(runs_at_once_lose_nothing) {
        enum {
                RUNS = 12
        };
        const struct site *s = *state;
        _cleanup_free_ char *file = state_file(s), *text = NULL;
        struct running running[RUNS];

        for (int i = 0; i < RUNS; i++) {
                _cleanup_free_ char *name = text_of("p%d", i), *path = path_of(s->root, name);
                const char *const argv[] = {program(), "run", "--project", path, "--", "true", NULL};

                make_folder(s->root, name);
                spawn(&(struct request){.argv = argv, .cwd = s->root}, &running[i]);
        }
        for (int i = 0; i < RUNS; i++) {
                _cleanup_outcome_ struct outcome o = {0};

                finish(&running[i], &o);
                expect_status(&o, 0);
        }
        text = file_text(file);
        assert_non_null(text);
        for (int i = 0; i < RUNS; i++) {
                _cleanup_free_ char *line = text_of("w %s/p%d\n", s->root, i);

                expect_in(text, line);
        }
}

/* Nothing inside reads it, writes it, or makes another one in its place. */
TEST(no_command_has_the_file) {
        const struct site *s = *state;
        _cleanup_free_ char *base = path_of(s->state, "nsrun"),
                            *attack = text_of("ls -A %s; echo 'w /' >%s/exposed; mv %s %s/away; echo done",
                                              base, base, base, s->state),
                            *line = text_of(
                                    "nsrun: --rw would let a command write what nsrun keeps of other "
                                    "runs and sessions: %s; that is in %s: name other folders, or set "
                                    "XDG_STATE_HOME to one that no command may write",
                                    base, base);
        _cleanup_free_ char *unread = text_of(
                "nsrun: --ro would show what nsrun keeps aside of other runs: %s; leave it out", base);
        _cleanup_outcome_ struct outcome o = {0};
        char *before;

        RUN(s, &o, "--rw", s->state, "--", "true");
        expect_status(&o, 0);
        before = snapshot(base);
        RUN(s, &o, "--rw", s->state, "--", "sh", "-c", attack);
        expect_out(&o, "done\n");
        RUN(s, &o, "--ro", s->state, "--", "sh", "-c", attack);
        expect_out(&o, "done\n");
        expect_unchanged(base, before);
        RUN(s, &o, "--rw", base, "--", "true");
        expect_refusal(&o, 125, line);
        RUN(s, &o, "--ro", base, "--", "true");
        expect_refusal(&o, 125, unread);
        RUN(s, &o, "--no-project", "--rw", s->root, "--", "true");
        expect_status(&o, 125);
}

/* A new account's state folder isn't there to be hidden. */
TEST(a_missing_state_folder_is_made_before_the_command_can) {
        const struct site *s = *state;
        _cleanup_free_ char *base = path_of(s->state, "nsrun"), *file = state_file(s), *text = NULL,
                            *attack = text_of("mkdir %s; echo x >%s/exposed", base, base);
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--rw", s->state, "--", "sh", "-c", attack);
        text = file_text(file);
        assert_non_null(text);
        expect_in(text, s->project);
        expect_not_in(text, "x\n");
}

/* ------------------------------------------------------------------- other programs */

/* nsrun-bwrap follows what it is told to bind, as bubblewrap does; what it lets a command write is written
 * down all the same. */
TEST(what_bubblewraps_options_expose_is_remembered) {
        const struct site *s = *state;
        const char *bwrap = getenv("NSRUN_BWRAP");
        _cleanup_free_ char *app = path_of(s->project, "app");
        const char *const *plant = OPTIONS(bwrap && *bwrap ? bwrap : "./nsrun-bwrap", "--ro-bind", "/", "/",
                                           "--bind", s->project, s->project, "ln", "-s", "../outside", app);
        const char *const follow[] = {plant[0], "--ro-bind", "/",   "/",        "--ro-bind",
                                      app,      "/mnt",      "cat", "/mnt/key", NULL};
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->outside, "key", "key\n");
        run(&(struct request){.argv = plant, .cwd = s->root}, &o);
        expect_status(&o, 0);
        outcome_clear(&o);
        run(&(struct request){.argv = follow, .cwd = s->root}, &o);
        expect_out(&o, "key\n");
        THERE(s, &o, "run", "--ro", app, "--", "true");
        expect_status(&o, 125);
        expect_in(o.err, earlier);
}

/* A commit writes what the session's commands did. */
TEST(a_sessions_overlay_counts_as_written) {
        const struct site *s = *state;
        _cleanup_free_ char *app = path_of(s->project, "app");
        _cleanup_outcome_ struct outcome o = {0};

        make_link(s->project, "app", "../outside");
        THERE(s, &o, "run", "--ro", app, "--overlay", s->home, "--", "true");
        expect_status(&o, 0);
        THERE(s, &o, "session", "start", "--name", "one", "--overlay", s->project);
        expect_status(&o, 0);
        THERE(s, &o, "session", "stop", "one");
        expect_status(&o, 0);
        collect_orphans();
        THERE(s, &o, "run", "--ro", app, "--", "true");
        expect_status(&o, 125);
        expect_in(o.err, earlier);
}

int main(void) {
        return run_all_tests();
}

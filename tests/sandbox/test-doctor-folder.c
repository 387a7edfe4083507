/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun doctor` in a folder that can't be the project: where that is so for what the folder is, the host is
 * judged; all else that is refused of a project is to be mended. */
#include "agents.h"
#include "doctor.h"

#define CHOOSE      "; choose a folder with --project DIR, or use --no-project"
#define BETTER_MEND "may leave out a protection: better mend what says \"no\"\n"
#define FOLDER_LINE "nsrun works on this host, but not with this folder as the project\n"

/* Runs nsrun with these arguments in a folder of this host. */
static void nsrun_in(const char *folder, void (*stage)(void *data), struct outcome *ret,
                     const char *const *arguments) {
        const char *argv[8] = {program()};

        for (size_t i = 0; arguments[i]; i++)
                argv[i + 1] = arguments[i];
        outcome_clear(ret);
        run(
                &(struct request){
                        .argv = argv, .cwd = folder, .in_child = stage, .data = (void *)(uintptr_t)folder},
                ret);
        collect_orphans();
}
#define IN(folder, stage, outcome, ...) nsrun_in(folder, stage, outcome, OPTIONS(__VA_ARGS__))

/* That this folder can't be the project is no fault of the host's; but a run from there is refused. */
static void expect_host_is_judged(const char *folder, const char *words) {
        _cleanup_free_ char *refusal = text_of("nsrun: %s", words);
        _cleanup_outcome_ struct outcome o = {0};

        IN(folder, NULL, &o, "doctor");
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
        expect_line(&o, "degraded", "project", words);
        expect_line(&o, "ok", "run", "\"nsrun run --no-project -- true\" works");
        expect_line(&o, "ok", "session", "can be had");
        expect_not_in(o.out, "\nno ");
        expect_last(&o, FOLDER_LINE);
        IN(folder, NULL, &o, "run", "--", "true");
        expect_refusal(&o, 125, refusal);
        IN(folder, NULL, &o, "run", "--no-project", "--", "true");
        expect_status(&o, 0);
}

/* A run from there is refused, which an option gets past; and it works where `control` is, or nowhere. */
static void expect_refused(const char *folder, void (*stage)(void *data), const char *words,
                           const char *control) {
        _cleanup_outcome_ struct outcome o = {0};

        IN(folder, stage, &o, "doctor");
        expect_status(&o, 1);
        assert_string_equal(o.err, "");
        expect_line(&o, "no", "run", words);
        expect_not_in(o.out, "\ndegraded  project ");
        expect_last(&o, "run with --no-project\n");
        IN(folder, stage, &o, "run", "--no-project", "--", "true");
        expect_status(&o, 0);
        if (!control)
                return;
        IN(control, NULL, &o, "doctor");
        expect_status(&o, 0);
        expect_line(&o, "ok", "run", "\"nsrun run -- true\" works");
        expect_not_in(o.out, "\ndegraded  project ");
        expect_last(&o, WORKS_LINE);
}

TEST(a_host_is_judged_from_a_folder_that_can_be_no_project_too) {
        const struct site *s = *state;
        _cleanup_free_ char *
                codex = path_of(s->home, ".codex"),
               *home = text_of("a home folder can't be the project: %s" CHOOSE, s->home),
               *above =
                       text_of("a folder that holds a home folder can't be the project: %s" CHOOSE, s->root),
               *agents = text_of("the folder of codex's settings and login can't be the project: %s" CHOOSE,
                                 codex);
        const struct {
                const char *folder, *words;
        } folders[] = {
                {"/", "a system root can't be the project: /" CHOOSE},
                {"/usr/share", "a system root can't be the project: /usr/share" CHOOSE},
                {"/etc/ssl", "a folder of the system can't be the project: /etc/ssl" CHOOSE},
                {s->home, home},
                {s->root, above},
                {codex, agents},
        };
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->home, ".codex");
        for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
                expect_host_is_judged(folders[i].folder, folders[i].words);
        IN("/", NULL, &o, "doctor", "--json");
        expect_status(&o, 0);
        expect_in(o.out,
                  "\"works\": true,\n  \"weaker\": false,\n  \"options\": [\n    \"--no-project\"\n  ]\n");
        /* A run as it would be started from there. */
        IN("/", NULL, &o, "doctor", "--for");
        expect_status(&o, 1);
        expect_line(&o, "no", "run", folders[0].words);
        IN("/", NULL, &o, "doctor", "--for", "--no-project");
        expect_status(&o, 0);
        IN(s->project, NULL, &o, "doctor");
        expect_status(&o, 0);
        expect_last(&o, WORKS_LINE);
}

/* Stands in a folder that has gone, while another has its path. */
static void stage_removed(void *folder) {
        if (rmdir(folder) < 0 || mkdir(folder, 0755) < 0)
                stage_fail("the folder");
}

/* Nothing of this is of the folder's kind, though --no-project gets past each. */
TEST(a_project_that_is_refused_is_no_such_folder) {
        const struct site *s = *state;
        _cleanup_free_ char *inner = path_of(s->project, "inner"), *git = path_of(inner, ".git"),
                            *share = path_of(s->home, ".local/share"), *gone = path_of(s->root, "gone"),
                            *former = text_of("the project of earlier runs has no .git any more: %s; "
                                              "--no-project",
                                              inner),
                            *around = text_of("the folder of opencode's settings and login can't be in the "
                                              "project: %s/opencode; --no-project",
                                              share),
                            *damaged =
                                    text_of("which project this folder had before can't be known: nsrun's "
                                            "file of earlier runs ($XDG_STATE_HOME/nsrun/exposed) is "
                                            "damaged: %s; --no-project",
                                            inner),
                            *sub = path_of(inner, "sub"),
                            *memory = path_of(s->home, ".local/state/nsrun/exposed"), *known = NULL,
                            *damage = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->project, ".git");
        make_folder(s->project, "inner");
        make_folder(inner, ".git");
        make_folder(inner, "sub");
        IN(inner, NULL, &o, "run", "--", "true");
        expect_status(&o, 0);
        known = file_text(memory);
        assert_non_null(known);
        damage = text_of("%sgarbage\n", known);
        make_file(s->home, ".local/state/nsrun/exposed", damage);
        expect_refused(sub, NULL, damaged, NULL);
        make_file(s->home, ".local/state/nsrun/exposed", known);
        IN(sub, NULL, &o, "doctor");
        expect_status(&o, 0);
        assert_int_equal(rmdir(git), 0);
        expect_refused(inner, NULL, former, s->project);
        lay_file(s->home, ".local/share/opencode/x", "x\n");
        expect_refused(share, NULL, around, s->project);
        make_folder(s->root, "gone");
        expect_refused(gone, stage_removed,
                       "the current folder can't be opened: No such file or directory; "
                       "--no-project",
                       gone);
}

/* A configuration that is to be mended, wherever one stands. */
TEST(a_configuration_that_names_no_project_is_no_such_folder) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        lay_file(s->home, ".config/nsrun/config.json", "{\"version\": 1, \"project\": \"/\"}");
        IN(s->project, NULL, &o, "doctor");
        expect_status(&o, 1);
        expect_line(&o, "no", "run", "a system root can't be the project: /; --no-config");
        expect_not_in(o.out, "\ndegraded  project ");
        expect_last(&o, "run with --no-config, which " BETTER_MEND);
        IN(s->home, NULL, &o, "doctor");
        expect_status(&o, 1);
        expect_line(&o, "no", "run", "a system root can't be the project: /; --no-config --no-project");
        expect_not_in(o.out, "\ndegraded  project ");
        expect_last(&o, "run with --no-config --no-project, which " BETTER_MEND);
        lay_file(s->home, ".config/nsrun/config.json", "{\"version\": 1, \"projects\": 1}");
        IN(s->home, NULL, &o, "doctor");
        expect_status(&o, 1);
        expect_in(o.out, "\nno        run                ");
        expect_last(&o, "run with --no-config --no-project, which " BETTER_MEND);
        lay_file(s->home, ".config/nsrun/config.json", "{\"version\": 1}");
        IN(s->project, NULL, &o, "doctor");
        expect_status(&o, 0);
        expect_last(&o, WORKS_LINE);
        IN(s->home, NULL, &o, "doctor");
        expect_status(&o, 0);
        expect_last(&o, FOLDER_LINE);
}

/* What the host lacks is told there, too, and the status is that of the host. */
TEST(a_folder_that_can_be_no_project_hides_no_fault_of_the_host) {
        const struct site *s = *state;
        static const struct {
                const char *calls, *words, *last;
        } hosts[] = {
                {"clone-newuser", FILTER_REFUSES_NAMESPACES, BROKEN_LINE},
                {"seccomp", NULL, "run with --no-project --seccomp=none, which " BETTER_MEND},
        };

        for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
                struct site at = *s;
                const struct host host = {.site = &at, .error = EPERM, .calls = hosts[i].calls};
                _cleanup_outcome_ struct outcome o = {0};

                at.project = at.home;
                THERE(&host, &o, "doctor");
                expect_status(&o, 1);
                expect_in(o.out, "\ndegraded  project            a home folder can't be the project: ");
                if (hosts[i].words)
                        expect_line(&o, "no", "run", hosts[i].words);
                else
                        expect_in(o.out, "\nno        run                ");
                expect_last(&o, hosts[i].last);
        }
}

int main(void) {
        return run_all_tests();
}

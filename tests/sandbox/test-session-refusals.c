/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is refused where sessions are concerned: options that would change what a session's
 * commands may do, folders and records that others could have made, rules that would show
 * them.  Each beside the same thing with one change, which works. */
#include "policy/options.h"
#include "session.h"

static const char *value_of(const struct option_spec *spec, const struct site *s) {
        static const struct {
                const char *name, *value;
        } values[] = {
                {"bind", "/usr:/mnt:ro"},
                {"symlink", "x:/y"},
                {"tmp", "tmpfs"},
                {"tmpfs", "/x"},
                {"tmpfs-size", "1M"},
                {"overlay-backing", "disk"},
                {"chdir", "/tmp"},
                {"env", "A=b"},
                {"unsetenv", "A"},
                {"agent", "claude"},
                {"net", "none"},
                {"net-via", "none"},
                {"allow", "example.org"},
                {"deny", "example.org"},
                {"publish", "8080"},
                {"key", "A"},
                {"key-use", "A=https://example.org"},
                {"hostname", "h"},
                {"uid", "0"},
                {"gid", "0"},
                {"proc", "new"},
                {"seccomp", "default"},
                {"landlock", "auto"},
                {"limit", "nofile=64"},
                {"profile", "instance"},
                {"protect", "Makefile"},
                {"no-protect", "Makefile"},
                {"dbus", "org.example.Name"},
        };

        if (!spec->argument)
                return NULL;
        for (size_t i = 0; i < ARRAY_SIZE(values); i++)
                if (streq(values[i].name, spec->name))
                        return values[i].value;
        return s->project;
}

/* Also where it would change nothing or take something away. */
TEST_IN_BOTH_MODES(no_option_changes_what_a_sessions_commands_may_do) {
        static const char *const allowed[] = {"session",  "kill-leftovers", "env",
                                              "unsetenv", "chdir",          "new-session"};
        const struct site *s = *state;
        _cleanup_free_ char *id = START(s, "--name=narrow");
        _cleanup_outcome_ struct outcome o = {0};
        size_t n_refused = 0, n_allowed = 0;

        for (size_t i = 0; i < n_policy_options; i++) {
                const struct option_spec *spec = &policy_options[i];
                const char *value = value_of(spec, s);
                _cleanup_free_ char *option =
                        value ? text_of("--%s=%s", spec->name, value) : text_of("--%s", spec->name);
                bool is_allowed = false;

                for (size_t j = 0; j < ARRAY_SIZE(allowed); j++)
                        is_allowed |= streq(spec->name, allowed[j]);
                /* A configuration is read where it is named: its own tests have that. */
                if (streq(spec->name, "session") || strstr(spec->name, "config"))
                        continue;
                JOIN(s, id, &o, option, "--", "echo", "ran");
                if (is_allowed) {
                        expect_status(&o, 0);
                        expect_out(&o, "ran\n");
                        n_allowed++;
                } else {
                        _cleanup_free_ char *line = text_of(
                                "nsrun: --%s can't be given with --session: what a session's commands may do "
                                "was decided when it was started: narrow; leave it "
                                "out, or start another session with it",
                                spec->name);

                        expect_refusal(&o, 125, line);
                        n_refused++;
                }
        }
        assert_int_equal(n_allowed, ARRAY_SIZE(allowed) - 1);
        assert_true(n_refused > 15);
        end_session(s, id, "stop");
}

TEST_IN_BOTH_MODES(no_stream_of_a_joining_command_is_a_folder) {
        static const struct {
                const char *script;
                int status;
                const char *err;
        } cases[] = {
                {"\"$@\" 0</", 125,
                 "nsrun: standard input is a folder, through which the command could leave the sandbox: Is a "
                 "directory; redirect it from a file or /dev/null\n"},
                {"\"$@\" 2</", 125, ""},
                {"\"$@\" 0</dev/null 2>/dev/null", 0, ""},
        };
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s);

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                const char *const argv[] = {"sh", "-c", cases[i].script, "sh", program(), "run", "--session",
                                            id,   "--", "true",          NULL};
                _cleanup_outcome_ struct outcome o = {0};

                run(&(struct request){.argv = argv, .cwd = s->project}, &o);
                expect_status(&o, cases[i].status);
                assert_string_equal(o.err, cases[i].err);
        }
        end_session(s, id, "stop");
}

TEST(kill_leftovers_is_for_sessions_alone) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--kill-leftovers", "--", "echo", "ran");
        expect_refusal(
                &o, 125,
                "nsrun: --kill-leftovers is for commands in a session: Invalid argument; name one with --session; "
                "without, all ends with the command");
        RUN(s, &o, "--", "echo", "ran");
        expect_status(&o, 0);
        expect_out(&o, "ran\n");
}

TEST(an_id_that_names_no_session_is_refused) {
        static const char *const ids[] = {"none", "", ".", "..", "../sessions", "a/b", ".new-abc"};
        const struct site *s = *state;
        _cleanup_free_ char *id = START(s, "--name=some");
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
                _cleanup_free_ char *line = replaced(NO_SESSION("@"), "@", ids[i]);

                if (!*ids[i])
                        continue;
                JOIN(s, ids[i], &o, "--", "echo", "ran");
                expect_refusal(&o, 125, line);
        }
        expect_good_join(s, id, "echo ran", "ran\n");
        end_session(s, id, "stop");
}

#define OWN_HINT "set XDG_RUNTIME_DIR to a folder of your own that nobody else may write to"

/* The runtime folder itself for "", else one below it. */
static char *in_runtime(const struct site *s, const char *folder) {
        return *folder ? path_of(s->runtime, folder) : strdup(s->runtime);
}

/* Whether it is the user's own and open to others, and not one like /tmp. */
static bool can_be_closed(const char *path) {
        struct stat st;

        return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
               (st.st_mode & 022) && !(st.st_mode & S_ISVTX);
}

/* `folder` of the runtime folder's is not trusted, by any command, until it is as it was. */
static void expect_distrust(const struct site *s, const char *id, const char *folder, const char *says) {
        _cleanup_free_ char *path = in_runtime(s, folder), *mend = text_of("chmod go-w %s", path),
                            *line = text_of("nsrun: %s: %s%s; %s", says, path,
                                            strstr(says, "opened") ? ": Not a directory" : "",
                                            can_be_closed(path) ? mend : OWN_HINT);
        _cleanup_outcome_ struct outcome o = {0};

        JOIN(s, id, &o, "--", "echo", "ran");
        expect_refusal(&o, 125, line);
        SESSION(s, &o, "list");
        expect_refusal(&o, 125, line);
        SESSION(s, &o, "show", id);
        expect_refusal(&o, 125, line);
        SESSION(s, &o, "stop", id);
        expect_refusal(&o, 125, line);
        SESSION(s, &o, "start", "--project", s->project);
        expect_refusal(&o, 125, line);
}

TEST(a_folder_that_others_may_write_to_is_not_trusted) {
        static const char *const folders[] = {"", "nsrun", "nsrun/sessions"};
        static const mode_t modes[] = {0777, 01777, 0702};
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s);

        for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
                _cleanup_free_ char *path = in_runtime(s, folders[i]);
                struct stat st;

                assert_int_equal(stat(path, &st), 0);
                assert_int_equal(st.st_mode & 07777, *folders[i] ? 0700 : 0755);
                for (size_t j = 0; j < ARRAY_SIZE(modes); j++) {
                        assert_int_equal(chmod(path, modes[j]), 0);
                        expect_distrust(s, id, folders[i], "others may write to the folder of sessions");
                }
                assert_int_equal(chmod(path, 0700), 0);
                expect_good_join(s, id, "echo in", "in\n");
        }
        end_session(s, id, "stop");
}

TEST(a_symlink_is_no_folder_of_sessions) {
        static const char *const folders[] = {"nsrun", "nsrun/sessions"};
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s);

        for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
                _cleanup_free_ char *path = path_of(s->runtime, folders[i]),
                                    *aside = text_of("%s-aside", path);

                assert_int_equal(rename(path, aside), 0);
                assert_int_equal(symlink(aside, path), 0);
                expect_distrust(s, id, folders[i], "the folder of sessions can't be opened");
                assert_int_equal(unlink(path), 0);
                assert_int_equal(rename(aside, path), 0);
                expect_good_join(s, id, "echo in", "in\n");
        }
        end_session(s, id, "stop");
}

/* A user's, to root; and root's, to a user, where the tests may make one. */
/* Only root can give a folder away. */
TEST_IF(geteuid() == 0, another_users_folder_is_not_trusted, site_setup, site_teardown) {
        const struct site *s = *state;
        static const char *const folders[] = {"", "nsrun"};
        _cleanup_free_ char *id = START_PLAIN(s);

        for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
                _cleanup_free_ char *path = in_runtime(s, folders[i]);

                assert_int_equal(chown(path, 1, 1), 0);
                expect_distrust(s, id, folders[i], "the folder of sessions belongs to another user");
                assert_int_equal(chown(path, 0, 0), 0);
                expect_good_join(s, id, "echo in", "in\n");
        }
        end_session(s, id, "stop");
}

/* Whoever could write there could have forged the record of a session, whose namespaces the next command
 * would enter. */
TEST(a_folder_that_an_earlier_run_could_write_has_no_sessions) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL, *other = path_of(s->root, "other-runtime"),
                            *below = path_of(other, "below");
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->root, "other-runtime");
        make_folder(other, "below");
        assert_int_equal(setenv("XDG_RUNTIME_DIR", below, 1), 0);
        id = START_PLAIN(s);
        end_session(s, id, "stop");
        assert_int_equal(setenv("XDG_RUNTIME_DIR", s->runtime, 1), 0);
        RUN(s, &o, "--rw", other, "--", "true");
        expect_status(&o, 0);
        assert_int_equal(setenv("XDG_RUNTIME_DIR", below, 1), 0);
        {
                _cleanup_free_ char *line =
                        text_of("nsrun: the folder of sessions lies where an earlier run could "
                                "write: %s: Operation not permitted; " OWN_HINT,
                                below);

                SESSION(s, &o, "list");
                expect_refusal(&o, 125, line);
                JOIN(s, "forged", &o, "--", "echo", "ran");
                expect_refusal(&o, 125, line);
                SESSION(s, &o, "start", "--project", s->project);
                expect_refusal(&o, 125, line);
        }
        collect_orphans();
        assert_int_equal(setenv("XDG_RUNTIME_DIR", s->runtime, 1), 0);
}

#define UNREADABLE "nsrun: what was written down of the session can't be read"
#define BAD_RECORD \
        UNREADABLE ": Bad message; another version of nsrun wrote it: stop the session with that one"

struct bytes {
        char text[1 << 20];
        size_t n;
};

static void read_record(const char *path, struct bytes *ret) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = read(fd, ret->text, sizeof(ret->text));

        assert_true(n > 100 && n < (ssize_t)sizeof(ret->text));
        ret->n = (size_t)n;
}

static void write_record(const char *path, const struct bytes *b, size_t n) {
        _cleanup_close_ int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, b->text, n), n);
}

TEST(a_broken_record_is_told_and_joined_by_nobody) {
        const struct site *s = *state;
        static struct bytes whole, changed;
        _cleanup_free_ char *id = START(s, "--name=b"),
                            *path = path_of(s->runtime, "nsrun/sessions/b/record");
        _cleanup_outcome_ struct outcome o = {0};

        read_record(path, &whole);
        for (size_t n = 0; n < whole.n; n += whole.n / 37) {
                write_record(path, &whole, n);
                JOIN(s, id, &o, "--", "echo", "ran");
                expect_refusal(&o, 125, BAD_RECORD);
        }
        /* Another version: the text after its length, at the beginning. */
        changed = whole;
        changed.text[8]++;
        write_record(path, &changed, changed.n);
        JOIN(s, id, &o, "--", "echo", "ran");
        expect_refusal(&o, 125, BAD_RECORD);
        SESSION(s, &o, "stop", id);
        expect_refusal(&o, 125, BAD_RECORD);
        /* More than there should be. */
        changed = whole;
        write_record(path, &changed, changed.n + 1);
        JOIN(s, id, &o, "--", "echo", "ran");
        expect_refusal(&o, 125, BAD_RECORD);
        write_record(path, &whole, whole.n);
        expect_good_join(s, id, "echo in", "in\n");
        end_session(s, id, "stop");
}

/* A pid that somebody else has by now is not the session's. */
TEST_IN_BOTH_MODES(a_record_of_other_processes_is_joined_by_nobody) {
        const struct site *s = *state;
        static struct bytes whole, other;
        _cleanup_free_ char *id = START(s, "--name=one"), *second = START(s, "--name=two"),
                            *path = path_of(s->runtime, "nsrun/sessions/one/record"),
                            *others = path_of(s->runtime, "nsrun/sessions/two/record");
        uint64_t pid = (uint64_t)session_number(s, id, "init"),
                 new_pid = (uint64_t)session_number(s, second, "init");
        _cleanup_outcome_ struct outcome o = {0};
        char *found;

        read_record(path, &whole);
        other = whole;
        found = memmem(other.text, other.n, &pid, sizeof(pid));
        assert_non_null(found);
        memcpy(found, &new_pid, sizeof(new_pid));
        write_record(path, &other, other.n);
        JOIN(s, id, &o, "--", "echo", "ran");
        expect_refusal(&o, 125, "nsrun: the session has ended: one: No such process");
        write_record(path, &whole, whole.n);
        expect_good_join(s, id, "echo in", "in\n");
        assert_int_equal(access(others, F_OK), 0);
        SESSION(s, &o, "stop", second);
        expect_status(&o, 0);
        end_session(s, id, "stop");
}

TEST(no_rule_shows_the_records) {
        const struct site *s = *state;
        _cleanup_free_ char *own = path_of(s->runtime, "nsrun"), *records = path_of(own, "sessions"),
                            *one = path_of(records, "x"), *id = START(s, "--name=x");
        const char *const shown[] = {own, records, one};
        static const char *const options[] = {"--ro", "--rw", "--overlay"};
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
                for (size_t j = 0; j < ARRAY_SIZE(options); j++) {
                        _cleanup_free_ char *line = text_of(
                                "nsrun: %s would expose the records of nsrun's sessions: %s; name the files in it that the command needs",
                                options[j], shown[i]);

                        RUN(s, &o, options[j], shown[i], "--", "echo", "ran");
                        expect_refusal(&o, 125, line);
                        SESSION(s, &o, "start", "--project", s->project, options[j], shown[i]);
                        expect_refusal(&o, 125, line);
                }
        RUN(s, &o, "--ro", s->outside, "--", "echo", "ran");
        expect_status(&o, 0);
        expect_out(&o, "ran\n");
        end_session(s, id, "stop");
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* src/changes and who may read and write what was committed: nobody more than before, unless
 * the change says so. */
#include <glob.h>
#include <grp.h>
#include <sys/file.h>
#include <sys/prctl.h>

#include "layer.h"
#include "session.h"

enum {
        NOBODY = 65534,
        EXTRA = 64999, /* a group that root gives itself for these tests */
};

/* linux/posix_acl_xattr.h: what getfacl(1) would show as u::rw,user:65534:NAMED,g::GROUP,m::MASK,o::- */
struct acl {
        uint32_t version;
        struct {
                uint16_t tag, rights;
                uint32_t id;
        } list[5];
};
#define ACCESS_ACL  "system.posix_acl_access"
#define DEFAULT_ACL "system.posix_acl_default"

static struct acl acl_of(uint16_t named, uint16_t group, uint16_t mask) {
        const uint32_t none = UINT32_MAX;

        return (struct acl){
                2, {{1, 6, none}, {2, named, NOBODY}, {4, group, none}, {16, mask, none}, {32, 0, none}}};
}

static void set_acl(int folder, const char *path, const char *kind, const struct acl *acl) {
        _cleanup_close_ int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);

        assert_true(fd >= 0);
        if (fsetxattr(fd, kind, acl, sizeof(*acl), 0) == 0)
                return;
        assert_int_equal(errno, EOPNOTSUPP);
        print_message("no ACLs in this file system\n");
        skip();
}

static void expect_acl(int folder, const char *path, const struct acl *acl) {
        _cleanup_close_ int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
        struct acl found = {0};

        assert_true(fd >= 0);
        if (!acl) {
                assert_int_equal(fgetxattr(fd, ACCESS_ACL, &found, sizeof(found)), -1);
                assert_int_equal(errno, ENODATA);
                return;
        }
        assert_int_equal(fgetxattr(fd, ACCESS_ACL, &found, sizeof(found)), sizeof(found));
        assert_memory_equal(&found, acl, sizeof(found));
}

static struct stat stat_of(int folder, const char *path) {
        struct stat st;

        assert_int_equal(fstatat(folder, path, &st, AT_SYMLINK_NOFOLLOW), 0);
        return st;
}

static void expect_mode(int folder, const char *path, mode_t mode) {
        mode_t found = stat_of(folder, path).st_mode & 07777;

        if (found != mode)
                fail_msg("%s has mode %o instead of %o", path, found, mode);
}

static void expect_group(int folder, const char *path, gid_t group) {
        if (stat_of(folder, path).st_gid != group)
                fail_msg("%s has group %u instead of %u", path, stat_of(folder, path).st_gid, group);
}

/* A group that the caller is in besides its own; or its own. */
static gid_t other_group(void) {
        gid_t list[256];
        int n = getgroups(ARRAY_SIZE(list), list);

        for (int i = 0; i < n; i++)
                if (list[i] != getegid())
                        return list[i];
        return getegid();
}

static void give_to(int folder, const char *path, gid_t group, mode_t mode) {
        assert_int_equal(fchownat(folder, path, (uid_t)-1, group, 0), 0);
        assert_int_equal(fchmodat(folder, path, mode, 0), 0);
}

/* Commits all; what it notes, or says that it failed. */
static char *commit_notes(const struct layer *y) {
        _cleanup_changes_report_ struct changes_report report = {0};
        struct nsrun_error err = {0};
        char *text = NULL;
        size_t n = 0;
        FILE *to = open_memstream(&text, &n);
        int r = changes_commit(&y->l, NULL, 0, &report, &err);

        if (r < 0)
                (void)fprintf(to, "%s: %s: %s\n", err.what, err.path, strerror(-r));
        STRV_FOREACH (note, report.notes)
                (void)fprintf(to, "%s\n", *note);
        (void)fclose(to);
        return text;
}

static void expect_notes(const struct layer *y, const char *list) {
        _cleanup_free_ char *notes = commit_notes(y);

        assert_string_equal(notes, list);
}

/* The folder that a commit of the session locks first. */
static int open_layer(const struct site *s, const char *id) {
        _cleanup_outcome_ struct outcome o = {0};
        char rundir[4096] = "";
        const char *found;
        glob_t list;
        int fd;

        SESSION(s, &o, "show", "--json", id);
        found = strstr(o.out, "\"run_directory\":\"");
        assert_non_null(found);
        assert_int_equal(sscanf(found, "\"run_directory\":\"%4000[^\"]", rundir), 1);
        strncat(rundir, "/overlay-*-layered", 32);
        assert_int_equal(glob(rundir, 0, NULL, &list), 0);
        assert_int_equal(list.gl_pathc, 1);
        fd = scratch_open(list.gl_pathv[0]);
        globfree(&list);
        return fd;
}

/* By nsrun: who starts a process may hold all signals from it until its exec. */
static void await_blocked(pid_t pid, int signal) {
        _cleanup_free_ char *path = text_of("/proc/%d/status", (int)pid);
        const time_t end = time(NULL) + deadline_seconds;
        unsigned long long blocked = 0;

        while (!(blocked >> (signal - 1) & 1) || blocked >> (SIGUSR1 - 1) & 1) {
                FILE *f = fopen(path, "re");
                char line[256];
                bool is_there = false;

                assert_non_null(f);
                while (fgets(line, sizeof(line), f))
                        is_there |= sscanf(line, "SigBlk: %llx", &blocked) == 1;
                (void)fclose(f);
                assert_true(is_there);
                if (time(NULL) > end)
                        fail_msg("signal %d is never held", signal);
                (void)sched_yield();
        }
}

TEST(a_signal_ends_nsrun_once_nothing_is_left) {
        static const int all[] = {SIGHUP, SIGINT, SIGTERM};
        const struct site *s = *state;
        _cleanup_free_ char *layered = path_of(s->root, "layered"), *id = NULL;
        _cleanup_free_ char *script = text_of("echo 2 >%s/a", layered);
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_close_ int layer = -EBADF, folder = -EBADF;

        make_folder(s->root, "layered");
        make_file(layered, "a", "1\n");
        id = START(s, "--overlay", layered);
        expect_good_join(s, id, script, "");
        folder = scratch_open(layered);
        layer = open_layer(s, id);
        for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
                struct running running;

                (void)signal(all[i], SIG_DFL);
                assert_int_equal(flock(layer, LOCK_EX), 0);
                spawn(&(struct request){.argv = OPTIONS(program(), "session", "commit", id, layered),
                                        .cwd = s->root},
                      &running);
                await_blocked(running.pid, all[i]);
                send_signal(running.pidfd, all[i]);
                /* Not even another commit is waited for, which may be stopped. */
                finish(&running, &o);
                assert_int_equal(flock(layer, LOCK_UN), 0);
                expect_status(&o, 1000 + all[i]);
                assert_string_equal(
                        o.err, "nsrun: a signal came, so nothing was committed: Interrupted system call\n");
                expect_out(&o, "");
                layer_sh(folder, "[ $(ls -A) = a ]; [ $(cat a) = 1 ]");
                outcome_clear(&o);
        }
        SESSION(s, &o, "commit", id, layered);
        expect_status(&o, 0);
        expect_out(&o, "committed 1 path\n");
        end_session(s, id, "stop");
}

/* Root keeps groups as it keeps owners: these promises are an ordinary user's. */
static void become_ordinary(void) {
        const gid_t groups[] = {EXTRA};

        if (geteuid() == 0 && setgroups(ARRAY_SIZE(groups), groups) == 0 &&
            setresgid(NOBODY - 1, NOBODY - 1, NOBODY - 1) == 0 &&
            setresuid(NOBODY - 1, NOBODY - 1, NOBODY - 1) == 0)
                /* What belonged to root is closed to such a process. */
                (void)prctl(PR_SET_DUMPABLE, 1);
}

static int ordinary_setup(void **state) {
        become_ordinary();
        return layer_setup(state);
}

/* root gives itself one. */
static bool has_other_group(void) {
        return geteuid() == 0 || other_group() != getegid();
}

TEST_WITH(an_acl_stays_with_new_content, ordinary_setup, layer_teardown) {
        const struct acl shut = acl_of(6, 0, 6), masked = acl_of(6, 0, 4), none = acl_of(6, 0, 0);
        static const char *const names[] = {"written", "replaced", "chmod", "both", "old"};
        struct layer *y = *state;
        _cleanup_close_ int base = layer_folder(y, "base");

        layer_sh(base, "for f in written replaced chmod both old; do echo $f >$f; done");
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                set_acl(base, names[i], ACCESS_ACL, &shut);
        expect_mode(base, "written", 0660);
        layer_mount(y);
        layer_sh(y->l.merged_fd,
                 "echo 2 >>written; echo 2 >x; chmod 660 x; mv x replaced; chmod 640 chmod; echo 2 >>both;"
                 "chmod 600 both; mkdir d; mv old d/renamed");
        expect_notes(y, "");
        layer_expect(y, "");
        layer_sh(base, "[ $(tail -n 1 written) = 2 ]; [ $(cat replaced) = 2 ]; [ $(cat d/renamed) = old ]");
        expect_acl(base, "written", &shut);
        expect_acl(base, "replaced", &shut);
        expect_acl(base, "chmod", &masked);
        expect_acl(base, "both", &none);
        expect_acl(base, "d/renamed", &shut);
}

/* The folder that a commit makes things ready in inherits it. */
TEST_WITH(a_default_acl_gives_no_access_to_an_old_file, ordinary_setup, layer_teardown) {
        struct acl open = acl_of(7, 7, 7);
        struct layer *y = *state;
        _cleanup_close_ int base = layer_folder(y, "base");

        layer_sh(base, "echo 1 >a; chmod 660 a; mkfifo p; chmod 660 p");
        open.list[0].rights = 7;
        set_acl(base, ".", DEFAULT_ACL, &open);
        layer_mount(y);
        layer_sh(y->l.merged_fd, "echo 2 >>a; chmod 640 p");
        layer_commit(y, NULL);
        expect_mode(base, "a", 0660);
        expect_acl(base, "a", NULL);
        expect_mode(base, "p", 0640);
}

TEST_IF(has_other_group(), a_setgid_folder_gives_no_access_to_an_old_file, ordinary_setup, layer_teardown) {
        const gid_t own = getegid(), other = other_group();
        struct layer *y = *state;
        _cleanup_close_ int base = layer_folder(y, "base");

        layer_sh(base, "for f in private old; do echo $f >$f; chmod 660 $f; done; mkfifo p; chmod 660 p");
        give_to(base, ".", other, 02775);
        expect_group(base, "private", own);
        layer_mount(y);
        layer_sh(y->l.merged_fd, "echo 2 >>private; mv old renamed; chmod 640 p; echo 1 >new");
        expect_notes(y, "");
        expect_group(base, "private", own);
        expect_mode(base, "private", 0660);
        expect_group(base, "renamed", own);
        expect_mode(base, "renamed", 0660);
        expect_group(base, "p", own);
        expect_mode(base, "p", 0640);
        expect_group(base, "new", other);
}

TEST_IF(has_other_group(), names_of_one_file_open_none_of_them, ordinary_setup, layer_teardown) {
        const gid_t other = other_group();
        struct layer *y = *state;
        _cleanup_close_ int base = layer_folder(y, "base");

        layer_sh(base, "echo 1 >private; chmod 660 private");
        give_to(base, ".", other, 02775);
        layer_mount(y);
        layer_sh(y->l.merged_fd, "echo 2 >a; chmod 660 a; ln -f a private");
        expect_notes(y, "private: its names differ in group or ACL, so it is its owner's alone\n");
        assert_int_equal(stat_of(base, "a").st_ino, stat_of(base, "private").st_ino);
        expect_mode(base, "private", 0600);
}

/* In a user namespace that knows its own user and group, as in a sandbox. */
static void commit_in_namespace(const struct layer *y, const char *notes) {
        const unsigned uid = geteuid(), gid = getegid();
        pid_t pid = fork();
        int status;

        assert_true(pid >= 0);
        if (pid == 0) {
                char map[64], *found;

                if (unshare(CLONE_NEWUSER) < 0)
                        _exit(77);
                layer_write("/proc/self/setgroups", "deny");
                (void)snprintf(map, sizeof(map), "%u %u 1", uid, uid);
                layer_write("/proc/self/uid_map", map);
                (void)snprintf(map, sizeof(map), "%u %u 1", gid, gid);
                layer_write("/proc/self/gid_map", map);
                found = commit_notes(y);
                (void)fputs(streq(found, notes) ? "" : found, stderr);
                _exit(streq(found, notes) ? 0 : 1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
}

TEST_WITH(an_acl_that_cant_be_kept_leaves_the_owner_alone, ordinary_setup, layer_teardown) {
        const struct acl shut = acl_of(6, 0, 6);
        struct layer *y = *state;
        _cleanup_close_ int base = layer_folder(y, "base");

        layer_sh(base, "echo 1 >a");
        set_acl(base, "a", ACCESS_ACL, &shut);
        layer_mount(y);
        layer_sh(y->l.merged_fd, "echo 2 >>a");
        commit_in_namespace(y, "a: its ACL can't be kept, so it is its owner's alone\n");
        layer_sh(base, "[ $(tail -n 1 a) = 2 ]");
        expect_mode(base, "a", 0600);
}

TEST_IF(has_other_group(), a_group_that_cant_be_kept_takes_what_others_might_gain, ordinary_setup,
        layer_teardown) {
        static const struct {
                const char *name;
                mode_t before, after;
        } cases[] = {{"a", 0660, 0600}, {"b", 0664, 0644}, {"c", 0604, 0600}, {"d", 0644, 0644}};
        const gid_t other = other_group();
        struct layer *y = *state;
        _cleanup_close_ int base = layer_folder(y, "base");

        layer_sh(base, "for f in a b c d; do echo 1 >$f; done");
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                give_to(base, cases[i].name, other, cases[i].before);
        layer_mount(y);
        /* A group that the session doesn't know keeps overlayfs from copying up. */
        layer_sh(y->l.merged_fd,
                 "for f in a b c d; do echo 2 >x; chmod $(stat -c %a $f) x; mv -f x $f; done");
        commit_in_namespace(y, "a: its group can't be kept, so less access is given\n"
                               "b: its group can't be kept, so less access is given\n"
                               "c: its group can't be kept, so less access is given\n");
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                expect_mode(base, cases[i].name, cases[i].after);
}

/* Where the mode alone changes, it is set in place. */
TEST_WITH(a_setuid_bit_that_is_dropped_is_told, ordinary_setup, layer_teardown) {
        struct layer *y = *state;
        _cleanup_close_ int base = layer_folder(y, "base");

        layer_sh(base, "for f in uid gid none; do echo $f >$f; chmod 644 $f; done");
        layer_mount(y);
        layer_sh(y->l.merged_fd, "chmod 4755 uid; chmod 2755 gid; chmod 755 none");
        expect_notes(y, "gid: its setuid or setgid bit is dropped\n"
                        "uid: its setuid or setgid bit is dropped\n");
        expect_mode(base, "uid", 0755);
        expect_mode(base, "gid", 0755);
        expect_mode(base, "none", 0755);
}

TEST_WITH(a_top_folder_that_is_shut_is_shut_again, ordinary_setup, layer_teardown) {
        struct layer *y = *state;
        _cleanup_close_ int base = layer_folder(y, "base");

        layer_sh(base, "echo 1 >a; chmod 555 .");
        layer_mount(y);
        layer_sh(y->l.merged_fd, "echo 2 >>a");
        expect_notes(y, "");
        layer_sh(base, "[ $(tail -n 1 a) = 2 ]; [ $(ls -A) = a ]");
        expect_mode(base, ".", 0555);
}

TEST_WITH(a_signal_that_waits_ends_a_commit_with_nothing_done, ordinary_setup, layer_teardown) {
        static const int all[] = {SIGHUP, SIGINT, SIGTERM};
        struct layer *y = *state;
        _cleanup_close_ int base = layer_folder(y, "base");
        sigset_t one, old;

        layer_sh(base, "echo 1 >a; mkdir ro; echo 1 >ro/b; chmod 555 ro .");
        layer_mount(y);
        layer_sh(y->l.merged_fd, "echo 2 >>a; echo 2 >>ro/b");
        for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
                (void)sigemptyset(&one);
                (void)sigaddset(&one, all[i]);
                assert_int_equal(sigprocmask(SIG_BLOCK, &one, &old), 0);
                assert_int_equal(raise(all[i]), 0);
                expect_notes(y, "a signal came, so nothing was committed: : Interrupted system call\n");
                assert_int_equal(sigwaitinfo(&one, NULL), all[i]);
                assert_int_equal(sigprocmask(SIG_SETMASK, &old, NULL), 0);
                layer_sh(base, "[ \"$(echo $(ls -A))\" = 'a ro' ]; [ $(cat a)$(cat ro/b) = 11 ]");
                expect_mode(base, ".", 0555);
                expect_mode(base, "ro", 0555);
        }
        expect_notes(y, "");
        layer_sh(base, "[ \"$(echo $(ls -A))\" = 'a ro' ]; [ $(tail -n 1 a)$(tail -n 1 ro/b) = 22 ]");
        expect_mode(base, ".", 0555);
        expect_mode(base, "ro", 0555);
}

int main(void) {
        (void)umask(022);
        return run_all_tests();
}

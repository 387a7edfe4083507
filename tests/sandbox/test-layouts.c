/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hosts on which programs and certificates aren't where most have them: NixOS, Guix, and links that lead out
 * of /etc and from one system folder to the next.  Such a host is a new root of the machine's own folders.
 */
#include <dirent.h>
#include <limits.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "host.h"

/* A new root, with the machine's folders but those of the system.  It is put together in /run, which it has
 * not of the machine: nothing of the machine's may ever be beneath a site, which is removed. */
static void lay(void) {
        static const char *const own[] = {"usr", "bin", "sbin", "lib",    "lib64", "lib32",
                                          "etc", "nix", "gnu",  "libx32", "run"};
        DIR *dir = opendir("/");

        stage_enter();
        stage_tmpfs("/run", 0);
        if (!dir || chdir("/run") < 0)
                stage_fail("/run");
        for (const struct dirent *entry; (entry = readdir(dir));) {
                char source[300];
                bool is_own = entry->d_name[0] == '.' || entry->d_type != DT_DIR;

                for (size_t i = 0; i < ARRAY_SIZE(own); i++)
                        is_own |= streq(entry->d_name, own[i]);
                if (is_own)
                        continue;
                (void)snprintf(source, sizeof(source), "/%s", entry->d_name);
                if (mkdir(entry->d_name, 0755) < 0 ||
                    mount(source, entry->d_name, NULL, MS_BIND | MS_REC, NULL) < 0)
                        stage_fail(source);
        }
        (void)closedir(dir);
}

/* mkdir -p of what is before the last slash, beneath the new root; `path` has no leading slash. */
static void lay_parents(const char *path) {
        char copy[PATH_MAX];

        (void)snprintf(copy, sizeof(copy), "%s", path);
        for (char *slash = copy; (slash = strchr(slash, '/')); slash++) {
                *slash = '\0';
                if (mkdir(copy, 0755) < 0 && errno != EEXIST)
                        stage_fail(copy);
                *slash = '/';
        }
}

static void lay_bind(const char *source, const char *path) {
        lay_parents(path);
        if (mkdir(path, 0755) < 0 || mount(source, path, NULL, MS_BIND | MS_REC, NULL) < 0)
                stage_fail(path);
}

static void lay_link(const char *text, const char *path) {
        lay_parents(path);
        if (symlink(text, path) < 0)
                stage_fail(path);
}

static void lay_text(const char *path, const char *text) {
        lay_parents(path);
        stage_make_file(path, text);
}

/* A program that says a word. */
static void lay_program(const char *path, const char *word) {
        char text[100];

        (void)snprintf(text, sizeof(text), "#!/bin/sh\necho %s\n", word);
        lay_text(path, text);
        if (chmod(path, 0755) < 0)
                stage_fail(path);
}

/* Ends the stage: a user of that host, who has this PATH. */
static void lay_finish(const struct host *host, const char *path) {
        char line[PATH_MAX];

        (void)snprintf(line, sizeof(line), "u:x:%u:%u::%s:/bin/sh\n", geteuid(), getegid(),
                       host->site->home);
        lay_text("etc/passwd", line);
        if (syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0 ||
            setenv("PATH", path, 1) < 0)
                stage_fail("pivot_root");
}

/* -------------------------------------------------------------------- NixOS */

static void stage_nixos(void *data) {
        const struct host *host = data;

        lay();
        lay_bind("/usr", "nix/store/0-usr");
        lay_link("nix/store/0-usr/lib", "lib");
        lay_link("nix/store/0-usr/lib64", "lib64");
        lay_link("/nix/store/0-usr/bin/sh", "bin/sh");
        lay_link("/nix/store/0-usr/bin/env", "usr/bin/env");
        lay_program("nix/store/1-system/sw/bin/git-x", "of-system");
        lay_link("/nix/store/0-usr/bin/cat", "nix/store/1-system/sw/bin/cat");
        lay_link("/nix/store/0-usr/bin/sh", "nix/store/1-system/sw/bin/sh");
        lay_link("/nix/store/1-system", "run/current-system");
        lay_program("nix/store/2-default/bin/sh-x", "of-default");
        lay_link("default-1-link", "nix/var/nix/profiles/default");
        lay_link("/nix/store/2-default", "nix/var/nix/profiles/default-1-link");
        lay_program("nix/store/3-user/bin/own-x", "of-user");
        lay_link("/nix/store/3-user", "nix/var/nix/profiles/per-user/u/profile");
        lay_program("nix/store/4-their/bin/their-x", "of-users");
        lay_link("/nix/store/5-etc/etc", "etc/static");
        lay_link("/etc/static/profiles/per-user/u", "etc/profiles/per-user/u");
        lay_link("/nix/store/4-their", "nix/store/5-etc/etc/profiles/per-user/u");
        lay_link("/etc/static/ssl/certs/ca-certificates.crt", "etc/ssl/certs/ca-certificates.crt");
        lay_link("/nix/store/6-ca/bundle.crt", "nix/store/5-etc/etc/ssl/certs/ca-certificates.crt");
        lay_text("nix/store/6-ca/bundle.crt", "certificates\n");
        lay_text("etc/secret", "secret\n");
        lay_text("run/secret", "secret\n");
        lay_finish(host, host->text);
}

TEST(programs_and_certificates_of_nixos_are_there) {
        const struct site *s = *state;
        _cleanup_free_ char *path = text_of("%s/.nix-profile/bin:/etc/profiles/per-user/u/bin:"
                                            "/nix/var/nix/profiles/default/bin:/run/current-system/sw/bin",
                                            s->home);
        struct host host = {.text = path};
        _cleanup_outcome_ struct outcome o = {0};

        make_link(s->home, ".nix-profile", "/nix/var/nix/profiles/per-user/u/profile");
        run_on(s, stage_nixos, &host, NULL, OPTIONS("--no-config"),
               "git-x; sh-x; own-x; their-x; cat /etc/ssl/certs/ca-certificates.crt; "
               "cat /etc/secret /run/secret 2>/dev/null; : >/nix/store/x",
               &o);
        expect_out(&o, "of-system\nof-default\nof-user\nof-users\ncertificates\n");
        expect_in(o.err, "/nix/store/x: Read-only file system");
        expect_not_in(o.err, "note");
}

/* --------------------------------------------------------------------- Guix */

static void stage_guix(void *data) {
        const struct host *host = data;

        lay();
        lay_bind("/usr", "gnu/store/0-usr");
        lay_link("gnu/store/0-usr/lib", "lib");
        lay_link("gnu/store/0-usr/lib64", "lib64");
        lay_link("/gnu/store/0-usr/bin/sh", "bin/sh");
        lay_program("gnu/store/1-profile/bin/git-x", "of-system");
        lay_link("/gnu/store/0-usr/bin/cat", "gnu/store/1-profile/bin/cat");
        lay_link("/gnu/store/0-usr/bin/sh", "gnu/store/1-profile/bin/sh");
        lay_text("gnu/store/1-profile/etc/ssl/certs/ca-certificates.crt", "certificates\n");
        lay_link("/gnu/store/1-profile", "gnu/store/2-system/profile");
        lay_link("/gnu/store/2-system", "run/current-system");
        lay_link("/run/current-system/profile/etc/ssl", "etc/ssl");
        lay_program("gnu/store/3-user/bin/own-x", "of-user");
        lay_finish(host, host->text);
}

TEST(programs_and_certificates_of_guix_are_there) {
        const struct site *s = *state;
        _cleanup_free_ char *path = text_of("%s/.guix-profile/bin:/run/current-system/profile/bin", s->home);
        struct host host = {.text = path};
        _cleanup_outcome_ struct outcome o = {0};

        make_link(s->home, ".guix-profile", "/gnu/store/3-user");
        run_on(s, stage_guix, &host, NULL, OPTIONS("--no-config"),
               "git-x; own-x; cat /etc/ssl/certs/ca-certificates.crt; : >/gnu/store/x", &o);
        expect_out(&o, "of-system\nof-user\ncertificates\n");
        expect_in(o.err, "/gnu/store/x: Read-only file system");
        expect_not_in(o.err, "note");
}

/* -------------------------------------------------------------- other links */

static void stage_links(void *data) {
        const struct host *host = data;

        lay();
        lay_bind("/usr", "usr");
        lay_link("bin2", "bin");
        lay_link("/bin3", "bin2");
        lay_bind("/usr/bin", "bin3");
        lay_link("lib2", "lib");
        lay_link("usr/lib", "lib2");
        lay_link("usr/lib64", "lib64");
        lay_link("/ca/now/bundle.crt", "etc/ssl/certs/ca-certificates.crt");
        lay_link("1", "ca/now");
        lay_text("ca/1/bundle.crt", "certificates\n");
        lay_text("ca/1/key", "secret\n");
        lay_link(host->path, "etc/pki/tls/cert.pem");
        lay_finish(host, "/bin");
}

TEST(links_from_one_system_folder_to_the_next_are_followed) {
        const struct site *s = *state;
        _cleanup_free_ char *secret = path_of(s->home, "secret");
        struct host host = {.site = s, .path = secret};
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->home, "secret", "secret\n");
        run(&(struct request){.argv = OPTIONS("/bin/sh", "-c", "cat /ca/now/key /etc/pki/tls/cert.pem"),
                              .cwd = s->root,
                              .in_child = stage_links,
                              .data = &host},
            &o);
        expect_out(&o, "secret\nsecret\n");
        run_on(s, stage_links, &host, NULL, OPTIONS("--no-config"),
               "readlink /bin /bin2; cat /etc/ssl/certs/ca-certificates.crt; cat /ca/1/key /ca/now/key; "
               "cat /etc/pki/tls/cert.pem; : >/bin3/x",
               &o);
        /* What the links lead to is there, what is beside it isn't; nothing of the home by a link in /etc.
         */
        expect_out(&o, "bin2\n/bin3\ncertificates\n");
        expect_in(o.err, "/bin3/x: Read-only file system");
}

/* ------------------------------------------------------- a stage that fails */

static void stage_crash(nsrun_unused void *data) {
        (void)raise(SIGSEGV);
}

/* cmocka catches the signal in the child, too, and goes on with the test's teardown there. */
TEST(a_stage_that_crashes_removes_nothing) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->project, "file", "");
        run(&(struct request){.argv = OPTIONS("/bin/true"), .cwd = s->root, .in_child = stage_crash}, &o);
        expect_status(&o, 123);
        make_file(s->project, "another", "");
        assert_int_equal(access(s->home, F_OK), 0);
}

/* -------------------------------------------------------- a home below /opt */

static void stage_home_in_opt(void *data) {
        const struct host *host = data;

        stage_enter();
        stage_tmpfs("/opt", 0);
        if (mkdir("/opt/me", 0755) < 0 || mkdir("/opt/me/.ssh", 0700) < 0 || mkdir("/opt/tool", 0755) < 0 ||
            setenv("HOME", "/opt/me", 1) < 0)
                stage_fail("/opt/me");
        stage_make_file("/opt/me/.ssh/key", "secret\n");
        stage_bind(host->site->outside, "/opt/tool");
}

TEST(a_home_below_opt_is_not_shown_with_opt) {
        static const char script[] =
                "cat ~/.ssh/key; ls -A /opt/me; ls /opt/tool; echo fine >~/x && cat ~/x";
        const struct site *s = *state;
        struct host host = {.site = s};
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->outside, "program", "");
        run_on(s, stage_home_in_opt, &host, NULL, OPTIONS("--ro", "/opt/me/.ssh"), script, &o);
        expect_in(o.out, "secret\n.ssh\nprogram\nfine\n");
        outcome_clear(&o);
        run_on(s, stage_home_in_opt, &host, NULL, NO_OPTIONS, script, &o);
        expect_out(&o, "program\nfine\n");
        expect_in(o.err, "No such file or directory");
}

/* The account's, where HOME names another. */
static void stage_account_in_opt(void *data) {
        const struct host *host = data;
        const char *home = getenv("HOME");
        _cleanup_free_ char *kept = home ? strdup(home) : NULL;

        stage_home_in_opt(data);
        stage_bind(host->path, "/etc/passwd");
        if (!kept || setenv("HOME", host->folder ? host->folder : kept, 1) < 0)
                stage_fail("HOME");
}

TEST(an_accounts_home_below_opt_is_not_shown_where_home_names_another) {
        static const char script[] = "cat /opt/me/.ssh/key; ls -A /opt/me; ls /opt/tool";
        static const char *const others[] = {NULL, "/opt", "/", "/nonexistent"};
        const struct site *s = *state;
        _cleanup_free_ char *passwd = path_of(s->outside, "passwd"),
                            *line = text_of("me:x:%u:%u::/opt/me:/bin/sh\n", geteuid(), getegid());

        make_file(s->outside, "program", "");
        make_file(s->outside, "passwd", line);
        for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
                struct host host = {.site = s, .path = passwd, .folder = others[i]};
                _cleanup_outcome_ struct outcome o = {0};

                run_on(s, stage_account_in_opt, &host, NULL, NO_OPTIONS, script, &o);
                expect_not_in(o.out, "secret");
                expect_in(o.out, "program\n");
                expect_in(o.err, "/opt/me/.ssh/key: No such file or directory");
                outcome_clear(&o);
                run_on(s, stage_account_in_opt, &host, NULL, OPTIONS("--ro", "/opt/me/.ssh"), script, &o);
                expect_in(o.out, "secret\n");
        }
}

/* A home that isn't there holds no secret that could be shown. */
TEST(a_home_below_opt_that_is_not_there_keeps_nothing_from_starting) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        assert_int_equal(setenv("HOME", "/opt/nsrun-test-none", 1), 0);
        RUN(s, &o, "--", "sh", "-c", "echo fine; ls -d /opt/nsrun-test-none 2>/dev/null");
        assert_int_equal(setenv("HOME", s->home, 1), 0);
        expect_in(o.out, "fine\n");
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hosts on which an overlay can't be made: one that the user asked for is refused in exact words; a default
 * cache has the next best thing, and a note says which. */
#include <sys/mount.h>

#include "host.h"

TEST(a_cache_that_carries_no_overlay_is_refused) {
        const struct site *s = *state;
        _cleanup_free_ char *layered = path_of(s->root, "layered");
        _cleanup_free_ char *line =
                text_of("nsrun: the cache folder's file system can't carry an overlay's "
                        "upper layer: %s/nsrun: Invalid argument; use --overlay-backing=tmpfs, "
                        "or point XDG_CACHE_HOME at a local disk",
                        s->cache);
        _cleanup_free_ char *script = text_of("echo fine >%s/file; cat %s/file", layered, layered);
        struct host host = {.folder = s->outside};
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->root, "layered");
        run_on(s, stage_plain, &host, NULL, OPTIONS("--overlay", layered), script, &o);
        expect_fine(&o);
        run_on(s, stage_overlaid_cache, &host, NULL, OPTIONS("--overlay", layered), script, &o);
        expect_host_refusal(&o, 125, line);
        run_on(s, stage_overlaid_cache, &host, NULL,
               OPTIONS("--overlay", layered, "--overlay-backing=tmpfs"), script, &o);
        expect_fine(&o);
        /* Each wrote to a layer of its own. */
        assert_int_equal(rmdir(layered), 0);
}

/* The kernel stacks two overlays, and no third one. */
static void stage_stacked(void *data) {
        const struct host *host = data;
        const char *const parts[] = {"lower", "a", "a-upper", "a-work", "b", "b-upper", "b-work"};
        _cleanup_free_ char *a = text_of("%s/a", host->folder), *b = text_of("%s/b", host->folder),
                            *first = text_of("userxattr,lowerdir=%s/lower,upperdir=%s-upper,workdir=%s-work",
                                             host->folder, a, a),
                            *second = text_of("userxattr,lowerdir=%s,upperdir=%s-upper,workdir=%s-work", a,
                                              b, b);

        stage_enter();
        stage_tmpfs(host->folder, 0);
        for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
                make_folder(host->folder, parts[i]);
        if (mount("overlay", a, "overlay", 0, first) < 0 || mount("overlay", b, "overlay", 0, second) < 0)
                stage_fail("an overlay");
}

TEST(a_folder_that_no_overlay_can_be_laid_over_is_named) {
        const struct site *s = *state;
        _cleanup_free_ char *a = path_of(s->outside, "a"), *b = path_of(s->outside, "b"),
                            *script = text_of("ls -d %s && echo fine", b), *fine = text_of("%s\nfine\n", b),
                            *shown = text_of("%s\nfine\n", a), *other = text_of("ls -d %s && echo fine", a),
                            *line = text_of(
                                    "nsrun: the folder's file system can't be below an overlay: %s: "
                                    "Invalid argument; one that is made of overlays on overlays can't, "
                                    "nor one that folds case: use --ro or --rw for it, which takes the "
                                    "overlay's place",
                                    b);
        struct host host = {.folder = s->outside};
        _cleanup_outcome_ struct outcome o = {0};

        run_on(s, stage_stacked, &host, NULL, OPTIONS("--overlay", b), script, &o);
        expect_host_refusal(&o, 125, line);
        run_on(s, stage_stacked, &host, NULL, OPTIONS("--overlay", b, "--overlay-backing=tmpfs"), script,
               &o);
        expect_host_refusal(&o, 125, line);
        /* The same layers over another folder, and this folder as the message advises. */
        run_on(s, stage_stacked, &host, NULL, OPTIONS("--overlay", a), other, &o);
        expect_status(&o, 0);
        expect_out(&o, shown);
        run_on(s, stage_stacked, &host, NULL, OPTIONS("--ro", b), script, &o);
        expect_status(&o, 0);
        expect_out(&o, fine);
}

TEST(a_folder_with_a_mount_in_it_is_named) {
        const struct site *s = *state;
        _cleanup_free_ char
                *folder = path_of(s->outside, "folder"),
                *below = path_of(folder, "be low"), *script = text_of("ls %s", folder),
                *line = text_of(
                        "nsrun: a folder in which something is mounted can't be below an "
                        "overlay: %s: Invalid argument; sudo umount '%s', or use --ro or --rw for %s, "
                        "which takes the overlay's place",
                        folder, below, folder);
        struct host host = {.folder = below};
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->outside, "folder");
        make_folder(folder, "be low");
        run_on(s, stage_plain, &host, NULL, OPTIONS("--overlay", folder), script, &o);
        expect_status(&o, 0);
        expect_out(&o, "be low\n");
        run_on(s, stage_mounted, &host, NULL, OPTIONS("--overlay", folder), script, &o);
        expect_host_refusal(&o, 125, line);
        run_on(s, stage_mounted, &host, NULL, OPTIONS("--ro", folder), script, &o);
        expect_status(&o, 0);
        expect_out(&o, "be low\n");
}

/* ----------------------------------------------------------------- default caches */

#define IN_MEMORY "nsrun: note: no overlay on disk can be had for this cache: its overlay is in memory: %s\n"
#define READ_ONLY "nsrun: note: no overlay can be had for this cache: it is read-only: %s\n"
#define EMPTY     "nsrun: note: this cache can't be shown: it is empty inside: %s\n"

/* ~/.npm, which has an overlay by default, with a file of the host's. */
static char *make_cache(const struct site *s) {
        char *npm = path_of(s->home, ".npm");

        make_folder(s->home, ".npm");
        make_file(npm, "kept", "as it was\n");
        return npm;
}

static void expect_cache(const struct outcome *o, const char *out, const char *note, const char *npm) {
        _cleanup_free_ char *line = replaced(note, "%s", npm);

        expect_status(o, 0);
        assert_string_equal(o->err, line);
        expect_out(o, out);
}

static const char write_to_cache[] = "cat ~/.npm/kept; echo new >~/.npm/new; cat ~/.npm/new; :";

TEST(a_default_cache_whose_disk_carries_no_overlay_has_it_in_memory) {
        const struct site *s = *state;
        _cleanup_free_ char *npm = make_cache(s);
        struct host host = {.folder = s->outside};
        char *before = snapshot(npm);
        _cleanup_outcome_ struct outcome o = {0};

        run_on(s, stage_plain, &host, NULL, OPTIONS("--overlay-backing=disk"), write_to_cache, &o);
        expect_cache(&o, "as it was\nnew\n", "", npm);
        run_on(s, stage_overlaid_cache, &host, NULL, OPTIONS("--overlay-backing=disk"), write_to_cache, &o);
        expect_cache(&o, "as it was\nnew\n", IN_MEMORY, npm);
        expect_unchanged(npm, before);
        /* The same cache, named by the user, is refused. */
        run_on(s, stage_overlaid_cache, &host, NULL, OPTIONS("--overlay", npm), write_to_cache, &o);
        expect_status(&o, 125);
}

TEST(a_default_cache_without_a_run_directory_has_its_overlay_in_memory) {
        const struct site *s = *state;
        _cleanup_free_ char *npm = make_cache(s),
                            *line = text_of(
                                    "nsrun: the cache folder can't be made: %s/nsrun: Read-only file "
                                    "system; set XDG_RUNTIME_DIR, XDG_CACHE_HOME and XDG_STATE_HOME to "
                                    "folders of your own that can be written (a service with "
                                    "ProtectSystem=strict: name them in ReadWritePaths=)",
                                    s->cache);
        struct host host = {0};
        _cleanup_outcome_ struct outcome o = {0};

        run_on(s, stage_read_only_cache, &host, NULL, OPTIONS("--overlay-backing=disk"), write_to_cache, &o);
        expect_cache(&o, "as it was\nnew\n", IN_MEMORY, npm);
        run_on(s, stage_read_only_cache, &host, NULL, OPTIONS("--overlay", npm), write_to_cache, &o);
        expect_host_refusal(&o, 125, line);
}

static void stage_stacked_cache(void *data) {
        const struct host *host = data;
        _cleanup_free_ char *b = text_of("%s/b", host->folder), *kept = text_of("%s/kept", b),
                            *token = text_of("%s/.npmrc", b);

        stage_stacked(data);
        stage_make_file(kept, "as it was\n");
        stage_make_file(token, "secret\n");
        stage_bind(b, host->path);
}

TEST(a_default_cache_that_no_overlay_can_be_laid_over_is_read_only) {
        static const char look[] = "cat ~/.npm/kept; touch ~/.npm/new || cat ~/.npm/.npmrc";
        const struct site *s = *state;
        _cleanup_free_ char *npm = make_cache(s), *secret = path_of(npm, ".npmrc");
        struct host host = {.folder = s->outside, .path = npm};
        _cleanup_outcome_ struct outcome o = {0};

        run_on(s, stage_plain, &host, NULL, NO_OPTIONS, write_to_cache, &o);
        expect_cache(&o, "as it was\nnew\n", "", npm);
        for (size_t i = 0; i < 2; i++) {
                run_on(s, stage_stacked_cache, &host, NULL,
                       i ? OPTIONS("--overlay-backing=disk") : NO_OPTIONS, "cat ~/.npm/kept", &o);
                expect_cache(&o, "as it was\n", READ_ONLY, npm);
        }
        /* What is hidden in it stays hidden. */
        run_on(s, stage_stacked_cache, &host, NULL, OPTIONS("--hide", secret), look, &o);
        expect_status(&o, 1);
        expect_out(&o, "as it was\n");
        expect_in(o.err, "Read-only file system");
        expect_in(o.err, "/.npmrc: Permission denied");
}

TEST(a_default_cache_with_a_mount_in_it_is_read_only) {
        const struct site *s = *state;
        _cleanup_free_ char *npm = make_cache(s), *below = path_of(npm, "below");
        struct host host = {.folder = below};
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(npm, "below");
        run_on(s, stage_mounted, &host, NULL, NO_OPTIONS, "cd ~/.npm; ls; touch below/x x 2>/dev/null; ls",
               &o);
        expect_cache(&o, "below\nkept\nbelow\nkept\n", READ_ONLY, npm);
}

/* root's sandbox can't open what only another user may. */
TEST_IF(geteuid() == 0, a_default_cache_that_cant_be_opened_is_empty, site_setup, site_teardown) {
        static const char script[] =
                "cd ~/.cargo/registry; ls; rm -f kept; echo new >new; cat new; test -d ~/.cargo";
        const struct site *s = *state;
        _cleanup_free_ char *cargo = path_of(s->home, ".cargo"), *registry = path_of(cargo, "registry"),
                            *new = path_of(registry, "new");
        struct host host = {0};
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->home, ".cargo");
        make_folder(cargo, "registry");
        make_file(registry, "kept", "");
        assert_int_equal(chmod(cargo, 0700), 0);
        run_on(s, NULL, &host, NULL, NO_OPTIONS, script, &o);
        expect_cache(&o, "kept\nnew\n", "", registry);
        assert_int_equal(chown(cargo, 54321, 54321), 0);
        run_on(s, NULL, &host, NULL, NO_OPTIONS, script, &o);
        expect_cache(&o, "new\n", EMPTY, registry);
        assert_int_not_equal(access(new, F_OK), 0);
        run_on(s, NULL, &host, NULL, OPTIONS("--overlay", registry), script, &o);
        expect_status(&o, 125);
}

int main(void) {
        return run_all_tests();
}

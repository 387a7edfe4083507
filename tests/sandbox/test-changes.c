/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* src/changes on overlays of its own: what is seen, committed, discarded and printed. */
#include "layer.h"

static int setup(void **state) {
        struct layer *y = calloc(1, sizeof(*y));

        assert_non_null(y);
        (void)umask(022);
        layer_begin(y);
        *state = y;
        return 0;
}

static int teardown(void **state) {
        layer_end(*state);
        free(*state);
        return 0;
}

/* The base, by a script; then the overlay; then its changes. */
static struct layer *change(void **state, const char *base, const char *script) {
        struct layer *y = *state;
        _cleanup_close_ int fd = layer_folder(y, "base");

        layer_sh(fd, base);
        layer_mount(y);
        layer_sh(y->l.merged_fd, script);
        return y;
}

static void an_untouched_overlay_has_no_changes(void **state) {
        struct layer *y = change(state, "mkdir a; echo x >a/b; ln -s a c", "cat a/b; ls -R");

        layer_expect(y, "");
}

static void each_kind_of_change_is_seen(void **state) {
        struct layer *y = change(state,
                                 "mkdir d gone e t; echo 1 >d/x; echo 2 >d/mode; echo 3 >d/touched; echo 4 >gone/y;"
                                 "echo 55555 >old; ln -s d link; echo 6 >file; echo 7 >t/z; echo 8 >e/x",
                                 "echo more >>d/x; chmod 600 d/mode; touch -d @5 d/touched; rm -r gone; mv old new;"
                                 "ln -sfn e link; rm file; mkdir file; echo a >file/a; rm -r t; echo t >t; mkfifo p;"
                                 "chmod 700 e");

        layer_expect(y, "M  d/mode (mode 0644 -> 0600)\n"
                        "M  d/touched (mtime)\n"
                        "M  d/x\n"
                        "M  e/ (mode 0755 -> 0700)\n"
                        "T  file/\n"
                        "A  file/a\n"
                        "D  gone/\n"
                        "D  gone/y\n"
                        "M  link\n"
                        "R  old -> new\n"
                        "A  p\n"
                        "T  t\n"
                        "D  t/z\n");
        layer_commit(y, NULL);
        layer_expect(y, "");
        layer_sh(y->l.base_fd, "grep -q more d/x; [ $(stat -c %a d/mode) = 600 ]; [ ! -e gone ]; [ ! -e old ];"
                               "[ $(cat new) = 55555 ]; [ $(readlink link) = e ]; [ $(cat file/a) = a ];"
                               "[ $(cat t) = t ]; [ -p p ]; [ $(stat -c %a e) = 700 ];"
                               "[ $(ls -A | wc -l) = 7 ]");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(an_untouched_overlay_has_no_changes, setup, teardown),
                cmocka_unit_test_setup_teardown(each_kind_of_change_is_seen, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

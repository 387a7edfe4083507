/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* workspace/user.c: names for the synthetic passwd and group. */
#include "host/user.h"

#include "scratch.h"

enum {
        NOBODY_HAS_IT = 3987654321
};

TEST(root_is_called_root) {
        struct user u;

        (void)setenv("USER", "somebody", 1);
        assert_int_equal(user_find(0, 0, &u), 0);
        assert_string_equal(u.name, "root");
        assert_string_equal(u.group, "root");
        assert_true(!u.home || u.home[0] == '/');
        assert_true(u.shell[0] == '/');
        user_clear(&u);
        assert_null(u.name);
}

TEST(a_user_without_a_line_is_called_what_the_environment_says) {
        struct user u;

        (void)setenv("USER", "ann", 1);
        (void)setenv("SHELL", "/usr/bin/fish", 1);
        assert_int_equal(user_find((uid_t)NOBODY_HAS_IT, (gid_t)NOBODY_HAS_IT, &u), 0);
        assert_string_equal(u.name, "ann");
        assert_string_equal(u.group, "group");
        assert_null(u.home);
        assert_string_equal(u.shell, "/usr/bin/fish");
        user_clear(&u);

        (void)unsetenv("USER");
        (void)unsetenv("SHELL");
        (void)setenv("LOGNAME", "DOMAIN.ann-1", 1);
        assert_int_equal(user_find((uid_t)NOBODY_HAS_IT, (gid_t)NOBODY_HAS_IT, &u), 0);
        assert_string_equal(u.name, "DOMAIN.ann-1");
        assert_string_equal(u.shell, "/bin/sh");
        user_clear(&u);
}

/* Each would add a line, a field or a second root to the passwd that is written. */
TEST(an_environment_cannot_forge_a_passwd_line) {
        static const char *const forged[] = {"",
                                             "a:x:0:0::/:/bin/sh",
                                             "a\nroot2:x:0:0::/:/bin/sh",
                                             "root",
                                             "nobody",
                                             "a/../b",
                                             "-x",
                                             ".hidden",
                                             "a b",
                                             "\033[2J"};

        (void)unsetenv("LOGNAME");
        for (size_t i = 0; i < ARRAY_SIZE(forged); i++) {
                struct user u;

                (void)setenv("USER", forged[i], 1);
                (void)setenv("SHELL", i % 2 ? "/bin/x:y" : "bin/sh\nroot2:x:0:0::/:", 1);
                assert_int_equal(user_find((uid_t)NOBODY_HAS_IT, 0, &u), 0);
                assert_string_equal(u.name, "user");
                assert_string_equal(u.shell, "/bin/sh");
                assert_string_equal(u.group, "root");
                user_clear(&u);
        }
}

/* Against the file itself, read another way. */
TEST(the_first_line_of_an_id_decides) {
        FILE *f = popen("awk -F: 'NF == 7 && !seen[$3]++ { print $3, $1, $6, $7 }' /etc/passwd", "re");
        char name[256], home[512], shell[512];
        unsigned uid, n = 0;

        assert_non_null(f);
        while (fscanf(f, "%u %255s %511s %511s", &uid, name, home, shell) == 4) {
                struct user u;

                assert_int_equal(user_find(uid, 0, &u), 0);
                assert_string_equal(u.name, name);
                assert_string_equal(u.home, home);
                assert_string_equal(u.shell, shell);
                user_clear(&u);
                n++;
        }
        assert_int_equal(pclose(f), 0);
        assert_true(n > 0);
}

int main(void) {
        return run_all_tests();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the readers of npm's and pip's files pass, and what they never do. */
#include "host/toolsettings.h"

#include "scratch.h"

typedef int (*reader)(const char *text, struct strbuf *to);

static void expect_read(reader read, const char *text, int expected, const char *out) {
        _cleanup_strbuf_ struct strbuf to = {0};
        int r = read(text, &to);

        if (r != expected || !streq(to.text ? to.text : "", out))
                fail_msg("%s\ngave %d:\n%s\ninstead of %d:\n%s", text, r, to.text ? to.text : "", expected,
                         out);
}

struct reading_case {
        const char *text, *out;
        int expected;
};

static void expect_all(reader read, const struct reading_case *cases, size_t n) {
        for (size_t i = 0; i < n; i++)
                expect_read(read, cases[i].text, cases[i].expected, cases[i].out);
}

TEST(an_address_with_a_credential_is_not_fit) {
        static const char *const fit[] = {"https://npm.example.org/",
                                          "http://127.0.0.1:4873",
                                          "https://pkgs.example.com/repository/npm-group/",
                                          "https://h.example/artifactory/api/npm/npm-2024/",
                                          "https://h/MyCompany-NuGetFeed/python3-rhel8/py3-v2-x86/",
                                          "https://h/_packaging/team-internal-python-packages/pypi/simple/"},
                                 *const unfit[] = {
                                         "https://u:p@h/",
                                         "https://u:p",
                                         "https://u:1:2/",
                                         "https://h:80x/",
                                         "https://token@h/simple",
                                         "https://h/?t=x",
                                         "https://h/#x",
                                         "https://h/;x",
                                         "https://h/%41",
                                         "https://${TOKEN}@h/",
                                         "https://h/$TOKEN/",
                                         "ssh://git@h/x",
                                         "git+ssh://h/x",
                                         "sparse+https://h/",
                                         "file:///etc",
                                         "//h/x",
                                         "",
                                         "https://",
                                         "https:///x",
                                         "https://dl.example.io/aB3dE6gH9jK2mN5p/org/simple/",
                                         "https://h/d41d8cd98f00b204e9800998ecf8427e/simple",
                                         "https://h/3f2504e0-4f89-41d3-9a0c-0305e82c3301/x",
                                         "https://h/AbCdEfGhIjKlMnOp/x",
                                         "https://h/550e8400-e29b-41d4-a716-446655440000/simple",
                                         "https://h/t0k3n-aB3x-xYz9q-1a2B3c_dE4f/",
                                         "https://h/mfrggzdfmztwqzlkmfrggzdfmztwqzlk/x",
                                         "https://h/a b",
                                         "https://h/\n",
                                         "https://h/\xc3\xa9",
                                 };

        for (size_t i = 0; i < ARRAY_SIZE(fit); i++)
                if (!setting_is_fit(SETTING_ADDRESS, fit[i]))
                        fail_msg("%s isn't fit", fit[i]);
        for (size_t i = 0; i < ARRAY_SIZE(unfit); i++)
                if (setting_is_fit(SETTING_ADDRESS, unfit[i]))
                        fail_msg("%s is fit", unfit[i]);
        assert_true(setting_is_fit(SETTING_ADDRESSES, "https://a/ https://b/x"));
        assert_false(setting_is_fit(SETTING_ADDRESSES, "https://a/ https://u:p@b/x"));
        assert_false(setting_is_fit(SETTING_ADDRESSES, ""));
}

TEST(npms_file) {
        static const struct reading_case cases[] = {
                {"", "", 0},
                {"; mine\nregistry = https://npm.example.org/\n//npm.example.org/:_authToken=secret\n"
                 "@corp:registry=\"https://corp.example.org/npm/\"\n_auth=secret\n_password=secret\n"
                 "save-prefix = '~'\nfund=false ; why\naudit\ncafile=/secret\nkey=\"secret\"\ncert=secret\n"
                 "//h/:username=secret\nemail=secret@x\nproxy=http://u:secret@p/\nprefix=/secret\n"
                 "strict-ssl=false\nfetch-retries=5\nscript-shell=/secret\n",
                 "registry = https://npm.example.org/\n@corp:registry = https://corp.example.org/npm/\n"
                 "save-prefix = ~\nfund = false\naudit = true\nfetch-retries = 5\n",
                 0},
                /* What npm expands may be a secret, and so may what an escape stands for. */
                {"registry=https://${SECRET}@h/\nfund=${SECRET}\naudit=tr\\ue\n@${S}:registry=https://h/\n",
                 "", 0},
                {"registry=https://h/ # secret\r\nloglevel=warn\r\n",
                 "registry = https://h/\nloglevel = warn\n", 0},
                /* The last of a name counts: without it, what comes first isn't the setting. */
                {"registry=https://u:secret#@h/\nloglevel=warn;x\n", "", 0},
                {"registry=https://one/\nregistry=https://two/\n", "registry = https://two/\n", 0},
                {"registry=https://one/\nregistry=https://u:secret@two/\n", "", 0},
                {"registry=https://u:secret@one/\nregistry=https://two/\n", "registry = https://two/\n", 0},
                {"fund=true\n[registry]\naudit=true\n", "fund = true\n", 0},
                {"registry[]=https://h/\n", "", 0},
                {"registry=https://h/ \\\n  x\n", "", 0},
                {"registry=https://h/\rfund=true\n", "", 0},
                {"\xef\xbb\xbf"
                 "fund=true\n",
                 "fund = true\n", 0},
                {"@Corp:registry=https://h/\n@:registry=https://h/\n@a:registry:x=https://h/\n", "", 0},
                {"registry=\"https://h/\\\"\nloglevel=ghp0123456789\nmaxsockets=0x1f\nfetch-timeout=1234567890\n",
                 "", 0},
                {"=\n==\n\"\n'\nregistry='\n", "", 0},
        };

        expect_all(toolsettings_npm, cases, ARRAY_SIZE(cases));
}

TEST(pips_file) {
        static const struct reading_case cases[] = {
                {"", "", 0},
                {"# mine\n[global]\nindex-url = https://pypi.example.org/simple\ntimeout: 7\n"
                 "extra-index-url =\n  https://a.example/simple\n  # no\n  https://b.example/simple\n"
                 "proxy=http://u:secret@p\ncert=/secret\nclient-cert=/secret\ntrusted-host =\n  a\n"
                 "find-links=/secret\n[install]\nRequire_Virtualenv = yes\nno-binary=secret\n[global.x]\nretries=3\n",
                 "[global]\nindex-url = https://pypi.example.org/simple\ntimeout = 7\n"
                 "extra-index-url = https://a.example/simple https://b.example/simple\n[install]\n"
                 "require-virtualenv = yes\n",
                 0},
                {"[global]\nindex-url=https://u:secret@h/simple\nextra-index-url=https://a/\n https://u:secret@b/\n",
                 "", 0},
                {"[global]\nindex-url=https://h/ ; secret\nretries=3 # secret\n", "", 0},
                {"[global]\nindex-url=https://h/\n secret\n", "", 0},
                {"[global]\r\nretries=3\r\n", "[global]\nretries = 3\n", 0},
                {"[global]\nindex-url=%(secret)s\nretries=%%3\n", "", 0},
                /* pip doesn't read these either. */
                {"retries=3\n", "", -EBADMSG},
                {"[global]\nretries=3\nretries=4\n", "", -EBADMSG},
                {"[global]\nretries=3\n[global]\ntimeout=4\n", "", -EBADMSG},
                {"[global]\nretries\n", "", -EBADMSG},
                {"[global\nretries=3\n", "", -EBADMSG},
                {"[", "", -EBADMSG},
        };

        expect_all(toolsettings_pip, cases, ARRAY_SIZE(cases));
}

TEST(sshs_file) {
        static const struct reading_case cases[] = {
                {"", "", 0},
                {"User me\n# c\nHost a *.b !c\n\tHostName %h.example.org\n  Port=22\r\nuser = \tgit\nIdentityFile ~/.ssh/id\n"
                 "ProxyCommand evil\nLocalCommand evil\nHostKeyAlias x\nIdentityAgent /x\nInclude more\nProxyJump j\n",
                 "User me\nHost a *.b !c\nHostName %h.example.org\nPort 22\nUser git\nHostKeyAlias x\n", 0},
                /* For whom it is can't be said: nothing of it is for anybody. */
                {"Host a\nMatch exec \"x\"\nUser evil\nHost b\nUser b\nPort 1\n", "Host b\nPort 1\n", 0},
                {"Host a\nHost \"b c\"\nUser evil\nhost=d\nUser d\nPort=1\n", "Host d\nPort 1\n", 0},
                {"Host a\n\"Host\" b\nUser evil\nHost c\nHo\"st\" d\nUser evil\n", "", 0},
                {"Host\nUser evil\nMATCH all\nUser evil\n", "", 0},
                {"Host a\nHostName -oProxyCommand=x\nHostName `x`\nUser -l\nUser $(x)\nPort 22;x\nPort 123456\nUser a b\n"
                 "HostNamex y\nUser \"a\"\nUser a # b\n",
                 "", 0},
                {"Host a\x1b[2J\nUser evil\n", "", 0},
                /* Quotes and comments are OpenSSH's. */
                {"Host prod \"b\"'*' # main\nUser \"bob\" # x\nPort=\"2\"\nHost *\nUser alice\n",
                 "Host prod b*\nUser bob\nPort 2\nHost *\nUser alice\n", 0},
                /* What can't be told has no weaker one in its place. */
                {"Host prod\nUser b$b\nPort 1\nHost *\nUser alice\nPort 2\n",
                 "Host prod\nPort 1\nHost *\nPort 2\n", 0},
                {"User \"bob\nPort 1 2\nHost *\nUser alice\nPort 2\nHostName h\n", "Host *\nHostName h\n",
                 0},
                {"User bob#x\nHostName \"\"\nHost *\nUser alice\nHostName h\nPort 1\n", "Host *\nPort 1\n",
                 0},
        };

        expect_all(toolsettings_ssh, cases, ARRAY_SIZE(cases));
}

TEST(sshs_known_hosts) {
        static const struct reading_case cases[] = {
                {"", "", 0},
                {"# c\nh,10.0.0.1,[h]:22 ssh-ed25519 AAAA+/= me@host\n|1|a+b=|c/d= ecdsa-sha2-nistp256 AAAA\n"
                 "@cert-authority *.h ssh-rsa AAAA\r\n@revoked * sk-ssh-ed25519@openssh.com AAAA x y\n",
                 "h,10.0.0.1,[h]:22 ssh-ed25519 AAAA+/=\n|1|a+b=|c/d= ecdsa-sha2-nistp256 AAAA\n"
                 "@cert-authority *.h ssh-rsa AAAA\n@revoked * sk-ssh-ed25519@openssh.com AAAA\n",
                 0},
                {"h ssh-rsa\nh rsa AAAA\nh\x1b ssh-rsa AAAA\n@x h ssh-rsa AAAA\nh ssh-rsa A\"A\n@revoked h ssh-rsa\n"
                 "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n",
                 "", 0},
        };

        expect_all(toolsettings_known_hosts, cases, ARRAY_SIZE(cases));
}

/* `head`, then `unit` 200,000 times. */
static char *repeat(const char *head, const char *unit) {
        struct strbuf b = {0};
        char *text;

        strbuf_add(&b, head);
        for (size_t i = 0; i < 200000; i++)
                strbuf_add(&b, unit);
        text = strbuf_finish(&b);
        assert_non_null(text);
        return text;
}

TEST(endless_texts_are_given_up) {
        static const struct {
                reader read;
                const char *head, *unit;
        } cases[] = {
                {toolsettings_npm, "registry=https://", "h/"},
                {toolsettings_npm, "registry=", "\\"},
                {toolsettings_pip, "[global]\nextra-index-url=", " https://h/\n"},
                {toolsettings_pip, "", "["},
                {toolsettings_ssh, "User ", "x"},
                {toolsettings_ssh, "Host ", "a "},
                {toolsettings_known_hosts, "h ssh-rsa ", "A"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_strbuf_ struct strbuf to = {0};
                char *text = repeat(cases[i].head, cases[i].unit);
                int r = cases[i].read(text, &to);

                assert_true(r == 0 || r == -EBADMSG);
                if (cases[i].read != toolsettings_pip || cases[i].unit[0] == '[')
                        assert_int_equal(to.length, 0);
                free(text);
        }
}

TEST(a_file_is_read_if_it_is_this_users_and_plain) {
        char *home = scratch_make(), *path = scratch_path(home, ".npmrc"),
             *other = scratch_path(home, "other"), *text = NULL;
        const struct toolsettings_file *npm = &toolsettings_files[0];

        assert_int_equal(toolsettings_read(npm, home, path, &text), 0);
        assert_null(text);
        scratch_file(home, "other", "fund=true\n");
        assert_int_equal(symlink("other", path), 0);
        assert_int_equal(toolsettings_read(npm, home, path, &text), 0);
        assert_null(text);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(mkfifo(path, 0600), 0);
        assert_int_equal(toolsettings_read(npm, home, path, &text), 0);
        assert_null(text);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(rename(other, path), 0);
        assert_int_equal(toolsettings_read(npm, home, path, &text), 0);
        assert_string_equal(text, "fund = true\n");
        free(text);
        /* One of another user, though everybody may read it: /etc/hostname's like. */
        if (geteuid() != 0) {
                assert_int_equal(toolsettings_read(npm, "/", "/etc/passwd", &text), 0);
                assert_null(text);
        }
        free(path);
        free(other);
        scratch_remove(home);
}

int main(void) {
        return run_all_tests();
}

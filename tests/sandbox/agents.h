/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of agents (--agent NAME) share. */
#pragma once

#include "harness.h"

/* Makes folder/name with `text`, and the folders on its way. */
static inline void lay_file(const char *folder, const char *name, const char *text) {
        _cleanup_free_ char *path = path_of(folder, name);

        for (char *slash = path + strlen(folder) + 1; (slash = strchr(slash, '/')); slash++) {
                *slash = '\0';
                assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
                *slash = '/';
        }
        make_file(folder, name, text);
}

static inline void expect_home_file(const struct site *s, const char *name, const char *expected) {
        _cleanup_free_ char *path = path_of(s->home, name), *text = file_text(path);

        assert_non_null(text);
        assert_string_equal(text, expected);
}

/* Nothing of the tester's moves a folder, or is a key. */
static inline int agents_setup(void **state) {
        static const char *const moves[] = {"CLAUDE_CONFIG_DIR", "CODEX_HOME",      "COPILOT_HOME",
                                            "CURSOR_CONFIG_DIR", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME",
                                            "XDG_DATA_HOME",     "XDG_STATE_HOME",  "XDG_CACHE_HOME"};
        static const char *const keys[] = {
                "ANTHROPIC_API_KEY",    "OPENAI_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "CODEX_API_KEY",
                "COPILOT_GITHUB_TOKEN", "GH_TOKEN",       "CURSOR_API_KEY",          "CURSOR_AUTH_TOKEN",
                "GEMINI_API_KEY",       "GOOGLE_API_KEY", "OPENCODE_API_KEY",        "DASHSCOPE_API_KEY"};

        if (site_setup(state) != 0)
                return -1;
        for (size_t i = 0; i < ARRAY_SIZE(moves); i++)
                assert_int_equal(unsetenv(moves[i]), 0);
        for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
                assert_int_equal(unsetenv(keys[i]), 0);
        return 0;
}

#undef TEST
#define TEST(name) TEST_WITH(name, agents_setup, site_teardown)

/* A command of a person's in the project. */
static inline void outside(const struct site *s, const char *script) {
        _cleanup_free_ char *whole = text_of("cd %s && %s", s->project, script);
        _cleanup_outcome_ struct outcome o = {0};

        run_outside(s, &o, whole);
        expect_status(&o, 0);
}

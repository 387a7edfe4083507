/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fuzzes configuration files: the text is applied to a policy.  Built with libFuzzer where
 * clang has it (-DFUZZ_WITH_LIBFUZZER), else with fuzz.h's main. */

#include "fuzz.h"

#include "base/json.h"
#include "policy/config.h"

/* "/c:LINE:COLUMN: ": a place that the text has. */
static void check_place(const char *what, const char *text) {
        const char *digits = startswith(what, "/c:");
        size_t line, column, lines = 1;
        char *end;

        if (!digits)
                return;
        line = strtoul(digits, &end, 10);
        CHECK(*end == ':' && line >= 1);
        column = strtoul(end + 1, &end, 10);
        CHECK(end[0] == ':' && end[1] == ' ' && column >= 1);
        while (lines < line && (text = strchr(text, '\n'))) {
                lines++;
                text++;
        }
        CHECK(lines == line && text);
        CHECK(column <= strcspn(text, "\n") + 1);
}

static void check_policy(const struct nsrun_policy *p, const char *text) {
        for (size_t i = 0; i < p->n_rules; i++) {
                CHECK(p->rules[i].source[0] == '/' && !p->rules[i].target &&
                      p->rules[i].origin == POLICY_BY_CONFIG);
                check_place(p->rules[i].option, text);
        }
        for (size_t i = 0; i < p->expose.n; i++) {
                const struct expose_rule *e = &p->expose.items[i];

                CHECK(e->source[0] == '/' && e->target[0] == '/');
                CHECK(streq(e->mode, "ro") || streq(e->mode, "rw"));
                CHECK(!strstr(e->source, "/../") && !strstr(e->target, "//"));
        }
        STRV_FOREACH (entry, p->env.entries)
                CHECK(**entry && **entry != '=');
        CHECK(!p->project || p->project[0] == '/');
        CHECK(!p->tmp || p->tmp[0] == '/');
}

/* The nodes are the tree's. */
static void check_map(const char *text, size_t n) {
        _cleanup_json_map_ struct json_map m = {0};
        struct json_trouble trouble;
        int r = json_map_read(&m, text, n, &trouble);

        CHECK(r == 0 || r == -EINVAL);
        CHECK(r == 0 || (trouble.why && trouble.at <= n && trouble.other <= n && m.n == 0));
        for (size_t i = 0; r == 0 && i < m.n; i++) {
                const struct json_node *node = &m.nodes[i];
                size_t members = 0;

                CHECK(node->at < n && node->key_at <= node->at && node->end > i && node->end <= m.n);
                CHECK(!node->key || text[node->key_at] == '"');
                for (size_t j = i + 1; j < node->end; j = m.nodes[j].end, members++)
                        if (json_kind(node->value) == JSON_OBJECT)
                                CHECK(json_get(node->value, m.nodes[j].key) == m.nodes[j].value);
                CHECK(json_kind(node->value) != JSON_ARRAY || json_length(node->value) == members);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n) {
        static const char *const environment[] = {"HOME=/root", NULL};
        struct nsrun_policy *p = NULL;
        struct nsrun_error err = {0};
        char *text = input_text(input, n);
        int r;

        if (!text)
                return 0;
        check_map(text, n);
        if (nsrun_policy_new(&p) == 0 && nsrun_policy_set_environ(p, environment) == 0) {
                r = config_apply(p, "/c", text, &err);
                CHECK(r <= 0 && (r == 0) == (err.stage == NSRUN_STAGE_NONE));
                check_place(err.what, text);
                if (r == 0)
                        check_policy(p, text);
                else
                        CHECK(startswith(err.what, "/c:"));
        }
        (void)nsrun_policy_free(p);
        free(text);
        return 0;
}

#ifndef FUZZ_WITH_LIBFUZZER
/* Tokens that fit more often than not. */
static size_t make_input(uint8_t *to, size_t size) {
        static const char *const tokens[] = {
                "{",
                "}",
                "[",
                "]",
                ",",
                ":",
                " ",
                "\n",
                "\"version\":1",
                "\"isolation\":{",
                "\"enabled\":true",
                "\"expose_paths\":[",
                "{\"source\":\"/a/../b\",\"mode\":\"ro\"}",
                "\"source\":\"",
                "\"mode\":\"rw\"",
                "\"env\":{",
                "\"readable\":[",
                "\"toolchains\":[{\"path\":\"/",
                "\"/x\"",
                "\"~/x\"",
                "\"net\":\"none\"",
                "\"temp\":\"/t\"",
                "\"limits\":{",
                "\"nofile\":7",
                "\\u0061",
                "\\ud800",
                "\"",
                "null",
                "true",
                "1e5",
                "-1",
                "\xc3\xa4",
                "\\",
                "\"A\":\"b\"",
                "\"A\":null",
        };
        size_t n = 0;

        if (draw(4) > 0)
                to[n++] = '{';
        n += deal_tokens(to + n, size - n - 1, tokens, ARRAY_SIZE(tokens));
        if (draw(4) > 0)
                to[n++] = '}';
        return n;
}
#endif

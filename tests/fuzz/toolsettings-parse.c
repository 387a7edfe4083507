/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fuzzes the readers of tools' settings: whatever the text is, what they pass has nothing that a credential
 * in an address needs, and they read their own output as they wrote it. */
#include "fuzz.h"

#include "host/toolsettings.h"

static int (*const readers[])(const char *text, struct strbuf *to) = {
        toolsettings_npm, toolsettings_pip, toolsettings_ssh, toolsettings_known_hosts};

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n) {
        char *text = input_text(input, n);

        for (size_t i = 0; text && i < ARRAY_SIZE(readers); i++) {
                struct strbuf to = {0}, again = {0};
                int r = readers[i](text, &to);

                CHECK(r == 0 || r == -EBADMSG || r == -ENOMEM);
                CHECK(r == 0 || to.length == 0);
                if (to.length > 0) {
                        bool is_ssh = i > 1;

                        CHECK(!strpbrk(to.text, is_ssh ? "$&;\\{}\r\"'~" : "?$%&;\\{}\r"));
#ifndef FUZZ_WITH_LIBFUZZER
                        /* Dealt only where no reader passes it; libFuzzer puts it anywhere. */
                        CHECK(!strstr(to.text, "ecret"));
#endif
                        CHECK(!strchr(to.text, '@') || is_ssh || readers[i] == toolsettings_npm);
                        CHECK(readers[i](to.text, &again) == 0);
                        CHECK(again.length == to.length && memcmp(again.text, to.text, to.length) == 0);
                }
                strbuf_clear(&to);
                strbuf_clear(&again);
        }
        free(text);
        return 0;
}

#ifndef FUZZ_WITH_LIBFUZZER
static size_t make_input(uint8_t *to, size_t size) {
        static const char *const tokens[] = {
                "registry",
                "@corp:registry",
                "=",
                " = ",
                "https://h/x",
                "https://u:Secret@h/",
                "\n",
                "\r\n",
                "[global]\n",
                "index-url = https://h/simple\n",
                "extra-index-url =\n  https://a/\n",
                "retries = 3\n",
                "fund=true\n",
                "Host a*",
                "HostName b",
                "Match exec \"x\"\n",
                "ProxyCommand x\n",
                "a ssh-rsa AAAA x\n",
                "@revoked ",
                "_auth=Secret\n",
                "; c\n",
                "# c\n",
                "\"",
                "'",
                "\\",
                "${SECRET}",
                "[",
                "]",
                ".",
        };

        return deal_tokens(to, size, tokens, ARRAY_SIZE(tokens));
}
#endif

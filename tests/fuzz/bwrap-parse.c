/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fuzzes bubblewrap's command line: NUL-separated words, and after a word that is "|" what --args
 * reads.  Built with libFuzzer where clang has it (-DFUZZ_WITH_LIBFUZZER), else with fuzz.h's main.
 * Includes the source that reads descriptors, so that it gets at none but the fuzzer's own. */
#include "fuzz.h"
#include <fcntl.h>
#include <sys/types.h>

/* What --args' descriptor holds for this input; 7 is its number, and no other can be read. */
#define DATA_FD 7
static const uint8_t *data_left;
static size_t n_data_left;
static bool is_data_open;

static ssize_t fuzz_read(int fd, void *to, size_t n) {
        if (fd != DATA_FD || !is_data_open)
                return -EBADF;
        n = n < n_data_left ? n : n_data_left;
        if (n > 0)
                memcpy(to, data_left, n);
        data_left += n;
        n_data_left -= n;
        return (ssize_t)n;
}

static int fuzz_close(int fd) {
        if (fd == DATA_FD)
                is_data_open = false;
        return 0;
}

#include "base/sys.h"
#define sys_read  fuzz_read
#define sys_close fuzz_close
#include "bwrap/args.c"
#undef sys_read
#undef sys_close

#include "bwrap/options.h"

#define MOST_WORDS 4096

/* A word that is one byte from 0x80 on stands for an option, so that a change of one bit finds
 * the next. */
static const char *spelled(const char *word) {
        unsigned char c = (unsigned char)word[0];

        return c >= 0x80 && !word[1] ? bwrap_options[(c - 0x80U) % n_bwrap_options].name : word;
}

static void check_operations(const struct bwrap_config *config) {
        for (size_t i = 0; i < config->n_ops; i++) {
                const struct bwrap_op *op = &config->ops[i];
                bool has_fd =
                        op->kind == BWRAP_BIND_FD || op->kind == BWRAP_FILE || op->kind == BWRAP_BIND_DATA;
                bool has_source =
                        op->kind == BWRAP_BIND || op->kind == BWRAP_SYMLINK || op->kind == BWRAP_OVERLAY;
                bool has_lowers = op->kind == BWRAP_OVERLAY || op->kind == BWRAP_TMP_OVERLAY ||
                                  op->kind == BWRAP_RO_OVERLAY;

                CHECK(op->target && bwrap_option_find(op->option));
                CHECK(has_fd == (op->fd >= 0));
                CHECK(has_source == (op->source != NULL));
                CHECK(has_lowers == (op->lowers != NULL));
                CHECK((op->work != NULL) == (op->kind == BWRAP_OVERLAY));
                CHECK(op->perms <= 07777);
                CHECK(op->size == 0 || op->kind == BWRAP_TMPFS);
                CHECK(!op->has_perms || (bwrap_option_find(op->option)->flags & BWRAP_TAKES_PERMS));
        }
}

/* What holds for every command line. */
static void check(const struct bwrap_config *config, const struct nsrun_error *err, int r) {
        CHECK(r == 0 || r == -EINVAL || r == -EBADF);
        CHECK((r == 0) == (err->stage == NSRUN_STAGE_NONE));
        CHECK((r == 0) == (err->what[0] == '\0'));
        CHECK(r == 0 || !config->argv);
        CHECK(r < 0 ||
              config->wants_help + config->wants_version + config->lacks_command + (config->argv != NULL) ==
                      1);
        STRV_FOREACH (line, config->warnings)
                CHECK(startswith(*line, "Only the last --"));
        if (r < 0)
                return;
        check_operations(config);
        STRV_FOREACH (entry, config->env)
                CHECK(strchr(*entry, '=') && **entry != '=');
        CHECK(!config->hostname || config->unshare_uts || !config->argv);
        CHECK(!config->as_pid_1 || config->unshare_pid || !config->argv);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n) {
        static const char *no_environment[] = {"HOME=/root", "PATH=/bin", NULL};
        extern char **environ;
        char **saved = environ, *text, *argv[MOST_WORDS + 2];
        struct bwrap_config config;
        struct nsrun_error err = {0};
        size_t at = 0;
        int argc = 0, r;

        text = input_text(input, n);
        if (!text)
                return 0;
        argv[argc++] = (char *)(uintptr_t) "bwrap";
        while (at < n && argc <= MOST_WORDS) {
                const char *word = text + at;

                at += strlen(word) + 1;
                if (streq(word, "|"))
                        break;
                argv[argc++] = (char *)(uintptr_t)spelled(word);
        }
        argv[argc] = NULL;
        is_data_open = at < n;
        data_left = (const uint8_t *)text + (at < n ? at : n);
        n_data_left = at < n ? n - at : 0;

        environ = (char **)(uintptr_t)no_environment;
        r = bwrap_config_init(&config);
        environ = saved;
        if (r == 0) {
                r = bwrap_parse(argc, argv, &config, &err);
                check(&config, &err, r);
                bwrap_config_clear(&config);
        }
        free(text);
        return 0;
}

#ifndef FUZZ_WITH_LIBFUZZER
/* Options and plausible values, and now and then noise. */
static size_t make_input(uint8_t *to, size_t size) {
        static const char *const values[] = {
                "/", "/a",  "",    "7",        "0",  "-1", "755",  "4096",
                "A", "A=B", "ALL", "CAP_KILL", "--", "|",  "true",
        };
        size_t n = 0, words = draw(24);

        while (words-- > 0 && n + 128 < size) {
                uint64_t kind = draw(16);

                if (kind < 7) {
                        to[n++] = (uint8_t)(0x80 + draw(128));
                } else if (kind < 15) {
                        const char *value = values[draw(ARRAY_SIZE(values))];

                        memcpy(to + n, value, strlen(value));
                        n += strlen(value);
                } else {
                        for (uint64_t k = draw(32); k > 0; k--)
                                to[n++] = (uint8_t)draw(256);
                }
                to[n++] = '\0';
        }
        return n;
}
#endif

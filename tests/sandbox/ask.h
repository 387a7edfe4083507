/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Questions about files at a terminal (--ask), and answers. */
#pragma once

#include "talk.h"

static inline void make_beside(const struct site *s) {
        make_file(s->home, "beside/f", "text\n");
        make_file(s->home, "beside/g", "more\n");
}

/* The question, until the `run` or `session` ends; a yes is 'y' or 'f', *code and a newline. */
static inline void await_question(struct talk *t, const char *until, const char *wants, const char *path,
                                  const char *folder, char code[3]) {
        _cleanup_free_ char *shown = text_of(") %s %s, which isn't exposed.\r\nnsrun: Show it, read-only, "
                                             "until the %s ends? [type y",
                                             wants, path, until),
                            *rest = NULL;

        await(t, shown);
        await(t, folder ? " for this file" : " for yes");
        memcpy(code, t->text + t->seen - strlen(folder ? "12 for this file" : "12 for yes"), 2);
        code[2] = '\0';
        rest = folder ? text_of(", f%s for all of %s, n for no, q to be asked no more, or y%s [rw|overlay] "
                                "[always] [FOLDER]] ",
                                code, folder, code)
                      : text_of(", n for no, q to be asked no more, or y%s [", code);
        await(t, rest);
        if (!folder)
                await(t, "overlay] [always] [FOLDER]] ");
}

static inline void answer_with(const struct talk *t, const char *letter, const char *code,
                               const char *words) {
        _cleanup_free_ char *line = text_of("%s%s%s\n", letter, code, words);

        type(t, line);
}

static inline void answer(const struct talk *t, const char *letter, const char *code) {
        answer_with(t, letter, code, "");
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a sandbox gets of the user's own settings of npm and pip, and with the SSH agent of ssh: named keys
 * whose values are yes or no, numbers, a few words, and addresses without a credential.  These files hold
 * tokens, and names of programs and files, too: whatever a reader doesn't know or doesn't understand is left
 * out.  Pure, but for toolsettings_read(). */
#pragma once

#include "base/str.h"

/* What a key's value may be. */
enum setting_kind {
        SETTING_FLAG,    /* yes or no */
        SETTING_NUMBER,  /* up to nine digits */
        SETTING_WORD,    /* up to 24 small letters, and what stands between them */
        SETTING_ADDRESS, /* of a web server, without a user, a query, or what looks like a token in its path
                          */
        SETTING_ADDRESSES,
};

bool setting_is_fit(enum setting_kind kind, const char *value);

/* The readers.  Each adds to *to what `text` says in harmless keys, in the same grammar; nothing where it
 * says nothing of that kind.  -EBADMSG: the program would not read it, or this reader gives up; -ENOMEM. */
int toolsettings_npm(const char *text, struct strbuf *to);
int toolsettings_pip(const char *text, struct strbuf *to);
/* sshsettings.c: OpenSSH's. */
int toolsettings_ssh(const char *text, struct strbuf *to);
int toolsettings_known_hosts(const char *text, struct strbuf *to);

/* A file of the user's, and who reads it. */
struct toolsettings_file {
        struct {
                const char *variable; /* that names the file, or a folder around it; NULL: none */
                const char *below;    /* the file in that folder; "": the variable names the file */
        } moved[2];
        const char *path; /* below the home, where no variable is set */
        int (*reader)(const char *text, struct strbuf *to);
        const char *inside; /* below the home, the name inside; NULL: the same path */
        bool is_of_ssh;     /* for --ssh-agent alone */
};
extern const struct toolsettings_file toolsettings_files[];
extern const size_t n_toolsettings_files;

/* The text that stands for the file at `path` (absolute, normalised); *ret is NULL if it is missing, has
 * nothing harmless in it, is no plain file of this user's, or is reached through a symlink below `home` (or
 * anywhere, if it isn't below): one that a command has planted would have another file read.  -ENOMEM. */
int toolsettings_read(const struct toolsettings_file *file, const char *home, const char *path, char **ret);

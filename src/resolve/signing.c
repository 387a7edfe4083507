/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Signed commits: what git needs to have an agent sign them, which is nothing but public; or a note that
 * they aren't signed. */
#include "signing.h"

#include "base/file.h"
#include "base/path.h"
#include "host/gitconfig.h"

enum {
        PUBLIC_KEY_MAX = 16 << 10,
};

/* "TYPE BASE64" at the beginning of `text`, a public key as ssh(1) has them: how long; 0: it is none. */
static size_t length_of_public_key(const char *text) {
        static const char *const types[] = {"ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-sha2-"};
        static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
        size_t type, key;
        bool is_one = false;

        for (size_t i = 0; i < ARRAY_SIZE(types); i++)
                is_one |= startswith(text, types[i]) != NULL;
        type = strcspn(text, " ");
        if (!is_one || !text[type] || strcspn(text, "\r\n") < type)
                return 0;
        key = strspn(text + type + 1, letters);
        while (key > 0 && strchr("+/=", text[type + 1 + key]) && text[type + 1 + key])
                key += 1 + strspn(text + type + 2 + key, letters);
        return key > 32 && strchr(" \t\r\n", text[type + 1 + key]) ? type + 1 + key : 0;
}

/* The key itself, as git takes it in the place of a file: *ret, NULL: there is none.  A private key is not
 * opened, only the file beside it. */
static int read_public_key(const struct resolved *s, const char *named, char **ret) {
        const char *literal = startswith(named, "key::"), *in_home = startswith(named, "~/");
        size_t n = length_of_public_key(literal ? literal : named), length = strlen(named);
        bool is_public = length > 4 && streq(named + length - 4, ".pub");
        _cleanup_free_ char *path = NULL, *text = NULL;
        int r;

        if (!literal && n == 0) {
                path = str_concat(in_home && s->home ? s->home : "", in_home ? named + 1 : named,
                                  is_public ? "" : ".pub");
                r = !path                     ? -ENOMEM
                    : !path_is_absolute(path) ? 0
                                              : read_small_file(AT_FDCWD, path, 0, PUBLIC_KEY_MAX, &text);
                if (r == -ENOMEM)
                        return r;
                n = text ? length_of_public_key(text) : 0;
                literal = text;
        }
        if (n == 0)
                return 0;
        return asprintf(ret, "key::%.*s", (int)n, literal ? literal : named) < 0 ? -ENOMEM : 0;
}

static void add_setting(struct strbuf *b, const char *name, const char *value) {
        if (value)
                gitconfig_write(b, &(struct gitconfig_entry){name, value});
}

static int say_unsigned(struct resolved_git *git, const char *why) {
        return strv_consume(&git->lacks,
                            str_concat("commits are not signed here: commit.gpgsign is set, and ", why, ""));
}

int git_find_signing(const struct resolved *s, const struct identity *id, struct resolved_git *git) {
        const struct identity_signing *signing = &id->signing;
        bool is_ssh = signing->format && streq(signing->format, "ssh"),
             has_key = signing->key && *signing->key,
             is_gpg = !signing->format || streq(signing->format, "openpgp");
        bool has_agent = s->policy->grants & (1U << (is_ssh ? GRANT_SSH_AGENT : GRANT_GPG_AGENT));
        const char *lacks = !is_ssh && !is_gpg ? "gpg.format is neither ssh nor openpgp"
                            : !has_agent       ? is_ssh ? "no agent: --ssh-agent KEY, as ssh-add -l lists it"
                                                        : "no agent: --gpg-agent"
                            : is_ssh && !has_key ? "user.signingKey isn't"
                                                 : NULL;
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_free_ char *key = NULL;
        int r;

        if (!lacks && is_ssh) {
                r = read_public_key(s, signing->key, &key);
                if (r < 0)
                        return r;
                lacks = key ? NULL : "user.signingKey names no public key";
        }
        if (lacks)
                return signing->commits && id->has_repository ? say_unsigned(git, lacks) : 0;
        strbuf_add(&b, git->settings ? git->settings : "");
        add_setting(&b, "user.signingkey", is_ssh ? key : signing->key);
        add_setting(&b, "gpg.format", signing->format);
        add_setting(&b, "commit.gpgsign", signing->commits ? "true" : NULL);
        add_setting(&b, "tag.gpgsign", signing->tags ? "true" : NULL);
        free(git->settings);
        git->settings = NULL;
        return b.length == 0 || (git->settings = strbuf_finish(&b)) ? 0 : -ENOMEM;
}

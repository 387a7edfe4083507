/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names for a uid and a gid from /etc/passwd and /etc/group, read without NSS.  They are for the
 * sandbox's own passwd and group, and for paths of git's configuration: nothing here decides rights. */
#include "user.h"

#include <sys/xattr.h>

#include "base/file.h"
#include "base/path.h"
#include "base/str.h"

enum {
        PASSWD_FIELDS = 7,
        GROUP_FIELDS = 4
};

/* Cuts a line at its colons; false if it hasn't exactly `n` fields. */
static bool split_line(char *line, char **fields, size_t n) {
        line[strcspn(line, "\n")] = '\0';
        for (size_t i = 0; i < n; i++) {
                fields[i] = strsep(&line, ":");
                if (!fields[i])
                        return false;
        }
        return !line;
}

/* Whether a field that `end` follows is `id`: digits alone, without a sign or blanks. */
static bool is_id(const char *field, char end, unsigned long id) {
        unsigned long value = 0;

        if (*field == end)
                return false;
        for (; *field >= '0' && *field <= '9' && value <= UINT32_MAX; field++)
                value = value * 10 + (unsigned long)(*field - '0');
        return *field == end && value == id;
}

/* Whether the third field of a line is `id`: looked at before the line is cut, since few have it. */
static bool has_id(const char *line, unsigned long id) {
        for (int i = 0; i < 2; i++) {
                line = strchr(line, ':');
                if (!line++)
                        return false;
        }
        return is_id(line, ':', id);
}

/* Finds the first line whose third field is `id`, as getpwuid(3) does; `fields` point into
 * *ret_line.  1: found; 0: not; -errno. */
static int find_line_in(FILE *f, unsigned long id, size_t n_fields, char **fields, char **ret_line) {
        _cleanup_free_ char *line = NULL;
        size_t size = 0;

        while (getline(&line, &size, f) >= 0)
                if (has_id(line, id) && split_line(line, fields, n_fields)) {
                        *ret_line = TAKE_PTR(line);
                        return 1;
                }
        return ferror(f) && errno == ENOMEM ? -ENOMEM : 0;
}

/* The same of a file.  A host without it just has no names. */
static int find_line(const char *file, unsigned long id, size_t n_fields, char **fields, char **ret_line) {
        char buffer[4096];
        _cleanup_fclose_ FILE *f = fopen(file, "re");

        /* Whose size nobody has to ask for. */
        if (f)
                (void)setvbuf(f, buffer, _IOFBF, sizeof(buffer));
        return f ? find_line_in(f, id, n_fields, fields, ret_line) : errno == ENOMEM ? -ENOMEM : 0;
}

int user_find_group(uid_t uid, gid_t *ret) {
        _cleanup_free_ char *line = NULL, *group_line = NULL;
        char *fields[PASSWD_FIELDS] = {0}, *group[GROUP_FIELDS] = {0};
        unsigned long gid = uid;
        char *end = NULL;
        int r = find_line("/etc/passwd", uid, PASSWD_FIELDS, fields, &line);

        if (r > 0)
                gid = strtoul(fields[3], &end, 10);
        else if (r == 0)
                r = find_line("/etc/group", uid, GROUP_FIELDS, group, &group_line);
        if (r < 0)
                return r;
        /* With a line of passwd that says a group; without one no group may have the number. */
        r = end ? is_id(fields[3], '\0', gid) : r == 0;
        if (!r || gid == 0 || gid >= UINT32_MAX)
                return 0;
        *ret = (gid_t)gid;
        return 1;
}

/* Whether a text can be a user's name in the passwd file that nsrun writes.  The name may come of a
 * variable, which can say anything; "root" and "nobody", which nsrun writes itself, is_free_name()
 * leaves out. */
static bool user_is_name(const char *s) {
        size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.@$-");

        return n > 0 && n < 256 && !s[n] && s[0] != '-' && s[0] != '.';
}

static bool is_free_name(const char *s) {
        return s && user_is_name(s) && !streq(s, "root") && !streq(s, "nobody");
}

/* Whether a text is a path that can be a field of a passwd line. */
static bool is_field_path(const char *s) {
        if (!s || !path_is_absolute(s))
                return false;
        for (; *s; s++)
                if (*s == ':' || (unsigned char)*s < 0x20 || *s == 0x7f)
                        return false;
        return true;
}

int user_home_in(const char *text, uid_t uid, char **ret) {
        _cleanup_fclose_ FILE *f = *text ? fmemopen((void *)(uintptr_t)text, strlen(text), "r") : NULL;
        _cleanup_free_ char *line = NULL;
        char *fields[PASSWD_FIELDS] = {0};
        int r = f ? find_line_in(f, uid, PASSWD_FIELDS, fields, &line) : 0;

        if (r <= 0 || !is_field_path(fields[5]))
                return r < 0 ? r : 0;
        return (*ret = strdup(fields[5])) ? 1 : -ENOMEM;
}

static const char *fallback_name(uid_t uid) {
        const char *name = getenv("USER");

        if (uid == 0)
                return "root";
        if (!is_free_name(name))
                name = getenv("LOGNAME");
        return is_free_name(name) ? name : "user";
}

static int user_fill(struct user *u, const char *name, const char *home, const char *shell,
                     const char *group) {
        u->name = strdup(name);
        u->home = home ? strdup(home) : NULL;
        u->shell = strdup(shell);
        u->group = strdup(group);
        return u->name && u->shell && u->group && (!home || u->home) ? 0 : -ENOMEM;
}

int user_find(uid_t uid, gid_t gid, struct user *ret) {
        _cleanup_free_ char *passwd_line = NULL, *group_line = NULL;
        char *passwd[PASSWD_FIELDS] = {0}, *group[GROUP_FIELDS] = {0};
        const char *name = NULL, *home = NULL, *shell = NULL;
        struct user u = {0};
        int r = find_line("/etc/passwd", uid, PASSWD_FIELDS, passwd, &passwd_line);

        if (r < 0)
                return r;
        if (r > 0) {
                name = user_is_name(passwd[0]) ? passwd[0] : NULL;
                home = is_field_path(passwd[5]) ? passwd[5] : NULL;
                shell = is_field_path(passwd[6]) ? passwd[6]
                                                 : "/bin/sh"; /* passwd(5): an empty field means /bin/sh */
        }
        if (!shell)
                shell = getenv("SHELL");
        if (!is_field_path(shell))
                shell = "/bin/sh";

        r = find_line("/etc/group", gid, GROUP_FIELDS, group, &group_line);
        if (r < 0)
                return r;
        r = user_fill(&u, name ? name : fallback_name(uid), home, shell,
                      r > 0 && user_is_name(group[0]) ? group[0]
                      : gid == 0                      ? "root"
                                                      : "group");
        if (r < 0) {
                user_clear(&u);
                return r;
        }
        *ret = u;
        return 0;
}

int user_find_home(const char *named, char **ret) {
        struct user user = {0};
        char *home = NULL;
        int r = 0;

        if (!named || !path_is_absolute(named)) {
                r = user_find(geteuid(), getegid(), &user);
                named = r < 0 ? NULL : user.home;
        }
        if (named && path_is_absolute(named) && !(home = path_normalise(named)))
                r = -ENOMEM;
        user_clear(&user);
        if (r < 0)
                return r;
        *ret = home;
        return 0;
}

int user_expand(const char *home, const char *named, char **ret) {
        const char *optional = startswith(named, GIT_OPTIONAL), *path = optional ? optional : named;
        const char *rest = path + strcspn(path, "/");
        bool is_named = *path == '~' && rest - path > 1;
        _cleanup_fclose_ FILE *f = is_named ? fopen("/etc/passwd", "re") : NULL;
        _cleanup_free_ char *line = NULL;
        char *fields[PASSWD_FIELDS] = {0};
        size_t size = 0, n = is_named ? (size_t)(rest - path - 1) : 0;

        home = is_named ? NULL : home;
        while (f && !home && getline(&line, &size, f) >= 0)
                if (strncmp(line, path + 1, n) == 0 && line[n] == ':' &&
                    split_line(line, fields, PASSWD_FIELDS) && is_field_path(fields[5]))
                        home = fields[5];
        if (*path == '~' && !home)
                return 0;
        *ret = *path == '~' ? str_concat(home, rest, "") : strdup(path);
        return *ret ? 0 : -ENOMEM;
}

int user_find_folder(const char *variable, const char *below, char **ret) {
        const char *named = getenv(variable);
        _cleanup_free_ char *home = NULL;

        if (!named || !path_is_absolute(named)) {
                if (user_find_home(getenv("HOME"), &home) < 0)
                        return -ENOMEM;
                if (!home)
                        return -ENOENT;
                *ret = path_join(home, below);
        } else {
                *ret = strdup(named);
        }
        return *ret ? 0 : -ENOMEM;
}

/* Whether a comma-separated list of names has none but `own` and root. */
static bool has_only(char *members, const char *own) {
        for (char *name; (name = strsep(&members, ","));)
                if (*name && !streq(name, "root") && !(own && streq(name, own)))
                        return false;
        return true;
}

/* Whether another user than this one and root has the group as the first one.  True also if the file can't
 * be read. */
static bool is_others_group(gid_t gid) {
        _cleanup_fclose_ FILE *f = fopen("/etc/passwd", "re");
        _cleanup_free_ char *line = NULL;
        char *fields[PASSWD_FIELDS] = {0};
        bool is_others = !f;
        size_t size = 0;

        while (!is_others && getline(&line, &size, f) >= 0)
                is_others = split_line(line, fields, PASSWD_FIELDS) && is_id(fields[3], '\0', gid) &&
                            !is_id(fields[2], '\0', geteuid()) && !is_id(fields[2], '\0', 0);
        return is_others || ferror(f);
}

/* Whether an access list gives a right (S_IWOTH) to another than the owner and the owning group:
 * system.posix_acl_access has a version, then entries of eight bytes, tag and rights first. */
static bool is_in_access_list(int fd, mode_t right) {
        enum {
                NAMED_USER = 0x02,
                NAMED_GROUP = 0x08
        };
        unsigned char list[4096];
        ssize_t n = getxattr(fd_link(fd).path, "system.posix_acl_access", list, sizeof(list));

        if (n < 0)
                return errno != ENODATA && errno != EOPNOTSUPP;
        for (ssize_t i = 4; i + 8 <= n; i += 8)
                if ((list[i] == NAMED_USER || list[i] == NAMED_GROUP) && (list[i + 2] & right))
                        return true;
        return false;
}

/* Who but the user has a right, S_IWOTH or S_IXOTH. */
static const char *others_with(mode_t right, int fd, const struct stat *st, char words[USER_WRITERS_SIZE]) {
        _cleanup_free_ char *passwd_line = NULL, *group_line = NULL;
        char *passwd[PASSWD_FIELDS] = {0}, *group[GROUP_FIELDS] = {0};

        /* An access list shows its mask in the group's bits: without the bit it gives nobody the right. */
        if (!(st->st_mode & (right | right << 3)))
                return NULL;
        if ((st->st_mode & right) || is_in_access_list(fd, right) ||
            find_line("/etc/group", st->st_gid, GROUP_FIELDS, group, &group_line) <= 0)
                return "others";
        (void)snprintf(words, USER_WRITERS_SIZE, "the group %s", group[0]);
        if (find_line("/etc/passwd", geteuid(), PASSWD_FIELDS, passwd, &passwd_line) < 0 ||
            !has_only(group[3], passwd[0]) || is_others_group(st->st_gid))
                return user_is_name(group[0]) ? words : "others";
        return NULL;
}

const char *user_writers(int fd, const struct stat *st, char words[USER_WRITERS_SIZE]) {
        return others_with(S_IWOTH, fd, st, words);
}

bool user_lets_others_in(int fd, const struct stat *st) {
        return others_with(S_IXOTH, fd, st, (char[USER_WRITERS_SIZE]){0});
}

void user_clear(struct user *u) {
        free(u->name);
        free(u->group);
        free(u->home);
        free(u->shell);
        *u = (struct user){0};
}

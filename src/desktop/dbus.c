/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dbus.h"

#include "base/str.h"

#define ABSTRACT_MOST 107 /* bytes of sun_path behind the first */
#define NAME_MOST     255 /* of the specification */

/* ---------------------------------------------------------------- addresses */

/* A value with its escapes read; NULL with `*ret` set. */
static char *address_unescape(const char *text, size_t n, int *ret) {
        char *value = malloc(n + 1);
        size_t length = 0;

        *ret = value ? 0 : -ENOMEM;
        for (size_t i = 0; i < n && *ret == 0; i++) {
                int high, low;

                if (text[i] != '%') {
                        value[length++] = text[i];
                        continue;
                }
                high = n - i > 2 ? str_hex_digit(text[i + 1]) : -1;
                low = n - i > 2 ? str_hex_digit(text[i + 2]) : -1;
                if (high < 0 || low < 0 || (high == 0 && low == 0))
                        *ret = -EBADMSG;
                else
                        value[length++] = (char)(high * 16 + low);
                i += 2;
        }
        if (*ret < 0) {
                free(value);
                return NULL;
        }
        value[length] = '\0';
        return value;
}

/* One address, of `n` bytes: as dbus_address_next(). */
static int address_read(const char *text, size_t n, char **ret) {
        const char *colon = memchr(text, ':', n), *end = text + n;
        _cleanup_free_ char *found = NULL;
        bool is_unix;

        if (!colon || colon == text)
                return -EBADMSG;
        is_unix = colon - text == 4 && memcmp(text, "unix", 4) == 0;
        for (const char *at = colon + 1; at < end;) {
                const char *comma = memchr(at, ',', (size_t)(end - at)), *stop = comma ? comma : end,
                           *equals = memchr(at, '=', (size_t)(stop - at));
                _cleanup_free_ char *value = NULL;
                bool is_abstract;
                int r;

                if (!equals || equals == at)
                        return -EBADMSG;
                value = address_unescape(equals + 1, (size_t)(stop - equals - 1), &r);
                if (!value)
                        return r;
                is_abstract = equals - at == 8 && memcmp(at, "abstract", 8) == 0;
                if (is_unix && (is_abstract || (equals - at == 4 && memcmp(at, "path", 4) == 0))) {
                        if (found || !*value || (is_abstract && strlen(value) > ABSTRACT_MOST))
                                return -EBADMSG;
                        found = is_abstract ? str_concat("@", value, "") : TAKE_PTR(value);
                        if (!found)
                                return -ENOMEM;
                        /* A relative path means nothing to who runs elsewhere. */
                        if (!is_abstract && *found != '/')
                                return -EBADMSG;
                }
                at = comma ? comma + 1 : end;
        }
        if (!found)
                return 0;
        *ret = TAKE_PTR(found);
        return 1;
}

int dbus_address_next(const char **at, char **ret) {
        int r = 0;

        while (**at && r == 0) {
                size_t n = strcspn(*at, ";");

                r = n > 0 ? address_read(*at, n, ret) : 0;
                *at += n + ((*at)[n] == ';');
        }
        return r;
}

char *dbus_address_of_abstract(const char *name) {
        static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_/.\\*";
        _cleanup_strbuf_ struct strbuf b = {0};

        strbuf_add(&b, "unix:abstract=");
        for (; *name; name++)
                strbuf_addf(&b, strchr(plain, *name) ? "%c" : "%%%02x", (unsigned char)*name);
        return strbuf_finish(&b);
}

/* -------------------------------------------------------------------- rules */

static bool is_of_name(char c, bool has_dash) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
               (has_dash && c == '-');
}

/* The length of two or more elements with dots between them; the last may be a star.  0: none. */
static size_t elements_length(const char *text, bool has_dash) {
        size_t n = 0, length = 0;

        for (;;) {
                size_t begin = length;

                if (n >= 2 && text[length] == '*')
                        return length + 1;
                if (text[length] >= '0' && text[length] <= '9')
                        return 0;
                while (is_of_name(text[length], has_dash))
                        length++;
                if (length == begin)
                        return 0;
                n++;
                if (text[length] != '.')
                        return n >= 2 ? length : 0;
                length++;
        }
}

/* "[METHOD][@PATH]": METHOD is "*", or an interface, a method of it, or ".*" after either; PATH an object's,
 * which may end in a star. */
static bool is_rule_of_call(const char *text) {
        size_t n = *text == '*' ? 1 : *text == '@' ? 0 : elements_length(text, false);

        if (n == 0 && *text != '@')
                return false;
        text += n;
        if (!*text)
                return true;
        if (*text++ != '@' || *text != '/')
                return false;
        for (; *text; text++)
                if (*text == '*'   ? text[-1] != '/' || text[1]
                    : *text == '/' ? text[1] == '/'
                                   : !is_of_name(*text, false))
                        return false;
        return true;
}

static const struct {
        const char *word, *option;
        bool has_rule;
} rights[] = {
        [DBUS_TALK] = {"talk=", "--talk", false},
        [DBUS_OWN] = {"own=", "--own", false},
        [DBUS_SEE] = {"see=", "--see", false},
        [DBUS_CALL] = {"call=", "--call", true},
        [DBUS_BROADCAST] = {"broadcast=", "--broadcast", true},
};

/* Its name, and org.freedesktop.DBus.*, which has that too. */
static bool is_the_bus_itself(const char *name, size_t n) {
        static const char bus[] = "org.freedesktop.DBus.*";

        return (n == strlen(bus) || n == strlen(bus) - 2) && memcmp(name, bus, n) == 0;
}

int dbus_rule_read(const char *value, struct dbus_rule *ret) {
        struct dbus_rule rule = {.right = DBUS_TALK, .name = value};
        const char *rest;

        for (size_t i = 0; i < ARRAY_SIZE(rights); i++)
                if ((rest = startswith(value, rights[i].word))) {
                        rule.right = (enum dbus_right)i;
                        rule.name = rest;
                }
        rule.option = rights[rule.right].option;
        rule.length = elements_length(rule.name, true);
        rest = rule.name + rule.length;
        if (rule.length == 0 || rule.length > NAME_MOST)
                return -EINVAL;
        if (rights[rule.right].has_rule ? *rest != '=' || !is_rule_of_call(rest + 1) : *rest != '\0')
                return -EINVAL;
        if (is_the_bus_itself(rule.name, rule.length))
                return -EPERM;
        *ret = rule;
        return 0;
}

static const char runs_programs[] = "starts any program as you, outside of the sandbox";
static const char takes_for_host[] =
        "takes the command for a program outside of any sandbox, and starts programs at login without asking";
static const char runs_scripts[] = "runs code of the caller's in the desktop itself";
static const char changes_settings[] =
        "changes the desktop's settings, which name programs that it starts outside of the sandbox";
static const char has_passwords[] = "hands out your passwords";
static const char opens_files[] = "opens and changes your files, outside of the sandbox";
static const char answers_portals[] = "does what portals ask you about first, without asking";
static const char sees_windows[] = "reads and types in every window";

/* Of the services that desktops run, those that are known to give a caller what a sandbox is to keep from
 * it. */
static const struct {
        const char *name;
        const char *power;
} powers[] = {
        {"org.freedesktop.systemd1", runs_programs},
        {"org.freedesktop.portal.Desktop", takes_for_host},
        {"org.freedesktop.Flatpak", runs_programs},
        {"org.gnome.Terminal", runs_programs},
        {"org.gnome.Console", runs_programs},
        {"org.gnome.Ptyxis", runs_programs},
        {"org.mate.Terminal", runs_programs},
        {"org.xfce.Terminal5", runs_programs},
        {"org.kde.konsole", runs_programs},
        {"org.kde.yakuake", runs_programs},
        {"org.kde.krunner", runs_programs},
        {"org.kde.klauncher5", runs_programs},
        {"org.gnome.SessionManager", runs_programs},
        {"org.freedesktop.portal.Flatpak", runs_programs},
        {"org.gnome.Shell", runs_scripts},
        {"org.Cinnamon", runs_scripts},
        {"org.kde.KWin", runs_scripts},
        {"org.kde.plasmashell", runs_scripts},
        {"org.gnome.Mutter", sees_windows},
        {"org.a11y", sees_windows},
        {"ca.desrt.dconf", changes_settings},
        {"org.gnome.SettingsDaemon", changes_settings},
        {"org.kde.kglobalaccel", changes_settings},
        {"org.xfce.Xfconf", changes_settings},
        {"org.freedesktop.secrets", has_passwords},
        {"org.gnome.keyring", has_passwords},
        {"org.kde.kwalletd5", has_passwords},
        {"org.kde.kwalletd6", has_passwords},
        {"org.keepassxc.KeePassXC", has_passwords},
        {"org.gtk.vfs", opens_files},
        {"org.kde.kioexecd", opens_files},
        {"org.kde.kiod5", opens_files},
        {"org.kde.kiod6", opens_files},
        {"org.freedesktop.impl.portal", answers_portals},
};

/* Whether of two names, of which the rule's may end in ".*", one is the other or lies beneath it. */
static bool rule_touches(const struct dbus_rule *rule, const char *name) {
        bool is_folder = rule->name[rule->length - 1] == '*';
        size_t own = is_folder ? rule->length - 2 : rule->length, other = strlen(name);

        if (own < other)
                return is_folder && memcmp(rule->name, name, own) == 0 && name[own] == '.';
        return memcmp(rule->name, name, other) == 0 && (own == other || rule->name[other] == '.');
}

const char *dbus_rule_power(const struct dbus_rule *rule) {
        for (size_t i = 0; i < ARRAY_SIZE(powers); i++)
                if (rule_touches(rule, powers[i].name))
                        return powers[i].power;
        return NULL;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Maven's settings.xml: elements, their texts and comments, no more of XML than that.  With a document type,
 * a CDATA section or an instruction the whole file is given up.  Pure. */
#include "toolsettings.h"

enum {
        XML_DEPTH_MOST = 32,
        XML_NAME_MOST = 64,
        XML_VALUE_MOST = 256,
};

#define XML_NAME  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:"
#define XML_SPACE " \t\r\n"

/* The elements of <settings>, and of a mirror in <mirrors>. */
static const struct maven_key {
        const char *name;
        enum setting_kind kind;
} of_settings[] =
        {
                {"interactiveMode", SETTING_FLAG},
                {"offline", SETTING_FLAG},
},
  of_mirror[] = {
          {"id", SETTING_NAME},
          {"url", SETTING_ADDRESS},
          {"mirrorOf", SETTING_PATTERN},
          {"blocked", SETTING_FLAG},
};

struct xml {
        const char *at;
        char names[XML_DEPTH_MOST][XML_NAME_MOST]; /* of the elements that are open */
        size_t depth;
        char text[XML_VALUE_MOST]; /* of the innermost one, which has no element in it */
        size_t length;
        bool is_fit; /* that text is whole, and has nothing but plain bytes */
        struct settings settings, mirror;
        struct strbuf mirrors;
};

static bool is_open(const struct xml *x, size_t depth, const char *name) {
        return x->depth > depth && streq(x->names[depth], name);
}

static int xml_take(struct settings *s, const struct xml *x, const char *name, const struct maven_key *keys,
                    size_t n) {
        char value[XML_VALUE_MOST];
        const char *from = x->text + strspn(x->text, XML_SPACE);
        size_t length = strlen(from);

        while (length > 0 && strchr(XML_SPACE, from[length - 1]))
                length--;
        (void)snprintf(value, sizeof(value), "%.*s", (int)length, from);
        for (size_t i = 0; i < n; i++)
                if (streq(keys[i].name, name)) {
                        if (settings_find(s, "", name))
                                return -EBADMSG;
                        return settings_add(s, "", name, keys[i].kind, x->is_fit ? value : NULL);
                }
        return 0;
}

static void write_elements(const struct settings *s, const char *indent, struct strbuf *to) {
        for (size_t i = 0; i < s->n; i++)
                if (s->items[i].value)
                        strbuf_addf(to, "%s<%s>%s</%s>\n", indent, s->items[i].key, s->items[i].value,
                                    s->items[i].key);
}

/* A mirror of which one element is left out would be another mirror. */
static void take_mirror(struct xml *x) {
        bool is_whole = settings_find(&x->mirror, "", "url") && settings_find(&x->mirror, "", "mirrorOf");

        for (size_t i = 0; i < x->mirror.n; i++)
                is_whole &= x->mirror.items[i].value != NULL;
        if (is_whole) {
                strbuf_add(&x->mirrors, "    <mirror>\n");
                write_elements(&x->mirror, "      ", &x->mirrors);
                strbuf_add(&x->mirrors, "    </mirror>\n");
        }
        settings_clear(&x->mirror);
}

/* An element ends: the innermost one, of `name`. */
static int close_element(struct xml *x) {
        const char *name = x->names[x->depth - 1];
        bool is_in_mirror = is_open(x, 1, "mirrors") && is_open(x, 2, "mirror");
        int r = 0;

        if (x->depth == 2)
                r = xml_take(&x->settings, x, name, of_settings, ARRAY_SIZE(of_settings));
        else if (x->depth == 4 && is_in_mirror)
                r = xml_take(&x->mirror, x, name, of_mirror, ARRAY_SIZE(of_mirror));
        else if (x->depth == 3 && is_in_mirror)
                take_mirror(x);
        x->depth--;
        x->is_fit = false;
        return r;
}

/* Passes over attributes up to the '>'. */
static int skip_attributes(struct xml *x) {
        for (;;) {
                size_t n = strspn(x->at, XML_SPACE);

                x->at += n;
                if (*x->at == '>' || *x->at == '/')
                        return 0;
                if (n == 0 || strspn(x->at, XML_NAME) == 0)
                        return -EBADMSG;
                x->at += strspn(x->at, XML_NAME);
                if (*x->at++ != '=' || (*x->at != '"' && *x->at != '\''))
                        return -EBADMSG;
                n = strcspn(x->at + 1, *x->at == '"' ? "\"<" : "'<") + 1;
                if (x->at[n] != *x->at)
                        return -EBADMSG;
                x->at += n + 1;
        }
}

static int open_element(struct xml *x) {
        size_t n = strspn(x->at, XML_NAME);
        bool is_empty;

        if (n == 0 || n >= XML_NAME_MOST || x->depth == XML_DEPTH_MOST)
                return -EBADMSG;
        (void)snprintf(x->names[x->depth++], XML_NAME_MOST, "%.*s", (int)n, x->at);
        if (x->depth == 1 && !is_open(x, 0, "settings"))
                return -EBADMSG;
        x->at += n;
        if (skip_attributes(x) < 0)
                return -EBADMSG;
        is_empty = *x->at == '/';
        x->at += is_empty;
        if (*x->at++ != '>')
                return -EBADMSG;
        x->length = 0;
        x->text[0] = '\0';
        x->is_fit = !is_empty;
        return is_empty ? close_element(x) : 0;
}

static int end_element(struct xml *x) {
        size_t n = strspn(x->at, XML_NAME);

        if (x->depth == 0 || strlen(x->names[x->depth - 1]) != n ||
            strncmp(x->names[x->depth - 1], x->at, n) != 0)
                return -EBADMSG;
        x->at += n;
        x->at += strspn(x->at, XML_SPACE);
        if (*x->at++ != '>')
                return -EBADMSG;
        return close_element(x);
}

static int skip_xml_comment(struct xml *x) {
        const char *end = strstr(x->at, "-->");

        if (!end)
                return -EBADMSG;
        x->at = end + 3;
        return 0;
}

static int xml_text(struct xml *x) {
        size_t n = strcspn(x->at, "<");

        if (x->depth == 0 && strspn(x->at, XML_SPACE) != n)
                return -EBADMSG;
        /* An entity could be any byte. */
        if (n + x->length >= sizeof(x->text) || memchr(x->at, '&', n))
                x->is_fit = false;
        else
                memcpy(x->text + x->length, x->at, n);
        x->length += x->is_fit ? n : 0;
        x->text[x->length] = '\0';
        x->at += n;
        return 0;
}

static int take_markup(struct xml *x, bool *has_root) {
        const char *rest;

        if ((rest = startswith(x->at, "<!--"))) {
                x->at = rest;
                return skip_xml_comment(x);
        }
        if ((rest = startswith(x->at, "</"))) {
                x->at = rest;
                return end_element(x);
        }
        if (x->depth == 0 && *has_root)
                return -EBADMSG;
        *has_root = true;
        x->at++;
        return open_element(x);
}

static int read_xml(struct xml *x) {
        bool has_root = false;
        int r = 0;

        if (startswith(x->at, "\xef\xbb\xbf"))
                x->at += 3;
        if (startswith(x->at, "<?xml ")) {
                x->at = strstr(x->at, "?>");
                if (!x->at)
                        return -EBADMSG;
                x->at += 2;
        }
        /* Where markup is refused its end may be the text's, and already passed. */
        while (r >= 0 && *x->at)
                r = *x->at == '<' ? take_markup(x, &has_root) : xml_text(x);
        return r < 0 ? r : x->depth > 0 ? -EBADMSG : 0;
}

int toolsettings_maven(const char *text, struct strbuf *to) {
        struct xml x = {.at = text};
        _cleanup_free_ char *mirrors = NULL;
        struct strbuf elements = {0};
        _cleanup_free_ char *others = NULL;
        int r = read_xml(&x);

        write_elements(&x.settings, "  ", &elements);
        strbuf_add(&x.mirrors, "");
        strbuf_add(&elements, "");
        mirrors = strbuf_finish(&x.mirrors);
        others = strbuf_finish(&elements);
        settings_clear(&x.settings);
        settings_clear(&x.mirror);
        if (r < 0 || !mirrors || !others)
                return r < 0 ? r : -ENOMEM;
        if (!*mirrors && !*others)
                return 0;
        strbuf_addf(to, "<settings>\n%s", others);
        if (*mirrors)
                strbuf_addf(to, "  <mirrors>\n%s  </mirrors>\n", mirrors);
        strbuf_add(to, "</settings>\n");
        return 0;
}

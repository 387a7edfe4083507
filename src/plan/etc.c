/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* /etc as the sandbox has it: an allowlist.  What programs need for TLS, DNS, names and time, what
 * makes a toolchain work and holds nothing private, and three synthetic files that name the user,
 * root and nobody, and no one else. */
#include <sys/utsname.h>

#include "base/file.h"
#include "base/path.h"
#include "build.h"
#include "host/user.h"

/* What doesn't change while a sandbox lives is copied where it is small. */
static const struct {
        const char *path;
        bool is_copied;
} allowed[] = {
        {"/etc/ssl", false},
        {"/etc/ca-certificates", false},
        {"/etc/pki", false},
        {"/etc/resolv.conf", false},
        {"/etc/nsswitch.conf", true},
        {"/etc/localtime", true},
        {"/etc/hosts", false},
        {"/etc/alternatives", false},
        {"/etc/ld.so.cache", false},
        {"/etc/ld.so.conf", true},
        {"/etc/ld.so.conf.d", false},
        /* Names of ports, protocols, file types, manual pages and of the distribution. */
        {"/etc/services", true},
        {"/etc/protocols", true},
        {"/etc/mime.types", true},
        {"/etc/manpath.config", true},
        {"/etc/os-release", true},
        {"/etc/lsb-release", true},
        {"/etc/debian_version", true},
        /* /etc/fonts is for programs that draw without a screen; /etc/chromium.d has the flags
         * without which Debian's chromium doesn't start. */
        {"/etc/fonts", false},
        {"/etc/chromium.d", false},
        /* Maven doesn't start without its own files.  Neither settings.xml beside them, which holds
         * the passwords of servers and proxies, nor /etc/mavenrc is shown. */
        {"/etc/maven/m2.conf", true},
        {"/etc/maven/logging", false},
};

/* Where distributions keep each JDK's conf/ (Debian and Arch in /etc, Fedora in /etc/java): a
 * folder for each release, to which the JDK links.  It has security policies and the defaults of
 * logging and of the network; without it a JVM has no TLS. */
static const char *const jdk_parents[] = {"/etc", "/etc/java"};

/* The files of a JDK's management folder that hold the passwords of remote monitoring, if an
 * administrator has set some. */
static const char *const jdk_secrets[] = {"jmxremote.password", "snmp.acl"};

/* Folders of private keys inside the folders of /etc that are shown.  Only root or a member of
 * ssl-cert can enter them: if nsrun's user can, so could the command, so that they are hidden then. */
static const char *const private_folders[] = {
        "/etc/ssl/private",     "/etc/pki/tls/private", "/etc/pki/CA/private",
        "/etc/pki/entitlement", "/etc/pki/consumer",
};

/* Where programs look for all certificates, in one file or in a folder; distributions link them to
 * elsewhere. */
static const char *const certificates[] = {
        "/etc/ssl/certs",
        "/etc/ssl/cert.pem",
        "/etc/ssl/ca-bundle.pem",
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/ssl/certs/ca-bundle.crt",
        "/etc/pki/tls/cert.pem",
        "/etc/pki/tls/certs/ca-bundle.crt",
};

/* Folders of /etc in the store of NixOS. */
static const char *const nix_links[] = {"/etc/static", "/etc/zoneinfo", "/etc/terminfo"};

/* What the listing of /etc tells of a path in it. */
static int type_in_etc(const struct name_list *etc, const char *path) {
        const char *name = path + strlen("/etc/");

        return name_list_find(etc, name, strcspn(name, "/"));
}

static int add_certificates(struct entries *e, const struct resolved *s, const struct name_list *etc) {
        for (size_t i = 0; i < ARRAY_SIZE(certificates); i++) {
                char byte;

                if (type_in_etc(etc, certificates[i]) >= 0 && readlink(certificates[i], &byte, 1) > 0 &&
                    entries_add_way(e, s, certificates[i]) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int add_nix(struct entries *e, const struct resolved *s, const struct user *u) {
        _cleanup_free_ char *profile = NULL;
        bool has_store = false;
        int r = 0;

        for (size_t i = 0; i < s->files.n_rules; i++)
                has_store |= streq(s->files.rules[i].target, "/nix/store");
        if (!has_store)
                return 0;
        for (size_t i = 0; i < ARRAY_SIZE(nix_links) && r >= 0; i++)
                r = entries_add_way(e, s, nix_links[i]);
        profile = u->name && !strchr(u->name, '/') ? path_join("/etc/profiles/per-user", u->name) : NULL;
        return r < 0 || !profile ? r : entries_add_way(e, s, profile);
}

/* A field of a passwd or group line: `text`, or `otherwise` if text has a character that ends a
 * field. */
static const char *etc_field(const char *text, const char *otherwise) {
        return text && !text[strcspn(text, ":\n")] ? text : otherwise;
}

static int add_passwd(struct entries *e, const struct resolved *s, const struct user *u) {
        _cleanup_strbuf_ struct strbuf text = {0};
        _cleanup_free_ char *done = NULL;

        if (s->inner_uid != 0)
                strbuf_add(&text, "root:x:0:0:root:/root:/bin/sh\n");
        strbuf_addf(&text, "%s:x:%u:%u::%s:%s\n", s->inner_uid != 0 ? u->name : "root", s->inner_uid,
                    s->inner_gid, etc_field(s->home, "/"), etc_field(u->shell, "/bin/sh"));
        if (s->inner_uid != 65534)
                strbuf_add(&text, "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n");
        done = strbuf_finish(&text);
        if (!done)
                return -ENOMEM;
        entries_add_file(e, "/etc/passwd", done);
        return 0;
}

static int add_group(struct entries *e, const struct resolved *s, const struct user *u) {
        _cleanup_strbuf_ struct strbuf text = {0};
        _cleanup_free_ char *done = NULL;

        if (s->inner_gid != 0)
                strbuf_add(&text, "root:x:0:\n");
        strbuf_addf(&text, "%s:x:%u:\n", s->inner_gid != 0 ? u->group : "root", s->inner_gid);
        if (s->inner_gid != 65534)
                strbuf_add(&text, "nogroup:x:65534:\n");
        done = strbuf_finish(&text);
        if (!done)
                return -ENOMEM;
        entries_add_file(e, "/etc/group", done);
        return 0;
}

/* What the C library finds names by where the sandbox has a name server of its own.  The host's /etc/hosts
 * has addresses that lead nowhere inside. */
/* Without a search list the host's own domain would be tried.  With --net=ask a query waits until a person
 * has answered. */
#define NAME_SERVER "nameserver 127.0.0.1\nsearch .\n"
static const struct {
        const char *path, *text;
} of_names[] = {
        {"/etc/resolv.conf", NAME_SERVER},
        {"/etc/hosts", "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n127.0.1.1 "},
        {"/etc/nsswitch.conf",
         "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\nprotocols: files\n"
         "services: files\nethers: files\nrpc: files\n"},
};

static bool is_of_names(const char *path) {
        for (size_t i = 0; i < ARRAY_SIZE(of_names); i++)
                if (streq(of_names[i].path, path))
                        return true;
        return false;
}

static int add_hostname(struct entries *e, const struct resolved *s) {
        struct utsname names;
        char text[sizeof(names.nodename) + 2], hosts[sizeof(text) + 128];

        if (uname(&names) < 0)
                return -errno;
        (void)snprintf(text, sizeof(text), "%s\n",
                       s->policy->hostname ? s->policy->hostname : names.nodename);
        entries_add_file(e, "/etc/hostname", text);
        for (size_t i = 0; i < ARRAY_SIZE(of_names) && s->policy->net == POLICY_NET_ALLOW; i++) {
                (void)snprintf(hosts, sizeof(hosts), "%s%s", of_names[i].text, text);
                entries_add_file(e, of_names[i].path,
                                 streq(of_names[i].path, "/etc/hosts") ? hosts
                                 : streq(of_names[i].path, "/etc/resolv.conf") && s->policy->net_asks
                                         ? NAME_SERVER "options timeout:30 attempts:4\n"
                                         : of_names[i].text);
        }
        return 0;
}

/* The user's settings of git as the machine's: ~/.gitconfig is the command's to make. */
static int add_git_settings(struct entries *e, const struct resolved *s) {
        static const char head[] =
                "# Made by nsrun of the user's configuration: what names no program, file or "
                "secret.\n",
                          ignores[] = "[core]\n\texcludesFile = /etc/gitignore\n";
        _cleanup_free_ char *text = NULL;

        if (!s->git.settings && !s->git.ignores)
                return 0;
        text = str_concat(head, s->git.settings ? s->git.settings : "", s->git.ignores ? ignores : "");
        if (!text)
                return -ENOMEM;
        entries_add_file(e, "/etc/gitconfig", text);
        if (s->git.ignores)
                entries_add_file(e, "/etc/gitignore", s->git.ignores);
        return 0;
}

/* The user's settings of other tools, where these look for them; the command may change them. */
static void add_tool_settings(struct entries *e, const struct resolved *s) {
        for (size_t i = 0; i < s->tools.n_settings; i++) {
                entries_add_file(e, s->tools.settings[i].path, s->tools.settings[i].text);
                if (!e->has_failed)
                        e->items[e->n - 1].op.mode = 0600;
        }
}

/* Whether a JDK's management folder holds a password file, or can't be searched for one. */
static int has_secret(const char *management) {
        for (size_t i = 0; i < ARRAY_SIZE(jdk_secrets); i++) {
                _cleanup_free_ char *secret = path_join(management, jdk_secrets[i]);

                if (!secret)
                        return -ENOMEM;
                if (access(secret, F_OK) == 0 || errno != ENOENT)
                        return 1;
        }
        return 0;
}

static int add_jdk(struct entries *e, const char *parent, const char *name, const struct name_list *etc) {
        _cleanup_free_ char *path = path_join(parent, name), *real = NULL, *management = NULL;
        struct stat st;
        unsigned mode;
        int r;

        if (!path)
                return -ENOMEM;
        if (type_in_etc(etc, path) < 0)
                return 0;
        /* A JDK's folder that is a symlink isn't shown: hiding its management folder would hide
         * nothing behind the link. */
        r = (etc->is_canonical && streq(parent, "/etc") ? path_canonical_in : path_canonical)(path, &real,
                                                                                              &mode);
        if (r < 0 || !S_ISDIR(mode) || !streq(real, path))
                return r == -ENOMEM ? r : 0;
        entries_add_shown(e, TAKE_PTR(real), mode, path);
        management = path_join(path, "management");
        if (!management)
                return -ENOMEM;
        if (lstat(management, &st) < 0 || !S_ISDIR(st.st_mode))
                return 0;
        r = has_secret(management);
        if (r > 0)
                entries_add_hidden(e, management, management);
        return r;
}

struct jdks {
        struct entries *entries;
        const struct name_list *etc;
};

static int add_named_jdk(void *data, nsrun_unused int folder, const struct dirent *entry) {
        const struct jdks *jdks = data;
        const char *end = startswith(entry->d_name, "java-") ? strstr(entry->d_name, "-openjdk") : NULL;
        _cleanup_free_ char *name = NULL;
        int r = 0;

        /* A JDK's folder in /etc has no architecture in its name: java-17-openjdk-amd64's
         * is java-17-openjdk. */
        if (!end)
                return 0;
        name = strndup(entry->d_name, (size_t)(end - entry->d_name) + strlen("-openjdk"));
        if (!name)
                return -ENOMEM;
        for (size_t i = 0; i < ARRAY_SIZE(jdk_parents) && r >= 0; i++)
                r = add_jdk(jdks->entries, jdk_parents[i], name, jdks->etc);
        return r < 0 ? r : 0;
}

/* Finds the JDKs' folders in /etc by the names of /usr/lib/jvm. */
static int add_jdks(struct entries *e, const struct name_list *etc) {
        _cleanup_close_ int folder = open("/usr/lib/jvm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int r = folder < 0 ? 0 : folder_read(folder, add_named_jdk, &(struct jdks){e, etc});

        return r == -ENOMEM ? r : 0;
}

/* Adds what is at `path`, one of /etc, if it is there. */
static void add_of_etc(struct entries *e, const struct name_list *etc, const char *path, bool is_copied) {
        int type = type_in_etc(etc, path);
        size_t n = e->n;
        bool is_name = !strchr(path + strlen("/etc/"), '/');
        char *source = NULL;
        unsigned mode = 0;

        if (type < 0)
                return;
        /* Where its folder is what it is called one look tells, or none. */
        if (!etc->is_canonical || (!is_name && type != DT_DIR))
                entries_add_present(e, path);
        else if (is_name && (type == DT_DIR || type == DT_REG))
                entries_add_shown(e, strdup(path), (unsigned)DTTOIF(type), path);
        else if (path_canonical_in(path, &source, &mode) >= 0)
                entries_add_shown(e, source, mode, path);
        if (is_copied && e->n > n && !e->has_failed)
                e->items[n].op.is_copied = !e->items[n].op.is_directory;
}

int collect_etc(struct entries *e, const struct resolved *s, struct nsrun_error *err) {
        _cleanup_name_list_ struct name_list etc = {.is_unknown = true};
        struct user u = {0};
        int r = name_list_read("/etc", NAME_LIST_USUAL, &etc);

        for (size_t i = 0; i < ARRAY_SIZE(allowed) && r >= 0; i++)
                if (s->policy->net != POLICY_NET_ALLOW || !is_of_names(allowed[i].path))
                        add_of_etc(e, &etc, allowed[i].path, allowed[i].is_copied);
        for (size_t i = 0; i < ARRAY_SIZE(private_folders); i++)
                if (type_in_etc(&etc, private_folders[i]) >= 0 && access(private_folders[i], X_OK) == 0)
                        entries_add_hidden(e, private_folders[i], private_folders[i]);
        if (r >= 0)
                r = add_jdks(e, &etc);
        if (r >= 0)
                r = add_certificates(e, s, &etc);
        if (r >= 0)
                r = user_find(s->uid, s->gid, &u);
        if (r >= 0)
                r = collect_accounts_home(e, s, u.home);
        if (r >= 0)
                r = add_nix(e, s, &u);
        if (r >= 0)
                r = add_passwd(e, s, &u);
        if (r >= 0)
                r = add_group(e, s, &u);
        if (r >= 0)
                r = add_hostname(e, s);
        if (r >= 0)
                r = add_git_settings(e, s);
        user_clear(&u);
        add_tool_settings(e, s);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_PLAN, r, NULL, "the synthetic files of /etc can't be made",
                                 NULL);
        return 0;
}

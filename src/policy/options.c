/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The options of `nsrun run` and `nsrun plan` that make a policy, and how each value is read.
 * Looks at values alone, never at the host. */
#include "options.h"

#include "base/nearest.h"
#include "config.h"
#include "values.h"
#include "withheld.h"

/* Bytes of a page: the kernel rounds a lower bound up to it, and takes 0 for "no bound". */
#define SMALLEST_TMPFS UINT64_C(4096)

static int set_string(char **to, const char *value, struct nsrun_error *err) {
        char *copy = strdup(value);

        if (!copy)
                return error_oom(err);
        free(*to);
        *to = copy;
        return 0;
}

static int need_text(const struct option_spec *spec, const char *value, struct nsrun_error *err) {
        return *value ? 0 : option_refuse(spec, NULL, "an empty value", NULL, err);
}

/* Options that set one member, by name. */
enum member_kind {
        MEMBER_FLAG,  /* to values[0] */
        MEMBER_TEXT,  /* to a copy of what is given, which isn't empty */
        MEMBER_CHOICE /* to the value that stands for the choice */
};
#define MEMBER(member) offsetof(struct nsrun_policy, member)
static const struct member {
        char name[20];
        size_t at;
        enum member_kind kind;
        unsigned values[5];
} members[] = {
        {"instance", MEMBER(instance), MEMBER_TEXT, {0}},
        {"instance-workspace", MEMBER(instance_workspace), MEMBER_TEXT, {0}},
        {"chdir", MEMBER(chdir), MEMBER_TEXT, {0}},
        {"home", MEMBER(own_home), MEMBER_TEXT, {0}},
        {"seccomp", MEMBER(seccomp), MEMBER_TEXT, {0}},
        {"session", MEMBER(session), MEMBER_TEXT, {0}},
        {"no-config", MEMBER(no_config), MEMBER_FLAG, {true}},
        {"clean-env", MEMBER(clean_env), MEMBER_FLAG, {true}},
        {"seccomp-log", MEMBER(seccomp_log), MEMBER_FLAG, {true}},
        {"strict-policy", MEMBER(strict_policy), MEMBER_FLAG, {true}},
        {"new-session", MEMBER(new_session), MEMBER_FLAG, {true}},
        {"no-new-session", MEMBER(new_session), MEMBER_FLAG, {false}},
        {"no-sandbox", MEMBER(no_sandbox), MEMBER_FLAG, {true}},
        {"strict", MEMBER(refuses_degraded), MEMBER_FLAG, {true}},
        {"log", MEMBER(is_logged), MEMBER_FLAG, {true}},
        {"isolate-commands", MEMBER(isolates_commands), MEMBER_FLAG, {true}},
        {"kill-leftovers", MEMBER(kills_leftovers), MEMBER_FLAG, {true}},
        {"net",
         MEMBER(net),
         MEMBER_CHOICE,
         {POLICY_NET_HOST, POLICY_NET_NONE, POLICY_NET_ALLOW, POLICY_NET_ALLOW}},
        {"proc",
         MEMBER(proc),
         MEMBER_CHOICE,
         {POLICY_PROC_AUTO, POLICY_PROC_NEW, POLICY_PROC_SUBSET, POLICY_PROC_BIND, POLICY_PROC_NONE}},
        {"overlay-backing",
         MEMBER(backing),
         MEMBER_CHOICE,
         {POLICY_BACKING_AUTO, POLICY_BACKING_DISK, POLICY_BACKING_TMPFS}},
        {"landlock",
         MEMBER(landlock),
         MEMBER_CHOICE,
         {POLICY_LANDLOCK_AUTO, POLICY_LANDLOCK_REQUIRE, POLICY_LANDLOCK_OFF}},
};
_Static_assert(sizeof(enum policy_net) == sizeof(unsigned) && sizeof(enum policy_proc) == sizeof(unsigned) &&
                       sizeof(enum policy_backing) == sizeof(unsigned) &&
                       sizeof(enum policy_landlock) == sizeof(unsigned),
               "choices are stored as such");

static int apply_member(void *target, const struct option_spec *spec, const char *value,
                        struct nsrun_error *err) {
        for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
                void *to = (char *)target + members[i].at;
                int r;

                if (!streq(members[i].name, spec->name))
                        continue;
                if (members[i].kind == MEMBER_FLAG) {
                        *(bool *)to = members[i].values[0];
                        return 0;
                }
                r = members[i].kind == MEMBER_TEXT ? need_text(spec, value, err)
                                                   : option_choice(spec, value, err);
                if (r < 0 || members[i].kind == MEMBER_TEXT)
                        return r < 0 ? r : set_string(to, value, err);
                memcpy(to, &members[i].values[r], sizeof(members[i].values[r]));
                return 0;
        }
        return option_refuse(spec, NULL, "no such option", NULL, err);
}

static int apply_project(void *target, const struct option_spec *spec, const char *value,
                         struct nsrun_error *err) {
        struct nsrun_policy *p = target;
        int r = need_text(spec, value, err);

        if (r < 0)
                return r;
        p->no_project = false;
        return set_string(&p->project, value, err);
}

static int apply_no_project(void *target, nsrun_unused const struct option_spec *spec,
                            nsrun_unused const char *value, nsrun_unused struct nsrun_error *err) {
        struct nsrun_policy *p = target;

        free(TAKE_PTR(p->project));
        p->no_project = true;
        return 0;
}

static int policy_options_apply_exposed(void *target, const struct option_spec *spec, const char *value,
                                        struct nsrun_error *err) {
        static const struct {
                const char *name;
                const char *option;
                enum policy_access access;
        } kinds[] = {
                {"ro", "--ro", POLICY_RO},
                {"rw", "--rw", POLICY_RW},
                {"overlay", "--overlay", POLICY_OVERLAY},
        };
        int r = need_text(spec, value, err);

        if (r < 0)
                return r;
        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
                if (streq(spec->name, kinds[i].name))
                        return policy_add_rule(target, POLICY_BY_OPTION, kinds[i].access, value, NULL,
                                               kinds[i].option) < 0
                                       ? error_oom(err)
                                       : 0;
        return option_refuse(spec, NULL, "no such access", NULL, err);
}

/* Cuts `text` at its unescaped colons into at most `max` parts; "\:" is a colon and "\\" a
 * backslash, any other backslash stands for itself.  Returns how many parts the text has, of which
 * those beyond `max` are not in *ret; or -ENOMEM. */
static int split_colons(const char *text, char ***ret) {
        _cleanup_strv_ char **parts = NULL;
        int n = 0;

        for (bool is_last = false; !is_last; n++) {
                char *part = malloc(strlen(text) + 1), *to = part;

                if (!part)
                        return -ENOMEM;
                for (; *text && *text != ':'; text++) {
                        if (text[0] == '\\' && (text[1] == ':' || text[1] == '\\'))
                                text++;
                        *to++ = *text;
                }
                *to = '\0';
                is_last = !*text;
                text += !is_last;
                if (strv_consume(&parts, part) < 0)
                        return -ENOMEM;
        }
        *ret = TAKE_PTR(parts);
        return n;
}

/* The parts of a value, of which there are `least` to `most`; none is empty but a third, or the second of
 * PATH:SIZE, which its reader judges.  Returns how many. */
static int parts_of(const struct option_spec *spec, const char *value, int least, int most, const char *what,
                    char ***ret, struct nsrun_error *err) {
        int n = split_colons(value, ret);

        if (n < 0)
                return error_oom(err);
        if (n < least || n > most || !(*ret)[0][0] || (least > 1 && !(*ret)[1][0]))
                return option_refuse(spec, value, what, "a colon in a path is written '\\:'", err);
        return n;
}

static int apply_bind(void *target, const struct option_spec *spec, const char *value,
                      struct nsrun_error *err) {
        _cleanup_strv_ char **parts = NULL;
        enum policy_access access = POLICY_RW;
        struct nsrun_policy *p = target;
        int n = parts_of(spec, value, 2, 3, "not SRC:DEST or SRC:DEST:ro or SRC:DEST:rw", &parts, err);

        if (n < 0)
                return n;
        if (n == 3 && streq(parts[2], "ro"))
                access = POLICY_RO;
        else if (n == 3 && !streq(parts[2], "rw"))
                return option_refuse(spec, value, "neither ro nor rw after the second colon",
                                     "a colon in a path is written '\\:'", err);
        return policy_add_rule(p, p->config_label ? POLICY_BY_CONFIG : POLICY_BY_OPTION, access, parts[0],
                               parts[1], p->config_label ? p->config_label : "--bind") < 0
                       ? error_oom(err)
                       : 0;
}

static int apply_symlink(void *target, const struct option_spec *spec, const char *value,
                         struct nsrun_error *err) {
        _cleanup_strv_ char **parts = NULL;
        int n = parts_of(spec, value, 2, 2, "not TEXT:PATH", &parts, err);

        return n < 0 ? n : policy_add_link(target, parts[0], parts[1]) < 0 ? error_oom(err) : 0;
}

static int apply_tmp(void *target, const struct option_spec *spec, const char *value,
                     struct nsrun_error *err) {
        struct nsrun_policy *p = target;
        int r = need_text(spec, value, err);

        if (r < 0)
                return r;
        p->tmp_kind = streq(value, "scratch") ? POLICY_TMP_SCRATCH
                      : streq(value, "tmpfs") ? POLICY_TMP_TMPFS
                                              : POLICY_TMP_FOLDER;
        if (p->tmp_kind == POLICY_TMP_FOLDER)
                return set_string(&p->tmp, value, err);
        free(TAKE_PTR(p->tmp));
        return 0;
}

static int read_tmpfs_size(const struct option_spec *spec, const char *value, uint64_t *ret,
                           struct nsrun_error *err) {
        static const char hint[] = "give bytes, or a number with K, M, G or T: 512M";
        uint64_t size;
        int r = str_parse_number(value, true, &size);

        if (r < 0)
                return option_refuse(spec, value, r == -ERANGE ? "too big" : "not a size", hint, err);
        if (size < SMALLEST_TMPFS)
                return option_refuse(spec, value, "too small", "the least is 4K", err);
        *ret = size;
        return 0;
}

static int apply_tmpfs_size(void *target, const struct option_spec *spec, const char *value,
                            struct nsrun_error *err) {
        struct nsrun_policy *p = target;

        return read_tmpfs_size(spec, value, &p->tmpfs_size, err);
}

static int apply_tmpfs(void *target, const struct option_spec *spec, const char *value,
                       struct nsrun_error *err) {
        _cleanup_strv_ char **parts = NULL;
        uint64_t size = 0;
        int n = parts_of(spec, value, 1, 2, "not PATH or PATH:SIZE", &parts, err),
            r = n == 2 ? read_tmpfs_size(spec, parts[1], &size, err) : n;

        return r < 0 ? r : policy_add_tmpfs(target, parts[0], size) < 0 ? error_oom(err) : 0;
}

static int apply_net(void *target, const struct option_spec *spec, const char *value,
                     struct nsrun_error *err) {
        struct nsrun_policy *p = target;
        int r = apply_member(target, spec, value, err);

        if (r >= 0)
                p->net_asks = streq(value, "ask");
        return r;
}

static int apply_hostname(void *target, const struct option_spec *spec, const char *value,
                          struct nsrun_error *err) {
        static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";
        struct nsrun_policy *p = target;
        size_t n = strlen(value);

        /* 64 is the longest host name that the kernel takes (__NEW_UTS_LEN). */
        if (n == 0 || n > 64 || strspn(value, allowed) != n)
                return option_refuse(spec, value, "not a host name",
                                     "1 to 64 letters, digits, dots and hyphens", err);
        return set_string(&p->hostname, value, err);
}

/* The highest 32-bit number is no id: it is the (uid_t)-1 of chown(2). */
static int apply_id(void *target, const struct option_spec *spec, const char *value,
                    struct nsrun_error *err) {
        struct nsrun_policy *p = target;
        uint64_t id;

        if (str_parse_number(value, false, &id) < 0 || id >= UINT32_MAX)
                return option_refuse(spec, value, "not a numeric id", "give a number from 0 to 4294967294",
                                     err);
        *(streq(spec->name, "uid") ? &p->uid : &p->gid) = id;
        return 0;
}

/* --env and --unsetenv: what the one says of a variable the other takes back. */
static int apply_named(void *target, const struct option_spec *spec, const char *value,
                       struct nsrun_error *err) {
        struct nsrun_policy *p = target;
        bool is_set = streq(spec->name, "env");
        size_t n = is_set ? strcspn(value, "=") : strlen(value);

        if (!environment_name_is_valid(value, n))
                return option_refuse(spec, value,
                                     is_set ? "not NAME or NAME=VALUE" : "not a variable's name", NULL, err);
        variables_drop(is_set ? &p->unset : &p->env, value, n);
        return variables_set(is_set ? &p->env : &p->unset, strdup(value)) < 0 ? error_oom(err) : 0;
}

static int apply_config(void *target, const struct option_spec *spec, const char *value,
                        struct nsrun_error *err) {
        struct nsrun_policy *p = target;
        int r = need_text(spec, value, err);

        if (r < 0)
                return r;
        p->no_config = false;
        return config_load(p, value, err);
}

static int apply_profile(void *target, const struct option_spec *spec, const char *value,
                         struct nsrun_error *err) {
        struct nsrun_policy *p = target;
        int r = need_text(spec, value, err);

        if (r < 0)
                return r;
        if (streq(value, "code") || streq(value, "instance")) {
                p->profile = streq(value, "code") ? POLICY_PROFILE_CODE : POLICY_PROFILE_INSTANCE;
                return 0;
        }
        if (p->config)
                return option_refuse(spec, value, "the configuration is read already",
                                     "choose a profile before that", err);
        return strv_contains(p->profiles, value) || strv_add(&p->profiles, value) >= 0 ? 0 : error_oom(err);
}

static const char of_project[] = "Project";
static const char of_filesystem[] = "Filesystem";
static const char of_protection[] = "Protection";
static const char of_environment[] = "Environment";
static const char of_network[] = "Network";
static const char of_desktop[] = "Desktop";
static const char of_seccomp[] = "Seccomp";
static const char of_limits[] = "Limits";
static const char of_isolation[] = "Isolation";
static const char of_sessions[] = "Sessions";

/* Each group stands together, and is a topic of `nsrun help`. */
const struct option_spec policy_options[] = {
        {"config", 0, "FILE", OPTION_COMPLETES_PATH, of_project,
         "read the configuration FILE (default: ~/.config/nsrun/config.json, else /etc/nsrun/config.json)",
         apply_config},
        {"no-config", 0, NULL, OPTION_COMPLETES_NOTHING, of_project,
         "read no configuration but that of --config", apply_member},
        {"profile", 0, "code|instance|NAME", OPTION_COMPLETES_CHOICE, of_project,
         "what is shown: a project and its toolchains (the default), or an agent host's instance folder and what the command line names; NAME: what the configuration's profile of that name says, too",
         apply_profile},
        {"instance", 0, "DIR", OPTION_COMPLETES_FOLDER, of_project,
         "the root of --profile=instance (default: $NSRUN_HOME, else ~/.nsrun)", apply_member},
        {"instance-workspace", 0, "DIR", OPTION_COMPLETES_FOLDER, of_project,
         "the instance's workspace, writable; the working directory, too, unless --project names one (default: workspace in the root)",
         apply_member},
        {"project", 0, "DIR", OPTION_COMPLETES_FOLDER, of_project,
         "the writable working directory (default: the git top level above the current folder, else that folder)",
         apply_project},
        {"no-project", 0, NULL, OPTION_COMPLETES_NOTHING, of_project,
         "an empty, ephemeral working directory (" POLICY_NO_PROJECT_DIR ") instead", apply_no_project},
        {"chdir", 0, "DIR", OPTION_COMPLETES_FOLDER, of_project,
         "start in DIR, absolute or relative to the project (default: the current folder if that is in the project, else the project)",
         apply_member},
        {"agent", 0, "NAME", OPTION_COMPLETES_AGENT, of_project,
         "the command is the agent NAME ('nsrun agents'): show its folders, pass its key, allow its hosts",
         agent_apply_option},
        {"ro", 0, "PATH", OPTION_COMPLETES_PATH, of_filesystem, "expose PATH read-only, where it is",
         policy_options_apply_exposed},
        {"rw", 0, "PATH", OPTION_COMPLETES_PATH, of_filesystem, "expose PATH writable, where it is",
         policy_options_apply_exposed},
        {"overlay", 0, "PATH", OPTION_COMPLETES_FOLDER, of_filesystem,
         "expose the folder PATH; what is written to it is thrown away at the end",
         policy_options_apply_exposed},
        {"bind", 0, "SRC:DEST[:ro|rw]", OPTION_COMPLETES_PATH, of_filesystem,
         "expose SRC at DEST, writable unless :ro (a colon in a path: '\\:')", apply_bind},
        {"symlink", 0, "TEXT:PATH", OPTION_COMPLETES_NOTHING, of_filesystem,
         "make PATH a symlink that says TEXT", apply_symlink},
        {"tmpfs", 0, "PATH[:SIZE]", OPTION_COMPLETES_FOLDER, of_filesystem,
         "make PATH an empty folder in memory, of SIZE at most (default: --tmpfs-size; a colon in a path: '\\:')",
         apply_tmpfs},
        {"home", 0, "DIR|name:NAME", OPTION_COMPLETES_FOLDER, of_filesystem,
         "HOME is the folder DIR, made if it is missing, and stays; name:NAME: a folder of nsrun's, ~/.local/share/nsrun/homes/NAME",
         apply_member},
        {"tmp", 0, "tmpfs|scratch|DIR", OPTION_COMPLETES_CHOICE, of_filesystem,
         "what /tmp is: empty and in memory (the default), empty and below ~/.cache/nsrun, or the host's folder DIR; the latter two are at their own paths, too",
         apply_tmp},
        {"tmpfs-size", 0, "SIZE", OPTION_COMPLETES_NOTHING, of_filesystem,
         "the bound of each writable tmpfs, in bytes or with K, M, G or T (default: 2G)", apply_tmpfs_size},
        {"overlay-backing", 0, "auto|disk|tmpfs", OPTION_COMPLETES_CHOICE, of_filesystem,
         "where overlays keep what is written: below ~/.cache/nsrun, or in memory; auto (the default) is memory for toolchains' caches where there is enough",
         apply_member},
        {"protect", 0, "strict|GLOB", OPTION_COMPLETES_CHOICE, of_protection,
         "keep the command from changing or making what GLOB names at the top of a writable folder, beside the names in nsrun-protect(7); strict: a name that doesn't exist can't be made at all",
         protect_apply_option},
        {"no-protect", 0, "GLOB", OPTION_COMPLETES_NOTHING, of_protection,
         "don't protect names that match GLOB ('*': none is)", protect_apply_option},
        {"hide", 0, "GLOB", OPTION_COMPLETES_PATH, of_protection,
         "keep the command from reading what GLOB names in any exposed folder ('.env', '*.pem', 'secrets/', '/top'), as .gitignore has it",
         hide_apply_option},
        {"env", 0, "NAME[=VALUE]", OPTION_COMPLETES_VARIABLE, of_environment,
         "set NAME, or pass the caller's NAME although it would be withheld", apply_named},
        {"unsetenv", 0, "NAME", OPTION_COMPLETES_VARIABLE, of_environment, "don't pass NAME", apply_named},
        {"clean-env", 0, NULL, OPTION_COMPLETES_NOTHING, of_environment,
         "pass only HOME, USER, LOGNAME, SHELL, PATH, TERM, COLORTERM, LANG, LANGUAGE, LC_* and TZ",
         apply_member},
        {"net", 0, "host|none|allow|ask", OPTION_COMPLETES_CHOICE, of_network,
         "share the host's network (the default), have loopback alone, or reach what --allow names and nothing else; ask: or what a person allows at the terminal",
         apply_net},
        {"allow", 0, "HOST[:PORT,...]", OPTION_COMPLETES_NOTHING, of_network,
         "--net=allow: let HOST be reached: a name, *.NAME, an address, ADDRESS/BITS, localhost:PORT, or a list as @npm ('nsrun net list'); ports: 80 and 443 unless said",
         network_apply_option},
        {"deny", 0, "HOST", OPTION_COMPLETES_NOTHING, of_network,
         "--net=allow: don't let HOST be reached, whatever else is allowed", network_apply_option},
        {"net-via", 0, "URL|env|none", OPTION_COMPLETES_CHOICE, of_network,
         "--net=allow: reach names through a proxy: http://, socks5:// or socks5h://[USER:PASSWORD@]HOST:PORT, or the environment's",
         proxy_apply_option},
        {"key", 0, "NAME[=env:NAME|file:PATH|command:TEXT]", OPTION_COMPLETES_VARIABLE, of_network,
         "--net=allow: let the command use the key NAME, which stays outside: it gets a placeholder, and what it asks the key's host goes through nsrun",
         key_apply_option},
        {"key-use", 0, "NAME=URL[,FIELD...]", OPTION_COMPLETES_NOTHING, of_network,
         "--key: where NAME may be used, and how: header=NAME: TEXT*, query=NAME, basic=USER, variable=NAME, git, methods=GET+HEAD; see nsrun-network(7)",
         key_apply_option},
        {"publish", 0, "[ADDRESS:]PORT[:INSIDE]", OPTION_COMPLETES_NOTHING, of_network,
         "--net=allow: let the sandbox's port INSIDE be reached at the host's PORT (default: the same, on 127.0.0.1)",
         network_apply_option},
        {"hostname", 0, "NAME", OPTION_COMPLETES_NOTHING, of_network,
         "the host name inside (default: the host's)", apply_hostname},
        {"kvm", 0, NULL, OPTION_COMPLETES_NOTHING, of_desktop, "show /dev/kvm, for virtual machines",
         grant_apply_option},
        {"fuse", 0, NULL, OPTION_COMPLETES_NOTHING, of_desktop,
         "show /dev/fuse, for file systems of the command's own; wants --seccomp=nested",
         grant_apply_option},
        {"gpu", 0, NULL, OPTION_COMPLETES_NOTHING, of_desktop,
         "show the GPU's nodes that render and compute, with their drivers", grant_apply_option},
        {"sound", 0, NULL, OPTION_COMPLETES_NOTHING, of_desktop,
         "show PipeWire's and PulseAudio's sockets, or ALSA's devices: the microphone, too",
         grant_apply_option},
        {"display", 0, NULL, OPTION_COMPLETES_NOTHING, of_desktop,
         "show the Wayland display, in a security context where the compositor has such; else X11's, whose clients read all keys",
         grant_apply_option},
        {"ssh-agent", 0, "ask|all|KEY", OPTION_COMPLETES_CHOICE, of_desktop,
         "let KEY of the SSH agent (SHA256:..., or its comment) sign, and no other; ask: you are asked before each signature; all: every key",
         grant_ssh_apply},
        {"gpg-agent", 0, NULL, OPTION_COMPLETES_NOTHING, of_desktop,
         "show GnuPG's agent by its restricted socket, and the public keyring read-only",
         grant_apply_option},
        {"browser", 0, NULL, OPTION_COMPLETES_NOTHING, of_desktop,
         "open links (http, https) of the command's in the host's browser: you are asked before each",
         grant_apply_option},
        {"dbus", 0, "[RIGHT=]NAME[=RULE]", OPTION_COMPLETES_NOTHING, of_desktop,
         "let NAME of the session bus be called (talk), and no other, by xdg-dbus-proxy; own=NAME, see=NAME, call=NAME=METHOD@PATH, broadcast=NAME=METHOD@PATH",
         grant_dbus_apply},
        {"seccomp", 0, "default|strict|nested|none|FILE", OPTION_COMPLETES_CHOICE, of_seccomp,
         "which system calls are allowed: a policy of nsrun's own (see 'nsrun seccomp list'), with calls more or less (default+perf_event_open-kcmp), or an OCI JSON file's",
         apply_member},
        {"seccomp-log", 0, NULL, OPTION_COMPLETES_NOTHING, of_seccomp,
         "have the kernel log the calls that are denied (dmesg, the audit log)", apply_member},
        {"strict-policy", 0, NULL, OPTION_COMPLETES_NOTHING, of_seccomp,
         "refuse a seccomp file with an unknown call or a rule without effect, instead of warning",
         apply_member},
        {"landlock", 0, "auto|require|off", OPTION_COMPLETES_CHOICE, of_seccomp,
         "keep abstract sockets and signals inside: where the kernel can (the default), always, or never",
         apply_member},
        {"limit", 0, "NAME=VALUE", OPTION_COMPLETES_NOTHING, of_limits,
         "bound a resource: memory=512M, pids=100, cpu=0.5, or a limit of setrlimit(2): nofile=1024, cputime=60:90; see nsrun-run(1)",
         limits_apply_option},
        {"uid", 0, "ID", OPTION_COMPLETES_NOTHING, of_isolation,
         "the user's numeric id inside (default: the host's); 0 is root's, with no right of root's",
         apply_id},
        {"gid", 0, "ID", OPTION_COMPLETES_NOTHING, of_isolation,
         "the group's numeric id inside (default: the host's)", apply_id},
        {"proc", 0, "auto|new|subset|bind|none", OPTION_COMPLETES_CHOICE, of_isolation,
         "what /proc is: new (the default) has the sandbox's processes alone; see nsrun-run(1)",
         apply_member},
        {"new-session", 0, NULL, OPTION_COMPLETES_NOTHING, of_isolation,
         "a session of its own for the command (the default)", apply_member},
        {"no-new-session", 0, NULL, OPTION_COMPLETES_NOTHING, of_isolation,
         "stay in the caller's session: job control, and the terminal's input, are shared", apply_member},
        {"no-sandbox", 0, NULL, OPTION_COMPLETES_NOTHING, of_isolation,
         "run the command as you, with all your files; warns, and 'nsrun bash' asks on the terminal by default",
         apply_member},
        {"strict", 0, NULL, OPTION_COMPLETES_NOTHING, of_isolation,
         "refuse to start where the host lets something be had in a lesser way alone; see nsrun-hosts(7)",
         apply_member},
        {"log", 0, NULL, OPTION_COMPLETES_NOTHING, of_isolation,
         "write down what is run, and what becomes of it, for 'nsrun log'", apply_member},
        {"session", 0, "ID", OPTION_COMPLETES_SESSION, of_sessions,
         "run in a sandbox that 'nsrun session start' made: of the other options just --env, --unsetenv, --chdir, --new-session and --kill-leftovers may be given",
         apply_member},
        {"isolate-commands", 0, NULL, OPTION_COMPLETES_NOTHING, of_sessions,
         "session start: the session's commands can't signal or trace each other", apply_member},
        {"kill-leftovers", 0, NULL, OPTION_COMPLETES_NOTHING, of_sessions,
         "in a session: end what the command leaves behind when it ends", apply_member},
};

const size_t n_policy_options = ARRAY_SIZE(policy_options);

enum option_turn option_turn(const struct option_spec *spec) {
        if (streq(spec->name, "config") || streq(spec->name, "no-config"))
                return OPTION_TURN_CONFIG;
        return spec->apply == apply_profile || spec->apply == apply_project ||
                               spec->apply == apply_no_project || streq(spec->name, "no-sandbox") ||
                               streq(spec->name, "session")
                       ? OPTION_TURN_FIRST
                       : OPTION_TURN_LAST;
}

int policy_apply_option(struct nsrun_policy *p, const struct option_spec *spec, const char *value,
                        struct nsrun_error *err) {
        char from[80];
        int r = spec->apply(p, spec, value, err);

        (void)snprintf(from, sizeof(from), "--%s", spec->name);
        if (r >= 0 && !p->config_label && policy_note(p, spec->name, value, from) < 0)
                return error_oom(err);
        if (r < 0 || strv_contains(p->given, spec->name))
                return r;
        return strv_add(&p->given, spec->name) < 0 ? error_oom(err) : r;
}

nsrun_public int nsrun_policy_set(struct nsrun_policy *p, const char *option, const char *value,
                                  struct nsrun_error *err) {
        struct nearest near = {.word = option, .length = strlen(option)};
        char said[NEAREST_SAID];

        for (size_t i = 0; i < n_policy_options; i++) {
                const struct option_spec *spec = &policy_options[i];

                if (!streq(spec->name, option))
                        continue;
                if (!value != !spec->argument)
                        return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), option,
                                         value ? "this option takes no value" : "this option needs a value",
                                         NULL);
                return policy_apply_option(p, spec, value, err);
        }
        for (size_t i = 0; i < n_policy_options; i++)
                nearest_try(&near, policy_options[i].name);
        return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), option, "unknown option",
                         nearest_say(&near, "", said));
}

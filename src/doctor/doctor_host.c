/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a look at the host tells without a run: folders, programs, the cgroup, the kernel's
 * security modules. */
#include <limits.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/programs.h"
#include "disk/rundir.h"
#include "doctor.h"
#include "host/user.h"
#include "launch/launch.h"
#include "run/cgroup_place.h"

enum {
        MODULE_LINE = 1024 /* bytes of what a security module says of itself */
};

static const char *file_system_name(const char *path) {
        static const struct {
                unsigned long magic;
                const char *name;
        } all[] = {{0xef53, "ext4"},        {0x9123683e, "btrfs"},     {0x58465342, "xfs"},
                   {0x01021994, "tmpfs"},   {0x794c7630, "overlayfs"}, {0x6969, "NFS"},
                   {0x65735546, "FUSE"},    {0x4d44, "vfat"},          {0xff534d42, "CIFS"},
                   {0x01021997, "9p"},      {0x2fc12fc1, "ZFS"},       {0xf2f52010, "f2fs"},
                   {0xca451a4e, "bcachefs"}};
        _cleanup_close_ int fd = sys_open(AT_FDCWD, path, O_PATH, 0);
        struct statfs found;

        if (fd < 0 || sys_fstatfs(fd, &found) < 0)
                return "an unknown file system";
        for (size_t i = 0; i < ARRAY_SIZE(all); i++)
                if ((unsigned long)found.f_type == all[i].magic)
                        return all[i].name;
        return "another file system";
}

/* What mends HOME: the home that passwd has, if it is there and another. */
static int find_home_fix(const char *home, char *to, size_t size) {
        bool can_be_made = home && *home == '/';
        _cleanup_free_ char *own = NULL, *quoted = NULL;
        const char *otherwise;
        struct stat st;
        int r = user_find_home(NULL, &own);

        if (r < 0)
                return r;
        if (can_be_made && sys_stat(home, &st) >= 0)
                can_be_made = false; /* something else stands there */
        otherwise = can_be_made ? "mkdir -p \"$HOME\"" : "export HOME=/a/folder/of/yours";
        if (own && (!home || !streq(own, home)) && sys_stat(own, &st) >= 0 && st.st_uid == geteuid())
                quoted = str_shell_quote(own);
        (void)snprintf(to, size, "%s%s", quoted ? "export HOME=" : "", quoted ? quoted : otherwise);
        return 0;
}

/* Without a home nothing of it is shown, and runs keep nothing. */
static void look_at_home(struct doctor *d) {
        const char *home = getenv("HOME");
        struct nsrun_error error = {0};
        struct stat st = {.st_mode = S_IFDIR};
        char fix[PATH_MAX + 32], words[USER_WRITERS_SIZE];
        _cleanup_close_ int fd = home && *home == '/' ? sys_open(AT_FDCWD, home, O_PATH, 0) : -ENOENT;
        int r = fd < 0 ? fd : sys_fstat(fd, &st);
        const char *writers = r < 0 ? NULL : user_writers(fd, &st, words);

        if (find_home_fix(home, fix, sizeof(fix)) < 0) {
                d->has_failed = true;
                return;
        }
        if (!home || *home != '/')
                (void)error_set(&error, NSRUN_STAGE_POLICY, 0, home, "HOME doesn't name a folder", fix);
        else if (r < 0 || !S_ISDIR(st.st_mode))
                (void)error_set(&error, NSRUN_STAGE_POLICY, r < 0 ? r : -ENOTDIR, home,
                                "HOME doesn't lead to a folder", fix);
        else if (st.st_uid != geteuid())
                (void)error_set(&error, NSRUN_STAGE_POLICY, 0, home, "HOME belongs to another user", fix);
        else if (writers)
                (void)error_setf(&error, NSRUN_STAGE_POLICY, 0, home, "chmod go-w \"$HOME\"",
                                 "%s may write to HOME", writers);
        if (error.stage != NSRUN_STAGE_NONE)
                (void)doctor_add_error(d, "HOME", DOCTOR_DEGRADED, &error);
        else
                doctor_say(d, "HOME", "%s, on %s", home, file_system_name(home));
}

/* Whether the file can be read and says what a configuration may.  Where it lies is judged by a run. */
static void look_at_configuration(struct doctor *d) {
        struct nsrun_policy *policy = NULL;
        struct nsrun_error error = {0};
        int r = nsrun_policy_new(&policy);

        if (r >= 0)
                r = d->asked ? d->asked->apply(d->asked->data, policy, &error)
                             : nsrun_policy_find_config(policy, &error);
        if (r == -ENOMEM)
                d->has_failed = true;
        else if (r < 0)
                (void)doctor_add_error(d, "configuration", DOCTOR_NO, &error);
        else
                doctor_say(d, "configuration", "%s", policy->config ? policy->config : "there is none");
        (void)nsrun_policy_free(policy);
}

/* What is remembered of runs: where this user has a place for it, and there is no room, no run starts. */
static void look_at_state(struct doctor *d) {
        _cleanup_exposed_ struct exposed known = {.text = NULL};
        _cleanup_free_ char *state = NULL;
        struct nsrun_error error = {0};
        int r;

        if (d->plan && exposed_try(d->plan->exposes, &error) < 0) {
                d->works = false;
                (void)doctor_add_error(d, "state folder", DOCTOR_NO, &error);
                return;
        }
        r = exposed_find_base(&state, &error);
        if (r >= 0)
                r = exposed_make_base();
        if (r >= 0 && exposed_read(&known) < 0)
                d->has_failed = true;
        if (r >= 0 && known.state != EXPOSED_UNKNOWN) {
                doctor_say(d, "state folder", "%s, on %s", state, file_system_name(state));
                return;
        }
        (void)error_set(&error, NSRUN_STAGE_WORKSPACE, r, state,
                        r < 0 ? "what commands could write can't be remembered"
                              : "what is remembered of earlier runs is damaged, or others may write it",
                        r < 0 ? "set XDG_STATE_HOME to a folder of your own on a local disk"
                              : "remove the file \"exposed\" there");
        (void)doctor_add_error(d, "state folder", DOCTOR_DEGRADED, &error);
}

/* Where runs and sessions keep their folders. */
static void look_at_folders(struct doctor *d) {
        _cleanup_free_ char *cache = NULL, *records = NULL;
        _cleanup_strv_ char **sessions = NULL;
        _cleanup_close_ int fd = -EBADF;
        struct nsrun_error error = {0};
        int r;

        /* Default caches and a run of nothing else do without, all else needs it. */
        if (rundir_open_base(&fd, &cache, &error) < 0)
                (void)doctor_add_error(d, "cache folder", DOCTOR_DEGRADED, &error);
        else
                doctor_say(d, "cache folder", "%s, on %s", cache, file_system_name(cache));
        look_at_state(d);
        error = (struct nsrun_error){0};
        r = records_find_base(&records, &error);
        if (r >= 0)
                r = records_list(&sessions, &error);
        if (r < 0)
                (void)doctor_add_error(d, "sessions' folder", DOCTOR_DEGRADED, &error);
        else
                doctor_say(d, "sessions' folder", "%s", records);
}

static void look_at_program(struct doctor *d, const char *name, const char *path, const char *without) {
        _cleanup_free_ char *what = str_concat(name, " can't be executed, and without it ", without);
        struct nsrun_error error = {0};
        int r = sys_is_executable(path);

        if (!what) {
                d->has_failed = true;
        } else if (r < 0) {
                (void)error_set(&error, NSRUN_STAGE_SUPERVISE, r, path, what, "install nsrun completely");
                (void)doctor_add_error(d, name, DOCTOR_DEGRADED, &error);
        } else {
                doctor_say(d, name, "%s", path);
        }
}

/* Those that have libraries of their own: started by nobody's nsrun they say so, and end. */
static void look_at_linked(struct doctor *d, const char *name, const char *path, const char *without,
                           const char *what, const char *fix) {
        char *const argv[] = {(char *)(uintptr_t)name, NULL}, *const env[] = {NULL};
        _cleanup_close_ int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        _cleanup_free_ char *lacks = str_concat(name, " lacks its library", "");
        siginfo_t end = {.si_status = 0};
        pid_t pid = -1;

        look_at_program(d, name, path, without);
        if (null_fd < 0 ||
            spawn_apart(
                    &(struct spawn){
                            .program = path, .argv = argv, .env = env, .folder = "/", .null_fd = null_fd},
                    &pid) < 0)
                return;
        (void)sys_waitid(P_PID, (id_t)pid, &end, WEXITED);
        if (end.si_status == 127)
                doctor_add(d, what, DOCTOR_DEGRADED, lacks ? lacks : "a library is missing", fix);
}

static void look_at_cgroup(struct doctor *d) {
        _cleanup_free_ char *path = NULL;
        bool has_v1 = false;
        int r = cgroup_find_own(&path, &has_v1);

        if (r == -ENOMEM)
                d->has_failed = true;
        else if (r >= 0)
                doctor_say(d, "cgroup", "version 2, at %s%s", path,
                           has_v1 ? "; version 1 has controllers, and nsrun bounds nothing with those" : "");
        else if (has_v1)
                doctor_add(d, "cgroup", DOCTOR_DEGRADED, "version 1, which nsrun bounds nothing with",
                           cgroup_v1_fix());
        else
                doctor_add(d, "cgroup", DOCTOR_DEGRADED,
                           "no cgroup2 file system is mounted that shows this process",
                           "sudo mount -t cgroup2 none /sys/fs/cgroup");
}

void doctor_look_at_host(struct doctor *d) {
        look_at_cgroup(d);
        look_at_program(d, "nsrun-init", program_init(), "a program that embeds the library starts nothing");
        look_at_program(d, "nsrun-monitor", program_monitor(), "no session can be started");
        look_at_program(d, "nsrun-net", program_net(), "--net=allow can't be had");
        look_at_linked(d, "nsrun-http", program_http(), "nsrun mcp --http can't be had", "mcp --http",
                       LIBEVENT_FIX);
        look_at_linked(d, "nsrun-keys", program_keys(), "--key can't be had", "--key", LIBCURL_FIX);
        look_at_configuration(d);
        look_at_home(d);
        look_at_folders(d);
}

/* ------------------------------------------------------------ the kernel's security modules */

/* A file's first line; "" where it can't be read. */
static void read_line_of(const char *path, char to[static MODULE_LINE]) {
        (void)read_kernel_file(AT_FDCWD, path, to, MODULE_LINE);
        to[strcspn(to, "\n")] = '\0';
}

static void say_list(struct doctor *d) {
        char list[MODULE_LINE];

        read_line_of("/sys/kernel/security/lsm", list);
        if (*list)
                doctor_say(d, "security modules", "%s", list);
        else
                doctor_say(d, "security modules", "not told: /sys/kernel/security isn't mounted here");
}

/* One line that gives this program a profile: the installed one, if it is for it. */
static char *spell_apparmor_fix(void) {
        static const char in_etc[] = "/etc/apparmor.d/";
        _cleanup_free_ char *installed = NULL, *named = NULL, *quoted = NULL;
        char own[PATH_MAX];
        ssize_t n = sys_readlinkat(AT_FDCWD, "/proc/self/exe", own, sizeof(own) - 1);

        own[n > 0 ? n : 0] = '\0';
        named = str_concat(" ", own, " ");
        if (!named)
                return NULL;
        if (read_small_file(AT_FDCWD, NSRUN_APPARMOR_PATH, 0, PATH_MAX, &installed) >= 0 &&
            strstr(installed, named))
                return startswith(NSRUN_APPARMOR_PATH, in_etc)
                               ? strdup("sudo apparmor_parser -r " NSRUN_APPARMOR_PATH)
                               : strdup("sudo cp " NSRUN_APPARMOR_PATH " /etc/apparmor.d/nsrun && sudo "
                                        "apparmor_parser -r /etc/apparmor.d/nsrun");
        quoted = str_shell_quote(own);
        return quoted ? str_concat(
                                "printf 'abi <abi/4.0>,\\n\"%s{,-*}\" flags=(unconfined) { userns, }\\n' ",
                                quoted,
                                " | sudo tee /etc/apparmor.d/nsrun-local && sudo apparmor_parser -r "
                                "/etc/apparmor.d/nsrun-local")
                      : NULL;
}

/* Whether a module confines nsrun without namespaces: it, or what started it. */
static bool is_refused_by(enum nsrun_error_id module) {
        struct nsrun_error error = {0};
        size_t i = 0;

        while (launch_trials[i].namespaces != CLONE_NEWUSER)
                i++;
        return launch_try(&launch_trials[i], &error) < 0 && error.id == module;
}

/* A confined nsrun may be refused what its profile doesn't say, one without a profile what namespaces are
 * for. */
static void say_apparmor(struct doctor *d) {
        char enabled[MODULE_LINE], profile[MODULE_LINE], restricts[MODULE_LINE];
        _cleanup_free_ char *fix = NULL;

        read_line_of("/sys/module/apparmor/parameters/enabled", enabled);
        read_line_of("/proc/self/attr/apparmor/current", profile);
        read_line_of("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", restricts);
        if ((*restricts == '1' && geteuid() != 0 && (!*profile || streq(profile, "unconfined"))) ||
            is_refused_by(NSRUN_ERROR_APPARMOR)) {
                fix = spell_apparmor_fix();
                d->has_failed |= !fix;
                doctor_add(d, "AppArmor", DOCTOR_DEGRADED, "no profile allows user namespaces to nsrun",
                           fix);
        } else if (*enabled == 'Y' && *profile) {
                doctor_say(d, "AppArmor", "nsrun's profile is %s", profile);
        }
}

static void say_selinux(struct doctor *d) {
        char enforce[MODULE_LINE], context[MODULE_LINE];

        read_line_of("/sys/fs/selinux/enforce", enforce);
        read_line_of("/proc/self/attr/current", context);
        if (*enforce == '1' && is_refused_by(NSRUN_ERROR_SELINUX))
                doctor_add(
                        d, "SELinux", DOCTOR_DEGRADED, "this user may make no user namespace",
                        access(NSRUN_SELINUX_PATH, R_OK) < 0
                                ? "the policy needs a module, which nsrun's packages have"
                        : strstr(context, ":user_t") || strstr(context, ":staff_t")
                                ? "sudo semodule -i " NSRUN_SELINUX_PATH
                                : "the policy needs rules for this domain as those of " NSRUN_SELINUX_PATH);
        else if (*enforce)
                doctor_say(d, "SELinux", "%s, nsrun's context is %s",
                           *enforce == '1' ? "enforcing" : "permissive", *context ? context : "not told");
}

/* "none [integrity] confidentiality": the one in force is in brackets.  Neither forbids what nsrun does. */
static void say_lockdown(struct doctor *d) {
        char text[MODULE_LINE];
        const char *at;

        read_line_of("/sys/kernel/security/lockdown", text);
        at = strchr(text, '[');
        if (at && strchr(at, ']'))
                doctor_say(d, "lockdown", "%.*s", (int)strcspn(at + 1, "]"), at + 1);
}

/* As they say it themselves: for whoever looks for the one that refuses. */
void doctor_look_at_modules(struct doctor *d) {
        say_list(d);
        say_apparmor(d);
        say_selinux(d);
        say_lockdown(d);
}

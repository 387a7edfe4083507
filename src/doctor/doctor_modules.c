/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernel's security modules, as they say it themselves: for whoever looks for the one that refuses. */
#include <fcntl.h>

#include "base/file.h"
#include "base/sys.h"
#include "doctor.h"

/* A small file's first line; the caller frees it, NULL where it can't be read. */
static char *read_line_of(const char *path) {
        char *text = NULL;

        if (read_small_file(AT_FDCWD, path, 0, 4096, &text) < 0)
                return NULL;
        text[strcspn(text, "\n")] = '\0';
        return text;
}

static void say_list(struct doctor *d) {
        _cleanup_free_ char *list = read_line_of("/sys/kernel/security/lsm");

        if (list && *list)
                doctor_say(d, "security modules", "%s", list);
        else
                doctor_say(d, "security modules", "not told: /sys/kernel/security isn't mounted here");
}

/* A confined nsrun may be refused what its profile doesn't say. */
static void say_apparmor(struct doctor *d) {
        _cleanup_free_ char *enabled = read_line_of("/sys/module/apparmor/parameters/enabled"),
                            *profile = read_line_of("/proc/self/attr/apparmor/current");

        if (enabled && *enabled == 'Y' && profile)
                doctor_say(d, "AppArmor", "nsrun's profile is %s", profile);
}

static void say_selinux(struct doctor *d) {
        _cleanup_free_ char *enforce = read_line_of("/sys/fs/selinux/enforce"),
                            *context = read_line_of("/proc/self/attr/current");

        if (enforce)
                doctor_say(d, "SELinux", "%s, nsrun's context is %s",
                           *enforce == '1' ? "enforcing" : "permissive",
                           context && *context ? context : "not told");
}

/* "none [integrity] confidentiality": the one in force is in brackets.  Neither forbids what nsrun does. */
static void say_lockdown(struct doctor *d) {
        _cleanup_free_ char *text = read_line_of("/sys/kernel/security/lockdown");
        const char *at = text ? strchr(text, '[') : NULL;

        if (at && strchr(at, ']'))
                doctor_say(d, "lockdown", "%.*s", (int)strcspn(at + 1, "]"), at + 1);
}

void doctor_look_at_modules(struct doctor *d) {
        say_list(d);
        say_apparmor(d);
        say_selinux(d);
        say_lockdown(d);
}

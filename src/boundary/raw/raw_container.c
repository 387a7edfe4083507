/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a container's configuration asks of a raw plan and bubblewrap's command line doesn't: file systems of
 * any type, masked paths, sysctls, a terminal of the command's own, and the way into namespaces that are
 * there already. */
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include "base/beneath.h"
#include "beneath_root.h"
#include "boundary/decimal.h"
#include "raw.h"

/* A bind is as its source is until this. */
int raw_propagate(struct raw *w, const struct plan_op *op) {
        _cleanup_close_ int here = late_open(w->mount.new_root, op->target, O_PATH, 0);
        char number[24];
        int r = here < 0 ? here
                         : sys_mount(NULL, number_format(number, (uint64_t)here), NULL, op->propagation,
                                     NULL);

        return r < 0 ? raw_mount_fail(w, r, op->target, "its propagation can't be set") : 0;
}

int raw_mask(struct raw *w, const struct plan_op *op) {
        _cleanup_close_ int here = late_open(w->mount.new_root, op->target, O_PATH, 0), null = -EBADF;
        struct stat st;
        int r;

        if (here == -ENOENT || here == -ENOTDIR)
                return 0;
        r = here < 0 ? here : sys_fstat(here, &st);
        if (r < 0)
                return raw_mount_fail(w, r, op->target, "it can't be masked");
        w->covers_root = true;
        if (S_ISDIR(st.st_mode)) {
                r = mount_filesystem(AT(here), "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
                                     "mode=0555,size=4k");
                return r < 0 ? raw_mount_fail(w, r, op->target, "it can't be masked") : 0;
        }
        null = beneath_open(w->mount.old_root, "dev/null", O_PATH, 0);
        if (null < 0)
                return raw_mount_fail(w, null, "/dev/null", "it can't be bound");
        return mount_attach(&w->mount, op, null, AT(here),
                            MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, false);
}

/* The host's /proc shows the network's and the IPC's values of whoever opens a file in it. */
int raw_sysctl(struct raw *w, const struct plan_op *op) {
        _cleanup_close_ int sysctls = beneath_open(w->mount.old_root, "proc/sys", O_PATH | O_DIRECTORY, 0);
        _cleanup_close_ int fd = sysctls < 0 ? sysctls : beneath_open(sysctls, op->target, O_WRONLY, 0);
        ssize_t n = fd < 0 ? fd : sys_write(fd, op->text, strlen(op->text));

        return n < 0 ? raw_mount_fail(w, (int)n, op->target, "the sysctl can't be set") : 0;
}

/* ---------------------------------------------------------------- the terminal */

/* Shows the terminal as /dev/console, too. */
static int bind_console(struct raw *w) {
        static const struct plan_op op = {.kind = PLAN_BIND, .target = (char *)"/dev/console"};
        bool is_new;
        _cleanup_close_ int target =
                late_mount_point(w->mount.new_root, w->base_root, op.target, false, 0600, 0755, &is_new);

        if (target < 0)
                return raw_mount_fail(w, target, op.target, "the terminal can't be bound");
        return mount_attach(&w->mount, &op, w->console, AT(target), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,
                            false);
}

int raw_open_console(struct raw *w) {
        static const char path[] = "/dev/pts/ptmx";
        const struct boundary_raw *asked = w->asked;
        struct winsize size = {.ws_row = asked->console_rows, .ws_col = asked->console_columns};
        _cleanup_close_ int master = -EBADF;
        int unlocked = 0, r;

        if (asked->console_socket < 0)
                return 0;
        r = master = late_open(w->mount.new_root, path, O_RDWR | O_NOCTTY, 0);
        if (r >= 0)
                r = sys_ioctl(master, TIOCSPTLCK, &unlocked);
        /* By number and not by name: the sandbox's /dev/pts is none of this process's. */
        if (r >= 0)
                r = w->console =
                        sys_ioctl(master, TIOCGPTPEER, (void *)(intptr_t)(O_RDWR | O_NOCTTY | O_CLOEXEC));
        if (r >= 0)
                r = sys_fchown(w->console, asked->uid, (gid_t)-1);
        if (r >= 0 && (size.ws_row > 0 || size.ws_col > 0))
                r = sys_ioctl(master, TIOCSWINSZ, &size);
        if (r < 0)
                return raw_mount_fail(w, r, path, "no terminal can be had");
        r = sys_send_fds(asked->console_socket, path, sizeof(path), &master, 1);
        if (r < 0)
                return raw_mount_fail(w, r, NULL, "the terminal can't be sent to the console socket");
        (void)sys_close(asked->console_socket);
        return w->asked->join_pidfd < 0 ? bind_console(w) : 0;
}

/* After setsid(2). */
int raw_take_console(struct raw *w) {
        int r;

        if (w->console < 0)
                return 0;
        r = sys_ioctl(w->console, TIOCSCTTY, NULL);
        for (int fd = 0; fd <= 2 && r >= 0; fd++)
                r = sys_dup_to(w->console, fd);
        close_fdp(&w->console);
        return r < 0 ? raw_mount_fail(w, r, NULL, "the terminal can't be taken") : 0;
}

/* -------------------------------------------------- into namespaces that exist */

/* A user namespace's creator is nobody in it until this. */
int raw_become_root(struct raw *w) {
        bool has_groups = w->asked->becomes_root && w->asked->has_root_outside;
        int r = has_groups ? sys_set_groups(NULL, 0) : 0;

        if (r >= 0 && w->asked->becomes_root)
                r = sys_set_gid(0);
        if (r >= 0 && w->asked->becomes_root)
                r = sys_set_uid(0);
        return r < 0 ? error_set(w->mount.error, NSRUN_STAGE_IDMAP, r, NULL,
                                 "the user namespace has no root", NULL)
                     : 0;
}

/* The pid namespace is entered by the clone itself. */
int raw_enter_namespaces(struct raw *w) {
        uint64_t kinds = w->asked->join_namespaces & ~(uint64_t)CLONE_NEWPID;
        int r = kinds ? sys_setns(w->asked->join_pidfd, kinds) : 0;

        if (r >= 0)
                r = sys_chdir("/");
        if (r >= 0)
                r = w->mount.new_root = sys_open(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0);
        return r < 0 ? error_set(w->mount.error, NSRUN_STAGE_NAMESPACE, r, NULL,
                                 "the container's namespaces can't be entered", NULL)
                     : 0;
}

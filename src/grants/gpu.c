/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --gpu: nodes that render and compute, what libdrm reads of sysfs about them, and drivers that lie outside
 * of /usr.  Never the nodes that set modes (/dev/dri/card*, nvidia-modeset): whoever has one draws on the
 * screen, and may see what others drew. */
#include <limits.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/file.h"
#include "base/path.h"
#include "grants.h"

#define MOST_OF_SYSFS 4096 /* bytes of one of its files: a page at most */

struct nodes {
        const struct granting *g;
        const char *folder;
        char **found;   /* those that the user can open */
        bool has_other; /* there are others */
};

static bool has_digits(const char *text) {
        return *text && strspn(text, "0123456789") == strlen(text);
}

static bool is_render_node(const char *folder, const char *name) {
        /* The last two are ROCm's, and that of a virtual machine of WSL. */
        static const char *const others[] = {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "kfd", "dxg"};
        const char *rest;

        if (streq(folder, "/dev/dri")) {
                rest = startswith(name, "renderD");
                return rest && has_digits(rest);
        }
        if (streq(folder, "/dev/nvidia-caps"))
                return startswith(name, "nvidia-cap") != NULL;
        rest = startswith(name, "nvidia");
        return (rest && has_digits(rest)) || STR_IS_ANY(name, others);
}

static int gpu_look(void *data, nsrun_unused int folder, const struct dirent *entry) {
        struct nodes *n = data;
        _cleanup_free_ char *path = NULL;
        struct stat st;

        if (!is_render_node(n->folder, entry->d_name))
                return 0;
        path = path_join(n->folder, entry->d_name);
        if (!path)
                return -ENOMEM;
        if (lstat(path, &st) < 0 || !S_ISCHR(st.st_mode))
                return 0;
        if (grant_can_open(path))
                return strv_add(&n->found, path);
        n->has_other = true;
        return 0;
}

static int find_nodes(struct nodes *n) {
        static const char *const folders[] = {"/dev/dri", "/dev", "/dev/nvidia-caps"};

        for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
                _cleanup_close_ int fd = open(folders[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

                n->folder = folders[i];
                if (fd >= 0 && folder_read(fd, gpu_look, n) == -ENOMEM)
                        return error_oom(n->g->err);
        }
        strv_sort(n->found, strv_length(n->found));
        return 0;
}

/* Shows a copy of a file of sysfs, at its own path; nothing where there is none. */
static int copy_sysfs(const struct granting *g, const char *folder, const char *name) {
        _cleanup_free_ char *path = path_join(folder, name), *text = NULL;
        int r = path ? read_small_file(AT_FDCWD, path, O_NOFOLLOW, MOST_OF_SYSFS, &text) : -ENOMEM;

        if (r == -ENOMEM)
                return error_oom(g->err);
        return r < 0 ? 0 : grant_show(g, SHOWN_TEXT, NULL, path, text);
}

/* The same of a symlink, which says the same inside. */
static int copy_link(const struct granting *g, const char *folder, const char *name) {
        _cleanup_free_ char *path = path_join(folder, name);
        char text[PATH_MAX];
        ssize_t n;

        if (!path)
                return error_oom(g->err);
        n = readlink(path, text, sizeof(text) - 1);
        if (n <= 0)
                return 0;
        text[n] = '\0';
        return grant_show(g, SHOWN_LINK, NULL, path, text);
}

/* What libdrm asks of a render node (xf86drm.c): which device it is of, on which bus, by which ids.  Copies,
 * since the device's own folder in sysfs has its monitors and its registers, too. */
static int show_sysfs(const struct granting *g, const char *node) {
        static const char *const of_device[] = {"uevent",           "vendor",   "device", "subsystem_vendor",
                                                "subsystem_device", "revision", "class"};
        static const char *const of_node[] = {"uevent", "dev"};
        _cleanup_free_ char *place = NULL, *parent = NULL, *device = NULL;
        char number[64];
        struct stat st;
        int r;

        if (stat(node, &st) < 0)
                return 0;
        (void)snprintf(number, sizeof(number), "%u:%u", major(st.st_rdev), minor(st.st_rdev));
        r = copy_link(g, "/sys/dev/char", number);
        if (r < 0)
                return r;
        (void)snprintf(number, sizeof(number), "/sys/dev/char/%u:%u", major(st.st_rdev), minor(st.st_rdev));
        r = path_canonical(number, &place, NULL);
        if (r == -ENOMEM)
                return error_oom(g->err);
        if (r < 0 || !path_is_beneath(place, "/sys/devices"))
                return 0;
        parent = path_join(place, "device");
        if (!parent || path_canonical(parent, &device, NULL) == -ENOMEM)
                return error_oom(g->err);
        for (size_t i = 0; i < ARRAY_SIZE(of_node) && r >= 0; i++)
                r = copy_sysfs(g, place, of_node[i]);
        if (r >= 0)
                r = copy_link(g, place, "device");
        if (r >= 0)
                r = copy_link(g, place, "subsystem");
        if (!device || !path_is_beneath(device, "/sys/devices"))
                return r;
        for (size_t i = 0; i < ARRAY_SIZE(of_device) && r >= 0; i++)
                r = copy_sysfs(g, device, of_device[i]);
        return r < 0 ? r : copy_link(g, device, "subsystem");
}

/* Drivers outside of /usr, and what says which there are. */
static int show_drivers(const struct granting *g) {
        static const char *const folders[] = {
                "/run/opengl-driver",       "/run/opengl-driver-32", /* NixOS */
                "/etc/OpenCL/vendors",      "/etc/vulkan",           "/etc/glvnd", "/etc/drirc",
                "/sys/devices/virtual/kfd", /* ROCm's list of its devices */
        };
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(folders) && r >= 0; i++)
                if (access(folders[i], F_OK) == 0)
                        r = grant_show(g, SHOWN_PRESENT, NULL, folders[i], NULL);
        if (r >= 0 && access("/sys/class/kfd/kfd", F_OK) == 0)
                r = copy_link(g, "/sys/class/kfd", "kfd");
        return r;
}

static int gpu_say(const struct granting *g, char *const *found) {
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_free_ char *names = NULL;

        STRV_FOREACH (path, found)
                strbuf_addf(&b, "%s%s", path == found ? "" : ", ", *path);
        names = strbuf_finish(&b);
        if (!names)
                return error_oom(g->err);
        return grant_say(
                g,
                "computing and drawing on the GPU, but not on the screen (%s), and the driver's code "
                "in the kernel; its memory may hold what other programs left there",
                names);
}

int grant_gpu(const struct granting *g) {
        struct nodes n = {.g = g};
        int r = find_nodes(&n);

        if (r >= 0 && !n.found)
                r = n.has_other
                            ? grant_refuse(
                                      g, NULL, "this user may not open the host's render nodes",
                                      "add the user to their group (ls -l /dev/dri names it), and log in "
                                      "again")
                            : grant_refuse(
                                      g, NULL,
                                      "the host has no render node (/dev/dri/renderD*, /dev/nvidia*, "
                                      "/dev/kfd)",
                                      "its driver may not be loaded; in a container: pass it the devices");
        STRV_FOREACH (path, n.found) {
                if (r >= 0)
                        r = grant_show(g, SHOWN_DEVICE, *path, *path, NULL);
                if (r >= 0 && startswith(*path, "/dev/dri/"))
                        r = show_sysfs(g, *path);
        }
        if (r >= 0)
                r = show_drivers(g);
        if (r >= 0)
                r = gpu_say(g, n.found);
        strv_free(n.found);
        return r;
}

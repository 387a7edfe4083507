/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The mistakes that can be made with nsrun-bwrap's own options, which no bubblewrap has. */
#include "bwrap.h"

#define FD_OPTION(name)                                                 \
        {{name, "x"}, "Invalid fd: x"}, {{name, ""}, "Invalid fd: "}, { \
                {name, "-1"}, "Invalid fd: -1"                          \
        }
#define NO_OVERLAY_OPTION(text)                                                                 \
        {                                                                                       \
                {"--overlay-opt", text},                                                        \
                        "--overlay-opt does not take '" text "', only volatile, index=on|off, " \
                        "redirect_dir=nofollow, metacopy=off and xino=on|off|auto",             \
        }
#define NOT_BESIDE(text)                                                                   \
        {                                                                                  \
                {"--overlay-opt", text},                                                   \
                        "--overlay-opt " text                                              \
                        " is not possible beside userxattr, which every overlay has here", \
        }
#define UNUSED_OVERLAY_OPTION \
        "--overlay-opt must be followed by --overlay-src or one of --overlay, --tmp-overlay, or --ro-overlay"
#define LEFT_OVER \
        "--overlay-src must be followed by another --overlay-src or one of --overlay, --tmp-overlay, or --ro-overlay"

static const struct {
        const char *words[MOST_WORDS];
        const char *message;
} mistakes[] = {
        FD_OPTION("--netns"),
        FD_OPTION("--report"),
        {{"--report", "7"}, "--report requires --seccomp-policy"},
        {{"--report", "7", "--seccomp", "8", "true"}, "--report requires --seccomp-policy"},
        {{"--unshare-pid", "--as-pid-1", "--seccomp-policy", "default", "--report", "7", "true"},
         "Specifying --as-pid-1 and --report is not permitted"},
        {{"--netns", "7", "--unshare-net"}, "--netns not compatible --unshare-net"},
        {{"--unshare-all", "--netns", "7", "true"}, "--netns not compatible --unshare-net"},

        {{"--bind-create", "", "/x"}, "--bind-create does not take an empty path argument"},
        {{"--bind-create", "/x", ""}, "--bind-create does not take an empty path argument"},
        {{"--ro-bind-create", "", "/x"}, "--ro-bind-create does not take an empty path argument"},
        {{"--dev-bind-create", "/", ""}, "--dev-bind-create does not take an empty path argument"},
        {{"--perms", "700", "--bind-create", "/", "/"},
         "--perms must be followed by an option that creates a file"},

        {{"--protect", ""}, "--protect does not take an empty path argument"},
        {{"--hide", ""}, "--hide does not take an empty path argument"},

        NO_OVERLAY_OPTION(""),
        NO_OVERLAY_OPTION("volatil"),
        NO_OVERLAY_OPTION("volatile="),
        NO_OVERLAY_OPTION("volatile=on"),
        NO_OVERLAY_OPTION("index"),
        NO_OVERLAY_OPTION("index="),
        NO_OVERLAY_OPTION("index=o"),
        NO_OVERLAY_OPTION("index=auto"),
        NO_OVERLAY_OPTION("xino=maybe"),
        NO_OVERLAY_OPTION("redirect_dir="),
        NO_OVERLAY_OPTION("userxattr"),
        NO_OVERLAY_OPTION("lowerdir=/etc"),
        NO_OVERLAY_OPTION("upperdir=/etc"),
        NO_OVERLAY_OPTION("workdir=/etc"),
        NO_OVERLAY_OPTION("lowerdir+=/etc"),
        NO_OVERLAY_OPTION("datadir+=/etc"),
        NO_OVERLAY_OPTION("override_creds"),
        NO_OVERLAY_OPTION("nooverride_creds"),
        NO_OVERLAY_OPTION("nfs_export=on"),
        NO_OVERLAY_OPTION("verity=on"),
        NO_OVERLAY_OPTION("uuid=on"),
        NO_OVERLAY_OPTION("suid"),
        NOT_BESIDE("redirect_dir=on"),
        NOT_BESIDE("redirect_dir=off"),
        NOT_BESIDE("redirect_dir=follow"),
        NOT_BESIDE("metacopy=on"),
        {{"--overlay-opt", "index=off,upperdir=/etc"},
         "--overlay-opt does not take 'upperdir=/etc', only volatile, index=on|off, redirect_dir=nofollow, "
         "metacopy=off and xino=on|off|auto"},
        {{"--overlay-opt", "index=off,"},
         "--overlay-opt does not take '', only volatile, index=on|off, redirect_dir=nofollow, metacopy=off and "
         "xino=on|off|auto"},
        {{"--overlay-opt", "index=off,index=on"}, "--overlay-opt index given twice for the same overlay"},
        {{"--overlay-opt", "volatile", "--overlay-src", "/a", "--overlay-opt", "volatile"},
         "--overlay-opt volatile given twice for the same overlay"},
        {{"--overlay-opt", "volatile"}, UNUSED_OVERLAY_OPTION},
        {{"--overlay-opt", "volatile", "--bind", "/", "/"}, UNUSED_OVERLAY_OPTION},
        {{"--overlay-opt", "volatile", "--", "true"}, UNUSED_OVERLAY_OPTION},
        {{"--overlay-src", "/a", "--overlay-opt", "volatile", "--bind", "/", "/"}, LEFT_OVER},
        {{"--overlay-opt", "volatile", "--overlay", "/u", "/w", "/d"},
         "--overlay requires at least one --overlay-src"},
        {{"--overlay-src", "/a", "--overlay-src", "/b", "--overlay-opt", "xino=off,volatile", "--ro-overlay",
          "/d"},
         "--overlay-opt volatile is for --overlay and --tmp-overlay"},
};

TEST(each_mistake_is_named) {
        for (size_t i = 0; i < ARRAY_SIZE(mistakes); i++)
                refused(parse_as(0, mistakes[i].words), -EINVAL, mistakes[i].message);
}

int main(void) {
        return run_all_tests();
}

# SPDX-License-Identifier: LGPL-2.1-or-later
"""bubblewrap's command lines as its callers give them, captured from the programs of tests/callers and from
sandbox-runtime 0.0.78.  What came through descriptors is bound from a file, and options that only have a
descriptor (--seccomp, --info-fd, --sync-fd) are left out, since hyperfine hands none over; the command is true."""

import os
import shlex

LINES = {
    "sandbox-runtime": """--new-session --die-with-parent --unshare-net --bind @/socket @/socket --setenv SANDBOX_RUNTIME 1
        --setenv TMPDIR /tmp/claude --setenv NO_PROXY localhost,127.0.0.1,::1 --setenv no_proxy localhost,127.0.0.1,::1
        --setenv HTTP_PROXY http://localhost:3128 --setenv HTTPS_PROXY http://localhost:3128
        --setenv http_proxy http://localhost:3128 --setenv https_proxy http://localhost:3128
        --setenv ALL_PROXY http://localhost:3128 --setenv all_proxy http://localhost:3128
        --setenv FTP_PROXY socks5h://localhost:1080 --setenv RSYNC_PROXY localhost:1080 --ro-bind / / --bind @/folder @/folder
        --dev /dev --unshare-pid --unshare-user --cap-drop ALL --proc /proc --""",
    "opam": """--unshare-net --new-session --die-with-parent --proc /proc --dev /dev --setenv TMPDIR /opam-tmp --setenv TMP /opam-tmp
        --setenv TEMPDIR /opam-tmp --setenv TEMP /opam-tmp --tmpfs /opam-tmp --tmpfs /run --ro-bind /usr /usr
        --symlink /usr/bin /bin --symlink /usr/lib /lib --symlink /usr/lib64 /lib64 --ro-bind /etc /etc --ro-bind /opt /opt
        --ro-bind /home /home --ro-bind /var /var --ro-bind /tmp /tmp --bind @/folder @/folder""",
    "thumbnailer": """--ro-bind /usr /usr --ro-bind-try /etc/ld.so.cache /etc/ld.so.cache --symlink /usr//bin /bin
        --symlink /usr//lib64 /lib64 --symlink /usr//lib /lib --symlink /usr//sbin /sbin
        --ro-bind-try /var/cache/fontconfig /var/cache/fontconfig --setenv GST_REGISTRY_1_0 @/folder/gstreamer-1.0.registry
        --bind @/folder @/folder --ro-bind-try /etc/alternatives /etc/alternatives --proc /proc --dev /dev --chdir /
        --setenv GIO_USE_VFS local --unshare-all --die-with-parent --bind @/other /tmp
        --ro-bind @/file /tmp/gnome-desktop-file-to-thumbnail.png""",
    "WebKitGTK": """--unshare-uts --ro-bind /etc /etc --dev /dev --proc /proc --tmpfs /tmp --unsetenv TMPDIR --dir /srv/run
        --setenv XDG_RUNTIME_DIR /srv/run --symlink ../run /var/run --symlink ../tmp /var/tmp --ro-bind /sys/block /sys/block
        --ro-bind /sys/bus /sys/bus --ro-bind /sys/class /sys/class --ro-bind /sys/dev /sys/dev
        --ro-bind /sys/devices /sys/devices --ro-bind-try /usr/share /usr/share
        --ro-bind-try /usr/local/share /usr/local/share --ro-bind-try /usr/share /usr/share --ro-bind-try /lib /lib
        --ro-bind-try /usr/lib /usr/lib --ro-bind-try /usr/local/lib /usr/local/lib
        --ro-bind-try /usr/lib/x86_64-linux-gnu /usr/lib/x86_64-linux-gnu --ro-bind-try /lib64 /lib64
        --ro-bind-try /usr/lib64 /usr/lib64 --ro-bind-try /usr/local/lib64 /usr/local/lib64 --unshare-pid
        --ro-bind /usr/bin/true /usr/bin/true --bind @/folder /srv/run/webkitgtk --bind @/other /srv/run/at-spi
        --ro-bind @/file /.flatpak-info --ro-bind-try /run/systemd/journal/socket /run/systemd/journal/socket
        --ro-bind-try /run/systemd/journal/stdout /run/systemd/journal/stdout --unshare-ipc --""",
    "flatpak run": """--ro-bind /usr /usr --proc /proc --unshare-pid --dir /tmp --dir /var/tmp --dir /run/host --perms 0700
        --dir /run/user/1000 --setenv XDG_RUNTIME_DIR /run/user/1000 --symlink ../run /var/run --ro-bind /sys/block /sys/block
        --ro-bind /sys/bus /sys/bus --ro-bind /sys/class /sys/class --ro-bind /sys/dev /sys/dev
        --ro-bind /sys/devices /sys/devices --ro-bind-try /proc/self/ns/user /run/.userns
        --symlink /etc/timezone /var/db/zoneinfo --ro-bind @/file /etc/passwd --ro-bind @/file /etc/group
        --ro-bind @/file /etc/pkcs11/pkcs11.conf --ro-bind-try /etc/machine-id /etc/machine-id --bind @/folder /var/cache
        --bind @/folder /var/data --bind @/folder /var/config --bind @/other /var/tmp --symlink usr/bin /bin
        --symlink usr/lib /lib --symlink usr/lib64 /lib64 --ro-bind @/file /etc/timezone --ro-bind @/other /run/host/monitor
        --symlink /run/host/monitor/resolv.conf /etc/resolv.conf --symlink /run/host/monitor/host.conf /etc/host.conf
        --symlink /run/host/monitor/hosts /etc/hosts --symlink /run/host/monitor/gai.conf /etc/gai.conf
        --ro-bind @/other /run/flatpak/.flatpak/1 --ro-bind @/file /.flatpak-info --setenv container flatpak
        --ro-bind @/file /run/host/container-manager --bind @/other /run/user/1000 --unshare-ipc --dev /dev --bind @/other /tmp
        --bind @/other /run/flatpak/app/org.example.App --dir /srv/flatpak --dir /srv/home --dir /srv/home/.var/app
        --bind @/folder /srv/home/.var/app/org.example.App --bind @/other /srv/shared
        --ro-bind /etc/os-release /run/host/os-release --tmpfs /tmp/.X11-unix --ro-bind @/file /run/flatpak/bus
        --ro-bind @/file /run/flatpak/at-spi-bus --ro-bind @/file /run/flatpak/per-app-dirs-ref
        --lock-file /run/flatpak/per-app-dirs-ref --ro-bind-try /usr/share/fonts /run/host/fonts --tmpfs /run/host/user-fonts-cache
        --remount-ro /run/host/user-fonts-cache --ro-bind @/file /run/host/font-dirs.xml
        --ro-bind-try /usr/share/icons /run/host/share/icons --symlink /app/lib/debug/source /run/build
        --symlink /usr/lib/debug/source /run/build-runtime --setenv FLATPAK_ID org.example.App --setenv HOME /srv/home
        --setenv LANG C.UTF-8 --setenv PATH /app/bin:/usr/bin --setenv SHELL /bin/sh --setenv XDG_DATA_DIRS /app/share:/usr/share --""",
}


def lines(folder, command):
    """{caller: words behind the program}; "@" is a folder that this fills."""
    top = os.path.join(folder, "callers")
    for name in ("folder", "other"):
        os.makedirs(os.path.join(top, name), exist_ok=True)
    for name in ("file", "socket"):
        with open(os.path.join(top, name), "w") as f:
            f.write("text\n")
    return {name: [*shlex.split(line.replace("@", top)), *command] for name, line in LINES.items()}

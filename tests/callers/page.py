# SPDX-License-Identifier: LGPL-2.1-or-later
"""Loads a page of the folder in argv[1] with WebKitGTK's sandbox on, and tells what came out of it, and how the
process that drew it is confined."""
import hashlib
import os
import sys

import gi

gi.require_version("Gtk", "3.0")
gi.require_version("WebKit2", "4.1")
from gi.repository import GLib, Gtk, WebKit2  # noqa: E402

OF_STATUS = ("NoNewPrivs", "Seccomp", "CapPrm", "CapEff", "CapBnd", "CapAmb", "Groups")
OWN_FILES = ("tmpfs", "devtmpfs")


def processes():
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
                text = f.read()
        except OSError:
            continue
        end = text.rindex(")")
        found[int(pid)] = text[text.index("(") + 1:end], int(text[end + 2:].split()[1])
    return found


def tell_mounts(name, pid):
    lines = []
    with open(f"/proc/{pid}/mountinfo", encoding="utf-8") as f:
        for line in f:
            fields, kind = (part.split() for part in line.split(" - "))
            lines.append(f"{name} mount {fields[4]} {fields[5]} {kind[0]} {'-' if kind[0] in OWN_FILES else fields[3]}")
    print("\n".join(sorted(lines)))


def tell_process(name, pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        for line in f:
            if line.split(":")[0] in OF_STATUS:
                print(name, line.strip())
            if line.startswith("NSpid:"):
                print(name, "is pid", line.split()[-1], "of", len(line.split()) - 1, "namespaces")
    for ns in ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts"):
        is_own = os.readlink(f"/proc/{pid}/ns/{ns}") != os.readlink("/proc/self/ns/" + ns)
        print(name, ns, "is its own" if is_own else "is the callers")
    tell_mounts(name, pid)
    print(name, "root", sorted(os.listdir(f"/proc/{pid}/root")))
    print(name, "home", sorted(os.listdir(f"/proc/{pid}/root/srv")))


def tell_all():
    found = processes()
    lines = [f"process {name} of {found.get(parent, ('-',))[0]}" for name, parent in found.values()]
    print("\n".join(sorted(lines)))
    for pid, (name, _) in found.items():
        if name.startswith("WebKitWeb"):
            tell_process(name, pid)


def end(*_):
    Gtk.main_quit()


def drawn(view, result):
    picture = view.get_snapshot_finish(result)
    print("picture", picture.get_width(), picture.get_height(), hashlib.md5(bytes(picture.get_data())).hexdigest())
    tell_all()
    end()


def titled(view, _):
    print("title", view.get_title())
    if view.get_title().startswith("done"):
        view.get_snapshot(WebKit2.SnapshotRegion.VISIBLE, WebKit2.SnapshotOptions.NONE, None, drawn)


def terminated(_, reason):
    print("the page's process ended:", reason)
    end()


def main():
    folder = sys.argv[1]
    context = WebKit2.WebContext.get_default()
    context.set_sandbox_enabled(True)
    context.add_path_to_sandbox(folder, True)
    view = WebKit2.WebView.new_with_context(context)
    window = Gtk.OffscreenWindow()
    window.set_default_size(300, 200)
    window.add(view)
    window.show_all()
    view.connect("notify::title", titled)
    view.connect("web-process-terminated", terminated)
    GLib.timeout_add_seconds(60, end)
    view.load_uri(f"file://{folder}/page.html")
    Gtk.main()


main()

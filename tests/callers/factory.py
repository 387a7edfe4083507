# SPDX-License-Identifier: LGPL-2.1-or-later
"""Thumbnails of the files in argv[1:], each with its type, "FILE=TYPE", as GNOME's file manager makes them."""
import hashlib
import sys

import gi

gi.require_version("GnomeDesktop", "3.0")
from gi.repository import GLib, GnomeDesktop  # noqa: E402

factory = GnomeDesktop.DesktopThumbnailFactory.new(GnomeDesktop.DesktopThumbnailSize.NORMAL)
for word in sys.argv[1:]:
    path, kind = word.split("=")
    uri = GLib.filename_to_uri(path)
    print("can", path, factory.can_thumbnail(uri, kind, 0))
    try:
        picture = factory.generate_thumbnail(uri, kind)
    except GLib.Error as e:
        picture = None
        print("failed", path, e.message)
    if picture:
        print("picture", path, picture.get_width(), picture.get_height(), hashlib.md5(picture.get_pixels()).hexdigest())
        print(picture.get_option("tEXt::facts") or "")

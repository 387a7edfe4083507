#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A feature of a development container, run as root when its image is built.  Who publishes it puts the program of
# scripts/static beside this file.
set -eu
cp "$(dirname "$0")/nsrun" /usr/local/bin/nsrun
chmod 0755 /usr/local/bin/nsrun
for name in nsrun-bwrap nsrun-oci nsrun-sh; do ln -sf nsrun "/usr/local/bin/$name"; done
nsrun --version

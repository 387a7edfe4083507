# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
# Packages of another of Debian's releases, or for another machine: unpacked, and not installed.

# unpack_packages RELEASE ARCHITECTURE FOLDER PACKAGE…: into FOLDER, an absolute path, whole or not at all; what was
# said is in FOLDER.log.
unpack_packages() {
  release=$1 architecture=$2 to=$3
  shift 3
  rm -rf "$to.apt" "$to.new"
  mkdir -p "$to.apt/lists/partial" "$to.apt/archives/partial" "$to.new"
  cat >"$to.apt/debian.sources" <<EOF
Types: deb
URIs: http://deb.debian.org/debian
Suites: $release
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
EOF
  (
    cd "$to.apt" || exit
    # What is installed here, and may be newer, counts for nothing.
    for words in update "download $*"; do
      # shellcheck disable=SC2086 # words
      apt-get -q -o APT::Architecture="$architecture" -o APT::Architectures::="$architecture" -o Dir::State::status=/dev/null \
        -o "Dir::Etc::SourceList=$to.apt/debian.sources" -o Dir::Etc::SourceParts=- -o "Dir::State::Lists=$to.apt/lists" \
        -o "Dir::Cache=$to.apt" -o APT::Sandbox::User= $words || exit
    done
    for package in ./*.deb; do dpkg-deb -x "$package" "$to.new" || exit; done
    chmod -R a+rX "$to.new"
  ) >"$to.log" 2>&1 || return
  mv "$to.new" "$to" && rm -rf "$to.apt"
}

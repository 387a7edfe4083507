# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
# Roots of Debian's releases for scripts that build or test in them, as root; those have say(), and are in the top
# level of the tree, $source_dir.
#
# Roots and their packages are kept below /var/cache/nsrun-distros, or $NSRUN_DISTROS: NAME.bare, made by
# debootstrap from $NSRUN_DISTROS_MIRROR; copies of it, which each script names; NAME.debs, what apt-get
# fetched.  They are entered by pivot_root in a mount and a pid namespace, with which all that was started and
# mounted ends.
: "${source_dir:?}"
folder=${NSRUN_DISTROS:-/var/cache/nsrun-distros}
mirror=${NSRUN_DISTROS_MIRROR:-http://deb.debian.org/debian}
# Whether what runs in a root has this terminal, and isn't to end with this script.
is_shell=no

child='' unfinished=''
# unshare's child goes with it, and is the first of the pid namespace.
trap '[ -z "$child" ] || kill -KILL "$child" 2>/dev/null; [ -z "$unfinished" ] || rm -rf --one-file-system "$unfinished"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# in_background COMMAND…: a signal then ends this script at once, and its trap the command.
in_background() {
  "$@" </dev/null 9>&- &
  child=$!
  ended=0
  wait "$child" || ended=$?
  child=''
  return "$ended"
}

# lock ROOT: two runs in one root would find each other's files.  Another one's lock is given up.
lock() {
  exec 9>"$1.lock"
  flock -n 9 || {
    say "waiting for another run in $1"
    flock 9
  }
}

# copy FROM TO: whole or not at all.
copy() {
  rm -rf --one-file-system "$2.new"
  unfinished=$2.new
  cp -a --reflink=auto "$1" "$2.new" && mv "$2.new" "$2" || return
  unfinished=''
}

make_folder() {
  mkdir -p "$folder"
  # Programs of the roots lie below.
  chmod 0755 "$folder"
}

# NAME.bare, if there is none.
make_bare() {
  mkdir -p "$folder/$1.debs/partial"
  lock "$folder/$1.bare"
  [ ! -d "$folder/$1.bare" ] || return 0
  sh scripts/setup distros || return
  say "debootstrap makes $folder/$1.bare"
  rm -rf --one-file-system "$folder/$1.making"
  unfinished=$folder/$1.making
  in_background unshare --mount --propagation private debootstrap --variant=minbase --cache-dir="$folder/$1.debs" "$1" "$folder/$1.making" "$mirror" \
    >"$folder/$1.bare.log" 2>&1 || {
    tail -n 5 "$folder/$1.bare.log" >&2
    return 1
  }
  rm -f "$folder/$1.making/var/cache/apt/archives/"*.deb
  # What this machine's apt is told of the way to the mirror.
  apt-config dump 2>/dev/null | grep -E '^Acquire::(Check-|https?::)' >"$folder/$1.making/etc/apt/apt.conf.d/90host" || true
  mv "$folder/$1.making" "$folder/$1.bare"
  unfinished=''
}

# enter ROOT NAME COMMAND…
enter() {
  root=$1 name=$2
  shift 2
  set -- unshare --mount --pid --ipc --fork --kill-child --propagation private \
    sh "$source_dir/scripts/check-distros-inside" enter "$root" "$folder/$name.debs" "$@"
  # A shell wants the terminal.
  if [ "$is_shell" = yes ]; then "$@"; else in_background "$@"; fi
}

# SPDX-License-Identifier: LGPL-2.1-or-later
# What the scripts of this folder share: a caller of bubblewrap's is run with nsrun-bwrap at /usr/bin/bwrap, and
# with Debian's program there, each in namespaces of its own that end with it, and what the two showed is
# compared line by line.
#
# A script has functions step_NAME, which run in there, and tests, which call `both NAME`.
# shellcheck shell=sh
# shellcheck disable=SC2016 # what other shells expand
set -eu
# The make that runs this as a test isn't the callers' own.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES TESTS || true
# shellcheck disable=SC1091 # in the folder beside
. "$(dirname "$0")/../install/count.sh"
caller=$(basename "$0")
folder=$(cd "$(dirname "$0")" && pwd)
self=$folder/$caller

# --------------------------------------------------------- in the namespaces

# show WHAT COMMAND…: what it prints, and how it ends.
show() {
  echo "== $1"
  shift
  status=0
  "$@" 2>&1 </dev/null || status=$?
  echo "status $status"
}

# look WHAT COMMAND…: the same for a command that ends in tests/sandbox/inside, without what that has of numbers
# that are another each time, and whose its namespaces are.
look() {
  echo "== $1"
  shift
  status=0
  "$@" >/tmp/looked 2>&1 </dev/null || status=$?
  facts /tmp/looked
  echo "status $status"
}

facts() {
  mine=$(for n in cgroup ipc mnt net pid user uts; do readlink "/proc/self/ns/$n"; done | tr '\n' ' ')
  awk -v mine="$mine" '
    /^bounding set lacks |^environment NSRUN_INIT=|^fd |^pid |^host |^interface |^SigIgn:/ { next }
    /^namespace / {
      name = $2
      sub(/:.*/, "", name)
      print "namespace", name, index(mine, $2) ? "is the callers" : "is its own"
      next
    }
    /^process / { n++; next }
    /^in \/(etc|usr|sys|dev\/pts)/ { next }
    { print }
    END { print n + 0, "processes are seen" }' "$1"
}

# What a step prints, without the numbers and names that are another each time.
normal() {
  sed -E -e "s,$scratch/[a-z]+,/srv,g" -e 's/[0-9a-f]{64}/HASH/g' -e 's,(\.flatpak/)[0-9]+,\1ID,g' -e 's/codex-arg0[A-Za-z0-9]{6}/codex-arg0X/g' -e 's/((bus|a11y|system)-proxy-)[A-Za-z0-9]{6}/\1X/g' \
    -e 's/([a-z]:\[)[0-9]+\]/\1N]/g' -e 's/-[0-9]+-[0-9a-f]{6}\.(env|out)/-N.\1/g' -e 's/dbus-[A-Za-z0-9]{10}/dbus-X/g' -e 's/guid=[0-9a-f]+/guid=N/g'
}

# A display in memory and a session's bus for COMMAND…, whose system bus it is as well.
with_bus() {
  dbus-run-session -- sh -c 'DBUS_SYSTEM_BUS_ADDRESS=$DBUS_SESSION_BUS_ADDRESS exec "$@" 2>&1' sh "$@" 2>>/srv/bus.log
}

if [ "${1:-}" = --step ]; then
  cd /srv
  return 0
fi

# -------------------------------------------------------------- around them

for name in bwrap unshare setpriv $wanted; do
  command -v "$name" >/dev/null || {
    echo "skipping: $name is not installed"
    exit 77
  }
done
[ -z "${modules:-}" ] || /usr/bin/python3 -c "
import gi
for name, version in $modules:
    gi.require_version(name, version)" 2>/dev/null || {
  echo "skipping: python3-gi and what it tells Python of are not installed: $modules"
  exit 77
}
inside=$(readlink -f "${NSRUN_HELPERS:?}/inside")
scratch=$(mktemp -d "${NSRUN_TEST_DIR:-/var/tmp}/nsrun-callers-XXXXXX")
trap 'chmod -R u+rwx "$scratch"; rm -rf "$scratch"' EXIT
for whose in theirs ours nobodys; do
  mkdir -p "$scratch/$whose/home" "$scratch/$whose/run" "$scratch/$whose/shared"
  chmod 0700 "$scratch/$whose/run"
  mkdir "$scratch/$whose/bin"
  cp "$inside" "$scratch/$whose/inside"
  # flatpak hands it no environment, and an nsrun that isn't installed doesn't know where its parts are.
  printf '#!/bin/sh\nNSRUN_INIT=%s exec /srv/bin/bwrap "$@"\n' "$(readlink -f "${NSRUN_INIT:?}")" >"$scratch/$whose/bin/start"
  chmod 0755 "$scratch/$whose/bin/start"
done
cp /usr/bin/bwrap "$scratch/theirs/bin/bwrap"
cp "${NSRUN_BWRAP:?}" "$scratch/ours/bin/bwrap"
cp /bin/false "$scratch/nobodys/bin/bwrap"

# under WHOSE STEP: the folder of WHOSE is /srv, and all that the step started has ended with it.
under() {
  set -- "$scratch/$1" "$self" --step "$2"
  if [ "$(id -u)" != 0 ]; then set -- --user --map-current-user --keep-caps -- "$@"; else set -- -- "$@"; fi
  options=''
  while [ "$1" != -- ]; do
    options="$options $1"
    shift
  done
  shift
  # shellcheck disable=SC2086 # options are words
  env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin LANG=C.UTF-8 HOME=/srv/home XDG_RUNTIME_DIR=/srv/run \
    TERM=dumb USER="$(id -un)" LOGNAME="$(id -un)" SHELL=/bin/sh $environment \
    timeout -k 5 250 unshare $options --mount --pid --fork --kill-child --mount-proc sh -c '
      mount --bind "$1/bin/start" /usr/bin/bwrap && mount --bind "$1" /srv && mount -t tmpfs -o mode=1777 tmpfs /tmp || exit
      shift
      exec setpriv --inh-caps=-all --ambient-caps=-all "$@"' sh "$@" </dev/null 2>&1
}
environment=''

# The lines that one of two texts has and the other hasn't, "-" theirs and "+" ours, and why, if
# `differences` has the cause.  Fails where there is none.
compare() {
  who=user
  [ "$(id -u)" != 0 ] || who=root
  awk -v caller="$caller" -v step="$caller/$3" -v who="$who" -v causes="$folder/differences" -v used="$scratch/used" '
    BEGIN {
      while ((getline line < causes) > 0) {
        if (line ~ /^#|^$/) continue
        split(line, c, "\t")
        if ((c[1] == caller || c[1] == step) && (c[2] ~ /^anybody/ || index(c[2], who) == 1)) cause[c[3]] = c[4]
      }
    }
    NR == FNR { n[$0]++; next }
    n[$0] > 0 { n[$0]--; next }
    { tell("+" $0) }
    END {
      for (line in n) while (n[line]-- > 0) tell("-" line)
      exit unknown > 0
    }
    function tell(line, pattern) {
      for (pattern in cause) if (line ~ pattern) {
        print pattern >>used
        return
      }
      print line
      unknown++
    }' "$1" "$2"
}

# both STEP PATTERN…: the step shows the same under both, and each pattern is in what Debian's shows.
both() {
  step=$1
  shift
  began=$(date +%s%N)
  under theirs "$step" | normal >"$scratch/theirs.$step"
  between=$(date +%s%N)
  under ours "$step" | normal >"$scratch/ours.$step"
  echo "$step: $(((between - began) / 1000000)) ms under bubblewrap, $((($(date +%s%N) - between) / 1000000)) ms under nsrun-bwrap," \
    "$(wc -l <"$scratch/theirs.$step") lines"
  for pattern; do
    grep -qE -e "$pattern" "$scratch/theirs.$step" || {
      echo "under bubblewrap nothing says: $pattern"
      cat "$scratch/theirs.$step"
      return 1
    }
  done
  compare "$scratch/theirs.$step" "$scratch/ours.$step" "$step"
}

# The control: it is /usr/bin/bwrap that the caller runs.
without_it() {
  under nobodys "$1" | normal >"$scratch/nobodys.$1"
  if grep -E -e "$2" "$scratch/nobodys.$1"; then
    echo "without bubblewrap, too: $2"
    return 1
  fi
}

# A cause that nothing needed is no longer one, but for those that this machine has or hasn't ("?").
no_cause_is_idle() {
  awk -F '\t' -v caller="$caller" -v who="$([ "$(id -u)" = 0 ] && echo root || echo user)" -v used="$scratch/used" '
    BEGIN { while ((getline line < used) > 0) is_used[line] = 1 }
    $1 ~ "^" caller "(/|$)" && ($2 == "anybody" || $2 == who) && !is_used[$3] { print "idle: " $0; n++ }
    END { exit n > 0 }' "$folder/differences"
}

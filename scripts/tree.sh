# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
# For scripts that work on a copy of the tree, in whose top level they are.

# copy_tree FOLDER [TAR-OPTION…]: the files that git knows or would know; all but what was built, where git
# doesn't know the tree.
copy_tree() {
  to=$1 && shift
  mkdir -p "$to"
  if git rev-parse --git-dir >/dev/null 2>&1; then
    git ls-files --cached --others --exclude-standard | while read -r f; do
      # A file that git knows and that was removed by hand.
      [ -e "$f" ] && printf '%s\n' "$f"
    done >"$to.list"
    tar -cf - "$@" -T "$to.list" | tar -xf - -C "$to"
    rm -f "$to.list"
  else
    tar -cf - "$@" --exclude='./_*' --exclude=./.git . | tar -xf - -C "$to"
  fi
}

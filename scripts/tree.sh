# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
# For scripts that work on a copy of the tree, in whose top level they are.

# tree_commit FOLDER: the commit that the tree is of, "-dirty" behind it where it has changes; of a copy or a release,
# the one that it was made of.
tree_commit() {
  if [ -e "$1/.git" ]; then
    git -C "$1" describe --always --abbrev=40 --exclude='*' --dirty
  else
    cat "$1/.build-aux/commit"
  fi 2>/dev/null
}

# copy_tree FOLDER [TAR-OPTION…]: the files that git knows or would know, and which commit they are of; all but what
# was built, where git doesn't know the tree.
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
    mkdir -p "$to/.build-aux"
    tree_commit . >"$to/.build-aux/commit" || rm "$to/.build-aux/commit"
  else
    tar -cf - "$@" --exclude='./_*' --exclude=./.git . | tar -xf - -C "$to"
  fi
}

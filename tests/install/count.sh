# SPDX-License-Identifier: LGPL-2.1-or-later
# What the scripts of this folder share: tests are functions, named after what they promise, and are
# told of as cmocka tells of its own.
# shellcheck shell=sh

n_passed=0 n_skipped=0 failed_tests='' skipped_tests=''

# run_test FUNCTION…: each in a subshell with -e, so that its first failing line is its last.
# NSRUN_TEST_ONLY=NAME: that one alone.
run_tests() {
  for name in "$@"; do
    [ "${NSRUN_TEST_ONLY:-$name}" = "$name" ] || continue
    printf '[ RUN      ] %s\n' "$name"
    set +e
    (
      set -e
      "$name"
    )
    status=$?
    set -e
    case $status in
      0)
        printf '[       OK ] %s\n' "$name"
        n_passed=$((n_passed + 1))
        ;;
      77)
        printf '[  SKIPPED ] %s\n' "$name"
        n_skipped=$((n_skipped + 1)) skipped_tests="$skipped_tests $name"
        ;;
      *)
        printf '[  FAILED  ] %s\n' "$name"
        failed_tests="$failed_tests $name"
        ;;
    esac
  done
}

# The reason, on a line of its own; ends the test.
skip_test() {
  printf 'skipping: %s\n' "$*"
  exit 77
}

# The closing lines, and the script's exit status.
end_tests() {
  # shellcheck disable=SC2086 # a list of words
  set -- $failed_tests
  printf '[==========] %d test(s) run.\n' $((n_passed + n_skipped + $#))
  printf '[  PASSED  ] %d test(s).\n' "$n_passed"
  if [ "$n_skipped" != 0 ]; then
    printf '[  SKIPPED ] %d test(s), listed below:\n' "$n_skipped"
    # shellcheck disable=SC2086
    printf '[  SKIPPED ] %s\n' $skipped_tests
  fi
  if [ $# != 0 ]; then
    printf '[  FAILED  ] %d test(s), listed below:\n' $#
    printf '[  FAILED  ] %s\n' "$@"
    exit 1
  fi
  exit 0
}

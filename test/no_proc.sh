#!/usr/bin/env bash
# Runs programs where Linux has no /proc, as in some jails: nothing may be written
# to stderr. Exit code 77 where this user may not make such a place.
#
#   no_proc.sh "<program and its arguments>"...
set -euo pipefail

without_proc() {
  unshare --user --map-root-user --mount \
    sh -c 'mount -t tmpfs none /proc && exec "$@"' sh "$@"
}
if ! without_proc true; then
  echo "skipped: no unshare, or no permission for it"
  exit 77
fi
for program in "$@"; do
  # Unquoted: the program and its arguments.
  # shellcheck disable=SC2086
  err=$(without_proc $program 2>&1 >/dev/null)
  [ -z "$err" ] || { echo "$program writes '$err'"; exit 1; }
done

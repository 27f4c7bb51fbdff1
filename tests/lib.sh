# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# lib.sh: TAP for shell tests, and what they share. Source it; end with `tap_done`.
# FLASHBACK is the program, top_srcdir the source tree; both have defaults for runs by hand.

flashback=${FLASHBACK:-${top_builddir:-.}/flashback}
case $flashback in */*) flashback=$(cd "$(dirname "$flashback")" && pwd)/$(basename "$flashback") ;; esac
top_srcdir=$(cd "${top_srcdir:-${srcdir:-.}}" && pwd)
[ -d "$top_srcdir/plots" ] || top_srcdir=$(cd "$(dirname "$0")/.." && pwd)
export FLASHBACK_DATADIR="$top_srcdir"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/flashback-test-XXXXXX") || exit 99
trap 'rm -rf "$scratch"' EXIT
tap_count=0
tap_failed=0

# ok STATUS TEXT: passes when STATUS is 0.
ok() {
    tap_count=$((tap_count + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $tap_count - $2"
    else
        echo "not ok $tap_count - $2"
        tap_failed=$((tap_failed + 1))
    fi
}

skip() {
    tap_count=$((tap_count + 1))
    echo "ok $tap_count # SKIP $1"
}

# expect STATUS PATTERN TEXT COMMAND...: the exit status, at most one line on stderr, and that line
# matches the pattern (grep -E). What a sanitizer reports fails it, too: a worker that leaves has nobody
# who looks at its exit status.
expect() {
    local want=$1 pattern=$2 text=$3 got lines good=0
    shift 3
    "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
    got=$?
    lines=$(wc -l <"$scratch/err")
    [ "$got" -eq "$want" ] || good=1
    [ -z "$pattern" ] || grep -Eq -- "$pattern" "$scratch/err" || good=1
    [ "$want" -eq 0 ] || [ "$lines" -eq 1 ] || good=1
    ! grep -Eq 'Sanitizer|runtime error' "$scratch/err" || good=1
    ok $good "$text"
    [ $good -eq 0 ] || sed "s/^/# exit $got, stderr: /" "$scratch/err" | head -5
}

tap_done() {
    echo "1..$tap_count"
    [ $tap_failed -eq 0 ]
    exit $?
}

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# results_sources.sh FOLDER FILE...: writes FOLDER/sources.sha256, the digests of the kernel sources
# that the results in that folder were measured with, as sha256sum makes and checks them.
# tests/cli/test_results.sh says when a source has changed since. Run it in the root of the sources of the very
# state that was measured.
set -eu
[ $# -ge 2 ] && [ -d "$1" ] || {
    echo "usage: tools/results_sources.sh results/MACHINE FILE..." >&2
    exit 2
}
folder=$1
shift
digests=$(sha256sum -- "$@") # not at the head of a pipe: a file that is not there ends it here
printf '%s\n' "$digests" | LC_ALL=C sort -k 2 >"$folder/sources.sha256"

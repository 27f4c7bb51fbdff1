#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_results.sh: are the committed results those of the kernels as they are? Stale ones are named and
# no failure, but for a release (`make release-check` sets FLASHBACK_RELEASE).
. "$(dirname "$0")/lib.sh"

# stale DIGESTS: the sources that have changed since, in one line; status 0 where there are any.
stale() {
    local changed
    changed=$(sha256sum --check --quiet "$1" 2>/dev/null | sed 's/: FAILED.*//' | tr '\n' ' ')
    echo "${changed% }"
    [ -n "$changed" ]
}

# The test of the test: one byte more, and a source that is gone.
mkdir -p "$scratch/k"
cd "$scratch" || exit 99
echo one >k/a.cu
echo two >k/b.cu
bash "$top_srcdir/tools/results_sources.sh" k k/a.cu k/b.cu
! stale k/sources.sha256 >/dev/null
ok $? "unchanged sources are not stale"
echo more >>k/b.cu
rm k/a.cu
[ "$(stale k/sources.sha256)" = "k/a.cu k/b.cu" ]
ok $? "changed and missing ones are, by name"

cd "$top_srcdir" || exit 99
found=0
for digests in results/*/sources.sha256; do
    [ -e "$digests" ] || continue
    found=1
    if ! names=$(stale "$digests"); then
        ok 0 "$(dirname "$digests") is of these sources"
    elif [ -n "${FLASHBACK_RELEASE:-}" ]; then
        ok 1 "STALE: $(dirname "$digests"): changed since: $names"
    else
        skip "STALE: $(dirname "$digests"): changed since: $names"
    fi
done
[ $found -eq 1 ] || skip "results: none in a distributed tree"
tap_done

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_results.sh: are the committed results those of the kernels as they are? Stale ones are named and
# no failure, but for a release (`make release-check` sets FLASHBACK_RELEASE).
. "$(dirname "$0")/../lib.sh"

# stale FOLDER: what of its sources has changed since, in one line, or why that cannot be told; status 1
# where all are as they were.
stale() {
    local digests=$1/sources.sha256 changed
    [ -s "$digests" ] || { echo "there is no sources.sha256" && return 0; }
    changed=$(LC_ALL=C sha256sum --strict --check --quiet "$digests" 2>/dev/null) && return 1
    [ -n "$changed" ] || { echo "its sources.sha256 is damaged" && return 0; }
    echo "changed since: $(sed 's/: FAILED.*//' <<<"$changed" | paste -sd ' ')"
}

# The test of the test: one byte more, and a source that is gone.
mkdir -p "$scratch/k"
cd "$scratch" || exit 99
echo one >k/a.cu
echo two >k/b.cu
bash "$top_srcdir/tools/results_sources.sh" k k/a.cu k/b.cu
! stale k >/dev/null
ok $? "unchanged sources are not stale"
echo more >>k/b.cu
rm k/a.cu
[ "$(stale k)" = "changed since: k/a.cu k/b.cu" ]
ok $? "changed and missing ones are, by name"
cp k/sources.sha256 before
! bash "$top_srcdir/tools/results_sources.sh" k k/a.cu k/b.cu 2>/dev/null && cmp -s k/sources.sha256 before
ok $? "digests are not made of a source that is not there, and the former are left"
mkdir empty torn
cut -c 1-30 before >torn/sources.sha256
stale empty >/dev/null && stale torn >/dev/null
ok $? "results without digests, and with torn ones, are not taken for fresh"

cd "$top_srcdir" || exit 99
found=0
for folder in results/*/; do
    [ -d "$folder" ] || continue
    found=1 folder=${folder%/}
    if ! names=$(stale "$folder"); then
        ok 0 "$folder is of these sources"
    elif [ -n "${FLASHBACK_RELEASE:-}" ]; then
        ok 1 "STALE: $folder: $names"
    else
        skip "STALE: $folder: $names"
    fi
done
[ $found -eq 1 ] || skip "results: none in a distributed tree"
tap_done

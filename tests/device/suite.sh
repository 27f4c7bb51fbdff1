#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# suite.sh [BUILD-DIR [OUT-DIR]]: on a machine with a CUDA device: builds the suite for that device, runs
# the tests that need one, checks every GPU variant on the default set, and leaves the logs in OUT-DIR
# (device-logs by default). A test that is skipped for want of a device is a failure here.
# CONFIGURE holds more words for configure; JOBS is the number of compilers at a time.
set -euo pipefail
cd "$(dirname "$0")/../.."
source=$PWD
build=${1:-build-device}
out=${2:-device-logs}
mkdir -p "$build" "$out"
build=$(cd "$build" && pwd)
out=$(cd "$out" && pwd)
capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d .)
programs="tests/test_cuda_delta tests/test_cuda_runtime"

[ -x configure ] || autoreconf -i
cd "$build"
# shellcheck disable=SC2086
[ -f Makefile ] || "$source/configure" -q --with-cuda --with-cuda-arch="$capability" ${CONFIGURE:-}
# shellcheck disable=SC2086
make -j"${JOBS:-$(nproc)}" flashback $programs >"$out/make.log" 2>&1 || {
    tail -n 30 "$out/make.log" >&2
    exit 1
}

failed=0
for program in $programs; do
    log=$out/$(basename "$program").log
    "./$program" >"$log" || failed=1
    if grep -q '# SKIP cuda' "$log"; then
        echo "$program was skipped: $(grep -m 1 '# SKIP' "$log")" >&2
        failed=1
    fi
    echo "$program: $(grep -c '^ok' "$log") ok, $(grep -c '^not ok' "$log" || true) failed"
done

export FLASHBACK_DATADIR=$source
mapfile -t variants < <(./flashback list | awk '$2 == "yes" && $1 !~ /^(cpu-|null$)/ { print "-v"; print $1 }')
[ ${#variants[@]} -gt 0 ] || {
    ./flashback list >&2
    exit 1
}
./flashback check "${variants[@]}" --json "$out/check.json" >"$out/check.txt" || failed=1
tail -n 1 "$out/check.txt"
exit $failed

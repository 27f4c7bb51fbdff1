#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# suite.sh [BUILD-DIR [OUT-DIR]]: on a machine with a CUDA device: builds the suite for that device, runs
# the tests that need one, checks every CUDA variant on the default set (families side by side), puts the
# judge on trial, runs cases.sh, and leaves the logs in OUT-DIR (device-logs by default). A test that is
# skipped for want of a device is a failure here. CONFIGURE holds more words for configure; JOBS is the
# number of compilers at a time. The last line is `N parts, N failed`.
set -euo pipefail
cd "$(dirname "$0")/../.."
source=$PWD
build=${1:-build-device}
out=${2:-device-logs}
visible=${CUDA_VISIBLE_DEVICES:-} # the first of them is the device that everything here runs on
capability=$(nvidia-smi ${visible:+-i "${visible%%,*}"} --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .) || true
case $capability in
    "" | *[!0-9]*)
        echo "suite.sh: no CUDA device: nvidia-smi is not there, or shows none" >&2
        exit 77
        ;;
esac
mkdir -p "$build" "$out"
build=$(cd "$build" && pwd)
out=$(cd "$out" && pwd)
programs="tests/kernels/test_cuda_delta tests/kernels/test_cuda_runtime tests/reference/test_device"

[ -x configure ] || autoreconf -i
cd "$build"
# shellcheck disable=SC2086
[ -f Makefile ] || "$source/configure" -q --with-cuda --with-cuda-arch="$capability" ${CONFIGURE:-}
# shellcheck disable=SC2086
make -j"${JOBS:-$(nproc)}" flashback $programs >"$out/make.log" 2>&1 || {
    tail -n 30 "$out/make.log" >&2
    exit 1
}
export FLASHBACK=$build/flashback FLASHBACK_DATADIR=$source
export OMP_WAIT_POLICY=passive # families side by side have more threads than processors

parts=0 failed=0
# part NAME STATUS SUMMARY
part() {
    parts=$((parts + 1))
    [ "$2" -eq 0 ] || failed=$((failed + 1))
    echo "$1: $([ "$2" -eq 0 ] && echo passed || echo FAILED) ($3)"
}

for program in $programs; do
    log=$out/$(basename "$program").log status=0
    "./$program" >"$log" || status=1
    grep -q '# SKIP cuda' "$log" && status=1
    part "$(basename "$program")" $status "$(grep -c '^ok' "$log") ok, $(grep -c '^not ok' "$log" || true) not ok"
done

# The instructions by themselves: products, descriptors and copies against plain loops.
instructions="test_mma"
[ "$capability" != 90 ] || instructions="test_mma test_tma test_wgmma"
for name in $instructions; do
    make "tests/device/$name" >"$out/$name.log" 2>&1 || rm -f "tests/device/$name"
done
for name in $instructions; do
    status=0
    "./tests/device/$name" >>"$out/$name.log" 2>&1 || status=1
    part "$name" $status "$(tail -n 1 "$out/$name.log")"
done

# What does not run here is not tested, and is said.
"$FLASHBACK" list | awk 'NR > 1 && $2 == "no" { print "left out: " $0 }'
families=()
for family in simt cublas sm80 sm90 cudnn; do
    mapfile -t variants < <("$FLASHBACK" list | awk -v f="$family" '$2 == "yes" && index($1, f) == 1 { print "-v"; print $1 }')
    [ ${#variants[@]} -gt 0 ] || continue
    families+=("$family")
    (status=0
    "$FLASHBACK" check "${variants[@]}" --json "$out/check-$family.json" >"$out/check-$family.txt" 2>&1 || status=$?
    echo $status >"$out/check-$family.status") &
done
wait
[ ${#families[@]} -gt 0 ] || part "variants" 1 "none runs on this device"
for family in "${families[@]}"; do
    part "check of $family" "$(cat "$out/check-$family.status")" "$(grep -E '^[0-9]+ cases' "$out/check-$family.txt" || true)"
    rm "$out/check-$family.status"
done
# What cudnn's variants let through on Hopper cuDNN takes (its own words begin so): an engine that refuses
# there has been given a graph that is wrong.
if [ -f "$out/check-cudnn.json" ] && [ "$capability" = 90 ]; then
    count=$({ grep -o '"reason": *"cuDNN: ' "$out/check-cudnn.json" || true; } | wc -l)
    part "graphs for cuDNN" $((count > 0)) "$count refused by its engines"
fi

status=0
"$FLASHBACK" check --self-test >"$out/self-test.txt" 2>&1 || status=$?
grep -q '^skip ' "$out/self-test.txt" && status=1 # a trap of the device that was refused
part "the judge on trial" $status "$(grep '^self-test:' "$out/self-test.txt" || true)"
status=0
bash "$source/tests/device/cases.sh" "$out/cases" >"$out/cases.txt" 2>&1 || status=$?
part "cases" $status "$(grep -c '^ok [0-9]* -' "$out/cases.txt") ok, $(grep -c '^not ok' "$out/cases.txt" || true) not ok, $(grep -c 'SKIP' "$out/cases.txt" || true) skipped"
echo "$parts parts, $failed failed"
[ $failed -eq 0 ]

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_self_test.sh: every trap and every fault of the judge is caught, by `check --self-test`, and the
# traps are there to be looked at but not in the way.
. "$(dirname "$0")/../lib.sh"

expect 0 "" "check --self-test" "$flashback" check --self-test
grep -vE '^(ok|skip)' "$scratch/out" | sed 's/^/# /'
! grep -q WRONG "$scratch/out"
ok $? "... all as it must be"
traps=$("$flashback" list --traps | awk '$1 ~ /^trap-/ { print $1 }')
[ "$(echo "$traps" | wc -l)" -ge 14 ]
ok $? "list --traps shows them"
! "$flashback" list | grep -q '^trap-'
ok $? "list does not"
for trap in $traps; do
    must_fail=$(grep -c "^ok  *$trap  *must fail" "$scratch/out")
    must_pass=$(grep -c "^ok  *$trap  *must pass" "$scratch/out")
    if grep -q "^skip  *$trap " "$scratch/out"; then
        skip "$trap: $(grep -m 1 "^skip  *$trap " "$scratch/out" | sed 's/^skip *[^ ]* *//')"
        continue
    fi
    case $trap in
    trap-none*) [ "$must_pass" -ge 3 ] && [ "$must_fail" -eq 0 ] ;;
    *) [ "$must_fail" -ge 1 ] && [ "$must_pass" -ge 1 ] ;;
    esac
    ok $? "$trap: $must_fail cases that fail it, $must_pass that do not"
done
for mutant in "lets NaN pass" "tolerance x 10" "compares a buffer with itself" "skips the last tile"; do
    grep -q "^ok  *$mutant " "$scratch/out"
    ok $? "a judge that $mutant is found out"
done
expect 2 "chooses its own" "--self-test with a variant" "$flashback" check --self-test -v cpu-split
"$flashback" check -q -v trap-dk-unscaled -p n=64,d=32,dtype=fp32 >"$scratch/out"
ok $((($? == 1) ? 0 : 1)) "a trap by name fails like any variant"
tap_done

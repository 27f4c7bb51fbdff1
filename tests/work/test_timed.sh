#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_timed.sh: a timed call is a checked call. Kernels that are honest until they have been called often
# (tests/attacks/timed.c) fail at the call that is not, by number and tensor; one that turns the clock of
# its process is seen by the supervisor's, and has no rank.
. "$(dirname "$0")/../lib.sh"

cc=${CC:-cc}
if ! command -v ${cc%% *} >/dev/null; then
    echo "1..0 # SKIP no C compiler"
    exit 0
fi
plugin=$scratch/timed.so
# shellcheck disable=SC2086
$cc -std=gnu11 -O2 -fPIC -shared -I"$top_srcdir/include" -o "$plugin" "$top_srcdir/tests/attacks/timed.c" -lm \
    2>"$scratch/err" || { cat "$scratch/err" >&2 && exit 99; }
cat >"$scratch/timed.ini" <<'INI'
[measure]
what = speed
warmup = 50
min_samples = 6
max_samples = 12
max_seconds = 0.5
[grid]
variant = honest
n = 48
d = 16
h = 2
dtype = fp32
INI

# timed NAME STATUS: runs one of them; its record is in $record.
timed() {
    "$flashback" run "$scratch/timed.ini" --set variant="$1" --plugin "$plugin" -o "$scratch/$1.h5" -q \
        >"$scratch/out" 2>&1
    status=$?
    record=$(grep '"outcome"' "$scratch/$1.jsonl")
    [ "$status" -eq "$2" ]
}
timed honest 0 && grep -q '"outcome":"pass"' <<<"$record" && ! grep -q '"bwd_clock":"differs"' <<<"$record"
ok $? "the honest kernel is timed, and no clock contradicts it"
for name in skip zero replay memo; do # a factor may come twice, so of replays not all
    timed $name 1 && grep -q '"outcome":"fail"' <<<"$record" &&
        grep -Eq 'timed call [0-9]+: dq is not what a checked call gives: [0-9]+ of 1536' <<<"$record"
    ok $? "$name: its results are wrong, at a call that has a number"
done
timed one-row 1 && grep -Eq 'timed call [0-9]+: dq .* [0-9]+ of 1536' <<<"$record"
ok $? "one-row: half of them"
timed coarse 1 && grep -Eq 'timed call [0-9]+: dv .* differ, by up to' <<<"$record"
ok $? "coarse: fewer digits than were checked"
timed outside 1 && grep -q 'guard after dq was written' <<<"$record"
ok $? "outside: a guard, in a timed call"

# From the first call of the timing on, which is judged, too.
# shellcheck disable=SC2086
$cc -std=gnu11 -O2 -fPIC -shared -DCHECKED=3 -I"$top_srcdir/include" -o "$plugin" \
    "$top_srcdir/tests/attacks/timed.c" -lm
for name in skip zero one-row coarse; do
    rm -f "$scratch/$name".*
    timed $name 1 && grep -q 'the first call of the timing is wrong' <<<"$record"
    ok $? "$name: from the first timed call on"
done

# Sums that fill their type: no factor takes them out of it.
for problem in "dtype=fp16 constant-dout:value=200@1 standard" "dtype=fp32 randn:dout=0.001@1 dkv=fp16,dq=fp16" \
    "dtype=bf16 randn:dout=500@1 dkv=fp16,dq=fp16"; do
    set -- $problem
    printf '[measure]\nwhat = speed\nmax_samples = 6\n[grid]\nvariant = cpu-split cpu-atomic\nproblem = nq=128,nk=1,d=16,%s\nrecipe = %s\n' "$1" "$2" >"$scratch/range.ini"
    [ "$3" = standard ] || printf 'numerics = %s\n' "$3" >>"$scratch/range.ini"
    "$flashback" run "$scratch/range.ini" -o "$scratch/range.h5" --replace -q >"$scratch/out" 2>&1
    ok $? "honest kernels stay what they are: $problem"
done

if [ "$(uname -m)" = x86_64 ]; then
    timed turned-clock 0
    grep -q '"bwd_clock":"\(differs\|coarse\)"' <<<"$record"
    ok $? "turned-clock: the supervisor's clock does not agree"
    if grep -q '"bwd_clock":"differs"' <<<"$record"; then
        "$flashback" table "$scratch/turned-clock.h5" --kind speed >"$scratch/out"
        grep -q "the clock of its process and the supervisor's differ" "$scratch/out" &&
            ! grep -q '1.00x' "$scratch/out"
        ok $? "... which the table says, without a rank"
    else
        skip "turned-clock: the machine is too busy to tell"
    fi
fi
tap_done

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_plugin.sh: the example plug-in is built by its own makefile, judged and timed; then plug-ins that
# misbehave in every way are reported as that, and the rest of the run goes on.
. "$(dirname "$0")/../lib.sh"

cc=${CC:-cc}
if ! command -v ${cc%% *} >/dev/null; then
    echo "1..0 # SKIP no C compiler"
    exit 0
fi
# A sanitizer is linked into the program, not into what it loads.
case ${CFLAGS:-}${LDFLAGS:-} in *-fsanitize*) unset CFLAGS LDFLAGS ;; esac

# ---- The example
cp -r "$top_srcdir/examples/plugin" "$scratch/plugin" && chmod -R u+w "$scratch/plugin"
make -s -C "$scratch/plugin" CPPFLAGS="-I$top_srcdir/include" >"$scratch/out" 2>&1
ok $? "examples/plugin builds with its own makefile"
[ "$(wc -l <"$top_srcdir/examples/plugin/Makefile")" -le 5 ]
ok $? "... which has five lines"
mine=$scratch/plugin/mine.so
expect 0 "" "it is judged" "$flashback" check -q --plugin "$mine" -p h=2,n=70,d=20,causal,dtype=fp32 \
    -p nq=9,nk=40,d=8,causal,dtype=fp32
[ "$(grep -c '^  mine .*pass' "$scratch/out")" -eq 2 ] && ! grep -q cpu- "$scratch/out"
ok $? "... alone, and passes"
expect 3 "refused every case" "its refusal is a refusal" "$flashback" check -q --plugin "$mine" -v mine \
    -p n=8,d=8,dtype=bf16
cat >"$scratch/mine.ini" <<'INI'
[grid]
variant = mine cpu-split
problem = n=33,d=16,dtype=fp32 n=8,d=8,dtype=bf16
[measure]
what = speed error determinism
max_samples = 6
max_seconds = 0.2
INI
expect 0 "" "--dry-run" "$flashback" run "$scratch/mine.ini" --plugin "$mine" --dry-run
grep -q '^refused  mine|.*dtype: offers fp32' "$scratch/out" && grep -q '^run  *mine|' "$scratch/out"
ok $? "... asks the plug-in for its refusals"
expect 0 "" "it is timed beside a built-in variant" "$flashback" run -q "$scratch/mine.ini" \
    --plugin "$mine" -o "$scratch/mine.h5"
"$flashback" table "$scratch/mine.h5" | grep -q '^  mine .*pass'
ok $? "... and stands in the table"
expect 2 "unknown variant" "without the plug-in its name means nothing" "$flashback" run -q \
    "$scratch/mine.ini" -o "$scratch/other.h5"

# One ulp more in dq where the last key, which the first queries do not see, is positive: within every
# bound, but not with the keys of the future turned over.
mkdir "$scratch/leak"
leak='if (row(\&a->k, b, h, a->problem->nk - 1)[0] > 0) row(\&a->dq, b, h, i)[0] *= 1.0000001f;'
sed "s/backward_row(a, b, h, i);/{ & $leak }/" "$top_srcdir/examples/plugin/mine.c" >"$scratch/leak/mine.c"
make -s -C "$scratch/leak" -f "$scratch/plugin/Makefile" CPPFLAGS="-I$top_srcdir/include" CFLAGS=-std=c11 >"$scratch/out" 2>&1
"$flashback" check -q --plugin "$scratch/leak/mine.so" -p h=2,n=70,d=20,causal,dtype=fp32 >"$scratch/out"
[ $? -eq 1 ] && grep -Eq '^  mine +fail .*dq of a query changes with keys that it does not see' "$scratch/out"
ok $? "a look at keys that are masked is found, small as it is"
"$flashback" check -q --plugin "$scratch/leak/mine.so" -p h=2,n=70,d=20,dtype=fp32 >"$scratch/out"
ok $? "... and where nothing is masked there is nothing to find"

# One bit of dv on data that leave nothing to round, of two heads that share a key head.
for roundings in 0 FB_ROUNDS_HEADS; do
    $cc -std=c11 -I"$top_srcdir/include" -DROUNDINGS=$roundings -fPIC -shared -o "$scratch/$roundings.so" \
        "$top_srcdir/tests/cli/plugin_heads.c"
    "$flashback" check -q --plugin "$scratch/$roundings.so" -r dyadic@1 -p h=2,hk=1,n=1,d=8,scale=0.5,dtype=bf16 \
        --json "$scratch/$roundings.json" >"$scratch/$roundings.txt"
done
grep -Eq '^  heads +fail .*dv: 1 of 8 elements are not exact on dyadic data' "$scratch/0.txt"
ok $? "a bit fails on exact data"
grep -Eq '^  heads +pass' "$scratch/FB_ROUNDS_HEADS.txt" &&
    grep -q '"verdict_standard":"fail"' "$scratch/FB_ROUNDS_HEADS.json" &&
    grep -q '"remark":"dv: 1 of 8 .*a declared rounding' "$scratch/FB_ROUNDS_HEADS.json"
ok $? "... but not of who declares that shares of heads are rounded; the standard is missed, and told"

# ---- Those that are no plug-ins
build() {
    $cc -std=c11 -D_GNU_SOURCE -I"$top_srcdir/include" -DFAULT="$1" -fPIC -shared \
        -o "$scratch/$1.so" "$top_srcdir/tests/cli/plugin_faults.c" -lm
}
check() {
    "$flashback" check -q --plugin "$scratch/$1.so" -v faulty -v cpu-split -p n=1,d=8,dtype=fp32
}
refused() { # FAULT PATTERN TEXT [STATUS]
    build "$1"
    expect "${4:-2}" "$2" "$3" check "$1"
}
expect 4 "cannot be loaded" "a file that is not there" "$flashback" check --plugin "$scratch/none.so"
echo text >"$scratch/text.so"
expect 4 "cannot be loaded" "a file that is no object" "$flashback" check --plugin "$scratch/text.so"
echo 'int nothing;' >"$scratch/empty.c"
$cc -shared -fPIC -o "$scratch/empty.so" "$scratch/empty.c"
expect 2 "does not export fb_plugin_variants" "an object that is no plug-in" "$flashback" check \
    --plugin "$scratch/empty.so"
refused OLD_ABI "version 1 of flashback.h.*has 2" "one for an older version of the header"
refused NEW_ABI "version 3 of flashback.h.*has 2" "... and for a newer one"
refused HAS_ROLE "'faulty' has a role" "one that wants not to be judged"
refused OTHER_SIZE "64 bytes" "one with another struct"
refused NO_NAME "not of a-z" "one with an impossible name"
refused TAKEN_NAME "'cpu-split' is taken" "one with a name that is taken"
refused NO_BACKWARD "lacks one of" "one without a backward"
refused EMPTY_TABLE "offers no variant" "one with an empty table"
build SOUND
expect 2 "'faulty' is taken" "one given twice" "$flashback" check --plugin "$scratch/SOUND.so" \
    --plugin "$scratch/SOUND.so" -p n=1,d=8,dtype=fp32

# ---- Those that misbehave: FAULT, the verdict and reason of its row
expect 0 "" "a sound one" check SOUND
misbehaves() {
    build "$1"
    check "$1" >"$scratch/out" 2>"$scratch/err"
    local got=$?
    [ $got -eq 1 ] && grep -Eq "^  faulty +$2" "$scratch/out" && grep -Eq '^  cpu-split +pass' "$scratch/out"
    ok $? "$3, and the run goes on"
}
misbehaves CRASH "crashed +killed by signal 11 .*in backward" "a crash is a crash"
misbehaves CRASH_ASKED "crashed +killed by signal 11 .*in prepare" "a crash when asked is one, too"
misbehaves OUTSIDE "fail +- +- +- +- +fail .*guard after dq" "a write outside is found"
misbehaves BEFORE "fail .*guard before dk" "... and one before"
misbehaves WRONG "fail .*dv: .*times the bound" "a wrong result is found"
misbehaves OWN_LSE "fail .*second call, on the reference's o and lse: dv: .*times the bound" \
    "a backward that is right on its own lse alone is found"
misbehaves NOW_AND_THEN "fail .* 9 of 10 .*a later run: dv: .*times the bound" "an error in one call of many is found"
misbehaves LATER "fail .*a later run: dv: .*times the bound" "... and one that comes with the third"
misbehaves NOTHING "fail .*was not written" "an output that is not written is found"
misbehaves ADDS "fail .*dq(: .*non-finite| was not written .*or made from memory that was not)" \
    "... and one that is added to before it is cleared"
misbehaves ERROR "crashed +.*the coffee is missing" "an error is told in its own words"
misbehaves ERROR_SIZES "crashed +sizes: the variant returned 'internal'" "... one without words gets some"
build NO_REASON
expect 3 "'faulty' refused every case" "a refusal without a reason" check NO_REASON
grep -Eq '^  faulty +refused +the variant gives no reason' "$scratch/out"
ok $? "... says that it has none"
misbehaves CRASH_DESCRIBE "crashed +killed by signal 11 .*in prepare" "a crash when asked what will run is one, too"
misbehaves CHANGES_PROBLEM "fail .*the problem was changed" "a change of the problem is found"
build CHANGES_LENGTHS
for faulty in SOUND CHANGES_LENGTHS; do
    "$flashback" check -q --plugin "$scratch/$faulty.so" -p qlens=1+1,klens=1+1,d=8,dtype=fp32 >"$scratch/$faulty.txt"
done
grep -Eq '^  faulty +pass' "$scratch/SOUND.txt" &&
    grep -Eq '^  faulty +fail .*cu_qlens or cu_klens was changed' "$scratch/CHANGES_LENGTHS.txt"
ok $? "... and one of the packed offsets"
for fault in FORGES_RECORD FORGES_DONE FORGES_LEAVE FORGES_UNREAD FLOODS; do
    misbehaves $fault "crashed +wrote into the worker's own channel" "$fault: not taken for the worker's word"
done
harmless() { # passes, and so does the neighbour that runs after it in the same process
    build "$1"
    expect 0 "" "$2" check "$1"
    [ "$(grep -Ec '^  (faulty|cpu-split) +pass' "$scratch/out")" -eq 2 ]
    ok $? "... and harms nobody"
}
harmless ROUNDS_UP "another rounding mode, left behind"
harmless TRAPS_FLOATS "floating-point traps, left behind"
harmless RETURNS_TWICE "a call that forks and returns twice"
harmless LEAVES_PROCESS "a process in a session of its own, left behind"
left=$(pgrep -f -- "--plugin $scratch/LEAVES_PROCESS.so")
if [ -r /proc/$$/task/$$/children ]; then
    [ -z "$left" ]
    ok $? "... but goes with the worker"
else
    skip "... but goes with the worker: the system does not tell children"
fi
[ -z "$left" ] || kill $left
(sleep 60 & echo $! >"$scratch/older"; exec "$flashback" check -q --plugin "$scratch/SOUND.so" -p n=1,d=8,dtype=fp32 >"$scratch/out")
kill "$(cat "$scratch/older")"
ok $? "... and a child that the program had before does not"
harmless PRINTS "what a kernel prints"
! grep -q '"outcome"' "$scratch/out"
ok $? "... is not among the results"
for fault in SOUND RESTLESS_BIAS; do
    build $fault
    "$flashback" check -q --plugin "$scratch/$fault.so" -p n=1,d=8,dtype=fp32,bias=full \
        --json "$scratch/$fault.json" >"$scratch/$fault.txt"
done
grep -Eq '^  faulty +pass .*10 of 10' "$scratch/SOUND.txt" && grep -q '"dbias_deterministic":1' "$scratch/SOUND.json"
ok $? "the bits of dbias are compared"
grep -Eq '^  faulty +fail .*1 of 10 .*dbias is declared deterministic' "$scratch/RESTLESS_BIAS.txt" &&
    grep -q '"dbias_deterministic":0' "$scratch/RESTLESS_BIAS.json"
ok $? "... and one that changes them is found"
for fault in SOUND BATCH_BOUND; do
    build $fault
    "$flashback" check -q --plugin "$scratch/$fault.so" -p b=3,n=1,d=8,dtype=fp32 --json "$scratch/$fault.json" >"$scratch/out"
    [ $? -eq 0 ] && grep -q "\"batch_invariant\":$([ $fault = SOUND ]; echo $((1 - $?)))" "$scratch/$fault.json"
    ok $? "$fault: bits that depend on the batch are a property, and told"
done
misbehaves RESTLESS_IN_TURN "fail .* 3 of 10 " "runs in which any gradient differs are counted once"
for fault in HANG HANG_DESCRIBE; do
    build $fault
done
cat >"$scratch/hang.ini" <<'INI'
[grid]
variant = faulty cpu-split
problem = n=1,d=8,dtype=fp32
[measure]
deadline = 1
INI
"$flashback" check -q "$scratch/hang.ini" --plugin "$scratch/HANG.so" -v faulty -v cpu-split >"$scratch/out" 2>&1
[ $? -eq 1 ] && grep -q 'faulty .*hung .*deadline of 1 s in backward' "$scratch/out" &&
    grep -q 'cpu-split .*pass' "$scratch/out"
ok $? "a hang is a hang, and the run goes on"
"$flashback" check -q "$scratch/hang.ini" --plugin "$scratch/HANG_DESCRIBE.so" -v faulty -v cpu-split >"$scratch/out" 2>&1
[ $? -eq 1 ] && grep -q 'faulty .*hung .*deadline of 1 s in prepare' "$scratch/out" &&
    grep -q 'cpu-split .*pass' "$scratch/out"
ok $? "... when asked what will run, too"

# ---- Those that do so when they are loaded: nothing of theirs is known, the rest goes on
for fault in CRASH_LOADING EXIT_LOADING; do
    build $fault
    "$flashback" check -q --plugin "$scratch/$fault.so" --plugin "$mine" -p n=8,d=8,dtype=fp32 \
        >"$scratch/out" 2>"$scratch/err"
    [ $? -eq 1 ] && grep -Eq "$fault.so' is left out: .* while it was loaded" "$scratch/err" &&
        grep -q '^  mine .*pass' "$scratch/out"
    ok $? "$fault: left out, and the run goes on"
done
"$flashback" check -q --plugin "$scratch/CRASH_LOADING.so" -v faulty -p n=8,d=8,dtype=fp32 >"$scratch/out" 2>"$scratch/err"
[ $? -eq 1 ] && tail -n 1 "$scratch/err" | grep -q "variant 'faulty' is not known: it may be in the plug-in"
ok $? "a variant of one that is left out is no mistake of the command"
"$flashback" run -q "$scratch/mine.ini" -s "variant=faulty cpu-split" --plugin "$scratch/CRASH_LOADING.so" \
    -o "$scratch/lost.h5" >"$scratch/out" 2>"$scratch/err"
[ $? -eq 1 ] && tail -n 1 "$scratch/err" | grep -q "variant 'faulty' is not known: it may be in the plug-in" &&
    [ ! -e "$scratch/lost.jsonl" ]
ok $? "... nor of the experiment"
build HANG_LOADING
"$flashback" check -q --plugin "$scratch/HANG_LOADING.so" --plugin "$mine" -p n=8,d=8,dtype=fp32 \
    >"$scratch/out" 2>"$scratch/err"
[ $? -eq 1 ] && grep -q "left out: it does not return" "$scratch/err" && grep -q '^  mine .*pass' "$scratch/out"
ok $? "HANG_LOADING: left out, and the run goes on"

# ---- Those that do so at the end: what was found out stands, and the fault is told
leaves() { # FAULT PATTERN
    build "$1"
    expect 1 "after the last case: $2" "$1: told in a line" check "$1"
    [ "$(grep -Ec '^  (faulty|cpu-split) +pass' "$scratch/out")" -eq 2 ]
    ok $? "... and both are judged"
}
leaves CRASH_LEAVING "killed by signal 11"
leaves CRASH_AT_EXIT "killed by signal 11"
leaves HANG_LEAVING "not ended after 2 s"
printf '[grid]\nvariant = faulty\nn = 1\nd = 8\n[measure]\nwhat = error\n' >"$scratch/leaving.ini"
expect 1 "after the last case: killed by signal 11" "... by a run, too" "$flashback" run -q "$scratch/leaving.ini" \
    --plugin "$scratch/CRASH_LEAVING.so" -o "$scratch/leaving.h5"
tap_done

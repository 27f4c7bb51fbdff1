#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_limits.sh: what is too large, and what a machine does not give. A refusal comes at once, in
# one line, and no variant is blamed for what the harness was denied.
. "$(dirname "$0")/../lib.sh"

# ini NAME LINE...: an experiment of these lines.
ini() {
    local name=$1
    shift
    printf '%s\n' "$@" >"$scratch/$name.ini"
}

ini tiny '[grid]' 'variant = cpu-split cpu-naive' 'n = 16 32' 'd = 16' 'dtype = fp32' \
    '[measure]' 'what = speed error' 'max_samples = 6' 'max_seconds = 0.2'

# ---- Sizes
long="n=500000000,d=256,h=2,causal"
expect 3 "cpu-split' refused every case" "a problem of petabytes is refused" \
    timeout 60 "$flashback" check -v cpu-split -p "$long"
expect 3 "cpu-split' refused every case" "as many bytes in sequences" \
    timeout 60 "$flashback" check -v cpu-split -p "b=2000000000,n=1024,d=64,window=3:5"
expect 0 "" "a million empty sequences are a success" \
    timeout 60 "$flashback" check -v cpu-split -p "b=1000000,nq=0,nk=0,d=8,dtype=fp32"
expect 2 "larger than 64-bit" "more than 64 bits" \
    "$flashback" check -v cpu-split -p "b=2000000000,n=2000000000,h=1000,d=64"

# ---- Grids
numbers=$(seq -s ' ' 1 40)
ini wide '[grid]' 'variant = cpu-split' "b = $numbers" "h = $numbers" "nq = $numbers" "nk = $numbers" 'd = 8'
expect 2 "wide.ini:1: \[grid\] has 2.56e\+06 cases; at most 100000" "a grid of millions" \
    timeout 60 "$flashback" run "$scratch/wide.ini" --dry-run
ini many '[grid]' 'variant = cpu-split cpu-atomic cpu-naive' "b = $numbers" "nq = $numbers" "d = 1 2 3 4 5 6 7 8" 'nk = 8'
timeout 60 "$flashback" run "$scratch/many.ini" --dry-run >"$scratch/out"
ok $? "a grid of many cases is multiplied out"
[ "$(wc -l <"$scratch/out")" -eq 38400 ]
ok $? "... whole"
ini empty '[grid]' 'variant = cpu-split' 'n = 8' 'n =' 'd = 8'
expect 2 "empty.ini:4: key 'n' in \[grid\] has no value" "a key without a value" \
    "$flashback" run "$scratch/empty.ini" --dry-run
ini what '[grid]' 'variant = cpu-split' 'n = 8' 'd = 8' '[measure]' 'what ='
expect 2 "what.ini:6: key 'what' has no value; allowed: speed" "nothing to measure" \
    "$flashback" run "$scratch/what.ini" --dry-run
expect 2 "tiny.ini.*typo.*allowed|unknown key 'typo'.*allowed: " "--set of an unknown key" \
    "$flashback" run "$scratch/tiny.ini" --set typo=1 --dry-run

# ---- Words
expect 2 "unknown key 'nonsense' in \\[measure\\]" "check --set of an unknown key, without an experiment" \
    "$flashback" check -v cpu-split -p n=8,d=8,dtype=fp32 --set nonsense=5
expect 2 "det_runs=1" "check --set of a value that is none" \
    "$flashback" check -v cpu-split -p n=8,d=8,dtype=fp32 --set det_runs=1
expect 2 "unknown variant 'a\?b'" "a line feed in an argument" "$flashback" check -v "a
b" -p n=8,d=8
expect 2 "FLASHBACK_ISA must be" "an instruction set that is not there (run)" \
    env FLASHBACK_ISA=v9 "$flashback" run "$scratch/tiny.ini" -o "$scratch/isa.h5"
expect 2 "FLASHBACK_ISA must be" "an instruction set that is not there (check)" \
    env FLASHBACK_ISA=v9 "$flashback" check -v cpu-split -p n=8,d=8
[ ! -e "$scratch/isa.jsonl" ]
ok $? "... leaves no output behind"

# ---- Files
mkfifo "$scratch/pipe.jsonl"
expect 4 "pipe.jsonl is a pipe" "a pipe in the journal's place" \
    timeout 60 "$flashback" run -q "$scratch/tiny.ini" -o "$scratch/pipe.h5"
(
    ulimit -n 12
    expect 4 "cannot set up a worker: Too many open files" "too few descriptors for a worker" \
        "$flashback" check -v cpu-split -p n=8,d=8,dtype=fp32 --json "$scratch/cut.json"
    grep -q '"complete":false' "$scratch/cut.json"
    ok $? "... and the report says that it is not whole"
    echo "$tap_count $tap_failed" >"$scratch/counts"
)
read -r tap_count tap_failed <"$scratch/counts"
if grep -qa __tsan_init "$flashback"; then # it maps files of its own, and dies of the limit itself
    skip "a limit on the size of files: under ThreadSanitizer"
else
    (
        ulimit -f 1 # of 1024 bytes
        expect 4 "write.*: File too large" "a limit on the size of files" \
            "$flashback" run -q "$scratch/tiny.ini" -o "$scratch/limit.h5"
        echo "$tap_count $tap_failed" >"$scratch/counts"
    )
    read -r tap_count tap_failed <"$scratch/counts"
fi
expect 0 "" "... and the run goes on without it" \
    "$flashback" run -q "$scratch/tiny.ini" -o "$scratch/limit.h5" --resume
expect 0 "measured in another way than before \\(max_samples = 7\\)$" "--resume with other settings says so" \
    "$flashback" run "$scratch/tiny.ini" -o "$scratch/limit.h5" --resume --set max_samples=7
tap_done

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_offers.sh: `list` says what variants take and what would run, in each of its formats; the README's
# table is the program's.
. "$(dirname "$0")/../lib.sh"

bash "$top_srcdir/build-aux/offers.sh" "$flashback" "$top_srcdir/README.md" >"$scratch/README.md"
ok $? "the README has a table of offers"
diff "$top_srcdir/README.md" "$scratch/README.md" | sed 's/^/# /'
cmp -s "$top_srcdir/README.md" "$scratch/README.md"
ok $? "... as this program has it (make readme)"

"$flashback" list --offers >"$scratch/text"
grep -A 7 '^cpu-naive$' "$scratch/text" | grep -Eq '^  numerics  ps: any; delta: any; round: any'
ok $? "text: an item a line"
! grep -q trap "$scratch/text" && "$flashback" list --offers --traps | grep -q '^trap-tile-delta, '
ok $? "... of the traps, where asked"
"$flashback" list --offers --format md | awk -F'|' 'NF != 10 { bad = 1 } END { exit bad || NR < 5 }'
ok $? "md: a table of eight columns"
"$flashback" list --offers --format json >"$scratch/json"
grep -q '"name":"cpu-ml".*"offer":{"dtype":\["fp32","bf16","fp16"\].*"lse":\["fp32"\]' "$scratch/json"
ok $? "json: an array for each set"
"$flashback" list --json | cmp -s - "$scratch/json"
ok $? "... which list --json has, too"
expect 2 "not one of text, md, json" "another format is refused" "$flashback" list --offers --format tex
expect 2 "goes with --offers" "a format of what has none" "$flashback" list --format md

"$flashback" list -p n=1000,d=64,causal >"$scratch/out"
grep -Eq '^cpu-partials +yes +0 +[1-9][0-9]* +64x64, [0-9]+ copies of dQ' "$scratch/out"
ok $? "-p tells bytes, and what would run"
"$flashback" list -p n=200,d=64,softcap=3 --traps | grep -Eq '^trap-none +no +- +- +softcap: not offered'
ok $? "... or why it is refused"
expect 2 "d" "a problem that is none" "$flashback" list -p n=200,d=0

"$flashback" check -q -v cpu-partials -v cpu-naive -p n=600,d=64,causal,dtype=fp32 --json "$scratch/check.json" >/dev/null
grep -q '"kernel":"64x64, [0-9]* copies of dQ"' "$scratch/check.json"
ok $? "the record says what ran"
tap_done

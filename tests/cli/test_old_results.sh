#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# test_old_results.sh: files of schema 1, which had a status and a verdict where there is one outcome
# now. tests/store/schema1 holds a journal and a results file that a program of that time wrote, and
# the tables that it drew from them.
. "$(dirname "$0")/../lib.sh"
old=$top_srcdir/tests/store/schema1
gzip -dc "$old/results.h5.gz" >"$scratch/results.h5"
cp "$old/results.jsonl" "$scratch/journal.jsonl"
chmod u+w "$scratch/journal.jsonl"

tables() { # FILE: of each kind, as CSV
    for kind in speed memory error determinism; do
        "$flashback" table "$1" --kind $kind --format csv
        echo
    done
}
column() { # FILE COLUMN: its values
    "$flashback" export "$1" | sed 's/"[^"]*"/text/g' | awk -v name="$2" \
        'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i } NR > 1 { print $2, $at }'
}
same_tables() {
    tables "$1" >"$scratch/tables" 2>&1
    diff "$scratch/tables" "$old/tables.csv" | sed 's/^/# /'
    cmp -s "$scratch/tables" "$old/tables.csv"
    ok $? "$2"
}
same_tables "$scratch/journal.jsonl" "the tables of an old journal are what they were"
same_tables "$scratch/results.h5" "... and of an old results file"
# The words of status and verdict, read back without a look at the columns that took their place.
"$flashback" export "$scratch/journal.jsonl" | awk 'NR > 1 { print $2 }' >"$scratch/variants"
sed -n 's/^[0-9a-f]* {"case":.*"status":"\([a-z]*\)".*/\1/p' "$old/results.jsonl" >"$scratch/status"
sed -n '/"case":/s/.*"status":"[a-z]*"\(,"verdict":"\([a-z-]*\)"\)*.*/\2/p' "$old/results.jsonl" >"$scratch/verdict"
paste -d ' ' "$scratch/variants" "$scratch/status" "$scratch/verdict" |
    awk '{ print $1, $2 != "done" ? $2 : $3 ? $3 : "unjudged" }' >"$scratch/wanted"
[ "$(cut -d ' ' -f 2 "$scratch/wanted" | sort -u | tr '\n' ' ')" = "crashed fail not-checkable pass refused unjudged " ]
ok $? "six outcomes are among them"
for file in journal.jsonl results.h5; do
    column "$scratch/$file" outcome | cmp -s - "$scratch/wanted"
    ok $? "$file: status and verdict make the outcome"
    timed=$(column "$scratch/$file" bwd_n_samples | grep -c ' 5$')
    rules=$(column "$scratch/$file" bwd_stop_rule | grep -Ec ' (interval|samples|seconds)$')
    [ "$timed" -gt 3 ] && [ "$rules" -eq "$timed" ]
    ok $? "$file: columns of the backward have its name now"
done

# ---- merge writes the schema of today
expect 0 "" "merge takes an old file" "$flashback" merge "$scratch/new.h5" "$scratch/results.h5"
same_tables "$scratch/new.h5" "... and the tables stay"
"$flashback" export "$scratch/results.h5" >"$scratch/before"
"$flashback" export "$scratch/new.h5" | cmp -s - "$scratch/before"
ok $? "... and every column"
[ "$(head -n 1 "$scratch/before" | tr ' ' '\n' | grep -cx 'status\|verdict\|n_samples\|stop_rule')" -eq 0 ]
ok $? "no column has an old name"

# ---- What is in neither list
forge() { # FROM TO: a journal with another word in it and the right checksums
    sed "s/$1/$2/" "$old/results.jsonl" | cut -c 10- | while IFS= read -r line; do
        printf '%s %s\n' "$(printf %s "$line" | gzip -c | tail -c 8 | od -An -tx4 -N4 | tr -d ' ')" "$line"
    done >"$scratch/forged.jsonl"
}
forge '"mask":"causal"' '"mask":"casual"'
expect 4 "column mask: 'casual' is not one of full, causal, causal-topleft" "an unknown name is told, with its column" \
    "$flashback" table "$scratch/forged.jsonl"
forge '"det_claim":"dk+dv"' '"det_claim":"dk+dw"'
expect 4 "column det_claim: 'dk\+dw' is not one of dq, dk, dv" "... in a set, too" "$flashback" table "$scratch/forged.jsonl"
forge '"status":"crashed"' '"status":"asleep"'
expect 4 "column status: 'asleep' is not one of done," "... and in a column of then" "$flashback" table "$scratch/forged.jsonl"
tap_done

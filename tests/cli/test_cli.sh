#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_cli.sh: what a user can get wrong. Each gives one line and the right exit status.
. "$(dirname "$0")/../lib.sh"

tiny="-p n=8,d=8,dtype=fp32"

# ---- The front door
expect 2 "no command" "no command" "$flashback"
expect 2 "unknown command 'chekc'" "an unknown command" "$flashback" chekc
expect 0 "" "--help" "$flashback" --help
expect 0 "" "--version" "$flashback" --version
for command in list info check run table plot export merge; do
    expect 0 "" "$command --help" "$flashback" $command --help
    mv "$scratch/out" "$scratch/help"
    "$flashback" $command -h | cmp -s - "$scratch/help"
    ok $? "$command -h says the same"
    expect 2 "unknown option --nonsense" "$command --nonsense" "$flashback" $command --nonsense
done
for words in --help --version list "list --help"; do
    "$flashback" $words >/dev/full 2>"$scratch/err"
    [ $? -eq 4 ] && [ "$(cat "$scratch/err")" = "flashback: cannot write to standard output" ]
    ok $? "$words on a full device"
done

# ---- Problems and numerics
expect 2 "d=0 .*1.*256" "d=0" "$flashback" check -v cpu-split -p n=8,d=0
expect 2 "d=257 .*1.*256" "d=257" "$flashback" check -v cpu-split -p n=8,d=257
expect 2 "dtype=fp8.*fp32.*bf16.*fp16" "dtype=fp8" "$flashback" check -v cpu-split -p n=8,d=8,dtype=fp8
expect 2 "h.*hk" "h not divisible by hk" "$flashback" check -v cpu-split -p n=8,d=8,h=6,hk=4
expect 2 "seqlen" "an unknown problem key" "$flashback" check -v cpu-split -p seqlen=8,d=8
expect 2 "mask" "an unknown mask" "$flashback" check -v cpu-split -p n=8,d=8,mask=diagonal
expect 2 "fp12" "unknown numerics" "$flashback" check -v cpu-split $tiny -n dq=fp12
expect 2 "normal" "an unknown recipe" "$flashback" check -v cpu-split $tiny -r normal@1
expect 2 "unknown variant 'cpu-magic'" "an unknown variant" "$flashback" check -v cpu-magic $tiny
expect 2 "option -v needs a value" "an option without its value" "$flashback" check -v
expect 2 "option --kind needs a value" "... of one that has no letter" "$flashback" table --kind
expect 2 "option --quiet takes no value" "an option with a value too many" "$flashback" run --quiet=yes
expect 2 "unknown option -x" "an unknown letter before others" "$flashback" run --set=n=3 -xq
expect 0 "" "n=0 is a success" "$flashback" check -v cpu-split -v cpu-atomic -p n=0,d=8,dtype=fp32
expect 0 "" "nk=0 is a success" "$flashback" check -v cpu-split -p nq=4,nk=0,d=8,dtype=fp32
expect 0 "" "b=0 is a success" "$flashback" check -v cpu-split -p b=0,n=4,d=8,dtype=fp32
expect 3 "cpu-atomic' refused every case" "a named variant that refuses all" \
    "$flashback" check -v cpu-atomic -p n=8,d=8 -n dq=bf16,round=row

# ---- Terms of a problem, and inputs from a file
expect 0 "" "every term at once, dbias and dsink among what is judged" "$flashback" check -v cpu-atomic \
    -p b=2,h=4,hk=2,nq=65,nk=129,d=64,softcap=20,alibi=auto,bias=head,dropout=0.1@7:3,sink,dlse \
    --runs 2 --json "$scratch/terms.json"
grep -q '"dbias_verdict": *"pass"' "$scratch/terms.json" && grep -q '"dsink_verdict": *"pass"' "$scratch/terms.json"
ok $? "... as the report says"
[ "$(grep -o '"d\(bias\|sink\)_deterministic":1' "$scratch/terms.json" | sort -u | wc -l)" -eq 2 ]
ok $? "... and their bits are compared from run to run"
golden=$top_srcdir/tests/golden/handed.h5
expect 0 "" "inputs from a group of a file" "$flashback" check -v cpu-split -v cpu-naive --runs 2 \
    -p h=2,n=33,d=16,causal,sink,dtype=bf16 -r "file:$golden#sink"
expect 2 "q is \[1, 2, 33, 16\], the problem wants \[1, 2, 34, 16\]" "a file that does not fit" \
    "$flashback" check -v cpu-split -p h=2,n=34,d=16 -r "file:$golden#sink"
expect 2 "has no dataset 'bias'" "a file that lacks a tensor" \
    "$flashback" check -v cpu-split -p h=2,n=33,d=16,bias=all -r "file:$golden#sink"
expect 4 "cannot be opened" "a file that is not there" \
    "$flashback" check -v cpu-split -p n=8,d=8 -r file:/nonexistent.h5
if h5repack -f GZIP=1 "$golden" "$scratch/packed.h5" 2>/dev/null; then
    LC_ALL=C sed -i 's/\x78[\x01\x5e\x9c]/\x00\x00/g' "$scratch/packed.h5" # no zlib header is left
    printf '[grid]\nvariant = cpu-split\nproblem = h=2,n=33,d=16,causal,sink\ndtype = bf16\nrecipe = %s %s\n' \
        "file:$scratch/packed.h5#sink" "file:$golden#sink" >"$scratch/damaged.ini"
    expect 4 "packed.h5.*cannot be read" "damaged inputs beside good ones" "$flashback" check "$scratch/damaged.ini"
    grep -q "1 passed, 0 failed, 1 refused" "$scratch/out"
    ok $? "... which are judged all the same"
    printf '[measure]\nwhat = error\n' >>"$scratch/damaged.ini"
    expect 4 "packed.h5.*cannot be read" "a run says so, too" "$flashback" run -q "$scratch/damaged.ini" -o "$scratch/damaged.h5"
    cp "$golden" "$scratch/packed.h5"
    "$flashback" run "$scratch/damaged.ini" -o "$scratch/damaged.h5" --resume 2>&1 | grep -q "2 cases: 2 passed, 0 failed"
    ok $? "... and tries again with --resume once the file is mended"
else
    skip "damaged inputs beside good ones: no h5repack"
fi

# ---- The report of a check
early() { # PATTERN TEXT FILE: is told before anything is judged
    expect 4 "$1" "$2" "$flashback" check -v cpu-split $tiny --json "$3"
    [ ! -s "$scratch/out" ]
    ok $? "... is told before anything is judged"
}
early "cannot write $scratch/no/such.json" "a report in a folder that is not there" "$scratch/no/such.json"
mkdir "$scratch/folder.json"
early "folder.json: not a regular file" "a folder in the report's place" "$scratch/folder.json"
early "without a name" "a report without a name" ""
ln -s "$scratch/led-to.json" "$scratch/link.json"
early "link.json: No such file" "a link to nothing in the report's place" "$scratch/link.json"
echo old >"$scratch/led-to.json"
expect 0 "" "a link to a report" "$flashback" check -v cpu-split $tiny --json "$scratch/link.json"
[ -L "$scratch/link.json" ] && grep -q '"complete":true' "$scratch/led-to.json"
ok $? "... is followed, and stays a link"
early "standard output goes there" "a report where standard output goes" "$scratch/out"
expect 2 "unknown key 'repeat'.*allowed: what" "a setting that is none" "$flashback" check -v cpu-split $tiny -s repeat=3
[ ! -s "$scratch/out" ]
ok $? "... is told before anything is judged"
"$flashback" check -q -v cpu-split $tiny --json "$scratch/report.json" >/dev/null &&
    grep -q '"complete":true' "$scratch/report.json" && [ ! -e "$scratch/report.json.tmp" ]
ok $? "a report is whole, and alone"

# ---- Experiments
printf '[grid]\nvariant = cpu-split\nseqlen = 8\n' >"$scratch/typo.ini"
expect 2 "typo.ini:3: unknown key 'seqlen'.*allowed: variant" "a typing error in an experiment" \
    "$flashback" run "$scratch/typo.ini" -o "$scratch/typo.h5"
[ ! -e "$scratch/typo.h5" ] && [ ! -e "$scratch/typo.jsonl" ]
ok $? "... leaves no output behind"
expect 4 "cannot read experiment" "an experiment that is not there" "$flashback" run "$scratch/none.ini"
cat >"$scratch/tiny.ini" <<'INI'
[experiment]
question = does it run
[grid]
variant = cpu-split cpu-atomic cpu-naive
n = 16 32
d = 16
dtype = fp32
[measure]
what = speed memory error
max_samples = 6
max_seconds = 0.2
INI
expect 0 "" "--dry-run" "$flashback" run "$scratch/tiny.ini" --dry-run
[ "$(grep -c '^run' "$scratch/out")" -ge 4 ]
ok $? "... lists the grid"
expect 2 "not in the grid" "-v outside the grid" "$flashback" run "$scratch/tiny.ini" -v null -o "$scratch/x.h5"
expect 2 "shard" "a shard out of range" "$flashback" run "$scratch/tiny.ini" --shard 3/2
expect 2 "exclude" "--resume with --replace" "$flashback" run "$scratch/tiny.ini" --resume --replace

# ---- Output files
expect 0 "" "a tiny run" "$flashback" run -q "$scratch/tiny.ini" -o "$scratch/tiny.h5"
head -1 "$scratch/tiny.jsonl" | grep -q '"argv":"flashback run -q -o tiny.h5 tiny.ini"'
ok $? "the facts tell the command without the folders of this machine"
head -1 "$scratch/tiny.jsonl" | grep -q '; max_seconds = 0.2;'
ok $? "... and settings as one would write them"
expect 2 "resume|replace" "an output that is there already" \
    "$flashback" run -q "$scratch/tiny.ini" -o "$scratch/tiny.h5"
expect 0 "" "--resume of a complete run" "$flashback" run -q "$scratch/tiny.ini" -o "$scratch/tiny.h5" --resume
expect 3 "nothing ran; cases refused: 1$" "a run whose every case is refused" "$flashback" run -q \
    "$scratch/tiny.ini" -s variant=cpu-atomic -s n=8 -s numerics=dq=bf16,round=row -o "$scratch/refused.h5"
expect 0 "" "a shard without a case" "$flashback" run -q "$scratch/tiny.ini" --shard 1/1000 -o "$scratch/shard.h5"
[ "$(grep -c '"case"' "$scratch/shard.jsonl")" -eq 0 ]
ok $? "... writes its results file"
expect 0 "" "--replace" "$flashback" run -q "$scratch/tiny.ini" -o "$scratch/tiny.h5" --replace
expect 4 "$scratch/no/such" "a folder that is not there" \
    "$flashback" run -q "$scratch/tiny.ini" -o "$scratch/no/such.h5"
expect 4 "" "an output on a full device" "$flashback" run -q "$scratch/tiny.ini" -o /dev/full/x.h5
(
    exec 9>>"$scratch/tiny.jsonl"
    flock 9
    cp "$scratch/tiny.h5" "$scratch/before.h5"
    expect 4 "another|held|lock" "an output held by another run" \
        "$flashback" run -q "$scratch/tiny.ini" -o "$scratch/tiny.h5" --replace
    cmp -s "$scratch/before.h5" "$scratch/tiny.h5"
    ok $? "... is not harmed"
    echo "$tap_count $tap_failed" >"$scratch/counts"
)
read -r tap_count tap_failed <"$scratch/counts"
cp "$scratch/tiny.ini" "$scratch/self.ini"
expect 2 "self.ini is no results file" "an output that is the experiment itself" \
    "$flashback" run -q "$scratch/self.ini" --replace -o "$scratch/self.ini"
cmp -s "$scratch/tiny.ini" "$scratch/self.ini"
ok $? "... is not harmed"
expect 2 "output needs the name" "an empty output name" "$flashback" run -q "$scratch/tiny.ini" -o ""
mkdir "$scratch/folder.h5"
expect 4 "not a regular file" "a folder as output" \
    "$flashback" run -q "$scratch/tiny.ini" -o "$scratch/folder.h5" --replace
expect 2 "new.jsonl is a journal's name" "results under a journal's name" \
    "$flashback" run -q "$scratch/tiny.ini" -o "$scratch/new.jsonl"
cp "$scratch/tiny.jsonl" "$scratch/whole.jsonl"
expect 2 "whole.jsonl is no results file" "merge into a journal" \
    "$flashback" merge "$scratch/whole.jsonl" "$scratch/tiny.h5"
cmp -s "$scratch/tiny.jsonl" "$scratch/whole.jsonl"
ok $? "... does not harm it"
expect 2 "belongs to a run" "merge into a file that a run owns" \
    "$flashback" merge "$scratch/tiny.h5" "$scratch/before.h5"
expect 0 "" "merge into a new file" "$flashback" merge "$scratch/merged.h5" "$scratch/tiny.h5"
expect 2 "nobody" "merge of a variant that no file has" \
    "$flashback" merge -v nobody "$scratch/of-nobody.h5" "$scratch/tiny.h5"
printf '[grid]\nvariant = cpu-split\nn = 8\nd = 8\n\0\n[grid b]\n' >"$scratch/nul.ini"
expect 2 "nul.ini:5: a NUL byte" "a NUL byte in an experiment" "$flashback" run "$scratch/nul.ini" --dry-run
"$flashback" run "$scratch/tiny.ini" -o "$scratch/closed.h5" 2>&-
ok $? "a run with stderr closed"
[ "$(grep -c '"case"' "$scratch/closed.jsonl")" -eq 6 ] && ! grep -q '^\[' "$scratch/closed.jsonl"
ok $? "... keeps its journal clean"
"$flashback" list >&- 2>/dev/null
ok $((($? == 4) ? 0 : 1)) "list with stdout closed"
(
    cp "$scratch/tiny.jsonl" "$scratch/spoilt.jsonl"
    cp "$scratch/tiny.h5" "$scratch/spoilt.h5"
    sed -i '2s/"case"/"cast"/' "$scratch/spoilt.jsonl"
    expect 4 "spoilt.jsonl.*damaged" "--resume on a damaged journal" \
        "$flashback" run -q "$scratch/tiny.ini" -o "$scratch/spoilt.h5" --resume
    cmp -s "$scratch/tiny.h5" "$scratch/spoilt.h5"
    ok $? "... leaves the results file as it was"
    expect 4 "line 2 is damaged.*would be lost" "merge of a damaged journal" \
        "$flashback" merge "$scratch/of-spoilt.h5" "$scratch/spoilt.jsonl"
    [ ! -e "$scratch/of-spoilt.h5" ]
    ok $? "... writes nothing"
    head -c -9 "$scratch/tiny.jsonl" >"$scratch/cut.jsonl"
    expect 0 "torn off" "merge of a journal with a torn tail" \
        "$flashback" merge "$scratch/of-cut.h5" "$scratch/cut.jsonl"
    echo "$tap_count $tap_failed" >"$scratch/counts"
)
read -r tap_count tap_failed <"$scratch/counts"
head -c 3000 "$scratch/tiny.h5" >"$scratch/torn.h5"
echo "no HDF5 at all" >"$scratch/text.h5"
mkfifo "$scratch/fifo.h5"
for command in "table" "export" "merge $scratch/fifo-merged.h5" "check -v cpu-split --golden"; do
    expect 4 "fifo.h5: not a regular file" "${command%% *} of a pipe that nobody writes to" \
        timeout 10 "$flashback" $command "$scratch/fifo.h5"
done
for command in table plot export; do
    expect 4 "torn.h5" "$command of a truncated file" "$flashback" $command "$scratch/torn.h5"
    expect 4 "text.h5" "$command of what is not HDF5" "$flashback" $command "$scratch/text.h5"
    expect 4 "none.h5" "$command of no file" "$flashback" $command "$scratch/none.h5"
done
for kind in speed memory error determinism; do
    for format in text md csv tex; do
        expect 0 "" "table --kind $kind --format $format" \
            "$flashback" table "$scratch/tiny.h5" --kind $kind --format $format
    done
done
expect 2 "format: csv holds one table.*--kind speed, memory, error or determinism" \
    "tables of several kinds are not one of CSV" "$flashback" table "$scratch/tiny.h5" --format csv
expect 2 "kind" "an unknown table" "$flashback" table "$scratch/tiny.h5" --kind taste
expect 2 "format" "an unknown format" "$flashback" table "$scratch/tiny.h5" --format docx
"$flashback" table "$scratch/tiny.h5" -v cpu-split >"$scratch/one.txt" &&
    grep -q '^  cpu-split' "$scratch/one.txt" && ! grep -q '^  cpu-naive' "$scratch/one.txt" &&
    "$flashback" table "$scratch/tiny.h5" | grep -q '^  cpu-naive'
ok $? "a table of one variant"
many=$(for _ in $(seq 65); do printf -- '-v cpu-split '; done)
for command in "check $tiny" "run $scratch/tiny.ini --dry-run" "table $scratch/tiny.h5" "plot $scratch/tiny.h5"; do
    expect 2 "one too many.*64" "${command%% *}: -v more often than there is room for" "$flashback" $command $many
done
expect 2 "variant: no record of a variant 'cpu-ml'; there are records of: cpu-split, .*cpu-naive$" \
    "a table of a variant that is not there" "$flashback" table "$scratch/tiny.h5" -v cpu-split -v cpu-ml
expect 2 "baseline: no record of a variant 'cpu-naive'; there are records of: cpu-split$" \
    "a baseline that was left out" "$flashback" table "$scratch/tiny.h5" -v cpu-split --baseline cpu-naive

# ---- Locale
if locale -a 2>/dev/null | grep -qi '^de_DE'; then
    "$flashback" table "$scratch/tiny.h5" >"$scratch/c.txt"
    LC_ALL=de_DE.UTF-8 "$flashback" table "$scratch/tiny.h5" >"$scratch/de.txt"
    cmp -s "$scratch/c.txt" "$scratch/de.txt"
    ok $? "a locale with a decimal comma changes nothing"
else
    skip "no de_DE locale here"
fi

# ---- Interrupts
cat >"$scratch/long.ini" <<'INI'
[grid]
variant = cpu-split cpu-naive
n = 16 24 32 40 48 56 64 4096
h = 8
d = 128
dtype = fp32
[measure]
what = speed error
max_seconds = 20
interval = 0
max_samples = 100000
INI
# interrupt SIGNAL DELAY [COMMAND]: the exit status of a run, started by the command, that gets the
# signal, and how long it took to end.
interrupt() {
    rm -f "$scratch/long.h5" "$scratch/long.jsonl"
    $3 "$flashback" run -q "$scratch/long.ini" -s max_seconds=0.3 -o "$scratch/long.h5" 2>"$scratch/err" &
    local pid=$! begin
    sleep "$2"
    begin=$(date +%s%N)
    kill -"$1" $pid
    wait $pid
    status=$?
    took=$((($(date +%s%N) - begin) / 1000000))
}
# Background jobs of a script ignore SIGINT unless job control is on.
set -m
interrupt INT 1.5
ok $((status == 130 ? 0 : 1)) "Ctrl-C: exit status 130 (got $status)"
ok $((took < 1000 ? 0 : 1)) "... within a second (took $took ms)"
"$flashback" table "$scratch/long.h5" >/dev/null 2>&1
ok $? "... and the file is complete"
interrupt TERM 1.5
ok $((status == 143 ? 0 : 1)) "SIGTERM: exit status 143 (got $status)"
if env --default-signal=HUP true 2>/dev/null; then
    interrupt HUP 1.5 "env --default-signal=HUP"
    ok $((status == 129 ? 0 : 1)) "a terminal that goes (SIGHUP): exit status 129 (got $status)"
    "$flashback" table "$scratch/long.h5" >/dev/null 2>&1
    ok $? "... and the file is complete"
else
    skip "env has no --default-signal"
fi
(trap '' HUP && "$flashback" run -q "$scratch/long.ini" -s max_seconds=0.3 -s "n=16 24 32 40" \
    -o "$scratch/nohup.h5" 2>"$scratch/err") &
pid=$!
sleep 1
kill -HUP -$pid
wait $pid
status=$?
ok $((status == 0 ? 0 : 1)) "under nohup it goes on to the end (got $status)"
rm -f "$scratch"/long.*5 "$scratch"/long.jsonl
"$flashback" run -q "$scratch/long.ini" -s max_seconds=0.3 -s "n=16 24 32 40 48 56 64" \
    -o "$scratch/long.h5" 2>/dev/null &
pid=$!
for _ in $(seq 300); do # until something is there to be lost
    [ "$(grep -c '"case"' "$scratch/long.jsonl" 2>/dev/null)" -ge 2 ] 2>/dev/null && break
    sleep 0.1
done
kill -KILL $pid
wait $pid 2>/dev/null
set +m
before=$(grep -c '"case"' "$scratch/long.jsonl")
ok $((before >= 2 ? 0 : 1)) "kill -9 leaves the $before records that were finished"
grep '"case"' "$scratch/long.jsonl" | head -n "$before" >"$scratch/kept"
sleep 0.3
! pgrep -P $pid >/dev/null
ok $? "a killed supervisor takes its worker with it"
expect 0 "" "--resume after kill -9" "$flashback" run -q "$scratch/long.ini" -s max_seconds=0.3 \
    -s "n=16 24 32 40 48 56 64" -o "$scratch/long.h5" --resume
grep '"case"' "$scratch/long.jsonl" | head -n "$before" | cmp -s - "$scratch/kept"
ok $? "... as they were"
after=$(grep -c '"case"' "$scratch/long.jsonl")
ok $((after == 14 ? 0 : 1)) "... keeps $before records and completes ($after of 14)"
tap_done

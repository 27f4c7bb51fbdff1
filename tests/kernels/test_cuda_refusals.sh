#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_cuda_refusals.sh: what is said where no CUDA device can be used: `list` tells why, a case is
# refused with the same words, and nothing crashes. A device that is there is hidden.
. "$(dirname "$0")/../lib.sh"

if ! "$flashback" list | grep -q '^simt-atomic '; then
    skip "cuda refusals: built without CUDA"
    [ "$("$flashback" info | grep -c '^cu[a-z]* .*built without')" -eq 2 ]
    ok $? "info says that there are no libraries of CUDA"
    expect 2 "sm90-atomic.: this program was built without sm90" "a CUDA variant, named" \
        "$flashback" check -v sm90-atomic -p n=64,d=64,dtype=bf16
    expect 2 "h200.ini:[0-9]*: unknown variant .sm.*built without sm" "... and in a grid" \
        "$flashback" run "$top_srcdir/experiments/h200.ini" --dry-run
    tap_done
fi
export CUDA_VISIBLE_DEVICES=-1

"$flashback" list >"$scratch/list"
for variant in simt-naive simt-naive-online simt-atomic simt-split simt-ml cublas-naive cublas-naive-recompute \
    sm80-atomic sm80-split sm80-ordered sm80-partials sm90-atomic sm90-ordered sm90-split; do
    grep -Eq "^$variant +no .*no CUDA device" "$scratch/list"
    ok $? "list says why $variant does not run here"
done
grep -Eq '^cpu-split +yes' "$scratch/list"
ok $? "and that the CPU's do"
"$flashback" list --json | grep -q '"reason": *"no CUDA device'
ok $? "list --json says it, too"

# ---- A driver that is there but broken is not told as one that is missing
cc=${CC:-cc}
# driver TEXT PATTERN: `list` with the library of $scratch/driver gives the reason.
driver() {
    LD_LIBRARY_PATH="$scratch/driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$flashback" list >"$scratch/out" 2>&1
    grep -Eq "^simt-atomic +no .*no CUDA device \\($2" "$scratch/out"
    ok $? "$1"
}
if command -v ${cc%% *} >/dev/null; then
    mkdir "$scratch/driver"
    : >"$scratch/driver/libcuda.so.1"
    driver "a driver that does not load" "the driver does not load: .*libcuda.so.1"
    echo 'int cuInit(unsigned f); int cuInit(unsigned f) { return 803 + 0 * (int)f; }' |
        $cc -shared -fPIC -x c -o "$scratch/driver/libcuda.so.1" -
    driver "a driver that does not start" "the driver does not start: .*driver combination"
    echo 'int other(void); int other(void) { return 0; }' | $cc -shared -fPIC -x c -o "$scratch/driver/libcuda.so.1" -
    driver "a library that is no driver" "the driver does not load: it has no cuInit"
else
    skip "broken drivers: no C compiler"
fi

# ---- Libraries that are not where they are said to be
for library in CUBLAS CUDNN; do
    env FLASHBACK_$library=/nowhere "$flashback" info >"$scratch/out" 2>"$scratch/err"
    [ $? -eq 0 ] && [ ! -s "$scratch/err" ] &&
        grep -Eqi "^$library +(.*/nowhere|built without)" "$scratch/out" &&
        [ "$(grep -Evc '^[a-z0-9_]+ ' "$scratch/out")" -eq 0 ]
    ok $? "info says why there is no $library, in one line"
done

# ---- Cases
expect 3 "simt-atomic' refused every case" "a named variant without its device" \
    "$flashback" check -v simt-atomic -p n=8,d=8,dtype=fp32
grep -q 'refused.*no CUDA device' "$scratch/out"
ok $? "with the reason in its row"
expect 3 "simt-atomic' refused every case" "it is told beside one that runs" \
    "$flashback" check -v cpu-split -v simt-atomic -p n=8,d=8,dtype=fp32
grep -q '^  cpu-split .*pass' "$scratch/out"
ok $? "... which is checked all the same"

printf '[grid]\nvariant = simt-atomic cpu-split\nb = 1\nh = 1\nn = 8\nd = 8\ndtype = fp32\n' >"$scratch/two.ini"
"$flashback" run "$scratch/two.ini" -o "$scratch/two.h5" --quiet 2>"$scratch/err"
ok $? "a grid that is refused in part is fine"
grep -q '"outcome": *"refused".*no CUDA device' "$scratch/two.jsonl"
ok $? "and the record holds the reason"
"$flashback" run "$scratch/two.ini" --dry-run | grep -q '^refused .*simt-atomic.*no CUDA device'
ok $? "a dry run says it before"

# ---- The tests that need a device
FLASHBACK=$flashback bash "$top_srcdir/tests/device/cases.sh" "$scratch/cases" >"$scratch/out"
[ $? -eq 77 ] && grep -q '# SKIP no variant for a CUDA device' "$scratch/out"
ok $? "cases.sh is skipped, by name"
FLASHBACK=$scratch/none expect 1 "list' fails" "... but not without a program" \
    bash "$top_srcdir/tests/device/cases.sh" "$scratch/cases"
# A program of our own in the place of flashback: what becomes of the cases is known.
cat >"$scratch/played" <<'SH'
#!/bin/sh
[ "$1" != list ] || { echo "sm80-atomic yes"; exit 0; }
echo "2 cases: $PLAYED refused"
exit "$PLAYED_STATUS"
SH
chmod +x "$scratch/played"
# played STATUS TEXT SUMMARY EXIT PATTERN: cases.sh ends with the status and has this line and no other kind.
played() {
    PLAYED=$3 PLAYED_STATUS=$4 FLASHBACK=$scratch/played \
        bash "$top_srcdir/tests/device/cases.sh" "$scratch/cases" >"$scratch/out"
    [ $? -eq "$1" ] && [ "$(grep -c "$5" "$scratch/out")" -eq "$(grep -Ec '^(not )?ok' "$scratch/out")" ]
    ok $? "$2"
}
played 0 "a case of which something passed passes" "1 passed, 0 failed, 1" 3 '^ok [0-9]* - \|# SKIP .*no variant'
played 0 "... of which nothing did is skipped" "0 passed, 0 failed, 2" 3 '^ok [0-9]* # SKIP'
played 1 "... of which something failed fails" "0 passed, 1 failed, 1" 1 '^not ok\|# SKIP .*no variant'
mkdir "$scratch/bin"
printf '#!/bin/sh\necho No devices were found\n' >"$scratch/bin/nvidia-smi"
chmod +x "$scratch/bin/nvidia-smi"
PATH=$scratch/bin:$PATH expect 77 "no CUDA device" "so is suite.sh, before it builds anything" \
    bash "$top_srcdir/tests/device/suite.sh" "$scratch/built" "$scratch/logs"
[ ! -e "$scratch/built" ]
ok $? "... and leaves nothing"
tap_done

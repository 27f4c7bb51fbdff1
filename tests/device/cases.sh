#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# cases.sh [OUT-DIR]: what users of attention backwards on GPUs have run into (tests/README.md names the
# reports), for every CUDA variant of the program $FLASHBACK: each case passes, or is refused by name; what
# all of them refuse is skipped.
# JOBS cases go side by side (4); about a minute on a large device, which should have 64 GiB free.
# What a case printed is left in OUT-DIR (device-cases).
set -u
flashback=${FLASHBACK:-./flashback}
out=${1:-device-cases}
jobs=${JOBS:-4}
list=$("$flashback" list 2>&1) || {
    echo "cases.sh: '$flashback list' fails; FLASHBACK names the program" >&2
    exit 1
}
mapfile -t all < <(awk '$2 == "yes" && $1 !~ /^(cpu-|null$)/ { print $1 }' <<<"$list")
[ ${#all[@]} -gt 0 ] || {
    echo "1..0 # SKIP no variant for a CUDA device"
    exit 77
}
mkdir -p "$out" || exit 1
titles=() skipped=()

# of PATTERN: -v for every variant whose name it matches.
of() {
    printf '%s\n' "${all[@]}" | grep -E -- "$1" | sed 's/^/-v\n/'
}

# verify TITLE PATTERN ARGUMENT...: a case, started beside the others; skipped where no variant matches.
verify() {
    local title=$1 log
    local -a variants
    mapfile -t variants < <(of "$2")
    shift 2
    [ ${#variants[@]} -gt 0 ] || { skipped+=("$title") && return 0; }
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
    titles+=("$title")
    log=$out/$((${#titles[@]})).txt
    ("$flashback" check "${variants[@]}" "$@" >"$log" 2>&1
    echo "exit $?" >>"$log") &
}

# ---- Sizes and limits
sizes=()
for d in 8 16 24 33 40 80 96 160; do sizes+=(-p "b=2,h=3,n=65,d=$d,dtype=bf16"); done
verify "head sizes from 8 to 160, stores no wider than d" . "${sizes[@]}" --runs 2
verify "both halves of a head (exact data)" . -r dyadic@1 -p b=1,h=2,n=256,d=64,dtype=bf16 \
    -p b=1,h=2,n=256,d=128,dtype=bf16 -p b=1,h=2,n=256,d=256,dtype=bf16 --runs 2
verify "values narrower and wider than keys" . -p b=1,h=4,n=512,d=128,dv=96,dtype=bf16 \
    -p b=1,h=4,n=512,d=192,dv=128,dtype=bf16 -p b=1,h=4,n=512,d=64,dv=128,dtype=bf16 --runs 2
verify "scales: unset, small, 1, 0, negative" . -p n=128,d=80,dtype=bf16 -p n=128,d=80,dtype=bf16,scale=0.05 \
    -p n=128,d=80,dtype=bf16,scale=1 -p n=128,d=80,dtype=bf16,scale=0 -p n=128,d=80,dtype=bf16,scale=-0.1 --runs 2
groups=()
for g in 12:3 6:2 8:1 4:4 16:4; do groups+=(-p "h=${g%:*},hk=${g#*:},n=96,d=64,dtype=bf16"); done
verify "groups of heads" . "${groups[@]}" --runs 2
verify "8300 batches of one row: 2^31 elements of scratch" '^(sm|cudnn)' -p b=8300,h=16,n=1,d=128,dtype=bf16 --runs 2
verify "many key tiles and no query" '^sm80|^simt' -p h=64,nq=0,nk=8192,d=64,causal,dtype=bf16 \
    -p h=64,nq=0,nk=8192,d=64,causal,dtype=fp32 -p h=64,qlens=0+0,klens=8192+1,d=64,dtype=bf16 --runs 2
verify "65535 and 65536 batches" '^(sm|cublas-naive$)' -p b=65535,h=2,n=4,d=64,dtype=fp16 \
    -p b=65536,h=2,n=4,d=64,dtype=fp16 --runs 2
verify "a score matrix just above 2^31 elements" '^cublas-naive$|^sm' -p b=1,h=1,n=46341,d=64,dtype=bf16 --runs 2
verify "scores of 2^34 elements: in 64 bits, or refused with the figure" '^cublas|^simt-naive' \
    -p b=1,h=8,n=49999,d=64,dtype=bf16 -p b=1,h=8,n=49999,d=64,dtype=fp32 --runs 2
verify "scratch of small tiles, 64 batches of 65 rows" . -p b=64,h=2,n=65,d=64,dtype=bf16 --runs 2

# ---- Layouts
verify "other strides" . -p b=2,h=4,hk=1,n=32,d=128,dtype=fp16,layout=bnhd \
    -p b=2,h=4,n=33,d=64,dtype=fp16,layout=packed-qkv -p b=2,h=4,n=33,d=64,dtype=fp16,layout=expanded-dout --runs 2
verify "packed, with empty and one-token sequences" . \
    -p qlens=0+0+1023,klens=0+1+2045,h=8,d=128,dtype=bf16 --runs 4
verify "packed, short sequences beside long ones, several key tiles a CTA" '^sm80' \
    -p qlens=200+200+200,klens=1100+300+700,h=24,d=64,dtype=bf16 \
    -p qlens=300+300,klens=1100+300,h=48,d=128,dtype=bf16 \
    -p qlens=200+200+200,klens=1100+300+700,h=24,d=256,dtype=bf16 \
    -p qlens=1000+400,klens=1000+400,h=80,d=64,window=200:200,dtype=bf16 --runs 3

# ---- Determinism, hangs
verify "two-kernel forms, 200 runs, half of them beside a second load" 'split|ordered|partials|deterministic' \
    -p b=2,h=12,n=1024,d=64,dtype=fp16 -p b=2,h=8,n=512,d=64,dtype=fp16 --runs 200
verify "order under masks and windows" 'ordered|partials' -p b=1,h=4,n=1000,d=64,causal,dtype=bf16 \
    -p b=1,h=4,n=1000,d=64,window=256:0,dtype=bf16 -p qlens=1000+1+63,klens=1000+1+63,h=4,d=64,dtype=bf16,causal --runs 200
verify "short sequences of many heads, 200 runs" '^sm90|ordered' -p b=12,h=11,n=300,d=64,dtype=bf16 \
    -p b=12,h=11,nq=257,nk=300,d=128,causal,dtype=bf16 --runs 200
verify "a race: 50 runs of one head in 300 batches" . -r constant-dout@1 -p b=300,h=1,nq=2048,nk=128,d=128,dtype=fp16 --runs 50
verify "atomic additions: only dq varies" 'atomic|^cudnn$' -p b=2,h=8,n=2048,d=64,causal,dtype=bf16 --runs 100

# ---- Length, memory
verify "65536 tokens" '^(sm|cudnn)' -p b=1,h=2,n=65536,d=128,dtype=bf16 --runs 2
verify "few key heads" . -p b=24,h=16,hk=2,nq=256,nk=12288,d=128,dtype=bf16 --runs 2
wait

count=0 failed=0
for title in "${titles[@]}"; do
    count=$((count + 1))
    log=$out/$count.txt
    summary=$(grep -E '^[0-9]+ cases' "$log")
    case $(tail -n 1 "$log") in
        "exit 0" | "exit 3")
            case $summary in
                *": 0 passed"* | "") echo "ok $count # SKIP $title: nothing passed (${summary:-no summary})" ;;
                *) echo "ok $count - $title ($summary)" ;;
            esac
            ;;
        *)
            failed=$((failed + 1))
            echo "not ok $count - $title ($summary)"
            grep -E '^  [a-z0-9-]+ +(fail|crashed|hung)|^flashback' "$log" | cut -c 1-160 | head -n 5 | sed 's/^/# /'
            ;;
    esac
done
for title in "${skipped[@]}"; do
    count=$((count + 1))
    echo "ok $count # SKIP $title: no variant for it runs here"
done
echo "1..$count"
[ $failed -eq 0 ]

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_cases.sh: what users of other kernels ran into, as problems for every CPU variant; tests/README.md
# says which report each comes from. A variant may refuse what it does not offer; whatever it computes
# must be right. Sizes are those of the reports where a CPU can bear them.
. "$(dirname "$0")/../lib.sh"

command -v python3 >/dev/null || { echo "1..0 # SKIP no python3 to read reports"; exit 0; }
json=$scratch/report.json

# sound TEXT RECIPE PROBLEM...: every variant passes or refuses every problem.
sound() {
    local text=$1 recipe=$2 problems=() p
    shift 2
    for p; do problems+=(-p "$p"); done
    "$flashback" check -q --runs 2 -r "$recipe" --json "$json" "${problems[@]}" >"$scratch/out" 2>"$scratch/err"
    local got=$? good=0
    [ $got -eq 0 ] || { [ $got -eq 3 ] && ! grep -Eq '^  [a-z0-9-]+ +(fail|crashed)' "$scratch/out"; } || good=1
    ok $good "$text"
    [ $good -eq 0 ] || grep -E '^  [a-z0-9-]+ +(fail|crashed)|^[a-z]=' "$scratch/out" | head -5 | sed 's/^/# /'
}

# columns VARIANT COLUMN...: those columns of the last report's rows of a variant, a line a row.
columns() {
    python3 - "$json" "$@" <<'PY'
import json, sys
path, variant, names = sys.argv[1], sys.argv[2], sys.argv[3:]
for row in json.load(open(path))["cases"]:
    if row["variant"] == variant:
        print(*[row[name] for name in names])
PY
}

# ---- Lengths, tails, alignment
sound "one query, one key" randn:sigma=3@1 n=1,d=16,dtype=fp16 n=1,d=64,dtype=fp16 n=1,d=128,dtype=bf16
lengths=()
for n in 1 2 7 31 33 63 65 100 127 129 255 257; do
    lengths+=("h=2,n=$n,d=32,dtype=bf16" "h=2,n=$n,d=32,causal,dtype=bf16")
done
sound "every length around a tile" randn@1 "${lengths[@]}" n=1025,d=16,causal,dtype=bf16
sound "one query, many keys, dout all one; and the transpose" constant-dout@1 h=1,nq=1,nk=16385,d=32,dtype=bf16 \
    h=1,nq=1,nk=4097,d=32,layout=expanded-dout,dtype=bf16 h=1,nq=4096,nk=1,d=32,dtype=bf16
sound "causal with more queries than keys, and fewer" randn@1 h=1,nq=600,nk=300,d=64,causal,dtype=bf16 \
    h=2,nq=2,nk=5,d=64,causal,dtype=bf16 h=2,nq=2,nk=5,d=64,mask=causal-topleft,dtype=bf16 \
    h=4,hk=2,nq=64,nk=192,d=64,causal,dtype=fp16 h=4,hk=2,nq=64,nk=192,d=64,causal,dtype=bf16
sound "rows that see no key" randn:sigma=3@1 nq=256,nk=3,d=32,causal,dtype=fp16
sound "the causal switch off and on" randn@1 h=2,n=128,d=64,dtype=fp16 h=2,n=128,d=64,causal,dtype=fp16
[ "$(columns cpu-split dq_hash | sort -u | wc -l)" -eq 2 ]
ok $? "... and it does something"
sound "nothing to do" randn@1 nq=0,nk=64,d=64,dtype=bf16 nq=64,nk=0,d=64,dtype=bf16 b=0,n=64,d=64,dtype=bf16
sound "packed: empty and one-token sequences" randn@1 \
    h=9,hk=3,qlens=0+1+0+1,klens=0+3+0+5,d=64,causal,dtype=bf16 h=2,qlens=0+0+102,klens=0+1+204,d=128,causal,dtype=bf16

# ---- Head sizes, groups, strides, limits
sizes=()
for d in 8 16 24 33 40 80 96 160 256; do sizes+=("b=2,h=3,n=65,d=$d,dtype=bf16"); done
sound "head sizes off every vector" randn@1 "${sizes[@]}"
sound "both halves of a head take part" dyadic@1 n=256,d=64,scale=0.125,dtype=bf16 \
    n=256,d=128,scale=0.0625,dtype=bf16 n=256,d=256,dv=64,scale=0.0625,dtype=bf16
sound "dv other than d" randn@1 h=2,n=150,d=128,dv=96,dtype=bf16 h=2,n=150,d=192,dv=128,dtype=bf16 \
    h=2,n=150,d=64,dv=128,dtype=bf16
sound "scales" randn@1 n=128,d=80,dtype=bf16 n=128,d=80,scale=0.05,dtype=bf16 n=128,d=80,scale=1,dtype=bf16 \
    n=128,d=80,scale=0,dtype=bf16 n=128,d=80,scale=-0.1,dtype=bf16
sound "groups" randn@1 h=12,hk=3,n=96,d=64,dtype=bf16 h=6,hk=2,n=96,d=64,dtype=bf16 h=8,hk=1,n=96,d=64,dtype=bf16 \
    h=4,hk=4,n=96,d=64,dtype=bf16 h=16,hk=4,n=96,d=64,dtype=bf16
sound "other strides" randn@1 b=2,h=4,hk=1,n=32,d=128,dtype=fp16 b=2,h=4,hk=1,n=32,d=128,layout=bnhd,dtype=fp16 \
    b=2,h=4,hk=1,n=32,d=128,layout=packed-qkv,dtype=fp16
[ "$(columns cpu-split dq_hash dk_hash dv_hash | sort -u | wc -l)" -eq 1 ]
ok $? "... give the same bits"
sound "dout with other strides than o" randn@1 b=2,h=4,n=33,d=64,layout=expanded-dout,dtype=fp16 \
    b=2,h=4,hk=2,n=100,d=32,layout=expanded-dout,causal,dtype=bf16
sound "65536 batches, 8300 batches of one row" randn@1 b=65536,h=1,n=1,d=8,dtype=fp16 b=8300,h=2,n=1,d=16,dtype=bf16
expect 3 "refused every case" "a score matrix beyond 2^31 elements is planned in 64 bits" \
    "$flashback" check -q -v cpu-naive -p h=2,n=149999,d=64,dtype=bf16
grep -Eq 'refused .*[0-9.e+]+ GiB' "$scratch/out"
ok $? "... and refused with its GiB"
sound "64 batches of 65 rows" randn@1 b=64,h=1,n=65,d=16,dtype=bf16

# ---- Magnitudes
sound "inputs three times larger" randn:sigma=3@1 n=400,d=128,causal,dtype=fp16
"$flashback" check -q -r huge@1 -p n=64,d=64,dtype=bf16 --json "$json" >"$scratch/out"
! columns cpu-split outcome | grep -qv not-checkable
ok $? "logits of 8e6 are not checkable"
for scale in 1e7 1e9 1e15 1e38; do
    "$flashback" check -q -v cpu-split -v cpu-naive -p "n=64,d=64,scale=$scale,dtype=fp32" --json "$json" >"$scratch/out"
    ! { columns cpu-split outcome; columns cpu-naive outcome; } | grep -qv not-checkable
    ok $? "nor is a scale of $scale"
done

"$flashback" check -q -v trap-dk-unscaled --json "$json" -p n=64,d=64,dtype=bf16 >"$scratch/out"
[ $? -eq 1 ] && columns trap-dk-unscaled dk_rel_l2 dk_cosine dk_norm_ratio dk_nonfinite dk_max_abs dk_worst |
    awk '{ exit !($1 > 6.9 && $1 < 7.1 && $2 > 0.999 && $3 > 7.9 && $3 < 8.1 && $4 == 0 && $5 > 0 && $6 ~ /^\[/) }'
ok $? "a dk eight times too large: what the report says explains it"

# ---- Windows and further terms
sound "equivalent windows" randn@1 n=300,d=32,causal,dtype=bf16 n=300,d=32,window=-1:0,dtype=bf16 \
    n=300,d=32,window=300:0,dtype=bf16 n=300,d=32,window=299:0,dtype=bf16
sound "narrow windows, to the row" randn@1 n=300,d=32,window=64:0,dtype=bf16 n=300,d=32,window=0:1,dtype=bf16 \
    h=1,nq=200,nk=333,d=32,causal,window=31:0,dtype=bf16
expect 2 "window" "a negative window is refused" "$flashback" check -p n=512,d=64,window=-1:-3
sound "dropout with two seeds" randn@1 h=2,n=100,d=64,dropout=0.48@1:0,dtype=fp16 h=2,n=100,d=64,dropout=0.48@2:0,dtype=fp16
sound "alibi with 40 heads; slopes of one's own" randn@1 h=40,n=100,d=16,alibi=auto,dtype=bf16 \
    h=3,n=100,d=64,alibi=0.5:0.1:0.02,dtype=bf16
sound "a bias shared by the batch" randn@1 b=8,h=4,n=100,d=16,bias=head,dtype=bf16
sound "a sink" randn@1 h=4,n=130,d=64,sink,dtype=bf16
sound "a gradient of lse" randn@1 n=65,d=64,dlse,dtype=fp32

# ---- Determinism
"$flashback" check -q --runs 20 -v cpu-split -v cpu-ordered -v cpu-partials -v cpu-ml --json "$json" \
    -p b=1,h=4,n=512,d=64,dtype=fp16 >"$scratch/out"
ok $? "20 runs, a quarter of them under load, give one hash each"
[ "$(columns cpu-split det_runs det_equal det_level)" = "20 20 D1+D2+D4" ] || [ "$(nproc)" -lt 2 ]
ok $? "... at rest, under load and with fewer threads"
"$flashback" check -q --runs 12 -v cpu-atomic --json "$json" -p h=2,n=1024,d=32,causal,dtype=fp32 >"$scratch/out"
ok $? "dk and dv of atomic additions are deterministic"
columns cpu-atomic dk_deterministic dv_deterministic dq_run_rel_l2 dq_rel_l2 |
    awk '{ exit !($1 == 1 && $2 == 1 && $3 < $4) }'
ok $? "... and dq moves by less than its error"
"$flashback" check -q --runs 40 -v cpu-ordered -p n=1000,d=16,causal,dtype=bf16 \
    -p n=1000,d=16,window=256:0,dtype=bf16 -p qlens=300+0+700,klens=300+20+700,d=16,dtype=bf16 >"$scratch/out"
[ $? -eq 0 ] && grep -q '40 of 40' "$scratch/out"
ok $? "ordered additions, 40 runs: causal, window, packed: no hang, one hash"
"$flashback" check -q --runs 4 -v cpu-split --json "$json" -p b=8,h=2,n=90,d=64,causal,dtype=bf16 \
    -p h=2,qlens=5+64+0+33+100,klens=5+64+0+33+100,d=64,causal,dtype=bf16 >"$scratch/out"
[ "$(columns cpu-split batch_invariant | tr '\n' ' ')" = "1 1 " ]
ok $? "a batch item alone and in another order has the same bits, packed too"
for numerics in dkv=bf16,dq=bf16 dkv=fp16,dq=fp32 dkv=bf16-stochastic,dq=bf16-stochastic dkv=fp32-kahan,dq=bf16-kahan; do
    "$flashback" check -q --runs 4 -v cpu-split -v cpu-ordered -v cpu-partials -n $numerics --json "$json" \
        -p h=2,n=300,d=32,dtype=bf16 -p h=2,n=300,d=32,causal,dtype=fp16 >"$scratch/out"
    [ $? -eq 0 ] && ! columns cpu-ordered dq_deterministic | grep -qv 1
    ok $? "deterministic with $numerics, or refused"
done
sound "a race that shows now and then" randn:sigma=3@1 b=3,nq=512,nk=128,d=64,layout=expanded-dout,dtype=fp16
sound "leading short sequences, dense" randn@1 h=1,nq=511,nk=1021,d=32,causal,dtype=bf16
tap_done

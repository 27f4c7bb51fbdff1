#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_cuda_resources.sh: no kernel spills registers or keeps an array in local memory, unless
# tests/kernels/cuda_resources.txt declares it with a limit and a reason, and of none does ptxas remark that it
# serialises wgmma products or waits between them. Reads what ptxas said when the objects were made; needs
# no device.
. "$(dirname "$0")/../lib.sh"

build=$(dirname "$flashback")
declared="$top_srcdir/tests/kernels/cuda_resources.txt"
mapfile -t reports < <(find "$build" -name '*.o.ptxas' | sort)
if [ ${#reports[@]} -eq 0 ]; then
    skip "cuda resources: built without CUDA"
    tap_done
fi

# kernels REPORT...: one line a kernel: file in the build tree, architecture, bytes of stack frame and spills, name.
kernels() {
    local report file
    for report; do
        file=${report#"$build"/}
        awk -v file="${file%.o.ptxas}" '
            /Compiling entry function/ { split($0, part, "\047"); name = part[2]; arch = part[4] }
            /bytes stack frame/ { print file, arch, $1 + 0, $5 + 0, $9 + 0, name; name = "device-function" }
        ' "$report"
    done
}

# undeclared KERNELS: those of the list that use local memory without a declaration: pattern of "file arch
# name" (awk), most bytes of stack frame or spills, reason.
undeclared() {
    awk 'NR == FNR {
            if ($0 !~ /^#/ && NF) { pattern[++n] = $1; most[n] = $2 }
            next
        }
        {
            used = $3 > $4 ? $3 : $4
            if (used == 0) next
            for (i = 1; i <= n; i++)
                if ($1 " " $2 " " $6 ~ pattern[i] && used <= most[i]) next
            print
        }' "$declared" "$1"
}

# remarks REPORT...: those on wgmma, which have the numbers C7500 to C7599.
remarks() {
    grep -Hs '(C75[0-9][0-9])' -- "$@" | sed 's|^[^:]*/||'
}

# The test of the test: a kernel that spills, one that does not, one whose products are serialised.
cat >"$scratch/made.o.ptxas" <<'PTXAS'
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to a call
ptxas info    : Compiling entry function '_Z5spill' for 'sm_90a'
    16 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads
ptxas info    : Compiling entry function '_Z5clean' for 'sm_90a'
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
PTXAS
kernels "$scratch/made.o.ptxas" >"$scratch/kernels"
[ "$(undeclared "$scratch/kernels")" = "$scratch/made sm_90a 16 8 8 _Z5spill" ] &&
    remarks "$scratch/made.o.ptxas" | grep -q '^made.o.ptxas:.*C7510'
ok $? "a spill, and a product that is serialised, are seen"

kernels "${reports[@]}" >"$scratch/kernels"
ok $(($(wc -l <"$scratch/kernels") > 0 ? 0 : 1)) "ptxas told of $(wc -l <"$scratch/kernels") kernels"
undeclared "$scratch/kernels" >"$scratch/faults"
good=0
[ ! -s "$scratch/faults" ] || good=1
ok $good "none spills or uses local memory undeclared"
sed 's/^\([^ ]*\) \([^ ]*\) \([^ ]*\) \([^ ]*\) \([^ ]*\) \(.*\)/# \1 for \2: \3 bytes of stack, \4 + \5 spilled, in \6/' \
    "$scratch/faults" | head -20
remarks "${reports[@]}" >"$scratch/faults"
[ ! -s "$scratch/faults" ]
ok $? "none has products of wgmma that are serialised"
sed 's/^/# /' "$scratch/faults" | head -20
tap_done

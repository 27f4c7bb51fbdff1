#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_cuda_resources.sh: no kernel spills registers or keeps an array in local memory, unless
# tests/cuda_resources.txt declares it with a limit and a reason. Reads what ptxas said when the
# objects were made; needs no device.
. "$(dirname "$0")/lib.sh"

build=$(dirname "$flashback")
declared="$top_srcdir/tests/cuda_resources.txt"
mapfile -t reports < <(find "$build" -name '*.o.ptxas' | sort)
if [ ${#reports[@]} -eq 0 ]; then
    skip "cuda resources: built without CUDA"
    tap_done
fi

# One line a kernel: file, architecture, bytes of stack frame and spills, name.
for report in "${reports[@]}"; do
    awk -v file="$(basename "$report" .o.ptxas)" '
        /Compiling entry function/ { split($0, part, "\047"); name = part[2]; arch = part[4] }
        /bytes stack frame/ { print file, arch, $1 + 0, $5 + 0, $9 + 0, name; name = "device-function" }
    ' "$report"
done >"$scratch/kernels"
ok $(($(wc -l <"$scratch/kernels") > 0 ? 0 : 1)) "ptxas told of $(wc -l <"$scratch/kernels") kernels"

# A declaration: pattern of "file arch name" (awk), most bytes of stack frame or spills, reason.
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
    }' "$declared" "$scratch/kernels" >"$scratch/faults"
good=0
[ ! -s "$scratch/faults" ] || good=1
ok $good "none spills or uses local memory undeclared"
sed 's/^\([^ ]*\) \([^ ]*\) \([^ ]*\) \([^ ]*\) \([^ ]*\) \(.*\)/# \1 for \2: \3 bytes of stack, \4 + \5 spilled, in \6/' \
    "$scratch/faults" | head -20
tap_done

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_gpu_facts.sh: which GPU the facts of a run name: the first that CUDA_VISIBLE_DEVICES leaves to
# see. NVML is one of our own (fake_nvml.c): a GPU is not asked for, nor CUDA.
. "$(dirname "$0")/../lib.sh"

cc=${CC:-cc}
if ! command -v ${cc%% *} >/dev/null; then
    skip "gpu facts: no C compiler"
    tap_done
fi
$cc -shared -fPIC -o "$scratch/libnvidia-ml.so.1" "$top_srcdir/tests/cli/fake_nvml.c" 2>"$scratch/err"
ok $? "a library of two GPUs"

# shows UUID TEXT [NAME=VALUE]: `info` has this GPU, or none ("").
shows() {
    local found
    found=$(env -u CUDA_VISIBLE_DEVICES ${3:+"$3"} LD_LIBRARY_PATH="$scratch${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
        "$flashback" info | awk '$1 == "gpu_uuid" { print $2 }')
    [ "$found" = "$1" ]
    ok $? "$2"
    [ "$found" = "$1" ] || echo "# found '$found'"
}

shows GPU-first "the first where nothing is hidden"
shows GPU-second "by number" CUDA_VISIBLE_DEVICES=1,0
shows GPU-second "by UUID" CUDA_VISIBLE_DEVICES=GPU-second
shows MIG-part "a part of one, by UUID" CUDA_VISIBLE_DEVICES=MIG-part,0
shows "" "none where all are hidden" CUDA_VISIBLE_DEVICES=
shows "" "... by a number that is none" CUDA_VISIBLE_DEVICES=-1
shows "" "... or is too large" CUDA_VISIBLE_DEVICES=4294967296
shows "" "... by a word" CUDA_VISIBLE_DEVICES=none
shows "" "... by a UUID of another machine" CUDA_VISIBLE_DEVICES=GPU-third
tap_done

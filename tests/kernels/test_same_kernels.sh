#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_same_kernels.sh: build-aux/same_kernels.sh tells kernels that are the same from those that are not. Needs
# nvcc and cuobjdump of the CUDA toolkit, no device.
. "$(dirname "$0")/../lib.sh"

same="$top_srcdir/build-aux/same_kernels.sh"
nvcc=$(command -v "${NVCC:-nvcc}" || true)
if [ -z "$nvcc" ]; then
    skip "same_kernels: there is no nvcc"
    tap_done
fi

# object NAME KERNELS...: an object with those kernels; each is long enough to be more than a trap.
object() {
    local name=$1 kernel
    shift
    for kernel; do
        printf '__global__ void %s(float *x) { for (int i = 0; i < 9; i++) x[i] = sqrtf(x[i]) %s; }\n' \
            "${kernel%:*}" "${kernel#*:}"
    done >"$scratch/$name.cu"
    "$nvcc" -arch=sm_90 -c -o "$scratch/$name.o" "$scratch/$name.cu"
}
object old "kept:+ 1" "edited:+ 1" "gone:+ 1" "named:* 2" 2>"$scratch/err"
status=$?
ok $status "nvcc makes kernels"
object new "kept:+ 1" "edited:+ 2" "fresh:+ 1" "renamed:* 2"
object again "renamed:* 2" "kept:+ 1" "edited:+ 1" "gone:+ 1"

bash "$same" "$scratch/old.o" "$scratch/new.o" >"$scratch/out" 2>"$scratch/err"
status=$?
if [ $status -eq 77 ]; then
    skip "same_kernels: $(cat "$scratch/err")"
    tap_done
fi
[ $status -eq 1 ]
ok $? "kernels that differ: status 1"
grep -q '^changed .*sm_90.* edited(' "$scratch/out" && grep -q '^only old .*gone(' "$scratch/out" &&
    grep -q '^only new .*fresh(' "$scratch/out" && ! grep -q ' kept(' "$scratch/out" &&
    grep -q '^1 kernels the same, 1 changed, 2 only in OLD, 2 only in NEW' "$scratch/out"
ok $? "each kind is counted and named"
sed 's/^/# /' "$scratch/out"

echo 's/\bnamed\(/renamed(/' >"$scratch/map"
bash "$same" "$scratch/old.o" "$scratch/again.o" "$scratch/map" >"$scratch/out"
ok $? "another order and another name are no change"
grep -q '^4 kernels the same, 0 changed, 0 only in OLD, 0 only in NEW' "$scratch/out"
ok $? "all four are found under their new names"
sed 's/^/# /' "$scratch/out"
expect 2 'no such file' "a file that is not there" bash "$same" "$scratch/old.o" "$scratch/none.o"
tap_done

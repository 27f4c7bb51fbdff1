#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# nvcc.sh OBJECT COMMAND...: runs nvcc with -Xptxas -v, keeps what ptxas says of registers, stack and
# spills in OBJECT.ptxas, and shows the rest, remarks with a number ("(C7510) Potential Performance Loss")
# among it (tests/kernels/test_cuda_resources.sh reads the files).
object=$1
shift
"$@" -Xptxas -v >"$object.ptxas" 2>&1
status=$?
if [ $status -ne 0 ]; then
    cat "$object.ptxas" >&2
    rm -f "$object.ptxas"
    exit $status
fi
grep -v -e '^ptxas info  *: [^(]' -e '^ *[0-9]* bytes stack frame' -e '^ *$' "$object.ptxas" >&2
exit 0

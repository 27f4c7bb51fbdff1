#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run_delta.sh [BUILD-DIR]: runs the test of the delta pre-pass on a machine with a device; a skip is a
# failure here. Takes the test program from the build tree (build by default), which may have been
# built on another machine: it needs nothing but the C and C++ libraries, OpenMP and a driver. Where it is missing,
# it is built.
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build}
program=$build/tests/kernels/test_cuda_delta
if [ ! -x "$program" ]; then
    [ -x configure ] || autoreconf -fi
    mkdir -p "$build"
    [ -f "$build/Makefile" ] || (cd "$build" && "$OLDPWD/configure" --with-cuda)
    make -C "$build" tests/kernels/test_cuda_delta
fi
log=$(mktemp "${TMPDIR:-/tmp}/test_cuda_delta.XXXXXX")
trap 'rm -f "$log"' EXIT
status=0
"$program" >"$log" || status=$?
cat "$log"
if grep -q '# SKIP cuda delta' "$log"; then
    echo "run_delta.sh: no device, or built without CUDA: nothing was tested" >&2
    exit 1
fi
passed=$(grep -c '^ok' "$log") || true
failed=$(grep -c '^not ok' "$log") || true
echo "$passed passed, $failed failed"
exit $status

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run_delta.sh [BUILD-DIR]: builds and runs the test of the delta pre-pass on a machine with a device.
# Takes an existing build tree or configures one in build-device; a skip is a failure here.
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build-device}
if [ ! -f "$build/Makefile" ]; then
    [ -x configure ] || autoreconf -fi
    mkdir -p "$build"
    (cd "$build" && "$OLDPWD/configure" --with-cuda)
fi
make -C "$build" tests/test_cuda_delta
log=$build/test_cuda_delta.tap
status=0
"$build/tests/test_cuda_delta" >"$log" || status=$?
cat "$log"
if grep -q '# SKIP cuda delta' "$log"; then
    echo "run_delta.sh: the test was skipped: no device" >&2
    exit 1
fi
passed=$(grep -c '^ok' "$log") || true
failed=$(grep -c '^not ok' "$log") || true
echo "$passed passed, $failed failed"
exit $status

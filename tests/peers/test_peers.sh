#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_peers.sh: tools/torch_peers.py without PyTorch: the grid, the inputs, the rules of sampling and
# the journal, which Flashback must take for one of its own.
. "$(dirname "$0")/../lib.sh"

# The first on PATH may be somebody's own, the distribution's have NumPy.
python=
for candidate in python3 /usr/bin/python3; do
    "$candidate" -c 'import numpy' >/dev/null 2>&1 && python=$candidate && break
done
if [ -z "$python" ]; then
    skip "torch_peers: no python3 with numpy here"
    tap_done
fi
PRINT_INPUTS=$(dirname "$flashback")/tests/print_inputs
export PRINT_INPUTS FLASHBACK="$flashback" SCRATCH="$scratch" PYTHONDONTWRITEBYTECODE=1
PYTHONPATH="$top_srcdir/tools" "$python" "$top_srcdir/tests/peers/peers_without_torch.py"

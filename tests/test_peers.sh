#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_peers.sh: tools/torch_peers.py without PyTorch: the grid, the inputs, the rules of sampling and
# the journal, which Flashback must take for one of its own.
. "$(dirname "$0")/lib.sh"

if ! python3 -c 'import numpy' >/dev/null 2>&1; then
    skip "torch_peers: no python3 with numpy here"
    tap_done
fi
PRINT_INPUTS=$(dirname "$flashback")/tests/print_inputs
export PRINT_INPUTS FLASHBACK="$flashback" SCRATCH="$scratch" PYTHONDONTWRITEBYTECODE=1
PYTHONPATH="$top_srcdir/tools" python3 "$top_srcdir/tests/peers_without_torch.py"

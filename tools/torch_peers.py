#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""torch_peers.py: the attention backwards that a user of PyTorch would otherwise pick, timed on an
experiment's grid and written as Flashback writes its own, so that they stand in the same tables and
figures. Everything is in the package beside it; doc/torch-peers.md says how it measures."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from peers.main import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

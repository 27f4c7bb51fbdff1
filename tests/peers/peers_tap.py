# SPDX-License-Identifier: BSD-3-Clause
"""peers_tap.py: what the tests of tools/peers share: TAP, a scratch folder, the program."""

import os
import subprocess

FLASHBACK, SCRATCH = os.environ["FLASHBACK"], os.environ["SCRATCH"]
count = failed = 0


def ok(condition, text):
    global count, failed
    count += 1
    failed += not condition
    print(f"{'ok' if condition else 'not ok'} {count} - {text}", flush=True)


def raises(kind, call):
    try:
        call()
    except kind as error:
        return str(error)
    return ""


def scratch(name, text=None):
    path = os.path.join(SCRATCH, name)
    if text is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return path


def flashback(*words):
    return subprocess.run([FLASHBACK, *words], capture_output=True, text=True, check=False)


def done():
    """Prints the plan; the exit status."""
    print(f"1..{count}")
    return failed > 0

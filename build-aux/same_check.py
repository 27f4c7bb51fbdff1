#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""same_check.py: compares two reports of `flashback check --json` element for element.

    same_check.py OLD.json NEW.json [--renamed OLD=NEW]...

For changes of code that must not change a result: every case of the old report is in the new one, and
every value of it is the same. Left out: what no two runs share (times, clocks, memory seen from
outside, what a control happened to show), and of a gradient that is not claimed to have the same bits
in every run all but its verdict. Prints what differs, a line each, and exits with 1 if anything does.
"""
import json
import sys

PASSING = ("started", "wall_s", "peak_bytes", "det_control", "det_equal", "remark", "gemm_tflops",
           "copy_gbs", "launch_us", "watts", "idle_watts", "sm_mhz", "celsius", "throttle")
GRADIENTS = ("dq", "dk", "dv", "dbias", "dsink")


def of_today(case):
    """A case of a report whose outcome was a status and a verdict."""
    if "status" in case:
        status, verdict = case.pop("status"), case.pop("verdict")
        case["outcome"] = status if status != "done" else verdict or "unjudged"
    for name in ("n_samples", "stop_rule"):
        if name in case:
            case["bwd_" + name] = case.pop(name)
    return case


def cases(path):
    with open(path, encoding="utf-8") as file:
        return {case["key"]: of_today(case) for case in json.load(file)["cases"]}


def claimed(case):
    """The gradients that are claimed to have the same bits in every run."""
    claim = (case.get("det_claim") or "").split("+")
    every = {"dq", "dk", "dv"} <= set(claim)
    return set(claim) | ({"dbias", "dsink"} if every else set())


def compared(case, name):
    if name in PASSING:
        return False
    gradient, _, rest = name.partition("_")
    if gradient not in GRADIENTS:
        return True
    return gradient in claimed(case) or rest in ("verdict", "verdict_standard", "nonfinite")


def differences(key, old, new, renamed):
    for name, value in old.items():
        if not compared(old, name):
            continue
        other = renamed.get(name, name)
        if other not in new:
            yield f"{key}: {name} is gone"
        elif new[other] != value:
            yield f"{key}: {name}: {value!r} was, {new[other]!r} is"


def main(arguments):
    renamed, files = {}, []
    words = iter(arguments)
    for word in words:
        if word == "--renamed":
            old, _, new = next(words, "").partition("=")
            renamed[old] = new
        else:
            files.append(word)
    if len(files) != 2:
        print("usage: same_check.py OLD.json NEW.json [--renamed OLD=NEW]...", file=sys.stderr)
        return 2
    old, new = map(cases, files)
    found = [f"{key}: not in {files[1]}" for key in old if key not in new]
    for key in old:
        if key in new:
            found.extend(differences(key, old[key], new[key], renamed))
    print("\n".join(found + [f"{len(old)} cases compared, {len(found)} differences"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

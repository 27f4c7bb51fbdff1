# SPDX-License-Identifier: BSD-3-Clause
"""Records, column by column as src/store/columns.def has them."""

import datetime
import math

from . import stats

STATISTICS = {"": "median", "_min": "min", "_q1": "q1", "_q3": "q3", "_max": "max", "_lo": "lo",
              "_hi": "hi"}


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def begin(case, peer, problem):
    """What is known before anything runs."""
    p = problem
    forward, backward = p.flops()
    record = {"key": case.key(peer.name), "variant": peer.name, "backend": "torch",
              "problem": case.problem, "numerics": case.numerics, "recipe": case.recipe,
              "b": p.b, "h": p.h, "hk": p.hk, "nq": p.nq, "nk": p.nk, "d": p.d, "dv": p.dv,
              "dtype": p.dtype, "mask": p.mask, "window_l": p.left, "window_r": p.right,
              "scale": p.scale, "softcap": 0.0, "dropout": 0.0, "pairs": p.pairs(),
              "fwd_flops": forward, "bwd_flops": backward, "gemms_executed": peer.gemms,
              "outputs_bytes": p.output_bytes(), "det_claim": peer.deterministic,
              "started": now()}
    seed = case.recipe.rpartition("@")[2]
    if seed.isdigit():
        record["seed"] = int(seed)
    record.update(numerics_columns(case.numerics))
    return record


def numerics_columns(text):
    items = dict(item.split("=") for item in text.split(","))
    names = {"dkv": "acc_dkv", "dq": "acc_dq", "ps": "ps_type", "delta": "delta_type",
             "lse": "lse_type", "round": "round_step"}
    return {column: items[key] for key, column in names.items() if key in items}


def is_standard(numerics):
    standard = "dkv=fp32,dq=fp32,ps=in,delta=fp32,lse=fp32,round=tile"
    return numerics in ("", standard)


def fill_times(record, prefix, samples):
    """samples in seconds; the columns are in ms."""
    ms = [1e3 * value for value in samples]
    summary = stats.summary(ms)
    for suffix, name in STATISTICS.items():
        record[f"{prefix}_ms{suffix}"] = summary[name]
    record[f"{prefix}_ms_samples"] = ms
    record[f"{prefix}_n_samples"] = len(ms)
    record[f"{prefix}_tflops"] = record[f"{prefix}_flops"] / summary["median"] * 1e-9


def fill_method(record, rules, timer, stop):
    record.update({"mode": "sustained" if rules.sustained else "burst",
                   "l2": "flushed" if rules.flush and not rules.sustained else "warm",
                   "timer": timer.kind, "warmup": rules.warmup, "bwd_stop_rule": stop})


def fill_ceilings(record, gemm_tflops, copy_gbs):
    record.update({"gemm_tflops": gemm_tflops, "copy_gbs": copy_gbs,
                   "bwd_ceiling_pct": 100 * record.get("bwd_tflops", math.nan) / gemm_tflops})


def end(record, outcome, reason="", seconds=math.nan):
    """outcome: unjudged (it ran, and the suite's judge was not asked), refused or crashed."""
    record.update({"outcome": outcome, "reason": " ".join(str(reason).split())[:400],
                   "wall_s": seconds})
    return record

# SPDX-License-Identifier: BSD-3-Clause
"""How samples are taken: the rules of doc/measuring.md section 4, for any timer.

A timer has flush(), start(), stop() -> seconds, and sleep(seconds)."""

import dataclasses
import time
from typing import Callable, List

from . import stats


@dataclasses.dataclass
class Series:
    """One call and what was measured of it. error is what ended it early."""

    call: Callable[[], None]
    samples: List[float] = dataclasses.field(default_factory=list)
    warmup_seconds: float = 0
    total_seconds: float = 0
    stop: str = ""
    error: Exception = None


def warm_up(timer, rules, series):
    begin, count = time.monotonic(), 0
    while True:
        elapsed = time.monotonic() - begin
        if count >= rules.warmup and not (rules.sustained and elapsed < rules.sustained_seconds):
            return
        timer.start()
        series.call()
        seconds = timer.stop()
        if not count:
            series.warmup_seconds = seconds
        count += 1


def take_sample(timer, rules, series):
    begin = time.monotonic()
    if not rules.sustained:
        last = series.samples[-1] if series.samples else series.warmup_seconds
        timer.sleep(min(rules.rest * last, rules.max_rest))
        if rules.flush:
            timer.flush()
    timer.start()
    series.call()
    series.samples.append(timer.stop())
    series.total_seconds += time.monotonic() - begin


def is_settled(rules, series):
    count = len(series.samples)
    step = 1 if count < 200 else count // 20
    if count >= rules.min_samples and count % step == 0:
        series.stop = "interval"
        if stats.half_width(stats.summary(series.samples)) <= rules.interval:
            return True
    series.stop = "seconds"
    if rules.max_seconds > 0 and series.total_seconds >= rules.max_seconds:
        return True
    series.stop = "samples"
    return count >= rules.max_samples


def guarded(step, timer, rules, series):
    """A call that fails ends its own series only."""
    try:
        return step(timer, rules, series)
    except Exception as error:  # whatever a peer throws becomes its record's reason
        series.error, series.stop = error, "failed"
        return None


def sample(timer, rules, all_series):
    """Warms every series up, then samples them in turn until each has met its own end. In the
    sustained mode one after the other, back to back."""
    if rules.sustained:
        for series in all_series:
            guarded(warm_up, timer, rules, series)
            while not series.error:
                guarded(take_sample, timer, rules, series)
                if series.error or is_settled(rules, series):
                    break
        return
    for series in all_series:
        guarded(warm_up, timer, rules, series)
    active = [series for series in all_series if not series.error]
    while active:
        for series in active:
            guarded(take_sample, timer, rules, series)
        active = [s for s in active if not s.error and not is_settled(rules, s)]

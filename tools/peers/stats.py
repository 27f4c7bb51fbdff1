# SPDX-License-Identifier: BSD-3-Clause
"""Median, quartiles and the 95 % interval of the median, as doc/measuring.md section 5 has them."""

import math


def quantile(ordered, p):
    place = p * (len(ordered) - 1)
    below = int(place)
    if below + 1 >= len(ordered):
        return ordered[-1]
    return ordered[below] + (place - below) * (ordered[below + 1] - ordered[below])


def median_ranks(count):
    """Indices of the order statistics that enclose the median with 95 %; None below six."""
    log_term, total, k = -count * math.log(2), 0.0, 0
    while k < count // 2:
        total += math.exp(log_term)
        if 2 * total > 0.05:
            break
        log_term += math.log((count - k) / (k + 1))
        k += 1
    return (k - 1, count - k) if k else None


def summary(samples):
    """min, q1, median, q3, max, lo and hi; lo and hi are NaN below six samples."""
    ordered = sorted(samples)
    if not ordered:
        return dict.fromkeys(("min", "q1", "median", "q3", "max", "lo", "hi"), math.nan)
    ranks = median_ranks(len(ordered))
    return {
        "min": ordered[0],
        "q1": quantile(ordered, 0.25),
        "median": quantile(ordered, 0.5),
        "q3": quantile(ordered, 0.75),
        "max": ordered[-1],
        "lo": ordered[ranks[0]] if ranks else math.nan,
        "hi": ordered[ranks[1]] if ranks else math.nan,
    }


def half_width(stats):
    """Of the interval, as a part of the median; infinite where there is none."""
    if math.isnan(stats["lo"]) or not stats["median"] > 0:
        return math.inf
    return (stats["hi"] - stats["lo"]) / stats["median"] / 2

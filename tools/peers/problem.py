# SPDX-License-Identifier: BSD-3-Clause
"""A problem from its canonical text, and the counts that follow from it."""

import dataclasses
import math

ITEMS = ("b", "h", "hk", "nq", "nk", "d", "dv")


@dataclasses.dataclass
class Problem:
    text: str
    b: int = 1
    h: int = 1
    hk: int = 1
    nq: int = 0
    nk: int = 0
    d: int = 0
    dv: int = 0
    dtype: str = "fp32"
    mask: str = "full"
    left: int = -1
    right: int = -1
    scale: float = math.nan
    layout: str = "bhnd"
    others: tuple = ()  # items that no peer takes: softcap, alibi, bias, ...

    def visible(self, row):
        """First and last key of a query, as in include/flashback.h; none where last < first."""
        diagonal = row + self.nk - self.nq
        first, last = 0, self.nk - 1
        if self.mask == "causal":
            last = min(last, diagonal)
        if self.mask == "causal-topleft":
            last = min(last, row)
        if self.right >= 0:
            last = min(last, diagonal + self.right)
        if self.left >= 0:
            first = max(first, diagonal - self.left)
        return first, last

    def pairs(self):
        if self.mask == "full" and self.left < 0 and self.right < 0:
            return self.b * self.h * self.nq * self.nk
        count = 0
        for row in range(self.nq):
            first, last = self.visible(row)
            count += max(0, last - first + 1)
        return self.b * self.h * count

    def flops(self):
        """Model FLOPs of the forward (two GEMMs) and of the backward (five)."""
        pairs = self.pairs()
        return 2 * pairs * (self.d + self.dv), 2 * pairs * (3 * self.d + 2 * self.dv)

    def element_bytes(self):
        return 4 if self.dtype == "fp32" else 2

    def output_bytes(self):
        """dq, dk and dv."""
        queries = self.b * self.h * self.nq * self.d
        keys = self.b * self.hk * self.nk * (self.d + self.dv)
        return (queries + keys) * self.element_bytes()


def parse(text):
    problem = Problem(text)
    others = []
    for item in text.split(","):
        key, _, value = item.partition("=")
        if key in ITEMS:
            setattr(problem, key, int(value))
        elif key in ("dtype", "mask", "layout"):
            setattr(problem, key, value)
        elif key == "window":
            problem.left, problem.right = (int(side) for side in value.split(":"))
        elif key == "scale":
            problem.scale = float(value)
        else:
            others.append(key)
    problem.others = tuple(others)
    if math.isnan(problem.scale):
        problem.scale = 1 / math.sqrt(problem.d)
    return problem

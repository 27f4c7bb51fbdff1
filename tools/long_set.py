#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""long_set.py: makes experiments/check-long.ini, the problems of `flashback check --long`.

A pairwise covering array: every pair of values of every two factors below stands together in at
least one row, unless a rule forbids the pair. The values are those that the test suites of
FlashAttention-2, -3 and -4 take, (nq, nk) being one factor. Greedy: take the first pair that is not
covered, then give each further factor the value that covers most. The result is committed; it is the
same whenever it is made. tests/cases/test_long_set.c holds it to its claim without this program.

    python3 tools/long_set.py >experiments/check-long.ini
"""
import itertools
import sys

SQUARES = [1, 2, 3, 5, 17, 97, 128, 200, 256, 257, 384, 512, 768, 1024, 1025, 2048, 4096, 4224]
ONE_WAY = [(1, 3), (2, 1), (1, 147), (511, 1), (64, 1), (3, 513), (64, 32), (64, 128), (128, 192),
           (113, 128), (255, 256), (307, 256), (384, 256), (640, 128), (1024, 128)]
BOTH_WAYS = [(1, 239), (3, 799), (127, 512), (127, 513), (113, 203), (128, 217), (113, 211),
             (108, 256), (256, 512), (1023, 1024)]
SHAPES = [(n, n) for n in SQUARES] + ONE_WAY + BOTH_WAYS + [(b, a) for a, b in BOTH_WAYS]

FACTORS = {
    "shape": SHAPES,
    "head": [(8, 8), (16, 16), (32, 32), (40, 40), (59, 59), (64, 64), (80, 80), (96, 96),
             (111, 111), (128, 128), (160, 160), (192, 192), (224, 224), (256, 256), (192, 128),
             (64, 256)],
    "term": ["", "softcap=15", "softcap=50", "alibi=auto", "dropout=0.17@1:0", "sink"],
    "mask": ["full", "causal", "local", "left", "causal-window"],
    "heads": [(2, 2), (6, 2), (6, 3), (6, 1)],
    "layout": ["bhnd", "bnhd", "packed-qkv", "expanded-dout"],
    "recipe": ["randn@1", "mean@1", "deep-negative@1", "outliers@1"],
    "dtype": ["bf16", "fp16", "fp32"],
    "batch": ["one", "two", "packed"],
}
NAMES = list(FACTORS)


def allowed(row):
    """The rules, on a row that may still lack values."""
    shape, layout, batch = row.get("shape"), row.get("layout"), row.get("batch")
    area = shape[0] * shape[1] if shape else 0
    if layout == "packed-qkv" and (batch == "packed" or (shape and shape[0] != shape[1])):
        return False  # q, k and v in one block have one length ...
    if layout == "packed-qkv" and row.get("head") in ((192, 128), (64, 256)):
        return False  # ... and one width
    if area >= 1 << 19 and batch in ("two", "packed"):
        return False  # long problems come once ...
    if area >= 1 << 19 and row.get("heads") not in (None, (2, 2), (6, 2)):
        return False
    if area >= 1 << 19 and row.get("head") not in (None, (64, 64), (96, 96), (128, 128), (192, 128),
                                                   (256, 256)):
        return False  # ... in FlashAttention-3's sizes ...
    if area >= 1 << 22 and row.get("heads") not in (None, (2, 2)):
        return False  # ... and the longest with few heads of two sizes
    if area >= 1 << 22 and row.get("head") not in (None, (64, 64), (128, 128)):
        return False
    return True


def pairs_of(row):
    items = [(f, row[f]) for f in NAMES if f in row]
    return itertools.combinations(items, 2)


def all_pairs():
    wanted = []
    for f, g in itertools.combinations(NAMES, 2):
        for x in FACTORS[f]:
            for y in FACTORS[g]:
                if allowed({f: x, g: y}):
                    wanted.append(((f, x), (g, y)))
    return wanted


def completed(row, open_pairs, used):
    for f in NAMES:
        if f in row:
            continue
        best = None
        for place, x in enumerate(FACTORS[f]):
            trial = dict(row, **{f: x})
            if not allowed(trial):
                continue
            gain = sum(1 for p in pairs_of(trial) if p in open_pairs and (f, x) in p)
            rank = (-gain, used.get((f, x), 0), place)
            if best is None or rank < best[0]:
                best = (rank, x)
        if best is None:
            return None
        row[f] = best[1]
    return row


def covering_array():
    wanted = all_pairs()
    open_pairs, used, rows = set(wanted), {}, []
    for pair in wanted:
        if pair not in open_pairs:
            continue
        row = completed(dict(pair), open_pairs, used)
        if row is None:
            sys.exit(f"no row can hold {pair}")
        rows.append(row)
        for p in pairs_of(row):
            open_pairs.discard(p)
        for f in NAMES:
            used[(f, row[f])] = used.get((f, row[f]), 0) + 1
    return rows


def window(mask, nk):
    if mask == "local":
        return f"window={nk * 5 // 16}:{nk // 7}"
    if mask == "left":
        return f"window={nk // 3}:-1"
    if mask == "causal-window":
        return f"causal,window={nk // 4}:0"
    return f"mask={mask}"


def problem(row):
    (nq, nk), (d, dv), (h, hk) = row["shape"], row["head"], row["heads"]
    items = [f"h={h},hk={hk}"]
    if row["batch"] == "packed":
        items.append(f"qlens={nq}+{max(nq - 9, 0)}+{max(nq - 20, 1)}")
        items.append(f"klens={nk}+{max(nk - 13, 0)}+0")
    else:
        items.append(f"b={2 if row['batch'] == 'two' else 1},nq={nq},nk={nk}")
    items.append(f"d={d},dv={dv},dtype={row['dtype']}")
    items.append(window(row["mask"], nk))
    items += [row["term"]] if row["term"] else []
    items += [f"layout={row['layout']}"] if row["layout"] != "bhnd" else []
    return ",".join(items)


HEAD = """\
# SPDX-License-Identifier: BSD-3-Clause
# What `flashback check --long` adds to check.ini. They name no variants: check puts its own there.
# Made by tools/long_set.py; not to be edited.
[experiment]
question = Is every variant right where any two sizes, masks, terms, layouts, types and data meet?
shows = Each variant passes whatever it takes.

# The lecture's, without a mask.
[grid lecture]
problem = b=2,h=16,n=2048,d=128,dtype=bf16
    b=1,h=4,n=8192,d=64,dtype=fp16
recipe = randn@1

# {} problems that hold every pair of values of the grid, by their data."""


def main():
    rows = sorted(covering_array(), key=lambda r: r["shape"][0] * r["shape"][1])
    print(HEAD.format(len(rows)))
    for recipe in FACTORS["recipe"]:
        problems = [problem(row) for row in rows if row["recipe"] == recipe]
        print(f"[grid {recipe.split('@')[0]}]\nproblem = " + "\n    ".join(problems))
        print(f"recipe = {recipe}")


main()

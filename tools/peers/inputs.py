# SPDX-License-Identifier: BSD-3-Clause
"""The values of a recipe, the same as Flashback's own (src/data/draw.c, distributions.c,
inputs.c): each element is a function of seed, tensor, batch, head, row and column through
Philox4x32-10, and is rounded to what fp32, bf16 and fp16 all hold."""

import dataclasses

from . import Refused

MASK = 0xFFFFFFFF
MULTIPLIER = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10
INPUTS = {"q": 0, "k": 1, "v": 2, "dout": 3}
LARGEST, LEAST_STEP = 65280.0, 2.0**-24

# Of P. J. Acklam's rational approximation of the normal quantile.
A = (-3.969683028665376e01, 2.209460984245205e02, -2.759285104469687e02, 1.383577518672690e02,
     -3.066479806614716e01, 2.506628277459239e00)
B = (-5.447609879822406e01, 1.615858368580409e02, -1.556989798598866e02, 6.680131188771972e01,
     -1.328068155288572e01, 1.0)
C = (-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e00,
     -2.549732539343734e00, 4.374664141464968e00, 2.938163982698783e00)
D = (7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e00, 3.754408661907416e00,
     1.0)
TAIL = 0.02425

# Recipes that are drawn here, with their parameters' defaults.
KNOWN = {
    "randn": {"sigma": 1.0, "dout": 1.0},
    "uniform": {"low": -1.0, "high": 1.0},
    "ones": {},
    "zeros": {},
}


@dataclasses.dataclass
class Recipe:
    name: str
    seed: int
    params: dict


def parse_recipe(text):
    """From canonical text, DIST[:key=value]...@SEED."""
    body, _, seed = text.rpartition("@")
    name, *items = body.split(":")
    if name not in KNOWN or not seed.isdigit():
        raise Refused(f"recipe {text}: peers draw {', '.join(KNOWN)}")
    params = dict(KNOWN[name])
    for item in items:
        key, _, value = item.partition("=")
        params[key] = float(value)
    return Recipe(name, int(seed), params)


def philox(key, counter):
    """Four words (arrays of signed 64-bit integers in 0..2^32-1) of Philox4x32-10. Products wrap to
    64 bits, of which both halves are right whatever the sign."""
    k0, k1 = key & MASK, key >> 32 & MASK
    c0, c1, c2, c3 = counter
    for _ in range(ROUNDS):
        p0, p1 = c0 * MULTIPLIER[0], c2 * MULTIPLIER[1]
        c0, c1, c2, c3 = (
            (p1 >> 32 & MASK) ^ c1 ^ k0,
            p1 & MASK,
            (p0 >> 32 & MASK) ^ c3 ^ k1,
            p0 & MASK,
        )
        k0, k1 = (k0 + WEYL[0]) & MASK, (k1 + WEYL[1]) & MASK
    return c0, c1, c2, c3


def uniforms(xp, seed, tensor, shape):
    """Uniform on (0, 1), [b, h, n, d]: one block of the generator serves four columns."""
    b, h, n, d = shape
    batch = xp.integers(b).reshape(b, 1, 1, 1)
    head = xp.integers(h).reshape(1, h, 1, 1)
    row = xp.integers(n).reshape(1, 1, n, 1)
    block = xp.integers((d + 3) // 4).reshape(1, 1, 1, -1)
    zero = batch * 0 + head * 0 + row * 0 + block * 0
    counter = (zero + row, zero + batch, zero + head, zero + (block | tensor << 29))
    words = xp.stack_last(philox(seed, counter)).reshape(b, h, n, -1)[..., :d]
    return (xp.real(words) + 0.5) * 2.0**-32


def polynomial(coefficients, x):
    total = x * 0
    for coefficient in coefficients:
        total = total * x + coefficient
    return total


def natural_log(xp, x):
    """By the series of artanh, of x in (0, 1]."""
    m, e = xp.frexp(x)
    low = m < 0.70710678118654752
    m, e = xp.where(low, m * 2, m), xp.where(low, e - 1, e)
    t = (m - 1) / (m + 1)
    square, total = t * t, t * 0
    for term in range(21, 0, -2):
        total = total * square + 1.0 / term
    return 2 * t * total + e * 0.69314718055994531


def normal_quantile(xp, p):
    q = p - 0.5
    r = q * q
    middle = q * polynomial(A, r) / polynomial(B, r)
    nearer = xp.where(p < TAIL, p, 1 - p)
    outside = nearer < TAIL
    root = xp.sqrt(-2 * natural_log(xp, xp.where(outside, nearer, nearer * 0 + 0.01)))
    magnitude = polynomial(C, root) / polynomial(D, root)
    tail = xp.where(p < TAIL, magnitude, -magnitude)
    return xp.where((p >= TAIL) & (p <= 1 - TAIL), middle, tail)


def round_input(xp, x):
    """To 8 significant bits, at most 65280, a multiple of 2^-24; halves to even."""
    m, e = xp.frexp(x)
    x = xp.ldexp(xp.rint(m * 256), e - 8)
    return xp.rint(xp.clip(x, -LARGEST, LARGEST) / LEAST_STEP) * LEAST_STEP


def draw(xp, recipe, name, shape):
    """The tensor of that name, [b, h, n, d] in fp64."""
    params = recipe.params
    if recipe.name in ("ones", "zeros"):
        return xp.full(shape, 1.0 if recipe.name == "ones" else 0.0)
    u = uniforms(xp, recipe.seed, INPUTS[name], shape)
    if recipe.name == "uniform":
        return round_input(xp, params["low"] + (params["high"] - params["low"]) * u)
    sigma = params["dout" if name == "dout" else "sigma"]
    return round_input(xp, sigma * normal_quantile(xp, u))

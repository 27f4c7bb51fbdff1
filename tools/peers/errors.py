# SPDX-License-Identifier: BSD-3-Clause
"""How far a peer's gradients are from fp64. The first and the last group of heads that share keys
are computed whole, in fp64 on the device; no bound is applied: that is the suite's judge's work."""

import math


def reference(torch, problem, tensors, batch, group):
    """dq, dk, dv of one batch item and one key head with all its query heads, in fp64."""
    p, per = problem, problem.h // problem.hk
    q, dout = (t[batch, group * per : (group + 1) * per].double() for t in (tensors[0], tensors[3]))
    k, v = (t[batch, group].double() for t in tensors[1:3])
    rows = torch.arange(p.nq, device=q.device).view(-1, 1)
    columns = torch.arange(p.nk, device=q.device).view(1, -1)
    offset, hidden = p.nk - p.nq, torch.zeros((p.nq, p.nk), dtype=torch.bool, device=q.device)
    if p.mask != "full":
        hidden |= columns > rows + (offset if p.mask == "causal" else 0)
    if p.right >= 0:
        hidden |= columns > rows + offset + p.right
    if p.left >= 0:
        hidden |= columns < rows + offset - p.left
    dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    for i in range(per):
        s = (q[i] @ k.T).mul_(p.scale).masked_fill_(hidden, -math.inf)
        probability = torch.softmax(s, -1)
        del s
        out = probability @ v
        delta = (out * dout[i]).sum(-1, keepdim=True)
        dv += probability.T @ dout[i]
        ds = (dout[i] @ v.T).sub_(delta).mul_(probability).mul_(p.scale)
        dq[i], dk = ds @ k, dk + ds.T @ q[i]
    return dq, dk, dv


def measure(torch, problem, tensors, gradients):
    """Columns of a record for dq, dk, dv, and which heads were looked at."""
    p, per = problem, problem.h // problem.hk
    places = list(dict.fromkeys([(0, 0), (p.b - 1, p.hk - 1)]))
    sums = {name: [0.0, 0.0, 0.0, 0] for name in ("dq", "dk", "dv")}
    for batch, group in places:
        exact = reference(torch, p, tensors, batch, group)
        got = (gradients[0][batch, group * per : (group + 1) * per],
               gradients[1][batch, group], gradients[2][batch, group])
        for name, want, have in zip(sums, exact, got):
            error = have.double() - want
            total = sums[name]
            total[0] += float((error * error).sum())
            total[1] += float((want * want).sum())
            total[2] = max(total[2], float(error.abs().max()))
            total[3] += int((~torch.isfinite(have)).sum())
        del exact, got
    columns = {"checked": f"heads: {len(places) * per} of {p.b * p.h}, against fp64, no verdict"}
    for name, (error, norm, largest, bad) in sums.items():
        columns[f"{name}_max_abs"] = largest
        columns[f"{name}_rel_l2"] = math.sqrt(error / norm) if norm > 0 else math.nan
        columns[f"{name}_nonfinite"] = bad
    return columns

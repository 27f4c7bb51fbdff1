# SPDX-License-Identifier: BSD-3-Clause
"""peers_without_torch.py: what of tools/peers needs no device. Run by test_peers.sh, prints TAP."""

import contextlib
import dataclasses
import math
import os
import random
import subprocess
import sys
import types

import numpy

from peers import Output, Refused, Usage
from peers import arrays, device, grid, inputs, problem, record, sampling, stats
from peers.journal import Journal
from peers.variants import PEERS
from peers_endings import test_command_line, test_endings, test_without_torch
from peers_tap import FLASHBACK, done, flashback, ok, raises, scratch


# ---- Inputs: the same bits as Flashback's --------------------------------------------------------


def drawn_here(text, recipe):
    p, xp = problem.parse(text), arrays.Numpy()
    shapes = {"q": (p.b, p.h, p.nq, p.d), "k": (p.b, p.hk, p.nk, p.d),
              "v": (p.b, p.hk, p.nk, p.dv), "dout": (p.b, p.h, p.nq, p.dv)}
    parsed = inputs.parse_recipe(recipe)
    return numpy.concatenate(
        [inputs.draw(xp, parsed, name, shape).ravel() for name, shape in shapes.items()])


def drawn_there(text, recipe):
    done = subprocess.run([os.environ["PRINT_INPUTS"], text, recipe], capture_output=True,
                          text=True, check=True)
    return numpy.array([float.fromhex(word) for word in done.stdout.split()])


def test_inputs():
    text = "b=2,h=4,hk=2,nq=37,nk=41,d=22,dv=13"
    for recipe in ("randn@1", "randn@18446744073709551615", "randn:sigma=3:dout=0.5@7",
                   "uniform@5", "uniform:low=0:high=0.25@6", "ones@1", "zeros@1"):
        here, there = drawn_here(text, recipe), drawn_there(text, recipe)
        same = here.shape == there.shape and (here == there).all()
        ok(same, f"{recipe}: {here.size} values as Flashback draws them")
    tails = drawn_here("b=1,h=8,hk=8,nq=512,nk=512,d=64,dv=64", "randn@3")
    there = drawn_there("b=1,h=8,n=512,d=64", "randn@3")
    ok((tails == there).all() and abs(tails).max() > 4, "a million values, far tails among them")
    ok("randn" in raises(Refused, lambda: inputs.parse_recipe("sink@1")), "an unknown recipe")


# ---- The grid ------------------------------------------------------------------------------------

INI = """# a grid
[experiment]
question = does it
question = expand
shows = yes
[measure]
max_samples = 9
max_seconds = 0.5
interval = 0.5 ; wide
l2 = warm
mode = burst
forward = no
[grid]
variant = cpu-split
h = 4
n = 32 64
d = 16
dtype = bf16 fp16
mask = full causal
[grid second]
variant = cpu-atomic
problem = b=2,h=2,nq=16,nk=32,d=8,window=4:0,dtype=bf16
numerics = dkv=bf16,dq=bf16
"""


def test_grid():
    path = scratch("peers.ini", INI)
    cases = grid.expand(FLASHBACK, path)
    ok(len(cases) == 9, "every case of both grids, whatever their variants")
    first = cases[0]
    ok(first.problem == "b=1,h=4,hk=4,nq=32,nk=32,d=16,dv=16,dtype=bf16,mask=full"
       and first.recipe == "randn@1", "in the canonical text")
    ok(len(grid.groups(cases)) == 9 and cases[8].numerics.startswith("dkv=bf16"), "and its groups")
    more = grid.expand(FLASHBACK, path, ["recipe=randn@1 randn@2"])
    ok(len(more) == 18, "--set replaces a list")
    wrong = raises(Usage, lambda: grid.expand(FLASHBACK, path, ["recipe=sink"]))
    ok("recipe 'sink'" in wrong, "what is wrong is said")
    ok(raises(Usage, lambda: grid.expand(FLASHBACK, scratch("none.ini"))), "no such experiment")
    rules = grid.read_measure(INI, ["warmup=3", "n=8"])
    ok((rules.max_samples, rules.max_seconds, rules.interval, rules.flush, rules.forward,
        rules.warmup, rules.rest) == (9, 0.5, 0.5, False, False, 3, None), "[measure] and --set")
    ok(grid.read_texts(INI) == {"question": "does it expand", "shows": "yes"}, "question and shows")
    out = flashback("run", path, "--set", "variant=null", "--set", "max_seconds=0.01", "-q",
                    "-o", scratch("own.h5"))
    keys = [case.key("null") for case in cases]
    with open(scratch("own.jsonl"), encoding="utf-8") as file:
        text = file.readline()
    ok(out.returncode == 0 and f'"grid_hash":"{grid.fingerprint(keys)}"' in text,
       "a grid has the same fingerprint here and there")


def test_problem():
    with open(scratch("own.jsonl"), encoding="utf-8") as file:
        lines = [line for line in file.read().splitlines() if '"pairs":' in line]
    good = len(lines) == 9
    for line in lines:
        p = problem.parse(line.partition('"problem":"')[2].partition('"')[0])
        for name, value in (("pairs", p.pairs()), ("bwd_flops", p.flops()[1]),
                            ("outputs_bytes", p.output_bytes())):
            good = good and f'"{name}":{value},' in line
    ok(good, "pairs, FLOPs and bytes as Flashback counts them")
    p = problem.parse("b=1,h=2,hk=1,nq=8,nk=8,d=16,dv=16,dtype=bf16,mask=full,softcap=5,sink")
    ok(p.others == ("softcap", "sink"), "items that no peer takes")
    for name, text in (("torch-flash", "softcap"), ("torch-efficient", "softcap")):
        ok(text in raises(Refused, lambda peer=PEERS[name]: peer.refuse(p)), f"{name} refuses them")
    p.others = ()
    ok(not raises(Refused, lambda: PEERS["torch-cudnn"].refuse(p)), "grouped heads go with cuDNN")
    ok("group" in raises(Refused, lambda: PEERS["torch-efficient"].refuse(p)), "... not elsewhere")
    p.d = p.dv = 20
    for name in ("torch-flash", "torch-flash-deterministic", "torch-cudnn"):
        ok("multiples of 8" in raises(Refused, lambda peer=PEERS[name]: peer.refuse(p)),
           f"{name} takes no heads that PyTorch would pad")
    ok(not raises(Refused, lambda: PEERS["torch-math"].refuse(p)), "... plain operators do")
    p.d, p.dv = 64, 32
    ok("dv = d" in raises(Refused, lambda: PEERS["torch-flash"].refuse(p)), "flash: dv = d alone")
    ok(not raises(Refused, lambda: PEERS["torch-cudnn"].refuse(p)), "... cuDNN takes others")
    p = problem.parse("b=1,h=2,hk=2,nq=8,nk=16,d=16,dv=16,dtype=bf16,mask=causal,window=4:0")
    kept = dataclasses.replace(p)
    ok(not raises(Refused, lambda: PEERS["torch-flex"].refuse(p)), "windows go with FlexAttention")
    ok("window" in raises(Refused, lambda: PEERS["fa2"].refuse(p)), "... not with flash-attn")
    ok(p == kept, "a problem that was asked about is what it was")


# ---- A peer without an operator of its own --------------------------------------------------------


class Torch:
    """What torch-math asks of PyTorch; autograd gives what the output says."""

    def __init__(self, operators):
        self.ops = types.SimpleNamespace(aten=types.SimpleNamespace(**dict.fromkeys(operators)))
        self.nn = types.SimpleNamespace(functional=self)
        self.autograd, self.asked = self, {}

    def scaled_dot_product_attention(self, *inputs, **options):
        self.asked.update(options)
        return ("o of", *inputs)

    def grad(self, output, inputs, dout, retain_graph):
        return [output, inputs, dout, retain_graph]


class Leaf:
    def detach(self):
        return self

    def requires_grad_(self):
        return self


def test_math():
    kind = PEERS["torch-math"]
    ok("_attention_math" in kind.present(Torch([])), "torch-math: a PyTorch without it")
    ok(kind.present(Torch(["_scaled_dot_product_attention_math"])) is None, "... and with it")
    p = problem.parse("b=1,h=2,hk=1,nq=8,nk=8,d=16,dv=16,dtype=bf16,mask=causal")
    ok(not raises(Refused, lambda: kind.refuse(p)), "grouped heads under a causal mask go")
    torch, leaves = Torch([]), [Leaf() for _ in range(4)]
    peer = kind(torch, p, leaves)
    peer.context = contextlib.nullcontext
    out, lse, saved = peer.forward()
    ok(out == ("o of", *leaves[:3]) and lse is None and saved == () and peer.direct() is None,
       "its forward is PyTorch's, and there is no operator to call behind it")
    ok(torch.asked == {"is_causal": True, "scale": p.scale, "enable_gqa": True},
       "asked for with mask, scale and groups")
    ok(peer.autograd() == [out, leaves[:3], leaves[3], True], "its backward is autograd's")


class Compiler(Torch):
    """What torch-flex asks: a compiler and a maker of block masks that count their calls."""

    def __init__(self):
        super().__init__([])
        self.compiler, self.events = self, []
        self.create_block_mask = lambda mask, *_: self.events.append("mask") or mask

    def reset(self):
        self.events.append("reset")

    def compile(self, function, dynamic):
        self.events.append("compile")
        return lambda *inputs, **options: ("o of", inputs, options)

    flex_attention = None


class Tensor(Leaf):
    device = "cuda"


def test_flex():
    kind, torch = PEERS["torch-flex"], Compiler()
    p = problem.parse("b=1,h=2,hk=1,nq=8,nk=8,d=16,dv=16,dtype=bf16,mask=causal,window=2:-1")
    sys.modules["torch.nn.attention.flex_attention"] = torch
    peer = kind(torch, p, [Tensor() for _ in range(4)])
    (_, inputs, options), lse, _ = peer.forward()
    again = peer.forward()[0]
    ok(torch.events == ["mask", "reset", "compile"] and again == ("o of", inputs, options),
       "torch-flex: compiled and its mask made once for all calls of the forward")
    mask = options.pop("block_mask")
    rows = ["".join("x" if mask(0, 0, i, j) else "." for j in range(5)) for i in range(5)]
    ok(rows == ["x....", "xx...", "xxx..", ".xxx.", "..xxx"], "its mask is the problem's")
    ok(options == {"scale": p.scale, "enable_gqa": True} and lse is None, "... scale and groups")
    whole = kind(Compiler(), dataclasses.replace(p, mask="full", left=-1), [Tensor()] * 4)
    ok(whole.forward()[0][2]["block_mask"] is None, "without a mask there is none")
    del sys.modules["torch.nn.attention.flex_attention"]


# ---- Statistics and sampling ---------------------------------------------------------------------


def test_flush():
    ok((device.flush_bytes(50 << 20), device.flush_bytes(4 << 20)) == (200 << 20, 64 << 20),
       "the flush is of the size of Flashback's: four times the L2, 64 MiB at least")


class FakeTimer:
    """Time that stands still but for what a call adds to it."""

    kind = "fake"

    def __init__(self):
        self.clock, self.log, self.begun = 0.0, [], 0.0

    def sleep(self, seconds):
        self.log.append(("sleep", seconds))

    def flush(self):
        self.log.append(("flush", 0))

    def start(self):
        self.begun = self.clock

    def stop(self):
        return self.clock - self.begun


def test_sampling():
    timer, order = FakeTimer(), []

    def call(name, seconds):
        def body():
            order.append(name)
            timer.clock += seconds() if callable(seconds) else seconds
        return body

    def broken():
        raise RuntimeError("no such kernel")

    dice = random.Random(1)
    series = [sampling.Series(call("even", 0.5)), sampling.Series(broken),
              sampling.Series(call("noisy", lambda: dice.choice((1.0, 9.0))))]
    rules = grid.Measure(warmup=2, min_samples=5, max_samples=30, max_seconds=0, rest=1)
    sampling.sample(timer, rules, series)
    ok(len(series[0].samples) == 6 and series[0].stop == "interval",
       "equal samples end at six, the first count that has an interval")
    ok(len(series[2].samples) == 30 and series[2].stop == "samples", "a noisy one at the most")
    ok(str(series[1].error) == "no such kernel" and series[1].stop == "failed",
       "one that fails ends alone")
    ok(order[:8] == ["even", "even", "noisy", "noisy", "even", "noisy", "even", "noisy"],
       "warm-up first, then in turn")
    ok(("sleep", 0.5) in timer.log and ("sleep", 1.0) in timer.log and ("flush", 0) in timer.log
       and max(s for _, s in timer.log) <= 1, "rests as long as the sample before")
    s = stats.summary([4.0, 1.0, 3.0, 2.0])
    ok((s["median"], s["q1"], s["min"], s["max"]) == (2.5, 1.75, 1.0, 4.0) and math.isnan(s["lo"]),
       "median and quartiles; no interval below six")
    ok(stats.median_ranks(20) == (5, 14) and stats.median_ranks(100) == (39, 60)
       and stats.median_ranks(5) is None, "ranks of the interval")


# ---- The journal ---------------------------------------------------------------------------------


def made_record(case, peer, base):
    made = record.begin(case, PEERS[peer], problem.parse(case.problem))
    record.fill_times(made, "bwd", [base * (1 + 0.01 * i) for i in range(9)])
    record.fill_times(made, "fwd", [base / 3] * 6)
    record.fill_method(made, grid.Measure(rest=20), FakeTimer(), "interval")
    record.fill_ceilings(made, 780.0, 4200.0)
    made.update({"saved_bytes": 0, "workspace_bytes": 4096})
    made.update({"dq_rel_l2": 2.5e-3, "dq_max_abs": 1e-3})
    return record.end(made, "unjudged", "", 1.5)


def test_journal():
    cases = grid.expand(FLASHBACK, scratch("peers.ini"))
    path = scratch("peers.jsonl")
    journal = Journal(path, {"program": "torch_peers", "host": "here"})
    ok(raises(Output, lambda: Journal(path, {}, resume=True)), "a second writer is kept out")
    journal.append(made_record(cases[0], "torch-flash", 2e-3))
    refused = record.begin(cases[8], PEERS["torch-flash"], problem.parse(cases[8].problem))
    journal.append(record.end(refused, "refused", "no window"))
    journal.close()
    ok("--resume" in raises(Usage, lambda: Journal(path, {})), "an old journal is not replaced")
    with open(path, "ab") as file:
        file.write(b"89b7db20 {\"case\":{\"key\":\"torn")
    journal = Journal(path, {"program": "torch_peers"}, resume=True)
    ok(journal.done == {cases[0].key("torch-flash"), cases[8].key("torch-flash")},
       "resuming cuts the torn tail off and knows what is done")
    journal.append(made_record(cases[0], "torch-cudnn", 1e-3))
    journal.close()
    out = flashback("table", path, "--kind", "speed", "--format", "csv")
    ok(out.returncode == 0 and "torch-flash" in out.stdout and "torch-cudnn" in out.stdout
       and ",2.08," in out.stdout, "table reads it")
    out = flashback("merge", scratch("all.h5"), scratch("own.h5"), path)
    ok(out.returncode == 0 and os.path.exists(scratch("all.h5")), "merge joins it to the others")
    out = flashback("table", scratch("all.h5"), "--kind", "memory", "--format", "csv")
    ok("torch-cudnn" in out.stdout and "null" in out.stdout, "and both stand in one table")
    out = flashback("export", scratch("all.h5"))
    ok(out.returncode == 0 and "torch-flash" in out.stdout and "no window" in out.stdout,
       "the refusal and its reason are kept")


for test in (test_inputs, test_grid, test_problem, test_math, test_flex, test_flush,
             test_sampling, test_journal, test_command_line, test_endings, test_without_torch):
    test()
sys.exit(done())

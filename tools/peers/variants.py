# SPDX-License-Identifier: BSD-3-Clause
"""The peers. Each makes, from the inputs of a problem, an object with

    forward()    -> o, lse, saved     what training would keep
    direct()     -> dq, dk, dv        the backward operator itself, on saved tensors; None: there is
                                      no such operator to call
    autograd()   -> dq, dk, dv        the same through PyTorch's autograd

Operators are called as PyTorch itself calls them; a version that lacks one refuses by reason."""

import contextlib
import dataclasses
import functools
import importlib

from . import Refused


class Peer:
    """What all share. refuse() raises Refused for what the peer does not offer."""

    name = ""
    summary = ""
    deterministic = "none"  # gradients that the peer claims to repeat bit by bit
    gemms = 5
    grouped = False  # fewer key heads than query heads

    def __init__(self, torch, problem, tensors):
        self.torch, self.problem = torch, problem
        self.q, self.k, self.v, self.dout = tensors
        self.causal = problem.mask != "full"

    @classmethod
    def present(cls, torch):
        """None, or why it cannot run here."""
        return None

    @classmethod
    def refuse(cls, problem):
        if problem.others:
            raise Refused(f"no {', '.join(problem.others)}")
        if problem.left >= 0 or problem.right >= 0:
            raise Refused("no window")
        if min(problem.b, problem.nq, problem.nk) < 1:
            raise Refused("b, nq and nk must be 1 or more")
        if problem.mask != "full" and problem.nq != problem.nk:
            raise Refused("a causal mask needs nq = nk: its alignment is not the same everywhere")
        if problem.hk != problem.h and not cls.grouped:
            raise Refused("no grouped key heads")
        if problem.dtype == "fp32":
            raise Refused("only dtype=bf16 and fp16")
        if problem.layout not in ("bhnd", "bnhd"):
            raise Refused("only layout=bhnd and bnhd")

    def context(self):
        return contextlib.nullcontext()

    def leaves(self):
        return [t.detach().requires_grad_() for t in (self.q, self.k, self.v)]

    def attend(self, q, k, v):
        """o, differentiable."""
        raise NotImplementedError

    def forward(self):
        raise NotImplementedError

    def direct(self):
        return None

    def prepare_autograd(self):
        self.inputs = self.leaves()
        with self.context():
            self.output = self.attend(*self.inputs)

    def autograd(self):
        with self.context():
            return self.torch.autograd.grad(self.output, self.inputs, self.dout, retain_graph=True)


class Sdpa(Peer):
    """One of the fused back ends behind torch.nn.functional.scaled_dot_product_attention."""

    backend = ""
    operator = ""
    fused = True  # one operator, which takes heads as they are

    @classmethod
    def refuse(cls, problem):
        super().refuse(problem)
        if cls.fused and (problem.d % 8 or problem.dv % 8):
            raise Refused("d and dv must be multiples of 8: PyTorch pads others for the operator")

    def context(self):
        from torch.nn.attention import SDPBackend, sdpa_kernel

        return sdpa_kernel([getattr(SDPBackend, self.backend)])

    @classmethod
    def present(cls, torch):
        for name in (cls.operator, cls.operator + "_backward"):
            if not hasattr(torch.ops.aten, name):
                return f"this PyTorch has no operator aten::{name}"
        return None

    def attend(self, q, k, v):
        options = {"enable_gqa": True} if self.problem.hk != self.problem.h else {}
        return self.torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=self.causal, scale=self.problem.scale, **options
        )

    def call(self, suffix, *arguments, **options):
        operator = getattr(self.torch.ops.aten, self.operator + suffix)
        return operator(*arguments, scale=self.problem.scale, **options)


class Flash(Sdpa):
    name = "torch-flash"
    summary = "FlashAttention-2 as PyTorch carries it"
    backend = "FLASH_ATTENTION"
    operator = "_scaled_dot_product_flash_attention"
    deterministic = "dk+dv"
    grouped = True

    @classmethod
    def refuse(cls, problem):
        super().refuse(problem)
        if problem.dv != problem.d:
            raise Refused("only dv = d")

    def forward(self):
        kept = self.call("", self.q, self.k, self.v, 0.0, self.causal, False)
        self.kept = kept
        return kept[0], kept[1], kept[2:8]

    def direct(self):
        out, lse, cum_q, cum_k, max_q, max_k, seed, offset = self.kept[:8]
        return self.call("_backward", self.dout, self.q, self.k, self.v, out, lse, cum_q, cum_k,
                         max_q, max_k, 0.0, self.causal, seed, offset)


class FlashDeterministic(Flash):
    name = "torch-flash-deterministic"
    summary = "the same with PyTorch's deterministic algorithms on"
    deterministic = "dq+dk+dv"

    @contextlib.contextmanager
    def switched(self):
        before = self.torch.are_deterministic_algorithms_enabled()
        fill = self.torch.utils.deterministic.fill_uninitialized_memory
        # With warn_only the operator warns and takes the atomic kernel all the same.
        self.torch.use_deterministic_algorithms(True, warn_only=False)
        self.torch.utils.deterministic.fill_uninitialized_memory = False  # no part of the kernel
        try:
            yield
        finally:
            self.torch.use_deterministic_algorithms(before)
            self.torch.utils.deterministic.fill_uninitialized_memory = fill

    def direct(self):
        with self.switched():
            return super().direct()

    def autograd(self):
        with self.switched():
            return super().autograd()


class Cudnn(Sdpa):
    name = "torch-cudnn"
    summary = "cuDNN behind PyTorch"
    backend = "CUDNN_ATTENTION"
    operator = "_scaled_dot_product_cudnn_attention"
    deterministic = "dk+dv"
    grouped = True

    def forward(self):
        self.kept = self.call("", self.q, self.k, self.v, None, True, 0.0, self.causal, False)
        return self.kept[0], self.kept[1], self.kept[2:8]

    def direct(self):
        out, lse, cum_q, cum_k, max_q, max_k, seed, offset = self.kept[:8]
        return self.call("_backward", self.dout, self.q, self.k, self.v, out, lse, seed, offset,
                         None, cum_q, cum_k, max_q, max_k, 0.0, self.causal)


class Efficient(Sdpa):
    name = "torch-efficient"
    summary = "the memory-efficient attention of xFormers as PyTorch carries it"
    backend = "EFFICIENT_ATTENTION"
    operator = "_scaled_dot_product_efficient_attention"

    def forward(self):
        self.kept = self.call("", self.q, self.k, self.v, None, True, 0.0, self.causal)
        return self.kept[0], self.kept[1], self.kept[2:4]

    def direct(self):
        out, lse, seed, offset = self.kept[:4]
        return self.call("_backward", self.dout, self.q, self.k, self.v, None, out, lse, seed,
                         offset, 0.0, [True, True, True, False], self.causal)[:3]


class ThroughAutograd(Peer):
    """Peers without a backward that can be called by itself."""

    grouped = True

    def forward(self):
        self.prepare_autograd()
        return self.output, None, ()


class Math(ThroughAutograd, Sdpa):
    """Whole matrices of scores: the decomposed path, which has no backward operator of its own."""

    name = "torch-math"
    summary = "the materialised attention of PyTorch's plain operators"
    backend = "MATH"
    operator = "_scaled_dot_product_attention_math"
    deterministic = "dq+dk+dv"
    fused = False
    gemms = 4  # P is kept

    @classmethod
    def present(cls, torch):
        if not hasattr(torch.ops.aten, cls.operator):
            return f"this PyTorch has no operator aten::{cls.operator}"
        return None


class Flex(ThroughAutograd):
    name = "torch-flex"
    summary = "FlexAttention, compiled"
    deterministic = "dq+dk+dv"
    gemms = 7  # S and dP once for dk and dv, once for dq

    @classmethod
    def present(cls, torch):
        try:
            importlib.import_module("torch.nn.attention.flex_attention")
            importlib.import_module("triton")
        except ImportError as error:
            return f"FlexAttention needs {error.name}"
        return None

    @classmethod
    def refuse(cls, problem):
        super().refuse(dataclasses.replace(problem, mask="full", left=-1, right=-1))
        if any(first > last for first, last in map(problem.visible, (0, problem.nq - 1))):
            raise Refused("no rows without a key")

    def mask(self):
        p, offset = self.problem, self.problem.nk - self.problem.nq

        def visible(_b, _h, row, column):
            keep = column >= 0
            if p.mask == "causal":
                keep = keep & (column <= row + offset)
            if p.mask == "causal-topleft":
                keep = keep & (column <= row)
            if p.right >= 0:
                keep = keep & (column <= row + offset + p.right)
            if p.left >= 0:
                keep = keep & (column >= row + offset - p.left)
            return keep

        return visible

    @functools.cached_property
    def compiled(self):
        """The call for this problem: compiled, and its mask's blocks listed, once and outside of
        what is timed, as in a training loop."""
        flex = importlib.import_module("torch.nn.attention.flex_attention")
        p, block_mask = self.problem, None
        if p.mask != "full" or p.left >= 0 or p.right >= 0:
            block_mask = flex.create_block_mask(self.mask(), None, None, p.nq, p.nk, self.q.device)
        self.torch.compiler.reset()  # shapes are compiled for, and limits on them not run into
        return functools.partial(self.torch.compile(flex.flex_attention, dynamic=False),
                                 block_mask=block_mask, scale=p.scale, enable_gqa=p.hk != p.h)

    def attend(self, q, k, v):
        return self.compiled(q, k, v)


class FlashAttn(ThroughAutograd):
    """The flash-attn packages: [b, n, h, d], causal masks bottom-right."""

    module = ""
    deterministic = "dk+dv"

    @classmethod
    def present(cls, torch):
        try:
            importlib.import_module(cls.module)
        except ImportError:
            return f"the Python module {cls.module} is not installed"
        return None

    @classmethod
    def refuse(cls, problem):
        if problem.mask == "causal-topleft" and problem.nq != problem.nk:
            raise Refused("mask=causal-topleft only where nq = nk")
        if problem.mask != "full" and problem.nq > problem.nk:
            raise Refused("no rows without a key")
        super().refuse(dataclasses.replace(problem, mask="full"))

    def attend(self, q, k, v):
        function = importlib.import_module(self.module).flash_attn_func
        turned = [t.transpose(1, 2) for t in (q, k, v)]
        out = function(*turned, softmax_scale=self.problem.scale, causal=self.causal)
        return (out[0] if isinstance(out, tuple) else out).transpose(1, 2)


class Fa2(FlashAttn):
    name, module = "fa2", "flash_attn"
    summary = "FlashAttention-2, the package"


class Fa3(FlashAttn):
    name, module = "fa3", "flash_attn_interface"
    summary = "FlashAttention-3, the package"


class Fa4(FlashAttn):
    name, module = "fa4", "flash_attn.cute"
    summary = "FlashAttention-4, the package"


PEERS = {
    peer.name: peer
    for peer in (Flash, FlashDeterministic, Cudnn, Efficient, Math, Flex, Fa2, Fa3, Fa4)
}

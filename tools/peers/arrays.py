# SPDX-License-Identifier: BSD-3-Clause
"""The few array operations that drawing inputs needs, in NumPy and in PyTorch: integers are signed
64 bits wide, reals are fp64. Both round every operation as IEEE 754 says, so both give the same
bits."""


class Numpy:
    def __init__(self):
        import numpy

        self.np = numpy

    def integers(self, count):
        return self.np.arange(count, dtype=self.np.int64)

    def real(self, x):
        return x.astype(self.np.float64)

    def where(self, condition, x, y):
        return self.np.where(condition, x, y)

    def frexp(self, x):
        mantissa, exponent = self.np.frexp(x)
        return mantissa, exponent.astype(self.np.float64)

    def ldexp(self, x, exponent):
        return self.np.ldexp(x, exponent.astype(self.np.int32))

    def sqrt(self, x):
        return self.np.sqrt(x)

    def rint(self, x):
        return self.np.rint(x)

    def clip(self, x, low, high):
        return self.np.clip(x, low, high)

    def stack_last(self, parts):
        return self.np.stack(parts, axis=-1)

    def full(self, shape, value):
        return self.np.full(shape, value, dtype=self.np.float64)


class Torch:
    def __init__(self, device):
        import torch

        self.torch, self.device = torch, device

    def integers(self, count):
        return self.torch.arange(count, dtype=self.torch.int64, device=self.device)

    def real(self, x):
        return x.to(self.torch.float64)

    def where(self, condition, x, y):
        return self.torch.where(condition, x, y)

    def frexp(self, x):
        mantissa, exponent = self.torch.frexp(x)
        return mantissa, exponent.to(self.torch.float64)

    def ldexp(self, x, exponent):
        # Two steps: a power of two alone may leave the range that the product stays in.
        half = self.torch.floor(exponent / 2)
        return x * self.torch.exp2(half) * self.torch.exp2(exponent - half)

    def sqrt(self, x):
        return self.torch.sqrt(x)

    def rint(self, x):
        return self.torch.round(x)  # half to even

    def clip(self, x, low, high):
        return self.torch.clamp(x, low, high)

    def stack_last(self, parts):
        return self.torch.stack(parts, dim=-1)

    def full(self, shape, value):
        return self.torch.full(shape, value, dtype=self.torch.float64, device=self.device)

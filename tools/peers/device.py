# SPDX-License-Identifier: BSD-3-Clause
"""The device: its timer, its ceilings, its facts, and the tensors of a problem on it."""

import platform
import time

from . import arrays, inputs

# Longer than Python takes to enqueue a call, so that a sample holds no gap of the host's.
HEAD_START_SECONDS = 0.0005


# Flashback flushes with a fill of four times the L2, and of this at least.
LEAST_FLUSH = 64 << 20


def flush_bytes(cache):
    return max(4 * cache, LEAST_FLUSH)


class EventTimer:
    """CUDA events around what is enqueued. A short spin before the first event lets the host get
    ahead: the span is the device's time alone."""

    kind = "cuda-event"

    def __init__(self, torch):
        self.torch = torch
        self.begin = torch.cuda.Event(enable_timing=True)
        self.end = torch.cuda.Event(enable_timing=True)
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        cache = getattr(properties, "L2_cache_size", 0)
        self.buffer = torch.zeros(flush_bytes(cache), dtype=torch.uint8, device="cuda")
        rate = getattr(properties, "clock_rate", 1500000)  # kHz
        self.spin = int(HEAD_START_SECONDS * rate * 1000)

    def sleep(self, seconds):
        time.sleep(max(0, seconds))

    def flush(self):
        self.buffer.zero_()

    def start(self):
        self.torch.cuda._sleep(self.spin)
        self.begin.record()

    def stop(self):
        self.end.record()
        self.end.synchronize()
        return self.begin.elapsed_time(self.end) * 1e-3


def dtype_of(torch, name):
    return {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[name]


def place(torch, tensor, layout):
    """[b, h, n, d] as the layout, bhnd or bnhd, has it in memory."""
    if layout == "bnhd":
        return tensor.transpose(1, 2).contiguous().transpose(1, 2)
    return tensor.contiguous()


def make_inputs(torch, problem, recipe):
    """q, k, v and dout on the device, with the values that Flashback gives its variants."""
    xp = arrays.Torch("cuda")
    p = problem
    shapes = {"q": (p.b, p.h, p.nq, p.d), "k": (p.b, p.hk, p.nk, p.d),
              "v": (p.b, p.hk, p.nk, p.dv), "dout": (p.b, p.h, p.nq, p.dv)}
    made = []
    for name, shape in shapes.items():
        values = inputs.draw(xp, recipe, name, shape).to(dtype_of(torch, p.dtype))
        made.append(place(torch, values, p.layout))
    torch.cuda.empty_cache()
    return made


def best_of(torch, call, count=9, warm=2):
    timer = (torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True))
    least = float("inf")
    for i in range(warm + count):
        timer[0].record()
        call()
        timer[1].record()
        torch.cuda.synchronize()
        if i >= warm:
            least = min(least, timer[0].elapsed_time(timer[1]) * 1e-3)
        time.sleep(0.02)
    return least


def ceilings(torch):
    """TFLOP/s of a bf16 GEMM of 8192^3, and GB/s of a copy, read and written bytes counted."""
    n, size = 8192, 1 << 30
    a, b = (torch.randn(n, n, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    out = torch.empty_like(a)
    gemm = best_of(torch, lambda: torch.matmul(a, b, out=out))
    source = torch.zeros(size, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    copy = best_of(torch, lambda: target.copy_(source))
    del a, b, out, source, target
    torch.cuda.empty_cache()
    return 2 * n**3 / gemm * 1e-12, 2 * size / copy * 1e-9


def first_field(path, key):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith(key):
                    return line.partition(":")[2].strip() or "unknown"
    except OSError:
        pass
    return "unknown"


def cudnn_version(torch):
    """Another cuDNN on the library path than the one PyTorch was built for is an error to it."""
    try:
        return str(torch.backends.cudnn.version())
    except RuntimeError:
        return "unknown"


def facts(torch):
    """Of machine and libraries, under the names that Flashback uses where it has the fact."""
    system = platform.uname()
    found = {"host": system.node, "kernel": system.release,
             "cpu_model": first_field("/proc/cpuinfo", "model name"),
             "python": platform.python_version()}
    if torch is None:
        return found
    found["torch"] = torch.__version__
    found["torch_cuda"] = torch.version.cuda or "none"
    found["torch_cudnn"] = cudnn_version(torch)
    if torch.cuda.is_available():
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        found["gpu_name"] = properties.name
        found["gpu_uuid"] = f"GPU-{getattr(properties, 'uuid', 'unknown')}"
        found["gpu_memory_bytes"] = str(properties.total_memory)
    return found

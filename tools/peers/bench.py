# SPDX-License-Identifier: BSD-3-Clause
"""One problem at work: every peer that takes it is opened, compared with fp64, and timed in turn
with the others."""

import time

from . import Refused, errors, record, sampling, stats


class Bench:
    """One peer on one problem."""

    def __init__(self, torch, peer_class, case, problem):
        self.torch, self.peer_class, self.case, self.problem = torch, peer_class, case, problem
        self.begun = time.monotonic()
        self.record = record.begin(case, peer_class, problem)
        self.peer = self.main = self.autograd = None

    def check_offer(self):
        absent = self.peer_class.present(self.torch)
        if absent:
            raise Refused(absent)
        if not record.is_standard(self.case.numerics):
            raise Refused("only standard numerics")
        self.peer_class.refuse(self.problem)

    def allocated(self):
        self.torch.cuda.synchronize()
        return self.torch.cuda.memory_allocated()

    def open(self, tensors, autograd):
        """The forward and one backward: memory and errors."""
        cuda = self.torch.cuda
        self.peer = self.peer_class(self.torch, self.problem, tensors)
        before = self.allocated()
        out, lse, _ = self.peer.forward()
        if out.shape != tensors[3].shape:
            raise Refused(f"o has the shape {tuple(out.shape)}")
        kept = out.numel() * out.element_size()
        kept += lse.numel() * lse.element_size() if lse is not None else 4 * out[..., 0].numel()
        self.record["saved_bytes"] = max(0, self.allocated() - before - kept)
        self.choose_main(autograd)
        before = self.allocated()
        cuda.reset_peak_memory_stats()
        gradients = self.main()
        cuda.synchronize()
        extra = cuda.max_memory_allocated() - before
        self.record["workspace_bytes"] = max(0, extra - self.record["outputs_bytes"])
        self.record.update(errors.measure(self.torch, self.problem, tensors, gradients))

    def choose_main(self, autograd):
        """The backward operator, or autograd where there is none to call. Where there is one, the
        second figure may be unwanted or missing."""
        direct = self.peer.direct() is not None
        self.main = self.peer.direct
        if direct and not autograd:
            return
        try:
            self.peer.prepare_autograd()
            self.autograd = self.peer.autograd
        except RuntimeError:
            if not direct:
                raise
        self.main = self.peer.direct if direct else self.autograd

    def finish(self, outcome, reason=""):
        self.peer = self.main = self.autograd = None
        seconds = time.monotonic() - self.begun
        return record.end(self.record, outcome, reason, seconds)


def fail(bench, error):
    """A refusal, or what a peer threw; out of memory is a refusal too, as in the suite."""
    refused = isinstance(error, Refused) or "out of memory" in str(error)
    return bench.finish("refused" if refused else "crashed", error or type(error).__name__)


def time_benches(benches, rules, timer, ceilings):
    """Backward (direct), backward through autograd, forward: each round takes one sample of each
    peer."""

    def series_of(calls):
        made = [sampling.Series(call) for call in calls]
        sampling.sample(timer, rules, made)
        return made

    backward = series_of([bench.main for bench in benches])
    second = [bench for bench in benches if bench.autograd and bench.autograd != bench.main]
    autograd = dict(zip(map(id, second), series_of([bench.autograd for bench in second])))
    forward = series_of([bench.peer.forward for bench in benches] if rules.forward else [])
    for i, bench in enumerate(benches):
        if backward[i].error:
            yield fail(bench, backward[i].error)
            continue
        record.fill_times(bench.record, "bwd", backward[i].samples)
        if rules.forward and not forward[i].error:
            record.fill_times(bench.record, "fwd", forward[i].samples)
        if id(bench) in autograd and not autograd[id(bench)].error:
            median = stats.summary(autograd[id(bench)].samples)["median"]
            bench.record["phases"] = f"autograd={1e3 * median:.4g}"
        if bench.main == bench.autograd:
            bench.record["remark"] = "bwd_ms is the time through autograd: no operator to call"
        record.fill_method(bench.record, rules, timer, backward[i].stop)
        record.fill_ceilings(bench.record, *ceilings)
        yield bench.finish("unjudged")


def work(torch, benches, make_tensors, rules, timer, ceilings, autograd=True):
    """The records of one problem, one a bench."""
    opened, tensors = [], None
    for bench in benches:
        try:
            bench.check_offer()
            tensors = tensors or make_tensors()
            bench.open(tensors, autograd)
            opened.append(bench)
        except Exception as error:  # whatever a peer throws becomes its record's reason
            yield fail(bench, error)
        torch.cuda.empty_cache()
    if opened:
        yield from time_benches(opened, rules, timer, ceilings)

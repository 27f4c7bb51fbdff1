# SPDX-License-Identifier: BSD-3-Clause
"""peers_endings.py: the command line of tools/torch_peers.py, and how its runs end: exit status, one
line, what is kept. Part of peers_without_torch.py."""

import contextlib
import io
import os
import signal
import sys
import types

from peers import Usage, device, main, record
from peers_tap import FLASHBACK, SCRATCH, flashback, ok, raises, scratch


class FakeTimer:
    """One that nobody starts."""


def test_command_line():
    def run(*words):
        with contextlib.redirect_stderr(io.StringIO()) as err:
            with contextlib.redirect_stdout(io.StringIO()) as out:
                status = main.main([*words, "--flashback", FLASHBACK])
        return status, out.getvalue(), err.getvalue()

    words = ["/there/x.ini", "-o", "there/x.h5", "--flashback=/opt/bin/flashback", "-o/tmp/y.h5",
             "-s", "recipe=file:/data/in.h5#sink", "threads=1", "experiments/x.ini"]
    ok([main.told(word, "there/x.h5") for word in words]
       == ["x.ini", "-o", "x.h5", "--flashback=flashback", "-oy.h5", "-s",
           "recipe=file:in.h5#sink", "threads=1", "experiments/x.ini"],
       "the facts tell the command without the folders of this machine")
    path = scratch("peers.ini")
    status, out, _ = run(path, "--dry-run", "-v", "torch-flash", "-v", "torch-cudnn")
    ok(status == 0 and len(out.split()) == 18 and "torch-cudnn|b=1" in out, "--dry-run")
    status, _, err = run(path, "-v", "torch-flush")
    ok(status == 2 and "torch-flash" in err and err.count("\n") == 1, "an unknown peer")
    status, _, err = run(path, "--no-such-option")
    ok(status == 2 and "no-such" in err and err.count("\n") == 1, "an unknown option")
    status, _, err = run(scratch("none.ini"))
    ok(status == 4 and err.count("\n") == 1, "an experiment that is not there")
    with open(scratch("noise.ini"), "wb") as file:
        file.write(b"\xff\xfe[grid]\n")
    status, _, err = run(scratch("noise.ini"))
    ok(status == 2 and err.count("\n") == 1, "an experiment that is no text")
    ok("--flashback" in raises(Usage, lambda: main.find_program(SCRATCH)), "a folder is no program")
    os.environ["FLASHBACK"] = scratch("nothing")
    ok("FLASHBACK" in raises(Usage, lambda: main.find_program(None)), "nor is nothing")
    os.environ["FLASHBACK"] = FLASHBACK


# ---- Runs that cannot begin, that are stopped, that end badly ------------------------------------


class FakeBench:
    """Stands for peers.bench: its peers need no device."""

    def __init__(self, torch, peer, case, p):
        self.peer, self.record, self.problem = peer, record.begin(case, peer, p), p

    def finish(self, outcome, reason=""):
        return record.end(self.record, outcome, reason, 0)


def fake_run(work, *words):
    """Exit status and stderr of a run whose groups are worked by `work`."""
    kept = (main.bench, main.import_torch, device.facts, device.EventTimer, device.ceilings)
    main.bench = types.SimpleNamespace(Bench=FakeBench,
                                       work=lambda torch, benches, *_: work(benches))
    main.import_torch = lambda: (object(), "")
    device.facts, device.EventTimer = (lambda torch: {}), (lambda torch: FakeTimer())
    device.ceilings = lambda torch: (1.0, 1.0)
    try:
        with contextlib.redirect_stderr(io.StringIO()) as err:
            status = main.main([scratch("peers.ini"), "-o", scratch("fake.h5"), "--replace", "-q",
                                "-v", "torch-flash", *words])
    finally:
        main.bench, main.import_torch, device.facts, device.EventTimer, device.ceilings = kept
    return status, err.getvalue()


def test_endings():
    def all_are(outcome, reason=""):
        return lambda benches: [bench.finish(outcome, reason) for bench in benches]

    def stopped_by(number):
        def stopped(benches):
            yield benches[0].finish("refused", "no window")
            os.kill(os.getpid(), number)
            yield benches[0].finish("refused", "not reached")
        return stopped

    def lost(benches):
        raise RuntimeError("CUDA error: the device is lost\nand a page of advice")

    ok(fake_run(all_are("unjudged")) == (0, ""), "a run that went well is told so")
    ok(fake_run(all_are("crashed", "no kernel"))[0] == 1, "a peer that failed: 1")
    status, err = fake_run(all_are("refused", "no"))
    ok(status == 3 and "torch-flash' refused every case" in err, "a named peer refused all: 3")
    status, err = fake_run(lost)
    ok(status == 1 and err == "torch_peers: PyTorch: CUDA error: the device is lost\n",
       "a device that is lost: one line")
    status, err = fake_run(stopped_by(signal.SIGTERM))
    ok(status == 143 and err.count("\n") == 1 and "--resume" in err, "SIGTERM: 143, one line")
    out = flashback("export", scratch("fake.h5"))
    ok("no window" in out.stdout and "not reached" not in out.stdout, "... what was done is kept")
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    ok(fake_run(stopped_by(signal.SIGHUP))[0] == 129, "SIGHUP: 129")
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    ok(fake_run(stopped_by(signal.SIGHUP))[0] == 3, "... and under nohup it goes on to the end")
    signal.signal(signal.SIGHUP, before)
    status, err = fake_run(all_are("unjudged"), "--flashback", "/bin/false")
    ok(status == 2 and err.count("\n") == 1, "a program that is not Flashback")


def test_without_torch():
    class Broken:
        def find_spec(self, name, path=None, target=None):
            if name == "torch":
                raise OSError("libcudart.so.13: cannot open shared object file")

    sys.modules["torch"] = None
    torch, why = main.import_torch()
    ok(torch is None and "PyTorch" in why, f"without PyTorch: {why}")
    del sys.modules["torch"]
    sys.meta_path.insert(0, Broken())
    torch, why = main.import_torch()
    ok(torch is None and "libcudart" in why, f"with one that does not load: {why}")
    with contextlib.redirect_stderr(io.StringIO()) as err:
        status = main.main([scratch("peers.ini"), "-o", scratch("not.h5")])
    sys.meta_path.pop(0)
    ok(status == 3 and err.getvalue().count("\n") == 1 and not os.path.exists(scratch("not.jsonl")),
       "nothing can run: 3, one line, no journal")

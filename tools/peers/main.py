# SPDX-License-Identifier: BSD-3-Clause
"""The command line."""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys

from . import Interrupted, Nothing, Output, Refused, Stop, Usage
from . import bench, device, grid, inputs, problem, record
from .journal import Journal
from .variants import PEERS

HERE = os.path.dirname(os.path.abspath(__file__))


class Parser(argparse.ArgumentParser):
    """One that has its say in one line, as every failure here."""

    def error(self, message):
        raise Usage(f"{message}; see --help")


def arguments(argv):
    parser = Parser(
        prog="torch_peers.py",
        description="Times PyTorch's attention backwards on the grid of an experiment, in place of "
        "its variants, and writes a journal as Flashback's (NAME.jsonl) and the HDF5 file from it.",
        epilog="peers: " + "; ".join(f"{p.name}: {p.summary}" for p in PEERS.values()))
    parser.add_argument("experiment", help="experiments/NAME.ini")
    parser.add_argument("-o", "--output", metavar="FILE", help="NAME-peers.h5 unless given")
    parser.add_argument("-v", "--variant", action="append", metavar="PEER",
                        help="this peer; may come again (all that are installed)")
    parser.add_argument("-s", "--set", action="append", default=[], metavar="KEY=VALUE",
                        help="replaces a key of [measure], or a list in every grid")
    parser.add_argument("--resume", action="store_true", help="go on with the journal")
    parser.add_argument("--replace", action="store_true", help="start the journal anew")
    parser.add_argument("--dry-run", action="store_true", help="print the cases and leave")
    parser.add_argument("--flashback", metavar="PROGRAM", help="the program, if not on PATH")
    parser.add_argument("--no-autograd", action="store_true",
                        help="without the second figure, the time through autograd")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress")
    return parser.parse_args(argv)


def find_program(given):
    built = os.path.join(HERE, "..", "..", "build", "flashback")
    named = (("--flashback", given), ("FLASHBACK", os.environ.get("FLASHBACK")))
    for source, path in (*named, ("", shutil.which("flashback")), ("", built)):
        if path and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
        if path and source:
            raise Usage(f"{source} {path}: no such program")
    raise Usage("flashback is not on PATH and not in build/; --flashback names it")


def import_torch():
    """PyTorch with a device, or None and why."""
    try:
        import torch
    except ModuleNotFoundError as error:
        return None, f"{'PyTorch' if error.name == 'torch' else error.name} is not installed"
    except (ImportError, OSError) as error:  # a library of it is missing, or one of another version
        return None, f"PyTorch cannot be loaded: {first_line(error)}"
    if not torch.cuda.is_available():
        return None, "PyTorch sees no CUDA device"
    return torch, ""


def first_line(error):
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def choose(names, torch):
    """The peers asked for, or all that are installed."""
    for name in names or []:
        if name not in PEERS:
            raise Usage(f"unknown peer '{name}'; allowed: {', '.join(PEERS)}")
    if names:
        return [PEERS[name] for name in dict.fromkeys(names)]
    return [peer for peer in PEERS.values() if torch is None or not peer.present(torch)]


# A path from the root, whole or behind "-o", "--output=" or "recipe=file:".
ROOTED = re.compile(r"(-\w|[^/]*[=:]|)/(?:.*/)?([^/]*)")


def told(argument, output):
    """An argument without the machine's folders, of the output and of any path from the root."""
    if output and argument.endswith(output):
        return argument[: -len(output)] + os.path.basename(output)
    found = ROOTED.fullmatch(argument)
    return found[1] + found[2] if found else argument


def facts_of(options, argv, torch, text, keys):
    words = [told(argument, options.output) for argument in argv]
    found = {"program": "torch_peers", "argv": " ".join(["torch_peers.py", *words]),
             "started": record.now(), **device.facts(torch)}
    name = os.path.splitext(os.path.basename(options.experiment))[0]
    found.update({"experiment": name, "experiment_text": text, **grid.read_texts(text)})
    found.update({"grid_hash": grid.fingerprint(keys), "shard": "1", "shards": "1"})
    return found


def merge(program, journal_path, output):
    """The HDF5 file, made by Flashback from the journal."""
    temporary = output + ".new.h5"
    done = subprocess.run([program, "merge", temporary, journal_path], check=False,
                          capture_output=True, text=True)
    if done.returncode:
        why = (done.stderr.strip() or f"it ended with {done.returncode}").splitlines()[-1]
        raise Output(f"the records are in {journal_path}, but flashback merge failed: {why}")
    os.replace(temporary, output)


class Run:
    """A run under way: what every group of cases needs."""

    def __init__(self, options, torch, peers, rules):
        self.options, self.torch, self.peers, self.rules = options, torch, peers, rules
        self.timer = self.ceilings = None
        self.count = self.errors = 0
        self.ran = set()  # names of peers that refused less than all

    def say(self, made):
        self.count += 1
        self.errors += made["outcome"] == "crashed"
        if made["outcome"] != "refused":
            self.ran.add(made["variant"])
        if not self.options.quiet:
            time = f"{made['bwd_ms']:.3f} ms" if "bwd_ms" in made else made["reason"]
            word = "done" if made["outcome"] == "unjudged" else made["outcome"]
            print(f"[{self.count}] {made['variant']} {made['problem']}: {word}, {time}",
                  file=sys.stderr, flush=True)

    def outcome(self):
        """The exit status, of what was run now: as flashback run has it."""
        silent = [name for name in self.options.variant or [] if name not in self.ran]
        if not self.count:
            return 0
        for name in dict.fromkeys(silent):
            print(f"torch_peers: warning: peer '{name}' refused every case", file=sys.stderr)
        return 1 if self.errors else 3 if silent or not self.ran else 0

    def records(self, cases, done):
        """Of the cases of one group that are not in the journal yet."""
        benches = [bench.Bench(self.torch, peer, case, problem.parse(case.problem))
                   for case in cases for peer in self.peers if case.key(peer.name) not in done]
        if not benches:
            return
        try:
            recipe = inputs.parse_recipe(cases[0].recipe)
        except Refused as error:
            yield from (one.finish("refused", error) for one in benches)
            return
        if self.timer is None:
            self.timer = device.EventTimer(self.torch)
            self.ceilings = device.ceilings(self.torch)
        yield from bench.work(
            self.torch, benches,
            lambda: device.make_inputs(self.torch, benches[0].problem, recipe),
            self.rules, self.timer, self.ceilings, not self.options.no_autograd)


def run(options, argv):
    program = find_program(options.flashback)
    with open(options.experiment, encoding="utf-8", errors="replace") as file:
        text = file.read()
    cases = grid.expand(program, options.experiment, options.set)
    rules = grid.read_measure(text, options.set)
    rules.rest = 20 if rules.rest is None else rules.rest
    torch, why = import_torch()
    peers = choose(options.variant, torch)
    keys = [case.key(peer.name) for case in cases for peer in peers]
    if options.dry_run:
        print("\n".join(keys))
        return 0
    if torch is None:
        raise Nothing(why)
    name = os.path.splitext(os.path.basename(options.experiment))[0]
    output = options.output or f"{name}-peers.h5"
    path = (output[:-3] if output.endswith(".h5") else output) + ".jsonl"
    facts = facts_of(options, argv, torch, text, keys)
    journal = Journal(path, facts, options.resume, options.replace)
    work = Run(options, torch, peers, rules)
    stopped = None
    try:
        for group in grid.groups(cases):
            for made in work.records(group, journal.done):
                journal.append(made)
                work.say(made)
    except (Interrupted, RuntimeError) as error:  # a device that is lost is a RuntimeError
        stopped = error
        stopped.journal = path
    finally:
        journal.close()
    listen(signal.SIG_DFL)
    if journal.done:
        merge(program, path, output)
    if stopped:
        raise stopped
    return work.outcome()


def listen(handler):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup
            signal.signal(number, handler)


def interrupt(number, _frame):
    raise Interrupted(number)


def main(argv):
    listen(interrupt)
    try:
        return run(arguments(argv), argv)
    except Stop as error:
        text, status = error, error.status
    except OSError as error:
        named = f"{error.filename}: {error.strerror}" if error.filename else error
        text, status = named, 4
    except RuntimeError as error:
        text, status = f"PyTorch: {first_line(error)}", 1
    except Interrupted as error:
        kept = f"; the records are in {error.journal}, --resume goes on" if error.journal else ""
        text, status = f"interrupted{kept}", error.status
    print(f"torch_peers: {text}", file=sys.stderr)
    return status

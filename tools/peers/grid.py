# SPDX-License-Identifier: BSD-3-Clause
"""The grid of an experiment. Flashback expands it itself (run --dry-run), so that there is one
grammar and one canonical text of a case; only [measure] is read here."""

import dataclasses
import subprocess

from . import Usage


@dataclasses.dataclass(frozen=True)
class Case:
    """A case without its variant."""

    problem: str
    numerics: str
    recipe: str
    threads: int = 0

    def key(self, variant):
        tail = f"|threads={self.threads}" if self.threads else ""
        return f"{variant}|{self.problem}|{self.numerics}|{self.recipe}{tail}"


@dataclasses.dataclass
class Measure:
    """[measure], as far as timing needs it; doc/experiments.md has the meanings. A rest of None is
    one that the experiment does not set: 20, what Flashback does on a device."""

    warmup: int = 1
    min_samples: int = 5
    max_samples: int = 100
    max_seconds: float = 5.0
    interval: float = 0.01
    rest: float = None
    forward: bool = True
    sustained: bool = False
    flush: bool = True
    max_rest: float = 1.0
    sustained_seconds: float = 2.0


WORDS = {
    "forward": ("forward", {"yes": True, "no": False}),
    "mode": ("sustained", {"sustained": True, "burst": False}),
    "l2": ("flush", {"flush": True, "warm": False}),
}
# Keys of [measure] that say nothing about timing.
OTHERS = {"what", "deadline", "det_runs", "time_failed"}


def set_measure(measure, key, value):
    """Takes one key; the values were checked by Flashback before."""
    if key in WORDS:
        name, values = WORDS[key]
        setattr(measure, name, values[value])
    elif key == "rest":
        measure.rest = float(value)
    elif key not in OTHERS:
        setattr(measure, key, type(getattr(measure, key))(value))


def is_measure_key(key):
    return key in WORDS or key in OTHERS or hasattr(Measure, key)


def sections_of(text):
    """(section, key, value) of every line; an indented line goes on with the key before it."""
    section = key = ""
    for line in text.splitlines():
        body = line.split(" ;")[0].rstrip()
        if not body.strip() or body.lstrip()[0] in "#;":
            continue
        if body[0] in " \t" and key:
            yield section, key, body.strip()
        elif body.startswith("["):
            section, key = body[1 : body.index("]")], ""
        else:
            name, _, value = body.partition("=" if "=" in body else ":")
            key = name.strip()
            yield section, key, value.strip()


def read_measure(text, settings):
    measure = Measure()
    for section, key, value in sections_of(text):
        if section == "measure":
            set_measure(measure, key, value)
    for setting in settings:
        key, _, value = setting.partition("=")
        if is_measure_key(key):
            set_measure(measure, key, value)
    return measure


def read_texts(text):
    """question and shows: later lines of the same key go on with the text."""
    found = {"question": "", "shows": ""}
    for section, key, value in sections_of(text):
        if section == "experiment" and key in found:
            found[key] = f"{found[key]} {value}".strip()
    return found


def parse_case(line):
    """A line of run --dry-run: `run      null|problem|numerics|recipe[|threads=N]`."""
    key = line.split(None, 1)[1].split("  # ")[0].strip()
    parts = key.split("|")
    threads = int(parts[4].partition("=")[2]) if len(parts) > 4 else 0
    return Case(parts[1], parts[2], parts[3], threads)


def expand(program, path, settings=()):
    """The cases of an experiment, each once, in its order."""
    command = [program, "run", path, "--dry-run", "--set", "variant=null"]
    for setting in settings:
        command += ["--set", setting]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Usage(f"cannot run '{program}': {error.strerror}; --flashback names it") from error
    if done.returncode:
        said = done.stderr.strip() or f"{' '.join(command)} failed"
        raise Usage(said.splitlines()[-1])
    return list(dict.fromkeys(parse_case(line) for line in done.stdout.splitlines() if line))


def groups(cases):
    """Runs of cases that share problem, recipe and threads: they get the same inputs."""
    found = {}
    for case in cases:
        found.setdefault((case.problem, case.recipe, case.threads), []).append(case)
    return list(found.values())


def fingerprint(keys):
    """The name of a grid, made as Flashback makes it: 64-bit FNV-1a over the keys."""
    value = 14695981039346656037
    for key in keys:
        for byte in key.encode() + b"\0":
            value = (value ^ byte) * 1099511628211 % 2**64
    return f"{value:016x}"

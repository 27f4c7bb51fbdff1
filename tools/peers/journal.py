# SPDX-License-Identifier: BSD-3-Clause
"""The journal: one line a run and one a case, each with a CRC-32 before it, made durable before the
next case begins. doc/results-format.md describes it."""

import errno
import fcntl
import json
import math
import os
import zlib

from . import Output, Usage

SCHEMA = {"schema_name": "flashback-results", "schema_version": 2}
# Columns that are unsigned 64-bit numbers: JSON carries them as text.
UNSIGNED = {"seed"}


def plain(name, value):
    """A value as the journal has it, None for one that is missing."""
    if isinstance(value, (list, tuple)):
        return [float(item) for item in value]
    if name in UNSIGNED:
        return str(value)
    if isinstance(value, float):
        if math.isnan(value):
            return None
        if math.isinf(value):
            return "inf" if value > 0 else "-inf"
    return None if value == "" else value


def line_of(entry):
    text = json.dumps(entry, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return f"{zlib.crc32(text.encode()):08x} {text}\n".encode()


def intact_lines(data):
    """(entry, end) of each whole line from the start; stops at the first that is not."""
    at = 0
    while True:
        end = data.find(b"\n", at)
        if end < 0 or end - at < 10:
            return
        text = data[at + 9 : end]
        if data[at : at + 9] != b"%08x " % zlib.crc32(text):
            return
        yield json.loads(text), end + 1
        at = end + 1


class Journal:
    """Opened, locked, and only then looked at. resume keeps what is there, replace nothing."""

    def __init__(self, path, facts, resume=False, replace=False):
        self.path, self.done = path, set()
        self.file = open(path, "ab+", buffering=0)
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            raise Output(f"{path} is being written by another run; choose another -o") from error
        self._settle(resume, replace)
        self._append({"run": {**SCHEMA, "facts": {k: str(v) for k, v in facts.items()}}})

    def _settle(self, resume, replace):
        self.file.seek(0)
        data, good = self.file.read(), 0
        for entry, end in intact_lines(data):
            good = end
            if "case" in entry:
                self.done.add(entry["case"]["key"])
        if replace or not data:
            self.done, good = set(), 0
        elif not resume:
            raise Usage(f"{self.path} is there: pass --resume or --replace, or choose another -o")
        elif not good:
            raise Output(f"{self.path} is no journal of flashback")
        self.file.truncate(good)

    def _append(self, entry):
        line = line_of(entry)
        while line:
            line = line[self.file.write(line) :]
        os.fdatasync(self.file.fileno())

    def append(self, record):
        values = {name: plain(name, value) for name, value in record.items()}
        self._append({"case": {k: v for k, v in values.items() if v is not None}})
        self.done.add(record["key"])

    def close(self):
        self.file.close()

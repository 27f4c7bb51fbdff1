# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's attention backwards as peers in a Flashback results file."""


class Refused(Exception):
    """A peer does not offer a problem; the text is the record's reason."""


class Stop(Exception):
    """The run cannot begin, or go on; the text, one line, is for the user."""

    status = 1


class Usage(Stop):
    """What was asked for cannot be."""

    status = 2


class Nothing(Stop):
    """Nothing of it can run here."""

    status = 3


class Output(Stop):
    """A file that cannot be written or is not what it should be."""

    status = 4


class Interrupted(BaseException):
    """A signal. Not an Exception: what a peer throws becomes a record, this does not."""

    def __init__(self, number):
        super().__init__(number)
        self.status, self.journal = 128 + number, None

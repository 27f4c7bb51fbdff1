# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's attention backwards as peers in a Flashback results file."""


class Refused(Exception):
    """A peer does not offer a problem; the text is the record's reason."""


class Usage(Exception):
    """What was asked for cannot be; the text is for the user."""

# SPDX-License-Identifier: BSD-2-Clause
"""Exceptions that carry an errno value and a sentence."""

from __future__ import annotations

import errno


class Error(OSError):
    """A call failed: ``errno`` is the error, ``strerror`` a sentence."""


class TimedOut(Error, TimeoutError):
    """The time is over. ``started``: the work continues, and ``wait()`` waits for it."""

    @property
    def started(self) -> bool:
        return self.errno == errno.EINPROGRESS


class Closed(Error, ConnectionError):
    """The peer has closed the connection, or this side has."""


def error_of(code: int, sentence: str) -> Error:
    """The exception for a negative errno value."""
    number = -code
    if number in (errno.ETIMEDOUT, errno.EINPROGRESS):
        return TimedOut(number, sentence)
    if number == errno.ESHUTDOWN:
        return Closed(number, sentence)
    return Error(number, sentence)

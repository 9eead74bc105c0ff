# SPDX-License-Identifier: BSD-2-Clause
"""Exceptions that carry an errno value and a sentence."""

from __future__ import annotations

import errno
from typing import Dict, Type


class Error(OSError):
    """A call failed: ``errno`` is the error, ``strerror`` a sentence. Each error is also the standard
    exception of its errno value: ``ConnectionRefusedError``, ``ConnectionResetError``,
    ``PermissionError``, ``FileNotFoundError`` and so on."""


class TimedOut(Error, TimeoutError):
    """The time is over. ``started``: the work continues, and ``wait()`` waits for it."""

    @property
    def started(self) -> bool:
        """The work continues, and must not be started again."""
        return self.errno == errno.EINPROGRESS


class Closed(Error, BrokenPipeError):
    """The peer has closed the connection, or this side has."""


# The class for a standard exception that is not above.
_standard: Dict[Type[OSError], Type[Error]] = {OSError: Error}
for _base in OSError.__subclasses__() + ConnectionError.__subclasses__():
    if _base.__module__ == "builtins" and not issubclass(Error, _base):
        _standard[_base] = type(_base.__name__, (Error, _base), {"__module__": __name__, "__doc__": _base.__doc__})
        globals()[_base.__name__] = _standard[_base]  # for pickle


def error_of(code: int, sentence: str) -> Error:
    """The exception for a negative errno value."""
    number = -code
    if number in (errno.ETIMEDOUT, errno.EINPROGRESS):
        return TimedOut(number, sentence)
    if number == errno.ESHUTDOWN:
        return Closed(number, sentence)
    return _standard.get(type(OSError(number, sentence)), Error)(number, sentence)

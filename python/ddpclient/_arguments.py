# SPDX-License-Identifier: BSD-2-Clause
"""Checks of arguments: whatever the library cannot take is refused here, with a sentence."""

from __future__ import annotations

import math
import mmap
import operator
from typing import Any, Optional, Union

Buffer = Union[bytes, bytearray, memoryview, mmap.mmap]

BYTES_MAX = 2**47 - 1  # no process has a larger address space


def number(what: str, value: Any, least: int, most: int) -> int:
    """An integer from least to most."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{what} is an int, not {type(value).__name__}")
    value = operator.index(value)
    if not least <= value <= most:
        raise ValueError(f"{what} is {value}; it can be {least} to {most}")
    return value


def port(value: Any, least: int = 0) -> int:
    """A port; 0 is a free one for a listener."""
    return number("port", value, least, 65535)


def text(what: str, value: Any) -> str:
    """A string without NUL."""
    if not isinstance(value, str):
        raise TypeError(f"{what} is a str, not {type(value).__name__}")
    if not value or "\0" in value:
        raise ValueError(f"{what} is {value!r}")
    return value


def buffer(what: str, value: Any, writable: bool = False) -> memoryview:
    """The bytes of a contiguous buffer."""
    if isinstance(value, str):
        raise TypeError(f"{what} takes bytes, not str: {'bytearray(n)' if writable else 'text.encode()'}")
    try:
        view = memoryview(value)
    except TypeError:
        raise TypeError(f"{what} takes bytes, bytearray or another buffer, not {type(value).__name__}") from None
    if writable and view.readonly:
        raise TypeError(f"{what} changes its buffer; {type(value).__name__} is read-only, bytearray is not")
    if not view.c_contiguous:
        raise ValueError(f"{what} takes a contiguous buffer")
    return view.cast("B") if view.nbytes else memoryview(b"" if view.readonly else bytearray())


def milliseconds(timeout: Optional[float]) -> int:
    """For a time-out in seconds, None: without end."""
    if timeout is None:
        return -1
    return min(math.ceil(max(timeout, 0) * 1000), 2**31 - 1)


def seconds(timeout: Any) -> Optional[float]:
    """A time-out: a number of seconds that is not negative, or None."""
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"timeout is a number of seconds or None, not {type(timeout).__name__}")
    if not timeout >= 0:
        raise ValueError(f"timeout is {timeout}; it can be 0 or more, or None")
    return None if timeout == math.inf else timeout

# SPDX-License-Identifier: BSD-2-Clause
"""RDMA through ddpsctpd: messages to a peer, and reads and writes of its memory.

The calls are those of ddp_easy(3). ``Connection`` and ``Listener`` block; ``ddpclient.aio`` has
the same for asyncio. Failures raise ``Error``, an ``OSError`` with the errno value and a sentence.
Arguments that no call can take raise ``TypeError`` or ``ValueError``. A ``Buffer`` is ``bytes``,
``bytearray``, ``memoryview``, ``Memory``, ``mmap.mmap``, an array of numpy and so on.
"""

from ._errors import Closed, Error, TimedOut
from ._objects import Connection, Listener, Memory, connect

__all__ = ["Closed", "Connection", "Error", "Listener", "Memory", "TimedOut", "connect"]

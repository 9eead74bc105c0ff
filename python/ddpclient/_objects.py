# SPDX-License-Identifier: BSD-2-Clause
"""Connections, listeners and their memory."""

from __future__ import annotations

import ctypes
import errno
import math
import mmap
import os
import threading
import time
from typing import Any, Callable, Optional, Union

from ._errors import Closed, Error, TimedOut, error_of
from ._library import REMOTE_READ, REMOTE_WRITE, EasyAttr, lib

Buffer = Union[bytes, bytearray, memoryview, mmap.mmap]

SLICE = 0.2  # seconds of a call of the library, so that signals and close() need not wait for longer
SCRATCH = 65536  # bytes that are copied at a time for buffers that are not registered
DEFAULT_MESSAGE = 16384


class Memory(mmap.mmap):
    """Memory that the daemon shares: a mutable buffer, like ``mmap.mmap``.

    ``Connection.alloc()`` and ``Listener.alloc()`` make it. It stays mapped as long as it or a view
    of it exists, also after its connection was closed. ``close()`` raises ``BufferError`` while
    there are views.
    """

    _owner: Optional["_Endpoint"]
    address: int

    @classmethod
    def _of(cls, owner: "_Endpoint", length: int) -> "Memory":
        fd = os.memfd_create("ddpclient", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(fd, length)
            memory = cls(fd, length)
            first = ctypes.c_char.from_buffer(memory)
            memory.address = ctypes.addressof(first)
            del first  # it is a view
            memory._owner = None
            owner._call(lib.ddp_easy_register, memory.address, length, fd)
            memory._owner = owner
        finally:
            os.close(fd)
        return memory

    def close(self) -> None:
        """Unmaps it, and ends its registration and its offers. No work may be using it."""
        super().close()
        owner, self._owner = self._owner, None
        if owner and not owner.closed:
            owner._call(lib.ddp_easy_free, self.address)

    def __del__(self) -> None:
        try:
            self.close()
        except (AttributeError, BufferError, Error):
            pass  # it was not made; or the end of the last connection frees it

    def __exit__(self, *_: Any) -> None:
        self.close()


class _Held:
    """The address of a buffer, while it is held."""

    def __init__(self, data: Buffer):
        view = memoryview(data).cast("B")
        self.length = view.nbytes
        self.address: Any = None
        self._keep: Any = None
        if self.length == 0:
            return
        if view.readonly:
            self._keep = bytes(view)
            self.address = ctypes.cast(ctypes.c_char_p(self._keep), ctypes.c_void_p)
        else:
            self._keep = (ctypes.c_char * self.length).from_buffer(view)
            self.address = ctypes.c_void_p(ctypes.addressof(self._keep))


def milliseconds(timeout: Optional[float]) -> int:
    """For a time-out in seconds, None: without end."""
    if timeout is None:
        return -1
    return min(math.ceil(max(timeout, 0) * 1000), 2**31 - 1)


def _sentence(handle: Optional[ctypes.c_void_p]) -> str:
    return (lib.ddp_easy_error(handle) or b"").decode(errors="replace")


class _Endpoint:
    """The base of connections and listeners. Threads may share an object: calls exclude
    each other."""

    def __init__(self, socket: Optional[str] = None, message_bytes: int = 0, messages: int = 0):
        attr = EasyAttr(ctypes.sizeof(EasyAttr), os.fsencode(socket) if socket else None, message_bytes, messages)
        handle = ctypes.c_void_p()
        code = lib.ddp_easy_open(ctypes.byref(attr), ctypes.byref(handle))
        if code < 0:
            raise error_of(code, _sentence(None))
        self._adopt(handle, message_bytes or DEFAULT_MESSAGE)

    def _adopt(self, handle: ctypes.c_void_p, message_bytes: int) -> None:
        self._lock = threading.RLock()
        self._handle: Optional[ctypes.c_void_p] = handle
        self._closing = False
        self._message_bytes = message_bytes

    def _call(self, call: Callable[..., int], *arguments: Any) -> int:
        """One call of the library."""
        with self._lock:
            if not self._handle or self._closing:
                raise Closed(errno.EBADF, "the object is closed")
            code = call(self._handle, *arguments)
            if code < 0:
                raise error_of(code, _sentence(self._handle))
            return code

    def _timed(self, timeout: Optional[float], call: Callable[..., int], *arguments: Any) -> int:
        """Makes a call that may wait, in slices, and waits for work that it has started."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = SLICE if end is None else end - time.monotonic()
            try:
                return self._call(call, *arguments, milliseconds(min(left, SLICE)))
            except TimedOut as error:
                if left <= SLICE and end is not None:
                    raise
                if error.started:
                    call, arguments = lib.ddp_easy_wait, ()

    def alloc(self, length: int) -> Memory:
        """Registered memory, zeroed. A listener and its connections have the same memory."""
        return Memory._of(self, length)

    def offer(self, memory: Memory, *, read: bool = False, write: bool = False, offset: int = 0,
              length: Optional[int] = None) -> None:
        """Lets the peer read or write this part: call it before ``connect()``, or for all
        connections that ``accept()`` returns from now on. It lasts until the memory is closed."""
        size = len(memory)
        length = size - offset if length is None else length
        if offset < 0 or length < 0 or offset + length > size:
            raise ValueError(f"offer: {length} bytes at {offset} of {size}")
        access = (REMOTE_READ if read else 0) | (REMOTE_WRITE if write else 0)
        self._call(lib.ddp_easy_offer, memory.address + offset, length, access)

    def fileno(self) -> int:
        """For event loops, see ddp_easy_fd in ddp_easy(3)."""
        return self._call(lib.ddp_easy_fd)

    @property
    def closed(self) -> bool:
        return self._closing or self._handle is None

    def _close(self, timeout: Optional[float]) -> None:
        self._closing = True  # a thread that waits gives up after its slice
        with self._lock:
            handle, self._handle = self._handle, None
            code = lib.ddp_easy_close(handle, milliseconds(timeout)) if handle else 0
            if code < 0:
                raise error_of(code, _sentence(None))

    def __del__(self) -> None:
        try:
            self._close(0)
        except (AttributeError, Error):
            pass  # it was not opened, or no caller can handle the error


class Connection(_Endpoint):
    """A connection: ``connect()`` one of your own, or ``Listener.accept()`` one.

    socket: of the daemon; message_bytes: of the longest message, 0 for 16384; messages: that the
    peer may send ahead, 0 for 64. Time-outs are in seconds; None waits without end.
    """

    _scratch: Optional[Memory] = None

    @classmethod
    def _accepted(cls, handle: ctypes.c_void_p, message_bytes: int) -> "Connection":
        connection = cls.__new__(cls)
        connection._adopt(handle, message_bytes)
        return connection

    def connect(self, host: str, port: int, timeout: Optional[float] = 30) -> "Connection":
        """After a failure the object can only be closed."""
        self._start_connect(host, port)
        self.wait(timeout)
        return self

    def _start_connect(self, host: str, port: int) -> None:
        if not 0 <= port <= 65535:
            raise ValueError(f"port {port}")
        try:
            self._call(lib.ddp_easy_connect, host.encode(), port, 0)
        except TimedOut:
            pass  # it has started

    def send(self, data: Buffer, timeout: Optional[float] = None) -> None:
        """Sends one message, which is copied."""
        held = _Held(data)
        self._timed(timeout, lib.ddp_easy_send, held.address, held.length)

    def recv(self, timeout: Optional[float] = None) -> bytes:
        """The next message. Raises ``Closed`` after the last one."""
        buffer = ctypes.create_string_buffer(self._message_bytes)
        length = self._timed(timeout, lib.ddp_easy_recv, buffer, self._message_bytes)
        return ctypes.string_at(buffer, length)

    def offered(self) -> int:
        """How many bytes the peer offers."""
        length = ctypes.c_uint64()
        self._call(lib.ddp_easy_offered, ctypes.byref(length), None)
        return length.value

    def write(self, offset: int, data: Buffer, timeout: Optional[float] = None) -> None:
        """Writes to the memory that the peer offers; then the bytes are there. Memory of ``alloc()``
        and its views are written from where they are; other buffers are copied first."""
        self._move(lib.ddp_easy_write, offset, data, timeout)

    def read_into(self, offset: int, data: Union[bytearray, memoryview, mmap.mmap],
                  timeout: Optional[float] = None) -> None:
        """Reads from the memory that the peer offers into a buffer, as ``write()`` writes."""
        if memoryview(data).readonly:
            raise TypeError("read_into needs a writable buffer")
        self._move(lib.ddp_easy_read, offset, data, timeout)

    def read(self, offset: int, length: int, timeout: Optional[float] = None) -> bytes:
        """The same, as bytes."""
        data = bytearray(length)
        self._move(lib.ddp_easy_read, offset, data, timeout)
        return bytes(data)

    def wait(self, timeout: Optional[float] = None) -> None:
        """Until all that was started is complete."""
        self._timed(timeout, lib.ddp_easy_wait)

    def _move(self, call: Callable[..., int], offset: int, data: Buffer, timeout: Optional[float]) -> None:
        end = None if timeout is None else time.monotonic() + timeout
        try:
            self._move_registered(call, offset, data, timeout)
        except Error as error:
            if error.errno != errno.EFAULT:
                raise
        else:
            return
        self._move_by_copy(call, offset, _Held(data), end)

    def _move_registered(self, call: Callable[..., int], offset: int, data: Buffer,
                         timeout: Optional[float]) -> None:
        if not 0 <= offset < 2**64:
            raise ValueError(f"offset {offset}")
        held = _Held(data)
        self._timed(timeout, call, offset, held.address, held.length)

    def _move_by_copy(self, call: Callable[..., int], offset: int, held: _Held, end: Optional[float]) -> None:
        def left() -> Optional[float]:
            return None if end is None else end - time.monotonic()

        with self._lock:
            if self._scratch is None:
                self._scratch = self.alloc(SCRATCH)
            for at in range(0, held.length, SCRATCH):
                self.wait(left())  # for work that a call has started before it timed out
                n = min(SCRATCH, held.length - at)
                outside = held.address.value + at
                if call is lib.ddp_easy_write:
                    ctypes.memmove(self._scratch.address, outside, n)
                self._timed(left(), call, offset + at, self._scratch.address, n)
                if call is lib.ddp_easy_read:
                    ctypes.memmove(outside, self._scratch.address, n)

    def close(self, timeout: Optional[float] = 30) -> None:
        """Waits until messages have left, and ends the connection in order."""
        scratch, self._scratch = self._scratch, None
        if scratch is not None and self._handle:
            try:
                self.wait(timeout)
                scratch.close()
            except Error:
                pass  # the end of the last connection frees it
        self._close(timeout)

    def _arm(self, seen: ctypes.c_uint64) -> bool:
        """For ddpclient.aio: False if it is safe to wait for the descriptor."""
        try:
            return self._call(lib.ddp_easy_arm, ctypes.byref(seen)) > 0
        except Error:
            return True

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class Listener(_Endpoint):
    """Waits for connections. address: one of the daemon, None for all; port 0: a free one."""

    def __init__(self, port: int = 0, address: Optional[str] = None, socket: Optional[str] = None,
                 message_bytes: int = 0, messages: int = 0):
        if not 0 <= port <= 65535:
            raise ValueError(f"port {port}")
        super().__init__(socket, message_bytes, messages)
        try:
            self.port = self._call(lib.ddp_easy_listen, address.encode() if address else None, port)
        except Error:
            self._close(0)
            raise

    def accept(self, timeout: Optional[float] = None) -> Connection:
        """The next connection, with the attributes, the memory and the offer of the listener."""
        handle = ctypes.c_void_p()
        self._timed(timeout, lib.ddp_easy_accept, ctypes.byref(handle))
        return Connection._accepted(handle, self._message_bytes)

    def close(self) -> None:
        """Its connections remain."""
        self._close(0)

    def __enter__(self) -> "Listener":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def connect(host: str, port: int, timeout: Optional[float] = 30, socket: Optional[str] = None) -> Connection:
    """A connection without an offer of memory."""
    connection = Connection(socket)
    try:
        return connection.connect(host, port, timeout)
    except BaseException:
        connection.close(0)
        raise

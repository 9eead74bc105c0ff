# SPDX-License-Identifier: BSD-2-Clause
"""Connections, listeners and their memory."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import threading
import time
from typing import Any, Callable, Optional, Union

from . import _arguments
from ._arguments import Buffer, milliseconds
from ._errors import Closed, Error, TimedOut, error_of
from ._library import EasyAttr, LISTEN_ENCRYPTED, REMOTE_READ, REMOTE_WRITE, lib

SLICE = 0.2  # seconds of a call of the library, so that signals and close() need not wait for longer
SCRATCH = 65536  # bytes that are copied at a time for buffers that are not registered
DEFAULT_MESSAGE = 16384
MESSAGE_BYTES_MAX, MESSAGES_MAX = 2**24, 4096
OFFSET_MAX = 2**64 - 1


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
        try:
            return cls._made(owner, _arguments.number("alloc: length", length, 1, _arguments.BYTES_MAX))
        except Error:
            raise
        except OSError as error:
            raise error_of(-(error.errno or errno.EIO), f"alloc: {length} bytes: {error.strerror}") from None

    @classmethod
    def _made(cls, owner: "_Endpoint", length: int) -> "Memory":
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

    def __init__(self, view: memoryview):
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


def _sentence(handle: Optional[ctypes.c_void_p]) -> str:
    return (lib.ddp_easy_error(handle) or b"").decode(errors="replace")


class _Endpoint:
    """The base of connections and listeners. Threads may share an object: calls exclude
    each other."""

    _listen_flags = 0

    def __init__(self, socket: Optional[str] = None, message_bytes: int = 0, messages: int = 0):
        _arguments.number("message_bytes", message_bytes, 0, MESSAGE_BYTES_MAX)
        _arguments.number("messages", messages, 0, MESSAGES_MAX)
        path = None if not socket else os.fsencode(_arguments.text("socket", os.fspath(socket)))
        attr = EasyAttr(ctypes.sizeof(EasyAttr), path, message_bytes, messages, self._listen_flags)
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
        timeout = _arguments.seconds(timeout)
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
        if not isinstance(memory, Memory):
            raise TypeError(f"offer takes Memory of alloc(), not {type(memory).__name__}")
        size = len(memory)
        _arguments.number("offer: offset", offset, 0, size)
        length = size - offset if length is None else length
        _arguments.number("offer: length", length, 0, size - offset)
        access = (REMOTE_READ if read else 0) | (REMOTE_WRITE if write else 0)
        self._call(lib.ddp_easy_offer, memory.address + offset, length, access)

    def fileno(self) -> int:
        """For event loops, see ddp_easy_fd in ddp_easy(3)."""
        return self._call(lib.ddp_easy_fd)

    @property
    def closed(self) -> bool:
        """``close()`` was called."""
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

    ``socket``: of the daemon; ``message_bytes``: of the longest message, 0 for 16384; ``messages``:
    that the peer may send ahead, 0 for 64. Time-outs are in seconds; None waits without end.
    """

    _scratch: Optional[Memory] = None

    @classmethod
    def _accepted(cls, handle: ctypes.c_void_p, message_bytes: int) -> "Connection":
        connection = cls.__new__(cls)
        connection._adopt(handle, message_bytes)
        return connection

    def connect(self, host: str, port: int, timeout: Optional[float] = 30) -> "Connection":
        """After a failure the object can only be closed."""
        timeout = _arguments.seconds(timeout)
        self.start_connect(host, port)
        self.wait(timeout)
        return self

    def start_connect(self, host: str, port: int) -> None:
        """Begins to connect; ``wait()`` waits until it is done. So a thread can connect to a listener
        of its own: ``start_connect()``, ``accept()``, ``wait()``."""
        node = _arguments.text("host", host).encode()
        try:
            self._call(lib.ddp_easy_connect, node, _arguments.port(port, 1), 0)
        except TimedOut:
            pass  # it has started

    def send(self, data: Buffer, timeout: Optional[float] = None) -> None:
        """Sends one message, which is copied."""
        held = _Held(_arguments.buffer("send", data))
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
        self._move(lib.ddp_easy_write, offset, _arguments.buffer("write", data), timeout)

    def read_into(self, offset: int, data: Union[bytearray, memoryview, mmap.mmap],
                  timeout: Optional[float] = None) -> None:
        """Reads from the memory that the peer offers into a buffer, as ``write()`` writes."""
        self._move(lib.ddp_easy_read, offset, _arguments.buffer("read_into", data, writable=True), timeout)

    def read(self, offset: int, length: int, timeout: Optional[float] = None) -> bytes:
        """Reads ``length`` bytes of the memory that the peer offers."""
        data = self._room(offset, length)
        self._move(lib.ddp_easy_read, offset, memoryview(data), timeout)
        return bytes(data)

    def _room(self, offset: int, length: int) -> bytearray:
        """For a Read of this length, if the peer offers so much; else for one that fails."""
        _arguments.number("offset", offset, 0, OFFSET_MAX)
        _arguments.number("length", length, 0, OFFSET_MAX)
        offered = self.offered()
        if offered and length > offered:
            raise error_of(-errno.ERANGE, f"read: {length} bytes at {offset}: the peer offers {offered}")
        return bytearray(length if offered else min(length, 1))

    def wait(self, timeout: Optional[float] = None) -> None:
        """Until all that was started is complete."""
        self._timed(timeout, lib.ddp_easy_wait)

    def _move(self, call: Callable[..., int], offset: int, data: memoryview, timeout: Optional[float]) -> None:
        timeout = _arguments.seconds(timeout)
        end = None if timeout is None else time.monotonic() + timeout
        try:
            self._move_registered(call, offset, data, timeout)
        except Error as error:
            if error.errno != errno.EFAULT:
                raise
        else:
            return
        self._move_by_copy(call, offset, _Held(data), end)

    def _move_registered(self, call: Callable[..., int], offset: int, data: memoryview,
                         timeout: Optional[float]) -> None:
        _arguments.number("offset", offset, 0, OFFSET_MAX)
        held = _Held(data)
        self._timed(timeout, call, offset, held.address, held.length)

    def _copies(self) -> Memory:
        """Memory for ``SCRATCH`` bytes of a buffer that is not registered."""
        if self._scratch is None:
            self._scratch = self.alloc(SCRATCH)
        return self._scratch

    def _move_by_copy(self, call: Callable[..., int], offset: int, held: _Held, end: Optional[float]) -> None:
        def left() -> Optional[float]:
            return None if end is None else max(end - time.monotonic(), 0)

        with self._lock:
            scratch = self._copies()
            for at in range(0, held.length, SCRATCH):
                self.wait(left())  # for work that a call has started before it timed out
                n = min(SCRATCH, held.length - at)
                outside = held.address.value + at
                if call is lib.ddp_easy_write:
                    ctypes.memmove(scratch.address, outside, n)
                self._timed(left(), call, offset + at, scratch.address, n)
                if call is lib.ddp_easy_read:
                    ctypes.memmove(outside, scratch.address, n)

    def close(self, timeout: Optional[float] = 30) -> None:
        """Waits until messages have left, and ends the connection in order."""
        timeout = _arguments.seconds(timeout)
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
    """Waits for connections. ``address``: one of the daemon, None for all; ``port`` 0: a free one.
    ``encrypted``: connections over the network in clear text are refused."""

    def __init__(self, port: int = 0, address: Optional[str] = None, socket: Optional[str] = None,
                 message_bytes: int = 0, messages: int = 0, encrypted: bool = False):
        _arguments.port(port)
        self._listen_flags = LISTEN_ENCRYPTED if encrypted else 0
        node = None if address is None else _arguments.text("address", address).encode()
        super().__init__(socket, message_bytes, messages)
        try:
            self.port = self._call(lib.ddp_easy_listen, node, port)
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

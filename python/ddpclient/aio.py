# SPDX-License-Identifier: BSD-2-Clause
"""Connections and listeners for asyncio. Each belongs to the event loop that first waits for it.

Canceling a Read or a Write stops waiting for it; memory of ``alloc()`` is in use until ``wait()``
returns.
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
import mmap
import os
import socket as _socket
from typing import Any, AsyncIterator, Callable, List, Optional, TypeVar, Union

from . import _arguments, _objects
from ._arguments import Buffer
from ._errors import Closed, Error, TimedOut, error_of
from ._library import lib
from ._objects import Memory

T = TypeVar("T")


class _Waiting:
    """Tasks that wait for the descriptor of one object."""

    def __init__(self) -> None:
        self._tasks: List["asyncio.Future[None]"] = []
        self._fd = -1

    def wake(self) -> None:
        if self._fd >= 0:
            asyncio.get_running_loop().remove_reader(self._fd)
            self._fd = -1
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            if not task.done():
                task.set_result(None)

    async def sleep(self, fd: int) -> None:
        loop = asyncio.get_running_loop()
        future: "asyncio.Future[None]" = loop.create_future()
        if self._fd < 0:
            self._fd = fd
            loop.add_reader(fd, self.wake)
        self._tasks.append(future)
        try:
            await future
        finally:
            if future in self._tasks:
                self._tasks.remove(future)
            if not self._tasks and self._fd >= 0:
                loop.remove_reader(self._fd)
                self._fd = -1


class Connection:
    """Like ``ddpclient.Connection``; several tasks may use it at a time. Use ``asyncio.timeout()`` or
    ``asyncio.wait_for()`` for time-outs."""

    def __init__(self, socket: Optional[str] = None, message_bytes: int = 0, messages: int = 0):
        self._begin(_objects.Connection(socket, message_bytes, messages))

    def _begin(self, sync: _objects.Connection) -> None:
        self.sync = sync
        self._waiting = _Waiting()
        self._seen = ctypes.c_uint64()
        self._copying: Optional[asyncio.Lock] = None
        self._scratch_used = False  # by work that a cancelled task has started

    @classmethod
    def _accepted(cls, sync: _objects.Connection) -> "Connection":
        connection = cls.__new__(cls)
        connection._begin(sync)
        return connection

    def alloc(self, length: int) -> Memory:
        """Registered memory, zeroed."""
        return self.sync.alloc(length)

    def offer(self, memory: Memory, *, read: bool = False, write: bool = False, offset: int = 0,
              length: Optional[int] = None) -> None:
        """Lets the peer read or write this part: call it before ``connect()``."""
        self.sync.offer(memory, read=read, write=write, offset=offset, length=length)

    def offered(self) -> int:
        """How many bytes the peer offers."""
        return self.sync.offered()

    @property
    def closed(self) -> bool:
        """``close()`` was called."""
        return self.sync.closed

    async def _until(self, attempt: Callable[[], T]) -> T:
        """Tries without waiting, and again after each event. A task may take the event that another
        one waits for, so all tasks try again."""
        while True:
            try:
                return attempt()
            except TimedOut as error:
                if error.started:
                    attempt = self._finished  # type: ignore[assignment]
            finally:
                moved = not self.sync.closed and self.sync._arm(self._seen)
                if moved:
                    self._waiting.wake()
            if not moved:
                await self._waiting.sleep(self.sync.fileno())

    def _finished(self) -> None:
        self.sync.wait(0)

    async def connect(self, host: str, port: int) -> "Connection":
        """After a failure the object can only be closed."""
        self.sync.start_connect(await _address(host), port)
        while True:
            fd = self.sync.fileno()
            try:
                return self._finished() or self
            except TimedOut:
                await self._waiting.sleep(fd)

    async def send(self, data: Buffer) -> None:
        """Sends one message, which is copied."""
        await self._until(lambda: self.sync.send(data, 0))

    async def recv(self) -> bytes:
        """The next message. Raises ``Closed`` after the last one."""
        return await self._until(lambda: self.sync.recv(0))

    async def write(self, offset: int, data: Buffer) -> None:
        """Writes to the memory that the peer offers; then the bytes are there. Memory of ``alloc()``
        and its views are written from where they are; other buffers are copied first."""
        await self._move(lib.ddp_easy_write, offset, _arguments.buffer("write", data))

    async def read_into(self, offset: int, data: Union[bytearray, memoryview, mmap.mmap]) -> None:
        """Reads from the memory that the peer offers into a buffer, as ``write()`` writes."""
        await self._move(lib.ddp_easy_read, offset, _arguments.buffer("read_into", data, writable=True))

    async def read(self, offset: int, length: int) -> bytes:
        """Reads ``length`` bytes of the memory that the peer offers."""
        data = self.sync._room(offset, length)
        await self._move(lib.ddp_easy_read, offset, memoryview(data))
        return bytes(data)

    async def _move(self, call: Callable[..., int], offset: int, data: memoryview) -> None:
        try:
            await self._until(lambda: self.sync._move_registered(call, offset, data, 0))
        except Error as error:
            if error.errno != errno.EFAULT:
                raise
        else:
            return
        if self._copying is None:
            self._copying = asyncio.Lock()
        async with self._copying:
            for at in range(0, len(data), _objects.SCRATCH):
                await self._move_by_copy(call, offset + at, data[at:at + _objects.SCRATCH])

    async def _move_by_copy(self, call: Callable[..., int], offset: int, data: memoryview) -> None:
        if self._scratch_used:
            await self.wait()
        scratch = memoryview(self.sync._copies())[:len(data)]
        if call is lib.ddp_easy_write:
            scratch[:] = data
        self._scratch_used = True
        await self._until(lambda: self.sync._move_registered(call, offset, scratch, 0))
        self._scratch_used = False
        if call is lib.ddp_easy_read:
            data[:] = scratch

    async def wait(self) -> None:
        """Until all that was started is complete."""
        await self._until(self._finished)

    async def close(self, timeout: Optional[float] = 30) -> None:
        """Ends the connection in order. Tasks that wait get ``Closed``."""
        timeout = _arguments.seconds(timeout)
        self.sync._closing = True
        self._waiting.wake()
        await asyncio.get_running_loop().run_in_executor(None, self.sync._close, timeout)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._messages()

    async def _messages(self) -> AsyncIterator[bytes]:
        while True:
            try:
                message = await self.recv()
            except Closed:
                return
            yield message

    async def __aenter__(self) -> "Connection":
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()


class Listener:
    """Like ``ddpclient.Listener``; one task accepts."""

    def __init__(self, port: int = 0, address: Optional[str] = None, socket: Optional[str] = None,
                 message_bytes: int = 0, messages: int = 0, encrypted: bool = False):
        self.sync = _objects.Listener(port, address, socket, message_bytes, messages, encrypted)
        self.port = self.sync.port
        self._waiting = _Waiting()

    def alloc(self, length: int) -> Memory:
        """Registered memory, zeroed. A listener and its connections have the same memory."""
        return self.sync.alloc(length)

    def offer(self, memory: Memory, *, read: bool = False, write: bool = False, offset: int = 0,
              length: Optional[int] = None) -> None:
        """Lets peers read or write this part: for all connections that ``accept()`` returns from now
        on. It lasts until the memory is closed."""
        self.sync.offer(memory, read=read, write=write, offset=offset, length=length)

    async def accept(self) -> Connection:
        """The next connection, with the attributes, the memory and the offer of the listener."""
        while True:
            try:
                return Connection._accepted(self.sync.accept(0))
            except TimedOut:
                await self._waiting.sleep(self.sync.fileno())

    async def close(self) -> None:
        """Its connections remain."""
        self.sync._closing = True
        self._waiting.wake()
        self.sync.close()

    async def __aenter__(self) -> "Listener":
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()


async def connect(host: str, port: int, socket: Optional[str] = None) -> Connection:
    """A connection without an offer of memory."""
    connection = Connection(socket)
    try:
        return await connection.connect(host, port)
    except BaseException:
        connection.sync._close(0)
        raise


async def _address(host: str) -> str:
    """The address of a host; the event loop runs meanwhile."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(_arguments.text("host", host), None)
    except _socket.gaierror as error:
        number = errno.EAGAIN if error.errno == _socket.EAI_AGAIN else errno.EADDRNOTAVAIL
        raise error_of(-number, f"connect: {host}: {error.strerror or os.strerror(number)}") from None
    return str(found[0][4][0])

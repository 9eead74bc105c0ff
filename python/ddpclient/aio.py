# SPDX-License-Identifier: BSD-2-Clause
"""Connections and listeners for asyncio. Each belongs to the event loop that first waits for it.

Cancelling a Read or a Write stops waiting for it; the memory is in use until ``wait()`` returns.
"""

from __future__ import annotations

import asyncio
import ctypes
import mmap
from typing import Any, AsyncIterator, Callable, List, Optional, TypeVar, Union

from . import _objects
from ._errors import Closed, TimedOut
from ._library import lib
from ._objects import Buffer, Memory

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

    @classmethod
    def _accepted(cls, sync: _objects.Connection) -> "Connection":
        connection = cls.__new__(cls)
        connection._begin(sync)
        return connection

    def alloc(self, length: int) -> Memory:
        return self.sync.alloc(length)

    def offer(self, memory: Memory, **how: Any) -> None:
        self.sync.offer(memory, **how)

    def offered(self) -> int:
        return self.sync.offered()

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
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port)
        self.sync._start_connect(str(found[0][4][0]), port)
        while True:
            fd = self.sync.fileno()
            try:
                return self._finished() or self
            except TimedOut:
                await self._waiting.sleep(fd)

    async def send(self, data: Buffer) -> None:
        await self._until(lambda: self.sync.send(data, 0))

    async def recv(self) -> bytes:
        return await self._until(lambda: self.sync.recv(0))

    async def write(self, offset: int, memory: Union[Memory, memoryview]) -> None:
        """From memory of ``alloc()``, or a view of it."""
        await self._until(lambda: self.sync._move_registered(lib.ddp_easy_write, offset, memory, 0))

    async def read_into(self, offset: int, memory: Union[Memory, memoryview, mmap.mmap]) -> None:
        """Into memory of ``alloc()``, or a view of it."""
        await self._until(lambda: self.sync._move_registered(lib.ddp_easy_read, offset, memory, 0))

    async def wait(self) -> None:
        await self._until(self._finished)

    async def close(self, timeout: Optional[float] = 30) -> None:
        """Tasks that wait get ``Closed``."""
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
                 message_bytes: int = 0, messages: int = 0):
        self.sync = _objects.Listener(port, address, socket, message_bytes, messages)
        self.port = self.sync.port
        self._waiting = _Waiting()

    def alloc(self, length: int) -> Memory:
        return self.sync.alloc(length)

    def offer(self, memory: Memory, **how: Any) -> None:
        self.sync.offer(memory, **how)

    async def accept(self) -> Connection:
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

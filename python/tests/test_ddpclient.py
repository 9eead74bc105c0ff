# SPDX-License-Identifier: BSD-2-Clause
"""What python/README.md promises, between the daemons at the sockets $DDP_TEST_A and $DDP_TEST_B, whose
address is $DDP_TEST_ADDRESS. $DDP_TEST_LAYOUT prints what the header says. tests/system/python.sh runs it."""

import asyncio
import ctypes
import errno
import os
import re
import signal
import subprocess
import threading
import unittest

import ddpclient
from ddpclient import _library, aio

A, B, ADDRESS = (os.environ["DDP_TEST_" + name] for name in ("A", "B", "ADDRESS"))
WAIT = 120  # seconds; only a failure takes that long


class Pair(unittest.TestCase):
    """A connection to a listener that offers 4096 bytes."""

    def setUp(self):
        self.listener = ddpclient.Listener(socket=B, message_bytes=1000, messages=4)
        self.memory = self.listener.alloc(4096)
        self.listener.offer(self.memory, read=True, write=True)
        self.a = ddpclient.Connection(A)
        self.a._start_connect(ADDRESS, self.listener.port)
        self.b = self.listener.accept(WAIT)
        self.a.wait(WAIT)

    def tearDown(self):
        for each in self.a, self.b, self.listener:
            each.close()

    def fails(self, number, call, *arguments, **named):
        with self.assertRaises(ddpclient.Error) as caught:
            call(*arguments, **named)
        self.assertEqual(caught.exception.errno, number, caught.exception)
        self.assertGreater(len(caught.exception.strerror), 10)
        return caught.exception


class Messages(Pair):
    def test_both_ways(self):
        for data in b"", b"one", bytearray(b"two"), memoryview(b"three"), b"x" * 1000:
            self.a.send(data, WAIT)
            self.assertEqual(self.b.recv(WAIT), bytes(data))
        self.b.send(b"back", WAIT)
        self.assertEqual(self.a.recv(WAIT), b"back")

    def test_errors(self):
        self.assertIsInstance(self.fails(errno.ETIMEDOUT, self.a.recv, 0), TimeoutError)
        self.fails(errno.EMSGSIZE, self.a.send, b"x" * 1001)
        for _ in range(4):
            self.a.send(b"x", 0)
        self.fails(errno.ETIMEDOUT, self.a.send, b"x", 0.01)

    def test_end(self):
        self.a.send(b"last", WAIT)
        self.a.close()
        self.assertEqual(self.b.recv(WAIT), b"last")
        self.assertIsInstance(self.fails(errno.ESHUTDOWN, self.b.recv, WAIT), ddpclient.Closed)
        self.fails(errno.EBADF, self.a.send, b"x")

    def test_signal(self):
        self.addCleanup(signal.signal, signal.SIGUSR1, signal.signal(signal.SIGUSR1, signal.default_int_handler))
        with self.assertRaises(KeyboardInterrupt):
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1)).start()
            self.a.recv()
        self.b.send(b"later", WAIT)
        self.assertEqual(self.a.recv(WAIT), b"later")

    def test_close_by_another_thread(self):
        results = []

        def receive():
            try:
                self.a.recv()
            except ddpclient.Closed as error:
                results.append(error.errno)

        thread = threading.Thread(target=receive)
        thread.start()
        self.a.close()
        thread.join(WAIT)
        self.assertEqual(results, [errno.EBADF])


class RemoteMemory(Pair):
    def test_write_and_read(self):
        self.assertEqual(self.a.offered(), 4096)
        mine = self.a.alloc(8192)
        mine[:5] = b"hello"
        self.a.write(10, memoryview(mine)[:5], WAIT)
        self.assertEqual(self.memory[9:16], b"\0hello\0")
        self.memory[100:103] = b"abc"
        self.a.read_into(99, memoryview(mine)[4096:4101], WAIT)
        self.assertEqual(mine[4095:4102], b"\0\0abc\0\0")

    def test_buffers_that_are_copied(self):
        self.a.write(0, b"bytes", WAIT)
        self.a.write(5, bytearray(b" and more"), WAIT)
        self.assertEqual(self.a.read(0, 14, WAIT), b"bytes and more")

    def test_long(self):
        memory = self.listener.alloc(300000)
        self.listener.offer(memory, write=True, offset=1000, length=200000)
        with ddpclient.Connection(A) as a:
            a._start_connect(ADDRESS, self.listener.port)
            with self.listener.accept(WAIT):
                a.wait(WAIT)
                data = bytes(range(250)) * 800
                a.write(0, data, WAIT)
                self.assertEqual(memory[1000:201000], data)
                self.fails(errno.EACCES, a.read, 0, 1)

    def test_errors(self):
        mine = self.a.alloc(4096)
        self.fails(errno.ERANGE, self.a.write, 4096, b"x")
        self.fails(errno.EACCES, self.b.write, 0, b"x")
        self.fails(errno.EINVAL, self.listener.offer, self.memory)
        with self.assertRaises(ValueError):
            self.listener.offer(self.memory, read=True, offset=4000, length=97)
        with self.assertRaises(TypeError):
            self.a.read_into(0, b"constant")
        with self.assertRaises(ValueError):
            self.a.write(-1, mine)

    def test_started_only(self):
        mine = self.a.alloc(4096)
        mine[:] = b"y" * 4096
        try:
            self.a.write(0, mine, 0)
        except ddpclient.TimedOut as error:
            self.assertTrue(error.started)
        self.a.wait(WAIT)
        self.assertEqual(self.memory[:], mine[:])


class Views(Pair):
    def test_view_after_close(self):
        mine = self.a.alloc(4096)
        mine[:4] = b"kept"
        view = memoryview(mine)
        with self.assertRaises(BufferError):
            mine.close()
        self.a.close()
        self.assertEqual(bytes(view[:4]), b"kept")
        view[0] = 0
        del mine
        self.assertEqual(bytes(view[:4]), b"\0ept")

    def test_close(self):
        mine = self.a.alloc(4096)
        with memoryview(mine), self.assertRaises(BufferError):
            mine.close()
        self.a.write(0, mine, WAIT)  # it is still registered
        mine.close()
        with self.assertRaises(ValueError):
            mine[0]

    def test_offer_ends_with_memory(self):
        self.memory.close()
        self.fails(errno.EACCES, self.a.write, 0, b"x", WAIT)


class NoConnection(unittest.TestCase):
    def test_errors(self):
        with self.assertRaises(ddpclient.Error) as caught:
            ddpclient.Connection("/nonexistent/ddp.sock")
        self.assertEqual(caught.exception.errno, errno.ENOENT)
        with ddpclient.Listener(socket=B) as listener:
            port = listener.port
            with self.assertRaises(ddpclient.TimedOut):
                listener.accept(0)
        with self.assertRaises(ddpclient.Error) as caught:
            ddpclient.connect(ADDRESS, port, WAIT, A)
        self.assertEqual(caught.exception.errno, errno.ECONNREFUSED)
        with self.assertRaises(ddpclient.Error):
            ddpclient.Listener(socket=B, address="localhost")


class Asyncio(unittest.TestCase):
    def run_pair(self, body, messages=0):
        async def run():
            async with aio.Listener(socket=B, messages=messages) as listener:
                memory = listener.alloc(4096)
                listener.offer(memory, read=True, write=True)
                a = aio.Connection(A, messages=messages)
                b, _ = await asyncio.gather(listener.accept(), a.connect(ADDRESS, listener.port))
                async with a, b:
                    await body(a, b, memory)

        asyncio.run(asyncio.wait_for(run(), WAIT))

    def test_messages_both_ways(self):
        async def send(connection, count):
            for i in range(count):
                await connection.send(b"%d" % i)

        async def take(connection, count):
            for i in range(count):
                self.assertEqual(await connection.recv(), b"%d" % i)

        async def body(a, b, _):
            await asyncio.gather(send(a, 500), take(b, 500), send(b, 500), take(a, 500))

        for messages in 1, 2, 64:
            with self.subTest(messages=messages):
                self.run_pair(body, messages)

    def test_memory(self):
        async def body(a, _, memory):
            mine = a.alloc(4096)
            mine[:3] = b"abc"
            await asyncio.gather(*(a.write(i * 3, memoryview(mine)[:3]) for i in range(40)))
            self.assertEqual(memory[:120], b"abc" * 40)
            await a.read_into(1, memoryview(mine)[:4])
            self.assertEqual(mine[:4], b"bcab")

        self.run_pair(body)

    def test_ends(self):
        async def body(a, b, _):
            waiting = asyncio.create_task(a.recv())
            await asyncio.sleep(0)
            await a.close()
            with self.assertRaises(ddpclient.Closed):
                await waiting
            self.assertEqual([m async for m in b], [])

        self.run_pair(body)

    def test_cancelled(self):
        async def body(a, b, _):
            waiting = asyncio.create_task(a.recv())
            await asyncio.sleep(0)
            waiting.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await waiting
            await b.send(b"later")
            self.assertEqual(await a.recv(), b"later")

        self.run_pair(body)


class Header(unittest.TestCase):
    """The declarations of _library.py are those that the compiler sees."""

    types = {
        "int": ctypes.c_int,
        "unsigned": ctypes.c_uint,
        "size_t": ctypes.c_size_t,
        "ssize_t": ctypes.c_ssize_t,
        "uint16_t": ctypes.c_uint16,
        "uint64_t": ctypes.c_uint64,
    }

    def same_type(self, c, python):
        if c in self.types:
            return python is self.types[c]
        if c == "const char *":
            return python is ctypes.c_char_p
        if c == "const struct ddp_easy_attr *":
            return python is ctypes.POINTER(_library.EasyAttr)
        to = c.removesuffix("*").strip()
        if to in self.types:
            return python is ctypes.POINTER(self.types[to])
        if to in ("void *", "struct ddp_easy *"):
            return python is ctypes.POINTER(ctypes.c_void_p)
        return python is ctypes.c_void_p and to in (
            "void", "const void", "struct ddp_easy", "const struct ddp_easy")

    def test_header(self):
        lines = subprocess.run([os.environ["DDP_TEST_LAYOUT"]], check=True, capture_output=True, text=True).stdout
        calls = set()
        for line in lines.splitlines():
            what, _, rest = line.partition(": ")
            if what == "sizeof":
                self.assertEqual(ctypes.sizeof(_library.EasyAttr), int(rest))
            elif what == "member":
                name, offset, size = rest.split()
                member = getattr(_library.EasyAttr, name)
                self.assertEqual((member.offset, member.size), (int(offset), int(size)), name)
            elif what == "value":
                name, value = rest.split()
                self.assertEqual(getattr(_library, name), int(value), name)
            else:
                result, name, arguments = re.fullmatch(r"(.*); (\w+); \((.*)\)", rest).groups()
                declared = _library.CALLS[name]
                types = arguments.split(", ")
                self.assertTrue(self.same_type(result, declared[0]), line)
                self.assertEqual(len(types), len(declared[1]), line)
                for c, python in zip(types, declared[1]):
                    self.assertTrue(self.same_type(c, python), f"{line}: {c} is {python}")
                calls.add(name)
        self.assertEqual(calls, set(_library.CALLS))


if __name__ == "__main__":
    unittest.main()

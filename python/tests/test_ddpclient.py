# SPDX-License-Identifier: BSD-2-Clause
"""What python/README.md promises, between the daemons at the sockets $DDP_TEST_A and $DDP_TEST_B, whose
address is $DDP_TEST_ADDRESS. $DDP_TEST_LAYOUT prints what the header says. tests/system/python.sh runs it."""

import asyncio
import ctypes
import errno
import os
import pickle
import re
import signal
import subprocess
import threading
import unittest

import ddpclient
from ddpclient import _errors, _library, aio

A, B, ADDRESS = (os.environ["DDP_TEST_" + name] for name in ("A", "B", "ADDRESS"))
WAIT = 120  # seconds; only a failure takes that long


class Pair(unittest.TestCase):
    """A connection to a listener that offers 4096 bytes."""

    def setUp(self):
        self.listener = ddpclient.Listener(socket=B, message_bytes=1000, messages=4)
        self.memory = self.listener.alloc(4096)
        self.listener.offer(self.memory, read=True, write=True)
        self.a = ddpclient.Connection(A)
        self.a.start_connect(ADDRESS, self.listener.port)
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


class OneThread(unittest.TestCase):
    def test_listener_and_client(self):
        with ddpclient.Listener(socket=B) as listener, ddpclient.Connection(A) as a:
            a.start_connect(ADDRESS, listener.port)
            with listener.accept(WAIT) as b:
                a.wait(WAIT)
                a.send(b"there", WAIT)
                self.assertEqual(b.recv(WAIT), b"there")
                b.send(b"back", WAIT)
                self.assertEqual(a.recv(WAIT), b"back")


class Exceptions(Pair):
    """Failures are the standard exceptions of their errno value, and ddpclient.Error."""

    def is_both(self, standard, call, *arguments):
        with self.assertRaises(standard) as caught:
            call(*arguments)
        self.assertIsInstance(caught.exception, ddpclient.Error)
        again = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual((type(again), again.args), (type(caught.exception), caught.exception.args))

    def test_each(self):
        with ddpclient.Listener(socket=B) as listener:
            port = listener.port
        self.is_both(ConnectionRefusedError, ddpclient.connect, ADDRESS, port, WAIT, A)
        self.is_both(FileNotFoundError, ddpclient.Connection, "/nonexistent/ddp.sock")
        self.is_both(PermissionError, self.b.write, 0, b"x", WAIT)
        self.is_both(TimeoutError, self.a.recv, 0)
        self.b.close()
        self.is_both(BrokenPipeError, self.a.recv, WAIT)

    def test_every_number(self):
        for number in errno.errorcode:
            error = _errors.error_of(-number, "a sentence")
            self.assertIsInstance(error, ddpclient.Error)
            self.assertEqual((error.errno, error.strerror), (number, "a sentence"))
            if number != errno.EINPROGRESS:  # the work goes on after the time-out
                self.assertIsInstance(error, type(OSError(number, "")))


class Arguments(Pair):
    """What no call can take is refused at once, by a sentence that names it, and nothing changes."""

    def refused(self, exception, words, call, *arguments, **named):
        with self.assertRaisesRegex(exception, words):
            call(*arguments, **named)

    def test_buffers(self):
        for call in self.a.send, lambda data: self.a.write(0, data):
            self.refused(TypeError, r"takes bytes, not str: text\.encode\(\)", call, "text")
            self.refused(TypeError, "not int", call, 5)
            self.refused(TypeError, "not NoneType", call, None)
            self.refused(ValueError, "contiguous", call, memoryview(b"abcd")[::2])
        self.refused(TypeError, "bytes is read-only", self.a.read_into, 0, b"constant")
        self.refused(TypeError, r"not str: bytearray\(n\)", self.a.read_into, 0, "constant")

    def test_alloc(self):
        self.refused(ValueError, "length is 0", self.a.alloc, 0)
        self.refused(ValueError, "length is -1", self.a.alloc, -1)
        self.refused(ValueError, "length is 1267650600228229401496703205376", self.a.alloc, 2**100)
        self.refused(TypeError, "not float", self.a.alloc, 4096.0)
        self.refused(TypeError, "not str", self.a.alloc, "4096")
        self.refused(ddpclient.Error, "70368744177664", self.a.alloc, 2**46)
        self.a.alloc(1).close()

    def test_memory(self):
        self.refused(TypeError, "not bytes", self.listener.offer, b"memory", read=True)
        self.refused(ValueError, "offset is 4097", self.listener.offer, self.memory, read=True, offset=4097)
        self.refused(ValueError, "length is -1", self.listener.offer, self.memory, read=True, length=-1)
        self.refused(ValueError, "offset is -1", self.a.read, -1, 4)
        self.refused(ValueError, "length is -4", self.a.read, 0, -4)
        self.refused(TypeError, "offset is an int, not str", self.a.read, "0", 4)
        self.refused(ddpclient.Error, "the peer offers 4096", self.a.read, 0, 2**60)
        self.refused(PermissionError, "does not offer", self.b.read, 0, 2**60)

    def test_connect(self):
        with ddpclient.Connection(A) as other:
            self.refused(ValueError, "port is 0", other.connect, ADDRESS, 0)
            self.refused(ValueError, "port is 65536", other.connect, ADDRESS, 65536)
            self.refused(TypeError, "port is an int, not str", other.connect, ADDRESS, "5044")
            self.refused(TypeError, "host is a str, not NoneType", other.connect, None, 5044)
            self.refused(ValueError, "host is ''", other.connect, "", 5044)
            self.refused(TypeError, "timeout is a number", other.connect, ADDRESS, 5044, "5")
            self.refused(ValueError, "timeout is -1", other.connect, ADDRESS, 5044, -1)
            other.start_connect(ADDRESS, self.listener.port)  # it was not used up
            with self.listener.accept(WAIT):
                other.wait(WAIT)

    def test_attributes(self):
        for name, most in ("message_bytes", 2**24), ("messages", 4096):
            self.refused(ValueError, f"{name} is {2**32 + 1}; it can be 0 to {most}",
                         ddpclient.Listener, socket=B, **{name: 2**32 + 1})
            self.refused(TypeError, f"{name} is an int", ddpclient.Connection, A, **{name: 1.5})
        self.refused(TypeError, "address is a str", ddpclient.Listener, 0, 127)


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
            a.start_connect(ADDRESS, self.listener.port)
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

    def test_bytes(self):
        data = bytes(range(251)) * 800

        async def body(a, _, memory):
            await asyncio.gather(*(a.write(i * 7, b"%7d" % i) for i in range(40)))
            self.assertEqual(memory[:280], b"".join(b"%7d" % i for i in range(40)))
            self.assertEqual(await a.read(273, 8), b"     39\0")
            target = bytearray(5)
            await a.read_into(275, target)
            self.assertEqual(target, b"   39")
            self.assertEqual(await a.read(0, 0), b"")
            for offset, length in (4090, 7), (0, 2**50):
                with self.assertRaises(ddpclient.Error) as caught:
                    await a.read(offset, length)
                self.assertEqual(caught.exception.errno, errno.ERANGE)
            with self.assertRaisesRegex(TypeError, "takes bytes, not str"):
                await a.write(0, "text")

        async def long():
            async with aio.Listener(socket=B) as listener:
                memory = listener.alloc(len(data))
                listener.offer(memory, read=True, write=True)
                b, a = await asyncio.gather(listener.accept(), aio.connect(ADDRESS, listener.port, A))
                async with a, b:
                    await a.write(0, data)
                    self.assertEqual(memory[:], data)
                    self.assertEqual(await a.read(0, len(data)), data)

        self.run_pair(body)
        asyncio.run(asyncio.wait_for(long(), WAIT))

    def test_cancelled_write_of_bytes(self):
        async def body(a, _, memory):
            for i in range(50):
                task = asyncio.create_task(a.write(0, b"%4d" % i))
                for _ in range(i % 5):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                await a.write(8, b"%4d" % i)
                self.assertEqual(memory[8:12], b"%4d" % i)
                self.assertNotIn(bytes(memory[:4]), [b"%4d" % j for j in range(i + 1, 50)])

        self.run_pair(body)

    def test_connect_fails(self):
        async def run():
            with self.assertRaises(ddpclient.Error) as caught:
                await aio.connect("name.invalid", 5044, A)
            self.assertIn(caught.exception.errno, (errno.EADDRNOTAVAIL, errno.EAGAIN))
            self.assertIn("name.invalid", caught.exception.strerror)
            async with aio.Listener(socket=B) as listener:
                port = listener.port
            with self.assertRaises(ConnectionRefusedError):
                await aio.connect(ADDRESS, port, A)

        asyncio.run(asyncio.wait_for(run(), WAIT))

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

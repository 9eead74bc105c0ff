# SPDX-License-Identifier: BSD-2-Clause
"""Daemons for tests: ddpclient.testing, without pytest and, where that is installed, with it.
tests/system/python.sh runs it; $DDPSCTPD is the daemon."""

import os
import subprocess
import sys
import threading
import unittest

import ddpclient
from ddpclient import testing

WITH_PYTEST = """
import ddpclient
pytest_plugins = ["ddpclient.testing"]

def test_one(ddp_daemon):
    with ddpclient.Listener() as listener:  # by DDP_SOCKET
        assert listener.port

def test_pair(ddp_daemons):
    a, b = ddp_daemons(2)
    assert a.port == b.port and a.address != b.address
"""


def exchange(a, b):
    """A message from one daemon to the other."""
    with ddpclient.Listener(socket=b.socket) as listener, ddpclient.Connection(a.socket) as connection:
        thread = threading.Thread(target=connection.connect, args=(b.address, listener.port))
        thread.start()
        with listener.accept(60) as accepted:
            thread.join()
            connection.send(b"hello")
            return accepted.recv(60)


class Daemons(unittest.TestCase):
    def test_two_reach_each_other(self):
        with testing.daemons(2) as (a, b):
            self.assertEqual(exchange(a, b), b"hello")
            self.assertEqual(b.environ["DDP_SOCKET"], b.socket)
        for daemon in a, b:
            self.assertFalse(os.path.exists(os.path.dirname(daemon.socket)))

    def test_others_are_apart(self):
        with testing.Daemon() as a, testing.Daemon() as b:
            self.assertNotEqual(a.port, b.port)

    def test_end_of_the_process(self):
        code = "import os, signal; from ddpclient import testing; d = testing.Daemon()\n" \
               "print(d.socket, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
        run = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=False)
        folder = os.path.dirname(run.stdout.decode().strip())
        ended = threading.Event()
        for _ in range(6000):
            if not os.path.exists(folder):
                return
            ended.wait(0.01)
        self.fail("the daemon of a killed process is left")

    def test_failure(self):
        with testing.Daemon() as a:
            a.port = 70000
            with self.assertRaisesRegex(RuntimeError, "70000"):
                testing.Daemon(a)

    def test_pytest(self):
        try:
            import pytest  # pylint: disable=import-outside-toplevel,unused-import
        except ImportError:
            self.skipTest("pytest is not installed")
        path = os.path.join(os.environ["DDP_TEST_FOLDER"], "test_with_pytest.py")
        with open(path, "w", encoding="ascii") as f:
            f.write(WITH_PYTEST)
        subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", path], check=True)


if __name__ == "__main__":
    unittest.main()

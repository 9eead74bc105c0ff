# SPDX-License-Identifier: BSD-2-Clause
"""Daemons for tests: each has a socket, a loopback address and a UDP port that no other one has, and
ends with the test, however that ends. They need no privilege, no configuration and no service.

With pytest, ``pytest_plugins = ["ddpclient.testing"]`` in conftest.py has the fixtures ``ddp_daemon``,
the only daemon of a test, and ``ddp_daemons``, a function that starts some that reach each other.
Without it, ``with daemons(2) as (a, b):`` does the same.
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
from typing import Any, Callable, Dict, Iterator, List, Optional

__all__ = ["Daemon", "daemons"]


def _program() -> str:
    named = os.environ.get("DDPSCTPD") or shutil.which("ddpsctpd")
    if named:
        return named
    path = os.pathsep.join(["/usr/local/sbin", "/usr/sbin"])  # where users have no programs
    found = shutil.which("ddpsctpd", path=path)
    if not found:
        raise FileNotFoundError("ddpsctpd is not installed: DDPSCTPD may name it")
    return found


class Daemon:
    """A daemon of this process. ``socket`` is for connect() and Listener(); peers connect to
    ``address``. ``join``: another daemon, which this one is to reach."""

    def __init__(self, join: Optional["Daemon"] = None):
        command = [_program(), "--private"]
        if join:
            command += ["--join", str(join.port)]
        with tempfile.TemporaryFile() as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
            assert self._process.stdout
            line = self._process.stdout.readline().decode()
            if not line:
                self.close()
                log.seek(0)
                raise RuntimeError("ddpsctpd does not start: " + log.read().decode(errors="replace").strip())
        socket, address, port = line.rstrip("\n").rsplit(" ", 2)
        self.socket = socket.partition("=")[2]
        self.address = address.partition("=")[2]
        self.port = int(port.partition("=")[2])

    @property
    def environ(self) -> Dict[str, str]:
        """The environment of a program that uses this daemon."""
        return dict(os.environ, DDP_SOCKET=self.socket)

    def close(self) -> None:
        """Ends the daemon. Its sessions fail."""
        assert self._process.stdout
        self._process.stdout.close()  # its other end is why the daemon runs
        self._process.wait()

    def __enter__(self) -> "Daemon":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


@contextlib.contextmanager
def daemons(count: int) -> Iterator[List[Daemon]]:
    """Some daemons that reach each other."""
    with contextlib.ExitStack() as stack:
        yield _start(stack, count)


def _start(stack: contextlib.ExitStack, count: int) -> List[Daemon]:
    started: List[Daemon] = []
    for _ in range(count):
        started.append(stack.enter_context(Daemon(started[0] if started else None)))
    return started


try:
    import pytest
except ImportError:
    pass
else:

    @pytest.fixture
    def ddp_daemon(monkeypatch: "pytest.MonkeyPatch") -> Iterator[Daemon]:
        """A daemon, which programs and calls without a socket use."""
        with Daemon() as daemon:
            monkeypatch.setenv("DDP_SOCKET", daemon.socket)
            yield daemon

    @pytest.fixture
    def ddp_daemons() -> Iterator[Callable[[int], List[Daemon]]]:
        """ddp_daemons(count) starts daemons that reach each other."""
        with contextlib.ExitStack() as stack:
            yield lambda count: _start(stack, count)

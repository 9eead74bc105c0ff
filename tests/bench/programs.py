# SPDX-License-Identifier: BSD-2-Clause
"""Programs for libibverbs and librdmacm over ddpverbs, and a loop over TCP, between the two daemons of a link."""

import os
import sys
import time

from machine import listens, until
from peers import MIB, Peer

# An exchange: each end sends this many bytes and waits for as many. The server chooses its port and prints it.
TCP_LOOP = """
import socket, sys
host, port, size, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
if port < 0:
    s = socket.create_server((host, -port)).accept()[0]
else:
    s = socket.create_connection((host, port))
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
data = bytes(size)
for _ in range(n):
    if port > 0:
        s.sendall(data)
    s.recv(size, socket.MSG_WAITALL)
    if port < 0:
        s.sendall(data)
"""


class Verbs(Peer):
    """A program with a server at the second daemon and a client at the first one."""

    def __init__(self, ours, program):
        super().__init__(ours.processes, ours.next_port, [["-R"]])
        self.ours = ours
        self.program = program

    @staticmethod
    def words(setting):
        return " ".join(setting)

    def command(self, host, *words):
        return [self.ours.program("verbs/ddpverbs"), "-s", self.ours.socket(host), self.program, *words]

    def pair(self, port, server, client):
        """Runs both; returns what the client printed."""
        env = {"DDPVERBS_LIBRARY": self.ours.program(".libs/libddpverbs.so.0")}
        child = self.processes.start(self.program, self.command(1, *server), 1, env)
        try:
            until(self.program, lambda: any(r["port"] == port for r in self.ours.ask(1, "listener") or ()))
            return self.processes.run(self.command(0, *client), 0, env)
        finally:
            self.processes.end(child)


class Perftest(Verbs):
    """Its values are those of ddperf: the mean of all messages, the depth of its queue, half a round trip."""

    package = "perftest"

    def __init__(self, ours, program, metric, size):
        super().__init__(ours, program)
        self.metric = metric
        self.size = size
        self.rate = None

    def count(self, seconds):
        if self.rate is None:
            return 2000 if self.metric == "lat" else 256 * MIB // self.size
        return max(100, int(self.rate * seconds))

    def run(self, setting, seconds):
        n = self.count(seconds)
        port = self.ports()
        words = [*setting, "-F", "-p", str(port), "-s", str(self.size), "-n", str(n)]
        if self.metric == "bw":
            words += ["-t", "64"]
        out = self.pair(port, words, [*words, self.ours.address(1)])
        row = [line.split() for line in out.splitlines() if line.split()[:1] == [str(self.size)]][-1]
        if self.metric == "lat":
            value = float(row[5])
            self.rate = 1e6 / (2 * value)
            return value, 2 * n * self.size, 2 * n
        value = float(row[3]) * MIB / 1e6
        self.rate = value * 1e6 / self.size
        return value, n * self.size, n


class Rping(Verbs):
    """The time of a ping with begin and end of both programs: a Read, a Write and four Sends."""

    package = "rdmacm-utils"
    size, pings = 64, 2000

    def __init__(self, ours):
        super().__init__(ours, "rping")
        self.settings = [["-C", str(self.pings)]]

    def choose(self):
        self.best = self.settings[0]

    def run(self, setting, _seconds):
        port = self.ports()
        words = [*setting, "-p", str(port), "-S", str(self.size), "-a", self.ours.address(1)]
        began = time.monotonic()
        self.pair(port, ["-s", *words], ["-c", *words])
        return (time.monotonic() - began) / self.pings * 1e6, 2 * self.pings * self.size, 6 * self.pings


class TcpLoop(Verbs):
    """The same pings as bytes over a TCP connection, one each way, with begin and end of both programs."""

    package = "python3"

    def __init__(self, ours):
        super().__init__(ours, os.path.basename(sys.executable))

    def run(self, _setting, _seconds):
        port = self.ports()
        words = [str(Rping.size), str(Rping.pings)]
        run = [sys.executable, "-c", TCP_LOOP, self.ours.address(1)]
        began = time.monotonic()
        child = self.processes.start("tcp-loop", [*run, str(-port), *words], 1)
        try:
            until("the TCP loop", lambda: listens(child, port))
            self.processes.run([*run, str(port), *words])
        finally:
            self.processes.end(child)
        return (time.monotonic() - began) / Rping.pings * 1e6, 2 * Rping.pings * Rping.size, 2 * Rping.pings

# SPDX-License-Identifier: BSD-2-Clause
"""Programs for libibverbs and librdmacm over ddpverbs, and a loop over TCP, between the two daemons of a link."""

import os
import sys
import time

from machine import Failed, listens, until
from peers import MIB, Peer, Ucx

# Where ranks of one host would take shared memory.
UCX_OVER_VERBS = "rc_v,ud_v,self"
MPI_PING = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "programs/mpi_ping.c")

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


def over_verbs(ours, host, program, *words):
    """A program at the daemon of this host."""
    return ["env", f"DDPVERBS_LIBRARY={ours.program('.libs/libddpverbs.so.0')}", ours.program("verbs/ddpverbs"), "-s",
            ours.socket(host), program, *words]


class Verbs(Peer):
    """A program with a server at the second daemon and a client at the first one; with to=0 both are at the first one."""

    def __init__(self, ours, program, to=1):
        super().__init__(ours.processes, ours.next_port, [["-R"]])
        self.ours = ours
        self.program = program
        self.to = to

    @staticmethod
    def words(setting):
        return " ".join(setting)

    def pair(self, port, server, client):
        """Runs both; returns what the client printed."""
        child = self.processes.start(self.program, over_verbs(self.ours, self.to, self.program, *server), self.to)
        try:
            until(self.program, lambda: any(r["port"] == port for r in self.ours.ask(self.to, "listener") or ()))
            return self.processes.run(over_verbs(self.ours, 0, self.program, *client))
        finally:
            self.processes.end(child)


class Perftest(Verbs):
    """Its values are those of ddperf: the mean of all messages, the depth of its queue, half a round trip."""

    package = "perftest"

    def __init__(self, ours, program, metric, size, to=1):
        super().__init__(ours, program, to)
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
        out = self.pair(port, words, [*words, self.ours.address(self.to)])
        row = [line.split() for line in out.splitlines() if line.split()[:1] == [str(self.size)]][-1]
        if self.metric == "lat":
            value = float(row[5])
            self.rate = 1e6 / (2 * value)
            return value, 2 * n * self.size, 2 * n
        value = float(row[3]) * MIB / 1e6
        self.rate = value * 1e6 / self.size
        return value, n * self.size, n


class UcxOverVerbs(Ucx):
    """Tags of UCP by queue pairs of libibverbs."""

    segments = [{}]

    def __init__(self, ours, op, metric, size):
        super().__init__(ours.processes, ours.next_port, op, metric, size)
        self.ours = ours
        self.settings = self.settings[:1]

    def environment(self):
        return {"UCX_TLS": UCX_OVER_VERBS, "UCX_WARN_UNUSED_ENV_VARS": "n"}

    def command(self, host, *words):
        return over_verbs(self.ours, host, self.program, *words)


class Mpi(Verbs):
    """Half a round trip between two ranks of Open MPI over UCX, the mean of a run."""

    package = "openmpi-bin, libopenmpi-dev"

    def __init__(self, ours, size):
        super().__init__(ours, "mpirun.openmpi")
        self.settings = [["--mca", "pml", "ucx"]]
        self.size = size
        self.ping = None
        self.rate = 20000

    def build(self):
        """The program of both ranks."""
        self.ping = self.ours.program_file("mpi_ping")
        self.processes.run(["mpicc.openmpi", "-O2", "-o", self.ping, MPI_PING])

    def rank(self, host, n):
        return ["-np", "1", *over_verbs(self.ours, host, self.ping, str(self.size), str(n))]

    def run(self, setting, seconds):
        if not self.ping:
            self.build()
        n = max(1000, int(self.rate * seconds))
        out = self.processes.run(
            [self.program, "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", *setting, "-x",
             f"UCX_TLS={UCX_OVER_VERBS}", *self.rank(0, n), ":", *self.rank(1, n)],
            env={"TMPDIR": self.ours.tmp})
        value = [float(line.split()[1]) for line in out.splitlines() if line.startswith("us ")]
        if not value:
            raise Failed("mpi_ping: no result")
        self.rate = 1e6 / (2 * value[0])
        return value[0], 2 * n * self.size, 2 * n


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

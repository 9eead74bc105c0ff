# SPDX-License-Identifier: BSD-2-Clause
"""UCX, libfabric and iperf3, all over TCP, each with its best setting.

Each test has several settings. All of them are tried briefly; the best one is measured."""

import json
import shutil
import statistics

from machine import Failed, listens, until

MIB = 1024 * 1024

# Sizes of UCX's segments over TCP; its Writes are slow with the default sizes.
UCX_SEGMENTS = [{}, {"UCX_TCP_TX_SEG_SIZE": "64k", "UCX_TCP_RX_SEG_SIZE": "128k"},
                {"UCX_TCP_TX_SEG_SIZE": "256k", "UCX_TCP_RX_SEG_SIZE": "512k"}]
UCX_TESTS = {
    ("write", "bw"): [["ucp_put_bw"]],
    ("write", "lat"): [["ucp_put_lat"]],
    ("send", "bw"): [["tag_bw"], ["ucp_am_bw"]],
    ("send", "lat"): [["tag_lat"], ["ucp_am_lat"]],
    ("read", "bw"): [["ucp_get", "-O", "32"], ["ucp_get", "-O", "4"]],
    ("read", "lat"): [["ucp_get", "-O", "1"]],
    ("fetch-add", "lat"): [["ucp_fadd", "-O", "1"]],
}
FABRIC = [["-p", "tcp", "-e", "msg"], ["-p", "net", "-e", "rdm"], ["-p", "tcp;ofi_rxm", "-e", "rdm"]]
IPERF = [[], ["-Z"], ["-l", "1M"]]
PERCENTILE = "99.9"  # of UCX's latency: one of its runs reports one
TRIALS = 3
TRIAL_SECONDS = 0.5
# A peer is no reference where it waits for timers: a message takes longer than BROKEN_US, or one of its runs has BROKEN_TIMES of
# another one, whatever the machine does besides.
BROKEN_US = 1000
BROKEN_TIMES = 10


def why_broken(values):
    """Why latencies of a peer, in us, are no reference; None if they are one."""
    if statistics.median(values) > BROKEN_US:
        return f"broken here: {statistics.median(values):.0f} us for a message"
    if max(values) > BROKEN_TIMES * min(values):
        return f"broken here: {min(values):.1f} to {max(values):.0f} us for a message"
    return None


class Peer:
    """One test of one peer. subclass.run(setting, seconds) returns (value, bytes, messages). congestion: the congestion control
    of TCP, None for programs that use none."""

    better = max
    congestion = None

    def __init__(self, processes, ports, settings):
        self.processes = processes
        self.ports = ports
        self.settings = settings
        self.best = None

    def try_all(self):
        """Settings with the values of their trials. They take turns, so that the machine is the same for all."""
        values, wrong = [(setting, []) for setting in self.settings], None
        for _ in range(TRIALS):
            for pair in list(values):
                try:
                    pair[1].append(self.run(pair[0], TRIAL_SECONDS)[0])
                except (Failed, ValueError, IndexError, KeyError) as e:
                    values.remove(pair)
                    wrong = e
        if not values:
            raise Failed(str(wrong))
        return values

    def choose(self):
        """The setting whose median of the trials is best."""
        if self.congestion:
            self.processes.link.set_congestion(self.congestion)
        values = self.try_all()
        self.best, trials = self.better(values, key=lambda v: statistics.median(v[1]))
        if self.better is min and why_broken(trials):
            raise Failed(f"not measured: {why_broken(trials)}")

    def __call__(self, seconds):
        if not self.best:
            self.choose()
        if self.congestion:
            self.processes.link.set_congestion(self.congestion)
        return self.run(self.best, seconds)

    def setting(self):
        """The best one, as text."""
        return self.best and " ".join(filter(None, [self.congestion, self.words(self.best)]))


class Ucx(Peer):
    program = "ucx_perftest"
    package = "ucx-utils"
    segments = UCX_SEGMENTS

    def __init__(self, processes, ports, op, metric, size):
        tests = UCX_TESTS[op, "lat" if metric == "lat" else "bw"]
        super().__init__(processes, ports, [(test, env) for test in tests for env in self.segments])
        self.metric = metric
        self.size = size
        self.per_second = {}
        if metric == "lat":
            self.better = min

    @staticmethod
    def words(setting):
        test, env = setting
        return " ".join(test + [f"{k[8:10]}={v}" for k, v in env.items()])

    def count(self, setting, seconds):
        """The number of messages that takes about this time."""
        rate = self.per_second.get(self.words(setting))
        if rate is None:
            return max(50, min(5000, 64 * MIB // self.size))
        return max(50, int(rate * seconds))

    def environment(self):
        return {"UCX_TLS": "tcp", "UCX_NET_DEVICES": self.processes.link.device, "UCX_WARN_UNUSED_ENV_VARS": "n"}

    def command(self, _host, *words):
        return [self.program, *words]

    def run(self, setting, seconds):
        test, env = setting
        n = self.count(setting, seconds)
        warm = max(10, n // 20)
        env = {**self.environment(), **env}
        port = self.ports()
        server = self.processes.start("ucx", self.command(1, "-p", str(port)), 1, env)
        try:
            until("ucx_perftest", lambda: listens(server, port))
            out = self.processes.run(
                self.command(0, self.processes.link.addresses[1], "-p", str(port), "-t", test[0], "-s",
                             str(self.size), "-n", str(n), "-w", str(warm), "-f", "-v", "-R", PERCENTILE, *test[1:]), 0, env)
        finally:
            self.processes.end(server)
        # Number of messages; latency: percentile, recent mean, mean of the run; MB/s: recent, of the run;
        # messages/s: recent, of the run.
        last = [line for line in out.splitlines() if line.strip()][-1].split(",")
        self.per_second[self.words(setting)] = float(last[7])
        value = {"lat": float(last[3]), "bw": float(last[5]) * MIB / 1e6, "rate": float(last[7])}[self.metric]
        more = {f"p{PERCENTILE}": float(last[1])} if self.metric == "lat" else {}
        return value, (n + warm) * self.size, n + warm, more


class Fabric(Peer):
    """Latency of Sends. fi_pingpong has no other test: its bandwidth is that of one message at a time."""

    program = "fi_pingpong"
    package = "libfabric-bin"
    better = min

    def __init__(self, processes, ports, size):
        super().__init__(processes, ports, FABRIC)
        self.size = size

    @staticmethod
    def words(setting):
        return " ".join(setting)

    def run(self, setting, seconds):
        n = max(2000, int(seconds * 40000))
        port = self.ports()
        common = ["fi_pingpong", *setting, "-S", str(self.size), "-I", str(n)]
        server = self.processes.start("fabric", common + ["-B", str(port)], 1)
        try:
            until("fi_pingpong", lambda: listens(server, port), 3)
            out = self.processes.run(common + ["-P", str(port), self.processes.link.addresses[1]], 0, timeout=20)
        finally:
            self.processes.end(server)
        rows = [line.split() for line in out.splitlines() if line.split()[:1] == [str(self.size)]]
        return float(rows[-1][6]), 2 * n * self.size, 2 * n


class Iperf(Peer):
    """One byte stream or several: less work than messages, so an upper bound."""

    program = "iperf3"
    package = "iperf3"

    def __init__(self, processes, ports, streams=1, both=False):
        more = ["-P", str(streams)] + (["--bidir"] if both else [])
        super().__init__(processes, ports, [s + more for s in IPERF])

    @staticmethod
    def words(setting):
        return " ".join(setting)

    def run(self, setting, seconds):
        port = self.ports()
        seconds = max(1, round(seconds))  # it takes integers, and 0 means no end
        server = self.processes.start("iperf3", ["iperf3", "-s", "-1", "-p", str(port)], 1)
        try:
            until("iperf3", lambda: listens(server, port))
            out = self.processes.run(["iperf3", "-c", self.processes.link.addresses[1], "-J", "-p", str(port),
                                      "-t", str(seconds), *setting], 0, timeout=seconds + 20)
        finally:
            self.processes.end(server)
        end = json.loads(out)["end"]
        ways = ["sum_received", "sum_received_bidir_reverse"] if "--bidir" in setting else ["sum_received"]
        return sum(end[way]["bits_per_second"] for way in ways) / 8e6, sum(end[way]["bytes"] for way in ways), 0


def why_missing(peer):
    """None if the peer is installed, else what to install."""
    return None if shutil.which(peer.program) else f"not measured: needs {peer.program} (Debian: {peer.package})"

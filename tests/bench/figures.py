# SPDX-License-Identifier: BSD-2-Clause
"""The figures of scripts/bench: what is measured, on which link, with which program.

The value of each figure is the mean of a whole run: all bytes or messages divided by the time, or the mean latency.
All programs report this statistic."""

import json
import os
import shutil
from dataclasses import dataclass, field
from functools import partial

import peers
import programs
from machine import CONGESTION, Failed, Processes, until

KIB, MIB = 1024, 1024 * 1024
SIZES = [(MIB, "1M"), (64 * KIB, "64K"), (4 * KIB, "4K")]
MANY = [1, 16, 256]
PERCENTILES = {"p50": "latency_median_us", "p99": "latency_p99_us", "p99.9": "latency_p99_9_us"}
SPARSE_MS = 50
CLIENTS = 4
# What is measured on each link. "one" is within one daemon.
GROUPS = ["bulk", "small", "latency", "sparse", "both", "many", "clients", "memory", "verbs", "dtls", "one"]
OWN_PORT = 5045  # of the server with memory of malloc()
COVERED = 2  # the daemons with DTLS come after the others, and have ports of their own
COVERED_PORTS = (9898, 9897)
WARM_UP = 0.2  # seconds, of ddperf and many_qps

UNITS = {"bw": "MB/s", "rate": "messages/s", "lat": "us", "reg": "us"}
CPU_UNITS = {"bw": "s/GB", "rate": "us/message", "lat": "us/message", "reg": "us"}
REGIONS = [(4 * KIB, "4K"), (64 * KIB, "64K"), (MIB, "1M"), (16 * MIB, "16M"), (256 * MIB, "256M")]


@dataclass
class Figure:
    """One row of the table. call(seconds) returns (value, bytes, messages); bytes and messages
    include the warm-up."""

    link: str
    test: str
    who: str
    metric: str
    call: object
    samples: list = field(default_factory=list)  # of value, cpu and others
    failed: str = None

    def key(self):
        return self.link, self.test, self.who


class Ours:
    """Two daemons on a link, two more that speak DTLS with each other, and the programs that use them. A daemon has a number:
    its host, and COVERED if it speaks DTLS."""

    covers = True

    def __init__(self, args, tmp):
        self.args = args
        self.tmp = tmp
        self.build = os.path.abspath(args.build)
        self.processes = Processes(tmp)
        self.port = 12000 + os.getpid() % 18000

    def program(self, name):
        return os.path.join(self.build, name)

    def next_port(self):
        self.port += 1
        return self.port

    def address(self, host):
        return self.processes.link.addresses[host % COVERED]

    def socket(self, host):
        return os.path.join(self.tmp, f"{'abcd'[host]}.sock")

    # --- daemons ---

    def ask(self, host, what):
        try:
            return json.loads(self.processes.run(
                [self.program("ddpctl"), "--socket", self.socket(host), "-j", what], timeout=20))
        except Failed:
            return None

    def transport(self):
        """Lines of the configuration."""
        return f"transport: user\nuser: {{mtu: {self.args.mtu}}}\n"

    def make_certificate(self):
        """The daemons with DTLS have one: who they are does not matter here."""
        self.processes.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                            "/CN=bench", "-days", "2", "-keyout", self.program_file("key"), "-out", self.program_file("pem")])
        os.chmod(self.program_file("key"), 0o600)

    def program_file(self, name):
        return os.path.join(self.tmp, name)

    def covered(self, daemon):
        """Lines of the configuration of a daemon with DTLS."""
        user, dtls = COVERED_PORTS
        return (f"transport: user\nuser: {{mtu: {self.args.mtu}, udp_port: {user}}}\n"
                f"security: {{udp_port: {dtls}, certificate: {self.program_file('pem')}, key: {self.program_file('key')}}}\n"
                f"peers: {{rules: [{self.address(daemon ^ 1)} name=peer security=require]}}\n")

    def daemon(self, host):
        name = "abcd"[host]
        path = os.path.join(self.tmp, name + ".yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"listen: [{self.address(host)}]\nsocket: {{path: {self.socket(host)}}}\n"
                    f"limits: {{qps: 4096}}\nsession: {{connect_ms: 60000}}\n{self.covered(host) if host >= COVERED else self.transport()}")
        child = self.processes.start(name, [self.program("ddpsctpd"), "--foreground", "--config", path], host % COVERED)
        until(f"daemon {name}", lambda: gone(child) or self.ask(host, "status"))
        if gone(child):
            raise Failed(f"daemon {name}: {self.processes.log(name)}")
        self.processes.start(name + "-server", [self.program("ddperf"), "-s", "--socket", self.socket(host)],
                             host % COVERED)
        if host >= COVERED:
            until(f"ddperf -s on {name}", lambda: self.ask(host, "listener"))
            return
        self.processes.start(name + "-own", [self.program("ddperf"), "-s", "-m", "-p", str(OWN_PORT), "--socket",
                                             self.socket(host)], host)
        until(f"ddperf -s on {name}", lambda: len(self.ask(host, "listener") or ()) > 1)

    def start(self):
        self.daemon(0)
        self.daemon(1)
        if self.covers and "dtls" in self.args.groups and shutil.which("openssl"):
            self.make_certificate()
            self.daemon(COVERED)
            self.daemon(COVERED + 1)

    def stop(self):
        self.processes.stop()

    # --- programs ---

    def raw(self, size, *options):
        link = self.processes.link

        def call(seconds):
            space = ["-N", link.netns_file] if link.netns_file else []
            out = json.loads(self.processes.run(
                [self.program("tests/bench/llp_raw"), "-j", "-s", str(size), "-t", str(seconds), "-f",
                 self.address(0), "-T", self.address(1), *space, *options], 0, None, seconds + 30))
            return out["mb_per_s"], out["mb_per_s"] * 1e6 * seconds, 0
        return call

    def raw_user(self, size):
        return self.raw(size, "-m", str(self.args.mtu), "-p", str(self.next_port()))

    def limit(self, metric, size):
        """UDP packets with a sum and two copies: no protocol, no rings."""
        link = self.processes.link

        def call(seconds):
            space = ["-N", link.netns_file] if link.netns_file else []
            mtu = self.args.mtu or link.mtu
            out = json.loads(self.processes.run(
                [self.program("tests/bench/udp_limit"), "-s", str(size), "-m", str(mtu), "-t", str(seconds), "-f",
                 self.address(0), "-T", self.address(1), *space], 0, None, seconds + 30))
            return (out["mb_per_s" if metric == "bw" else "messages_per_s"], out["bytes"], out["bytes"] / size)
        return call

    def ddperf(self, op, metric, size, host=1, options=(), by=0):
        key = {"bw": "bandwidth_mean_mb_per_s", "rate": "rate_mean_messages_per_s",
               "lat": "latency_mean_us"}[metric]

        def call(seconds):
            out = json.loads(self.processes.run(
                [self.program("ddperf"), "-j", "--socket", self.socket(by), "-S", str(size), "-t", str(seconds),
                 "-w", str(WARM_UP), *options, self.address(host), op, metric], 0, timeout=seconds + 30))
            all_of_it = 1 + WARM_UP / out["elapsed_s"]
            ways = 2 if metric == "lat" and op in ("write", "send") else 1
            more = {name: out[k] for name, k in PERCENTILES.items() if k in out} if metric == "lat" else {}
            return out[key], out["bytes"] * all_of_it, out["messages"] * ways * all_of_it, more
        return call

    def many(self, qps, metric, size, depth, apart=False):
        """apart: each queue pair has an association of its own."""
        def call(seconds):
            out = json.loads(self.processes.run(
                [self.program("tests/bench/many_qps"), *(["-a"] if apart else []), "-n", str(qps), "-s", str(size), "-d", str(depth), "-t",
                 str(seconds), self.socket(0), self.socket(1), self.address(1), str(self.next_port())],
                0, timeout=seconds + 30))
            return (out["mb_per_s" if metric == "bw" else "writes_per_s"], out["all_bytes"],
                    out["all_bytes"] / size)
        return call

    def in_dtls(self, op, metric, size):
        """The same between the daemons with DTLS."""
        return self.ddperf(op, metric, size, by=COVERED)

    def own_memory(self, op, metric, size):
        """Memory of malloc() at both ends."""
        return self.ddperf(op, metric, size, options=("-m", "-p", str(OWN_PORT)))

    def register(self, how, size):
        """How long a registration takes; its end is not part of it."""
        def call(seconds):
            out = json.loads(self.processes.run(
                [self.program("tests/bench/register"), how, str(size), str(seconds), self.socket(0)],
                timeout=seconds + 60))
            return out["register_us"], 0, out["registrations"]
        return call

    def memcpy(self, size):
        def call(seconds):
            out = json.loads(self.processes.run(
                [self.program("tests/bench/memcpy"), "-j", "-s", str(size), "-t", str(seconds)]))
            return out["bytes_per_s"] / 1e6, out["bytes_per_s"] * seconds * 1.1, 0
        return call

    # --- figures ---

    def of_link(self):
        """The figures of a link in the groups that are wanted; figures that are compared are measured next to each other."""
        return self.figures([row for name in GROUPS if name in self.args.groups
                             for row in getattr(self, "rows_" + name, list)()])

    def rows_bulk(self):
        rows = []
        for size, text in SIZES:
            test = f"write bw {text}"
            rows += [(test, "UDP limit", "bw", self.limit("bw", size)),
                     (test, "transport alone", "bw", self.raw_user(size)),
                     (test, "ddpsctpd", "bw", self.ddperf("write", "bw", size)),
                     *self.ucx(test, "write", "bw", size)]
            if self.processes.link.netns_file:
                rows += self.iperf(test)
            rows += [row for op in ("send", "read") for row in self.with_ucx(op, "bw", size, text)]
        return rows + self.iperf("stream") + self.iperf("16 streams", 16)

    def rows_small(self):
        rows = [("write rate 64", "UDP limit", "rate", self.limit("rate", 64))]
        return rows + [row for op in ("write", "send", "read") for row in self.with_ucx(op, "rate", 64, "64")]

    def rows_latency(self):
        rows = [row for op in ("write", "send", "read") for row in self.with_ucx(op, "lat", 64, "64")]
        rows += self.with_ucx("fetch-add", "lat", 8, "8")
        return rows + self.of_peer("send lat 64", "libfabric", "lat",
                                   lambda: peers.Fabric(self.processes, self.next_port, 64))

    def rows_sparse(self):
        return [(f"sparse {op} lat 64", "ddpsctpd", "lat", self.ddperf(op, "lat", 64, options=("--pause", str(SPARSE_MS))))
                for op in ("write", "send", "read")]

    def rows_both(self):
        rows = [(f"both ways {text}", "ddpsctpd", "bw", self.ddperf("write", "bw", size, options=("-b",)))
                for size, text in SIZES[:2]]
        return rows + self.of_peer("both ways 1M", "iperf3", "bw",
                                   lambda: peers.Iperf(self.processes, self.next_port, both=True))

    def rows_many(self):
        return [(f"write {metric} {text}, {n} {what}", "ddpsctpd", metric, self.many(n, metric, size, depth, apart))
                for metric, size, text, depth in (("bw", 64 * KIB, "64K", 64), ("rate", 64, "64", 256))
                for n in MANY for what, apart in (("QPs", False), ("assocs", True))]

    def rows_clients(self):
        options = ("-q", str(CLIENTS))
        return [(f"write bw 64K, {CLIENTS} clients", "ddpsctpd", "bw", self.ddperf("write", "bw", 64 * KIB, options=options)),
                (f"write rate 64, {CLIENTS} clients", "ddpsctpd", "rate", self.ddperf("write", "rate", 64, options=options))]

    def rows_memory(self):
        """Memory of malloc() beside that of the library."""
        return [(f"write bw {text}", who, "bw", call("write", "bw", size)) for size, text in SIZES
                for who, call in (("ddpsctpd", self.ddperf), ("own memory", self.own_memory))
                if who != "ddpsctpd" or "bulk" not in self.args.groups]

    def rows_dtls(self):
        return [(f"write bw {text}", "in DTLS", "bw", self.in_dtls("write", "bw", size)) for size, text in SIZES] + \
            [("write lat 64", "in DTLS", "lat", self.in_dtls("write", "lat", 64))]

    def rows_verbs(self):
        """Programs for verbs, beside what ddperf measures of the same."""
        if self.processes.link.netns_file:
            return []
        rows, perftest = [], partial(programs.Perftest, self)
        for op, metric, size, text, group, who, call in (
                ("write", "bw", MIB, "1M", "bulk", "ib_write_bw", perftest("ib_write_bw", "bw", MIB)),
                ("write", "bw", 64 * KIB, "64K", "bulk", "ib_write_bw", perftest("ib_write_bw", "bw", 64 * KIB)),
                ("send", "bw", MIB, "1M", "bulk", "UCX over verbs", programs.UcxOverVerbs(self, "send", "bw", MIB)),
                ("write", "lat", 64, "64", "latency", "ib_write_lat", perftest("ib_write_lat", "lat", 64)),
                ("send", "lat", 64, "64", "latency", "ib_send_lat", perftest("ib_send_lat", "lat", 64)),
                ("send", "lat", 8, "8", "", "MPI over UCX", programs.Mpi(self, 8))):
            test = f"{op} {metric} {text}"
            if group not in self.args.groups:
                rows.append((test, "ddpsctpd", metric, self.ddperf(op, metric, size)))
            rows.append((test, who, metric, call))
        return rows + [("ping 64", "rping", "lat", programs.Rping(self)),
                       ("ping 64", "TCP loop", "lat", programs.TcpLoop(self))]

    def of_one_daemon(self):
        rows = self.one_daemon_rows() if "one" in self.args.groups else []
        if "verbs" in self.args.groups:
            rows += [(f"{op} lat 64", who, "lat", call) for op in ("write", "send") for who, call in (
                ("ddpsctpd", self.ddperf(op, "lat", 64, 0)),
                (f"ib_{op}_lat", programs.Perftest(self, f"ib_{op}_lat", "lat", 64, to=0)))
                if who != "ddpsctpd" or "one" not in self.args.groups]
        return self.figures(rows, "one daemon")

    def one_daemon_rows(self):
        rows = [("write bw 1M", "ddpsctpd", "bw", self.ddperf("write", "bw", MIB, 0)),
                ("write bw 1M", "memcpy", "bw", self.memcpy(MIB))]
        rows += [(f"{op} lat 64", "ddpsctpd", "lat", self.ddperf(op, "lat", 64, 0))
                 for op in ("write", "send", "read")]
        return rows + [(f"register {text}", who, "reg", self.register(how, size)) for size, text in REGIONS
                       for who, how in (("adopted", "adopt"), ("shared", "again"), ("in a list", "list"), ("allocated", "alloc"))]

    # --- programs of others ---

    def of_peer(self, test, who, metric, make):
        """A row for each congestion control; the default of Linux has no suffix."""
        rows = []
        for name in self.processes.link.congestion():
            peer = make()
            peer.congestion = name
            rows.append((test, who if name == CONGESTION[0] else f"{who}, {name}", metric, peer))
        return rows

    def iperf(self, test, streams=1):
        return self.of_peer(test, "iperf3", "bw", lambda: peers.Iperf(self.processes, self.next_port, streams))

    def ucx(self, test, op, metric, size):
        return self.of_peer(test, "UCX", metric, lambda: peers.Ucx(self.processes, self.next_port, op, metric, size))

    def with_ucx(self, op, metric, size, text):
        test = f"{op} {metric} {text}"
        return [(test, "ddpsctpd", metric, self.ddperf(op, metric, size)), *self.ucx(test, op, metric, size)]

    def figures(self, rows, link=None):
        made = [Figure(link or self.processes.link.name, *row) for row in rows]
        for f in made:
            if f.who == "in DTLS" and not shutil.which("openssl"):
                f.failed = "not measured: openssl makes the certificate (scripts/deps)"
            if isinstance(f.call, peers.Peer):
                f.failed = peers.why_missing(f.call)
        return [f for f in made if not (self.args.no_peers and isinstance(f.call, peers.Peer))]


class OursKernel(Ours):
    """The kernel's SCTP. One size of packets at a time: daemons keep associations, and with them the MTU."""

    covers = False

    # Packets of loopback, and the MTU that makes segments of 1400 and of 60000 bytes: IP, SCTP and DATA chunk
    # take 48, and 16 are left for a SACK.
    MTUS = [("1.4 KB packets", 1464), ("60 KB packets", 60064)]

    def transport(self):
        return "transport: kernel\n"

    def of_link(self):
        return self.figures([("write bw 1M", "transport alone", "bw", self.raw(MIB, "-K")),
                             ("write bw 1M", "ddpsctpd", "bw", self.ddperf("write", "bw", MIB)),
                             ("stream", "iperf3", "bw", peers.Iperf(self.processes, self.next_port))])


def gone(child):
    """True if a child has ended."""
    try:
        with open(f"/proc/{child.pid}/stat", encoding="ascii", errors="replace") as f:
            return f.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True

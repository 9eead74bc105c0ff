# SPDX-License-Identifier: BSD-2-Clause
"""Processes and their CPU time, the load of the machine, and links, for scripts/bench."""

import os
import shutil
import signal
import subprocess
import tempfile
import time

TICK = os.sysconf("SC_CLK_TCK")
ALLOWED = "/proc/sys/net/ipv4/tcp_allowed_congestion_control"
CONGESTION = ["cubic", "bbr"]  # of TCP, the first one is the default of Linux


class Failed(Exception):
    """Something could not be measured; the text says what and why."""


def busy_seconds():
    """CPU seconds since this machine started: busy, and stolen by its host."""
    with open("/proc/stat", encoding="ascii") as f:
        user, nice, system, _, _, irq, softirq, steal = (int(n) / TICK for n in f.readline().split()[1:9])
    return user + nice + system + irq + softirq, steal


def cpu_of(pid):
    """CPU seconds of a process, its finished threads included."""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


class Awake:
    """A loop for each CPU that runs when nothing else does (SCHED_IDLE). A host takes back virtual CPUs that are idle,
    and gives them back late."""

    def __init__(self, wanted):
        self.pids = [self.start(cpu) for cpu in sorted(os.sched_getaffinity(0))] if wanted else []

    @staticmethod
    def start(cpu):
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            try:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                os.sched_setaffinity(0, {cpu})
                os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
                while os.getppid() == parent:
                    for _ in range(100000):
                        pass
            finally:
                os._exit(0)
        return pid

    def cpu(self):
        return sum(cpu_of(pid) for pid in self.pids)

    def stop(self):
        for pid in self.pids:
            os.kill(pid, signal.SIGTERM)
            os.waitpid(pid, 0)
        self.pids = []


def read_file(path):
    with open(path, encoding="ascii") as f:
        return f.read().strip()


class Link:
    """Two hosts: their addresses, and how to start a command on them."""

    name = "loopback"
    mtu = 65536
    device = "lo"
    netns_file = None
    spaces = []  # network namespaces of its own

    def __init__(self):
        pid = os.getpid() * 4
        self.addresses = [f"127.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}" for n in (pid, pid + 1)]

    def prefix(self, _host):
        return []

    def congestion(self):
        """The congestion controls of TCP that programs on this link can be measured with. A namespace can have those that the
        machine allows to everybody."""
        allowed = read_file(ALLOWED).split()
        return [c for c in CONGESTION if c in allowed] if self.spaces else \
            [read_file("/proc/sys/net/ipv4/tcp_congestion_control")]

    def without_congestion(self):
        """The others, as a line of the report; None if all can be measured."""
        missing = [c for c in CONGESTION if c not in self.congestion()]
        return missing and f"{self.name}: TCP with {', '.join(missing)}: not measured: not in {ALLOWED}, or no namespaces"

    def set_congestion(self, name):
        """For the TCP sockets that are made from now on."""
        for space in self.spaces:
            ip("netns", "exec", space, "sh", "-c", f"echo {name} >/proc/sys/net/ipv4/tcp_congestion_control")

    def remove(self):
        """There is nothing to remove."""


class Loopback(Link):
    """Loopback of a network namespace of its own, so that the settings of TCP are those of the measurement."""

    def __init__(self):
        super().__init__()
        may_make_spaces()
        self.spaces = [f"ddpbench{os.getpid()}"]
        ip("netns", "add", self.spaces[0])
        ip("-n", self.spaces[0], "link", "set", "lo", "up")

    def prefix(self, _host):
        return ["ip", "netns", "exec", self.spaces[0]]

    def remove(self):
        remove_spaces(self.spaces)


class Veth(Link):
    """A pair of virtual Ethernet devices between two network namespaces."""

    name = "veth"
    device = "bench0"

    def __init__(self, mtu=1500):
        super().__init__()
        self.addresses = ["10.0.0.1", "10.0.0.2"]
        self.spaces = [f"ddpbench{os.getpid()}{c}" for c in "ab"]
        self.netns_file = f"/run/netns/{self.spaces[1]}"
        self.name = f"veth, MTU {mtu}"
        self.mtu = mtu
        may_make_spaces()
        try:
            self.make(mtu)
        except Failed:
            self.remove()
            raise

    def make(self, mtu):
        for space in self.spaces:
            ip("netns", "add", space)
        ip("link", "add", self.device, "netns", self.spaces[0], "type", "veth",
           "peer", "name", self.device, "netns", self.spaces[1])
        for space, address in zip(self.spaces, self.addresses):
            ip("-n", space, "address", "add", address + "/24", "dev", self.device)
            ip("-n", space, "link", "set", "lo", "up")
            ip("-n", space, "link", "set", self.device, "mtu", str(mtu), "up")

    def prefix(self, host):
        return ["ip", "netns", "exec", self.spaces[host]]

    def remove(self):
        remove_spaces(self.spaces)


def may_make_spaces():
    if os.geteuid() != 0:
        raise Failed("network namespaces need root")
    if not shutil.which("ip"):
        raise Failed("network namespaces need ip (Debian: iproute2)")


def remove_spaces(spaces):
    for space in spaces:
        subprocess.run(["ip", "netns", "del", space], capture_output=True, check=False)


def ip(*words):
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"ip {' '.join(words)}: {done.stderr.strip()}")


class Processes:
    """Starts programs on the hosts of a link, and adds up the CPU time of all of them."""

    def __init__(self, tmp):
        self.tmp = tmp
        self.link = Link()
        self.children = []
        self.finished = 0.0

    def cpu(self):
        """CPU seconds of all programs so far, running and ended ones."""
        return self.finished + sum(cpu_of(child.pid) for child in self.children)

    def wait(self, child, timeout):
        """Waits for the end of a child, kills it when the time is over. Returns its exit status."""
        deadline = time.monotonic() + timeout
        pid = 0
        while pid == 0:
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            if pid == 0 and time.monotonic() > deadline:
                os.kill(child.pid, signal.SIGKILL)
                deadline += 3600
            if pid == 0:
                time.sleep(0.005)
        child.returncode = os.waitstatus_to_exitcode(status)
        self.finished += usage.ru_utime + usage.ru_stime
        if child in self.children:
            self.children.remove(child)
        return child.returncode

    def run(self, command, host=0, env=None, timeout=60):
        """Runs a program until its end. Returns what it printed."""
        with tempfile.TemporaryFile("w+", dir=self.tmp) as out, tempfile.TemporaryFile("w+", dir=self.tmp) as err:
            child = subprocess.Popen(self.link.prefix(host) + command, stdin=subprocess.DEVNULL, stdout=out,
                                     stderr=err, env={**os.environ, **(env or {})})
            self.children.append(child)
            status = self.wait(child, timeout)
            out.seek(0)
            err.seek(0)
            text = out.read()
            if status != 0:
                last = ((err.read() or text).strip().splitlines() or ["no message"])[-1]
                raise Failed(f"{' '.join(command)}: exit status {status}: {last}")
        return text

    def start(self, name, command, host=0, env=None):
        """Starts a program in the background; its output goes to NAME.log."""
        with open(os.path.join(self.tmp, name + ".log"), "w", encoding="utf-8") as log:
            child = subprocess.Popen(self.link.prefix(host) + command, stdin=subprocess.DEVNULL, stdout=log,
                                     stderr=log, env={**os.environ, **(env or {})})
        self.children.append(child)
        return child

    def end(self, child):
        """Ends one program."""
        if child in self.children:
            os.kill(child.pid, signal.SIGTERM)  # not by Popen, which would take the exit status
            self.wait(child, 10)

    def stop(self):
        """Ends all programs, the last one first."""
        for child in reversed(list(self.children)):
            self.end(child)

    def log(self, name):
        with open(os.path.join(self.tmp, name + ".log"), encoding="utf-8", errors="replace") as f:
            return f.read().strip()


def until(what, check, seconds=15):
    """Waits until something is true."""
    deadline = time.monotonic() + seconds
    while not check():
        if time.monotonic() > deadline:
            raise Failed(f"{what} is not ready after {seconds} s")
        time.sleep(0.02)


def listens(child, port):
    """True if the TCP port has a listener in the network namespace of the child. Connecting would disturb it."""
    for table in "tcp", "tcp6":
        try:
            with open(f"/proc/{child.pid}/net/{table}", encoding="ascii") as f:
                lines = list(f)[1:]
        except OSError:
            return False
        if any(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A" for line in lines):
            return True
    return False

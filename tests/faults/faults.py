#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""faults.py BUILD-FOLDER TEMPORARY-FOLDER ADDRESS-A ADDRESS-B SAMPLE SEED [WORDS]

Two daemons, a and b, and two programs (tests/faults/program_parts.c, verbs.c) do everything once. tests/faults/hook.c, in all of them, records
each allocation and system call with its last callers: a site. Then each site fails once, in the part of the run in which it
was seen, and afterwards everything must be as before: the daemons live and answer, a program has ended its part with success
or with a reason, and no object, charge, descriptor, mapping or block is left. What was left is tried again: a cache that has
grown does not grow again, a leak does. A site that is called once in a process fails in processes that have just begun.

SAMPLE: how many sites fail, drawn by SEED; 0: all. WORDS: only sites whose description contains them.
"""

import ctypes
import mmap
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

BUILD, TMP = Path(sys.argv[1]), Path(sys.argv[2])
ADDRESS = {"a": sys.argv[3], "b": sys.argv[4], "c": sys.argv[3]}
SAMPLE, SEED = int(sys.argv[5]), int(sys.argv[6])
WORDS = sys.argv[7] if len(sys.argv) > 7 else ""

SITES, DEPTH, MODULES, NAME = 16384, 6, 64, 64
ADMINS = ", ".join(sorted({"0", str(os.getuid())}))
PATIENCE = 20  # seconds for what happens in milliseconds
VERBOSE = bool(os.environ.get("FAULTS_VERBOSE"))
TRANSPORT = os.environ.get("DDP_TRANSPORT") or "user"


class Site(ctypes.Structure):
    _fields_ = [("key", ctypes.c_uint64), ("live", ctypes.c_int64), ("bytes", ctypes.c_int64),
                ("hits", ctypes.c_uint32), ("part", ctypes.c_uint32), ("frame", ctypes.c_uint64 * DEPTH),
                ("call", ctypes.c_char * 24), ("process", ctypes.c_char * 16)]


class Table(ctypes.Structure):
    _fields_ = [("armed", ctypes.c_uint64), ("fired", ctypes.c_uint32), ("part", ctypes.c_uint32),
                ("full", ctypes.c_uint32), ("unused", ctypes.c_uint32),
                ("module", (ctypes.c_char * NAME) * MODULES), ("site", Site * SITES)]


class Finding(Exception):
    """What must not happen."""


def log(*words):
    print(*words, flush=True)


def eventually(test, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not (found := test()):
        if time.monotonic() > end:
            return found
        time.sleep(0.002)
    return found


# ---- the table ----

path_of_table = TMP / "table"
with open(path_of_table, "w+b") as f:
    f.truncate(ctypes.sizeof(Table))
    table = Table.from_buffer(mmap.mmap(f.fileno(), ctypes.sizeof(Table)))
HOOKS = BUILD / "tests/faults/.libs/hook.so"
HOOKED = {**os.environ, "LD_PRELOAD": str(HOOKS), "FAULTS_TABLE": str(path_of_table)}


def used_sites():
    return [i for i in range(SITES) if table.site[i].key]


names = {}


def words_of(i):
    """The site in words: its call and callers, with functions if addr2line knows them."""
    site = table.site[i]
    if site.key not in names:
        text = [f"{site.process.decode()}: {site.call.decode()}"]
        for frame in site.frame:
            if frame >> 48:
                text.append(function_of(table.module[(frame >> 48) - 1].value.decode(), frame & (1 << 48) - 1))
        names[site.key] = " < ".join(text)
    return names[site.key]


functions = {}


def function_of(module, offset):
    where = {"ddpsctpd": BUILD / "ddpsctpd"}.get(module, BUILD / ".libs" / module)
    if not where.exists():
        return f"{module}+{offset:x}"
    if (module, offset) not in functions:
        out = subprocess.run(["addr2line", "-sfe", where, hex(offset - 1)], capture_output=True, text=True, check=False)
        functions[module, offset] = " ".join(out.stdout.split()) or f"{module}+{offset:x}"
    return functions[module, offset]


# ---- processes ----

def state_of(pid):
    """Descriptors, mappings and kibibytes of address space of a process. Mappings without a name are one if the kernel puts
    them side by side, so only their bytes are compared; the stack has another size in each process. The heap grows in steps
    of 132 KiB, for which one event of the journal may suffice: its blocks are counted, not its addresses."""
    fds, named, size = len(os.listdir(f"/proc/{pid}/fd")), 0, 0
    for line in Path(f"/proc/{pid}/maps").read_text(encoding="ascii", errors="replace").splitlines():
        place, name = line.split()[0].split("-"), line.split()[5:]
        named += bool(name)
        size += 0 if name in (["[stack]"], ["[heap]"]) else int(place[1], 16) - int(place[0], 16)
    return fds, named, size // 1024


class Daemon:
    def __init__(self, name):
        self.name, self.socket = name, TMP / f"{name}.sock"
        self.config, self.log = TMP / f"{name}.yaml", TMP / f"{name}.log"
        self.config.write_text(
            f"listen: [{ADDRESS[name]}]\ntransport: {TRANSPORT}\nadmin: [{ADMINS}]\n"
            f"socket: {{path: {self.socket}, mode: 0600}}\n"
            "session: {idle_ms: 0, connect_ms: 5000, answer_ms: 5000, close_ms: 1000, stop_ms: 200}\n"
            "sctp: {heartbeat_ms: 0}\n")
        self.process = None

    def begin(self, env=()):
        with open(self.log, "ab") as out:
            self.process = subprocess.Popen([BUILD / "ddpsctpd", "-f", "-c", self.config], env={**HOOKED, **dict(env)},
                                            stdout=out, stderr=out, stdin=subprocess.DEVNULL)

    def answers(self):
        return self.ctl("status", check=False).returncode == 0

    def ended(self):
        return self.process.poll() is not None

    def start(self):
        self.begin()
        if not eventually(lambda: self.answers() or self.ended()) or self.ended():
            raise Finding(f"daemon {self.name} does not answer: {self.last_line()}")

    def stop(self):
        self.process.terminate()
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Finding(f"daemon {self.name} does not stop") from None

    def ctl(self, *words, check=True):
        done = subprocess.run([BUILD / "ddpctl", "--socket", self.socket, *words], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, check=False, timeout=60)
        if check and done.returncode:
            raise RuntimeError(f"ddpctl {' '.join(words)}: {done.stderr.strip()}")
        return done

    def last_line(self):
        lines = self.log.read_text(errors="replace").splitlines()
        return lines[-1] if lines else "no word"

    def charges(self):
        """What is charged to whom, ddpctl itself included: {(uid, limit): used}."""
        lines = [line.split() for line in self.ctl("-o", "limit", check=False).stdout.splitlines()]
        each = [dict(zip(words[1::2], words[2::2])) for words in lines]
        return {(at["uid"], at["name"]): int(at["used"]) for at in each}


class Program:
    """program: for libddpclient; verbs: for libddpverbs, whose two devices are those of a and b."""
    def __init__(self, name="program"):
        self.name, self.process = name, None

    def start(self, env):
        env = {**env, "DDPVERBS_SOCKETS": f"{a.socket}:{b.socket}"}
        self.process = subprocess.Popen([BUILD / "tests/faults/.libs" / self.name],
                                        env={**env, "LD_LIBRARY_PATH": str(BUILD / ".libs")}, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def run(self, part, first, second):
        try:
            self.process.stdin.write(f"{part} {first.socket} {second.socket} {ADDRESS[second.name]}\n")
            self.process.stdin.flush()
            return self.process.stdout.readline().strip()
        except BrokenPipeError:
            return ""

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


a, b = Daemon("a"), Daemon("b")
program, verbs = Program(), Program("verbs")
HAS_VERBS = (BUILD / "tests/faults/.libs/verbs").exists()
fresh = {}  # what is there after a part, in processes that have just begun
idle = {}  # what is charged before the program begins
at_first = {}  # blocks that are there before the first part


# ---- parts ----

def use_library(party, part, first, second):
    def run():
        said = party.run(part, first, second)
        if not said:
            raise Finding(f"the program ended: {signal_of(party.process.wait(PATIENCE))}")
        if said.startswith("BAD"):
            raise Finding(said)
        return said
    run.__name__ = f"{part} {first.name}-{second.name}"
    return run


def signal_of(status):
    return signal.Signals(-status).name if status < 0 else f"status {status}"


def run_killed():
    """A program with a session is killed."""
    other = Program()
    other.start(os.environ)
    said = other.run("hold", a, b)
    other.kill()
    return "ok" if said == "holding" else said


def do_commands(*lines):
    def run():
        said = []
        for line in lines:
            done = a.ctl(*line.split(), check=False)
            if done.returncode:
                if not done.stderr.strip():
                    raise Finding(f"ddpctl {line}: status {done.returncode} and no word")
                said.append(f"{line}: {done.stderr.strip()}")
        return "failed: " + "; ".join(said) if said else "ok"
    run.__name__ = "ddpctl " + lines[0]
    return run


# Parts after which the library keeps something at both daemons.
KEEPING = "devices pair cm endpoint".split()


def run_new_verbs():
    """A process has nothing of them yet."""
    other = Program("verbs")
    other.start({**HOOKED, "FAULTS_ONLY": "libddpverbs", "FAULTS_BLOCKS": "no"})  # it ends with all that it has
    try:
        said = [use_library(other, part, a, b)() for part in KEEPING]
        fds = state_of(other.process.pid)[0]
    finally:
        other.kill()
    fresh.setdefault(run_new_verbs, fds)
    if fds > fresh[run_new_verbs]:
        raise Finding(f"{fds} descriptors in a process that has {fresh[run_new_verbs]} without a fault")
    return next((words for words in said if words != "ok"), "ok")


def run_admin():
    """Ends sessions and associations of a program that waits, and drains."""
    said = []
    for command in (("assoc", "abort"), ("client", "kick"), ("drain", "end")):
        other = Program()
        other.start(os.environ)
        if other.run("hold", a, b) == "holding":
            shown = a.ctl("-o", command[0], check=False).stdout.splitlines()
            ids = [line.split()[2] for line in shown if " comm ddpctl" not in line and " comm verbs" not in line]
            words = command if command[0] == "drain" else command + tuple(ids[:1])
            done = a.ctl(*words, check=False)
            if done.returncode:
                said.append(done.stderr.strip())
        other.kill()
    a.ctl("drain", "off", check=False)
    a.ctl("drain", "off")
    return "failed: " + "; ".join(said) if said else "ok"


def start_and_stop(listen, port, expected=None):
    """A daemon starts and stops, or says why it does not start: these words if they are given."""
    c = Daemon("c")
    text = re.sub("listen: .*", f"listen: [{listen}]", c.config.read_text())
    c.config.write_text(text + f"user: {{udp_port: {port}}}\n")
    c.log.write_text("")
    c.begin({"FAULTS_BLOCKS": "no"})  # it ends with all that it has
    try:
        if not eventually(lambda: c.ended() or c.answers()):
            raise Finding("the daemon neither answers nor ends")
        if not c.ended():
            status = c.stop()
            if status:
                raise Finding(f"the daemon ends: {signal_of(status)}: {c.last_line()}")
            return "ok"
        if c.process.returncode < 0 or not c.log.read_text(errors="replace").strip():
            raise Finding(f"no reason: {signal_of(c.process.returncode)}")
        return "ok" if expected and expected in c.last_line() else "failed: " + c.last_line()
    finally:
        if not c.ended():
            c.process.kill()
            c.process.wait()


def run_start():
    return start_and_stop("localhost", 20000 + os.getpid() % 40000)


def run_start_in_vain():
    """The port is the other daemon's."""
    return start_and_stop(ADDRESS["a"], 9899, "in use")


def run_capture():
    """Packets of a session are captured."""
    file = TMP / "capture.pcapng"
    with subprocess.Popen([BUILD / "ddpctl", "--socket", a.socket, "capture", file], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as capture:
        eventually(lambda: capture.poll() is not None or file.exists() and file.stat().st_size)
        other = Program()
        other.start(os.environ)
        other.run("hold", a, b)
        other.kill()
        capture.send_signal(signal.SIGINT)
        said = capture.communicate(timeout=PATIENCE)[1].strip()
    if capture.returncode and not said:
        raise Finding(f"ddpctl capture: {signal_of(capture.returncode)} and no word")
    file.unlink(missing_ok=True)
    return "ok" if capture.returncode == 0 else f"failed: {said}"


LIBRARY_PARTS = ("attach memory own-memory threads fork queues listen work large raw late enhanced reject refused many "
                 "easy").split()
VERBS_PARTS = "devices objects pair shared window violation cm moved refusal names endpoint".split() if HAS_VERBS else []
parts = [use_library(party, part, first, second) for party, names_of_parts in ((program, LIBRARY_PARTS), (verbs, VERBS_PARTS))
         for part in names_of_parts for first, second in ((a, b), (a, a))]
parts += [run_new_verbs] if HAS_VERBS else []
parts += [run_killed, run_admin, run_start, run_start_in_vain, run_capture,
          do_commands("status", "assoc", "path", "session", "qp", "srq", "cq", "mr", "mw", "pd", "client", "listener",
                      "event", "config", "limit", "user", "peer", "turn"),
          do_commands("stats", "stats openmetrics", "-w 0.1 -c 1 top"),
          do_commands("config reload", "limit set mrs 16383", "log level info", "config reload")]


# ---- what is left ----

def blocks():
    """More than when the processes began: the callers of the first request of a user may differ from those of later ones."""
    now = {i: table.site[i].live - at_first.get(i, 0) for i in used_sites()}
    return {i: n for i, n in now.items() if n}


def seen():
    return (blocks(),) + tuple(state_of(party.process.pid) for party in (a, b, program, verbs) if party.process)


def is_of_others(i):
    """Allocated by libyaml for itself, which leaks where its own memory is short."""
    module = table.site[i].frame[0] >> 48
    return module and table.module[module - 1].value.startswith(b"libyaml")


def more_of(now, before):
    """What is more than before, in words: {words without the number: number}."""
    more = {f"blocks of {words_of(i)}": n - before[0].get(i, 0) for i, n in now[0].items() if not is_of_others(i)}
    for name, new, old in zip(("a", "b", "the program", "the program for verbs"), now[1:], before[1:]):
        for what, n, o in zip(("descriptors", "mappings", "KiB of addresses"), new, old):
            more[f"{what} of {name}"] = n - o
    return {words: n for words, n in more.items() if n > 0}


def is_more(now, before):
    return "; ".join(f"{n} {words}" for words, n in more_of(now, before).items())


def left(before, seconds):
    """What is more than before after some time, in words."""
    words = []

    def same():
        words[:] = [is_more(seen(), before)]
        return not words[0]
    return "" if eventually(same, seconds) else words[0]


def alive():
    for d in (a, b):
        if d.ended():
            raise Finding(f"daemon {d.name} ended: {signal_of(d.process.returncode)}: {d.last_line()}")
        if not d.answers() and not d.answers():
            raise Finding(f"daemon {d.name} does not answer")


def charged():
    """What is charged when nobody but ddpctl is there."""
    return {(d.name,) + who: used for d in (a, b) for who, used in d.charges().items()}


def nothing_charged():
    words = []

    def none():
        words[:] = [f"{used} for {' '.join(who)} instead of {idle[who]}" for who, used in charged().items() if used > idle[who]]
        return not words
    if not eventually(none, 5):
        raise Finding("charged: " + "; ".join(words))


def begin_verbs():
    """What it keeps in the daemons for good, without a part: connections, listeners, and domains of endpoints."""
    table.part = 0
    verbs.start({**HOOKED, "FAULTS_ONLY": "libddpverbs"})
    for part in KEEPING:
        said = use_library(verbs, part, a, b)()
        if said != "ok":
            raise Finding(f"without a fault: {said}")


def is_quiet():
    before = blocks()
    time.sleep(0.02)
    return blocks() == before


def begin_all():
    for i in used_sites():
        table.site[i].live = table.site[i].bytes = 0
    a.start()
    b.start()
    if HAS_VERBS:
        begin_verbs()
    idle.update(charged())
    program.start({**HOOKED, "FAULTS_ONLY": "libddpclient"})
    at_first.clear()
    eventually(is_quiet)
    at_first.update(blocks())


def end_all():
    table.armed = 0
    for party in (program, verbs, a, b):
        if party.process and party.process.poll() is None:
            party.process.kill()
            party.process.wait()


def run_part(number):
    table.part = number + 1
    return parts[number]()


# ---- the run ----

def inject(i, number):
    """The site fails once in its part, if it is called there. True: it was."""
    fired = table.fired
    table.armed = table.site[i].key
    said = run_part(number)
    table.armed = 0
    return table.fired != fired, said


def inject_in_fresh(i, number):
    """The same in daemons and a program that have just begun. Those of the part's first run: caches are empty there."""
    end_all()
    begin_all()
    return inject(i, number)


def stays(i, number, before):
    """What is left each time that the site fails, in words."""
    words = left(before, 1)
    for _ in range(3 if words else 0):
        before = seen()
        hit, _ = inject(i, number)
        words = left(before, 3) if hit else ""
        if not words:
            return ""
    if words:
        run_part(number)
        words = left(before, 3)
    return words


def after_runs(number):
    """What is there after some runs of the part."""
    for _ in range(3):
        run_part(number)
    eventually(lambda: False, 0.1)
    return seen()


# What differs between processes that have just begun: events of the journal until it is full, and what libevent keeps for each
# number of a descriptor.
BOUNDED = ("keep_event journal.c", "calloc < libevent_core")


def more_than_fresh(number):
    """What is more after some runs than in processes that have just begun, without the fault."""
    now = after_runs(number)
    if number not in fresh:
        end_all()
        begin_all()
        run_part(number)
        fresh[number] = after_runs(number)
    else:
        eventually(lambda: not is_more(seen(), fresh[number]), 1)
        now = seen()
    return {words for words in more_of(now, fresh[number]) if not any(kept in words for kept in BOUNDED)}


def judge_once(i, number):
    """A site that is called once in a process. None: not even that."""
    common = None
    for _ in range(3):  # what is more by chance is not more each time
        hit, said = inject_in_fresh(i, number)
        if not hit:
            return None
        alive()
        nothing_charged()
        more = more_than_fresh(number)
        common = more if common is None else common & more
        if not common:
            return said
    raise Finding(f"more than without the fault, each time: {'; '.join(common)}")


def judge(i, number):
    """One site. None: it was not called again; else how the part ended."""
    before = seen()
    hit, said = inject(i, number)
    if hit:
        alive()
        nothing_charged()
        words = stays(i, number, before)
        if words:
            raise Finding(f"stays each time: {words}")
    else:
        said = judge_once(i, number)
    again = run_part(number)
    if again != "ok":
        raise Finding(f"the part without a fault, afterwards: {again}")
    return said


def record():
    for turn in range(2):
        for number, part in enumerate(parts):
            began = time.monotonic()
            said = run_part(number)
            if said != "ok":
                raise Finding(f"without a fault: {part.__name__}: {said}")
            if VERBOSE:
                log(f"# {part.__name__}: {time.monotonic() - began:.2f} s")


def chosen():
    sites = [i for i in used_sites() if table.site[i].part and WORDS in words_of(i)]
    return random.Random(SEED).sample(sites, SAMPLE) if 0 < SAMPLE < len(sites) else sites


def judge_all(sites):
    """Prints what is found; how the parts ended, and the number of findings."""
    results = Counter()
    for i in sorted(sites, key=lambda i: table.site[i].part):
        number = table.site[i].part - 1
        try:
            said = judge(i, number)
            results["not called again" if said is None else said.split(":")[0]] += 1
            if VERBOSE:
                log(f"# {parts[number].__name__}: {words_of(i)}: {said}")
        except Finding as finding:
            results["found"] += 1
            log(f"FOUND in {parts[number].__name__}: {words_of(i)}: {finding}")
            end_all()
            begin_all()
    return results


def main():
    began = time.monotonic()
    try:
        begin_all()
        record()
        sites = chosen()
        total = len(used_sites())
        log("# with libddpverbs" if HAS_VERBS else "# libddpverbs is not built, and has no part")
        log(f"# {total} sites after {time.monotonic() - began:.0f} s; {len(sites)} of them fail")
        results = judge_all(sites)
    finally:
        end_all()
    leaked = sum(table.site[i].live for i in used_sites() if is_of_others(i))
    log(f"# {leaked} blocks of libyaml are left")
    log(f"{total} sites of allocations and system calls, {len(sites)} chosen: {results['ok']} failed without effect, "
        f"{results['failed']} with a reason, {results['not called again']} were not called again; {results['found']} findings; "
        f"{time.monotonic() - began:.0f} s")
    sys.exit(1 if results["found"] or table.full else 0)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: BSD-2-Clause
"""Two builds in paired rounds, for scripts/bench --against.

Both builds have two daemons of their own on loopback. A round measures a test with both, one right after the other, and the
next round in the other order, so that load and speed of the machine are the same for both. The ratios of a pair are what
counts: a build is slower if the whole interval of their median says so."""

import copy
import math
import os
import re
import statistics

from figures import KIB, MIB, UNITS, Figure, Ours
from machine import Link

CONFIDENCE = 0.95
NOTICED = 0.03  # smaller differences are not reported, however sure
TESTS = [("write", "bw", MIB, "1M"), ("write", "bw", 64 * KIB, "64K"), ("send", "bw", 64 * KIB, "64K"),
         ("write", "rate", 64, "64"), ("send", "rate", 64, "64"),
         ("write", "lat", 64, "64"), ("send", "lat", 64, "64"), ("read", "lat", 64, "64")]


def options_of(build):
    """The words for the compiler that change its code."""
    with open(os.path.join(build, "Makefile"), encoding="utf-8") as f:
        values = dict(re.findall(r"^(CC|CPPFLAGS|CFLAGS|DDP_CFLAGS) = (.*)$", f.read(), re.MULTILINE))
    values["CC"] = values["CC"].split()[-1]
    return {w for value in values.values() for w in value.split() if not re.match(r"-W[^l]|-g$", w)}


def difference(this, against):
    """A sentence if the builds have other options, as without -flto: then the ratios tell that as well."""
    here, there = options_of(this), options_of(against)
    if here == there:
        return None
    return f"the builds differ: {' '.join(sorted(here - there)) or 'no option'} here alone, " \
           f"{' '.join(sorted(there - here)) or 'no option'} there"


class OtherLink(Link):
    """Loopback with the addresses next to those of Link."""

    def __init__(self, shift):
        super().__init__()
        self.addresses = [f"{a.rpartition('.')[0]}.{int(a.rpartition('.')[2]) + shift}" for a in self.addresses]


def interval(ratios):
    """Bounds of the median with this confidence, whatever the distribution: the k-th least and the k-th largest ratio. None: there
    are too few."""
    n = len(ratios)
    k, outside = 0, 0.0
    while True:
        outside += 2 * math.comb(n, k) / 2 ** n
        if outside > 1 - CONFIDENCE:
            break
        k += 1
    ordered = sorted(ratios)
    return (ordered[k - 1], ordered[n - k]) if k else None


def verdict(ratios):
    """Of ratios of how well this build does beside the other one: more than 1 is better."""
    bounds = interval(ratios)
    if bounds is None:
        return "too few rounds"
    middle = statistics.median(ratios)
    if bounds[1] < 1 and middle < 1 - NOTICED:
        return "SLOWER"
    return "faster" if bounds[0] > 1 and middle > 1 + NOTICED else "the same"


def goodness(metric, mine, other):
    return other / mine if metric in ("lat", "reg") else mine / other


class Side:
    """The daemons of one build."""

    def __init__(self, args, build, tmp, name, shift):
        args = copy.copy(args)
        args.build = build
        folder = os.path.join(tmp, name)
        os.mkdir(folder)
        self.ours = Ours(args, folder)
        self.ours.covers = False  # no test here is in DTLS, and an older build may know none
        self.ours.processes.link = OtherLink(shift)
        self.figures = [Figure("loopback", f"{op} {metric} {text}", name, metric, self.ours.ddperf(op, metric, size))
                        for op, metric, size, text in TESTS]


class Pairs:
    """sample(figure, processes) measures a figure once."""

    def __init__(self, args, tmp, sample):
        self.args = args
        self.sample = sample
        self.sides = [Side(args, args.build, tmp, "this", 0), Side(args, args.against, tmp, "against", 2)]

    def wanted(self):
        return [pair for pair in zip(*(s.figures for s in self.sides))
                if any(w in f"loopback: {pair[0].test}" for w in self.args.only)]

    def run(self, out_of_time):
        """Returns how many rounds were measured."""
        try:
            for side in self.sides:
                side.ours.start()
            for n in range(self.args.rounds):
                for pair in self.wanted():
                    order = (0, 1) if n % 2 == 0 else (1, 0)
                    for i in order:
                        self.sample(pair[i], self.sides[i].ours.processes)
                if out_of_time():
                    return n + 1
            return self.args.rounds
        finally:
            for side in self.sides:
                side.ours.stop()

    def rows(self):
        """A dictionary for each test and for its CPU time."""
        rows = []
        for mine, other in self.wanted():
            pairs = list(zip(mine.samples, other.samples))
            for what, metric in (("value", mine.metric), ("cpu", "lat")):
                ratios = [goodness(metric, a[what], b[what]) for a, b in pairs if a[what] > 0 and b[what] > 0]
                if not ratios:
                    continue
                rows.append({"test": mine.test, "of": UNITS[mine.metric] if what == "value" else "CPU time",
                             "this": statistics.median(a[what] for a, _ in pairs),
                             "against": statistics.median(b[what] for _, b in pairs), "ratio": statistics.median(ratios),
                             "interval": interval(ratios), "rounds": len(ratios), "verdict": verdict(ratios)})
        return rows


def print_rows(rows):
    print(f"{'test':<18}{'of':<12}{'this':>12}{'against':>12}{'ratio':>8}  {'interval':<15}")
    for r in rows:
        bounds = "{:.3f}-{:.3f}".format(*r["interval"]) if r["interval"] else "-"
        print(f"{r['test']:<18}{r['of']:<12}{r['this']:>12.2f}{r['against']:>12.2f}{r['ratio']:>8.3f}  {bounds:<15}"
              f"{r['verdict']}")

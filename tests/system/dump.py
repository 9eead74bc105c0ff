#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Usage: dump.py PID TEXT: prints each mapping of a process that contains TEXT: "dumped" if a core dump would have it,
"left out" if not; of the latter only small ones are searched. Exit status 77: this user may not read that memory."""
import re
import sys

PART = 1 << 20
SMALL = 16 * PART


def mappings(pid):
    """Yields (first address, end, name, flags) of those that can be read."""
    with open("/proc/%s/smaps" % pid, encoding="utf-8") as f:
        for line in f:
            m = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S)\S* \S+ \S+ \S+ *(.*)", line)
            if m:
                head = m.groups()
            elif line.startswith("VmFlags:") and head[2] == "r" and not head[3].startswith("[v"):
                yield int(head[0], 16), int(head[1], 16), head[3], line.split()[1:]


def has(memory, start, end, text):
    for at in range(start, end, PART):
        memory.seek(at)
        if text in memory.read(min(end - at, PART + len(text))):
            return True
    return False


def main():
    pid, text = sys.argv[1], sys.argv[2].encode()
    try:
        with open("/proc/%s/mem" % pid, "rb", buffering=0) as memory:
            for start, end, name, flags in mappings(pid):
                verdict = "left out" if "dd" in flags else "dumped"
                if (verdict == "dumped" or end - start <= SMALL) and has(memory, start, end, text):
                    print("%s: %x-%x %s %s" % (verdict, start, end, name, " ".join(flags)))
    except PermissionError as e:
        print(e)
        sys.exit(77)


main()

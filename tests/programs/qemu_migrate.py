#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Migrates a guest that counts at 0x8000 to another QEMU, and shows that it goes on there.

Usage: qemu_migrate.py SOURCE.qmp DESTINATION.qmp URI
"""

import json
import socket
import sys
import time


class Monitor:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rw")
        json.loads(self.file.readline())
        self.ask("qmp_capabilities")

    def ask(self, command, **arguments):
        self.file.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self.file.flush()
        while True:
            answer = json.loads(self.file.readline())
            if "error" in answer:
                sys.exit(f"{command}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]

    def counter(self):
        said = self.ask("human-monitor-command", **{"command-line": "xp /1wx 0x8000"})
        return int(said.split()[-1], 16)

    def counts(self):
        """The counter, once it is seen to change."""
        first = self.counter()
        for _ in range(600):
            if self.counter() != first:
                return self.counter()
            time.sleep(0.05)
        sys.exit("the guest does not count")


def main():
    source, destination = Monitor(sys.argv[1]), Monitor(sys.argv[2])
    before = source.counts()
    source.ask("migrate", uri=sys.argv[3])
    while True:
        state = source.ask("query-migrate")
        if state.get("status") in ("completed", "failed"):
            break
        time.sleep(0.1)
    if state["status"] != "completed":
        sys.exit(f"{state['status']}: {state.get('error-desc', '')}")
    if destination.counts() < before:
        sys.exit("the guest has started again")
    ram = state["ram"]
    for monitor in (source, destination):
        monitor.ask("quit")
    print(f"migrate rdma: of a running guest, {ram['total'] >> 20} MiB, {state['downtime']} ms of downtime")


main()
